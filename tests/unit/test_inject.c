/* SPDX-License-Identifier: Apache-2.0 */
/* test_inject.c: the fault injector: rates, repeatability, and that nothing vanishes but what was lost on purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/inject.h"

#define PACKETS 20000
#define PACKET_LEN 100
#define STEP_NS 1000 /* between two packets */

/* A packet whose every byte depends on its number. */
static void fill(uint8_t *data, uint32_t number)
{
    for (uint32_t i = 0; i < PACKET_LEN; i++) {
        data[i] = (uint8_t)(number * 31 + i * 7 + (number >> 8));
    }
    memcpy(data, &number, sizeof number);
}

struct seen {
    uint8_t copies[PACKETS];
    uint32_t order[3 * PACKETS]; /* numbers as they came out, by tag */
    uint32_t total, changed, out_of_order;
    uint64_t latest_ns; /* longest stay of a packet */
};

static void take(struct seen *seen, const struct trib_injected *out, uint64_t now_ns)
{
    uint8_t expected[PACKET_LEN];
    uint32_t number = (uint32_t)out->tag;
    uint64_t put_ns = (uint64_t)number * STEP_NS;
    assert_true(number < PACKETS);
    assert_int_equal(out->len, PACKET_LEN);
    fill(expected, number);
    seen->changed += memcmp(expected, out->data, PACKET_LEN) != 0;
    seen->out_of_order += seen->total > 0 && number < seen->order[seen->total - 1];
    seen->latest_ns = now_ns - put_ns > seen->latest_ns ? now_ns - put_ns : seen->latest_ns;
    seen->copies[number]++;
    seen->order[seen->total++] = number;
}

/* Puts PACKETS packets in and takes everything out. */
static void run(const struct trib_faults *faults, struct seen *seen, struct trib_inject_counts *counts)
{
    struct trib_inject *inject = trib_inject_create(faults, PACKET_LEN);
    struct trib_injected out;
    uint8_t data[PACKET_LEN];
    memset(seen, 0, sizeof *seen);
    assert_non_null(inject);
    for (uint32_t i = 0; i < PACKETS; i++) {
        uint64_t now_ns = (uint64_t)i * STEP_NS;
        fill(data, i);
        trib_inject_put(inject, data, sizeof data, i, now_ns);
        while (trib_inject_next(inject, now_ns, &out)) {
            take(seen, &out, now_ns);
        }
        uint8_t untouched[PACKET_LEN];
        fill(untouched, i);
        assert_memory_equal(data, untouched, PACKET_LEN);
    }
    uint64_t end_ns;
    while ((end_ns = trib_inject_deadline(inject)) != UINT64_MAX) {
        while (trib_inject_next(inject, end_ns, &out)) {
            take(seen, &out, end_ns);
        }
    }
    *counts = *trib_inject_counts(inject);
    trib_inject_destroy(inject);
}

static struct seen seen, seen_again; /* too large for a stack */

/* Six standard deviations of a binomial count. */
static void assert_rate(uint64_t count, double rate)
{
    double expected = rate * PACKETS;
    double off = (double)count - expected;
    assert_true(off * off <= 36 * expected * (1 - rate));
}

static void create__rates_are_those_asked_for(void **state)
{
    (void)state;
    const struct trib_faults faults = {.loss = 0.1, .duplicate = 0.05, .reorder = 0.2, .corrupt = 0.02, .seed = 7};
    struct trib_inject_counts counts;
    run(&faults, &seen, &counts);
    assert_rate(counts.loss, 0.1);
    assert_rate(counts.duplicate, 0.05 * 0.9); /* a lost packet suffers nothing else */
    assert_rate(counts.reorder, 0.2 * 0.9);
    assert_rate(counts.corrupt, 0.02 * 0.9);
    assert_int_equal(seen.total, PACKETS - counts.loss + counts.duplicate);
}

static void create__same_seed_same_decisions(void **state)
{
    (void)state;
    struct trib_faults faults = {.loss = 0.05, .duplicate = 0.05, .reorder = 0.05, .corrupt = 0.05, .seed = 99};
    struct trib_inject_counts counts, counts_again;
    run(&faults, &seen, &counts);
    run(&faults, &seen_again, &counts_again);
    assert_memory_equal(&seen, &seen_again, sizeof seen);
    assert_memory_equal(&counts, &counts_again, sizeof counts);
    faults.seed++;
    run(&faults, &seen_again, &counts_again);
    assert_memory_not_equal(&seen, &seen_again, sizeof seen);
}

static void put__nothing_is_lost_without_loss(void **state)
{
    (void)state;
    const struct trib_faults faults = {.duplicate = 0.3, .reorder = 0.5, .seed = 3};
    struct trib_inject_counts counts;
    uint32_t doubled = 0;
    run(&faults, &seen, &counts);
    for (uint32_t i = 0; i < PACKETS; i++) {
        assert_in_range(seen.copies[i], 1, 2);
        doubled += seen.copies[i] == 2;
    }
    assert_int_equal(doubled, counts.duplicate);
    assert_int_equal(seen.changed, 0);
    assert_true(seen.out_of_order > PACKETS / 10);
}

static void put__no_fault_changes_nothing(void **state)
{
    (void)state;
    const struct trib_faults faults = {.seed = 1};
    struct trib_inject_counts counts;
    assert_false(trib_inject_active(&faults));
    run(&faults, &seen, &counts);
    assert_int_equal(seen.total, PACKETS);
    assert_int_equal(seen.out_of_order, 0);
    assert_int_equal(seen.changed, 0);
}

static void put__loss_of_everything(void **state)
{
    (void)state;
    const struct trib_faults faults = {.loss = 1, .duplicate = 1, .reorder = 1, .corrupt = 1};
    struct trib_inject_counts counts;
    assert_true(trib_inject_active(&faults));
    run(&faults, &seen, &counts);
    assert_int_equal(seen.total, 0);
    assert_int_equal(counts.loss, PACKETS);
}

static void put__corruption_always_changes_the_bytes(void **state)
{
    (void)state;
    const struct trib_faults faults = {.corrupt = 1, .seed = 5};
    struct trib_inject_counts counts;
    run(&faults, &seen, &counts);
    assert_int_equal(seen.changed, PACKETS);
    assert_int_equal(counts.corrupt, PACKETS);
}

static void put__corruption_changes_even_one_byte(void **state)
{
    (void)state;
    const struct trib_faults faults = {.corrupt = 1, .seed = 5};
    struct trib_inject *inject = trib_inject_create(&faults, 1);
    const uint8_t byte = 0x5a;
    struct trib_injected out;
    assert_non_null(inject);
    for (int i = 0; i < 1000; i++) {
        trib_inject_put(inject, &byte, 1, 0, 0);
        assert_true(trib_inject_next(inject, 0, &out));
        assert_int_not_equal(out.data[0], byte);
        assert_false(trib_inject_next(inject, 0, &out));
    }
    trib_inject_destroy(inject);
}

static void next__held_packets_come_after_16_others_at_most(void **state)
{
    (void)state;
    const struct trib_faults faults = {.reorder = 1, .seed = 11};
    struct trib_inject_counts counts;
    run(&faults, &seen, &counts);
    assert_int_equal(seen.total, PACKETS);
    assert_int_equal(counts.reorder, PACKETS);
    /* The last ones come by their deadline, 2 ms; the others sooner. */
    for (uint32_t i = 0; i + 40 < PACKETS; i++) {
        uint32_t number = seen.order[i];
        assert_in_range(i + 17, number, number + 34);
    }
    assert_in_range(seen.latest_ns, 1, 2000000);
}

static void deadline__is_2_ms_after_the_packet(void **state)
{
    (void)state;
    const struct trib_faults faults = {.reorder = 1, .seed = 2};
    struct trib_inject *inject = trib_inject_create(&faults, 8);
    struct trib_injected out;
    assert_non_null(inject);
    assert_true(trib_inject_deadline(inject) == UINT64_MAX);
    trib_inject_put(inject, (const uint8_t *)"abcdefgh", 8, 42, 5000);
    assert_false(trib_inject_next(inject, 5000, &out));
    assert_int_equal(trib_inject_deadline(inject), 2005000);
    assert_false(trib_inject_next(inject, 2004999, &out));
    assert_true(trib_inject_next(inject, 2005000, &out));
    assert_memory_equal(out.data, "abcdefgh", 8);
    assert_int_equal(out.tag, 42);
    assert_true(trib_inject_deadline(inject) == UINT64_MAX);
    trib_inject_destroy(inject);
}

/* Hostile lengths: what is longer than any packet of ours, or empty, passes as it is. */
static void put__odd_lengths_pass(void **state)
{
    (void)state;
    const struct trib_faults faults = {.reorder = 1, .corrupt = 1, .seed = 2};
    struct trib_inject *inject = trib_inject_create(&faults, 8);
    struct trib_injected out;
    assert_non_null(inject);
    trib_inject_put(inject, (const uint8_t *)"123456789", 9, 1, 0);
    assert_true(trib_inject_next(inject, 0, &out));
    assert_memory_equal(out.data, "123456789", 9);
    trib_inject_put(inject, (const uint8_t *)"", 0, 1, 0);
    assert_true(trib_inject_next(inject, 0, &out));
    assert_int_equal(out.len, 0);
    trib_inject_destroy(inject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create__rates_are_those_asked_for),
        cmocka_unit_test(create__same_seed_same_decisions),
        cmocka_unit_test(put__nothing_is_lost_without_loss),
        cmocka_unit_test(put__no_fault_changes_nothing),
        cmocka_unit_test(put__loss_of_everything),
        cmocka_unit_test(put__corruption_always_changes_the_bytes),
        cmocka_unit_test(put__corruption_changes_even_one_byte),
        cmocka_unit_test(next__held_packets_come_after_16_others_at_most),
        cmocka_unit_test(deadline__is_2_ms_after_the_packet),
        cmocka_unit_test(put__odd_lengths_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
