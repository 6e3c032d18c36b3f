/* SPDX-License-Identifier: Apache-2.0 */
/* value_avx2.c: the kernels for x86-64 with AVX2 and F16C. Whole vectors only: what is left goes to the scalar kernel, and so
 * do shifts that do not fit one multiplication. On other machines this file is empty and its table does not exist.
 * Built with -mavx2 -mf16c -mfma; the pragma serves builds that forget. No function here may run before value.c checked the CPU.
 * Read next: value.c. */
#include "core/value_kernels.h"

#if TRIB_VALUE_X86
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

/* Stores results whose NaNs may be any. */
static inline void store_result(float *dst, __m256 value)
{
    __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)TRIB_NAN_F32));
    _mm256_storeu_ps(dst, _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q)));
}

static inline __m256 widened_bf16(const uint16_t *src)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_halves(src)), 16));
}

static inline __m256 widened_f16(const uint16_t *src)
{
    return _mm256_cvtph_ps(load_halves(src));
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

static void add_f32(float *dst, const float *a, const float *b, size_t count)
{
    size_t i = 0;

    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        __m256 first = _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
        __m256 second = _mm256_add_ps(_mm256_loadu_ps(a + i + LANES), _mm256_loadu_ps(b + i + LANES));
        store_result(dst + i, first);
        store_result(dst + i + LANES, second);
    }
    trib_value_scalar.add_f32(dst + i, a + i, b + i, count - i);
}

static void add_i32(int32_t *dst, const int32_t *a, const int32_t *b, size_t count)
{
    size_t i = 0;

    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        __m256i first = _mm256_add_epi32(load_bits(a + i), load_bits(b + i));
        __m256i second = _mm256_add_epi32(load_bits(a + i + LANES), load_bits(b + i + LANES));
        store_bits(dst + i, first);
        store_bits(dst + i + LANES, second);
    }
    trib_value_scalar.add_i32(dst + i, a + i, b + i, count - i);
}

static void add_i64(int64_t *dst, const int64_t *a, const int64_t *b, size_t count)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        __m256i first = _mm256_add_epi64(load_bits(a + i), load_bits(b + i));
        __m256i second = _mm256_add_epi64(load_bits(a + i + LANES / 2), load_bits(b + i + LANES / 2));
        store_bits(dst + i, first);
        store_bits(dst + i + LANES / 2, second);
    }
    trib_value_scalar.add_i64(dst + i, a + i, b + i, count - i);
}

static void add_f32_bf16(float *dst, const float *a, const uint16_t *b, size_t count)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        store_result(dst + i, _mm256_add_ps(_mm256_loadu_ps(a + i), widened_bf16(b + i)));
    }
    trib_value_scalar.add_f32_bf16(dst + i, a + i, b + i, count - i);
}

static void add_f32_f16(float *dst, const float *a, const uint16_t *b, size_t count)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        store_result(dst + i, _mm256_add_ps(_mm256_loadu_ps(a + i), widened_f16(b + i)));
    }
    trib_value_scalar.add_f32_f16(dst + i, a + i, b + i, count - i);
}

static void widen_bf16(float *dst, const uint16_t *src, size_t count)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        _mm256_storeu_ps(dst + i, widened_bf16(src + i));
    }
    trib_value_scalar.widen_bf16(dst + i, src + i, count - i);
}

static void widen_f16(float *dst, const uint16_t *src, size_t count)
{
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        _mm256_storeu_ps(dst + i, widened_f16(src + i));
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
    __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)TRIB_NAN_F32));
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        __m256 value = _mm256_loadu_ps(src + i);
        value = _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
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
            store_result(dst + i, _mm256_mul_ps(_mm256_loadu_ps(src + i), _mm256_set1_ps(reciprocal)));
        }
    }
    for (; i + LANES <= count; i += LANES) {
        store_result(dst + i, _mm256_div_ps(_mm256_loadu_ps(src + i), _mm256_set1_ps(divisor)));
    }
    trib_value_scalar.divide_f32(dst + i, src + i, divisor, count - i);
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

const struct trib_value_kernels trib_value_avx2 = {
    .name = "avx2",
    .add_f32 = add_f32,
    .add_i32 = add_i32,
    .add_i64 = add_i64,
    .add_f32_bf16 = add_f32_bf16,
    .add_f32_f16 = add_f32_f16,
    .widen_bf16 = widen_bf16,
    .widen_f16 = widen_f16,
    .narrow_bf16 = narrow_bf16,
    .narrow_f16 = narrow_f16,
    .divide_f32 = divide_f32,
    .max_magnitude = max_magnitude,
    .quantise = quantise,
    .dequantise = dequantise,
};
#endif
