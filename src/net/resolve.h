/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h: addresses as users write them. Names and interfaces are looked up, which may take seconds.
 * Read next: nics.h (lists of addresses), address.h (text without names). */
#ifndef TRIB_NET_RESOLVE_H
#define TRIB_NET_RESOLVE_H

#include "net/address.h"

/* Reads "host", "host:port", "[v6]:port", "[v6%interface]:port", and resolves names, IPv4 first. Returns ERR_INVALID
 * with the cause in error, also for a multicast or broadcast address. */
TRIB_MUST_USE enum trib_status trib_address_parse(const char *text, uint16_t default_port, struct trib_address *address,
                                                  char *error);
/* Refuses each text that trib_address_parse refuses without a lookup. Returns ERR_INVALID with the cause in error. */
TRIB_MUST_USE enum trib_status trib_address_check(const char *text, char *error);

#endif
