/* SPDX-License-Identifier: Apache-2.0 */
/* test_atp_literal_random.c: random runs of ATP's published rules and of ours, on the same links: two jobs on few rows,
 * with packets lost, late and copied. Each defect of the published rules is seen and counted, with its first seed. Of ours
 * none is seen, and every job ends. TRIB_SEEDS=N runs so many seeds, TRIB_SEED=S one. Mirrors src/published/atp_literal,
 * src/demo/atp*.c. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "demo/atp.h"
#include "published/published.h"

#define SEEDS 300U

static uint64_t number_of(const char *name, uint64_t value)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : value;
}

static void defects__are_of_the_published_rules_alone(void **state)
{
    struct demo_atp_runs published = {.scheme = trib_published_find("atp-literal")};
    struct demo_atp_runs ours = {.scheme = trib_published_find("atp")};
    uint64_t first = number_of("TRIB_SEED", 1);
    uint64_t count = getenv("TRIB_SEED") != NULL ? 1 : number_of("TRIB_SEEDS", SEEDS);
    uint64_t seeds[6] = {0};

    (void)state;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct demo_faults faults = {.loss = 0.0005 * (double)(seed % 4), .late = 0.001, .late_ns = 3 * DEMO_MS};
        assert_true(demo_atp_run(&published, &faults, seed) && demo_atp_run(&ours, &faults, seed));
        const uint32_t seen[] = {published.sum.caught,   published.with_delivered, published.with_leak,
                                 published.with_overlap, published.hung,           published.failed};
        for (uint32_t i = 0; i < 6; i++) {
            seeds[i] = seeds[i] == 0 && seen[i] != 0 ? seed : seeds[i];
        }
        if (ours.right != ours.runs || ours.sum.leaked != 0) {
            fail_msg("seed %" PRIu64 ": our rules: %u of %u runs right, %u rows leaked", seed, ours.right, ours.runs,
                     ours.sum.leaked);
        }
    }
    print_message("published rules, %u runs: %u with a wrong sum (%u sums; %u with a right lane), %u with rows that "
                  "leaked, %u with sums dropped for one part, %u without an end, %u that failed\n",
                  published.runs, published.with_wrong, published.sum.wrong, published.sum.delivered,
                  published.with_leak, published.with_overlap, published.hung, published.failed);
    print_message("first seeds: wrong set of parts %" PRIu64 ", wrong order %" PRIu64 ", leak %" PRIu64
                  ", dropped %" PRIu64 ", no end %" PRIu64 ", failed %" PRIu64 "\n",
                  seeds[0], seeds[1], seeds[2], seeds[3], seeds[4], seeds[5]);
    for (uint32_t i = 0; i < 6 && count >= SEEDS; i++) {
        assert_true(seeds[i] != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(defects__are_of_the_published_rules_alone)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
