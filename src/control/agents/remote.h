/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h: the controller's record of an agent elsewhere. There are two kinds.
 * - Another switch, which the configuration names. The controller has one session with the switch, for all
 *   communicators, for as long as the controller runs. The controller dials, sends CONTROL, and may use the switch once
 *   HELLO has come with the nonce. When the session has ended, the controller dials again.
 * - A switch below (roots/leaves.h), which has connected to its parent, until the connection ends.
 *
 * The effect of a loss on communicators is decided elsewhere (roots/switches.h, roots/leaves.h). No sockets, no clock,
 * no threads. Read next: remote.c, masters.h (the other side). */
#ifndef TRIB_CONTROL_REMOTE_H
#define TRIB_CONTROL_REMOTE_H

#include "control/words/words.h"

enum trib_remote_state {
    TRIB_REMOTE_AWAY = 0, /* no session; dialled at dial_ns */
    TRIB_REMOTE_DIALLED,
    TRIB_REMOTE_ASKED, /* CONTROL was sent */
    TRIB_REMOTE_USABLE /* HELLO has come */
};

struct trib_placement; /* jobs/state.h */
struct trib_remote_output;

struct trib_remote {
    struct trib_address address; /* address of the agent's control plane */
    char name[96];               /* "switch 10.0.0.2:7470" */
    enum trib_remote_state state;
    const struct trib_remote_output *output; /* borrowed */
    void *line;                              /* the driver's, from `open` until `end` */
    uint64_t dial_ns;
    uint64_t gap_ns;     /* between the end of a session and the next try */
    uint64_t tried_ns;   /* DIALLED, ASKED: since when */
    uint64_t refused_ns; /* time of the last refusal or absence; 0: none since roots were opened there */
    uint64_t nonce;
    /* From HELLO, and kept while AWAY. shards 0: no HELLO yet. */
    uint64_t life;
    uint32_t room;
    uint32_t shards;
    uint8_t weight;
    /* addresses of shards, with ports; of a switch below: as its parent reaches them */
    struct trib_address at[TRIB_ROOTS_MAX];
    struct trib_placement *served; /* open placements, the youngest first */
    /* Of a switch below. */
    bool is_below;
    bool is_named;             /* HELLO names addresses, where children find the switch */
    uint64_t identity;         /* the same after a restart */
    struct trib_remote *above; /* next switch on the way to this controller; NULL: none between */
    struct trib_remote *next;
    struct trib_address peer;  /* the agent's end of the connection, as seen by the parent */
    struct trib_address local; /* the parent's end; len 0: unknown */
};

/* Requests of a controller to its driver. None calls back. */
struct trib_remote_output {
    void *owner;
    /* Begins to connect, and sets remote->line. The driver reports the outcome by trib_remote_connected or
     * trib_switches_lost. False: out of memory. */
    bool (*open)(void *owner, struct trib_remote *remote);
    void (*send)(void *owner, struct trib_remote *remote, const struct trib_message *message);
    /* No more messages: end the connection when all sent messages have left, and forget the remote. */
    void (*end)(void *owner, struct trib_remote *remote);
    /* Asks whether the agent's process still reads (words/ping.h); if not, the agent is lost. */
    void (*ping)(void *owner, struct trib_remote *remote);
};

/* `name` is made of the address. Dialled at the first trib_remote_on_timeout. */
void trib_remote_init(struct trib_remote *remote, const struct trib_address *address,
                      const struct trib_remote_output *output);
/* The connection is open: sends CONTROL. */
void trib_remote_connected(struct trib_remote *remote, uint16_t port, uint64_t id, uint64_t nonce);
/* Takes HELLO and ROOM. False: another message, or out of turn. */
bool trib_remote_receive(struct trib_remote *remote, const struct trib_message *message);
/* Ends the session, or takes its end. may_hurry: the agent may be back in a moment. */
void trib_remote_end(struct trib_remote *remote, bool may_hurry, uint64_t now_ns);
/* A communicator waits for the agent: dials at once if the agent is away, and at short intervals. */
void trib_remote_hurry(struct trib_remote *remote, uint64_t now_ns);
/* Time to dial, or end of the wait for an answer. */
uint64_t trib_remote_timeout(const struct trib_remote *remote);
/* At trib_remote_timeout: dials. False: the agent is lost, as no answer has come or dialling is impossible. */
bool trib_remote_on_timeout(struct trib_remote *remote, uint64_t now_ns);
static inline bool trib_remote_is_usable(const struct trib_remote *remote)
{
    return remote->state == TRIB_REMOTE_USABLE;
}

#endif
