/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c: the ring's row of the table of schemes. */
#include "schemes/ring/ring.h"

const struct trib_scheme trib_ring = {
    .name = "ring",
    .guarantee = "every contribution exactly once or an error; sums with the same bits in every run; "
                 "no switch: 2(N-1)/N of the tensor per rank and direction",
    .refusal = "its ranks send to each other, and the control plane does not tell them each other's addresses; "
               "jobs use switchml",
    .worker = &trib_ring_worker_verbs,
};
