/* SPDX-License-Identifier: Apache-2.0 */
/* test_value.c: every kernel but the reductions on the cases that go wrong: NaN, infinity, subnormals, -0, ties, powers
 * of two that are no float32. Each case runs on every table that this CPU has. Random inputs, lengths and alignments
 * are in tests/property/test_value_twin.c. Read next: test_value_reduce.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/value.h"
#include "unit/value_cases.h"

/* ---- choice ---- */

static void trib_value_kernels__same_answer_and_one_of_the_named(void **state)
{
    const struct trib_value_kernels *best = trib_value_kernels();

    (void)state;
    assert_non_null(best);
    assert_ptr_equal(best, trib_value_kernels());
    assert_ptr_equal(best, trib_value_kernels_named(best->name));
    for (size_t i = COUNT(table_names); i-- > 0;) {
        if (table(i) != NULL) {
            assert_ptr_equal(best, table(i)); /* the last that exists is the best */
            break;
        }
    }
}

static void trib_value_kernels_named__unknown_is_null(void **state)
{
    (void)state;
    assert_non_null(trib_value_kernels_named("scalar"));
    assert_null(trib_value_kernels_named(""));
    assert_null(trib_value_kernels_named("avx"));
    assert_null(trib_value_kernels_named("scalar2"));
    assert_null(trib_value_kernels_named("AVX2"));
    FOR_EACH_TABLE(k)
    {
        assert_string_equal(k->name, table_names[table_]);
    }
}

/* ---- kernels ---- */

/* What a half is worth, by the definition of the format. */
static double half_value(uint16_t half)
{
    int exponent = half >> 10 & 31;
    double fraction = half & 1023;
    double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);

    return half & 0x8000 ? -magnitude : magnitude;
}

/* All 65536 of them, in both 16-bit formats. */
static void widen__every_value(void **state)
{
    static uint16_t src[65536];
    static float half[65536], brain[65536];

    (void)state;
    for (size_t i = 0; i < COUNT(src); i++) {
        src[i] = (uint16_t)i;
    }
    FOR_EACH_TABLE(k)
    {
        k->widen_f16(half, src, COUNT(src));
        k->widen_bf16(brain, src, COUNT(src));
        for (uint32_t i = 0; i < COUNT(src); i++) {
            uint32_t expected = to_bits((float)half_value((uint16_t)i));
            if ((i & 0x7c00) == 0x7c00) {
                uint32_t quiet = (i & 0x3ff) != 0 ? 0x400000 : 0;
                expected = (i & 0x8000) << 16 | 0x7f800000 | (i & 0x3ff) << 13 | quiet;
            }
            assert_int_equal(to_bits(half[i]), expected);
            assert_int_equal(to_bits(brain[i]), i << 16);
        }
    }
}

/* What was widened narrows to itself, NaN to the canonical one. */
static void narrow__undoes_widen(void **state)
{
    static uint16_t src[65536], back[65536];
    static float wide[65536];

    (void)state;
    for (size_t i = 0; i < COUNT(src); i++) {
        src[i] = (uint16_t)i;
    }
    FOR_EACH_TABLE(k)
    {
        k->widen_f16(wide, src, COUNT(src));
        k->narrow_f16(back, wide, COUNT(src));
        for (size_t i = 0; i < COUNT(src); i++) {
            assert_int_equal(back[i], (i & 0x7fff) > 0x7c00 ? 0x7e00 : i);
        }
        k->widen_bf16(wide, src, COUNT(src));
        k->narrow_bf16(back, wide, COUNT(src));
        for (size_t i = 0; i < COUNT(src); i++) {
            assert_int_equal(back[i], (i & 0x7fff) > 0x7f80 ? 0x7fc0 : i);
        }
    }
}

struct narrowing {
    uint32_t wide;
    uint16_t narrow;
};

static void check_narrow(const struct trib_value_kernels *k, bool is_half, const struct narrowing *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t memory[REPEAT];
        uint16_t dst[REPEAT];
        void (*narrow)(uint16_t *, const float *, size_t) = is_half ? k->narrow_f16 : k->narrow_bf16;

        fill_u32(memory, cases[i].wide);
        narrow(dst, (const float *)(const void *)memory, REPEAT);
        assert_all_u16(dst, cases[i].narrow, k->name, i);
        narrow((uint16_t *)(void *)memory, (const float *)(const void *)memory, REPEAT); /* same memory */
        memcpy(dst, memory, sizeof dst);
        assert_all_u16(dst, cases[i].narrow, k->name, i);
    }
}

static void narrow_bf16__cases(void **state)
{
    static const struct narrowing cases[] = {
        {0x3f800000, 0x3f80}, {0x80000000, 0x8000}, {0x3f808000, 0x3f80}, /* tie, even below */
        {0x3f818000, 0x3f82},                                             /* tie, even above */
        {0x3f808001, 0x3f81},                                             /* just over a tie */
        {0x3f807fff, 0x3f80}, {0xbf818000, 0xbf82}, {0x7f7f7fff, 0x7f7f}, /* largest */
        {0x7f7f8000, 0x7f80},                                             /* tie between it and infinity */
        {0x7f7fffff, 0x7f80}, {0xff7fffff, 0xff80}, {0x7f800000, 0x7f80},
        {0xff800000, 0xff80}, {0x7f800001, 0x7fc0}, /* a NaN whose upper half is infinity's */
        {0xffffffff, 0x7fc0}, {0x7fc00000, 0x7fc0}, {0x00000001, 0x0000},
        {0x80000001, 0x8000}, {0x00008000, 0x0000}, /* subnormal ties */
        {0x00018000, 0x0002}, {0x007fffff, 0x0080}, /* into the normals */
    };

    (void)state;
    FOR_EACH_TABLE(k)
    {
        check_narrow(k, false, cases, COUNT(cases));
    }
}

static void narrow_f16__cases(void **state)
{
    static const struct narrowing cases[] = {
        {0x3f800000, 0x3c00}, {0x80000000, 0x8000}, {0x3f801000, 0x3c00}, /* tie, even below */
        {0x3f803000, 0x3c02},                                             /* tie, even above */
        {0x3f801001, 0x3c01}, {0x477fe000, 0x7bff},                       /* 65504 */
        {0x477fefff, 0x7bff},                                             /* just below 65520 */
        {0x477ff000, 0x7c00},                                             /* 65520 */
        {0x47800000, 0x7c00},                                             /* 65536 */
        {0xff7fffff, 0xfc00}, {0x7f800000, 0x7c00}, {0xff800000, 0xfc00}, {0x7f800001, 0x7e00},
        {0xffc00000, 0x7e00}, {0x7fffffff, 0x7e00}, {0x38800000, 0x0400}, /* 2^-14, the smallest normal */
        {0x387fffff, 0x0400},                                             /* rounds up to it */
        {0x387fc000, 0x03ff},                                             /* the largest subnormal */
        {0x33800000, 0x0001},                                             /* 2^-24 */
        {0x33000000, 0x0000},                                             /* 2^-25: tie to zero */
        {0x33000001, 0x0001}, {0xb3000001, 0x8001}, {0x33c00000, 0x0002}, /* 1.5 x 2^-24: tie to even */
        {0x32ffffff, 0x0000}, {0x80000001, 0x8000},
    };

    (void)state;
    FOR_EACH_TABLE(k)
    {
        check_narrow(k, true, cases, COUNT(cases));
    }
}

static void divide_f32__cases(void **state)
{
    static const struct {
        uint32_t src, divisor, quotient;
    } cases[] = {
        {0x3f800000, 0x40400000, 0x3eaaaaab}, /* 1 / 3 */
        {0x3f800000, 0x40000000, 0x3f000000}, /* 1 / 2 */
        {0x3f800000, 0x3f800000, 0x3f800000}, /* by 1 */
        {0x00000001, 0x40000000, 0x00000000}, /* 2^-149 / 2: tie to even */
        {0x00000003, 0x40000000, 0x00000002}, /* 3 x 2^-149 / 2: tie to even */
        {0x00800001, 0x40000000, 0x00400000}, /* normal into subnormal, tie */
        {0x00000005, 0x40400000, 0x00000002}, /* 5 / 3 subnormals: 1.67 */
        {0x80000000, 0x40800000, 0x80000000}, /* -0 / 4 */
        {0x7f7fffff, 0x7f000000, 0x3fffffff}, /* by 2^127, whose reciprocal is subnormal */
        {0x3f800000, 0x7e800000, 0x00800000}, /* by 2^126, whose reciprocal is not */
        {0x00800000, 0x00800000, 0x3f800000}, /* by 2^-126 */
        {0x3f800000, 0x00400000, 0x7f000000}, /* by 2^-127, a subnormal */
        {0x00000004, 0x00000002, 0x40000000}, /* by a subnormal */
        {0x3f800000, 0xc0000000, 0xbf000000}, /* by a negative */
        {0x3f800000, 0x00000000, 0x7f800000}, /* by 0 */
        {0x00000000, 0x00000000, 0x7fc00000}, /* 0 / 0 */
        {0x7f800000, 0x40800000, 0x7f800000}, {0x7f800000, 0x7f800000, 0x7fc00000},
        {0xffc12345, 0x40800000, 0x7fc00000}, /* NaN by a power of two */
        {0x7f800001, 0x40400000, 0x7fc00000}, /* and by another */
        {0x3f800000, 0x7fc00001, 0x7fc00000},
    };

    (void)state;
    FOR_EACH_TABLE(k)
    {
        for (size_t i = 0; i < COUNT(cases); i++) {
            float src[REPEAT];
            fill_u32(src, cases[i].src);
            k->divide_f32(src, src, from_bits(cases[i].divisor), REPEAT);
            assert_all_u32(src, cases[i].quotient, k->name, i);
        }
    }
}

static void divide_f64__cases(void **state)
{
    static const struct {
        uint64_t src, divisor, quotient;
    } cases[] = {
        {0x3ff0000000000000, 0x4008000000000000, 0x3fd5555555555555}, /* 1 / 3 */
        {0x0000000000000003, 0x4000000000000000, 0x0000000000000002}, /* tie to even */
        {0x0010000000000001, 0x4000000000000000, 0x0008000000000000}, /* normal into subnormal, tie */
        {0x8000000000000000, 0x4010000000000000, 0x8000000000000000}, /* -0 / 4 */
        {0x7ff0000000000000, 0x4010000000000000, 0x7ff0000000000000},
        {0x0000000000000000, 0x0000000000000000, 0x7ff8000000000000}, /* 0 / 0 */
        {0xfff8000000000123, 0x4010000000000000, 0x7ff8000000000000}, /* NaNs of any kind */
        {0x7ff0000000000001, 0x4008000000000000, 0x7ff8000000000000},
    };

    (void)state;
    FOR_EACH_TABLE(k)
    {
        for (size_t i = 0; i < COUNT(cases); i++) {
            uint64_t src[REPEAT];
            double divisor;
            for (size_t j = 0; j < REPEAT; j++) {
                src[j] = cases[i].src;
            }
            memcpy(&divisor, &cases[i].divisor, sizeof divisor);
            k->divide_f64((double *)(void *)src, (const double *)(const void *)src, divisor, REPEAT);
            for (size_t j = 0; j < REPEAT; j++) {
                assert_true(src[j] == cases[i].quotient);
            }
        }
    }
}

static void max_magnitude__position_and_kind(void **state)
{
    static const uint32_t tops[] = {0x00000001, 0x007fffff, 0x3f800000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fffffff};

    (void)state;
    FOR_EACH_TABLE(k)
    {
        float src[REPEAT];
        fill_u32(src, 0x80000000);
        assert_int_equal(k->max_magnitude(src, 0), 0);
        assert_int_equal(k->max_magnitude(src, REPEAT), 0); /* -0 is no magnitude */
        for (size_t i = 0; i < COUNT(tops); i++) {
            for (size_t at = 0; at < REPEAT; at++) {
                fill_u32(src, (tops[i] - 1) & 0x7fffffff);
                uint32_t negative = tops[i] | 0x80000000u;
                memcpy((unsigned char *)src + 4 * at, &negative, 4);
                assert_int_equal(k->max_magnitude(src, REPEAT), tops[i]);
            }
        }
    }
}

static void quantise__cases(void **state)
{
    static const struct {
        uint32_t src;
        int shift;
        int32_t q;
    } cases[] = {
        {0x3f800000, 0, 1},
        {0x3f000000, 0, 0},
        {0x3fc00000, 0, 2}, /* 0.5 and 1.5: ties to even */
        {0x40200000, 0, 2},
        {0xc0200000, 0, -2},
        {0xbfc00000, 0, -2},
        {0x3f000001, 0, 1},
        {0x80000000, 30, 0},
        {0x3f7fffff, 31, 0x7fffff80},
        {0xbf7fffff, 31, -0x7fffff80},
        {0x3f800000, 30, 1 << 30},
        {0x00000001, 149, 1}, /* the smallest subnormal; the shift is no float32 */
        {0x00000001, 148, 0}, /* its half: tie */
        {0x00000003, 148, 2}, /* 1.5: tie */
        {0x00000001, 179, 1 << 30},
        {0x80000001, 179, -(1 << 30)},
        {0x007fffff, 157, 0x7fffff00},
        {0x00000001, 127, 0},
        {0x7f7fffff, -97, 0x7fffff80}, /* the largest */
        {0xff7fffff, -97, -0x7fffff80},
        {0x00800000, 128, 4}, /* 2^128 is no float32 either */
        {0x7f000000, -126, 2},
        {0x7f000000, -127, 1},
        {0x7f000000, -128, 0}, /* 0.5 */
        {0x7f400000, -127, 2}, /* 1.5 */
        {0x7f7fffff, -127, 2}, /* just less than 2 */
        {0x7f7fffff, -128, 1},
        {0x7f7fffff, -300, 0},
        {0x00000000, 300, 0},
        {0x80000000, -300, 0},
        {0x00000000, -300, 0},
        {0x4f000000, 0, INT32_MIN}, /* out of range, infinity, NaN: the same bits everywhere, if ever */
        {0xcf000000, 0, INT32_MIN},
        {0xcf000001, 0, INT32_MIN},
        {0x7f7fffff, 300, INT32_MIN},
        {0x7f800000, -300, INT32_MIN},
        {0xff800000, 3, INT32_MIN},
        {0x7fc00000, 3, INT32_MIN},
        {0x3f800000, 300, INT32_MIN},
    };

    (void)state;
    FOR_EACH_TABLE(k)
    {
        for (size_t i = 0; i < COUNT(cases); i++) {
            float src[REPEAT];
            int32_t dst[REPEAT];
            fill_u32(src, cases[i].src);
            k->quantise(dst, src, cases[i].shift, REPEAT);
            assert_all_u32(dst, (uint32_t)cases[i].q, k->name, i);
        }
    }
}

static void dequantise__cases(void **state)
{
    static const struct {
        int32_t q;
        int shift;
        uint32_t value;
    } cases[] = {
        {0, 5, 0},
        {1, 0, 0x3f800000},
        {-1, 0, 0xbf800000},
        {3, 1, 0x3fc00000},
        {INT32_MIN, 31, 0xbf800000},
        {INT32_MAX, 31, 0x3f800000},
        {0x01000001, 0, 0x4b800000}, /* 2^24 + 1: tie to even */
        {0x01000003, 0, 0x4b800002},
        {1, 126, 0x00800000},
        {1, 127, 0x00400000}, /* subnormal */
        {1, 149, 0x00000001},
        {1, 150, 0x00000000}, /* tie to zero */
        {3, 150, 0x00000002}, /* tie to even */
        {-3, 150, 0x80000002},
        {-1, 150, 0x80000000},
        {(1 << 25) + 11, 152, 0x00400001}, /* rounded twice it were 0x00400002 */
        {-(1 << 25) - 11, 152, 0x80400001},
        {INT32_MAX, 300, 0},
        {INT32_MIN, 300, 0x80000000},
        {1, -127, 0x7f000000},
        {1, -128, 0x7f800000},
        {-1, -300, 0xff800000},
        {0, -300, 0},
        {0, 300, 0},
        {INT32_MAX, -97, 0x7f800000}, /* rounds up to 2^128 */
        {0x7fffff80, -97, 0x7f7fffff},
        {0x7fffffbf, -97, 0x7f7fffff},
        {0x7fffffc0, -97, 0x7f800000},
    };

    (void)state;
    FOR_EACH_TABLE(k)
    {
        for (size_t i = 0; i < COUNT(cases); i++) {
            int32_t src[REPEAT];
            float dst[REPEAT];
            fill_u32(src, (uint32_t)cases[i].q);
            k->dequantise(dst, src, cases[i].shift, REPEAT);
            assert_all_u32(dst, cases[i].value, k->name, i);
        }
    }
}

static void copy_nontemporal__every_alignment_and_length(void **state)
{
    enum { FENCE = 64, LONGEST = 3 * 64 + 1 };
    static uint8_t src[64 + LONGEST], dst[FENCE + 64 + LONGEST + FENCE] __attribute__((aligned(64)));

    (void)state;
    for (size_t i = 0; i < sizeof src; i++) {
        src[i] = (uint8_t)(i * 37 + 1);
    }
    FOR_EACH_TABLE(k)
    {
        for (size_t to = FENCE; to < FENCE + 64; to++) {
            for (size_t len = 0; len <= LONGEST; len++) {
                const uint8_t *from = src + to * 5 % 64;
                memset(dst, 0xa5, sizeof dst);
                k->copy_nontemporal(dst + to, from, len);
                k->order_nontemporal();
                assert_memory_equal(dst + to, from, len);
                for (size_t i = 0; i < sizeof dst; i++) {
                    assert_true((i >= to && i < to + len) || dst[i] == 0xa5);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trib_value_kernels__same_answer_and_one_of_the_named),
        cmocka_unit_test(trib_value_kernels_named__unknown_is_null),
        cmocka_unit_test(widen__every_value),
        cmocka_unit_test(narrow__undoes_widen),
        cmocka_unit_test(narrow_bf16__cases),
        cmocka_unit_test(narrow_f16__cases),
        cmocka_unit_test(divide_f32__cases),
        cmocka_unit_test(divide_f64__cases),
        cmocka_unit_test(max_magnitude__position_and_kind),
        cmocka_unit_test(quantise__cases),
        cmocka_unit_test(dequantise__cases),
        cmocka_unit_test(copy_nontemporal__every_alignment_and_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
