/* SPDX-License-Identifier: Apache-2.0 */
/* switch_parent.c: the parent's packets at an inner switch. RESULT and M come down. An ASK of the parent gets the
 * answer that a worker gives: the sum again, or an OFFER if the result is here. The node has no clock: a worker below
 * misses a packet lost on the hop, and the worker's PROBE is passed on.
 * Read next: switch_up.c (how packets leave for the parent), worker_receive.c. */
#include "protocol/switch_memory.h"

/* The parent lacks the node's part of the sequence. */
static void asked_for(struct switch_node *n, uint64_t sequence, uint64_t now_ns)
{
    uint32_t index = trib_window_slot(&n->window, sequence);
    const struct trib_slot *slot = switch_slot(n, index);

    if (sequence < n->communicator_mark || !switch_admits(n, sequence)) {
        return;
    }
    struct slot_repeats *r = trib__switch_repeats(n, sequence, now_ns);
    if (trib_slot_holds(slot, sequence) && trib_slot_is_complete(slot, n->required)) {
        bool is_whole = slot->parts == 0 || slot->loaded != 0;
        if (slot->has_result && is_whole && trib__switch_once(r, ONCE_RESENT)) {
            switch_due(n, index, DUE_OFFER);
        } else if (switch_is_handed_up(n, slot) && trib__switch_once(r, ONCE_RESENT)) {
            switch_due(n, index, DUE_PARTIAL | DUE_AGAIN);
        }
        return;
    }
    /* Not complete: the sum is sent when complete; unless a child has finished the sequence, and never contributes
     * again. */
    uint64_t finished = trib__switch_finished(n, sequence);
    if (finished != 0) {
        trib__switch_ask_finished(n, sequence, finished, r);
    }
}

static enum trib_drop take_ask(struct switch_node *n, const struct trib_packet *packet, uint64_t now_ns)
{
    uint64_t dense = trib_window_dense(&n->window, packet->sequence) + 1;

    asked_for(n, packet->sequence, now_ns);
    for (uint64_t bits = packet->bitmap; bits != 0; bits &= bits - 1) {
        asked_for(n, trib_window_sequence(&n->window, n->config.root, dense + trib_lowest(bits)), now_ns);
    }
    return TRIB_DROP_NONE;
}

static enum trib_drop check(const struct switch_node *n, const struct trib_packet *packet)
{
    const struct trib_session_config *s = &n->config.session;

    if (packet->communicator != s->communicator) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->generation != s->generation) {
        return TRIB_DROP_GENERATION;
    }
    if (trib_window_root(&n->window, packet->sequence) != n->config.root) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->boot != n->config.boot) {
        return TRIB_DROP_BOOT;
    }
    if (n->joined != n->required) {
        return TRIB_DROP_UNREGISTERED;
    }
    if (packet->kind != TRIB_RESULT && packet->kind != TRIB_ASK && packet->kind != TRIB_HELD) {
        return TRIB_DROP_KIND;
    }
    /* M is a minimum that the marks heard here are part of. */
    return packet->mark <= n->lowest ? TRIB_DROP_NONE : TRIB_DROP_MARK;
}

enum trib_drop trib__switch_from_parent(struct switch_node *n, const struct trib_packet *packet, uint64_t now_ns)
{
    enum trib_drop drop = check(n, packet);

    if (drop != TRIB_DROP_NONE) {
        return drop;
    }
    trib__switch_raise_mark(n, packet->mark);
    if (packet->kind == TRIB_HELD) {
        return TRIB_DROP_NONE;
    }
    if (packet->sequence < n->communicator_mark) {
        return TRIB_DROP_STALE; /* everybody has its result (I3) */
    }
    if (!switch_admits(n, packet->sequence)) {
        return TRIB_DROP_WINDOW;
    }
    return packet->kind == TRIB_RESULT ? trib__switch_take_result(n, 0, packet) : take_ask(n, packet, now_ns);
}
