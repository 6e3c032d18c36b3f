/* SPDX-License-Identifier: Apache-2.0 */
/* tag_ifma.c: the kernel of AVX-512 with IFMA: eight words at a time. A product of 84 bits is added in two sums, of
 * its lower 52 bits and of the bits above, each of which has room for many such. A row's sums are multiplied by its
 * number s in the eight lanes, so that lanes are added up once for a payload and not once for a row. Compiled with
 * -mavx512ifma; empty on other CPUs. Read first: tag_scalar.c. */
#include "core/tag_kernels.h"

#ifdef __x86_64__
#include <immintrin.h>

#include "core/chacha20_lanes.h"

#define LANES ((size_t)8)

/* Two sums of products in each lane: low + 2^52 high. */
struct sums {
    __m512i low, high;
};

static inline void add_product(struct sums *sums, __m512i x, __m512i y)
{
    sums->low = _mm512_madd52lo_epu64(sums->low, x, y); /* of the lower 52 bits of x and y */
    sums->high = _mm512_madd52hi_epu64(sums->high, x, y);
}

/* Words + 2^31. */
static inline __m512i widen(__m256i words)
{
    return _mm512_cvtepu32_epi64(_mm256_xor_si256(words, _mm256_set1_epi32(INT32_MIN)));
}

static inline __m512i load(const uint8_t *at)
{
    return widen(_mm256_loadu_si256((const __m256i *)(const void *)at));
}

/* Adds the last words, fewer than LANES. */
static void add_rest(struct sums *sums, const uint64_t *r, const uint8_t *at, size_t count)
{
    __mmask16 mask = (__mmask16)((1U << count) - 1);
    __m256i words = _mm512_castsi512_si256(_mm512_maskz_loadu_epi32(mask, at));

    add_product(sums, widen(words), _mm512_maskz_loadu_epi64((__mmask8)mask, r));
}

/* The sum of a row: below 2^58 in each lane, since a lane has 32 products at most. */
static __m512i of_row(const uint64_t *r, const uint8_t *at, size_t count)
{
    struct sums one = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    struct sums two = one;
    size_t i = 0;

    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        add_product(&one, load(at + 4 * i), _mm512_loadu_si512(r + i));
        add_product(&two, load(at + 4 * (i + LANES)), _mm512_loadu_si512(r + i + LANES));
    }
    if (i + LANES <= count) {
        add_product(&one, load(at + 4 * i), _mm512_loadu_si512(r + i));
        i += LANES;
    }
    if (i < count) {
        add_rest(&two, r + i, at + 4 * i, count - i);
    }
    __m512i low = _mm512_add_epi64(one.low, two.low);
    __m512i high = _mm512_add_epi64(one.high, two.high);
    return _mm512_madd52lo_epu64(low, high, _mm512_set1_epi64(47)); /* 2^52 is 47 */
}

static uint64_t sum(const uint64_t *r, const uint64_t *s, const void *words, size_t count)
{
    const uint8_t *at = words;
    struct sums all = {_mm512_setzero_si512(), _mm512_setzero_si512()};

    for (size_t from = 0; from < count; from += TRIB_TAG_ROW) {
        size_t row = count - from < TRIB_TAG_ROW ? count - from : TRIB_TAG_ROW;
        __m512i factor = _mm512_set1_epi64((long long)s[from / TRIB_TAG_ROW]);
        __m512i sum = of_row(r, at + 4 * from, row);
        __m512i above = _mm512_srli_epi64(sum, 52);
        add_product(&all, sum, factor);
        add_product(&all, _mm512_madd52lo_epu64(_mm512_setzero_si512(), above, _mm512_set1_epi64(47)), factor);
    }
    /* 128 numbers of 52 bits each, so below 2^59. */
    uint64_t low = (uint64_t)_mm512_reduce_add_epi64(all.low);
    uint64_t high = (uint64_t)_mm512_reduce_add_epi64(all.high);
    return trib_tag_reduce(low + 47 * trib_tag_reduce(high));
}

const struct trib_tag_kernel trib_tag_ifma = {.name = "ifma", .sum = sum, .blocks = &chacha20_lanes};
#endif
