/* SPDX-License-Identifier: Apache-2.0 */
/* loads.h: the loads of links by the trees of all jobs (choose.h). Each job keeps a list of the loads by the job's
 * trees. A new list is added to the sums. When the job changes or ends, the same numbers are subtracted. So the sums
 * equal a recount, and a choice of switches looks at no other job (CONTROLLER C-22).
 *
 * A change of a job only marks the job's list as stale (trib_loads_change); the next choice makes a new list. A change
 * is one of the fields read here: the ranks' addresses, children, roots, weights and switches of a job, and whether the
 * job is settled. Before the first choice there are no lists. Read next: loads.c, trees.c (the only caller that
 * chooses). */
#ifndef TRIB_CONTROL_LOADS_H
#define TRIB_CONTROL_LOADS_H

#include "control/jobs/state.h"
#include "fabric/choose.h"

/* Iterator over the children of the job's roots: gives the first rank of each child, in the order of opening.c. A job
 * with returning ranks has no children yet: then all known ranks. Begins as {.job = job}. */
struct trib_members {
    struct trib_job *job;
    uint32_t next;
    struct trib_rank_set seen;
};

/* NULL: there are no more. */
struct trib_rank *trib_members_next(struct trib_members *members);
/* The address of one of the rank's NICs, or of the switch below that sends the rank's sums. */
struct trib_address trib_loads_seat(const struct trib_rank *rank, uint32_t card);
/* The place of one of the rank's NICs in the topology; TRIB_NO_PLACE: unknown. */
uint32_t trib_loads_place(const struct trib_jobs *jobs, struct trib_rank *rank, uint32_t card);
/* Adds the members of the k-th of `count` trees of the job to the present tree. amount: load of the tree. The roots of
 * the tree are k, k + count, and so on. A host with c cards sends to root t by card t mod c, so the cards take turns,
 * as far as there are roots. Before the job is dealt, the number of roots is unknown. count 0: card k alone. */
void trib_loads_add_tree(const struct trib_jobs *jobs, struct trib_choose *choose, struct trib_job *job, uint32_t k,
                         uint32_t count, uint64_t amount);

/* True if the job has switches: then the job's trees count as loads. */
static inline bool trib_loads_is_settled(const struct trib_job *job)
{
    return !job->has_peers && (job->has_trees || job->is_return);
}

/* The loads of all jobs, up to date. NULL: out of memory. */
struct trib_choose *trib_loads_get(struct trib_jobs *jobs);
/* Adds the present tree, with `root`, to the sums for the next trees of the same choice. trib_loads_end_try ends the
 * choice and removes all trees of the choice; the list of the job is made later. */
void trib_loads_try(struct trib_jobs *jobs, uint32_t root);
void trib_loads_end_try(struct trib_jobs *jobs);
/* The loads of the job may have changed. */
void trib_loads_change(struct trib_jobs *jobs, struct trib_job *job);
/* The job ends. */
void trib_loads_leave(struct trib_jobs *jobs, struct trib_job *job);
/* Ends the program if the sums differ from the sums of all lists, or if a list that is not stale differs from the
 * job. */
void trib_loads_check(const struct trib_jobs *jobs);
void trib_loads_deinit(struct trib_jobs *jobs);

#endif
