/* SPDX-License-Identifier: Apache-2.0 */
/* address.c: see address.h. No system call, except in scope.c for the name of a scope. */
#include "net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/packet.h"
#include "io/explain.h"
#include "net/scope.h"

#define TEXT_SIZE 64
#define ETHERNET_MTU 1500
#define UDP_HEADER_SIZE 8

/* The port's place is equal in both families only by luck: each access copies, so that no struct is aliased. */
static struct sockaddr_in get_v4(const struct trib_address *address)
{
    struct sockaddr_in v4;
    memcpy(&v4, &address->storage, sizeof v4);
    return v4;
}

static struct sockaddr_in6 get_v6(const struct trib_address *address)
{
    struct sockaddr_in6 v6;
    memcpy(&v6, &address->storage, sizeof v6);
    return v6;
}

struct trib_address trib_address_v4(uint32_t host, uint16_t port)
{
    const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(host)};
    struct trib_address address = {.len = sizeof v4};
    memcpy(&address.storage, &v4, sizeof v4);
    return address;
}

uint16_t trib_address_port(const struct trib_address *address)
{
    switch (address->storage.ss_family) {
    case AF_INET:
        return ntohs(get_v4(address).sin_port);
    case AF_INET6:
        return ntohs(get_v6(address).sin6_port);
    default:
        return 0;
    }
}

void trib_address_set_port(struct trib_address *address, uint16_t port)
{
    if (address->storage.ss_family == AF_INET) {
        struct sockaddr_in v4 = get_v4(address);
        v4.sin_port = htons(port);
        memcpy(&address->storage, &v4, sizeof v4);
    } else if (address->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 v6 = get_v6(address);
        v6.sin6_port = htons(port);
        memcpy(&address->storage, &v6, sizeof v6);
    }
}

void trib_address_set_source(struct trib_address *address, const struct trib_address *from)
{
    memset(address->source, 0, sizeof address->source);
    if (address->storage.ss_family != from->storage.ss_family) {
        return;
    }
    if (from->storage.ss_family == AF_INET) {
        struct sockaddr_in v4 = get_v4(from);
        memcpy(address->source, &v4.sin_addr, sizeof v4.sin_addr);
    } else if (from->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 v6 = get_v6(from);
        memcpy(address->source, &v6.sin6_addr, sizeof v6.sin6_addr);
    }
}

bool trib_address_equal(const struct trib_address *a, const struct trib_address *b)
{
    if (a->storage.ss_family != b->storage.ss_family) {
        return false;
    }
    if (a->storage.ss_family == AF_INET) {
        struct sockaddr_in x = get_v4(a);
        struct sockaddr_in y = get_v4(b);
        return x.sin_addr.s_addr == y.sin_addr.s_addr && x.sin_port == y.sin_port;
    }
    if (a->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 x = get_v6(a);
        struct sockaddr_in6 y = get_v6(b);
        return memcmp(&x.sin6_addr, &y.sin6_addr, sizeof x.sin6_addr) == 0 && x.sin6_port == y.sin6_port &&
               x.sin6_scope_id == y.sin6_scope_id;
    }
    return false;
}

bool trib_address_same_host(const struct trib_address *a, const struct trib_address *b)
{
    struct trib_address of_a = *a;
    struct trib_address of_b = *b;
    trib_address_set_port(&of_a, 0);
    trib_address_set_port(&of_b, 0);
    return trib_address_equal(&of_a, &of_b);
}

uint64_t trib_address_near(const struct trib_address *address)
{
    uint64_t near = 0;
    struct trib_address at = *address;
    trib_address_unmap(&at);
    if (at.storage.ss_family != AF_INET6) {
        return at.storage.ss_family == AF_INET ? get_v4(&at).sin_addr.s_addr : UINT64_MAX;
    }
    struct sockaddr_in6 v6 = get_v6(&at);
    memcpy(&near, &v6.sin6_addr, sizeof near);
    return near;
}

bool trib_address_is_any(const struct trib_address *address)
{
    if (address->storage.ss_family == AF_INET) {
        return get_v4(address).sin_addr.s_addr == htonl(INADDR_ANY);
    }
    struct sockaddr_in6 v6 = get_v6(address);
    return address->storage.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
}

bool trib_address_is_group(const struct trib_address *address)
{
    if (address->storage.ss_family == AF_INET) {
        return ntohl(get_v4(address).sin_addr.s_addr) >= 0xe0000000U;
    }
    struct sockaddr_in6 v6 = get_v6(address);
    return address->storage.ss_family == AF_INET6 && IN6_IS_ADDR_MULTICAST(&v6.sin6_addr);
}

bool trib_address_is_link_local(const struct trib_address *address)
{
    struct sockaddr_in6 v6 = get_v6(address);
    return address->storage.ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);
}

uint32_t trib_address_scope(const struct trib_address *address)
{
    return address->storage.ss_family == AF_INET6 ? get_v6(address).sin6_scope_id : 0;
}

bool trib_address_is_mapped(const struct trib_address *address)
{
    struct sockaddr_in6 v6 = get_v6(address);
    return address->storage.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
}

void trib_address_unmap(struct trib_address *address)
{
    if (trib_address_is_mapped(address)) {
        struct sockaddr_in6 v6 = get_v6(address);
        uint32_t v4;
        memcpy(&v4, &v6.sin6_addr.s6_addr[12], sizeof v4);
        *address = trib_address_v4(ntohl(v4), trib_address_port(address));
    }
}

uint32_t trib_address_ip_size(const struct trib_address *address)
{
    return address->storage.ss_family == AF_INET6 ? 40 : 20;
}

uint32_t trib_address_payload(const struct trib_address *address, uint32_t behind)
{
    uint32_t room = ETHERNET_MTU - trib_address_ip_size(address) - UDP_HEADER_SIZE - TRIB_HEADER_SIZE - behind;
    return room - room % TRIB_PAYLOAD_ALIGN;
}

void trib_address_format(const struct trib_address *address, char *text)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->storage.ss_family == AF_INET) {
        struct sockaddr_in v4 = get_v4(address);
        (void)inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
        (void)snprintf(text, TEXT_SIZE, "%s:%u", host, ntohs(v4.sin_port));
        return;
    }
    if (address->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 v6 = get_v6(address);
        (void)inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
        char scope[TRIB_SCOPE_TEXT_MAX] = "";
        if (v6.sin6_scope_id != 0) {
            trib_scope_format(v6.sin6_scope_id, scope);
        }
        (void)snprintf(text, TEXT_SIZE, "[%s%s]:%u", host, scope, ntohs(v6.sin6_port));
        return;
    }
    (void)snprintf(text, TEXT_SIZE, "none");
}

const char *trib_address_advice(int cause)
{
    switch (cause) {
    case EADDRINUSE:
        return ": another program has this port, choose another";
    case EADDRNOTAVAIL:
        return ": is it an address of this machine?";
    default:
        return "";
    }
}

/* Cuts text into host and port text ("" if there is none). False: text is no address. */
static bool split(const char *text, char *host, const char **port)
{
    const char *start = text;
    const char *end = text + strlen(text);
    const char *colon = strrchr(text, ':');
    *port = "";
    if (text[0] == '[') {
        start = text + 1;
        end = strchr(text, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':')) {
            return false;
        }
        if (end[1] == ':') {
            *port = end + 2;
            if (**port == '\0') {
                return false;
            }
        }
    } else if (colon != NULL && strchr(text, ':') == colon) {
        end = colon;
        *port = colon + 1;
        if (**port == '\0') {
            return false;
        }
    } /* else: no colon, or a bare IPv6 address without a port */
    size_t len = (size_t)(end - start);
    if (len == 0 || len > TRIB_HOST_MAX) {
        return false;
    }
    memcpy(host, start, len);
    host[len] = '\0';
    return true;
}

static bool parse_port(const char *text, uint16_t *port)
{
    unsigned value = 0;
    size_t len = strlen(text);
    if (len == 0 || len > 5) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = 10 * value + (unsigned)(text[i] - '0');
    }
    *port = (uint16_t)value;
    return value <= UINT16_MAX;
}

enum trib_status trib_address_cut(const char *text, char *host, uint16_t *port, char *error)
{
    const char *port_text;
    if (!split(text, host, &port_text)) {
        trib_explain(error, "\"%.100s\" is not an address: want host, host:port or [ipv6]:port", text);
        return TRIB_ERR_INVALID;
    }
    if (*port_text != '\0' && !parse_port(port_text, port)) {
        trib_explain(error, "\"%.100s\" has no valid port: want 0 to 65535", text);
        return TRIB_ERR_INVALID;
    }
    return TRIB_OK;
}

bool trib_address_read(const char *text, struct trib_address *address)
{
    char host[TRIB_HOST_MAX + 1];
    const char *port_text;
    uint16_t port = 0;
    struct in_addr v4;
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (!split(text, host, &port_text) || !parse_port(port_text, &port)) {
        return false;
    }
    if (inet_pton(AF_INET, host, &v4) == 1) {
        *address = trib_address_v4(ntohl(v4.s_addr), port);
        return true;
    }
    if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1) {
        return false;
    }
    *address = (struct trib_address){.len = sizeof v6};
    memcpy(&address->storage, &v6, sizeof v6);
    trib_address_set_port(address, port);
    return true;
}

/* Writes the address's own bytes and returns their number, 4 or 16; 0: unknown family. */
static uint32_t get_bytes(const struct trib_address *address, uint8_t *bytes)
{
    if (address->storage.ss_family == AF_INET) {
        struct sockaddr_in v4 = get_v4(address);
        memcpy(bytes, &v4.sin_addr, sizeof v4.sin_addr);
        return sizeof v4.sin_addr;
    }
    if (address->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 v6 = get_v6(address);
        memcpy(bytes, &v6.sin6_addr, sizeof v6.sin6_addr);
        return sizeof v6.sin6_addr;
    }
    return 0;
}

bool trib_subnet_read(const char *text, struct trib_address *at, uint32_t *bits)
{
    char host[TRIB_HOST_MAX + 1] = "";
    char numbered[TRIB_HOST_MAX + 8];
    uint8_t bytes[16];
    uint16_t wanted = 0;
    struct trib_address read;
    const char *slash = strchr(text, '/');
    size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);
    if (len > TRIB_HOST_MAX || (slash != NULL && !parse_port(slash + 1, &wanted))) {
        return false;
    }
    (void)snprintf(host, sizeof host, "%.*s", (int)len, text);
    (void)snprintf(numbered, sizeof numbered, strchr(host, ':') != NULL ? "[%s]:0" : "%s:0", host);
    if (!trib_address_read(numbered, &read)) {
        return false;
    }
    uint32_t all = 8 * get_bytes(&read, bytes);
    if (wanted > all) {
        return false;
    }
    *at = read;
    *bits = slash != NULL ? wanted : all;
    return true;
}

bool trib_address_is_within(const struct trib_address *address, const struct trib_address *subnet, uint32_t bits)
{
    uint8_t a[16];
    uint8_t b[16];
    uint32_t whole = bits / 8;
    uint32_t rest = bits % 8;
    uint32_t size = get_bytes(address, a);
    if (size == 0 || size != get_bytes(subnet, b) || bits > 8 * size || memcmp(a, b, whole) != 0) {
        return false;
    }
    return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

bool trib_address_is_known_everywhere(const struct trib_address *address)
{
    struct sockaddr_in6 v6 = get_v6(address);
    return address->len > 0 && !trib_address_is_any(address) && !trib_address_is_mapped(address) &&
           (address->storage.ss_family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr));
}

bool trib_address_is_loopback(const struct trib_address *address)
{
    if (address->storage.ss_family == AF_INET) {
        return ntohl(get_v4(address).sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 v6 = get_v6(address);
    return address->storage.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
}
