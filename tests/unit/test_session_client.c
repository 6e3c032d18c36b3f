/* SPDX-License-Identifier: Apache-2.0 */
/* test_session_client.c: framing over a real socket: pieces, ends, strangers, a peer that does not read.
 * Mirrors src/control/words/session_client.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/words/session_client.h"

static struct trib_session_client client;
static int peer;

static int connect_pair(void **state)
{
    int fds[2];
    (void)state;
    trib_session_client_init(&client);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    client.fd = fds[0];
    client.state = TRIB_SESSION_OPEN;
    peer = fds[1];
    return 0;
}

static int close_pair(void **state)
{
    (void)state;
    trib_session_client_close(&client);
    (void)close(peer);
    return 0;
}

static size_t encode_mark(uint64_t mark, uint8_t *buffer)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_MARK, .mark = {.mark = mark}};
    return trib_message_encode(&message, buffer);
}

static void next__puts_pieces_together(void **state)
{
    (void)state;
    uint8_t bytes[2 * TRIB_MESSAGE_MAX];
    struct trib_message message;
    size_t len = encode_mark(17, bytes);
    len += encode_mark(18, bytes + len);
    unsigned whole = 0;
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(write(peer, bytes + i, 1), 1);
        trib_session_client_ready(&client, POLLIN);
        while (trib_session_client_next(&client, &message)) {
            assert_int_equal(message.kind, TRIB_MESSAGE_MARK);
            assert_int_equal(message.mark.mark, 17 + whole);
            whole++;
        }
    }
    assert_int_equal(whole, 2);
    assert_int_equal(client.state, TRIB_SESSION_OPEN);
}

static void next__hands_out_what_came_before_the_end(void **state)
{
    (void)state;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    struct trib_message message;
    size_t len = encode_mark(5, bytes);
    assert_int_equal(write(peer, bytes, len), (ssize_t)len);
    assert_int_equal(write(peer, bytes, len - 1), (ssize_t)len - 1); /* and half of another */
    assert_int_equal(shutdown(peer, SHUT_RDWR), 0);
    trib_session_client_ready(&client, POLLIN | POLLHUP);
    assert_int_equal(client.state, TRIB_SESSION_LOST);
    assert_string_equal(client.cause, "connection closed");
    assert_true(trib_session_client_next(&client, &message));
    assert_int_equal(message.mark.mark, 5);
    assert_false(trib_session_client_next(&client, &message));
    assert_int_equal(trib_session_client_interest(&client), 0);
}

static void next__knows_a_stranger(void **state)
{
    (void)state;
    struct trib_message message;
    assert_int_equal(write(peer, "HTTP/1.1 400 Bad Request\r\n", 26), 26);
    trib_session_client_ready(&client, POLLIN);
    assert_false(trib_session_client_next(&client, &message));
    assert_int_equal(client.state, TRIB_SESSION_FOREIGN);
    assert_int_equal(client.fd, -1);
    assert_string_equal(client.cause, "the answer is not from a tributary switch");
}

/* A switch with keys has no room, and has not heard yet that this client has no key. */
static void next__knows_that_a_key_is_missing(void **state)
{
    (void)state;
    struct trib_message message;
    assert_int_equal(write(peer, TRIB_TLS_NO_ROOM, TRIB_TLS_NO_ROOM_SIZE), TRIB_TLS_NO_ROOM_SIZE);
    trib_session_client_ready(&client, POLLIN);
    assert_false(trib_session_client_next(&client, &message));
    assert_int_equal(client.state, TRIB_SESSION_FOREIGN);
    assert_string_equal(client.cause,
                        "it takes sessions with a key only (TRIB_KEY_FILE), and has no room for another now");
}

/* It speaks the protocol but for a field. */
static void next__names_a_bad_field(void **state)
{
    (void)state;
    struct trib_message message;
    assert_int_equal(write(peer, "\0\0\0\x0e\5\1\2\3\4\0\0\0\0\0\0\0\0\2", 18), 18);
    trib_session_client_ready(&client, POLLIN);
    assert_false(trib_session_client_next(&client, &message));
    assert_int_equal(client.state, TRIB_SESSION_FOREIGN);
    assert_string_equal(client.cause,
                        "the answer is not from a tributary switch of this version: READY, field \"multicast\"");
}

static struct trib_message keyed_welcome(void)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_WELCOME};
    message.welcome.grant.communicator = 1;
    memset(message.welcome.auth.own, 'k', sizeof message.welcome.auth.own);
    message.welcome.auth.heard[0] = 1;
    return message;
}

static bool has_key(const uint8_t *bytes, size_t size)
{
    const struct trib_message message = keyed_welcome();
    return memmem(bytes, size, message.welcome.auth.own, sizeof message.welcome.auth.own) != NULL;
}

/* Bytes behind a taken message stay, and no key behind them. */
static void next__leaves_no_key(void **state)
{
    (void)state;
    uint8_t bytes[2 * TRIB_MESSAGE_MAX];
    struct trib_message message = keyed_welcome();
    size_t welcome_len = trib_message_encode(&message, bytes);
    size_t len = welcome_len + encode_mark(17, bytes + welcome_len);
    assert_true(has_key(bytes, len));
    assert_int_equal(write(peer, bytes, len - 1), (ssize_t)len - 1);
    trib_session_client_ready(&client, POLLIN);
    assert_true(has_key(client.in, sizeof client.in));
    assert_true(trib_session_client_next(&client, &message));
    assert_true(has_key(message.welcome.auth.own, sizeof message.welcome.auth.own));
    assert_false(has_key(client.in, sizeof client.in));
    assert_int_equal(client.in_len, len - 1 - welcome_len);
    assert_int_equal(write(peer, bytes, len), (ssize_t)len); /* the last byte of the mark is 17, not a length */
    trib_session_client_ready(&client, POLLIN);
    assert_true(has_key(client.in, sizeof client.in));
    trib_session_client_close(&client);
    assert_false(has_key(client.in, sizeof client.in));
}

static void next__leaves_no_key_of_a_bad_message(void **state)
{
    (void)state;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    struct trib_message message = keyed_welcome();
    size_t len = trib_message_encode(&message, bytes);
    bytes[len] = 0; /* a byte behind the last field */
    bytes[2] = (uint8_t)((len + 1 - 4) >> 8);
    bytes[3] = (uint8_t)(len + 1 - 4);
    assert_int_equal(write(peer, bytes, len + 1), (ssize_t)len + 1);
    trib_session_client_ready(&client, POLLIN);
    assert_true(has_key(client.in, sizeof client.in));
    assert_false(trib_session_client_next(&client, &message));
    assert_int_equal(client.state, TRIB_SESSION_FOREIGN);
    assert_false(has_key(client.in, sizeof client.in));
    assert_false(has_key((const uint8_t *)&message, sizeof message));
}

/* Bytes that leave are overwritten, also in the memory that an outbox leaves as it grows, which no test may read. */
static void outbox__leaves_no_key(void **state)
{
    (void)state;
    struct trib_outbox box = {.max = 8 * TRIB_MESSAGE_MAX};
    const struct trib_message welcome = keyed_welcome();
    const struct trib_message mark = {.kind = TRIB_MESSAGE_MARK};
    struct trib_message carried;
    assert_true(trib_outbox_add(&box, &welcome));
    while (box.len <= TRIB_CHANNEL_BYTES) {
        assert_true(trib_outbox_add(&box, &mark));
    }
    assert_true(has_key(box.bytes, box.len));
    trib_outbox_carry(&box, 3, &carried);
    assert_true(box.len > 0);
    assert_false(has_key(box.bytes, box.size));
    assert_true(has_key(carried.bytes.bytes, carried.bytes.count));
    trib_message_wipe(&carried);
    assert_false(has_key((const uint8_t *)&carried, sizeof carried));
    trib_outbox_drop(&box);
}

/* Reads count messages at the peer's end and checks that their marks follow. */
static void expect_marks(uint64_t count)
{
    static uint8_t bytes[TRIB_MESSAGE_MAX];
    size_t len = 0;
    for (uint64_t mark = 0; mark < count;) {
        struct trib_message message;
        size_t used = 0;
        ssize_t got = read(peer, bytes + len, sizeof bytes - len);
        len += got > 0 ? (size_t)got : 0;
        trib_session_client_ready(&client, POLLOUT);
        while (trib_message_decode(bytes, len, &message, &used) == TRIB_OK && used > 0) {
            assert_int_equal(message.mark.mark, mark);
            mark++;
            len -= used;
            memmove(bytes, bytes + used, len);
        }
    }
}

static void send__keeps_what_does_not_fit(void **state)
{
    (void)state;
    struct trib_message message = {.kind = TRIB_MESSAGE_MARK};
    while (client.out.len == 0) {
        trib_session_client_send(&client, &message);
        message.mark.mark++;
    }
    assert_int_equal(trib_session_client_interest(&client), POLLIN | POLLOUT);
    expect_marks(message.mark.mark);
    assert_int_equal(client.out.len, 0);
    assert_int_equal(trib_session_client_interest(&client), POLLIN);
}

static void send__gives_up_on_a_peer_that_never_reads(void **state)
{
    (void)state;
    struct trib_message message = {.kind = TRIB_MESSAGE_MARK};
    for (unsigned i = 0; i < 10000000 && client.state == TRIB_SESSION_OPEN; i++) {
        trib_session_client_send(&client, &message);
    }
    assert_int_equal(client.state, TRIB_SESSION_LOST);
    trib_session_client_send(&client, &message); /* nobody there: no effect */
    assert_int_equal(client.out.len, 0);
}

/* Also what the kernel would not take at once; what the other side still says is thrown away, as it would turn the
 * close into a reset. */
static void end__lets_the_last_words_leave(void **state)
{
    (void)state;
    struct trib_message message = {.kind = TRIB_MESSAGE_MARK};
    uint8_t bytes[64];
    char rest[4096];
    while (client.out.len == 0) {
        trib_session_client_send(&client, &message);
        message.mark.mark++;
    }
    size_t len = encode_mark(1, bytes);
    assert_int_equal(write(peer, bytes, len), (ssize_t)len);
    trib_session_client_end(&client);
    assert_int_equal(client.state, TRIB_SESSION_ENDING);
    assert_int_equal(trib_session_client_interest(&client), POLLIN | POLLOUT);
    trib_session_client_send(&client, &message); /* too late: no effect */
    expect_marks(message.mark.mark);
    assert_int_equal(read(peer, rest, sizeof rest), 0);
    trib_session_client_ready(&client, POLLIN);
    assert_false(trib_session_client_next(&client, &message));
    assert_int_equal(client.state, TRIB_SESSION_ENDING);
    assert_int_equal(shutdown(peer, SHUT_WR), 0);
    trib_session_client_ready(&client, POLLIN);
    assert_int_equal(client.state, TRIB_SESSION_LOST);
    trib_session_client_end(&client);
    assert_int_equal(client.fd, -1);
}

/* Who sends for ever is not listened to for ever. */
static void end__does_not_listen_without_end(void **state)
{
    (void)state;
    static const uint8_t bytes[TRIB_MESSAGE_MAX];
    int size = 1 << 20;
    int left = 0;
    (void)setsockopt(peer, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    size_t sent = 0;
    for (ssize_t got = 1; got > 0; sent += got > 0 ? (size_t)got : 0) {
        got = write(peer, bytes, sizeof bytes);
    }
    assert_true(sent > 20 * TRIB_MESSAGE_MAX);
    trib_session_client_end(&client);
    trib_session_client_ready(&client, POLLIN);
    assert_int_equal(ioctl(client.fd, FIONREAD, &left), 0);
    assert_in_range(left, 1, sent - 1); /* something was taken, and the rest is for the next time */
    assert_int_equal(client.state, TRIB_SESSION_ENDING);
}

/* Tries follow each other within milliseconds: a deadline often meets one that has no outcome yet, and the error text
 * takes its cause from the one before. */
static void open__keeps_the_cause_of_the_try_before(void **state)
{
    (void)state;
    struct trib_address at = trib_address_v4(INADDR_LOOPBACK, 1); /* nothing listens there */
    int full = socket(AF_INET, SOCK_STREAM, 0);
    int filling[2];
    trib_session_client_close(&client);
    trib_session_client_open(&client, &at, NULL, 0);
    if (client.state == TRIB_SESSION_CONNECTING) {
        struct pollfd refused = {.fd = client.fd, .events = POLLOUT};
        assert_int_equal(poll(&refused, 1, 10000), 1);
        trib_session_client_ready(&client, refused.revents);
    }
    assert_int_equal(client.state, TRIB_SESSION_LOST);
    assert_string_equal(client.cause, "connection refused");
    trib_address_set_port(&at, 0); /* a listener that accepts nobody, whose queue is full: no answer comes */
    assert_int_equal(bind(full, (struct sockaddr *)&at.storage, at.len), 0);
    assert_int_equal(listen(full, 0), 0);
    assert_int_equal(getsockname(full, (struct sockaddr *)&at.storage, &at.len), 0);
    for (unsigned i = 0; i < 2; i++) {
        filling[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(filling[i], (struct sockaddr *)&at.storage, at.len);
    }
    trib_session_client_open(&client, &at, NULL, 0);
    assert_int_equal(client.state, TRIB_SESSION_CONNECTING);
    assert_string_equal(client.cause, "connection refused");
    (void)close(filling[0]);
    (void)close(filling[1]);
    (void)close(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(next__puts_pieces_together, connect_pair, close_pair),
        cmocka_unit_test_setup_teardown(next__hands_out_what_came_before_the_end, connect_pair, close_pair),
        cmocka_unit_test_setup_teardown(next__knows_a_stranger, connect_pair, close_pair),
        cmocka_unit_test_setup_teardown(next__knows_that_a_key_is_missing, connect_pair, close_pair),
        cmocka_unit_test_setup_teardown(next__names_a_bad_field, connect_pair, close_pair),
        cmocka_unit_test_setup_teardown(next__leaves_no_key, connect_pair, close_pair),
        cmocka_unit_test_setup_teardown(next__leaves_no_key_of_a_bad_message, connect_pair, close_pair),
        cmocka_unit_test(outbox__leaves_no_key),
        cmocka_unit_test_setup_teardown(send__keeps_what_does_not_fit, connect_pair, close_pair),
        cmocka_unit_test_setup_teardown(send__gives_up_on_a_peer_that_never_reads, connect_pair, close_pair),
        cmocka_unit_test_setup_teardown(end__lets_the_last_words_leave, connect_pair, close_pair),
        cmocka_unit_test_setup_teardown(end__does_not_listen_without_end, connect_pair, close_pair),
        cmocka_unit_test_setup_teardown(open__keeps_the_cause_of_the_try_before, connect_pair, close_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
