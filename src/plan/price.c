/* SPDX-License-Identifier: Apache-2.0 */
/* price.c: see price.h. The cheapest tree of a way by dynamic programming: at each node, by the depth of the next
 * switch above that adds, the cheaper of adding and passing on. Of the other families by trying each root, and each
 * middle. */
#include "plan/price.h"

#include <stdlib.h>
#include <string.h>

#include "io/explain.h"

#define STRIDE (PLAN_DEPTH_MAX + 1)

const char *plan_family_name(enum plan_family family)
{
    static const char *const names[PLAN_FAMILIES] = {"skeletons", "free", "middle"};
    return names[family];
}

/* The bounds on work are some milliseconds for each set of prices. Where many add, free paths need many programs. */
enum plan_family plan_family_of(const struct plan_network *net)
{
    const uint64_t switches = net->switches, small = 64, few = 8, quick = UINT64_C(1) << 22;
    uint64_t adders = 0;
    for (uint32_t i = 0; i < net->switches; i++) {
        adders += net->adds_bps[i] != PLAN_ADDS_NOT;
    }
    if (switches <= small) {
        return PLAN_MIDDLE;
    }
    bool are_few = few * adders <= switches && adders * switches * switches <= quick;
    return net->paths != PLAN_EXPLICIT || are_few ? PLAN_FREE : PLAN_SKELETONS;
}

/* ---- ways ---- */

static int64_t adding_price(const struct plan_pricer *p, uint32_t place)
{
    return p->prices[plan_row_of_adder(p->net, place)];
}

/* Fills path and depth of a node from those of its parent. Returns the price of its result, if that is copied. */
static int64_t price_path(struct plan_pricer *p, const struct plan_node *nodes, uint32_t v)
{
    uint32_t parent = nodes[v].parent, depth = p->depth[parent];
    int64_t *path = &p->path[(size_t)v * STRIDE];
    const int64_t *above = &p->path[(size_t)parent * STRIDE];
    int64_t back = p->prices[nodes[v].down];
    int64_t price = p->prices[nodes[v].up] + (p->net->has_multicast ? 0 : back);
    for (uint32_t d = 0; d < depth; d++) {
        path[d] = price + above[d];
    }
    path[depth] = price + p->prices[nodes[parent].adder];
    p->depth[v] = (uint8_t)(depth + 1);
    memset(&p->below[(size_t)v * STRIDE], 0, (depth + 2) * sizeof *p->below);
    return p->net->has_multicast ? back : 0;
}

/* Price of the node's streams, and all below, if it adds, up to the next adder, at this depth. */
static int64_t price_add(const struct plan_pricer *p, const struct plan_node *node, uint32_t v, uint32_t depth)
{
    return p->path[(size_t)v * STRIDE + depth] + node->members * p->prices[node->adder] +
           p->below[(size_t)v * STRIDE + p->depth[v]];
}

static int64_t price_pass(const struct plan_pricer *p, const struct plan_node *node, uint32_t v, uint32_t depth)
{
    return node->members * p->path[(size_t)v * STRIDE + depth] + p->below[(size_t)v * STRIDE + depth];
}

static int64_t price_way(struct plan_pricer *p, const struct plan_ways *ways, uint32_t way)
{
    const struct plan_node *nodes = ways->nodes + ways->first[way];
    uint32_t count = ways->first[way + 1] - ways->first[way];
    int64_t price = nodes[0].members * p->prices[nodes[0].adder];
    p->depth[0] = 0;
    p->below[0] = 0;
    for (uint32_t v = 1; v < count; v++) {
        price += price_path(p, nodes, v);
    }
    for (uint32_t v = count; v-- > 1;) {
        int64_t *to = &p->below[(size_t)nodes[v].parent * STRIDE];
        bool can_add = nodes[v].can_add;
        for (uint32_t d = 0; d < p->depth[v]; d++) {
            int64_t best = price_pass(p, &nodes[v], v, d);
            int64_t add = can_add ? price_add(p, &nodes[v], v, d) : best;
            to[d] += add < best ? add : best;
        }
    }
    return price + p->below[0];
}

/* Which nodes add, of equal prices as many as can; but not with one input. */
static void choose_adders(struct plan_pricer *p, const struct plan_node *nodes, uint32_t count)
{
    p->adds[0] = true;
    for (uint32_t v = 1; v < count; v++) {
        uint32_t parent = nodes[v].parent;
        p->near[v] = p->adds[parent] ? parent : p->near[parent];
        uint32_t depth = p->depth[p->near[v]];
        p->adds[v] = nodes[v].can_add && price_add(p, &nodes[v], v, depth) <= price_pass(p, &nodes[v], v, depth);
    }
    for (uint32_t v = 0; v < count; v++) {
        p->inputs[v] = nodes[v].members;
    }
    for (uint32_t v = count; v-- > 1;) {
        p->adds[v] = p->adds[v] && p->inputs[v] > 1;
        p->inputs[nodes[v].parent] += p->adds[v] ? 1 : p->inputs[v];
    }
    for (uint32_t v = 1; v < count; v++) {
        uint32_t parent = nodes[v].parent;
        p->near[v] = p->adds[parent] ? parent : p->near[parent];
    }
}

static bool make_way(struct plan_pricer *p, const struct plan_ways *ways, uint32_t way, struct plan_tree *tree)
{
    const struct plan_node *nodes = ways->nodes + ways->first[way];
    uint32_t count = ways->first[way + 1] - ways->first[way];
    (void)price_way(p, ways, way); /* leaves its prices behind */
    choose_adders(p, nodes, count);
    if (!plan_tree_init(tree, count, count, count * PLAN_DEPTH_MAX)) {
        return false;
    }
    tree->root = nodes[0].place;
    tree->is_multicast = p->net->has_multicast;
    for (uint32_t v = 1; v < count; v++) {
        uint32_t links[PLAN_DEPTH_MAX], len = 0;
        if (!p->adds[v] && nodes[v].members == 0) {
            continue;
        }
        for (uint32_t u = v; u != p->near[v] && p->net->paths != PLAN_ECMP; u = nodes[u].parent) {
            links[len++] = nodes[u].up;
        }
        plan_tree_hop(tree, nodes[v].place, nodes[p->near[v]].place, p->adds[v]);
        if (p->net->paths != PLAN_ECMP) {
            plan_tree_path(tree, 1, links, len);
        }
    }
    return true;
}

/* ---- free paths ---- */

/* Prices of a leaf's streams to a switch that adds: as they are, or as their sum. */
struct choice {
    int64_t price;
    bool adds;
};

static struct choice price_leaf(const struct plan_pricer *p, const struct plan_leaf *leaf, uint32_t to)
{
    uint32_t from = leaf->place - p->net->hosts;
    int64_t members = leaf->members, inside = adding_price(p, p->net->hosts + to);
    int64_t path = plan_routes_cost(&p->routes, to, from, leaf->members);
    if (from == to) {
        return (struct choice){members * inside, false};
    }
    if (path >= PLAN_FAR) {
        return (struct choice){PLAN_FAR, false};
    }
    struct choice best = {path + members * inside, false};
    if (members > 1 && plan_adds(p->net, leaf->place)) {
        int64_t sum = plan_routes_cost(&p->routes, to, from, 1) + inside + members * adding_price(p, leaf->place);
        best = sum <= best.price ? (struct choice){sum, true} : best;
    }
    return best;
}

/* Does the leaf use the middle? A leaf that is the middle must, and one that is the root must not. */
static bool uses_middle(const struct plan_pricer *p, const struct plan_leaf *leaf, uint32_t root, uint32_t middle)
{
    uint32_t from = leaf->place - p->net->hosts;
    return from == middle || (from != root && price_leaf(p, leaf, middle).price < price_leaf(p, leaf, root).price);
}

/* via: by switch and leaf, prices to each middle. */
static int64_t price_middle(const struct plan_pricer *p, const struct plan_job *job, const struct plan_offer *at,
                            const int64_t *direct, const int64_t *via)
{
    int64_t price = plan_routes_cost(&p->routes, at->root, at->middle, 1);
    if (price >= PLAN_FAR) {
        return PLAN_FAR;
    }
    price += adding_price(p, p->net->hosts + at->root);
    for (uint32_t i = 0; i < job->leaf_count; i++) {
        uint32_t from = job->leaves[i].place - p->net->hosts;
        int64_t best = from == at->middle || (from != at->root && via[i] < direct[i]) ? via[i] : direct[i];
        if (best >= PLAN_FAR) {
            return PLAN_FAR;
        }
        price += best;
    }
    return price;
}

static int64_t price_direct(const struct plan_job *job, const int64_t *direct)
{
    int64_t price = 0;
    for (uint32_t i = 0; i < job->leaf_count; i++) {
        if (direct[i] >= PLAN_FAR) {
            return PLAN_FAR;
        }
        price += direct[i];
    }
    return price;
}

static bool make_free(struct plan_pricer *p, const struct plan_job *job, const struct plan_offer *offer,
                      struct plan_tree *tree)
{
    const struct trib_fabric *f = &p->net->fabric;
    bool has_middle = false;
    uint32_t links[PLAN_SWITCHES_MAX];
    uint32_t longest = p->net->paths == PLAN_EXPLICIT ? p->net->switches : PLAN_HOPS_MAX;
    if (!plan_tree_init(tree, job->leaf_count + 1, job->leaf_count + 1, (job->leaf_count + 1) * longest)) {
        return false;
    }
    tree->root = p->net->hosts + offer->root;
    for (uint32_t i = 0; i <= job->leaf_count; i++) {
        struct plan_leaf leaf = {p->net->hosts + offer->middle, 1};
        struct choice choice = {0, true};
        uint32_t to = offer->root;
        if (i < job->leaf_count) {
            leaf = job->leaves[i];
            bool is_via = offer->middle != TRIB_NO_PLACE && uses_middle(p, &leaf, offer->root, offer->middle);
            to = is_via ? offer->middle : offer->root;
            has_middle = has_middle || is_via;
            choice = price_leaf(p, &leaf, to);
        } else if (!has_middle) {
            break;
        }
        uint32_t len = 0, end = p->net->hosts + to;
        for (uint32_t at = leaf.place; at != end && p->net->paths != PLAN_ECMP; len++) {
            links[len] = p->routes.step[plan_pair(&p->routes, to, at - p->net->hosts)];
            at = f->to[links[len]];
        }
        if (leaf.place == end) {
            continue;
        }
        plan_tree_hop(tree, leaf.place, end, choice.adds);
        if (p->net->paths != PLAN_ECMP) {
            plan_tree_path(tree, 1, links, len);
        }
    }
    return true;
}

/* ---- offers ---- */

static uint32_t insert(struct plan_offer *offers, uint32_t count, const struct plan_offer *offer)
{
    uint32_t at = count;
    if (offer->price >= PLAN_FAR || (count == PLAN_OFFERS && offer->price >= offers[count - 1].price)) {
        return count;
    }
    count += count < PLAN_OFFERS;
    at = at < PLAN_OFFERS ? at : PLAN_OFFERS - 1;
    for (; at > 0 && offer->price < offers[at - 1].price; at--) {
        offers[at] = offers[at - 1];
    }
    offers[at] = *offer;
    return count;
}

/* The best tree of each root, with and without a middle. */
static uint32_t price_free(struct plan_pricer *p, const struct plan_job *job, struct plan_offer *offers, uint32_t count)
{
    uint32_t leaves = job->leaf_count, switches = p->net->switches;
    int64_t *direct = p->path; /* by switch and leaf */
    for (uint32_t to = 0; to < switches; to++) {
        for (uint32_t i = 0; plan_adds(p->net, p->net->hosts + to) && i < leaves; i++) {
            direct[(size_t)to * leaves + i] = price_leaf(p, &job->leaves[i], to).price;
        }
    }
    for (uint32_t root = 0; root < switches; root++) {
        if (!plan_adds(p->net, p->net->hosts + root)) {
            continue;
        }
        const int64_t *own = direct + (size_t)root * leaves;
        struct plan_offer best = {price_direct(job, own), PLAN_NO_WAY, root, TRIB_NO_PLACE};
        for (uint32_t middle = 0; p->family == PLAN_MIDDLE && middle < switches; middle++) {
            struct plan_offer offer = {0, PLAN_NO_WAY, root, middle};
            if (middle == root || !plan_adds(p->net, p->net->hosts + middle)) {
                continue;
            }
            offer.price = price_middle(p, job, &offer, own, direct + (size_t)middle * leaves);
            best = offer.price < best.price ? offer : best;
        }
        count = insert(offers, count, &best);
    }
    return count;
}

uint32_t plan_price(struct plan_pricer *p, uint32_t job, struct plan_offer offers[PLAN_OFFERS])
{
    const struct plan_ways *ways = &p->ways[job];
    uint32_t count = 0;
    for (uint32_t way = 0; way < ways->count; way++) {
        struct plan_offer offer = {price_way(p, ways, way), way, 0, TRIB_NO_PLACE};
        count = insert(offers, count, &offer);
    }
    return p->family == PLAN_SKELETONS ? count : price_free(p, &p->jobs->list[job], offers, count);
}

static int compare_hops(const void *one, const void *other)
{
    const struct plan_hop *a = one, *b = other;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Hops are in the order of their begins, so that trees can be compared. */
bool plan_price_tree(struct plan_pricer *p, uint32_t job, const struct plan_offer *offer, struct plan_tree *tree)
{
    bool is_good = offer->way != PLAN_NO_WAY ? make_way(p, &p->ways[job], offer->way, tree)
                                             : make_free(p, &p->jobs->list[job], offer, tree);
    tree->job = job;
    if (is_good) {
        qsort(tree->hops, tree->hop_count, sizeof *tree->hops, compare_hops);
        plan_tree_trim(tree);
    }
    is_good = is_good && plan_tree_load(tree, &p->loader, &p->jobs->list[job]);
    if (!is_good) {
        plan_tree_free(tree);
    }
    return is_good;
}

bool plan_price_spread(struct plan_pricer *p, uint32_t number, uint32_t root, bool leaves_add, struct plan_tree *tree,
                       bool *is_there)
{
    const struct plan_job *job = &p->jobs->list[number];
    *is_there = plan_adds(p->net, p->net->hosts + root);
    for (uint32_t i = 0; i < job->leaf_count; i++) {
        *is_there = *is_there && plan_reaches(&p->routes, root, job->leaves[i].place - p->net->hosts);
    }
    if (!*is_there) {
        return true;
    }
    if (!plan_tree_init(tree, job->leaf_count, 0, 0)) {
        plan_tree_free(tree);
        return false;
    }
    tree->job = number;
    tree->root = p->net->hosts + root;
    for (uint32_t i = 0; i < job->leaf_count; i++) {
        const struct plan_leaf *leaf = &job->leaves[i];
        if (leaf->place != tree->root) {
            bool adds = leaves_add && leaf->members > 1 && plan_adds(p->net, leaf->place);
            plan_tree_hop(tree, leaf->place, tree->root, adds);
        }
    }
    if (!plan_tree_load(tree, &p->loader, job)) {
        plan_tree_free(tree);
        return false;
    }
    return true;
}

void plan_pricer_set(struct plan_pricer *p, const int64_t *prices)
{
    p->prices = prices;
    if (p->family != PLAN_SKELETONS) {
        plan_routes_price(&p->routes, prices);
    }
}

/* ---- begin and end ---- */

/* Why a job has no tree. */
static void explain_none(const struct plan_pricer *p, const struct plan_job *job, char *error)
{
    const struct plan_network *net = p->net;
    for (uint32_t i = 1; i < job->leaf_count; i++) {
        if (p->routes
                .hops[plan_pair(&p->routes, job->leaves[0].place - net->hosts, job->leaves[i].place - net->hosts)] ==
            UINT16_MAX) {
            trib_explain(error,
                         "job %s: the network is in parts: no path of at most %u links between %s and %s; add the "
                         "missing links",
                         job->name, PLAN_HOPS_MAX, net->names.list[job->leaves[0].place],
                         net->names.list[job->leaves[i].place]);
            return;
        }
    }
    trib_explain(error, "job %s: its hosts can reach no switch that adds%s; name one nearer to them in a [[switch]]",
                 job->name, net->paths == PLAN_PINNED ? " by a shortest path that is the only one" : "");
}

static enum trib_status check_jobs(struct plan_pricer *p, char *error)
{
    int64_t *prices = calloc(plan_rows(p->net) + 1U, sizeof *prices);
    enum trib_status status = prices != NULL ? TRIB_OK : TRIB_ERR_MEMORY;
    if (status == TRIB_OK) {
        plan_pricer_set(p, prices);
    }
    for (uint32_t j = 0; status == TRIB_OK && j < p->jobs->count; j++) {
        struct plan_offer offers[PLAN_OFFERS];
        const struct plan_job *job = &p->jobs->list[j];
        for (uint32_t i = 0; i < job->host_count && status == TRIB_OK; i++) {
            if (plan_capacity(p->net, plan_row_of_host(p->net, job->hosts[i])) == 0) {
                trib_explain(error, "job %s: the cable of %s is down", job->name, p->net->names.list[job->hosts[i]]);
                status = TRIB_ERR_INVALID;
            }
        }
        if (status == TRIB_OK && plan_price(p, j, offers) == 0) {
            explain_none(p, job, error);
            status = TRIB_ERR_INVALID;
        }
    }
    p->prices = NULL;
    free(prices);
    return status;
}

/* Memory for the largest way, and for all pairs of a switch and a leaf. */
static bool make_room(struct plan_pricer *p)
{
    size_t nodes = 1, pairs = 1;
    for (uint32_t j = 0; j < p->jobs->count; j++) {
        const struct plan_ways *ways = &p->ways[j];
        for (uint32_t i = 0; i < ways->count; i++) {
            size_t count = ways->first[i + 1] - ways->first[i];
            nodes = count > nodes ? count : nodes;
        }
        size_t of_job = (size_t)p->jobs->list[j].leaf_count * p->net->switches;
        pairs = of_job > pairs ? of_job : pairs;
    }
    size_t room = nodes * STRIDE > pairs ? nodes * STRIDE : pairs;
    p->path = calloc(room, sizeof *p->path);
    p->below = calloc(nodes * STRIDE, sizeof *p->below);
    p->depth = calloc(nodes, sizeof *p->depth);
    p->near = calloc(nodes, sizeof *p->near);
    p->adds = calloc(nodes, sizeof *p->adds);
    p->inputs = calloc(nodes, sizeof *p->inputs);
    return p->path && p->below && p->depth && p->near && p->adds && p->inputs;
}

enum trib_status plan_pricer_init(struct plan_pricer *p, const struct plan_network *net, const struct plan_jobs *jobs,
                                  enum plan_family family, char *error)
{
    *p = (struct plan_pricer){.net = net, .jobs = jobs, .family = family};
    p->ways = calloc(jobs->count + 1U, sizeof *p->ways);
    bool is_good = p->ways != NULL && plan_routes_init(&p->routes, net) && plan_loader_init(&p->loader, &p->routes);
    for (uint32_t j = 0; is_good && j < jobs->count; j++) {
        is_good = plan_ways_find(&p->ways[j], &p->routes, &jobs->list[j]);
    }
    if (!is_good || !make_room(p)) {
        trib_explain(error, "out of memory");
        return TRIB_ERR_MEMORY;
    }
    return check_jobs(p, error);
}

void plan_pricer_free(struct plan_pricer *p)
{
    for (uint32_t j = 0; p->ways != NULL && j < p->jobs->count; j++) {
        plan_ways_free(&p->ways[j]);
    }
    free(p->ways);
    plan_loader_free(&p->loader);
    plan_routes_free(&p->routes);
    free(p->path);
    free(p->below);
    free(p->depth);
    free(p->near);
    free(p->adds);
    free(p->inputs);
    *p = (struct plan_pricer){.net = NULL};
}
