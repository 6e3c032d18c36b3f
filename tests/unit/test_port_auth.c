/* SPDX-License-Identifier: Apache-2.0 */
/* test_port_auth.c: authenticated and encrypted packets in trains, beside packets without, of all lengths, in one call
 * and one by one: each comes as it was sent, none in clear, and only with its own key. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "io/clock.h"
#include "keys/auth.h"
#include "keys/derive.h"
#include "net/port.h"
#include "net/resolve.h"
#include "patience.h"

#define PACKETS 3000
#define JOBS 3 /* communicators 0: in clear, 1: authenticated, 2: encrypted as well */

static uint8_t payload[TRIB_PAYLOAD_MAX];
static uint32_t taken;

struct end {
    struct trib_port *port;
    struct trib_address at;
    struct trib_auth *auth[JOBS];
};

static struct trib_auth *open_auth(uint32_t job, uint16_t own, uint16_t peer)
{
    const uint8_t key[TRIB_AUTH_KEY] = {(uint8_t)job, 9};
    struct trib_auth *auth = job > 0 ? trib_auth_create(key, own, 1, job == 2) : NULL;
    assert_true(job == 0 || (auth != NULL && trib_auth_set_peer(auth, 0, peer, key)));
    return auth;
}

static struct end open_end(bool trains, uint16_t own, uint16_t peer)
{
    struct end end;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_port_config config = {.payload = TRIB_PAYLOAD_MAX, .buffer = 8U << 20, .trains = trains};
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.local, error), TRIB_OK);
    assert_int_equal(trib_port_open(&config, &end.port, error), TRIB_OK);
    trib_port_local(end.port, &end.at);
    for (uint32_t job = 0; job < JOBS; job++) {
        end.auth[job] = open_auth(job, own, peer);
    }
    return end;
}

static void close_end(struct end *end)
{
    for (uint32_t job = 0; job < JOBS; job++) {
        trib_auth_destroy(end->auth[job]);
    }
    trib_port_close(end->port);
}

static struct trib_packet packet_number(uint64_t number)
{
    struct trib_prng prng = {number};
    uint64_t die = trib_prng_next(&prng);
    uint16_t lens[] = {0, 4, 64, 1344, 8192, (uint16_t)(die >> 32 & 0x1ffc)};
    uint16_t len = lens[die % 6];
    const struct trib_packet packet = {
        .sequence = number,
        .mark = number,
        .communicator = (uint32_t)(number / 7 % JOBS),
        .kind = len > 0 ? TRIB_CONTRIBUTION : TRIB_PROBE,
        .payload_len = len,
        .payload = len > 0 ? payload : NULL,
    };
    return packet;
}

/* No eight bytes of the payload are on the wire as they are. */
static void check_hidden(const struct trib_arrival *arrival, uint16_t len)
{
    for (uint32_t i = 0; i + 8 <= len; i += 8) {
        assert_memory_not_equal(arrival->data + TRIB_HEADER_SIZE + i, payload + i, 8);
    }
}

static void take(struct end *to, const struct trib_arrival *arrival)
{
    struct trib_packet packet;
    assert_int_equal(trib_port_decode(arrival, &packet), TRIB_DROP_NONE);
    assert_in_range(packet.communicator, 0, JOBS - 1);
    struct trib_packet sent = packet_number(packet.sequence);
    uint32_t job = packet.communicator;
    assert_int_equal(packet.payload_len, sent.payload_len);
    assert_int_equal(packet.authenticated, job > 0);
    if (job == 2) {
        check_hidden(arrival, packet.payload_len);
    }
    struct trib_auth *other = to->auth[(job + 1) % JOBS];
    assert_int_equal(trib_port_authenticate(arrival, &packet, other, 0), TRIB_DROP_AUTH);
    assert_int_equal(trib_port_authenticate(arrival, &packet, to->auth[job], 0), TRIB_DROP_NONE);
    if (packet.payload_len > 0) {
        assert_memory_equal(packet.payload, payload, packet.payload_len);
    }
    if (job > 0) {
        assert_int_equal(trib_port_authenticate(arrival, &packet, to->auth[job], 0), TRIB_DROP_REPLAY);
    }
    taken++;
}

static void take_until(struct end *to, uint64_t count)
{
    struct pollfd readable = {.fd = trib_port_fd(to->port), .events = POLLIN};
    struct trib_arrival arrival;
    while (taken < count && poll(&readable, 1, 1000 * (int)patience()) == 1) {
        while (trib_port_receive(to->port, trib_clock_ns())) {
            while (trib_port_next(to->port, &arrival)) {
                take(to, &arrival);
            }
        }
    }
}

static void check_trains(bool trains)
{
    struct end from = open_end(trains, trib_auth_rank(4), trib_auth_switch(0, 1));
    struct end to = open_end(trains, trib_auth_switch(0, 1), trib_auth_rank(4));
    taken = 0;
    for (uint64_t number = 0; number < PACKETS; number++) {
        struct trib_packet packet = packet_number(number);
        struct trib_auth *auth = from.auth[packet.communicator];
        const struct trib_seal seal = {auth, trib_auth_switch(0, 1)};
        trib_port_send_sealed(from.port, &packet, &to.at, 1, auth != NULL ? &seal : NULL);
        if (number % 100 == 99) {
            trib_port_flush(from.port);
            take_until(&to, number + 1);
        }
    }
    assert_int_equal(taken, PACKETS);
    assert_int_equal(trib_port_stats(from.port)->send_dropped, 0);
    close_end(&from);
    close_end(&to);
}

static void trains__of_all_kinds_of_packets(void **state)
{
    (void)state;
    check_trains(true);
}

static void single_packets__of_all_kinds(void **state)
{
    (void)state;
    check_trains(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trains__of_all_kinds_of_packets),
        cmocka_unit_test(single_packets__of_all_kinds),
    };
    struct trib_prng prng = {3};
    if (trib_keys_explain_lack() != NULL) {
        print_message("%s\n", trib_keys_explain_lack());
        return 77;
    }
    for (size_t i = 0; i < sizeof payload; i++) {
        payload[i] = (uint8_t)trib_prng_next(&prng);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
