/* SPDX-License-Identifier: Apache-2.0 */
/* members.h: the communicators of one shard: the nodes of each, the addresses of their children and of the parent, and
 * the way from a packet's communicator and source address to a node and its place there. No socket, no thread, no lock:
 * all that is shard.c's.
 * Read next: tree.h (which node has which children), members.c. */
#ifndef TRIB_SWITCHD_MEMBERS_H
#define TRIB_SWITCHD_MEMBERS_H

#include "core/share.h"
#include "keys/auth.h"
#include "protocol/combining.h"
#include "switchd/tree.h"

struct trib_member;

/* A node, and the meaning of its places. */
struct trib_member_node {
    struct trib_member *member;
    void *node;
    const struct trib_address *child; /* of each child; NULL: the children are the member's other nodes */
    uint32_t first;                   /* branch of the member that is child 0 */
    uint32_t group;                   /* of the numbers at the root, of its children */
    uint64_t grouped;                 /* children that come through combiners of a communicator with groups */
    uint64_t numbers;                 /* of a combiner's node: within the group, those of its children; else 0 */
    const uint64_t *together;         /* of each child: those at its address, behind a combiner; NULL: all are apart */
    uint64_t *nonce;                  /* of each child, drawn: a PATH that brings it proves the address */
    uint32_t *headers;                /* that have gone to each child which had not brought its nonce */
    uint64_t proved;                  /* children that have brought theirs: to the others go answers to PATHs alone */
    uint64_t lent;                    /* the shard's count of flushes when a payload of this node last joined a train */
    uint32_t children;
    uint32_t number; /* in its member; 0: the top node */
    bool is_inner;   /* its parent is the top node */
    bool has_more;   /* a verb was called since its packets were last taken */
    uint8_t unused[2];
};

/* A root of a communicator here: one node, or inner nodes and a top node above them. Lies still from add to remove. */
struct trib_member {
    const struct trib_switch_verbs *verbs;
    struct trib_auth
        *auth; /* of its packets, which hears its sources by their number; NULL: they have no authenticators */
    struct trib_tree *tree; /* its shape. Only the thread of the control plane uses marks in it */
    uint64_t timeout_ns;    /* the earliest timeout of its nodes, at its last drain */
    uint64_t idle_ns; /* when to give back the memory of its nodes, if they are idle then; NEVER: it was looked at */
    uint64_t flagged; /* packets that said that their way was congested */
    uint32_t communicator;
    uint32_t boot;
    uint32_t payload;   /* bytes of its largest payload */
    uint32_t slots;     /* P */
    uint32_t first_cap; /* of a scheme whose switches set caps; else 0 */
    uint32_t cap;       /* as last set; 0: never */
    uint32_t nodes;
    uint32_t sources;          /* addresses that it takes packets from */
    uint64_t hearers;          /* children that are ranks, where one node has all children; else 0 */
    struct trib_pieces pieces; /* that a combiner adds, in rows of its own; count 0: rows are shared */
    uint64_t span;             /* sequences that may be under way (trib_window_span) */
    uint16_t generation;
    bool follows_congestion; /* its ranks' windows do: packets say when the queue here is long */
    uint8_t priority;        /* of a combiner's rows */
    bool is_combiner;
    bool is_large;     /* more than 64 members: combiners and the root name groups */
    bool adds;         /* a combiner's: its scheme wants parts added */
    bool was_active;   /* when caps were set */
    bool is_touched;   /* a verb was called on a node since the last drain */
    bool is_multicast; /* what goes to all hearers goes to `group` */
    bool has_parent;
    bool is_parent_proved; /* it has sent own_nonce back: before, it gets headers alone */
    bool has_answer;       /* the parent has sent a path probe back */
    uint64_t own_nonce;    /* drawn */
    uint64_t parent_nonce; /* that the parent has sent, to prove this switch's address by; 0: none yet */
    struct trib_address parent;
    struct trib_address group;
    void *memory; /* of the nodes */
    size_t memory_size;
    struct trib_member_node node[]; /* behind them the addresses */
};

/* An entry of the table: who sends from this address for this communicator. Of a communicator with more than 64 members
 * a combiner speaks for children of several nodes, as its parent does to it: they have an entry for each group. */
struct trib_member_source {
    struct trib_member_node *node; /* NULL: empty */
    struct trib_place place;       /* a child, the children behind a combiner, or the parent */
    uint32_t hash;
    uint32_t number; /* of the member's sources: the first branch of the address, or behind the last the parent */
    bool is_grouped; /* `node` of its packets names a group, which is that of this entry's node */
};

/* `node` of packets between a root and its combiners: the number of a child, or all behind the receiver in a group. */
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

/* The entry is of this packet's group, if its sender names groups. */
static inline bool trib_member_source_is_of(const struct trib_member_source *source, uint16_t name)
{
    return !source->is_grouped || source->node->group == trib_member_group(name);
}

struct trib_members {
    struct trib_member **list;
    struct trib_share *shares; /* as many, for caps.c to divide among them */
    uint32_t count;
    uint32_t list_size;
    struct trib_member_source *table;
    uint32_t table_size; /* a power of two, at least twice the entries; 0: no table */
    uint32_t sources;
};

/* Bytes of the nodes of a member of this opening. */
size_t trib_member_size(const struct trib_switch_verbs *verbs, const struct trib_opening *opening);
/* Makes the member of an opening that was checked (tree.h), with its initialised nodes. NULL: out of memory. */
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

/* The node's children are those that this switch hears by its socket. */
static inline bool trib_member_node_is_edge(const struct trib_member_node *node)
{
    return node->child != NULL;
}

/* The number at the root, within its group, of a node's child. */
uint32_t trib_member_number(const struct trib_member_node *node, uint32_t child);
/* The children at this source's address, of whatever group, have proved the address. */
void trib_member_prove(const struct trib_member_source *source);
/* Tells the nodes what the tree knows of this rank's child: that it has joined, or its mark. */
void trib_member_join(struct trib_member *member, uint32_t rank);
/* M from the controller, or from the top node: tells every node that has a parent. */
void trib_member_learn_mark(struct trib_member *member, uint64_t mark);
/* M as the top node knows it. */
uint64_t trib_member_mark(const struct trib_member *member);
/* Tells it the inner nodes that know a lower one; false: none does. */
bool trib_member_share_mark(struct trib_member *member);
/* The ranks whose part of this sequence is not here, added to the set. */
void trib_member_missing(const struct trib_member *member, uint64_t sequence, struct trib_tree_ranks *ranks);
/* The oldest sequence that lacks somebody; TRIB_NEVER: none. */
uint64_t trib_member_oldest(const struct trib_member *member);
/* Adds what its nodes count: contributions and registrations as they came to this switch, results as they left it. */
void trib_member_count(const struct trib_member *member, struct trib_counters *sum);
uint32_t trib_member_slots_held(const struct trib_member *member);
/* Gives back the memory of those nodes that are idle. They hand out nothing, and nothing that they have handed out is
 * on its way. */
void trib_member_give_back(const struct trib_member *member);
size_t trib_member_memory_held(const struct trib_member *member);

void trib_members_deinit(struct trib_members *members); /* destroys those that are left */
/* False: out of memory, nothing changed. */
bool trib_members_add(struct trib_members *members, struct trib_member *member);
/* Takes it out; it is the caller's again. */
void trib_members_remove(struct trib_members *members, struct trib_member *member);
struct trib_member *trib_members_find(const struct trib_members *members, uint32_t communicator);
/* Where it sends from, and is sent to. */
const struct trib_address *trib_member_source_address(const struct trib_member_source *source);
/* Whose packets are these? name: `node` of the packet. NULL: nobody's. */
const struct trib_member_source *trib_members_find_source(const struct trib_members *members, uint32_t communicator,
                                                          const struct trib_address *from, uint16_t name);

#endif
