/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h: jobs in chains of racks. Read next: chain.c. */
#ifndef TRIB_SIM_JOBS_CHAIN_H
#define TRIB_SIM_JOBS_CHAIN_H

#include "sim/jobs/state.h"

/* Places a chain's nodes. False: error says why the job is impossible. */
bool sim__chain_place(struct sim_jobs *j, struct sim_job *job, char *error);

#endif
