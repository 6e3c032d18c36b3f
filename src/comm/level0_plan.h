/* SPDX-License-Identifier: Apache-2.0 */
/* level0_plan.h: how a collective of all ranks is made of operations in the memory of each host, and operations of the
 * hosts on the network. Pure arithmetic: no memory of its own but tables of shares, no time, no packet.
 *
 * An operation is cut into parts. Each part goes in (an operation of the host's ranks: to its leader), over the network
 * (an operation of the leaders, each for its host), and out (operations of the host's ranks, from its leader). A host
 * of one rank has neither in nor out.
 *   allreduce       parts of the tensor. in: reduce to the leader; network: allreduce; out: broadcast from the leader
 *   reduce          in: as above; network: reduce to the root's host; out, there: broadcast from the leader, which only
 *                   the root uses
 *   broadcast       in: broadcast at the root's host, once a barrier elsewhere; network: broadcast from that host; out,
 *                   elsewhere: broadcast from the leader
 *   barrier         barrier, barrier, barrier
 *   allgather       parts of a slice of each host's share. in: allgather of the own host's; network: allgather; out:
 *                   broadcast of each other's
 *   reduce-scatter  the same parts. in: reduce to the leader, slice by slice; network: reduce-scatter; out: broadcast
 *                   of the own host's slice
 * Every operation begins with one in, if only a barrier: a leader speaks on the network for its whole host, so the
 * ranks of the host are compared before (I10). It ends with one out: a rank that has ended it knows that the network
 * part is over. Where all ranks are on one host, the operation is that of the host, whole. A host's ranks are
 * neighbours, so its shares lie side by side. An average is a sum that is divided once, at the end, by all ranks. Every
 * part carries a digest of the whole (part_of), so that parts of different operations never meet.
 * Read next: level0.h (running the steps). */
#ifndef TRIB_COMM_LEVEL0_PLAN_H
#define TRIB_COMM_LEVEL0_PLAN_H

#include "control/words/words.h"
#include "core/operation.h"

/* Bytes of a tensor that are one part, or a little less. All ranks must cut alike. */
#define TRIB_LEVEL0_PART (1U << 20)
/* But of a host's share at least so many, where there are many hosts: trains of packets are not to become short. */
#define TRIB_LEVEL0_SHARE_LEAST (64U << 10)

/* Where a rank is. */
struct trib_level0_place {
    uint32_t ranks, rank;
    uint32_t hosts, host; /* of all; the own one, in the order of leaders */
    uint32_t first;       /* leader of the host */
    uint32_t count;       /* ranks of the host */
    struct trib_rank_set leaders;
};

struct trib_level0_plan {
    struct trib_level0_plan *next; /* the owner's */
    const struct trib_level0_place *place;
    struct trib_session_config session; /* for layouts: ranks, payload, wire */
    struct trib_operation whole;
    uint64_t number; /* the owner's */
    uint64_t part_of;
    uint64_t chunk;    /* elements of a part, of shares: of each host's share; the last may have fewer */
    uint64_t parts;    /* at least 1 */
    size_t slot_bytes; /* of memory between the steps of a part; 0: none */
    uint32_t root_host;
    /* of shares, in elements */
    uint64_t *host_at;    /* where each host's share begins, and where the last ends */
    uint64_t longest;     /* share of a host */
    uint64_t own_at, own; /* the own share in that of the host */
    uint64_t *counts;     /* scratch */
};

void trib_level0_place_init(struct trib_level0_place *place, uint32_t ranks, uint32_t rank, uint32_t hosts,
                            const struct trib_rank_set *leaders);
static inline bool trib_level0_leads(const struct trib_level0_place *place)
{
    return place->rank == place->first;
}

/* The plan of `whole`, which is the number-th of its communicator. session: of the job, ranks and all. batch:
 * operations that are run at the same time with it. False: out of memory. */
bool trib_level0_plan_init(struct trib_level0_plan *plan, const struct trib_level0_place *place,
                           const struct trib_session_config *session, const struct trib_operation *whole,
                           const uint64_t number_and_batch[2]);
void trib_level0_plan_deinit(struct trib_level0_plan *plan);

/* The steps of part k, in this order; slot: slot_bytes of memory, the same for all steps of a part. */

/* *i: 0 at first, then one more than it was left at. False: no more. */
bool trib_level0_in(const struct trib_level0_plan *plan, uint64_t k, uint32_t *i, unsigned char *slot,
                    struct trib_operation *operation);
/* A leader's. */
void trib_level0_net(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot,
                     struct trib_operation *operation);
/* A leader's, when that has ended. */
void trib_level0_divide(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot);
/* *i: as above. */
bool trib_level0_out(const struct trib_level0_plan *plan, uint64_t k, uint32_t *i, unsigned char *slot,
                     struct trib_operation *operation);
/* After all steps out have ended. */
void trib_level0_take(const struct trib_level0_plan *plan, uint64_t k, unsigned char *slot);

#endif
