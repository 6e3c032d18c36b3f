/* SPDX-License-Identifier: Apache-2.0 */
/* local.h: begins a communicator with all ranks on one host. local.c has its transport. */
#ifndef TRIB_COMM_LOCAL_H
#define TRIB_COMM_LOCAL_H

#include "comm/state.h"

/* Meets the other ranks. Not locked: the communicator has no endpoint yet. maker: NULL, or the communicator that
 * made it; if the maker fails, comm fails. Returns as trib_comm_create. */
TRIB_MUST_USE enum trib_status trib_comm_open_host(struct trib_comm *comm, struct trib_comm *maker, char *error);
#endif
