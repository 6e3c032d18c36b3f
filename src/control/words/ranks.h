/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.h: the lists of a communicator's ranks that messages carry. Read next: jobs.h. */
#ifndef TRIB_CONTROL_RANKS_H
#define TRIB_CONTROL_RANKS_H

#include "control/words/words.h"

/* Ranks come in ascending order; those beyond TRIB_RANKS_LISTED are only counted. */
static inline void trib_rank_list_add(struct trib_rank_list *list, uint32_t rank)
{
    if (list->count < TRIB_RANKS_LISTED) {
        list->rank[list->count] = (uint16_t)rank;
    }
    list->count++;
}

#endif
