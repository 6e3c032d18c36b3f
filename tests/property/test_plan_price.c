/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_price.c: the cheapest tree of each family at random prices, against all of its trees, one by one; and each
 * tree that is offered: is it one, and do its loads cost its price, exactly? Mirrors src/plan/price.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/price.h"
#include "plan_networks.h"

#define NETWORKS 150U

/* Prices of all rows that have a limit; a third of them is 0. */
static int64_t *draw_prices(struct drawn *d, const struct plan_network *net)
{
    int64_t *prices = calloc(plan_rows(net), sizeof *prices);
    for (uint32_t row = 0; row < plan_rows(net); row++) {
        bool is_free = plan_capacity(net, row) == UINT64_MAX || trib_prng_below(&d->prng, 3) == 0;
        prices[row] = is_free ? 0 : (int64_t)trib_prng_below(&d->prng, (uint64_t)PLAN_PRICE_MAX + 1);
    }
    return prices;
}

static void draw_network(struct plan_network *net, struct drawn *d, uint64_t seed)
{
    *d = (struct drawn){.prng = {seed}, .over = 1 + (double)(seed % 4), .can_add = 0.6, .uneven = 0.4};
    d->adding = seed % 3 == 0 ? 300 * GBPS : PLAN_ADDS_ALL;
    if (seed % 5 == 0) {
        draw_dragonfly(net, d, 2, 1, 2);
    } else {
        draw_leaf_spine(net, d, 2 + (uint32_t)(seed % 3), 2, 3);
    }
}

/* ---- all trees of the families ---- */

/* All subsets of a way's switches that add, by brute force. */
static int64_t cheapest_of_way(const struct plan_network *net, const struct plan_node *nodes, uint32_t count,
                               const int64_t *prices)
{
    int64_t best = INT64_MAX;
    for (uint32_t set = 0; set < UINT32_C(1) << count; set++) {
        int64_t price = 0, streams[32] = {0};
        bool is_one = (set & 1) != 0;
        for (uint32_t v = 1; v < count; v++) {
            is_one = is_one && ((set >> v & 1) == 0 || nodes[v].can_add);
        }
        for (uint32_t v = count; is_one && v-- > 0;) {
            int64_t inputs = streams[v] + nodes[v].members;
            bool adds = (set >> v & 1) != 0;
            price += adds ? inputs * prices[nodes[v].adder] : 0;
            if (v > 0) {
                int64_t up = adds ? 1 : inputs;
                price += up * prices[nodes[v].up] + (net->has_multicast ? 1 : up) * prices[nodes[v].down];
                streams[nodes[v].parent] += up;
            }
        }
        best = is_one && price < best ? price : best;
    }
    return best;
}

static int64_t cheapest_skeleton(const struct plan_pricer *p, uint32_t job, const int64_t *prices)
{
    const struct plan_ways *ways = &p->ways[job];
    int64_t best = INT64_MAX;
    for (uint32_t i = 0; i < ways->count; i++) {
        int64_t price =
            cheapest_of_way(p->net, ways->nodes + ways->first[i], ways->first[i + 1] - ways->first[i], prices);
        best = price < best ? price : best;
    }
    return best;
}

/* Cheapest path of a stream, there and back, by trying all. */
static int64_t cheapest_path(const struct plan_network *net, const int64_t *prices, uint32_t from, uint32_t to,
                             uint32_t seen)
{
    const struct trib_fabric *f = &net->fabric;
    int64_t best = PLAN_FAR;
    if (from == to) {
        return 0;
    }
    for (uint32_t k = f->first[from]; k < f->first[from + 1]; k++) {
        uint32_t link = f->out[k], next = f->to[link];
        if (next >= net->hosts && (seen >> (next - net->hosts) & 1) == 0) {
            int64_t rest = cheapest_path(net, prices, next, to, seen | UINT32_C(1) << (next - net->hosts));
            int64_t price = rest + prices[link] + prices[f->opposite[link]];
            best = rest < PLAN_FAR && price < best ? price : best;
        }
    }
    return best;
}

/* A leaf's streams to this adder: as they are, or added before. */
static int64_t cheapest_leaf(const struct plan_network *net, const struct plan_leaf *leaf, const int64_t *prices,
                             uint32_t to)
{
    int64_t path = cheapest_path(net, prices, leaf->place, to, UINT32_C(1) << (leaf->place - net->hosts));
    int64_t inside = prices[plan_row_of_adder(net, to)], members = leaf->members;
    int64_t pass = members * (path + inside), sum = INT64_MAX;
    if (plan_adds(net, leaf->place) && leaf->place != to) {
        sum = path + inside + members * prices[plan_row_of_adder(net, leaf->place)];
    }
    return pass < sum ? pass : sum;
}

/* middle: a place; TRIB_NO_PLACE: none. */
static int64_t cheapest_at(const struct plan_network *net, const struct plan_job *job, const int64_t *prices,
                           uint32_t root, uint32_t middle)
{
    int64_t price = 0;
    if (middle != TRIB_NO_PLACE) {
        price = cheapest_path(net, prices, middle, root, UINT32_C(1) << (middle - net->hosts)) +
                prices[plan_row_of_adder(net, root)];
    }
    for (uint32_t i = 0; i < job->leaf_count; i++) {
        int64_t direct = cheapest_leaf(net, &job->leaves[i], prices, root);
        int64_t via = middle != TRIB_NO_PLACE ? cheapest_leaf(net, &job->leaves[i], prices, middle) : INT64_MAX;
        uint32_t place = job->leaves[i].place;
        price += place == middle || (place != root && via < direct) ? via : direct;
    }
    return price;
}

static int64_t cheapest_free(const struct plan_network *net, const struct plan_job *job, const int64_t *prices,
                             bool has_middle)
{
    int64_t best = INT64_MAX;
    for (uint32_t root = net->hosts; root < net->fabric.places; root++) {
        for (uint32_t middle = net->hosts; middle <= net->fabric.places && plan_adds(net, root); middle++) {
            bool is_none = middle == net->fabric.places;
            if (!is_none && (!has_middle || middle == root || !plan_adds(net, middle))) {
                continue;
            }
            int64_t price = cheapest_at(net, job, prices, root, is_none ? TRIB_NO_PLACE : middle);
            best = price < best ? price : best;
        }
    }
    return best;
}

/* A tree over all shortest paths is a mixture of others: it costs no less than the cheapest. */
static void check_spread(struct plan_pricer *p, uint32_t job, const int64_t *prices, int64_t least)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    for (uint32_t i = 0; i < 2 * p->net->switches; i++) {
        struct plan_tree tree;
        bool is_there = false;
        assert_true(plan_price_spread(p, job, i / 2, i % 2 != 0, &tree, &is_there));
        if (is_there) {
            assert_true(plan_tree_check(&tree, &p->routes, &p->jobs->list[job], error));
            assert_true(plan_tree_costs(&tree, prices, least));
            plan_tree_free(&tree);
        }
    }
}

static void price__is_the_least_of_its_family(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= NETWORKS; seed++) {
        struct plan_network net;
        struct plan_jobs jobs;
        struct plan_pricer p;
        struct drawn d;
        char error[TRIB_ERROR_TEXT_MAX] = "";
        draw_network(&net, &d, seed);
        net.has_multicast = seed % 2 == 0;
        draw_jobs(&jobs, &net, &d, 2, 5, false);
        int64_t *prices = draw_prices(&d, &net);
        for (unsigned family = 0; family < PLAN_FAMILIES; family++) {
            assert_int_equal(plan_pricer_init(&p, &net, &jobs, (enum plan_family)family, error), TRIB_OK);
            plan_pricer_set(&p, prices);
            for (uint32_t j = 0; j < jobs.count; j++) {
                struct plan_offer offers[PLAN_OFFERS];
                uint32_t count = plan_price(&p, j, offers);
                int64_t least = cheapest_skeleton(&p, j, prices);
                if (family != PLAN_SKELETONS) {
                    int64_t price = cheapest_free(&net, &jobs.list[j], prices, family == PLAN_MIDDLE);
                    least = price < least ? price : least;
                }
                assert_true(count > 0);
                assert_int_equal(offers[0].price, least);
                if (family != PLAN_SKELETONS) {
                    check_spread(&p, j, prices, least);
                }
                for (uint32_t i = 0; i < count; i++) {
                    struct plan_tree tree;
                    assert_true(i == 0 || offers[i].price >= offers[i - 1].price);
                    assert_true(plan_price_tree(&p, j, &offers[i], &tree));
                    if (!plan_tree_check(&tree, &p.routes, &jobs.list[j], error)) {
                        fail_msg("seed %lu: %s", (unsigned long)seed, error);
                    }
                    assert_true(plan_tree_costs(&tree, prices, offers[i].price));
                    assert_false(plan_tree_costs(&tree, prices, offers[i].price + 1));
                    plan_tree_free(&tree);
                }
            }
            plan_pricer_free(&p);
        }
        free(prices);
        plan_jobs_free(&jobs);
        plan_network_free(&net);
    }
}

/* Paths that are not the plan's: no load costs less than its price, and every tree is one. */
static void price__with_paths_of_the_network(void **state)
{
    uint32_t trees = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= NETWORKS; seed++) {
        struct plan_network net;
        struct plan_jobs jobs;
        struct plan_pricer p;
        struct drawn d;
        char error[TRIB_ERROR_TEXT_MAX] = "";
        draw_network(&net, &d, seed);
        net.paths = seed % 2 == 0 ? PLAN_ECMP : PLAN_PINNED;
        net.headroom = net.paths == PLAN_ECMP ? (uint32_t)(seed % 101) : 0;
        draw_jobs(&jobs, &net, &d, 1, 5, false);
        int64_t *prices = draw_prices(&d, &net);
        enum trib_status status = plan_pricer_init(&p, &net, &jobs, PLAN_MIDDLE, error);
        assert_true(status == TRIB_OK || net.paths == PLAN_PINNED);
        if (status == TRIB_OK) {
            struct plan_offer offers[PLAN_OFFERS];
            plan_pricer_set(&p, prices);
            uint32_t count = plan_price(&p, 0, offers);
            for (uint32_t i = 0; i < count; i++, trees++) {
                struct plan_tree tree;
                assert_true(plan_price_tree(&p, 0, &offers[i], &tree));
                assert_true(plan_tree_check(&tree, &p.routes, &jobs.list[0], error));
                assert_true(plan_tree_costs(&tree, prices, offers[i].price));
                plan_tree_free(&tree);
            }
        }
        plan_pricer_free(&p);
        free(prices);
        plan_jobs_free(&jobs);
        plan_network_free(&net);
    }
    assert_true(trees > NETWORKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(price__is_the_least_of_its_family),
        cmocka_unit_test(price__with_paths_of_the_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
