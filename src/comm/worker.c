/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c: the worker node of a communicator, made for the grant in WELCOME.
 * Read next: join.c (the caller), turn.c (packets and events). */
#include <string.h>

#include "comm/auth.h"
#include "comm/endpoint.h"
#include "comm/layout.h"
#include "comm/proof.h"
#include "comm/state.h"
#include "comm/worker.h"
#include "core/assert.h"
#include "core/share.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/memory.h"
#include "schemes/schemes.h"

#define STALL_NS TRIB_SECOND_NS
/* Operations that a node holds at a time; more wait in the queue. */
#define OPERATIONS_MAX 64

/* More packets in flight than this socket holds would come back as loss. Without a switch one socket serves all
 * roots. */
static uint32_t choose_window(const struct trib_comm *comm, const struct trib_grant *grant)
{
    uint32_t packet = trib_packet_size(comm->config.payload, comm->auth != NULL);
    uint32_t sockets = trib_comm_is_wide(comm) ? grant->roots : 1;
    const struct trib_channel *channel = trib_comm_is_wide(comm) ? comm->endpoint->wide : &comm->endpoint->shards[0];
    TRIB_ASSERT(channel != NULL && channel->port != NULL && sockets > 0);
    uint32_t room = trib_port_receive_room(channel->port) / packet / sockets;
    if (room >= grant->window) {
        return grant->window;
    }
    trib_log(TRIB_LOG_WARN,
             "job %s rank %u: window cut from %u to %u packets, the size of a socket's buffer here: raise "
             "net.core.rmem_max (sysctl), or run as root",
             comm->config.job, comm->config.rank, grant->window, room > 0 ? room : 1);
    return room > 0 ? room : 1;
}

void trib_comm_shrink_window(struct trib_comm *comm, const struct trib_grant *grant)
{
    uint32_t window = choose_window(comm, grant);
    comm->window = window < comm->window ? window : comm->window;
    trib_endpoint_find_window(comm->endpoint);
}

void trib_comm_describe_grant(const struct trib_comm *comm, const struct trib_grant *grant,
                              struct trib_session_config *session)
{
    const struct trib_scheme *scheme = trib_scheme_find(comm->config.scheme);
    trib_comm_describe_session(comm, session);
    session->salt = grant->salt;
    session->communicator = grant->communicator;
    session->ranks = comm->members;
    session->roots = grant->roots;
    session->train = grant->train;
    session->slots = grant->slots;
    session->generation = grant->generation;
    /* An exponent is known when its sequence is done, which is when the window admits the sequence a window later:
     * of the first granted window, half of the slots. A grant at another place may be smaller, and a rank may never
     * have heard of the first grant: the digest must not change with it. */
    session->lookahead = (grant->slots + 1) / 2 * grant->roots;
    session->cap = trib_scheme_has_caps(scheme) ? trib_share_first(grant->slots) : 0;
    memcpy(session->weight, grant->weight, sizeof grant->weight);
}

enum trib_status trib_comm_make_node(struct trib_comm *comm, const struct trib_grant *grant)
{
    uint64_t stall = comm->config.timeout_ns / 2 < STALL_NS ? comm->config.timeout_ns / 2 : STALL_NS;
    const struct trib_scheme *scheme = trib_scheme_find(comm->config.scheme);
    struct trib_worker_config config = {
        .kernels = trib_value_kernels(),
        .rank = comm->member,
        .window = choose_window(comm, grant),
        .operations = OPERATIONS_MAX,
        .stall_ns = stall > 0 ? stall : 1,
        .is_zeroed = 1,
        .rate = comm->rate,
        .extra = TRIB_WIRE_EXTRA + trib_comm_behind_payload(comm),
    };
    trib_comm_describe_grant(comm, grant, &config.session);
    TRIB_ASSERT(comm->node == NULL && !comm->is_led && comm->member < comm->members);
    if (!trib_proof_open(comm, grant)) {
        return TRIB_ERR_MEMORY;
    }
    config.tag = comm->tag;
    comm->node_size = comm->verbs->size(&config);
    comm->node = trib_memory_map(comm->node_size);
    if (comm->node == NULL) {
        return TRIB_ERR_MEMORY;
    }
    comm->verbs->init(comm->node, &config);
    comm->follows_congestion = scheme->follows_congestion;
    trib_endpoint_find_backlog(comm->endpoint);
    comm->window = config.window;
    if (comm->endpoint->window < comm->window) {
        comm->endpoint->window = comm->window;
    }
    return TRIB_OK;
}
