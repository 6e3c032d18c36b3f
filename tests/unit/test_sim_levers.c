/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_levers.c: what a scenario may say beyond network, flows and jobs: gradients in buckets, ranks of one host, a
 * scale, a window, links of their own, what adding costs, and each kind of traffic alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "sim/jobs/shares.h"
#include "sim/results/ideal.h"
#include "unit/sim_text.h"

#define US_PS UINT64_C(1000000)
#define NETWORK(kind) "[topology]\nkind = \"" kind "\"\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define STAR "duration = \"10s\"\n" NETWORK("star") "hosts = 8\n"
#define LEAVES "duration = \"10s\"\n" NETWORK("leaf-spine") "leaves = 2\nspines = 2\nhosts = 4\n"
#define LINE_PS(packets) ((double)(packets)*1500 * 800)

/* ---- jobs ---- */

/* A line that sums one bucket after the other, each as soon as it is there: the last one's end is the latest of all
 * "ready, then all that are left". */
static void buckets__are_a_pipeline(void **state)
{
    enum { FRAGMENTS = 2000 };
    static const uint32_t buckets[] = {1, 2, 5, 16};
    static const double computes_ms[] = {0.25, 2, 20};

    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        uint32_t count = buckets[i % 4];
        double compute_ps = computes_ms[i / 4] * 1e9;
        double expected = 0;
        for (uint32_t b = 1; b <= count; b++) {
            double ready = compute_ps * (1 - 0.6 * (count - b) / count);
            expected = fmax(expected, ready + LINE_PS(FRAGMENTS) * (count - b + 1) / count);
        }
        open_text(STAR "[[job]]\nscheme = \"switchml\"\nworkers = 8\nsize = \"%uB\"\niterations = 2\ncompute = "
                       "\"%gms\"\nbuckets = %u\nbackward = \"60%%\"\n",
                  FRAGMENTS * 1408, computes_ms[i / 4], count);
        finish();
        struct sim_job_times t = sim_results_job(&run, 0);
        print_message("%u buckets, compute %g ms: iteration %.3f ms, expected %.3f\n", count, computes_ms[i / 4],
                      t.iteration_ps / 1e9, expected / 1e9);
        assert_int_equal(t.count, 2);
        assert_true(t.iteration_ps > expected && t.iteration_ps < expected * 1.01 + 15.0 * US_PS);
        assert_true(fabs(t.summing_ps - (t.iteration_ps - compute_ps)) < 5.0 * US_PS);
        close_run();
    }
}

/* Whatever the scheme, and however fragments are dealt: also where one has more than fits an operation, or hosts have
 * several ranks. */
static void buckets__sum_right(void **state)
{
    static const char *const schemes[] = {"switchml", "ring", "hybrid:4"};
    static const uint32_t buckets[] = {1, 2, 7, 500};
    static const uint32_t fragments[] = {500, 4099, 8193};

    (void)state;
    for (uint32_t i = 0; i < 3 * 4 * 2 + 3 * 2;
         i++) { /* the most fragments in one or two buckets: of two one has 4,097 */
        open_text(LEAVES "[queues]\nbuffer = \"%s\"\n[[job]]\nscheme = \"%s\"\nworkers = 8\nsize = "
                         "\"%uB\"\niterations = 2\ncompute = \"1ms\"\njitter = \"20%%\"\nbuckets = %u\nranks = %u\n",
                  i % 5 == 0 ? "12pkt" : "400pkt", schemes[i % 3], fragments[i / 12] * 1408 - 7, buckets[i / 3 % 4],
                  i % 2 != 0 ? 16 : 1);
        finish();
        assert_int_equal(run.jobs.jobs[0].iterations, 2);
        assert_int_equal(run.jobs.jobs[0].wrong, 0);
        close_run();
    }
}

static double iteration_us(uint32_t workers, uint32_t ranks, const char *more)
{
    open_text(STAR "[[job]]\nscheme = \"switchml\"\nworkers = %u\nranks = %u\nsize = \"1408B\"\niterations = "
                   "400\ncompute = \"1ms\"\n%s",
              workers, ranks, more);
    finish();
    double time = sim_results_job(&run, 0).iteration_ps / US_PS;
    close_run();
    return time;
}

/* A host is as slow as the slowest of its ranks: the mean of the slowest of n is known, (n - 1) / (n + 1) of the spread
 * above the middle. */
static void hosts__wait_for_their_ranks(void **state)
{
    double plain = iteration_us(2, 1, "");

    (void)state;
    for (uint32_t ranks = 1; ranks <= 16; ranks *= 4) {
        uint32_t n = 2 * ranks;
        double expected = plain + 100.0 * (n - 1) / (n + 1);
        double time = iteration_us(2, ranks, "jitter = \"10%\"\n");
        print_message("%u ranks: %.1f us, expected %.1f\n", n, time, expected);
        assert_true(fabs(time - expected) < 10);
    }
    assert_true(fabs(iteration_us(2, 4, "stragglers = 1\nslower = \"50%\"\n") - plain - 500) < 1);
    assert_true(fabs(iteration_us(2, 4, "") - plain) < 1);
}

/* ---- levers ---- */

/* At 1/s an iteration takes 1/s, but for what the way takes: the same comparison of schemes at either scale. */
static void scale__keeps_what_is_compared(void **state)
{
    static const char *const schemes[] = {"switchml", "ring"};
    static const uint32_t scales[] = {20, 40};
    double times[2][2];

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        open_text("scale = \"1/%u\"\n" LEAVES
                  "[[job]]\nscheme = \"%s\"\nworkers = 8\nmodel = \"resnet50\"\niterations = 2\n",
                  scales[i / 2], schemes[i % 2]);
        assert_int_equal(run.jobs.jobs[0].config.bytes, 4 * UINT64_C(25557032) / scales[i / 2]);
        finish();
        times[i / 2][i % 2] = sim_results_job(&run, 0).iteration_ps * scales[i / 2] / 1e9;
        print_message("1/%u, %s: iterations of %.1f ms\n", scales[i / 2], schemes[i % 2], times[i / 2][i % 2]);
        close_run();
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(fabs(times[0][i] / times[1][i] - 1) < 0.02);
    }
    assert_true(fabs(times[0][1] / times[0][0] / (times[1][1] / times[1][0]) - 1) < 0.02);
    assert_true(times[0][0] > 164 + 87.1 && times[0][0] < 1.03 * (164 + 87.1)); /* 102 MB at 10 Gbps, with headers */
}

/* What counts began in the window, all of it ends, and the run with it. */
static void window__counts_what_begins_in_it(void **state)
{
#define FLOWS "[[traffic]]\nkind = \"poisson\"\nsize = \"websearch-bytes\"\nload = \"40%%\"\n"
    uint64_t counts[2];
    double goodputs[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct sim_results results;
        open_text("warmup = \"10ms\"\n%s" LEAVES FLOWS, i != 0 ? "window = \"30ms\"\n" : "");
        while (sim_run_now(&run) < 40000 * US_PS && i == 0) {
            (void)sim_run_advance(&run, 1);
        }
        counts[i] = run.begun;
        if (i != 0) {
            finish();
            assert_int_equal(run.begun, counts[0]);
            assert_int_equal(run.end_count, counts[0]);
            assert_true(sim_run_now(&run) > 40000 * US_PS && sim_run_now(&run) < 1000000 * US_PS);
        }
        assert_true(sim_results_make(&results, &run));
        goodputs[i] = results.goodput_bps;
        assert_int_equal(results.simulated_ps, sim_run_now(&run));
        close_run();
    }
    assert_true(fabs(goodputs[0] / goodputs[1] - 1) < 1e-4);
    open_text("warmup = \"5ms\"\nwindow = \"10ms\"\n" STAR "[[job]]\nscheme = \"switchml\"\nworkers = 4\nsize = "
              "\"14080B\"\ncompute = \"1ms\"\niterations = 1000\n");
    finish();
    struct sim_job_times t = sim_results_job(&run, 0);
    print_message("%u iterations began in 10 ms\n", (unsigned)t.count);
    assert_true(t.count == 9 || t.count == 10);
    assert_true(run.jobs.jobs[0].iterations < 20);
    close_run();
#undef FLOWS
}

static void mtu__is_that_of_flows_and_jobs(void **state)
{
    (void)state;
    open_text("mtu = \"9000B\"\n" STAR "[[traffic]]\nkind = \"permutation\"\nsize = \"1MB\"\n[[job]]\nscheme = "
              "\"ring\"\nworkers = 4\nsize = \"1MB\"\niterations = 1\n");
    assert_int_equal(s.flows.packet, 9000);
    assert_int_equal(s.jobs[0].payload, 8192);
    assert_int_equal(s.topology.largest, 9000);
    assert_int_equal(s.topology.mark_bytes, 65 * 9000);
    finish();
    close_run();
    open_text("mtu = \"4096B\"\n" STAR "[[job]]\nscheme = \"ring\"\nworkers = 4\nsize = \"1MB\"\niterations = 1\n");
    assert_int_equal(s.jobs[0].payload, 3968);
    close_run();
}

/* ---- the network ---- */

/* One packet from host 2 to host 1. */
static uint64_t one_packet_ps(const char *network, const char *more)
{
    open_text("%s%s[[traffic]]\nkind = \"incast\"\nfan_in = 1\nto = 1\nsize = \"1460B\"\n", network, more);
    finish();
    assert_int_equal(run.end_count, 1);
    assert_int_equal(run.ends[0].end_ps - run.ends[0].start_ps, run.ends[0].ideal_ps);
    uint64_t time_ps = run.ends[0].ideal_ps;
    close_run();
    return time_ps;
}

static void link__may_have_its_own_rate_and_delay(void **state)
{
    (void)state;
    uint64_t plain_ps = one_packet_ps(STAR, "");
    assert_int_equal(plain_ps, 2 * (US_PS + 1500 * 800));
    assert_int_equal(one_packet_ps(STAR, "[[link]]\nlink = \"host1-switch0\"\nrate = \"1Gbps\"\n"),
                     plain_ps + 1500 * 7200);
    assert_int_equal(one_packet_ps(STAR, "[[link]]\nlink = \"switch0-host2\"\ndelay = \"7us\"\n"),
                     plain_ps + 6 * US_PS);
    assert_int_equal(one_packet_ps(STAR, "[[link]]\nlink = \"host3-switch0\"\ndelay = \"7us\"\nrate = \"1Gbps\"\n"),
                     plain_ps);
    /* Of eight hosts one has a tenth of the rate, so a load is of less. */
    open_text(STAR "[[link]]\nlink = \"host1-switch0\"\nrate = \"1Gbps\"\n[[traffic]]\nkind = \"poisson\"\nsize = "
                   "\"1KB\"\nload = \"10%%\"\nstop = \"1ms\"\n");
    assert_int_equal(s.traffic[0].rate_bps, UINT64_C(8875000000));
    close_run();
}

/* Both directions between switches are slower, other links are not. */
static void link__is_a_cable(void **state)
{
    uint32_t changed = 0;

    (void)state;
    open_text(LEAVES "[[link]]\nlink = \"spine1-leaf0\"\nrate = \"40Gbps\"\ndelay = \"3us\"\n[[traffic]]\nkind = "
                     "\"permutation\"\nsize = \"1MB\"\n");
    for (uint32_t i = 0; i < run.network.link_count; i++) {
        const struct sim_port *port = &run.network.ports[run.network.links[i].port];
        if (port->delay_ps != US_PS) {
            uint32_t ends = run.network.fabric.from[i] + run.network.links[i].to;
            assert_int_equal(ends, 8 + 11);
            assert_int_equal(port->delay_ps, 3 * US_PS);
            assert_int_equal(sim_port_time(port, 1000), 200000);
            assert_int_equal(port->limit_ps, sim_port_time(port, 200 * 1500));
            changed++;
        }
    }
    assert_int_equal(changed, 2);
    finish();
    close_run();
}

/* From one worker's packet to its result: every node of the tree that it comes to adds once, on the way up and down. */
static void adding__takes_its_time(void **state)
{
    static const struct {
        const char *network;
        uint32_t workers, times;
    } cases[] = {
        {STAR, 8, 1}, {LEAVES, 4, 1}, {LEAVES, 8, 3}, {"seed = 2\n" LEAVES "[switches]\nadd = \"spine\"\n", 8, 1}};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        double times[2];
        for (uint32_t slow = 0; slow < 2; slow++) {
            char text[1024];
            bool has_table = strstr(cases[i].network, "[switches]") != NULL;
            (void)snprintf(text, sizeof text, "%s%s%s", cases[i].network, has_table ? "" : "[switches]\n",
                           slow != 0 ? "latency = \"777ns\"\n" : "latency = \"0ns\"\n");
            open_text("%s[[job]]\nscheme = \"switchml\"\nworkers = %u\nsize = \"1408B\"\niterations = 3\n", text,
                      cases[i].workers);
            finish();
            assert_int_equal(run.jobs.jobs[0].wrong, 0);
            times[slow] = sim_results_job(&run, 0).iteration_ps;
            close_run();
        }
        assert_true(fabs(times[1] - times[0] - cases[i].times * 777e3) < 1500);
    }
}

/* All that passes a switch that adds takes longer, and nothing else. */
static void adding__delays_others(void **state)
{
    uint64_t plain_ps = one_packet_ps(STAR, "");

    (void)state;
    assert_int_equal(one_packet_ps(STAR, "[switches]\nbypass = \"300ns\"\n"), plain_ps + 300000);
    assert_int_equal(one_packet_ps(LEAVES, "[switches]\nadd = \"spine\"\nbypass = \"300ns\"\n"), plain_ps);
    assert_int_equal(one_packet_ps(LEAVES, "[switches]\nadd = \"leaf0\"\nbypass = \"300ns\"\n"), plain_ps + 300000);
}

/* Packets over all links from spines to leaves, for each fragment's result and leaf. */
static double results_down(const char *more)
{
    uint64_t packets = 0;

    open_text(LEAVES
              "[switches]\nadd = \"spine\"\n%s[queues]\nbuffer = \"none\"\n[[job]]\nscheme = \"switchml\"\nworkers = "
              "8\nsize = \"140800B\"\niterations = 3\n",
              more);
    finish();
    assert_int_equal(run.jobs.jobs[0].wrong, 0);
    assert_int_equal(sim_jobs_counters(&run.jobs, 0).workers.results, 8 * 3 * 100);
    for (uint32_t i = 0; i < run.network.link_count; i++) {
        packets += run.network.fabric.from[i] >= 10 && run.network.links[i].to >= 8 ? run.network.links[i].packets : 0;
    }
    close_run();
    return (double)packets / 600;
}

/* Leaves that do not add get a result for each of their workers, or one that they copy. */
static void results__are_copied_where_ways_part(void **state)
{
    double each = results_down("");
    double once = results_down("multicast = true\n");

    (void)state;
    print_message("%.3f packets a result and leaf, with multicast %.3f\n", each, once);
    assert_true(each >= 4 && each < 4.1);
    assert_true(once >= 1 && once < 1.1);
}

/* Whichever switches add, and whatever is lost, marked or comes twice: sums are right, and packets are accounted
 * for. */
static void results__may_be_lost_on_the_way(void **state)
{
    uint32_t ended = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= 30; seed++) {
        char text[1024];
        char error[TRIB_ERROR_TEXT_MAX] = "";
        (void)snprintf(
            text, sizeof text,
            "seed = %u\nduration = \"10s\"\n" NETWORK(
                "fat-tree") "k = 4\n[queues]\nbuffer = \"8pkt\"\necn = "
                            "\"2pkt\"\n[switches]\nadd = \"core 50%% aggregation 20%% edge\"\nmulticast = "
                            "true\nlatency = "
                            "\"100ns\"\n[faults]\nloss = \"1%%\"\nduplicate = \"1%%\"\nreorder = "
                            "\"1%%\"\n[[job]]\nscheme = "
                            "\"switchml\"\nworkers = 11\nsize = \"200KB\"\niterations = 3\nplacement = \"random\"\n",
            seed);
        assert_true(sim_scenario_parse(&s, text, "x", NULL, error));
        if (sim_run_init(&run, &s, error)) {
            finish();
            assert_int_equal(run.jobs.jobs[0].iterations, 3);
            assert_int_equal(run.jobs.jobs[0].wrong, 0);
            ended++;
        } else {
            assert_true(strncmp(error, "no switch that adds is above all", 32) == 0);
        }
        close_run();
    }
    print_message("%u worlds\n", ended);
    assert_true(ended >= 20);
}

/* An iteration through a restart takes as long as ranks are away, and what is sent again; sums stay right, with losses
 * besides. */
static void restarts__cost_their_time(void **state)
{
    static const char *const switches[] = {NULL, "leaf0", "spine0"};
    double plain = 0;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        char text[256] = "";
        if (i != 0) {
            (void)snprintf(text, sizeof text, "[[restart]]\nswitch = \"%s\"\nat = \"2500us\"\naway = \"700us\"\n",
                           switches[i]);
        }
        open_text(LEAVES "[queues]\nbuffer = \"none\"\n%s[[job]]\nscheme = \"switchml\"\nworkers = 8\nsize = "
                         "\"2816000B\"\ncompute = \"1ms\"\niterations = 3\n",
                  text);
        finish();
        assert_int_equal(run.jobs.jobs[0].iterations, 3);
        assert_int_equal(run.jobs.jobs[0].wrong, 0);
        assert_int_equal(run.jobs.jobs[0].boot, i == 0 ? 1 : 2);
        double end_us = (double)run.jobs.jobs[0].end_ps / US_PS;
        print_message("%s: ends after %.0f us\n", i == 0 ? "no restart" : switches[i], end_us);
        plain = i == 0 ? end_us : plain;
        /* 2.4 ms of summing from 1 ms on: all were away for 0.7 ms. */
        assert_true(i == 0 || (end_us > plain + 690 && end_us < plain + 1500));
        close_run();
    }
}

/* The names of switches that have a node of a job, in a scenario without restarts. */
static uint32_t list_adders(const char *text, char names[][SIM_NODE_NAME_MAX], uint32_t room)
{
    uint32_t count = 0;

    open_text("%s", text);
    for (uint32_t i = 0; i < run.jobs.endpoint_count && count < room; i++) {
        if (!run.jobs.endpoints[i].is_worker) {
            sim_topology_node_name(&s.topology, run.jobs.endpoints[i].place, names[count++]);
        }
    }
    close_run();
    return count;
}

static void restarts__keep_sums_right(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct trib_prng prng = {.state = seed};
        char names[32][SIM_NODE_NAME_MAX];
        char text[2048];
        int len =
            snprintf(text, sizeof text,
                     "seed = %u\nduration = \"10s\"\n" NETWORK(
                         "fat-tree") "k = 4\n[queues]\nbuffer = \"20pkt\"\n"
                                     "[faults]\nloss = \"0.5%%\"\nduplicate = \"1%%\"\nreorder = \"1%%\"\n"
                                     "[[job]]\nscheme = \"switchml\"\nworkers = 11\nsize = \"300KB\"\niterations = "
                                     "6\nbuckets = 3\n"
                                     "compute = \"200us\"\nplacement = \"random\"\n"
                                     "[[job]]\nscheme = \"ring\"\nworkers = 3\nsize = \"300KB\"\niterations = 6\n",
                     seed);
        uint32_t count = list_adders(text, names, 32);
        assert_true(count > 3);
        for (uint32_t i = 0; i < 6; i++) {
            len += snprintf(text + len, sizeof text - (size_t)len,
                            "[[restart]]\nswitch = \"%s\"\nat = \"%uus\"\naway = \"%uus\"\n",
                            names[trib_prng_below(&prng, count)], (uint32_t)trib_prng_below(&prng, 6000),
                            (uint32_t)trib_prng_below(&prng, 2) * 900);
        }
        open_text("%s", text);
        finish();
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(run.jobs.jobs[i].iterations, 6);
            assert_int_equal(run.jobs.jobs[i].wrong, 0);
        }
        close_run();
    }
}

/* Nothing arrives while a job computes, or its ranks are away: it goes on, and is not given up. */
static void quiet__is_not_the_end(void **state)
{
    static const char *const cases[] = {
        "compute = \"7s\"\n",
        "start = \"8s\"\n",
        "[[restart]]\nswitch = \"switch0\"\nat = \"1ms\"\naway = \"8s\"\n",
    };
    const uint64_t stall_ps = 5000000 * US_PS;

    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_text("duration = \"100s\"\n" NETWORK("star") "hosts = 8\n[[job]]\nscheme = \"switchml\"\nworkers = 8\n"
                                                          "size = \"5MB\"\niterations = 2\n%s",
                  cases[i]);
        while (sim_run_advance(&run, 1000)) {
            assert_int_equal(sim_run_stalled(&run, stall_ps), 0);
        }
        assert_int_equal(run.jobs.done_jobs, 1);
        assert_true(sim_run_now(&run) > stall_ps);
        close_run();
    }
}

/* A switch's memory is shared by all jobs that have a node there, and a window is what fits twice. */
static void memory__bounds_windows(void **state)
{
    static const char jobs[] =
        "[[job]]\nscheme = \"switchml\"\nworkers = 4\nsize = \"1MB\"\niterations = 2\ncopies = 2\n";
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    open_text(STAR "[switches]\nmemory = \"%uB\"\n%s", 2 * 40 * 1408, jobs);
    finish();
    for (uint32_t i = 0; i < 2; i++) {
        struct sim_job_times t = sim_results_job(&run, i);
        assert_int_equal(run.jobs.jobs[i].config.window, 20);
        assert_int_equal(run.jobs.jobs[i].session.slots, 40);
        assert_int_equal(run.jobs.jobs[i].wrong, 0);
        print_message("slots held: %u at most, %.1f in the mean, of 40\n", t.slots_most, t.slots_mean);
        assert_true(t.slots_most > 0 && t.slots_most <= 40 && t.slots_mean > 0 && t.slots_mean <= t.slots_most);
    }
    assert_true(sim_jobs_memory(&run.jobs) > 0 && sim_jobs_memory(&run.jobs) <= 2 * 40 * 1408);
    close_run();
    char text[1024];
    (void)snprintf(text, sizeof text, STAR "[switches]\nmemory = \"%uB\"\n%s", 2 * 2 * 1408 - 1, jobs);
    assert_true(sim_scenario_parse(&s, text, "x", NULL, error));
    assert_false(sim_run_init(&run, &s, error));
    assert_string_equal(error, "switches' memory of 5631 bytes, shared by 2 trees, has no room for two fragments of "
                               "1408");
    close_run();
}

/* ---- alone ---- */

#define BOTH_FLOWS "[[traffic]]\nkind = \"poisson\"\nsize = \"websearch-bytes\"\nload = \"30%%\"\n"
#define BOTH_JOB                                                                                                   \
    "[[job]]\nscheme = \"switchml\"\nworkers = 5\nsize = \"5MB\"\ncompute = \"1ms\"\niterations = 3\nplacement = " \
    "\"random\"\n"

#define BOTH_RESTART "[[restart]]\nswitch = \"leaf0\"\nat = \"2ms\"\naway = \"100us\"\n"

static bool go_on(const struct sim_run *alone)
{
    (void)alone;
    return true;
}

/* Flows alone are those of a scenario without jobs, and jobs alone those of one without flows; together both take
 * longer. */
static void ideal__is_each_alone(void **state)
{
    static struct sim_ideal ideal;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct sim_results both;

    (void)state;
    open_text("ideal = true\nseed = 3\n" LEAVES BOTH_FLOWS BOTH_JOB BOTH_RESTART);
    finish();
    uint64_t end_ps = sim_run_now(&run);
    double together_ps = sim_results_job(&run, 0).iteration_ps;
    assert_true(sim_results_make(&both, &run));
    assert_true(sim_ideal_make(&ideal, &run, go_on, 100000, error));
    assert_int_equal(ideal.job_count, 1);
    close_run();
    open_text("seed = 3\n" LEAVES BOTH_JOB BOTH_RESTART);
    finish();
    assert_true(run.network.hash == ideal.hashes[1]);
    assert_true(sim_results_job(&run, 0).iteration_ps == ideal.jobs[0].iteration_ps);
    close_run();
    open_text("seed = 3\n" LEAVES BOTH_FLOWS);
    s.duration_ps = end_ps;
    finish();
    assert_true(run.network.hash == ideal.hashes[0]);
    assert_int_equal(run.end_count, ideal.flows.ended);
    close_run();
    print_message("iterations %.3f ms, alone %.3f; slowdown of flows %.2f, alone %.2f\n", together_ps / 1e9,
                  ideal.jobs[0].iteration_ps / 1e9, both.all.slowdown_mean, ideal.flows.all.slowdown_mean);
    assert_true(together_ps > ideal.jobs[0].iteration_ps);
    assert_true(both.all.slowdown_mean > ideal.flows.all.slowdown_mean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets__are_a_pipeline),
        cmocka_unit_test(buckets__sum_right),
        cmocka_unit_test(hosts__wait_for_their_ranks),
        cmocka_unit_test(scale__keeps_what_is_compared),
        cmocka_unit_test(window__counts_what_begins_in_it),
        cmocka_unit_test(mtu__is_that_of_flows_and_jobs),
        cmocka_unit_test(link__may_have_its_own_rate_and_delay),
        cmocka_unit_test(link__is_a_cable),
        cmocka_unit_test(adding__takes_its_time),
        cmocka_unit_test(adding__delays_others),
        cmocka_unit_test(results__are_copied_where_ways_part),
        cmocka_unit_test(results__may_be_lost_on_the_way),
        cmocka_unit_test(restarts__cost_their_time),
        cmocka_unit_test(restarts__keep_sums_right),
        cmocka_unit_test(quiet__is_not_the_end),
        cmocka_unit_test(memory__bounds_windows),
        cmocka_unit_test(ideal__is_each_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
