/* SPDX-License-Identifier: Apache-2.0 */
/* turn.h: a communicator's turn in the loop. Read next: turn.c. */
#ifndef TRIB_COMM_TURN_H
#define TRIB_COMM_TURN_H

#include "comm/state.h"

/* Timers, packets out, events, and the next deadline. */
void trib_comm_settle(struct trib_comm *comm, uint64_t now_ns);
/* Hands the request to the transport, or queues it; packets leave when the caller settles. The communicator has not
 * failed. */
void trib_comm_submit(struct trib_comm *comm, struct trib_request *request, uint64_t now_ns);

#endif
