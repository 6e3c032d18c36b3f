/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h: requests, and the two queues of a communicator: requests that the transport runs, and requests that wait for
 * room. Locked.
 * Read next: request.c (callers), turn.c. */
#ifndef TRIB_COMM_QUEUE_H
#define TRIB_COMM_QUEUE_H

#include "comm/state.h"
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
