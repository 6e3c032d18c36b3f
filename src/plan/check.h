/* SPDX-License-Identifier: Apache-2.0 */
/* check.h: proves a plan again, in whole numbers and without a solver: that no link, adder or host's cable is
 * overloaded, that switches have the memory, and that no plan of the family gives the jobs of a stage more than its
 * bound.
 * Read next: bound.h (why prices prove that), check.c. */
#ifndef TRIB_PLAN_CHECK_H
#define TRIB_PLAN_CHECK_H

#include "plan/plan.h"

struct plan_proof {
    double gap;           /* bound / level - 1, of the worst stage */
    double first_gap;     /* of the first stage: no job had a rate before */
    double loss;          /* of the slowest job, by weight, from the packing to the plan: 1 - rate / level */
    double worst_loss;    /* of any job */
    uint32_t fullest;     /* row */
    double fill;          /* of that: 1 is full */
    uint32_t tightest;    /* place of the switch with the least memory left */
    uint64_t memory_left; /* there, bytes; PLAN_MEMORY_ALL: no switch has a limit */
};

/* Is the plan for this network, and for these jobs? False: error says why not. */
bool plan_check_network(const struct plan *plan, const struct plan_network *net, char *error);
bool plan_check_jobs(const struct plan *plan, const struct plan_jobs *jobs, char *error);
/* The part of the proof that says that the plan can be kept: trees, and loads of links and adders. */
bool plan_check_loads(struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs, char *error);
/* The whole proof. False: error has the cause. */
bool plan_check(struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs,
                struct plan_proof *proof, char *error);

#endif
