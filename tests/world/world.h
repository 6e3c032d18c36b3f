/* SPDX-License-Identifier: Apache-2.0 */
/* world.h: a small deterministic world: the real nodes of a scheme, on a seeded clock, with a swarm of faults between them.
 * One seed is one world: its settings, its operations, its faults. The same seed gives the same packets, so that a failure is one line
 * to replay. Nothing here knows a scheme by name; nodes are driven through the table of schemes, as io drives them.
 *
 * Files, in reading order: swarm.c (what a seed means), engine.c (events, nodes), link.c (faults), session.c (the control plane as reliable
 * messages), work.c (operations and buffers), oracle.c (what the results must be), hostile.c, check_*.c, main.c. */
#ifndef TRIB_TESTS_WORLD_H
#define TRIB_TESTS_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/node.h"
#include "core/prng.h"
#include "schemes/schemes.h"

#define WORLD_RANKS_MAX TRIB_CHILDREN_MAX
#define WORLD_ROOTS_MAX 4
#define WORLD_NODES_MAX (WORLD_RANKS_MAX + WORLD_ROOTS_MAX)
#define WORLD_OPS_MAX 40
#define WORLD_PARCEL_MAX (TRIB_HEADER_SIZE + 1408)
#define WORLD_US UINT64_C(1000)
#define WORLD_MS UINT64_C(1000000)
#define WORLD_S UINT64_C(1000000000)

/* From the end of the faults, or the last submit, to the last DONE: what moving all fragments through the window takes, and this many
 * times the longest timeout for what recovery is still due. */
#define WORLD_BOUND_RTOS 2

enum world_hostility {
    WORLD_PEACE = 0,
    WORLD_NUISANCE, /* forged packets that must change nothing but counters */
    WORLD_LETHAL    /* anything, even valid lies: nodes must survive, the communicator need not */
};

/* What a seed means. Rates are per packet unless named otherwise. */
struct world_settings {
    struct trib_session_config session;
    uint32_t window;
    uint32_t operations; /* under way at most, per rank */
    uint32_t op_count;
    uint64_t stall_ns;
    uint64_t delay_ns;  /* of a link, one way */
    uint64_t jitter_ns; /* keeps the order */
    uint64_t turn_ns;   /* how long a node gathers packets before it is run */
    uint64_t skew_ns;   /* between ranks' submits */
    uint64_t gap_ns;    /* between operations */
    uint64_t clock_ns;  /* where the nodes' clocks start */
    uint64_t spike_ns;  /* length of a delay spike */
    uint64_t pause_ns;  /* length of a pause */
    uint64_t heal_ns;   /* faults end */
    double loss, burst, duplicate, reorder, corrupt, truncate, partial, spike, replay, lane;
    double pause;   /* per run of a worker */
    double stall;   /* per run of a switch */
    uint32_t inbox; /* packets that wait at a node at most */
    uint32_t restarts;
    uint32_t hostile_packets;
    enum world_hostility hostility;
    bool free_buffers; /* give buffers back to the allocator right after DONE */
    bool is_clean;     /* no fault of any kind */
};

/* A packet on its way: immutable bytes, shared by the receivers of a multicast. */
struct parcel {
    uint32_t refs;
    uint32_t next_free;
    uint32_t len;
    uint8_t data[WORLD_PARCEL_MAX];
};

enum world_event_kind {
    WORLD_ARRIVE,  /* a: parcel, b: node that it comes from */
    WORLD_WAKE,    /* run a node */
    WORLD_SUBMIT,  /* a: operation */
    WORLD_MESSAGE, /* a: message */
    WORLD_IDLE,    /* a rank may be idle: tell its mark */
    WORLD_RESTART,
    WORLD_LOST, /* a: epoch; the rank sees that its session is gone */
    WORLD_POLL, /* a: epoch; the control plane looks at M for those that wait */
    WORLD_HOSTILE,
    WORLD_HEAL
};

struct world_event {
    uint64_t time_ns;
    uint64_t order;
    uint32_t a, b;
    uint16_t kind;
    uint16_t node;
};

struct inbox_entry {
    uint32_t parcel;
    uint32_t from;
};

struct world_node {
    void *memory;
    size_t size;
    const struct trib_counters *counters;
    uint64_t wake_ns;   /* the WAKE that counts; TRIB_NEVER: none */
    uint64_t paused_ns; /* not run before */
    uint64_t clock_ns;  /* this node's clock is ahead by */
    struct inbox_entry *inbox;
    uint32_t inbox_count, inbox_capacity;
};

/* One direction between a worker and a switch. */
struct world_link {
    uint64_t last_ns;  /* last arrival */
    uint64_t spike_ns; /* delayed until */
    bool is_losing;    /* within a burst */
};

enum rank_op_state { RANK_OP_WAITS = 0, RANK_OP_RUNS, RANK_OP_DONE };

struct rank_op {
    uint8_t *send_memory, *recv_memory; /* as allocated */
    uint8_t *send, *recv;               /* as given; NULL: none */
    enum rank_op_state state;
};

struct world_op {
    struct trib_operation operation; /* without buffers */
    uint64_t bytes;                  /* of the tensor */
    uint8_t *inputs;                 /* of all ranks, or of the root of a broadcast */
    uint8_t *expected;
    bool in_place;
    uint8_t misaligned;
    struct rank_op ranks[WORLD_RANKS_MAX];
};

enum message_kind { MESSAGE_REGISTER, MESSAGE_READY, MESSAGE_MARK_UP, MESSAGE_MARK_DOWN };

struct world_message {
    uint64_t mark;
    uint32_t rank;
    uint32_t epoch; /* of the session that carries it */
    uint32_t boot;
    enum message_kind kind;
};

/* A rank's side of its session, and the control plane's knowledge of the rank. */
struct world_session {
    uint32_t epoch;          /* the worker's connection */
    uint64_t up_ns, down_ns; /* last arrivals: messages keep their order */
    uint64_t told;           /* the largest mark told in this session */
    uint64_t idle_ns;        /* since when nothing is under way */
    bool is_registered;
    uint64_t mark;     /* as the control plane knows it */
    uint64_t answered; /* largest M that the control plane told it */
};

/* What worlds did, summed. */
struct world_report {
    struct trib_counters worker, switches;
    uint64_t decode[TRIB_DROP_COUNT];
    uint64_t events, packets, fragments, restarts, operations, worlds, clean, lethal;
    uint64_t lost, duplicated, reordered, corrupted, truncated, spiked, paused, replayed, overflowed, forged, bent;
    uint64_t boot_events, mismatch_events, stall_events, failed_events, session_marks, offers_tested, spot_checks;
    uint64_t slowest_ns, slowest_seed;
    uint64_t trace;
};

struct world {
    uint64_t seed;
    struct world_settings set;
    struct trib_prng prng; /* of the engine */
    const struct trib_scheme *scheme;
    const struct trib_value_kernels *kernels[WORLD_RANKS_MAX];
    struct world_node nodes[WORLD_NODES_MAX];
    struct world_link up[WORLD_RANKS_MAX][WORLD_ROOTS_MAX], down[WORLD_RANKS_MAX][WORLD_ROOTS_MAX];
    struct world_session sessions[WORLD_RANKS_MAX];
    struct world_op ops[WORLD_OPS_MAX];
    uint32_t submitted[WORLD_RANKS_MAX]; /* operations submitted */
    uint32_t due[WORLD_RANKS_MAX];       /* operations whose time has come */
    uint32_t done[WORLD_RANKS_MAX];
    uint32_t done_all;
    uint64_t fragments; /* sequences of all operations */
    uint64_t now_ns;
    uint64_t down_until_ns; /* the switch is being restarted */
    uint32_t epoch;         /* of the switch */
    uint32_t boot;
    bool is_healed;
    uint64_t quiet_from_ns; /* heal or last submit, whichever is later */
    uint64_t last_done_ns;
    uint64_t sent_packets[2]; /* by workers, by switches */
    struct world_event *heap;
    uint32_t heap_count, heap_capacity;
    uint64_t order;
    struct parcel *parcels;
    uint32_t parcel_count, parcel_capacity, parcel_free;
    struct world_message *messages;
    uint32_t message_count, message_capacity;
    uint32_t old_parcels[64]; /* for replays; 0: none */
    uint32_t old_from[64], old_to[64], old_at;
    uint8_t bent[WORLD_RANKS_MAX][256]; /* results with a wrong lane per rank and sequence mod 256 */
    struct world_report *report;
    bool trace;
    bool failed;
    char text[512];
};

/* swarm.c */
void world_draw(struct world *world);
void world_describe(const struct world *world, FILE *out);

/* engine.c */
bool world_run(struct world *world);
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_schedule(struct world *world, uint64_t time_ns, enum world_event_kind kind, uint32_t node, uint32_t a,
                    uint32_t b);
void world_wake(struct world *world, uint32_t node, uint64_t time_ns);
bool world_chance(struct world *world, double probability); /* false after the faults have ended */
uint64_t world_below(struct world *world, uint64_t bound);
void world_init_switches(struct world *world);
void world_count_switches(struct world *world);
void *world_grown(void *array, uint32_t count, uint32_t *capacity, size_t size);

/* link.c */
uint32_t world_parcel(struct world *world, const struct trib_packet *packet);
void world_release(struct world *world, uint32_t parcel);
void world_send(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *packet);
void world_send_down(struct world *world, uint32_t from, uint64_t children, const struct trib_packet *packet);
void world_deliver(struct world *world, uint32_t from, uint32_t to, uint32_t parcel, uint64_t delay_ns);
void world_trace(const struct world *world, const char *what, uint32_t from, uint32_t to,
                 const struct trib_packet *packet);

static inline uint32_t world_switch(const struct world *world, uint32_t root)
{
    return world->set.session.ranks + root;
}

static inline bool world_is_worker(const struct world *world, uint32_t node)
{
    return node < world->set.session.ranks;
}

/* session.c */
void session_begin(struct world *world);
void session_restart(struct world *world);
void session_lost(struct world *world, uint32_t rank, uint32_t epoch);
void session_message(struct world *world, const struct world_message *message);
void session_idle(struct world *world, uint32_t rank);
void session_poll(struct world *world, uint32_t epoch);

/* work.c */
void work_create(struct world *world);
void work_destroy(struct world *world);
void work_schedule(struct world *world);
void work_submit(struct world *world, uint32_t rank);
void work_done(struct world *world, uint32_t rank, uint64_t token);

/* oracle.c */
void oracle_expect(const struct trib_session_config *session, struct world_op *op);

/* hostile.c */
void hostile_schedule(struct world *world);
void hostile_inject(struct world *world);

/* check_packet.c, check_buffers.c, check_retained.c, check_end.c */
void check_result(struct world *world, const struct trib_packet *packet);
void check_done(struct world *world, uint32_t rank, struct world_op *op);
void check_partial(struct world *world, uint32_t rank);
void check_retained(struct world *world);
void check_end(struct world *world);

#endif
