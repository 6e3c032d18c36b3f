/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h: whole weights of a job's trees, near their rates. A link has loads of many trees, so weights that are
 * rounded one by one add up to more than its rate: here they are chosen by the fullest link. Read next: round.c (the
 * user). */
#ifndef TRIB_PLAN_WEIGHTS_H
#define TRIB_PLAN_WEIGHTS_H

#include "plan/pack.h"

/* Writes weights of trees of one job, at most PLAN_TREES_MAX, the fastest first; a weight may be 0, the first is not.
 * fill: by row, of all jobs, by plan_pack_load; it becomes that with the weights. False: out of memory. */
bool plan_weigh(const struct plan_pack *pack, const uint32_t *list, uint32_t count, double *fill, uint8_t *weights);

#endif
