/* SPDX-License-Identifier: Apache-2.0 */
/* worker_send.c: packets of a worker, in this order: asked ones (offers, resends), probes, then
 * new payload within the window: to each root in order, and to one that has room whatever others wait for. When to
 * probe is decided in worker_recover.c.
 * Read next: switch.c, where it arrives. */
#include "core/assert.h"
#include "protocol/worker_memory.h"

void trib__worker_form(const struct worker *w, const struct worker_operation *o, uint64_t sequence,
                       struct worker_form *form)
{
    const struct trib_layout *layout = &o->layout;
    const struct trib_session_config *s = &w->config.session;

    *form = (struct worker_form){.block = worker_block(o, sequence), .wire = layout->wire};
    trib_layout_piece(layout, &o->operation, form->block, &form->piece);
    form->len = (uint16_t)(form->piece.elements * layout->wire_size);
    form->contributes = trib_operation_contributes(&o->operation, form->piece.owner, w->config.rank);
    form->wants = trib_operation_wants(&o->operation, form->piece.owner, w->config.rank);
    if (form->piece.elements != 0) {
        form->parts = (uint16_t)trib_operation_parts(&o->operation, s->ranks);
        form->may_lack = trib_operation_may_lack(s, &o->operation);
    }
    if (form->piece.elements != 0 && layout->lookahead != 0) {
        int16_t exponent = *worker_exponent(w, o->first + form->block);
        if (exponent == TRIB_EXPONENT_RAW) {
            form->wire = TRIB_FLOAT32;
        } else if (exponent != TRIB_EXPONENT_ZERO) {
            form->shift = trib_block_shift(exponent, s->ranks);
        }
    }
    form->converted = form->wire != TRIB_BYTES && form->wire != o->operation.type;
}

/* The fields that every packet has. */
static void begin(const struct worker *w, enum trib_kind kind, uint64_t sequence, struct trib_packet *packet)
{
    *packet = (struct trib_packet){
        .kind = (uint8_t)kind,
        .sequence = sequence,
        .mark = w->mark,
        .communicator = w->config.session.communicator,
        .generation = w->config.session.generation,
        .boot = w->boot,
        .node = (uint16_t)w->config.rank,
        .last_rank = (uint16_t)w->config.rank,
    };
}

static bool address(struct worker *w, const struct trib_packet *packet, struct trib_place *to)
{
    *to = (struct trib_place){.kind = TRIB_PLACE_ROOT, .index = trib_window_root(&w->window, packet->sequence)};
    /* A second contribution to a finished fragment tells a lower mark. */
    if (packet->mark > w->roots[to->index].told) {
        w->roots[to->index].told = packet->mark;
    }
    return true;
}

/* The exponent with the sequence: of the block `lookahead` ahead of the payload. */
static int16_t exponent_ahead(const struct worker *w, const struct worker_operation *o, uint64_t sequence)
{
    struct trib_piece piece;

    if (o->layout.lookahead == 0) {
        return 0;
    }
    trib_layout_piece(&o->layout, &o->operation, sequence - o->first, &piece);
    if (piece.elements == 0) {
        return TRIB_EXPONENT_ZERO;
    }
    return trib_block_exponent(w->config.kernels, worker_send_at(o, &piece), piece.elements);
}

static void attach_payload(const struct worker *w, uint32_t index, const struct worker_operation *o,
                           const struct worker_form *form, struct trib_packet *packet)
{
    struct flight *f = worker_flight(w, index);
    const void *block = worker_send_at(o, &form->piece);

    packet->payload_len = form->len;
    packet->payload = block;
    packet->contributors = 1;
    if (!form->converted) {
        return;
    }
    packet->payload = worker_wire(w, index);
    if (!f->encoded) {
        struct trib_conversion c = {.wire = form->wire, .tensor = o->operation.type, .shift = form->shift};
        trib_tensor_encode(w->config.kernels, &c, worker_wire(w, index), block, form->piece.elements);
        f->encoded = 1;
    }
}

void trib__worker_contribution(struct worker *w, uint32_t index, const struct worker_operation *o,
                               struct trib_packet *packet)
{
    struct flight *f = worker_flight(w, index);
    struct worker_form form;

    trib__worker_form(w, o, f->sequence, &form);
    begin(w, TRIB_CONTRIBUTION, f->sequence, packet);
    packet->digest = o->layout.digest;
    packet->reduction = (uint8_t)o->operation.reduction;
    packet->window_cap = (uint16_t)o->operation.priority;
    packet->type = (uint8_t)form.wire;
    if (!f->is_made) { /* before the payload, which is in the cache then when it is sent */
        f->exponent = exponent_ahead(w, o, f->sequence);
    }
    packet->exponent = f->exponent;
    /* A share's header is wanted by all where there is no block of it. */
    if (!form.wants && (form.parts != 0 || !trib_operation_has_shares(&o->operation))) {
        packet->flags |= TRIB_FLAG_UNWANTED;
    }
    if (form.may_lack) {
        packet->flags |= TRIB_FLAG_QUORUM;
    }
    if (form.piece.elements != 0 && form.contributes) {
        attach_payload(w, index, o, &form, packet);
    }
    if (!f->is_made) { /* a mask is used for one lane alone */
        f->lane = w->lanes->make(w, o, &form, packet);
        f->is_made = 1;
    }
    packet->lane = f->lane;
}

/* The copy in wire form: in a tensor while the operation runs, in the flight's own buffer after. */
const void *trib__worker_retained(const struct worker *w, uint32_t index)
{
    const struct flight *f = worker_flight(w, index);
    const struct worker_operation *o = worker_operation_at(w, f->operation);
    struct trib_piece piece;

    if (f->copy == COPY_IN_WIRE) {
        return worker_wire(w, index);
    }
    trib_layout_piece(&o->layout, &o->operation, worker_block(o, f->sequence), &piece);
    return f->copy == COPY_IN_SEND ? worker_send_at(o, &piece) : worker_recv_at(o, &piece);
}

/* The kept copy of a finished fragment: the result, as an OFFER. A rank that got a header only never had the result:
 * the rank gives its part again, as for a new fragment; ranks with the result never contribute, and the rest can. */
static void build_kept(const struct worker *w, uint32_t index, struct trib_packet *packet)
{
    const struct flight *f = worker_flight(w, index);

    begin(w, f->is_own ? TRIB_CONTRIBUTION : TRIB_OFFER, f->sequence, packet);
    packet->flags = (uint16_t)(f->flags | TRIB_FLAG_RESEND);
    packet->digest = f->digest;
    packet->type = f->type;
    packet->reduction = f->reduction;
    packet->exponent = f->exponent;
    packet->contributors = f->parts;
    packet->lane = f->lane;
    packet->payload_len = f->payload_len;
    packet->payload = f->payload_len != 0 ? trib__worker_retained(w, index) : NULL;
    if (f->flags & TRIB_FLAG_QUORUM) {
        packet->payload_len += TRIB_QUORUM_LIST;
    }
    if (f->is_own) {
        packet->flags = TRIB_FLAG_UNWANTED | TRIB_FLAG_RESEND;
        packet->mark = w->mark < f->sequence ? w->mark : f->sequence; /* never above the sequence */
        packet->contributors = f->payload_len != 0;
    }
}

/* The bitmap has the sent ones of the next 64, so an ASK names no sequence that is only on the way. */
static void build_probe(const struct worker *w, uint64_t sequence, struct trib_packet *packet)
{
    uint32_t root = trib_window_root(&w->window, sequence);
    uint64_t behind = trib_window_dense(&w->window, w->next[root]) - trib_window_dense(&w->window, sequence) - 1;

    begin(w, TRIB_PROBE, sequence, packet);
    packet->bitmap = behind >= 64 ? UINT64_MAX : (UINT64_C(1) << behind) - 1;
}

/* Hands out the queued packet of one flight; false if it has lost its reason since. */
static bool answer(struct worker *w, uint32_t index, uint64_t now_ns, struct trib_packet *packet)
{
    struct flight *f = worker_flight(w, index);
    struct trib_counters *counters = &worker_aside(w)->counters;
    uint8_t pending = f->pending;

    f->pending = 0;
    if (f->state == FLIGHT_FINISHED) {
        /* Below M all ranks have the result, and the copy may be gone (I3). */
        if ((pending & PENDING_OFFER) == 0 ||
            f->sequence < w->roots[trib_window_root(&w->window, f->sequence)].communicator_mark) {
            return false;
        }
        counters->offers += !f->is_own;
        counters->contributions_again += f->is_own;
        build_kept(w, index, packet);
        return true;
    }
    if (f->state != FLIGHT_SENT || (pending & (PENDING_RESEND | PENDING_PROBE)) == 0) {
        return false;
    }
    if (pending & PENDING_RESEND) {
        counters->contributions_resent++;
        trib__worker_contribution(w, index, worker_operation_at(w, f->operation), packet);
        packet->flags |= f->is_new ? 0 : TRIB_FLAG_RESEND;
        f->is_lost = f->is_new = 0;
        trib__worker_lost(w, index);
    } else {
        counters->probes++;
        build_probe(w, f->sequence, packet);
        packet->flags = f->is_lost ? TRIB_FLAG_RESEND : 0;
    }
    trib__worker_sent(w, index, now_ns);
    return true;
}

static bool next_answer(struct worker *w, uint64_t now_ns, struct trib_packet *packet)
{
    const uint32_t *queue = worker_at(w, w->queue_at);

    while (w->queue_count > 0) {
        uint32_t index = queue[w->queue_head];
        w->queue_head = (w->queue_head + 1) % w->flights;
        w->queue_count--;
        if (answer(w, index, now_ns, packet)) {
            return true;
        }
    }
    return false;
}

/* A block can only be quantised when its exponent has come back. */
bool trib__worker_exponent_agreed(const struct worker *w, const struct worker_operation *o, uint64_t sequence)
{
    if (o->layout.lookahead == 0 || sequence - o->first < o->layout.lookahead) {
        return true;
    }
    uint64_t before = sequence - o->layout.lookahead;
    const struct flight *f = worker_flight(w, worker_flight_index(w, before));
    return before < w->mark || (f->sequence == before && f->state == FLIGHT_FINISHED);
}

/* Of the roots that are not in `held`, the one with the lowest next sequence; TRIB_ROOTS_MAX: nothing is left to be
 * sent to them. */
uint32_t trib__worker_next_root(const struct worker *w, uint32_t held)
{
    uint32_t found = TRIB_ROOTS_MAX;
    uint64_t lowest = w->end;

    for (uint32_t root = 0; root < w->window.roots; root++) {
        if (w->next[root] < lowest && (held >> root & 1) == 0) {
            found = root;
            lowest = w->next[root];
        }
    }
    return found;
}

/* The operation that the root's next sequence, which was submitted, belongs to. */
const struct worker_operation *trib__worker_sending(struct worker *w, uint32_t root)
{
    struct worker_root *r = &w->roots[root];

    if (r->sending < w->oldest_operation) {
        r->sending = w->oldest_operation;
    }
    const struct worker_operation *o = worker_operation_at(w, r->sending);
    while (w->next[root] - o->first >= o->layout.sequences) {
        r->sending++; /* some have none for this root */
        o = worker_operation_at(w, r->sending);
    }
    TRIB_ASSERT(r->sending < w->newest_operation && w->next[root] >= o->first);
    return o;
}

/* Takes the flight for the root's next sequence, of the operation `sending`, and builds its contribution. Returns which
 * flight. */
uint32_t trib__worker_launch(struct worker *w, uint32_t root, const struct worker_operation *o,
                             struct trib_packet *packet)
{
    uint64_t sequence = w->next[root];
    uint32_t index = worker_flight_index(w, sequence);
    struct flight *f = worker_flight(w, index);

    *f = (struct flight){
        .sequence = sequence,
        .state = FLIGHT_SENT,
        .operation = (uint32_t)(w->roots[root].sending % w->config.operations),
        .pending = f->pending, /* it may still stand in the queue, and must not twice */
        .newer = NO_FLIGHT,
        .older = NO_FLIGHT,
    };
    *worker_times(w, index) = (struct flight_times){0};
    trib_congestion_sent(&w->roots[root].congestion);
    w->next[root] = trib_window_next(&w->window, sequence);
    trib__worker_skip_taken(w, root);
    worker_aside(w)->counters.contributions++;
    trib__worker_contribution(w, index, o, packet);
    if (w->end - sequence > sequence + 1 - w->mark) {
        packet->flags |= TRIB_FLAG_MORE;
    }
    return index;
}

/* May the root's next sequence be sent? */
static bool is_open(struct worker *w, uint32_t root, const struct worker_operation *o)
{
    struct worker_root *r = &w->roots[root];
    uint64_t below = trib_window_dense_below(&w->window, root, r->communicator_mark);

    if (trib_window_dense(&w->window, w->next[root]) >= below + r->reach) {
        r->is_full = 0;
        trib__worker_blocked(w, root);
        return false;
    }
    if (!trib_congestion_admits(&r->congestion) || (w->is_paced && !trib__worker_admits_run(w, root))) {
        r->is_full = w->is_paced && trib_congestion_tree_fragments(&r->tree) == r->congestion.window;
        return false;
    }
    r->is_full = 0;
    return trib__worker_exponent_agreed(w, o, w->next[root]);
}

/* The lowest sequence first, so that roots take turns in trains as long as all have room. */
static bool next_contribution(struct worker *w, uint64_t now_ns, struct trib_packet *packet)
{
    uint32_t held = 0;
    uint32_t root;

    if (trib__worker_is_early(w, now_ns)) {
        return false;
    }
    while ((root = trib__worker_next_root(w, held)) != TRIB_ROOTS_MAX) {
        const struct worker_operation *o = trib__worker_sending(w, root);
        trib__worker_rested(w, root, now_ns);
        if (is_open(w, root, o)) {
            const struct flight *f = worker_flight(w, worker_flight_index(w, w->next[root]));
            TRIB_ASSERT(f->state != FLIGHT_SENT &&
                        (f->state == FLIGHT_FREE || f->sequence < w->roots[root].communicator_mark));
            trib__worker_sent(w, trib__worker_launch(w, root, o, packet), now_ns);
            trib__worker_spent(w, packet);
            return true;
        }
        held |= UINT32_C(1) << root;
    }
    return false;
}

/* A probe that tells the own mark and asks for M alone: of a sequence that was not sent. The flag keeps the switch from
 * asking for that: the part might be on the way when the ASK comes. */
static bool next_mark_probe(struct worker *w, uint64_t now_ns, struct trib_packet *packet)
{
    for (uint32_t root = 0; root < w->window.roots; root++) {
        if (w->roots[root].probe) {
            w->roots[root].probe = 0;
            worker_aside(w)->roots[root].quiet_ns = now_ns;
            worker_aside(w)->counters.probes++;
            worker_aside(w)->counters.probes_blocked++;
            begin(w, TRIB_PROBE, w->next[root], packet);
            packet->flags = TRIB_FLAG_UNWANTED;
            return true;
        }
    }
    return false;
}

bool trib__worker_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct worker *w = node;

    worker_order_results(w);
    if (w->boot == 0) {
        return false;
    }
    if (next_answer(w, now_ns, packet) || next_contribution(w, now_ns, packet) || next_mark_probe(w, now_ns, packet)) {
        return address(w, packet, to);
    }
    return false;
}
