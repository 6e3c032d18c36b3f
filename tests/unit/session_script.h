/* SPDX-License-Identifier: Apache-2.0 */
/* session_script.h: a rank of the library, in a thread, against a control plane that the test writes out message by
 * message, with one UDP socket in place of a switch. */
#ifndef TRIB_TESTS_SESSION_SCRIPT_H
#define TRIB_TESTS_SESSION_SCRIPT_H

#include "control_harness.h"

#include <tributary/tributary.h>

#include <poll.h>

struct script {
    int listener;
    int udp;
    struct trib_config config;
    pthread_t thread;
    struct trib_comm *comm;
    enum trib_status status; /* of create; then of the barrier, if create was well */
    char error[TRIB_ERROR_TEXT_MAX];
    atomic_bool over;
    uint64_t took_ns;
    unsigned joins;
    uint32_t window; /* that it grants */
};

static inline int open_port(int type, uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static inline void *be_rank(void *argument)
{
    struct script *s = argument;
    uint64_t start_ns = trib_clock_ns();
    s->status = trib_comm_create(&s->config, &s->comm, s->error);
    if (s->status == TRIB_OK) {
        s->status = trib_barrier(s->comm);
        snprintf(s->error, sizeof s->error, "%s", trib_comm_error(s->comm));
        s->took_ns = trib_clock_ns() - start_ns;
        (void)trib_comm_close(s->comm);
    } else {
        s->took_ns = trib_clock_ns() - start_ns;
    }
    atomic_store(&s->over, true);
    return NULL;
}

static inline void begin(struct script *s)
{
    uint16_t port;
    memset(s, 0, sizeof *s);
    s->window = 16;
    s->listener = open_port(SOCK_STREAM, &port);
    assert_int_equal(listen(s->listener, 64), 0);
    trib_config_init(&s->config);
    snprintf(s->config.switch_address, sizeof s->config.switch_address, "127.0.0.1:%u", port);
    s->config.multicast = false;
    s->config.switch_timeout_ns = 20 * TRIB_SECOND_NS * patience();
    s->config.join_timeout_ns = 30 * TRIB_SECOND_NS * patience();
    s->udp = open_port(SOCK_DGRAM, &port);
}

/* For a test whose rank tries in vain for as long as it may. */
static inline void hurry(struct script *s)
{
    s->config.switch_timeout_ns = 400 * TRIB_MILLISECOND_NS * patience();
    s->config.join_timeout_ns = 600 * TRIB_MILLISECOND_NS * patience();
}

static inline void start_rank(struct script *s)
{
    assert_int_equal(pthread_create(&s->thread, NULL, be_rank, s), 0);
}

/* The rank has ended with this, not later than limit_ms. */
static inline void end(struct script *s, enum trib_status status, const char *part, unsigned limit_ms)
{
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    if (!strstr(s->error, part)) {
        fail_msg("\"%s\" is not in \"%s\"", part, s->error);
    }
    assert_int_equal(s->status, status);
    assert_true(s->took_ns < limit_ms * TRIB_MILLISECOND_NS * patience());
    close(s->listener);
    close(s->udp);
}

/* From then on this listener answers no connection. */
static inline int fill_queue(const struct script *s)
{
    struct sockaddr_in to;
    socklen_t size = sizeof to;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_return_code(listen(s->listener, 0), errno);
    assert_return_code(getsockname(s->listener, (struct sockaddr *)&to, &size), errno);
    assert_return_code(connect(fd, (struct sockaddr *)&to, sizeof to), errno);
    return fd;
}

/* The next connection; -1: the rank has ended. */
static inline int take_connection(struct script *s)
{
    struct pollfd listener = {.fd = s->listener, .events = POLLIN};
    while (poll(&listener, 1, 10) == 0) {
        if (atomic_load(&s->over)) {
            return -1;
        }
    }
    int fd = accept(s->listener, NULL, NULL);
    assert_true(fd >= 0);
    return fd;
}

/* The next JOIN; -1: the rank has ended. A connection may end without one: connecting took the rank too long. */
static inline int take_join(struct script *s, struct trib_message *join)
{
    int fd = take_connection(s);
    memset(join, 0, sizeof *join);
    while (fd >= 0 && (*join = next_message(fd)).kind == TRIB_MESSAGE_NONE) {
        close(fd);
        fd = take_connection(s);
    }
    if (fd >= 0) {
        assert_int_equal(join->kind, TRIB_MESSAGE_JOIN);
        s->joins++;
    }
    return fd;
}

/* Does nothing but answer PING until then, like a control plane that waits for other ranks, or until the rank has gone.
 * A rank whose limit has ended asks for the missing ranks by ABORT. */
static inline void answer_until(int fd, uint64_t until_ns)
{
    struct pollfd session = {.fd = fd, .events = POLLIN};
    bool is_there = true;
    while (is_there && trib_clock_ns() < until_ns) {
        if (poll(&session, 1, 5) > 0) {
            enum trib_message_kind kind = answer_message(fd).kind;
            is_there = kind != TRIB_MESSAGE_NONE;
            assert_true(kind == TRIB_MESSAGE_PING || kind == TRIB_MESSAGE_ABORT || !is_there);
        }
    }
}

/* Takes what came to the switch's socket: packets of the boot before, whose echoes prove nothing. */
static inline void drain(const struct script *s)
{
    uint8_t old[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
    while (recv(s->udp, old, sizeof old, MSG_DONTWAIT) > 0) {
    }
}

/* A WELCOME to a switch of one shard, at s->udp. No probe of it has been sent yet: what lies in the socket is old. */
static inline struct trib_message script_welcome(const struct script *s, uint32_t boot)
{
    struct sockaddr_in at = {0};
    socklen_t len = sizeof at;
    drain(s);
    assert_int_equal(getsockname(s->udp, (struct sockaddr *)&at, &len), 0);
    struct trib_message message = {.kind = TRIB_MESSAGE_WELCOME, .welcome = {.generation_ranks = s->config.ranks}};
    message.welcome.grant = (struct trib_grant){.salt = 1,
                                                .token = 2,
                                                .job_token = 4,
                                                .communicator = 7,
                                                .boot = boot,
                                                .roots = 1,
                                                .train = 4,
                                                .slots = 32,
                                                .window = s->window,
                                                .generation = 1,
                                                .data_port = ntohs(at.sin_port)};
    return message;
}

/* first: of grant.switches */
static inline void welcome_over(const struct script *s, int fd, uint32_t boot, uint8_t first)
{
    struct trib_message message = script_welcome(s, boot);
    message.welcome.grant.switches[0] = first;
    send_message(fd, &message);
}

static inline void welcome(const struct script *s, int fd, uint32_t boot)
{
    welcome_over(s, fd, boot, 0);
}

/* What is a root here brings the rank's nonce back, until a packet of full size has come and gone. */
static inline void echo_at(int udp)
{
    struct trib_packet packet = {0};
    while (packet.payload_len == 0) {
        uint8_t bytes[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
        struct sockaddr_in from;
        socklen_t len = sizeof from;
        ssize_t got = recvfrom(udp, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &len);
        assert_true(got > 0);
        assert_int_equal(trib_packet_decode(bytes, (size_t)got, &packet), TRIB_DROP_NONE);
        packet.bitmap = packet.lane;
        packet.lane = 0;
        trib_packet_encode(&packet, bytes);
        assert_int_equal(sendto(udp, bytes, (size_t)got, 0, (struct sockaddr *)&from, len), got);
    }
}

static inline void echo_path(const struct script *s)
{
    echo_at(s->udp);
}

static inline void ready(int fd, uint32_t boot)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_READY, .ready = {.boot = boot}};
    send_message(fd, &message);
}

/* From JOIN to READY. */
static inline int run(struct script *s)
{
    struct trib_message join;
    int fd = take_join(s, &join);
    welcome(s, fd, 5);
    echo_path(s);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    (void)expect(fd, TRIB_MESSAGE_REGISTER);
    ready(fd, 5);
    return fd;
}

#endif
