/* SPDX-License-Identifier: Apache-2.0 */
/* stall.h: reports of missing ranks. Read next: stall.c, missing.h. */
#ifndef TRIB_CONTROL_JOBS_STALL_H
#define TRIB_CONTROL_JOBS_STALL_H

#include "control/jobs/state.h"

/* STALL of rank `index`. The job may be gone afterwards. */
void trib_job_stall(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message,
                    uint64_t now_ns);
/* An agent has answered for the sequence: sends the missing ranks to all waiting ranks, if no other agent is still
 * asked. False: the job has ended. */
bool trib_job_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint64_t now_ns);

#endif
