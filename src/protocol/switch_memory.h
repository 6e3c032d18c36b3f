/* SPDX-License-Identifier: Apache-2.0 */
/* switch_memory.h: the memory of the switch node. Private to the folder, and to schemes/panama, which has this node,
 * paced.
 *
 * One node is one communicator on one shard. The node owns its slots from opening to closing, so no part of another
 * communicator can be in a slot. A node with a parent is an inner one of a tree: the same, but a complete sum goes up,
 * and result and M come from above. A paced node (schemes/panama) takes fragments only within its room beyond M; where
 * its session has a quorum, sums may lack ranks. */
#ifndef TRIB_PROTOCOL_SWITCH_MEMORY_H
#define TRIB_PROTOCOL_SWITCH_MEMORY_H

#include "core/assert.h"
#include "core/node.h"
#include "core/quorum.h"
#include "core/slot.h"
#include "core/window.h"

#define TRIB_PROTOCOL_REPEAT_NS UINT64_C(500000) /* one answer of a kind per slot and child in this time (I4) */
#define TRIB_PROTOCOL_AHEAD 8           /* results that overtake a header at most: more would look like its loss */
#define TRIB_PROTOCOL_ANSWERS 1024      /* answers queued at most, between two drains, where the driver says nothing */
#define TRIB_PROTOCOL_TO_PARENT 0xffffU /* as an answer's child */
#define TRIB_PROTOCOL_IDLE_NS UINT64_C(1000000000) /* without a contribution, and nothing held: caps are given away */

/* A packet without payload of its own to one child, or a PROBE to the parent. */
struct answer {
    uint64_t sequence;
    uint64_t bitmap;
    uint16_t child;
    uint16_t flags;
    uint8_t kind;
    uint8_t unused[3];
};

/* Parts of a slot still to be handed out. */
enum slot_due {
    DUE_RESULT = 1 << 0,  /* down, to the children that want payload */
    DUE_HEADER = 1 << 1,  /* down, header only to the others */
    DUE_PARTIAL = 1 << 2, /* up */
    DUE_AGAIN = 1 << 3,   /* the partial sum was asked for */
    DUE_OFFER = 1 << 4    /* up */
};

/* A ring of slots with something due. Each slot is in the ring once at most, so the ring never overflows. */
struct slot_queue {
    size_t at;
    uint32_t head, count;
    uint8_t mine; /* the bit of slot.queued */
};

/* Acts of a slot since a moment, as bits. */
enum slot_once {
    ONCE_OFFERING = 1 << 0, /* asked a child for its OFFER, for any prober */
    ONCE_PROBED = 1 << 1,   /* probed the parent */
    ONCE_RESENT = 1 << 2,   /* sent its partial sum, or its OFFER, because the parent asked */
    ONCE_AGAIN = 1 << 3     /* asked all that lack, since parts are given again */
};

/* Behind the hashed state: the last answers of a slot, by child. */
struct slot_repeats {
    uint64_t sequence;
    uint64_t since_ns;
    uint64_t results; /* children that got a repeat since then */
    uint64_t held;
    uint64_t asks;
    uint64_t offerers; /* children asked for an OFFER, in the present round */
    uint64_t once;
};

struct switch_node {
    struct trib_switch_config config;
    struct trib_window window;
    uint64_t required; /* all children */
    uint64_t joined;
    uint64_t
        communicator_mark; /* M: the minimum over the marks once all have joined; below a parent, as heard from there */
    uint64_t mark_dense;   /* sequences of this root below M */
    uint64_t lowest;       /* the minimum over the marks once all have joined: an inner node's own mark */
    uint64_t owed;         /* children that wait for M to move, after HELD */
    size_t table_at, row_size, slots_at, rows_at, lists_at, marked_at, answers_at, aside_at, repeats_at, end_at;
    uint32_t held;             /* slots that are not empty */
    uint32_t rows;             /* of a slot; one takes all parts as they come */
    uint32_t room;             /* fragments beyond M that are taken; P, but for a node that is paced */
    struct slot_queue down;    /* results to send */
    struct slot_queue headers; /* and those to send without payload: some at a time, so that trains are of one size */
    struct slot_queue up;      /* partial sums and offers to send */
    uint32_t headers_owed;     /* of results sent before the headers */
    uint32_t ahead;            /* results since the first of these */
    uint32_t headers_left;     /* that come next */
    uint32_t answers_head, answers_count, answers_room;
    /* Of a node that is paced; switch_pace.c. */
    uint32_t is_paced;
    uint32_t first_cap;  /* that ranks begin with */
    uint32_t cap;        /* that is told; 0: none */
    uint32_t cap_before; /* the largest that some rank may still go by; 0: all have heard of `cap` */
    uint32_t child;      /* the parent's number for this node, + 1; 0: not known */
    uint64_t opened;     /* dense indexes below it were opened */
    uint64_t cap_latch;  /* when M has passed this dense index all have heard */
    uint64_t cap_reach;  /* ranks that went by an older cap sent no further */
    /* With a quorum; switch_quorum.c. */
    uint64_t full_below; /* dense indexes below it are summed with all ranks */
    /* Fields that every packet needs stand before these. */
    uint64_t marks[TRIB_CHILDREN_MAX];
    uint64_t expected[TRIB_CHILDREN_MAX]; /* next dense index of each child's stream */
    uint64_t owed_sequence[TRIB_CHILDREN_MAX];
    struct trib_event mismatch; /* kind NONE: none to report */
};

struct switch_aside {
    struct trib_counters counters;
    uint64_t boot_ns[TRIB_CHILDREN_MAX]; /* when a child last got a BOOT hint */
    uint64_t told;                       /* own mark in the last packet to the parent */
    uint64_t told_ns;                    /* when a PROBE last went there */
    uint64_t active_ns;                  /* when a contribution was last added */
};

static inline void *switch_at(const struct switch_node *n, size_t offset)
{
    return (char *)(uintptr_t)n + offset;
}

static inline struct trib_slot *switch_slot(const struct switch_node *n, uint32_t index)
{
    return (struct trib_slot *)switch_at(n, n->slots_at) + index;
}

static inline void *switch_row(const struct switch_node *n, uint32_t index, uint32_t row)
{
    return (char *)switch_at(n, n->rows_at) + ((size_t)index * n->rows + row) * n->row_size;
}

/* The row that the child's part goes to. */
static inline void *switch_child_row(const struct switch_node *n, uint32_t index, uint32_t child)
{
    return switch_row(n, index, n->rows > 1 ? child / 2 : 0);
}

/* The row of a complete sum with payload. */
static inline void *switch_sum_row(const struct switch_node *n, uint32_t index)
{
    return switch_row(n, index, n->rows > 1 ? trib_slot_row(switch_slot(n, index), n->required) : 0);
}

/* Which ranks are in: of a slot with a sum that may lack some. */
static inline uint8_t *switch_list(const struct switch_node *n, uint32_t index)
{
    return (uint8_t *)switch_at(n, n->lists_at) + (size_t)index * TRIB_QUORUM_LIST;
}

/* The children with marked parts: of a slot that has TRIB_FLAG_ECN. */
static inline uint64_t *switch_marked(const struct switch_node *n, uint32_t index)
{
    return (uint64_t *)switch_at(n, n->marked_at) + index;
}

/* As it travels: with the list behind it, where it has one. The slot is complete. */
static inline uint16_t switch_payload_len(const struct trib_slot *slot)
{
    return (uint16_t)(slot->payload_len + (slot->flags & TRIB_FLAG_QUORUM ? TRIB_QUORUM_LIST : 0));
}

static inline struct switch_aside *switch_aside(const struct switch_node *n)
{
    return switch_at(n, n->aside_at);
}

static inline struct slot_repeats *switch_repeats(const struct switch_node *n, uint32_t index)
{
    return (struct slot_repeats *)switch_at(n, n->repeats_at) + index;
}

/* True for a sum that has gone up and waits for the result. Never at a node without a parent, where a complete sum is
 * the result. */
static inline bool switch_is_handed_up(const struct switch_node *n, const struct trib_slot *slot)
{
    return trib_slot_is_complete(slot, n->required) && !slot->has_result && (slot->due & DUE_PARTIAL) == 0;
}

/* May the sequence, one of this root's, be here now? */
static inline bool switch_admits(const struct switch_node *n, uint64_t sequence)
{
    return trib_window_dense(&n->window, sequence) < n->mark_dense + n->room;
}

/* Earlier parts of the child's stream are not looked for again. */
static inline void switch_heard(struct switch_node *n, uint32_t child, uint64_t dense)
{
    if (dense >= n->expected[child]) {
        n->expected[child] = dense + 1;
    }
}

/* Something of a slot is to be handed out, by one queue. */
static inline void switch_due(struct switch_node *n, uint32_t index, uint8_t due)
{
    struct slot_queue *queue = due & DUE_RESULT ? &n->down : due & DUE_HEADER ? &n->headers : &n->up;
    struct trib_slot *slot = switch_slot(n, index);
    uint32_t *ring = switch_at(n, queue->at);
    uint32_t end = queue->head + queue->count;

    slot->due |= due;
    if ((slot->queued & queue->mine) == 0) {
        TRIB_ASSERT(queue->count < n->window.slots);
        slot->queued |= queue->mine;
        ring[end >= n->window.slots ? end - n->window.slots : end] = index;
        queue->count++;
    }
}

/* Takes the first due part off the next slot of the queue; 0 when nothing is. */
static inline uint8_t switch_take_due(struct switch_node *n, struct slot_queue *queue, uint8_t mask, uint32_t *index)
{
    const uint32_t *ring = switch_at(n, queue->at);

    while (queue->count > 0) {
        struct trib_slot *slot = switch_slot(n, ring[queue->head]);
        uint8_t due = slot->due & mask; /* none if it was freed since: everybody had it */
        uint8_t first = due & (uint8_t)-due;

        *index = ring[queue->head];
        slot->due ^= first;
        if (due == first) {
            slot->queued ^= queue->mine;
            queue->head = queue->head + 1 == n->window.slots ? 0 : queue->head + 1;
            queue->count--;
        }
        if (first != 0) {
            return first;
        }
    }
    return 0;
}

/* True if the child's bit was not set; sets it. */
static inline bool switch_first_time(uint64_t *answered, uint32_t child)
{
    uint64_t bit = UINT64_C(1) << child;
    bool first = (*answered & bit) == 0;

    *answered |= bit;
    return first;
}

/* switch.c */
size_t trib__switch_size(const struct trib_switch_config *config);
void trib__switch_init(void *node, const struct trib_switch_config *config);
size_t trib__switch_state_size(const void *node);
void trib__switch_join(void *node, uint32_t child, uint64_t mark);
void trib__switch_learn_mark(void *node, uint64_t mark);
enum trib_drop trib__switch_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                    uint64_t now_ns);
void trib__switch_soon(const void *node, struct trib_place from, const struct trib_packet *packet);
bool trib__switch_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to);
bool trib__switch_next_event(void *node, struct trib_event *event);
uint64_t trib__switch_next_timeout(const void *node);
void trib__switch_on_timeout(void *node, uint64_t now_ns);
uint64_t trib__switch_communicator_mark(const void *node);
uint32_t trib__switch_slots_held(const void *node);
uint32_t trib__switch_idle(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES]);
const struct trib_counters *trib__switch_counters(const void *node);

/* switch_missing.c */
uint64_t trib__switch_missing(const void *node, uint64_t *sequence);
uint64_t trib__switch_missing_on(const void *node, uint64_t sequence);

/* switch_result.c */
void trib__switch_raise_mark(struct switch_node *n, uint64_t mark);
void trib__switch_result_due(struct switch_node *n, uint32_t index);
enum trib_drop trib__switch_take_result(struct switch_node *n, uint32_t from, const struct trib_packet *packet);

/* switch_ask.c */
enum trib_drop trib__switch_queue_answer(struct switch_node *n, const struct answer *answer);
enum trib_drop trib__switch_queue(struct switch_node *n, enum trib_kind kind, uint32_t child, uint64_t sequence,
                                  uint64_t bitmap);
void trib__switch_pay_owed(struct switch_node *n);
struct slot_repeats *trib__switch_repeats(struct switch_node *n, uint64_t sequence, uint64_t now_ns);
bool trib__switch_once(struct slot_repeats *r, enum slot_once what);
void trib__switch_boot_hint(struct switch_node *n, uint32_t child, uint64_t now_ns);
enum trib_drop trib__switch_say_held(struct switch_node *n, uint32_t child, uint64_t sequence, uint16_t flags,
                                     struct slot_repeats *r);
uint64_t trib__switch_finished(const struct switch_node *n, uint64_t sequence);
uint64_t trib__switch_given_again(const struct switch_node *n, const struct trib_slot *slot);
void trib__switch_ask_finished(struct switch_node *n, uint64_t sequence, uint64_t finished, struct slot_repeats *r);
void trib__switch_seek_rest(struct switch_node *n, const struct trib_slot *slot, uint32_t child, uint64_t now_ns);
uint64_t trib__switch_lacking(const struct switch_node *n, uint32_t child, uint64_t dense, uint64_t sent);
void trib__switch_find_gap(struct switch_node *n, uint32_t child, uint64_t dense);

/* switch_answer.c */
enum trib_drop trib__switch_probe(struct switch_node *n, uint32_t child, const struct trib_packet *packet,
                                  uint64_t now_ns);
bool trib__switch_next_answer(struct switch_node *n, struct trib_packet *packet, struct trib_place *to);
void trib__switch_build_result(const struct switch_node *n, uint32_t index, bool payload, struct trib_packet *packet);

/* switch_pace.c */
void trib__switch_pace(struct switch_node *n);
void trib__switch_set_room(struct switch_node *n);
uint16_t trib__switch_cap(const struct switch_node *n, uint16_t said);
void trib__switch_mark(struct switch_node *n, uint32_t index, uint64_t children);
void trib__switch_set_child(void *node, uint32_t child);
void trib__switch_set_cap(void *node, uint32_t fragments, uint64_t now_ns);
uint32_t trib__switch_room(const void *node);
bool trib__switch_is_active(const void *node, uint64_t now_ns);

/* switch_quorum.c */
void trib__switch_set_quorum(struct switch_node *n);
bool trib__switch_is_listable(const struct switch_node *n, const struct trib_packet *packet, const uint8_t *list);
void trib__switch_list(struct switch_node *n, uint32_t index, const struct trib_packet *packet, const uint8_t *list);
bool trib__switch_is_enough(const struct switch_node *n, const struct trib_slot *slot);
void trib__switch_latch(struct switch_node *n, uint32_t index);
void trib__switch_attach_list(struct switch_node *n, uint32_t index);
bool trib__switch_overlaps(const struct switch_node *n, uint32_t index, const struct trib_packet *packet,
                           const uint8_t *list);
bool trib__switch_is_late(const struct switch_node *n, uint32_t index, uint32_t child,
                          const struct trib_packet *packet);
enum trib_drop trib__switch_late(struct switch_node *n, uint32_t child, const struct trib_packet *packet,
                                 uint64_t now_ns);

/* switch_combined.c */
void trib__switch_ask_apart(struct switch_node *n, uint64_t sequence, uint64_t lack, uint64_t now_ns);

/* switch_up.c */
bool trib__switch_next_up(struct switch_node *n, struct trib_packet *packet, struct trib_place *to);
void trib__switch_probe_up(struct switch_node *n, uint64_t sequence, struct slot_repeats *r, uint64_t now_ns);
void trib__switch_probe_mark(struct switch_node *n, uint64_t sequence, uint64_t now_ns);
bool trib__switch_build_probe(struct switch_node *n, const struct answer *answer, struct trib_packet *packet);

/* switch_parent.c */
enum trib_drop trib__switch_from_parent(struct switch_node *n, const struct trib_packet *packet, uint64_t now_ns);

#endif
