/* SPDX-License-Identifier: Apache-2.0 */
/* tag_ifma.c: the kernel of AVX-512 with IFMA: eight words at a time. A product of 84 bits is added in two sums, of
 * its lower 52 bits and of the bits above, each of which has room for many such. Compiled with -mavx512ifma; empty on
 * other CPUs. Read first: tag_scalar.c. */
#include "core/tag_kernels.h"

#if TRIB_TAG_X86
#include <immintrin.h>

#define LANES 8

static __m512i load(const uint8_t *at)
{
    __m256i word = _mm256_loadu_si256((const __m256i *)(const void *)at);

    return _mm512_cvtepu32_epi64(_mm256_xor_si256(word, _mm256_set1_epi32(INT32_MIN)));
}

static uint64_t sum(const uint64_t *r, const void *words, size_t count)
{
    const uint8_t *at = words;
    __m512i low[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    __m512i high[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    size_t whole = count - count % (2 * LANES);

    for (size_t i = 0; i < whole; i += 2 * LANES) {
        __m512i x = load(at + 4 * i);
        __m512i y = load(at + 4 * (i + LANES));
        __m512i k = _mm512_loadu_si512(r + i);
        __m512i l = _mm512_loadu_si512(r + i + LANES);
        low[0] = _mm512_madd52lo_epu64(low[0], x, k);
        high[0] = _mm512_madd52hi_epu64(high[0], x, k);
        low[1] = _mm512_madd52lo_epu64(low[1], y, l);
        high[1] = _mm512_madd52hi_epu64(high[1], y, l);
    }
    /* 256 numbers of 52 bits are 60; of the 32 bits above, times 47, less than 2^46. */
    uint64_t below = (uint64_t)_mm512_reduce_add_epi64(_mm512_add_epi64(low[0], low[1]));
    uint64_t above = (uint64_t)_mm512_reduce_add_epi64(_mm512_add_epi64(high[0], high[1]));
    uint64_t rest = trib_tag_scalar.sum(r + whole, at + 4 * whole, count - whole);
    return trib_tag_add(trib_tag_reduce(below + 47 * above), rest);
}

const struct trib_tag_kernel trib_tag_ifma = {.name = "ifma", .sum = sum};
#endif
