/* SPDX-License-Identifier: Apache-2.0 */
/* value_avx2.c: the kernels for x86-64 with AVX2 and F16C. Whole vectors only: what is left goes to the scalar kernel,
 * and so do shifts that do not fit one multiplication. On other machines this file is empty and its table does not
 * exist. Built with -mavx2 -mf16c -mfma; the pragma serves builds that forget. No function here may run before value.c
 * checked the CPU.
 * Read next: value.c. */
#include "core/value_kernels.h"

#ifdef __x86_64__
#if !defined(__AVX2__) || !defined(__F16C__)
#pragma GCC target("avx2,f16c,fma")
#endif
#include <immintrin.h>

#define LANES 8 /* 32-bit elements of a vector */

static inline __m256i load_bits(const void *src)
{
    return _mm256_loadu_si256((const __m256i_u *)src);
}

static inline void store_bits(void *dst, __m256i bits)
{
    _mm256_storeu_si256((__m256i_u *)dst, bits);
}

static inline __m128i load_halves(const void *src)
{
    return _mm_loadu_si128((const __m128i_u *)src);
}

/* value, with the canonical NaN where the operands of a comparison, one of which may be value itself, are NaN. */
static inline __m256 with_nan_f32(__m256 value, __m256 a, __m256 b)
{
    __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)TRIB_NAN_F32));
    return _mm256_blendv_ps(value, nan, _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
}

static inline __m256d with_nan_f64(__m256d value, __m256d a, __m256d b)
{
    __m256d nan = _mm256_castsi256_pd(_mm256_set1_epi64x((int64_t)TRIB_NAN_F64));
    return _mm256_blendv_pd(value, nan, _mm256_cmp_pd(a, b, _CMP_UNORD_Q));
}

static inline __m256 canonical_f32(__m256 value)
{
    return with_nan_f32(value, value, value);
}

static inline __m256d canonical_f64(__m256d value)
{
    return with_nan_f64(value, value, value);
}

/* Eight results in the lower halves of 32-bit elements. */
static inline __m256i narrowed_bf16(__m256i bits)
{
    __m256 value = _mm256_castsi256_ps(bits);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));

    return _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), _mm256_set1_epi32(TRIB_NAN_BF16), is_nan);
}

/* ---- reductions ---- */

static inline __m256 load_f32(const void *src)
{
    return _mm256_loadu_ps(src);
}

static inline __m256 load_bf16(const void *src)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_halves(src)), 16));
}

static inline __m256 load_f16(const void *src)
{
    return _mm256_cvtph_ps(load_halves(src));
}

static inline __m256d load_f64(const void *src)
{
    return _mm256_loadu_pd(src);
}

#define INTEGERS(name)                                        \
    static inline __m256i load_##name(const void *src)        \
    {                                                         \
        return load_bits(src);                                \
    }                                                         \
    static inline void store_##name(void *dst, __m256i value) \
    {                                                         \
        store_bits(dst, value);                               \
    }

INTEGERS(i8)
INTEGERS(u8)
INTEGERS(i32)
INTEGERS(i64)

static inline void store_f32(void *dst, __m256 value)
{
    _mm256_storeu_ps(dst, value);
}

static inline void store_f64(void *dst, __m256d value)
{
    _mm256_storeu_pd(dst, value);
}

static inline __m256 f32_sum(__m256 a, __m256 b)
{
    return canonical_f32(_mm256_add_ps(a, b));
}

static inline __m256 f32_product(__m256 a, __m256 b)
{
    return canonical_f32(_mm256_mul_ps(a, b));
}

/* The instruction gives its second operand where both are zero: both orders together know both signs. */
static inline __m256 f32_minimum(__m256 a, __m256 b)
{
    return with_nan_f32(_mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a)), a, b);
}

static inline __m256 f32_maximum(__m256 a, __m256 b)
{
    return with_nan_f32(_mm256_and_ps(_mm256_max_ps(a, b), _mm256_max_ps(b, a)), a, b);
}

static inline __m256d f64_sum(__m256d a, __m256d b)
{
    return canonical_f64(_mm256_add_pd(a, b));
}

static inline __m256d f64_product(__m256d a, __m256d b)
{
    return canonical_f64(_mm256_mul_pd(a, b));
}

static inline __m256d f64_minimum(__m256d a, __m256d b)
{
    return with_nan_f64(_mm256_or_pd(_mm256_min_pd(a, b), _mm256_min_pd(b, a)), a, b);
}

static inline __m256d f64_maximum(__m256d a, __m256d b)
{
    return with_nan_f64(_mm256_and_pd(_mm256_max_pd(a, b), _mm256_max_pd(b, a)), a, b);
}

/* No instruction multiplies bytes: even and odd ones apart, as 16 bits whose upper half is nobody's. */
static inline __m256i multiply_bytes(__m256i a, __m256i b)
{
    __m256i even = _mm256_mullo_epi16(a, b);
    __m256i odd = _mm256_mullo_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));

    return _mm256_blendv_epi8(_mm256_slli_epi16(odd, 8), even, _mm256_set1_epi16(0xff));
}

/* Nor 64 bits: the lower halves' product, and above it the two crossed ones. */
static inline __m256i i64_product(__m256i a, __m256i b)
{
    __m256i crossed =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b), _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));

    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(crossed, 32));
}

static inline __m256i i64_minimum(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}

static inline __m256i i64_maximum(__m256i a, __m256i b)
{
    return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b));
}

#define COMBINE(name, instruction)                   \
    static inline __m256i name(__m256i a, __m256i b) \
    {                                                \
        return instruction(a, b);                    \
    }

COMBINE(i8_sum, _mm256_add_epi8)
COMBINE(i8_minimum, _mm256_min_epi8)
COMBINE(i8_maximum, _mm256_max_epi8)
COMBINE(i8_product, multiply_bytes)
COMBINE(u8_sum, _mm256_add_epi8)
COMBINE(u8_minimum, _mm256_min_epu8)
COMBINE(u8_maximum, _mm256_max_epu8)
COMBINE(u8_product, multiply_bytes)
COMBINE(i32_sum, _mm256_add_epi32)
COMBINE(i32_minimum, _mm256_min_epi32)
COMBINE(i32_maximum, _mm256_max_epi32)
COMBINE(i32_product, _mm256_mullo_epi32)
COMBINE(i64_sum, _mm256_add_epi64)

TRIB_VECTOR_KERNELS(__m256i, trib_value_scalar)

/* ---- conversions ---- */

static void widen_bf16(float *dst, const uint16_t *src, size_t count)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        store_f32(dst + i, load_bf16(src + i));
    }
    trib_value_scalar.widen_bf16(dst + i, src + i, count - i);
}

static void widen_f16(float *dst, const uint16_t *src, size_t count)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        store_f32(dst + i, load_f16(src + i));
    }
    trib_value_scalar.widen_f16(dst + i, src + i, count - i);
}

static void narrow_bf16(uint16_t *dst, const float *src, size_t count)
{
    size_t i = 0;

    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        __m256i low = narrowed_bf16(load_bits(src + i));
        __m256i high = narrowed_bf16(load_bits(src + i + LANES));
        /* packus works within 128-bit halves; the permutation puts the quarters in order */
        store_bits(dst + i, _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8));
    }
    trib_value_scalar.narrow_bf16(dst + i, src + i, count - i);
}

static void narrow_f16(uint16_t *dst, const float *src, size_t count)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        __m256 value = canonical_f32(load_f32(src + i));
        _mm_storeu_si128((__m128i_u *)(void *)(dst + i), _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
    }
    trib_value_scalar.narrow_f16(dst + i, src + i, count - i);
}

static void divide_f32(float *dst, const float *src, float divisor, size_t count)
{
    float reciprocal;
    size_t i = 0;

    if (trib_float_reciprocal(divisor, &reciprocal)) {
        for (; i + LANES <= count; i += LANES) {
            store_f32(dst + i, canonical_f32(_mm256_mul_ps(load_f32(src + i), _mm256_set1_ps(reciprocal))));
        }
    }
    for (; i + LANES <= count; i += LANES) {
        store_f32(dst + i, canonical_f32(_mm256_div_ps(load_f32(src + i), _mm256_set1_ps(divisor))));
    }
    trib_value_scalar.divide_f32(dst + i, src + i, divisor, count - i);
}

static void divide_f64(double *dst, const double *src, double divisor, size_t count)
{
    size_t i = 0;

    for (; i + LANES / 2 <= count; i += LANES / 2) {
        store_f64(dst + i, canonical_f64(_mm256_div_pd(load_f64(src + i), _mm256_set1_pd(divisor))));
    }
    trib_value_scalar.divide_f64(dst + i, src + i, divisor, count - i);
}

static uint32_t max_magnitude(const float *src, size_t count)
{
    __m256i mask = _mm256_set1_epi32(0x7fffffff);
    __m256i max[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    size_t i = 0;

    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        max[0] = _mm256_max_epu32(max[0], _mm256_and_si256(load_bits(src + i), mask));
        max[1] = _mm256_max_epu32(max[1], _mm256_and_si256(load_bits(src + i + LANES), mask));
    }
    uint32_t lanes[LANES];
    uint32_t result = trib_value_scalar.max_magnitude(src + i, count - i);

    store_bits(lanes, _mm256_max_epu32(max[0], max[1]));
    for (size_t lane = 0; lane < LANES; lane++) {
        result = lanes[lane] > result ? lanes[lane] : result;
    }
    return result;
}

static void quantise(int32_t *dst, const float *src, int shift, size_t count)
{
    size_t i = 0;

    if (trib_quantise_is_simple(shift)) {
        __m256 scale = _mm256_set1_ps(trib_float_power(shift));

        for (; i + LANES <= count; i += LANES) {
            store_bits(dst + i, _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(src + i), scale)));
        }
    }
    trib_value_scalar.quantise(dst + i, src + i, shift, count - i);
}

static void dequantise(float *dst, const int32_t *src, int shift, size_t count)
{
    size_t i = 0;

    if (trib_dequantise_is_simple(shift)) {
        __m256 scale = _mm256_set1_ps(trib_float_power(-shift));

        for (; i + LANES <= count; i += LANES) {
            _mm256_storeu_ps(dst + i, _mm256_mul_ps(_mm256_cvtepi32_ps(load_bits(src + i)), scale));
        }
    }
    trib_value_scalar.dequantise(dst + i, src + i, shift, count - i);
}

/* Whole vectors bypass the caches. The ends do not: other bytes may be in the same line. */
static void copy_nontemporal(void *dst, const void *src, size_t len)
{
    const size_t vector = sizeof(__m256i);
    const size_t line = 64;
    uint8_t *to = dst;
    const uint8_t *from = src;
    size_t i = (line - (uintptr_t)to % line) % line;

    i = i < len ? i : len;
    memcpy(to, from, i);
    for (; len - i >= vector; i += vector) {
        _mm256_stream_si256((__m256i *)(void *)(to + i), load_bits(from + i));
    }
    memcpy(to + i, from + i, len - i);
}

static void order_nontemporal(void)
{
    _mm_sfence();
}

const struct trib_value_kernels trib_value_avx2 = {
    .name = "avx2",
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
#endif
