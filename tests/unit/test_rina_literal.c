/* SPDX-License-Identifier: Apache-2.0 */
/* test_rina_literal.c: the control loop of Rina as published: a rank sends what its switch has pulled, the agent's
 * window to the next agent decides what is pulled, and the next agent acknowledges each sum. Sums, and what is lost, are
 * in test_sim_chain.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/loss.h"
#include "node_memory.h"
#include "published/rina_literal/rina_literal.h"

#define PAYLOAD 64U
#define PER_PACKET (PAYLOAD / 4)
#define SLOTS 128U /* full speed is half of them */
#define FULL (SLOTS / 2)
#define FRAGMENTS 400U
#define BOOT 9U
#define BEFORE 2U /* an agent's child: the switch of the rack before */
#define NOW UINT64_C(1000000000)

static const struct trib_worker_verbs *const W = &trib_rina_literal_worker;
static const struct trib_switch_verbs *const S = &trib_rina_literal_switch;
static const struct trib_place root = {.kind = TRIB_PLACE_ROOT};
static const struct trib_place parent = {.kind = TRIB_PLACE_PARENT};
static int32_t numbers[FRAGMENTS * PER_PACKET], sums[FRAGMENTS * PER_PACKET];
static struct trib_packet packet;
static struct trib_place to;

static struct trib_session_config session_of(void)
{
    return (struct trib_session_config){.communicator = 7,
                                        .ranks = 4,
                                        .roots = 1,
                                        .train = 1,
                                        .slots = SLOTS,
                                        .payload = PAYLOAD,
                                        .wire = TRIB_FLOAT32,
                                        .lookahead = 1};
}

static struct trib_place child(uint64_t bits)
{
    return (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = bits};
}

static enum trib_drop give(void *node, const struct trib_node_verbs *verbs, struct trib_place from,
                           enum trib_rina_message message, uint64_t sequence, uint64_t signs)
{
    const struct trib_packet given = {.kind = message == TRIB_RINA_ACK    ? TRIB_FLOW_ACK
                                              : message == TRIB_RINA_PULL ? TRIB_ASK
                                                                          : TRIB_PROBE,
                                      .tree = (uint8_t)message,
                                      .sequence = sequence,
                                      .bitmap = signs,
                                      .communicator = 7,
                                      .boot = BOOT};

    return verbs->receive(node, from, &given, NOW);
}

/* ---- a rank ---- */

static void *start_worker(uint32_t number)
{
    struct trib_worker_config config = {.session = session_of(),
                                        .kernels = trib_value_kernels(),
                                        .rank = 1,
                                        .window = FULL,
                                        .operations = 1,
                                        .stall_ns = UINT64_MAX};
    struct trib_operation operation = {.send = numbers,
                                       .recv = sums,
                                       .count = FRAGMENTS * PER_PACKET,
                                       .collective = TRIB_ALLREDUCE,
                                       .type = TRIB_INT32,
                                       .reduction = TRIB_SUM};
    void *node = node_memory(W->size(&config));

    W->init(node, &config);
    W->set_child(node, 0, number);
    W->registered(node, BOOT, 0, NOW);
    assert_true(W->submit(node, &operation, NOW));
    return node;
}

/* New parts that leave; nothing else does. */
static uint32_t parts_of(void *node)
{
    uint32_t parts = 0;

    while (W->node.next_packet(node, NOW, &packet, &to)) {
        assert_int_equal(packet.kind, TRIB_CONTRIBUTION);
        assert_int_equal(packet.tree, 0);
        parts++;
    }
    return parts;
}

static void a_rank__sends_what_was_pulled(void **state)
{
    void *node = start_worker(1);

    (void)state;
    assert_int_equal(parts_of(node), 0);
    assert_int_equal(give(node, &W->node, root, TRIB_RINA_PULL, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(parts_of(node), 1);
    assert_int_equal(give(node, &W->node, root, TRIB_RINA_PULL, 20, 0), TRIB_DROP_NONE);
    assert_int_equal(parts_of(node), 20);
    assert_int_equal(give(node, &W->node, root, TRIB_RINA_PULL, 7, 0), TRIB_DROP_NONE);
    assert_int_equal(parts_of(node), 0);
    assert_int_equal(give(node, &W->node, parent, TRIB_RINA_PULL, 30, 0), TRIB_DROP_SOURCE);
    assert_int_equal(give(node, &W->node, root, TRIB_RINA_ACK, 30, 0), TRIB_DROP_KIND);
    assert_int_equal(parts_of(node), 0);
    assert_int_equal(give(node, &W->node, root, TRIB_RINA_PULL, FRAGMENTS - 1, 0), TRIB_DROP_NONE);
    assert_int_equal(parts_of(node), FULL - 21); /* full speed, as far as its window goes */
    free(node);
}

/* It has computed, and no PULL comes. */
static void any_rank__says_ready_after_long(void **state)
{
    void *node = start_worker(1);
    uint64_t due_ns = NOW + TRIB_RTO_FIRST_NS;

    (void)state;
    assert_int_equal(W->node.next_timeout(node), due_ns);
    W->node.on_timeout(node, due_ns);
    assert_true(W->node.next_packet(node, due_ns, &packet, &to));
    assert_int_equal(packet.tree, TRIB_RINA_READY);
    assert_int_equal(parts_of(node), 0);
    assert_int_equal(give(node, &W->node, root, TRIB_RINA_PULL, FRAGMENTS - 1, 0), TRIB_DROP_NONE);
    assert_int_equal(parts_of(node), FULL);
    free(node);
}

/* The others' parts are there, so the PULL was lost. */
static void an_ask__is_as_good_as_a_pull(void **state)
{
    void *node = start_worker(1);
    struct trib_packet ask = {.kind = TRIB_ASK, .sequence = 2, .communicator = 7, .boot = BOOT};

    (void)state;
    assert_int_equal(W->node.receive(node, root, &ask, NOW), TRIB_DROP_NONE);
    assert_int_equal(parts_of(node), 3);
    free(node);
}

static void expect_ready(void *node, uint64_t now_ns)
{
    assert_true(W->node.next_packet(node, now_ns, &packet, &to));
    assert_int_equal(packet.kind, TRIB_PROBE);
    assert_int_equal(packet.tree, TRIB_RINA_READY);
    assert_int_equal(packet.sequence, FRAGMENTS);
    assert_int_equal(to.kind, TRIB_PLACE_ROOT);
    assert_false(W->node.next_packet(node, now_ns, &packet, &to));
}

static void an_agents_rank__says_ready_until_it_is_pulled(void **state)
{
    void *node = start_worker(0);
    uint64_t due_ns;

    (void)state;
    expect_ready(node, NOW);
    due_ns = W->node.next_timeout(node);
    assert_int_equal(due_ns, NOW + TRIB_RTO_FIRST_NS);
    W->node.on_timeout(node, due_ns);
    expect_ready(node, due_ns);
    assert_int_equal(W->node.next_timeout(node), due_ns + 2 * TRIB_RTO_FIRST_NS);
    W->registered(node, BOOT, 0, due_ns); /* agents may be new */
    expect_ready(node, due_ns);
    free(node);
}

/* ---- an agent ---- */

/* has_before: the sums of other racks come to it. */
static void *start_agent(bool has_before)
{
    struct trib_switch_config config = {.session = session_of(),
                                        .kernels = trib_value_kernels(),
                                        .branches = has_before ? BEFORE : 0,
                                        .children = has_before ? 2 : 1,
                                        .boot = BOOT,
                                        .has_parent = true};
    void *node = node_memory(S->size(&config));

    S->init(node, &config);
    for (uint32_t i = 0; i < config.children; i++) {
        S->join(node, i, 0);
    }
    S->learn_mark(node, 0);
    return node;
}

static void expect(void *node, enum trib_rina_message message, uint64_t sequence, struct trib_place place)
{
    assert_true(S->node.next_packet(node, NOW, &packet, &to));
    assert_int_equal(packet.tree, message);
    assert_int_equal(packet.sequence, sequence);
    assert_int_equal(to.kind, place.kind);
    assert_int_equal(to.children, place.children);
}

static void expect_nothing(void *node)
{
    assert_false(S->node.next_packet(node, NOW, &packet, &to));
}

static void give_sum(void *node, uint64_t sequence, uint16_t flags)
{
    const struct trib_packet sum = {.kind = TRIB_CONTRIBUTION,
                                    .flags = flags,
                                    .sequence = sequence,
                                    .communicator = 7,
                                    .boot = BOOT,
                                    .digest = 1,
                                    .type = TRIB_INT32,
                                    .contributors = 2,
                                    .payload_len = PAYLOAD,
                                    .payload = numbers};

    (void)S->node.receive(node, child(BEFORE), &sum, NOW);
}

/* A task follows the rank's own part and the sum of the racks before. Each such sum is acknowledged, with its mark. */
static void an_agent__asks_for_what_is_here(void **state)
{
    void *node = start_agent(true);

    (void)state;
    assert_int_equal(give(node, &S->node, child(1), TRIB_RINA_READY, FRAGMENTS, 0), TRIB_DROP_NONE);
    expect_nothing(node);
    give_sum(node, 0, 0);
    expect(node, TRIB_RINA_ACK, 0, child(BEFORE));
    assert_int_equal(packet.bitmap, 0);
    expect(node, TRIB_RINA_TASK, 0, parent);
    give_sum(node, 2, TRIB_FLAG_ECN); /* 1 is late */
    expect(node, TRIB_RINA_ACK, 2, child(BEFORE));
    assert_int_equal(packet.bitmap, TRIB_RINA_MARKED);
    assert_int_equal(give(node, &S->node, parent, TRIB_RINA_ACK, 0, 0), TRIB_DROP_NONE);
    expect_nothing(node);
    give_sum(node, 1, TRIB_FLAG_RESEND);
    expect(node, TRIB_RINA_ACK, 1, child(BEFORE));
    assert_int_equal(packet.bitmap, TRIB_RINA_AGAIN);
    expect(node, TRIB_RINA_TASK, 2, parent);
    give_sum(node, 1, TRIB_FLAG_RESEND); /* the ACK was lost */
    expect(node, TRIB_RINA_ACK, 1, child(BEFORE));
    assert_int_equal(packet.bitmap, 0);
    assert_int_equal(give(node, &S->node, child(1), TRIB_RINA_READY, FRAGMENTS, 0), TRIB_DROP_NONE);
    expect(node, TRIB_RINA_TASK, 2, parent); /* it was lost, or its PULL */
    assert_int_equal(give(node, &S->node, parent, TRIB_RINA_PULL, 2, 0), TRIB_DROP_NONE);
    expect(node, TRIB_RINA_PULL, 2, child(1));
    expect_nothing(node);
    assert_int_equal(give(node, &S->node, parent, TRIB_RINA_TASK, 3, 0), TRIB_DROP_SOURCE);
    free(node);
}

/* So many tasks are under way once the ACKs of `from` to `end` - 1 have come, the first with this sign. */
static uint64_t window_after(uint64_t from, uint64_t end, uint64_t sign)
{
    void *node = start_agent(false);
    uint64_t tasked = 0;

    assert_int_equal(give(node, &S->node, child(1), TRIB_RINA_READY, FRAGMENTS, 0), TRIB_DROP_NONE);
    expect(node, TRIB_RINA_TASK, FULL - 1, parent); /* it begins with full speed */
    expect_nothing(node);
    for (uint64_t sequence = 0; sequence < end; sequence++) {
        uint64_t signs = sequence == from ? sign : 0;
        assert_int_equal(give(node, &S->node, parent, TRIB_RINA_ACK, sequence, signs), TRIB_DROP_NONE);
        while (S->node.next_packet(node, NOW, &packet, &to)) {
            assert_int_equal(packet.tree, TRIB_RINA_TASK);
            tasked = packet.sequence;
        }
    }
    free(node);
    return tasked + 1 - end;
}

static void a_window__is_halved_and_grows(void **state)
{
    (void)state;
    assert_in_range(window_after(20, 64, 0), FULL - TRIB_RINA_RANGE, FULL);
    assert_in_range(window_after(20, 64, TRIB_RINA_MARKED), FULL / 2 - TRIB_RINA_RANGE, FULL / 2);
    assert_in_range(window_after(20, 64, TRIB_RINA_AGAIN), FULL / 2 - TRIB_RINA_RANGE, FULL / 2);
}

/* An ACK that was lost holds nothing back for ever: results show that the sum arrived, and so does M. */
static void results__are_acks_too(void **state)
{
    void *node = start_agent(false);

    (void)state;
    assert_int_equal(give(node, &S->node, child(1), TRIB_RINA_READY, FRAGMENTS, 0), TRIB_DROP_NONE);
    expect(node, TRIB_RINA_TASK, FULL - 1, parent);
    expect_nothing(node);
    S->join(node, 0, FULL);
    S->learn_mark(node, FULL);
    expect(node, TRIB_RINA_TASK, 2 * FULL - 1, parent);
    expect_nothing(node);
    free(node);
}

/* ---- a rack's switch ---- */

static void a_switch__pulls_from_all(void **state)
{
    struct trib_switch_config config = {.session = session_of(),
                                        .kernels = trib_value_kernels(),
                                        .branches = 1,
                                        .children = 3,
                                        .boot = BOOT,
                                        .has_parent = true};
    void *node = node_memory(S->size(&config));

    (void)state;
    S->init(node, &config);
    assert_int_equal(give(node, &S->node, child(4), TRIB_RINA_READY, FRAGMENTS, 0), TRIB_DROP_NONE);
    expect_nothing(node);
    assert_int_equal(give(node, &S->node, child(1), TRIB_RINA_TASK, 15, 0), TRIB_DROP_NONE);
    expect(node, TRIB_RINA_PULL, 15, child(7));
    expect_nothing(node);
    assert_int_equal(give(node, &S->node, child(4), TRIB_RINA_READY, FRAGMENTS, 0), TRIB_DROP_NONE);
    expect(node, TRIB_RINA_PULL, 15, child(7)); /* it was lost on the way to that rank */
    expect_nothing(node);
    assert_int_equal(give(node, &S->node, child(2), TRIB_RINA_TASK, 31, 0), TRIB_DROP_SOURCE); /* the agent alone */
    assert_int_equal(give(node, &S->node, parent, TRIB_RINA_READY, 31, 0), TRIB_DROP_SOURCE);
    assert_int_equal(give(node, &S->node, parent, TRIB_RINA_ACK, 3, TRIB_RINA_MARKED), TRIB_DROP_NONE);
    expect(node, TRIB_RINA_ACK, 3, child(1));
    assert_int_equal(packet.bitmap, TRIB_RINA_MARKED);
    expect_nothing(node);
    free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank__sends_what_was_pulled),
        cmocka_unit_test(any_rank__says_ready_after_long),
        cmocka_unit_test(an_ask__is_as_good_as_a_pull),
        cmocka_unit_test(an_agents_rank__says_ready_until_it_is_pulled),
        cmocka_unit_test(an_agent__asks_for_what_is_here),
        cmocka_unit_test(a_window__is_halved_and_grows),
        cmocka_unit_test(results__are_acks_too),
        cmocka_unit_test(a_switch__pulls_from_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
