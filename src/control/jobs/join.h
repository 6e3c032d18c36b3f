/* SPDX-License-Identifier: Apache-2.0 */
/* join.h: the rules of JOIN. Read next: join.c. */
#ifndef TRIB_CONTROL_JOBS_JOIN_H
#define TRIB_CONTROL_JOBS_JOIN_H

#include "control/jobs/state.h"

/* Takes a JOIN; answers at once if the JOIN must be refused. */
void trib_job_join(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                   uint64_t now_ns);

#endif
