/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: operations, step by step, without ever waiting: whoever drives calls again. The rules are in host.h.
 * Read next: sum.c (the additions), bells.c (who waits, sleeps). */
#include <string.h>

#include "core/assert.h"
#include "host/segment.h"

/* Tensors above it are written past the caches: they would not stay there anyway. */
#define PAST_CACHES (UINT64_C(2) << 20)

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

/* Sequentially consistent, like the sleeper's mark and its second look: either it sees the count, or we see its mark. */
static void publish(struct trib_host *host, bool summed, uint32_t count)
{
    atomic_store(count_of(host, host->rank, summed), count);
    trib_host_wake_waiting(host);
}

/* Goes on where it stopped: a count once reached stays so. */
static bool all_have(struct trib_host *host, bool summed, uint32_t target)
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

static bool one_has(struct trib_host *host, uint32_t rank, bool summed, uint32_t target)
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

/* Something has failed: the record says what, or will, or its writer dies and its line hangs up. */
static enum trib_host_verdict wait_for_record(const struct trib_host *host)
{
    return record_of(host) == TRIB_HOST_RECORD_THERE ? TRIB_HOST_FAILED : TRIB_HOST_WAITS;
}

static bool has_closed(const struct trib_host *host, uint32_t rank)
{
    return atomic_load_explicit(&host->segment->seats[rank].presence, memory_order_acquire) == TRIB_HOST_CLOSED;
}

/* What it waits for will never come: its rank has closed. A rank counts before it closes, so the count is looked at last. */
static bool has_left(const struct trib_host *host)
{
    return has_closed(host, host->cursor) && !has_reached(host, host->cursor, host->for_summed, host->target);
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
        .number = host->number,
        .count = operation->count,
        .root = operation->root,
        .collective = (uint8_t)operation->collective,
        .type = (uint8_t)operation->type,
        .reduction = (uint8_t)operation->reduction,
    };
}

/* All have staged the first step, so all show what they run. True: the same. */
static bool all_agree(struct trib_host *host)
{
    struct trib_host_show own = describe(host);
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        if (memcmp(&host->segment->seats[rank].show[host->number % 2], &own, sizeof own) != 0) {
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

uint32_t trib_host_other(const struct trib_host *host, struct trib_operation *operation)
{
    const struct trib_host_show *show = &host->segment->seats[host->other].show[host->number % 2];
    *operation = (struct trib_operation){
        .count = show->count,
        .root = show->root,
        .collective = (enum trib_collective)show->collective,
        .type = (enum trib_type)show->type,
        .reduction = (enum trib_reduction)show->reduction,
    };
    return host->other;
}

static uint64_t bytes_of(const struct trib_host *host)
{
    return host->operation.collective == TRIB_BARRIER ? 0 : host->operation.count * host->element;
}

static bool is_small(const struct trib_host *host)
{
    return bytes_of(host) <= TRIB_HOST_SMALL;
}

/* What this file knows how to run; another one would be taken for an allreduce. */
static bool is_known(const struct trib_operation *operation)
{
    return operation->collective == TRIB_ALLREDUCE || operation->collective == TRIB_BROADCAST ||
           operation->collective == TRIB_BARRIER;
}

void trib_host_start(struct trib_host *host, const struct trib_operation *operation)
{
    TRIB_ASSERT(is_known(operation));
    host->operation = *operation;
    host->element = (uint32_t)trib_type_size(operation->type);
    host->element = host->element > 0 ? host->element : 1; /* a barrier has no type */
    host->chunk_count = host->chunk / host->element;
    host->line_count = 64 / host->element;
    host->steps = is_small(host) ? 1 : (bytes_of(host) - 1) / host->chunk + 1;
    host->at = 0;
    host->cursor = 0;
    host->part = TRIB_HOST_PART_OUT;
    host->is_active = true;
    host->segment->seats[host->rank].show[host->number % 2] = describe(host);
    host->is_shared = !is_small(host) && operation->collective == TRIB_ALLREDUCE && trib_host_offer_tensor(host);
}

bool trib_host_is_active(const struct trib_host *host)
{
    return host->is_active;
}

uint64_t trib_host_number(const struct trib_host *host)
{
    return host->number - 1; /* the barrier of the beginning is nobody's */
}

static enum trib_host_verdict finish(struct trib_host *host)
{
    host->base += (uint32_t)host->steps;
    host->number++;
    host->is_active = false;
    return TRIB_HOST_DONE;
}

/* ---- small ---- */

static void take_small(struct trib_host *host)
{
    const struct trib_operation *operation = &host->operation;
    uint64_t bytes = bytes_of(host);
    if (bytes == 0) {
        return;
    }
    if (operation->collective == TRIB_BROADCAST) {
        if (operation->root != host->rank) {
            memcpy(operation->recv, trib_host_small(host, operation->root, host->base), bytes);
        }
        return;
    }
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        host->sources[rank] = trib_host_small(host, rank, host->base);
    }
    trib_host_add_up(host, operation->recv, true, 0, operation->count);
}

static enum trib_host_verdict advance_small(struct trib_host *host)
{
    if (host->part == TRIB_HOST_PART_OUT) {
        if (host->operation.send != NULL && bytes_of(host) > 0) {
            memcpy(trib_host_small(host, host->rank, host->base), host->operation.send, bytes_of(host));
        }
        host->part = TRIB_HOST_PART_SUM;
        publish(host, false, host->base + 1);
    }
    if (!all_have(host, false, host->base + 1)) {
        return TRIB_HOST_WAITS;
    }
    if (!all_agree(host)) {
        return TRIB_HOST_DIFFERS;
    }
    take_small(host);
    publish(host, true, host->base + 1);
    return finish(host);
}

/* ---- large ---- */

/* A chunk of the tensor, in elements: where it begins, how long it is, and the part of it that a rank adds up. */
struct chunk {
    uint64_t first;
    size_t count;
    size_t from, to;
};

static struct chunk chunk_at(const struct trib_host *host, uint64_t index)
{
    if (host->ranks == 0) {
        __builtin_trap();
    }
    uint64_t most = host->chunk_count;
    struct chunk chunk = {.first = index * most};
    uint64_t left = host->operation.count - chunk.first;
    chunk.count = left < most ? left : most;
    size_t line = host->line_count; /* no two ranks write one cache line */
    size_t lines = (chunk.count * host->element + 63) / 64;
    size_t share = (lines + host->ranks - 1) / host->ranks * line;
    chunk.from = share * host->rank < chunk.count ? share * host->rank : chunk.count;
    chunk.to = chunk.from + share < chunk.count ? chunk.from + share : chunk.count;
    return chunk;
}

static const unsigned char *sent(const struct trib_host *host, uint64_t element)
{
    return (const unsigned char *)host->operation.send + element * host->element;
}

static void copy_out(const struct trib_host *host, uint64_t index, const unsigned char *from)
{
    struct chunk chunk = chunk_at(host, index);
    unsigned char *to = (unsigned char *)host->operation.recv + chunk.first * host->element;
    if (bytes_of(host) > PAST_CACHES) {
        trib_host_copy_past(to, from, chunk.count * host->element);
    } else {
        memcpy(to, from, chunk.count * host->element);
    }
}

/* Where each rank's part of a chunk lies: staged, or in memory of that rank that is mapped here. */
static void find_sources(const struct trib_host *host, const struct chunk *chunk, uint32_t step)
{
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        host->sources[rank] = host->tensors[rank] != NULL ? host->tensors[rank] + chunk->first * host->element
                                                          : trib_host_staging(host, rank, step);
    }
    host->sources[host->rank] = sent(host, chunk->first);
}

/* All of it, or all but the own share. */
static void stage(const struct trib_host *host, uint64_t index, bool whole)
{
    struct chunk chunk = chunk_at(host, index);
    unsigned char *to = trib_host_staging(host, host->rank, host->base + (uint32_t)index);
    const unsigned char *from = sent(host, chunk.first);
    if (whole) {
        chunk.from = chunk.to = chunk.count;
    }
    memcpy(to, from, chunk.from * host->element);
    size_t behind = chunk.to * host->element;
    memcpy(to + behind, from + behind, chunk.count * host->element - behind);
}

static void add_share(const struct trib_host *host, uint64_t index)
{
    struct chunk chunk = chunk_at(host, index);
    uint32_t step = host->base + (uint32_t)index;
    find_sources(host, &chunk, step);
    trib_host_add_up(host, trib_host_result(host, step), false, chunk.from, chunk.to);
}

/* The parts of one round at k: OUT(k-2), IN(k), SUM(k-1). */
static enum trib_host_verdict advance_allreduce(struct trib_host *host)
{
    uint64_t k = host->at;
    uint32_t step = host->base + (uint32_t)k;
    if (host->part == TRIB_HOST_PART_OUT) {
        if (!all_have(host, true, step - 1)) {
            return TRIB_HOST_WAITS;
        }
        if (record_of(host) != TRIB_HOST_RECORD_NONE) {
            return wait_for_record(
                host); /* who has failed may change what he sent, and others may have read it since */
        }
        if (k >= 2) {
            copy_out(host, k - 2, trib_host_result(host, step));
        }
        if (k == host->steps + 1) {
            return finish(host);
        }
        if (k < host->steps) {
            if (!host->is_shared) {
                stage(host, k, false);
            }
            publish(host, false, step + 1);
        }
        host->part = TRIB_HOST_PART_SUM;
    }
    if (k > 0) {
        if (!all_have(host, false, step)) {
            return TRIB_HOST_WAITS;
        }
        if (k == 1 && !all_agree(host)) {
            return TRIB_HOST_DIFFERS;
        }
        if (k == 1 && !trib_host_find_tensors(host, &host->other)) {
            return TRIB_HOST_UNREADABLE;
        }
        add_share(host, k - 1);
        publish(host, true, step);
    }
    host->part = TRIB_HOST_PART_OUT;
    host->at++;
    return TRIB_HOST_MOVED;
}

/* Parts: OUT is what comes before the comparison of operations, IN waits for it, SUM goes from chunk to chunk. */
static enum trib_host_verdict advance_root(struct trib_host *host)
{
    uint32_t step = host->base + (uint32_t)host->at;
    if (host->part != TRIB_HOST_PART_IN) {
        if (!all_have(host, true, step - 1)) {
            return TRIB_HOST_WAITS;
        }
        stage(host, host->at, true);
        publish(host, false, step + 1);
        publish(host, true, step + 1);
        host->part = TRIB_HOST_PART_IN;
    }
    if (host->at == 0) {
        if (!all_have(host, false, step + 1)) {
            return TRIB_HOST_WAITS;
        }
        if (!all_agree(host)) {
            return TRIB_HOST_DIFFERS;
        }
    }
    host->part = TRIB_HOST_PART_SUM;
    host->at++;
    return host->at == host->steps ? finish(host) : TRIB_HOST_MOVED;
}

/* Who has nothing to stage has staged all of the operation at once. */
static enum trib_host_verdict advance_receiver(struct trib_host *host)
{
    uint32_t root = host->operation.root;
    uint32_t step = host->base + (uint32_t)host->at;
    if (host->part == TRIB_HOST_PART_OUT) {
        publish(host, false, host->base + (uint32_t)host->steps);
        host->part = TRIB_HOST_PART_IN;
    }
    if (host->part == TRIB_HOST_PART_IN) {
        if (!all_have(host, false, host->base + 1)) {
            return TRIB_HOST_WAITS;
        }
        if (!all_agree(host)) {
            return TRIB_HOST_DIFFERS;
        }
        host->part = TRIB_HOST_PART_SUM;
    }
    if (!one_has(host, root, false, step + 1)) {
        return TRIB_HOST_WAITS;
    }
    copy_out(host, host->at, trib_host_staging(host, root, step));
    publish(host, true, step + 1);
    host->at++;
    return host->at == host->steps ? finish(host) : TRIB_HOST_MOVED;
}

static enum trib_host_verdict advance(struct trib_host *host)
{
    if (is_small(host)) {
        return advance_small(host);
    }
    if (host->operation.collective == TRIB_BROADCAST) {
        return host->operation.root == host->rank ? advance_root(host) : advance_receiver(host);
    }
    return advance_allreduce(host);
}

enum trib_host_verdict trib_host_advance(struct trib_host *host)
{
    if (record_of(host) == TRIB_HOST_RECORD_THERE) {
        return TRIB_HOST_FAILED;
    }
    if (!host->is_active) {
        return TRIB_HOST_IDLE;
    }
    enum trib_host_verdict verdict = advance(host);
    if (verdict != TRIB_HOST_WAITS || !has_left(host)) {
        return verdict;
    }
    /* who fails says why before he closes, or another is about to */
    return record_of(host) != TRIB_HOST_RECORD_NONE ? wait_for_record(host) : TRIB_HOST_LEFT;
}
