/* SPDX-License-Identifier: Apache-2.0 */
/* test_roots.c: ranks that are the roots, as all goes well: who becomes one, what it is asked, and what the ranks are
 * told. Mirrors src/control/roots/roots.c and root.c; what goes wrong is test_roots_faults.c's. */
#include "control/jobs/answers.h"
#include "control/jobs/jobs.h"
#include "control/jobs/places.h"
#include "control/jobs/stall.h"
#include "net/resolve.h"
#include "roots_harness.h"

static void assert_address(const struct trib_address *address, const char *want)
{
    char text[64];
    trib_address_format(address, text);
    assert_string_equal(text, want);
}

static void join__every_host_is_a_root(void **state)
{
    struct hosts *h = *state;
    join_all(h, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct process *p = &h->process[i];
        char want[64];
        assert_int_equal(p->welcomes, 1);
        assert_int_equal(p->welcome.welcome.grant.roots, 4);
        assert_int_equal(p->welcome.welcome.root_count, 4);
        assert_int_equal(p->welcome.welcome.grant.data_port, 30000);
        for (uint32_t t = 0; t < 4; t++) {
            (void)snprintf(want, sizeof want, "10.0.0.%u:%u", 1 + t, 30000 + t);
            assert_address(&p->welcome.welcome.root[t], want);
            (void)snprintf(want, sizeof want, "10.0.0.%u:%u", 1 + t, 20000 + t);
            assert_address(&p->plane.from[t], want);
        }
        assert_int_equal(p->plane.opens, 1);
        assert_int_equal(p->plane.root[0], i);
        assert_int_equal(p->plane.shard[0], 0);
        assert_int_equal(p->plane.count, 4);
        assert_int_equal(p->plane.boot, BOOT);
        assert_int_equal(p->plane.session.communicator, p->welcome.welcome.grant.communicator);
        assert_int_equal(p->plane.session.slots, p->welcome.welcome.grant.slots);
        assert_int_equal(p->plane.session.train, p->welcome.welcome.grant.train);
        assert_int_equal(p->plane.session.wire, TRIB_FLOAT32);
    }
    assert_int_equal(h->jobs.agent.memory_used, 0); /* it is the ranks' own */
}

/* A root is open before any rank is welcome, so that it stands when the first path packet comes. */
static void join__roots_are_asked_before_welcome(void **state)
{
    struct hosts *h = *state;
    h->process[1].is_stuck = true;
    join_all(h, 2);
    const struct process *p = &h->process[1];
    assert_int_equal(p->arrived, 3);
    assert_int_equal(h->process[0].welcomes, 0);
    assert_int_equal(p->inbox[0].kind, TRIB_MESSAGE_ROOT_OPEN);
    assert_int_equal(p->inbox[1].kind, TRIB_MESSAGE_ROOT_CHILD);
    assert_int_equal(p->inbox[2].kind, TRIB_MESSAGE_ROOT_CHILD);
    h->process[1].is_stuck = false;
    pump(h);
    assert_int_equal(h->process[0].welcomes, 1);
    assert_int_equal(p->inbox[3].kind, TRIB_MESSAGE_WELCOME);
}

/* Root t is at card t mod n of its rank, and each rank sends to it from its own card t mod n. */
static void join__a_root_at_each_card(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message join = root_join(i, 3);
        join.join.address_count = i == 0 ? 0 : 2; /* rank 0 has one */
        join.join.address[0] = trib_address_v4(0x0a010001 + i, 0);
        join.join.address[1] = trib_address_v4(0x0a020001 + i, 0);
        join.join.data_port[1] = i == 0 ? 0 : (uint16_t)(21000 + i);
        join.join.weight = (uint8_t)(i + 1);
        assert_true(say(h, i, &join));
    }
    pump(h);
    const struct trib_message *welcome = &h->process[2].welcome;
    assert_int_equal(welcome->welcome.root_count, 5);
    assert_true(welcome->welcome.no_box);
    assert_address(&welcome->welcome.root[0], "10.0.0.1:30000");
    assert_address(&welcome->welcome.root[1], "10.2.0.2:30002"); /* the second card: 1 mod 2 */
    assert_address(&welcome->welcome.root[2], "10.1.0.2:30001");
    assert_address(&welcome->welcome.root[3], "10.2.0.3:30003");
    assert_address(&welcome->welcome.root[4], "10.1.0.3:30002");
    assert_address(&welcome->welcome.known_as, "10.1.0.3:0");
    static const uint8_t weights[] = {1, 2, 2, 3, 3};
    assert_memory_equal(welcome->welcome.grant.weight, weights, sizeof weights);
    const struct fake_plane *plane = &h->process[1].plane; /* the last that it opened: root 2 */
    assert_int_equal(plane->opens, 2);
    assert_int_equal(plane->root[0], 1);
    assert_int_equal(plane->shard[0], 1);
    assert_int_equal(plane->root[1], 2);
    assert_int_equal(plane->shard[1], 0);
    assert_address(&plane->from[0], "10.0.0.1:20000");
    assert_address(&plane->from[1], "10.1.0.2:20001");
    assert_address(&plane->from[2], "10.1.0.3:20002");
}

/* 17 hosts of two cards are 17 roots, at cards in turn. */
static void join__fewer_roots_than_cards(void **state)
{
    struct hosts *h = *state;
    join_two_cards(h, 17);
    const struct trib_message *welcome = &h->process[2].welcome;
    assert_int_equal(welcome->welcome.root_count, 17);
    assert_address(&welcome->welcome.root[0], "10.1.0.1:30000");
    assert_address(&welcome->welcome.root[1], "10.2.0.2:30002");
    assert_address(&welcome->welcome.root[8], "10.1.0.9:30008");
}

static void join__one_root_per_host(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 5; i++) {
        struct trib_message join = root_join(i, 5);
        join.join.host = i < 2 ? 7 : i < 4 ? 8 : 0;
        join.join.root_port = i == 0 ? 0 : join.join.root_port; /* it offers none: its neighbour is */
        assert_true(say(h, i, &join));
    }
    pump(h);
    const struct trib_message *welcome = &h->process[3].welcome;
    assert_int_equal(welcome->welcome.root_count, 3);
    assert_address(&welcome->welcome.root[0], "10.0.0.2:30001");
    assert_address(&welcome->welcome.root[1], "10.0.0.3:30002");
    assert_address(&welcome->welcome.root[2], "10.0.0.5:30004");
    assert_int_equal(h->process[0].plane.opens + h->process[3].plane.opens, 0);
}

/* Hosts that are not known may be one, or not. */
static void join__at_most_32_roots(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 36; i++) {
        struct trib_message join = root_join(i, 36);
        join.join.host = 0;
        assert_true(say(h, i, &join));
    }
    pump(h);
    assert_int_equal(h->process[35].welcome.welcome.grant.roots, 32);
    assert_int_equal(h->process[31].plane.opens, 1);
    assert_int_equal(h->process[31].plane.count, 36);
    assert_int_equal(h->process[32].plane.opens, 0);
    for (uint32_t i = 0; i < 36; i++) {
        register_rank(h, i, 0);
    }
    assert_int_equal(h->process[35].readies, 1);
}

/* A train is shared by all roots, so that a tensor of one train uses every link. */
static void join__window_and_train(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_message join = root_join(i, 4);
        join.join.room = i == 2 ? 4 * 1472 * 10 : ROOM;
        assert_true(say(h, i, &join));
    }
    pump(h);
    const struct trib_grant *grant = &h->process[0].welcome.welcome.grant;
    assert_int_equal(grant->window, 10); /* the smallest socket, shared by 4 */
    assert_int_equal(grant->slots, 20);
    assert_int_equal(grant->train, 5);
    h->now_ns += TRIB_SECOND_NS;
    for (uint32_t i = 4; i < 8; i++) { /* other processes */
        struct trib_message join = root_join(i - 4, 4);
        strcpy(join.join.job, "letters");
        join.join.root_port = (uint16_t)(30000 + i);
        join.join.data_port[0] = (uint16_t)(20000 + i);
        assert_true(say(h, i, &join));
    }
    pump(h);
    assert_int_equal(h->process[4].welcome.welcome.grant.window, 352); /* its roots have nothing else to do */
    assert_int_equal(h->process[4].welcome.welcome.grant.train, 11);
}

/* Another job of the same processes sends from the same sockets: both keep within one window. */
static void join__windows_of_the_same_processes_count_once(void **state)
{
    struct hosts *h = *state;
    join_all(h, 2);
    for (uint32_t i = 2; i < 4; i++) {
        struct trib_message join = root_join(i - 2, 2);
        strcpy(join.join.job, "letters");
        h->process[i].session.peer = h->process[i - 2].session.peer;
        assert_true(say(h, i, &join));
    }
    pump(h);
    assert_int_equal(h->process[0].welcome.welcome.grant.window, 352);
    assert_int_equal(h->process[2].welcome.welcome.grant.window, 352);
}

static void ready__waits_for_every_root(void **state)
{
    struct hosts *h = *state;
    join_all(h, 3);
    h->process[1].is_stuck = true;
    register_rank(h, 0, 0);
    register_rank(h, 1, 0);
    register_rank(h, 2, 0);
    assert_int_equal(h->process[0].plane.joins, 3);
    assert_int_equal(h->process[0].readies + h->process[2].readies, 0);
    h->process[1].is_stuck = false;
    pump(h);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(h->process[i].readies, 1);
        assert_int_equal(h->process[i].ready.ready.boot, BOOT);
        assert_int_equal(h->process[i].ready.ready.mark, 0);
        assert_false(h->process[i].ready.ready.multicast);
    }
    assert_int_equal(h->jobs.stats.started, 1);
}

static void mark__reaches_every_root_once(void **state)
{
    struct hosts *h = *state;
    run_all(h, 3);
    assert_true(say_mark(h, 1, TRIB_MESSAGE_MARK, 18));
    pump(h);
    assert_int_equal(h->process[1].mark, 0); /* M: nobody else has said anything */
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(h->process[i].plane.joins, 4);
        assert_int_equal(h->process[i].plane.marks[1], 18);
    }
    assert_true(say_mark(h, 0, TRIB_MESSAGE_MARK, 20));
    assert_true(say_mark(h, 2, TRIB_MESSAGE_MARK, 17));
    pump(h);
    assert_int_equal(h->process[1].mark, 17); /* M has risen */
    assert_int_equal(h->process[0].mark, 17);
}

static void close__of_all(void **state)
{
    struct hosts *h = *state;
    run_all(h, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(say_mark(h, i, TRIB_MESSAGE_CLOSE, 40 + i));
    }
    pump(h);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(h->process[i].closeds, 1);
        assert_int_equal(h->process[i].plane.closes, 1);
    }
    assert_int_equal(h->jobs.stats.closed, 1);
}

/* Who has sent CLOSE may go when all others have what it has; then nobody needs its root. */
static void close__of_one_root_when_all_have_everything(void **state)
{
    struct hosts *h = *state;
    run_all(h, 3);
    assert_true(say_mark(h, 0, TRIB_MESSAGE_CLOSE, 40));
    assert_true(say_mark(h, 1, TRIB_MESSAGE_MARK, 40));
    pump(h);
    assert_int_equal(h->process[0].closeds, 0);
    assert_true(say_mark(h, 2, TRIB_MESSAGE_MARK, 40));
    pump(h);
    assert_int_equal(h->process[0].closeds, 1);
    for (uint32_t i = 0; i < 3; i++) { /* who stays is told: should the control plane end with rank 0 nothing is lost */
        assert_int_equal(h->process[i].gones, i != 0);
    }
    assert_string_equal(h->process[1].gone.note.text, "rank 0 (10.0.0.1:50000) has closed the communicator");
    go(h, 0);
    assert_int_equal(h->process[1].fails + h->process[2].fails, 0);
    assert_true(say_mark(h, 1, TRIB_MESSAGE_CLOSE, 40));
    assert_true(say_mark(h, 2, TRIB_MESSAGE_CLOSE, 40));
    pump(h);
    assert_int_equal(h->process[2].closeds, 1);
}

/* What a control plane that is to retire is still needed for. */
static void duties__are_who_may_go_on(void **state)
{
    struct hosts *h = *state;
    struct trib_server_duties duties;
    trib_jobs_duties(&h->jobs, &duties);
    assert_int_equal(duties.jobs, 0);
    const struct trib_message joins[3] = {root_join(0, 3), root_join(1, 3), root_join(2, 3)};
    assert_true(say(h, 1, &joins[1]));
    trib_jobs_duties(&h->jobs, &duties);
    assert_int_equal(duties.jobs, 1);
    assert_int_equal(duties.awaited, 1); /* rank 0 is not there */
    assert_true(say(h, 0, &joins[0]));
    trib_jobs_duties(&h->jobs, &duties);
    assert_int_equal(duties.awaited + duties.needed, 0);
    assert_true(say(h, 2, &joins[2]));
    pump(h);
    for (uint32_t i = 0; i < 3; i++) {
        register_rank(h, i, 0);
    }
    trib_jobs_duties(&h->jobs, &duties);
    assert_int_equal(duties.needed, 1);
    assert_string_equal(duties.who, "ranks 0, 1, 2 of job digits");
    assert_true(say_mark(h, 2, TRIB_MESSAGE_CLOSE, 8));
    assert_true(say_mark(h, 1, TRIB_MESSAGE_MARK, 8));
    pump(h);
    trib_jobs_duties(&h->jobs, &duties);
    assert_int_equal(duties.needed, 1); /* rank 0 may lack what the others have */
    assert_true(say_mark(h, 0, TRIB_MESSAGE_MARK, 9));
    pump(h);
    trib_jobs_duties(&h->jobs, &duties);
    assert_int_equal(duties.needed, 0);
    assert_int_equal(duties.jobs, 1);
}

/* Ranks that join what they have made together are the ranks that there are: they wait for no other process. */
static void duties__are_ranks_that_join_a_subset(void **state)
{
    struct hosts *h = *state;
    struct trib_server_duties duties;
    run_all(h, 3);
    const struct trib_grant *grant = &h->process[0].welcome.welcome.grant;
    struct trib_message join = root_join(1, 2);
    strcpy(join.join.job, "digits/1");
    join.join.maker.communicator = grant->communicator;
    join.join.maker.job_token = grant->job_token;
    strcpy(join.join.maker.job, "digits");
    assert_true(say(h, 4, &join));
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(say_mark(h, i, TRIB_MESSAGE_CLOSE, 0));
    }
    pump(h);
    trib_jobs_duties(&h->jobs, &duties);
    assert_int_equal(duties.jobs, 1);
    assert_int_equal(duties.awaited, 0);
    assert_int_equal(duties.needed, 1);
    assert_string_equal(duties.who, "rank 1 of job digits/1");
}

/* Settings differ: all that were launched hear of it, also who comes late. */
static void join__differences_are_for_all(void **state)
{
    struct hosts *h = *state;
    struct trib_server_duties duties;
    struct trib_message joins[4] = {root_join(0, 4), root_join(1, 4), root_join(2, 4), root_join(3, 4)};
    joins[1].join.settings.payload = 1344;
    for (uint32_t i = 0; i < 4; i++) {
        trib_jobs_duties(&h->jobs, &duties);
        assert_int_equal(duties.jobs, i < 2 ? i : 2);
        assert_true(trib_jobs_next_timeout(&h->jobs) >= h->now_ns + h->config.join_timeout_ns); /* nobody is told yet */
        assert_true(say(h, i, &joins[i]));
    }
    h->now_ns = trib_jobs_next_timeout(&h->jobs);
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    pump(h);
    for (uint32_t i = 0; i < 4; i++) {
        expect_failed(h, i, TRIB_ERR_SETTINGS, "payload is 1408 on rank");
        expect_failed(h, i, TRIB_ERR_SETTINGS, "and 1344 on rank 1");
    }
    trib_jobs_duties(&h->jobs, &duties);
    assert_int_equal(duties.jobs, 0);
    assert_int_equal(trib_jobs_next_timeout(&h->jobs), TRIB_NEVER);
}

/* The only rank that lacks has come, and differs: it may be a stranger, before the one that is meant. */
static void join__a_difference_has_a_second(void **state)
{
    struct hosts *h = *state;
    const struct trib_message joins[2] = {root_join(0, 2), root_join(1, 2)};
    struct trib_message other = joins[1];
    other.join.settings.payload = 1344;
    assert_true(say(h, 0, &joins[0]));
    assert_true(say(h, 2, &other));
    h->now_ns += 999 * TRIB_MILLISECOND_NS;
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    assert_true(say(h, 1, &joins[1]));
    pump(h);
    assert_int_equal(h->process[0].welcomes + h->process[1].welcomes, 2);
    expect_failed(h, 2, TRIB_ERR_SETTINGS, "1344 on rank 1 (rank 0 came from");
    expect_failed(h, 2, TRIB_ERR_SETTINGS, ": job digits has all its ranks without");
}

/* Its process has the control plane: who stayed would find nobody there. */
static void join__differences_end_with_rank_0(void **state)
{
    struct hosts *h = *state;
    struct trib_message joins[2] = {root_join(0, 4), root_join(1, 3)};
    assert_true(say(h, 0, &joins[0]));
    h->now_ns++;
    assert_true(say(h, 1, &joins[1]));
    h->now_ns = trib_jobs_next_timeout(&h->jobs);
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    pump(h);
    expect_failed(h, 0, TRIB_ERR_TIMEOUT, "settings differ: ranks is 4 on rank 0 and 3 on rank 1");
    expect_failed(h, 1, TRIB_ERR_SETTINGS, "settings differ: ranks is 4 on rank 0 and 3 on rank 1");
}

static void stall__is_answered_by_the_root(void **state)
{
    struct hosts *h = *state;
    run_all(h, 3);
    uint32_t train = h->process[0].welcome.welcome.grant.train;
    uint64_t sequence = train + 1; /* root 1's */
    h->process[1].plane.missing[0] = 2;
    h->process[1].plane.missing_count = 1;
    assert_true(say_stall(h, 0, sequence, 1000));
    assert_int_equal(h->process[0].missings, 0); /* not known yet */
    pump(h);
    assert_int_equal(h->process[1].plane.missing_sequence, sequence);
    assert_int_equal(h->process[0].asked + h->process[2].asked, 0);
    assert_int_equal(h->process[0].missings, 1);
    const struct trib_message *missing = &h->process[0].missing;
    assert_int_equal(missing->stall.sequence, sequence);
    assert_int_equal(missing->stall.since_ms, 1000);
    assert_int_equal(missing->stall.missing.count, 1);
    assert_int_equal(missing->stall.missing.rank[0], 2);
    assert_string_equal(missing->stall.where, "");
}

/* Of weights 2, 1 and 1 (the second says none) four trains go to the roots 0, 1, 0 and 2. */
static void weights__are_dealt_and_known_to_all(void **state)
{
    struct hosts *h = *state;
    static const uint8_t weight[TRIB_ROOTS_MAX] = {2, 0, 1};
    static const uint32_t roots[4] = {0, 1, 0, 2};
    unsigned asked[3] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message join = root_join(i, 3);
        join.join.weight = weight[i];
        assert_true(say(h, i, &join));
    }
    pump(h);
    for (uint32_t i = 0; i < 3; i++) {
        assert_memory_equal(h->process[i].welcome.welcome.grant.weight, weight, sizeof weight);
        assert_memory_equal(h->process[i].plane.session.weight, weight, sizeof weight);
        register_rank(h, i, 0);
    }
    for (uint32_t train = 0; train < 4; train++) {
        uint64_t sequence = (uint64_t)train * h->process[0].welcome.welcome.grant.train;
        assert_true(say_stall(h, 1, sequence, 1000));
        pump(h);
        asked[roots[train]]++;
        assert_int_equal(h->process[roots[train]].asked, asked[roots[train]]);
        assert_int_equal(h->process[roots[train]].plane.missing_sequence, sequence);
    }
}

/* Many ranks wait: one question at a time, and one answer to each rank. */
static void stall__of_many_asks_once(void **state)
{
    struct hosts *h = *state;
    run_all(h, 4);
    uint32_t train = h->process[0].welcome.welcome.grant.train;
    h->process[1].plane.missing[0] = 2;
    h->process[1].plane.missing[1] = 3;
    h->process[1].plane.missing_count = 2;
    h->process[1].is_stuck = true;
    assert_true(say_stall(h, 0, train, 1000));
    assert_true(say_stall(h, 3, train, 1000));
    assert_true(say_stall(h, 1, train + 2, 1000)); /* another sequence of the same root */
    h->process[1].is_stuck = false;
    pump(h);
    assert_int_equal(h->process[1].asked, 2);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(h->process[i].missings, i == 2 ? 0 : 1);
    }
    for (uint32_t i = 0; i < 4; i++) { /* rank 3 waits too, and its part is not there */
        const struct trib_rank_list *missing = &h->process[i].missing.stall.missing;
        assert_int_equal(missing->count, i == 2 ? 0 : 2);
        assert_int_equal(missing->rank[0], i == 2 ? 0 : 2);
        assert_int_equal(missing->rank[1], i == 2 ? 0 : 3);
    }
    assert_int_equal(h->process[1].missing.stall.sequence, train + 2);
}

#define MANY 200

static void keep_missing(void *owner, struct trib_session *session, const struct trib_message *message)
{
    (void)session;
    assert_int_equal(message->kind, TRIB_MESSAGE_MISSING);
    *(struct trib_message *)owner = *message;
}

/* All ranks lack, says a root, and it names the first 128. But ranks 1 to 99 are at one switch below, which lacks rank 7
 * alone: the answer names no rank twice, and none that nobody has named. */
static void stall__of_many_ranks_names_those_that_are_known(void **state)
{
    struct trib_message last = {0};
    struct trib_server_config config = {.join_timeout_ns = TRIB_SECOND_NS};
    const struct trib_jobs_output output = {.owner = &last, .send = keep_missing};
    struct trib_jobs jobs = {.config = &config, .output = output, .agents = &trib_places_agents};
    struct trib_session session = {0};
    struct trib_remote remote[2] = {{.shards = 1}, {.shards = 1, .is_below = true}};
    struct trib_job *job = calloc(1, sizeof *job + MANY * sizeof job->ranks[0]);
    struct trib_inner below = {.placement = {.carrier = TRIB_CARRIER_REMOTE, .remote = &remote[1]}};
    (void)state;
    assert_non_null(job);
    job->settings.ranks = MANY;
    job->settings.payload = 64;
    job->settings.wire = TRIB_WIRE_FLOAT32;
    strcpy(job->settings.scheme, "switchml");
    job->grant = (struct trib_grant){.roots = 1, .train = 1, .slots = 8, .window = 2, .generation = 1};
    job->is_open = true;
    job->placements = job->belows = 1;
    job->placement[0] = (struct trib_placement){.carrier = TRIB_CARRIER_REMOTE, .remote = &remote[0]};
    job->below = &below;
    for (uint16_t i = 0; i < MANY; i++) {
        job->ranks[i].below = i >= 1 && i < 100;
        trib_rank_list_add(&job->placement[0].lacks, i);
    }
    trib_rank_list_add(&below.placement.lacks, 7);
    below.placement.answered = job->placement[0].answered = 5;
    below.placement.answered_ns = job->placement[0].answered_ns = 1;
    job->ranks[0].session = &session;
    job->ranks[0].stall = (struct trib_stall){.sequence = 5, .at_ns = 1, .is_open = true};
    assert_true(trib_job_missing(&jobs, job, 5, 2));
    assert_int_equal(last.stall.missing.count, 2 + 28);
    for (uint32_t i = 0; i < 2 + 28; i++) {
        assert_int_equal(last.stall.missing.rank[i], i == 0 ? 0 : i == 1 ? 7 : 98 + i);
    }
    free(job);
}

/* A root that says nothing for a second is named itself. */
static void stall__names_a_silent_root(void **state)
{
    struct hosts *h = *state;
    run_all(h, 3);
    h->process[0].is_stuck = true;
    assert_true(say_stall(h, 1, 0, 1000));
    h->now_ns += TRIB_SECOND_NS;
    assert_true(say_stall(h, 1, 0, 2000));
    pump(h);
    assert_int_equal(h->process[1].missings, 1);
    assert_int_equal(h->process[1].missing.stall.missing.count, 0);
    assert_string_equal(h->process[1].missing.stall.where, "rank 0 (10.0.0.1:50000), its root");
    h->process[0].is_stuck = false;
    h->process[0].plane.missing[0] = 2;
    h->process[0].plane.missing_count = 1;
    pump(h);
    assert_int_equal(h->process[0].asked, 1); /* it was not asked again */
    assert_int_equal(h->process[1].missings, 2);
    assert_string_equal(h->process[1].missing.stall.where, "");
    assert_int_equal(h->process[1].missing.stall.missing.count, 1);
}

static void mismatch__is_told_by_a_root(void **state)
{
    struct hosts *h = *state;
    const uint32_t ranks[2] = {2, 0};
    struct trib_message answer;
    run_all(h, 3);
    trib_root_mismatch(&h->process[1].root, 17, ranks, &answer);
    assert_int_equal(answer.kind, TRIB_MESSAGE_DISPUTE);
    assert_true(say(h, 1, &answer));
    trib_root_mismatch(&h->process[1].root, 18, ranks, &answer);
    assert_int_equal(answer.kind, TRIB_MESSAGE_NONE); /* once */
    pump(h);
    assert_int_equal(h->process[0].describes + h->process[2].describes, 2);
    const struct trib_message barrier = {.kind = TRIB_MESSAGE_OPERATION, .operation = {17, "barrier"}};
    const struct trib_message reduce = {.kind = TRIB_MESSAGE_OPERATION, .operation = {17, "allreduce"}};
    assert_true(say(h, 0, &barrier));
    assert_true(say(h, 2, &reduce));
    pump(h);
    for (uint32_t i = 0; i < 3; i++) {
        expect_failed(h, i, TRIB_ERR_MISMATCH, "rank 0 called barrier, rank 2 called allreduce");
        assert_int_equal(h->process[i].plane.closes, 1);
    }
}

/* Ranks on the control plane's own host may have come by a loopback address: others find them where they found that
 * host. */
static void address__of_loopback_is_mended(void **state)
{
    struct hosts *h = *state;
    h->process[0].session.peer = trib_address_v4(0x7f000101, 50000); /* as hosts files have it */
    h->process[0].session.local = trib_address_v4(0x7f000001, 7470);
    h->process[2].session.peer = trib_address_v4(0x7f000001, 50002);
    join_all(h, 3);
    assert_address(&h->process[1].welcome.welcome.root[0], "10.0.0.1:30000");
    assert_address(&h->process[1].welcome.welcome.root[1], "10.0.0.2:30001");
    assert_address(&h->process[1].plane.from[0], "10.0.0.1:20000");
    assert_address(&h->process[1].plane.from[2], "10.0.0.1:20002");
}

static void address__of_loopback_stays_among_themselves(void **state)
{
    struct hosts *h = *state;
    h->process[0].session.peer = trib_address_v4(0x7f000101, 50000);
    h->process[1].session.peer = trib_address_v4(0x7f000001, 50001);
    join_all(h, 2);
    assert_address(&h->process[1].welcome.welcome.root[0], "127.0.1.1:30000");
}

static void address__of_one_link_is_refused(void **state)
{
    struct hosts *h = *state;
    assert_int_equal(trib_address_parse("[2001:db8::1]:50000", 0, &h->process[0].session.peer, NULL), TRIB_OK);
    assert_int_equal(trib_address_parse("[fe80::1%lo]:50001", 0, &h->process[1].session.peer, NULL), TRIB_OK);
    join_all(h, 2);
    expect_failed(h, 0, TRIB_ERR_UNREACHABLE, "rank 1 ([fe80::1%lo]:50001) comes from a link-local address");
}

static void address__of_another_version_is_refused(void **state)
{
    struct hosts *h = *state;
    assert_int_equal(trib_address_parse("[2001:db8::2]:50001", 0, &h->process[1].session.peer, NULL), TRIB_OK);
    join_all(h, 2);
    expect_failed(h, 1, TRIB_ERR_UNREACHABLE, "rank 1 ([2001:db8::2]:50001) comes over another version of IP");
}

static void address__ipv6(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 2; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "[2001:db8::%u]:%u", 1 + i, 50000 + i);
        assert_int_equal(trib_address_parse(text, 0, &h->process[i].session.peer, NULL), TRIB_OK);
    }
    run_all(h, 2);
    assert_address(&h->process[0].welcome.welcome.root[1], "[2001:db8::2]:30001");
    assert_address(&h->process[1].plane.from[0], "[2001:db8::1]:20000");
}

/* A job of no roots would be dealt to nobody. */
static void known__without_roots_is_refused(void **state)
{
    struct hosts *h = *state;
    struct trib_message join = root_join(0, 1);
    join.join.known = (struct trib_grant){.salt = 1,
                                          .token = 2,
                                          .job_token = 4,
                                          .communicator = 3,
                                          .boot = 4,
                                          .train = 11,
                                          .slots = 100,
                                          .window = 50,
                                          .generation = 1};
    assert_true(say(h, 0, &join));
    pump(h);
    expect_failed(h, 0, TRIB_ERR_INVALID, "brings an invalid grant");
    assert_null(h->jobs.first);
}

/* Ranks that come from a switch that is gone bring their grant along: as many roots, in turn over those that there
 * are. */
static void known__roots_are_dealt_in_turn(void **state)
{
    struct hosts *h = *state;
    const struct trib_grant known = {.salt = 1,
                                     .token = 2,
                                     .job_token = 4,
                                     .communicator = 3,
                                     .boot = 4,
                                     .roots = 3,
                                     .train = 11,
                                     .slots = 100,
                                     .window = 50,
                                     .generation = 1,
                                     .data_port = 7470};
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = root_join(i, 2);
        join.join.known = known;
        join.join.was_ready = true;
        assert_true(say(h, i, &join));
    }
    pump(h);
    const struct trib_message *welcome = &h->process[1].welcome;
    assert_int_equal(welcome->welcome.grant.communicator, 3);
    assert_int_equal(welcome->welcome.grant.train, 11);
    assert_int_equal(welcome->welcome.grant.boot, BOOT);
    assert_int_equal(welcome->welcome.root_count, 3);
    assert_address(&welcome->welcome.root[0], "10.0.0.1:30000");
    assert_address(&welcome->welcome.root[1], "10.0.0.2:30001");
    assert_address(&welcome->welcome.root[2], "10.0.0.1:30001");
    const struct fake_plane *plane = &h->process[0].plane;
    assert_int_equal(plane->opens, 2);
    assert_int_equal(plane->root[0], 0);
    assert_int_equal(plane->shard[0], 0);
    assert_int_equal(plane->root[1], 2);
    assert_int_equal(plane->shard[1], 1);
    assert_true(say_mark(h, 0, TRIB_MESSAGE_REGISTER, 7));
    assert_true(say_mark(h, 1, TRIB_MESSAGE_REGISTER, 5));
    pump(h);
    assert_int_equal(plane->joins, 2); /* once a process */
    assert_int_equal(h->process[0].readies, 1);
    assert_int_equal(h->process[1].ready.ready.mark, 5);
}

/* The socket of a switch may hold more than those of ranks: slots and trains stay, what is in flight is less. */
static void known__window_is_what_the_roots_hold(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = root_join(i, 2);
        join.join.known = (struct trib_grant){.salt = 1,
                                              .token = 2,
                                              .job_token = 4,
                                              .communicator = 3,
                                              .boot = 4,
                                              .roots = 2,
                                              .train = 11,
                                              .slots = 100,
                                              .window = 50,
                                              .generation = 1,
                                              .data_port = 7470};
        join.join.was_ready = true;
        join.join.room = i == 0 ? ROOM : 20 * (TRIB_HEADER_SIZE + 1408); /* of two children */
        assert_true(say(h, i, &join));
    }
    pump(h);
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_grant *grant = &h->process[i].welcome.welcome.grant;
        assert_int_equal(grant->window, 10);
        assert_int_equal(grant->slots, 100);
        assert_int_equal(grant->train, 11);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hosts_start, hosts_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(join__every_host_is_a_root),
        TEST(join__roots_are_asked_before_welcome),
        TEST(join__a_root_at_each_card),
        TEST(join__fewer_roots_than_cards),
        TEST(join__one_root_per_host),
        TEST(join__at_most_32_roots),
        TEST(join__window_and_train),
        TEST(join__windows_of_the_same_processes_count_once),
        TEST(ready__waits_for_every_root),
        TEST(mark__reaches_every_root_once),
        TEST(close__of_all),
        TEST(close__of_one_root_when_all_have_everything),
        TEST(duties__are_who_may_go_on),
        TEST(duties__are_ranks_that_join_a_subset),
        TEST(join__differences_are_for_all),
        TEST(join__a_difference_has_a_second),
        TEST(join__differences_end_with_rank_0),
        TEST(stall__is_answered_by_the_root),
        TEST(weights__are_dealt_and_known_to_all),
        TEST(stall__of_many_asks_once),
        cmocka_unit_test(stall__of_many_ranks_names_those_that_are_known),
        TEST(stall__names_a_silent_root),
        TEST(mismatch__is_told_by_a_root),
        TEST(address__of_loopback_is_mended),
        TEST(address__of_loopback_stays_among_themselves),
        TEST(address__of_one_link_is_refused),
        TEST(address__of_another_version_is_refused),
        TEST(address__ipv6),
        TEST(known__without_roots_is_refused),
        TEST(known__roots_are_dealt_in_turn),
        TEST(known__window_is_what_the_roots_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
