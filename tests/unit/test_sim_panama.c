/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_panama.c: jobs of PANAMA in the simulated network: how they share links with each other and with DCTCP's
 * flows, the memory of switches that add, and what stays on a ring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "core/prng.h"
#include "published/panama_literal/panama_literal.h"
#include "sim/jobs/numbers.h"
#include "sim/jobs/shares.h"
#include "sim/results/results.h"
#include "unit/sim_text.h"

#define MS_PS UINT64_C(1000000000)
#define SEEDS 24U
/* Two leaves under a spine, 10 Gbps, marks from 85 packets on; 40 us there and back from hosts to the spine, and
 * from host0 and host5 to each other. */
#define SHARED                                                                                                      \
    "duration = \"10s\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts = 5\nrate = \"10Gbps\"\n" \
    "delay = \"12us\"\nfabric_delay = \"8us\"\n[[link]]\nlink = \"host0-leaf0\"\ndelay = \"2us\"\n[[link]]\n"       \
    "link = \"host5-leaf1\"\ndelay = \"2us\"\n[queues]\necn = \"85pkt\"\nbuffer = \"400pkt\"\n"
#define FLOW "[[traffic]]\nkind = \"trace\"\nfile = \"panama-flow.txt\"\n[flows]\nwindow = 1024\n"
#define JOB "[[job]]\nworkers = 4\nsize = \"2GB\"\niterations = 1\n"

static void run_until(uint64_t time_ps)
{
    while (sim_run_now(&run) < time_ps && sim_run_advance(&run, 200)) {
    }
    assert_true(sim_run_now(&run) >= time_ps);
    assert_null(sim_run_check(&run));
}

/* Gbps on the links that a job's workers had in some time, and that of the flows. */
static void measure(uint64_t from_ps, uint64_t to_ps, double jobs[2], double *flows)
{
    uint64_t fragments[2] = {0};
    uint64_t bytes = 0;

    for (uint32_t turn = 0; turn < 2; turn++) {
        run_until(turn == 0 ? from_ps : to_ps);
        for (uint32_t i = 0; i < run.jobs.count; i++) {
            fragments[i] = sim_jobs_counters(&run.jobs, i).workers.results - fragments[i];
        }
        bytes = run.flows.bytes - bytes;
    }
    double time_ns = (double)(to_ps - from_ps) / 1e3;
    for (uint32_t i = 0; i < run.jobs.count; i++) {
        jobs[i] = (double)fragments[i] / run.jobs.jobs[i].config.workers * 1500 * 8 / time_ns;
    }
    *flows = (double)bytes / 1460 * 1500 * 8 / time_ns;
}

static void write_flow(void)
{
    FILE *file = fopen("panama-flow.txt", "w");

    assert_non_null(file);
    (void)fprintf(file, "1\n0 5 3 100 2000000000 0\n");
    (void)fclose(file);
}

/* Fig. 10 of the paper: a flow of DCTCP that has a link for itself, until a job comes. */
static void window__shares_with_a_flow(void **state)
{
    static const char *const schemes[] = {"panama", "switchml"};
    double jobs[2];
    double flows = 0;

    (void)state;
    write_flow();
    for (uint32_t i = 0; i < 2; i++) {
        open_text(SHARED FLOW JOB "scheme = \"%s\"\nwindow = 1024\nhosts = \"1 2 6 7\"\nstart = \"50ms\"\n",
                  schemes[i]);
        measure(20 * MS_PS, 50 * MS_PS, jobs, &flows);
        print_message("%s: before it the flow has %.2f Gbps", schemes[i], flows);
        assert_true(flows > 9.9);
        measure(100 * MS_PS, 200 * MS_PS, jobs, &flows);
        print_message(", then %.2f, the job %.2f\n", flows, jobs[0]);
        assert_true(flows + jobs[0] > 9.8);
        if (i == 0) {
            assert_true(jobs[0] > 4.5 && jobs[0] < 5.5);
        } else {
            assert_true(flows < 0.1); /* what a window is for that does not follow the network */
        }
        close_run();
    }
    (void)remove("panama-flow.txt");
}

/* Two jobs whose sums go over one link, from the same moment on, or one later. */
static void windows__share_with_each_other(void **state)
{
    double jobs[2];
    double flows = 0;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        open_text(SHARED JOB "scheme = \"panama\"\nwindow = 1024\nhosts = \"1 2 6 7\"\n" JOB
                             "scheme = \"panama\"\nwindow = 1024\nhosts = \"3 4 8 9\"\nstart = \"%ums\"\n",
                  i * 20);
        measure(60 * MS_PS, 160 * MS_PS, jobs, &flows);
        print_message("two jobs, the second %u ms later: %.2f and %.2f Gbps\n", 20 * i, jobs[0], jobs[1]);
        assert_true(jobs[0] + jobs[1] > 9.8);
        assert_true(jobs[0] > 4.5 && jobs[0] < 5.5);
        close_run();
    }
}

static void threshold__keeps_small_jobs_on_a_ring(void **state)
{
    (void)state;
    open_text("duration = \"10s\"\nscale = \"1/100\"\n[topology]\nkind = \"star\"\nhosts = 8\nrate = \"10Gbps\"\n"
              "delay = \"1us\"\n[[job]]\nscheme = \"panama\"\nworkers = 4\nsize = \"39MB\"\niterations = 2\n"
              "threshold = \"40MB\"\n[[job]]\nscheme = \"panama\"\nworkers = 4\nsize = \"40MB\"\niterations = 2\n"
              "threshold = \"40MB\"\n");
    assert_string_equal(run.jobs.jobs[0].config.scheme, "ring-steps");
    assert_string_equal(run.jobs.jobs[1].config.scheme, "panama");
    while (sim_run_advance(&run, 20000)) {
    }
    assert_int_equal(run.jobs.done_jobs, 2);
    assert_int_equal(sim_jobs_counters(&run.jobs, 0).switches.contributions, 0);
    assert_true(run.jobs.aggregated > 0);
    close_run();
}

/* With PAUSE no packet of a job is lost, and windows keep ports from being stopped all the time. */
static void pause__loses_nothing(void **state)
{
    (void)state;
    write_flow();
    open_text("duration = \"60ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts = 5\n"
              "rate = \"10Gbps\"\ndelay = \"2us\"\n[queues]\necn = \"85pkt\"\nshared = \"600KB\"\npfc = true\n" FLOW
              "congestion = \"fixed\"\n" JOB "scheme = \"panama\"\nwindow = 1024\nhosts = \"1 2 6 7\"\n" JOB
              "scheme = \"panama\"\nwindow = 1024\nhosts = \"3 4 8 9\"\n");
    while (sim_run_advance(&run, 20000)) {
        assert_null(sim_run_check(&run));
    }
    uint64_t resent = sim_jobs_counters(&run.jobs, 0).workers.contributions_resent;
    assert_int_equal(run.network.dropped, 0);
    assert_int_equal(run.deadlock.count, 0);
    assert_int_equal(resent, 0);
    assert_true(sim_jobs_counters(&run.jobs, 0).workers.results > 1000);
    close_run();
    (void)remove("panama-flow.txt");
}

/* The least cap that a node of the job tells now. */
static uint32_t cap_of(uint32_t number)
{
    const struct sim_job *job = &run.jobs.jobs[number];
    uint32_t least = UINT32_MAX;

    for (uint32_t i = sim_job_switches(job); i < job->first + job->count; i++) {
        least = run.jobs.slots[i].cap < least ? run.jobs.slots[i].cap : least;
    }
    return least;
}

/* A job has all of the memory while it is alone, and a share of it while another is there, in each of its trees; the
 * memory is never over its limit, which sim_run_check looks at. */
static void caps__are_shares_of_the_memory(void **state)
{
    enum { FRAGMENTS = 120 };
    uint32_t alone = 0, shared = FRAGMENTS, after = 0;

    (void)state;
    for (uint32_t trees = 1; trees <= 2; trees++) {
        char text[2048];
        (void)snprintf(
            text, sizeof text,
            "duration = \"10s\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 5\n"
            "rate = \"10Gbps\"\ndelay = \"2us\"\n[switches]\nmemory = \"%uB\"\n"
            "[[job]]\nscheme = \"panama\"\nworkers = 4\nhosts = \"0 1 5 6\"\nsize = \"20MB\"\n"
            "iterations = 1\ntrees = %u\nwindow = 1024\n[[job]]\nscheme = \"panama\"\nworkers = 4\n"
            "hosts = \"2 3 7 8\"\nsize = \"5MB\"\niterations = 1\nstart = \"5ms\"\ntrees = %u\nwindow = 1024\n",
            FRAGMENTS * 1408, trees, trees);
        open_text("%s", text);
        alone = after = 0;
        shared = FRAGMENTS;
        while (sim_run_advance(&run, 500)) {
            assert_null(sim_run_check(&run));
            bool is_second = run.jobs.jobs[1].log[0].computed_ps != 0 && sim_run_now(&run) > 6 * MS_PS;
            bool is_over = run.jobs.jobs[1].iterations == 1;
            alone = !is_second && cap_of(0) > alone ? cap_of(0) : alone;
            shared = is_second && !is_over && cap_of(0) < shared ? cap_of(0) : shared;
            after = is_over && cap_of(0) > after ? cap_of(0) : after;
        }
        print_message("%u trees: a cap of %u alone, %u beside another, %u after it; %lu of %u bytes held\n", trees,
                      alone, shared, after, (unsigned long)sim_jobs_memory(&run.jobs), FRAGMENTS * 1408);
        assert_int_equal(run.jobs.done_jobs, 2);
        assert_int_equal(alone, (FRAGMENTS - 2 * 2 * trees) / 2 / trees); /* the other's first cap is 2, in each tree */
        assert_int_equal(shared, FRAGMENTS / 2 / 2 / trees);
        assert_int_equal(after, FRAGMENTS / 2 / trees);                /* it has left */
        assert_int_equal(sim_jobs_rings(&run.jobs), FRAGMENTS * 1408); /* all of the memory is of some use */
        close_run();
    }
}

/* Jobs that join and leave, with and without caps, packets lost, doubled and late, switches that begin anew: sums
 * are right, and no switch holds more than it has room for. */
static void memory__is_never_over(void **state)
{
    struct trib_prng prng = {.state = 7};
    uint64_t most = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        char text[4096];
        uint32_t fragments = 12 + 6 * (uint32_t)trib_prng_below(&prng, 12);
        int len = snprintf(
            text, sizeof text,
            "seed = %u\nduration = \"20s\"\n[topology]\nkind = \"%s\"\n%srate = \"10Gbps\"\n"
            "delay = \"1us\"\n[queues]\nbuffer = \"%upkt\"\necn = \"8pkt\"\n[switches]\nmemory = \"%uB\"\n"
            "[faults]\nloss = \"%s\"\nduplicate = \"1%%\"\nreorder = \"1%%\"\n[[restart]]\nswitch = \"%s\"\n"
            "at = \"1ms\"\naway = \"%uus\"\n",
            seed, seed % 2 != 0 ? "fat-tree" : "leaf-spine",
            seed % 2 != 0 ? "k = 4\n" : "leaves = 4\nspines = 2\nhosts = 4\n", seed % 3 == 0 ? 15 : 200,
            fragments * 1408, seed % 4 == 0 ? "0%" : "0.3%", seed % 2 != 0 ? "edge0" : "leaf0", seed % 5 * 200);
        for (uint32_t i = 0; i < 4; i++) {
            len +=
                snprintf(text + len, sizeof text - (size_t)len,
                         "[[job]]\nscheme = \"%s\"\nworkers = 4\nplacement = \"%s\"\nsize = \"%uKB\"\niterations = 2\n"
                         "compute = \"%uus\"\nstart = \"%uus\"\ntrees = %u\nwindow = %u\n",
                         i == 3 ? "switchml" : "panama", seed % 3 == 1 ? "close" : "random",
                         100 + (uint32_t)trib_prng_below(&prng, 400), (uint32_t)trib_prng_below(&prng, 500),
                         i * (uint32_t)trib_prng_below(&prng, 900), 1 + (uint32_t)trib_prng_below(&prng, 3) / 2,
                         16U << trib_prng_below(&prng, 4));
        }
        open_text("%s", text);
        while (sim_run_advance(&run, 2000)) {
            assert_null(sim_run_check(&run));
        }
        assert_int_equal(run.jobs.done_jobs, 4);
        most = sim_jobs_memory(&run.jobs) > most ? sim_jobs_memory(&run.jobs) : most;
        close_run();
    }
    print_message("%lu bytes held at most\n", (unsigned long)most);
}

static void cap__of_zero_is_refused(void **state)
{
    static const char text[] =
        "duration = \"1s\"\n[topology]\nkind = \"star\"\nhosts = 8\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
        "[switches]\nmemory = \"%uB\"\n[[job]]\nscheme = \"panama\"\nworkers = 4\nsize = \"100KB\"\niterations = 1\n"
        "copies = 2\n";
    char scenario[512];
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        (void)snprintf(scenario, sizeof scenario, text, 2 * 2 * 1408 - i);
        assert_true(sim_scenario_parse(&s, scenario, "x", NULL, error));
        assert_int_equal(sim_run_init(&run, &s, error), i == 0);
        if (i == 0) { /* one fragment at a time */
            while (sim_run_advance(&run, 2000)) {
            }
            assert_int_equal(run.jobs.done_jobs, 2);
            assert_int_equal(run.jobs.jobs[0].session.cap, 1);
        }
        sim_run_deinit(&run);
        sim_scenario_free(&s);
    }
    assert_string_equal(error,
                        "switches' memory of 5631 bytes, shared by 2 trees, has no room for two fragments of 1408: "
                        "a cap would be zero");
}

/* The published rule may be simulated, as no job may run it; what goes wrong is its result, and no fault of ours. Without
 * a late rank nothing does. */
static void literal__shows_what_the_published_rule_does(void **state)
{
    static const struct {
        const char *scheme;
        const char *link; /* of the last worker */
        uint64_t wrong;   /* at least so many sums that workers refuse */
    } cases[] = {
        {"panama-literal", "10Gbps", 0}, {"panama-literal:15/16", "10Gbps", 0}, {"panama-literal:3/4", "4Gbps", 1}};

    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_text("duration = \"200ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
                  "[[link]]\nlink = \"host3-switch0\"\nrate = \"%s\"\n[queues]\nbuffer = \"none\"\n"
                  "[[job]]\nscheme = \"%s\"\nworkers = 4\nsize = \"400KB\"\niterations = 4\ncompute = \"10us\"\n",
                  cases[i].link, cases[i].scheme);
        while (sim_run_advance(&run, 20000)) {
        }
        assert_null(sim_run_check(&run));
        struct sim_job_counters counters = sim_jobs_counters(&run.jobs, 0);
        print_message("%s: %u iterations, %lu wrong\n", cases[i].scheme, run.jobs.jobs[0].iterations,
                      (unsigned long)counters.workers.dropped[TRIB_DROP_LANE]);
        assert_true(counters.workers.dropped[TRIB_DROP_LANE] >= cases[i].wrong);
        assert_true(cases[i].wrong != 0 || run.jobs.jobs[0].iterations == 4);
        assert_true((run.jobs.jobs[0].lacking != 0) == (cases[i].wrong != 0)); /* of 4 ranks 15/16 are all */
        assert_int_equal(run.jobs.jobs[0].wrong, 0);
        close_run();
    }
}

/* A rank that computes longer gets results before it has asked for any, and its own part comes too late for all. */
static void literal__leaves_a_rank_that_computes_longer(void **state)
{
    (void)state;
    open_text("duration = \"100ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
              "[queues]\nbuffer = \"none\"\n[[job]]\nscheme = \"panama-literal:3/4\"\nworkers = 4\nsize = \"400KB\"\n"
              "iterations = 1\ncompute = \"1ms\"\nstragglers = 1\nslower = \"100%%\"\n");
    while (sim_run_advance(&run, 20000)) {
    }
    assert_null(sim_run_check(&run));
    assert_int_equal(run.jobs.done_jobs, 0);
    for (uint32_t rank = 0; rank < 4; rank++) {
        const struct trib_worker_verbs *worker = run.jobs.jobs[0].scheme->worker;
        const void *node = run.jobs.endpoints[run.jobs.jobs[0].first + rank].node;
        assert_int_equal(worker->node.counters(node)->results, rank < 3 ? 298 : 0); /* 400,000 / 1344 */
    }
    assert_int_equal(run.jobs.jobs[0].sums, 298);
    assert_int_equal(run.jobs.jobs[0].lacking, 298); /* they name their ranks in the header, and have no list */
    assert_true(sim_results_job(&run, 0).lacking == 1);
    close_run();
}

/* Workers that are given one sum of different ranks have not been given one sum. */
static void literal__names_the_ranks_of_a_sum(void **state)
{
    static const uint64_t ranks[] = {7, 7, 11}; /* 0 1 2, and 0 1 3 */
    static int32_t payload[16];
    struct trib_packet packet = {.sequence = 0, .contributors = 3, .payload = (uint8_t *)payload};
    uint64_t wrong[3];

    (void)state;
    open_text("duration = \"100ms\"\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
              "[[job]]\nscheme = \"panama-literal:3/4\"\nworkers = 4\nsize = \"400KB\"\niterations = 1\n");
    struct sim_job *job = &run.jobs.jobs[0];
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t before = job->wrong;
        trib_panama_set_ranks(&packet, ranks[i]);
        sim__numbers_taken(job, &packet);
        wrong[i] = job->wrong - before; /* of zeros every number is */
    }
    assert_int_equal(job->sums, 1);
    assert_int_equal(job->lacking, 1);
    assert_int_equal(wrong[1], wrong[0]);
    assert_int_equal(wrong[2], wrong[0] + 1);
    close_run();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows__share_with_each_other),
        cmocka_unit_test(threshold__keeps_small_jobs_on_a_ring),
        cmocka_unit_test(pause__loses_nothing),
        cmocka_unit_test(window__shares_with_a_flow),
        cmocka_unit_test(caps__are_shares_of_the_memory),
        cmocka_unit_test(memory__is_never_over),
        cmocka_unit_test(cap__of_zero_is_refused),
        cmocka_unit_test(literal__shows_what_the_published_rule_does),
        cmocka_unit_test(literal__leaves_a_rank_that_computes_longer),
        cmocka_unit_test(literal__names_the_ranks_of_a_sum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
