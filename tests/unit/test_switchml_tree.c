/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_tree.c: trees of switch nodes with workers: sums, every kind of packet lost on every hop, late ranks.
 * Restarts are in test_switchml_tree_restart.c, one inner node alone in test_switchml_switch_parent.c. */
#include "tree_harness.h"

#define SLOTS 16
#define ELEMENTS 256 /* 16 fragments */

static float any_float(uint32_t rank, uint64_t element)
{
    struct trib_prng prng = {.state = rank * 1000003 + element};
    float value = (float)((int64_t)trib_prng_below(&prng, 2000001) - 1000000);

    return value * (element % 3 == 0 ? 1e-6f : 1.37f);
}

/* ---- no fault ---- */

static void check_broadcast(struct tree *t, uint32_t root)
{
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        memset(t->workers[rank].recv, 0, ELEMENTS * sizeof(float));
    }
    uint32_t done = t->workers[0].done;
    tree_submit_all(t, TRIB_BROADCAST, root);
    tree_finish(t, done + 1, 100 * TREE_MS);
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        const float *got = rank == root ? t->workers[rank].send : t->workers[rank].recv;
        assert_memory_equal(got, t->workers[root].send, ELEMENTS * sizeof(float));
    }
}

static void check_collectives(const struct tree_shape *shape)
{
    struct tree *t = tree_open(shape, TRIB_FLOAT32, SLOTS);

    tree_buffers(t, ELEMENTS, tree_integer);
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    tree_finish(t, 1, 100 * TREE_MS);
    tree_check_sums(t);
    tree_submit_all(t, TRIB_BARRIER, 0);
    tree_finish(t, 2, 100 * TREE_MS);
    for (uint32_t root = 0; root < shape->ranks; root++) {
        check_broadcast(t, root);
    }
    /* Nothing was lost, so nothing was sent twice; each inner switch has sent each fragment once. */
    assert_int_equal(tree_resends(t), 0);
    for (uint32_t i = 1; i < shape->switches; i++) {
        assert_int_equal(tree_counters(t, i)->partials, (1 + shape->ranks) * ELEMENTS / 16 + 1);
    }
    /* The last marks travel on quiet probes alone, up and down the tree, and free everything. */
    tree_run_for(t, 3000 * TREE_MS);
    assert_int_equal(tree_slots_held(t), 0);
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        const void *worker = t->workers[rank].memory;
        assert_int_equal(trib_switchml.worker->node.communicator_mark(worker), trib_switchml.worker->mark(worker));
    }
    assert_int_equal(t->events[TRIB_EVENT_MISMATCH] + t->events[TRIB_EVENT_FAILED] + t->events[TRIB_EVENT_STALL], 0);
    tree_close(t);
}

static void tree__of_two_levels_does_every_collective(void **state)
{
    (void)state;
    check_collectives(&tree_2x2);
}

static void tree__of_three_levels_with_ranks_at_all_does_every_collective(void **state)
{
    (void)state;
    check_collectives(&tree_deep);
}

/* A relay for one rank, under a relay, under a relay: legal, and no worse than slow. */
static void tree__of_one_rank_behind_three_switches_works(void **state)
{
    static const int above[] = {-1, 0, 1, 2};
    static const uint16_t home[] = {3, 0};
    static const struct tree_shape chain = {above, home, 4, 2};

    (void)state;
    check_collectives(&chain);
}

static struct tree *open_groups(uint32_t ranks, uint32_t group, enum trib_type wire)
{
    static int above[TREE_SWITCHES];
    static uint16_t home[TREE_RANKS];
    struct tree_shape shape = {above, home, 1 + (ranks + group - 1) / group, ranks};

    for (uint32_t i = 0; i < shape.switches; i++) {
        above[i] = i == 0 ? -1 : 0;
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        home[rank] = (uint16_t)(1 + rank / group);
    }
    struct tree *t = tree_open(&shape, wire, SLOTS);
    tree_buffers(t, ELEMENTS, tree_integer);
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    tree_finish(t, 1, 100 * TREE_MS);
    tree_check_sums(t);
    assert_int_equal(tree_resends(t), 0);
    return t;
}

/* A restart when only rank 1 lacks results: what rank 0 OFFERs counts all ranks, in 16 bits. */
static void check_offers(struct tree *t)
{
    tree_lose(t, TRIB_RESULT, 1, (int)TREE_RANK(1), UINT32_MAX);
    t->elements = 16 * SLOTS / 4;
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    tree_run_for(t, 20 * TREE_MS);
    assert_int_equal(t->workers[0].done, 2);
    assert_int_equal(t->workers[1].done, 1);
    t->rule_count = 0;
    tree_boot(t);
    tree_finish(t, 2, 500 * TREE_MS);
    tree_check_sums(t);
    assert_int_equal(tree_counters(t, TREE_RANK(0))->offers, SLOTS / 4);
}

static void tree__holds_more_ranks_than_a_node_has_children(void **state)
{
    (void)state;
    struct tree *t = open_groups(100, 64, TRIB_FLOAT32);
    check_offers(t);
    tree_close(t);
}

static void tree__holds_1024_ranks(void **state)
{
    (void)state;
    struct tree *t = open_groups(1024, 64, TRIB_FLOAT32);
    check_offers(t);
    tree_close(t);
    tree_close(open_groups(1024, 64, TRIB_INT32));
}

/* ---- bits ---- */

/* The sum of the same values in a star of one switch. */
static void star_of(const struct tree *t, enum trib_type wire, float *result)
{
    static const int above[] = {-1};
    static const uint16_t home[64];
    struct tree_shape shape = {above, home, 1, t->shape.ranks};
    struct tree *star = tree_open(&shape, wire, SLOTS);

    tree_buffers(star, t->elements, any_float);
    tree_submit_all(star, TRIB_ALLREDUCE, 0);
    tree_finish(star, 1, 100 * TREE_MS);
    memcpy(result, star->workers[0].recv, t->elements * sizeof(float));
    tree_close(star);
}

static void check_bits(const struct tree_shape *shape, enum trib_type wire, bool equals_star)
{
    float expected[ELEMENTS];
    struct tree *t = tree_open(shape, wire, SLOTS);

    tree_buffers(t, ELEMENTS, any_float);
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    tree_finish(t, 1, 100 * TREE_MS);
    for (uint32_t rank = 1; rank < shape->ranks; rank++) {
        assert_memory_equal(t->workers[rank].recv, t->workers[0].recv, ELEMENTS * sizeof(float));
    }
    star_of(t, wire, expected);
    bool equal = memcmp(expected, t->workers[0].recv, sizeof expected) == 0;
    assert_int_equal(equal, equals_star);
    tree_close(t);
}

/* Subtrees that are aligned powers of two are subtrees of the star's own tree of additions. */
static void bits__of_float32_are_those_of_a_star_where_subtrees_are_aligned_powers_of_two(void **state)
{
    static const int above[] = {-1, 0, 0, 2, 2};
    static const uint16_t home[] = {1, 1, 1, 1, 3, 3, 4, 4};
    static const struct tree_shape uneven = {above, home, 5, 8};

    (void)state;
    check_bits(&tree_2x2, TRIB_FLOAT32, true);
    check_bits(&uneven, TRIB_FLOAT32, true);
}

static void bits__of_int32_are_those_of_a_star_in_every_shape(void **state)
{
    (void)state;
    check_bits(&tree_2x2, TRIB_INT32, true);
    check_bits(&tree_deep, TRIB_INT32, true);
}

/* Each switch rounds to the wire form once, so a tree rounds more often than a star; all ranks have the same bits all
 * the same. */
static void bits__of_bfloat16_are_rounded_once_per_switch(void **state)
{
    struct tree *t = tree_open(&tree_2x2, TRIB_BFLOAT16, SLOTS);

    (void)state;
    tree_buffers(t, 32, tree_integer);
    /* 256 + 1 rounds to 256 in the first subtree; in a star the ones would make 258 together. */
    const float parts[4] = {256, 1, 1, 0};
    for (uint32_t rank = 0; rank < 4; rank++) {
        for (uint32_t i = 0; i < 32; i++) {
            t->workers[rank].send[i] = parts[rank];
        }
    }
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    tree_finish(t, 1, 100 * TREE_MS);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_float_equal(t->workers[rank].recv[0], 256, 0);
    }
    tree_close(t);
    check_bits(&tree_2x2, TRIB_BFLOAT16, false);
}

/* ---- losses ---- */

struct hop {
    int from, to;
};

/* Of tree_2x2: up and down between rank 0 and its switch, and between that and the top. */
static const struct hop hops[] = {{TREE_RANK(0), 1}, {1, 0}, {0, 1}, {1, TREE_RANK(0)}};

static const enum trib_kind kinds[] = {TRIB_CONTRIBUTION, TRIB_RESULT, TRIB_PROBE, TRIB_ASK, TRIB_HELD};

/* A loss makes recovery begin, and then one of recovery's own packets is lost as well: of each kind, on each hop, once
 * to thrice. */
static void loss__of_any_two_kinds_on_any_hops_is_repaired(void **state)
{
    uint32_t second_hits[TRIB_KIND_COUNT] = {0};

    (void)state;
    for (size_t a = 0; a < 4; a++) {
        for (size_t b = 0; b < 4 * sizeof kinds / sizeof *kinds; b++) {
            struct tree *t = tree_open(&tree_2x2, TRIB_FLOAT32, SLOTS);
            enum trib_kind first = a < 2 ? TRIB_CONTRIBUTION : TRIB_RESULT;
            struct tree_rule *lost = tree_lose(t, first, hops[a].from, hops[a].to, 1);
            lost->skip = 3;
            struct tree_rule *second = tree_lose(t, kinds[b / 4], hops[b % 4].from, hops[b % 4].to, 3);
            second->skip = kinds[b / 4] == TRIB_CONTRIBUTION || kinds[b / 4] == TRIB_RESULT ? 15 : 0;
            tree_buffers(t, ELEMENTS, tree_integer);
            tree_submit_all(t, TRIB_ALLREDUCE, 0);
            tree_finish(t, 1, 2000 * TREE_MS);
            tree_check_sums(t);
            assert_int_equal(lost->hits, 1);
            second_hits[kinds[b / 4]] += second->hits;
            tree_run_for(t, 5000 * TREE_MS);
            assert_int_equal(tree_slots_held(t), 0);
            tree_close(t);
        }
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_int_not_equal(second_hits[kinds[i]], 0);
    }
}

/* One loss costs one repeat, and a probe or two: the rest of the tree has nothing to do with it. */
static void loss__of_a_sum_of_a_subtree_is_repaired_by_that_sum_alone(void **state)
{
    struct tree *t = tree_open(&tree_2x2, TRIB_FLOAT32, SLOTS);
    struct tree_rule *lost = tree_lose(t, TRIB_CONTRIBUTION, 1, 0, 1);

    (void)state;
    tree_buffers(t, ELEMENTS, tree_integer);
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    tree_finish(t, 1, 500 * TREE_MS);
    tree_check_sums(t);
    assert_int_equal(lost->hits, 1);
    assert_int_equal(tree_resends(t), 1);
    assert_int_equal(tree_counters(t, 1)->contributions_resent, 1);
    assert_int_equal(tree_counters(t, 0)->asks, 1);
    tree_close(t);
}

static void loss__of_a_result_above_is_repaired_for_the_whole_subtree(void **state)
{
    struct tree *t = tree_open(&tree_2x2, TRIB_FLOAT32, SLOTS);
    struct tree_rule *lost = tree_lose(t, TRIB_RESULT, 0, 2, 1);

    (void)state;
    tree_buffers(t, ELEMENTS, tree_integer);
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    tree_finish(t, 1, 500 * TREE_MS);
    tree_check_sums(t);
    assert_int_equal(lost->hits, 1);
    assert_int_equal(tree_resends(t), 0);
    assert_int_equal(tree_counters(t, 0)->results_repeated, 1);
    tree_close(t);
}

/* Every tenth packet of every kind on every hop, at three levels. */
static void loss__of_every_tenth_packet_everywhere_is_survived(void **state)
{
    struct tree *t = tree_open(&tree_deep, TRIB_FLOAT32, SLOTS);

    (void)state;
    tree_buffers(t, 16 * ELEMENTS, tree_integer);
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tree_lose(t, kinds[k], -1, -1, 0)->every = 10;
    }
    tree_finish(t, 1, 10000 * TREE_MS);
    tree_check_sums(t);
    t->rule_count = 0;
    tree_run_for(t, 5000 * TREE_MS);
    assert_int_equal(tree_slots_held(t), 0);
    assert_int_equal(t->events[TRIB_EVENT_FAILED], 0);
    tree_close(t);
}

/* ---- late ranks ---- */

/* Rank 3 comes a second late. The others probe, nothing is sent twice, and the top hears of it a few times, not 3
 * ranks' times. */
static void lateness__of_a_rank_makes_no_resend_and_no_storm(void **state)
{
    struct tree *t = tree_open(&tree_2x2, TRIB_FLOAT32, SLOTS);

    (void)state;
    tree_buffers(t, ELEMENTS, tree_integer);
    for (uint32_t rank = 0; rank < 3; rank++) {
        tree_submit(t, rank, TRIB_ALLREDUCE, 0);
    }
    tree_run_for(t, 1000 * TREE_MS);
    tree_submit(t, 3, TRIB_ALLREDUCE, 0);
    tree_finish(t, 1, 200 * TREE_MS);
    tree_check_sums(t);
    assert_int_equal(tree_resends(t), 0);
    uint64_t asked = 0;
    for (uint32_t rank = 0; rank < 2; rank++) {
        asked += tree_counters(t, TREE_RANK(rank))->probes;
    }
    assert_int_not_equal(tree_counters(t, 1)->probes_up, 0);
    assert_in_range(tree_counters(t, 1)->probes_up, 1, asked);
    assert_int_equal(tree_counters(t, 2)->partials, ELEMENTS / 16);
    tree_close(t);
}

/* Ranks run ahead until the window holds them back: M lets them go on, through two switches, though what tells of it is
 * lost. */
static void lateness__within_a_small_window_is_no_deadlock(void **state)
{
    (void)state;
    for (uint32_t slots = 1; slots <= 3; slots++) {
        struct tree *t = tree_open(&tree_deep, TRIB_FLOAT32, slots);
        tree_buffers(t, 4 * ELEMENTS, tree_integer);
        tree_submit_all(t, TRIB_ALLREDUCE, 0);
        tree_lose(t, TRIB_HELD, -1, -1, 5);
        tree_lose(t, TRIB_RESULT, 2, -1, 7)->skip = 9;
        tree_finish(t, 1, 10000 * TREE_MS);
        tree_check_sums(t);
        tree_close(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree__of_two_levels_does_every_collective),
        cmocka_unit_test(tree__of_three_levels_with_ranks_at_all_does_every_collective),
        cmocka_unit_test(tree__of_one_rank_behind_three_switches_works),
        cmocka_unit_test(tree__holds_more_ranks_than_a_node_has_children),
        cmocka_unit_test(tree__holds_1024_ranks),
        cmocka_unit_test(bits__of_float32_are_those_of_a_star_where_subtrees_are_aligned_powers_of_two),
        cmocka_unit_test(bits__of_int32_are_those_of_a_star_in_every_shape),
        cmocka_unit_test(bits__of_bfloat16_are_rounded_once_per_switch),
        cmocka_unit_test(loss__of_any_two_kinds_on_any_hops_is_repaired),
        cmocka_unit_test(loss__of_a_sum_of_a_subtree_is_repaired_by_that_sum_alone),
        cmocka_unit_test(loss__of_a_result_above_is_repaired_for_the_whole_subtree),
        cmocka_unit_test(loss__of_every_tenth_packet_everywhere_is_survived),
        cmocka_unit_test(lateness__of_a_rank_makes_no_resend_and_no_storm),
        cmocka_unit_test(lateness__within_a_small_window_is_no_deadlock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
