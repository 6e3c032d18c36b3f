/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_tree_restart.c: all switches of a tree boot anew while some ranks have finished a fragment and others
 * have not. Those that have never contribute to it again, so that the sum can never be complete: the result must come
 * from one of them, up the tree and down to whoever lacks it, whatever subset that is. */
#include "tree_harness.h"

#define SLOTS 16

struct case_of {
    const struct tree_shape *shape;
    uint32_t finished; /* bitmap of ranks */
    uint32_t fragments;
    enum trib_kind lost;             /* once, after the restart; NONE: nothing is */
    enum trib_collective collective; /* NONE: allreduce */
    uint32_t root;
};

static uint32_t owner_of(const struct tree *t, const struct case_of *c, uint64_t element)
{
    struct trib_operation operation = {.collective = c->collective};

    return trib_operation_has_shares(&operation) ? (uint32_t)(element / (t->elements / t->shape.ranks)) : c->root;
}

static float expected_of(const struct tree *t, const struct case_of *c, uint64_t element)
{
    bool is_one_ranks = c->collective == TRIB_BROADCAST || c->collective == TRIB_ALLGATHER;

    return is_one_ranks ? t->workers[owner_of(t, c, element)].send[element] : tree_sum(t, element);
}

/* Does the rank get this element? */
static bool gets(const struct tree *t, const struct case_of *c, uint32_t rank, uint64_t element)
{
    struct trib_operation operation = {.collective = c->collective};

    return c->collective == TRIB_ALLGATHER || trib_operation_wants(&operation, owner_of(t, c, element), rank);
}

static void check_results(const struct tree *t, const struct case_of *c, const float *expected)
{
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        for (uint64_t i = 0; i < t->elements && (c->finished >> rank & 1) == 0; i++) {
            float right = gets(t, c, rank, i) ? expected[i] : -1.0F;
            assert_memory_equal(&t->workers[rank].recv[i], &right, sizeof right);
        }
    }
}

/* Those who have finished get their buffers back, and write on them: an OFFER must come from the retained copy. */
static void scribble(struct tree *t, uint32_t finished)
{
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        assert_int_equal(t->workers[rank].done, finished >> rank & 1);
        if (finished >> rank & 1) {
            memset(t->workers[rank].send, 0x55, t->elements * sizeof(float));
            memset(t->workers[rank].recv, 0x55, t->elements * sizeof(float));
        }
    }
}

/* Ranks in `finished` get their results, the others none; then all switches boot, and one kind of packet is lost
 * once. */
static void check_case(const struct case_of *c)
{
    struct tree *t = tree_open(c->shape, TRIB_FLOAT32, SLOTS);
    float expected[16 * SLOTS];

    for (uint32_t rank = 0; rank < c->shape->ranks; rank++) {
        if ((c->finished >> rank & 1) == 0) {
            tree_lose(t, TRIB_RESULT, -1, (int)TREE_RANK(rank), UINT32_MAX);
        }
    }
    tree_buffers(t, 16 * (uint64_t)c->fragments, tree_integer);
    tree_submit_all(t, c->collective == TRIB_COLLECTIVE_NONE ? TRIB_ALLREDUCE : c->collective, c->root);
    tree_run_for(t, 30 * TREE_MS);
    for (uint64_t i = 0; i < t->elements; i++) {
        expected[i] = expected_of(t, c, i);
    }
    scribble(t, c->finished);
    t->rule_count = 0;
    if (c->lost != TRIB_KIND_NONE) {
        tree_lose(t, c->lost, -1, -1, 1);
    }
    tree_boot(t);
    tree_finish(t, 1, 2000 * TREE_MS);
    check_results(t, c, expected);
    tree_run_for(t, 5000 * TREE_MS);
    assert_int_equal(tree_slots_held(t), 0);
    assert_int_equal(t->events[TRIB_EVENT_FAILED] + t->events[TRIB_EVENT_MISMATCH], 0);
    tree_close(t);
}

static void restart__with_any_subset_of_finished_ranks_ends_at_two_levels(void **state)
{
    static const enum trib_kind kinds[] = {TRIB_KIND_NONE, TRIB_CONTRIBUTION, TRIB_RESULT, TRIB_PROBE,
                                           TRIB_ASK,       TRIB_HELD,         TRIB_OFFER};

    (void)state;
    for (uint32_t finished = 0; finished < 15; finished++) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            struct case_of c = {.shape = &tree_2x2, .finished = finished, .fragments = 1, .lost = kinds[i]};
            check_case(&c);
            c.fragments = SLOTS / 2;
            check_case(&c);
        }
    }
}

static void restart__with_any_subset_of_finished_ranks_ends_at_three_levels(void **state)
{
    (void)state;
    for (uint32_t finished = 0; finished < 255; finished++) {
        struct case_of c = {.shape = &tree_deep, .finished = finished, .fragments = 3};
        check_case(&c);
        c.fragments = 1;
        c.lost = TRIB_OFFER;
        check_case(&c);
        c.lost = TRIB_ASK;
        check_case(&c);
    }
}

/* The root of a broadcast wants no payload, and has it: its own block is what it OFFERs. */
static void restart__in_a_broadcast_ends_with_the_payload_for_all(void **state)
{
    (void)state;
    for (uint32_t finished = 0; finished < 255; finished++) {
        struct case_of c = {.shape = &tree_deep,
                            .finished = finished,
                            .fragments = 2,
                            .collective = TRIB_BROADCAST,
                            .root = finished % 8};
        check_case(&c);
        c.root = (finished + 5) % 8;
        c.lost = TRIB_OFFER;
        check_case(&c);
    }
}

static const enum trib_kind lost_kinds[] = {TRIB_KIND_NONE, TRIB_CONTRIBUTION, TRIB_RESULT, TRIB_PROBE,
                                            TRIB_ASK,       TRIB_HELD,         TRIB_OFFER};

/* Only the root of a reduce ever has the sum. If it has finished, it OFFERs; if not, who has finished with a header
 * gives its part again, from its own copy: its buffer is its caller's. */
static void restart__in_a_reduce_ends_whoever_has_the_sum(void **state)
{
    (void)state;
    for (uint32_t finished = 0; finished < 15; finished++) {
        for (uint32_t root = 0; root < 4; root++) {
            for (size_t i = 0; i < sizeof lost_kinds / sizeof *lost_kinds; i++) {
                struct case_of c = {&tree_2x2, finished, 1 + 7 * (uint32_t)(i % 2), lost_kinds[i], TRIB_REDUCE, root};
                check_case(&c);
            }
        }
    }
    for (uint32_t finished = 0; finished < 255; finished++) {
        struct case_of c = {&tree_deep, finished, 2, lost_kinds[finished % 7], TRIB_REDUCE, finished % 8};
        check_case(&c);
        c.root = (finished + 5) % 8;
        c.lost = TRIB_KIND_NONE;
        check_case(&c);
    }
}

/* Each block has another rank that owns it. */
static void restart__in_an_allgather_or_reduce_scatter_ends(void **state)
{
    static const enum trib_collective collectives[] = {TRIB_ALLGATHER, TRIB_REDUCE_SCATTER};

    (void)state;
    for (size_t which = 0; which < 2; which++) {
        for (uint32_t finished = 0; finished < 15; finished++) {
            for (size_t i = 0; i < sizeof lost_kinds / sizeof *lost_kinds; i++) {
                struct case_of c = {&tree_2x2,     finished,           4 + 4 * (uint32_t)(i % 2),
                                    lost_kinds[i], collectives[which], 0};
                check_case(&c);
            }
        }
        for (uint32_t finished = 0; finished < 255; finished++) {
            struct case_of c = {&tree_deep, finished, 8, lost_kinds[finished % 7], collectives[which], 0};
            check_case(&c);
        }
    }
}

/* Rank 3 alone lacks the result, rank 0 to 2 have it: its own switch asks rank 2, and nothing need go up; but what went
 * up helps nobody twice: every switch takes one OFFER. */
static void restart__asks_the_nearest_finished_rank(void **state)
{
    struct tree *t = tree_open(&tree_2x2, TRIB_FLOAT32, SLOTS);

    (void)state;
    tree_lose(t, TRIB_RESULT, -1, (int)TREE_RANK(3), UINT32_MAX);
    tree_buffers(t, 16, tree_integer);
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    tree_run_for(t, 5 * TREE_MS);
    t->rule_count = 0;
    tree_boot(t);
    tree_finish(t, 1, 5 * TREE_MS);
    tree_check_sums(t);
    assert_int_equal(tree_counters(t, TREE_RANK(2))->offers, 1);
    assert_int_equal(t->sent[TRIB_OFFER], 2); /* rank 2 to its switch, and that to the top */
    assert_int_equal(tree_counters(t, 0)->offers, 1);
    tree_close(t);
}

/* Nobody behind switch 2 has it, all behind switch 1 have: ASK goes down through switch 1 to one rank, OFFER up, as
 * soon as switch 2 has summed anew and nobody's timer has run out. */
static void restart__sends_ASK_down_and_OFFER_up(void **state)
{
    struct tree *t = tree_open(&tree_2x2, TRIB_FLOAT32, SLOTS);

    (void)state;
    tree_lose(t, TRIB_RESULT, 0, 2, UINT32_MAX);
    tree_buffers(t, 16, tree_integer);
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    tree_run_for(t, 5 * TREE_MS);
    t->rule_count = 0;
    tree_boot(t);
    tree_finish(t, 1, 5 * TREE_MS);
    tree_check_sums(t);
    assert_int_equal(tree_counters(t, 0)->asks_finished, 1);
    assert_int_equal(tree_counters(t, 1)->asks_finished, 1);
    assert_int_equal(tree_counters(t, 1)->offers_up, 1);
    assert_int_equal(tree_counters(t, 2)->offers, 0);
    assert_int_equal(t->sent[TRIB_OFFER], 2);
    tree_close(t);
}

static float any_float(uint32_t rank, uint64_t element)
{
    return 1e-3f * (float)((rank + 1) * 7919 % 1009) + 1e3f * (float)(element % 13);
}

/* A tenth of all packets is lost, and all switches boot every few milliseconds, wherever things stand; then there is
 * peace. */
static void survive(const struct tree_shape *shape, uint64_t seed, const float *expected)
{
    struct tree *t = tree_open(shape, TRIB_FLOAT32, SLOTS);

    t->prng.state = seed;
    t->loss = 10;
    tree_buffers(t, 16 * 64, any_float);
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    for (uint32_t i = 0; i < 20 && !tree_is_done(t, 1); i++) {
        tree_run_for(t, trib_prng_below(&t->prng, 8) * TREE_MS / 4);
        tree_boot(t);
    }
    t->loss = 0;
    tree_finish(t, 1, 1000 * TREE_MS);
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        assert_memory_equal(t->workers[rank].recv, expected, t->elements * sizeof(float));
    }
    assert_int_equal(t->events[TRIB_EVENT_FAILED] + t->events[TRIB_EVENT_MISMATCH], 0);
    tree_run_for(t, 5000 * TREE_MS);
    assert_int_equal(tree_slots_held(t), 0);
    tree_close(t);
}

static void restart__again_and_again_under_loss_ends_with_the_same_bits(void **state)
{
    const struct tree_shape *shapes[] = {&tree_2x2, &tree_deep};
    float expected[16 * 64];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tree *calm = tree_open(shapes[i], TRIB_FLOAT32, SLOTS);
        tree_buffers(calm, 16 * 64, any_float);
        tree_submit_all(calm, TRIB_ALLREDUCE, 0);
        tree_finish(calm, 1, 100 * TREE_MS);
        memcpy(expected, calm->workers[0].recv, sizeof expected);
        tree_close(calm);
        for (uint64_t seed = 0; seed < 100; seed++) {
            survive(shapes[i], seed, expected);
        }
    }
}

/* M is near 2^40, beyond what a header says of a mark: without learn_mark an inner switch would take everything for far
 * beyond its window. */
static void restart__at_a_large_M_is_told_to_the_inner_switches(void **state)
{
    struct tree *t = tree_open(&tree_deep, TRIB_FLOAT32, SLOTS);

    (void)state;
    t->session.first = UINT64_C(1) << 40;
    for (uint32_t rank = 0; rank < t->shape.ranks; rank++) {
        struct trib_worker_config config = {
            .session = t->session,
            .kernels = trib_value_kernels(),
            .rank = rank,
            .window = SLOTS / 2,
            .operations = 4,
            .stall_ns = 1000 * TREE_MS,
        };
        trib_switchml.worker->init(t->workers[rank].memory, &config);
    }
    t->session.first = 0; /* the switches know nothing of it */
    tree_boot(t);
    tree_buffers(t, 16 * 64, tree_integer);
    tree_submit_all(t, TRIB_ALLREDUCE, 0);
    tree_finish(t, 1, 100 * TREE_MS);
    tree_check_sums(t);
    assert_int_equal(tree_resends(t), 0);
    tree_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restart__with_any_subset_of_finished_ranks_ends_at_two_levels),
        cmocka_unit_test(restart__with_any_subset_of_finished_ranks_ends_at_three_levels),
        cmocka_unit_test(restart__in_a_broadcast_ends_with_the_payload_for_all),
        cmocka_unit_test(restart__in_a_reduce_ends_whoever_has_the_sum),
        cmocka_unit_test(restart__in_an_allgather_or_reduce_scatter_ends),
        cmocka_unit_test(restart__asks_the_nearest_finished_rank),
        cmocka_unit_test(restart__sends_ASK_down_and_OFFER_up),
        cmocka_unit_test(restart__again_and_again_under_loss_ends_with_the_same_bits),
        cmocka_unit_test(restart__at_a_large_M_is_told_to_the_inner_switches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
