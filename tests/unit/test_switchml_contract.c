/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_contract.c: what a driver must not ask of a node: settings that no control plane may give out, and an
 * operation that is none. A node that was opened with one of them would make wrong sums or write beyond its memory, so
 * it must stop the program first. The hook of core/assert.h is this test's own, and comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/assert.h"
#include "schemes/switchml/switchml.h"

#define ROOM ((size_t)1 << 20)

static jmp_buf escape;

_Noreturn void trib_assert_failed(const char *expr, const char *file, int line)
{
    (void)expr;
    (void)file;
    (void)line;
    longjmp(escape, 1);
}

static const struct trib_session_config session = {
    .communicator = 1,
    .ranks = 4,
    .roots = 2,
    .train = 1,
    .slots = 4,
    .payload = 64,
    .generation = 1,
    .wire = TRIB_FLOAT32,
    .lookahead = 2,
};

/* Room for any node here, also for one whose settings are wrong by a little. */
static void *room(void)
{
    static _Alignas(64) uint8_t memory[ROOM];

    return memory;
}

static bool is_taken_by_switch(const struct trib_switch_config *config)
{
    if (setjmp(escape) != 0) {
        return false;
    }
    trib_switchml.switch_node->init(room(), config);
    return true;
}

static bool is_taken_by_worker(const struct trib_worker_config *config)
{
    if (setjmp(escape) != 0) {
        return false;
    }
    trib_switchml.worker->init(room(), config);
    return true;
}

static struct trib_switch_config right_switch(void)
{
    return (struct trib_switch_config){
        .session = session, .kernels = trib_value_kernels(), .children = 4, .root = 1, .boot = 7};
}

static struct trib_worker_config right_worker(void)
{
    return (struct trib_worker_config){
        .session = session, .kernels = trib_value_kernels(), .rank = 3, .window = 4, .operations = 1, .stall_ns = 1};
}

/* One thing at a time is wrong. */
#define REFUSES(taken_by, right, what)        \
    do {                                      \
        __typeof__(right()) config = right(); \
        assert_true(taken_by(&config));       \
        config.what;                          \
        assert_false(taken_by(&config));      \
    } while (0)
#define SWITCH_REFUSES(what) REFUSES(is_taken_by_switch, right_switch, what)
#define WORKER_REFUSES(what) REFUSES(is_taken_by_worker, right_worker, what)

static void switch__refuses_wrong_settings(void **state)
{
    (void)state;
    SWITCH_REFUSES(session.ranks = 0);
    SWITCH_REFUSES(session.ranks = TRIB_SESSION_RANKS_MAX + 1);
    SWITCH_REFUSES(root = 2);
    SWITCH_REFUSES(session.roots = TRIB_ROOTS_MAX + 1);
    SWITCH_REFUSES(children = 0);
    SWITCH_REFUSES(children = TRIB_CHILDREN_MAX + 1);
    SWITCH_REFUSES(session.ranks = 3); /* fewer than children */
    SWITCH_REFUSES(session.ranks = 5); /* somebody is behind nobody */
    SWITCH_REFUSES(branches = 1 << 4); /* a branch that is no child */
    SWITCH_REFUSES(spare = 5);         /* more than it has ranks */
    SWITCH_REFUSES(session.train = 0);
    SWITCH_REFUSES(session.slots = 0);
    SWITCH_REFUSES(boot = 0);
    SWITCH_REFUSES(session.payload = TRIB_PAYLOAD_MAX + TRIB_PAYLOAD_ALIGN);
    SWITCH_REFUSES(session.payload = 65);
    SWITCH_REFUSES(session.payload = 0);
}

static void switch__takes_less_children_than_ranks_in_a_tree(void **state)
{
    struct trib_switch_config config = right_switch();

    (void)state;
    config.children = 3;
    assert_false(is_taken_by_switch(&config));
    config.branches = 1;
    config.spare = 2;
    assert_true(is_taken_by_switch(&config));
    config.spare = 3; /* what is below a branch is not left out here */
    assert_false(is_taken_by_switch(&config));
    config.spare = 0;
    config.branches = 0;
    config.has_parent = true;
    assert_true(is_taken_by_switch(&config));
}

static void worker__refuses_wrong_settings(void **state)
{
    (void)state;
    WORKER_REFUSES(session.ranks = 0);
    WORKER_REFUSES(session.ranks = TRIB_SESSION_RANKS_MAX + 1);
    WORKER_REFUSES(rank = 4);
    WORKER_REFUSES(session.roots = 0);
    WORKER_REFUSES(session.roots = TRIB_ROOTS_MAX + 1);
    WORKER_REFUSES(session.train = 0);
    WORKER_REFUSES(session.payload = 0);
    WORKER_REFUSES(session.payload = TRIB_PAYLOAD_MAX + TRIB_PAYLOAD_ALIGN);
    WORKER_REFUSES(session.payload = 65);
    WORKER_REFUSES(window = 0);
    WORKER_REFUSES(window = 5);
    WORKER_REFUSES(operations = 0);
    WORKER_REFUSES(session.lookahead = 0);
}

static bool is_submitted(enum trib_collective collective)
{
    const struct trib_operation operation = {.collective = collective};

    if (setjmp(escape) != 0) {
        return false;
    }
    return trib_switchml.worker->submit(room(), &operation, 0);
}

static void submit__refuses_what_is_no_collective(void **state)
{
    struct trib_worker_config config = right_worker();

    (void)state;
    assert_true(is_taken_by_worker(&config));
    assert_false(is_submitted(TRIB_COLLECTIVE_NONE));
    assert_false(is_submitted(TRIB_COLLECTIVE_COUNT));
    assert_true(is_submitted(TRIB_BARRIER));
}

/* A packet from nowhere, or from what this node does not have, is dropped: the driver's maps may be of another time. */
static void receive__from_a_place_that_is_not_there(void **state)
{
    const struct trib_packet packet = {
        .kind = TRIB_PROBE, .communicator = 1, .generation = 1, .boot = 7, .sequence = 1, .mark = 0};
    const struct trib_place nowhere[] = {
        {.kind = TRIB_PLACE_NONE},
        {.kind = TRIB_PLACE_CHILDREN, .children = 0},
        {.kind = TRIB_PLACE_PARENT},
        {.kind = TRIB_PLACE_ROOT, .index = 2},
    };
    struct trib_switch_config of_switch = right_switch();
    struct trib_worker_config of_worker = right_worker();

    (void)state;
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        assert_true(is_taken_by_switch(&of_switch));
        assert_int_equal(trib_switchml.switch_node->node.receive(room(), nowhere[i], &packet, 1), TRIB_DROP_SOURCE);
        assert_true(is_taken_by_worker(&of_worker));
        assert_int_equal(trib_switchml.worker->node.receive(room(), nowhere[i], &packet, 1), TRIB_DROP_SOURCE);
    }
}

/* What comes soon is fetched, whatever it is, and nothing else is done: drivers say so of packets that no node has
 * looked at yet. */
static void soon__changes_nothing(void **state)
{
    static const uint64_t sequences[] = {0, 1, 63, TRIB_SEQUENCE_MAX, UINT64_MAX};
    const struct trib_place places[] = {
        {.kind = TRIB_PLACE_NONE},
        {.kind = TRIB_PLACE_CHILDREN, .children = 0},
        {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << 63},
        {.kind = TRIB_PLACE_PARENT},
        {.kind = TRIB_PLACE_ROOT, .index = 2},
    };
    struct trib_switch_config of_switch = right_switch();
    struct trib_worker_config of_worker = right_worker();
    static char before[ROOM];

    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places * 10; i++) {
        struct trib_packet packet = {.kind = TRIB_PROBE, .sequence = sequences[i / 2 % 5], .mark = UINT64_MAX};
        assert_true(i % 2 != 0 ? is_taken_by_switch(&of_switch) : is_taken_by_worker(&of_worker));
        memcpy(before, room(), ROOM);
        if (i % 2 != 0) {
            trib_switchml.switch_node->node.soon(room(), places[i / 10], &packet);
        } else {
            trib_switchml.worker->node.soon(room(), places[i / 10], &packet);
        }
        assert_memory_equal(before, room(), ROOM);
    }
}

/* Who asks what is missing may ask of any sequence. */
static void missing_on__sequences_that_are_not_here(void **state)
{
    struct trib_switch_config config = right_switch();

    (void)state;
    assert_true(is_taken_by_switch(&config));
    for (uint32_t child = 0; child < 4; child++) {
        trib_switchml.switch_node->join(room(), child, 3);
    }
    assert_int_equal(trib_switchml.switch_node->missing_on(room(), 3), 0xf);
    assert_int_equal(trib_switchml.switch_node->missing_on(room(), 1), 0);
    assert_int_equal(trib_switchml.switch_node->missing_on(room(), 4), 0);
    assert_int_equal(trib_switchml.switch_node->missing_on(room(), 1001), 0);
    assert_int_equal(trib_switchml.switch_node->missing_on(room(), TRIB_SEQUENCE_MAX + 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switch__refuses_wrong_settings),
        cmocka_unit_test(switch__takes_less_children_than_ranks_in_a_tree),
        cmocka_unit_test(worker__refuses_wrong_settings),
        cmocka_unit_test(submit__refuses_what_is_no_collective),
        cmocka_unit_test(receive__from_a_place_that_is_not_there),
        cmocka_unit_test(soon__changes_nothing),
        cmocka_unit_test(missing_on__sequences_that_are_not_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
