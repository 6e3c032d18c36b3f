/* SPDX-License-Identifier: Apache-2.0 */
/* switch_quorum.c: sums that may lack ranks (core/quorum.h; schemes/panama). A slot is latched once, when
 * enough of the ranks that are children here and all switches below are in: from then on its sum is final, its list of
 * ranks is closed, and no rank is waited for. A later rank has no part in the sum, and takes the result as all ranks
 * do; the switch tells the rank that the result was sent, in case it was lost.
 *
 * A result that lacks ranks is one of several possible ones, so no second one may exist. In one boot
 * the slot is: the slot stays until M is past. Of an earlier boot some rank may hold a result already; there only that
 * may be given, or the sum of all, which cannot be as long as somebody has finished. An earlier boot took no sequence
 * beyond its M and a window, and M never falls: so fragments within a window of the marks at the start of a boot are
 * summed with all ranks (full_below), and later ones latch again.
 * Read next: worker_quorum.c. */
#include "protocol/switch_memory.h"

#include <string.h>

/* All children have joined. */
void trib__switch_set_quorum(struct switch_node *n)
{
    n->full_below = trib_window_dense_below(&n->window, n->config.root, n->lowest) + n->window.slots;
}

/* True if a part, for a sum that may lack ranks, names its ranks. A switch has a list; a rank names itself, and a lie
 * makes the lane wrong. */
bool trib__switch_is_listable(const struct switch_node *n, const struct trib_packet *packet, const uint8_t *list)
{
    const struct trib_session_config *s = &n->config.session;

    if (!trib_session_has_quorum(s) || packet->payload_len == 0 || (packet->flags & TRIB_FLAG_UNWANTED) != 0 ||
        packet->payload_len > trib_session_data(s)) {
        return false;
    }
    return list != NULL ? trib_quorum_lists(list, packet->contributors, s->ranks) : packet->node < s->ranks;
}

/* True if the lists intersect. */
bool trib__switch_overlaps(const struct switch_node *n, uint32_t index, const struct trib_packet *packet,
                           const uint8_t *list)
{
    const uint8_t *ranks = switch_list(n, index);

    return list != NULL ? trib_quorum_overlap(ranks, list) : trib_quorum_has(ranks, packet->node);
}

/* Lists the ranks of an added part. */
void trib__switch_list(struct switch_node *n, uint32_t index, const struct trib_packet *packet, const uint8_t *list)
{
    uint8_t *ranks = switch_list(n, index);

    if (list != NULL) {
        trib_quorum_join(ranks, list);
    } else {
        trib_quorum_add(ranks, packet->node);
    }
}

/* Of a slot with a sum that may lack ranks, after a part was added: some do lack; are the others enough? So a sum is
 * never of nobody, however many spares this switch's ranks brought. */
bool trib__switch_is_enough(const struct switch_node *n, const struct trib_slot *slot)
{
    uint64_t lack = n->required & ~slot->present;

    return lack != 0 && (lack & n->config.branches) == 0 && slot->loaded == slot->present &&
           trib_count_bits(lack) <= n->config.spare && trib_window_dense(&n->window, slot->sequence) >= n->full_below;
}

void trib__switch_latch(struct switch_node *n, uint32_t index)
{
    struct trib_slot *slot = switch_slot(n, index);
    struct trib_merge merge;

    for (uint32_t level = 1; level < 6; level++) {
        for (uint32_t at = 0; at < n->config.children; at += 2U << level) {
            if (trib_slot_is_apart(slot, n->required, level, at, &merge)) {
                trib_row_merge(n->config.kernels, (enum trib_type)slot->type, (enum trib_reduction)slot->reduction,
                               switch_row(n, index, merge.into), switch_row(n, index, merge.from), slot->payload_len);
            }
        }
    }
    slot->present = n->required;
    slot->is_latched = 1;
}

/* The slot is complete: behind its payload goes the list, except for a result of all ranks. */
void trib__switch_attach_list(struct switch_node *n, uint32_t index)
{
    struct trib_slot *slot = switch_slot(n, index);
    const uint8_t *ranks = switch_list(n, index);
    uint8_t *row = switch_sum_row(n, index);

    if (!n->config.has_parent && trib_quorum_count(ranks) == n->config.session.ranks) {
        slot->flags &= (uint16_t)~TRIB_FLAG_QUORUM;
        return;
    }
    memcpy(row + slot->payload_len, ranks, TRIB_QUORUM_LIST);
}

/* True if the slot has left out the rank's part, for good. A part from a switch is never late. */
bool trib__switch_is_late(const struct switch_node *n, uint32_t index, uint32_t child, const struct trib_packet *packet)
{
    bool is_rank = (n->config.branches >> child & 1) == 0 && packet->node < n->config.session.ranks;

    return is_rank && !trib_quorum_has(switch_list(n, index), packet->node);
}

/* A late part, of the same operation. If the result has left, then before the answer; and if the part's way was
 * congested, nothing else will tell. */
enum trib_drop trib__switch_late(struct switch_node *n, uint32_t child, const struct trib_packet *packet,
                                 uint64_t now_ns)
{
    uint64_t sequence = packet->sequence;
    const struct trib_slot *slot = switch_slot(n, trib_window_slot(&n->window, sequence));
    uint16_t flags = (uint16_t)((slot->has_result ? TRIB_FLAG_RESEND : 0) | (packet->flags & TRIB_FLAG_ECN));

    switch_aside(n)->counters.late++;
    trib__switch_find_gap(n, child, trib_window_dense(&n->window, sequence));
    if (flags != 0) {
        (void)trib__switch_say_held(n, child, sequence, flags, trib__switch_repeats(n, sequence, now_ns));
    }
    return TRIB_DROP_LATE;
}
