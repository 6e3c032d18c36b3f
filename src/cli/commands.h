/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h: the subcommands of `tributary`. Each gets its own arguments (argv[0] is its name) and returns the exit
 * status: 0 success, 1 failure, 2 bad usage. Read next: options.h (how arguments are read). */
#ifndef TRIB_CLI_COMMANDS_H
#define TRIB_CLI_COMMANDS_H

#include "cli/options.h"

#define EXIT_USAGE 2

struct command {
    const char *name;
    const char *help; /* one line */
    int (*run)(int argc, char **argv);
    bool prints; /* results on standard output, which its end waits for */
    const struct option_command *options;
};

/* The command at index in the order of --help, NULL behind the last. Tests walk the options of all. */
const struct command *command_at(unsigned index);

int command_switch(int argc, char **argv);
int command_server(int argc, char **argv);
int command_run(int argc, char **argv);
int command_perf(int argc, char **argv);
int command_jobs(int argc, char **argv);
int command_key(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_demo(int argc, char **argv);
int command_sim(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_reproduce(int argc, char **argv);
int command_info(int argc, char **argv);

extern const struct option_command options_of_switch, options_of_server, options_of_run, options_of_perf,
    options_of_jobs, options_of_key, options_of_doctor, options_of_demo, options_of_sim, options_of_plan,
    options_of_reproduce, options_of_info;

#endif
