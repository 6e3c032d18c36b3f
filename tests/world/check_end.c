/* SPDX-License-Identifier: Apache-2.0 */
/* check_end.c: when nothing moves any more: all is done, no slot is held (I6), every mark has arrived everywhere, no storm has been, and a
 * world without faults shows no recovery. Read next: main.c. */
#include <inttypes.h>

#include "world.h"

static void check_finished(struct world *world)
{
    uint32_t all = world->set.session.ranks * world->set.op_count;

    if (world->done_all != all) {
        world_fail(world, "nothing moves, and %u of %u are done", world->done_all, all);
    }
}

static void check_marks(struct world *world)
{
    uint64_t end = world->set.session.first + world->fragments;

    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        void *memory = world->nodes[rank].memory;
        uint64_t mark = world->scheme->worker->mark(memory);
        uint64_t group = world->scheme->worker->communicator_mark(memory);
        if (mark != end || group != end) {
            world_fail(world, "rank %u rests with mark %" PRIu64 " and M %" PRIu64 ", the end is %" PRIu64, rank, mark,
                       group, end);
        }
    }
    for (uint32_t root = 0; root < world->set.session.roots; root++) {
        void *memory = world->nodes[world_switch(world, root)].memory;
        uint64_t group = world->scheme->switch_node->communicator_mark(memory);
        uint32_t held = world->scheme->switch_node->slots_held(memory);
        uint64_t sequence = 0;
        if (group != end || held != 0 || world->scheme->switch_node->missing(memory, &sequence) != 0) {
            world_fail(world, "root %u rests with M %" PRIu64 " of %" PRIu64 " and %u slots", root, group, end, held);
        }
    }
}

/* What may be sent at most: each fragment up and down, some packets for each fault, and what probes may do: 16 at once per root, ten
 * doublings each time that somebody is late. */
static void check_storm(struct world *world)
{
    const struct world_settings *set = &world->set;
    const struct world_report *r = world->report;
    uint64_t ranks = set->session.ranks;
    uint64_t faults = r->lost + r->duplicated + r->reordered + r->corrupted + r->truncated + r->replayed +
                      r->overflowed + r->forged + r->bent;
    uint64_t late = 1 + set->op_count + r->paused + r->spiked;
    uint64_t bound = 4 * world->fragments * ranks + 32 * faults + 160 * late * ranks * set->session.roots +
                     4 * (r->restarts + 1) * ranks * set->session.roots * set->session.slots;

    if (world->sent_packets[0] > bound || world->sent_packets[1] > bound) {
        world_fail(world, "a storm: %" PRIu64 " packets up and %" PRIu64 " down for %" PRIu64 " contributions",
                   world->sent_packets[0], world->sent_packets[1], world->fragments * ranks);
    }
}

static void check_clean(struct world *world)
{
    uint64_t contributions = 0;
    uint64_t results = 0;
    uint64_t recoveries = 0;

    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        const struct trib_counters *c = world->scheme->worker->counters(world->nodes[rank].memory);
        contributions += c->contributions;
        recoveries += c->contributions_resent + c->offers + c->boots + c->probes_fast;
    }
    for (uint32_t root = 0; root < world->set.session.roots; root++) {
        const struct trib_counters *c =
            world->scheme->switch_node->counters(world->nodes[world_switch(world, root)].memory);
        results += c->results;
        recoveries += c->asks_gap + c->asks_finished + c->offers + c->boots + c->dropped[TRIB_DROP_WINDOW];
    }
    if (contributions != world->fragments * world->set.session.ranks || results != world->fragments ||
        recoveries != 0) {
        world_fail(world,
                   "without faults: %" PRIu64 " contributions, %" PRIu64 " results, %" PRIu64 " recoveries for %" PRIu64
                   " fragments",
                   contributions, results, recoveries, world->fragments);
    }
}

void check_end(struct world *world)
{
    if (world->set.hostility == WORLD_LETHAL) {
        return;
    }
    check_finished(world);
    check_marks(world);
    check_storm(world);
    if (world->set.is_clean) {
        check_clean(world);
    }
}
