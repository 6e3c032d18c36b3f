/* SPDX-License-Identifier: Apache-2.0 */
/* test_lane.c: the lane of invariant I12 passes the right set of contributions and no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/node.h"
#include "core/prng.h"

#define TRIALS 100000
#define RANKS_MAX 64

static struct trib_lane_id random_id(struct trib_prng *prng)
{
    return (struct trib_lane_id){
        .salt = trib_prng_next(prng),
        .sequence = trib_prng_next(prng) >> 16,
        .communicator = (uint32_t)trib_prng_next(prng),
        .digest = (uint32_t)trib_prng_next(prng),
        .generation = (uint16_t)trib_prng_next(prng),
        .attempt = (uint8_t)trib_prng_next(prng),
    };
}

static uint64_t contribution(const struct trib_lane_id *id, uint32_t rank)
{
    return trib_lane_key(id->salt, rank) * trib_lane_odd(id);
}

/* What a worker does: is this the lane of all ranks, each once? */
static bool passes(const struct trib_lane_id *id, uint32_t ranks, uint64_t lane)
{
    uint64_t keysum = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        keysum += trib_lane_key(id->salt, rank);
    }
    return lane == keysum * trib_lane_odd(id);
}

static uint64_t sum_of_all(const struct trib_lane_id *id, uint32_t ranks)
{
    uint64_t lane = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        lane += contribution(id, rank);
    }
    return lane;
}

/* The same fragment in all but one thing. */
static struct trib_lane_id neighbour(struct trib_lane_id id, struct trib_prng *prng)
{
    uint64_t bit = trib_prng_next(prng);
    switch (trib_prng_below(prng, 6)) {
    case 0:
        id.salt ^= UINT64_C(1) << (bit % 64);
        break;
    case 1:
        id.sequence ^= UINT64_C(1) << (bit % 48);
        break;
    case 2:
        id.communicator ^= 1U << (bit % 32);
        break;
    case 3:
        id.digest ^= 1U << (bit % 32);
        break;
    case 4:
        id.generation ^= (uint16_t)(1U << (bit % 16));
        break;
    default:
        id.attempt ^= (uint8_t)(1U << (bit % 8));
        break;
    }
    return id;
}

struct trial {
    struct trib_lane_id id;
    uint64_t sum;
    uint32_t ranks;
    uint32_t a;
    uint32_t b; /* another rank than a, of the communicator or just behind it */
};

static struct trial next_trial(struct trib_prng *prng)
{
    struct trial trial = {.id = random_id(prng), .ranks = 1 + (uint32_t)trib_prng_below(prng, RANKS_MAX)};
    trial.sum = sum_of_all(&trial.id, trial.ranks);
    trial.a = (uint32_t)trib_prng_below(prng, trial.ranks);
    trial.b = (trial.a + 1 + (uint32_t)trib_prng_below(prng, trial.ranks)) % (trial.ranks + 1);
    return trial;
}

static void lane__each_rank_once_passes(void **state)
{
    struct trib_prng prng = {.state = 1};
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial = next_trial(&prng);
        assert_true(passes(&trial.id, trial.ranks, trial.sum));
    }
}

static void lane__missing_contribution_fails(void **state)
{
    struct trib_prng prng = {.state = 2};
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial = next_trial(&prng);
        assert_false(passes(&trial.id, trial.ranks, trial.sum - contribution(&trial.id, trial.a)));
    }
}

static void lane__doubled_contribution_fails(void **state)
{
    struct trib_prng prng = {.state = 3};
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial = next_trial(&prng);
        assert_false(passes(&trial.id, trial.ranks, trial.sum + contribution(&trial.id, trial.a)));
    }
}

/* In place of its own, or on top of it. */
static void lane__contribution_to_another_fragment_fails(void **state)
{
    struct trib_prng prng = {.state = 4};
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial = next_trial(&prng);
        struct trib_lane_id other = neighbour(trial.id, &prng);
        uint64_t foreign = contribution(&other, trial.a);
        assert_false(passes(&trial.id, trial.ranks, trial.sum + foreign));
        assert_false(passes(&trial.id, trial.ranks, trial.sum + foreign - contribution(&trial.id, trial.a)));
    }
}

static void lane__swapped_contribution_fails(void **state)
{
    struct trib_prng prng = {.state = 5};
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial = next_trial(&prng);
        uint64_t swapped = trial.sum - contribution(&trial.id, trial.a) + contribution(&trial.id, trial.b);
        assert_int_not_equal(trial.a, trial.b);
        assert_false(passes(&trial.id, trial.ranks, swapped));
    }
}

static void lane__result_of_another_fragment_fails(void **state)
{
    struct trib_prng prng = {.state = 6};
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial = next_trial(&prng);
        struct trib_lane_id other = neighbour(trial.id, &prng);
        assert_false(passes(&other, trial.ranks, trial.sum));
    }
}

static void lane__keys_and_factors_are_odd(void **state)
{
    struct trib_prng prng = {.state = 7};
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trib_lane_id id = random_id(&prng);
        assert_int_equal(trib_lane_odd(&id) & 1U, 1);
        struct trib_session_config session = {
            .salt = id.salt,
            .communicator = id.communicator,
            .generation = id.generation,
        };
        assert_true(trib_session_odd(&session, id.sequence, id.attempt, id.digest) == trib_lane_odd(&id));
        assert_int_equal(trib_lane_key(id.salt, (uint32_t)i) & 1U, 1);
    }
}

/* The worked example of docs/PROTOCOL.md, "Lane". */
static void lane__worked_example(void **state)
{
    const struct trib_lane_id id = {.salt = UINT64_C(0x0123456789abcdef),
                                    .sequence = UINT64_C(0x0102030405),
                                    .communicator = 0x00c0ffee,
                                    .digest = 0xd16e57aa,
                                    .generation = 3,
                                    .attempt = 0};
    (void)state;
    assert_true(trib_mix64(0) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(trib_lane_key(id.salt, 0) == UINT64_C(0x3109ba0858fbbbaf));
    assert_true(trib_lane_key(id.salt, 1) == UINT64_C(0x159a9b820c65c711));
    assert_true(trib_lane_key(id.salt, 2) == UINT64_C(0x68b15439b9085629));
    assert_true(trib_lane_key(id.salt, 3) == UINT64_C(0xc96590f24073b01d));
    assert_true(trib_lane_odd(&id) == UINT64_C(0x55109b4d856959e1));
    const struct trib_session_config session = {.salt = id.salt, .communicator = 0x00c0ffee, .generation = 3};
    assert_true(trib_session_odd(&session, id.sequence, 0, id.digest) == trib_lane_odd(&id));
    assert_true(contribution(&id, 2) == UINT64_C(0xe62e0e932a18fb09));
    assert_true(sum_of_all(&id, 4) == UINT64_C(0x4106db1fb6ce8446));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lane__each_rank_once_passes),
        cmocka_unit_test(lane__missing_contribution_fails),
        cmocka_unit_test(lane__doubled_contribution_fails),
        cmocka_unit_test(lane__contribution_to_another_fragment_fails),
        cmocka_unit_test(lane__swapped_contribution_fails),
        cmocka_unit_test(lane__result_of_another_fragment_fails),
        cmocka_unit_test(lane__keys_and_factors_are_odd),
        cmocka_unit_test(lane__worked_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
