/* SPDX-License-Identifier: Apache-2.0 */
/* demo_run.c: one training: starts the switch and the workers, shows their progress, kills and restarts the switch when
 * the run is the one with faults, and sees everything end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "demo.h"
#include "demo_child.h"

#define READY_SECONDS 10.0 /* for a switch to say that it listens */
#define RUN_SECONDS 120.0  /* for one training */
#define GONE_SECONDS 0.25  /* that the killed switch stays away */

struct session {
    const struct demo *demo;
    struct demo_run *run;
    pid_t switch_pid; /* 0: none */
    unsigned port;
    uint32_t workers;
    pid_t worker[DEMO_WORKERS]; /* 0: has ended */
    int progress;               /* rank 0's output; -1: closed */
    char line[512];
    size_t line_len;
    double epoch_at; /* when the last training epoch's line came */
    double kill_at;
    double restart_at; /* 0: nothing to do */
};

/* Both logs of the run go to stderr: something went wrong. */
static void logs_show(const struct session *session)
{
    static const char *const names[] = {"switch", "workers"};
    char path[DEMO_PATH_MAX];
    char line[512];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        demo_path(session->demo, session->run, names[i], path);
        FILE *file = fopen(path, "r");
        while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
            fprintf(stderr, "  %s: %s", names[i], line);
        }
        if (file != NULL) {
            fclose(file);
        }
    }
}

static bool fail(const struct session *session, const char *what)
{
    fprintf(stderr, "digits-demo: %s run: %s\n", session->run->name, what);
    logs_show(session);
    return false;
}

/* A file for the stderr of a process; with TRIB_DEBUG it goes to the demo's own stderr. */
static int log_open(const struct session *session, const char *name)
{
    char path[DEMO_PATH_MAX];
    demo_path(session->demo, session->run, name, path);
    if (getenv("TRIB_DEBUG") != NULL) {
        return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    }
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* Waits for "PORT\n" from the switch; 0 when it does not come. */
static unsigned ready_wait(const struct session *session, int fd)
{
    char text[32] = "";
    size_t len = 0;
    int status;
    double end = clock_seconds() + READY_SECONDS;
    while (clock_seconds() < end && len + 1 < sizeof(text) && strchr(text, '\n') == NULL && children_signal() == 0) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        if (poll(&poll_fd, 1, 50) <= 0) {
            continue;
        }
        ssize_t got = read(fd, text + len, sizeof(text) - 1 - len);
        if (got <= 0) {
            break;
        }
        len += (size_t)got;
        text[len] = '\0';
    }
    if (strchr(text, '\n') == NULL && child_ended(session->switch_pid, &status)) {
        return 0;
    }
    return (unsigned)strtoul(text, NULL, 10);
}

static bool switch_spawn(struct session *session, int log, int ready)
{
    static const char *const faults[] = {"--loss", "1%", "--duplicate", "1%", "--reorder", "1%", "--seed", "7"};
    struct child_start start;
    child_start_init(&start);
    child_argument(&start, "%s/tributary", session->demo->programs);
    child_argument(&start, "switch");
    child_argument(&start, "--listen");
    child_argument(&start, "127.0.0.1:%u", session->port);
    child_argument(&start, "--http");
    child_argument(&start, "none");
    child_argument(&start, "--ready-fd");
    child_argument(&start, "%d", ready);
    for (size_t i = 0; session->run->faults && i < sizeof(faults) / sizeof(faults[0]); i++) {
        child_argument(&start, "%s", faults[i]);
    }
    start.output = start.errors = log;
    start.kept = ready;
    session->switch_pid = child_run(&start);
    return session->switch_pid > 0;
}

/* Starts the switch, at the port that an earlier one had if there was one, and waits until it listens. */
static bool switch_start(struct session *session)
{
    int ready[2];
    int log = log_open(session, "switch");
    if (log < 0 || pipe2(ready, O_CLOEXEC) != 0) {
        return fail(session, strerror(errno));
    }
    bool started = switch_spawn(session, log, ready[1]);
    close(log);
    close(ready[1]);
    unsigned port = started ? ready_wait(session, ready[0]) : 0;
    close(ready[0]);
    if (port == 0 || (session->port != 0 && port != session->port)) {
        return children_signal() != 0 ? false : fail(session, "the switch (tributary switch) did not start");
    }
    session->port = port;
    return true;
}

/* Variables that make a process a rank of the job. */
static void worker_variables(const struct session *session, uint32_t rank, struct child_start *start)
{
    child_variable(start, "TRIB_SWITCH=127.0.0.1:%u", session->port);
    child_variable(start, "TRIB_LEVEL0=0"); /* the demo shows the network */
    child_variable(start, "TRIB_JOB=digits-%s", session->run->name);
    child_variable(start, "TRIB_RANK=%u", rank);
    child_variable(start, "TRIB_RANKS=%u", session->workers);
    if (session->run->faults) {
        child_variable(start, "TRIB_FAULTS=loss=1%%,duplicate=1%%,reorder=1%%,seed=%u", 7 + rank);
    }
}

static bool worker_start(struct session *session, uint32_t rank, int output, int log)
{
    char report[DEMO_PATH_MAX];
    char weights[DEMO_PATH_MAX];
    struct child_start start;
    demo_path(session->demo, session->run, "report", report);
    demo_path(session->demo, session->run, "weights", weights);
    child_start_init(&start);
    child_argument(&start, "%s/digits", session->demo->programs);
    child_argument(&start, "--epochs=%u", session->demo->epochs);
    child_argument(&start, "--batch=%u", DEMO_BATCH);
    child_argument(&start, "--report=%s", report);
    child_argument(&start, "--weights=%s", weights);
    if (session->switch_pid == 0) {
        child_argument(&start, "--single");
    } else {
        worker_variables(session, rank, &start);
    }
    start.output = output;
    start.errors = log;
    session->worker[rank] = child_run(&start);
    return session->worker[rank] > 0;
}

/* Rank 0 prints into a pipe, the others print nothing. */
static bool workers_start(struct session *session)
{
    int ends[2];
    int log = log_open(session, "workers");
    if (log < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        return fail(session, strerror(errno));
    }
    bool started = true;
    for (uint32_t rank = 0; started && rank < session->workers; rank++) {
        started = worker_start(session, rank, rank == 0 ? ends[1] : -1, log);
    }
    close(log);
    close(ends[1]);
    session->progress = ends[0];
    return started;
}

/* A line of rank 0. When half the training epochs have passed, sets the time for the switch to die: mid-epoch. */
static void line_take(struct session *session)
{
    unsigned epoch;
    double now = clock_seconds();
    printf("  %s\n", session->line);
    fflush(stdout);
    if (sscanf(session->line, "epoch %u/", &epoch) != 1) {
        return;
    }
    if (session->run->faults && session->run->restarts == 0 && epoch == session->demo->epochs / 2) {
        session->kill_at = now + 0.5 * (now - session->epoch_at);
        session->run->restart_epoch = epoch + 1;
    }
    session->epoch_at = now;
}

static void progress_read(struct session *session)
{
    char text[512];
    ssize_t got = read(session->progress, text, sizeof(text));
    if (got <= 0) {
        close(session->progress);
        session->progress = -1;
        return;
    }
    for (ssize_t i = 0; i < got; i++) {
        if (text[i] == '\n') {
            session->line[session->line_len] = '\0';
            session->line_len = 0;
            line_take(session);
        } else if (session->line_len + 1 < sizeof(session->line)) {
            session->line[session->line_len++] = text[i];
        }
    }
}

/* Kills the switch and starts it again when their times have come. */
static bool restart_step(struct session *session)
{
    double now = clock_seconds();
    if (session->kill_at > 0.0 && now >= session->kill_at) {
        child_stop(session->switch_pid, SIGKILL, 1.0);
        session->switch_pid = 0;
        session->kill_at = 0.0;
        session->restart_at = now + GONE_SECONDS;
        printf("  -- kill -9 of the switch, in the middle of training epoch %u --\n", session->run->restart_epoch);
        fflush(stdout);
        session->run->outage_seconds = now;
    }
    if (session->restart_at > 0.0 && now >= session->restart_at) {
        session->restart_at = 0.0;
        if (!switch_start(session)) {
            return false;
        }
        session->run->restarts++;
        session->run->outage_seconds = clock_seconds() - session->run->outage_seconds;
        printf("  -- switch started again on port %u after %.2f s, its memory empty --\n", session->port,
               session->run->outage_seconds);
        fflush(stdout);
    }
    return true;
}

/* False when a process ended as it should not. *running: workers that have not ended. */
static bool processes_check(struct session *session, uint32_t *running)
{
    char text[128];
    int status;
    *running = 0;
    for (uint32_t i = 0; i < session->workers; i++) {
        if (session->worker[i] != 0 && child_ended(session->worker[i], &status)) {
            session->worker[i] = 0;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                snprintf(text, sizeof(text), "worker %u ended with %s %d", i, WIFSIGNALED(status) ? "signal" : "status",
                         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
                return fail(session, text);
            }
        }
        *running += session->worker[i] != 0;
    }
    if (session->switch_pid != 0 && child_ended(session->switch_pid, &status)) {
        session->switch_pid = 0;
        return fail(session, "the switch has ended by itself");
    }
    return true;
}

static bool watch(struct session *session)
{
    uint32_t running = 1;
    double end = clock_seconds() + RUN_SECONDS;
    while (running > 0 || session->progress >= 0) {
        struct pollfd poll_fd = {.fd = session->progress, .events = POLLIN};
        if (poll(&poll_fd, 1, 10) > 0) {
            progress_read(session);
        }
        if (children_signal() != 0) {
            return false;
        }
        if (!restart_step(session) || !processes_check(session, &running)) {
            return false;
        }
        if (clock_seconds() > end) {
            return fail(session, "not finished after 120 s");
        }
    }
    return true;
}

static void session_end(struct session *session)
{
    for (uint32_t i = 0; i < session->workers; i++) {
        if (session->worker[i] > 0) {
            child_stop(session->worker[i], SIGKILL, 1.0);
        }
    }
    if (session->switch_pid > 0) {
        child_stop(session->switch_pid, SIGTERM, 3.0);
    }
    if (session->progress >= 0) {
        close(session->progress);
    }
}

static bool run_all(struct session *session)
{
    uint64_t loopback = demo_read_loopback();
    double begin = clock_seconds();
    session->epoch_at = begin;
    bool good = workers_start(session) && watch(session);
    session->run->seconds = clock_seconds() - begin;
    session->run->loopback_bytes = demo_read_loopback() - loopback;
    session_end(session);
    return good && demo_read_reports(session->demo, session->run);
}

bool demo_run_switched(const struct demo *demo, struct demo_run *run)
{
    struct session session = {.demo = demo, .run = run, .workers = DEMO_WORKERS, .progress = -1};
    run->ranks = DEMO_WORKERS;
    if (!switch_start(&session)) {
        session_end(&session);
        return false;
    }
    printf("  switch on 127.0.0.1:%u, %u workers\n", session.port, session.workers);
    return run_all(&session);
}

bool demo_run_single(const struct demo *demo, struct demo_run *run)
{
    struct session session = {.demo = demo, .run = run, .workers = 1, .progress = -1};
    run->ranks = 1;
    return run_all(&session);
}
