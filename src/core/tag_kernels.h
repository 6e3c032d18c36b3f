/* SPDX-License-Identifier: Apache-2.0 */
/* tag_kernels.h: the kernels of tag.h, a file per instruction set. */
#ifndef TRIB_CORE_TAG_KERNELS_H
#define TRIB_CORE_TAG_KERNELS_H

#include "core/tag.h"

extern const struct trib_tag_kernel trib_tag_scalar;
#ifdef __x86_64__
extern const struct trib_tag_kernel trib_tag_avx2;
extern const struct trib_tag_kernel trib_tag_ifma;
#endif

/* The sum of a kernel that takes one row at a time. of_row: as trib_tag_scalar_row. */
uint64_t trib_tag_sum_rows(uint64_t (*of_row)(const uint64_t *r, const void *words, size_t count), const uint64_t *r,
                           const uint64_t *s, const void *words, size_t count);
/* The sum of a row, without its number s. */
uint64_t trib_tag_scalar_row(const uint64_t *r, const void *words, size_t count);

#endif
