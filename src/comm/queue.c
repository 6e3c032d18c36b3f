/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c: see queue.h. */
#include "comm/queue.h"

#include "comm/progress.h"
#include "comm/state.h"
#include "comm/wake.h"
#include "core/assert.h"

void trib_requests_append(struct trib_request_list *list, struct trib_request *request)
{
    TRIB_ASSERT((list->head == NULL) == (list->tail == NULL));
    request->next = NULL;
    request->previous = list->tail;
    if (list->tail != NULL) {
        list->tail->next = request;
    } else {
        list->head = request;
    }
    list->tail = request;
}

static void unlink_request(struct trib_request_list *list, struct trib_request *request)
{
    TRIB_ASSERT(request->previous != NULL ? request->previous->next == request : list->head == request);
    if (request->previous != NULL) {
        request->previous->next = request->next;
    } else {
        list->head = request->next;
    }
    if (request->next != NULL) {
        request->next->previous = request->previous;
    } else {
        list->tail = request->previous;
    }
}

/* The request is the waiter's from the store on; a group is its waiter's from the store for the last of it on. */
void trib_requests_end(struct trib_request_list *list, struct trib_request *request, enum trib_status status)
{
    struct trib_request *whole = request->group != NULL ? request->group : request;

    TRIB_ASSERT(whole->left > 0);
    unlink_request(list, request);
    if (whole->status == TRIB_OK) {
        whole->status = status;
    }
    if (--whole->left == 0) {
        atomic_store_explicit(&whole->done, true, memory_order_release);
    }
}

void trib_requests_end_all(struct trib_request_list *list, enum trib_status status)
{
    while (list->head != NULL) {
        trib_requests_end(list, list->head, status);
    }
}

bool trib_comm_is_idle(const struct trib_comm *comm)
{
    return comm->running.head == NULL && comm->waiting.head == NULL;
}

const struct trib_request *trib_comm_oldest(const struct trib_comm *comm)
{
    return comm->running.head != NULL ? comm->running.head : comm->waiting.head;
}

struct trib_request *trib_comm_begin_waiting(struct trib_comm *comm)
{
    struct trib_request *request = comm->waiting.head;
    if (request != NULL) {
        unlink_request(&comm->waiting, request);
        trib_requests_append(&comm->running, request);
    }
    return request;
}

void trib_comm_end_operation(struct trib_comm *comm, struct trib_request *request, uint64_t now_ns)
{
    TRIB_ASSERT(comm->running.head != NULL && request->comm == comm);
    comm->stats.operations++;
    if (comm->rate != 0) {
        trib_comm_count_operation(comm, &request->operation, now_ns);
    }
    comm->idle_since_ns = now_ns;
    trib_requests_end(&comm->running, request, TRIB_OK);
    trib_endpoint_wake(comm->endpoint);
}
