/* SPDX-License-Identifier: Apache-2.0 */
/* silent.h: PING, to a switch with a process that may be stopped. Locked. */
#ifndef TRIB_COMM_SILENT_H
#define TRIB_COMM_SILENT_H

#include "comm/state.h"

/* Time of the next question, ns. NEVER: comm does not wait for the switch. */
uint64_t trib_comm_ping_deadline(const struct trib_comm *comm);
void trib_comm_ping(struct trib_comm *comm, uint64_t now_ns);

#endif
