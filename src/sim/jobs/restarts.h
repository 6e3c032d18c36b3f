/* SPDX-License-Identifier: Apache-2.0 */
/* restarts.h: switches that restart at given times. A restarting switch loses the state of all nodes there. Jobs with a
 * node there stop until their ranks are back. Then their trees open under another boot id, and nodes retransmit the
 * lost packets. The switch forwards packets throughout.
 *
 * Read next: jobs.h, run.c. */
#ifndef TRIB_SIM_RESTARTS_H
#define TRIB_SIM_RESTARTS_H

#include "sim/jobs/state.h"

#define SIM_RESTARTS_MAX 64U

struct sim_restart {
    uint32_t node; /* a switch */
    uint32_t unused;
    uint64_t at_ps;
    uint64_t away_ps; /* time until all ranks are back */
};

struct sim_restarts {
    struct sim_jobs *jobs;
    const struct sim_restart *list;
    uint32_t count;
    uint32_t timer;
};

/* Sets the timer for the first restart. Restarts of one job may overlap: the job resumes after the last. */
void sim_restarts_init(struct sim_restarts *r, struct sim_jobs *jobs, const struct sim_restart *list, uint32_t count,
                       uint32_t timer);
void sim_restarts_timer(struct sim_restarts *r);

#endif
