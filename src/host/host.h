/* SPDX-License-Identifier: Apache-2.0 */
/* host.h: level 0: the ranks of one communicator that are all on this host, and the memory that they share. It moves no
 * packet and knows no switch. Not here: threads, requests, time limits (comm/local.c drives this as it drives sockets).
 *
 * DESIGN NOTES What there is. One memory file (memfd, so a crash leaves nothing behind), mapped by every rank:
 * segment.h. It holds a seat for each rank, which only that rank writes, staging areas and result areas. And one socket
 * pair for each rank: the rank keeps one end, its inbox; all others have the other end, its line. A line that hangs up
 * is a dead rank (I8), whatever else it was doing; a byte on it wakes a rank that sleeps.
 *
 * Steps. Every operation is a run of steps, at least one, and all ranks count them alike, over all operations. A seat
 * has two counts that only grow: `staged`, the steps whose contribution of this rank lies there to be read, and
 * `summed`, the steps that this rank has done its share of and read what it needs from. They are stored with release
 * when the bytes are there and loaded with acquire before bytes are read: a count is the only thing that says that
 * bytes are whole, so a rank that is late reads nothing old and nobody reads what is being written. Two areas of each
 * kind are used in turn, by the step's parity.
 *
 *   small (up to TRIB_HOST_SMALL bytes; of an allgather, in the largest share), one step:
 *     write what others need of the tensor into the own small area, staged; when all have staged: everybody adds up or
 *     takes what he wants, summed.
 *   large allreduce or reduce, a step for each chunk, three chunks under way:
 *     OUT(k-2): when all have summed k-2: who wants it copies the result area to the caller.
 *     IN(k):    copy the chunk into the own staging area, but for the own share, which nobody else reads; staged.
 *     SUM(k-1): when all have staged k-1: add up the own share of that chunk of all ranks, into the result area;
 *     summed.
 *   large reduce-scatter, a step for a slice of each share: IN copies the slices of all others' shares; SUM adds up
 *   that of the own
 *     share, to the caller at once: there is no OUT.
 *   large allgather, the same: IN copies the slice of the own share, SUM takes those of all others.
 *   large broadcast: the root does IN, up to 8 chunks ahead of who is last, in the staging areas of all ranks in turn;
 *   the others copy it
 *     out, summed.
 *   barrier, and count 0: a step without bytes.
 *
 * Why nothing is overwritten that somebody needs. A staging area of step h is written again at h + 2 when all have
 * summed h (OUT of h waits for that; the first two steps of an operation ask for it too). The result area of h is
 * written by SUM(h + 2), which waits for all to have staged h + 2, and a rank does OUT(h) before IN(h + 2). Of a
 * broadcast an area is that of its step's parity too, and comes round when all have summed what was in it; behind its
 * first chunk all have come to that operation. A small area of h is written at h + 2: the operation between, or that of
 * h itself, has made this rank wait until all had staged its first step, so they had done with those before.
 *
 * The order of additions is slot.h's tree over the ranks: the bits are those that one switch with all ranks would give.
 * The owner of a share adds his own part last, as he does there.
 *
 * Operations are compared before a byte of another rank is read (I10): with its first step a rank shows in its seat
 * what it runs, whole and not as a digest. The caller's buffers are written by the caller's rank only, in
 * trib_host_advance (I11): what another rank does after an error, or after being stopped for an hour, cannot reach
 * them. They are read by that rank only, too, but for tensors that lie in memory of trib_shared_alloc: those are not
 * staged, others read them in SUM (shared.c). Who sends from there ends no operation before all have read. Who fails
 * may change such a tensor while another rank still reads it; what that rank made of it is nobody's: a record was
 * there, or being written, before the change, and all look for it after they have read, and before they write to their
 * callers.
 *
 * ATTACKS: what if a rank ...
 *   - dies before it has joined: its connection closes: rank 0 tells the others and gives up; if it is rank 0, each
 *     sees that itself.
 *   - dies at any later point: its line hangs up at every other rank, without anybody's help; each fails, naming it.
 *     Counts that it had published stand for bytes that are there: nothing half-written is ever counted.
 *   - dies while it says why it failed: the record stays "being written": no sum is copied out any more, and its line
 *     has hung up.
 *   - is stopped while it says so: the same, and the others end with their time limits.
 *   - dies while it sleeps: `sleepers` stays too high: others look for sleepers in vain, and its line has hung up.
 *   - is the last that is left: its inbox hangs up for good: it is closed, so that an idle rank sleeps.
 *   - dies between clearing a sleeper's mark and waking it: that sleeper sees the line hang up.
 *   - is stopped: all wait, name the missing rank, and end with their time limit; the first tells the others by the
 *     record. Woken, the stopped rank finds the record, or its own limit. It still reads and writes its own buffers and
 *     the segment, and nothing else.
 *   - is late: all wait: a count is the number of a step, which never comes again within 2^31 of them.
 *   - calls something else: the seats differ: all ranks fail naming both operations. Steps are counted alike up to
 *     there, since all operations before were equal.
 *   - calls with other sizes: the same. It may have staged two chunks, in its own areas; nobody has read them.
 *   - closes too early: its seat says so before its line hangs up. A rank that needs it for a step fails, naming it. A
 *     rank that has all parts goes on: the memory outlives the rank.
 *   - fails while others go on: one record, the first. A rank that looks at the record before the next step fails too;
 *     all are woken. A rank that had ended the operation has a correct result.
 *   - forks: descriptors are closed on exec, and in a child that never execs by the fork (comm/fork.c).
 *   - truncates or grows the file: sealed: it cannot.
 *   - is of another user: refused by the peer's credentials, in both directions.
 *   - writes nonsense into the segment: not defended: ranks of one job and user trust each other's memory.
 * Read next: segment.h, engine.c, counts.c, rendezvous.c (how ranks find each other), bells.c (sleeping, waking,
 * dying). */
#ifndef TRIB_HOST_HOST_H
#define TRIB_HOST_HOST_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <tributary/comm.h>

#include "core/node.h"

struct trib_host;

/* What became of trib_host_advance. */
enum trib_host_verdict {
    TRIB_HOST_IDLE = 0,   /* no operation */
    TRIB_HOST_WAITS,      /* for trib_host_awaited */
    TRIB_HOST_MOVED,      /* call again */
    TRIB_HOST_DONE,       /* the operation has ended; its buffers are the caller's */
    TRIB_HOST_DIFFERS,    /* trib_host_other runs another operation */
    TRIB_HOST_UNREADABLE, /* the memory that trib_host_unreadable offers cannot be mapped */
    TRIB_HOST_LEFT,       /* trib_host_awaited has closed and never takes this step */
    TRIB_HOST_FAILED      /* another rank has ended the communicator: trib_host_failure */
};

/* Finds the other ranks of config->job and waits until all are there, or until *doomed (may be NULL). Returns
 * ERR_MEMORY, ERR_SYSTEM, ERR_REFUSED, ERR_VERSION, ERR_SETTINGS, ERR_TIMEOUT, ERR_PEER. The caller owns *host. */
TRIB_MUST_USE enum trib_status trib_host_open(const struct trib_config *config, const atomic_bool *doomed,
                                              struct trib_host **host, char *error);
/* Nobody can still need this rank: its part lies in the segment. */
void trib_host_close(struct trib_host *host);
/* In the child of a fork: frees what is this process's, and tells nobody. The place among the ranks is the parent's. */
void trib_host_abandon(struct trib_host *host);

/* Begins the next operation; none is under way. Buffers are borrowed until DONE or until trib_host_advance is not
 * called any more. */
void trib_host_start(struct trib_host *host, const struct trib_operation *operation);
/* Does what can be done without waiting, at most about one chunk. */
enum trib_host_verdict trib_host_advance(struct trib_host *host);
bool trib_host_is_active(const struct trib_host *host);
/* The number of the operation under way, or of the next, from 0. */
uint64_t trib_host_number(const struct trib_host *host);
/* A number of the caller's own, for the others to read: who has ended an operation after `rank` began it finds what
 * that rank had told by then, or a later one. 0 before the first. */
void trib_host_tell(struct trib_host *host, uint64_t value);
uint64_t trib_host_told(const struct trib_host *host, uint32_t rank);
/* A number that no other run of the job has; all its ranks have the same. */
uint64_t trib_host_run(const struct trib_host *host);
/* A rank that the next step waits for. */
uint32_t trib_host_awaited(const struct trib_host *host);
/* All ranks that it waits for, as listed ranks of 16 bits: their count; at most `most` are written. */
uint32_t trib_host_missing(const struct trib_host *host, uint16_t *ranks, uint32_t most);
/* DIFFERS: who, and what it runs; its shares stay the host's. */
uint32_t trib_host_other(struct trib_host *host, struct trib_operation *operation);

uint32_t trib_host_unreadable(const struct trib_host *host);

/* Ends the communicator for all: the first to say so is heard. */
void trib_host_fail(struct trib_host *host, enum trib_status status, const char *text);
/* Whether somebody has said so. */
bool trib_host_has_failed(const struct trib_host *host);
/* FAILED: the rank that said so, and what. text: TRIB_ERROR_TEXT_MAX bytes. */
uint32_t trib_host_failure(const struct trib_host *host, enum trib_status *status, char *text);

/* Around a fork: no other thread is amid a change of what trib_shared_alloc has given. In both processes: resume. */
void trib_shared_hold(void);
void trib_shared_resume(void);

/* ---- sleeping (bells.c) ---- */

/* Descriptors to poll while this rank sleeps. Their number changes only in trib_host_answer. */
uint32_t trib_host_fds_count(const struct trib_host *host);
void trib_host_fds(const struct trib_host *host, struct pollfd *fds);
/* Takes what poll said of those descriptors. A rank that has died is written to *dead, and is named once. Returns
 * whether the set of descriptors has changed. */
bool trib_host_answer(struct trib_host *host, const struct pollfd *fds, uint32_t *dead);
#define TRIB_HOST_NOBODY UINT32_MAX
/* Before a sleep in poll: asks to be woken. False: there is something to do already. May be called again while somebody
 * sleeps. */
bool trib_host_arm(struct trib_host *host);
/* After it. */
void trib_host_disarm(struct trib_host *host);

#endif
