/* SPDX-License-Identifier: Apache-2.0 */
/* restarts.h: switches that begin anew at some time: what adds there loses all that it holds, and the jobs with a node
 * there stand still until their ranks are back; then their trees are open under another boot id, and nodes send again
 * what was lost. Packets pass such a switch as ever.
 * Read next: jobs.h, run.c (who sets the timer). */
#ifndef TRIB_SIM_RESTARTS_H
#define TRIB_SIM_RESTARTS_H

#include "sim/jobs/jobs.h"

#define SIM_RESTARTS_MAX 64U

struct sim_restart {
    uint32_t node; /* a switch */
    uint32_t unused;
    uint64_t at_ps;
    uint64_t away_ps; /* until all ranks are back */
};

struct sim_restarts {
    struct sim_jobs *jobs;
    const struct sim_restart *list;
    uint32_t count;
    uint32_t timer;
};

/* Sets its timer for the first. Those of one job may overlap: it goes on after the last. */
void sim_restarts_init(struct sim_restarts *r, struct sim_jobs *jobs, const struct sim_restart *list, uint32_t count,
                       uint32_t timer);
void sim_restarts_timer(struct sim_restarts *r);

#endif
