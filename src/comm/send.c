/* SPDX-License-Identifier: Apache-2.0 */
/* send.c: see send.h. */
#include "comm/send.h"

#include "comm/state.h"
#include "core/assert.h"

void trib_comm_send(struct trib_comm *comm, uint32_t root, const struct trib_packet *packet)
{
    TRIB_ASSERT(root < comm->root_count);
    const struct trib_seal made = {comm->auth, comm->auth != NULL ? trib_auth_peer(comm->auth, root) : TRIB_AUTH_ALL};
    const struct trib_seal *seal = comm->auth != NULL ? &made : NULL;
    if (trib_comm_is_wide(comm)) {
        TRIB_ASSERT(comm->endpoint->wide != NULL);
        uint32_t card = trib_comm_has_peers(comm) ? 0 : root % comm->endpoint->wide_count;
        trib_port_send_sealed(comm->endpoint->wide[card].port, packet, &comm->roots[root], 1, seal);
    } else {
        trib_port_send_sealed(comm->endpoint->shards[root].port, packet, NULL, 1, seal);
    }
}

/* All packets since the last flush were comm's: the lock is held from the first packet to the flush. */
static void count_sent(struct trib_comm_stats *stats, struct trib_channel *channel)
{
    const struct trib_port_stats *all = trib_port_stats(channel->port);
    stats->bytes_sent += all->bytes_sent - channel->told_bytes;
    stats->packets_sent += all->packets_sent - channel->told_packets;
    stats->send_dropped += all->send_dropped - channel->told_dropped;
    channel->told_bytes = all->bytes_sent;
    channel->told_packets = all->packets_sent;
    channel->told_dropped = all->send_dropped;
}

void trib_comm_flush(struct trib_comm *comm)
{
    for (uint32_t i = 0; i < comm->endpoint->shard_count; i++) {
        trib_port_flush(comm->endpoint->shards[i].port);
        count_sent(&comm->stats, &comm->endpoint->shards[i]);
    }
}
