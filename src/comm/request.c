/* SPDX-License-Identifier: Apache-2.0 */
/* request.c: see request.h. */
#include "comm/request.h"

#include <stdlib.h>

#include "comm/drive.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/network.h"
#include "comm/refusal.h"
#include "comm/sample.h"
#include "comm/state.h"
#include "comm/turn.h"
#include "io/clock.h"

static bool is_done(const struct trib_request *request)
{
    return atomic_load_explicit(&request->done, memory_order_acquire);
}

static void begin(struct trib_comm *comm, struct trib_request *request, uint32_t operations)
{
    *request = (struct trib_request){
        .comm = comm, .endpoint = comm->endpoint, .serial = comm->serial, .left = operations, .status = TRIB_OK};
    atomic_init(&request->done, operations == 0);
}

/* Draws of later operations depend on how many were prepared, so no rank may leave one out. */
static enum trib_status prepare(struct trib_comm *comm, struct trib_request *request)
{
    enum trib_status status = trib_sample_prepare(comm, request);
    if (status != TRIB_OK) {
        trib_comm_fail_all(comm, status, "rank %u: no memory for the sample of an operation", comm->config.rank);
        trib_comm_settle(comm, trib_clock_ns());
    }
    return status;
}

static void put(struct trib_comm *comm, struct trib_request *request)
{
    uint64_t now = trib_clock_ns();
    trib_comm_submit(comm, request, now);
    if (trib_sample_gathering(request) != NULL) {
        trib_comm_submit(comm, trib_sample_gathering(request), now);
    }
}

/* Locked. Packets have left when it returns. */
static enum trib_status submit(struct trib_comm *comm, struct trib_request *request,
                               const struct trib_operation *operation)
{
    enum trib_status status = trib_comm_check_open(comm);
    if (status != TRIB_OK) {
        return status;
    }
    begin(comm, request, 1);
    request->operation = *operation;
    status = prepare(comm, request);
    if (status == TRIB_OK) {
        put(comm, request);
        trib_comm_settle(comm, trib_clock_ns());
    }
    return status;
}

/* Locked. `callers` keeps the communicator alive until every waiting thread has left; the thread that closes it
 * sleeps meanwhile. */
static void wait_locked(struct trib_comm *comm, struct trib_request *request, uint64_t until_ns)
{
    comm->callers++;
    trib_endpoint_wait_until(comm->endpoint, &request->done, until_ns);
    comm->callers--;
    if (comm->callers == 0 && comm->is_dissolving) {
        (void)pthread_cond_broadcast(&comm->endpoint->followers);
    }
}

/* Status of an ended request. The refusal of a request that the communicator outlives is noted for this thread. */
static enum trib_status status_of(const struct trib_request *request)
{
    if (request->status == TRIB_ERR_UNSUPPORTED) {
        trib_note_refusal(request->serial, TRIB_COMM_USED_UP);
    }
    return request->status;
}

enum trib_status trib_request_run(struct trib_comm *comm, const struct trib_operation *operation)
{
    struct trib_request request = {.status = TRIB_OK};
    trib_endpoint_lock(comm->endpoint);
    enum trib_status status = submit(comm, &request, operation);
    if (status == TRIB_OK) {
        wait_locked(comm, &request, TRIB_NEVER);
        status = status_of(&request);
    }
    trib_endpoint_unlock(comm->endpoint);
    trib_sample_free(&request);
    return status;
}

/* All under one lock, so that no operation of another thread comes between, and packets of several operations share
 * trains. */
static enum trib_status submit_group(struct trib_comm *comm, struct trib_request *group,
                                     const struct trib_operation *operations, uint32_t count)
{
    enum trib_status status = trib_comm_check_open(comm);
    if (status != TRIB_OK) {
        return status;
    }
    begin(comm, group, count);
    group->group = group;
    group->members = count;
    for (uint32_t i = 0; i < count && status == TRIB_OK; i++) {
        struct trib_request *member = &group[1 + i];
        begin(comm, member, 1);
        member->group = group;
        member->operation = operations[i];
        status = prepare(comm, member);
    }
    if (status != TRIB_OK) {
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        put(comm, &group[1 + i]);
    }
    trib_comm_settle(comm, trib_clock_ns());
    return TRIB_OK;
}

/* Frees a request that was not submitted: one, or a group with so many behind it. */
static void discard(struct trib_request *made, uint32_t members)
{
    for (uint32_t i = 0; i <= members; i++) {
        trib_sample_free(&made[i]);
    }
    free(made);
}

/* Submits `made`, or its group of operations. trib_request_wait or _test ends it; a thread must drive until then. */
static enum trib_status start(struct trib_comm *comm, struct trib_request *made, bool is_group,
                              const struct trib_operation *operations, uint32_t count, struct trib_request **request)
{
    trib_endpoint_lock(comm->endpoint);
    enum trib_status status = is_group ? submit_group(comm, made, operations, count) : submit(comm, made, operations);
    if (status == TRIB_OK) {
        trib_endpoint_hold(comm->endpoint);
        trib_endpoint_attend(comm->endpoint);
        *request = made;
    }
    trib_endpoint_unlock(comm->endpoint);
    if (status != TRIB_OK) {
        discard(made, is_group ? count : 0);
    }
    return status;
}

enum trib_status trib_request_start(struct trib_comm *comm, const struct trib_operation *operation,
                                    struct trib_request **request)
{
    struct trib_request *made = calloc(1, sizeof *made);
    return made != NULL ? start(comm, made, false, operation, 1, request)
                        : trib_refuse(comm, TRIB_ERR_MEMORY, "no memory for a request");
}

enum trib_status trib_request_start_group(struct trib_comm *comm, const struct trib_operation *operations,
                                          uint32_t count, struct trib_request **request)
{
    struct trib_request *made = calloc(1 + (size_t)count, sizeof *made);
    return made != NULL ? start(comm, made, true, operations, count, request)
                        : trib_refuse(comm, TRIB_ERR_MEMORY, "no memory for a group of %u operations", count);
}

void trib_request_free_shares(struct trib_operation *operation)
{
    free((void *)(uintptr_t)operation->shares);
    operation->shares = NULL;
}

/* Done. Its communicator may have been closed meanwhile. */
static enum trib_status collect(struct trib_request *request)
{
    enum trib_status status = status_of(request);
    for (uint32_t i = 0; i <= request->members; i++) {
        trib_request_free_shares(&request[i].operation);
        trib_sample_free(&request[i]);
    }
    trib_endpoint_drop(request->endpoint);
    free(request);
    return status;
}

static void wait_until(struct trib_request *request, uint64_t until_ns)
{
    struct trib_endpoint *endpoint = request->endpoint;
    trib_endpoint_lock(endpoint);
    /* Close ends requests before the communicator is freed: while a request is not done, and the lock is held, the
     * communicator exists. */
    if (!is_done(request)) {
        wait_locked(request->comm, request, until_ns);
    }
    trib_endpoint_unlock(endpoint);
}

static enum trib_status check(const struct trib_request *request, const char *call)
{
    return request != NULL ? TRIB_OK : trib_refuse(NULL, TRIB_ERR_INVALID, "%s: request is NULL", call);
}

static enum trib_status check_both(const struct trib_request *request, const bool *done, const char *call)
{
    return request != NULL && done == NULL ? trib_refuse(NULL, TRIB_ERR_INVALID, "%s: done is NULL", call)
                                           : check(request, call);
}

enum trib_status trib_request_wait(struct trib_request *request)
{
    enum trib_status status = check(request, "trib_request_wait");
    if (status != TRIB_OK) {
        return status;
    }
    if (!is_done(request)) {
        wait_until(request, TRIB_NEVER);
    }
    return collect(request);
}

enum trib_status trib_request_wait_for(struct trib_request *request, uint64_t limit_ns, bool *done)
{
    enum trib_status status = check_both(request, done, "trib_request_wait_for");
    if (status != TRIB_OK) {
        return status;
    }
    if (!is_done(request)) {
        uint64_t now = trib_clock_ns();
        wait_until(request, limit_ns < TRIB_NEVER - now ? now + limit_ns : TRIB_NEVER);
    }
    *done = is_done(request);
    return *done ? collect(request) : TRIB_OK;
}

enum trib_status trib_request_test(struct trib_request *request, bool *done)
{
    enum trib_status status = check_both(request, done, "trib_request_test");
    if (status != TRIB_OK) {
        return status;
    }
    if (!is_done(request)) {
        struct trib_endpoint *endpoint = request->endpoint;
        trib_endpoint_lock(endpoint);
        if (!is_done(request)) {
            trib_endpoint_poke(endpoint);
        }
        trib_endpoint_unlock(endpoint);
    }
    *done = is_done(request);
    return *done ? collect(request) : TRIB_OK;
}
