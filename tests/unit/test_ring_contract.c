/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_contract.c: what a driver must not ask of a ring's rank, nor a user of a flow: settings that no control
 * plane may give out, an operation that is none, sequences that are not under way. The hook of core/assert.h is this
 * test's own, and comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/assert.h"
#include "core/flow.h"
#include "schemes/ring/ring.h"

static jmp_buf escape;

_Noreturn void trib_assert_failed(const char *expr, const char *file, int line)
{
    (void)expr;
    (void)file;
    (void)line;
    longjmp(escape, 1);
}

/* Room for any node here, also for one whose settings are wrong by a little. */
static void *room(void)
{
    static _Alignas(64) uint8_t memory[4 << 20];

    return memory;
}

static struct trib_worker_config right(void)
{
    return (struct trib_worker_config){
        .session = {.communicator = 1,
                    .ranks = 4,
                    .roots = 1,
                    .train = 1,
                    .slots = 4,
                    .payload = 64,
                    .generation = 1,
                    .wire = TRIB_INT32,
                    .lookahead = 2},
        .kernels = trib_value_kernels(),
        .rank = 3,
        .window = 4,
        .operations = 1,
        .stall_ns = 1,
    };
}

static bool is_taken(const struct trib_worker_config *config)
{
    if (setjmp(escape) != 0) {
        return false;
    }
    trib_ring.worker->init(room(), config);
    return true;
}

#define REFUSES(what)                               \
    do {                                            \
        struct trib_worker_config config = right(); \
        assert_true(is_taken(&config));             \
        config.what;                                \
        assert_false(is_taken(&config));            \
    } while (0)

static void rank__refuses_wrong_settings(void **state)
{
    (void)state;
    REFUSES(session.ranks = 0);
    REFUSES(session.ranks = TRIB_SESSION_RANKS_MAX + 1);
    REFUSES(rank = 4);
    REFUSES(session.payload = 0);
    REFUSES(session.payload = TRIB_PAYLOAD_MAX + TRIB_PAYLOAD_ALIGN);
    REFUSES(session.payload = 96);
    REFUSES(session.slots = 0);
    REFUSES(window = 0);
    REFUSES(operations = 0);
}

static bool is_taken_in_groups(const struct trib_worker_config *config)
{
    if (setjmp(escape) != 0) {
        return false;
    }
    trib_hybrid.worker->init(room(), config);
    return true;
}

/* But a ring takes any, and has one. */
static void rank__refuses_groups_that_are_none(void **state)
{
    struct trib_worker_config config = right();

    (void)state;
    assert_false(is_taken_in_groups(&config)); /* of 0 */
    config.session.group = 2;
    assert_true(is_taken_in_groups(&config));
    config.session.group = 3;
    assert_false(is_taken_in_groups(&config));
    assert_true(is_taken(&config));
}

/* A window is at most what two packets for each slot need, and what a receiver's bits can say. */
static void rank__takes_any_window(void **state)
{
    struct trib_worker_config config = right();

    (void)state;
    config.window = 100;
    assert_true(is_taken(&config));
    config.session.slots = config.window = 5000;
    assert_true(trib_ring.worker->size(&config) <= 4 << 20);
    assert_true(is_taken(&config));
}

static bool is_submitted(const struct trib_operation *operation)
{
    if (setjmp(escape) != 0) {
        return false;
    }
    return trib_ring.worker->submit(room(), operation, 0);
}

static void rank__refuses_what_is_no_operation(void **state)
{
    struct trib_worker_config config = right();
    struct trib_operation operation = {.collective = TRIB_COLLECTIVE_NONE};

    (void)state;
    assert_true(is_taken(&config));
    assert_false(is_submitted(&operation));
    operation.collective = TRIB_COLLECTIVE_COUNT;
    assert_false(is_submitted(&operation));
    operation = (struct trib_operation){.collective = TRIB_BROADCAST, .root = config.session.ranks};
    assert_false(is_submitted(&operation));
    operation.root = 0;
    config.session.first = TRIB_SEQUENCE_MAX;
    assert_true(is_taken(&config));
    operation.collective = TRIB_BARRIER;
    assert_false(is_submitted(&operation)); /* the stream has no room for it */
}

static void ignore(void *user, uint64_t label)
{
    (void)user;
    (void)label;
}

enum wrong { WRONG_NOTHING, WRONG_WINDOW, WRONG_NO_WINDOW, WRONG_SETTLED, WRONG_UNSENT, WRONG_FULL, WRONG_TAKEN };

/* A flow with two fragments under way, used as it must not be. */
static bool is_right(enum wrong wrong)
{
    struct trib_flow_config config = {.limit = 100, .window = 2, .policy = TRIB_CONGESTION_FIXED};
    struct trib_flow_sender *s = room();
    struct trib_flow_receiver *r = (void *)((uint8_t *)room() + (1 << 20));
    void *aside = (uint8_t *)room() + (2 << 20);
    struct trib_flow_counters counters = {0};
    struct trib_packet packet;

    if (setjmp(escape) != 0) {
        return false;
    }
    config.window = wrong == WRONG_WINDOW ? TRIB_FLOW_WINDOW_MAX + 1 : wrong == WRONG_NO_WINDOW ? 0 : 2;
    trib_flow_receiver_init(r, &config);
    trib_flow_sender_init(s, aside, &config);
    (void)trib_flow_send(s, 0, 0, &packet);
    (void)trib_flow_send(s, 1, 0, &packet);
    if (wrong == WRONG_SETTLED || wrong == WRONG_UNSENT) {
        trib_flow_settle(s, 0, 0);
        trib_flow_settle(s, wrong == WRONG_SETTLED ? 0 : 2, 0);
    } else if (wrong == WRONG_FULL) {
        (void)trib_flow_send(s, 2, 0, &packet);
    }
    trib_flow_take(r, wrong == WRONG_TAKEN ? 2 : 1, &counters);
    if (!trib_flow_receiver_next(r, 100, &packet, &counters)) {
        return false;
    }
    return trib_flow_sender_receive(s, &packet, 0, ignore, NULL) == TRIB_DROP_NONE;
}

static void flow__refuses_what_it_does_not_hold(void **state)
{
    (void)state;
    assert_true(is_right(WRONG_NOTHING));
    for (enum wrong wrong = WRONG_WINDOW; wrong <= WRONG_TAKEN; wrong++) {
        assert_false(is_right(wrong));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank__refuses_wrong_settings),
        cmocka_unit_test(rank__refuses_groups_that_are_none),
        cmocka_unit_test(rank__takes_any_window),
        cmocka_unit_test(rank__refuses_what_is_no_operation),
        cmocka_unit_test(flow__refuses_what_it_does_not_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
