/* SPDX-License-Identifier: Apache-2.0 */
/* loads.h: the loads of links by the trees of all jobs (choose.h). Each job keeps a list of the loads by its own trees.
 * The list is added when made, and subtracted with the same numbers when the job changes or ends. So the sums equal a
 * recount, and a choice of switches looks at no other job (CONTROLLER C-22).
 *
 * A change of a job only marks its list as stale (trib_loads_change); the next choice makes a new list. A change is one
 * of the fields read here: the ranks' addresses, children, roots, weights and switches of a job, and whether the job is
 * settled. Before the first choice there are no lists. Read next: loads.c, trees.c (the only caller that chooses). */
#ifndef TRIB_CONTROL_LOADS_H
#define TRIB_CONTROL_LOADS_H

#include "control/jobs/jobs.h"
#include "fabric/choose.h"

/* Children of the job's roots, each once: the first rank of each, as opening.c has it. A job whose ranks are coming
 * back has no children yet: then all known ranks. Begins as {.job = job}. */
struct trib_members {
    struct trib_job *job;
    uint32_t next;
    struct trib_rank_set seen;
};

/* NULL: there are no more. */
struct trib_rank *trib_members_next(struct trib_members *members);
/* The address of one of the rank's NICs, or of the switch below through which its sums come. */
struct trib_address trib_loads_seat(const struct trib_rank *rank, uint32_t card);
/* The place of one of the rank's NICs in the topology; TRIB_NO_PLACE: it is unknown. */
uint32_t trib_loads_place(const struct trib_jobs *jobs, struct trib_rank *rank, uint32_t card);
/* Adds the members of the k-th of `count` trees of the job, which carries `amount`, to the tree at hand. Its root t, of
 * which each next one is t + count, gets what leaves a host by its card t mod c: so these cards take turns, as far as
 * there are roots. Before a job is dealt their number is unknown. A count of 0: card k alone. */
void trib_loads_add_tree(const struct trib_jobs *jobs, struct trib_choose *choose, struct trib_job *job, uint32_t k,
                         uint32_t count, uint64_t amount);

/* The job has switches: its trees are loads. */
static inline bool trib_loads_is_settled(const struct trib_job *job)
{
    return !job->has_peers && (job->has_trees || job->is_return);
}

/* The loads of all jobs, up to date. NULL: out of memory. */
struct trib_choose *trib_loads_get(struct trib_jobs *jobs);
/* Adds the tree at hand, with that root, for the next trees of the same choice. The choice ends with
 * trib_loads_end_try, which takes all trees of the choice away, until the list of the job is made. */
void trib_loads_try(struct trib_jobs *jobs, uint32_t root);
void trib_loads_end_try(struct trib_jobs *jobs);
/* The loads of the job may have changed. */
void trib_loads_change(struct trib_jobs *jobs, struct trib_job *job);
/* The job ends. */
void trib_loads_leave(struct trib_jobs *jobs, struct trib_job *job);
/* Ends the program if the sums are not those of all lists, or a list that is not stale is not that of its job. */
void trib_loads_check(const struct trib_jobs *jobs);
void trib_loads_deinit(struct trib_jobs *jobs);

#endif
