/* SPDX-License-Identifier: Apache-2.0 */
/* combiner_harness.h: one combiner for scripted exchanges, with ranks 0 to 2 of one communicator behind it. Packets are
 * made by hand: a rank's part is 1, 2 or 4 in each of 16 integers, with a lane of its own. */
#ifndef TRIB_TESTS_COMBINER_HARNESS_H
#define TRIB_TESTS_COMBINER_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/slot.h"
#include "node_memory.h"
#include "protocol/combiner.h"

#define BEHIND 7U /* ranks 0 to 2 */
#define MEMBERS 6U
#define PAYLOAD 64U
#define ELEMENTS (PAYLOAD / 4)

struct fixture {
    void *combiner;
    struct trib_combiner_config config;
    int32_t payload[ELEMENTS]; /* of the packet made last */
};

static inline void open_combiner(struct fixture *f, uint32_t rows, bool is_narrow)
{
    f->config = (struct trib_combiner_config){
        .kernels = trib_value_kernels(), .rows = rows, .payload = PAYLOAD, .members = MEMBERS, .is_narrow = is_narrow};
    free(f->combiner);
    f->combiner = node_memory(trib_combiner_size(&f->config));
    trib_combiner_init(f->combiner, &f->config);
}

/* Member m is communicator m + 1. */
static inline struct trib_combiner_grant grant_of(const struct fixture *f, uint32_t member, uint8_t priority)
{
    return (struct trib_combiner_grant){
        .behind = BEHIND, .communicator = member + 1, .generation = 2, .rows = f->config.rows, .priority = priority};
}

static inline void admit(struct fixture *f, uint32_t member, uint8_t priority)
{
    struct trib_combiner_grant grant = grant_of(f, member, priority);

    trib_combiner_admit(f->combiner, member, &grant);
}

/* All communicators share so many rows: with 1, fragments collide. */
static inline void share(struct fixture *f, uint32_t rows)
{
    open_combiner(f, rows, false);
    for (uint32_t member = 0; member < MEMBERS; member++) {
        admit(f, member, 0);
    }
}

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    share(f, 8);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    free(f->combiner);
    free(f);
    return 0;
}

#define WITH_COMBINER(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ---- packets ---- */

static inline uint64_t lane_of(uint64_t ranks)
{
    uint64_t lane = 0;

    for (; ranks != 0; ranks &= ranks - 1) {
        lane += UINT64_C(1000) << 8 * trib_lowest(ranks);
    }
    return lane;
}

static inline struct trib_packet packet_of(enum trib_kind kind, uint64_t sequence)
{
    return (struct trib_packet){.kind = (uint8_t)kind,
                                .sequence = sequence,
                                .communicator = 1,
                                .generation = 2,
                                .boot = 5,
                                .digest = 77,
                                .reduction = TRIB_SUM,
                                .exponent = -1000};
}

/* The sum of the ranks' parts. */
static inline struct trib_packet part_of(struct fixture *f, uint64_t ranks, uint64_t sequence)
{
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, sequence);

    for (uint32_t i = 0; i < ELEMENTS; i++) {
        f->payload[i] = (int32_t)ranks;
    }
    packet.lane = lane_of(ranks);
    packet.type = TRIB_INT32;
    packet.payload = f->payload;
    packet.payload_len = PAYLOAD;
    packet.contributors = (uint16_t)trib_count_bits(ranks);
    packet.last_rank = (uint16_t)trib_lowest(ranks);
    packet.bitmap = (ranks & (ranks - 1)) != 0 ? ranks : 0;
    return packet;
}

/* From the one rank that is its sender, or from a combiner below with these ranks. */
static inline enum trib_combined up(struct fixture *f, uint64_t sender, struct trib_packet *packet)
{
    return trib_combiner_up(f->combiner, packet->communicator - 1, sender, packet);
}

static inline enum trib_combined contribute(struct fixture *f, uint64_t ranks, uint64_t sequence)
{
    struct trib_packet packet = part_of(f, ranks, sequence);

    return up(f, ranks, &packet);
}

static inline enum trib_combined contribute_to(struct fixture *f, uint32_t member, uint64_t ranks, uint64_t sequence)
{
    struct trib_packet packet = part_of(f, ranks, sequence);

    packet.communicator = member + 1;
    return up(f, ranks, &packet);
}

static inline enum trib_combined probe(struct fixture *f, uint32_t rank, uint64_t sequence, uint16_t flags)
{
    struct trib_packet packet = packet_of(TRIB_PROBE, sequence);

    packet.flags = flags;
    return up(f, UINT64_C(1) << rank, &packet);
}

/* ---- what leaves ---- */

static inline void expect_nothing(struct fixture *f)
{
    struct trib_packet packet;
    uint32_t member;

    assert_false(trib_combiner_next(f->combiner, &packet, &member));
}

static inline struct trib_packet expect_sum(struct fixture *f, uint32_t member, uint64_t ranks, uint64_t sequence)
{
    struct trib_packet packet;
    uint32_t of;

    trib_combiner_release(f->combiner);
    assert_true(trib_combiner_next(f->combiner, &packet, &of));
    assert_int_equal(of, member);
    assert_int_equal(packet.kind, TRIB_CONTRIBUTION);
    assert_int_equal(packet.sequence, sequence);
    assert_int_equal(packet.communicator, member + 1);
    assert_int_equal(packet.bitmap, ranks);
    assert_int_equal(packet.node, trib_lowest(ranks));
    assert_int_equal(packet.lane, lane_of(ranks));
    return packet;
}

static inline int32_t first_of(const struct trib_packet *packet)
{
    int32_t value;

    assert_int_equal(packet->payload_len, PAYLOAD);
    memcpy(&value, packet->payload, sizeof value);
    return value;
}

static inline uint32_t held(const struct fixture *f)
{
    return trib_combiner_rows_held(f->combiner, TRIB_COMBINER_ALL);
}

#define EXPECT_COUNTER(f, name, value) assert_int_equal(trib_combiner_counters((f)->combiner)->name, value)

#endif
