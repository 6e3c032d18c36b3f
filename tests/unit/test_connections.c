/* SPDX-License-Identifier: Apache-2.0 */
/* test_connections.c: what keeps a silent, slow or greedy peer harmless, on real sockets and with a clock that the test
 * sets. The dialogue itself: test_server.c. */
#define _GNU_SOURCE
#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "control_harness.h"

#include "control/jobs/jobs.h"
#include "control/server/accept.h"
#include "control/server/channels.h"
#include "control/server/connections.h"
#include "control/server/listener.h"
#include "control/server/rounds.h"
#include "io/log.h"
#include "unit/draw.h"

struct world {
    struct control control; /* only its config and recorder: no thread runs */
    struct trib_jobs jobs;
    struct trib_connections connections;
    struct pollfd fds[TRIB_CONNECTIONS_POLLED];
    uint16_t port;
    uint64_t now_ns;
    int wait_ms; /* for something to move */
};

static int start(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct trib_address bound;
    int fd;
    control_init(&w->control);
    assert_int_equal(trib_listener_open(&w->control.config.listen, &fd, &bound, NULL), TRIB_OK);
    w->port = trib_address_port(&bound);
    const struct trib_jobs_output output = {.owner = &w->connections,
                                            .send = trib_connections_send,
                                            .end = trib_connections_end,
                                            .ping = trib_connections_ping,
                                            .draw = test_draw,
                                            .say = trib_connections_say};
    trib_jobs_init(&w->jobs, &w->control.config, &output);
    assert_int_equal(trib_connections_init(&w->connections, fd, &w->jobs, &trib_channels, NULL), TRIB_OK);
    w->now_ns = 1000 * TRIB_SECOND_NS;
    w->wait_ms = 20;
    *state = w;
    return 0;
}

static int stop(void **state)
{
    struct world *w = *state;
    trib_jobs_deinit(&w->jobs, TRIB_ERR_SWITCH, "over");
    trib_connections_deinit(&w->connections, TRIB_ERR_SWITCH, "over");
    assert_int_equal(w->connections.count, 0);
    free(w);
    return 0;
}

/* What the server's loop does, until nothing moves any more, which it must once. */
static void step(struct world *w)
{
    int ready = 1;
    for (unsigned rounds = 0; ready > 0; rounds++) {
        assert_true(rounds < 10000);
        uint32_t count = trib_connections_poll(&w->connections, w->fds, w->now_ns);
        ready = poll(w->fds, count, w->wait_ms);
        trib_connections_ready(&w->connections, w->fds, count, w->now_ns);
        trib_jobs_on_timeout(&w->jobs, w->now_ns);
        trib_connections_on_timeout(&w->connections, w->now_ns);
        trib_connections_sweep(&w->connections, w->now_ns);
    }
}

static void silent__is_closed_after_its_time(void **state)
{
    struct world *w = *state;
    int fd = connect_to(w->port);
    step(w);
    assert_int_equal(w->connections.count, 1);
    assert_int_equal(trib_connections_next_timeout(&w->connections), w->now_ns + TRIB_JOIN_WAIT_NS);
    w->now_ns += TRIB_JOIN_WAIT_NS - 1;
    step(w);
    assert_int_equal(w->connections.count, 1);
    w->now_ns += 1;
    step(w);
    assert_int_equal(w->connections.count, 0);
    assert_int_equal(w->connections.stats.rejected_silent, 1);
    assert_int_equal(next_message(fd).kind, TRIB_MESSAGE_NONE);
    close(fd);
}

static void slow__half_a_message_is_closed_after_its_time(void **state)
{
    struct world *w = *state;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    const struct trib_message join = join_message(0, 2);
    size_t len = trib_message_encode(&join, bytes);
    int fd = connect_to(w->port);
    send_bytes(fd, bytes, len);
    step(w);
    assert_int_equal(w->jobs.count, 1);
    w->now_ns += TRIB_SECOND_NS;
    send_bytes(fd, "\0\0\0", 3);
    step(w);
    w->now_ns += TRIB_HALF_WAIT_NS - 1;
    w->control.config.join_timeout_ns = TRIB_NEVER; /* has been read at JOIN; the job's own limit comes first else */
    w->jobs.first->deadline_ns = TRIB_NEVER;
    step(w);
    assert_int_equal(w->connections.count, 1);
    w->now_ns += 1;
    step(w);
    assert_int_equal(w->connections.count, 0);
    assert_int_equal(w->connections.stats.rejected_slow, 1);
    assert_int_equal(w->jobs.count, 0);
    close(fd);
}

/* Who speaks the protocol but for a field hears which; the rest of the bytes is not looked at. */
static void malformed__is_told_which_field(void **state)
{
    struct world *w = *state;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    const struct trib_message join = join_message(0, 2);
    size_t len = trib_message_encode(&join, bytes);
    int fd = connect_to(w->port);
    bytes[5 + 4 + 2 + 2] = 1; /* the job's length: 256 bytes and more */
    send_bytes(fd, bytes, len);
    step(w);
    expect_fail(fd, TRIB_ERR_INVALID,
                "a malformed message JOIN: its field \"job\" is cut off, too long or has an invalid value");
    assert_int_equal(w->connections.stats.rejected_malformed, 1);
    close(fd);
}

/* A rank that is in a job is dead with that. */
static void malformed__ends_the_rank(void **state)
{
    struct world *w = *state;
    const struct trib_message joins[2] = {join_message(0, 2), join_message(1, 2)};
    int fds[2] = {connect_to(w->port), connect_to(w->port)};
    for (int rank = 0; rank < 2; rank++) {
        send_message(fds[rank], &joins[rank]);
        step(w);
    }
    send_bytes(fds[1], "\0\0\0\3\3\1\2", 7); /* PATHS with a bool that is 2 */
    step(w);
    step(w);
    (void)expect(fds[0], TRIB_MESSAGE_WELCOME);
    (void)expect(fds[1], TRIB_MESSAGE_WELCOME);
    expect_fail(fds[1], TRIB_ERR_INVALID, "a malformed message PATHS: its field \"multicast\"");
    expect_fail(fds[0], TRIB_ERR_PEER, "it sent a malformed message");
    close(fds[0]);
    close(fds[1]);
}

/* A rank runs while a controller elsewhere comes: in another version, then with what is out of turn. That one is told;
 * the rank and its job hear nothing. */
static void control__bad_ones_disturb_nobody(void **state)
{
    struct world *w = *state;
    const struct trib_message join = join_message(0, 1);
    const struct trib_message again = {.kind = TRIB_MESSAGE_MARK};
    struct trib_message control = {.kind = TRIB_MESSAGE_CONTROL,
                                   .control = {.magic = TRIB_SESSION_MAGIC,
                                               .version = TRIB_SESSION_VERSION - 1,
                                               .wire_version = TRIB_WIRE_VERSION,
                                               .port = 7470}};
    char text[128];
    w->control.config.lend_to.count = 1;
    w->control.config.lend_to.at[0] = trib_address_v4(INADDR_LOOPBACK, 0);
    int rank = connect_to(w->port);
    send_message(rank, &join);
    step(w);
    (void)expect(rank, TRIB_MESSAGE_WELCOME);
    int asker = connect_to(w->port);
    send_message(asker, &control);
    step(w);
    (void)snprintf(text, sizeof text, "versions differ: the sender speaks session %d and packet %d, this switch (",
                   TRIB_SESSION_VERSION - 1, TRIB_WIRE_VERSION);
    expect_fail(asker, TRIB_ERR_VERSION, text);
    for (uint32_t i = 0; i < 2; i++) {
        control.control.version = TRIB_SESSION_VERSION;
        asker = connect_to(w->port);
        send_message(asker, &control);
        step(w);
        (void)expect(asker, TRIB_MESSAGE_HELLO);
        assert_non_null(w->jobs.masters.first);
        send_message(asker, i == 0 ? &control : &again);
        step(w);
        expect_fail(asker, TRIB_ERR_INVALID,
                    i == 0 ? "message CONTROL is unexpected at this point of the session"
                           : "message MARK is unexpected at this point");
        step(w);
        assert_null(w->jobs.masters.first);
    }
    assert_int_equal(w->connections.count, 1);
    assert_int_equal(w->jobs.count, 1);
    send_paths(rank, true, false);
    send_mark(rank, TRIB_MESSAGE_REGISTER, 0);
    step(w);
    (void)expect(rank, TRIB_MESSAGE_READY);
    close(rank);
    step(w);
}

static void slow__whole_messages_may_come_at_any_pace(void **state)
{
    struct world *w = *state;
    const struct trib_message join = join_message(0, 1);
    int fd = connect_to(w->port);
    send_message(fd, &join);
    step(w);
    send_paths(fd, true, false);
    send_mark(fd, TRIB_MESSAGE_REGISTER, 0);
    step(w);
    w->now_ns += 3600 * TRIB_SECOND_NS;
    step(w);
    assert_int_equal(w->connections.count, 1);
    assert_int_equal(trib_connections_next_timeout(&w->connections), TRIB_NEVER);
    close(fd);
}

static void ended__that_never_closes_is_closed(void **state)
{
    struct world *w = *state;
    const struct trib_message join = join_message(4, 4); /* out of range: FAIL */
    int fd = connect_to(w->port);
    send_message(fd, &join);
    step(w);
    assert_int_equal(w->connections.count, 1); /* it may still be reading */
    send_bytes(fd, "noise behind the end", 20);
    step(w);
    assert_int_equal(w->connections.count, 1);
    w->now_ns += TRIB_DRAIN_WAIT_NS;
    step(w);
    assert_int_equal(w->connections.count, 0);
    assert_int_equal(next_message(fd).kind, TRIB_MESSAGE_FAIL);
    close(fd);
}

static void full__no_descriptors_left_is_survived(void **state)
{
    struct world *w = *state;
    struct rlimit limit;
    int fd = connect_to(w->port);
    int spare = dup(fd); /* the lowest free descriptor: the limit below is one under what accept would need */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit tight = {.rlim_cur = (rlim_t)spare, .rlim_max = limit.rlim_max};
    close(spare);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    uint32_t count = trib_connections_poll(&w->connections, w->fds, w->now_ns);
    assert_int_equal(poll(w->fds, count, 1000), 1);
    trib_connections_ready(&w->connections, w->fds, count, w->now_ns);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(w->connections.count, 0);
    (void)trib_connections_poll(&w->connections, w->fds, w->now_ns);
    assert_int_equal(w->fds[0].fd, -1); /* it does not spin */
    assert_true(trib_connections_is_paused(&w->connections, w->now_ns));
    assert_int_equal(w->connections.warned_ns, w->now_ns);
    assert_true(trib_connections_next_timeout(&w->connections) > w->now_ns);
    w->now_ns = trib_connections_next_timeout(&w->connections);
    step(w);
    assert_int_equal(w->connections.count, 1);
    close(fd);
}

static void full__more_are_turned_away(void **state)
{
    struct world *w = *state;
    int fds[4];
    w->connections.limit = 3;
    for (unsigned i = 0; i < 4; i++) {
        fds[i] = connect_to(w->port);
    }
    step(w);
    assert_int_equal(w->connections.count, 3);
    assert_int_equal(w->connections.stats.rejected_full, 1);
    struct trib_message away = next_message(fds[3]);
    assert_int_equal(away.kind, TRIB_MESSAGE_AWAY);
    assert_non_null(strstr(away.note.text, " has no room for another session, with 3: come again later"));
    assert_int_equal(next_message(fds[3]).kind, TRIB_MESSAGE_NONE);
    assert_false(trib_connections_is_paused(&w->connections, w->now_ns));
    close(fds[0]);
    close(fds[3]);
    step(w);
    fds[0] = connect_to(w->port);
    step(w);
    assert_int_equal(w->connections.count, 3); /* there is room again */
    close_all(fds, 3);
}

/* A peer with a key hears it as an alert: one that has said nothing yet if all have keys here. */
static void full__with_keys_peers_hear_it_as_they_speak(void **state)
{
    static const struct trib_keyring ring = {.is_for_jobs = true};
    struct world *w = *state;
    uint8_t bytes[2 * TRIB_TLS_NO_ROOM_SIZE];
    int fds[4];
    for (unsigned i = 0; i < 4; i++) {
        fds[i] = connect_to(w->port);
    }
    send_bytes(fds[1], "\x16\x03\x01", 3);
    send_bytes(fds[2], "\x00\x00\x00\x80", 4);
    w->connections.limit = 1;
    w->connections.side = (struct trib_tls_side *)(void *)w; /* never used: the only peer inside says nothing */
    w->control.config.keys = &ring;
    step(w);
    assert_int_equal(w->connections.stats.rejected_full, 3);
    for (unsigned i = 1; i < 4; i += 2) {
        assert_int_equal(recv(fds[i], bytes, sizeof bytes, 0), TRIB_TLS_NO_ROOM_SIZE);
        assert_memory_equal(bytes, TRIB_TLS_NO_ROOM, TRIB_TLS_NO_ROOM_SIZE);
    }
    assert_int_equal(next_message(fds[2]).kind, TRIB_MESSAGE_AWAY);
    w->connections.side = NULL;
    close_all(fds, 4);
}

/* A quarter is for others. */
static void full__one_address_does_not_take_all(void **state)
{
    struct world *w = *state;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(w->port)};
    struct sockaddr_in from = {.sin_family = AF_INET};
    int fds[8];
    w->connections.limit = 8;
    for (unsigned i = 0; i < 7; i++) {
        fds[i] = connect_to(w->port);
    }
    fds[7] = socket(AF_INET, SOCK_STREAM, 0);
    from.sin_addr.s_addr = htonl(0x7f000002U);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fds[7], (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fds[7], (struct sockaddr *)&to, sizeof to), 0);
    step(w);
    assert_int_equal(w->connections.count, 7);
    assert_int_equal(w->connections.stats.rejected_address, 1);
    assert_int_equal(w->connections.stats.rejected_full, 0);
    struct trib_message away = next_message(fds[6]);
    assert_int_equal(away.kind, TRIB_MESSAGE_AWAY);
    assert_non_null(strstr(away.note.text, " has no room for another session of this address, with 6 of all"));
    close_all(fds, 8);
}

/* In a process of its own: who lowers the hard limit cannot raise it again. */
static uint32_t limit_with(struct world *w, rlim_t soft, rlim_t hard)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
        bool is_set = setrlimit(RLIMIT_NOFILE, &limit) == 0;
        is_set = is_set && trib_connections_init(&w->connections, -1, &w->jobs, &trib_channels, NULL) == TRIB_OK;
        _exit(is_set ? (int)w->connections.limit : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return (uint32_t)WEXITSTATUS(status);
}

static void full__limit_leaves_descriptors_for_others(void **state)
{
    assert_int_equal(limit_with(*state, 64, 64), 32);
    assert_int_equal(limit_with(*state, 400, 400), 208);
    assert_int_equal(limit_with(*state, 64, 400), 208); /* raised as far as it may be */
}

/* Rank 0's program keeps its limit of open files, and its descriptors, whoever connects; ranks get what they need. */
static void guest__strangers_raise_nothing(void **state)
{
    struct world *w = *state;
    w->control.config.is_guest = true;
    assert_int_equal(limit_with(w, 64, 400), 32);
    int fds[6];
    w->connections.limit = 8;
    for (unsigned i = 0; i < 6; i++) {
        fds[i] = connect_to(w->port);
    }
    step(w);
    assert_int_equal(w->connections.count, 4);
    assert_int_equal(w->connections.stats.rejected_full, 2);
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_message join = join_message(i, 20);
        send_message(fds[i], &join);
    }
    step(w);
    w->connections.limit = 4;
    close(fds[4]);
    fds[4] = connect_to(w->port);
    step(w);
    assert_int_equal(w->connections.count, 5); /* of them 4 ranks: more may come */
    assert_true(w->connections.limit > 4);
    for (unsigned i = 0; i < 6; i++) {
        close(fds[i]);
    }
    step(w);
}

/* A child of fork has all descriptors too, so that a session's lives on when it is closed here: nothing more may be heard
 * of it. */
static void forked__child_keeps_no_session(void **state)
{
    struct world *w = *state;
    int fd = connect_to(w->port);
    step(w);
    assert_int_equal(w->connections.count, 1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(shutdown(fd, SHUT_RDWR), 0);
    step(w);
    assert_int_equal(w->connections.count, 0);
    w->wait_ms = 200;
    uint32_t count = trib_connections_poll(&w->connections, w->fds, w->now_ns);
    assert_int_equal(poll(w->fds, count, w->wait_ms), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(fd);
}

/* Many ranks of many jobs come and go in a random order, some in the middle of a message; nothing may stay. */
static void random__comings_and_goings_leave_nothing(void **state)
{
    struct world *w = *state;
    uint64_t seed = 42;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    int fds[40];
    for (unsigned i = 0; i < 40; i++) {
        fds[i] = -1;
    }
    for (unsigned round = 0; round < 400; round++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        unsigned at = (unsigned)(seed >> 33) % 40;
        if (fds[at] >= 0) {
            close(fds[at]);
            fds[at] = -1;
        } else {
            struct trib_message join = join_message(at % 4, 4);
            snprintf(join.join.job, sizeof join.join.job, "job%u", at / 4);
            size_t len = trib_message_encode(&join, bytes);
            fds[at] = connect_to(w->port);
            send_bytes(fds[at], bytes, seed >> 60 == 0 ? len / 2 : len);
        }
        if (round % 3 == 0) {
            uint32_t count = trib_connections_poll(&w->connections, w->fds, w->now_ns);
            (void)poll(w->fds, count, 0);
            trib_connections_ready(&w->connections, w->fds, count, w->now_ns);
            trib_connections_sweep(&w->connections, w->now_ns);
        }
    }
    for (unsigned i = 0; i < 40; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    step(w);
    assert_int_equal(w->connections.count, 0);
    assert_int_equal(w->jobs.count, 0);
    assert_int_equal(w->jobs.agent.memory_used, 0);
    assert_int_equal(w->control.recorder.opens, w->jobs.stats.failed[-TRIB_ERR_PEER]);
    assert_true(w->control.recorder.opens > 3); /* some jobs did get together */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

/* What time lets go is looked at, and then what lies behind it in the socket. */
static void pass_second(struct world *w)
{
    w->now_ns += TRIB_SECOND_NS;
    step(w);
    step(w);
}

#define MARKS 180

/* So many MARKs, for as long as the other side takes them; `sent` are the bytes of them that it has. */
static void send_marks(int fd, size_t *sent)
{
    const struct trib_message mark = {.kind = TRIB_MESSAGE_MARK};
    uint8_t bytes[MARKS * 64];
    size_t len = 0;
    for (unsigned i = 0; i < MARKS; i++) {
        assert_true(len + 64 <= sizeof bytes);
        len += trib_message_encode(&mark, bytes + len);
    }
    ssize_t got = 1;
    for (; *sent < len && got > 0; *sent += got > 0 ? (size_t)got : 0) {
        got = send(fd, bytes + *sent, len - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    *sent = *sent < len ? *sent : 0;
}

/* Has all that was sent been taken? What a busy machine still has on its way would count for the next second. */
static bool is_taken(const struct world *w, int fd)
{
    int on_way = 0;
    int unread = 0;
    if (w->connections.count == 0) {
        return true;
    }
    assert_int_equal(ioctl(fd, SIOCOUTQ, &on_way), 0);
    assert_int_equal(ioctl(w->connections.all[0]->fd, SIOCINQ, &unread), 0);
    return on_way == 0 && unread == 0 && w->connections.all[0]->in_len == 0;
}

static void unread__answers_do_not_pile_up(void **state)
{
    struct world *w = *state;
    const struct trib_message join = join_message(0, 1);
    size_t sent = 0;
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(w->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int size = 1;
    int one = 1;
    int segment = 536;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* Buffers at both ends as small as can be: that of the sender grows with the segments else. */
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    send_message(fd, &join);
    step(w);
    assert_int_equal(setsockopt(w->connections.all[0]->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
    send_paths(fd, true, false);
    send_mark(fd, TRIB_MESSAGE_REGISTER, 0);
    w->wait_ms = 2;
    for (unsigned s = 0; s < 3000 && w->connections.count > 0; s++) {
        send_marks(fd, &sent);
        do {
            step(w);
        } while (sent == 0 && !is_taken(w, fd));
        pass_second(w);
    }
    assert_int_equal(w->connections.stats.rejected_unread, 1);
    assert_int_equal(w->connections.count, 0);
    assert_int_equal(w->control.recorder.closes, 1);
    close(fd);
}

static void expect_flooded(struct world *w, int other)
{
    step(w);
    assert_int_equal(w->connections.stats.rejected_flood, 1);
    assert_int_equal(w->jobs.count, 0);
    const struct trib_message fail = next_message(other);
    assert_int_equal(fail.kind, TRIB_MESSAGE_FAIL);
    assert_non_null(strstr(fail.fail.text, "rank 0 (127.0.0.1:"));
    assert_non_null(strstr(fail.fail.text, ") is gone: it sent more than 200 messages a second"));
}

/* Two ranks that run; returns rank 0. */
static int start_two(struct world *w, int *other)
{
    const struct trib_message join[2] = {join_message(0, 2), join_message(1, 2)};
    int fd = connect_to(w->port);
    *other = connect_to(w->port);
    send_message(fd, &join[0]);
    send_message(*other, &join[1]);
    step(w);
    for (int i = 0; i < 2; i++) {
        send_paths(i == 0 ? fd : *other, true, false);
        send_mark(i == 0 ? fd : *other, TRIB_MESSAGE_REGISTER, 0);
    }
    step(w);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(next_message(i == 0 ? fd : *other).kind, TRIB_MESSAGE_WELCOME);
        assert_int_equal(next_message(i == 0 ? fd : *other).kind, TRIB_MESSAGE_READY);
    }
    return fd;
}

/* By packets, that is, which the control plane does not see. */
static void marks__that_rise_unseen_are_told(void **state)
{
    struct world *w = *state;
    int other;
    int fd = start_two(w, &other);
    send_mark(fd, TRIB_MESSAGE_MARK, 5);
    step(w);
    assert_int_equal(expect(fd, TRIB_MESSAGE_MARK).mark.mark, 0);
    for (uint64_t mark = 1; mark <= 5; mark++) {
        w->control.recorder.marks[0] = w->control.recorder.marks[1] = mark;
        w->now_ns += 100 * TRIB_MILLISECOND_NS;
        step(w);
        assert_int_equal(expect(fd, TRIB_MESSAGE_MARK).mark.mark, mark);
    }
    w->now_ns += 100 * TRIB_MILLISECOND_NS;
    step(w);
    assert_int_equal(trib_jobs_next_timeout(&w->jobs), TRIB_NEVER); /* nobody waits any more */
    close(fd);
    close(other);
    step(w);
}

/* Nobody has to say much; what has gathered while a path was silent is taken. One that says more is broken, and is
 * named. */
static void flood__of_one_is_its_end(void **state)
{
    struct world *w = *state;
    int other;
    uint64_t mark = 0;
    int fd = start_two(w, &other);
    for (unsigned i = 0; i < 1000; i++) {
        send_mark(fd, TRIB_MESSAGE_MARK, ++mark);
    }
    step(w);
    for (unsigned s = 0; s < 20; s++) {
        w->now_ns += TRIB_SECOND_NS;
        for (unsigned i = 0; i < 190; i++) {
            send_mark(fd, TRIB_MESSAGE_MARK, ++mark);
        }
        step(w);
    }
    assert_int_equal(w->connections.stats.rejected_flood, 0);
    assert_int_equal(w->control.recorder.marks[0], mark);
    for (unsigned i = 0; i < 1100; i++) {
        send_mark(fd, TRIB_MESSAGE_MARK, mark);
    }
    expect_flooded(w, other);
    unsigned marks = 0;
    struct trib_message last = next_message(fd);
    for (; last.kind == TRIB_MESSAGE_MARK; last = next_message(fd)) {
        marks++;
    }
    assert_true(marks > 1000);
    assert_int_equal(last.kind, TRIB_MESSAGE_FAIL);
    assert_string_equal(last.fail.text, "this rank sent more than 200 messages a second");
    close(fd);
    close(other);
}

/* Nor does its end hide behind what fills the buffers of both kernels. */
static void flood__that_ends_is_seen_at_once(void **state)
{
    struct world *w = *state;
    int other;
    int fd = start_two(w, &other);
    struct trib_message operation = {.kind = TRIB_MESSAGE_OPERATION, .operation = {.sequence = 7}};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    memset(operation.operation.text, 'x', sizeof operation.operation.text - 1);
    size_t len = trib_message_encode(&operation, bytes);
    unsigned sent = 0;
    while (send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len) {
        sent++;
    }
    assert_true(sent > 2000);
    close(fd);
    expect_flooded(w, other);
    w->now_ns += TRIB_DRAIN_WAIT_NS;
    step(w);
    close(other);
    step(w);
    assert_int_equal(w->connections.count, 0);
}

/* Lines of the log so far that have the text. The file is empty afterwards. */
static unsigned count_lines(int log, const char *text)
{
    static char bytes[1 << 20];
    ssize_t len = pread(log, bytes, sizeof bytes - 1, 0);
    unsigned count = 0;
    assert_in_range(len, 0, sizeof bytes - 2);
    assert_int_equal(ftruncate(log, 0), 0);
    assert_int_equal(lseek(log, 0, SEEK_SET), 0);
    bytes[len] = '\0';
    for (const char *at = bytes; (at = strstr(at, text)) != NULL; at++) {
        count++;
    }
    return count;
}

static void say_often(struct world *w, enum trib_log_level level, unsigned count)
{
    step(w);
    for (unsigned i = 0; i < count; i++) {
        trib_jobs_say(&w->jobs, level, "switch 192.0.2.1:7470 is below this one, with 1 shards");
    }
}

/* A switch below that comes and goes in a loop: a peer says when lines of INFO are written. All ranks of the largest
 * job may come at once. */
static void loop__does_not_fill_the_log(void **state)
{
    struct world *w = *state;
    int log = memfd_create("log", MFD_CLOEXEC);
    int before = dup(STDERR_FILENO);
    assert_true(log >= 0 && before >= 0 && dup2(log, STDERR_FILENO) >= 0);
    trib_log_set_default(TRIB_LOG_INFO);
    say_often(w, TRIB_LOG_INFO, 5000);
    unsigned first = count_lines(log, "is below this one");
    w->now_ns += TRIB_SECOND_NS;
    say_often(w, TRIB_LOG_INFO, 100);
    unsigned left_out = count_lines(log, " lines are left out here");
    w->now_ns += TRIB_SECOND_NS;
    say_often(w, TRIB_LOG_INFO, 100);
    unsigned second = count_lines(log, "is below this one");
    say_often(w, TRIB_LOG_WARN, 100);
    unsigned warnings = count_lines(log, "is below this one");
    trib_log_set_default(TRIB_LOG_WARN);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    close(log);
    assert_in_range(first, 2 * 1024, 4096);
    assert_int_equal(left_out, 1);
    assert_int_equal(second, 10);
    assert_int_equal(warnings, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(silent__is_closed_after_its_time),    TEST(slow__half_a_message_is_closed_after_its_time),
        TEST(malformed__is_told_which_field),      TEST(malformed__ends_the_rank),
        TEST(control__bad_ones_disturb_nobody),    TEST(slow__whole_messages_may_come_at_any_pace),
        TEST(ended__that_never_closes_is_closed),  TEST(full__no_descriptors_left_is_survived),
        TEST(full__more_are_turned_away),          TEST(full__with_keys_peers_hear_it_as_they_speak),
        TEST(full__one_address_does_not_take_all), TEST(flood__of_one_is_its_end),
        TEST(flood__that_ends_is_seen_at_once),    TEST(unread__answers_do_not_pile_up),
        TEST(marks__that_rise_unseen_are_told),    TEST(full__limit_leaves_descriptors_for_others),
        TEST(guest__strangers_raise_nothing),      TEST(loop__does_not_fill_the_log),
        TEST(forked__child_keeps_no_session),      TEST(random__comings_and_goings_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
