/* SPDX-License-Identifier: Apache-2.0 */
/* test_uplinks.c: the connection of a switch to its parent, and the channels on it, on real sockets and with a clock
 * that the test sets. Sessions pass unread, and a controller above opens roots here. What it decides: test_leaves.c; the
 * other end of the connection: test_channels.c. Mirrors src/control/server/uplinks.c. */
#include "uplinks_harness.h"

/* ---- a parent that is away ---- */

/* No descriptor tells of a connection that was refused on the spot: time must. */
static void lost__is_due_at_once(void **state)
{
    struct world *w = *state;
    char parent[64];
    char want[160];
    int fd = come(w, 0);
    const struct trib_message away = hears(w, fd, TRIB_MESSAGE_AWAY);
    trib_address_format(&w->config.parent, parent);
    (void)snprintf(want, sizeof want,
                   "switch %s, the parent of switch 127.0.0.1:7470, does not answer: connection refused", parent);
    assert_string_equal(away.note.text,
                        want); /* it listens at every address: it is named by the one that leads there */
    hears_end(w, fd);
    assert_int_equal(w->uplinks.count, 0);
    assert_int_equal(trib_uplinks_next_timeout(&w->uplinks), TRIB_NEVER);
}

/* However many ranks come, a parent that does not answer is not asked more often than it takes to notice that it is
 * back. */
static void away__is_no_storm(void **state)
{
    struct world *w = *state;
    for (uint32_t i = 0; i < 10; i++) {
        int fd = come(w, i % 3);
        (void)hears(w, fd, TRIB_MESSAGE_AWAY);
        hears_end(w, fd);
    }
    assert_int_equal(w->uplinks.number, 1); /* the first one has asked */
    w->now_ns += 30 * TRIB_MILLISECOND_NS;
    assert_int_equal(listen(w->listener, 5), 0);
    int fd = come(w, 0);
    uint32_t number;
    (void)greet(w);
    (void)hears_channel(w, &number);
    assert_int_equal(number, 2);
    close(fd);
}

/* It listens, and its process does nothing. */
static void hello__without_an_answer_is_given_up(void **state)
{
    struct world *w = *state;
    assert_int_equal(listen(w->listener, 5), 0);
    int fd = come(w, 0);
    (void)hello_of(w);
    assert_int_equal(trib_uplinks_next_timeout(&w->uplinks), 11 * TRIB_SECOND_NS);
    w->now_ns = 11 * TRIB_SECOND_NS;
    const struct trib_message away = hears(w, fd, TRIB_MESSAGE_AWAY);
    assert_non_null(strstr(away.note.text, "does not answer: its process does not answer (is it stopped?)"));
    hears_end(w, fd);
}

/* ---- HELLO ---- */

static void hello__says_what_there_is(void **state)
{
    struct world *w = *state;
    char text[64];
    assert_int_equal(listen(w->listener, 5), 0);
    int fd = come(w, 0);
    const struct trib_message hello = greet(w);
    assert_int_equal(hello.hello.identity, SELF);
    assert_int_equal(hello.hello.attempt, 1);
    assert_int_equal(hello.hello.room, 1U << 20);
    assert_int_equal(hello.hello.shards, 2);
    assert_int_equal(hello.hello.path.count, 0);
    trib_address_format(&hello.hello.at[1], text); /* where the connection comes from */
    assert_string_equal(text, "0.0.0.0:7471");
    close(fd);
}

/* Its children find it there, and its parent as well. */
static void hello__names_the_addresses_of_a_list(void **state)
{
    struct world *w = *state;
    char text[64];
    w->config.listen = trib_address_v4(0x0a000007, 7470);
    w->config.also.count = 1;
    w->config.also.at[0] = trib_address_v4(0x0a630007, 7470);
    assert_int_equal(listen(w->listener, 5), 0);
    int fd = come(w, 0);
    const struct trib_message hello = greet(w);
    trib_address_format(&hello.hello.at[0], text);
    assert_string_equal(text, "10.0.0.7:7470");
    trib_address_format(&hello.hello.at[1], text);
    assert_string_equal(text, "10.99.0.7:7471");
    close(fd);
}

static void hello__refused_is_told_to_each_rank(void **state)
{
    struct world *w = *state;
    const struct trib_message words[] = {
        {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_INVALID, "give them different names"}},
        {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_VERSION, "versions differ: the sender speaks session 10"}},
        {.kind = TRIB_MESSAGE_AWAY, .note = {.text = "no room for a session"}},
    };
    assert_int_equal(listen(w->listener, 5), 0);
    for (uint32_t k = 0; k < 3; k++) {
        int fd[2] = {come(w, 0), come(w, 1)};
        (void)hello_of(w);
        send_message(w->line, &words[k]);
        for (uint32_t i = 0; i < 2; i++) {
            const struct trib_message told = hears(w, fd[i], words[k].kind);
            const char *text = k < 2 ? told.fail.text : told.note.text;
            if (k == 1) { /* the rank has named neither the parent nor that pair */
                assert_int_equal(told.fail.status, TRIB_ERR_VERSION);
                assert_non_null(
                    strstr(text, ", the parent of switch 127.0.0.1:7470: versions differ: the sender speaks"));
            } else {
                assert_string_equal(text, k == 0 ? words[0].fail.text : words[2].note.text);
            }
            hears_end(w, fd[i]);
        }
        pump(w);
        assert_int_equal(w->uplinks.count, 0);
        close(w->line);
        w->line = -1;
        w->now_ns += TRIB_SECOND_NS;
    }
}

/* Of a switch below this one: passed on, with this one's identity. */
static int come_as_switch(struct world *w, uint64_t identity, const struct trib_path *path)
{
    struct trib_message hello = {.kind = TRIB_MESSAGE_HELLO,
                                 .hello = {.magic = TRIB_SESSION_MAGIC,
                                           .version = TRIB_SESSION_VERSION,
                                           .wire_version = TRIB_WIRE_VERSION,
                                           .identity = identity,
                                           .life = 1,
                                           .room = 1000,
                                           .shards = 1,
                                           .path = *path}};
    int fd = connect_to(w->port);
    hello.hello.at[0] = trib_address_v4(0, 7470);
    send_message(fd, &hello);
    pump(w);
    return fd;
}

static void hello__of_a_switch_below_is_passed_on(void **state)
{
    struct world *w = *state;
    const struct trib_path path = {1, {9}};
    uint32_t number;
    assert_int_equal(listen(w->listener, 5), 0);
    int fd = come_as_switch(w, 8, &path);
    (void)greet(w);
    const struct trib_message hello = hears_channel(w, &number);
    assert_int_equal(hello.kind, TRIB_MESSAGE_HELLO);
    assert_int_equal(hello.hello.identity, 8);
    assert_int_equal(hello.hello.path.count, 2);
    assert_int_equal(hello.hello.path.identity[0], 9);
    assert_int_equal(hello.hello.path.identity[1], SELF);
    close(fd);
}

static void hello__that_comes_back_is_a_loop(void **state)
{
    struct world *w = *state;
    struct trib_path path[3] = {{.count = 0}, {2, {9, SELF}}, {.count = TRIB_HOPS_MAX}};
    for (uint32_t i = 0; i < TRIB_HOPS_MAX; i++) {
        path[2].identity[i] = 100 + i;
    }
    for (uint32_t i = 0; i < 3; i++) {
        int fd = come_as_switch(w, i == 0 ? SELF : 8, &path[i]);
        const struct trib_message fail = hears(w, fd, TRIB_MESSAGE_FAIL);
        assert_int_equal(fail.fail.status, TRIB_ERR_INVALID);
        assert_non_null(strstr(fail.fail.text, "is one of them its own parent?"));
        hears_end(w, fd);
    }
    assert_int_equal(w->uplinks.count, 0); /* nobody was asked */
}

static void version__of_a_rank_is_answered_here(void **state)
{
    struct world *w = *state;
    struct trib_message join = join_message(0, 3);
    int fd = connect_to(w->port);
    join.join.version--;
    send_message(fd, &join);
    const struct trib_message fail = hears(w, fd, TRIB_MESSAGE_FAIL);
    assert_int_equal(fail.fail.status, TRIB_ERR_VERSION);
    hears_end(w, fd);
    assert_int_equal(w->uplinks.count, 0);
}

/* ---- channels ---- */

static void join__all_come_over_one_connection(void **state)
{
    struct world *w = *state;
    uint32_t number[3];
    int fd[3];
    run_two(w, fd, number);
    assert_int_equal(w->uplinks.count, 1);
    fd[2] = come(w, 2); /* one that comes later */
    assert_int_equal(hears_channel(w, &number[2]).join.rank, 2);
    assert_true(number[0] < number[1] && number[1] < number[2]);
    assert_int_equal(w->uplinks.count, 1);
    close_all(fd, 3);
}

/* Messages of `size` bytes, of no kind that there is. */
static void make_nonsense(uint8_t *bytes, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(i / 7 | 0x80);
    }
    for (size_t i = 0; i < count; i += size) {
        const size_t body = size - 4;
        const uint8_t head[] = {0, 0, (uint8_t)(body >> 8), (uint8_t)body};
        memcpy(bytes + i, head, sizeof head);
    }
}

/* Whatever they are. */
static void bytes__pass_unread_both_ways(void **state)
{
    uint8_t nonsense[40];
    struct world *w = *state;
    uint32_t number[2];
    int fd[2];
    uint8_t got[64];
    make_nonsense(nonsense, sizeof nonsense, sizeof nonsense);
    run_two(w, fd, number);
    send_bytes(fd[1], nonsense, sizeof nonsense);
    const struct trib_message carrier = hears(w, w->line, TRIB_MESSAGE_BYTES);
    assert_int_equal(carrier.bytes.number, number[1]);
    assert_int_equal(carrier.bytes.count, sizeof nonsense);
    assert_memory_equal(carrier.bytes.bytes, nonsense, sizeof nonsense);
    say_bytes(w, number[0], nonsense, sizeof nonsense);
    await(w, fd[0]);
    assert_true(read_exactly(fd[0], got, sizeof nonsense));
    assert_memory_equal(got, nonsense, sizeof nonsense);
    assert_true(is_quiet(w, fd[1]));
    close_all(fd, 2);
}

/* No message begins so: that session ends alone. */
static void bytes__that_are_no_message_end_their_session(void **state)
{
    static const uint8_t none[] = {0xff, 0xff, 0xff, 0xff, 1};
    struct world *w = *state;
    uint32_t number[2];
    int fd[2];
    run_two(w, fd, number);
    send_bytes(fd[1], none, sizeof none);
    const struct trib_message end = hears(w, w->line, TRIB_MESSAGE_END);
    assert_int_equal(end.end.number, number[1]);
    assert_false(end.end.is_lost);
    assert_true(is_quiet(w, fd[0]));
    close_all(fd, 2);
}

/* PING is answered here, though the parent says nothing, and never in the middle of a message from above. */
static void ping__is_answered_between_two_messages(void **state)
{
    struct world *w = *state;
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING, .ping = {77}};
    const struct trib_message mark = {.kind = TRIB_MESSAGE_MARK, .mark = {.mark = 5}};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t len = trib_message_encode(&mark, bytes);
    uint32_t number[2];
    int fd[2];
    run_two(w, fd, number);
    send_message(fd[0], &ping);
    assert_int_equal(hears(w, fd[0], TRIB_MESSAGE_PONG).ping.number, 77);
    for (size_t cut = 1; cut < len; cut++) {
        say_bytes(w, number[0], bytes, cut);
        pump(w);
        send_message(fd[0], &ping);
        pump(w);
        say_bytes(w, number[0], bytes + cut, len - cut);
        pump(w);
        assert_int_equal(hears(w, fd[0], TRIB_MESSAGE_MARK).mark.mark, 5);
        assert_int_equal(hears(w, fd[0], TRIB_MESSAGE_PONG).ping.number, 77);
    }
    close_all(fd, 2);
}

/* All of a large amount, in order, and each channel in turn. */
static void bytes__of_two_channels_take_turns(void **state)
{
    enum { CHUNK = 20000 };
    struct world *w = *state;
    static uint8_t bytes[CHUNK];
    size_t seen[2] = {0, 0};
    uint32_t number[2];
    uint32_t turns = 0;
    int fd[2];
    make_nonsense(bytes, CHUNK, 1000);
    run_two(w, fd, number);
    send_bytes(fd[0], bytes, CHUNK);
    send_bytes(fd[1], bytes, CHUNK);
    uint32_t last = 0;
    while (seen[0] < CHUNK || seen[1] < CHUNK) {
        const struct trib_message carrier = hears(w, w->line, TRIB_MESSAGE_BYTES);
        uint32_t i = carrier.bytes.number == number[1];
        assert_memory_equal(carrier.bytes.bytes, bytes + seen[i], carrier.bytes.count);
        seen[i] += carrier.bytes.count;
        turns += carrier.bytes.number != last;
        last = carrier.bytes.number;
    }
    assert_int_equal(seen[0] + seen[1], 2 * CHUNK);
    assert_true(turns > 4);
    close_all(fd, 2);
}

static void end__of_one_channel_is_no_others(void **state)
{
    struct world *w = *state;
    uint32_t number[2];
    int fd[2];
    run_two(w, fd, number);
    say_end(w, number[1]);
    hears_end(w, fd[1]);
    say_end(w, number[1]); /* again, and of one that never was */
    say_end(w, 99);
    say_bytes(w, number[1], "late", 4);
    assert_true(is_quiet(w, fd[0]));
    close(fd[0]);
}

/* Who has heard nothing from above is told why; to the others nothing more is said. */
static void end__of_the_connection_is_the_end_of_all(void **state)
{
    struct world *w = *state;
    const struct trib_message mark = {.kind = TRIB_MESSAGE_MARK};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    uint32_t number[3];
    int fd[2];
    run_two(w, fd, number);
    say_bytes(w, number[0], bytes, trib_message_encode(&mark, bytes));
    (void)hears(w, fd[0], TRIB_MESSAGE_MARK);
    close(w->line);
    w->line = -1;
    hears_end(w, fd[0]);
    const struct trib_message away = hears(w, fd[1], TRIB_MESSAGE_AWAY);
    assert_non_null(strstr(away.note.text, ", the parent of switch 127.0.0.1:7470, is lost: connection "));
    hears_end(w, fd[1]);
    pump(w);
    assert_int_equal(w->uplinks.count, 0);
    assert_int_equal(w->uplinks.mux.count, 0);
    int late = come(w, 2);
    assert_int_equal(greet(w).hello.attempt, 2);
    (void)hears_channel(w, &number[2]);
    assert_true(number[2] > number[1]); /* no number comes twice */
    close(late);
}

/* A rank that leaves is the end of its channel, which says so; words of it come before. */
static void end__of_a_rank_is_said(void **state)
{
    struct world *w = *state;
    const struct trib_message mark = {.kind = TRIB_MESSAGE_CLOSE, .mark = {5}};
    uint32_t number[2];
    int fd[2];
    run_two(w, fd, number);
    send_message(fd[0], &mark);
    close(fd[0]);
    const struct trib_message carrier = hears(w, w->line, TRIB_MESSAGE_BYTES);
    assert_int_equal(carrier.bytes.number, number[0]);
    const struct trib_message end = hears(w, w->line, TRIB_MESSAGE_END);
    assert_int_equal(end.end.number, number[0]);
    assert_false(end.end.is_lost);
    assert_int_equal(w->uplinks.mux.count, 1);
    close(fd[1]);
}

/* ---- what may not be ---- */

static void nonsense__on_the_connection_ends_all(void **state)
{
    static const enum trib_message_kind kinds[] = {TRIB_MESSAGE_CLOSED, TRIB_MESSAGE_READY, TRIB_MESSAGE_JOIN,
                                                   TRIB_MESSAGE_CHALLENGE, TRIB_MESSAGE_CHANNEL};
    struct world *w = *state;
    assert_int_equal(listen(w->listener, 5), 0);
    for (uint32_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct trib_message early =
            kinds[k] == TRIB_MESSAGE_JOIN ? join_message(0, 2) : (struct trib_message){.kind = kinds[k]};
        char want[96];
        uint32_t number[2];
        int fd[2];
        if (kinds[k] == TRIB_MESSAGE_CHANNEL) {
            early.channel.peer = trib_address_v4(1, 1);
        }
        run_two(w, fd, number);
        send_message(w->line, &early);
        (void)snprintf(want, sizeof want, "cannot be used: unexpected message %s: not a Tributary switch",
                       trib_message_name(kinds[k]));
        for (uint32_t i = 0; i < 2; i++) {
            const struct trib_message fail = hears(w, fd[i], TRIB_MESSAGE_FAIL);
            assert_int_equal(fail.fail.status, TRIB_ERR_UNREACHABLE);
            assert_non_null(strstr(fail.fail.text, want));
            hears_end(w, fd[i]);
        }
        close(w->line);
        w->line = -1;
    }
}

/* The parent takes nothing: what waits for a channel ends it when it is too much, and no other. */
static void flow__unread_words_end_their_channel_alone(void **state)
{
    static uint8_t flood[8192];
    struct world *w = *state;
    uint32_t number[2];
    int size = 1; /* or the kernel's buffer grows, for so long on a busy machine that TCP_USER_TIMEOUT comes first */
    struct pollfd fds[TRIB_UPLINKS_MAX];
    bool is_over = false;
    int fd[2];
    make_nonsense(flood, sizeof flood, TRIB_MESSAGE_MAX);
    run_two(w, fd, number);
    assert_int_equal(trib_uplinks_poll(&w->uplinks, fds), 1);
    assert_int_equal(setsockopt(fds[0].fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
    for (uint32_t i = 0; i < 20000 && !is_over; i++) {
        is_over = send(fd[0], flood, sizeof flood, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN;
        round_of(w);
        is_over = is_over || w->connections.count == 1;
    }
    assert_true(is_over);
    assert_true(is_quiet(w, fd[1]));
    assert_int_equal(w->uplinks.count, 1);
    close_all(fd, 2);
}

/* The controller's process stands still, and a rank asks whether it is heard. */
static void silent__parent_is_lost(void **state)
{
    struct world *w = *state;
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING};
    uint32_t number[2];
    int fd[2];
    run_two(w, fd, number);
    pump(w);
    send_message(fd[0], &ping);
    for (uint32_t i = 0; i < 100 && w->uplinks.count > 0; i++) {
        w->now_ns += TRIB_SECOND_NS;
        pump(w);
    }
    assert_int_equal(w->uplinks.count, 0);
    assert_non_null(strstr(hears(w, fd[1], TRIB_MESSAGE_AWAY).note.text, "is lost: its process does not answer"));
    close_all(fd, 2);
    for (uint32_t i = 0; i < 2; i++) { /* from then on each rank hears it at once, until the parent answers */
        fd[0] = come(w, i);
        assert_non_null(strstr(hears(w, fd[0], TRIB_MESSAGE_AWAY).note.text, "is lost: its process does not answer"));
        hears_end(w, fd[0]);
    }
    close(w->line);
    (void)greet(w);
    fd[0] = come(w, 0);
    assert_int_equal(hears_channel(w, number).kind, TRIB_MESSAGE_JOIN);
    close(fd[0]);
}

/* A rank that waits for a sum hears the name of the silent parent, in the middle of no message, and its question goes
 * up all the same. */
static void silent__parent_is_named_to_a_rank_that_waits(void **state)
{
    struct world *w = *state;
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING};
    const struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 7, .since_ms = 5000}};
    const struct trib_message mark = {.kind = TRIB_MESSAGE_MARK};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t len = trib_message_encode(&mark, bytes);
    uint32_t number[2];
    int fd[2];
    run_two(w, fd, number);
    send_message(fd[0], &stall); /* nothing was asked yet */
    (void)hears(w, w->line, TRIB_MESSAGE_BYTES);
    say_bytes(w, number[1], bytes, len - 1);
    pump(w);
    send_message(fd[0], &ping);
    (void)hears(w, fd[0], TRIB_MESSAGE_PONG);
    for (uint32_t i = 0; i < 5; i++) {
        w->now_ns += TRIB_SECOND_NS;
        pump(w);
    }
    send_message(fd[0], &stall);
    send_message(fd[1], &stall);
    const struct trib_message missing = hears(w, fd[0], TRIB_MESSAGE_MISSING);
    assert_int_equal(missing.stall.sequence, 7);
    assert_non_null(strstr(missing.stall.where, " (its process does not answer)"));
    assert_int_equal(hears(w, w->line, TRIB_MESSAGE_BYTES).bytes.number, number[0]);
    assert_int_equal(hears(w, w->line, TRIB_MESSAGE_BYTES).bytes.number, number[1]);
    say_bytes(w, number[1], bytes + len - 1, 1);
    pump(w);
    (void)hears(w, fd[1], TRIB_MESSAGE_MARK);
    send_message(fd[1], &stall); /* the parent has said something */
    assert_true(is_quiet(w, fd[1]));
    close_all(fd, 2);
}

/* A rank that gives up hears it as well: the parent, which knows who is missing, cannot say so. */
static void silent__parent_is_named_to_a_rank_that_gives_up(void **state)
{
    struct world *w = *state;
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING};
    const struct trib_message abort = {.kind = TRIB_MESSAGE_ABORT, .fail = {.status = TRIB_ERR_TIMEOUT}};
    uint32_t number[2];
    int fd[2];
    run_two(w, fd, number);
    send_message(fd[0], &abort); /* nothing was asked yet */
    assert_int_equal(hears(w, w->line, TRIB_MESSAGE_BYTES).bytes.number, number[0]);
    assert_true(is_quiet(w, fd[0]));
    send_message(fd[1], &ping);
    (void)hears(w, fd[1], TRIB_MESSAGE_PONG);
    for (uint32_t i = 0; i < 5; i++) {
        w->now_ns += TRIB_SECOND_NS;
        pump(w);
    }
    send_message(fd[1], &abort);
    assert_non_null(strstr(hears(w, fd[1], TRIB_MESSAGE_FAIL).fail.text, "nothing comes from switch "));
    close_all(fd, 2);
}

/* A switch below hears the name before PONG, and only as long as the parent is silent. */
static void silent__parent_is_named_to_a_switch_below(void **state)
{
    struct world *w = *state;
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING, .ping = {77}};
    const struct trib_message mark = {.kind = TRIB_MESSAGE_MARK};
    const struct trib_path path = {.count = 0};
    uint8_t bytes[TRIB_MESSAGE_MAX];
    uint32_t number;
    assert_int_equal(listen(w->listener, 5), 0);
    int fd = come_as_switch(w, 8, &path);
    (void)greet(w);
    (void)hears_channel(w, &number);
    send_message(fd, &ping);
    assert_int_equal(hears(w, fd, TRIB_MESSAGE_PONG).ping.number, 77);
    for (uint32_t i = 0; i < 5; i++) {
        w->now_ns += TRIB_SECOND_NS;
        pump(w);
    }
    send_message(fd, &ping);
    const struct trib_message missing = hears(w, fd, TRIB_MESSAGE_MISSING);
    assert_non_null(strstr(missing.stall.where, " (its process does not answer)"));
    (void)hears(w, fd, TRIB_MESSAGE_PONG);
    say_bytes(w, number, bytes, trib_message_encode(&mark, bytes));
    (void)hears(w, fd, TRIB_MESSAGE_MARK);
    send_message(fd, &ping);
    (void)hears(w, fd, TRIB_MESSAGE_PONG);
    close(fd);
}

/* The parent names a switch above it: ranks that wait, and switches below, hear that name until the parent names no
 * switch. */
static void silent__switch_above_the_parent_is_named(void **state)
{
    struct world *w = *state;
    struct trib_message name = {.kind = TRIB_MESSAGE_MISSING, .stall = {.where = "switch 10.0.0.9:7470 (so far)"}};
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING};
    const struct trib_message pong = {.kind = TRIB_MESSAGE_PONG};
    const struct trib_message stall = {.kind = TRIB_MESSAGE_STALL, .stall = {.sequence = 7, .since_ms = 5000}};
    const struct trib_path path = {.count = 0};
    uint32_t number[3];
    int fd[3];
    run_two(w, fd, number);
    fd[2] = come_as_switch(w, 8, &path);
    (void)hears_channel(w, &number[2]);
    send_message(w->line, &name);
    send_message(w->line, &pong);
    pump(w);
    send_message(fd[0], &stall);
    const struct trib_message missing = hears(w, fd[0], TRIB_MESSAGE_MISSING);
    assert_int_equal(missing.stall.sequence, 7);
    assert_string_equal(missing.stall.where, name.stall.where);
    assert_int_equal(hears(w, w->line, TRIB_MESSAGE_BYTES).bytes.number, number[0]);
    send_message(fd[2], &ping);
    assert_string_equal(hears(w, fd[2], TRIB_MESSAGE_MISSING).stall.where, name.stall.where);
    (void)hears(w, fd[2], TRIB_MESSAGE_PONG);
    send_message(w->line, &pong);
    pump(w);
    send_message(fd[0], &stall);
    assert_true(is_quiet(w, fd[0]));
    close_all(fd, 3);
}

/* ---- the agent ---- */

static void ask_to_open(const struct world *w, uint32_t root, uint32_t first)
{
    struct trib_message open = {.kind = TRIB_MESSAGE_ROOT_OPEN,
                                .root_open = {.of = {7, 9}, .index = root, .shard = root, .ranks = 3, .behind = 2}};
    open.root_open.session = (struct trib_session_config){.communicator = 7,
                                                          .ranks = 3,
                                                          .roots = 2,
                                                          .train = 4,
                                                          .slots = 32,
                                                          .payload = 1408,
                                                          .generation = 1,
                                                          .wire = TRIB_FLOAT32};
    strcpy(open.root_open.scheme, "switchml");
    open.root_open.parent = trib_address_v4(0, (uint16_t)(8000 + root));
    send_message(w->line, &open);
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message child = {
            .kind = TRIB_MESSAGE_ROOT_CHILD,
            .root_child = {
                .of = {7, 9}, .rank = first + i, .branch = i, .from = trib_address_v4(0x0a000001 + i, 20000)}};
        send_message(w->line, &child);
    }
}

static void probe_and_join(struct world *w, uint32_t ranks)
{
    const struct trib_message probe = {.kind = TRIB_MESSAGE_ROOT_PROBE, .of = {7, 9}};
    send_message(w->line, &probe);
    for (uint32_t i = 0; i < ranks; i++) {
        const struct trib_message join = {.kind = TRIB_MESSAGE_ROOT_JOIN, .root_join = {.of = {7, 9}, .rank = i}};
        send_message(w->line, &join);
    }
    pump(w);
}

/* Each root may have other ranks behind it. READY waits for all of them. */
static void agent__opens_roots_of_different_ranks(void **state)
{
    struct world *w = *state;
    uint32_t number[2];
    int fd[2];
    run_two(w, fd, number);
    for (uint32_t t = 0; t < 2; t++) {
        ask_to_open(w, t, t);
        (void)hears(w, w->line, TRIB_MESSAGE_ROOT_OPENED);
    }
    probe_and_join(w, 2);
    assert_true(is_quiet(w, w->line));
    probe_and_join(w, 3);
    w->now_ns += TRIB_SECOND_NS;
    (void)hears(w, w->line, TRIB_MESSAGE_ROOT_READY);
    close_all(fd, 2);
}

static void agent__opens_what_its_controller_asks_for(void **state)
{
    struct world *w = *state;
    uint32_t number[2];
    int fd[2];
    run_two(w, fd, number);
    for (uint32_t t = 0; t < 2; t++) {
        ask_to_open(w, t, 0);
        assert_int_equal(hears(w, w->line, TRIB_MESSAGE_ROOT_OPENED).of.communicator, 7);
    }
    char text[64];
    trib_address_format(&w->recorder.parent[1], text); /* at any address: where it has connected to */
    assert_string_equal(text, "127.0.0.1:8001");
    probe_and_join(w, 2);
    w->now_ns += TRIB_SECOND_NS;
    (void)hears(w, w->line, TRIB_MESSAGE_ROOT_READY);
    assert_true(w->recorder.parent_probes > 0);
    close(w->line); /* A7: nothing of a lost controller stays open */
    w->line = -1;
    pump(w);
    assert_int_equal(w->recorder.closes, 1);
    assert_null(w->jobs.masters.lendings);
    close_all(fd, 2);
}

static void bye__is_said_to_the_controller(void **state)
{
    struct world *w = *state;
    uint32_t number[2];
    int fd[2];
    trib_uplinks_say_bye(&w->uplinks, TRIB_ERR_SWITCH, "nobody is there yet");
    run_two(w, fd, number);
    trib_uplinks_say_bye(&w->uplinks, TRIB_ERR_SWITCH, "the switch is shutting down");
    assert_string_equal(hears(w, w->line, TRIB_MESSAGE_BYE).fail.text, "the switch is shutting down");
    close_all(fd, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lost__is_due_at_once),
        TEST(away__is_no_storm),
        TEST(hello__without_an_answer_is_given_up),
        TEST(hello__says_what_there_is),
        TEST(hello__names_the_addresses_of_a_list),
        TEST(hello__refused_is_told_to_each_rank),
        TEST(hello__of_a_switch_below_is_passed_on),
        TEST(hello__that_comes_back_is_a_loop),
        TEST(version__of_a_rank_is_answered_here),
        TEST(join__all_come_over_one_connection),
        TEST(bytes__pass_unread_both_ways),
        TEST(bytes__of_two_channels_take_turns),
        TEST(bytes__that_are_no_message_end_their_session),
        TEST(ping__is_answered_between_two_messages),
        TEST(end__of_one_channel_is_no_others),
        TEST(end__of_the_connection_is_the_end_of_all),
        TEST(end__of_a_rank_is_said),
        TEST(nonsense__on_the_connection_ends_all),
        TEST(flow__unread_words_end_their_channel_alone),
        TEST(silent__parent_is_lost),
        TEST(silent__parent_is_named_to_a_rank_that_waits),
        TEST(silent__parent_is_named_to_a_rank_that_gives_up),
        TEST(silent__parent_is_named_to_a_switch_below),
        TEST(silent__switch_above_the_parent_is_named),
        TEST(agent__opens_what_its_controller_asks_for),
        TEST(agent__opens_roots_of_different_ranks),
        TEST(bye__is_said_to_the_controller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
