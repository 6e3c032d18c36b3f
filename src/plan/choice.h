/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h: which trees of a packing stay when it is cut to few, where switches have memory for some jobs only.
 * Read next: round.c (its user), memory.h. */
#ifndef TRIB_PLAN_CHOICE_H
#define TRIB_PLAN_CHOICE_H

#include "plan/pack.h"

/* Chooses the trees that a packing keeps (pack->kept): of each job the fastest ones, at most so many, as far as the
 * memory of switches reaches. Each job has its first tree before any has its second; a job none of whose trees fits
 * gets a new one. ERR_INVALID: error names a job for which no tree was found that fits. */
TRIB_MUST_USE enum trib_status plan_choose(struct plan_pack *pack, uint32_t most, char *error);

#endif
