/* SPDX-License-Identifier: Apache-2.0 */
/* command_sim.c: `tributary sim`: runs a scenario in the simulator, with progress, and writes its results; also when it
 * is interrupted.
 * Read next: sim/run.h, sim/scenario/scenario.h, sim_bench.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/sim_bench.h"
#include "cli/sim_progress.h"
#include "cli/sim_sweep.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/units.h"
#include "sim/results/ideal.h"
#include "sim/scenario/scenario.h"

#define HOPS_EACH UINT64_C(200000) /* between two looks at the clock: some ten milliseconds */
#define STALL_PS UINT64_C(5000000000000)
#define PATH_MAX_LEN 4096
#define LEVERS_MAX 6U
#define WORDS_MAX 2U

struct sim_options {
    const char *out;
    const char *html;
    uint64_t seed;
    bool json;
    bool quiet;
    bool keys;
    bool models;
    bool check;
    bool quick;  /* of bench */
    bool silent; /* no summary */
    bool ideal;
    const char *shard;
    const char *scale;
    const char *warmup;
    const char *window;
    const char *mtu;
    uint32_t cores;
};

static const struct option_row rows[] = {
    {"out", 'o', "DIR",
     "write results.json, flows.csv, links.csv, figures.csv, and of jobs jobs.csv and iterations.csv there",
     OPTION_TEXT, offsetof(struct sim_options, out)},
    {"html", 0, "FILE", "results as a page with plots, which needs nothing else", OPTION_TEXT,
     offsetof(struct sim_options, html)},
    {"seed", 0, "N", "instead of the scenario's", OPTION_NUMBER(0, UINT64_MAX - 1), offsetof(struct sim_options, seed)},
    {"scale", 0, "1/N", "jobs sum, compute and follow each other N times less", OPTION_TEXT,
     offsetof(struct sim_options, scale)},
    {"warmup", 0, "TIME", "what begins earlier does not count", OPTION_TEXT, offsetof(struct sim_options, warmup)},
    {"window", 0, "TIME", "nor what begins so long after that", OPTION_TEXT, offsetof(struct sim_options, window)},
    {"mtu", 0, "BYTES", "of packets, such as 9000B, where flows and jobs say nothing else", OPTION_TEXT,
     offsetof(struct sim_options, mtu)},
    {"ideal", 0, NULL, "flows alone and jobs alone as well, for comparison", OPTION_ON,
     offsetof(struct sim_options, ideal)},
    {"json", 0, NULL, "results as one JSON object instead of a summary; of bench: a list", OPTION_ON,
     offsetof(struct sim_options, json)},
    {"quiet", 'q', NULL, "no progress", OPTION_ON, offsetof(struct sim_options, quiet)},
    {"check", 0, NULL, "read the scenario, say what is wrong with it, and stop", OPTION_ON,
     offsetof(struct sim_options, check)},
    {"models", 0, NULL, "the models that jobs may name, and where their times are from", OPTION_ON,
     offsetof(struct sim_options, models)},
    {"keys", 0, NULL, "what may stand in a scenario", OPTION_ON, offsetof(struct sim_options, keys)},
    {"cores", 'j', "N", "sweep: runs at a time [all]", OPTION_COUNT(1, SIM_CORES_MAX),
     offsetof(struct sim_options, cores)},
    {"shard", 0, "I/N", "sweep: the I-th of N parts, from 0 on, such as $SLURM_PROCID/$SLURM_NTASKS [0/1]", OPTION_TEXT,
     offsetof(struct sim_options, shard)},
    {"quick", 0, NULL, "bench: a twentieth of the time", OPTION_ON, offsetof(struct sim_options, quick)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_sim = {
    .usage = "tributary sim SCENARIO [options]\n       tributary sim sweep GRID --out DIR [options]\n       tributary "
             "sim bench [ROW] [options]",
    .summary = "Simulates a data centre, packet by packet: the network and the traffic that a file describes\n"
               "(docs/SIMULATOR.md). The same seed gives the same run. An interrupt ends it with the results so far.\n"
               "Exit status: 0 it has run to its end, 1 an error, 2 a mistake in what was asked, 3 a deadlock of ports "
               "that PFC\n"
               "has stopped, 4 given up as nothing arrives any more, 130 interrupted; 3, 4 and 130 with results.",
    .rows = rows,
    .examples = "  tributary sim examples/sim/websearch.toml --out results\n"
                "  tributary sim sweep examples/sim/grid/loads.toml --out sweep\n"
                "  tributary sim --keys\n"
                "  tributary sim bench",
};

/* ---- results ---- */

struct everything {
    struct sim_scenario scenario;
    struct sim_run run;
    struct sim_results results;
    struct sim_story story;
    struct sim_ideal ideal;
};

static FILE *open_in(const char *folder, const char *name)
{
    char path[PATH_MAX_LEN];
    int len = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = len > 0 && (size_t)len < sizeof path ? fopen(path, "w") : NULL;

    if (file == NULL) {
        complain("%s/%s: %s", folder, name, strerror(errno));
    }
    return file;
}

static bool close_written(FILE *file, const char *name)
{
    bool is_good = ferror(file) == 0;

    is_good = fclose(file) == 0 && is_good;
    if (!is_good) {
        complain("%s could not be written: %s", name, strerror(errno));
    }
    return is_good;
}

static bool write_tables(const struct everything *e, const char *folder)
{
    FILE *file = NULL;

    if (e->run.jobs.count == 0) {
        return true;
    }
    if ((file = open_in(folder, "jobs.csv")) == NULL) {
        return false;
    }
    sim_results_jobs(file, &e->run, &e->story);
    if (!close_written(file, "jobs.csv") || (file = open_in(folder, "iterations.csv")) == NULL) {
        return false;
    }
    sim_results_iterations(file, &e->run, &e->story);
    return close_written(file, "iterations.csv");
}

static bool write_results(const struct everything *e, const char *folder)
{
    FILE *file = open_in(folder, "results.json");

    if (file == NULL) {
        return false;
    }
    sim_results_json(file, &e->run, &e->results, &e->story);
    if (!close_written(file, "results.json") || (file = open_in(folder, "flows.csv")) == NULL) {
        return false;
    }
    sim_results_flows(file, &e->run, &e->story);
    if (!close_written(file, "flows.csv") || (file = open_in(folder, "links.csv")) == NULL) {
        return false;
    }
    sim_results_links(file, &e->run, &e->results, &e->story);
    if (!close_written(file, "links.csv") || (file = open_in(folder, "figures.csv")) == NULL) {
        return false;
    }
    sim_results_figures(file, &e->run, &e->results, &e->story);
    return close_written(file, "figures.csv") && write_tables(e, folder);
}

static bool write_page(const struct everything *e, const char *path)
{
    FILE *file = fopen(path, "w");

    if (file == NULL) {
        complain("%s: %s", path, strerror(errno));
        return false;
    }
    sim_results_html(file, &e->run, &e->results, &e->story);
    return close_written(file, path);
}

static void simulate(struct everything *e, bool is_quiet)
{
    struct sim_progress progress = sim_progress_begin("", is_quiet);
    double begin = trib_cpu_s();

    /* A run that is given up takes no further step: its report is of the state in which it stood still. */
    while (!e->story.was_stalled && sim_run_advance(&e->run, HOPS_EACH) && !interrupt_came()) {
        e->story.was_stalled = sim_run_stalled(&e->run, STALL_PS) != 0;
        sim_progress_show(&progress, &e->run);
    }
    sim_progress_end(&progress);
    e->story.cpu_s = trib_cpu_s() - begin;
    e->story.was_interrupted = interrupt_came() && !e->run.is_over;
}

static struct sim_progress ideal_progress;

static bool go_on(const struct sim_run *alone)
{
    sim_progress_show(&ideal_progress, alone);
    return !interrupt_came() && sim_run_stalled(alone, STALL_PS) == 0;
}

/* Each kind of traffic alone. False: something is wrong; an interrupt is not. */
static bool simulate_ideal(struct everything *e, bool is_quiet)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (!e->scenario.is_ideal || e->story.was_interrupted || e->story.was_stalled) {
        return true;
    }
    ideal_progress = sim_progress_begin("alone: ", is_quiet);
    bool is_good = sim_ideal_make(&e->ideal, &e->run, go_on, HOPS_EACH, error);
    sim_progress_end(&ideal_progress);
    e->story.ideal = is_good ? &e->ideal : NULL;
    e->story.was_interrupted = interrupt_came();
    return is_good || interrupt_came() || complain("%s", error) == 0;
}

static int tell(struct everything *e, const struct sim_options *options)
{
    const char *fault = sim_run_check(&e->run);

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
    if (options->out != NULL && !write_results(e, options->out)) {
        return 1;
    }
    if (options->html != NULL && !write_page(e, options->html)) {
        return 1;
    }
    if (e->run.refusal[0] != '\0') {
        return complain("a job that had waited for hosts cannot be: %s", e->run.refusal);
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
        char circle[PATH_MAX_LEN] = "";
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
    if (e->story.was_interrupted && !options->silent) { /* whose run it is says what becomes of it */
        complain("interrupted: these are the results until then");
    }
    return e->story.was_interrupted ? SIM_EXIT_INTERRUPTED : 0;
}

static int run_scenario(const char *path, const struct sim_overrides *overrides, const struct sim_options *options)
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
    } else if (!sim_scenario_read(&e->scenario, path, overrides, error)) {
        complain("%s", error);
        status = EXIT_USAGE;
    } else {
        interrupt_catch();
        if (!sim_scenario_run(&e->run, &e->scenario, error)) {
            complain("%s", error);
            status = e->run.unfit != SIM_FITS ? EXIT_USAGE : 1;
        } else if (options->check) {
            status = 0;
        } else {
            simulate(e, options->quiet);
            status = simulate_ideal(e, options->quiet) ? tell(e, options) : 1;
        }
        sim_run_deinit(&e->run);
    }
    sim_scenario_free(&e->scenario);
    sim_ideal_free(&e->ideal);
    free(e);
    return status;
}

int sim_run_cell(const char *path, const struct sim_overrides *overrides, const char *folder)
{
    struct sim_options options = {.out = folder, .seed = UINT64_MAX, .quiet = true, .silent = true};

    return run_scenario(path, overrides, &options);
}

static void print_key(const char *table, const char *key, const char *help)
{
    static const char *last = "";

    if (strcmp(table, last) != 0) {
        bool is_list = sim_scenario_is_list(table);
        printf("\n%s[%s]%s\n", is_list ? "[" : "", table, is_list ? "]" : "");
        last = table;
    }
    printf("  %-14s %s\n", key, help);
}

static void print_models(void)
{
    printf("%-12s %12s %10s %11s  %s\n", "model", "parameters", "MB", "compute", "source of the time");
    for (uint32_t i = 0; sim_model_at(i) != NULL; i++) {
        const struct sim_model *model = sim_model_at(i);
        char time[TRIB_UNITS_TEXT_MAX] = "say it";
        if (model->compute_ms > 0) {
            trib_format_duration((uint64_t)(model->compute_ms * 1e6), time);
        }
        printf("%-12s %12" PRIu64 " %10.1f %11s  %s\n", model->name, model->parameters,
               (double)sim_model_bytes(model) / 1e6, time, model->source);
    }
}

/* What options say instead of the scenario. */
static uint32_t list_levers(const struct sim_options *o, struct sim_override levers[LEVERS_MAX])
{
    static char seed[TRIB_UNITS_TEXT_MAX];
    const struct sim_override all[LEVERS_MAX] = {{"seed", o->seed != UINT64_MAX ? seed : NULL},
                                                 {"scale", o->scale},
                                                 {"warmup", o->warmup},
                                                 {"window", o->window},
                                                 {"mtu", o->mtu},
                                                 {"ideal", o->ideal ? "true" : NULL}};
    uint32_t count = 0;

    (void)snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
    for (uint32_t i = 0; i < LEVERS_MAX; i++) {
        if (all[i].text != NULL) {
            levers[count++] = all[i];
        }
    }
    return count;
}

/* Arguments that are not options. */
struct words {
    const char *list[WORDS_MAX];
    uint32_t count;
    const char *unexpected; /* the first that is too many; NULL: there is none */
};

static void take_word(struct words *words, const char *word)
{
    if (words->count < WORDS_MAX) {
        words->list[words->count++] = word;
    } else if (words->unexpected == NULL) {
        words->unexpected = word;
    }
}

/* Words and options in any order; behind -- all are words. */
static enum option_outcome read_words(int argc, char **argv, struct sim_options *options, struct words *words)
{
    enum option_outcome outcome = OPTIONS_OK;
    bool is_rest = false;

    for (int at = 1; outcome == OPTIONS_OK && at < argc;) {
        if (is_rest || argv[at][0] != '-' || argv[at][1] == '\0') {
            take_word(words, argv[at++]);
            continue;
        }
        int read = 0;
        outcome = options_read(&options_of_sim, argc - at + 1, argv + at - 1, options, &read);
        at += read - 1;
        is_rest = outcome == OPTIONS_OK && strcmp(argv[at - 1], "--") == 0;
    }
    return outcome;
}

int command_sim(int argc, char **argv)
{
    struct sim_options options = {.seed = UINT64_MAX};
    struct words words = {.count = 0};

    enum option_outcome outcome = read_words(argc, argv, &options, &words);
    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    if (options.keys) {
        sim_scenario_keys(print_key);
        return 0;
    }
    if (options.models) {
        print_models();
        return 0;
    }
    if (words.count == 0) {
        complain("no scenario named; see `tributary sim --help`");
        return EXIT_USAGE;
    }
    bool is_bench = strcmp(words.list[0], "bench") == 0;
    bool is_sweep = strcmp(words.list[0], "sweep") == 0;
    if (words.unexpected == NULL && words.count == 2 && !is_bench && !is_sweep) {
        words.unexpected = words.list[1];
    }
    if (words.unexpected != NULL) {
        complain("unexpected argument \"%s\"", words.unexpected);
        return EXIT_USAGE;
    }
    if (is_sweep) {
        struct sim_sweep sweep = {
            .grid = words.list[1], .out = options.out, .shard = options.shard, .cores = options.cores};
        return sim_sweep(&sweep);
    }
    if (is_bench) {
        return sim_bench(words.list[1], options.quick, options.json);
    }
    struct sim_override levers[LEVERS_MAX];
    struct sim_overrides overrides = {levers, list_levers(&options, levers)};
    return run_scenario(words.list[0], &overrides, &options);
}
