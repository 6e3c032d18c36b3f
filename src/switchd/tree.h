/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h: the part of a root's tree in this switch: the ranks behind each branch, the node above each branch, and the
 * marks that ranks reported in their sessions. Arithmetic alone: no node, no socket, no lock.
 *
 * A node has at most 64 children. Up to 64 branches are the children of one node. More branches are dealt to inner
 * nodes, 64 after 64 in the order of their lowest ranks. The inner nodes are the children of the top node, which is
 * number 0.
 *
 * A combiner has no top node, since it adds nothing above the inner nodes of its root. It has a node for each inner
 * node of the root that has children behind the combiner: group g of the root's numbers is 64 g to 64 g + 63.
 * The shape is fixed from create to destroy. Only the marks change, and only the control plane's thread reads or writes
 * marks.
 * Read next: members.h (the nodes). */
#ifndef TRIB_SWITCHD_TREE_H
#define TRIB_SWITCHD_TREE_H

#include "control/server.h"

/* More branches than inner nodes could be children of one top node would need a third level. */
_Static_assert(TRIB_SESSION_RANKS_MAX <= TRIB_CHILDREN_MAX * TRIB_CHILDREN_MAX, "two levels of nodes hold all ranks");

#define TRIB_TREE_EDGES_MAX (TRIB_SESSION_RANKS_MAX / TRIB_CHILDREN_MAX)

/* Nodes of an opening. Edges are nodes that have branches as children. */
struct trib_tree_shape {
    uint32_t edges;
    bool has_top;                            /* node 0 is above the edges, which follow */
    uint16_t group[TRIB_TREE_EDGES_MAX];     /* group of each edge */
    uint16_t first[TRIB_TREE_EDGES_MAX + 1]; /* first branch of each edge; behind the last: the count of branches */
};

struct trib_tree {
    struct trib_tree_shape shape;
    uint32_t ranks; /* of the whole communicator */
    uint32_t branches;
    uint16_t *order;     /* ranks behind this switch, branch after branch */
    uint16_t *start;     /* start of each branch in `order`, and the end of the last */
    uint16_t *branch_of; /* branch of each rank; TRIB_TREE_ELSEWHERE: behind another switch */
    uint64_t *marks;     /* mark of each rank; TRIB_NEVER: not joined; TRIB_SEQUENCE_MAX: a leader sends for the rank */
    struct trib_rank_set led;
};

#define TRIB_TREE_ELSEWHERE UINT16_MAX

/* A set of ranks. */
struct trib_tree_ranks {
    uint64_t bits[TRIB_SESSION_RANKS_MAX / 64];
};

/* True if every rank is behind at most one branch, at a root exactly one, and branches are in order and not too
 * many. */
bool trib_tree_is_sound(const struct trib_opening *opening);
/* Makes the tree of a sound opening. NULL: out of memory. The caller owns the tree. */
struct trib_tree *trib_tree_create(const struct trib_opening *opening);
void trib_tree_destroy(struct trib_tree *tree); /* NULL is allowed */

/* Shape of a sound opening's tree. */
struct trib_tree_shape trib_tree_shape(const struct trib_opening *opening);
/* Number of nodes, including the top node. */
static inline uint32_t trib_tree_nodes(const struct trib_tree_shape *shape)
{
    return shape->edges + shape->has_top;
}
/* True if the node is above other nodes. */
static inline bool trib_tree_is_top(const struct trib_tree_shape *shape, uint32_t node)
{
    return shape->has_top && node == 0;
}
uint32_t trib_tree_children(const struct trib_tree_shape *shape, uint32_t node);
/* Returns the node that has this branch as a child, and writes the child's number. */
uint32_t trib_tree_node_of(const struct trib_tree *tree, uint32_t branch, uint32_t *child);
/* Lowest rank behind a node's child, for messages. */
uint32_t trib_tree_lowest(const struct trib_tree *tree, uint32_t node, uint32_t child);
/* Adds the ranks behind a node's children. */
void trib_tree_add_ranks(const struct trib_tree *tree, uint32_t node, uint64_t children, struct trib_tree_ranks *ranks);
/* Writes the ranks of the set, ascending, at most max. Returns the number written. */
uint32_t trib_tree_list(const struct trib_tree_ranks *ranks, uint16_t *list, uint32_t max);

/* Notes that a rank has joined, or its mark. False: the rank is not behind this switch. Marks do not fall. */
bool trib_tree_join(struct trib_tree *tree, uint32_t rank, uint64_t mark);
/* Writes the smallest mark behind a node's child. False: a rank there has not joined. */
bool trib_tree_mark(const struct trib_tree *tree, uint32_t node, uint32_t child, uint64_t *mark);

#endif
