/* SPDX-License-Identifier: Apache-2.0 */
/* planned.c: see planned.h. */
#include "sim/jobs/planned.h"

#include <stdlib.h>

#include "core/prng.h"
#include "io/explain.h"
#include "published/published.h"
#include "schemes/schemes.h"
#include "sim/jobs/tree.h"

#define GOLDEN UINT32_C(0x9e3779b1) /* 2^32 x 0.618: its multiples are evenly spread at every count */

bool sim_planned_fits(const char *name)
{
    const struct trib_scheme *scheme = trib_published_find(name);

    return scheme != NULL && scheme->switch_node != NULL && !scheme->has_servers && !trib_scheme_names_quorum(name);
}

uint64_t sim_planned_endpoints(const struct sim_planned *planned, uint32_t workers)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < planned->count; i++) {
        count += workers + planned->trees[i].hop_count + 1U;
    }
    return count;
}

/* ---- bundles ---- */

uint32_t sim__planned_pick(const struct sim_jobs *j, const struct sim_endpoint *e, uint32_t bundle, uint64_t sequence)
{
    const struct sim_bundle *b = &j->bundles->list[bundle];
    const struct sim_lane *lane = &j->bundles->lanes[b->lane];
    const struct sim_planned *planned = j->jobs[e->job].config.planned;

    if (b->count > 1) {
        uint64_t index = sequence * planned->trees[e->tree].weight / planned->weights; /* within the root's sequences */
        uint32_t place = (uint32_t)((uint64_t)((uint32_t)index * GOLDEN) * lane[b->count - 1].below >> 32);
        while (place >= lane->below) {
            lane++;
        }
    }
    return lane->step;
}

bool sim__planned_spreads(const struct sim_planned *planned)
{
    for (uint32_t tree = 0; planned != NULL && tree < planned->count; tree++) {
        for (uint32_t i = 0; i < planned->trees[tree].hop_count; i++) {
            if (planned->trees[tree].hops[i].path_count > 1) {
                return true;
            }
        }
    }
    return false;
}

uint32_t sim__planned_step(const struct sim_jobs *j, uint32_t bundle, uint32_t place)
{
    uint32_t step = j->bundles->lanes[j->bundles->list[bundle].lane].step;

    while (j->network->fabric.from[j->bundles->steps[step]] != place) {
        step++;
    }
    return step;
}

void sim__planned_free(struct sim_bundles *bundles)
{
    if (bundles != NULL) {
        free(bundles->list);
        free(bundles->lanes);
        free(bundles->steps);
        free(bundles);
    }
}

/* Returns the list with room for one more item of this size; NULL: out of memory. */
static void *with_room(void *list, uint32_t count, uint32_t *room, size_t size)
{
    if (count == *room) {
        *room = 2 * *room + 256;
        return realloc(list, *room * size);
    }
    return list;
}

/* False: out of memory; the list is unchanged. */
static bool add_step(struct sim_bundles *b, uint32_t link)
{
    uint32_t *steps = with_room(b->steps, b->step_count, &b->step_room, sizeof *steps);

    if (steps != NULL) {
        b->steps = steps;
        b->steps[b->step_count++] = link;
    }
    return steps != NULL;
}

static bool add_lane(struct sim_bundles *b, uint32_t weight)
{
    struct sim_bundle *bundle = &b->list[b->count - 1];
    struct sim_lane *lanes = with_room(b->lanes, b->lane_count, &b->lane_room, sizeof *lanes);

    if (lanes != NULL) {
        b->lanes = lanes;
        uint32_t before = bundle->count != 0 ? lanes[b->lane_count - 1].below : 0;
        b->lanes[b->lane_count++] = (struct sim_lane){b->step_count, before + weight};
        bundle->count++;
    }
    return lanes != NULL;
}

static bool add_bundle(struct sim_bundles *b)
{
    struct sim_bundle *list = with_room(b->list, b->count, &b->room, sizeof *list);

    if (list != NULL) {
        b->list = list;
        b->list[b->count++] = (struct sim_bundle){.lane = b->lane_count};
    }
    return list != NULL;
}

/* Adds a path from the endpoint up. A worker's path begins with its host's cable. path: NULL if it ends there. */
static bool add_up(struct sim_jobs *j, const struct sim_endpoint *e, const struct sim_planned_tree *tree,
                   const struct sim_planned_path *path)
{
    struct sim_bundles *b = j->bundles;
    bool is_good = !e->is_worker || add_step(b, sim_network_host_link(e->place));

    for (uint32_t i = 0; is_good && path != NULL && i < path->count; i++) {
        is_good = add_step(b, tree->links[path->first + i]);
    }
    return is_good && add_step(b, SIM_NONE);
}

/* Adds the reverse path. */
static bool add_down(struct sim_jobs *j, const struct sim_endpoint *e, const struct sim_planned_tree *tree,
                     const struct sim_planned_path *path)
{
    struct sim_bundles *b = j->bundles;
    const uint32_t *opposite = j->network->fabric.opposite;
    bool is_good = true;

    for (uint32_t i = path != NULL ? path->count : 0; is_good && i-- > 0;) {
        is_good = add_step(b, opposite[tree->links[path->first + i]]);
    }
    return is_good && (!e->is_worker || add_step(b, opposite[sim_network_host_link(e->place)])) &&
           add_step(b, SIM_NONE);
}

/* Draws a path by weight. */
static const struct sim_planned_path *draw(const struct sim_planned_tree *tree, const struct sim_planned_hop *hop,
                                           struct trib_prng *prng)
{
    const struct sim_planned_path *path = &tree->paths[hop->first_path];
    uint64_t all = 0;

    for (uint32_t i = 0; i < hop->path_count; i++) {
        all += path[i].weight;
    }
    uint64_t place = trib_prng_below(prng, all);
    while (place >= path->weight) {
        place -= path->weight;
        path++;
    }
    return path;
}

/* Adds the bundles of an endpoint with streams over this hop. hop: NULL if the parent is the switch of the endpoint's
 * host. */
static bool add_bundles(struct sim_jobs *j, struct sim_endpoint *e, const struct sim_planned_tree *tree,
                        const struct sim_planned_hop *hop)
{
    struct trib_prng prng = {.state = trib_mix64(j->jobs[e->job].session.salt + (uint64_t)(e - j->endpoints))};
    uint32_t paths = hop == NULL ? 1 : hop->ports != 0 ? hop->ports : hop->path_count;

    for (uint32_t way = 0; way < 2; way++) {
        bool is_good = add_bundle(j->bundles);
        for (uint32_t i = 0; is_good && i < paths; i++) {
            const struct sim_planned_path *path = hop == NULL       ? NULL
                                                  : hop->ports != 0 ? draw(tree, hop, &prng)
                                                                    : &tree->paths[hop->first_path + i];
            uint32_t weight = hop == NULL || hop->ports != 0 ? 1 : path->weight;
            is_good =
                add_lane(j->bundles, weight) && (way == 0 ? add_up(j, e, tree, path) : add_down(j, e, tree, path));
        }
        if (!is_good) {
            return false;
        }
    }
    e->up = j->bundles->count - 2;
    e->down = j->bundles->count - 1;
    return true;
}

/* ---- switches ---- */

/* Returns the hop that begins at this place; NULL: none. */
static const struct sim_planned_hop *find_hop(const struct sim_planned_tree *tree, uint32_t from)
{
    for (uint32_t i = 0; i < tree->hop_count; i++) {
        if (tree->hops[i].from == from) {
            return &tree->hops[i];
        }
    }
    return NULL;
}

static uint32_t find_node(const struct sim_jobs *j, uint32_t first, uint32_t place)
{
    for (uint32_t i = first; i < j->endpoint_count; i++) {
        if (j->endpoints[i].place == place) {
            return i;
        }
    }
    return SIM_NONE;
}

/* Adds the missing part of a worker's path to the root. first: the tree's first switch. */
static bool place_rank(struct sim_jobs *j, const struct sim_job *job, uint32_t child, uint32_t first, char *error)
{
    uint32_t number = j->endpoints[child].tree;
    const struct sim_planned_tree *tree = &job->config.planned->trees[number];

    for (bool is_there = false; !is_there;) {
        struct sim_endpoint *e = &j->endpoints[child];
        uint32_t leaf = e->is_worker ? j->network->links[sim_network_host_link(e->place)].to : e->place;
        const struct sim_planned_hop *hop = find_hop(tree, leaf);
        if (e->is_worker && (leaf == tree->root || (hop != NULL && hop->adds))) {
            hop = NULL;
        } else if (hop == NULL) {
            trib_explain(error, "a worker is on a switch that the job's trees do not have");
            return false;
        }
        uint32_t place = hop != NULL ? hop->to : leaf;
        uint32_t parent = find_node(j, first, place);
        is_there = parent != SIM_NONE || place == tree->root;
        parent = parent != SIM_NONE ? parent : sim__jobs_node(j, job, number, place);
        if (!sim__jobs_join(j, child, parent, error)) {
            return false;
        }
        if (!add_bundles(j, &j->endpoints[child], tree, hop)) {
            trib_explain(error, "out of memory");
            return false;
        }
        child = parent;
    }
    return true;
}

bool sim__planned_trees(struct sim_jobs *j, struct sim_job *job, char *error)
{
    const struct sim_planned *planned = job->config.planned;

    j->bundles = j->bundles != NULL ? j->bundles : calloc(1, sizeof *j->bundles);
    if (j->bundles == NULL) {
        trib_explain(error, "out of memory");
        return false;
    }
    job->trees = planned->count;
    for (uint32_t tree = 0; tree < planned->count; tree++) {
        job->roots[tree] = planned->trees[tree].root;
        job->session.weight[tree] = planned->trees[tree].weight;
    }
    sim__jobs_workers_in_trees(j, job);
    for (uint32_t tree = 0; tree < planned->count; tree++) {
        uint32_t first = j->endpoint_count;
        for (uint32_t rank = 0; rank < job->config.workers; rank++) {
            if (!place_rank(j, job, job->first + tree * job->config.workers + rank, first, error)) {
                return false;
            }
        }
    }
    return true;
}
