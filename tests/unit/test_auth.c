/* SPDX-License-Identifier: Apache-2.0 */
/* test_auth.c: authenticators: the vectors of tests/vectors/auth.py, every bit of a packet, receivers, the window of
 * numbers against a list of all numbers, and forged numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "keys/auth.h"
#include "keys/derive.h"

#define ROOT trib_auth_switch(0, 2)
#define NUMBERS 20000
#define PACKET (TRIB_HEADER_SIZE + 100 + TRIB_AUTHENTICATOR_SIZE)

static const uint8_t key[TRIB_AUTH_KEY] = {1, 2, 3};

static struct trib_auth *create(uint16_t own, uint16_t peer)
{
    struct trib_auth *auth = trib_auth_create(key, own, 1, false);
    assert_non_null(auth);
    assert_true(trib_auth_set_above(auth, 0, peer, key));
    return auth;
}

/* A packet of this sender; returns its length. */
static size_t make(struct trib_auth *auth, uint16_t receiver, uint8_t *packet, size_t payload)
{
    for (size_t i = 0; i < TRIB_HEADER_SIZE + payload; i++) {
        packet[i] = (uint8_t)(7 * i);
    }
    trib_auth_seal(auth, receiver, packet, packet + TRIB_HEADER_SIZE, payload, packet + TRIB_HEADER_SIZE + payload);
    return TRIB_HEADER_SIZE + payload + TRIB_AUTHENTICATOR_SIZE;
}

static int setup(void **state)
{
    (void)state;
    if (trib_keys_explain_lack() != NULL) {
        print_message("%s\n", trib_keys_explain_lack());
        exit(77);
    }
    return 0;
}

/* ---- vectors ---- */

static void from_hex(const char *hex, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned value = 0;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
        bytes[i] = (uint8_t)value;
    }
}

struct vector {
    unsigned sender, receiver;
    unsigned long long number;
    size_t payload;
    uint8_t expected[TRIB_AUTHENTICATOR_SIZE];
};

static void check_vector(const uint8_t *vector_key, const struct vector *v)
{
    static uint8_t packet[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX + TRIB_AUTHENTICATOR_SIZE];
    size_t len = TRIB_HEADER_SIZE + v->payload;
    uint8_t made[TRIB_AUTHENTICATOR_SIZE];
    for (size_t i = 0; i < len; i++) {
        packet[i] = (uint8_t)((3 * i + v->payload) % 251);
    }
    struct trib_auth *sender = trib_auth_create(vector_key, (uint16_t)v->sender, 0, false);
    struct trib_auth *receiver = trib_auth_create(vector_key, (uint16_t)v->receiver, 1, false);
    assert_true(sender != NULL && receiver != NULL);
    for (unsigned long long i = 0; i <= v->number && v->number < 100; i++) {
        trib_auth_seal(sender, (uint16_t)v->receiver, packet, packet + TRIB_HEADER_SIZE, v->payload, made);
    }
    if (v->number < 100) {
        assert_memory_equal(made, v->expected, sizeof made);
    }
    assert_true(trib_auth_set_above(receiver, 0, (uint16_t)v->sender, vector_key));
    memcpy(packet + len, v->expected, sizeof v->expected);
    assert_int_equal(trib_auth_check(receiver, 0, packet, len + sizeof v->expected), TRIB_DROP_NONE);
    assert_int_equal(trib_auth_check(receiver, 0, packet, len + sizeof v->expected), TRIB_DROP_REPLAY);
    trib_auth_destroy(sender);
    trib_auth_destroy(receiver);
}

static void vectors__agree_with_another_library(void **state)
{
    char line[256], hex[2 * TRIB_AUTHENTICATOR_SIZE + 1];
    uint8_t vector_key[TRIB_AUTH_KEY] = {0};
    unsigned count = 0;
    FILE *file = fopen(TRIB_TEST_DIR "/vectors/auth.txt", "r");
    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        struct vector v = {.sender = 0};
        if (strncmp(line, "key ", 4) == 0) {
            from_hex(line + 4, vector_key, sizeof vector_key);
        } else if (sscanf(line, "packet sender %u receiver %u number %llu payload %zu is %56s", &v.sender, &v.receiver,
                          &v.number, &v.payload, hex) == 5) {
            from_hex(hex, v.expected, sizeof v.expected);
            check_vector(vector_key, &v);
            count++;
        }
    }
    (void)fclose(file);
    assert_int_equal(count, 6);
}

/* The encrypted payload of the packet with this number, and back. */
static void check_payload(const uint8_t *vector_key, const struct vector *v, const uint8_t *expected)
{
    uint8_t packet[TRIB_HEADER_SIZE + 256 + TRIB_AUTHENTICATOR_SIZE] = {0};
    uint8_t plain[256];
    uint8_t *payload = packet + TRIB_HEADER_SIZE;
    struct trib_auth *sender = trib_auth_create(vector_key, (uint16_t)v->sender, 0, true);
    struct trib_auth *receiver = trib_auth_create(vector_key, ROOT, 1, true);
    assert_true(sender != NULL && receiver != NULL && v->payload <= sizeof plain);
    assert_true(trib_auth_set_peer(receiver, 0, (uint16_t)v->sender, vector_key));
    for (size_t i = 0; i < v->payload; i++) {
        plain[i] = (uint8_t)((3 * (TRIB_HEADER_SIZE + i) + v->payload) % 251);
    }
    for (unsigned long long i = 0; i <= v->number; i++) {
        trib_auth_encrypt(sender, plain, v->payload, payload);
        trib_auth_seal(sender, ROOT, packet, payload, v->payload, payload + v->payload);
    }
    assert_memory_equal(payload, expected, v->payload);
    size_t len = TRIB_HEADER_SIZE + v->payload + TRIB_AUTHENTICATOR_SIZE;
    assert_int_equal(trib_auth_check(receiver, 0, packet, len), TRIB_DROP_NONE);
    trib_auth_decrypt(receiver, 0, packet, len);
    assert_memory_equal(payload, plain, v->payload);
    trib_auth_destroy(sender);
    trib_auth_destroy(receiver);
}

static void vectors__of_payloads(void **state)
{
    char line[512], hex[2 * 256 + 1];
    uint8_t vector_key[TRIB_AUTH_KEY] = {0};
    uint8_t expected[256];
    unsigned count = 0;
    FILE *file = fopen(TRIB_TEST_DIR "/vectors/auth.txt", "r");
    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        struct vector v = {.sender = 0};
        if (strncmp(line, "key ", 4) == 0) {
            from_hex(line + 4, vector_key, sizeof vector_key);
        } else if (sscanf(line, "payload sender %u number %llu bytes %zu is %512s", &v.sender, &v.number, &v.payload,
                          hex) == 4) {
            from_hex(hex, expected, v.payload);
            check_payload(vector_key, &v, expected);
            count++;
        }
    }
    (void)fclose(file);
    assert_int_equal(count, 2);
}

static void vectors__of_sender_keys(void **state)
{
    char line[256], hex[2 * TRIB_AUTH_KEY + 1];
    uint8_t packet_key[TRIB_AUTH_KEY] = {0};
    uint8_t expected[TRIB_AUTH_KEY], made[TRIB_AUTH_KEY];
    unsigned count = 0;
    FILE *file = fopen(TRIB_TEST_DIR "/vectors/auth.txt", "r");
    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned id = 0;
        if (strncmp(line, "key ", 4) == 0) {
            from_hex(line + 4, packet_key, sizeof packet_key);
        } else if (sscanf(line, "sender key id %u is %64s", &id, hex) == 2) {
            from_hex(hex, expected, sizeof expected);
            trib_auth_make_sender_key(packet_key, id, made);
            assert_memory_equal(made, expected, sizeof made);
            count++;
        }
    }
    (void)fclose(file);
    assert_int_equal(count, 6);
}

/* ---- what is refused ---- */

static void check__finds_every_bit(void **state)
{
    uint8_t packet[PACKET];
    struct trib_auth *rank = create(trib_auth_rank(5), ROOT);
    struct trib_auth *root = create(ROOT, trib_auth_rank(5));
    (void)state;
    size_t len = make(rank, ROOT, packet, 100);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(trib_auth_check(root, 0, packet, len), TRIB_DROP_AUTH);
        packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t cut = TRIB_HEADER_SIZE + TRIB_AUTHENTICATOR_SIZE; cut < len; cut++) {
        assert_int_equal(trib_auth_check(root, 0, packet, cut), TRIB_DROP_AUTH);
    }
    assert_int_equal(trib_auth_check(root, 0, packet, len), TRIB_DROP_NONE);
    trib_auth_destroy(rank);
    trib_auth_destroy(root);
}

/* A packet of one rank from the address of another, to another root, and back to its sender. */
static void check__is_for_sender_and_receiver(void **state)
{
    uint8_t packet[PACKET];
    struct trib_auth *rank = create(trib_auth_rank(5), ROOT);
    struct trib_auth *root = create(ROOT, trib_auth_rank(6));
    struct trib_auth *other = create(trib_auth_switch(0, 3), trib_auth_rank(5));
    struct trib_auth *below = create(trib_auth_switch(1, 2), trib_auth_rank(5));
    (void)state;
    size_t len = make(rank, ROOT, packet, 100);
    assert_int_equal(trib_auth_check(root, 0, packet, len), TRIB_DROP_AUTH);
    assert_int_equal(trib_auth_check(other, 0, packet, len), TRIB_DROP_AUTH);
    assert_int_equal(trib_auth_check(below, 0, packet, len), TRIB_DROP_AUTH);
    assert_true(trib_auth_set_peer(rank, 0, trib_auth_rank(5), key));
    assert_int_equal(trib_auth_check(rank, 0, packet, len), TRIB_DROP_AUTH);
    len = make(rank, TRIB_AUTH_ALL, packet, 100);
    assert_int_equal(trib_auth_check(other, 0, packet, len), TRIB_DROP_NONE);
    assert_int_equal(trib_auth_check(below, 0, packet, len), TRIB_DROP_NONE);
    assert_true(trib_auth_set_peer(other, 0, trib_auth_rank(5), key)); /* what goes down to all does not go up */
    assert_int_equal(trib_auth_check(other, 0, packet, len), TRIB_DROP_AUTH);
    trib_auth_destroy(rank);
    trib_auth_destroy(root);
    trib_auth_destroy(other);
    trib_auth_destroy(below);
}

/* Ids of the largest job, and receivers of packets for all but one of them. */
static void ids__differ(void **state)
{
    static bool is_used[UINT16_MAX + 1];
    (void)state;
    is_used[TRIB_AUTH_ALL] = true;
    for (uint32_t number = 0; number <= TRIB_SESSION_RANKS_MAX; number++) {
        uint16_t ids[TRIB_ROOTS_MAX + 3];
        uint32_t count = 0;
        for (uint32_t root = 0; root < TRIB_ROOTS_MAX; root++) {
            ids[count++] = trib_auth_switch(number, root);
        }
        ids[count++] = trib_auth_all_but(ids[0]);
        if (number < TRIB_SESSION_RANKS_MAX) {
            ids[count++] = trib_auth_rank(number);
            ids[count++] = trib_auth_all_but(trib_auth_rank(number));
        }
        for (uint32_t i = 0; i < count; i++) {
            assert_false(is_used[ids[i]]);
            is_used[ids[i]] = true;
        }
    }
}

/* What all but one receive is for nobody else, nor for that one; ids of the largest jobs. */
static void check__is_not_for_the_one_left_out(void **state)
{
    const uint16_t ids[] = {trib_auth_rank(0),        trib_auth_rank(1),          trib_auth_rank(1023),
                            trib_auth_switch(1, 0),   trib_auth_switch(2, 31),    trib_auth_switch(31, 2),
                            trib_auth_switch(256, 0), trib_auth_switch(1023, 31), trib_auth_switch(1024, 31)};
    const unsigned count = sizeof ids / sizeof ids[0];
    uint8_t packet[PACKET];
    struct trib_auth *root = create(ROOT, trib_auth_rank(5));
    (void)state;
    for (unsigned left_out = 0; left_out < count; left_out++) {
        uint16_t receiver = trib_auth_all_but(ids[left_out]);
        size_t len = make(root, receiver, packet, 10);
        for (unsigned i = 0; i < count; i++) {
            struct trib_auth *other = create(ids[i], ROOT);
            assert_int_not_equal(receiver, ids[i]);
            assert_int_not_equal(receiver, TRIB_AUTH_ALL);
            assert_int_equal(trib_auth_check(other, 0, packet, len), i == left_out ? TRIB_DROP_AUTH : TRIB_DROP_NONE);
            trib_auth_destroy(other);
        }
    }
    trib_auth_destroy(root);
}

static void check__another_incarnation_has_another_key(void **state)
{
    uint8_t packet[PACKET];
    uint8_t next[TRIB_AUTH_KEY] = {1, 2, 4};
    struct trib_auth *rank = create(trib_auth_rank(5), ROOT);
    struct trib_auth *root = trib_auth_create(key, ROOT, 1, false);
    (void)state;
    assert_non_null(root);
    assert_true(trib_auth_set_peer(root, 0, trib_auth_rank(5), next));
    assert_int_equal(trib_auth_check(root, 0, packet, make(rank, ROOT, packet, 100)), TRIB_DROP_AUTH);
    trib_auth_destroy(rank);
    trib_auth_destroy(root);
}

/* The roots of one agent have one key; no other two senders have. */
static void sender_keys__differ(void **state)
{
    const uint32_t ids[] = {trib_auth_rank(0),
                            trib_auth_rank(5),
                            trib_auth_rank(1023),
                            trib_auth_switch(0, 0),
                            trib_auth_switch(1, 0),
                            trib_auth_switch(1024, 0),
                            TRIB_AUTH_ALL,
                            TRIB_AUTH_UP | trib_auth_switch(0, 0),
                            TRIB_AUTH_UP | trib_auth_switch(1, 0)};
    enum { COUNT = sizeof ids / sizeof ids[0] };
    uint8_t made[COUNT][TRIB_AUTH_KEY];
    uint8_t other[TRIB_AUTH_KEY];
    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        trib_auth_make_sender_key(key, ids[i], made[i]);
        assert_memory_not_equal(made[i], key, sizeof key);
        for (unsigned k = 0; k < i; k++) {
            assert_memory_not_equal(made[i], made[k], sizeof made[i]);
        }
    }
    trib_auth_make_sender_key(key, trib_auth_switch(1024, 31), other);
    assert_memory_equal(other, made[5], sizeof other);
}

/* A rank that lies, with all that its WELCOME brings, under the name of another rank. */
static void rank__cannot_speak_for_another(void **state)
{
    const uint16_t names[2] = {trib_auth_rank(5), trib_auth_rank(6)};
    uint8_t packet[PACKET];
    uint8_t own[2][TRIB_AUTH_KEY], heard[TRIB_AUTH_KEY];
    trib_auth_make_sender_key(key, ROOT, heard);
    struct trib_auth *root = trib_auth_create(heard, ROOT, 2, false);
    (void)state;
    assert_non_null(root);
    for (unsigned i = 0; i < 2; i++) {
        trib_auth_make_sender_key(key, names[i], own[i]);
        assert_true(trib_auth_set_peer(root, i, names[i], own[i]));
    }
    const uint8_t *const has[] = {own[0], heard, own[1]}; /* the last is the right one */
    for (unsigned i = 0; i < 3; i++) {
        struct trib_auth *sender = trib_auth_create(has[i], names[1], 0, false);
        assert_non_null(sender);
        size_t len = make(sender, ROOT, packet, 100);
        assert_int_equal(trib_auth_check(root, 1, packet, len), i < 2 ? TRIB_DROP_AUTH : TRIB_DROP_NONE);
        trib_auth_destroy(sender);
    }
    trib_auth_destroy(root);
}

/* ---- the window ---- */

/* Packets of NUMBERS numbers, in an order that a bad network makes, some lost, some twice: each is taken once, unless
 * it is older than the window. Between them forged ones, which change nothing. */
static void window__takes_each_number_once(void **state)
{
    static uint8_t packets[NUMBERS][TRIB_HEADER_SIZE + TRIB_AUTHENTICATOR_SIZE];
    static bool has_come[NUMBERS];
    struct trib_auth *rank = create(trib_auth_rank(5), ROOT);
    struct trib_auth *root = create(ROOT, trib_auth_rank(5));
    struct trib_prng prng = {7};
    uint64_t newest = 0;
    uint64_t taken = 0;
    (void)state;

    for (uint32_t i = 0; i < NUMBERS; i++) {
        (void)make(rank, ROOT, packets[i], 0);
    }
    for (uint64_t step = 0; step < 3 * NUMBERS; step++) {
        uint64_t front = step / 3;
        uint64_t spread = trib_prng_next(&prng) % (step % 100 == 0 ? 5000 : 300);
        uint64_t number = front > spread ? front - spread : front;
        uint8_t copy[TRIB_HEADER_SIZE + TRIB_AUTHENTICATOR_SIZE];
        memcpy(copy, packets[number], sizeof copy);
        copy[TRIB_HEADER_SIZE + 4 + step % 8] ^= (uint8_t)(1 + step % 255); /* another number, another MAC */
        assert_int_not_equal(trib_auth_check(root, 0, copy, sizeof copy), TRIB_DROP_NONE);
        bool is_old = newest / 64 > number / 64 && newest / 64 - number / 64 >= TRIB_AUTH_WINDOW / 64;
        enum trib_drop expected = has_come[number] || is_old ? TRIB_DROP_REPLAY : TRIB_DROP_NONE;
        assert_int_equal(trib_auth_check(root, 0, packets[number], sizeof packets[number]), expected);
        taken += expected == TRIB_DROP_NONE;
        has_come[number] = has_come[number] || expected == TRIB_DROP_NONE;
        newest = number > newest && has_come[number] ? number : newest;
    }
    print_message("%llu of %d numbers taken\n", (unsigned long long)taken, NUMBERS);
    assert_true(taken > NUMBERS / 2);
    trib_auth_destroy(rank);
    trib_auth_destroy(root);
}

static void window__is_wide(void **state)
{
    static uint8_t packets[3 * TRIB_AUTH_WINDOW][TRIB_HEADER_SIZE + TRIB_AUTHENTICATOR_SIZE];
    struct trib_auth *rank = create(trib_auth_rank(5), ROOT);
    struct trib_auth *root = create(ROOT, trib_auth_rank(5));
    const uint32_t last = 3 * TRIB_AUTH_WINDOW - 1;
    (void)state;
    for (uint32_t i = 0; i <= last; i++) {
        (void)make(rank, ROOT, packets[i], 0);
    }
    assert_int_equal(trib_auth_check(root, 0, packets[0], sizeof packets[0]), TRIB_DROP_NONE);
    assert_int_equal(trib_auth_check(root, 0, packets[last], sizeof packets[0]), TRIB_DROP_NONE);
    for (uint32_t i = 0; i <= last; i++) {
        enum trib_drop expected = i > last - TRIB_AUTH_WINDOW && i < last ? TRIB_DROP_NONE : TRIB_DROP_REPLAY;
        assert_int_equal(trib_auth_check(root, 0, packets[i], sizeof packets[0]), expected);
    }
    trib_auth_destroy(rank);
    trib_auth_destroy(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors__agree_with_another_library),
        cmocka_unit_test(vectors__of_payloads),
        cmocka_unit_test(check__finds_every_bit),
        cmocka_unit_test(check__is_for_sender_and_receiver),
        cmocka_unit_test(ids__differ),
        cmocka_unit_test(check__is_not_for_the_one_left_out),
        cmocka_unit_test(check__another_incarnation_has_another_key),
        cmocka_unit_test(vectors__of_sender_keys),
        cmocka_unit_test(sender_keys__differ),
        cmocka_unit_test(rank__cannot_speak_for_another),
        cmocka_unit_test(window__takes_each_number_once),
        cmocka_unit_test(window__is_wide),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
