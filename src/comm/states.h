/* SPDX-License-Identifier: Apache-2.0 */
/* states.h: the state of a communicator and of its session, which is one. Locked.
 * Read next: states.c (the table), join.c (the dialogue). */
#ifndef TRIB_COMM_STATES_H
#define TRIB_COMM_STATES_H

#include "comm/communicator.h"

/* The state of comm from now on. The table must allow it. */
void trib_comm_enter(struct trib_comm *comm, enum trib_comm_state state);

#endif
