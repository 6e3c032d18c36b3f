/* SPDX-License-Identifier: Apache-2.0 */
/* combiner_memory.h: the memory of a combiner, of a pool with its line, and of the nodes in it. Private to the folder,
 * and to tests/model, which takes two states of it for one if no part will show a difference.
 * Read next: combiner.c, combining.c. */
#ifndef TRIB_PROTOCOL_COMBINER_MEMORY_H
#define TRIB_PROTOCOL_COMBINER_MEMORY_H

#include "core/slot.h"
#include "protocol/combiner_grant.h"

#define LEAVING 64U /* sums waiting to leave, at most */

struct row {
    struct trib_slot slot; /* children: ranks, as numbered at the root */
    uint64_t mark;         /* the least of all parts */
    uint64_t past;         /* ranks with a part of the fragment that has passed */
    uint32_t boot;
    uint32_t member;
    uint32_t buffer;
    uint32_t is_astray; /* not the first place of its fragment */
    uint8_t unused[32];
};

_Static_assert(sizeof(struct row) == 128, "two cache lines");

struct member {
    struct trib_combiner_grant grant; /* with the mark as it is now */
    uint32_t priority;                /* of its parts and rows; at most the grant's */
    uint32_t held;                    /* rows */
    uint32_t astray;                  /* of them */
    uint32_t unused;
    uint64_t marks[TRIB_CHILDREN_MAX]; /* of the ranks behind, as told */
    uint64_t next[TRIB_CHILDREN_MAX];  /* of the ranks behind: after the highest sequence of a part */
};

struct combiner {
    struct trib_combiner_config config;
    struct trib_combiner_counters counters;
    size_t row_size, members_at, rows_at, leaving_at, free_at, buffers_at;
    uint32_t head, count; /* of the ring of sums that leave */
    uint32_t free_count;  /* of the stack of buffers */
    uint32_t given; /* of the stack of buffers of sums handed out; it grows down from the end of the same memory */
};

#define LINE 256U /* packets that wait, at most: sums and packets of one buffer */
#define OUTSIDE UINT32_MAX

struct waiting {
    struct trib_packet packet;
    struct trib_place to;
    uint32_t member;
};

struct pool {
    uint32_t members;
    uint32_t head, count; /* of the line */
    uint32_t unused;
    size_t nodes_at, line_at, combiner_at;
};

struct combining_node {
    struct trib_session_config session;
    uint64_t behind; /* numbers at the root, ascending as children are */
    uint64_t mark;
    uint32_t children;
    uint32_t boot;   /* parts of another one, late or forged, would hold rows that no part completes */
    uint32_t member; /* of the pool; OUTSIDE: of none */
    uint32_t unused;
    struct trib_counters counters;
    struct pool *pool;
    void *owner;
};

#endif
