/* SPDX-License-Identifier: Apache-2.0 */
/* operation.c: the operation that each rank shows in its seat, the comparison of all operations, and the end of an
 * operation.
 * Read next: small.c, large.c. */
#include <string.h>

#include "host/segment.h"

static struct trib_host_show describe(const struct trib_host *host)
{
    const struct trib_operation *operation = &host->operation;
    return (struct trib_host_show){
        .number = (uint32_t)host->number,
        .part_of = (uint32_t)(operation->part_of >> 32),
        .count = operation->count,
        .root = operation->root,
        .collective = (uint8_t)operation->collective,
        .type = (uint8_t)operation->type,
        .reduction = (uint8_t)operation->reduction,
        .is_uneven = operation->shares != NULL,
    };
}

void trib_host_show_operation(const struct trib_host *host)
{
    const struct trib_shares *shares = host->operation.shares;
    host->segment->seats[host->rank].show[host->number % 2] = describe(host);
    if (shares != NULL) {
        memcpy(trib_host_counts(host, host->rank, host->number), shares->count, host->ranks * sizeof *shares->count);
    }
}

static bool has_own_shares(const struct trib_host *host, uint32_t rank)
{
    const struct trib_shares *shares = host->operation.shares;
    return shares == NULL ||
           memcmp(trib_host_counts(host, rank, host->number), shares->count, host->ranks * sizeof *shares->count) == 0;
}

bool trib_host_all_agree(struct trib_host *host)
{
    struct trib_host_show own = describe(host);
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        if (memcmp(&host->segment->seats[rank].show[host->number % 2], &own, sizeof own) != 0 ||
            !has_own_shares(host, rank)) {
            host->other = rank;
            return false;
        }
    }
    return true;
}

uint32_t trib_host_unreadable(const struct trib_host *host)
{
    return host->other;
}

uint32_t trib_host_other(struct trib_host *host, struct trib_operation *operation)
{
    const struct trib_host_show *show = &host->segment->seats[host->other].show[host->number % 2];
    *operation = (struct trib_operation){
        .count = show->count,
        .part_of = (uint64_t)show->part_of << 32,
        .root = show->root,
        .collective = (enum trib_collective)show->collective,
        .type = (enum trib_type)show->type,
        .reduction = (enum trib_reduction)show->reduction,
    };
    if (show->is_uneven != 0) { /* the members of the shares that an error text needs */
        host->other_shares = (struct trib_shares){
            .ranks = host->ranks, .count = trib_host_counts(host, host->other, host->number), .total = show->count};
        operation->shares = &host->other_shares;
    }
    return host->other;
}

enum trib_host_verdict trib_host_finish(struct trib_host *host)
{
    host->base += (uint32_t)host->steps;
    host->number++;
    host->is_active = false;
    return TRIB_HOST_DONE;
}
