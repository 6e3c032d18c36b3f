/* SPDX-License-Identifier: Apache-2.0 */
/* find.h: finds jobs by communicator, name or time. Read next: find.c. */
#ifndef TRIB_CONTROL_JOBS_FIND_H
#define TRIB_CONTROL_JOBS_FIND_H

#include "control/jobs/state.h"

struct trib_job *trib_jobs_find_communicator(const struct trib_jobs *jobs, uint32_t communicator);
/* First job of a list, linked by next_named, of all jobs with the name, the youngest first. The list may have jobs of
 * other names. */
struct trib_job *trib_jobs_named(const struct trib_jobs *jobs, const char *name);
/* Sets the job's grant. Nothing else changes the communicator id of a job. */
void trib_job_take_grant(struct trib_jobs *jobs, struct trib_job *job, const struct trib_grant *grant);
/* Time of the job's next action. */
uint64_t trib_job_timeout(const struct trib_job *job);
/* Updates the queue after trib_job_timeout may have become earlier. */
void trib_job_queue(struct trib_jobs *jobs, struct trib_job *job);
/* The job with the earliest time; NULL: there is none. */
struct trib_job *trib_jobs_next_due(struct trib_jobs *jobs);
/* Adds a job that waits for an agent to jobs->waiting, unless already there. */
void trib_job_wait(struct trib_jobs *jobs, struct trib_job *job);
/* Removes the job from jobs->waiting, if there. */
void trib_job_stop_waiting(struct trib_job *job);
/* Adds the job at the head of the list of all jobs, and removes it. */
void trib_jobs_add(struct trib_jobs *jobs, struct trib_job *job);
void trib_jobs_remove(struct trib_jobs *jobs, struct trib_job *job);

#endif
