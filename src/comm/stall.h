/* SPDX-License-Identifier: Apache-2.0 */
/* stall.h: an operation waits: STALL, and the answer, MISSING. Locked. */
#ifndef TRIB_COMM_STALL_H
#define TRIB_COMM_STALL_H

#include "comm/state.h"

/* The node waits. */
void trib_comm_report_stall(struct trib_comm *comm, const struct trib_event *event, uint64_t now_ns);
/* True if the fragment that stalled last has come, or all others have it. */
bool trib_comm_stall_is_over(const struct trib_comm *comm);
void trib_comm_take_missing(struct trib_comm *comm, const struct trib_message *message);

#endif
