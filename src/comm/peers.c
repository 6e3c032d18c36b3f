/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c: communicators whose ranks send to each other (scheme ring): where the packets of a rank go and whose come from where, by what
 * WELCOME says. There is one data socket, and PATH packets go from rank to rank. Read next: join.c. */
#include "comm/communicator.h"

#include <string.h>

#include "schemes/schemes.h"

bool trib_comm_is_welcome_of_peers(const struct trib_comm *comm, const struct trib_message *message)
{
    const struct trib_session_config session = {.ranks = comm->config.ranks,
                                                .group = trib_scheme_group(comm->config.scheme)};
    uint16_t peers[TRIB_PEERS_MAX];
    uint32_t count = comm->has_peers ? comm->verbs->peers(&session, comm->config.rank, peers) : 0;
    bool is_right = message->welcome.peer_count == count;
    for (uint32_t i = 0; i < count && is_right; i++) {
        is_right = message->welcome.peer[i].rank == peers[i];
    }
    return is_right && (!comm->has_peers || (message->welcome.root_count == 0 && message->welcome.grant.roots == 1));
}

void trib_comm_take_places(struct trib_comm *comm, const struct trib_message *message)
{
    memcpy(comm->roots, message->welcome.root, sizeof comm->roots);
    comm->root_count = comm->has_peers ? message->welcome.peer_count : message->welcome.grant.roots;
    for (uint32_t i = 0; i < comm->root_count && comm->has_peers; i++) {
        comm->peers[i] = (uint16_t)message->welcome.peer[i].rank;
        comm->roots[i] = message->welcome.peer[i].address;
    }
    comm->last_root = 0;
}

const char *trib_comm_places(const struct trib_comm *comm)
{
    return comm->has_peers ? "peers" : comm->where.no_box ? "roots" : "shards";
}

uint32_t trib_comm_root_at(const struct trib_comm *comm, const struct trib_place *to)
{
    uint32_t root = 0;
    if (to->kind == TRIB_PLACE_ROOT && !comm->has_peers) {
        return to->index < comm->root_count ? to->index : comm->root_count;
    }
    while (root < comm->root_count && (to->kind != TRIB_PLACE_PEER || comm->peers[root] != to->index)) {
        root++;
    }
    return root;
}

bool trib_comm_echo_path(struct trib_comm *comm, uint32_t root, const struct trib_packet *packet)
{
    if (!comm->has_peers || packet->node == comm->config.rank) {
        return false;
    }
    if (packet->generation == comm->grant.generation && packet->node == comm->peers[root] &&
        packet->payload_len == comm->config.payload && comm->state != TRIB_COMM_FAILED) {
        trib_comm_send(comm, root, packet);
        trib_comm_flush(comm);
    }
    return true;
}

void trib_comm_dispute(struct trib_comm *comm, const struct trib_event *event)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_DISPUTE};
    message.dispute.sequence = event->sequence;
    message.dispute.rank[0] = event->child;
    message.dispute.rank[1] = event->other;
    trib_session_client_send(&comm->session, &message);
}
