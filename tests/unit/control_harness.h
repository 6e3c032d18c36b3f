/* SPDX-License-Identifier: Apache-2.0 */
/* control_harness.h: a real control plane on 127.0.0.1 with a data plane that only records, and ranks that speak to it
 * over real TCP. Used by test_server.c and test_http.c. */
#ifndef TRIB_TESTS_CONTROL_HARNESS_H
#define TRIB_TESTS_CONTROL_HARNESS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/server.h"
#include "control/words/words.h"
#include "io/clock.h"
#include "net/resolve.h"
#include "patience.h"
#include "waited.h"

#define SLOT_COST 1000 /* bytes per slot and rank that the recording plane asks for */
#define JOB "digits"
#define GROUP 0xefc07401U

/* One communicator at a time. All fields are under lock: the server's thread writes, the test's reads. */
struct recorder {
    pthread_mutex_t lock;
    unsigned opens, closes, probes, multicasts; /* opens: of communicators, not of roots */
    uint32_t open_now;                          /* the communicator opened last, until it is closed */
    uint32_t communicator;
    struct trib_session_config session;
    uint32_t ranks;                                   /* of the whole communicator */
    struct trib_address addresses[TRIB_RANKS_MAX][2]; /* of the first two shards */
    uint64_t marks[TRIB_RANKS_MAX];
    unsigned joined;                 /* ranks */
    uint32_t behind[TRIB_RANKS_MAX]; /* ranks of each rank's branch */
    bool is_switch[TRIB_RANKS_MAX];
    uint32_t children;
    struct trib_pieces pieces;
    uint32_t boot;
    uint16_t missing[TRIB_RANKS_MAX]; /* what is missing on every sequence */
    uint32_t missing_count;
    struct trib_address parent[TRIB_ROOTS_MAX];
    bool has_parent;
    bool parent_answers;  /* to path probes */
    uint32_t silent_root; /* whose parent does not */
    unsigned parent_probes;
    uint64_t learned; /* M, from the parent's session */
    uint32_t group;
    uint16_t group_port;
    bool refuse_memory;
    struct trib_auth_key auth[2];       /* of the first two roots */
    uint16_t sender[TRIB_RANKS_MAX][2]; /* id of what sends the packets of each rank; TRIB_AUTH_ALL: not behind */
};

static inline void record_auth(struct recorder *r, const struct trib_opening *opening)
{
    r->auth[opening->root] = *opening->auth;
    for (uint32_t rank = 0; rank < TRIB_RANKS_MAX; rank++) {
        r->sender[rank][opening->root] = TRIB_AUTH_ALL;
    }
    for (uint32_t i = 0; i < opening->count; i++) {
        for (uint32_t k = 0; k < opening->branches[i].count; k++) {
            r->sender[opening->branches[i].ranks[k]][opening->root] = opening->branches[i].sender;
        }
    }
}

static inline enum trib_status recorder_open(void *plane, const struct trib_opening *opening)
{
    struct recorder *r = plane;
    pthread_mutex_lock(&r->lock);
    enum trib_status status = r->refuse_memory ? TRIB_ERR_MEMORY : TRIB_OK;
    bool is_kept = strcmp(opening->scheme, "switchml") == 0 || strcmp(opening->scheme, "atp") == 0 ||
                   strcmp(opening->scheme, "goat") == 0 || strcmp(opening->scheme, "rina") == 0;
    if (status == TRIB_OK && is_kept) {
        r->opens += r->open_now != opening->session.communicator;
        r->open_now = opening->session.communicator;
        r->session = opening->session;
        r->ranks = opening->ranks;
        r->communicator = opening->session.communicator;
        r->joined = 0;
        r->boot = opening->boot;
        r->children = opening->count;
        r->pieces = opening->pieces;
        r->has_parent = opening->parent != NULL;
        r->learned = 0;
        if (r->has_parent) {
            r->parent[opening->root] = *opening->parent;
        }
        memset(r->marks, 0xff, sizeof r->marks);
        if (opening->root < 2) {
            record_auth(r, opening);
        }
        for (uint32_t i = 0; i < opening->count; i++) {
            const struct trib_branch *branch = &opening->branches[i];
            for (uint32_t k = 0; k < branch->count; k++) {
                uint32_t rank = branch->ranks[k];
                r->marks[rank] = 0;
                r->behind[rank] = branch->count;
                r->is_switch[rank] = branch->is_switch;
                if (opening->root < 2) {
                    r->addresses[rank][opening->root] = branch->from;
                }
            }
        }
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}

static inline void recorder_close(void *plane, uint32_t communicator)
{
    struct recorder *r = plane;
    pthread_mutex_lock(&r->lock);
    r->open_now = r->open_now == communicator ? 0 : r->open_now;
    r->closes++;
    pthread_mutex_unlock(&r->lock);
}

static inline void recorder_join(void *plane, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    struct recorder *r = plane;
    pthread_mutex_lock(&r->lock);
    if (communicator == r->communicator) {
        r->joined++;
        r->marks[rank] = mark > r->marks[rank] ? mark : r->marks[rank];
    }
    pthread_mutex_unlock(&r->lock);
}

static inline uint64_t recorder_communicator_mark(void *plane, uint32_t communicator)
{
    struct recorder *r = plane;
    uint64_t mark = UINT64_MAX;
    pthread_mutex_lock(&r->lock);
    for (uint32_t i = 0; i < r->ranks; i++) {
        mark = r->marks[i] < mark ? r->marks[i] : mark;
    }
    mark = communicator == r->communicator ? mark : 0;
    pthread_mutex_unlock(&r->lock);
    return mark;
}

/* As a node does, it takes no M above the marks that it knows. */
static inline void recorder_learn_mark(void *plane, uint32_t communicator, uint64_t mark)
{
    struct recorder *r = plane;
    uint64_t known = recorder_communicator_mark(plane, communicator);
    pthread_mutex_lock(&r->lock);
    if (communicator == r->communicator && r->has_parent && mark <= known) {
        r->learned = mark > r->learned ? mark : r->learned;
    }
    pthread_mutex_unlock(&r->lock);
}

static inline void recorder_probe_parent(void *plane, uint32_t communicator)
{
    struct recorder *r = plane;
    pthread_mutex_lock(&r->lock);
    r->parent_probes += communicator == r->communicator && r->has_parent;
    pthread_mutex_unlock(&r->lock);
}

static inline bool recorder_parent_answered(void *plane, uint32_t communicator, struct trib_address *silent)
{
    struct recorder *r = plane;
    pthread_mutex_lock(&r->lock);
    bool answered = communicator == r->communicator && r->parent_answers && r->parent_probes > 0;
    if (!answered && silent != NULL) {
        *silent = r->parent[r->silent_root];
    }
    pthread_mutex_unlock(&r->lock);
    return answered;
}

static inline void recorder_multicast(void *plane, uint32_t communicator, uint32_t group, uint16_t port)
{
    struct recorder *r = plane;
    (void)communicator;
    pthread_mutex_lock(&r->lock);
    r->multicasts++;
    r->group = group;
    r->group_port = port;
    pthread_mutex_unlock(&r->lock);
}

static inline void recorder_probe(void *plane, uint32_t communicator, uint32_t group, uint16_t port)
{
    struct recorder *r = plane;
    (void)port;
    pthread_mutex_lock(&r->lock);
    r->probes += communicator == r->communicator && group != 0;
    pthread_mutex_unlock(&r->lock);
}

static inline size_t recorder_slot_bytes(void *plane, const struct trib_opening *opening)
{
    (void)plane;
    return (size_t)opening->session.slots * opening->count * SLOT_COST;
}

static inline bool recorder_report(void *plane, uint32_t communicator, struct trib_plane_report *report)
{
    struct recorder *r = plane;
    pthread_mutex_lock(&r->lock);
    bool known = communicator == r->communicator;
    pthread_mutex_unlock(&r->lock);
    memset(report, 0, sizeof *report);
    report->counters.contributions = 4711;
    report->counters.dropped[TRIB_DROP_CRC] = 3;
    report->slots_held = 5;
    report->cap = 6;
    report->flagged = 7;
    report->memory_held = 65536;
    report->missing_count = 1;
    report->missing[0] = 2;
    report->sequence = 1841;
    return known;
}

static inline uint32_t recorder_missing(void *plane, uint32_t communicator, uint64_t sequence, uint16_t *ranks,
                                        uint32_t max)
{
    struct recorder *r = plane;
    (void)sequence;
    pthread_mutex_lock(&r->lock);
    uint32_t count = communicator != r->communicator ? 0 : r->missing_count < max ? r->missing_count : max;
    memcpy(ranks, r->missing, count * sizeof *ranks);
    pthread_mutex_unlock(&r->lock);
    return count;
}

static inline void recorder_traffic(void *plane, struct trib_port_stats *sum)
{
    (void)plane;
    memset(sum, 0, sizeof *sum);
    sum->bytes_received = 123456;
    sum->marked_received = 78;
    sum->packets_sent = 77;
}

static inline void recorder_drops(void *plane, uint64_t dropped[TRIB_DROP_COUNT])
{
    (void)plane;
    memset(dropped, 0, TRIB_DROP_COUNT * sizeof *dropped);
    dropped[TRIB_DROP_SOURCE] = 12;
}

static inline struct trib_data_plane recorder_verbs(struct recorder *recorder)
{
    return (struct trib_data_plane){
        .plane = recorder,
        .open = recorder_open,
        .close = recorder_close,
        .join = recorder_join,
        .learn_mark = recorder_learn_mark,
        .probe_parent = recorder_probe_parent,
        .parent_answered = recorder_parent_answered,
        .communicator_mark = recorder_communicator_mark,
        .multicast = recorder_multicast,
        .probe_multicast = recorder_probe,
        .slot_bytes = recorder_slot_bytes,
        .report = recorder_report,
        .missing = recorder_missing,
        .traffic = recorder_traffic,
        .drops = recorder_drops,
    };
}

struct control {
    struct recorder recorder;
    struct trib_server_config config;
    struct trib_server *server;
    pthread_t thread;
    uint16_t port;
};

static inline void *control_main(void *argument)
{
    trib_server_run(((struct control *)argument)->server);
    return NULL;
}

/* Defaults that a test may change before control_start. */
static inline void control_init(struct control *c)
{
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->recorder.lock, NULL);
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &c->config.listen, NULL), TRIB_OK);
    c->config.shards = 2;
    c->config.boot = 0xb0071234U;
    c->config.memory_quota = UINT64_C(1) << 40;
    c->config.job_quota = UINT64_C(1) << 40;
    c->config.receive_room = 64U << 20;
    c->config.join_timeout_ns = 20 * TRIB_SECOND_NS * patience();
    c->config.plane = recorder_verbs(&c->recorder);
}

static inline void control_start(struct control *c)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    for (unsigned tries = 0; trib_server_create(&c->config, &c->server, error) != TRIB_OK; tries++) {
        if (tries == 20 || !strstr(error, "in use")) { /* a port that is free at one address may be taken at another */
            fail_msg("%s", error);
        }
    }
    c->port = trib_server_port(c->server);
    assert_int_equal(pthread_create(&c->thread, NULL, control_main, c), 0);
}

/* Ends the server; every communicator that was opened must have been closed. */
static inline void control_stop(struct control *c)
{
    trib_server_stop(c->server);
    assert_int_equal(pthread_join(c->thread, NULL), 0);
    trib_server_destroy(c->server);
    assert_int_equal(c->recorder.opens, c->recorder.closes);
    pthread_mutex_destroy(&c->recorder.lock);
}

/* Of a test whose state is a struct control, which it starts itself. */
static inline int control_set_up(void **state)
{
    struct control *c = calloc(1, sizeof *c);
    control_init(c);
    *state = c;
    return 0;
}

/* Bytes, of the connections that connect_to makes; 0: as the kernel has it. A buffer that shrinks on a connection drops
 * segments, and both ends then wait for their timers. */
static int receive_buffer;

static inline int control_tear_down(void **state)
{
    receive_buffer = 0;
    control_stop(*state);
    free(*state);
    return 0;
}

static inline unsigned recorder_get(struct control *c, const unsigned *field)
{
    pthread_mutex_lock(&c->recorder.lock);
    unsigned value = *field;
    pthread_mutex_unlock(&c->recorder.lock);
    return value;
}

/* From now on these ranks' parts lack on every sequence. */
static inline void recorder_lack(struct control *c, uint32_t count, const uint16_t *ranks)
{
    pthread_mutex_lock(&c->recorder.lock);
    c->recorder.missing_count = count;
    memcpy(c->recorder.missing, ranks, count * sizeof *ranks);
    pthread_mutex_unlock(&c->recorder.lock);
}

static inline void wait_until(struct control *c, const unsigned *field, unsigned value)
{
    for (uint32_t i = 0; i < 400 * patience() && recorder_get(c, field) < value; i++) {
        usleep(5000);
    }
    assert_true(recorder_get(c, field) >= value);
}

static inline int connect_to(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval longest = {.tv_sec = 4 * (time_t)patience()};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    int one = 1; /* or small messages wait for each other */
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest), 0);
    if (receive_buffer > 0) {
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer), 0);
    }
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline void send_bytes(int fd, const void *bytes, size_t len)
{
    assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
}

static inline void send_message(int fd, const struct trib_message *message)
{
    uint8_t buffer[TRIB_MESSAGE_MAX];
    send_bytes(fd, buffer, trib_message_encode(message, buffer));
}

static inline bool read_exactly(int fd, uint8_t *bytes, size_t len)
{
    size_t have = 0;
    while (have < len) {
        ssize_t got = recv(fd, bytes + have, len - have, 0);
        if (got == 0 || (got < 0 && errno != EINTR)) { /* a process that was stopped */
            return false;
        }
        have += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static inline struct trib_message take_message(int fd)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_NONE};
    uint8_t buffer[TRIB_MESSAGE_MAX];
    size_t used = 0;
    if (!read_exactly(fd, buffer, 4)) {
        return message;
    }
    size_t len = ((size_t)buffer[2] << 8) | buffer[3];
    assert_true(len <= TRIB_MESSAGE_MAX - 4);
    assert_true(read_exactly(fd, buffer + 4, len));
    assert_int_equal(trib_message_decode(buffer, len + 4, &message, &used), TRIB_OK);
    assert_int_equal(used, len + 4);
    return message;
}

/* The next message; a PING is answered. */
static inline struct trib_message answer_message(int fd)
{
    struct trib_message message = take_message(fd);
    if (message.kind == TRIB_MESSAGE_PING) {
        const struct trib_message answer = {.kind = TRIB_MESSAGE_PONG, .ping = message.ping};
        uint8_t buffer[TRIB_MESSAGE_MAX];
        (void)send(fd, buffer, trib_message_encode(&answer, buffer), MSG_NOSIGNAL);
    }
    return message;
}

/* The next message but PING; kind NONE: the connection has ended, or nothing came in time. */
static inline struct trib_message next_message(int fd)
{
    struct trib_message message = answer_message(fd);
    while (message.kind == TRIB_MESSAGE_PING) {
        message = answer_message(fd);
    }
    return message;
}

static inline struct trib_message expect(int fd, enum trib_message_kind kind)
{
    struct trib_message message = next_message(fd);
    if (message.kind == TRIB_MESSAGE_FAIL && kind != TRIB_MESSAGE_FAIL) {
        fail_msg("got FAIL: %s", message.fail.text);
    }
    assert_int_equal(message.kind, kind);
    return message;
}

/* What was sent before, on this session and on others, has been read: the server takes all that has come in one turn. */
static inline void expect_read(int fd)
{
    const struct trib_message question = {.kind = TRIB_MESSAGE_PING};
    for (unsigned i = 0; i < 2; i++) { /* it may have been at the end of a turn */
        send_message(fd, &question);
        (void)expect(fd, TRIB_MESSAGE_PONG);
    }
}

/* FAIL with this status, whose text contains `part`; then the connection ends. */
static inline void expect_fail(int fd, enum trib_status status, const char *part)
{
    struct trib_message message = expect(fd, TRIB_MESSAGE_FAIL);
    if (!strstr(message.fail.text, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, message.fail.text);
    }
    assert_int_equal(message.fail.status, status);
    assert_int_equal(next_message(fd).kind, TRIB_MESSAGE_NONE);
    close(fd);
}

/* It was not well in time: "waited ..." (waited.h). */
static inline void expect_late(int fd, const char *before, unsigned least_ms, const char *after)
{
    struct trib_message message = expect(fd, TRIB_MESSAGE_FAIL);
    if (!says_waited(message.fail.text, before, least_ms, after)) {
        fail_msg("\"%swaited %u ms%s\" is not in \"%s\"", before, least_ms, after, message.fail.text);
    }
    assert_int_equal(message.fail.status, TRIB_ERR_TIMEOUT);
    assert_int_equal(next_message(fd).kind, TRIB_MESSAGE_NONE);
    close(fd);
}

static inline struct trib_message join_message(uint32_t rank, uint32_t ranks)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_JOIN};
    message.join.magic = TRIB_SESSION_MAGIC;
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = TRIB_WIRE_VERSION;
    strcpy(message.join.job, JOB);
    message.join.rank = rank;
    message.join.data_port[0] = (uint16_t)(20000 + rank);
    message.join.data_port[1] = (uint16_t)(21000 + rank);
    strcpy(message.join.settings.scheme, "switchml");
    message.join.settings.ranks = ranks;
    message.join.settings.payload = 1408;
    message.join.settings.wire = TRIB_WIRE_FLOAT32;
    return message;
}

static inline int join_with(struct control *c, const struct trib_message *message)
{
    int fd = connect_to(c->port);
    send_message(fd, message);
    return fd;
}

static inline void send_mark(int fd, enum trib_message_kind kind, uint64_t mark)
{
    struct trib_message message = {.kind = kind, .mark = {.mark = mark}};
    send_message(fd, &message);
}

static inline void send_paths(int fd, bool unicast, bool multicast)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_PATHS, .paths = {unicast, multicast}};
    send_message(fd, &message);
}

/* Brings `ranks` ranks to READY; fds gets their sessions. */
static inline struct trib_grant run_job(struct control *c, uint32_t ranks, int *fds)
{
    struct trib_grant grant = {0};
    for (uint32_t i = 0; i < ranks; i++) {
        struct trib_message message = join_message(i, ranks);
        fds[i] = join_with(c, &message);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        grant = expect(fds[i], TRIB_MESSAGE_WELCOME).welcome.grant;
        send_paths(fds[i], true, false);
        send_mark(fds[i], TRIB_MESSAGE_REGISTER, 0);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        struct trib_message ready = expect(fds[i], TRIB_MESSAGE_READY);
        assert_int_equal(ready.ready.boot, grant.boot);
        assert_true(ready.ready.boot - c->config.boot < 1024); /* its own, of this life of the switch */
        assert_false(ready.ready.multicast);
    }
    return grant;
}

/* The grants of a job of another server, as its ranks bring them along. */
static inline struct trib_grant old_grant(void)
{
    return (struct trib_grant){.salt = 5,
                               .token = 6,
                               .job_token = 4,
                               .communicator = 7,
                               .boot = 8,
                               .roots = 2,
                               .train = 4,
                               .slots = 32,
                               .window = 16,
                               .generation = 3,
                               .data_port = 1};
}

/* Lets the server see these connections close, in turn. */
static inline void close_all(const int *fds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        close(fds[i]);
    }
}

#endif
