/* SPDX-License-Identifier: Apache-2.0 */
/* test_relay.c: control planes that are relays: ranks get in over them, what passes is changed where it must be, and
 * nobody is held up for ever. test_relay_faults.c has what dies and comes back. */
#include "relay_harness.h"

#include "io/log.h"

#define SEEDS 40

static void join__a_tree_of_three_levels(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        assert_true(all_run(&world, 1));
        const struct recorder *root = &world.node[0].recorder;
        const struct recorder *left = &world.node[1].recorder;
        const struct recorder *right = &world.node[2].recorder;
        const struct recorder *far = &world.node[3].recorder;
        assert_int_equal(root->children, 4); /* ranks 0 and 4, and two switches */
        assert_int_equal(left->children, 2);
        assert_int_equal(right->children, 3); /* ranks 2 and 6, and a switch */
        assert_int_equal(far->children, 2);
        assert_int_equal(root->behind[1], 2);
        assert_int_equal(root->behind[2], 4);
        assert_int_equal(root->behind[3], 4);
        assert_int_equal(right->behind[3], 2);
        assert_int_equal(right->behind[2], 1);
        assert_true(root->is_switch[7] && right->is_switch[7] && !far->is_switch[7] && !root->is_switch[0]);
        for (unsigned i = 0; i < 4; i++) {
            const struct recorder *r = &world.node[i].recorder;
            assert_int_equal(r->opens, 1);
            assert_int_equal(r->boot, root->boot);
            assert_int_equal(r->communicator, root->communicator);
            assert_int_equal(r->session.ranks, 8);
            assert_int_equal(r->session.salt, 0);
            assert_int_equal(r->has_parent, i > 0);
        }
        char text[64];
        trib_address_format(&far->parent[1], text);
        assert_string_equal(text, "10.0.0.3:7471");
        trib_address_format(&root->addresses[7][1], text);
        assert_string_equal(text, "10.0.0.3:7471");
        trib_address_format(&far->addresses[7][0], text);
        assert_string_equal(text, "10.1.0.7:40007");
        world_end(&world);
    }
}

/* Switches with several network cards: upward they name them as a rank does, downward as a root does. */
static void join__switches_with_lists_of_addresses(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    for (unsigned i = 2; i < 4; i++) {
        world.node[i].config.also.count = 1;
        world.node[i].config.also.at[0] = trib_address_v4(0x0a630001U + i, 7470);
    }
    tree_run(&world);
    assert_true(all_run(&world, 1));
    const struct recorder *root = &world.node[0].recorder;
    const struct recorder *right = &world.node[2].recorder;
    const struct recorder *far = &world.node[3].recorder;
    char text[64];
    trib_address_format(&far->parent[0], text);
    assert_string_equal(text, "10.0.0.3:7470");
    trib_address_format(&far->parent[1], text);
    assert_string_equal(text, "10.99.0.3:7471");
    trib_address_format(&right->parent[1], text);
    assert_string_equal(text, "10.0.0.1:7471"); /* which has one */
    trib_address_format(&right->addresses[7][0], text);
    assert_string_equal(text, "10.0.0.4:7470");
    trib_address_format(&right->addresses[7][1], text);
    assert_string_equal(text, "10.99.0.4:7471");
    trib_address_format(&root->addresses[7][1], text);
    assert_string_equal(text, "10.99.0.3:7471");
    trib_address_format(&far->addresses[7][0], text);
    assert_string_equal(text, "10.1.0.7:40007");
    world_end(&world);
}

static void join__many_ranks(void **state)
{
    (void)state;
    static const uint32_t counts[] = {40, 64, 100, 1024};
    for (unsigned n = 0; n < 4 && counts[n] <= TRIB_RANKS_MAX; n++) {
        uint32_t ranks = counts[n];
        struct world world;
        tree_make(&world, ranks, ranks);
        tree_run(&world);
        assert_true(all_run(&world, 1));
        assert_int_equal(world.node[0].recorder.joined, ranks);
        assert_int_equal(world.node[2].recorder.joined, ranks / 2);
        rank_kill(&world.rank[ranks - 1]);
        settle(&world);
        assert_int_equal(world.rank[0].failure, TRIB_ERR_PEER);
        world_end(&world);
    }
}

/* The switch with the fewest shards, and the one with the smallest sockets, say what all get. */
static void join__roots_and_window_are_the_least(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    world.node[3].config.shards = world.node[3].jobs.agent.shards = 1;
    world.node[2].config.receive_room =
        1472 * 50; /* of ranks 2 and 6, of the switch below, and from above; and as bound for it */
    tree_run(&world);
    assert_true(all_run(&world, 1));
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(world.rank[i].join.join.known.roots, 1);
        assert_int_equal(world.rank[i].join.join.known.window, 10);
    }
    world_end(&world);
}

static void join__refused_by_the_root_is_told(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 4);
    world.rank[3].join.join.settings.payload = 8192;
    tree_run(&world);
    tick(&world, 2 * TRIB_SECOND_NS);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(world.rank[i].failure, TRIB_ERR_SETTINGS);
        assert_non_null(strstr(world.rank[i].text, "payload is"));
    }
    world_end(&world);
}

static void join__refused_here_when_it_can_be(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 4);
    world.rank[3].join.join.rank = 4;
    rank_connect(&world, &world.rank[3]);
    settle(&world);
    assert_non_null(strstr(world.rank[3].text, "rank 4 is out of range"));
    assert_int_equal(world.rank[3].failure, TRIB_ERR_INVALID);
    world.rank[2].join.join.known = (struct trib_grant){.job_token = 4, .communicator = 7, .roots = 3};
    rank_connect(&world, &world.rank[2]);
    settle(&world);
    assert_non_null(strstr(world.rank[2].text, "was dealt over 3 shards, switch 10.0.0.3:7470 came back with 2"));
    strcpy(world.rank[1].join.join.settings.scheme, "ring");
    rank_connect(&world, &world.rank[1]);
    settle(&world);
    assert_non_null(strstr(world.rank[1].text, "its ranks send to each other, and a switch that has a parent cannot"));
    assert_int_equal(world.rank[1].failure, TRIB_ERR_REFUSED);
    strcpy(world.rank[1].join.join.settings.scheme, "panama"); /* told to be one by a switch at this place, before */
    world.rank[1].join.join.settings.gradient_bytes = 4;
    world.rank[1].join.join.is_ring = true;
    world.rank[1].text[0] = '\0';
    rank_connect(&world, &world.rank[1]);
    settle(&world);
    assert_non_null(strstr(world.rank[1].text, "scheme ring: its ranks send to each other, and a switch that has a"));
    assert_int_equal(world.node[0].jobs.stats.refused[-TRIB_ERR_REFUSED], 0); /* the root was not asked */
    world.rank[1].join.join.is_ring = false;
    strcpy(world.rank[1].join.join.settings.scheme, "switchml");
    world.rank[1].join.join.hops = TRIB_HOPS_MAX;
    rank_connect(&world, &world.rank[1]);
    settle(&world);
    assert_non_null(strstr(world.rank[1].text, "is one of them its own parent?"));
    world_end(&world);
}

/* Two switches that have each other as their parents: found out, not followed for ever. */
static void join__a_loop_of_parents_is_named(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, 1);
    struct node *a = node_add(&world, NULL);
    struct node *b = node_add(&world, a);
    a->parent = b;
    node_start(a, a->config.boot);
    ranks_make(&world, 1);
    world.rank[0].home = a;
    rank_connect(&world, &world.rank[0]);
    settle(&world);
    assert_int_equal(world.rank[0].failure, TRIB_ERR_INVALID);
    assert_non_null(strstr(world.rank[0].text, "is one of them its own parent?"));
    assert_true(world.moved < 200);
    world_end(&world);
}

static void join__quota_of_a_relay_is_told_to_all(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        world.node[3].jobs.agent.job_quota = 1000;
        tree_run(&world);
        for (uint32_t i = 0; i < 8; i++) {
            assert_int_equal(world.rank[i].failure, TRIB_ERR_REFUSED);
            assert_non_null(strstr(world.rank[i].text, "switch 10.0.0.4:7470: job digits needs "));
        }
        world_end(&world);
    }
}

static void join__no_memory_in_a_relay_is_told_to_all(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    world.node[1].recorder.refuse_memory = true;
    tree_run(&world);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(world.rank[i].failure, TRIB_ERR_MEMORY);
        assert_non_null(strstr(world.rank[i].text, "switch 10.0.0.2:7470: "));
    }
    world_end(&world);
}

static void join__late_ranks_are_named_through_levels(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    for (uint32_t i = 0; i < 7; i++) {
        rank_connect(&world, &world.rank[i]);
    }
    world.rank[7].home = NULL;
    tick(&world, 31 * TRIB_SECOND_NS); /* in steps of 1.55 s: the limit is 30 s, but it looks a little later */
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(world.rank[i].failure, TRIB_ERR_TIMEOUT);
        assert_string_equal(world.rank[i].text, "waited 31 s for rank 7 of job digits");
    }
    world_end(&world);
}

/* A rank is started twice by mistake: the second is refused, the first goes on. */
static void join__a_rank_that_is_there_already(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 9);
        for (uint32_t i = 0; i < 9; i++) {
            world.rank[i].join.join.settings.ranks = 8;
        }
        world.rank[8].home = world.node + 3;
        world.rank[8].join.join.rank = 7;
        rank_connect(&world, &world.rank[7]);
        settle(&world);
        for (uint32_t i = 0; i < 9; i++) {
            if (i != 7) {
                rank_connect(&world, &world.rank[i]);
            }
        }
        tick(&world, 100 * TRIB_MILLISECOND_NS);
        assert_int_equal(world.rank[8].failure, TRIB_ERR_REFUSED);
        assert_true(strstr(world.rank[8].text, "rank 7 of job digits is already taken") ||
                    strstr(world.rank[8].text, "job digits is already running"));
        world.ranks = 8;
        assert_true(all_run(&world, 1));
        world.ranks = 9;
        world_end(&world);
    }
}

/* What full-size packets do not reach must not begin: the hop is named, to everybody. */
static void paths__a_dead_hop_between_switches_is_named(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    world.node[3].recorder.parent_answers = false;
    tree_run(&world);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(world.rank[i].failure, TRIB_OK);
        assert_false(world.rank[i].is_running);
    }
    assert_in_range(world.node[3].recorder.parent_probes, 4, 10);
    tick(&world, 3 * TRIB_SECOND_NS);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(world.rank[i].failure, TRIB_ERR_UNREACHABLE);
        assert_non_null(strstr(world.rank[i].text,
                               "packets of 1408 bytes payload do not pass between switch 10.0.0.4:7470, UDP ports 7470 "
                               "to 7471, and its parent 10.0.0.3:7470, UDP ports 7470 to 7471"));
    }
    world_end(&world);
}

/* Its time is over when it runs again, but it has hardly tried. */
static void paths__a_switch_that_stood_still_says_nothing_of_them(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    world.node[3].recorder.parent_answers = false;
    tree_run(&world);
    world.now_ns += 3 * TRIB_SECOND_NS;
    tick(&world, 100 * TRIB_MILLISECOND_NS);
    world.node[3].recorder.parent_answers = true;
    tick(&world, TRIB_SECOND_NS);
    assert_true(all_run(&world, 1));
    world_end(&world);
}

static void paths__of_a_late_answer_are_passed_on(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    world.node[3].recorder.parent_answers = false;
    tree_run(&world);
    world.node[3].recorder.parent_answers = true;
    tick(&world, TRIB_SECOND_NS);
    assert_true(all_run(&world, 1));
    world_end(&world);
}

static void paths__of_a_rank_name_its_own_hop(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    world.rank[7].is_quiet = true;
    tree_run(&world);
    const struct trib_message paths = {.kind = TRIB_MESSAGE_PATHS, .paths = {false, false}};
    assert_int_equal(world.rank[7].last.kind, TRIB_MESSAGE_WELCOME);
    rank_send(&world.rank[7], &paths);
    settle(&world);
    assert_int_equal(world.rank[0].failure, TRIB_ERR_UNREACHABLE);
    assert_non_null(strstr(world.rank[0].text,
                           "switch 10.0.0.4:7470: packets of 1408 bytes payload (1500 with IP) do not "
                           "pass between rank 7 (10.1.0.7:40007) and the switch's UDP ports 7470"));
    world_end(&world);
}

/* A relay's ranks get its results by multicast, whatever the rest of the tree does. */
static void multicast__is_each_switch_own_affair(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    for (unsigned i = 0; i < 4; i++) {
        world.node[i].config.group = GROUP + i * 256;
    }
    for (uint32_t i = 0; i < 8; i++) {
        world.rank[i].join.join.multicast = i != 3 && i != 7;
    }
    tree_run(&world);
    assert_true(all_run(&world, 1));
    for (uint32_t i = 0; i < 8; i++) {
        /* The root has switches as children, and so has the third; the ranks of the fourth do not want it. */
        assert_int_equal(world.rank[i].multicast, i % 4 == 1);
        assert_int_equal(world.rank[i].join.join.known.group, i % 4 == 1 ? GROUP + 256 : 0);
    }
    assert_int_equal(world.node[1].recorder.group, GROUP + 256);
    assert_int_equal(world.node[0].recorder.group, 0);
    node_kill(&world.node[1], false);
    tick(&world, 100 * TRIB_MILLISECOND_NS);
    node_restart(&world.node[1]);
    world.node[1].config.group = GROUP + 256;
    tick(&world, 200 * TRIB_MILLISECOND_NS);
    assert_true(all_run(&world, 2));
    assert_true(world.rank[1].multicast && !world.rank[0].multicast);
    assert_int_equal(world.node[1].recorder.group, GROUP + 256);
    world_end(&world);
}

/* Ranks that return name a group: nothing goes to it that this switch does not give out. */
static void multicast__to_no_group_of_a_stranger(void **state)
{
    (void)state;
    for (uint32_t other = 0; other < 2; other++) {
        struct world world;
        pair_make(&world, 2);
        world.node[1].config.group = GROUP;
        for (uint32_t i = 0; i < 2; i++) {
            struct trib_grant *known = &world.rank[i].join.join.known;
            *known = (struct trib_grant){.job_token = 4, .communicator = 7, .boot = 9, .generation = 1, .roots = 2};
            known->train = known->window = known->slots = 8;
            known->group = GROUP + other * 0x10000;
            known->group_port = 7470 + TRIB_ROOTS_MAX;
            world.rank[i].join.join.multicast = true;
            world.rank[i].is_quiet = true;
        }
        tree_run(&world);
        assert_int_equal(world.rank[0].last.kind, TRIB_MESSAGE_WELCOME);
        assert_int_equal(world.rank[0].last.welcome.grant.group, GROUP + other * 0x10000);
        assert_int_equal(world.node[1].recorder.probes > 0, other == 0);
        world_end(&world);
    }
}

static void mark__is_known_on_its_way(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        for (uint32_t i = 0; i < 8; i++) {
            world.rank[i].mark = 100 + i;
            rank_say(&world.rank[i], TRIB_MESSAGE_MARK);
        }
        tick(&world, TRIB_SECOND_NS);
        for (uint32_t i = 0; i < 8; i++) {
            assert_int_equal(world.rank[i].m, 100);
        }
        assert_int_equal(world.node[3].recorder.marks[7], 107);
        assert_int_equal(world.node[3].recorder.learned, 100);
        assert_int_equal(world.node[2].recorder.marks[7], 107);
        assert_int_equal(world.node[0].recorder.marks[7], 107);
        assert_int_equal(world.node[2].recorder.marks[1], UINT64_MAX); /* not behind it */
        world_end(&world);
    }
}

static void close__through_levels(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        for (uint32_t i = 0; i < 8; i++) {
            world.rank[i].mark = 100;
            rank_say(&world.rank[i], TRIB_MESSAGE_CLOSE);
        }
        tick(&world, TRIB_SECOND_NS);
        for (uint32_t i = 0; i < 8; i++) {
            assert_true(world.rank[i].is_closed);
            assert_int_equal(world.rank[i].failure, TRIB_OK);
        }
        for (unsigned i = 0; i < 4; i++) {
            assert_null(world.node[i].jobs.first);
            assert_int_equal(world.node[i].recorder.closes, 1);
            assert_int_equal(world.node[i].jobs.stats.closed, 1);
        }
        world_end(&world);
    }
}

/* One had left before the others closed. */
static void close__after_one_has_left(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        for (uint32_t i = 8; i-- > 0;) { /* rank 7 first */
            world.rank[i].mark = 100;
            rank_say(&world.rank[i], TRIB_MESSAGE_CLOSE);
            if (i == 7) {
                settle(&world);
                rank_kill(&world.rank[i]);
                settle(&world);
            }
        }
        settle(&world);
        for (unsigned i = 0; i < 4; i++) {
            assert_null(world.node[i].jobs.first);
            assert_int_equal(world.node[i].jobs.stats.closed, 1);
        }
        world_end(&world);
    }
}

static void dispute__through_levels(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    tree_run(&world);
    const uint32_t ranks[2] = {7, 3};
    for (int i = 0; i < 100; i++) { /* a node says it of every packet: the root is told once */
        trib_jobs_mismatch(&world.node[3].jobs, world.node[3].recorder.communicator, 17, ranks, world.now_ns);
    }
    settle(&world);
    for (uint32_t i = 3; i < 8; i += 4) {
        struct trib_message answer = {.kind = TRIB_MESSAGE_OPERATION, .operation = {17, ""}};
        assert_int_equal(world.rank[i].last.kind, TRIB_MESSAGE_DESCRIBE);
        snprintf(answer.operation.text, sizeof answer.operation.text, "operation %u", i);
        rank_send(&world.rank[i], &answer);
    }
    settle(&world);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(world.rank[i].failure, TRIB_ERR_MISMATCH);
        assert_non_null(strstr(world.rank[i].text, "rank 3 called operation 3, rank 7 called operation 7"));
    }
    world_end(&world);
}

static void lack(struct node *node, uint32_t count, const uint16_t *ranks)
{
    node->recorder.missing_count = count;
    for (uint32_t i = 0; i < count; i++) {
        node->recorder.missing[i] = ranks[i];
    }
}

/* The far switch lacks rank 7; those above know only that a switch lacks. */
static void stall__names_the_rank_through_levels(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    tree_run(&world);
    lack(&world.node[3], 1, (const uint16_t[]){7});
    lack(&world.node[2], 2, (const uint16_t[]){3, 7});
    lack(&world.node[0], 4, (const uint16_t[]){2, 3, 6, 7});
    const struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 1841, .since_ms = 1200}};
    rank_send(&world.rank[3], &stall);
    settle(&world);
    assert_int_equal(world.rank[3].missings, 1);
    assert_int_equal(world.rank[3].last.stall.missing.count, 1);
    assert_int_equal(world.rank[3].last.stall.missing.rank[0], 7);
    assert_string_equal(world.rank[3].last.stall.where, "");
    rank_send(&world.rank[0], &stall); /* at the root, where rank 3 has said it */
    settle(&world);
    assert_int_equal(world.rank[0].last.stall.missing.count, 1);
    assert_int_equal(world.rank[0].last.stall.missing.rank[0], 7);
    /* All parts are at the far switch, and do not come through. */
    lack(&world.node[3], 0, NULL);
    for (uint32_t i = 2; i < 8; i++) {
        rank_send(&world.rank[i], &stall);
        settle(&world);
    }
    assert_int_equal(world.rank[7].last.stall.missing.count, 0);
    assert_string_equal(world.rank[7].last.stall.where, "switch 10.0.0.4:7470");
    world_end(&world);
}

/* Rank 7 waits as well, for the same result and before for a later one: its part is not at the far switch. */
static void stall__names_a_rank_that_waits_too(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    tree_run(&world);
    lack(&world.node[3], 1, (const uint16_t[]){7});
    lack(&world.node[2], 2, (const uint16_t[]){3, 7});
    lack(&world.node[0], 4, (const uint16_t[]){2, 3, 6, 7});
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t rank = i < 2 ? 7 : 3;
        const struct trib_message stall = {.kind = TRIB_MESSAGE_STALL,
                                           .stall = {.sequence = i == 0 ? 1900 : 1841, .since_ms = 1200}};
        rank_send(&world.rank[rank], &stall);
        settle(&world);
        assert_int_equal(world.rank[rank].last.stall.missing.count, 1);
        assert_int_equal(world.rank[rank].last.stall.missing.rank[0], 7);
        assert_string_equal(world.rank[rank].last.stall.where, "");
    }
    world_end(&world);
}

static void hostile__ranks_of_a_relay(void **state)
{
    (void)state;
    static const enum trib_message_kind kinds[] = {
        TRIB_MESSAGE_JOIN, TRIB_MESSAGE_WELCOME, TRIB_MESSAGE_PATHS, TRIB_MESSAGE_READY,   TRIB_MESSAGE_CLOSED,
        TRIB_MESSAGE_FAIL, TRIB_MESSAGE_GONE,    TRIB_MESSAGE_AWAY,  TRIB_MESSAGE_MISSING, TRIB_MESSAGE_DISPUTE};
    for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct world world;
        tree_make(&world, k, 8);
        tree_run(&world);
        struct trib_message message = {.kind = kinds[k]};
        if (kinds[k] == TRIB_MESSAGE_JOIN) {
            message = world.rank[7].join;
        }
        rank_send(&world.rank[7], &message);
        tick(&world, TRIB_SECOND_NS);
        print_message("kind %d: %s\n", (int)kinds[k], world.rank[0].text);
        assert_int_equal(world.rank[7].failure, TRIB_ERR_INVALID);
        assert_int_equal(world.rank[0].failure, TRIB_ERR_PEER);
        assert_non_null(strstr(world.rank[0].text, "rank 7 (10.1.0.7:40007) is gone: it sent a message out of turn"));
        world_end(&world);
    }
}

static void hostile__one_communicator_for_two_jobs(void **state)
{
    (void)state;
    struct world world;
    pair_make(&world, 2);
    struct trib_message *other = &world.rank[1].join;
    snprintf(other->join.job, sizeof other->join.job, "other");
    other->join.settings.ranks = TRIB_RANKS_MAX; /* no place for it among the two of the first */
    other->join.rank = TRIB_RANKS_MAX - 1;
    struct trib_link *link[2] = {come(&world, 0), come(&world, 1)};
    settle(&world);
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message welcome = {.kind = TRIB_MESSAGE_WELCOME};
        welcome.welcome.grant =
            (struct trib_grant){.job_token = 4, .communicator = 7, .boot = 9, .generation = 1, .roots = 1};
        welcome.welcome.grant.train = welcome.welcome.grant.window = welcome.welcome.grant.slots = 8;
        welcome.welcome.grant.data_port = 7470;
        welcome.welcome.generation_ranks = world.rank[i].join.join.settings.ranks;
        welcome.welcome.behind = 2;
        trib_relay_answer(&world.node[1].jobs, link[i], &welcome, world.now_ns);
    }
    settle(&world);
    assert_int_equal(world.rank[0].failure, TRIB_OK);
    assert_int_equal(world.rank[1].failure, TRIB_ERR_REFUSED);
    assert_non_null(strstr(world.rank[1].text, "its parent 10.0.0.1:7470 granted invalid values"));
    assert_int_equal(world.node[1].jobs.first->links, 1);
    world_end(&world);
}

/* Roots that are ranks' processes, or that are not all named, are no parent. */
static void hostile__welcome_of_other_roots(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct world world;
        pair_make(&world, 2); /* of which one comes: its parent says nothing yet */
        struct trib_link *link = come(&world, 0);
        settle(&world);
        struct trib_message welcome = {.kind = TRIB_MESSAGE_WELCOME};
        welcome.welcome.grant =
            (struct trib_grant){.job_token = 4, .communicator = 7, .boot = 9, .generation = 1, .roots = 2};
        welcome.welcome.grant.train = welcome.welcome.grant.window = welcome.welcome.grant.slots = 8;
        welcome.welcome.grant.data_port = 7470;
        welcome.welcome.generation_ranks = 2;
        welcome.welcome.behind = 1;
        welcome.welcome.root_count = i == 0 ? 1 : 2;
        welcome.welcome.no_box = i == 1;
        welcome.welcome.root[0] = trib_address_v4(0x0a000001U, 7470);
        welcome.welcome.root[1] = (struct trib_address){.len = sizeof(struct sockaddr_in6)};
        welcome.welcome.root[1].storage.ss_family = AF_INET6;
        trib_relay_answer(&world.node[1].jobs, link, &welcome, world.now_ns);
        settle(&world);
        assert_int_equal(world.rank[0].failure, TRIB_ERR_REFUSED);
        assert_non_null(strstr(world.rank[0].text, "its parent 10.0.0.1:7470 granted invalid values"));
        world_end(&world);
    }
}

static struct trib_link *link_of(const struct world *world, uint32_t index)
{
    return world->rank[index].wire->session.link;
}

/* Of a job that fails, ranks that had closed hear CLOSED, the others the cause: also where the way up breaks first. */
static void fail__after_another_rank_has_closed(void **state)
{
    (void)state;
    struct world world;
    pair_make(&world, 3);
    tree_run(&world);
    struct trib_jobs *jobs = &world.node[1].jobs;
    struct trib_link *const links[3] = {link_of(&world, 0), link_of(&world, 1), link_of(&world, 2)};
    const struct trib_message closed = {.kind = TRIB_MESSAGE_CLOSED};
    const struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "rank 1 is gone"}};
    trib_relay_answer(jobs, links[0], &closed, world.now_ns);
    trib_relay_answer(jobs, links[1], &fail, world.now_ns);
    trib_relay_lost(jobs, links[2], "connection closed", false, world.now_ns);
    settle(&world);
    assert_true(world.rank[0].is_closed);
    assert_int_equal(world.rank[2].failure, TRIB_ERR_PEER);
    assert_string_equal(world.rank[2].text, "rank 1 is gone");
    assert_int_equal(jobs->stats.failed[-TRIB_ERR_PEER], 1);
    assert_int_equal(jobs->stats.closed, 0);
    assert_int_equal(jobs->stats.recalled, 0);
    world_end(&world);
}

/* The time for the path was over before a rank asked for it: it is tried anew. */
static void paths__are_tried_again_for_who_comes_late(void **state)
{
    (void)state;
    struct world world;
    pair_make(&world, 2);
    struct recorder *r = &world.node[1].recorder;
    r->parent_answers = false;
    world.rank[0].is_quiet = world.rank[1].is_quiet = true;
    tree_run(&world);
    tick(&world, 5 * TRIB_SECOND_NS);
    assert_int_equal(trib_jobs_next_timeout(&world.node[1].jobs), TRIB_NEVER);
    r->parent_probes = 0;
    r->parent_answers = true;
    for (uint32_t i = 0; i < 2; i++) {
        world.rank[i].is_quiet = false;
        rank_welcome(&world.rank[i], &world.rank[i].last);
    }
    tick(&world, TRIB_SECOND_NS);
    assert_true(all_run(&world, 1));
    world_end(&world);
}

/* One that has found the parent there must not keep others from looking when a try of before fails late. */
static void away__is_asked_again_while_a_link_stands(void **state)
{
    (void)state;
    struct world world;
    pair_make(&world, 4);
    struct trib_jobs *jobs = &world.node[1].jobs;
    struct trib_link *early = come(&world, 0);
    struct trib_link *late = come(&world, 1);
    trib_relay_lost(jobs, early, "no answer", false, world.now_ns);
    world.now_ns += 30 * TRIB_MILLISECOND_NS;
    struct trib_link *scout = come(&world, 2);
    assert_non_null(scout);
    trib_relay_connected(jobs, scout, &world.node[1].config.listen);
    trib_relay_lost(jobs, late, "no answer", false, world.now_ns);
    world.now_ns += 30 * TRIB_MILLISECOND_NS;
    assert_non_null(come(&world, 3));
    world_end(&world);
}

int main(void)
{
    trib_log_set_default(TRIB_LOG_NONE); /* thousands of jobs end here, as they should */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join__a_tree_of_three_levels),
        cmocka_unit_test(join__switches_with_lists_of_addresses),
        cmocka_unit_test(hostile__welcome_of_other_roots),
        cmocka_unit_test(join__many_ranks),
        cmocka_unit_test(join__roots_and_window_are_the_least),
        cmocka_unit_test(join__refused_by_the_root_is_told),
        cmocka_unit_test(join__refused_here_when_it_can_be),
        cmocka_unit_test(join__a_loop_of_parents_is_named),
        cmocka_unit_test(join__quota_of_a_relay_is_told_to_all),
        cmocka_unit_test(join__no_memory_in_a_relay_is_told_to_all),
        cmocka_unit_test(join__late_ranks_are_named_through_levels),
        cmocka_unit_test(join__a_rank_that_is_there_already),
        cmocka_unit_test(paths__a_dead_hop_between_switches_is_named),
        cmocka_unit_test(paths__a_switch_that_stood_still_says_nothing_of_them),
        cmocka_unit_test(paths__of_a_late_answer_are_passed_on),
        cmocka_unit_test(paths__of_a_rank_name_its_own_hop),
        cmocka_unit_test(multicast__is_each_switch_own_affair),
        cmocka_unit_test(multicast__to_no_group_of_a_stranger),
        cmocka_unit_test(mark__is_known_on_its_way),
        cmocka_unit_test(close__through_levels),
        cmocka_unit_test(close__after_one_has_left),
        cmocka_unit_test(dispute__through_levels),
        cmocka_unit_test(stall__names_the_rank_through_levels),
        cmocka_unit_test(stall__names_a_rank_that_waits_too),
        cmocka_unit_test(hostile__ranks_of_a_relay),
        cmocka_unit_test(hostile__one_communicator_for_two_jobs),
        cmocka_unit_test(fail__after_another_rank_has_closed),
        cmocka_unit_test(paths__are_tried_again_for_who_comes_late),
        cmocka_unit_test(away__is_asked_again_while_a_link_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
