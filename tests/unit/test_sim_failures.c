/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_failures.c: cables that are cut and mended, packets that are lost, doubled and late: flows go round, or wait
 * and go on; sums stay right; every packet is accounted for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/units.h"
#include "unit/sim_by_hand.h"

#define WORLDS 60U

static struct sim_scenario scenario;
static struct sim_run run;

/* 4 leaves and 4 spines, 4 hosts to a leaf; every host sends `bytes` to another. */
static void set_up(uint64_t seed, uint64_t bytes)
{
    scenario = small_scenario(SIM_LEAF_SPINE, 4);
    scenario.seed = seed;
    scenario.traffic_count = 1;
    scenario.traffic[0] = (struct sim_traffic){.kind = SIM_PERMUTATION, .bytes = bytes};
}

static uint32_t link_of(const char *from, const char *to)
{
    struct sim_network n;
    char error[TRIB_ERROR_TEXT_MAX];
    uint32_t ends[2];
    uint32_t link = 0;

    assert_true(sim_topology_find(&scenario.topology, from, strlen(from), &ends[0], error));
    assert_true(sim_topology_find(&scenario.topology, to, strlen(to), &ends[1], error));
    assert_true(sim_topology_build(&scenario.topology, &n));
    while (n.fabric.from[link] != ends[0] || n.links[link].to != ends[1]) {
        link++;
    }
    sim_network_deinit(&n);
    return link;
}

static void cut(uint32_t link, uint64_t at_ps, uint64_t until_ps, uint64_t react_ps)
{
    scenario.failures[scenario.failure_count++] =
        (struct sim_failure){.link = link, .at_ps = at_ps, .until_ps = until_ps, .react_ps = react_ps};
}

static void begin(void)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (!sim_run_init(&run, &scenario, error)) {
        fail_msg("%s", error);
    }
}

/* Runs until then, and looks at all counts on the way. */
static void run_until(uint64_t until_ps)
{
    while (sim_run_now(&run) < until_ps && sim_run_advance(&run, 500)) {
        assert_null(sim_run_check(&run));
    }
    assert_null(sim_run_check(&run));
}

static void names__are_those_of_nodes(void **state)
{
    static const enum sim_topology_kind kinds[] = {SIM_STAR, SIM_LEAF_SPINE, SIM_FAT_TREE, SIM_DRAGONFLY};
    char error[TRIB_ERROR_TEXT_MAX];
    char name[SIM_NODE_NAME_MAX];
    uint32_t node;

    (void)state;
    set_up(1, 1000);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        scenario.topology.kind = kinds[i];
        struct sim_topology_size size = sim_topology_size(&scenario.topology);
        for (uint32_t n = 0; n < size.hosts + size.switches; n++) {
            sim_topology_node_name(&scenario.topology, n, name);
            assert_true(sim_topology_find(&scenario.topology, name, strlen(name), &node, error));
            assert_int_equal(node, n);
        }
    }
    scenario.topology.kind = SIM_FAT_TREE;
    assert_false(sim_topology_find(&scenario.topology, "core9", 5, &node, error));
    assert_string_equal(error, "there is no core9; there are core0 to core3");
    assert_false(sim_topology_find(&scenario.topology, "agregation1", 11, &node, error));
    assert_string_equal(error, "there is no agregation1; did you mean aggregation1?");
    assert_false(sim_topology_find(&scenario.topology, "7", 1, &node, error));
    assert_false(sim_topology_find(&scenario.topology, "host", 4, &node, error));
}

/* Tables choose what arithmetic chooses, while nothing is cut. */
static void tables__are_the_same_ways(void **state)
{
    static const enum sim_topology_kind kinds[] = {SIM_STAR, SIM_LEAF_SPINE, SIM_FAT_TREE};
    uint32_t ways[2][SIM_PATH_MAX];
    struct sim_network n;

    (void)state;
    set_up(1, 1000);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct trib_prng prng = {.state = i};
        scenario.topology.kind = kinds[i];
        scenario.topology.k = 8;
        for (uint32_t draw = 0; draw < 200; draw++) {
            assert_true(sim_topology_build(&scenario.topology, &n));
            uint32_t from = (uint32_t)trib_prng_below(&prng, n.hosts);
            struct sim_packet packet = {.hash = (uint32_t)trib_prng_next(&prng)};
            packet.to = (uint16_t)((from + 1 + trib_prng_below(&prng, n.hosts - 1)) % n.hosts);
            uint32_t count = sim_network_path(&n, from, &packet, ways[0]);
            assert_true(sim_network_search_routes(&n));
            assert_int_equal(sim_network_path(&n, from, &packet, ways[1]), count);
            assert_memory_equal(ways[0], ways[1], count * sizeof ways[0][0]);
            sim_network_deinit(&n);
        }
    }
}

/* While a cable is cut nothing comes over it, everything goes round, and afterwards it is used again. */
static void flows__go_round_a_cut(void **state)
{
    (void)state;
    set_up(3, SIM_NEVER);
    scenario.topology.hosts = 16;
    uint32_t up = link_of("leaf0", "spine1");
    uint32_t down = link_of("spine1", "leaf0");
    scenario.duration_ps = 30 * MS_PS;
    cut(down, 10 * MS_PS, 20 * MS_PS, 0);
    begin();
    run_until(10 * MS_PS);
    uint64_t before[2] = {run.network.links[up].packets, run.network.links[down].packets};
    uint64_t bytes = run.flows.bytes;
    assert_true(before[0] > 0 && before[1] > 0);
    run_until(11 * MS_PS);
    uint64_t dropped = run.network.dropped;
    run_until(20 * MS_PS - 50 * US_PS);
    assert_int_equal(run.network.links[up].packets, before[0]);
    assert_int_equal(run.network.links[down].packets, before[1]);
    assert_true(run.network.cut_off > 0);
    assert_int_equal(run.network.links[up].dropped + run.network.links[down].dropped, run.network.cut_off);
    assert_int_equal(run.network.dropped, dropped); /* whoever knew the way round lost nothing */
    assert_true(run.flows.bytes - bytes > bytes * 3 / 4);
    run_until(30 * MS_PS);
    assert_true(run.network.links[up].packets > before[0] && run.network.links[down].packets > before[1]);
    assert_true(run.network.whole_routes == NULL);
    sim_run_deinit(&run);
}

/* Until the switches know, what they send into the cable is lost. */
static void flows__lose_until_it_is_known(void **state)
{
    uint64_t lost[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        set_up(3, SIM_NEVER);
        scenario.topology.hosts = 16;
        scenario.duration_ps = 20 * MS_PS;
        uint32_t up = link_of("leaf0", "spine1");
        cut(up, 5 * MS_PS, SIM_NEVER, i * MS_PS);
        begin();
        run_until(6 * MS_PS - 1);
        lost[i] = run.network.links[up].dropped;
        run_until(7 * MS_PS);
        assert_true(run.network.links[up].dropped <= lost[i] + i);
        sim_run_deinit(&run);
    }
    assert_true(lost[1] > lost[0]);
}

/* Hosts that no way leads to wait; when there is one again they go on. The network is in two parts meanwhile, and
 * packets for the other part go round in no circles. */
static void flows__wait_for_a_way(void **state)
{
    static const char *const spines[] = {"spine0", "spine1", "spine2", "spine3"};

    (void)state;
    set_up(5, 2000000);
    for (uint32_t i = 0; i < 4; i++) {
        cut(link_of("leaf2", spines[i]), MS_PS, 50 * MS_PS, 10 * US_PS * i);
    }
    cut(link_of("host1", "leaf0"), MS_PS / 2, 40 * MS_PS, 0);
    begin();
    run_until(49 * MS_PS);
    uint64_t waiting = run.flows.started - run.end_count;
    print_message("%u flows of %u wait\n", (unsigned)waiting, (unsigned)run.flows.started);
    assert_true(waiting >= 2 && waiting < 12);
    assert_true(run.network.hops < 1000000);
    run_until(scenario.duration_ps);
    assert_int_equal(run.end_count, 16);
    assert_int_equal(run.flows.over, 16);
    sim_run_deinit(&run);
}

static void counts__are_what_was_asked_for(void **state)
{
    (void)state;
    set_up(7, 3000000);
    scenario.faults =
        (struct sim_faults_config){.loss = 0.01, .duplicate = 0.02, .reorder = 0.03, .late_ps = 50 * US_PS};
    begin();
    run_until(scenario.duration_ps);
    double all = (double)run.network.arrived;
    print_message("of %.0f: lost %.4f, doubled %.4f, late %.4f\n", all, (double)run.faults.lost / all,
                  (double)run.faults.duplicated / all, (double)run.faults.reordered / all);
    assert_true(fabs((double)run.faults.lost / all - 0.01) < 0.002);
    assert_true(fabs((double)run.faults.duplicated / all - 0.02) < 0.003);
    assert_true(fabs((double)run.faults.reordered / all - 0.03) < 0.004);
    assert_int_equal(run.end_count, 16);
    assert_int_equal(run.flows.bytes, 16 * 3000000);
    assert_true(sim_flows_counters(&run.flows).repeated > 0);
    sim_run_deinit(&run);
}

static const char *const schemes[] = {"switchml", "ring", "hybrid:2"};

static void draw_world(uint64_t seed)
{
    static const enum sim_topology_kind kinds[] = {SIM_LEAF_SPINE, SIM_FAT_TREE, SIM_DRAGONFLY};
    struct trib_prng prng = {.state = seed};
    struct sim_network n;

    set_up(seed, 1 + trib_prng_below(&prng, 300000));
    scenario.topology.kind = kinds[seed % 3];
    scenario.topology.hosts = scenario.topology.kind == SIM_DRAGONFLY ? 2 : 4;
    assert_true(sim_topology_build(&scenario.topology, &n));
    uint32_t count = (uint32_t)trib_prng_below(&prng, 12);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at_ps = trib_prng_below(&prng, 5 * MS_PS);
        cut((uint32_t)trib_prng_below(&prng, n.link_count), at_ps, at_ps + 1 + trib_prng_below(&prng, 20 * MS_PS),
            trib_prng_below(&prng, 4) == 0 ? 0 : trib_prng_below(&prng, 2 * MS_PS));
    }
    sim_network_deinit(&n);
    if (trib_prng_below(&prng, 2) == 0) {
        scenario.faults = (struct sim_faults_config){
            .loss = 0.02, .duplicate = 0.02, .reorder = 0.05, .late_ps = trib_prng_below(&prng, 500 * US_PS)};
    }
    scenario.job_count = (uint32_t)trib_prng_below(&prng, 3);
    for (uint32_t i = 0; i < scenario.job_count; i++) {
        bool is_tree = scenario.topology.kind != SIM_DRAGONFLY;
        scenario.jobs[i] = (struct sim_job_config){
            .workers = 4, .iterations = 2, .window = 16, .payload = 1024, .bytes = 100000, .placement = SIM_RANDOM};
        (void)strcpy(scenario.jobs[i].scheme, schemes[is_tree ? trib_prng_below(&prng, 3) : 1]);
    }
    scenario.topology.largest = 1500;
}

/* Whatever is cut, and whatever packets do: once all is mended all comes, sums are right, and no packet is unaccounted
 * for. */
static void worlds__end(void **state)
{
    uint64_t lost_by_cuts = 0;
    uint64_t lost = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        draw_world(seed);
        begin();
        run_until(scenario.duration_ps);
        lost_by_cuts += run.network.cut_off;
        lost += run.faults.lost;
        if (run.jobs.done_jobs != run.jobs.count || (scenario.job_count == 0 && run.flows.over != run.flows.started)) {
            fail_msg("seed %u: not all has ended", (unsigned)seed);
        }
        sim_run_deinit(&run);
    }
    print_message("%u worlds; %u packets lost by cuts, %u otherwise\n", WORLDS, (unsigned)lost_by_cuts, (unsigned)lost);
    assert_true(lost_by_cuts > 100 && lost > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names__are_those_of_nodes),
        cmocka_unit_test(tables__are_the_same_ways),
        cmocka_unit_test(flows__go_round_a_cut),
        cmocka_unit_test(flows__lose_until_it_is_known),
        cmocka_unit_test(flows__wait_for_a_way),
        cmocka_unit_test(counts__are_what_was_asked_for),
        cmocka_unit_test(worlds__end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
