/* SPDX-License-Identifier: Apache-2.0 */
/* api.h: a random test of the public C API. A seed gives a case: settings of a communicator and a short program of steps,
 * which every rank executes. A model predicts each value and each status from the case alone.
 *
 * A case is text on one line (case.c): a failing case is printed as that line, which `api --replay` takes, and the lines
 * of cases that failed once are in cases.txt.
 *
 * Read next: generate.c (which cases there are), model.c (values and statuses), rank.c (steps), pool.c (processes). */
#ifndef TRIB_TESTS_API_API_H
#define TRIB_TESTS_API_API_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/tributary.h>

#include "core/prng.h"

#define API_RANKS_MAX 8U
#define API_STEPS_MAX 12U
#define API_COMMS_MAX 6U
#define API_PENDING_MAX 24U
#define API_GROUP_MAX 6U
#define API_LINE_MAX 4096U
#define API_TEXT_MAX 640U
#define API_SWITCHES 22U                                                /* switch processes of one worker (place.c) */
#define API_KEY "the key of every job of this test, which is no secret" /* and of the switches' operator */

/* Where the ranks of a case meet. */
enum api_place {
    API_HOST,    /* memory of this host: neither switch nor rendezvous */
    API_SWITCH,  /* a switch with one shard */
    API_SHARDS,  /* a switch with three shards */
    API_LOSSY,   /* a switch that loses, repeats, reorders and corrupts packets */
    API_TREE,    /* a top with two shards, two switches below it; ranks at either of the lower ones in turn */
    API_MIXED,   /* the same tree; even ranks at the top, odd ranks at one lower switch */
    API_WITH,    /* a switch with two lenders (--with) */
    API_OVER,    /* a child of a switch with a lender; odd ranks at the child */
    API_NONE,    /* rendezvous at rank 0: the ranks' processes are the roots */
    API_NOWHERE, /* a switch that does not answer */
    API_PLACES
};

/* As case.c names them. */
enum api_scheme {
    API_SWITCHML,
    API_PANAMA,
    API_PANAMA_HALF, /* a quorum of 1/2 */
    API_PANAMA_MOST, /* of 7/8 */
    API_RING,
    API_HYBRID, /* in groups of two */
    API_ATP,    /* lower switches combine */
    API_PS,
    API_RINA,
    API_GOAT,
    API_SCHEMES
};

/* What a key does for a case. Higher ones have a key as well. */
enum api_seal {
    API_OPEN, /* no key */
    API_KEYED,
    API_ENCRYPTED,
    API_SAMPLED,      /* every sum is repeated whole */
    API_SAMPLED_BOTH, /* one run of 16 elements in seven, and payloads are encrypted */
    API_SEALS
};

/* Settings of a case: name in the text, default. Rates are in 1/1000. */
#define API_SETTING_MAP(X)                                                          \
    X(PLACE, "place", API_HOST)                                                     \
    X(RANKS, "ranks", 1)                                                            \
    X(SCHEME, "scheme", API_SWITCHML)                                               \
    X(WIRE, "wire", TRIB_WIRE_FLOAT32)                                              \
    X(A_HOST, "a_host", 0) /* ranks of one host, with level 0; 0: level 0 is off */ \
    X(PAYLOAD, "payload", 0)                                                        \
    X(WINDOW, "window", 0)                                                          \
    X(PROCESSES, "processes", 0) /* 1: ranks are processes, else threads of one */  \
    X(PROGRESS, "progress", 1)                                                      \
    X(MULTICAST, "multicast", 0)                                                    \
    X(TRAINS, "trains", 1)                                                          \
    X(FALLBACK, "fallback", 0)                                                      \
    X(LOSS, "loss", 0)                                                              \
    X(DUPLICATE, "duplicate", 0)                                                    \
    X(REORDER, "reorder", 0)                                                        \
    X(CORRUPT, "corrupt", 0)                                                        \
    X(SEAL, "seal", API_OPEN)                                                       \
    X(ODD, "odd", 0) /* how the settings of one rank differ (enum api_odd) */       \
    X(ODD_RANK, "odd_rank", 0)

enum api_setting {
#define X(name, text, value) API_##name,
    API_SETTING_MAP(X)
#undef X
        API_SETTINGS
};

/* A setting of ODD_RANK that the other ranks do not have. */
enum api_odd {
    API_ODD_NOTHING,
    API_ODD_RANKS,
    API_ODD_SCHEME,
    API_ODD_WIRE,
    API_ODD_PAYLOAD,
    API_ODD_WINDOW,
    API_ODD_INVALID_RANK, /* refused before the rank meets the others */
    API_ODD_INVALID_PAYLOAD,
    API_ODD_INVALID_WIRE,
    API_ODD_INVALID_SCHEME,
    API_ODD_INVALID_JOB,
    API_ODD_INVALID_RATE,
    API_ODD_INVALID_PLACES,
    API_ODDS
};

/* Steps: name in the text. Those from DIFFER on end the communicator for the ranks of it. */
#define API_STEP_MAP(X)                                                                                          \
    X(NONE, "none")                                                                                              \
    X(CALL, "call")                                                                                              \
    X(GROUP, "group")                                                                                            \
    X(WAIT, "wait")       /* collects all requests of the communicator */                                        \
    X(INVALID, "invalid") /* a call that is refused and changes nothing */                                       \
    X(SPLIT, "split")                                                                                            \
    X(SUBSET, "subset")                                                                                          \
    X(CLOSE, "close")                                                                                            \
    X(FORK, "fork")                 /* a child of one rank tries all calls; it exits, or stays until the end */  \
    X(RESTART, "restart")           /* a switch is killed and started again */                                   \
    X(THREADS, "threads")           /* two communicators, a thread of each rank for each */                      \
    X(LAUNCHES, "launches")         /* two launches of one job name at once */                                   \
    X(ASK, "ask")                   /* stats, names, progress */                                                 \
    X(DIFFER, "differ")             /* one rank calls something else */                                          \
    X(DIFFER_SPLIT, "differ_split") /* one rank calls what looks like the exchange of a split */                 \
    X(ABORT, "abort")                                                                                            \
    X(LEAVE, "leave")     /* all but one rank close */                                                           \
    X(DIE, "die")         /* one rank is killed; processes only */                                               \
    X(LATE, "late")       /* one rank does not call: the others' operation times out */                          \
    X(LOSE, "lose")       /* the switch is killed and does not come back */                                      \
    X(HALFWAY, "halfway") /* so are the switches of all ranks, when half of a subset's have had their WELCOME */ \
    X(EXIT, "exit")       /* one rank closes all that it has, and its process ends; processes only */

enum api_step_kind {
#define X(name, text) API_STEP_##name,
    API_STEP_MAP(X)
#undef X
        API_STEP_KINDS
};

#define API_FIELD_MAP(X)                                                              \
    X(COMM, "comm", 0)                                                                \
    X(COLLECTIVE, "collective", TRIB_ALLREDUCE)                                       \
    X(TYPE, "type", TRIB_FLOAT32)                                                     \
    X(REDUCTION, "reduction", TRIB_SUM)                                               \
    X(COUNT, "count", 0)                                                              \
    X(ROOT, "root", 0)                                                                \
    X(UNEVEN, "uneven", 0) /* seed of shares that differ; 0: equal shares */          \
    X(HOW, "how", 0)       /* enum api_how */                                         \
    X(IN_PLACE, "in_place", 0)                                                        \
    X(ALIGN, "align", 0)     /* bytes that the buffers are off an aligned address */  \
    X(SHARED, "shared", 0)   /* buffers of trib_shared_alloc */                       \
    X(SPECIAL, "special", 0) /* seed of NaN and infinity among the values; 0: none */ \
    X(SALT, "salt", 0)       /* of the values */                                      \
    X(RANK, "rank", 0)       /* the rank that is not as the others */                 \
    X(MODE, "mode", 0)       /* which variant of the step */                          \
    X(TIMES, "times", 1)

enum api_field {
#define X(name, text, value) API_##name,
    API_FIELD_MAP(X)
#undef X
        API_FIELDS
};

enum api_how { API_BLOCKING, API_START_WAIT, API_START_POLL, API_START_WAIT_FOR, API_START_LATER, API_HOWS };

struct api_step {
    enum api_step_kind kind;
    int64_t field[API_FIELDS];
};

struct api_case {
    int64_t setting[API_SETTINGS];
    struct api_step step[API_STEPS_MAX];
    uint32_t steps;
};

/* ---- case.c ---- */

void api_case_init(struct api_case *c);
void api_step_init(struct api_step *step, enum api_step_kind kind);
/* The case on one line. line: API_LINE_MAX bytes. */
void api_case_print(const struct api_case *c, char *line);
/* Reads such a line; false: something in it is not known. */
bool api_case_parse(const char *line, struct api_case *c);
/* The same, one step a line, for a person. */
void api_case_show(const struct api_case *c);
void api_step_text(const struct api_step *step, char *text, size_t size);
const char *api_scheme_name(int64_t scheme);
int64_t api_field_default(enum api_field field);
int64_t api_setting_default(enum api_setting setting);

/* ---- generate.c ---- */

void api_generate(uint64_t seed, struct api_case *c);
/* Makes a case, as drawn or after an edit, one that the documentation permits. */
void api_settle(struct api_case *c);

/* ---- model.c ---- */

/* Ranks of one communicator as one rank sees it, by their numbers in the case. count 0: this rank is not in it. */
struct api_members {
    uint32_t rank[API_RANKS_MAX];
    uint32_t count, me;
};

/* One collective of one communicator, as the model knows it. */
struct api_call {
    enum trib_collective collective;
    enum trib_type type;
    enum trib_reduction reduction;
    uint32_t root;
    uint64_t count;                 /* elements of the tensor, or of each share */
    uint64_t counts[API_RANKS_MAX]; /* of uneven shares */
    bool is_uneven;
    uint64_t salt, special;
    enum trib_wire wire;
    uint32_t quorum, quorum_of;
};

void api_call_of(const struct api_case *c, const struct api_step *step, const struct api_members *members,
                 struct api_call *call);
/* The calls of a GROUP step, drawn from its salt. Returns how many there are. */
uint32_t api_group_of(const struct api_case *c, const struct api_step *step, const struct api_members *members,
                      struct api_call *calls);
uint64_t api_share(const struct api_call *call, uint32_t rank);
uint64_t api_share_first(const struct api_call *call, uint32_t rank);
/* Elements of the send and recv buffers of a rank. */
uint64_t api_sends(const struct api_call *call, uint32_t ranks, uint32_t rank);
uint64_t api_receives(const struct api_call *call, uint32_t ranks, uint32_t rank);
/* Writes a rank's contribution. */
void api_fill(const struct api_call *call, uint32_t ranks, uint32_t rank, uint8_t *send);
/* Compares a result with the model. False: text (API_TEXT_MAX bytes) says which element is wrong. */
bool api_check(const struct api_call *call, uint32_t ranks, uint32_t rank, const uint8_t *recv, char *text);
/* Ranks that a sum with a quorum may lack (docs/PROTOCOL.md, "Sums that may lack ranks"). */
uint32_t api_may_lack(const struct api_call *call, uint32_t ranks);
/* Color and key of a member in a SPLIT step. */
int32_t api_color(const struct api_step *step, uint32_t rank);
int32_t api_key(const struct api_step *step, uint32_t rank);
/* Members of the communicator that a SPLIT or SUBSET makes, as this rank sees it. */
void api_split(const struct api_step *step, const struct api_members *of, struct api_members *made);
void api_subset(const struct api_step *step, const struct api_members *of, struct api_members *made);

/* ---- place.c ---- */

/* Forks the keeper of a worker's switches: a process without threads, so that switches can be killed and started while
 * ranks run as threads. */
void api_keeper_open(void);
/* Starts the switches of a place if they do not run; false: one does not start. */
bool api_place_ready(const struct api_case *c);
/* Kills the switch that a RESTART or LOSE of this place means, and starts it again at its port. False: the port is taken. */
bool api_place_restart(const struct api_case *c, uint32_t which);
void api_place_kill(const struct api_case *c, uint32_t which);
/* Halts the switch of the odd ranks, and returns; a little later it and that of the even ranks are killed, for which the
 * other waits. */
void api_place_kill_halfway(const struct api_case *c);
void api_place_await_kill(void);
/* Port of the switch of a rank; of a rendezvous. */
uint16_t api_place_port(const struct api_case *c, uint32_t rank);

/* ---- rank.c ---- */

/* One rank's finding and whereabouts, in memory that the processes share. */
struct api_seat {
    _Atomic uint32_t step; /* that the rank is in; API_STEPS_MAX: joining, + 1: closing, + 2: done */
    _Atomic bool has_failed, is_dead;
    char text[API_TEXT_MAX];
};

enum api_twins_state { API_TWINS_UNKNOWN, API_TWINS_SOUGHT, API_TWINS_FOUND, API_TWINS_NONE };

struct api_run;

struct api_shared {
    struct api_seat seat[API_RANKS_MAX];
    _Atomic uint32_t arrived[API_STEPS_MAX * 4 + 4]; /* meetings outside of the library */
    _Atomic uint32_t met[API_STEPS_MAX][2];          /* ranks of two launches */
    _Atomic bool is_halfway;
    _Atomic uint32_t twins; /* enum api_twins_state */
    struct api_call twin[2];
    _Atomic uint32_t skipped; /* 1: the machine did not permit this case */
    uint64_t number;          /* of the case: part of its job name */
    uint64_t patience;
    uint16_t rendezvous_port;
    int owner;                /* process id of the test: part of job names */
    int child[API_STEPS_MAX]; /* of FORK steps, which stay until the end of the case */
    _Atomic uint32_t children;
    char text[API_TEXT_MAX]; /* a finding of the worker itself */
    _Atomic bool has_failed;
};

/* Settings of this rank of the case. */
void api_configure(const struct api_run *run, struct trib_config *config);
/* Executes a case as one rank. */
void api_rank_run(const struct api_case *c, struct api_shared *shared, uint32_t rank);

/* ---- calls.c ---- */

/* Buffers and request of one call or group under way. */
struct api_pending {
    struct trib_request *request;
    struct api_call call[API_GROUP_MAX];
    uint8_t *memory[API_GROUP_MAX][2]; /* as allocated: send, recv; NULL: in place */
    uint8_t *send[API_GROUP_MAX], *recv[API_GROUP_MAX];
    uint64_t bytes[API_GROUP_MAX]; /* of recv, without the guard behind */
    uint32_t calls, step;
    bool is_shared;
};

/* A communicator as one rank has it. */
struct api_view {
    struct trib_comm *comm;
    struct api_members members;
    struct api_pending pending[API_PENDING_MAX];
    uint32_t pending_count;
    uint32_t ended; /* statuses that may have ended it, as bits of -status; 0: it has not ended */
};

struct api_run {
    const struct api_case *c;
    struct api_shared *shared;
    struct api_seat *seat;
    uint32_t rank, step;
    struct api_view view[API_COMMS_MAX];
    uint32_t views;
    uint32_t meetings;
    bool is_away;                   /* a switch has restarted, and ranks may not be back yet */
    const struct api_view *refused; /* of the rank's last call that was refused, for trib_comm_error; NULL: none */
};

#define API_BIT(status) (1U << -(status))

/* Notes a finding of this rank; the first one counts. */
void api_fail(struct api_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A finding unless the status is one of those. */
bool api_expect(struct api_run *run, const char *what, enum trib_status status, uint32_t allowed,
                const struct trib_comm *comm);
/* Starts or makes the call of a step; later calls are left pending. */
void api_make_call(struct api_run *run, struct api_view *view, const struct api_step *step);
void api_make_group(struct api_run *run, struct api_view *view, const struct api_step *step);
/* Collects all requests. */
void api_collect(struct api_run *run, struct api_view *view);
/* Calls that a communicator in any state refuses with ERR_INVALID or ERR_UNSUPPORTED, without an effect. */
void api_make_invalid(struct api_run *run, struct api_view *view, const struct api_step *step);
/* Each kind of call on a communicator that has ended: all give that failure, at once. */
void api_try_ended(struct api_run *run, struct api_view *view, uint32_t allowed);
enum trib_status api_call_plain(struct trib_comm *comm, const struct api_call *call, const void *send, void *recv,
                                struct trib_request **request);

/* ---- rank.c ---- */

/* Makes the communicator of a SPLIT or SUBSET: the next view. */
void api_step_make(struct api_run *run, struct api_view *view, const struct api_step *step);

/* ---- ends.c ---- */

void api_step_end(struct api_run *run, struct api_view *view, const struct api_step *step);
void api_step_fork(struct api_run *run, struct api_view *view, const struct api_step *step);
/* Waits until that many ranks, those of the case that are alive, have come to this meeting. */
void api_meet(struct api_run *run);

/* ---- twins.c ---- */

/* Two allreduces that have one digest as the next call of this communicator, and different types; all ranks would find the
 * same. False: there are none among those that are looked at. */
bool api_twins(struct trib_comm *comm, struct api_call *one, struct api_call *other);

/* ---- launches.c ---- */

void api_step_launches(struct api_run *run, const struct api_step *step);

/* ---- pool.c ---- */

enum api_verdict { API_GOOD, API_BAD, API_SKIPPED };

struct api_result {
    enum api_verdict verdict;
    char text[2 * API_TEXT_MAX];
};

void api_pool_open(uint64_t patience);
void api_pool_close(void);
/* Runs a case in the worker process. A case that takes longer than limit_s is a hang. */
void api_pool_run(const struct api_case *c, uint32_t limit_s, struct api_result *result);
/* Text of leaks that the worker has after all cases; "" if there are none. */
const char *api_pool_leaks(void);

/* ---- shrink.c ---- */

/* The smallest case found, within the seconds, that still fails. */
void api_shrink(struct api_case *c, struct api_result *result, uint32_t seconds, uint64_t patience);

#endif
