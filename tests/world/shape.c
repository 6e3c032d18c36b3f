/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c: who is whose child in one communicator's tree: at every switch its branches (ranks and switches) in the
 * order of their lowest rank, and, where they are more than a node takes, inner nodes over consecutive groups of them.
 * The same for every shard, but in a scheme of chains, and after every restart, until its ranks go on without these
 * switches, as a star. Read next:
 * unit.c (which runs these nodes). */
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "core/quorum.h"
#include "world.h"

/* ---- sets of ranks ---- */

void rank_set_add(struct rank_set *set, uint32_t rank)
{
    set->bits[rank / 64] |= UINT64_C(1) << rank % 64;
}

bool rank_set_has(const struct rank_set *set, uint32_t rank)
{
    return set->bits[rank / 64] >> rank % 64 & 1;
}

uint32_t rank_set_next(const struct rank_set *set, uint32_t from)
{
    for (uint32_t word = from / 64; word < WORLD_RANKS_MAX / 64; word++) {
        uint64_t bits = set->bits[word] & (word == from / 64 ? UINT64_MAX << from % 64 : UINT64_MAX);
        if (bits != 0) {
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
        }
    }
    return WORLD_NONE;
}

uint32_t rank_set_count(const struct rank_set *set)
{
    uint32_t count = 0;

    for (uint32_t word = 0; word < WORLD_RANKS_MAX / 64; word++) {
        count += (uint32_t)__builtin_popcountll(set->bits[word]);
    }
    return count;
}

void rank_set_unite(struct rank_set *set, const struct rank_set *other)
{
    for (uint32_t word = 0; word < WORLD_RANKS_MAX / 64; word++) {
        set->bits[word] |= other->bits[word];
    }
}

/* ---- one switch ---- */

static int by_lowest_rank(const void *a, const void *b)
{
    uint32_t one = rank_set_next(&((const struct shape_child *)a)->ranks, 0);
    uint32_t other = rank_set_next(&((const struct shape_child *)b)->ranks, 0);

    return one < other ? -1 : one > other;
}

/* Of servers and combiners: all ranks that are there or below, and through which switch. */
static uint32_t collect_behind(const struct world_comm *comm, const struct world_tree *tree, uint32_t at,
                               struct shape_child *branches)
{
    uint32_t count = 0;

    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        uint32_t below = comm->ranks[rank].home;
        struct shape_child child = {.kind = SHAPE_RANK, .index = (uint16_t)rank};
        while (below != at && below != WORLD_NONE) {
            child.via = (uint16_t)(below + 1);
            below = tree->parents[below];
        }
        if (below == at) {
            branches[count] = child;
            rank_set_add(&branches[count++].ranks, rank);
        }
    }
    return count;
}

/* The switch's branches: ranks at home there, and switches below it that have ranks. */
static uint32_t collect(const struct world_comm *comm, const struct world_tree *tree, uint32_t at,
                        struct shape_child *branches)
{
    const struct world *world = comm->world;
    uint32_t count = 0;

    at = world_seat(world, at);
    if (world_has_servers(world)) {
        return collect_behind(comm, tree, at, branches);
    }
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        if (comm->ranks[rank].home == at) {
            branches[count] = (struct shape_child){.kind = SHAPE_RANK, .index = (uint16_t)rank};
            rank_set_add(&branches[count++].ranks, rank);
        }
    }
    for (uint32_t below = 0; below < world->switch_count; below++) {
        if (tree->parents[below] == at && tree->shapes[below].rank_count != 0) {
            branches[count++] = (struct shape_child){
                .kind = SHAPE_SWITCH, .index = (uint16_t)below, .ranks = tree->shapes[below].ranks};
        }
    }
    qsort(branches, count, sizeof *branches, by_lowest_rank);
    return count;
}

static void adopt(const struct world_comm *comm, struct world_tree *tree, uint32_t at, uint32_t index,
                  const struct shape_child *children, uint32_t count)
{
    struct shape_switch *shape = &tree->shapes[at];
    struct shape_node *node = &shape->nodes[index];

    memcpy(node->children, children, count * sizeof *children);
    node->child_count = count;
    node->parent = WORLD_NONE;
    node->is_combiner = world_is_combiner(comm->world, at);
    node->group = world_has_servers(comm->world) ? children[0].index / comm->set.groups : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct shape_child *child = &children[i];
        struct shape_place place = {(uint16_t)index, (uint16_t)i};
        rank_set_unite(&node->ranks, &child->ranks);
        if (child->kind != SHAPE_RANK) {
            node->branches |= UINT64_C(1) << i;
        }
        if (child->kind == SHAPE_RANK && child->via == 0) {
            tree->places[child->index] = place;
        }
        if (child->kind == SHAPE_RANK) {
            node->spare += trib_quorum_brings(&comm->set.session, child->index);
        } else if (child->kind == SHAPE_SWITCH) {
            tree->shapes[child->index].up = place;
        } else if (child->kind == SHAPE_NODE) {
            shape->nodes[child->index].parent = index;
            shape->nodes[child->index].number = i;
        }
    }
    node->rank_count = rank_set_count(&node->ranks);
    for (uint32_t rank = rank_set_next(&node->ranks, 0); rank != WORLD_NONE;
         rank = rank_set_next(&node->ranks, rank + 1)) {
        node->keys += trib_lane_key(comm->set.session.salt, rank);
    }
}

static uint32_t nodes_for(uint32_t count, uint32_t groups)
{
    uint32_t nodes = 1;

    while (count > groups) {
        count = (count + groups - 1) / groups;
        nodes += count;
    }
    return nodes;
}

/* A node for each group of the numbers at the server. */
static void make_combiner(const struct world_comm *comm, struct world_tree *tree, uint32_t at,
                          const struct shape_child *branches, uint32_t count)
{
    struct shape_switch *shape = &tree->shapes[at];
    uint32_t groups = comm->set.groups;

    shape->nodes = world_zeroed(count, sizeof *shape->nodes);
    for (uint32_t first = 0, end = 0; first < count; first = end) {
        while (end < count && branches[end].index / groups == branches[first].index / groups) {
            end++;
        }
        adopt(comm, tree, at, shape->node_count, branches + first, end - first);
        rank_set_unite(&shape->ranks, &shape->nodes[shape->node_count++].ranks);
    }
    shape->rank_count = rank_set_count(&shape->ranks);
    tree->edges += count;
}

/* Groups until one node can take them all, which becomes node 0. */
static void make_switch(struct world_comm *comm, struct world_tree *tree, uint32_t at)
{
    struct shape_child branches[WORLD_RANKS_MAX + WORLD_SWITCHES_MAX];
    struct shape_switch *shape = &tree->shapes[at];
    uint32_t count = collect(comm, tree, at, branches);
    uint32_t groups = comm->set.groups;

    if (count == 0) {
        return;
    }
    if (world_is_combiner(comm->world, at)) {
        make_combiner(comm, tree, at, branches, count);
        return;
    }
    shape->nodes = world_zeroed(nodes_for(count, groups), sizeof *shape->nodes);
    shape->node_count = 1;
    while (count > groups) {
        uint32_t made = 0;
        for (uint32_t first = 0; first < count; first += groups) {
            uint32_t node = shape->node_count++;
            adopt(comm, tree, at, node, branches + first, first + groups < count ? groups : count - first);
            branches[made++] =
                (struct shape_child){.kind = SHAPE_NODE, .index = (uint16_t)node, .ranks = shape->nodes[node].ranks};
        }
        count = made;
    }
    adopt(comm, tree, at, 0, branches, count);
    shape->ranks = shape->nodes[0].ranks;
    shape->rank_count = shape->nodes[0].rank_count;
    for (uint32_t node = 0; node < shape->node_count && at < comm->world->tree_count; node++) {
        tree->edges += shape->nodes[node].child_count;
    }
}

/* Those that connect to the root and have ranks there or below, in the order of these. */
static uint32_t list_racks(const struct world_comm *comm, uint32_t *racks)
{
    const struct world *world = comm->world;
    uint32_t count = 0;
    uint32_t seen = 0;

    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        uint32_t at = comm->ranks[rank].home;
        while (world->switches[at].level > 2) {
            at = world->switches[at].parent;
        }
        if (world->switches[at].level == 2 && (seen >> at & 1) == 0) {
            seen |= 1U << at;
            racks[count++] = at;
        }
    }
    return count;
}

/* Each connects to its parent; but in a scheme of chains those that connect to the root stand in a ring with it, which is
 * cut elsewhere for each root: behind the rack in the middle, behind the first, behind the next to both, ... */
static void choose_parents(const struct world_comm *comm, struct world_tree *tree, uint32_t root)
{
    static const uint32_t steps[WORLD_ROOTS_MAX] = {0, 0, 1, 1};
    uint32_t racks[WORLD_SWITCHES_MAX];
    uint32_t count = comm->world->scheme->is_chain ? list_racks(comm, racks) : 0;
    uint32_t middle = root % 2 == 0 ? (count + 1) / 2 : 0;
    uint32_t cut = count != 0 ? (middle + steps[root]) % (count + 1) : 0; /* so many are in the first of two chains */

    for (uint32_t at = 0; at < comm->world->switch_count; at++) {
        tree->parents[at] = comm->world->switches[at].parent;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t before = i == 0 ? 0 : racks[i - 1];
        uint32_t behind = i == count - 1 ? 0 : racks[i + 1];
        tree->parents[racks[i]] = i < cut ? before : behind;
    }
}

/* Switches between it and the root, both counted. */
static uint32_t level_of(const struct world_tree *tree, uint32_t at)
{
    uint32_t level = 1;

    for (; tree->parents[at] != WORLD_NONE; at = tree->parents[at]) {
        level++;
    }
    return level;
}

static void make_tree(struct world_comm *comm, uint32_t root)
{
    const struct world *world = comm->world;
    struct world_tree *tree = world_zeroed(1, sizeof *tree);

    comm->tree[root] = tree;
    tree->places = world_zeroed(comm->set.session.ranks, sizeof *tree->places);
    choose_parents(comm, tree, root);
    for (uint32_t level = WORLD_SWITCHES_MAX; level > 0; level--) {
        for (uint32_t at = 0; at < world->tree_count; at++) {
            if (level_of(tree, at) == level) {
                make_switch(comm, tree, at);
            }
        }
    }
    for (uint32_t at = world->tree_count; at < world->switch_count; at++) {
        make_switch(comm, tree, at);
    }
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        uint32_t level = level_of(tree, comm->ranks[rank].home);
        comm->depth = level > comm->depth ? level : comm->depth;
    }
    comm->edges = tree->edges > comm->edges ? tree->edges : comm->edges;
}

void shape_make(struct world_comm *comm)
{
    for (uint32_t root = 0; root < WORLD_ROOTS_MAX; root++) {
        if (root == 0 || comm->world->scheme->is_chain) {
            make_tree(comm, root);
        } else {
            comm->tree[root] = comm->tree[0];
        }
    }
}

/* At the root alone. What lies in streams and links of before is on its way to nobody. */
void shape_make_star(struct world_comm *comm)
{
    uint32_t edges = comm->edges;

    shape_free(comm);
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        comm->ranks[rank].home = 0;
    }
    comm->edges = 0;
    shape_make(comm);
    comm->edges = edges > comm->edges ? edges : comm->edges; /* bounds are for both */
}

/* At a server or a combiner each rank is a child of some node. */
static struct shape_place place_of_member(const struct shape_switch *shape, uint32_t rank)
{
    struct shape_place place = {0, 0};

    for (uint32_t k = 0; k < shape->node_count; k++) {
        const struct shape_node *node = &shape->nodes[k];
        for (uint32_t i = 0; i < node->child_count; i++) {
            if (node->children[i].kind == SHAPE_RANK && node->children[i].index == rank) {
                place = (struct shape_place){(uint16_t)k, (uint16_t)i};
            }
        }
    }
    return place;
}

/* Where a rank's branch hangs at a switch on its way. */
struct shape_place shape_place_at(const struct world_comm *comm, uint32_t rank, uint32_t at, uint32_t root)
{
    const struct world_tree *tree = comm->tree[root];
    struct shape_place place = tree->places[rank];

    at = world_seat(comm->world, at);
    if (world_has_servers(comm->world)) {
        return place_of_member(&tree->shapes[at], rank);
    }
    for (uint32_t below = comm->ranks[rank].home; below != at; below = tree->parents[below]) {
        place = tree->shapes[below].up;
    }
    return place;
}

static void free_tree(struct world_tree *tree)
{
    for (uint32_t at = 0; at < WORLD_SWITCHES_MAX; at++) {
        free(tree->shapes[at].nodes);
    }
    free(tree->places);
    free(tree);
}

void shape_free(struct world_comm *comm)
{
    for (uint32_t root = 0; root < WORLD_ROOTS_MAX; root++) {
        if (root == 0 || comm->tree[root] != comm->tree[0]) {
            free_tree(comm->tree[root]);
        }
    }
}
