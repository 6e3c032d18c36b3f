/* SPDX-License-Identifier: Apache-2.0 */
/* control.h: the real control planes of a world's switches (src/control), and the connections to them. A connection is
 * two streams of encoded messages, ordered and reliable, each message with a delay. Its upper end is at the controller
 * of the root, or at an agent beside it. Its lower end is a rank (session.c), a switch below (trunk.c), or the
 * controller. What comes to a switch below goes over its trunk, unread. Read next: control.c, trunk.c, plane.c. */
#ifndef TRIB_TESTS_WORLD_CONTROL_H
#define TRIB_TESTS_WORLD_CONTROL_H

#include "control/roots/leaves.h"
#include "control/roots/switches.h"
#include "control/words/ping.h"

struct world;
struct world_comm;
struct world_event;
struct trib_event;

#define CONTROL_JOB "job "                /* and the communicator's index */
#define CONTROL_TIME UINT64_C(1000000000) /* of control planes, at the world's 0: their 0 means never */

enum { CONTROL_UP = 0, CONTROL_DOWN = 1 };

/* One message on its way. */
struct world_letter {
    struct world_letter *next;
    uint32_t len; /* 0: the end of the connection */
    uint8_t bytes[];
};

struct world_stream {
    struct world_letter *first, *last;
    uint64_t last_ns; /* when the latest arrives */
    bool has_ended;   /* nothing more is sent */
    bool is_deaf;     /* and nothing more is heard at its far end */
};

struct world_wire {
    struct trib_session session; /* at the upper end; first: it is found by a cast */
    struct world *world;
    struct world_comm *comm; /* of a rank */
    uint32_t rank;
    uint32_t index;
    uint32_t events;       /* that name it */
    uint32_t riders;       /* connections over it */
    uint16_t above, below; /* the switch at that end; below UINT16_MAX: a rank */
    uint16_t at;           /* the switch that takes the connection */
    bool is_of_rank;
    bool is_connected;
    bool is_begun;              /* something has come to its upper end */
    bool has_spoken;            /* and something has been said there */
    bool is_cut;                /* a trunk on its way has ended: nothing passes any more */
    uint32_t waiting;           /* letters that wait for a trunk to be proved */
    struct world_wire *over;    /* the trunk that carries it; NULL: none */
    uint64_t late_ns;           /* until then nothing more comes up: what a dead process has said last is late */
    bool is_pinged;             /* the agent has been asked whether it reads */
    struct trib_remote *remote; /* of a controller to its agent; NULL: of a rank, or a trunk */
    struct world_stream stream[2];
    /* Of a trunk. Last: others have none. */
    struct trib_remote *leaf; /* the switch, once it has proved itself */
    uint64_t nonce;
    struct trib_message hello;
};

static inline bool wire_is_trunk(const struct world_wire *wire)
{
    return !wire->is_of_rank && wire->remote == NULL;
}

/* Does that trunk carry it, over others perhaps? */
static inline bool wire_is_over(const struct world_wire *wire, const struct world_wire *trunk)
{
    do {
        wire = wire->over;
    } while (wire != NULL && wire != trunk);
    return wire != NULL;
}

/* What a switch's control plane is, and its data plane as that sees it. */
struct world_plane {
    struct world *world;
    uint32_t at;
    struct trib_server_config config;
    struct trib_jobs jobs;
    struct world_wire *trunk; /* its connection to its parent; NULL: none */
    uint32_t attempts;
    uint64_t timer_ns;                /* the TIMER that counts */
    uint64_t sent_ns;                 /* when the latest message to its parent arrives, */
    uint64_t before_ns;               /* and of the process before it */
    uint64_t held_ns;                 /* what comes while it stands still is held until then, in order */
    struct trib_jobs_stats seen;      /* as after the last event */
    struct world_comm *served;        /* whose message is being handled */
    const struct world_comm *drawing; /* whose grant is being drawn, */
    uint32_t drawn;                   /* so many numbers of it */
    bool is_over;                     /* the world is */
};

/* wire.c */
struct world_wire *wire_create(struct world *world, uint16_t below, uint16_t at, uint16_t above);
void wire_free(struct world_wire *wire);
void wire_free_if_over(struct world_wire *wire);
void wire_schedule(struct world_wire *wire, uint32_t kind, uint32_t way, uint64_t time_ns);
void wire_dial(struct world_wire *wire); /* it will be connected, or refused */
uint64_t wire_travel_ns(struct world *world);
void wire_post(struct world_wire *wire, uint32_t way, const struct trib_message *message, uint64_t extra_ns);
void wire_close(struct world_wire *wire, uint32_t way, uint64_t extra_ns);
/* The switch that has taken it ends it, after `word` unless that is NULL or something has been said above. */
void wire_end_down(struct world_wire *wire, const struct trib_message *word, uint64_t extra_ns);

/* control.c */
void control_settle(struct world_plane *plane); /* after each event of it */
void control_begin(struct world *world);
void control_end(struct world *world);
void control_shut(struct world *world); /* all switches, in order: nothing may be left */
void control_connect(struct world_comm *comm, uint32_t rank);
void control_send(struct world_wire *wire, const struct trib_message *message); /* up, of a rank */
void control_hang_up(struct world_wire *wire);                                  /* the rank's end */
void control_arrive(struct world *world, const struct world_event *event);
void control_timeout(struct world *world, const struct world_event *event);
void control_mismatch(struct world_comm *comm, uint32_t at, uint64_t sequence, const uint32_t rank[2]);
void control_restart(struct world *world, uint32_t at);
uint32_t control_cut(struct world *world); /* the lower switch; WORLD_NONE: there is no connection to cut */
/* Somebody who has no key ends the session of a rank that has one. False: there is none that may be ended. */
bool control_reset(struct world *world);
void control_move(struct world *world);                /* before the root restarts: what comes back is a star */
bool control_has_wires(const struct world_comm *comm); /* something of it is under way */
const struct trib_job *control_job(const struct world_comm *comm, uint32_t at); /* NULL: none */

/* agents.c: several switches at once */
void agents_begin(struct world_plane *plane); /* its control plane has just been made */
void agents_forget(struct world_plane *plane);
void agents_silent(struct world *world, const struct world_event *event);
void agents_welcome(const struct world_wire *wire, const struct trib_message *message);
const struct world_comm *agents_starting(const struct world_plane *plane); /* whose roots have just been dealt */
struct world_comm *agents_comm(const struct world *world, const struct trib_opening *opening);
bool agents_wait(const struct world *world);
void agents_inherit(struct world_comm *comm);
void check_lent(const struct world_plane *plane);
void check_lent_ready(const struct world_comm *comm, uint32_t boot);
void check_lent_end(const struct world_comm *comm);

/* session.c: sessions of ranks */
void session_begin(struct world_comm *comm, uint32_t rank);
void session_connected(struct world_comm *comm, uint32_t rank);
void session_move(struct world_comm *comm, uint32_t rank);
void session_lost(struct world_comm *comm, uint32_t rank, bool stood); /* or was refused */
void session_rejoin(struct world_comm *comm, uint32_t rank, uint32_t tries);
void session_take(struct world_comm *comm, uint32_t rank, const struct trib_message *message);
void session_idle(struct world_comm *comm, uint32_t rank);
void session_close(struct world_comm *comm, uint32_t rank);
void session_stall(struct world_comm *comm, uint32_t rank, const struct trib_event *event);
void session_dispute(struct world_comm *comm, uint32_t rank, uint64_t sequence, uint32_t other);
void session_abort(struct world_comm *comm, uint32_t rank);
void session_leave(struct world_comm *comm, uint32_t rank);
void session_crash(struct world_comm *comm, uint32_t rank);
void session_say(struct world_comm *comm, uint32_t rank, const struct trib_message *message);
void session_hang_up(struct world_comm *comm, uint32_t rank);
uint32_t session_switch(const struct world_comm *comm, uint32_t rank, uint32_t place); /* 1: its home, ... */
uint32_t session_places(const struct world_comm *comm, uint32_t rank);                 /* switches on its way */
uint32_t session_named(const char *text);                                              /* WORLD_NONE: no rank */
void session_scheme(const struct world_comm *comm, char *name);                        /* 32 bytes */

/* trunk.c: switches below, and what goes over them */
void trunk_begin(struct world_plane *plane); /* its control plane has just been made */
void trunk_take(struct world_wire *wire);    /* a connection stands at a switch below: that has a trunk then */
void trunk_stand(struct world_wire *trunk);
bool trunk_waits(const struct world_wire *wire); /* what goes up cannot pass yet */
bool trunk_arrive_above(struct world_wire *trunk, const struct trib_message *message);
void trunk_arrive_below(struct world_wire *trunk, const struct trib_message *message);
void trunk_cut(const struct world_wire *trunk); /* nothing passes it any more, whatever its ends know */
void trunk_lose_above(struct world_wire *trunk, const char *cause);
void trunk_lose_below(struct world_wire *trunk, const struct trib_message *word);
void trunk_forget(struct world_plane *plane);
void trunk_shut(struct world *world); /* as the root shuts down */

/* own_root.c: roots in ranks' processes */
void own_root_take(struct world_comm *comm, uint32_t rank, const struct trib_message *message,
                   struct trib_message *answer);
void own_root_mismatch(struct world_comm *comm, uint32_t root, uint64_t sequence, const uint32_t rank[2]);
void own_root_end(struct world_comm *comm, uint32_t rank);

/* plane.c: the verbs of a switch's data plane */
struct trib_data_plane plane_verbs(struct world_plane *plane);
void plane_close(struct world_comm *comm, uint32_t at);
void plane_forget_marks(struct world_comm *comm, uint32_t at, uint32_t root);
void plane_join(struct world_comm *comm, uint32_t at, uint32_t root, uint32_t rank, uint64_t mark);
uint32_t plane_missing(const struct world_comm *comm, uint32_t at, uint64_t sequence, uint16_t *ranks, uint32_t max);

/* check_control.c: invariants of control planes, by their numbers */
void check_opening(struct world_comm *comm, uint32_t at, const struct trib_opening *opening);
void check_incarnation(struct world_comm *comm, uint32_t boot);
void check_told(struct world_comm *comm, uint32_t rank, const struct trib_message *message); /* by the root */
void check_heard(struct world_comm *comm, uint32_t rank, const struct trib_message *message);
void check_plane(const struct world_plane *plane);
void check_differ(struct world_comm *comm);
void check_left(struct world *world);

/* plane.c */
bool plane_is_missing(const struct world_comm *comm, uint32_t waiting, uint32_t rank, uint64_t sequence);

#endif
