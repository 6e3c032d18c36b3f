/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c: see tree.h. */
#include "plan/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tributary/comm.h>

#include "io/explain.h"

bool plan_loader_init(struct plan_loader *loader, const struct plan_routes *routes)
{
    *loader = (struct plan_loader){routes, calloc(plan_rows(routes->net) + 1U, sizeof *loader->amount)};
    return loader->amount != NULL;
}

void plan_loader_free(struct plan_loader *loader)
{
    free(loader->amount);
    *loader = (struct plan_loader){NULL, NULL};
}

bool plan_tree_init(struct plan_tree *tree, uint32_t hops, uint32_t paths, uint32_t links)
{
    *tree = (struct plan_tree){.hops = calloc(hops + 1U, sizeof *tree->hops),
                               .paths = calloc(paths + 1U, sizeof *tree->paths),
                               .links = calloc(links + 1U, sizeof *tree->links)};
    return tree->hops != NULL && tree->paths != NULL && tree->links != NULL;
}

void plan_tree_free(struct plan_tree *tree)
{
    free(tree->hops);
    free(tree->paths);
    free(tree->links);
    free(tree->loads);
    *tree = (struct plan_tree){.hops = NULL};
}

void plan_tree_hop(struct plan_tree *tree, uint32_t from, uint32_t to, bool adds)
{
    tree->hops[tree->hop_count++] = (struct plan_hop){from, to, adds, tree->path_count, 0};
}

void plan_tree_path(struct plan_tree *tree, uint32_t weight, const uint32_t *links, uint32_t link_count)
{
    tree->paths[tree->path_count++] = (struct plan_path){weight, tree->link_count, link_count};
    tree->hops[tree->hop_count - 1].path_count++;
    memcpy(tree->links + tree->link_count, links, link_count * sizeof *links);
    tree->link_count += link_count;
}

void plan_tree_trim(struct plan_tree *tree)
{
    uint32_t *links = realloc(tree->links, (tree->link_count + 1U) * sizeof *links);
    if (links != NULL) {
        tree->links = links;
    }
}

static uint32_t members_at(const struct plan_job *job, uint32_t place)
{
    uint32_t low = 0, high = job->leaf_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (job->leaves[middle].place < place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < job->leaf_count && job->leaves[low].place == place ? job->leaves[low].members : 0;
}

/* ---- loads ---- */

/* Parts of a stream are rounded up, so that no link carries more than its amount says. */
static void add_paths(const struct plan_tree *tree, const struct plan_loader *loader, const struct plan_hop *hop,
                      uint64_t streams)
{
    const struct plan_network *net = loader->routes->net;
    uint64_t weights = 0;
    if (hop->path_count == 0) {
        plan_routes_spread(loader->routes, hop->from - net->hosts, hop->to - net->hosts, streams, loader->amount);
    }
    for (uint32_t i = 0; i < hop->path_count; i++) {
        weights += tree->paths[hop->first_path + i].weight;
    }
    for (uint32_t i = 0; i < hop->path_count && weights > 0; i++) {
        const struct plan_path *path = &tree->paths[hop->first_path + i];
        uint64_t amount = (streams * PLAN_SHARE * path->weight + weights - 1) / weights;
        for (uint32_t k = 0; k < path->link_count; k++) {
            uint32_t link = tree->links[path->first_link + k];
            uint64_t *back = &loader->amount[net->fabric.opposite[link]];
            loader->amount[link] += amount;
            *back = tree->is_multicast ? PLAN_SHARE : *back + amount;
        }
    }
}

/* Inputs of a switch that adds: its own members', and the streams of hops to it. */
static void add_inputs(const struct plan_network *net, uint64_t *amount, uint32_t place, uint64_t streams)
{
    if (net->adds_bps[place - net->hosts] != PLAN_ADDS_ALL) {
        amount[plan_row_of_adder(net, place)] += streams * PLAN_SHARE;
    }
}

bool plan_tree_load(struct plan_tree *tree, const struct plan_loader *loader, const struct plan_job *job)
{
    const struct plan_network *net = loader->routes->net;
    uint32_t rows = net->fabric.link_count + net->switches; /* none of a tree's loads is on hosts' cables */
    uint64_t *amount = loader->amount;
    memset(amount, 0, rows * sizeof *amount);
    add_inputs(net, amount, tree->root, members_at(job, tree->root));
    for (const struct plan_hop *hop = tree->hops; hop < tree->hops + tree->hop_count; hop++) {
        uint32_t members = members_at(job, hop->from);
        uint64_t streams = hop->adds ? 1 : members;
        if (hop->adds) {
            add_inputs(net, amount, hop->from, members);
        }
        add_inputs(net, amount, hop->to, streams);
        add_paths(tree, loader, hop, streams);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows; i++) {
        count += amount[i] > 0;
    }
    free(tree->loads);
    tree->loads = calloc(count + 1U, sizeof *tree->loads);
    tree->load_count = 0;
    for (uint32_t i = 0; tree->loads != NULL && i < rows; i++) {
        if (amount[i] > 0) {
            tree->loads[tree->load_count++] = (struct plan_load){.row = i, .amount = amount[i]};
        }
    }
    return tree->loads != NULL;
}

bool plan_tree_costs(const struct plan_tree *tree, const int64_t *prices, int64_t price)
{
    __extension__ __int128 sum = 0;
    for (uint32_t i = 0; i < tree->load_count; i++) {
        sum += __extension__((__int128)prices[tree->loads[i].row] * (int64_t)tree->loads[i].amount);
    }
    return sum >= __extension__((__int128)price * (int64_t)PLAN_SHARE);
}

bool plan_tree_is_alike(const struct plan_tree *a, const struct plan_tree *b)
{
    if (a->root != b->root || a->hop_count != b->hop_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->hop_count; i++) {
        const struct plan_hop *one = &a->hops[i], *other = &b->hops[i];
        if (one->from != other->from || one->to != other->to || one->adds != other->adds || one->path_count != 1 ||
            other->path_count != 1) {
            return false;
        }
    }
    return true;
}

/* The first hop from i on that begins at a switch that adds. */
static uint32_t next_adder(const struct plan_tree *tree, uint32_t i)
{
    while (i < tree->hop_count && !tree->hops[i].adds) {
        i++;
    }
    return i;
}

bool plan_tree_has_adders_of(const struct plan_tree *a, const struct plan_tree *b)
{
    uint32_t i = next_adder(a, 0), k = next_adder(b, 0);
    while (i < a->hop_count && k < b->hop_count && a->hops[i].from == b->hops[k].from) {
        i = next_adder(a, i + 1);
        k = next_adder(b, k + 1);
    }
    return a->root == b->root && i == a->hop_count && k == b->hop_count;
}

/* ---- is it a tree? ---- */

struct checker {
    const struct plan_tree *tree;
    const struct plan_routes *routes;
    const struct plan_job *job;
    char *error;
    uint32_t *sum_to;  /* by switch: where it sends its sum; TRIB_NO_PLACE: nowhere */
    uint32_t *pass_to; /* and where its members' streams go */
    uint32_t *link;    /* with multicast: the link that streams leave it by */
};

#define NAME(c, place) ((c)->routes->net->names.list[place])

static bool refuse(struct checker *c, const char *why, uint32_t place)
{
    trib_explain(c->error, "a tree of job %s with root %s: %s: %s", c->job->name, NAME(c, c->tree->root),
                 NAME(c, place), why);
    return false;
}

static bool check_path(struct checker *c, const struct plan_hop *hop, const struct plan_path *path)
{
    const struct plan_network *net = c->routes->net;
    const struct trib_fabric *f = &net->fabric;
    uint32_t at = hop->from;
    for (uint32_t k = 0; k < path->link_count; k++) {
        uint32_t link = c->tree->links[path->first_link + k];
        if (f->from[link] != at || f->rate_bps[link] == 0 || f->to[link] < net->hosts) {
            return refuse(c, "a path is broken behind it", at);
        }
        if (c->tree->is_multicast && c->link[at - net->hosts] != TRIB_NO_LINK && c->link[at - net->hosts] != link) {
            return refuse(c, "streams leave it by two links, so results cannot be copied there", at);
        }
        c->link[at - net->hosts] = link;
        at = f->to[link];
        bool adds = at == c->tree->root || c->sum_to[at - net->hosts] != TRIB_NO_PLACE;
        if (c->tree->is_multicast && k + 1 < path->link_count && adds) {
            return refuse(c, "a stream passes, though it adds", at);
        }
    }
    if (at != hop->to || path->weight == 0 || path->weight > UINT8_MAX) {
        return refuse(c, "a path does not lead there, or has a weight that is not 1 to 255", hop->to);
    }
    return net->paths != PLAN_PINNED ||
           path->link_count == c->routes->hops[plan_pair(c->routes, hop->to - net->hosts, hop->from - net->hosts)] ||
           refuse(c, "a path is not the shortest to it", hop->to);
}

/* A hop without paths takes all shortest ones; by ECMP there are no others, and where one is pinned it is named. */
static bool check_paths(struct checker *c, const struct plan_hop *hop)
{
    const struct plan_network *net = c->routes->net;
    bool is_spread = hop->path_count == 0;
    if ((is_spread || net->paths != PLAN_EXPLICIT) &&
        !plan_reaches(c->routes, hop->to - net->hosts, hop->from - net->hosts)) {
        return refuse(c, "packets from it cannot be sent to the next switch that adds", hop->from);
    }
    if ((net->paths == PLAN_ECMP && !is_spread) ||
        (is_spread && (net->paths == PLAN_PINNED || c->tree->is_multicast))) {
        return refuse(c, "a hop from it has no path, or one that the network does not keep", hop->from);
    }
    for (uint32_t i = 0; i < hop->path_count; i++) {
        if (!check_path(c, hop, &c->tree->paths[hop->first_path + i])) {
            return false;
        }
    }
    return true;
}

static bool check_hop(struct checker *c, const struct plan_hop *hop)
{
    const struct plan_network *net = c->routes->net;
    uint32_t *goes = hop->adds ? c->sum_to : c->pass_to;
    if (hop->adds && !plan_adds(net, hop->from)) {
        return refuse(c, "it does not add", hop->from);
    }
    if (!hop->adds && members_at(c->job, hop->from) == 0) {
        return refuse(c, "no member of the job is there", hop->from);
    }
    if (hop->from == c->tree->root || hop->from == hop->to) {
        return refuse(c, "a hop begins at its own end", hop->from);
    }
    if (c->sum_to[hop->from - net->hosts] != TRIB_NO_PLACE || c->pass_to[hop->from - net->hosts] != TRIB_NO_PLACE) {
        return refuse(c, "two hops begin there", hop->from);
    }
    goes[hop->from - net->hosts] = hop->to;
    return true;
}

/* Does each hop lead to a switch that adds, and then on to the root? */
static bool check_ends(struct checker *c)
{
    const struct plan_network *net = c->routes->net;
    for (const struct plan_hop *hop = c->tree->hops; hop < c->tree->hops + c->tree->hop_count; hop++) {
        uint32_t at = hop->to;
        for (uint32_t i = 0; at != c->tree->root && at != TRIB_NO_PLACE && i < c->tree->hop_count; i++) {
            at = c->sum_to[at - net->hosts];
        }
        if (at != c->tree->root) {
            return refuse(c, "its streams do not come to the root", hop->from);
        }
    }
    for (uint32_t i = 0; i < c->job->leaf_count; i++) {
        uint32_t leaf = c->job->leaves[i].place;
        if (leaf != c->tree->root && c->sum_to[leaf - net->hosts] == TRIB_NO_PLACE &&
            c->pass_to[leaf - net->hosts] == TRIB_NO_PLACE) {
            return refuse(c, "its members are not in the tree", leaf);
        }
    }
    return true;
}

static bool check_tree(struct checker *c)
{
    const struct plan_network *net = c->routes->net;
    const struct plan_tree *tree = c->tree;
    if (!plan_adds(net, tree->root)) {
        return refuse(c, "it does not add", tree->root);
    }
    if (tree->is_multicast && !net->has_multicast) {
        return refuse(c, "the network has no multicast", tree->root);
    }
    for (uint32_t i = 0; i < tree->hop_count; i++) {
        if (!check_hop(c, &tree->hops[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < tree->hop_count; i++) {
        if (!check_paths(c, &tree->hops[i])) {
            return false;
        }
    }
    return check_ends(c);
}

bool plan_tree_check(const struct plan_tree *tree, const struct plan_routes *routes, const struct plan_job *job,
                     char *error)
{
    uint32_t count = routes->count;
    uint32_t *lists = malloc((3 * (size_t)count + 1) * sizeof *lists);
    struct checker c = {tree, routes, job, error, lists, NULL, NULL};
    if (lists == NULL) {
        trib_explain(error, "out of memory");
        return false;
    }
    memset(lists, 0xff, 3 * (size_t)count * sizeof *lists);
    c.pass_to = lists + count;
    c.link = lists + 2 * (size_t)count;
    bool is_good = check_tree(&c);
    free(lists);
    return is_good;
}
