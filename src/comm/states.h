/* SPDX-License-Identifier: Apache-2.0 */
/* states.h: the state of a communicator and of its session, which is one, and its transport. Locked.
 * Read next: states.c (the table), join.c (the dialogue). */
#ifndef TRIB_COMM_STATES_H
#define TRIB_COMM_STATES_H

#include "comm/state.h"

/* The state of comm from now on. The table must allow it. */
void trib_comm_enter(struct trib_comm *comm, enum trib_comm_state state);

/* True if comm, which has no node yet, may have the transport from now on. */
bool trib_comm_may_take(const struct trib_comm *comm, enum trib_transport_kind kind);
/* The transport of comm from now on. comm may take it. */
void trib_comm_take_transport(struct trib_comm *comm, const struct trib_transport *transport);

#endif
