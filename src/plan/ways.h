/* SPDX-License-Identifier: Apache-2.0 */
/* ways.h: the ways of a job. A way is a tree of paths from the job's leaves to a root that adds; each other switch of
 * it may add or pass on. A way follows the shortest paths to one switch, its apex. The root is the apex if that adds.
 * If the apex does not add, each switch of the tree that adds is the root of its own way, where paths are explicit.
 * Read next: price.h. */
#ifndef TRIB_PLAN_WAYS_H
#define TRIB_PLAN_WAYS_H

#include "plan/jobs.h"
#include "plan/routes.h"

#define PLAN_DEPTH_MAX 15U /* of a way; deeper ones are left out */

struct plan_node {
    uint32_t place;
    uint32_t parent; /* index in the way, lower than this node's index; 0 at the root */
    uint32_t up;     /* link to the parent */
    uint32_t down;   /* link from the parent */
    uint32_t adder;  /* row of its adding */
    uint32_t members;
    bool can_add;
};

struct plan_ways {
    uint32_t count;
    uint32_t *first; /* way i has nodes[first[i]] to nodes[first[i + 1] - 1], its root first */
    struct plan_node *nodes;
    uint32_t way_room, node_room;
};

/* Finds all ways of a job. False: out of memory. Free them in any case. */
bool plan_ways_find(struct plan_ways *ways, const struct plan_routes *routes, const struct plan_job *job);
void plan_ways_free(struct plan_ways *ways);

#endif
