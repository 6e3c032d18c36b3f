/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c: routes of networks that are no trees, or are not whole: tables of shortest ways, by breadth-first search
 * from every switch that has hosts. Read next: network.h (sim_network_route), failures.c. */
#include <stdlib.h>
#include <string.h>

#include "sim/network/network.h"

#define WAYS_MAX 255U
#define CHOICES_MAX (UINT32_C(1) << 24)

struct search {
    struct sim_network *n;
    uint32_t *distance; /* by switch, to the one that is searched from */
    uint32_t *queue;
    uint32_t *first_out; /* by switch: where its links to other switches begin in `out`; one more at the end */
    uint32_t *out;
    uint32_t *first_host; /* likewise its hosts */
    uint32_t *hosts;
    uint32_t *last; /* by switch: the table's entry that was made for it last: many are the same */
    uint32_t switches;
    uint32_t choice_count;
    uint32_t choice_room;
    uint32_t cut; /* a link that is cut; SIM_NONE: none is */
};

static uint32_t switch_of(const struct sim_network *n, uint32_t host)
{
    return n->links[sim_network_host_link(host)].to - n->hosts;
}

/* Sorts the numbers of links, or hosts, by their switch, each switch's in their order. */
static void list_by_switch(struct search *s)
{
    const struct sim_network *n = s->n;

    for (uint32_t i = 2 * n->hosts; i < n->link_count; i++) {
        s->first_out[n->from[i] - n->hosts + 1]++;
        s->cut = sim_link_is_cut(n, i) ? i : s->cut;
    }
    for (uint32_t host = 0; host < n->hosts; host++) {
        s->first_host[switch_of(n, host) + 1]++;
        s->cut = sim_link_is_cut(n, n->hosts + host) ? n->hosts + host : s->cut;
    }
    for (uint32_t i = 0; i < s->switches; i++) {
        s->first_out[i + 1] += s->first_out[i];
        s->first_host[i + 1] += s->first_host[i];
    }
    uint32_t *at = s->queue;
    memcpy(at, s->first_out, s->switches * sizeof *at);
    for (uint32_t i = 2 * n->hosts; i < n->link_count; i++) {
        s->out[at[n->from[i] - n->hosts]++] = i;
    }
    memcpy(at, s->first_host, s->switches * sizeof *at);
    for (uint32_t host = 0; host < n->hosts; host++) {
        s->hosts[at[switch_of(n, host)]++] = host;
    }
}

/* A cable is cut in both directions, so that distances are the same both ways. */
static void measure(struct search *s, uint32_t target)
{
    const struct sim_network *n = s->n;
    uint32_t count = 0;

    memset(s->distance, 0xff, s->switches * sizeof *s->distance);
    s->distance[target] = 0;
    s->queue[count++] = target;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t from = s->queue[at];
        for (uint32_t i = s->first_out[from]; i < s->first_out[from + 1]; i++) {
            uint32_t to = n->links[s->out[i]].to - n->hosts;
            if (s->distance[to] == SIM_NONE && !sim_link_is_cut(n, s->out[i])) {
                s->distance[to] = s->distance[from] + 1;
                s->queue[count++] = to;
            }
        }
    }
}

static bool add_choice(struct search *s, uint32_t link)
{
    if (s->choice_count == CHOICES_MAX) {
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

/* What was added from `first` on, as a table says it; or what said the same before. */
static uint32_t entry_of(struct search *s, uint32_t from, uint32_t first)
{
    uint32_t count = s->choice_count - first;
    const uint32_t *choices = s->n->choices;

    if ((s->last[from] & 0xff) == count &&
        memcmp(choices + (s->last[from] >> 8), choices + first, count * sizeof *choices) == 0) {
        s->choice_count = first;
        return s->last[from];
    }
    return s->last[from] = first << 8 | count;
}

/* The ways from a switch to the target, for all of the target's hosts. */
static bool list_ways(struct search *s, uint32_t from, uint32_t target)
{
    struct sim_network *n = s->n;
    uint32_t first = s->choice_count;

    for (uint32_t i = s->first_out[from]; i < s->first_out[from + 1]; i++) {
        uint32_t link = s->out[i];
        bool is_way = s->distance[from] != SIM_NONE && !sim_link_is_cut(n, link) &&
                      s->distance[n->links[link].to - n->hosts] + 1 == s->distance[from];
        if (is_way && s->choice_count - first < WAYS_MAX && !add_choice(s, link)) {
            return false;
        }
    }
    if (s->choice_count == first && !add_choice(s, s->cut)) {
        return false;
    }
    uint32_t entry = entry_of(s, from, first);
    for (uint32_t i = s->first_host[target]; i < s->first_host[target + 1]; i++) {
        n->table[(size_t)from * n->hosts + s->hosts[i]] = entry;
    }
    return true;
}

static bool search_to(struct search *s, uint32_t target)
{
    struct sim_network *n = s->n;

    measure(s, target);
    for (uint32_t from = 0; from < s->switches; from++) {
        TRIB_ASSERT(s->distance[from] != SIM_NONE || s->cut != SIM_NONE);
        if (from != target && !list_ways(s, from, target)) {
            return false;
        }
    }
    for (uint32_t i = s->first_host[target]; i < s->first_host[target + 1]; i++) {
        n->table[(size_t)target * n->hosts + s->hosts[i]] = s->choice_count << 8 | 1;
        if (!add_choice(s, n->hosts + s->hosts[i])) {
            return false;
        }
    }
    return true;
}

static bool take_memory(struct search *s)
{
    const struct sim_network *n = s->n;

    s->distance = malloc(s->switches * sizeof *s->distance);
    s->queue = malloc(s->switches * sizeof *s->queue);
    s->first_out = calloc(s->switches + 1, sizeof *s->first_out);
    s->first_host = calloc(s->switches + 1, sizeof *s->first_host);
    s->out = malloc((n->link_count + 1) * sizeof *s->out);
    s->hosts = malloc(n->hosts * sizeof *s->hosts);
    s->last = calloc(s->switches, sizeof *s->last);
    return s->distance != NULL && s->queue != NULL && s->first_out != NULL && s->first_host != NULL && s->out != NULL &&
           s->hosts != NULL && s->last != NULL;
}

bool sim_network_search_routes(struct sim_network *n)
{
    struct search s = {.n = n, .switches = n->nodes - n->hosts, .cut = SIM_NONE};

    free(n->table);
    free(n->choices);
    n->choices = NULL;
    n->table = calloc((size_t)s.switches * n->hosts, sizeof *n->table);
    bool is_good = take_memory(&s) && n->table != NULL;
    if (is_good) {
        list_by_switch(&s);
    }
    for (uint32_t i = 0; is_good && i < s.switches; i++) {
        n->routes[n->hosts + i].table = i * n->hosts;
        is_good = s.first_host[i] == s.first_host[i + 1] || search_to(&s, i);
    }
    free(s.distance);
    free(s.queue);
    free(s.first_out);
    free(s.first_host);
    free(s.out);
    free(s.hosts);
    free(s.last);
    return is_good;
}
