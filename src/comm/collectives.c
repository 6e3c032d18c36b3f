/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c: checks the arguments of a collective and makes its operation. Every collective is a struct trib_call,
 * alone or in a group.
 * Read next: request.c (running the operation). */
#include <stdlib.h>
#include <string.h>

#include "comm/layout.h"
#include "comm/refusal.h"
#include "comm/request.h"
#include "comm/state.h"
#include "core/operation.h"

/* Most bytes of a tensor: no number computed from them overflows. */
#define BYTES_MAX (UINT64_C(1) << 46)

/* ---- is it valid? ---- */

static enum trib_status refuse(const struct trib_comm *comm, const struct trib_call *call, enum trib_status status,
                               const char *cause)
{
    return trib_refuse(comm, status, "%s: %s", trib_collective_name(call->collective), cause);
}

/* Of a call of its own or of a group. cause: a literal; of a valid call NULL. */
struct verdict {
    enum trib_status status;
    const char *cause;
};

static const struct verdict VALID = {TRIB_OK, NULL};

static struct verdict wrong(enum trib_status status, const char *cause)
{
    return (struct verdict){status, cause};
}

/* True if the buffers overlap. */
static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    uintptr_t x = (uintptr_t)a;
    uintptr_t y = (uintptr_t)b;
    return x < y ? y - x < a_bytes : x - y < b_bytes;
}

static struct verdict check_type(const struct trib_call *call, const struct trib_operation *kind)
{
    /* A caller's number need not be one of the enum's. */
    if (trib_type_size(call->type) == 0) {
        return wrong(TRIB_ERR_UNSUPPORTED, "no such type");
    }
    if (!trib_operation_reduces(kind)) {
        return VALID;
    }
    if (call->type == TRIB_BYTES) {
        return wrong(TRIB_ERR_UNSUPPORTED, "bytes have no sum");
    }
    if (call->reduction < TRIB_SUM || call->reduction >= TRIB_REDUCTION_COUNT) {
        return wrong(TRIB_ERR_UNSUPPORTED, "no such reduction");
    }
    return VALID;
}

static uint64_t share_of(const struct trib_call *call, uint32_t rank)
{
    return call->counts != NULL ? call->counts[rank] : call->count;
}

/* The elements of all ranks' shares together; of one tensor, where there are no shares. */
static struct verdict count_elements(const struct trib_comm *comm, const struct trib_call *call,
                                     const struct trib_operation *kind, uint64_t *elements)
{
    uint64_t most = BYTES_MAX / trib_type_size(call->type);
    uint32_t shares = trib_operation_has_shares(kind) ? comm->config.ranks : 1;

    *elements = 0;
    for (uint32_t i = 0; i < shares; i++) {
        uint64_t count = trib_operation_has_shares(kind) ? share_of(call, i) : call->count;
        if (count > most - *elements) {
            return wrong(TRIB_ERR_INVALID, "more than 64 TiB");
        }
        *elements += count;
    }
    return VALID;
}

/* ---- shares ---- */

static bool are_equal(const struct trib_comm *comm, const uint64_t *counts)
{
    for (uint32_t rank = 1; rank < comm->config.ranks; rank++) {
        if (counts[rank] != counts[0]) {
            return false;
        }
    }
    return true;
}

/* Equal shares need no table, however they were said. */
static struct verdict make_shares(const struct trib_comm *comm, const struct trib_call *call, uint64_t elements,
                                  struct trib_operation *operation)
{
    struct trib_session_config session;

    trib_comm_describe_session(comm, &session);
    operation->count = share_of(call, 0);
    if (call->counts == NULL || are_equal(comm, call->counts)) {
        return VALID;
    }
    void *memory = malloc(trib_shares_size(session.ranks));
    if (memory == NULL) {
        return wrong(TRIB_ERR_MEMORY, "no memory for the shares");
    }
    operation->count = elements;
    operation->shares = trib_shares_init(memory, &session, operation, call->counts);
    return VALID;
}

/* The whole is `elements` in the one buffer, of which the other is the own share; in place it lies where that
 * belongs. */
static struct verdict check_shares(const struct trib_comm *comm, const struct trib_call *call, uint64_t elements)
{
    bool gathers = call->collective == TRIB_ALLGATHER;
    const void *whole = gathers ? call->recv : call->send;
    const void *share = gathers ? call->send : call->recv;
    uint64_t size = trib_type_size(call->type);
    uint64_t mine = share_of(call, comm->config.rank) * size;
    uint64_t before = 0;

    if ((elements > 0 && whole == NULL) || (mine > 0 && share == NULL)) {
        return wrong(TRIB_ERR_INVALID, "a buffer is NULL");
    }
    if (elements == 0 || mine == 0) {
        return VALID;
    }
    for (uint32_t rank = 0; rank < comm->config.rank; rank++) {
        before += share_of(call, rank) * size;
    }
    if ((const char *)whole + before != share && overlap(whole, elements * size, share, mine)) {
        return wrong(TRIB_ERR_INVALID, "send and recv overlap; the own share may only lie where it lies in the whole");
    }
    return VALID;
}

/* ---- which operation is it? ---- */

/* One tensor: all ranks give it, or one; all ranks get it, or one. */
static struct verdict make_whole(const struct trib_comm *comm, const struct trib_call *call,
                                 struct trib_operation *operation)
{
    uint64_t bytes = call->count * trib_type_size(call->type);
    bool has_root = call->collective != TRIB_ALLREDUCE;

    if (has_root && call->root >= comm->config.ranks) {
        return wrong(TRIB_ERR_INVALID, "the root is no rank of the communicator");
    }
    operation->root = has_root ? call->root : 0;
    operation->count = call->count;
    bool sends = trib_operation_contributes(operation, operation->root, comm->config.rank);
    bool receives = trib_operation_wants(operation, operation->root, comm->config.rank);
    operation->send = sends ? call->send : NULL;
    operation->recv = receives ? call->recv : NULL;
    if (bytes > 0 && ((sends && call->send == NULL) || (receives && call->recv == NULL))) {
        return wrong(TRIB_ERR_INVALID, "a buffer is NULL");
    }
    if (sends && receives && call->send != call->recv && overlap(call->send, bytes, call->recv, bytes)) {
        return wrong(TRIB_ERR_INVALID, "send and recv overlap; they may only be the same");
    }
    return VALID;
}

/* If the call is valid, makes its operation; the operation's shares, if any, are to be freed. */
static struct verdict judge(const struct trib_comm *comm, const struct trib_call *call,
                            struct trib_operation *operation)
{
    uint64_t elements;

    *operation = (struct trib_operation){.collective = call->collective};
    if (call->collective == TRIB_BARRIER) {
        return VALID;
    }
    if (call->collective <= TRIB_COLLECTIVE_NONE || call->collective >= TRIB_COLLECTIVE_COUNT) {
        return wrong(TRIB_ERR_UNSUPPORTED, "no such collective");
    }
    struct verdict verdict = check_type(call, operation);
    if (verdict.status == TRIB_OK) {
        verdict = count_elements(comm, call, operation, &elements);
    }
    if (verdict.status != TRIB_OK) {
        return verdict;
    }
    operation->type = call->type;
    operation->reduction = trib_operation_reduces(operation) ? call->reduction : TRIB_REDUCTION_NONE;
    if (!trib_operation_has_shares(operation)) {
        return make_whole(comm, call, operation);
    }
    operation->send = call->send;
    operation->recv = call->recv;
    verdict = check_shares(comm, call, elements);
    return verdict.status == TRIB_OK ? make_shares(comm, call, elements, operation) : verdict;
}

/* The operation of a call by itself. On success the operation's shares, if any, are to be freed. */
static enum trib_status make(const struct trib_comm *comm, const struct trib_call *call,
                             struct trib_operation *operation)
{
    struct verdict verdict = judge(comm, call, operation);
    return verdict.status == TRIB_OK ? TRIB_OK : refuse(comm, call, verdict.status, verdict.cause);
}

static enum trib_status check_comm(const struct trib_comm *comm, const struct trib_call *call)
{
    return comm != NULL ? TRIB_OK : refuse(NULL, call, TRIB_ERR_INVALID, "comm is NULL");
}

static enum trib_status run(struct trib_comm *comm, const struct trib_call *call)
{
    struct trib_operation operation;
    enum trib_status status = check_comm(comm, call);
    status = status == TRIB_OK ? make(comm, call, &operation) : status;
    if (status == TRIB_OK) {
        status = trib_request_run(comm, &operation);
        trib_request_free_shares(&operation);
    }
    return status;
}

static enum trib_status start(struct trib_comm *comm, const struct trib_call *call, struct trib_request **request)
{
    struct trib_operation operation;
    enum trib_status status = check_comm(comm, call);
    if (status == TRIB_OK && request == NULL) {
        status = refuse(comm, call, TRIB_ERR_INVALID, "request is NULL");
    }
    status = status == TRIB_OK ? make(comm, call, &operation) : status;
    if (status != TRIB_OK) {
        return status;
    }
    status = trib_request_start(comm, &operation, request);
    if (status != TRIB_OK) {
        trib_request_free_shares(&operation);
    }
    return status;
}

/* A program gives the size of uneven shares by counts alone. */
static enum trib_status check_counts(const struct trib_comm *comm, const struct trib_call *call)
{
    enum trib_status status = check_comm(comm, call);
    return status == TRIB_OK && call->counts == NULL ? refuse(comm, call, TRIB_ERR_INVALID, "counts is NULL") : status;
}

static enum trib_status run_uneven(struct trib_comm *comm, const struct trib_call *call)
{
    enum trib_status status = check_counts(comm, call);
    return status == TRIB_OK ? run(comm, call) : status;
}

static enum trib_status start_uneven(struct trib_comm *comm, const struct trib_call *call,
                                     struct trib_request **request)
{
    enum trib_status status = check_counts(comm, call);
    return status == TRIB_OK ? start(comm, call, request) : status;
}

/* ---- groups ---- */

/* Memory that an operation reads or writes. */
struct range {
    uintptr_t first, end;
    uint32_t call; /* index in the group */
    bool is_written;
};

static struct range range_of(const struct trib_comm *comm, const struct trib_call *calls, uint32_t index,
                             const struct trib_operation *operation, bool is_written)
{
    const struct trib_call *call = &calls[index];
    const void *buffer = is_written ? operation->recv : operation->send;
    bool is_share = trib_operation_has_shares(operation) && is_written != (call->collective == TRIB_ALLGATHER);
    uint64_t elements = is_share ? share_of(call, comm->config.rank) : 0;

    if (call->collective != TRIB_BARRIER && !is_share) {
        (void)count_elements(comm, call, operation, &elements); /* the call was valid */
    }
    uintptr_t bytes = buffer != NULL ? elements * trib_type_size(call->type) : 0;
    return (struct range){(uintptr_t)buffer, (uintptr_t)buffer + bytes, index, is_written};
}

/* Adds the memory that the call reads and writes. In place, both are one range that is written, so no two ranges of
 * one call overlap. */
static uint32_t add_ranges(struct range *ranges, struct range read, struct range written)
{
    uint32_t count = 0;
    if (read.first < written.end && written.first < read.end) {
        written.first = read.first < written.first ? read.first : written.first;
        written.end = read.end > written.end ? read.end : written.end;
        read.end = read.first;
    }
    if (read.end != read.first) {
        ranges[count++] = read;
    }
    if (written.end != written.first) {
        ranges[count++] = written;
    }
    return count;
}

static int by_place(const void *a, const void *b)
{
    const struct range *x = a;
    const struct range *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* True if two ranges of different calls, sorted by place, overlap, and one is written. *a, *b: two such. */
static bool find_overlap(const struct range *ranges, uint32_t count, const struct range **a, const struct range **b)
{
    const struct range *last = NULL, *last_written = NULL; /* with the largest ends so far */
    for (const struct range *range = ranges; range < ranges + count; range++) {
        const struct range *before = range->is_written ? last : last_written;
        if (before != NULL && range->first < before->end) {
            *a = before->call < range->call ? before : range;
            *b = *a == range ? before : range;
            return true;
        }
        last = last == NULL || range->end > last->end ? range : last;
        bool is_last = range->is_written && (last_written == NULL || range->end > last_written->end);
        last_written = is_last ? range : last_written;
    }
    return false;
}

/* Operations of a group run at the same time: no operation may read or write memory that another one writes. */
static enum trib_status check_apart(const struct trib_comm *comm, const struct trib_call *calls,
                                    const struct trib_operation *operations, uint32_t count)
{
    uint32_t used = 0;
    enum trib_status status = TRIB_OK;
    const struct range *a = NULL, *b = NULL;
    struct range *ranges = calloc(2 * (size_t)count + 1, sizeof *ranges);
    if (ranges == NULL) {
        return trib_refuse(comm, TRIB_ERR_MEMORY, "no memory for a group of %u operations", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        used += add_ranges(ranges + used, range_of(comm, calls, i, &operations[i], false),
                           range_of(comm, calls, i, &operations[i], true));
    }
    qsort(ranges, used, sizeof *ranges, by_place);
    if (find_overlap(ranges, used, &a, &b)) {
        status = trib_refuse(
            comm, TRIB_ERR_INVALID,
            "group: calls %u (%s) and %u (%s), from 0: a buffer that one writes overlaps one of the other", a->call,
            trib_collective_name(calls[a->call].collective), b->call, trib_collective_name(calls[b->call].collective));
    }
    free(ranges);
    return status;
}

static enum trib_status check_group(const struct trib_comm *comm, const struct trib_call *calls, uint32_t count)
{
    if (comm == NULL) {
        return trib_refuse(NULL, TRIB_ERR_INVALID, "group: comm is NULL");
    }
    if (calls == NULL && count > 0) {
        return trib_refuse(comm, TRIB_ERR_INVALID, "a group of %u operations, but calls is NULL", count);
    }
    if (count > TRIB_GROUP_MAX) {
        return trib_refuse(comm, TRIB_ERR_INVALID, "a group of %u operations: %d is the most", count, TRIB_GROUP_MAX);
    }
    return TRIB_OK;
}

/* The operations of the first *made calls, up to an invalid one. Their shares, if any, are to be freed. */
static enum trib_status make_group(const struct trib_comm *comm, const struct trib_call *calls, uint32_t count,
                                   struct trib_operation *operations, uint32_t *made)
{
    for (*made = 0; *made < count; (*made)++) {
        struct verdict verdict = judge(comm, &calls[*made], &operations[*made]);
        if (verdict.status != TRIB_OK) {
            return trib_refuse(comm, verdict.status, "group: call %u, from 0: %s: %s", *made,
                               trib_collective_name(calls[*made].collective), verdict.cause);
        }
    }
    return TRIB_OK;
}

enum trib_status trib_group_start(struct trib_comm *comm, const struct trib_call *calls, uint32_t count,
                                  struct trib_request **request)
{
    enum trib_status status = check_group(comm, calls, count);
    uint32_t made = 0;
    if (status == TRIB_OK && request == NULL) {
        status = trib_refuse(comm, TRIB_ERR_INVALID, "group: request is NULL");
    }
    if (status != TRIB_OK) {
        return status;
    }
    struct trib_operation *operations = calloc(count + (size_t)1, sizeof *operations);
    if (operations == NULL) {
        return trib_refuse(comm, TRIB_ERR_MEMORY, "no memory for a group of %u operations", count);
    }
    status = make_group(comm, calls, count, operations, &made);
    if (status == TRIB_OK) {
        status = check_apart(comm, calls, operations, count);
    }
    if (status == TRIB_OK) {
        status = trib_request_start_group(comm, operations, count, request);
    }
    for (uint32_t i = 0; i < made && status != TRIB_OK; i++) {
        trib_request_free_shares(&operations[i]);
    }
    free(operations);
    return status;
}

enum trib_status trib_group(struct trib_comm *comm, const struct trib_call *calls, uint32_t count)
{
    struct trib_request *request = NULL;
    enum trib_status status = trib_group_start(comm, calls, count, &request);
    return status == TRIB_OK ? trib_request_wait(request) : status;
}

/* ---- one by one ---- */

enum trib_status trib_allreduce(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                enum trib_type type, enum trib_reduction reduction)
{
    struct trib_call call = {TRIB_ALLREDUCE, type, reduction, 0, send, recv, count, NULL};
    return run(comm, &call);
}

/* 7 parameters: those of trib_allreduce, and the request. */
enum trib_status trib_allreduce_start(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                      enum trib_type type, enum trib_reduction reduction, struct trib_request **request)
{
    struct trib_call call = {TRIB_ALLREDUCE, type, reduction, 0, send, recv, count, NULL};
    return start(comm, &call, request);
}

enum trib_status trib_broadcast(struct trib_comm *comm, void *buffer, uint64_t count, enum trib_type type,
                                uint32_t root)
{
    struct trib_call call = {TRIB_BROADCAST, type, TRIB_REDUCTION_NONE, root, buffer, buffer, count, NULL};
    return run(comm, &call);
}

enum trib_status trib_broadcast_start(struct trib_comm *comm, void *buffer, uint64_t count, enum trib_type type,
                                      uint32_t root, struct trib_request **request)
{
    struct trib_call call = {TRIB_BROADCAST, type, TRIB_REDUCTION_NONE, root, buffer, buffer, count, NULL};
    return start(comm, &call, request);
}

static const struct trib_call barrier = {.collective = TRIB_BARRIER};

enum trib_status trib_barrier(struct trib_comm *comm)
{
    return run(comm, &barrier);
}

enum trib_status trib_barrier_start(struct trib_comm *comm, struct trib_request **request)
{
    return start(comm, &barrier, request);
}

/* 7 parameters: those of trib_allreduce, and the root. */
enum trib_status trib_reduce(struct trib_comm *comm, const void *send, void *recv, uint64_t count, enum trib_type type,
                             enum trib_reduction reduction, uint32_t root)
{
    struct trib_call call = {TRIB_REDUCE, type, reduction, root, send, recv, count, NULL};
    return run(comm, &call);
}

/* 8 parameters: those of trib_reduce, and the request. */
enum trib_status trib_reduce_start(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                   enum trib_type type, enum trib_reduction reduction, uint32_t root,
                                   struct trib_request **request)
{
    struct trib_call call = {TRIB_REDUCE, type, reduction, root, send, recv, count, NULL};
    return start(comm, &call, request);
}

enum trib_status trib_allgather(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                enum trib_type type)
{
    struct trib_call call = {TRIB_ALLGATHER, type, TRIB_REDUCTION_NONE, 0, send, recv, count, NULL};
    return run(comm, &call);
}

enum trib_status trib_allgather_start(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                      enum trib_type type, struct trib_request **request)
{
    struct trib_call call = {TRIB_ALLGATHER, type, TRIB_REDUCTION_NONE, 0, send, recv, count, NULL};
    return start(comm, &call, request);
}

enum trib_status trib_allgather_uneven(struct trib_comm *comm, const void *send, void *recv, const uint64_t *counts,
                                       enum trib_type type)
{
    struct trib_call call = {TRIB_ALLGATHER, type, TRIB_REDUCTION_NONE, 0, send, recv, 0, counts};
    return run_uneven(comm, &call);
}

enum trib_status trib_allgather_uneven_start(struct trib_comm *comm, const void *send, void *recv,
                                             const uint64_t *counts, enum trib_type type, struct trib_request **request)
{
    struct trib_call call = {TRIB_ALLGATHER, type, TRIB_REDUCTION_NONE, 0, send, recv, 0, counts};
    return start_uneven(comm, &call, request);
}

enum trib_status trib_reduce_scatter(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                     enum trib_type type, enum trib_reduction reduction)
{
    struct trib_call call = {TRIB_REDUCE_SCATTER, type, reduction, 0, send, recv, count, NULL};
    return run(comm, &call);
}

/* 7 parameters: those of trib_reduce_scatter, and the request. */
enum trib_status trib_reduce_scatter_start(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                           enum trib_type type, enum trib_reduction reduction,
                                           struct trib_request **request)
{
    struct trib_call call = {TRIB_REDUCE_SCATTER, type, reduction, 0, send, recv, count, NULL};
    return start(comm, &call, request);
}

enum trib_status trib_reduce_scatter_uneven(struct trib_comm *comm, const void *send, void *recv,
                                            const uint64_t *counts, enum trib_type type, enum trib_reduction reduction)
{
    struct trib_call call = {TRIB_REDUCE_SCATTER, type, reduction, 0, send, recv, 0, counts};
    return run_uneven(comm, &call);
}

/* 7 parameters: those of trib_reduce_scatter_uneven, and the request. */
enum trib_status trib_reduce_scatter_uneven_start(struct trib_comm *comm, const void *send, void *recv,
                                                  const uint64_t *counts, enum trib_type type,
                                                  enum trib_reduction reduction, struct trib_request **request)
{
    struct trib_call call = {TRIB_REDUCE_SCATTER, type, reduction, 0, send, recv, 0, counts};
    return start_uneven(comm, &call, request);
}
