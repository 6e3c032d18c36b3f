/* SPDX-License-Identifier: Apache-2.0 */
/* members.h: the communicators of one shard: their nodes, the addresses of children and parents, and the lookup from a
 * packet's communicator and source address to a node and a place. No socket, no thread, no lock: shard.c has those.
 * Read next: tree.h (which node has which children), members.c. */
#ifndef TRIB_SWITCHD_MEMBERS_H
#define TRIB_SWITCHD_MEMBERS_H

#include "core/share.h"
#include "keys/auth.h"
#include "protocol/combining.h"
#include "switchd/tree.h"

struct trib_member;

/* A node, and the addresses of its places. */
struct trib_member_node {
    struct trib_member *member;
    void *node;
    const struct trib_address *child; /* address of each child; NULL: the children are other nodes of the member */
    uint32_t first;                   /* branch of the member that is child 0 */
    uint32_t group;                   /* group of the children's numbers at the root */
    uint64_t grouped;                 /* children behind combiners of a communicator with groups */
    uint64_t numbers;                 /* of a combiner's node: numbers of the children within the group; else 0 */
    /* of each child: the children at the same address, behind a combiner; NULL: all addresses differ */
    const uint64_t *together;
    uint64_t *nonce;   /* random, of each child: a PATH with the nonce proves the address */
    uint32_t *headers; /* headers sent to each child before it returned the nonce */
    /* children that have returned their nonce; other children get only answers to PATHs */
    uint64_t proved;
    /* value of the shard's `flushes` when a payload of this node last joined a train */
    uint64_t lent;
    uint32_t children;
    uint32_t number; /* index in its member; 0: the top node, if there are several nodes */
    bool is_inner;   /* its parent is the top node */
    bool has_more;   /* a verb was called since the node's packets were last taken */
    uint8_t unused[2];
};

/* A root of a communicator on this shard: one node, or inner nodes and a top node above them. Does not move between add
 * and remove. */
struct trib_member {
    const struct trib_switch_verbs *verbs;
    struct trib_auth *auth;    /* of packets down, and of sources, by their number; NULL: no authenticators */
    struct trib_auth *auth_up; /* of packets to the parent; NULL: no parent, or no authenticators */
    struct trib_tree *tree;    /* the shape. Only the control plane's thread uses the marks */
    uint64_t timeout_ns;       /* earliest timeout of the nodes, at the last drain */
    uint64_t idle_ns;          /* when to give back memory of idle nodes; NEVER: done */
    uint64_t flagged;          /* packets received with TRIB_FLAG_ECN */
    uint32_t communicator;
    uint32_t boot;
    uint32_t payload;   /* bytes of the largest payload */
    uint32_t slots;     /* slots of a node, P */
    uint32_t first_cap; /* of a scheme with caps; else 0 */
    uint32_t cap;       /* last cap set; 0: none */
    uint32_t nodes;
    /* number of sources: one for each branch, and for the parent (of a combiner one for each node) */
    uint32_t sources;
    uint64_t hearers;          /* children that are ranks, if one node has all children; else 0 */
    struct trib_pieces pieces; /* pieces that a combiner adds, in rows of its own; count 0: rows are shared */
    uint64_t span;             /* most sequences in flight (trib_window_span) */
    uint64_t in_flight;        /* sequences of a rank with more to send, heard since the last drain; 0: no such rank */
    uint32_t roots;            /* sequences are dealt over these */
    uint16_t generation;
    bool follows_congestion; /* the ranks' windows do: packets report a long queue here */
    uint8_t priority;        /* of a combiner's rows */
    bool is_combiner;
    bool is_large;     /* more than 64 members: combiners and the root name groups */
    bool adds;         /* of a combiner: the scheme wants parts added */
    bool was_active;   /* value of is_active at the last division of caps */
    bool is_touched;   /* a verb was called on a node since the last drain */
    bool is_multicast; /* packets for all hearers go to `group` */
    bool has_parent;
    bool is_parent_proved; /* the parent has returned own_nonce; until then the parent gets headers alone */
    bool has_answer;       /* the parent has returned a path probe of full size */
    uint64_t own_nonce;    /* random */
    uint64_t parent_nonce; /* from the parent, to prove this switch's address; 0: none yet */
    struct trib_address parent;
    struct trib_address group;
    void *memory; /* of the nodes */
    size_t memory_size;
    struct trib_member_node node[]; /* the addresses follow */
};

/* Entry of the table of sources: the sender at an address of a communicator. With more than 64 members, a combiner
 * sends for children of several nodes, and so does its parent to it. Such a sender has an entry for each group. */
struct trib_member_source {
    struct trib_member_node *node; /* NULL: empty */
    struct trib_place place;       /* a child, the children behind a combiner, or the parent */
    uint32_t hash;
    /* index among the member's sources: first branch of the address; the parent follows the last branch */
    uint32_t number;
    bool is_grouped; /* `node` of the sender's packets names a group, the group of this entry's node */
};

/* `node` of packets between a root and its combiners: the number of a child, or all children behind the receiver in a
 * group. */
static inline uint16_t trib_member_name(uint32_t group, uint16_t node)
{
    return (uint16_t)(node == TRIB_NODE_ALL ? TRIB_NODE_ALL - group : group * TRIB_CHILDREN_MAX + node);
}

static inline uint32_t trib_member_group(uint16_t name)
{
    return name < TRIB_SESSION_RANKS_MAX ? name / TRIB_CHILDREN_MAX : (uint32_t)(TRIB_NODE_ALL - name);
}

/* The name without its group. */
static inline uint16_t trib_member_unname(uint16_t name)
{
    return name < TRIB_SESSION_RANKS_MAX ? name % TRIB_CHILDREN_MAX : TRIB_NODE_ALL;
}

/* True if the entry belongs to the packet's group, or if its sender names no groups. */
static inline bool trib_member_source_is_of(const struct trib_member_source *source, uint16_t name)
{
    return !source->is_grouped || source->node->group == trib_member_group(name);
}

struct trib_members {
    struct trib_member **list;
    struct trib_share *shares; /* same size as `list`, for caps.c */
    uint32_t count;
    uint32_t list_size;
    struct trib_member_source *table;
    uint32_t table_size; /* a power of two, at least twice the entries; 0: no table */
    uint32_t sources;
};

/* Bytes of a member's nodes for this opening. */
size_t trib_member_size(const struct trib_switch_verbs *verbs, const struct trib_opening *opening);
/* Makes the member of a checked opening (trib_tree_is_sound), with initialised nodes. NULL: out of memory. The caller
 * owns the member. */
struct trib_member *trib_member_create(const struct trib_switch_verbs *verbs, const struct trib_opening *opening);
void trib_member_destroy(struct trib_member *member); /* NULL is allowed */

static inline bool trib_member_has_caps(const struct trib_member *member)
{
    return trib_switch_has_caps(member->verbs);
}

static inline struct trib_place trib_member_child(uint32_t child)
{
    return (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << child};
}

/* True if the node's children send to the socket. */
static inline bool trib_member_node_is_edge(const struct trib_member_node *node)
{
    return node->child != NULL;
}

/* Number of a node's child at the root, within its group. */
uint32_t trib_member_number(const struct trib_member_node *node, uint32_t child);
/* Notes that all children at this source's address, in all groups, have proved the address. */
void trib_member_prove(const struct trib_member_source *source);
/* Passes a rank's arrival, or its mark in the tree, to the nodes. */
void trib_member_join(struct trib_member *member, uint32_t rank);
/* Passes M, from the controller or from the top node, to every node with a parent. */
void trib_member_learn_mark(struct trib_member *member, uint64_t mark);
/* M of the top node. */
uint64_t trib_member_mark(const struct trib_member *member);
/* Passes M of the top node to inner nodes with a lower one. False: no node had a lower one. */
bool trib_member_share_mark(struct trib_member *member);
/* Adds the ranks with a missing contribution to this sequence. */
void trib_member_missing(const struct trib_member *member, uint64_t sequence, struct trib_tree_ranks *ranks);
/* Oldest sequence with a missing contribution; TRIB_NEVER: none. */
uint64_t trib_member_oldest(const struct trib_member *member);
/* Adds the nodes' counters: contributions and registrations that came to this switch, results that left it. */
void trib_member_count(const struct trib_member *member, struct trib_counters *sum);
uint32_t trib_member_slots_held(const struct trib_member *member);
/* Gives back the memory of idle nodes. Idle nodes hand out no packets, and none of their packets may be in a train. */
void trib_member_give_back(const struct trib_member *member);
size_t trib_member_memory_held(const struct trib_member *member);

void trib_members_deinit(struct trib_members *members); /* destroys the remaining members */
/* Adds a member, which the members then own. False: out of memory, nothing changed. */
bool trib_members_add(struct trib_members *members, struct trib_member *member);
/* Removes a member, which the caller then owns. */
void trib_members_remove(struct trib_members *members, struct trib_member *member);
/* The member of this communicator. NULL: none. */
struct trib_member *trib_members_find(const struct trib_members *members, uint32_t communicator);
/* Address that the source sends from and receives at. */
const struct trib_address *trib_member_source_address(const struct trib_member_source *source);
/* Finds the source of a packet. name: `node` of the packet. NULL: no source of the communicator. */
const struct trib_member_source *trib_members_find_source(const struct trib_members *members, uint32_t communicator,
                                                          const struct trib_address *from, uint16_t name);

#endif
