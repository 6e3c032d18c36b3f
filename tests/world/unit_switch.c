/* SPDX-License-Identifier: Apache-2.0 */
/* unit_switch.c: what a switch's nodes send, as the loop of switchd has it: to each other by a call, to all else over
 * links. Read next: combining.c, link.c. */
#include <inttypes.h>
#include <string.h>

#include "world.h"

#define FOR_ALL UINT32_MAX
#define DRAIN_MAX 200000 /* packets that one run of a unit may hand out */

/* To one child, which may be a node of the same switch: that takes it at once. *parcel: the packet as others have had it;
 * 0: nobody has, or will; FOR_ALL: nobody has yet. */
static void give_child(struct world *world, uint32_t number, uint32_t index, uint32_t child,
                       const struct trib_packet *packet, uint32_t *parcel)
{
    struct world_unit *unit = &world->units[number];
    struct world_comm *comm = unit->comm;
    const struct shape_child *to = &comm->tree[unit->root]->shapes[unit->at].nodes[index].children[child];

    if (to->kind == SHAPE_NODE) {
        struct trib_place from = {.kind = TRIB_PLACE_PARENT};
        enum trib_drop drop = world->scheme->switch_node->node.receive(unit->nodes[to->index].memory, from, packet,
                                                                       unit_now(world, unit));
        world_trace(world, drop == TRIB_DROP_NONE ? "down" : trib_drop_name(drop), number, number, packet);
        return;
    }
    comm->sent[1]++;
    uint32_t below = to->kind == SHAPE_SWITCH ? to->index : to->via - 1U;
    bool is_rank = to->kind == SHAPE_RANK && to->via == 0;
    uint32_t to_unit = is_rank ? comm->ranks[to->index].unit : comm->members[below].units[unit->root];
    if (*parcel == 0 || *parcel == FOR_ALL) {
        *parcel = auth_parcel(world, number, *parcel == 0 ? to_unit : WORLD_NONE, packet);
    }
    world->parcels[*parcel].refs++;
    world_send(world, number, to_unit, *parcel, packet);
}

/* Through combiners, as shards of switchd send: to all at one address once, or to each that is meant by its number. */
static void give_through(struct world *world, uint32_t number, uint32_t index, uint64_t children,
                         const struct trib_packet *packet)
{
    const struct world_unit *unit = &world->units[number];
    const struct shape_node *shape = &unit->comm->tree[unit->root]->shapes[unit->at].nodes[index];
    struct trib_packet named = *packet;

    while (children != 0) {
        uint32_t child = (uint32_t)__builtin_ctzll(children);
        uint64_t together = combining_together(shape, child);
        bool are_all = (together & ~children) == 0;
        uint32_t parcel = 0;
        uint32_t within = shape->children[child].index % unit->comm->set.groups;
        named.node = combining_name(unit->comm, shape, are_all ? TRIB_NODE_ALL : (uint16_t)within);
        children &= are_all ? ~together : children - 1;
        give_child(world, number, index, child, &named, &parcel);
        world_release(world, parcel);
    }
}

static void give_children(struct world *world, uint32_t number, uint32_t index, uint64_t children,
                          const struct trib_packet *packet)
{
    const struct world_unit *unit = &world->units[number];
    const struct shape_node *shape = &unit->comm->tree[unit->root]->shapes[unit->at].nodes[index];
    bool many = (children & (children - 1)) != 0;
    uint32_t parcel = many ? FOR_ALL : 0;

    for (uint64_t bits = children; bits != 0; bits &= bits - 1) {
        uint32_t child = (uint32_t)__builtin_ctzll(bits);
        if (child >= shape->child_count) {
            world_fail(world, WORLD_CHECK_MISUSE, "a switch sends to child %u, which does not exist", child);
            break;
        }
        if (many && shape->children[child].kind != SHAPE_NODE && world_chance(world, world->set.partial)) {
            world->report->partial++;
            continue;
        }
        give_child(world, number, index, child, packet, &parcel);
    }
    if (parcel != 0 && parcel != FOR_ALL) {
        world_release(world, parcel);
    }
}

static void give_parent(struct world *world, uint32_t number, uint32_t index, const struct trib_packet *packet)
{
    struct world_unit *unit = &world->units[number];
    struct world_comm *comm = unit->comm;
    const struct shape_node *shape = &comm->tree[unit->root]->shapes[unit->at].nodes[index];

    if (shape->parent != WORLD_NONE) {
        struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << shape->number};
        enum trib_drop drop = world->scheme->switch_node->node.receive(unit->nodes[shape->parent].memory, from, packet,
                                                                       unit_now(world, unit));
        world_trace(world, drop == TRIB_DROP_NONE ? "up" : trib_drop_name(drop), number, number, packet);
        return;
    }
    if (comm->tree[unit->root]->parents[unit->at] == WORLD_NONE) {
        world_fail(world, WORLD_CHECK_MISUSE, "a root sends to a parent");
        return;
    }
    comm->sent[0]++;
    /* As it was opened: that this is the root which WELCOME names, agents.c checks when the ranks are ready. */
    uint32_t to = comm->members[comm->members[unit->at].parents[unit->root]].units[unit->root];
    struct trib_packet named = *packet;
    named.node = shape->is_combiner ? combining_name(comm, shape, packet->node) : packet->node;
    world_send(world, number, to, auth_parcel(world, number, to, &named), &named);
}

/* One packet of one node. */
void unit_give(struct world *world, uint32_t number, uint32_t index, const struct trib_packet *packet,
               const struct trib_place *to)
{
    struct world_unit *unit = &world->units[number];
    const struct shape_node *shape = &unit->comm->tree[unit->root]->shapes[unit->at].nodes[index];

    if (to->kind == TRIB_PLACE_PARENT) {
        check_up(unit->comm, shape, packet);
        give_parent(world, number, index, packet);
    } else if (to->kind == TRIB_PLACE_CHILDREN && to->children != 0) {
        check_down(unit->comm, shape, packet);
        note_result(unit->comm, unit->at, index, packet);
        if (combining_has(shape) && (to->children & ~trib_all_children(shape->child_count)) == 0) {
            give_through(world, number, index, to->children, packet);
        } else {
            give_children(world, number, index, to->children, packet);
        }
    } else {
        world_fail(world, WORLD_CHECK_MISUSE, "a switch sends to nobody");
    }
}

static void take_switch_event(struct world_unit *unit, uint32_t index, const struct trib_event *event)
{
    struct world_comm *comm = unit->comm;
    struct world *world = comm->world;

    world->report->mismatch_events += event->kind == TRIB_EVENT_MISMATCH;
    if (event->kind != TRIB_EVENT_MISMATCH || comm_has_promise(comm)) {
        world_fail(world, WORLD_CHECK_ERROR, "switch %u: event of kind %d on %" PRIu64, unit->at, (int)event->kind,
                   event->sequence);
    } else if (comm->set.hostility != WORLD_LETHAL) {
        const struct shape_node *shape = &comm->tree[unit->root]->shapes[unit->at].nodes[index];
        check_mismatch(comm, shape, event);
        if (world->failed == WORLD_CHECK_NONE) {
            const uint32_t ranks[2] = {rank_set_next(&shape->children[event->child].ranks, 0),
                                       rank_set_next(&shape->children[event->other].ranks, 0)};
            if (comm->members[0].owners[unit->root] != 0 && unit->at == 0) {
                own_root_mismatch(comm, unit->root, event->sequence, ranks);
            } else {
                control_mismatch(comm, unit->at, event->sequence, ranks);
            }
        }
    }
}

/* Until no node has anything more to say: what one says another may answer. */
void unit_drain_switch(struct world *world, uint32_t number)
{
    const struct trib_switch_verbs *verbs = world_switch_verbs(world, world->units[number].at);
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;
    uint32_t count = 0;
    bool moved = true;

    while (moved && world->failed == WORLD_CHECK_NONE) {
        moved = false;
        for (uint32_t i = 0; i < world->units[number].node_count; i++) {
            void *node = world->units[number].nodes[i].memory;
            while (verbs->node.next_packet(node, unit_now(world, &world->units[number]), &packet, &to)) {
                moved = true;
                unit_give(world, number, i, &packet, &to);
                if (++count > DRAIN_MAX) {
                    world_fail(world, WORLD_CHECK_MISUSE, "packets without end");
                    return;
                }
            }
        }
    }
    for (uint32_t i = 0; world->units[number].is_open && i < world->units[number].node_count; i++) {
        while (world->units[number].is_open && verbs->node.next_event(world->units[number].nodes[i].memory, &event)) {
            take_switch_event(&world->units[number], i, &event);
        }
    }
}
