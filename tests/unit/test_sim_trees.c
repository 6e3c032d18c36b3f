/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_trees.c: jobs with several trees in the simulated network: each under a switch of its own, the load shared,
 * every sum right. */
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

#define FAT_TREE "[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define LEAF_SPINE \
    "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define SPREAD "workers = 8\nhosts = \"0 1 4 5 8 9 12 13\"\n" /* two on each leaf, or in each pod */
#define US_PS UINT64_C(1000000)

/* As finish, and nothing is left undone. */
static void finish_all(void)
{
    finish();
    for (uint32_t i = 0; i < run.jobs.count; i++) {
        assert_int_equal(run.jobs.jobs[i].iterations, run.jobs.jobs[i].config.iterations);
    }
}

static uint64_t run_text(const char *text)
{
    open_text("%s", text);
    finish_all();
    uint64_t hash = run.network.hash;
    close_run();
    return hash;
}

/* No two trees of a job have one root; as many as there are roots, and no more. */
static void check_roots(const struct sim_job *job, uint32_t trees)
{
    assert_int_equal(job->trees, trees);
    assert_int_equal(job->session.roots, trees);
    for (uint32_t i = 0; i < trees; i++) {
        for (uint32_t k = 0; k < i; k++) {
            assert_int_not_equal(job->roots[i], job->roots[k]);
        }
    }
}

static void trees__have_roots_of_their_own(void **state)
{
    static const struct {
        const char *topology, *job;
        uint32_t trees;
    } cases[] = {
        {FAT_TREE, SPREAD "trees = 4\n", 4},       /* the four cores */
        {FAT_TREE, SPREAD "trees = 32\n", 4},      /* there are no more */
        {FAT_TREE, SPREAD, 1},                     /* it was not asked for */
        {FAT_TREE, "workers = 4\ntrees = 4\n", 2}, /* one pod: its aggregation switches */
        {FAT_TREE, "workers = 2\ntrees = 4\n", 1}, /* one edge switch */
        {FAT_TREE "[switches]\nadd = \"core\"\n", SPREAD "trees = 4\n", 4},
        {FAT_TREE "[switches]\nadd = \"core1 core2\"\n", SPREAD "trees = 4\n", 2},
        {LEAF_SPINE, SPREAD "trees = 2\n", 2},
        {LEAF_SPINE "[switches]\nadd = \"leaf spine1\"\n", SPREAD "trees = 2\n", 1},
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "duration = \"10s\"\n%s[[job]]\nscheme = \"switchml\"\nsize = \"500KB\"\niterations = 2\n%s",
                       cases[i].topology, cases[i].job);
        open_text("%s", text);
        check_roots(&run.jobs.jobs[0], cases[i].trees);
        finish_all();
        close_run();
    }
}

/* On every topology, with full queues, lost, doubled and late packets, switches that begin anew, and those that only
 * pass on; twice, with the same packets. */
static void sums__are_right(void **state)
{
    static const char *const topologies[] = {
        FAT_TREE, LEAF_SPINE, FAT_TREE "[switches]\nadd = \"core edge\"\nmulticast = true\nlatency = \"1us\"\n",
        LEAF_SPINE "[switches]\nadd = \"spine\"\n"};
    static const char *const wrongs[] = {
        "[queues]\nbuffer = \"12pkt\"\n",
        "[faults]\nloss = \"0.5%\"\nduplicate = \"1%\"\nreorder = \"1%\"\n",
    };
    uint64_t last = 0;

    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       "duration = \"20s\"\nseed = %u\n%s%s[[job]]\nscheme = \"switchml\"\n%ssize = \"400KB\"\n"
                       "iterations = 3\ntrees = %u\nbuckets = 2\ncompute = \"100us\"\n[[job]]\nscheme = \"switchml\"\n"
                       "workers = 6\nsize = \"300KB\"\niterations = 3\nplacement = \"random\"\ntrees = 2\n"
                       "[[restart]]\nswitch = \"%s\"\nat = \"700us\"\naway = \"%uus\"\n",
                       i, topologies[i % 4], wrongs[i / 8], SPREAD, 2 + i % 3, i % 2 == 0 ? "core1" : "spine0",
                       300 * (i / 4 % 2));
        uint64_t hash = run_text(text);
        assert_true(hash == run_text(text) && hash != last);
        last = hash;
    }
}

static uint64_t bytes_between(const char *from, const char *to)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    uint32_t ends[2];

    assert_true(sim_topology_find(&s.topology, from, strlen(from), &ends[0], error));
    assert_true(sim_topology_find(&s.topology, to, strlen(to), &ends[1], error));
    for (uint32_t i = 0; i < run.network.link_count; i++) {
        if (run.network.fabric.from[i] == ends[0] && run.network.links[i].to == ends[1]) {
            return run.network.links[i].bytes;
        }
    }
    fail();
    return 0;
}

/* A worker's link has all fragments, and each of two trees half of them: so a fabric of half the rate does not hold
 * them up, as it does one tree. */
static void trees__share_the_bytes(void **state)
{
    enum { FRAGMENTS = 6000, ITERATIONS = 2 };
    double summing_us[3] = {0};

    (void)state;
    for (uint32_t trees = 1; trees <= 2; trees++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "duration = \"10s\"\n" LEAF_SPINE
                       "fabric_rate = \"5Gbps\"\n[[job]]\nscheme = \"switchml\"\n" SPREAD
                       "size = \"%uB\"\niterations = %u\ntrees = %u\n",
                       FRAGMENTS * 1408, ITERATIONS, trees);
        open_text("%s", text);
        finish_all();
        double whole = (double)ITERATIONS * FRAGMENTS * 1500;
        double used = (double)bytes_between("host0", "leaf0") / whole;
        double spines[2] = {(double)bytes_between("leaf0", "spine0") / whole,
                            (double)bytes_between("spine1", "leaf3") / whole};
        print_message("%u trees: of the gradients %.4f on a host's link, %.4f and %.4f on those of spines\n", trees,
                      used, spines[0], spines[1]);
        assert_true(used >= 1 && used < 1.001);
        assert_true(spines[0] >= 1.0 / trees && spines[0] < 1.001 / trees);
        assert_true(spines[1] >= (trees - 1) / 2.0 && spines[1] < 0.0005 + (trees - 1) / 2.0);
        summing_us[trees] = run.jobs.jobs[0].summing_ps / ITERATIONS / US_PS;
        close_run();
    }
    print_message("summing takes %.1f us through one spine, %.1f through two\n", summing_us[1], summing_us[2]);
    double line_us = FRAGMENTS * 1500 * 8 / 10e3;
    assert_true(summing_us[1] > 2 * line_us && summing_us[1] < 2.02 * line_us + 20);
    assert_true(summing_us[2] > line_us && summing_us[2] < 1.02 * line_us + 20);
}

/* A tree with a slow cable takes its half of the fragments at its own rate, and the other does not wait for it. */
static void trees__go_on_by_themselves(void **state)
{
    static const char *const schemes[] = {"switchml", "panama"};
    enum { FRAGMENTS = 6000 };

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        open_text("duration = \"10s\"\n" LEAF_SPINE "[[link]]\nlink = \"leaf0-spine1\"\nrate = \"2Gbps\"\n"
                  "[[job]]\nscheme = \"%s\"\n" SPREAD "size = \"%uB\"\niterations = 1\ntrees = 2\n",
                  schemes[i], FRAGMENTS * 1408);
        finish_all();
        double gbps = FRAGMENTS * 1500.0 * 8e3 / run.jobs.jobs[0].summing_ps;
        print_message("%s: %.2f Gbps over a tree of 10 and one of 2\n", schemes[i], gbps);
        assert_true(gbps > 0.9 * 4 && gbps <= 4.01);
        close_run();
    }
}

/* Jobs whose trees would meet on links do not, where there are others. */
static void trees__go_where_least_is(void **state)
{
    static const char *const texts[] = {
        "[[job]]\nscheme = \"switchml\"\nworkers = 4\nhosts = \"0 4 8 12\"\nsize = \"1MB\"\niterations = 1\n"
        "[[job]]\nscheme = \"switchml\"\nworkers = 4\nhosts = \"1 5 9 13\"\nsize = \"1MB\"\niterations = 1\n",
        "[[job]]\nscheme = \"switchml\"\nworkers = 4\nhosts = \"0 4 8 12\"\nsize = \"4MB\"\niterations = 1\ntrees = 2\n"
        "[[job]]\nscheme = \"switchml\"\nworkers = 4\nhosts = \"1 5 9 13\"\nsize = \"1MB\"\niterations = 1\ntrees = "
        "2\n",
        /* the second job's links are another's, but for those of one aggregation switch, which are slow */
        "[[job]]\nscheme = \"switchml\"\nworkers = 2\nhosts = \"0 4\"\nsize = \"1MB\"\niterations = 1\n"
        "[[link]]\nlink = \"edge0-aggregation0\"\nrate = \"1Gbps\"\n",
    };

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, "duration = \"10s\"\n" FAT_TREE "%s", texts[i]);
        open_text("%s", text);
        const struct sim_job *jobs = run.jobs.jobs;
        if (i == 0) {
            assert_int_not_equal(jobs[0].ways[0].up[0], jobs[1].ways[0].up[0]);
        } else if (i == 1) {
            check_roots(&jobs[0], 2);
            check_roots(&jobs[1], 2);
            assert_int_not_equal(jobs[0].ways[0].up[0], jobs[0].ways[1].up[0]);
            assert_int_not_equal(jobs[1].ways[0].up[0], jobs[1].ways[1].up[0]);
            assert_true(jobs[0].roots[0] != jobs[1].roots[0] && jobs[0].roots[0] != jobs[1].roots[1]);
        } else {
            assert_int_equal(jobs[0].ways[0].up[0], 1); /* not over the slow cable */
        }
        finish_all();
        close_run();
    }
}

/* Which switches a job's trees use stands in the results. */
static void results__name_the_switches(void **state)
{
    char *text = NULL;
    size_t len = 0;
    struct sim_results results;
    struct sim_story story = {.version = "x"};

    (void)state;
    open_text("duration = \"10s\"\n" LEAF_SPINE "[[job]]\nscheme = \"switchml\"\nworkers = 2\nhosts = \"0 4\"\n"
              "size = \"100KB\"\niterations = 1\ntrees = 2\n[[job]]\nscheme = \"ring\"\nworkers = 2\nsize = \"100KB\"\n"
              "iterations = 1\n");
    finish_all();
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    assert_true(sim_results_make(&results, &run));
    sim_results_json(out, &run, &results, &story);
    sim_results_jobs(out, &run, &story);
    (void)fclose(out);
    assert_non_null(strstr(text, "\"trees\":[[\"spine0\",\"leaf0\",\"leaf1\"],[\"spine1\",\"leaf0\",\"leaf1\"]]"));
    assert_non_null(strstr(text, "\"trees\":[],"));
    assert_non_null(strstr(text, ",2,spine0 spine1,0,0,0,0"));
    assert_non_null(strstr(text, ",0,,0,0,0,0"));
    free(text);
    close_run();
}

/* Flows of two hosts of the first leaf: over the link that its partial sums take up, or over a worker's own link down.
 * The first is on the way of both workers below it, the second on that of one. Where marks are of all, as the paper has
 * it, all four hear of the first, as nodes add the marks. */
static void marks__reach_the_workers_whose_way_it_is(void **state)
{
    static const struct {
        const char *to, *more;
        uint32_t told; /* for each packet that was marked */
    } cases[] = {{"4", "", 2}, {"1", "", 1}, {"4", "marks_of_all = true\n", 4}, {"1", "marks_of_all = true\n", 1}};
    static const char *const name = "marks-flow.txt";

    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        FILE *flows = fopen(name, "w");
        assert_non_null(flows);
        (void)fprintf(flows, "2\n2 %s 3 100 20000000 0\n3 %s 3 100 20000000 0\n", cases[i].to, cases[i].to);
        (void)fclose(flows);
        (void)snprintf(text, sizeof text,
                       "duration = \"10s\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts = 4\n"
                       "rate = \"10Gbps\"\ndelay = \"1us\"\n[[traffic]]\nkind = \"trace\"\nfile = \"%s\"\n"
                       "[[job]]\nscheme = \"panama\"\nworkers = 4\nhosts = \"0 1 5 6\"\nsize = \"5MB\"\n"
                       "iterations = 1\n%s",
                       name, cases[i].more);
        open_text("%s", text);
        finish();
        const struct sim_job *job = &run.jobs.jobs[0];
        double share = (double)job->told / (double)job->fragments;
        print_message("%lu packets marked, %.3f results for each of %lu fragments\n", (unsigned long)job->marked, share,
                      (unsigned long)job->fragments);
        uint64_t most = cases[i].told * job->marked;
        assert_true(job->marked > job->fragments / 100 && job->told <= most && job->told >= most - most / 10);
        close_run();
        (void)remove(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees__have_roots_of_their_own),
        cmocka_unit_test(sums__are_right),
        cmocka_unit_test(trees__go_on_by_themselves),
        cmocka_unit_test(trees__share_the_bytes),
        cmocka_unit_test(trees__go_where_least_is),
        cmocka_unit_test(results__name_the_switches),
        cmocka_unit_test(marks__reach_the_workers_whose_way_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
