/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h: an aggregation tree of a job: which switches add, which paths streams take between them, and the load on
 * links and adders.
 *
 * A tree is a list of hops. A hop goes from a leaf of the job, which passes on its members' streams, or from a switch
 * that adds, which sends one stream, to the next switch that adds. Its fragments are dealt over its paths by weight.
 * Results go the same paths back. Each child is sent its own result; in a tree with multicast, where hops have one
 * path, a result crosses a link once, and is copied where paths part.
 * Read next: tree.c, price.h. */
#ifndef TRIB_PLAN_TREE_H
#define TRIB_PLAN_TREE_H

#include "plan/jobs.h"
#include "plan/routes.h"

#define PLAN_PATHS_MAX 16U /* of a hop */

struct plan_path {
    uint32_t weight;     /* 1 to 255 */
    uint32_t first_link; /* in the tree's links */
    uint32_t link_count;
};

struct plan_hop {
    uint32_t from; /* places */
    uint32_t to;
    bool adds; /* true: one stream, the sum of all inputs of `from`; false: one stream of each member at `from` */
    uint32_t first_path; /* index in the tree's paths; a hop without paths takes all shortest paths in equal parts */
    uint32_t path_count;
};

/* Amount of a tree on a row, for each stream that a member sends: in PLAN_SHARE. */
struct plan_load {
    uint32_t row;
    uint32_t unused;
    uint64_t amount;
};

struct plan_tree {
    uint32_t job;
    uint32_t root; /* place */
    bool is_multicast;
    uint32_t hop_count;
    struct plan_hop *hops;
    uint32_t path_count;
    struct plan_path *paths;
    uint32_t link_count;
    uint32_t *links;
    uint32_t load_count;
    struct plan_load *loads; /* by row, ascending */
};

/* Memory for finding loads, of one network. */
struct plan_loader {
    const struct plan_routes *routes;
    uint64_t *amount; /* by row */
};

bool plan_loader_init(struct plan_loader *loader, const struct plan_routes *routes);
void plan_loader_free(struct plan_loader *loader);

/* Allocates room for hops, paths and links. False: out of memory. */
bool plan_tree_init(struct plan_tree *tree, uint32_t hops, uint32_t paths, uint32_t links);
void plan_tree_free(struct plan_tree *tree);
/* Appends a hop, which has no path yet. */
void plan_tree_hop(struct plan_tree *tree, uint32_t from, uint32_t to, bool adds);
/* Appends a path to the latest hop. */
void plan_tree_path(struct plan_tree *tree, uint32_t weight, const uint32_t *links, uint32_t link_count);
/* Gives back memory for links that were not appended. */
void plan_tree_trim(struct plan_tree *tree);
/* Finds the loads of a tree. False: out of memory. */
bool plan_tree_load(struct plan_tree *tree, const struct plan_loader *loader, const struct plan_job *job);
/* True if this is a tree of the job and the network keeps its paths. False: error has the cause. */
bool plan_tree_check(const struct plan_tree *tree, const struct plan_routes *routes, const struct plan_job *job,
                     char *error);
/* True if two trees of one job differ in paths alone. Each hop has one path. */
bool plan_tree_is_alike(const struct plan_tree *a, const struct plan_tree *b);
/* True if both trees have the same root and the same switches that add. Hops are ordered by `from`. */
bool plan_tree_has_adders_of(const struct plan_tree *a, const struct plan_tree *b);
/* True if the loads cost at least `price` per stream of a member, exactly. prices: by row. */
bool plan_tree_costs(const struct plan_tree *tree, const int64_t *prices, int64_t price);

#endif
