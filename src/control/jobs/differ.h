/* SPDX-License-Identifier: Apache-2.0 */
/* differ.h: ranks of one job with different settings. Read next: differ.c. */
#ifndef TRIB_CONTROL_JOBS_DIFFER_H
#define TRIB_CONTROL_JOBS_DIFFER_H

#include "control/jobs/state.h"

/* Writes the settings in which the JOIN and the job's ranks differ. The job
 * must have ranks. False: no difference. */
bool trib_job_differs(const struct trib_job *job, const struct trib_message *join, char *error);
/* A rank has come: notes the differences between the job and siblings, if any. */
void trib_job_note_siblings(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* The job is complete: ends the siblings. */
void trib_job_prevail(struct trib_jobs *jobs, const struct trib_job *job);
/* True if the job and its siblings may have to end now. */
bool trib_job_is_to_part(const struct trib_job *job, uint64_t now_ns);
/* Ends the jobs that are due to part. */
void trib_jobs_part(struct trib_jobs *jobs, uint64_t now_ns);

#endif
