/* SPDX-License-Identifier: Apache-2.0 */
/* request.h: an operation between start and end. A blocking collective has its request on the stack.
 * Read next: request.c, collectives.c. */
#ifndef TRIB_COMM_REQUEST_H
#define TRIB_COMM_REQUEST_H

#include "comm/state.h"

/* Starts the operation and waits. Returns the operation's status, or the failure that had ended the communicator. */
TRIB_MUST_USE enum trib_status trib_request_run(struct trib_comm *comm, const struct trib_operation *operation);
/* Starts the operation. Returns ERR_MEMORY, or the failure that had ended the communicator. The shares of a started
 * operation are the request's, which frees them. */
TRIB_MUST_USE enum trib_status trib_request_start(struct trib_comm *comm, const struct trib_operation *operation,
                                                  struct trib_request **request);
/* The same for several, in this order and with none between; one request stands for all. */
TRIB_MUST_USE enum trib_status trib_request_start_group(struct trib_comm *comm, const struct trib_operation *operations,
                                                        uint32_t count, struct trib_request **request);
/* Shares that were made by malloc, or none. */
void trib_request_free_shares(struct trib_operation *operation);

#endif
