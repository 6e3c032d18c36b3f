/* SPDX-License-Identifier: Apache-2.0 */
/* test_roots_faults.c: ranks that are the roots, as things go wrong: roots that die, cannot open or say nothing, joins
 * that do not belong there, and messages that are out of turn, foreign or nonsense, on both sides. Mirrors
 * src/control/roots/roots.c and root.c. */
#include "control/jobs/here.h"
#include "control/jobs/jobs.h"
#include "control/roots/leaves.h"
#include "roots_harness.h"

/* ---- ends ---- */

static void death__of_a_root_is_the_end(void **state)
{
    struct hosts *h = *state;
    run_all(h, 3);
    go(h, 1);
    expect_failed(h, 0, TRIB_ERR_PEER, "rank 1 (10.0.0.2:50001) is gone: its session closed");
    expect_failed(h, 2, TRIB_ERR_PEER, "rank 1");
    assert_int_equal(h->process[0].plane.closes + h->process[2].plane.closes, 2);
    assert_int_equal(h->jobs.count, 0);
    /* The control plane is in rank 0's process: if that ends at its error, the others must have been told before. */
    assert_int_equal(h->process[2].told, 1);
    assert_int_equal(h->process[0].told, 2);
}

static void death__before_ready(void **state)
{
    struct hosts *h = *state;
    join_all(h, 3);
    register_rank(h, 0, 0);
    go(h, 1);
    expect_failed(h, 2, TRIB_ERR_PEER, "rank 1");
}

static void death__before_all_are_there_gives_up_the_place(void **state)
{
    struct hosts *h = *state;
    struct trib_message join = root_join(0, 2);
    assert_true(say(h, 0, &join));
    go(h, 0);
    assert_int_equal(h->jobs.count, 0);
    for (uint32_t i = 0; i < 2; i++) {
        join = root_join(i, 2);
        assert_true(say(h, 1 + i, &join)); /* other processes */
    }
    pump(h);
    assert_int_equal(h->process[1].welcomes, 1);
}

/* It has sent CLOSE, and waited for CLOSED no longer: what the others lack is lost with it. */
static void close__of_a_root_that_others_need(void **state)
{
    struct hosts *h = *state;
    run_all(h, 3);
    assert_true(say_mark(h, 1, TRIB_MESSAGE_CLOSE, 40));
    assert_true(say_mark(h, 2, TRIB_MESSAGE_CLOSE, 40));
    pump(h);
    assert_int_equal(h->process[1].closeds, 0);
    go(h, 1);
    expect_failed(h, 0, TRIB_ERR_PEER,
                  "rank 1 (10.0.0.2:50001) is gone: it was a root of the job, and other ranks had not finished");
    assert_int_equal(h->process[2].closeds, 1);
}

/* A rank that is none may go as ever. */
static void close__of_a_rank_that_is_no_root(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = root_join(i, 2);
        join.join.host = 5;
        assert_true(say(h, i, &join));
    }
    pump(h);
    register_rank(h, 0, 0);
    register_rank(h, 1, 0);
    assert_true(say_mark(h, 1, TRIB_MESSAGE_CLOSE, 40));
    go(h, 1);
    assert_int_equal(h->process[0].fails, 0);
    assert_true(say_mark(h, 0, TRIB_MESSAGE_CLOSE, 40));
    pump(h);
    assert_int_equal(h->process[0].closeds, 1);
}

/* Rank 2 has closed, and comes back on another session before the end of its first one is seen: it is told nothing but
 * CLOSED, although rank 1 leaves meanwhile. Rank 0 is the only root. */
static void close__who_waits_outside_hears_nothing_else(void **state)
{
    struct hosts *h = *state;
    struct trib_message join;
    for (uint32_t i = 0; i < 3; i++) {
        join = root_join(i, 3);
        join.join.host = 5;
        assert_true(say(h, i, &join));
    }
    pump(h);
    for (uint32_t i = 0; i < 3; i++) {
        register_rank(h, i, 0);
    }
    pump(h);
    assert_true(say_mark(h, 2, TRIB_MESSAGE_CLOSE, 60));
    join.join.known = h->process[2].welcome.welcome.grant;
    join.join.was_ready = true;
    assert_true(say(h, 3, &join));
    assert_true(h->process[2].has_ended);
    assert_true(say_mark(h, 1, TRIB_MESSAGE_CLOSE, 40));
    assert_true(say_mark(h, 0, TRIB_MESSAGE_MARK, 40));
    pump(h);
    assert_int_equal(h->process[1].closeds, 1);
    assert_int_equal(h->process[0].gones, 1);
    assert_int_equal(h->process[3].arrived, 0);
    assert_true(say_mark(h, 0, TRIB_MESSAGE_CLOSE, 60));
    pump(h);
    assert_int_equal(h->process[3].closeds, 1);
    assert_int_equal(h->process[3].arrived, 1);
}

/* They had lost their switch. Rank 1 closes while it waits for READY, for which its root is needed as well. */
static void close__of_a_root_before_ready(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message join = root_join(i, 3);
        join.join.was_ready = true;
        join.join.known = (struct trib_grant){.job_token = 4,
                                              .communicator = 7,
                                              .boot = 99,
                                              .roots = 3,
                                              .train = 4,
                                              .slots = 32,
                                              .window = 16,
                                              .generation = 1};
        assert_true(say(h, i, &join));
    }
    pump(h);
    h->process[1].is_stuck = true;
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(say_mark(h, i, TRIB_MESSAGE_REGISTER, 40));
    }
    assert_true(say_mark(h, 1, TRIB_MESSAGE_CLOSE, 40));
    pump(h);
    h->process[1].is_stuck = false;
    pump(h);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(h->process[i].readies, 1);
        assert_int_equal(h->process[i].closeds + h->process[i].gones + h->process[i].fails, 0);
    }
    h->now_ns = trib_jobs_next_timeout(&h->jobs);
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    pump(h);
    assert_int_equal(h->process[1].closeds, 1);
    assert_int_equal(h->process[0].gones, 1);
}

/* Who waits on a sequence that a closed rank will never give hears so at once, without asking a root. */
static void stall__on_a_closed_rank(void **state)
{
    struct hosts *h = *state;
    run_all(h, 3);
    assert_true(say_mark(h, 1, TRIB_MESSAGE_CLOSE, 40));
    assert_true(say_stall(h, 0, 40, 1000));
    pump(h);
    expect_failed(h, 0, TRIB_ERR_PEER, "rank 0 waits on sequence 40, but rank 1 (10.0.0.2:50001) has closed");
}

/* The root says who lacks, and that rank has left. */
static void stall__on_a_rank_that_has_left(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message join = root_join(i, 3);
        join.join.host = 5; /* rank 0 is the only root */
        assert_true(say(h, i, &join));
    }
    pump(h);
    for (uint32_t i = 0; i < 3; i++) {
        register_rank(h, i, 0);
    }
    assert_true(say_mark(h, 2, TRIB_MESSAGE_CLOSE, 40));
    go(h, 2);
    h->process[0].plane.missing[0] = 2;
    h->process[0].plane.missing_count = 1;
    assert_true(say_stall(h, 1, 39, 3500));
    pump(h);
    expect_failed(h, 1, TRIB_ERR_PEER, "rank 1 waits on sequence 39, but rank 2 (10.0.0.3:50002) has closed");
}

static void open__refused_by_one_ends_the_job(void **state)
{
    struct hosts *h = *state;
    h->process[2].plane.refuses = true;
    join_all(h, 3);
    expect_failed(h, 0, TRIB_ERR_PEER,
                  "rank 2 (10.0.0.3:50002) is gone: it aborted: cannot open its root: out of memory");
    assert_int_equal(h->process[0].plane.closes, 1);
    assert_int_equal(h->process[2].plane.opens, 0);
}

static void open__without_an_answer_is_named(void **state)
{
    struct hosts *h = *state;
    join_all(h, 3);
    h->process[1].is_stuck = true;
    for (uint32_t i = 0; i < 3; i++) {
        register_rank(h, i, 0);
    }
    h->now_ns = trib_jobs_next_timeout(&h->jobs);
    assert_int_equal(h->now_ns, 6 * TRIB_SECOND_NS);
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    pump(h);
    expect_failed(h, 0, TRIB_ERR_TIMEOUT, "waited 5 s for rank 1 of job digits to open its root");
}

/* Nine hosts of two cards: the root of the second is at its second card. */
static void open__without_an_answer_at_another_card(void **state)
{
    struct hosts *h = *state;
    h->process[1].is_stuck = true;
    join_two_cards(h, 9);
    assert_int_equal(h->process[0].welcomes, 0);
    h->now_ns = trib_jobs_next_timeout(&h->jobs);
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    pump(h);
    expect_failed(h, 0, TRIB_ERR_TIMEOUT, "waited 5 s for rank 1 of job digits to open its root");
}

/* ---- joins ---- */

static void join__nobody_is_a_root(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = root_join(i, 2);
        join.join.root_port = 0;
        assert_true(say(h, i, &join));
    }
    pump(h);
    expect_failed(h, 0, TRIB_ERR_REFUSED, "no rank of job digits can be a root: this is not a switch");
    expect_failed(h, 1, TRIB_ERR_REFUSED, "TRIB_RENDEZVOUS");
}

/* A control plane in a rank's process is no parent. */
static void join__over_a_switch_is_refused(void **state)
{
    struct hosts *h = *state;
    struct trib_message hello = {.kind = TRIB_MESSAGE_HELLO, .hello = {.identity = 77, .room = ROOM, .shards = 1}};
    hello.hello.at[0] = trib_address_v4(0x0a000009, 7470);
    const struct trib_session session = {.peer = hello.hello.at[0]};
    assert_non_null(strstr(trib_leaves_explain_unfit(&h->jobs, &hello, &session),
                           "this is not a switch, but rank 0 of a job without one"));
}

static void join__settings_differ(void **state)
{
    struct hosts *h = *state;
    struct trib_message join = root_join(0, 2);
    assert_true(say(h, 0, &join));
    join = root_join(1, 2);
    join.join.settings.payload = 1344;
    assert_true(say(h, 1, &join));
    h->now_ns = trib_jobs_next_timeout(&h->jobs);
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    pump(h);
    expect_failed(h, 0, TRIB_ERR_SETTINGS, "payload is 1408 on rank 0 and 1344 on rank 1");
}

/* ---- what roots say out of turn ---- */

static struct trib_message ready_message(const struct hosts *h)
{
    const struct trib_grant *grant = &h->process[0].welcome.welcome.grant;
    struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_READY};
    message.of = (struct trib_opening_id){grant->communicator, grant->boot};
    return message;
}

static void ready__out_of_turn(void **state)
{
    struct hosts *h = *state;
    struct trib_message early = {.kind = TRIB_MESSAGE_ROOT_READY};
    assert_false(say(h, 0, &early)); /* before JOIN */
    const struct trib_message join = root_join(0, 3);
    assert_true(say(h, 0, &join));
    assert_false(say(h, 0, &early)); /* before WELCOME */
    for (uint32_t i = 1; i < 3; i++) {
        struct trib_message other = root_join(i, 3);
        other.join.root_port = i == 2 ? 0 : other.join.root_port;
        assert_true(say(h, i, &other));
    }
    pump(h);
    struct trib_message ready = ready_message(h);
    assert_false(say(h, 2, &ready)); /* it is no root */
    ready.of.communicator++;
    assert_false(say(h, 0, &ready));
    ready = ready_message(h);
    ready.of.boot++;
    assert_false(say(h, 0, &ready));
    for (uint32_t i = 0; i < 3; i++) {
        register_rank(h, i, 0);
    }
    assert_int_equal(h->process[0].readies, 1);
    ready = ready_message(h);
    assert_false(say(h, 0, &ready)); /* again */
}

static void missing__out_of_turn(void **state)
{
    struct hosts *h = *state;
    run_all(h, 3);
    uint32_t train = h->process[0].welcome.welcome.grant.train;
    struct trib_message answer = {.kind = TRIB_MESSAGE_ROOT_MISSING};
    answer.of = ready_message(h).of;
    answer.root_missing.sequence = train;
    assert_false(say(h, 1, &answer)); /* nobody has asked */
    h->process[1].is_stuck = true;
    assert_true(say_stall(h, 0, train, 1000));
    assert_false(say(h, 2, &answer)); /* another one was asked */
    answer.root_missing.sequence = train + 1;
    assert_false(say(h, 1, &answer)); /* and something else */
    answer.root_missing.sequence = train;
    answer.of.communicator++;
    assert_false(say(h, 1, &answer));
    answer.of.communicator--;
    answer.root_missing.missing = (struct trib_rank_list){.count = 1, .rank = {3}};
    assert_false(say(h, 1, &answer)); /* a rank that there is not */
    answer.root_missing.missing = (struct trib_rank_list){.count = 2, .rank = {2, 0}};
    assert_false(say(h, 1, &answer));
    answer.root_missing.missing = (struct trib_rank_list){.count = 4, .rank = {0, 1, 2, 3}};
    assert_false(say(h, 1, &answer));
    answer.root_missing.missing = (struct trib_rank_list){.count = 1, .rank = {2}};
    assert_true(say(h, 1, &answer));
    assert_false(say(h, 1, &answer)); /* again */
    pump(h);
    assert_int_equal(h->process[0].missings, 1);
}

static void dispute__of_no_root(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = root_join(i, 2);
        join.join.host = 5;
        assert_true(say(h, i, &join));
    }
    pump(h);
    const struct trib_message dispute = {.kind = TRIB_MESSAGE_DISPUTE, .dispute = {ready_message(h).of, 17, {0, 1}}};
    assert_false(say(h, 1, &dispute));
    const struct trib_message nobody = {.kind = TRIB_MESSAGE_DISPUTE, .dispute = {ready_message(h).of, 17, {0, 1024}}};
    assert_true(say(h, 0, &nobody)); /* a rank that there is not: ignored, as ever */
    assert_int_equal(h->process[0].describes, 0);
}

/* What only a control plane says. */
static void ask__is_not_for_ranks(void **state)
{
    struct hosts *h = *state;
    run_all(h, 2);
    const enum trib_message_kind kinds[] = {TRIB_MESSAGE_ROOT_OPEN, TRIB_MESSAGE_ROOT_JOIN};
    for (unsigned i = 0; i < 2; i++) {
        const struct trib_message message = {.kind = kinds[i]};
        assert_false(say(h, 0, &message));
    }
    struct trib_message child = {.kind = TRIB_MESSAGE_ROOT_CHILD};
    child.root_child.from = trib_address_v4(1, 1);
    assert_false(say(h, 0, &child));
}

/* ---- the same fields at a switch mean nothing ---- */

static struct trib_opening last; /* that the switch's plane was asked for */
static uint32_t opens;

static enum trib_status switch_open(void *plane, const struct trib_opening *opening)
{
    (void)plane;
    last = *opening;
    opens++;
    return TRIB_OK;
}

static void switch_multicast(void *plane, uint32_t communicator, uint32_t group, uint16_t port)
{
    (void)plane;
    (void)communicator;
    (void)group;
    (void)port;
}

static size_t switch_bytes(void *plane, const struct trib_opening *opening)
{
    (void)plane;
    (void)opening;
    return 1000;
}

static uint64_t switch_mark(void *plane, uint32_t communicator)
{
    (void)plane;
    (void)communicator;
    return 0;
}

static void at_a_switch__roots_are_its_shards(void **state)
{
    struct hosts *h = *state;
    h->config.shards = h->jobs.agent.shards = 3;
    h->config.receive_room = ROOM;
    h->jobs.agent.job_quota = h->jobs.agent.memory_quota = 1U << 20;
    h->config.plane = (struct trib_data_plane){.plane = &h->process[0].plane,
                                               .open = switch_open,
                                               .close = fake_close,
                                               .join = fake_join,
                                               .communicator_mark = switch_mark,
                                               .multicast = switch_multicast,
                                               .slot_bytes = switch_bytes};
    h->jobs.dealer = &trib_dealer_here;
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = root_join(i, 2);
        join.join.room = 1472; /* of its root: no limit here */
        assert_true(say(h, i, &join));
    }
    pump(h);
    const struct trib_message *welcome = &h->process[1].welcome;
    assert_int_equal(welcome->welcome.grant.roots, 3);
    assert_int_equal(welcome->welcome.grant.window, 352);
    assert_int_equal(welcome->welcome.grant.data_port, 7470);
    assert_int_equal(welcome->welcome.root_count, 0);
    assert_int_equal(h->process[0].arrived, 1);
    assert_int_equal(opens, 3);
    h->process[0].plane.session = last.session;
    h->process[0].plane.opens = 1;
    struct trib_message ready = ready_message(h);
    assert_false(say(h, 0, &ready));
    const struct trib_message dispute = {.kind = TRIB_MESSAGE_DISPUTE, .dispute = {ready_message(h).of, 17, {0, 1}}};
    assert_false(say(h, 0, &dispute));
}

/* ---- what a root is asked that cannot be ---- */

static struct trib_message open_message(void)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_OPEN};
    message.root_open.index = 1;
    message.of = (struct trib_opening_id){7, BOOT};
    message.root_open.ranks = message.root_open.behind = 2;
    strcpy(message.root_open.scheme, "switchml");
    message.root_open.session = (struct trib_session_config){.communicator = 7,
                                                             .ranks = 2,
                                                             .roots = 2,
                                                             .train = 11,
                                                             .slots = 100,
                                                             .payload = 1408,
                                                             .generation = 1,
                                                             .wire = TRIB_FLOAT32};
    return message;
}

static struct trib_message child_message(uint32_t rank)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_CHILD};
    message.of = (struct trib_opening_id){7, BOOT};
    message.root_child.rank = rank;
    message.root_child.branch = rank;
    message.root_child.from = trib_address_v4(0x0a000001 + rank, 20000);
    return message;
}

static struct trib_message join_message(uint32_t rank, uint64_t mark)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_JOIN};
    message.of = (struct trib_opening_id){7, BOOT};
    message.root_join.rank = rank;
    message.root_join.mark = mark;
    return message;
}

static void refused(struct process *p, const struct trib_message *message, enum trib_status status, const char *part)
{
    struct trib_message answer;
    assert_int_equal(trib_root_receive(&p->root, message, &answer), status);
    assert_int_equal(answer.kind, TRIB_MESSAGE_ABORT);
    assert_int_equal(answer.fail.status, status);
    if (!strstr(answer.fail.text, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, answer.fail.text);
    }
    assert_int_equal(trib_root_receive(&p->root, message, &answer), TRIB_OK); /* nothing more is taken */
    assert_int_equal(answer.kind, TRIB_MESSAGE_NONE);
    trib_root_deinit(&p->root);
    trib_root_init(&p->root, &p->agent);
    p->plane.opens = p->plane.closes = 0;
}

static void taken(struct process *p, const struct trib_message *message, enum trib_message_kind answer_kind)
{
    struct trib_message answer;
    assert_int_equal(trib_root_receive(&p->root, message, &answer), TRIB_OK);
    assert_int_equal(answer.kind, answer_kind);
}

static void open_one(struct process *p)
{
    struct trib_message message = open_message();
    taken(p, &message, TRIB_MESSAGE_NONE);
    for (uint32_t rank = 0; rank < 2; rank++) {
        message = child_message(rank);
        taken(p, &message, rank == 0 ? TRIB_MESSAGE_NONE : TRIB_MESSAGE_ROOT_OPENED);
    }
    assert_int_equal(p->plane.opens, 1);
}

static void root__open_that_cannot_be(void **state)
{
    struct hosts *h = *state;
    struct process *p = &h->process[0];
    for (unsigned i = 0; i < 20; i++) {
        struct trib_message message = open_message();
        struct trib_session_config *session = &message.root_open.session;
        uint32_t *const zeroed[] = {&message.of.communicator, &session->ranks,   &session->roots, &session->train,
                                    &session->slots,          &session->payload, &message.of.boot};
        uint32_t *const large[] = {&session->ranks,         &session->roots,   &session->train,
                                   &session->slots,         &session->payload, &message.root_open.index,
                                   &message.root_open.shard};
        if (i < 7) {
            *zeroed[i] = 0;
        } else if (i < 14) {
            *large[i - 7] = UINT32_MAX - 63; /* a multiple of 64 */
        } else if (i == 14) {
            session->payload = 1409;
        } else if (i == 15) {
            session->generation = 0;
        } else if (i == 19) {
            message.root_open.ranks = 1; /* of whom two are members */
        } else if (i == 16) {
            session->wire = TRIB_FLOAT64;
        } else {
            strcpy(message.root_open.scheme, i == 17 ? "nothing" : "ring"); /* ring needs no root */
        }
        refused(p, &message, TRIB_ERR_REFUSED,
                i == 12   ? "it asks for a root that cannot be: root 4294967232, and there are 2, from 0"
                : i == 13 ? "it asks for a root that cannot be: shard 4294967232, and there are 2, from 0"
                          : "unexpected message ROOT_OPEN: it asks for a root that cannot be");
    }
}

static void root__open_twice(void **state)
{
    struct hosts *h = *state;
    struct process *p = &h->process[0];
    struct trib_message message = open_message();
    taken(p, &message, TRIB_MESSAGE_NONE);
    refused(p, &message, TRIB_ERR_REFUSED, "it asks for a root that cannot be"); /* the first is not whole */
    open_one(p);
    refused(p, &message, TRIB_ERR_REFUSED, "it asks for a root that cannot be"); /* the same root */
    for (unsigned i = 0; i < 4; i++) {
        open_one(p);
        message = open_message();
        message.root_open.index = 0;
        message.of.communicator += i == 0;
        message.of.boot += i == 1;
        message.root_open.ranks += i == 2;
        if (i == 3) {
            const struct trib_message join = join_message(0, 0);
            taken(p, &join, TRIB_MESSAGE_NONE); /* somebody has registered, and not there */
        }
        refused(p, &message, TRIB_ERR_REFUSED, "it asks for a root that cannot be");
    }
}

static void root__child_that_cannot_be(void **state)
{
    struct hosts *h = *state;
    struct process *p = &h->process[0];
    const char *want = "it names a child that cannot be";
    struct trib_message child = child_message(0);
    refused(p, &child, TRIB_ERR_REFUSED, want); /* of nothing */
    for (unsigned i = 0; i < 4; i++) {
        const struct trib_message open = open_message();
        taken(p, &open, TRIB_MESSAGE_NONE);
        child = child_message(i == 0 ? 1 : 0);
        child.of.communicator += i == 1;
        child.root_child.branch += i == 2;
        trib_address_set_port(&child.root_child.from, i == 3 ? 0 : 20000);
        refused(p, &child, TRIB_ERR_REFUSED, want);
    }
    open_one(p);
    child = child_message(2);
    refused(p, &child, TRIB_ERR_REFUSED, want); /* it is whole */
}

/* Two ranks behind one child come from one address, two children from two. */
static void root__addresses_of_children(void **state)
{
    struct hosts *h = *state;
    struct process *p = &h->process[0];
    for (unsigned i = 0; i < 2; i++) {
        const struct trib_message open = open_message();
        struct trib_message child = child_message(0);
        taken(p, &open, TRIB_MESSAGE_NONE);
        taken(p, &child, TRIB_MESSAGE_NONE);
        child = child_message(1);
        child.root_child.branch = i;
        child.root_child.from = trib_address_v4(0x0a000001 + (i == 0), 20000);
        refused(p, &child, i == 0 ? TRIB_ERR_REFUSED : TRIB_ERR_INVALID,
                i == 0 ? "it names two addresses of one child"
                       : "ranks 0 and 1 both claim to send from 10.0.0.1:20000");
    }
}

static void root__cannot_open(void **state)
{
    struct hosts *h = *state;
    struct process *p = &h->process[0];
    const struct trib_message open = open_message();
    struct trib_message child = child_message(0);
    p->plane.refuses = true;
    taken(p, &open, TRIB_MESSAGE_NONE);
    taken(p, &child, TRIB_MESSAGE_NONE);
    child = child_message(1);
    refused(p, &child, TRIB_ERR_MEMORY, "cannot open its root: out of memory");
}

/* The data plane may have closed the first root with it: none is open, and none is closed twice. */
static void root__cannot_open_another(void **state)
{
    struct hosts *h = *state;
    struct process *p = &h->process[0];
    struct trib_message open = open_message();
    struct trib_message child = child_message(0);
    struct trib_message answer;
    open_one(p);
    open.root_open.index = 1 - open.root_open.index;
    p->plane.refuses = true;
    taken(p, &open, TRIB_MESSAGE_NONE);
    taken(p, &child, TRIB_MESSAGE_NONE);
    child = child_message(1);
    assert_int_equal(trib_root_receive(&p->root, &child, &answer), TRIB_ERR_MEMORY);
    assert_int_equal(answer.kind, TRIB_MESSAGE_ABORT);
    assert_false(trib_root_is_open(&p->root));
    assert_null(p->agent.first);
    assert_int_equal(p->plane.closes, 1);
}

static void root__join_that_cannot_be(void **state)
{
    struct hosts *h = *state;
    struct process *p = &h->process[0];
    const char *want = "it registers a rank that there is not";
    struct trib_message join = join_message(0, 0);
    refused(p, &join, TRIB_ERR_REFUSED, want); /* nothing is open */
    open_one(p);
    join = join_message(2, 0);
    refused(p, &join, TRIB_ERR_REFUSED, want);
    open_one(p);
    join = join_message(0, TRIB_SEQUENCE_MAX + 1);
    refused(p, &join, TRIB_ERR_REFUSED, want);
    open_one(p);
    join = join_message(0, 0);
    join.of.communicator++;
    refused(p, &join, TRIB_ERR_REFUSED, want);
    open_one(p);
    join = join_message(1, 4);
    taken(p, &join, TRIB_MESSAGE_NONE);
    taken(p, &join, TRIB_MESSAGE_NONE); /* again: it is still one */
    join = join_message(0, 5);
    taken(p, &join, TRIB_MESSAGE_ROOT_READY);
    join.root_join.mark = 6;
    taken(p, &join, TRIB_MESSAGE_NONE); /* once */
    assert_int_equal(p->plane.marks[0], 6);
}

static void root__questions_that_cannot_be(void **state)
{
    struct hosts *h = *state;
    struct process *p = &h->process[0];
    struct trib_message question = {.kind = TRIB_MESSAGE_ROOT_MISSING};
    question.of = (struct trib_opening_id){7, BOOT};
    refused(p, &question, TRIB_ERR_REFUSED, "it asks for what is not open");
    open_one(p);
    taken(p, &question, TRIB_MESSAGE_ROOT_MISSING);
    question.of.communicator++;
    refused(p, &question, TRIB_ERR_REFUSED, "it asks for what is not open");
    const struct trib_message ready = {.kind = TRIB_MESSAGE_ROOT_READY};
    refused(p, &ready, TRIB_ERR_REFUSED, "it answers where it should ask");
}

static void root__mismatch_of_nothing(void **state)
{
    struct hosts *h = *state;
    struct trib_message answer;
    const uint32_t ranks[2] = {0, 1};
    trib_root_mismatch(&h->process[0].root, 17, ranks, &answer);
    assert_int_equal(answer.kind, TRIB_MESSAGE_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hosts_start, hosts_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(death__of_a_root_is_the_end),
        TEST(death__before_ready),
        TEST(death__before_all_are_there_gives_up_the_place),
        TEST(close__of_a_root_that_others_need),
        TEST(close__of_a_rank_that_is_no_root),
        TEST(close__who_waits_outside_hears_nothing_else),
        TEST(close__of_a_root_before_ready),
        TEST(stall__on_a_closed_rank),
        TEST(stall__on_a_rank_that_has_left),
        TEST(open__refused_by_one_ends_the_job),
        TEST(open__without_an_answer_is_named),
        TEST(open__without_an_answer_at_another_card),
        TEST(join__nobody_is_a_root),
        TEST(join__over_a_switch_is_refused),
        TEST(join__settings_differ),
        TEST(ready__out_of_turn),
        TEST(missing__out_of_turn),
        TEST(dispute__of_no_root),
        TEST(ask__is_not_for_ranks),
        TEST(at_a_switch__roots_are_its_shards),
        TEST(root__open_that_cannot_be),
        TEST(root__open_twice),
        TEST(root__child_that_cannot_be),
        TEST(root__addresses_of_children),
        TEST(root__cannot_open),
        TEST(root__cannot_open_another),
        TEST(root__join_that_cannot_be),
        TEST(root__questions_that_cannot_be),
        TEST(root__mismatch_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
