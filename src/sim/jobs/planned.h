/* SPDX-License-Identifier: Apache-2.0 */
/* planned.h: jobs whose trees, paths and rates are said beforehand, by a plan (plan/simulated.h), instead of chosen by
 * load (tree.c).
 *
 * A tree is a list of hops, from a switch with workers or one that adds to the next that adds. Packets of a hop are
 * dealt over its paths by weight. A bundle is the paths from an endpoint to its parent, or back; a step is a place in
 * the list of all links of paths, and a packet on its way has that of the link that it is on.
 * Read next: planned.c, jobs.c (who sends). */
#ifndef TRIB_SIM_PLANNED_H
#define TRIB_SIM_PLANNED_H

#include "sim/jobs/jobs.h"

struct sim_planned_path {
    uint32_t weight; /* at least 1 */
    uint32_t first;  /* in the tree's links */
    uint32_t count;
};

struct sim_planned_hop {
    uint32_t from; /* network nodes */
    uint32_t to;
    bool adds;      /* one stream, the sum of all that came; else one of each worker at `from` */
    uint32_t ports; /* a stream has so many, each of which takes one path, drawn by weight; 0: all paths, exactly */
    uint32_t first_path;
    uint32_t path_count;
};

struct sim_planned_tree {
    uint32_t root; /* network node */
    uint8_t weight;
    bool is_multicast; /* hops have one path, and results are copied where these part */
    uint32_t hop_count;
    struct sim_planned_hop *hops;
    struct sim_planned_path *paths;
    uint32_t *links;
};

struct sim_planned {
    uint64_t rate_bps; /* of each worker, headers included; 0: as much as windows allow */
    uint32_t count;
    uint32_t weights; /* sum of the trees' weights */
    struct sim_planned_tree trees[TRIB_ROOTS_MAX];
};

/* A link of the list of steps belongs to the path that has it. */
struct sim_lane {
    uint32_t step;
    uint32_t below; /* weights up to this one's end */
};

struct sim_bundle {
    uint32_t lane; /* the first one */
    uint32_t count;
};

struct sim_bundles {
    struct sim_bundle *list;
    struct sim_lane *lanes;
    uint32_t *steps; /* links; SIM_NONE behind each path's last */
    uint32_t count, lane_count, step_count;
    uint32_t room, lane_room, step_room;
};

/* May jobs of this scheme be planned? Their sums are of all ranks, and switches of trees add. */
bool sim_planned_fits(const char *scheme);
/* Endpoints of such a job at most. */
uint64_t sim_planned_endpoints(const struct sim_planned *planned, uint32_t workers);
/* Places the job's switches, behind its workers. False: error says why they cannot be. */
bool sim__planned_trees(struct sim_jobs *j, struct sim_job *job, char *error);
void sim__planned_free(struct sim_bundles *bundles); /* NULL: no effect */
/* The first step of a bundle's packet: those of one sequence take one path, so that none overtakes another. */
uint32_t sim__planned_pick(const struct sim_jobs *j, const struct sim_endpoint *e, uint32_t bundle, uint64_t sequence);
/* Does a stream of the job take several paths, so that packets overtake each other? planned: or NULL. */
bool sim__planned_spreads(const struct sim_planned *planned);
/* The step that begins at this place; of a bundle of one path. */
uint32_t sim__planned_step(const struct sim_jobs *j, uint32_t bundle, uint32_t place);
static inline uint32_t sim__planned_link(const struct sim_jobs *j, uint32_t step)
{
    return j->bundles->steps[step];
}

#endif
