/* SPDX-License-Identifier: Apache-2.0 */
/* host.h: level 0: a communicator with all ranks on this host, and the memory that the ranks share. Level 0 sends no
 * packet and knows no switch. Not here: threads, requests, time limits (comm/local.c drives level 0 as it drives
 * sockets). One thread at a time calls functions of one host: comm/endpoint.h has the lock.
 *
 * DESIGN NOTES
 * One memory file, mapped by every rank: segment.h. A memfd leaves nothing behind after a crash. The file holds a seat
 * for each rank, which only that rank writes, staging areas and result areas.
 * One socket pair for each rank: the rank keeps one end, the inbox; all other ranks hold the other end, the line. A
 * line that hangs up is a dead rank (I8). A byte on a line wakes a sleeping rank.
 *
 * Steps. Every operation has at least one step, and all ranks count the steps of all operations alike. A seat has two
 * counts that only grow:
 *   - `staged`: steps with the rank's contribution ready in memory.
 *   - `summed`: steps of which the rank has done its share and read all it needs.
 * A count is stored with release after the bytes are written, and loaded with acquire before bytes are read. Only a
 * count says that bytes are complete, so a late rank reads no old bytes, and no rank reads bytes during a write. Two
 * areas of each kind alternate by the parity of the step.
 *
 *   - small (at most TRIB_HOST_SMALL bytes; for an allgather, in the largest share): one step. A rank writes the part
 *     of the tensor that other ranks need into its small area: staged. When all have staged, each rank adds up or
 *     copies its result: summed.
 *   - large allreduce or reduce: one step for each chunk, three chunks at a time.
 *     - OUT(k-2): when all have summed k-2, a rank with a result copies the result area to the caller.
 *     - IN(k): copy the chunk into the rank's staging area, except the rank's own share, which no other rank reads:
 *       staged.
 *     - SUM(k-1): when all have staged k-1, add up the rank's own share of that chunk over all ranks, into the result
 *       area: summed.
 *   - large reduce-scatter: one step for a slice of each share. IN copies the slices of the other ranks' shares. SUM
 *     adds up the slice of the own share, directly into the caller's buffer: there is no OUT.
 *   - large allgather: the same steps. IN copies the slice of the own share, SUM copies the slices of all others.
 *   - large broadcast: the root does IN into the staging areas of all ranks in turn, up to 8 chunks ahead of the
 *     slowest rank. The other ranks copy the chunks out: summed.
 *   - barrier, and count 0: one step without bytes.
 *
 * Why no bytes are overwritten before their last reader. The staging area of step h is written again at h + 2, when all
 * have summed h: OUT of h waits for that count, and so do the first two steps of an operation.
 * The result area of h is written by SUM(h + 2), which waits until all have staged h + 2; a rank does OUT(h) before
 * IN(h + 2).
 * A broadcast's area has the parity of the step too, and is used again when all have summed its contents. After the
 * first chunk of a broadcast all ranks have come to that operation.
 * The small area of h is written at h + 2. Before that, the operation between (or that of h itself) has made this rank
 * wait until all had staged the first step. So all ranks had finished the operations before.
 *
 * The order of additions is slot.h's tree over the ranks: the result has the bits that one switch with all ranks would
 * give. In a reduce-scatter the owner of a share adds its own part last, to the rounded sum of the others, as with a
 * switch.
 *
 * Operations are compared before any byte of another rank is read (I10): a rank shows its complete operation in its
 * seat, not a digest, with its first step.
 * The caller's buffers are written only by the caller's rank, in trib_host_advance (I11). No other rank can change a
 * buffer, even after an error, or after an hour's stop.
 * The caller's buffers are read only by that rank too, except tensors in memory of trib_shared_alloc: such tensors are
 * not staged, and other ranks read the tensor in SUM (shared.c). A rank that sends from such memory ends no operation
 * before all have read.
 * A failing rank may change such a tensor while another rank still reads it. The reader then discards the result: the
 * record existed, or was being written, before the change. Every rank looks for a record after reading and before
 * writing to its caller.
 *
 * ATTACKS: what if a rank ...
 *   - dies before it has joined: its connection closes. Rank 0 tells the others and gives up. If rank 0 dies, each rank
 *     sees that itself.
 *   - dies at any later point: its line hangs up at every other rank, and each fails with an error that names the dead
 *     rank. Counts that the rank had published stand for complete bytes.
 *   - dies while it writes the record of its failure: the record stays "being written". No sum is copied out any more,
 *     and the line has hung up.
 *   - is stopped while it writes the record: no sum is copied out, and the others end with their time limits.
 *   - dies while it sleeps: `sleepers` stays too high. Others look for sleepers in vain, and the line has hung up.
 *   - is the last rank left: its inbox hangs up for good, and is closed so that an idle rank sleeps.
 *   - dies between clearing a sleeper's mark and waking the sleeper: the sleeper sees the line hang up.
 *   - is stopped: all wait, name the missing rank, and end with their time limit; the first tells the others by the
 *     record. When it continues, the stopped rank finds the record, or its own limit. It reads and writes only its own
 *     buffers and the segment.
 *   - is late: all wait. A count is the number of a step, which does not come again within 2^31 steps.
 *   - calls another operation: the seats differ, and all ranks fail naming both operations. Steps are counted alike up
 *     to there, since all operations before were equal.
 *   - calls with other sizes: the seats differ. The rank may have staged two chunks in its own areas; no other rank has
 *     read them.
 *   - closes too early: its seat says so before its line hangs up. A rank that needs it for a step fails, naming it. A
 *     rank that has all parts goes on: the memory outlives the rank.
 *   - fails while others go on: there is one record, the first. A rank that looks at the record before the next step
 *     fails too, and all are woken. A rank that had ended the operation has a correct result.
 *   - forks: descriptors are closed on exec, and in a child that never calls exec by the fork (comm/fork.c).
 *   - truncates or grows the file: not possible, the file is sealed.
 *   - belongs to another user: refused by the peer's credentials, in both directions.
 *   - writes nonsense into the segment: not defended. Ranks of one job and user trust each other's memory.
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

/* Result of trib_host_advance. */
enum trib_host_verdict {
    TRIB_HOST_IDLE = 0,   /* no operation */
    TRIB_HOST_WAITS,      /* waits for trib_host_awaited */
    TRIB_HOST_MOVED,      /* call again */
    TRIB_HOST_DONE,       /* the operation has ended; its buffers belong to the caller again */
    TRIB_HOST_DIFFERS,    /* the rank of trib_host_other runs another operation */
    TRIB_HOST_UNREADABLE, /* the memory that trib_host_unreadable offers cannot be mapped */
    TRIB_HOST_LEFT,       /* the rank of trib_host_awaited has closed and never takes this step */
    TRIB_HOST_FAILED      /* another rank has ended the communicator: see trib_host_failure */
};

/* Finds the other ranks of config->job and waits until all have joined, or until is_doomed returns true. That is called
 * at least every 50 ms, and may be NULL.
 * Returns ERR_MEMORY, ERR_SYSTEM, ERR_REFUSED, ERR_VERSION, ERR_SETTINGS, ERR_TIMEOUT, ERR_PEER, ERR_ABORTED, or the
 * status that another rank recorded; `error` (TRIB_ERROR_TEXT_MAX bytes) has the text. The caller owns *host and
 * releases it with trib_host_close. key_id: of the job's key, the same at all ranks; 0: none. */
TRIB_MUST_USE enum trib_status trib_host_open(const struct trib_config *config, uint64_t key_id,
                                              bool (*is_doomed)(void *user), void *user, struct trib_host **host,
                                              char *error);
/* This rank takes no more steps: ranks that wait for one get LEFT. No operation may be under way. */
void trib_host_leave(struct trib_host *host);
/* Leaves the communicator and frees host. Published bytes and counts stay in the segment. */
void trib_host_close(struct trib_host *host);
/* In the child of a fork: frees the child's copy without telling other ranks. The parent keeps its place among the
 * ranks. */
void trib_host_abandon(struct trib_host *host);

/* Begins the next operation. None may be active. Buffers are borrowed until DONE, or until the last call of
 * trib_host_advance. */
void trib_host_start(struct trib_host *host, const struct trib_operation *operation);
/* Does work that needs no waiting, at most about one chunk. */
enum trib_host_verdict trib_host_advance(struct trib_host *host);
bool trib_host_is_active(const struct trib_host *host);
/* Number of the active operation, or of the next one; the first is 0. */
uint64_t trib_host_number(const struct trib_host *host);
/* Publishes a number of the caller's own. After an operation has ended, trib_host_told returns the number that `rank`
 * had published before the operation began there, or a later one. 0: none yet. */
void trib_host_tell(struct trib_host *host, uint64_t value);
uint64_t trib_host_told(const struct trib_host *host, uint32_t rank);
/* Random number of this run of the job, the same on all ranks. */
uint64_t trib_host_run(const struct trib_host *host);
/* A rank that the next step waits for. */
uint32_t trib_host_awaited(const struct trib_host *host);
/* All ranks that the next step waits for: returns the count, and writes at most `most` of the ranks. */
uint32_t trib_host_missing(const struct trib_host *host, uint16_t *ranks, uint32_t most);
/* After DIFFERS: returns the other rank and writes its operation. Shares in *operation stay owned by host. */
uint32_t trib_host_other(struct trib_host *host, struct trib_operation *operation);

/* After UNREADABLE: the rank with memory that cannot be mapped. */
uint32_t trib_host_unreadable(const struct trib_host *host);

/* Ends the communicator for all ranks. Only the first failure is recorded. */
void trib_host_fail(struct trib_host *host, enum trib_status status, const char *text);
/* True if a failure is recorded. */
bool trib_host_has_failed(const struct trib_host *host);
/* After FAILED: returns the rank that failed and writes its status and text. text: TRIB_ERROR_TEXT_MAX bytes. */
uint32_t trib_host_failure(const struct trib_host *host, enum trib_status *status, char *text);

/* Around a fork: no other thread changes the list of trib_shared_alloc's allocations between hold and resume. Parent
 * and child both call resume. */
void trib_shared_hold(void);
void trib_shared_resume(void);

/* ---- sleeping (bells.c) ---- */

/* Descriptors to poll during a sleep of this rank. The count changes only in trib_host_answer. */
uint32_t trib_host_fds_count(const struct trib_host *host);
/* fds: room for trib_host_fds_count entries. */
void trib_host_fds(const struct trib_host *host, struct pollfd *fds);
/* Handles the results of poll. Writes a dead rank to *dead, each one once, or TRIB_HOST_NOBODY. Returns true if the set
 * of descriptors has changed. */
bool trib_host_answer(struct trib_host *host, const struct pollfd *fds, uint32_t *dead);
#define TRIB_HOST_NOBODY UINT32_MAX
/* Call before a sleep in poll: asks other ranks to wake this one. False: work is ready, do not sleep. May be called
 * again during a sleep of another thread. */
bool trib_host_arm(struct trib_host *host);
/* Call after the sleep. */
void trib_host_disarm(struct trib_host *host);

#endif
