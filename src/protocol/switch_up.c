/* SPDX-License-Identifier: Apache-2.0 */
/* switch_up.c: an inner switch sends to its parent: complete sums as contributions, results that a child OFFERed, and
 * PROBEs. Nothing here repeats by itself (I5): every packet up has a child's packet or an ASK behind it.
 * Read next: switch_parent.c. */
#include "protocol/switch_memory.h"

/* ---- building ---- */

static void build(struct switch_node *n, enum trib_kind kind, uint64_t sequence, struct trib_packet *packet)
{
    /* Not above an unfinished sequence here, and within the range of a header; only lies make these
     * bind. */
    uint64_t most = kind == TRIB_OFFER ? sequence + INT32_MAX : sequence;

    *packet = (struct trib_packet){
        .kind = (uint8_t)kind,
        .sequence = sequence,
        .mark = n->lowest < most ? n->lowest : most,
        .communicator = n->config.session.communicator,
        .generation = n->config.session.generation,
        .boot = n->config.boot,
        .last_rank = TRIB_LAST_NONE,
    };
    switch_aside(n)->told = packet->mark;
}

/* The sum of all children, or the result of all ranks. */
static void build_sum(struct switch_node *n, enum trib_kind kind, uint32_t index, struct trib_packet *packet)
{
    const struct trib_slot *slot = switch_slot(n, index);

    build(n, kind, slot->sequence, packet);
    packet->attempt = slot->attempt;
    packet->digest = slot->digest;
    packet->reduction = slot->reduction;
    packet->flags = slot->flags & (TRIB_FLAG_QUORUM | (n->child == 0 ? TRIB_FLAG_ECN : 0));
    packet->exponent = slot->exponent;
    packet->lane = slot->lane;
    packet->contributors = slot->parts;
    if (slot->loaded != 0) {
        packet->type = slot->type;
        packet->payload_len = switch_payload_len(slot);
        packet->payload = switch_sum_row(n, index);
    }
}

static void build_partial(struct switch_node *n, uint32_t index, struct trib_packet *packet)
{
    struct trib_slot *slot = switch_slot(n, index);
    struct trib_counters *counters = &switch_aside(n)->counters;

    build_sum(n, TRIB_CONTRIBUTION, index, packet);
    if (slot->unwanted == n->required) {
        packet->flags |= TRIB_FLAG_UNWANTED;
    }
    if (slot->due & DUE_AGAIN) {
        slot->due &= (uint8_t)~DUE_AGAIN;
        counters->contributions_resent++;
        packet->flags |= TRIB_FLAG_RESEND; /* and it names no last rank: its round trip would hold the loss */
    } else {
        counters->partials++;
        packet->last_rank = slot->last;
    }
    packet->window_cap = trib__switch_cap(n, n->config.branches != 0 ? slot->cap : 0); /* from ranks: a priority */
}

bool trib__switch_next_up(struct switch_node *n, struct trib_packet *packet, struct trib_place *to)
{
    uint32_t index;
    uint8_t due = switch_take_due(n, &n->up, DUE_PARTIAL | DUE_OFFER, &index);

    if (due == 0) {
        return false;
    }
    if (due == DUE_PARTIAL) {
        build_partial(n, index, packet);
    } else {
        build_sum(n, TRIB_OFFER, index, packet);
        packet->flags |= TRIB_FLAG_RESEND;
        switch_aside(n)->counters.offers_up++;
    }
    *to = (struct trib_place){.kind = TRIB_PLACE_PARENT};
    return true;
}

/* ---- probes ---- */

/* Which of the 64 sequences behind were handed up, as sum or as offer: all complete ones, as sums leave before any
 * PROBE. So an ASK names no sequence that is not here or only under way. */
static uint64_t handed_up_behind(const struct switch_node *n, uint64_t sequence)
{
    uint64_t dense = trib_window_dense(&n->window, sequence) + 1;
    uint64_t end = n->mark_dense + n->window.slots;
    uint64_t bitmap = 0;

    for (uint64_t i = 0; i < 64 && dense + i < end; i++) {
        uint64_t behind = trib_window_sequence(&n->window, n->config.root, dense + i);
        const struct trib_slot *slot = switch_slot(n, (uint32_t)((dense + i) % n->window.slots));
        bool is_complete = trib_slot_holds(slot, behind) && trib_slot_is_complete(slot, n->required);
        bitmap |= (uint64_t)is_complete << i;
    }
    return bitmap;
}

/* A PROBE as it leaves: of a sum that waits for the result, or for M alone. False if it has lost its reason since. */
bool trib__switch_build_probe(struct switch_node *n, const struct answer *answer, struct trib_packet *packet)
{
    uint64_t sequence = answer->sequence;

    if (answer->flags & TRIB_FLAG_UNWANTED) {
        uint64_t dense = trib_window_dense_below(&n->window, n->config.root, n->lowest);
        uint64_t first = trib_window_sequence(&n->window, n->config.root, dense);
        sequence = first > sequence ? first : sequence; /* or the mark could not be told */
        if (n->communicator_mark >= n->lowest || sequence > TRIB_SEQUENCE_MAX ||
            sequence > n->communicator_mark + INT32_MAX) {
            return false;
        }
    } else {
        const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, sequence));
        if (!trib_slot_holds(slot, sequence) || !switch_is_handed_up(n, slot)) {
            return false;
        }
    }
    build(n, TRIB_PROBE, sequence, packet);
    packet->flags = answer->flags;
    packet->bitmap = answer->flags & TRIB_FLAG_UNWANTED ? 0 : handed_up_behind(n, sequence);
    switch_aside(n)->counters.probes_up++;
    return true;
}

/* A child waits for M. The parent can only have news if M is below the mark of this subtree; a told mark is repeated
 * once in a while. */
void trib__switch_probe_mark(struct switch_node *n, uint64_t sequence, uint64_t now_ns)
{
    struct switch_aside *aside = switch_aside(n);
    struct answer probe = {
        .sequence = sequence,
        .child = TRIB_PROTOCOL_TO_PARENT,
        .flags = TRIB_FLAG_UNWANTED,
        .kind = TRIB_PROBE,
    };

    if (!n->config.has_parent || n->communicator_mark >= n->lowest ||
        (aside->told >= n->lowest && now_ns - aside->told_ns <= TRIB_PROTOCOL_REPEAT_NS)) {
        return;
    }
    if (trib__switch_queue_answer(n, &probe) == TRIB_DROP_NONE) {
        aside->told = n->lowest;
        aside->told_ns = now_ns;
    }
}

/* A child probes a fragment that this node may wait for as well: then the node's PROBE goes up, one in a while, for any
 * prober. Else the parent hears the mark: no other child may send any more. */
void trib__switch_probe_up(struct switch_node *n, uint64_t sequence, struct slot_repeats *r, uint64_t now_ns)
{
    const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, sequence));
    struct answer probe = {.sequence = sequence,
                           .child = TRIB_PROTOCOL_TO_PARENT,
                           .flags = TRIB_FLAG_RESEND, /* a child has waited for long already */
                           .kind = TRIB_PROBE};

    if (!trib_slot_holds(slot, sequence) || !switch_is_handed_up(n, slot)) {
        trib__switch_probe_mark(n, sequence, now_ns);
    } else if (trib__switch_once(r, ONCE_PROBED)) {
        (void)trib__switch_queue_answer(n, &probe);
        switch_aside(n)->told_ns = now_ns;
    }
}
