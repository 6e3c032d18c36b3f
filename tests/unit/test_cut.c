/* SPDX-License-Identifier: Apache-2.0 */
/* test_cut.c: sessions of ranks with a key that end without a word: the rank lives and comes back, or it is dead and is
 * named in time. Mirrors src/control/jobs/cut.c. */
#include "leaves_harness.h"

#include "control/jobs/state.h"

#define RANKS 3U
#define KEY 0x1234
#define OTHER_KEY 0x4321

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    world_init(world, 1);
    struct node *root = node_add(world, NULL);
    ranks_make(world, RANKS);
    for (uint32_t i = 0; i < RANKS; i++) {
        world->rank[i].home = root;
        world->rank[i].join.join.key = KEY;
    }
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    world_end(*state);
    free(*state);
    return 0;
}

static void run(struct world *world)
{
    tree_run(world);
    assert_true(all_run(world, 1));
}

/* The connection of the rank ends, by whatever cause, and the rank lives. */
static void cut(struct world *world, uint32_t rank)
{
    push_end(world->rank[rank].wire, UP);
    world->rank[rank].wire->is_deaf[UP] = true;
    rank_lost(&world->rank[rank]);
}

static void expect_death(const struct world *world, uint32_t dead)
{
    char text[64];
    (void)snprintf(text, sizeof text, "rank %u (10.1.0.%u:", dead, dead);
    for (uint32_t i = 0; i < RANKS; i++) {
        if (!world->rank[i].is_dead) {
            assert_int_equal(world->rank[i].failure, TRIB_ERR_PEER);
            assert_ptr_equal(strstr(world->rank[i].text, text), world->rank[i].text);
            assert_non_null(strstr(world->rank[i].text, " is gone: "));
        }
    }
    assert_int_equal(world->node[0].jobs.count, 0);
}

static void cut__the_rank_comes_back(void **state)
{
    struct world *world = *state;
    run(world);
    uint32_t boot = world->rank[0].boot;
    cut(world, 1);
    settle(world);
    assert_int_equal(world->rank[0].recalls, 1);
    assert_int_equal(world->rank[2].recalls, 1);
    assert_non_null(strstr(world->rank[0].last.recall.text, "rank 1 (10.1.0.1:"));
    rank_connect(world, &world->rank[1]);
    tick(world, 20 * TRIB_MILLISECOND_NS);
    assert_true(all_run(world, 2));
    assert_int_not_equal(world->rank[0].boot, boot);
    tick(world, 2 * TRIB_SECOND_NS); /* its time to come back is over, and nothing waits for that */
    assert_true(all_run(world, 2));
}

/* The others have the usual time, which is longer. */
static void cut__others_are_late(void **state)
{
    struct world *world = *state;
    run(world);
    world->rank[2].is_quiet = true;
    cut(world, 1);
    settle(world);
    rank_connect(world, &world->rank[1]);
    tick(world, TRIB_SECOND_NS);
    assert_int_equal(world->rank[0].failure, TRIB_OK);
    assert_int_equal(world->rank[2].recalls, 0);
    rank_send(&world->rank[2], &world->rank[2].join);
    world->rank[2].is_quiet = false;
    tick(world, 100 * TRIB_MILLISECOND_NS);
    assert_int_equal(world->rank[1].readies, 2);
    assert_true(world->rank[2].is_running);
}

static void cut__all_at_once(void **state)
{
    struct world *world = *state;
    run(world);
    for (uint32_t i = 0; i < RANKS; i++) {
        cut(world, i);
    }
    settle(world);
    for (uint32_t i = RANKS; i-- > 0;) {
        rank_connect(world, &world->rank[i]);
        settle(world);
    }
    tick(world, 20 * TRIB_MILLISECOND_NS);
    assert_true(all_run(world, 2));
}

static void death__is_known_in_time(void **state)
{
    struct world *world = *state;
    run(world);
    rank_kill(&world->rank[1]);
    tick(world, TRIB_CUT_NS * 8 / 10);
    assert_int_equal(world->rank[0].failure, TRIB_OK);
    tick(world, TRIB_CUT_NS * 3 / 10);
    expect_death(world, 1);
}

static void death__without_a_key_is_known_at_once(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < RANKS; i++) {
        world->rank[i].join.join.key = 0;
    }
    run(world);
    rank_kill(&world->rank[1]);
    settle(world);
    expect_death(world, 1);
}

/* What has been said counts: nothing is waited for. */
static void death__in_words_is_known_at_once(void **state)
{
    struct world *world = *state;
    const struct trib_message abort = {.kind = TRIB_MESSAGE_ABORT, .fail = {TRIB_ERR_SYSTEM, "it was told to"}};
    run(world);
    rank_send(&world->rank[1], &abort);
    settle(world);
    assert_int_equal(world->rank[0].failure, TRIB_ERR_PEER);
    assert_non_null(strstr(world->rank[0].text, "it was told to"));
}

/* A rank has closed, and cannot come back. */
static void death__beside_a_closed_rank_is_known_at_once(void **state)
{
    struct world *world = *state;
    run(world);
    world->rank[0].mark = 1;
    rank_say(&world->rank[0], TRIB_MESSAGE_CLOSE);
    settle(world);
    rank_kill(&world->rank[1]);
    settle(world);
    assert_int_equal(world->rank[2].failure, TRIB_ERR_PEER);
    assert_int_equal(world->node[0].jobs.count, 0);
}

/* All ranks were killed, and the same job starts again at once. */
static void launch__takes_the_name(void **state)
{
    struct world *world = *state;
    run(world);
    for (uint32_t i = 0; i < RANKS; i++) {
        world->rank[i].is_dead = true;
        cut(world, i);
    }
    settle(world);
    assert_int_equal(world->node[0].jobs.count, 1);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct rank *rank = &world->rank[i];
        memset(&rank->join.join.known, 0, sizeof rank->join.join.known);
        rank->join.join.was_ready = rank->is_dead = rank->was_running = false;
        rank_connect(world, rank);
        settle(world);
    }
    tick(world, 20 * TRIB_MILLISECOND_NS);
    assert_true(all_run(world, 2));
    assert_int_equal(world->node[0].jobs.count, 1);
}

/* A launch with another key ends nothing. */
static void launch__of_another_key_is_refused(void **state)
{
    struct world *world = *state;
    run(world);
    const struct trib_message own = world->rank[1].join;
    cut(world, 1);
    settle(world);
    world->rank[1].join = join_message(1, RANKS);
    world->rank[1].join.join.key = OTHER_KEY;
    rank_connect(world, &world->rank[1]);
    settle(world);
    assert_int_equal(world->rank[1].failure, TRIB_ERR_REFUSED);
    assert_int_equal(world->rank[0].failure, TRIB_OK);
    world->rank[1].failure = TRIB_OK;
    world->rank[1].join = own;
    rank_connect(world, &world->rank[1]);
    tick(world, 20 * TRIB_MILLISECOND_NS);
    assert_true(all_run(world, 2));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cut__the_rank_comes_back),
        TEST(cut__others_are_late),
        TEST(cut__all_at_once),
        TEST(death__is_known_in_time),
        TEST(death__without_a_key_is_known_at_once),
        TEST(death__in_words_is_known_at_once),
        TEST(death__beside_a_closed_rank_is_known_at_once),
        TEST(launch__takes_the_name),
        TEST(launch__of_another_key_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
