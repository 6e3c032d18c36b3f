/* SPDX-License-Identifier: Apache-2.0 */
/* test_nap.c: how long a driver sleeps although packets come. Mirrors src/io/nap.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/nap.h"

#define US UINT64_C(1000)

/* Packets that come one by one, `interval_ns` apart, at a driver that reads `at_once` of them whenever it wakes. Returns
 * the length of the last of so many sleeps. */
static uint64_t run(struct trib_nap *nap, uint32_t sleeps, uint64_t at_once, uint64_t interval_ns, uint64_t awaited)
{
    uint64_t now_ns = 5 * US;
    uint64_t packets = 1000;
    uint64_t length_ns = 0;
    for (uint32_t i = 0; i < sleeps; i++) {
        length_ns = trib_nap_begin(nap, packets, awaited, now_ns);
        packets += at_once;
        now_ns += at_once * interval_ns;
    }
    return length_ns;
}

/* 56 fragments of 8 KiB at 1 Gbit/s: fourteen of them, two trains, may come. */
static void begin__lasts_until_a_part_of_what_is_awaited_has_come(void **state)
{
    (void)state;
    struct trib_nap nap = {0};
    assert_int_equal(run(&nap, 5, 1, 66 * US, 56), 14 * 66 * US);
}

static void begin__measures_before_it_naps(void **state)
{
    (void)state;
    for (uint32_t sleeps = 1; sleeps <= TRIB_NAP_SAMPLES; sleeps++) {
        struct trib_nap nap = {0};
        assert_int_equal(run(&nap, sleeps, 1, 66 * US, 56), 0);
    }
}

/* The rate of a loopback: a timer would come too late. */
static void begin__nobody_naps_where_packets_come_quickly(void **state)
{
    (void)state;
    struct trib_nap nap = {0};
    assert_int_equal(run(&nap, 100, 7, 10 * US, 56), 0);
}

static void begin__a_nap_has_an_end_however_slow_the_link(void **state)
{
    (void)state;
    struct trib_nap nap = {0};
    assert_int_equal(run(&nap, 100, 1, 1500 * US, 56), TRIB_NAP_MOST_NS);
    assert_int_equal(run(&nap, 100, 1, 5000 * US, 56), 0); /* each packet is worth a wake-up */
}

/* At the end of an operation the last results wake the driver at once, as those of a small one do. */
static void begin__nobody_naps_for_the_last_packets(void **state)
{
    (void)state;
    struct trib_nap nap = {0};
    assert_int_equal(run(&nap, 100, 1, 66 * US, TRIB_NAP_FEWEST - 1), 0);
    assert_int_equal(run(&nap, 100, 1, 500 * US, TRIB_NAP_FEWEST - 1), 0);
    assert_true(run(&nap, 100, 1, 500 * US, TRIB_NAP_FEWEST) > 0);
    assert_int_equal(trib_nap_begin(&nap, 2000, 7, 900000 * US), 0);
    assert_int_equal(nap.samples, 0);
}

/* A pause between operations is no interval: the next operation begins to measure anew. */
static void begin__a_pause_is_not_measured(void **state)
{
    (void)state;
    struct trib_nap nap = {0};
    (void)run(&nap, 10, 1, 66 * US, 56);
    assert_int_equal(trib_nap_begin(&nap, 2000, 0, 1000 * US), 0);
    assert_int_equal(trib_nap_begin(&nap, 2000, 56, 1000000 * US), 0);
    for (uint64_t i = 1; i < TRIB_NAP_SAMPLES; i++) {
        assert_int_equal(trib_nap_begin(&nap, 2000 + i, 56, 1000000 * US + i * 20 * US), 0);
    }
    assert_int_equal(trib_nap_begin(&nap, 2000 + TRIB_NAP_SAMPLES, 56, 1000080 * US), 14 * 20 * US);
}

/* Nor is one behind an operation whose last packets came all at once. */
static void begin__a_pause_behind_many_awaited_packets_is_not_measured(void **state)
{
    (void)state;
    struct trib_nap nap = {0};
    for (uint64_t operation = 0; operation < 100; operation++) {
        trib_nap_pause(&nap);
        assert_int_equal(trib_nap_begin(&nap, 64 * operation, 64, (1 + 1600 * operation) * US), 0);
        assert_int_equal(trib_nap_begin(&nap, 64 * operation + 2, 62, (21 + 1600 * operation) * US), 0);
    }
}

/* A wait for a late rank is no interval between packets: the link is as fast as before. */
static void begin__a_late_rank_does_not_make_the_link_slow(void **state)
{
    (void)state;
    struct trib_nap nap = {0};
    (void)run(&nap, 10, 1, 10 * US, 64);
    uint64_t packets = nap.packets;
    uint64_t now_ns = nap.since_ns + 100000 * US;
    for (int i = 0; i < 20; i++) {
        packets += 8;
        assert_int_equal(trib_nap_begin(&nap, packets, 64, now_ns), 0);
        now_ns += 60 * US;
    }
}

/* Somebody is late: his packet, which all wait for, wakes the driver. */
static void begin__nothing_has_come_since_the_last_sleep(void **state)
{
    (void)state;
    struct trib_nap nap = {0};
    assert_true(run(&nap, 10, 1, 66 * US, 56) > 0);
    assert_int_equal(trib_nap_begin(&nap, nap.packets, 56, 3000 * US), 0);
    assert_int_equal(trib_nap_begin(&nap, nap.packets, 56, 4000 * US), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begin__lasts_until_a_part_of_what_is_awaited_has_come),
        cmocka_unit_test(begin__measures_before_it_naps),
        cmocka_unit_test(begin__nobody_naps_where_packets_come_quickly),
        cmocka_unit_test(begin__a_nap_has_an_end_however_slow_the_link),
        cmocka_unit_test(begin__nobody_naps_for_the_last_packets),
        cmocka_unit_test(begin__a_pause_is_not_measured),
        cmocka_unit_test(begin__a_pause_behind_many_awaited_packets_is_not_measured),
        cmocka_unit_test(begin__a_late_rank_does_not_make_the_link_slow),
        cmocka_unit_test(begin__nothing_has_come_since_the_last_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
