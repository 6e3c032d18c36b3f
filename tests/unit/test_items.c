/* SPDX-License-Identifier: Apache-2.0 */
/* test_items.c: the block of items that ends the first message of each side (docs/PROTOCOL.md, "Sessions"): what is
 * skipped, what is refused by its number, and blocks that no sender makes. Mirrors src/control/words/items.c. */
#include "unit/control_harness.h"
#include "unit/session_goldens.h"

#include "control/words/session_client.h"

/* A WELCOME, and where its count of items is. */
static size_t welcome_bytes(uint8_t *bytes)
{
    size_t len = 0;
    for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) {
        if (goldens[i].message.kind == TRIB_MESSAGE_WELCOME && len == 0) {
            len = trib_message_encode(&goldens[i].message, bytes);
        }
    }
    assert_true(len > 0);
    return len - 1;
}

static void set_length(uint8_t *bytes, size_t len)
{
    uint32_t body = (uint32_t)len - 4;
    for (unsigned i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(body >> (24 - 8 * i));
    }
}

/* The message at `bytes`, whose block is to be these items, by hex. Returns its length. */
static size_t put_block(uint8_t *bytes, size_t at, const char *hex)
{
    size_t len = at + from_hex(hex, bytes + at);
    set_length(bytes, len);
    return len;
}

static enum trib_status decode_block(const char *hex, struct trib_message *message)
{
    uint8_t bytes[2 * TRIB_MESSAGE_MAX];
    size_t used;
    size_t len = put_block(bytes, welcome_bytes(bytes), hex);
    enum trib_status status = trib_message_decode(bytes, len, message, &used);
    assert_int_equal(used, status == TRIB_OK ? len : 0);
    return status;
}

static void unknown__is_skipped(void **state)
{
    (void)state;
    struct trib_message message;
    assert_int_equal(decode_block("03 0005 0000 0006 0003 aabbcc 7fff 0001 00", &message), TRIB_OK);
    assert_int_equal(message.unknown_item, 0);
    assert_int_equal(message.welcome.generation_ranks, goldens[2].message.welcome.generation_ranks);
}

static void unknown__that_must_be_known_is_refused_by_its_number(void **state)
{
    (void)state;
    struct trib_message message;
    assert_int_equal(decode_block("03 0005 0000 8007 0001 aa 8008 0000", &message), TRIB_ERR_VERSION);
    assert_int_equal(message.unknown_item, 32775);
    assert_int_equal(decode_block("01 ffff 0000", &message), TRIB_ERR_VERSION);
    assert_int_equal(message.unknown_item, 65535);
}

static void block__that_no_sender_makes(void **state)
{
    (void)state;
    static const struct {
        const char *hex, *field;
    } blocks[] = {
        {"01", "item type"},
        {"01 00", "item type"},
        {"01 0005", "item length"},
        {"01 0005 0001", "item length"}, /* beyond the message */
        {"01 0005 ffff aa", "item length"},
        {"02 0005 0000 0005 0000", "item type"}, /* twice */
        {"02 8007 0000 8007 0000", "item type"},
        {"02 0006 0000 0005 0000", "item type"}, /* not ascending */
        {"01 0000 0000", "item type"},           /* 0 is none */
        {"11 0005 0000", "items"},               /* 17 */
        {"ff", "items"},
        {"00 00", "end"},
        {"01 0005 0001 aa bb", "end"},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        struct trib_message message;
        assert_int_equal(decode_block(blocks[i].hex, &message), TRIB_ERR_INVALID);
        assert_string_equal(message.bad_field, blocks[i].field);
    }
}

static void block__of_a_kibibyte_and_no_more(void **state)
{
    (void)state;
    for (size_t over = 0; over < 2; over++) {
        struct trib_message message;
        size_t used;
        uint8_t bytes[2 * TRIB_MESSAGE_MAX] = {0};
        size_t at = welcome_bytes(bytes);
        size_t value = 1024 - 4 + over;
        memcpy(bytes + at, (const uint8_t[]){1, 0, 5, (uint8_t)(value >> 8), (uint8_t)value}, 5);
        memset(bytes + at + 5, 0xaa, value);
        set_length(bytes, at + 5 + value);
        assert_int_equal(trib_message_decode(bytes, at + 5 + value, &message, &used),
                         over > 0 ? TRIB_ERR_INVALID : TRIB_OK);
    }
}

/* Of an item of JOIN that is known: each length but its own, and one that says nothing. */
static void known__is_whole_and_says_something(void **state)
{
    (void)state;
    for (unsigned length = 0; length < 8; length++) {
        struct trib_message join = join_message(0, 1);
        struct trib_message message;
        uint8_t bytes[TRIB_MESSAGE_MAX] = {0};
        size_t used;
        size_t at = trib_message_encode(&join, bytes) - 1;
        memcpy(bytes + at, (const uint8_t[]){1, 0x80, 3, 0, (uint8_t)length, 0x75, 0x31, 1}, 8);
        memset(bytes + at + 8, 0, 8);
        set_length(bytes, at + 5 + length);
        assert_int_equal(trib_message_decode(bytes, at + 5 + length, &message, &used),
                         length == 3 ? TRIB_OK : TRIB_ERR_INVALID);
        if (length == 3) {
            assert_int_equal(message.join.root_port, 0x7531);
            memset(bytes + at + 5, 0, 3);
            assert_int_equal(trib_message_decode(bytes, at + 5 + length, &message, &used), TRIB_ERR_INVALID);
            assert_string_equal(message.bad_field, "root");
        }
    }
}

/* One that goes straight to the switch and returns nowhere has no items. */
static void join__common_has_none(void **state)
{
    (void)state;
    uint8_t bytes[TRIB_MESSAGE_MAX];
    struct trib_message join = join_message(0, 1);
    size_t len = trib_message_encode(&join, bytes);
    assert_int_equal(bytes[len - 1], 0);
}

static void switch__names_what_it_does_not_know(void **state)
{
    struct control *c = *state;
    control_start(c);
    uint8_t bytes[TRIB_MESSAGE_MAX];
    struct trib_message join = join_message(0, 1);
    size_t at = trib_message_encode(&join, bytes) - 1;
    int fd = connect_to(c->port);
    send_bytes(fd, bytes, put_block(bytes, at, "01 8007 0000"));
    expect_fail(fd, TRIB_ERR_VERSION, "message JOIN needs feature 32775, which this switch");
    fd = connect_to(c->port);
    send_bytes(fd, bytes, put_block(bytes, at, "01 0007 0000"));
    (void)expect(fd, TRIB_MESSAGE_WELCOME);
    close(fd);
}

static void rank__names_what_it_does_not_know(void **state)
{
    (void)state;
    struct trib_session_client client;
    struct trib_message message;
    trib_session_client_init(&client);
    client.state = TRIB_SESSION_LOST; /* the message is from before the loss */
    client.in_len = put_block(client.in, welcome_bytes(client.in), "01 8007 0000");
    assert_false(trib_session_client_next(&client, &message));
    assert_int_equal(client.state, TRIB_SESSION_FOREIGN);
    assert_non_null(strstr(client.cause, "its WELCOME needs feature 32775"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown__is_skipped),
        cmocka_unit_test(unknown__that_must_be_known_is_refused_by_its_number),
        cmocka_unit_test(block__that_no_sender_makes),
        cmocka_unit_test(block__of_a_kibibyte_and_no_more),
        cmocka_unit_test(known__is_whole_and_says_something),
        cmocka_unit_test(join__common_has_none),
        cmocka_unit_test_setup_teardown(switch__names_what_it_does_not_know, control_set_up, control_tear_down),
        cmocka_unit_test(rank__names_what_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
