/* SPDX-License-Identifier: Apache-2.0 */
/* masters.h: controllers elsewhere that open slots at the agent of this process. Each controller has one session
 * (CONTROL, HELLO) for the roots of many communicators, within this agent's quotas for all jobs. The end of the session
 * shuts all roots of the session (CONTROLLER A7). The controller of this process also has jobs. A switch with a parent
 * has no jobs and one master: the controller at the root, on the connection to the parent.
 *
 * Every message names an incarnation. A message of an unknown incarnation has no effect, as the message may have
 * crossed the end of the incarnation. No sockets, no clock, no threads. Read next: masters.c, root.h (one
 * communicator), remote.h (the other side). */
#ifndef TRIB_CONTROL_MASTERS_H
#define TRIB_CONTROL_MASTERS_H

#include "control/agents/output.h"
#include "control/agents/root.h"
#include "control/server.h"

#define TRIB_LENDINGS_TABLE 256U

struct trib_master;

/* A communicator with roots here, of a controller elsewhere. */
struct trib_lending {
    struct trib_lending *next;
    struct trib_lending *next_found; /* of lendings with the same hash */
    uint32_t communicator;
    struct trib_master *master;
    struct trib_root root;
    char job[TRIB_NAME_MAX + 1]; /* for people */
    uint64_t key;                /* of ROOT_OPEN: the same in each incarnation of the communicator */
    uint64_t flight_bytes;       /* limit of bytes in flight to one shard here */
    uint32_t payload;
    uint32_t roots; /* of the communicator */
};

struct trib_master {
    struct trib_master *next;
    struct trib_session *session; /* NULL: the controller above, by the connection to the parent */
    struct trib_address peer;     /* the controller's end of the session */
    struct trib_address local;    /* the local end of the session; len 0: unknown */
    char name[64];                /* "10.0.0.1:7470" */
    uint64_t id;                  /* random, of the controller's process */
    uint64_t number;              /* number of earlier masters, also of ended masters */
    uint32_t room;                /* in the last ROOM or HELLO to the master, bytes */
    uint32_t lendings;            /* number of the master's lendings */
    struct trib_lending *half;    /* the lending with a root that still lacks children; NULL: none */
};

/* The connection of this switch to its parent. */
struct trib_masters_above {
    void *owner;
    void (*send)(void *owner, const struct trib_message *message);
};

struct trib_masters {
    struct trib_masters_above above;
    struct trib_address here; /* address of this switch on the way to the parent, for texts; len 0: unknown */
    struct trib_agent *agent;
    const struct trib_server_config *config;
    const struct trib_jobs_output *output;
    struct trib_master *first;
    struct trib_lending *lendings;                             /* of all masters */
    struct trib_lending *by_communicator[TRIB_LENDINGS_TABLE]; /* hash table of the same */
    uint64_t count;                                            /* masters so far, also ended masters */
};

/* All are borrowed, and outlive the object. */
void trib_masters_init(struct trib_masters *masters, struct trib_agent *agent, const struct trib_server_config *config,
                       const struct trib_jobs_output *output);
/* Takes CONTROL as the first message of a session, from peer to local. OK: the new master is masters->first.
 * ERR_REFUSED: the controller may not open slots here. ERR_MEMORY. error: the cause, TRIB_ERROR_TEXT_MAX bytes. */
TRIB_MUST_USE enum trib_status trib_masters_add(struct trib_masters *masters, struct trib_session *session,
                                                const struct trib_address *peer, const struct trib_address *local,
                                                const struct trib_message *message, char *error);
/* The parent has accepted this switch as an agent: returns the master. NULL: out of memory. */
struct trib_master *trib_masters_add_above(struct trib_masters *masters);
/* Time of the next probe of a path to the parent, and the work due at that time. */
uint64_t trib_masters_next_timeout(const struct trib_masters *masters);
void trib_masters_on_timeout(struct trib_masters *masters, uint64_t now_ns);
/* "switch 10.0.0.2:7470": this switch. text: 96 bytes. */
char *trib_masters_name_here(const struct trib_masters *masters, char *text);
/* Returns HELLO of this switch; the caller adds the nonce, or the attempt and the path. */
struct trib_message trib_masters_hello(const struct trib_masters *masters, uint64_t life, uint32_t room);
/* Answers CONTROL with HELLO. room: bytes for the master in one shard's socket. */
void trib_masters_greet(struct trib_masters *masters, struct trib_master *master, const struct trib_message *message,
                        uint64_t life, uint32_t room);
/* Sends ROOM if the room differs by a quarter from the room sent last. */
void trib_masters_tell_room(struct trib_masters *masters, struct trib_master *master, uint32_t room);
/* Takes a message after CONTROL, of a kind in turn. */
void trib_masters_receive(struct trib_masters *masters, struct trib_master *master, const struct trib_message *message);
/* The session has ended, or is about to end: shuts all openings of the master, and frees the master. */
void trib_masters_remove(struct trib_masters *masters, struct trib_master *master);
/* A slot saw two operations. Nothing, where no such communicator is here. */
void trib_masters_mismatch(struct trib_masters *masters, uint32_t communicator, uint64_t sequence,
                           const uint32_t rank[2]);
/* NULL: no communicator of another controller. */
struct trib_lending *trib_masters_find(const struct trib_masters *masters, uint32_t communicator);

#endif
