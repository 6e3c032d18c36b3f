/* SPDX-License-Identifier: Apache-2.0 */
/* command_sim.c: `tributary sim`: a scenario, a sweep, or the lists of keys and models.
 * Read next: sim_single.h, sim_sweep.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/sim_single.h"
#include "cli/sim_sweep.h"
#include "io/units.h"
#include "sim/scenario/scenario.h"

#define LEVERS_MAX 6U

struct sim_options {
    struct sim_single single;
    uint64_t seed;
    bool keys;
    bool models;
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
     OPTION_TEXT, offsetof(struct sim_options, single.out)},
    {"html", 0, "FILE", "results as a page with plots, which needs nothing else", OPTION_TEXT,
     offsetof(struct sim_options, single.html)},
    {"plan", 0, "FILE", "give the jobs the trees and rates of this plan of `tributary plan` (docs/PLAN.md)",
     OPTION_TEXT, offsetof(struct sim_options, single.plan)},
    {"seed", 0, "N", "seed of random draws [the scenario's]", OPTION_NUMBER(0, UINT64_MAX - 1),
     offsetof(struct sim_options, seed)},
    {"scale", 0, "1/N", "divide job sizes, compute times and inter-arrival times by N [the scenario's]", OPTION_TEXT,
     offsetof(struct sim_options, scale)},
    {"warmup", 0, "TIME", "leave flows and iterations that begin earlier out of the results [the scenario's]",
     OPTION_TEXT, offsetof(struct sim_options, warmup)},
    {"window", 0, "TIME", "leave out those that begin later than this after the warmup [the scenario's]", OPTION_TEXT,
     offsetof(struct sim_options, window)},
    {"mtu", 0, "BYTES", "packet size, such as 9000B, where flows and jobs have none of their own [the scenario's]",
     OPTION_TEXT, offsetof(struct sim_options, mtu)},
    {"ideal", 0, NULL, "simulate flows alone and jobs alone as well, for comparison", OPTION_ON,
     offsetof(struct sim_options, ideal)},
    {"json", 0, NULL, "results as one JSON object instead of a summary", OPTION_ON,
     offsetof(struct sim_options, single.json)},
    {"quiet", 'q', NULL, "no progress", OPTION_ON, offsetof(struct sim_options, single.quiet)},
    {"check", 0, NULL, "read the scenario, name mistakes, and stop", OPTION_ON,
     offsetof(struct sim_options, single.check)},
    {"models", 0, NULL, "the models for jobs, with the source of each time", OPTION_ON,
     offsetof(struct sim_options, models)},
    {"keys", 0, NULL, "all keys of a scenario", OPTION_ON, offsetof(struct sim_options, keys)},
    {"cores", 'j', "N", "sweep: runs at a time [all]", OPTION_COUNT(1, SIM_CORES_MAX),
     offsetof(struct sim_options, cores)},
    {"shard", 0, "I/N", "sweep: the I-th of N parts, from 0 on, such as $SLURM_PROCID/$SLURM_NTASKS [0/1]", OPTION_TEXT,
     offsetof(struct sim_options, shard)},
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_sim = {
    .usage = "tributary sim SCENARIO [options]\n       tributary sim sweep GRID --out DIR [options]",
    .summary =
        "Simulates a data centre, packet by packet: the network and the traffic of a file\n"
        "(docs/SIMULATOR.md). The same seed gives the same run. An interrupt ends the run with the results so far.\n"
        "Exit status: 0 the run has ended, 1 an error, 2 a mistake in the command, 3 a deadlock of ports "
        "that PFC\n"
        "has stopped, 4 given up as nothing arrives any more, 130 interrupted, 143 by SIGTERM; all but "
        "1 and 2 with results.",
    .rows = rows,
    .examples = "  tributary sim examples/sim/websearch.toml --out results\n"
                "  tributary sim examples/sim/planned.toml --plan plan.toml\n"
                "  tributary sim sweep examples/sim/grid/loads.toml --out sweep\n"
                "  tributary sim --keys",
};

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

/* Options in place of keys of the scenario. */
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

/* Returns an option that a sweep does not take: its grid names the scenario, with these levers as keys. NULL: none. */
static const char *foreign_to_sweep(const struct sim_options *o)
{
    return o->single.plan != NULL   ? "--plan"
           : o->single.html != NULL ? "--html"
           : o->single.json         ? "--json"
           : o->single.check        ? "--check"
           : o->seed != UINT64_MAX  ? "--seed"
           : o->scale != NULL       ? "--scale"
           : o->warmup != NULL      ? "--warmup"
           : o->window != NULL      ? "--window"
           : o->mtu != NULL         ? "--mtu"
           : o->ideal               ? "--ideal"
                                    : NULL;
}

int command_sim(int argc, char **argv)
{
    struct sim_options options = {.seed = UINT64_MAX};
    int rest = 0;
    enum option_outcome outcome = options_read(&options_of_sim, argc, argv, &options, &rest);

    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    if (options.keys || options.models) {
        const char *other = rest < argc ? argv[rest] : foreign_to_sweep(&options);
        if (other != NULL) {
            complain("%s goes with a scenario, not with --%s, which prints text", other,
                     options.keys ? "keys" : "models");
            return EXIT_USAGE;
        }
    }
    if (options.keys) {
        sim_scenario_keys(print_key);
        return 0;
    }
    if (options.models) {
        print_models();
        return 0;
    }
    if (rest == argc) {
        complain("no scenario named; see `tributary sim --help`");
        return EXIT_USAGE;
    }
    bool is_sweep = strcmp(argv[rest], "sweep") == 0;
    int unexpected = rest + (is_sweep ? 2 : 1);
    if (unexpected < argc) {
        complain("unexpected argument \"%s\"", argv[unexpected]);
        return EXIT_USAGE;
    }
    if (is_sweep && foreign_to_sweep(&options) != NULL) {
        complain("%s goes with one scenario, not with a sweep", foreign_to_sweep(&options));
        return EXIT_USAGE;
    }
    if (is_sweep) {
        struct sim_sweep sweep = {.grid = rest + 1 < argc ? argv[rest + 1] : NULL,
                                  .out = options.single.out,
                                  .shard = options.shard,
                                  .cores = options.cores};
        return sim_sweep(&sweep);
    }
    if (options.shard != NULL || options.cores != 0) {
        complain("%s goes with a sweep, not with one scenario", options.shard != NULL ? "--shard" : "--cores");
        return EXIT_USAGE;
    }
    struct sim_override levers[LEVERS_MAX];
    struct sim_overrides overrides = {levers, list_levers(&options, levers)};
    return sim_single(argv[rest], &overrides, &options.single);
}
