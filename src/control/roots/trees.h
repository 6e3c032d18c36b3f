/* SPDX-License-Identifier: Apache-2.0 */
/* trees.h: of several switches used at once (switches.h), those that a job's roots are dealt over: its trees, one under
 * each. All of them, unless the operator wants fewer: then those that a plan names for the job (fabric/planned.h), or
 * else those whose links have least to do (choose.h). The choice
 * stands in the grant (grant.switches), so that it lasts as long as the job, through every restart; what loads links is
 * known from the jobs that there are (loads.h). A process has one socket for each root, for all its communicators: so
 * a job with a rank in a process that is in another job here follows that one. No sockets, no clock, as in jobs.h. Read
 * next: trees.c, choose.h. */
#ifndef TRIB_CONTROL_TREES_H
#define TRIB_CONTROL_TREES_H

#include "control/jobs/jobs.h"
#include "fabric/planned.h"

/* Of a job with lenders: how many there are. */
static inline uint32_t trib_trees_count(const struct trib_jobs *jobs, const struct trib_job *job)
{
    uint32_t count = 0;
    while (count < TRIB_SWITCHES_MAX && job->grant.switches[count] != 0) {
        count++;
    }
    return count > 0 ? count : jobs->config->lenders.count + 1;
}

/* The k-th of these: 0 for this switch, i + 1 for its lender i. */
static inline uint32_t trib_trees_at(const struct trib_job *job, uint32_t k)
{
    return job->grant.switches[0] != 0 ? job->grant.switches[k] - 1U : k;
}

/* How many have a root of it: not all where switches below carry fewer; all before the job has any. */
uint32_t trib_trees_rooted(const struct trib_jobs *jobs, const struct trib_job *job);
bool trib_trees_have(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t which);
/* The job in the plan. NULL: the plan does not name it, or the job has other switches. */
const struct trib_planned_job *trib_trees_planned(const struct trib_jobs *jobs, const struct trib_job *job);
/* "10.0.0.1:7470": the switch 0, "this switch" if it is at all addresses, or lender which - 1. text: 64 bytes. */
char *trib_trees_name(const struct trib_jobs *jobs, uint32_t which, char *text);
/* "10.0.0.1:7470 and 10.0.0.3:7470": all of the job's that have a root of it, as far as size bytes hold them. Returns
 * text. */
char *trib_trees_list(const struct trib_jobs *jobs, const struct trib_job *job, char *text, size_t size);
/* All ranks are there: chooses for a new job, once; looks once in each incarnation whether another job would have one
 * process send to different switches: then ERR_REFUSED with the cause in error. Nothing of that where all jobs have all
 * switches. */
TRIB_MUST_USE enum trib_status trib_trees_choose(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns,
                                                 char *error);
/* A begun job keeps its switches. Jobs that have not begun, share processes with that job, and have chosen other
 * switches, lose their choice; so do the jobs that follow them. Writes all of these to list, with room for all jobs, in
 * the order in which they choose again. Returns how many. */
uint32_t trib_trees_unbind(struct trib_jobs *jobs, struct trib_job *job, struct trib_job **list);
/* This lender took no part in the job, being away or refusing it: later jobs do without it for a while, if others are
 * there. True: so does this one, whose choice is another now, with those that have not begun either and share
 * processes with it. */
bool trib_trees_avoid(struct trib_jobs *jobs, struct trib_job *job, uint32_t lender, uint64_t now_ns);
/* Are the switches of the grant that comes with this JOIN those of this control plane? */
TRIB_MUST_USE enum trib_status trib_trees_check(const struct trib_jobs *jobs, const struct trib_message *join,
                                                char *error);

#endif
