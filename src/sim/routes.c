/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c: routes of networks that are no trees: tables of shortest ways, by breadth-first search from every switch that has hosts.
 * Read next: network.c (route_of). */
#include <stdlib.h>
#include <string.h>

#include "sim/network.h"

#define WAYS_MAX 255U

struct search {
    struct sim_network *n;
    uint32_t *distance; /* by switch, to the one that is searched from */
    uint32_t *queue;
    uint32_t switches;
    uint32_t choice_count;
    uint32_t choice_room;
    uint32_t unused;
};

/* Links between switches alone; each has its opposite, so that distances are the same both ways. */
static void measure(struct search *s, uint32_t target)
{
    const struct sim_network *n = s->n;
    uint32_t count = 0;

    memset(s->distance, 0xff, s->switches * sizeof *s->distance);
    s->distance[target] = 0;
    s->queue[count++] = target;
    for (uint32_t at = 0; at < count; at++) {
        for (uint32_t i = 2 * n->hosts; i < n->link_count; i++) {
            uint32_t to = n->links[i].to - n->hosts;
            if (n->from[i] - n->hosts == s->queue[at] && s->distance[to] == SIM_NONE) {
                s->distance[to] = s->distance[s->queue[at]] + 1;
                s->queue[count++] = to;
            }
        }
    }
}

static bool add_choice(struct search *s, uint32_t link)
{
    if (s->choice_count == s->choice_room) {
        s->choice_room = s->choice_room == 0 ? 1024 : 2 * s->choice_room;
        uint32_t *larger = realloc(s->n->choices, s->choice_room * sizeof *larger);
        if (larger == NULL) {
            return false;
        }
        s->n->choices = larger;
    }
    s->n->choices[s->choice_count++] = link;
    return true;
}

/* The ways from a switch to the target, for all of the target's hosts. */
static bool list_ways(struct search *s, uint32_t from, uint32_t target)
{
    struct sim_network *n = s->n;
    uint32_t first = s->choice_count;

    for (uint32_t i = 2 * n->hosts; i < n->link_count; i++) {
        bool is_way = n->from[i] - n->hosts == from && s->distance[n->links[i].to - n->hosts] + 1 == s->distance[from];
        if (is_way && s->choice_count - first < WAYS_MAX && !add_choice(s, i)) {
            return false;
        }
    }
    for (uint32_t host = 0; host < n->hosts; host++) {
        if (n->links[sim_network_host_link(host)].to - n->hosts == target) {
            n->table[(size_t)from * n->hosts + host] = first << 8 | (s->choice_count - first);
        }
    }
    return true;
}

static bool search_to(struct search *s, uint32_t target)
{
    struct sim_network *n = s->n;

    measure(s, target);
    for (uint32_t from = 0; from < s->switches; from++) {
        TRIB_ASSERT(s->distance[from] != SIM_NONE);
        if (from != target && !list_ways(s, from, target)) {
            return false;
        }
    }
    for (uint32_t host = 0; host < n->hosts; host++) {
        if (n->links[sim_network_host_link(host)].to - n->hosts == target) {
            n->table[(size_t)target * n->hosts + host] = s->choice_count << 8 | 1;
            if (!add_choice(s, n->hosts + host)) {
                return false;
            }
        }
    }
    return true;
}

bool sim_network_search_routes(struct sim_network *n)
{
    uint32_t switches = n->nodes - n->hosts;
    struct search s = {
        .n = n,
        .switches = switches,
        .distance = malloc(switches * sizeof *s.distance),
        .queue = malloc(switches * sizeof *s.queue),
    };

    free(n->table);
    n->table = calloc((size_t)switches * n->hosts, sizeof *n->table);
    bool is_good = s.distance != NULL && s.queue != NULL && n->table != NULL;
    for (uint32_t i = 0; is_good && i < switches; i++) {
        n->routes[n->hosts + i].table = i * n->hosts;
        is_good = search_to(&s, i);
    }
    free(s.distance);
    free(s.queue);
    return is_good;
}
