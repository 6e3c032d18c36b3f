/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_simulated.c: plans in the simulator: jobs reach the rates that the plan says, over trees with one path and
 * with several, with and without multicast. Mirrors src/plan/simulated.c and src/sim/jobs/planned.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "plan/lp.h"
#include "plan_scenarios.h"

#define JOBS_MAX 8U
#define SECONDS 0.003

/* Plans the scenario of a seed and simulates it with these buffers of ports: all rates within `most` of the planned
 * ones. */
static void expect_rates_with(uint64_t seed, const char *paths, const char *buffer, double most)
{
    static struct drawn_scenario d;
    static struct sim_scenario scenario;
    struct plan_simulated it = {.scenario = NULL};
    const struct scenario_wish wish = {.paths = paths, .buffer = buffer};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    double planned[JOBS_MAX], rates[JOBS_MAX];
    uint64_t dropped = 0;

    if (!trib_lp_is_there()) {
        skip();
    }
    scenario_text(&d, seed, &wish);
    if (!sim_scenario_parse(&scenario, d.text, "drawn", NULL, error) ||
        !scenario_plan(&it, &scenario, PLAN_TREES_MAX, error)) {
        fail_msg("%s", error);
    }
    assert_in_range(it.jobs.count, 1, JOBS_MAX);
    for (uint32_t j = 0; j < it.jobs.count; j++) {
        planned[j] = (double)it.plan.grants[j].rate_bps;
    }
    scenario_sizes(&scenario, planned, SECONDS);
    if (!scenario_run(&scenario, rates, &dropped, error)) {
        fail_msg("%s", error);
    }
    for (uint32_t j = 0; j < it.jobs.count; j++) {
        if (rates[j] < planned[j] * (1 - most) || rates[j] > planned[j] * 1.001) {
            fail_msg("seed %lu, job %u: planned %.3f Gbps, simulated %.3f", (unsigned long)seed, j, planned[j] / 1e9,
                     rates[j] / 1e9);
        }
    }
    plan_simulated_free(&it);
    sim_scenario_free(&scenario);
}

static void expect_rates(uint64_t seed, const char *paths, double most)
{
    expect_rates_with(seed, paths, "none", most);
}

static void rates_of_plans__are_reached(void **state)
{
    (void)state;
    expect_rates(2, "explicit", 0.05);    /* a leaf-spine, 4 jobs */
    expect_rates(3, "explicit", 0.05);    /* a dragonfly */
    expect_rates(1096, "explicit", 0.05); /* a fat tree, streams over several paths */
}

/* Ports of a stream take paths at random, so a full link may get more than its part. */
static void rates_by_ecmp__are_reached_in_part(void **state)
{
    (void)state;
    expect_rates(5, "ecmp", 0.15); /* without headroom .29 */
    expect_rates(6, "ecmp", 0.15);
}

/* Links are as full as the plan makes them, so ranks must not burst together into buffers of 100 packets: with bursts of
 * a train the first job has 3 % of its rate here. */
static void bursts_of_ranks__fit_into_small_buffers(void **state)
{
    (void)state;
    expect_rates_with(2, "ecmp", "150KB", 0.05);
    expect_rates_with(2, "explicit", "150KB", 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_of_plans__are_reached),
        cmocka_unit_test(rates_by_ecmp__are_reached_in_part),
        cmocka_unit_test(bursts_of_ranks__fit_into_small_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
