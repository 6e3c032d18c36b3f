/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h: which trees of a packing stay when it is cut to few, where switches have memory for some jobs only.
 * Read next: round.c (its user), memory.h. */
#ifndef TRIB_PLAN_CHOICE_H
#define TRIB_PLAN_CHOICE_H

#include "plan/pack.h"

/* Chooses the trees that a packing keeps (pack->kept): at most `most` trees of each job, the fastest first, within the
 * memory of switches. Each job gets its first tree before any job gets its second. A job gets a new tree if none of its
 * trees fits. If memory has a limit, a job keeps all further trees that need no more memory. ERR_INVALID: error names a
 * job for which no fitting tree was found. */
TRIB_MUST_USE enum trib_status plan_choose(struct plan_pack *pack, uint32_t most, char *error);
/* Keeps the `most` fastest trees of each job. *is_less: a job had more. ERR_MEMORY. */
TRIB_MUST_USE enum trib_status plan_choose_fastest(struct plan_pack *pack, uint32_t most, bool *is_less);

#endif
