/* SPDX-License-Identifier: Apache-2.0 */
/* small.c: operations of one step. Every rank writes the part of its tensor that others need into its small area, and
 * computes its result from all areas. Read next: host.h (the rules), large.c. */
#include <string.h>

#include "host/segment.h"

/* For an allgather the largest share decides, if all shares together are at most a chunk. */
bool trib_host_is_small(const struct trib_host *host)
{
    uint64_t most = host->total;
    if (host->operation.collective == TRIB_ALLGATHER && host->total * host->element <= host->chunk) {
        most = 0;
        for (uint32_t rank = 0; rank < host->ranks; rank++) {
            uint64_t count = trib_host_share_count(host, rank);
            most = count > most ? count : most;
        }
    }
    return most * host->element <= TRIB_HOST_SMALL;
}

/* Stages the bytes that others read: all, except the own share of a reduce-scatter. */
static void stage(const struct trib_host *host)
{
    unsigned char *to = trib_host_small(host, host->rank, host->base);
    const unsigned char *from = host->operation.send;
    size_t bytes = trib_host_sent_bytes(host, host->rank);
    size_t own = 0;
    if (bytes == 0) {
        return;
    }
    if (host->operation.collective == TRIB_REDUCE_SCATTER) {
        own = trib_host_share_count(host, host->rank) * host->element;
    }
    size_t before = own > 0 ? trib_host_share_first(host, host->rank) * host->element : 0;
    memcpy(to, from, before);
    memcpy(to + before + own, from + before + own, bytes - before - own);
}

/* Points the sources at every rank's small area. */
static void find_sources(const struct trib_host *host)
{
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        host->sources[rank] = trib_host_small(host, rank, host->base);
    }
}

/* False: a record was found. */
static bool take_sum(const struct trib_host *host)
{
    struct trib_host_sum sum = {
        .result = host->operation.recv, .is_private = true, .last = TRIB_HOST_NOBODY, .to = host->total};
    if (!trib_host_wants(host, host->rank)) {
        return true;
    }
    find_sources(host);
    return trib_host_add_up(host, &sum);
}

static bool take_share(const struct trib_host *host)
{
    size_t before = trib_host_share_first(host, host->rank) * host->element;
    struct trib_host_sum sum = {.result = host->operation.recv,
                                .is_private = true,
                                .last = host->rank,
                                .to = trib_host_share_count(host, host->rank)};
    if (sum.to == 0) {
        return true;
    }
    find_sources(host);
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        host->sources[rank] += before;
    }
    host->sources[host->rank] = (const unsigned char *)host->operation.send + before;
    return trib_host_add_up(host, &sum);
}

static void take_all_shares(const struct trib_host *host)
{
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        size_t bytes = trib_host_share_count(host, rank) * host->element;
        unsigned char *to = (unsigned char *)host->operation.recv + trib_host_share_first(host, rank) * host->element;
        bool is_in_place = rank == host->rank && to == host->operation.send;
        if (bytes > 0 && !is_in_place) {
            memcpy(to, trib_host_small(host, rank, host->base), bytes);
        }
    }
}

static bool take(const struct trib_host *host)
{
    const struct trib_operation *operation = &host->operation;
    if (host->total == 0) {
        return true;
    }
    switch (operation->collective) {
    case TRIB_ALLREDUCE:
    case TRIB_REDUCE:
        return take_sum(host);
    case TRIB_REDUCE_SCATTER:
        return take_share(host);
    case TRIB_ALLGATHER:
        take_all_shares(host);
        return true;
    case TRIB_BROADCAST:
        if (operation->root != host->rank) {
            memcpy(operation->recv, trib_host_small(host, operation->root, host->base), host->total * host->element);
        }
        return true;
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        break;
    }
    return true;
}

enum trib_host_verdict trib_host_advance_small(struct trib_host *host)
{
    if (host->part == TRIB_HOST_PART_OUT) {
        stage(host);
        host->part = TRIB_HOST_PART_SUM;
        trib_host_publish(host, false, host->base + 1);
    }
    if (!trib_host_all_have(host, false, host->base + 1)) {
        return TRIB_HOST_WAITS;
    }
    if (!trib_host_all_agree(host)) {
        return TRIB_HOST_DIFFERS;
    }
    if (!take(host)) {
        return trib_host_wait_for_record(host);
    }
    trib_host_publish(host, true, host->base + 1);
    return trib_host_finish(host);
}
