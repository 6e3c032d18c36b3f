/* SPDX-License-Identifier: Apache-2.0 */
/* test_tls.c: both ends of TLS in memory, and lines over a socket pair. Mirrors src/keys/tls_openssl.c and
 * src/control/words/line.c, and session_client.c with a key. Without OpenSSL there is nothing to test. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/words/session_client.h"
#include "keys/store.h"
#include "keys/tls.h"
#include "letter_keys.h"

#define FLIGHT_MAX 4096

static char error[TRIB_ERROR_TEXT_MAX];

/* Two ends. The server knows `known` only. */
struct ends {
    struct trib_keyring known;
    struct trib_tls_side *sides[2];
    struct trib_tls *client;
    struct trib_tls *server;
};

static void begin(struct ends *ends, const struct trib_keys *client, const struct trib_keys *server)
{
    ends->known = (struct trib_keyring){.own = *server};
    ends->sides[0] = trib_tls_client(client, false, error);
    ends->sides[1] = trib_tls_server(&ends->known, error);
    assert_true(ends->sides[0] != NULL && ends->sides[1] != NULL);
    ends->client = trib_tls_open(ends->sides[0]);
    ends->server = trib_tls_open(ends->sides[1]);
    assert_true(ends->client != NULL && ends->server != NULL);
    assert_true(trib_tls_is_new(ends->client) && !trib_tls_is_open(ends->client));
}

static void end(struct ends *ends)
{
    trib_tls_close(ends->client);
    trib_tls_close(ends->server);
    trib_tls_release(ends->sides[0]);
    trib_tls_release(ends->sides[1]);
}

/* Moves the bytes that wait at `from`, `step` at a time; 0: all at once. Returns their number. */
static size_t carry(struct trib_tls *from, struct trib_tls *to, size_t step)
{
    const uint8_t *bytes = NULL;
    size_t all = 0;
    for (size_t count = trib_tls_peek(from, &bytes); count > 0; count = trib_tls_peek(from, &bytes)) {
        count = step > 0 && step < count ? step : count;
        assert_true(trib_tls_feed(to, bytes, count));
        trib_tls_sent(from, count);
        (void)trib_tls_shake(to);
        all += count;
    }
    return all;
}

static void shake(struct ends *ends, size_t step)
{
    (void)trib_tls_shake(ends->client);
    while (carry(ends->client, ends->server, step) + carry(ends->server, ends->client, step) > 0) {
    }
}

static void expect_words(struct trib_tls *from, struct trib_tls *to, const char *words)
{
    uint8_t got[64];
    assert_int_equal(trib_tls_write(from, (const uint8_t *)words, strlen(words)), strlen(words));
    assert_int_equal(trib_tls_read(to, got, sizeof got), -1);
    assert_int_equal(errno, EAGAIN);
    (void)carry(from, to, 0);
    assert_int_equal(trib_tls_read(to, got, sizeof got), strlen(words));
    assert_memory_equal(got, words, strlen(words));
}

static void expect_open(struct ends *ends, uint64_t id)
{
    assert_true(trib_tls_is_open(ends->client) && trib_tls_is_open(ends->server));
    assert_int_equal(trib_tls_key_id(ends->client), id);
    assert_int_equal(trib_tls_key_id(ends->server), id);
    expect_words(ends->client, ends->server, "JOIN");
    expect_words(ends->server, ends->client, "WELCOME");
}

static void expect_closed(struct ends *ends)
{
    uint8_t byte = 0;
    assert_false(trib_tls_is_open(ends->client) || trib_tls_is_open(ends->server));
    assert_int_equal(trib_tls_key_id(ends->server), 0);
    assert_int_equal(trib_tls_read(ends->server, &byte, 1), -1);
    assert_int_equal(trib_tls_write(ends->client, &byte, 1), -1);
}

static void test_right_key(void **state)
{
    (void)state;
    const struct trib_keys keys = keys_of('a');
    for (size_t step = 0; step < 3; step++) {
        struct ends ends;
        begin(&ends, &keys, &keys);
        shake(&ends, step);
        expect_open(&ends, trib_key_id_number(&keys));
        end(&ends);
    }
}

static void test_wrong_key(void **state)
{
    (void)state;
    struct trib_keys keys = keys_of('a');
    struct trib_keys other = keys_of('b');
    struct ends ends;
    begin(&ends, &keys, &other); /* an id that the server does not know */
    shake(&ends, 0);
    expect_closed(&ends);
    assert_non_null(strstr(trib_tls_cause(ends.server), "there is no key of that id"));
    assert_non_null(strstr(trib_tls_cause(ends.client), "it does not know key"));
    assert_non_null(strstr(trib_tls_cause(ends.client), "no switch: use rank 0's key")); /* the end is not cut off */
    end(&ends);
    memcpy(other.id, keys.id, sizeof other.id); /* the same id, and another key */
    begin(&ends, &keys, &other);
    shake(&ends, 0);
    expect_closed(&ends);
    assert_non_null(strstr(trib_tls_cause(ends.server), "the peer has another key of that id"));
    assert_non_null(strstr(trib_tls_cause(ends.client), "is of another key"));
    assert_non_null(strstr(trib_tls_cause(ends.client), "(tributary key tenant)"));
    assert_true(trib_tls_is_refused(ends.client));
    end(&ends);
}

/* An answer without TLS, as of a switch without keys. */
static void test_plain_answer(void **state)
{
    (void)state;
    static const uint8_t answer[] = {0, 0, 0, 12, 12, 0, 0, 0, 0, 0, 0, 0};
    const struct trib_keys keys = keys_of('a');
    struct ends ends;
    begin(&ends, &keys, &keys);
    assert_true(trib_tls_shake(ends.client));
    assert_true(trib_tls_feed(ends.client, answer, sizeof answer));
    assert_false(trib_tls_shake(ends.client));
    assert_non_null(strstr(trib_tls_cause(ends.client), "it answers without TLS"));
    assert_non_null(strstr(trib_tls_cause(ends.client), "or leave out the key here"));
    assert_true(trib_tls_is_refused(ends.client));
    expect_closed(&ends);
    end(&ends);
}

/* A server without room for a connection: the client knows why, and comes again. */
static void test_no_room(void **state)
{
    (void)state;
    const struct trib_keys keys = keys_of('a');
    struct ends ends;
    begin(&ends, &keys, &keys);
    assert_true(trib_tls_shake(ends.client));
    assert_true(trib_tls_feed(ends.client, (const uint8_t *)TRIB_TLS_NO_ROOM, TRIB_TLS_NO_ROOM_SIZE));
    assert_false(trib_tls_shake(ends.client));
    assert_non_null(strstr(trib_tls_cause(ends.client), "it has no room for another session: come again later"));
    assert_false(trib_tls_is_refused(ends.client));
    expect_closed(&ends);
    end(&ends);
}

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1;
    return *random >> 33;
}

static void test_garbage(void **state)
{
    (void)state;
    const struct trib_keys keys = keys_of('a');
    uint64_t random = 23;
    for (unsigned round = 0; round < 300; round++) {
        struct ends ends;
        uint8_t bytes[256];
        begin(&ends, &keys, &keys);
        (void)trib_tls_shake(ends.client);
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (uint8_t)next_random(&random);
        }
        if (round % 2 == 0) { /* the header of a record of 251 bytes */
            memcpy(bytes, (const uint8_t[]){TRIB_TLS_FIRST_BYTE, 3, 1, 0, 251}, 5);
        }
        size_t len = 1 + next_random(&random) % sizeof bytes;
        assert_true(trib_tls_feed(ends.server, bytes, len) && trib_tls_feed(ends.client, bytes, len));
        (void)trib_tls_shake(ends.server);
        (void)trib_tls_shake(ends.client);
        expect_closed(&ends);
        end(&ends);
    }
}

/* The first flight of one end, cut behind each byte, or with one bit changed. */
static void spoil(bool is_server, bool is_cut)
{
    const struct trib_keys keys = keys_of('a');
    size_t size = 1;
    /* The version in a record's header means nothing. */
    for (size_t at = is_cut ? 0 : 5; at < size; at += is_cut ? 1 : 3) {
        struct ends ends;
        uint8_t flight[FLIGHT_MAX];
        const uint8_t *bytes = NULL;
        begin(&ends, &keys, &keys);
        (void)trib_tls_shake(ends.client);
        if (is_server) {
            (void)carry(ends.client, ends.server, 0);
        }
        struct trib_tls *from = is_server ? ends.server : ends.client;
        struct trib_tls *to = is_server ? ends.client : ends.server;
        size = trib_tls_peek(from, &bytes);
        assert_true(size > 100 && size < sizeof flight);
        memcpy(flight, bytes, size);
        trib_tls_sent(from, size);
        flight[at] ^= is_cut ? 0 : 4;
        assert_true(trib_tls_feed(to, flight, is_cut ? at : size));
        (void)trib_tls_shake(to);
        while (carry(to, from, 0) + carry(from, to, 0) > 0) {
        }
        assert_false(trib_tls_is_open(ends.server));
        assert_false(is_cut && trib_tls_is_open(ends.client));
        if (is_cut) { /* the rest may come later */
            assert_true(trib_tls_feed(to, flight + at, size - at));
            (void)trib_tls_shake(to);
            shake(&ends, 0);
            expect_open(&ends, trib_key_id_number(&keys));
        }
        end(&ends);
    }
}

static void test_cut(void **state)
{
    (void)state;
    spoil(false, true);
    spoil(true, true);
}

static void test_flipped(void **state)
{
    (void)state;
    spoil(false, false);
}

/* A record that comes later and is forged ends the connection; another may begin. */
static void test_forged_record(void **state)
{
    (void)state;
    static const uint8_t forged[] = {0x17, 3, 3, 0, 18, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
    const struct trib_keys keys = keys_of('a');
    for (unsigned i = 0; i < 2; i++) {
        struct ends ends;
        uint8_t byte = 0;
        begin(&ends, &keys, &keys);
        shake(&ends, 0);
        expect_open(&ends, trib_key_id_number(&keys));
        struct trib_tls *victim = i == 0 ? ends.server : ends.client;
        assert_true(trib_tls_feed(victim, forged, sizeof forged));
        assert_int_equal(trib_tls_read(victim, &byte, 1), -1);
        assert_int_equal(errno, EPROTO);
        assert_false(trib_tls_is_open(victim) || trib_tls_is_refused(victim));
        end(&ends);
    }
}

/* ---- lines ---- */

struct pair {
    struct ends ends;
    int fds[2];
    struct trib_line client;
    struct trib_line server;
};

static void connect_pair(struct pair *pair, bool is_tls)
{
    const struct trib_keys keys = keys_of('a');
    begin(&pair->ends, &keys, &keys);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair->fds), 0);
    assert_true(trib_line_connect(&pair->client, is_tls ? pair->ends.sides[0] : NULL));
    trib_line_accept(&pair->server, pair->ends.sides[1]);
}

static void close_pair(struct pair *pair)
{
    trib_line_close(&pair->client);
    trib_line_close(&pair->server);
    assert_int_equal(close(pair->fds[0]) | close(pair->fds[1]), 0);
    end(&pair->ends);
}

static ssize_t receive(struct trib_line *line, int fd, char *text)
{
    return line->kind->receive(line, fd, (uint8_t *)text, 64);
}

static void test_lines(void **state)
{
    (void)state;
    struct pair pair;
    char text[64];
    connect_pair(&pair, true);
    assert_true(pair.client.kind->waits(&pair.client, false)); /* the first flight */
    assert_int_equal(pair.client.kind->send(&pair.client, pair.fds[0], (const uint8_t *)"JOIN", 4), -1);
    assert_int_equal(errno, EAGAIN);
    assert_false(pair.client.kind->waits(&pair.client, true)); /* room in the socket does not help */
    assert_int_equal(receive(&pair.server, pair.fds[1], text), -1);
    assert_int_equal(receive(&pair.client, pair.fds[0], text), -1);
    assert_int_equal(errno, EAGAIN);
    assert_true(pair.client.kind->waits(&pair.client, true));
    assert_int_equal(pair.client.kind->send(&pair.client, pair.fds[0], (const uint8_t *)"JOIN", 4), 4);
    assert_int_equal(pair.client.kind->send(&pair.client, pair.fds[0], (const uint8_t *)"MARK", 4), 4);
    assert_int_equal(receive(&pair.server, pair.fds[1], text), 4);
    assert_memory_equal(text, "JOIN", 4);
    assert_int_equal(receive(&pair.server, -1, text), 4); /* has come with the first */
    assert_memory_equal(text, "MARK", 4);
    assert_int_equal(receive(&pair.server, -1, text), -1);
    assert_int_not_equal(trib_line_key_id(&pair.server), 0);
    assert_int_equal(trib_line_key_id(&pair.server), trib_line_key_id(&pair.client));
    close_pair(&pair);
}

/* A server with keys reads a plain client, so that it can answer; nothing says that it has a key. */
static void test_plain_client(void **state)
{
    (void)state;
    struct pair pair;
    char text[64];
    connect_pair(&pair, false);
    assert_int_equal(receive(&pair.server, pair.fds[1], text), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(pair.client.kind->send(&pair.client, pair.fds[0], (const uint8_t *)"\0\0\0\5J", 5), 5);
    assert_int_equal(receive(&pair.server, pair.fds[1], text), 5);
    assert_int_equal(trib_line_key_id(&pair.server), 0);
    assert_int_equal(pair.server.kind->send(&pair.server, pair.fds[1], (const uint8_t *)"FAIL", 4), 4);
    assert_int_equal(receive(&pair.client, pair.fds[0], text), 4);
    close_pair(&pair);
}

/* Of a client in this state, behind an answer that is not TLS (plain), or a record that is none. */
static enum trib_session_state state_after(enum trib_session_state state, bool is_plain)
{
    static const uint8_t answers[2][9] = {{TRIB_TLS_FIRST_BYTE, 3, 3, 0, 4, 9, 9, 9, 9}, {0, 0, 0, 5, 12, 0, 0, 0, 0}};
    static struct trib_session_client client;
    const struct trib_keys keys = keys_of('a');
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    trib_session_client_init(&client);
    client.side = trib_tls_client(&keys, false, error);
    assert_true(trib_line_connect(&client.line, client.side));
    client.fd = fds[0];
    client.state = TRIB_SESSION_OPEN;
    assert_int_equal(trib_session_client_interest(&client), POLLIN | POLLOUT);
    trib_session_client_ready(&client, POLLOUT);
    assert_int_equal(trib_session_client_interest(&client), POLLIN);
    if (state == TRIB_SESSION_ENDING) {
        trib_session_client_end(&client);
    }
    assert_int_equal(write(fds[1], answers[is_plain], sizeof answers[0]), sizeof answers[0]);
    trib_session_client_ready(&client, POLLIN);
    state = client.state;
    assert_true(client.cause[0] != '\0');
    trib_session_client_close(&client);
    trib_tls_release(client.side);
    assert_int_equal(close(fds[1]), 0);
    return state;
}

/* A refusal is final. Nonsense is a lost session, which may begin anew; so is all of a session that is ending. */
static void test_sessions(void **state)
{
    (void)state;
    assert_int_equal(state_after(TRIB_SESSION_OPEN, true), TRIB_SESSION_FOREIGN);
    assert_int_equal(state_after(TRIB_SESSION_OPEN, false), TRIB_SESSION_LOST);
    assert_int_equal(state_after(TRIB_SESSION_ENDING, true), TRIB_SESSION_LOST);
    assert_int_equal(state_after(TRIB_SESSION_ENDING, false), TRIB_SESSION_LOST);
}

#define EXTENSION 63U /* pre_shared_key with one identity, at the end of a hello */
#define IDENTITY 22U  /* its length, 16 digits, its age */

static void add_u16(uint8_t *at, uint32_t more)
{
    uint32_t value = (uint32_t)(at[0] << 8 | at[1]) + more;
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* Copies a hello of one identity, `times` over. Returns the size. */
static size_t multiply(uint8_t *to, const uint8_t *from, size_t size, uint32_t times)
{
    size_t behind = size - EXTENSION + 6; /* the first identity */
    uint32_t more = (times - 1) * IDENTITY;
    memcpy(to, from, behind);
    for (uint32_t i = 0; i < times; i++) {
        memcpy(to + behind + (size_t)i * IDENTITY, from + behind, IDENTITY);
    }
    memcpy(to + behind + (size_t)times * IDENTITY, from + behind + IDENTITY, size - behind - IDENTITY);
    size_t at = 5 + 4 + 2 + 32;                                 /* record, message, version, random */
    at += 1U + to[at];                                          /* session */
    at += 2U + (size_t)(to[at] << 8 | to[at + 1]);              /* ciphers */
    at += 1U + to[at];                                          /* compressions */
    assert_int_equal(to[at] << 8 | to[at + 1], size - at - 2U); /* extensions */
    add_u16(to + at, more);
    add_u16(to + 3, more);
    add_u16(to + 7, more);
    add_u16(to + size - EXTENSION + 2, more);
    add_u16(to + size - EXTENSION + 4, more);
    return size + more;
}

/* Each identity of a client costs a look at the folder of keys: the server looks at four. */
static void test_many_identities(void **state)
{
    (void)state;
    const struct trib_keys client = keys_of('a');
    const struct trib_keys server = keys_of('b');
    static const char *const causes[] = {"there is no key of that id", "a client with more than 4 keys"};
    for (uint32_t i = 0; i < 2; i++) {
        struct ends ends;
        const uint8_t *hello = NULL;
        uint8_t many[FLIGHT_MAX];
        begin(&ends, &client, &server);
        (void)trib_tls_shake(ends.client);
        size_t size = trib_tls_peek(ends.client, &hello);
        assert_true(trib_tls_feed(ends.server, many, multiply(many, hello, size, 4 + i)));
        assert_false(trib_tls_shake(ends.server));
        assert_non_null(strstr(trib_tls_cause(ends.server), causes[i]));
        end(&ends);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_key),     cmocka_unit_test(test_wrong_key), cmocka_unit_test(test_plain_answer),
        cmocka_unit_test(test_no_room),       cmocka_unit_test(test_garbage),   cmocka_unit_test(test_cut),
        cmocka_unit_test(test_flipped),       cmocka_unit_test(test_lines),     cmocka_unit_test(test_plain_client),
        cmocka_unit_test(test_forged_record), cmocka_unit_test(test_sessions),  cmocka_unit_test(test_many_identities),
    };
    if (trib_keys_explain_lack() != NULL) {
        return 77; /* skipped */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
