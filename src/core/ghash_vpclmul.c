/* SPDX-License-Identifier: Apache-2.0 */
/* ghash_vpclmul.c: GHASH with four blocks in a register (VPCLMULQDQ on 512 bits), and one reduction for 32 blocks.
 * Compiled with -mvpclmulqdq -mavx512f -mavx512vl -mavx512bw -mpclmul -msse4.2; empty on other CPUs. Read first:
 * ghash_clmul.c. */
#include "core/ghash_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define REGISTER_LEN 64U
#define XOR3 0x96 /* a ^ b ^ c as a truth table */

/* Products that are not reduced yet: of the low words, of the high words, and of a low and a high word. */
struct products {
    __m512i low, high, middle;
};

static inline __m512i reversed(__m512i blocks)
{
    const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order));
}

static inline void add_products(struct products *p, __m512i x, __m512i k)
{
    p->low = _mm512_xor_si512(p->low, _mm512_clmulepi64_epi128(x, k, 0x00));
    p->high = _mm512_xor_si512(p->high, _mm512_clmulepi64_epi128(x, k, 0x11));
    p->middle = _mm512_ternarylogic_epi64(p->middle, _mm512_clmulepi64_epi128(x, k, 0x01),
                                          _mm512_clmulepi64_epi128(x, k, 0x10), XOR3);
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
    __m128i middle = add_lanes(p->middle);
    __m128i low = _mm_xor_si128(add_lanes(p->low), _mm_slli_si128(middle, 8));
    __m128i high = _mm_xor_si128(add_lanes(p->high), _mm_srli_si128(middle, 8));
    low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, poly, 0x00));
    low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, poly, 0x00));
    return _mm_xor_si128(low, high);
}

static void add(const struct trib_ghash *hash, struct trib_ghash_element *sum, const uint8_t *data, size_t len)
{
    __m128i all = _mm_loadu_si128((const __m128i *)(const void *)sum);
    while (len > 0) {
        const size_t blocks = (len + TRIB_GHASH_BLOCK - 1) / TRIB_GHASH_BLOCK;
        const struct trib_ghash_element *power =
            trib_ghash_power(hash, blocks < TRIB_GHASH_POWERS ? blocks : TRIB_GHASH_POWERS);
        struct products p = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
        __m512i first = _mm512_zextsi128_si512(all);
        for (unsigned i = 0; i < TRIB_GHASH_POWERS && len > 0; i += 4) {
            const size_t part = len < REGISTER_LEN ? len : REGISTER_LEN;
            const __m512i x = _mm512_maskz_loadu_epi8(UINT64_MAX >> (REGISTER_LEN - part), data);
            add_products(&p, _mm512_xor_si512(reversed(x), first), _mm512_loadu_si512(power + i));
            first = _mm512_setzero_si512();
            data += part;
            len -= part;
        }
        all = reduced(&p);
    }
    _mm_storeu_si128((__m128i *)(void *)sum, all);
}

const struct trib_ghash_kernel trib_ghash_vpclmul = {.name = "vpclmul", .add = add};
#endif
