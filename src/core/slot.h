/* SPDX-License-Identifier: Apache-2.0 */
/* slot.h: the switch's step for one contribution: key check, bitmap, lane, verdict, and which row the payload goes to.
 * Freestanding and free of floats, so that it also compiles for BPF; the adding itself is value.h's.
 *
 * A slot is empty while nobody is present, complete when the bitmap holds the required set, and nothing else says so
 * (I2). At the top of a tree of switches the complete sum is the result. Below it the complete slot is a partial sum,
 * which goes up, until the result comes down (or a finished rank OFFERs it) and takes the slot. Where sums may lack
 * ranks a slot is latched once by its node (protocol/switch_quorum.c): the bitmap is then made the required set, and
 * `loaded` has the ranks of the sum.
 *
 * The reproducible sum (I9). Children are the leaves of a fixed binary tree in the order of their numbers. A pair of
 * leaves shares a row; the second of the pair is added to it; a whole subtree is merged into its left neighbour as
 * soon as both are whole. Absent children (header only) are skipped. The tree decides every operand of
 * every addition, and addition is commutative with NaN made canonical, so the bits depend on the contributors, never on
 * the order of arrival, although adding starts with the first pair. A subtree's sum lies in the row of its first child
 * with payload.
 * Read next: protocol/switch.c. */
#ifndef TRIB_CORE_SLOT_H
#define TRIB_CORE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/assert.h"
#include "core/packet.h"

struct trib_slot {
    uint64_t sequence; /* with attempt, and the node's communicator and generation: the key (I1) */
    uint64_t present;  /* children that are present */
    uint64_t loaded;   /* children that are present with payload */
    uint64_t unwanted; /* children that want a header-only result */
    uint64_t lane;
    uint32_t digest;
    uint16_t payload_len;
    uint16_t flags; /* TRIB_FLAG_ECN: some part came marked; TRIB_FLAG_QUORUM: all have it */
    uint16_t last;  /* rank that completed it, for round trips; TRIB_LAST_NONE where that would tell of none */
    int16_t exponent;
    uint16_t parts; /* ranks with payload in it */
    uint16_t cap;   /* least window cap so far; 0: no packet had one */
    uint8_t attempt;
    uint8_t type;
    uint8_t reduction;
    uint8_t first;      /* the first child that came, to name in a mismatch */
    uint8_t has_result; /* the row holds the result of the whole tree */
    uint8_t due;        /* the node's: parts of this slot still to be handed out */
    uint8_t queued;     /* the node's: the queues that the slot stands in; outlives what the slot holds */
    /* Complete without all ranks: `present` is the required set, `loaded` has the ranks of the sum. */
    uint8_t is_latched;
};

_Static_assert(sizeof(struct trib_slot) == 64, "one cache line, no holes: states are compared as bytes");

#define TRIB_LAST_NONE 0xffffU

/* Rows that a slot needs for this many children. */
static inline uint32_t trib_slot_rows(uint32_t children)
{
    return (children + 1) / 2;
}

/* The lowest set bit's number; bits != 0. */
static inline uint32_t trib_lowest(uint64_t bits)
{
    return (uint32_t)__builtin_ctzll(bits);
}

/* The row of the sum over `children`, of which at least one is loaded. */
static inline uint32_t trib_slot_row(const struct trib_slot *slot, uint64_t children)
{
    TRIB_ASSERT((slot->loaded & children) != 0);
    return trib_lowest(slot->loaded & children) / 2;
}

static inline bool trib_slot_is_empty(const struct trib_slot *slot)
{
    return slot->present == 0;
}

static inline bool trib_slot_is_complete(const struct trib_slot *slot, uint64_t required)
{
    return (slot->present & required) == required;
}

/* True if the slot holds this sequence. */
static inline bool trib_slot_holds(const struct trib_slot *slot, uint64_t sequence)
{
    return !trib_slot_is_empty(slot) && slot->sequence == sequence;
}

/* Empties the slot. */
static inline void trib_slot_free(struct trib_slot *slot)
{
    *slot = (struct trib_slot){.queued = slot->queued};
}

/* Takes an empty slot for the packet's key. No child is present yet. child: the first child that came. */
static inline void trib_slot_open(struct trib_slot *slot, const struct trib_packet *packet, uint32_t child)
{
    TRIB_ASSERT(trib_slot_is_empty(slot) || slot->sequence == packet->sequence); /* I1: of its own fragment alone */
    TRIB_ASSERT(child < 64);
    *slot = (struct trib_slot){
        .queued = slot->queued,
        .sequence = packet->sequence,
        .attempt = packet->attempt,
        .digest = packet->digest,
        .reduction = packet->reduction,
        .exponent = packet->exponent,
        .last = TRIB_LAST_NONE,
        .first = (uint8_t)child,
    };
}

/* True if the packet has another reduction than the slot, its payload has another shape, or only one of both says that
 * ranks may lack. If digests agree, only a wrong sender causes this. */
static inline bool trib_slot_differs(const struct trib_slot *slot, const struct trib_packet *packet)
{
    bool is_other = packet->kind == TRIB_CONTRIBUTION && slot->present != 0 &&
                    ((slot->flags ^ packet->flags) & TRIB_FLAG_QUORUM) != 0;

    return is_other || slot->reduction != packet->reduction ||
           (slot->loaded != 0 && packet->payload_len != 0 &&
            (slot->type != packet->type || slot->payload_len != packet->payload_len));
}

/* TRIB_DROP_NONE: this contribution, of one or several children, may be added. The slot holds its sequence or was just
 * opened for it. */
static inline enum trib_drop trib_slot_check(const struct trib_slot *slot, const struct trib_packet *packet,
                                             uint64_t children)
{
    if (slot->attempt != packet->attempt) {
        return TRIB_DROP_SHAPE;
    }
    if ((slot->present & children) != 0) {
        return (children & ~slot->present) == 0 ? TRIB_DROP_DUPLICATE : TRIB_DROP_OVERLAP;
    }
    if (slot->digest != packet->digest) {
        return TRIB_DROP_DIGEST;
    }
    return trib_slot_differs(slot, packet) ? TRIB_DROP_SHAPE : TRIB_DROP_NONE;
}

/* The least of two window caps; 0 says nothing. */
static inline uint16_t trib_least_cap(uint16_t a, uint16_t b)
{
    return b == 0 || (a != 0 && a < b) ? a : b;
}

/* Notes a contribution that passed the check: everything but the payload, which is that of `parts` ranks. */
static inline void trib_slot_note(struct trib_slot *slot, const struct trib_packet *packet, uint64_t children,
                                  uint16_t parts)
{
    uint16_t of_all = slot->present == 0 ? TRIB_FLAG_QUORUM : slot->flags & TRIB_FLAG_QUORUM;

    TRIB_ASSERT(children != 0 && (slot->present & children) == 0); /* I4: a duplicate is never added */
    slot->present |= children;
    slot->lane += packet->lane;
    slot->flags = (uint16_t)(((slot->flags | packet->flags) & TRIB_FLAG_ECN) | (of_all & packet->flags));
    slot->cap = trib_least_cap(slot->cap, packet->window_cap);
    slot->last = packet->last_rank;
    if (packet->exponent > slot->exponent) {
        slot->exponent = packet->exponent;
    }
    if (packet->flags & TRIB_FLAG_UNWANTED) {
        slot->unwanted |= children;
    }
    if (packet->payload_len != 0) {
        slot->loaded |= children;
        slot->parts = (uint16_t)(slot->parts + parts);
        slot->type = packet->type;
        slot->payload_len = packet->payload_len;
    }
}

/* May this finished result, from an OFFER or from the parent, take the slot? It has no result yet. A header alone will
 * do where nobody wants the payload. One that lacks ranks may hold fewer than have come: after a restart the
 * unfinished ranks may all give their parts again, in vain. */
static inline enum trib_drop trib_slot_check_result(const struct trib_slot *slot, const struct trib_packet *packet,
                                                    bool header_will_do)
{
    bool lacks = (packet->flags & TRIB_FLAG_QUORUM) == 0 && packet->contributors < slot->parts;

    if (lacks || (packet->payload_len != 0 && packet->contributors == 0)) {
        return TRIB_DROP_SHAPE;
    }
    if (packet->payload_len == 0 && packet->contributors != 0 && !header_will_do) {
        return TRIB_DROP_SHAPE;
    }
    if (trib_slot_is_empty(slot)) {
        return TRIB_DROP_NONE;
    }
    if (slot->attempt != packet->attempt) {
        return TRIB_DROP_SHAPE;
    }
    if (slot->digest != packet->digest) {
        return TRIB_DROP_DIGEST;
    }
    return trib_slot_differs(slot, packet) ? TRIB_DROP_SHAPE : TRIB_DROP_NONE;
}

/* The result takes the slot, in place of the sum so far: everything but the payload, which goes to row 0, as if
 * child 0 alone had brought it. `from` is the child that it came from, where no part had come before. */
static inline void trib_slot_take_result(struct trib_slot *slot, const struct trib_packet *packet, uint64_t required,
                                         uint32_t from)
{
    uint32_t first = trib_slot_is_empty(slot) ? from : slot->first;
    uint64_t unwanted = slot->unwanted;
    uint16_t kept = packet->kind == TRIB_RESULT ? TRIB_FLAG_QUORUM | TRIB_FLAG_RESEND : TRIB_FLAG_QUORUM;

    TRIB_ASSERT(slot->has_result == 0); /* a result is never replaced */
    trib_slot_open(slot, packet, first);
    slot->present = required;
    slot->loaded = packet->payload_len != 0;
    slot->unwanted = unwanted;
    slot->lane = packet->lane;
    slot->flags = packet->flags & kept;
    slot->cap = packet->window_cap;
    /* An old result tells of no round trip. */
    if (packet->kind == TRIB_RESULT && (packet->flags & TRIB_FLAG_RESEND) == 0) {
        slot->last = packet->last_rank;
    }
    slot->type = packet->type;
    slot->payload_len = packet->payload_len;
    slot->parts = packet->contributors;
    slot->has_result = 1;
    slot->is_latched = (packet->flags & TRIB_FLAG_QUORUM) != 0;
}

/* A step of the eager tree: merge the row `from` into the row `into`. */
struct trib_merge {
    uint32_t into;
    uint32_t from;
};

/* After `child` was noted and its payload, if any, put into its pair's row: climbs the tree from level *level (start
 * with 1). True: do this merge and ask again. False: the subtree's neighbour is not whole yet, or the root is
 * reached. */
static inline bool trib_slot_climb(const struct trib_slot *slot, uint64_t required, uint32_t child, uint32_t *level,
                                   struct trib_merge *merge)
{
    TRIB_ASSERT(*level >= 1 && (slot->present >> child & 1) != 0);
    while (*level < 6) {
        uint32_t span = 1U << *level;
        uint64_t ones = (UINT64_C(1) << span) - 1;
        uint64_t mine = ones << (child & ~(span - 1));
        uint64_t other = ones << ((child & ~(span - 1)) ^ span);

        if ((slot->present & mine & required) != (mine & required) ||
            (slot->present & other & required) != (other & required)) {
            return false;
        }
        (*level)++;
        uint64_t left = mine < other ? mine : other;
        uint64_t right = mine < other ? other : mine;
        if ((slot->loaded & left) != 0 && (slot->loaded & right) != 0) {
            merge->into = trib_slot_row(slot, left);
            merge->from = trib_slot_row(slot, right);
            return true;
        }
    }
    return false;
}

/* At the latch, before `present` is made all: of level 1 to 5, is the merge of the subtree at child `at` (a multiple of
 * 2^(level + 1)) with its right neighbour still to be done? Whole subtrees were merged when they became whole. Lower
 * levels come first. So the bits are those of a tree with the children of the sum as leaves. */
static inline bool trib_slot_is_apart(const struct trib_slot *slot, uint64_t required, uint32_t level, uint32_t at,
                                      struct trib_merge *merge)
{
    uint32_t span = 1U << level;
    uint64_t left = ((UINT64_C(1) << span) - 1) << at;
    uint64_t right = left << span;
    uint64_t both = (left | right) & required;

    TRIB_ASSERT(level >= 1 && level <= 5 && at % (2 * span) == 0 && at < 64);
    if ((slot->present & both) == both || (slot->loaded & left) == 0 || (slot->loaded & right) == 0) {
        return false;
    }
    merge->into = trib_slot_row(slot, left);
    merge->from = trib_slot_row(slot, right);
    return true;
}

#endif
