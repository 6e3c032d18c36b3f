/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the program: which scenarios are searched, for how long, and what is printed. See model.h for what a search
 * is. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/assert.h"
#include "model.h"
#include "published/published.h"
#include "schemes/schemes.h"

#define SCENARIOS_MAX 256

struct options {
    const char *scheme, *scenario, *replay, *forgiven;
    double seconds; /* per scenario */
    uint64_t states;
    uint32_t verify_every, jobs;
    bool is_quick, is_rest, is_unreduced, is_alike, is_apart, lists, helps;
};

static const char help[] =
    "usage: model [--scenario NAME] [--quick | --rest] [--scheme NAME] [--seconds N] [--states N] [--verify N] [--jobs "
    "N]\n"
    "             [--forgive WORDS] [--unreduced] [--alike | --apart]\n"
    "       model --scenario NAME --replay TOKENS\n"
    "       model --list\n"
    "Searches every state of tiny worlds made of the real nodes of a scheme. Prints one line per scenario; on a "
    "violation\n"
    "a shortest trace, in one word what caught it, and the command that replays it, and exits with 1.\n"
    "  --scenario NAME  this one alone\n"
    "  --quick          those that belong to `make test`\n"
    "  --rest           the others, without those that take long\n"
    "  --list           names and what they are about\n"
    "  --scheme NAME    a row of the table of schemes (default switchml)\n"
    "  --seconds N      per scenario (default 600); a search that does not finish says at which depth it stopped\n"
    "  --states N       per scenario (default 60000000, about 3 GB)\n"
    "  --verify N       compare every Nth merged state of a node with the one that it was merged with (default 8; 0: "
    "none)\n"
    "  --jobs N         scenarios at a time (default 1)\n"
    "  --forgive WORDS  checks that are left out, by the words that they would print\n"
    "  --unreduced      keep packets on their way that cannot matter any more: the same verdict, many more states\n"
    "  --alike          wherever it is possible, search states that differ in the numbers of ranks and jobs alone "
    "once\n"
    "  --apart          search each of them, also where the scenario does not\n"
    "  --replay TOKENS  do what a trace says, and print it\n";

static bool is_number(const char *text, double *value)
{
    char *end;

    errno = 0;
    *value = strtod(text, &end);
    return errno == 0 && end != text && *end == '\0' && *value >= 0;
}

/* False: not understood. */
static bool take_option(struct options *options, const char *name, const char *value, int *used)
{
    double number = 0;

    *used = 1;
    if (strcmp(name, "--quick") == 0) {
        return options->is_quick = true;
    }
    if (strcmp(name, "--rest") == 0) {
        return options->is_rest = true;
    }
    if (strcmp(name, "--unreduced") == 0) {
        return options->is_unreduced = true;
    }
    if (strcmp(name, "--alike") == 0) {
        return options->is_alike = true;
    }
    if (strcmp(name, "--apart") == 0) {
        return options->is_apart = true;
    }
    if (strcmp(name, "--list") == 0) {
        return options->lists = true;
    }
    if (strcmp(name, "--help") == 0) {
        return options->helps = true;
    }
    *used = 2;
    if (value == NULL) {
        return false;
    }
    if (strcmp(name, "--scenario") == 0) {
        options->scenario = value;
    } else if (strcmp(name, "--scheme") == 0) {
        options->scheme = value;
    } else if (strcmp(name, "--forgive") == 0) {
        options->forgiven = value;
    } else if (strcmp(name, "--replay") == 0) {
        options->replay = value;
    } else if (!is_number(value, &number)) {
        return false;
    } else if (strcmp(name, "--seconds") == 0) {
        options->seconds = number;
    } else if (strcmp(name, "--states") == 0) {
        options->states = (uint64_t)number;
    } else if (strcmp(name, "--jobs") == 0) {
        options->jobs = (uint32_t)number;
    } else if (strcmp(name, "--verify") == 0) {
        options->verify_every = (uint32_t)number;
    } else {
        return false;
    }
    return true;
}

static bool run_scenario(const struct options *options, const struct trib_scheme *scheme,
                         const struct model_scenario *scenario)
{
    static struct model model;
    struct search_limits limits = {
        .seconds = options->seconds,
        .states = options->states,
        .is_alike = (scenario->is_alike || options->is_alike) && !options->is_apart && symmetry_may_be(scenario),
    };

    model.verify_every = options->verify_every;
    model.is_unreduced = options->is_unreduced;
    const char *peers = scenario_scheme(scenario);
    model_open(&model, peers != NULL ? trib_scheme_find(peers) : scheme, scenario);
    model.forgiven = options->forgiven;
    bool passed = options->replay != NULL ? trace_replay(&model, options->replay) : search_run(&model, &limits);
    model_close(&model);
    (void)fflush(stdout);
    return passed;
}

/* ---- several at a time ---- */

/* A scenario in a process of its own, which writes to a file that has no name. */
struct task {
    pid_t pid;
    FILE *output;
};

static void start(struct task *task, const struct options *options, const struct trib_scheme *scheme,
                  const struct model_scenario *scenario)
{
    task->output = tmpfile();
    (void)fflush(stdout);
    task->pid = task->output == NULL ? -1 : fork();
    if (task->pid < 0) {
        perror("model");
        exit(2);
    }
    if (task->pid == 0) {
        (void)dup2(fileno(task->output), STDOUT_FILENO);
        exit(run_scenario(options, scheme, scenario) ? 0 : 1);
    }
}

/* Waits for one, prints what it wrote. False: it has failed. */
static bool finish(struct task *task)
{
    char text[4096];
    size_t got;
    int status;

    while (waitpid(task->pid, &status, 0) < 0 && errno == EINTR) {
    }
    rewind(task->output);
    while ((got = fread(text, 1, sizeof text, task->output)) > 0) {
        (void)fwrite(text, 1, got, stdout);
    }
    (void)fclose(task->output);
    (void)fflush(stdout);
    if (!WIFEXITED(status)) {
        printf("model: a search was ended by signal %d\n", WTERMSIG(status));
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* In the order of the table; the oldest is waited for. */
static uint32_t run_all(const struct options *options, const struct trib_scheme *scheme,
                        const struct model_scenario *const *scenarios, uint32_t count)
{
    struct task tasks[SCENARIOS_MAX];
    uint32_t failed = 0;
    uint32_t begun = 0;

    for (uint32_t i = 0; i < count && options->jobs <= 1; i++) {
        failed += !run_scenario(options, scheme, scenarios[i]);
    }
    for (uint32_t done = 0; done < count && options->jobs > 1; done++) {
        for (; begun < count && begun < done + options->jobs; begun++) {
            start(&tasks[begun], options, scheme, scenarios[begun]);
        }
        failed += !finish(&tasks[done]);
    }
    return failed;
}

static bool is_wanted(const struct options *options, const struct model_scenario *scenario)
{
    if (options->scenario != NULL) {
        return strcmp(options->scenario, scenario->name) == 0;
    }
    return (!options->is_quick || scenario->is_quick) &&
           (!options->is_rest || (!scenario->is_quick && !scenario->is_long));
}

static int run(const struct options *options)
{
    const struct trib_scheme *scheme = trib_published_find(options->scheme);
    const struct model_scenario *wanted[SCENARIOS_MAX];
    const struct model_scenario *scenario;
    uint32_t count = 0;

    if (scheme == NULL) {
        fprintf(stderr, "model: no scheme is called %s\n", options->scheme);
        return 2;
    }
    for (uint32_t i = 0; (scenario = scenario_at(i)) != NULL; i++) {
        TRIB_ASSERT(i < SCENARIOS_MAX);
        if (options->lists) {
            printf("%-18s %s%s\n", scenario->name, scenario->about, scenario->is_quick ? " (quick)" : "");
        } else if (is_wanted(options, scenario)) {
            wanted[count++] = scenario;
        }
    }
    if (count == 0 && !options->lists) {
        fprintf(stderr, "model: no scenario is called %s; model --list names them\n", options->scenario);
        return 2;
    }
    return run_all(options, scheme, wanted, count) != 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct options options = {.scheme = "switchml", .seconds = 600, .states = 60000000, .verify_every = 8};
    int used = 1;

    for (int i = 1; i < argc; i += used) {
        if (!take_option(&options, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &used)) {
            fprintf(stderr, "model: %s is not understood; model --help\n", argv[i]);
            return 2;
        }
    }
    if (options.helps) {
        fputs(help, stdout);
        return 0;
    }
    if (options.replay != NULL && options.scenario == NULL) {
        fprintf(stderr, "model: --replay needs --scenario\n");
        return 2;
    }
    return run(&options);
}
