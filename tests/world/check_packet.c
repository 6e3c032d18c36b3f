/* SPDX-License-Identifier: Apache-2.0 */
/* check_packet.c: what every sum that leaves a node must be: the lane of a result proves all ranks, each once, that of a contribution all
 * ranks below (I12); a result's bitmap is whole (I2); and no mark is above that of a rank which it speaks for.
 * Read next: check_buffers.c. */
#include <inttypes.h>

#include "core/lane.h"
#include "world.h"

static uint64_t lane_of(const struct world_comm *comm, uint64_t keys, const struct trib_packet *packet)
{
    const struct trib_session_config *s = &comm->set.session;
    struct trib_lane_id id = {
        .salt = s->salt,
        .sequence = packet->sequence,
        .communicator = s->communicator,
        .digest = packet->digest,
        .generation = s->generation,
        .attempt = packet->attempt,
    };

    return keys * trib_lane_odd(&id);
}

static void check_mark(const struct world_comm *comm, const struct rank_set *ranks, const struct trib_packet *packet)
{
    for (uint32_t rank = rank_set_next(ranks, 0); rank != WORLD_NONE; rank = rank_set_next(ranks, rank + 1)) {
        void *node = worker_node(comm, rank);
        if (node != NULL && comm->world->scheme->worker->mark(node) < packet->mark) {
            world_fail(comm->world, WORLD_CHECK_MARK, "%s of %" PRIu64 " has mark %" PRIu64 ", rank %u is behind",
                       trib_kind_name((enum trib_kind)packet->kind), packet->sequence, packet->mark, rank);
        }
    }
}

/* From an inner node to its parent. */
void check_up(const struct world_comm *comm, const struct shape_node *shape, const struct trib_packet *packet)
{
    if (!comm_has_promise(comm)) {
        return;
    }
    check_mark(comm, &shape->ranks, packet);
    if (packet->kind == TRIB_CONTRIBUTION && packet->lane != lane_of(comm, shape->keys, packet)) {
        world_fail(comm->world, WORLD_CHECK_LANE, "a contribution of %" PRIu64 " for %u ranks has the wrong lane",
                   packet->sequence, shape->rank_count);
    }
    if (packet->kind == TRIB_OFFER && packet->lane != lane_of(comm, comm->shapes[0].nodes[0].keys, packet)) {
        world_fail(comm->world, WORLD_CHECK_LANE, "an offer of %" PRIu64 " has the wrong lane", packet->sequence);
    }
}

/* From a node to its children. */
void check_down(const struct world_comm *comm, const struct shape_node *shape, const struct trib_packet *packet)
{
    if (!comm_has_promise(comm)) {
        return;
    }
    check_mark(comm, &comm->shapes[0].ranks, packet);
    if (packet->kind != TRIB_RESULT) {
        return;
    }
    if (packet->lane != lane_of(comm, comm->shapes[0].nodes[0].keys, packet)) {
        world_fail(comm->world, WORLD_CHECK_LANE, "a result of %" PRIu64 " has the wrong lane", packet->sequence);
    }
    if (packet->bitmap != trib_all_children(shape->child_count)) {
        world_fail(comm->world, WORLD_CHECK_BITMAP, "a result of %" PRIu64 " names %" PRIx64, packet->sequence,
                   packet->bitmap);
    }
}
