/* SPDX-License-Identifier: Apache-2.0 */
/* test_perf_values.c: the numbers of `tributary perf`: sums in 16 bits are exact however often they are rounded on the
 * way, and a wrong sum is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/perf.h"
#include "core/prng.h"
#include "core/value.h"

#define COUNT 64U
#define ROUND 2U
#define NONE UINT32_MAX

struct number_mode {
    enum trib_type type;
    enum trib_wire wire;
};

static const struct number_mode modes[] = {{TRIB_FLOAT32, TRIB_WIRE_BFLOAT16},
                                           {TRIB_BFLOAT16, TRIB_WIRE_FLOAT32},
                                           {TRIB_FLOAT16, TRIB_WIRE_FLOAT32},
                                           {TRIB_FLOAT32, TRIB_WIRE_FLOAT32}};
static const uint32_t sizes[] = {2, 3, 8, 17, 18, 50, 128, 255, 256, 257, 511, 512, 513, 1000, TRIB_RANKS_MAX};

static struct perf_options options_of(const struct number_mode *mode, uint32_t ranks, enum trib_reduction reduction)
{
    struct perf_options options = {.type = mode->type, .reduction = reduction, .collective = TRIB_ALLREDUCE};

    trib_config_init(&options.comm);
    options.comm.ranks = ranks;
    options.comm.wire = mode->wire;
    return options;
}

/* Adds the parts of the ranks in order[0..count) by a random tree that rounds to the wire's type at each inner node. */
static void add(struct trib_prng *prng, const struct perf_options *options, const uint32_t *order, uint32_t count,
                float *sum)
{
    const struct trib_value_kernels *k = trib_value_kernels_named("scalar");
    enum trib_type wire = perf_wire(options);
    uint16_t half[COUNT];
    float other[COUNT];

    if (count == 1) {
        for (uint32_t i = 0; i < COUNT; i++) {
            sum[i] = (float)perf_value(options, i, order[0], ROUND);
        }
        return;
    }
    uint32_t left = 1 + (uint32_t)trib_prng_below(prng, count - 1);
    add(prng, options, order, left, sum);
    add(prng, options, order + left, count - left, other);
    for (uint32_t i = 0; i < COUNT; i++) {
        sum[i] += other[i];
    }
    if (wire == TRIB_BFLOAT16) {
        k->narrow_bf16(half, sum, COUNT);
        k->widen_bf16(sum, half, COUNT);
    } else if (wire == TRIB_FLOAT16) {
        k->narrow_f16(half, sum, COUNT);
        k->widen_f16(sum, half, COUNT);
    }
}

/* The result of ranks in a random order, without one and with another one twice; number of elements found wrong. */
static int64_t wrong_of(struct trib_prng *prng, const struct perf_options *options, uint32_t without, uint32_t twice)
{
    uint32_t order[TRIB_RANKS_MAX + 1];
    uint32_t count = 0;
    float sum[COUNT];
    uint8_t result[COUNT * sizeof(float)];
    size_t size = trib_type_size(options->type);

    for (uint32_t rank = 0; rank < options->comm.ranks; rank++) {
        order[count++] = rank;
        if (rank == twice) {
            order[count++] = rank;
        }
        count -= rank == without;
    }
    for (uint32_t i = count; i-- > 1;) {
        uint32_t j = (uint32_t)trib_prng_below(prng, i + 1);
        uint32_t rank = order[i];
        order[i] = order[j];
        order[j] = rank;
    }
    add(prng, options, order, count, sum);
    for (uint32_t i = 0; i < COUNT; i++) {
        double divisor = options->reduction == TRIB_AVERAGE ? options->comm.ranks : 1;
        perf_store(options->type, result + i * size, (double)sum[i] / divisor);
    }
    return perf_wrong(options, result, (struct perf_span){0, COUNT}, 0, ROUND);
}

static void sums__are_exact_in_any_tree(void **state)
{
    struct trib_prng prng = {.state = 1};

    (void)state;
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct perf_options sum = options_of(&modes[m], sizes[s], TRIB_SUM);
            struct perf_options average = options_of(&modes[m], sizes[s], TRIB_AVERAGE);
            for (uint32_t i = 0; i < 4; i++) {
                assert_int_equal(wrong_of(&prng, &sum, NONE, NONE), 0);
                assert_int_equal(wrong_of(&prng, &average, NONE, NONE), 0);
            }
        }
    }
}

/* The largest sum of any ranks: those of one sign. */
static void sums_of_one_sign__are_exact(void **state)
{
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        for (uint32_t ranks = 1; ranks <= TRIB_RANKS_MAX; ranks++) {
            struct perf_options options = options_of(&modes[m], ranks, TRIB_SUM);
            double limit = perf_wire(&options) == TRIB_BFLOAT16 ? 256 : 2048;
            for (uint32_t i = 0; i < PERF_PERIOD; i++) {
                double positive = 0;
                double negative = 0;
                for (uint32_t rank = 0; rank < ranks; rank++) {
                    double v = perf_value(&options, i, rank, ROUND);
                    *(v > 0 ? &positive : &negative) += v;
                }
                assert_true(positive <= limit && negative >= -limit);
            }
        }
    }
}

/* Each rank's part missing, each rank's part twice, one part in place of another. */
static void wrong_sums__are_found(void **state)
{
    struct trib_prng prng = {.state = 2};

    (void)state;
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct perf_options options = options_of(&modes[m], sizes[s], TRIB_SUM);
            uint32_t step = sizes[s] > 64 ? sizes[s] / 37 : 1;
            for (uint32_t rank = 0; rank < sizes[s]; rank += step) {
                assert_true(wrong_of(&prng, &options, rank, NONE) > 0);
                assert_true(wrong_of(&prng, &options, NONE, rank) > 0);
                assert_true(wrong_of(&prng, &options, rank, (rank + 1) % sizes[s]) > 0);
            }
        }
    }
}

/* One bit of one element, and the result of another round. */
static void changed_values__are_found(void **state)
{
    struct perf_span all = {0, COUNT};
    struct trib_prng prng = {.state = 3};

    (void)state;
    for (size_t m = 0; m < 3; m++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct perf_options options = options_of(&modes[m], sizes[s], TRIB_SUM);
            size_t size = trib_type_size(options.type);
            uint8_t result[COUNT * sizeof(float)];
            for (uint32_t i = 0; i < COUNT; i++) {
                double sum = 0;
                for (uint32_t rank = 0; rank < sizes[s]; rank++) {
                    sum += perf_value(&options, i, rank, ROUND);
                }
                perf_store(options.type, result + i * size, sum);
            }
            assert_int_equal(perf_wrong(&options, result, all, 0, ROUND), 0);
            assert_true(perf_wrong(&options, result, all, 0, ROUND - 1) > (int64_t)COUNT / 2);
            uint64_t bit = trib_prng_below(&prng, COUNT * size * 8);
            result[bit / 8] ^= (uint8_t)(1U << bit % 8);
            assert_int_equal(perf_wrong(&options, result, all, 0, ROUND), 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums__are_exact_in_any_tree),
        cmocka_unit_test(sums_of_one_sign__are_exact),
        cmocka_unit_test(wrong_sums__are_found),
        cmocka_unit_test(changed_values__are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
