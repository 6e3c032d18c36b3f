/* SPDX-License-Identifier: Apache-2.0 */
/* tag_avx2.c: the kernel of AVX2: four words at a time. Each r is split into two halves of 26 bits, so that the 64
 * products of a lane, of 58 bits, fit 64 bits. Compiled with -mavx2; empty on other CPUs. Read first: tag_scalar.c. */
#include "core/tag_kernels.h"

#ifdef __x86_64__
#include <immintrin.h>

#include "core/chacha20_lanes.h"

#define LANES 4 /* of 64 bits: TRIB_TAG_ROW has 64 words for each */

/* The sum of the lanes mod p, below 2^55: each is folded once, as 2^52 is 47. */
static inline uint64_t add_up(__m256i lanes)
{
    __m256i above = _mm256_mul_epu32(_mm256_srli_epi64(lanes, 52), _mm256_set1_epi64x(47));
    __m256i folded = _mm256_add_epi64(_mm256_and_si256(lanes, _mm256_set1_epi64x((INT64_C(1) << 52) - 1)), above);
    __m128i half = _mm_add_epi64(_mm256_castsi256_si128(folded), _mm256_extracti128_si256(folded, 1));

    return (uint64_t)_mm_cvtsi128_si64(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half)));
}

static uint64_t of_row(const uint64_t *r, const void *words, size_t count)
{
    const __m256i low_half = _mm256_set1_epi64x((1 << 26) - 1);
    const __m128i half = _mm_set1_epi32(INT32_MIN);
    const uint8_t *at = words;
    size_t whole = count - count % LANES;
    __m256i low = _mm256_setzero_si256();
    __m256i high = _mm256_setzero_si256();

    for (size_t i = 0; i < whole; i += LANES) {
        __m128i word = _mm_loadu_si128((const __m128i *)(const void *)(at + 4 * i));
        __m256i x = _mm256_cvtepu32_epi64(_mm_xor_si128(word, half));
        __m256i k = _mm256_loadu_si256((const __m256i *)(const void *)(r + i));
        low = _mm256_add_epi64(low, _mm256_mul_epu32(x, _mm256_and_si256(k, low_half)));
        high = _mm256_add_epi64(high, _mm256_mul_epu32(x, _mm256_srli_epi64(k, 26)));
    }
    __extension__ TRIB_TAG_WIDE total = add_up(low) + ((TRIB_TAG_WIDE)add_up(high) << 26);
    uint64_t rest = trib_tag_scalar_row(r + whole, at + 4 * whole, count - whole);
    return trib_tag_add(trib_tag_reduce_wide(total), rest);
}

static uint64_t sum(const uint64_t *r, const uint64_t *s, const void *words, size_t count)
{
    return trib_tag_sum_rows(of_row, r, s, words, count);
}

const struct trib_tag_kernel trib_tag_avx2 = {.name = "avx2", .sum = sum, .blocks = &chacha20_lanes};
#endif
