/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c: see resolve.h. */
#define _GNU_SOURCE
#include "net/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "io/explain.h"

/* The list's first IPv4 address, else its first IPv6 address. */
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

/* Settles an address that a socket cannot use as it is. A mapped address becomes its IPv4 address. A link-local address
 * must name its link. */
static enum trib_status settle(struct trib_address *address, const char *host, char *error)
{
    trib_address_unmap(address);
    if (trib_address_is_link_local(address) && trib_address_scope(address) == 0) {
        trib_explain(error, "\"%.100s\" is the address of a link: name its interface as well, as in %.60s%%eth0", host,
                     host);
        return TRIB_ERR_INVALID;
    }
    if (trib_address_is_group(address)) {
        trib_explain(error, "\"%.100s\" is a multicast or broadcast address: name the address of one machine", host);
        return TRIB_ERR_INVALID;
    }
    return TRIB_OK;
}

static void explain_unresolved(const char *host, int code, char *error)
{
    const char *scope = strchr(host, '%');
    struct in6_addr six;
    char bare[TRIB_HOST_MAX + 1];
    size_t len = scope != NULL ? (size_t)(scope - host) : 0;
    memcpy(bare, host, len);
    bare[len] = '\0';
    if (inet_pton(AF_INET6, bare, &six) == 1) {
        trib_explain(error, "\"%.100s\": this machine has no interface \"%.40s\"", host, scope + 1);
    } else {
        trib_explain(error, "cannot resolve \"%.100s\": %s", host,
                     code == EAI_SYSTEM ? trib_explain_errno(errno) : gai_strerror(code));
    }
}

/* flags: of getaddrinfo. */
static enum trib_status resolve(const char *host, uint16_t port, int flags, struct trib_address *address, char *error)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM, .ai_flags = flags};
    struct addrinfo *list = NULL;
    int code = getaddrinfo(host, NULL, &hints, &list);
    if (code != 0) {
        explain_unresolved(host, code, error);
        return TRIB_ERR_INVALID;
    }
    const struct addrinfo *chosen = choose(list);
    enum trib_status status = TRIB_ERR_INVALID;
    if (chosen != NULL) {
        struct trib_address found = {.len = chosen->ai_addrlen};
        memcpy(&found.storage, chosen->ai_addr, chosen->ai_addrlen);
        trib_address_set_port(&found, port);
        status = settle(&found, host, error);
        if (status == TRIB_OK) {
            *address = found;
        }
    } else {
        trib_explain(error, "\"%.100s\" has neither an IPv4 nor an IPv6 address", host);
    }
    freeaddrinfo(list);
    return status;
}

enum trib_status trib_address_parse(const char *text, uint16_t default_port, struct trib_address *address, char *error)
{
    char host[TRIB_HOST_MAX + 1];
    uint16_t port = default_port;
    enum trib_status status = trib_address_cut(text, host, &port, error);
    return status == TRIB_OK ? resolve(host, port, 0, address, error) : status;
}

enum trib_status trib_address_check(const char *text, char *error)
{
    static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    char host[TRIB_HOST_MAX + 1];
    uint16_t port = 0;
    struct trib_address numeric;
    enum trib_status status = trib_address_cut(text, host, &port, error);
    if (status != TRIB_OK) {
        return status;
    }
    if (strchr(host, ':') != NULL || strspn(host, "0123456789.") == strlen(host)) {
        return resolve(host, port, AI_NUMERICHOST, &numeric, error);
    }
    if (strspn(host, name_bytes) != strlen(host)) {
        trib_explain(error, "\"%.100s\" is not an address: want host, host:port or [ipv6]:port", text);
        return TRIB_ERR_INVALID;
    }
    return TRIB_OK;
}
