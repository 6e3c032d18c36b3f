/* SPDX-License-Identifier: Apache-2.0 */
/* test_tree.c: which rank is behind which node's child, and the marks that ranks told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "switchd/tree.h"

/* An opening whose branch i has the ranks i, i + branches, i + 2 * branches, ... */
struct dealt {
    struct trib_opening opening;
    struct trib_branch branches[TRIB_SESSION_RANKS_MAX];
    uint16_t ranks[TRIB_SESSION_RANKS_MAX];
    struct trib_address parent;
};

static struct dealt *deal(uint32_t ranks, uint32_t branches)
{
    struct dealt *dealt = calloc(1, sizeof *dealt);
    assert_non_null(dealt);
    dealt->opening.session.communicator = 7;
    dealt->opening.session.ranks = ranks;
    dealt->opening.ranks = ranks;
    dealt->opening.branches = dealt->branches;
    dealt->opening.count = branches;
    uint32_t at = 0;
    for (uint32_t i = 0; i < branches; i++) {
        struct trib_branch *branch = &dealt->branches[i];
        branch->ranks = &dealt->ranks[at];
        for (uint32_t rank = i; rank < ranks; rank += branches) {
            dealt->ranks[at++] = (uint16_t)rank;
            branch->count++;
        }
        branch->is_switch = branch->count > 1;
    }
    return dealt;
}

static struct trib_tree *make(uint32_t ranks, uint32_t branches)
{
    struct dealt *dealt = deal(ranks, branches);
    assert_true(trib_tree_is_sound(&dealt->opening));
    struct trib_tree *tree = trib_tree_create(&dealt->opening);
    assert_non_null(tree);
    free(dealt);
    return tree;
}

static void nodes__have_64_children_at_most(void **state)
{
    (void)state;
    const struct {
        uint32_t branches, nodes, top, last;
    } rows[] = {{1, 1, 1, 1},    {2, 1, 2, 2},   {64, 1, 64, 64},    {65, 3, 2, 1},     {100, 3, 2, 36},
                {128, 3, 2, 64}, {129, 4, 3, 1}, {1000, 17, 16, 40}, {1024, 17, 16, 64}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dealt *dealt = deal(rows[i].branches, rows[i].branches);
        const struct trib_tree_shape shape = trib_tree_shape(&dealt->opening);
        uint32_t nodes = trib_tree_nodes(&shape);
        assert_int_equal(nodes, rows[i].nodes);
        assert_int_equal(trib_tree_children(&shape, 0), rows[i].top);
        assert_int_equal(trib_tree_children(&shape, nodes - 1), rows[i].last);
        uint32_t edges = 0;
        for (uint32_t k = nodes == 1 ? 0 : 1; k < nodes; k++) {
            edges += trib_tree_children(&shape, k);
        }
        assert_int_equal(edges, rows[i].branches);
        free(dealt);
    }
}

/* Every branch has a place of its own, and every rank is behind its branch's place and behind that node's in the top
 * node. */
static void node_of__is_a_place_for_each_branch(void **state)
{
    (void)state;
    const uint32_t sizes[][2] = {{1, 1}, {5, 2}, {64, 64}, {65, 65}, {200, 100}, {1024, 1024}};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct trib_tree *tree = make(sizes[i][0], sizes[i][1]);
        uint64_t taken[1 + TRIB_CHILDREN_MAX] = {0};
        for (uint32_t branch = 0; branch < tree->branches; branch++) {
            uint32_t child;
            uint32_t node = trib_tree_node_of(tree, branch, &child);
            assert_true(node < trib_tree_nodes(&tree->shape));
            assert_true(child < trib_tree_children(&tree->shape, node));
            assert_int_equal(taken[node] >> child & 1, 0);
            taken[node] |= UINT64_C(1) << child;
            assert_int_equal(trib_tree_lowest(tree, node, child), branch);
            struct trib_tree_ranks ranks = {{0}};
            uint16_t list[TRIB_SESSION_RANKS_MAX];
            trib_tree_add_ranks(tree, node, UINT64_C(1) << child, &ranks);
            uint32_t count = trib_tree_list(&ranks, list, TRIB_SESSION_RANKS_MAX);
            assert_int_equal(count, (tree->ranks - branch + tree->branches - 1) / tree->branches);
            for (uint32_t k = 0; k < count; k++) {
                assert_int_equal(list[k], branch + k * tree->branches);
            }
            if (node > 0) {
                assert_int_equal(trib_tree_lowest(tree, 0, node - 1), (node - 1) * TRIB_CHILDREN_MAX);
            }
        }
        trib_tree_destroy(tree);
    }
}

/* A combiner has no top node: a node for each 64 numbers at the root of which some are behind it. */
static void shape__of_a_combiner_follows_the_numbers(void **state)
{
    (void)state;
    struct dealt *dealt = deal(10, 10);
    static const uint32_t numbers[10] = {62, 63, 64, 65, 127, 320, 321, 322, 383, 1023};
    static const uint32_t children[4] = {2, 3, 4, 1};
    static const uint32_t groups[4] = {0, 1, 5, 15};
    dealt->opening.parent = &dealt->parent;
    dealt->opening.ranks = dealt->opening.session.ranks = TRIB_SESSION_RANKS_MAX;
    for (uint32_t i = 0; i < 10; i++) {
        trib_rank_set_add(&dealt->opening.numbers, numbers[i]);
    }
    assert_true(trib_tree_is_sound(&dealt->opening));
    struct trib_tree *tree = trib_tree_create(&dealt->opening);
    assert_non_null(tree);
    assert_int_equal(trib_tree_nodes(&tree->shape), 4);
    assert_false(trib_tree_is_top(&tree->shape, 0));
    uint32_t branch = 0;
    for (uint32_t node = 0; node < 4; node++) {
        assert_int_equal(tree->shape.group[node], groups[node]);
        assert_int_equal(trib_tree_children(&tree->shape, node), children[node]);
        for (uint32_t i = 0; i < children[node]; i++, branch++) {
            uint32_t child;
            assert_int_equal(trib_tree_node_of(tree, branch, &child), node);
            assert_int_equal(child, i);
            assert_int_equal(trib_tree_lowest(tree, node, child), branch);
        }
    }
    trib_tree_destroy(tree);
    dealt->opening.count = 9; /* and ten numbers */
    assert_false(trib_tree_is_sound(&dealt->opening));
    free(dealt);
}

static void list__is_ascending_and_no_longer_than_it_may_be(void **state)
{
    (void)state;
    struct trib_tree *tree = make(200, 100);
    struct trib_tree_ranks ranks = {{0}};
    uint16_t list[200];
    trib_tree_add_ranks(tree, 2, 0x5, &ranks); /* branches 64 and 66 */
    trib_tree_add_ranks(tree, 1, 0x1, &ranks);
    const uint16_t expected[] = {0, 64, 66, 100, 164, 166};
    assert_int_equal(trib_tree_list(&ranks, list, 200), 6);
    assert_memory_equal(list, expected, sizeof expected);
    assert_int_equal(trib_tree_list(&ranks, list, 4), 4);
    assert_int_equal(trib_tree_list(&ranks, list, 0), 0);
    trib_tree_add_ranks(tree, 0, 0x3, &ranks);
    assert_int_equal(trib_tree_list(&ranks, list, 200), 200);
    trib_tree_destroy(tree);
}

static void mark__is_the_smallest_once_all_have_joined(void **state)
{
    (void)state;
    struct trib_tree *tree = make(200, 100);
    uint64_t mark = 99;
    assert_true(trib_tree_join(tree, 3, 10));
    assert_false(trib_tree_mark(tree, 1, 3, &mark)); /* rank 103 lacks */
    assert_true(trib_tree_join(tree, 103, 7));
    assert_true(trib_tree_mark(tree, 1, 3, &mark));
    assert_int_equal(mark, 7);
    assert_true(trib_tree_join(tree, 103, 12));
    assert_true(trib_tree_mark(tree, 1, 3, &mark));
    assert_int_equal(mark, 10);
    assert_true(trib_tree_join(tree, 3, 2));            /* marks do not fall */
    assert_true(trib_tree_join(tree, 103, TRIB_NEVER)); /* and there is none as high as that */
    assert_true(trib_tree_mark(tree, 1, 3, &mark));
    assert_int_equal(mark, 10);
    assert_false(trib_tree_mark(tree, 0, 0, &mark));
    for (uint32_t rank = 0; rank < 200; rank++) {
        assert_true(trib_tree_join(tree, rank, rank % 100 == 40 ? 5 : 20));
    }
    assert_true(trib_tree_mark(tree, 0, 0, &mark));
    assert_int_equal(mark, 5);
    assert_true(trib_tree_mark(tree, 0, 1, &mark));
    assert_int_equal(mark, 20);
    assert_false(trib_tree_join(tree, 200, 0));
    assert_false(trib_tree_join(tree, UINT32_MAX, 0));
    trib_tree_destroy(tree);
}

/* Below a parent a switch has only some of the ranks. */
static void join__is_for_ranks_of_this_switch(void **state)
{
    (void)state;
    struct dealt *dealt = deal(8, 4);
    dealt->opening.count = 2; /* ranks 0, 4 and 1, 5 */
    assert_false(trib_tree_is_sound(&dealt->opening));
    dealt->opening.parent = &dealt->parent;
    assert_true(trib_tree_is_sound(&dealt->opening));
    struct trib_tree *tree = trib_tree_create(&dealt->opening);
    assert_non_null(tree);
    assert_true(trib_tree_join(tree, 5, 0));
    assert_false(trib_tree_join(tree, 6, 0));
    trib_tree_destroy(tree);
    free(dealt);
}

/* A host's ranks join one by one, and its mark is its leader's: the others know no better. */
static void join__of_a_host(void **state)
{
    (void)state;
    static const uint16_t ranks[5] = {0, 1, 2, 3, 4};
    struct trib_branch branches[2] = {{.ranks = ranks, .count = 3}, {.ranks = ranks + 3, .count = 2}};
    struct trib_opening opening = {
        .session = {.communicator = 7, .ranks = 2}, .ranks = 5, .branches = branches, .count = 2};
    uint64_t mark = 1;
    assert_true(trib_tree_is_sound(&opening));
    struct trib_tree *tree = trib_tree_create(&opening);
    assert_non_null(tree);
    assert_true(trib_tree_join(tree, 0, 17));
    assert_true(trib_tree_join(tree, 2, 9));
    assert_false(trib_tree_mark(tree, 0, 0, &mark)); /* rank 1 has not joined */
    assert_true(trib_tree_join(tree, 1, 0));
    assert_true(trib_tree_mark(tree, 0, 0, &mark));
    assert_int_equal(mark, 17);
    assert_true(trib_tree_join(tree, 2, 30));
    assert_true(trib_tree_mark(tree, 0, 0, &mark));
    assert_int_equal(mark, 17);
    trib_tree_destroy(tree);
    opening.session.ranks = 5; /* no hosts: two ranks that are one */
    assert_false(trib_tree_is_sound(&opening));
    opening.session.ranks = 6;
    assert_false(trib_tree_is_sound(&opening));
}

static void is_sound__knows_what_no_control_plane_says(void **state)
{
    (void)state;
    struct dealt *dealt = deal(6, 3);
    struct trib_opening *opening = &dealt->opening;
    assert_true(trib_tree_is_sound(opening));
    opening->ranks = opening->session.ranks = 7; /* rank 6 is nowhere */
    assert_false(trib_tree_is_sound(opening));
    opening->ranks = opening->session.ranks = 5; /* there is no rank 5 */
    assert_false(trib_tree_is_sound(opening));
    opening->ranks = opening->session.ranks = 0;
    assert_false(trib_tree_is_sound(opening));
    opening->ranks = opening->session.ranks = TRIB_SESSION_RANKS_MAX + 1;
    assert_false(trib_tree_is_sound(opening));
    opening->ranks = opening->session.ranks = 6;
    dealt->branches[1].is_switch = false; /* two ranks that are one */
    assert_false(trib_tree_is_sound(opening));
    dealt->branches[1].is_switch = true;
    dealt->ranks[2] = 0; /* behind two branches */
    assert_false(trib_tree_is_sound(opening));
    dealt->ranks[2] = 4; /* not ascending: rank 4 before rank 1 */
    dealt->ranks[3] = 1;
    assert_false(trib_tree_is_sound(opening));
    dealt->ranks[2] = 1;
    dealt->ranks[3] = 4;
    struct trib_branch first = dealt->branches[0];
    dealt->branches[0] = dealt->branches[1]; /* not in order */
    dealt->branches[1] = first;
    assert_false(trib_tree_is_sound(opening));
    dealt->branches[1] = dealt->branches[0];
    dealt->branches[0] = first;
    assert_true(trib_tree_is_sound(opening));
    dealt->branches[2].count = 0;
    assert_false(trib_tree_is_sound(opening));
    opening->count = 0;
    assert_false(trib_tree_is_sound(opening));
    free(dealt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes__have_64_children_at_most),
        cmocka_unit_test(node_of__is_a_place_for_each_branch),
        cmocka_unit_test(shape__of_a_combiner_follows_the_numbers),
        cmocka_unit_test(list__is_ascending_and_no_longer_than_it_may_be),
        cmocka_unit_test(mark__is_the_smallest_once_all_have_joined),
        cmocka_unit_test(join__is_for_ranks_of_this_switch),
        cmocka_unit_test(join__of_a_host),
        cmocka_unit_test(is_sound__knows_what_no_control_plane_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
