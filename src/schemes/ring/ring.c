/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c: the rows of the table of schemes for the ring, and for the hybrid of rings. */
#include "schemes/ring/ring.h"

const struct trib_scheme trib_ring = {
    .name = TRIB_SCHEME_RING,
    .guarantee = "every contribution exactly once or an error; sums with the same bits in every run; "
                 "no switch: 2(N-1)/N of the tensor per rank and direction",
    .worker = &trib_ring_worker_verbs,
};

static const char *hybrid_unfit(const struct trib_session_config *session)
{
    if (session->group == 0) {
        return "its ranks stand in groups, and nobody said of how many: write hybrid:4 for groups of 4 ranks";
    }
    if (session->ranks % session->group != 0) {
        return "the number of ranks is not a multiple of the ranks of a group";
    }
    return NULL;
}

const struct trib_scheme trib_hybrid = {
    .name = "hybrid",
    .guarantee =
        "as ring, in two levels (hybrid:M): rings inside groups of M consecutive ranks, and across the R groups; "
        "2(M-1)+2(R-1) hops instead of 2(N-1)",
    .has_groups = true,
    .unfit = hybrid_unfit,
    .worker = &trib_hybrid_worker_verbs,
};
