/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_topology.c: folded Clos of stated ratios, networks from files, and trees of jobs where only some switches
 * add. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/units.h"
#include "sim/scenario/scenario.h"
#include "unit/sim_by_hand.h"

#define WORLDS 100U

static struct sim_scenario scenario;
static struct sim_run run;

static void set_up(enum sim_topology_kind kind)
{
    scenario = small_scenario(kind, 6);
    scenario.topology.spines = 2;
    scenario.topology.pods = 3;
    scenario.topology.edges = 4;
    scenario.topology.ratio = (struct sim_ratio){3, 1};
    scenario.topology.core_ratio = (struct sim_ratio){2, 1};
}

static void finish(void)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (!sim_run_init(&run, &scenario, error)) {
        fail_msg("%s", error);
    }
    finish_run(&run);
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
            up += n.fabric.from[i] == node && n.links[i].to > node;
            down += n.fabric.from[i] == node && n.links[i].to < node;
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

/* Arithmetic and search find ways of the same length, between all hosts, and those of a fat tree are those of the clos
 * that it is. */
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
        assert_true(n.fabric.from[i] == fat.fabric.from[i] && n.links[i].to == fat.links[i].to);
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

/* Where only the spine adds it gets every worker's own contribution, and sends as many results into the leaf's link;
 * where the leaf adds too, one. */
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

/* ---- files ---- */

static char path[] = "/tmp/tributary-topology-XXXXXX";

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The network as a file, its nodes numbered from behind, so that switches come first. */
static void write_network(const struct sim_network *n)
{
    FILE *file = fopen(path, "w");
    uint32_t last = n->nodes - 1;

    assert_non_null(file);
    (void)fprintf(file, "%u %u %u\n", n->nodes, n->nodes - n->hosts, n->link_count / 2);
    for (uint32_t node = n->hosts; node < n->nodes; node++) {
        (void)fprintf(file, "%u ", last - node);
    }
    (void)fprintf(file, "\r\n");
    for (uint32_t i = 0; i < n->link_count; i++) {
        if (n->fabric.from[i] < n->links[i].to) {
            (void)fprintf(file, "%u %u %s 1000ns 0.000000\n", last - n->fabric.from[i], last - n->links[i].to,
                          n->fabric.from[i] < n->hosts ? "10Gbps" : "40Gbps");
        }
    }
    assert_int_equal(fclose(file), 0);
}

/* What is written and read again has the same ways, in as many steps, and carries the same flows; its failures and jobs
 * work. */
static void file__is_the_network_that_it_says(void **state)
{
    static const char text[] = "duration = \"100ms\"\n[topology]\nkind = \"file\"\nfile = \"%s\"\n"
                               "[[traffic]]\nkind = \"permutation\"\nsize = \"100KB\"\n"
                               "[[job]]\nscheme = \"ring\"\nworkers = 5\nsize = \"100KB\"\niterations = 2\n"
                               "[[failure]]\nlink = \"host3-switch%u\"\nat = \"20us\"\nuntil = \"1ms\"\n";
    char scenario_text[sizeof text + sizeof path];
    char error[TRIB_ERROR_TEXT_MAX] = "";
    uint32_t ways[2][SIM_PATH_MAX];
    struct sim_network n;

    (void)state;
    set_up(SIM_CLOS);
    assert_true(sim_topology_build(&scenario.topology, &n));
    write_network(&n);
    (void)snprintf(scenario_text, sizeof scenario_text, text, path, 10); /* which was edge11 */
    assert_true(sim_scenario_parse(&scenario, scenario_text, "x", NULL, error));
    assert_int_equal(scenario.topology.edge.rate_bps, 10 * GBPS);
    assert_true(sim_run_init(&run, &scenario, error));
    assert_int_equal(run.network.hosts, n.hosts);
    assert_int_equal(run.network.link_count, n.link_count);
    for (uint32_t pair = 0; pair < 72 * 72; pair++) {
        struct sim_packet packet = {.to = (uint16_t)(pair / 72), .hash = pair};
        struct sim_packet mirrored = {.to = (uint16_t)(71 - pair / 72), .hash = pair};
        if (pair / 72 != pair % 72) {
            assert_int_equal(sim_network_path(&n, pair % 72, &packet, ways[0]),
                             sim_network_path(&run.network, 71 - pair % 72, &mirrored, ways[1]));
        }
    }
    finish_run(&run);
    assert_int_equal(run.jobs.done_jobs, 1);
    assert_int_equal(run.jobs.jobs[0].wrong, 0);
    assert_true(run.network.cut_off > 0);
    sim_run_deinit(&run);
    sim_scenario_free(&scenario);
    sim_network_deinit(&n);
}

static void files__are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "1:1: expected the numbers of nodes, switches and cables"},
        {"4 x 3\n", "1:3: the number of switches: \"x\" is not a whole number"},
        {"4 3 3\n", "1:1: 1 hosts and 3 switches; there can be from 2 to 131072 hosts, and 1 switch and more"},
        {"4 1 3\n9\n", "2:1: the number of a switch: 9 is not from 0 to 3"},
        {"4 2 3\n3 3\n", "2:3: switch 3 is listed twice"},
        {"4 1 3\n3\n0 3 10Gbps 1us\n", "3:1: 1 cables, but the first line says 3"},
        {"4 1 3\n3\n0 3 10 1us\n", "3:5: \"10\" has no unit; a rate is written like 10Gbps or 100Mbps"},
        {"4 1 3\n3\n0 3 0Gbps 1us\n", "3:5: rate is 0Gbps; the range is 1Mbps to 3200Gbps"},
        {"4 1 3\n3\n0 3 10Gbps 2s\n", "3:12: delay is 2s; the limit is 1s"},
        {"4 1 3\n3\n0 9 10Gbps 1us\n", "3:3: a cable's node: 9 is not from 0 to 3"},
        {"4 1 3\n3\n0 3 10Gbps\n", "3:11: a cable needs two nodes, a rate and a delay: 0 4 100Gbps 1000ns"},
        {"4 1 3\n3\n0 0 10Gbps 1us\n", "3:3: a cable from a node to itself"},
        {"4 1 3\n3\n0 3 10Gbps 1us 0.01\n", "3:16: an error rate of 0.01: for losses use [faults] of the scenario"},
        {"4 1 3 7\n3\n0 3 10Gbps 1us\n1 3 10Gbps 1us\n2 3 10Gbps 1us\n",
         "1:7: unexpected \"7\" at the end of the line"},
        {"4 1 3\n3 2\n0 3 10Gbps 1us\n1 3 10Gbps 1us\n2 3 10Gbps 1us\n",
         "2:3: unexpected \"2\" at the end of the line"},
        {"4 1 3\n3\n0 3 10Gbps 1us 0 1\n1 3 10Gbps 1us\n2 3 10Gbps 1us\n",
         "3:18: unexpected \"1\" at the end of the line"},
        {"4 1 3\n3\n0 3 10Gbps 1us .\n1 3 10Gbps 1us\n2 3 10Gbps 1us\n",
         "3:16: an error rate of .: for losses use [faults] of the scenario"},
        {"4 1 3\n3\n0 3 10Gbps 1us\n1 3 10Gbps 1us\n2 3 10Gbps 1us 0.0\n\n1 2 10Gbps 1us\n",
         "7:1: more than the 3 cables of the first line"},
        {"4 1 3\n3\n0 3 10Gbps 1us\n1 3 10Gbps 1us\n3 1 10Gbps 1us\n",
         "5:1: a second cable between the nodes of line 4"},
        {"4 1 2\n3\n0 3 10Gbps 1us\n1 3 10Gbps 1us\n", "1:1: host 2 has no cable"},
        {"4 1 3\n3\n0 3 10Gbps 1us\n1 3 10Gbps 1us\n2 1 10Gbps 1us\n",
         "5:1: a cable from host to host: hosts connect to switches only"},
        {"4 2 3\n2 3\n0 2 10Gbps 1us\n1 3 10Gbps 1us\n0 3 10Gbps 1us\n", "5:1: host 0 has a second cable"},
        {"5 2 3\n3 4\n0 3 10Gbps 1us\n1 4 10Gbps 1us\n2 4 10Gbps 1us\n",
         "4:1: the network is not connected: no path from host 0 to switch 1"},
        {"3 1 2\n2\n0 1 10Gbps 1us\n1 2 10Gbps 1us\n",
         "3:1: a cable from host to host: hosts connect to switches only"},
    };
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct sim_cables cables;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(cases[i].text);
        assert_false(sim_cables_read(&cables, path, error));
        sim_cables_free(&cables);
        assert_true(strncmp(error, path, sizeof path - 1) == 0);
        assert_string_equal(error + sizeof path, cases[i].error);
    }
}

/* More links in a row than a path can have. */
static void files__are_not_too_long(void **state)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct sim_cables cables;

    (void)state;
    for (uint32_t switches = 15; switches <= 16; switches++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        (void)fprintf(file, "%u %u %u\n", switches + 2, switches, switches + 1);
        for (uint32_t i = 0; i < switches; i++) {
            (void)fprintf(file, "%u ", i + 2);
        }
        (void)fprintf(file, "\n0 2 1Gbps 1us\n1 %u 1Gbps 1us\n", switches + 1);
        for (uint32_t i = 2; i < switches + 1; i++) {
            (void)fprintf(file, "%u %u 1Gbps 1us\n", i, i + 1);
        }
        assert_int_equal(fclose(file), 0);
        assert_int_equal(sim_cables_read(&cables, path, error), switches == 15);
        sim_cables_free(&cables);
    }
    assert_string_equal(error + sizeof path, "4:1: 17 links from host 0 to host 1; 16 at most");
}

static int make_file(void **state)
{
    int file = mkstemp(path);

    (void)state;
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* As many hosts as there can be: what is sent to each comes there, also to a job's workers at both ends. */
static void hosts__may_be_131072(void **state)
{
    static struct sim_scenario many;
    static struct sim_run big;
    static const char text[] = "duration = \"100ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2048\nspines = 16\n"
                               "hosts = 64\nrate = \"10Gbps\"\ndelay = \"1us\"\n[[traffic]]\nkind = \"permutation\"\n"
                               "size = \"1000B\"\n[[job]]\nscheme = \"panama\"\nworkers = 4\nsize = \"20KB\"\n"
                               "iterations = 1\nhosts = \"0 65535 65536 131071\"\n[[job]]\nscheme = \"ring\"\n"
                               "workers = 3\nsize = \"20KB\"\niterations = 1\nhosts = \"1 65537 131070\"\n";
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    assert_true(sim_scenario_parse(&many, text, "x", NULL, error));
    assert_true(sim_run_init(&big, &many, error));
    assert_int_equal(big.network.hosts, SIM_HOSTS_MAX);
    while (sim_run_advance(&big, 1000000)) {
    }
    assert_null(sim_run_check(&big));
    assert_int_equal(big.jobs.done_jobs, 2);
    assert_true(big.end_count > 0);
    for (uint64_t i = 0; i < big.end_count; i++) {
        assert_true(big.ends[i].end_ps - big.ends[i].start_ps >= big.ends[i].ideal_ps);
    }
    sim_run_deinit(&big);
    sim_scenario_free(&many);
}

/* Division by multiplication, at the last host below each link, where it would fail first. */
static void routes__find_every_host(void **state)
{
    (void)state;
    for (uint32_t each = 1; each <= 16384; each += 1 + each / 300) {
        uint32_t links = SIM_HOSTS_MAX / each;
        struct sim_route route = sim_route_tree(7, links * each, each, 100);
        for (uint32_t link = 0; link < links; link++) {
            assert_int_equal(sim_route_down(&route, 7 + link * each), 100 + link);
            assert_int_equal(sim_route_down(&route, 7 + link * each + each - 1), 100 + link);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts__may_be_131072),
        cmocka_unit_test(routes__find_every_host),
        cmocka_unit_test(clos__has_its_ratios),
        cmocka_unit_test(clos__has_shortest_ways),
        cmocka_unit_test(adders__may_be_all),
        cmocka_unit_test(adders__carry_what_they_must),
        cmocka_unit_test(adders__may_be_any),
        cmocka_unit_test(adders__may_be_one_router),
        cmocka_unit_test(file__is_the_network_that_it_says),
        cmocka_unit_test(files__are_refused_with_their_line),
        cmocka_unit_test(files__are_not_too_long),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
