/* SPDX-License-Identifier: Apache-2.0 */
/* test_vectors.c: replays tests/vectors/packets.txt both ways: fields to bytes and bytes to fields. The vectors were
 * written by another implementation; an independent worker or switch can be tested with the same file. The folder is
 * the first argument, else tests/vectors. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/packet.h"

#define LINE_MAX_LEN 512
#define BYTES_MAX 512
#define TITLE_MAX 128

static char path[4096] = TRIB_TEST_DIR "/vectors/packets.txt";

struct bytes {
    uint8_t at[BYTES_MAX];
    size_t len;
};

enum vector_kind { VECTOR_NONE, VECTOR_PACKET, VECTOR_DROP };

/* One block of the file. */
struct vector {
    char title[TITLE_MAX]; /* for drops with the reason before it */
    struct trib_packet fields;
    struct bytes payload;
    struct bytes bytes;
    enum vector_kind kind;
    unsigned fields_seen;
};

static void add_bytes(struct bytes *bytes, const char *text)
{
    unsigned byte = 0;
    int used = 0;
    while (sscanf(text, " %2x%n", &byte, &used) == 1) {
        assert_true(bytes->len < BYTES_MAX);
        bytes->at[bytes->len++] = (uint8_t)byte;
        text += used;
    }
    assert_int_equal(strspn(text, " \n"), strlen(text));
}

static void set_field(struct vector *vector, const char *name, const char *text)
{
    struct trib_packet *fields = &vector->fields;
    char *end = NULL;
    uint64_t value = text[strspn(text, " ")] == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 0);
    assert_int_equal(strspn(end, " \n"), strlen(end));
#define FIELD(field, type)           \
    if (strcmp(name, #field) == 0) { \
        fields->field = (type)value; \
        vector->fields_seen++;       \
        return;                      \
    }
    FIELD(kind, uint8_t)
    FIELD(flags, uint16_t)
    FIELD(communicator, uint32_t)
    FIELD(generation, uint16_t)
    FIELD(attempt, uint8_t)
    FIELD(tree, uint8_t)
    FIELD(sequence, uint64_t)
    FIELD(node, uint16_t)
    FIELD(bitmap, uint64_t)
    FIELD(type, uint8_t)
    FIELD(reduction, uint8_t)
    FIELD(digest, uint32_t)
    FIELD(boot, uint32_t)
    FIELD(mark, uint64_t)
    FIELD(contributors, uint16_t)
    FIELD(last_rank, uint16_t)
    FIELD(window_cap, uint16_t)
    FIELD(exponent, int16_t)
    FIELD(lane, uint64_t)
#undef FIELD
    fail_msg("%s: unknown field %s", vector->title, name);
}

#define FIELD_COUNT 19U

static void add_line(struct vector *vector, const char *name, const char *rest)
{
    if (strcmp(name, "packet") == 0 || strcmp(name, "drop") == 0) {
        assert_int_equal(vector->kind, VECTOR_NONE);
        vector->kind = name[0] == 'p' ? VECTOR_PACKET : VECTOR_DROP;
        snprintf(vector->title, sizeof vector->title, "%s", rest);
        vector->title[strcspn(vector->title, "\n")] = '\0';
    } else if (strcmp(name, "bytes") == 0) {
        add_bytes(&vector->bytes, rest);
    } else if (strcmp(name, "payload") == 0) {
        add_bytes(&vector->payload, rest);
    } else {
        set_field(vector, name, rest);
    }
}

/* The next block; false at the end of the file. */
static bool read_vector(FILE *file, struct vector *vector)
{
    char line[LINE_MAX_LEN];
    memset(vector, 0, sizeof *vector);
    while (fgets(line, sizeof line, file) != NULL) {
        char name[64];
        int used = 0;
        bool is_comment = line[0] == '#';
        line[strcspn(line, "#")] = '\0';
        if (sscanf(line, "%63s %n", name, &used) == 1) {
            add_line(vector, name, line + used);
        } else if (!is_comment && vector->kind != VECTOR_NONE) {
            return true;
        }
    }
    return vector->kind != VECTOR_NONE;
}

static void print_bytes(const struct bytes *bytes)
{
    for (size_t i = 0; i < bytes->len; i++) {
        print_message("%s%02x%s", i % 16 == 0 ? "bytes " : " ", bytes->at[i],
                      i % 16 == 15 || i + 1 == bytes->len ? "\n" : "");
    }
}

static void check_encoding(const struct vector *vector)
{
    struct bytes encoded = {.len = TRIB_HEADER_SIZE + vector->payload.len};
    struct trib_packet packet = vector->fields;
    packet.payload_len = (uint16_t)vector->payload.len;
    packet.payload = packet.payload_len == 0 ? NULL : vector->payload.at;
    assert_in_range(encoded.len, TRIB_HEADER_SIZE, BYTES_MAX);
    trib_packet_encode(&packet, encoded.at);
    memcpy(encoded.at + TRIB_HEADER_SIZE, vector->payload.at, vector->payload.len);
    if (encoded.len != vector->bytes.len || memcmp(encoded.at, vector->bytes.at, encoded.len) != 0) {
        print_bytes(&encoded);
        fail_msg("%s: encoding gives the bytes above", vector->title);
    }
}

static void check_decoding(const struct vector *vector)
{
    struct trib_packet packet;
    enum trib_drop drop = trib_packet_decode(vector->bytes.at, vector->bytes.len, &packet);
    if (drop != TRIB_DROP_NONE) {
        fail_msg("%s: dropped: %s", vector->title, trib_drop_name(drop));
    }
    assert_int_equal(packet.payload_len, vector->payload.len);
    assert_memory_equal(vector->bytes.at + TRIB_HEADER_SIZE, vector->payload.at, vector->payload.len);
#define SAME(field)                                                                                            \
    if (packet.field != vector->fields.field) {                                                                \
        fail_msg("%s: " #field " is 0x%llx, expected 0x%llx", vector->title, (unsigned long long)packet.field, \
                 (unsigned long long)vector->fields.field);                                                    \
    }
    SAME(kind)
    SAME(flags)
    SAME(communicator)
    SAME(generation)
    SAME(attempt)
    SAME(tree)
    SAME(sequence)
    SAME(node)
    SAME(bitmap)
    SAME(type)
    SAME(reduction)
    SAME(digest)
    SAME(boot)
    SAME(mark)
    SAME(contributors)
    SAME(last_rank)
    SAME(window_cap)
    SAME(exponent)
    SAME(lane)
#undef SAME
}

static void check_drop(const struct vector *vector)
{
    struct trib_packet packet;
    char reason[TITLE_MAX];
    assert_int_equal(sscanf(vector->title, "%127s", reason), 1);
    enum trib_drop drop = trib_packet_decode(vector->bytes.at, vector->bytes.len, &packet);
    if (strcmp(trib_drop_name(drop), reason) != 0) {
        fail_msg("%s: the reason is %s", vector->title, trib_drop_name(drop));
    }
}

static FILE *open_vectors(void)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("cannot read %s", path);
    }
    return file;
}

static void vectors__packets_encode_and_decode(void **state)
{
    unsigned seen[TRIB_KIND_COUNT] = {0};
    struct vector vector;
    FILE *file = open_vectors();
    (void)state;
    while (read_vector(file, &vector)) {
        if (vector.kind == VECTOR_PACKET) {
            assert_int_equal(vector.fields_seen, FIELD_COUNT);
            check_encoding(&vector);
            check_decoding(&vector);
            seen[vector.fields.kind]++;
        }
    }
    fclose(file);
    for (int kind = TRIB_CONTRIBUTION; kind < TRIB_KIND_COUNT; kind++) {
        assert_true(seen[kind] > 0);
    }
}

static void vectors__drops_have_their_reason(void **state)
{
    unsigned count = 0;
    struct vector vector;
    FILE *file = open_vectors();
    (void)state;
    while (read_vector(file, &vector)) {
        if (vector.kind == VECTOR_DROP) {
            check_drop(&vector);
            count++;
        }
    }
    fclose(file);
    assert_in_range(count, TRIB_DROP_CRC, 1000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors__packets_encode_and_decode),
        cmocka_unit_test(vectors__drops_have_their_reason),
    };
    if (argc > 1) {
        snprintf(path, sizeof path, "%s/packets.txt", argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
