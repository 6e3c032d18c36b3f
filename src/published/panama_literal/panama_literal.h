/* SPDX-License-Identifier: Apache-2.0 */
/* panama_literal.h: the scheme `panama-literal`: PANAMA's published accelerator and worker (Gebara et al., MLSys'21,
 * section 5 and figure 5), to show their defects. No job may run it.
 *
 * The rule. Every input port has FIFOs. A packet names its job, its tree and a VID: its number among the packets of one
 * operation for this tree, from 0. When every port of the job has a packet at the head, the VIDs are compared with the
 * tree's Expected VID:
 *   - all are equal: the sum is sent. The Expected VID increases by one, or becomes 0 if the packets said FIN;
 *   - not all are equal: the equal ones are dropped, and the Expected VID increases by one.
 * PANAMA-0.88 and -0.94 are panama-literal:7/8 and :15/16: a sum is sent as soon as that share of the ports has the
 * Expected VID at the head, and later packets for it are dropped. The other ports may be ahead of a late port without
 * limit. Scheme `panama` bounds the lead by its window (core/quorum.h).
 * A worker counts results. When their number equals its window, the window grows or shrinks. A worker asks for a late
 * result by sending its contribution again. No field tells the VID 0 of one operation from the VID 0 of the next, and
 * no rule removes an old packet from a head. docs/DECISIONS.md, "PANAMA as published is refused", shows the failures
 * packet by packet.
 *
 * A choice left open by the paper is a reading (enum trib_panama_reading), and so are repairs proposed by others.
 * Differences from the paper: packets carry our header with the true sequence and the lane, which the rule does not
 * read, so that every worker sees a wrong sum. The VID travels in `bitmap`.
 * Read next: accelerator.h (the rule), panama_literal_worker.c (figure 5). */
#ifndef TRIB_PANAMA_LITERAL_H
#define TRIB_PANAMA_LITERAL_H

#include "schemes/schemes.h"

struct trib_accelerator_counters; /* accelerator.h */

#define TRIB_PANAMA_RTO_NS \
    UINT64_C(10000000) /* "the timeout value does not need to be set aggressively"; never doubled */

/* Window of a tree, as in figure 5. Reals are multiples of 2^-20. */
struct trib_panama_window {
    uint64_t cwnd;
    uint64_t ssthresh;
    uint64_t alpha;
    uint32_t rcvd; /* rcvd_agg_packets */
    uint32_t ecn;  /* ecn_count; the figure never resets it to 0 */
};

#define TRIB_PANAMA_ONE (UINT64_C(1) << 20)

void trib_panama_window_init(struct trib_panama_window *window);
/* Updates the window for a result. cap: the packet's; 0: none. */
void trib_panama_window_result(struct trib_panama_window *window, bool is_marked, uint16_t cap);

/* Most packets in flight. A window below 1 counts as 1, since otherwise no packet would ever be sent again. */
static inline uint32_t trib_panama_window_packets(const struct trib_panama_window *window)
{
    return window->cwnd < TRIB_PANAMA_ONE ? 1 : (uint32_t)(window->cwnd / TRIB_PANAMA_ONE);
}

extern const struct trib_scheme trib_panama_literal;
extern const struct trib_worker_verbs trib_panama_literal_worker_verbs;
extern const struct trib_switch_verbs trib_panama_literal_switch_verbs;
/* With TRIB_PANAMA_MISS and TRIB_PANAMA_DISCARD (accelerator.h), the repair of losses that is closest to the paper. For
 * a lost contribution, a MISS is sent in the result's place. All workers then send the fragment again after all others,
 * with a new VID, in the order of the MISSes. Their FIN waits until all other fragments of the tree have a result. */
extern const struct trib_worker_verbs trib_panama_miss_worker_verbs;
extern const struct trib_switch_verbs trib_panama_miss_switch_verbs;

/* Ours: the ranks in a contribution or sum, if sums may lack ranks: at most 64, in fields that are otherwise unused
 * here. */
static inline uint64_t trib_panama_ranks(const struct trib_packet *packet)
{
    return (uint64_t)packet->boot << 32 | packet->digest;
}

static inline void trib_panama_set_ranks(struct trib_packet *packet, uint64_t ranks)
{
    packet->boot = (uint32_t)(ranks >> 32);
    packet->digest = (uint32_t)ranks;
}

/* Counters of a switch node's accelerator. */
const struct trib_accelerator_counters *trib_panama_literal_accelerator(const void *switch_node);

/* True if the packet is a MISS: "a contribution of this VID was lost, there is no sum". On its way up a tree, a MISS
 * takes a contribution's place. */
static inline bool trib_panama_is_miss(const struct trib_packet *packet)
{
    return (packet->flags & TRIB_FLAG_RESEND) != 0 && packet->payload_len == 0;
}

#endif
