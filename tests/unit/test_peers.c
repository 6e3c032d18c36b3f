/* SPDX-License-Identifier: Apache-2.0 */
/* test_peers.c: communicators whose ranks send to each other (scheme ring), at the control plane of a switch and where
 * no switch is: each rank is told where its peers are, and nobody asks a data plane. Mirrors
 * src/control/jobs/peers.c. */
#include "control/jobs/here.h"
#include "control/jobs/jobs.h"
#include "roots_harness.h"

/* A switch with a data plane that nobody may ask. */
static int switch_start(void **state)
{
    (void)hosts_start(state);
    struct hosts *h = *state;
    h->config.shards = 2;
    h->config.receive_room = ROOM;
    h->config.plane = (struct trib_data_plane){.plane = NULL};
    h->jobs.dealer = &trib_dealer_here;
    return 0;
}

static struct trib_message ring_join(uint32_t rank, uint32_t ranks)
{
    struct trib_message message = root_join(rank, ranks);
    message.join.root_port = 0;
    message.join.room = 0;
    strcpy(message.join.settings.scheme, "ring");
    return message;
}

/* After a restart of the control plane. */
static struct trib_message ring_back(uint32_t rank, uint32_t ranks)
{
    struct trib_message message = ring_join(rank, ranks);
    message.join.was_ready = true;
    message.join.known = (struct trib_grant){.job_token = 4,
                                             .communicator = 7,
                                             .boot = 99,
                                             .roots = 1,
                                             .train = 4,
                                             .slots = 32,
                                             .window = 16,
                                             .generation = 1};
    return message;
}

static void pass(struct hosts *h, uint64_t ns)
{
    h->now_ns += ns;
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    pump(h);
}

static void join_ring(struct hosts *h, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++) {
        const struct trib_message join = ring_join(i, ranks);
        assert_true(say(h, i, &join));
    }
    pump(h);
}

static void run_ring(struct hosts *h, uint32_t ranks)
{
    join_ring(h, ranks);
    for (uint32_t i = 0; i < ranks; i++) {
        register_rank(h, i, 0);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        assert_int_equal(h->process[i].readies, 1);
    }
}

static void assert_peer(const struct trib_message *welcome, uint32_t index, uint32_t rank, const char *want)
{
    char text[64];
    trib_address_format(&welcome->welcome.peer[index].address, text);
    assert_int_equal(welcome->welcome.peer[index].rank, rank);
    assert_string_equal(text, want);
}

static void join__names_the_rank_before_and_behind(void **state)
{
    struct hosts *h = *state;
    join_ring(h, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct trib_message *welcome = &h->process[i].welcome;
        uint32_t before = (i + 3) % 4;
        uint32_t behind = (i + 1) % 4;
        char want[64];
        assert_int_equal(h->process[i].welcomes, 1);
        assert_int_equal(welcome->welcome.grant.roots, 1);
        assert_int_equal(welcome->welcome.grant.group, 0);
        assert_int_equal(welcome->welcome.grant.window, 352);
        assert_int_equal(welcome->welcome.root_count, 0);
        assert_int_equal(welcome->welcome.peer_count, 2);
        (void)snprintf(want, sizeof want, "10.0.0.%u:%u", 1 + before, 20000 + before);
        assert_peer(welcome, 0, before, want);
        (void)snprintf(want, sizeof want, "10.0.0.%u:%u", 1 + behind, 20000 + behind);
        assert_peer(welcome, 1, behind, want);
    }
}

static void join__of_two_and_of_one(void **state)
{
    struct hosts *h = *state;
    join_ring(h, 2);
    assert_int_equal(h->process[0].welcome.welcome.peer_count, 1);
    assert_peer(&h->process[0].welcome, 0, 1, "10.0.0.2:20001");
    struct trib_message join = ring_join(0, 1);
    strcpy(join.join.job, "alone");
    assert_true(say(h, 5, &join));
    pump(h);
    assert_int_equal(h->process[5].welcomes, 1);
}

/* What the smallest socket holds, of as many ranks as may send to it. */
static void join__window(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message join = ring_join(i, 3);
        join.join.room = i == 1 ? 4 * 1472 * 50 : 0;
        assert_true(say(h, i, &join));
    }
    pump(h);
    assert_int_equal(h->process[2].welcome.welcome.grant.window, 50);
}

static void join__address_of_another_rank_is_refused(void **state)
{
    struct hosts *h = *state;
    h->process[1].session.peer = h->process[0].session.peer;
    struct trib_message join = ring_join(0, 2);
    assert_true(say(h, 0, &join));
    join = ring_join(1, 2);
    join.join.data_port[0] = 20000;
    assert_true(say(h, 1, &join));
    pump(h);
    expect_failed(h, 0, TRIB_ERR_INVALID, "ranks 0 and 1 both claim to send from 10.0.0.1:20000, UDP");
}

static void join__loopback_is_mended(void **state)
{
    struct hosts *h = *state;
    h->process[0].session.peer = trib_address_v4(0x7f000001, 50000);
    join_ring(h, 3);
    assert_peer(&h->process[1].welcome, 0, 0, "10.0.0.1:20000");
}

static void join__at_a_switch_below_is_refused(void **state)
{
    struct hosts *h = *state;
    struct trib_message join = ring_join(0, 2);
    struct trib_remote leaf = {.is_below = true, .identity = 77, .shards = 2, .room = ROOM};
    h->process[0].session.leaf = &leaf;
    assert_true(say(h, 0, &join));
    pump(h);
    expect_failed(h, 0, TRIB_ERR_REFUSED, "scheme ring: its ranks send to each other");
    h->process[0].session.leaf = NULL;
}

static void join_groups(struct hosts *h, const char *scheme, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++) {
        struct trib_message join = ring_join(i, ranks);
        strcpy(join.join.settings.scheme, scheme);
        assert_true(say(h, i, &join));
    }
    pump(h);
}

static void join__of_groups_that_do_not_fit_is_refused(void **state)
{
    static const struct {
        const char *scheme, *text;
    } cases[] = {
        {"hybrid", "scheme hybrid: its ranks stand in groups, and nobody said of how many"},
        {"hybrid:3", "scheme hybrid:3: the number of ranks is not a multiple"},
        {"ring:2", "scheme ring:2: it has no groups; hybrid has"},
        {"switchml:7/8", "scheme switchml:7/8: it has no quorum; panama has"},
        {"rings:2", "unknown scheme rings:2: this switch has"},
    };
    struct hosts *h = *state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_message join = ring_join(0, 1);
        strcpy(join.join.settings.scheme, cases[i].scheme);
        assert_true(say(h, i, &join));
        pump(h);
        expect_failed(h, i, TRIB_ERR_INVALID, cases[i].text);
    }
}

/* Groups {0, 1, 2} and {3, 4, 5}: rank 4 has 3 and 5 inside, and 1 across. */
static void join__of_groups(void **state)
{
    struct hosts *h = *state;
    bool seen[6] = {false};
    join_groups(h, "hybrid:3", 6);
    const struct trib_message *welcome = &h->process[4].welcome;
    assert_int_equal(h->process[4].welcomes, 1);
    assert_int_equal(welcome->welcome.peer_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t rank = welcome->welcome.peer[i].rank;
        char want[64];
        (void)snprintf(want, sizeof want, "10.0.0.%u:%u", 1 + rank, 20000 + rank);
        assert_peer(welcome, i, rank, want);
        seen[rank] = true;
    }
    assert_true(seen[3] && seen[5] && seen[1]);
}

static void marks__are_those_that_ranks_tell(void **state)
{
    struct hosts *h = *state;
    run_ring(h, 3);
    assert_int_equal(h->process[0].ready.ready.mark, 0);
    assert_true(say_mark(h, 0, TRIB_MESSAGE_MARK, 9));
    assert_true(say_mark(h, 1, TRIB_MESSAGE_MARK, 8));
    assert_true(say_mark(h, 2, TRIB_MESSAGE_MARK, 7));
    pump(h);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(h->process[i].mark, 7);
        assert_true(say_mark(h, i, TRIB_MESSAGE_CLOSE, 10));
    }
    pump(h);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(h->process[i].closeds, 1);
    }
}

/* Ranks that come back know what others lack: nobody has told a mark since, and M may not rise for long. */
static void marks__apart_from_the_start_are_looked_at_later(void **state)
{
    struct hosts *h = *state;
    join_ring(h, 2);
    register_rank(h, 0, 5);
    register_rank(h, 1, 7);
    assert_int_equal(h->process[1].ready.ready.mark, 5);
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    assert_true(trib_jobs_next_timeout(&h->jobs) > h->now_ns);
    assert_true(trib_jobs_next_timeout(&h->jobs) < h->now_ns + TRIB_SECOND_NS);
}

/* Who waits says so within a second; who has not said so then is the one. */
static void stall__names_those_that_do_not_wait(void **state)
{
    struct hosts *h = *state;
    run_ring(h, 4);
    assert_true(say_stall(h, 0, 12, 1000));
    assert_true(say_stall(h, 1, 10, 1000));
    assert_true(say_mark(h, 3, TRIB_MESSAGE_MARK, 20)); /* it has all of that */
    pump(h);
    assert_int_equal(h->process[0].missings, 0);
    h->now_ns += TRIB_SECOND_NS;
    assert_true(say_stall(h, 0, 12, 2000));
    pump(h);
    assert_int_equal(h->process[0].missings, 1);
    assert_int_equal(h->process[0].missing.stall.missing.count, 1);
    assert_int_equal(h->process[0].missing.stall.missing.rank[0], 2);
    assert_int_equal(h->process[0].missing.stall.since_ms, 2000);
    assert_string_equal(h->process[0].missing.stall.where, "");
}

static bool say_silent(struct hosts *h, uint32_t rank, uint32_t silent)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 12, .since_ms = 1000}};
    trib_rank_list_add(&message.stall.missing, silent);
    return say(h, rank, &message);
}

/* All wait, as nothing comes from rank 1 to rank 2. */
static void stall__of_all_names_the_way_that_is_cut(void **state)
{
    struct hosts *h = *state;
    run_ring(h, 3);
    for (unsigned second = 0; second < 2; second++) {
        h->now_ns += TRIB_SECOND_NS;
        assert_true(say_silent(h, 1, 2));
        assert_true(say_stall(h, 2, 12, 1000));
        assert_true(say_stall(h, 0, 12, 1000));
        pump(h);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(h->process[i].missings, 1);
        assert_int_equal(h->process[i].missing.stall.missing.count, 0);
        assert_string_equal(h->process[i].missing.stall.where, "rank 1 to rank 2");
    }
    h->now_ns += TRIB_SECOND_NS;
    assert_true(say_stall(h, 1, 12, 3000)); /* acknowledged meanwhile */
    assert_true(say_stall(h, 0, 12, 3000));
    pump(h);
    assert_string_equal(h->process[0].missing.stall.where, "");
    assert_true(say_silent(h, 1, 3)); /* no rank of the job */
    assert_true(say_stall(h, 0, 12, 3000));
    pump(h);
    assert_string_equal(h->process[0].missing.stall.where, "");
}

/* Rank 2 has waited, has what it waited for, as its mark says, and has called nothing since. */
static void stall__that_is_over_does_not_count(void **state)
{
    struct hosts *h = *state;
    run_ring(h, 3);
    assert_true(say_stall(h, 0, 12, 1000));
    assert_true(say_stall(h, 1, 12, 1000));
    assert_true(say_stall(h, 2, 8, 1000));
    h->now_ns += TRIB_SECOND_NS;
    assert_true(say_mark(h, 2, TRIB_MESSAGE_MARK, 9));
    assert_true(say_stall(h, 0, 12, 2000));
    pump(h);
    assert_int_equal(h->process[0].missings, 1);
    assert_int_equal(h->process[0].missing.stall.missing.count, 1);
    assert_int_equal(h->process[0].missing.stall.missing.rank[0], 2);
    assert_int_equal(h->process[0].describes + h->process[1].describes, 0);
}

static void death__is_the_end(void **state)
{
    struct hosts *h = *state;
    run_ring(h, 3);
    go(h, 1);
    expect_failed(h, 0, TRIB_ERR_PEER, "rank 1 (10.0.0.2:50001) is gone");
}

/* It may hold what the next rank has not got yet. */
static void close__and_leave_before_closed(void **state)
{
    struct hosts *h = *state;
    run_ring(h, 3);
    assert_true(say_mark(h, 1, TRIB_MESSAGE_CLOSE, 40));
    go(h, 1);
    expect_failed(h, 0, TRIB_ERR_PEER, "it was a rank of the job, and other ranks had not finished");
}

/* Rank 1 had closed at 40 before the control plane restarted, comes back, and leaves; the others come back with this
 * mark. */
static void leave_before_ready(struct hosts *h, uint64_t mark)
{
    for (uint32_t i = 0; i < 3; i++) {
        const struct trib_message join = ring_back(i, 3);
        assert_true(say(h, i, &join));
        if (i == 1) {
            assert_true(say_mark(h, i, TRIB_MESSAGE_CLOSE, 40));
        }
    }
    pump(h);
    assert_int_equal(h->process[1].welcomes, 1);
    register_rank(h, 0, mark);
    go(h, 1);
    assert_int_equal(h->process[0].fails, 0);
    register_rank(h, 2, mark);
}

static void close__and_leave_before_ready(void **state)
{
    struct hosts *h = *state;
    leave_before_ready(h, 40);
    assert_int_equal(h->process[0].readies, 1);
    assert_int_equal(h->process[2].readies, 1);
}

static void close__and_leave_before_ready_what_others_lack(void **state)
{
    struct hosts *h = *state;
    leave_before_ready(h, 39);
    expect_failed(h, 0, TRIB_ERR_PEER, "rank 1 (10.0.0.2:50001) is gone: it was a rank of the job, and other ranks");
}

/* Rank 0 had closed, and is slow to register; rank 1 closes meanwhile. READY waits for rank 0, so it is not let go,
 * whatever all have. */
static void close__waits_for_ready(void **state)
{
    struct hosts *h = *state;
    for (uint32_t i = 0; i < 3; i++) {
        const struct trib_message join = ring_back(i, 3);
        assert_true(say(h, i, &join));
    }
    assert_true(say_mark(h, 0, TRIB_MESSAGE_CLOSE, 40));
    register_rank(h, 1, 40);
    register_rank(h, 2, 40);
    assert_true(say_mark(h, 1, TRIB_MESSAGE_CLOSE, 40));
    pump(h);
    assert_int_equal(h->process[0].closeds + h->process[1].closeds, 0);
    register_rank(h, 0, 40);
    assert_int_equal(h->process[2].readies, 1);
    pass(h, 0);
    assert_int_equal(h->process[0].closeds, 1);
    assert_int_equal(h->process[1].closeds, 1);
    assert_int_equal(h->process[2].fails, 0);
}

/* A rank that comes back names a group that this switch gives out: there is nothing to try. */
static void return__names_a_group(void **state)
{
    struct hosts *h = *state;
    h->config.group = 0xefff4a46U;
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message join = ring_back(i, 2);
        join.join.was_ready = false;
        join.join.multicast = true;
        join.join.known.group = h->config.group;
        join.join.known.group_port = 7470 + TRIB_ROOTS_MAX;
        assert_true(say(h, i, &join));
    }
    pass(h, TRIB_SECOND_NS);
    register_rank(h, 0, 0);
    register_rank(h, 1, 0);
    assert_int_equal(h->process[0].readies, 1);
    assert_false(h->process[0].ready.ready.multicast);
}

/* Any rank may see that its neighbour runs something else. */
static void mismatch__is_told_by_a_rank(void **state)
{
    struct hosts *h = *state;
    join_ring(h, 3);
    const struct trib_message dispute = {.kind = TRIB_MESSAGE_DISPUTE, .dispute = {.sequence = 5, .rank = {1, 2}}};
    assert_true(say(h, 2, &dispute));
    pump(h);
    assert_int_equal(h->process[1].describes + h->process[2].describes, 2);
    h->now_ns = trib_jobs_next_timeout(&h->jobs);
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    pump(h);
    expect_failed(h, 0, TRIB_ERR_MISMATCH, "operations differ on sequence 5: rank 1 called an operation");
}

static void say_operation(struct hosts *h, uint32_t rank, uint64_t sequence, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_OPERATION, .operation = {.sequence = sequence}};
    (void)snprintf(message.operation.text, sizeof message.operation.text, "%s", text);
    assert_true(say(h, rank, &message));
    pump(h);
}

/* All wait, rank 1 for longer: asked are it and the next. */
static void wait_again(struct hosts *h, uint64_t round)
{
    uint32_t before = h->process[1].describes + h->process[2].describes;
    h->now_ns += TRIB_SECOND_NS;
    assert_true(say_stall(h, 0, 6 + round, 1000)); /* on another sequence each time: nobody else is asked */
    assert_true(say_stall(h, 1, 5, 1000));
    assert_true(say_stall(h, 2, 6 + round, 1000));
    assert_true(say_stall(h, 1, 5, 1000));
    pump(h);
    assert_int_equal(h->process[1].describes + h->process[2].describes - before, 2);
}

/* No packet can show it where each waits for the other. But who is merely slow differs from nobody. */
static void mismatch__is_asked_for_where_all_wait(void **state)
{
    struct hosts *h = *state;
    run_ring(h, 3);
    wait_again(h, 0);
    say_operation(h, 1, 5, "barrier as operation 3");
    say_operation(h, 2, 5, "barrier as operation 3");
    wait_again(h, 1);
    say_operation(h, 1, 5, TRIB_NO_OPERATION); /* it has come meanwhile */
    say_operation(h, 2, 5, "barrier as operation 3");
    wait_again(h, 2);
    say_operation(h, 1, 5, "barrier as operation 3");
    h->now_ns += 2 * TRIB_SECOND_NS; /* rank 2 has no core */
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    wait_again(h, 3);
    say_operation(h, 1, 5, "barrier as operation 3");
    assert_int_equal(h->process[0].fails, 0);
    say_operation(h, 2, 5, "broadcast of 10 float32 from rank 0 as operation 3");
    expect_failed(h, 0, TRIB_ERR_MISMATCH, "rank 1 called barrier as operation 3, rank 2 called broadcast of 10");
}

static void mismatch__before_welcome_is_out_of_turn(void **state)
{
    struct hosts *h = *state;
    const struct trib_message join = ring_join(0, 2);
    const struct trib_message dispute = {.kind = TRIB_MESSAGE_DISPUTE, .dispute = {.sequence = 5, .rank = {0, 1}}};
    const struct trib_message ready = {.kind = TRIB_MESSAGE_ROOT_READY};
    assert_true(say(h, 0, &join));
    assert_false(say(h, 0, &dispute));
    assert_false(say(h, 0, &ready)); /* there are no roots */
}

static void paths__that_do_not_pass(void **state)
{
    struct hosts *h = *state;
    join_ring(h, 3);
    const struct trib_message paths = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = false}};
    assert_true(say(h, 1, &paths));
    pump(h);
    expect_failed(h, 0, TRIB_ERR_UNREACHABLE,
                  "do not pass between rank 1 (10.0.0.2:50001) and a rank that it sends to or hears from");
}

static void late__is_named(void **state)
{
    struct hosts *h = *state;
    join_ring(h, 3);
    register_rank(h, 0, 0);
    register_rank(h, 1, 0);
    h->now_ns = trib_jobs_next_timeout(&h->jobs);
    trib_jobs_on_timeout(&h->jobs, h->now_ns);
    pump(h);
    expect_failed(h, 0, TRIB_ERR_TIMEOUT, "waited 5 s for rank 2 of job digits to try its UDP paths and register");
}

/* Its limit ends before that of the control plane: all hear for whom it waited. */
static void late__is_named_where_another_gives_up(void **state)
{
    struct hosts *h = *state;
    const struct trib_message abort_it = {.kind = TRIB_MESSAGE_ABORT, .fail = {TRIB_ERR_TIMEOUT, "its time is over"}};
    join_ring(h, 4);
    register_rank(h, 0, 0);
    register_rank(h, 1, 0);
    h->now_ns += 2 * TRIB_SECOND_NS;
    assert_true(say(h, 1, &abort_it));
    pump(h);
    for (uint32_t rank = 0; rank < 4; rank++) {
        expect_failed(h, rank, TRIB_ERR_TIMEOUT,
                      "waited 2 s for ranks 2, 3 of job digits to try their UDP paths and register");
    }
}

#define AT_A_SWITCH(name) cmocka_unit_test_setup_teardown(name, switch_start, hosts_stop)
#define WITHOUT(name) cmocka_unit_test_setup_teardown(name, hosts_start, hosts_stop)
#define TEST(name) AT_A_SWITCH(name), WITHOUT(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(join__names_the_rank_before_and_behind),
        TEST(join__of_two_and_of_one),
        TEST(join__window),
        TEST(join__address_of_another_rank_is_refused),
        TEST(join__loopback_is_mended),
        AT_A_SWITCH(join__at_a_switch_below_is_refused),
        TEST(join__of_groups_that_do_not_fit_is_refused),
        TEST(join__of_groups),
        TEST(marks__are_those_that_ranks_tell),
        TEST(marks__apart_from_the_start_are_looked_at_later),
        TEST(stall__names_those_that_do_not_wait),
        TEST(stall__of_all_names_the_way_that_is_cut),
        TEST(stall__that_is_over_does_not_count),
        TEST(death__is_the_end),
        TEST(close__and_leave_before_closed),
        TEST(close__and_leave_before_ready),
        TEST(close__and_leave_before_ready_what_others_lack),
        TEST(close__waits_for_ready),
        TEST(return__names_a_group),
        TEST(mismatch__is_told_by_a_rank),
        TEST(mismatch__is_asked_for_where_all_wait),
        TEST(mismatch__before_welcome_is_out_of_turn),
        TEST(paths__that_do_not_pass),
        TEST(late__is_named),
        TEST(late__is_named_where_another_gives_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
