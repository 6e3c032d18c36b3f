/* SPDX-License-Identifier: Apache-2.0 */
/* command_run.c: `tributary run -n 4 -- ./program`: ranks on this machine, with a switch of their own unless one is
 * named. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/spawn.h"
#include "comm/environment.h"
#include "core/node.h"
#include "io/draw.h"
#include "io/explain.h"
#include "net/resolve.h"
#include "switchd/switchd.h"

struct run_options {
    uint32_t ranks;
    uint32_t threads;
    uint32_t hosts; /* 0: each rank is one of its own, or as the environment says */
    const char *switch_address;
    const char *rendezvous;
    const char *nics;
    bool no_switch;
    const char *job;
    struct trib_faults faults;
};

#define AT(field) offsetof(struct run_options, field)

static const struct option_row rows[] = {
    {"ranks", 'n', "N", "how many [1]", OPTION_COUNT(1, TRIB_RANKS_MAX), AT(ranks)},
    {"switch", 0, "ADDRESS", "use this switch [TRIB_SWITCH, else one is started for the run]", OPTION_ADDRESS,
     AT(switch_address)},
    {"rendezvous", 0, "ADDRESS", "no switch: rank 0 listens there, and ranks are the roots [TRIB_RENDEZVOUS]",
     OPTION_ADDRESS, AT(rendezvous)},
    {"nics", 0, "A,B...", "network cards of this host to use at once, by address or interface [TRIB_NICS]", OPTION_TEXT,
     AT(nics)},
    {"hosts", 0, "N", "the ranks act as N hosts, each summed before one of its ranks sends [each rank sends]",
     OPTION_COUNT(1, TRIB_RANKS_MAX), AT(hosts)},
    {"no-switch", 0, NULL, "none: ranks meet in the shared memory of this host", OPTION_ON, AT(no_switch)},
    {"threads", 't', "N", "shards of the started switch [1]", OPTION_COUNT(1, TRIB_ROOTS_MAX), AT(threads)},
    {"job", 0, "NAME", "job name [one of its own]", OPTION_NAME, AT(job)},
    OPTION_FAULT_ROWS(AT(faults)),
    {NULL, 0, NULL, NULL, NULL, 0},
};

const struct option_command options_of_run = {
    .usage = "tributary run -n N [options] -- program [arguments]",
    .summary = "Runs a program as N ranks on this machine. Each finds its rank and the switch in its environment\n"
               "(TRIB_RANK, TRIB_RANKS, TRIB_SWITCH or TRIB_RENDEZVOUS, TRIB_JOB, TRIB_RUN). Ends with the status of "
               "the first rank that fails.",
    .rows = rows,
    .examples = "  tributary run -n 4 -- ./02_udp_allreduce\n  tributary run -n 4 --loss 1% --seed 7 -- ./train",
    .runs_program = true,
};

/* Ranks of two launches with one --job are not of one job. */
static void set_run(void)
{
    char run[32];

    snprintf(run, sizeof run, "run %016" PRIx64, trib_draw());
    setenv("TRIB_RUN", run, 1);
}

static void set_faults(const struct trib_faults *faults)
{
    char text[160];

    if (faults->loss + faults->duplicate + faults->reorder + faults->corrupt <= 0) {
        return;
    }
    snprintf(text, sizeof text, "loss=%.9g%%,duplicate=%.9g%%,reorder=%.9g%%,corrupt=%.9g%%,seed=%llu",
             faults->loss * 100, faults->duplicate * 100, faults->reorder * 100, faults->corrupt * 100,
             (unsigned long long)faults->seed);
    setenv("TRIB_FAULTS", text, 1);
}

/* Ranks of one machine are there to try a network: they come as if each were on a host of its own. */
static void set_host(const struct run_options *options, uint32_t rank)
{
    char host[TRIB_NAME_MAX + 1];

    if (options->no_switch) {
        setenv("TRIB_LEVEL0", "1", 1);
    } else if (options->hosts > 0) {
        snprintf(host, sizeof host, "%.40s-%u", getenv("TRIB_JOB"),
                 (uint32_t)((uint64_t)rank * options->hosts / options->ranks));
        setenv("TRIB_LEVEL0", "1", 1);
        setenv("TRIB_HOSTID", host, 1);
    } else {
        setenv("TRIB_LEVEL0", "0", 0);
    }
}

static void become(char **argv, uint32_t rank, uint32_t ranks)
{
    spawn_set_place(rank, ranks);
    execvp(argv[0], argv);
    complain("cannot run %s: %s", argv[0], trib_explain_errno(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static int run_ranks(const struct run_options *options, pid_t own_switch, char **argv)
{
    struct spawn_ranks ranks = {.own_switch = own_switch};

    set_faults(&options->faults);
    spawn_catch();
    spawn_adopt(&ranks);
    for (uint32_t rank = 0; rank < options->ranks; rank++) {
        pid_t pid = spawn_rank(&ranks);
        if (pid == 0) {
            set_host(options, rank);
            become(argv, rank, options->ranks);
        }
        if (pid < 0) {
            break;
        }
    }
    int status = spawn_wait(&ranks, false);
    if (status != 0) {
        spawn_end_adopted(&ranks);
    }
    return status;
}

static bool start_switch(const struct run_options *options, struct spawn_switch *own)
{
    struct trib_switchd_config config;
    char address[64];

    trib_switchd_init(&config);
    config.threads = options->threads;
    config.faults = options->faults;
    config.http.len = 0;
    if (trib_address_parse("127.0.0.1:0", 0, &config.listen, NULL) != TRIB_OK || !spawn_switch_start(&config, own)) {
        return false;
    }
    snprintf(address, sizeof address, "127.0.0.1:%u", own->port);
    setenv("TRIB_SWITCH", address, 1);
    return true;
}

/* The command line is over the environment. False: nothing is named. */
static bool choose_place(const struct run_options *options)
{
    if (options->no_switch || options->switch_address != NULL || options->rendezvous != NULL) {
        unsetenv("TRIB_SWITCH");
        unsetenv("TRIB_RENDEZVOUS");
    }
    if (options->switch_address != NULL) {
        setenv("TRIB_SWITCH", options->switch_address, 1);
    }
    if (options->rendezvous != NULL) {
        setenv("TRIB_RENDEZVOUS", options->rendezvous, 1);
    }
    if (options->nics != NULL) {
        setenv("TRIB_NICS", options->nics, 1);
    }
    return options->no_switch || getenv("TRIB_SWITCH") != NULL || getenv("TRIB_RENDEZVOUS") != NULL;
}

/* An error in the environment is reported once, not by every rank. */
static bool check_environment(const struct run_options *options, bool starts_switch)
{
    struct trib_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    spawn_set_place(0, options->ranks);
    if (trib_config_from_environment(&config, error) != TRIB_OK) {
        complain("%s", error);
        return false;
    }
    return spawn_check(&config, starts_switch);
}

int command_run(int argc, char **argv)
{
    struct run_options options = {.ranks = 1, .threads = 1};
    struct spawn_switch own = {0};
    char job[TRIB_NAME_MAX + 1];
    int rest = 0;

    enum option_outcome outcome = options_read(&options_of_run, argc, argv, &options, &rest);
    if (outcome != OPTIONS_OK) {
        return outcome == OPTIONS_HELP ? 0 : EXIT_USAGE;
    }
    if (rest >= argc) {
        complain("no program to run: tributary run -n 4 -- ./program");
        return EXIT_USAGE;
    }
    if (options.no_switch + (options.switch_address != NULL) + (options.rendezvous != NULL) > 1) {
        complain("--no-switch, --switch and --rendezvous exclude each other");
        return EXIT_USAGE;
    }
    if (options.hosts > options.ranks) {
        complain("--hosts: %u is more than the number of ranks, %u", options.hosts, options.ranks);
        return EXIT_USAGE;
    }
    spawn_job_name(job, sizeof job);
    setenv("TRIB_JOB", options.job != NULL ? options.job : job, 1);
    set_run();
    bool has_place = choose_place(&options);
    if (!spawn_fits(options.threads, !has_place, options.no_switch, &options.faults) ||
        !check_environment(&options, !has_place)) {
        return EXIT_USAGE;
    }
    if (!has_place && !start_switch(&options, &own)) {
        return 1;
    }
    int status = run_ranks(&options, own.pid, argv + rest);
    spawn_switch_stop(&own);
    return status;
}
