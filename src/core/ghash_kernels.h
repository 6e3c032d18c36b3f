/* SPDX-License-Identifier: Apache-2.0 */
/* ghash_kernels.h: the kernels of ghash.h with special instructions, a file each. */
#ifndef TRIB_CORE_GHASH_KERNELS_H
#define TRIB_CORE_GHASH_KERNELS_H

#include "core/ghash.h"

#if defined(__x86_64__)
extern const struct trib_ghash_kernel trib_ghash_vpclmul;
#endif
#if defined(__x86_64__) || defined(__aarch64__)
extern const struct trib_ghash_kernel trib_ghash_clmul;
#endif

#endif
