/* SPDX-License-Identifier: Apache-2.0 */
/* worker_receive.c: a packet comes back to a worker: RESULT, ASK, HELD or BOOT. Every check comes before the first
 * effect.
 * Read next: worker_recover.c. */
#include "protocol/worker_memory.h"

/* A result of the own operation that came whole but wrong: ask again at once, and give up at the third (I8). From then
 * on only the RTO asks, or wrong results and probes would answer each other without end (I5). */
void trib__worker_strike(struct worker *w, uint32_t index, enum trib_drop drop)
{
    struct flight *f = worker_flight(w, index);
    uint32_t root = trib_window_root(&w->window, f->sequence);

    if (f->strikes == TRIB_PROTOCOL_STRIKES) {
        return;
    }
    if (++f->strikes < TRIB_PROTOCOL_STRIKES) {
        trib__worker_probe_lost(w, index);
        return;
    }
    struct trib_event event = {
        .kind = TRIB_EVENT_FAILED, .sequence = f->sequence, .root = root, .other = (uint16_t)drop};
    trib__worker_event(w, &event);
}

/* Signs of a result for the way there and back. */
static void answered(struct worker *w, uint32_t index, const struct trib_packet *packet, uint64_t now_ns)
{
    if (packet->flags & TRIB_FLAG_RESEND) {
        trib__worker_probe_more(w, index);
    }
    if (w->is_paced) {
        trib__worker_paced(w, index, packet);
    }
    trib__worker_answered(w, index, packet->last_rank == w->config.rank, now_ns);
}

/* The switch lacks the rank's part of the sequence. */
static void asked_for(struct worker *w, uint64_t sequence, uint64_t now_ns)
{
    uint32_t index = worker_flight_index(w, sequence);
    const struct flight *f = worker_flight(w, index);
    struct flight_times *times = worker_times(w, index);
    uint32_t root = trib_window_root(&w->window, sequence);

    if (f->sequence != sequence || f->state == FLIGHT_FREE) {
        return;
    }
    /* At most one resend or offer per half RTO, however many ASKs come (I4). */
    uint64_t half = trib_loss_timeout(&worker_aside(w)->roots[root].trip, 0) / 2;
    if (times->resent_ns != 0 && now_ns - times->resent_ns < half) {
        return;
    }
    times->resent_ns = now_ns;
    trib__worker_queue(w, index, f->state == FLIGHT_FINISHED ? PENDING_OFFER : PENDING_RESEND);
}

static enum trib_drop take_result(struct worker *w, const struct trib_packet *packet, uint64_t now_ns)
{
    uint32_t index = worker_flight_index(w, packet->sequence);
    struct worker_form form;
    enum trib_drop drop = trib__worker_check_result(w, index, packet, &form);

    if (drop == TRIB_DROP_LANE || drop == TRIB_DROP_SHAPE) {
        trib__worker_strike(w, index, drop);
    }
    /* The others have done without this rank: the switch must see the rank's other operation. */
    if (drop == TRIB_DROP_DIGEST && (packet->flags & TRIB_FLAG_QUORUM) != 0) {
        asked_for(w, packet->sequence, now_ns);
    }
    if (drop == TRIB_DROP_UNASKED && (packet->flags & TRIB_FLAG_QUORUM) != 0) {
        return trib__worker_take_unsent(w, packet, now_ns);
    }
    if (drop != TRIB_DROP_NONE) {
        return drop;
    }
    trib__worker_accept(w, index, packet, &form);
    const uint8_t *list = trib_quorum_list(packet);
    if (list != NULL && !trib_quorum_has(list, w->config.rank)) {
        trib__worker_unlisted(w, index, packet, now_ns);
    } else {
        answered(w, index, packet, now_ns);
    }
    trib__worker_finish(w, index, worker_operation_at(w, worker_flight(w, index)->operation));
    return TRIB_DROP_NONE;
}

static enum trib_drop take_ask(struct worker *w, const struct trib_packet *packet, uint64_t now_ns)
{
    uint32_t root = trib_window_root(&w->window, packet->sequence);
    uint64_t dense = trib_window_dense(&w->window, packet->sequence);

    worker_aside(w)->counters.asks++;
    asked_for(w, packet->sequence, now_ns);
    for (uint64_t bits = packet->bitmap; bits != 0; bits &= bits - 1) {
        uint64_t ahead = (uint64_t)__builtin_ctzll(bits) + 1;
        asked_for(w, trib_window_sequence(&w->window, root, dense + ahead), now_ns);
    }
    return TRIB_DROP_NONE;
}

/* With RESEND: the result left earlier, and HELD came first. The root has answered, so the next wait is a first one. */
static enum trib_drop take_held(struct worker *w, const struct trib_packet *packet)
{
    uint32_t index = worker_flight_index(w, packet->sequence);
    const struct flight *f = worker_flight(w, index);
    bool is_awaited = f->state == FLIGHT_SENT && f->sequence == packet->sequence;

    worker_aside(w)->counters.held++;
    if ((packet->flags & TRIB_FLAG_ECN) != 0 && w->is_paced) {
        trib__worker_late_mark(w, trib_window_root(&w->window, packet->sequence));
    }
    if (is_awaited && (packet->flags & TRIB_FLAG_RESEND) != 0 && !f->is_lost) {
        worker_aside(w)->roots[trib_window_root(&w->window, packet->sequence)].tail_backoff = 0;
        worker_times(w, index)->backoff = 0;
        trib__worker_probe_lost(w, index);
    }
    if (packet->sequence == w->mark) {
        w->held_sequence = packet->sequence;
        w->held_bitmap = packet->bitmap;
    }
    return TRIB_DROP_NONE;
}

static enum trib_drop take_boot(struct worker *w, const struct trib_packet *packet, uint32_t root)
{
    struct trib_event event = {.kind = TRIB_EVENT_BOOT, .boot = packet->boot, .root = root};

    worker_aside(w)->counters.boots++;
    trib__worker_event(w, &event);
    return TRIB_DROP_NONE;
}

static enum trib_drop check(const struct worker *w, struct trib_place from, const struct trib_packet *packet)
{
    const struct trib_session_config *s = &w->config.session;

    if (packet->communicator != s->communicator) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->generation != s->generation) {
        return TRIB_DROP_GENERATION;
    }
    if (from.kind != TRIB_PLACE_ROOT ||
        (packet->kind != TRIB_BOOT && trib_window_root(&w->window, packet->sequence) != from.index)) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->kind == TRIB_BOOT) {
        return packet->boot != w->boot ? TRIB_DROP_NONE : TRIB_DROP_DUPLICATE;
    }
    if (w->boot == 0 || packet->boot != w->boot) {
        return TRIB_DROP_BOOT;
    }
    /* M is a minimum over marks, the own mark among them. */
    return packet->mark <= w->mark ? TRIB_DROP_NONE : TRIB_DROP_MARK;
}

static enum trib_drop take(struct worker *w, struct trib_place from, const struct trib_packet *packet, uint64_t now_ns)
{
    enum trib_drop drop = check(w, from, packet);

    if (drop != TRIB_DROP_NONE) {
        return drop;
    }
    switch (packet->kind) {
    case TRIB_RESULT:
        drop = take_result(w, packet, now_ns);
        if (drop == TRIB_DROP_NONE || drop == TRIB_DROP_DUPLICATE) {
            trib__worker_learn_mark(w, from.index, packet->mark, now_ns);
        }
        return drop;
    case TRIB_ASK:
        trib__worker_learn_mark(w, from.index, packet->mark, now_ns);
        return take_ask(w, packet, now_ns);
    case TRIB_HELD:
        trib__worker_learn_mark(w, from.index, packet->mark, now_ns);
        return take_held(w, packet);
    case TRIB_BOOT:
        return take_boot(w, packet, from.index);
    default:
        return TRIB_DROP_KIND;
    }
}

/* Two cache lines: the one at the address, and the next. */
static void fetch(const void *at)
{
    __builtin_prefetch(at, 1);
    __builtin_prefetch((const char *)at + 64, 1);
}

/* The answered flight, and the next one to send. */
void trib__worker_soon(const void *node, struct trib_place from, const struct trib_packet *packet)
{
    const struct worker *w = node;
    uint32_t index = worker_flight_index(w, packet->sequence);
    uint32_t next = worker_flight_index(w, w->next[from.index < w->window.roots ? from.index : 0]);

    fetch(worker_flight(w, index));
    fetch(worker_times(w, index));
    fetch(worker_flight(w, next));
    fetch(worker_times(w, next));
}

enum trib_drop trib__worker_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                    uint64_t now_ns)
{
    enum trib_drop drop = take(node, from, packet, now_ns);

    worker_aside(node)->counters.dropped[drop] += drop != TRIB_DROP_NONE;
    return drop;
}
