/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c_blocks.h: steps of 128 bits, on x86-64 and on 64-bit ARM, which crc32c_clmul.c and crc32c_vpclmul.c share.
 * Only for files compiled with -mpclmul -msse4.2, or with -march=armv8-a+crc+crypto. Read first: crc32c_fold.h (the
 * constants, and folding). */
#ifndef TRIB_CORE_CRC32C_BLOCKS_H
#define TRIB_CORE_CRC32C_BLOCKS_H

#include <stdint.h>
#include <string.h>

#include "core/crc32c_fold.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TRIB_BLOCK __m128i

static inline TRIB_BLOCK trib_fold_load(const void *p)
{
    return _mm_loadu_si128(p);
}

static inline TRIB_BLOCK trib_fold_xor(TRIB_BLOCK a, TRIB_BLOCK b)
{
    return _mm_xor_si128(a, b);
}

static inline TRIB_BLOCK trib_fold_of(uint32_t raw)
{
    return _mm_cvtsi32_si128((int)raw);
}

static inline uint64_t trib_fold_low(TRIB_BLOCK r)
{
    return (uint64_t)_mm_cvtsi128_si64(r);
}

static inline uint64_t trib_fold_high(TRIB_BLOCK r)
{
    return (uint64_t)_mm_extract_epi64(r, 1);
}

/* The sum of the products of the low words and of the high words. */
static inline TRIB_BLOCK trib_fold_multiply(TRIB_BLOCK r, TRIB_BLOCK k)
{
    return _mm_xor_si128(_mm_clmulepi64_si128(r, k, 0x00), _mm_clmulepi64_si128(r, k, 0x11));
}

static inline uint64_t trib_fold_product(uint32_t a, uint32_t b)
{
    return trib_fold_low(_mm_clmulepi64_si128(trib_fold_of(a), trib_fold_of(b), 0x00));
}

static inline uint64_t trib_crc32c_word(uint64_t raw, uint64_t word)
{
    return _mm_crc32_u64(raw, word);
}

static inline uint32_t trib_crc32c_byte(uint32_t raw, uint8_t byte)
{
    return _mm_crc32_u8(raw, byte);
}

#elif defined(__aarch64__)
#include <arm_acle.h>
#include <arm_neon.h>

#define TRIB_BLOCK uint64x2_t

static inline TRIB_BLOCK trib_fold_load(const void *p)
{
    return vreinterpretq_u64_u8(vld1q_u8(p));
}

static inline TRIB_BLOCK trib_fold_xor(TRIB_BLOCK a, TRIB_BLOCK b)
{
    return veorq_u64(a, b);
}

static inline TRIB_BLOCK trib_fold_of(uint32_t raw)
{
    return vsetq_lane_u64(raw, vdupq_n_u64(0), 0);
}

static inline uint64_t trib_fold_low(TRIB_BLOCK r)
{
    return vgetq_lane_u64(r, 0);
}

static inline uint64_t trib_fold_high(TRIB_BLOCK r)
{
    return vgetq_lane_u64(r, 1);
}

static inline TRIB_BLOCK trib_fold_multiply(TRIB_BLOCK r, TRIB_BLOCK k)
{
    const poly128_t low = vmull_p64((poly64_t)vgetq_lane_u64(r, 0), (poly64_t)vgetq_lane_u64(k, 0));
    const poly128_t high = vmull_high_p64(vreinterpretq_p64_u64(r), vreinterpretq_p64_u64(k));
    return veorq_u64(vreinterpretq_u64_p128(low), vreinterpretq_u64_p128(high));
}

static inline uint64_t trib_fold_product(uint32_t a, uint32_t b)
{
    return trib_fold_low(vreinterpretq_u64_p128(vmull_p64(a, b)));
}

static inline uint64_t trib_crc32c_word(uint64_t raw, uint64_t word)
{
    return __crc32cd((uint32_t)raw, word);
}

static inline uint32_t trib_crc32c_byte(uint32_t raw, uint8_t byte)
{
    return __crc32cb(raw, byte);
}

#endif

/* R * x^D, for the pair of constants of D. */
static inline TRIB_BLOCK trib_fold_move(TRIB_BLOCK r, const uint64_t constants[2])
{
    return trib_fold_multiply(r, trib_fold_load(constants));
}

static inline uint64_t trib_crc32c_next(uint64_t raw, const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return trib_crc32c_word(raw, word);
}

/* The raw crc (not inverted) over len bytes, 8 and then 1 at a time with the crc32 instruction: 3 cycles a step, and so
 * as good as folding up to about 64 bytes, where folding must also divide at the end. */
static inline uint32_t trib_crc32c_steps(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t crc64 = crc;
    for (; len >= 8; p += 8, len -= 8) {
        crc64 = trib_crc32c_next(crc64, p);
    }
    crc = (uint32_t)crc64;
    for (; len > 0; p++, len--) {
        crc = trib_crc32c_byte(crc, *p);
    }
    return crc;
}

/* The raw crc of a register's 16 bytes followed by len bytes at p. */
static inline uint32_t trib_fold_finish(TRIB_BLOCK r, const uint8_t *p, size_t len)
{
    for (; len >= 16; p += 16, len -= 16) {
        r = trib_fold_xor(trib_fold_move(r, trib_fold_128), trib_fold_load(p));
    }
    uint64_t crc = trib_crc32c_word(0, trib_fold_low(r));
    crc = trib_crc32c_word(crc, trib_fold_high(r));
    return trib_crc32c_steps((uint32_t)crc, p, len);
}

#endif
