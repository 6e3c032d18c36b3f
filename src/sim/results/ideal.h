/* SPDX-License-Identifier: Apache-2.0 */
/* ideal.h: ideal times: a scenario's flows without its jobs, and its jobs without its flows, with the same seed. So the
 * same flows begin and the same hosts work. The difference to the run is the cost of sharing the network.
 *
 * Read next: results.h. */
#ifndef TRIB_SIM_IDEAL_H
#define TRIB_SIM_IDEAL_H

#include "sim/results/results.h"

struct sim_ideal {
    /* Flows without jobs. Without a window, until the time when the run ended. */
    struct sim_results flows;
    struct sim_job_times *jobs;
    uint32_t job_count;
    uint32_t unused;
    uint64_t hashes[2]; /* trace hashes: of flows, of jobs */
};

/* Returns why this scenario has no ideal times; NULL: it has. */
const char *sim_ideal_unfit(const struct sim_scenario *scenario);
/* Call after the run has ended. Calls go_on every `hops` packet-hops. False: go_on returned false, or error has the
 * reason. */
bool sim_ideal_make(struct sim_ideal *ideal, const struct sim_run *run, bool (*go_on)(const struct sim_run *alone),
                    uint64_t hops, char *error);
void sim_ideal_free(struct sim_ideal *ideal);

#endif
