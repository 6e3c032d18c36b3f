/* SPDX-License-Identifier: Apache-2.0 */
/* test_packet_twin.c: random packets against a twin of the codec that is slow and plain: a list of widths and values,
 * and a checksum bit by bit. Then damage: one to three wrong bits are always seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tributary/types.h>

#include "core/packet.h"
#include "core/prng.h"

#define PAYLOAD_MAX 320
#define PACKET_MAX (TRIB_HEADER_SIZE + PAYLOAD_MAX)
#define CRC_AT 52
#define SEED 20240611

static uint32_t bitwise_crc(const uint8_t *data, size_t len)
{
    uint32_t crc = ~0U;
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82f63b78U : 0U);
        }
    }
    return ~crc;
}

/* The low bytes of value, the highest first. */
static uint8_t *append(uint8_t *at, int width, uint64_t value)
{
    for (int i = width - 1; i >= 0; i--) {
        *at++ = (uint8_t)(value >> (8 * i));
    }
    return at;
}

static size_t twin_encode(const struct trib_packet *packet, uint8_t *data)
{
    const struct {
        int width;
        uint64_t value;
    } fields[] = {
        {1, 1},
        {1, packet->kind},
        {2, packet->flags},
        {4, packet->communicator},
        {2, packet->generation},
        {1, packet->attempt},
        {1, packet->tree},
        {6, packet->sequence},
        {2, packet->node},
        {8, packet->bitmap},
        {1, packet->type},
        {1, packet->reduction},
        {2, packet->payload_len},
        {4, packet->digest},
        {4, packet->boot},
        {4, packet->mark - packet->sequence},
        {2, packet->contributors},
        {2, packet->last_rank},
        {2, packet->window_cap},
        {2, (uint64_t)packet->exponent},
        {4, 0},
        {8, packet->lane},
    };
    uint8_t *at = data;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        at = append(at, fields[i].width, fields[i].value);
    }
    const uint8_t *from = packet->payload;
    for (size_t i = 0; i < packet->payload_len; i++) {
        *at++ = from[i];
    }
    size_t len = (size_t)(at - data);
    append(data + CRC_AT, 4, bitwise_crc(data, len));
    return len;
}

static uint64_t random_mark(struct trib_prng *prng, uint64_t sequence)
{
    uint64_t low = sequence > INT32_MAX ? sequence - INT32_MAX - 1 : 0;
    uint64_t high = sequence + INT32_MAX;
    if (high > TRIB_SEQUENCE_MAX + 1) {
        high = TRIB_SEQUENCE_MAX + 1;
    }
    switch (trib_prng_below(prng, 4)) {
    case 0:
        return low;
    case 1:
        return high;
    default:
        return low + trib_prng_below(prng, high - low + 1);
    }
}

/* Any packet that may be sent. Small and extreme sequences are as frequent as others. */
static struct trib_packet random_packet(struct trib_prng *prng, uint8_t *payload)
{
    struct trib_packet packet = {
        .sequence = trib_prng_next(prng) >> (16 + trib_prng_below(prng, 48)),
        .bitmap = trib_prng_next(prng),
        .lane = trib_prng_next(prng),
        .communicator = (uint32_t)trib_prng_next(prng),
        .digest = (uint32_t)trib_prng_next(prng),
        .boot = (uint32_t)trib_prng_next(prng),
        .flags = (uint16_t)trib_prng_below(prng, TRIB_FLAGS_KNOWN + 1),
        .generation = (uint16_t)trib_prng_next(prng),
        .node = (uint16_t)trib_prng_next(prng),
        .contributors = (uint16_t)trib_prng_next(prng),
        .last_rank = (uint16_t)trib_prng_next(prng),
        .window_cap = (uint16_t)trib_prng_next(prng),
        .exponent = (int16_t)(uint16_t)trib_prng_next(prng),
        .kind = (uint8_t)(1 + trib_prng_below(prng, TRIB_KIND_COUNT - 1)),
        .type = (uint8_t)trib_prng_below(prng, TRIB_TYPE_COUNT),
        .reduction = (uint8_t)trib_prng_below(prng, TRIB_REDUCTION_COUNT),
    };
    if (trib_prng_below(prng, 16) == 0) {
        packet.sequence = TRIB_SEQUENCE_MAX - trib_prng_below(prng, 4);
    }
    packet.mark = random_mark(prng, packet.sequence);
    int without = packet.kind == TRIB_PROBE || packet.kind == TRIB_ASK || packet.kind == TRIB_HELD ||
                  packet.kind == TRIB_BOOT || packet.kind == TRIB_FLOW_ACK;
    packet.payload_len = without ? 0 : (uint16_t)trib_prng_below(prng, PAYLOAD_MAX + 1);
    for (size_t i = 0; i < packet.payload_len; i++) {
        payload[i] = (uint8_t)trib_prng_next(prng);
    }
    packet.payload = packet.payload_len == 0 ? NULL : payload;
    return packet;
}

static void packet__equals_its_twin_and_comes_back(void **state)
{
    struct trib_prng prng = {.state = SEED};
    (void)state;
    for (int trial = 0; trial < 20000; trial++) {
        uint8_t payload[PAYLOAD_MAX];
        uint8_t data[PACKET_MAX];
        uint8_t again[PACKET_MAX];
        struct trib_packet packet = random_packet(&prng, payload);
        struct trib_packet decoded;
        size_t len = twin_encode(&packet, data);
        trib_packet_encode(&packet, again);
        assert_memory_equal(again, data, TRIB_HEADER_SIZE);
        assert_int_equal(trib_packet_decode(data, len, &decoded), TRIB_DROP_NONE);
        assert_int_equal(twin_encode(&decoded, again), len);
        assert_memory_equal(again, data, len);
        assert_true(decoded.mark == packet.mark && decoded.sequence == packet.sequence);
    }
}

static void flip(uint8_t *data, size_t bit)
{
    data[bit / 8] ^= (uint8_t)(0x80U >> (bit % 8));
}

/* The reason that fits the first field that is checked. */
static enum trib_drop reason_for(size_t bit)
{
    size_t byte = bit / 8;
    if (byte == 0) {
        return TRIB_DROP_VERSION;
    }
    return byte == 30 || byte == 31 ? TRIB_DROP_LENGTH : TRIB_DROP_CRC;
}

static void packet__any_wrong_bit_is_dropped_with_its_reason(void **state)
{
    struct trib_prng prng = {.state = SEED + 1};
    (void)state;
    for (int trial = 0; trial < 300; trial++) {
        uint8_t payload[PAYLOAD_MAX];
        uint8_t data[PACKET_MAX];
        struct trib_packet packet = random_packet(&prng, payload);
        size_t len = twin_encode(&packet, data);
        for (size_t bit = 0; bit < 8 * len; bit++) {
            flip(data, bit);
            assert_int_equal(trib_packet_decode(data, len, &packet), reason_for(bit));
            flip(data, bit);
        }
        assert_int_equal(trib_packet_decode(data, len, &packet), TRIB_DROP_NONE);
    }
}

/* CRC32C sees any three wrong bits in packets of every length that we send. */
static void packet__two_or_three_wrong_bits_are_dropped(void **state)
{
    struct trib_prng prng = {.state = SEED + 2};
    (void)state;
    for (int trial = 0; trial < 100000; trial++) {
        uint8_t payload[PAYLOAD_MAX];
        uint8_t data[PACKET_MAX];
        struct trib_packet packet = random_packet(&prng, payload);
        size_t len = TRIB_HEADER_SIZE + (size_t)packet.payload_len;
        trib_packet_encode(&packet, data);
        memcpy(data + TRIB_HEADER_SIZE, payload, packet.payload_len);
        size_t first = trib_prng_below(&prng, 8 * len - 2);
        size_t second = first + 1 + trib_prng_below(&prng, 8 * len - first - 2);
        flip(data, first);
        flip(data, second);
        assert_int_not_equal(trib_packet_decode(data, len, &packet), TRIB_DROP_NONE);
        flip(data, second + 1 + trib_prng_below(&prng, 8 * len - second - 1));
        assert_int_not_equal(trib_packet_decode(data, len, &packet), TRIB_DROP_NONE);
    }
}

/* Random bytes under a right checksum: what is taken can be sent again as it came. */
static void packet__whatever_is_taken_encodes_to_the_same_bytes(void **state)
{
    struct trib_prng prng = {.state = SEED + 3};
    unsigned taken = 0;
    unsigned dropped = 0;
    (void)state;
    for (int trial = 0; trial < 20000; trial++) {
        uint8_t data[TRIB_HEADER_SIZE];
        uint8_t again[TRIB_HEADER_SIZE];
        struct trib_packet packet;
        for (size_t i = 0; i < sizeof data; i++) {
            data[i] = (uint8_t)trib_prng_next(&prng);
        }
        data[0] = 1;
        data[1] &= 0x0f;  /* kind */
        data[2] &= 0x01;  /* flags */
        data[10] &= 0x01; /* attempt */
        data[11] &= 0x02; /* tree */
        data[28] &= 0x07; /* type */
        data[29] &= 0x03; /* reduction */
        append(data + 30, 2, 0);
        append(data + CRC_AT, 4, 0);
        append(data + CRC_AT, 4, bitwise_crc(data, sizeof data));
        enum trib_drop drop = trib_packet_decode(data, sizeof data, &packet);
        if (drop == TRIB_DROP_NONE) {
            trib_packet_encode(&packet, again);
            assert_memory_equal(again, data, sizeof data);
            taken++;
        } else {
            assert_int_equal(drop, TRIB_DROP_FIELD);
            dropped++;
        }
    }
    assert_true(taken > 500);
    assert_true(dropped > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packet__equals_its_twin_and_comes_back),
        cmocka_unit_test(packet__any_wrong_bit_is_dropped_with_its_reason),
        cmocka_unit_test(packet__two_or_three_wrong_bits_are_dropped),
        cmocka_unit_test(packet__whatever_is_taken_encodes_to_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
