/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c_vpclmul.c: CRC32C by folding four registers of four 128-bit lanes (VPCLMULQDQ on 512 bits), 256 bytes a step.
 * Compiled with -mvpclmulqdq -mavx512f -mavx512vl -mavx512bw -mpclmul -msse4.2; empty on other CPUs. Read first:
 * crc32c_fold.h, crc32c_clmul.c. */
#include "core/crc32c_fold.h"

#if defined(__x86_64__)

#include "core/crc32c_blocks.h"

#define REGISTER_LEN 64
#define BLOCK_LEN ((size_t)4 * REGISTER_LEN)
#define XOR3 0x96 /* a ^ b ^ c as a truth table */

static inline __m512i constant(const uint64_t constants[2])
{
    return _mm512_broadcast_i32x4(trib_fold_load(constants));
}

/* Each lane times its K, plus the value there. */
static inline __m512i move(__m512i r, __m512i k, __m512i there)
{
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(r, k, 0x00), _mm512_clmulepi64_epi128(r, k, 0x11), there,
                                     XOR3);
}

/* The four lanes of one register into one: the last stands where all must go, the others are moved there. */
static inline __m128i merge(__m512i r)
{
    __m512i k = _mm512_castsi128_si512(trib_fold_load(trib_fold_384));
    k = _mm512_inserti32x4(k, trib_fold_load(trib_fold_256), 1);
    k = _mm512_inserti32x4(k, trib_fold_load(trib_fold_128), 2);
    k = _mm512_inserti32x4(k, _mm_setzero_si128(), 3);
    r = move(r, k, _mm512_maskz_mov_epi64(0xc0, r));
    __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(r), _mm512_extracti64x4_epi64(r, 1));
    return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* The first register of at least BLOCK_LEN bytes at p, folded over all whole blocks. *p and *len move behind them. */
static inline __m512i fold_blocks(__m512i a, const uint8_t **p, size_t *len)
{
    const uint8_t *at = *p;
    const __m512i k = constant(trib_fold_2048);
    __m512i b = _mm512_loadu_si512(at + REGISTER_LEN);
    __m512i c = _mm512_loadu_si512(at + 2 * REGISTER_LEN);
    __m512i d = _mm512_loadu_si512(at + 3 * REGISTER_LEN);
    size_t left = *len - BLOCK_LEN;
    for (at += BLOCK_LEN; left >= BLOCK_LEN; at += BLOCK_LEN, left -= BLOCK_LEN) {
        a = move(a, k, _mm512_loadu_si512(at));
        b = move(b, k, _mm512_loadu_si512(at + REGISTER_LEN));
        c = move(c, k, _mm512_loadu_si512(at + 2 * REGISTER_LEN));
        d = move(d, k, _mm512_loadu_si512(at + 3 * REGISTER_LEN));
    }
    *p = at;
    *len = left;
    c = move(c, constant(trib_fold_512), d);
    b = move(b, constant(trib_fold_1024), c);
    return move(a, constant(trib_fold_1536), b);
}

uint32_t trib_crc32c_vpclmul(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    if (len < 2 * REGISTER_LEN) {
        return ~trib_crc32c_steps(~crc, p, len);
    }
    __m512i r = _mm512_loadu_si512(p);
    r = _mm512_xor_si512(r, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));
    if (len >= BLOCK_LEN) {
        r = fold_blocks(r, &p, &len);
    } else {
        p += REGISTER_LEN;
        len -= REGISTER_LEN;
    }
    const __m512i k = constant(trib_fold_512);
    for (; len >= REGISTER_LEN; p += REGISTER_LEN, len -= REGISTER_LEN) {
        r = move(r, k, _mm512_loadu_si512(p));
    }
    return ~trib_fold_finish(merge(r), p, len);
}

#endif
