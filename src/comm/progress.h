/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h: the rate that a rank of a planned job has achieved. The rank sends it to the controller as PROGRESS.
 * Locked.
 * Read next: queue.c (the caller), control/jobs/progress.h (the other side). */
#ifndef TRIB_COMM_PROGRESS_H
#define TRIB_COMM_PROGRESS_H

#include "comm/state.h"

/* Counts an operation that ends now. Sends PROGRESS if the rank was busy for TRIB_PROGRESS_NS since the last one. */
void trib_comm_count_operation(struct trib_comm *comm, const struct trib_operation *operation, uint64_t now_ns);

#endif
