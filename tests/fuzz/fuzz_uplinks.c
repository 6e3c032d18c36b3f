/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_uplinks.c: the real control plane of a switch with a parent, on loopback. The parent is this process, and says
 * anything on the connection, and what comes here to be passed on says anything as well: whole frames and broken ones,
 * bytes of channels that are there or not, requests to the agent. It must answer or close, and never hang, and afterwards
 * connect anew for the next one that comes. What the agent does with requests: fuzz_leaf.c. Script: a byte is what to do,
 * and with which of eight numbers; what follows it stands at each case. */
#include "fuzz/served.h"

#include "control/words/words.h"

#define EVENTS_MAX 64
#define COMERS 3

static const uint8_t *bytes;
static size_t left;
static int listener = -1;
static int trunk = -1;
static int comer[COMERS] = {-1, -1, -1};

static uint32_t next_byte(void)
{
    left -= left > 0;
    return left > 0 ? *bytes++ : 0;
}

static void send_to(int fd, const struct trib_message *message)
{
    uint8_t frame[TRIB_MESSAGE_MAX];
    (void)send(fd, frame, trib_message_encode(message, frame), MSG_NOSIGNAL);
}

/* So many bytes of the script. */
static void send_raw(int fd)
{
    size_t len = next_byte();
    len = len < left ? len : left;
    (void)send(fd, bytes, len, MSG_NOSIGNAL);
    bytes += len;
    left -= len;
}

static struct trib_message hear(int fd)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_NONE};
    uint8_t frame[TRIB_MESSAGE_MAX];
    size_t used = 0;
    if (recv(fd, frame, 4, MSG_WAITALL) != 4) {
        return message;
    }
    size_t len = ((size_t)frame[2] << 8) | frame[3];
    must(len <= sizeof frame - 4 && recv(fd, frame + 4, len, MSG_WAITALL) == (ssize_t)len, "uplinks: half a message");
    must(trib_message_decode(frame, len + 4, &message, &used) == TRIB_OK, "uplinks: says what is no message");
    return message;
}

static void listen_once(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    socklen_t len = sizeof at;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(bind(listener, (struct sockaddr *)(void *)&at, len) == 0 && listen(listener, 64) == 0, "uplinks: no port");
    must(getsockname(listener, (struct sockaddr *)(void *)&at, &len) == 0, "uplinks: no port");
    (void)setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    parent = trib_address_v4(INADDR_LOOPBACK, ntohs(at.sin_port));
}

static void join(uint32_t index)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_JOIN};
    message.join.magic = TRIB_SESSION_MAGIC;
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = TRIB_WIRE_VERSION;
    strcpy(message.join.job, "digits");
    message.join.data_port[0] = 7471;
    strcpy(message.join.settings.scheme, "switchml");
    message.join.settings.ranks = 1;
    message.join.settings.payload = 1408;
    message.join.settings.wire = TRIB_WIRE_FLOAT32;
    if (comer[index] < 0) {
        comer[index] = open_connection(trib_server_port(server));
    }
    send_to(comer[index], &message);
}

/* Waits for its next connection. One that comes may be turned away meanwhile, and comes again. */
static void accept_trunk(void)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct pollfd waits = {.fd = listener, .events = POLLIN};
    for (uint32_t tries = 0; tries < 200 && poll(&waits, 1, 100) == 0; tries++) {
        read_to_end(comer[0]);
        (void)close(comer[0]);
        comer[0] = -1;
        join(0);
    }
    trunk = accept(listener, NULL, NULL);
    must(trunk >= 0, "uplinks: does not connect");
    (void)setsockopt(trunk, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

/* Hears HELLO, and if it must prove itself says CHALLENGE and hears the rest up to PROOF. False: the connection has
 * ended before. */
static bool is_taken(bool must_prove)
{
    const struct trib_message challenge = {.kind = TRIB_MESSAGE_CHALLENGE, .proof = {4711}};
    struct trib_message message = hear(trunk);
    must(message.kind == TRIB_MESSAGE_HELLO || message.kind == TRIB_MESSAGE_NONE, "uplinks: does not say HELLO");
    if (must_prove) {
        send_to(trunk, &challenge);
    }
    while (must_prove && message.kind != TRIB_MESSAGE_NONE && message.kind != TRIB_MESSAGE_PROOF) {
        message = hear(trunk);
    }
    return message.kind != TRIB_MESSAGE_NONE;
}

/* Somebody comes, and so it connects. A connection of before may be there still, which it has given up if this process
 * was slow: then there is another one. */
static void take_trunk(uint32_t how)
{
    accept_trunk();
    for (uint32_t tries = 0; !is_taken(how < 250); tries++) {
        must(tries < 20, "uplinks: does not prove itself");
        (void)close(trunk);
        accept_trunk();
    }
}

/* Waits until it has been sent away. It may have come when the connection had ended: then another one is made for it,
 * and must end here, or it waits for an answer to that. */
static void send_away(int fd)
{
    struct pollfd waits[2] = {{.fd = fd, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    char rest[4096];
    (void)shutdown(fd, SHUT_WR);
    for (ssize_t got = 1; got > 0;) {
        must(poll(waits, 2, PATIENCE_S * 1000) > 0, "uplinks: neither answers nor closes");
        if (waits[1].revents != 0) {
            (void)close(accept(listener, NULL, NULL));
        }
        got = waits[0].revents != 0 ? recv(fd, rest, sizeof rest, 0) : 1;
    }
    (void)close(fd);
}

static void ask(uint32_t how)
{
    static const uint8_t kinds[16] = {
        TRIB_MESSAGE_ROOT_OPEN, TRIB_MESSAGE_ROOT_CHILD, TRIB_MESSAGE_ROOT_JOIN,    TRIB_MESSAGE_ROOT_MARK,
        TRIB_MESSAGE_ROOT_SHUT, TRIB_MESSAGE_ROOT_PROBE, TRIB_MESSAGE_ROOT_MISSING, TRIB_MESSAGE_PING,
        TRIB_MESSAGE_PONG,      TRIB_MESSAGE_FAIL,       TRIB_MESSAGE_AWAY,         TRIB_MESSAGE_CHALLENGE,
        TRIB_MESSAGE_BYE,       TRIB_MESSAGE_READY,      TRIB_MESSAGE_ROOT_OPEN,    TRIB_MESSAGE_ROOT_CHILD};
    struct trib_message message = {.kind = (enum trib_message_kind)kinds[how & 15], .of = {1 + (how >> 4 & 1), 9}};
    if (message.kind == TRIB_MESSAGE_ROOT_OPEN) {
        message.root_open.ranks = 2;
        message.root_open.behind = 1 + (how >> 5 & 1);
        message.root_open.parent = trib_address_v4(0, 7470);
        message.root_open.session = (struct trib_session_config){.communicator = message.of.communicator,
                                                                 .ranks = 2,
                                                                 .roots = 1,
                                                                 .train = 4,
                                                                 .slots = 32,
                                                                 .payload = 1408,
                                                                 .generation = 1,
                                                                 .wire = TRIB_FLOAT32};
        strcpy(message.root_open.scheme, "switchml");
    } else if (message.kind == TRIB_MESSAGE_ROOT_CHILD) {
        message.root_child.rank = message.root_child.branch = how >> 6 & 1;
        message.root_child.from = trib_address_v4(0x0a000001 + (how >> 6), 20000);
    } else if (message.kind == TRIB_MESSAGE_ROOT_JOIN) {
        message.root_join.rank = how >> 6 & 1;
    }
    send_to(trunk, &message);
}

static void take_event(void)
{
    uint32_t what = next_byte();
    uint32_t index = (what >> 3) % COMERS;
    struct trib_message message = {.kind = TRIB_MESSAGE_BYTES, .bytes = {.number = 1 + (what >> 3 & 7)}};
    switch (what & 7) {
    case 0:                                  /* a length, and so many bytes, for a channel that may be there */
        message.bytes.number += next_byte(); /* numbers ascend from input to input */
        message.bytes.count = (uint16_t)(left < 40 ? left : 40);
        memcpy(message.bytes.bytes, bytes, message.bytes.count);
        send_to(trunk, &message);
        return;
    case 1:
        message = (struct trib_message){.kind = TRIB_MESSAGE_END, .end = {1 + next_byte(), (what & 8) != 0}};
        send_to(trunk, &message);
        return;
    case 2:
        send_raw(trunk);
        return;
    case 3:
        join(index);
        return;
    case 4: /* a length, and so many bytes */
        if (comer[index] >= 0) {
            send_raw(comer[index]);
        }
        return;
    case 5:
        if (comer[index] >= 0) {
            (void)close(comer[index]);
            comer[index] = -1;
        }
        return;
    default: /* a byte: what */
        ask(next_byte());
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (server == NULL) {
        listen_once();
        start();
    }
    bytes = data;
    left = size;
    join(0);
    take_trunk(next_byte());
    for (uint32_t i = 0; left > 0 && i < EVENTS_MAX; i++) {
        take_event();
    }
    (void)shutdown(trunk, SHUT_WR);
    read_to_end(trunk);
    (void)close(trunk);
    for (uint32_t i = 0; i < COMERS; i++) {
        if (comer[i] >= 0) {
            send_away(comer[i]);
            comer[i] = -1;
        }
    }
    return 0;
}
