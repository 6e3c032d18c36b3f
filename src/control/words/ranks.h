/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.h: lists of a communicator's ranks in messages. Read next: control/jobs/state.h. */
#ifndef TRIB_CONTROL_RANKS_H
#define TRIB_CONTROL_RANKS_H

#include "control/words/words.h"

/* Ranks are added in ascending order; ranks beyond TRIB_RANKS_LISTED are only counted. */
static inline void trib_rank_list_add(struct trib_rank_list *list, uint32_t rank)
{
    if (list->count < TRIB_RANKS_LISTED) {
        list->rank[list->count] = (uint16_t)rank;
    }
    list->count++;
}

#endif
