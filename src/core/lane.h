/* SPDX-License-Identifier: Apache-2.0 */
/* lane.h: the 8-byte lane of invariant I12, which proves that a result holds every contribution once.
 *
 * Rank r puts key(r) x odd into its contribution; every node adds lanes mod 2^64; a result must carry keysum x odd,
 * with odd = an odd hash of (salt, communicator, generation, sequence, attempt, digest). A missing, doubled or foreign
 * contribution changes the sum except by a 2^-64 chance: odd is invertible, and the keys are known to the ranks, never
 * to the switch. It says which contributions are in, not that the arithmetic is right. Not a MAC: a sender that knows
 * the salt can forge it.
 * Read next: slot.h (where lanes are added), protocol/worker_deliver.c (where they are checked). */
#ifndef TRIB_CORE_LANE_H
#define TRIB_CORE_LANE_H

#include <stdint.h>

/* A 64-bit mixer (finaliser of SplitMix64; Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t trib_mix64(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Rank's key under the communicator's salt, which the control plane draws; odd, so never 0. */
static inline uint64_t trib_lane_key(uint64_t salt, uint32_t rank)
{
    return trib_mix64(salt ^ trib_mix64(UINT64_C(0x6b6579) + rank)) | 1U;
}

struct trib_lane_id {
    uint64_t salt;
    uint64_t sequence;
    uint32_t communicator;
    uint32_t digest;
    uint16_t generation;
    uint8_t attempt;
};

/* The odd factor of one fragment. */
static inline uint64_t trib_lane_odd(const struct trib_lane_id *id)
{
    uint64_t h = trib_mix64(id->salt ^ (((uint64_t)id->communicator << 32) | id->digest));
    h = trib_mix64(h ^ (((uint64_t)id->attempt << 48) | id->sequence));
    return trib_mix64(h ^ id->generation) | 1U;
}

#endif
