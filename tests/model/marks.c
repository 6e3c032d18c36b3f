/* SPDX-License-Identifier: Apache-2.0 */
/* marks.c: marks of congestion, and what nodes must make of them. Beside each node stands who has come to it marked
 * (docs/PROTOCOL.md, "Windows that follow the network"):
 *   - a RESULT names the children whose part of its sequence was added up by this boot of the switch and came marked, no others; or all,
 *     where the parent's result says so of this switch;
 *   - what goes up has a mark of its own making only where the switch does not know its number, and has named somebody;
 *   - HELD has one only for a child whose part came late and marked;
 *   - a rank takes for its own the marks of its way alone, as far as it knows its number.
 * The network marks a packet when it is delivered, where the scenario's budget allows.
 * Read next: store.c. */
#include "core/slot.h"
#include "model.h"

/* ---- what comes ---- */

uint32_t marks_set(struct model *model, uint32_t stimulus)
{
    struct stimulus marked = *store_stimulus_at(model->store, stimulus);
    struct trib_packet packet;

    (void)trib_packet_decode(marked.wire, marked.len, &packet);
    if (packet.flags & TRIB_FLAG_ECN) {
        return stimulus;
    }
    packet.flags |= TRIB_FLAG_ECN;
    trib_packet_encode(&packet, marked.wire);
    return store_stimulus(model->store, &marked);
}

/* The rule of docs/PROTOCOL.md once more: what nodes are held against is not their own code. */
static bool is_marked(const struct marks *marks, const struct trib_packet *result)
{
    uint64_t own = marks->number != 0 ? UINT64_C(1) << (marks->number - 1) : UINT64_MAX;

    return (result->flags & TRIB_FLAG_ECN) != 0 || (result->bitmap & own) != 0;
}

void marks_take(struct marks *marks, const struct trib_packet *packet, uint32_t child, enum trib_drop drop,
                uint64_t all)
{
    bool is_part = packet->kind == TRIB_CONTRIBUTION && (packet->flags & TRIB_FLAG_ECN) != 0;
    bool is_from_parent = child == FROM_PARENT;

    if (packet->sequence >= MODEL_SEQUENCES) {
        return; /* forged */
    }
    if (is_from_parent && packet->kind == TRIB_RESULT && drop == TRIB_DROP_NONE && is_marked(marks, packet)) {
        marks->named[packet->sequence] = (uint8_t)all;
    } else if (!is_from_parent && is_part && drop == TRIB_DROP_NONE) {
        marks->named[packet->sequence] |= (uint8_t)(1U << child);
    } else if (!is_from_parent && is_part && drop == TRIB_DROP_LATE) {
        marks->late |= (uint8_t)(1U << child);
    }
}

void marks_forget(struct marks *marks, uint64_t mark)
{
    for (uint64_t sequence = 0; sequence < mark && sequence < MODEL_SEQUENCES; sequence++) {
        marks->named[sequence] = 0;
    }
}

/* ---- what nodes make of it ---- */

uint8_t marks_check_switch(struct model *model, const struct marks *marks, uint32_t at,
                           const struct trib_packet *packet, const struct trib_place *to)
{
    bool is_ecn = (packet->flags & TRIB_FLAG_ECN) != 0;
    const char *kind = trib_kind_name((enum trib_kind)packet->kind);

    if (model->scheme->refusal != NULL || packet->sequence >= MODEL_SEQUENCES) {
        return 0;
    }
    uint32_t named = marks->named[packet->sequence];
    if (packet->kind == TRIB_RESULT && (packet->bitmap != named || is_ecn)) {
        return model_violated(
            model, "bitmap", "switch %u: the result of sequence %u names children 0x%x%s, marked are 0x%x", at,
            (unsigned)packet->sequence, (unsigned)packet->bitmap, is_ecn ? " and is marked" : "", named);
    }
    if ((packet->kind == TRIB_CONTRIBUTION || packet->kind == TRIB_OFFER) &&
        is_ecn != (marks->number == 0 && named != 0)) {
        return model_violated(model, "bitmap",
                              "switch %u, which %s its number: %s of sequence %u is %smarked, and children 0x%x were",
                              at, marks->number == 0 ? "does not know" : "knows", kind, (unsigned)packet->sequence,
                              is_ecn ? "" : "not ", named);
    }
    if (packet->kind == TRIB_HELD && is_ecn && (to->children & ~(uint64_t)marks->late) != 0) {
        return model_violated(model, "bitmap", "switch %u marks HELD of sequence %u, and no part came late and marked",
                              at, (unsigned)packet->sequence);
    }
    return 0;
}

uint8_t marks_check_worker(struct model *model, const struct marks *marks, const struct trib_packet *packet,
                           enum trib_drop drop, uint64_t heeded)
{
    bool follows = model->scheme->worker->set_child != NULL; /* the network, by marks */
    bool is_result = packet->kind == TRIB_RESULT && (packet->flags & TRIB_FLAG_RESEND) == 0;
    bool is_held = packet->kind == TRIB_HELD && (packet->flags & TRIB_FLAG_ECN) != 0;
    bool may = drop == TRIB_DROP_NONE && (is_held || (is_result && is_marked(marks, packet)));
    /* What a restart has come between tells of no congestion; what was not sent has no way. */
    bool must = may && (is_held || (model->scenario->budget[BUDGET_RESTART] == 0 && model->scenario->quorum_of == 0));

    if (!follows || (heeded <= may && heeded >= must)) {
        return 0;
    }
    return model_violated(model, "pace",
                          "a rank of number %d takes %s of sequence %u, with bitmap 0x%x, for %s of its own way",
                          marks->number - 1, trib_kind_name((enum trib_kind)packet->kind), (unsigned)packet->sequence,
                          (unsigned)packet->bitmap, heeded != 0 ? "a mark" : "no mark");
}

uint8_t marks_check_windows(struct model *model, const void *node, const uint32_t before[MODEL_ROOTS])
{
    const struct view *view = view_find(model->scheme->name);
    const char *what = NULL;

    if (view != NULL && view->worker_windows != NULL) {
        what = view->worker_windows(node, before);
    }
    return what == NULL ? 0 : model_violated(model, "pace", "a rank's window: %s", what);
}
