/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h: operations and ranks in words, for errors and logs. Locked. */
#ifndef TRIB_COMM_DESCRIBE_H
#define TRIB_COMM_DESCRIBE_H

#include "comm/state.h"

/* "rank 2 is missing", "ranks 2, 3 are missing". */
void trib_comm_name_ranks(const struct trib_rank_list *ranks, char *text, size_t size);
/* "allreduce of 1,024 float32 (sum)" into text of size bytes. */
void trib_comm_name_operation(const struct trib_operation *operation, char *text, size_t size);
/* "allreduce of 1,024 float32 (sum) as operation 17" into text of size bytes. */
void trib_comm_describe_operation(uint64_t number, const struct trib_operation *operation, char *text, size_t size);
/* The same, of the operation with this sequence. */
void trib_comm_describe(const struct trib_comm *comm, uint64_t sequence, char *text, size_t size);

#endif
