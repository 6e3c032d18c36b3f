/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c: addresses of a rank's packets, by WELCOME, to roots and to other ranks (schemes ring and hybrid). Ranks that
 * send to each other have one data socket, and PATH packets go from rank to rank.
 * Read next: join.c. */
#include "comm/peers.h"
#include "comm/layout.h"

#include <string.h>
#include <sys/socket.h>

#include "comm/endpoint.h"
#include "comm/own_root.h"
#include "comm/send.h"
#include "comm/state.h"
#include "core/assert.h"
#include "io/draw.h"
#include "io/explain.h"
#include "io/log.h"

bool trib_comm_is_welcome_of_peers(const struct trib_comm *comm, const struct trib_message *message)
{
    struct trib_session_config session;
    trib_comm_describe_session(comm, &session);
    uint16_t peers[TRIB_PEERS_MAX];
    uint32_t count = trib_comm_has_peers(comm) ? comm->verbs->peers(&session, comm->config.rank, peers) : 0;
    bool is_right = message->welcome.peer_count == count;
    for (uint32_t i = 0; i < count && is_right; i++) {
        is_right = message->welcome.peer[i].rank == peers[i];
    }
    return is_right &&
           (!trib_comm_has_peers(comm) || (message->welcome.root_count == 0 && message->welcome.grant.roots == 1));
}

static struct trib_address place_of(const struct trib_comm *comm, const struct trib_message *message, uint32_t index)
{
    struct trib_address place = comm->where.address;
    if (trib_comm_has_peers(comm)) {
        return message->welcome.peer[index].address;
    }
    if (message->welcome.root_count > 0) {
        return message->welcome.root[index];
    }
    trib_address_set_port(&place, (uint16_t)(message->welcome.grant.data_port + index));
    return place;
}

static void explain_way(bool is_inside, const char *to, const char *from, const char *known, char *error)
{
    if (is_inside) {
        trib_explain(
            error,
            "packets to the switch's shard at %s leave from %s, and the switch knows this rank as %s: name the "
            "switch by an address that other machines know",
            to, from, known);
        return;
    }
    trib_explain(error,
                 "packets to the switch's shard at %s leave from %s, and the switch knows this rank as %s: name the "
                 "network cards, one for each address of the switch (TRIB_NICS=%s,%s)",
                 to, from, known, known, from);
}

/* A switch at several addresses takes packets from the session's address alone, if JOIN names no others. But the
 * routes may leave by another card for one of the addresses. */
static enum trib_status check_ways(const struct trib_comm *comm, const struct trib_message *message, char *error)
{
    struct trib_address session = {.len = sizeof session.storage};
    bool is_asked = message->welcome.root_count > 0 && comm->endpoint->nics.count == 0;
    if (!is_asked || getsockname(comm->session.fd, (struct sockaddr *)&session.storage, &session.len) != 0) {
        return TRIB_OK;
    }
    for (uint32_t i = 0; i < comm->root_count; i++) {
        struct trib_address local = trib_endpoint_local(comm->endpoint, i);
        if (!trib_address_same_host(&local, &session)) {
            char from[64], to[64], known[64];
            trib_address_format(&local, from);
            trib_address_format(&comm->roots[i], to);
            trib_address_format(&session, known);
            *strrchr(from, ':') = '\0';
            *strrchr(known, ':') = '\0';
            explain_way(trib_address_is_loopback(&session), to, from, known, error);
            return TRIB_ERR_UNREACHABLE;
        }
    }
    return TRIB_OK;
}

/* A root proves its address in each incarnation, a peer at each change of address: a peer's proof holds for the life
 * of both processes. */
static void doubt(struct trib_comm *comm, uint32_t index, const struct trib_address *before)
{
    if (trib_comm_has_peers(comm) && comm->own_nonce[index] != 0 && trib_address_equal(before, &comm->roots[index])) {
        return;
    }
    comm->proved &= ~(UINT64_C(1) << index);
    comm->own_nonce[index] = trib_draw() | 1;
    comm->path_nonce[index] = 0;
    if (trib_comm_has_peers(comm)) {
        comm->headers[index] = 0;
    }
}

bool trib_comm_knows_peers(const struct trib_comm *comm)
{
    return trib_comm_has_peers(comm) && comm->proved == (UINT64_C(1) << comm->root_count) - 1;
}

enum trib_status trib_comm_take_places(struct trib_comm *comm, const struct trib_message *message, char *error)
{
    comm->root_count = trib_comm_has_peers(comm) ? message->welcome.peer_count : message->welcome.grant.roots;
    comm->seen_as = message->welcome.known_as;
    TRIB_ASSERT(comm->root_count <= (trib_comm_has_peers(comm) ? TRIB_PEERS_MAX : TRIB_ROOTS_MAX));
    for (uint32_t i = 0; i < comm->root_count; i++) {
        struct trib_address before = comm->roots[i];
        comm->roots[i] = place_of(comm, message, i);
        doubt(comm, i, &before);
        if (trib_comm_has_peers(comm)) {
            comm->peers[i] = (uint16_t)message->welcome.peer[i].rank;
        }
        if (trib_comm_is_wide(comm)) {
            trib_comm_answer_from(comm, &comm->roots[i]);
        }
    }
    comm->last_root = 0;
    if (trib_comm_is_wide(comm)) {
        return TRIB_OK;
    }
    enum trib_status status = trib_endpoint_connect(comm, error);
    return status == TRIB_OK ? check_ways(comm, message, error) : status;
}

void trib_comm_warn_of_cards(const struct trib_comm *comm)
{
    const struct trib_config *config = &comm->config;
    if (trib_comm_has_peers(comm) && strchr(config->nics, ',') != NULL) {
        trib_log(TRIB_LOG_WARN, "job %s rank %u: network cards %s: scheme %s uses the first one only", config->job,
                 config->rank, config->nics, config->scheme);
    }
}

const char *trib_comm_places(const struct trib_comm *comm)
{
    return trib_comm_has_peers(comm) ? "peers" : comm->where.no_box ? "roots" : "shards";
}

uint32_t trib_comm_root_at(const struct trib_comm *comm, const struct trib_place *to)
{
    uint32_t root = 0;
    if (to->kind == TRIB_PLACE_ROOT && !trib_comm_has_peers(comm)) {
        return to->index < comm->root_count ? to->index : comm->root_count;
    }
    while (root < comm->root_count && (to->kind != TRIB_PLACE_PEER || comm->peers[root] != to->index)) {
        root++;
    }
    return root;
}

/* As a shard does: answers with a header and this rank's nonce until the peer has brought the nonce, and not often;
 * then with the whole packet. */
static void echo(struct trib_comm *comm, uint32_t root, const struct trib_packet *packet)
{
    uint64_t bit = UINT64_C(1) << root;
    comm->proved |= packet->bitmap == comm->own_nonce[root] ? bit : 0;
    bool is_proved = (comm->proved & bit) != 0;
    if (!is_proved && comm->headers[root] >= TRIB_PATH_HEADERS) {
        return;
    }
    comm->headers[root] += is_proved ? 0 : 1;
    struct trib_packet answer = *packet;
    answer.bitmap = packet->lane;
    answer.lane = is_proved ? 0 : comm->own_nonce[root];
    answer.payload_len = is_proved ? packet->payload_len : 0;
    trib_comm_send(comm, root, &answer);
    trib_comm_flush(comm);
}

bool trib_comm_echo_path(struct trib_comm *comm, uint32_t root, const struct trib_packet *packet)
{
    if (!trib_comm_has_peers(comm) || packet->node == comm->config.rank) {
        return false;
    }
    if (packet->generation == comm->grant.generation && packet->node == comm->peers[root] &&
        (packet->payload_len == 0 || packet->payload_len == comm->config.payload) && comm->state != TRIB_COMM_FAILED) {
        echo(comm, root, packet);
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
