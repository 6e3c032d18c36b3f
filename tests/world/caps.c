/* SPDX-License-Identifier: Apache-2.0 */
/* caps.c: the memory of a switch, where a scheme's windows have caps: what a driver has for all communicators on one
 * shard, divided among their nodes as they come and go (core/share.h). It holds the first caps of all, and as much
 * besides as the seed says, often next to nothing. Whatever happens, what lies there is never more than that: this is
 * looked at whenever a switch has run. Read next: check_time.c. */
#include <inttypes.h>

#include "core/share.h"
#include "world.h"

#define SHARES_MAX 512

uint32_t caps_first(const struct world_comm *comm)
{
    return trib_window_cap(&comm->dealt.window, comm->set.session.cap);
}

/* All nodes on this shard of the switch, of every communicator. */
static uint32_t gather(struct world *world, const struct world_unit *one, struct trib_share *shares,
                       struct world_node **nodes)
{
    const struct trib_switch_verbs *verbs = world->scheme->switch_node;
    uint32_t count = 0;

    for (uint32_t i = 1; i < world->unit_count; i++) {
        struct world_unit *unit = &world->units[i];
        bool is_here = unit->is_open && !unit->is_worker && unit->at == one->at && unit->root == one->root;
        for (uint32_t k = 0; is_here && k < unit->node_count && count < SHARES_MAX; k++) {
            void *node = unit->nodes[k].memory;
            nodes[count] = &unit->nodes[k];
            shares[count++] = (struct trib_share){
                .first = caps_first(unit->comm),
                .most = trib_window_cap(&unit->comm->dealt.window, 0),
                .room = verbs->room(node),
                .cap = unit->nodes[k].cap,
                .is_active = verbs->is_active(node, world->now_ns + unit->clock_ns),
            };
        }
    }
    return count;
}

void caps_divide(struct world *world, uint32_t number)
{
    static struct trib_share shares[SHARES_MAX];
    static struct world_node *nodes[SHARES_MAX];
    const struct trib_switch_verbs *verbs = world->scheme->switch_node;
    const struct world_unit *unit = &world->units[number];
    uint32_t count = gather(world, unit, shares, nodes);
    uint32_t memory = world->set.spare;
    uint64_t held = 0;
    uint64_t room = 0;

    for (uint32_t i = 0; i < count; i++) {
        memory += 2 * shares[i].first;
        held += verbs->slots_held(nodes[i]->memory);
        room += shares[i].room;
    }
    if (held > memory || room > memory) {
        world_fail(world, WORLD_CHECK_LEAK,
                   "switch %u shard %u: %" PRIu64 " fragments, room for %" PRIu64 ", memory for %u", unit->at,
                   unit->root, held, room, memory);
        return;
    }
    world->report->full_shards += held == memory;
    trib_share_divide(memory, shares, count);
    for (uint32_t i = 0; i < count; i++) {
        if (shares[i].cap != nodes[i]->cap) {
            world->report->caps_fell += shares[i].cap < nodes[i]->cap;
            world->report->caps_rose += nodes[i]->cap != 0 && shares[i].cap > nodes[i]->cap;
            nodes[i]->cap = shares[i].cap;
            verbs->set_cap(nodes[i]->memory, shares[i].cap, world->now_ns + unit->clock_ns);
        }
    }
}

/* A driver with many communicators holds each to a part of its window, another one at every moment. */
void caps_limit(struct world *world, const struct world_unit *unit)
{
    uint32_t window = unit->comm->set.window;

    if (unit->rank == unit->comm->set.skewed_rank) {
        return; /* has other roots, perhaps */
    }
    for (uint32_t root = 0; root < unit->comm->set.session.roots; root++) {
        uint64_t moment = world->now_ns / (WORLD_MS / 4) + root;
        bool is_held = !world->is_healed && moment % 4 == 0 && unit->rank % 2 == 0;
        world->scheme->worker->limit(unit->nodes[0].memory, root, is_held ? (uint32_t)(moment % window) : window);
        world->report->limited += is_held;
    }
}
