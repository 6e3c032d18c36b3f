/* SPDX-License-Identifier: Apache-2.0 */
/* test_leaves_faults.c: trees of switches in which ranks, switches below and the controller's die, come back, or do
 * not. Of a rank's death all hear, with its own address. Of a switch's death nobody hears, as all come back. What never
 * comes back is named. test_leaves_close.c has ranks that close meanwhile. */
#include "control/jobs/jobs.h"
#include "leaves_harness.h"

#include "io/log.h"

#define SEEDS 60
#define SHORT (100 * TRIB_MILLISECOND_NS)

/* All run, under one boot id. */
static bool all_are_back(const struct world *world)
{
    bool good = true;
    for (uint32_t i = 0; i < world->ranks; i++) {
        const struct rank *rank = &world->rank[i];
        bool fine = rank->is_running && rank->boot == world->rank[0].boot && rank->failure == TRIB_OK;
        if (!fine) {
            print_message("rank %u: running %d, %u readies, boot %08x, last message %d, failure %d: %s\n", i,
                          rank->is_running, rank->readies, rank->boot, (int)rank->last.kind, (int)rank->failure,
                          rank->text);
        }
        good = good && fine;
    }
    return good;
}

static void death__of_a_rank_is_told_with_its_address(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        uint32_t dead = (uint32_t)(seed % 8);
        char want[96];
        snprintf(want, sizeof want, "rank %u (10.1.0.%u:4000%u) is gone: its session closed", dead, dead, dead);
        rank_kill(&world.rank[dead]);
        settle(&world);
        for (uint32_t i = 0; i < 8; i++) {
            if (i != dead) {
                assert_int_equal(world.rank[i].failure, TRIB_ERR_PEER);
                assert_string_equal(world.rank[i].text, want);
            }
        }
        world_end(&world);
    }
}

/* A switch dies, and then a rank at the root, behind a switch or behind two: not of the ranks behind the dead switch, of
 * which nothing is known. */
static void death__beside_a_switch_is_named_soon(void **state)
{
    static const uint32_t dead[] = {0, 2, 3, 4, 6, 7};
    (void)state;
    for (size_t i = 0; i < sizeof dead / sizeof dead[0]; i++) {
        struct world world;
        char want[96];
        tree_make(&world, i, 8);
        tree_run(&world);
        node_kill(&world.node[1], false);
        settle(&world);
        (void)snprintf(want, sizeof want, "rank %u (10.1.0.%u:4000%u) is gone: its session closed", dead[i], dead[i],
                       dead[i]);
        rank_kill(&world.rank[dead[i]]);
        tick(&world, TRIB_CUT_NS * 8 / 10);
        assert_int_equal(world.rank[dead[i] == 0 ? 4 : 0].failure, TRIB_OK);
        tick(&world, TRIB_CUT_NS * 3 / 10);
        for (uint32_t rank = 0; rank < 8; rank++) {
            if (rank != dead[i] && rank % 4 != 1) {
                assert_int_equal(world.rank[rank].failure, TRIB_ERR_PEER);
                assert_string_equal(world.rank[rank].text, want);
            }
        }
        world_end(&world);
    }
}

/* The way of a rank ends after a recall, and the rank may live. */
static void lost__after_a_recall_is_waited_for(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    tree_run(&world);
    node_kill(&world.node[1], false);
    settle(&world);
    node_kill(&world.node[2], false);
    tick(&world, 5 * TRIB_SECOND_NS);
    assert_int_equal(world.rank[0].failure, TRIB_OK);
    node_restart(&world.node[1]);
    node_restart(&world.node[2]);
    tick(&world, 2 * TRIB_SECOND_NS);
    assert_true(all_are_back(&world));
    world_end(&world);
}

/* Before all are there it gives up its place, and another may take it. */
static void death__before_the_start(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        rank_connect(&world, &world.rank[7]);
        for (uint64_t moves = 0; moves < seed % 8; moves++) {
            (void)move_one(&world);
        }
        rank_kill(&world.rank[7]);
        if (seed % 2) {
            settle(&world);
        }
        world.rank[7].is_dead = false;
        for (int tries = 0; tries < 3 && !world.rank[7].is_running; tries++) {
            for (uint32_t i = 0; i < 8; i++) {
                world.rank[i].failure = TRIB_OK; /* its dead session may still have its place: it comes again */
                if (!world.rank[i].wire) {
                    rank_connect(&world, &world.rank[i]);
                }
            }
            tick(&world, SHORT);
        }
        assert_true(all_run(&world, 1));
        world_end(&world);
    }
}

static void abort__text_reaches_all(void **state)
{
    (void)state;
    struct world world;
    tree_make(&world, 1, 8);
    tree_run(&world);
    const struct trib_message message = {.kind = TRIB_MESSAGE_ABORT, .fail = {TRIB_ERR_ABORTED, "loss is NaN"}};
    rank_send(&world.rank[7], &message);
    world.rank[7].is_dead = true;
    settle(&world);
    for (uint32_t i = 0; i < 7; i++) {
        assert_string_equal(world.rank[i].text, "rank 7 (10.1.0.7:40007) is gone: it aborted: loss is NaN");
    }
    world_end(&world);
}

/* Each rank has a sender key of its own, and knows which switch it sends to. */
static void check_keys(const struct world *world, bool is_set)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        const struct trib_sender_keys *auth = &world->rank[i].auth;
        assert_int_equal(trib_auth_is_set(auth->own), is_set);
        assert_int_equal(trib_auth_is_set(auth->heard), is_set);
        assert_int_equal(auth->parent != 0, is_set && i % 4 != 0); /* 0 and 4 are at the root */
        for (uint32_t k = 0; k < i && is_set; k++) {
            assert_memory_not_equal(auth->own, world->rank[k].auth.own, TRIB_AUTH_KEY);
            bool is_same = memcmp(auth->heard, world->rank[k].auth.heard, TRIB_AUTH_KEY) == 0;
            assert_int_equal(is_same, auth->parent == world->rank[k].auth.parent);
        }
    }
}

/* Numbers of packets begin anew in each incarnation: with the key of before, two packets would have one one-time key. */
static void lost__packets_have_another_key_afterwards(void **state)
{
    (void)state;
    for (unsigned victim = 0; victim < 4; victim++) {
        struct world world;
        tree_make(&world, victim, 8);
        for (uint32_t i = 0; i < 8 && victim != 3; i++) {
            world.rank[i].join.join.key = 0x1234;
        }
        tree_run(&world);
        check_keys(&world, victim != 3);
        const struct trib_sender_keys before = world.rank[0].auth;
        node_kill(&world.node[victim], false);
        node_restart(&world.node[victim]);
        tick(&world, 2 * TRIB_SECOND_NS);
        assert_true(all_are_back(&world) && all_run(&world, 2));
        check_keys(&world, victim != 3);
        assert_int_equal(memcmp(before.own, world.rank[0].auth.own, TRIB_AUTH_KEY) != 0, victim != 3);
        assert_int_equal(memcmp(before.heard, world.rank[0].auth.heard, TRIB_AUTH_KEY) != 0, victim != 3);
        world_end(&world);
    }
}

/* Each of the four switches, alone and in pairs; all ranks come back under one new boot id, and go on. */
static void lost__switches_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS * 4; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        for (uint32_t i = 0; i < 8; i++) {
            world.rank[i].mark = 50 + i;
        }
        unsigned mask = 1 + (unsigned)(seed % 15);
        uint32_t boot = world.rank[0].boot;
        for (unsigned i = 0; i < 4; i++) {
            if (mask >> i & 1) {
                node_kill(&world.node[i], false);
                for (uint64_t moves = 0; moves < seed % 5; moves++) {
                    (void)move_one(&world);
                }
            }
        }
        if (seed % 3 == 0) {
            tick(&world, SHORT);
        }
        for (unsigned i = 0; i < 4; i++) {
            if (mask >> i & 1) {
                node_restart(&world.node[i]);
            }
        }
        tick(&world, 2 * TRIB_SECOND_NS);
        if (!all_are_back(&world) || !all_run(&world, 2)) {
            fail_msg("seed %llu, switches %x", (unsigned long long)seed, mask);
        }
        assert_int_not_equal(world.rank[0].boot, boot);
        for (unsigned i = 0; i < 4; i++) {
            const struct recorder *r = &world.node[i].recorder;
            assert_int_equal(r->boot, world.rank[0].boot);
            assert_int_equal(r->opens, r->closes + 1);
            assert_int_equal(r->communicator, world.node[0].recorder.communicator);
        }
        assert_int_equal(world.node[3].recorder.marks[7], 57);
        assert_int_equal(world.node[0].recorder.marks[7], 57);
        assert_int_equal(world.rank[0].m, 50);
        world_end(&world);
    }
}

/* At any moment of getting in, too. */
static void lost__switches_come_back_while_ranks_join(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS * 4; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        for (uint32_t i = 0; i < 8; i++) {
            rank_connect(&world, &world.rank[i]);
        }
        unsigned victim = (unsigned)(seed % 4);
        for (uint64_t moves = 0; moves < 2 * (seed / 4); moves++) {
            (void)move_one(&world);
        }
        node_kill(&world.node[victim], false);
        if (seed % 3 == 0) {
            settle(&world);
        }
        node_restart(&world.node[victim]);
        for (int tries = 0; tries < 3; tries++) {
            tick(&world, 2 * TRIB_SECOND_NS);
            for (uint32_t i = 0; i < 8; i++) {
                if (world.rank[i].failure == TRIB_ERR_REFUSED) { /* its dead session had its place, or the name */
                    world.rank[i].failure = TRIB_OK;
                }
            }
        }
        if (!all_are_back(&world)) {
            fail_msg("seed %llu, switch %u", (unsigned long long)seed, victim);
        }
        world_end(&world);
    }
}

/* What they are told: test_uplinks.c. */
static void away__all_go_on_trying(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        node_kill(&world.node[0], false);
        tick(&world, TRIB_SECOND_NS);
        for (uint32_t i = 0; i < 8; i++) {
            assert_false(world.rank[i].is_running);
            assert_int_equal(world.rank[i].failure, TRIB_OK);
            assert_true(world.rank[i].aways > 3 || i % 4 == 0);
        }
        for (unsigned i = 1; i < 4; i++) { /* A7: what the lost controller had opened is shut */
            assert_null(world.node[i].leaf.masters.lendings);
            assert_int_equal(world.node[i].recorder.opens, world.node[i].recorder.closes);
        }
        world_end(&world);
    }
}

static void lost__for_good_is_named_to_those_who_came_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        unsigned victim = 1 + (unsigned)(seed % 3);
        node_kill(&world.node[victim], false);
        tick(&world, 40 * TRIB_SECOND_NS);
        char want[96];
        snprintf(want, sizeof want, "switch 10.0.0.%u:7470 is lost (its session closed): waited 30 s for ranks ",
                 victim + 1);
        for (uint32_t i = 0; i < 8; i++) {
            if (i % 4 == victim) {
                assert_false(world.rank[i].is_running); /* it has nobody to ask */
            } else if (victim == 2 && i % 4 == 3) {
                assert_true(world.rank[i].aways > 3);
            } else {
                assert_int_equal(world.rank[i].failure, TRIB_ERR_TIMEOUT);
                assert_memory_equal(world.rank[i].text, want, strlen(want));
            }
        }
        world_end(&world);
    }
}

/* Its machine lost its power: no connection ends. The ranks behind it come back by themselves, and that tells of it. */
static void lost__without_a_word_of_its_kernel(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        unsigned victim = 1 + (unsigned)(seed % 3);
        node_kill(&world.node[victim], true);
        tick(&world, TRIB_SECOND_NS);
        assert_true(world.rank[0].is_running); /* who waits, waits: silence is only lateness */
        node_restart(&world.node[victim]);
        notice_silence(&world, &world.node[victim]);
        tick(&world, 2 * TRIB_SECOND_NS);
        assert_true(all_run(&world, 2));
        world_end(&world);
    }
}

/* The same before all have joined: the places of its ranks are free again, as soon as they come. */
static void lost__without_a_word_while_ranks_join(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        struct node *home = world.rank[0].home;
        world.rank[0].home = NULL; /* it comes last */
        for (uint32_t i = 1; i < 8; i++) {
            rank_connect(&world, &world.rank[i]);
        }
        tick(&world, SHORT);
        struct node *victim = &world.node[1 + seed % 3];
        node_kill(victim, true);
        tick(&world, TRIB_SECOND_NS);
        node_restart(victim);
        notice_silence(&world, victim);
        if (seed % 2) { /* one that has not come back yet has no place */
            world.rank[7].home = NULL;
        }
        tick(&world, TRIB_SECOND_NS);
        world.rank[0].home = home;
        for (int tries = 0; tries < 3; tries++) {
            tick(&world, TRIB_SECOND_NS);
            world.rank[7].home = &world.node[3];
        }
        assert_true(all_run(&world, 1));
        world_end(&world);
    }
}

/* Who comes back with other settings meets nothing of those that are dead. */
static void lost__without_a_word_and_launched_anew(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        rank_connect(&world, &world.rank[1]);
        rank_connect(&world, &world.rank[5]);
        settle(&world);
        node_kill(&world.node[1], true);
        node_restart(&world.node[1]);
        notice_silence(&world, &world.node[1]);
        for (uint32_t i = 0; i < 8; i++) {
            world.rank[i].join.join.settings.payload = 1024;
        }
        rank_connect(&world, &world.rank[1]);
        rank_connect(&world, &world.rank[5]);
        settle(&world);
        tick(&world, TRIB_SECOND_NS);
        assert_true(all_run(&world, 1));
        world_end(&world);
    }
}

static void stop__of_a_switch_is_told_to_all(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        unsigned victim = (unsigned)(seed % 4);
        if (victim == 0) {
            trib_jobs_deinit(&world.node[0].jobs, TRIB_ERR_SWITCH, "the switch is shutting down");
        } else {
            const struct trib_message bye = {.kind = TRIB_MESSAGE_BYE,
                                             .fail = {TRIB_ERR_SWITCH, "the switch is shutting down"}};
            tell_above(&world.node[victim], &bye);
        }
        settle(&world);
        for (uint32_t i = 0; i < 8; i++) {
            assert_int_equal(world.rank[i].failure, TRIB_ERR_SWITCH);
            assert_non_null(strstr(world.rank[i].text, "shutting down"));
            if (i == 0 && victim != 0) {
                assert_string_equal(world.rank[i].text, "the switch is shutting down"); /* server.c says which */
            }
        }
        world_end(&world);
    }
}

/* Of a job that gathers, the ranks that came over it leave; the others wait for them to come again. */
static void stop__of_a_switch_while_ranks_join(void **state)
{
    const struct trib_message bye = {.kind = TRIB_MESSAGE_BYE,
                                     .fail = {TRIB_ERR_SWITCH, "the switch is shutting down"}};
    (void)state;
    for (unsigned victim = 1; victim < 4; victim++) {
        struct world world;
        tree_make(&world, victim, 8);
        for (uint32_t i = 0; i < 7; i++) {
            rank_connect(&world, &world.rank[i]);
        }
        world.rank[7].is_dead = true;
        settle(&world);
        tell_above(&world.node[victim], &bye);
        settle(&world);
        for (uint32_t i = 0; i < 7; i++) {
            bool is_over = i % 4 == victim || (victim == 2 && i % 4 == 3);
            assert_int_equal(world.rank[i].failure, is_over ? TRIB_ERR_SWITCH : TRIB_OK);
            world.rank[i].failure = TRIB_OK;
        }
        world.rank[7].is_dead = false;
        tick(&world, TRIB_SECOND_NS);
        assert_true(all_run(&world, 1));
        world_end(&world);
    }
}

/* Ranks die, switches die and come back, at random; in the end either all run under one boot id, or all that live have
 * heard of a death that there was. */
static void random__deaths_and_restarts(void **state)
{
    (void)state;
    unsigned survived = 0;
    unsigned failed = 0;
    for (uint64_t seed = 0; seed < 1500; seed++) {
        struct world world;
        struct trib_prng prng = {.state = seed + 77};
        tree_make(&world, seed, 8);
        tree_run(&world);
        bool has_death = false;
        for (unsigned event = 0; event < 6; event++) {
            unsigned what = (unsigned)trib_prng_below(&prng, 10);
            struct node *node = &world.node[trib_prng_below(&prng, 4)];
            struct rank *rank = &world.rank[trib_prng_below(&prng, 8)];
            if (what == 0) {
                rank_kill(rank);
                has_death = true;
            } else if (what < 5 && !node->is_dead) {
                node_kill(node, false);
            } else if (node->is_dead) {
                node_restart(node);
            } else if (what < 8 && rank->is_running) {
                rank->mark++;
                rank_say(rank, TRIB_MESSAGE_MARK);
            }
            for (uint64_t moves = trib_prng_below(&prng, 40); moves > 0; moves--) {
                (void)move_one(&world);
            }
            if (trib_prng_below(&prng, 3) == 0) {
                tick(&world, SHORT);
            }
        }
        for (unsigned i = 0; i < 4; i++) {
            if (world.node[i].is_dead) {
                node_restart(&world.node[i]);
            }
        }
        tick(&world, 3 * TRIB_SECOND_NS);
        tick(&world, 60 * TRIB_SECOND_NS);
        if (!has_death) {
            for (uint32_t i = 0; i < 8; i++) {
                if (!world.rank[i].is_running || world.rank[i].boot != world.rank[0].boot) {
                    fail_msg("seed %llu: rank %u: running %d, failure %d: %s", (unsigned long long)seed, i,
                             world.rank[i].is_running, (int)world.rank[i].failure, world.rank[i].text);
                }
            }
            survived++;
        } else {
            for (uint32_t i = 0; i < 8; i++) {
                if (!world.rank[i].is_dead && world.rank[i].failure != TRIB_ERR_PEER &&
                    world.rank[i].failure != TRIB_ERR_TIMEOUT && world.rank[i].failure != TRIB_ERR_REFUSED) {
                    fail_msg("seed %llu: rank %u: running %d, failure %d: %s", (unsigned long long)seed, i,
                             world.rank[i].is_running, (int)world.rank[i].failure, world.rank[i].text);
                }
            }
            failed++;
        }
        world_end(&world);
    }
    print_message("%u went on, %u were told of a death\n", survived, failed);
    assert_true(survived > 300 && failed > 300);
}

static uint32_t boot_of(const struct world *world)
{
    return world->node[0].jobs.first->grant.boot;
}

/* The session of a rank that came to a switch below, and has not heard WELCOME yet. NULL: there is none with this
 * number. */
static struct wire *find_session(struct world *world, uint64_t number)
{
    for (struct wire *wire = world->wires; wire; wire = wire->next) {
        if (wire->rank && wire->over && !wire->is_deaf[UP] && wire->rank->join.join.known.boot != boot_of(world) &&
            number-- == 0) {
            return wire;
        }
    }
    return NULL;
}

/* All ranks come, until the job has them all, and their WELCOMEs are under way. */
static void join_all(struct world *world)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        rank_connect(world, &world->rank[i]);
    }
    while (!world->node[0].jobs.first || world->node[0].jobs.first->state != TRIB_JOB_STARTING) {
        assert_true(move_one(world));
    }
}

/* Then one session breaks, of which its upper end has not heard. */
static bool join_and_cut(struct world *world, uint64_t number)
{
    join_all(world);
    struct wire *wire = find_session(world, number);
    if (wire) {
        wire->is_deaf[UP] = wire->has_ended[UP] = true;
        rank_lost(wire->rank);
    }
    tick(world, TRIB_SECOND_NS);
    return wire != NULL;
}

/* Its rank comes again, with no grant or with one of before the root restarted: its old session is dead, and nobody is
 * refused. */
static void lost__one_session_before_its_WELCOME(void **state)
{
    (void)state;
    uint32_t cuts = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        cuts += join_and_cut(&world, seed % 8);
        assert_true(all_are_back(&world));
        node_kill(&world.node[0], false);
        settle(&world);
        node_restart(&world.node[0]);
        cuts += join_and_cut(&world, seed / 3 % 8);
        assert_true(all_are_back(&world));
        world_end(&world);
    }
    assert_true(cuts > SEEDS);
}

/* Then a switch loses its power, of which its parent has not heard, and is back: what it says buries its old sessions. */
static void lost__without_a_word_before_its_WELCOME(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        struct node *victim = &world.node[1 + seed % 3];
        join_all(&world);
        node_kill(victim, true);
        notice_silence(&world, victim);
        node_restart(victim);
        tick(&world, TRIB_SECOND_NS);
        assert_true(all_are_back(&world));
        world_end(&world);
    }
}

/* Packets of that size have passed before, so the parent may stand still. */
static void paths__that_have_passed_before_are_tried_for_longer(void **state)
{
    (void)state;
    for (uint32_t size = 1344; size <= 1408; size += 64) {
        struct world world;
        tree_make(&world, 1, 8);
        world.node[3].recorder.parent_answers = false;
        for (uint32_t i = 0; i < world.ranks; i++) {
            rank_connect(&world, &world.rank[i]);
        }
        settle(&world);
        world.node[3].leaf.agent.passed = size;
        tick(&world, 3 * TRIB_SECOND_NS);
        assert_int_equal(world.rank[0].failure, size == 1408 ? TRIB_OK : TRIB_ERR_UNREACHABLE);
        tick(&world, 20 * TRIB_SECOND_NS);
        assert_int_equal(world.rank[0].failure, TRIB_ERR_UNREACHABLE);
        world_end(&world);
    }
}

int main(void)
{
    trib_log_set_default(TRIB_LOG_NONE); /* thousands of jobs end here, as they should */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(death__of_a_rank_is_told_with_its_address),
        cmocka_unit_test(death__beside_a_switch_is_named_soon),
        cmocka_unit_test(lost__after_a_recall_is_waited_for),
        cmocka_unit_test(death__before_the_start),
        cmocka_unit_test(abort__text_reaches_all),
        cmocka_unit_test(lost__packets_have_another_key_afterwards),
        cmocka_unit_test(lost__switches_come_back),
        cmocka_unit_test(lost__switches_come_back_while_ranks_join),
        cmocka_unit_test(away__all_go_on_trying),
        cmocka_unit_test(lost__for_good_is_named_to_those_who_came_back),
        cmocka_unit_test(lost__without_a_word_of_its_kernel),
        cmocka_unit_test(lost__without_a_word_while_ranks_join),
        cmocka_unit_test(lost__without_a_word_and_launched_anew),
        cmocka_unit_test(lost__one_session_before_its_WELCOME),
        cmocka_unit_test(lost__without_a_word_before_its_WELCOME),
        cmocka_unit_test(stop__of_a_switch_is_told_to_all),
        cmocka_unit_test(stop__of_a_switch_while_ranks_join),
        cmocka_unit_test(paths__that_have_passed_before_are_tried_for_longer),
        cmocka_unit_test(random__deaths_and_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
