/* SPDX-License-Identifier: Apache-2.0 */
/* value_kernels.h: what value.c and the kernel files share: the tables, the canonical NaNs, exact powers of two.
 *
 * Internal to src/core: everybody else takes a table from trib_value_kernels(). Every kernel is defined by
 * value_scalar.c; the others must give the same bits, which tests/property/test_value_twin.c checks on every table.
 * Kernels round to nearest even and keep subnormals, so they expect the default floating point environment; value.c
 * sets it.
 * Read next: value_scalar.c. */
#ifndef TRIB_CORE_VALUE_KERNELS_H
#define TRIB_CORE_VALUE_KERNELS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/value.h"

#ifdef __FAST_MATH__
#error "sums must be the same bits everywhere: compile without -ffast-math"
#endif
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "payload elements are little-endian and are read in place: a little-endian machine is needed"
#endif

#define TRIB_NAN_F32 UINT32_C(0x7fc00000)
#define TRIB_NAN_F16 ((uint16_t)0x7e00)
#define TRIB_NAN_BF16 ((uint16_t)0x7fc0)
#define TRIB_NAN_F64 UINT64_C(0x7ff8000000000000)

/* ---- the reductions of a file ----
 * Kernels are called sum_f32, minimum_u8 ... after the payload; the operation on one element or vector of a row:
 * f32_sum(). */

/* Those of a file with vectors, made of its load_f32(), load_bf16() ..., f32_sum() ... and store_f32(). What is left
 * behind the last whole vector goes to the table `rest`. */
#define TRIB_VECTOR_KERNEL(vector, rest, operation, reduction, type, payload, element, row, row_element)      \
    static void operation##_##payload(void *dst, const void *a, const void *b, size_t count)                  \
    {                                                                                                         \
        const size_t lanes = sizeof(vector) / sizeof(row_element);                                            \
        const row_element *x = a;                                                                             \
        const element *y = b;                                                                                 \
        size_t i = 0;                                                                                         \
                                                                                                              \
        for (; i + lanes <= count; i += lanes) {                                                              \
            store_##row((row_element *)dst + i, row##_##operation(load_##row(x + i), load_##payload(y + i))); \
        }                                                                                                     \
        if (i < count) {                                                                                      \
            (rest).reduce[reduction][type]((row_element *)dst + i, x + i, y + i, count - i);                  \
        }                                                                                                     \
    }
#define TRIB_VECTOR_KERNELS_OF(vector, rest, ...)                        \
    TRIB_VECTOR_KERNEL(vector, rest, sum, TRIB_SUM, __VA_ARGS__)         \
    TRIB_VECTOR_KERNEL(vector, rest, minimum, TRIB_MINIMUM, __VA_ARGS__) \
    TRIB_VECTOR_KERNEL(vector, rest, maximum, TRIB_MAXIMUM, __VA_ARGS__) \
    TRIB_VECTOR_KERNEL(vector, rest, product, TRIB_PRODUCT, __VA_ARGS__)
#define TRIB_VECTOR_KERNELS(vector, rest)                                           \
    TRIB_VECTOR_KERNELS_OF(vector, rest, TRIB_FLOAT32, f32, float, f32, float)      \
    TRIB_VECTOR_KERNELS_OF(vector, rest, TRIB_FLOAT16, f16, uint16_t, f32, float)   \
    TRIB_VECTOR_KERNELS_OF(vector, rest, TRIB_BFLOAT16, bf16, uint16_t, f32, float) \
    TRIB_VECTOR_KERNELS_OF(vector, rest, TRIB_FLOAT64, f64, double, f64, double)    \
    TRIB_VECTOR_KERNELS_OF(vector, rest, TRIB_INT8, i8, int8_t, i8, int8_t)         \
    TRIB_VECTOR_KERNELS_OF(vector, rest, TRIB_UINT8, u8, uint8_t, u8, uint8_t)      \
    TRIB_VECTOR_KERNELS_OF(vector, rest, TRIB_INT32, i32, int32_t, i32, int32_t)    \
    TRIB_VECTOR_KERNELS_OF(vector, rest, TRIB_INT64, i64, int64_t, i64, int64_t)

/* A file's table of reductions. */
#define TRIB_KERNELS_OF(operation)                                                                              \
    {                                                                                                           \
        [TRIB_FLOAT32] = operation##_f32, [TRIB_FLOAT16] = operation##_f16, [TRIB_BFLOAT16] = operation##_bf16, \
        [TRIB_FLOAT64] = operation##_f64, [TRIB_INT32] = operation##_i32, [TRIB_INT64] = operation##_i64,       \
        [TRIB_INT8] = operation##_i8, [TRIB_UINT8] = operation##_u8,                                            \
    }
#define TRIB_KERNELS_OF_ALL                                                                   \
    {                                                                                         \
        [TRIB_SUM] = TRIB_KERNELS_OF(sum), [TRIB_AVERAGE] = TRIB_KERNELS_OF(sum),             \
        [TRIB_MINIMUM] = TRIB_KERNELS_OF(minimum), [TRIB_MAXIMUM] = TRIB_KERNELS_OF(maximum), \
        [TRIB_PRODUCT] = TRIB_KERNELS_OF(product),                                            \
    }

extern const struct trib_value_kernels trib_value_scalar;
#ifdef __x86_64__
extern const struct trib_value_kernels trib_value_avx2;
extern const struct trib_value_kernels trib_value_avx512;
#endif

static inline float trib_float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t trib_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double trib_double_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t trib_double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 2^exponent, -126 <= exponent <= 127. */
static inline float trib_float_power(int exponent)
{
    return trib_float_from_bits((uint32_t)(exponent + 127) << 23);
}

/* Whether dividing by divisor is the same, bit for bit, as multiplying by *reciprocal: both powers of two and no
 * subnormals. The two then name the same real number, which is rounded once either way; multiplying is several times
 * faster. */
static inline bool trib_float_reciprocal(float divisor, float *reciprocal)
{
    uint32_t exponent = trib_float_bits(divisor) >> 23;

    if ((trib_float_bits(divisor) & UINT32_C(0x7fffff)) != 0 || exponent < 1 || exponent > 253) {
        return false; /* a sign bit makes exponent > 255: negative divisors are divided by */
    }
    *reciprocal = trib_float_from_bits((254 - exponent) << 23);
    return true;
}

/* Where x * 2^shift in one float32 multiplication is enough for quantise: 2^shift is a normal number, and a product
 * that is rounded because it is subnormal becomes the integer 0 in any case. */
static inline bool trib_quantise_is_simple(int shift)
{
    return shift >= -126 && shift <= 127;
}

/* Where (float)q * 2^-shift rounds only once: 2^-shift is normal, and so is every product with an integer of at least
 * 1. */
static inline bool trib_dequantise_is_simple(int shift)
{
    return shift >= -127 && shift <= 126;
}

#endif
