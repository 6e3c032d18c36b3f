/* SPDX-License-Identifier: Apache-2.0 */
/* test_packet.c: encoding and decoding of the header, field by field, and every reason to drop.
 * See also test_vectors.c (whole packets), property/test_packet_twin.c (random ones). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <tributary/types.h>

#include "core/crc32c.h"
#include "core/packet.h"

#define PAYLOAD_LEN 64
#define PACKET_LEN (TRIB_HEADER_SIZE + PAYLOAD_LEN)

static const uint8_t payload[PAYLOAD_LEN] = {1, 2, 3, 4, 5};

static struct trib_packet sample(void)
{
    return (struct trib_packet){
        .sequence = UINT64_C(0x0102030405),
        .mark = UINT64_C(0x0102030405) - 2,
        .bitmap = UINT64_C(0x1112131415161718),
        .lane = UINT64_C(0x2122232425262728),
        .payload = payload,
        .communicator = 0x31323334,
        .digest = 0x41424344,
        .boot = 0x51525354,
        .flags = TRIB_FLAG_ECN | TRIB_FLAG_UNWANTED,
        .generation = 0x6162,
        .node = 0x6364,
        .payload_len = PAYLOAD_LEN,
        .contributors = 0x6566,
        .last_rank = 0x6768,
        .window_cap = 0x6970,
        .exponent = -3,
        .kind = TRIB_CONTRIBUTION,
        .type = TRIB_INT64,
        .reduction = TRIB_AVERAGE,
    };
}

/* The whole datagram. Returns its length. */
static size_t write_packet(const struct trib_packet *packet, uint8_t *data)
{
    trib_packet_encode(packet, data);
    if (packet->payload_len > 0) {
        memcpy(data + TRIB_HEADER_SIZE, packet->payload, packet->payload_len);
    }
    return (size_t)TRIB_HEADER_SIZE + packet->payload_len;
}

/* Makes the checksum right again after a change. */
static void mend_checksum(uint8_t *data, size_t len)
{
    memset(data + TRIB_AT_CRC, 0, 4);
    uint32_t crc = trib_crc32c_table(0, data, len);
    for (int i = 0; i < 4; i++) {
        data[TRIB_AT_CRC + i] = (uint8_t)(crc >> (24 - 8 * i));
    }
}

/* What becomes of the sample when one byte of its header is another, and the checksum right. */
static enum trib_drop decode_changed(size_t at, uint8_t value)
{
    uint8_t data[PACKET_LEN];
    struct trib_packet packet = sample();
    write_packet(&packet, data);
    data[at] = value;
    mend_checksum(data, sizeof data);
    return trib_packet_decode(data, sizeof data, &packet);
}

static void packet_encode__puts_each_field_at_its_place(void **state)
{
    static const uint8_t expected[TRIB_HEADER_SIZE] = {
        1,    TRIB_CONTRIBUTION,
        0x00, 0x42,
        0x31, 0x32,
        0x33, 0x34,
        0x61, 0x62,
        0x00, 0x00,
        0x00, 0x01,
        0x02, 0x03,
        0x04, 0x05,
        0x63, 0x64,
        0x11, 0x12,
        0x13, 0x14,
        0x15, 0x16,
        0x17, 0x18,
        5,    2,
        0x00, 0x40,
        0x41, 0x42,
        0x43, 0x44,
        0x51, 0x52,
        0x53, 0x54,
        0xff, 0xff,
        0xff, 0xfe,
        0x65, 0x66,
        0x67, 0x68,
        0x69, 0x70,
        0xff, 0xfd,
        0,    0,
        0,    0,
        0x21, 0x22,
        0x23, 0x24,
        0x25, 0x26,
        0x27, 0x28,
    };
    uint8_t header[TRIB_HEADER_SIZE];
    struct trib_packet packet = sample();
    (void)state;
    trib_packet_encode(&packet, header);
    memset(header + TRIB_AT_CRC, 0, 4);
    assert_memory_equal(header, expected, sizeof expected);
}

static void packet_encode__covers_header_and_payload_with_the_checksum(void **state)
{
    uint8_t data[PACKET_LEN];
    uint8_t mended[PACKET_LEN];
    struct trib_packet packet = sample();
    (void)state;
    write_packet(&packet, data);
    memcpy(mended, data, sizeof data);
    mend_checksum(mended, sizeof mended);
    assert_memory_equal(data, mended, sizeof data);
}

static void packet_encode__writes_the_header_only(void **state)
{
    uint8_t data[TRIB_HEADER_SIZE + 2];
    struct trib_packet packet = sample();
    (void)state;
    memset(data, 0xee, sizeof data);
    trib_packet_encode(&packet, data + 1);
    assert_int_equal(data[0], 0xee);
    assert_int_equal(data[TRIB_HEADER_SIZE + 1], 0xee);
}

/* Runs encode in a child process, which must abort. */
static void assert_encode_aborts(const struct trib_packet *packet)
{
    uint8_t header[TRIB_HEADER_SIZE];
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        trib_packet_encode(packet, header);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void packet_encode__refuses_what_no_receiver_takes(void **state)
{
    (void)state;
#define REFUSES(field, value)                 \
    do {                                      \
        struct trib_packet packet = sample(); \
        packet.field = (value);               \
        assert_encode_aborts(&packet);        \
    } while (0)
    REFUSES(sequence, TRIB_SEQUENCE_MAX + 1);
    REFUSES(mark, TRIB_SEQUENCE_MAX + 2);
    REFUSES(mark, UINT64_C(0x0102030405) + INT32_MAX + 1);
    REFUSES(mark, UINT64_C(0x0102030405) - INT32_MAX - 2);
    REFUSES(kind, TRIB_KIND_NONE);
    REFUSES(kind, TRIB_KIND_COUNT);
    REFUSES(kind, TRIB_PROBE); /* the sample has a payload */
    REFUSES(type, TRIB_TYPE_COUNT);
    REFUSES(reduction, TRIB_REDUCTION_COUNT);
    REFUSES(flags, TRIB_FLAGS_KNOWN + 1);
    REFUSES(attempt, 1);
    REFUSES(tree, 1);
    REFUSES(payload_len, TRIB_PAYLOAD_MAX + 1);
    REFUSES(payload, NULL);
#undef REFUSES
}

static void packet_decode__gives_back_every_field(void **state)
{
    uint8_t data[PACKET_LEN];
    struct trib_packet in = sample();
    struct trib_packet out;
    (void)state;
    assert_int_equal(trib_packet_decode(data, write_packet(&in, data), &out), TRIB_DROP_NONE);
    assert_ptr_equal(out.payload, data + TRIB_HEADER_SIZE);
#define SAME(field) assert_true(in.field == out.field)
    SAME(sequence);
    SAME(mark);
    SAME(bitmap);
    SAME(lane);
    SAME(communicator);
    SAME(digest);
    SAME(boot);
    SAME(flags);
    SAME(generation);
    SAME(node);
    SAME(payload_len);
    SAME(contributors);
    SAME(last_rank);
    SAME(window_cap);
    SAME(exponent);
    SAME(kind);
    SAME(type);
    SAME(reduction);
#undef SAME
}

static void packet_decode__gives_no_pointer_without_payload(void **state)
{
    uint8_t data[PACKET_LEN];
    struct trib_packet packet = sample();
    (void)state;
    packet.payload_len = 0;
    assert_int_equal(trib_packet_decode(data, write_packet(&packet, data), &packet), TRIB_DROP_NONE);
    assert_null(packet.payload);
}

static void packet_decode__takes_marks_of_the_whole_range(void **state)
{
    static const struct {
        uint64_t sequence;
        uint64_t mark;
    } cases[] = {
        {0, 0},
        {0, INT32_MAX},
        {UINT64_C(1) << 31, 0},
        {TRIB_SEQUENCE_MAX, TRIB_SEQUENCE_MAX + 1},
        {TRIB_SEQUENCE_MAX, TRIB_SEQUENCE_MAX - INT32_MAX - 1},
    };
    uint8_t data[PACKET_LEN];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trib_packet packet = sample();
        packet.sequence = cases[i].sequence;
        packet.mark = cases[i].mark;
        assert_int_equal(trib_packet_decode(data, write_packet(&packet, data), &packet), TRIB_DROP_NONE);
        assert_true(packet.sequence == cases[i].sequence);
        assert_true(packet.mark == cases[i].mark);
    }
}

static void packet_decode__drops_short(void **state)
{
    uint8_t data[PACKET_LEN];
    struct trib_packet packet = sample();
    (void)state;
    write_packet(&packet, data);
    data[TRIB_AT_VERSION] = 9; /* shortness counts first */
    for (size_t len = 0; len < TRIB_HEADER_SIZE; len++) {
        assert_int_equal(trib_packet_decode(data, len, &packet), TRIB_DROP_SHORT);
    }
}

static void packet_decode__drops_other_versions(void **state)
{
    (void)state;
    for (int version = 0; version < 256; version++) {
        enum trib_drop expected = version == TRIB_WIRE_VERSION         ? TRIB_DROP_NONE
                                  : version == TRIB_WIRE_AUTHENTICATED ? TRIB_DROP_LENGTH
                                                                       : TRIB_DROP_VERSION;
        assert_int_equal(decode_changed(TRIB_AT_VERSION, (uint8_t)version), expected);
    }
}

static void packet_decode__drops_other_lengths(void **state)
{
    uint8_t data[PACKET_LEN + 1] = {0};
    struct trib_packet packet = sample();
    (void)state;
    write_packet(&packet, data);
    for (size_t len = TRIB_HEADER_SIZE; len <= sizeof data; len++) {
        enum trib_drop expected = len == PACKET_LEN ? TRIB_DROP_NONE : TRIB_DROP_LENGTH;
        assert_int_equal(trib_packet_decode(data, len, &packet), expected);
    }
    assert_int_equal(decode_changed(TRIB_AT_PAYLOAD_LEN, 0xff), TRIB_DROP_LENGTH);
}

static void packet_decode__drops_wrong_checksums_before_fields(void **state)
{
    uint8_t data[PACKET_LEN];
    struct trib_packet packet = sample();
    (void)state;
    write_packet(&packet, data);
    data[TRIB_AT_KIND] = 0xff;
    assert_int_equal(trib_packet_decode(data, sizeof data, &packet), TRIB_DROP_CRC);
}

static void packet_decode__drops_impossible_fields(void **state)
{
    static const struct {
        size_t at;
        uint8_t first;    /* values from here on are impossible */
        uint8_t possible; /* with a payload */
    } cases[] = {
        {TRIB_AT_KIND, TRIB_KIND_COUNT, TRIB_FLOW},
        {TRIB_AT_TYPE, TRIB_TYPE_COUNT, TRIB_TYPE_COUNT - 1},
        {TRIB_AT_REDUCTION, TRIB_REDUCTION_COUNT, TRIB_REDUCTION_COUNT - 1},
        {TRIB_AT_FLAGS, 1, 0},
        {TRIB_AT_ATTEMPT, 1, 0},
        {TRIB_AT_TREE, 1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (unsigned value = cases[i].first; value < 256; value++) {
            assert_int_equal(decode_changed(cases[i].at, (uint8_t)value), TRIB_DROP_FIELD);
        }
        assert_int_equal(decode_changed(cases[i].at, cases[i].possible), TRIB_DROP_NONE);
    }
    assert_int_equal(decode_changed(TRIB_AT_KIND, TRIB_KIND_NONE), TRIB_DROP_FIELD);
}

static void packet_decode__drops_marks_outside_the_stream(void **state)
{
    uint8_t data[PACKET_LEN];
    struct trib_packet packet = sample();
    (void)state;
    packet.sequence = packet.mark = 7;
    write_packet(&packet, data);
    memset(data + TRIB_AT_MARK, 0xff, 3);
    data[TRIB_AT_MARK + 3] = 0xf8; /* -8 */
    mend_checksum(data, sizeof data);
    assert_int_equal(trib_packet_decode(data, sizeof data, &packet), TRIB_DROP_FIELD);
    packet.sequence = packet.mark = TRIB_SEQUENCE_MAX;
    write_packet(&packet, data);
    data[TRIB_AT_MARK + 3] = 2;
    mend_checksum(data, sizeof data);
    assert_int_equal(trib_packet_decode(data, sizeof data, &packet), TRIB_DROP_FIELD);
}

static void packet_decode__drops_payload_where_none_belongs(void **state)
{
    (void)state;
    for (uint8_t kind = TRIB_CONTRIBUTION; kind < TRIB_KIND_COUNT; kind++) {
        int has = kind == TRIB_CONTRIBUTION || kind == TRIB_RESULT || kind == TRIB_OFFER || kind == TRIB_PATH ||
                  kind == TRIB_FLOW;
        assert_int_equal(decode_changed(TRIB_AT_KIND, kind), has ? TRIB_DROP_NONE : TRIB_DROP_FIELD);
    }
}

static void packet_decode__takes_payloads_up_to_the_limit(void **state)
{
    static const uint8_t zeros[TRIB_PAYLOAD_MAX];
    static uint8_t data[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX + 1];
    struct trib_packet packet = sample();
    (void)state;
    packet.payload = zeros;
    packet.payload_len = TRIB_PAYLOAD_MAX;
    assert_int_equal(trib_packet_decode(data, write_packet(&packet, data), &packet), TRIB_DROP_NONE);
    data[TRIB_AT_PAYLOAD_LEN + 1] = 1;
    mend_checksum(data, sizeof data);
    assert_int_equal(trib_packet_decode(data, sizeof data, &packet), TRIB_DROP_FIELD);
}

static void packet_decode__writes_nothing_on_a_drop(void **state)
{
    uint8_t data[PACKET_LEN];
    struct trib_packet packet = sample();
    struct trib_packet untouched;
    struct trib_packet before;
    (void)state;
    write_packet(&packet, data);
    data[TRIB_AT_KIND] = 0;
    mend_checksum(data, sizeof data);
    memset(&untouched, 0xa5, sizeof untouched);
    memcpy(&before, &untouched, sizeof before);
    assert_int_equal(trib_packet_decode(data, sizeof data, &untouched), TRIB_DROP_FIELD);
    assert_memory_equal(&untouched, &before, sizeof before);
}

static void drop_name__names_every_reason(void **state)
{
    (void)state;
    assert_string_equal(trib_drop_name(TRIB_DROP_NONE), "NONE");
    assert_string_equal(trib_drop_name(TRIB_DROP_CRC), "CRC");
    assert_string_equal(trib_drop_text(TRIB_DROP_CRC), "checksum wrong");
    assert_string_equal(trib_drop_name(TRIB_DROP_FULL), "FULL");
    assert_string_equal(trib_drop_name(TRIB_DROP_COUNT), "unknown");
    assert_string_equal(trib_drop_text(TRIB_DROP_COUNT), "unknown");
}

static void kind_name__names_every_kind(void **state)
{
    (void)state;
    assert_string_equal(trib_kind_name(TRIB_KIND_NONE), "NONE");
    assert_string_equal(trib_kind_name(TRIB_RESULT), "RESULT");
    assert_string_equal(trib_kind_name(TRIB_PATH), "PATH");
    assert_string_equal(trib_kind_name(TRIB_FLOW), "FLOW");
    assert_string_equal(trib_kind_name(TRIB_FLOW_ACK), "FLOW_ACK");
    assert_string_equal(trib_kind_name(TRIB_KIND_COUNT), "unknown");
}

static void can_encode__says_what_encode_asserts(void **state)
{
    (void)state;
    static const uint8_t bytes[64];
    struct trib_packet packet = {.kind = TRIB_RESULT, .sequence = 5, .mark = 5, .payload_len = 64, .payload = bytes};
    assert_true(trib_packet_can_encode(&packet));
    packet.sequence = TRIB_SEQUENCE_MAX + 1;
    assert_false(trib_packet_can_encode(&packet));
    packet.sequence = UINT64_C(1) << 40; /* M too far behind */
    assert_false(trib_packet_can_encode(&packet));
    packet.sequence = 5;
    packet.payload = NULL;
    assert_false(trib_packet_can_encode(&packet));
    packet = (struct trib_packet){.kind = TRIB_ASK, .payload_len = 64, .payload = bytes};
    assert_false(trib_packet_can_encode(&packet));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(can_encode__says_what_encode_asserts),
        cmocka_unit_test(packet_encode__puts_each_field_at_its_place),
        cmocka_unit_test(packet_encode__covers_header_and_payload_with_the_checksum),
        cmocka_unit_test(packet_encode__writes_the_header_only),
        cmocka_unit_test(packet_encode__refuses_what_no_receiver_takes),
        cmocka_unit_test(packet_decode__gives_back_every_field),
        cmocka_unit_test(packet_decode__gives_no_pointer_without_payload),
        cmocka_unit_test(packet_decode__takes_marks_of_the_whole_range),
        cmocka_unit_test(packet_decode__drops_short),
        cmocka_unit_test(packet_decode__drops_other_versions),
        cmocka_unit_test(packet_decode__drops_other_lengths),
        cmocka_unit_test(packet_decode__drops_wrong_checksums_before_fields),
        cmocka_unit_test(packet_decode__drops_impossible_fields),
        cmocka_unit_test(packet_decode__drops_marks_outside_the_stream),
        cmocka_unit_test(packet_decode__drops_payload_where_none_belongs),
        cmocka_unit_test(packet_decode__takes_payloads_up_to_the_limit),
        cmocka_unit_test(packet_decode__writes_nothing_on_a_drop),
        cmocka_unit_test(drop_name__names_every_reason),
        cmocka_unit_test(kind_name__names_every_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
