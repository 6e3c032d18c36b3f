/* SPDX-License-Identifier: Apache-2.0 */
/* test_server.c: the dialogue of docs/PROTOCOL.md, "Sessions", with a real server over real TCP, and everything that
 * can go wrong in it. The data plane only records (control_harness.h). */
#include <sys/eventfd.h>

#include "control_harness.h"
#include "net/resolve.h"

static void join__three_ranks_to_ready(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[3];
    struct trib_grant grant = run_job(c, 3, fds);
    assert_int_not_equal(grant.communicator, 0);
    assert_int_equal(grant.generation, 1);
    assert_true(grant.salt != 0 && grant.token != 0);
    assert_int_equal(grant.roots, 2);
    assert_int_equal(grant.train, 44); /* 65507 / 1472 */
    assert_int_equal(grant.window, 8 * 44);
    assert_int_equal(grant.slots, 2 * grant.window);
    assert_int_equal(grant.data_port, c->port);
    assert_int_equal(grant.group, 0);
    pthread_mutex_lock(&c->recorder.lock);
    const struct trib_session_config *session = &c->recorder.session;
    assert_int_equal(session->communicator, grant.communicator);
    assert_int_equal(session->slots, grant.slots);
    assert_int_equal(session->ranks, 3);
    assert_int_equal(session->payload, 1408);
    assert_int_equal(session->wire, TRIB_FLOAT32);
    assert_int_equal(session->salt, 0); /* a switch must not know it */
    assert_int_equal(c->recorder.joined, 3);
    assert_int_equal(c->recorder.children, 3);
    assert_int_equal(c->recorder.boot, c->config.boot);
    for (uint32_t i = 0; i < 3; i++) {
        char text[64];
        char want[64];
        trib_address_format(&c->recorder.addresses[i][1], text);
        snprintf(want, sizeof want, "127.0.0.1:%u", 21000 + i);
        assert_string_equal(text, want);
        assert_int_equal(trib_address_port(&c->recorder.addresses[i][0]), 20000 + i);
    }
    pthread_mutex_unlock(&c->recorder.lock);
    close_all(fds, 3);
}

/* Three ranks, of which the middle one differs: when all have come all are told. */
static void expect_difference(struct control *c, const struct trib_message *odd, const char *want)
{
    int fds[3];
    for (uint32_t i = 0; i < 3; i++) {
        const struct trib_message message = i == 1 ? *odd : join_message(i, 3);
        fds[i] = join_with(c, &message);
    }
    for (uint32_t i = 0; i < 3; i++) {
        expect_fail(fds[i], TRIB_ERR_SETTINGS, want);
    }
}

static void join__every_setting_is_compared(void **state)
{
    struct control *c = *state;
    control_start(c);
    static const char *const want[] = {"ranks is 3 on rank 0 and 4 on rank 1 (rank 0 came from 127.0.0.1:",
                                       "payload is 1408 on rank 0 and 8192 on rank 1",
                                       "window is 0 on rank 0 and 65536 on rank 1",
                                       "wire is float32 on rank 0 and int32 on rank 1"};
    for (unsigned i = 0; i < 4; i++) {
        struct trib_message odd = join_message(1, i == 0 ? 4 : 3);
        odd.join.settings.payload = i == 1 ? 8192 : 1408;
        odd.join.settings.window = i == 2 ? 65536 : 0;
        odd.join.settings.wire = i == 3 ? TRIB_WIRE_INT32 : TRIB_WIRE_FLOAT32;
        expect_difference(c, &odd, want[i]);
    }
}

static void join__rank_taken(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_message(2, 4);
    int a = join_with(c, &message);
    int b = join_with(c, &message);
    expect_fail(b, TRIB_ERR_REFUSED, "rank 2 of job digits is already taken by 127.0.0.1:");
    close(a);
}

static void join__bad_values_name_the_cause(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_message(7, 4);
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "rank 7 is out of range: the job has 4 ranks");
    char text[64];
    message = join_message(0, TRIB_RANKS_MAX + 1);
    snprintf(text, sizeof text, "%d ranks: a communicator has 1 to %d", TRIB_RANKS_MAX + 1, TRIB_RANKS_MAX);
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, text);
    message = join_message(0, 0);
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "0 ranks");
    static const uint32_t payloads[] = {0, 32, 100, 8256, UINT32_MAX};
    for (unsigned i = 0; i < 5; i++) {
        message = join_message(0, 4);
        message.join.settings.payload = payloads[i];
        expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "payload");
    }
    message = join_message(0, 4);
    strcpy(message.join.settings.scheme, "magic");
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "unknown scheme magic: this switch has switchml");
    message = join_message(0, 4);
    strcpy(message.join.settings.scheme, "switchml-literal");
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "unknown scheme switchml-literal: this switch has switchml");
    message = join_message(0, 4);
    strcpy(message.join.settings.scheme, "panama-literal");
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "unknown scheme panama-literal: this switch has switchml");
    message = join_message(0, 4);
    message.join.settings.wire = 2;
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "wire 2");
    message = join_message(0, 4);
    strcpy(message.join.job, "a\nb");
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "job name");
    message = join_message(0, 4);
    message.join.data_port[0] = 0;
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "UDP port");
}

static void join__other_version_is_told_both(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_message(0, 4);
    message.join.version = 18;
    expect_fail(join_with(c, &message), TRIB_ERR_VERSION, "session 18 and packet 1, this switch");
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = 8;
    expect_fail(join_with(c, &message), TRIB_ERR_VERSION, "packet 8");
}

static void join__quota_refuses_with_the_numbers(void **state)
{
    struct control *c = *state;
    c->config.job_quota = 1000000;
    control_start(c);
    struct trib_message message = join_message(0, 2);
    message.join.settings.window = 1472 * 400;
    int a = join_with(c, &message);
    message.join.rank = 1;
    message.join.data_port[0]++;
    message.join.data_port[1]++;
    int b = join_with(c, &message);
    const char *want = "job digits needs 3 MiB of switch memory (1600 slots of 1.9 KiB), the quota of a job is 976 KiB";
    expect_fail(a, TRIB_ERR_REFUSED, want);
    expect_fail(b, TRIB_ERR_REFUSED, want);
    assert_int_equal(recorder_get(c, &c->recorder.opens), 0);
}

static void join__memory_of_the_switch_is_shared(void **state)
{
    struct control *c = *state;
    c->config.memory_quota = 2 * 300 * SLOT_COST;
    control_start(c);
    struct trib_message message = join_message(0, 1);
    message.join.settings.window = 1472 * 150;
    int a = join_with(c, &message);
    (void)expect(a, TRIB_MESSAGE_WELCOME);
    strcpy(message.join.job, "second");
    int b = join_with(c, &message);
    expect_fail(b, TRIB_ERR_REFUSED, "free: 0 B of 585 KiB");
    close(a);
    wait_until(c, &c->recorder.closes, 1);
    b = join_with(c, &message);
    (void)expect(b, TRIB_MESSAGE_WELCOME);
    close(b);
}

static void join__no_memory_in_the_data_plane(void **state)
{
    struct control *c = *state;
    c->recorder.refuse_memory = true;
    control_start(c);
    struct trib_message message = join_message(0, 1);
    expect_fail(join_with(c, &message), TRIB_ERR_MEMORY, "out of memory");
}

static void join__late_ranks_are_named(void **state)
{
    struct control *c = *state;
    c->config.join_timeout_ns = 200 * TRIB_MILLISECOND_NS * patience();
    control_start(c);
    struct trib_message message = join_message(0, 4);
    int a = join_with(c, &message);
    message.join.rank = 2;
    int b = join_with(c, &message);
    expect_late(a, "", 200 * patience(), " for ranks 1, 3 of job digits");
    expect_late(b, "", 200 * patience(), " for ranks 1, 3 of job digits");
}

static void join__who_left_before_the_start_may_come_again(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_message(0, 2);
    int a = join_with(c, &message);
    message.join.rank = 1;
    message.join.data_port[0] = 0; /* refused: but rank 1's place stays free */
    expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "UDP port");
    close(a);
    message = join_message(0, 2);
    strcpy(message.join.job, "other");
    int other = join_with(c, &message);
    expect_read(other); /* its end has been seen */
    int fds[2];
    (void)run_job(c, 2, fds);
    close_all(fds, 2);
    close(other);
}

static void join__running_job_refuses(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    struct trib_message message = join_message(0, 2);
    expect_fail(join_with(c, &message), TRIB_ERR_REFUSED, "job digits is already running, with 2 ranks, since");
    close_all(fds, 2);
}

static void join__running_job_of_one_refuses(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[1];
    (void)run_job(c, 1, fds);
    struct trib_message message = join_message(0, 1);
    expect_fail(join_with(c, &message), TRIB_ERR_REFUSED, "job digits is already running, with 1 rank, since");
    close_all(fds, 1);
}

static void paths__unreachable_names_rank_and_size(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message message = join_message(i, 2);
        fds[i] = join_with(c, &message);
    }
    (void)expect(fds[0], TRIB_MESSAGE_WELCOME);
    (void)expect(fds[1], TRIB_MESSAGE_WELCOME);
    send_paths(fds[1], false, false);
    expect_fail(fds[0], TRIB_ERR_UNREACHABLE,
                "packets of 1408 bytes payload (1500 with IP) do not pass between rank 1");
    expect_fail(fds[1], TRIB_ERR_UNREACHABLE, "path MTU");
    wait_until(c, &c->recorder.closes, 1);
}

static void multicast_join(struct control *c, int *fds, uint32_t *group)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message message = join_message(i, 2);
        message.join.multicast = true;
        fds[i] = join_with(c, &message);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_grant grant = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant;
        assert_int_equal(grant.group_port, c->port + TRIB_ROOTS_MAX);
        *group = grant.group;
    }
    wait_until(c, &c->recorder.probes, 2);
}

static void paths__multicast_if_all_report_it(void **state)
{
    struct control *c = *state;
    c->config.group = GROUP;
    control_start(c);
    for (unsigned last = 0; last < 2; last++) {
        int fds[2];
        uint32_t group;
        multicast_join(c, fds, &group);
        assert_int_equal(group, GROUP);
        send_paths(fds[0], true, true);
        send_paths(fds[1], true, last == 1);
        send_mark(fds[0], TRIB_MESSAGE_REGISTER, 0);
        send_mark(fds[1], TRIB_MESSAGE_REGISTER, 0);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(expect(fds[i], TRIB_MESSAGE_READY).ready.multicast, last == 1);
        }
        assert_int_equal(recorder_get(c, &c->recorder.group), last == 1 ? GROUP : 0);
        close_all(fds, 2);
        wait_until(c, &c->recorder.closes, last + 1);
    }
}

static void gone__others_are_told_who(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[3];
    (void)run_job(c, 3, fds);
    close(fds[2]);
    expect_fail(fds[0], TRIB_ERR_PEER, "rank 2 (127.0.0.1:");
    expect_fail(fds[1], TRIB_ERR_PEER, "is gone: its session closed");
    wait_until(c, &c->recorder.closes, 1);
    (void)run_job(c, 3, fds); /* the name is free again at once */
    close_all(fds, 3);
}

/* Also when its end and the next JOIN are seen in one look. */
static void gone__name_is_free_at_once(void **state)
{
    struct control *c = *state;
    control_start(c);
    const struct trib_message message = join_message(0, 1);
    int fd = join_with(c, &message);
    for (int i = 0; i < 100; i++) {
        int next = connect_to(c->port);
        (void)expect(fd, TRIB_MESSAGE_WELCOME);
        close(fd);
        send_message(next, &message);
        fd = next;
    }
    (void)expect(fd, TRIB_MESSAGE_WELCOME);
    close(fd);
}

static void abort__others_get_its_text(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    struct trib_message message = {.kind = TRIB_MESSAGE_ABORT, .fail = {TRIB_ERR_ABORTED, "loss is NaN\n"}};
    send_message(fds[0], &message);
    expect_fail(fds[1], TRIB_ERR_PEER, "it aborted: loss is NaN\\x0a");
    assert_int_equal(next_message(fds[0]).kind, TRIB_MESSAGE_NONE);
    close(fds[0]);
}

/* Ranks with a shorter limit than the control plane. One that has given up before is not named. */
static void abort__of_a_rank_that_waits_is_told_who_is_missing(void **state)
{
    struct control *c = *state;
    const struct trib_message message = {.kind = TRIB_MESSAGE_ABORT, .fail = {TRIB_ERR_TIMEOUT, "its time is over"}};
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING};
    int fds[2];
    control_start(c);
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = join_message(3 * i, 5);
        fds[i] = join_with(c, &join);
        send_message(fds[i], &ping);
        (void)expect(fds[i], TRIB_MESSAGE_PONG); /* it is in */
    }
    for (uint32_t i = 0; i < 2; i++) {
        send_message(fds[i], &message);
        expect_fail(fds[i], TRIB_ERR_TIMEOUT, "ranks 1, 2, 4 are missing");
        close(fds[i]);
    }
}

static void mark__answers_and_tells_who_waits(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    send_mark(fds[0], TRIB_MESSAGE_MARK, 100);
    assert_int_equal(expect(fds[0], TRIB_MESSAGE_MARK).mark.mark, 0);
    send_mark(fds[1], TRIB_MESSAGE_MARK, 60);
    assert_int_equal(expect(fds[1], TRIB_MESSAGE_MARK).mark.mark, 60);
    assert_int_equal(expect(fds[0], TRIB_MESSAGE_MARK).mark.mark, 60);
    recorder_join(&c->recorder, c->recorder.communicator, 1, 100); /* as if a packet had brought it */
    assert_int_equal(expect(fds[0], TRIB_MESSAGE_MARK).mark.mark, 100);
    close_all(fds, 2);
}

static void close__waits_for_all_marks(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    send_mark(fds[0], TRIB_MESSAGE_CLOSE, 100);
    assert_int_equal(expect(fds[0], TRIB_MESSAGE_MARK).mark.mark, 0);
    send_mark(fds[1], TRIB_MESSAGE_MARK, 100);
    assert_int_equal(expect(fds[1], TRIB_MESSAGE_MARK).mark.mark, 100);
    assert_int_equal(expect(fds[0], TRIB_MESSAGE_MARK).mark.mark, 100);
    (void)expect(fds[0], TRIB_MESSAGE_CLOSED);
    assert_int_equal(next_message(fds[0]).kind, TRIB_MESSAGE_NONE);
    assert_int_equal(recorder_get(c, &c->recorder.closes), 0); /* rank 1 is still in */
    send_mark(fds[1], TRIB_MESSAGE_CLOSE, 100);
    assert_int_equal(expect(fds[1], TRIB_MESSAGE_MARK).mark.mark, 100);
    (void)expect(fds[1], TRIB_MESSAGE_CLOSED);
    wait_until(c, &c->recorder.closes, 1);
    close_all(fds, 2);
}

static void close__ends_when_a_peer_is_gone(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    send_mark(fds[0], TRIB_MESSAGE_CLOSE, 100);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    close(fds[1]);
    (void)expect(fds[0], TRIB_MESSAGE_CLOSED);
    wait_until(c, &c->recorder.closes, 1);
    close(fds[0]);
}

static void close__who_waits_for_a_closed_rank_is_told(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    send_mark(fds[0], TRIB_MESSAGE_CLOSE, 100);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 99, .since_ms = 1200}};
    send_message(fds[1], &stall); /* 99 can still be finished: nothing happens */
    assert_int_equal(expect(fds[1], TRIB_MESSAGE_MISSING).stall.sequence, 99);
    stall.stall.sequence = 100;
    send_message(fds[1], &stall);
    expect_fail(fds[1], TRIB_ERR_PEER, "has closed the communicator at sequence 100");
    (void)expect(fds[0], TRIB_MESSAGE_CLOSED);
    close(fds[0]);
}

/* Rank 1 sends its part in vain, and waits: it is missing all the same, as is rank 2, which waits for a later result. */
static void stall__names_ranks_that_wait_too(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[3];
    (void)run_job(c, 3, fds);
    recorder_lack(c, 2, (const uint16_t[]){1, 2});
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t rank = 2 - i % 3;
        struct trib_message stall = {.kind = TRIB_MESSAGE_STALL,
                                     .stall = {.sequence = rank == 2 ? 9 : 5, .since_ms = 1200}};
        send_message(fds[rank], &stall);
        struct trib_message missing = expect(fds[rank], TRIB_MESSAGE_MISSING);
        assert_int_equal(missing.stall.missing.count, 2);
        assert_int_equal(missing.stall.missing.rank[0], 1);
        assert_int_equal(missing.stall.missing.rank[1], 2);
        assert_string_equal(missing.stall.where, "");
    }
    close_all(fds, 3);
}

static void restart__ranks_bring_their_grants(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    struct trib_grant known = old_grant();
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message message = join_message(i, 2);
        message.join.known = known;
        message.join.was_ready = true;
        message.join.known.boot += i; /* they need not have seen the same boot */
        fds[i] = join_with(c, &message);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_grant grant = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant;
        assert_int_equal(grant.boot, c->config.boot);
        assert_int_equal(grant.data_port, c->port);
        grant.boot = known.boot;
        grant.data_port = known.data_port;
        assert_memory_equal(&grant.salt, &known.salt, 16);
        assert_int_equal(grant.communicator, 7);
        assert_int_equal(grant.generation, 3);
        assert_int_equal(grant.slots, 32);
        send_mark(fds[i], TRIB_MESSAGE_REGISTER, 500 + i); /* PATHS left out */
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message ready = expect(fds[i], TRIB_MESSAGE_READY);
        assert_int_equal(ready.ready.boot, c->config.boot);
        assert_int_equal(ready.ready.mark, 500);
    }
    close_all(fds, 2);
}

/* Before its READY a group was heard by nobody for sure: it is tried as the first time. */
static void restart__before_ready_tries_the_group(void **state)
{
    struct control *c = *state;
    c->config.group = GROUP;
    control_start(c);
    int fds[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct trib_message message = join_message(i, 2);
        message.join.multicast = true;
        message.join.known = old_grant();
        message.join.known.group = GROUP;
        message.join.known.group_port = (uint16_t)(c->port + TRIB_ROOTS_MAX);
        fds[i] = join_with(c, &message);
    }
    for (uint32_t i = 0; i < 2; i++) {
        (void)expect(fds[i], TRIB_MESSAGE_WELCOME);
    }
    wait_until(c, &c->recorder.probes, 2);
    for (uint32_t i = 0; i < 2; i++) {
        send_paths(fds[i], true, true);
        send_mark(fds[i], TRIB_MESSAGE_REGISTER, 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(expect(fds[i], TRIB_MESSAGE_READY).ready.multicast);
    }
    close_all(fds, 2);
}

/* Whoever returns names the group; results go there only if it is one that this switch gives out. */
static void restart__results_go_to_no_group_of_a_stranger(void **state)
{
    struct control *c = *state;
    c->config.group = GROUP;
    control_start(c);
    const struct {
        uint32_t group;
        int port;
        bool is_ours;
    } cases[] = {{GROUP, TRIB_ROOTS_MAX, true},        {GROUP + 255, TRIB_ROOTS_MAX, true},
                 {0x7f000009, TRIB_ROOTS_MAX, false},  {GROUP, 0, false},
                 {GROUP + 256, TRIB_ROOTS_MAX, false}, {GROUP - 1, TRIB_ROOTS_MAX, false}};
    for (unsigned n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        int fds[2];
        for (uint32_t i = 0; i < 2; i++) {
            struct trib_message message = join_message(i, 2);
            message.join.multicast = true;
            message.join.known = old_grant();
            message.join.was_ready = true;
            message.join.known.group = cases[n].group;
            message.join.known.group_port = (uint16_t)(c->port + cases[n].port);
            fds[i] = join_with(c, &message);
        }
        for (uint32_t i = 0; i < 2; i++) {
            (void)expect(fds[i], TRIB_MESSAGE_WELCOME);
            send_mark(fds[i], TRIB_MESSAGE_REGISTER, 0);
        }
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(expect(fds[i], TRIB_MESSAGE_READY).ready.multicast, cases[n].is_ours);
        }
        assert_int_equal(recorder_get(c, &c->recorder.group), cases[n].is_ours ? cases[n].group : 0);
        close_all(fds, 2);
        wait_until(c, &c->recorder.closes, n + 1);
    }
}

/* The place between had less room, and its WELCOME did not reach all: the least window is everybody's. */
static void restart__windows_may_differ(void **state)
{
    struct control *c = *state;
    int fds[3];
    control_start(c);
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_message message = join_message(i, 3);
        message.join.known = old_grant();
        message.join.known.window -= i == 1;
        message.join.was_ready = true;
        fds[i] = join_with(c, &message);
    }
    for (uint32_t i = 0; i < 3; i++) {
        const struct trib_grant grant = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant;
        assert_int_equal(grant.window, old_grant().window - 1);
        assert_int_equal(grant.slots, old_grant().slots);
    }
    close_all(fds, 3);
}

static void restart__foreign_grants_are_refused(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_message message = join_message(0, 2);
    message.join.known = old_grant();
    message.join.was_ready = true;
    int a = join_with(c, &message);
    message.join.rank = 1;
    message.join.known.token++;
    expect_fail(join_with(c, &message), TRIB_ERR_REFUSED, "another grant");
    message.join.known = (struct trib_grant){0};
    expect_fail(join_with(c, &message), TRIB_ERR_REFUSED, "coming back after a restart");
    strcpy(message.join.job, "other");
    message.join.known = old_grant();
    message.join.was_ready = true;
    expect_fail(join_with(c, &message), TRIB_ERR_REFUSED, "communicator 00000007 of job other was given to another");
    message.join.known.boot = c->config.boot;
    expect_fail(join_with(c, &message), TRIB_ERR_PEER, "was lost");
    message.join.known = old_grant();
    message.join.was_ready = true;
    message.join.known.roots = 3;
    expect_fail(join_with(c, &message), TRIB_ERR_REFUSED, "came back with 2");
    message.join.known.roots = 2;
    static const struct {
        uint32_t train, window, slots;
    } insane[] = {{4, 16, 0},
                  {4, 16, 15},
                  {4, 0, 32},
                  {0, 16, 32},
                  {65, 16, 32},
                  {4, 16, TRIB_SLOTS_MAX + 1},
                  {4, UINT32_MAX, UINT32_MAX}};
    for (unsigned i = 0; i < sizeof insane / sizeof insane[0]; i++) {
        message.join.known.train = insane[i].train;
        message.join.known.window = insane[i].window;
        message.join.known.slots = insane[i].slots;
        expect_fail(join_with(c, &message), TRIB_ERR_INVALID, "no switch gives");
    }
    close(a);
}

static void mismatch__both_texts_reach_all(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[4];
    struct trib_grant grant = run_job(c, 4, fds);
    trib_server_mismatch(c->server, grant.communicator + 1, 17, 3, 0); /* unknown: nothing happens */
    trib_server_mismatch(c->server, grant.communicator, 17, 3, 0);
    trib_server_mismatch(c->server, grant.communicator, 17, 3, 0);
    for (uint32_t rank = 0; rank < 4; rank += 3) {
        struct trib_message answer = {.kind = TRIB_MESSAGE_OPERATION};
        answer.operation.sequence = expect(fds[rank], TRIB_MESSAGE_DESCRIBE).describe.sequence;
        assert_int_equal(answer.operation.sequence, 17);
        strcpy(answer.operation.text, rank == 0 ? "allreduce of 8 float32" : "barrier");
        send_message(fds[rank], &answer);
    }
    for (uint32_t i = 0; i < 4; i++) {
        expect_fail(fds[i], TRIB_ERR_MISMATCH,
                    "operations differ on sequence 17: rank 0 called allreduce of 8 float32, rank 3 called barrier");
    }
}

static void mismatch__silence_does_not_stop_it(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    struct trib_grant grant = run_job(c, 2, fds);
    uint64_t asked_ns = trib_clock_ns();
    trib_server_mismatch(c->server, grant.communicator, 17, 0, 1);
    (void)expect(fds[0], TRIB_MESSAGE_DESCRIBE);
    (void)expect(fds[1], TRIB_MESSAGE_DESCRIBE);
    expect_fail(fds[0], TRIB_ERR_MISMATCH, "rank 1 called an operation that it does not name");
    assert_true(trib_clock_ns() - asked_ns > TRIB_SECOND_NS); /* a rank on a busy machine has its time to answer */
    expect_fail(fds[1], TRIB_ERR_MISMATCH, "sequence 17");
}

static void hostile__bytes_end_only_their_own_connection(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    static const struct {
        const char *bytes;
        size_t len;
    } attacks[] = {{"GET / HTTP/1.1\r\n\r\n", 18},
                   {"\0\0\0\0\0", 5},
                   {"\0\0\0\1\x63", 5},
                   {"\xff\xff\xff\xff", 4},
                   {"\0\0\0\x05\x01XXXX", 9},
                   {"\0\0\0\1\x0a", 5},
                   {"\0\0\0\x09\x06\0\0\0\0\0\0\0\0", 13}};
    for (unsigned i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
        int fd = connect_to(c->port);
        send_bytes(fd, attacks[i].bytes, attacks[i].len);
        struct trib_message last = next_message(fd); /* FAIL, where the bytes were a message */
        assert_true(last.kind == TRIB_MESSAGE_NONE || last.kind == TRIB_MESSAGE_FAIL);
        assert_int_equal(last.kind == TRIB_MESSAGE_NONE ? TRIB_MESSAGE_NONE : next_message(fd).kind, TRIB_MESSAGE_NONE);
        close(fd);
    }
    send_mark(fds[0], TRIB_MESSAGE_MARK, 1);
    (void)expect(fds[0], TRIB_MESSAGE_MARK);
    close_all(fds, 2);
}

static void hostile__message_out_of_turn_is_a_death(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[2];
    (void)run_job(c, 2, fds);
    send_mark(fds[0], TRIB_MESSAGE_MARK, UINT64_MAX); /* no sequence */
    expect_fail(fds[0], TRIB_ERR_INVALID, "unexpected at this point");
    expect_fail(fds[1], TRIB_ERR_PEER, "out of turn");
}

static void message__in_single_bytes(void **state)
{
    struct control *c = *state;
    control_start(c);
    uint8_t buffer[TRIB_MESSAGE_MAX];
    struct trib_message message = join_message(0, 1);
    size_t len = trib_message_encode(&message, buffer);
    int fd = connect_to(c->port);
    for (size_t i = 0; i < len; i++) {
        send_bytes(fd, buffer + i, 1);
    }
    (void)expect(fd, TRIB_MESSAGE_WELCOME);
    close(fd);
}

static void stop__tells_every_session(void **state)
{
    struct control *c = *state;
    control_start(c);
    int fds[3];
    (void)run_job(c, 2, fds);
    fds[2] = connect_to(c->port);
    expect_read(fds[0]); /* it has been accepted */
    trib_server_stop(c->server);
    char want[64];
    snprintf(want, sizeof want, "the switch 127.0.0.1:%u is shutting down", c->port);
    for (int i = 0; i < 3; i++) {
        expect_fail(fds[i], TRIB_ERR_SWITCH, want);
    }
}

static void create__port_in_use_names_it(void **state)
{
    struct control *c = *state;
    control_start(c);
    struct trib_server_config config = c->config;
    struct trib_server *second = NULL;
    char error[TRIB_ERROR_TEXT_MAX];
    trib_address_set_port(&config.listen, c->port);
    assert_int_equal(trib_server_create(&config, &second, error), TRIB_ERR_REFUSED);
    assert_non_null(strstr(error, "another program has this port"));
    assert_int_equal(trib_address_parse("192.0.2.1:0", 0, &config.listen, NULL), TRIB_OK); /* nobody's (RFC 5737) */
    assert_int_equal(trib_server_create(&config, &second, error), TRIB_ERR_SYSTEM);
    assert_non_null(strstr(error, "is it an address of this machine?"));
    assert_null(second);
}

/* A descriptor number that the server closes twice belongs to another thread in between. */
static void destroy__closes_no_descriptor_twice(void **state)
{
    struct control *c = *state;
    int others[16]; /* more than a server without sessions has */
    control_start(c);
    trib_server_stop(c->server);
    assert_int_equal(pthread_join(c->thread, NULL), 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        others[i] = eventfd(0, EFD_CLOEXEC); /* the lowest number that is free */
        assert_true(others[i] >= 0);
    }
    trib_server_destroy(c->server);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(close(others[i]), 0);
    }
    control_start(c); /* the next one, which ends with the test */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, control_set_up, control_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(join__three_ranks_to_ready),
        TEST(join__every_setting_is_compared),
        TEST(join__rank_taken),
        TEST(join__bad_values_name_the_cause),
        TEST(join__other_version_is_told_both),
        TEST(join__quota_refuses_with_the_numbers),
        TEST(join__memory_of_the_switch_is_shared),
        TEST(join__no_memory_in_the_data_plane),
        TEST(join__late_ranks_are_named),
        TEST(join__who_left_before_the_start_may_come_again),
        TEST(join__running_job_refuses),
        TEST(join__running_job_of_one_refuses),
        TEST(paths__unreachable_names_rank_and_size),
        TEST(paths__multicast_if_all_report_it),
        TEST(gone__others_are_told_who),
        TEST(gone__name_is_free_at_once),
        TEST(abort__others_get_its_text),
        TEST(abort__of_a_rank_that_waits_is_told_who_is_missing),
        TEST(mark__answers_and_tells_who_waits),
        TEST(close__waits_for_all_marks),
        TEST(close__ends_when_a_peer_is_gone),
        TEST(close__who_waits_for_a_closed_rank_is_told),
        TEST(stall__names_ranks_that_wait_too),
        TEST(restart__ranks_bring_their_grants),
        TEST(restart__windows_may_differ),
        TEST(restart__foreign_grants_are_refused),
        TEST(restart__before_ready_tries_the_group),
        TEST(restart__results_go_to_no_group_of_a_stranger),
        TEST(mismatch__both_texts_reach_all),
        TEST(mismatch__silence_does_not_stop_it),
        TEST(hostile__bytes_end_only_their_own_connection),
        TEST(hostile__message_out_of_turn_is_a_death),
        TEST(message__in_single_bytes),
        TEST(stop__tells_every_session),
        TEST(create__port_in_use_names_it),
        TEST(destroy__closes_no_descriptor_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
