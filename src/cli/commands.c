/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c: the table of all subcommands. Read next: main.c (which runs them). */
#include "cli/commands.h"

#include <stddef.h>

static const struct command commands[] = {
    {"switch", "run a software switch with its control plane", command_switch, &options_of_switch},
    {"run", "run a program as several ranks on this machine", command_run, &options_of_run},
    {"perf", "measure a collective, check every value", command_perf, &options_of_perf},
    {"jobs", "what the jobs of a switch do, once or --watch", command_jobs, &options_of_jobs},
    {"doctor", "check this machine and the way to the switch", command_doctor, &options_of_doctor},
    {"demo", "a wrong sum and how it is caught, step by step", command_demo, &options_of_demo},
    {"sim", "simulate a data centre, packet by packet", command_sim, &options_of_sim},
    {"reproduce", "figures and tables of papers, beside what comes out here", command_reproduce, &options_of_reproduce},
    {"info", "version, CPU kernels, limits, environment variables", command_info, &options_of_info},
};

const struct command *command_at(unsigned index)
{
    return index < sizeof commands / sizeof commands[0] ? &commands[index] : NULL;
}
