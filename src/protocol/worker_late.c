/* SPDX-License-Identifier: Apache-2.0 */
/* worker_late.c: results that lack this rank's part. If the part was sent, the result is taken, and the part is lost.
 * If the part was not sent, the result is taken as well, the fragment is finished, and the root's next sequence moves
 * past it. So a late rank catches up, as far as the others may be ahead: one window.
 * Read next: worker_receive.c. */
#include "core/assert.h"
#include "protocol/worker_memory.h"

/* A submitted operation with this fragment, unfinished; its position in the ring. */
static uint64_t find_operation(const struct worker *w, uint64_t sequence)
{
    uint64_t at = w->oldest_operation;

    while (sequence - worker_operation_at(w, at)->first >= worker_operation_at(w, at)->layout.sequences) {
        at++;
    }
    TRIB_ASSERT(at < w->newest_operation);
    return at;
}

static bool has_news(const struct worker *w, uint32_t root, uint64_t by)
{
    uint64_t told = trib_window_dense_below(&w->window, root, w->roots[root].told);

    return trib_window_dense_below(&w->window, root, w->mark) > told + by;
}

/* The root may get no packet with the mark, and others wait for the mark. */
static void tell_mark(struct worker *w, uint32_t root)
{
    if (w->mark < w->end) {
        w->roots[root].probe |= has_news(w, root, w->roots[root].reach / 4);
        return;
    }
    for (root = 0; root < w->window.roots; root++) {
        w->roots[root].probe |= has_news(w, root, 0);
    }
}

/* The result lacks the sent part: of the way there and back it tells a mark at most. One that was asked for lets the
 * window grow as ever: else a rank far behind would catch up with its window of the moment. The part may still be on
 * its way; but does not count as in flight, as no packet will ever answer. */
void trib__worker_unlisted(struct worker *w, uint32_t index, const struct trib_packet *result, uint64_t now_ns)
{
    uint32_t root = trib_window_root(&w->window, result->sequence);
    struct worker_root *r = &w->roots[root];
    struct trib_congestion_sign sign = {
        .in_flight = r->congestion.in_flight,
        .allowed = r->congestion.window,
        .is_full = r->is_full && (result->flags & TRIB_FLAG_RESEND) != 0,
        .is_marked = (result->flags & TRIB_FLAG_RESEND) == 0 && trib_result_is_marked(result, r->child),
    };

    worker_aside(w)->counters.results_marked += sign.is_marked;
    if (result->flags & TRIB_FLAG_RESEND) {
        trib__worker_probe_more(w, index);
    }
    trib_congestion_tree_result(&r->tree, &sign);
    trib__worker_told_cap(w, result);
    trib__worker_let_go(w, index, now_ns);
}

/* A part came late, the switch says, and its way was congested: no result will tell that. */
void trib__worker_late_mark(struct worker *w, uint32_t root)
{
    struct worker_root *r = &w->roots[root];
    struct trib_congestion_sign sign = {
        .in_flight = r->congestion.in_flight, .allowed = r->congestion.window, .is_marked = true};

    worker_aside(w)->counters.results_marked++;
    trib_congestion_tree_result(&r->tree, &sign);
    trib__worker_set_window(w, root);
}

/* A sequence that this rank has not sent. The flight's former sequence is below the packet's M, since the switch has
 * admitted this one. */
enum trib_drop trib__worker_take_unsent(struct worker *w, const struct trib_packet *packet, uint64_t now_ns)
{
    uint32_t root = trib_window_root(&w->window, packet->sequence);
    uint32_t index = worker_flight_index(w, packet->sequence);
    struct flight *f = worker_flight(w, index);
    struct worker_form form;

    if (packet->sequence >= w->end || packet->sequence < w->mark) {
        return TRIB_DROP_UNASKED;
    }
    if (f->sequence == packet->sequence && f->state == FLIGHT_FINISHED) {
        return TRIB_DROP_DUPLICATE;
    }
    uint64_t at = find_operation(w, packet->sequence);
    struct worker_operation *o = worker_operation_at(w, at);
    enum trib_drop drop = trib__worker_check_sum(w, o, packet, &form);
    if (drop != TRIB_DROP_NONE) {
        return drop;
    }
    if (trib_quorum_has(trib_quorum_list(packet), w->config.rank)) {
        return TRIB_DROP_LANE; /* the sum holds a part that was never given */
    }
    uint64_t known = w->roots[root].communicator_mark;
    if (!trib_window_admits(&w->window, packet->mark > known ? packet->mark : known, packet->sequence)) {
        return TRIB_DROP_WINDOW; /* impossible from a switch that takes its parts */
    }
    trib__worker_learn_mark(w, root, packet->mark, now_ns);
    TRIB_ASSERT(f->state != FLIGHT_SENT && (f->state == FLIGHT_FREE || f->sequence < w->roots[root].communicator_mark));
    *f = (struct flight){
        .sequence = packet->sequence,
        .operation = (uint32_t)(at % w->config.operations),
        .pending = f->pending != 0 ? PENDING_PROBE : 0, /* it stands in the queue, and must not twice; it has no use */
        .newer = NO_FLIGHT,
        .older = NO_FLIGHT,
    };
    *worker_times(w, index) = (struct flight_times){0};
    trib__worker_accept(w, index, packet, &form);
    trib__worker_told_cap(w, packet);
    trib__worker_finish(w, index, o);
    trib__worker_skip_taken(w, root);
    tell_mark(w, root);
    return TRIB_DROP_NONE;
}
