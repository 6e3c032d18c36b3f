/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c_x86.h: the 128-bit steps that crc32c_clmul.c and crc32c_vpclmul.c share. Only for files compiled with -mpclmul
 * -msse4.2. Read first: crc32c_fold.h (the constants, and folding). */
#ifndef TRIB_CORE_CRC32C_X86_H
#define TRIB_CORE_CRC32C_X86_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "core/crc32c_fold.h"

static inline __m128i trib_fold_load(const void *p)
{
    return _mm_loadu_si128(p);
}

/* R * x^D, for the pair of constants of D. */
static inline __m128i trib_fold_move(__m128i r, const uint64_t constants[2])
{
    __m128i k = trib_fold_load(constants);
    return _mm_xor_si128(_mm_clmulepi64_si128(r, k, 0x00), _mm_clmulepi64_si128(r, k, 0x11));
}

/* The raw crc (not inverted) over len bytes, 8 and then 1 at a time with the crc32 instruction: 3 cycles a step, and so
 * as good as folding up to about 64 bytes, where folding must also divide at the end. */
static inline uint32_t trib_crc32c_steps(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t crc64 = crc;
    uint64_t word;
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&word, p, 8);
        crc64 = _mm_crc32_u64(crc64, word);
    }
    crc = (uint32_t)crc64;
    for (; len > 0; p++, len--) {
        crc = _mm_crc32_u8(crc, *p);
    }
    return crc;
}

/* The raw crc of a register's 16 bytes followed by len bytes at p. */
static inline uint32_t trib_fold_finish(__m128i r, const uint8_t *p, size_t len)
{
    for (; len >= 16; p += 16, len -= 16) {
        r = _mm_xor_si128(trib_fold_move(r, trib_fold_128), trib_fold_load(p));
    }
    uint64_t crc = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(r));
    crc = _mm_crc32_u64(crc, (uint64_t)_mm_extract_epi64(r, 1));
    return trib_crc32c_steps((uint32_t)crc, p, len);
}

#endif
