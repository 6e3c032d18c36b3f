/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h: long work that Ctrl-C, or SIGTERM, ends at the next step, with the results so far.
 * Read next: sim_single.c, command_reproduce.c (their loops ask between two steps). */
#ifndef TRIB_CLI_INTERRUPT_H
#define TRIB_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on the first of these signals is kept; one more ends the process at once. */
void interrupt_catch(void);
/* For a handler of the caller's own: keeps the first signal. */
void interrupt_note(int signal);
bool interrupt_came(void);
/* Exit status: 128 + the signal, 130 for SIGINT and 143 for SIGTERM. 0: none came. */
int interrupt_status(void);

#endif
