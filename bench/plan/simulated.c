/* SPDX-License-Identifier: Apache-2.0 */
/* simulated.c: rates of plans and rates that the simulator reaches with them:
 *   bench-plan-simulated [SETS [SEED [MILLISECONDS [PATHS [BUFFER]]]]]
 * Over SETS (20) drawn networks and job sets (tests/plan_scenarios.h) the difference of each job's rate from the
 * planned one. */
#include <math.h>

#include "plan_scenarios.h"

#define JOBS_MAX 4096U

struct errors {
    double list[JOBS_MAX];
    double planned, reached; /* sums over sets of the slowest job's rate, bit/s */
    uint32_t count;
};

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

static void run(uint64_t seed, double seconds, const struct scenario_wish *wish, struct errors *errors)
{
    static struct drawn_scenario d;
    static struct sim_scenario scenario;
    struct plan_simulated it = {.scenario = NULL};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    double planned[SIM_JOB_TABLES_MAX], rates[SIM_JOB_TABLES_MAX], worst = 0;
    uint64_t dropped = 0;
    scenario_text(&d, seed, wish);
    bool is_good = sim_scenario_parse(&scenario, d.text, "drawn", NULL, error) &&
                   scenario_plan(&it, &scenario, PLAN_TREES_MAX, error);
    for (uint32_t j = 0; is_good && j < it.jobs.count; j++) {
        planned[j] = (double)it.plan.grants[j].rate_bps;
    }
    if (is_good) {
        scenario_sizes(&scenario, planned, seconds);
        is_good = scenario_run(&scenario, rates, &dropped, error);
    }
    if (!is_good) {
        (void)printf("| %lu | %s |\n", (unsigned long)seed, error);
        exit(1);
    }
    double least[2] = {HUGE_VAL, HUGE_VAL};
    uint32_t trees = 0;
    for (uint32_t j = 0; j < it.jobs.count && errors->count < JOBS_MAX; j++) {
        double off = fabs(rates[j] / planned[j] - 1);
        errors->list[errors->count++] = off;
        worst = fmax(worst, off);
        least[0] = fmin(least[0], planned[j]);
        least[1] = fmin(least[1], rates[j]);
        trees = it.plan.grants[j].count > trees ? it.plan.grants[j].count : trees;
    }
    errors->planned += least[0];
    errors->reached += least[1];
    (void)printf("| %lu | %s, %u hosts, %g:1 | %u | %u | %.2f %% | %lu |\n", (unsigned long)seed,
                 sim_topology_name(scenario.topology.kind), d.hosts, d.over, it.jobs.count, trees, 100 * worst,
                 (unsigned long)dropped);
    (void)fflush(stdout);
    plan_simulated_free(&it);
    sim_scenario_free(&scenario);
}

int main(int argc, char **argv)
{
    static struct errors errors;
    uint32_t sets = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    double seconds = (argc > 3 ? strtod(argv[3], NULL) : 10) / 1000;
    const struct scenario_wish wish = {.paths = argc > 4 ? argv[4] : "explicit", .buffer = argc > 5 ? argv[5] : "none"};
    (void)printf(
        "| seed | network | jobs | trees of a job | worst difference | dropped |\n|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < sets; i++) {
        run(seed + i, seconds, &wish, &errors);
    }
    if (errors.count == 0) {
        (void)fprintf(stderr, "no network could be planned\n");
        return 1;
    }
    qsort(errors.list, errors.count, sizeof *errors.list, compare);
    (void)printf("\n%u jobs: median %.2f %%, worst %.2f %%; the slowest job of a network, in the mean: planned %.3f "
                 "Gbit/s, reached %.3f\n",
                 errors.count, 100 * errors.list[errors.count / 2], 100 * errors.list[errors.count - 1],
                 errors.planned / sets * 1e-9, errors.reached / sets * 1e-9);
    return 0;
}
