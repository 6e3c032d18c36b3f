/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c: chooses a job's trees and places their switches: see jobs.h. Read next: jobs.c. */
#include "sim/jobs/tree.h"

#include <stdlib.h>

#include "io/explain.h"

uint32_t sim__jobs_endpoint(struct sim_jobs *j, const struct sim_endpoint *endpoint)
{
    TRIB_ASSERT(j->endpoint_count < j->endpoint_room);
    j->endpoints[j->endpoint_count] = *endpoint;
    return j->endpoint_count++;
}

/* Adds an endpoint at a place of the tree, without parent or children. */
uint32_t sim__jobs_node(struct sim_jobs *j, const struct sim_job *job, uint32_t tree, uint32_t place)
{
    return sim__jobs_endpoint(j, &(struct sim_endpoint){
                                     .job = (uint16_t)(job - j->jobs),
                                     .place = place,
                                     .tree = (uint8_t)tree,
                                     .parent = SIM_NONE,
                                     .first_child = SIM_NONE,
                                     .last_child = SIM_NONE,
                                     .sibling = SIM_NONE,
                                 });
}

/* Appends to the parent's children. */
void sim__jobs_adopt(struct sim_jobs *j, uint32_t child, uint32_t parent)
{
    struct sim_endpoint *c = &j->endpoints[child];
    struct sim_endpoint *p = &j->endpoints[parent];

    c->parent = parent;
    c->sibling = SIM_NONE;
    if (p->first_child == SIM_NONE) {
        p->first_child = child;
    } else {
        j->endpoints[p->last_child].sibling = child;
    }
    p->last_child = child;
}

/* Requires the endpoints of the first tree. */
void sim__jobs_workers_in_trees(struct sim_jobs *j, const struct sim_job *job)
{
    for (uint32_t i = job->config.workers; i < job->trees * job->config.workers; i++) {
        struct sim_endpoint e = j->endpoints[job->first + i % job->config.workers];
        e.tree = (uint8_t)(i / job->config.workers);
        (void)sim__jobs_endpoint(j, &e);
    }
}

/* Returns the link up. All switches of a tier take the same one of their links up, so that paths of a pod meet, and
 * then all paths. */
uint32_t sim__jobs_next_up(const struct sim_network *n, uint32_t place, const struct sim_way *way)
{
    const struct sim_route *route = &n->routes[place];

    if (place < n->hosts) {
        return sim_network_host_link(place);
    }
    if (route->ups == 0) { /* top of the tree, or no tree */
        return SIM_NONE;
    }
    return route->up + way->up[n->links[route->down].to >= n->hosts];
}

uint32_t sim__jobs_next_down(const struct sim_network *n, uint32_t place, const struct sim_endpoint *to)
{
    const struct sim_route *route = &n->routes[place];
    uint32_t host = to->place < n->hosts ? to->place : n->routes[to->place].first;

    /* If the network is no tree, all endpoints are on one switch. */
    return route->magic == 0 ? n->hosts + host : sim_route_down(route, host);
}

/* Returns the switch above on the path; SIM_NONE: none. */
static uint32_t above(const struct sim_network *n, uint32_t place, const struct sim_way *way)
{
    uint32_t link = sim__jobs_next_up(n, place, way);

    return link == SIM_NONE ? SIM_NONE : n->links[link].to;
}

static bool may_add(const struct sim_jobs *j, uint32_t place)
{
    return j->adds == NULL || j->adds[place] != 0;
}

/* ---- which trees ---- */

/* A possible tree. */
struct candidate {
    struct sim_way way;
    /* Levels of switches until all workers meet at a switch that adds. 0: they never meet. */
    uint32_t levels;
    uint32_t root; /* network node */
    /* Load of the links. A link counts once for each stream, if the streams have met no switch that adds. */
    struct trib_strain strain;
};

/* State of choosing a job's trees. */
struct choice {
    struct sim_jobs *jobs;
    const struct sim_job *job;
    uint64_t bytes; /* bytes of a tree on a link */
    uint32_t *seen; /* by node: last walk that visited it */
    uint32_t walks;
    uint32_t count;  /* paths from a host to the top */
    uint32_t ups[2]; /* links up of a switch, by tier */
};

/* True if all workers' paths of the candidate go through this place. If the network is no tree, a path ends at the
 * host's switch. */
static bool is_above_all(const struct choice *c, uint32_t place)
{
    const struct sim_network *n = c->jobs->network;
    const struct sim_route *route = &n->routes[place];
    bool is = true;

    for (uint32_t rank = 0; rank < c->job->config.workers && is; rank++) {
        uint32_t host = c->jobs->endpoints[c->job->first + rank].place;
        is = route->magic != 0 ? host - route->first < route->count : above(n, host, NULL) == place;
    }
    return is;
}

/* Finds the root on the first worker's path up. */
static void find_root(const struct choice *c, struct candidate *it)
{
    const struct sim_network *n = c->jobs->network;

    it->levels = 0;
    it->root = c->jobs->endpoints[c->job->first].place;
    for (uint32_t levels = 1; (it->root = above(n, it->root, &it->way)) != SIM_NONE; levels++) {
        if (may_add(c->jobs, it->root) && is_above_all(c, it->root)) {
            it->levels = levels;
            return;
        }
    }
}

/* Adds or, with is_less, subtracts the load of the tree's streams on their links. A worker's stream ends at the first
 * switch that adds; that switch's own stream continues. Hosts' links are equal for all trees. */
static void load(struct choice *c, struct candidate *it, bool is_less)
{
    const struct sim_network *n = c->jobs->network;

    it->strain = (struct trib_strain){0};
    c->walks++;
    for (uint32_t rank = 0; rank < c->job->config.workers; rank++) {
        uint32_t place = above(n, c->jobs->endpoints[c->job->first + rank].place, &it->way);
        for (uint32_t level = 1; level < it->levels; level++) {
            if (may_add(c->jobs, place) && c->seen[place] == c->walks) {
                break; /* the rest of the path is counted */
            }
            c->seen[place] = c->walks;
            uint32_t link = sim__jobs_next_up(n, place, &it->way);
            uint64_t time_ns = sim_port_time(&n->ports[n->links[link].port], c->bytes) / 1000;
            uint64_t *at = &c->jobs->loads[link];
            *at = is_less ? *at - time_ns : *at + time_ns;
            trib_strain_add(&it->strain, *at);
            place = n->links[link].to;
        }
    }
}

/* Prefers the lower tree, then the one with less load on its links. */
static bool is_better(const struct candidate *it, const struct candidate *than)
{
    if (it->levels != than->levels) {
        return than->levels == 0 || it->levels < than->levels;
    }
    return trib_strain_is_less(&it->strain, &than->strain);
}

/* Returns the best candidate with a new root. Jobs begin with different candidates, so equal ones are spread. */
static struct candidate choose_tree(struct choice *c)
{
    struct candidate best = {.levels = 0};

    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t number = ((uint32_t)(c->job - c->jobs->jobs) + i) % c->count;
        uint32_t first = number % c->ups[0];
        struct candidate it = {
            .way = {{(uint16_t)first, (uint16_t)((number / c->ups[0] + first) % c->ups[1])}},
        };
        bool is_new = true;
        find_root(c, &it);
        for (uint32_t tree = 0; tree < c->job->trees; tree++) {
            is_new = is_new && c->job->roots[tree] != it.root;
        }
        if (it.levels == 0 || !is_new) {
            continue;
        }
        load(c, &it, false);
        best = is_better(&it, &best) ? it : best;
        load(c, &(struct candidate){.way = it.way, .levels = it.levels}, true);
    }
    return best;
}

static void count_ups(struct choice *c)
{
    const struct sim_network *n = c->jobs->network;
    uint32_t place = c->jobs->endpoints[c->job->first].place;

    c->count = 1;
    for (uint32_t tier = 0; tier < 2; tier++) {
        place = place != SIM_NONE ? above(n, place, &(struct sim_way){{0, 0}}) : SIM_NONE;
        c->ups[tier] = place != SIM_NONE && n->routes[place].ups != 0 ? n->routes[place].ups : 1;
        c->count *= c->ups[tier];
    }
}

/* Chooses as many trees as configured, or as many as exist. */
static bool choose(struct sim_jobs *j, struct sim_job *job)
{
    struct choice c = {.jobs = j, .job = job, .seen = calloc(j->network->nodes, sizeof *c.seen)};

    if (j->loads == NULL) {
        j->loads = calloc(j->network->link_count, sizeof *j->loads);
    }
    job->trees = 0;
    if (c.seen == NULL || j->loads == NULL) {
        free(c.seen);
        return false;
    }
    c.bytes = job->config.bytes / job->config.trees;
    count_ups(&c);
    while (job->trees < job->config.trees) {
        struct candidate best = choose_tree(&c);
        if (best.levels == 0) {
            break;
        }
        load(&c, &best, false);
        job->roots[job->trees] = best.root;
        job->levels[job->trees] = (uint8_t)best.levels;
        job->ways[job->trees++] = best.way;
    }
    free(c.seen);
    return true;
}

void sim__jobs_unload(struct sim_jobs *j, const struct sim_job *job)
{
    struct choice c = {.jobs = j, .job = job, .seen = calloc(j->network->nodes, sizeof *c.seen)};

    c.bytes = job->config.bytes / job->config.trees;
    for (uint32_t tree = 0; c.seen != NULL && tree < job->trees; tree++) {
        load(&c, &(struct candidate){.way = job->ways[tree], .levels = job->levels[tree]}, true);
    }
    free(c.seen);
}

/* ---- their switches ---- */

/* Finds a switch of a tree. first: the tree's first switch. */
static uint32_t find_switch(const struct sim_jobs *j, uint32_t first, uint32_t place)
{
    for (uint32_t i = first; i < j->endpoint_count; i++) {
        if (j->endpoints[i].place == place) {
            return i;
        }
    }
    return SIM_NONE;
}

bool sim__jobs_join(struct sim_jobs *j, uint32_t child, uint32_t parent, char *error)
{
    struct sim_endpoint *c = &j->endpoints[child];
    struct sim_endpoint *p = &j->endpoints[parent];

    if (p->children == TRIB_CHILDREN_MAX) {
        trib_explain(error, "more than %d workers or switches below one switch of its tree", TRIB_CHILDREN_MAX);
        return false;
    }
    c->child = p->children++;
    c->is_branch = !c->is_worker;
    p->branches |= (uint64_t)c->is_branch << c->child;
    sim__jobs_adopt(j, child, parent);
    return true;
}

static bool adopt(struct sim_jobs *j, uint32_t child, uint32_t parent, char *error)
{
    struct sim_endpoint *c = &j->endpoints[child];

    c->up = sim__jobs_next_up(j->network, c->place, &j->jobs[c->job].ways[c->tree]);
    c->down = sim__jobs_next_down(j->network, j->endpoints[parent].place, c);
    return sim__jobs_join(j, child, parent, error);
}

/* Places all workers' paths to the root, by rank: so children are in the order of their lowest ranks. */
static bool place_tree(struct sim_jobs *j, const struct sim_job *job, uint32_t tree, char *error)
{
    uint32_t first = j->endpoint_count;

    for (uint32_t rank = 0; rank < job->config.workers; rank++) {
        uint32_t child = job->first + tree * job->config.workers + rank;
        bool is_there = false; /* the rest of the path exists */
        while (!is_there) {
            uint32_t place = above(j->network, j->endpoints[child].place, &job->ways[tree]);
            while (!may_add(j, place)) {
                place = above(j->network, place, &job->ways[tree]);
            }
            uint32_t parent = find_switch(j, first, place);
            is_there = parent != SIM_NONE;
            if (!is_there) {
                parent = sim__jobs_node(j, job, tree, place);
            }
            if (!adopt(j, child, parent, error)) {
                return false;
            }
            is_there = is_there || place == job->roots[tree];
            child = parent;
        }
    }
    return true;
}

bool sim__jobs_trees(struct sim_jobs *j, struct sim_job *job, char *error)
{
    trib_explain(error, "out of memory");
    if (!choose(j, job)) {
        return false;
    }
    if (job->trees == 0) {
        trib_explain(
            error,
            "no switch%s is above all of the job's workers: a scheme with switches needs a tree, or all on one switch",
            j->adds == NULL ? "" : " that adds");
        return false;
    }
    sim__jobs_workers_in_trees(j, job);
    for (uint32_t tree = 0; tree < job->trees; tree++) {
        if (!place_tree(j, job, tree, error)) {
            return false;
        }
    }
    return true;
}
