/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.h: the numbers that a job sums. Read next: numbers.c. */
#ifndef TRIB_SIM_JOBS_NUMBERS_H
#define TRIB_SIM_JOBS_NUMBERS_H

#include "sim/jobs/state.h"

/* Reserves memory when the session is settled; prepares the numbers of an iteration; compares its sums; compares a
 * sum that a worker has taken. */
bool sim__numbers_open(struct sim_jobs *j, struct sim_job *job);
void sim__numbers_prepare(struct sim_job *job, uint32_t iteration);
void sim__numbers_compare(struct sim_job *job, uint32_t iteration);
void sim__numbers_taken(struct sim_job *job, const struct trib_packet *packet);

#endif
