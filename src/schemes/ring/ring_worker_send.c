/* SPDX-License-Identifier: Apache-2.0 */
/* ring_worker_send.c: packets of a rank on each of its rings, in this order: acknowledgements to the rank before;
 * to the next lost packets, then the lowest fragment that is ready. The lowest first keeps a ring of full slots
 * moving: others' slots wait for the lowest.
 * Read next: core/flow.h. */
#include "core/assert.h"
#include "schemes/ring/ring_memory.h"

/* The fragment's fields beside those of the flow. */
static void fill(const struct ring_worker *w, enum ring_way way, uint64_t label, struct trib_packet *packet)
{
    struct ring_slot *slot = ring_slot(w, trib_ring_sequence(label));
    const struct ring_sending *sending = &slot->sending[way];

    TRIB_ASSERT(trib_ring_label(slot->sequence, (enum trib_ring_leg)sending->leg) == label &&
                sending->out != RING_NOTHING);
    packet->digest = slot->digest;
    packet->type = slot->type;
    packet->reduction = slot->reduction;
    packet->contributors = slot->parts;
    packet->last_rank = slot->owner;
    packet->lane = slot->lane;
    packet->payload_len = slot->len;
    if (slot->is_borrowed) {
        const struct ring_operation *o = trib__ring_operation(w, slot->sequence);
        struct ring_form form;
        TRIB_ASSERT(o != NULL);
        trib__ring_form(w, o, slot->sequence, &form);
        packet->payload = trib__ring_tensor(o, &form);
    } else if (slot->len != 0) {
        packet->payload = ring_wire(w, slot->sequence);
    }
}

/* The lowest fragment with something to be sent this way for the first time; there is one. In the order of fragments,
 * slots begin at the lowest that is not free. */
static struct ring_slot *lowest_pending(const struct ring_worker *w, enum ring_way way)
{
    const uint64_t *words = ring_at(w, w->circle[way].pending_at);
    uint32_t slots = w->config.session.slots;
    uint32_t count = (slots + 63) / 64;
    uint32_t first = ring_slot_index(w, w->freed);
    uint64_t bits = words[first / 64] & UINT64_MAX << first % 64;
    uint32_t at = first / 64;

    while (bits == 0) {
        at = at + 1 == count ? 0 : at + 1;
        bits = words[at];
    }
    return (struct ring_slot *)ring_at(w, w->slots_at) + 64 * at + (uint32_t)__builtin_ctzll(bits);
}

static bool send_new(struct ring_worker *w, enum ring_way way, uint64_t now_ns, struct trib_packet *packet)
{
    struct trib_flow_sender *s = ring_sender(w, way);

    if (w->circle[way].pending == 0) {
        s->is_blocked = 0;
        return false;
    }
    struct ring_slot *slot = lowest_pending(w, way);
    uint64_t label = trib_ring_label(slot->sequence, (enum trib_ring_leg)slot->sending[way].leg);
    if (!trib_flow_admits(s, label, now_ns)) {
        return false;
    }
    trib__ring_sent(w, slot, way, trib_flow_send(s, label, now_ns, packet));
    fill(w, way, label, packet);
    return true;
}

static bool send_next(struct ring_worker *w, enum ring_way way, uint64_t now_ns, struct trib_packet *packet)
{
    if (!trib_flow_sender_next(ring_sender(w, way), now_ns, packet)) {
        return send_new(w, way, now_ns, packet);
    }
    if ((packet->flags & TRIB_FLAG_UNWANTED) != 0) {
        ring_aside(w)->counters.probes++;
        return true;
    }
    ring_aside(w)->counters.contributions_resent++;
    fill(w, way, packet->bitmap, packet);
    return true;
}

bool trib__ring_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct ring_worker *w = node;

    for (uint32_t way = 0; way < RING_WAYS && w->boot != 0; way++) {
        struct ring_circle *c = &w->circle[way];
        if (!ring_has(w, way)) {
            continue;
        }
        *to = (struct trib_place){.kind = TRIB_PLACE_PEER, .index = c->previous};
        if (trib_flow_receiver_next(ring_receiver(w, way), ring_limit(w), packet, ring_flows(w, way))) {
            c->told = ring_limit(w);
            return true;
        }
        to->index = c->next;
        if (send_next(w, (enum ring_way)way, now_ns, packet)) {
            return true;
        }
    }
    return false;
}

/* ---- timers ---- */

static uint64_t stall_deadline(const struct ring_worker *w)
{
    uint64_t reported = ring_aside(w)->reported_ns;

    return w->mark == w->end || w->config.stall_ns >= TRIB_NEVER - reported ? TRIB_NEVER
                                                                            : reported + w->config.stall_ns;
}

/* A next rank without an acknowledgement for a timeout; UINT16_MAX: none. */
static uint16_t find_silent(const struct ring_worker *w)
{
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if (ring_has(w, way) && trib_flow_sender_aside(ring_sender(w, way))->backoff > 0) {
            return (uint16_t)w->circle[way].next;
        }
    }
    return UINT16_MAX;
}

uint64_t trib__ring_next_timeout(const void *node)
{
    const struct ring_worker *w = node;

    if (w->boot == 0) {
        return TRIB_NEVER;
    }
    uint64_t earliest = stall_deadline(w);
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        uint64_t flow = ring_has(w, way) ? trib_flow_next_timeout(ring_sender(w, way)) : TRIB_NEVER;
        earliest = flow < earliest ? flow : earliest;
    }
    return earliest;
}

void trib__ring_on_timeout(void *node, uint64_t now_ns)
{
    struct ring_worker *w = node;

    if (w->boot == 0) {
        return;
    }
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if (ring_has(w, way)) {
            trib_flow_on_timeout(ring_sender(w, way), now_ns);
        }
    }
    if (stall_deadline(w) <= now_ns) {
        struct trib_event event = {.kind = TRIB_EVENT_STALL,
                                   .sequence = w->mark,
                                   .since_ns = ring_aside(w)->waits_ns,
                                   .child = find_silent(w)};
        ring_aside(w)->reported_ns = now_ns;
        ring_aside(w)->counters.stalls++;
        trib__ring_event(w, &event);
    }
}
