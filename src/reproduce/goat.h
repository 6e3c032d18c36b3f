/* SPDX-License-Identifier: Apache-2.0 */
/* goat.h: GOAT (Fang et al., IWQoS'23), as far as the slides of it say: where parts of a model are summed, and how many
 * bytes travel how far. Read next: plan/goat.h (the problem and its planners), goat_draw.c, goat.c (experiments). */
#ifndef TRIB_REPRODUCE_GOAT_H
#define TRIB_REPRODUCE_GOAT_H

#include "plan/goat.h"
#include "reproduce/reproduce.h"
#include "sim/network/topology.h"

#define GOAT_MB UINT64_C(1000000)

/* A job on a network, with its hosts and switches drawn at random. */
struct goat_case {
    const char *name;
    const struct sim_topology *network;
    uint32_t workers;
    uint32_t switches; /* that add; 0: all of the network */
    uint32_t gradients;
    uint64_t gradient_bytes;
    uint64_t memory;    /* bytes of each switch */
    uint32_t hops_less; /* 1: hops as the authors' script counts them, one fewer than links */
};

extern const struct sim_topology goat_leaf_spine; /* 10 spines, 10 leaves of 5 hosts */
extern const struct sim_topology goat_fat_tree_4;
extern const struct sim_topology goat_fat_tree_8;

/* A seed's draw of the case. False: out of memory. */
bool goat_draw(const struct goat_case *c, uint64_t seed, struct trib_goat *problem);

#endif
