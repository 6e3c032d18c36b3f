/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_cheat.c: a switch that changes one element of one result, and keeps lane, checksum and authenticator right:
 * it changes the value before it makes them. With a key no rank gets the value, and the error names root and
 * fragment. And a switch that sends the nonces of another run to all ranks. */
#include <stdatomic.h>

#include "comm/proof.h"
#include "comm_harness.h"
#include "core/packet.h"
#include "keys/keyring.h"

#define RANKS 3
#define COUNT 1000000
#define FOOLED 4 /* ranks, where nonces are forged */
#define BAD 500  /* the sequence */
#define KEY_BYTE 77

/* ---- the cheat: the library's own encoding is wrapped (cmake/tests.cmake) ---- */

void __real_trib_packet_encode(const struct trib_packet *packet, uint8_t *header);
void __wrap_trib_packet_encode(const struct trib_packet *packet, uint8_t *header);

/* The exchange of nonces of FOOLED ranks: an int64 of each. The switch is another process, so nobody can tell it. */
static void forge_nonces(const struct trib_packet *packet)
{
    bool is_exchange = packet->kind == TRIB_RESULT && packet->type == TRIB_INT64 && packet->sequence == 0 &&
                       packet->payload_len == FOOLED * sizeof(int64_t);

    if (is_exchange) {
        uint8_t *payload;
        memcpy(&payload, &packet->payload, sizeof payload);
        memset(payload, 7, packet->payload_len);
    }
}

/* The switch changes one element of one result in its slot, once: from then on the slot has the changed value. No
 * rank sends a RESULT. */
void __wrap_trib_packet_encode(const struct trib_packet *packet, uint8_t *header)
{
    static atomic_uint changed; /* the communicator */
    bool is_chosen = packet->kind == TRIB_RESULT && packet->type == TRIB_INT32 && packet->payload_len != 0 &&
                     packet->sequence == BAD;

    forge_nonces(packet);
    if (is_chosen && atomic_exchange(&changed, packet->communicator) != packet->communicator) {
        uint8_t *payload;
        memcpy(&payload, &packet->payload, sizeof payload);
        payload[3] ^= 1; /* little-endian: by 2^24 */
    }
    __real_trib_packet_encode(packet, header);
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

static void forged_body(struct rank *rank)
{
    float value = 1;
    enum trib_status status = trib_allreduce(rank->comm, &value, &value, 1, TRIB_FLOAT32, TRIB_SUM);
    CHECK(rank, status == TRIB_ERR_CHECK || status == TRIB_ERR_PEER);
    CHECK(rank, says(trib_comm_error(rank->comm), "fragment 1 (allreduce"));
    CHECK(rank, says(trib_comm_error(rank->comm), "is not proved"));
    (void)trib_comm_close(rank->comm);
}

/* With the same nonces in two runs, the switch would know differences of lanes. Each rank keeps its own nonce, so the
 * keys of the ranks differ, and no lane fits. */
static void nonces__are_not_the_switchs_choice(void **state)
{
    struct rank ranks[FOOLED];
    (void)state;
    if (trib_keys_explain_lack() != NULL) {
        skip();
    }
    run_ranks(ranks, FOOLED, use_key, forged_body);
    expect_good(ranks, FOOLED);
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
        cmocka_unit_test(cheat__is_caught_and_named),         cmocka_unit_test(cheat__works_without_a_key),
        cmocka_unit_test(nonces__are_not_the_switchs_choice), cmocka_unit_test(key__of_derived_communicators),
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
