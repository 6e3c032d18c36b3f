/* SPDX-License-Identifier: Apache-2.0 */
/* test_reproduce_cluster.c: what is simulated for PANAMA's Fig. 8, and what is read from its runs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "reproduce/panama.h"
#include "reproduce/panama_cluster.h"
#include "sim/results/results.h"

static struct sim_scenario s;
static struct sim_run run;
static struct cluster_jobs jobs;
static char text[CLUSTER_TEXT_MAX];
static char error[TRIB_ERROR_TEXT_MAX];

/* Loads are those that are asked for, as near as whole jobs come; each has the jobs of those below it. */
static void jobs__make_the_loads(void **state)
{
    static const struct cluster clusters[] = {{16, 16, 96, 9000, 4, 250, 2000, 3, {0.4, 0.6, 0.8}},
                                              {8, 4, 24, 9000, 4, 250, 2000, 3, {0.4, 0.6, 0.8}},
                                              {6, 4, 16, 1500, 1, 100, 300, 2, {0.5, 0.8}}};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        const struct cluster *c = &clusters[i];
        uint32_t hosts = c->k * c->k * c->k / 4;
        uint32_t workers = 0;
        double load = CLUSTER_BASE;
        uint32_t at = 0;
        cluster_draw(c, &jobs);
        assert_int_equal(jobs.count, jobs.first[c->load_count - 1]);
        for (uint32_t j = 0; j < jobs.count; j++) {
            assert_in_range(jobs.list[j].workers, c->least_workers, c->most_workers);
            workers += jobs.list[j].workers;
            load += cluster_job_load(&jobs.list[j]) * jobs.list[j].workers / hosts;
            if (jobs.first[at] == j + 1) {
                print_message("k = %u: %u jobs make a load of %.3f\n", c->k, j + 1, load);
                assert_true(fabs(load - jobs.loads[at]) < 1e-9);
                assert_true(fabs(load - c->aims[at]) <
                            0.7 * c->most_workers / hosts); /* half a job, and few are left */
                at++;
            }
        }
        assert_int_equal(at, c->load_count);
        assert_true(workers <= hosts);
    }
}

/* Of which progress is a share: the ways without jobs have one load, every other is run at each. */
static void runs__are_those_that_are_simulated(void **state)
{
    static const struct cluster six = {6, 4, 16, 9000, 4, 100, 300, 2, {0.5, 0.8}};
    static const struct cluster sixteen = {16, 16, 96, 9000, 4, 250, 2000, 3, {0.4, 0.6, 0.8}};

    (void)state;
    assert_int_equal(cluster_runs(&six), 3 + 7 * 2);
    assert_int_equal(cluster_runs(&sixteen), 3 + 7 * 3);
}

/* A link that is sent into half of the time. */
static void load__is_the_share_of_a_ring(void **state)
{
    const struct sim_model model = {.name = "x", .parameters = 156250000, .compute_ms = 750};
    const struct cluster_job job = {.model = &model, .workers = 4}; /* 625 MB, one and a half times, at 10 Gbps */

    (void)state;
    assert_true(fabs(cluster_job_load(&job) - 0.5) < 1e-12);
}

static void scenarios__can_be_run(void **state)
{
    static const struct cluster c = {8, 4, 24, 9000, 4, 250, 2000, 3, {0.4, 0.6, 0.8}};

    (void)state;
    cluster_draw(&c, &jobs);
    for (uint32_t way = 0; cluster_way_at(way) != NULL; way++) {
        uint32_t len = cluster_scenario(&c, &jobs, cluster_way_at(way), text);
        assert_int_equal(len, strlen(text));
        for (uint32_t load = 0; load < c.load_count; load++) {
            char count[16];
            struct sim_override override = {.key = "jobs", .text = count};
            bool has_jobs = cluster_way_at(way)->job != NULL;
            (void)snprintf(count, sizeof count, "%u", jobs.first[load]);
            if (!sim_scenario_parse(&s, text, "x", has_jobs ? &(struct sim_overrides){&override, 1} : NULL, error) ||
                !sim_run_init(&run, &s, error)) {
                fail_msg("%s: %s", cluster_way_at(way)->name, error);
            }
            assert_int_equal(run.jobs.count, has_jobs ? jobs.first[load] : 0);
            for (uint32_t i = 0; i < run.jobs.count; i++) { /* a small model is on a ring, whatever the others are on */
                bool is_small = strcmp(run.jobs.jobs[i].config.model->name, "googlenet") == 0;
                bool is_ring = run.jobs.jobs[i].scheme == NULL;
                assert_true(is_small ? is_ring : is_ring == (strcmp(cluster_way_at(way)->folder, "ring") == 0));
            }
            sim_run_deinit(&run);
            sim_scenario_free(&s);
        }
    }
}

static void write_table(const char *folder, const char *name,
                        void (*write)(FILE *, const struct sim_run *, const struct sim_story *))
{
    char path[256];
    struct sim_story story = {.version = "test"};

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    write(file, &run, &story);
    assert_int_equal(fclose(file), 0);
}

static void write_results(FILE *out, const struct sim_run *of, const struct sim_story *story)
{
    struct sim_results results;

    assert_true(sim_results_make(&results, of));
    sim_results_json(out, of, &results, story);
}

static void write_results_into(const char *folder)
{
    write_table(folder, "results.json", write_results);
    write_table(folder, "flows.csv", sim_results_flows);
    write_table(folder, "jobs.csv", sim_results_jobs);
}

static void remove_results(const char *folder)
{
    static const char *const names[] = {"results.json", "flows.csv", "jobs.csv"};
    char path[256];

    for (uint32_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

/* The last bytes away. */
static void cut(const char *folder, const char *name, long bytes)
{
    char path[256];
    struct stat status;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size - bytes), 0);
}

/* How long its last line is, or what is left of it. */
static long last_line(const char *folder, const char *name)
{
    char path[256];
    char line[4096];
    long len = 0;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        len = (long)strlen(line);
    }
    assert_int_equal(fclose(file), 0);
    return len;
}

/* Half of a run is none: whatever of its files is missing, or ends too early, is said. */
static void results__that_are_cut_off_are_an_error(void **state)
{
    static const char scenario[] =
        "duration = \"1s\"\nscale = \"1/100\"\n[topology]\nkind = \"star\"\nhosts = 8\nrate = \"10Gbps\"\ndelay = "
        "\"1us\"\n[[traffic]]\nkind = \"poisson\"\nsize = \"websearch-packets\"\nload = \"30%\"\nstop = \"20ms\"\n"
        "[[job]]\nscheme = \"panama\"\nworkers = 4\nmodel = \"resnet50\"\niterations = 3\n"
        "[[job]]\nscheme = \"ring-steps\"\nworkers = 4\nmodel = \"resnet50\"\niterations = 3\n";
    static const char *const tables[] = {"flows.csv", "jobs.csv"};
    const struct cluster_files files = {.scale = 100, .jobs = 2};
    char folder[] = "/tmp/test_reproduce_cluster.XXXXXX";
    struct cluster_sight read = {.flows = 7};
    char path[256];

    (void)state;
    assert_true(sim_scenario_parse(&s, scenario, "x", NULL, error) && sim_run_init(&run, &s, error));
    while (sim_run_advance(&run, 100000)) {
    }
    assert_non_null(mkdtemp(folder));
    for (uint32_t i = 0; i < 2; i++) {
        write_results_into(folder);
        cut(folder, tables[i], 1);
        assert_false(cluster_look_at(folder, &files, &read, error));
        print_message("%s\n", error);
        assert_non_null(strstr(error, "is cut off; remove its folder"));
        cut(folder, tables[i], last_line(folder, tables[i]));
        assert_false(cluster_look_at(folder, &files, &read, error));
        print_message("%s\n", error);
        assert_non_null(strstr(error, "lines of"));
        cut(folder, tables[i], last_line(folder, tables[i]) / 2);
        assert_false(cluster_look_at(folder, &files, &read, error));
        assert_non_null(strstr(error, "is cut off"));
        (void)snprintf(path, sizeof path, "%s/%s", folder, tables[i]);
        assert_int_equal(truncate(path, 0), 0);
        assert_false(cluster_look_at(folder, &files, &read, error));
        assert_non_null(strstr(error, "is cut off"));
        assert_int_equal(unlink(path), 0);
        assert_false(cluster_look_at(folder, &files, &read, error));
        print_message("%s\n", error);
        assert_non_null(strstr(error, "No such file"));
    }
    write_results_into(folder);
    assert_int_equal(read.flows, 7);
    assert_true(cluster_look_at(folder, &files, &read, error));
    (void)snprintf(path, sizeof path, "%s/results.json", folder);
    assert_int_equal(truncate(path, 40), 0);
    assert_false(cluster_look_at(folder, &files, &read, error));
    print_message("%s\n", error);
    assert_non_null(strstr(error, "how many flows ended"));
    remove_results(folder);
    sim_run_deinit(&run);
    sim_scenario_free(&s);
}

/* A sweep runs what it compares: 15/16 of the eight servers of an edge switch would be all, as PANAMA has them. */
static void sweep__has_what_is_compared(void **state)
{
    char grid[REPRODUCE_PATH_MAX];
    char out[REPRODUCE_PATH_MAX];
    uint32_t parts = 0;
    uint32_t quorums = 0;

    (void)state;
    for (; panama_fig8_sweep.part(parts, "x", grid, out); parts++) {
        quorums += strcmp(grid, "x/panama-7-8/grid.toml") == 0 || strcmp(grid, "x/panama-15-16/grid.toml") == 0;
    }
    assert_int_equal(quorums, 2);
    assert_int_equal(parts, 10);
}

/* From memory and from files. */
static void results__are_read_likewise(void **state)
{
    static const char scenario[] =
        "duration = \"10s\"\nscale = \"1/100\"\n[topology]\nkind = \"star\"\nhosts = 8\nrate = \"10Gbps\"\ndelay = "
        "\"1us\"\n[[traffic]]\nkind = \"poisson\"\nsize = \"datamining-packets\"\nload = \"60%\"\nstop = \"300ms\"\n"
        "[[job]]\nscheme = \"panama\"\nworkers = 4\nmodel = \"resnet50\"\niterations = 3\n"
        "[[job]]\nscheme = \"ring-steps\"\nworkers = 4\nmodel = \"vgg16\"\niterations = 200\n";
    char folder[] = "/tmp/test_reproduce_cluster.XXXXXX";
    const struct cluster_files files = {.scale = 100, .jobs = 2};
    struct cluster_sight seen = {0};
    struct cluster_sight read = {0};

    (void)state;
    assert_true(sim_scenario_parse(&s, scenario, "x", NULL, error) && sim_run_init(&run, &s, error));
    while (sim_run_advance(&run, 100000)) {
    }
    assert_non_null(mkdtemp(folder));
    assert_false(cluster_look_at(folder, &files, &read, error));
    assert_non_null(strstr(error, "results.json"));
    write_results_into(folder);
    assert_true(cluster_look(&run, 100, &seen));
    assert_true(cluster_look_at(folder, &files, &read, error));
    print_message("%u short flows, p99 %.3f ms, mean %.3f; %u long ones, %.3f Gbps; %.1f ms\n", (unsigned)seen.flows,
                  seen.p99_ms, seen.mean_ms, (unsigned)seen.long_flows, seen.long_gbps, seen.iteration_ms);
    assert_true(seen.flows > 100 && seen.long_flows > 2 && seen.jobs == 2);
    assert_int_equal(seen.flows + seen.long_flows, run.end_count);
    assert_true(seen.flows == read.flows && seen.long_flows == read.long_flows && seen.jobs == read.jobs);
    assert_true(fabs(seen.p99_ms / read.p99_ms - 1) < 1e-6 && fabs(seen.mean_ms / read.mean_ms - 1) < 1e-6);
    assert_true(fabs(seen.long_gbps / read.long_gbps - 1) < 1e-6);
    assert_true(fabs(seen.iteration_ms / read.iteration_ms - 1) < 1e-6);
    double mean = (sim_results_job(&run, 0).iteration_ps + sim_results_job(&run, 1).iteration_ps) / 2 / 1e9 * 100;
    assert_true(fabs(seen.iteration_ms / mean - 1) < 1e-9);
    remove_results(folder);
    sim_run_deinit(&run);
    sim_scenario_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs__make_the_loads),         cmocka_unit_test(runs__are_those_that_are_simulated),
        cmocka_unit_test(load__is_the_share_of_a_ring), cmocka_unit_test(scenarios__can_be_run),
        cmocka_unit_test(results__are_read_likewise),   cmocka_unit_test(results__that_are_cut_off_are_an_error),
        cmocka_unit_test(sweep__has_what_is_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
