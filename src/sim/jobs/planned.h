/* SPDX-License-Identifier: Apache-2.0 */
/* planned.h: jobs with trees, paths and rates from a plan (plan/simulated.h), instead of trees chosen by load (tree.c).
 *
 * A tree is a list of hops. A hop leads from a switch that has workers or adds to the next switch that adds. Packets of
 * a hop are distributed over its paths by weight. A bundle is the set of paths from an endpoint to its parent, or back.
 * A step is an index in the list of all paths' links; a packet under way holds the step of its current link.
 *
 * Read next: planned.c, jobs.c. */
#ifndef TRIB_SIM_PLANNED_H
#define TRIB_SIM_PLANNED_H

#include "sim/jobs/state.h"

struct sim_planned_path {
    uint32_t weight; /* at least 1 */
    uint32_t first;  /* index in the tree's links */
    uint32_t count;
};

struct sim_planned_hop {
    uint32_t from; /* network nodes */
    uint32_t to;
    /* True: one stream, the sum of all inputs. False: one stream per worker at `from`. */
    bool adds;
    /* Ports of a stream, each with one path, drawn by weight. 0: all paths, in exact proportion. */
    uint32_t ports;
    uint32_t first_path;
    uint32_t path_count;
};

struct sim_planned_tree {
    uint32_t root; /* network node */
    uint8_t weight;
    bool is_multicast; /* each hop has one path, and results are copied where paths part */
    uint32_t hop_count;
    struct sim_planned_hop *hops;
    struct sim_planned_path *paths;
    uint32_t *links;
};

struct sim_planned {
    /* Rate of each worker, headers included. 0: as much as windows allow. */
    uint64_t rate_bps;
    uint32_t count;
    uint32_t weights; /* sum of the trees' weights */
    struct sim_planned_tree trees[TRIB_ROOTS_MAX];
};

/* A path of a bundle, with its first step. */
struct sim_lane {
    uint32_t step;
    uint32_t below; /* sum of weights up to and including this path */
};

struct sim_bundle {
    uint32_t lane; /* first lane */
    uint32_t count;
};

struct sim_bundles {
    struct sim_bundle *list;
    struct sim_lane *lanes;
    uint32_t *steps; /* links; SIM_NONE after each path's last link */
    uint32_t count, lane_count, step_count;
    uint32_t room, lane_room, step_room;
};

/* True if jobs of this scheme can be planned: sums are of all ranks, and switches of trees add. */
bool sim_planned_fits(const char *scheme);
/* Returns the most endpoints of a planned job. */
uint64_t sim_planned_endpoints(const struct sim_planned *planned, uint32_t workers);
/* Places the job's switches after its workers. False: error says why the plan is impossible. */
bool sim__planned_trees(struct sim_jobs *j, struct sim_job *job, char *error);
void sim__planned_free(struct sim_bundles *bundles); /* NULL: no effect */
/* Returns the first step for a packet. Packets of one sequence take one path, so none overtakes another. */
uint32_t sim__planned_pick(const struct sim_jobs *j, const struct sim_endpoint *e, uint32_t bundle, uint64_t sequence);
/* True if a stream of the job takes several paths, so that packets can arrive out of order. planned: may be NULL. */
bool sim__planned_spreads(const struct sim_planned *planned);
/* Returns the step that begins at this place, in a bundle with one path. */
uint32_t sim__planned_step(const struct sim_jobs *j, uint32_t bundle, uint32_t place);
static inline uint32_t sim__planned_link(const struct sim_jobs *j, uint32_t step)
{
    return j->bundles->steps[step];
}

#endif
