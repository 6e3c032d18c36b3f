/* SPDX-License-Identifier: Apache-2.0 */
/* test_perf_quorum.c: the numbers of `tributary perf` that say who is in a sum: every set of ranks that may be is read
 * from them, and what is not one set's sum is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/perf.h"
#include "core/prng.h"

#define COUNT 1000U
#define FRAGMENT 96U /* elements */

static struct perf_options options_of(uint32_t ranks, enum trib_type type, enum trib_reduction reduction)
{
    struct perf_options options = {.type = type, .reduction = reduction, .collective = TRIB_ALLREDUCE};

    trib_config_init(&options.comm);
    options.comm.ranks = ranks;
    options.comm.rank = 1;
    (void)snprintf(options.comm.scheme, sizeof options.comm.scheme, "panama:3/4");
    (void)snprintf(options.comm.switch_address, sizeof options.comm.switch_address, "10.0.0.1");
    return options;
}

/* float32 sums as a switch would give them; absent[fragment]: the rank that it lacks, or none. */
static void add(const struct perf_options *options, const uint32_t *absent, float *sum)
{
    static float part[COUNT];

    memset(sum, 0, COUNT * sizeof *sum);
    for (uint32_t rank = 0; rank < options->comm.ranks; rank++) {
        perf_fill(options, part, (struct perf_span){0, COUNT}, rank, 7);
        for (uint32_t i = 0; i < COUNT; i++) {
            sum[i] += absent[i / FRAGMENT] != rank ? part[i] : 0;
        }
    }
    for (uint32_t i = 0; options->reduction == TRIB_AVERAGE && i < COUNT; i++) {
        sum[i] /= (float)(options->comm.ranks - (absent[i / FRAGMENT] < options->comm.ranks));
    }
}

static void sets__are_read_from_sums(void **state)
{
    static const uint32_t sizes[] = {4, 8, 22, 23, 100};
    static const enum trib_reduction reductions[] = {TRIB_SUM, TRIB_AVERAGE};
    static float sum[COUNT];

    (void)state;
    for (uint32_t i = 0; i < 2 * 5; i++) {
        struct perf_options options = options_of(sizes[i / 2], TRIB_FLOAT32, reductions[i % 2]);
        uint32_t absent[COUNT / FRAGMENT + 1];
        uint64_t late = 0;
        uint64_t lacking = 0;
        assert_true(perf_may_lack(&options));
        for (uint32_t at = 0; at <= COUNT / FRAGMENT; at++) {
            absent[at] = at % 3 == 0 ? UINT32_MAX : at % options.comm.ranks;
            lacking += at % 3 != 0;
            late += absent[at] == options.comm.rank;
        }
        add(&options, absent, sum);
        struct perf_sets sets = {.fragment = FRAGMENT};
        assert_int_equal(perf_quorum_wrong(&options, sum, COUNT, 7, &sets), 0);
        assert_true(sets.lacking == lacking && sets.late == late && sets.unknown == 0);
    }
}

static void what_is_no_sum__is_found(void **state)
{
    struct perf_options options = options_of(8, TRIB_FLOAT32, TRIB_SUM);
    uint32_t absent[COUNT / FRAGMENT + 1];
    static float sum[COUNT];
    static float good[COUNT];
    struct trib_prng prng = {.state = 3};
    struct perf_sets sets = {.fragment = FRAGMENT};

    (void)state;
    for (uint32_t at = 0; at <= COUNT / FRAGMENT; at++) {
        absent[at] = at % 9;
    }
    add(&options, absent, good);
    for (uint32_t i = 0; i < 200; i++) {
        memcpy(sum, good, sizeof sum);
        uint64_t at = trib_prng_below(&prng, COUNT);
        sum[at] += i % 2 == 0 ? 1 : -1;
        assert_true(perf_quorum_wrong(&options, sum, COUNT, 7, &sets) > 0);
    }
    /* Another round's, one fragment with two sets, too few ranks. */
    assert_true(perf_quorum_wrong(&options, good, COUNT, 6, &sets) > 0);
    memcpy(sum, good, sizeof sum);
    memcpy(sum + FRAGMENT / 2, good + FRAGMENT + FRAGMENT / 2, FRAGMENT / 2 * sizeof *sum);
    assert_int_equal(perf_quorum_wrong(&options, sum, COUNT, 7, &sets), FRAGMENT);
    (void)snprintf(options.comm.scheme, sizeof options.comm.scheme, "panama:15/16");
    assert_true(perf_quorum_wrong(&options, good, COUNT, 7, &sets) >= FRAGMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets__are_read_from_sums),
        cmocka_unit_test(what_is_no_sum__is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
