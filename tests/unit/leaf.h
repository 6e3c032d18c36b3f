/* SPDX-License-Identifier: Apache-2.0 */
/* leaf.h: a switch below a control plane, as that sees it: one connection, HELLO, a channel for each rank, and an agent
 * that opens what it is asked for on a data plane that only records. A thread passes on what is written to the socket of
 * a rank and what comes for it. Closing that socket ends the channel as lost. Tests that look at the frames themselves
 * use leaf_connect and leaf_next, without a thread. */
#ifndef TRIB_TESTS_LEAF_H
#define TRIB_TESTS_LEAF_H

#include <poll.h>

#include "control_harness.h"
#include "leaf_agent.h"

#define LEAF_CHANNELS 32
#define LEAF_PORT 7471 /* of its first shard, unless the test says otherwise */
#define LEAF_FDS 1024

/* The agent, and what it needs. */
struct leaf_switch {
    struct trib_server_config config;
    struct recorder recorder;
    struct leaf_agent agent;
    int fd;
};

struct leaf {
    struct leaf_switch made;
    int fd;
    int wake[2];
    pthread_t thread;
    pthread_mutex_t lock; /* of what is below, and of what is written to fd */
    uint32_t count;
    int mine[LEAF_CHANNELS]; /* of channel i + 1; -1: it has ended */
};

static inline void leaf_switch_say(void *owner, const struct trib_message *message)
{
    const struct leaf_switch *made = owner;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    (void)send(made->fd, bytes, trib_message_encode(message, bytes), MSG_NOSIGNAL);
}

/* Defaults that a test may change before leaf_switch_begin. */
static inline void leaf_switch_init(struct leaf_switch *made, uint64_t identity, uint16_t port)
{
    memset(made, 0, sizeof *made);
    pthread_mutex_init(&made->recorder.lock, NULL);
    made->recorder.parent_answers = true;
    made->config.identity = identity;
    made->config.listen = trib_address_v4(INADDR_LOOPBACK, port);
    made->config.shards = 2;
    made->config.memory_quota = made->config.job_quota = UINT64_C(1) << 40;
    made->config.receive_room = 64U << 20;
    made->config.plane = recorder_verbs(&made->recorder);
}

static inline struct trib_message leaf_hello_at(uint64_t identity, uint64_t life, uint32_t attempt, uint16_t port)
{
    struct leaf_switch made;
    leaf_switch_init(&made, identity, port);
    return leaf_agent_hello(&made.config, life, attempt);
}

static inline struct trib_message leaf_hello(uint64_t identity, uint64_t life, uint32_t attempt)
{
    return leaf_hello_at(identity, life, attempt, LEAF_PORT);
}

/* HELLO, and what follows. */
static inline int leaf_prove(uint16_t port, const struct trib_message *hello)
{
    struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF};
    int fd = connect_to(port);
    send_message(fd, hello);
    proof.proof.nonce = expect(fd, TRIB_MESSAGE_CHALLENGE).proof.nonce;
    send_message(fd, &proof);
    return fd;
}

static inline void leaf_switch_begin(struct leaf_switch *made, int fd, uint16_t parent)
{
    made->fd = fd;
    made->config.parent = trib_address_v4(INADDR_LOOPBACK, parent);
    leaf_agent_init(&made->agent, &made->config, made, leaf_switch_say);
}

/* True: the message was for the agent. */
static inline bool leaf_switch_hear(struct leaf_switch *made, const struct trib_message *message)
{
    bool is_asked = message->kind == TRIB_MESSAGE_ROOT_OPEN || message->kind == TRIB_MESSAGE_ROOT_CHILD ||
                    message->kind == TRIB_MESSAGE_ROOT_JOIN || message->kind == TRIB_MESSAGE_ROOT_MARK ||
                    message->kind == TRIB_MESSAGE_ROOT_PROBE || message->kind == TRIB_MESSAGE_ROOT_MISSING ||
                    message->kind == TRIB_MESSAGE_ROOT_SHUT;
    if (is_asked) {
        leaf_agent_hear(&made->agent, message);
    }
    trib_masters_on_timeout(&made->agent.masters, trib_clock_ns());
    return is_asked;
}

/* Of connections that tests read themselves, by descriptor. */
static struct leaf_switch *leaf_switches[LEAF_FDS];

static inline void leaf_forget(int fd)
{
    if (leaf_switches[fd]) {
        leaf_agent_deinit(&leaf_switches[fd]->agent);
        free(leaf_switches[fd]);
        leaf_switches[fd] = NULL;
    }
}

/* Of all tests so far. */
static inline void leaf_forget_all(void)
{
    for (int fd = 0; fd < LEAF_FDS; fd++) {
        leaf_forget(fd);
    }
}

/* An agent at this connection, which has proved itself. */
static inline void leaf_attend(int fd, uint16_t parent, uint64_t identity, uint16_t port)
{
    assert_true(fd < LEAF_FDS);
    leaf_forget(fd);
    leaf_switches[fd] = malloc(sizeof *leaf_switches[fd]);
    assert_non_null(leaf_switches[fd]);
    leaf_switch_init(leaf_switches[fd], identity, port);
    leaf_switch_begin(leaf_switches[fd], fd, parent);
}

static inline int leaf_connect_as(uint16_t port, const struct trib_message *hello)
{
    int fd = leaf_prove(port, hello);
    leaf_attend(fd, port, hello->hello.identity, trib_address_port(&hello->hello.at[0]));
    return fd;
}

/* A connection that has proved itself. */
static inline int leaf_connect(uint16_t port, uint64_t identity, uint64_t life, uint32_t attempt)
{
    const struct trib_message hello = leaf_hello(identity, life, attempt);
    return leaf_connect_as(port, &hello);
}

/* The next message that is not for the agent there. A PING is answered. */
static inline struct trib_message leaf_answer(int fd)
{
    struct trib_message message = answer_message(fd);
    while (leaf_switches[fd] && leaf_switch_hear(leaf_switches[fd], &message)) {
        message = answer_message(fd);
    }
    return message;
}

/* The next one but PING. */
static inline struct trib_message leaf_next(int fd)
{
    struct trib_message message = leaf_answer(fd);
    while (message.kind == TRIB_MESSAGE_PING) {
        message = leaf_answer(fd);
    }
    return message;
}

static inline struct trib_message leaf_channel(uint32_t number, const char *peer)
{
    struct trib_message channel = {.kind = TRIB_MESSAGE_CHANNEL, .channel = {.number = number}};
    assert_int_equal(trib_address_parse(peer, 0, &channel.channel.peer, NULL), TRIB_OK);
    return channel;
}

static inline struct trib_message leaf_bytes(uint32_t number, const void *bytes, size_t count)
{
    struct trib_message carrier = {.kind = TRIB_MESSAGE_BYTES, .bytes = {.number = number, .count = (uint16_t)count}};
    memcpy(carrier.bytes.bytes, bytes, count);
    return carrier;
}

/* A message in one BYTES. */
static inline struct trib_message leaf_carry(uint32_t number, const struct trib_message *message)
{
    uint8_t bytes[TRIB_MESSAGE_MAX];
    return leaf_bytes(number, bytes, trib_message_encode(message, bytes));
}

static inline struct trib_message leaf_end(uint32_t number, bool is_lost)
{
    return (struct trib_message){.kind = TRIB_MESSAGE_END, .end = {number, is_lost}};
}

static inline void leaf_say(struct leaf *leaf, const struct trib_message *message)
{
    uint8_t bytes[TRIB_MESSAGE_MAX];
    (void)send(leaf->fd, bytes, trib_message_encode(message, bytes), MSG_NOSIGNAL);
}

/* From a rank. */
static inline void leaf_pass_up(struct leaf *leaf, uint32_t i)
{
    uint8_t bytes[TRIB_CHANNEL_BYTES];
    ssize_t got = recv(leaf->mine[i], bytes, sizeof bytes, 0);
    if (got > 0) {
        const struct trib_message carrier = leaf_bytes(i + 1, bytes, (size_t)got);
        leaf_say(leaf, &carrier);
    } else {
        const struct trib_message end = leaf_end(i + 1, true);
        leaf_say(leaf, &end);
        close(leaf->mine[i]);
        leaf->mine[i] = -1;
    }
}

/* From the control plane. False: it has ended the connection. */
static inline bool leaf_pass_down(struct leaf *leaf)
{
    struct trib_message message = answer_message(leaf->fd);
    uint32_t i = (message.kind == TRIB_MESSAGE_BYTES ? message.bytes.number : message.end.number) - 1;
    if (leaf_switch_hear(&leaf->made, &message)) {
        return true;
    }
    if (message.kind == TRIB_MESSAGE_BYTES && leaf->mine[i] >= 0) {
        (void)send(leaf->mine[i], message.bytes.bytes, message.bytes.count, MSG_NOSIGNAL);
    } else if (message.kind == TRIB_MESSAGE_END && leaf->mine[i] >= 0) {
        (void)shutdown(leaf->mine[i], SHUT_WR);
    }
    return message.kind != TRIB_MESSAGE_NONE;
}

static inline int leaf_patience_ms(const struct leaf *leaf)
{
    uint64_t next_ns = trib_masters_next_timeout(&leaf->made.agent.masters);
    return next_ns == TRIB_NEVER ? -1 : 2;
}

static inline void *leaf_main(void *argument)
{
    struct leaf *leaf = argument;
    bool stands = true;
    while (stands) {
        struct pollfd fds[LEAF_CHANNELS + 2] = {{.fd = leaf->fd, .events = POLLIN},
                                                {.fd = leaf->wake[0], .events = POLLIN}};
        pthread_mutex_lock(&leaf->lock);
        uint32_t count = leaf->count;
        for (uint32_t i = 0; i < count; i++) {
            fds[i + 2] = (struct pollfd){.fd = leaf->mine[i], .events = POLLIN};
        }
        int patience_ms = leaf_patience_ms(leaf);
        pthread_mutex_unlock(&leaf->lock);
        (void)poll(fds, count + 2, patience_ms);
        pthread_mutex_lock(&leaf->lock);
        trib_masters_on_timeout(&leaf->made.agent.masters, trib_clock_ns());
        char byte = 0;
        bool is_woken = fds[1].revents != 0 && recv(leaf->wake[0], &byte, 1, 0) == 1;
        for (uint32_t i = 0; i < count; i++) {
            if (fds[i + 2].revents != 0) {
                leaf_pass_up(leaf, i);
            }
        }
        stands = !(is_woken && byte == 'q') && (fds[0].revents == 0 || leaf_pass_down(leaf));
        pthread_mutex_unlock(&leaf->lock);
    }
    return NULL;
}

/* Defaults that a test may change before leaf_begin. */
static inline void leaf_init(struct leaf *leaf, uint64_t identity, uint16_t port)
{
    memset(leaf, 0, sizeof *leaf);
    leaf_switch_init(&leaf->made, identity, port);
}

static inline void leaf_begin(struct leaf *leaf, uint16_t parent)
{
    const struct trib_message hello = leaf_agent_hello(&leaf->made.config, leaf->made.config.identity + 1, 1);
    leaf->fd = leaf_prove(parent, &hello);
    leaf_switch_begin(&leaf->made, leaf->fd, parent);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, leaf->wake), 0);
    pthread_mutex_init(&leaf->lock, NULL);
    assert_int_equal(pthread_create(&leaf->thread, NULL, leaf_main, leaf), 0);
}

static inline void leaf_start(struct leaf *leaf, uint16_t parent, uint64_t identity)
{
    leaf_init(leaf, identity, LEAF_PORT);
    leaf_begin(leaf, parent);
}

/* It dies: nothing is said. */
static inline void leaf_stop(struct leaf *leaf)
{
    (void)send(leaf->wake[1], "q", 1, MSG_NOSIGNAL);
    assert_int_equal(pthread_join(leaf->thread, NULL), 0);
    for (uint32_t i = 0; i < leaf->count; i++) {
        if (leaf->mine[i] >= 0) {
            close(leaf->mine[i]);
        }
    }
    leaf_agent_deinit(&leaf->made.agent);
    close(leaf->fd);
    close(leaf->wake[0]);
    close(leaf->wake[1]);
    pthread_mutex_destroy(&leaf->lock);
}

/* A rank's JOIN comes over it, from there; returns the rank's socket. */
static inline int leaf_join(struct leaf *leaf, const struct trib_message *join, const char *peer)
{
    int pair[2];
    struct timeval longest = {.tv_sec = 4 * (time_t)patience()};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest), 0);
    pthread_mutex_lock(&leaf->lock);
    assert_true(leaf->count < LEAF_CHANNELS);
    const struct trib_message channel = leaf_channel(leaf->count + 1, peer);
    leaf->mine[leaf->count++] = pair[0];
    leaf_say(leaf, &channel);
    pthread_mutex_unlock(&leaf->lock);
    send_message(pair[1], join);
    (void)send(leaf->wake[1], "w", 1, MSG_NOSIGNAL);
    return pair[1];
}

#endif
