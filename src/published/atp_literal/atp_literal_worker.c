/* SPDX-License-Identifier: Apache-2.0 */
/* atp_literal_worker.c: the published worker: the worker of switchml-literal, with ATP's header. The worker's own mark
 * admits new fragments. A fragment is sent again when its timer ends, or when the answer of a later fragment arrives
 * first. Read next: published/literal/literal_worker.c. */
#include "core/assert.h"
#include "protocol/worker_memory.h"
#include "published/atp_literal/atp_literal.h"
#include "published/literal/literal.h"

/* ---- sending ---- */

static bool literal_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    const struct worker *w = node;

    if (!trib__literal_next_packet(node, now_ns, packet, to)) {
        return false;
    }
    const struct flight *f = worker_flight(w, worker_flight_index(w, packet->sequence));
    const struct worker_operation *o = worker_operation_at(w, f->operation);
    TRIB_ASSERT(o->layout.sequences <= UINT16_MAX);
    packet->bitmap = UINT64_C(1) << w->config.rank;
    packet->tree = (uint8_t)w->config.session.ranks;
    packet->window_cap = (uint16_t)(packet->sequence - o->first + 1);
    packet->last_rank = (uint16_t)o->layout.sequences;
    packet->flags |= f->is_old != 0 ? TRIB_FLAG_OVERFLOW : 0;
    return true;
}

/* ---- receiving ---- */

/* Handles an answer that asks for floats. A flight notes it in is_old, which ATP does not use as switchml does. */
static enum trib_drop send_floats(struct worker *w, const struct trib_packet *packet)
{
    uint32_t index = worker_flight_index(w, packet->sequence);
    struct flight *f = worker_flight(w, index);

    if (f->state != FLIGHT_SENT || f->sequence != packet->sequence) {
        return TRIB_DROP_DUPLICATE;
    }
    f->is_old = 1;
    trib__worker_queue(w, index, PENDING_RESEND);
    return TRIB_DROP_NONE;
}

/* An answer overtook the answers of earlier fragments: each of the waiting earlier fragments is sent again, once. */
static void resend_before(struct worker *w, uint64_t sequence)
{
    for (uint32_t index = 0; index < w->flights; index++) {
        const struct flight *f = worker_flight(w, index);
        const struct flight_times *times = worker_times(w, index);
        bool is_first = times->deadline_ns == times->sent_ns + TRIB_LITERAL_RTO_NS;
        if (f->state == FLIGHT_SENT && f->sequence < sequence && is_first) {
            trib__worker_queue(w, index, PENDING_RESEND);
        }
    }
}

static enum trib_drop literal_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                      uint64_t now_ns)
{
    struct worker *w = node;

    if (packet->kind == TRIB_RESULT && packet->communicator == w->config.session.communicator &&
        (packet->flags & TRIB_FLAG_OVERFLOW) != 0) {
        return send_floats(w, packet);
    }
    enum trib_drop drop = trib__literal_receive(node, from, packet, now_ns);
    if (drop == TRIB_DROP_NONE) {
        resend_before(w, packet->sequence);
    }
    return drop;
}

const struct trib_worker_verbs trib_atp_literal_worker_verbs = {
    .node = {.state_size = trib__worker_state_size,
             .receive = literal_receive,
             .next_packet = literal_next_packet,
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
