/* SPDX-License-Identifier: Apache-2.0 */
/* residue.h: arithmetic modulo the prime of tags (tag.h). Residues are below it. */
#ifndef TRIB_CORE_RESIDUE_H
#define TRIB_CORE_RESIDUE_H

#include <stdint.h>

#define TRIB_TAG_PRIME ((UINT64_C(1) << 52) - 47)

static inline uint64_t trib_tag_add(uint64_t a, uint64_t b)
{
    uint64_t sum = a + b;

    return sum >= TRIB_TAG_PRIME ? sum - TRIB_TAG_PRIME : sum;
}

static inline uint64_t trib_tag_less(uint64_t a, uint64_t b)
{
    return a >= b ? a - b : a + TRIB_TAG_PRIME - b;
}

/* x mod p of any x. */
static inline uint64_t trib_tag_reduce(uint64_t x)
{
    uint64_t folded = (x & ((UINT64_C(1) << 52) - 1)) + 47 * (x >> 52);

    return folded >= TRIB_TAG_PRIME ? folded - TRIB_TAG_PRIME : folded;
}

#define TRIB_TAG_WIDE unsigned __int128 /* behind __extension__ */

/* Any 128-bit number below 2^110, mod p: 2^52 is 47. */
__extension__ static inline uint64_t trib_tag_reduce_wide(TRIB_TAG_WIDE x)
{
    uint64_t low = (uint64_t)x & ((UINT64_C(1) << 52) - 1);

    return trib_tag_reduce(low + 47 * (uint64_t)(x >> 52));
}

static inline uint64_t trib_tag_times(uint64_t a, uint64_t b)
{
    return trib_tag_reduce_wide(__extension__((TRIB_TAG_WIDE)a * b));
}

#endif
