/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_deploy.c: rates of trees and lengths of chains as switches are replaced, against numbers worked out by hand
 * and those of Rina's paper. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/deploy.h"
#include "sim/network/topology.h"

static struct sim_network network;
static struct plan_deploy deploy;

static void open_network(const struct sim_topology *t, uint32_t hosts, uint32_t step, uint32_t server)
{
    uint32_t list[128];

    for (uint32_t i = 0; i < hosts; i++) {
        list[i] = i * step;
    }
    assert_true(sim_topology_build(t, &network));
    assert_true(plan_deploy_init(&deploy, &network.fabric, list, hosts, server));
}

static void close_network(void)
{
    plan_deploy_free(&deploy);
    sim_network_deinit(&network);
}

#define WIRES                                                                                                  \
    .edge = {UINT64_C(10000000000), 1}, .fabric = {UINT64_C(10000000000), 1}, .smallest = 64, .largest = 1500, \
    .buffer_bytes = SIM_NEVER, .mark_bytes = SIM_NEVER

static const struct sim_topology fat_tree = {.kind = SIM_FAT_TREE, .k = 4, WIRES};
static const struct sim_topology leaf_spine = {.kind = SIM_LEAF_SPINE, .leaves = 3, .spines = 2, .hosts = 4, WIRES};

/* Two workers below each of eight racks, the server at the first. `left` switches can be replaced. */
static void open_scheme(enum plan_deploy_scheme scheme, uint32_t left)
{
    open_network(&fat_tree, 16, 1, 0);
    deploy.scheme = scheme;
    assert_int_equal(plan_deploy_left(&deploy), left);
}

static void assert_curve(enum plan_deploy_order order, const double *expected)
{
    double rates[16];

    assert_true(plan_deploy_curve(&deploy, order, deploy.count, rates));
    for (uint32_t k = 0; k <= deploy.count; k++) {
        if (fabs(rates[k] - expected[k]) > 1e-9) {
            fail_msg("with %u switches the rate is %.4f, not %.4f", k, rates[k], expected[k]);
        }
    }
}

/* Fig. 5a. */
static void curves__are_the_papers(void **state)
{
    (void)state;
    open_scheme(PLAN_DEPLOY_PAPER, 13);
    assert_int_equal(deploy.count, 13);
    assert_curve(PLAN_DEPLOY_BEST,
                 (const double[]){1 / 16., .2, .25, .25, 1 / 3., 1 / 3., .5, .5, .5, .5, .5, .5, .5, 1});
    assert_curve(PLAN_DEPLOY_BY_WORKERS, (const double[]){1 / 16., 1 / 14., 1 / 13., 1 / 12., 1 / 11., .1, 1 / 9., .125,
                                                          1 / 7., 1 / 6., .5, .5, .5, 1});
    close_network();
}

/* Trees end at the core at first; with four switches at a switch in the server's pod, to which each other pod sends a
 * sum; with five at the core again. */
static void curves__of_trees(void **state)
{
    static const double best[] = {0, .25, .25, .25, 1 / 3., .5, .5, .5, .5, .5, .5, .5, .5, 1};

    (void)state;
    open_scheme(PLAN_DEPLOY_TREES, 13);
    assert_curve(PLAN_DEPLOY_BEST, best);
    close_network();
}

/* Rates by trying every root, each link by itself. */
static double rate_by_hand(const bool *adds)
{
    uint32_t best = 0;

    for (uint32_t root = 0; root < deploy.count; root++) {
        uint32_t most = 1, turned[16], order[16], in[16] = {0}, count = 1;
        memset(turned, 0xff, sizeof turned);
        order[0] = root;
        for (uint32_t k = 0; k < count; k++) { /* parents towards this root */
            for (uint32_t i = 0; i < deploy.count; i++) {
                bool is_next = deploy.switches[i].parent == order[k] || deploy.switches[order[k]].parent == i;
                if (is_next && i != root && turned[i] == PLAN_DEPLOY_NONE) {
                    turned[i] = order[k];
                    order[count++] = i;
                }
            }
        }
        for (uint32_t k = count; k-- > 1;) {
            uint32_t i = order[k];
            uint32_t streams = in[i] + deploy.switches[i].workers;
            streams = adds[i] && streams > 1 ? 1 : streams;
            in[turned[i]] += streams;
            most = streams > most ? streams : most;
        }
        best = adds[root] && (best == 0 || most < best) ? most : best;
    }
    return best != 0 ? 1.0 / best : 0;
}

static void rates_of_trees__are_those_of_the_best_root(void **state)
{
    (void)state;
    for (uint32_t server = 0; server < 16; server += 5) {
        open_network(&fat_tree, 7, 2, server);
        deploy.scheme = PLAN_DEPLOY_TREES;
        for (uint32_t set = 0; set >> deploy.count == 0; set++) {
            bool adds[16] = {false};
            for (uint32_t i = 0; i < deploy.count; i++) {
                adds[i] = (set >> i & 1) != 0;
            }
            assert_true(fabs(plan_deploy_rate(&deploy, adds) - rate_by_hand(adds)) < 1e-9);
        }
        close_network();
    }
}

/* Switches of racks only: the server's first, then each other one takes a stream away. */
static void curves__of_atp(void **state)
{
    double rates[9];

    (void)state;
    open_scheme(PLAN_DEPLOY_ATP, 8);
    assert_true(plan_deploy_curve(&deploy, PLAN_DEPLOY_BEST, 8, rates));
    assert_true(rates[0] == 1 / 16.);
    for (uint32_t k = 1; k <= 8; k++) {
        assert_true(fabs(rates[k] - 1 / (15. - k)) < 1e-9);
    }
    close_network();
}

static void curves__of_rina(void **state)
{
    double rates[9];

    (void)state;
    open_scheme(PLAN_DEPLOY_RINA, 8);
    assert_true(plan_deploy_curve(&deploy, PLAN_DEPLOY_BY_WORKERS, 8, rates));
    assert_true(fabs(rates[0] - 32 / 30.) < 1e-9 && fabs(rates[8] - 16 / 15.) < 1e-9);
    close_network();
}

/* Leaves of 4, 4 and 1 workers: the server at the last. */
static void orders__are_by_workers(void **state)
{
    static const uint32_t hosts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    uint32_t list[8];

    (void)state;
    assert_true(sim_topology_build(&leaf_spine, &network));
    assert_true(plan_deploy_init(&deploy, &network.fabric, hosts, 9, 11));
    assert_int_equal(deploy.count, 4); /* and one spine */
    (void)plan_deploy_list(&deploy, PLAN_DEPLOY_BY_WORKERS, deploy.count, list);
    assert_int_equal(deploy.switches[list[0]].place, 12);
    assert_int_equal(deploy.switches[list[1]].place, 13);
    assert_int_equal(deploy.switches[list[2]].place, 14);
    assert_int_equal(deploy.switches[list[3]].place, 15); /* the spine */
    (void)plan_deploy_list(&deploy, PLAN_DEPLOY_BY_BELOW, deploy.count, list);
    assert_int_equal(deploy.switches[list[0]].place, 14);
    assert_int_equal(deploy.switches[list[0]].below, 9);
    assert_int_equal(deploy.switches[list[1]].place, 15);
    (void)plan_deploy_list(&deploy, PLAN_DEPLOY_NEXT, deploy.count, list);
    assert_curve(PLAN_DEPLOY_BY_BELOW, (const double[]){1 / 9., 1 / 8., .25, .25, 1});
    close_network();
}

/* The mean of two switches' two orders: 1/4, then 1/2 or 1/3, then 1. */
static void mean__is_of_all_orders(void **state)
{
    struct plan_deploy_switch switches[] = {{.parent = PLAN_DEPLOY_NONE, .workers = 1, .below = 4},
                                            {.parent = 0, .workers = 3, .below = 3}};

    (void)state;
    deploy = (struct plan_deploy){.switches = switches, .count = 2, .workers = 4};
    assert_curve(PLAN_DEPLOY_RANDOM, (const double[]){.25, (1 / 2. + 1 / 3.) / 2, 1});
    assert_curve(PLAN_DEPLOY_BEST, (const double[]){.25, .5, 1});
}

/* What adds already is in no order, and counts in every rate. */
static void switches_that_add__are_left_out(void **state)
{
    uint32_t list[13];
    double rates[14];

    (void)state;
    open_network(&fat_tree, 16, 1, 0);
    for (uint32_t i = 0; i < deploy.count; i++) {
        deploy.switches[i].adds = deploy.switches[i].workers != 0;
    }
    assert_int_equal(plan_deploy_left(&deploy), 5);
    assert_int_equal(plan_deploy_links(&deploy, (const bool[13]){false}, 2), 8);
    assert_int_equal(plan_deploy_list(&deploy, PLAN_DEPLOY_NEXT, 2, list), 2);
    assert_int_equal(deploy.switches[list[0]].below, 12); /* the core, then the one between it and the server's rack */
    assert_int_equal(deploy.switches[list[1]].below, 14);
    assert_true(plan_deploy_curve(&deploy, PLAN_DEPLOY_BY_WORKERS, 2, rates));
    assert_true(rates[0] == 1 / 7. && rates[1] == 1 / 6. && rates[2] == .5);
    close_network();
}

static void racks__shorten_chains(void **state)
{
    bool adds[13] = {false};
    uint32_t list[13];

    (void)state;
    open_network(&fat_tree, 16, 1, 0);
    (void)plan_deploy_list(&deploy, PLAN_DEPLOY_BY_WORKERS, deploy.count, list);
    for (uint32_t k = 0; k <= 13; k++) {
        uint32_t links = plan_deploy_links(&deploy, adds, 2);
        assert_int_equal(links, k < 8 ? 16 - k : 8);
        assert_int_equal(plan_deploy_links(&deploy, adds, 3), 16); /* no rack has three */
        assert_int_equal(plan_deploy_steps(links, 16), k == 0 ? 30 : 2 * links - 1);
        adds[k < 13 ? list[k] : 0] = true;
    }
    close_network();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves__are_the_papers),
        cmocka_unit_test(orders__are_by_workers),
        cmocka_unit_test(mean__is_of_all_orders),
        cmocka_unit_test(switches_that_add__are_left_out),
        cmocka_unit_test(racks__shorten_chains),
        cmocka_unit_test(curves__of_trees),
        cmocka_unit_test(rates_of_trees__are_those_of_the_best_root),
        cmocka_unit_test(curves__of_atp),
        cmocka_unit_test(curves__of_rina),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
