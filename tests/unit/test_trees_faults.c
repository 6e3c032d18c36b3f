/* SPDX-License-Identifier: Apache-2.0 */
/* test_trees_faults.c: jobs that are dealt over some of several switches, one of which takes no part: it is away, says
 * nothing, or refuses. Who does without it, and who cannot. Mirrors src/control/roots/trees.c, as test_trees.c. */
#include "control/jobs/check.h"
#include "control/jobs/start.h"
#include "some_harness.h"

/* ---- lenders that are away ---- */

static void away__another_one_is_chosen(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_away = true;
    join_two(s, "one", 0, 0);
    assert_trees(s, 0, "CD");
    assert_int_equal(s->h.process[0].welcomes, 1);
    s->h.jobs.turn = 0;
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "AC");
    s->lender[0].is_away = false;
    s->h.now_ns += 11 * TRIB_SECOND_NS;
    s->h.jobs.turn = 0;
    join_two(s, "three", 4, 4);
    assert_trees(s, 4, "BA");
}

/* One that says nothing is given up as well. */
static void mute__another_one_is_chosen(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    join_two(s, "one", 0, 0);
    for (unsigned i = 0; i < 5 && s->h.process[0].welcomes == 0; i++) {
        tick(s, 300 * TRIB_MILLISECOND_NS);
    }
    assert_trees(s, 0, "CD");
    s->lender[0].is_mute = false;
    run_links(s);
    assert_null(s->lender[0].jobs.masters.lendings);
}

/* By then others are better than one that was chosen with it. */
static void mute__and_all_others_change(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    s->lender[2].config.weight = 9;
    s->h.jobs.turn = 1;
    join_two(s, "one", 0, 0);
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "DA");
    s->h.config.weight = 9;
    for (unsigned i = 0; i < 5 && s->h.process[0].welcomes == 0; i++) {
        tick(s, 300 * TRIB_MILLISECOND_NS);
    }
    const struct trib_job *job = s->h.process[0].session.job;
    assert_true(trib_trees_have(&s->h.jobs, job, 0) && trib_trees_have(&s->h.jobs, job, 3));
    assert_null(s->lender[1].jobs.masters.lendings);
    s->lender[0].is_mute = false;
}

/* Too few are left: the ranks are told, as where all are wanted. */
static void away__too_many(void **state)
{
    struct switches *s = *state;
    for (uint32_t i = 0; i < LENDERS; i++) {
        s->lender[i].is_away = true;
    }
    join_two(s, "one", 0, 0);
    for (unsigned i = 0; i < 5 && !s->h.process[0].has_ended; i++) {
        tick(s, 300 * TRIB_MILLISECOND_NS);
    }
    const struct process *p = &s->h.process[1];
    assert_true(p->has_ended);
    assert_int_equal(p->inbox[p->arrived - 1].kind, TRIB_MESSAGE_AWAY);
    assert_int_equal(s->h.jobs.count, 0);
    assert_true(s->links <= 2 * LENDERS * 5); /* each is tried a few times a tick at most */
    assert_int_equal(s->h.jobs.turn, 4);      /* while it is tried again no others are looked for */
}

/* One that has opened roots since is as good as any. */
static void away__and_back(void **state)
{
    struct switches *s = *state;
    s->h.jobs.turn = 1;
    run_ranks(s, 2);
    s->lender[0].is_away = true;
    run_links(s);
    join_two(s, "two", 4, 4);
    assert_trees(s, 4, "DA");
    s->lender[0].is_away = false;
    return_ranks(s, 2);
    register_ranks(s, 2, 12);
    end_two(s, 4);
    end_two(s, 0);
    s->h.jobs.turn = 1;
    join_two(s, "three", 6, 6);
    assert_trees(s, 6, "BC");
}

/* ---- jobs that have not begun ---- */

static void wait_for(struct switches *s, uint32_t session)
{
    for (unsigned i = 0; i < 12 && s->h.process[session].welcomes == 0 && !s->h.process[session].has_ended; i++) {
        tick(s, 300 * TRIB_MILLISECOND_NS);
    }
}

/* None of them has begun, so that none binds another: all do without the one that does not answer. */
static void tentative__jobs_of_a_process_change_together(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    join_two(s, "one", 0, 0);
    tick(s, 500 * TRIB_MILLISECOND_NS);
    join_two(s, "two", 2, 0);
    join_two(s, "three", 4, 1); /* of one process of these, and one of its own */
    join_two(s, "four", 6, 2);  /* which is in this one as well */
    join_two(s, "other", 8, 8);
    assert_trees(s, 8, "CD");
    wait_for(s, 0);
    tick(s, 0);
    for (uint32_t session = 0; session < 8; session += 2) {
        assert_trees(s, session, "AC");
        assert_false(s->h.process[session].has_ended);
    }
    s->lender[0].is_mute = false;
    run_links(s);
    assert_null(s->lender[0].jobs.masters.lendings);
}

/* One that its own lender is lost for later has changed already. */
static void tentative__that_has_changed_is_left_alone(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    join_two(s, "one", 0, 0);
    join_two(s, "two", 2, 0);
    struct trib_job *two = s->h.process[2].session.job;
    two->unlent_ns = 1;
    assert_true(trib_trees_avoid(&s->h.jobs, s->h.process[0].session.job, 0, s->h.now_ns));
    assert_int_equal(two->unlent_ns, 0);
    uint64_t turn = s->h.jobs.turn;
    assert_true(trib_trees_avoid(&s->h.jobs, two, 0, s->h.now_ns));
    assert_int_equal(s->h.jobs.turn, turn);
    trib_job_start(&s->h.jobs, two, s->h.now_ns);
    run_links(s);
    assert_trees(s, 2, "CD");
    s->lender[0].is_mute = false;
}

/* What cannot change stays as it is: of two switches that are left, one is not enough. */
static void tentative__too_few_are_left(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    join_two(s, "one", 0, 0);
    struct trib_job *one = s->h.process[0].session.job;
    s->h.jobs.remote[1].refused_ns = s->h.jobs.remote[2].refused_ns = s->h.now_ns;
    s->h.jobs.turn = 2;
    assert_false(trib_trees_avoid(&s->h.jobs, one, 0, s->h.now_ns));
    assert_memory_equal(one->grant.switches, "\1\2\0\0\0\0\0", TRIB_SWITCHES_MAX);
    s->lender[0].is_mute = false;
    run_links(s);
    assert_trees(s, 0, "AB");
}

/* Nor does one begin that has lost a rank by then. */
static void tentative__without_a_rank(void **state)
{
    struct switches *s = *state;
    s->h.config.trees = 1;
    s->h.jobs.turn = 1;
    s->lender[0].is_mute = true;
    join_two(s, "one", 0, 0);
    go(&s->h, 1);
    s->h.jobs.turn = 0; /* A, which needs no loan */
    for (unsigned i = 0; i < 5; i++) {
        tick(s, 300 * TRIB_MILLISECOND_NS);
    }
    assert_int_equal(s->h.process[0].welcomes, 0);
    assert_false(s->h.process[0].has_ended);
    s->lender[0].is_mute = false;
}

/* Where all have all there is nothing to change, and nothing is looked for. */
static void tentative__that_needs_all(void **state)
{
    struct switches *s = *state;
    s->h.config.trees = 4;
    s->lender[0].is_mute = true;
    join_two(s, "one", 0, 0);
    assert_false(trib_trees_avoid(&s->h.jobs, s->h.process[0].session.job, 0, s->h.now_ns));
    assert_int_equal(s->h.jobs.turn, 0);
    s->lender[0].is_mute = false;
}

/* But one that runs binds them all, over however many between. */
static void tentative__bound_by_one_that_runs(void **state)
{
    struct switches *s = *state;
    join_two(s, "runs", 0, 0);
    s->lender[0].is_away = true;
    run_links(s); /* it returns */
    join_two(s, "two", 2, 1);
    join_two(s, "three", 4, 2);
    struct trib_job *three = s->h.process[4].session.job;
    assert_false(trib_trees_avoid(&s->h.jobs, three, 0, s->h.now_ns));
    for (uint32_t session = 2; session < 6; session += 2) {
        assert_memory_equal(s->h.process[session].session.job->grant.switches, "\1\2", 2);
    }
    wait_for(s, 4);
    assert_int_equal(s->h.process[4].welcomes, 0);
    assert_int_equal(s->h.process[4].inbox[s->h.process[4].arrived - 1].kind, TRIB_MESSAGE_AWAY);
    s->lender[0].is_away = false;
}

/* ---- lenders that refuse ---- */

static void refuses__another_one_is_chosen(void **state)
{
    struct switches *s = *state;
    s->lender[0].config.shards = 0;
    join_two(s, "one", 0, 0);
    assert_trees(s, 0, "CD");
    assert_int_equal(s->h.process[0].fails, 0);
    s->h.jobs.turn = 1;
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "AC"); /* B is not asked */
    end_two(s, 0);
    end_two(s, 2);
    s->lender[1].config.shards = s->lender[2].config.shards = 0;
    s->lender[1].is_away = s->lender[2].is_away = true; /* they are started anew */
    run_links(s);
    s->lender[1].is_away = s->lender[2].is_away = false;
    s->h.now_ns += TRIB_SECOND_NS;
    s->h.config.trees = 3;
    join_two(s, "three", 4, 4); /* too many: words */
    expect_failed(&s->h, 4, TRIB_ERR_REFUSED, "(--with): it is not a switch, but rank 0 of a job without one");
}

static void foreign__another_one_is_chosen(void **state)
{
    const struct trib_message wrong = {.kind = TRIB_MESSAGE_READY};
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    join_two(s, "one", 0, 0);
    trib_switches_answer(&s->h.jobs, &s->h.jobs.remote[0], &wrong, s->h.now_ns);
    run_links(s);
    assert_trees(s, 0, "CD");
    assert_int_equal(s->h.process[0].fails, 0);
    s->lender[0].is_mute = false;
}

/* What does not fit at one agent goes to another, before any rank has heard of it; and so does the next job. */
static void refuses__to_open_and_another_one_is_chosen(void **state)
{
    struct switches *s = *state;
    s->h.config.trees = 1;
    s->lender[0].jobs.agent.job_quota = SLOT_BYTES + 1; /* the second root does not fit */
    s->h.jobs.turn = 1;
    join_two(s, "one", 0, 0);
    assert_trees(s, 0, "C");
    assert_int_equal(s->h.process[0].welcomes, 1);
    assert_int_equal(s->h.process[0].fails, 0);
    assert_int_equal(s->lender[0].jobs.agent.memory_used, 0);
    s->h.jobs.turn = 1;
    join_two(s, "two", 2, 2);
    assert_trees(s, 2, "D");
    s->h.now_ns += 11 * TRIB_SECOND_NS;
    s->lender[0].jobs.agent.job_quota = 1U << 20;
    s->h.jobs.turn = 1;
    join_two(s, "three", 4, 4);
    assert_trees(s, 4, "B");
}

/* Too few are left: words. What others had opened is shut. */
static void refuses__to_open_and_none_is_left(void **state)
{
    struct switches *s = *state;
    for (uint32_t i = 0; i < LENDERS; i++) {
        s->lender[i].jobs.agent.job_quota = i == 0 ? 1U << 20 : SLOT_BYTES + 1;
    }
    s->h.jobs.turn = 1; /* B and C, then A and B or B and D */
    join_two(s, "one", 0, 0);
    s->h.config.trees = 3;
    join_two(s, "two", 2, 2);
    expect_failed(&s->h, 2, TRIB_ERR_REFUSED, "which jobs here use as well (--with): job two needs");
    assert_int_equal(s->h.process[2].welcomes, 0);
    end_two(s, 0);
    for (uint32_t i = 0; i < LENDERS; i++) {
        assert_int_equal(s->lender[i].jobs.agent.memory_used, 0);
    }
    assert_int_equal(s->h.jobs.agent.memory_used, 0);
}

/* A job that returns has its switches in its grant: it cannot go elsewhere. */
static void refuses__to_open_a_job_that_returns(void **state)
{
    struct switches *s = *state;
    s->h.config.trees = 1;
    s->h.jobs.turn = 1;
    run_ranks(s, 2);
    assert_trees(s, 0, "B");
    s->lender[0].is_away = true;
    run_links(s);
    s->lender[0].is_away = false;
    s->lender[0].jobs.agent.job_quota = SLOT_BYTES + 1;
    return_ranks(s, 2);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "switch 10.0.0.101:7480, which jobs here use as well");
}

/* To lend is not enough: what does not fit is refused after it. */
static void refuses__until_it_has_opened_roots(void **state)
{
    static const char *const want[] = {"A", "C", "D"};
    struct switches *s = *state;
    s->h.config.trees = 1;
    s->h.jobs.remote[0].refused_ns = s->h.now_ns;
    for (uint32_t i = 0; i < 3; i++) {
        char name[2] = {(char)('0' + i), '\0'};
        s->h.jobs.turn = 0;
        join_two(s, name, 4 + 2 * i, 4 + 2 * i);
        assert_trees(s, 4 + 2 * i, want[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = return_of(s, i, "\2");
        join.join.known.roots = 2;
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    assert_trees(s, 0, "B");
    s->h.jobs.turn = 1;
    join_two(s, "lent", 10, 10);
    assert_trees(s, 10, "C");
    end_two(s, 10);
    register_ranks(s, 2, 0);
    s->h.jobs.turn = 1;
    join_two(s, "open", 10, 10);
    assert_trees(s, 10, "B");
}

/* A process made another communicator before its first one was back. That waits for a switch, and binds no job that has
 * begun. */
static void tentative__binds_none_that_has_begun(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    join_two(s, "quick", 4, 0);
    join_two(s, "follower", 6, 1); /* of a process of quick, and of none of digits */
    assert_int_equal(s->h.process[4].arrived + s->h.process[6].arrived, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = return_of(s, 0, "\3\4");
        join.join.rank = i;
        s->h.process[i].session.peer = trib_address_v4(0x0a000201 + 100 * i, (uint16_t)(50000 + i));
        join.join.data_port[0] = (uint16_t)(20000 + 100 * i);
        assert_true(say(&s->h, i, &join));
        trib_jobs_check(&s->h.jobs);
    }
    run_links(s);
    trib_jobs_check(&s->h.jobs);
    assert_trees(s, 0, "CD");
    assert_trees(s, 4, "CD");
    assert_trees(s, 6, "CD");
}

/* ---- between all ranks and WELCOME ---- */

/* A rank that returns has closed, says so, and its session ends while the roots are opened: it may, and gets no WELCOME.
 * It does not come again, or comes for CLOSED. */
static void placing__a_rank_that_has_closed_leaves(void **state)
{
    struct switches *s = *state;
    const struct trib_message close = {.kind = TRIB_MESSAGE_CLOSE, .mark = {.mark = 3}};
    run_ranks(s, 2);
    for (uint32_t i = 0; i < 2; i++) {
        struct process *p = &s->h.process[1];
        s->lender[0].is_away = true;
        run_links(s);
        s->lender[0].is_away = false;
        tick(s, TRIB_SECOND_NS);
        s->lender[0].is_mute = true;
        return_ranks(s, 2);
        assert_int_equal(s->h.jobs.first->state, TRIB_JOB_PLACING);
        assert_true(say(&s->h, 1, &close));
        go(&s->h, 1);
        trib_jobs_check(&s->h.jobs);
        struct trib_message join = join_of(1, 2);
        join.join.known = p->welcome.welcome.grant;
        join.join.was_ready = true;
        if (i == 1) {
            p->has_ended = false;
            p->session.job = NULL;
            assert_true(say(&s->h, 1, &join));
            trib_jobs_check(&s->h.jobs);
        }
        s->lender[0].is_mute = false;
        run_links(s);
        assert_int_equal(s->h.jobs.first->state, TRIB_JOB_STARTING);
        assert_int_equal(p->welcomes, 1);
        register_rank(&s->h, 0, 3);
        run_links(s);
        assert_int_equal(s->h.process[0].readies, 2 + i);
        assert_int_equal(p->closeds, i);
    }
}

/* ---- switches below that have changed ---- */

/* Its WELCOME was lost; it comes again by a switch with fewer shards than the grant has roots. */
static void below__of_fewer_shards_than_before(void **state)
{
    struct switches *s = *state;
    s->fake.has_belows = true;
    for (uint32_t i = 0; i < LENDERS; i++) {
        s->lender[i].fake.has_belows = true;
    }
    for (uint32_t again = 0; again < 2; again++) {
        for (uint32_t i = 0; i < 2; i++) {
            struct process *p = &s->h.process[i];
            const struct trib_message join = join_of(i, 2);
            if (i == 1) {
                come_below(s, 1, again == 0 ? 4 : 1);
            }
            if (p->has_ended) { /* else it was told RECALL, and says it again there */
                p->has_ended = false;
                p->session.job = NULL;
            }
            assert_true(say(&s->h, i, &join));
            trib_jobs_check(&s->h.jobs);
        }
        run_links(s);
        trib_jobs_check(&s->h.jobs);
        if (again == 0) {
            assert_int_equal(s->h.process[1].welcome.welcome.grant.roots, 4);
            s->lender[0].is_away = true;
            run_links(s);
            s->lender[0].is_away = false;
            tick(s, TRIB_SECOND_NS);
            assert_int_equal(s->h.jobs.stats.recalled, 1);
        }
    }
    assert_int_equal(s->h.process[1].welcomes, 1);
    assert_int_equal(s->h.process[1].fails, 1);
    assert_string_equal(
        s->h.process[1].fail.fail.text,
        "job digits used 4 shards, but switch 10.0.9.1:7470 came back with 1: start it with --threads 4");
}

/* Its WELCOME came, those of the others were lost, and one of them has come again by a switch with fewer shards. */
static void below__of_fewer_shards_than_a_grant(void **state)
{
    struct switches *s = *state;
    struct trib_message join = join_of(1, 2);
    come_below(s, 1, 1);
    assert_true(say(&s->h, 1, &join));
    join = return_of(s, 0, "\1\2");
    assert_int_equal(join.join.known.roots, 4);
    join.join.was_ready = false;
    assert_true(say(&s->h, 0, &join));
    run_links(s);
    trib_jobs_check(&s->h.jobs);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "job digits used 4 shards, but the switch came back with 1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start_two, stop)
    const struct CMUnitTest tests[] = {
        TEST(away__another_one_is_chosen),
        TEST(mute__another_one_is_chosen),
        TEST(mute__and_all_others_change),
        TEST(away__too_many),
        TEST(away__and_back),
        TEST(tentative__jobs_of_a_process_change_together),
        TEST(tentative__that_has_changed_is_left_alone),
        TEST(tentative__too_few_are_left),
        TEST(tentative__without_a_rank),
        TEST(tentative__that_needs_all),
        TEST(tentative__bound_by_one_that_runs),
        TEST(refuses__another_one_is_chosen),
        TEST(foreign__another_one_is_chosen),
        TEST(refuses__to_open_and_another_one_is_chosen),
        TEST(refuses__to_open_and_none_is_left),
        TEST(refuses__to_open_a_job_that_returns),
        TEST(refuses__until_it_has_opened_roots),
        TEST(tentative__binds_none_that_has_begun),
        TEST(placing__a_rank_that_has_closed_leaves),
        TEST(below__of_fewer_shards_than_before),
        TEST(below__of_fewer_shards_than_a_grant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
