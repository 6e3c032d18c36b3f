/* SPDX-License-Identifier: Apache-2.0 */
/* bound.c: see bound.h. */
#include "plan/bound.h"

int64_t plan_bound_price(const struct plan_network *net, const struct plan_job *job, int64_t tree,
                         const int64_t *prices)
{
    for (uint32_t i = 0; i < job->host_count; i++) {
        tree += prices[plan_row_of_host(net, job->hosts[i])];
    }
    return tree;
}

uint64_t plan_bound(const struct plan_network *net, const struct plan_jobs *jobs, const int64_t *prices,
                    const int64_t *cheapest, const uint64_t *fixed)
{
    __extension__ __int128 all = 0, others = 0;
    for (uint32_t row = 0; row < plan_rows(net); row++) {
        if (prices[row] > 0) {
            all += __extension__((__int128)prices[row] * (int64_t)plan_capacity(net, row));
        }
    }
    for (uint32_t j = 0; j < jobs->count; j++) {
        if (fixed[j] > 0) {
            all -= __extension__((__int128)cheapest[j] * (int64_t)fixed[j]);
        } else {
            others += __extension__((__int128)cheapest[j] * jobs->list[j].weight);
        }
    }
    if (others <= 0) {
        return PLAN_NO_BOUND;
    }
    if (all <= 0) {
        return 0;
    }
    __extension__ __int128 bound = (all + others - 1) / others;
    return bound < INT64_MAX ? (uint64_t)bound : PLAN_NO_BOUND;
}
