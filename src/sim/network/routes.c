/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c: routes of networks that are no trees, or have cut cables: tables of shortest paths, by breadth-first search
 * from every switch with hosts. Read next: network.h (sim_network_route), failures.c. */
#include <stdlib.h>
#include <string.h>

#include "sim/network/network.h"

#define WAYS_MAX 255U
#define CHOICES_MAX (UINT32_C(1) << 24)
#define KNOWN_BITS 20U

struct search {
    struct sim_network *n;
    uint32_t *hops; /* by node: hops to the target switch */
    uint32_t *order;
    /* By hash of the choices: the newest such table entry; 0: none. Many entries are equal and share choices. */
    uint32_t *known;
    uint32_t choice_count;
    uint32_t choice_room;
    uint32_t cut; /* a cut link; SIM_NONE: none */
};

static bool add_choice(struct search *s, uint32_t link)
{
    if (s->choice_count == CHOICES_MAX) {
        s->n->is_full = true;
        return false;
    }
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

/* Returns the table entry for the choices added since `first`, or an equal earlier entry. */
static uint32_t entry_of(struct search *s, uint32_t first)
{
    uint32_t count = s->choice_count - first;
    const uint32_t *choices = s->n->choices;
    uint32_t hash = count;

    for (uint32_t i = first; i < s->choice_count; i++) {
        hash = (hash ^ choices[i]) * 0x9e3779b1U;
    }
    uint32_t *known = &s->known[hash >> (32 - KNOWN_BITS)];
    if ((*known & 0xff) == count && memcmp(choices + (*known >> 8), choices + first, count * sizeof *choices) == 0) {
        s->choice_count = first;
        return *known;
    }
    return *known = first << 8 | count;
}

/* Returns the k-th host of a switch; SIM_NONE: the switch has fewer. A switch's links to hosts come first. */
static uint32_t host_of(const struct sim_network *n, uint32_t place, uint32_t k)
{
    uint32_t at = n->fabric.first[place] + k;
    uint32_t to = at < n->fabric.first[place + 1] ? n->fabric.to[n->fabric.out[at]] : SIM_NONE;

    return to < n->hosts ? to : SIM_NONE;
}

uint32_t sim_network_first_host(const struct sim_network *n, uint32_t place)
{
    return host_of(n, place, 0);
}

/* Lists the paths from a switch to the target, for all hosts of the target. */
static bool list_ways(struct search *s, uint32_t from, uint32_t target)
{
    struct sim_network *n = s->n;
    const struct trib_fabric *f = &n->fabric;
    uint32_t first = s->choice_count;

    for (uint32_t i = f->first[from]; i < f->first[from + 1]; i++) {
        if (trib_fabric_leads(f, s->hops, target, f->out[i]) && s->choice_count - first < WAYS_MAX &&
            !add_choice(s, f->out[i])) {
            return false;
        }
    }
    if (s->choice_count == first && !add_choice(s, s->cut)) {
        return false;
    }
    uint32_t entry = entry_of(s, first);
    for (uint32_t k = 0, host; (host = host_of(n, target, k)) != SIM_NONE; k++) {
        n->table[n->routes[from].table + host] = entry;
    }
    return true;
}

static bool search_to(struct search *s, uint32_t target)
{
    struct sim_network *n = s->n;

    (void)trib_fabric_measure(&n->fabric, target, s->hops, s->order);
    for (uint32_t from = n->hosts; from < n->nodes; from++) {
        TRIB_ASSERT(s->hops[from] != TRIB_NO_WAY || s->cut != SIM_NONE);
        if (from != target && !list_ways(s, from, target)) {
            return false;
        }
    }
    for (uint32_t k = 0, host; (host = host_of(n, target, k)) != SIM_NONE; k++) {
        n->table[n->routes[target].table + host] = s->choice_count << 8 | 1;
        if (!add_choice(s, n->hosts + host)) {
            return false;
        }
    }
    return true;
}

/* Returns a cut link, if possible one of a host. Packets to unreachable hosts are lost there. */
static uint32_t find_cut(const struct sim_network *n)
{
    uint32_t cut = SIM_NONE;

    for (uint32_t i = n->hosts; i < n->link_count; i++) {
        cut = sim_link_is_cut(n, i) && (cut == SIM_NONE || cut >= 2 * n->hosts || i < 2 * n->hosts) ? i : cut;
    }
    return cut;
}

bool sim_network_search_routes(struct sim_network *n)
{
    struct search s = {.n = n, .cut = find_cut(n)};
    uint32_t switches = n->nodes - n->hosts;

    free(n->table);
    free(n->choices);
    n->choices = NULL;
    n->table = calloc((size_t)switches * n->hosts, sizeof *n->table);
    s.hops = malloc(n->nodes * sizeof *s.hops);
    s.order = malloc(n->nodes * sizeof *s.order);
    s.known = calloc((size_t)1 << KNOWN_BITS, sizeof *s.known);
    bool is_good = n->table != NULL && s.hops != NULL && s.order != NULL && s.known != NULL;
    for (uint32_t i = 0; i < switches; i++) {
        n->routes[n->hosts + i].table = i * n->hosts;
    }
    for (uint32_t target = n->hosts; is_good && target < n->nodes; target++) {
        is_good = host_of(n, target, 0) == SIM_NONE || search_to(&s, target);
    }
    free(s.hops);
    free(s.order);
    free(s.known);
    return is_good;
}
