/* SPDX-License-Identifier: Apache-2.0 */
/* merge.c: see merge.h. */
#include "plan/merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Paths of one hop, each with the rate of all trees that take it. */
struct bundle {
    const uint32_t *links[PLAN_PATHS_MAX];
    uint32_t link_count[PLAN_PATHS_MAX];
    double rate[PLAN_PATHS_MAX];
    uint32_t count;
};

static void add_path(struct bundle *bundle, const struct plan_tree *tree, uint32_t hop, double rate)
{
    const struct plan_path *path = &tree->paths[tree->hops[hop].first_path];
    const uint32_t *links = tree->links + path->first_link;
    uint32_t i = 0;
    while (i < bundle->count && (bundle->link_count[i] != path->link_count ||
                                 memcmp(bundle->links[i], links, path->link_count * sizeof *links) != 0)) {
        i++;
    }
    if (i == bundle->count) {
        bundle->links[i] = links;
        bundle->link_count[i] = path->link_count;
        bundle->rate[i] = 0;
        bundle->count++;
    }
    bundle->rate[i] += rate;
}

static void append_paths(struct plan_tree *tree, const struct bundle *bundle)
{
    double most = 0;
    for (uint32_t i = 0; i < bundle->count; i++) {
        most = fmax(most, bundle->rate[i]);
    }
    for (uint32_t i = 0; i < bundle->count; i++) {
        uint32_t weight = (uint32_t)lround(UINT8_MAX * bundle->rate[i] / most);
        if (weight > 0) {
            plan_tree_path(tree, bundle->count > 1 ? weight : 1, bundle->links[i], bundle->link_count[i]);
        }
    }
}

/* One tree of those in `members`, which are alike, and at most PLAN_PATHS_MAX. False: out of memory. */
static bool make_tree(const struct plan_pack *pack, const uint32_t *members, uint32_t count, struct plan_tree *tree)
{
    const struct plan_tree *first = &pack->trees[members[0]];
    uint32_t links = 0;
    for (uint32_t i = 0; i < count; i++) {
        links += pack->trees[members[i]].link_count;
    }
    if (!plan_tree_init(tree, first->hop_count, first->hop_count * PLAN_PATHS_MAX, links)) {
        plan_tree_free(tree);
        return false;
    }
    tree->job = first->job;
    tree->root = first->root;
    for (uint32_t hop = 0; hop < first->hop_count; hop++) {
        struct bundle bundle = {.count = 0};
        for (uint32_t i = 0; i < count; i++) {
            add_path(&bundle, &pack->trees[members[i]], hop, pack->rates[members[i]]);
        }
        plan_tree_hop(tree, first->hops[hop].from, first->hops[hop].to, first->hops[hop].adds);
        append_paths(tree, &bundle);
    }
    plan_tree_trim(tree);
    if (!plan_tree_load(tree, &pack->pricer->loader, &pack->jobs->list[tree->job])) {
        plan_tree_free(tree);
        return false;
    }
    return true;
}

/* The trees in `members` give their rates to one that replaces them. */
static enum trib_status replace(struct plan_pack *pack, const uint32_t *members, uint32_t count)
{
    struct plan_tree tree;
    double rate = 0;
    uint32_t number = 0;
    if (!make_tree(pack, members, count, &tree)) {
        return TRIB_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        rate += pack->rates[members[i]];
        pack->rates[members[i]] = 0;
    }
    enum trib_status status = plan_pack_keep(pack, &tree, &number);
    if (status == TRIB_OK) {
        pack->rates[number] += rate;
    }
    return status;
}

enum trib_status plan_merge(struct plan_pack *pack, uint32_t job)
{
    uint32_t *list = calloc(pack->tree_count + 1U, sizeof *list);
    uint32_t *members = calloc(pack->tree_count + 1U, sizeof *members);
    enum trib_status status = list != NULL && members != NULL ? TRIB_OK : TRIB_ERR_MEMORY;
    uint32_t left = status == TRIB_OK ? plan_pack_list(pack, job, list) : 0;
    while (left > 0 && status == TRIB_OK) {
        uint32_t count = 0, others = 0;
        for (uint32_t i = 0; i < left; i++) {
            bool fits = count == 0 ||
                        (count < PLAN_PATHS_MAX && plan_tree_is_alike(&pack->trees[members[0]], &pack->trees[list[i]]));
            if (fits) {
                members[count++] = list[i];
            } else {
                list[others++] = list[i];
            }
        }
        status = count > 1 ? replace(pack, members, count) : TRIB_OK;
        left = others;
    }
    free(list);
    free(members);
    return status;
}
