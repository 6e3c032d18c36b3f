/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h: RING: the switch makes a ring of the job. Locked. */
#ifndef TRIB_COMM_RING_H
#define TRIB_COMM_RING_H

#include "comm/state.h"

void trib_comm_take_ring(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns);

#endif
