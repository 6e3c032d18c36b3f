/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c: where the switches of a job's tree are: see jobs.h. Read next: jobs.c (who drives them). */
#include <stdlib.h>

#include "io/explain.h"
#include "sim/jobs/jobs.h"

uint32_t sim__jobs_endpoint(struct sim_jobs *j, const struct sim_endpoint *endpoint)
{
    TRIB_ASSERT(j->endpoint_count < j->endpoint_room);
    j->endpoints[j->endpoint_count] = *endpoint;
    return j->endpoint_count++;
}

/* The link up: all take the same of their ways up, so that those of one pod, and then all, meet. */
uint32_t sim__jobs_next_up(const struct sim_network *n, uint32_t place, uint32_t job)
{
    const struct sim_route *route = &n->routes[place];

    return place < n->hosts  ? sim_network_host_link(place)
           : route->ups == 0 ? SIM_NONE /* the top, or no tree */
                             : route->up + job % route->ups;
}

uint32_t sim__jobs_next_down(const struct sim_network *n, uint32_t place, const struct sim_endpoint *to)
{
    const struct sim_route *route = &n->routes[place];
    uint32_t host = to->place < n->hosts ? to->place : n->routes[to->place].first;

    /* Where the network is no tree, all are on one switch. */
    return route->magic == 0 ? n->hosts + host : sim_route_down(route, host);
}

/* The switch above this one in the tree; SIM_NONE: there is none. */
static uint32_t above(const struct sim_network *n, uint32_t place, uint32_t job)
{
    uint32_t link = sim__jobs_next_up(n, place, job);

    return link == SIM_NONE ? SIM_NONE : n->links[link].to;
}

static bool may_add(const struct sim_jobs *j, uint32_t place)
{
    return j->adds == NULL || j->adds[place] != 0;
}

/* How many levels of switches there must be so that all workers meet, at one that adds; 0: they never do. */
static uint32_t count_levels(const struct sim_jobs *j, const struct sim_job *job, uint32_t choice)
{
    for (uint32_t levels = 1;; levels++) {
        uint32_t first = SIM_NONE;
        bool is_one = true;
        for (uint32_t rank = 0; rank < job->config.workers; rank++) {
            uint32_t place = j->endpoints[job->first + rank].place;
            for (uint32_t i = 0; i < levels && place != SIM_NONE; i++) {
                place = above(j->network, place, choice);
            }
            if (place == SIM_NONE) {
                return 0;
            }
            first = rank == 0 ? place : first;
            is_one = is_one && place == first;
        }
        if (is_one && may_add(j, first)) {
            return levels;
        }
    }
}

static uint32_t find_switch(const struct sim_jobs *j, const struct sim_job *job, uint32_t place)
{
    for (uint32_t i = job->first + job->config.workers; i < j->endpoint_count; i++) {
        if (j->endpoints[i].place == place) {
            return i;
        }
    }
    return SIM_NONE;
}

static bool adopt(struct sim_jobs *j, uint32_t child, uint32_t parent, char *error)
{
    struct sim_endpoint *c = &j->endpoints[child];
    struct sim_endpoint *p = &j->endpoints[parent];

    if (p->children == TRIB_CHILDREN_MAX) {
        trib_explain(error, "more than %d workers or switches below one switch of its tree", TRIB_CHILDREN_MAX);
        return false;
    }
    c->parent = parent;
    c->child = p->children++;
    c->up = sim__jobs_next_up(j->network, c->place, c->job);
    c->down = sim__jobs_next_down(j->network, p->place, c);
    c->sibling = SIM_NONE;
    c->is_branch = !c->is_worker;
    p->branches |= (uint64_t)c->is_branch << c->child;
    if (p->first_child == SIM_NONE) {
        p->first_child = child;
    } else {
        j->endpoints[p->last_child].sibling = child;
    }
    p->last_child = child;
    return true;
}

bool sim__jobs_tree(struct sim_jobs *j, struct sim_job *job, char *error)
{
    uint32_t number = (uint32_t)(job - j->jobs);
    uint32_t levels = count_levels(j, job, number);

    if (levels == 0) {
        trib_explain(
            error,
            "no switch%s is above all of the job's workers: a scheme with switches needs a tree, or all on one switch",
            j->adds == NULL ? "" : " that adds");
        return false;
    }
    /* By rank: so children are in the order of their lowest ranks. */
    for (uint32_t rank = 0; rank < job->config.workers; rank++) {
        uint32_t child = job->first + rank;
        uint32_t place = j->endpoints[child].place;
        for (uint32_t level = 0; level < levels; level++) {
            place = above(j->network, place, number);
            if (!may_add(j, place)) {
                continue;
            }
            uint32_t parent = find_switch(j, job, place);
            bool is_new = parent == SIM_NONE;
            if (is_new) {
                parent = sim__jobs_endpoint(j, &(struct sim_endpoint){
                                                   .job = (uint16_t)number,
                                                   .place = (uint16_t)place,
                                                   .parent = SIM_NONE,
                                                   .first_child = SIM_NONE,
                                                   .last_child = SIM_NONE,
                                                   .sibling = SIM_NONE,
                                               });
            }
            if (!adopt(j, child, parent, error)) {
                return false;
            }
            if (!is_new) {
                break; /* the rest of the way is there */
            }
            child = parent;
        }
    }
    return true;
}
