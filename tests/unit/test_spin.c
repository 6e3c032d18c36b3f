/* SPDX-License-Identifier: Apache-2.0 */
/* test_spin.c: how long a driver waits busily. Mirrors src/io/spin.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/spin.h"

#define LIMIT UINT64_C(200000)

static void begin__is_the_limit_while_packets_come(void **state)
{
    (void)state;
    struct trib_spin spin;
    trib_spin_init(&spin, LIMIT);
    for (int wait = 0; wait < 100; wait++) {
        assert_int_equal(trib_spin_begin(&spin), LIMIT);
        trib_spin_end(&spin, true);
    }
}

/* 200, 100, 50, 25, 12.5 us, then none: so 32 sleeps cost 400 us of CPU time at most. */
static void begin__is_nothing_where_no_packets_come(void **state)
{
    (void)state;
    struct trib_spin spin;
    uint64_t sum_ns = 0;
    int sleeps = 0;
    trib_spin_init(&spin, LIMIT);
    for (uint64_t length_ns; (length_ns = trib_spin_begin(&spin)) != 0 && sleeps < 100; sleeps++) {
        sum_ns += length_ns;
        trib_spin_end(&spin, false);
    }
    assert_int_equal(sleeps, 5);
    assert_true(sum_ns < 2 * LIMIT);
}

static void begin__tries_again_after_some_sleeps(void **state)
{
    (void)state;
    struct trib_spin spin;
    int sleeps = 1;
    trib_spin_init(&spin, LIMIT);
    spin.length_ns = 0;
    while (trib_spin_begin(&spin) == 0) {
        sleeps++;
    }
    assert_int_equal(sleeps, TRIB_SPIN_RETRY);
    trib_spin_end(&spin, true);
    assert_int_equal(trib_spin_begin(&spin), LIMIT);
}

static void begin__of_no_limit_is_nothing(void **state)
{
    (void)state;
    struct trib_spin spin;
    trib_spin_init(&spin, 0);
    for (int wait = 0; wait < 2 * TRIB_SPIN_RETRY; wait++) {
        assert_int_equal(trib_spin_begin(&spin), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begin__is_the_limit_while_packets_come),
        cmocka_unit_test(begin__is_nothing_where_no_packets_come),
        cmocka_unit_test(begin__tries_again_after_some_sleeps),
        cmocka_unit_test(begin__of_no_limit_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
