/* SPDX-License-Identifier: Apache-2.0 */
/* counts.c: the counts that ranks wait for, and the record of a failure. It calls no other file of src/host.
 * Read next: bells.c (sleeping until a count grows), operation.c. */
#include "host/segment.h"

/* Counts wrap around and differ by little, so the difference is taken modulo 2^32. */
static bool has_reached(const struct trib_host *host, uint32_t rank, bool summed, uint32_t target)
{
    uint32_t count = atomic_load_explicit(trib_host_count_of(host, rank, summed), memory_order_acquire);
    return (int32_t)(count - target) >= 0;
}

/* Continues at host->cursor: a rank that has reached the count stays there. */
bool trib_host_all_have(struct trib_host *host, bool summed, uint32_t target)
{
    host->for_summed = summed;
    host->for_one = false;
    host->target = target;
    while (host->cursor < host->ranks) {
        if (!has_reached(host, host->cursor, summed, target)) {
            return false;
        }
        host->cursor++;
    }
    host->cursor = 0;
    return true;
}

bool trib_host_one_has(struct trib_host *host, uint32_t rank, bool summed, uint32_t target)
{
    host->for_summed = summed;
    host->for_one = true;
    host->target = target;
    host->cursor = rank;
    if (!has_reached(host, rank, summed, target)) {
        return false;
    }
    host->cursor = 0;
    return true;
}

/* Bytes are read before the record. A rank that sees no record has therefore read no byte that a failed rank changed
 * after its failure. */
bool trib_host_has_record(const struct trib_host *host)
{
    atomic_thread_fence(memory_order_acquire);
    return trib_host_record_of(host) != TRIB_HOST_RECORD_NONE;
}

/* A rank has failed. The record names it, or will, or the writing rank dies and its line hangs up. */
enum trib_host_verdict trib_host_wait_for_record(const struct trib_host *host)
{
    return trib_host_record_of(host) == TRIB_HOST_RECORD_THERE ? TRIB_HOST_FAILED : TRIB_HOST_WAITS;
}

bool trib_host_has_closed(const struct trib_host *host, uint32_t rank)
{
    return atomic_load_explicit(&host->segment->seats[rank].presence, memory_order_acquire) == TRIB_HOST_CLOSED;
}

/* The awaited rank has closed below the count. A rank counts before it closes, so the count is read last. */
bool trib_host_has_left(const struct trib_host *host)
{
    return trib_host_has_closed(host, host->cursor) && !has_reached(host, host->cursor, host->for_summed, host->target);
}

/* Second look before a sleep: sequentially consistent, as the stores in trib_host_publish. */
bool trib_host_is_due(const struct trib_host *host)
{
    uint32_t record = atomic_load(&host->segment->record);
    if (record != TRIB_HOST_RECORD_NONE) {
        return record == TRIB_HOST_RECORD_THERE; /* the writer wakes all ranks */
    }
    return atomic_load(&host->segment->seats[host->cursor].presence) == TRIB_HOST_CLOSED ||
           (int32_t)(atomic_load(trib_host_count_of(host, host->cursor, host->for_summed)) - host->target) >= 0;
}

bool trib_host_has_failed(const struct trib_host *host)
{
    return trib_host_record_of(host) == TRIB_HOST_RECORD_THERE;
}

uint32_t trib_host_awaited(const struct trib_host *host)
{
    return host->cursor;
}

uint32_t trib_host_missing(const struct trib_host *host, uint16_t *ranks, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t rank = host->cursor; rank < (host->for_one ? host->cursor + 1 : host->ranks); rank++) {
        if (!has_reached(host, rank, host->for_summed, host->target)) {
            if (count < most) {
                ranks[count] = (uint16_t)rank;
            }
            count++;
        }
    }
    return count;
}
