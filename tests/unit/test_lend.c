/* SPDX-License-Identifier: Apache-2.0 */
/* test_lend.c: a switch whose shards are roots of another's jobs: what it takes, and from whom. Mirrors
 * src/control/roots/lend.c; the asker's side is test_borrow.c's. */
#include "borrow_harness.h"

#include "core/lane.h"

static void lend__out_of_turn(void **state)
{
    struct switches *s = *state;
    struct trib_jobs *jobs = &s->lender[0].jobs;
    struct trib_message lend = {.kind = TRIB_MESSAGE_LEND, .lend = {.job = "stranger\n", .port = 7000}};
    const struct trib_message early = {.kind = TRIB_MESSAGE_ROOT_JOIN};
    struct link *link = &s->link[0];
    link->lender = &s->lender[0];
    link->session.peer = trib_address_v4(0x0a000001, 60000);
    assert_false(trib_jobs_receive(jobs, &link->session, &early, 1));
    assert_true(trib_jobs_receive(jobs, &link->session, &lend, 1));
    assert_int_equal(link->down[0].kind, TRIB_MESSAGE_LENT);
    assert_string_equal(link->session.lending->job, "stranger?");
    assert_false(trib_jobs_receive(jobs, &link->session, &lend, 1));
    const struct trib_message join = join_of(0, 1);
    assert_false(trib_jobs_receive(jobs, &link->session, &join, 1));
    assert_true(trib_jobs_receive(jobs, &link->session, &early, 1)); /* in turn, and refused */
    assert_int_equal(link->down[1].kind, TRIB_MESSAGE_ABORT);
    trib_jobs_expel(jobs, &link->session, "over", 1);
    assert_null(jobs->lendings);
}

/* Says to the first lender, on another connection, what the first loan has said, but for boot and key. */
static struct link *say_again(struct switches *s, uint32_t boot, uint64_t key)
{
    const struct link *old = &s->link[0];
    struct link *again = &s->link[LINKS_MAX - 1];
    again->lender = &s->lender[0];
    again->session.peer = trib_address_v4(0x0a000009, 61000); /* by another card, perhaps */
    for (uint32_t i = 0; i < old->up_len && !again->has_ended_below; i++) {
        struct trib_message message = old->up[i];
        if (message.kind == TRIB_MESSAGE_ROOT_OPEN) {
            message.root_open.boot += boot;
            message.root_open.key += key;
        }
        assert_true(trib_jobs_receive(&s->lender[0].jobs, &again->session, &message, 1));
    }
    return again;
}

/* The asker died unseen, and asks again for the same communicator: its slots of before are closed first. */
static void lend__buries_what_was_before(void **state)
{
    struct switches *s = *state;
    run_ranks(s, 2);
    struct link *again = say_again(s, 1, 0);
    assert_true(s->link[0].has_ended_below);
    assert_null(s->link[0].session.lending);
    assert_int_equal(s->lender[0].fake.closes, 1);
    assert_int_equal(s->lender[0].fake.opens, 4);
    assert_int_equal(again->down[again->down_len - 1].kind, TRIB_MESSAGE_ROOT_READY);
    trib_jobs_gone(&s->lender[0].jobs, &again->session, "over", 1);
}

/* x with mix(x) = y. */
static uint64_t unmix(uint64_t y)
{
    y ^= y >> 31 ^ y >> 62;
    y *= 0x319642b2d24d8ec3U;
    y ^= y >> 27 ^ y >> 54;
    y *= 0x96de1b173f119089U;
    y ^= y >> 30 ^ y >> 60;
    return y - 0x9e3779b97f4a7c15U;
}

/* Who has a rank's token takes its place. A lender has the key, and gets no token from it. */
static void lend__a_key_does_not_give_the_token_away(void **state)
{
    struct switches *s = *state;
    uint64_t key = 0;
    run_ranks(s, 2);
    const struct trib_grant *grant = &s->h.process[0].welcome.welcome.grant;
    for (uint32_t i = 0; i < s->link[0].up_len; i++) {
        const struct trib_message *message = &s->link[0].up[i];
        key = message->kind == TRIB_MESSAGE_ROOT_OPEN ? message->root_open.key : key;
    }
    assert_true(key != 0 && key == grant->key);
    assert_true(unmix(trib_mix64(key)) == key);
    assert_true(key != grant->token && unmix(key) != grant->token && trib_mix64(key) != grant->token);
}

/* A stranger who knows a communicator's number must not join its slots, nor close them; nor may one lender be two. */
static void lend__refuses_what_is_anothers(void **state)
{
    static const struct {
        uint32_t boot;
        uint64_t key;
        const char *text;
    } cases[] = {{1, 1, "is another job's here"},
                 {0, 1, "is another job's here"},
                 {0, 0, "has roots here already: this switch is named twice, by two addresses: name it once (--with)"}};
    struct switches *s = *state;
    run_ranks(s, 2);
    for (uint32_t i = 0; i < 3; i++) {
        struct link *again = say_again(s, cases[i].boot, cases[i].key);
        assert_true(again->has_ended_below);
        assert_null(again->session.lending);
        assert_int_equal(again->down[1].kind, TRIB_MESSAGE_ABORT);
        assert_text(again->down[1].fail.text, cases[i].text);
        assert_int_equal(s->lender[0].fake.opens, 2);
        assert_int_equal(s->lender[0].fake.closes, 0);
        assert_non_null(s->link[0].session.lending);
        memset(again, 0, sizeof *again);
    }
}

/* On one connection too: for a root that there is, and for a shard that there is not. It ends that loan alone. */
static void lend__refuses_a_root_twice_and_one_that_it_has_not(void **state)
{
    struct switches *s = *state;
    for (uint32_t i = 0; i < 2; i++) {
        join_ranks(s, 1);
        struct link *link = &s->link[s->links - LENDERS];
        const struct link *other = &s->link[s->links - LENDERS + 1];
        struct trib_message open = link->up[1];
        assert_int_equal(open.kind, TRIB_MESSAGE_ROOT_OPEN);
        if (i == 1) {
            open.root_open.index = 4; /* of which it has none yet */
            open.root_open.shard = 3;
        }
        assert_true(trib_jobs_receive(&s->lender[0].jobs, &link->session, &open, s->h.now_ns));
        run_links(s);
        expect_failed(&s->h, 0, TRIB_ERR_REFUSED,
                      i == 0 ? "(--with): unexpected message ROOT_OPEN: it asks for a root that cannot be: root 1 is "
                               "open here already"
                             : "(--with): unexpected message ROOT_OPEN: it asks for a root that cannot be: shard 3, "
                               "and there are 3, from 0");
        assert_null(link->session.lending);
        assert_true(link->has_ended && other->has_ended);
        assert_null(s->lender[0].jobs.lendings);
        s->h.process[0].fails = 0;
        s->h.process[0].has_ended = false;
        s->h.process[0].session.job = NULL;
    }
}

/* Nor what is a job's of its own. */
static void lend__refuses_its_own_jobs(void **state)
{
    struct switches *s = *state;
    join_ranks(s, 2);
    const struct trib_message open = s->link[0].up[1];
    assert_int_equal(open.kind, TRIB_MESSAGE_ROOT_OPEN);
    struct trib_session session = {.peer = trib_address_v4(0x0a000009, 61000)};
    struct link *again = &s->link[LINKS_MAX - 1];
    again->session = session;
    again->lender = &s->lender[0];
    s->h.jobs.output = (struct trib_jobs_output){s, lender_send, lender_end, NULL, test_draw, NULL};
    assert_true(trib_jobs_receive(&s->h.jobs, &again->session, &s->link[0].up[0], 1));
    assert_true(trib_jobs_receive(&s->h.jobs, &again->session, &open, 1));
    assert_text(again->down[1].fail.text, "is another job's here");
    assert_int_equal(s->fake.opens, 2);
    s->h.jobs.output = (struct trib_jobs_output){&s->h, hosts_send, hosts_end, NULL, test_draw, NULL};
}

static void lend__is_not_kept_for_nothing(void **state)
{
    struct switches *s = *state;
    struct trib_jobs *jobs = &s->lender[0].jobs;
    const struct trib_message lend = {.kind = TRIB_MESSAGE_LEND, .lend = {.job = "idle", .port = 7000}};
    s->link[0].lender = &s->lender[0];
    s->link[0].session.peer = s->h.config.listen;
    assert_true(trib_jobs_receive(jobs, &s->link[0].session, &lend, TRIB_SECOND_NS));
    uint64_t when = trib_jobs_next_timeout(jobs);
    assert_int_equal(when, 61 * TRIB_SECOND_NS);
    trib_jobs_on_timeout(jobs, when - 1);
    assert_non_null(jobs->lendings);
    trib_jobs_on_timeout(jobs, when);
    assert_null(jobs->lendings);
    assert_true(s->link[0].has_ended_below);
}

/* Each job within its quota: but all of one switch do not take what others would have. */
static void lend__not_all_to_one_switch(void **state)
{
    struct switches *s = *state;
    struct plane *lender = &s->lender[0];
    lender->jobs.agent.memory_quota = 3 * SLOT_BYTES;
    lender->jobs.agent.job_quota = 3 * SLOT_BYTES / 2;
    for (uint32_t i = 1; i <= 2; i++) {
        struct link *link = &s->link[LINKS_MAX - i];
        struct trib_message lend = {.kind = TRIB_MESSAGE_LEND, .lend = {.port = 7470}};
        struct trib_message open = {.kind = TRIB_MESSAGE_ROOT_OPEN,
                                    .root_open = {.boot = 7, .ranks = 1, .scheme = "switchml", .key = i}};
        struct trib_message child = {.kind = TRIB_MESSAGE_ROOT_CHILD, .root_child = {.communicator = i}};
        (void)snprintf(lend.lend.job, sizeof lend.lend.job, "job-%u", i);
        open.root_open.session = (struct trib_session_config){.communicator = i,
                                                              .ranks = 1,
                                                              .roots = 1,
                                                              .train = 4,
                                                              .slots = 8,
                                                              .payload = 1408,
                                                              .generation = 1,
                                                              .wire = TRIB_FLOAT32};
        link->lender = lender;
        link->session.peer = trib_address_v4(0x0a000001, (uint16_t)(61000 + i));
        child.root_child.from = trib_address_v4(0x0a000032, 20000);
        assert_true(trib_jobs_receive(&lender->jobs, &link->session, &lend, 1));
        assert_true(trib_jobs_receive(&lender->jobs, &link->session, &open, 1));
        assert_true(trib_jobs_receive(&lender->jobs, &link->session, &child, 1));
        assert_int_equal(link->session.lending != NULL, i == 1);
    }
    const struct link *second = &s->link[LINKS_MAX - 2];
    assert_int_equal(second->down[1].kind, TRIB_MESSAGE_ABORT);
    assert_text(second->down[1].fail.text, "all jobs of switch 10.0.0.1:7470 need ");
    assert_int_equal(lender->jobs.agent.memory_used, SLOT_BYTES);
}

/* Whoever can connect could have sums sent to anybody. */
static void lend__to_switches_that_are_named(void **state)
{
    struct switches *s = *state;
    struct trib_jobs *jobs = &s->lender[0].jobs;
    struct link *link = &s->link[LINKS_MAX - 1];
    const struct trib_message lend = {.kind = TRIB_MESSAGE_LEND, .lend = {.job = "j", .port = 7000}};
    link->lender = &s->lender[0];
    link->session.peer = trib_address_v4(0x0a00000a, 61000);
    assert_true(trib_jobs_receive(jobs, &link->session, &lend, 1));
    assert_null(jobs->lendings);
    assert_int_equal(link->down[0].kind, TRIB_MESSAGE_FAIL);
    assert_text(link->down[0].fail.text, "it lends nothing to 10.0.0.10:7000: start it with --lend 10.0.0.10:7000");
}

/* Packets go to children: they are no groups, and somewhere. */
static void lend__children_are_somewhere(void **state)
{
    /* any, a group, the loopback of another machine, the lender itself */
    static const struct {
        uint32_t at;
        uint16_t port;
        const char *why;
    } nowhere[] = {{0, 20000, "it names a child that cannot be"},
                   {0xefff4a46U, 20000, "it names a child that cannot be"},
                   {INADDR_LOOPBACK, 20000, "127.0.0.1:20000, which is another machine for each"},
                   {0x0a000065U, 7481, "10.0.0.101:7481, which is this switch"}};
    struct switches *s = *state;
    s->lender[0].is_mute = true; /* it is asked by hand */
    for (uint32_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        struct trib_message child = {.kind = TRIB_MESSAGE_ROOT_CHILD};
        struct link *link = &s->link[LINKS_MAX - 1];
        const struct trib_message lend = {.kind = TRIB_MESSAGE_LEND, .lend = {.job = "odd", .port = 7000}};
        struct trib_message open = {.kind = TRIB_MESSAGE_ROOT_OPEN,
                                    .root_open = {.boot = 7, .ranks = 1, .scheme = "switchml", .key = 1}};
        open.root_open.session = (struct trib_session_config){.communicator = 77,
                                                              .ranks = 1,
                                                              .roots = 1,
                                                              .train = 4,
                                                              .slots = 8,
                                                              .payload = 1408,
                                                              .generation = 1,
                                                              .wire = TRIB_FLOAT32};
        memset(link, 0, sizeof *link);
        link->lender = &s->lender[0];
        link->session.peer = s->h.config.listen;
        link->session.local = s->lender[0].config.listen;
        child.root_child.communicator = 77;
        child.root_child.from = trib_address_v4(nowhere[i].at, nowhere[i].port);
        assert_true(trib_jobs_receive(&s->lender[0].jobs, &link->session, &lend, 1));
        assert_true(trib_jobs_receive(&s->lender[0].jobs, &link->session, &open, 1));
        assert_true(trib_jobs_receive(&s->lender[0].jobs, &link->session, &child, 1));
        assert_int_equal(link->down[1].kind, TRIB_MESSAGE_ABORT);
        assert_text(link->down[1].fail.text, nowhere[i].why);
        assert_null(link->session.lending);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(lend__out_of_turn),
        TEST(lend__buries_what_was_before),
        TEST(lend__refuses_what_is_anothers),
        TEST(lend__a_key_does_not_give_the_token_away),
        TEST(lend__to_switches_that_are_named),
        TEST(lend__not_all_to_one_switch),
        TEST(lend__refuses_a_root_twice_and_one_that_it_has_not),
        TEST(lend__refuses_its_own_jobs),
        TEST(lend__is_not_kept_for_nothing),
        TEST(lend__children_are_somewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
