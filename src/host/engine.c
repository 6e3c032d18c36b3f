/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: operations, step by step. No call waits: the caller calls again. The rules are in host.h.
 * Read next: counts.c, operation.c, small.c, large.c (the steps), bells.c (sleeping). */
#include "host/segment.h"

static uint64_t total_of(const struct trib_host *host)
{
    const struct trib_operation *operation = &host->operation;
    if (operation->collective == TRIB_BARRIER) {
        return 0;
    }
    bool is_even = trib_operation_has_shares(operation) && operation->shares == NULL;
    return operation->count * (is_even ? host->ranks : 1);
}

void trib_host_start(struct trib_host *host, const struct trib_operation *operation)
{
    host->operation = *operation;
    host->element = (uint32_t)trib_type_size(operation->type);
    host->element = host->element > 0 ? host->element : 1; /* a barrier has no type */
    host->total = total_of(host);
    host->is_small = trib_host_is_small(host);
    host->steps = host->is_small ? 1 : trib_host_plan_large(host);
    host->at = 0;
    host->cursor = 0;
    host->part = TRIB_HOST_PART_OUT;
    host->is_active = true;
    trib_host_show_operation(host);
    host->is_shared = !host->is_small && trib_host_offer_tensor(host);
}

bool trib_host_is_active(const struct trib_host *host)
{
    return host->is_active;
}

uint64_t trib_host_number(const struct trib_host *host)
{
    return host->number - 1; /* the caller does not count the barrier of the rendezvous */
}

void trib_host_tell(struct trib_host *host, uint64_t value)
{
    atomic_store_explicit(&host->segment->seats[host->rank].told, value, memory_order_release);
}

uint64_t trib_host_told(const struct trib_host *host, uint32_t rank)
{
    return atomic_load_explicit(&host->segment->seats[rank].told, memory_order_acquire);
}

enum trib_host_verdict trib_host_advance(struct trib_host *host)
{
    if (trib_host_record_of(host) == TRIB_HOST_RECORD_THERE) {
        return TRIB_HOST_FAILED;
    }
    if (!host->is_active) {
        return TRIB_HOST_IDLE;
    }
    enum trib_host_verdict verdict = host->is_small ? trib_host_advance_small(host) : trib_host_advance_large(host);
    if (verdict != TRIB_HOST_WAITS || !trib_host_has_left(host)) {
        return verdict;
    }
    /* a failing rank writes the record before it closes, or another rank is about to */
    return trib_host_record_of(host) != TRIB_HOST_RECORD_NONE ? trib_host_wait_for_record(host) : TRIB_HOST_LEFT;
}
