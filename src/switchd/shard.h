/* SPDX-License-Identifier: Apache-2.0 */
/* shard.h: one part of the data plane, which a thread of its own drives, or its owner: a UDP socket, and the switch
 * nodes of all communicators whose fragments are dealt to it. It maps addresses to children and parents, places to
 * addresses, and hands packets between the nodes of one communicator over itself; what a packet means is the node's
 * business.
 *
 * The thread holds the shard's lock while it works through a batch, never while it sleeps. Whoever else wants the nodes
 * takes the lock by trib_shard_enter and gives it back by trib_shard_leave, which also wakes the thread so that it
 * sends what the nodes have to send, or by trib_shard_leave_unchanged. A gate in front of the lock lets a waiter in
 * after the batch under way, however busy the shard is. An owner with a loop of its own never
 * starts the thread: the loop polls the descriptors of trib_shard_fds and calls trib_shard_work (comm/own_root.c).
 * Read next: members.h (sources and nodes), shard.c (the loop), plane.c (the other threads' side). */
#ifndef TRIB_SWITCHD_SHARD_H
#define TRIB_SWITCHD_SHARD_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/spin.h"
#include "net/port.h"
#include "switchd/members.h"
#include "switchd/rows.h"

/* Buffers read before results are sent: more makes longer trains, less makes shorter waits. */
#define TRIB_SHARD_BATCH 16
/* Mismatches reported after one batch; more wait in their nodes. */
#define TRIB_SHARD_MISMATCHES 8

/* Two ranks that run other operations on a sequence; of a child that is a switch, its lowest rank. */
struct trib_mismatch {
    uint32_t communicator;
    uint32_t rank[2];
    uint64_t sequence;
};

/* Whom a shard tells of a mismatch, from its thread, without its lock. */
struct trib_shard_listener {
    void *owner;
    void (*mismatch)(void *owner, const struct trib_mismatch *mismatch);
};

struct trib_shard {
    /* the thread's, or under the lock */
    struct trib_port *port;
    struct trib_members members;
    struct trib_rows rows;             /* of its combiners */
    uint64_t dropped[TRIB_DROP_COUNT]; /* before a node was found */
    uint64_t paths;                    /* path probes answered */
    uint64_t flushes;                  /* times that all trains were sent: payloads lent before are free again */
    struct trib_mismatch mismatch[TRIB_SHARD_MISMATCHES];
    uint32_t mismatch_count;
    struct trib_spin spin;
    uint32_t room;    /* bytes that its socket surely holds */
    bool has_caps;    /* some communicator */
    uint64_t caps_ns; /* when to divide it anew; TRIB_NEVER: nobody has caps, or all are silent */
    uint32_t backlog; /* for communicators whose windows follow congestion (trib_port_set_backlog) */
    uint64_t wake_ns; /* the earliest timeout */
    struct trib_shard_listener listener;
    /* between threads */
    pthread_mutex_t gate, lock;
    pthread_t thread;
    bool is_running;
    atomic_bool stop;
    int kick_fd;
};

/* Opens the socket; no thread runs yet. */
TRIB_MUST_USE enum trib_status trib_shard_open(struct trib_shard *shard, const struct trib_port_config *config,
                                               char *error);
TRIB_MUST_USE enum trib_status trib_shard_start(struct trib_shard *shard, const struct trib_shard_listener *listener,
                                                char *error);
/* Driven by its owner: whom to tell, from trib_shard_work. */
void trib_shard_listen(struct trib_shard *shard, const struct trib_shard_listener *listener);
/* One round: takes in what has come, wakes nodes, sends, reports. True: the next should follow without sleeping; else
 * *wake_ns says when to call it again although nothing has come. */
bool trib_shard_work(struct trib_shard *shard, uint64_t *wake_ns);
/* What to poll for input: the socket, and what trib_shard_leave writes to; trib_shard_calm takes the latter's news. */
#define TRIB_SHARD_FDS 2
void trib_shard_fds(const struct trib_shard *shard, int fds[TRIB_SHARD_FDS]);
void trib_shard_calm(const struct trib_shard *shard);
/* Ends the thread: nothing is reported any more. */
void trib_shard_stop(struct trib_shard *shard);
/* Ends the thread and closes everything; also for a shard that trib_shard_open has only begun or that was never
 * started. */
void trib_shard_close(struct trib_shard *shard);

void trib_shard_enter(struct trib_shard *shard);
void trib_shard_leave(struct trib_shard *shard);
/* After reading alone: no verb was called that a node may have something to send or to report from, and nothing was
 * sent. Wakes nobody. */
void trib_shard_leave_unchanged(struct trib_shard *shard);
/* Under the lock: a communicator has come or is gone. The others may have more in flight then, or less; and packets say
 * how long the queue is while somebody's windows follow that. */
void trib_shard_settle(struct trib_shard *shard);
/* Under the lock: sends a TRIB_PATH packet of full size for this member to a group. `to` must stand until
 * trib_shard_leave. */
void trib_shard_probe_group(struct trib_shard *shard, const struct trib_member *member, const struct trib_address *to);
/* And to the parent: a header until that has proved its address. */
void trib_shard_probe_parent(struct trib_shard *shard, const struct trib_member *member);

#endif
