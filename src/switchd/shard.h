/* SPDX-License-Identifier: Apache-2.0 */
/* shard.h: one part of the data plane, driven by a thread of its own or by its owner. A shard is a UDP socket and the
 * switch nodes of all communicators that have fragments there. It maps addresses to children and parents, and places to
 * addresses. It hands packets between the nodes of one communicator itself; only nodes interpret packets.
 *
 * The thread holds the shard's lock during a batch, never during a sleep. Other threads take the lock with
 * trib_shard_enter to use the nodes. trib_shard_leave releases the lock and wakes the thread to send the nodes'
 * packets; trib_shard_leave_unchanged only releases the lock. A gate in front of the lock admits a waiter after the
 * current batch, however busy the shard is.
 * An owner with a loop of its own never starts the thread: the loop polls the descriptors of trib_shard_fds and calls
 * trib_shard_work (comm/own_root.c).
 * Read next: members.h (sources and nodes), shard.c (the loop), plane.c (the side of other threads). */
#ifndef TRIB_SWITCHD_SHARD_H
#define TRIB_SWITCHD_SHARD_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/nap.h"
#include "io/spin.h"
#include "net/port.h"
#include "switchd/members.h"
#include "switchd/rows.h"

/* Buffers read before results are sent: more buffers make longer trains, fewer make shorter waits. */
#define TRIB_SHARD_BATCH 16
/* No nap for so long after a packet that needs a prompt answer: small operations, ends, losses. */
#define TRIB_SHARD_PROMPT_NS (2 * TRIB_NAP_MOST_NS)
/* Nor after packets of two communicators: neither pays for naps of the other. */
#define TRIB_SHARD_SHARED_NS (100 * TRIB_NAP_MOST_NS)
/* Most mismatches reported after one batch; the rest wait in their nodes. */
#define TRIB_SHARD_MISMATCHES 8

/* Two ranks that run different operations on a sequence. For a child that is a switch: its lowest rank. */
struct trib_mismatch {
    uint32_t communicator;
    uint32_t rank[2];
    uint64_t sequence;
};

/* Callback for mismatches, from the shard's thread, without its lock. */
struct trib_shard_listener {
    void *owner;
    void (*mismatch)(void *owner, const struct trib_mismatch *mismatch);
};

struct trib_shard {
    /* Used by the shard's thread, or by the holder of the lock. */
    struct trib_port *port;
    struct trib_members members;
    struct trib_rows rows;             /* of the shard's combiners */
    uint64_t dropped[TRIB_DROP_COUNT]; /* before a node was found */
    uint64_t paths;                    /* path probes answered */
    /* times that all trains were sent: payloads lent before are no longer borrowed */
    uint64_t flushes;
    struct trib_mismatch mismatch[TRIB_SHARD_MISMATCHES];
    uint32_t mismatch_count;
    struct trib_spin spin;       /* where prompt answers are needed; */
    struct trib_spin train_spin; /* elsewhere */
    struct trib_nap nap;
    uint64_t awaited;   /* packets of the members of the last drain that are on the way; 0: unknown */
    uint64_t prompt_ns; /* when a packet came that needs a prompt answer */
    uint64_t shared_ns; /* when a packet came of another communicator than the packet before */
    uint32_t heard;     /* communicator of the last packet */
    uint32_t room;      /* guaranteed payload bytes in the socket's receive buffer */
    bool has_caps;      /* a communicator has caps */
    uint64_t caps_ns;   /* next division of `room`; TRIB_NEVER: no communicator has caps, or all are silent */
    uint32_t backlog;   /* bytes, for communicators with windows that follow congestion (trib_port_set_backlog) */
    uint64_t wake_ns;   /* the earliest timeout */
    struct trib_shard_listener listener;
    /* Between threads. */
    pthread_mutex_t gate, lock;
    pthread_t thread;
    bool is_running;
    atomic_bool stop;
    int kick_fd;
};

/* Opens the socket. No thread runs yet. Returns ERR_SYSTEM, ERR_MEMORY; close the shard also after a failure. */
TRIB_MUST_USE enum trib_status trib_shard_open(struct trib_shard *shard, const struct trib_port_config *config,
                                               char *error);
/* Starts the thread; *listener is copied. Returns ERR_SYSTEM with the cause in error. */
TRIB_MUST_USE enum trib_status trib_shard_start(struct trib_shard *shard, const struct trib_shard_listener *listener,
                                                char *error);
/* Sets the listener of a shard driven by its owner; trib_shard_work calls the listener. */
void trib_shard_listen(struct trib_shard *shard, const struct trib_shard_listener *listener);
/* One round: receives packets, wakes nodes, sends, reports. True: call again without sleeping. False: call again at
 * *wake_ns, or when a descriptor is readable. */
bool trib_shard_work(struct trib_shard *shard, uint64_t *wake_ns);
/* Called before a sleep. Returns how long packets may gather, ns (io/nap.h): a rank with more to send keeps its window
 * full meanwhile. 0: the first packet ends the sleep. */
uint64_t trib_shard_nap(struct trib_shard *shard, uint64_t now_ns);
/* Descriptors to poll for input: the socket, and an eventfd that trib_shard_leave writes. trib_shard_calm empties the
 * eventfd. */
#define TRIB_SHARD_FDS 2
void trib_shard_fds(const struct trib_shard *shard, int fds[TRIB_SHARD_FDS]);
void trib_shard_calm(const struct trib_shard *shard);
/* Ends the thread. After that the listener is not called. */
void trib_shard_stop(struct trib_shard *shard);
/* Ends the thread and closes the shard, including a shard that trib_shard_open has failed on or that was never
 * started. */
void trib_shard_close(struct trib_shard *shard);

void trib_shard_enter(struct trib_shard *shard);
void trib_shard_leave(struct trib_shard *shard);
/* After reading alone. The caller has called no verb that makes a node send or report, and has sent no packet. Wakes no
 * thread. */
void trib_shard_leave_unchanged(struct trib_shard *shard);
/* Under the lock, after a communicator was added or removed: caps are divided anew, and packets report queue length
 * while a communicator's windows follow congestion. */
void trib_shard_settle(struct trib_shard *shard);
/* Under the lock: sends a TRIB_PATH packet of full size for this member to a group. `to` must stay valid until
 * trib_shard_leave. */
void trib_shard_probe_group(struct trib_shard *shard, const struct trib_member *member, const struct trib_address *to);
/* Sends a TRIB_PATH packet to the parent: a header only, until the parent has proved its address. */
void trib_shard_probe_parent(struct trib_shard *shard, const struct trib_member *member);

#endif
