/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h: whether a job keeps the rate of its plan. Ranks of a planned job send PROGRESS. Time in which a rank has
 * no operation under way does not count. A rank that waits for another one is busy. So the rate of a job is that of its
 * fastest rank: the other ranks have waited for that one.
 * Read next: comm/progress.h (what a rank tells), server/metrics.c (where it is shown). */
#ifndef TRIB_CONTROL_PROGRESS_H
#define TRIB_CONTROL_PROGRESS_H

#include "control/jobs/jobs.h"

#define TRIB_PLAN_MISSED_PERCENT 20

/* Bytes per second of each rank, headers included. Planned 0: no plan has dealt the job. Achieved 0: not every rank
 * that sends has been busy for TRIB_PROGRESS_NS yet. */
uint64_t trib_job_planned_rate(const struct trib_jobs *jobs, const struct trib_job *job);
uint64_t trib_job_achieved_rate(const struct trib_job *job);
/* True if the two are known, and the achieved rate differs from the planned one by TRIB_PLAN_MISSED_PERCENT or more: a
 * new plan is due. */
bool trib_job_misses_plan(const struct trib_jobs *jobs, const struct trib_job *job);
/* Takes a PROGRESS. Writes to the log when the job misses its plan for the first time. */
void trib_job_progress(struct trib_jobs *jobs, struct trib_job *job, uint32_t index,
                       const struct trib_message *message);

#endif
