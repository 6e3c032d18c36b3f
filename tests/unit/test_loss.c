/* SPDX-License-Identifier: Apache-2.0 */
/* test_loss.c: the timeout follows the samples, stays within its limits, and doubles. congestion.h, which is as small,
 * is here too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/congestion.h"
#include "core/loss.h"
#include "core/prng.h"

#define MS UINT64_C(1000000)

static void timeout__is_the_first_one_before_a_sample(void **state)
{
    struct trib_loss loss = {0};

    (void)state;
    assert_int_equal(trib_loss_timeout(&loss, 0), TRIB_RTO_FIRST_NS);
    assert_int_equal(trib_loss_timeout(&loss, 1), 2 * TRIB_RTO_FIRST_NS);
}

static void timeout__is_never_below_the_smallest(void **state)
{
    struct trib_loss loss = {0};

    (void)state;
    for (int i = 0; i < 100; i++) {
        trib_loss_sampled(&loss, 0);
    }
    assert_int_equal(trib_loss_timeout(&loss, 0), TRIB_RTO_MIN_NS);
    assert_int_equal(trib_loss_timeout(&loss, 3), 8 * TRIB_RTO_MIN_NS);
}

static void timeout__is_never_above_the_largest(void **state)
{
    struct trib_loss loss = {0};

    (void)state;
    trib_loss_sampled(&loss, 100 * TRIB_RTO_MAX_NS);
    assert_int_equal(trib_loss_timeout(&loss, 0), TRIB_RTO_MAX_NS);
    assert_int_equal(trib_loss_timeout(&loss, UINT32_MAX), TRIB_RTO_MAX_NS);
}

static void sampled__converges_to_a_steady_round_trip(void **state)
{
    struct trib_loss loss = {0};

    (void)state;
    for (int i = 0; i < 200; i++) {
        trib_loss_sampled(&loss, 10 * MS);
    }
    assert_in_range(trib_loss_timeout(&loss, 0), 10 * MS, 10 * MS + MS / 100);
}

static void sampled__covers_a_round_trip_that_varies(void **state)
{
    struct trib_loss loss = {0};
    struct trib_prng prng = {.state = 3};
    int exceeded = 0;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        uint64_t round_trip = 5 * MS + trib_prng_below(&prng, 10 * MS);
        exceeded += i > 10 && round_trip > trib_loss_timeout(&loss, 0);
        trib_loss_sampled(&loss, round_trip);
    }
    assert_in_range(exceeded, 0, 99); /* under 1 % */
    assert_true(trib_loss_timeout(&loss, 0) < 40 * MS);
}

static void sampled__follows_a_round_trip_that_has_changed(void **state)
{
    struct trib_loss loss = {0};

    (void)state;
    trib_loss_sampled(&loss, 100 * MS);
    for (int i = 0; i < 100; i++) {
        trib_loss_sampled(&loss, 3 * MS);
    }
    assert_in_range(trib_loss_timeout(&loss, 0), 3 * MS, 4 * MS);
}

/* A network of microseconds can say so. */
static void timeout__has_bounds_of_its_own(void **state)
{
    struct trib_loss loss = {.first_ns = 3 * MS, .min_ns = MS / 5};

    (void)state;
    assert_int_equal(trib_loss_timeout(&loss, 0), 3 * MS);
    trib_loss_sampled(&loss, MS / 100);
    assert_int_equal(trib_loss_timeout(&loss, 0), MS / 5);
    assert_int_equal(trib_loss_timeout(&loss, 2), 4 * (MS / 5));
}

static void congestion__admits_as_many_as_the_window(void **state)
{
    struct trib_congestion congestion = {.window = 3};

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(trib_congestion_admits(&congestion));
        trib_congestion_sent(&congestion);
    }
    assert_false(trib_congestion_admits(&congestion));
    trib_congestion_result(&congestion);
    assert_true(trib_congestion_admits(&congestion));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeout__is_the_first_one_before_a_sample),
        cmocka_unit_test(timeout__is_never_below_the_smallest),
        cmocka_unit_test(timeout__is_never_above_the_largest),
        cmocka_unit_test(sampled__converges_to_a_steady_round_trip),
        cmocka_unit_test(sampled__covers_a_round_trip_that_varies),
        cmocka_unit_test(sampled__follows_a_round_trip_that_has_changed),
        cmocka_unit_test(timeout__has_bounds_of_its_own),
        cmocka_unit_test(congestion__admits_as_many_as_the_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
