/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.c: see spawn.h. */
#define _GNU_SOURCE
#include "cli/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/options.h"
#include "comm/environment.h"
#include "comm/launcher.h"
#include "io/clock.h"
#include "io/explain.h"
#include "keys/keyring.h"
#include "net/resolve.h"
#include "switchd/switchd.h"

#define SWITCH_START_MS 10000
#define GRACE_NS UINT64_C(5000000000)
#define TERM_NS UINT64_C(2000000000)
#define NEVER_NS UINT64_MAX

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
    interrupt_note(number);
}

pid_t spawn_fork(void)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0) {
        interrupt_release();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1); /* it died before prctl */
        }
    }
    return pid;
}

static pid_t fork_or_complain(void)
{
    pid_t pid = spawn_fork();

    if (pid < 0) {
        complain("cannot start a process: %s", trib_explain_errno(errno));
    }
    return pid;
}

static void on_switch_signal(int number)
{
    (void)number;
    trib_switchd_stop();
}

/* The key of the ranks, which read the same environment. False: error says why there is none. */
static bool read_keys(struct trib_keyring *keys, char *error)
{
    struct trib_config config;
    enum trib_status status = trib_config_from_environment(&config, error);
    status = status == TRIB_OK ? trib_keys_derive(config.key, config.key_len, &keys->own, error) : status;
    trib_wipe(config.key, sizeof config.key);
    keys->is_for_jobs = keys->own.is_set;
    return status == TRIB_OK;
}

static void run_switch(const struct trib_switchd_config *config, int ready_fd)
{
    struct trib_switchd_config own = *config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct sigaction action = {.sa_handler = on_switch_signal};

    struct trib_keyring keys = {.folder = NULL};

    own.ready_fd = ready_fd;
    sigaction(SIGTERM, &action, NULL);
    signal(SIGINT, SIG_IGN); /* Ctrl-C and SIGHUP go to the whole group: the parent ends the switch, last */
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    bool has_read = read_keys(&keys, error);
    own.keys = keys.is_for_jobs ? &keys : NULL;
    if (!has_read || trib_switchd_run(&own, error) != TRIB_OK) {
        complain("the switch did not start: %s", error);
        _exit(1);
    }
    _exit(0);
}

/* The port that the switch writes when it serves. 0: it has ended; or it was late, or a signal came: it is killed. */
static uint16_t read_port(pid_t pid, int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char text[16] = "";
    int events = poll(&ready, 1, SWITCH_START_MS);

    if (events == 0) {
        complain("the switch did not begin to serve within %d s", SWITCH_START_MS / 1000);
    }
    if (events != 1) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return 0;
    }
    if (read(fd, text, sizeof text - 1) > 0) {
        return (uint16_t)strtoul(text, NULL, 10);
    }
    int status = 0;
    if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status)) { /* else it has said why */
        complain("the switch was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    return 0;
}

bool spawn_switch_start(const struct trib_switchd_config *config, struct spawn_switch *own)
{
    int ready[2];

    if (pipe2(ready, O_CLOEXEC) != 0) {
        complain("cannot make a pipe: %s", trib_explain_errno(errno));
        return false;
    }
    own->pid = fork_or_complain();
    if (own->pid == 0) {
        close(ready[0]);
        run_switch(config, ready[1]);
    }
    close(ready[1]);
    own->port = own->pid > 0 ? read_port(own->pid, ready[0]) : 0;
    close(ready[0]);
    own->pid = own->port != 0 ? own->pid : 0;
    return own->port != 0;
}

void spawn_switch_stop(struct spawn_switch *own)
{
    if (own->pid > 0) {
        kill(own->pid, SIGTERM);
        waitpid(own->pid, NULL, 0);
        own->pid = 0;
    }
}

void spawn_catch(void)
{
    interrupt_catch_by(on_signal, 0);
}

pid_t spawn_rank(struct spawn_ranks *ranks)
{
    pid_t pid = fork_or_complain();

    if (pid > 0) {
        ranks->pids[ranks->count++] = pid;
    }
    ranks->lacks |= pid < 0;
    return pid;
}

static void signal_all(const struct spawn_ranks *ranks, int number)
{
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (ranks->pids[i] > 0) {
            kill(ranks->pids[i], number);
        }
    }
}

static int exit_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Takes one ended rank off the list; its number, or -1 when none has ended. */
static int reap(struct spawn_ranks *ranks, int *status)
{
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (ranks->pids[i] > 0 && waitpid(ranks->pids[i], status, WNOHANG) == ranks->pids[i]) {
            ranks->pids[i] = 0;
            return (int)i;
        }
    }
    return -1;
}

void spawn_adopt(struct spawn_ranks *ranks)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    ranks->adopts = true;
}

static bool is_rank(const struct spawn_ranks *ranks, pid_t pid)
{
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (ranks->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Adopted processes that have ended: none stays a zombie as long as the ranks run. */
static void bury_adopted(const struct spawn_ranks *ranks)
{
    siginfo_t ended = {.si_pid = 0};

    while (ranks->adopts && waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0 &&
           ended.si_pid != ranks->own_switch && !is_rank(ranks, ended.si_pid)) {
        (void)waitpid(ended.si_pid, NULL, 0);
        ended.si_pid = 0;
    }
}

static uint32_t alive(const struct spawn_ranks *ranks)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < ranks->count; i++) {
        count += ranks->pids[i] > 0;
    }
    return count;
}

/* A rank that is quiet speaks for itself, unless a signal ended it. */
static void report(int rank, int status, bool quiet)
{
    if (interrupted || (quiet && !WIFSIGNALED(status))) {
        return;
    }
    if (WIFSIGNALED(status)) {
        complain("rank %d was ended by signal %d (%s)", rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        complain("rank %d ended with status %d", rank, WEXITSTATUS(status));
    }
}

/* Due work: first SIGTERM, then SIGKILL. */
static uint64_t press(const struct spawn_ranks *ranks, uint64_t due, bool *termed)
{
    if (trib_clock_ns() < due) {
        return due;
    }
    signal_all(ranks, *termed ? SIGKILL : SIGTERM);
    *termed = true;
    return trib_clock_ns() + TERM_NS;
}

int spawn_wait(struct spawn_ranks *ranks, bool quiet)
{
    uint64_t due = NEVER_NS;
    bool termed = false;
    int result = 0;

    spawn_catch();
    if (ranks->lacks) { /* the others would wait for it */
        result = 1;
        due = press(ranks, 0, &termed);
    }
    while (alive(ranks) > 0) {
        int status = 0;
        int rank = reap(ranks, &status);
        if (rank >= 0) {
            if (exit_of(status) != 0 && result == 0) {
                result = exit_of(status);
                report(rank, status, quiet);
                due = due == NEVER_NS ? trib_clock_ns() + GRACE_NS : due;
            }
            continue;
        }
        if (interrupted) {
            signal_all(ranks, SIGTERM);
            result = 128 + interrupted;
            interrupted = 0;
            termed = true;
            due = trib_clock_ns() + TERM_NS;
        }
        due = press(ranks, due, &termed);
        bury_adopted(ranks);
        poll(NULL, 0, 5);
    }
    return result;
}

/* Sends the signal to all children but the switch; 0: none. False: there are no others. */
static bool signal_adopted(const struct spawn_ranks *ranks, int number)
{
    char path[64];
    bool has_any = false;
    int pid;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *list = fopen(path, "re");
    while (list != NULL && fscanf(list, "%d", &pid) == 1) {
        if (pid != ranks->own_switch && waitpid(pid, NULL, WNOHANG) == 0) {
            has_any = true;
            kill(pid, number);
        }
    }
    if (list != NULL) {
        fclose(list);
    }
    return has_any;
}

void spawn_end_adopted(const struct spawn_ranks *ranks)
{
    uint64_t due = trib_clock_ns() + TERM_NS;
    int number = SIGTERM;

    while (signal_adopted(ranks, number) && trib_clock_ns() < due + TERM_NS) {
        poll(NULL, 0, 5);
        number = trib_clock_ns() < due ? 0 : SIGKILL;
    }
}

void spawn_job_name(char *name, size_t size)
{
    snprintf(name, size, "local-%d-%llu", (int)getpid(), (unsigned long long)(trib_clock_ns() % 1000000007U));
}

void spawn_set_place(uint32_t rank, uint32_t ranks)
{
    char text[16];

    snprintf(text, sizeof text, "%u", rank);
    setenv("TRIB_RANK", text, 1);
    snprintf(text, sizeof text, "%u", ranks);
    setenv("TRIB_RANKS", text, 1);
}

bool spawn_check(const struct trib_config *config, bool starts_switch)
{
    struct trib_config wanted = *config;
    struct trib_address address = trib_address_v4(INADDR_LOOPBACK, 0);
    struct trib_address_list nics;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (starts_switch) {
        (void)snprintf(wanted.switch_address, sizeof wanted.switch_address, "127.0.0.1");
    }
    bool has_switch = wanted.switch_address[0] != '\0';
    const char *place = has_switch ? wanted.switch_address : wanted.rendezvous;
    wanted.level0 = wanted.level0 || place[0] == '\0'; /* there is nothing else */
    if (place[0] != '\0' && trib_address_parse(place, TRIB_DEFAULT_PORT, &address, error) != TRIB_OK) {
        complain("%s: %s", has_switch ? "switch (TRIB_SWITCH)" : "rendezvous (TRIB_RENDEZVOUS)", error);
        return false;
    }
    if (wanted.nics[0] != '\0' && trib_nics_parse(wanted.nics, &address, &nics, error) != TRIB_OK) {
        complain("network cards (TRIB_NICS): %s", error);
        return false;
    }
    if (trib_config_check(&wanted, error) != TRIB_OK) {
        complain("%s", error);
        return false;
    }
    setenv(TRIB_ENVIRONMENT_CHECKED, "1", 1);
    return true;
}

bool spawn_fits(uint32_t threads, bool starts_switch, bool no_switch, const struct trib_faults *faults)
{
    if (threads != 1 && !starts_switch) {
        complain("--threads is of a switch that is started for the ranks, and here there is none");
        return false;
    }
    if (no_switch && (faults->loss > 0 || faults->duplicate > 0 || faults->reorder > 0 || faults->corrupt > 0)) {
        complain("--no-switch: ranks meet in memory, so there are no packets to lose, duplicate, reorder or corrupt");
        return false;
    }
    return true;
}
