/* SPDX-License-Identifier: Apache-2.0 */
/* hostile.c: forged packets with a right checksum, as from a child or a root that is known by its address. A nuisance
 * has one thing wrong, or asks a question that an honest node could ask; it must change nothing. A lethal one may be a
 * valid lie: it may end its own communicator, never a node. Read next: check_end.c. */
#include <string.h>

#include "core/crc32c.h"
#include "core/lane.h"
#include "schemes/ring/ring.h"
#include "world.h"

#define FLOOD 1200 /* packets */
#define FLOOD_ONE_IN 4000

void hostile_schedule(struct world_comm *comm)
{
    struct world *world = comm->world;
    uint64_t left = world->set.heal_ns > world->now_ns ? world->set.heal_ns - world->now_ns : 0;

    for (uint32_t i = 0; i < comm->set.hostile_packets; i++) {
        world_schedule(world, world->now_ns + world_below(world, left),
                       (struct world_event){.kind = WORLD_HOSTILE, .a = comm->index});
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

static void add_payload(const struct world_comm *comm, struct trib_packet *packet, const uint8_t *bytes)
{
    struct world *world = comm->world;
    bool may = packet->kind == TRIB_CONTRIBUTION || packet->kind == TRIB_RESULT || packet->kind == TRIB_OFFER;

    if (may && world_below(world, 2) == 0) {
        packet->payload_len =
            (uint16_t)world_below(world, 1 + (world_below(world, 4) == 0 ? 1408 : comm->set.session.payload));
        packet->payload = packet->payload_len != 0 ? bytes : NULL;
    }
}

/* Right in all that says whom it is for, random in the rest; its mark claims nothing new. */
static void begin(const struct world_comm *comm, struct trib_packet *packet)
{
    struct world *world = comm->world;
    const struct trib_session_config *s = &comm->set.session;
    uint64_t span = 4 * (uint64_t)s->slots * s->roots + 2 * s->train;
    uint64_t low = comm_true_mark(comm);

    *packet = (struct trib_packet){
        .kind = (uint8_t)any_kind(world),
        .sequence = limited(low + world_below(world, span)),
        .bitmap = trib_prng_next(&world->prng) & trib_prng_next(&world->prng),
        .lane = trib_prng_next(&world->prng),
        .communicator = s->communicator,
        .digest = (uint32_t)trib_prng_next(&world->prng),
        .boot = comm->boot,
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
        packet->boot ^= UINT32_C(0x40000000);
        return;
    }
}

static void nuisance_up(const struct world_comm *comm, struct trib_packet *packet)
{
    struct world *world = comm->world;
    const struct trib_session_config *s = &comm->set.session;

    switch (world_below(world, 6)) {
    case 0: /* a claim to have finished more than what it sends */
        packet->kind = TRIB_CONTRIBUTION;
        packet->mark =
            packet->sequence + 1 + world_below(world, TRIB_SEQUENCE_MAX + 1 - packet->sequence < 100 ? 1 : 100);
        return;
    case 1: /* far beyond the window, where there is room for that */
        packet->kind = TRIB_CONTRIBUTION;
        packet->sequence += trib_window_span(s) + world_below(world, 100000); /* weights make it long */
        if (packet->sequence > TRIB_SEQUENCE_MAX) {
            packet->sequence = TRIB_SEQUENCE_MAX;
            spoil(world, packet);
        }
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

/* An inner node believes a result of its parent, and a combiner an M, so only a rank, which can check the lane and has a
 * mark, gets a false one. */
static void nuisance_down(const struct world_comm *comm, bool to_rank, struct trib_packet *packet)
{
    struct world *world = comm->world;
    static const enum trib_kind upward[] = {TRIB_CONTRIBUTION, TRIB_PROBE, TRIB_OFFER};

    packet->mark = comm->set.session.first; /* the root may know less than the world does */
    switch (world_below(world, 6)) {
    case 0:
        packet->kind = to_rank ? TRIB_RESULT : TRIB_BOOT; /* with a random digest */
        return;
    case 1:
        packet->kind = TRIB_ASK;
        return;
    case 2:
        packet->kind = TRIB_HELD;
        return;
    case 3:
        packet->kind = (uint8_t)upward[world_below(world, to_rank ? 2 : 3)];
        return;
    case 4: /* M beyond what this one can have told */
        if (world_has_servers(world) && !to_rank) {
            spoil(world, packet);
            return;
        }
        packet->kind = TRIB_HELD;
        packet->sequence = comm->set.session.first + comm->fragments;
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

/* All ranks, or the control plane, lie to sessions: M leaps. */
static void lie_by_session(const struct world_comm *comm)
{
    struct world *world = comm->world;
    uint64_t leap = trib_prng_next(&world->prng) >> (16 + world_below(world, 40));
    uint64_t mark = limited(comm_true_mark(comm) + leap);
    bool down = world_below(world, 4) == 0;

    for (uint32_t at = 0; at < world->switch_count; at++) {
        const struct trib_switch_verbs *verbs = world_switch_verbs(world, at);
        for (uint32_t root = 0; root < comm->set.session.roots && comm->members[at].is_open; root++) {
            const struct world_unit *unit = unit_of_switch(comm, at, root);
            for (uint32_t i = 0; i < unit->node_count && unit->is_open; i++) {
                uint32_t children = comm->tree[root]->shapes[at].nodes[i].child_count;
                for (uint32_t child = 0; child < children && !down; child++) {
                    verbs->join(unit->nodes[i].memory, child, mark);
                }
                if (down) {
                    verbs->learn_mark(unit->nodes[i].memory, mark);
                }
            }
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

/* A child and its parent, by unit. False: the tree is not there, or all ranks are gone. */
static bool choose_link(const struct world_comm *comm, uint32_t *child, uint32_t *parent)
{
    struct world *world = comm->world;
    uint32_t root = (uint32_t)world_below(world, comm->set.session.roots);
    uint32_t rank = (uint32_t)world_below(world, comm->set.session.ranks);
    uint32_t at = comm->ranks[rank].home;

    *child = comm->ranks[rank].unit;
    if (comm->tree[root]->parents[at] != WORLD_NONE && world_below(world, 2) == 0) {
        *child = comm->members[at].units[root];
        at = comm->tree[root]->parents[at];
    }
    *parent = comm->members[comm_top(comm, at, root)].units[root];
    return world->units[*child].is_open && world->units[*parent].is_open && comm_true_mark(comm) != UINT64_MAX;
}

/* More questions at one moment than a node has room for answers. */
static void flood(struct world_comm *comm, uint32_t child, uint32_t parent)
{
    struct world *world = comm->world;
    const struct trib_session_config *s = &comm->set.session;
    struct trib_packet packet;

    for (uint32_t i = 0; i < FLOOD; i++) {
        begin(comm, &packet);
        packet.kind = TRIB_PROBE;
        packet.flags = 0;
        packet.sequence = limited(packet.mark + ((uint64_t)s->slots + s->train + i) * s->roots);
        fit(&packet);
        world->report->forged++;
        world_deliver(world, child, parent, auth_forged(world, child, parent, &packet), 0);
    }
}

/* ---- rings ---- */

/* With one thing wrong; or an old sequence, or a probe, which are answered and no more. A fragment with a false lane is
 * no nuisance: its receiver must take the third one for a rank that lies. */
static void nuisance_peer(const struct world_comm *comm, struct trib_packet *packet)
{
    struct world *world = comm->world;
    uint64_t window = 2 * (uint64_t)comm->set.session.slots;

    packet->kind = world_below(world, 2) == 0 ? TRIB_FLOW : TRIB_FLOW_ACK;
    packet->mark = packet->sequence = 0;
    switch (world_below(world, 6)) {
    case 0:
        packet->kind = (uint8_t)(1 + world_below(world, TRIB_BOOT));
        return;
    case 1: /* beyond what any slot allows */
        packet->kind = TRIB_FLOW;
        packet->sequence = packet->mark = window + 2 * comm->fragments + world_below(world, 1000);
        return;
    case 2:
        packet->kind = TRIB_FLOW;
        packet->flags |= TRIB_FLAG_UNWANTED;
        return;
    case 3: /* more than was sent */
        packet->kind = TRIB_FLOW_ACK;
        packet->mark = 2 * comm->fragments + 1 + world_below(world, 1000);
        return;
    case 4:
        packet->generation ^= 1;
        return;
    default:
        packet->communicator++;
        return;
    }
}

/* Any fragment, any acknowledgement, with a right lane as often as not. */
static void lethal_peer(const struct world_comm *comm, uint32_t from, struct trib_packet *packet)
{
    struct world *world = comm->world;
    uint32_t ranks = comm->set.session.ranks;
    uint64_t fragment = comm_true_mark(comm) + world_below(world, 2 * (uint64_t)comm->set.session.slots);

    if (comm->set.session.first > 0 && world_below(world, 4) == 0) {
        fragment = comm->set.session.first - 1; /* long finished */
    }
    packet->sequence = packet->mark = world_below(world, 4 * comm->fragments + 1);
    packet->last_rank = (uint16_t)world_below(world, ranks + 1);
    if (packet->kind == TRIB_FLOW_ACK) {
        packet->sequence -= packet->sequence % 64;
        packet->bitmap = world_below(world, 2) == 0 ? 0 : packet->bitmap;
        return;
    }
    packet->bitmap = trib_ring_label(fragment, (enum trib_ring_leg)world_below(world, TRIB_RING_LEGS));
    if (world_below(world, 2) == 0 && packet->last_rank < ranks) {
        packet->lane = peer_keys(comm, from, packet->bitmap, packet->last_rank) *
                       trib_session_odd(&comm->set.session, fragment, 0, packet->digest);
        packet->contributors = 0;
    }
}

static void inject_peer(const struct world_comm *comm)
{
    struct world *world = comm->world;
    uint32_t to = (uint32_t)world_below(world, comm->set.session.ranks);
    uint16_t peers[TRIB_PEERS_MAX];
    uint32_t count = world->scheme->worker->peers(&comm->set.session, to, peers);
    uint32_t from = count == 0 ? to : peers[world_below(world, count)];
    struct trib_packet packet;

    if (!world->units[comm->ranks[to].unit].is_open || comm_true_mark(comm) == UINT64_MAX) {
        return;
    }
    begin(comm, &packet);
    if (comm->set.hostility == WORLD_LETHAL) {
        packet.kind = world_below(world, 2) == 0 ? TRIB_FLOW : TRIB_FLOW_ACK;
        lethal_peer(comm, from, &packet);
    } else {
        nuisance_peer(comm, &packet);
    }
    fit(&packet);
    world->report->forged++;
    from = comm->ranks[from].unit;
    to = comm->ranks[to].unit;
    world_deliver(world, from, to, auth_forged(world, from, to, &packet), 0);
}

/* The codec sends no other attempt than 0: such a packet is bent into one under a right checksum. */
static uint32_t forge(struct world *world, uint32_t from, uint32_t to, struct trib_packet *packet)
{
    uint8_t attempt = packet->attempt;
    packet->attempt = 0;
    uint32_t index = auth_forged(world, from, to, packet);
    struct parcel *parcel = &world->parcels[index];

    if (attempt != 0) {
        parcel->data[TRIB_AT_ATTEMPT] = attempt;
        memset(parcel->data + TRIB_AT_CRC, 0, 4);
        uint32_t crc = trib_crc32c(0, parcel->data, parcel->len);
        for (unsigned i = 0; i < 4; i++) {
            parcel->data[TRIB_AT_CRC + i] = (uint8_t)(crc >> (24 - 8 * i));
        }
        auth_changed(world, index);
    }
    return index;
}

void hostile_inject(struct world_comm *comm)
{
    static uint8_t bytes[1408] = {0x12, 0x34, 0x56};
    struct world *world = comm->world;
    bool is_lethal = comm->set.hostility == WORLD_LETHAL;
    bool up = world_below(world, 2) == 0;
    uint32_t child;
    uint32_t parent;
    struct trib_packet packet;

    if (!world->is_healed && world_has_peers(world)) {
        inject_peer(comm);
        return;
    }
    if (world->is_healed || !choose_link(comm, &child, &parent)) {
        return;
    }
    if (is_lethal && world_below(world, 200) == 0) {
        lie_by_session(comm);
        return;
    }
    if (world_below(world, FLOOD_ONE_IN) == 0) {
        flood(comm, child, parent);
        return;
    }
    begin(comm, &packet);
    packet.node = world_has_servers(world) ? (uint16_t)world_below(world, comm->set.session.ranks + 1) : 0;
    if (is_lethal) {
        lethal(world, &packet);
    } else if (up) {
        nuisance_up(comm, &packet);
    } else {
        nuisance_down(comm, world->units[child].is_worker, &packet);
    }
    fit(&packet);
    add_payload(comm, &packet, bytes);
    world->report->forged++;
    uint32_t from = up ? child : parent;
    uint32_t to = up ? parent : child;
    world_deliver(world, from, to, forge(world, from, to, &packet), 0);
}
