/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_chain.c: jobs whose racks form chains in the simulated network (schemes rina and rina-literal): their
 * shapes, the bytes that links carry, and every sum, whatever is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "sim/results/results.h"
#include "unit/sim_text.h"

#define RATES "rate = \"10Gbps\"\ndelay = \"1us\"\n"
#define LEAF_SPINE "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts = 4\n" RATES
#define FAT_TREE "[topology]\nkind = \"fat-tree\"\nk = 4\n" RATES
#define DRAGONFLY "[topology]\nkind = \"dragonfly\"\nrouters = 2\nglobals = 1\nhosts = 4\n" RATES
#define STAR "[topology]\nkind = \"star\"\nhosts = 8\n" RATES

/* ---- shapes ---- */

static void put_name(FILE *out, uint32_t place)
{
    char name[SIM_NODE_NAME_MAX];

    sim_topology_node_name(&s.topology, place, name);
    (void)fputs(name, out);
}

/* "leaf0[0 1 leaf1[2 3]]": a node, and its children by their numbers, workers by rank. */
static void put_tree(FILE *out, uint32_t endpoint, uint32_t depth)
{
    const struct sim_endpoint *e = &run.jobs.endpoints[endpoint];
    uint32_t number = 0;

    assert_true(depth < 40);
    if (e->is_worker) {
        (void)fprintf(out, "%u", e->rank);
        return;
    }
    put_name(out, e->place);
    (void)fputc('[', out);
    for (uint32_t child = e->first_child; child != SIM_NONE; child = run.jobs.endpoints[child].sibling) {
        const struct sim_endpoint *c = &run.jobs.endpoints[child];
        assert_int_equal(c->child, number);
        assert_int_equal(c->parent, endpoint);
        assert_int_equal(c->is_branch, !c->is_worker);
        assert_int_equal(e->branches >> number & 1, c->is_branch);
        (void)fputs(number++ != 0 ? " " : "", out);
        put_tree(out, child, depth + 1);
    }
    assert_int_equal(e->children, number);
    (void)fputc(']', out);
}

static char *shape_of(uint32_t tree)
{
    const struct sim_job *job = &run.jobs.jobs[0];
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    uint32_t roots = 0;

    assert_non_null(out);
    for (uint32_t i = sim_job_switches(job); i < job->first + job->count; i++) {
        if (run.jobs.endpoints[i].tree == tree && !run.jobs.endpoints[i].is_branch) {
            assert_int_equal(run.jobs.endpoints[i].place, job->roots[tree]);
            put_tree(out, i, 0);
            roots++;
        }
    }
    (void)fclose(out);
    assert_int_equal(roots, 1);
    return text;
}

static void racks__form_chains(void **state)
{
    static const struct {
        const char *topology, *job, *shape;
    } cases[] = {
        {LEAF_SPINE, "workers = 8\n", "leaf0[0 1 2 3 leaf1[4 5 6 7]]"},
        {LEAF_SPINE, "workers = 6\nhosts = \"0 1 4 5 8 9\"\n", "leaf0[0 1 leaf1[2 3] leaf2[4 5]]"},
        {LEAF_SPINE, "workers = 8\nhosts = \"12 0 13 4 1 8 5 9\"\n", /* by lowest ranks */
         "leaf3[0 2 leaf0[1 4 leaf1[3 6]] leaf2[5 7]]"},
        {LEAF_SPINE, "workers = 4\n", "leaf0[0 1 2 3]"},
        {STAR, "workers = 5\n", "switch0[0 1 2 3 4]"},
        /* a worker alone is a link by itself, */
        {LEAF_SPINE, "workers = 5\nhosts = \"0 1 4 8 9\"\n", "leaf0[0 1 host4[2] leaf2[3 4]]"},
        {LEAF_SPINE, "workers = 3\nhosts = \"0 4 8\"\n", "host0[0 host4[1] host8[2]]"},
        {LEAF_SPINE, "workers = 3\nhosts = \"0 4 8\"\nat_least = 1\n", "leaf0[0 leaf1[1] leaf2[2]]"},
        {LEAF_SPINE, "workers = 5\nhosts = \"0 1 4 5 6\"\nat_least = 3\n", "host0[0 host1[1] leaf1[2 3 4]]"},
        /* and so is each worker below a switch that does not add. */
        {LEAF_SPINE "[switches]\nadd = \"leaf0 leaf2\"\n", "workers = 6\nhosts = \"0 1 4 5 8 9\"\n",
         "leaf0[0 1 host4[2 host5[3]] leaf2[4 5]]"},
        {LEAF_SPINE "[switches]\nadd = \"spine\"\n", "workers = 3\n", "host0[0 host1[1] host2[2]]"},
        {DRAGONFLY, "workers = 6\nhosts = \"0 1 4 5 8 9\"\n", "router0[0 1 router1[2 3] router2[4 5]]"},
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_text("duration = \"10s\"\n%s[[job]]\nscheme = \"rina\"\nsize = \"200KB\"\niterations = 2\n%s",
                  cases[i].topology, cases[i].job);
        char *shape = shape_of(0);
        assert_string_equal(shape, cases[i].shape);
        free(shape);
        finish();
        assert_int_equal(run.jobs.jobs[0].iterations, 2);
        close_run();
    }
}

/* A switch above a single one has the same hosts as that: packets for the lower one go down there. */
static void pods_of_one_edge__are_ways(void **state)
{
    static const char *const topologies[] = {
        "[topology]\nkind = \"fat-tree\"\nk = 2\n" RATES,
        "[topology]\nkind = \"clos\"\npods = 2\nedges = 1\nhosts = 2\nratio = \"1:1\"\ncore_ratio = \"1:1\"\n" RATES,
        "[topology]\nkind = \"leaf-spine\"\nleaves = 1\nspines = 1\nhosts = 2\n" RATES,
    };
    static const char *const jobs[] = {"scheme = \"rina\"\nat_least = 1\n", "scheme = \"rina-literal\"\nat_least = 1\n",
                                       "scheme = \"atp\"\nservers_at_workers = true\n"};

    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        open_text("duration = \"10ms\"\n%s[[job]]\nworkers = 2\nsize = \"20KB\"\niterations = 2\n%s", topologies[i / 3],
                  jobs[i % 3]);
        finish();
        assert_int_equal(run.jobs.jobs[0].iterations, 2);
        close_run();
    }
}

/* Each tree has the ring cut elsewhere; there are as many as links, and no more. */
static void chains__are_cut_elsewhere(void **state)
{
    static const char *const shapes[] = {"leaf0[0 1 leaf1[2 3] host8[4]]", "leaf0[0 1 host8[4 leaf1[2 3]]]",
                                         "leaf0[0 1 leaf1[2 3 host8[4]]]"};

    (void)state;
    open_text("duration = \"10s\"\n" LEAF_SPINE "[[job]]\nscheme = \"rina\"\nsize = \"200KB\"\niterations = 2\n"
              "workers = 5\nhosts = \"0 1 4 5 8\"\ntrees = 5\n");
    assert_int_equal(run.jobs.jobs[0].trees, 3);
    for (uint32_t tree = 0; tree < 3; tree++) {
        char *shape = shape_of(tree);
        assert_string_equal(shape, shapes[tree]);
        free(shape);
    }
    finish();
    close_run();
}

/* By the published rule sums go on, and the first rank of a rack takes those that come. */
static void agents__carry_by_the_published_rule(void **state)
{
    static const struct {
        const char *hosts, *shape;
    } cases[] = {
        {"workers = 6\nhosts = \"0 1 4 5 8 9\"\n", "leaf2[host8[4 leaf1[host4[2 leaf0[host0[0] 1]] 3]] 5]"},
        {"workers = 5\nhosts = \"0 4 5 8 9\"\n", "leaf2[host8[3 leaf1[host4[1 host0[host0[0]]] 2]] 4]"},
        {"workers = 4\nhosts = \"0 1 4 8\"\n", "host8[host8[3 host4[host4[2 leaf0[host0[0] 1]]]]]"},
        {"workers = 2\nhosts = \"0 1\"\n", "leaf0[host0[0] 1]"},
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_text("duration = \"10s\"\n" LEAF_SPINE
                  "[[job]]\nscheme = \"rina-literal\"\nsize = \"200KB\"\niterations = 2\n%s",
                  cases[i].hosts);
        char *shape = shape_of(0);
        assert_string_equal(shape, cases[i].shape);
        free(shape);
        finish();
        close_run();
    }
}

/* ---- bytes ---- */

/* Of a link, in sizes of the gradients with their headers. */
static double share_of(const char *from, const char *to)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    const struct sim_job *job = &run.jobs.jobs[0];
    double whole = (double)job->fragments * (job->config.payload + SIM_JOB_HEADERS) * job->config.iterations;
    uint32_t ends[2];

    assert_true(sim_topology_find(&s.topology, from, strlen(from), &ends[0], error));
    assert_true(sim_topology_find(&s.topology, to, strlen(to), &ends[1], error));
    return (double)run.network.links[trib_fabric_find(&run.network.fabric, ends[0], ends[1])].bytes / whole;
}

static void assert_share(const char *from, const char *to, double share)
{
    double is = share_of(from, to);

    print_message("%s to %s: %.4f of the gradients\n", from, to, is);
    if (is < 0.98 * share || is > 1.02 * share) {
        fail_msg("%s to %s carries %.4f of the gradients, not %.4f", from, to, is, share);
    }
}

static void open_four_racks(const char *scheme, uint32_t trees)
{
    open_text("duration = \"10s\"\n" LEAF_SPINE
              "[queues]\nbuffer = \"none\"\n[[job]]\nscheme = \"%s\"\nsize = \"2MB\"\niterations = 2\nworkers = 16\n"
              "trees = %u\n",
              scheme, trees);
    finish();
}

/* Each worker's link carries the gradients once. That of a rack carries the sum of the racks behind, and the result, for
 * each rack beside it; with as many trees as racks all carry 2 (G - 1)/G. */
static void links__carry_the_same(void **state)
{
    static const char *const leaves[] = {"leaf0", "leaf1", "leaf2", "leaf3"};

    (void)state;
    open_four_racks("rina", 1);
    assert_share("host0", "leaf0", 1);
    assert_share("leaf3", "host15", 1);
    assert_share("leaf3", "spine0", 1);
    assert_share("spine0", "leaf3", 1);
    assert_share("leaf1", "spine0", 2);
    assert_share("spine0", "leaf0", 2);
    close_run();
    open_four_racks("rina", 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_in_range((uint64_t)(1000 * (share_of(leaves[i], "spine0") + share_of(leaves[i], "spine1"))), 1470, 1530);
        assert_in_range((uint64_t)(1000 * (share_of("spine0", leaves[i]) + share_of("spine1", leaves[i]))), 1470, 1530);
    }
    close_run();
}

/* With as many chunks as racks, each begun at another: (1 + 3/4) M at agents, and M at other workers. An agent sends and
 * gets a header for each sum of the racks before besides, its ACK. */
static void agents__carry_the_papers_bytes(void **state)
{
    static const char *const agents[] = {"host0", "host4", "host8", "host12"};
    static const char *const leaves[] = {"leaf0", "leaf1", "leaf2", "leaf3"};

    (void)state;
    open_four_racks("rina-literal", 4);
    double acks = 0.75 * SIM_JOB_HEADERS / (run.jobs.jobs[0].config.payload + SIM_JOB_HEADERS);
    for (uint32_t i = 0; i < 4; i++) {
        assert_share(agents[i], leaves[i], 1.75 + acks);
        assert_share(leaves[i], agents[i], 1.75 + acks);
    }
    assert_share("host1", "leaf0", 1);
    assert_share("leaf3", "host15", 1);
    close_run();
}

/* ---- sums ---- */

/* On every topology, with full queues, lost, doubled and late packets, switches that begin anew, cables that are cut;
 * twice, with the same packets. */
static void sums__are_right(void **state)
{
    static const char *const topologies[] = {
        LEAF_SPINE "[[restart]]\nswitch = \"leaf1\"\nat = \"300us\"\naway = \"200us\"\n",
        FAT_TREE "[switches]\nadd = \"edge0 edge3 core\"\nmulticast = true\nlatency = \"1us\"\n",
        DRAGONFLY "[[restart]]\nswitch = \"router0\"\nat = \"200us\"\n[switches]\nmulticast = true\n",
        DRAGONFLY "[switches]\nadd = \"50% router\"\nmemory = \"200KB\"\n"
                  "[[failure]]\nlink = \"router0-router1\"\nat = \"100us\"\nuntil = \"900us\"\nreact = \"50us\"\n"};
    static const char *const wrongs[] = {
        "[queues]\nbuffer = \"12pkt\"\n",
        "[faults]\nloss = \"0.5%\"\nduplicate = \"1%\"\nreorder = \"1%\"\n",
        "[queues]\npfc = true\nshared = \"1MB\"\nxon_below = \"5pkt\"\n",
    };
    uint64_t dropped = 0;

    (void)state;
    for (uint32_t i = 0; i < 24; i++) {
        uint64_t hashes[2];
        for (uint32_t again = 0; again < 2; again++) {
            open_text("duration = \"20s\"\nseed = %u\n%s%s[[job]]\nscheme = \"%s\"\nsize = \"300KB\"\niterations = 3\n"
                      "workers = 8\nhosts = \"0 1 4 5 6 8 9 12\"\ntrees = %u\nbuckets = 2\ncompute = \"100us\"\n"
                      "[[job]]\nscheme = \"ps\"\nworkers = 2\nhosts = \"2 3 7\"\nsize = \"300KB\"\n"
                      "iterations = 2\n",
                      i + 1, topologies[i % 4], wrongs[i / 4 % 3], i % 8 < 4 ? "rina" : "rina-literal", 1 + i % 5);
            finish();
            assert_int_equal(run.jobs.jobs[0].iterations, 3);
            assert_int_equal(run.jobs.jobs[1].iterations, 2);
            hashes[again] = run.network.hash;
            dropped += run.network.dropped;
            close_run();
        }
        assert_true(hashes[0] == hashes[1]);
    }
    assert_true(dropped > 100);
}

/* Of the published control loop any message may be lost: to an agent, to its switch, to a rank behind that. */
static void lost_pulls__are_asked_for(void **state)
{
    static const uint32_t windows[] = {1, 3, 64, 500};

    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        open_text("duration = \"60s\"\nseed = %u\n" LEAF_SPINE
                  "[faults]\nloss = \"2%%\"\nduplicate = \"2%%\"\nreorder = \"2%%\"\n"
                  "[[job]]\nscheme = \"rina-literal\"\nsize = \"100KB\"\niterations = 2\nworkers = 8\n"
                  "hosts = \"0 1 4 5 6 8 9 12\"\ntrees = 3\nwindow = %u\n",
                  i + 1, windows[i % 4]);
        finish();
        assert_int_equal(run.jobs.jobs[0].iterations, 2);
        close_run();
    }
}

/* ---- what cannot be ---- */

static void at_least__is_of_chains(void **state)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    assert_false(sim_scenario_parse(&s,
                                    "duration = \"1s\"\n" STAR
                                    "[[job]]\nscheme = \"panama\"\nworkers = 2\nsize = \"1KB\"\niterations = "
                                    "1\nat_least = 2\n",
                                    "x", NULL, error));
    assert_non_null(strstr(error, "at_least does not apply to scheme panama: its switches form no chain"));
    sim_scenario_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(racks__form_chains),        cmocka_unit_test(pods_of_one_edge__are_ways),
        cmocka_unit_test(chains__are_cut_elsewhere), cmocka_unit_test(agents__carry_by_the_published_rule),
        cmocka_unit_test(links__carry_the_same),     cmocka_unit_test(agents__carry_the_papers_bytes),
        cmocka_unit_test(sums__are_right),           cmocka_unit_test(lost_pulls__are_asked_for),
        cmocka_unit_test(at_least__is_of_chains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
