/* SPDX-License-Identifier: Apache-2.0 */
/* nics.c: see nics.h. */
#define _GNU_SOURCE
#include "net/nics.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/explain.h"
#include "net/resolve.h"

#define WORD_MAX 255
#define WANTED "addresses: want host[:port],host[:port]"

/* Cuts the next word off a list. False: no word, or one too long for an address. */
static bool next_word(const char **rest, char word[WORD_MAX + 1])
{
    const char *comma = strchrnul(*rest, ',');
    size_t len = (size_t)(comma - *rest);
    if (len == 0 || len > WORD_MAX) {
        return false;
    }
    memcpy(word, *rest, len);
    word[len] = '\0';
    *rest = *comma == ',' ? comma + 1 : NULL;
    return true;
}

/* Rules for a list of one kind. */
struct list_kind {
    const char *wanted; /* behind "is no list of" */
    enum trib_status (*find)(const struct list_kind *kind, const struct trib_others *made, const char *word,
                             struct trib_address *address, char *error);
    /* true for two addresses that one list must not have */
    bool (*is_same)(const struct trib_address *a, const struct trib_address *b);
    uint32_t most;         /* addresses of one list */
    uint16_t default_port; /* for words with ports */
    int family;            /* address family of interfaces */
};

static bool has(const struct trib_others *list, const struct trib_address *address,
                bool (*is_same)(const struct trib_address *a, const struct trib_address *b))
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (is_same(&list->at[i], address)) {
            return true;
        }
    }
    return false;
}

/* Checks the last address against the list before it. */
static enum trib_status check_next(const struct list_kind *kind, const struct trib_others *list,
                                   const struct trib_address *address, const char *word, char *error)
{
    if (list->count == kind->most) {
        trib_explain(error, "more than %u addresses", kind->most);
    } else if (list->count > 0 && list->at[0].storage.ss_family != address->storage.ss_family) {
        char first[64];
        trib_address_format(&list->at[0], first);
        trib_explain(error, "%s and \"%.100s\": addresses of a list must all be IPv4, or all IPv6", first, word);
    } else if (has(list, address, kind->is_same)) {
        trib_explain(error, "\"%.100s\" is named twice", word);
    } else {
        return TRIB_OK;
    }
    return TRIB_ERR_INVALID;
}

static enum trib_status check_listen(const struct trib_others *list, const struct trib_address *address,
                                     const char *word, char *error)
{
    if (trib_address_port(&list->at[0]) != trib_address_port(address)) {
        trib_explain(error, "\"%.100s\" has another port than the first address: all addresses need port %u", word,
                     trib_address_port(&list->at[0]));
    } else if (trib_address_is_any(&list->at[0]) || trib_address_is_any(address)) {
        trib_explain(
            error, "\"%.100s\": 0.0.0.0 and :: mean all addresses: name one of them alone, or leave it out of the list",
            word);
    } else {
        return TRIB_OK;
    }
    return TRIB_ERR_INVALID;
}

static enum trib_status parse_others(const char *text, const struct list_kind *kind, struct trib_others *list,
                                     char *error)
{
    struct trib_others made = {0};
    char word[WORD_MAX + 1];
    for (const char *rest = text; rest != NULL; made.count++) {
        struct trib_address address = {.len = 0};
        if (!next_word(&rest, word)) {
            trib_explain(error, "\"%.100s\" is no list of %s", text, kind->wanted);
            return TRIB_ERR_INVALID;
        }
        enum trib_status status = kind->find(kind, &made, word, &address, error);
        if (status != TRIB_OK) {
            return status;
        }
        made.at[made.count] = address;
    }
    *list = made;
    return TRIB_OK;
}

static enum trib_status parse_list(const char *text, const struct list_kind *kind, struct trib_address_list *list,
                                   char *error)
{
    struct trib_others made;
    enum trib_status status = parse_others(text, kind, &made, error);
    if (status == TRIB_OK) {
        list->count = made.count;
        memcpy(list->at, made.at, sizeof list->at);
    }
    return status;
}

static enum trib_status find_listen(const struct list_kind *kind, const struct trib_others *made, const char *word,
                                    struct trib_address *address, char *error)
{
    enum trib_status status = trib_address_parse(word, kind->default_port, address, error);
    if (status == TRIB_OK) {
        status = check_next(kind, made, address, word, error);
    }
    return status == TRIB_OK && made->count > 0 ? check_listen(made, address, word, error) : status;
}

enum trib_status trib_address_list_parse(const char *text, uint16_t default_port, struct trib_address_list *list,
                                         char *error)
{
    const struct list_kind kind = {.wanted = WANTED,
                                   .find = find_listen,
                                   .is_same = trib_address_same_host,
                                   .most = TRIB_ADDRESSES_MAX,
                                   .default_port = default_port};
    return parse_list(text, &kind, list, error);
}

static enum trib_status find_other(const struct list_kind *kind, const struct trib_others *made, const char *word,
                                   struct trib_address *address, char *error)
{
    enum trib_status status = trib_address_parse(word, kind->default_port, address, error);
    return status == TRIB_OK ? check_next(kind, made, address, word, error) : status;
}

enum trib_status trib_others_parse(const char *text, uint16_t default_port, struct trib_others *others, char *error)
{
    const struct list_kind kind = {.wanted = WANTED,
                                   .find = find_other,
                                   .is_same = trib_address_equal,
                                   .most = TRIB_OTHERS_MAX,
                                   .default_port = default_port};
    return parse_others(text, &kind, others, error);
}

/* ---- this machine's addresses ---- */

static bool get_address(const struct ifaddrs *item, struct trib_address *address)
{
    int family = item->ifa_addr != NULL ? item->ifa_addr->sa_family : AF_UNSPEC;
    if ((item->ifa_flags & IFF_UP) == 0 || (family != AF_INET && family != AF_INET6)) {
        return false;
    }
    *address =
        (struct trib_address){.len = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)};
    memcpy(&address->storage, item->ifa_addr, address->len);
    return true;
}

void trib_nics_describe(int family, char *text, size_t size)
{
    struct ifaddrs *all = NULL;
    struct trib_address address;
    size_t end = 0;
    (void)snprintf(text, size, "none");
    if (getifaddrs(&all) != 0) {
        return;
    }
    for (const struct ifaddrs *item = all; item != NULL; item = item->ifa_next) {
        char name[64];
        if (get_address(item, &address) && !trib_address_is_link_local(&address) &&
            (family == AF_UNSPEC || address.storage.ss_family == family) && end < size) {
            trib_address_format(&address, name);
            bool is_six = name[0] == '[';
            *strrchr(name, is_six ? ']' : ':') = '\0'; /* neither port nor brackets */
            end +=
                (size_t)snprintf(text + end, size - end, "%s%s %s", end > 0 ? ", " : "", item->ifa_name, name + is_six);
        }
    }
    freeifaddrs(all);
}

bool trib_nics_source(const struct trib_address *peer, struct trib_address *local)
{
    int fd = socket(peer->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memset(local, 0, sizeof *local);
    local->len = sizeof local->storage;
    bool is_known = fd >= 0 && connect(fd, (const struct sockaddr *)&peer->storage, peer->len) == 0 &&
                    getsockname(fd, (struct sockaddr *)&local->storage, &local->len) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_known;
}

bool trib_address_is_local(const struct trib_address *address)
{
    int fd = socket(address->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct trib_address wanted = *address;
    trib_address_set_port(&wanted, 0);
    bool is_local = fd >= 0 && bind(fd, (const struct sockaddr *)&wanted.storage, wanted.len) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_local;
}

/* Finds the interface's first address of this family. */
static bool find_interface(const char *name, int family, struct trib_address *address, bool *exists)
{
    struct ifaddrs *all = NULL;
    bool found = false;
    *exists = if_nametoindex(name) != 0;
    if (!*exists || getifaddrs(&all) != 0) {
        return false;
    }
    for (const struct ifaddrs *item = all; item != NULL && !found; item = item->ifa_next) {
        found = strcmp(item->ifa_name, name) == 0 && get_address(item, address) &&
                !trib_address_is_link_local(address) && address->storage.ss_family == family;
    }
    freeifaddrs(all);
    return found;
}

/* Reads an interface, or else an address. */
static enum trib_status find_nic(const char *word, int family, struct trib_address *address, char *error)
{
    const char *kind = family == AF_INET6 ? "IPv6" : "IPv4";
    char have[300];
    char why[TRIB_ERROR_TEXT_MAX] = "";
    bool is_interface;
    if (find_interface(word, family, address, &is_interface)) {
        return TRIB_OK;
    }
    trib_nics_describe(family, have, sizeof have);
    if (is_interface) {
        trib_explain(error, "interface %.40s has no %s address that is up; this machine has %s", word, kind, have);
    } else if (trib_address_parse(word, 0, address, why) != TRIB_OK || trib_address_port(address) != 0) {
        trib_explain(error, "\"%.60s\" is neither an interface nor an address here; this machine has %s", word, have);
    } else if (address->storage.ss_family != family) {
        trib_explain(error, "\"%.60s\" is no %s address, as the place to meet is; this machine has %s", word, kind,
                     have);
    } else if (trib_address_is_link_local(address)) {
        trib_explain(error, "\"%.60s\" is link-local, which other hosts cannot use; this machine has %s", word, have);
    } else if (trib_address_is_any(address) || !trib_address_is_local(address)) {
        trib_explain(error, "\"%.60s\" is no address of this machine, which has %s", word, have);
    } else {
        return TRIB_OK;
    }
    return TRIB_ERR_INVALID;
}

static enum trib_status find_card(const struct list_kind *kind, const struct trib_others *made, const char *word,
                                  struct trib_address *address, char *error)
{
    enum trib_status status = find_nic(word, kind->family, address, error);
    if (status == TRIB_OK) {
        trib_address_set_port(address, 0);
        status = check_next(kind, made, address, word, error);
    }
    return status;
}

enum trib_status trib_nics_parse(const char *text, const struct trib_address *peer, struct trib_address_list *list,
                                 char *error)
{
    const struct list_kind kind = {.wanted = "addresses or interfaces, such as eth0,eth1",
                                   .find = find_card,
                                   .is_same = trib_address_same_host,
                                   .most = TRIB_ADDRESSES_MAX,
                                   .family = peer->storage.ss_family};
    return parse_list(text, &kind, list, error);
}
