/* SPDX-License-Identifier: Apache-2.0 */
/* move.h: a communicator leaves its switch and goes on at rank 0. Locked. */
#ifndef TRIB_COMM_MOVE_H
#define TRIB_COMM_MOVE_H

#include "comm/state.h"

/* Goes on without the switch, or fails. */
void trib_comm_move(struct trib_comm *comm, uint64_t now_ns);
/* Takes the meeting place from WELCOME. */
void trib_comm_learn_meeting(struct trib_comm *comm, const struct trib_address *meeting);

#endif
