/* SPDX-License-Identifier: Apache-2.0 */
/* iterations.h: a worker's iterations. Read next: iterations.c, steps.h. */
#ifndef TRIB_SIM_JOBS_ITERATIONS_H
#define TRIB_SIM_JOBS_ITERATIONS_H

#include "sim/jobs/state.h"

/* Begins a worker's next iteration; sets the timer for its next bucket; takes the end of its iteration. */
void sim__jobs_begin(struct sim_jobs *j, uint32_t endpoint);
void sim__jobs_wait_for_bucket(struct sim_jobs *j, uint32_t endpoint);
void sim__jobs_ended(struct sim_jobs *j, uint32_t endpoint);

#endif
