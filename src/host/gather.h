/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h: rank 0's part of a rendezvous. For rendezvous.c alone. Read next: gather.c. */
#ifndef TRIB_HOST_GATHER_H
#define TRIB_HOST_GATHER_H

#include "host/hello.h"

/* Rank 0's part, until all messages are sent. Returns as trib_host_open. */
TRIB_MUST_USE enum trib_status trib_gather(struct trib_rendezvous *meeting);

#endif
