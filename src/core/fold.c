/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c: see fold.h. */
#include "core/fold.h"

#include "core/assert.h"

/* One partial sum: the widest accumulator, float32 for 16-bit floats. */
#define ROW ((size_t)2 * TRIB_FOLD_PIECE)

static uint32_t levels(uint32_t leaves)
{
    uint32_t level = 0;

    while ((UINT32_C(1) << level) < leaves) {
        level++;
    }
    return level;
}

size_t trib_fold_bytes(uint32_t leaves)
{
    return (levels(leaves) + 1) * ROW;
}

unsigned char *trib_fold_row(const struct trib_fold *fold)
{
    return fold->rows + levels(fold->leaves) * ROW;
}

static const unsigned char *leaf(const struct trib_fold *fold, uint32_t number)
{
    return fold->sources[number] + fold->at;
}

static bool is_leaf(const struct trib_fold *fold, uint32_t number)
{
    return number < fold->leaves && number != fold->last;
}

/* row = the sum of the 2^level leaves from `first` on, of those that there are; false: there are none. It uses the rows
 * of levels below this one's. */
static bool add_subtree(const struct trib_fold *fold, uint32_t level, uint32_t first, unsigned char *row)
{
    uint32_t half = UINT32_C(1) << level >> 1;

    if (first >= fold->leaves || (level == 0 && !is_leaf(fold, first))) {
        return false;
    }
    if (level == 0) {
        trib_row_load(fold->kernels, fold->type, row, leaf(fold, first), fold->len);
        return true;
    }
    if (level == 1 && is_leaf(fold, first) && is_leaf(fold, first + 1)) {
        trib_row_pair(fold->kernels, fold->type, fold->reduction, row, leaf(fold, first), leaf(fold, first + 1),
                      fold->len);
        return true;
    }
    if (!add_subtree(fold, level - 1, first, row)) {
        return add_subtree(fold, level - 1, first + half, row);
    }
    unsigned char *right = fold->rows + (level - 1) * ROW;
    if (add_subtree(fold, level - 1, first + half, right)) {
        trib_row_merge(fold->kernels, fold->type, fold->reduction, row, right, fold->len);
    }
    return true;
}

/* The part of the one that was left out is added to the rounded sum of the others, as the owner of a share does with
 * what a switch hands out. Returns the row that it is in. */
static unsigned char *add_last(const struct trib_fold *fold, unsigned char *row, bool has_others)
{
    const unsigned char *own = leaf(fold, fold->last);
    unsigned char *last = fold->rows; /* that of leaves, which no sum is in */

    if (!has_others) {
        trib_row_load(fold->kernels, fold->type, last, own, fold->len);
        return last;
    }
    trib_row_finish(fold->kernels, fold->type, row, fold->len);
    trib_row_load(fold->kernels, fold->type, last, row, fold->len);
    trib_row_add(fold->kernels, fold->type, fold->reduction, last, own, fold->len);
    return last;
}

unsigned char *trib_fold_run(const struct trib_fold *fold, unsigned char *row)
{
    TRIB_ASSERT(fold->leaves >= 1 && fold->len <= TRIB_FOLD_PIECE);
    TRIB_ASSERT(fold->last < fold->leaves || fold->last == TRIB_FOLD_NONE);
    bool has_others = add_subtree(fold, levels(fold->leaves), 0, row);

    if (fold->last != TRIB_FOLD_NONE) {
        row = add_last(fold, row, has_others);
    }
    trib_row_finish(fold->kernels, fold->type, row, fold->len);
    return row;
}
