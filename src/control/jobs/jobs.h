/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h: the entry points of the deciding part of the control plane. Messages and time come in; messages go out by
 * struct trib_jobs_output. No sockets, no clock, no threads. Read next: jobs.c, then connections.h (sessions), server.c
 * (the owner of both). */
#ifndef TRIB_CONTROL_JOBS_JOBS_H
#define TRIB_CONTROL_JOBS_JOBS_H

#include "control/jobs/state.h"

void trib_jobs_init(struct trib_jobs *jobs, const struct trib_server_config *config,
                    const struct trib_jobs_output *output);
/* Fails every communicator with the cause and frees all. */
void trib_jobs_deinit(struct trib_jobs *jobs, enum trib_status status, const char *text);
/* Takes one message of a session. False: an unexpected message; the session must end (trib_jobs_gone). */
bool trib_jobs_receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                       uint64_t now_ns);
/* The rank is at fault, and counts as dead. The caller ends the session. */
void trib_jobs_expel(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns);
/* The session has ended: the connection closed, broke, or was cut for `cause`. The caller frees the session
 * afterwards. */
void trib_jobs_gone(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns);
/* A slot saw two operations under one sequence. */
void trib_jobs_mismatch(struct trib_jobs *jobs, uint32_t communicator, uint64_t sequence, const uint32_t rank[2],
                        uint64_t now_ns);
/* The work that still needs this control plane. */
void trib_jobs_duties(const struct trib_jobs *jobs, struct trib_server_duties *duties);
uint64_t trib_jobs_next_timeout(struct trib_jobs *jobs);
void trib_jobs_on_timeout(struct trib_jobs *jobs, uint64_t now_ns);

#endif
