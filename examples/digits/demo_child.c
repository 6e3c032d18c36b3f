/* SPDX-License-Identifier: Apache-2.0 */
/* demo_child.c: see demo_child.h. */
#define _GNU_SOURCE
#include "demo_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define CHILDREN_MAX 16

static pid_t children[CHILDREN_MAX]; /* 0: free */
static volatile sig_atomic_t signal_seen;

static void signal_note(int number)
{
    signal_seen = number;
}

int children_signal(void)
{
    return signal_seen;
}

void children_begin(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = signal_note};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    atexit(children_stop_all);
}

void child_start_init(struct child_start *start)
{
    memset(start, 0, sizeof(*start));
    start->output = start->errors = start->kept = -1;
}

/* The text, kept in start->text; a start that is too small for what the demo puts in is a mistake in the demo. */
__attribute__((format(printf, 2, 0))) static char *text_keep(struct child_start *start, const char *format,
                                                             va_list arguments)
{
    char *at = start->text + start->text_len;
    size_t room = sizeof(start->text) - start->text_len;
    int len = vsnprintf(at, room, format, arguments);
    if (len < 0 || (size_t)len >= room || start->arguments >= CHILD_WORDS_MAX || start->variables >= CHILD_WORDS_MAX) {
        fprintf(stderr, "digits-demo: a command line is too long\n");
        exit(1);
    }
    start->text_len += (size_t)len + 1;
    return at;
}

void child_argument(struct child_start *start, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    start->argv[start->arguments++] = text_keep(start, format, arguments);
    va_end(arguments);
}

void child_variable(struct child_start *start, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    start->environment[start->variables++] = text_keep(start, format, arguments);
    va_end(arguments);
}

/* Leaves TRIB_DEBUG: it says how much is logged, nothing else. */
static void environment_clean(void)
{
    for (char **at = environ; *at != NULL;) {
        char name[128];
        size_t len = strcspn(*at, "=");
        if (strncmp(*at, "TRIB_", 5) == 0 && strncmp(*at, "TRIB_DEBUG=", 11) != 0 && len < sizeof(name)) {
            memcpy(name, *at, len);
            name[len] = '\0';
            unsetenv(name);
            at = environ;
        } else {
            at++;
        }
    }
}

/* In the child. Returns only when the program could not be started. */
static void child_become(struct child_start *start, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(127); /* the demo died before the line above */
    }
    signal(SIGPIPE, SIG_DFL);
    if (start->output >= 0) {
        dup2(start->output, STDOUT_FILENO);
    }
    if (start->errors >= 0) {
        dup2(start->errors, STDERR_FILENO);
    }
    if (start->kept >= 0) {
        fcntl(start->kept, F_SETFD, 0);
    }
    environment_clean();
    for (size_t i = 0; i < start->variables; i++) {
        putenv(start->environment[i]);
    }
    execv(start->argv[0], start->argv);
}

pid_t child_run(struct child_start *start)
{
    size_t place = 0;
    while (place < CHILDREN_MAX && children[place] != 0) {
        place++;
    }
    fflush(NULL);
    pid_t parent = getpid();
    pid_t pid = place < CHILDREN_MAX ? fork() : -1;
    if (pid == 0) {
        child_become(start, parent);
        dprintf(STDERR_FILENO, "digits-demo: cannot start %s: %s\n", start->argv[0], strerror(errno));
        _exit(127);
    }
    if (pid < 0) {
        fprintf(stderr, "digits-demo: cannot start %s: %s\n", start->argv[0], strerror(errno));
        return -1;
    }
    children[place] = pid;
    return pid;
}

bool child_ended(pid_t pid, int *status)
{
    *status = 0;
    if (waitpid(pid, status, WNOHANG) == 0) {
        return false;
    }
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        children[i] = children[i] == pid ? 0 : children[i];
    }
    return true;
}

void child_stop(pid_t pid, int signal_number, double seconds)
{
    struct timespec pause = {.tv_nsec = 2000000};
    int status;
    kill(pid, signal_number);
    double end = clock_seconds() + seconds;
    while (clock_seconds() < end) {
        if (child_ended(pid, &status)) {
            return;
        }
        nanosleep(&pause, NULL);
    }
    kill(pid, SIGKILL);
    while (!child_ended(pid, &status)) {
        nanosleep(&pause, NULL);
    }
}

void children_stop_all(void)
{
    for (size_t i = 0; i < CHILDREN_MAX; i++) {
        if (children[i] != 0) {
            child_stop(children[i], SIGKILL, 0.0);
        }
    }
}
