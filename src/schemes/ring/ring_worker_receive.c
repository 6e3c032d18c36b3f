/* SPDX-License-Identifier: Apache-2.0 */
/* ring_worker_receive.c: packets that come: fragments from the rank before, acknowledgements from the next. Every check
 * comes before the first effect; a packet that fails a check is not acknowledged, and comes again. Read next:
 * ring_worker_send.c. */
#include "schemes/ring/ring_memory.h"

/* Came whole but wrong: the flow sends it again; at the third time in a row the communicator gives up (I8). */
static enum trib_drop strike(struct ring_worker *w, enum ring_way way, uint64_t sequence, enum trib_drop drop)
{
    struct ring_slot *slot = ring_slot(w, sequence);
    uint8_t *strikes = &slot->strikes[way];

    if (slot->state == RING_EMPTY && slot->sequence != sequence) {
        *slot = (struct ring_slot){.sequence = sequence};
    }
    *strikes = (uint8_t)(*strikes + (*strikes < TRIB_RING_STRIKES));
    if (*strikes == TRIB_RING_STRIKES) {
        trib__ring_fail(w, sequence);
    }
    return drop;
}

/* How many parts with payload there must be: an absence would be a wrong sum with a right lane. */
static uint32_t parts_of(const struct trib_packet *packet, uint32_t ranks)
{
    if (packet->payload_len == 0) {
        return 0;
    }
    return packet->type == TRIB_BYTES ? 1 : ranks; /* bytes are not summed */
}

/* Checks of a fragment before its operation is known. The lane must be the one of exactly the ranks on the way. */
static enum trib_drop check(const struct ring_worker *w, enum ring_way way, const struct trib_packet *packet)
{
    uint64_t sequence = trib_ring_sequence(packet->bitmap);
    size_t size = trib_type_size((enum trib_type)packet->type);
    uint64_t keys;

    if (sequence < w->freed || sequence - w->freed >= w->config.session.slots) {
        return sequence < w->freed ? TRIB_DROP_STALE : TRIB_DROP_WINDOW;
    }
    if (packet->last_rank >= w->config.session.ranks || packet->payload_len > w->config.session.payload ||
        (packet->payload_len != 0 && (size == 0 || packet->payload_len % size != 0))) {
        return TRIB_DROP_SHAPE;
    }
    enum trib_ring_leg leg = (enum trib_ring_leg)trib_ring_leg(packet->bitmap);
    uint32_t ranks = trib__ring_expects(w, way, leg, packet->last_rank, &keys);
    if (ranks == 0 || packet->contributors != parts_of(packet, ranks)) {
        return TRIB_DROP_SHAPE;
    }
    return packet->lane == keys * trib__ring_odd(w, sequence, packet->digest) ? TRIB_DROP_NONE : TRIB_DROP_LANE;
}

static void describe(const struct trib_packet *packet, struct ring_slot *slot)
{
    *slot = (struct ring_slot){
        .sequence = trib_ring_sequence(packet->bitmap),
        .lane = packet->lane,
        .digest = packet->digest,
        .len = packet->payload_len,
        .parts = packet->contributors,
        .owner = packet->last_rank,
        .is_carried = trib_ring_leg(packet->bitmap) == TRIB_RING_CARRYING,
        .type = packet->type,
        .reduction = packet->reduction,
    };
}

static void dispute(struct ring_worker *w, enum ring_way way, uint64_t sequence)
{
    struct trib_event event = {
        .kind = TRIB_EVENT_MISMATCH,
        .sequence = sequence,
        .child = (uint16_t)w->circle[way].previous,
        .other = (uint16_t)w->config.rank,
    };

    if (!w->disputed) {
        w->disputed = 1;
        ring_aside(w)->counters.mismatches++;
        trib__ring_event(w, &event);
    }
}

static enum trib_drop take_result(struct ring_worker *w, struct ring_operation *o, const struct trib_packet *packet,
                                  const struct ring_slot *described, uint64_t now_ns)
{
    struct ring_slot *slot = ring_slot(w, described->sequence);

    if (slot->state != RING_SUMMED || slot->ends_with_sends) {
        return TRIB_DROP_UNASKED;
    }
    trib__ring_drop_out(w, slot, now_ns); /* the next rank had the part, or there were no result */
    *slot = *described;
    trib__ring_take_result(w, o, slot, packet->payload, now_ns);
    return TRIB_DROP_NONE;
}

/* Do two parts of a fragment say the same of it? */
static bool is_alike(const struct ring_slot *a, const struct ring_slot *b)
{
    return a->owner == b->owner && a->is_carried == b->is_carried && a->type == b->type &&
           a->reduction == b->reduction && a->len == b->len;
}

/* The first part, which is stored by the caller, or the second, to be added to the first. */
static enum trib_drop take_part(struct ring_worker *w, enum ring_way way, const struct trib_packet *packet,
                                const struct ring_slot *described)
{
    struct ring_slot *slot = ring_slot(w, described->sequence);

    if (slot->state == RING_EMPTY) {
        *slot = *described;
        slot->state = RING_HELD;
        slot->got = (uint8_t)(1U << way);
        return TRIB_DROP_NONE;
    }
    if (slot->state != RING_HELD || (slot->got >> way & 1) != 0) {
        return TRIB_DROP_UNASKED;
    }
    if (slot->digest != described->digest) {
        return TRIB_DROP_DIGEST; /* the owner is checked when the operation is known here */
    }
    if (!is_alike(slot, described)) {
        return strike(w, way, slot->sequence, TRIB_DROP_SHAPE);
    }
    if (slot->len != 0) {
        trib__ring_reduce(w, slot, ring_wire(w, slot->sequence), packet->payload);
    }
    slot->lane += described->lane;
    slot->parts = (uint16_t)(slot->parts + described->parts);
    slot->got |= (uint8_t)(1U << way);
    slot->strikes[way] = 0; /* the result will come by the same way, and has strikes of its own */
    return TRIB_DROP_NONE;
}

static bool has_all(const struct ring_worker *w, const struct ring_slot *slot)
{
    return slot->got == trib__ring_needs(w, slot->owner, slot->is_carried);
}

static enum trib_drop take_fragment(struct ring_worker *w, enum ring_way way, const struct trib_packet *packet,
                                    uint64_t now_ns)
{
    struct ring_slot described;
    enum trib_drop drop = check(w, way, packet);

    describe(packet, &described);
    if (drop != TRIB_DROP_NONE) {
        bool is_wrong = drop == TRIB_DROP_LANE || drop == TRIB_DROP_SHAPE;
        return is_wrong ? strike(w, way, described.sequence, drop) : drop;
    }
    bool is_result = trib_ring_leg(packet->bitmap) == TRIB_RING_SPREADING;
    struct ring_operation *o = trib__ring_operation(w, described.sequence);
    if (o == NULL && (described.sequence < w->end || is_result)) {
        return TRIB_DROP_UNASKED;
    }
    if (o != NULL && packet->digest != o->layout.digest) {
        dispute(w, way, described.sequence);
        return TRIB_DROP_DIGEST;
    }
    if (o != NULL && !trib__ring_agrees(w, o, &described)) {
        return strike(w, way, described.sequence, TRIB_DROP_SHAPE);
    }
    if (is_result) {
        return take_result(w, o, packet, &described, now_ns);
    }
    struct ring_slot *slot = ring_slot(w, described.sequence);
    bool is_first = slot->state == RING_EMPTY;
    drop = take_part(w, way, packet, &described);
    if (drop != TRIB_DROP_NONE) {
        return drop;
    }
    if (o != NULL && has_all(w, slot)) {
        trib__ring_take_parts(w, o, slot, is_first ? packet->payload : ring_wire(w, slot->sequence), now_ns);
        return TRIB_DROP_NONE;
    }
    if (is_first) {
        trib__ring_store(w, slot, packet->payload);
    }
    ring_aside(w)->counters.held += o == NULL;
    return TRIB_DROP_NONE;
}

/* The operation of a held fragment is known now. The fragment was acknowledged, so it does not come again: a wrong
 * fragment is final. */
void trib__ring_take_held(struct ring_worker *w, struct ring_operation *o, uint64_t now_ns)
{
    uint64_t last = w->freed + w->config.session.slots;
    uint64_t end = w->end < last ? w->end : last;

    for (uint64_t sequence = o->first; sequence < end; sequence++) {
        struct ring_slot *slot = ring_slot(w, sequence);
        if (slot->state != RING_HELD || slot->sequence != sequence) {
            continue;
        }
        if (slot->digest != o->layout.digest) {
            dispute(w, (slot->got >> RING_INSIDE & 1) != 0 ? RING_INSIDE : RING_ACROSS, sequence);
        } else if (!trib__ring_agrees(w, o, slot)) {
            trib__ring_fail(w, sequence);
        } else if (has_all(w, slot)) {
            trib__ring_take_parts(w, o, slot, ring_wire(w, sequence), now_ns);
        }
    }
}

static enum trib_drop take_flow(struct ring_worker *w, enum ring_way way, const struct trib_packet *packet,
                                uint64_t now_ns)
{
    struct trib_flow_receiver *r = ring_receiver(w, way);
    enum trib_drop drop = trib_flow_receiver_receive(r, packet, ring_flows(w, way));

    if (drop == TRIB_DROP_REPEAT) {
        return TRIB_DROP_NONE; /* a probe */
    }
    if (drop != TRIB_DROP_NONE) {
        return drop;
    }
    drop = take_fragment(w, way, packet, now_ns);
    if (drop == TRIB_DROP_NONE) {
        trib_flow_take(r, packet->sequence, ring_flows(w, way));
    }
    return drop;
}

struct telling {
    struct ring_worker *w;
    uint64_t now_ns;
    enum ring_way way;
};

static void tell_acked(void *user, uint64_t label)
{
    const struct telling *telling = user;

    trib__ring_acked(telling->w, telling->way, label, telling->now_ns);
}

static enum trib_drop take(struct ring_worker *w, struct trib_place from, const struct trib_packet *packet,
                           uint64_t now_ns)
{
    bool is_flow = packet->kind == TRIB_FLOW;

    if (!is_flow && packet->kind != TRIB_FLOW_ACK) {
        return TRIB_DROP_KIND;
    }
    for (uint32_t way = 0; way < RING_WAYS && from.kind == TRIB_PLACE_PEER; way++) {
        const struct ring_circle *c = &w->circle[way];
        struct telling telling = {w, now_ns, (enum ring_way)way};
        if (ring_has(w, way) && from.index == (is_flow ? c->previous : c->next)) {
            return is_flow ? take_flow(w, telling.way, packet, now_ns)
                           : trib_flow_sender_receive(ring_sender(w, way), packet, now_ns, tell_acked, &telling);
        }
    }
    return TRIB_DROP_SOURCE;
}

enum trib_drop trib__ring_receive(void *node, struct trib_place from, const struct trib_packet *packet, uint64_t now_ns)
{
    struct ring_worker *w = node;
    enum trib_drop drop = take(w, from, packet, now_ns);

    if (drop == TRIB_DROP_NONE) {
        trib__ring_advance(w, now_ns);
    }
    ring_aside(w)->counters.dropped[drop] += drop != TRIB_DROP_NONE;
    return drop;
}
