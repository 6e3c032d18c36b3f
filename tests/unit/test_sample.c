/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample.c: which runs are drawn, how often, and that a switch cannot tell which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/lane.h"
#include "core/sample.h"
#include "unit/tag_vectors.h"

static struct trib_tag tag;

static void make_tag(uint8_t byte)
{
    uint8_t key[TRIB_TAG_KEY];

    memset(key, byte, sizeof key);
    memset(&tag, 0, sizeof tag);
    trib_tag_init(&tag, trib_tag_kernel(), key, 4);
}

static uint64_t runs_of(uint64_t elements)
{
    return (elements + TRIB_SAMPLE_RUN - 1) / TRIB_SAMPLE_RUN;
}

/* One run of each stratum, whole runs inside of the tensor, whatever its size. */
static void draw__is_one_run_of_each_stratum(void **state)
{
    static const uint64_t sizes[] = {1, 15, 16, 17, 160, 161, 1000, 16000, 16001, 123457};
    static const uint32_t everies[] = {1, 2, 10, 1000, TRIB_SAMPLE_EVERY_MAX};
    static uint64_t at[8192];
    (void)state;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned k = 0; k < sizeof everies / sizeof *everies; k++) {
            struct trib_sample sample;
            trib_sample_init(&sample, &tag, everies[k], i, sizes[i]);
            assert_true(sample.drawn == (runs_of(sizes[i]) + everies[k] - 1) / everies[k]);
            trib_sample_draw(&sample, at);
            for (uint64_t n = 0; n < sample.drawn; n++) {
                uint64_t run = at[n] / TRIB_SAMPLE_RUN;
                assert_true(at[n] % TRIB_SAMPLE_RUN == 0 && run / everies[k] == n && at[n] < sizes[i]);
                assert_true(trib_sample_run(&sample, at[n]) ==
                            (at[n] + TRIB_SAMPLE_RUN <= sizes[i] ? TRIB_SAMPLE_RUN : sizes[i] % TRIB_SAMPLE_RUN));
            }
        }
    }
    struct trib_sample none;
    trib_sample_init(&none, &tag, 10, 0, 0);
    assert_true(none.drawn == 0);
}

#define EVERY 10
#define OPERATIONS 20000
#define RUNS 25 /* three strata, the last of five runs */

/* Each run is drawn as often as it says, over many operations: 2,000 of 20,000, and 4,000 in the shorter stratum. The
 * deviation is 42 and 57; five of them are left. */
static void draw__is_as_frequent_as_it_says(void **state)
{
    uint32_t count[RUNS] = {0};
    uint64_t at[3];
    (void)state;
    for (uint64_t number = 0; number < OPERATIONS; number++) {
        struct trib_sample sample;
        trib_sample_init(&sample, &tag, EVERY, number, (uint64_t)RUNS * TRIB_SAMPLE_RUN);
        trib_sample_draw(&sample, at);
        for (uint64_t i = 0; i < sample.drawn; i++) {
            count[at[i] / TRIB_SAMPLE_RUN]++;
        }
    }
    for (uint32_t run = 0; run < RUNS; run++) {
        assert_in_range(count[run], run < 20 ? 1790 : 3715, run < 20 ? 2210 : 4285);
    }
}

/* A switch that falsifies n runs of an operation is caught with 1 - (1 - 1/every)^n or more, wherever they lie: all
 * places of n runs are drawn by another generator. */
static void switch__that_falsifies_n_runs_is_caught_within_the_bound(void **state)
{
    enum { ALL = 1000, TRIES = 4000 };
    static uint64_t at[ALL / EVERY];
    (void)state;
    for (uint32_t n = 1; n <= 32; n *= 2) {
        uint32_t caught = 0;
        double missed = 1;
        for (uint32_t k = 0; k < n; k++) {
            missed *= 1 - 1.0 / EVERY;
        }
        for (uint64_t try = 0; try < TRIES; try++) {
            bool is_bad[ALL] = {false};
            bool is_caught = false;
            struct trib_sample sample;
            for (uint64_t k = 0, draw = 0; k < n; draw++) {
                uint64_t run = trib_mix64(try << 32 | n << 16 | draw) % (draw % 2 == 0 ? ALL : 40); /* some are near */
                k += !is_bad[run];
                is_bad[run] = true;
            }
            trib_sample_init(&sample, &tag, EVERY, try, (uint64_t)ALL * TRIB_SAMPLE_RUN);
            trib_sample_draw(&sample, at);
            for (uint64_t i = 0; i < sample.drawn; i++) {
                is_caught = is_caught || is_bad[at[i] / TRIB_SAMPLE_RUN];
            }
            caught += is_caught;
        }
        assert_true(caught > TRIES * (1 - missed) - 160); /* 5 deviations of 32 at most */
    }
}

/* Draws of two operations, two keys, and the streams of two ranks have nothing in common. */
static void keys__and_numbers_make_other_draws(void **state)
{
    enum { DRAWN = 1000 };
    static uint64_t at[3][DRAWN];
    struct trib_sample sample;
    (void)state;
    for (uint64_t number = 0; number < 2; number++) {
        trib_sample_init(&sample, &tag, 1000, number, (uint64_t)DRAWN * 1000 * TRIB_SAMPLE_RUN);
        trib_sample_draw(&sample, at[number]);
    }
    make_tag(2);
    trib_sample_init(&sample, &tag, 1000, 0, (uint64_t)DRAWN * 1000 * TRIB_SAMPLE_RUN);
    trib_sample_draw(&sample, at[2]);
    make_tag(1);
    for (uint32_t a = 0; a < 3; a++) {
        uint32_t same = 0;
        for (uint32_t i = 0; i < DRAWN; i++) {
            same += at[a][i] == at[(a + 1) % 3][i];
        }
        assert_in_range(same, 0, 10); /* one is expected */
    }
}

static void hiding__comes_back_and_differs_by_rank(void **state)
{
    enum { LEN = 200 };
    uint8_t part[LEN], first[LEN], second[LEN];
    struct trib_sample sample;
    (void)state;
    trib_sample_init(&sample, &tag, 10, 7, 1000);
    memset(part, 5, LEN);
    memcpy(first, part, LEN);
    memcpy(second, part, LEN);
    trib_sample_hide(&sample, 0, first, LEN);
    trib_sample_hide(&sample, 1, second, LEN);
    uint32_t same[2] = {0}; /* bytes that are as before; bytes that two ranks have in common */
    for (uint32_t i = 0; i < LEN; i++) {
        same[0] += first[i] == part[i];
        same[1] += first[i] == second[i];
    }
    assert_in_range(same[0], 0, 8);
    assert_in_range(same[1], 0, 8);
    trib_sample_hide(&sample, 0, first, LEN);
    assert_memory_equal(first, part, LEN);
    memcpy(second, part, LEN);
    trib_sample_hide(&sample, 1, second, LEN - 3); /* a shorter part has the same stream */
    trib_sample_hide(&sample, 1, second, LEN - 3);
    assert_memory_equal(second, part, LEN);
}

static void vectors__are_those_of_the_protocol(void **state)
{
    uint8_t job[TRIB_TAG_KEY], key[TRIB_TAG_KEY], stream[72] = {0};
    uint64_t nonces[4], at[10];
    struct trib_sample sample;
    char name[32];
    (void)state;
    for (uint32_t i = 0; i < sizeof job; i++) {
        job[i] = (uint8_t)i;
    }
    for (uint32_t rank = 0; rank < 4; rank++) {
        nonces[rank] = UINT64_C(0x1111111111111111) * (rank + 1);
    }
    trib_tag_key(key, job, 0xc0ffee, 3, nonces, 4);
    memset(&tag, 0, sizeof tag);
    trib_tag_init(&tag, trib_tag_kernel(), key, 4);
    trib_sample_init(&sample, &tag, 10, UINT64_C(0x100000007), 1500);
    make_tag(1);
    assert_true(first_bytes(sample.key) == vector("sample-key"));
    assert_true(sample.drawn == 10);
    trib_sample_draw(&sample, at);
    for (uint32_t i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "sample-%u", i);
        assert_true(at[i] == vector(name));
    }
    trib_sample_hide(&sample, 3, stream, sizeof stream);
    assert_true(first_bytes(stream) == vector("sample-stream-0") &&
                first_bytes(stream + 64) == vector("sample-stream-1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draw__is_one_run_of_each_stratum),
        cmocka_unit_test(draw__is_as_frequent_as_it_says),
        cmocka_unit_test(switch__that_falsifies_n_runs_is_caught_within_the_bound),
        cmocka_unit_test(keys__and_numbers_make_other_draws),
        cmocka_unit_test(hiding__comes_back_and_differs_by_rank),
        cmocka_unit_test(vectors__are_those_of_the_protocol),
    };

    make_tag(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
