/* SPDX-License-Identifier: Apache-2.0 */
/* switch_ask.c: the queue of answers, and the questions of a switch. Children with an old result (the switch booted
 * since) are ASKed, and OFFER the result. A gap in a rank's stream is ASKed once, when it is first seen.
 * Nothing here repeats by itself: every answer has a question (I5).
 * Read next: switch_answer.c. */
#include "protocol/switch_memory.h"

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

enum trib_drop trib__switch_queue(struct switch_node *n, enum trib_kind kind, uint32_t child, uint64_t sequence,
                                  uint64_t bitmap)
{
    struct answer answer = {.sequence = sequence, .bitmap = bitmap, .child = (uint16_t)child, .kind = (uint8_t)kind};

    return trib__switch_queue_answer(n, &answer);
}

/* M has moved: the children that were told to wait hear M, once. */
void trib__switch_pay_owed(struct switch_node *n)
{
    for (uint64_t bits = n->owed; bits != 0; bits &= bits - 1) {
        uint32_t child = trib_lowest(bits);
        (void)trib__switch_queue(n, TRIB_HELD, child, n->owed_sequence[child], 0);
    }
    n->owed = 0;
}

/* ---- limits ---- */

/* The slot's memory of answered children, for the sequence and the moment. */
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

/* True if the slot has not done so since the moment of `r`, for any child; notes the act. */
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
        (void)trib__switch_queue(n, TRIB_BOOT, child, n->communicator_mark, 0);
    }
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

    return switch_first_time(&r->held, child) ? trib__switch_queue_answer(n, &held) : TRIB_DROP_REPEAT;
}

/* ---- ranks that have finished ---- */

/* Finished children that lack in the slot: the switch booted since, and only an OFFER
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

/* Children that have finished the sequence and are in all the same. No result is here, so the children gave parts
 * again, in this boot of the switch: with headers only, and no result to OFFER. */
uint64_t trib__switch_given_again(const struct switch_node *n, const struct trib_slot *slot)
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
    (void)trib__switch_queue(n, TRIB_ASK, child, sequence, 0);
}

static void ask_all(struct switch_node *n, uint64_t sequence, uint64_t children)
{
    for (uint64_t bits = children; bits != 0; bits &= bits - 1) {
        uint32_t child = trib_lowest(bits);
        switch_aside(n)->counters.asks_finished += n->marks[child] > sequence;
        (void)trib__switch_queue(n, TRIB_ASK, child, sequence, 0);
    }
}

/* `finished` lack, and can only give kept copies: one probably has the result; but once a child has given a part
 * again, every part may be needed. */
void trib__switch_ask_finished(struct switch_node *n, uint64_t sequence, uint64_t finished, struct slot_repeats *r)
{
    const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, sequence));

    if (trib_slot_holds(slot, sequence) && trib__switch_given_again(n, slot) != 0) {
        if (trib__switch_once(r, ONCE_AGAIN)) {
            ask_all(n, sequence, finished);
        }
    } else if (trib__switch_once(r, ONCE_OFFERING)) {
        ask_one(n, sequence, finished, r);
    }
}

/* The child's contribution came, and others lack. The first repeated part means: the result may be nowhere:
 * all lacking children are ASKed, also unfinished ranks, which were told to wait after a PROBE. Or all
 * children that still lack have finished the sequence: this sum will never be complete by itself. A rank that is back
 * PROBEs all sent fragments, so a finished rank of the switch was ASKed then; but a switch below hands up sums, and
 * without this each would wait for a timer of a rank. */
void trib__switch_seek_rest(struct switch_node *n, const struct trib_slot *slot, uint32_t child, uint64_t now_ns)
{
    uint64_t lack = n->required & ~slot->present;
    uint64_t again = n->marks[child] > slot->sequence ? trib__switch_given_again(n, slot) : 0;

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

/* ---- gaps ---- */

static bool lacks(const struct switch_node *n, uint32_t child, uint64_t dense)
{
    const struct trib_slot *slot = switch_slot(n, (uint32_t)(dense % n->window.slots));
    uint64_t sequence = trib_window_sequence(&n->window, n->config.root, dense);

    return !trib_slot_holds(slot, sequence) || !(slot->present >> child & 1);
}

/* Which of the dense indexes behind `dense` that are set in `sent` lack the child's part. */
uint64_t trib__switch_lacking(const struct switch_node *n, uint32_t child, uint64_t dense, uint64_t sent)
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

/* The rank's stream reached `dense`. Skipped parts were probably lost: ASK for the lowest and up to 64 behind it in
 * one packet. `expected` moves past the asked parts, so each gap is asked for once; a second loss is found by
 * the child's PROBE. */
void trib__switch_find_gap(struct switch_node *n, uint32_t child, uint64_t dense)
{
    uint64_t at = n->expected[child] > n->mark_dense ? n->expected[child] : n->mark_dense;

    if (n->config.has_combiners || n->config.has_paths || (n->config.branches >> child & 1) != 0) {
        return; /* sums come in the order in which they were complete, and parts on several paths in any */
    }
    while (at < dense && !lacks(n, child, at)) {
        at++;
    }
    if (at >= dense) {
        switch_heard(n, child, dense);
        return;
    }
    uint64_t end = dense - at > 65 ? at + 65 : dense;
    uint64_t bitmap =
        trib__switch_lacking(n, child, at, end - at > 64 ? UINT64_MAX : (UINT64_C(1) << (end - at - 1)) - 1);
    n->expected[child] = end == dense ? dense + 1 : end;
    switch_aside(n)->counters.asks_gap++;
    (void)trib__switch_queue(n, TRIB_ASK, child, trib_window_sequence(&n->window, n->config.root, at), bitmap);
}
