/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_servers.c: jobs with servers in the simulated network, with combiners on the way (atp) and without (ps):
 * every sum is right, whatever switches lose or have no room for; links carry the bytes that they are known to carry;
 * pools of rows are shared as they are said to be. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "sim/jobs/servers.h"
#include "unit/sim_by_hand.h"

#define FRAGMENTS 4000U
#define ROWS 6U
#define HEADERS 92.0 /* of a packet: IPv4, UDP and Tributary's */

static struct sim_run run;
static struct sim_scenario s;
static struct trib_combiner_counters pools;

static void begin(enum sim_topology_kind kind)
{
    s = small_scenario(kind, kind == SIM_STAR ? 30 : 8);
    s.duration_ps = 60000 * MS_PS;
    s.topology.spines = 2;
    s.topology.pods = 2;
    s.topology.edges = 2;
    s.topology.ratio = (struct sim_ratio){2, 1};
    s.topology.core_ratio = (struct sim_ratio){1, 1};
    s.topology.buffer_bytes = 400 * 1500;
    s.topology.mark_bytes = 65 * 1500;
}

static struct sim_job_config *add(const char *scheme, uint32_t workers, uint64_t fragments)
{
    struct sim_job_config *job = &s.jobs[s.job_count++];

    *job = (struct sim_job_config){.workers = workers,
                                   .iterations = 2,
                                   .window = 128,
                                   .payload = 1408,
                                   .bytes = fragments * 1408,
                                   .placement = SIM_CLOSE};
    (void)snprintf(job->scheme, sizeof job->scheme, "%s", scheme);
    return job;
}

/* Every number of every job is compared. */
static void finish(void)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (!sim_run_init(&run, &s, error)) {
        fail_msg("%s", error);
    }
    finish_run(&run);
    for (uint32_t i = 0; i < run.jobs.count; i++) {
        const struct sim_job *job = &run.jobs.jobs[i];
        assert_int_equal(job->iterations, 2);
        assert_int_equal(job->wrong, 0);
        assert_int_equal(sim_jobs_rows(&run.jobs, i), 0);
        assert_int_equal(job->compared, 2 * sim__jobs_elements(job));
    }
    sim_jobs_pools(&run.jobs, &pools);
}

static double mean_us(uint32_t job)
{
    return run.jobs.jobs[job].summing_ps / 2 / (double)US_PS;
}

/* ---- sums ---- */

static void sums__are_right_everywhere(void **state)
{
    static const enum sim_topology_kind kinds[] = {SIM_STAR, SIM_LEAF_SPINE, SIM_FAT_TREE};
    uint64_t dropped = 0;
    uint64_t combined = 0;

    (void)state;
    for (uint32_t i = 0; i < 3 * 16; i++) {
        begin(kinds[i % 3]);
        s.topology.buffer_bytes = (i & 1) != 0 ? 400 * 1500 : 12 * 1500;
        s.accelerators.memory_bytes = (i & 2) != 0 ? SIM_NEVER : 1408 * (1 + i); /* few rows */
        s.accelerators.is_pool_static = (i & 4) != 0;
        s.is_multicast = (i & 8) != 0;
        add("atp", 4, 300)->placement = SIM_RANDOM;
        add("ps", 3, 200)->servers = 1 + i % 2;
        struct sim_job_config *job = add(i % 2 != 0 ? "atp" : "atp-aimd", 3, 250);
        job->servers = 1 + i % 3;
        job->are_servers_at_workers = i % 2 != 0;
        job->combines_everywhere = i % 4 != 0;
        job->placement = SIM_RANDOM;
        finish();
        dropped += run.network.dropped;
        combined += pools.combined;
        assert_int_equal(pools.refused, 0);
        sim_run_deinit(&run);
    }
    print_message("%lu packets dropped, %lu parts combined\n", (unsigned long)dropped, (unsigned long)combined);
    assert_true(dropped > 100 && combined > 10000);
}

static void sums__are_right_with_faults_and_restarts(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        begin(SIM_LEAF_SPINE);
        s.seed = 1 + i;
        s.faults = (struct sim_faults_config){.loss = 0.01, .duplicate = 0.01, .reorder = 0.05, .late_ps = 100 * US_PS};
        s.accelerators.memory_bytes = i % 2 != 0 ? SIM_NEVER : 40 * 1408;
        add("atp", 8, 400)->placement = SIM_RANDOM;
        add("atp", 5, 400)->placement = SIM_RANDOM;
        for (uint32_t restart = 0; restart < 4; restart++) { /* of the leaves, one after the other */
            s.restarts[s.restart_count++] =
                (struct sim_restart){.node = 32 + restart, .at_ps = (200 + 300 * restart) * US_PS};
        }
        finish();
        assert_true(pools.direct > 0 && pools.flushed > 0);
        sim_run_deinit(&run);
    }
}

/* Jobs that wait for hosts, and servers' hosts among them, which go to the next ones. */
static void jobs__follow_each_other(void **state)
{
    (void)state;
    begin(SIM_STAR);
    struct sim_job_config *job = add("atp", 8, 200);
    job->servers = 2;
    job->copies = 7;
    finish();
    assert_int_equal(run.jobs.count, 7);
    assert_int_equal(pools.combined + pools.passed, 7UL * 2 * 200 * 8);
    sim_run_deinit(&run);
}

/* ---- bytes and times ---- */

/* N parts of each fragment come to the server, one with a combiner; and the closed form of the time. */
static void servers__get_what_is_known(void **state)
{
    enum { WORKERS = 8 };
    const double line_us = FRAGMENTS * (1408 + HEADERS) * 8 / 1e4; /* of all gradients on one link */

    (void)state;
    begin(SIM_STAR);
    add("ps", WORKERS, FRAGMENTS);
    finish();
    double alone_us = mean_us(0);
    assert_int_equal(sim_jobs_counters(&run.jobs, 0).switches.contributions, 2UL * WORKERS * FRAGMENTS);
    sim_run_deinit(&run);
    begin(SIM_STAR);
    add("atp", WORKERS, FRAGMENTS);
    finish();
    double combined_us = mean_us(0);
    assert_int_equal(sim_jobs_counters(&run.jobs, 0).switches.contributions, 2UL * FRAGMENTS);
    assert_int_equal(pools.combined, 2UL * WORKERS * FRAGMENTS);
    assert_int_equal(run.network.links[30 + WORKERS].packets, 2UL * FRAGMENTS); /* to the server's host */
    sim_run_deinit(&run);
    begin(SIM_STAR);
    struct sim_job_config *job = add("ps", WORKERS, FRAGMENTS);
    job->servers = WORKERS;
    job->are_servers_at_workers = true;
    finish();
    double spread_us = mean_us(0);
    sim_run_deinit(&run);
    begin(SIM_STAR);
    add("switchml", WORKERS, FRAGMENTS);
    finish();
    double switch_us = mean_us(0);
    sim_run_deinit(&run);
    print_message("one server %.0f us (%.0f), with a combiner %.0f us (%.0f), a server at each worker %.0f us (%.0f), "
                  "a switch that is the root %.0f us\n",
                  alone_us, WORKERS * line_us, combined_us, line_us, spread_us, 2.0 * (WORKERS - 1) / WORKERS * line_us,
                  switch_us);
    assert_true(fabs(alone_us / (WORKERS * line_us) - 1) < 0.05);
    assert_true(switch_us / combined_us >= 0.97);
    assert_true(spread_us / (2.0 * (WORKERS - 1) / WORKERS * line_us) < 1.25);
}

/* ---- pools ---- */

/* Three jobs, of which each has the network to itself for a third of the time, and one worker that is late, so that
 * rows are held: a shared pool serves the job that sends. */
static double staggered_us(bool is_static)
{
    double sum_us = 0;

    begin(SIM_STAR);
    s.topology.buffer_bytes = 4000 * 1500;
    s.accelerators.memory_bytes = ROWS * 1408;
    s.accelerators.is_pool_static = is_static;
    for (uint32_t i = 0; i < 3; i++) {
        add("atp", 6, FRAGMENTS)->start_ps = i * 40 * MS_PS;
        s.jobs[i].iterations = 2;
        s.jobs[i].compute_ps = 120 * MS_PS;
        s.jobs[i].stragglers = 1;
        s.jobs[i].slower = 0.005;
    }
    finish();
    for (uint32_t i = 0; i < 3; i++) {
        sum_us += mean_us(i);
    }
    sim_run_deinit(&run);
    return sum_us / 3;
}

static void pools__serve_whoever_sends(void **state)
{
    double shared_us = staggered_us(false);
    double dealt_us = staggered_us(true);

    (void)state;
    print_message("three jobs in turns, %u rows: shared %.0f us, a third each %.0f us\n", ROWS, shared_us, dealt_us);
    assert_true(dealt_us > 1.15 * shared_us);
}

/* Of two jobs that begin together, that of the higher priority has the rows. */
static void rows__go_to_the_higher_priority(void **state)
{
    (void)state;
    begin(SIM_STAR);
    s.topology.buffer_bytes = 4000 * 1500;
    s.accelerators.memory_bytes = ROWS / 2 * 1408;
    for (uint32_t i = 0; i < 2; i++) {
        add("atp", 8, FRAGMENTS)->priority = 200 * i;
        s.jobs[i].compute_ps = 10 * MS_PS;
        s.jobs[i].stragglers = 1;
        s.jobs[i].slower = 0.05;
    }
    finish();
    print_message("priority 0: %.0f us, 200: %.0f us; %lu sums gave way\n", mean_us(0), mean_us(1),
                  (unsigned long)pools.evicted);
    assert_true(pools.evicted > 100 && mean_us(1) < 0.9 * mean_us(0));
    sim_run_deinit(&run);
}

/* Of two jobs of one priority, parts of later buckets take the one row, and sums stay right. */
static void rows__go_to_the_later_bucket(void **state)
{
    (void)state;
    for (uint32_t by_bucket = 0; by_bucket < 2; by_bucket++) {
        begin(SIM_STAR);
        s.topology.buffer_bytes = 4000 * 1500;
        s.accelerators.memory_bytes = 1408;
        for (uint32_t i = 0; i < 2; i++) {
            struct sim_job_config *job = add("atp", 8, FRAGMENTS);
            job->priority = 1; /* a collision takes nothing of it */
            job->by_bucket = by_bucket != 0;
            job->buckets = i == 0 ? 1 : 4; /* equal in the first */
        }
        finish();
        print_message("%s: one bucket %.0f us, four %.0f us; %lu sums gave way\n",
                      by_bucket != 0 ? "by bucket" : "equal", mean_us(0), mean_us(1), (unsigned long)pools.evicted);
        assert_true(by_bucket != 0 ? pools.evicted > 100 : pools.evicted == 0);
        sim_run_deinit(&run);
    }
}

/* The time of a job beside one whose last worker is late in each iteration. */
static double beside_straggler_us(uint32_t priority, double *straggling_us)
{
    begin(SIM_STAR);
    s.topology.buffer_bytes = 4000 * 1500;
    s.accelerators.memory_bytes = ROWS * 1408;
    add("atp", 4, FRAGMENTS)->priority = priority;
    add("atp", 4, FRAGMENTS / 16)->priority = priority;
    s.jobs[1].iterations = 10;
    s.jobs[1].compute_ps = MS_PS;
    s.jobs[1].stragglers = 1;
    s.jobs[1].slower = 1;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    assert_true(sim_run_init(&run, &s, error));
    finish_run(&run);
    assert_int_equal(run.jobs.jobs[0].wrong + run.jobs.jobs[1].wrong, 0);
    double us = mean_us(0);
    *straggling_us = run.jobs.jobs[1].summing_ps / 10 / (double)US_PS;
    sim_run_deinit(&run);
    return us;
}

/* A job that waits for a worker loses its rows to others, if all have a priority, and is no slower for it. */
static void rows__go_to_jobs_that_do_not_wait(void **state)
{
    double straggling_us[2];
    double first_us = beside_straggler_us(0, &straggling_us[0]);
    double yielding_us = beside_straggler_us(255, &straggling_us[1]);

    (void)state;
    print_message(
        "beside a straggler: first come %.0f us, with priorities %.0f us; the straggling job %.0f and %.0f us\n",
        first_us, yielding_us, straggling_us[0], straggling_us[1]);
    assert_true(first_us > 1.2 * yielding_us && yielding_us < 1.05 * FRAGMENTS * (1408 + HEADERS) * 8 / 1e4);
    assert_true(straggling_us[1] < 1.02 * straggling_us[0]);
}

/* Without rows everything goes to the server. */
static void a_pool_of_nothing__passes_all(void **state)
{
    (void)state;
    begin(SIM_STAR);
    s.accelerators.memory_bytes = 1;
    add("atp", 8, 500);
    finish();
    assert_int_equal(pools.combined, 0);
    assert_int_equal(pools.passed, 2UL * 8 * 500);
    sim_run_deinit(&run);
}

/* ---- what cannot be ---- */

static void more_than_64_workers__are_refused(void **state)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    begin(SIM_STAR);
    s.topology.hosts = 80;
    add("atp", 65, 10);
    assert_false(sim_run_init(&run, &s, error));
    assert_string_equal(error, "a simulated server is one node, with at most 64 workers");
    sim_run_deinit(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums__are_right_everywhere),    cmocka_unit_test(sums__are_right_with_faults_and_restarts),
        cmocka_unit_test(jobs__follow_each_other),       cmocka_unit_test(servers__get_what_is_known),
        cmocka_unit_test(pools__serve_whoever_sends),    cmocka_unit_test(rows__go_to_the_higher_priority),
        cmocka_unit_test(rows__go_to_the_later_bucket),  cmocka_unit_test(rows__go_to_jobs_that_do_not_wait),
        cmocka_unit_test(a_pool_of_nothing__passes_all), cmocka_unit_test(more_than_64_workers__are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
