/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h: the subcommands of `tributary`. Each gets its own arguments (argv[0] is its name) and returns the exit
 * status: 0 success, 1 failure, 2 bad usage. Read next: options.h (how arguments are read). */
#ifndef TRIB_CLI_COMMANDS_H
#define TRIB_CLI_COMMANDS_H

#define EXIT_USAGE 2

int command_switch(int argc, char **argv);
int command_run(int argc, char **argv);
int command_perf(int argc, char **argv);
int command_jobs(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_demo(int argc, char **argv);
int command_sim(int argc, char **argv);
int command_reproduce(int argc, char **argv);
int command_info(int argc, char **argv);

#endif
