/* SPDX-License-Identifier: Apache-2.0 */
/* join.h: the rank's side of the dialogue with the control plane. Locked. */
#ifndef TRIB_COMM_JOIN_H
#define TRIB_COMM_JOIN_H

#include "comm/state.h"

/* Takes poll's answer about the session. */
void trib_comm_session_ready(struct trib_comm *comm, short revents, uint64_t now_ns);
/* Takes all messages by now. A rank that was off its core past a deadline may have an answer in its socket, and the
 * error needs the cause in it. */
void trib_comm_read_session(struct trib_comm *comm, uint64_t now_ns);
/* Timers of the dialogue. */
void trib_comm_session_timeout(struct trib_comm *comm, uint64_t now_ns);
uint64_t trib_comm_session_deadline(const struct trib_comm *comm);

#endif
