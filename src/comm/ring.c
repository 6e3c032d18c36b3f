/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c: a switch makes a ring of a job with gradients below the operator's threshold for switches
 * (config.gradient_bytes, control/jobs/threshold.c). RING comes before any grant, so no state has to change: this rank
 * opens the unconnected socket beside those for the switch's shards, and joins again. Its session stays at the switch.
 * Read next: peers.c (places of packets), join.c (the dialogue). */
#include <stdio.h>
#include <string.h>

#include "comm/connect.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/network.h"
#include "comm/peers.h"
#include "comm/ring.h"
#include "comm/state.h"
#include "comm/states.h"
#include "comm/transport.h"
#include "io/log.h"
#include "schemes/schemes.h"

static void become_ring(struct trib_comm *comm, const char *cause)
{
    memcpy(comm->asked, comm->config.scheme, sizeof comm->asked);
    (void)snprintf(comm->config.scheme, sizeof comm->config.scheme, "%s", TRIB_SCHEME_RING);
    (void)snprintf(comm->ring_cause, sizeof comm->ring_cause, "%s", cause);
    trib_comm_take_scheme(comm);
}

/* RING comes once, before any grant, to a rank that has named its bytes: else RING is out of turn. */
void trib_comm_take_ring(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    const struct trib_config *config = &comm->config;
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    bool may_be = comm->grant.communicator == 0 && config->gradient_bytes != 0 && !comm->where.no_box;
    if (!may_be || !trib_comm_may_take(comm, TRIB_TRANSPORT_RANKS)) {
        trib_comm_refuse_turn(comm, message->kind);
        return;
    }
    enum trib_status status = trib_endpoint_widen(comm->endpoint, &comm->where, config, cause);
    if (status != TRIB_OK) {
        trib_comm_fail(comm, status, "no socket for a ring: %.300s", cause);
        return;
    }
    become_ring(comm, message->note.text);
    if (config->rank == 0) {
        trib_log(TRIB_LOG_INFO, "job %s: %s: it is a ring, and not scheme %s", config->job, comm->ring_cause,
                 comm->asked);
    }
    trib_comm_warn_of_cards(comm);
    trib_session_client_close(&comm->session);
    comm->away[0] = '\0';
    trib_comm_reconnect(comm, now_ns);
}
