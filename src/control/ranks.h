/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.h: sets of a communicator's ranks, and the lists that messages carry. Read next: jobs.h. */
#ifndef TRIB_CONTROL_RANKS_H
#define TRIB_CONTROL_RANKS_H

#include "control/session.h"

struct trib_rank_set {
    uint64_t word[(TRIB_RANKS_MAX + 63) / 64];
};

static inline void trib_rank_set_add(struct trib_rank_set *set, uint32_t rank)
{
    set->word[rank / 64] |= UINT64_C(1) << rank % 64;
}

static inline void trib_rank_set_remove(struct trib_rank_set *set, uint32_t rank)
{
    set->word[rank / 64] &= ~(UINT64_C(1) << rank % 64);
}

static inline bool trib_rank_set_has(const struct trib_rank_set *set, uint32_t rank)
{
    return (set->word[rank / 64] >> rank % 64 & 1) != 0;
}

/* Ranks come in ascending order; those beyond TRIB_RANKS_LISTED are only counted. */
static inline void trib_rank_list_add(struct trib_rank_list *list, uint32_t rank)
{
    if (list->count < TRIB_RANKS_LISTED) {
        list->rank[list->count] = (uint16_t)rank;
    }
    list->count++;
}

#endif
