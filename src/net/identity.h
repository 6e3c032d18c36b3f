/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h: the identity of a switch, the same after each restart. */
#ifndef TRIB_NET_IDENTITY_H
#define TRIB_NET_IDENTITY_H

#include <stdint.h>

#include "net/address.h"

/* Identity of a switch that listens at this address; not 0. Equal at each start on the machine, in the network
 * namespace. Images of one machine share the machine id, so the host name counts as well. */
uint64_t trib_identity(const struct trib_address *listen);
/* Identity from a name given by the operator; not 0. */
uint64_t trib_identity_of(const char *name);

#endif
