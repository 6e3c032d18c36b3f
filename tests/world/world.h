/* SPDX-License-Identifier: Apache-2.0 */
/* world.h: a small deterministic world: the real nodes of a scheme on a seeded clock, several communicators on a tree
 * of switches, and a swarm of faults between and within them. One seed is one world: its settings, its operations, its
 * faults. The same seed gives the same packets, so that a failure is one line to replay. Nothing here knows a scheme by
 * name; nodes are driven through the table of schemes, as comm and switchd drive them.
 *
 * What is real: the nodes, packets and their encoding, the control planes of all switches (src/control/jobs, roots) and
 * their messages. What is modelled: links (link.c), connections (control.c), the data plane as control planes see it
 * (plane.c), and the rank's side of its session (session.c), with the rules of docs/PROTOCOL.md.
 *
 * Files, in reading order: swarm.c and swarm_comm.c (what a seed means), shape.c (who is whose child), engine.c (the
 * clock), comm.c (a communicator's life), unit.c, unit_switch.c (how nodes are driven), combining.c (pools of rows),
 * caps.c (memory of switches), link.c (faults on packets), auth.c (authenticators), fault.c (faults of machines and processes), session.c,
 * wire.c, control.c, trunk.c, plane.c, own_root.c, agents.c (several switches at once), work.c (operations), oracle.c
 * (what results must be), hostile.c (forged packets), check_*.c, report.c, main.c. */
#ifndef TRIB_TESTS_WORLD_H
#define TRIB_TESTS_WORLD_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "auth.h"
#include "control.h"
#include "core/flow.h"
#include "core/node.h"
#include "core/prng.h"
#include "core/window.h"
#include "protocol/combining.h"
#include "schemes/schemes.h"

#define WORLD_RANKS_MAX 128 /* of a communicator */
#define WORLD_ROOTS_MAX 4
#define WORLD_SWITCHES_MAX 8
#define WORLD_DEPTH_MAX 3 /* switches between a rank and the root, both counted; of a session: hops */
#define WORLD_COMMS_MAX 8 /* communicators that a world has in all its time */
#define WORLD_OPS_MAX 40
#define WORLD_BOOTS_MAX 64 /* incarnations of a communicator that are remembered */
#define WORLD_PARCEL_MAX (TRIB_HEADER_SIZE + 1408)
#define WORLD_NONE UINT32_MAX
#define WORLD_US UINT64_C(1000)
#define WORLD_MS (1000 * WORLD_US)
#define WORLD_S (1000 * WORLD_MS)

/* From the end of the faults, the last submit or READY to the last DONE: the time to move all fragments through the
 * window on each level, and so many times the longest timeout, on any number of levels: only ranks have clocks. */
#define WORLD_BOUND_RTOS 2
/* From the death of a rank until nothing of its communicator is held, and each other rank has an error (I6, I8). */
#define WORLD_GONE_NS WORLD_S
/* How long the control plane waits for ranks that do not come (back). All that waits for them ends then (error). */
#define WORLD_JOIN_NS (30 * WORLD_S)
#define WORLD_QUIET_NS (10 * WORLD_S) /* after the last DONE nothing may move any more (I5) */
/* How long communicators without a promise (lied to, or with settings that differ) are watched after the faults. */
#define WORLD_WATCH_NS (2 * WORLD_S)
/* Who has waited so long for the part of a rank that has closed and left gets an error that names it. */
#define WORLD_LEFT_NS (3 * WORLD_S)
/* trib_comm_close waits so long at most. */
#define WORLD_LINGER_NS WORLD_S

/* Which check caught a failure, in one word. */
#define WORLD_CHECK_MAP(X)                                                                       \
    X(NONE, "none")                                                                              \
    X(ASSERT, "assert")     /* a TRIB_ASSERT inside a node */                                    \
    X(LANE, "lane")         /* a sum with a wrong set of contributions (I12) */                  \
    X(ORACLE, "oracle")     /* a delivered element that is not the sum (I9) */                   \
    X(BUFFER, "buffer")     /* a caller's buffer touched where or when it must not be (I11) */   \
    X(BITMAP, "bitmap")     /* a result that names children which a switch does not have */      \
    X(LIST, "list")         /* a list of ranks that is not the one, or lacks too many (I2) */    \
    X(MARK, "mark")         /* a communicator mark above a rank's, or not at the end */          \
    X(RETAINED, "retained") /* a rank that cannot offer what somebody may need */                \
    X(LEAK, "leak")         /* slots held where nothing needs them (I6) */                       \
    X(HANG, "hang")         /* not done within the bound (I8) */                                 \
    X(ERROR, "error")       /* a failure without a cause, or one that does not name its cause */ \
    X(NOISE, "noise")       /* packets or timers without end (I5) */                             \
    X(STORM, "storm")       /* more packets than faults account for (I4) */                      \
    X(CLEAN, "clean")       /* recovery in a world without faults */                             \
    X(CONTROL, "control")   /* an invariant of control planes is broken (C-1 to C-22) */         \
    X(AUTH, "auth")         /* an authenticator used twice, refused or believed wrongly */       \
    X(MISUSE, "misuse")     /* a node that breaks the contract of core/node.h */                 \
    X(REPEAT, "repeat")     /* two runs of a seed that differ */                                 \
    X(CRASH, "crash")       /* a signal */

enum world_check {
#define X(name, word) WORLD_CHECK_##name,
    WORLD_CHECK_MAP(X)
#undef X
        WORLD_CHECK_COUNT
};

/* ---- what a seed means ---- */

enum world_hostility {
    WORLD_PEACE = 0,
    WORLD_NUISANCE, /* forged packets that must change nothing but counters */
    WORLD_LETHAL    /* anything, even valid lies: nodes must survive, and so must the other communicators */
};

/* A rank that was given other settings than the rest: refused or harmless, never a wrong sum. */
enum world_skew {
    WORLD_SKEW_NONE = 0,
    WORLD_SKEW_PAYLOAD,
    WORLD_SKEW_WIRE,
    WORLD_SKEW_LOOKAHEAD,
    WORLD_SKEW_WINDOW, /* harmless: it is this rank's own affair */
    WORLD_SKEW_SLOTS,
    WORLD_SKEW_TRAIN,
    WORLD_SKEW_ROOTS,
    WORLD_SKEW_RANKS,
    WORLD_SKEW_SALT,
    WORLD_SKEW_GENERATION,
    WORLD_SKEW_JOIN, /* and says so: the control plane sees it */
    WORLD_SKEW_COUNT
};

/* Of one communicator. */
struct comm_settings {
    struct trib_session_config session;
    uint32_t window;
    uint32_t operations; /* under way at most, per rank */
    uint32_t op_count;
    uint32_t groups; /* children of a node at most: more of them, and the switch forms inner nodes */
    uint32_t budget; /* fragments times ranks */
    uint64_t stall_ns;
    uint64_t start_ns;
    uint64_t late_ns; /* between ranks' submits, and between their CLOSEs */
    uint64_t gap_ns;  /* between operations */
    uint64_t lag_ns;  /* of one rank more than of the others, where sums may lack ranks */
    bool has_key;     /* lanes prove values */
    bool is_sealed;   /* packets have authenticators */
    bool is_return;   /* its ranks bring a grant of a time before this world, */
    bool was_ready;   /* with which they have seen READY */
    uint32_t hostile_packets;
    enum world_hostility hostility;
    enum world_skew skew;
    uint8_t priority; /* of its rows in combiners */
    uint64_t rate;    /* of each rank, bytes per second; 0: none */
    uint32_t skewed_rank, lagging_rank;
    uint32_t early_rank; /* closes after some of the operations, so that others get an error; WORLD_NONE: none */
    uint32_t early_ops;
    double lane;       /* rate of results that a switch spoils */
    bool free_buffers; /* give buffers back to the allocator right after DONE */
    bool closes;       /* each rank closes when it has done all */
};
/* Of the whole world. Rates are per packet unless named otherwise. */
struct world_settings {
    uint64_t delay_ns;  /* of a link, one way */
    uint64_t jitter_ns; /* keeps the order */
    uint64_t turn_ns;   /* how long a unit gathers packets before it is run */
    uint64_t clock_ns;  /* where the nodes' clocks start */
    uint64_t spike_ns;  /* length of a delay spike */
    uint64_t pause_ns;  /* length of a short pause */
    uint64_t heal_ns;   /* faults end */
    double loss, burst, duplicate, reorder, corrupt, truncate, partial, spike, replay;
    double congest;     /* where something follows congestion: marked by it */
    uint32_t spare;     /* fragments that a shard has room for besides the first caps of all */
    double pause;       /* per run of a worker */
    double stall;       /* per run of a shard */
    uint32_t inbox;     /* packets that wait at a unit at most */
    uint32_t restarts;  /* of switches */
    uint32_t crashes;   /* of ranks */
    uint32_t stops;     /* of ranks or switches, for seconds (SIGSTOP) */
    uint32_t aways;     /* of a control plane, whose data plane goes on */
    uint32_t cuts;      /* of connections between switches */
    uint32_t resets;    /* of sessions of ranks with a key */
    uint32_t intruders; /* communicators that take the place of another at a restart */
    uint32_t ambushes;  /* faults while an agent opens roots */
    uint32_t pools;     /* of combiners' rows, thrown away */
    uint32_t trees;     /* switches that a communicator is dealt over; 0: all */
    bool farewell;      /* a switch dies when a rank closes */
    bool is_clean;      /* no fault of any kind */
};

/* ---- packets ---- */

/* A packet on its way: immutable bytes, shared by the receivers of a multicast. */
struct parcel {
    uint32_t refs;
    uint32_t next_free;
    uint32_t len;
    struct world_seal seal;
    uint8_t data[WORLD_PARCEL_MAX + TRIB_AUTHENTICATOR_SIZE];
};

enum world_event_kind {
    WORLD_ARRIVE,  /* a packet at a unit; a: parcel, b: unit that it comes from */
    WORLD_WAKE,    /* run a unit */
    WORLD_START,   /* a communicator begins; a: its index */
    WORLD_SUBMIT,  /* b: rank; its next operation is due */
    WORLD_MESSAGE, /* the next of a stream arrives; a: wire, b: up or down */
    WORLD_CONNECT, /* a connection stands, or is refused; a: wire */
    WORLD_SILENT,  /* an agent has not answered questions for long; a: wire */
    WORLD_TIMER,   /* a control plane's time; unit: switch */
    WORLD_REJOIN,  /* b: rank tries again; unit: the low bits of how often it has failed */
    WORLD_IDLE,    /* b: a rank may be idle: it tells its mark */
    WORLD_CLOSE,   /* b: rank says goodbye */
    WORLD_LEAVE,   /* b: rank has lingered long enough */
    WORLD_END,     /* a communicator without a promise is ended */
    WORLD_GONE,    /* nothing of a communicator may be left */
    WORLD_FAULT,   /* of a machine or process; b: enum world_fault */
    WORLD_HOSTILE,
    WORLD_HEAL
};

struct world_event {
    uint64_t time_ns;
    uint64_t order;
    uint32_t a; /* a communicator's index, but for packets */
    uint32_t b;
    uint16_t kind;
    uint16_t unit;
};

/* One direction of a link between two units. */
struct world_link {
    uint64_t last_ns;  /* last arrival */
    uint64_t spike_ns; /* delayed until */
    bool is_losing;    /* within a burst */
};

struct world_link_pair {
    struct world_link up, down;
};

/* ---- machines and nodes ---- */

/* A switch: a process with shards and a control plane, a child of another or the root of the tree (number 0), or an
 * agent, at which the controller of the root has roots as well. */
struct world_switch {
    uint32_t parent; /* WORLD_NONE: the root */
    uint32_t level;  /* 1: the root */
    uint32_t life;   /* grows with each restart */
    uint32_t boot;   /* base of its boot ids */
    uint64_t down_until_ns;
    uint64_t away_until_ns; /* its control plane does nothing */
};

struct rank_set {
    uint64_t bits[WORLD_RANKS_MAX / 64];
};

enum shape_kind { SHAPE_RANK, SHAPE_SWITCH, SHAPE_NODE };

struct shape_child {
    struct rank_set ranks;
    uint16_t kind;
    uint16_t index; /* rank, switch, or node within this switch */
    uint16_t via;   /* 1 + the combiner that its packets come through; 0: none */
};

/* A node of a switch: its children in the order of their lowest ranks. Node 0 is the top one, but at a combiner, which
 * has none. */
struct shape_node {
    struct rank_set ranks;
    uint32_t rank_count;
    bool is_combiner;
    uint32_t group;              /* of the numbers at a server, of its children that are ranks */
    uint32_t parent;             /* node within the switch; WORLD_NONE: the switch's parent, or none */
    uint32_t number;             /* child number at that parent */
    uint32_t child_count, spare; /* spare: as a driver counts what its own ranks bring (core/quorum.h) */
    uint64_t branches;
    uint64_t keys; /* sum of the lane keys of its ranks */
    struct shape_child children[TRIB_CHILDREN_MAX];
};

/* Where something hangs at a switch. */
struct shape_place {
    uint16_t node, child;
};

/* What one communicator has at one switch. */
struct shape_switch {
    struct rank_set ranks;
    uint32_t rank_count; /* 0: not in this communicator's tree */
    uint32_t node_count;
    struct shape_node *nodes;
    struct shape_place up; /* at the parent switch */
};

struct inbox_entry {
    uint32_t parcel;
    uint32_t from;
};

struct world_node {
    void *memory;
    size_t size;
    uint32_t cap; /* as last set; 0: never */
};

/* Rows of one shard of a switch. */
struct world_pool {
    void *memory; /* NULL: nobody needed it yet */
    uint32_t rows;
    uint32_t lives;
};

/* When a fragment, or a question about it, came again to a unit. */
struct repeat {
    uint64_t sequence;
    uint64_t since_ns;
    uint32_t from;
    uint32_t boot;
    uint32_t kind;
    uint32_t child; /* behind a combiner */
    uint32_t count;
};
#define WORLD_REPEATS 64

/* What one thread runs, with one inbox: a rank's worker node, or a communicator's nodes on one shard of one switch. */
struct world_unit {
    struct world_comm *comm;
    bool is_worker;
    bool is_open;      /* has nodes */
    uint32_t rank;     /* worker */
    uint32_t at, root; /* switch and shard */
    uint32_t heir;     /* unit that got this one's addresses; 0: none */
    struct world_node *nodes;
    struct world_auth *auth; /* NULL: none, or no WELCOME yet */
    uint32_t node_count;
    struct world_link_pair *links;       /* to the parent; of a worker one per root */
    struct repeat *repeats;              /* the latest that came here; NULL: none */
    uint64_t heard_ns[WORLD_ROOTS_MAX];  /* worker: when something last came from a root, */
    uint64_t result_ns[WORLD_ROOTS_MAX]; /* and when a result did */
    uint32_t probes[WORLD_ROOTS_MAX];    /* and how often it has been probed since */
    uint64_t wake_ns;                    /* the WAKE that counts; TRIB_NEVER: none */
    uint64_t paused_ns;                  /* not run before */
    uint64_t ran_ns;                     /* when it last did */
    uint64_t clock_ns;                   /* this unit's clock is ahead by */
    struct inbox_entry *inbox;
    uint32_t inbox_count, inbox_capacity;
};

/* ---- operations ---- */

enum rank_op_state { RANK_OP_WAITS = 0, RANK_OP_RUNS, RANK_OP_DONE };

struct rank_op {
    uint8_t *send_memory, *recv_memory; /* as allocated */
    uint8_t *send, *recv;               /* as given; NULL: none */
    void *shares;                       /* of the operation; NULL: they are equal */
    enum rank_op_state state;
};

struct world_op {
    struct trib_operation operation; /* without buffers */
    uint64_t first;                  /* its first fragment, counted from that of the communicator */
    uint64_t elements;               /* of the tensor, which is all shares where there are some */
    uint64_t bytes;                  /* the same */
    uint64_t *share, *before;        /* elements of each rank's share, and before it; NULL: there are none */
    bool is_uneven;
    uint8_t *inputs; /* of all ranks, or the one tensor of which each rank has its share or one rank all */
    uint8_t *expected;
    uint8_t *earlier; /* expected before its ranks became a star; the first that is done says which. NULL: the same */
    bool in_place;
    uint8_t misaligned;
    struct rank_op *ranks;
};

/* ---- sessions ---- */

enum rank_state {
    RANK_JOINING = 0, /* JOIN was sent; also after the session was lost */
    RANK_WELCOME,     /* REGISTER was sent */
    RANK_RUNNING,
    RANK_LEFT,   /* closed */
    RANK_FAILED, /* has its error */
    RANK_DEAD    /* crashed */
};

/* A rank, and what the control plane knows of it. */
struct comm_rank {
    uint32_t unit;
    uint32_t home; /* the switch that it is attached to */
    const struct trib_value_kernels *kernels;
    enum rank_state state;
    uint32_t submitted, due, done; /* operations */
    uint32_t cause;                /* FAILED: the rank that the error names */
    int32_t failure;               /* and its status; 0: it has none */
    uint8_t *bent;                 /* results with a wrong lane, by sequence mod 256 */
    /* its side of the session */
    struct world_wire *wire;         /* NULL: none */
    struct world_own_root *own_root; /* NULL: none */
    struct trib_grant grant;         /* communicator 0: none yet */
    uint32_t tries;
    bool is_closing;
    bool was_running;         /* READY has come with that grant */
    bool is_multicast;        /* and said so */
    bool is_moving;           /* from a switch that is gone for good */
    bool lingers;             /* longer, as its process may be a root */
    uint64_t told;            /* the largest mark told in this session */
    uint64_t idle_ns;         /* since when nothing is under way */
    uint32_t registered_boot; /* the latest in which it has sent REGISTER */
    uint32_t heard_boot;      /* of the latest READY, */
    uint64_t heard_mark;      /* and the largest M since */
};

/* What a communicator has at a switch besides nodes. */
struct comm_member {
    bool is_open;
    uint32_t boot;
    uint16_t parents[WORLD_ROOTS_MAX]; /* below the root: where that root sends its sums, */
    uint8_t shards[WORLD_ROOTS_MAX];   /* and to which shard */
    uint8_t priority;                  /* of a combiner's rows */
    struct trib_pieces pieces;         /* that a combiner adds */
    uint64_t answer_ns;                /* the parent's answer to a probe of the path comes; 0: none is under way */
    struct rank_set registered[WORLD_ROOTS_MAX]; /* as far as that root of the data plane knows */
    uint64_t *marks;                             /* of each rank, root by root */
    uint32_t *units;                             /* one per root */
    uint32_t owners[WORLD_ROOTS_MAX];            /* 1 + the rank whose process is that root; 0: none */
};

enum control_state { CONTROL_GATHERING = 0, CONTROL_STARTING, CONTROL_RUNNING, CONTROL_ENDED };

/* What is over, and why. */
enum comm_outcome {
    COMM_LIVES = 0,
    COMM_CLOSED,  /* all ranks have closed */
    COMM_PEER,    /* a rank has crashed */
    COMM_LATE,    /* somebody never came back */
    COMM_REFUSED, /* a node or the control plane found that ranks differ */
    COMM_EXPIRED, /* no promise was made, and the world is over */
    COMM_OUTCOME_COUNT
};

/* Of a communicator whose sums may lack ranks: what is known of one of its fragments. */
struct world_fragment {
    struct rank_set list;       /* who is in the result that some rank has taken: no rank may ever take another */
    uint32_t count;             /* so many; 0: none has been taken */
    uint32_t incarnation;       /* of the tree, */
    uint64_t answered;          /* in which these nodes have a result, by number mod 64 */
    struct rank_set sent, took; /* who has contributed, who has taken the result */
};

/* The session's window, outside a node. */
struct world_dealt {
    struct trib_window window;
    struct trib_turn table[WORLD_ROOTS_MAX * UINT8_MAX];
};

struct world_tree {
    uint32_t parents[WORLD_SWITCHES_MAX]; /* those that switches connect to, or in a chain */
    struct shape_switch shapes[WORLD_SWITCHES_MAX];
    struct shape_place *places; /* of ranks, at their switches */
    uint32_t edges;
};

struct world_comm {
    struct world *world;
    uint32_t index;
    struct comm_settings set;
    struct world_dealt dealt;
    struct world_tree *tree[WORLD_ROOTS_MAX]; /* of each root; but for chains all are one */
    struct comm_member members[WORLD_SWITCHES_MAX];
    struct comm_rank *ranks;
    struct world_op *ops;
    struct trib_tag *tag;         /* NULL: the communicator has no key */
    struct world_fragment *known; /* NULL: all ranks are in all sums */
    struct world_comm *before;    /* whose addresses it has; NULL: nobody's */
    uint32_t depth;               /* the most switches between a rank and the root, both counted */
    uint32_t edges;               /* between nodes, of one root, at most */
    uint64_t fragments;           /* sequences of all operations */
    uint32_t done_all;
    /* the control plane at the root */
    char name[16]; /* of the job */
    enum control_state control;
    enum comm_outcome outcome;
    bool has_job, has_ended;
    uint16_t top[WORLD_ROOTS_MAX];       /* the switch that sums each root, as ranks know it, */
    uint8_t shard[WORLD_ROOTS_MAX];      /* on this shard */
    uint8_t switches[TRIB_SWITCHES_MAX]; /* of its grant */
    uint32_t needed; /* a rank that has been told CLOSED although others lack something; WORLD_NONE: none */
    uint32_t incarnation;
    uint32_t boot;
    uint32_t boots[WORLD_BOOTS_MAX]; /* of all incarnations, by their number */
    uint32_t named;                  /* the rank that errors must name, WORLD_NONE: none */
    uint32_t incarnations_lost;      /* restarts that it saw */
    uint64_t crash_ns;               /* 0: none */
    uint64_t machine_ns;             /* until then machines or processes did not answer */
    /* judging */
    bool is_started;
    bool is_judged;
    uint64_t quiet_from_ns; /* heal, last submit or READY, whichever is the latest */
    uint64_t last_done_ns;
    uint64_t rest_ns; /* from then on nothing may move */
    uint64_t sent[2]; /* packets: up, down */
};

#include "report.h"

struct world {
    uint64_t seed;
    struct world_settings set;
    struct trib_prng prng; /* of the engine */
    const struct trib_scheme *scheme;
    const char *scheme_name; /* as asked for; NULL: the seed says what stands behind the colon */
    uint32_t depth_max;
    struct world_switch switches[WORLD_SWITCHES_MAX];
    uint32_t switch_count, tree_count;    /* all, and those of the tree; the others are agents */
    uint8_t returning[TRIB_SWITCHES_MAX]; /* of grants that are older than the world; all 0: all switches */
    struct world_comm *comms[WORLD_COMMS_MAX];
    uint32_t comm_count;
    struct world_unit *units; /* 0 is none */
    uint32_t unit_count, unit_capacity;
    uint64_t now_ns;
    uint64_t check_ns; /* when to look at the promises about time again */
    bool is_healed;
    bool is_moved;    /* the switches are gone for good, and ranks' processes are the roots */
    bool is_farewell; /* that has happened: who comes back with something to do is stopped */
    struct world_event *heap;
    uint32_t heap_count, heap_capacity;
    uint64_t order;
    struct parcel *parcels;
    uint32_t parcel_count, parcel_capacity, parcel_free;
    struct world_plane *planes; /* of each switch */
    struct world_plan *plan;    /* placing.h */
    struct world_pool pools[WORLD_SWITCHES_MAX][WORLD_ROOTS_MAX];
    struct world_wire **wires; /* NULL: free */
    uint32_t wire_count, wire_capacity;
    uint32_t old_parcels[64]; /* for replays; 0: none */
    uint32_t old_from[64], old_to[64], old_at;
    struct world_auths auths;
    uint8_t *ghost; /* what some node left in its memory, for the next one */
    size_t ghost_size;
    struct world_report *report;
    bool trace;
    enum world_check failed;
    char text[512];
    jmp_buf caught; /* where a failed assertion of a node comes back to */
};

/* Ranks that send to each other: switch 0 is no more than a control plane, and no switch has nodes. */
static inline bool world_has_peers(const struct world *world)
{
    return world->scheme->switch_node == NULL;
}

/* And they stand in groups. */
static inline bool world_has_groups(const struct world *world)
{
    return world_has_peers(world) && world->scheme->unfit != NULL;
}

/* The controller of the root has agents elsewhere. */
static inline bool world_has_agents(const struct world *world)
{
    return world->tree_count < world->switch_count;
}

/* Its windows have caps, by the memory of switches. */
static inline bool world_has_caps(const struct world *world)
{
    return trib_scheme_has_caps(world->scheme);
}

static inline bool comm_has_quorum(const struct world_comm *comm)
{
    return comm->set.session.quorum_of != 0;
}

/* An agent has the children of the root of the tree. */
static inline uint32_t world_seat(const struct world *world, uint32_t at)
{
    return at < world->tree_count ? at : 0;
}

/* Who sums this root for the children of switch `at`. */
static inline uint32_t comm_top(const struct world_comm *comm, uint32_t at, uint32_t root)
{
    return at == 0 ? comm->top[root] : at;
}

/* swarm.c, swarm_comm.c */
void world_draw(struct world *world);
void world_describe(const struct world *world, FILE *out);
void comm_draw(struct world *world, uint32_t ranks, struct comm_settings *set); /* 0: any number of ranks */
void comm_draw_homes(struct world *world, struct world_comm *comm);
void comm_describe(const struct world_comm *comm, FILE *out);

/* shape.c */
void shape_make(struct world_comm *comm);
void shape_make_star(struct world_comm *comm); /* anew */
void shape_free(struct world_comm *comm);
void rank_set_add(struct rank_set *set, uint32_t rank);
bool rank_set_has(const struct rank_set *set, uint32_t rank);
uint32_t rank_set_next(const struct rank_set *set, uint32_t from); /* WORLD_NONE: no more */
uint32_t rank_set_count(const struct rank_set *set);
void rank_set_unite(struct rank_set *set, const struct rank_set *other);

struct shape_place shape_place_at(const struct world_comm *comm, uint32_t rank, uint32_t at, uint32_t root);

/* engine.c */
bool world_run(struct world *world);
void world_fail(struct world *world, enum world_check check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *world_check_name(enum world_check check);
void world_schedule(struct world *world, uint64_t time_ns, struct world_event event);
bool world_chance(struct world *world, double probability); /* false after the faults have ended */
uint64_t world_below(struct world *world, uint64_t bound);
void *world_grown(void *array, uint32_t count, uint32_t *capacity, size_t size);
void *world_zeroed(size_t count, size_t size);

/* comm.c */
struct world_comm *comm_create(struct world *world, const struct comm_settings *set, struct world_comm *before);
void comm_free(struct world_comm *comm);
void comm_start(struct world_comm *comm);
void comm_watch(struct world_comm *comm);
void comm_end(struct world_comm *comm);
void comm_submit_due(struct world_comm *comm, uint32_t rank);
void comm_disturbed(struct world_comm *comm, uint64_t until_ns); /* lateness counts from then at the earliest */
void comm_has_error(struct world_comm *comm, uint32_t rank, uint32_t cause);
uint32_t comm_ops(const struct world_comm *comm, uint32_t rank); /* operations that a rank takes part in */
bool comm_has_left(const struct world_comm *comm);               /* some rank has closed and is gone */
bool comm_is_over(const struct world_comm *comm);                /* all ranks have all results, or an error */
bool comm_has_promise(const struct world_comm *comm);
uint64_t comm_transfer_ns(const struct world_comm *comm);
uint64_t comm_true_mark(const struct world_comm *comm);

static inline uint32_t comm_root_of(const struct world_comm *comm, uint64_t sequence)
{
    return trib_window_root(&comm->dealt.window, sequence);
}

/* unit.c */
uint32_t unit_create(struct world_comm *comm, bool is_worker);
uint32_t unit_skewed_ranks(const struct world_comm *comm); /* how many there are, to who is told another number */
void unit_open_worker(struct world_comm *comm, uint32_t rank);
void unit_open_switch(struct world_comm *comm, uint32_t at, uint32_t root);
void unit_close(struct world *world, struct world_unit *unit);
void unit_wake(struct world *world, uint32_t unit, uint64_t time_ns);
void unit_run(struct world *world, uint32_t unit);
void unit_arrive(struct world *world, const struct world_event *event);
void unit_pause(struct world *world, uint32_t unit, uint64_t until_ns);
struct world_unit *unit_of_rank(const struct world_comm *comm, uint32_t rank);
struct world_unit *unit_of_switch(const struct world_comm *comm, uint32_t at, uint32_t root);
void *worker_node(const struct world_comm *comm, uint32_t rank); /* NULL when it is closed */
uint32_t unit_number(const struct world *world, const struct world_unit *unit);
/* unit_switch.c */
void unit_drain_switch(struct world *world, uint32_t unit);
void unit_give(struct world *world, uint32_t unit, uint32_t node, const struct trib_packet *packet,
               const struct trib_place *to);

static inline uint64_t unit_now(const struct world *world, const struct world_unit *unit)
{
    return world->now_ns + unit->clock_ns;
}
struct trib_switch_config unit_switch_config(const struct world_comm *comm, uint32_t at, uint32_t root, uint32_t node);

/* caps.c */
uint32_t caps_first(const struct world_comm *comm); /* the cap that a rank begins with */
void caps_divide(struct world *world, uint32_t unit);
void caps_limit(struct world *world, const struct world_unit *unit);

/* link.c */
uint32_t world_parcel(struct world *world, const struct trib_packet *packet);
uint32_t world_copy(struct world *world, uint32_t parcel);
void world_release(struct world *world, uint32_t parcel);
void world_send(struct world *world, uint32_t from, uint32_t to, uint32_t parcel, const struct trib_packet *packet);
void world_deliver(struct world *world, uint32_t from, uint32_t to, uint32_t parcel, uint64_t delay_ns);
void world_trace(const struct world *world, const char *what, uint32_t from, uint32_t to,
                 const struct trib_packet *packet);
void world_forget(struct world *world); /* what was kept for replays */

/* fault.c */
void fault_schedule(struct world *world);
void fault_at_close(struct world *world);
void fault_at_return(struct world_comm *comm, uint32_t rank);
void fault_at_opening(struct world *world, uint32_t at);
void fault_happen(struct world *world, const struct world_event *event);

/* work.c */
void work_create(struct world_comm *comm);
void work_destroy(struct world_comm *comm);
void work_schedule(struct world_comm *comm);
void work_submit(struct world_comm *comm, uint32_t rank);
void work_done(struct world_comm *comm, uint32_t rank, uint64_t token);
void work_end_rank(struct world_comm *comm, uint32_t rank);

/* hostile.c */
void hostile_schedule(struct world_comm *comm);
void hostile_inject(struct world_comm *comm);

#include "checks.h"
#include "combining.h"

#endif
