/* SPDX-License-Identifier: Apache-2.0 */
/* value_avx512.c: the kernels for x86-64 with AVX-512 F, BW, VL and DQ. The last vector is a masked one; shifts that do not fit one
 * multiplication go to the scalar kernel. On other machines this file is empty and its table does not exist.
 * Built with -mavx512f -mavx512bw -mavx512vl -mavx512dq; the pragma serves builds that forget. No function here may run before
 * value.c checked the CPU.
 * Read next: value.c. */
#include "core/value_kernels.h"

#if TRIB_VALUE_X86
#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512VL__) || !defined(__AVX512DQ__)
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,f16c,fma")
#endif
#include <immintrin.h>

#define LANES 16 /* 32-bit elements of a vector */

/* The mask of min(left, LANES) elements. */
static inline __mmask16 mask_of(size_t left)
{
    uint32_t mask = left >= LANES ? 0xffffu : (1u << left) - 1;
    return (__mmask16)mask;
}

static inline __m512 canonical(__m512 value)
{
    __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32((int32_t)TRIB_NAN_F32));
    return _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), nan);
}

static inline __m512 bf16_as_f32(__m256i halves)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

static inline __m256i f32_as_bf16(__m512 value)
{
    __m512i bits = _mm512_castps_si512(value);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);

    return _mm512_cvtepi32_epi16(
        _mm512_mask_mov_epi32(_mm512_srli_epi32(up, 16), is_nan, _mm512_set1_epi32(TRIB_NAN_BF16)));
}

static inline __m256i f32_as_f16(__m512 value)
{
    return _mm512_cvtps_ph(canonical(value), _MM_FROUND_TO_NEAREST_INT);
}

static void add_f32(float *dst, const float *a, const float *b, size_t count)
{
    size_t i = 0;

    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        __m512 first = _mm512_add_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i));
        __m512 second = _mm512_add_ps(_mm512_loadu_ps(a + i + LANES), _mm512_loadu_ps(b + i + LANES));
        _mm512_storeu_ps(dst + i, canonical(first));
        _mm512_storeu_ps(dst + i + LANES, canonical(second));
    }
    for (; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, a + i), _mm512_maskz_loadu_ps(mask, b + i));
        _mm512_mask_storeu_ps(dst + i, mask, canonical(sum));
    }
}

static void add_i32(int32_t *dst, const int32_t *a, const int32_t *b, size_t count)
{
    size_t i = 0;

    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        __m512i first = _mm512_add_epi32(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i));
        __m512i second = _mm512_add_epi32(_mm512_loadu_si512(a + i + LANES), _mm512_loadu_si512(b + i + LANES));
        _mm512_storeu_si512(dst + i, first);
        _mm512_storeu_si512(dst + i + LANES, second);
    }
    for (; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        __m512i sum = _mm512_add_epi32(_mm512_maskz_loadu_epi32(mask, a + i), _mm512_maskz_loadu_epi32(mask, b + i));
        _mm512_mask_storeu_epi32(dst + i, mask, sum);
    }
}

static void add_i64(int64_t *dst, const int64_t *a, const int64_t *b, size_t count)
{
    const size_t lanes = LANES / 2;
    size_t i = 0;

    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        __m512i first = _mm512_add_epi64(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i));
        __m512i second = _mm512_add_epi64(_mm512_loadu_si512(a + i + lanes), _mm512_loadu_si512(b + i + lanes));
        _mm512_storeu_si512(dst + i, first);
        _mm512_storeu_si512(dst + i + lanes, second);
    }
    for (; i < count; i += lanes) {
        __mmask8 mask = (__mmask8)mask_of(count - i); /* eight or more: all eight bits */
        __m512i sum = _mm512_add_epi64(_mm512_maskz_loadu_epi64(mask, a + i), _mm512_maskz_loadu_epi64(mask, b + i));
        _mm512_mask_storeu_epi64(dst + i, mask, sum);
    }
}

static void add_f32_bf16(float *dst, const float *a, const uint16_t *b, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        __m512 wide = bf16_as_f32(_mm256_maskz_loadu_epi16(mask, b + i));
        _mm512_mask_storeu_ps(dst + i, mask, canonical(_mm512_add_ps(_mm512_maskz_loadu_ps(mask, a + i), wide)));
    }
}

static void add_f32_f16(float *dst, const float *a, const uint16_t *b, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        __m512 wide = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, b + i));
        _mm512_mask_storeu_ps(dst + i, mask, canonical(_mm512_add_ps(_mm512_maskz_loadu_ps(mask, a + i), wide)));
    }
}

static void widen_bf16(float *dst, const uint16_t *src, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        _mm512_mask_storeu_ps(dst + i, mask, bf16_as_f32(_mm256_maskz_loadu_epi16(mask, src + i)));
    }
}

static void widen_f16(float *dst, const uint16_t *src, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        _mm512_mask_storeu_ps(dst + i, mask, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, src + i)));
    }
}

static void narrow_bf16(uint16_t *dst, const float *src, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        _mm256_mask_storeu_epi16(dst + i, mask, f32_as_bf16(_mm512_maskz_loadu_ps(mask, src + i)));
    }
}

static void narrow_f16(uint16_t *dst, const float *src, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        _mm256_mask_storeu_epi16(dst + i, mask, f32_as_f16(_mm512_maskz_loadu_ps(mask, src + i)));
    }
}

static void multiply_f32(float *dst, const float *src, float factor, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        __m512 product = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, src + i), _mm512_set1_ps(factor));
        _mm512_mask_storeu_ps(dst + i, mask, canonical(product));
    }
}

static void divide_f32(float *dst, const float *src, float divisor, size_t count)
{
    float reciprocal;

    if (trib_float_reciprocal(divisor, &reciprocal)) {
        multiply_f32(dst, src, reciprocal, count);
        return;
    }
    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        __m512 quotient = _mm512_div_ps(_mm512_maskz_loadu_ps(mask, src + i), _mm512_set1_ps(divisor));
        _mm512_mask_storeu_ps(dst + i, mask, canonical(quotient));
    }
}

static uint32_t max_magnitude(const float *src, size_t count)
{
    __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    __m512i max[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    size_t i = 0;

    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        max[0] = _mm512_max_epu32(max[0], _mm512_and_si512(_mm512_loadu_si512(src + i), magnitude));
        max[1] = _mm512_max_epu32(max[1], _mm512_and_si512(_mm512_loadu_si512(src + i + LANES), magnitude));
    }
    for (; i < count; i += LANES) {
        __m512i bits = _mm512_maskz_loadu_epi32(mask_of(count - i), src + i);
        max[0] = _mm512_max_epu32(max[0], _mm512_and_si512(bits, magnitude));
    }
    return _mm512_reduce_max_epu32(_mm512_max_epu32(max[0], max[1]));
}

static void quantise(int32_t *dst, const float *src, int shift, size_t count)
{
    if (!trib_quantise_is_simple(shift)) {
        trib_value_scalar.quantise(dst, src, shift, count);
        return;
    }
    __m512 scale = _mm512_set1_ps(trib_float_power(shift));

    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        __m512 product = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, src + i), scale);
        _mm512_mask_storeu_epi32(dst + i, mask, _mm512_cvtps_epi32(product));
    }
}

static void dequantise(float *dst, const int32_t *src, int shift, size_t count)
{
    if (!trib_dequantise_is_simple(shift)) {
        trib_value_scalar.dequantise(dst, src, shift, count);
        return;
    }
    __m512 scale = _mm512_set1_ps(trib_float_power(-shift));

    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 mask = mask_of(count - i);
        __m512 value = _mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(mask, src + i));
        _mm512_mask_storeu_ps(dst + i, mask, _mm512_mul_ps(value, scale));
    }
}

const struct trib_value_kernels trib_value_avx512 = {
    .name = "avx512",
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
