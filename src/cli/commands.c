/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c: the table of all subcommands. Read next: main.c (which runs them). */
#include "cli/commands.h"

#include <stddef.h>

static const struct command commands[] = {
    {"switch", "run a software switch with its control plane", command_switch, false, &options_of_switch},
    {"server", "run a parameter server, a switch on a host", command_server, false, &options_of_server},
    {"run", "run a program as several ranks on this machine", command_run, false, &options_of_run},
    {"perf", "measure a collective, check every value", command_perf, true, &options_of_perf},
    {"jobs", "states of the jobs of a switch, once or --watch", command_jobs, true, &options_of_jobs},
    {"key", "make and name keys of jobs", command_key, true, &options_of_key},
    {"doctor", "check this machine and the way to the switch", command_doctor, true, &options_of_doctor},
    {"demo", "a wrong sum and how it is caught, step by step", command_demo, true, &options_of_demo},
    {"sim", "simulate a data centre, packet by packet", command_sim, true, &options_of_sim},
    {"plan", "which switches add for which jobs, with a proof", command_plan, true, &options_of_plan},
    {"reproduce", "figures and tables of papers, beside the numbers found here", command_reproduce, true,
     &options_of_reproduce},
    {"info", "version, CPU kernels, limits, environment variables", command_info, true, &options_of_info},
};

const struct command *command_at(unsigned index)
{
    return index < sizeof commands / sizeof commands[0] ? &commands[index] : NULL;
}
