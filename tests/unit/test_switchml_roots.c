/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_roots.c: several roots, one of which is slow or stands still: the others go on as far as the window
 * lets them, which is P fragments of each beyond the lowest that some rank has not finished. */
#include "trees_harness.h"

#include "core/prng.h"
#include "schemes/switchml/switchml.h"

static const struct trib_session_config three = {.ranks = 2, .roots = 3, .train = 2, .slots = 16, .generation = 1};

static uint64_t contributions(const struct trees *t, uint32_t root)
{
    return t->sent[root][TRIB_CONTRIBUTION] / t->session.ranks;
}

/* The rule s < M + P counts per root: so far may roots drift apart, and no further. */
static void roots__one_that_stands_still_holds_the_others_after_P(void **state)
{
    struct trees t;
    (void)state;

    trees_start(&t, &trib_switchml, &three, 16);
    t.is_stopped[1] = true;
    trees_submit(&t, 300, 1);
    trees_run(&t, 0, 200);
    /* M is 2, the first of root 1: root 0 has two below it, and the others none. */
    assert_int_equal(contributions(&t, 0), 2 + 16);
    assert_int_equal(contributions(&t, 1), 16);
    assert_int_equal(contributions(&t, 2), 16);
    assert_true(t.is_ordered);
    t.is_stopped[1] = false;
    trees_run(&t, 1, 500);
    trees_check(&t);
    assert_int_equal(contributions(&t, 0) + contributions(&t, 1) + contributions(&t, 2), 300);
    trees_stop(&t);
}

/* In a window that is smaller than P, what waits at one root keeps nothing of another one's. */
static void roots__one_that_stands_still_takes_no_window_of_the_others(void **state)
{
    struct trees t;
    (void)state;

    trees_start(&t, &trib_switchml, &three, 4);
    t.is_stopped[0] = true;
    trees_submit(&t, 300, 1);
    trees_run(&t, 0, 200);
    assert_int_equal(contributions(&t, 0), 4);
    assert_int_equal(contributions(&t, 1), 16);
    assert_int_equal(contributions(&t, 2), 16);
    t.is_stopped[0] = false;
    trees_run(&t, 1, 500);
    trees_check(&t);
    trees_stop(&t);
}

/* Operations that have no fragment for some root, and such as end while an older one waits. */
static void roots__operations_end_out_of_order(void **state)
{
    struct trees t;
    (void)state;

    trees_start(&t, &trib_switchml, &three, 16);
    t.is_stopped[1] = true;
    trees_submit(&t, 8, 8); /* one block each: 0 1 | 2 3 | 4 5 | 6 7 are roots 0, 1, 2, 0 */
    trees_run(&t, 0, 50);
    assert_int_equal(t.done[0], 6);
    assert_int_equal(t.done[1], 6);
    t.is_stopped[1] = false;
    trees_run(&t, 8, 200);
    trees_check(&t);
    trees_stop(&t);
}

/* Exponents are agreed ahead, over all roots: the lookahead is as far as one gets without another. */
static void roots__exponents_hold_them_to_the_lookahead(void **state)
{
    struct trib_session_config session = three;
    struct trees t;
    (void)state;

    session.wire = TRIB_INT32;
    session.lookahead = 8;
    trees_start(&t, &trib_switchml, &session, 16);
    t.is_stopped[2] = true;
    trees_submit(&t, 120, 1);
    trees_run(&t, 0, 100);
    assert_int_equal(contributions(&t, 0), 4); /* 12 carries block 4, whose exponent went to root 2 */
    assert_int_equal(contributions(&t, 1), 6); /* 20 carries block 12 */
    t.is_stopped[2] = false;
    trees_run(&t, 1, 1000);
    trees_check(&t);
    trees_stop(&t);
}

/* While a slow root moves the mark fragment by fragment, a fast one whose window is closed is asked for M a few times
 * in a round trip at most: as often as an answer comes. */
static void roots__a_fast_one_that_waits_is_not_asked_for_ever(void **state)
{
    struct trib_session_config session = {.ranks = 2, .roots = 2, .train = 1, .slots = 16, .generation = 1};
    struct trees t;
    (void)state;

    trees_start(&t, &trib_switchml, &session, 16);
    trees_submit(&t, 400, 1);
    trees_run(&t, 0, 1);
    for (int round = 0; round < 4000 && t.done[0] + t.done[1] < 2; round++) {
        t.is_stopped[1] = round % 20 != 0 && round % 20 != 1; /* a round trip in ten */
        (void)trees_round(&t);
    }
    assert_int_equal(t.done[0] + t.done[1], 2);
    trees_check(&t);
    assert_true(t.sent[0][TRIB_PROBE] <= contributions(&t, 0)); /* of both ranks: half as many as fragments */
    trees_stop(&t);
}

/* One slot each and long trains: while a root goes through its train the others wait, and need not hear of each step. */
static void roots__who_waits_hears_of_its_own_only(void **state)
{
    struct trib_session_config session = {.ranks = 2, .roots = 3, .train = 17, .slots = 1, .generation = 1};
    struct trees t;
    (void)state;

    trees_start(&t, &trib_switchml, &session, 1);
    trees_submit(&t, 510, 1);
    trees_run(&t, 1, 20000);
    trees_check(&t);
    uint64_t probes = t.sent[0][TRIB_PROBE] + t.sent[1][TRIB_PROBE] + t.sent[2][TRIB_PROBE];
    assert_in_range(probes, 0, 2 * 510 + 2 * 510 / 10); /* each rank, for each fragment, and a few for M */
    trees_stop(&t);
}

/* Stalled on the root that stands still, whatever else goes on. */
static void roots__a_stall_names_what_waits_longest(void **state)
{
    struct trees t;
    (void)state;

    trees_start(&t, &trib_switchml, &three, 16);
    t.is_stopped[1] = true;
    trees_submit(&t, 300, 1);
    trees_run(&t, 0, 20000); /* 400 ms */
    assert_int_equal(t.stall.kind, TRIB_EVENT_STALL);
    assert_int_equal(t.stall.sequence, 2);
    trees_stop(&t);
}

/* A rank that has lost the switch while roots were apart has everything asked for, at all of them. */
static void roots__all_that_is_in_flight_is_asked_for_after_a_restart(void **state)
{
    struct trees t;
    uint64_t probes = 0;
    (void)state;

    trees_start(&t, &trib_switchml, &three, 8);
    t.is_stopped[1] = true;
    trees_submit(&t, 300, 1);
    trees_run(&t, 0, 100);
    uint32_t in_flight = 0;
    for (uint32_t root = 0; root < 3; root++) {
        in_flight += trib_switchml.worker->in_flight(t.workers[0], root);
    }
    assert_int_equal(in_flight, 8);
    trib_switchml.worker->suspend(t.workers[0]);
    trib_switchml.worker->registered(t.workers[0], TREES_BOOT + 1, 0, t.now_ns);
    for (struct trib_packet packet; true; probes++) {
        struct trib_place to;
        if (!trib_switchml.worker->node.next_packet(t.workers[0], t.now_ns, &packet, &to) ||
            packet.kind != TRIB_PROBE) {
            break;
        }
        assert_int_equal(to.index, 1);
    }
    assert_int_equal(probes, 8);
    trees_stop(&t);
}

/* Roots that stop and go on at random, with losses: right sums, in order at each root. */
static void roots__stop_and_go(void **state)
{
    struct trib_prng prng = {.state = 20261122};
    (void)state;

    for (int trial = 0; trial < 60; trial++) {
        struct trib_session_config session = {
            .ranks = 1 + (uint32_t)trib_prng_below(&prng, 4),
            .roots = 2 + (uint32_t)trib_prng_below(&prng, 3),
            .train = 1 + (uint32_t)trib_prng_below(&prng, 5),
            .slots = 2 + (uint32_t)trib_prng_below(&prng, 20),
            .first = trib_prng_below(&prng, 1000),
            .generation = 1,
            .wire = trib_prng_below(&prng, 3) == 0 ? TRIB_INT32 : TRIB_FLOAT32,
        };
        struct trees t;
        for (uint32_t root = 0; root < session.roots; root++) {
            session.weight[root] = (uint8_t)trib_prng_below(&prng, 4);
        }
        trees_start(&t, &trib_switchml, &session, 1 + (uint32_t)trib_prng_below(&prng, session.slots));
        uint32_t operations = 1 + (uint32_t)trib_prng_below(&prng, 8);
        trees_submit(&t, operations * (1 + trib_prng_below(&prng, 40)), operations);
        trees_run(&t, 0, 1);
        for (int i = 0; i < 300; i++) {
            t.is_stopped[trib_prng_below(&prng, session.roots)] = trib_prng_below(&prng, 2) == 0;
            t.lose = trib_prng_below(&prng, 5) == 0;
            t.lose_root = (uint32_t)trib_prng_below(&prng, session.roots);
            t.lose_kind = (enum trib_kind)(1 + trib_prng_below(&prng, TRIB_HELD));
            (void)trees_round(&t);
        }
        memset(t.is_stopped, 0, sizeof t.is_stopped);
        trees_run(&t, operations, 200000);
        trees_check(&t);
        assert_true(t.is_ordered);
        trees_stop(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots__one_that_stands_still_holds_the_others_after_P),
        cmocka_unit_test(roots__one_that_stands_still_takes_no_window_of_the_others),
        cmocka_unit_test(roots__operations_end_out_of_order),
        cmocka_unit_test(roots__exponents_hold_them_to_the_lookahead),
        cmocka_unit_test(roots__a_fast_one_that_waits_is_not_asked_for_ever),
        cmocka_unit_test(roots__who_waits_hears_of_its_own_only),
        cmocka_unit_test(roots__a_stall_names_what_waits_longest),
        cmocka_unit_test(roots__all_that_is_in_flight_is_asked_for_after_a_restart),
        cmocka_unit_test(roots__stop_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
