/* SPDX-License-Identifier: Apache-2.0 */
/* ideal.c: see ideal.h. Read next: run.c. */
#include "sim/results/ideal.h"

#include <stdlib.h>

#include "io/explain.h"

const char *sim_ideal_unfit(const struct sim_scenario *scenario)
{
    return scenario->job_count == 0       ? "ideal: there are only flows, which have the network for themselves"
           : scenario->traffic_count == 0 ? "ideal: there are only jobs, which have the network for themselves"
                                          : NULL;
}

static bool advance(struct sim_run *alone, bool (*go_on)(const struct sim_run *), uint64_t hops, char *error)
{
    while (sim_run_advance(alone, hops)) {
        if (!go_on(alone)) {
            trib_explain(error, "no progress alone: nothing arrives");
            return false;
        }
    }
    const char *fault = sim_run_check(alone);
    if (fault != NULL) {
        trib_explain(error, "%s", fault);
    }
    return fault == NULL;
}

bool sim_ideal_make(struct sim_ideal *ideal, const struct sim_run *run, bool (*go_on)(const struct sim_run *alone),
                    uint64_t hops, char *error)
{
    struct sim_scenario *scenario = malloc(sizeof *scenario);
    struct sim_run *alone = calloc(1, sizeof *alone);
    bool is_good = scenario != NULL && alone != NULL;

    trib_explain(error, "out of memory");
    for (uint32_t part = 0; is_good && part < 2; part++) {
        *scenario = *run->scenario;
        if (part == 0) {
            scenario->job_count = scenario->restart_count = 0;
            scenario->duration_ps = scenario->window_ps != 0 ? scenario->duration_ps : sim_run_now(run);
        } else {
            scenario->traffic_count = 0;
        }
        is_good = sim_run_init(alone, scenario, error) && advance(alone, go_on, hops, error) &&
                  (part != 0 || sim_results_make(&ideal->flows, alone));
        ideal->hashes[part] = alone->network.hash;
        ideal->job_count = alone->jobs.count;
        free(ideal->jobs);
        ideal->jobs = calloc(ideal->job_count + 1, sizeof *ideal->jobs);
        is_good = is_good && ideal->jobs != NULL;
        for (uint32_t i = 0; is_good && i < alone->jobs.count; i++) {
            ideal->jobs[i] = sim_results_job(alone, i);
        }
        sim_run_deinit(alone);
    }
    free(scenario);
    free(alone);
    return is_good;
}

void sim_ideal_free(struct sim_ideal *ideal)
{
    free(ideal->jobs);
    *ideal = (struct sim_ideal){0};
}
