/* SPDX-License-Identifier: Apache-2.0 */
/* marks.h: the marks of ranks, and M. Read next: marks.c. */
#ifndef TRIB_CONTROL_JOBS_MARKS_H
#define TRIB_CONTROL_JOBS_MARKS_H

#include "control/jobs/state.h"

/* The mark of rank `index` goes to where the job is summed. */
void trib_job_tell_places(struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* Passes a rank's mark to the agents, and answers M. False: out of turn. */
bool trib_job_take_mark(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark);
/* Sends M to the ranks that have sent a mark above the earlier M, and releases ranks that only wait to leave; not
 * before READY. Packets also raise M, unseen from here. So M is read again, at growing intervals, while a rank
 * waits. */
void trib_job_update_marks(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* The same, where no rank has left or is about to since, without a look at each rank if M has not risen. */
void trib_job_look_at_marks(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* Ends the job without an error if all ranks have sent CLOSE: then no rank needs anything any more. */
bool trib_job_close_if_all(struct trib_jobs *jobs, struct trib_job *job);
/* Rank `index`, which has sent CLOSE, is back from behind a lost switch. The session replaces the rank's old session
 * and waits for CLOSED. */
void trib_job_await_closed(struct trib_jobs *jobs, struct trib_job *job, struct trib_session *session, uint32_t index,
                           uint64_t now_ns);

#endif
