/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_jobs.c: training jobs in the simulated network: every sum is right, with and without losses, on every
 * topology; and schemes move the bytes that they are known to move. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "unit/sim_by_hand.h"

static struct sim_run run;
static struct sim_scenario s;

static void begin(enum sim_topology_kind kind)
{
    s = small_scenario(kind, kind == SIM_STAR ? 16 : 4);
    s.duration_ps = 20000 * MS_PS;
    s.topology.spines = 2;
    s.topology.pods = 2;
    s.topology.edges = 2;
    s.topology.ratio = (struct sim_ratio){2, 1};
    s.topology.core_ratio = (struct sim_ratio){1, 1};
    s.topology.routers = 2;
    s.topology.buffer_bytes = 400 * 1500;
    s.topology.mark_bytes = 65 * 1500;
}

static void add(const char *scheme, uint32_t workers, uint64_t bytes, enum sim_placement placement)
{
    struct sim_job_config *job = &s.jobs[s.job_count++];

    *job = (struct sim_job_config){.workers = workers,
                                   .iterations = 3,
                                   .window = 128,
                                   .payload = 1408,
                                   .bytes = bytes,
                                   .compute_ps = 50 * US_PS,
                                   .placement = placement};
    (void)snprintf(job->scheme, sizeof job->scheme, "%s", scheme);
}

static void finish(void)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (!sim_run_init(&run, &s, error)) {
        fail_msg("%s", error);
    }
    finish_run(&run);
    for (uint32_t i = 0; i < s.job_count; i++) {
        const struct sim_job *job = &run.jobs.jobs[i];
        uint64_t fragments = job->fragments < 4096 ? job->fragments : 4096;
        assert_int_equal(job->iterations, 3);
        assert_int_equal(job->wrong, 0);
        assert_int_equal(job->compared, 3 * fragments * 16);
    }
}

/* Every scheme on every topology, close together and apart; packets are lost where buffers are small. */
static void jobs__sum_right_everywhere(void **state)
{
    static const char *const schemes[] = {"switchml", "ring", "hybrid:4"};
    static const uint64_t buffers[] = {400 * 1500, 12 * 1500};
    uint64_t dropped = 0;

    (void)state;
    for (uint32_t kind = SIM_STAR; kind < SIM_FROM_FILE; kind++) {
        for (uint32_t i = kind == SIM_DRAGONFLY; i < 3 * 2 * 2; i++) {
            if (kind == SIM_DRAGONFLY && (i % 3 == 0 || i % 3 == 2)) {
                continue; /* no tree for switchml */
            }
            begin((enum sim_topology_kind)kind);
            s.topology.buffer_bytes = buffers[i / 6];
            add(schemes[i % 3], 8, 500 * 1408, i % 2 != 0 ? SIM_RANDOM : SIM_CLOSE);
            add(schemes[(i + 1) % 3], 4, 300 * 1408 - 5, i % 2 != 0 ? SIM_RANDOM : SIM_CLOSE);
            finish();
            dropped += run.network.dropped;
            sim_run_deinit(&run);
        }
    }
    print_message("%lu packets dropped\n", (unsigned long)dropped);
    assert_true(dropped > 100);
}

/* Through a switch each worker sends the gradients once and gets them once, at the rate of its link. */
static void switchml__moves_the_model_once(void **state)
{
    enum { FRAGMENTS = 20000, WORKERS = 8 };
    const uint64_t round = 3 * (uint64_t)FRAGMENTS;

    (void)state;
    begin(SIM_STAR);
    add("switchml", WORKERS, (uint64_t)FRAGMENTS * 1408, SIM_CLOSE);
    finish();
    struct sim_job_counters c = sim_jobs_counters(&run.jobs, 0);
    assert_int_equal(c.workers.contributions, round * WORKERS);
    assert_int_equal(c.switches.results, round);
    assert_int_equal(run.jobs.aggregated, round * WORKERS);
    for (uint32_t host = 0; host < WORKERS; host++) {
        double up = (double)run.network.links[host].bytes / (double)round / 1500;
        double down = (double)run.network.links[16 + host].bytes / (double)round / 1500;
        assert_true(up >= 1 && up < 1.001 && down >= 1 && down < 1.001);
    }
    double summing = run.jobs.jobs[0].summing_ps / 3;
    double line = (double)FRAGMENTS * 1500 * 800;
    print_message("summing takes %.3f ms, the link's rate allows %.3f\n", summing / 1e9, line / 1e9);
    assert_true(summing > line && summing < 1.01 * line + 10 * (double)US_PS);
    sim_run_deinit(&run);
}

/* On a ring each worker sends 2 (N - 1) / N of the gradients (Patarasuk and Yuan). */
static void ring__moves_what_is_known(void **state)
{
    enum { FRAGMENTS = 4096, WORKERS = 8 };

    (void)state;
    begin(SIM_STAR);
    s.topology.mark_bytes = SIM_NEVER;
    add("ring", WORKERS, (uint64_t)FRAGMENTS * 1408, SIM_CLOSE);
    finish();
    struct sim_job_counters c = sim_jobs_counters(&run.jobs, 0);
    assert_int_equal(c.flows.sent, 3 * UINT64_C(2) * (WORKERS - 1) * FRAGMENTS);
    double line = 2.0 * (WORKERS - 1) / WORKERS * FRAGMENTS * 1500 * 800;
    double summing = run.jobs.jobs[0].summing_ps / 3;
    print_message("summing takes %.3f ms, the link's rate allows %.3f\n", summing / 1e9, line / 1e9);
    assert_true(summing > line && summing < 1.25 * line);
    sim_run_deinit(&run);
}

/* More workers than a node has children is said, not met. */
static void jobs__too_wide_are_refused(void **state)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    begin(SIM_STAR);
    s.topology.hosts = 80;
    add("switchml", 65, 1408, SIM_CLOSE);
    assert_false(sim_run_init(&run, &s, error));
    assert_string_equal(error, "more than 64 workers or switches below one switch of its tree");
    sim_run_deinit(&run);
    begin(SIM_DRAGONFLY);
    add("switchml", 8, 1408, SIM_CLOSE);
    assert_false(sim_run_init(&run, &s, error));
    assert_string_equal(
        error,
        "no switch is above all of the job's workers: a scheme with switches needs a tree, or all on one switch");
    sim_run_deinit(&run);
}

/* How long all iterations take, of a job of 4 workers that sums next to nothing. */
static double end_us(double jitter, uint32_t stragglers, uint64_t seed)
{
    begin(SIM_STAR);
    s.seed = seed;
    add("switchml", 4, 1408, SIM_CLOSE);
    s.jobs[0].compute_ps = 1000 * US_PS;
    s.jobs[0].jitter = jitter;
    s.jobs[0].stragglers = stragglers;
    s.jobs[0].slower = 0.5;
    finish();
    double end = (double)run.jobs.jobs[0].end_ps / US_PS;
    sim_run_deinit(&run);
    return end;
}

/* All wait for the slowest worker, whichever it is. */
static void workers__may_be_slow(void **state)
{
    double plain = end_us(0, 0, 1);

    (void)state;
    assert_true(plain > 3000 && plain < 3050);
    double slow = end_us(0, 1, 1);
    assert_true(fabs(slow - plain - 3 * 500) < 1);
    assert_true(fabs(end_us(0, 4, 1) - slow) < 1);
    double least = 1e9;
    double most = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double end = end_us(0.2, 0, seed);
        least = end < least ? end : least;
        most = end > most ? end : most;
    }
    print_message("with a jitter of 20 %%: %.0f to %.0f us, without %.0f\n", least, most, plain);
    assert_true(least > plain - 600 && least < most && most < plain + 600);
    assert_true(least > plain); /* the slowest of four is slower than the mean */
    assert_true(end_us(0.2, 0, 7) == end_us(0.2, 0, 7));
}

/* Where they are named to be, and the others on what is left; one after the other. */
static void jobs__are_placed_and_arrive(void **state)
{
    uint32_t hosts[] = {9, 0, 5, 2};
    uint64_t before_ps = 0;

    (void)state;
    begin(SIM_STAR);
    add("ring", 3, 10000, SIM_CLOSE);
    add("ring", 4, 10000, SIM_CLOSE);
    s.jobs[0].copies = 4;
    s.jobs[0].every_ps = 100 * US_PS;
    s.jobs[1].hosts = hosts;
    assert_true(sim_run_init(&run, &s, NULL));
    assert_int_equal(run.jobs.count, 5);
    for (uint32_t i = 0; i < 4; i++) {
        static const uint32_t expected[] = {1, 3, 4, 6, 7, 8, 10, 11, 12, 13, 14, 15};
        for (uint32_t rank = 0; rank < 3; rank++) {
            assert_int_equal(run.jobs.endpoints[run.jobs.jobs[i].first + rank].place, expected[3 * i + rank]);
        }
        assert_true(i == 0 || run.jobs.jobs[i].config.start_ps > before_ps);
        before_ps = run.jobs.jobs[i].config.start_ps;
    }
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(run.jobs.endpoints[run.jobs.jobs[4].first + rank].place, hosts[rank]);
    }
    finish_run(&run);
    assert_int_equal(run.jobs.done_jobs, 5);
    sim_run_deinit(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs__sum_right_everywhere),  cmocka_unit_test(workers__may_be_slow),
        cmocka_unit_test(jobs__are_placed_and_arrive), cmocka_unit_test(switchml__moves_the_model_once),
        cmocka_unit_test(ring__moves_what_is_known),   cmocka_unit_test(jobs__too_wide_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
