/* SPDX-License-Identifier: Apache-2.0 */
/* ghash_kernels.h: the kernels of ghash.h, a file per instruction set. */
#ifndef TRIB_CORE_GHASH_KERNELS_H
#define TRIB_CORE_GHASH_KERNELS_H

#include "core/ghash.h"

extern const struct trib_ghash_kernel trib_ghash_scalar;
#if defined(__x86_64__)
extern const struct trib_ghash_kernel trib_ghash_vpclmul;
#endif
#if defined(__x86_64__) || defined(__aarch64__)
extern const struct trib_ghash_kernel trib_ghash_clmul;
#endif

/* Index of a power: with `blocks` blocks in a row the first is multiplied by this power, the next by the one below, the
 * last by the key. */
static inline size_t trib_ghash_power(size_t blocks)
{
    return TRIB_GHASH_POWERS - blocks;
}

#endif
