/* SPDX-License-Identifier: Apache-2.0 */
/* test_port.c: a port over a carrier that is no socket: which trains a port makes of packets, and packets of trains, and
 * how often it calls its carrier for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/node.h"
#include "net/carrier.h"
#include "net/port.h"

#define PAYLOAD 1024
#define SEGMENT (TRIB_HEADER_SIZE + PAYLOAD)
#define SENT_MAX 128

/* A carrier that keeps a note of each train, and delivers the bytes that a test has put into it. */
struct noted {
    const struct trib_address *to;
    uint32_t packets;
    size_t bytes;
    bool is_flagged;
    uint64_t first, last; /* sequences */
};

struct double_carrier {
    struct trib_carrier carrier;
    struct noted sent[SENT_MAX];
    uint32_t sends, receives, uses;
    uint32_t backlog;
    uint64_t asked; /* destinations of which the backlog was asked */
    struct trib_address from;
    uint8_t bytes[4 * SEGMENT];
    size_t len; /* of the train to deliver; 0: none */
    bool is_marked;
};

static struct double_carrier the_double;
static uint32_t closes;
static bool cannot_be_used;
static bool is_refused;

static enum trib_status open_double(const struct trib_port_config *config, struct trib_carrier **carrier, char *error)
{
    (void)error;
    if (is_refused) {
        return TRIB_ERR_SYSTEM;
    }
    memset(&the_double, 0, sizeof the_double);
    the_double.carrier = (struct trib_carrier){.operations = config->carrier, .local = config->local, .fd = -1};
    *carrier = &the_double.carrier;
    return TRIB_OK;
}

static void close_double(struct trib_carrier *carrier)
{
    assert_ptr_equal(carrier, &the_double.carrier);
    closes++;
}

static struct trib_packet read_header(const uint8_t *header)
{
    uint8_t bytes[TRIB_HEADER_SIZE + PAYLOAD] = {0}; /* as long as the header says; payloads are zeros */
    struct trib_packet packet;
    memcpy(bytes, header, TRIB_HEADER_SIZE);
    if (trib_packet_decode(bytes, sizeof bytes, &packet) != TRIB_DROP_NONE) {
        assert_int_equal(trib_packet_decode(bytes, TRIB_HEADER_SIZE, &packet), TRIB_DROP_NONE);
    }
    return packet;
}

static void send_double(struct trib_carrier *carrier, struct trib_train *train, const struct trib_address *to)
{
    assert_ptr_equal(carrier->operations->send, send_double);
    assert_true(the_double.sends < SENT_MAX);
    struct noted *sent = &the_double.sent[the_double.sends++];
    uint32_t last = train->pieces - (train->bytes == train->packets * (size_t)SEGMENT ? 2 : 1); /* a header alone */
    struct trib_packet packet = read_header(train->piece[0].iov_base);
    *sent = (struct noted){to, train->packets, train->bytes, (packet.flags & TRIB_FLAG_ECN) != 0, packet.sequence, 0};
    sent->last = read_header(train->piece[last].iov_base).sequence;
    carrier->stats->packets_sent += train->packets;
}

static bool receive_double(struct trib_carrier *carrier, uint64_t now_ns, struct trib_delivery *delivery)
{
    (void)now_ns;
    the_double.receives++;
    if (the_double.len == 0) {
        return false;
    }
    *delivery = (struct trib_delivery){
        the_double.bytes, the_double.len, SEGMENT, &the_double.from, the_double.is_marked, carrier,
    };
    the_double.len = 0;
    return true;
}

static uint32_t backlog_double(const struct trib_carrier *carrier, const struct trib_address *to, uint64_t bits)
{
    (void)carrier;
    (void)to;
    the_double.asked = bits;
    return the_double.backlog;
}

static bool connect_double(struct trib_carrier *carrier, const struct trib_address *peer)
{
    carrier->local = *peer;
    return true;
}

static enum trib_status use_double(struct trib_carrier *carrier, const struct trib_port_config *config, char *error)
{
    (void)carrier;
    (void)error;
    assert_int_equal(config->payload, PAYLOAD);
    the_double.uses++;
    return cannot_be_used ? TRIB_ERR_SYSTEM : TRIB_OK;
}

static void limits_double(const struct trib_carrier *carrier, struct trib_port_limits *limits)
{
    (void)carrier;
    *limits = (struct trib_port_limits){.receive_room = 12345, .has_trains = true};
}

static const struct trib_carrier_operations operations = {
    .name = "double",
    .open = open_double,
    .close = close_double,
    .send = send_double,
    .receive = receive_double,
    .backlog = backlog_double,
    .connect = connect_double,
    .use = use_double,
    .limits = limits_double,
};

static struct trib_port_config config_of(bool is_spare)
{
    return (struct trib_port_config){.carrier = &operations,
                                     .local = trib_address_v4(0x0a000001, 7),
                                     .payload = PAYLOAD,
                                     .trains = true,
                                     .is_spare = is_spare};
}

static struct trib_port *open_port(void)
{
    struct trib_port_config config = config_of(false);
    struct trib_port *port = NULL;
    assert_int_equal(trib_port_open(&config, &port, NULL), TRIB_OK);
    return port;
}

static struct trib_packet packet_number(uint64_t number, uint16_t len)
{
    static const uint8_t payload[PAYLOAD];
    return (struct trib_packet){.sequence = number,
                                .mark = number,
                                .kind = len > 0 ? TRIB_CONTRIBUTION : TRIB_PROBE,
                                .type = len > 0 ? (uint8_t)TRIB_FLOAT32 : 0,
                                .reduction = len > 0 ? (uint8_t)TRIB_SUM : 0,
                                .payload_len = len,
                                .payload = len > 0 ? payload : NULL};
}

static void send_packets(struct trib_port *port, const struct trib_address *to, uint32_t to_count, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct trib_packet packet = packet_number(i, PAYLOAD);
        trib_port_send(port, &packet, to, trib_all_children(to_count));
    }
    trib_port_flush(port);
}

/* Of 64 packets at most, and of 65,507 bytes: 62 of these. */
static void send__the_carrier_is_called_once_for_a_train_and_destination(void **state)
{
    (void)state;
    struct trib_port *port = open_port();
    const struct trib_address to[2] = {trib_address_v4(0x0a000002, 8), trib_address_v4(0x0a000003, 9)};
    const uint32_t most = TRIB_TRAIN_BYTES_MAX / SEGMENT;
    send_packets(port, to, 2, most + 5);
    assert_int_equal(the_double.sends, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_ptr_equal(the_double.sent[i].to, &to[i % 2]);
        assert_int_equal(the_double.sent[i].packets, i < 2 ? most : 5);
        assert_int_equal(the_double.sent[i].bytes, the_double.sent[i].packets * SEGMENT);
    }
    assert_int_equal(trib_port_stats(port)->packets_sent, 2 * (most + 5));
    assert_true(trib_port_is_flushed(port));
    trib_port_close(port);
}

static void send_one(struct trib_port *port, uint64_t number, const struct trib_address *to, uint64_t bits)
{
    struct trib_packet packet = packet_number(number, PAYLOAD);
    trib_port_send(port, &packet, to, bits);
}

/* Results of three owners' blocks, each for all but its owner: a destination gets one train of what it wants, in order,
 * though no two blocks go to the same set. */
static void send__what_goes_to_one_destination_is_one_train(void **state)
{
    (void)state;
    struct trib_port *port = open_port();
    const struct trib_address to[3] = {trib_address_v4(0x0a000002, 8), trib_address_v4(0x0a000003, 9),
                                       trib_address_v4(0x0a000004, 9)};
    for (uint64_t number = 0; number < 12; number++) {
        send_one(port, number, to, 7 & ~(UINT64_C(1) << (number / 4)));
    }
    trib_port_flush(port);
    assert_int_equal(the_double.sends, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct noted *sent = &the_double.sent[i];
        uint32_t at = (i + 1) % 3; /* by the first packet of each, so that ranks do not all begin with one root */
        assert_ptr_equal(sent->to, &to[at]);
        assert_int_equal(sent->packets, 8);
        assert_int_equal(sent->first, at == 0 ? 4 : 0);
        assert_int_equal(sent->last, at == 2 ? 7 : 11);
    }
    trib_port_close(port);
}

/* A header ends the train of its destination alone. */
static void send__a_short_packet_ends_the_train_of_its_destination(void **state)
{
    (void)state;
    struct trib_port *port = open_port();
    const struct trib_address to[2] = {trib_address_v4(0x0a000002, 8), trib_address_v4(0x0a000003, 9)};
    struct trib_packet header = packet_number(1, 0);
    send_one(port, 0, to, 3);
    trib_port_send(port, &header, to, 2);
    send_one(port, 2, to, 3);
    trib_port_flush(port);
    assert_int_equal(the_double.sends, 3);
    assert_ptr_equal(the_double.sent[0].to, &to[1]);
    assert_int_equal(the_double.sent[0].packets, 2);
    assert_int_equal(the_double.sent[0].last, 1);
    assert_ptr_equal(the_double.sent[1].to, &to[0]);
    assert_int_equal(the_double.sent[1].packets, 2);
    assert_int_equal(the_double.sent[2].first, 2);
    trib_port_close(port);
}

/* More packets than a port keeps, for so many destinations that no train is full before; and more arrays than it has sets
 * for. Each destination gets all of its packets, in order. */
static void send__a_full_port_sends_all(void **state)
{
    (void)state;
    struct trib_port *port = open_port();
    static struct trib_address to[64];
    static struct trib_address one[33];
    uint64_t next[64] = {0};
    for (uint64_t number = 0; number < 64 * 5; number++) {
        send_one(port, number, to, UINT64_C(1) << number % 64);
    }
    trib_port_flush(port);
    assert_int_equal(the_double.sends, 128);
    for (uint32_t i = 0; i < the_double.sends; i++) {
        const struct noted *sent = &the_double.sent[i];
        uint64_t *of = &next[sent->to - to];
        assert_int_equal(sent->first, *of * 64 + (uint64_t)(sent->to - to));
        *of += sent->packets;
    }
    for (uint32_t i = 0; i < 64; i++) {
        assert_int_equal(next[i], 5);
    }
    the_double.sends = 0;
    for (uint64_t number = 0; number < 33; number++) {
        send_one(port, number, &one[number], 1);
    }
    assert_int_equal(the_double.sends, 32);
    trib_port_flush(port);
    assert_int_equal(the_double.sends, 33);
    trib_port_close(port);
}

/* Results for all go by the group, and those of a block to its owner alone: in order for each, as two sockets are read. */
static void send__a_group_is_in_order_with_its_members(void **state)
{
    (void)state;
    struct trib_port *port = open_port();
    const struct trib_address to[2] = {trib_address_v4(0x0a000002, 8), trib_address_v4(0x0a000003, 9)};
    const struct trib_address group = trib_address_v4(0xef000001, 10);
    uint64_t next = 0;
    for (uint64_t number = 0; number < 12; number += 4) {
        send_one(port, number, to, 1);
        send_one(port, number + 1, to, 1);
        for (uint64_t i = 2; i < 4; i++) {
            struct trib_packet packet = packet_number(number + i, PAYLOAD);
            trib_port_send_to_group(port, &packet, to, 3, &group, NULL);
        }
    }
    trib_port_flush(port);
    assert_int_equal(the_double.sends, 6); /* one packet for both */
    for (uint32_t i = 0; i < 6; i++) {
        const struct noted *sent = &the_double.sent[i];
        assert_ptr_equal(sent->to, i % 2 == 0 ? &to[0] : &group);
        assert_int_equal(sent->first, next);
        assert_int_equal(sent->last, next + 1);
        next += 2;
    }
    trib_port_close(port);
}

static void send__trains_are_flagged_by_the_backlog_of_the_carrier(void **state)
{
    (void)state;
    struct trib_port *port = open_port();
    const struct trib_address to[2] = {trib_address_v4(0x0a000002, 8), trib_address_v4(0x0a000003, 9)};
    the_double.backlog = 3000;
    send_packets(port, to, 1, 1);
    trib_port_set_backlog(port, 2000);
    send_packets(port, to, 1, 1);
    send_packets(port, to, 2, 1); /* 1,500 for each */
    assert_int_equal(the_double.asked, 3);
    send_one(port, 9, to, 2);
    assert_int_equal(the_double.asked, 2);
    trib_port_flush(port);
    assert_false(the_double.sent[0].is_flagged);
    assert_true(the_double.sent[1].is_flagged);
    assert_false(the_double.sent[2].is_flagged);
    assert_int_equal(trib_port_stats(port)->flagged_sent, 2);
    trib_port_close(port);
}

/* Blocks of destination 0, which gets headers: its queue is not that of the others, and their packets look at a third of
 * it. */
static void send__a_header_for_one_flags_no_results_for_many(void **state)
{
    (void)state;
    struct trib_port *port = open_port();
    const struct trib_address to[4] = {trib_address_v4(0x0a000002, 8), trib_address_v4(0x0a000003, 9),
                                       trib_address_v4(0x0a000004, 9), trib_address_v4(0x0a000005, 9)};
    the_double.backlog = 3000;
    trib_port_set_backlog(port, 2000);
    for (uint64_t number = 0; number < 10; number++) {
        struct trib_packet header = packet_number(number, 0);
        send_one(port, number, to, 14);
        trib_port_send(port, &header, to, 1);
    }
    trib_port_flush(port);
    assert_int_equal(trib_port_stats(port)->packets_sent, 40);
    assert_int_equal(trib_port_stats(port)->flagged_sent, 10);
    trib_port_close(port);
}

/* Puts a train of `count` packets into the carrier; the last one is a header. */
static void put_train(uint32_t count)
{
    the_double.len = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct trib_packet packet = packet_number(i, i + 1 < count ? PAYLOAD : 0);
        uint8_t *at = the_double.bytes + the_double.len;
        trib_packet_encode(&packet, at);
        memset(at + TRIB_HEADER_SIZE, 0, packet.payload_len);
        the_double.len += TRIB_HEADER_SIZE + (size_t)packet.payload_len;
    }
}

static void receive__a_train_is_cut_into_its_packets(void **state)
{
    (void)state;
    struct trib_port *port = open_port();
    struct trib_arrival arrival;
    struct trib_packet packet;
    the_double.from = trib_address_v4(0x0a000004, 10);
    the_double.is_marked = true;
    put_train(4);
    assert_true(trib_port_receive(port, 1));
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(trib_port_next(port, &arrival));
        assert_int_equal(arrival.len, i < 3 ? SEGMENT : TRIB_HEADER_SIZE);
        assert_true(trib_address_equal(arrival.from, &the_double.from));
        assert_int_equal(trib_port_decode(&arrival, &packet), TRIB_DROP_NONE);
        assert_int_equal(packet.sequence, i);
        assert_true((packet.flags & TRIB_FLAG_ECN) != 0);
    }
    assert_false(trib_port_next(port, &arrival));
    assert_int_equal(the_double.receives, 1);
    assert_false(trib_port_receive(port, 2));
    assert_false(trib_port_next(port, &arrival));
    assert_int_equal(trib_port_deadline(port), UINT64_MAX);
    trib_port_close(port);
}

static void open__addresses_and_limits_are_the_carriers(void **state)
{
    (void)state;
    struct trib_port *port = open_port();
    struct trib_address local;
    const struct trib_address peer = trib_address_v4(0x0a000005, 11);
    trib_port_local(port, &local);
    assert_int_equal(trib_address_port(&local), 7);
    assert_true(trib_port_connect(port, &peer));
    trib_port_local(port, &local);
    assert_true(trib_address_equal(&local, &peer));
    assert_int_equal(trib_port_fd(port), -1);
    assert_int_equal(trib_port_receive_room(port), 12345);
    assert_true(trib_port_has_trains(port));
    trib_port_close(port);
}

static void open__a_spare_port_uses_nothing_until_it_is_told_to(void **state)
{
    (void)state;
    struct trib_port_config config = config_of(true);
    struct trib_port *port = NULL;
    assert_int_equal(trib_port_open(&config, &port, NULL), TRIB_OK);
    assert_int_equal(the_double.uses, 0);
    assert_true(trib_port_is_spare(port));
    trib_port_set_backlog(port, 1);
    trib_port_set_backlog(port, 0); /* clears the marks of trains, of which there are none */
    assert_int_equal(trib_port_use(port, NULL), TRIB_OK);
    assert_int_equal(the_double.uses, 1);
    assert_false(trib_port_is_spare(port));
    assert_int_equal(trib_port_use(port, NULL), TRIB_OK); /* nothing to do */
    assert_int_equal(the_double.uses, 1);
    trib_port_close(port);
}

static void use__a_spare_port_that_cannot_be_used_stays_spare(void **state)
{
    (void)state;
    struct trib_port_config config = config_of(true);
    struct trib_port *port = NULL;
    assert_int_equal(trib_port_open(&config, &port, NULL), TRIB_OK);
    cannot_be_used = true;
    assert_int_equal(trib_port_use(port, NULL), TRIB_ERR_SYSTEM);
    assert_true(trib_port_is_spare(port));
    cannot_be_used = false;
    assert_int_equal(trib_port_use(port, NULL), TRIB_OK);
    trib_port_close(port);
    config.is_spare = false;
    closes = 0;
    cannot_be_used = true;
    assert_int_equal(trib_port_open(&config, &port, NULL), TRIB_ERR_SYSTEM);
    assert_int_equal(closes, 1);
    cannot_be_used = false;
}

static void open__a_carrier_that_cannot_be_opened_is_not_closed(void **state)
{
    (void)state;
    struct trib_port_config config = config_of(false);
    struct trib_port *port = NULL;
    closes = 0;
    is_refused = true;
    assert_int_equal(trib_port_open(&config, &port, NULL), TRIB_ERR_SYSTEM);
    is_refused = false;
    assert_null(port);
    assert_int_equal(closes, 0);
    trib_port_close(open_port());
    assert_int_equal(closes, 1);
}

/* After the neighbours have parted, what has come is still read, twice each: it must not lie in their memory any more. */
static void part__faults_keep_no_train_of_a_neighbour(void **state)
{
    (void)state;
    struct trib_port_config config = config_of(false);
    struct trib_address at_a, at_b;
    struct trib_port *a = NULL;
    struct trib_port *b = NULL;
    struct trib_arrival arrival;
    struct trib_packet packet;
    config.carrier = NULL;
    config.local = trib_address_v4(0x7f000001, 0);
    assert_int_equal(trib_port_open(&config, &a, NULL), TRIB_OK);
    config.faults = (struct trib_faults){.duplicate = 1, .seed = 3};
    assert_int_equal(trib_port_open(&config, &b, NULL), TRIB_OK);
    trib_port_local(a, &at_a);
    trib_port_local(b, &at_b);
    assert_true(trib_port_join(a, &at_a, b, &at_b));
    send_packets(a, &at_b, 1, 3);
    assert_true(trib_port_receive(b, 1));
    assert_true(trib_port_next(b, &arrival));
    trib_port_part(a);
    while (trib_port_next(b, &arrival)) {
        assert_int_equal(trib_port_decode(&arrival, &packet), TRIB_DROP_NONE);
    }
    assert_false(trib_port_receive(b, 1));
    assert_int_equal(trib_port_deadline(b), UINT64_MAX);
    trib_port_close(a);
    trib_port_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(send__the_carrier_is_called_once_for_a_train_and_destination),
        cmocka_unit_test(send__what_goes_to_one_destination_is_one_train),
        cmocka_unit_test(send__a_short_packet_ends_the_train_of_its_destination),
        cmocka_unit_test(send__a_full_port_sends_all),
        cmocka_unit_test(send__a_group_is_in_order_with_its_members),
        cmocka_unit_test(send__trains_are_flagged_by_the_backlog_of_the_carrier),
        cmocka_unit_test(send__a_header_for_one_flags_no_results_for_many),
        cmocka_unit_test(receive__a_train_is_cut_into_its_packets),
        cmocka_unit_test(part__faults_keep_no_train_of_a_neighbour),
        cmocka_unit_test(open__addresses_and_limits_are_the_carriers),
        cmocka_unit_test(open__a_spare_port_uses_nothing_until_it_is_told_to),
        cmocka_unit_test(use__a_spare_port_that_cannot_be_used_stays_spare),
        cmocka_unit_test(open__a_carrier_that_cannot_be_opened_is_not_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
