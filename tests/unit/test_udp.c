/* SPDX-License-Identifier: Apache-2.0 */
/* test_udp.c: trains over real sockets on loopback. Addresses have their own tests in test_address.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/clock.h"
#include "net/port.h"
#include "net/resolve.h"
#include "patience.h"

#define PAYLOAD_MAX 8192
#define PACKETS_MAX 600

static uint8_t payload[PACKETS_MAX * 2 + PAYLOAD_MAX]; /* packet n's payload starts at 2 n */

static struct trib_address address_of(const char *text)
{
    struct trib_address address;
    if (!trib_address_read(text, &address)) { /* which takes groups, too, but no name */
        assert_int_equal(trib_address_parse(text, 0, &address, NULL), TRIB_OK);
    }
    return address;
}

static struct trib_port_config config_at(const char *local)
{
    struct trib_port_config config;
    memset(&config, 0, sizeof config);
    config.local = address_of(local);
    config.payload = PAYLOAD_MAX;
    config.buffer = 4 << 20;
    config.trains = true;
    return config;
}

static struct trib_port *open_at(const struct trib_port_config *config)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_port *udp = NULL;
    if (trib_port_open(config, &udp, error) != TRIB_OK) {
        fail_msg("%s", error);
    }
    return udp;
}

static struct trib_address local_of(const struct trib_port *udp)
{
    struct trib_address local;
    trib_port_local(udp, &local);
    return local;
}

static struct trib_packet packet_number(uint64_t number, uint16_t len)
{
    const struct trib_packet packet = {
        .sequence = number,
        .mark = number,
        .communicator = 77,
        .kind = len > 0 ? TRIB_CONTRIBUTION : TRIB_PROBE,
        .type = len > 0 ? (uint8_t)TRIB_FLOAT32 : 0,
        .reduction = len > 0 ? (uint8_t)TRIB_SUM : 0,
        .payload_len = len,
        .payload = len > 0 ? payload + 2 * number : NULL,
    };
    return packet;
}

/* Waits until something can be read; false after 200 ms, or more (patience.h). */
static bool wait_for(const struct trib_port *udp)
{
    struct pollfd readable = {.fd = trib_port_fd(udp), .events = POLLIN};
    return poll(&readable, 1, 200 * (int)patience()) == 1;
}

/* Reads all that comes, up to count packets, into numbers[], and checks every byte. Returns how many came. */
static uint32_t drain(struct trib_port *udp, uint32_t count, const uint16_t *len_of, uint32_t *numbers)
{
    struct trib_arrival arrival;
    struct trib_packet packet;
    uint32_t got = 0;
    while (got < count && wait_for(udp)) {
        while (trib_port_receive(udp, trib_clock_ns())) {
            while (trib_port_next(udp, &arrival)) {
                assert_int_equal(trib_packet_decode(arrival.data, arrival.len, &packet), TRIB_DROP_NONE);
                assert_in_range(packet.sequence, 0, PACKETS_MAX - 1);
                assert_int_equal(packet.payload_len, len_of[packet.sequence]);
                if (packet.payload_len > 0) {
                    assert_memory_equal(packet.payload, payload + 2 * packet.sequence, packet.payload_len);
                }
                assert_in_range(got, 0, PACKETS_MAX - 1);
                numbers[got++] = (uint32_t)packet.sequence;
            }
        }
    }
    return got;
}

static uint16_t len_of[PACKETS_MAX];
static uint32_t numbers[PACKETS_MAX];

/* Sends packets of len_of[0..count) as given and expects all of them, in order. Returns the sender's calls. */
static uint64_t check_exchange(struct trib_port *sender, struct trib_port *receiver, const struct trib_address *to,
                               uint32_t count)
{
    uint64_t calls = trib_port_stats(sender)->send_calls;
    uint64_t bytes = trib_port_stats(sender)->bytes_sent;
    uint64_t expected = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct trib_packet packet = packet_number(i, len_of[i]);
        trib_port_send(sender, &packet, to, 1);
        expected += TRIB_HEADER_SIZE + (uint64_t)len_of[i];
    }
    trib_port_flush(sender);
    assert_int_equal(drain(receiver, count, len_of, numbers), count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(numbers[i], i);
    }
    assert_int_equal(trib_port_stats(sender)->bytes_sent - bytes, expected);
    assert_int_equal(trib_port_stats(sender)->send_dropped, 0);
    return trib_port_stats(sender)->send_calls - calls;
}

struct pair {
    struct trib_port *sender, *receiver;
    struct trib_address to;
};

static struct pair open_pair(const char *local, bool trains)
{
    struct trib_port_config config = config_at(local);
    config.trains = trains;
    struct pair pair = {open_at(&config), open_at(&config), {.len = 0}};
    pair.to = local_of(pair.receiver);
    assert_int_not_equal(trib_address_port(&pair.to), 0);
    return pair;
}

static void close_pair(struct pair *pair)
{
    trib_port_close(pair->sender);
    trib_port_close(pair->receiver);
}

static void set_lens(uint16_t len)
{
    for (uint32_t i = 0; i < PACKETS_MAX; i++) {
        len_of[i] = len;
    }
}

static void send__equal_packets_make_one_train(void **state)
{
    (void)state;
    struct pair pair = open_pair("127.0.0.1:0", true);
    assert_true(trib_port_has_trains(pair.sender));
    set_lens(1408 - 64);
    assert_int_equal(check_exchange(pair.sender, pair.receiver, &pair.to, 46), 1);
    /* 65,507 bytes are 46 packets of 1408: one more makes two calls. */
    assert_int_equal(check_exchange(pair.sender, pair.receiver, &pair.to, 47), 2);
    set_lens(64);
    assert_int_equal(check_exchange(pair.sender, pair.receiver, &pair.to, 64), 1);
    assert_int_equal(check_exchange(pair.sender, pair.receiver, &pair.to, 65), 2);
    set_lens(0);
    assert_int_equal(check_exchange(pair.sender, pair.receiver, &pair.to, 64), 1);
    assert_true(trib_port_stats(pair.receiver)->receive_calls < 64);
    close_pair(&pair);
}

static void send__a_shorter_packet_ends_the_train(void **state)
{
    (void)state;
    struct pair pair = open_pair("127.0.0.1:0", true);
    set_lens(1024);
    len_of[9] = 64;
    assert_int_equal(check_exchange(pair.sender, pair.receiver, &pair.to, 10), 1);
    assert_int_equal(check_exchange(pair.sender, pair.receiver, &pair.to, 11), 2);
    len_of[9] = 0;
    assert_int_equal(check_exchange(pair.sender, pair.receiver, &pair.to, 20), 2);
    close_pair(&pair);
}

static void mix_lens(uint32_t seed)
{
    for (uint32_t i = 0; i < PACKETS_MAX; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t choice = (seed >> 24) % 8;
        len_of[i] = (uint16_t)(choice < 4 ? 1408 : choice < 6 ? (seed >> 8) % 129 * 64 : 0);
    }
}

static void send__mixed_sizes_arrive_whole_and_in_order(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 8; seed++) {
        struct pair pair = open_pair("127.0.0.1:0", seed % 2 == 0);
        assert_int_equal(trib_port_has_trains(pair.sender), seed % 2 == 0);
        mix_lens(seed);
        uint64_t calls = check_exchange(pair.sender, pair.receiver, &pair.to, 300);
        if (seed % 2 == 0) {
            assert_in_range(calls, 10, 299);
        } else {
            assert_int_equal(calls, 300);
        }
        close_pair(&pair);
    }
}

/* Every pairing of old and new: trains into a plain socket are cut up by the kernel, single packets reach a train
 * socket. */
static void send__trains_and_plain_sockets_understand_each_other(void **state)
{
    (void)state;
    struct pair trains = open_pair("127.0.0.1:0", true);
    struct pair plain = open_pair("127.0.0.1:0", false);
    set_lens(1408);
    assert_int_equal(check_exchange(trains.sender, plain.receiver, &plain.to, 40), 1);
    assert_int_equal(check_exchange(plain.sender, trains.receiver, &trains.to, 40), 40);
    close_pair(&trains);
    close_pair(&plain);
}

static void send__ipv6(void **state)
{
    (void)state;
    int probe = socket(AF_INET6, SOCK_DGRAM, 0);
    struct trib_address six = address_of("[::1]:0");
    bool have = probe >= 0 && bind(probe, (const struct sockaddr *)&six.storage, six.len) == 0;
    if (probe >= 0) {
        (void)close(probe);
    }
    if (!have) {
        skip();
    }
    struct pair pair = open_pair("[::1]:0", true);
    set_lens(1344);
    assert_int_equal(check_exchange(pair.sender, pair.receiver, &pair.to, 40), 1);
    close_pair(&pair);
}

static void send__one_train_to_many_destinations(void **state)
{
    (void)state;
    struct trib_port_config config = config_at("127.0.0.1:0");
    struct trib_port *sender = open_at(&config);
    struct trib_port *receiver[3];
    struct trib_address to[3];
    for (int i = 0; i < 3; i++) {
        receiver[i] = open_at(&config);
        to[i] = local_of(receiver[i]);
    }
    set_lens(512);
    for (uint32_t i = 0; i < 30; i++) {
        struct trib_packet packet = packet_number(i, len_of[i]);
        trib_port_send(sender, &packet, to, 7);
    }
    trib_port_flush(sender);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(drain(receiver[i], 30, len_of, numbers), 30);
        trib_port_close(receiver[i]);
    }
    assert_int_equal(trib_port_stats(sender)->send_calls, 3);
    assert_int_equal(trib_port_stats(sender)->packets_sent, 90);
    trib_port_close(sender);
}

static void send__another_destination_starts_another_train(void **state)
{
    (void)state;
    struct pair pair = open_pair("127.0.0.1:0", true);
    const struct trib_address to[2] = {pair.to, pair.to};
    set_lens(512);
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_packet packet = packet_number(i, len_of[i]);
        trib_port_send(pair.sender, &packet, &to[i / 2], 1);
    }
    trib_port_flush(pair.sender);
    assert_int_equal(drain(pair.receiver, 4, len_of, numbers), 4);
    assert_int_equal(trib_port_stats(pair.sender)->send_calls, 2);
    trib_port_flush(pair.sender);
    assert_int_equal(trib_port_stats(pair.sender)->send_calls, 2);
    close_pair(&pair);
}

/* Destinations that take turns get their trains all the same; a seventeenth makes one of them leave early. */
static void send__destinations_take_turns(void **state)
{
    (void)state;
    struct pair pair = open_pair("127.0.0.1:0", true);
    struct trib_address to[17];
    for (uint32_t i = 0; i < 17; i++) {
        to[i] = pair.to;
    }
    set_lens(512);
    for (uint32_t turns = 16; turns <= 17; turns++) {
        uint64_t calls = trib_port_stats(pair.sender)->send_calls;
        for (uint32_t i = 0; i < 60; i++) {
            struct trib_packet packet = packet_number(i, len_of[i]);
            trib_port_send(pair.sender, &packet, &to[i % turns], 1);
        }
        trib_port_flush(pair.sender);
        calls = trib_port_stats(pair.sender)->send_calls - calls;
        assert_in_range(calls, turns, turns == 16 ? 16 : 60);
        assert_int_equal(drain(pair.receiver, 60, len_of, numbers), 60);
        for (uint32_t i = 1; i < 4 && turns == 16; i++) {
            assert_int_equal(numbers[i], numbers[i - 1] + 16);
        }
    }
    close_pair(&pair);
}

/* What the kernel will not take is dropped and counted; trains go on. */
static void send__refused_packets_are_counted(void **state)
{
    (void)state;
    struct pair pair = open_pair("127.0.0.1:0", true);
    struct trib_address nowhere = pair.to;
    trib_address_set_port(&nowhere, 0);
    set_lens(512);
    for (uint32_t i = 0; i < 5; i++) {
        struct trib_packet packet = packet_number(i, len_of[i]);
        trib_port_send(pair.sender, &packet, &nowhere, 1);
    }
    trib_port_flush(pair.sender);
    assert_int_equal(trib_port_stats(pair.sender)->send_dropped, 5);
    assert_int_equal(trib_port_stats(pair.sender)->packets_sent, 0);
    assert_true(trib_port_has_trains(pair.sender));
    close_pair(&pair);
}

static void receive__connected_takes_packets_of_its_peer_only(void **state)
{
    (void)state;
    struct pair pair = open_pair("127.0.0.1:0", true);
    struct trib_port_config config = config_at("127.0.0.1:0");
    config.peer = pair.to;
    struct trib_port *connected = open_at(&config);
    struct trib_address to = local_of(connected);
    set_lens(512);
    assert_true(check_exchange(connected, pair.receiver, NULL, 30) == 1);
    assert_true(check_exchange(pair.receiver, connected, &to, 30) == 1);
    struct trib_packet packet = packet_number(1, 512);
    trib_port_send(pair.sender, &packet, &to, 1); /* a stranger */
    trib_port_flush(pair.sender);
    assert_int_equal(drain(connected, 1, len_of, numbers), 0);
    close_pair(&pair);
    trib_port_close(connected);
}

/* An ICMP "port unreachable" is no error: the peer may come back, and what it sends then arrives. */
static void receive__port_unreachable_is_swallowed(void **state)
{
    (void)state;
    struct pair pair = open_pair("127.0.0.1:0", true);
    struct trib_port_config config = config_at("127.0.0.1:0");
    config.peer = pair.to;
    struct trib_port *connected = open_at(&config);
    struct trib_address to = local_of(connected);
    trib_port_close(pair.receiver);
    set_lens(512);
    for (uint32_t i = 0; i < 4; i++) {
        struct trib_packet packet = packet_number(i, 512);
        trib_port_send(connected, &packet, NULL, 1);
        trib_port_flush(connected);
    }
    assert_false(trib_port_receive(connected, 0));
    config = config_at("127.0.0.1:0");
    config.local = pair.to;
    pair.receiver = open_at(&config);
    assert_int_equal(check_exchange(connected, pair.receiver, NULL, 10), 1);
    assert_int_equal(check_exchange(pair.receiver, connected, &to, 10), 1);
    close_pair(&pair);
    trib_port_close(connected);
}

static void receive__says_who_sent(void **state)
{
    (void)state;
    struct pair pair = open_pair("127.0.0.1:0", true);
    struct trib_address from = local_of(pair.sender);
    struct trib_packet packet = packet_number(3, 0);
    struct trib_arrival arrival;
    char text[64];
    trib_port_send(pair.sender, &packet, &pair.to, 1);
    trib_port_flush(pair.sender);
    assert_true(wait_for(pair.receiver));
    assert_true(trib_port_receive(pair.receiver, 0));
    assert_true(trib_port_next(pair.receiver, &arrival));
    trib_address_format(arrival.from, text);
    assert_true(trib_address_equal(arrival.from, &from));
    assert_int_equal(arrival.from->len, from.len);
    assert_false(trib_port_next(pair.receiver, &arrival));
    assert_false(trib_port_receive(pair.receiver, 0));
    close_pair(&pair);
}

static void receive__empty_datagrams_are_passed_over(void **state)
{
    (void)state;
    struct pair pair = open_pair("127.0.0.1:0", true);
    set_lens(64);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            sendto(trib_port_fd(pair.sender), "", 0, 0, (const struct sockaddr *)&pair.to.storage, pair.to.len), 0);
    }
    assert_int_equal(check_exchange(pair.sender, pair.receiver, &pair.to, 10), 1);
    close_pair(&pair);
}

/* More than the buffer holds: the surplus is lost, the rest is whole, and afterwards all is as before. */
static void receive__overflow_is_survived(void **state)
{
    (void)state;
    struct trib_port_config config = config_at("127.0.0.1:0");
    struct trib_port *sender = open_at(&config);
    config.buffer = 128 << 10;
    struct trib_port *receiver = open_at(&config);
    struct trib_address to = local_of(receiver);
    set_lens(1408);
    for (uint32_t i = 0; i < PACKETS_MAX; i++) {
        struct trib_packet packet = packet_number(i, len_of[i]);
        trib_port_send(sender, &packet, &to, 1);
    }
    trib_port_flush(sender);
    uint32_t got = drain(receiver, PACKETS_MAX, len_of, numbers);
    assert_in_range(got, 1, PACKETS_MAX - 1);
    for (uint32_t i = 1; i < got; i++) {
        assert_true(numbers[i] > numbers[i - 1]);
    }
    assert_int_equal(check_exchange(sender, receiver, &to, 40), 1);
    trib_port_close(sender);
    trib_port_close(receiver);
}

/* receive_room is a promise: that much payload fits while nobody reads, as trains and as single packets. */
static void receive_room__fits(void **state)
{
    (void)state;
    for (int trains = 0; trains < 2; trains++) {
        struct pair pair = open_pair("127.0.0.1:0", trains == 1);
        trib_port_close(pair.receiver);
        struct trib_port_config config = config_at("127.0.0.1:0");
        config.buffer = 1 << 20;
        pair.receiver = open_at(&config);
        pair.to = local_of(pair.receiver);
        uint32_t room = trib_port_receive_room(pair.receiver);
        assert_in_range(room, 1 << 18, 2 << 20);
        set_lens(1408);
        assert_in_range(room / 1408, 1, PACKETS_MAX - 1);
        (void)check_exchange(pair.sender, pair.receiver, &pair.to, room / 1408);
        close_pair(&pair);
    }
}

static void receive__injector_loses_holds_and_repeats(void **state)
{
    (void)state;
    struct trib_port_config config = config_at("127.0.0.1:0");
    struct trib_port *sender = open_at(&config);
    config.faults = (struct trib_faults){.loss = 0.2, .duplicate = 0.2, .reorder = 0.3, .seed = 4};
    struct trib_port *receiver = open_at(&config);
    struct trib_address to = local_of(receiver);
    struct trib_address from = local_of(sender);
    set_lens(256);
    for (uint32_t i = 0; i < 200; i++) {
        struct trib_packet packet = packet_number(i, len_of[i]);
        trib_port_send(sender, &packet, &to, 1);
    }
    trib_port_flush(sender);
    struct trib_arrival arrival;
    struct trib_packet packet;
    uint32_t got = 0;
    uint64_t now_ns = 1000; /* an invented clock: only the injector uses it */
    while (trib_port_stats(receiver)->packets_received < 200 || trib_port_deadline(receiver) != UINT64_MAX) {
        while (trib_port_receive(receiver, now_ns)) {
            while (trib_port_next(receiver, &arrival)) {
                assert_int_equal(trib_packet_decode(arrival.data, arrival.len, &packet), TRIB_DROP_NONE);
                assert_true(trib_address_equal(arrival.from, &from));
                got++;
            }
        }
        assert_true(trib_port_deadline(receiver) > now_ns);
        now_ns += 100000;
        assert_true(now_ns < UINT64_C(1000000000));
    }
    const struct trib_port_stats *stats = trib_port_stats(receiver);
    assert_int_equal(got, 200 - stats->injected_loss + stats->injected_duplicate);
    assert_in_range(stats->injected_loss, 10, 80);
    assert_in_range(stats->injected_duplicate, 10, 80);
    assert_in_range(stats->injected_reorder, 20, 100);
    trib_port_close(sender);
    trib_port_close(receiver);
}

static void receive__corrupted_packets_do_not_decode(void **state)
{
    (void)state;
    struct trib_port_config config = config_at("127.0.0.1:0");
    struct trib_port *sender = open_at(&config);
    config.faults = (struct trib_faults){.corrupt = 1, .seed = 4};
    struct trib_port *receiver = open_at(&config);
    struct trib_address to = local_of(receiver);
    struct trib_arrival arrival;
    struct trib_packet packet;
    uint32_t got = 0;
    for (uint32_t i = 0; i < 40; i++) {
        packet = packet_number(i, 1408);
        trib_port_send(sender, &packet, &to, 1);
    }
    trib_port_flush(sender);
    assert_true(wait_for(receiver));
    while (trib_port_receive(receiver, 0)) {
        while (trib_port_next(receiver, &arrival)) {
            assert_int_not_equal(trib_packet_decode(arrival.data, arrival.len, &packet), TRIB_DROP_NONE);
            got++;
        }
    }
    assert_int_equal(got, 40);
    assert_int_equal(trib_port_stats(receiver)->injected_corrupt, 40);
    trib_port_close(sender);
    trib_port_close(receiver);
}

#define GROUP "239.255.74.70:17474"

static void group__every_member_gets_the_train(void **state)
{
    (void)state;
    struct trib_port_config config = config_at("127.0.0.1:0");
    struct trib_port *sender = open_at(&config);
    struct trib_port *stranger = open_at(&config);
    struct trib_address group = address_of(GROUP);
    struct trib_port *member[3];
    config.group = group;
    config.group_source = local_of(sender);
    for (int i = 0; i < 3; i++) {
        member[i] = open_at(&config);
    }
    set_lens(1408);
    struct trib_packet packet = packet_number(0, 1408);
    trib_port_send(stranger, &packet, &group, 1); /* to be passed over by all */
    trib_port_flush(stranger);
    for (uint32_t i = 0; i < 40; i++) {
        packet = packet_number(i, 1408);
        trib_port_send(sender, &packet, &group, 1);
    }
    trib_port_flush(sender);
    assert_int_equal(trib_port_stats(sender)->send_calls, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(drain(member[i], 40, len_of, numbers), 40);
        assert_int_equal(trib_port_stats(member[i])->packets_received, 40);
        trib_port_close(member[i]);
    }
    trib_port_close(sender);
    trib_port_close(stranger);
}

static void group__other_groups_are_not_heard(void **state)
{
    (void)state;
    struct trib_port_config config = config_at("127.0.0.1:0");
    struct trib_port *sender = open_at(&config);
    struct trib_address other = address_of("239.255.74.71:17474");
    config.group = address_of(GROUP);
    config.group_source = local_of(sender);
    struct trib_port *member = open_at(&config);
    struct trib_packet packet = packet_number(0, 64);
    trib_port_send(sender, &packet, &other, 1);
    trib_port_flush(sender);
    assert_int_equal(drain(member, 1, len_of, numbers), 0);
    trib_port_close(sender);
    trib_port_close(member);
}

static void open__errors_name_the_address_and_the_cause(void **state)
{
    (void)state;
    struct pair pair = open_pair("127.0.0.1:0", true);
    char error[TRIB_ERROR_TEXT_MAX];
    char text[64];
    struct trib_port *udp = NULL;
    struct trib_port_config config = config_at("127.0.0.1:0");
    config.local = pair.to;
    trib_address_format(&pair.to, text);
    assert_int_equal(trib_port_open(&config, &udp, error), TRIB_ERR_SYSTEM);
    assert_null(udp);
    assert_non_null(strstr(error, text));
    assert_non_null(strstr(error, "in use"));
    config = config_at("192.0.2.1:0"); /* TEST-NET-1 is nobody's address */
    assert_int_equal(trib_port_open(&config, &udp, error), TRIB_ERR_SYSTEM);
    assert_non_null(strstr(error, "192.0.2.1"));
    assert_int_equal(trib_port_open(&config, &udp, NULL), TRIB_ERR_SYSTEM);
    trib_port_close(NULL);
    close_pair(&pair);
}

/* ---- neighbours ---- */

/* Two sockets on loopback that hand over to each other, and a third that does not. */
struct street {
    struct trib_port *a, *b, *stranger;
    struct trib_address at_a, at_b, at_stranger;
};

static struct street open_street(const struct trib_faults *faults)
{
    struct trib_port_config config = config_at("127.0.0.1:0");
    struct street street;
    street.a = open_at(&config);
    street.stranger = open_at(&config);
    config.faults = *faults;
    street.b = open_at(&config);
    street.at_a = local_of(street.a);
    street.at_b = local_of(street.b);
    street.at_stranger = local_of(street.stranger);
    assert_true(trib_port_join(street.a, &street.at_a, street.b, &street.at_b));
    return street;
}

static void close_street(struct street *street)
{
    trib_port_close(street->a);
    trib_port_close(street->b);
    trib_port_close(street->stranger);
}

static void send_numbers(struct trib_port *udp, const struct trib_address *to, uint32_t to_count, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct trib_packet packet = packet_number(i, len_of[i]);
        trib_port_send(udp, &packet, to, (UINT64_C(1) << to_count) - 1);
    }
    trib_port_flush(udp);
}

/* As drain, but without waiting for the descriptor. */
static uint32_t take_handed(struct trib_port *udp, const struct trib_address *from)
{
    struct trib_arrival arrival;
    struct trib_packet packet;
    uint32_t got = 0;
    while (trib_port_deadline(udp) == 0 && trib_port_receive(udp, trib_clock_ns())) {
        while (trib_port_next(udp, &arrival)) {
            assert_int_equal(trib_packet_decode(arrival.data, arrival.len, &packet), TRIB_DROP_NONE);
            assert_true(trib_address_equal(arrival.from, from));
            assert_int_equal(packet.payload_len, len_of[packet.sequence]);
            assert_memory_equal(packet.payload, payload + 2 * packet.sequence, packet.payload_len);
            numbers[got++] = (uint32_t)packet.sequence;
        }
    }
    return got;
}

static const struct trib_faults no_faults;

static void join__neighbours_need_no_kernel(void **state)
{
    (void)state;
    struct street street = open_street(&no_faults);
    for (uint32_t i = 0; i < 20; i++) {
        len_of[i] = i % 7 == 6 ? 40 : 1408; /* a short one ends a train */
    }
    send_numbers(street.a, &street.at_b, 1, 20);
    assert_int_equal(trib_port_deadline(street.a), UINT64_MAX);
    assert_int_equal(take_handed(street.b, &street.at_a), 20);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(numbers[i], i);
    }
    send_numbers(street.b, &street.at_a, 1, 10); /* the other way */
    assert_int_equal(take_handed(street.a, &street.at_b), 10);
    const struct trib_port_stats *stats = trib_port_stats(street.a);
    assert_int_equal(stats->packets_handed, 20);
    assert_int_equal(stats->bytes_handed, 20 * TRIB_HEADER_SIZE + 18 * 1408 + 2 * 40);
    assert_int_equal(stats->packets_sent + stats->packets_received + stats->send_calls, 0);
    assert_int_equal(trib_port_deadline(street.b), UINT64_MAX);
    close_street(&street);
}

static void join__others_are_sent_to_by_the_kernel(void **state)
{
    (void)state;
    struct street street = open_street(&no_faults);
    const struct trib_address all[] = {street.at_stranger, street.at_b, street.at_stranger};
    len_of[0] = len_of[1] = 256;
    send_numbers(street.a, all, 3, 2);
    assert_int_equal(take_handed(street.b, &street.at_a), 2);
    assert_int_equal(drain(street.stranger, 4, len_of, numbers), 4);
    assert_int_equal(trib_port_stats(street.a)->packets_sent, 4);
    assert_int_equal(check_exchange(street.stranger, street.b, &street.at_b, 2), 1); /* who is no neighbour is heard */
    close_street(&street);
}

/* More trains than a pipe holds: the kernel takes the rest, and nothing is lost. */
static void join__a_full_pipe_overflows_into_the_kernel(void **state)
{
    (void)state;
    struct street street = open_street(&no_faults);
    bool seen[30] = {false};
    for (uint32_t i = 0; i < 30; i++) {
        len_of[i] = 1024;
        struct trib_packet packet = packet_number(i, len_of[i]);
        trib_port_send(street.a, &packet, &street.at_b, 1);
        trib_port_flush(street.a);
    }
    uint64_t handed = trib_port_stats(street.a)->packets_handed;
    assert_in_range(handed, 1, 29);
    assert_int_equal(trib_port_stats(street.a)->packets_sent, 30 - handed);
    assert_int_equal(drain(street.b, 30, len_of, numbers), 30);
    for (uint32_t i = 0; i < 30; i++) {
        seen[numbers[i]] = true;
    }
    for (uint32_t i = 0; i < 30; i++) {
        assert_true(seen[i]);
    }
    close_street(&street);
}

static void join__neighbours_part(void **state)
{
    (void)state;
    struct street street = open_street(&no_faults);
    struct trib_arrival arrival;
    len_of[0] = len_of[1] = len_of[2] = 512;
    send_numbers(street.a, &street.at_b, 1, 3);
    assert_true(trib_port_receive(street.b, trib_clock_ns()));
    assert_true(trib_port_next(street.b, &arrival));
    trib_port_part(street.a); /* in the middle of a train */
    assert_false(trib_port_next(street.b, &arrival));
    assert_int_equal(trib_port_deadline(street.b), UINT64_MAX);
    assert_int_equal(check_exchange(street.a, street.b, &street.at_b, 3), 1); /* by the kernel */
    assert_true(trib_port_join(street.b, &street.at_b, street.a, &street.at_a));
    send_numbers(street.a, &street.at_b, 1, 3);
    trib_port_close(street.a); /* so does one that closes */
    assert_false(trib_port_receive(street.b, trib_clock_ns()));
    street.a = NULL;
    close_street(&street);
}

/* What is handed over is lost and repeated on purpose as anything else. */
static void join__faults_are_injected(void **state)
{
    (void)state;
    const struct trib_faults faults = {.loss = 0.2, .duplicate = 0.2, .seed = 11};
    struct street street = open_street(&faults);
    for (uint32_t i = 0; i < 200; i++) {
        len_of[i] = 128;
    }
    uint32_t got = 0;
    for (uint32_t round = 0; round < 5; round++) {
        send_numbers(street.a, &street.at_b, 1, 200);
        got += take_handed(street.b, &street.at_a);
    }
    const struct trib_port_stats *stats = trib_port_stats(street.b);
    assert_in_range(stats->injected_loss, 120, 280);
    assert_int_equal(got, 1000 - stats->injected_loss + stats->injected_duplicate);
    close_street(&street);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(send__equal_packets_make_one_train),
        cmocka_unit_test(send__a_shorter_packet_ends_the_train),
        cmocka_unit_test(send__mixed_sizes_arrive_whole_and_in_order),
        cmocka_unit_test(send__trains_and_plain_sockets_understand_each_other),
        cmocka_unit_test(send__ipv6),
        cmocka_unit_test(send__one_train_to_many_destinations),
        cmocka_unit_test(send__another_destination_starts_another_train),
        cmocka_unit_test(send__destinations_take_turns),
        cmocka_unit_test(send__refused_packets_are_counted),
        cmocka_unit_test(receive__connected_takes_packets_of_its_peer_only),
        cmocka_unit_test(receive__port_unreachable_is_swallowed),
        cmocka_unit_test(receive__says_who_sent),
        cmocka_unit_test(receive__empty_datagrams_are_passed_over),
        cmocka_unit_test(receive__overflow_is_survived),
        cmocka_unit_test(receive_room__fits),
        cmocka_unit_test(receive__injector_loses_holds_and_repeats),
        cmocka_unit_test(receive__corrupted_packets_do_not_decode),
        cmocka_unit_test(group__every_member_gets_the_train),
        cmocka_unit_test(group__other_groups_are_not_heard),
        cmocka_unit_test(join__neighbours_need_no_kernel),
        cmocka_unit_test(join__others_are_sent_to_by_the_kernel),
        cmocka_unit_test(join__a_full_pipe_overflows_into_the_kernel),
        cmocka_unit_test(join__neighbours_part),
        cmocka_unit_test(join__faults_are_injected),
        cmocka_unit_test(open__errors_name_the_address_and_the_cause),
    };
    for (size_t i = 0; i < sizeof payload; i++) {
        payload[i] = (uint8_t)(i * 37 + (i >> 8) * 11);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
