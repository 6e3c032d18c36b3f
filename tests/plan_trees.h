/* SPDX-License-Identifier: Apache-2.0 */
/* plan_trees.h: all aggregation trees of a job in a small network: every switch may send on to any neighbour, every
 * switch that can add may add or pass on, and any of them may be the root. What the planner's families are measured
 * against. */
#ifndef TRIB_TESTS_PLAN_TREES_H
#define TRIB_TESTS_PLAN_TREES_H

#include <stdlib.h>
#include <string.h>

#include "plan/master.h"

#define SMALL_SWITCHES 8U

struct every_tree {
    const struct plan_network *net;
    const struct plan_job *job;
    uint32_t job_number;
    const struct plan_loader *loader;
    void (*take)(void *user, struct plan_tree *tree); /* the tree becomes the taker's */
    void *user;
    const bool *is_open; /* by switch: it may add for the job */
    uint32_t root;
    uint32_t next[SMALL_SWITCHES]; /* links; TRIB_NO_LINK: not in the tree */
    bool is_in[SMALL_SWITCHES];
    bool adds[SMALL_SWITCHES];
    uint32_t members[SMALL_SWITCHES];
};

static inline uint32_t every_parent(const struct every_tree *e, uint32_t v)
{
    return e->net->fabric.to[e->next[v]] - e->net->hosts;
}

static inline bool every_may_add(const struct every_tree *e, uint32_t v)
{
    return plan_adds(e->net, e->net->hosts + v) && e->is_open[v];
}

static inline void every_make(struct every_tree *e)
{
    struct plan_tree tree;
    uint32_t switches = e->net->switches;
    if (!plan_tree_init(&tree, switches, switches, switches * switches)) {
        abort();
    }
    tree.job = e->job_number;
    tree.root = e->net->hosts + e->root;
    tree.is_multicast = e->net->has_multicast;
    for (uint32_t v = 0; v < switches; v++) {
        uint32_t links[SMALL_SWITCHES], len = 0, at = v;
        if (!e->is_in[v] || v == e->root || (!e->adds[v] && e->members[v] == 0)) {
            continue;
        }
        do {
            links[len++] = e->next[at];
            at = every_parent(e, at);
        } while (at != e->root && !e->adds[at]);
        plan_tree_hop(&tree, e->net->hosts + v, e->net->hosts + at, e->adds[v]);
        plan_tree_path(&tree, 1, links, len);
    }
    if (!plan_tree_load(&tree, e->loader, e->job)) {
        abort();
    }
    e->take(e->user, &tree);
}

/* Each subset of the switches that have something to add. */
static inline void every_adders(struct every_tree *e, uint32_t v)
{
    if (v == e->net->switches) {
        every_make(e);
        return;
    }
    uint32_t inputs = e->members[v];
    for (uint32_t u = 0; u < e->net->switches; u++) {
        inputs += e->is_in[u] && u != e->root && every_parent(e, u) == v;
    }
    e->adds[v] = false;
    every_adders(e, v + 1);
    if (e->is_in[v] && v != e->root && inputs > 1 && every_may_add(e, v)) {
        e->adds[v] = true;
        every_adders(e, v + 1);
        e->adds[v] = false;
    }
}

/* Each way to send on from the switches in the tree that have no next one yet. */
static inline void every_grow(struct every_tree *e)
{
    const struct trib_fabric *f = &e->net->fabric;
    uint32_t v = 0;
    while (v < e->net->switches && (!e->is_in[v] || v == e->root || e->next[v] != TRIB_NO_LINK)) {
        v++;
    }
    if (v == e->net->switches) {
        every_adders(e, 0);
        return;
    }
    uint32_t place = e->net->hosts + v;
    for (uint32_t k = f->first[place]; k < f->first[place + 1]; k++) {
        uint32_t link = f->out[k];
        if (f->to[link] < e->net->hosts || f->rate_bps[link] == 0) {
            continue;
        }
        uint32_t to = f->to[link] - e->net->hosts, end = to;
        while (end != e->root && e->is_in[end] && e->next[end] != TRIB_NO_LINK && end != v) {
            end = every_parent(e, end);
        }
        if (end == v) {
            continue; /* a circle */
        }
        bool was_in = e->is_in[to];
        e->next[v] = link;
        e->is_in[to] = true;
        every_grow(e);
        e->is_in[to] = was_in;
        e->next[v] = TRIB_NO_LINK;
    }
}

static inline void every_tree(struct every_tree *e)
{
    memset(e->members, 0, sizeof e->members);
    for (uint32_t i = 0; i < e->job->leaf_count; i++) {
        e->members[e->job->leaves[i].place - e->net->hosts] = e->job->leaves[i].members;
    }
    for (e->root = 0; e->root < e->net->switches; e->root++) {
        if (!every_may_add(e, e->root)) {
            continue;
        }
        memset(e->next, 0xff, sizeof e->next);
        for (uint32_t v = 0; v < e->net->switches; v++) {
            e->is_in[v] = e->members[v] > 0 || v == e->root;
        }
        every_grow(e);
    }
}

/* ---- the best level with all of them ---- */

struct every_list {
    struct plan_tree *trees;
    uint32_t count, room;
};

static inline void every_keep(void *user, struct plan_tree *tree)
{
    struct every_list *list = user;
    if (list->count == list->room) {
        list->room = 2 * list->room + 1024;
        list->trees = realloc(list->trees, list->room * sizeof *list->trees);
        if (list->trees == NULL) {
            abort();
        }
    }
    list->trees[list->count++] = *tree;
}

static inline double every_price(const struct plan_tree *tree, const int64_t *prices)
{
    double sum = 0;
    for (uint32_t i = 0; i < tree->load_count; i++) {
        sum += (double)prices[tree->loads[i].row] * (double)tree->loads[i].amount / (double)PLAN_SHARE;
    }
    return sum;
}

/* Adds the cheapest trees of each job that are worth it. Returns how many. */
static inline uint32_t every_add(struct plan_master *m, struct every_list *list, const int64_t *prices,
                                 const int64_t *limits)
{
    uint32_t added = 0;
    for (uint32_t j = 0; j < m->jobs->count; j++) {
        for (uint32_t times = 0; times < 4; times++) {
            struct plan_tree *best = NULL;
            double least = (double)limits[j];
            for (uint32_t i = 0; i < list->count; i++) {
                struct plan_tree *tree = &list->trees[i];
                double price = tree->job == j ? every_price(tree, prices) : least;
                if (price < least) {
                    least = price;
                    best = tree;
                }
            }
            if (best == NULL) {
                break;
            }
            if (plan_master_add(m, best) != TRIB_OK) {
                abort();
            }
            added++;
            best->job = UINT32_MAX; /* it is in */
        }
    }
    return added;
}

/* bit/s that all jobs can have with all trees of the network, if only the open switches add. open: by job and switch. */
static inline double every_level_of(const struct plan_network *net, const struct plan_jobs *jobs, const bool *open)
{
    struct plan_routes routes;
    struct plan_loader loader;
    struct plan_master master;
    struct every_list list = {NULL, 0, 0};
    int64_t *prices = calloc(plan_rows(net), sizeof *prices), *limits = calloc(jobs->count, sizeof *limits);
    if (!plan_routes_init(&routes, net) || !plan_loader_init(&loader, &routes) ||
        !plan_master_init(&master, net, jobs) || prices == NULL || limits == NULL) {
        abort();
    }
    for (uint32_t j = 0; j < jobs->count; j++) {
        struct every_tree e = {.net = net,
                               .job = &jobs->list[j],
                               .job_number = j,
                               .loader = &loader,
                               .take = every_keep,
                               .user = &list,
                               .is_open = open + (size_t)j * net->switches};
        every_tree(&e);
        limits[j] = INT64_MAX;
    }
    double level = 0;
    while (every_add(&master, &list, prices, limits) > 0) {
        if (trib_lp_solve(master.lp, NULL) != TRIB_OK) {
            abort();
        }
        level = plan_master_level(&master);
        plan_master_prices(&master, prices, limits);
    }
    for (uint32_t i = 0; i < list.count; i++) {
        plan_tree_free(&list.trees[i]);
    }
    free(list.trees);
    free(prices);
    free(limits);
    plan_master_free(&master);
    plan_loader_free(&loader);
    plan_routes_free(&routes);
    return level;
}

/* bit/s that all jobs can have with all trees of the network, by brute force. */
static inline double every_level(const struct plan_network *net, const struct plan_jobs *jobs)
{
    bool *open = malloc((size_t)jobs->count * net->switches);
    if (open == NULL) {
        abort();
    }
    memset(open, true, (size_t)jobs->count * net->switches);
    double level = every_level_of(net, jobs, open);
    free(open);
    return level;
}

/* The best level of all ways to give the switches from v on to `room` jobs each. */
static inline double every_share(const struct plan_network *net, const struct plan_jobs *jobs, uint32_t room,
                                 bool *open, uint32_t v)
{
    double best = 0;
    if (v == net->switches) {
        return every_level_of(net, jobs, open);
    }
    if (!plan_adds(net, net->hosts + v)) {
        return every_share(net, jobs, room, open, v + 1);
    }
    for (uint32_t set = 0; set < UINT32_C(1) << jobs->count; set++) {
        uint32_t count = 0;
        for (uint32_t j = 0; j < jobs->count; j++) {
            open[(size_t)j * net->switches + v] = (set >> j & 1) != 0;
            count += set >> j & 1;
        }
        double level = count == room ? every_share(net, jobs, room, open, v + 1) : 0;
        best = level > best ? level : best;
    }
    return best;
}

/* Likewise, where each switch has memory for `room` jobs, at most all. */
static inline double every_level_within(const struct plan_network *net, const struct plan_jobs *jobs, uint32_t room)
{
    bool *open = calloc((size_t)jobs->count * net->switches, sizeof *open);
    if (open == NULL) {
        abort();
    }
    double level = every_share(net, jobs, room, open, 0);
    free(open);
    return level;
}

#endif
