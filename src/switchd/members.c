/* SPDX-License-Identifier: Apache-2.0 */
/* members.c: see members.h. The table of sources is open-addressed and built anew whenever a communicator comes or
 * goes: that is rare, and it keeps lookups to one hash and, nearly always, one comparison. */
#include "switchd/members.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/lane.h"

#define HUGE_PAGE ((size_t)2 << 20)

struct trib_member *trib_member_create(const struct trib_switch_verbs *verbs, const struct trib_switch_config *config,
                                       const struct trib_address *addresses)
{
    struct trib_member *member = calloc(1, sizeof *member);
    if (member == NULL) {
        return NULL;
    }
    size_t size = verbs->size(config);
    void *node = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (node == MAP_FAILED) {
        free(member);
        return NULL;
    }
    if (size >= HUGE_PAGE) {
        (void)madvise(node, size, MADV_HUGEPAGE);
    }
#ifdef MADV_POPULATE_WRITE
    /* Page faults here, in the control plane's thread, rather than under the first packets. A kernel that cannot
     * does them then. */
    (void)madvise(node, size, MADV_POPULATE_WRITE);
#endif
    member->verbs = verbs;
    member->node = node;
    member->node_size = size;
    member->timeout_ns = TRIB_NEVER;
    member->communicator = config->session.communicator;
    member->generation = config->session.generation;
    member->ranks = config->session.ranks;
    member->payload = config->session.payload;
    memcpy(member->child, addresses, member->ranks * sizeof *addresses);
    return member;
}

void trib_member_destroy(struct trib_member *member)
{
    if (member != NULL) {
        (void)munmap(member->node, member->node_size);
        free(member);
    }
}

static uint32_t hash_source(uint32_t communicator, const struct trib_address *from)
{
    uint64_t hash = trib_mix64(((uint64_t)communicator << 16) | trib_address_port(from));
    if (from->storage.ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, &from->storage, sizeof v4);
        hash ^= v4.sin_addr.s_addr;
    } else if (from->storage.ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        uint64_t half[2];
        memcpy(&v6, &from->storage, sizeof v6);
        memcpy(half, &v6.sin6_addr, sizeof half);
        hash ^= trib_mix64(half[0]) + half[1];
    }
    return (uint32_t)trib_mix64(hash);
}

static void insert(struct trib_members *members, struct trib_member *member, uint32_t child)
{
    uint32_t mask = members->table_size - 1;
    uint32_t hash = hash_source(member->communicator, &member->child[child]);
    uint32_t at = hash & mask;
    while (members->table[at].member != NULL) {
        at = (at + 1) & mask;
    }
    members->table[at] = (struct trib_member_source){member, child, hash};
}

static void fill_table(struct trib_members *members)
{
    memset(members->table, 0, members->table_size * sizeof *members->table);
    for (uint32_t i = 0; i < members->count; i++) {
        for (uint32_t child = 0; child < members->list[i]->ranks; child++) {
            insert(members, members->list[i], child);
        }
    }
}

static bool grow_list(struct trib_members *members)
{
    if (members->count < members->list_size) {
        return true;
    }
    uint32_t size = members->list_size == 0 ? 16 : 2 * members->list_size;
    struct trib_member **list = realloc(members->list, size * sizeof(struct trib_member *));
    if (list == NULL) {
        return false;
    }
    members->list = list;
    members->list_size = size;
    return true;
}

static bool grow_table(struct trib_members *members, uint32_t sources)
{
    uint32_t size = members->table_size == 0 ? 256 : members->table_size;
    while (size < 2 * sources) {
        size *= 2;
    }
    if (size == members->table_size) {
        return true;
    }
    struct trib_member_source *table = malloc(size * sizeof *table);
    if (table == NULL) {
        return false;
    }
    free(members->table);
    members->table = table;
    members->table_size = size;
    fill_table(members);
    return true;
}

bool trib_members_add(struct trib_members *members, struct trib_member *member)
{
    if (!grow_list(members) || !grow_table(members, members->sources + member->ranks)) {
        return false;
    }
    members->list[members->count++] = member;
    members->sources += member->ranks;
    for (uint32_t child = 0; child < member->ranks; child++) {
        insert(members, member, child);
    }
    return true;
}

void trib_members_remove(struct trib_members *members, struct trib_member *member)
{
    for (uint32_t i = 0; i < members->count; i++) {
        if (members->list[i] == member) {
            members->list[i] = members->list[--members->count];
            members->sources -= member->ranks;
            fill_table(members);
            return;
        }
    }
}

void trib_members_deinit(struct trib_members *members)
{
    for (uint32_t i = 0; i < members->count; i++) {
        trib_member_destroy(members->list[i]);
    }
    free(members->list);
    free(members->table);
    memset(members, 0, sizeof *members);
}

struct trib_member *trib_members_find(const struct trib_members *members, uint32_t communicator)
{
    for (uint32_t i = 0; i < members->count; i++) {
        if (members->list[i]->communicator == communicator) {
            return members->list[i];
        }
    }
    return NULL;
}

const struct trib_member_source *trib_members_find_source(const struct trib_members *members, uint32_t communicator,
                                                          const struct trib_address *from)
{
    if (members->table_size == 0) {
        return NULL;
    }
    uint32_t mask = members->table_size - 1;
    uint32_t hash = hash_source(communicator, from);
    for (uint32_t at = hash & mask; members->table[at].member != NULL; at = (at + 1) & mask) {
        const struct trib_member_source *source = &members->table[at];
        if (source->hash == hash && source->member->communicator == communicator &&
            trib_address_equal(&source->member->child[source->child], from)) {
            return source;
        }
    }
    return NULL;
}
