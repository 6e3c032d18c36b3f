/* SPDX-License-Identifier: Apache-2.0 */
/* sum.c: adding up what all ranks staged, in the tree of core/slot.h: pairs of ranks, then whole subtrees, each into its left neighbour. A
 * subtree without ranks is skipped. So the bits are those of one switch whose children are these ranks.
 * Works in pieces, so that the partial sums of a piece stay in the first cache. Read next: engine.c. */
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
    size_t at; /* bytes */
    size_t len;
};

static const unsigned char *leaf(const struct piece *piece, uint32_t rank)
{
    return piece->host->sources[rank] + piece->at;
}

/* row = the sum of the 2^level ranks from `first` on, of those that there are. It uses the rows of levels below this one's. */
static void add_subtree(const struct piece *piece, uint32_t level, uint32_t first, unsigned char *row)
{
    const struct trib_host *host = piece->host;
    enum trib_type type = host->operation.type;
    enum trib_reduction reduction = host->operation.reduction;
    uint32_t half = UINT32_C(1) << level >> 1;
    if (level == 0) {
        trib_row_load(host->kernels, type, row, leaf(piece, first), piece->len);
    } else if (first + half >= host->ranks) {
        add_subtree(piece, level - 1, first, row);
    } else if (level == 1) {
        trib_row_pair(host->kernels, type, reduction, row, leaf(piece, first), leaf(piece, first + 1), piece->len);
    } else {
        unsigned char *right = host->rows + (level - 1) * ROW;
        add_subtree(piece, level - 1, first, row);
        add_subtree(piece, level - 1, first + half, right);
        trib_row_merge(host->kernels, type, reduction, row, right, piece->len);
    }
}

void trib_host_add_up(const struct trib_host *host, void *result, bool is_private, size_t from, size_t to)
{
    enum trib_type type = host->operation.type;
    uint32_t top = levels(host->ranks);
    struct trib_conversion average = {.wire = type, .tensor = type, .divisor = host->ranks};
    bool is_wide = trib_row_size(type, 1) != 1;
    struct piece piece = {.host = host};
    for (size_t at = from * host->element; at < to * host->element; at += piece.len) {
        size_t left = to * host->element - at;
        piece.at = at;
        piece.len = left < TRIB_HOST_PIECE ? left : TRIB_HOST_PIECE;
        unsigned char *dst = (unsigned char *)result + at;
        unsigned char *row = is_wide || is_private ? host->rows + top * ROW : dst;
        add_subtree(&piece, top, 0, row);
        trib_row_finish(host->kernels, type, row, piece.len);
        if (host->operation.reduction == TRIB_AVERAGE) {
            trib_tensor_decode(host->kernels, &average, row, row, piece.len / host->element);
        }
        if (row != dst) {
            memcpy(dst, row, piece.len);
        }
    }
}
