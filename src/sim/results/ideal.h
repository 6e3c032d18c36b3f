/* SPDX-License-Identifier: Apache-2.0 */
/* ideal.h: what a scenario would be if each kind of traffic had the network for itself: its flows without its jobs, and
 * its jobs without its flows, with the same seed, so that the same flows begin and the same hosts work. What a scheme
 * costs others, and others it, is the distance from that.
 * Read next: results.h (who shows it beside the run). */
#ifndef TRIB_SIM_IDEAL_H
#define TRIB_SIM_IDEAL_H

#include "sim/results/results.h"

struct sim_ideal {
    struct sim_results flows; /* without jobs; without a window until the time when the run had ended */
    struct sim_job_times *jobs;
    uint32_t job_count;
    uint32_t unused;
    uint64_t hashes[2]; /* of the traces: of flows, of jobs */
};

/* Why there can be none of this scenario, or NULL. */
const char *sim_ideal_unfit(const struct sim_scenario *scenario);
/* After the run has ended. go_on is asked every hops packet-hops. False: it said no, or error says what is wrong. */
bool sim_ideal_make(struct sim_ideal *ideal, const struct sim_run *run, bool (*go_on)(const struct sim_run *alone),
                    uint64_t hops, char *error);
void sim_ideal_free(struct sim_ideal *ideal);

#endif
