/* SPDX-License-Identifier: Apache-2.0 */
/* ping.h: PING and PONG of ranks. Read next: ping.c. */
#ifndef TRIB_CONTROL_JOBS_PING_H
#define TRIB_CONTROL_JOBS_PING_H

#include "control/jobs/state.h"

/* PING or PONG has come. */
void trib_jobs_ping(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                    uint64_t now_ns);
/* A PING has come from a rank: sends PING to the agents elsewhere of the rank's job. */
void trib_jobs_pinged(struct trib_jobs *jobs, struct trib_session *session, uint64_t now_ns);

#endif
