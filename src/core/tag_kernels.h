/* SPDX-License-Identifier: Apache-2.0 */
/* tag_kernels.h: the kernels of tag.h, a file per instruction set, and the arithmetic that they share. */
#ifndef TRIB_CORE_TAG_KERNELS_H
#define TRIB_CORE_TAG_KERNELS_H

#include "core/tag.h"

extern const struct trib_tag_kernel trib_tag_scalar;
#ifdef __x86_64__
#define TRIB_TAG_X86 1
extern const struct trib_tag_kernel trib_tag_avx2;
extern const struct trib_tag_kernel trib_tag_ifma;
#else
#define TRIB_TAG_X86 0
#endif

#define TRIB_TAG_WIDE unsigned __int128 /* behind __extension__ */

/* Any 128-bit number below 2^110, mod p: 2^52 is 47. */
__extension__ static inline uint64_t trib_tag_reduce_wide(TRIB_TAG_WIDE x)
{
    uint64_t low = (uint64_t)x & ((UINT64_C(1) << 52) - 1);

    return trib_tag_reduce(low + 47 * (uint64_t)(x >> 52));
}

/* The sum of a kernel that takes one row at a time. of_row: as trib_tag_scalar_row. */
uint64_t trib_tag_sum_rows(uint64_t (*of_row)(const uint64_t *r, const void *words, size_t count), const uint64_t *r,
                           const uint64_t *s, const void *words, size_t count);
/* The sum of a row, without its number s. */
uint64_t trib_tag_scalar_row(const uint64_t *r, const void *words, size_t count);

#endif
