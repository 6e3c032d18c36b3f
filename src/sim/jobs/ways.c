/* SPDX-License-Identifier: Apache-2.0 */
/* ways.c: routing of jobs with nodes anywhere: servers with their combiners, and chains. In trees of switches packets
 * go up over the links of the job's sim_way, and down. In other networks they take the network's routes, with one hash
 * for all packets of a job's tree. Read next: servers.c, chain.c. */
#include "sim/jobs/ways.h"

#include "sim/jobs/tree.h"

uint32_t sim__ways_switch(const struct sim_network *n, uint32_t host)
{
    return n->links[sim_network_host_link(host)].to & SIM_NODE_MASK;
}

/* Tiers are numbered one after the other from the hosts on. A switch with one below it has the same hosts. */
static bool is_below(const struct sim_network *n, uint32_t place, const struct sim_endpoint *to)
{
    const struct sim_route *route = &n->routes[place];
    uint32_t host = to->place < n->hosts ? to->place : n->routes[to->place].first;

    return host - route->first < route->count && to->place < place;
}

/* Returns the next link from a switch in a network that is no tree, by its table. */
static uint32_t next_in_table(const struct sim_network *n, uint32_t place, const struct sim_endpoint *to)
{
    struct sim_packet packet = {
        .to = (to->place < n->hosts ? to->place : sim_network_first_host(n, to->place)) & SIM_NODE_MASK,
        .hash = (uint32_t)trib_mix64((uint64_t)to->job << 8 | to->tree),
    };

    return sim_route_from_table(n, &n->routes[place], &packet);
}

uint32_t sim__ways_next(const struct sim_jobs *j, uint32_t place, const struct sim_endpoint *to)
{
    const struct sim_network *n = j->network;

    if (place < n->hosts) {
        return place == to->place && j->first_loop != SIM_NONE ? j->first_loop + place : sim_network_host_link(place);
    }
    if (n->routes[place].magic == 0) {
        return next_in_table(n, place, to);
    }
    return is_below(n, place, to) ? sim__jobs_next_down(n, place, to)
                                  : sim__jobs_next_up(n, place, &j->jobs[to->job].ways[to->tree]);
}

void sim__ways_choose(const struct sim_jobs *j, struct sim_job *job, uint32_t tree)
{
    const struct sim_network *n = j->network;
    uint32_t number = (uint32_t)(job - j->jobs) + tree;
    uint32_t place = sim__ways_switch(n, j->endpoints[job->first].place);

    for (uint32_t tier = 0; tier < 2; tier++) {
        uint32_t ups = place != SIM_NONE ? n->routes[place].ups : 0;
        job->ways[tree].up[tier] = (uint16_t)(ups != 0 ? number % ups : 0);
        number = ups != 0 ? number / ups : number;
        place = ups != 0 ? n->links[n->routes[place].up].to : SIM_NONE;
    }
}

void sim__ways_find(struct sim_jobs *j, const struct sim_job *job)
{
    for (uint32_t i = job->first; i < j->endpoint_count; i++) {
        struct sim_endpoint *e = &j->endpoints[i];
        if (e->parent != SIM_NONE) {
            e->up = sim__ways_next(j, e->place, &j->endpoints[e->parent]);
            e->down = sim__ways_next(j, j->endpoints[e->parent].place, e);
        }
    }
}
