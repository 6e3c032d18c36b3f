/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h: long work that Ctrl-C, SIGTERM, or the end of the terminal (SIGHUP, but under nohup) ends at the next
 * step, with the results so far.
 * Read next: sim_single.c, command_reproduce.c (their loops ask between two steps). */
#ifndef TRIB_CLI_INTERRUPT_H
#define TRIB_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first of these signals is kept; one more ends the process at once. */
void interrupt_catch(void);
/* For a handler of the caller's own: keeps the first signal. */
void interrupt_note(int signal);
/* From now on these signals call handler, with these flags of sigaction. */
void interrupt_catch_by(void (*handler)(int signal), int flags);
/* In a child after fork: the signals end it again, also SIGINT in a shell's background. */
void interrupt_release(void);
bool interrupt_came(void);
/* Exit status: 128 + the signal, 129 for SIGHUP, 130 for SIGINT and 143 for SIGTERM. 0: none came. */
int interrupt_status(void);

#endif
