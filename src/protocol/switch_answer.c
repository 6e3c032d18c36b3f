/* SPDX-License-Identifier: Apache-2.0 */
/* switch_answer.c: the switch's part in recovery. A PROBE gets exactly one answer: RESULT if the sum is there
 * and the child has reason to think that it was lost, HELD with RESEND if it has none, ASK if this child's part is
 * missing, HELD if others are waited for; then children that have finished the fragment long ago (the switch booted
 * since) are ASKed too, and OFFER it; and if an inner switch waits for its parent, the parent is PROBEd. A gap in a
 * rank's stream is ASKed once, when it is first seen. Nothing here repeats by itself: every answer has a question (I5).
 * Read next: switch_parent.c. */
#include "protocol/switch.h"

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
        packet->payload = switch_row(n, index, trib_slot_row(slot, n->required));
    }
}

/* ---- the queue of answers ---- */

enum trib_drop trib__switch_queue_answer(struct switch_node *n, const struct answer *answer)
{
    struct answer *answers = switch_at(n, n->answers_at);

    if (n->answers_count == n->answers_room) {
        return TRIB_DROP_FULL;
    }
    answers[(n->answers_head + n->answers_count++) % n->answers_room] = *answer;
    return TRIB_DROP_NONE;
}

static enum trib_drop queue_answer(struct switch_node *n, enum trib_kind kind, uint32_t child, uint64_t sequence,
                                   uint64_t bitmap)
{
    struct answer answer = {.sequence = sequence, .bitmap = bitmap, .child = (uint16_t)child, .kind = (uint8_t)kind};

    return trib__switch_queue_answer(n, &answer);
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

/* ---- limits ---- */

/* The slot's memory of whom it answered, for this sequence and this moment. */
struct slot_repeats *trib__switch_repeats(struct switch_node *n, uint64_t sequence, uint64_t now_ns)
{
    struct slot_repeats *r = switch_repeats(n, trib_window_slot(&n->window, sequence));

    if (r->sequence != sequence) {
        *r = (struct slot_repeats){.sequence = sequence, .since_ns = now_ns};
    } else if (now_ns - r->since_ns > TRIB_PROTOCOL_REPEAT_NS) {
        *r = (struct slot_repeats){.sequence = sequence, .since_ns = now_ns, .offerers = r->offerers};
    }
    return r;
}

static bool first_time(uint64_t *answered, uint32_t child)
{
    uint64_t bit = UINT64_C(1) << child;
    bool first = (*answered & bit) == 0;

    *answered |= bit;
    return first;
}

/* The same for what a slot does whoever made it do so. */
bool trib__switch_once(struct slot_repeats *r, enum slot_once what)
{
    bool first = (r->once & what) == 0;

    r->once |= what;
    return first;
}

void trib__switch_boot_hint(struct switch_node *n, uint32_t child, uint64_t now_ns)
{
    uint64_t *last = &switch_aside(n)->boot_ns[child];

    if (*last == 0 || now_ns - *last > TRIB_PROTOCOL_REPEAT_NS) {
        *last = now_ns;
        (void)queue_answer(n, TRIB_BOOT, child, n->communicator_mark, 0);
    }
}

/* ---- probes ---- */

/* Children that lack in the slot although they have finished its sequence: the switch booted since, and only an OFFER
 * can help. One is enough, so one is ASKed; the next PROBE ASKs the next, should it be lost. */
uint64_t trib__switch_finished(const struct switch_node *n, uint64_t sequence)
{
    const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, sequence));
    uint64_t present = trib_slot_holds(slot, sequence) ? slot->present : 0;
    uint64_t finished = 0;

    for (uint64_t bits = n->required & ~present; bits != 0; bits &= bits - 1) {
        uint32_t child = trib_lowest(bits);
        finished |= (uint64_t)(n->marks[child] > sequence) << child;
    }
    return finished;
}

/* Children that have finished the sequence and are in all the same. No result is here, so they gave their parts again,
 * in this boot of the switch: they got headers only and have no result to OFFER. */
static uint64_t given_again(const struct switch_node *n, const struct trib_slot *slot)
{
    uint64_t again = 0;

    for (uint64_t bits = slot->has_result ? 0 : slot->present; bits != 0; bits &= bits - 1) {
        uint32_t child = trib_lowest(bits);
        again |= (uint64_t)(n->marks[child] > slot->sequence) << child;
    }
    return again;
}

static void ask_one(struct switch_node *n, uint64_t sequence, uint64_t finished, struct slot_repeats *r)
{
    if ((finished & ~r->offerers) == 0) {
        r->offerers = 0;
    }
    uint32_t child = trib_lowest(finished & ~r->offerers);
    r->offerers |= UINT64_C(1) << child;
    switch_aside(n)->counters.asks_finished++;
    (void)queue_answer(n, TRIB_ASK, child, sequence, 0);
}

static void ask_all(struct switch_node *n, uint64_t sequence, uint64_t children)
{
    for (uint64_t bits = children; bits != 0; bits &= bits - 1) {
        uint32_t child = trib_lowest(bits);
        switch_aside(n)->counters.asks_finished += n->marks[child] > sequence;
        (void)queue_answer(n, TRIB_ASK, child, sequence, 0);
    }
}

/* `finished` lack, and can only give what they kept: one has the result, it is thought; but once one has given its part
 * again, every part may be needed. */
void trib__switch_ask_finished(struct switch_node *n, uint64_t sequence, uint64_t finished, struct slot_repeats *r)
{
    const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, sequence));

    if (trib_slot_holds(slot, sequence) && given_again(n, slot) != 0) {
        if (trib__switch_once(r, ONCE_AGAIN)) {
            ask_all(n, sequence, finished);
        }
    } else if (trib__switch_once(r, ONCE_OFFERING)) {
        ask_one(n, sequence, finished, r);
    }
}

/* The child's contribution came, and others lack. The first that is given again says that the result may be nowhere:
 * all that lack are ASKed, also the ranks that have not finished, which were told to wait when they PROBEd. Or whoever
 * still lacks has finished the sequence: this sum will never be complete by itself. A rank PROBEs what it has sent when
 * it is back, so a finished rank of this switch was ASKed then; but a switch below hands up sums, and without this each
 * would wait for a timer of a rank. */
void trib__switch_seek_rest(struct switch_node *n, const struct trib_slot *slot, uint32_t child, uint64_t now_ns)
{
    uint64_t lack = n->required & ~slot->present;
    uint64_t again = n->marks[child] > slot->sequence ? given_again(n, slot) : 0;

    if (again == 0 && n->marks[trib_lowest(lack)] <= slot->sequence) {
        return;
    }
    uint64_t finished = trib__switch_finished(n, slot->sequence);
    struct slot_repeats *r = trib__switch_repeats(n, slot->sequence, now_ns);
    if (again == UINT64_C(1) << child) {
        if (trib__switch_once(r, ONCE_AGAIN)) {
            ask_all(n, slot->sequence, finished | (lack & ~n->config.branches));
        }
    } else if (finished == lack) {
        trib__switch_ask_finished(n, slot->sequence, lack, r);
    }
}

static bool lacks(const struct switch_node *n, uint32_t child, uint64_t dense)
{
    const struct trib_slot *slot = switch_slot(n, (uint32_t)(dense % n->window.slots));
    uint64_t sequence = trib_window_sequence(&n->window, n->config.root, dense);

    return !trib_slot_holds(slot, sequence) || !(slot->present >> child & 1);
}

/* Which of the dense indexes behind `dense` that are set in `sent` lack the child's part. */
static uint64_t lacking(const struct switch_node *n, uint32_t child, uint64_t dense, uint64_t sent)
{
    uint64_t end = n->mark_dense + n->window.slots;
    uint64_t bitmap = 0;

    for (uint64_t bits = sent; bits != 0; bits &= bits - 1) {
        uint64_t ahead = trib_lowest(bits);
        bool within = dense + 1 + ahead < end;
        bitmap |= (uint64_t)(within && lacks(n, child, dense + 1 + ahead)) << ahead;
    }
    return bitmap;
}

/* The child's part was lost on the way up: ASK for it, and for what else lacks of that which the child says it has
 * sent. */
static enum trib_drop ask_prober(struct switch_node *n, uint32_t child, const struct trib_packet *probe)
{
    uint64_t dense = trib_window_dense(&n->window, probe->sequence);

    return queue_answer(n, TRIB_ASK, child, probe->sequence, lacking(n, child, dense, probe->bitmap));
}

/* Others are waited for on the probed sequence. But if this child is itself waited for on one behind it, it hears that
 * instead: it may have nothing else to probe for a long time. */
static enum trib_drop hold_prober(struct switch_node *n, uint32_t child, const struct trib_packet *probe,
                                  uint64_t present)
{
    uint64_t dense = trib_window_dense(&n->window, probe->sequence);
    uint64_t lack = lacking(n, child, dense, probe->bitmap);

    if (lack == 0) {
        return queue_answer(n, TRIB_HELD, child, probe->sequence, present);
    }
    uint32_t first = trib_lowest(lack);
    uint64_t sequence = trib_window_sequence(&n->window, n->config.root, dense + 1 + first);
    return queue_answer(n, TRIB_ASK, child, sequence, lack >> first >> 1);
}

/* A PROBE that only M helps: it gets M as it is, and again when it moves. An inner node's M may lag behind its
 * parent's, and the parent may lack this subtree's mark; a switch that probes does so for children of its own. */
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
    return queue_answer(n, TRIB_HELD, child, sequence, trib_slot_holds(slot, sequence) ? slot->present : 0);
}

/* HELD with flags. RESEND: the result was sent, to all. ECN: the child's part came over a congested way, and late. */
enum trib_drop trib__switch_say_held(struct switch_node *n, uint32_t child, uint64_t sequence, uint16_t flags,
                                     struct slot_repeats *r)
{
    struct answer held = {.sequence = sequence,
                          .bitmap = switch_slot(n, trib_window_slot(&n->window, sequence))->present,
                          .child = (uint16_t)child,
                          .flags = flags,
                          .kind = TRIB_HELD};

    return first_time(&r->held, child) ? trib__switch_queue_answer(n, &held) : TRIB_DROP_REPEAT;
}

/* The sum is there, and was sent before this answer. A child that asks because it was quiet for long has most likely
 * only not read it yet: it gets a header behind the result, HELD with RESEND, and asks again if that comes first. So no
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
    if (!first_time(&r->results, child)) {
        return TRIB_DROP_REPEAT;
    }
    return queue_answer(n, TRIB_RESULT, child, probe->sequence, 0);
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
    bool again = present != 0 && given_again(n, slot) != 0;
    trib__switch_probe_up(n, sequence, r, now_ns);
    if (again && finished != 0) {
        trib__switch_ask_finished(n, sequence, finished, r);
    }
    if ((finished == 0 || again) && !(present >> child & 1)) {
        return first_time(&r->asks, child) ? ask_prober(n, child, packet) : TRIB_DROP_REPEAT;
    }
    if (present != 0 && slot->has_result) {
        return repeat(n, child, packet, r);
    }
    if (!first_time(&r->held, child)) {
        return TRIB_DROP_REPEAT;
    }
    if (finished != 0) {
        trib__switch_ask_finished(n, sequence, finished, r);
    }
    return hold_prober(n, child, packet, present);
}

/* M has moved: whoever was told to wait for that hears it, once. */
void trib__switch_pay_owed(struct switch_node *n)
{
    for (uint64_t bits = n->owed; bits != 0; bits &= bits - 1) {
        uint32_t child = trib_lowest(bits);
        (void)queue_answer(n, TRIB_HELD, child, n->owed_sequence[child], 0);
    }
    n->owed = 0;
}

/* ---- gaps ---- */

/* The rank's stream reached `dense`. What it skipped was probably lost: ASK for the lowest and up to 64 behind it in
 * one packet. `expected` moves past what was asked for, so that each gap is asked for once; a second loss is found by
 * the child's PROBE. */
void trib__switch_find_gap(struct switch_node *n, uint32_t child, uint64_t dense)
{
    uint64_t at = n->expected[child] > n->mark_dense ? n->expected[child] : n->mark_dense;

    if (n->config.branches >> child & 1) {
        return; /* sums of a switch come in the order in which they were complete */
    }
    while (at < dense && !lacks(n, child, at)) {
        at++;
    }
    if (at >= dense) {
        switch_heard(n, child, dense);
        return;
    }
    uint64_t end = dense - at > 65 ? at + 65 : dense;
    uint64_t bitmap = lacking(n, child, at, end - at > 64 ? UINT64_MAX : (UINT64_C(1) << (end - at - 1)) - 1);
    n->expected[child] = end == dense ? dense + 1 : end;
    switch_aside(n)->counters.asks_gap++;
    (void)queue_answer(n, TRIB_ASK, child, trib_window_sequence(&n->window, n->config.root, at), bitmap);
}
