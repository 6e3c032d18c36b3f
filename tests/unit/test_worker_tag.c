/* SPDX-License-Identifier: Apache-2.0 */
/* test_worker_tag.c: workers with a key at a switch that cheats. The switch makes any lanes and checksums, but does not
 * know the key: no wrong value reaches a tensor, and the event names root and fragment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "core/tag.h"
#include "node_memory.h"
#include "protocol/protocol.h"

#define W (&trib_protocol_worker)
#define S (&trib_protocol_switch)
#define RANKS 3
#define ROOTS 2
#define PAYLOAD 8192
#define WORDS (PAYLOAD / 4)
#define BLOCKS 512 /* more than 10^6 elements */
#define ELEMENTS ((uint64_t)BLOCKS * WORDS)
#define BOOT 0xb007
#define MS UINT64_C(1000000)

struct world;

/* Changes a packet on its way to a rank, down, or to the switch, up. payload: of the packet, to be changed. */
struct cheat {
    void (*down)(struct world *world, uint32_t rank, struct trib_packet *packet, uint8_t *payload);
    void (*up)(struct world *world, uint32_t rank, struct trib_packet *packet);
};

struct world {
    void *worker[RANKS], *node[ROOTS];
    struct trib_tag *tag;
    float *send[RANKS], *recv[RANKS];
    uint64_t now_ns, packets;
    bool done[RANKS], failed[RANKS];
    struct trib_event event[RANKS]; /* FAILED */
    struct cheat cheat;
    uint64_t cheats;
};

static void open_world(struct world *world, enum trib_type wire)
{
    struct trib_session_config session = {.communicator = 7,
                                          .ranks = RANKS,
                                          .roots = ROOTS,
                                          .train = 4,
                                          .slots = 32,
                                          .payload = PAYLOAD,
                                          .generation = 1,
                                          .wire = wire,
                                          .lookahead = 32};
    struct trib_switch_config of_switch = {
        .session = session, .kernels = trib_value_kernels(), .children = RANKS, .boot = BOOT};
    uint8_t job[TRIB_TAG_KEY] = {1, 2, 3};
    uint8_t key[TRIB_TAG_KEY];

    *world = (struct world){.now_ns = 1000 * MS, .tag = calloc(1, sizeof *world->tag)};
    assert_non_null(world->tag);
    trib_tag_key(key, job, session.communicator, session.generation, NULL, 0);
    trib_tag_init(world->tag, trib_tag_kernel(), key, RANKS);
    for (of_switch.root = 0; of_switch.root < ROOTS; of_switch.root++) {
        void *node = world->node[of_switch.root] = node_memory(S->size(&of_switch));
        S->init(node, &of_switch);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            S->join(node, rank, 0);
        }
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct trib_worker_config config = {.session = session,
                                            .kernels = trib_value_kernels(),
                                            .tag = world->tag,
                                            .rank = rank,
                                            .window = 16,
                                            .operations = 1,
                                            .stall_ns = 1000 * MS};
        world->worker[rank] = node_memory(W->size(&config));
        W->init(world->worker[rank], &config);
        W->registered(world->worker[rank], BOOT, 0, world->now_ns);
    }
}

static void close_world(struct world *world)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        free(world->worker[rank]);
        free(world->send[rank]);
        free(world->recv[rank]);
    }
    for (uint32_t root = 0; root < ROOTS; root++) {
        free(world->node[root]);
    }
    free(world->tag);
}

/* Fractions of 2^-10 below 1,000: their sums are exact, and so is the wire. */
static float value_of(uint32_t rank, uint64_t i)
{
    return (float)((int64_t)(trib_mix64(i * RANKS + rank) % 2000000) - 1000000) / 1024;
}

static void submit(struct world *world)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        world->send[rank] = node_memory(ELEMENTS * sizeof(float));
        world->recv[rank] = node_memory(ELEMENTS * sizeof(float));
        for (uint64_t i = 0; i < ELEMENTS; i++) {
            world->send[rank][i] = value_of(rank, i);
        }
        struct trib_operation operation = {.collective = TRIB_ALLREDUCE,
                                           .type = TRIB_FLOAT32,
                                           .reduction = TRIB_SUM,
                                           .send = world->send[rank],
                                           .recv = world->recv[rank],
                                           .count = ELEMENTS};
        assert_true(W->submit(world->worker[rank], &operation, world->now_ns));
    }
}

static void take_events(struct world *world, uint32_t rank)
{
    struct trib_event event;

    while (W->node.next_event(world->worker[rank], &event)) {
        world->done[rank] = world->done[rank] || event.kind == TRIB_EVENT_DONE;
        if (event.kind == TRIB_EVENT_FAILED) {
            world->failed[rank] = true;
            world->event[rank] = event;
        }
    }
}

static void carry_up(struct world *world, uint32_t rank)
{
    struct trib_packet packet;
    struct trib_place to;

    while (W->node.next_packet(world->worker[rank], world->now_ns, &packet, &to)) {
        struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << rank};
        world->packets++;
        if (world->cheat.up != NULL) {
            world->cheat.up(world, rank, &packet);
        }
        (void)S->node.receive(world->node[to.index], from, &packet, world->now_ns);
    }
}

static void carry_down(struct world *world, uint32_t root)
{
    static uint8_t payload[PAYLOAD];
    struct trib_packet packet;
    struct trib_place to;

    while (S->node.next_packet(world->node[root], world->now_ns, &packet, &to)) {
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            struct trib_place from = {.kind = TRIB_PLACE_ROOT, .index = root};
            struct trib_packet copy = packet;
            if ((to.children >> rank & 1) == 0) {
                continue;
            }
            world->packets++;
            if (packet.payload_len != 0) {
                memcpy(payload, packet.payload, packet.payload_len);
                copy.payload = payload;
            }
            if (world->cheat.down != NULL && packet.kind == TRIB_RESULT) {
                world->cheat.down(world, rank, &copy, payload);
            }
            (void)W->node.receive(world->worker[rank], from, &copy, world->now_ns);
            take_events(world, rank);
        }
    }
}

/* Until all ranks are done or failed and no packet moves, or some rank has failed and 5,000 turns are over. */
static void run(struct world *world)
{
    for (uint32_t turn = 0; turn < 20000; turn++) {
        uint64_t before = world->packets;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            carry_up(world, rank);
        }
        for (uint32_t root = 0; root < ROOTS; root++) {
            carry_down(world, root);
        }
        world->now_ns += MS;
        if (world->packets != before) {
            continue;
        }
        bool is_over = true;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            is_over = is_over && (world->done[rank] || world->failed[rank]);
            if (W->node.next_timeout(world->worker[rank]) <= world->now_ns) {
                W->node.on_timeout(world->worker[rank], world->now_ns);
            }
        }
        if (is_over || (turn > 5000 && (world->failed[0] || world->failed[1] || world->failed[2]))) {
            return;
        }
    }
}

/* Number of values that the rank has got; all of them must be right. The others have the pattern of node_memory. */
static uint64_t count_delivered(const struct world *world, uint32_t rank)
{
    uint64_t delivered = 0;
    float none;

    memset(&none, 0xa5, sizeof none);
    for (uint64_t i = 0; i < ELEMENTS; i++) {
        float sum = value_of(0, i) + value_of(1, i) + value_of(2, i);
        bool is_old = memcmp(&world->recv[rank][i], &none, sizeof none) == 0;
        assert_true(is_old || world->recv[rank][i] == sum);
        delivered += !is_old;
    }
    return delivered;
}

static void run_with(struct world *world, struct cheat cheat)
{
    open_world(world, TRIB_INT32);
    world->cheat = cheat;
    submit(world);
    run(world);
}

/* ---- cheats ---- */

#define BAD 333 /* the fragment that a switch falsifies, behind the first exponents */

/* One element in 10^6, by one, for one rank, whenever it asks. */
static void falsify_one(struct world *world, uint32_t rank, struct trib_packet *packet, uint8_t *payload)
{
    if (rank == 1 && packet->sequence == BAD && packet->payload_len != 0) {
        payload[4 * 1234] ^= 1;
        world->cheats++;
    }
}

/* Two words change places: the sum of all words stays the same. */
static void swap_words(struct world *world, uint32_t rank, struct trib_packet *packet, uint8_t *payload)
{
    if (rank == 1 && packet->sequence == BAD && packet->payload_len != 0) {
        uint8_t word[4];
        memcpy(word, payload, 4);
        memmove(payload, payload + 4, 4);
        memcpy(payload + 4, word, 4);
        world->cheats++;
    }
}

/* The result of the fragment before, under the number of this one. */
static uint8_t kept[PAYLOAD];
static uint64_t kept_lane;

static void give_stale(struct world *world, uint32_t rank, struct trib_packet *packet, uint8_t *payload)
{
    if (rank == 1 && packet->sequence == BAD - 1) {
        memcpy(kept, payload, PAYLOAD);
        kept_lane = packet->lane;
    }
    if (rank == 1 && packet->sequence == BAD && packet->payload_len != 0) {
        memcpy(payload, kept, PAYLOAD);
        packet->lane = kept_lane;
        world->cheats++;
    }
}

/* Zeros and no lane: no part was added. */
static void give_nothing(struct world *world, uint32_t rank, struct trib_packet *packet, uint8_t *payload)
{
    if (rank == 1 && packet->sequence == BAD && packet->payload_len != 0) {
        memset(payload, 0, PAYLOAD);
        packet->lane = 0;
        world->cheats++;
    }
}

/* A block exponent that no rank has: all values become zeros. */
static void raise_exponent(struct world *world, uint32_t rank, struct trib_packet *packet, uint8_t *payload)
{
    (void)rank, (void)payload;
    if (packet->sequence == BAD) {
        packet->exponent = 100;
        world->cheats++;
    }
}

/* A larger exponent for one rank only: the words of the ranks have different units then. */
static void raise_one_exponent(struct world *world, uint32_t rank, struct trib_packet *packet, uint8_t *payload)
{
    (void)payload;
    if (rank == 1 && packet->sequence == BAD) {
        packet->exponent++;
        world->cheats++;
    }
}

static void lower_exponent(struct world *world, uint32_t rank, struct trib_packet *packet, uint8_t *payload)
{
    (void)rank, (void)payload;
    if (packet->sequence == BAD) {
        packet->exponent = (int16_t)(packet->exponent - 4);
        world->cheats++;
    }
}

/* "There is an infinity in it": the block travels as float32, and is not proved. */
static void say_raw(struct world *world, uint32_t rank, struct trib_packet *packet, uint8_t *payload)
{
    (void)rank, (void)payload;
    if (packet->sequence == BAD) {
        packet->exponent = TRIB_EXPONENT_RAW;
        world->cheats++;
    }
}

/* Rank 2's part counts as if rank 1 had given it a second time. */
static uint8_t other[PAYLOAD];
static uint64_t other_lane;

static void double_one(struct world *world, uint32_t rank, struct trib_packet *packet)
{
    if (packet->kind != TRIB_CONTRIBUTION || packet->sequence != BAD || packet->payload_len == 0) {
        return;
    }
    if (rank == 1) {
        memcpy(other, packet->payload, PAYLOAD);
        other_lane = packet->lane;
    } else if (rank == 2) {
        packet->payload = other;
        packet->lane = other_lane;
        world->cheats++;
    }
}

/* ---- tests ---- */

static void tag__honest_switch(void **state)
{
    struct world world;
    (void)state;
    run_with(&world, (struct cheat){0});
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_true(world.done[rank] && !world.failed[rank]);
        assert_int_equal(count_delivered(&world, rank), ELEMENTS);
    }
    close_world(&world);
}

/* Rank 1, which was cheated, is not done, has not got the fragment, and names it and its root. */
static void expect_caught(struct cheat cheat, uint64_t sequence)
{
    struct world world;
    uint64_t named = 0;

    run_with(&world, cheat);
    assert_true(world.cheats > 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_true(count_delivered(&world, rank) == ELEMENTS || !world.done[rank]);
        if (world.failed[rank]) {
            assert_int_equal(world.event[rank].sequence, sequence);
            assert_int_equal(world.event[rank].root, sequence / 4 % ROOTS);
            named++;
        }
    }
    assert_true(world.failed[1] && !world.done[1] && named >= 1);
    close_world(&world);
}

static void tag__cheats_of_one_result(void **state)
{
    static void (*const cheats[])(struct world *, uint32_t, struct trib_packet *,
                                  uint8_t *) = {falsify_one, swap_words, give_stale, give_nothing};
    (void)state;
    for (size_t i = 0; i < sizeof cheats / sizeof *cheats; i++) {
        expect_caught((struct cheat){.down = cheats[i]}, BAD);
    }
}

/* A lie about an exponent comes out with the block that was made with it, or at once where a rank has a larger one. */
static void tag__cheats_of_exponents(void **state)
{
    uint64_t lookahead = 32;
    (void)state;
    expect_caught((struct cheat){.down = raise_exponent}, BAD + lookahead);
    expect_caught((struct cheat){.down = raise_one_exponent}, BAD + lookahead);
    expect_caught((struct cheat){.down = say_raw}, BAD + lookahead);
    expect_caught((struct cheat){.down = lower_exponent}, BAD);
}

static void tag__cheats_of_parts(void **state)
{
    (void)state;
    expect_caught((struct cheat){.up = double_one}, BAD);
}

/* On float wires ranks are proved, and values are not. */
static void tag__floats_are_not_proved(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, TRIB_FLOAT32);
    world.cheat = (struct cheat){.down = give_nothing};
    submit(&world);
    run(&world);
    assert_true(world.failed[1] && !world.done[1]);
    close_world(&world);
    open_world(&world, TRIB_FLOAT32);
    world.cheat = (struct cheat){.down = falsify_one};
    submit(&world);
    run(&world);
    assert_true(world.cheats == 1 && world.done[1] && !world.failed[1]);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tag__honest_switch),         cmocka_unit_test(tag__cheats_of_one_result),
        cmocka_unit_test(tag__cheats_of_exponents),   cmocka_unit_test(tag__cheats_of_parts),
        cmocka_unit_test(tag__floats_are_not_proved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
