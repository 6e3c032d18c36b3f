/* SPDX-License-Identifier: Apache-2.0 */
/* processes.h: which communicators a process is in. A process has one socket for each root, for all its communicators:
 * so its communicators have the same switches (trees.h). A hash table finds them, whatever other jobs there are
 * (CONTROLLER C-22). There is no table before the first question, so that a control plane without a choice of switches
 * has no memory for it. Read next: processes.c. */
#ifndef TRIB_CONTROL_PROCESSES_H
#define TRIB_CONTROL_PROCESSES_H

#include "control/jobs/jobs.h"

/* There is a table from now on. False: out of memory. */
TRIB_MUST_USE bool trib_processes_start(struct trib_jobs *jobs);
/* Rank `index` of the job has another process, or none, from now on: its hash is written by nothing else. */
void trib_process_enter(struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* Before the rank has another, or none. */
void trib_process_leave(struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* The job ends. */
void trib_processes_leave(struct trib_jobs *jobs, struct trib_job *job);

/* A search that starts anew: no job has been found by it. */
void trib_processes_begin(struct trib_jobs *jobs);
/* Adds jobs to the list, which has `count` and room for all jobs: each one that has a process of this job, and was not
 * found by this search. Returns how many the list has then. The job itself counts as found. */
uint32_t trib_processes_find(struct trib_jobs *jobs, struct trib_job *job, struct trib_job **list, uint32_t count);
/* This search has found it. */
static inline bool trib_processes_is_found(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->found == jobs->search;
}
/* Ends the program if the table is not one of all processes of all jobs. */
void trib_processes_check(const struct trib_jobs *jobs);
void trib_processes_deinit(struct trib_jobs *jobs);

#endif
