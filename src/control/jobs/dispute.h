/* SPDX-License-Identifier: Apache-2.0 */
/* dispute.h: two operations under one sequence (I10). Read next: dispute.c. */
#ifndef TRIB_CONTROL_JOBS_DISPUTE_H
#define TRIB_CONTROL_JOBS_DISPUTE_H

#include "control/jobs/state.h"

/* OPERATION of rank `index`, and the timeout for OPERATION. The job may be gone afterwards. */
void trib_job_operation(struct trib_jobs *jobs, struct trib_job *job, uint32_t index,
                        const struct trib_message *message);
void trib_job_end_dispute(struct trib_jobs *jobs, struct trib_job *job);
/* Asks whether the two ranks run different operations at the sequence, unless two ranks are in dispute, or asked,
 * already. */
void trib_job_question(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, const uint32_t rank[2],
                       uint64_t now_ns);
/* Two ranks are reported to run different operations: asks both, once. */
void trib_job_dispute(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, const uint32_t rank[2],
                      uint64_t now_ns);

#endif
