/* SPDX-License-Identifier: Apache-2.0 */
/* say.c: see say.h. */
#include "comm/say.h"

#include <stdio.h>
#include <string.h>

#include "comm/describe.h"
#include "comm/embedded.h"
#include "comm/own_root.h"
#include "comm/state.h"
#include "comm/states.h"
#include "core/assert.h"
#include "io/clock.h"

/* At the least so long between two marks that a BOOT hint has caused. */
#define HINT_GAP_NS (100 * TRIB_MILLISECOND_NS)

static void name_ports(const struct trib_comm *comm, struct trib_message *message)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < comm->endpoint->shard_count; i++) {
        const struct trib_channel *channel = &comm->endpoint->shards[i];
        struct trib_address local;
        if (channel->is_wide == trib_comm_is_wide(comm)) {
            trib_port_local(channel->port, &local);
            message->join.data_port[count++] = trib_address_port(&local);
        }
    }
    TRIB_ASSERT(count <= TRIB_ROOTS_MAX);
    message->join.roots = trib_comm_is_wide(comm) ? 0 : count;
    message->join.address_count = (uint8_t)comm->endpoint->nics.count;
    memcpy(message->join.address, comm->endpoint->nics.at, sizeof message->join.address);
}

void trib_comm_say_join(struct trib_comm *comm)
{
    const struct trib_config *config = &comm->config;
    struct trib_message message = {.kind = TRIB_MESSAGE_JOIN};
    TRIB_ASSERT(comm->state == TRIB_COMM_JOINING);
    message.join.magic = TRIB_SESSION_MAGIC;
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = TRIB_WIRE_VERSION;
    (void)snprintf(message.join.job, sizeof message.join.job, "%s", config->job);
    (void)snprintf(message.join.run, sizeof message.join.run, "%s", config->run);
    message.join.rank = config->rank;
    name_ports(comm, &message);
    /* After a restart the switch goes on by multicast only if it did before; a rank without READY tries multicast as
     * the first time. */
    message.join.multicast = comm->was_running ? comm->is_multicast : config->multicast;
    (void)snprintf(message.join.settings.scheme, sizeof message.join.settings.scheme, "%s",
                   comm->asked[0] != '\0' ? comm->asked : config->scheme);
    message.join.settings.ranks = config->ranks;
    message.join.settings.payload = config->payload;
    message.join.settings.window = config->window;
    message.join.settings.wire = (uint8_t)config->wire;
    message.join.settings.fallback = config->fallback;
    message.join.settings.encrypt = config->encrypt;
    message.join.settings.gradient_bytes = config->gradient_bytes;
    message.join.settings.priority = (uint8_t)config->priority;
    message.join.is_ring = comm->asked[0] != '\0';
    message.join.meet_port = comm->where.no_box || config->rank != 0 ? 0 : trib_embedded_port(comm->embedded);
    message.join.host = trib_host_digest(config);
    message.join.level0 = config->level0;
    if (comm->has_moved) {
        message.join.level0 = comm->transport->keep_hosts != NULL;
        if (message.join.level0) {
            comm->transport->keep_hosts(comm, &message);
        }
    }
    if (comm->where.no_box && trib_own_root_is_open(&comm->endpoint->own_root)) {
        message.join.weight = (uint8_t)config->root_weight;
        message.join.root_port = trib_own_root_port(&comm->endpoint->own_root);
        message.join.room = trib_plane_receive_room(comm->endpoint->own_root.plane);
    }
    if (trib_comm_has_peers(comm)) {
        message.join.room = trib_port_receive_room(comm->endpoint->wide->port);
    }
    message.join.maker = comm->made_by;
    message.join.known = comm->grant;
    message.join.key = trib_key_id_number(&comm->keys);
    if (comm->where.is_server) { /* a group in the grant is of the combiner */
        message.join.multicast = false;
        message.join.known.group = 0;
        message.join.known.group_port = 0;
    }
    message.join.was_ready = comm->was_running;
    trib_session_client_send(&comm->session, &message);
}

void trib_comm_tell_mark(struct trib_comm *comm, enum trib_message_kind kind)
{
    struct trib_message message = {.kind = kind};
    message.mark.mark = comm->transport->mark(comm);
    TRIB_ASSERT(message.mark.mark >= comm->told_mark); /* a mark never falls */
    comm->told_mark = message.mark.mark;
    trib_session_client_send(&comm->session, &message);
}

void trib_comm_tell_close(struct trib_comm *comm)
{
    bool is_in = comm->state >= TRIB_COMM_JOINING && comm->state <= TRIB_COMM_RUNNING;
    if (comm->is_closing && comm->was_running && is_in) {
        trib_comm_tell_mark(comm, TRIB_MESSAGE_CLOSE);
    }
}

void trib_comm_register(struct trib_comm *comm)
{
    TRIB_ASSERT(comm->grant.communicator != 0);
    trib_comm_enter(comm, TRIB_COMM_REGISTERING);
    trib_comm_tell_mark(comm, TRIB_MESSAGE_REGISTER);
}

void trib_comm_say_operation(struct trib_comm *comm, uint64_t sequence)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_OPERATION};
    message.operation.sequence = sequence;
    trib_comm_describe(comm, sequence, message.operation.text, sizeof message.operation.text);
    trib_session_client_send(&comm->session, &message);
}

/* The session decides about boots, but a machine without power resets no connection until a packet reaches the
 * machine. */
void trib_comm_hint_boot(struct trib_comm *comm, uint64_t now_ns)
{
    if (comm->state == TRIB_COMM_RUNNING && !comm->is_closing && now_ns >= comm->boot_hint_ns + HINT_GAP_NS) {
        comm->boot_hint_ns = now_ns;
        trib_comm_tell_mark(comm, TRIB_MESSAGE_MARK);
    }
}
