/* SPDX-License-Identifier: Apache-2.0 */
/* inner_switch_harness.h: one inner switch node for scripted exchanges: children 0 and 1 are ranks, child 2 is a switch
 * with three ranks, and there is a parent. Packets are made by hand. */
#ifndef TRIB_TESTS_INNER_SWITCH_HARNESS_H
#define TRIB_TESTS_INNER_SWITCH_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/node.h"
#include "core/slot.h"
#include "node_memory.h"
#include "schemes/switchml/switchml.h"

#define RANKS 9 /* of the communicator: five of them are here */
#define CHILDREN 3
#define ALL 7
#define BRANCH 2 /* the child that is a switch */
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

static inline struct trib_switch_config config_of(uint32_t slots, uint32_t roots)
{
    return (struct trib_switch_config){
        .session = {.communicator = COMMUNICATOR,
                    .generation = GENERATION,
                    .ranks = RANKS,
                    .roots = roots,
                    .train = 1,
                    .slots = slots,
                    .payload = 64,
                    .wire = TRIB_FLOAT32,
                    .lookahead = 1},
        .kernels = trib_value_kernels(),
        .branches = 1 << BRANCH,
        .children = CHILDREN,
        .boot = BOOT,
        .has_parent = true,
    };
}

static inline void open_config(struct fixture *f, const struct trib_switch_config *config)
{
    f->verbs = trib_switchml.switch_node;
    f->node = node_memory(f->verbs->size(config));
    f->verbs->init(f->node, config);
    f->now_ns = 1000 * MS;
}

static inline void open_node(struct fixture *f, uint32_t slots, uint32_t roots)
{
    struct trib_switch_config config = config_of(slots, roots);

    open_config(f, &config);
}

static inline void join_all(struct fixture *f, uint64_t mark)
{
    for (uint32_t child = 0; child < CHILDREN; child++) {
        f->verbs->join(f->node, child, mark);
    }
}

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    open_node(f, SLOTS, 1);
    join_all(f, 0);
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
        .last_rank = TRIB_LAST_NONE,
    };
}

static inline enum trib_drop receive(struct fixture *f, struct trib_place from, const struct trib_packet *packet)
{
    return f->verbs->node.receive(f->node, from, packet, f->now_ns);
}

static inline enum trib_drop up(struct fixture *f, uint32_t child, const struct trib_packet *packet)
{
    return receive(f, (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << child}, packet);
}

static inline enum trib_drop down(struct fixture *f, const struct trib_packet *packet)
{
    return receive(f, (struct trib_place){.kind = TRIB_PLACE_PARENT}, packet);
}

static const float ones[16] = {1, 1, 1, 1};

static inline struct trib_packet with_payload(enum trib_kind kind, uint64_t sequence, uint64_t mark,
                                              uint16_t contributors)
{
    struct trib_packet packet = packet_of(kind, sequence, mark);

    packet.payload = ones;
    packet.payload_len = sizeof ones;
    packet.contributors = contributors;
    return packet;
}

static inline enum trib_drop contribute(struct fixture *f, uint32_t child, uint64_t sequence, uint64_t mark)
{
    struct trib_packet packet = with_payload(TRIB_CONTRIBUTION, sequence, mark, child == BRANCH ? 3 : 1);

    packet.last_rank = (uint16_t)(child + 3);
    return up(f, child, &packet);
}

static inline enum trib_drop offer(struct fixture *f, uint32_t child, uint64_t sequence, uint64_t mark)
{
    struct trib_packet packet = with_payload(TRIB_OFFER, sequence, mark, RANKS);

    packet.lane = 9;
    return up(f, child, &packet);
}

static inline enum trib_drop probe(struct fixture *f, uint32_t child, uint64_t sequence, uint64_t mark, uint16_t flags)
{
    struct trib_packet packet = packet_of(TRIB_PROBE, sequence, mark);

    packet.flags = flags;
    return up(f, child, &packet);
}

static inline enum trib_drop result(struct fixture *f, uint64_t sequence, uint64_t mark)
{
    struct trib_packet packet = with_payload(TRIB_RESULT, sequence, mark, RANKS);

    packet.lane = 9;
    packet.last_rank = 8;
    return down(f, &packet);
}

static inline enum trib_drop ask(struct fixture *f, uint64_t sequence, uint64_t mark, uint64_t bitmap)
{
    struct trib_packet packet = packet_of(TRIB_ASK, sequence, mark);

    packet.bitmap = bitmap;
    return down(f, &packet);
}

/* ---- what leaves ---- */

static inline void expect_nothing(struct fixture *f)
{
    struct trib_packet packet;
    struct trib_place to;

    assert_false(f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to));
}

static inline struct trib_packet leaves(struct fixture *f, enum trib_kind kind, uint64_t sequence,
                                        struct trib_place *to)
{
    struct trib_packet packet;

    assert_true(f->verbs->node.next_packet(f->node, f->now_ns, &packet, to));
    assert_int_equal(packet.kind, kind);
    assert_int_equal(packet.sequence, sequence);
    assert_int_equal(packet.communicator, COMMUNICATOR);
    assert_int_equal(packet.generation, GENERATION);
    assert_int_equal(packet.boot, BOOT);
    assert_true(trib_packet_can_encode(&packet));
    return packet;
}

static inline struct trib_packet expect_down(struct fixture *f, enum trib_kind kind, uint64_t sequence,
                                             uint64_t children)
{
    struct trib_place to;
    struct trib_packet packet = leaves(f, kind, sequence, &to);

    assert_int_equal(to.kind, TRIB_PLACE_CHILDREN);
    assert_int_equal(to.children, children);
    return packet;
}

static inline struct trib_packet expect_up(struct fixture *f, enum trib_kind kind, uint64_t sequence)
{
    struct trib_place to;
    struct trib_packet packet = leaves(f, kind, sequence, &to);

    assert_int_equal(to.kind, TRIB_PLACE_PARENT);
    return packet;
}

static inline float first_of(const struct trib_packet *packet)
{
    float value;

    assert_int_equal(packet->payload_len, 64);
    memcpy(&value, packet->payload, sizeof value);
    return value;
}

/* All children's parts are in, and the sum has gone up. */
static inline void hand_up(struct fixture *f, uint64_t sequence, uint64_t mark)
{
    for (uint32_t child = 0; child < CHILDREN; child++) {
        assert_int_equal(contribute(f, child, sequence, mark), TRIB_DROP_NONE);
    }
    (void)expect_up(f, TRIB_CONTRIBUTION, sequence);
}

static inline void take_result(struct fixture *f, uint64_t sequence, uint64_t mark)
{
    assert_int_equal(result(f, sequence, mark), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_RESULT, sequence, ALL);
}

#define WITH_NODE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
