/* SPDX-License-Identifier: Apache-2.0 */
/* round.h: from a packing to a plan that ranks can keep: at most plan->most trees per job, weights of one byte, and
 * rates in whole bit/s that all links and adders can carry. Read next: round.c. */
#ifndef TRIB_PLAN_ROUND_H
#define TRIB_PLAN_ROUND_H

#include "plan/plan.h"

/* Fills in the plan's grants; trees move from the pack to the plan. */
TRIB_MUST_USE enum trib_status plan_round(struct plan *plan, struct plan_pack *pack, char *error);
/* Sums the loads of all grants, by row, bit/s, each job's part rounded up. False: out of memory. */
bool plan_loads(const struct plan *plan, const struct plan_network *net, const struct plan_jobs *jobs, uint64_t *loads);

#endif
