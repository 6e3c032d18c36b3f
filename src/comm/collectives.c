/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.c: the collectives: is the call valid, and which operation is it? Read next: request.c (what becomes of it). */
#include <string.h>

#include "comm/request.h"
#include "io/log.h"

/* A tensor's bytes, so that nothing computed from them overflows. */
#define BYTES_MAX (UINT64_C(1) << 46)

static bool is_too_large(uint64_t count, enum trib_type type)
{
    return count > BYTES_MAX / trib_type_size(type);
}

static bool overlap(const void *a, const void *b, uint64_t bytes)
{
    uintptr_t x = (uintptr_t)a;
    uintptr_t y = (uintptr_t)b;
    return x != y && (x < y ? y - x < bytes : x - y < bytes);
}

static enum trib_status refuse(enum trib_status status, const char *cause)
{
    trib_log(TRIB_LOG_WARN, "%s: %s", trib_status_text(status), cause);
    return status;
}

static enum trib_status make_allreduce(const struct trib_operation *wanted, struct trib_operation *operation)
{
    switch (wanted->type) {
    case TRIB_FLOAT32:
    case TRIB_FLOAT16:
    case TRIB_BFLOAT16:
    case TRIB_INT32:
    case TRIB_INT64:
    case TRIB_FLOAT64:
    case TRIB_INT8:
    case TRIB_UINT8:
        break;
    case TRIB_BYTES:
        return refuse(TRIB_ERR_UNSUPPORTED, "allreduce: bytes have no sum");
    case TRIB_TYPE_NONE:
    case TRIB_TYPE_COUNT:
    default: /* a caller's number need not be one of the enum's */
        return refuse(TRIB_ERR_UNSUPPORTED, "allreduce: no such type");
    }
    if (wanted->reduction < TRIB_SUM || wanted->reduction >= TRIB_REDUCTION_COUNT) {
        return refuse(TRIB_ERR_UNSUPPORTED, "allreduce: no such reduction");
    }
    if (is_too_large(wanted->count, wanted->type)) {
        return refuse(TRIB_ERR_INVALID, "allreduce: more than 64 TiB");
    }
    if (wanted->count > 0 && (wanted->send == NULL || wanted->recv == NULL)) {
        return refuse(TRIB_ERR_INVALID, "allreduce: a buffer is NULL");
    }
    if (overlap(wanted->send, wanted->recv, wanted->count * trib_type_size(wanted->type))) {
        return refuse(TRIB_ERR_INVALID, "allreduce: send and recv overlap; they may only be the same");
    }
    *operation = *wanted;
    operation->collective = TRIB_ALLREDUCE;
    return TRIB_OK;
}

static enum trib_status make_broadcast(const struct trib_comm *comm, void *buffer, const struct trib_operation *wanted,
                                       struct trib_operation *operation)
{
    if (trib_type_size(wanted->type) == 0) {
        return refuse(TRIB_ERR_UNSUPPORTED, "broadcast: no such type");
    }
    if (wanted->root >= comm->config.ranks) {
        return refuse(TRIB_ERR_INVALID, "broadcast: the root is no rank of the communicator");
    }
    if (is_too_large(wanted->count, wanted->type)) {
        return refuse(TRIB_ERR_INVALID, "broadcast: more than 64 TiB");
    }
    if (wanted->count > 0 && buffer == NULL) {
        return refuse(TRIB_ERR_INVALID, "broadcast: the buffer is NULL");
    }
    *operation = *wanted;
    operation->collective = TRIB_BROADCAST;
    operation->send = wanted->root == comm->config.rank ? buffer : NULL;
    operation->recv = wanted->root == comm->config.rank ? NULL : buffer;
    return TRIB_OK;
}

static const struct trib_operation barrier = {.collective = TRIB_BARRIER};

enum trib_status trib_allreduce(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                enum trib_type type, enum trib_reduction reduction)
{
    struct trib_operation operation;
    struct trib_operation wanted = {.send = send, .recv = recv, .count = count, .type = type, .reduction = reduction};
    enum trib_status status = make_allreduce(&wanted, &operation);
    return status == TRIB_OK ? trib_request_run(comm, &operation) : status;
}

enum trib_status trib_broadcast(struct trib_comm *comm, void *buffer, uint64_t count, enum trib_type type,
                                uint32_t root)
{
    struct trib_operation operation;
    struct trib_operation wanted = {.count = count, .type = type, .root = root};
    enum trib_status status = make_broadcast(comm, buffer, &wanted, &operation);
    return status == TRIB_OK ? trib_request_run(comm, &operation) : status;
}

enum trib_status trib_barrier(struct trib_comm *comm)
{
    return trib_request_run(comm, &barrier);
}

/* 7 parameters: those of trib_allreduce, and the request. */
enum trib_status trib_allreduce_start(struct trib_comm *comm, const void *send, void *recv, uint64_t count,
                                      enum trib_type type, enum trib_reduction reduction, struct trib_request **request)
{
    struct trib_operation operation;
    struct trib_operation wanted = {.send = send, .recv = recv, .count = count, .type = type, .reduction = reduction};
    enum trib_status status = make_allreduce(&wanted, &operation);
    return status == TRIB_OK ? trib_request_start(comm, &operation, request) : status;
}

enum trib_status trib_broadcast_start(struct trib_comm *comm, void *buffer, uint64_t count, enum trib_type type,
                                      uint32_t root, struct trib_request **request)
{
    struct trib_operation operation;
    struct trib_operation wanted = {.count = count, .type = type, .root = root};
    enum trib_status status = make_broadcast(comm, buffer, &wanted, &operation);
    return status == TRIB_OK ? trib_request_start(comm, &operation, request) : status;
}

enum trib_status trib_barrier_start(struct trib_comm *comm, struct trib_request **request)
{
    return trib_request_start(comm, &barrier, request);
}
