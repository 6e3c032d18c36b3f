/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_cheat.c: a switch that changes one element of one result, and keeps lane and checksum right. In the
 * process of the switch sendmsg of this program does it. With a key no rank gets the value, and the error names root
 * and fragment. */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "comm/proof.h"
#include "comm_harness.h"
#include "core/crc32c.h"
#include "core/packet.h"
#include "keys/keyring.h"

#define RANKS 3
#define COUNT 1000000
#define BAD 500 /* the sequence */
#define KEY_BYTE 77

/* ---- the cheat: libc's sendmsg is hidden by this one ---- */

static uint64_t field(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

/* A RESULT with int32 of that sequence. */
static bool is_chosen(const uint8_t *packet, size_t payload)
{
    return packet[1] == TRIB_RESULT && packet[28] == TRIB_INT32 && payload != 0 && field(packet + 12, 6) == BAD;
}

static void falsify(uint8_t *packet, size_t payload)
{
    packet[TRIB_HEADER_SIZE + 3] ^= 1; /* little-endian: by 2^24 */
    memset(packet + 52, 0, 4);
    uint32_t crc = trib_crc32c(0, packet, TRIB_HEADER_SIZE + payload);
    for (int i = 0; i < 4; i++) {
        packet[52 + i] = (uint8_t)(crc >> (24 - 8 * i));
    }
}

static void falsify_train(uint8_t *train, size_t len)
{
    size_t at = 0;

    while (at + TRIB_HEADER_SIZE <= len && train[at] == TRIB_WIRE_VERSION) {
        size_t payload = field(train + at + 30, 2);
        if (at + TRIB_HEADER_SIZE + payload > len) {
            return;
        }
        if (is_chosen(train + at, payload)) {
            falsify(train + at, payload);
        }
        at += TRIB_HEADER_SIZE + payload;
    }
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    static _Thread_local uint8_t train[1 << 17];
    struct msghdr changed = *message;
    struct iovec whole = {.iov_base = train};

    for (size_t i = 0; i < message->msg_iovlen; i++) {
        const struct iovec *piece = &message->msg_iov[i];
        if (whole.iov_len + piece->iov_len > sizeof train) {
            return syscall(SYS_sendmsg, fd, message, flags);
        }
        memcpy(train + whole.iov_len, piece->iov_base, piece->iov_len);
        whole.iov_len += piece->iov_len;
    }
    falsify_train(train, whole.iov_len);
    changed.msg_iov = &whole;
    changed.msg_iovlen = 1;
    return syscall(SYS_sendmsg, fd, &changed, flags);
}

/* ---- ranks ---- */

static void use_int32(struct trib_config *config)
{
    config->wire = TRIB_WIRE_INT32;
}

static void use_key(struct trib_config *config)
{
    use_int32(config);
    config->key_len = TRIB_KEY_MIN;
    memset(config->key, KEY_BYTE, TRIB_KEY_MIN);
}

static enum trib_status add_up(struct rank *rank, float *value, uint64_t *wrong)
{
    for (uint64_t i = 0; i < COUNT; i++) {
        value[i] = (float)(i % 1024);
    }
    enum trib_status status = trib_allreduce(rank->comm, value, value, COUNT, TRIB_FLOAT32, TRIB_SUM);
    for (uint64_t i = 0; i < COUNT; i++) {
        *wrong += value[i] != (float)(i % 1024) && value[i] != (float)(RANKS * (i % 1024));
    }
    return status;
}

static void cheated_body(struct rank *rank)
{
    float *value = calloc(COUNT, sizeof *value);
    uint64_t wrong = 0;
    char place[64];

    enum trib_status status = value != NULL ? add_up(rank, value, &wrong) : TRIB_ERR_MEMORY;
    CHECK(rank,
          status == TRIB_ERR_CHECK || status == TRIB_ERR_PEER); /* PEER: another rank has told the switch before */
    CHECK(rank, wrong == 0);
    (void)snprintf(place, sizeof place, "the root at 127.0.0.1:%u", (unsigned)switch_port);
    CHECK(rank, says(trib_comm_error(rank->comm), "fragment 500 (allreduce"));
    CHECK(rank, says(trib_comm_error(rank->comm), "is not proved"));
    CHECK(rank, says(trib_comm_error(rank->comm), place));
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    free(value);
    (void)trib_comm_close(rank->comm);
}

static void cheat__is_caught_and_named(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    if (trib_keys_explain_lack() != NULL) {
        skip();
    }
    run_ranks(ranks, RANKS, use_key, cheated_body);
    expect_good(ranks, RANKS);
    print_message("%s\n", ranks[0].error);
}

/* Without a key the sum is wrong, and no rank notices: the cheat works. */
static void believing_body(struct rank *rank)
{
    float *value = calloc(COUNT, sizeof *value);
    uint64_t wrong = 0;

    CHECK(rank, value != NULL && add_up(rank, value, &wrong) == TRIB_OK);
    CHECK(rank, wrong == 1);
    free(value);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void cheat__works_without_a_key(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    run_ranks(ranks, RANKS, use_int32, believing_body);
    expect_good(ranks, RANKS);
}

static void split_body(struct rank *rank)
{
    struct trib_comm *made = NULL;
    char error[TRIB_ERROR_TEXT_MAX];
    float value = 1;

    CHECK(rank, trib_comm_split(rank->comm, 0, 0, &made, error) == TRIB_OK);
    CHECK(rank, trib_allreduce(made, &value, &value, 1, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK && value == RANKS);
    CHECK(rank, trib_allreduce(rank->comm, &value, &value, 1, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    CHECK(rank, value == RANKS * RANKS);
    CHECK(rank, trib_comm_close(made) == TRIB_OK);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

/* Communicators made of one with a key have the key as well. */
static void key__of_derived_communicators(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    if (trib_keys_explain_lack() != NULL) {
        skip();
    }
    run_ranks(ranks, RANKS, use_key, split_body);
    expect_good(ranks, RANKS);
}

static void texts__say_which_sums_are_proved(void **state)
{
    struct trib_config config;
    (void)state;
    trib_config_init(&config);
    assert_true(says(trib_proof_text(&config, "switchml"), "no key"));
    config.key_len = TRIB_KEY_MIN;
    assert_true(says(trib_proof_text(&config, "switchml"), "with wire int32"));
    assert_true(says(trib_proof_text(&config, "ring"), "ranks send to each other"));
    config.wire = TRIB_WIRE_INT32;
    assert_true(says(trib_proof_text(&config, "switchml"), "float32 sums"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cheat__is_caught_and_named),
        cmocka_unit_test(cheat__works_without_a_key),
        cmocka_unit_test(key__of_derived_communicators),
        cmocka_unit_test(texts__say_which_sums_are_proved),
    };

    static struct trib_keyring keys; /* it takes ranks without a key as well */
    uint8_t key[TRIB_KEY_MIN];
    memset(key, KEY_BYTE, sizeof key);
    if (trib_keys_explain_lack() == NULL && trib_keys_derive(key, sizeof key, &keys.own, NULL) == TRIB_OK) {
        switch_keys = &keys;
    }
    keeper_open();
    switch_command('1');
    return cmocka_run_group_tests(tests, NULL, NULL);
}
