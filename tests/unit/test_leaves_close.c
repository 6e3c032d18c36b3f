/* SPDX-License-Identifier: Apache-2.0 */
/* test_leaves_close.c: trees of switches in which ranks have sent CLOSE, or are about to, when a switch below or the
 * controller's dies, or they lose their session. Who has closed troubles nobody, and hears CLOSED when nobody needs it; if
 * it is needed, it is named. test_leaves_faults.c has ranks that go on. */
#include "control/jobs/jobs.h"
#include "leaves_harness.h"

#include "io/log.h"

#define SEEDS 60
#define SHORT (100 * TRIB_MILLISECOND_NS)

static void assert_nothing_is_open(const struct world *world)
{
    assert_null(world->node[0].jobs.first);
    for (unsigned i = 1; i < world->nodes; i++) {
        assert_null(world->node[i].leaf.masters.lendings);
    }
}

/* Nobody has to hear that all had closed when it is over anyway; but nothing may stay. */
static void close__while_a_switch_dies(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS * 4; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        for (uint32_t i = 0; i < 8; i++) {
            rank_say(&world.rank[i], TRIB_MESSAGE_CLOSE);
        }
        for (uint64_t moves = 0; moves < seed; moves++) {
            (void)move_one(&world);
        }
        node_kill(&world.node[1 + seed % 3], false);
        settle(&world);
        for (uint32_t i = 0; i < 8; i++) {
            if (!world.rank[i].is_closed) {
                rank_kill(&world.rank[i]); /* its linger is over */
            }
        }
        tick(&world, 40 * TRIB_SECOND_NS);
        assert_nothing_is_open(&world);
        world_end(&world);
    }
}

/* Rank 1 and rank 5 come to one switch; who of them has sent CLOSE waits for CLOSED. */
static void closing_world(struct world *world, uint64_t seed, bool both)
{
    tree_make(world, seed, 8);
    tree_run(world);
    for (uint32_t i = both ? 1 : 5; i < 8; i += 4) {
        world->rank[i].mark = 100;
        rank_say(&world->rank[i], TRIB_MESSAGE_CLOSE);
    }
    settle(world);
    assert_false(world->rank[5].is_closed);
}

/* Whose CLOSE was not answered comes back through a lost switch, like everybody, if others came over it too: it has not
 * left. */
static void close__of_a_rank_that_comes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        closing_world(&world, seed, false);
        node_kill(&world.node[1], false);
        tick(&world, 5 * TRIB_SECOND_NS);
        node_restart(&world.node[1]);
        tick(&world, 2 * TRIB_SECOND_NS);
        assert_true(all_run(&world, 2));
        world_end(&world);
    }
}

static void mark_all_but(struct world *world, uint32_t home)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        if (i % 4 != home) {
            world->rank[i].mark = 100;
            rank_say(&world->rank[i], TRIB_MESSAGE_MARK);
        }
    }
}

static void assert_others_run(const struct world *world, uint32_t home, unsigned readies)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        if (i % 4 != home) {
            assert_true(world->rank[i].is_running);
            assert_int_equal(world->rank[i].readies, readies);
        }
    }
}

/* If only closing ranks came over the lost switch, nobody needs them, nor it: they hear CLOSED when their marks have
 * passed, and the others run on. One of the two may have gone meanwhile; the other may come before the marks pass, or
 * after. */
static void close__behind_a_lost_switch_troubles_nobody(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        bool has_power = seed % 5 != 0;
        closing_world(&world, seed, true);
        node_kill(&world.node[1], !has_power);
        if (seed % 2) {
            mark_all_but(&world, 1);
        }
        settle(&world);
        node_restart(&world.node[1]);
        if (!has_power) {
            notice_silence(&world, &world.node[1]);
        }
        if (seed % 3) {
            rank_kill(&world.rank[1]); /* its linger is over */
        }
        tick(&world, 5 * TRIB_SECOND_NS);
        assert_int_equal(world.rank[5].is_closed, seed % 2);
        assert_int_equal(world.rank[5].aways, 0);
        assert_others_run(&world, 1, 1);
        mark_all_but(&world, 1);
        tick(&world, 40 * TRIB_SECOND_NS);
        assert_true(world.rank[5].is_closed);
        assert_int_equal(world.rank[5].failure, TRIB_OK);
        assert_int_equal(world.rank[1].is_closed, seed % 3 == 0);
        assert_others_run(&world, 1, 1);
        assert_int_equal(world.node[0].jobs.stats.recalled, 0);
        for (uint32_t i = 0; i < 8; i++) {
            rank_say(&world.rank[i], TRIB_MESSAGE_CLOSE);
        }
        settle(&world);
        assert_null(world.node[0].jobs.first);
        assert_int_equal(world.node[0].jobs.stats.closed, 1);
        world_end(&world);
    }
}

/* Who waits outside is told nothing but CLOSED, comes back with the others if another switch is lost, and may give up
 * waiting. */
static void close__who_waits_outside_comes_back_with_all(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        const uint32_t differ[2] = {1, 4};
        closing_world(&world, seed, true);
        node_kill(&world.node[1], false);
        settle(&world);
        node_restart(&world.node[1]);
        tick(&world, SHORT);
        if (seed % 3 == 2) {
            trib_jobs_mismatch(&world.node[0].jobs, world.node[0].recorder.communicator, 17, differ, world.now_ns);
            tick(&world, 2 * TRIB_SECOND_NS);
            assert_int_equal(world.rank[0].failure, TRIB_ERR_MISMATCH);
            assert_true(world.rank[1].is_closed && world.rank[5].is_closed);
            world_end(&world);
            continue;
        }
        if (seed % 3 == 1) {
            rank_kill(&world.rank[5]);
            tick(&world, SHORT);
        }
        node_kill(&world.node[2], false);
        tick(&world, SHORT);
        node_restart(&world.node[2]);
        tick(&world, 10 * TRIB_SECOND_NS);
        if (seed % 3 == 0) {
            assert_true(all_run(&world, world.rank[1].readies));
            assert_others_run(&world, 1, 2);
        } else {
            assert_non_null(strstr(world.rank[0].text,
                                   ", after ranks 1, 5 had closed at sequence 100: waited 2.1 s for rank 5 of "));
        }
        world_end(&world);
    }
}

/* It has closed, does not come back with its switch, and nobody knew that it would not. */
static void close__of_a_rank_that_is_waited_for_is_named(void **state)
{
    (void)state;
    struct world world;
    closing_world(&world, 1, false);
    node_kill(&world.node[1], false);
    settle(&world);
    rank_kill(&world.rank[5]);
    node_restart(&world.node[1]);
    tick(&world, 40 * TRIB_SECOND_NS);
    assert_non_null(
        strstr(world.rank[0].text, ", after rank 5 had closed at sequence 100: waited 30 s for rank 5 of job digits"));
    world_end(&world);
}

/* Eight ranks run again, but for one that had closed and is gone: they close, and nothing is left anywhere. */
static void all_close_but(struct world *w, const struct rank *leaver)
{
    for (uint32_t i = 0; i < 8; i++) {
        struct rank *rank = &w->rank[i];
        assert_true(rank == leaver || (rank->is_running && rank->readies == 2 && rank->failure == TRIB_OK));
        rank->mark = 100;
        rank_say(rank, TRIB_MESSAGE_CLOSE);
    }
    settle(w);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(w->rank[i].is_closed, &w->rank[i] != leaver);
    }
    assert_nothing_is_open(w);
}

/* It had closed, comes back like all, and does not answer its WELCOME: it waits for the others no longer. What it has
 * left to say is said for it. The switch at the top restarts, or a lower one; its CLOSE comes before WELCOME or
 * behind it. */
static void close__of_a_rank_that_leaves_before_ready(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        struct rank *leaver = &world.rank[4 + seed % 4];
        leaver->mark = 100;
        leaver->is_quiet = true;
        node_kill(&world.node[seed / 4 % 4], false);
        settle(&world);
        node_restart(&world.node[seed / 4 % 4]);
        if (!leaver->wire) {
            rank_connect(&world, leaver);
            rank_say(leaver, TRIB_MESSAGE_CLOSE);
        } else if (leaver->last.kind == TRIB_MESSAGE_RECALL) {
            rank_send(leaver, &leaver->join);
            rank_say(leaver, TRIB_MESSAGE_CLOSE);
        }
        tick(&world, SHORT);
        tick(&world, SHORT);
        assert_int_equal(leaver->last.kind, TRIB_MESSAGE_WELCOME);
        assert_int_equal(world.rank[0].readies, 1);
        rank_say(leaver, TRIB_MESSAGE_CLOSE);
        settle(&world);
        rank_kill(leaver);
        tick(&world, SHORT);
        all_close_but(&world, leaver);
        world_end(&world);
    }
}

/* It had closed, and leaves while switches open their roots, or its WELCOME is under way: what it has left to say is said
 * for it then. If another rank has not come yet, it only gives its place up, and is waited for. */
static void close__of_a_rank_that_leaves_before_its_welcome(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        struct rank *leaver = &world.rank[5 + seed % 3];
        struct rank *late = &world.rank[0];
        leaver->mark = 100;
        leaver->is_quiet = true;
        node_kill(&world.node[0], false);
        settle(&world);
        node_restart(&world.node[0]);
        leaver->is_dead = true; /* it comes last, or before one other */
        late->is_dead = seed % 2 == 0;
        tick(&world, SHORT);
        rank_connect(&world, leaver);
        rank_say(leaver, TRIB_MESSAGE_CLOSE);
        const struct trib_session *session = &leaver->wire->session;
        while (!session->job || !session->job->ranks[session->rank].is_closing) {
            assert_true(move_one(&world));
        }
        for (uint64_t moves = 0; moves < seed / 2; moves++) {
            (void)move_one(&world);
        }
        rank_kill(leaver);
        settle(&world);
        late->is_dead = false;
        if (seed % 2 == 0) {
            char want[64];
            (void)snprintf(want, sizeof want, "waited 31 s for rank %u of job digits", (unsigned)(leaver - world.rank));
            tick(&world, 31 * TRIB_SECOND_NS);
            if (!strstr(late->text, want)) {
                fail_msg("seed %u: \"%s\"", (unsigned)seed, late->text);
            }
        } else {
            tick(&world, SHORT);
            all_close_but(&world, leaver);
        }
        world_end(&world);
    }
}

/* All come back after a restart of the switch at the top, those that closed say so again, and READY waits for rank 0.
 * is_early: those that closed have not registered either. */
static void starting_world(struct world *world, uint64_t seed, const uint32_t *closing, uint32_t count, bool is_early)
{
    tree_make(world, seed, 8);
    tree_run(world);
    world->rank[0].is_quiet = true;
    node_kill(&world->node[0], false);
    settle(world);
    node_restart(&world->node[0]);
    for (uint32_t i = 0; i < count; i++) {
        struct rank *rank = &world->rank[closing[i]];
        rank->mark = 100;
        rank->is_quiet = is_early;
        rank_connect(world, rank);
        rank_say(rank, TRIB_MESSAGE_CLOSE);
    }
    tick(world, SHORT);
    assert_int_equal(world->rank[0].last.kind, TRIB_MESSAGE_WELCOME);
    for (uint32_t i = 0; i < count; i++) {
        struct rank *rank = &world->rank[closing[i]];
        rank->is_quiet = false;
        if (is_early && seed % 4 < 2) { /* else its WELCOME is lost with its session */
            assert_int_equal(rank->last.kind, TRIB_MESSAGE_WELCOME);
            rank->join.join.known = rank->last.welcome.grant;
        }
    }
}

/* It had closed, and its session is lost before READY: it comes back, and needs nothing but CLOSED. The end of its session
 * was seen, or not, and it had registered, or not; or its switch was lost, with all that came over it. */
static void close__of_a_rank_that_comes_back_before_ready(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        static const uint32_t at_root[] = {4};
        static const uint32_t below[] = {1, 5};
        struct world world;
        const uint32_t *closing = seed % 3 < 2 ? at_root : below;
        uint32_t count = seed % 3 < 2 ? 1 : 2;
        starting_world(&world, seed, closing, count, seed % 6 < 2);
        struct rank *rank = &world.rank[4];
        if (seed % 3 == 2) {
            node_kill(&world.node[1], false);
            settle(&world);
            node_restart(&world.node[1]);
        } else if (seed % 3 == 1) {
            rank->wire->has_ended[UP] = rank->wire->is_deaf[UP] = true;
            rank_lost(rank);
        } else {
            push_end(rank->wire, UP);
            rank->wire->is_deaf[UP] = true;
            rank_lost(rank);
            settle(&world);
        }
        tick(&world, SHORT);
        for (uint32_t i = 0; i < count; i++) { /* one that was seen to leave waits for nobody */
            assert_int_equal(world.rank[closing[i]].is_closed, seed % 3 == 0);
            assert_int_equal(world.rank[closing[i]].failure, TRIB_OK);
        }
        world.rank[0].is_quiet = false;
        rank_answer(&world.rank[0], &world.rank[0].last);
        tick(&world, SHORT);
        for (uint32_t i = 0; i < 8; i++) {
            struct rank *other = &world.rank[i];
            bool has_closed = i == closing[0] || i == closing[count - 1];
            assert_int_equal(other->readies, has_closed ? 1 : 2);
            assert_int_equal(other->is_closed, has_closed && seed % 3 == 0);
            if (!has_closed) {
                other->mark = 100;
                rank_say(other, TRIB_MESSAGE_MARK);
            }
        }
        tick(&world, SHORT);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(world.rank[closing[i]].is_closed);
        }
        assert_int_equal(world.node[0].jobs.stats.recalled, 0);
        world_end(&world);
    }
}

/* READY waits for a switch below alone, all of whose ranks have closed. That switch is lost: nobody waits for it any
 * more. */
static void close__behind_a_switch_that_is_lost_before_ready(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        tree_make(&world, seed, 8);
        tree_run(&world);
        uint32_t first = seed % 2 == 0 ? 1 : 2; /* 2 carries 3, which READY waits for */
        uint32_t last = seed % 2 == 0 ? 1 : 3;
        world.node[last].recorder.parent_answers = false;
        node_kill(&world.node[0], false);
        settle(&world);
        node_restart(&world.node[0]);
        for (uint32_t i = 0; i < 8; i++) {
            world.rank[i].mark = 100;
            if (i % 4 >= first && i % 4 <= last) {
                rank_connect(&world, &world.rank[i]);
                rank_say(&world.rank[i], TRIB_MESSAGE_CLOSE);
            }
        }
        tick(&world, SHORT);
        assert_int_equal(world.rank[0].last.kind, TRIB_MESSAGE_WELCOME);
        node_kill(&world.node[first], false);
        settle(&world);
        assert_true(world.rank[0].is_running && world.rank[0].readies == 2);
        node_restart(&world.node[first]);
        for (uint32_t i = 0; i < 8; i++) {
            if (i % 4 < first || i % 4 > last) {
                rank_say(&world.rank[i], TRIB_MESSAGE_MARK);
            }
        }
        tick(&world, SHORT);
        for (uint32_t i = 0; i < 8; i++) {
            assert_int_equal(world.rank[i].is_closed, i % 4 >= first && i % 4 <= last);
        }
        assert_int_equal(world.node[0].jobs.stats.recalled, 0);
        world_end(&world);
    }
}

/* What a rank cannot have finished is not registered for it. */
static void close__beyond_every_sequence(void **state)
{
    struct world world;
    (void)state;
    tree_make(&world, 1, 8);
    tree_run(&world);
    struct rank *rank = &world.rank[5];
    rank->is_quiet = true;
    node_kill(&world.node[0], false);
    settle(&world);
    node_restart(&world.node[0]);
    tick(&world, SHORT);
    assert_int_equal(rank->last.kind, TRIB_MESSAGE_WELCOME);
    rank->mark = TRIB_SEQUENCE_MAX + 1;
    rank_say(rank, TRIB_MESSAGE_CLOSE);
    settle(&world);
    assert_int_equal(rank->home->recorder.marks[5], 0);
    assert_int_equal(world.rank[0].failure, TRIB_ERR_PEER);
    world_end(&world);
}

/* It did not wait: its switch says that it is gone. What it had is gone with it, so that nobody waits for it for
 * long. */
static void close__of_a_rank_that_has_left(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        closing_world(&world, seed, false);
        rank_kill(&world.rank[5]);
        settle(&world);
        assert_true(world.rank[0].is_running);
        node_kill(&world.node[1 + seed % 3], false);
        tick(&world, 10 * TRIB_SECOND_NS);
        assert_int_equal(world.rank[0].failure, TRIB_ERR_TIMEOUT);
        assert_non_null(strstr(world.rank[0].text, ", after rank 5 had closed at sequence 100: waited 2 s for ranks "));
        world_end(&world);
    }
}

int main(void)
{
    trib_log_set_default(TRIB_LOG_NONE); /* hundreds of jobs end here, as they should */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close__while_a_switch_dies),
        cmocka_unit_test(close__of_a_rank_that_comes_back),
        cmocka_unit_test(close__behind_a_lost_switch_troubles_nobody),
        cmocka_unit_test(close__who_waits_outside_comes_back_with_all),
        cmocka_unit_test(close__of_a_rank_that_is_waited_for_is_named),
        cmocka_unit_test(close__of_a_rank_that_leaves_before_ready),
        cmocka_unit_test(close__of_a_rank_that_leaves_before_its_welcome),
        cmocka_unit_test(close__of_a_rank_that_comes_back_before_ready),
        cmocka_unit_test(close__behind_a_switch_that_is_lost_before_ready),
        cmocka_unit_test(close__beyond_every_sequence),
        cmocka_unit_test(close__of_a_rank_that_has_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
