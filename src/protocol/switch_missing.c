/* SPDX-License-Identifier: Apache-2.0 */
/* switch_missing.c: children that are waited for, for people: without a part; or, of a complete sum, without a mark
 * above the sequence. Such a child takes no result, as a stopped rank that has lost one: M stands, and the window holds
 * all others back, with nothing outstanding.
 * Read next: control/jobs/missing.c. */
#include "protocol/switch_memory.h"

/* Children that have not finished the sequence, as far as marks are known. */
static uint64_t behind(const struct switch_node *n, uint64_t sequence)
{
    uint64_t children = 0;

    for (uint32_t child = 0; child < n->config.children; child++) {
        children |= (uint64_t)(n->marks[child] <= sequence) << child;
    }
    return children;
}

/* The sum is here. Without the result, the parent is waited for. If no rank has a mark above the sequence, all lack the
 * result, also the rank that asks: nobody is held back. */
static uint64_t lagging(const struct switch_node *n, const struct trib_slot *slot)
{
    uint64_t children = slot->has_result ? behind(n, slot->sequence) : 0;
    bool is_flat = !n->config.has_parent && n->config.branches == 0;

    return is_flat && children == n->required ? 0 : children;
}

/* After a restart, children that have finished the sequence lack as well: a copy of the result may be waited for. */
static uint64_t awaited(const struct switch_node *n, uint64_t sequence)
{
    const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, sequence));
    bool is_here = trib_slot_holds(slot, sequence);

    if (is_here && trib_slot_is_complete(slot, n->required)) {
        return lagging(n, slot);
    }
    return n->required & ~(is_here ? slot->present : 0);
}

uint64_t trib__switch_missing(const void *node, uint64_t *sequence)
{
    const struct switch_node *n = node;

    for (uint32_t i = 0; i < n->window.slots && n->held > 0; i++) {
        const struct trib_slot *slot = switch_slot(n, (uint32_t)((n->mark_dense + i) % n->window.slots));
        if (!trib_slot_is_empty(slot) && !trib_slot_is_complete(slot, n->required)) {
            *sequence = slot->sequence;
            return awaited(n, slot->sequence);
        }
    }
    return 0;
}

/* Just beyond the window: as of the needed slot. */
uint64_t trib__switch_missing_on(const void *node, uint64_t sequence)
{
    const struct switch_node *n = node;

    if (sequence < n->communicator_mark || sequence > TRIB_SEQUENCE_MAX ||
        trib_window_root(&n->window, sequence) != n->config.root) {
        return 0;
    }
    if (!switch_admits(n, sequence)) {
        sequence = trib_window_sequence(&n->window, n->config.root, trib_window_dense(&n->window, sequence) - n->room);
    }
    return switch_admits(n, sequence) ? awaited(n, sequence) : 0;
}
