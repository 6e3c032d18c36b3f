/* SPDX-License-Identifier: Apache-2.0 */
/* bound.h: an upper bound on rates, which follows from prices of links and adders, in whole numbers.
 *
 * Let y >= 0 be any prices, and W the price of a job's cheapest tree with the cables of the job's hosts. A job that was
 * fixed in an earlier stage has at least the rate f. Each other job has the rate t per unit of its weight d. Every such
 * plan of the family keeps
 *     t * sum(d W) <= sum(capacity * y) - sum(f W).
 * The first sum is over the jobs that are not fixed, the last sum over the fixed jobs. So any prices give a bound of t.
 *
 * Sizes: capacity < 2^42 bit/s, y <= 2^40, at most 2^17 rows, W < 2^61: all sums stay below 2^115. */
#ifndef TRIB_PLAN_BOUND_H
#define TRIB_PLAN_BOUND_H

#include "plan/price.h"

#define PLAN_NO_BOUND UINT64_MAX

/* Sum of the price of a job's tree and the price of the job's hosts' cables. */
int64_t plan_bound_price(const struct plan_network *net, const struct plan_job *job, int64_t tree,
                         const int64_t *prices);
/* Bound of t, bit/s per unit of weight, rounded up. cheapest: W, by job. fixed: f, by job, bit/s; 0: the job is not
 * fixed. */
uint64_t plan_bound(const struct plan_network *net, const struct plan_jobs *jobs, const int64_t *prices,
                    const int64_t *cheapest, const uint64_t *fixed);

#endif
