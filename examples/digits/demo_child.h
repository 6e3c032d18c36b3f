/* SPDX-License-Identifier: Apache-2.0 */
/* demo_child.h: child processes that never outlive the demo: the kernel kills them when it dies, and it kills them when
 * it ends.
 * Read next: demo_run.c. */
#ifndef DIGITS_DEMO_CHILD_H
#define DIGITS_DEMO_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CHILD_WORDS_MAX 24
#define CHILD_TEXT_MAX 32768

/* How to start a program; built by child_start_init and child_argument. */
struct child_start {
    char *argv[CHILD_WORDS_MAX + 1];
    char *environment[CHILD_WORDS_MAX + 1]; /* "NAME=value", over the demo's own without TRIB_* */
    size_t arguments;
    size_t variables;
    size_t text_len;
    char text[CHILD_TEXT_MAX]; /* of both */
    int output;                /* becomes stdout; -1: as the demo's */
    int errors;                /* becomes stderr; -1: as the demo's */
    int kept;                  /* stays open under its number; -1: none */
};

void child_start_init(struct child_start *start);
/* Adds one argument (the first is the program's path), one variable. */
void child_argument(struct child_start *start, const char *format, ...) __attribute__((format(printf, 2, 3)));
void child_variable(struct child_start *start, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ctrl-C, SIGTERM and SIGHUP are noted from now on, and children end with the demo. */
void children_begin(void);
/* The signal that came, 0 if none. */
int children_signal(void);
/* The process id, -1 if it could not be started (the cause was printed). */
pid_t child_run(struct child_start *start);
/* True when the child has ended, with waitpid's status. */
bool child_ended(pid_t pid, int *status);
/* Sends the signal, waits for the end, at most `seconds`; then kills it. */
void child_stop(pid_t pid, int signal_number, double seconds);
void children_stop_all(void);

#endif
