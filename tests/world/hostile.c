/* SPDX-License-Identifier: Apache-2.0 */
/* hostile.c: forged packets with a right checksum, as from a child or a root that is known by its address. A nuisance has one thing
 * wrong, or asks a question that an honest node could ask; it must change nothing. A lethal one may be a valid lie: it may end its own
 * communicator, never a node. Read next: check_end.c. */
#include <string.h>

#include "world.h"

static uint64_t lowest_mark(const struct world *world)
{
    uint64_t lowest = UINT64_MAX;

    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        uint64_t mark = world->scheme->worker->mark(world->nodes[rank].memory);
        lowest = mark < lowest ? mark : lowest;
    }
    return lowest;
}

void hostile_schedule(struct world *world)
{
    for (uint32_t i = 0; i < world->set.hostile_packets; i++) {
        world_schedule(world, world_below(world, world->set.heal_ns), WORLD_HOSTILE, 0, 0, 0);
    }
}

static enum trib_kind any_kind(struct world *world)
{
    return (enum trib_kind)(1 + world_below(world, TRIB_KIND_COUNT - 1));
}

static uint64_t limited(uint64_t sequence)
{
    return sequence > TRIB_SEQUENCE_MAX ? TRIB_SEQUENCE_MAX : sequence;
}

static void add_payload(struct world *world, struct trib_packet *packet, const uint8_t *bytes)
{
    bool may = packet->kind == TRIB_CONTRIBUTION || packet->kind == TRIB_RESULT || packet->kind == TRIB_OFFER;

    if (may && world_below(world, 2) == 0) {
        packet->payload_len =
            (uint16_t)world_below(world, 1 + (world_below(world, 4) == 0 ? 1408 : world->set.session.payload));
        packet->payload = packet->payload_len != 0 ? bytes : NULL;
    }
}

/* Right in all that says whom it is for, random in the rest; its mark claims nothing new. */
static void begin(struct world *world, struct trib_packet *packet)
{
    const struct trib_session_config *s = &world->set.session;
    uint64_t span = 4 * (uint64_t)s->slots * s->roots + 2 * s->train;
    uint64_t low = lowest_mark(world);

    *packet = (struct trib_packet){
        .kind = (uint8_t)any_kind(world),
        .sequence = limited(low + world_below(world, span)),
        .bitmap = trib_prng_next(&world->prng) & trib_prng_next(&world->prng),
        .lane = trib_prng_next(&world->prng),
        .communicator = s->communicator,
        .digest = (uint32_t)trib_prng_next(&world->prng),
        .boot = world->boot,
        .generation = s->generation,
        .contributors = (uint16_t)world_below(world, 70),
        .flags = (uint16_t)(trib_prng_next(&world->prng) & TRIB_FLAGS_KNOWN),
        .exponent = (int16_t)trib_prng_next(&world->prng),
        .type = (uint8_t)world_below(world, TRIB_TYPE_COUNT),
        .reduction = (uint8_t)world_below(world, TRIB_REDUCTION_COUNT),
        .last_rank = (uint16_t)world_below(world, 70),
    };
    packet->mark = low;
}

/* What is wrong in both directions. */
static void spoil(struct world *world, struct trib_packet *packet)
{
    switch (world_below(world, 3)) {
    case 0:
        packet->communicator++;
        return;
    case 1:
        packet->generation ^= 1;
        return;
    default:
        packet->boot ^= 4;
        return;
    }
}

static void nuisance_up(struct world *world, struct trib_packet *packet)
{
    const struct trib_session_config *s = &world->set.session;

    switch (world_below(world, 6)) {
    case 0: /* a claim to have finished more than what it sends */
        packet->kind = TRIB_CONTRIBUTION;
        packet->mark =
            packet->sequence + 1 + world_below(world, TRIB_SEQUENCE_MAX + 1 - packet->sequence < 100 ? 1 : 100);
        return;
    case 1: /* far beyond the window */
        packet->kind = TRIB_CONTRIBUTION;
        packet->sequence =
            limited(packet->sequence + (uint64_t)(s->slots + s->train) * s->roots + world_below(world, 100000));
        return;
    case 2: /* long finished everywhere */
        packet->kind = s->first > 0 ? TRIB_CONTRIBUTION : TRIB_PROBE;
        packet->sequence = s->first > 0 ? s->first - 1 : 0;
        packet->mark = packet->sequence;
        return;
    case 3:
        packet->kind = TRIB_PROBE;
        return;
    case 4:
        packet->kind = world_below(world, 2) == 0 ? TRIB_ASK : TRIB_RESULT;
        return;
    default:
        spoil(world, packet);
        return;
    }
}

static void nuisance_down(struct world *world, struct trib_packet *packet)
{
    packet->mark = world->set.session.first; /* the root may know less than the world does */
    switch (world_below(world, 6)) {
    case 0:
        packet->kind = TRIB_RESULT; /* with a random digest */
        return;
    case 1:
        packet->kind = TRIB_ASK;
        return;
    case 2:
        packet->kind = TRIB_HELD;
        return;
    case 3:
        packet->kind = world_below(world, 2) == 0 ? TRIB_CONTRIBUTION : TRIB_PROBE;
        return;
    case 4: /* M beyond what this rank can have told */
        packet->kind = TRIB_HELD;
        packet->sequence = world->set.session.first + world->fragments;
        packet->mark = packet->sequence + 1;
        return;
    default:
        spoil(world, packet);
        return;
    }
}

/* Anything goes. */
static void lethal(struct world *world, struct trib_packet *packet)
{
    if (world_below(world, 4) == 0) {
        packet->mark = limited(packet->sequence + world_below(world, 200));
    }
    if (world_below(world, 16) == 0) {
        packet->sequence = limited(packet->sequence + (trib_prng_next(&world->prng) >> (17 + world_below(world, 45))));
        packet->mark = packet->sequence;
    }
    if (world_below(world, 16) == 0) {
        packet->mark = limited(packet->sequence + INT32_MAX - world_below(world, 3));
    }
    if (world_below(world, 8) == 0) {
        packet->attempt = (uint8_t)trib_prng_next(&world->prng);
    }
}

/* All ranks lie to their sessions: M leaps. */
static void lie_by_session(struct world *world)
{
    uint64_t mark = limited(lowest_mark(world) + (trib_prng_next(&world->prng) >> (16 + world_below(world, 40))));

    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        for (uint32_t root = 0; root < world->set.session.roots; root++) {
            world->scheme->switch_node->join(world->nodes[world_switch(world, root)].memory, rank, mark);
        }
    }
}

static void fit(struct trib_packet *packet)
{
    if (packet->kind == TRIB_PATH) {
        packet->kind = TRIB_PROBE; /* the driver keeps path packets to itself */
    }
    if (packet->sequence > packet->mark + INT32_MAX) {
        packet->mark = packet->sequence - INT32_MAX;
    }
}

void hostile_inject(struct world *world)
{
    static uint8_t bytes[1408] = {0x12, 0x34, 0x56};
    uint32_t rank = (uint32_t)world_below(world, world->set.session.ranks);
    uint32_t node = world_switch(world, (uint32_t)world_below(world, world->set.session.roots));
    bool up = world_below(world, 2) == 0;
    struct trib_packet packet;

    if (world->is_healed) {
        return;
    }
    begin(world, &packet);
    if (world->set.hostility == WORLD_LETHAL && world_below(world, 200) == 0) {
        lie_by_session(world);
        return;
    }
    if (world->set.hostility == WORLD_LETHAL) {
        lethal(world, &packet);
    } else if (up) {
        nuisance_up(world, &packet);
    } else {
        nuisance_down(world, &packet);
    }
    fit(&packet);
    add_payload(world, &packet, bytes);
    world->report->forged++;
    world_deliver(world, up ? rank : node, up ? node : rank, world_parcel(world, &packet), 0);
}
