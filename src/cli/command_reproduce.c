/* SPDX-License-Identifier: Apache-2.0 */
/* command_reproduce.c: `tributary reproduce`: figures and tables of papers, computed or simulated, beside the numbers
 * of the papers.
 * Read next: reproduce/reproduce.h, reproduce/write.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/measure.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/sim_single.h"
#include "cli/sim_sweep.h"
#include "io/explain.h"
#include "io/file.h"
#include "io/nearest.h"
#include "plan/lp.h"
#include "reproduce/write.h"

#define PATH_MAX_LEN 4096
#define EXPERIMENTS_MAX 64U

struct reproduce_options {
    const char *out;
    const char *sweep;
    uint32_t cores;
    bool all;
    bool list;
    bool quick;
    bool json;
    bool markdown;
    bool quiet;
};

static const struct option_row rows[] = {
    {"all", 0, NULL, "every experiment", OPTION_ON, offsetof(struct reproduce_options, all)},
    {"list", 0, NULL, "all experiments", OPTION_ON, offsetof(struct reproduce_options, list)},
    {"quick", 0, NULL, "simulations of seconds instead of minutes: shorter, and fewer", OPTION_ON,
     offsetof(struct reproduce_options, quick)},
    {"out", 'o', "DIR", "write NAME.csv, all points, and NAME.html, a page with plots that needs nothing else, there",
     OPTION_TEXT, offsetof(struct reproduce_options, out)},
    {"sweep", 0, "DIR",
     "run at the paper's size, by `tributary sim sweep` in DIR; after an interrupt the same command continues",
     OPTION_TEXT, offsetof(struct reproduce_options, sweep)},
    {"cores", 0, "N", "of a sweep, runs at a time [all]", OPTION_COUNT(1, SIM_CORES_MAX),
     offsetof(struct reproduce_options, cores)},
    {"json", 0, NULL, "a list of JSON objects instead of text", OPTION_ON, offsetof(struct reproduce_options, json)},
    {"markdown", 0, NULL,
     "one table of all claims instead: docs/REPRODUCTION.md is that of --all --quick, without what is measured",
     OPTION_ON, offsetof(struct reproduce_options, markdown)},
    {"quiet", 'q', NULL, "no progress", OPTION_ON, offsetof(struct reproduce_options, quiet)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_reproduce = {
    .usage = "tributary reproduce NAME... [options]\n       tributary reproduce --all [options]",
    .summary = "Computes figures and tables of papers by their formulas or in the simulator, or measures them on this "
               "machine.\nFor each number that a paper prints, the output has the number found here, whether the two "
               "are equal, and if not,\nthe reason; and the details that the paper left open.\nExit status: 0 all "
               "experiments ran, whether or not the numbers agree, 1 an error, 2 a mistake in the command,\n130 "
               "interrupted (143 by SIGTERM), with the results of the experiments that had ended.",
    .rows = rows,
    .examples =
        "  tributary reproduce --list\n"
        "  tributary reproduce panama-fig1\n"
        "  tributary reproduce --all --quick --out reproduction\n"
        "  tributary reproduce panama-fig8 --sweep fig8 # hours; each of fig8/*/grid.toml is one of `sim sweep`\n",
};

/* ---- progress ---- */

static struct {
    const char *name; /* of the experiment */
    struct progress line;
} progress;
static bool was_sweep_interrupted; /* which has said it */

static bool go_on(void *user, const char *what, double share)
{
    (void)user;
    if (progress_is_due(&progress.line)) {
        progress_show(&progress.line, "%s: %s, %.0f %%", progress.name, what, share * 100);
    }
    return !interrupt_came();
}

/* ---- the experiments of a call ---- */

static const struct reproduce_experiment *find(const char *name)
{
    struct trib_nearest nearest = {.word = name, .len = strlen(name)};
    const struct reproduce_experiment *found = reproduce_experiment_find(name);

    if (found != NULL) {
        return found;
    }
    for (uint32_t i = 0; reproduce_experiment_at(i) != NULL; i++) {
        trib_nearest_offer(&nearest, reproduce_experiment_at(i)->name);
    }
    if (nearest.best != NULL) {
        complain("there is no experiment \"%s\"; did you mean %s?", name, nearest.best);
    } else {
        complain("there is no experiment \"%s\"; `tributary reproduce --list` lists all", name);
    }
    return NULL;
}

/* Origin of the numbers of an experiment; "": formulas alone. */
static const char *means_of(const struct reproduce_experiment *e)
{
    return e->is_simulated             ? "simulated"
           : reproduce_is_measured(e)  ? "measured"
           : reproduce_lacks_solver(e) ? "no solver"
                                       : "";
}

static void print_list(void)
{
    for (uint32_t i = 0; reproduce_experiment_at(i) != NULL; i++) {
        const struct reproduce_experiment *e = reproduce_experiment_at(i);
        const char *means = means_of(e);
        printf("%-16s %s%s%s%s\n", e->name, e->title, means[0] != '\0' ? " (" : "", means, means[0] != '\0' ? ")" : "");
    }
}

static void print_list_json(void)
{
    struct report_json json = {.out = stdout};

    report_json_open(&json, NULL, '[');
    for (uint32_t i = 0; reproduce_experiment_at(i) != NULL; i++) {
        const struct reproduce_experiment *e = reproduce_experiment_at(i);
        report_json_open(&json, NULL, '{');
        report_json_say(&json, "name", e->name);
        report_json_say(&json, "title", e->title);
        report_json_say(&json, "means", means_of(e));
        report_json_close(&json, '}');
    }
    report_json_close(&json, ']');
    printf("\n");
}

/* False: a word is not known, or there is none, and that has been said. */
static bool choose(int argc, char **argv, const struct reproduce_options *options,
                   const struct reproduce_experiment *chosen[EXPERIMENTS_MAX], uint32_t *count)
{
    *count = 0;
    for (uint32_t i = 0; options->all && reproduce_experiment_at(i) != NULL; i++) {
        chosen[(*count)++] = reproduce_experiment_at(i);
    }
    if (options->all && argc != 0) {
        complain("give either --all or names");
        return false;
    }
    if (!options->all && argc == 0) {
        complain("no experiment named; `tributary reproduce --list` lists all");
        return false;
    }
    for (int i = 0; i < argc; i++) {
        if (*count == EXPERIMENTS_MAX) {
            complain("more than %u experiments at a time", EXPERIMENTS_MAX);
            return false;
        }
        chosen[*count] = find(argv[i]);
        if (chosen[(*count)++] == NULL) {
            return false;
        }
    }
    return true;
}

/* ---- files ---- */

static bool write_file(const struct reproduce_run *run, const char *folder, const char *end,
                       void (*write)(FILE *out, const struct reproduce_run *run))
{
    char path[PATH_MAX_LEN];
    int len = snprintf(path, sizeof path, "%s/%s.%s", folder, run->experiment->name, end);
    FILE *file = len > 0 && (size_t)len < sizeof path ? fopen(path, "w") : NULL;

    if (file == NULL) {
        return complain("%s/%s.%s: %s", folder, run->experiment->name, end, trib_explain_errno(errno)) == 0;
    }
    write(file, run);
    bool is_good = ferror(file) == 0;
    is_good = fclose(file) == 0 && is_good;
    return is_good || complain("%s could not be written: %s", path, trib_explain_errno(errno)) == 0;
}

/* ---- running ---- */

/* Simulates the missing cells. False: interrupted, or an error, which has been said. */
static bool sweep_all(struct reproduce_run *run, const struct reproduce_options *options)
{
    static char grid[REPRODUCE_PATH_MAX];
    static char out[REPRODUCE_PATH_MAX];
    const struct reproduce_sweep *s = run->experiment->sweep;

    if (!s->write(run, options->sweep)) {
        return complain("%s: %s", run->experiment->name, run->error) == 0;
    }
    for (uint32_t i = 0; s->part(i, options->sweep, grid, out); i++) {
        fprintf(stderr, "%s, %s: %s\n", run->experiment->name, s->size, out);
        int status = sim_sweep(&(struct sim_sweep){.grid = grid, .out = out, .cores = options->cores, .is_part = true});
        was_sweep_interrupted = interrupt_came();
        if (status != 0) {
            return false;
        }
    }
    return true;
}

/* False: interrupted, or an error, which has been said. */
static bool run_one(struct reproduce_run *run, const struct reproduce_options *options)
{
    progress.name = run->experiment->name;
    progress.line = progress_begin(options->quiet);
    run->is_quick = options->quick;
    run->go_on = go_on;
    if (options->sweep != NULL && !sweep_all(run, options)) {
        return false;
    }
    bool is_good = options->sweep != NULL                   ? run->experiment->sweep->read(run, options->sweep)
                   : reproduce_is_measured(run->experiment) ? measure_experiment(run)
                                                            : run->experiment->run(run);
    progress_end(&progress.line);
    if (is_good && run->is_out_of_memory) {
        return complain("out of memory") == 0;
    }
    if (!is_good) {
        if (!interrupt_came()) {
            complain("%s: %s", run->experiment->name, run->error);
        }
        return false;
    }
    return options->out == NULL || (write_file(run, options->out, "csv", reproduce_write_csv) &&
                                    write_file(run, options->out, "html", reproduce_write_html));
}

static void tell(const struct reproduce_run *runs, uint32_t count, const struct reproduce_options *options)
{
    struct report_json json = {.out = stdout};

    if (options->markdown) {
        reproduce_write_markdown(stdout, runs, count);
        return;
    }
    if (options->json) {
        report_json_open(&json, NULL, '[');
        for (uint32_t i = 0; i < count; i++) {
            reproduce_write_json(&json, &runs[i]);
        }
        report_json_close(&json, ']');
        printf("\n");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        printf("%s", i == 0 ? "" : "\n");
        reproduce_write_text(stdout, &runs[i]);
    }
}

/* The document is the same on every machine: it has no measured numbers. */
static bool is_left_out(const struct reproduce_experiment *experiment, const struct reproduce_options *options)
{
    if (options->all && reproduce_lacks_solver(experiment)) {
        fprintf(stderr, "%s: skipped: %s\n", experiment->name, trib_lp_explain_lack());
        return true;
    }
    return options->all && options->markdown && reproduce_is_measured(experiment);
}

static int run_all(const struct reproduce_experiment **chosen, uint32_t count, const struct reproduce_options *options)
{
    struct reproduce_run *runs = calloc(count + 1U, sizeof *runs);
    char error[TRIB_ERROR_TEXT_MAX] = "";
    uint32_t ended = 0;

    if (runs == NULL) {
        return complain("out of memory");
    }
    if (options->out != NULL && !trib_file_make_folder(options->out, error)) {
        free(runs);
        return complain("%s", error);
    }
    interrupt_catch();
    for (bool is_good = true; is_good && ended < count;) {
        reproduce_init(&runs[ended], chosen[ended]);
        is_good = is_left_out(chosen[ended], options) || run_one(&runs[ended], options);
        ended += is_good;
        if (!is_good) {
            reproduce_deinit(&runs[ended]);
        }
    }
    tell(runs, ended, options);
    for (uint32_t i = 0; i < ended; i++) {
        reproduce_deinit(&runs[i]);
    }
    free(runs);
    if (interrupt_came() && ended < count) {
        if (!was_sweep_interrupted) {
            complain(ended != 0 ? "interrupted: these are the experiments that had ended"
                                : "interrupted: no experiment had ended");
        }
        return interrupt_status();
    }
    return ended == count ? 0 : 1;
}

int command_reproduce(int argc, char **argv)
{
    struct reproduce_options options = {.out = NULL};
    const struct reproduce_experiment *chosen[EXPERIMENTS_MAX];
    uint32_t count = 0;
    int rest = 0;
    enum option_outcome outcome = options_read(&options_of_reproduce, argc, argv, &options, &rest);
    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    if (options.list) {
        (options.json ? print_list_json : print_list)();
        return 0;
    }
    if (options.json && options.markdown) {
        complain("give either --json or --markdown");
        return EXIT_USAGE;
    }
    if (!choose(argc - rest, argv + rest, &options, chosen, &count)) {
        return EXIT_USAGE;
    }
    if (options.sweep != NULL && (count != 1 || chosen[0]->sweep == NULL || options.quick)) {
        complain("--sweep goes with one experiment that has one, panama-fig8, and not with --quick");
        return EXIT_USAGE;
    }
    if (options.sweep == NULL && options.cores != 0) {
        complain("--cores goes with --sweep: without it one run is at a time");
        return EXIT_USAGE;
    }
    return run_all(chosen, count, &options);
}
