/* SPDX-License-Identifier: Apache-2.0 */
/* job.h: one communicator: names of ranks, and the end of the whole communicator. Read next: job.c. */
#ifndef TRIB_CONTROL_JOBS_JOB_H
#define TRIB_CONTROL_JOBS_JOB_H

#include "control/jobs/state.h"

/* "rank 2 (10.0.0.3:41234)". text: 96 bytes. */
char *trib_job_name_rank(const struct trib_job *job, uint32_t rank, char *text);
/* True in JOINING if all joined ranks are lost: no rank is expected any more. */
bool trib_job_is_empty(const struct trib_job *job);
/* True if all ranks of the job are there, and have said JOIN. */
bool trib_job_is_complete(const struct trib_job *job);
/* The lowest present rank, or else the last rank. */
uint32_t trib_job_first_rank(const struct trib_job *job);
/* Enters a state that may follow the present state. */
void trib_job_enter(struct trib_job *job, enum trib_job_state state);
/* Ends a session after all sent messages. */
void trib_rank_let_go(struct trib_jobs *jobs, struct trib_rank *rank);
/* In a job that runs or is about to run: sends to a participating rank, which neither is gone nor waits outside. */
void trib_rank_tell(const struct trib_jobs *jobs, const struct trib_rank *rank, const struct trib_message *message);
/* Sends CLOSED to a rank that needs nothing any more, and ends the session. */
void trib_rank_send_closed(struct trib_jobs *jobs, struct trib_rank *rank);
/* Sends the cause to every rank (FAIL, or CLOSED to a closing rank), ends all sessions, and frees the communicator. */
void trib_job_fail(struct trib_jobs *jobs, struct trib_job *job, enum trib_status status, const char *text);
/* Closes the communicator's slots at all agents. */
void trib_job_close_plane(struct trib_jobs *jobs, struct trib_job *job);
/* Frees the job. All sessions must be gone or told. */
void trib_job_free(struct trib_jobs *jobs, struct trib_job *job);

#endif
