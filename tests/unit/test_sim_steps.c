/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_steps.c: rings that sum in steps, and what scenarios leave out or mark besides: jobs, flows of some sizes,
 * hosts' own queues. */
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

#include "sim/jobs/steps.h"
#include "sim/results/results.h"
#include "unit/sim_text.h"

#define STAR "duration = \"10s\"\n[topology]\nkind = \"star\"\nhosts = 8\nrate = \"10Gbps\"\ndelay = \"1us\"\n"
#define STEPS(workers, more) \
    "[[job]]\nscheme = \"ring-steps\"\nworkers = " #workers "\nsize = \"4.8MB\"\ncompute = \"1ms\"\n" more
#define POISSON "[[traffic]]\nkind = \"poisson\"\nsize = \"websearch-packets\"\nload = \"20%%\"\nstop = \"60ms\"\n"

/* 2 (N - 1) messages one after the other, of an N-th each; other flows are counted, and the ring's are not. */
static void steps__take_what_their_messages_take(void **state)
{
    (void)state;
    for (uint32_t workers = 2; workers <= 6; workers += 2) {
        open_text(STAR "[queues]\nhost_ecn = true\n[[job]]\nscheme = \"ring-steps\"\nworkers = %u\nsize = "
                       "\"4.8MB\"\niterations = 3\n"
                       "compute = \"1ms\"\n[[traffic]]\nkind = \"incast\"\nfan_in = 1\nto = 6\nsize = \"1MB\"\n",
                  workers);
        finish();
        uint64_t bytes = 4800000 / workers;
        double packets = ceil((double)bytes / 1460);
        double message_ps = ((double)bytes + packets * 40) * 800.0 + 2e6; /* 10 Gbps, two links of 1 us */
        double least = 2.0 * (workers - 1) * message_ps;
        struct sim_job_times t = sim_results_job(&run, 0);
        print_message("%u workers: %.3f ms, messages alone %.3f\n", workers, t.summing_ps / 1e9, least / 1e9);
        assert_int_equal(t.count, 3);
        assert_true(t.summing_ps >= least && t.summing_ps < 1.2 * least); /* acknowledgements wait behind data */
        assert_true(fabs(t.iteration_ps - t.summing_ps - 1e9) < 1e6);
        assert_int_equal(run.end_count, 1);
        assert_int_equal(run.flows.bytes, 1000000);
        assert_int_equal(run.flows.job_bytes, 3 * 2 * (workers - 1) * bytes * workers);
        assert_null(sim_run_check(&run));
        close_run();
    }
}

/* In buckets, where ranks are slower than others, beside flows, where packets are lost: all iterations end, each with
 * all its bytes. */
static void steps__end_whatever_happens(void **state)
{
    static const char *const more[] = {"", "buckets = 4\n", "jitter = \"50%\"\n", "ranks = 4\nstragglers = 1\n"};

    (void)state;
    for (uint32_t seed = 1; seed <= 12; seed++) {
        open_text("seed = %u\n" STAR "[queues]\nbuffer = \"%s\"\n" POISSON
                  "[[job]]\nscheme = \"ring-steps\"\nworkers = 5\nsize = \"4.8MB\"\ncompute = \"1ms\"\niterations = "
                  "3\n%s[faults]\nloss = \"%s\"\nduplicate = \"0.2%%\"\n",
                  seed, seed % 3 == 0 ? "10pkt" : "200pkt", more[seed % 4], seed % 2 == 0 ? "0.5%" : "0.1%");
        finish();
        assert_int_equal(run.jobs.jobs[0].iterations, 3);
        assert_int_equal(run.flows.job_bytes, 3 * 8 * 4800000);
        close_run();
    }
}

/* The first tables alone. */
static void jobs__may_be_fewer(void **state)
{
    (void)state;
    for (uint32_t jobs = 1; jobs <= 2; jobs++) {
        open_text("jobs = %u\n" STAR STEPS(2, "iterations = 1\n") STEPS(3, "iterations = 2\n"), jobs);
        finish();
        assert_int_equal(run.jobs.count, jobs);
        assert_int_equal(run.jobs.done_jobs, jobs);
        close_run();
    }
}

/* Each is as it would be, and each is in one of the parts. */
static void flows__may_be_left_out_by_size(void **state)
{
    static const char *const parts[] = {"", "below = \"100KB\"\n", "least = \"100KB\"\n"};
    uint64_t bytes[3];
    uint64_t begun[3];

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        open_text(STAR POISSON "%s", parts[i]);
        finish();
        begun[i] = run.begun;
        bytes[i] = run.flows.bytes;
        for (uint64_t j = 0; j < run.end_count && i != 0; j++) {
            assert_true((run.ends[j].plan.bytes < 100000) == (i == 1));
        }
        close_run();
    }
    print_message("%u flows, %u and %u\n", (unsigned)begun[0], (unsigned)begun[1], (unsigned)begun[2]);
    assert_true(begun[1] > 10 && begun[2] > 10);
    assert_int_equal(begun[0], begun[1] + begun[2]);
    assert_int_equal(bytes[0], bytes[1] + bytes[2]);
}

/* A flow that has its host's link for itself waits there: with marks as long as these allow, else as its window does. */
static void hosts__may_mark(void **state)
{
    uint64_t waits[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        open_text(STAR "[queues]\nbuffer = \"none\"\necn = \"20pkt\"\nhost_ecn = %s\n[[traffic]]\nkind = "
                       "\"incast\"\nfan_in = 1\nto = 0\nsize = \"20MB\"\n",
                  i != 0 ? "true" : "false");
        finish();
        waits[i] = run.network.links[sim_network_host_link(1)].most_ps;
        close_run();
    }
    print_message("longest waits: %.0f and %.0f packets\n", (double)waits[0] / 1.2e6, (double)waits[1] / 1.2e6);
    assert_true(waits[0] > 200 * UINT64_C(1200000) && waits[1] < 60 * UINT64_C(1200000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps__take_what_their_messages_take),
        cmocka_unit_test(steps__end_whatever_happens),
        cmocka_unit_test(jobs__may_be_fewer),
        cmocka_unit_test(flows__may_be_left_out_by_size),
        cmocka_unit_test(hosts__may_mark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
