/* SPDX-License-Identifier: Apache-2.0 */
/* open.h: jobs from configuration to their end: added, placed on hosts, opened, closed, and stopped by restarts.
 * Read next: open.c, jobs.h. */
#ifndef TRIB_SIM_JOBS_OPEN_H
#define TRIB_SIM_JOBS_OPEN_H

#include "sim/jobs/state.h"

/* Reserves memory for all jobs. endpoints: the sum of sim_job_endpoints. False: out of memory. */
bool sim_jobs_reserve(struct sim_jobs *j, uint32_t jobs, uint64_t endpoints);
/* Returns the most endpoints of a job: a worker's path to a root has at most one switch per tier. */
uint64_t sim_job_endpoints(const struct sim_job_config *config);
/* Adds a job, which waits for hosts. False: error says why the job is impossible. */
bool sim_jobs_add(struct sim_jobs *j, const struct sim_job_config *config, uint64_t seed, char *error);
/* Places a job on these hosts. False: error says why the job is impossible. */
bool sim_jobs_place(struct sim_jobs *j, uint32_t number, const uint32_t *hosts, char *error);
/* sim_jobs_open opens all placed jobs before the first event. sim_jobs_open_late opens one job later, and requires
 * unbounded switch memory. */
bool sim_jobs_open(struct sim_jobs *j, char *error);
bool sim_jobs_open_late(struct sim_jobs *j, uint32_t number, char *error);
/* Frees the hosts and the memory of an ended job. */
void sim_jobs_close(struct sim_jobs *j, uint32_t number);
/* sim_jobs_leave: a switch restarts, loses its nodes of jobs, and stops these jobs. sim_jobs_return: their ranks are
 * back. */
void sim_jobs_leave(struct sim_jobs *j, uint32_t place);
void sim_jobs_return(struct sim_jobs *j, uint32_t place);

#endif
