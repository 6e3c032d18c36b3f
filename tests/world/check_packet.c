/* SPDX-License-Identifier: Apache-2.0 */
/* check_packet.c: what every result that leaves a switch must be: its lane proves all ranks, each once (I12), its bitmap is whole (I2),
 * and its mark is below every rank's. Read next: check_buffers.c. */
#include <inttypes.h>

#include "core/lane.h"
#include "world.h"

static uint64_t lane_of_all(const struct trib_session_config *s, const struct trib_packet *packet)
{
    struct trib_lane_id id = {
        .salt = s->salt,
        .sequence = packet->sequence,
        .communicator = s->communicator,
        .digest = packet->digest,
        .generation = s->generation,
        .attempt = packet->attempt,
    };
    uint64_t keys = 0;

    for (uint32_t rank = 0; rank < s->ranks; rank++) {
        keys += trib_lane_key(s->salt, rank);
    }
    return keys * trib_lane_odd(&id);
}

void check_result(struct world *world, const struct trib_packet *packet)
{
    const struct trib_session_config *s = &world->set.session;
    uint64_t all = s->ranks == 64 ? UINT64_MAX : (UINT64_C(1) << s->ranks) - 1;

    if (world->set.hostility == WORLD_LETHAL) {
        return;
    }
    if (packet->lane != lane_of_all(s, packet)) {
        world_fail(world, "a result of %" PRIu64 " has the wrong lane", packet->sequence);
    }
    if (packet->bitmap != all) {
        world_fail(world, "a result of %" PRIu64 " names %" PRIx64, packet->sequence, packet->bitmap);
    }
    for (uint32_t rank = 0; rank < s->ranks; rank++) {
        if (world->scheme->worker->mark(world->nodes[rank].memory) < packet->mark) {
            world_fail(world, "a result of %" PRIu64 " says M %" PRIu64 ", rank %u is behind", packet->sequence,
                       packet->mark, rank);
        }
    }
}
