/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h: compares the rate of a job with the plan. Ranks of a planned job send PROGRESS. Time without an operation
 * under way does not count. A rank that waits for another rank is busy. So the rate of a job is the rate of the fastest
 * rank: the other ranks have waited for the fastest rank.
 * Read next: comm/progress.h (the report of a rank), server/metrics.c (shows the rates). */
#ifndef TRIB_CONTROL_PROGRESS_H
#define TRIB_CONTROL_PROGRESS_H

#include "control/jobs/state.h"

#define TRIB_PLAN_MISSED_PERCENT 20

/* Bytes per second of each rank, headers included. Planned 0: no plan has dealt the job. Achieved 0: some sending rank
 * has not been busy for TRIB_PROGRESS_NS yet. */
uint64_t trib_job_planned_rate(const struct trib_jobs *jobs, const struct trib_job *job);
uint64_t trib_job_achieved_rate(const struct trib_job *job);
/* True if the two are known, and the achieved rate differs from the planned one by TRIB_PLAN_MISSED_PERCENT or more: a
 * new plan is due. */
bool trib_job_misses_plan(const struct trib_jobs *jobs, const struct trib_job *job);
/* Takes a PROGRESS. Writes to the log when the job misses the plan for the first time. */
void trib_job_progress(struct trib_jobs *jobs, struct trib_job *job, uint32_t index,
                       const struct trib_message *message);

#endif
