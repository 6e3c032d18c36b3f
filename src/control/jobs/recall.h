/* SPDX-License-Identifier: Apache-2.0 */
/* recall.h: the end of an incarnation. Read next: recall.c, cut.h. */
#ifndef TRIB_CONTROL_JOBS_RECALL_H
#define TRIB_CONTROL_JOBS_RECALL_H

#include "control/jobs/state.h"

/* Ends the incarnation of a communicator with a grant, because of `lost`. All ranks get RECALL, and are expected back.
 * If a dispute is not settled, the job ends instead, and may be gone. */
void trib_job_recall(struct trib_jobs *jobs, struct trib_job *job, const char *lost, uint64_t now_ns);
/* True if the message has crossed a RECALL, and so has no effect. JOIN, which answers RECALL, has an effect, and so has
 * ABORT, as no JOIN follows. */
bool trib_job_drops(struct trib_jobs *jobs, const struct trib_session *session, const struct trib_message *message);
/* Frees the place of a recalled session, which then joins like a new one. */
void trib_job_leave_place(struct trib_session *session);

#endif
