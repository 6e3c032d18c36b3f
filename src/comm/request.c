/* SPDX-License-Identifier: Apache-2.0 */
/* request.c: see request.h. */
#include "comm/request.h"

#include <stdlib.h>

#include "io/clock.h"

static bool is_done(const struct trib_request *request)
{
    return atomic_load_explicit(&request->done, memory_order_acquire);
}

/* Locked. Packets have left when it returns. */
static enum trib_status submit(struct trib_comm *comm, struct trib_request *request,
                               const struct trib_operation *operation)
{
    if (comm->state == TRIB_COMM_FAILED) {
        return comm->failure;
    }
    request->comm = comm;
    request->operation = *operation;
    request->status = TRIB_OK;
    atomic_init(&request->done, false);
    trib_comm_submit(comm, request, trib_clock_ns());
    return TRIB_OK;
}

/* Locked. `callers` keeps the communicator alive until everybody who waits on it has left; who closes it sleeps meanwhile. */
static void wait_locked(struct trib_comm *comm, struct trib_request *request)
{
    comm->callers++;
    trib_endpoint_wait(comm->endpoint, &request->done);
    comm->callers--;
    if (comm->callers == 0 && comm->is_dissolving) {
        (void)pthread_cond_broadcast(&comm->endpoint->followers);
    }
}

enum trib_status trib_request_run(struct trib_comm *comm, const struct trib_operation *operation)
{
    struct trib_request request = {.comm = comm};
    trib_endpoint_lock(comm->endpoint);
    enum trib_status status = submit(comm, &request, operation);
    if (status == TRIB_OK) {
        wait_locked(comm, &request);
        status = request.status;
    }
    trib_endpoint_unlock(comm->endpoint);
    return status;
}

enum trib_status trib_request_start(struct trib_comm *comm, const struct trib_operation *operation,
                                    struct trib_request **request)
{
    struct trib_request *made = malloc(sizeof *made);
    if (made == NULL) {
        return TRIB_ERR_MEMORY;
    }
    trib_endpoint_lock(comm->endpoint);
    enum trib_status status = submit(comm, made, operation);
    if (status == TRIB_OK) {
        trib_endpoint_attend(comm->endpoint);
        *request = made;
    }
    trib_endpoint_unlock(comm->endpoint);
    if (status != TRIB_OK) {
        free(made);
    }
    return status;
}

static enum trib_status finish(struct trib_request *request)
{
    enum trib_status status = request->status;
    free(request);
    return status;
}

enum trib_status trib_request_wait(struct trib_request *request)
{
    /* Once done it no longer needs its communicator, which may have been closed meanwhile. */
    if (!is_done(request)) {
        struct trib_endpoint *endpoint = request->comm->endpoint;
        trib_endpoint_lock(endpoint);
        wait_locked(request->comm, request);
        trib_endpoint_unlock(endpoint);
    }
    return finish(request);
}

enum trib_status trib_request_test(struct trib_request *request, bool *done)
{
    if (!is_done(request)) {
        struct trib_endpoint *endpoint = request->comm->endpoint;
        trib_endpoint_lock(endpoint);
        trib_endpoint_poke(endpoint);
        trib_endpoint_unlock(endpoint);
    }
    *done = is_done(request);
    return *done ? finish(request) : TRIB_OK;
}
