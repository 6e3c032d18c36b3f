/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_flows.c: flows on the simulated network: times of lone flows, fair shares, DCTCP's queue, losses, memory;
 * and that the same seed gives the same run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/results/results.h"
#include "unit/sim_by_hand.h"

static struct sim_scenario star(uint32_t hosts)
{
    struct sim_scenario s = small_scenario(SIM_STAR, hosts);

    s.duration_ps = 20 * MS_PS;
    s.traffic_count = 1;
    return s;
}

/* A flow alone takes exactly what is said to be ideal, as long as its window never holds it up. */
static void flow__alone_takes_the_ideal_time(void **state)
{
    static const uint64_t sizes[] = {1, 1460, 1461, 10000, 14600};
    static struct sim_run run;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct sim_scenario s = star(3);
        s.traffic[0] = (struct sim_traffic){.kind = SIM_INCAST, .fan_in = 1, .to = 1, .repeat = 1, .bytes = sizes[i]};
        assert_true(sim_run_init(&run, &s, NULL));
        finish_run(&run);
        assert_int_equal(run.end_count, 1);
        uint64_t took = run.ends[0].end_ps - run.ends[0].start_ps;
        uint64_t whole = sizes[i] / 1460;
        uint64_t rest = sizes[i] % 1460;
        /* Back to back over two links: the last packet waits for those before it once, and is sent twice. */
        uint64_t last = rest != 0 ? rest + 40 : 1500;
        uint64_t before = (rest != 0 ? whole : whole - 1) * 1500;
        uint64_t wait = before != 0 && rest != 0 ? 1500 - last : 0; /* at the second link, for a longer one before it */
        assert_int_equal(took, (before + last + last + wait) * 800 + 2 * US_PS);
        assert_true(run.ends[0].ideal_ps >= took - 1 && run.ends[0].ideal_ps <= took + 1);
        sim_run_deinit(&run);
    }
}

/* Flows of different hosts into one: each gets its share of the link, nothing is lost, the link is full. */
static void flows__share_a_link(void **state)
{
    enum { SENDERS = 4 };
    static struct sim_run run;
    struct sim_scenario s = star(SENDERS + 1);

    (void)state;
    s.topology.edge.delay_ps = 20 * US_PS; /* windows of some 35 packets: of a few, whole packets are no fair shares */
    s.topology.mark_bytes = 65 * 1500;
    s.duration_ps = 100 * MS_PS;
    s.warmup_ps = 10 * MS_PS;
    s.traffic[0] = (struct sim_traffic){.kind = SIM_INCAST, .fan_in = SENDERS, .repeat = 1, .bytes = SIM_NEVER};
    assert_true(sim_run_init(&run, &s, NULL));
    finish_run(&run);
    uint64_t bytes = run.network.links[SENDERS + 1].bytes;
    for (uint32_t host = 1; host <= SENDERS; host++) {
        double share = (double)run.network.links[host].bytes / (double)bytes;
        print_message("host %u: %.3f of the link\n", host, share);
        assert_true(fabs(share * SENDERS - 1) < 0.1);
    }
    double goodput = (double)(run.flows.bytes - run.warm_bytes) * 8e12 / (double)(s.duration_ps - s.warmup_ps);
    assert_true(goodput > 0.97 * 10e9 * 1460 / 1500);
    assert_int_equal(run.network.dropped, 0);
    sim_run_deinit(&run);
}

/* The only packet of a flow is lost with a cable: it is sent again after rto_first, 20 ms where nothing is said. */
static void flow__waits_for_the_first_timeout(void **state)
{
    static const uint64_t said_ms[] = {0, 3};
    static struct sim_run run;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim_scenario s = star(3);
        s.duration_ps = 100 * MS_PS;
        s.flows.rto_first_ps = said_ms[i] * MS_PS;
        struct sim_trace_flow one = {.bytes = 1000, .from = 0, .to = 1};
        s.traffic[0] = (struct sim_traffic){.kind = SIM_TRACE, .trace = &one, .trace_count = 1};
        s.failures[0] = (struct sim_failure){.link = sim_network_host_link(0), .until_ps = 100 * US_PS};
        s.failure_count = 1;
        assert_true(sim_run_init(&run, &s, NULL));
        finish_run(&run);
        assert_int_equal(run.end_count, 1);
        uint64_t timeout_ps = (i == 0 ? 20 : 3) * MS_PS;
        uint64_t took_ps = run.ends[0].end_ps - run.ends[0].start_ps;
        assert_in_range(took_ps, timeout_ps, timeout_ps + 10 * US_PS);
        sim_run_deinit(&run);
    }
}

/* The smallest time of flows that share a port over the largest; they begin within 100 us. */
static double fairness(uint32_t flows, uint64_t bytes, uint64_t seed)
{
    static struct sim_run run;
    struct trib_prng prng = {.state = trib_mix64(seed)};
    struct sim_scenario s = star(flows + 1);
    struct sim_trace_flow trace[16] = {{0}};
    uint64_t least_ps = SIM_NEVER;
    uint64_t most_ps = 0;

    assert_true(flows <= 16);
    for (uint32_t i = 0; i < flows; i++) {
        uint64_t before_ps = i != 0 ? trace[i - 1].start_ps : 0;
        trace[i] = (struct sim_trace_flow){.start_ps = before_ps + trib_prng_below(&prng, 200 * US_PS / flows),
                                           .bytes = bytes,
                                           .from = i,
                                           .to = flows};
    }
    s.topology.mark_bytes = 65 * 1500;
    s.topology.buffer_bytes = 1000 * 1500;
    s.duration_ps = 1000 * MS_PS;
    s.traffic[0] = (struct sim_traffic){.kind = SIM_TRACE, .trace = trace, .trace_count = flows};
    assert_true(sim_run_init(&run, &s, NULL));
    finish_run(&run);
    assert_int_equal(run.end_count, flows);
    for (uint64_t i = 0; i < run.end_count; i++) {
        uint64_t time_ps = run.ends[i].end_ps - run.ends[i].start_ps;
        least_ps = time_ps < least_ps ? time_ps : least_ps;
        most_ps = time_ps > most_ps ? time_ps : most_ps;
    }
    sim_run_deinit(&run);
    return (double)least_ps / (double)most_ps;
}

/* 8 flows of 4 MB into one port: 0.91 in ns-3 (tests/ns3/compare.py), 0.70 where a window grew with what came unmarked
 * right after a cut. */
static void dctcp__flows_into_a_port_end_together(void **state)
{
    double sum = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        double share = fairness(8, 4000000, seed);
        print_message("draw %u: smallest over largest time %.3f\n", (unsigned)seed, share);
        sum += share;
    }
    assert_true(sum / 6 >= 0.85);
}

/* The queue of n flows that move in step swings about the threshold K: at most n above it, and by sqrt(C RTT + K) / 2 x
 * sqrt(n / 2) below (Alizadeh et al., SIGCOMM'10, section 3.3). */
static void dctcp__queue_has_its_amplitude(void **state)
{
    enum { SENDERS = 2, K = 40 };
    static struct sim_run run;
    struct sim_scenario s = star(SENDERS + 1);
    double least = 1e9;
    double most = 0;

    (void)state;
    s.topology.mark_bytes = K * 1500;
    s.topology.edge.delay_ps = 10 * US_PS; /* C RTT = 40 us + serialisation: 36 packets */
    s.duration_ps = 50 * MS_PS;
    s.traffic[0] = (struct sim_traffic){.kind = SIM_INCAST, .fan_in = SENDERS, .repeat = 1, .bytes = SIM_NEVER};
    assert_true(sim_run_init(&run, &s, NULL));
    while (sim_run_advance(&run, 20)) {
        const struct sim_link *link = &run.network.links[SENDERS + 1];
        uint64_t now_ps = sim_run_now(&run);
        double queue = link->busy_ps > now_ps ? (double)(link->busy_ps - now_ps) / (1500 * 800) : 0;
        if (now_ps > 10 * MS_PS) {
            least = queue < least ? queue : least;
            most = queue > most ? queue : most;
        }
    }
    double round_trip = 42.6e6 / (1500 * 800);
    double amplitude = 0.5 * sqrt(2 * SENDERS * (round_trip + K));
    print_message("queue from %.1f to %.1f packets; K + n = %d, amplitude %.1f\n", least, most, K + SENDERS, amplitude);
    assert_true(most > K && most < K + SENDERS + 3);
    assert_true(least > K + SENDERS - 2 * amplitude && least < K + SENDERS - amplitude / 2);
    assert_int_equal(run.network.dropped, 0);
    sim_run_deinit(&run);
}

/* 60 hosts into one port of 30 packets: most is lost at first, and everything arrives in the end. */
static void flows__survive_losses(void **state)
{
    static struct sim_run run;
    struct sim_scenario s = star(61);

    (void)state;
    s.topology.buffer_bytes = 30 * 1500;
    s.duration_ps = 5000 * MS_PS;
    s.traffic[0] =
        (struct sim_traffic){.kind = SIM_INCAST, .fan_in = 60, .repeat = 3, .bytes = 100000, .period_ps = 50 * MS_PS};
    assert_true(sim_run_init(&run, &s, NULL));
    finish_run(&run);
    struct trib_flow_counters counters = sim_flows_counters(&run.flows);
    assert_true(run.network.dropped > 100 && counters.timeouts > 0 && counters.resent_order > 0);
    assert_int_equal(run.end_count, 180);
    assert_int_equal(run.flows.over, 180); /* and their memory is free */
    assert_int_equal(run.flows.bytes, 180 * 100000);
    assert_true(run.flows.high <= 180);
    assert_int_equal(sim_network_count(&run.network), 0);
    sim_run_deinit(&run);
}

static struct sim_scenario poisson(uint64_t seed)
{
    struct sim_scenario s = star(16);

    s.seed = seed;
    s.topology.kind = SIM_FAT_TREE;
    s.topology.k = 4;
    s.duration_ps = 10 * MS_PS;
    s.traffic[0] = (struct sim_traffic){.kind = SIM_POISSON,
                                        .sizes = sim_sizes_find("websearch-bytes"),
                                        .load = 0.7,
                                        .rate_bps = 10 * GBPS,
                                        .stop_ps = SIM_NEVER - 1};
    return s;
}

static uint64_t hash_of(uint64_t seed, uint64_t hops_each)
{
    static struct sim_run run;
    struct sim_scenario s = poisson(seed);

    assert_true(sim_run_init(&run, &s, NULL));
    while (sim_run_advance(&run, hops_each)) {
    }
    uint64_t hash = run.network.hash ^ run.end_count;
    sim_run_deinit(&run);
    return hash;
}

/* Whatever is looked at on the way. */
static void run__of_a_seed_is_one_run(void **state)
{
    (void)state;
    assert_true(hash_of(1, 1) == hash_of(1, 1000000));
    assert_true(hash_of(2, 77) == hash_of(2, 1000000));
    assert_true(hash_of(1, 100) != hash_of(2, 100));
}

/* What is offered is the load that was asked for: payload that begins per time. */
static void poisson__offers_its_load(void **state)
{
    static struct sim_run run;
    struct sim_scenario s = poisson(3);
    struct sim_results results;

    (void)state;
    s.traffic[0].sizes = NULL;
    s.traffic[0].bytes = 20000;
    s.traffic[0].load = 0.3;
    s.duration_ps = 50 * MS_PS;
    s.warmup_ps = 5 * MS_PS;
    assert_true(sim_run_init(&run, &s, NULL));
    finish_run(&run);
    assert_true(sim_results_make(&results, &run));
    print_message("goodput %.3f Gbps of 3 offered\n", results.goodput_bps / 1e9);
    assert_true(fabs(results.goodput_bps / 3e9 - 1) < 0.03);
    assert_int_equal(results.all.count, results.ended);
    assert_true(results.all.slowdown_mean >= 1 && results.all.slowdown_p99 >= results.all.slowdown_mean);
    assert_true(results.all.median_ps <= results.all.p99_ps && results.all.p99_ps <= results.all.most_ps);
    sim_run_deinit(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flow__alone_takes_the_ideal_time),  cmocka_unit_test(flows__share_a_link),
        cmocka_unit_test(flow__waits_for_the_first_timeout), cmocka_unit_test(dctcp__flows_into_a_port_end_together),
        cmocka_unit_test(dctcp__queue_has_its_amplitude),    cmocka_unit_test(flows__survive_losses),
        cmocka_unit_test(run__of_a_seed_is_one_run),         cmocka_unit_test(poisson__offers_its_load),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
