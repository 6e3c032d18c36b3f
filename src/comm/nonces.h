/* SPDX-License-Identifier: Apache-2.0 */
/* nonces.h: the first operation of a communicator with a key, by which its lanes differ from those of all other runs.
 *
 * A switch chooses communicator and generation, so two runs with one key could use the same masks, and the switch could
 * learn the numbers of core/tag.h from the differences. So each rank draws a nonce, and the first operation gathers the
 * nonces. All later lanes are by a key of all nonces. If a switch forges the exchange, each rank still has its own
 * nonce in its key: the ranks' keys differ then, and no lane fits any more.
 * Read next: proof.h. */
#ifndef TRIB_COMM_NONCES_H
#define TRIB_COMM_NONCES_H

#include <tributary/comm.h>

/* After all ranks have joined, before the first operation of the program. Does nothing without a key. Returns
 * ERR_MEMORY, and the statuses of trib_allgather. */
TRIB_MUST_USE enum trib_status trib_nonces_exchange(struct trib_comm *comm);

#endif
