/* SPDX-License-Identifier: Apache-2.0 */
/* listener.h: where sessions, and HTTP, come to. */
#ifndef TRIB_CONTROL_LISTENER_H
#define TRIB_CONTROL_LISTENER_H

#include "net/address.h"

/* A TCP socket that listens on address, non-blocking. *bound gets the real port. ERR_REFUSED if another program has the
 * port, ERR_SYSTEM; error gets the cause. */
TRIB_MUST_USE enum trib_status trib_listener_open(const struct trib_address *address, int *fd,
                                                  struct trib_address *bound, char *error);

#endif
