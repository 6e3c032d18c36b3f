/* SPDX-License-Identifier: Apache-2.0 */
/* ways.h: routing of jobs with nodes anywhere. Read next: ways.c. */
#ifndef TRIB_SIM_JOBS_WAYS_H
#define TRIB_SIM_JOBS_WAYS_H

#include "sim/jobs/state.h"

/* A host's switch; a tree's path up, with different first links for jobs and trees; the first links of a placed job's
 * endpoints, up and down; the next link from a place. */
uint32_t sim__ways_switch(const struct sim_network *n, uint32_t host);
void sim__ways_choose(const struct sim_jobs *j, struct sim_job *job, uint32_t tree);
void sim__ways_find(struct sim_jobs *j, const struct sim_job *job);
uint32_t sim__ways_next(const struct sim_jobs *j, uint32_t place, const struct sim_endpoint *to);

#endif
