/* SPDX-License-Identifier: Apache-2.0 */
/* sum.c: adds up the tensors of all ranks, by core/fold.h. Read next: engine.c. */
#include <string.h>

#include "core/fold.h"
#include "host/segment.h"

_Static_assert(TRIB_HOST_PIECE <= TRIB_FOLD_PIECE, "rows hold a piece");
_Static_assert(TRIB_HOST_NOBODY == TRIB_FOLD_NONE, "no rank is left out");

size_t trib_host_rows_bytes(uint32_t ranks)
{
    return trib_fold_bytes(ranks);
}

/* Returns the sum of a piece in the result's type, in `row` or in another row. */
static const unsigned char *add_piece(const struct trib_host *host, const struct trib_fold *fold, unsigned char *row)
{
    row = trib_fold_run(fold, row);
    if (fold->reduction == TRIB_AVERAGE) {
        struct trib_conversion average = {.wire = fold->type, .tensor = fold->type, .divisor = host->ranks};
        trib_tensor_decode(host->kernels, &average, row, row, fold->len / host->element);
    }
    return row;
}

bool trib_host_add_up(const struct trib_host *host, const struct trib_host_sum *sum)
{
    bool is_wide = trib_row_size(host->operation.type, 1) != 1;
    struct trib_fold fold = {
        .kernels = host->kernels,
        .sources = host->sources,
        .rows = host->rows,
        .leaves = host->ranks,
        .last = sum->last,
        .type = host->operation.type,
        .reduction = host->operation.reduction,
    };
    for (fold.at = sum->from * host->element; fold.at < sum->to * host->element; fold.at += fold.len) {
        size_t left = sum->to * host->element - fold.at;
        fold.len = left < TRIB_HOST_PIECE ? left : TRIB_HOST_PIECE;
        unsigned char *dst = sum->result + fold.at;
        const unsigned char *row = add_piece(host, &fold, is_wide || sum->is_private ? trib_fold_row(&fold) : dst);
        if (sum->is_private && trib_host_has_record(host)) {
            return false; /* a failed rank may have changed the bytes that were read */
        }
        if (row != dst && sum->is_past) {
            host->kernels->copy_nontemporal(dst, row, fold.len);
            host->kernels->order_nontemporal();
        } else if (row != dst) {
            memcpy(dst, row, fold.len);
        }
    }
    return true;
}
