/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c_clmul.c: CRC32C of the front of a message by 128-bit folding in four lanes (PCLMULQDQ), and of three equal
 * streams behind it by the crc32 instruction, all in one loop: they use different units of the CPU, and of each unit
 * one result is awaited while the next begin. On 64-bit ARM with PMULL. Compiled with -mpclmul -msse4.2, or
 * -march=armv8-a+crc+crypto; empty on other CPUs. Read first: crc32c_fold.h. */
#include "core/crc32c_fold.h"

#if defined(__x86_64__) || defined(__aarch64__)

#include "core/crc32c_blocks.h"

#define LANE_LEN 16
#define FRONT_LEN ((size_t)64)  /* of the front in a step: four lanes */
#define STREAM_LEN ((size_t)64) /* of each stream in a step */
#define STEP_LEN (FRONT_LEN + TRIB_SHIFT_STREAMS * STREAM_LEN)

const uint32_t trib_crc32c_shift[TRIB_SHIFT_STEPS] = {
    0x9e4addf8, 0x0d3b6092, 0xab7aff2a, 0xb9e02b86, 0xbac2fd7b, 0xd270f1a2, 0x1b03397f, 0xdd7e3b0c,
    0x271d9844, 0x6b749fb2, 0xe6fc4e6a, 0xd7a4825c, 0x26f6a60a, 0x68bce87a, 0x3771e98f, 0x170076fa,
    0xff0dba97, 0x86d8e4d2, 0xb3af077a, 0xdd66cbbb, 0xc9c8b782, 0xd813b325, 0x6d9a4957, 0x9ef68d35,
    0x2664fd8b, 0x363bd6b3, 0x00bcf5f6, 0xaa7c7ad5, 0x6d390dec, 0xf48642e9, 0x9a5ede41, 0xa51b6135};

struct lanes {
    TRIB_BLOCK a, b, c, d;
};

static inline struct lanes load_lanes(const uint8_t *p, uint32_t raw)
{
    return (struct lanes){trib_fold_xor(trib_fold_load(p), trib_fold_of(raw)), trib_fold_load(p + LANE_LEN),
                          trib_fold_load(p + 2 * LANE_LEN), trib_fold_load(p + 3 * LANE_LEN)};
}

static inline TRIB_BLOCK fold(TRIB_BLOCK r, const uint8_t *p)
{
    return trib_fold_xor(trib_fold_move(r, trib_fold_512), trib_fold_load(p));
}

static inline void fold_lanes(struct lanes *r, const uint8_t *p)
{
    r->a = fold(r->a, p);
    r->b = fold(r->b, p + LANE_LEN);
    r->c = fold(r->c, p + 2 * LANE_LEN);
    r->d = fold(r->d, p + 3 * LANE_LEN);
}

static inline TRIB_BLOCK merge(const struct lanes *r)
{
    TRIB_BLOCK a = trib_fold_xor(trib_fold_move(r->a, trib_fold_384), trib_fold_move(r->b, trib_fold_256));
    return trib_fold_xor(a, trib_fold_xor(trib_fold_move(r->c, trib_fold_128), r->d));
}

/* The raw crc of a stream behind the message of this raw crc, and the length of the stream by its constant. */
static inline uint32_t join(uint32_t raw, uint32_t shift, uint64_t stream)
{
    return (uint32_t)(trib_crc32c_word(0, trib_fold_product(raw, shift)) ^ stream);
}

/* The raw crc over 1 to TRIB_SHIFT_STEPS steps. */
static uint32_t run_steps(uint32_t raw, const uint8_t *p, size_t steps)
{
    const uint8_t *stream = p + steps * FRONT_LEN;
    const size_t len = steps * STREAM_LEN;
    uint64_t x = 0;
    uint64_t y = 0;
    uint64_t z = 0;
    struct lanes front = load_lanes(p, raw);
    for (size_t step = 0; step < steps; step++, stream += STREAM_LEN) {
#pragma GCC unroll 8
        for (size_t i = 0; i < STREAM_LEN; i += sizeof(uint64_t)) {
            x = trib_crc32c_next(x, stream + i);
            y = trib_crc32c_next(y, stream + len + i);
            z = trib_crc32c_next(z, stream + 2 * len + i);
        }
        if (step > 0) {
            fold_lanes(&front, p + step * FRONT_LEN);
        }
    }
    const uint32_t shift = trib_crc32c_shift[steps - 1];
    return join(join(join(trib_fold_finish(merge(&front), stream, 0), shift, x), shift, y), shift, z);
}

uint32_t trib_crc32c_clmul(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint32_t raw = ~crc;
    for (size_t steps = len / STEP_LEN; steps >= 2; steps = len / STEP_LEN) {
        steps = steps < TRIB_SHIFT_STEPS ? steps : TRIB_SHIFT_STEPS;
        raw = run_steps(raw, p, steps);
        p += steps * STEP_LEN;
        len -= steps * STEP_LEN;
    }
    if (len < 2 * FRONT_LEN) {
        return ~trib_crc32c_steps(raw, p, len);
    }
    struct lanes front = load_lanes(p, raw);
    for (p += FRONT_LEN, len -= FRONT_LEN; len >= FRONT_LEN; p += FRONT_LEN, len -= FRONT_LEN) {
        fold_lanes(&front, p);
    }
    return ~trib_fold_finish(merge(&front), p, len);
}

#endif
