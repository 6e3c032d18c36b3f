/* SPDX-License-Identifier: Apache-2.0 */
/* worker_memory.h: the memory of the worker. Private to the folder, to schemes/panama, which has this worker, paced,
 * and to the worker of a published rule, which differs only in the time and the choice of packets to send.
 *
 * One flight per slot of the window: root x P + dense index mod P. A rank sends s only while s < M + P per root, so the
 * flight's former sequence is below M, finished everywhere, and its memory is free. A flight's wire buffer holds the
 * contribution in wire form where that is not the tensor itself, and later the retained copy: of the result, which an
 * OFFER is made of; or, at a rank with a header only and so without a result, of its contribution. While the operation
 * runs, its tensors are as good as a copy; at the end, fragments that a rank may still lack are copied, before the DONE
 * event gives the buffers back to the caller (I11). */
#ifndef TRIB_PROTOCOL_WORKER_MEMORY_H
#define TRIB_PROTOCOL_WORKER_MEMORY_H

#include "core/congestion.h"
#include "core/loss.h"
#include "core/node.h"
#include "core/operation.h"
#include "core/quorum.h"
#include "core/tag.h"
#include "core/window.h"

#define TRIB_PROTOCOL_FAST_DISTANCE 16 /* later transmissions answered before a fragment is probed early */
#define TRIB_PROTOCOL_STRIKES 3        /* wrong results of one fragment before the communicator fails */
/* A root rests: less than the wait of switches before they give a cap away (TRIB_PROTOCOL_IDLE_NS). */
#define TRIB_PROTOCOL_REST_NS UINT64_C(500000000)

enum flight_state {
    FLIGHT_FREE = 0,
    FLIGHT_SENT,
    FLIGHT_FINISHED,
};

enum flight_pending {
    PENDING_PROBE = 1 << 0,
    PENDING_RESEND = 1 << 1,
    PENDING_OFFER = 1 << 2,
};

#define NO_FLIGHT UINT32_MAX
#define WORKER_REPORTS 8 /* reports in the queue of events at most; more are lost */

/* Where a retained copy lies. */
enum flight_copy {
    COPY_IN_WIRE = 0,
    COPY_IN_RECV, /* in a tensor of the operation; copied when that ends */
    COPY_IN_SEND
};

struct flight {
    uint64_t sequence;
    uint64_t lane;         /* of the contribution, and of the retained copy */
    uint32_t newer, older; /* by last transmission, of the flights sent to one root; NO_FLIGHT at the ends */
    uint32_t operation;    /* index into the ring */
    /* of the retained copy */
    uint32_t digest;
    uint16_t payload_len;
    uint16_t flags;
    uint16_t parts;   /* ranks with payload in the result */
    int16_t exponent; /* of a contribution: this rank's own */
    uint8_t type;
    uint8_t reduction;
    uint8_t state;
    uint8_t pending; /* queued packets */
    uint8_t strikes;
    uint8_t encoded : 1; /* the wire buffer holds the contribution */
    uint8_t is_made : 1; /* lane and exponent of the contribution are set; they are made once */
    uint8_t is_lost : 1; /* the result was sent, it seems, and did not come: a probe says so */
    uint8_t is_old : 1;  /* sent to an earlier boot: a loss went with that boot */
    uint8_t is_new : 1;  /* not sent to this boot yet: a combiner may add the part, as a first one */
    uint8_t copy;        /* enum flight_copy */
    uint8_t is_own;      /* it is the contribution: this rank got no payload */
};

/* Behind the hashed state: times and estimates. */
struct flight_times {
    uint64_t sent_ns;     /* first transmission */
    uint64_t deadline_ns; /* probe then */
    uint64_t resent_ns;   /* last resend, 0: none */
    uint64_t order;       /* of the last transmission */
    uint32_t backoff;
    bool repeated; /* payload was sent more than once, or probed: its result is no sign of a loss */
};

struct worker_operation {
    struct trib_operation operation;
    struct trib_layout layout;
    uint64_t number;
    uint64_t first; /* its first sequence */
    uint64_t left;  /* sequences not finished */
};

/* Per root. Each shard of a switch knows other marks, so M differs between shards for a moment: a root admits by its
 * own M, or by the session's. */
struct worker_root {
    struct trib_congestion congestion;
    struct trib_congestion_tree tree; /* of a worker that is paced */
    uint64_t communicator_mark;       /* M of the root */
    uint64_t told;                    /* own mark in the last packet to it */
    uint64_t sending;                 /* an operation, not behind the one that the root's next sequence belongs to */
    uint64_t cap_from;                /* sequence of the result with the cap */
    uint64_t asked;                   /* M there when the root was last asked for it, since the window was closed */
    uint32_t limit;                   /* the driver's */
    uint32_t cap;                     /* the switches' */
    uint32_t reach;                   /* fragments beyond M that may be sent */
    uint32_t oldest, newest;          /* list of sent flights by last transmission */
    uint8_t probe;                    /* hand out a probe of the first unsent sequence */
    uint8_t is_full;                  /* of a worker that is paced: the tree's window held the next sequence back */
    uint8_t child;                    /* the root's number for this rank, + 1; 0: not known */
    uint8_t unused;
    uint32_t ahead; /* results since this rank's part was the last of a sum, and no more than matter */
    uint32_t unused_too;
};

/* How lanes are made and checked: worker_lane.c. */
struct worker_lanes;

struct worker {
    struct trib_worker_config config;
    const struct worker_lanes *lanes;
    struct trib_window window;
    uint64_t key;                                /* of this rank's lane */
    uint64_t keys;                               /* sum over all ranks */
    uint64_t number;                             /* operations submitted */
    uint64_t end;                                /* behind the last submitted sequence */
    uint64_t mark;                               /* own mark: lowest unfinished */
    uint64_t exponents;                          /* entries of the two arrays of exponents */
    uint32_t flights;                            /* how many */
    uint32_t boot;                               /* registered with; 0: suspended */
    uint64_t oldest_operation, newest_operation; /* ring positions, free-running */
    uint32_t queue_head, queue_count;            /* flights with something pending */
    uint32_t events_head, events_count;
    uint64_t held_sequence, held_bitmap; /* the last HELD answer */
    uint64_t failed;                     /* 1: FAILED was reported */
    uint64_t least;                      /* fewest ranks of a sum that may lack some */
    uint64_t is_paced; /* 1: windows follow the network and the switches' memory, as PANAMA's; 0: they are fixed */
    uint64_t is_aimd;  /* of a worker that is paced: a mark halves a window */
    /* Offsets of the arrays behind this struct, and of the end of all (trib__worker_size). */
    size_t table_at, operations_at, flights_at, queue_at, events_at, exponents_at, has_exponents_at, wire_at, aside_at,
        times_at, scratch_at, end_at;
    uint64_t next[TRIB_ROOTS_MAX]; /* of each root: the lowest sequence that was not sent; it may lie behind `end` */
    struct worker_root roots[];    /* of the session */
};

/* Of one root. */
struct worker_root_times {
    struct trib_loss completion; /* from a fragment's first transmission to its result, late ranks included */
    struct trib_loss trip;       /* the same where this rank was the last to contribute: the network alone */
    uint64_t active_ns;          /* time of the last result, or of the last transmission of the awaited fragment */
    uint64_t overdue_ns;         /* when overdue fragments were last probed */
    uint64_t order;              /* transmissions so far */
    uint64_t answered;           /* largest order that a result answered */
    uint64_t risen_ns;           /* when M last rose */
    uint64_t quiet_ns;           /* since when nothing is outstanding at the root, or its last probe */
    uint32_t tail_backoff;       /* timeouts in a row */
    uint32_t quiet_backoff;
};

struct worker_aside {
    uint64_t next_deadline_ns; /* not later than the earliest of a flight */
    uint64_t stall_reported_ns;
    uint64_t burst_ns;    /* of a worker with a rate: since when it has sent the burst at hand */
    uint64_t burst_bytes; /* and how much of it */
    bool is_unordered;    /* results were copied by copy_nontemporal, and not ordered since */
    struct trib_counters counters;
    struct trib_tag_memory masks; /* with a key */
    struct worker_root_times roots[];
};

static inline void *worker_at(const struct worker *w, size_t offset)
{
    return (char *)(uintptr_t)w + offset;
}

static inline struct worker_operation *worker_operation_at(const struct worker *w, uint64_t position)
{
    return (struct worker_operation *)worker_at(w, w->operations_at) + position % w->config.operations;
}

static inline struct flight *worker_flight(const struct worker *w, uint32_t index)
{
    return (struct flight *)worker_at(w, w->flights_at) + index;
}

static inline struct flight_times *worker_times(const struct worker *w, uint32_t index)
{
    return (struct flight_times *)worker_at(w, w->times_at) + index;
}

static inline uint8_t *worker_wire(const struct worker *w, uint32_t index)
{
    return (uint8_t *)worker_at(w, w->wire_at) + (size_t)index * w->config.session.payload;
}

/* Scratch memory for one block: a row, and behind it the own part in wire form. */
static inline size_t worker_scratch_own(const struct trib_session_config *session)
{
    return trib_row_size(TRIB_BFLOAT16, session->payload); /* any type may come */
}

static inline struct worker_aside *worker_aside(const struct worker *w)
{
    return worker_at(w, w->aside_at);
}

/* Before packets refer to results, and events name them. */
static inline void worker_order_results(const struct worker *w)
{
    if (worker_aside(w)->is_unordered) {
        worker_aside(w)->is_unordered = false;
        w->config.kernels->order_nontemporal();
    }
}

/* Room for the DONE of every operation, and one FAILED. */
static inline uint32_t worker_event_room(const struct trib_worker_config *config)
{
    return WORKER_REPORTS + config->operations + 1;
}

/* The flight of a sequence, whatever it holds now. */
static inline uint32_t worker_flight_index(const struct worker *w, uint64_t sequence)
{
    return trib_window_root(&w->window, sequence) * w->window.slots + trib_window_slot(&w->window, sequence);
}

/* True if the rank has sent the sequence, or need not any more. Not for a sequence with a reused flight. */
static inline bool worker_was_sent(const struct worker *w, uint64_t sequence)
{
    return sequence < w->next[trib_window_root(&w->window, sequence)];
}

/* The flight of the own mark; NULL: it was not sent. */
static inline const struct flight *worker_at_mark(const struct worker *w)
{
    return worker_was_sent(w, w->mark) ? worker_flight(w, worker_flight_index(w, w->mark)) : NULL;
}

/* The agreed exponent that travelled with this sequence. Sequences that can still be asked about
 * lie within a window of a root, and lookahead, of each other. */
static inline int16_t *worker_exponent(const struct worker *w, uint64_t sequence)
{
    return (int16_t *)worker_at(w, w->exponents_at) + sequence % w->exponents;
}

/* 1: that exponent was also the one of this rank's own block. */
static inline uint8_t *worker_has_exponent(const struct worker *w, uint64_t sequence)
{
    return (uint8_t *)worker_at(w, w->has_exponents_at) + sequence % w->exponents;
}

/* Which block's payload a sequence of the operation carries; blocks and more: none. */
static inline uint64_t worker_block(const struct worker_operation *o, uint64_t sequence)
{
    uint64_t index = sequence - o->first;
    return index < o->layout.lookahead ? UINT64_MAX : index - o->layout.lookahead;
}

static inline const void *worker_send_at(const struct worker_operation *o, const struct trib_piece *piece)
{
    return trib_operation_send_at(&o->operation, &o->layout, piece);
}

static inline void *worker_recv_at(const struct worker_operation *o, const struct trib_piece *piece)
{
    return trib_operation_recv_at(&o->operation, &o->layout, piece);
}

/* The form in which one sequence's payload travels. */
struct worker_form {
    uint64_t block;          /* UINT64_MAX: no payload */
    struct trib_piece piece; /* of no elements: no payload */
    enum trib_type wire;
    uint16_t len;   /* bytes of payload */
    uint16_t parts; /* ranks that contribute payload */
    int shift;      /* wire int32 */
    bool converted;
    bool contributes; /* this rank does */
    bool wants;       /* this rank has use for the result */
    bool may_lack;    /* the sum may lack ranks */
};

struct worker_lanes {
    /* The lane of this rank's part. The rest of the packet is complete. */
    uint64_t (*make)(const struct worker *w, const struct worker_operation *o, const struct worker_form *form,
                     const struct trib_packet *packet);
    /* True if the result, which has the right shape, has the lane of exactly the ranks that must be in it, and, with a
     * key, of exactly these values. */
    bool (*holds)(const struct worker *w, const struct worker_operation *o, const struct worker_form *form,
                  const struct trib_packet *packet);
};

/* worker_lane.c */
const struct worker_lanes *trib__worker_lanes(const struct trib_worker_config *config);

/* worker.c */
size_t trib__worker_size(const struct trib_worker_config *config);
void trib__worker_init(void *node, const struct trib_worker_config *config);
size_t trib__worker_state_size(const void *node);
bool trib__worker_submit(void *node, const struct trib_operation *operation, uint64_t now_ns);
void trib__worker_registered(void *node, uint32_t boot, uint64_t mark, uint64_t now_ns);
void trib__worker_suspend(void *node);
void trib__worker_session_mark(void *node, uint64_t mark, uint64_t now_ns);
uint64_t trib__worker_mark(const void *node);
uint64_t trib__worker_communicator_mark(const void *node);
uint64_t trib__worker_end(const void *node);
bool trib__worker_describe(const void *node, uint64_t sequence, struct trib_operation *operation, uint64_t *number);
uint32_t trib__worker_idle(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES]);
void trib__worker_limit(void *node, uint32_t root, uint32_t fragments);
uint32_t trib__worker_in_flight(const void *node, uint32_t root);
const struct trib_counters *trib__worker_counters(const void *node);

/* worker_state.c */
uint64_t trib__worker_lowest_mark(const struct worker *w);
void trib__worker_learn_mark(struct worker *w, uint32_t root, uint64_t mark, uint64_t now_ns);
void trib__worker_event(struct worker *w, const struct trib_event *event);
bool trib__worker_next_event(void *node, struct trib_event *event);

/* worker_send.c */
void trib__worker_form(const struct worker *w, const struct worker_operation *o, uint64_t sequence,
                       struct worker_form *form);
uint32_t trib__worker_next_root(const struct worker *w, uint32_t held);
const struct worker_operation *trib__worker_sending(struct worker *w, uint32_t root);
const void *trib__worker_retained(const struct worker *w, uint32_t index);
bool trib__worker_exponent_agreed(const struct worker *w, const struct worker_operation *o, uint64_t sequence);
uint32_t trib__worker_launch(struct worker *w, uint32_t root, const struct worker_operation *o,
                             struct trib_packet *packet);
void trib__worker_contribution(struct worker *w, uint32_t index, const struct worker_operation *o,
                               struct trib_packet *packet);
bool trib__worker_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to);

/* worker_receive.c */
enum trib_drop trib__worker_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                    uint64_t now_ns);
void trib__worker_soon(const void *node, struct trib_place from, const struct trib_packet *packet);
void trib__worker_strike(struct worker *w, uint32_t index, enum trib_drop drop);

/* worker_deliver.c */
enum trib_drop trib__worker_check_result(const struct worker *w, uint32_t index, const struct trib_packet *packet,
                                         struct worker_form *form);
enum trib_drop trib__worker_check_sum(const struct worker *w, const struct worker_operation *o,
                                      const struct trib_packet *packet, struct worker_form *form);
void trib__worker_accept(struct worker *w, uint32_t index, const struct trib_packet *packet,
                         const struct worker_form *form);
void trib__worker_finish(struct worker *w, uint32_t index, struct worker_operation *o);

/* worker_quorum.c */
bool trib__worker_has_quorum(const struct worker *w, const struct trib_packet *packet, const struct worker_form *form);
void trib__worker_count_lacking(struct worker *w, const struct trib_packet *packet);
void trib__worker_skip_taken(struct worker *w, uint32_t root);

/* worker_late.c */
void trib__worker_unlisted(struct worker *w, uint32_t index, const struct trib_packet *result, uint64_t now_ns);
void trib__worker_late_mark(struct worker *w, uint32_t root);
enum trib_drop trib__worker_take_unsent(struct worker *w, const struct trib_packet *packet, uint64_t now_ns);

/* worker_pace.c */
void trib__worker_pace(struct worker *w);
void trib__worker_paced(struct worker *w, uint32_t index, const struct trib_packet *result);
void trib__worker_set_child(void *node, uint32_t root, uint32_t child);
void trib__worker_told_cap(struct worker *w, const struct trib_packet *result);
void trib__worker_lost(struct worker *w, uint32_t index);
void trib__worker_rested(struct worker *w, uint32_t root, uint64_t now_ns);
/* True if the rest of the run of the root's next sequence fits into the window. Only for a paced worker with room. */
bool trib__worker_admits_run(const struct worker *w, uint32_t root);
bool trib__worker_is_early(struct worker *w, uint64_t now_ns);
void trib__worker_spent(struct worker *w, const struct trib_packet *packet);
uint64_t trib__worker_burst_end(const struct worker *w);
void trib__worker_set_window(struct worker *w, uint32_t root);

/* worker_recover.c */
void trib__worker_sent(struct worker *w, uint32_t index, uint64_t now_ns); /* payload or probe left */
void trib__worker_answered(struct worker *w, uint32_t index, bool was_last, uint64_t now_ns); /* its result came */
void trib__worker_let_go(struct worker *w, uint32_t index, uint64_t now_ns); /* it waits for nothing more */
void trib__worker_probe_more(struct worker *w, uint32_t index);
void trib__worker_queue(struct worker *w, uint32_t index, uint8_t pending);
void trib__worker_probe_lost(struct worker *w, uint32_t index);
void trib__worker_probe_all(struct worker *w, uint64_t now_ns);
void trib__worker_blocked(struct worker *w, uint32_t root);
uint64_t trib__worker_next_timeout(const void *node);
void trib__worker_on_timeout(void *node, uint64_t now_ns);
void trib__worker_report_stall(struct worker *w, uint64_t now_ns);

#endif
