/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h: which switch this is, in each of its lives. */
#ifndef TRIB_NET_IDENTITY_H
#define TRIB_NET_IDENTITY_H

#include <stdint.h>

#include "net/address.h"

/* Of a switch that listens there: the same whenever it is started on this machine, in this network namespace; not 0.
 * Images of one machine have its machine id, so the name of the host counts as well. */
uint64_t trib_identity(const struct trib_address *listen);
/* Of a name that the operator has given; not 0. */
uint64_t trib_identity_of(const char *name);

#endif
