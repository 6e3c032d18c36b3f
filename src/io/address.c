/* SPDX-License-Identifier: Apache-2.0 */
/* address.c: socket addresses as text and back. No sockets here. Read next: socket.c (binds and connects them). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "io/explain.h"
#include "io/udp.h"

#define HOST_MAX 255
#define TEXT_SIZE 64

/* The two families share their port's place only by luck: each access copies, so that no struct is aliased. */
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
        if (v6.sin6_scope_id != 0) {
            (void)snprintf(text, TEXT_SIZE, "[%s%%%u]:%u", host, v6.sin6_scope_id, ntohs(v6.sin6_port));
        } else {
            (void)snprintf(text, TEXT_SIZE, "[%s]:%u", host, ntohs(v6.sin6_port));
        }
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

/* Cuts text into host and port text ("" when there is none). False when it is no address. */
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
    if (len == 0 || len > HOST_MAX) {
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

/* The first IPv4 address of the list, else the first IPv6 one. */
static const struct addrinfo *choose(const struct addrinfo *list)
{
    const struct addrinfo *six = NULL;
    for (const struct addrinfo *item = list; item != NULL; item = item->ai_next) {
        if (item->ai_family == AF_INET) {
            return item;
        }
        if (item->ai_family == AF_INET6 && six == NULL) {
            six = item;
        }
    }
    return six;
}

enum trib_status trib_address_parse(const char *text, uint16_t default_port, struct trib_address *address, char *error)
{
    char host[HOST_MAX + 1];
    const char *port_text;
    uint16_t port = default_port;
    if (!split(text, host, &port_text)) {
        trib_explain(error, "\"%.100s\" is not an address: want host, host:port or [ipv6]:port", text);
        return TRIB_ERR_INVALID;
    }
    if (*port_text != '\0' && !parse_port(port_text, &port)) {
        trib_explain(error, "\"%.100s\" has no valid port: want 0 to 65535", text);
        return TRIB_ERR_INVALID;
    }
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *list = NULL;
    int code = getaddrinfo(host, NULL, &hints, &list);
    if (code != 0) {
        trib_explain(error, "cannot resolve \"%.100s\": %s", host, gai_strerror(code));
        return TRIB_ERR_INVALID;
    }
    const struct addrinfo *chosen = choose(list);
    enum trib_status status = TRIB_ERR_INVALID;
    if (chosen != NULL) {
        memset(address, 0, sizeof *address);
        memcpy(&address->storage, chosen->ai_addr, chosen->ai_addrlen);
        address->len = chosen->ai_addrlen;
        trib_address_set_port(address, port);
        status = TRIB_OK;
    } else {
        trib_explain(error, "\"%.100s\" has neither an IPv4 nor an IPv6 address", host);
    }
    freeaddrinfo(list);
    return status;
}
