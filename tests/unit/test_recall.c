/* SPDX-License-Identifier: Apache-2.0 */
/* test_recall.c: an incarnation ends, and the ranks whose sessions stand answer RECALL with JOIN on them: what had
 * crossed it has no effect, nobody holds up the others for longer than before, and a place is its rank's. Mirrors
 * src/control/jobs/recall.c; the rank's side is test_comm_recall.c's. */
#include "control/jobs/jobs.h"
#include "switches_harness.h"

/* Its lender is lost, and is there again. */
static void recall(struct switches *s)
{
    s->lender[0].is_away = true;
    run_links(s);
    s->lender[0].is_away = false;
    s->h.now_ns += 100 * TRIB_MILLISECOND_NS;
    run_links(s);
}

static struct trib_message join_again(const struct switches *s, uint32_t rank)
{
    struct trib_message join = join_of(rank, 2);
    join.join.known = s->h.process[rank].welcome.welcome.grant;
    join.join.was_ready = s->h.process[rank].readies > 0;
    return join;
}

static void say_again(struct switches *s, uint32_t rank)
{
    const struct trib_message join = join_again(s, rank);
    assert_true(say(&s->h, rank, &join));
    run_links(s);
}

/* All that a rank may say had been under way. */
static void crossed__has_no_effect(void **state)
{
    const struct trib_message words[] = {{.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = false}},
                                         {.kind = TRIB_MESSAGE_REGISTER, .mark = {5}},
                                         {.kind = TRIB_MESSAGE_MARK, .mark = {7}},
                                         {.kind = TRIB_MESSAGE_CLOSE, .mark = {9}},
                                         {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 9}},
                                         {.kind = TRIB_MESSAGE_OPERATION, .operation = {.sequence = 9}},
                                         {.kind = TRIB_MESSAGE_GONE, .note = {.is_lost = true}},
                                         {.kind = TRIB_MESSAGE_DISPUTE},
                                         {.kind = TRIB_MESSAGE_ROOT_READY}};
    const uint32_t count = sizeof words / sizeof words[0];
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    uint32_t heard[2] = {s->h.process[0].arrived, s->h.process[1].arrived};
    for (uint32_t i = 0; i < count; i++) {
        assert_true(say(&s->h, 0, &words[i]));
        assert_int_equal(s->h.jobs.stats.stale, i + 1);
    }
    assert_int_equal(s->h.process[0].arrived, heard[0]);
    assert_int_equal(s->h.process[1].arrived, heard[1]);
    return_ranks(s, 2);
    assert_int_equal(s->h.process[0].welcomes, 2);
    const struct trib_rank *rank = &s->h.jobs.first->ranks[0];
    assert_true(!rank->is_registered && !rank->is_closing && rank->mark == 0);
    register_ranks(s, 2, 12);
    assert_int_equal(s->h.process[1].readies, 2);
    assert_int_equal(s->h.process[1].ready.ready.mark, 12);
}

/* Nor does it count for the incarnation whose WELCOME it got then. */
static void crossed__register_is_not_of_the_next_boot(void **state)
{
    const struct trib_message paths = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = true}};
    struct switches *s = *state;
    join_ranks(s, 2);
    recall(s);
    assert_true(say(&s->h, 0, &paths));
    assert_true(say_mark(&s->h, 0, TRIB_MESSAGE_REGISTER, 0));
    return_ranks(s, 2);
    register_rank(&s->h, 1, 0);
    run_links(s);
    assert_int_equal(s->h.process[0].readies + s->h.process[1].readies, 0);
    register_rank(&s->h, 0, 0);
    run_links(s);
    assert_int_equal(s->h.process[0].readies, 1);
    assert_int_equal(s->h.process[1].ready.ready.boot, BOOT + 1);
}

static void crossed__ping_is_answered(void **state)
{
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING, .ping = {77}};
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    const struct process *p = &s->h.process[0];
    assert_true(say(&s->h, 0, &ping));
    assert_int_equal(p->inbox[p->arrived - 1].kind, TRIB_MESSAGE_PONG);
    assert_int_equal(s->h.jobs.stats.stale, 0);
}

/* No JOIN follows it. */
static void crossed__abort_gives_up_the_place(void **state)
{
    const struct trib_message abort_it = {.kind = TRIB_MESSAGE_ABORT, .fail = {TRIB_ERR_CHECK, "it is wrong"}};
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    assert_true(say(&s->h, 0, &abort_it));
    assert_true(s->h.process[0].has_ended);
    say_again(s, 1);
    tick(s, 6 * TRIB_SECOND_NS);
    expect_failed(&s->h, 1, TRIB_ERR_TIMEOUT, " for rank 0 of job digits to come back");
}

/* Back, and its own limit ends before that of the control plane. */
static void abort__of_a_rank_that_is_back_is_told_who_is_missing(void **state)
{
    const struct trib_message its_time = {.kind = TRIB_MESSAGE_ABORT, .fail = {TRIB_ERR_TIMEOUT, "its time is over"}};
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    say_again(s, 0);
    assert_true(say(&s->h, 0, &its_time));
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_TIMEOUT, "rank 1 is missing");
}

/* A mismatch that a shard had seen is of the slots that are gone: ranks do it again in the next. */
static void crossed__mismatch_asks_nobody(void **state)
{
    const uint32_t two[2] = {0, 1};
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    say_again(s, 1);
    trib_jobs_mismatch(&s->h.jobs, s->fake.session.communicator, 99, two, s->h.now_ns);
    run_links(s);
    assert_int_equal(s->h.process[0].describes + s->h.process[1].describes, 0);
    tick(s, 3 * TRIB_SECOND_NS);
    assert_int_equal(s->h.process[1].fails, 0);
}

/* It keeps its place for the whole patience of the others, and no longer. */
static void silent__is_named_in_time(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    say_again(s, 1);
    tick(s, 4 * TRIB_SECOND_NS);
    assert_int_equal(s->h.process[1].fails, 0);
    assert_true(is_recalled(s, 0));
    tick(s, 2 * TRIB_SECOND_NS);
    expect_failed(&s->h, 1, TRIB_ERR_TIMEOUT, " for rank 0 of job digits to come back");
    expect_failed(&s->h, 0, TRIB_ERR_TIMEOUT, " for rank 0 of job digits to come back");
}

static void place__is_of_who_has_the_grant(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    struct trib_message join = join_of(0, 2);
    assert_true(say(&s->h, 5, &join)); /* a stranger */
    run_links(s);
    expect_failed(&s->h, 5, TRIB_ERR_REFUSED, "job digits is coming back");
    assert_true(is_recalled(s, 0));
    join = join_again(s, 0);
    assert_true(say(&s->h, 6, &join)); /* its own new session, before the end of the old one was seen */
    assert_true(s->h.process[0].has_ended);
    say_again(s, 1);
    assert_int_equal(s->h.process[6].welcomes, 1);
    assert_int_equal(s->h.process[1].welcomes, 2);
}

/* The session breaks after all. */
static void place__after_the_session_has_ended(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    go(&s->h, 0);
    assert_int_equal(s->h.jobs.count, 1);
    assert_int_equal(s->h.process[1].fails, 0);
    return_ranks(s, 2);
    assert_int_equal(s->h.process[0].welcomes, 2);
    register_ranks(s, 2, 0);
    assert_int_equal(s->h.process[1].readies, 2);
}

/* Its host has died with the lender, and the loss of the lender was seen first. */
static void death__beside_an_agent_is_named_soon(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    say_again(s, 1);
    go(&s->h, 0);
    tick(s, TRIB_CUT_NS * 8 / 10);
    assert_int_equal(s->h.process[1].fails, 0);
    const struct trib_message join = join_of(0, 2);
    assert_true(say(&s->h, 5, &join)); /* a stranger ends no wait */
    run_links(s);
    expect_failed(&s->h, 5, TRIB_ERR_REFUSED, "job digits is coming back");
    assert_int_equal(s->h.process[1].fails, 0);
    tick(s, TRIB_CUT_NS * 3 / 10);
    expect_failed(&s->h, 1, TRIB_ERR_PEER, "rank 0 (");
    expect_failed(&s->h, 1, TRIB_ERR_PEER, " is gone: its session closed");
}

/* The rank may live, and go on without the switch, as the others will. */
static void death__with_a_fallback_is_none(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    s->h.jobs.first->settings.fallback = true; /* as if all had said so */
    recall(s);
    go(&s->h, 0);
    tick(s, 4 * TRIB_SECOND_NS);
    assert_int_equal(s->h.process[1].fails, 0);
}

/* A rank that has said JOIN already, and waits. */
static void death__of_a_rank_that_is_back_is_named_soon(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    say_again(s, 1);
    go(&s->h, 1);
    tick(s, TRIB_CUT_NS * 11 / 10);
    expect_failed(&s->h, 0, TRIB_ERR_PEER, "rank 1 (");
}

/* The rank lives, and comes back in time: then others have the usual time. */
static void place__of_others_has_the_usual_time(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    const struct trib_message join = join_again(s, 0);
    go(&s->h, 0);
    assert_true(say(&s->h, 6, &join));
    run_links(s);
    tick(s, 4 * TRIB_SECOND_NS);
    assert_int_equal(s->h.process[6].fails, 0);
    tick(s, 2 * TRIB_SECOND_NS);
    expect_failed(&s->h, 6, TRIB_ERR_TIMEOUT, " for rank 1 of job digits to come back");
}

/* A JOIN that is refused leaves the place to nobody. */
static void join__that_is_refused_ends_the_session(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    recall(s);
    struct trib_message join = join_again(s, 0);
    join.join.known.roots = 0;
    assert_true(say(&s->h, 0, &join));
    run_links(s);
    assert_int_equal(s->h.process[0].fails, 1);
    assert_true(s->h.process[0].has_ended);
    assert_null(s->h.process[0].session.job);
    assert_null(s->h.jobs.first->ranks[0].session);
}

/* Ranks that say they know nothing, and an agent that is another one: an error, and nothing worse. */
static void join__without_the_grant_at_fewer_shards(void **state)
{
    struct switches *s = *state;
    join_ranks(s, 2);
    s->lender[0].config.shards = s->lender[0].jobs.agent.shards = 1;
    recall(s);
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = join_of(i, 2);
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "job digits used 6 shards");
    expect_failed(&s->h, 1, TRIB_ERR_REFUSED, "job digits used 6 shards");
}

/* It says so again, behind its JOIN. */
static void close__is_said_again(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    assert_true(say_mark(&s->h, 0, TRIB_MESSAGE_CLOSE, 5));
    recall(s);
    say_again(s, 0);
    assert_true(say_mark(&s->h, 0, TRIB_MESSAGE_CLOSE, 5));
    say_again(s, 1);
    assert_int_equal(s->h.process[0].welcomes, 2);
    assert_true(say_mark(&s->h, 1, TRIB_MESSAGE_CLOSE, 5));
    run_links(s);
    assert_int_equal(s->h.process[0].closeds + s->h.process[1].closeds, 2);
    assert_int_equal(s->h.jobs.count, 0);
}

/* What is being made of it has sessions of its own, and is let in. */
static void split__of_one_that_is_recalled(void **state)
{
    struct switches *s = *state;
    s->fake.has_many = s->lender[0].fake.has_many = s->lender[1].fake.has_many = true;
    run_ranks(s, 2);
    const struct trib_grant grant = s->h.process[0].welcome.welcome.grant;
    for (uint32_t k = 0; k < 2; k++) {
        struct trib_message join = join_of(k, 2);
        strcpy(join.join.job, "digits/0-1");
        join.join.maker.communicator = grant.communicator;
        join.join.maker.job_token = grant.job_token;
        strcpy(join.join.maker.job, "digits");
        join.join.data_port[0] = (uint16_t)(20000 + k);
        assert_true(say(&s->h, 4 + k, &join));
        if (k == 0) {
            recall(s);
        }
    }
    run_links(s);
    assert_int_equal(s->h.process[4].welcomes, 1);
    return_ranks(s, 2);
    assert_int_equal(s->h.process[0].welcomes, 2);
    assert_int_equal(s->h.process[0].fails + s->h.process[4].fails, 0);
}

/* Where the ranks' processes are the roots, these end with the incarnation, and ranks return all the same. */
static void roots__in_ranks_are_opened_anew(void **state)
{
    void *made = NULL;
    (void)state;
    (void)hosts_start(&made);
    struct hosts *h = made;
    run_all(h, 2);
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = root_join(i, 2);
        join.join.known = h->process[i].welcome.welcome.grant;
        join.join.was_ready = true;
        assert_true(say(h, i == 0 ? 2 : 1, &join)); /* rank 0 lost its session, and nobody has seen that */
        pump(h);
        if (i == 0) {
            assert_int_equal(h->process[1].recalls, 1);
            assert_false(trib_root_is_open(&h->process[1].root));
        }
    }
    assert_int_equal(h->process[1].welcomes, 2);
    assert_int_equal(h->process[2].welcomes, 1);
    register_rank(h, 1, 3);
    register_rank(h, 2, 3);
    assert_int_equal(h->process[1].readies, 2);
    assert_int_equal(h->process[1].ready.ready.boot, BOOT + 1);
    assert_true(trib_root_is_open(&h->process[1].root));
    trib_jobs_deinit(&h->jobs, TRIB_ERR_SWITCH, "the end");
    for (uint32_t i = 0; i < RANKS_MAX; i++) {
        trib_root_deinit(&h->process[i].root);
    }
    free(h);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(crossed__has_no_effect),
        TEST(crossed__register_is_not_of_the_next_boot),
        TEST(crossed__ping_is_answered),
        TEST(crossed__abort_gives_up_the_place),
        TEST(abort__of_a_rank_that_is_back_is_told_who_is_missing),
        TEST(crossed__mismatch_asks_nobody),
        TEST(silent__is_named_in_time),
        TEST(place__is_of_who_has_the_grant),
        TEST(place__after_the_session_has_ended),
        TEST(death__beside_an_agent_is_named_soon),
        TEST(death__with_a_fallback_is_none),
        TEST(death__of_a_rank_that_is_back_is_named_soon),
        TEST(place__of_others_has_the_usual_time),
        TEST(join__that_is_refused_ends_the_session),
        TEST(join__without_the_grant_at_fewer_shards),
        TEST(close__is_said_again),
        TEST(split__of_one_that_is_recalled),
        cmocka_unit_test(roots__in_ranks_are_opened_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
