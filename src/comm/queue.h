/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h: requests, and the two queues of a communicator: requests that the transport runs, and requests that wait for
 * room. Locked.
 * Read next: request.c (callers), communicator.c. */
#ifndef TRIB_COMM_QUEUE_H
#define TRIB_COMM_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <tributary/comm.h>

#include "core/node.h"

struct trib_comm;
struct trib_endpoint;
struct trib_sampled; /* sample.h */

struct trib_request {
    struct trib_comm *comm;         /* not to be touched once done: close may have freed it */
    struct trib_endpoint *endpoint; /* its lock is there until the request is collected */
    uint64_t serial;                /* of comm */
    struct trib_request *next;
    struct trib_request *previous;
    struct trib_request *group;   /* of this operation, or itself; NULL: no group */
    struct trib_sampled *sampled; /* sample of the operation; NULL: none */
    struct trib_operation operation;
    uint64_t deadline_ns;
    uint32_t left;    /* operations that have not ended */
    uint32_t members; /* of a group, which lie behind it */
    enum trib_status status;
    atomic_bool done; /* set last: a thread that reads true may free the request without the lock */
};

/* First in, first out; operations end nearly in order, so the head is the oldest. */
struct trib_request_list {
    struct trib_request *head;
    struct trib_request *tail;
};

void trib_requests_append(struct trib_request_list *list, struct trib_request *request);
/* Takes the request out of the list; the waiting thread sees it done with the status. */
void trib_requests_end(struct trib_request_list *list, struct trib_request *request, enum trib_status status);
void trib_requests_end_all(struct trib_request_list *list, enum trib_status status);

/* True if the communicator has no request. */
bool trib_comm_is_idle(const struct trib_comm *comm);
/* The request with the earliest deadline. NULL: there is none. */
const struct trib_request *trib_comm_oldest(const struct trib_comm *comm);
/* Moves the oldest waiting request to the running ones, and returns it. NULL: none waits. */
struct trib_request *trib_comm_begin_waiting(struct trib_comm *comm);
/* Ends a running request with TRIB_OK. */
void trib_comm_end_operation(struct trib_comm *comm, struct trib_request *request, uint64_t now_ns);

#endif
