/* SPDX-License-Identifier: Apache-2.0 */
/* test_value_reduce.c: every reduction of every type on the cases that go wrong: NaN, infinity, -0, subnormals, ties,
 * overflow, wrapping. Each case runs on every table that this CPU has, with the operands in both orders where both are
 * of one type. Random inputs, lengths and alignments are in tests/property/test_value_twin.c. Read next:
 * test_value_rows.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/value.h"
#include "unit/value_cases.h"

struct reducing {
    enum trib_reduction reduction;
    uint64_t a, b, result; /* bits */
};

static void fill(void *dst, size_t size, uint64_t bits)
{
    for (size_t i = 0; i < REPEAT; i++) {
        memcpy((unsigned char *)dst + i * size, &bits, size);
    }
}

static void assert_all(const struct trib_value_kernels *k, const void *found, size_t size, const struct reducing *of)
{
    for (size_t i = 0; i < REPEAT; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const unsigned char *)found + i * size, size);
        if (bits != of->result) {
            fail_msg("%s %s of %llx and %llx, element %zu: %llx, should be %llx", k->name,
                     trib_reduction_name(of->reduction), (unsigned long long)of->a, (unsigned long long)of->b, i,
                     (unsigned long long)bits, (unsigned long long)of->result);
        }
    }
}

/* The payload's type; rows have elements of row_size bytes. */
static void check_cases(enum trib_type type, size_t row_size, const struct reducing *cases, size_t count)
{
    FOR_EACH_TABLE(k)
    {
        for (size_t i = 0; i < count; i++) {
            unsigned char a[REPEAT * 8], b[REPEAT * 8], dst[REPEAT * 8];
            const size_t size = trib_type_size(type);
            void (*reduce)(void *, const void *, const void *, size_t) = k->reduce[cases[i].reduction][type];

            fill(a, row_size, cases[i].a);
            fill(b, size, cases[i].b);
            reduce(dst, a, b, REPEAT);
            assert_all(k, dst, row_size, &cases[i]);
            if (size == row_size) {
                reduce(dst, b, a, REPEAT);
                assert_all(k, dst, row_size, &cases[i]);
                reduce(b, a, b, REPEAT);
                assert_all(k, b, row_size, &cases[i]);
            }
            reduce(a, a, dst, 0);
            fill(dst, size, cases[i].b);
            reduce(a, a, dst, REPEAT);
            assert_all(k, a, row_size, &cases[i]);
        }
    }
}

static void reduce_float32__cases(void **state)
{
    static const struct reducing cases[] = {
        {TRIB_SUM, 0x3f800000, 0x40000000, 0x40400000}, /* 1 + 2 */
        {TRIB_SUM, 0x3f800000, 0x33800000, 0x3f800000}, /* 1 + 2^-24: a tie, to even */
        {TRIB_SUM, 0x3f800001, 0x33800000, 0x3f800002}, /* the same tie above an odd one */
        {TRIB_SUM, 0x00000000, 0x80000000, 0x00000000}, /* 0 + -0 */
        {TRIB_SUM, 0x80000000, 0x80000000, 0x80000000}, /* -0 + -0 */
        {TRIB_SUM, 0x3f800000, 0xbf800000, 0x00000000}, /* 1 - 1 */
        {TRIB_SUM, 0x00000001, 0x00000001, 0x00000002}, /* subnormals are kept */
        {TRIB_SUM, 0x007fffff, 0x00000001, 0x00800000}, /* subnormal into normal */
        {TRIB_SUM, 0x00800000, 0x80000001, 0x007fffff}, /* and back */
        {TRIB_SUM, 0x7f7fffff, 0x7f7fffff, 0x7f800000}, /* overflow */
        {TRIB_SUM, 0x7f7fffff, 0x73000000, 0x7f800000}, /* half a place above the largest: to even, infinity */
        {TRIB_SUM, 0x7f7fffff, 0x72ffffff, 0x7f7fffff}, /* just less */
        {TRIB_SUM, 0x7f800000, 0x3f800000, 0x7f800000}, /* infinity */
        {TRIB_SUM, 0x7f800000, 0xff800000, 0x7fc00000}, /* infinity - infinity */
        {TRIB_SUM, 0xffc12345, 0x3f800000, 0x7fc00000}, /* NaNs of any kind */
        {TRIB_SUM, 0x3f800000, 0x7fa00001, 0x7fc00000},
        {TRIB_SUM, 0x7fc00001, 0xffc00002, 0x7fc00000},
        {TRIB_SUM, 0xff800001, 0x7f800000, 0x7fc00000},
        {TRIB_AVERAGE, 0x3f800000, 0x40000000, 0x40400000}, /* the worker divides */
        {TRIB_MINIMUM, 0x3f800000, 0x40000000, 0x3f800000},
        {TRIB_MINIMUM, 0xbf800000, 0x3f800000, 0xbf800000},
        {TRIB_MINIMUM, 0x00000000, 0x80000000, 0x80000000}, /* -0 is less */
        {TRIB_MINIMUM, 0x00000000, 0x00000000, 0x00000000},
        {TRIB_MINIMUM, 0x80000001, 0x80000000, 0x80000001}, /* subnormals are kept */
        {TRIB_MINIMUM, 0x00000001, 0x00000000, 0x00000000},
        {TRIB_MINIMUM, 0x7f800000, 0x7f7fffff, 0x7f7fffff},
        {TRIB_MINIMUM, 0xff800000, 0xff7fffff, 0xff800000},
        {TRIB_MINIMUM, 0x7fc00001, 0xff800000, 0x7fc00000},
        {TRIB_MINIMUM, 0x7f800001, 0x00000000, 0x7fc00000},
        {TRIB_MINIMUM, 0xffffffff, 0xffc00000, 0x7fc00000},
        {TRIB_MAXIMUM, 0x3f800000, 0x40000000, 0x40000000},
        {TRIB_MAXIMUM, 0xbf800000, 0x3f800000, 0x3f800000},
        {TRIB_MAXIMUM, 0x00000000, 0x80000000, 0x00000000},
        {TRIB_MAXIMUM, 0x80000000, 0x80000000, 0x80000000},
        {TRIB_MAXIMUM, 0x00000001, 0x00000000, 0x00000001},
        {TRIB_MAXIMUM, 0x80000001, 0x80000000, 0x80000000},
        {TRIB_MAXIMUM, 0x7f800000, 0x7f7fffff, 0x7f800000},
        {TRIB_MAXIMUM, 0x7fa00000, 0x7f800000, 0x7fc00000},
        {TRIB_MAXIMUM, 0xff800001, 0x00000000, 0x7fc00000},
        {TRIB_PRODUCT, 0x40000000, 0x40400000, 0x40c00000}, /* 2 x 3 */
        {TRIB_PRODUCT, 0x3f800001, 0x3f800001, 0x3f800002}, /* rounded */
        {TRIB_PRODUCT, 0x00800000, 0x3f000000, 0x00400000}, /* into subnormals */
        {TRIB_PRODUCT, 0x00000001, 0x3f000000, 0x00000000}, /* tie, to even */
        {TRIB_PRODUCT, 0x00000003, 0x3f000000, 0x00000002},
        {TRIB_PRODUCT, 0x80000000, 0x3f800000, 0x80000000},
        {TRIB_PRODUCT, 0x7f7fffff, 0xc0000000, 0xff800000},
        {TRIB_PRODUCT, 0x7f800000, 0x80000000, 0x7fc00000}, /* infinity x -0 */
        {TRIB_PRODUCT, 0xff800001, 0x3f800000, 0x7fc00000},
    };

    (void)state;
    check_cases(TRIB_FLOAT32, 4, cases, COUNT(cases));
}

static void reduce_float64__cases(void **state)
{
    static const struct reducing cases[] = {
        {TRIB_SUM, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000}, /* 1 + 2 */
        {TRIB_SUM, 0x3ff0000000000000, 0x3ca0000000000000, 0x3ff0000000000000}, /* 1 + 2^-53: a tie, to even */
        {TRIB_SUM, 0x3ff0000000000001, 0x3ca0000000000000, 0x3ff0000000000002},
        {TRIB_SUM, 0x0000000000000001, 0x0000000000000001, 0x0000000000000002},
        {TRIB_SUM, 0x7fefffffffffffff, 0x7fefffffffffffff, 0x7ff0000000000000},
        {TRIB_SUM, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000},
        {TRIB_SUM, 0xfff0000000000001, 0x3ff0000000000000, 0x7ff8000000000000},
        {TRIB_SUM, 0x7ff8000000000001, 0xfff8000000000002, 0x7ff8000000000000},
        {TRIB_AVERAGE, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000},
        {TRIB_MINIMUM, 0x3ff0000000000000, 0xbff0000000000000, 0xbff0000000000000},
        {TRIB_MINIMUM, 0x3ff0000000000000, 0x3ff0000000000001, 0x3ff0000000000000}, /* the same as float32 */
        {TRIB_MINIMUM, 0x0000000000000000, 0x8000000000000000, 0x8000000000000000},
        {TRIB_MINIMUM, 0x8000000000000001, 0x8000000000000000, 0x8000000000000001},
        {TRIB_MINIMUM, 0x7ff0000000000001, 0xfff0000000000000, 0x7ff8000000000000},
        {TRIB_MAXIMUM, 0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000000},
        {TRIB_MAXIMUM, 0x0000000000000000, 0x8000000000000000, 0x0000000000000000},
        {TRIB_MAXIMUM, 0x8000000000000000, 0x8000000000000000, 0x8000000000000000},
        {TRIB_MAXIMUM, 0x0000000000000001, 0x0000000000000000, 0x0000000000000001},
        {TRIB_MAXIMUM, 0xffffffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000},
        {TRIB_PRODUCT, 0x4000000000000000, 0x4008000000000000, 0x4018000000000000},
        {TRIB_PRODUCT, 0x3ff0000000000001, 0x3ff0000000000001, 0x3ff0000000000002},
        {TRIB_PRODUCT, 0x0010000000000000, 0x3fe0000000000000, 0x0008000000000000},
        {TRIB_PRODUCT, 0x0000000000000003, 0x3fe0000000000000, 0x0000000000000002},
        {TRIB_PRODUCT, 0x7ff0000000000000, 0x8000000000000000, 0x7ff8000000000000},
    };

    (void)state;
    check_cases(TRIB_FLOAT64, 8, cases, COUNT(cases));
}

/* Rows of float32, payloads of 16 bits: a is float32's bits. */
static void reduce_float16__cases(void **state)
{
    static const struct reducing cases[] = {
        {TRIB_SUM, 0x3f800000, 0x4000, 0x40400000}, /* 1 + 2 */
        {TRIB_SUM, 0x00000000, 0x0001, 0x33800000}, /* 0 + 2^-24 */
        {TRIB_SUM, 0x80000000, 0x8000, 0x80000000}, /* -0 + -0 */
        {TRIB_SUM, 0x3f800000, 0x7c00, 0x7f800000}, /* infinity */
        {TRIB_SUM, 0xff800000, 0x7c00, 0x7fc00000}, /* infinity - infinity */
        {TRIB_SUM, 0x3f800000, 0xfc01, 0x7fc00000}, /* NaN */
        {TRIB_SUM, 0x477fe000, 0x7bff, 0x47ffe000}, /* 65504 + 65504: no overflow in float32 */
        {TRIB_AVERAGE, 0x3f800000, 0x4000, 0x40400000},
        {TRIB_MINIMUM, 0x3f800000, 0x4000, 0x3f800000},
        {TRIB_MINIMUM, 0x3f800000, 0xc000, 0xc0000000},
        {TRIB_MINIMUM, 0x00000000, 0x8000, 0x80000000},
        {TRIB_MINIMUM, 0x33000000, 0x0001, 0x33000000}, /* 2^-25 is no float16 */
        {TRIB_MINIMUM, 0x3f800000, 0x7c01, 0x7fc00000},
        {TRIB_MINIMUM, 0xffc00001, 0x3c00, 0x7fc00000},
        {TRIB_MAXIMUM, 0x3f800000, 0x4000, 0x40000000},
        {TRIB_MAXIMUM, 0x80000000, 0x0000, 0x00000000},
        {TRIB_MAXIMUM, 0x33000000, 0x0001, 0x33800000},
        {TRIB_MAXIMUM, 0xff800000, 0xfe00, 0x7fc00000},
        {TRIB_PRODUCT, 0x40000000, 0x4200, 0x40c00000},
        {TRIB_PRODUCT, 0x477fe000, 0x7bff, 0x4f7fc004}, /* 65504 x 65504 */
        {TRIB_PRODUCT, 0x7f800000, 0x8000, 0x7fc00000},
    };

    (void)state;
    check_cases(TRIB_FLOAT16, 4, cases, COUNT(cases));
}

static void reduce_bfloat16__cases(void **state)
{
    static const struct reducing cases[] = {
        {TRIB_SUM, 0x3f800000, 0x4000, 0x40400000}, /* 1 + 2 */
        {TRIB_SUM, 0x3f800000, 0x0001, 0x3f800000},
        {TRIB_SUM, 0x00000001, 0x0001, 0x00010001}, /* subnormals are kept */
        {TRIB_SUM, 0x7f800000, 0xff80, 0x7fc00000},
        {TRIB_SUM, 0x3f800000, 0xff81, 0x7fc00000},
        {TRIB_AVERAGE, 0x3f800000, 0x4000, 0x40400000},
        {TRIB_MINIMUM, 0x3f800001, 0x3f80, 0x3f800000},
        {TRIB_MINIMUM, 0x3f7fffff, 0x3f80, 0x3f7fffff},
        {TRIB_MINIMUM, 0x00000000, 0x8000, 0x80000000},
        {TRIB_MINIMUM, 0xff800000, 0x7f81, 0x7fc00000},
        {TRIB_MAXIMUM, 0x3f800001, 0x3f80, 0x3f800001},
        {TRIB_MAXIMUM, 0x80000000, 0x0000, 0x00000000},
        {TRIB_MAXIMUM, 0x7fffffff, 0x7f80, 0x7fc00000},
        {TRIB_PRODUCT, 0x40000000, 0x4040, 0x40c00000},
        {TRIB_PRODUCT, 0x7f7fffff, 0xc000, 0xff800000},
        {TRIB_PRODUCT, 0x80000000, 0x7f80, 0x7fc00000},
    };

    (void)state;
    check_cases(TRIB_BFLOAT16, 4, cases, COUNT(cases));
}

static void reduce_int8_and_uint8__cases(void **state)
{
    static const struct reducing with_sign[] = {
        {TRIB_SUM, 100, 100, 0xc8},       {TRIB_SUM, 0x80, 0xff, 0x7f},     {TRIB_AVERAGE, 100, 100, 0xc8},
        {TRIB_MINIMUM, 0x80, 0x7f, 0x80}, {TRIB_MINIMUM, 0xff, 0x00, 0xff}, {TRIB_MINIMUM, 3, 5, 3},
        {TRIB_MAXIMUM, 0x80, 0x7f, 0x7f}, {TRIB_MAXIMUM, 0xff, 0x00, 0x00}, {TRIB_MAXIMUM, 0xff, 0xfe, 0xff},
        {TRIB_PRODUCT, 0xff, 0xff, 1},    {TRIB_PRODUCT, 0x80, 0xff, 0x80}, {TRIB_PRODUCT, 16, 17, 0x10},
        {TRIB_PRODUCT, 0xfd, 0x05, 0xf1},
    };
    static const struct reducing without[] = {
        {TRIB_SUM, 200, 100, 44},         {TRIB_AVERAGE, 200, 100, 44},     {TRIB_MINIMUM, 0x80, 0x7f, 0x7f},
        {TRIB_MINIMUM, 0xff, 0x00, 0x00}, {TRIB_MAXIMUM, 0x80, 0x7f, 0x80}, {TRIB_MAXIMUM, 0xff, 0x00, 0xff},
        {TRIB_PRODUCT, 0xff, 0xff, 1},    {TRIB_PRODUCT, 15, 17, 0xff},     {TRIB_PRODUCT, 16, 16, 0},
    };

    (void)state;
    check_cases(TRIB_INT8, 1, with_sign, COUNT(with_sign));
    check_cases(TRIB_UINT8, 1, without, COUNT(without));
}

static void reduce_int32__cases(void **state)
{
    static const struct reducing cases[] = {
        {TRIB_SUM, 1, 2, 3},
        {TRIB_SUM, 0x7fffffff, 1, 0x80000000},
        {TRIB_SUM, 0x80000000, 0xffffffff, 0x7fffffff},
        {TRIB_SUM, 0x80000000, 0x80000000, 0},
        {TRIB_AVERAGE, 0x7fffffff, 1, 0x80000000},
        {TRIB_MINIMUM, 0x80000000, 0x7fffffff, 0x80000000},
        {TRIB_MINIMUM, 0xffffffff, 0, 0xffffffff},
        {TRIB_MAXIMUM, 0x80000000, 0x7fffffff, 0x7fffffff},
        {TRIB_MAXIMUM, 0xffffffff, 0xfffffffe, 0xffffffff},
        {TRIB_PRODUCT, 0xffffffff, 0xffffffff, 1},
        {TRIB_PRODUCT, 0x80000000, 0xffffffff, 0x80000000},
        {TRIB_PRODUCT, 0x10001, 0x10001, 0x20001},
    };

    (void)state;
    check_cases(TRIB_INT32, 4, cases, COUNT(cases));
}

static void reduce_int64__cases(void **state)
{
    static const struct reducing cases[] = {
        {TRIB_SUM, 1, 2, 3},
        {TRIB_SUM, INT64_MAX, 1, 0x8000000000000000},
        {TRIB_SUM, 0x8000000000000000, UINT64_MAX, INT64_MAX},
        {TRIB_SUM, UINT32_MAX, 1, 0x100000000},
        {TRIB_AVERAGE, INT64_MAX, 1, 0x8000000000000000},
        {TRIB_MINIMUM, 0x8000000000000000, INT64_MAX, 0x8000000000000000},
        {TRIB_MINIMUM, 0xffffffff00000000, 0x00000000ffffffff, 0xffffffff00000000},
        {TRIB_MINIMUM, 0x1ffffffff, 0x200000000, 0x1ffffffff},
        {TRIB_MAXIMUM, 0x8000000000000000, INT64_MAX, INT64_MAX},
        {TRIB_MAXIMUM, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX},
        {TRIB_MAXIMUM, 0x1ffffffff, 0x200000000, 0x200000000},
        {TRIB_PRODUCT, UINT64_MAX, UINT64_MAX, 1},
        {TRIB_PRODUCT, 0x100000001, 0x100000001, 0x200000001}, /* every half with every other */
        {TRIB_PRODUCT, 0xffffffff, 0xffffffff, 0xfffffffe00000001},
        {TRIB_PRODUCT, 0x8000000000000000, UINT64_MAX, 0x8000000000000000},
        {TRIB_PRODUCT, 0x123456789abcdef1, 0xfedcba9876543211, 0x347e9a0f6729e001},
    };

    (void)state;
    check_cases(TRIB_INT64, 8, cases, COUNT(cases));
}

/* What can be reduced has a kernel in every table, and nothing else has. */
static void reduce__every_type_and_reduction(void **state)
{
    (void)state;
    FOR_EACH_TABLE(k)
    {
        for (int reduction = 0; reduction < TRIB_REDUCTION_COUNT; reduction++) {
            for (int type = 0; type < TRIB_TYPE_COUNT; type++) {
                bool is_there = reduction != TRIB_REDUCTION_NONE && type != TRIB_TYPE_NONE && type != TRIB_BYTES;
                assert_int_equal(k->reduce[reduction][type] != NULL, is_there);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce_float32__cases),        cmocka_unit_test(reduce_float64__cases),
        cmocka_unit_test(reduce_float16__cases),        cmocka_unit_test(reduce_bfloat16__cases),
        cmocka_unit_test(reduce_int8_and_uint8__cases), cmocka_unit_test(reduce_int32__cases),
        cmocka_unit_test(reduce_int64__cases),          cmocka_unit_test(reduce__every_type_and_reduction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
