/* SPDX-License-Identifier: Apache-2.0 */
/* nics.h: several network cards at once: lists of this machine's addresses, as users write them, and of other
 * machines'. Nothing here is about packets.
 * Read next: nics.c, port.h (packets from one of them). */
#ifndef TRIB_NET_NICS_H
#define TRIB_NET_NICS_H

#include "core/node.h"
#include "net/address.h"

/* Shard or root t has to do with address t mod count. */
struct trib_address_list {
    uint32_t count;
    struct trib_address at[TRIB_ROOTS_MAX];
};

#define TRIB_OTHERS_MAX 127

/* Of other machines. */
struct trib_others {
    uint32_t count;
    struct trib_address at[TRIB_OTHERS_MAX];
};

/* "host[:port],host[:port]...": as trib_address_parse, each. Several must be of one family, have one port, be
 * different, and say which address they mean (not 0.0.0.0). *list is written only on success. Returns ERR_INVALID with
 * the cause in error. */
TRIB_MUST_USE enum trib_status trib_address_list_parse(const char *text, uint16_t default_port,
                                                       struct trib_address_list *list, char *error);
/* As that, of other machines: each may have a port of its own, and two may be on one machine. None may be there
 * twice. */
TRIB_MUST_USE enum trib_status trib_others_parse(const char *text, uint16_t default_port, struct trib_others *others,
                                                 char *error);
/* "10.0.0.1,10.0.1.1", "eth0,eth1": addresses or interfaces of this machine, of the family of `peer`; port 0. A cause
 * says what this machine has. *list is written only on success. Returns ERR_INVALID. */
TRIB_MUST_USE enum trib_status trib_nics_parse(const char *text, const struct trib_address *peer,
                                               struct trib_address_list *list, char *error);
/* "eth0 10.0.0.1, eth1 10.0.1.1, lo 127.0.0.1": what this machine has that is up; family AF_UNSPEC: all. "none" if
 * there is nothing. */
void trib_nics_describe(int family, char *text, size_t size);
/* The address that packets for peer leave from when their socket is bound to none, as the routes are now. False: there
 * is no way, as errno says. */
bool trib_nics_source(const struct trib_address *peer, struct trib_address *local);
/* Can a socket here have this address, whatever its port? */
bool trib_address_is_local(const struct trib_address *address);

#endif
