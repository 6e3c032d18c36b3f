/* SPDX-License-Identifier: Apache-2.0 */
/* scale.h: one controller, a hundred agents, a thousand jobs of 64 ranks: the pure parts of the control plane at full
 * size in simulated time. The controller and the agents are real (struct trib_jobs); ranks are small models of their
 * sessions; data planes record which communicators are open. Messages are encoded, take their time on the way, and stay
 * in order on their connection. Ranks join, register, tell marks, close and die; agents are killed and started; the
 * controller restarts. Checked: grants, what is open at agents (C-2), that nothing is left at the end, and the time of
 * each decision. Read next: main.c (what happens when), world.c. */
#ifndef TRIB_TESTS_SCALE_H
#define TRIB_TESTS_SCALE_H

#include "control/jobs/state.h"
#include "core/prng.h"

/* Decisions of the controller that are timed, by what they are about. */
enum decision {
    DECISION_JOIN = 0, /* any but the last rank */
    DECISION_START,    /* the last rank has come: agents are chosen, and asked */
    DECISION_PATHS,
    DECISION_REGISTER,
    DECISION_MARK,
    DECISION_CLOSE,
    DECISION_DEATH, /* of a rank */
    DECISION_LOST,  /* an agent is: the time of each communicator that it has roots of */
    DECISION_HELLO, /* an agent has come */
    DECISION_READY, /* of a root */
    DECISION_ROOM,  /* of an agent */
    DECISION_TIME,  /* what is due */
    DECISION_LOOK,  /* when the next thing is due */
    DECISION_OTHER,
    DECISION_COUNT
};

#define BUCKETS 512

struct times {
    uint64_t count, sum_ns, max_ns;
    uint32_t bucket[BUCKETS]; /* eight for each power of two */
};

struct options {
    uint32_t agents, jobs, ranks, trees;
    uint32_t seconds; /* simulated, with faults */
    uint64_t seed;
    bool checks_all; /* trib_jobs_check after each second */
};

enum event_kind {
    EVENT_TO_CONTROLLER = 0, /* message of a rank */
    EVENT_TO_RANK,           /* message */
    EVENT_RANK_ENDED,        /* its connection */
    EVENT_DIALLED,           /* by the controller: an agent */
    EVENT_TO_AGENT,          /* message */
    EVENT_FROM_AGENT,        /* message */
    EVENT_AGENT_HUNG_UP,     /* the agent's end of the connection is gone */
    EVENT_HUNG_UP,           /* the controller's is */
    EVENT_LAST_OF_NETWORK = EVENT_HUNG_UP,
    EVENT_JOIN, /* a rank connects */
    EVENT_MARK, /* a rank is to tell its mark */
    EVENT_CLOSE,
    EVENT_DIE,  /* a rank */
    EVENT_KILL, /* an agent */
    EVENT_START,
    EVENT_AGENT_TIMER,
    EVENT_RESTART, /* the controller is killed */
    EVENT_SERVE    /* and is there again */
};

struct event {
    uint64_t at_ns, order;
    enum event_kind kind;
    uint32_t index, epoch; /* of the rank or agent; of its connection, or life */
    uint32_t len;
    uint8_t *bytes;
};

struct rank {
    struct trib_session session; /* first: a rank is found by it */
    uint32_t index, job;
    uint32_t epoch; /* of its connection */
    bool is_cut;    /* the controller has ended this connection, or has not been reached */
    bool has_grant, was_ready, has_closed, is_done;
    struct trib_grant grant;
    uint64_t mark;
};

struct job {
    uint32_t life; /* part of its name */
    uint32_t done; /* ranks that need nothing any more */
    uint64_t ends_ns;
    bool may_fail; /* a rank of it has died, or left */
    bool is_closing;
    uint32_t told_boot; /* of the WELCOMEs that are compared */
    struct trib_message told;
};

struct agent {
    struct trib_jobs jobs;
    struct trib_server_config config;
    struct trib_session session;
    struct trib_remote *remote;
    uint32_t index;
    uint32_t epoch;
    uint32_t life;
    bool is_up, is_connected, is_cut, is_cut_below;
    uint64_t timer_ns;
    uint32_t open[TRIB_JOBS_MAX]; /* communicators that have slots in its data plane */
    uint32_t open_count;
};

struct world {
    struct options options;
    struct trib_prng prng;
    struct trib_jobs jobs;
    struct trib_server_config config;
    struct agent own; /* its data plane alone is used */
    struct agent *agents;
    struct rank *ranks;
    struct job *all;
    struct event *heap;
    size_t heap_count, heap_room;
    uint64_t order;
    uint64_t now_ns, due_ns;
    bool is_down, is_mute, is_quiet; /* controller; nothing is sent; jobs tell the same marks, and go on for ever */
    bool is_ending;
    struct times times[DECISION_COUNT];
    uint64_t events, in, out, marks_told, marks_heard, grants, fails, restarts, kills, deaths, closes, recalls;
};

/* events.c */
void push(struct world *w, uint64_t at_ns, struct event event);
bool pop(struct world *w, struct event *event);
void times_add(struct times *times, uint64_t ns);
uint64_t times_part(const struct times *times, double part);
uint64_t cpu_ns(void);

/* plane.c */
struct trib_data_plane plane_verbs(struct agent *agent);

/* world.c */
void world_begin(struct world *w, const struct options *options);
void world_run(struct world *w, uint64_t until_ns);
/* All that is under way arrives; then each end knows of the same openings (C-2). */
void world_settle(struct world *w);
/* All jobs close, and none begins. */
void world_finish(struct world *w);
void world_end(struct world *w);

_Noreturn void complain(const struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define MUST(w, holds, ...)           \
    do {                              \
        if (!(holds)) {               \
            complain(w, __VA_ARGS__); \
        }                             \
    } while (0)

#endif
