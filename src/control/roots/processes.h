/* SPDX-License-Identifier: Apache-2.0 */
/* processes.h: which communicators a process is in. A process has one socket for each root, for all its communicators:
 * so its communicators have the same switches (trees.h), and share one window (jobs/admission.c). A hash table finds
 * them, whatever other jobs there are (CONTROLLER C-22). A process behind a switch below is one of that switch: it is
 * bound to none of several. Read next: processes.c. */
#ifndef TRIB_CONTROL_PROCESSES_H
#define TRIB_CONTROL_PROCESSES_H

#include "control/jobs/jobs.h"

/* There is a table from now on: before the first job begins. False: out of memory. */
TRIB_MUST_USE bool trib_processes_start(struct trib_jobs *jobs);
/* Rank `index` of the job has this process from now on: its hash is set. */
void trib_process_enter(struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* Before the rank has another, or none. */
void trib_process_leave(struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* The job ends. */
void trib_processes_leave(struct trib_jobs *jobs, struct trib_job *job);

/* A search that starts anew: no job has been found by it. */
void trib_processes_begin(struct trib_jobs *jobs);
/* Adds jobs to the list, which has `count` and room for all jobs: each one that has a process of this job that is not
 * behind a switch below, and was not found by this search. Returns how many the list has then. The job itself counts as
 * found. */
uint32_t trib_processes_find(struct trib_jobs *jobs, struct trib_job *job, struct trib_job **list, uint32_t count);
/* Bytes that this search has counted for the process of this rank, 0 at first. Valid until the table changes. */
uint64_t *trib_process_bytes(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t index);
/* This search has found it. */
static inline bool trib_processes_is_found(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->found == jobs->search;
}
/* Ends the program if the table is not one of all processes of all jobs. */
void trib_processes_check(const struct trib_jobs *jobs);
void trib_processes_deinit(struct trib_jobs *jobs);

#endif
