/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_results.c: what a run says: CSV with all that is needed to run it again, use of links, counts of what has
 * happened, the summary and its tables, progress. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "cli/sim_progress.h"
#include "report/plot.h"
#include "sim/results/results.h"
#include "unit/sim_text.h"

#define NETWORK(kind) "[topology]\nkind = \"" kind "\"\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define LEAVES "leaves = 2\nspines = 2\nhosts = 4\n"
#define FLOW "[[traffic]]\nkind = \"incast\"\nfan_in = 1\nto = 1\nsize = \"1460B\"\n"
#define JOB "[[job]]\nscheme = \"switchml\"\nworkers = 4\nsize = \"140800B\"\ncompute = \"1ms\"\niterations = 3\n"
#define US_PS UINT64_C(1000000)

static struct sim_results results;
static struct sim_story story = {.version = "1.2.3"};

enum writing { FLOWS_CSV, LINKS_CSV, JOBS_CSV, ITERATIONS_CSV, FIGURES_CSV, JSON, SUMMARY, PAGE, WRITINGS };

/* What the run says, to be freed. */
static char *say(enum writing what)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    assert_true(sim_results_make(&results, &run));
    switch (what) {
    case FLOWS_CSV:
        sim_results_flows(out, &run, &story);
        break;
    case LINKS_CSV:
        sim_results_links(out, &run, &results, &story);
        break;
    case JOBS_CSV:
        sim_results_jobs(out, &run, &story);
        break;
    case ITERATIONS_CSV:
        sim_results_iterations(out, &run, &story);
        break;
    case FIGURES_CSV:
        sim_results_figures(out, &run, &results, &story);
        break;
    case JSON:
        sim_results_json(out, &run, &results, &story);
        break;
    case SUMMARY:
        sim_results_summary(out, &run, &results, &story);
        break;
    case PAGE:
    case WRITINGS:
        sim_results_html(out, &run, &results, &story);
        break;
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect_said(enum writing what, const char *text)
{
    char *said = say(what);

    if (strstr(said, text) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", text, said);
    }
    free(said);
}

/* ---- CSV ---- */

/* The scenario that stands behind "# " in the first lines, and what is before and behind these. */
static void split(char *csv, char **first, char **columns, char scenario[2048])
{
    char *line = strchr(csv, '\n') + 1;

    *first = csv;
    line[-1] = '\0';
    scenario[0] = '\0';
    for (char *end; strncmp(line, "# ", 2) == 0; line = end + 1) {
        end = strchr(line, '\n');
        assert_true(strlen(scenario) + (size_t)(end - line) < 2048);
        (void)strncat(scenario, line + 2, (size_t)(end - line) - 1);
    }
    *columns = line;
    *strchr(line, '\n') = '\0';
}

/* Each file says alone which program, seed and trace it is from; and what it says of the scenario gives the same
 * trace. */
static void csv__can_be_run_again(void **state)
{
    static const char *const columns[JSON] = {
        [FLOWS_CSV] = "src,dst,sport,dport,size,start_ns,fct_ns,ideal_fct_ns,traffic,kind",
        [LINKS_CSV] = "link,from,to,packets,bytes,use,marked,dropped,longest_wait_ns,stops,stopped_ns,headroom_most,"
                      "from_name,to_name",
        [ITERATIONS_CSV] = "job,iteration,begun_ns,computed_ns,ended_ns",
        [FIGURES_CSV] = "figure,value",
    };
    static const struct sim_override list[] = {{"seed", "77"}, {"scale", "1/2"}, {"traffic.load", "40%"}};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    char again[2048];
    char head[128];

    (void)state;
    for (enum writing what = 0; what < JSON; what++) {
        char *got[2];
        assert_true(
            sim_scenario_parse(&s,
                               "duration = \"20ms\"\nscale = \"1/4\"\n" NETWORK("leaf-spine") LEAVES
                               "[[traffic]]\nkind = \"poisson\"\nsize = \"websearch-bytes\"\nload = \"10%\"\n" JOB,
                               "x.toml", &(struct sim_overrides){list, 3}, error));
        assert_true(sim_run_init(&run, &s, error));
        finish();
        char *csv = say(what);
        split(csv, &got[0], &got[1], again);
        (void)snprintf(head, sizeof head, "## tributary 1.2.3, seed 77, trace %016llx",
                       (unsigned long long)run.network.hash);
        assert_string_equal(got[0], head);
        assert_true(what == JOBS_CSV ? strncmp(got[1], "job,scheme,model,", 17) == 0
                                     : strcmp(got[1], columns[what]) == 0);
        uint64_t hash = run.network.hash;
        close_run();
        open_text("%s", again);
        assert_string_equal(s.name, "x.toml");
        finish();
        assert_true(run.network.hash == hash);
        close_run();
        free(csv);
    }
}

/* Links have the names of their ends, flows the table that they are of. */
static void csv__names_ends_and_sources(void **state)
{
    (void)state;
    open_text("duration = \"5ms\"\n" NETWORK("leaf-spine") LEAVES FLOW
              "[[traffic]]\nkind = \"permutation\"\nsize = \"2KB\"\n");
    finish();
    char *csv = say(LINKS_CSV);
    assert_non_null(strstr(csv, ",host0,leaf0\n"));
    assert_non_null(strstr(csv, ",spine1,leaf1\n"));
    free(csv);
    csv = say(FLOWS_CSV);
    assert_non_null(strstr(csv, ",0,incast\n"));
    assert_non_null(strstr(csv, ",1,permutation\n"));
    free(csv);
    close_run();
}

/* The names of lines stand below the frame: no curve is under them. */
static void plot__has_its_names_below(void **state)
{
    static const double x[] = {1, 2};
    static const double y[] = {0, 1};
    const struct report_plot plot = {
        .title = "t",
        .x_label = "x",
        .y_label = "y",
        .lines = {{.name = "first", .x = x, .y = y, .count = 2}, {.name = "second", .x = y, .y = x, .count = 2}},
        .count = 2};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    double lowest = 0;

    (void)state;
    assert_non_null(out);
    report_plot_draw(out, &plot);
    assert_int_equal(fclose(out), 0);
    for (const char *at = strstr(text, "<polyline"); at != NULL; at = strstr(at + 1, "<polyline")) {
        double points[4];
        assert_int_equal(
            sscanf(strstr(at, "points"), "points=\"%lf,%lf %lf,%lf", &points[0], &points[1], &points[2], &points[3]),
            4);
        lowest = fmax(lowest, fmax(points[1], points[3]));
    }
    for (int i = 0; i < 2; i++) {
        double name_y = 0;
        const char *at = strstr(text, i == 0 ? ">first<" : ">second<");
        assert_non_null(at);
        while (strncmp(at, "<text", 5) != 0) {
            at--;
        }
        assert_int_equal(sscanf(strstr(at, " y="), " y=\"%lf", &name_y), 1);
        assert_true(name_y > lowest + 20);
    }
    free(text);
}

/* The same in what else is written; and of a run that was ended before its end this is said. */
static void all__say_the_scenario(void **state)
{
    (void)state;
    open_text("duration = \"1ms\"\n" NETWORK("star") "hosts = 2\n" FLOW);
    finish();
    expect_said(JSON,
                ",\"scenario_toml\":\"duration = \\\"1ms\\\"\\u000aname = \\\"x\\\"\\u000aseed = 1\\u000a[topology]");
    expect_said(PAGE, "<h2>Scenario</h2>\n<pre>\nduration = &quot;1ms&quot;\n");
    story.was_interrupted = true;
    char *csv = say(FLOWS_CSV);
    assert_non_null(strstr(csv, ", interrupted\n# duration"));
    free(csv);
    story = (struct sim_story){.version = "1.2.3", .was_stalled = true};
    csv = say(FIGURES_CSV);
    assert_non_null(strstr(csv, ", given up\n# duration"));
    assert_non_null(strstr(csv, "\n\"given up\",1\n"));
    free(csv);
    story = (struct sim_story){.version = "1.2.3"};
    close_run();
}

/* ---- links ---- */

/* Four hosts fill the link to a fifth all the time: it is used while packets come over it, and no more than that; what
 * waits for it has not used it. */
static void use__is_of_what_has_come(void **state)
{
    uint64_t packets = 0;

    (void)state;
    open_text("duration = \"1ms\"\n" NETWORK("star") "hosts = 5\n[queues]\nbuffer = \"none\"\necn = \"none\"\n"
                                                     "[flows]\ncongestion = \"fixed\"\n[[traffic]]\nkind = "
                                                     "\"incast\"\nfan_in = 4\nto = 4\nsize = \"endless\"\n");
    finish();
    assert_true(sim_results_make(&results, &run));
    for (uint32_t i = 0; i < run.network.link_count; i++) {
        double use = sim_results_use(&run, &results, i);
        assert_true(use >= 0 && use <= 1);
        packets += run.network.links[i].packets;
    }
    assert_int_equal(packets, run.network.hops);
    /* Idle for its delay and the first packet's way to it: 3.2 us of a millisecond, and the last packet is on it. */
    const uint32_t busy = 5 + 4;
    assert_true(fabs(sim_results_use(&run, &results, busy) - (1000 - 3.2) / 1000) < 0.0013);
    assert_int_equal(run.network.links[busy].packets, (1000000 - 3200) / 1200);
    close_run();
}

/* ---- counts ---- */

/* Of cuts and restarts those that have happened. */
static void wrongs__are_counted_when_they_happen(void **state)
{
    (void)state;
    open_text("duration = \"1s\"\n" NETWORK(
        "star") "hosts = 4\n" JOB "[[restart]]\nswitch = \"switch0\"\nat = \"1100us\"\n[[restart]]\nswitch = "
                "\"switch0\"\nat = \"2200us\"\n"
                "[[restart]]\nswitch = \"switch0\"\nat = \"900ms\"\n"
                "[[failure]]\nlink = \"host0-switch0\"\nat = \"50us\"\nuntil = \"60us\"\n"
                "[[failure]]\nlink = \"host1-switch0\"\nat = \"999ms\"\n");
    while (sim_run_now(&run) < 1500 * US_PS) {
        assert_true(sim_run_advance(&run, 1));
    }
    expect_said(SUMMARY, "\n  restarts of switches 1\n");
    finish();
    assert_int_equal(run.jobs.jobs[0].iterations, 3);
    expect_said(SUMMARY, "\n  restarts of switches 2\n");
    expect_said(SUMMARY, "\n  cables cut 1; packets that they lost 0\n");
    assert_int_equal(run.jobs.jobs[0].boot, 3);
    close_run();
}

/* A buffer that nothing has been in has its size all the same: of PFC's the shared part. */
static void buffer__has_a_size_when_empty(void **state)
{
    static const char *const queues[] = {"shared = \"1MB\"\n", "shared = \"1MB\"\npfc = true\nheadroom = \"10KB\"\n"};
    static const uint32_t sizes[] = {1000000, 1000000 - 6 * 10000}; /* a leaf has six links */

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        char text[128];
        open_text("duration = \"1ms\"\n" NETWORK("leaf-spine") LEAVES "[queues]\n%s" FLOW "start = \"10ms\"\n",
                  queues[i]);
        finish();
        assert_int_equal(run.network.sent, 0);
        (void)snprintf(text, sizeof text, "\"shared_most_bytes\":0,\"shared_part_bytes\":%u", sizes[i]);
        expect_said(JSON, text);
        (void)snprintf(text, sizeof text, "\n  most of a switch's shared buffer: 0.0 of %u.0 KB\n", sizes[i] / 1000);
        expect_said(SUMMARY, text);
        close_run();
    }
}

/* ---- for people ---- */

/* A packet of 1,500 bytes over two links of 10 Gbps and 1 us, and the acknowledgement. */
static void summary__of_flows(void **state)
{
    (void)state;
    open_text("duration = \"1ms\"\n" NETWORK("star") "hosts = 4\n" FLOW);
    finish();
    expect_said(SUMMARY, "x: star of 4 hosts and 1 switches, 6.5 us simulated, seed 1\n"
                         "  goodput ");
    expect_said(SUMMARY, "; longest wait at a port 0.0 us\n"
                         "  packets 2; marked 0 times, dropped 0; timeouts 0\n"
                         "  flows begun 1, of which ended 1\n"
                         "  flows                   count      mean us       p50 us       p99 us  slowdown       p99\n"
                         "  below 10 KB                 1          4.4          4.4          4.4      1.00      1.00\n"
                         "  all                         1          4.4          4.4          4.4      1.00      1.00\n"
                         "  4 packet-hops in ");
    close_run();
}

static void summary__of_jobs(void **state)
{
    char row[128];

    (void)state;
    open_text("duration = \"1s\"\nscale = \"1/2\"\n" NETWORK("star") "hosts = 4\n" JOB);
    finish();
    struct sim_job_times t = sim_results_job(&run, 0);
    expect_said(SUMMARY, "\n  at a scale of 1/2: sizes, times to compute and arrivals of jobs\n");
    expect_said(SUMMARY, "\n  jobs               workers  switches   iterations iteration ms  summing ms    resent  "
                         "compared\n");
    (void)snprintf(row, sizeof row,
                   "\n  switchml                 4         1     3 of   3 %12.3f %11.3f         0     2,400\n",
                   t.iteration_ps / 1e9, t.summing_ps / 1e9);
    expect_said(SUMMARY, row);
    close_run();
}

/* How long it will take: of the time, or of the iterations, what has gone further. */
/* Of two jobs one has ended two of three iterations when the time is over, the other none: that has no mean, which is not
 * 0, and how many are missing is said. */
static void not_done__is_counted_and_no_mean_is_none(void **state)
{
    static const char text[] = "duration = \"3ms\"\n" NETWORK(
        "star") "hosts = 8\n" JOB "[[job]]\nscheme = \"switchml\"\nworkers = 4\nsize = \"140800B\"\ncompute = \"1s\"\n"
                "iterations = 5\n";
    uint32_t jobs = 0;

    (void)state;
    open_text("%s", text);
    finish();
    assert_int_equal(run.jobs.jobs[0].iterations, 2);
    assert_int_equal(sim_results_not_done(&run, &jobs), 1 + 5);
    assert_int_equal(jobs, 2);
    assert_int_equal(sim_results_job(&run, 1).not_done, 5);
    expect_said(FIGURES_CSV, "\n\"jobs: iterations not done\",6\n");
    expect_said(SUMMARY, " 0 of   5         none        none");
    expect_said(JSON, "\"iterations_measured\":0,\"iterations_not_done\":5,\"iteration_mean_ns\":null,");
    expect_said(JOBS_CSV, ",5,0,0,,,"); /* iterations, ended, measured, no means */
    expect_said(PAGE, "<td>0 of 5</td><td>1000.000</td><td>none</td><td>none</td>");
    expect_said(PAGE, "<p>6 iterations of 2 jobs were not done: means are of the others.</p>");
    close_run();
    open_text("duration = \"500us\"\n" NETWORK("star") "hosts = 8\n" JOB);
    finish();
    expect_said(FIGURES_CSV, "\n\"jobs: iteration / ms\",\n\"jobs: summing / ms\",\n\"jobs: iterations not done\",3\n");
    close_run();
    open_text("duration = \"1s\"\nwindow = \"1500us\"\n" NETWORK("star") "hosts = 8\n" JOB);
    finish();
    expect_said(FIGURES_CSV, "\"jobs: iterations not done\",0\n"); /* later ones than the window's are not waited for */
    close_run();
}

static void progress__says_how_long(void **state)
{
    char text[SIM_PROGRESS_TEXT_MAX];

    (void)state;
    open_text("duration = \"1ms\"\n" NETWORK("star") "hosts = 4\n" FLOW);
    sim_progress_text(&run, UINT64_C(1000000000), text);
    assert_string_equal(text, "simulated 0.000 of 1.000 ms, 0.0 M packet-hops, 0.0 M/s, 0 flows ended, ? left");
    close_run();
    open_text(
        "duration = \"10ms\"\n" NETWORK("star") "hosts = 4\n[[traffic]]\nkind = \"permutation\"\nsize = \"endless\"\n");
    while (sim_run_now(&run) < 2500 * US_PS) {
        assert_true(sim_run_advance(&run, 1));
    }
    /* A quarter in 2 s: 6 s more, rounded down. */
    run.network.hops = 2600000;
    run.end_count = 3;
    sim_progress_text(&run, UINT64_C(2000000000), text);
    assert_string_equal(text, "simulated 2.500 of 10.000 ms, 2.6 M packet-hops, 1.3 M/s, 3 flows ended, 5.9 s left");
    close_run();
    open_text("duration = \"100s\"\n" NETWORK("star") "hosts = 4\n" JOB);
    while (run.jobs.jobs[0].iterations < 1) {
        assert_true(sim_run_advance(&run, 1));
    }
    sim_progress_text(&run, UINT64_C(1000000000), text);
    assert_non_null(strstr(text, " 0 flows ended, 0 of 1 jobs done, 2 s left"));
    finish();
    sim_progress_text(&run, UINT64_C(1000000000), text);
    assert_non_null(strstr(text, ", 1 of 1 jobs done, 0 ns left"));
    close_run();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv__can_be_run_again),
        cmocka_unit_test(csv__names_ends_and_sources),
        cmocka_unit_test(plot__has_its_names_below),
        cmocka_unit_test(all__say_the_scenario),
        cmocka_unit_test(use__is_of_what_has_come),
        cmocka_unit_test(wrongs__are_counted_when_they_happen),
        cmocka_unit_test(buffer__has_a_size_when_empty),
        cmocka_unit_test(summary__of_flows),
        cmocka_unit_test(summary__of_jobs),
        cmocka_unit_test(not_done__is_counted_and_no_mean_is_none),
        cmocka_unit_test(progress__says_how_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
