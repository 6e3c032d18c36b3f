/* SPDX-License-Identifier: Apache-2.0 */
/* check_retained.c: a rank must be able to give what it kept of every fragment that it has finished and that somebody
 * may still need: all from the true M to its own mark. It OFFERs the result; where it got a header only, it contributes
 * its own part again. A node is plain data, so a copy of its bytes is asked, and the real one never knows.
 * Read next: check_end.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "world.h"

#define SAMPLES 2

/* Asks the copy; the time is late enough that no limit of repeats holds. */
static bool offers(struct world_comm *comm, uint32_t rank, void *copy, uint64_t sequence, uint64_t now_ns)
{
    const struct trib_worker_verbs *verbs = comm->world->scheme->worker;
    const struct trib_session_config *s = &comm->set.session;
    struct trib_place place = {.kind = TRIB_PLACE_ROOT, .index = comm_root_of(comm, sequence)};
    struct trib_packet packet = {
        .kind = TRIB_ASK,
        .sequence = sequence,
        .mark = comm_true_mark(comm),
        .communicator = s->communicator,
        .generation = s->generation,
        .boot = 1,
    };

    verbs->registered(copy, 1, packet.mark, now_ns);
    if (verbs->node.receive(copy, place, &packet, now_ns) != TRIB_DROP_NONE) {
        return false;
    }
    for (uint32_t i = 0; i < 100000 && verbs->node.next_packet(copy, now_ns, &packet, &place); i++) {
        bool is_own = packet.kind == TRIB_CONTRIBUTION && packet.mark <= sequence && packet.payload_len != 0;
        bool is_result = packet.kind == TRIB_OFFER && (packet.payload_len != 0) == (packet.contributors != 0);
        if (packet.sequence == sequence && (is_own || is_result)) {
            check_kept(comm, rank, &packet);
            return packet.boot == 1;
        }
    }
    return false;
}

void check_retained(struct world_comm *comm, uint32_t rank)
{
    struct world *world = comm->world;
    const struct world_unit *unit = unit_of_rank(comm, rank);
    const struct world_node *node = &unit->nodes[0];
    uint64_t group = comm_true_mark(comm);
    uint64_t mark = world->scheme->worker->mark(node->memory);

    if (!comm_has_promise(comm) || world_has_peers(world)) {
        return;
    }
    for (uint32_t i = 0; i < SAMPLES && mark > group; i++) {
        uint64_t sequence = i == 0 ? group : group + world_below(world, mark - group);
        void *copy = aligned_alloc(64, (node->size + 63) & ~(size_t)63);
        if (copy == NULL) {
            exit(2);
        }
        memcpy(copy, node->memory, node->size);
        if (!offers(comm, rank, copy, sequence, world->now_ns + unit->clock_ns + 10 * WORLD_S)) {
            world_fail(world, WORLD_CHECK_RETAINED,
                       "rank %u cannot give %" PRIu64 ", M is %" PRIu64 ", its mark %" PRIu64, rank, sequence, group,
                       mark);
        }
        world->report->offers_tested++;
        free(copy);
    }
}
