/* SPDX-License-Identifier: Apache-2.0 */
/* ghash_vpclmul.c: GHASH with four blocks in a register (VPCLMULQDQ on 512 bits), and one reduction for 32 blocks.
 * Compiled with -mvpclmulqdq -mavx512f -mavx512vl -mavx512bw -mpclmul -msse4.2; empty on other CPUs. Read first:
 * ghash_clmul.c. */
#include "core/ghash_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define REGISTER_LEN 64U
#define XOR3 0x96 /* a ^ b ^ c as a truth table */

/* Products that are not reduced yet: of the low words, of the high words, and of both words added. */
struct products {
    __m512i low, high, words;
};

static inline __m512i reversed(__m512i blocks)
{
    const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order));
}

/* Four blocks, times this power and the three below. */
static inline void add_products(struct products *p, __m512i x, const struct trib_ghash *hash, size_t power)
{
    const __m512i k = _mm512_loadu_si512(&hash->power[power]);
    const __m512i words = _mm512_xor_si512(x, _mm512_shuffle_epi32(x, _MM_PERM_BADC));
    p->low = _mm512_xor_si512(p->low, _mm512_clmulepi64_epi128(x, k, 0x00));
    p->high = _mm512_xor_si512(p->high, _mm512_clmulepi64_epi128(x, k, 0x11));
    p->words =
        _mm512_xor_si512(p->words, _mm512_clmulepi64_epi128(words, _mm512_loadu_si512(&hash->words[power]), 0x00));
}

static inline __m128i add_lanes(__m512i r)
{
    __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(r), _mm512_extracti64x4_epi64(r, 1));
    return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* Each of two steps makes the lowest word zero, and drops it. */
static inline __m128i reduced(const struct products *p)
{
    const __m128i poly = _mm_cvtsi64_si128((long long)UINT64_C(0xc200000000000000));
    const __m128i middle = add_lanes(_mm512_ternarylogic_epi64(p->words, p->low, p->high, XOR3));
    __m128i low = _mm_xor_si128(add_lanes(p->low), _mm_slli_si128(middle, 8));
    __m128i high = _mm_xor_si128(add_lanes(p->high), _mm_srli_si128(middle, 8));
    low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, poly, 0x00));
    low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, poly, 0x00));
    return _mm_xor_si128(low, high);
}

/* As many bytes as have one reduction. */
static inline __m128i add_chunk(const struct trib_ghash *hash, __m128i all, const uint8_t *data)
{
    struct products p = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    __m512i first = _mm512_zextsi128_si512(all);
#pragma GCC unroll 8
    for (size_t i = 0; i < TRIB_GHASH_POWERS / 4; i++) {
        const __m512i x = _mm512_loadu_si512(data + i * REGISTER_LEN);
        add_products(&p, _mm512_xor_si512(reversed(x), first), hash, 4 * i);
        first = _mm512_setzero_si512();
    }
    return reduced(&p);
}

/* Fewer, at least 1. */
static inline __m128i add_rest(const struct trib_ghash *hash, __m128i all, const uint8_t *data, size_t len)
{
    struct products p = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    __m512i first = _mm512_zextsi128_si512(all);
    for (size_t power = trib_ghash_power((len + TRIB_GHASH_BLOCK - 1) / TRIB_GHASH_BLOCK); len > 0; power += 4) {
        const size_t part = len < REGISTER_LEN ? len : REGISTER_LEN;
        const uint64_t bytes = part < REGISTER_LEN ? (UINT64_C(1) << part) - 1 : UINT64_MAX;
        const __m512i x = _mm512_maskz_loadu_epi8(bytes, data);
        add_products(&p, _mm512_xor_si512(reversed(x), first), hash, power);
        first = _mm512_setzero_si512();
        data += part;
        len -= part;
    }
    return reduced(&p);
}

static void add(const struct trib_ghash *hash, struct trib_ghash_element *sum, const uint8_t *data, size_t len)
{
    const size_t chunk = (size_t)TRIB_GHASH_POWERS * TRIB_GHASH_BLOCK;
    __m128i all = _mm_loadu_si128((const void *)sum);
    for (; len >= chunk; data += chunk, len -= chunk) {
        all = add_chunk(hash, all, data);
    }
    all = len > 0 ? add_rest(hash, all, data, len) : all;
    _mm_storeu_si128((void *)sum, all);
}

const struct trib_ghash_kernel trib_ghash_vpclmul = {.name = "vpclmul", .add = add};
#endif
