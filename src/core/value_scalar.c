/* SPDX-License-Identifier: Apache-2.0 */
/* value_scalar.c: the kernels in plain C: the definition of every bit, the oracle of the tests, the tails of the AVX2
 * kernels and their rare paths. It is not tuned beyond what a compiler does by itself:
 * on 64-bit ARM, which has no others, GCC makes NEON of the loops.
 *
 * Elements are copied in and out, never dereferenced, so that any alignment is allowed and dst may be a source.
 * Read next: value_avx512.c. */
#include <float.h>

#include "core/value_kernels.h"

_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16,
               "float arithmetic must round to float (x86-32: -mfpmath=sse)");
_Static_assert(FLT_RADIX == 2 && FLT_MANT_DIG == 24 && DBL_MANT_DIG == 53, "IEEE 754 binary32 and binary64 are needed");

/* load_f32(base, index), store_f32(base, index, value), and so on */
#define ELEMENT(name, element)                                                            \
    static inline element load_##name(const void *base, size_t index)                     \
    {                                                                                     \
        element value;                                                                    \
        memcpy(&value, (const unsigned char *)base + index * sizeof value, sizeof value); \
        return value;                                                                     \
    }                                                                                     \
    static inline void store_##name(void *base, size_t index, element value)              \
    {                                                                                     \
        memcpy((unsigned char *)base + index * sizeof value, &value, sizeof value);       \
    }

ELEMENT(f32, float)
ELEMENT(f64, double)
ELEMENT(i8, int8_t)
ELEMENT(u8, uint8_t)
ELEMENT(u16, uint16_t)
ELEMENT(i32, int32_t)
ELEMENT(u32, uint32_t)
ELEMENT(i64, int64_t)

static inline float nan_f32(void)
{
    return trib_float_from_bits(TRIB_NAN_F32);
}

static inline double nan_f64(void)
{
    return trib_double_from_bits(TRIB_NAN_F64);
}

/* An arithmetic result: a NaN may be any on this CPU and in this operand order. */
static inline float canonical_f32(float value)
{
    return value == value ? value : nan_f32();
}

static inline double canonical_f64(double value)
{
    return value == value ? value : nan_f64();
}

/* ---- conversions of one element ---- */

static inline uint32_t widened_bf16(uint16_t brain)
{
    return (uint32_t)brain << 16;
}

/* A signalling NaN becomes quiet with its payload, as the conversion instructions of CPUs do. */
static inline uint32_t widened_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t magnitude = half & 0x7fffu;

    if (magnitude > 0x7c00u) {
        return sign | TRIB_NAN_F32 | magnitude << 13;
    }
    if (magnitude == 0x7c00u) {
        return sign | TRIB_INFINITY_F32;
    }
    if (magnitude < 0x0400u) { /* subnormal: a multiple of 2^-24, exact in float32 */
        return sign | trib_float_bits((float)(int32_t)magnitude * 0x1p-24f);
    }
    return sign | ((magnitude << 13) + UINT32_C(0x38000000));
}

static inline uint16_t narrowed_bf16(uint32_t bits)
{
    if ((bits & UINT32_C(0x7fffffff)) > TRIB_INFINITY_F32) {
        return TRIB_NAN_BF16;
    }
    /* Half of the last place less a bit, plus the last bit: carries exactly when nearest-even rounds up. */
    return (uint16_t)((bits + UINT32_C(0x7fff) + (bits >> 16 & 1)) >> 16);
}

static inline uint16_t narrowed_f16(uint32_t bits)
{
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & UINT32_C(0x7fffffff);

    if (magnitude > TRIB_INFINITY_F32) {
        return TRIB_NAN_F16;
    }
    if (magnitude >= UINT32_C(0x47800000)) { /* 2^16 and more; from 65520 on the rounding below carries into infinity */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude < UINT32_C(0x38800000)) { /* below 2^-14: a float32 in [0.5, 1) has steps of 2^-24, the ones wanted */
        uint32_t rounded = trib_float_bits(trib_float_from_bits(magnitude) + 0.5f);
        return (uint16_t)(sign | (rounded - UINT32_C(0x3f000000)));
    }
    magnitude -= UINT32_C(0x38000000);
    return (uint16_t)(sign | (magnitude + UINT32_C(0xfff) + (magnitude >> 13 & 1)) >> 13);
}

/* 2^exponent, -1022 <= exponent <= 1023. */
static inline double double_power(int exponent)
{
    return trib_double_from_bits((uint64_t)(exponent + 1023) << 52);
}

/* In double the product is exact. Adding 1.5 x 2^52 rounds it to an integer, to nearest even. A value that does not
 * fit, or is NaN, becomes INT32_MIN, as the conversion instructions do; callers keep it from happening. */
static inline int32_t quantised(float value, double scale)
{
    double product = (double)value * scale;

    if (!(product > -0x1p31 && product < 0x1p31)) {
        return INT32_MIN;
    }
    return (int32_t)((product + 0x1.8p52) - 0x1.8p52);
}

/* ---- reductions of two elements ---- */

/* Of equal operands only zeros may differ in their bits: a set sign makes the minimum -0, a clear one the maximum +0.
 * A value that is neither less, greater nor equal is NaN. */
#define FLOAT_REDUCTIONS(name, element, bits_of, from_bits)                                        \
    static inline element name##_sum(element a, element b)                                         \
    {                                                                                              \
        return canonical_##name(a + b);                                                            \
    }                                                                                              \
    static inline element name##_product(element a, element b)                                     \
    {                                                                                              \
        return canonical_##name(a * b);                                                            \
    }                                                                                              \
    static inline element name##_minimum(element a, element b)                                     \
    {                                                                                              \
        return a < b ? a : b < a ? b : a == b ? from_bits(bits_of(a) | bits_of(b)) : nan_##name(); \
    }                                                                                              \
    static inline element name##_maximum(element a, element b)                                     \
    {                                                                                              \
        return a > b ? a : b > a ? b : a == b ? from_bits(bits_of(a) & bits_of(b)) : nan_##name(); \
    }

FLOAT_REDUCTIONS(f32, float, trib_float_bits, trib_float_from_bits)
FLOAT_REDUCTIONS(f64, double, trib_double_bits, trib_double_from_bits)

/* In 64 bits without a sign, with the wrapped sum in the lower ones. */
#define INTEGER_REDUCTIONS(name, element)                      \
    static inline element name##_sum(element a, element b)     \
    {                                                          \
        return (element)((uint64_t)a + (uint64_t)b);           \
    }                                                          \
    static inline element name##_product(element a, element b) \
    {                                                          \
        return (element)((uint64_t)a * (uint64_t)b);           \
    }                                                          \
    static inline element name##_minimum(element a, element b) \
    {                                                          \
        return b < a ? b : a;                                  \
    }                                                          \
    static inline element name##_maximum(element a, element b) \
    {                                                          \
        return b > a ? b : a;                                  \
    }

INTEGER_REDUCTIONS(i8, int8_t)
INTEGER_REDUCTIONS(u8, uint8_t)
INTEGER_REDUCTIONS(i32, int32_t)
INTEGER_REDUCTIONS(i64, int64_t)

/* ---- the kernels ---- */

static inline float load_bf16(const void *base, size_t index)
{
    return trib_float_from_bits(widened_bf16(load_u16(base, index)));
}

static inline float load_f16(const void *base, size_t index)
{
    return trib_float_from_bits(widened_f16(load_u16(base, index)));
}

#define KERNEL(operation, payload, row)                                                      \
    static void operation##_##payload(void *dst, const void *a, const void *b, size_t count) \
    {                                                                                        \
        for (size_t i = 0; i < count; i++) {                                                 \
            store_##row(dst, i, row##_##operation(load_##row(a, i), load_##payload(b, i)));  \
        }                                                                                    \
    }
#define KERNELS(payload, row) \
    KERNEL(sum, payload, row) KERNEL(minimum, payload, row) KERNEL(maximum, payload, row) KERNEL(product, payload, row)

KERNELS(f32, f32)
KERNELS(f16, f32)
KERNELS(bf16, f32)
KERNELS(f64, f64)
KERNELS(i8, i8)
KERNELS(u8, u8)
KERNELS(i32, i32)
KERNELS(i64, i64)

static void widen_bf16(float *dst, const uint16_t *src, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store_u32(dst, i, widened_bf16(load_u16(src, i)));
    }
}

static void widen_f16(float *dst, const uint16_t *src, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store_u32(dst, i, widened_f16(load_u16(src, i)));
    }
}

static void narrow_bf16(uint16_t *dst, const float *src, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store_u16(dst, i, narrowed_bf16(load_u32(src, i)));
    }
}

static void narrow_f16(uint16_t *dst, const float *src, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store_u16(dst, i, narrowed_f16(load_u32(src, i)));
    }
}

static void divide_f32(float *dst, const float *src, float divisor, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store_f32(dst, i, canonical_f32(load_f32(src, i) / divisor));
    }
}

static void divide_f64(double *dst, const double *src, double divisor, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store_f64(dst, i, canonical_f64(load_f64(src, i) / divisor));
    }
}

static uint32_t max_magnitude(const float *src, size_t count)
{
    uint32_t max = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t magnitude = load_u32(src, i) & UINT32_C(0x7fffffff);
        max = magnitude > max ? magnitude : max;
    }
    return max;
}

static void quantise(int32_t *dst, const float *src, int shift, size_t count)
{
    double scale = double_power(shift);

    for (size_t i = 0; i < count; i++) {
        store_i32(dst, i, quantised(load_f32(src, i), scale));
    }
}

/* Integer to double is exact, so is the product; the one rounding is the one to float. */
static void dequantise(float *dst, const int32_t *src, int shift, size_t count)
{
    double scale = double_power(-shift);

    for (size_t i = 0; i < count; i++) {
        store_f32(dst, i, (float)((double)load_i32(src, i) * scale));
    }
}

static void copy_nontemporal(void *dst, const void *src, size_t len)
{
    memcpy(dst, src, len);
}

static void order_nontemporal(void)
{
}

const struct trib_value_kernels trib_value_scalar = {
    .name = "scalar",
    .reduce = TRIB_KERNELS_OF_ALL,
    .widen_bf16 = widen_bf16,
    .widen_f16 = widen_f16,
    .narrow_bf16 = narrow_bf16,
    .narrow_f16 = narrow_f16,
    .divide_f32 = divide_f32,
    .divide_f64 = divide_f64,
    .max_magnitude = max_magnitude,
    .quantise = quantise,
    .dequantise = dequantise,
    .copy_nontemporal = copy_nontemporal,
    .order_nontemporal = order_nontemporal,
};
