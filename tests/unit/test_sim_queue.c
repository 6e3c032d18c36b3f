/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_queue.c: more jobs than hosts: each waits until there are hosts for it, in the order of starts; a job that
 * has ended gives its hosts and its memory back; a thousand jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "unit/sim_text.h"

#define US_PS UINT64_C(1000000)
#define STAR "duration = \"100s\"\n[topology]\nkind = \"star\"\nhosts = 8\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define TREE "duration = \"100s\"\n[topology]\nkind = \"fat-tree\"\nk = 4\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define JOB(scheme, workers, size) \
    "[[job]]\nscheme = \"" scheme "\"\nworkers = " #workers "\nsize = \"" size "\"\ncompute = \"20us\"\n"

/* No two jobs have a host at a time. */
static void expect_apart(void)
{
    const struct sim_jobs *j = &run.jobs;

    for (uint32_t a = 0; a < j->endpoint_count; a++) {
        const struct sim_job *one = &j->jobs[j->endpoints[a].job];
        for (uint32_t b = a + 1; j->endpoints[a].is_worker && b < j->endpoint_count; b++) {
            const struct sim_job *other = &j->jobs[j->endpoints[b].job];
            bool is_same = j->endpoints[b].is_worker && j->endpoints[a].place == j->endpoints[b].place;
            if (is_same && one != other) {
                assert_true(one->end_ps <= other->log[0].begun_ps || other->end_ps <= one->log[0].begun_ps);
            }
        }
    }
}

static void jobs__wait_for_hosts(void **state)
{
    static const char *const schemes[] = {"switchml", "panama", "ring", "hybrid:2", "ring-steps", "panama:3/4"};

    (void)state;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        open_text(STAR "[[job]]\nscheme = \"%s\"\nworkers = 4\nsize = \"40KB\"\ncompute = \"20us\"\niterations = 2\n"
                       "copies = 12\n[[traffic]]\nkind = \"permutation\"\nsize = \"20KB\"\n",
                  schemes[i]);
        assert_int_equal(run.queue.at, 2); /* two have hosts, ten wait */
        finish();
        assert_int_equal(run.jobs.done_jobs, 12);
        for (uint32_t job = 0; job < 12; job++) {
            assert_int_equal(run.jobs.jobs[job].iterations, 2);
        }
        expect_apart();
        close_run();
    }
}

/* Who starts first gets hosts first, whatever stands first in the file; a job that waits begins when it has hosts. */
static void jobs__go_by_their_starts(void **state)
{
    (void)state;
    open_text(STAR JOB("switchml", 8, "100KB") "iterations = 1\nstart = \"3ms\"\n" JOB(
        "switchml", 8, "100KB") "iterations = 1\nstart = \"2ms\"\n" JOB("switchml", 8, "100KB") "iterations = 40\n");
    finish();
    const struct sim_job *jobs = run.jobs.jobs;
    assert_true(jobs[2].end_ps > 3000 * US_PS); /* longer than until both others were to start */
    assert_true(jobs[1].log[0].begun_ps == jobs[2].end_ps);
    assert_true(jobs[0].log[0].begun_ps == jobs[1].end_ps);
    close_run();
}

/* Hosts that a job names are its own, and all that wait share the others. */
static void jobs__leave_named_hosts_alone(void **state)
{
    (void)state;
    open_text(STAR JOB("ring", 2, "20KB") "iterations = 300\nhosts = \"0 5\"\n" JOB(
        "ring", 3, "20KB") "iterations = 1\ncopies = 20\nplacement = \"random\"\n");
    finish();
    for (uint32_t i = run.jobs.jobs[1].first; i < run.jobs.endpoint_count; i++) {
        bool is_named = run.jobs.endpoints[i].place == 0 || run.jobs.endpoints[i].place == 5;
        assert_true(!is_named || run.jobs.endpoints[i].job == 0);
    }
    expect_apart();
    close_run();
}

/* What has ended is not there for a switch that begins anew, nor when the run is over too early. */
static void jobs__may_wait_in_any_case(void **state)
{
    (void)state;
    open_text(TREE JOB("switchml", 12, "100KB") "iterations = 2\ncopies = 5\n[[restart]]\nswitch = \"core0\"\n"
                                                "at = \"1ms\"\naway = \"200us\"\n[faults]\nloss = \"0.1%%\"\n");
    finish();
    assert_int_equal(run.jobs.done_jobs, 5);
    close_run();
    open_text(TREE JOB("switchml", 12, "100KB") "iterations = 2\ncopies = 5\n[faults]\nloss = \"0.1%%\"\n");
    while (run.jobs.done_jobs < 2) {
        assert_true(sim_run_advance(&run, 100));
    }
    assert_null(sim_run_check(&run));
    assert_int_equal(run.jobs.jobs[4].state, SIM_JOB_WAITS);
    close_run();
}

/* Of a thousand jobs four are there at a time: their memory is used again. (At k = 16 with 16 workers each:
 * docs/PERF.md.) */
static void jobs__of_a_thousand_share_memory(void **state)
{
    size_t used = 0;
    const void *chunk = NULL;

    (void)state;
    open_text(TREE JOB("panama", 4, "14080B") "iterations = 1\ncopies = 1000\nevery = \"10us\"\n");
    assert_int_equal(run.jobs.count, 1000);
    while (sim_run_advance(&run, 5000)) {
        if (run.jobs.done_jobs >= 100 && used == 0) {
            used = run.jobs.pieces.arena.used;
            chunk = run.jobs.pieces.arena.chunks;
        }
    }
    assert_null(sim_run_check(&run));
    assert_int_equal(run.jobs.done_jobs, 1000);
    assert_ptr_equal(run.jobs.pieces.arena.chunks, chunk);
    assert_true(run.jobs.pieces.arena.used < 2 * used);
    close_run();
}

static void jobs__that_cannot_wait_are_refused(void **state)
{
    static struct sim_scenario scenario;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    (void)state;
    assert_false(sim_scenario_parse(&scenario, STAR JOB("ring", 9, "1KB") "iterations = 1\n", "x", NULL, error));
    assert_string_equal(error, "x:9:11: 9 workers, but only 8 hosts are free");
    sim_scenario_free(&scenario);
    assert_false(sim_scenario_parse(&scenario,
                                    STAR JOB("panama", 4, "1MB") "iterations = 1\ncopies = 3\n[switches]\n"
                                                                 "memory = \"1MB\"\n",
                                    "x", NULL, error));
    assert_string_equal(error, "x:15:10: memory is divided among all jobs at once: 12 workers would need 8 hosts; name "
                               "fewer jobs, or no memory");
    sim_scenario_free(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs__wait_for_hosts),
        cmocka_unit_test(jobs__go_by_their_starts),
        cmocka_unit_test(jobs__leave_named_hosts_alone),
        cmocka_unit_test(jobs__may_wait_in_any_case),
        cmocka_unit_test(jobs__of_a_thousand_share_memory),
        cmocka_unit_test(jobs__that_cannot_wait_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
