/* SPDX-License-Identifier: Apache-2.0 */
/* sum.c: adding up what all ranks staged, in the tree of core/slot.h: pairs of ranks, then whole subtrees, each into
 * its left neighbour. A subtree without ranks is skipped. So the bits are those of one switch whose children are these
 * ranks. Works in pieces, so that the partial sums of a piece stay in the first cache. Read next: engine.c. */
#include <string.h>

#include "host/segment.h"

/* One partial sum: the widest accumulator, float32 for 16-bit floats. */
#define ROW ((size_t)2 * TRIB_HOST_PIECE)

static uint32_t levels(uint32_t ranks)
{
    uint32_t level = 0;
    while ((UINT32_C(1) << level) < ranks) {
        level++;
    }
    return level;
}

size_t trib_host_rows_bytes(uint32_t ranks)
{
    return (levels(ranks) + 1) * ROW;
}

/* A piece of every rank's array. */
struct piece {
    const struct trib_host *host;
    uint32_t absent; /* a leaf that is left out, or none */
    size_t at;       /* bytes */
    size_t len;
};

static const unsigned char *leaf(const struct piece *piece, uint32_t rank)
{
    return piece->host->sources[rank] + piece->at;
}

static bool is_leaf(const struct piece *piece, uint32_t rank)
{
    return rank < piece->host->ranks && rank != piece->absent;
}

/* row = the sum of the 2^level ranks from `first` on, of those that there are; false: there are none. It uses the rows
 * of levels below this one's. */
static bool add_subtree(const struct piece *piece, uint32_t level, uint32_t first, unsigned char *row)
{
    const struct trib_host *host = piece->host;
    enum trib_type type = host->operation.type;
    enum trib_reduction reduction = host->operation.reduction;
    uint32_t half = UINT32_C(1) << level >> 1;
    if (first >= host->ranks || (level == 0 && !is_leaf(piece, first))) {
        return false;
    }
    if (level == 0) {
        trib_row_load(host->kernels, type, row, leaf(piece, first), piece->len);
        return true;
    }
    if (level == 1 && is_leaf(piece, first) && is_leaf(piece, first + 1)) {
        trib_row_pair(host->kernels, type, reduction, row, leaf(piece, first), leaf(piece, first + 1), piece->len);
        return true;
    }
    if (!add_subtree(piece, level - 1, first, row)) {
        return add_subtree(piece, level - 1, first + half, row);
    }
    unsigned char *right = host->rows + (level - 1) * ROW;
    if (add_subtree(piece, level - 1, first + half, right)) {
        trib_row_merge(host->kernels, type, reduction, row, right, piece->len);
    }
    return true;
}

/* The part of the one that was left out is added to the rounded sum of the others, as the owner of a share does with
 * what a switch hands out. Returns the row that it is in. */
static unsigned char *add_last(const struct piece *piece, unsigned char *row, bool has_others)
{
    const struct trib_host *host = piece->host;
    enum trib_type type = host->operation.type;
    const unsigned char *own = leaf(piece, piece->absent);
    unsigned char *last = host->rows; /* that of leaves, which no sum is in */
    if (!has_others) {
        trib_row_load(host->kernels, type, last, own, piece->len);
        return last;
    }
    trib_row_finish(host->kernels, type, row, piece->len);
    trib_row_load(host->kernels, type, last, row, piece->len);
    trib_row_add(host->kernels, type, host->operation.reduction, last, own, piece->len);
    return last;
}

/* The sum of a piece, in the result's type; in `row`, or in another. */
static const unsigned char *add_piece(const struct piece *piece, unsigned char *row)
{
    const struct trib_host *host = piece->host;
    enum trib_type type = host->operation.type;
    bool has_others = add_subtree(piece, levels(host->ranks), 0, row);
    if (piece->absent != TRIB_HOST_NOBODY) {
        row = add_last(piece, row, has_others);
    }
    trib_row_finish(host->kernels, type, row, piece->len);
    if (host->operation.reduction == TRIB_AVERAGE) {
        struct trib_conversion average = {.wire = type, .tensor = type, .divisor = host->ranks};
        trib_tensor_decode(host->kernels, &average, row, row, piece->len / host->element);
    }
    return row;
}

bool trib_host_add_up(const struct trib_host *host, const struct trib_host_sum *sum)
{
    bool is_wide = trib_row_size(host->operation.type, 1) != 1;
    struct piece piece = {.host = host, .absent = sum->last};
    for (size_t at = sum->from * host->element; at < sum->to * host->element; at += piece.len) {
        size_t left = sum->to * host->element - at;
        piece.at = at;
        piece.len = left < TRIB_HOST_PIECE ? left : TRIB_HOST_PIECE;
        unsigned char *dst = sum->result + at;
        const unsigned char *row =
            add_piece(&piece, is_wide || sum->is_private ? host->rows + levels(host->ranks) * ROW : dst);
        if (sum->is_private && trib_host_has_record(host)) {
            return false; /* who has failed may have changed what was read */
        }
        if (row != dst && sum->is_past) {
            host->kernels->copy_nontemporal(dst, row, piece.len);
        } else if (row != dst) {
            memcpy(dst, row, piece.len);
        }
    }
    return true;
}
