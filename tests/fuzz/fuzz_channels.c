/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_channels.c: the real control plane on loopback, and a switch below it whose channels say anything: frames of a
 * connection that has proved itself, whole and broken, numbers in any order, messages of ranks in pieces. It must answer
 * or close, and never hang, and afterwards take another such connection. Script: a byte is what to do, and with which of
 * eight numbers; what follows it stands at each case. */
#include "fuzz/served.h"

#include "control/words/words.h"

#define EVENTS_MAX 96
#define IDENTITY UINT64_C(0xa1a2a3a4a5a6a7a8)

static const uint8_t *bytes;
static size_t left;
static int line = -1;
static uint32_t attempts;

static uint32_t next_byte(void)
{
    left -= left > 0;
    return left > 0 ? *bytes++ : 0;
}

static void say(const struct trib_message *message)
{
    uint8_t frame[TRIB_MESSAGE_MAX];
    (void)send(line, frame, trib_message_encode(message, frame), MSG_NOSIGNAL);
}

static struct trib_message hear(void)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_NONE};
    uint8_t frame[TRIB_MESSAGE_MAX];
    size_t used = 0;
    if (recv(line, frame, 4, MSG_WAITALL) != 4) {
        return message;
    }
    size_t len = ((size_t)frame[2] << 8) | frame[3];
    must(len <= sizeof frame - 4 && recv(line, frame + 4, len, MSG_WAITALL) == (ssize_t)len,
         "channels: half a message");
    must(trib_message_decode(frame, len + 4, &message, &used) == TRIB_OK, "channels: says what is no message");
    return message;
}

static struct trib_message make_hello(uint64_t identity)
{
    struct trib_message hello = {.kind = TRIB_MESSAGE_HELLO,
                                 .hello = {.magic = TRIB_SESSION_MAGIC,
                                           .version = TRIB_SESSION_VERSION,
                                           .wire_version = TRIB_WIRE_VERSION,
                                           .identity = identity,
                                           .life = 1,
                                           .attempt = ++attempts,
                                           .room = 1U << 20,
                                           .weight = 1,
                                           .shards = 2}};
    hello.hello.at[0] = trib_address_v4(0, (uint16_t)(7471 + identity % 16 * 16));
    hello.hello.at[1] = trib_address_v4(0, (uint16_t)(7472 + identity % 16 * 16));
    return hello;
}

/* Of the same process each time: so the one before it is displaced. */
static void connect_up(void)
{
    const struct trib_message hello = make_hello(IDENTITY);
    struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF};
    if (line >= 0) {
        (void)close(line);
    }
    line = open_connection(trib_server_port(server));
    say(&hello);
    const struct trib_message challenge = hear();
    must(challenge.kind == TRIB_MESSAGE_CHALLENGE, "channels: no switch may be below it any more");
    proof.proof = challenge.proof;
    say(&proof);
}

static void carry(uint32_t number, const void *from, size_t len)
{
    struct trib_message carrier = {.kind = TRIB_MESSAGE_BYTES, .bytes = {.number = number, .count = (uint16_t)len}};
    memcpy(carrier.bytes.bytes, from, len);
    say(&carrier);
}

static void carry_message(uint32_t number, const struct trib_message *message)
{
    uint8_t frame[TRIB_MESSAGE_MAX];
    carry(number, frame, trib_message_encode(message, frame));
}

/* Of a job of two ranks, or of one of its own. */
static void join(uint32_t number, uint32_t how)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_JOIN};
    message.join.magic = TRIB_SESSION_MAGIC;
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = TRIB_WIRE_VERSION;
    strcpy(message.join.job, (how & 4) != 0 ? "letters" : "digits");
    message.join.rank = how & 1;
    message.join.data_port[0] = 7471;
    strcpy(message.join.settings.scheme, "switchml");
    message.join.settings.ranks = 1 + (how >> 1 & 1);
    message.join.settings.payload = 1408;
    message.join.settings.wire = TRIB_WIRE_FLOAT32;
    message.join.roots = 2;
    message.join.room = 1U << 20;
    message.join.rank = message.join.rank < message.join.settings.ranks ? message.join.rank : 0;
    carry_message(number, &message);
}

static void speak(uint32_t number, uint32_t what)
{
    static const uint8_t kinds[8] = {TRIB_MESSAGE_PATHS, TRIB_MESSAGE_REGISTER, TRIB_MESSAGE_MARK, TRIB_MESSAGE_CLOSE,
                                     TRIB_MESSAGE_GONE,  TRIB_MESSAGE_PING,     TRIB_MESSAGE_FAIL, TRIB_MESSAGE_ABORT};
    struct trib_message message = {.kind = (enum trib_message_kind)kinds[what & 7]};
    if (message.kind == TRIB_MESSAGE_PATHS) {
        message.paths.unicast = true;
    }
    carry_message(number, &message);
}

static void nest(uint32_t number, uint32_t how)
{
    const struct trib_message hello = make_hello(IDENTITY + 1 + (how & 3));
    const struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF, .proof = {how}};
    struct trib_message channel = {.kind = TRIB_MESSAGE_CHANNEL, .channel = {.number = 1}};
    channel.channel.peer = trib_address_v4(0x0a000002, 20000);
    carry_message(number, &hello);
    if ((how & 4) != 0) {
        carry_message(number, &proof);
    }
    if ((how & 8) != 0) {
        carry_message(number, &channel);
    }
}

static void answer(uint32_t how)
{
    static const uint8_t kinds[8] = {TRIB_MESSAGE_PING,         TRIB_MESSAGE_ROOT_OPENED,  TRIB_MESSAGE_ROOT_READY,
                                     TRIB_MESSAGE_ROOT_MISSING, TRIB_MESSAGE_ROOT_REFUSED, TRIB_MESSAGE_DISPUTE,
                                     TRIB_MESSAGE_BYE,          TRIB_MESSAGE_PONG};
    struct trib_message message = {.kind = (enum trib_message_kind)kinds[how & 7]};
    message.of = (struct trib_opening_id){how >> 3, how >> 5};
    say(&message);
}

static void take_event(void)
{
    uint32_t what = next_byte();
    uint32_t number = 1 + (what >> 3 & 7);
    struct trib_message message = {.kind = TRIB_MESSAGE_CHANNEL, .channel = {.number = number}};
    size_t len = 0;
    switch (what & 7) {
    case 0:
        message.channel.peer = trib_address_v4(0x0a000001, 20000);
        say(&message);
        return;
    case 1: /* a length, and so many bytes */
        len = next_byte();
        len = len < left ? len : left;
        carry(number, bytes, len);
        break;
    case 2: /* a byte: is it lost? */
        message = (struct trib_message){.kind = TRIB_MESSAGE_END, .end = {number, next_byte() % 2 != 0}};
        say(&message);
        return;
    case 3: /* a byte: which; or a switch below this one, which proves itself or not, and has a channel */
        len = next_byte();
        if (len < 192) {
            join(number, (uint32_t)len);
        } else {
            nest(number, (uint32_t)len);
        }
        return;
    case 4: /* a length, and so many bytes, that no channel carries */
        len = next_byte() / 4;
        len = len < left ? len : left;
        (void)send(line, bytes, len, MSG_NOSIGNAL);
        break;
    case 5:
        speak(number, next_byte());
        return;
    case 6:
        connect_up();
        return;
    default: /* a byte: what it says of openings; the communicator is as good as never right (fuzz_jobs.c) */
        answer(next_byte());
        return;
    }
    bytes += len;
    left -= len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (server == NULL) {
        start();
    }
    bytes = data;
    left = size;
    connect_up();
    for (uint32_t i = 0; left > 0 && i < EVENTS_MAX; i++) {
        take_event();
    }
    (void)shutdown(line, SHUT_WR);
    read_to_end(line);
    connect_up();
    (void)close(line);
    line = -1;
    return 0;
}
