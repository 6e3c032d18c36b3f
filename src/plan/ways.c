/* SPDX-License-Identifier: Apache-2.0 */
/* ways.c: see ways.h. */
#include "plan/ways.h"

#include <stdlib.h>
#include <string.h>

/* Of one job. Lists by switch, from 0 on. */
struct search {
    struct plan_ways *ways;
    const struct plan_routes *routes;
    uint32_t *members;
    uint32_t *up;     /* link to the parent in the tree at hand; TRIB_NO_LINK: the root, or not in the tree */
    uint32_t *inside; /* switches of the tree at hand */
    uint32_t *queue;  /* likewise, in the order of a way */
    uint32_t *index;  /* in queue */
    uint32_t *child;  /* first child, and the next child of the same parent */
    uint32_t *sibling;
    uint32_t inside_count;
    bool *is_inside;
};

/* ---- lists ---- */

static bool make_room(struct plan_ways *ways, uint32_t nodes)
{
    if (ways->count + 2 > ways->way_room) {
        uint32_t room = 2 * ways->way_room + 16;
        uint32_t *first = realloc(ways->first, room * sizeof *first);
        if (first == NULL) {
            return false;
        }
        first[0] = 0;
        ways->first = first;
        ways->way_room = room;
    }
    uint32_t used = ways->first[ways->count];
    if (used + nodes > ways->node_room) {
        uint32_t room = 2 * ways->node_room + nodes + 256;
        struct plan_node *list = realloc(ways->nodes, room * sizeof *list);
        if (list == NULL) {
            return false;
        }
        ways->nodes = list;
        ways->node_room = room;
    }
    return true;
}

/* ---- one way ---- */

/* Is the tree at hand, with this root, no deeper than ways may be? Fills the queue, parents before children. */
static uint32_t order(struct search *s, uint32_t root)
{
    const struct plan_network *net = s->routes->net;
    const struct trib_fabric *f = &net->fabric;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->inside_count; i++) {
        s->child[s->inside[i]] = TRIB_NO_PLACE;
    }
    for (uint32_t i = s->inside_count; i-- > 0;) {
        uint32_t v = s->inside[i];
        if (v != root) {
            uint32_t parent = f->to[s->up[v]] - net->hosts;
            s->sibling[v] = s->child[parent];
            s->child[parent] = v;
        }
    }
    s->queue[count++] = root;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t v = s->child[s->queue[i]]; v != TRIB_NO_PLACE; v = s->sibling[v]) {
            s->queue[count++] = v;
        }
    }
    return count;
}

/* The tree at hand, with this root, becomes a way, without branches that have no member. */
static bool add_way(struct search *s, uint32_t root)
{
    const struct plan_network *net = s->routes->net;
    const struct trib_fabric *f = &net->fabric;
    struct plan_ways *ways = s->ways;
    uint32_t depth[PLAN_SWITCHES_MAX];
    uint32_t all = order(s, root), kept = 0;
    if (!make_room(ways, all)) {
        return false;
    }
    uint32_t first = ways->first[ways->count];
    for (uint32_t i = all; i-- > 0;) { /* leaves first: index is 1 where there is a member at or below */
        uint32_t v = s->queue[i];
        s->index[v] = s->members[v] > 0;
        for (uint32_t c = s->child[v]; c != TRIB_NO_PLACE; c = s->sibling[c]) {
            s->index[v] |= s->index[c];
        }
    }
    for (uint32_t i = 0; i < all; i++) {
        uint32_t v = s->queue[i];
        if (s->index[v] == 0 && v != root) {
            continue;
        }
        uint32_t parent = v != root ? s->index[f->to[s->up[v]] - net->hosts] : 0;
        depth[kept] = v != root ? depth[parent] + 1 : 0;
        if (depth[kept] > PLAN_DEPTH_MAX) {
            return true; /* left out */
        }
        uint32_t down = v != root ? f->opposite[s->up[v]] : TRIB_NO_LINK, place = net->hosts + v;
        ways->nodes[first + kept] = (struct plan_node){
            place, parent, s->up[v], down, plan_row_of_adder(net, place), s->members[v], plan_adds(net, place)};
        s->index[v] = kept++;
    }
    ways->first[++ways->count] = first + kept;
    return true;
}

/* Turns the path from a switch to the apex around, so that the switch becomes the root; and back again. */
static void turn(struct search *s, uint32_t root)
{
    const struct trib_fabric *f = &s->routes->net->fabric;
    uint32_t back = TRIB_NO_LINK;
    for (uint32_t v = root;;) {
        uint32_t up = s->up[v];
        s->up[v] = back;
        if (up == TRIB_NO_LINK) {
            return;
        }
        back = f->opposite[up];
        v = f->to[up] - s->routes->net->hosts;
    }
}

/* The tree of shortest paths to this switch. False: some member cannot reach it that way. */
static bool grow(struct search *s, const struct plan_job *job, uint32_t apex, bool *is_only)
{
    const struct plan_network *net = s->routes->net;
    const struct trib_fabric *f = &net->fabric;
    *is_only = true;
    s->inside_count = 0;
    memset(s->is_inside, 0, s->routes->count * sizeof *s->is_inside);
    s->is_inside[apex] = true;
    s->up[apex] = TRIB_NO_LINK;
    s->inside[s->inside_count++] = apex;
    for (uint32_t i = 0; i < job->leaf_count; i++) {
        uint32_t v = job->leaves[i].place - net->hosts;
        if (s->routes->hops[plan_pair(s->routes, apex, v)] == UINT16_MAX) {
            return false;
        }
        *is_only = *is_only && s->routes->is_only[plan_pair(s->routes, apex, v)];
        while (!s->is_inside[v]) {
            s->is_inside[v] = true;
            s->inside[s->inside_count++] = v;
            s->up[v] = s->routes->next[plan_pair(s->routes, apex, v)];
            v = f->to[s->up[v]] - net->hosts;
        }
    }
    return true;
}

/* All ways of one apex. */
static bool add_apex(struct search *s, const struct plan_job *job, uint32_t apex)
{
    const struct plan_network *net = s->routes->net;
    bool is_only = false;
    if (!grow(s, job, apex, &is_only) || (!is_only && net->paths != PLAN_EXPLICIT)) {
        return true;
    }
    if (plan_adds(net, net->hosts + apex)) {
        return add_way(s, apex);
    }
    for (uint32_t i = 1; i < s->inside_count && is_only && net->paths == PLAN_EXPLICIT; i++) {
        uint32_t root = s->inside[i];
        if (!plan_adds(net, net->hosts + root)) {
            continue;
        }
        turn(s, root);
        bool is_good = add_way(s, root);
        turn(s, apex);
        if (!is_good) {
            return false;
        }
    }
    return true;
}

bool plan_ways_find(struct plan_ways *ways, const struct plan_routes *routes, const struct plan_job *job)
{
    const uint32_t lists = 7;
    uint32_t count = routes->count;
    uint32_t *all = calloc((size_t)lists * count + 1, sizeof *all);
    bool *is_inside = calloc(count + 1U, sizeof *is_inside);
    *ways = (struct plan_ways){.count = 0};
    struct search s = {.ways = ways, .routes = routes, .is_inside = is_inside};
    uint32_t **const places[] = {&s.members, &s.up, &s.inside, &s.queue, &s.index, &s.child, &s.sibling};
    bool is_good = all != NULL && is_inside != NULL && make_room(ways, 1);
    for (uint32_t i = 0; is_good && i < lists; i++) {
        *places[i] = all + (size_t)i * count;
    }
    for (uint32_t i = 0; is_good && i < job->leaf_count; i++) {
        s.members[job->leaves[i].place - routes->net->hosts] = job->leaves[i].members;
    }
    for (uint32_t apex = 0; is_good && apex < count; apex++) {
        is_good = add_apex(&s, job, apex);
    }
    free(all);
    free(is_inside);
    return is_good;
}

void plan_ways_free(struct plan_ways *ways)
{
    free(ways->first);
    free(ways->nodes);
    *ways = (struct plan_ways){.count = 0};
}
