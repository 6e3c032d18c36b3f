/* SPDX-License-Identifier: Apache-2.0 */
/* switch_result.c: how a slot ends. A finished result comes whole, from a child's OFFER or from the parent, and goes
 * down; or M rises, and the slots below it are free.
 * Read next: switch_ask.c. */
#include "protocol/switch_memory.h"

#include <string.h>

#include "core/assert.h"

/* M has grown: all below M is finished everywhere, so its slots are free (I6). */
static void free_below(struct switch_node *n, uint64_t mark)
{
    uint64_t below = trib_window_dense_below(&n->window, n->config.root, mark);
    uint64_t count = below - n->mark_dense;

    for (uint64_t i = 0; i < count && i < n->window.slots && n->held > 0; i++) {
        struct trib_slot *slot = switch_slot(n, (uint32_t)((n->mark_dense + i) % n->window.slots));
        if (!trib_slot_is_empty(slot) && slot->sequence < mark) {
            trib_slot_free(slot);
            n->held--;
        }
    }
    n->communicator_mark = mark;
    n->mark_dense = below;
    trib__switch_set_room(n);
}

void trib__switch_raise_mark(struct switch_node *n, uint64_t mark)
{
    if (mark > n->communicator_mark) {
        free_below(n, mark);
        trib__switch_pay_owed(n);
    }
}

void trib__switch_result_due(struct switch_node *n, uint32_t index)
{
    const struct trib_slot *slot = switch_slot(n, index);
    bool both = slot->loaded != 0 && slot->unwanted != 0 && slot->unwanted != n->required;

    switch_due(n, index, DUE_RESULT);
    if (both) {
        switch_due(n, index, DUE_HEADER);
    }
    switch_aside(n)->counters.results++;
    switch_aside(n)->counters.results_lacking += (slot->flags & TRIB_FLAG_QUORUM) != 0;
}

/* A finished result, from a child's OFFER or from the parent, replaces the sum, and goes down to all. One
 * that lacks ranks comes with its list, which is kept behind the payload. */
static enum trib_drop replace(struct switch_node *n, uint32_t from, const struct trib_packet *packet,
                              const uint8_t *list)
{
    uint32_t index = trib_window_slot(&n->window, packet->sequence);
    struct trib_slot *slot = switch_slot(n, index);
    /* The parent leaves the payload out if no rank below wants payload. */
    bool header_will_do = packet->kind == TRIB_RESULT && slot->unwanted == n->required;

    if (packet->payload_len > n->config.session.payload ||
        (packet->payload_len != 0 && packet->type == TRIB_TYPE_NONE)) {
        return TRIB_DROP_SHAPE;
    }
    if (slot->has_result) {
        return TRIB_DROP_DUPLICATE;
    }
    enum trib_drop drop = trib_slot_check_result(slot, packet, header_will_do);
    if (drop != TRIB_DROP_NONE) {
        return drop;
    }
    TRIB_ASSERT(trib_slot_is_empty(slot) || slot->sequence == packet->sequence); /* as for a contribution */
    n->held += trib_slot_is_empty(slot);
    bool is_of_all = packet->kind == TRIB_RESULT && trib_result_is_marked(packet, n->child);
    uint64_t marked = is_of_all ? n->required : slot->flags & TRIB_FLAG_ECN ? *switch_marked(n, index) : 0;
    trib_slot_take_result(slot, packet, n->required, from);
    if (marked != 0) {
        trib__switch_mark(n, index, marked);
    }
    if (packet->payload_len != 0) {
        memcpy(switch_row(n, index, 0), packet->payload, packet->payload_len + (list != NULL ? TRIB_QUORUM_LIST : 0));
    }
    if (list != NULL) {
        memcpy(switch_list(n, index), list, TRIB_QUORUM_LIST);
    }
    trib__switch_result_due(n, index);
    return TRIB_DROP_NONE;
}

/* from: a child that knows it; from the parent, any. */
enum trib_drop trib__switch_take_result(struct switch_node *n, uint32_t from, const struct trib_packet *packet)
{
    struct trib_packet bare;

    if ((packet->flags & TRIB_FLAG_QUORUM) == 0) {
        return replace(n, from, packet, NULL);
    }
    const uint8_t *list = trib_quorum_split(packet, &bare);
    return list != NULL && trib__switch_is_listable(n, &bare, list) ? replace(n, from, &bare, list) : TRIB_DROP_SHAPE;
}
