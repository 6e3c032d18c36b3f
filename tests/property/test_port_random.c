/* SPDX-License-Identifier: Apache-2.0 */
/* test_port_random.c: random packets to random sets and groups, over a carrier that is no socket, against one queue for
 * each destination: each gets exactly its packets, in order and authentic, in trains that UDP_SEGMENT can cut. A payload
 * is freed after its flush. TRIB_SEEDS=N runs so many seeds, TRIB_SEED=S one. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "keys/auth.h"
#include "keys/derive.h"
#include "net/carrier.h"
#include "net/port.h"

#define SEEDS 300U
#define STEPS 1500U
#define ARRAYS 41U /* more than a port keeps; the last is the connected peer */
#define PLACES 64U
#define WAITING 4096U /* packets between two flushes, at most */
#define JOBS 3        /* in clear, authenticated, encrypted as well */

struct sent {
    struct trib_packet packet;
    uint32_t job;
    uint8_t *payload; /* a copy of the sender's, which is gone after the flush */
};

struct queue {
    uint16_t waiting[WAITING]; /* of run.sent */
    uint32_t first, end;
};

static struct {
    struct trib_carrier carrier;
    struct trib_prng prng;
    struct trib_address to[ARRAYS * PLACES], group[ARRAYS * 2];
    uint64_t hearers[WAITING]; /* of a packet to a group */
    struct queue queue[ARRAYS][PLACES];
    struct sent sent[WAITING];
    uint8_t *lent[WAITING];
    uint32_t count; /* of sent */
    uint32_t backlog;
    uint64_t seed, number, flagged;
    struct trib_auth *sender[JOBS], *receiver[JOBS][PLACES];
} run;

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fail_msg("seed %" PRIu64 ", packet %" PRIu64 ": not %s", run.seed, run.number, #what); \
        }                                                                                          \
    } while (0)

/* ---- the carrier ---- */

static void take(uint32_t array, uint32_t place, const uint8_t *bytes, uint32_t len)
{
    static uint8_t copy[TRIB_TRAIN_BYTES_MAX]; /* decryption is in place */
    struct queue *queue = &run.queue[array][place];
    CHECK(queue->first < queue->end);
    const struct sent *sent = &run.sent[queue->waiting[queue->first++]];
    struct trib_packet packet;
    memcpy(copy, bytes, len);
    const struct trib_arrival arrival = {.data = copy, .len = len};
    CHECK(trib_port_decode(&arrival, &packet) == TRIB_DROP_NONE);
    CHECK(trib_port_authenticate(&arrival, &packet, run.receiver[sent->job][place], 0) == TRIB_DROP_NONE);
    CHECK(packet.sequence == sent->packet.sequence && packet.mark == sent->packet.mark);
    CHECK((packet.flags & ~TRIB_FLAG_ECN) == sent->packet.flags && packet.kind == sent->packet.kind);
    CHECK(packet.payload_len == sent->packet.payload_len);
    CHECK(packet.payload_len == 0 || memcmp(packet.payload, sent->payload, packet.payload_len) == 0);
}

/* Of a packet to a group. */
static uint64_t hearers_of(const uint8_t *bytes)
{
    uint64_t sequence = 0;
    for (int i = 12; i < 18; i++) {
        sequence = sequence << 8 | bytes[i];
    }
    CHECK(sequence < run.number && run.number - sequence <= run.count);
    uint64_t hearers = run.hearers[run.count - (run.number - sequence)];
    CHECK(hearers != 0);
    return hearers;
}

static void deliver(uint32_t array, uint64_t places, bool is_group, const uint8_t *bytes, uint32_t len)
{
    uint64_t bits = is_group ? hearers_of(bytes) : places;
    run.flagged += bytes[3] & TRIB_FLAG_ECN;
    for (; bits != 0; bits &= bits - 1) {
        take(array, (uint32_t)__builtin_ctzll(bits), bytes, len);
    }
}

/* A train is what UDP_SEGMENT makes of it. */
static void send_double(struct trib_carrier *carrier, struct trib_train *train, const struct trib_address *to)
{
    static uint8_t bytes[TRIB_TRAIN_BYTES_MAX];
    size_t len = 0;
    CHECK(train->packets > 0 && train->packets <= TRIB_TRAIN_PACKETS_MAX && train->bytes <= sizeof bytes);
    CHECK(train->pieces <= sizeof train->piece / sizeof train->piece[0]);
    for (uint32_t i = 0; i < train->pieces; i++) {
        CHECK(len + train->piece[i].iov_len <= train->bytes);
        memcpy(bytes + len, train->piece[i].iov_base, train->piece[i].iov_len);
        len += train->piece[i].iov_len;
    }
    CHECK(len == train->bytes && (len + train->segment - 1) / train->segment == train->packets);
    uint32_t array = ARRAYS - 1;
    uint64_t places = 1;
    bool is_group = false;
    if (to != NULL) {
        is_group = to >= run.group && to < run.group + (size_t)ARRAYS * 2;
        uint32_t at = (uint32_t)(is_group ? to - run.group : to - run.to);
        array = at / (is_group ? 2 : PLACES);
        places = is_group ? 0 : UINT64_C(1) << at % PLACES;
    }
    for (size_t at = 0; at < len; at += train->segment) {
        size_t left = len - at;
        deliver(array, places, is_group, bytes + at, (uint32_t)(left < train->segment ? left : train->segment));
    }
    carrier->stats->packets_sent += train->packets;
}

static enum trib_status open_double(const struct trib_port_config *config, struct trib_carrier **carrier, char *error)
{
    (void)error;
    run.carrier = (struct trib_carrier){.operations = config->carrier, .fd = -1};
    *carrier = &run.carrier;
    return TRIB_OK;
}

static void close_double(struct trib_carrier *carrier)
{
    (void)carrier;
}

static uint32_t backlog_double(const struct trib_carrier *carrier, const struct trib_address *to, uint64_t bits)
{
    (void)carrier;
    (void)to;
    (void)bits;
    return run.backlog;
}

static enum trib_status use_double(struct trib_carrier *carrier, const struct trib_port_config *config, char *error)
{
    (void)carrier;
    (void)config;
    (void)error;
    return TRIB_OK;
}

static const struct trib_carrier_operations operations = {
    .name = "double",
    .open = open_double,
    .close = close_double,
    .send = send_double,
    .backlog = backlog_double,
    .use = use_double,
};

/* ---- the sender ---- */

static uint32_t below(uint32_t bound)
{
    return (uint32_t)trib_prng_below(&run.prng, bound);
}

/* Most packets have one length, as those of a job. */
static uint16_t random_len(uint32_t usual)
{
    switch (below(12)) {
    case 0:
        return 0;
    case 1:
        return (uint16_t)below(TRIB_PAYLOAD_MAX + 1);
    case 2:
        return TRIB_PAYLOAD_MAX;
    default:
        return (uint16_t)usual;
    }
}

static struct sent *next_packet(uint32_t usual)
{
    struct sent *sent = &run.sent[run.count];
    uint16_t len = random_len(usual);
    sent->payload = malloc(len + 1U);
    run.lent[run.count] = malloc(len + 1U);
    assert_true(sent->payload != NULL && run.lent[run.count] != NULL);
    for (uint32_t i = 0; i < len; i++) {
        sent->payload[i] = (uint8_t)(trib_prng_next(&run.prng) >> 56);
    }
    memcpy(run.lent[run.count], sent->payload, len);
    sent->job = trib_keys_explain_lack() == NULL ? below(JOBS) : 0;
    sent->packet = (struct trib_packet){
        .sequence = run.number,
        .mark = run.number - below(1 + (uint32_t)(run.number < 999 ? run.number : 999)),
        .communicator = sent->job,
        .kind = len > 0 ? TRIB_CONTRIBUTION : TRIB_PROBE,
        .flags = below(4) == 0 ? TRIB_FLAG_MORE : 0,
        .payload_len = len,
        .payload = len > 0 ? run.lent[run.count] : NULL,
    };
    run.number++;
    return sent;
}

/* All, one, or any. */
static uint64_t random_places(uint32_t places)
{
    uint64_t all = UINT64_MAX >> (PLACES - places);
    uint64_t some = trib_prng_next(&run.prng) & trib_prng_next(&run.prng) & all;
    uint64_t one = UINT64_C(1) << below(places);
    return below(3) == 0 ? all : below(2) == 0 || some == 0 ? one : some;
}

static void send_next(struct trib_port *port, uint32_t arrays, uint32_t usual, uint32_t groups)
{
    const struct sent *sent = next_packet(usual);
    uint32_t array = below(8) == 0 ? below(ARRAYS) : below(arrays);
    bool is_connected = array == ARRAYS - 1;
    uint64_t bits = is_connected ? 1 : random_places(1 + array * 7 % PLACES);
    bool is_group = !is_connected && below(4) < groups;
    const struct trib_seal seal = {run.sender[sent->job], (bits & (bits - 1)) != 0 || is_group
                                                              ? TRIB_AUTH_ALL
                                                              : trib_auth_rank((uint32_t)__builtin_ctzll(bits))};
    run.hearers[run.count] = is_group ? bits : 0;
    for (uint64_t rest = bits; rest != 0; rest &= rest - 1) {
        struct queue *queue = &run.queue[array][__builtin_ctzll(rest)];
        queue->waiting[queue->end++] = (uint16_t)run.count;
    }
    run.count++;
    const struct trib_address *to = is_connected ? NULL : run.to + (size_t)array * PLACES;
    if (is_group) {
        trib_port_send_to_group(port, &sent->packet, to, bits, &run.group[array * 2 + below(2)],
                                sent->job > 0 ? &seal : NULL);
    } else if (sent->job > 0) {
        trib_port_send_sealed(port, &sent->packet, to, bits, &seal);
    } else {
        trib_port_send(port, &sent->packet, to, bits);
    }
    CHECK(!trib_port_is_flushed(port));
}

/* From now on nobody may look at the payloads. */
static void flush(struct trib_port *port)
{
    trib_port_flush(port);
    CHECK(trib_port_is_flushed(port));
    for (uint32_t i = 0; i < run.count; i++) {
        free(run.sent[i].payload);
        free(run.lent[i]);
    }
    run.count = 0;
    for (uint32_t i = 0; i < ARRAYS * PLACES; i++) {
        struct queue *queue = &run.queue[i / PLACES][i % PLACES];
        CHECK(queue->first == queue->end);
        queue->first = queue->end = 0;
    }
}

static void open_auths(void)
{
    for (uint32_t job = 1; job < JOBS && trib_keys_explain_lack() == NULL; job++) {
        const uint8_t key[TRIB_AUTH_KEY] = {(uint8_t)job, 7};
        uint16_t own = trib_auth_switch(0, 1);
        run.sender[job] = trib_auth_create(key, own, 1, job == 2);
        assert_non_null(run.sender[job]);
        for (uint32_t place = 0; place < PLACES; place++) {
            run.receiver[job][place] = trib_auth_create(key, trib_auth_rank(place), 1, job == 2);
            assert_non_null(run.receiver[job][place]);
            assert_true(trib_auth_set_above(run.receiver[job][place], 0, own, key));
        }
    }
}

static void close_auths(void)
{
    for (uint32_t job = 1; job < JOBS; job++) {
        trib_auth_destroy(run.sender[job]);
        for (uint32_t place = 0; place < PLACES; place++) {
            trib_auth_destroy(run.receiver[job][place]);
        }
    }
}

static void one_run(uint64_t seed)
{
    struct trib_port_config config = {.carrier = &operations, .payload = TRIB_PAYLOAD_MAX, .trains = true};
    struct trib_port *port;
    memset(&run, 0, sizeof run);
    run.seed = run.prng.state = seed;
    config.is_spare = below(2) == 0;
    open_auths();
    assert_int_equal(trib_port_open(&config, &port, NULL), TRIB_OK);
    if (config.is_spare) {
        trib_port_flush(port);
        assert_true(trib_port_is_flushed(port));
        assert_int_equal(trib_port_use(port, NULL), TRIB_OK);
    }
    const uint32_t between = below(2) == 0 ? 10 : 700; /* packets between two flushes */
    const uint32_t arrays = 1 + (below(2) == 0 ? 0 : below(ARRAYS));
    const uint32_t usual = below(2) == 0 ? below(200) : 1000 + below(500);
    const uint32_t groups = below(3);
    for (uint32_t step = 0; step < STEPS; step++) {
        send_next(port, arrays, usual, groups);
        if (below(between) == 0 || run.count == WAITING) {
            flush(port);
        }
        if (below(60) == 0) {
            run.backlog = below(1U << 24);
            trib_port_set_backlog(port, below(2) * below(1U << 20));
        }
    }
    flush(port);
    CHECK(run.flagged == trib_port_stats(port)->flagged_sent * TRIB_FLAG_ECN);
    trib_port_close(port);
    close_auths();
}

static void port__each_destination_gets_its_packets(void **state)
{
    (void)state;
    const char *seeds = getenv("TRIB_SEEDS");
    const char *seed = getenv("TRIB_SEED");
    uint64_t first = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    uint64_t count = seed != NULL ? 1 : seeds != NULL ? strtoull(seeds, NULL, 10) : SEEDS;
    for (uint64_t i = 0; i < count; i++) {
        one_run(first + i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(port__each_destination_gets_its_packets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
