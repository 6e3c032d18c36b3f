/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_harness.h: one switch node whose sums may lack ranks (panama:1/2), with packets made by hand. Its first children
 * are ranks, the others switches. */
#ifndef TRIB_TESTS_QUORUM_HARNESS_H
#define TRIB_TESTS_QUORUM_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/lane.h"
#include "core/operation.h"
#include "core/prng.h"
#include "core/quorum.h"
#include "core/slot.h"
#include "schemes/panama/panama.h"

#define S trib_panama.switch_node
#define W trib_panama.worker

#define SLOTS 4
#define ELEMENTS 16
#define DATA (4 * ELEMENTS)
#define PAYLOAD (DATA + TRIB_QUORUM_LIST)
#define BOOT 0xb007
#define MS UINT64_C(1000000)

static inline struct trib_session_config session_of(uint32_t ranks)
{
    return (struct trib_session_config){.salt = 5,
                                        .communicator = 7,
                                        .ranks = ranks,
                                        .roots = 1,
                                        .train = 1,
                                        .slots = SLOTS,
                                        .payload = PAYLOAD,
                                        .generation = 1,
                                        .wire = TRIB_FLOAT32,
                                        .lookahead = 1,
                                        .quorum = 1,
                                        .quorum_of = 2};
}

static inline void *memory_of(size_t size)
{
    void *memory = aligned_alloc(64, (size + 63) & ~(size_t)63);

    assert_non_null(memory);
    memset(memory, 0xa5, size);
    return memory;
}

/* ---- a switch: its first children are ranks, the others switches ---- */

struct shape {
    uint32_t ranks;    /* of all */
    uint32_t children; /* of this switch */
    uint64_t branches;
    uint32_t more; /* spares than the children bring that are ranks, as child i is rank i */
    bool has_parent;
};

/* All children have joined at a mark, so that what lies a window beyond it may lack. */
static inline void *open_switch(const struct shape *shape, uint64_t mark)
{
    struct trib_switch_config config = {.session = session_of(shape->ranks),
                                        .kernels = trib_value_kernels(),
                                        .children = shape->children,
                                        .branches = shape->branches,
                                        .boot = BOOT,
                                        .has_parent = shape->has_parent};
    config.session.salt = 0;
    config.spare = shape->more;
    for (uint32_t child = 0; child < shape->children; child++) {
        config.spare += (shape->branches >> child & 1) == 0 ? trib_quorum_brings(&config.session, child) : 0;
    }
    void *node = memory_of(S->size(&config));

    S->init(node, &config);
    for (uint32_t child = 0; child < shape->children; child++) {
        S->join(node, child, mark);
    }
    return node;
}

static inline struct trib_packet packet_of(enum trib_kind kind, uint64_t sequence)
{
    return (struct trib_packet){.kind = (uint8_t)kind,
                                .sequence = sequence,
                                .mark = sequence < SLOTS ? 0 : sequence - SLOTS + 1,
                                .communicator = 7,
                                .generation = 1,
                                .boot = BOOT,
                                .digest = 77,
                                .lane = 1,
                                .type = TRIB_FLOAT32,
                                .reduction = TRIB_SUM,
                                .last_rank = TRIB_LAST_NONE};
}

static inline enum trib_drop from_child(void *node, uint32_t child, const struct trib_packet *packet)
{
    struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << child};

    return S->node.receive(node, from, packet, 1000 * MS);
}

/* What a child has finished. */
static inline void tell_mark(void *node, uint32_t child, uint64_t mark)
{
    struct trib_packet probe = packet_of(TRIB_PROBE, mark);

    probe.mark = mark;
    probe.flags = TRIB_FLAG_UNWANTED;
    assert_int_equal(from_child(node, child, &probe), TRIB_DROP_NONE);
}

/* A rank's part; it is child `rank`. */
static inline enum trib_drop contribute(void *node, uint32_t rank, uint64_t sequence, const float *values)
{
    struct trib_packet part = packet_of(TRIB_CONTRIBUTION, sequence);

    part.flags = TRIB_FLAG_QUORUM;
    part.node = (uint16_t)rank;
    part.payload = values;
    part.payload_len = DATA;
    part.contributors = 1;
    return from_child(node, rank, &part);
}

/* A sum or a result that lists the ranks of a bitmap. */
static inline struct trib_packet listed(enum trib_kind kind, uint64_t sequence, uint64_t ranks,
                                        uint8_t payload[PAYLOAD])
{
    struct trib_packet sum = packet_of(kind, sequence);

    memset(payload, 0, PAYLOAD);
    memcpy(payload + DATA, &ranks, sizeof ranks);
    sum.flags = TRIB_FLAG_QUORUM;
    sum.payload = payload;
    sum.payload_len = PAYLOAD;
    sum.contributors = (uint16_t)__builtin_popcountll(ranks);
    return sum;
}

/* The next packet of a kind that the switch hands out; false: there is none. */
static inline bool next_of(void *node, enum trib_kind kind, struct trib_packet *packet)
{
    struct trib_place to;

    while (S->node.next_packet(node, 1000 * MS, packet, &to)) {
        if (packet->kind == kind) {
            return true;
        }
    }
    return false;
}

static inline uint64_t list_in(const struct trib_packet *packet)
{
    const uint8_t *list = trib_quorum_list(packet);
    uint64_t ranks = 0;

    assert_non_null(list);
    memcpy(&ranks, list, sizeof ranks);
    return ranks;
}

static const float ones[ELEMENTS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

#endif
