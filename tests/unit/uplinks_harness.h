/* SPDX-License-Identifier: Apache-2.0 */
/* uplinks_harness.h: a switch with a parent on real sockets, and a clock that the test sets. The test is the parent and
 * the ranks. */
#ifndef TRIB_TESTS_UPLINKS_HARNESS_H
#define TRIB_TESTS_UPLINKS_HARNESS_H

#include "control_harness.h"

#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "control/server/channels.h"
#include "control/server/connections.h"
#include "control/server/rounds.h"
#include "control/server/uplinks.h"
#include "unit/draw.h"

#define SELF 7
#define ROUNDS 12 /* of all descriptors, until nothing moves any more */

struct world {
    struct trib_server_config config;
    struct recorder recorder;
    struct trib_jobs jobs;
    struct trib_connections connections;
    struct trib_uplinks uplinks;
    uint16_t port; /* where ranks come */
    int listener;  /* the parent's */
    int line;      /* the parent's end; -1: none */
    uint64_t now_ns;
};

static inline int bind_port(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

/* A switch whose parent has a port where nobody listens yet. */
static inline int start(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    char error[TRIB_ERROR_TEXT_MAX];
    uint16_t parent;
    w->listener = bind_port(&parent);
    w->line = -1;
    w->now_ns = TRIB_SECOND_NS;
    w->config.identity = SELF;
    w->config.parent = trib_address_v4(INADDR_LOOPBACK, parent);
    w->config.listen = trib_address_v4(INADDR_ANY, 7470);
    w->config.shards = 2;
    w->config.receive_room = 1U << 20;
    w->config.memory_quota = w->config.job_quota = UINT64_MAX;
    w->config.plane = recorder_verbs(&w->recorder);
    w->recorder.parent_answers = true;
    pthread_mutex_init(&w->recorder.lock, NULL);
    const struct trib_jobs_output output = {
        &w->connections, trib_connections_send, trib_connections_end, trib_connections_ping, test_draw, NULL};
    trib_jobs_init(&w->jobs, &w->config, &output);
    int below = bind_port(&w->port);
    assert_int_equal(listen(below, 200), 0);
    assert_int_equal(trib_connections_init(&w->connections, below, &w->jobs, &trib_channels, error), TRIB_OK);
    trib_uplinks_init(&w->uplinks, &w->jobs, &w->connections, &w->config);
    w->jobs.masters.above = (struct trib_masters_above){&w->uplinks, trib_uplinks_tell_above};
    w->connections.above = &w->uplinks.verbs;
    *state = w;
    return 0;
}

static inline int stop(void **state)
{
    struct world *w = *state;
    trib_connections_deinit(&w->connections, TRIB_ERR_SWITCH, "over");
    trib_uplinks_deinit(&w->uplinks);
    trib_jobs_deinit(&w->jobs, TRIB_ERR_SWITCH, "over");
    assert_int_equal(w->uplinks.count, 0);
    assert_null(w->jobs.masters.first);
    assert_int_equal(w->jobs.agent.memory_used, 0);
    assert_int_equal(w->recorder.opens, w->recorder.closes);
    close(w->listener);
    if (w->line >= 0) {
        close(w->line);
    }
    free(w);
    return 0;
}

static inline void round_of(struct world *w)
{
    struct pollfd fds[TRIB_CONNECTIONS_POLLED + TRIB_UPLINKS_MAX];
    uint32_t count = trib_connections_poll(&w->connections, fds, w->now_ns);
    uint32_t up = trib_uplinks_poll(&w->uplinks, fds + count);
    (void)poll(fds, count + up, 1);
    w->uplinks.now_ns = w->now_ns;
    trib_connections_ready(&w->connections, fds, count, w->now_ns);
    trib_uplinks_ready(&w->uplinks, fds + count, up, w->now_ns);
    trib_jobs_on_timeout(&w->jobs, w->now_ns);
    trib_connections_on_timeout(&w->connections, w->now_ns);
    trib_uplinks_on_timeout(&w->uplinks, w->now_ns);
    trib_connections_sweep(&w->connections, w->now_ns);
    trib_uplinks_sweep(&w->uplinks, w->now_ns);
    trib_connections_sweep(&w->connections, w->now_ns);
    trib_jobs_check(&w->jobs);
}

static inline void pump(struct world *w)
{
    for (int i = 0; i < ROUNDS; i++) {
        round_of(w);
    }
}

/* Until this end can read. */
static inline void await(struct world *w, int fd)
{
    struct pollfd own = {.fd = fd, .events = POLLIN};
    for (uint32_t i = 0; i < 2000 * patience() && poll(&own, 1, 0) == 0; i++) {
        round_of(w);
    }
}

static inline struct trib_message heard(struct world *w, int fd)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_PING};
    while (message.kind == TRIB_MESSAGE_PING) {
        await(w, fd);
        message = answer_message(fd);
    }
    return message;
}

static inline struct trib_message hears(struct world *w, int fd, enum trib_message_kind kind)
{
    const struct trib_message message = heard(w, fd);
    if (message.kind != kind) {
        fail_msg("got %s, not %s", trib_message_name(message.kind), trib_message_name(kind));
    }
    return message;
}

static inline void hears_end(struct world *w, int fd)
{
    assert_int_equal(heard(w, fd).kind, TRIB_MESSAGE_NONE);
    close(fd);
}

static inline bool is_quiet(struct world *w, int fd)
{
    struct pollfd own = {.fd = fd, .events = POLLIN};
    pump(w);
    return poll(&own, 1, 0) == 0;
}

static inline int come(struct world *w, uint32_t rank)
{
    const struct trib_message join = join_message(rank, 3);
    int fd = connect_to(w->port);
    send_message(fd, &join);
    pump(w);
    return fd;
}

/* The parent takes the connection, and hears HELLO. */
static inline struct trib_message hello_of(struct world *w)
{
    struct timeval longest = {.tv_sec = 4 * (time_t)patience()};
    await(w, w->listener);
    w->line = accept(w->listener, NULL, NULL);
    assert_true(w->line >= 0);
    assert_int_equal(setsockopt(w->line, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest), 0);
    assert_int_equal(setsockopt(w->line, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)),
                     0); /* each arrives at once */
    return hears(w, w->line, TRIB_MESSAGE_HELLO);
}

static inline struct trib_message greet(struct world *w)
{
    const struct trib_message challenge = {.kind = TRIB_MESSAGE_CHALLENGE, .proof = {4711}};
    const struct trib_message hello = hello_of(w);
    send_message(w->line, &challenge);
    assert_int_equal(hears(w, w->line, TRIB_MESSAGE_PROOF).proof.nonce, 4711);
    return hello;
}

/* CHANNEL, and the first message on it. */
static inline struct trib_message hears_channel(struct world *w, uint32_t *number)
{
    struct trib_message first;
    size_t used = 0;
    const struct trib_message channel = hears(w, w->line, TRIB_MESSAGE_CHANNEL);
    const struct trib_message carrier = hears(w, w->line, TRIB_MESSAGE_BYTES);
    assert_int_equal(carrier.bytes.number, channel.channel.number);
    assert_true(trib_address_is_loopback(&channel.channel.peer)); /* as it is seen here */
    assert_int_equal(trib_address_port(&channel.channel.local), w->port);
    assert_int_equal(trib_message_decode(carrier.bytes.bytes, carrier.bytes.count, &first, &used), TRIB_OK);
    assert_int_equal(used, carrier.bytes.count);
    *number = channel.channel.number;
    return first;
}

static inline void run_two(struct world *w, int *fd, uint32_t *number)
{
    assert_int_equal(listen(w->listener, 5), 0);
    fd[0] = come(w, 0);
    fd[1] = come(w, 1);
    (void)greet(w);
    for (uint32_t i = 0; i < 2; i++) {
        const struct trib_message join = hears_channel(w, &number[i]);
        assert_int_equal(join.kind, TRIB_MESSAGE_JOIN);
        assert_int_equal(join.join.rank, i);
    }
}

static inline void say_bytes(const struct world *w, uint32_t number, const void *bytes, size_t count)
{
    struct trib_message carrier = {.kind = TRIB_MESSAGE_BYTES, .bytes = {.number = number, .count = (uint16_t)count}};
    memcpy(carrier.bytes.bytes, bytes, count);
    send_message(w->line, &carrier);
}

static inline void say_end(const struct world *w, uint32_t number)
{
    const struct trib_message end = {.kind = TRIB_MESSAGE_END, .end = {.number = number}};
    send_message(w->line, &end);
}

#endif
