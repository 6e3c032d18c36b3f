/* SPDX-License-Identifier: Apache-2.0 */
/* spawn.h: processes of `run` and `perf`: a switch of one's own, and ranks. All die with their parent, and when one
 * rank fails the others get a moment to say why, then are ended. Read next: spawn.c. */
#ifndef TRIB_CLI_SPAWN_H
#define TRIB_CLI_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <tributary/comm.h>

#include "switchd/switchd.h"

struct spawn_switch {
    pid_t pid; /* 0: none of our own */
    uint16_t port;
};

/* fork. In the child signals are as they were, and it dies with its parent. */
pid_t spawn_fork(void);
/* Forks a switch on 127.0.0.1 with any free port, waits until it serves. Prints the cause when it returns false. */
bool spawn_switch_start(const struct trib_switchd_config *config, struct spawn_switch *own);
/* SIGTERM, and waits. */
void spawn_switch_stop(struct spawn_switch *own);

struct spawn_ranks {
    pid_t pids[TRIB_RANKS_MAX];
    uint32_t count;
    bool adopts;      /* spawn_adopt was called */
    bool lacks;       /* a rank could not be started */
    pid_t own_switch; /* a child that is no rank; 0: none */
};

/* From now on SIGINT, SIGTERM and SIGHUP (interrupt.h) are spawn_wait's, also those that come before it. A shell that
 * starts a job in the background has SIGINT ignored; without this one that comes while ranks are started is lost. */
void spawn_catch(void);
/* In the child: dies with the parent. Returns in both; 0 in the child, the pid in the parent, -1 on failure
 * (printed). */
pid_t spawn_rank(struct spawn_ranks *ranks);
/* Waits for all. Returns 0, or the exit status of the first rank that failed; then the others get 5 s before SIGTERM, 2
 * s more before SIGKILL. If a rank could not be started, returns 1, and SIGTERM comes at once. The ranks get SIGTERM
 * for the signals of spawn_catch, which are kept for interrupt_came: also signals after the last rank. quiet: do not
 * name the failed rank. */
int spawn_wait(struct spawn_ranks *ranks, bool quiet);
/* From now on, descendants of ranks without a living parent are adopted. Before the first rank. */
void spawn_adopt(struct spawn_ranks *ranks);
/* Ends the adopted processes, if the kernel lists children: SIGTERM, 2 s later SIGKILL. All ranks have ended. */
void spawn_end_adopted(const struct spawn_ranks *ranks);
/* A job name that no other run has. */
void spawn_job_name(char *name, size_t size);
/* TRIB_RANK and TRIB_RANKS of this process and its children. */
void spawn_set_place(uint32_t rank, uint32_t ranks);
/* Refuses, before a rank is started, a mistake that every rank would refuse: addresses, network cards, settings. False:
 * the cause was printed. */
bool spawn_check(const struct trib_config *config, bool starts_switch);
/* Refuses options without effect: shards where no switch is started, faults of packets where there are none. False: the
 * cause was printed. */
bool spawn_fits(uint32_t threads, bool starts_switch, bool no_switch, const struct trib_faults *faults);

#endif
