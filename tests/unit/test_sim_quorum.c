/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_quorum.c: jobs of the simulated network whose sums may lack ranks (panama:7/8): that they do where a rank is
 * late, how far the others get ahead of it, what a packet weighs, and that every sum is right all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tributary/comm.h>

#include "unit/sim_text.h"

#define MS_PS UINT64_C(1000000000)
/* 8 workers at one switch, 1 us away, 10 Gbps; sums of 1 MB, which fit into the window that the tests give. */
#define STAR                                                                                                     \
    "duration = \"60s\"\n[topology]\nkind = \"star\"\nhosts = 8\nrate = \"10Gbps\"\ndelay = \"1us\"\n[queues]\n" \
    "buffer = \"400pkt\"\necn = \"65pkt\"\n[[job]]\nworkers = 8\n"

/* ms that the iterations take in the mean. */
static double iteration_ms(const char *scheme, const char *more)
{
    open_text(STAR "scheme = \"%s\"\n%s", scheme, more);
    finish();
    return (double)run.jobs.jobs[0].end_ps / MS_PS / run.jobs.jobs[0].iterations;
}

/* Each iteration another rank is the slowest: who is not waits for all but it. */
static void sums__lack_who_is_late_and_take_less_time(void **state)
{
    static const char job[] =
        "iterations = 100\nsize = \"200KB\"\nwindow = 1000\ncompute = \"4ms\"\njitter = \"50%\"\n";
    double all_ms = iteration_ms("panama", job);

    (void)state;
    assert_int_equal(run.jobs.jobs[0].lacking, 0);
    close_run();
    double most_ms = iteration_ms("panama:7/8", job);
    const struct sim_job *j = &run.jobs.jobs[0];
    struct sim_job_counters c = sim_jobs_counters(&run.jobs, 0);
    print_message("%.3f ms with all of 8 ranks, %.3f with 7: %.0f %% of sums lack one\n", all_ms, most_ms,
                  100 * (double)j->lacking / (double)j->sums);
    assert_int_equal(j->sums, j->config.iterations * j->fragments);
    assert_true(j->lacking > j->sums / 2);
    assert_int_equal(c.workers.results_lacking, 8 * j->lacking);
    assert_int_equal(c.workers.late, j->lacking); /* one rank of 8, which takes it */
    assert_true(most_ms < 0.97 * all_ms);
    close_run();
}

/* Sums of half a window: who is late has hundreds of results to fetch, with a window that grows as they come. */
static void late_rank__catches_up(void **state)
{
    static const char job[] = "iterations = 60\nsize = \"1MB\"\nwindow = 1000\ncompute = \"4ms\"\njitter = \"50%\"\n";
    double all_ms = iteration_ms("panama", job);

    (void)state;
    close_run();
    double most_ms = iteration_ms("panama:7/8", job);
    print_message("%.3f ms with all of 8 ranks, %.3f with 7\n", all_ms, most_ms);
    assert_true(most_ms < all_ms); /* 1.3 times as long, were it to fetch them with a window of what marks have left */
    close_run();
}

/* The same with losses: what a late rank has lost is not found by timers alone, a few fragments each. */
static void late_rank__catches_up_with_losses(void **state)
{
    static const char job[] = "iterations = 40\nsize = \"1MB\"\nwindow = 1000\ncompute = \"4ms\"\njitter = \"50%\"\n"
                              "[faults]\nloss = \"2%\"\n";
    double all_ms = iteration_ms("panama", job);

    (void)state;
    close_run();
    double most_ms = iteration_ms("panama:7/8", job);
    print_message("%.3f ms with all of 8 ranks, %.3f with 7\n", all_ms, most_ms);
    assert_true(most_ms < 1.2 * all_ms);
    close_run();
}

/* A rank that is always late is lacked by what the others have summed before it comes, which is a window's worth: they
 * never get further ahead of it than that, and each iteration takes as long as it does. */
static void lead__is_a_window(void **state)
{
    static const char job[] =
        "iterations = 20\nsize = \"4MB\"\nwindow = 100\ncompute = \"2ms\"\nstragglers = 1\nslower = \"100%\"\n";
    uint64_t most = 0;

    (void)state;
    open_text(STAR "scheme = \"panama:7/8\"\n%s", job);
    const struct sim_job *j = &run.jobs.jobs[0];
    while (sim_run_advance(&run, 50)) {
        uint64_t last = j->scheme->worker->mark(run.jobs.endpoints[j->first + 7].node);
        for (uint32_t rank = 0; rank < 7; rank++) {
            uint64_t mark = j->scheme->worker->mark(run.jobs.endpoints[j->first + rank].node);
            assert_true(mark <= last + j->session.slots);
            most = mark > last + most ? mark - last : most;
        }
    }
    finish();
    double most_ms = (double)j->end_ps / MS_PS / j->iterations;
    print_message("the lead is %lu fragments of at most %u; %lu of %lu sums lack the last rank; %.3f ms\n",
                  (unsigned long)most, j->session.slots, (unsigned long)j->lacking, (unsigned long)j->sums, most_ms);
    assert_int_equal(most, j->session.slots);
    assert_true(j->lacking > 0 && j->lacking <= j->sums - j->session.slots); /* the first window is of all */
    close_run();
    double all_ms = iteration_ms("panama", job);
    print_message("%.3f ms with all\n", all_ms);
    assert_true(all_ms > 4 && most_ms > 4);
    close_run();
}

/* Iterations shorter than the window: ranks are several iterations apart. */
static void ranks__may_be_iterations_apart(void **state)
{
    static const char job[] = "iterations = 60\nsize = \"130KB\"\nwindow = 500\ncompute = \"1ms\"\nstragglers = "
                              "1\nslower = \"20%\"\nbuckets = 3\nbackward = "
                              "\"50%\"\n";
    uint32_t most = 0;

    (void)state;
    open_text(STAR "scheme = \"panama:7/8\"\n%s", job);
    const struct sim_job *j = &run.jobs.jobs[0];
    while (sim_run_advance(&run, 50)) {
        uint32_t lead = run.jobs.endpoints[j->first].iteration - run.jobs.endpoints[j->first + 7].iteration;
        most = lead > most && lead < 100 ? lead : most;
    }
    finish();
    print_message("%u iterations apart, of %lu fragments\n", most, (unsigned long)j->fragments);
    assert_true(most > 2 && most < j->turn_count);
    close_run();
}

/* Parts of these ranks that sums lack. */
static uint64_t late_of(uint32_t from, uint32_t to)
{
    const struct sim_job *j = &run.jobs.jobs[0];
    uint64_t late = 0;

    for (uint32_t rank = from; rank < to; rank++) {
        late += j->scheme->worker->node.counters(run.jobs.endpoints[j->first + rank].node)->late;
    }
    return late;
}

/* Of two switches with 4 ranks each, the one that has rank 7 may leave one out: this, or another of its own. Where each
 * has 8 both may. Of 7 ranks nobody lacks. */
static void trees__lack_as_many_of_a_switchs_ranks_as_these_brought(void **state)
{
    static const char tree[] =
        "duration = \"60s\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 8\nrate = \"10Gbps\"\n"
        "delay = \"1us\"\n[queues]\nbuffer = \"400pkt\"\necn = \"65pkt\"\n[[job]]\nscheme = \"panama:7/8\"\n"
        "iterations = 10\nsize = \"1MB\"\nwindow = 500\ntrees = 2\ncompute = \"2ms\"\njitter = \"50%\"\n";

    (void)state;
    open_text("%sworkers = 8\nhosts = \"0-3 8-11\"\n", tree);
    finish();
    assert_true(run.jobs.jobs[0].lacking > 0);
    assert_int_equal(late_of(0, 4), 0);
    assert_int_equal(late_of(4, 8), run.jobs.jobs[0].lacking);
    assert_true(late_of(4, 7) > 0);
    close_run();
    open_text("%sworkers = 16\n", tree);
    finish();
    assert_true(late_of(0, 8) > 0 && late_of(8, 16) > 0);
    close_run();
    open_text("%sworkers = 7\nhosts = \"0-2 8-11\"\n", tree);
    finish();
    assert_int_equal(run.jobs.jobs[0].lacking, 0);
    close_run();
}

/* Losses, and a switch that begins anew: finish() has looked at every sum. */
static void sums__are_right_with_losses_and_restarts(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 6; seed++) {
        open_text("seed = %u\n" STAR
                  "scheme = \"panama:7/8\"\niterations = 20\nsize = \"1MB\"\nwindow = 300\ncompute = \"2ms\"\njitter "
                  "= \"50%%\"\n[faults]\nloss = \"1%%\"\nduplicate = \"1%%\"\nreorder = \"2%%\"\nlate = \"100us\"\n"
                  "[[restart]]\nswitch = \"switch0\"\nat = \"20ms\"\naway = \"3ms\"\n",
                  seed);
        finish();
        assert_int_equal(run.jobs.jobs[0].iterations, 20);
        assert_true(run.jobs.jobs[0].lacking > 0);
        close_run();
    }
}

/* A packet has room for elements and a list; only what lacks ranks carries the list. The first window is of all. */
static void packets__carry_a_list_only_where_ranks_lack(void **state)
{
    (void)state;
    for (uint32_t late = 0; late < 2; late++) {
        open_text(STAR "scheme = \"panama:7/8\"\nsize = \"100KB\"\nwindow = 100\niterations = %u\n", late ? 10 : 1);
        finish();
        const struct sim_job *j = &run.jobs.jobs[0];
        struct sim_job_counters c = sim_jobs_counters(&run.jobs, 0);
        assert_int_equal(j->config.payload, 1408);
        assert_int_equal(j->data, 1344);
        assert_int_equal(j->fragments, (100000 + 1343) / 1344);
        uint64_t bytes[2] = {0, 0};
        for (uint32_t i = 0; i < run.network.link_count; i++) {
            bool is_down = run.network.fabric.from[i] >= run.network.hosts;
            bytes[is_down] += run.network.links[i].bytes - 92 * run.network.links[i].packets;
        }
        assert_int_equal(j->lacking != 0, late);
        assert_int_equal(c.switches.results_repeated, 0);
        assert_int_equal(bytes[0], c.workers.contributions * 1344);
        assert_int_equal(bytes[1], 8 * (c.switches.results * 1344 + j->lacking * 64));
        close_run();
    }
}

static void scenario__refuses_what_has_no_meaning(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        {"scheme = \"panama:7/8\"\niterations = 1\nsize = \"1MB\"\npayload = \"64B\"\n",
         "payload is 64, but the list of ranks of scheme panama:7/8 needs 64"},
        {"scheme = \"panama:7/8\"\niterations = 1\nsize = \"1MB\"\nranks = 4\n",
         "ranks does not apply to scheme panama:7/8: a host's sum has all of its ranks or none"},
        {"scheme = \"panama:9/8\"\niterations = 1\nsize = \"1MB\"\n",
         "x:12:10: panama:9/8: a quorum is M/N, at least 1/2 and less than 1, N at most 255"},
        {"scheme = \"panama:7\"\niterations = 1\nsize = \"1MB\"\n", "panama:7: a quorum is M/N, at least 1/2"},
        {"scheme = \"switchml:7/8\"\niterations = 1\nsize = \"1MB\"\n", "switchml:7/8: it has no quorum; panama has"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        char error[TRIB_ERROR_TEXT_MAX] = "";
        (void)snprintf(text, sizeof text, STAR "%s", cases[i].text);
        assert_false(sim_scenario_parse(&s, text, "x", NULL, error));
        print_message("%s\n", error);
        assert_non_null(strstr(error, cases[i].error));
        sim_scenario_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums__lack_who_is_late_and_take_less_time),
        cmocka_unit_test(late_rank__catches_up),
        cmocka_unit_test(late_rank__catches_up_with_losses),
        cmocka_unit_test(lead__is_a_window),
        cmocka_unit_test(ranks__may_be_iterations_apart),
        cmocka_unit_test(trees__lack_as_many_of_a_switchs_ranks_as_these_brought),
        cmocka_unit_test(sums__are_right_with_losses_and_restarts),
        cmocka_unit_test(packets__carry_a_list_only_where_ranks_lack),
        cmocka_unit_test(scenario__refuses_what_has_no_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
