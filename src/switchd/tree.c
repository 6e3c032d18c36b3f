/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c: see tree.h. The branches behind a node's child are neighbours, and so are the ranks of these branches in
 * `order`. */
#include "switchd/tree.h"

#include <stdlib.h>
#include <string.h>

static bool has_rank(const struct trib_tree_ranks *ranks, uint32_t rank)
{
    return (ranks->bits[rank / 64] >> (rank % 64) & 1) != 0;
}

static void add_rank(struct trib_tree_ranks *ranks, uint32_t rank)
{
    ranks->bits[rank / 64] |= UINT64_C(1) << (rank % 64);
}

bool trib_tree_is_sound(const struct trib_opening *opening)
{
    uint32_t ranks = opening->ranks;
    struct trib_tree_ranks seen = {{0}};
    uint32_t total = 0;
    bool has_hosts = opening->session.ranks < ranks; /* members of several ranks that are no switch */
    uint32_t numbers = trib_rank_set_count(&opening->numbers);
    if (ranks == 0 || ranks > TRIB_SESSION_RANKS_MAX || (numbers != 0 && numbers != opening->count) ||
        opening->session.ranks == 0 || opening->session.ranks > ranks || opening->count == 0 ||
        opening->count > ranks) {
        return false;
    }
    for (uint32_t i = 0; i < opening->count; i++) {
        const struct trib_branch *branch = &opening->branches[i];
        if (branch->count == 0 || (branch->count > 1 && !branch->is_switch && !has_hosts) ||
            (i > 0 && branch->ranks[0] < opening->branches[i - 1].ranks[0])) {
            return false;
        }
        for (uint32_t k = 0; k < branch->count; k++) {
            uint32_t rank = branch->ranks[k];
            if (rank >= ranks || has_rank(&seen, rank) || (k > 0 && rank < branch->ranks[k - 1])) {
                return false;
            }
            add_rank(&seen, rank);
            total++;
        }
    }
    return opening->parent != NULL || total == ranks;
}

/* One allocation for the struct and its arrays, the widest first. */
static struct trib_tree *allocate(uint32_t ranks, uint32_t branches)
{
    size_t behind = ranks * sizeof(uint64_t) + (2 * (size_t)ranks + branches + 1) * sizeof(uint16_t);
    struct trib_tree *tree = calloc(1, sizeof *tree + behind);
    if (tree == NULL) {
        return NULL;
    }
    tree->ranks = ranks;
    tree->branches = branches;
    tree->marks = (uint64_t *)(tree + 1);
    tree->branch_of = (uint16_t *)(tree->marks + ranks);
    tree->order = tree->branch_of + ranks;
    tree->start = tree->order + ranks;
    return tree;
}

struct trib_tree *trib_tree_create(const struct trib_opening *opening)
{
    struct trib_tree *tree = allocate(opening->ranks, opening->count);
    uint16_t at = 0;
    if (tree == NULL) {
        return NULL;
    }
    for (uint32_t rank = 0; rank < tree->ranks; rank++) {
        tree->branch_of[rank] = TRIB_TREE_ELSEWHERE;
        tree->marks[rank] = TRIB_NEVER;
    }
    for (uint32_t i = 0; i < tree->branches; i++) {
        tree->start[i] = at;
        for (uint32_t k = 0; k < opening->branches[i].count; k++) {
            tree->order[at] = opening->branches[i].ranks[k];
            if (k > 0 && !opening->branches[i].is_switch) {
                trib_rank_set_add(&tree->led, tree->order[at]);
            }
            tree->branch_of[tree->order[at++]] = (uint16_t)i;
        }
    }
    tree->start[tree->branches] = at;
    tree->shape = trib_tree_shape(opening);
    return tree;
}

void trib_tree_destroy(struct trib_tree *tree)
{
    free(tree);
}

struct trib_tree_shape trib_tree_shape(const struct trib_opening *opening)
{
    struct trib_tree_shape shape = {.edges = 0};
    bool is_combiner = trib_opening_is_combiner(opening);
    uint32_t number = 0;
    for (uint32_t branch = 0; branch < opening->count; branch++, number++) {
        while (is_combiner && !trib_rank_set_has(&opening->numbers, number)) {
            number++;
        }
        uint16_t group = (uint16_t)(number / TRIB_CHILDREN_MAX);
        if (shape.edges == 0 || shape.group[shape.edges - 1] != group) {
            shape.group[shape.edges] = group;
            shape.first[shape.edges++] = (uint16_t)branch;
        }
        shape.first[shape.edges] = (uint16_t)(branch + 1);
    }
    shape.has_top = !is_combiner && shape.edges > 1;
    return shape;
}

uint32_t trib_tree_children(const struct trib_tree_shape *shape, uint32_t node)
{
    uint32_t edge = node - shape->has_top;
    return trib_tree_is_top(shape, node) ? shape->edges : (uint32_t)(shape->first[edge + 1] - shape->first[edge]);
}

uint32_t trib_tree_node_of(const struct trib_tree *tree, uint32_t branch, uint32_t *child)
{
    uint32_t edge = 0;
    while (tree->shape.first[edge + 1] <= branch) {
        edge++;
    }
    *child = branch - tree->shape.first[edge];
    return edge + tree->shape.has_top;
}

/* Branches behind a node's child: from *first to before *end. */
static void find_branches(const struct trib_tree *tree, uint32_t node, uint32_t child, uint32_t *first, uint32_t *end)
{
    const struct trib_tree_shape *shape = &tree->shape;
    if (trib_tree_is_top(shape, node)) {
        *first = shape->first[child];
        *end = shape->first[child + 1];
    } else {
        *first = shape->first[node - shape->has_top] + child;
        *end = *first + 1;
    }
}

uint32_t trib_tree_lowest(const struct trib_tree *tree, uint32_t node, uint32_t child)
{
    uint32_t first, end;
    find_branches(tree, node, child, &first, &end);
    return tree->order[tree->start[first]];
}

void trib_tree_add_ranks(const struct trib_tree *tree, uint32_t node, uint64_t children, struct trib_tree_ranks *ranks)
{
    for (uint64_t bits = children; bits != 0; bits &= bits - 1) {
        uint32_t first, end;
        find_branches(tree, node, (uint32_t)__builtin_ctzll(bits), &first, &end);
        for (uint32_t i = tree->start[first]; i < tree->start[end]; i++) {
            add_rank(ranks, tree->order[i]);
        }
    }
}

uint32_t trib_tree_list(const struct trib_tree_ranks *ranks, uint16_t *list, uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t word = 0; word < TRIB_SESSION_RANKS_MAX / 64; word++) {
        for (uint64_t bits = ranks->bits[word]; bits != 0 && count < max; bits &= bits - 1) {
            list[count++] = (uint16_t)(word * 64 + (uint32_t)__builtin_ctzll(bits));
        }
    }
    return count;
}

bool trib_tree_join(struct trib_tree *tree, uint32_t rank, uint64_t mark)
{
    if (rank >= tree->ranks || tree->branch_of[rank] == TRIB_TREE_ELSEWHERE) {
        return false;
    }
    if (trib_rank_set_has(&tree->led, rank)) { /* the leader's mark stands for all ranks of the host */
        tree->marks[rank] = TRIB_SEQUENCE_MAX;
        return true;
    }
    uint64_t before = tree->marks[rank] == TRIB_NEVER ? 0 : tree->marks[rank];
    bool is_higher = mark > before && mark <= TRIB_SEQUENCE_MAX; /* as nodes check a mark */
    tree->marks[rank] = is_higher ? mark : before;
    return true;
}

bool trib_tree_mark(const struct trib_tree *tree, uint32_t node, uint32_t child, uint64_t *mark)
{
    uint32_t first, end;
    uint64_t lowest = TRIB_NEVER;
    find_branches(tree, node, child, &first, &end);
    for (uint32_t i = tree->start[first]; i < tree->start[end]; i++) {
        uint64_t one = tree->marks[tree->order[i]];
        if (one == TRIB_NEVER) {
            return false;
        }
        lowest = one < lowest ? one : lowest;
    }
    *mark = lowest;
    return true;
}
