/* SPDX-License-Identifier: Apache-2.0 */
/* ring_worker_sum.c: the numbers of a fragment at a hop, its end there, and the fragments that may begin then. No
 * packet is built or read here.
 *
 * 16-bit floats, and float32 that travels as bfloat16, are widened, reduced, and rounded at every hop, as on any ring
 * with few bytes. Read next: ring_worker_receive.c. */
#include <string.h>

#include "core/assert.h"
#include "core/lane.h"
#include "schemes/ring/ring_memory.h"

/* ---- lanes ---- */

uint64_t trib__ring_odd(const struct ring_worker *w, uint64_t sequence, uint32_t digest)
{
    return trib_session_odd(&w->config.session, sequence, 0, digest);
}

/* ---- form ---- */

/* Where a collective has no owner, blocks are dealt: to each place of a group in turn, in one group after another, so
 * that all rings are busy all the time. */
static uint32_t dealt(const struct ring_worker *w, uint64_t block)
{
    const struct trib_session_config *s = &w->config.session;

    return (uint32_t)(block / s->group % (s->ranks / s->group) * s->group + block % s->group);
}

void trib__ring_form(const struct ring_worker *w, const struct ring_operation *o, uint64_t sequence,
                     struct ring_form *form)
{
    bool is_dealt = o->operation.collective == TRIB_ALLREDUCE || o->operation.collective == TRIB_BARRIER;

    trib_layout_piece(&o->layout, &o->operation, sequence - o->first, &form->piece);
    form->piece.owner = is_dealt ? dealt(w, sequence - o->first) : form->piece.owner;
    form->len = (uint16_t)(form->piece.elements * o->layout.wire_size);
    form->is_spread = is_dealt;
    form->is_carried = !is_dealt && !trib_operation_reduces(&o->operation);
}

const void *trib__ring_tensor(const struct ring_operation *o, const struct ring_form *form)
{
    return trib_operation_send_at(&o->operation, &o->layout, &form->piece);
}

static bool is_converted(const struct ring_operation *o)
{
    return o->layout.wire != TRIB_BYTES && o->layout.wire != o->operation.type;
}

bool trib__ring_agrees(const struct ring_worker *w, const struct ring_operation *o, const struct ring_slot *slot)
{
    struct ring_form form;

    trib__ring_form(w, o, slot->sequence, &form);
    return slot->owner == form.piece.owner && slot->is_carried == form.is_carried && slot->type == o->layout.wire &&
           slot->reduction == o->operation.reduction && slot->len == form.len;
}

/* ---- numbers ---- */

/* The own part in wire form. */
static const void *own_part(const struct ring_worker *w, const struct ring_operation *o, const struct ring_form *form)
{
    const void *block = trib__ring_tensor(o, form);

    if (!is_converted(o)) {
        return block;
    }
    struct trib_conversion c = {.wire = o->layout.wire, .tensor = o->operation.type};
    trib_tensor_encode(w->config.kernels, &c, ring_at(w, w->own_at), block, form->piece.elements);
    return ring_at(w, w->own_at);
}

void trib__ring_store(const struct ring_worker *w, const struct ring_slot *slot, const void *payload)
{
    uint8_t *wire = ring_wire(w, slot->sequence);

    if (slot->len != 0 && payload != wire) {
        memcpy(wire, payload, slot->len);
    }
}

void trib__ring_reduce(const struct ring_worker *w, const struct ring_slot *slot, const void *a, const void *b)
{
    const struct trib_value_kernels *k = w->config.kernels;
    enum trib_type type = (enum trib_type)slot->type;
    uint8_t *wire = ring_wire(w, slot->sequence);
    bool in_place = trib_row_size(type, slot->len) == slot->len;
    void *row = in_place ? wire : ring_at(w, w->row_at);

    trib_row_pair(k, type, (enum trib_reduction)slot->reduction, row, a, b, slot->len);
    trib_row_finish(k, type, row, slot->len);
    if (!in_place) {
        memcpy(wire, row, slot->len);
    }
}

/* The own part alone becomes the sum of one rank. */
static void load_own(const struct ring_worker *w, const struct ring_operation *o, const struct ring_slot *slot,
                     const struct ring_form *form)
{
    uint8_t *wire = ring_wire(w, slot->sequence);
    bool in_place = trib_row_size(o->layout.wire, slot->len) == slot->len;
    void *row = in_place ? wire : ring_at(w, w->row_at);

    trib_row_load(w->config.kernels, o->layout.wire, row, own_part(w, o, form), slot->len);
    trib_row_finish(w->config.kernels, o->layout.wire, row, slot->len);
    if (!in_place) {
        memcpy(wire, row, slot->len);
    }
}

/* Writes the payload into the caller's tensor. */
static void deliver(const struct ring_worker *w, const struct ring_operation *o, const struct ring_slot *slot,
                    const struct ring_form *form, const void *payload)
{
    bool averages = o->operation.reduction == TRIB_AVERAGE;

    if (slot->len == 0 || o->operation.recv == NULL) {
        return;
    }
    void *block = trib_operation_recv_at(&o->operation, &o->layout, &form->piece);
    if (o->layout.wire == TRIB_BYTES) {
        memcpy(block, payload, slot->len);
        return;
    }
    struct trib_conversion c = {o->layout.wire, o->operation.type, 0, averages ? w->config.session.ranks : 1};
    trib_tensor_decode(w->config.kernels, &c, block, payload, form->piece.elements);
}

/* The own share of an allgather, which no packet brings. */
static void deliver_own(const struct ring_operation *o, const struct ring_slot *slot, const struct ring_form *form)
{
    if (o->operation.collective == TRIB_ALLGATHER && slot->len != 0) {
        void *at = trib_operation_recv_at(&o->operation, &o->layout, &form->piece);
        const void *own = trib__ring_tensor(o, form);
        if (at != own) {
            memcpy(at, own, slot->len);
        }
    }
}

/* ---- the end ---- */

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

static void set_pending(struct ring_worker *w, enum ring_way way, uint64_t sequence, bool is_pending)
{
    struct ring_circle *c = &w->circle[way];
    uint32_t index = ring_slot_index(w, sequence);
    uint64_t *word = (uint64_t *)ring_at(w, c->pending_at) + index / 64;

    *word = is_pending ? *word | UINT64_C(1) << index % 64 : *word & ~(UINT64_C(1) << index % 64);
    c->pending += is_pending ? 1 : UINT32_MAX;
}

/* ways: a bitmap. */
static void queue(struct ring_worker *w, struct ring_slot *slot, uint32_t ways, enum trib_ring_leg leg)
{
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if ((ways >> way & 1) != 0) {
            slot->sending[way] = (struct ring_sending){.out = RING_PENDING, .leg = (uint8_t)leg};
            set_pending(w, (enum ring_way)way, slot->sequence, true);
        }
    }
}

void trib__ring_drop_out(struct ring_worker *w, struct ring_slot *slot, uint64_t now_ns)
{
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        struct ring_sending *sending = &slot->sending[way];
        if (sending->out == RING_UNDER_WAY) {
            trib_flow_settle(ring_sender(w, way), sending->flow, now_ns);
        } else if (sending->out == RING_PENDING) {
            set_pending(w, (enum ring_way)way, slot->sequence, false);
        }
        sending->out = RING_NOTHING;
    }
}

void trib__ring_sent(struct ring_worker *w, struct ring_slot *slot, enum ring_way way, uint64_t flow)
{
    set_pending(w, way, slot->sequence, false);
    slot->sending[way].out = RING_UNDER_WAY;
    slot->sending[way].flow = flow;
}

/* A result, or carried payload, is here. Where it goes no further, it is not stored. */
static void pass_on(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot,
                    const struct ring_form *form, const void *payload)
{
    uint32_t ways = trib__ring_spread_ways(w, slot->owner);

    deliver(w, o, slot, form, payload);
    if (ways != 0) {
        trib__ring_store(w, slot, payload);
    }
    queue(w, slot, ways, form->is_carried ? TRIB_RING_CARRYING : TRIB_RING_SPREADING);
}

/* The slot holds the parts of all earlier ranks on the way, and the own. */
static void take_sum(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot,
                     const struct ring_form *form, uint64_t now_ns)
{
    ring_aside(w)->counters.contributions++;
    if (slot->owner != w->config.rank) {
        slot->state = RING_SUMMED;
        slot->ends_with_sends = !form->is_spread;
        queue(w, slot, 1U << trib__ring_sum_way(w, slot->owner), TRIB_RING_SUMMING);
        return;
    }
    if (form->is_spread) {
        pass_on(w, o, slot, form, ring_wire(w, slot->sequence));
    } else {
        deliver(w, o, slot, form, ring_wire(w, slot->sequence));
    }
    finish(w, o, slot, now_ns);
}

void trib__ring_take_parts(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot, const void *payload,
                           uint64_t now_ns)
{
    struct ring_form form;

    trib__ring_form(w, o, slot->sequence, &form);
    slot->lane += w->key * trib__ring_odd(w, slot->sequence, slot->digest);
    if (form.is_carried) {
        pass_on(w, o, slot, &form, payload);
        finish(w, o, slot, now_ns);
        return;
    }
    if (slot->len != 0) {
        trib__ring_reduce(w, slot, payload, own_part(w, o, &form));
        slot->parts++;
    }
    take_sum(w, o, slot, &form, now_ns);
}

void trib__ring_take_result(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot,
                            const void *payload, uint64_t now_ns)
{
    struct ring_form form;

    trib__ring_form(w, o, slot->sequence, &form);
    pass_on(w, o, slot, &form, payload);
    finish(w, o, slot, now_ns);
}

void trib__ring_acked(struct ring_worker *w, enum ring_way way, uint64_t label, uint64_t now_ns)
{
    struct ring_slot *slot = ring_slot(w, trib_ring_sequence(label));
    struct ring_sending *sending = &slot->sending[way];

    TRIB_ASSERT(sending->out == RING_UNDER_WAY &&
                trib_ring_label(slot->sequence, (enum trib_ring_leg)sending->leg) == label);
    sending->out = RING_NOTHING;
    if (slot->ends_with_sends && ring_is_sent(slot)) {
        finish(w, trib__ring_operation(w, slot->sequence), slot, now_ns);
    }
}

/* ---- the beginning ---- */

static void begin_carrying(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot,
                           const struct ring_form *form, uint64_t now_ns)
{
    deliver_own(o, slot, form);
    slot->state = RING_SUMMED;
    slot->is_borrowed = slot->len != 0;
    slot->ends_with_sends = 1;
    queue(w, slot, trib__ring_spread_ways(w, slot->owner), TRIB_RING_CARRYING);
    if (ring_is_sent(slot)) { /* there is nobody else */
        finish(w, o, slot, now_ns);
    }
}

static void begin(struct ring_worker *w, struct ring_operation *o, struct ring_slot *slot, const struct ring_form *form,
                  uint64_t now_ns)
{
    slot->lane = w->key * trib__ring_odd(w, slot->sequence, slot->digest);
    slot->parts = slot->len != 0;
    if (form->is_carried) {
        begin_carrying(w, o, slot, form, now_ns);
        return;
    }
    if (slot->len != 0 && (slot->owner == w->config.rank || is_converted(o))) {
        load_own(w, o, slot, form);
    } else {
        slot->is_borrowed = slot->len != 0;
    }
    take_sum(w, o, slot, form, now_ns);
}

static void give_turn(struct ring_worker *w, uint64_t sequence, uint64_t now_ns)
{
    struct ring_operation *o = trib__ring_operation(w, sequence);
    struct ring_slot *slot = ring_slot(w, sequence);
    struct ring_form form;

    w->next++;
    if (o == NULL) {
        return; /* finished before its turn */
    }
    trib__ring_form(w, o, sequence, &form);
    if (trib__ring_needs(w, form.piece.owner, form.is_carried) != 0) {
        return; /* it begins elsewhere */
    }
    if (slot->state != RING_EMPTY) { /* a fragment that began elsewhere: the ranks disagree on the first rank */
        if (!w->disputed) {          /* else all are about to hear of both operations */
            trib__ring_fail(w, sequence);
        }
        return;
    }
    *slot = (struct ring_slot){
        .sequence = sequence,
        .digest = o->layout.digest,
        .len = form.len,
        .owner = (uint16_t)form.piece.owner,
        .is_carried = form.is_carried,
        .type = (uint8_t)o->layout.wire,
        .reduction = (uint8_t)o->operation.reduction,
    };
    begin(w, o, slot, &form, now_ns);
}

/* Room has come, and the ranks before may be waiting for it. */
static void tell_limit(struct ring_worker *w)
{
    uint64_t quarter = (w->config.session.slots + 3) / 4;

    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if (ring_has(w, way) && ring_limit(w) - w->circle[way].told >= trib_ring_label(quarter, TRIB_RING_SUMMING)) {
            ring_receiver(w, way)->is_due = 1;
        }
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
        while (w->freed < w->mark && ring_is_sent(ring_slot(w, w->freed))) {
            *ring_slot(w, w->freed) = (struct ring_slot){0};
            w->freed++;
            moved = true;
        }
    }
    tell_limit(w);
}
