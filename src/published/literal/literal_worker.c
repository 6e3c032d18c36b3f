/* SPDX-License-Identifier: Apache-2.0 */
/* literal_worker.c: the published worker (NSDI'21, algorithm 4): one fragment in flight for each slot, sent again
 * whenever its timer ends, until its result arrives. Everything else is switchml's worker. Read next:
 * protocol/worker_memory.h. */
#include "core/assert.h"
#include "protocol/worker_memory.h"
#include "published/literal/literal.h"

/* The paper has no boots: a worker continues, and its packets meet an empty switch. */
void trib__literal_registered(void *node, uint32_t boot, uint64_t mark, uint64_t now_ns)
{
    struct worker *w = node;

    w->boot = boot;
    worker_aside(w)->counters.registrations++;
    trib__worker_session_mark(w, mark, now_ns);
}

/* ---- sending ---- */

static void start_timer(struct worker *w, uint32_t index, uint64_t now_ns)
{
    struct worker_aside *aside = worker_aside(w);
    struct flight_times *times = worker_times(w, index);

    if (times->sent_ns == 0) {
        times->sent_ns = now_ns;
    }
    times->deadline_ns = now_ns + TRIB_LITERAL_RTO_NS;
    if (times->deadline_ns < aside->next_deadline_ns) {
        aside->next_deadline_ns = times->deadline_ns;
    }
}

/* Sends a queued fragment that still has no result. A wrong result queues the fragment as for a PROBE. This rule has no
 * PROBE: it sends the contribution again. */
static bool next_resend(struct worker *w, uint64_t now_ns, struct trib_packet *packet)
{
    const uint32_t *queue = worker_at(w, w->queue_at);

    while (w->queue_count > 0) {
        uint32_t index = queue[w->queue_head];
        struct flight *f = worker_flight(w, index);
        w->queue_head = (w->queue_head + 1) % w->flights;
        w->queue_count--;
        f->pending = 0;
        if (f->state == FLIGHT_SENT) {
            worker_aside(w)->counters.contributions_resent++;
            trib__worker_contribution(w, index, worker_operation_at(w, f->operation), packet);
            packet->flags |= TRIB_FLAG_RESEND;
            start_timer(w, index, now_ns);
            return true;
        }
    }
    return false;
}

/* A slot is free for the next fragment when this worker has the result of the fragment before. The worker's own mark
 * decides; switchml uses M, the mark of all. */
static bool next_new(struct worker *w, uint64_t now_ns, struct trib_packet *packet)
{
    uint32_t root = trib__worker_next_root(w, 0);

    if (root == TRIB_ROOTS_MAX) {
        return false;
    }
    const struct worker_operation *o = trib__worker_sending(w, root);
    if (!trib_window_admits(&w->window, w->mark, w->next[root]) ||
        !trib_congestion_admits(&w->roots[root].congestion) || !trib__worker_exponent_agreed(w, o, w->next[root])) {
        return false;
    }
    TRIB_ASSERT(worker_flight(w, worker_flight_index(w, w->next[root]))->state != FLIGHT_SENT);
    start_timer(w, trib__worker_launch(w, root, o, packet), now_ns);
    return true;
}

bool trib__literal_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct worker *w = node;

    if (w->boot == 0 || (!next_resend(w, now_ns, packet) && !next_new(w, now_ns, packet))) {
        return false;
    }
    *to = (struct trib_place){.kind = TRIB_PLACE_ROOT, .index = trib_window_root(&w->window, packet->sequence)};
    return true;
}

/* ---- receiving ---- */

static enum trib_drop take(struct worker *w, struct trib_place from, const struct trib_packet *packet)
{
    const struct trib_session_config *s = &w->config.session;
    struct worker_form form;

    if (packet->communicator != s->communicator || from.kind != TRIB_PLACE_ROOT ||
        trib_window_root(&w->window, packet->sequence) != from.index) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->generation != s->generation) {
        return TRIB_DROP_GENERATION;
    }
    if (packet->kind != TRIB_RESULT) {
        return TRIB_DROP_KIND;
    }
    uint32_t index = worker_flight_index(w, packet->sequence);
    enum trib_drop drop = trib__worker_check_result(w, index, packet, &form);
    if (drop != TRIB_DROP_NONE) {
        if (drop == TRIB_DROP_LANE) {
            trib__worker_strike(w, index, drop);
        }
        return drop;
    }
    trib__worker_accept(w, index, packet, &form);
    trib_congestion_result(&w->roots[from.index].congestion);
    trib__worker_finish(w, index, worker_operation_at(w, worker_flight(w, index)->operation));
    return TRIB_DROP_NONE;
}

enum trib_drop trib__literal_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                     uint64_t now_ns)
{
    enum trib_drop drop = take(node, from, packet);

    (void)now_ns;
    worker_aside(node)->counters.dropped[drop] += drop != TRIB_DROP_NONE;
    return drop;
}

/* ---- timers ---- */

uint64_t trib__literal_next_timeout(const void *node)
{
    const struct worker *w = node;

    return w->boot == 0 ? TRIB_NEVER : worker_aside(w)->next_deadline_ns;
}

void trib__literal_on_timeout(void *node, uint64_t now_ns)
{
    struct worker *w = node;
    struct worker_aside *aside = worker_aside(w);

    if (w->boot == 0 || aside->next_deadline_ns > now_ns) {
        return;
    }
    aside->next_deadline_ns = TRIB_NEVER;
    for (uint32_t index = 0; index < w->flights; index++) {
        struct flight_times *times = worker_times(w, index);
        if (worker_flight(w, index)->state != FLIGHT_SENT) {
            continue;
        }
        if (times->deadline_ns <= now_ns) {
            trib__worker_queue(w, index, PENDING_RESEND);
            start_timer(w, index, now_ns);
        } else if (times->deadline_ns < aside->next_deadline_ns) {
            aside->next_deadline_ns = times->deadline_ns;
        }
    }
    trib__worker_report_stall(w, now_ns);
}

const struct trib_worker_verbs trib_literal_worker_verbs = {
    .node = {.state_size = trib__worker_state_size,
             .receive = trib__literal_receive,
             .next_packet = trib__literal_next_packet,
             .next_event = trib__worker_next_event,
             .next_timeout = trib__literal_next_timeout,
             .on_timeout = trib__literal_on_timeout,
             .communicator_mark = trib__worker_communicator_mark,
             .idle = trib__worker_idle,
             .counters = trib__worker_counters},
    .size = trib__worker_size,
    .init = trib__worker_init,
    .submit = trib__worker_submit,
    .registered = trib__literal_registered,
    .suspend = trib__worker_suspend,
    .learn_mark = trib__worker_session_mark,
    .mark = trib__worker_mark,
    .end = trib__worker_end,
    .describe = trib__worker_describe,
    .limit = trib__worker_limit,
    .in_flight = trib__worker_in_flight,
};
