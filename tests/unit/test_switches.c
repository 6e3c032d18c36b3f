/* SPDX-License-Identifier: Apache-2.0 */
/* test_switches.c: several switches used at once, as the control plane that has lenders sees it. Mirrors
 * src/control/roots/switches.c and agents/remote.c; the other side is test_masters.c's. */
#include "control/jobs/jobs.h"
#include "control/jobs/ping.h"
#include "switches_harness.h"

#include "control/jobs/placements.h"

/* ---- what all are told ---- */

static void deal__in_turn_as_many_of_each(void **state)
{
    static const char *const places[] = {"10.0.0.1:7470", "10.0.0.101:7480", "10.0.0.102:7480",
                                         "10.0.0.1:7471", "10.0.0.101:7481", "10.0.0.102:7481"};
    static const uint8_t weights[] = {1, 2, 1, 1, 2, 1};
    struct switches *s = *state;
    join_ranks(s, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct trib_message *welcome = &s->h.process[i].welcome;
        assert_int_equal(s->h.process[i].welcomes, 1);
        assert_int_equal(welcome->welcome.root_count, 6);
        assert_int_equal(welcome->welcome.grant.roots, 6);
        assert_false(welcome->welcome.no_box);
        assert_int_equal(welcome->welcome.grant.group, 0);
        assert_memory_equal(welcome->welcome.grant.weight, weights, sizeof weights);
        for (uint32_t t = 0; t < 6; t++) {
            assert_address(&welcome->welcome.root[t], places[t]);
        }
    }
    const struct fake_plane *planes[] = {&s->fake, &s->lender[0].fake, &s->lender[1].fake};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(planes[i]->opens, 2);
        assert_int_equal(planes[i]->root[0], i);
        assert_int_equal(planes[i]->root[1], 3 + i);
        assert_int_equal(planes[i]->shard[0], 0);
        assert_int_equal(planes[i]->shard[1], 1);
        assert_int_equal(planes[i]->boot, BOOT);
        assert_int_equal(planes[i]->count, 3);
        assert_address(&planes[i]->from[2], "10.0.2.3:20002");
        assert_int_equal(planes[i]->session.communicator, s->fake.session.communicator);
        assert_memory_equal(planes[i]->session.weight, weights, sizeof weights);
    }
    assert_int_equal(s->h.jobs.agent.memory_used, 2 * SLOT_BYTES);
    assert_int_equal(s->lender[0].jobs.agent.memory_used, 2 * SLOT_BYTES);
}

/* Nobody may send before every root knows everybody. */
static void ready__when_all_switches_are(void **state)
{
    struct switches *s = *state;
    join_ranks(s, 2);
    s->lender[1].is_mute = true;
    register_ranks(s, 2, 0);
    assert_int_equal(s->h.process[0].readies, 0);
    assert_int_equal(s->lender[0].fake.joins, 2);
    s->lender[1].is_mute = false;
    run_links(s);
    assert_int_equal(s->h.process[0].readies, 1);
    assert_int_equal(s->h.process[1].readies, 1);
}

/* Marks go to every switch; what comes back is what all ranks have told, as no switch knows what others have. */
static void marks__reach_every_switch(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    assert_true(say_mark(&s->h, 0, TRIB_MESSAGE_MARK, 50));
    run_links(s);
    assert_int_equal(s->fake.marks[0], 50);
    assert_int_equal(s->lender[0].fake.marks[0], 50);
    assert_int_equal(s->lender[1].fake.marks[0], 50);
    assert_int_equal(s->h.process[0].mark, 0);
    assert_true(say_mark(&s->h, 1, TRIB_MESSAGE_MARK, 40));
    run_links(s);
    assert_int_equal(s->h.process[0].mark, 40);
}

static void close__shuts_all_roots(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    assert_true(say_mark(&s->h, 0, TRIB_MESSAGE_CLOSE, 7));
    assert_true(say_mark(&s->h, 1, TRIB_MESSAGE_CLOSE, 7));
    run_links(s);
    assert_int_equal(s->h.jobs.count, 0);
    for (uint32_t i = 0; i < LENDERS; i++) {
        assert_null(s->lender[i].jobs.masters.lendings);
        assert_int_equal(s->lender[i].fake.closes, 1);
        assert_int_equal(s->lender[i].jobs.agent.memory_used, 0);
    }
}

/* Beside a lender on one machine, named by a loopback address: other machines reach it where they reach the switch. */
static void deal__a_lender_beside_the_switch(void **state)
{
    struct switches *s = *state;
    s->lender[0].config.listen = trib_address_v4(0, 7480);
    s->h.config.lenders.at[0] = trib_address_v4(INADDR_LOOPBACK, 7480);
    trib_remote_init(&s->h.jobs.remote[0], &s->h.config.lenders.at[0], &s->h.jobs.remotes);
    join_ranks(s, 2);
    assert_address(&s->h.process[0].welcome.welcome.root[1], "10.0.0.1:7480");
    assert_address(&s->h.process[0].welcome.welcome.root[4], "10.0.0.1:7481");
}

/* Sequence 0 is the first switch's, and one train further is the first lender's. */
static void stall__is_asked_where_the_sequence_is(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 3);
    uint32_t train = s->h.process[0].welcome.welcome.grant.train;
    s->fake.missing[0] = 1;
    s->fake.missing_count = 1;
    s->lender[0].fake.missing[0] = 2;
    s->lender[0].fake.missing_count = 1;
    assert_true(say_stall(&s->h, 0, 0, 1000));
    run_links(s);
    assert_int_equal(s->h.process[0].missings, 1);
    assert_int_equal(s->h.process[0].missing.stall.missing.rank[0], 1);
    assert_true(say_stall(&s->h, 0, train, 1000));
    assert_int_equal(s->h.process[0].missings, 1);
    run_links(s);
    assert_int_equal(s->h.process[0].missings, 2);
    assert_int_equal(s->h.process[0].missing.stall.missing.rank[0], 2);
    assert_int_equal(s->lender[0].fake.missing_sequence, train);
    s->lender[0].is_mute = true;
    assert_true(say_stall(&s->h, 0, train + 1, 1000));
    assert_true(say_stall(&s->h, 0, train + 1, 2000));
    run_links(s);
    assert_int_equal(s->h.process[0].missings, 3);
    assert_string_equal(s->h.process[0].missing.stall.where, "switch 10.0.0.101:7480, its root");
}

/* Rank 2 waits as well: at the lender's root on the same sequence, at the first switch's own on a later one. */
static void stall__names_a_rank_that_waits_too(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 3);
    uint32_t train = s->h.process[0].welcome.welcome.grant.train;
    s->fake.missing[0] = s->lender[0].fake.missing[0] = 2;
    s->fake.missing_count = s->lender[0].fake.missing_count = 1;
    assert_true(say_stall(&s->h, 2, train, 1000));
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t rank = i == 0 ? 2 : 0; /* rank 2's own answer, and those of rank 0 at both switches */
        assert_true(i == 0 || say_stall(&s->h, 0, i == 1 ? train : 0, 1000));
        run_links(s);
        assert_int_equal(s->h.process[rank].missings, i == 2 ? 2 : 1);
        assert_int_equal(s->h.process[rank].missing.stall.missing.count, 1);
        assert_int_equal(s->h.process[rank].missing.stall.missing.rank[0], 2);
    }
}

static void mismatch__is_told_by_a_lender(void **state)
{
    const uint32_t two[2] = {0, 2};
    struct switches *s = *state;
    run_ranks(s, 3);
    trib_jobs_mismatch(&s->lender[1].jobs, s->fake.session.communicator, 99, two, s->h.now_ns);
    trib_jobs_mismatch(&s->lender[1].jobs, s->fake.session.communicator, 99, two, s->h.now_ns);
    run_links(s);
    assert_int_equal(s->h.process[0].describes, 1);
    assert_int_equal(s->h.process[1].describes, 0);
    assert_int_equal(s->h.process[2].describes, 1);
    tick(s, 2 * TRIB_SECOND_NS);
    expect_failed(&s->h, 1, TRIB_ERR_MISMATCH, "operations differ on sequence 99");
}

/* ---- lenders that are lost ---- */

static void lost__all_return_and_it_is_asked_anew(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    s->lender[0].is_away = true;
    run_links(s);
    assert_int_equal(s->h.jobs.count, 1);
    assert_int_equal(s->h.jobs.stats.recalled, 1);
    for (uint32_t i = 0; i < 2; i++) { /* on the session that stands */
        const struct process *p = &s->h.process[i];
        assert_int_equal(p->recalls, 1);
        assert_int_equal(p->recall.recall.boot, BOOT);
        assert_text(p->recall.recall.text, "switch 10.0.0.101:7480");
        assert_true(is_recalled(s, i) && !p->has_ended);
    }
    assert_int_equal(s->fake.closes, 1);
    assert_int_equal(s->lender[1].fake.closes, 1); /* its slots are of an incarnation that is over */
    s->lender[0].is_away = false;
    return_ranks(s, 2);
    assert_int_equal(s->h.process[0].welcomes, 2);
    assert_int_equal(s->lender[0].fake.boot, BOOT + 1);
    assert_int_equal(s->lender[1].fake.boot, BOOT + 1);
    assert_int_equal(s->fake.boot, BOOT + 1);
    register_ranks(s, 2, 12);
    assert_int_equal(s->h.process[0].readies, 2);
    assert_int_equal(s->h.process[0].ready.ready.mark, 12);
}

/* Each step of a start may be the last of a lender. */
static void lost__at_every_step(void **state)
{
    struct switches *s = *state;
    for (uint32_t steps = 0; steps < 12; steps++) {
        for (uint32_t i = 0; i < 2; i++) {
            const struct trib_message join = join_of(i, 2);
            s->h.process[i].has_ended = false;
            s->h.process[i].session.job = NULL;
            s->h.process[i].read = s->h.process[i].arrived = 0;
            assert_true(say(&s->h, i, &join));
        }
        for (uint32_t k = 0; k < steps; k++) {
            trib_switches_on_timeout(&s->h.jobs, s->h.now_ns);
            for (uint32_t i = 0; i < s->links; i++) {
                (void)step(s, &s->link[i]);
            }
        }
        s->lender[steps % 2].is_away = true;
        run_links(s);
        for (uint32_t i = 0; i < 2 && !s->h.process[i].has_ended; i++) {
            go(&s->h, i); /* who was not sent away gives up */
        }
        tick(s, 6 * TRIB_SECOND_NS);
        assert_int_equal(s->h.jobs.count, 0);
        s->lender[steps % 2].is_away = false;
        run_links(s);
        assert_null(s->lender[0].jobs.masters.lendings);
        assert_null(s->lender[1].jobs.masters.lendings);
    }
}

static void away__asked_again_then_told(void **state)
{
    struct switches *s = *state;
    s->lender[1].is_away = true;
    join_ranks(s, 2);
    assert_false(s->h.process[0].has_ended);
    s->lender[1].is_away = false;
    tick(s, 60 * TRIB_MILLISECOND_NS);
    assert_int_equal(s->h.process[0].welcomes, 1);
}

static void away__told(void **state)
{
    struct switches *s = *state;
    s->lender[1].is_away = true;
    join_ranks(s, 2);
    for (unsigned i = 0; i < 5 && !s->h.process[0].has_ended; i++) {
        tick(s, 300 * TRIB_MILLISECOND_NS);
    }
    const struct process *p = &s->h.process[1];
    assert_true(p->has_ended);
    assert_int_equal(p->inbox[p->arrived - 1].kind, TRIB_MESSAGE_AWAY);
    assert_text(p->inbox[p->arrived - 1].note.text, "switch 10.0.0.102:7480, which jobs here use as well");
    assert_text(p->inbox[p->arrived - 1].note.text, "cannot be reached: connection refused");
    assert_int_equal(s->h.jobs.count, 0);
    assert_null(s->lender[0].jobs.masters.lendings);
}

/* It connects, and says nothing: the job's own time ends that. */
static void mute__is_waited_for_as_ranks_are(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    join_ranks(s, 2);
    tick(s, 6 * TRIB_SECOND_NS);
    expect_failed(&s->h, 0, TRIB_ERR_TIMEOUT, "waited 6 s for switch 10.0.0.101:7480 to lend its shards to job digits");
}

/* Its own time, and not that of the ranks, which came one after the other. */
static void mute__is_waited_for_when_all_ranks_are_there(void **state)
{
    struct switches *s = *state;
    const struct trib_message first = join_of(0, 2);
    const struct trib_message last = join_of(1, 2);
    s->lender[0].is_mute = true;
    assert_true(say(&s->h, 0, &first));
    tick(s, 4 * TRIB_SECOND_NS);
    assert_true(say(&s->h, 1, &last));
    tick(s, TRIB_SECOND_NS);
    expect_failed(&s->h, 0, TRIB_ERR_TIMEOUT, "waited 1 s for switch 10.0.0.101:7480 to lend its shards to job digits");
}

static void mute__is_told(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    join_ranks(s, 2);
    for (unsigned i = 0; i < 10 && !s->h.process[0].has_ended; i++) {
        tick(s, 300 * TRIB_MILLISECOND_NS);
    }
    const struct process *p = &s->h.process[0];
    assert_int_equal(p->inbox[p->arrived - 1].kind, TRIB_MESSAGE_AWAY);
    assert_text(p->inbox[p->arrived - 1].note.text, "cannot be reached: no answer");
    s->lender[0].is_mute = false;
    run_links(s);
    assert_null(s->lender[0].jobs.masters.lendings);
}

static void mute__opens_no_roots(void **state)
{
    struct switches *s = *state;
    join_ranks(s, 2);
    s->lender[0].is_mute = true;
    register_ranks(s, 2, 0);
    tick(s, 6 * TRIB_SECOND_NS);
    expect_failed(&s->h, 0, TRIB_ERR_TIMEOUT, "waited 6 s for switch 10.0.0.101:7480 to open its roots of job digits");
}

/* A rank goes while a lender is asked, and comes again: the job starts with it. */
static void rank__leaves_while_a_lender_is_asked(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    join_ranks(s, 2);
    go(&s->h, 1);
    s->lender[0].is_mute = false;
    run_links(s);
    assert_int_equal(s->h.process[0].welcomes, 0);
    s->h.process[1].has_ended = false;
    s->h.process[1].session.job = NULL;
    const struct trib_message join = join_of(1, 2);
    assert_true(say(&s->h, 1, &join));
    run_links(s);
    assert_int_equal(s->h.process[0].welcomes, 1);
    assert_int_equal(s->h.process[1].welcomes, 1);
    assert_int_equal(s->links, LENDERS);
}

static void return__with_fewer_shards(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    s->lender[0].is_away = true;
    run_links(s);
    s->lender[0].is_away = false;
    s->lender[0].config.shards = s->lender[0].jobs.agent.shards = 1;
    return_ranks(s, 2);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED,
                  "job digits used 6 shards, but this switch and its lenders came back with 3");
}

/* ---- lenders that refuse ---- */

static void refuses__memory(void **state)
{
    struct switches *s = *state;
    s->lender[1].jobs.agent.job_quota = SLOT_BYTES + 1; /* the second root does not fit */
    join_ranks(s, 2);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED,
                  "switch 10.0.0.102:7480, which jobs here use as well (--with): job digits needs");
    assert_null(s->lender[0].jobs.masters.lendings);
    assert_int_equal(s->lender[1].jobs.agent.memory_used, 0);
}

/* The agent's words say which versions. */
static void refuses__another_version(void **state)
{
    const struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL,
                                      .fail = {TRIB_ERR_VERSION, "versions differ: the sender speaks session 10"}};
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    join_ranks(s, 1);
    trib_switches_answer(&s->h.jobs, &s->h.jobs.remote[0], &fail, s->h.now_ns);
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_VERSION,
                  "switch 10.0.0.101:7480, which jobs here use as well (--with): versions differ: the sender");
    s->lender[0].is_mute = false;
}

/* C-7: what an agent says never makes a rank a dead one, neither of all jobs nor of one. */
static void refuses__in_no_rank_s_name(void **state)
{
    struct switches *s = *state;
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "rank 1 is gone"}};
    struct trib_message refused = {.kind = TRIB_MESSAGE_ROOT_REFUSED,
                                   .root_refused = {.status = TRIB_ERR_PEER, .text = "rank 1 is gone"}};
    run_ranks(s, 2);
    refused.of = (struct trib_opening_id){s->h.jobs.first->grant.communicator, s->h.jobs.first->grant.boot};
    trib_switches_answer(&s->h.jobs, &s->h.jobs.remote[0], &refused, s->h.now_ns);
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "(--with): rank 1 is gone");
    s->lender[0].is_mute = true;
    s->h.process[0].fails = 0;
    for (uint32_t i = 0; i < 2; i++) {
        s->h.process[i].has_ended = false;
        s->h.process[i].session.job = NULL;
    }
    s->h.now_ns += TRIB_SECOND_NS;
    trib_switches_lost(&s->h.jobs, &s->h.jobs.remote[0], "connection closed", false, s->h.now_ns);
    join_ranks(s, 2);
    trib_switches_answer(&s->h.jobs, &s->h.jobs.remote[0], &fail, s->h.now_ns);
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "(--with): rank 1 is gone");
    s->lender[0].is_mute = false;
}

/* By two addresses, which nobody can tell before it has answered; or the switch itself. */
static void refuses__a_switch_named_twice(void **state)
{
    struct switches *s = *state;
    s->lender[1].jobs.life = s->lender[0].jobs.life;
    join_ranks(s, 2);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "(--with): it is switch 10.0.0.101:7480: name each switch once");
    s->lender[1].jobs.life = s->h.jobs.life;
    s->h.process[0].fails = 0;
    for (uint32_t i = 0; i < 2; i++) {
        s->h.process[i].has_ended = false;
        s->h.process[i].session.job = NULL;
    }
    s->h.now_ns += TRIB_SECOND_NS;
    join_ranks(s, 2);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "(--with): it is this switch itself: name each switch once");
}

static void refuses__no_switch(void **state)
{
    struct switches *s = *state;
    s->lender[1].config.shards = 0;
    join_ranks(s, 2);
    expect_failed(&s->h, 1, TRIB_ERR_REFUSED, "(--with): it is not a switch, but rank 0 of a job without one");
}

static void shuts_down__is_lost(void **state)
{
    const struct trib_message bye = {.kind = TRIB_MESSAGE_FAIL,
                                     .fail = {TRIB_ERR_SWITCH, "the switch is shutting down"}};
    struct switches *s = *state;
    run_ranks(s, 2);
    trib_switches_answer(&s->h.jobs, &s->h.jobs.remote[0], &bye, s->h.now_ns);
    run_links(s);
    assert_int_equal(s->h.process[0].fails, 0);
    assert_true(is_recalled(s, 0));
    assert_int_equal(s->h.jobs.stats.recalled, 1);
}

/* A rank that waits asks this switch, which asks the lenders that the rank waits for: once, however many ranks ask. */
static void ping__asks_the_lenders(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    for (uint32_t i = 0; i < 2; i++) {
        trib_jobs_pinged(&s->h.jobs, &s->h.process[i].session, s->h.now_ns);
    }
    for (uint32_t i = 0; i < LENDERS; i++) {
        assert_int_equal(s->link[i].pings, 1);
    }
    trib_jobs_pinged(&s->h.jobs, &s->h.process[1].session, s->h.now_ns + TRIB_SECOND_NS);
    assert_int_equal(s->link[0].pings, 2);
    trib_switches_lost(&s->h.jobs, &s->h.jobs.remote[0], "its process does not answer", false, s->h.now_ns);
    run_links(s);
    assert_true(is_recalled(s, 0));
    assert_int_equal(s->h.jobs.stats.recalled, 1);
}

/* ---- what cannot be ---- */

/* In place of HELLO. */
static void answer__nonsense(void **state)
{
    struct trib_message wrong[] = {{.kind = TRIB_MESSAGE_HELLO}, {.kind = TRIB_MESSAGE_HELLO},
                                   {.kind = TRIB_MESSAGE_HELLO}, {.kind = TRIB_MESSAGE_HELLO},
                                   {.kind = TRIB_MESSAGE_ROOM},  {.kind = TRIB_MESSAGE_ROOT_READY},
                                   {.kind = TRIB_MESSAGE_JOIN},  {.kind = TRIB_MESSAGE_READY}};
    struct switches *s = *state;
    char text[96];
    for (uint32_t i = 0; i < 4; i++) {
        wrong[i].hello.room = 1000;
        wrong[i].hello.weight = 1;
        wrong[i].hello.shards = i > 0;
        wrong[i].hello.at[0] = trib_address_v4(0x0a000065, 7480);
    }
    wrong[1].hello.at[0] = trib_address_v4(0x0a000065, 0);     /* at no port */
    wrong[2].hello.at[0] = trib_address_v4(0xefff4a46U, 7480); /* a group */
    s->lender[0].is_mute = true;
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct trib_remote *remote = &s->h.jobs.remote[0];
        s->h.process[0].fails = 0;
        s->h.process[0].has_ended = false;
        s->h.process[0].session.job = NULL;
        s->h.now_ns += TRIB_SECOND_NS;
        join_ranks(s, 1);
        trib_switches_connected(&s->h.jobs, remote);
        wrong[i].hello.nonce = i < 4 ? remote->nonce + (i == 3) : wrong[i].hello.nonce;
        trib_switches_answer(&s->h.jobs, remote, &wrong[i], s->h.now_ns);
        run_links(s);
        (void)snprintf(text, sizeof text, "unexpected message %s: not a Tributary switch that lends, or one of another",
                       trib_message_name(wrong[i].kind));
        expect_failed(&s->h, 0, TRIB_ERR_UNREACHABLE, text);
    }
    s->lender[0].is_mute = false;
}

/* What is about an incarnation that is over has crossed its end; what is about no state of this one ends it alone. */
static void answer__of_another_incarnation_has_no_effect(void **state)
{
    struct switches *s = *state;
    struct trib_remote *remote = &s->h.jobs.remote[0];
    struct trib_message late[] = {{.kind = TRIB_MESSAGE_ROOT_READY},
                                  {.kind = TRIB_MESSAGE_ROOT_MISSING},
                                  {.kind = TRIB_MESSAGE_ROOT_REFUSED},
                                  {.kind = TRIB_MESSAGE_DISPUTE}};
    run_ranks(s, 2);
    const struct trib_grant *grant = &s->h.jobs.first->grant;
    for (uint32_t i = 0; i < 8; i++) {
        late[i / 2].of.communicator = grant->communicator + i % 2;
        late[i / 2].of.boot = grant->boot - 1 + i % 2;
        trib_switches_answer(&s->h.jobs, remote, &late[i / 2], s->h.now_ns);
    }
    run_links(s);
    assert_int_equal(s->h.jobs.count, 1);
    assert_int_equal(s->h.process[0].describes, 0);
    late[0].of = (struct trib_opening_id){grant->communicator, grant->boot};
    trib_switches_answer(&s->h.jobs, remote, &late[0], s->h.now_ns); /* it is ready already */
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "sent an unexpected message ROOT_READY");
    run_links(s);
    assert_true(trib_remote_is_usable(remote));
}

/* What is late of one incarnation is never taken for another, of whichever job (C-6). All sessions are lost behind
 * WELCOME, and the ranks come with what they had before it. */
static void boot__is_of_one_incarnation(void **state)
{
    struct switches *s = *state;
    uint32_t boots[3];
    run_ranks(s, 2);
    const struct trib_grant before = s->h.process[0].welcome.welcome.grant;
    boots[0] = before.boot;
    for (uint32_t i = 1; i < 3; i++) {
        s->lender[0].is_away = true;
        run_links(s);
        s->lender[0].is_away = false;
        for (uint32_t k = 0; k < 2; k++) {
            s->h.process[k].welcome.welcome.grant = before;
        }
        return_ranks(s, 2);
        boots[i] = s->h.jobs.first->grant.boot;
        assert_int_equal(s->lender[0].fake.boot, boots[i]);
    }
    assert_true(boots[0] != boots[1] && boots[1] != boots[2] && boots[0] != boots[2]);
}

/* ---- before WELCOME ---- */

/* All agents have opened their roots, or no rank hears anything. */
static void placing__waits_for_all(void **state)
{
    struct switches *s = *state;
    run_links(s);
    s->lender[1].is_mute = true;
    join_ranks(s, 2);
    const struct trib_job *job = s->h.jobs.first;
    assert_int_equal(job->state, TRIB_JOB_PLACING);
    assert_int_equal(s->lender[0].fake.opens, 2);
    assert_int_equal(s->h.process[0].arrived, 0);
    const struct trib_message ready = {.kind = TRIB_MESSAGE_ROOT_READY,
                                       .of = {job->grant.communicator, job->grant.boot}};
    const struct trib_message stall = {.kind = TRIB_MESSAGE_STALL};
    const struct trib_message close = {.kind = TRIB_MESSAGE_CLOSE};
    assert_false(say(&s->h, 0, &stall));
    assert_false(say(&s->h, 0, &close));
    s->lender[1].is_mute = false;
    run_links(s);
    assert_int_equal(s->h.process[0].welcomes, 1);
    assert_int_equal(job->state, TRIB_JOB_STARTING);
    const struct trib_message opened = {.kind = TRIB_MESSAGE_ROOT_OPENED, .of = ready.of};
    trib_switches_answer(&s->h.jobs, &s->h.jobs.remote[0], &opened, s->h.now_ns); /* once more */
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "sent an unexpected message ROOT_OPENED");
}

/* Out of its turn, which a working agent never is: the job ends, and nobody else's. */
static void placing__ready_before_open(void **state)
{
    struct switches *s = *state;
    run_links(s);
    s->lender[1].is_mute = true;
    join_ranks(s, 2);
    const struct trib_grant *grant = &s->h.jobs.first->grant;
    const struct trib_message ready = {.kind = TRIB_MESSAGE_ROOT_READY, .of = {grant->communicator, grant->boot}};
    trib_switches_answer(&s->h.jobs, &s->h.jobs.remote[1], &ready, s->h.now_ns);
    s->lender[1].is_mute = false;
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_REFUSED, "sent an unexpected message ROOT_READY");
    assert_int_equal(s->lender[1].jobs.agent.memory_used, 0);
}

/* Its deadline is the join timeout, and names who is waited for. */
static void placing__has_a_deadline(void **state)
{
    struct switches *s = *state;
    run_links(s);
    s->lender[1].is_mute = true;
    join_ranks(s, 2);
    tick(s, 6 * TRIB_SECOND_NS);
    expect_failed(&s->h, 0, TRIB_ERR_TIMEOUT, "waited 6 s for switch 10.0.0.102:7480 to open its roots of job digits");
    assert_int_equal(s->h.process[0].welcomes, 0);
    s->lender[1].is_mute = false;
    run_links(s);
    assert_int_equal(s->lender[0].jobs.agent.memory_used + s->lender[1].jobs.agent.memory_used, 0);
}

/* A rank dies, or an agent is lost, before anybody has WELCOME: nothing stays open anywhere. */
static void placing__ends(void **state)
{
    struct switches *s = *state;
    for (uint32_t i = 0; i < 2; i++) {
        run_links(s);
        s->lender[1].is_mute = true;
        join_ranks(s, 2);
        assert_int_equal(s->h.jobs.first->state, TRIB_JOB_PLACING);
        if (i == 0) {
            go(&s->h, 1);
            expect_failed(&s->h, 0, TRIB_ERR_PEER, "rank 1 (10.0.2.2:50001) is gone");
        } else {
            s->lender[0].is_away = true;
        }
        s->lender[1].is_mute = false;
        run_links(s);
        assert_int_equal(s->h.jobs.stats.recalled, 0);
        assert_int_equal(s->h.jobs.agent.memory_used, 0);
        assert_int_equal(s->lender[0].jobs.agent.memory_used + s->lender[1].jobs.agent.memory_used, 0);
        for (uint32_t k = 0; k < 2; k++) {
            assert_int_equal(s->h.process[k].has_ended, i == 0); /* who has been told nothing stays */
            assert_int_equal(s->h.process[k].welcomes, 0);
            s->h.process[k].has_ended = false;
            s->h.process[k].session.job = i == 0 ? NULL : s->h.process[k].session.job;
            s->h.process[k].fails = 0;
        }
    }
    s->lender[0].is_away = false;
    s->lender[0].config.shards = s->lender[0].jobs.agent.shards = 1; /* nobody knows of more */
    tick(s, 100 * TRIB_MILLISECOND_NS);
    assert_int_equal(s->h.process[0].welcome.welcome.grant.roots, 3);
    register_ranks(s, 2, 0);
    assert_int_equal(s->h.process[0].readies, 1);
    assert_int_equal(s->h.process[1].readies, 1);
}

/* ---- agents come and go ---- */

/* Without a job too; and an agent that is away is not dialled without pause. */
static void dial__before_any_job_and_again(void **state)
{
    struct switches *s = *state;
    uint64_t last_ns = s->h.now_ns;
    run_links(s);
    assert_true(trib_remote_is_usable(&s->h.jobs.remote[0]) && trib_remote_is_usable(&s->h.jobs.remote[1]));
    s->lender[0].is_away = true;
    run_links(s);
    assert_int_equal(s->h.jobs.remote[0].state, TRIB_REMOTE_AWAY);
    for (uint32_t i = 0; i < 10; i++) {
        s->h.now_ns = trib_jobs_next_timeout(&s->h.jobs);
        assert_true(s->h.now_ns - last_ns <= TRIB_SECOND_NS);
        assert_true(i < 8 || s->h.now_ns - last_ns == TRIB_SECOND_NS);
        last_ns = s->h.now_ns;
        tick(s, 0);
    }
    s->lender[0].is_away = false;
    tick(s, TRIB_SECOND_NS);
    assert_true(trib_remote_is_usable(&s->h.jobs.remote[0]));
}

/* One session for all: the loss of it ends each incarnation that has roots there, and only those. */
static void lost__ends_each_incarnation_that_has_roots_there(void **state)
{
    struct switches *s = *state;
    s->fake.has_many = s->lender[0].fake.has_many = s->lender[1].fake.has_many = true;
    s->h.config.trees = 2;
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message join = join_of(0, 1);
        (void)snprintf(join.join.job, sizeof join.join.job, "job-%u", i);
        join.join.data_port[0] = (uint16_t)(20000 + i);
        assert_true(say(&s->h, i, &join));
        run_links(s);
        register_rank(&s->h, i, 0);
        run_links(s);
        assert_int_equal(s->h.process[i].readies, 1);
    }
    uint32_t dealt = 0;
    for (const struct trib_job *job = s->h.jobs.first; job; job = job->next) {
        dealt += trib_placement_of_remote((struct trib_job *)(uintptr_t)job, &s->h.jobs.remote[0]) != NULL;
    }
    assert_int_equal(dealt, 2);
    assert_int_equal(s->links, LENDERS);
    s->lender[0].is_away = true;
    run_links(s);
    assert_int_equal(s->h.jobs.stats.recalled, 2);
    assert_int_equal(is_recalled(s, 0) + is_recalled(s, 1) + is_recalled(s, 2), 2);
    assert_null(s->lender[0].jobs.masters.lendings);
}

/* ---- how much ---- */

/* A second job gets what is left here, once; a lender does not count what this switch counts already. */
static void window__of_a_second_job(void **state)
{
    struct switches *s = *state;
    s->fake.has_many = s->lender[0].fake.has_many = s->lender[1].fake.has_many = true;
    s->h.config.receive_room = s->lender[0].config.receive_room = s->lender[1].config.receive_room = 1U << 18;
    join_ranks(s, 2);
    uint32_t packet = 1408 + TRIB_HEADER_SIZE;
    assert_int_equal(s->h.process[0].welcome.welcome.grant.window, (1U << 18) / packet / 2);
    for (uint32_t i = 2; i < 4; i++) {
        struct trib_message join = join_of(i - 2, 2);
        strcpy(join.join.job, "second");
        join.join.data_port[0] = (uint16_t)(20000 + i);
        assert_true(say(&s->h, i, &join));
    }
    run_links(s);
    assert_int_equal(s->h.process[2].welcome.welcome.grant.window, (1U << 18) / 4 / packet / 2);
}

/* Digests cover how far ranks look ahead: who comes back keeps the window that others have. */
static void window__of_a_job_that_returns(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    uint32_t window = s->h.process[0].welcome.welcome.grant.window;
    s->lender[0].is_away = true;
    run_links(s);
    s->lender[0].is_away = false;
    s->lender[0].config.receive_room /= 100;
    return_ranks(s, 2);
    assert_int_equal(s->h.process[0].welcomes, 2);
    assert_int_equal(s->h.process[0].welcome.welcome.grant.window, window);
}

/* A switch below of one shard carries one root: the lenders have none, and the job does not hang on them. */
static void below__of_one_shard(void **state)
{
    struct switches *s = *state;
    s->fake.has_belows = true;
    join_one_below(s);
    assert_int_equal(s->h.process[0].welcome.welcome.root_count, 1);
    assert_null(s->lender[0].jobs.masters.lendings);
    assert_null(s->lender[1].jobs.masters.lendings);
    register_ranks(s, 2, 0);
    assert_int_equal(s->h.process[0].readies, 1);
    assert_int_equal(s->h.process[1].readies, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(deal__in_turn_as_many_of_each),
        TEST(deal__a_lender_beside_the_switch),
        TEST(ready__when_all_switches_are),
        TEST(marks__reach_every_switch),
        TEST(close__shuts_all_roots),
        TEST(stall__is_asked_where_the_sequence_is),
        TEST(stall__names_a_rank_that_waits_too),
        TEST(mismatch__is_told_by_a_lender),
        TEST(lost__all_return_and_it_is_asked_anew),
        TEST(lost__at_every_step),
        TEST(away__asked_again_then_told),
        TEST(away__told),
        TEST(mute__is_waited_for_as_ranks_are),
        TEST(mute__is_waited_for_when_all_ranks_are_there),
        TEST(mute__is_told),
        TEST(mute__opens_no_roots),
        TEST(rank__leaves_while_a_lender_is_asked),
        TEST(return__with_fewer_shards),
        TEST(refuses__memory),
        TEST(refuses__another_version),
        TEST(refuses__in_no_rank_s_name),
        TEST(refuses__a_switch_named_twice),
        TEST(refuses__no_switch),
        TEST(shuts_down__is_lost),
        TEST(ping__asks_the_lenders),
        TEST(answer__nonsense),
        TEST(answer__of_another_incarnation_has_no_effect),
        TEST(boot__is_of_one_incarnation),
        TEST(placing__waits_for_all),
        TEST(placing__ready_before_open),
        TEST(placing__has_a_deadline),
        TEST(placing__ends),
        TEST(dial__before_any_job_and_again),
        TEST(lost__ends_each_incarnation_that_has_roots_there),
        TEST(window__of_a_second_job),
        TEST(window__of_a_job_that_returns),
        TEST(below__of_one_shard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
