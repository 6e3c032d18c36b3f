/* SPDX-License-Identifier: Apache-2.0 */
/* sim_single.c: see sim_single.h. Read next: sim/run.h, sim/results/results.h. */
#include "cli/sim_single.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/sim_progress.h"
#include "io/clock.h"
#include "io/file.h"
#include "plan/placed.h"
#include "plan/simulated.h"
#include "sim/results/ideal.h"

#define HOPS_EACH UINT64_C(200000) /* between two looks at the clock: some ten milliseconds */
#define STALL_PS UINT64_C(5000000000000)
#define CIRCLE_LEN 4096 /* of a deadlock's text */

struct everything {
    struct sim_scenario scenario;
    struct sim_run run;
    struct sim_results results;
    struct sim_story story;
    struct sim_ideal ideal;
    struct plan_simulated plan; /* of trees, */
    struct plan_placed placed;  /* or of pieces */
};

static void simulate(struct everything *e, bool is_quiet)
{
    struct progress progress = progress_begin(is_quiet);
    double begin = trib_cpu_s();

    /* A stalled run ends here. The report shows the last state. */
    while (!e->story.was_stalled && sim_run_advance(&e->run, HOPS_EACH) && !interrupt_came()) {
        e->story.was_stalled = sim_run_stalled(&e->run, STALL_PS) != 0;
        sim_progress_show(&progress, "", &e->run);
    }
    progress_end(&progress);
    e->story.cpu_s = trib_cpu_s() - begin;
    e->story.was_interrupted = interrupt_came() && !e->run.is_over;
}

static struct progress ideal_progress;

static bool go_on(const struct sim_run *alone)
{
    sim_progress_show(&ideal_progress, "alone: ", alone);
    return !interrupt_came() && sim_run_stalled(alone, STALL_PS) == 0;
}

/* Each kind of traffic alone. False: something is wrong; an interrupt is not. */
static bool simulate_ideal(struct everything *e, bool is_quiet)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (!e->scenario.is_ideal || e->story.was_interrupted || e->story.was_stalled) {
        return true;
    }
    ideal_progress = progress_begin(is_quiet);
    bool is_good = sim_ideal_make(&e->ideal, &e->run, go_on, HOPS_EACH, error);
    progress_end(&ideal_progress);
    e->story.ideal = is_good ? &e->ideal : NULL;
    e->story.was_interrupted = interrupt_came();
    return is_good || interrupt_came() || complain("%s", error) == 0;
}

static int tell(struct everything *e, const struct sim_single *options)
{
    const char *fault = sim_run_check(&e->run);
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (!sim_results_make(&e->results, &e->run)) {
        return complain("out of memory");
    }
    if (options->silent) {
        /* the files say it */
    } else if (options->json) {
        sim_results_json(stdout, &e->run, &e->results, &e->story);
    } else {
        sim_results_summary(stdout, &e->run, &e->results, &e->story);
    }
    if ((options->out != NULL && !sim_results_write(options->out, &e->run, &e->results, &e->story, error)) ||
        (options->html != NULL && !sim_results_write_page(options->html, &e->run, &e->results, &e->story, error))) {
        return complain("%s", error);
    }
    if (e->run.refusal[0] != '\0') {
        return complain("a job that waited for hosts cannot start: %s", e->run.refusal);
    }
    uint32_t jobs = 0;
    uint64_t not_done = sim_results_not_done(&e->run, &jobs);
    if (not_done != 0 && !options->silent) {
        complain("%" PRIu64 " iteration%s of %u job%s not done when the run was over: means are of the others",
                 not_done, not_done == 1 ? "" : "s", jobs,
                 not_done == 1 ? " was"
                 : jobs == 1   ? " were"
                               : "s were");
    }
    if (fault != NULL) {
        return complain("the simulator is wrong: %s; please report this with the scenario", fault);
    }
    if (e->run.deadlock.count != 0) {
        char circle[CIRCLE_LEN] = "";
        sim__deadlock_text(&e->run, circle, sizeof circle);
        complain("deadlock since %.3f us: %u ports are stopped for ever; in a circle each waits for the next: %s",
                 (double)e->run.deadlock.since_ps / 1e6, e->run.deadlock.stopped, circle);
        return SIM_EXIT_DEADLOCK;
    }
    if (e->story.was_stalled) {
        uint64_t left = sim_run_stalled(&e->run, STALL_PS);
        complain("given up: nothing has arrived for 5 s of simulated time, and %" PRIu64 "%s not ended", left,
                 left == 1 ? " flow or job has" : " flows and jobs have");
        return SIM_EXIT_STALLED;
    }
    if (e->story.was_interrupted && !options->silent) { /* else the sweep reports the interrupt */
        complain("interrupted: these are the results until then");
    }
    return e->story.was_interrupted ? interrupt_status() : 0;
}

static int run(struct everything *e, const struct sim_single *options)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    int status = 0;

    if (!sim_scenario_run(&e->run, &e->scenario, error)) {
        complain("%s", error);
        status = e->run.unfit != SIM_FITS ? EXIT_USAGE : 1;
    } else if (!options->check) {
        interrupt_catch(); /* not before: paths of a large network take a minute, without results */
        simulate(e, options->quiet);
        status = simulate_ideal(e, options->quiet) ? tell(e, options) : 1;
    }
    sim_run_deinit(&e->run);
    return status;
}

/* Gives the plan to the scenario's jobs. False: error. */
static bool take_plan(struct everything *e, const struct trib_toml *toml, char *error)
{
    if (!plan_placed_read(&e->placed, toml, error)) {
        return false;
    }
    return e->placed.plan.count != 0
               ? plan_placed_give(&e->placed, &e->scenario, error)
               : plan_simulated_init(&e->plan, &e->scenario, error) && plan_simulated_read(&e->plan, toml, error);
}

static bool read_plan(struct everything *e, const char *path, char *error)
{
    struct trib_toml toml;
    bool is_good = trib_toml_open(&toml, path, error) && take_plan(e, &toml, error);
    trib_toml_free(&toml);
    return is_good;
}

int sim_single(const char *path, const struct sim_overrides *overrides, const struct sim_single *options)
{
    struct everything *e = calloc(1, sizeof *e);
    char error[TRIB_ERROR_TEXT_MAX] = "";
    int status = 1;

    if (e == NULL) {
        return complain("out of memory");
    }
    e->story.version = TRIB_VERSION;
    if ((options->out != NULL && !trib_file_make_folder(options->out, error)) ||
        (options->html != NULL && !trib_file_may_write(options->html, error))) {
        complain("%s", error);
    } else if (!sim_scenario_read(&e->scenario, path, overrides, error) ||
               (options->plan != NULL && !read_plan(e, options->plan, error))) {
        complain("%s", error);
        status = EXIT_USAGE;
    } else {
        status = run(e, options);
    }
    plan_simulated_free(&e->plan);
    plan_placed_free(&e->placed);
    sim_scenario_free(&e->scenario);
    sim_ideal_free(&e->ideal);
    free(e);
    return status;
}
