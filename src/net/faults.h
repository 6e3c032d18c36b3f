/* SPDX-License-Identifier: Apache-2.0 */
/* faults.h: the injector as a carrier, above all other carriers of a port. For src/net only. Read next: inject.h. */
#ifndef TRIB_NET_FAULTS_H
#define TRIB_NET_FAULTS_H

#include "net/carrier.h"

/* Makes a carrier that applies faults to packets of at most packet_max bytes, above `below`. NULL: out of memory. */
struct trib_carrier *trib_faults_create(const struct trib_faults *faults, size_t packet_max,
                                        struct trib_carrier *below);

#endif
