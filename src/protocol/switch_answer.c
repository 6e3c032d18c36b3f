/* SPDX-License-Identifier: Apache-2.0 */
/* switch_answer.c: the switch's part in recovery. A PROBE gets exactly one answer: RESULT if the sum is there and the
 * child has a sign of loss, HELD with RESEND without a sign, ASK if the child's part is missing, HELD if others are
 * waited for; then children with an old result (the switch booted since) are ASKed too, and OFFER the result; and if an
 * inner switch waits for its parent, the parent is PROBEd.
 * Read next: switch_up.c. */
#include "protocol/switch_memory.h"

/* ---- building ---- */

static void build(const struct switch_node *n, enum trib_kind kind, uint64_t sequence, struct trib_packet *packet)
{
    *packet = (struct trib_packet){
        .kind = (uint8_t)kind,
        .sequence = sequence,
        .mark = n->communicator_mark,
        .communicator = n->config.session.communicator,
        .generation = n->config.session.generation,
        .boot = n->config.boot,
        .last_rank = TRIB_LAST_NONE,
    };
}

void trib__switch_build_result(const struct switch_node *n, uint32_t index, bool payload, struct trib_packet *packet)
{
    const struct trib_slot *slot = switch_slot(n, index);

    build(n, TRIB_RESULT, slot->sequence, packet);
    packet->attempt = slot->attempt;
    packet->bitmap = slot->flags & TRIB_FLAG_ECN ? *switch_marked(n, index) : 0;
    packet->digest = slot->digest;
    packet->type = slot->type;
    packet->reduction = slot->reduction;
    packet->flags = (uint16_t)(slot->flags & ~TRIB_FLAG_ECN);
    packet->exponent = slot->exponent;
    packet->lane = slot->lane;
    packet->contributors = slot->parts;
    packet->last_rank = slot->last;
    packet->window_cap = trib__switch_cap(n, slot->cap);
    if (payload && slot->loaded != 0) {
        packet->payload_len = switch_payload_len(slot);
        packet->payload = switch_sum_row(n, index);
    }
}

static bool build_answer(struct switch_node *n, const struct answer *a, struct trib_packet *packet)
{
    struct trib_counters *counters = &switch_aside(n)->counters;
    uint32_t index = trib_window_slot(&n->window, a->sequence);
    const struct trib_slot *slot = switch_slot(n, index);

    /* Only lies do that: M has leapt since by more than a header can say, or a PROBE at the end of all sequences names
     * more. */
    if (n->communicator_mark > a->sequence + INT32_MAX || a->sequence > TRIB_SEQUENCE_MAX) {
        return false;
    }
    if (a->kind == TRIB_RESULT) {
        if (!trib_slot_holds(slot, a->sequence) || !slot->has_result) {
            return false; /* freed since: everybody has it */
        }
        counters->results_repeated++;
        trib__switch_build_result(n, index, !(slot->unwanted >> a->child & 1), packet);
        packet->flags |= TRIB_FLAG_RESEND;
        return true;
    }
    build(n, (enum trib_kind)a->kind, a->sequence, packet);
    packet->bitmap = a->bitmap;
    packet->flags = a->flags;
    counters->asks += a->kind == TRIB_ASK;
    counters->held += a->kind == TRIB_HELD;
    counters->boots += a->kind == TRIB_BOOT;
    return true;
}

bool trib__switch_next_answer(struct switch_node *n, struct trib_packet *packet, struct trib_place *to)
{
    const struct answer *answers = switch_at(n, n->answers_at);

    while (n->answers_count > 0) {
        const struct answer *a = &answers[n->answers_head];
        n->answers_head = (n->answers_head + 1) % n->answers_room;
        n->answers_count--;
        if (a->child == TRIB_PROTOCOL_TO_PARENT) {
            if (trib__switch_build_probe(n, a, packet)) {
                *to = (struct trib_place){.kind = TRIB_PLACE_PARENT};
                return true;
            }
        } else if (build_answer(n, a, packet)) {
            packet->node = a->child;
            *to = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << a->child};
            return true;
        }
    }
    return false;
}

/* ---- probes ---- */

/* The child's part was lost on the way up: ASK for the part, and for other missing parts that the child says to have
 * sent. */
static enum trib_drop ask_prober(struct switch_node *n, uint32_t child, const struct trib_packet *probe)
{
    uint64_t dense = trib_window_dense(&n->window, probe->sequence);

    return trib__switch_queue(n, TRIB_ASK, child, probe->sequence,
                              trib__switch_lacking(n, child, dense, probe->bitmap));
}

/* Others are waited for on the probed sequence. But if the child is itself waited for on a later one, the answer is
 * ASK: the child may have no other probe for a long time. */
static enum trib_drop hold_prober(struct switch_node *n, uint32_t child, const struct trib_packet *probe,
                                  uint64_t present)
{
    uint64_t dense = trib_window_dense(&n->window, probe->sequence);
    uint64_t lack = trib__switch_lacking(n, child, dense, probe->bitmap);

    if (lack == 0) {
        return trib__switch_queue(n, TRIB_HELD, child, probe->sequence, present);
    }
    uint32_t first = trib_lowest(lack);
    uint64_t sequence = trib_window_sequence(&n->window, n->config.root, dense + 1 + first);
    return trib__switch_queue(n, TRIB_ASK, child, sequence, lack >> first >> 1);
}

/* A PROBE that only M helps: the child gets M now, and again when M moves. An inner node's M may lag behind the
 * parent's, and the parent may lack the subtree's mark; a switch probes for its own children. */
static enum trib_drop wait_for_mark(struct switch_node *n, uint32_t child, uint64_t sequence, uint64_t now_ns)
{
    const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, sequence));
    bool is_within = switch_admits(n, sequence);

    /* Another switch's cap may hold a rank to less than the room here. */
    if (!is_within || n->config.has_parent || (n->config.branches >> child & 1) || n->is_paced) {
        n->owed |= UINT64_C(1) << child;
        n->owed_sequence[child] = sequence;
    }
    trib__switch_probe_mark(n, sequence, now_ns);
    return trib__switch_queue(n, TRIB_HELD, child, sequence, trib_slot_holds(slot, sequence) ? slot->present : 0);
}

/* The sum is there, and was sent before this answer. A child that asks after a long silence has most likely not read
 * the result yet: the child gets a header behind the result, HELD with RESEND, and asks again if the header comes
 * first. So no
 * payload is sent twice that was not lost. */
static enum trib_drop repeat(struct switch_node *n, uint32_t child, const struct trib_packet *probe,
                             struct slot_repeats *r)
{
    const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, probe->sequence));
    bool has_payload = slot->loaded != 0 && !(slot->unwanted >> child & 1);
    bool is_lost = (probe->flags & TRIB_FLAG_RESEND) != 0;

    if (!is_lost && has_payload) {
        return trib__switch_say_held(n, child, probe->sequence, TRIB_FLAG_RESEND, r);
    }
    if (!switch_first_time(&r->results, child)) {
        return TRIB_DROP_REPEAT;
    }
    return trib__switch_queue(n, TRIB_RESULT, child, probe->sequence, 0);
}

enum trib_drop trib__switch_probe(struct switch_node *n, uint32_t child, const struct trib_packet *packet,
                                  uint64_t now_ns)
{
    uint64_t sequence = packet->sequence;
    const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, sequence));

    switch_aside(n)->counters.probes++;
    /* UNWANTED: it asks for M alone, and has sent nothing. */
    if (packet->flags & TRIB_FLAG_UNWANTED || !switch_admits(n, sequence)) {
        return wait_for_mark(n, child, sequence, now_ns);
    }
    struct slot_repeats *r = trib__switch_repeats(n, sequence, now_ns);
    uint64_t present = trib_slot_holds(slot, sequence) ? slot->present : 0;
    uint64_t finished = trib__switch_finished(n, sequence);
    bool again = present != 0 && trib__switch_given_again(n, slot) != 0;
    trib__switch_probe_up(n, sequence, r, now_ns);
    if (again && finished != 0) {
        trib__switch_ask_finished(n, sequence, finished, r);
    }
    if ((finished == 0 || again) && !(present >> child & 1)) {
        return switch_first_time(&r->asks, child) ? ask_prober(n, child, packet) : TRIB_DROP_REPEAT;
    }
    if (present != 0 && slot->has_result) {
        return repeat(n, child, packet, r);
    }
    if (!switch_first_time(&r->held, child)) {
        return TRIB_DROP_REPEAT;
    }
    if (finished != 0) {
        trib__switch_ask_finished(n, sequence, finished, r);
    }
    return hold_prober(n, child, packet, present);
}
