/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: see plan.h. */
#include "plan/plan.h"

#include <stdlib.h>

void plan_free(struct plan *plan)
{
    for (uint32_t j = 0; plan->grants != NULL && j < plan->job_count; j++) {
        for (uint32_t i = 0; i < plan->grants[j].count; i++) {
            plan_tree_free(&plan->grants[j].shares[i].tree);
        }
    }
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        free(plan->stages[i].prices);
    }
    free(plan->grants);
    free(plan->stages);
    *plan = (struct plan){.grants = NULL};
}
