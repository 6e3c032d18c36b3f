/* SPDX-License-Identifier: Apache-2.0 */
/* local.h: communicators in the memory of one host. Locked, all but trib_comm_open_host. */
#ifndef TRIB_COMM_LOCAL_H
#define TRIB_COMM_LOCAL_H

#include "comm/communicator.h"

/* Meets the other ranks. Not locked: the communicator has no endpoint yet. maker: NULL, or the communicator that it is
 * made of, whose failure ends it. Returns as trib_comm_create. */
TRIB_MUST_USE enum trib_status trib_comm_open_host(struct trib_comm *comm, const struct trib_comm *maker, char *error);
/* Operations, as far as they go without waiting. */
void trib_comm_run_host(struct trib_comm *comm, uint64_t now_ns);
/* Takes a verdict of trib_host_advance, all but DONE: fails, or waits. */
void trib_comm_take_host_verdict(struct trib_comm *comm, enum trib_host_verdict verdict);
/* Names the ranks that the operation waits for. */
void trib_comm_report_host_stall(struct trib_comm *comm, uint64_t now_ns);
/* Takes what poll said of its descriptors. Returns their number. */
uint32_t trib_comm_host_ready(struct trib_comm *comm, const struct pollfd *answers);

#endif
