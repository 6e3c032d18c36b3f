/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h: two schemes without a switch, on flows between ranks (core/flow.h): the measure for schemes with switches.
 *
 * `ring`: as Gloo, NCCL and MPI do it. Rank r sends to rank r + 1 and to nobody else. Every fragment has an *owner*:
 * the root, the rank of the share, or, of an allreduce, rank i mod N for fragment i. The sum begins behind the
 * owner and goes round, each rank adding its part (*summing leg*); at the owner, after N - 1 hops, it is whole. Of an
 * allreduce it goes round again (*spreading leg*), to the rank before the owner. A block from one rank to all goes
 * round from its owner (*carrying leg*). Fragments do not wait for each other: there are no steps. So each rank sends
 * and receives 2 (N - 1) / N of an allreduce's tensor, (N - 1) / N of an allgather's or reduce-scatter's, which no way
 * without help in the network can do with less (Patarasuk and Yuan, JPDC 2009).
 *
 * `hybrid` (H-AR: Jia et al., 2018; Rina's baseline): N = R x m ranks, R groups of m consecutive ranks, such as
 * those of a rack or host. Each rank is on two rings, *inside* its group and *across* the groups, with the ranks at
 * the same place. For an owner at place p in group g, a fragment's sum begins in every group behind place p and
 * goes inside to p; the sums of the groups go across, from group g + 1 on, to the owner. Result and
 * carried payload go the same ways back: across from the owner, and inside from place p in each group. So the longest
 * chain is 2 (m - 1) + 2 (R - 1) hops instead of 2 (N - 1), a rank sends 2 (m - 1) / m of the tensor inside, and the m
 * ranks of a group together 2 (R - 1) / R across, each as much as the others. A ring is one group: the code is the
 * same, with m = N, R = 1.
 *
 * Every hop adds its key's term to the lane, and every receiver knows the right lane: the keys of exactly the
 * ranks on the way (I12). A sum is (the part from across + the part from inside) + the own part, in any order of
 * arrival, so bits depend on the number of ranks, the size of groups and the fragment alone (I9).
 *
 * Memory: P slots, fragment mod P, each with one wire buffer. A slot is free again when its fragment's result is here
 * and has been passed on; the lowest that is not, plus P, is the limit of both flows to this rank. It always gets on:
 * let F be the lowest fragment that some rank has not finished. All below F are finished everywhere, so all have been
 * received, and are acknowledged sooner or later: each rank frees their slots, and each
 * limit is above F. Each flow hands out the lowest first, packets under way are below the limit, so the receiver has a
 * slot, takes the packet, and acknowledges without waiting: so F's parts leave, arrive, and finish
 * it. Two flows into a rank, and out of it, wait for nothing but slots, and F owns its slots by number. No credit by
 * count has that. A part that comes before the operation is submitted, or before the part to add to, waits in its slot.
 *
 * There is no switch, and no restart of one: nodes go on where they were when sessions return. A rank that dies ends
 * the communicator. (When a switch dies for good, a communicator may one day go on over its ring with the fragments
 * that nobody has finished: a verb that names the finished ones belongs beside submit.)
 *
 * wire int32 is a switch's need: here such tensors travel as float32. Read in this order:
 *   ring_memory.h           the memory, and the states of a fragment
 *   ring_worker_route.c     the ways of a fragment, and the parts in it at each hop
 *   ring_worker.c           control verbs: submit, marks
 *   ring_worker_state.c     the operation of a sequence, events
 *   ring_worker_sum.c       numbers at a hop, finished fragments
 *   ring_worker_receive.c   packets that come
 *   ring_worker_send.c      packets that leave, and timers */
#ifndef TRIB_RING_H
#define TRIB_RING_H

#include "schemes/scheme.h"

extern const struct trib_scheme trib_ring, trib_hybrid;
extern const struct trib_worker_verbs trib_ring_worker_verbs, trib_hybrid_worker_verbs;

/* A flow's label of a fragment on one of its legs. */
enum trib_ring_leg { TRIB_RING_SUMMING = 0, TRIB_RING_SPREADING, TRIB_RING_CARRYING, TRIB_RING_LEGS = 4 };

static inline uint64_t trib_ring_label(uint64_t sequence, enum trib_ring_leg leg)
{
    return TRIB_RING_LEGS * sequence + leg;
}

static inline uint64_t trib_ring_sequence(uint64_t label)
{
    return label / TRIB_RING_LEGS;
}

static inline uint32_t trib_ring_leg(uint64_t label)
{
    return label % TRIB_RING_LEGS;
}

#endif
