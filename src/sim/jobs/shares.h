/* SPDX-License-Identifier: Apache-2.0 */
/* shares.h: division of a switch's memory for sums among jobs. Read next: shares.c. */
#ifndef TRIB_SIM_JOBS_SHARES_H
#define TRIB_SIM_JOBS_SHARES_H

#include "sim/jobs/state.h"

/* Settles windows and first caps before nodes exist; a switch's node is open, or open again; its use of memory may have
 * changed; it is closed. */
bool sim__shares_open(struct sim_jobs *j, char *error);
void sim__shares_opened(struct sim_jobs *j, uint32_t endpoint);
void sim__shares_count(struct sim_jobs *j, uint32_t endpoint);
void sim__shares_closed(struct sim_jobs *j, uint32_t endpoint);
/* Returns the most that any switch's memory held, bytes of payload on the links; 0 if memory has no bound. */
uint64_t sim_jobs_memory(const struct sim_jobs *j);
/* Returns the largest total of rings at a switch: the memory that an accelerator reserves. A ring is twice the cap. */
uint64_t sim_jobs_rings(const struct sim_jobs *j);

#endif
