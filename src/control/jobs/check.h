/* SPDX-License-Identifier: Apache-2.0 */
/* check.h: invariants of the data of jobs. Read next: check.c. */
#ifndef TRIB_CONTROL_JOBS_CHECK_H
#define TRIB_CONTROL_JOBS_CHECK_H

#include "control/jobs/state.h"

/* Ends the program if the data of the job are inconsistent, alone or with other jobs. For calls between
 * events, and at the end of a transition. */
void trib_job_check(const struct trib_jobs *jobs, const struct trib_job *job);
/* The same for all jobs and the common data. Visits every rank; for tests. */
void trib_jobs_check(const struct trib_jobs *jobs);

#endif
