/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h: the sum of slot.h over arrays that all lie in memory: pairs of leaves, then whole subtrees, each into its
 * left neighbour. A subtree without leaves is skipped. So the bits are those of one switch with these leaves as
 * children. Works in pieces, so that the partial sums of a piece stay in the first cache.
 * Read next: host/sum.c (ranks of one host), comm/sample.c (sums repeated by ranks). */
#ifndef TRIB_CORE_FOLD_H
#define TRIB_CORE_FOLD_H

#include "core/value.h"

#define TRIB_FOLD_PIECE 4096U /* bytes of a leaf at a time, at most */
#define TRIB_FOLD_NONE UINT32_MAX

/* A piece of the array of each leaf. */
struct trib_fold {
    const struct trib_value_kernels *kernels;
    const unsigned char *const *sources; /* array of each leaf */
    unsigned char *rows;                 /* trib_fold_bytes(leaves), aligned to 64 */
    size_t at, len;                      /* the piece, bytes; len is a multiple of the type's size */
    uint32_t leaves;
    uint32_t last; /* leaf that is added to the rounded sum of all others, as the owner of a share does; NONE */
    enum trib_type type;
    enum trib_reduction reduction;
};

/* Bytes of `rows`. */
size_t trib_fold_bytes(uint32_t leaves);
/* Place for the sum of a piece, in `rows`. */
unsigned char *trib_fold_row(const struct trib_fold *fold);
/* Adds the piece up. row: trib_fold_row, or any memory of len bytes if the type's rows are as long as payloads. Returns
 * the place of the sum, in the form of a result: row, or another place in `rows`. */
unsigned char *trib_fold_run(const struct trib_fold *fold, unsigned char *row);

#endif
