/* SPDX-License-Identifier: Apache-2.0 */
/* nonces.h: the first operation of a communicator with a key. It makes its lanes differ from those of all other runs.
 *
 * A switch chooses communicator and generation. So two runs with one key could use the same masks, and the switch could
 * learn the numbers of core/tag.h from the differences of their lanes. So each rank draws a nonce, the first operation
 * gathers the nonces, and all later lanes use a key that is made with them. If a switch forges the exchange, the key of
 * each rank still has the rank's own nonce in it: then the keys of the ranks differ, and no lane fits any more.
 * Read next: proof.h. */
#ifndef TRIB_COMM_NONCES_H
#define TRIB_COMM_NONCES_H

#include <tributary/comm.h>

/* Call it when all ranks have joined, before the first operation of the program. Does nothing if no values are proved
 * (trib_proof_is_wanted). Opens comm->sampler. Returns ERR_MEMORY, or as trib_allgather. */
TRIB_MUST_USE enum trib_status trib_nonces_exchange(struct trib_comm *comm);

#endif
