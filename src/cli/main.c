/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the program `tributary`: picks the subcommand. Read next: commands.h. */
#include <stdio.h>
#include <string.h>

#include <tributary/comm.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "io/nearest.h"

static const struct {
    const char *name;
    const char *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"switch", "run a software switch with its control plane", command_switch},
    {"run", "run a program as several ranks on this machine", command_run},
    {"perf", "measure a collective, check every value", command_perf},
    {"jobs", "what the jobs of a switch do, once or --watch", command_jobs},
    {"doctor", "check this machine and the way to the switch", command_doctor},
    {"demo", "a wrong sum and how it is caught, step by step", command_demo},
    {"sim", "simulate a data centre, packet by packet", command_sim},
    {"reproduce", "figures and tables of papers, beside what comes out here", command_reproduce},
    {"info", "version, CPU kernels, limits, environment variables", command_info},
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static int help(FILE *out)
{
    fprintf(
        out,
        "usage: tributary <command> [options]\n\nTributary %s: in-network aggregation for distributed training.\n\n",
        trib_version());
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].help);
    }
    fprintf(out, "\n`tributary <command> --help` tells more.\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int unknown(const char *word)
{
    struct trib_nearest nearest = {.word = word, .len = strlen(word)};

    for (size_t i = 0; i < COMMANDS; i++) {
        trib_nearest_offer(&nearest, commands[i].name);
    }
    if (nearest.best != NULL) {
        complain("unknown command \"%s\"; did you mean %s?", word, nearest.best);
    } else {
        complain("unknown command \"%s\"; `tributary --help` lists what there is", word);
    }
    return EXIT_USAGE;
}

/* argv begins with the command's name. */
static int run(int argc, char **argv)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[0], commands[i].name) == 0) {
            return commands[i].run(argc, argv);
        }
    }
    return unknown(argv[0]);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return help(stderr);
    }
    if (argc > 2 && strcmp(argv[1], "help") == 0 && strcmp(argv[2], "help") != 0) {
        char more[] = "--help";
        char *of[] = {argv[2], more, NULL};
        return run(2, of);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        return help(stdout);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        printf("tributary %s\n", trib_version());
        return 0;
    }
    return run(argc - 1, argv + 1);
}
