/* SPDX-License-Identifier: Apache-2.0 */
/* test_session.c: the session codec against bytes written down by hand (docs/PROTOCOL.md, "Sessions"), against itself,
 * and against bytes that are no messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/words/items.h"
#include "core/prng.h"
#include "net/resolve.h"
#include "session_goldens.h"

/* Addresses are no constants: those of the goldens that have some. */
static struct trib_message golden_message(size_t i)
{
    struct trib_message message = goldens[i].message;
    char error[TRIB_ERROR_TEXT_MAX];
    struct trib_address six;
    assert_int_equal(trib_address_parse("[2001:db8::2]:7472", 0, &six, error), TRIB_OK);
    if (strcmp(goldens[i].name, "welcome, without a switch") == 0) {
        message.welcome.root_count = 2;
        message.welcome.no_box = true;
        message.welcome.known_as = trib_address_v4(0x0a000002, 0);
        message.welcome.root[0] = trib_address_v4(0x0a000001, 7471);
        message.welcome.root[1] = six;
        message.welcome.peer_count = 1;
        message.welcome.peer[0] = (struct trib_peer){.rank = 3, .address = trib_address_v4(0x0a000003, 20000)};
    } else if (strcmp(goldens[i].name, "welcome, with a place to meet") == 0) {
        message.welcome.meeting = trib_address_v4(0x0a000001, 7472);
    } else if (strcmp(goldens[i].name, "welcome, behind a combiner") == 0) {
        message.welcome.server = trib_address_v4(0x0a000001, 7470);
    } else if (strcmp(goldens[i].name, "join") == 0) {
        message.join.address_count = 2;
        message.join.address[0] = trib_address_v4(0x0a000003, 0);
        message.join.address[1] = trib_address_v4(0x0a010003, 0);
    } else if (message.kind == TRIB_MESSAGE_ROOT_OPEN) {
        message.root_open.at = trib_address_v4(0x0a000002, 7473);
        message.root_open.parent = trib_address_v4(0x0a000001, 7472);
    } else if (message.kind == TRIB_MESSAGE_ROOT_CHILD) {
        message.root_child.from = trib_address_v4(0x0a000003, 20001);
        message.root_child.to = trib_address_v4(0x0a000002, 7470);
    } else if (message.kind == TRIB_MESSAGE_HELLO) {
        message.hello.at[0] = trib_address_v4(0x0a000002, 7470);
        message.hello.at[1] = trib_address_v4(0, 7471);
    } else if (message.kind == TRIB_MESSAGE_CHANNEL) {
        message.channel.peer = trib_address_v4(0x0a000003, 20001);
        message.channel.local = trib_address_v4(0x0a000002, 7470);
    }
    return message;
}

static void encode__golden(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        uint8_t want[TRIB_MESSAGE_MAX];
        uint8_t got[TRIB_MESSAGE_MAX];
        size_t len = from_hex(goldens[i].hex, want);
        const struct trib_message message = golden_message(i);
        print_message("%s\n", goldens[i].name);
        assert_int_equal(trib_message_encode(&message, got), len);
        assert_memory_equal(got, want, len);
    }
}

/* Both ways through bytes: equal bytes are equal messages, whatever padding the structs have. */
static void decode__golden(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        uint8_t bytes[TRIB_MESSAGE_MAX];
        uint8_t again[TRIB_MESSAGE_MAX];
        struct trib_message message;
        size_t used;
        size_t len = from_hex(goldens[i].hex, bytes);
        assert_int_equal(trib_message_decode(bytes, len, &message, &used), TRIB_OK);
        assert_int_equal(used, len);
        assert_int_equal(message.kind, goldens[i].message.kind);
        assert_int_equal(trib_message_encode(&message, again), len);
        assert_memory_equal(again, bytes, len);
    }
}

static void decode__every_kind_is_golden(void **state)
{
    (void)state;
    uint64_t seen = 0;
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        seen |= UINT64_C(1) << goldens[i].message.kind;
    }
    assert_true(seen == (UINT64_C(1) << TRIB_MESSAGE_KIND_COUNT) - 2);
}

/* A part of a message asks for more; a frame that is cut within its fields is no message. */
static void decode__cut_at_each_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        uint8_t bytes[TRIB_MESSAGE_MAX];
        struct trib_message message;
        size_t used;
        size_t len = from_hex(goldens[i].hex, bytes);
        for (size_t cut = 0; cut < len; cut++) {
            uint8_t *exact = malloc(cut ? cut : 1); /* a read behind it is seen by the sanitizer */
            memcpy(exact, bytes, cut);
            assert_int_equal(trib_message_decode(exact, cut, &message, &used), TRIB_OK);
            assert_int_equal(used, 0);
            if (cut > 4) {
                exact[0] = exact[1] = 0;
                exact[2] = (uint8_t)((cut - 4) >> 8);
                exact[3] = (uint8_t)(cut - 4);
                assert_int_equal(trib_message_decode(exact, cut, &message, &used), TRIB_ERR_INVALID);
                assert_int_equal(used, 0);
                assert_int_equal(message.kind, goldens[i].message.kind);
                assert_non_null(message.bad_field);
            }
            free(exact);
        }
    }
}

/* JOIN, field by field: as many bytes of each, by the name that docs/PROTOCOL.md has for it. The two goldens have all
 * items between them. */
struct span {
    const char *field;
    size_t bytes;
};

#define SETTINGS(scheme)                                                                                 \
    {"scheme", 2 + (scheme)}, {"ranks", 4}, {"payload", 4}, {"window", 4}, {"wire", 1}, {"fallback", 1}, \
        {"gradient bytes", 8}, {"priority", 1},                                                          \
    {                                                                                                    \
        "encrypt", 1                                                                                     \
    }
#define HEAD(job, run, scheme)                                                                                         \
    {"magic", 4}, {"session version", 2}, {"packet version", 2}, {"job", 2 + (job)}, {"run", 2 + (run)}, {"rank", 4},  \
        {"data ports", 64}, {"multicast", 1}, SETTINGS(scheme), {"ring", 1}, {"host", 8}, {"level 0", 1}, {"room", 4}, \
        {"meet port", 2}, {"roots", 4}, {"capabilities", 8},                                                           \
    {                                                                                                                  \
        "items", 1                                                                                                     \
    }

static const struct span join_spans[] = {HEAD(6, 10, 8),           {"item type", 2}, {"item length", 2},
                                         {"addresses", 1 + 7 + 7}, {"item type", 2}, {"item length", 2},
                                         {"root port", 2},         {"weight", 1},    {"item type", 2},
                                         {"item length", 2},       {"maker", 4},     {"job token", 8},
                                         {"maker's job", 2 + 3},   {NULL, 0}};
static const struct span return_spans[] = {
    HEAD(1, 0, 0),         {"item type", 2},    {"item length", 2}, {"salt", 8},  {"token", 8},      {"key", 8},
    {"job token", 8},      {"communicator", 4}, {"boot", 4},        {"roots", 4}, {"train", 4},      {"slots", 4},
    {"granted window", 4}, {"generation", 2},   {"data port", 2},   {"group", 4}, {"group port", 2}, {"weights", 32},
    {"switches", 8},       {"was ready", 1},    {NULL, 0}};

static size_t join_bytes(const char *name, uint8_t *bytes)
{
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        if (strcmp(goldens[i].name, name) == 0) {
            return from_hex(goldens[i].hex, bytes);
        }
    }
    fail_msg("no golden %s", name);
    return 0;
}

static void expect_bad(const uint8_t *bytes, size_t len, const char *field)
{
    struct trib_message message;
    uint8_t framed[TRIB_MESSAGE_MAX];
    size_t used;
    memcpy(framed, bytes, len);
    framed[2] = (uint8_t)((len - 4) >> 8);
    framed[3] = (uint8_t)(len - 4);
    assert_int_equal(trib_message_decode(framed, len, &message, &used), TRIB_ERR_INVALID);
    assert_int_equal(message.kind, TRIB_MESSAGE_JOIN);
    assert_string_equal(message.bad_field, field);
}

/* Cut off within each byte of each field. An item that is cut off at its end, and its length with it, is found at the
 * field that lacks; if its length stays, that does not fit. */
static void join__cut_off_names_the_field(void **state)
{
    static const struct {
        const char *golden;
        const struct span *spans;
    } joins[] = {{"join", join_spans}, {"join, a return", return_spans}};
    (void)state;
    for (size_t i = 0; i < sizeof joins / sizeof joins[0]; i++) {
        uint8_t bytes[TRIB_MESSAGE_MAX];
        size_t len = join_bytes(joins[i].golden, bytes);
        size_t at = 5;
        size_t length_at = 0; /* of the item that is being read */
        for (const struct span *span = joins[i].spans; span->field; span++) {
            length_at = strcmp(span->field, "item type") == 0 ? 0 : length_at;
            for (size_t cut = at; cut < at + span->bytes; cut++) {
                uint8_t shorter[TRIB_MESSAGE_MAX];
                memcpy(shorter, bytes, cut);
                if (length_at != 0 && cut >= length_at + 2) {
                    expect_bad(bytes, cut, "item length");
                    shorter[length_at] = 0;
                    shorter[length_at + 1] = (uint8_t)(cut - length_at - 2);
                }
                expect_bad(shorter, cut, span->field);
            }
            length_at = strcmp(span->field, "item length") == 0 ? at : length_at;
            at += span->bytes;
        }
        assert_int_equal(at, len); /* every byte is of a field */
    }
}

/* Values that no field of its kind has. Where one may have every value that fits, test_server_border.c looks. */
static void join__wrong_value_names_the_field(void **state)
{
    static const struct {
        const char *place; /* a field, and so many bytes into it */
        size_t behind;
        const char *hex, *field;
    } cases[] = {
        {"magic", 0, "00", "magic"},
        {"job", 0, "0041", "job"}, /* too long, beyond the message, with a zero */
        {"job", 0, "ffff", "job"},
        {"job", 3, "00", "job"},
        {"run", 0, "0041", "run"},
        {"run", 2, "00", "run"},
        {"multicast", 0, "02", "multicast"},
        {"scheme", 0, "0020", "scheme"},
        {"scheme", 9, "00", "scheme"},
        {"fallback", 0, "ff", "fallback"},
        {"ring", 0, "02", "ring"},
        {"level 0", 0, "80", "level 0"},
        {"items", 0, "11", "items"},
        {"item type", 0, "0000", "item type"},
        {"item length", 0, "04", "item length"},
        {"addresses", 0, "11", "addresses"}, /* too many; one more and one less than there are; of no family */
        {"addresses", 0, "03", "addresses"},
        {"addresses", 0, "01", "addresses"},
        {"addresses", 1, "05", "addresses"},
        {"addresses", 1, "00", "addresses"},
        {"root port", 0, "000000", "root"},
        {"maker's job", 0, "0041", "maker's job"},
        {"maker's job", 2, "00", "maker's job"},
        {"maker's job", 0, "0002", "maker"},
        {"was ready", 0, "02", "was ready"},
        {"communicator", 0, "00000000", "known grant"}, /* which says that there is none */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[TRIB_MESSAGE_MAX];
        uint8_t value[8];
        bool is_return = strcmp(cases[i].place, "was ready") == 0 || strcmp(cases[i].place, "communicator") == 0;
        size_t len = join_bytes(is_return ? "join, a return" : "join", bytes);
        size_t at = 5;
        for (const struct span *span = is_return ? return_spans : join_spans; strcmp(span->field, cases[i].place) != 0;
             span++) {
            at += span->bytes;
        }
        memcpy(bytes + at + cases[i].behind, value, from_hex(cases[i].hex, value));
        print_message("%s: %s\n", cases[i].place, cases[i].hex);
        expect_bad(bytes, len, cases[i].field);
    }
}

static void decode__one_byte_too_many(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        uint8_t bytes[TRIB_MESSAGE_MAX] = {0};
        struct trib_message message;
        size_t used;
        size_t len = from_hex(goldens[i].hex, bytes);
        assert_int_equal(trib_message_decode(bytes, len + 1, &message, &used), TRIB_OK);
        assert_int_equal(used, len); /* it belongs to the next */
        bytes[2] = (uint8_t)((len - 3) >> 8);
        bytes[3] = (uint8_t)(len - 3);
        assert_int_equal(trib_message_decode(bytes, len + 1, &message, &used), TRIB_ERR_INVALID);
        assert_string_equal(message.bad_field, "end");
    }
}

static void decode__bad_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *why, *hex;
    } cases[] = {
        {"length 0", "00000000"},
        {"length above the limit, before the rest is there", "000007fd"},
        {"length 2^32 - 1", "ffffffff"},
        {"kind 0", "0000000900"},
        {"kind behind the last, before the rest is there", "000000092a"},
        {"more roots than there can be", "0000006902" GRANT_HEX "0000000421 00"},
        {"a place to meet of no family", "0000007202" GRANT_HEX "000000040000 00 05 1d30 0a000001 00 0000"},
        {"more peers than it carries", "0000006902" GRANT_HEX "00000004 00 00 05"},
        {"an address of no family", "0000001a13 21222324 31323334 00000003 00000002 00 00 05 4e21 0a000003"},
        {"a child that is a switch or not", "0000001a13 21222324 31323334 00000003 00000002 02 00 04 4e21 0a000003"},
        {"a child that is combined or not", "0000001a13 21222324 31323334 00000003 00000002 01 02 04 4e21 0a000003"},
        {"more shards than there can be",
         "0000002b18 54524942 0015 0001 3132333435363738 2122232425262728 00000009 1112131415161718 00200000 01 21"},
        {"more bytes than a channel carries at a time", "0000000723 00000005 07d1"},
        {"more switches on the way than there may be",
         "0000002c18 54524942 0015 0001 3132333435363738 2122232425262728 00000009 1112131415161718 00200000 01 00 11"},
        {"fewer ranks than its list names", "000000130d0000000000000731000004b0000200020000"},
        {"more ranks than its list names", "000000150d0000000000000731000004b00001000200030000"},
        {"a bool of 2", "00000003030200"},
        {"a text longer than the message", "0000001208000000000000001100ff62617272696572"},
        {"a text with a zero byte", "000000090cfffffff500026800"},
        {"progress in less than 2 s", "00000011 29 0000000000001234 00000000773593ff"},
        {"another magic", "000000090154524943000100010000000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[128];
        struct trib_message message;
        size_t used;
        size_t len = from_hex(cases[i].hex, bytes);
        print_message("%s\n", cases[i].why);
        assert_int_equal(trib_message_decode(bytes, len, &message, &used), TRIB_ERR_INVALID);
    }
}

static void decode__text_that_does_not_fit(void **state)
{
    (void)state;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL};
    size_t used;
    memset(message.fail.text, 'x', sizeof message.fail.text); /* no final zero: cut */
    size_t len = trib_message_encode(&message, bytes);
    assert_int_equal(len, 4 + 1 + 4 + 2 + TRIB_ERROR_TEXT_MAX - 1);
    assert_int_equal(trib_message_decode(bytes, len, &message, &used), TRIB_OK);
    assert_int_equal(strlen(message.fail.text), TRIB_ERROR_TEXT_MAX - 1);
    bytes[3]++;
    bytes[10]++; /* one character more than a text may have */
    bytes[len] = 'x';
    assert_int_equal(trib_message_decode(bytes, len + 1, &message, &used), TRIB_ERR_INVALID);
}

static void decode__other_versions(void **state)
{
    (void)state;
    static const char *const cases[] = {"00000009 01 54524942 0001 0001", "00000009 01 54524942 0004 0007",
                                        "0000000b 01 54524942 ffff ffff abcd"};
    for (size_t i = 0; i < 3; i++) {
        uint8_t bytes[64];
        struct trib_message message;
        size_t used;
        size_t len = from_hex(cases[i], bytes);
        assert_int_equal(trib_message_decode(bytes, len, &message, &used), TRIB_ERR_VERSION);
        assert_int_equal(message.join.magic, TRIB_SESSION_MAGIC);
        assert_int_equal(message.join.version, i == 0 ? 1 : i == 1 ? 4 : 0xffff);
        assert_int_equal(message.join.wire_version, i == 0 ? 1 : i == 1 ? 7 : 0xffff);
    }
}

/* Addresses come out as those of the sockets that they are of, but for a scope, which means nothing to another
 * machine. */
static void decode__addresses(void **state)
{
    (void)state;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    struct trib_message message = {.kind = TRIB_MESSAGE_WELCOME};
    struct trib_message again;
    size_t used;
    message.welcome.root_count = TRIB_ROOTS_MAX;
    message.welcome.peer_count = TRIB_PEERS_MAX;
    for (uint16_t i = 0; i < TRIB_ROOTS_MAX; i++) {
        message.welcome.root[i] = trib_address_v4(0x0a000001 + i, (uint16_t)(7470 + i));
        if (i % 2) {
            assert_int_equal(trib_address_parse("[2001:db8::9]", i, &message.welcome.root[i], NULL), TRIB_OK);
        }
        message.welcome.peer[i % TRIB_PEERS_MAX] = (struct trib_peer){.rank = i, .address = message.welcome.root[i]};
    }
    size_t len = trib_message_encode(&message, bytes);
    assert_int_equal(trib_message_decode(bytes, len, &again, &used), TRIB_OK);
    assert_int_equal(used, len);
    for (unsigned i = 0; i < TRIB_ROOTS_MAX; i++) {
        assert_true(trib_address_equal(&again.welcome.root[i], &message.welcome.root[i]));
        assert_int_equal(again.welcome.root[i].len, message.welcome.root[i].len);
    }
    for (unsigned i = 0; i < TRIB_PEERS_MAX; i++) {
        assert_int_equal(again.welcome.peer[i].rank, message.welcome.peer[i].rank);
        assert_true(trib_address_equal(&again.welcome.peer[i].address, &message.welcome.peer[i].address));
    }
}

/* A list may name more ranks than it carries. */
static void encode__long_list_of_ranks(void **state)
{
    (void)state;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    struct trib_message message = {.kind = TRIB_MESSAGE_MISSING};
    struct trib_message again;
    size_t used;
    for (uint32_t count = TRIB_RANKS_LISTED - 1; count < TRIB_RANKS_LISTED + 2; count++) {
        message.stall.missing.count = (uint16_t)count;
        for (uint32_t i = 0; i < TRIB_RANKS_LISTED; i++) {
            message.stall.missing.rank[i] = (uint16_t)(3 * i);
        }
        uint32_t carried = count < TRIB_RANKS_LISTED ? count : TRIB_RANKS_LISTED;
        size_t len = trib_message_encode(&message, bytes);
        assert_int_equal(len, 4 + 1 + 8 + 4 + 2 + 2 * carried + 2);
        assert_int_equal(trib_message_decode(bytes, len, &again, &used), TRIB_OK);
        assert_int_equal(again.stall.missing.count, count);
        assert_memory_equal(again.stall.missing.rank, message.stall.missing.rank, 2 * carried);
    }
}

/* Pieces beyond those that there are, and more of them than bits. */
static void root_open__pieces_that_cannot_be(void **state)
{
    static const struct {
        uint8_t count;
        uint64_t own;
        bool can_be;
    } cases[] = {{16, 0xffff, true}, {16, 0x10000, false}, {64, UINT64_MAX, true}, {65, 1, false},
                 {1, 1, true},       {0, 1, false},        {255, 1, false},        {63, UINT64_MAX, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[TRIB_MESSAGE_MAX];
        size_t used;
        size_t len = join_bytes("root_open", bytes);
        struct trib_message message;
        const size_t end = len - (4 + TRIB_AUTH_KEY + 5) - 12; /* of the item: tenant and packet key follow */
        bytes[end - 9] = cases[i].count;
        for (unsigned k = 0; k < 8; k++) {
            bytes[end - 1 - k] = (uint8_t)(cases[i].own >> 8 * k);
        }
        enum trib_status status = trib_message_decode(bytes, len, &message, &used);
        assert_int_equal(status, cases[i].can_be ? TRIB_OK : TRIB_ERR_INVALID);
        if (!cases[i].can_be) {
            assert_string_equal(message.bad_field, "own pieces");
        }
    }
}

/* Numbers from 64 on are an item, which a switch that does not know it refuses. */
static void root_open__numbers_from_64(void **state)
{
    uint8_t bytes[TRIB_MESSAGE_MAX];
    struct trib_message message;
    struct trib_message again;
    size_t used;
    (void)state;
    size_t len = join_bytes("root_open", bytes);
    assert_int_equal(trib_message_decode(bytes, len, &message, &used), TRIB_OK);
    trib_rank_set_add(&message.root_open.numbers, 64);
    trib_rank_set_add(&message.root_open.numbers, TRIB_RANKS_MAX - 1);
    size_t more = trib_message_encode(&message, bytes);
    assert_int_equal(more, len + 4 + 8 * (TRIB_RANKS_MAX / 64 - 1));
    assert_int_equal(trib_message_decode(bytes, more, &again, &used), TRIB_OK);
    assert_memory_equal(&again.root_open.numbers, &message.root_open.numbers, sizeof again.root_open.numbers);
    assert_int_equal(bytes[len], TRIB_ITEM_NUMBERS >> 8);
    assert_int_equal(bytes[len + 1], TRIB_ITEM_NUMBERS & 0xff);
}

/* Only a message with items may have been longer: what is left of it comes back the same. */
static void assert_skipped(const struct trib_message *message, const uint8_t *bytes, size_t len, size_t was)
{
    uint8_t again[TRIB_MESSAGE_MAX];
    struct trib_message left;
    size_t used;
    assert_true(message->kind == TRIB_MESSAGE_JOIN || message->kind == TRIB_MESSAGE_WELCOME ||
                message->kind == TRIB_MESSAGE_CONTROL || message->kind == TRIB_MESSAGE_HELLO ||
                message->kind == TRIB_MESSAGE_ROOT_OPEN);
    assert_true(len < was);
    assert_int_equal(trib_message_decode(bytes, len, &left, &used), TRIB_OK);
    assert_int_equal(used, len);
    assert_int_equal(trib_message_encode(&left, again), len);
    assert_memory_equal(again, bytes, len);
}

/* Golden messages with a few bytes changed, and plain noise: whatever is taken must encode to the bytes it came from,
 * but for items that are not known. */
static void decode__random_bytes(void **state)
{
    (void)state;
    struct trib_prng prng = {.state = 7};
    unsigned taken = 0;
    for (unsigned round = 0; round < 200000; round++) {
        uint8_t bytes[TRIB_MESSAGE_MAX] = {0};
        uint8_t again[TRIB_MESSAGE_MAX];
        struct trib_message message;
        size_t used = 0;
        size_t len = from_hex(goldens[round % GOLDEN_COUNT].hex, bytes);
        for (unsigned i = 0; i < round % 4; i++) {
            size_t at = trib_prng_below(&prng, len);
            bytes[at] ^= (uint8_t)trib_prng_next(&prng);
        }
        enum trib_status status = trib_message_decode(bytes, len, &message, &used);
        assert_true(used <= len);
        if (status == TRIB_OK && used > 0) {
            size_t written = trib_message_encode(&message, again);
            if (written == used) {
                assert_memory_equal(again, bytes, used);
            } else {
                assert_skipped(&message, again, written, used);
            }
            taken++;
        }
    }
    assert_true(taken > 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encode__golden),
        cmocka_unit_test(decode__golden),
        cmocka_unit_test(decode__every_kind_is_golden),
        cmocka_unit_test(decode__cut_at_each_byte),
        cmocka_unit_test(join__cut_off_names_the_field),
        cmocka_unit_test(join__wrong_value_names_the_field),
        cmocka_unit_test(root_open__pieces_that_cannot_be),
        cmocka_unit_test(root_open__numbers_from_64),
        cmocka_unit_test(decode__one_byte_too_many),
        cmocka_unit_test(decode__bad_bytes),
        cmocka_unit_test(decode__text_that_does_not_fit),
        cmocka_unit_test(decode__other_versions),
        cmocka_unit_test(decode__addresses),
        cmocka_unit_test(encode__long_list_of_ranks),
        cmocka_unit_test(decode__random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
