/* SPDX-License-Identifier: Apache-2.0 */
/* threshold.h: jobs too small for the switch. Read next: threshold.c. */
#ifndef TRIB_CONTROL_JOBS_THRESHOLD_H
#define TRIB_CONTROL_JOBS_THRESHOLD_H

#include "control/jobs/state.h"

/* All ranks are there. False: RING was sent to the ranks that must form a ring and have not joined as
 * ranks of a ring; the job may be gone. */
TRIB_MUST_USE bool trib_job_settles_ring(struct trib_jobs *jobs, struct trib_job *job);

#endif
