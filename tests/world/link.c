/* SPDX-License-Identifier: Apache-2.0 */
/* link.c: what happens to a packet between two units: it is lost, doubled, damaged, delayed, overtaken, or kept to come
 * again long after, even at another communicator, as the seed says. Read next: unit.c (who takes it). */
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
    world->parcels[index].seal = (struct world_seal){.end = 0};
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
    static const struct trib_packet harmless = {.kind = TRIB_PROBE};

    if (!trib_packet_can_encode(packet) || packet->payload_len > WORLD_PARCEL_MAX - TRIB_HEADER_SIZE) {
        world_fail(world, WORLD_CHECK_MISUSE, "a packet that cannot be encoded: %s of %" PRIu64,
                   trib_kind_name((enum trib_kind)packet->kind), packet->sequence);
        packet = &harmless;
    }
    trib_packet_encode(packet, parcel->data);
    if (packet->payload_len != 0) {
        memcpy(parcel->data + TRIB_HEADER_SIZE, packet->payload, packet->payload_len);
    }
    parcel->len = TRIB_HEADER_SIZE + packet->payload_len;
    return index;
}

uint32_t world_copy(struct world *world, uint32_t parcel)
{
    uint32_t index = take_parcel(world);

    world->parcels[index].len = world->parcels[parcel].len;
    world->parcels[index].seal = world->parcels[parcel].seal;
    memcpy(world->parcels[index].data, world->parcels[parcel].data, world->parcels[parcel].len);
    return index;
}

/* ---- links ---- */

static bool is_up(const struct world *world, const struct world_unit *from, const struct world_unit *to)
{
    return from->is_worker ||
           (!to->is_worker && from->comm->tree[from->root]->parents[from->at] == world_seat(world, to->at));
}

static struct world_link *link_between(struct world *world, const struct world_unit *from, const struct world_unit *to)
{
    if (from->is_worker && to->is_worker) {
        /* A rank's up is its way to the next; where two ranks are all, both have one to the other. */
        uint32_t group = from->comm->set.session.group;
        bool is_inside = from->rank / group == to->rank / group;
        bool ahead = is_inside ? to->rank % group == (from->rank + 1) % group
                               : to->rank == (from->rank + group) % from->comm->set.session.ranks;
        return ahead ? &from->links[!is_inside].up : &to->links[!is_inside].down;
    }
    bool up = is_up(world, from, to);
    const struct world_unit *child = up ? from : to;
    struct world_link_pair *pair = &child->links[child->is_worker ? (up ? to : from)->root : 0];

    return up ? &pair->up : &pair->down;
}

/* True: the packet is gone. */
static bool is_lost(struct world *world, struct world_link *link)
{
    const struct world_settings *set = &world->set;

    if (world_chance(world, set->burst)) {
        link->is_losing = true;
        world->report->bursts++;
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
    uint32_t copy = world_copy(world, parcel);
    struct parcel *p = &world->parcels[copy];
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
    if (p->len != world->parcels[parcel].len || memcmp(p->data, world->parcels[parcel].data, p->len) != 0) {
        auth_changed(world, copy); /* else two flips were of one bit */
    }
    world_release(world, parcel);
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

/* ---- replays ---- */

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

void world_forget(struct world *world)
{
    for (uint32_t i = 0; i < 64; i++) {
        if (world->old_parcels[i] != 0) {
            world_release(world, world->old_parcels[i]);
            world->old_parcels[i] = 0;
        }
    }
}

/* Another communicator's unit in the same place; the same unit if there is none. */
static uint32_t elsewhere(const struct world *world, uint32_t index, const struct world_comm *other)
{
    const struct world_unit *unit = &world->units[index];

    if (unit->is_worker) {
        return other->ranks[unit->rank % other->set.session.ranks].unit;
    }
    if (other->tree[0]->shapes[unit->at].rank_count == 0) {
        return index;
    }
    return other->members[unit->at].units[unit->root % other->set.session.roots];
}

/* What has its address now, or will, is another place of the communicator that sent it: no network does that. */
static bool is_misled(const struct world *world, uint32_t to, uint32_t was_to)
{
    bool is_misled = false;

    for (uint32_t heir = to; heir != 0; heir = world->units[heir].heir) {
        is_misled = is_misled || (world->units[heir].comm == world->units[was_to].comm && heir != was_to);
    }
    return is_misled;
}

static void replay(struct world *world)
{
    uint32_t at = (uint32_t)world_below(world, 64);
    uint32_t from = world->old_from[at];
    uint32_t to = world->old_to[at];

    if (world->old_parcels[at] == 0) {
        return;
    }
    if (world->comm_count > 1 && world_below(world, 2) == 0) {
        const struct world_comm *other = world->comms[world_below(world, world->comm_count)];
        from = elsewhere(world, from, other);
        to = elsewhere(world, to, other);
        world->report->crossed += world->units[to].comm == other && world->units[world->old_to[at]].comm != other;
    }
    if (world->units[from].comm != world->units[to].comm || is_misled(world, to, world->old_to[at])) {
        return;
    }
    world->report->replayed++;
    world->parcels[world->old_parcels[at]].refs++;
    world_deliver(world, from, to, world->old_parcels[at], world_below(world, 30 * WORLD_MS));
}

/* ---- sending ---- */

/* Takes over the caller's reference. No fault: those have been drawn. */
void world_deliver(struct world *world, uint32_t from, uint32_t to, uint32_t parcel, uint64_t delay_ns)
{
    world_schedule(world, world->now_ns + delay_ns,
                   (struct world_event){.kind = WORLD_ARRIVE, .unit = (uint16_t)to, .a = parcel, .b = from});
}

static void name_unit(const struct world *world, uint32_t index, char text[16])
{
    const struct world_unit *unit = &world->units[index];

    if (unit->is_worker) {
        (void)snprintf(text, 16, "r%u", unit->rank);
    } else {
        (void)snprintf(text, 16, "s%u.%u", unit->at, unit->root);
    }
}

void world_trace(const struct world *world, const char *what, uint32_t from, uint32_t to,
                 const struct trib_packet *packet)
{
    if (world->trace) {
        char here[16];
        char there[16];
        name_unit(world, from, here);
        name_unit(world, to, there);
        printf("%12" PRIu64 " %u %-9s %5s>%-5s %-12s seq %" PRIu64 " mark %" PRIu64 " bitmap %" PRIx64
               " len %u flags %x boot %08x\n",
               world->now_ns, world->units[to].comm->index, what, here, there,
               trib_kind_name((enum trib_kind)packet->kind), packet->sequence, packet->mark, packet->bitmap,
               packet->payload_len, packet->flags, packet->boot);
    }
}

static void schedule_bent(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *bent)
{
    struct world_link *link = link_between(world, &world->units[from], &world->units[to]);

    world_schedule(world, arrival(world, link),
                   (struct world_event){
                       .kind = WORLD_ARRIVE, .unit = (uint16_t)to, .a = auth_parcel(world, from, to, bent), .b = from});
}

/* A switch goes wrong with a result for a rank, before its checksum is made, in what proves which contributions are in,
 * and in the sum as well: at most twice for one fragment and rank, so that the third asking helps, but without limit
 * where the communicator may fail. The packet goes without further faults: a copy of it would count as one more. */
static bool is_bent(struct world *world, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    struct world_comm *comm = world->units[to].comm;
    bool lethal = comm->set.hostility == WORLD_LETHAL;

    bool is_flow = packet->kind == TRIB_FLOW && (packet->flags & TRIB_FLAG_UNWANTED) == 0;
    if ((packet->kind != TRIB_RESULT && !is_flow) || !world->units[to].is_worker ||
        !world_chance(world, lethal ? 0.9 : comm->set.lane)) {
        return false;
    }
    struct comm_rank *rank = &comm->ranks[world->units[to].rank];
    if (rank->bent == NULL) {
        rank->bent = world_zeroed(256, 1);
    }
    uint8_t *bends = &rank->bent[packet->sequence % 256];
    if (*bends == 2 && !lethal) {
        return false;
    }
    uint8_t payload[WORLD_PARCEL_MAX];
    struct trib_packet bent = *packet;
    if (bent.payload_len != 0) {
        memcpy(payload, packet->payload, bent.payload_len);
        payload[world_below(world, bent.payload_len)] ^= (uint8_t)(1 + world_below(world, 255));
        bent.payload = payload;
    }
    if (comm->set.has_key && world_below(world, 2) == 0 && proof_is_due(comm, packet)) {
        /* a wrong exponent spoils a later block */
        bent.exponent = (int16_t)(bent.exponent + (int)(lethal ? world_below(world, 3) : 0));
        world->report->falsified++;
        *bends = (uint8_t)(*bends + (*bends < 2));
        schedule_bent(world, from, to, &bent);
        return true;
    }
    switch (world_below(world, 4)) {
    case 0:
        bent.contributors ^= (uint16_t)(1U << world_below(world, 16));
        *bends = (uint8_t)(*bends + (*bends < 2));
        break;
    case 1:
        bent.digest ^= 1U << world_below(world, 32);
        *bends = (uint8_t)(*bends + (is_flow && *bends < 2)); /* the lane is of that digest */
        break;
    default:
        bent.lane ^= UINT64_C(1) << world_below(world, 64);
        *bends = (uint8_t)(*bends + (*bends < 2));
        break;
    }
    world->report->bent++;
    schedule_bent(world, from, to, &bent);
    return true;
}

/* One receiver's copy; takes over a reference. */
void world_send(struct world *world, uint32_t from, uint32_t to, uint32_t parcel, const struct trib_packet *packet)
{
    struct world_link *link = link_between(world, &world->units[from], &world->units[to]);
    struct world_event event = {.kind = WORLD_ARRIVE, .unit = (uint16_t)to, .b = from};

    world_trace(world, "send", from, to, packet);
    check_repeats(world, from, to, packet);
    if (world->is_healed) {
        event.a = parcel;
        world_schedule(world, arrival(world, link), event);
        return;
    }
    if (is_bent(world, from, to, packet)) {
        world_release(world, parcel);
        return;
    }
    remember(world, from, to, parcel);
    auth_lie(world, from, to, parcel);
    if (is_lost(world, link)) {
        world_release(world, parcel);
        return;
    }
    if (world_chance(world, world->set.duplicate)) {
        world->report->duplicated++;
        world->parcels[parcel].refs++;
        event.a = parcel;
        world_schedule(world, arrival(world, link), event);
    }
    event.a = damaged(world, parcel);
    world_schedule(world, arrival(world, link), event);
    if (world_chance(world, world->set.replay)) {
        replay(world);
    }
}
