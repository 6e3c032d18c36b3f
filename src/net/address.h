/* SPDX-License-Identifier: Apache-2.0 */
/* address.h: socket addresses as values: text and back, comparison, scopes, ports, and what follows from their family.
 * No socket and no call of the system, so that code that only decides can hold and compare them.
 * Read next: resolve.h (names), port.h (packets between addresses). */
#ifndef TRIB_NET_ADDRESS_H
#define TRIB_NET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <tributary/comm.h>

#define TRIB_HOST_MAX 255 /* letters of a host's name */

/* An address of any family we speak, with its length. */
struct trib_address {
    struct sockaddr_storage storage;
    socklen_t len;
    /* What is sent there leaves from this address of ours, in network order (IPv4: the first four bytes); zeros: the
     * kernel chooses. For sockets that are bound to none. Only a place to send to has it: it is not compared, and does
     * not travel. */
    uint8_t source[16];
};

/* "1.2.3.4:7470", "[::1]:7470", "[fe80::1%eth0]:7470". text: 64 bytes. */
void trib_address_format(const struct trib_address *address, char *text);
/* Host order, both. */
struct trib_address trib_address_v4(uint32_t host, uint16_t port);
/* What to do when bind(2) failed with this errno: ": choose another ...", or "". */
const char *trib_address_advice(int cause);
/* Cuts "host", "host:port" or "[v6%interface]:port" into host, TRIB_HOST_MAX + 1 bytes, and port. *port is only written
 * if the text has one. No name is looked up. Returns ERR_INVALID with the cause in error. */
TRIB_MUST_USE enum trib_status trib_address_cut(const char *text, char *host, uint16_t *port, char *error);
/* As trib_address_format has written it: no name is looked up, and a port is there. False: it is none such. */
bool trib_address_read(const char *text, struct trib_address *address);
/* "10.0.1.0/24", "fd00::/64", or one address without a port, which has all its bits. False: it is none such. */
bool trib_subnet_read(const char *text, struct trib_address *at, uint32_t *bits);
/* Has it the first `bits` of the subnet's, and its family? */
bool trib_address_is_within(const struct trib_address *address, const struct trib_address *subnet, uint32_t bits);
/* What is sent to `address` leaves from `from`, of the same family; if that is 0.0.0.0 or ::, or of another family, as
 * the kernel chooses. */
void trib_address_set_source(struct trib_address *address, const struct trib_address *from);
bool trib_address_equal(const struct trib_address *a, const struct trib_address *b);     /* family, address, port */
bool trib_address_same_host(const struct trib_address *a, const struct trib_address *b); /* family and address */
/* A number that is the same for all addresses that one host may have: its IPv4 address, or its network of IPv6 (a
 * /64). */
uint64_t trib_address_near(const struct trib_address *address);
bool trib_address_is_loopback(const struct trib_address *address);
/* Means the same to every machine: no wildcard, and no address of one link. */
bool trib_address_is_known_everywhere(const struct trib_address *address);
uint16_t trib_address_port(const struct trib_address *address);
void trib_address_set_port(struct trib_address *address, uint16_t port);
bool trib_address_is_any(const struct trib_address *address);        /* 0.0.0.0 or :: */
bool trib_address_is_group(const struct trib_address *address);      /* multicast, or all on a link */
bool trib_address_is_link_local(const struct trib_address *address); /* fe80::1: means something on one link only */
uint32_t trib_address_scope(const struct trib_address *address);     /* the interface's index; 0: none */
bool trib_address_is_mapped(const struct trib_address *address); /* ::ffff:1.2.3.4: an IPv4 peer of an IPv6 socket */
void trib_address_unmap(struct trib_address *address);           /* such an address becomes the IPv4 address in it */
/* Bytes of the IP header on the way there. */
uint32_t trib_address_ip_size(const struct trib_address *address);
/* The largest payload whose packet, with so many bytes behind the payload, fits an MTU of 1500 on the way there: 1408,
 * over IPv6 or with an authenticator 1344. */
uint32_t trib_address_payload(const struct trib_address *address, uint32_t behind);

#endif
