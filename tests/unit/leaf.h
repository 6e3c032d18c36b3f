/* SPDX-License-Identifier: Apache-2.0 */
/* leaf.h: a switch below a control plane, as that sees it: one connection, HELLO, and a channel for each rank. A thread
 * passes on what is written to the socket of a rank and what comes for it; closing that socket ends the channel as a
 * switch does that has lost the way. Tests that look at the frames themselves use leaf_connect alone. */
#ifndef TRIB_TESTS_LEAF_H
#define TRIB_TESTS_LEAF_H

#include <poll.h>

#include "control_harness.h"

#define LEAF_CHANNELS 32

struct leaf {
    uint64_t identity;
    int fd;
    int wake[2];
    pthread_t thread;
    pthread_mutex_t lock; /* of what is below, and of what is written to fd */
    uint32_t count;
    int mine[LEAF_CHANNELS]; /* of channel i + 1; -1: it has ended */
};

static inline struct trib_message leaf_hello(uint64_t identity, uint64_t life, uint32_t attempt)
{
    return (struct trib_message){.kind = TRIB_MESSAGE_HELLO,
                                 .hello = {.magic = TRIB_SESSION_MAGIC,
                                           .version = TRIB_SESSION_VERSION,
                                           .wire_version = TRIB_WIRE_VERSION,
                                           .identity = identity,
                                           .life = life,
                                           .attempt = attempt}};
}

/* A connection that has proved itself. */
static inline int leaf_connect(uint16_t port, uint64_t identity, uint64_t life, uint32_t attempt)
{
    const struct trib_message hello = leaf_hello(identity, life, attempt);
    struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF};
    int fd = connect_to(port);
    send_message(fd, &hello);
    proof.proof.nonce = expect(fd, TRIB_MESSAGE_CHALLENGE).proof.nonce;
    send_message(fd, &proof);
    return fd;
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
    if (message.kind == TRIB_MESSAGE_BYTES && leaf->mine[i] >= 0) {
        (void)send(leaf->mine[i], message.bytes.bytes, message.bytes.count, MSG_NOSIGNAL);
    } else if (message.kind == TRIB_MESSAGE_END && leaf->mine[i] >= 0) {
        (void)shutdown(leaf->mine[i], SHUT_WR);
    }
    return message.kind != TRIB_MESSAGE_NONE;
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
        pthread_mutex_unlock(&leaf->lock);
        (void)poll(fds, count + 2, -1);
        pthread_mutex_lock(&leaf->lock);
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

static inline void leaf_start(struct leaf *leaf, uint16_t port, uint64_t identity)
{
    memset(leaf, 0, sizeof *leaf);
    leaf->identity = identity;
    leaf->fd = leaf_connect(port, identity, identity + 1, 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, leaf->wake), 0);
    pthread_mutex_init(&leaf->lock, NULL);
    assert_int_equal(pthread_create(&leaf->thread, NULL, leaf_main, leaf), 0);
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
    close(leaf->fd);
    close(leaf->wake[0]);
    close(leaf->wake[1]);
    pthread_mutex_destroy(&leaf->lock);
}

/* A rank's JOIN comes over it; returns the rank's socket. */
static inline int leaf_join(struct leaf *leaf, const struct trib_message *join)
{
    int pair[2];
    struct timeval longest = {.tv_sec = 4 * (time_t)patience()};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest), 0);
    pthread_mutex_lock(&leaf->lock);
    assert_true(leaf->count < LEAF_CHANNELS);
    struct trib_message channel = leaf_channel(leaf->count + 1, join->join.origin);
    for (uint8_t i = 1; i < join->join.hops; i++) {
        channel.channel.path.identity[channel.channel.path.count++] = i;
    }
    leaf->mine[leaf->count++] = pair[0];
    leaf_say(leaf, &channel);
    pthread_mutex_unlock(&leaf->lock);
    send_message(pair[1], join);
    (void)send(leaf->wake[1], "w", 1, MSG_NOSIGNAL);
    return pair[1];
}

#endif
