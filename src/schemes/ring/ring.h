/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h: the scheme `ring`: allreduce without a switch, as Gloo, NCCL and MPI do it, on flows between neighbours (core/flow.h). It is what
 * the schemes with switches are measured against.
 *
 * Rank r sends to rank r + 1 and to nobody else. Fragment i of an operation belongs to share i mod N. Of share c it begins at
 * rank c + 1, and goes round, each rank adding its part (*summing leg*); at rank c, after N - 1 hops, it is the sum, and goes round again
 * (*spreading leg*), to the rank before c. Fragments do not wait for each other: there are no steps. So each rank sends and
 * receives 2 (N - 1) / N of the tensor, which no way without help in the network can do with less (Patarasuk and Yuan, JPDC 2009). A
 * broadcast goes round once, from its root.
 *
 * Every hop adds its key's term to the lane, and every receiver knows what the lane must be: the keys of exactly the ranks between (I12). The
 * order of additions is that of the ring from rank c + 1 on, so bits depend on the number of ranks and the fragment alone (I9).
 *
 * Memory: P slots, fragment mod P, each with one wire buffer. A slot is free again when its fragment's result is here and has been passed on;
 * the lowest that is not, plus P, is the limit of the flow to this rank. All ranks take the lowest unfinished fragment of all, so it
 * always gets on: no credit by count has that. A part that comes before this rank has submitted its operation waits in its slot.
 *
 * There is no switch, and no restart of one: nodes go on where they were when sessions return. A rank that dies ends the communicator.
 * (When a switch dies for good, a communicator may one day go on over its ring with the fragments that nobody has finished:
 * a verb that names the finished ones belongs beside submit.)
 *
 * wire int32 is a switch's need: on the ring such tensors travel as float32. Read in this order:
 *   ring_worker.h           the memory, and the states of a fragment
 *   ring_worker.c           control verbs: submit, marks, events
 *   ring_worker_sum.c       what is done to numbers, and what is finished
 *   ring_worker_receive.c   what comes
 *   ring_worker_send.c      what leaves, and timers */
#ifndef TRIB_RING_H
#define TRIB_RING_H

#include "schemes/schemes.h"

extern const struct trib_scheme trib_ring;
extern const struct trib_worker_verbs trib_ring_worker_verbs;

/* A flow's label of a fragment on one of its legs. */
enum trib_ring_leg { TRIB_RING_SUMMING = 0, TRIB_RING_SPREADING = 1 };

static inline uint64_t trib_ring_label(uint64_t sequence, enum trib_ring_leg leg)
{
    return 2 * sequence + leg;
}

#endif
