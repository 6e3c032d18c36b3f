/* SPDX-License-Identifier: Apache-2.0 */
/* ring_worker_sum.c: what is done to numbers at a hop, what is finished by it, and what may begin then. No packet is built or read here.
 *
 * 16-bit floats, and float32 that travels as bfloat16, are widened, reduced, and rounded at every hop, as any ring does that keeps
 * its bytes few. Read next: ring_worker_receive.c. */
#include <string.h>

#include "core/assert.h"
#include "core/lane.h"
#include "schemes/ring/ring_worker.h"

/* ---- lanes ---- */

uint64_t trib__ring_odd(const struct ring_worker *w, uint64_t sequence, uint32_t digest)
{
    return trib_session_odd(&w->config.session, sequence, 0, digest);
}

uint64_t trib__ring_keys(const struct ring_worker *w, uint32_t begun, uint32_t count)
{
    const uint64_t *below = ring_at(w, w->keys_at); /* [r]: of all ranks below r */
    uint32_t ranks = w->config.session.ranks;
    uint32_t end = begun + count;

    return end <= ranks ? below[end] - below[begun] : below[ranks] - below[begun] + below[end - ranks];
}

/* ---- form ---- */

static uint64_t block_of(const struct ring_operation *o, uint64_t sequence)
{
    return sequence - o->first;
}

static uint64_t elements_of(const struct ring_operation *o, uint64_t sequence)
{
    return trib_layout_elements(&o->layout, o->operation.count, block_of(o, sequence));
}

static void *block_at(const struct ring_operation *o, const void *tensor, uint64_t sequence)
{
    return (uint8_t *)(uintptr_t)tensor +
           block_of(o, sequence) * o->layout.block_elements * (size_t)o->layout.element_size;
}

static bool is_converted(const struct ring_operation *o)
{
    return o->layout.wire != TRIB_BYTES && o->layout.wire != o->operation.type;
}

bool trib__ring_agrees(const struct ring_worker *w, const struct ring_operation *o, const struct ring_slot *slot)
{
    return slot->begun == ring_begins(w, o, slot->sequence) && slot->type == o->layout.wire &&
           slot->reduction == o->operation.reduction &&
           slot->len == elements_of(o, slot->sequence) * o->layout.wire_size;
}

/* ---- numbers ---- */

/* The own part in wire form. */
static const void *own_part(const struct ring_worker *w, const struct ring_operation *o, uint64_t sequence)
{
    const void *block = block_at(o, o->operation.send, sequence);

    if (!is_converted(o)) {
        return block;
    }
    struct trib_conversion c = {.wire = o->layout.wire, .tensor = o->operation.type};
    trib_tensor_encode(w->config.kernels, &c, ring_at(w, w->own_at), block, elements_of(o, sequence));
    return ring_at(w, w->own_at);
}

/* wire buffer = what is in it + own part; or the own part alone. */
static void add_own(const struct ring_worker *w, const struct ring_operation *o, const struct ring_slot *slot,
                    bool alone)
{
    const struct trib_value_kernels *k = w->config.kernels;
    uint8_t *wire = ring_wire(w, slot->sequence);
    const void *own = own_part(w, o, slot->sequence);
    bool in_place = trib_row_size(o->layout.wire, slot->len) == slot->len;
    void *row = in_place ? wire : ring_at(w, w->row_at);

    if (alone) {
        trib_row_load(k, o->layout.wire, row, own, slot->len);
    } else {
        if (!in_place) {
            trib_row_load(k, o->layout.wire, row, wire, slot->len);
        }
        trib_row_add(k, o->layout.wire, o->operation.reduction, row, own, slot->len);
    }
    trib_row_finish(k, o->layout.wire, row, slot->len);
    if (!in_place) {
        memcpy(wire, row, slot->len);
    }
}

/* Writes what the wire buffer holds where the caller wants it. */
static void deliver(const struct ring_worker *w, const struct ring_operation *o, const struct ring_slot *slot)
{
    bool averages = o->operation.reduction == TRIB_AVERAGE;

    if (slot->len == 0 || o->operation.recv == NULL) {
        return;
    }
    void *block = block_at(o, o->operation.recv, slot->sequence);
    if (o->layout.wire == TRIB_BYTES) {
        memcpy(block, ring_wire(w, slot->sequence), slot->len);
        return;
    }
    struct trib_conversion c = {o->layout.wire, o->operation.type, 0, averages ? w->config.session.ranks : 1};
    trib_tensor_decode(w->config.kernels, &c, block, ring_wire(w, slot->sequence), elements_of(o, slot->sequence));
}

/* ---- what is finished ---- */

static void finish(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot, uint64_t now_ns)
{
    uint64_t before = w->mark;

    slot->state = RING_FINISHED;
    ring_aside(w)->counters.results++;
    for (; w->mark < w->end; w->mark++) {
        const struct ring_slot *s = ring_slot(w, w->mark);
        if (s->sequence != w->mark || s->state != RING_FINISHED) {
            break;
        }
    }
    if (w->mark != before) {
        ring_aside(w)->waits_ns = ring_aside(w)->reported_ns = now_ns;
    }
    if (--o->left == 0) {
        trib__ring_event(
            w, &(struct trib_event){.kind = TRIB_EVENT_DONE, .token = o->operation.token, .sequence = o->first});
        while (w->oldest_operation != w->newest_operation && ring_operation_at(w, w->oldest_operation)->left == 0) {
            w->oldest_operation++;
        }
    }
}

static void set_pending(struct ring_worker *w, uint64_t sequence, bool is_pending)
{
    uint32_t index = ring_slot_index(w, sequence);
    uint64_t *word = (uint64_t *)ring_at(w, w->pending_at) + index / 64;

    *word = is_pending ? *word | UINT64_C(1) << index % 64 : *word & ~(UINT64_C(1) << index % 64);
    w->pending += is_pending ? 1 : UINT32_MAX;
}

void trib__ring_queue(struct ring_worker *w, struct ring_slot *slot, enum trib_ring_leg leg)
{
    slot->out = RING_PENDING;
    slot->leg = (uint8_t)leg;
    set_pending(w, slot->sequence, true);
}

void trib__ring_drop_out(struct ring_worker *w, struct ring_slot *slot, uint64_t now_ns)
{
    if (slot->out == RING_UNDER_WAY) {
        trib_flow_settle(ring_sender(w), slot->flow, now_ns);
    } else if (slot->out == RING_PENDING) {
        set_pending(w, slot->sequence, false);
    }
    slot->out = RING_NOTHING;
}

/* The wire buffer holds the parts of all ranks before this one. */
void trib__ring_take_part(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot, uint64_t now_ns)
{
    uint32_t behind = w->config.session.ranks - 1 - ring_distance(w, slot->begun);

    slot->lane += w->key * trib__ring_odd(w, slot->sequence, slot->digest);
    if (o->operation.collective == TRIB_BROADCAST) {
        deliver(w, o, slot);
        if (behind != 0) {
            trib__ring_queue(w, slot, TRIB_RING_SUMMING);
        }
        finish(w, o, slot, now_ns);
        return;
    }
    if (slot->len != 0) {
        add_own(w, o, slot, false);
        slot->parts++;
    }
    ring_aside(w)->counters.contributions++;
    if (behind != 0) {
        slot->state = RING_SUMMED;
        trib__ring_queue(w, slot, TRIB_RING_SUMMING);
        return;
    }
    deliver(w, o, slot);
    trib__ring_queue(w, slot, TRIB_RING_SPREADING);
    finish(w, o, slot, now_ns);
}

void trib__ring_take_result(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot, uint64_t now_ns)
{
    deliver(w, o, slot);
    if (ring_distance(w, slot->begun) + 2 < w->config.session.ranks) {
        trib__ring_queue(w, slot, TRIB_RING_SPREADING);
    }
    finish(w, o, slot, now_ns);
}

void trib__ring_acked(struct ring_worker *w, uint64_t label, uint64_t now_ns)
{
    struct ring_slot *slot = ring_slot(w, label / 2);

    TRIB_ASSERT(slot->out == RING_UNDER_WAY && trib_ring_label(slot->sequence, slot->leg) == label);
    slot->out = RING_NOTHING;
    if (slot->is_root) {
        finish(w, trib__ring_operation(w, slot->sequence), slot, now_ns);
    }
}

/* ---- what begins ---- */

static void begin(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot, uint64_t now_ns)
{
    bool is_root = o->operation.collective == TRIB_BROADCAST;
    bool is_alone = w->config.session.ranks == 1;

    slot->lane = w->key * trib__ring_odd(w, slot->sequence, slot->digest);
    slot->parts = slot->len != 0;
    slot->state = RING_SUMMED;
    if (slot->len != 0 && (is_alone || is_converted(o))) {
        add_own(w, o, slot, true);
    } else {
        slot->is_borrowed = slot->len != 0;
    }
    if (!is_root) {
        ring_aside(w)->counters.contributions++;
    }
    if (is_alone) {
        slot->is_borrowed = 0;
        if (!is_root) {
            deliver(w, o, slot);
        }
        finish(w, o, slot, now_ns);
        return;
    }
    slot->is_root = is_root;
    trib__ring_queue(w, slot, TRIB_RING_SUMMING);
}

static void give_turn(struct ring_worker *w, uint64_t sequence, uint64_t now_ns)
{
    struct ring_operation *o = trib__ring_operation(w, sequence);
    struct ring_slot *slot = ring_slot(w, sequence);

    w->next++;
    if (o == NULL || ring_begins(w, o, sequence) != w->config.rank) {
        return; /* finished before its turn; or another rank's */
    }
    if (slot->state != RING_EMPTY) { /* what began elsewhere: the ranks do not agree who begins */
        trib__ring_fail(w, sequence);
        return;
    }
    *slot = (struct ring_slot){
        .sequence = sequence,
        .digest = o->layout.digest,
        .len = (uint16_t)(elements_of(o, sequence) * o->layout.wire_size),
        .begun = (uint16_t)w->config.rank,
        .type = (uint8_t)o->layout.wire,
        .reduction = (uint8_t)o->operation.reduction,
    };
    begin(w, o, slot, now_ns);
}

/* Room has come, and the rank before may be waiting for it. */
static void tell_limit(struct ring_worker *w)
{
    uint64_t quarter = (w->config.session.slots + 3) / 4;

    if (w->config.session.ranks > 1 && ring_limit(w) - w->told >= trib_ring_label(quarter, TRIB_RING_SUMMING)) {
        ring_receiver(w)->is_due = 1;
    }
}

void trib__ring_advance(struct ring_worker *w, uint64_t now_ns)
{
    bool moved = true;

    while (moved) {
        moved = false;
        while (w->next < w->end && w->next - w->freed < w->config.session.slots) {
            give_turn(w, w->next, now_ns);
            moved = true;
        }
        while (w->freed < w->mark && ring_slot(w, w->freed)->out == RING_NOTHING) {
            *ring_slot(w, w->freed) = (struct ring_slot){0};
            w->freed++;
            moved = true;
        }
    }
    tell_limit(w);
}
