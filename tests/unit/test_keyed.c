/* SPDX-License-Identifier: Apache-2.0 */
/* test_keyed.c: which sessions a control plane with keys takes, over real sockets. Mirrors src/control/server/keyed.c.
 * Without OpenSSL there is nothing to test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/server.h"
#include "control/words/session_client.h"
#include "io/clock.h"
#include "keys/store.h"
#include "letter_keys.h"

#define PATIENCE_NS (20 * TRIB_SECOND_NS)
#define STEP 65536
#define LONGEST_RUN (UINT64_C(1) << 28) /* longer ones are a sanitizer's */

static char error[TRIB_ERROR_TEXT_MAX];
static char folder[] = "/tmp/test_keyedXXXXXX";
static char files[2][64]; /* of jobs a and b; the server does not know c */
static struct trib_keyring ring;
static struct trib_server *server;
static struct trib_server_config config;
static struct trib_session_client client;
static pthread_t thread;

static void close_session(struct trib_session_client *session)
{
    trib_session_client_close(session);
    trib_tls_release(session->side);
}

static void *serve(void *unused)
{
    trib_server_run(server);
    return unused;
}

/* parent: the port of the switch above; 0: there is none. */
static int start_at(uint16_t parent)
{
    assert_non_null(mkdtemp(folder));
    for (unsigned i = 0; i < 2; i++) {
        const struct trib_keys keys = keys_of((char)('a' + (int)i));
        assert_int_equal(trib_key_store(folder, &keys, files[i], sizeof files[i], error), TRIB_OK);
    }
    ring = (struct trib_keyring){.folder = folder, .own = keys_of('o'), .is_for_jobs = true};
    config = (struct trib_server_config){.listen = trib_address_v4(0x7f000001, 0),
                                         .join_timeout_ns = PATIENCE_NS,
                                         .memory_quota = UINT64_MAX,
                                         .job_quota = UINT64_MAX,
                                         .boot = 7,
                                         .keys = &ring};
    if (parent != 0) {
        config.parent = trib_address_v4(0x7f000001, parent);
    }
    assert_int_equal(trib_server_create(&config, &server, error), TRIB_OK);
    trib_session_client_init(&client);
    return pthread_create(&thread, NULL, serve, NULL);
}

static int start(void **state)
{
    (void)state;
    return start_at(0);
}

static int stop(void **state)
{
    (void)state;
    if (server == NULL) { /* by the test */
        return 0;
    }
    close_session(&client);
    trib_server_stop(server);
    (void)pthread_join(thread, NULL);
    trib_server_destroy(server);
    server = NULL;
    int failed = unlink(files[0]) | unlink(files[1]) | rmdir(folder);
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    return failed;
}

/* A session with the key of this letter; 0: without one. */
static void open_session(struct trib_session_client *session, char letter)
{
    struct trib_address at = trib_address_v4(0x7f000001, trib_server_port(server));
    const struct trib_keys keys = keys_of(letter != 0 ? letter : 'a');
    trib_session_client_init(session);
    session->side = letter != 0 ? trib_tls_client(&keys, false, error) : NULL;
    trib_session_client_open(session, &at, NULL, PATIENCE_NS);
}

static void turn(struct trib_session_client *session)
{
    struct pollfd fds = {.fd = session->fd, .events = trib_session_client_interest(session)};
    (void)poll(&fds, 1, 100);
    trib_session_client_ready(session, fds.revents);
}

/* Sends one message once the session is open. Returns the text of the FAIL that answers, or the cause of the session's
 * end, or "" if no answer came. If none is wanted, it waits for 200 ms only. */
static const char *answer(struct trib_session_client *session, const struct trib_message *message, bool is_wanted)
{
    static struct trib_message said;
    uint64_t end_ns = trib_clock_ns() + PATIENCE_NS;
    while (session->state == TRIB_SESSION_CONNECTING && trib_clock_ns() < end_ns) {
        turn(session);
    }
    trib_session_client_send(session, message);
    end_ns = trib_clock_ns() + (is_wanted ? PATIENCE_NS : PATIENCE_NS / 100);
    while (trib_clock_ns() < end_ns && session->state == TRIB_SESSION_OPEN) {
        turn(session);
        while (trib_session_client_next(session, &said)) {
            if (said.kind == TRIB_MESSAGE_FAIL) {
                return said.fail.text;
            }
        }
    }
    return session->cause;
}

static struct trib_message join_of(const char *job, uint32_t rank, char key)
{
    struct trib_message join = {.kind = TRIB_MESSAGE_JOIN};
    join.join.magic = TRIB_SESSION_MAGIC;
    join.join.version = TRIB_SESSION_VERSION;
    join.join.wire_version = TRIB_WIRE_VERSION;
    (void)snprintf(join.join.job, sizeof join.join.job, "%s", job);
    join.join.rank = rank;
    (void)snprintf(join.join.settings.scheme, sizeof join.join.settings.scheme, "switchml");
    join.join.settings.ranks = 3;
    join.join.settings.payload = 1024;
    join.join.settings.wire = TRIB_WIRE_FLOAT32;
    join.join.data_port[0] = 7;
    join.join.root_port = 9;
    join.join.weight = 1;
    join.join.room = 1U << 20;
    if (key != 0) {
        const struct trib_keys keys = keys_of(key);
        join.join.key = trib_key_id_number(&keys);
    }
    return join;
}

static void expect(const char *part, const char *text)
{
    if (strstr(text, part) == NULL || (part[0] == '\0' && text[0] != '\0')) {
        fail_msg("\"%s\" is not in \"%s\"", part, text);
    }
}

/* A rank with a session of key `session` that says key `said` in JOIN; 0: none. */
static void expect_refused(char session, char said, const char *text)
{
    const struct trib_message join = join_of("j", 0, said);
    open_session(&client, session);
    expect(text, answer(&client, &join, true));
}

static void test_without_key(void **state)
{
    (void)state;
    expect_refused(0, 0, "rank 0 of job j has no key, and rank 0's process takes jobs with a key only");
}

static void test_with_key(void **state)
{
    (void)state;
    const struct trib_message join = join_of("j", 0, 'a');
    open_session(&client, 'a');
    expect("", answer(&client, &join, false));
    assert_int_equal(client.state, TRIB_SESSION_OPEN);
}

static void test_unknown_key(void **state)
{
    (void)state;
    expect_refused('c', 'c', "it does not know key");
    assert_int_equal(client.state, TRIB_SESSION_FOREIGN);
}

/* A key is refused once its file is removed. */
static void test_removed_key(void **state)
{
    (void)state;
    char away[sizeof files[0] + 8];
    (void)snprintf(away, sizeof away, "%s.away", files[0]);
    assert_int_equal(rename(files[0], away), 0);
    expect_refused('a', 'a', "it does not know key");
    assert_int_equal(rename(away, files[0]), 0);
}

static void test_id_of_another(void **state)
{
    (void)state;
    expect_refused('a', 'b', "rank 0 names key");
}

static void test_id_without_session(void **state)
{
    (void)state;
    expect_refused(0, 'a', "rank 0 names key");
}

/* Ranks of one job name with two keys. */
static void test_two_keys(void **state)
{
    (void)state;
    struct trib_session_client second;
    struct trib_message first_join = join_of("j", 0, 'a');
    struct trib_message second_join = join_of("j", 1, 'b');
    open_session(&client, 'a');
    expect("", answer(&client, &first_join, false));
    open_session(&second, 'b');
    expect("job j is of another key than rank 1", answer(&second, &second_join, true));
    close_session(&second);
}

/* Other switches have the operator's key; that of a job is not enough. */
static void test_switches(void **state)
{
    (void)state;
    static const char letters[] = {0, 'a', 'o'};
    for (size_t i = 0; i < sizeof letters; i++) {
        struct trib_message hello = {.kind = TRIB_MESSAGE_HELLO};
        struct trib_session_client below;
        hello.hello.magic = TRIB_SESSION_MAGIC;
        hello.hello.version = TRIB_SESSION_VERSION;
        hello.hello.wire_version = TRIB_WIRE_VERSION;
        open_session(&below, letters[i]);
        const char *text = answer(&below, &hello, letters[i] != 'o');
        bool is_refused = strstr(text, "with the key of its operator only") != NULL;
        assert_int_equal(is_refused, letters[i] != 'o');
        close_session(&below);
    }
}

/* A switch that passes sessions on checks each JOIN, also behind a recall. Its parent here never answers. */
static void test_another_join(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int parent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(parent, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(parent, 8), 0);
    assert_int_equal(getsockname(parent, (struct sockaddr *)&at, &len), 0);
    assert_int_equal(stop(state), 0);
    assert_int_equal(start_at(ntohs(at.sin_port)), 0);
    struct trib_message join = join_of("j", 0, 'a');
    open_session(&client, 'a');
    expect("", answer(&client, &join, false));
    expect("", answer(&client, &join, false));
    join = join_of("j", 0, 'b');
    expect("rank 0 names key", answer(&client, &join, true));
    assert_int_equal(close(parent), 0);
}

/* A rank with a key takes a word in clear for the answer of a server without keys, and would end. */
static void test_farewell(void **state)
{
    struct trib_address at = trib_address_v4(0x7f000001, trib_server_port(server));
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint8_t byte = 0;
    assert_int_equal(connect(silent, (const struct sockaddr *)&at.storage, at.len), 0);
    open_session(&client, 'a'); /* is served behind it */
    const struct trib_message join = join_of("j", 0, 'a');
    expect("", answer(&client, &join, false));
    assert_int_equal(stop(state), 0);
    assert_int_equal(recv(silent, &byte, 1, 0), 0);
    assert_int_equal(close(silent), 0);
}

/* ---- the packet key in memory ---- */

/* A run of memory of this process that can be written. False: there are no more. */
static bool next_run(FILE *maps, uintptr_t *from, uintptr_t *to)
{
    char line[512];
    char mode[8];
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", from, to, mode) == 3 && strncmp(mode, "rw", 2) == 0 &&
            *to - *from <= LONGEST_RUN) {
            return true;
        }
    }
    return false;
}

/* The next place from `at` on of the first byte of `hidden`, inverted; at least len: there is none. */
static size_t next_first(const uint8_t *bytes, size_t at, size_t len, const uint8_t hidden[TRIB_AUTH_KEY])
{
    const uint8_t *found = at < len ? memchr(bytes + at, hidden[0] ^ 0xff, len - at) : NULL;
    return found != NULL ? (size_t)(found - bytes) : len;
}

static bool is_inverted(const uint8_t *bytes, size_t len, const uint8_t hidden[TRIB_AUTH_KEY])
{
    unsigned same = 0;
    while (same < TRIB_AUTH_KEY && same < len && (bytes[same] ^ hidden[same]) == 0xff) {
        same++;
    }
    return same == TRIB_AUTH_KEY;
}

/* Number of places in the memory of this process that have the bytes of `hidden`, each inverted. */
static unsigned count_places(const uint8_t hidden[TRIB_AUTH_KEY])
{
    static uint8_t bytes[STEP + TRIB_AUTH_KEY];
    FILE *maps = fopen("/proc/self/maps", "re");
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    unsigned places = 0;
    uintptr_t from = 0;
    uintptr_t to = 0;
    assert_true(maps != NULL && memory >= 0);
    while (next_run(maps, &from, &to)) {
        for (uintptr_t at = from; at < to; at += STEP) {
            ssize_t got = pread(memory, bytes, sizeof bytes, (off_t)at);
            size_t len = got > 0 ? (size_t)got : 0;
            for (size_t i = next_first(bytes, 0, len, hidden); i < len; i = next_first(bytes, i + 1, len, hidden)) {
                bool is_own = at + i - (uintptr_t)bytes < sizeof bytes;
                places += i < STEP && is_inverted(bytes + i, len - i, hidden) && !is_own;
            }
            memset(bytes, 0, sizeof bytes);
        }
    }
    (void)fclose(maps);
    (void)close(memory);
    return places;
}

/* The same once the server is done with the message that has just come: it overwrites its copies after it has sent. */
static unsigned places_at_rest(const uint8_t hidden[TRIB_AUTH_KEY], unsigned expected)
{
    uint64_t end_ns = trib_clock_ns() + PATIENCE_NS;
    unsigned places = count_places(hidden);
    while (places != expected && trib_clock_ns() < end_ns) {
        places = count_places(hidden);
    }
    return places;
}

/* Keys of packets, each byte inverted. */
struct hidden {
    uint8_t packet_key[TRIB_AUTH_KEY]; /* of the last ROOT_OPEN */
    uint8_t own[TRIB_AUTH_KEY], heard[TRIB_AUTH_KEY];
};

static void hide(const uint8_t key[TRIB_AUTH_KEY], uint8_t hidden[TRIB_AUTH_KEY])
{
    assert_true(trib_auth_is_set(key));
    for (unsigned i = 0; i < TRIB_AUTH_KEY; i++) {
        hidden[i] = (uint8_t)~key[i];
    }
}

/* Waits for the WELCOME with the sender keys. A root is opened as asked. */
static void take_welcome(struct trib_session_client *session, struct hidden *hidden)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_NONE};
    uint64_t end_ns = trib_clock_ns() + PATIENCE_NS;
    while (message.kind != TRIB_MESSAGE_WELCOME) {
        assert_true(trib_clock_ns() < end_ns && session->state == TRIB_SESSION_OPEN);
        if (message.kind == TRIB_MESSAGE_ROOT_OPEN) {
            const struct trib_message opened = {.kind = TRIB_MESSAGE_ROOT_OPENED,
                                                .root_opened = {.of = message.root_open.of}};
            trib_session_client_send(session, &opened);
            hide(message.root_open.auth.bytes, hidden->packet_key);
            trib_message_wipe(&message);
        }
        if (!trib_session_client_next(session, &message)) {
            message.kind = TRIB_MESSAGE_NONE;
            turn(session);
        }
    }
    hide(message.welcome.auth.own, hidden->own);
    hide(message.welcome.auth.heard, hidden->heard);
    trib_message_wipe(&message);
}

/* Both ends are in this process: after a join the packet key is in the job and nowhere else, sender keys are nowhere. */
static void test_key_in_memory(void **state)
{
    (void)state;
    struct trib_session_client second;
    struct trib_message join = join_of("j", 0, 'a');
    struct hidden first, other;
#ifdef __SANITIZE_THREAD__
    skip(); /* its shadow is terabytes, in runs with the memory between */
#endif
    join.join.settings.ranks = 2;
    open_session(&client, 'a');
    expect("", answer(&client, &join, false));
    open_session(&second, 'a');
    join.join.rank = 1;
    join.join.data_port[0] = 8;
    join.join.root_port = 0;
    while (second.state == TRIB_SESSION_CONNECTING) {
        turn(&second);
    }
    trib_session_client_send(&second, &join);
    while (second.out.len > 0) {
        turn(&second);
    }
    take_welcome(&client, &first);
    take_welcome(&second, &other);
    assert_memory_not_equal(first.own, other.own, sizeof first.own);
    assert_memory_equal(first.heard, other.heard, sizeof first.heard);
    assert_int_equal(places_at_rest(first.packet_key, 1), 1);
    assert_int_equal(places_at_rest(first.own, 0), 0);
    assert_int_equal(places_at_rest(first.heard, 0), 0);
    close_session(&second);
}

int main(void)
{
#define KEYED(f) cmocka_unit_test_setup_teardown(f, start, stop)
    const struct CMUnitTest tests[] = {
        KEYED(test_without_key),   KEYED(test_with_key),           KEYED(test_unknown_key),   KEYED(test_removed_key),
        KEYED(test_id_of_another), KEYED(test_id_without_session), KEYED(test_two_keys),      KEYED(test_switches),
        KEYED(test_another_join),  KEYED(test_farewell),           KEYED(test_key_in_memory),
    };
    if (trib_keys_explain_lack() != NULL) {
        return 77; /* skipped */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
