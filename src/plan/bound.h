/* SPDX-License-Identifier: Apache-2.0 */
/* bound.h: an upper bound on rates, which follows from prices of links and adders, in whole numbers.
 *
 * Given any prices y >= 0, let W be the price of a job's cheapest tree, with its hosts' cables. Each plan of the family
 * that gives each job j of those before at least f_j, and all others t for each unit of their weight d, keeps
 *     t * sum(d W) <= sum(capacity * y) - sum(f W),
 * where the first sum is over the others and the last one over those before. So t has a bound, however y was chosen.
 *
 * Sizes: capacity < 2^42 bit/s, y <= 2^40, at most 2^17 rows, W < 2^61: all sums stay below 2^115. */
#ifndef TRIB_PLAN_BOUND_H
#define TRIB_PLAN_BOUND_H

#include "plan/price.h"

#define PLAN_NO_BOUND UINT64_MAX

/* Price of a job's tree with that of its hosts' cables. */
int64_t plan_bound_price(const struct plan_network *net, const struct plan_job *job, int64_t tree,
                         const int64_t *prices);
/* The bound, bit/s for each unit of weight, rounded up. cheapest: by job, with hosts' cables. fixed: by job, bit/s of
 * those before; 0: one of the others. */
uint64_t plan_bound(const struct plan_network *net, const struct plan_jobs *jobs, const int64_t *prices,
                    const int64_t *cheapest, const uint64_t *fixed);

#endif
