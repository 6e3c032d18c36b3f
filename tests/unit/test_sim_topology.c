/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_topology.c: folded Clos of stated ratios, and trees of jobs where only some switches add. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/units.h"
#include "sim/results.h"

#define GBPS UINT64_C(1000000000)
#define US_PS UINT64_C(1000000)
#define MS_PS UINT64_C(1000000000)
#define WORLDS 100U

static struct sim_scenario scenario;
static struct sim_run run;

static void set_up(enum sim_topology_kind kind)
{
    memset(&scenario, 0, sizeof scenario);
    scenario.seed = 1;
    scenario.duration_ps = 10000 * MS_PS;
    scenario.topology = (struct sim_topology){.kind = kind,
                                              .hosts = 6,
                                              .k = 4,
                                              .leaves = 4,
                                              .spines = 2,
                                              .pods = 3,
                                              .edges = 4,
                                              .ratio = {3, 1},
                                              .core_ratio = {2, 1},
                                              .edge = {10 * GBPS, US_PS},
                                              .fabric = {10 * GBPS, US_PS},
                                              .buffer_bytes = 200 * 1500,
                                              .mark_bytes = 20 * 1500,
                                              .smallest = 41,
                                              .largest = 1500};
    scenario.flows = (struct sim_flows_config){1500, 40, 64, 256, TRIB_CONGESTION_DCTCP};
}

static void finish(void)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (!sim_run_init(&run, &scenario, error)) {
        fail_msg("%s", error);
    }
    while (sim_run_advance(&run, 5000)) {
        assert_null(sim_run_check(&run));
    }
    assert_null(sim_run_check(&run));
}

/* Each edge switch has a third of its hosts' links up, each aggregation switch half of its links down. */
static void clos__has_its_ratios(void **state)
{
    struct sim_network n;
    struct sim_pods pods;

    (void)state;
    set_up(SIM_CLOS);
    assert_true(sim_topology_pods(&scenario.topology, &pods));
    assert_int_equal(pods.aggregations, 2);
    assert_int_equal(pods.ups, 2);
    struct sim_topology_size size = sim_topology_size(&scenario.topology);
    assert_int_equal(size.hosts, 72);
    assert_int_equal(size.switches, 12 + 6 + 4);
    assert_true(sim_topology_build(&scenario.topology, &n));
    for (uint32_t node = 72; node < 72 + 18; node++) {
        uint32_t down = 0;
        uint32_t up = 0;
        for (uint32_t i = 0; i < n.link_count; i++) {
            up += n.from[i] == node && n.links[i].to > node;
            down += n.from[i] == node && n.links[i].to < node;
        }
        assert_int_equal(down, node < 72 + 12 ? 6 : 4);
        assert_int_equal(up, 2);
    }
    sim_network_deinit(&n);
    scenario.topology.ratio = (struct sim_ratio){5, 1};
    assert_false(sim_topology_pods(&scenario.topology, &pods));
    scenario.topology.ratio = (struct sim_ratio){3, 2};
    scenario.topology.fabric.rate_bps = 40 * GBPS;
    assert_true(sim_topology_pods(&scenario.topology, &pods));
    assert_int_equal(pods.aggregations, 1);
}

/* Arithmetic and search find ways of the same length, between all hosts, and those of a fat tree are those of the clos that it is. */
static void clos__has_shortest_ways(void **state)
{
    struct sim_network n;
    struct sim_network fat;
    struct trib_prng prng = {.state = 7};
    uint32_t ways[3][SIM_PATH_MAX];

    (void)state;
    set_up(SIM_CLOS);
    assert_true(sim_topology_build(&scenario.topology, &n));
    for (uint32_t pair = 0; pair < 72 * 72; pair++) {
        struct sim_packet packet = {.to = (uint16_t)(pair / 72), .hash = (uint32_t)trib_prng_next(&prng)};
        if (pair / 72 != pair % 72) {
            uint32_t count = sim_network_path(&n, pair % 72, &packet, ways[0]);
            uint32_t from = pair % 72;
            assert_int_equal(count, from / 6 == packet.to / 6 ? 2 : from / 24 == packet.to / 24 ? 4 : 6);
        }
    }
    sim_network_deinit(&n);
    set_up(SIM_FAT_TREE);
    assert_true(sim_topology_build(&scenario.topology, &fat));
    scenario.topology.kind = SIM_CLOS;
    scenario.topology.pods = 4;
    scenario.topology.edges = scenario.topology.hosts = 2;
    scenario.topology.ratio = scenario.topology.core_ratio = (struct sim_ratio){1, 1};
    assert_true(sim_topology_build(&scenario.topology, &n));
    assert_int_equal(n.link_count, fat.link_count);
    for (uint32_t i = 0; i < n.link_count; i++) {
        assert_true(n.from[i] == fat.from[i] && n.links[i].to == fat.links[i].to);
    }
    sim_network_deinit(&n);
    sim_network_deinit(&fat);
}

static struct sim_job_config job_of(uint32_t workers)
{
    return (struct sim_job_config){.scheme = "switchml",
                                   .workers = workers,
                                   .iterations = 2,
                                   .window = 16,
                                   .payload = 1024,
                                   .bytes = 100000,
                                   .placement = SIM_RANDOM};
}

/* Naming all is the same as naming none. */
static void adders__may_be_all(void **state)
{
    uint64_t hashes[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        set_up(SIM_CLOS);
        scenario.jobs[0] = job_of(20);
        scenario.job_count = 1;
        scenario.adder_count = i;
        scenario.adders[0] = (struct sim_adders){.first = 72, .count = 22, .share = 1};
        finish();
        hashes[i] = run.network.hash;
        sim_run_deinit(&run);
    }
    assert_true(hashes[0] == hashes[1]);
}

/* Where only the spine adds it gets every worker's own contribution, and sends as many results into the leaf's link; where the leaf adds too, one. */
static void adders__carry_what_they_must(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        set_up(SIM_LEAF_SPINE);
        scenario.jobs[0] = job_of(24); /* all hosts */
        scenario.job_count = 1;
        scenario.adder_count = 1;
        scenario.topology.buffer_bytes = SIM_NEVER;
        scenario.adders[0] = (struct sim_adders){.first = 24 + (i == 0 ? 4 : 0), .count = i == 0 ? 2 : 6, .share = 1};
        finish();
        assert_int_equal(run.jobs.jobs[0].count - 24, i == 0 ? 1 : 5);
        uint32_t up = 2 * 24;         /* leaf0 to spine0, which job 0 takes */
        double per_worker = 2.0 * 98; /* fragments of both iterations */
        double each = (double)run.network.links[up].packets / per_worker;
        print_message("%.2f packets of a fragment from a leaf to the spine\n", each);
        assert_true(each >= (i == 0 ? 6 : 1) && each < (i == 0 ? 6.5 : 1.3));
        assert_int_equal(run.jobs.jobs[0].wrong, 0);
        sim_run_deinit(&run);
    }
}

/* Whichever switches add: every sum is right, with losses as well. */
static void adders__may_be_any(void **state)
{
    static const enum sim_topology_kind kinds[] = {SIM_LEAF_SPINE, SIM_FAT_TREE, SIM_CLOS};
    uint32_t ended = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        char error[TRIB_ERROR_TEXT_MAX] = "";
        struct trib_prng prng = {.state = seed};
        set_up(kinds[seed % 3]);
        scenario.seed = seed;
        scenario.jobs[0] = job_of(2 + (uint32_t)trib_prng_below(&prng, 12));
        scenario.jobs[1] = job_of(2);
        scenario.job_count = 2;
        struct sim_topology_size size = sim_topology_size(&scenario.topology);
        scenario.adder_count = 1;
        scenario.adders[0] = (struct sim_adders){size.hosts, size.switches, 0.7};
        if (trib_prng_below(&prng, 2) == 0) {
            scenario.faults = (struct sim_faults_config){.loss = 0.01, .duplicate = 0.01, .late_ps = 50 * US_PS};
        }
        if (!sim_run_init(&run, &scenario, error)) {
            assert_true(strncmp(error, "no switch that adds is above all", 32) == 0);
            sim_run_deinit(&run);
            continue;
        }
        uint32_t adders = 0;
        for (uint32_t i = 0; i < size.switches; i++) {
            adders += run.adds[size.hosts + i];
        }
        assert_int_equal(adders, (uint32_t)(0.7 * size.switches + 0.5));
        sim_run_deinit(&run);
        finish();
        assert_int_equal(run.jobs.done_jobs, 2);
        ended++;
        sim_run_deinit(&run);
    }
    print_message("%u of %u worlds have a root\n", ended, WORLDS);
    assert_true(ended > WORLDS / 4);
}

/* Where the network is no tree, workers on one switch have a root there. */
static void adders__may_be_one_router(void **state)
{
    (void)state;
    set_up(SIM_DRAGONFLY);
    scenario.topology.routers = 2;
    scenario.topology.globals = 1;
    scenario.jobs[0] = job_of(3);
    scenario.jobs[1] = job_of(3);
    scenario.jobs[0].placement = scenario.jobs[1].placement = SIM_CLOSE;
    scenario.job_count = 2;
    finish();
    assert_int_equal(run.jobs.done_jobs, 2);
    assert_int_equal(run.jobs.jobs[0].count, 4);
    assert_true(run.network.links[2 * run.network.hosts].packets == 0); /* nothing left the router */
    sim_run_deinit(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clos__has_its_ratios), cmocka_unit_test(clos__has_shortest_ways),
        cmocka_unit_test(adders__may_be_all),   cmocka_unit_test(adders__carry_what_they_must),
        cmocka_unit_test(adders__may_be_any),   cmocka_unit_test(adders__may_be_one_router),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
