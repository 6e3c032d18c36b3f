/* SPDX-License-Identifier: Apache-2.0 */
/* goat.h: GOAT (Fang et al., IWQoS'23), as far as its slides go: placement of a model's sums, and bytes x hops. Read
 * next: plan/goat.h (the problem and its planners), goat_draw.c, goat.c (experiments). */
#ifndef TRIB_REPRODUCE_GOAT_H
#define TRIB_REPRODUCE_GOAT_H

#include "plan/goat.h"
#include "reproduce/reproduce.h"
#include "sim/network/topology.h"

#define GOAT_MB UINT64_C(1000000)
#define GOAT_SEEDS 40U

/* A job on a network, with its hosts and switches drawn at random. */
struct goat_case {
    const char *name;
    const struct sim_topology *network;
    uint32_t workers;
    uint32_t switches; /* switches that add; 0: all */
    uint32_t gradients;
    uint32_t hops_less; /* 1: counts hops like the authors' script, one fewer than links */
    uint64_t gradient_bytes;
    uint64_t memory; /* of each switch */
};

extern const struct sim_topology goat_leaf_spine; /* 10 spines, 10 leaves of 5 hosts */
extern const struct sim_topology goat_fat_tree_4;
extern const struct sim_topology goat_fat_tree_8;

/* Draws the case by a seed. False: out of memory. */
bool goat_draw(const struct goat_case *c, uint64_t seed, struct trib_goat *problem);

/* Numbers of a plan. Sizes in bytes, cost in bytes x hops. */
struct goat_result {
    double cost;
    double server_bytes;
    double placed_bytes; /* buffered by switches */
    double excess_bytes; /* part of placed_bytes beyond the switches' memory */
};

/* Plans by this rule. False: run->is_out_of_memory, or run->error. */
bool goat_plan(struct reproduce_run *run, const struct trib_goat *problem, const char *rule,
               const struct trib_goat_options *options, struct goat_result *result);
/* Computes the mean of GOAT_SEEDS draws of the case. late: share of late workers. False: as goat_plan. */
bool goat_mean(struct reproduce_run *run, const struct goat_case *c, const char *rule, double late,
               struct goat_result *mean);

bool goat_memory(struct reproduce_run *run);
bool goat_example(struct reproduce_run *run);
bool goat_ps(struct reproduce_run *run);
bool goat_cost(struct reproduce_run *run);
bool goat_dynamics(struct reproduce_run *run);
bool goat_overfill(struct reproduce_run *run);
bool goat_bound(struct reproduce_run *run);
bool goat_packets(struct reproduce_run *run);
bool goat_throughput(struct reproduce_run *run);

#endif
