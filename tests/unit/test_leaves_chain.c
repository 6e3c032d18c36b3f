/* SPDX-License-Identifier: Apache-2.0 */
/* test_leaves_chain.c: scheme rina at the controller: which switch is whose parent, for which root. Mirrors chain() of
 * src/control/jobs/opening.c. The rules of all trees are in test_leaves.c. */
#include "leaves_harness.h"

#define SEEDS 40

/* Scheme rina: switches that have connected to the controller are a ring with it, in the order of their ranks: 0, 3, 2,
 * 1. Each root has another one, cut in two chains. What has connected to one of them stays there. One at a loopback
 * address is where another one finds the controller. */
static void join__racks_form_chains(void **state)
{
    static const unsigned homes[5] = {0, 3, 4, 1, 2};    /* the fourth is below the second */
    static const uint32_t behind[5] = {10, 8, 6, 6, 2};  /* for some root */
    static const uint32_t children[5] = {3, 3, 4, 2, 2}; /* for the second root */
    static const char *const parents[5][2] = {
        {NULL, NULL},
        {"10.0.0.1:7470", "10.0.0.1:7471"},
        {"10.0.0.4:7470", "10.0.0.2:7471"},
        {"10.0.0.1:7470", "10.0.0.3:7471"},
        {"10.0.0.3:7470", "10.0.0.3:7471"},
    };
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        char text[64];
        world_init(&world, seed);
        struct node *root = node_add(&world, NULL);
        for (unsigned i = 1; i < 4; i++) {
            (void)node_add(&world, root);
        }
        world.node[3].config.listen = seed == 1 ? trib_address_v4(0x7f000001U, 7570) : world.node[3].config.listen;
        (void)node_add(&world, &world.node[2]);
        ranks_make(&world, 10);
        for (uint32_t i = 0; i < 10; i++) {
            (void)snprintf(world.rank[i].join.join.settings.scheme, 8, "rina");
            world.rank[i].home = &world.node[homes[i % 5]];
        }
        tree_run(&world);
        assert_true(all_run(&world, 1));
        for (unsigned i = 0; i < 5; i++) {
            const struct recorder *r = &world.node[i].recorder;
            uint32_t count = 0;
            for (uint32_t rank = 0; rank < 10; rank++) {
                count += r->behind[rank] != 0;
            }
            assert_int_equal(r->opens, 1);
            assert_int_equal(r->has_parent, i > 0);
            assert_int_equal(r->children, children[i]);
            assert_int_equal(count, behind[i]);
            for (unsigned t = 0; t < 2 && i > 0; t++) {
                trib_address_format(&r->parent[t], text);
                assert_string_equal(text, seed == 1 && i == 2 && t == 0 ? "10.0.0.1:7570" : parents[i][t]);
            }
        }
        trib_address_format(&world.node[2].recorder.addresses[1][1], text); /* the rank at 3, by 3 */
        assert_string_equal(text, seed == 1 ? "10.0.0.1:7571" : "10.0.0.4:7471");
        trib_address_format(&world.node[0].recorder.addresses[1][1], text);
        assert_string_equal(text, "10.0.0.2:7471");
        world_end(&world);
    }
}

/* The refusal has the memory of all roots, at the root's switch and at one below: less would be refused again. */
static void join__quota_is_for_all_roots(void **state)
{
    static const struct {
        const char *scheme;
        bool is_below;
    } cases[] = {{"rina", false}, {"switchml", false}, {"rina", true}, {"switchml", true}};
    uint64_t slots[4] = {0};
    (void)state;
    for (unsigned k = 0; k < 4; k++) {
        struct world world;
        world_init(&world, 1);
        struct node *root = node_add(&world, NULL);
        struct node *rack = node_add(&world, root);
        root->jobs.agent.job_quota = cases[k].is_below ? root->jobs.agent.job_quota : 1000;
        rack->config.job_quota = cases[k].is_below ? 1000 : rack->config.job_quota;
        ranks_make(&world, 4);
        for (uint32_t i = 0; i < 4; i++) {
            (void)snprintf(world.rank[i].join.join.settings.scheme, 16, "%s", cases[k].scheme);
            world.rank[i].home = i % 2 == 0 ? root : rack;
        }
        tree_run(&world);
        assert_int_equal(world.rank[0].failure, TRIB_ERR_REFUSED);
        const char *said = strstr(world.rank[0].text, "of switch memory (");
        assert_non_null(said);
        slots[k] = strtoull(strchr(said, '(') + 1, NULL, 10);
        world_end(&world);
    }
    for (unsigned k = 0; k < 4; k++) {
        assert_true(slots[k] > 0 && slots[k] == slots[0]);
    }
}

/* The parents of a rack are other racks for other roots: the error names the one that does not answer. */
static void paths__the_silent_parent_is_named(void **state)
{
    (void)state;
    for (uint32_t silent = 0; silent < 2; silent++) {
        struct world world;
        char parent[64];
        char expected[128];
        world_init(&world, 1);
        struct node *root = node_add(&world, NULL);
        for (unsigned i = 1; i < 4; i++) {
            (void)node_add(&world, root);
        }
        ranks_make(&world, 4);
        for (uint32_t i = 0; i < 4; i++) {
            (void)snprintf(world.rank[i].join.join.settings.scheme, 8, "rina");
            world.rank[i].home = &world.node[i];
        }
        world.node[1].recorder.parent_answers = false;
        world.node[1].recorder.silent_root = silent;
        tree_run(&world);
        tick(&world, 3 * TRIB_SECOND_NS);
        trib_address_format(&world.node[1].recorder.parent[silent], parent);
        (void)snprintf(expected, sizeof expected, "and its parent %s: check", parent);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(world.rank[i].failure, TRIB_ERR_UNREACHABLE);
            assert_non_null(strstr(world.rank[i].text, expected));
        }
        assert_false(trib_address_same_host(&world.node[1].recorder.parent[0], &world.node[1].recorder.parent[1]));
        world_end(&world);
    }
}

/* A switch on the host of each rank: all are found, and the dead one is named, where the others see them. */
static void join__racks_of_one_rank(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        world_init(&world, seed);
        struct node *root = node_add(&world, NULL);
        (void)node_add(&world, root);
        (void)node_add(&world, root);
        ranks_make(&world, 3);
        for (uint32_t i = 0; i < 3; i++) {
            (void)snprintf(world.rank[i].join.join.settings.scheme, 8, "rina");
            world.rank[i].home = &world.node[i];
            world.rank[i].host = 0x7f000001U;
        }
        tree_run(&world);
        assert_true(all_run(&world, 1));
        rank_kill(&world.rank[2]);
        settle(&world);
        assert_string_equal(world.rank[0].text, "rank 2 (10.0.0.3:40002) is gone: its session closed");
        assert_string_equal(world.rank[1].text, world.rank[0].text);
        world_end(&world);
    }
}

/* As the library does once its switch is gone: another place, and no group. */
static void come_elsewhere(struct rank *rank, struct node *home)
{
    rank->home = home;
    rank->join.join.multicast = false;
    rank->join.join.known.group = 0;
    rank->join.join.known.group_port = 0;
    rank->join.join.data_port[0] = (uint16_t)(50000 + rank->join.join.rank);
    rank->join.join.data_port[1] = 0;
}

/* The switch of a rack with three ranks is gone for good. On the host of the second another switch is in the ring: the
 * rank goes on there, as a rack of one. On that of the third it has too few shards. */
static void gone__a_rank_comes_to_its_own_switch(void **state)
{
    char text[64];
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        world_init(&world, seed);
        struct node *root = node_add(&world, NULL);
        struct node *rack = node_add(&world, root);
        struct node *own = node_add(&world, root);
        struct node *poor = node_add(&world, root);
        poor->config.shards = 1;
        ranks_make(&world, 4);
        for (uint32_t i = 0; i < 4; i++) {
            (void)snprintf(world.rank[i].join.join.settings.scheme, 8, "rina");
            world.rank[i].home = i == 0 ? root : rack;
        }
        world.rank[2].host = 0x0a000003U; /* as own */
        world.rank[3].host = 0x0a000004U;
        begin_trunk(own);
        begin_trunk(poor);
        settle(&world);
        tree_run(&world);
        assert_true(all_run(&world, 1));
        assert_int_equal(world.rank[0].server.len, 0);
        for (uint32_t i = 1; i < 4; i++) {
            trib_address_format(&world.rank[i].server, text);
            assert_string_equal(text, i == 2 ? "10.0.0.3:7470" : "10.0.0.1:7470");
        }
        node_kill(rack, false);
        for (uint64_t moves = 0; moves < seed % 7; moves++) {
            (void)move_one(&world);
        }
        for (uint32_t i = 1; i < 4; i++) {
            come_elsewhere(&world.rank[i], i == 2 ? own : root);
        }
        tick(&world, 100 * TRIB_MILLISECOND_NS);
        tick(&world, 100 * TRIB_MILLISECOND_NS);
        assert_true(all_run(&world, 2));
        assert_int_equal(own->recorder.children, 1);
        assert_int_equal(root->recorder.children, 4); /* own, and the ranks but for that */
        trib_address_format(&own->recorder.parent[1], text);
        assert_string_equal(text, "10.0.0.1:7471");
        trib_address_format(&world.rank[2].server, text);
        assert_string_equal(text, "10.0.0.1:7470"); /* if that is gone too */
        world_end(&world);
    }
}

int main(void)
{
    trib_log_set_default(TRIB_LOG_NONE); /* jobs end here, as they should */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join__racks_form_chains),
        cmocka_unit_test(join__racks_of_one_rank),
        cmocka_unit_test(gone__a_rank_comes_to_its_own_switch),
        cmocka_unit_test(join__quota_is_for_all_roots),
        cmocka_unit_test(paths__the_silent_parent_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
