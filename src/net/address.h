/* SPDX-License-Identifier: Apache-2.0 */
/* address.h: socket addresses as values: text and back, comparison, scopes, ports, and properties of their family. No
 * socket and no system call, so that code without input and output can hold and compare addresses.
 * Read next: resolve.h (names), port.h (packets between addresses). */
#ifndef TRIB_NET_ADDRESS_H
#define TRIB_NET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <tributary/comm.h>

#define TRIB_HOST_MAX 255 /* letters of a host's name */

/* A socket address, IPv4 or IPv6, with its length. */
struct trib_address {
    struct sockaddr_storage storage;
    socklen_t len;
    /* Local source address of packets to this destination, network order (IPv4: the first four bytes); zeros: the
     * kernel chooses. For unbound sockets. Only destinations have a source: it is neither compared nor sent. */
    uint8_t source[16];
};

/* Writes "1.2.3.4:7470", "[::1]:7470", "[fe80::1%eth0]:7470". text: 64 bytes. */
void trib_address_format(const struct trib_address *address, char *text);
/* Host order, both. */
struct trib_address trib_address_v4(uint32_t host, uint16_t port);
/* Advice for an errno of bind(2): ": choose another ...", or "". */
const char *trib_address_advice(int cause);
/* Cuts "host", "host:port" or "[v6%interface]:port" into host, TRIB_HOST_MAX + 1 bytes, and port. *port is only written
 * if the text has one. No name is looked up. Returns ERR_INVALID with the cause in error. */
TRIB_MUST_USE enum trib_status trib_address_cut(const char *text, char *host, uint16_t *port, char *error);
/* Reads a text of trib_address_format: no name is looked up, and the port is required. False: another text. */
bool trib_address_read(const char *text, struct trib_address *address);
/* Reads "10.0.1.0/24", "fd00::/64", or one address without a port, which has all its bits. False: another text. */
bool trib_subnet_read(const char *text, struct trib_address *at, uint32_t *bits);
/* True if the address has the subnet's family and its first `bits` bits. */
bool trib_address_is_within(const struct trib_address *address, const struct trib_address *subnet, uint32_t bits);
/* Sets the source of packets to `address` to `from`. If `from` is 0.0.0.0 or ::, or has another family, the kernel
 * chooses. */
void trib_address_set_source(struct trib_address *address, const struct trib_address *from);
bool trib_address_equal(const struct trib_address *a, const struct trib_address *b);     /* family, address, port */
bool trib_address_same_host(const struct trib_address *a, const struct trib_address *b); /* family and address */
/* A number equal for all addresses of one host: the IPv4 address, or the IPv6 network (a /64). */
uint64_t trib_address_near(const struct trib_address *address);
bool trib_address_is_loopback(const struct trib_address *address);
/* True if the address means the same on every machine: no wildcard, no link-local address. */
bool trib_address_is_known_everywhere(const struct trib_address *address);
uint16_t trib_address_port(const struct trib_address *address);
void trib_address_set_port(struct trib_address *address, uint16_t port);
bool trib_address_is_any(const struct trib_address *address);        /* 0.0.0.0 or :: */
bool trib_address_is_group(const struct trib_address *address);      /* multicast, or all on a link */
bool trib_address_is_link_local(const struct trib_address *address); /* fe80::1: valid on one link only */
uint32_t trib_address_scope(const struct trib_address *address);     /* the interface's index; 0: none */
bool trib_address_is_mapped(const struct trib_address *address); /* ::ffff:1.2.3.4: an IPv4 peer of an IPv6 socket */
void trib_address_unmap(struct trib_address *address);           /* such an address becomes the IPv4 address in it */
/* Bytes of the IP header of packets to this address. */
uint32_t trib_address_ip_size(const struct trib_address *address);
/* Largest payload of a packet that fits an MTU of 1500 with `behind` bytes after the payload: 1408; over IPv6 or with
 * an authenticator 1344. */
uint32_t trib_address_payload(const struct trib_address *address, uint32_t behind);

#endif
