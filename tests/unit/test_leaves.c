/* SPDX-License-Identifier: Apache-2.0 */
/* test_leaves.c: a controller with switches below it: ranks get in over them, each switch opens what it is to sum, hears
 * what it must know, and nobody is held up for ever. test_leaves_faults.c has what dies and comes back. Mirrors
 * src/control/roots/leaves.c and what src/control/jobs has of switches below. */
#include "leaves_harness.h"

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

/* Switches with several network cards name them all, and parents and children find them there. */
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

/* What one switch was told of its children, by root. */
static struct told {
    const struct trib_remote *remote;
    struct trib_message child[2][16];
    uint32_t count[2], opens;
} told;

static void keep_children(void *owner, struct trib_remote *remote, const struct trib_message *message)
{
    if (message->kind == TRIB_MESSAGE_ROOT_OPEN && remote == told.remote) {
        assert_int_equal(message->root_open.index, told.opens++);
        assert_int_equal(message->root_open.behind, 5);
        assert_int_equal(message->root_open.ranks, 8);
    } else if (message->kind == TRIB_MESSAGE_ROOT_CHILD && remote == told.remote) {
        uint32_t t = told.opens - 1;
        told.child[t][told.count[t]++] = *message;
    }
    tell_below(owner, remote, message);
}

/* Ranks come in ascending order, children are counted by their lowest ranks, and each finds the switch where it has
 * reached it. */
static void children__come_in_order_of_their_lowest_ranks(void **state)
{
    static const unsigned homes[8] = {0, 3, 2, 3, 2, 1, 2, 0}; /* at the second: far, of ranks 1 and 3; 2, 4 and 6 */
    static const uint32_t want[5][3] = {{1, 0, true}, {2, 1, false}, {3, 0, true}, {4, 2, false}, {6, 3, false}};
    struct world world;
    (void)state;
    tree_make(&world, 1, 8);
    for (uint32_t i = 0; i < 8; i++) {
        world.rank[i].home = &world.node[homes[i]];
        rank_connect(&world, &world.rank[i]);
        if (i < 7) {
            settle(&world);
        }
    }
    told = (struct told){.remote = world.node[2].trunk->remote};
    world.node[0].jobs.below.send = keep_children;
    tick(&world, 100 * TRIB_MILLISECOND_NS);
    assert_true(all_run(&world, 1));
    assert_int_equal(told.opens, 2);
    for (uint32_t t = 0; t < 2; t++) {
        assert_int_equal(told.count[t], 5);
        for (uint32_t k = 0; k < 5; k++) {
            const struct trib_message *child = &told.child[t][k];
            char text[64];
            char from[64];
            assert_int_equal(child->root_child.rank, want[k][0]);
            assert_int_equal(child->root_child.branch, want[k][1]);
            assert_int_equal(child->root_child.is_switch, want[k][2]);
            assert_int_equal(child->root_child.to.len > 0, !want[k][2]);
            trib_address_format(&child->root_child.from, text);
            (void)snprintf(from, sizeof from, "10.1.0.%u:%u", want[k][0], t == 0 ? 40000 + want[k][0] : 20001);
            assert_string_equal(text, want[k][2] ? t == 0 ? "10.0.0.4:7470" : "10.0.0.4:7471" : from);
        }
    }
    world_end(&world);
}

/* Two switches may have ranks of one machine: they are no one child of either. */
static void hosts__at_two_switches_are_two(void **state)
{
    (void)state;
    for (uint32_t split = 1; split < 4; split++) { /* ranks below it come to the first */
        struct world world;
        world_init(&world, split);
        struct node *root = node_add(&world, NULL);
        struct node *const leaves[2] = {node_add(&world, root), node_add(&world, root)};
        ranks_make(&world, 4);
        for (uint32_t i = 0; i < 4; i++) {
            world.rank[i].home = leaves[i >= split];
            world.rank[i].join.join.host = 7;
            world.rank[i].join.join.level0 = true;
            world.rank[i].is_quiet = true;
        }
        tree_run(&world);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(world.rank[i].last.kind, TRIB_MESSAGE_WELCOME);
            assert_int_equal(world.rank[i].last.welcome.hosts, 2);
            assert_int_equal(world.rank[i].last.welcome.leaders.word[0], 1 | 1U << split);
        }
        assert_int_equal(world.node[0].recorder.session.ranks, 2);
        assert_int_equal(world.node[0].recorder.children, 2);
        assert_int_equal(world.node[1].recorder.children, 1);
        assert_int_equal(world.node[1].recorder.behind[0], split);
        world_end(&world);
    }
}

/* A switch below has sockets of its own, which its jobs divide, as those here do. */
static void window__beside_other_jobs_at_a_switch_below(void **state)
{
    static const char *const names[3] = {"one", "two", "three"};
    (void)state;
    struct world world;
    uint32_t window[3];
    pair_make(&world, 6);
    world.node[1].config.receive_room = 1472 * 240;
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t i = 2 * k; i < 2 * k + 2; i++) {
            struct trib_message *join = &world.rank[i].join;
            (void)snprintf(join->join.job, sizeof join->join.job, "%s", names[k]);
            join->join.rank = i % 2;
            join->join.settings.ranks = 2;
            rank_connect(&world, &world.rank[i]);
        }
        tick(&world, 100 * TRIB_MILLISECOND_NS);
        assert_true(world.rank[2 * k].is_running);
        window[k] = world.rank[2 * k].join.join.known.window;
        if (k == 1) { /* the first ends, and its room is free */
            rank_say(&world.rank[0], TRIB_MESSAGE_CLOSE);
            rank_say(&world.rank[1], TRIB_MESSAGE_CLOSE);
            settle(&world);
            assert_true(world.rank[0].is_closed);
        }
    }
    print_message("windows %u, %u, %u\n", window[0], window[1], window[2]);
    assert_int_equal(window[0], 80); /* of two ranks, and of results from above */
    assert_true(window[1] > 0 && window[1] <= window[0] / 4);
    assert_true(window[2] > window[1] && window[2] <= 80 - window[1]);
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
    world.node[3].config.shards = 1;
    world.node[2].config.receive_room = 1472 * 50; /* of ranks 2 and 6, of the switch below, and from above */
    tree_run(&world);
    assert_true(all_run(&world, 1));
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(world.rank[i].join.join.known.roots, 1);
        assert_int_equal(world.rank[i].join.join.known.window, 12);
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

static void join__refused_by_the_controller(void **state)
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
    assert_non_null(strstr(world.rank[2].text, "came back with 2: start it with --threads 3"));
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
    world_end(&world);
}

static void join__quota_of_a_switch_is_told_to_all(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        world.node[3].config.job_quota = 1000;
        tree_run(&world);
        for (uint32_t i = 0; i < 8; i++) {
            assert_int_equal(world.rank[i].failure, TRIB_ERR_REFUSED);
            assert_non_null(strstr(world.rank[i].text, "switch 10.0.0.4:7470: job digits needs "));
        }
        world_end(&world);
    }
}

static void join__no_memory_in_a_switch_is_told_to_all(void **state)
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
                               "to 7471, and its parent 10.0.0.3:7470: check"));
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
                           "packets of 1408 bytes payload (1500 with IP) do not pass between rank 7 "
                           "(10.1.0.7:40007) and switch 10.0.0.4:7470, UDP ports 7470 to 7471"));
    world_end(&world);
}

/* Ranks that return had a path before: it is only slow, for as long as it takes. */
static void paths__of_a_return_are_tried_until_they_pass(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    tree_run(&world);
    node_kill(&world.node[0], false);
    settle(&world);
    world.node[3].recorder.parent_answers = false;
    node_restart(&world.node[0]);
    tick(&world, TRIB_SECOND_NS);
    tick(&world, 10 * TRIB_SECOND_NS);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(world.rank[i].failure, TRIB_OK);
        assert_false(world.rank[i].is_running);
    }
    world.node[3].recorder.parent_answers = true;
    tick(&world, TRIB_SECOND_NS);
    assert_true(all_run(&world, 2));
    world_end(&world);
}

/* A switch's ranks get its results by multicast, whatever the rest of the tree does. */
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
        /* The root has switches as children; the third has one, beside its ranks; the ranks of the fourth do not want
         * it. */
        bool has_group = i % 4 == 1 || i % 4 == 2;
        assert_int_equal(world.rank[i].multicast, has_group);
        assert_int_equal(world.rank[i].join.join.known.group, has_group ? GROUP + i % 4 * 256 : 0);
    }
    assert_int_equal(world.node[1].recorder.group, GROUP + 256);
    assert_int_equal(world.node[2].recorder.group, GROUP + 512);
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

/* The controller has heard by a packet that all ranks are at 100, before the switch below has their marks. */
static void mark__is_taken_when_the_ranks_have_caught_up(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    tree_run(&world);
    struct node *node = &world.node[3];
    assert_non_null(node->leaf.masters.lendings);
    const struct trib_opening_id of = node->leaf.masters.lendings->root.of;
    const struct trib_message mark = {.kind = TRIB_MESSAGE_ROOT_MARK, .root_mark = {.of = of, .mark = 100}};
    leaf_agent_hear(&node->leaf, &mark);
    for (uint16_t rank = 0; rank < 8; rank++) {
        const struct trib_message join = {.kind = TRIB_MESSAGE_ROOT_JOIN,
                                          .root_join = {.of = of, .rank = rank, .mark = 100}};
        if (node->recorder.marks[rank] != UINT64_MAX) {
            assert_int_equal(node->recorder.learned, 0);
            leaf_agent_hear(&node->leaf, &join);
        }
    }
    assert_int_equal(node->recorder.learned, 100);
    world_end(&world);
}

static void assert_all_closed(const struct world *world)
{
    assert_null(world->node[0].jobs.first);
    assert_int_equal(world->node[0].jobs.stats.closed, 1);
    for (unsigned i = 0; i < world->nodes; i++) {
        assert_null(world->node[i].leaf.masters.lendings);
        assert_int_equal(world->node[i].recorder.closes, 1);
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
        assert_all_closed(&world);
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
        assert_all_closed(&world);
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
        trib_masters_mismatch(&world.node[3].leaf.masters, world.node[3].recorder.communicator, 17, ranks);
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
    /* All parts are at the far switch, and do not come through; what it has said before is of the past. */
    lack(&world.node[3], 0, NULL);
    world.now_ns += TRIB_SECOND_NS;
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

static void hostile__ranks_of_a_switch_below(void **state)
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

/* Of a job that fails, ranks that had closed hear CLOSED, the others the cause. */
static void fail__after_another_rank_has_closed(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        world.rank[7].mark = 100;
        rank_say(&world.rank[7], TRIB_MESSAGE_CLOSE);
        settle(&world);
        rank_kill(&world.rank[3]);
        settle(&world);
        assert_true(world.rank[7].is_closed);
        assert_int_equal(world.rank[7].failure, TRIB_OK);
        assert_int_equal(world.rank[2].failure, TRIB_ERR_PEER);
        assert_string_equal(world.rank[2].text, "rank 3 (10.1.0.3:40003) is gone: its session closed");
        assert_int_equal(world.node[0].jobs.stats.failed[-TRIB_ERR_PEER], 1);
        assert_int_equal(world.node[0].jobs.stats.closed, 0);
        assert_int_equal(world.node[0].jobs.stats.recalled, 0);
        world_end(&world);
    }
}

int main(void)
{
    trib_log_set_default(TRIB_LOG_NONE); /* thousands of jobs end here, as they should */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join__a_tree_of_three_levels),
        cmocka_unit_test(join__switches_with_lists_of_addresses),
        cmocka_unit_test(children__come_in_order_of_their_lowest_ranks),
        cmocka_unit_test(hosts__at_two_switches_are_two),
        cmocka_unit_test(window__beside_other_jobs_at_a_switch_below),
        cmocka_unit_test(join__many_ranks),
        cmocka_unit_test(join__roots_and_window_are_the_least),
        cmocka_unit_test(join__refused_by_the_root_is_told),
        cmocka_unit_test(join__refused_by_the_controller),
        cmocka_unit_test(join__quota_of_a_switch_is_told_to_all),
        cmocka_unit_test(join__no_memory_in_a_switch_is_told_to_all),
        cmocka_unit_test(join__late_ranks_are_named_through_levels),
        cmocka_unit_test(join__a_rank_that_is_there_already),
        cmocka_unit_test(paths__a_dead_hop_between_switches_is_named),
        cmocka_unit_test(paths__a_switch_that_stood_still_says_nothing_of_them),
        cmocka_unit_test(paths__of_a_late_answer_are_passed_on),
        cmocka_unit_test(paths__of_a_return_are_tried_until_they_pass),
        cmocka_unit_test(paths__of_a_rank_name_its_own_hop),
        cmocka_unit_test(multicast__is_each_switch_own_affair),
        cmocka_unit_test(multicast__to_no_group_of_a_stranger),
        cmocka_unit_test(mark__is_known_on_its_way),
        cmocka_unit_test(mark__is_taken_when_the_ranks_have_caught_up),
        cmocka_unit_test(close__through_levels),
        cmocka_unit_test(close__after_one_has_left),
        cmocka_unit_test(dispute__through_levels),
        cmocka_unit_test(stall__names_the_rank_through_levels),
        cmocka_unit_test(stall__names_a_rank_that_waits_too),
        cmocka_unit_test(hostile__ranks_of_a_switch_below),
        cmocka_unit_test(fail__after_another_rank_has_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
