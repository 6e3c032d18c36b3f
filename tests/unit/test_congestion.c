/* SPDX-License-Identifier: Apache-2.0 */
/* test_congestion.c: the congestion window of a tree (PANAMA: Gebara et al., MLSys'21, figure 5), with the paper's
 * numbers, and where its text freezes; and when the window of a flow falls and grows. Flows with their windows:
 * test_flow.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/congestion.h"
#include "core/prng.h"

#define ONE TRIB_CONGESTION_ONE

/* So many results, the first `marked` of which are, with all under way that the window admits. */
static void results(struct trib_congestion_tree *c, uint32_t count, uint32_t marked)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t window = trib_congestion_tree_fragments(c);
        struct trib_congestion_sign sign = {
            .in_flight = window, .allowed = window, .is_marked = i < marked, .is_full = true};
        trib_congestion_tree_result(c, &sign);
    }
}

static uint32_t fragments(const struct trib_congestion_tree *c)
{
    return trib_congestion_tree_fragments(c);
}

/* cwnd 2, ssthresh 64, alpha 1: doubled with each window of results up to 64, then one more each. */
static void congestion__slow_start_goes_from_2_to_64(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 1000);
    assert_int_equal(c.window, 2 * ONE);
    assert_int_equal(c.threshold, 64 * ONE);
    assert_int_equal(c.alpha, ONE);
    for (uint32_t window = 2; window < 64; window *= 2) {
        results(&c, window, 0);
        assert_int_equal(c.window, 2 * window * ONE);
        assert_int_equal(c.results, 0); /* and an epoch has ended */
    }
    for (uint32_t window = 64; window < 70; window++) {
        results(&c, window, 0);
        assert_in_range(c.window, (window + 1) * ONE - ONE / 10, (window + 1) * ONE);
    }
}

static void congestion__a_mark_cuts_by_half_of_the_share_so_far(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 1000);
    results(&c, 62, 0);
    /* Five epochs without a mark: alpha = (15/16)^5, rounded down five times. */
    uint32_t alpha = ONE;
    for (int i = 0; i < 5; i++) {
        alpha -= alpha / 16;
    }
    assert_int_equal(c.alpha, alpha);
    results(&c, 1, 1);
    assert_int_equal(c.window, 64 * ONE - 32 * alpha);
    assert_int_equal(c.threshold, c.window);
    /* What was in flight with it is of the same round: it neither cuts again nor lets the window grow. */
    uint32_t window = c.window;
    results(&c, 20, 20);
    assert_int_equal(c.window, window);
    results(&c, 43, 0);
    assert_int_equal(c.window, window);
    results(&c, 1, 0);
    assert_true(c.window > window);
}

/* As the paper of ATP has it: the first mark of a round halves the window, whatever the share so far. */
static void congestion__with_aimd_a_mark_halves(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 1000);
    results(&c, 62, 0);
    struct trib_congestion_sign sign = {.in_flight = 64, .allowed = 64, .is_marked = true, .is_aimd = true};
    trib_congestion_tree_result(&c, &sign);
    trib_congestion_tree_result(&c, &sign);
    assert_int_equal(c.window, 32 * ONE);
    assert_int_equal(c.threshold, 32 * ONE);
}

/* The share is that of an epoch: of 64 results one was marked. */
static void congestion__alpha_follows_the_share_of_an_epoch(void **state)
{
    struct trib_congestion_tree c;
    struct trib_congestion_sign sign = {.in_flight = 64, .allowed = 64};
    (void)state;

    trib_congestion_tree_init(&c, 64);
    results(&c, 62, 0);
    uint32_t alpha = c.alpha;
    for (int i = 0; i < 64; i++) {
        sign.is_marked = i == 63;
        trib_congestion_tree_result(&c, &sign);
    }
    assert_int_equal(c.alpha, alpha - alpha / 16 + ONE / 64 / 16);
}

static void congestion__the_first_mark_of_all_halves(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 1000);
    results(&c, 1, 0);
    results(&c, 1, 1);
    assert_int_equal(c.window, 3 * ONE / 2);
    assert_int_equal(c.threshold, 2 * ONE);
}

/* 1.5 is never == a number of results: the paper's text stays there for ever. */
static void congestion__a_fraction_does_not_freeze_it(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 1000);
    results(&c, 1, 0);
    results(&c, 1, 1);
    assert_int_equal(c.window, 3 * ONE / 2);
    assert_int_equal(c.epoch, 1);
    results(&c, 2, 0); /* of the three that were in flight at the mark */
    assert_int_equal(c.results, 0);
    assert_int_equal(c.window, 3 * ONE / 2);
    results(&c, 1, 0);
    assert_int_equal(c.results, 0);
    assert_int_equal(c.window, 5 * ONE / 2);
    results(&c, 300, 0);
    assert_true(fragments(&c) > 10);
}

static void congestion__the_window_is_never_below_one(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 8);
    results(&c, 1000, 1000);
    assert_int_equal(c.window, ONE);
    assert_int_equal(c.threshold, 2 * ONE);
    trib_congestion_tree_init(&c, 1);
    assert_int_equal(c.window, ONE);
    results(&c, 100, 0);
    assert_int_equal(c.window, ONE);
}

/* The cap falls below what was counted: == would never hold again. */
static void congestion__a_cap_that_falls_ends_the_epoch(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 1000);
    results(&c, 62, 0);
    results(&c, 40, 0);
    trib_congestion_tree_cap(&c, 8);
    assert_int_equal(c.window, 8 * ONE);
    results(&c, 1, 0);
    assert_int_equal(c.results, 0);
    trib_congestion_tree_cap(&c, 8); /* as with every result: what grew is taken back */
    assert_int_equal(c.window, 8 * ONE);
    assert_int_equal(c.epoch, 8);
    trib_congestion_tree_cap(&c, 500);
    assert_int_equal(c.window, 8 * ONE);
    results(&c, 8 + 16 + 32, 0);
    assert_int_equal(c.window, 64 * ONE); /* it starts slowly again, to the threshold of old */
}

static void congestion__what_rested_begins_anew(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 1000);
    results(&c, 500, 0);
    uint32_t alpha = c.alpha;
    trib_congestion_tree_rested(&c);
    assert_int_equal(c.window, 2 * ONE);
    assert_int_equal(c.threshold, 64 * ONE);
    assert_int_equal(c.alpha, alpha);
    results(&c, 2 + 1, 3);
    trib_congestion_tree_rested(&c);
    assert_in_range(c.window, ONE, 2 * ONE); /* nothing that it had lost comes back */
}

/* What does not use its window learns nothing of what a larger one would do. */
static void congestion__it_grows_only_when_full(void **state)
{
    struct trib_congestion_tree c;
    struct trib_congestion_sign sign = {.in_flight = 3, .allowed = 1000};
    (void)state;

    trib_congestion_tree_init(&c, 1000);
    results(&c, 2, 0);
    for (int i = 0; i < 100; i++) {
        trib_congestion_tree_result(&c, &sign);
        assert_int_equal(c.window, 4 * ONE);
    }
    sign.is_full = true;
    trib_congestion_tree_result(&c, &sign);
    assert_int_equal(c.window, 5 * ONE);
    sign.is_marked = true;
    trib_congestion_tree_result(&c, &sign);
    assert_true(c.window < 5 * ONE); /* marks count all the same */
}

/* Where something else holds it to less, an epoch is that long. */
static void congestion__an_epoch_is_what_is_allowed(void **state)
{
    struct trib_congestion_tree c;
    struct trib_congestion_sign sign = {.in_flight = 5, .allowed = 5};
    (void)state;

    trib_congestion_tree_init(&c, 1000);
    results(&c, 62, 0);
    uint32_t alpha = c.alpha;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(c.alpha, alpha);
        trib_congestion_tree_result(&c, &sign);
    }
    assert_true(c.alpha < alpha);
}

/* Drops without marks: alpha knows nothing of them. */
static void congestion__a_loss_halves_once_in_a_window(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 128);
    c.window = c.threshold = 128 * ONE;
    trib_congestion_tree_lost(&c, 128);
    assert_int_equal(c.window, 64 * ONE);
    assert_int_equal(c.threshold, 64 * ONE);
    struct trib_congestion_sign sign = {.in_flight = 63, .allowed = 64};
    for (int i = 0; i < 127; i++) {
        trib_congestion_tree_lost(&c, 63);
        sign.is_marked = i % 5 == 0;
        trib_congestion_tree_result(&c, &sign);
        assert_int_equal(c.window, 64 * ONE); /* the same 128 that were under way */
    }
    sign.is_marked = false;
    trib_congestion_tree_result(&c, &sign);
    trib_congestion_tree_lost(&c, 64);
    assert_int_equal(c.window, 32 * ONE);
}

/* A smaller window would find no loss but by a timer. */
static void congestion__losses_leave_a_window_that_finds_losses(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 64);
    results(&c, 62, 0);
    for (int i = 0; i < 10; i++) {
        trib_congestion_tree_lost(&c, 64);
        results(&c, 64, 0);
        assert_in_range(c.window, TRIB_TREE_LOST_LEAST * ONE, 64 * ONE);
    }
    c.window = (TRIB_TREE_LOST_LEAST + 1) * ONE;
    c.recover = 0;
    trib_congestion_tree_lost(&c, TRIB_TREE_LOST_LEAST + 1);
    assert_int_equal(c.window, TRIB_TREE_LOST_LEAST * ONE);
    assert_int_equal(c.threshold, TRIB_TREE_LOST_LEAST * ONE);
    results(&c, TRIB_TREE_LOST_LEAST + 1, 1);
    results(&c, 1, 1); /* marks, which are of this way and no accident, go on */
    assert_true(fragments(&c) < TRIB_TREE_LOST_LEAST);
}

/* One that is as small, from the start or by marks, neither falls nor stops to grow. */
static void congestion__a_loss_is_nothing_to_a_small_window(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 64);
    for (uint32_t window = 2; window < TRIB_TREE_LOST_LEAST; window++) {
        trib_congestion_tree_lost(&c, window);
        assert_int_equal(c.window, window * ONE);
        assert_int_equal(c.threshold, TRIB_TREE_THRESHOLD * ONE);
        results(&c, 1, 0);
        assert_int_equal(c.window, (window + 1) * ONE);
    }
}

static void congestion__never_above_the_most(void **state)
{
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 100);
    results(&c, 100000, 0);
    assert_int_equal(c.window, 100 * ONE);
    trib_congestion_tree_init(&c, UINT16_MAX);
    c.window = UINT16_MAX * ONE - 1;
    c.threshold = UINT32_MAX;
    results(&c, 70000, 0);
    assert_int_equal(c.window, UINT16_MAX * ONE);
}

static void congestion__it_moves_whatever_comes(void **state)
{
    struct trib_prng prng = {.state = 20261122};
    struct trib_congestion_tree c;
    (void)state;

    trib_congestion_tree_init(&c, 300);
    for (int i = 0; i < 200000; i++) {
        struct trib_congestion_sign sign = {
            .in_flight = (uint32_t)trib_prng_below(&prng, 300),
            .allowed = 1 + (uint32_t)trib_prng_below(&prng, 300),
            .is_marked = trib_prng_below(&prng, 50) == 0,
            .is_full = trib_prng_below(&prng, 4) != 0,
        };
        trib_congestion_tree_result(&c, &sign);
        if (trib_prng_below(&prng, 1000) == 0) {
            trib_congestion_tree_lost(&c, (uint32_t)trib_prng_below(&prng, 300));
        }
        if (trib_prng_below(&prng, 100) == 0) {
            trib_congestion_tree_cap(&c, 1 + (uint32_t)trib_prng_below(&prng, 300));
        }
        assert_in_range(c.window, ONE, 300 * ONE);
        assert_true(c.alpha <= ONE && c.threshold >= 2 * ONE);
        assert_true(c.epoch >= 1 && c.epoch <= 300 && c.marked <= c.results);
    }
}

/* ---- windows of flows ---- */

/* One more fragment is acknowledged, of a flow that has its window under way. */
static bool acked(struct trib_congestion_window *c, uint64_t *lowest, bool is_marked)
{
    ++*lowest;
    return trib_congestion_acked(c, &(struct trib_congestion_news){.lowest = *lowest,
                                                                   .next = *lowest + trib_congestion_fragments(c),
                                                                   .acked = 1,
                                                                   .marked = is_marked,
                                                                   .is_full = true});
}

/* A flow whose window is this one, in congestion avoidance. */
static struct trib_congestion_window flow_at(uint32_t window, uint32_t alpha)
{
    struct trib_congestion_window c;

    trib_congestion_window_init(&c, TRIB_CONGESTION_DCTCP, 1000);
    c.window = c.threshold = window;
    c.alpha = alpha;
    c.round_end = UINT64_MAX; /* alpha stays */
    return c;
}

/* Linux (state CWR): after a cut nothing grows, whatever comes without a mark, until more than what was under way is
 * acknowledged. */
static void flow__does_not_grow_in_the_window_after_a_mark(void **state)
{
    struct trib_congestion_window c = flow_at(10 * ONE, ONE / 5 + 1);
    uint64_t lowest = 100;

    (void)state;
    assert_true(acked(&c, &lowest, true));
    assert_int_equal(c.window, 9 * ONE);
    uint64_t until = c.recover;
    while (lowest < until) {
        assert_false(acked(&c, &lowest, lowest % 2 == 0));
        assert_int_equal(c.window, 9 * ONE);
    }
    assert_false(acked(&c, &lowest, false));
    assert_int_equal(c.window, 9 * ONE + ONE / 9);
    assert_true(acked(&c, &lowest, true)); /* and marks count again */
}

/* RFC 6675: nor while losses are repaired; after a timeout it starts slowly at once. */
static void flow__does_not_grow_while_it_repairs(void **state)
{
    struct trib_congestion_window c = flow_at(8 * ONE, ONE);
    uint64_t lowest = 50;

    (void)state;
    assert_true(trib_congestion_lost(&c, 50, 58));
    assert_int_equal(c.window, 4 * ONE);
    while (lowest < 58) {
        assert_false(acked(&c, &lowest, false));
        assert_int_equal(c.window, 4 * ONE);
    }
    assert_false(acked(&c, &lowest, false));
    assert_true(c.window > 4 * ONE);
    trib_congestion_timed_out(&c, 70);
    assert_int_equal(c.window, ONE);
    assert_false(acked(&c, &lowest, false));
    assert_int_equal(c.window, 2 * ONE);
}

/* tcp_dctcp.c: cwnd - (cwnd * alpha / 2), rounded down to packets: a small share of a small window is nothing. */
static void flow__loses_whole_fragments(void **state)
{
    static const struct {
        uint32_t window, alpha, left;
    } cases[] = {
        {10 * ONE, ONE, 5}, {9 * ONE + ONE / 2, ONE / 4, 8}, {7 * ONE + ONE / 2, ONE / 4, 7}, {2 * ONE, ONE, 1},
        {ONE, ONE, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_congestion_window c = flow_at(cases[i].window, cases[i].alpha);
        uint64_t lowest = 100;
        assert_true(acked(&c, &lowest, true));
        assert_int_equal(c.window, cases[i].left * ONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(congestion__slow_start_goes_from_2_to_64),
        cmocka_unit_test(congestion__a_mark_cuts_by_half_of_the_share_so_far),
        cmocka_unit_test(congestion__with_aimd_a_mark_halves),
        cmocka_unit_test(congestion__alpha_follows_the_share_of_an_epoch),
        cmocka_unit_test(congestion__the_first_mark_of_all_halves),
        cmocka_unit_test(congestion__a_fraction_does_not_freeze_it),
        cmocka_unit_test(congestion__the_window_is_never_below_one),
        cmocka_unit_test(congestion__a_cap_that_falls_ends_the_epoch),
        cmocka_unit_test(congestion__what_rested_begins_anew),
        cmocka_unit_test(congestion__it_grows_only_when_full),
        cmocka_unit_test(congestion__an_epoch_is_what_is_allowed),
        cmocka_unit_test(congestion__a_loss_halves_once_in_a_window),
        cmocka_unit_test(congestion__losses_leave_a_window_that_finds_losses),
        cmocka_unit_test(congestion__a_loss_is_nothing_to_a_small_window),
        cmocka_unit_test(congestion__never_above_the_most),
        cmocka_unit_test(congestion__it_moves_whatever_comes),
        cmocka_unit_test(flow__does_not_grow_in_the_window_after_a_mark),
        cmocka_unit_test(flow__does_not_grow_while_it_repairs),
        cmocka_unit_test(flow__loses_whole_fragments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
