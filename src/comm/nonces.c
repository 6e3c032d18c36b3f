/* SPDX-License-Identifier: Apache-2.0 */
/* nonces.c: see nonces.h. */
#include "comm/nonces.h"

#include <stdlib.h>

#include "comm/endpoint.h"
#include "comm/proof.h"
#include "comm/request.h"
#include "comm/sample.h"
#include "comm/state.h"
#include "io/draw.h"

/* A sum in which each rank gives its nonce at its own place. An allgather of shares of 8 bytes would have a fragment
 * for each rank, and each fragment a result for each rank. nonces: all 0. */
static enum trib_status gather(struct trib_comm *comm, uint64_t *nonces)
{
    uint64_t own = trib_draw();
    const struct trib_operation operation = {
        .collective = TRIB_ALLREDUCE,
        .type = TRIB_INT64,
        .reduction = TRIB_SUM,
        .send = nonces,
        .recv = nonces,
        .count = comm->config.ranks,
        .part_of = TRIB_PART_OF_NONCES + comm->config.sample, /* ranks with other samples do not meet */
    };
    nonces[comm->config.rank] = own;
    enum trib_status status = trib_request_run(comm, &operation);
    nonces[comm->config.rank] = own; /* also if a switch sent another one */
    return status;
}

enum trib_status trib_nonces_exchange(struct trib_comm *comm)
{
    if (!trib_proof_is_wanted(comm)) {
        return TRIB_OK;
    }
    uint64_t *nonces = calloc(comm->config.ranks, sizeof *nonces);
    if (nonces == NULL) {
        return TRIB_ERR_MEMORY;
    }
    enum trib_status status = gather(comm, nonces);
    if (status == TRIB_OK) {
        trib_endpoint_lock(comm->endpoint);
        trib_proof_renew(comm, nonces);
        status = trib_sampler_open(comm);
        trib_endpoint_unlock(comm->endpoint);
    }
    free(nonces);
    return status;
}
