/* SPDX-License-Identifier: Apache-2.0 */
/* processes.h: finds the communicators of a process. A process has one socket for each root, for all communicators. So
 * all communicators of a process have the same switches (trees.h), and share one window (jobs/admission.c). A hash
 * table finds the communicators, independent of the number of other jobs (CONTROLLER C-22). A process behind a switch
 * below belongs to that switch, and is not bound to one of several switches. Read next: processes.c. */
#ifndef TRIB_CONTROL_PROCESSES_H
#define TRIB_CONTROL_PROCESSES_H

#include "control/jobs/state.h"

/* There is a table from now on: before the first job begins. False: out of memory. */
TRIB_MUST_USE bool trib_processes_start(struct trib_jobs *jobs);
/* Enters the process of rank `index` of the job; the rank's hash is set. */
void trib_process_enter(struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* Before the rank has another, or none. */
void trib_process_leave(struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* The job ends. */
void trib_processes_leave(struct trib_jobs *jobs, struct trib_job *job);

/* Begins a search: no job is found yet. */
void trib_processes_begin(struct trib_jobs *jobs);
/* Adds to the list each job that shares a process with this job and was not found by the search; processes behind a
 * switch below do not count. The list has `count` jobs, and room for all jobs. Returns the new count. The job itself
 * counts as found. */
uint32_t trib_processes_find(struct trib_jobs *jobs, struct trib_job *job, struct trib_job **list, uint32_t count);
/* Pointer to the bytes counted by the search for the process of the rank, 0 at first. Valid until the table changes. */
uint64_t *trib_process_bytes(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t index);
/* True if the search has found the job. */
static inline bool trib_processes_is_found(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->found == jobs->search;
}
/* Ends the program if the table is not one of all processes of all jobs. */
void trib_processes_check(const struct trib_jobs *jobs);
void trib_processes_deinit(struct trib_jobs *jobs);

#endif
