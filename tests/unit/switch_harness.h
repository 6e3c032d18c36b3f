/* SPDX-License-Identifier: Apache-2.0 */
/* switch_harness.h: one switch node without a parent for scripted exchanges with three ranks. Packets are made by
 * hand. */
#ifndef TRIB_TESTS_SWITCH_HARNESS_H
#define TRIB_TESTS_SWITCH_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/node.h"
#include "node_memory.h"
#include "schemes/switchml/switchml.h"

#define RANKS 3
#define ALL 7
#define SLOTS 4
#define BOOT 0xb007
#define COMMUNICATOR 11
#define GENERATION 2
#define MS UINT64_C(1000000)

struct fixture {
    void *node;
    uint64_t now_ns;
    const struct trib_switch_verbs *verbs;
};

static inline struct trib_switch_config config_of(uint32_t ranks, uint32_t slots)
{
    return (struct trib_switch_config){
        .session = {.communicator = COMMUNICATOR,
                    .generation = GENERATION,
                    .ranks = ranks,
                    .roots = 1,
                    .train = 1,
                    .slots = slots,
                    .payload = 64,
                    .wire = TRIB_FLOAT32,
                    .lookahead = 1},
        .kernels = trib_value_kernels(),
        .children = ranks,
        .boot = BOOT,
    };
}

static inline void open_config(struct fixture *f, const struct trib_switch_config *config)
{
    f->verbs = trib_switchml.switch_node;
    f->node = node_memory(f->verbs->size(config));
    f->verbs->init(f->node, config);
    f->now_ns = 1000 * MS;
}

static inline void open_node(struct fixture *f, uint32_t ranks, uint32_t slots)
{
    struct trib_switch_config config = config_of(ranks, slots);

    open_config(f, &config);
}

static inline void join_all(struct fixture *f, uint32_t ranks)
{
    for (uint32_t child = 0; child < ranks; child++) {
        f->verbs->join(f->node, child, 0);
    }
}

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    open_node(f, RANKS, SLOTS);
    join_all(f, RANKS);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    free(f->node);
    free(f);
    return 0;
}

/* ---- packets ---- */

static inline struct trib_packet packet_of(enum trib_kind kind, uint64_t sequence, uint64_t mark)
{
    return (struct trib_packet){
        .kind = (uint8_t)kind,
        .sequence = sequence,
        .mark = mark,
        .communicator = COMMUNICATOR,
        .generation = GENERATION,
        .boot = BOOT,
        .digest = 77,
        .lane = 1,
        .type = TRIB_FLOAT32,
        .reduction = TRIB_SUM,
    };
}

static inline enum trib_drop up(struct fixture *f, uint32_t child, const struct trib_packet *packet)
{
    struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << child};
    struct trib_packet named = *packet;

    named.last_rank = (uint16_t)child;
    return f->verbs->node.receive(f->node, from, &named, f->now_ns);
}

static inline enum trib_drop contribute(struct fixture *f, uint32_t child, uint64_t sequence, uint64_t mark)
{
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, sequence, mark);
    float value[16] = {(float)(1 << child), 1};

    packet.payload = value;
    packet.payload_len = sizeof value;
    packet.contributors = 1;
    return up(f, child, &packet);
}

static inline enum trib_drop probe(struct fixture *f, uint32_t child, uint64_t sequence, uint64_t mark, uint64_t sent)
{
    struct trib_packet packet = packet_of(TRIB_PROBE, sequence, mark);

    packet.bitmap = sent;
    return up(f, child, &packet);
}

/* With reason to think that the result was lost. */
static inline enum trib_drop probe_lost(struct fixture *f, uint32_t child, uint64_t sequence)
{
    struct trib_packet packet = packet_of(TRIB_PROBE, sequence, 0);

    packet.flags = TRIB_FLAG_RESEND;
    return up(f, child, &packet);
}

static inline enum trib_drop offer(struct fixture *f, uint32_t child, uint64_t sequence, uint64_t mark, float first)
{
    struct trib_packet packet = packet_of(TRIB_OFFER, sequence, mark);
    float value[16] = {first};

    packet.payload = value;
    packet.payload_len = sizeof value;
    packet.contributors = RANKS;
    packet.lane = 3;
    return up(f, child, &packet);
}

/* ---- what comes down ---- */

static inline void expect_nothing(struct fixture *f)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_false(f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to));
}

static inline struct trib_packet expect(struct fixture *f, enum trib_kind kind, uint64_t sequence, uint64_t children)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_true(f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to));
    assert_int_equal(packet.kind, kind);
    assert_int_equal(packet.sequence, sequence);
    assert_int_equal(to.kind, TRIB_PLACE_CHILDREN);
    assert_int_equal(to.children, children);
    assert_int_equal(packet.communicator, COMMUNICATOR);
    assert_int_equal(packet.generation, GENERATION);
    assert_int_equal(packet.boot, BOOT);
    return packet;
}

static inline float first_of(const struct trib_packet *packet)
{
    float value;

    assert_int_equal(packet->payload_len, 64);
    memcpy(&value, packet->payload, sizeof value);
    return value;
}

static inline void complete(struct fixture *f, uint64_t sequence, uint64_t mark)
{
    for (uint32_t child = 0; child < RANKS; child++) {
        assert_int_equal(contribute(f, child, sequence, mark), TRIB_DROP_NONE);
    }
    (void)expect(f, TRIB_RESULT, sequence, ALL);
}

#define WITH_NODE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
