/* SPDX-License-Identifier: Apache-2.0 */
/* make.h: makes a plan from a network and jobs. Read next: make.c, pack.h, round.h. */
#ifndef TRIB_PLAN_MAKE_H
#define TRIB_PLAN_MAKE_H

#include "plan/plan.h"

/* How a search ends early, and which trees it tries. */
struct plan_options {
    enum plan_family family;
    uint32_t most; /* limit of trees per job, up to PLAN_TREES_MAX; 0: PLAN_TREES_MAX */
    /* Called now and then, at least after each program; true ends the search without a plan. NULL: never. */
    bool (*is_over)(void *user, const struct plan_step *step);
    bool (*is_late)(void *user); /* true, and from then on: it ends soon, with a plan that may have larger gaps */
    void *user;
};

/* ERR_INVALID: some job has no tree; ERR_UNSUPPORTED: no solver; ERR_ABORTED: is_over returned true. error has the
 * cause. Free the plan in any case. */
TRIB_MUST_USE enum trib_status plan_make(struct plan *plan, const struct plan_network *net,
                                         const struct plan_jobs *jobs, const struct plan_options *options, char *error);

#endif
