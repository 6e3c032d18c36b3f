/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h: fewer trees with the same loads: trees of a job with the same root and the same switches that add become
 * one, with several paths of a hop. A packing keeps its rates but for the rounding of the paths' weights. The merged
 * tree sends each child its own result, as results can only be copied on one path. */
#ifndef TRIB_PLAN_MERGE_H
#define TRIB_PLAN_MERGE_H

#include "plan/pack.h"

/* Merges the trees of a job that have a rate. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status plan_merge(struct plan_pack *pack, uint32_t job);

#endif
