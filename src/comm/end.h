/* SPDX-License-Identifier: Apache-2.0 */
/* end.h: how a communicator ends: it fails, or has been closed. Locked. */
#ifndef TRIB_COMM_END_H
#define TRIB_COMM_END_H

#include "comm/state.h"

/* Ends the communicator: all requests end with status. The first failure stays. */
__attribute__((format(printf, 3, 4))) void trib_comm_fail(struct trib_comm *comm, enum trib_status status,
                                                          const char *format, ...);
/* As fail, and tells the other ranks. */
__attribute__((format(printf, 3, 4))) void trib_comm_fail_all(struct trib_comm *comm, enum trib_status status,
                                                              const char *format, ...);
/* Fails because the control plane has sent a message that is not allowed now. */
void trib_comm_refuse_turn(struct trib_comm *comm, enum trib_message_kind kind);
/* In the child of a fork: comm has failed, has no descriptor, and its requests have ended. Tells no other rank. */
void trib_comm_abandon(struct trib_comm *comm);
/* Ends the communicator without an error: no other rank needs this one. */
void trib_comm_leave(struct trib_comm *comm);
/* For calls that begin work: OK, or the failure that has ended comm. A communicator that another rank has closed
 * fails now. */
TRIB_MUST_USE enum trib_status trib_comm_check_open(struct trib_comm *comm);

#endif
