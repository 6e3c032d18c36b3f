/* SPDX-License-Identifier: Apache-2.0 */
/* link.c: what happens to a packet between two nodes: it is encoded, and then lost, doubled, damaged, delayed, overtaken or kept to come
 * again long after, as the seed says. Read next: engine.c (who takes it). */
#include <inttypes.h>
#include <string.h>

#include "world.h"

/* ---- parcels ---- */

static uint32_t take_parcel(struct world *world)
{
    uint32_t index = world->parcel_free;

    if (index != 0) {
        world->parcel_free = world->parcels[index].next_free;
    } else {
        world->parcels =
            world_grown(world->parcels, world->parcel_count, &world->parcel_capacity, sizeof *world->parcels);
        index = world->parcel_count++;
    }
    world->parcels[index].refs = 1;
    return index;
}

void world_release(struct world *world, uint32_t parcel)
{
    if (--world->parcels[parcel].refs == 0) {
        world->parcels[parcel].next_free = world->parcel_free;
        world->parcel_free = parcel;
    }
}

uint32_t world_parcel(struct world *world, const struct trib_packet *packet)
{
    uint32_t index = take_parcel(world);
    struct parcel *parcel = &world->parcels[index];

    trib_packet_encode(packet, parcel->data);
    if (packet->payload_len != 0) {
        memcpy(parcel->data + TRIB_HEADER_SIZE, packet->payload, packet->payload_len);
    }
    parcel->len = TRIB_HEADER_SIZE + packet->payload_len;
    return index;
}

static uint32_t copied(struct world *world, uint32_t parcel)
{
    uint32_t index = take_parcel(world);

    world->parcels[index].len = world->parcels[parcel].len;
    memcpy(world->parcels[index].data, world->parcels[parcel].data, world->parcels[parcel].len);
    return index;
}

/* ---- links ---- */

static struct world_link *link_between(struct world *world, uint32_t from, uint32_t to)
{
    uint32_t ranks = world->set.session.ranks;

    return from < ranks ? &world->up[from][to - ranks] : &world->down[to][from - ranks];
}

/* True: the packet is gone. */
static bool is_lost(struct world *world, struct world_link *link)
{
    const struct world_settings *set = &world->set;

    if (world_chance(world, set->burst)) {
        link->is_losing = true;
    }
    bool lost = world_chance(world, set->loss) || (link->is_losing && !world->is_healed);
    if (link->is_losing && world_below(world, 8) == 0) {
        link->is_losing = false;
    }
    world->report->lost += lost;
    return lost;
}

/* Flips bits or cuts the end off, in a copy that replaces the parcel. */
static uint32_t damaged(struct world *world, uint32_t parcel)
{
    const struct world_settings *set = &world->set;
    bool corrupt = world_chance(world, set->corrupt);
    bool truncate = world_chance(world, set->truncate);

    if (!corrupt && !truncate) {
        return parcel;
    }
    uint32_t copy = copied(world, parcel);
    struct parcel *p = &world->parcels[copy];
    world_release(world, parcel);
    if (corrupt) {
        for (uint64_t bits = 1 + world_below(world, 4); bits > 0; bits--) {
            p->data[world_below(world, p->len)] ^= (uint8_t)(1U << world_below(world, 8));
        }
        world->report->corrupted++;
    }
    if (truncate) {
        p->len = (uint32_t)world_below(world, p->len);
        world->report->truncated++;
    }
    return copy;
}

static uint64_t arrival(struct world *world, struct world_link *link)
{
    const struct world_settings *set = &world->set;
    uint64_t time = world->now_ns + set->delay_ns + world_below(world, set->jitter_ns);

    if (world_chance(world, set->spike)) {
        link->spike_ns = world->now_ns + world_below(world, set->spike_ns);
        world->report->spiked++;
    }
    if (link->spike_ns > world->now_ns) {
        time += link->spike_ns - world->now_ns;
    }
    if (world_chance(world, set->reorder)) {
        world->report->reordered++;
        return time + world_below(world, 16 * (set->delay_ns + set->jitter_ns + set->turn_ns));
    }
    link->last_ns = time > link->last_ns ? time : link->last_ns;
    return link->last_ns;
}

/* Some packets are kept, to come again long after. */
static void remember(struct world *world, uint32_t from, uint32_t to, uint32_t parcel)
{
    if (world->set.replay <= 0 || world->is_healed || world_below(world, 8) != 0) {
        return;
    }
    uint32_t at = world->old_at++ % 64;
    if (world->old_parcels[at] != 0) {
        world_release(world, world->old_parcels[at]);
    }
    world->parcels[parcel].refs++;
    world->old_parcels[at] = parcel;
    world->old_from[at] = from;
    world->old_to[at] = to;
}

static void replay(struct world *world)
{
    uint32_t at = (uint32_t)world_below(world, 64);

    if (world->old_parcels[at] != 0) {
        world->report->replayed++;
        world->parcels[world->old_parcels[at]].refs++;
        world_deliver(world, world->old_from[at], world->old_to[at], world->old_parcels[at],
                      world_below(world, 30 * WORLD_MS));
    }
}

/* Takes over the caller's reference. No fault: those have been drawn. */
void world_deliver(struct world *world, uint32_t from, uint32_t to, uint32_t parcel, uint64_t delay_ns)
{
    world_schedule(world, world->now_ns + delay_ns, WORLD_ARRIVE, to, parcel, from);
}

/* One receiver's copy; takes over a reference. */
static void transmit(struct world *world, uint32_t from, uint32_t to, uint32_t parcel)
{
    struct world_link *link = link_between(world, from, to);

    remember(world, from, to, parcel);
    if (is_lost(world, link)) {
        world_release(world, parcel);
        return;
    }
    if (world_chance(world, world->set.duplicate)) {
        world->report->duplicated++;
        world->parcels[parcel].refs++;
        world_schedule(world, arrival(world, link), WORLD_ARRIVE, to, parcel, from);
    }
    parcel = damaged(world, parcel);
    world_schedule(world, arrival(world, link), WORLD_ARRIVE, to, parcel, from);
    if (world_chance(world, world->set.replay)) {
        replay(world);
    }
}

void world_trace(const struct world *world, const char *what, uint32_t from, uint32_t to,
                 const struct trib_packet *packet)
{
    if (world->trace) {
        bool up = world_is_worker(world, from);
        uint32_t ranks = world->set.session.ranks;
        printf("%12" PRIu64 " %s %s %u-%u %-12s seq %" PRIu64 " mark %" PRIu64 " bitmap %" PRIx64 " len %u boot %08x\n",
               world->now_ns, what, up ? "up  " : "down", up ? from : to, (up ? to : from) - ranks,
               trib_kind_name((enum trib_kind)packet->kind), packet->sequence, packet->mark, packet->bitmap,
               packet->payload_len, packet->boot);
    }
}

void world_send(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    world_trace(world, "send", from, to, packet);
    transmit(world, from, to, world_parcel(world, packet));
}

/* A bit flips in the switch's memory of a result, before its checksum is made: at most twice for one fragment and rank, so that the
 * third asking helps, but without limit where the communicator may fail. The packet goes without further faults: a copy of it would
 * count as one more. */
static bool is_bent(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    uint8_t *bends = &world->bent[to][packet->sequence % 256];
    bool lethal = world->set.hostility == WORLD_LETHAL;

    if (packet->kind != TRIB_RESULT || !world_chance(world, lethal ? 0.9 : world->set.lane) ||
        (*bends == 2 && !lethal)) {
        return false;
    }
    struct trib_packet bent = *packet;
    switch (world_below(world, 4)) {
    case 0:
        bent.contributors ^= (uint16_t)(1U << world_below(world, 16));
        break;
    case 1:
        bent.digest ^= 1U << world_below(world, 32);
        break;
    default:
        bent.lane ^= UINT64_C(1) << world_below(world, 64);
        *bends = (uint8_t)(*bends + (*bends < 2));
        break;
    }
    world->report->bent++;
    world_schedule(world, arrival(world, link_between(world, from, to)), WORLD_ARRIVE, to, world_parcel(world, &bent),
                   from);
    return true;
}

void world_send_down(struct world *world, uint32_t from, uint64_t children, const struct trib_packet *packet)
{
    uint32_t parcel = world_parcel(world, packet);
    bool many = (children & (children - 1)) != 0;

    for (uint64_t bits = children; bits != 0; bits &= bits - 1) {
        uint32_t to = (uint32_t)__builtin_ctzll(bits);
        if (to >= world->set.session.ranks) {
            world_fail(world, "a switch sends to child %u, which does not exist", to);
            break;
        }
        if (many && world_chance(world, world->set.partial)) {
            world->report->lost++;
            continue;
        }
        world_trace(world, "send", from, to, packet);
        if (!is_bent(world, from, to, packet)) {
            world->parcels[parcel].refs++;
            transmit(world, from, to, parcel);
        }
    }
    world_release(world, parcel);
}
