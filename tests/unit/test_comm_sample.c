/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_sample.c: sums that the tag does not prove, sampled by the ranks (TRIB_SAMPLE): right sums of all kinds pass
 * bit by bit, and a switch that changes elements is caught and named. The switch changes a value in its slot, before it
 * makes lane, checksum and authenticator, so that nothing else can see it. */
#include <math.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "comm/sample.h"
#include "comm_harness.h"
#include "core/packet.h"
#include "core/sample.h"
#include "keys/keyring.h"

#define RANKS 3
#define KEY_BYTE 77

/* ---- the cheat: the library's own encoding is wrapped (cmake/tests.cmake) ---- */

enum cheat_kind { CHEAT_NONE = 0, CHEAT_ONCE, CHEAT_SOME, CHEAT_PARTS };

/* In memory that test and switch share. */
static struct cheat {
    _Atomic int kind;
    _Atomic uint32_t every; /* CHEAT_SOME: the switch changes one element of each so many fragments */
    _Atomic uint32_t count; /* of changes */
} * cheat;

void __real_trib_packet_encode(const struct trib_packet *packet, uint8_t *header);
void __wrap_trib_packet_encode(const struct trib_packet *packet, uint8_t *header);

static bool is_chosen(const struct trib_packet *packet)
{
    bool is_parts = packet->type == TRIB_BYTES;

    if (packet->kind != TRIB_RESULT || packet->payload_len == 0 || is_parts != (cheat->kind == CHEAT_PARTS)) {
        return false;
    }
    switch ((enum cheat_kind)cheat->kind) {
    case CHEAT_ONCE:
    case CHEAT_PARTS:
        return packet->sequence >= 5 && atomic_load(&cheat->count) == 0;
    case CHEAT_SOME:
        return packet->sequence % cheat->every == 3;
    case CHEAT_NONE:
        break;
    }
    return false;
}

/* Once for each sequence, whichever packet has it: from then on the slot has the changed value. No rank sends a
 * RESULT. */
void __wrap_trib_packet_encode(const struct trib_packet *packet, uint8_t *header)
{
    static _Atomic uint64_t changed = UINT64_MAX;

    if (cheat != NULL && is_chosen(packet) &&
        atomic_exchange(&changed, (uint64_t)packet->communicator << 40 | packet->sequence) !=
            ((uint64_t)packet->communicator << 40 | packet->sequence)) {
        uint8_t *payload;
        memcpy(&payload, &packet->payload, sizeof payload);
        payload[packet->sequence * 4 % packet->payload_len & ~3U] ^= 1; /* the last bit of an element */
        (void)atomic_fetch_add(&cheat->count, 1);
    }
    __real_trib_packet_encode(packet, header);
}

/* ---- ranks ---- */

static uint32_t sample_every;
static const char *scheme;
static enum trib_wire wire;
static uint32_t operations_most;
static uint64_t elements; /* of an operation that a switch falsifies */

static void use(struct trib_config *config)
{
    config->sample = sample_every;
    config->wire = wire;
    config->key_len = TRIB_KEY_MIN;
    memset(config->key, KEY_BYTE, TRIB_KEY_MIN);
    (void)snprintf(config->scheme, sizeof config->scheme, "%s", scheme);
}

static void begin(enum cheat_kind kind, uint32_t every)
{
    if (trib_keys_explain_lack() != NULL) {
        skip();
    }
    cheat->kind = (int)kind;
    cheat->count = 0;
    sample_every = every;
    elements = 16384;
    scheme = "switchml";
    wire = TRIB_WIRE_FLOAT32;
}

static float element(uint32_t rank, uint64_t i)
{
    return (float)(rank + 1) * 0.1F + (float)(i % 1021) * 1.7F;
}

/* ---- right sums ---- */

#define MOST 5000

static void fill(enum trib_type type, void *tensor, uint64_t count, uint32_t rank)
{
    for (uint64_t i = 0; i < count; i++) {
        float x = element(rank, i);
        double wide = (double)x;
        int64_t whole = (int64_t)(x * 3);
        uint16_t half = (uint16_t)(0x3c00 + (i * 37 + rank * 11) % 0x600); /* 1 to 2.5 and, as bfloat16, small ones */
        const void *value = type == TRIB_FLOAT32                            ? (const void *)&x
                            : type == TRIB_FLOAT64                          ? (const void *)&wide
                            : type == TRIB_FLOAT16 || type == TRIB_BFLOAT16 ? (const void *)&half
                                                                            : (const void *)&whole;
        memcpy((uint8_t *)tensor + i * trib_type_size(type), value, trib_type_size(type));
    }
}

/* One operation of each collective; the sampled ones have to agree. */
static void run_all(struct rank *rank, enum trib_type type, enum trib_reduction reduction, uint64_t count)
{
    static const uint32_t parts[] = {3, 0, 2, 5, 1, 0, 4, 1};
    static _Thread_local uint64_t send[8 * MOST], recv[8 * MOST];
    uint64_t counts[RANKS_MAX];
    uint32_t ranks = rank->config.ranks;

    fill(type, send, count * ranks, rank->config.rank);
    CHECK(rank, trib_allreduce(rank->comm, send, recv, count, type, reduction) == TRIB_OK);
    CHECK(rank, trib_reduce(rank->comm, send, recv, count, type, reduction, ranks - 1) == TRIB_OK);
    CHECK(rank, trib_reduce_scatter(rank->comm, send, recv, count, type, reduction) == TRIB_OK);
    for (uint32_t i = 0; i < ranks; i++) {
        counts[i] = parts[i] * count / 8;
    }
    CHECK(rank, trib_reduce_scatter_uneven(rank->comm, send, recv, counts, type, reduction) == TRIB_OK);
    CHECK(rank, trib_allreduce(rank->comm, send, send, count, type, reduction) == TRIB_OK);
}

static void right_body(struct rank *rank)
{
    static const uint64_t counts[] = {1, 15, 17, 352, 4999};
    for (int type = TRIB_FLOAT32; type < TRIB_TYPE_COUNT; type++) {
        for (int reduction = TRIB_SUM; reduction < TRIB_REDUCTION_COUNT; reduction++) {
            uint64_t count = counts[(type * 5 + reduction) % 5];
            if (type != TRIB_BYTES) {
                run_all(rank, (enum trib_type)type, (enum trib_reduction)reduction, count);
            }
        }
    }
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void sums__of_all_kinds_agree(void **state)
{
    static const enum trib_wire wires[] = {TRIB_WIRE_FLOAT32, TRIB_WIRE_BFLOAT16, TRIB_WIRE_INT32};
    struct rank ranks[RANKS_MAX];
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        begin(CHEAT_NONE, 1 + 2 * i);
        wire = wires[i];
        scheme = i == 1 ? "panama" : "switchml";
        run_ranks(ranks, RANKS + 2 * i, use, right_body);
        expect_good(ranks, RANKS + 2 * i);
    }
}

/* Many operations at once, in groups as well, on two roots; infinity and NaN. */
static void many_body(struct rank *rank)
{
    enum { MANY = 24, COUNT = 3000 };
    static _Thread_local float tensor[2 * MANY][COUNT];
    struct trib_call calls[MANY];
    struct trib_request *request[MANY + 1] = {NULL};

    for (uint32_t i = 0; i < 2 * MANY; i++) {
        for (uint32_t k = 0; k < COUNT; k++) {
            tensor[i][k] = k == i ? INFINITY : k == i + 1 ? -NAN : element(rank->config.rank, i + k);
        }
    }
    for (uint32_t i = 0; i < MANY; i++) {
        calls[i] = (struct trib_call){TRIB_ALLREDUCE,   TRIB_FLOAT32,     TRIB_SUM, 0,
                                      tensor[MANY + i], tensor[MANY + i], COUNT,    NULL};
        CHECK(rank, trib_allreduce_start(rank->comm, tensor[i], tensor[i], COUNT, TRIB_FLOAT32, TRIB_SUM,
                                         &request[i]) == TRIB_OK);
    }
    CHECK(rank, trib_group_start(rank->comm, calls, MANY, &request[MANY]) == TRIB_OK);
    for (uint32_t i = 0; i <= MANY; i++) {
        CHECK(rank, trib_request_wait(request[i]) == TRIB_OK);
    }
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void sums__that_run_at_once_agree(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    begin(CHEAT_NONE, 4);
    switch_command('2');
    run_ranks(ranks, RANKS, use, many_body);
    switch_command('1');
    expect_good(ranks, RANKS);
}

/* The switch is killed, and comes back; results that some ranks have are OFFERed to the others. */
static void restart_body(struct rank *rank)
{
    enum { COUNT = 200000 };
    float *tensor = calloc(COUNT, sizeof *tensor);
    for (uint32_t round = 0; round < 40; round++) {
        if (round == 20 && rank->config.rank == 0) {
            switch_command('1');
        }
        for (uint64_t i = 0; i < COUNT; i++) {
            tensor[i] = element(rank->config.rank, i);
        }
        CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, COUNT, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    }
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    free(tensor);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void sums__agree_over_a_restart(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    begin(CHEAT_NONE, 50);
    run_ranks(ranks, RANKS, use, restart_body);
    expect_good(ranks, RANKS);
}

/* The switch is gone for good: the ranks' own processes sum, in the same order. */
static void moved_body(struct rank *rank)
{
    enum { COUNT = 20000 };
    static _Thread_local float tensor[COUNT];
    struct trib_comm_stats stats;
    for (uint32_t round = 0; round < 20; round++) {
        if (round == 10 && rank->config.rank == 0) {
            switch_command('k');
        }
        for (uint64_t i = 0; i < COUNT; i++) {
            tensor[i] = element(rank->config.rank, i);
        }
        CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, COUNT, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    }
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.moved == 1);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void use_fallback(struct trib_config *config)
{
    use(config);
    config->fallback = true;
    config->switch_timeout_ns = 500 * TRIB_MILLISECOND_NS;
}

static void sums__agree_after_the_switch_is_gone(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    begin(CHEAT_NONE, 3);
    run_ranks(ranks, RANKS, use_fallback, moved_body);
    switch_command('1');
    expect_good(ranks, RANKS);
}

/* Groups have their own draws and order of ranks. */
static void split_body(struct rank *rank)
{
    enum { COUNT = 3000 };
    static _Thread_local float tensor[COUNT];
    struct trib_comm *made = NULL;
    for (uint64_t i = 0; i < COUNT; i++) {
        tensor[i] = element(rank->config.rank, i);
    }
    CHECK(rank, trib_comm_split(rank->comm, rank->config.rank == 1, -(int32_t)rank->config.rank, &made, rank->error) ==
                    TRIB_OK);
    for (uint32_t round = 0; round < 5 && made != NULL; round++) {
        CHECK(rank, trib_allreduce(made, tensor, tensor, COUNT, TRIB_FLOAT32, TRIB_AVERAGE) == TRIB_OK);
        CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, COUNT, TRIB_FLOAT32, TRIB_MAXIMUM) == TRIB_OK);
    }
    (void)trib_comm_close(made);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void sums__of_groups_agree(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    begin(CHEAT_NONE, 2);
    run_ranks(ranks, RANKS, use, split_body);
    expect_good(ranks, RANKS);
}

/* The last test: from here on ranks meet at rank 0. */
static void sums__without_a_switch_agree(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    begin(CHEAT_NONE, 1);
    begin_no_box();
    run_ranks(ranks, RANKS, use, right_body);
    expect_good(ranks, RANKS);
    begin(CHEAT_NONE, 2);
    run_ranks(ranks, RANKS, use, split_body);
    expect_good(ranks, RANKS);
}

/* ---- a switch that lies ---- */

static _Atomic uint32_t operations_before; /* of rank 0, until it was caught */

/* Operations until the communicator fails. */
static void cheated_body(struct rank *rank)
{
    uint64_t count = elements;
    float *send = calloc(2 * count, sizeof *send);
    enum trib_status status = send != NULL ? TRIB_OK : TRIB_ERR_MEMORY;
    uint32_t done = 0;

    for (uint64_t i = 0; i < count && send != NULL; i++) {
        send[i] = element(rank->config.rank, i);
    }
    while (status == TRIB_OK && done < operations_most) {
        status = trib_allreduce(rank->comm, send, send + count, count, TRIB_FLOAT32, TRIB_SUM);
        done += status == TRIB_OK;
    }
    free(send);
    if (rank->config.rank == 0) {
        operations_before = done;
    }
    rank->status = status == TRIB_OK ? TRIB_OK : TRIB_ERR_CHECK;
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    (void)trib_comm_close(rank->comm);
}

static void expect_caught(struct rank *ranks, const char *words)
{
    char place[64];
    (void)snprintf(place, sizeof place, "the root at 127.0.0.1:%u", (unsigned)switch_port);
    for (uint32_t i = 0; i < RANKS; i++) {
        if (ranks[i].status != TRIB_ERR_CHECK || !says(ranks[i].error, words) || !says(ranks[i].error, place)) {
            fail_msg("rank %u: %s: %s", i, trib_status_name(ranks[i].status), ranks[i].error);
        }
    }
    print_message("%s\n", ranks[0].error);
}

/* If all runs are repeated, one changed bit in a job is enough, and no rank gets a result of that operation. */
static void cheat__is_caught_and_named(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    begin(CHEAT_ONCE, 1);
    operations_most = 10;
    run_ranks(ranks, RANKS, use, cheated_body);
    expect_caught(ranks, "in fragment 5, is not the sum");
    assert_int_equal(operations_before, 0);
    begin(CHEAT_ONCE, 1);
    wire = TRIB_WIRE_BFLOAT16;
    run_ranks(ranks, RANKS, use, cheated_body);
    expect_caught(ranks, "in fragment 5, is not the sum");
}

static void cheat__works_without_samples(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    begin(CHEAT_ONCE, 0);
    operations_most = 3;
    run_ranks(ranks, RANKS, use, cheated_body);
    expect_good(ranks, RANKS);
    assert_int_equal(operations_before, 3);
    assert_int_equal(cheat->count, 1);
}

/* The parts of the sample are bytes, which the tag proves. */
static void cheat__on_the_parts_is_caught(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    begin(CHEAT_PARTS, 1);
    operations_most = 3;
    run_ranks(ranks, RANKS, use, cheated_body);
    expect_caught(ranks, "is not proved");
}

/* One element of 10^6, and one of 20 runs is repeated: after n changes the switch is caught with 1 - (19/20)^n. So three
 * jobs need 60 changes on average, and more than 400 with a probability of 5e-7. */
static void cheat__in_few_elements_is_caught_within_the_bound(void **state)
{
    struct rank ranks[RANKS];
    uint32_t all = 0, changes = 0;
    (void)state;
    for (uint32_t job = 0; job < 3; job++) {
        begin(CHEAT_SOME, 20);
        elements = 1000000;
        cheat->every = 2976; /* fragments of 336 elements */
        operations_most = 400;
        run_ranks(ranks, RANKS, use, cheated_body);
        expect_caught(ranks, "is not the sum of what the ranks sent");
        all += operations_before;
        changes += cheat->count;
    }
    print_message("caught after %u operations and %u changes on average\n", all / 3, changes / 3);
    assert_in_range(changes, 3, 400);
}

/* ---- where it is refused ---- */

static void refuse(const char *name, uint32_t key_len, uint32_t ranks, const char *words)
{
    struct trib_config config;
    struct trib_comm *comm = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    trib_config_init(&config);
    (void)snprintf(config.scheme, sizeof config.scheme, "%s", name);
    (void)snprintf(config.switch_address, sizeof config.switch_address, "127.0.0.1:1");
    config.sample = 1000;
    config.ranks = ranks;
    config.key_len = key_len;
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_INVALID);
    if (!says(error, words)) {
        fail_msg("%s", error);
    }
}

static void config__is_refused_by_name(void **state)
{
    (void)state;
    refuse("switchml", 0, 2, "there is no key (TRIB_KEY_FILE)");
    if (switch_keys == NULL) {
        return; /* this build takes no key */
    }
    refuse("panama:7/8", TRIB_KEY_MIN, 8, "with a quorum sums may lack ranks");
    refuse("atp", TRIB_KEY_MIN, 2, "the order of additions differs from run to run");
    refuse("goat", TRIB_KEY_MIN, 2, "the order of additions differs from run to run");
    refuse("switchml", TRIB_KEY_MIN, 65, "more than 64 ranks");
}

/* A switch below another one: its ranks are not children of the root. Rank 0 is child 0 in any tree. */
static void use_tree(struct trib_config *config)
{
    use(config);
    if (config->rank == 1) {
        (void)snprintf(config->switch_address, sizeof config->switch_address, "127.0.0.1:%u", child_port);
    }
}

static void trees__are_refused_by_name(void **state)
{
    struct rank ranks[RANKS];
    bool is_named = false;
    (void)state;
    begin(CHEAT_NONE, 10);
    switch_command('c');
    run_ranks(ranks, RANKS, use_tree, NULL);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_not_equal(ranks[i].status, TRIB_OK);
        is_named = is_named || says(ranks[i].error, "need one switch that all ranks join");
    }
    if (!is_named) {
        fail_msg("%s", ranks[1].error);
    }
}

static void use_other(struct trib_config *config)
{
    use(config);
    config->sample = config->rank == 1 ? 100 : 1000;
}

static void ranks__with_other_settings_do_not_meet(void **state)
{
    struct rank ranks[2];
    (void)state;
    begin(CHEAT_NONE, 10);
    run_ranks(ranks, 2, use_other, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(ranks[i].status, TRIB_ERR_MISMATCH);
        assert_true(says(ranks[i].error, "TRIB_SAMPLE=100 ") && says(ranks[i].error, "TRIB_SAMPLE=1000 "));
    }
    print_message("%s\n", ranks[0].error);
}

static void text__states_the_probability(void **state)
{
    char text[TRIB_SAMPLE_TEXT_MAX];
    (void)state;
    trib_sample_explain(TRIB_SAMPLE_EVERY_MAX, text);
    assert_true(says(text, "1 - (1 - 1/1000000)^n or more; 5000000 with 99.3 %"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums__of_all_kinds_agree),
        cmocka_unit_test(sums__that_run_at_once_agree),
        cmocka_unit_test(sums__agree_over_a_restart),
        cmocka_unit_test(sums__agree_after_the_switch_is_gone),
        cmocka_unit_test(sums__of_groups_agree),
        cmocka_unit_test(cheat__is_caught_and_named),
        cmocka_unit_test(cheat__works_without_samples),
        cmocka_unit_test(cheat__on_the_parts_is_caught),
        cmocka_unit_test(cheat__in_few_elements_is_caught_within_the_bound),
        cmocka_unit_test(config__is_refused_by_name),
        cmocka_unit_test(ranks__with_other_settings_do_not_meet),
        cmocka_unit_test(text__states_the_probability),
        cmocka_unit_test(trees__are_refused_by_name),
        cmocka_unit_test(sums__without_a_switch_agree),
    };

    static struct trib_keyring keys; /* it takes ranks without a key as well */
    uint8_t key[TRIB_KEY_MIN];
    cheat = mmap(NULL, sizeof *cheat, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (cheat == MAP_FAILED) {
        return 1;
    }
    memset(key, KEY_BYTE, sizeof key);
    if (trib_keys_explain_lack() == NULL && trib_keys_derive(key, sizeof key, &keys.own, NULL) == TRIB_OK) {
        switch_keys = &keys;
    }
    keeper_open();
    switch_command('1');
    return cmocka_run_group_tests(tests, NULL, NULL);
}
