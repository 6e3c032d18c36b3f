/* SPDX-License-Identifier: Apache-2.0 */
/* send.h: packets out, by the endpoint's sockets. Locked. */
#ifndef TRIB_COMM_SEND_H
#define TRIB_COMM_SEND_H

#include "comm/state.h"

/* Sends to that root or peer; the caller flushes. */
void trib_comm_send(struct trib_comm *comm, uint32_t root, const struct trib_packet *packet);
/* All packets since the last flush were comm's: counts them, and hands them to the kernel. */
void trib_comm_flush(struct trib_comm *comm);

#endif
