/* SPDX-License-Identifier: Apache-2.0 */
/* combiner_grant.h: settings, grants and counters of a combiner (combiner.h). Read next: combiner.h. */
#ifndef TRIB_PROTOCOL_COMBINER_GRANT_H
#define TRIB_PROTOCOL_COMBINER_GRANT_H

#include "core/node.h"
#include "protocol/pieces.h"

struct trib_combiner_config {
    const struct trib_value_kernels *kernels;
    uint32_t rows;    /* of the pool; 0: every part passes */
    uint32_t payload; /* bytes of the longest part to add; a multiple of 64 */
    uint32_t members; /* communicators at a time: numbered from 0 on by the driver */
    bool is_narrow;   /* rows are as long as payloads: sums of types of 16 bits, which are wider, pass */
    bool is_zeroed;   /* the memory holds zeros already */
    uint8_t unused[2];
};

/* A communicator, as the control plane grants it. No field stands before a gap. */
struct trib_combiner_grant {
    uint64_t behind; /* the ranks, by their numbers at the root */
    uint64_t mark;   /* M as known */
    uint64_t span;   /* sequences from M on that may be under way (trib_window_span); later ones pass. 0: no bound */
    struct trib_pieces pieces;
    uint32_t communicator;
    /* The share of the pool: all that communicators without pieces have together, where these share; with pieces rows
     * of its own. rows 0: every part passes. */
    uint32_t first_row, rows;
    uint16_t generation;
    uint16_t group;   /* of 64 numbers at the root, of which `behind` are some: part of the hash alone */
    uint8_t roots;    /* of the communicator, this one included; 0: 1 */
    uint8_t priority; /* the most that a member's is; 0: its parts never take the row of another fragment */
    uint8_t unused[6];
};

_Static_assert(offsetof(struct trib_combiner_grant, unused) + 6 == sizeof(struct trib_combiner_grant), "no gap");

/* The ranks that a packet speaks for, at a combiner or a root; 0: some are not behind the sender (I7). A rank speaks
 * for itself. From a combiner `node` names the rank, or the bitmap of a CONTRIBUTION all ranks. */
static inline uint64_t trib_combiner_ranks(uint64_t behind, const struct trib_packet *packet)
{
    bool is_combiner = (behind & (behind - 1)) != 0;
    uint64_t named = packet->node < TRIB_CHILDREN_MAX ? UINT64_C(1) << packet->node : 0;

    if (packet->kind == TRIB_CONTRIBUTION && packet->bitmap != 0) {
        named = packet->bitmap;
    }
    named = is_combiner ? named : behind;
    return (named & ~behind) == 0 ? named : 0;
}

#define TRIB_COMBINER_COUNTER_MAP(X)                                               \
    X(combined, "parts added to a row")                                            \
    X(passed, "parts sent on alone, whatever the reason")                          \
    X(collisions, "of passed parts: another fragment had the row")                 \
    X(direct, "of passed parts: asked for by the root")                            \
    X(beyond, "of passed parts: beyond the window")                                \
    X(elsewhere, "of passed parts: of pieces that a plan has placed elsewhere")    \
    X(complete, "sums of all ranks behind the combiner")                           \
    X(rest, "sums of all ranks but those with parts that passed before")           \
    X(flushed, "sums with ranks missing: sent on for a PROBE")                     \
    X(evicted, "sums with ranks missing: sent on for a part of a higher priority") \
    X(stale, "parts below M, dropped")                                             \
    X(duplicates, "parts already in the row, dropped")                             \
    X(refused, "packets for ranks not behind the sender, dropped")

struct trib_combiner_counters {
#define X(name, help) uint64_t name;
    TRIB_COMBINER_COUNTER_MAP(X)
#undef X
};

static inline void trib_combiner_counters_add(struct trib_combiner_counters *sum,
                                              const struct trib_combiner_counters *more)
{
#define X(name, help) sum->name += more->name;
    TRIB_COMBINER_COUNTER_MAP(X)
#undef X
}

#endif
