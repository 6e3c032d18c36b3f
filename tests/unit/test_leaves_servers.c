/* SPDX-License-Identifier: Apache-2.0 */
/* test_leaves_servers.c: jobs whose switches below are combiners (scheme atp), at the controller: a combiner that is
 * gone for good, whose ranks come to the server itself; and hosts with ranks at several places. */
#include "leaves_harness.h"

#include "control/jobs/state.h"

#define SEEDS 40
#define SHORT (100 * TRIB_MILLISECOND_NS)
#define RANKS 6U

/* Two combiners below the server, or one below another (is_deep). Ranks come to the last node, and every third to the
 * server. */
static void servers_make(struct world *world, uint64_t seed, bool is_deep)
{
    world_init(world, seed);
    struct node *root = node_add(world, NULL);
    struct node *first = node_add(world, root);
    struct node *second = node_add(world, is_deep ? first : root);
    ranks_make(world, RANKS);
    for (uint32_t i = 0; i < RANKS; i++) {
        world->rank[i].home = i % 3 == 0 ? root : i % 3 == 1 ? first : second;
        (void)snprintf(world->rank[i].join.join.settings.scheme, 8, "atp");
    }
}

/* As the library does once its combiner is gone: other sockets, and no group. */
static void come_directly(struct world *world, struct rank *rank)
{
    rank->home = &world->node[0];
    rank->join.join.multicast = false;
    rank->join.join.known.group = 0;
    rank->join.join.known.group_port = 0;
    rank->join.join.data_port[0] = (uint16_t)(50000 + rank->join.join.rank);
    rank->join.join.data_port[1] = 0;
}

static void expect_all_run(const struct world *world)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        const struct rank *rank = &world->rank[i];
        if (!rank->is_running || rank->boot != world->rank[0].boot || rank->failure != TRIB_OK) {
            fail_msg("rank %u: running %d, boot %08x, failure %d: %s", i, rank->is_running, rank->boot,
                     (int)rank->failure, rank->text);
        }
    }
    assert_int_equal(world->node[0].recorder.children, world->ranks);
}

/* Kills the last node, or the first: with a word on the connections, or without (power). */
static void lose(struct world *world, uint64_t seed, unsigned victim, bool power)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        world->rank[i].mark = 50 + i;
    }
    node_kill(&world->node[victim], power);
    if (power &&
        world->node[2].parent == &world->node[victim]) { /* it does not know, and would keep what it has open */
        node_kill(&world->node[2], false);
    }
    for (uint64_t moves = 0; moves < seed % 7; moves++) {
        (void)move_one(world);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        struct rank *rank = &world->rank[i];
        if (rank->home == &world->node[victim] || rank->home->parent == &world->node[victim]) {
            if (power && rank->wire) { /* it has waited long enough, and hangs up where nobody hears it */
                rank->wire->is_deaf[UP] = true;
                rank_lost(rank);
            }
            come_directly(world, rank);
        }
    }
    tick(world, SHORT);
    tick(world, SHORT);
}

static void gone__its_ranks_come_to_the_server(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS * 8; seed++) {
        bool is_deep = seed & 1;
        struct world world;
        servers_make(&world, seed, is_deep);
        tree_run(&world);
        expect_all_run(&world);
        assert_int_equal(world.rank[0].server.len, 0);
        uint32_t boot = world.rank[0].boot;
        lose(&world, seed, 1 + (seed >> 1 & 1), (seed >> 2 & 1) != 0);
        expect_all_run(&world);
        assert_int_not_equal(world.rank[0].boot, boot);
        assert_int_equal(world.node[0].recorder.boot, world.rank[0].boot);
        assert_int_equal(world.node[0].recorder.marks[RANKS - 1], 50 + RANKS - 1);
        world_end(&world);
    }
}

/* A combiner that shuts down is gone as one that is killed: its sums are at the server. */
static void stop__its_ranks_come_to_the_server(void **state)
{
    const struct trib_message bye = {.kind = TRIB_MESSAGE_BYE,
                                     .fail = {TRIB_ERR_SWITCH, "the switch is shutting down"}};
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        unsigned victim = 1 + (seed >> 1 & 1);
        servers_make(&world, seed, seed & 1);
        tree_run(&world);
        tell_above(&world.node[victim], &bye);
        settle(&world);
        expect_all_run(&world);
        lose(&world, seed, victim, false);
        expect_all_run(&world);
        world_end(&world);
    }
}

/* And back: the combiner runs again, and the ranks come by it, one after another. */
static void back__by_the_combiner(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        servers_make(&world, seed, false);
        tree_run(&world);
        lose(&world, seed, 2, false);
        node_restart(&world.node[2]);
        for (uint32_t i = 2; i < RANKS; i += 3) {
            struct rank *rank = &world.rank[i];
            rank->home = &world.node[2];
            rank->wire->is_deaf[UP] = true; /* its session is silent */
            rank_lost(rank);
            tick(&world, SHORT);
            expect_all_run(&world);
        }
        world_end(&world);
    }
}

static void closed__hears_of_it_at_the_server(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        servers_make(&world, seed, false);
        tree_run(&world);
        for (uint32_t i = 2; i < RANKS; i += 3) {
            rank_say(&world.rank[i], TRIB_MESSAGE_CLOSE);
        }
        settle(&world);
        node_kill(&world.node[2], false);
        settle(&world);
        for (uint32_t i = 2; i < RANKS; i += 3) {
            come_directly(&world, &world.rank[i]);
        }
        tick(&world, SHORT);
        for (uint32_t i = 0; i < RANKS; i++) {
            if (i % 3 != 2) {
                rank_say(&world.rank[i], TRIB_MESSAGE_CLOSE);
            }
        }
        for (uint32_t i = 2; i < RANKS; i += 3) {
            if (!world.rank[i].is_closed) {
                rank_say(&world.rank[i], TRIB_MESSAGE_CLOSE);
            }
        }
        tick(&world, SHORT);
        for (uint32_t i = 0; i < RANKS; i++) {
            assert_true(world.rank[i].is_closed);
        }
        world_end(&world);
    }
}

/* Packets do not pass between a rank and the server: with GONE it lets all go, and comes by its combiner again. */
static void gone__of_a_rank_lets_all_go(void **state)
{
    static const struct trib_message gone = {.kind = TRIB_MESSAGE_GONE,
                                             .note = {.is_lost = true, .text = "rank 3: UDP packets do not pass"}};
    (void)state;
    struct world world;
    servers_make(&world, 1, false);
    tree_run(&world);
    rank_send(&world.rank[3], &gone);
    settle(&world);
    assert_int_equal(world.rank[0].recalls, 1);
    tick(&world, SHORT);
    expect_all_run(&world);
    world_end(&world);
}

/* A combiner that comes back with fewer shards is as good as gone: its ranks hear so, and have another way. */
static void narrow__its_ranks_are_sent_away(void **state)
{
    (void)state;
    struct world world;
    servers_make(&world, 1, false);
    world.rank[1].join.join.known = (struct trib_grant){.job_token = 4, .communicator = 7, .roots = 3};
    rank_connect(&world, &world.rank[1]);
    settle(&world);
    assert_int_equal(world.rank[1].aways, 1);
    assert_int_equal(world.rank[1].failure, TRIB_OK);
    assert_non_null(strstr(world.rank[1].text, "came back with 2: start it with --threads 3"));
    world_end(&world);
}

/* A host is one member wherever its sessions pass, and stays one: its leader alone sends. */
static void hosts__are_one_by_any_way(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        servers_make(&world, seed, false);
        for (uint32_t i = 0; i < RANKS; i++) { /* leaders 0 and 3 at the server, or 1 and 4 at the first combiner */
            world.rank[i].home = &world.node[(i + seed) % 3];
            world.rank[i].join.join.host = 7 + i / 3;
            world.rank[i].join.join.level0 = true;
        }
        tree_run(&world);
        for (uint32_t lost = 0; lost < 2; lost++) {
            for (uint32_t i = 0; i < RANKS; i++) {
                assert_true(world.rank[i].is_running);
            }
            assert_int_equal(world.node[0].recorder.children, 2);
            unsigned at = (unsigned)(seed % 3); /* the node that both leaders have come to */
            for (unsigned k = 1; k < 3 && lost == 0; k++) {
                assert_int_equal(world.node[k].recorder.opens, k == at);
                assert_int_equal(world.node[k].recorder.children, k == at ? 2 : 0);
            }
            lose(&world, seed, 1 + seed % 2, false);
        }
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gone__its_ranks_come_to_the_server),
        cmocka_unit_test(stop__its_ranks_come_to_the_server),
        cmocka_unit_test(back__by_the_combiner),
        cmocka_unit_test(closed__hears_of_it_at_the_server),
        cmocka_unit_test(gone__of_a_rank_lets_all_go),
        cmocka_unit_test(narrow__its_ranks_are_sent_away),
        cmocka_unit_test(hosts__are_one_by_any_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
