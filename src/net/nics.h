/* SPDX-License-Identifier: Apache-2.0 */
/* nics.h: several NICs at once: lists of this machine's addresses, as users write them, and of other machines'
 * addresses. No packets here.
 * Read next: nics.c, port.h (packets from one of them). */
#ifndef TRIB_NET_NICS_H
#define TRIB_NET_NICS_H

#include <tributary/comm.h>

#include "net/address.h"

#define TRIB_ADDRESSES_MAX 16 /* of one machine: network cards, or places where a switch listens */

/* Shard or root t uses address t mod count. */
struct trib_address_list {
    uint32_t count;
    struct trib_address at[TRIB_ADDRESSES_MAX];
};

#define TRIB_OTHERS_MAX 127

/* Addresses of other machines. */
struct trib_others {
    uint32_t count;
    struct trib_address at[TRIB_OTHERS_MAX];
};

/* Reads "host[:port],host[:port]...", each as trib_address_parse. Several addresses must have one family and one port,
 * differ, and not be 0.0.0.0. *list is written only on success. Returns ERR_INVALID with the cause in error. */
TRIB_MUST_USE enum trib_status trib_address_list_parse(const char *text, uint16_t default_port,
                                                       struct trib_address_list *list, char *error);
/* As trib_address_list_parse, for other machines: each address may have a port of its own, and two may be on one
 * machine. Duplicates are refused. */
TRIB_MUST_USE enum trib_status trib_others_parse(const char *text, uint16_t default_port, struct trib_others *others,
                                                 char *error);
/* Reads "10.0.0.1,10.0.1.1" or "eth0,eth1": addresses or interfaces of this machine, of the family of `peer`; port 0.
 * The cause lists this machine's interfaces. *list is written only on success. Returns ERR_INVALID. */
TRIB_MUST_USE enum trib_status trib_nics_parse(const char *text, const struct trib_address *peer,
                                               struct trib_address_list *list, char *error);
/* Writes "eth0 10.0.0.1, eth1 10.0.1.1, lo 127.0.0.1": this machine's addresses on interfaces that are up; family
 * AF_UNSPEC: all families. "none" if there is no such address. */
void trib_nics_describe(int family, char *text, size_t size);
/* Source address of packets to peer from an unbound socket, by the present routes. False: no route, and errno is set.
 */
bool trib_nics_source(const struct trib_address *peer, struct trib_address *local);
/* True if a socket of this machine can bind the address, whatever the port. */
bool trib_address_is_local(const struct trib_address *address);

#endif
