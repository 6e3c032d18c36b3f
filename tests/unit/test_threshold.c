/* SPDX-License-Identifier: Apache-2.0 */
/* test_threshold.c: jobs that say how many bytes of gradients they have, at a switch whose operator keeps it, and the
 * switches that lend to it, for larger ones. Mirrors src/control/jobs/threshold.c. */
#include "control/jobs/job.h"
#include "control/jobs/jobs.h"
#include "control/roots/processes.h"
#include "net/resolve.h"
#include "switches_harness.h"

#define THRESHOLD UINT64_C(40000000)
#define SMALL UINT64_C(4000000)
#define RANKS 3U

static int start_with_threshold(void **state)
{
    (void)start(state);
    ((struct switches *)*state)->h.config.threshold = THRESHOLD;
    return 0;
}

static struct trib_message join_with(uint32_t rank, uint64_t gradient_bytes)
{
    struct trib_message join = join_of(rank, RANKS);
    join.join.settings.gradient_bytes = gradient_bytes;
    return join;
}

static struct trib_message ring_join(uint32_t rank)
{
    struct trib_message join = join_with(rank, SMALL);
    join.join.is_ring = true;
    join.join.room = ROOM;
    join.join.data_port[0] = (uint16_t)(25000 + rank);
    return join;
}

static void come(struct switches *s, uint32_t rank, const struct trib_message *join)
{
    struct process *p = &s->h.process[rank];
    p->has_ended = false;
    p->session.job = NULL;
    assert_true(say(&s->h, rank, join));
    run_links(s);
}

static void come_all(struct switches *s, uint64_t gradient_bytes)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct trib_message join = join_with(i, gradient_bytes);
        come(s, i, &join);
    }
}

static void come_as_ring(struct switches *s)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct trib_message join = ring_join(i);
        come(s, i, &join);
    }
}

static void expect_told(const struct switches *s, uint32_t rank, const char *part)
{
    const struct process *p = &s->h.process[rank];
    assert_int_equal(p->rings, 1);
    assert_text(p->ring.note.text, part);
    assert_true(p->has_ended);
    assert_int_equal(p->welcomes, 0);
}

static void expect_at_switch(const struct switches *s)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct process *p = &s->h.process[i];
        assert_int_equal(p->rings, 0);
        assert_int_equal(p->welcomes, 1);
        assert_int_equal(p->welcome.welcome.peer_count, 0);
        assert_int_equal(p->welcome.welcome.root_count, 6);
    }
    assert_int_equal(s->fake.opens, 2);
}

/* Each has got its WELCOME as one of a ring, and no switch was asked for anything. */
static void expect_ring(const struct switches *s, uint32_t welcomes)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct trib_message *welcome = &s->h.process[i].welcome;
        char want[64];
        assert_int_equal(s->h.process[i].welcomes, welcomes);
        assert_int_equal(welcome->welcome.peer_count, 2);
        assert_int_equal(welcome->welcome.root_count, 0);
        assert_int_equal(welcome->welcome.grant.roots, 1);
        assert_int_equal(welcome->welcome.grant.group, 0);
        assert_int_equal(welcome->welcome.hosts, 0);
        (void)snprintf(want, sizeof want, "10.0.2.%u:%u", 1 + (i + 1) % RANKS, 25000 + (i + 1) % RANKS);
        assert_int_equal(welcome->welcome.peer[1].rank, (i + 1) % RANKS);
        assert_address(&welcome->welcome.peer[1].address, want);
    }
    assert_int_equal(opened_elsewhere(s), 0);
    assert_int_equal(s->fake.opens, 0);
    assert_string_equal(trib_job_scheme(s->h.jobs.first), "ring");
}

static void below__all_come_again_as_a_ring(void **state)
{
    struct switches *s = *state;
    come_all(s, SMALL);
    for (uint32_t i = 0; i < RANKS; i++) {
        expect_told(s, i,
                    "4,000,000 bytes of gradients an iteration are below the switch's threshold of 40,000,000 "
                    "(--threshold)");
    }
    assert_int_equal(s->h.jobs.count, 0);
    come_as_ring(s);
    expect_ring(s, 1);
    assert_string_equal(s->h.jobs.first->settings.scheme, "switchml"); /* as they asked */
    register_ranks(s, RANKS, 0);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(s->h.process[i].readies, 1);
        assert_int_equal(s->h.process[i].rings, 1);
    }
}

static void below__by_one_byte(void **state)
{
    come_all(*state, THRESHOLD - 1);
    expect_told(*state, 0, "39,999,999 bytes");
}

static void at__stays_at_the_switch(void **state)
{
    come_all(*state, THRESHOLD);
    expect_at_switch(*state);
}

static void unknown__stays_at_the_switch(void **state)
{
    come_all(*state, 0);
    expect_at_switch(*state);
}

static void none__is_the_default(void **state)
{
    ((struct switches *)*state)->h.config.threshold = 0;
    come_all(*state, 1);
    expect_at_switch(*state);
}

/* Whoever asked for one, or for a hybrid of them, has it. */
static void ring__that_was_asked_for(void **state)
{
    static const char *const schemes[] = {"ring", "hybrid:3"};
    struct switches *s = *state;
    for (uint32_t k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < RANKS; i++) {
            struct trib_message join = join_with(i, SMALL);
            strcpy(join.join.settings.scheme, schemes[k]);
            (void)snprintf(join.join.job, sizeof join.join.job, "job-%u", k);
            come(s, RANKS * k + i, &join);
        }
    }
    for (uint32_t i = 0; i < 2 * RANKS; i++) {
        assert_int_equal(s->h.process[i].rings, 0);
        assert_int_equal(s->h.process[i].welcomes, 1);
    }
    assert_string_equal(trib_job_scheme(s->h.jobs.first), "hybrid:3");
}

/* Sums of a ring lack nobody, and it may go on where it is told to. */
static void below__with_a_quorum(void **state)
{
    struct switches *s = *state;
    for (uint32_t i = 0; i < RANKS; i++) {
        struct trib_message join = ring_join(i);
        strcpy(join.join.settings.scheme, "panama:2/3");
        come(s, i, &join);
    }
    expect_ring(s, 1);
}

static void below__with_a_fallback(void **state)
{
    struct switches *s = *state;
    for (uint32_t i = 0; i < RANKS; i++) {
        struct trib_message join = ring_join(i);
        join.join.settings.fallback = true;
        join.join.meet_port = i == 0 ? 7000 : 0;
        come(s, i, &join);
    }
    expect_ring(s, 1);
    assert_address(&s->h.process[2].welcome.welcome.meeting, "10.0.2.1:7000");
}

/* A scheme with caps has them divided by its switches: of a ring there are none, and its window is a ring's. */
static void below__with_caps(void **state)
{
    struct switches *s = *state;
    for (uint32_t i = 0; i < RANKS; i++) {
        struct trib_message join = ring_join(i);
        strcpy(join.join.settings.scheme, "panama");
        join.join.room = i == 1 ? 1472 : ROOM; /* less than one packet of each that may send */
        come(s, i, &join);
    }
    expect_ring(s, 1);
    assert_int_equal(s->h.process[0].welcome.welcome.grant.window, 1);
}

/* Ranks of a host are ranks of the ring. */
static void below__of_one_host(void **state)
{
    struct switches *s = *state;
    for (uint32_t i = 0; i < RANKS; i++) {
        struct trib_message join = ring_join(i);
        join.join.level0 = true;
        join.join.host = 7;
        come(s, i, &join);
    }
    expect_ring(s, 1);
}

static void settings__differ(void **state)
{
    struct switches *s = *state;
    struct trib_message join = join_with(0, SMALL);
    come(s, 0, &join);
    join = join_with(2, SMALL);
    come(s, 2, &join);
    join = join_with(1, 0);
    come(s, 1, &join);
    s->h.now_ns = trib_jobs_next_timeout(&s->h.jobs);
    trib_jobs_on_timeout(&s->h.jobs, s->h.now_ns);
    run_links(s);
    for (uint32_t i = 0; i < 3; i++) {
        expect_failed(&s->h, i, TRIB_ERR_SETTINGS,
                      "settings differ: gradient bytes are 4000000 on rank 0 and 0 on rank 1: all ranks say the same");
    }
}

static void stays__at_a_switch_below(void **state)
{
    struct switches *s = *state;
    s->fake.has_belows = s->lender[0].fake.has_belows = s->lender[1].fake.has_belows = true;
    come_below(s, 2, 2);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct trib_message join = join_with(i, SMALL);
        come(s, i, &join);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(s->h.process[i].rings, 0);
        assert_int_equal(s->h.process[i].welcomes, 1);
        assert_int_equal(s->h.process[i].welcome.welcome.peer_count, 0);
    }
    assert_true(s->h.jobs.first->stays); /* it is not said again when lenders have answered */
}

/* The others are a ring already when one is started anew behind a switch below: all hear why that cannot be. */
static void told__and_then_at_a_switch_below(void **state)
{
    struct switches *s = *state;
    s->fake.has_belows = s->lender[0].fake.has_belows = s->lender[1].fake.has_belows = true;
    come_all(s, SMALL);
    come_below(s, 2, 2);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct trib_message join = i == 2 ? join_with(i, SMALL) : ring_join(i);
        come(s, i, &join);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        expect_failed(&s->h, i, TRIB_ERR_REFUSED, "and other ranks do not know addresses below that switch");
    }
}

/* One that reaches the switch over IPv6 cannot be told of to one that does over IPv4. */
static void stays__of_two_families(void **state)
{
    struct switches *s = *state;
    assert_int_equal(trib_address_parse("[2001:db8::9]", 50001, &s->h.process[1].session.peer, NULL), TRIB_OK);
    come_all(s, SMALL);
    expect_at_switch(s);
}

/* Who came by a loopback address is where the others have found the switch, and the job's ranks stay what they were
 * where it stays. */
static void below__loopback_is_mended(void **state)
{
    struct switches *s = *state;
    s->h.process[0].session.peer = trib_address_v4(0x7f000001, 50000);
    s->h.process[1].session.peer = trib_address_v4(0x7f000001, 50001);
    come_all(s, SMALL);
    expect_told(s, 2, "are below");
    come_as_ring(s);
    assert_address(&s->h.process[2].welcome.welcome.peer[1].address, "10.0.0.1:25000");
    assert_address(&s->h.process[0].welcome.welcome.peer[1].address, "10.0.0.1:25001");
}

/* A rank that is started anew meanwhile has not heard it. The others wait for it, and are told nothing more. */
static void told__one_comes_as_it_was(void **state)
{
    struct switches *s = *state;
    come_all(s, SMALL);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct trib_message join = i == 1 ? join_with(i, SMALL) : ring_join(i);
        come(s, i, &join);
    }
    assert_int_equal(s->h.process[1].rings, 2);
    assert_true(s->h.process[1].has_ended);
    for (uint32_t i = 0; i < RANKS; i += 2) {
        assert_int_equal(s->h.process[i].rings, 1);
        assert_int_equal(s->h.process[i].welcomes, 0);
        assert_false(s->h.process[i].has_ended);
    }
    const struct trib_message join = ring_join(1);
    come(s, 1, &join);
    expect_ring(s, 1);
}

/* The switch is started anew in between, without a threshold: who has been told makes the others one. */
static void told__by_a_switch_that_had_a_threshold(void **state)
{
    struct switches *s = *state;
    s->h.config.threshold = 0;
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct trib_message join = i == 2 ? ring_join(i) : join_with(i, SMALL);
        come(s, i, &join);
    }
    for (uint32_t i = 0; i < 2; i++) {
        expect_told(s, i, "other ranks of the job were told to be a ring, when the switch had another threshold");
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = ring_join(i);
        come(s, i, &join);
    }
    expect_ring(s, 1);
}

/* Agents are waited for when one comes that was told elsewhere: the ring has nothing of them. */
static void told__while_lenders_are_asked(void **state)
{
    struct switches *s = *state;
    s->lender[0].is_mute = true;
    come_all(s, THRESHOLD);
    assert_int_equal(s->links, LENDERS);
    go(&s->h, 2);
    for (uint32_t i = RANKS; i-- > 0;) {
        struct trib_message join = ring_join(i);
        join.join.settings.gradient_bytes = THRESHOLD;
        come(s, i, &join);
    }
    assert_int_equal(s->h.process[0].welcome.welcome.peer_count, 2);
    register_ranks(s, RANKS, 0);
    s->lender[0].is_mute = false;
    s->lender[0].is_away = true;
    run_links(s);
    assert_int_equal(s->h.process[0].readies, 1);
    assert_int_equal(s->h.process[0].fails, 0);
}

/* The window of a ring is what the sockets of its ranks hold, whatever a switch has promised to others. */
static void below__beside_a_job_at_the_switch(void **state)
{
    struct switches *s = *state;
    const uint32_t room = 3 * 1472 * 100;
    s->h.config.receive_room = room;
    come_all(s, THRESHOLD);
    assert_int_equal(s->h.process[0].welcome.welcome.grant.window, 100);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct trib_message join = ring_join(i);
        strcpy(join.join.job, "ring");
        join.join.room = room;
        come(s, RANKS + i, &join);
    }
    assert_int_equal(s->h.process[RANKS].welcome.welcome.grant.window, room / 1472 / TRIB_PEERS_MAX);
}

/* And none is left over of a job whose ranks all leave instead. */
static void told__all_leave(void **state)
{
    struct switches *s = *state;
    const struct trib_message join = ring_join(0);
    come_all(s, SMALL);
    come(s, 0, &join);
    assert_int_equal(s->h.jobs.count, 1);
    go(&s->h, 0);
    assert_int_equal(s->h.jobs.count, 0);
    come_all(s, THRESHOLD); /* another one of that name */
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(s->h.process[i].welcomes, 1);
        assert_int_equal(s->h.process[i].welcome.welcome.peer_count, 0);
    }
}

static void restart(struct switches *s, uint64_t threshold)
{
    const struct trib_remote_output remotes = s->h.jobs.remotes;
    const struct trib_jobs_output output = s->h.jobs.output;
    for (uint32_t i = 0; i < RANKS; i++) {
        s->h.process[i].session.job = NULL;
        s->h.process[i].has_ended = true;
    }
    while (s->h.jobs.first != NULL) { /* a process that dies says nothing */
        for (uint32_t i = 0; i < RANKS; i++) {
            s->h.jobs.first->ranks[i].session = NULL;
        }
        trib_job_free(&s->h.jobs, s->h.jobs.first);
    }
    trib_processes_deinit(&s->h.jobs);
    run_links(s);
    s->h.config.boot += 1000;
    s->h.config.threshold = threshold;
    trib_jobs_init(&s->h.jobs, &s->h.config, &output);
    s->h.jobs.remotes = remotes;
}

static void back(struct switches *s, uint32_t rank, struct trib_message join, bool was_ready)
{
    join.join.known = s->h.process[rank].welcome.welcome.grant;
    join.join.was_ready = was_ready;
    come(s, rank, &join);
}

static void return__of_a_ring(void **state)
{
    static const uint64_t thresholds[] = {0, THRESHOLD, 1};
    struct switches *s = *state;
    come_as_ring(s);
    register_ranks(s, RANKS, 0);
    for (uint32_t k = 0; k < 3; k++) {
        const uint32_t communicator = s->h.process[0].welcome.welcome.grant.communicator;
        restart(s, thresholds[k]);
        for (uint32_t i = 0; i < RANKS; i++) {
            back(s, i, ring_join(i), true);
        }
        expect_ring(s, k + 2);
        assert_int_equal(s->h.process[0].welcome.welcome.grant.communicator, communicator);
        for (uint32_t i = 0; i < RANKS; i++) {
            assert_true(say_mark(&s->h, i, TRIB_MESSAGE_REGISTER, 7 + i));
        }
        run_links(s);
        assert_int_equal(s->h.process[2].readies, k + 2);
        assert_int_equal(s->h.process[2].ready.ready.mark, 7);
        assert_int_equal(s->h.process[2].rings, 0);
    }
}

/* Nobody has seen a READY, and one has no grant yet: it was told before, all the same. */
static void return__one_without_a_grant(void **state)
{
    struct switches *s = *state;
    come_as_ring(s);
    restart(s, 0);
    const struct trib_message join = ring_join(2);
    come(s, 2, &join);
    back(s, 0, ring_join(0), false);
    back(s, 1, ring_join(1), false);
    expect_ring(s, 2);
}

/* What was granted slots has them. */
static void return__of_a_job_at_the_switch(void **state)
{
    struct switches *s = *state;
    s->h.config.threshold = 0;
    come_all(s, SMALL);
    register_ranks(s, RANKS, 0);
    restart(s, THRESHOLD);
    for (uint32_t i = 0; i < RANKS; i++) {
        back(s, i, join_with(i, SMALL), true);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(s->h.process[i].rings, 0);
        assert_int_equal(s->h.process[i].welcomes, 2);
        assert_int_equal(s->h.process[i].welcome.welcome.root_count, 6);
    }
}

static void path__that_does_not_pass_names_the_threshold(void **state)
{
    struct switches *s = *state;
    const struct trib_message paths = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = false}};
    come_as_ring(s);
    assert_true(say(&s->h, 1, &paths));
    run_links(s);
    expect_failed(&s->h, 0, TRIB_ERR_UNREACHABLE,
                  "do not pass between rank 1 (10.0.2.2:50001) and a rank that it sends to or hears from, as a job "
                  "below a switch's --threshold does:");
}

static void refused__of_who_cannot_have_been_told(void **state)
{
    struct switches *s = *state;
    struct trib_message join = ring_join(0);
    join.join.settings.gradient_bytes = 0;
    come(s, 0, &join);
    expect_failed(&s->h, 0, TRIB_ERR_INVALID, "rank 0 joins as part of a ring, but no switch has told it to");
    join = ring_join(1);
    strcpy(join.join.settings.scheme, "hybrid:3");
    come(s, 1, &join);
    expect_failed(&s->h, 1, TRIB_ERR_INVALID, "rank 1 joins as part of a ring, but no switch has told it to");
    join = ring_join(2);
    come_below(s, 2, 2);
    come(s, 2, &join);
    expect_failed(&s->h, 2, TRIB_ERR_REFUSED, "scheme ring: its ranks send to each other");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_with_threshold, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(below__all_come_again_as_a_ring),
        TEST(below__by_one_byte),
        TEST(at__stays_at_the_switch),
        TEST(unknown__stays_at_the_switch),
        TEST(none__is_the_default),
        TEST(ring__that_was_asked_for),
        TEST(below__with_a_quorum),
        TEST(below__with_a_fallback),
        TEST(below__with_caps),
        TEST(below__of_one_host),
        TEST(below__beside_a_job_at_the_switch),
        TEST(settings__differ),
        TEST(stays__at_a_switch_below),
        TEST(told__and_then_at_a_switch_below),
        TEST(stays__of_two_families),
        TEST(below__loopback_is_mended),
        TEST(told__one_comes_as_it_was),
        TEST(told__by_a_switch_that_had_a_threshold),
        TEST(told__while_lenders_are_asked),
        TEST(told__all_leave),
        TEST(return__of_a_ring),
        TEST(return__one_without_a_grant),
        TEST(return__of_a_job_at_the_switch),
        TEST(path__that_does_not_pass_names_the_threshold),
        TEST(refused__of_who_cannot_have_been_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
