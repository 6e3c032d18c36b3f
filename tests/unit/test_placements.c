/* SPDX-License-Identifier: Apache-2.0 */
/* test_placements.c: the agents of a job: which of them are left when it has fewer roots than were dealt, which jobs
 * send to one socket, and what an agent is asked that has several roots. Mirrors src/control/jobs/placements.c and
 * answers.c; what is asked of ranks and of lenders is told in test_roots.c and test_switches.c. */
#include "switches_harness.h"

#include "control/jobs/missing.h"
#include "control/jobs/placements.h"

/* ---- which agents ---- */

/* A letter for each root: "h" this switch, "A" to "C" lenders, digits ranks. */
static void add_all(struct trib_job *job, const char *agents, struct trib_remote *remotes)
{
    job->grant.roots = (uint32_t)strlen(agents);
    for (uint32_t t = 0; agents[t] != '\0'; t++) {
        struct trib_placement where = {.carrier = TRIB_CARRIER_CALL};
        uint32_t before = 0;
        if (agents[t] >= 'A' && agents[t] <= 'C') {
            where = (struct trib_placement){.carrier = TRIB_CARRIER_REMOTE, .remote = &remotes[agents[t] - 'A']};
        } else if (agents[t] != 'h') {
            where = (struct trib_placement){.carrier = TRIB_CARRIER_RANK, .rank = (uint16_t)(agents[t] - '0')};
        }
        for (uint32_t s = 0; s < t; s++) {
            before += agents[s] == agents[t];
        }
        trib_placements_add(job, t, &where, before);
    }
}

static struct trib_job *job_of(uint32_t ranks)
{
    struct trib_job *job = calloc(1, sizeof *job + ranks * sizeof job->ranks[0]);
    assert_non_null(job);
    job->settings.ranks = ranks;
    for (uint32_t i = 0; i < ranks; i++) {
        job->ranks[i].address = trib_address_v4(0x0a000001 + i, 50000);
        job->ranks[i].root_port = (uint16_t)(30000 + 100 * i);
    }
    return job;
}

static void trim__leaves_those_with_a_root(void **state)
{
    static const struct {
        const char *agents;
        uint32_t all;
        uint32_t left[7]; /* with 0 roots, 1, 2 and so on */
    } cases[] = {
        {"h", 1, {0, 1}},
        {"hhhh", 1, {0, 1, 1, 1, 1}},
        {"hABhAB", 3, {0, 1, 2, 3, 3, 3, 3}},
        {"AhAh", 2, {0, 1, 2, 2, 2}},
        {"001122", 3, {0, 1, 1, 2, 2, 3, 3}},
        {"012012", 3, {0, 1, 2, 3, 3, 3, 3}},
        {"ABCBA", 3, {0, 1, 2, 3, 3, 3}},
    };
    struct trib_remote remotes[3] = {{.shards = 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_job *job = job_of(3);
        for (uint32_t roots = 1; roots <= strlen(cases[i].agents); roots++) {
            add_all(job, cases[i].agents, remotes);
            assert_int_equal(job->placements, cases[i].all);
            job->grant.roots = roots;
            trib_placements_trim(job);
            assert_int_equal(job->placements, cases[i].left[roots]);
            bool is_here = memchr(cases[i].agents, 'h', roots) != NULL;
            bool has_b = memchr(cases[i].agents, 'B', roots) != NULL;
            bool has_1 = memchr(cases[i].agents, '1', roots) != NULL;
            assert_int_equal(trib_placements_are_here(job), is_here);
            assert_int_equal(trib_placement_of_remote(job, &remotes[1]) != NULL, has_b);
            assert_int_equal(trib_placement_of_rank(job, 1) != NULL, has_1);
        }
        job->placements = 0; /* ranks that send to each other have none */
        trib_placements_trim(job);
        assert_int_equal(job->placements, 0);
        free(job);
    }
}

/* What was asked of an agent before is not asked of it in the next incarnation. */
static void add__begins_anew(void **state)
{
    struct trib_remote remotes[3] = {{.shards = 1}};
    struct trib_job *job = job_of(3);
    (void)state;
    add_all(job, "AhA", remotes);
    job->placement[0].is_asked = job->placement[0].is_ready = job->placement[1].is_ready = true;
    add_all(job, "hA", remotes);
    assert_int_equal(job->placements, 2);
    assert_int_equal(job->placement[0].carrier, TRIB_CARRIER_CALL);
    assert_false(job->placement[0].is_asked || job->placement[0].is_ready || job->placement[1].is_ready);
    assert_false(trib_placements_are_ready(job));
    job->placement[1].is_ready = true;
    assert_true(trib_placements_are_ready(job));
    free(job);
}

/* How much it was is for whoever sets the quotas. */
static void open__without_memory_here(void **state)
{
    struct switches *s = *state;
    s->fake.refuses = true;
    join_ranks(s, 2);
    expect_failed(&s->h, 0, TRIB_ERR_MEMORY, "the switch cannot get the memory that job digits needs, 1.9 KiB: ");
    expect_failed(&s->h, 1, TRIB_ERR_MEMORY, trib_status_text(TRIB_ERR_MEMORY));
    assert_int_equal(s->h.jobs.count, 0);
    assert_int_equal(s->h.jobs.agent.memory_used, 0);
    assert_null(s->lender[0].jobs.masters.lendings);
}

/* ---- whose packets meet ---- */

static void meet__at_a_socket_of_one_agent(void **state)
{
    /* Ranks 0 and 1 of both jobs are the same processes, and
     * rank 2 of the second job is at the address of rank 1, with other ports. */
    static const struct {
        const char *a, *b;
        bool meet;
    } cases[] = {
        {"h", "h", true},   {"hA", "hB", true},   {"Ah", "B", false},    {"A", "A", true},     {"AB", "C", false},
        {"AB", "CB", true}, {"h", "A", false},    {"0", "0", true},      {"01", "1", true},    {"0", "1", false},
        {"1", "2", false},  {"00", "0", true},    {"0", "h", false},     {"h", "", false},     {"", "h", false},
        {"", "", false},    {"012", "210", true}, {"hhhh", "ABh", true}, {"hAhA", "B", false},
    };
    struct trib_remote remotes[3] = {{.shards = 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_job *a = job_of(3), *b = job_of(3);
        b->ranks[2].address = b->ranks[1].address;
        add_all(a, cases[i].a, remotes);
        add_all(b, cases[i].b, remotes);
        if (trib_placements_meet(a, b) != cases[i].meet || trib_placements_meet(b, a) != cases[i].meet) {
            fail_msg("\"%s\" and \"%s\"", cases[i].a, cases[i].b);
        }
        assert_int_equal(trib_placements_meet(a, NULL), strchr(cases[i].a, 'h') != NULL);
        free(a);
        free(b);
    }
}

/* Two sockets of one process are two sockets. */
static void meet__not_at_another_socket(void **state)
{
    const struct trib_placement rank = {.carrier = TRIB_CARRIER_RANK, .rank = 1};
    struct trib_job *a = job_of(3), *b = job_of(3);
    (void)state;
    a->grant.roots = b->grant.roots = 1;
    trib_placements_add(a, 0, &rank, 0);
    trib_placements_add(b, 0, &rank, 1);
    assert_false(trib_placements_meet(a, b));
    trib_placements_add(b, 0, &rank, 0);
    assert_true(trib_placements_meet(a, b));
    free(a);
    free(b);
}

/* ---- questions ---- */

/* Questions in an inbox that have not been read. */
static uint32_t questions(const struct trib_message *inbox, uint32_t from, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t i = from; i < end; i++) {
        count += inbox[i].kind == TRIB_MESSAGE_ROOT_MISSING;
    }
    return count;
}

/* Each rank has two cards, and so two roots: rank 0 has roots 0 and 1, rank 1 roots 2 and 3. */
static void question__one_for_both_roots_of_a_rank(void **state)
{
    struct hosts *h = *state;
    struct process *agent = &h->process[0];
    join_two_cards(h, 3);
    for (uint32_t i = 0; i < 3; i++) {
        register_rank(h, i, 0);
    }
    uint64_t train = agent->welcome.welcome.grant.train;
    assert_int_equal(agent->welcome.welcome.root_count, 6);
    agent->is_stuck = true;
    agent->plane.missing_count = h->process[1].plane.missing_count = 1;
    agent->plane.missing[0] = 2;
    assert_true(say_stall(h, 0, 0, 1000));
    assert_true(say_stall(h, 1, train, 1000));     /* the other root of the same agent */
    assert_true(say_stall(h, 2, 2 * train, 1000)); /* another agent, which is free */
    assert_true(say_stall(h, 1, train + 1, 1000)); /* it waits on something else by now */
    assert_int_equal(questions(agent->inbox, agent->read, agent->arrived), 1);
    pump(h);
    assert_int_equal(h->process[1].asked, 1);
    assert_int_equal(h->process[2].missings, 1);
    assert_int_equal(h->process[2].missing.stall.missing.rank[0], 0);
    assert_int_equal(h->process[1].missings, 0);
    agent->is_stuck = false;
    pump(h);
    assert_int_equal(agent->asked, 2); /* not on what nobody waits for any more */
    assert_int_equal(agent->plane.missing_sequence, train + 1);
    assert_int_equal(agent->missings, 1);
    assert_int_equal(agent->missing.stall.sequence, 0);
    assert_int_equal(h->process[1].missings, 1);
    assert_int_equal(h->process[1].missing.stall.sequence, train + 1);
    assert_int_equal(h->process[1].missing.stall.missing.count, 1); /* though rank 2 waits as well */
    assert_int_equal(h->process[1].missing.stall.missing.rank[0], 2);
    assert_true(say_stall(h, 1, train, 2000)); /* and the agent may be asked again */
    pump(h);
    assert_int_equal(agent->asked, 3);
}

/* An answer on the other root is none to the question. */
static void question__answered_on_another_sequence(void **state)
{
    struct hosts *h = *state;
    join_two_cards(h, 2);
    register_rank(h, 0, 0);
    register_rank(h, 1, 0);
    uint64_t train = h->process[0].welcome.welcome.grant.train;
    struct trib_message answer = {.kind = TRIB_MESSAGE_ROOT_MISSING};
    answer.of.communicator = h->process[0].welcome.welcome.grant.communicator;
    answer.of.boot = h->process[0].welcome.welcome.grant.boot;
    answer.root_missing.sequence = train;
    h->process[0].is_stuck = true;
    assert_true(say_stall(h, 1, 0, 1000));
    assert_true(say_stall(h, 0, train, 1000));
    assert_false(say(h, 0, &answer)); /* it has not been asked that yet */
    assert_false(say(h, 1, &answer)); /* nor has this agent */
    answer.root_missing.sequence = 0;
    assert_true(say(h, 0, &answer));
    assert_false(say(h, 0, &answer));
    answer.root_missing.sequence = train;
    assert_true(say(h, 0, &answer));
    h->process[0].arrived = h->process[0].read; /* what it was asked has been answered */
    pump(h);
    assert_int_equal(h->process[1].missings, 1);
}

/* The first sequence of root `root`: how roots follow each other is what their weights say. */
static uint64_t sequence_of(const struct trib_job *job, uint32_t root)
{
    uint64_t sequence = 0;
    while (trib_placements_root(job, sequence) != root) {
        sequence++;
    }
    return sequence;
}

static uint32_t asked_of(const struct switches *s, const struct plane *lender)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->links; i++) {
        count += s->link[i].lender == lender ? questions(s->link[i].up, 0, s->link[i].up_len) : 0;
    }
    return count;
}

/* This switch has roots 0 and 3, lender 0 roots 1 and 4, lender 1 roots 2 and 5. A lender is lost with its question, and
 * asked anew. */
static void question__one_for_both_roots_of_a_lender(void **state)
{
    struct switches *s = *state;
    struct plane *lender = &s->lender[0];
    run_ranks(s, 3);
    uint64_t one = sequence_of(s->h.jobs.first, 1);
    uint64_t four = sequence_of(s->h.jobs.first, 4);
    lender->fake.missing_count = 1;
    lender->fake.missing[0] = 2;
    for (uint32_t turn = 0; turn < 2; turn++) {
        lender->is_mute = true;
        assert_true(say_stall(&s->h, 0, one, 1000));
        assert_true(say_stall(&s->h, 1, four, 1000));
        run_links(s);
        assert_int_equal(asked_of(s, lender), turn + 1);
        assert_int_equal(asked_of(s, &s->lender[1]), 0);
        assert_int_equal(s->h.process[0].missings + s->h.process[1].missings, 0);
        if (turn == 0) { /* the question is lost with the lender */
            lender->is_mute = false;
            lender->is_away = true;
            run_links(s);
            assert_int_equal(s->h.jobs.stats.recalled, 1);
            assert_int_equal(s->h.jobs.agent.memory_used, 0);
            assert_int_equal(s->lender[1].jobs.agent.memory_used, 0);
            lender->is_away = false;
            return_ranks(s, 3);
            register_ranks(s, 3, 0);
            assert_int_equal(s->h.process[2].readies, 2);
        }
    }
    lender->is_mute = false;
    run_links(s);
    assert_int_equal(asked_of(s, lender), 3);
    assert_int_equal(s->h.process[0].missing.stall.missing.rank[0], 2);
    assert_int_equal(s->h.process[1].missing.stall.sequence, four);
    assert_int_equal(lender->jobs.agent.memory_used, 2 * SLOT_BYTES);
}

/* Errors name the agent that has been silent longest, and not one that was asked again a moment ago. */
static void question__of_the_silent_one_is_named(void **state)
{
    struct trib_remote remotes[3] = {{.shards = 1}, {.shards = 1}, {.shards = 1}};
    struct trib_job *job = job_of(3);
    (void)state;
    add_all(job, "ABC", remotes);
    for (uint32_t i = 0; i < 3; i++) {
        job->placement[i].is_asked = true;
        job->placement[i].asked = i == 2 ? 8 : 7;
    }
    job->placement[0].answered_ns = 500;
    job->placement[1].answered_ns = 100;
    assert_ptr_equal(trib_placement_asked(job, 7), &job->placement[1]);
    job->placement[0].answered_ns = 0; /* never */
    assert_ptr_equal(trib_placement_asked(job, 7), &job->placement[0]);
    free(job);
}

int main(void)
{
#define HOSTS(name) cmocka_unit_test_setup_teardown(name, hosts_start, hosts_stop)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trim__leaves_those_with_a_root),
        cmocka_unit_test(add__begins_anew),
        cmocka_unit_test_setup_teardown(open__without_memory_here, start, stop),
        cmocka_unit_test(meet__at_a_socket_of_one_agent),
        cmocka_unit_test(meet__not_at_another_socket),
        HOSTS(question__one_for_both_roots_of_a_rank),
        HOSTS(question__answered_on_another_sequence),
        cmocka_unit_test_setup_teardown(question__one_for_both_roots_of_a_lender, start, stop),
        cmocka_unit_test(question__of_the_silent_one_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
