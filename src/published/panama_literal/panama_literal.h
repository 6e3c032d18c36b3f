/* SPDX-License-Identifier: Apache-2.0 */
/* panama_literal.h: the scheme `panama-literal`: PANAMA's accelerator and worker as they are published (Gebara et
 * al., MLSys'21, section 5 and figure 5), to show what is wrong with them. No job may run it.
 *
 * The rule. Every input port has FIFOs. A packet names its job, its tree and a VID: its number among the packets of
 * one operation that go to this tree, from 0. When every port of the job has a packet at the head, their VIDs are
 * compared with the Expected VID of the tree:
 *   - all are equal: the sum leaves, and the Expected VID is one more, or 0 if the packets said FIN;
 *   - not all: those that are equal are dropped, and the Expected VID is one more.
 * PANAMA-0.88 and -0.94 are panama-literal:7/8 and :15/16: a sum leaves as soon as so many ports have the Expected VID
 * at the head, and what comes for it later is dropped. Nothing holds the others back: they may be ahead of a late port
 * without limit, which scheme `panama` has bounded by its window (core/quorum.h).
 * A worker counts results; when their number equals its window, the window grows or shrinks. A result that is late
 * is asked for by sending the contribution again. Nothing tells the VID 0 of one operation from that of the next;
 * nothing takes an old packet from a head. docs/DECISIONS.md, "PANAMA as published is refused", has what breaks,
 * packet by packet.
 *
 * Where the paper leaves a choice, it is a reading (enum trib_panama_reading), and so are repairs that others have
 * proposed. What is not the paper's: packets carry our header with the true sequence and the lane, which the rule
 * does not look at, so that every worker sees that a sum is wrong. The VID travels in `bitmap`.
 * Read next: accelerator.h (the rule), panama_literal_worker.c (figure 5). */
#ifndef TRIB_PANAMA_LITERAL_H
#define TRIB_PANAMA_LITERAL_H

#include "schemes/schemes.h"

struct trib_accelerator_counters; /* accelerator.h */

#define TRIB_PANAMA_RTO_NS \
    UINT64_C(10000000) /* "the timeout value does not need to be set aggressively"; never doubled */

/* A tree's window as figure 5 has it. Reals are multiples of 2^-20. */
struct trib_panama_window {
    uint64_t cwnd;
    uint64_t ssthresh;
    uint64_t alpha;
    uint32_t rcvd; /* rcvd_agg_packets */
    uint32_t ecn;  /* ecn_count, which the figure never sets back to 0 */
};

#define TRIB_PANAMA_ONE (UINT64_C(1) << 20)

void trib_panama_window_init(struct trib_panama_window *window);
/* A result came. cap: the packet's; 0: it says none. */
void trib_panama_window_result(struct trib_panama_window *window, bool is_marked, uint16_t cap);

/* Packets under way at most. A window below 1 is taken as 1, since nothing would ever move again. */
static inline uint32_t trib_panama_window_packets(const struct trib_panama_window *window)
{
    return window->cwnd < TRIB_PANAMA_ONE ? 1 : (uint32_t)(window->cwnd / TRIB_PANAMA_ONE);
}

extern const struct trib_scheme trib_panama_literal;
extern const struct trib_worker_verbs trib_panama_literal_worker_verbs;
extern const struct trib_switch_verbs trib_panama_literal_switch_verbs;
/* The same with TRIB_PANAMA_MISS and TRIB_PANAMA_DISCARD (accelerator.h), the repair of losses that fits the paper
 * best: when a contribution was lost, a MISS comes in the result's place, and all workers send the fragment again
 * behind all others, with a new VID, in the order of the MISSes. Their FIN waits until all else of the tree has its
 * result. */
extern const struct trib_worker_verbs trib_panama_miss_worker_verbs;
extern const struct trib_switch_verbs trib_panama_miss_switch_verbs;

/* Ours: which ranks are in a contribution or sum, where sums may lack some: at most 64, in fields that nobody reads
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

/* What the accelerator of a switch node has counted. */
const struct trib_accelerator_counters *trib_panama_literal_accelerator(const void *switch_node);

/* Is this packet a MISS: "a contribution of this VID was lost, there is no sum"? On its way up in a tree it stands
 * in a contribution's place. */
static inline bool trib_panama_is_miss(const struct trib_packet *packet)
{
    return (packet->flags & TRIB_FLAG_RESEND) != 0 && packet->payload_len == 0;
}

#endif
