/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.h: sums within a host, of which only the leader sends. Read next: hosts.c. */
#ifndef TRIB_CONTROL_JOBS_HOSTS_H
#define TRIB_CONTROL_JOBS_HOSTS_H

#include "control/jobs/state.h"

/* All ranks are there: makes hosts the members, if all ranks want level 0 and each host has a run of ranks. */
void trib_job_choose_hosts(struct trib_job *job);
/* True if the two ranks are summed on the host of `rank`. */
bool trib_job_share_host(const struct trib_job *job, uint32_t rank, const uint32_t two[2]);
/* The leader: the first rank of the host of `rank`. */
uint32_t trib_job_leader(const struct trib_job *job, uint32_t rank);

#endif
