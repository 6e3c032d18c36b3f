/* SPDX-License-Identifier: Apache-2.0 */
/* ghash_clmul.c: GHASH with the instruction that multiplies two words without carries (PCLMULQDQ of x86-64, PMULL of
 * 64-bit ARM), and one reduction for eight blocks. Compiled with -mpclmul -msse4.2, or -march=armv8-a+crypto; empty on
 * other CPUs. */
#include "core/ghash_kernels.h"

#include <string.h>

/* BLOCK is the type of a block of two words; behind it are the operations that the kernel needs. */
#if defined(__x86_64__)
#include <immintrin.h>

#define BLOCK __m128i

static inline BLOCK load(const void *at)
{
    return _mm_loadu_si128(at);
}

static inline void store(void *at, BLOCK a)
{
    _mm_storeu_si128(at, a);
}

static inline BLOCK reversed(BLOCK a)
{
    return _mm_shuffle_epi8(a, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

static inline BLOCK plus(BLOCK a, BLOCK b)
{
    return _mm_xor_si128(a, b);
}

static inline BLOCK swapped(BLOCK a)
{
    return _mm_shuffle_epi32(a, 0x4e);
}

/* The low word as the high one, the high word as the low one; the other is 0. */
static inline BLOCK moved_up(BLOCK a)
{
    return _mm_slli_si128(a, 8);
}

static inline BLOCK moved_down(BLOCK a)
{
    return _mm_srli_si128(a, 8);
}

static inline BLOCK low_times_low(BLOCK a, BLOCK b)
{
    return _mm_clmulepi64_si128(a, b, 0x00);
}

static inline BLOCK high_times_high(BLOCK a, BLOCK b)
{
    return _mm_clmulepi64_si128(a, b, 0x11);
}

#elif defined(__aarch64__)
#include <arm_neon.h>

#define BLOCK uint64x2_t

static inline BLOCK load(const void *at)
{
    return vreinterpretq_u64_u8(vld1q_u8(at));
}

static inline void store(void *at, BLOCK a)
{
    vst1q_u8(at, vreinterpretq_u8_u64(a));
}

static inline BLOCK swapped(BLOCK a)
{
    return vextq_u64(a, a, 1);
}

static inline BLOCK reversed(BLOCK a)
{
    return swapped(vreinterpretq_u64_u8(vrev64q_u8(vreinterpretq_u8_u64(a))));
}

static inline BLOCK plus(BLOCK a, BLOCK b)
{
    return veorq_u64(a, b);
}

static inline BLOCK moved_up(BLOCK a)
{
    return vextq_u64(vdupq_n_u64(0), a, 1);
}

static inline BLOCK moved_down(BLOCK a)
{
    return vextq_u64(a, vdupq_n_u64(0), 1);
}

static inline BLOCK low_times_low(BLOCK a, BLOCK b)
{
    return vreinterpretq_u64_p128(vmull_p64((poly64_t)vgetq_lane_u64(a, 0), (poly64_t)vgetq_lane_u64(b, 0)));
}

static inline BLOCK high_times_high(BLOCK a, BLOCK b)
{
    return vreinterpretq_u64_p128(vmull_high_p64(vreinterpretq_p64_u64(a), vreinterpretq_p64_u64(b)));
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)

#define TOGETHER 8U /* blocks with one reduction */

/* Products that are not reduced yet: of the low words, of the high words, and of both words added. */
struct products {
    BLOCK low, high, words;
};

static inline void add_product(struct products *p, BLOCK x, const struct trib_ghash *hash, size_t power)
{
    const BLOCK k = load(&hash->power[power]);
    p->low = plus(p->low, low_times_low(x, k));
    p->high = plus(p->high, high_times_high(x, k));
    p->words = plus(p->words, low_times_low(plus(x, swapped(x)), load(&hash->words[power])));
}

/* Each of two steps makes the lowest word zero, and drops it. */
static inline BLOCK reduced(const struct products *p)
{
    static const struct trib_ghash_element poly_words = {UINT64_C(0xc200000000000000), 0};
    const BLOCK poly = load(&poly_words);
    const BLOCK middle = plus(p->words, plus(p->low, p->high)); /* low times high, and high times low */
    BLOCK low = plus(p->low, moved_up(middle));
    low = plus(swapped(low), low_times_low(low, poly));
    low = plus(swapped(low), low_times_low(low, poly));
    return plus(low, plus(p->high, moved_down(middle)));
}

static inline BLOCK load_part(const uint8_t *data, size_t len)
{
    uint8_t filled[TRIB_GHASH_BLOCK] = {0};
    memcpy(filled, data, len);
    return load(filled);
}

/* `blocks` whole blocks, and behind them a part of `rest` bytes: at most TOGETHER in all. */
static inline BLOCK add_some(const struct trib_ghash *hash, BLOCK all, const uint8_t *data, size_t blocks, size_t rest)
{
    const size_t power = trib_ghash_power(blocks + (rest > 0));
    const BLOCK zero = load(&(const struct trib_ghash_element){0, 0});
    struct products p = {zero, zero, zero};
    for (size_t i = 0; i < blocks; i++) {
        add_product(&p, plus(reversed(load(data + i * TRIB_GHASH_BLOCK)), all), hash, power + i);
        all = zero;
    }
    if (rest > 0) {
        const BLOCK x = reversed(load_part(data + blocks * TRIB_GHASH_BLOCK, rest));
        add_product(&p, plus(x, all), hash, power + blocks);
    }
    return reduced(&p);
}

static void add(const struct trib_ghash *hash, struct trib_ghash_element *sum, const uint8_t *data, size_t len)
{
    const size_t step = (size_t)TOGETHER * TRIB_GHASH_BLOCK;
    BLOCK all = load(sum);
    for (; len >= step; data += step, len -= step) {
        all = add_some(hash, all, data, TOGETHER, 0);
    }
    if (len > 0) {
        all = add_some(hash, all, data, len / TRIB_GHASH_BLOCK, len % TRIB_GHASH_BLOCK);
    }
    store(sum, all);
}

const struct trib_ghash_kernel trib_ghash_clmul = {.name = "clmul", .add = add};
#endif
