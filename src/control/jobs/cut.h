/* SPDX-License-Identifier: Apache-2.0 */
/* cut.h: the end of a session without a message. Read next: cut.c. */
#ifndef TRIB_CONTROL_JOBS_CUT_H
#define TRIB_CONTROL_JOBS_CUT_H

#include "control/jobs/state.h"

/* The session of a rank has ended without a message. True: the rank may come back, and all ranks are recalled. False:
 * the rank is dead; nothing has changed. */
bool trib_job_cut(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns);
/* The session of rank `index` has ended, and the rank may be dead. If all ranks were recalled, and wait for no other
 * such rank, the wait for the rank ends after TRIB_CUT_NS. */
void trib_job_miss(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const char *cause, uint64_t now_ns);
/* Rank `index` has come back. */
void trib_job_heal(const struct trib_jobs *jobs, struct trib_job *job, uint32_t index);
/* The cut rank has not come back in time: ends the job by the death of that rank. */
void trib_job_end_cut(struct trib_jobs *jobs, struct trib_job *job);

#endif
