/* SPDX-License-Identifier: Apache-2.0 */
/* check.h: proves a plan again, in whole numbers and without a solver: that no link, adder or host's cable is
 * overloaded, that switches have the memory, and that no plan of the family gives the jobs of a stage more than its
 * bound.
 * Read next: bound.h (why prices prove that), check.c. */
#ifndef TRIB_PLAN_CHECK_H
#define TRIB_PLAN_CHECK_H

#include "plan/plan.h"

struct plan_proof {
    double gap;           /* largest bound / level - 1 of a stage */
    double first_gap;     /* bound / level - 1 of the first stage, before which no job has a rate */
    double loss;          /* 1 - lowest rate / lowest level, each per unit of weight: loss by rounding */
    double worst_loss;    /* largest 1 - rate / level of a job */
    uint32_t fullest;     /* row with the highest load / rate */
    double fill;          /* load / rate of `fullest`; 1: full */
    uint32_t tightest;    /* place of the switch with the least memory left */
    uint64_t memory_left; /* memory left at `tightest`, bytes; PLAN_MEMORY_ALL: no switch has a limit */
};

/* True if the plan is for this network, or for these jobs. False: error has the cause. */
bool plan_check_network(const struct plan *plan, const struct plan_network *net, char *error);
bool plan_check_jobs(const struct plan *plan, const struct plan_jobs *jobs, char *error);
/* Proves the first part: trees are valid, and loads of links and adders fit. False: error has the cause. */
bool plan_check_loads(struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs, char *error);
/* The whole proof. False: error has the cause. */
bool plan_check(struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs,
                struct plan_proof *proof, char *error);

#endif
