/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: a search over every state of tiny worlds made of the real nodes of a scheme. It is not a second copy of the
 * protocol: nodes are driven through the table of schemes, as src/io drives them, and a state is what their memory
 * holds.
 *
 * A STATE is: the memory of every worker and switch node, the callers' buffers, the bag of packets on their way, the
 * control plane (who is registered where, what marks the sessions have told), and what is left of the budgets of
 * faults. The bag is a multiset, so every order of arrival is searched; a packet may be lost or doubled while the
 * budget lasts. Breadth first, so the first trace is a shortest.
 *
 * TIME is abstract, since a state with clocks in it would never come back:
 *   - Nothing takes time but a timer and a tick, which take more than every timeout and every limit of repeats (MODEL_LEAP_NS).
 *   - So without a tick every limit ("one answer in 0.5 ms", "half an RTO") holds, and behind one none does. A tick of a node is an
 *     event of its own (time TICKS), or never comes but with timers (time STILL), or always (time LEAPS).
 *   - Where caps are set (scheme panama), who rests rests everywhere, since a switch gives a cap away only after its ranks have rested for
 *     longer than they keep it: time is STILL there, and passes for all nodes at once.
 *   - A timer fires all that is due, and all is due. It may fire at any time: while packets are under way that costs the budget `early`.
 *   - Estimates of round trips have no meaning here; tests/world has clocks.
 * What lies behind the hashed state of a node (times, counters) is kept out of the state, but for the limits that hold
 * (view.c).
 *
 * CLOSING. The memory of nodes also holds what nobody will read again: consumed entries of rings, rows of free slots,
 * copies below M. view.c clears these in the node, which must change nothing; --verify compares nodes that were cleared
 * with nodes that were not. Operations are few, so sequences and marks are bounded, and everything else comes back.
 *
 * HOW IT IS FAST. A step of one node depends on that node and its packet alone, so each is run once and remembered
 * (machine.c): a state is a handful of numbers, and most transitions are a look-up.
 *
 * LIVENESS. Every state has one fair successor: the first thing that can happen without a fault (state.c). These steps
 * form paths; each must end where all operations are finished, no slot is held and no timer is set, or where an error
 * has ended the job on all ranks. A path that returns to itself is a storm when no timer fires on it, else a hang. So
 * every state of a finished search is checked.
 *
 * Files, in reading order: scenario.c (the worlds), settings.c, machine.c (a node and its memory), combine.c, view.c,
 * check.c
 * (buffers, oracle, packets), marks.c (of congestion), store.c (tables), control.c (sessions), state.c (what can
 * happen), reduce.c, symmetry.c, search.c, trace.c, main.c. */
#ifndef TRIB_TESTS_MODEL_H
#define TRIB_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/node.h"
#include "core/operation.h"
#include "schemes/schemes.h"

#define MODEL_RANKS 6U   /* of all jobs together */
#define MODEL_SWITCHES 4 /* of one job's tree */
#define MODEL_DEPTH 3
#define MODEL_JOBS 2
#define MODEL_ROOTS 2
#define MODEL_NODES 12      /* workers, then switch nodes */
#define MODEL_OPS 4         /* of one job */
#define MODEL_SEQUENCES 16  /* of one job where sums may lack ranks, or packets be marked */
#define MODEL_PAYLOAD 64    /* of elements */
#define MODEL_LIST 64       /* behind it, where sums may lack ranks */
#define MODEL_BAG 48        /* packets on their way at most; more is a storm */
#define MODEL_MEMORY 65536  /* of a node with its buffers */
#define MODEL_OUT 64        /* packets of one step at most */
#define MODEL_BUFFER 256    /* bytes of a caller's buffer */
#define MODEL_PAIRS 2       /* pairs of buffers (send, receive) of a rank */
#define MODEL_WHOLE 16      /* elements of a whole fragment */
#define MODEL_VIOLATIONS 64 /* remembered */
#define MODEL_LEAP_NS UINT64_C(4000000000)
#define MODEL_NONE UINT32_MAX

/* ---- scenarios ---- */

enum model_time { MODEL_TIME_STILL = 0, MODEL_TIME_LEAPS, MODEL_TIME_TICKS };

struct model_op {
    enum trib_collective collective;
    uint32_t elements;
    uint32_t root;
};

/* A job's tree: switch 0 is the root. Ranks are numbered within the job. */
struct model_job {
    uint32_t ranks;
    uint32_t switches;
    bool is_chain; /* of racks: scheme rina */
    uint8_t parent[MODEL_SWITCHES];
    uint8_t leaf[MODEL_RANKS]; /* each rank's switch */
    uint32_t ops;
    struct model_op op[MODEL_OPS];
    uint32_t others;       /* bitmap: ranks that run `other` as their last operation */
    struct model_op other; /* so nobody may finish it, and the job must end with an error */
};

/* What may go wrong how often. */
enum model_budget {
    BUDGET_LOSS = 0,
    BUDGET_DUPLICATE,
    BUDGET_EARLY,   /* timers that fire while packets are under way */
    BUDGET_RESTART, /* of a switch */
    BUDGET_DEATH,   /* of a rank */
    BUDGET_LINGER,  /* a closing rank goes before it is told that it may */
    BUDGET_CAP,     /* a switch divides its memory anew */
    BUDGET_MARKED,  /* packets that come over a congested way */
    BUDGET_NUMBER,  /* who was not told its child number is */
    BUDGET_POOL,    /* a combiner loses its rows alone */
    BUDGET_COUNT
};

/* What two jobs share. */
enum model_sharing {
    SHARING_NOTHING = 0, /* each its own nodes, the same sockets */
    SHARING_SWAP,        /* and at each restart each gets the memory that was the other's */
    SHARING_HEIR /* job 1 begins when job 0 has ended, in its memory, as the next generation of its communicator */
};

struct model_scenario {
    const char *name;
    const char *about;
    struct model_job job[MODEL_JOBS]; /* a second one without ranks: none */
    uint32_t slots, window, roots, train;
    uint8_t weight[2];   /* of the roots */
    uint32_t operations; /* under way at most, each with its own buffers */
    enum trib_type type, wire;
    enum model_time time;
    enum model_sharing sharing;
    uint8_t budget[BUDGET_COUNT];
    uint8_t rounds; /* of timers at most, from any state to the end; 0: not known */
    bool in_place;
    bool session_marks; /* idle ranks tell their marks by the session; else packets alone must do */
    bool closes;        /* ranks close at their end */
    bool is_alone;      /* a restart is of the first job's tree alone: the second job goes on */
    bool same_boot;     /* a restarted switch draws the boot id that it had */
    bool batches;       /* a node may take two packets before it is drained */
    bool is_rough;      /* floats whose sum depends on the order, and NaN; of 3 ranks at one switch at most */
    bool is_quick;      /* in `make test` */
    bool is_long;       /* not in CI */
    bool is_alike;      /* states that differ in numbers of ranks and jobs alone are searched once (symmetry.c) */
    bool has_peers;     /* ranks send to each other (scheme ring): the one switch is no more than a control plane */
    uint8_t group;      /* and stand in groups of so many (scheme hybrid); 0: not */
    uint8_t cap;        /* ranks begin with it (scheme panama), and switches tell it or half of the slots; 0: no caps */
    uint8_t quorum, quorum_of; /* sums may lack ranks (scheme panama); 0, 0: not */
    bool has_numbers;          /* ranks and inner switches of job 0 are told their child numbers (scheme panama), */
    uint16_t untold;           /* but for these: bit of a rank, or MODEL_RANKS + of a switch */
    uint8_t pieces;            /* not 0: combiners add the second of so many pieces alone */
    uint8_t rows; /* not 0: the root is a server, and switches below are combiners with so many rows for all jobs
                     (scheme atp), */
    uint8_t priority[MODEL_JOBS]; /* of each job's */
    uint8_t order[MODEL_JOBS];    /* priorities of each job's operations */
};

const char *scenario_scheme(const struct model_scenario *scenario); /* NULL: any scheme of switches */
const struct model_scenario *scenario_at(uint32_t index);           /* NULL behind the last */

/* ---- stimuli: what can happen to one node ---- */

enum stimulus_kind {
    STIMULUS_NONE = 0,
    STIMULUS_PACKET,
    STIMULUS_TIMER,      /* a worker's timers, all of them */
    STIMULUS_TICK,       /* time passes */
    STIMULUS_SUBMIT,     /* a: operation */
    STIMULUS_SUSPEND,    /* the session is lost */
    STIMULUS_REGISTERED, /* a: boot number, b: M */
    STIMULUS_LEARN,      /* b: M, by the session */
    STIMULUS_JOIN,       /* a: child, b: mark */
    STIMULUS_CAP,        /* a: fragments */
    STIMULUS_NUMBER,     /* a: the node's child number */
    STIMULUS_POOL,       /* a combiner loses its rows */
    STIMULUS_INIT        /* a: boot number, b: job */
};

/* Plain bytes without holes: compared and hashed as such. */
struct stimulus {
    uint8_t kind;
    uint8_t from; /* of a packet to a switch: the child, FROM_PARENT; to a worker: the root, or the peer */
    uint8_t to;   /* of a packet: rank (all jobs counted), or MODEL_RANKS + socket */
    uint8_t job;  /* of a packet */
    uint16_t len;
    uint16_t a; /* of a packet: 1, the node is not drained behind it */
    uint32_t b;
    uint8_t wire[TRIB_HEADER_SIZE + MODEL_PAYLOAD + MODEL_LIST];
};

#define FROM_PARENT 0xff
#define FROM_COMBINER 0x80 /* + the switch */

/* ---- what a step of a node did ---- */

struct step {
    uint32_t local, stimulus; /* the question */
    uint32_t next;            /* the node's state after it */
    uint32_t out_at;          /* its packets, in the table of outputs */
    uint8_t out_count;
    uint8_t drop;      /* of a packet */
    uint8_t violation; /* 0: none; else an index + 1 */
    uint8_t dead;      /* reduce.c's */
};

/* What the search needs to know of a node's state without loading it. */
struct facts {
    uint8_t mark;  /* of a worker: own mark */
    uint8_t known; /* M */
    uint8_t submitted;
    uint8_t done;                  /* bitmap of operations */
    uint8_t held;                  /* of a switch: slots */
    bool wants_timer;              /* of a worker */
    bool is_limited;               /* some limit of repeats holds: a tick would change it */
    bool lacks_lowest;             /* of a switch: somebody's part of the sequence at M */
    bool is_undrained;             /* within a batch */
    bool is_disputed;              /* of a switch: it has told that operations differ */
    bool has_number;               /* it was told its child number */
    uint8_t combined[MODEL_JOBS];  /* of a combiner: M of each job */
    uint8_t list[MODEL_SEQUENCES]; /* of a worker where sums may lack ranks: who is in the results that it keeps */
};

/* ---- states ---- */

enum session_phase {
    SESSION_RUN = 0,
    SESSION_CUT,         /* lost, and the rank has not noticed */
    SESSION_OUT,         /* it has, and waits for the others to return */
    SESSION_REGISTERING, /* `hop` switches have heard of it */
    SESSION_READYING,    /* READY is on its way; `hop` switches are still to pass */
    SESSION_CLOSED,      /* the rank has left in peace */
    SESSION_FAILED,      /* it was told an error */
    SESSION_DEAD,
    SESSION_ABSENT /* of a job that has not begun */
};

struct session {
    uint8_t phase;
    uint8_t hop;
    uint8_t closing;
    uint8_t mark;               /* the last one of a rank that has gone */
    uint8_t heard[MODEL_DEPTH]; /* its mark as the switches on its way up have heard it by the session */
    uint8_t down[MODEL_DEPTH];  /* M as the session has brought it down */
    uint8_t unused[2];
};

struct control {
    struct session session[MODEL_RANKS];
    uint8_t incarnation[MODEL_JOBS][MODEL_SWITCHES]; /* which boot each switch's nodes are open with */
    uint8_t ready_mark[MODEL_JOBS];                  /* M as READY tells it */
    uint8_t is_dropped[MODEL_JOBS];                  /* the communicator is gone from the switches */
    uint8_t budget[BUDGET_COUNT];
    uint8_t unused[2];
};

struct state {
    uint32_t node[MODEL_NODES]; /* local states */
    struct control control;
    uint32_t count;
    uint32_t bag[MODEL_BAG]; /* stimuli, sorted */
};

_Static_assert(sizeof(struct control) % 4 == 0, "states are hashed as words");

enum happening_kind {
    HAPPENS_NONE = 0,
    HAPPENS_END,       /* a: job, b: switch: it hears that its tree has ended, and opens anew */
    HAPPENS_NOTICE,    /* a: rank: sees that its session is gone */
    HAPPENS_REGISTER,  /* a: rank: REGISTER climbs one switch */
    HAPPENS_READY,     /* a: rank: READY comes down one switch */
    HAPPENS_DROP,      /* a: job: the control plane ends the communicator */
    HAPPENS_FAIL,      /* a: rank: FAIL comes */
    HAPPENS_ARRIVE,    /* a: job: it begins */
    HAPPENS_CLOSE,     /* a: rank */
    HAPPENS_CLOSED,    /* a: rank */
    HAPPENS_MARK_UP,   /* a: rank, b: hop */
    HAPPENS_MARK_DOWN, /* a: rank, b: hop */
    HAPPENS_SUBMIT,    /* a: rank */
    HAPPENS_DELIVER,   /* a: place in the bag */
    HAPPENS_ROUND,     /* nothing else can: all timers fire */
    /* from here on: faults, or an order that is not the fair one */
    HAPPENS_TIMER, /* a: rank */
    HAPPENS_TICK,  /* a: node */
    HAPPENS_BATCH, /* a, b: places in the bag, of packets to one node, in this order */
    HAPPENS_LOSE,  /* a: place in the bag */
    HAPPENS_DOUBLE,
    HAPPENS_EARLY,   /* a: rank */
    HAPPENS_RESTART, /* b: switch */
    HAPPENS_DIE,     /* a: rank */
    HAPPENS_LINGER,  /* a: rank */
    HAPPENS_CAP,     /* a: fragments, b: switch */
    HAPPENS_MARKED,  /* a: place in the bag */
    HAPPENS_NUMBER,  /* a: rank, or MODEL_RANKS + switch */
    HAPPENS_POOL     /* b: switch */
};

struct happening {
    uint8_t kind;
    uint8_t a, b;
    uint8_t unused;
};

#define MODEL_HAPPENINGS 256

struct happenings {
    uint32_t count;
    struct happening at[MODEL_HAPPENINGS];
};

/* ---- the model ---- */

struct store;
struct symmetry;

/* A node, its caller and its driver, in one piece of memory that stays where it is: so pointers to buffers stay right
 * in copies. */
struct machine {
    bool is_worker;
    uint32_t job; /* of a worker */
    uint32_t rank;
    size_t node_at, node_size, buffers_at, size;
    uint8_t *memory, *base; /* base: its first state */
};

struct violation {
    const char *word; /* what caught it, in one word */
    char text[240];
};

struct model {
    const struct trib_scheme *scheme;
    const struct model_scenario *scenario;
    uint32_t jobs;
    uint32_t ranks;   /* of all jobs */
    uint32_t sockets; /* of the switches: switch x roots + root */
    uint32_t regions; /* sets of switch nodes: one per job, or one for both */
    uint32_t nodes;
    uint32_t first_rank[MODEL_JOBS];
    uint32_t depth[MODEL_JOBS][MODEL_RANKS];
    uint8_t path[MODEL_JOBS][MODEL_RANKS][MODEL_DEPTH]; /* leaf to root */
    uint32_t children[MODEL_JOBS][MODEL_SWITCHES];
    uint8_t child[MODEL_JOBS][MODEL_SWITCHES][MODEL_RANKS]; /* rank, or MODEL_RANKS + switch; by lowest rank */
    uint64_t behind[MODEL_JOBS][MODEL_SWITCHES];            /* ranks behind a switch */
    uint64_t op_first[MODEL_RANKS][MODEL_OPS];              /* as each rank runs them */
    struct trib_layout layout[MODEL_RANKS][MODEL_OPS];
    struct machine machine[MODEL_NODES];
    struct store *store;
    uint32_t verify_every; /* compare every so many merged node states with a run of their own; 0: none */
    bool is_unreduced;
    struct symmetry *symmetry; /* NULL: every state is searched */
    uint64_t verified, node_steps, proven;
    const char *forgiven; /* words of violations that do not count, since somebody has lied; NULL: none */
    uint32_t violations;
    struct violation violation[MODEL_VIOLATIONS];
};

/* scenario.c */
void model_open(struct model *model, const struct trib_scheme *scheme, const struct model_scenario *scenario);
void model_close(struct model *model);
const struct model_op *scenario_op(const struct model *model, uint32_t rank, uint32_t op); /* as the rank runs it */
struct trib_operation scenario_operation(const struct model *model, uint32_t rank, uint32_t op); /* without buffers */
/* Do ranks of the job run different operations as this one? */
static inline bool scenario_differs(const struct model_job *job, uint32_t op)
{
    return job->others != 0 && op + 1 == job->ops;
}
/* The lowest rank behind a child of a switch, as `child` of struct model has it. */
uint32_t scenario_lowest(const struct model *model, uint32_t job, uint32_t child);
/* Notes a violation; returns its index + 1. */
uint8_t model_violated(struct model *model, const char *word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint32_t model_job_of(const struct model *model, uint32_t rank);
/* Switch nodes of one job; none where ranks send to each other. */
uint32_t model_sockets(const struct model *model, uint32_t job);

/* The number that a switch of the job has for a child, as `child` of struct model has it. */
uint8_t scenario_child(const struct model *model, uint32_t job, uint32_t at, uint32_t child);

/* Below a server, which is switch 0. */
static inline bool model_is_combiner(const struct model *model, uint32_t socket)
{
    return model->scenario->rows != 0 && socket >= model->scenario->roots;
}

/* settings.c */
uint32_t settings_boot(const struct model *model, uint32_t number);
void settings_session(const struct model *model, uint32_t job, struct trib_session_config *session);
struct trib_worker_config settings_worker(const struct model *model, const struct machine *m);
struct trib_switch_config settings_switch(const struct model *model, uint32_t job, uint32_t socket, uint32_t boot);

/* machine.c */
void machine_open(struct model *model);
void machine_close(struct model *model);
uint32_t machine_initial(struct model *model, uint32_t node);
/* Runs, or remembers, what the stimulus does to the node in this state. */
struct step machine_step(struct model *model, uint32_t local, uint32_t stimulus);
/* Does the packet leave the node in this state as it is, and silent? */
bool machine_ignores(struct model *model, uint32_t local, uint32_t stimulus);
const struct facts *machine_facts(const struct model *model, uint32_t local);
/* A session's salt: lanes need it, and traces name contributions by it. */
static inline uint64_t machine_salt(uint32_t job)
{
    return UINT64_C(0x5eed0f1a9e5) + job;
}
static inline uint32_t machine_communicator(uint32_t job)
{
    return 0xc0 + job;
}

/* combine.c: one machine holds a pool of rows, and a node of each job in it */
struct run;
size_t combine_size(const struct model *model);
void combine_run(struct run *run, struct model *model, const struct machine *m, const struct stimulus *s);
void combine_note(const struct model *model, const struct machine *m, struct facts *facts);
/* Clears what no part will read again. */
void combine_clear(const struct model *model, const struct machine *m);
/* From a server or a combiner to these children: to all behind one combiner once, or to each that is meant. */
void combine_send_down(struct run *run, struct model *model, const struct machine *m, const struct trib_packet *packet,
                       uint64_t children);
/* The children of the receiver that the sender speaks for. */
uint64_t model_speaks_for(const struct model *model, const struct stimulus *s);

/* view.c */
struct view {
    const char *scheme;
    void (*clear_worker)(const struct model_scenario *scenario, void *node);
    void (*clear_switch)(const struct model_scenario *scenario, void *node);
    /* Writes the limits that hold at this time, as words; *is_limited: one does. Returns their count. */
    size_t (*worker_limits)(const void *node, uint64_t now_ns, uint64_t *words, bool *is_limited);
    size_t (*switch_limits)(const void *node, uint64_t now_ns, uint64_t *words, bool *is_limited);
    /* For each sequence, a bitmap of the ranks in the result that the worker keeps of it; 0: it keeps none. */
    void (*worker_lists)(const void *node, uint8_t list[MODEL_SEQUENCES]);
    /* Says what is wrong with windows that follow the network; before: fragments in flight at each root before the node
     * was drained. NULL: nothing. */
    const char *(*worker_windows)(const void *node, const uint32_t before[MODEL_ROOTS]);
};
#define VIEW_WORDS 64
const struct view *view_find(const char *scheme); /* NULL: the scheme has none, its states are taken as they are */

/* check.c */
struct buffers {
    uint8_t send[MODEL_BUFFER];
    uint8_t recv[MODEL_BUFFER];
};
/* A caller's buffers for an operation: its own values, and something old where the result will be. */
void buffers_fill(const struct model *model, uint32_t rank, uint32_t op, struct buffers *buffers);
void buffers_scribble(struct buffers *buffers);
/* Between two steps nothing may be in the buffers of operation `op` but this; is_done: it has just ended. 0, or a
 * violation. */
uint8_t buffers_check(struct model *model, uint32_t rank, uint32_t op, const struct buffers *buffers, bool is_done);
uint8_t buffers_check_idle(struct model *model, uint32_t rank, const struct buffers *buffers);
/* What a worker hands out must be its own part, or the result. */
uint8_t check_worker_packet(struct model *model, uint32_t rank, const struct trib_packet *packet);
/* The lane of a sum. */
uint8_t check_switch_packet(struct model *model, uint32_t job, uint32_t at, const struct trib_packet *packet);
/* Where caps are set a switch holds no more than it has room for. */
uint8_t check_room(struct model *model, const void *node);
/* Drops that no fault explains. */
uint8_t check_drop(struct model *model, uint32_t job, bool is_worker, const struct trib_packet *packet,
                   enum trib_drop drop);
/* A switch has told that operations differ: they must, and it must name one rank of each side (I10). */
uint8_t check_mismatch(struct model *model, uint32_t job, uint32_t at, const struct trib_event *event);
/* Where sums may lack ranks: do two workers keep results of one sequence that hold other ranks? 0, or a violation. */
uint8_t check_lists(struct model *model, const struct state *state, uint32_t rank);
/* The operation that a rank's sequence belongs to; false: none. */
bool check_operation(const struct model *model, uint32_t rank, uint64_t sequence, uint32_t *op, uint64_t *block);

/* marks.c */

/* What a node must make of marks of congestion, by what has come to it. Part of its state. */
struct marks {
    uint8_t number;                 /* its child number at the node above, + 1; 0: it was not told */
    uint8_t late;                   /* of a switch: children whose part came late and marked, since it was drained */
    uint8_t named[MODEL_SEQUENCES]; /* of a switch: the children that its result of a sequence must name */
};
/* The packet as it comes over a congested way. */
uint32_t marks_set(struct model *model, uint32_t stimulus);
/* A switch has taken the packet, or dropped it. child: or FROM_PARENT; all: children of the switch. */
void marks_take(struct marks *marks, const struct trib_packet *packet, uint32_t child, enum trib_drop drop,
                uint64_t all);
/* Nothing is sent of what lies below M. */
void marks_forget(struct marks *marks, uint64_t mark);
/* What a switch hands out. */
uint8_t marks_check_switch(struct model *model, const struct marks *marks, uint32_t at,
                           const struct trib_packet *packet, const struct trib_place *to);
/* heeded: how many marks the worker has taken for its own with this packet. */
uint8_t marks_check_worker(struct model *model, const struct marks *marks, const struct trib_packet *packet,
                           enum trib_drop drop, uint64_t heeded);
/* before: as view.c's. */
uint8_t marks_check_windows(struct model *model, const void *node, const uint32_t before[MODEL_ROOTS]);

/* store.c: tables that only grow. */
struct digest {
    uint64_t a, b;
};
struct store *store_open(void);
void store_close(struct store *store);
void digest_add(struct digest *digest, const void *bytes, size_t size);
uint32_t store_stimulus(struct store *store, const struct stimulus *stimulus);
const struct stimulus *store_stimulus_at(const struct store *store, uint32_t id);
uint32_t store_stimuli(const struct store *store);
uint32_t store_stimulus_name(const struct store *store, uint32_t id); /* the same in every process */
struct local {
    uint32_t node;
    uint32_t blocks; /* that differ from the node's first state */
    size_t at;       /* of the first of them */
    struct facts facts;
};
/* Finds a node's state, MODEL_NONE when it is new. */
uint32_t store_find_local(const struct store *store, const struct digest *digest);
/* Adds it; its blocks follow by store_add_block. */
uint32_t store_add_local(struct store *store, const struct digest *digest, uint32_t node, const struct facts *facts);
void store_add_block(struct store *store, uint16_t index, const uint8_t *block);
const struct local *store_local(const struct store *store, uint32_t id);
const uint8_t *store_block(const struct store *store, size_t at, uint16_t *index);
uint32_t store_locals(const struct store *store);
const struct step *store_find_step(const struct store *store, uint32_t local, uint32_t stimulus);
void store_note_dead(struct store *store, const struct step *step);
uint32_t store_steps(const struct store *store);
const struct step *store_step_at(const struct store *store, uint32_t index);
/* Steps are taken again when they are asked for. */
void store_forget_steps(struct store *store);
struct step store_add_step(struct store *store, const struct step *step, const uint32_t *out);
const uint32_t *store_out(const struct store *store, const struct step *step);

/* control.c */
enum control_stage {
    CONTROL_FIRST, /* what sessions bring at once */
    CONTROL_LAST,  /* what idle ranks do after a while */
    CONTROL_FAULTS /* what need not happen */
};
/* Makes the first state: all have joined. 0, or a violation. */
uint8_t control_begin(struct model *model, struct state *state);
/* Appends what the control plane can do next in this stage. */
void control_list(struct model *model, const struct state *state, enum control_stage stage, struct happenings *list);
/* 0, or a violation. */
uint8_t control_apply(struct model *model, struct state *state, struct happening happening);
/* Has the rank's session ended, one way or the other? */
static inline bool session_is_over(const struct session *session)
{
    return session->phase >= SESSION_CLOSED;
}
/* Where a job's switch nodes lie now. */
uint32_t control_node(const struct model *model, const struct control *control, uint32_t job, uint32_t socket);

/* state.c */
uint8_t state_step(struct model *model, struct state *state, uint32_t node, uint32_t stimulus);
uint8_t state_tell(struct model *model, struct state *state, uint32_t node, const struct stimulus *stimulus);
void happenings_add(struct happenings *list, enum happening_kind kind, uint32_t a, uint32_t b);
/* What can happen. The first is the fair one, unless it is a fault. */
void state_list(struct model *model, const struct state *state, struct happenings *list);
static inline bool happening_is_fair(struct happening happening)
{
    return happening.kind != HAPPENS_NONE && happening.kind <= HAPPENS_ROUND;
}
/* 0, or a violation. */
uint8_t state_apply(struct model *model, struct state *state, struct happening happening);
/* Nothing but the same can happen any more: is this a good end? 0, or a violation. */
uint8_t state_check_end(struct model *model, const struct state *state);
struct digest state_digest(const struct state *state);
static inline size_t state_size(const struct state *state)
{
    return offsetof(struct state, bag) + state->count * sizeof state->bag[0];
}

/* reduce.c */
void reduce_bag(struct model *model, struct state *state);
/* Proves that what reduce_bag took away could not have mattered. 0, or a violation. */
uint8_t reduce_prove(struct model *model);

/* symmetry.c */
/* May states of the scenario be renamed at all? */
bool symmetry_may_be(const struct model_scenario *scenario);
/* From the first state on. 0, or a violation. */
uint8_t symmetry_open(struct model *model, const struct state *first);
void symmetry_close(struct model *model);
/* A node has taken a step for the first time: its renamings take it as well. */
void symmetry_prove_step(struct model *model, const struct step *step);
/* A state that is searched: does it lead to the same as a renaming of it? 0, or a violation. */
uint8_t symmetry_prove_state(struct model *model, const struct state *state);
/* Puts the least of its renamings in the state's place. 0, or a violation of this step or of one before. */
uint8_t symmetry_reduce(struct model *model, struct state *state);

/* search.c */
struct search_limits {
    double seconds;
    uint64_t states;
    bool is_alike;
};
/* Searches one scenario and prints its line. True: nothing was violated. */
bool search_run(struct model *model, const struct search_limits *limits);

/* trace.c */
void trace_token(const struct model *model, const struct state *state, struct happening happening, char *token,
                 size_t size);
void trace_print(struct model *model, const struct happening *list, size_t count);
bool trace_replay(struct model *model, const char *tokens);

#endif
