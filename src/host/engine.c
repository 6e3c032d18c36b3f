/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: operations, step by step, without ever waiting: whoever drives calls again. Here: counts, and what is the
 * same for all operations. The rules are in host.h. Read next: small.c, large.c (the steps), bells.c (who waits,
 * sleeps). */
#include <string.h>

#include "host/segment.h"

/* ---- counts ---- */

static _Atomic uint32_t *count_of(const struct trib_host *host, uint32_t rank, bool summed)
{
    struct trib_host_seat *seat = &host->segment->seats[rank];
    return summed ? &seat->summed : &seat->staged;
}

/* Counts grow for ever and differ by little: the difference is taken modulo 2^32. */
static bool has_reached(const struct trib_host *host, uint32_t rank, bool summed, uint32_t target)
{
    uint32_t count = atomic_load_explicit(count_of(host, rank, summed), memory_order_acquire);
    return (int32_t)(count - target) >= 0;
}

/* Sequentially consistent, like the sleeper's mark and its second look: either it sees the count, or we see its
 * mark. */
void trib_host_publish(struct trib_host *host, bool summed, uint32_t count)
{
    atomic_store(count_of(host, host->rank, summed), count);
    trib_host_wake_waiting(host);
}

/* Goes on where it stopped: a count once reached stays so. */
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

static uint32_t record_of(const struct trib_host *host)
{
    return atomic_load_explicit(&host->segment->record, memory_order_acquire);
}

/* What was read before this is read before the record: what a rank changes after it has failed is seen by nobody who
 * sees no record. */
bool trib_host_has_record(const struct trib_host *host)
{
    atomic_thread_fence(memory_order_acquire);
    return record_of(host) != TRIB_HOST_RECORD_NONE;
}

/* Something has failed: the record says what, or will, or its writer dies and its line hangs up. */
enum trib_host_verdict trib_host_wait_for_record(const struct trib_host *host)
{
    return record_of(host) == TRIB_HOST_RECORD_THERE ? TRIB_HOST_FAILED : TRIB_HOST_WAITS;
}

bool trib_host_has_closed(const struct trib_host *host, uint32_t rank)
{
    return atomic_load_explicit(&host->segment->seats[rank].presence, memory_order_acquire) == TRIB_HOST_CLOSED;
}

/* What it waits for will never come: its rank has closed. A rank counts before it closes, so the count is looked at
 * last. */
static bool has_left(const struct trib_host *host)
{
    return trib_host_has_closed(host, host->cursor) && !has_reached(host, host->cursor, host->for_summed, host->target);
}

/* The second look of who is about to sleep: sequentially consistent, as publish is. */
bool trib_host_is_due(const struct trib_host *host)
{
    uint32_t record = atomic_load(&host->segment->record);
    if (record != TRIB_HOST_RECORD_NONE) {
        return record == TRIB_HOST_RECORD_THERE; /* who writes it wakes all */
    }
    return atomic_load(&host->segment->seats[host->cursor].presence) == TRIB_HOST_CLOSED ||
           (int32_t)(atomic_load(count_of(host, host->cursor, host->for_summed)) - host->target) >= 0;
}

bool trib_host_has_failed(const struct trib_host *host)
{
    return record_of(host) == TRIB_HOST_RECORD_THERE;
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

/* ---- operations ---- */

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

static void show(const struct trib_host *host)
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
    if (show->is_uneven != 0) { /* as much of the shares as a text takes */
        host->other_shares = (struct trib_shares){
            .ranks = host->ranks, .count = trib_host_counts(host, host->other, host->number), .total = show->count};
        operation->shares = &host->other_shares;
    }
    return host->other;
}

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
    show(host);
    host->is_shared = !host->is_small && trib_host_offer_tensor(host);
}

bool trib_host_is_active(const struct trib_host *host)
{
    return host->is_active;
}

uint64_t trib_host_number(const struct trib_host *host)
{
    return host->number - 1; /* the barrier of the beginning is nobody's */
}

void trib_host_tell(struct trib_host *host, uint64_t value)
{
    atomic_store_explicit(&host->segment->seats[host->rank].told, value, memory_order_release);
}

uint64_t trib_host_told(const struct trib_host *host, uint32_t rank)
{
    return atomic_load_explicit(&host->segment->seats[rank].told, memory_order_acquire);
}

enum trib_host_verdict trib_host_finish(struct trib_host *host)
{
    host->base += (uint32_t)host->steps;
    host->number++;
    host->is_active = false;
    return TRIB_HOST_DONE;
}

enum trib_host_verdict trib_host_advance(struct trib_host *host)
{
    if (record_of(host) == TRIB_HOST_RECORD_THERE) {
        return TRIB_HOST_FAILED;
    }
    if (!host->is_active) {
        return TRIB_HOST_IDLE;
    }
    enum trib_host_verdict verdict = host->is_small ? trib_host_advance_small(host) : trib_host_advance_large(host);
    if (verdict != TRIB_HOST_WAITS || !has_left(host)) {
        return verdict;
    }
    /* who fails says why before he closes, or another is about to */
    return record_of(host) != TRIB_HOST_RECORD_NONE ? trib_host_wait_for_record(host) : TRIB_HOST_LEFT;
}
