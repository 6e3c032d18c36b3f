/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c_clmul.c: CRC32C by 128-bit folding in four lanes (PCLMULQDQ), so that one lane's products are under way while
 * the next lane's start. Compiled with -mpclmul -msse4.2; empty on other CPUs. Read first: crc32c_fold.h. */
#include "core/crc32c_fold.h"

#if defined(__x86_64__)

#include "core/crc32c_x86.h"

#define LANE_LEN 16
#define BLOCK_LEN ((size_t)4 * LANE_LEN)

static inline __m128i step(__m128i r, const uint8_t *p)
{
    return _mm_xor_si128(trib_fold_move(r, trib_fold_512), trib_fold_load(p));
}

uint32_t trib_crc32c_clmul(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    if (len < 2 * BLOCK_LEN) {
        return ~trib_crc32c_steps(~crc, p, len);
    }
    __m128i a = _mm_xor_si128(trib_fold_load(p), _mm_cvtsi32_si128((int)~crc));
    __m128i b = trib_fold_load(p + LANE_LEN);
    __m128i c = trib_fold_load(p + 2 * LANE_LEN);
    __m128i d = trib_fold_load(p + 3 * LANE_LEN);
    for (p += BLOCK_LEN, len -= BLOCK_LEN; len >= BLOCK_LEN; p += BLOCK_LEN, len -= BLOCK_LEN) {
        a = step(a, p);
        b = step(b, p + LANE_LEN);
        c = step(c, p + 2 * LANE_LEN);
        d = step(d, p + 3 * LANE_LEN);
    }
    a = _mm_xor_si128(trib_fold_move(a, trib_fold_384), trib_fold_move(b, trib_fold_256));
    c = _mm_xor_si128(trib_fold_move(c, trib_fold_128), d);
    return ~trib_fold_finish(_mm_xor_si128(a, c), p, len);
}

#endif
