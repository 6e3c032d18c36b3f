/* SPDX-License-Identifier: Apache-2.0 */
/* worker_deliver.c: a result goes into its tensor: checks, the retained copy, the end of fragment and operation. Every
 * check comes before the first effect. Read next: worker_receive.c. */
#include <string.h>

#include "protocol/worker_memory.h"

/* An exponent that trib_block_exponent can give. */
static bool is_exponent(int16_t exponent)
{
    return exponent == TRIB_EXPONENT_ZERO || exponent == TRIB_EXPONENT_RAW || (exponent >= -149 && exponent <= 128);
}

/* True if the result has the shape of the rank's own part. As for contributors: a silent absence
 * would be a wrong sum with a right lane. */
static bool has_shape(const struct worker *w, const struct worker_operation *o, const struct trib_packet *packet,
                      const struct worker_form *form)
{
    bool lacks = (packet->flags & TRIB_FLAG_QUORUM) != 0;

    if (lacks ? !trib__worker_has_quorum(w, packet, form) : packet->contributors != form->parts) {
        return false;
    }
    if (packet->reduction != o->operation.reduction) {
        return false;
    }
    if (o->layout.lookahead != 0 && !is_exponent(packet->exponent)) {
        return false;
    }
    if (packet->payload_len == 0) {
        return form->parts == 0 || !form->wants;
    }
    return packet->payload_len == form->len + (lacks ? TRIB_QUORUM_LIST : 0) && packet->type == form->wire;
}

/* Is the result that of the operation, whole and right? */
enum trib_drop trib__worker_check_sum(const struct worker *w, const struct worker_operation *o,
                                      const struct trib_packet *packet, struct worker_form *form)
{
    trib__worker_form(w, o, packet->sequence, form);
    if (packet->digest != o->layout.digest) {
        return TRIB_DROP_DIGEST;
    }
    if (!has_shape(w, o, packet, form)) {
        return TRIB_DROP_SHAPE;
    }
    return w->lanes->holds(w, o, form, packet) ? TRIB_DROP_NONE : TRIB_DROP_LANE;
}

/* Checks a result against its flight. */
enum trib_drop trib__worker_check_result(const struct worker *w, uint32_t index, const struct trib_packet *packet,
                                         struct worker_form *form)
{
    const struct flight *f = worker_flight(w, index);

    if (f->state != FLIGHT_SENT || f->sequence != packet->sequence) {
        return worker_was_sent(w, packet->sequence) ? TRIB_DROP_DUPLICATE : TRIB_DROP_UNASKED;
    }
    enum trib_drop drop = trib__worker_check_sum(w, worker_operation_at(w, f->operation), packet, form);
    bool is_largest = packet->exponent >= f->exponent; /* as that of a result is to be */
    return drop == TRIB_DROP_NONE && !is_largest ? TRIB_DROP_SHAPE : drop;
}

/* An average is one of the parts that are in. */
static uint32_t divisor(const struct worker *w, const struct worker_operation *o, const struct trib_packet *packet)
{
    if (o->operation.reduction != TRIB_AVERAGE) {
        return 1;
    }
    return packet->flags & TRIB_FLAG_QUORUM ? packet->contributors : w->config.session.ranks;
}

/* The sum of the others and the own part, which the switch has not seen: the same form, one addition, rounded once.
 * Nobody else has a part where there is one rank. */
static const void *add_own(const struct worker *w, const struct worker_operation *o, const struct trib_packet *packet,
                           const struct worker_form *form)
{
    const struct trib_value_kernels *k = w->config.kernels;
    size_t len = form->piece.elements * trib_type_size(form->wire);
    const void *own = worker_send_at(o, &form->piece);
    uint8_t *row = worker_at(w, w->scratch_at);

    if (form->converted) {
        struct trib_conversion c = {.wire = form->wire, .tensor = o->operation.type, .shift = form->shift};
        uint8_t *encoded = row + worker_scratch_own(&w->config.session);
        trib_tensor_encode(k, &c, encoded, own, form->piece.elements);
        own = encoded;
    }
    if (packet->payload_len != 0) {
        trib_row_load(k, form->wire, row, packet->payload, len);
        trib_row_add(k, form->wire, o->operation.reduction, row, own, len);
    } else {
        trib_row_load(k, form->wire, row, own, len);
    }
    trib_row_finish(k, form->wire, row, len);
    return row;
}

/* Not in place: the rank has just sent that block, so the cache still holds the block. */
static bool bypasses_caches(const struct worker_operation *o)
{
    return trib_layout_is_large(&o->layout) && o->operation.recv != o->operation.send;
}

/* Writes the result where the caller wants it. */
static void deliver(const struct worker *w, const struct worker_operation *o, const struct trib_packet *packet,
                    const struct worker_form *form)
{
    const struct trib_value_kernels *k = w->config.kernels;
    void *at = worker_recv_at(o, &form->piece);
    const void *payload = packet->payload;

    if (o->operation.collective == TRIB_REDUCE_SCATTER) {
        payload = add_own(w, o, packet, form);
    }
    struct trib_conversion c = {form->wire, o->operation.type, form->shift, divisor(w, o, packet)};
    if (form->wire == TRIB_BYTES || (!form->converted && c.divisor == 1)) {
        worker_aside(w)->is_unordered |= bypasses_caches(o);
        trib_tensor_copy(k, bypasses_caches(o), at, payload, form->len);
        return;
    }
    trib_tensor_decode(k, &c, at, payload, form->piece.elements);
}

/* The own share of an allgather, which no packet brings. */
static void deliver_own(const struct worker_operation *o, const struct worker_form *form)
{
    void *at = worker_recv_at(o, &form->piece);
    const void *own = worker_send_at(o, &form->piece);

    if (at != own) {
        memcpy(at, own, form->len);
    }
}

/* True if the caller gets the result's wire form. Not where a list is behind it. */
static bool is_as_delivered(const struct worker *w, const struct worker_operation *o, const struct trib_packet *packet,
                            const struct worker_form *form)
{
    return form->wants && !form->converted && divisor(w, o, packet) == 1 && o->operation.recv != NULL &&
           o->operation.collective != TRIB_REDUCE_SCATTER && (packet->flags & TRIB_FLAG_QUORUM) == 0;
}

/* Keeps a copy for a restart of the switch: the result in wire form. With a header only the rank has the result if its
 * own part is all; else the rank keeps its part. Both are still its to read now. */
static void retain(const struct worker *w, struct flight *f, const struct worker_operation *o,
                   const struct trib_packet *packet, const struct worker_form *form)
{
    f->digest = packet->digest;
    f->reduction = packet->reduction;
    f->flags = packet->flags & TRIB_FLAG_QUORUM;
    f->exponent = packet->exponent;
    f->lane = form->parts > 1 && packet->payload_len == 0 ? f->lane : packet->lane;
    f->type = (uint8_t)form->wire;
    f->payload_len = form->parts != 0 ? form->len : 0;
    f->parts = packet->contributors;
    f->copy = COPY_IN_WIRE;
    if (packet->payload_len == 0) {
        f->is_own = form->parts > 1;
        f->copy = form->converted || form->parts == 0 ? COPY_IN_WIRE : COPY_IN_SEND;
    } else if (is_as_delivered(w, o, packet, form)) {
        f->copy = COPY_IN_RECV;
    } else {
        memcpy(worker_wire(w, worker_flight_index(w, f->sequence)), packet->payload, packet->payload_len);
    }
}

/* Delivers a result that was checked. */
void trib__worker_accept(struct worker *w, uint32_t index, const struct trib_packet *packet,
                         const struct worker_form *form)
{
    struct flight *f = worker_flight(w, index);
    const struct worker_operation *o = worker_operation_at(w, f->operation);
    bool has_exponent = f->exponent == packet->exponent;

    retain(w, f, o, packet, form);
    /* A rank that wants no payload gets the payload as well when another rank's OFFER completed the sum. A rank that
     * reduces and scatters alone gets none. */
    if (form->wants && form->piece.elements != 0 && o->operation.recv != NULL) {
        deliver(w, o, packet, form);
    } else if (o->operation.collective == TRIB_ALLGATHER && form->piece.elements != 0) {
        deliver_own(o, form);
    }
    if (o->layout.lookahead != 0 && packet->sequence - o->first < o->layout.blocks) {
        *worker_exponent(w, packet->sequence) = packet->exponent;
        *worker_has_exponent(w, packet->sequence) = has_exponent;
        worker_aside(w)->counters.raw_blocks += packet->exponent == TRIB_EXPONENT_RAW;
    }
    worker_aside(w)->counters.results++;
    if (packet->flags & TRIB_FLAG_QUORUM) {
        trib__worker_count_lacking(w, packet);
    }
}

/* The operation ends: fragments that a rank may still lack are copied before the tensors are the caller's. */
static void retain_rest(const struct worker *w, const struct worker_operation *o)
{
    uint64_t end = o->first + o->layout.sequences;
    uint64_t sequence = trib__worker_lowest_mark(w);

    for (sequence = sequence > o->first ? sequence : o->first; sequence < end; sequence++) {
        uint32_t index = worker_flight_index(w, sequence);
        struct flight *f = worker_flight(w, index);
        if (f->sequence == sequence && f->copy != COPY_IN_WIRE) {
            memcpy(worker_wire(w, index), trib__worker_retained(w, index), f->payload_len);
            f->copy = COPY_IN_WIRE;
        }
    }
}

/* Releases finished operations from the front of the ring. */
static void release_operations(struct worker *w)
{
    while (w->oldest_operation != w->newest_operation && worker_operation_at(w, w->oldest_operation)->left == 0) {
        w->oldest_operation++;
    }
}

void trib__worker_finish(struct worker *w, uint32_t index, struct worker_operation *o)
{
    worker_flight(w, index)->state = FLIGHT_FINISHED;
    while (w->mark < w->end) {
        const struct flight *f = worker_flight(w, worker_flight_index(w, w->mark));
        if (f->sequence != w->mark || f->state != FLIGHT_FINISHED) {
            break;
        }
        w->mark++;
    }
    if (--o->left == 0) {
        retain_rest(w, o);
        struct trib_event event = {.kind = TRIB_EVENT_DONE, .token = o->operation.token, .sequence = o->first};
        trib__worker_event(w, &event);
        release_operations(w);
    }
}
