/* SPDX-License-Identifier: Apache-2.0 */
/* ring_worker_receive.c: what comes: fragments from the rank before, acknowledgements from the next. Every check comes before the
 * first effect; what fails one is not acknowledged, so that it comes again. Read next: ring_worker_send.c. */
#include <string.h>

#include "core/assert.h"
#include "schemes/ring/ring_worker.h"

/* Came whole but wrong: the flow sends it again; at the third time the communicator gives up (I8). */
static enum trib_drop strike(struct ring_worker *w, uint64_t sequence, enum trib_drop drop)
{
    struct ring_slot *slot = ring_slot(w, sequence);

    if (slot->state == RING_EMPTY && slot->sequence != sequence) {
        slot->sequence = sequence;
        slot->strikes = 0;
    }
    slot->strikes = (uint8_t)(slot->strikes + (slot->strikes < TRIB_RING_STRIKES));
    if (slot->strikes == TRIB_RING_STRIKES) {
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

/* What can be known of a fragment before its operation is. Its lane must be that of exactly the ranks on its way here. */
static enum trib_drop check(const struct ring_worker *w, const struct trib_packet *packet, uint64_t sequence,
                            bool spreads)
{
    uint32_t all = w->config.session.ranks;

    if (sequence < w->freed || sequence - w->freed >= w->config.session.slots) {
        return sequence < w->freed ? TRIB_DROP_STALE : TRIB_DROP_WINDOW;
    }
    if (packet->last_rank >= all || packet->payload_len > w->config.session.payload) {
        return TRIB_DROP_SHAPE;
    }
    uint32_t distance = ring_distance(w, packet->last_rank);
    uint32_t ranks = spreads ? all : distance;
    if ((spreads && distance == all - 1) || ranks == 0 || packet->contributors != parts_of(packet, ranks)) {
        return TRIB_DROP_SHAPE;
    }
    uint64_t lane = trib__ring_keys(w, packet->last_rank, ranks) * trib__ring_odd(w, sequence, packet->digest);
    return packet->lane == lane ? TRIB_DROP_NONE : TRIB_DROP_LANE;
}

static void describe(const struct trib_packet *packet, uint64_t sequence, struct ring_slot *slot)
{
    *slot = (struct ring_slot){
        .sequence = sequence,
        .lane = packet->lane,
        .digest = packet->digest,
        .len = packet->payload_len,
        .parts = packet->contributors,
        .begun = packet->last_rank,
        .type = packet->type,
        .reduction = packet->reduction,
    };
}

static void store(const struct ring_worker *w, const struct trib_packet *packet, const struct ring_slot *slot)
{
    if (packet->payload_len != 0) {
        memcpy(ring_wire(w, slot->sequence), packet->payload, packet->payload_len);
    }
}

static void dispute(struct ring_worker *w, uint64_t sequence)
{
    struct trib_event event = {
        .kind = TRIB_EVENT_MISMATCH,
        .sequence = sequence,
        .child = (uint16_t)ring_previous(w),
        .other = (uint16_t)w->config.rank,
    };

    if (!w->disputed) {
        w->disputed = 1;
        ring_aside(w)->counters.mismatches++;
        trib__ring_event(w, &event);
    }
}

/* A fragment that was checked, of an operation that is under way here. */
static enum trib_drop take_known(struct ring_worker *w, struct ring_operation *o, const struct trib_packet *packet,
                                 const struct ring_slot *described, uint64_t now_ns)
{
    bool spreads = (packet->bitmap & 1) != 0;
    struct ring_slot *slot = ring_slot(w, described->sequence);

    if (packet->digest != o->layout.digest) {
        dispute(w, described->sequence);
        return TRIB_DROP_DIGEST;
    }
    if (!trib__ring_agrees(w, o, described)) {
        return strike(w, described->sequence, TRIB_DROP_SHAPE);
    }
    if (slot->state != (spreads ? RING_SUMMED : RING_EMPTY) || (spreads && slot->is_root)) {
        return TRIB_DROP_UNASKED;
    }
    trib__ring_drop_out(w, slot, now_ns); /* the next rank had the part, or there were no result */
    *slot = *described;
    store(w, packet, slot);
    if (spreads) {
        trib__ring_take_result(w, o, slot, now_ns);
    } else {
        trib__ring_take_part(w, o, slot, now_ns);
    }
    return TRIB_DROP_NONE;
}

static enum trib_drop take_fragment(struct ring_worker *w, const struct trib_packet *packet, uint64_t now_ns)
{
    uint64_t sequence = packet->bitmap / 2;
    bool spreads = (packet->bitmap & 1) != 0;
    enum trib_drop drop = check(w, packet, sequence, spreads);
    struct ring_slot described;

    if (drop == TRIB_DROP_LANE || drop == TRIB_DROP_SHAPE) {
        return strike(w, sequence, drop);
    }
    if (drop != TRIB_DROP_NONE) {
        return drop;
    }
    describe(packet, sequence, &described);
    struct ring_operation *o = trib__ring_operation(w, sequence);
    if (o != NULL) {
        return take_known(w, o, packet, &described, now_ns);
    }
    struct ring_slot *slot = ring_slot(w, sequence);
    if (sequence < w->end || spreads || slot->state != RING_EMPTY) {
        return TRIB_DROP_UNASKED;
    }
    *slot = described;
    slot->state = RING_HELD;
    store(w, packet, slot);
    ring_aside(w)->counters.held++;
    return TRIB_DROP_NONE;
}

/* The operation that what waits belongs to is known now. It was acknowledged, so it does not come again: what is wrong with it is final. */
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
            dispute(w, sequence);
        } else if (!trib__ring_agrees(w, o, slot)) {
            trib__ring_fail(w, sequence);
        } else {
            trib__ring_take_part(w, o, slot, now_ns);
        }
    }
}

static enum trib_drop take_flow(struct ring_worker *w, const struct trib_packet *packet, uint64_t now_ns)
{
    enum trib_drop drop = trib_flow_receiver_receive(ring_receiver(w), packet, ring_flows(w));

    if (drop == TRIB_DROP_REPEAT) {
        return TRIB_DROP_NONE; /* a probe */
    }
    if (drop != TRIB_DROP_NONE) {
        return drop;
    }
    drop = take_fragment(w, packet, now_ns);
    if (drop == TRIB_DROP_NONE) {
        trib_flow_take(ring_receiver(w), packet->sequence, ring_flows(w));
    }
    return drop;
}

struct telling {
    struct ring_worker *w;
    uint64_t now_ns;
};

static void tell_acked(void *user, uint64_t label)
{
    const struct telling *telling = user;

    trib__ring_acked(telling->w, label, telling->now_ns);
}

static enum trib_drop take(struct ring_worker *w, struct trib_place from, const struct trib_packet *packet,
                           uint64_t now_ns)
{
    struct telling telling = {w, now_ns};
    bool is_flow = packet->kind == TRIB_FLOW;

    if (!is_flow && packet->kind != TRIB_FLOW_ACK) {
        return TRIB_DROP_KIND;
    }
    if (from.kind != TRIB_PLACE_PEER || w->config.session.ranks == 1 ||
        from.index != (is_flow ? ring_previous(w) : ring_next(w))) {
        return TRIB_DROP_SOURCE;
    }
    return is_flow ? take_flow(w, packet, now_ns)
                   : trib_flow_sender_receive(ring_sender(w), packet, now_ns, tell_acked, &telling);
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
