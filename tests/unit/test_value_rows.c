/* SPDX-License-Identifier: Apache-2.0 */
/* test_value_rows.c: rows, block exponents and shifts, tensors: what value.c makes of the kernels, on every table.
 * Read next: tests/property/test_value_twin.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/value.h"
#include "unit/value_cases.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

/* ---- rows ---- */

static void trib_row_size__accumulator_of_each_type(void **state)
{
    (void)state;
    assert_int_equal(trib_row_size(TRIB_FLOAT32, 1408), 1408);
    assert_int_equal(trib_row_size(TRIB_FLOAT16, 1408), 2816);
    assert_int_equal(trib_row_size(TRIB_BFLOAT16, 1408), 2816);
    assert_int_equal(trib_row_size(TRIB_INT32, 0), 0);
    assert_int_equal(trib_row_size(TRIB_INT64, 8), 8);
    assert_int_equal(trib_row_size(TRIB_BYTES, 3), 3);
    assert_int_equal(trib_row_size(TRIB_FLOAT64, 8), 8);
    assert_int_equal(trib_row_size(TRIB_INT8, 3), 3);
    assert_int_equal(trib_row_size(TRIB_UINT8, 3), 3);
}

/* load a, add b, merge with the row of c, finish: what comes out for one element given in the type's own bytes. */
static uint64_t reduce_three(const struct trib_value_kernels *k, enum trib_type type, enum trib_reduction reduction,
                             const uint64_t in[3])
{
    unsigned char payload[3][REPEAT * 8], row[REPEAT * 8], other[REPEAT * 8];
    size_t size = trib_type_size(type);
    uint64_t result = 0;

    for (size_t i = 0; i < REPEAT; i++) {
        for (size_t j = 0; j < 3; j++) {
            memcpy(payload[j] + i * size, &in[j], size);
        }
    }
    trib_row_load(k, type, row, payload[0], REPEAT * size);
    trib_row_add(k, type, reduction, row, payload[1], REPEAT * size);
    trib_row_load(k, type, other, payload[2], REPEAT * size);
    trib_row_merge(k, type, reduction, row, other, REPEAT * size);
    trib_row_finish(k, type, row, REPEAT * size);
    memcpy(&result, row, size);
    for (size_t i = 1; i < REPEAT; i++) {
        assert_memory_equal(row, row + i * size, size);
    }
    return result;
}

static void trib_row__load_add_merge_finish(void **state)
{
    static const struct {
        enum trib_type type;
        enum trib_reduction reduction;
        uint64_t in[3], result;
    } cases[] = {
        {TRIB_FLOAT32, TRIB_SUM, {0x3f800000, 0x40000000, 0x40400000}, 0x40c00000}, /* 1 + 2 + 3 */
        {TRIB_FLOAT32, TRIB_SUM, {0xffc00001, 0x40000000, 0x40400000}, 0x7fc00000},
        {TRIB_FLOAT32, TRIB_AVERAGE, {0x3f800000, 0x40000000, 0x40400000}, 0x40c00000},
        {TRIB_FLOAT32, TRIB_MINIMUM, {0x3f800000, 0xc0000000, 0x40400000}, 0xc0000000},
        {TRIB_FLOAT32, TRIB_MAXIMUM, {0x80000000, 0xc0000000, 0x00000000}, 0x00000000},
        {TRIB_FLOAT32, TRIB_PRODUCT, {0x3fc00000, 0x40000000, 0x40400000}, 0x41100000}, /* 1.5 x 2 x 3 */
        {TRIB_FLOAT16, TRIB_SUM, {0x3c00, 0x4000, 0x4200}, 0x4600},
        {TRIB_FLOAT16, TRIB_SUM, {0x7bff, 0x7bff, 0xfbff}, 0x7bff}, /* passes 65504 on its way */
        {TRIB_FLOAT16, TRIB_SUM, {0x7bff, 0x4c00, 0x0000}, 0x7c00}, /* 65504 + 16 = 65520 */
        {TRIB_FLOAT16, TRIB_SUM, {0x3c00, 0x1000, 0x1000}, 0x3c01}, /* two halves of a place make one: rounded once */
        {TRIB_FLOAT16, TRIB_SUM, {0x7c00, 0xfc00, 0x3c00}, 0x7e00},
        {TRIB_FLOAT16, TRIB_MINIMUM, {0x0001, 0x8001, 0x8000}, 0x8001},
        {TRIB_FLOAT16, TRIB_MAXIMUM, {0x7c01, 0x7c00, 0x3c00}, 0x7e00},
        {TRIB_FLOAT16, TRIB_PRODUCT, {0x7bff, 0x4000, 0x3800}, 0x7bff}, /* x 2 x 0.5, passes 65504 on its way */
        {TRIB_BFLOAT16, TRIB_SUM, {0x3f80, 0x4000, 0x4040}, 0x40c0},
        {TRIB_BFLOAT16, TRIB_SUM, {0x3f80, 0x3b80, 0x3b80}, 0x3f81},
        {TRIB_BFLOAT16, TRIB_SUM, {0x7f80, 0xff80, 0x3f80}, 0x7fc0},
        {TRIB_BFLOAT16, TRIB_SUM, {0x0001, 0x0001, 0x8001}, 0x0001},
        {TRIB_BFLOAT16, TRIB_MINIMUM, {0x3f81, 0x3f80, 0xffff}, 0x7fc0},
        {TRIB_BFLOAT16, TRIB_MAXIMUM, {0x3f80, 0x3f81, 0xff80}, 0x3f81},
        {TRIB_BFLOAT16, TRIB_PRODUCT, {0x3f81, 0x3f81, 0x3f81}, 0x3f83},
        {TRIB_INT32, TRIB_SUM, {0x7fffffff, 1, 1}, 0x80000001},
        {TRIB_INT32, TRIB_MINIMUM, {1, 0x80000000, 0x7fffffff}, 0x80000000},
        {TRIB_INT32, TRIB_MAXIMUM, {1, 0x80000000, 0x7fffffff}, 0x7fffffff},
        {TRIB_INT32, TRIB_PRODUCT, {0x10000, 0x8000, 2}, 0},
        {TRIB_INT64, TRIB_SUM, {INT64_MAX, 1, 1}, UINT64_C(0x8000000000000001)},
        {TRIB_INT64, TRIB_MINIMUM, {INT64_MAX, UINT64_MAX, 1}, UINT64_MAX},
        {TRIB_INT64, TRIB_MAXIMUM, {1, UINT64_MAX, UINT64_C(1) << 62}, UINT64_C(1) << 62},
        {TRIB_INT64, TRIB_PRODUCT, {UINT64_C(1) << 32, UINT64_MAX, UINT64_C(1) << 31}, UINT64_C(1) << 63},
        {TRIB_FLOAT64, TRIB_SUM, {0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000}, 0x4018000000000000},
        {TRIB_FLOAT64, TRIB_AVERAGE, {0x3ff0000000000000, 0x4000000000000000, 0}, 0x4008000000000000},
        {TRIB_FLOAT64, TRIB_MINIMUM, {0, 0x8000000000000000, 0x3ff0000000000000}, 0x8000000000000000},
        {TRIB_FLOAT64, TRIB_MAXIMUM, {0xfff0000000000001, 0x7ff0000000000000, 0}, 0x7ff8000000000000},
        {TRIB_FLOAT64, TRIB_PRODUCT, {0x4000000000000000, 0x4000000000000000, 0xbff0000000000000}, 0xc010000000000000},
        {TRIB_INT8, TRIB_SUM, {0x7f, 1, 1}, 0x81},
        {TRIB_INT8, TRIB_AVERAGE, {0x7f, 1, 1}, 0x81},
        {TRIB_INT8, TRIB_MINIMUM, {0x7f, 0x80, 0}, 0x80},
        {TRIB_INT8, TRIB_MAXIMUM, {0xff, 0x80, 0xfe}, 0xff},
        {TRIB_INT8, TRIB_PRODUCT, {0xff, 5, 7}, 0xdd},
        {TRIB_UINT8, TRIB_SUM, {200, 50, 7}, 1},
        {TRIB_UINT8, TRIB_MINIMUM, {0x7f, 0x80, 0xff}, 0x7f},
        {TRIB_UINT8, TRIB_MAXIMUM, {0x7f, 0x80, 0}, 0x80},
        {TRIB_UINT8, TRIB_PRODUCT, {3, 5, 17}, 0xff},
        {TRIB_BYTES, TRIB_REDUCTION_NONE, {0xab, 0, 0}, 0xab}, /* a broadcast: the first payload stays */
        {TRIB_BYTES, TRIB_MAXIMUM, {0xab, 0xcd, 0xef}, 0xab},
    };

    (void)state;
    FOR_EACH_TABLE(k)
    {
        for (size_t i = 0; i < COUNT(cases); i++) {
            uint64_t found = reduce_three(k, cases[i].type, cases[i].reduction, cases[i].in);
            if (found != cases[i].result) {
                fail_msg("%s, case %zu: %llx, should be %llx", k->name, i, (unsigned long long)found,
                         (unsigned long long)cases[i].result);
            }
        }
    }
}

static void no_change(int type, int reduction)
{
    const struct trib_value_kernels *k = trib_value_kernels();
    unsigned char row[8] = "1234567";

    trib_row_add(k, (enum trib_type)type, (enum trib_reduction)reduction, row, "abcdefg", 8);
    trib_row_merge(k, (enum trib_type)type, (enum trib_reduction)reduction, row, "abcdefg", 8);
    assert_memory_equal(row, "1234567", 8);
}

static void trib_row__no_type_changes_nothing(void **state)
{
    unsigned char row[8] = "1234567", payload[8] = "abcdefg";

    (void)state;
    for (int type = -1; type <= 99; type += type == 0 ? TRIB_TYPE_COUNT : 1) {
        trib_row_load(trib_value_kernels(), (enum trib_type)type, row, payload, 8);
        trib_row_finish(trib_value_kernels(), (enum trib_type)type, row, 8);
        assert_memory_equal(row, "1234567", 8);
        no_change(type, TRIB_SUM);
        no_change(type, TRIB_PRODUCT);
    }
}

static void trib_row__no_reduction_changes_nothing(void **state)
{
    (void)state;
    for (int reduction = -1; reduction <= 99; reduction += reduction == 0 ? TRIB_REDUCTION_COUNT : 1) {
        no_change(TRIB_FLOAT32, reduction);
        no_change(TRIB_INT64, reduction);
        no_change(99, reduction);
    }
}

static void trib_row__empty_payload(void **state)
{
    (void)state;
    for (int type = 0; type <= TRIB_TYPE_COUNT; type++) {
        trib_row_load(trib_value_kernels(), (enum trib_type)type, NULL, NULL, 0);
        for (int reduction = 0; reduction <= TRIB_REDUCTION_COUNT; reduction++) {
            trib_row_add(trib_value_kernels(), (enum trib_type)type, (enum trib_reduction)reduction, NULL, NULL, 0);
            trib_row_merge(trib_value_kernels(), (enum trib_type)type, (enum trib_reduction)reduction, NULL, NULL, 0);
        }
        trib_row_finish(trib_value_kernels(), (enum trib_type)type, NULL, 0);
    }
}

#if defined(__SSE__)
static uint32_t get_mode(void)
{
    return _mm_getcsr();
}

static void set_mode(uint32_t mode)
{
    _mm_setcsr(mode);
}

#define MODE_FLAGS 0x3fu /* what has happened, not what is to */
static const uint32_t modes[] = {0x9fc0 /* FTZ, DAZ */, 0x5f80 /* round up */, 0x7f80 /* towards zero */,
                                 0x1e00 /* traps */};
#elif defined(__aarch64__)
static uint32_t get_mode(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode) : : "memory");
    return (uint32_t)mode;
}

static void set_mode(uint32_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode) : "memory");
}

#define MODE_FLAGS 0u
static const uint32_t modes[] = {1U << 24 /* FZ */, 1U << 22 /* round up */, 3U << 22 /* towards zero */,
                                 1U << 25 /* DN */};
#endif

#if defined(__SSE__) || defined(__aarch64__)
/* As a process does that loaded a module built with -ffast-math, or that traps on NaN: bits stay, and so does its
 * setting. */
static void trib_row__whatever_the_callers_floating_point_mode(void **state)
{
    static const uint64_t subnormal[3] = {1, 1, 1}, tie[3] = {0x3f800001, 0x33800000, 0}, nan[3] = {0x7f800001, 0, 0};
    uint32_t callers = get_mode();

    (void)state;
    FOR_EACH_TABLE(k)
    {
        for (size_t i = 0; i < COUNT(modes); i++) {
            float tensor = 5;
            set_mode(modes[i]);
            uint64_t sums[3] = {reduce_three(k, TRIB_FLOAT32, TRIB_SUM, subnormal),
                                reduce_three(k, TRIB_FLOAT32, TRIB_SUM, tie),
                                reduce_three(k, TRIB_FLOAT32, TRIB_SUM, nan)};
            uint64_t others[3] = {reduce_three(k, TRIB_FLOAT32, TRIB_MAXIMUM, subnormal),
                                  reduce_three(k, TRIB_FLOAT64, TRIB_MINIMUM, subnormal),
                                  reduce_three(k, TRIB_FLOAT64, TRIB_SUM, subnormal)};
            trib_tensor_decode(k, &(struct trib_conversion){TRIB_INT32, TRIB_FLOAT32, 149, 3}, &tensor, &(int32_t){5},
                               1);
            uint32_t left = get_mode();
            set_mode(callers);
            assert_int_equal(left & ~MODE_FLAGS, modes[i]);
            assert_int_equal(sums[0], 3);
            assert_int_equal(sums[1], 0x3f800002);
            assert_int_equal(sums[2], 0x7fc00000);
            assert_int_equal(others[0], 1);
            assert_int_equal(others[1], 1);
            assert_int_equal(others[2], 3);
            assert_int_equal(to_bits(tensor), 2);
        }
    }
}
#endif

/* ---- blocks ---- */

static void trib_block_exponent__cases(void **state)
{
    static const struct {
        uint32_t max;
        int exponent;
    } cases[] = {
        {0x00000000, TRIB_EXPONENT_ZERO},
        {0x80000000, TRIB_EXPONENT_ZERO},
        {0x7f800000, TRIB_EXPONENT_RAW},
        {0xff800000, TRIB_EXPONENT_RAW},
        {0x7fc00000, TRIB_EXPONENT_RAW},
        {0xff800001, TRIB_EXPONENT_RAW},
        {0x3f800000, 1}, /* 1 < 2^1 */
        {0x3f7fffff, 0},
        {0xbf000000, 0},
        {0x3effffff, -1},
        {0x7f000000, 128}, /* 2^127 */
        {0x7f7fffff, 128},
        {0x7effffff, 127},
        {0x00800000, -125}, /* the smallest normal */
        {0x007fffff, -126}, /* the largest subnormal */
        {0x00400000, -126},
        {0x003fffff, -127},
        {0x00000002, -147},
        {0x00000001, -148},
    };

    (void)state;
    FOR_EACH_TABLE(k)
    {
        for (size_t i = 0; i < COUNT(cases); i++) {
            for (size_t at = 0; at < REPEAT; at++) {
                uint32_t block[REPEAT] = {0};
                block[at] = cases[i].max;
                assert_int_equal(trib_block_exponent(k, block, REPEAT), cases[i].exponent);
            }
        }
        assert_int_equal(trib_block_exponent(k, NULL, 0), TRIB_EXPONENT_ZERO);
    }
}

/* For every exponent, and every number of ranks, the largest element there can be: ranks x |q| fits, no two bits are
 * wasted. */
static void check_block_shift(const struct trib_value_kernels *k, int exponent, uint32_t ranks)
{
    float largest = exponent == 128 ? from_bits(0x7f7fffff) : nextafterf(ldexpf(1, exponent), 0);
    int shift = trib_block_shift((int16_t)exponent, ranks);
    int32_t q, negative;

    assert_in_range(shift + 300, 0, 600);
    k->quantise(&q, &largest, shift, 1);
    largest = -largest;
    k->quantise(&negative, &largest, shift, 1);
    assert_true(q >= 0 && negative == -q);
    assert_true((uint64_t)ranks * (uint64_t)q <= INT32_MAX);
    if (exponent > -126 && ranks <= (1u << 20)) {
        assert_true((uint64_t)ranks * (uint64_t)q >= INT32_MAX / 4);
    }
}

static void trib_block_shift__sum_of_all_ranks_fits(void **state)
{
    (void)state;
    FOR_EACH_TABLE(k)
    {
        for (int exponent = -148; exponent <= 128; exponent++) {
            for (uint32_t ranks = 1; ranks <= 64; ranks++) {
                check_block_shift(k, exponent, ranks);
            }
            for (int log = 7; log < 32; log++) { /* around every larger power of two, where q rounds up */
                for (int64_t ranks = (INT64_C(1) << log) - 2; ranks <= (INT64_C(1) << log) + 2; ranks++) {
                    check_block_shift(k, exponent, (uint32_t)ranks);
                }
            }
            check_block_shift(k, exponent, UINT32_MAX);
        }
    }
}

static void trib_block_shift__traps(void **state)
{
    (void)state;
    assert_int_equal(trib_block_shift(0, 1), 31);
    assert_int_equal(trib_block_shift(0, 4), 29);
    assert_int_equal(trib_block_shift(0, 5), 28);
    assert_int_equal(trib_block_shift(0, 128), 24);
    assert_int_equal(trib_block_shift(0, 255), 23);
    assert_int_equal(trib_block_shift(0, 256), 22); /* 2^23 - 0.5 would round to 2^23, and 256 of them are 2^31 */
    assert_int_equal(trib_block_shift(128, 64), -103);
    assert_int_equal(trib_block_shift(-148, 1), 179);
    assert_int_equal(trib_block_shift(TRIB_EXPONENT_ZERO, 4), 0);
    assert_int_equal(trib_block_shift(TRIB_EXPONENT_RAW, 4), 0);
    assert_int_equal(trib_block_shift(INT16_MIN, 4), trib_block_shift(-148, 4)); /* never beyond what kernels take */
    assert_int_equal(trib_block_shift(INT16_MAX, 4), trib_block_shift(128, 4));
    assert_int_equal(trib_block_shift(3, 0), trib_block_shift(3, 1));
}

/* ---- tensors ---- */

static void trib_tensor__copies(void **state)
{
    static const enum trib_type types[] = {TRIB_FLOAT32, TRIB_FLOAT16, TRIB_BFLOAT16, TRIB_INT32, TRIB_INT64,
                                           TRIB_BYTES,   TRIB_FLOAT64, TRIB_INT8,     TRIB_UINT8};
    unsigned char tensor[64 * 8], payload[64 * 8], back[64 * 8];

    (void)state;
    for (size_t i = 0; i < sizeof tensor; i++) {
        tensor[i] = (unsigned char)(i * 37); /* NaNs among them: a copy keeps every bit */
    }
    FOR_EACH_TABLE(k)
    {
        for (size_t i = 0; i < COUNT(types); i++) {
            size_t len = 64 * trib_type_size(types[i]);
            trib_tensor_encode(k, &(struct trib_conversion){types[i], types[i], 0, 1}, payload, tensor, 64);
            assert_memory_equal(payload, tensor, len);
            trib_tensor_decode(k, &(struct trib_conversion){types[i], types[i], 0, 1}, back, payload, 64);
            assert_memory_equal(back, tensor, len);
            trib_tensor_decode(k, &(struct trib_conversion){types[i], types[i], 0, 1}, payload, payload,
                               64); /* in place */
            assert_memory_equal(payload, tensor, len);
            trib_tensor_encode(k, &(struct trib_conversion){types[i], types[i], 0, 1}, NULL, NULL, 0);
            trib_tensor_decode(k, &(struct trib_conversion){types[i], types[i], 0, 1}, NULL, NULL, 0);
        }
    }
}

static void trib_tensor_encode__float32_to_each_wire(void **state)
{
    static const float tensor[4] = {1.0f, -2.5f, 0.3f, 1e-30f};
    static const uint16_t brains[4] = {0x3f80, 0xc020, 0x3e9a, 0x0da2};
    static const int32_t integers[4] = {256, -640, 77, 0};

    (void)state;
    FOR_EACH_TABLE(k)
    {
        uint16_t narrow[4];
        int32_t q[4];
        trib_tensor_encode(k, &(struct trib_conversion){TRIB_BFLOAT16, TRIB_FLOAT32, 0, 1}, narrow, tensor, 4);
        assert_memory_equal(narrow, brains, sizeof narrow);
        trib_tensor_encode(k, &(struct trib_conversion){TRIB_INT32, TRIB_FLOAT32, 8, 1}, q, tensor, 4);
        assert_memory_equal(q, integers, sizeof q);
    }
}

static void trib_tensor_decode__float32_from_each_wire(void **state)
{
    static const uint16_t brains[2] = {0x4040, 0xbf80};      /* 3, -1 */
    static const int32_t integers[2] = {3 << 8, 0x01000001}; /* 3 and 2^16 + 2^-8, which is no float32 */
    float tensor[2];

    (void)state;
    FOR_EACH_TABLE(k)
    {
        trib_tensor_decode(k, &(struct trib_conversion){TRIB_BFLOAT16, TRIB_FLOAT32, 0, 1}, tensor, brains, 2);
        assert_true(tensor[0] == 3.0f && tensor[1] == -1.0f);
        trib_tensor_decode(k, &(struct trib_conversion){TRIB_BFLOAT16, TRIB_FLOAT32, 0, 3}, tensor, brains, 2);
        assert_true(tensor[0] == 1.0f && to_bits(tensor[1]) == 0xbeaaaaab);
        trib_tensor_decode(k, &(struct trib_conversion){TRIB_INT32, TRIB_FLOAT32, 8, 1}, tensor, integers, 2);
        assert_true(tensor[0] == 3.0f && tensor[1] == 65536.0f);
        trib_tensor_decode(k, &(struct trib_conversion){TRIB_INT32, TRIB_FLOAT32, 8, 3}, tensor, integers, 2);
        assert_true(tensor[0] == 1.0f && tensor[1] == 65536.0f / 3.0f); /* rounded, divided, rounded */
    }
}

static void trib_tensor_decode__averages(void **state)
{
    static const struct {
        enum trib_type type;
        uint32_t divisor;
        uint64_t sum, average;
    } cases[] = {
        {TRIB_FLOAT32, 4, 0x40c00000, 0x3fc00000},
        {TRIB_FLOAT32, 3, 0x3f800000, 0x3eaaaaab},
        {TRIB_FLOAT32, 2, 0xffc00001, 0x7fc00000},
        {TRIB_FLOAT32, 0, 0x40c00000, 0x40c00000},
        {TRIB_FLOAT16, 3, 0x3c00, 0x3555},
        /* 1 / 3 */ {TRIB_FLOAT16, 2, 0x0001, 0x0000},
        {TRIB_FLOAT16, 2, 0x0003, 0x0002},
        {TRIB_FLOAT16, 4, 0x7c00, 0x7c00},
        {TRIB_FLOAT16, 4, 0xfd00, 0x7e00},
        {TRIB_BFLOAT16, 3, 0x3f80, 0x3eab},
        {TRIB_BFLOAT16, 2, 0xffff, 0x7fc0},
        {TRIB_INT32, 2, 7, 3},
        {TRIB_INT32, 2, (uint32_t)-7, (uint32_t)-3}, /* towards zero */
        {TRIB_INT32, UINT32_MAX, 0x80000000, 0},
        {TRIB_INT32, 0x80000000, 0x80000000, (uint32_t)-1},
        {TRIB_INT64, 4, (uint64_t)-7, (uint64_t)-1},
        {TRIB_INT64, 3, UINT64_C(9000000000000000000), UINT64_C(3000000000000000000)},
        {TRIB_INT64, 2, UINT64_C(1) << 63, UINT64_C(3) << 62},
        {TRIB_FLOAT64, 3, 0x3ff0000000000000, 0x3fd5555555555555}, /* 1 / 3 */
        {TRIB_FLOAT64, UINT32_MAX, 0x41efffffffe00000, 0x3ff0000000000000},
        {TRIB_FLOAT64, 2, 0xfff0000000000001, 0x7ff8000000000000},
        {TRIB_INT8, 2, 0xf9, 0xfd}, /* -7 / 2: towards zero */
        {TRIB_INT8, 1000, 0x80, 0},
        {TRIB_INT8, 3, 100, 33},
        {TRIB_UINT8, 2, 0xf9, 0x7c}, /* 249 / 2 */
        {TRIB_UINT8, 256, 0xff, 0},
    };
    const size_t count = 600; /* more than two of the pieces in which 16-bit floats are divided */

    (void)state;
    FOR_EACH_TABLE(k)
    {
        for (size_t i = 0; i < COUNT(cases); i++) {
            unsigned char payload[600 * 8], tensor[600 * 8];
            size_t size = trib_type_size(cases[i].type);

            for (size_t j = 0; j < count; j++) {
                memcpy(payload + j * size, &cases[i].sum, size);
            }
            trib_tensor_decode(k, &(struct trib_conversion){cases[i].type, cases[i].type, 0, cases[i].divisor}, tensor,
                               payload, count);
            for (size_t j = 0; j < count; j++) {
                assert_memory_equal(tensor + j * size, &cases[i].average, size);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trib_row_size__accumulator_of_each_type),
        cmocka_unit_test(trib_row__load_add_merge_finish),
        cmocka_unit_test(trib_row__no_type_changes_nothing),
        cmocka_unit_test(trib_row__no_reduction_changes_nothing),
        cmocka_unit_test(trib_row__empty_payload),
#if defined(__SSE__) || defined(__aarch64__)
        cmocka_unit_test(trib_row__whatever_the_callers_floating_point_mode),
#endif
        cmocka_unit_test(trib_block_exponent__cases),
        cmocka_unit_test(trib_block_shift__sum_of_all_ranks_fits),
        cmocka_unit_test(trib_block_shift__traps),
        cmocka_unit_test(trib_tensor__copies),
        cmocka_unit_test(trib_tensor_encode__float32_to_each_wire),
        cmocka_unit_test(trib_tensor_decode__float32_from_each_wire),
        cmocka_unit_test(trib_tensor_decode__averages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
