/* SPDX-License-Identifier: Apache-2.0 */
/* servers.h: jobs with servers, and the pools of switches. Read next: servers.c. */
#ifndef TRIB_SIM_JOBS_SERVERS_H
#define TRIB_SIM_JOBS_SERVERS_H

#include "sim/jobs/state.h"

/* True if jobs of this scheme can have a struct sim_placed. */
bool sim_placed_fits(const char *scheme);
/* Places servers and combiners; opens and closes their nodes; tells combiners the mark; empties a switch's pool. */
bool sim__servers_place(struct sim_jobs *j, struct sim_job *job, const uint32_t *hosts, char *error);
bool sim__servers_open(struct sim_jobs *j, struct sim_job *job);
void sim__servers_close(struct sim_jobs *j, const struct sim_job *job);
void sim__servers_tell_mark(struct sim_jobs *j, const struct sim_job *job, uint64_t mark);
void sim__pool_forget(struct sim_jobs *j, uint32_t place);
struct sim_row_pool *sim__pool_at(const struct sim_jobs *j, uint32_t place);
uint32_t sim__pool_member(const struct sim_endpoint *e);
/* Returns the rows that the job holds now in all pools. */
uint32_t sim_jobs_rows(const struct sim_jobs *j, uint32_t number);
/* Sums the counters of all pools. */
void sim_jobs_pools(const struct sim_jobs *j, struct trib_combiner_counters *sum);

#endif
