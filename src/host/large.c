/* SPDX-License-Identifier: Apache-2.0 */
/* large.c: operations of many steps. In each step a rank copies a chunk in, adds up or copies its share, and copies a
 * result out.
 * Read next: host.h (why no bytes are overwritten before their last reader), sum.c, copy.c. */
#include <string.h>

#include "host/segment.h"

/* ---- geometry ---- */

/* With shares, a step is for a slice of each share. For a reduction, an area holds a slice for each owner. For an
 * allgather an area holds one slice, which has a minimum size for many ranks. */
static uint32_t slice_bytes(const struct trib_host *host)
{
    if (host->ranks == 0) {
        __builtin_trap();
    }
    uint32_t bytes = host->chunk / host->ranks & ~UINT32_C(63);
    bool is_tiny = host->operation.collective == TRIB_ALLGATHER && bytes < TRIB_HOST_CHUNK_LEAST;
    return is_tiny ? TRIB_HOST_CHUNK_LEAST : bytes;
}

uint64_t trib_host_plan_large(struct trib_host *host)
{
    uint64_t most = 0;
    host->chunk_count = host->chunk / host->element;
    host->line_count = 64 / host->element;
    host->slice_count = slice_bytes(host) / host->element;
    if (!trib_operation_has_shares(&host->operation)) {
        return (host->total - 1) / host->chunk_count + 1;
    }
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        uint64_t count = trib_host_share_count(host, rank);
        most = count > most ? count : most;
    }
    return (most - 1) / host->slice_count + 1;
}

/* A chunk of the tensor: start, length, and the part that this rank adds up, all in elements. */
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
    uint64_t left = host->total - chunk.first;
    chunk.count = left < most ? left : most;
    size_t line = host->line_count; /* no two ranks write one cache line */
    size_t lines = (chunk.count * host->element + 63) / 64;
    size_t share = (lines + host->ranks - 1) / host->ranks * line;
    chunk.from = share * host->rank < chunk.count ? share * host->rank : chunk.count;
    chunk.to = chunk.from + share < chunk.count ? chunk.from + share : chunk.count;
    return chunk;
}

/* A step's part of a rank's share: position in the share and in the whole tensor, bytes. */
struct slice {
    uint64_t in_share, in_whole;
    size_t bytes; /* 0: the share has no more */
};

static struct slice slice_at(const struct trib_host *host, uint32_t rank, uint64_t index)
{
    uint64_t count = trib_host_share_count(host, rank);
    uint64_t first = index * host->slice_count;
    uint64_t left = first < count ? count - first : 0;
    size_t most = host->slice_count;
    return (struct slice){.in_share = first * host->element,
                          .in_whole = (trib_host_share_first(host, rank) + first) * host->element,
                          .bytes = (left < most ? left : most) * host->element};
}

static const unsigned char *sent(const struct trib_host *host, uint64_t byte)
{
    return (const unsigned char *)host->operation.send + byte;
}

static unsigned char *received(const struct trib_host *host, uint64_t byte)
{
    return (unsigned char *)host->operation.recv + byte;
}

/* Offset of the slice for an owner within a rank's staging area, bytes. */
static size_t slot_of(const struct trib_host *host, uint32_t owner)
{
    return (size_t)owner * host->slice_count * host->element;
}

/* ---- copying in ---- */

/* Stages a chunk except the own share, which no other rank reads. */
static void stage_chunk(const struct trib_host *host, uint64_t index)
{
    struct chunk chunk = chunk_at(host, index);
    unsigned char *to = trib_host_staging(host, host->rank, host->base + (uint32_t)index);
    const unsigned char *from = sent(host, chunk.first * host->element);
    memcpy(to, from, chunk.from * host->element);
    size_t behind = chunk.to * host->element;
    memcpy(to + behind, from + behind, chunk.count * host->element - behind);
}

/* Stages the slice for each owner except the own slice, which no other rank reads. */
static void stage_slices(const struct trib_host *host, uint64_t index)
{
    unsigned char *to = trib_host_staging(host, host->rank, host->base + (uint32_t)index);
    for (uint32_t owner = 0; owner < host->ranks; owner++) {
        struct slice slice = slice_at(host, owner, index);
        if (owner != host->rank && slice.bytes > 0) {
            memcpy(to + slot_of(host, owner), sent(host, slice.in_whole), slice.bytes);
        }
    }
}

static void stage_own_slice(const struct trib_host *host, uint64_t index)
{
    struct slice slice = slice_at(host, host->rank, index);
    if (slice.bytes > 0) {
        memcpy(trib_host_staging(host, host->rank, host->base + (uint32_t)index), sent(host, slice.in_share),
               slice.bytes);
    }
}

static void stage(const struct trib_host *host, uint64_t index)
{
    if (host->operation.collective == TRIB_ALLGATHER) {
        stage_own_slice(host, index);
    } else if (host->operation.collective == TRIB_REDUCE_SCATTER) {
        stage_slices(host, index);
    } else {
        stage_chunk(host, index);
    }
}

/* ---- adding up and taking ---- */

/* Adds up the own share of a chunk for all ranks. Each rank's part is staged, or lies in memory of that rank that is
 * mapped here. */
static void add_chunk(const struct trib_host *host, uint64_t index)
{
    struct chunk chunk = chunk_at(host, index);
    uint32_t step = host->base + (uint32_t)index;
    size_t first = chunk.first * host->element;
    struct trib_host_sum sum = {
        .result = trib_host_result(host, step), .last = TRIB_HOST_NOBODY, .from = chunk.from, .to = chunk.to};
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        host->sources[rank] =
            host->tensors[rank] != NULL ? host->tensors[rank] + first : trib_host_staging(host, rank, step);
    }
    host->sources[host->rank] = sent(host, first);
    /* the result is shared memory: advance_all checks for a record before copying it out */
    (void)trib_host_add_up(host, &sum);
}

/* Adds up the own slice of all ranks into the caller's buffer. False: a record was found. */
static bool add_slice(const struct trib_host *host, uint64_t index)
{
    struct slice slice = slice_at(host, host->rank, index);
    uint32_t step = host->base + (uint32_t)index;
    struct trib_host_sum sum = {.result = received(host, slice.in_share),
                                .is_private = true,
                                .is_past = trib_host_writes_past(host),
                                .last = host->rank,
                                .to = slice.bytes / host->element};
    if (slice.bytes == 0) {
        return true;
    }
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        host->sources[rank] = host->tensors[rank] != NULL
                                  ? host->tensors[rank] + slice.in_whole
                                  : trib_host_staging(host, rank, step) + slot_of(host, host->rank);
    }
    host->sources[host->rank] = sent(host, slice.in_whole);
    return trib_host_add_up(host, &sum);
}

static bool take_slices(const struct trib_host *host, uint64_t index)
{
    uint32_t step = host->base + (uint32_t)index;
    for (uint32_t rank = 0; rank < host->ranks; rank++) {
        struct slice slice = slice_at(host, rank, index);
        if (slice.bytes == 0) {
            continue;
        }
        unsigned char *to = received(host, slice.in_whole);
        if (rank != host->rank && host->tensors[rank] != NULL) {
            if (!trib_host_copy_foreign(host, to, host->tensors[rank] + slice.in_share, slice.bytes)) {
                return false;
            }
        } else if (rank != host->rank) {
            trib_host_copy_out(host, to, trib_host_staging(host, rank, step), slice.bytes);
        } else if (to != sent(host, slice.in_share)) {
            trib_host_copy_out(host, to, sent(host, slice.in_share), slice.bytes);
        }
    }
    return true;
}

static bool take(const struct trib_host *host, uint64_t index)
{
    if (host->operation.collective == TRIB_ALLGATHER) {
        return take_slices(host, index);
    }
    if (host->operation.collective == TRIB_REDUCE_SCATTER) {
        return add_slice(host, index);
    }
    add_chunk(host, index);
    return true;
}

/* ---- copying out ---- */

/* True if this rank copies results out. Other ranks have their result once their share is done. */
static bool has_results(const struct trib_host *host)
{
    return !trib_operation_has_shares(&host->operation) && trib_host_wants(host, host->rank);
}

static void copy_out(const struct trib_host *host, uint64_t index, const unsigned char *from)
{
    struct chunk chunk = chunk_at(host, index);
    trib_host_copy_out(host, received(host, chunk.first * host->element), from, chunk.count * host->element);
}

/* ---- all but broadcast ---- */

/* The parts of one round at k: OUT(k-2), IN(k), SUM(k-1). */
static enum trib_host_verdict advance_all(struct trib_host *host)
{
    uint64_t k = host->at;
    uint32_t step = host->base + (uint32_t)k;
    if (host->part == TRIB_HOST_PART_OUT) {
        if (!trib_host_all_have(host, true, step - 1)) {
            return TRIB_HOST_WAITS;
        }
        /* A failed rank may change the tensor it sent, and others may have read it since. */
        if (trib_host_has_record(host)) {
            return trib_host_wait_for_record(host);
        }
        if (k >= 2 && has_results(host)) {
            copy_out(host, k - 2, trib_host_result(host, step));
        }
        if (k == host->steps + 1) {
            return trib_host_finish(host);
        }
        if (k < host->steps) {
            if (!host->is_shared) {
                stage(host, k);
            }
            trib_host_publish(host, false, step + 1);
        }
        host->part = TRIB_HOST_PART_SUM;
    }
    if (k > 0) {
        if (!trib_host_all_have(host, false, step)) {
            return TRIB_HOST_WAITS;
        }
        if (k == 1 && !trib_host_all_agree(host)) {
            return TRIB_HOST_DIFFERS;
        }
        if (k == 1 && !trib_host_find_tensors(host, &host->other)) {
            return TRIB_HOST_UNREADABLE;
        }
        if (!take(host, k - 1)) {
            return trib_host_wait_for_record(host);
        }
        trib_host_publish(host, true, step);
        if (k == host->steps && !host->is_shared && !has_results(host)) {
            return trib_host_finish(host); /* other ranks read only this rank's part of the segment */
        }
    }
    host->part = TRIB_HOST_PART_OUT;
    host->at++;
    return TRIB_HOST_MOVED;
}

/* ---- broadcast ---- */

/* Chunks by which the root may be ahead: an even number. One other rank has a core of its own, so two chunks that stay
 * in the root's cache are faster. */
static uint32_t ahead(const struct trib_host *host)
{
    uint32_t areas = host->ranks > 2 ? 2 * host->ranks : 2;
    return areas < TRIB_HOST_AHEAD ? areas : TRIB_HOST_AHEAD;
}

/* Area for a chunk of the root. Two chunks in one area are an even number of steps apart, so the area has the step's
 * parity as always. */
static unsigned char *broadcast_area(const struct trib_host *host, uint64_t index)
{
    uint32_t owner = (uint32_t)(index % ahead(host)) / 2;
    return trib_host_staging(host, owner, host->base + (uint32_t)index);
}

/* True if the root may stage this chunk. After the first chunk, all ranks have come to this operation and read no bytes
 * of the one before. The root waits for half of the areas at a time: a wait for each area would wake the root for
 * each. */
static bool has_area(struct trib_host *host, uint64_t index)
{
    uint32_t step = host->base + (uint32_t)index;
    uint32_t half = ahead(host) / 2;
    if (index == 0) {
        return trib_host_all_have(host, true, step - 1);
    }
    return index < 2 * half || index % half != 0 || trib_host_all_have(host, true, step - half);
}

/* Other ranks read the root's tensor in place. The root has nothing to copy, but waits until all have read. */
static enum trib_host_verdict lend(struct trib_host *host)
{
    uint32_t end = host->base + (uint32_t)host->steps;
    if (host->part == TRIB_HOST_PART_OUT) {
        trib_host_publish(host, false, end);
        trib_host_publish(host, true, end);
        host->part = TRIB_HOST_PART_IN;
    }
    if (host->part == TRIB_HOST_PART_IN) {
        if (!trib_host_all_have(host, false, host->base + 1)) {
            return TRIB_HOST_WAITS;
        }
        if (!trib_host_all_agree(host)) {
            return TRIB_HOST_DIFFERS;
        }
        host->part = TRIB_HOST_PART_SUM;
    }
    return trib_host_all_have(host, true, end) ? trib_host_finish(host) : TRIB_HOST_WAITS;
}

/* Parts: OUT comes before the comparison of operations, IN waits for the comparison, SUM goes from chunk to chunk. */
static enum trib_host_verdict advance_root(struct trib_host *host)
{
    uint32_t step = host->base + (uint32_t)host->at;
    if (host->is_shared) {
        return lend(host);
    }
    if (host->part != TRIB_HOST_PART_IN) {
        if (!has_area(host, host->at)) {
            return TRIB_HOST_WAITS;
        }
        struct chunk chunk = chunk_at(host, host->at);
        memcpy(broadcast_area(host, host->at), sent(host, chunk.first * host->element), chunk.count * host->element);
        trib_host_publish(host, false, step + 1);
        trib_host_publish(host, true, step + 1);
        host->part = TRIB_HOST_PART_IN;
    }
    if (host->at == 0) {
        if (!trib_host_all_have(host, false, step + 1)) {
            return TRIB_HOST_WAITS;
        }
        if (!trib_host_all_agree(host)) {
            return TRIB_HOST_DIFFERS;
        }
    }
    host->part = TRIB_HOST_PART_SUM;
    host->at++;
    return host->at == host->steps ? trib_host_finish(host) : TRIB_HOST_MOVED;
}

/* A receiver has nothing to stage, so it counts all steps of the operation as staged at once. */
static enum trib_host_verdict advance_receiver(struct trib_host *host)
{
    uint32_t root = host->operation.root;
    uint32_t step = host->base + (uint32_t)host->at;
    if (host->part == TRIB_HOST_PART_OUT) {
        trib_host_publish(host, false, host->base + (uint32_t)host->steps);
        host->part = TRIB_HOST_PART_IN;
    }
    if (host->part == TRIB_HOST_PART_IN) {
        if (!trib_host_all_have(host, false, host->base + 1)) {
            return TRIB_HOST_WAITS;
        }
        if (!trib_host_all_agree(host)) {
            return TRIB_HOST_DIFFERS;
        }
        if (!trib_host_find_tensors(host, &host->other)) {
            return TRIB_HOST_UNREADABLE;
        }
        host->part = TRIB_HOST_PART_SUM;
    }
    if (!trib_host_one_has(host, root, false, step + 1)) {
        return TRIB_HOST_WAITS;
    }
    struct chunk chunk = chunk_at(host, host->at);
    size_t first = chunk.first * host->element;
    if (host->tensors[root] == NULL) {
        copy_out(host, host->at, broadcast_area(host, host->at));
    } else if (!trib_host_copy_foreign(host, received(host, first), host->tensors[root] + first,
                                       chunk.count * host->element)) {
        return trib_host_wait_for_record(host);
    }
    trib_host_publish(host, true, step + 1);
    host->at++;
    return host->at == host->steps ? trib_host_finish(host) : TRIB_HOST_MOVED;
}

enum trib_host_verdict trib_host_advance_large(struct trib_host *host)
{
    if (host->operation.collective == TRIB_BROADCAST) {
        return host->operation.root == host->rank ? advance_root(host) : advance_receiver(host);
    }
    return advance_all(host);
}
