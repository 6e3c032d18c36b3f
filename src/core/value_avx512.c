/* SPDX-License-Identifier: Apache-2.0 */
/* value_avx512.c: the kernels for x86-64 with AVX-512 F, BW, VL and DQ. What reductions leave behind the last whole
 * vector goes to the AVX2 kernel; elsewhere the last vector is a masked one. Shifts that do not fit one multiplication
 * go to the scalar kernel. On other machines this file is empty and its table does not exist. Built with -mavx512f
 * -mavx512bw -mavx512vl -mavx512dq; the pragma serves builds that forget. No function here may run before value.c
 * checked the CPU.
 * Read next: value.c. */
#include "core/value_kernels.h"

#ifdef __x86_64__
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

/* value, with the canonical NaN where a or b, both of which may be value itself, is NaN. */
static inline __m512 with_nan_f32(__m512 value, __m512 a, __m512 b)
{
    __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32((int32_t)TRIB_NAN_F32));
    return _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), nan);
}

static inline __m512d with_nan_f64(__m512d value, __m512d a, __m512d b)
{
    __m512d nan = _mm512_castsi512_pd(_mm512_set1_epi64((int64_t)TRIB_NAN_F64));
    return _mm512_mask_mov_pd(value, _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q), nan);
}

static inline __m512 canonical_f32(__m512 value)
{
    return with_nan_f32(value, value, value);
}

static inline __m512d canonical_f64(__m512d value)
{
    return with_nan_f64(value, value, value);
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
    return _mm512_cvtps_ph(canonical_f32(value), _MM_FROUND_TO_NEAREST_INT);
}

/* ---- reductions ---- */

static inline __m512 load_f32(const void *src)
{
    return _mm512_loadu_ps(src);
}

static inline __m512 load_bf16(const void *src)
{
    return bf16_as_f32(_mm256_loadu_si256((const __m256i_u *)src));
}

static inline __m512 load_f16(const void *src)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)src));
}

static inline __m512d load_f64(const void *src)
{
    return _mm512_loadu_pd(src);
}

#define INTEGERS(name)                                        \
    static inline __m512i load_##name(const void *src)        \
    {                                                         \
        return _mm512_loadu_si512(src);                       \
    }                                                         \
    static inline void store_##name(void *dst, __m512i value) \
    {                                                         \
        _mm512_storeu_si512(dst, value);                      \
    }

INTEGERS(i8)
INTEGERS(u8)
INTEGERS(i32)
INTEGERS(i64)

static inline void store_f32(void *dst, __m512 value)
{
    _mm512_storeu_ps(dst, value);
}

static inline void store_f64(void *dst, __m512d value)
{
    _mm512_storeu_pd(dst, value);
}

static inline __m512 f32_sum(__m512 a, __m512 b)
{
    return canonical_f32(_mm512_add_ps(a, b));
}

static inline __m512 f32_product(__m512 a, __m512 b)
{
    return canonical_f32(_mm512_mul_ps(a, b));
}

/* The instruction gives its second operand where both are zero: both orders together know both signs. */
static inline __m512 f32_minimum(__m512 a, __m512 b)
{
    return with_nan_f32(_mm512_or_ps(_mm512_min_ps(a, b), _mm512_min_ps(b, a)), a, b);
}

static inline __m512 f32_maximum(__m512 a, __m512 b)
{
    return with_nan_f32(_mm512_and_ps(_mm512_max_ps(a, b), _mm512_max_ps(b, a)), a, b);
}

static inline __m512d f64_sum(__m512d a, __m512d b)
{
    return canonical_f64(_mm512_add_pd(a, b));
}

static inline __m512d f64_product(__m512d a, __m512d b)
{
    return canonical_f64(_mm512_mul_pd(a, b));
}

static inline __m512d f64_minimum(__m512d a, __m512d b)
{
    return with_nan_f64(_mm512_or_pd(_mm512_min_pd(a, b), _mm512_min_pd(b, a)), a, b);
}

static inline __m512d f64_maximum(__m512d a, __m512d b)
{
    return with_nan_f64(_mm512_and_pd(_mm512_max_pd(a, b), _mm512_max_pd(b, a)), a, b);
}

/* No instruction multiplies bytes: even and odd ones apart, as 16 bits whose upper half is nobody's. */
static inline __m512i multiply_bytes(__m512i a, __m512i b)
{
    __m512i even = _mm512_mullo_epi16(a, b);
    __m512i odd = _mm512_mullo_epi16(_mm512_srli_epi16(a, 8), _mm512_srli_epi16(b, 8));

    return _mm512_mask_mov_epi8(_mm512_slli_epi16(odd, 8), UINT64_C(0x5555555555555555), even);
}

#define COMBINE(name, instruction)                   \
    static inline __m512i name(__m512i a, __m512i b) \
    {                                                \
        return instruction(a, b);                    \
    }

COMBINE(i8_sum, _mm512_add_epi8)
COMBINE(i8_minimum, _mm512_min_epi8)
COMBINE(i8_maximum, _mm512_max_epi8)
COMBINE(i8_product, multiply_bytes)
COMBINE(u8_sum, _mm512_add_epi8)
COMBINE(u8_minimum, _mm512_min_epu8)
COMBINE(u8_maximum, _mm512_max_epu8)
COMBINE(u8_product, multiply_bytes)
COMBINE(i32_sum, _mm512_add_epi32)
COMBINE(i32_minimum, _mm512_min_epi32)
COMBINE(i32_maximum, _mm512_max_epi32)
COMBINE(i32_product, _mm512_mullo_epi32)
COMBINE(i64_sum, _mm512_add_epi64)
COMBINE(i64_minimum, _mm512_min_epi64)
COMBINE(i64_maximum, _mm512_max_epi64)
COMBINE(i64_product, _mm512_mullo_epi64)

TRIB_VECTOR_KERNELS(__m512i, trib_value_avx2)

/* ---- conversions ---- */

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
        _mm512_mask_storeu_ps(dst + i, mask, canonical_f32(product));
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
        _mm512_mask_storeu_ps(dst + i, mask, canonical_f32(quotient));
    }
}

static void divide_f64(double *dst, const double *src, double divisor, size_t count)
{
    for (size_t i = 0; i < count; i += LANES / 2) {
        __mmask8 mask = (__mmask8)mask_of(count - i); /* eight or more: all eight bits */
        __m512d quotient = _mm512_div_pd(_mm512_maskz_loadu_pd(mask, src + i), _mm512_set1_pd(divisor));
        _mm512_mask_storeu_pd(dst + i, mask, canonical_f64(quotient));
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

/* Whole vectors bypass the caches. The ends do not: other bytes may be in the same line. */
static void copy_nontemporal(void *dst, const void *src, size_t len)
{
    const size_t vector = sizeof(__m512i);
    uint8_t *to = dst;
    const uint8_t *from = src;
    size_t i = (vector - (uintptr_t)to % vector) % vector;

    i = i < len ? i : len;
    memcpy(to, from, i);
    for (; len - i >= vector; i += vector) {
        _mm512_stream_si512((__m512i *)(void *)(to + i), _mm512_loadu_si512(from + i));
    }
    memcpy(to + i, from + i, len - i);
}

static void order_nontemporal(void)
{
    _mm_sfence();
}

const struct trib_value_kernels trib_value_avx512 = {
    .name = "avx512",
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
