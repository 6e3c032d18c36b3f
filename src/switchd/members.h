/* SPDX-License-Identifier: Apache-2.0 */
/* members.h: the communicators of one shard: the node of each, the addresses of its children, and the way from a
 * packet's communicator and source address to both. No socket, no thread, no lock: all that is shard.c's.
 * Read next: members.c. */
#ifndef TRIB_SWITCHD_MEMBERS_H
#define TRIB_SWITCHD_MEMBERS_H

#include "core/node.h"
#include "io/udp.h"

/* A communicator here. Lies still from add to remove. */
struct trib_member {
    const struct trib_switch_verbs *verbs;
    void *node;
    uint64_t timeout_ns; /* of the node, as of its last drain */
    uint32_t communicator;
    uint32_t ranks;
    uint32_t payload; /* bytes of its largest payload */
    uint16_t generation;
    bool is_touched;   /* a verb was called since the last drain */
    bool is_multicast; /* what goes to all children goes to `group` */
    uint64_t subset_bits;
    struct trib_address group;
    struct trib_address child[TRIB_CHILDREN_MAX];
    struct trib_address subset[TRIB_CHILDREN_MAX]; /* of the children in subset_bits, in order */
    size_t node_size;
};

/* An entry of the table: who sends from this address for this communicator. */
struct trib_member_source {
    struct trib_member *member; /* NULL: empty */
    uint32_t child;
    uint32_t hash;
};

struct trib_members {
    struct trib_member **list;
    uint32_t count;
    uint32_t list_size;
    struct trib_member_source *table;
    uint32_t table_size; /* a power of two, at least twice the entries; 0: no table */
    uint32_t sources;
};

/* Makes a member with its node in zeroed, 64-byte aligned memory that is really there, not yet initialised. NULL:
 * out of memory. addresses: of each rank. */
struct trib_member *trib_member_create(const struct trib_switch_verbs *verbs, const struct trib_switch_config *config,
                                       const struct trib_address *addresses);
void trib_member_destroy(struct trib_member *member);

void trib_members_deinit(struct trib_members *members); /* destroys those that are left */
/* False: out of memory, nothing changed. */
bool trib_members_add(struct trib_members *members, struct trib_member *member);
/* Takes it out; it is the caller's again. */
void trib_members_remove(struct trib_members *members, struct trib_member *member);
struct trib_member *trib_members_find(const struct trib_members *members, uint32_t communicator);
/* Whose packets are these? NULL: nobody's. */
const struct trib_member_source *trib_members_find_source(const struct trib_members *members, uint32_t communicator,
                                                          const struct trib_address *from);

#endif
