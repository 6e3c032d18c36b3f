/* SPDX-License-Identifier: Apache-2.0 */
/* prng.h: a small seeded generator (SplitMix64) for the fault injector, the simulator and tests. Not for secrets. */
#ifndef TRIB_CORE_PRNG_H
#define TRIB_CORE_PRNG_H

#include <stdbool.h>
#include <stdint.h>

struct trib_prng {
    uint64_t state;
};

static inline uint64_t trib_prng_next(struct trib_prng *prng)
{
    uint64_t x = prng->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Uniform in [0, bound); bound > 0. */
static inline uint64_t trib_prng_below(struct trib_prng *prng, uint64_t bound)
{
    return (uint64_t)(__extension__((unsigned __int128)trib_prng_next(prng) * bound) >> 64);
}

/* Uniform in [0, 1). */
static inline double trib_prng_share(struct trib_prng *prng)
{
    return (double)(trib_prng_next(prng) >> 11) * 0x1p-53;
}

/* True with the given probability. */
static inline bool trib_prng_chance(struct trib_prng *prng, double probability)
{
    return trib_prng_share(prng) < probability;
}

#endif
