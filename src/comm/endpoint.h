/* SPDX-License-Identifier: Apache-2.0 */
/* endpoint.h: a process's place at one switch: the UDP sockets, one lock, and the threads that drive them.
 * Communicators of the process with the same switch and the same socket settings share one endpoint, which ends with
 * the last of them. Communicators with all ranks on this host share one without sockets. Where no switch is named, a
 * process has one data socket for all roots, which are other ranks' processes, and a root of its own that the same loop
 * drives (own_root.h).
 *
 * DESIGN NOTES
 * - One mutex protects an endpoint and its communicators; nodes are one-thread objects. The mutex is released only in
 *   poll(2) and while a thread waits for another.
 * - The waiting thread runs the loop: the first thread in trib_endpoint_wait becomes the leader, receives and sends for
 *   all, and polls. Others sleep on a condition until their flag is set or the leader leaves. To hand packets to a
 *   progress thread instead costs two context switches per operation.
 * - The progress thread drives only if no thread waits and none has for QUIET_NS, so back-to-back blocking calls
 *   neither wake it nor are woken by it. Else it is parked.
 * - A poll set belongs to its poller, and is rebuilt when `generation` changes. If it changes during a poll, the
 *   answers are ignored: descriptors are level-triggered, so no event is lost.
 * - Of hundreds of communicators a few are busy. Work for every packet, or before every sleep, visits only
 *   communicators with work or a deadline (`awake`), finds a packet's communicator by its id (`table`), and polls all
 *   sessions by one epoll descriptor.
 * - Each poller has an eventfd: of a shared one the other poller would eat the wake-up. It is written only when a
 *   poller sleeps and has to know.
 * Communicators whose faults, dscp, backlog, trains, payload, spin or progress settings differ get endpoints of their
 * own, and so do two ranks of one job in one process: the switch tells ranks apart by address.
 *
 * Lock order: the registry's lock, then the endpoint's. "Locked" below: the caller holds the endpoint's lock.
 * Read next: drive.c (the loop), state.h (the data). */
#ifndef TRIB_COMM_ENDPOINT_H
#define TRIB_COMM_ENDPOINT_H

#include "comm/state.h"

/* Finds or opens the endpoint for config and adds comm to it. address: NULL for a communicator on one host. body: its
 * progress thread's, if it has one. error as in comm.h. Returns ERR_SYSTEM, ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_endpoint_acquire(const struct trib_address *address, struct trib_comm *comm,
                                                     void *(*body)(void *), char *error);
/* Adds comm to the endpoint, which then lives at least as long as comm. comm goes to the place of maker; NULL: to that
 * of the endpoint. Not locked. */
void trib_endpoint_share(struct trib_endpoint *endpoint, struct trib_comm *comm, const struct trib_comm *maker);
/* Takes comm out; the endpoint ends with its last communicator. Not locked. */
void trib_endpoint_release(struct trib_endpoint *endpoint, struct trib_comm *comm);

/* A driver holds the lock as long as data flows, and mutexes are not fair: it looks at `wanting` and steps aside. */
static inline void trib_endpoint_lock(struct trib_endpoint *endpoint)
{
    if (pthread_mutex_trylock(&endpoint->lock) != 0) {
        (void)atomic_fetch_add_explicit(&endpoint->wanting, 1, memory_order_relaxed);
        (void)pthread_mutex_lock(&endpoint->lock);
        (void)atomic_fetch_sub_explicit(&endpoint->wanting, 1, memory_order_relaxed);
    }
}

static inline void trib_endpoint_unlock(struct trib_endpoint *endpoint)
{
    (void)pthread_mutex_unlock(&endpoint->lock);
}

/* A request may be collected after its communicator and endpoint are gone: then only the lock of the endpoint is
 * left, until the last request is collected. hold: locked; drop: not locked. */
void trib_endpoint_hold(struct trib_endpoint *endpoint);
void trib_endpoint_drop(struct trib_endpoint *endpoint);

/* Opens the unconnected sockets, if they are not open: at the network cards that were named, else at the address
 * that leads to `where`. own: the config whose faults they have. error as in comm.h. Locked, or of a new endpoint.
 * Returns ERR_UNREACHABLE, ERR_SYSTEM, ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_endpoint_widen(struct trib_endpoint *endpoint, const struct trib_where *where,
                                                   const struct trib_config *own, char *error);
/* The same, and opens the root of this process. */
TRIB_MUST_USE enum trib_status trib_endpoint_be_root(struct trib_endpoint *endpoint, const struct trib_where *where,
                                                     const struct trib_config *own, char *error);
/* The largest window of a communicator has changed. Locked. */
void trib_endpoint_find_window(struct trib_endpoint *endpoint);
/* Fills *where. */
void trib_where_init(struct trib_where *where, const struct trib_address *address, bool no_box);
/* Sets whether the sockets report long queues: they do while some communicator's windows follow congestion. Locked. */
void trib_endpoint_find_backlog(struct trib_endpoint *endpoint);
/* Connects the sockets to the shards of comm's switch (comm->roots), and closes sockets that no communicator can
 * use. Locked. Returns ERR_SYSTEM, ERR_REFUSED. */
TRIB_MUST_USE enum trib_status trib_endpoint_connect(struct trib_comm *comm, char *error);
/* Address that packets to a shard of the switch leave from; port 0. */
struct trib_address trib_endpoint_local(const struct trib_endpoint *endpoint, uint32_t shard);

/* comm has a grant: packets find comm by its id. Locked. */
void trib_endpoint_enter(struct trib_endpoint *endpoint, struct trib_comm *comm);
/* Watches the descriptor of comm's session with the new interest. Locked. False: the descriptor cannot be watched. */
TRIB_MUST_USE bool trib_endpoint_watch(struct trib_comm *comm);

/* System calls and injected faults of all its sockets. Locked. */
void trib_endpoint_traffic(const struct trib_endpoint *endpoint, struct trib_port_stats *sum);
/* A socket to which packets of comm no longer come (trib_port_has_address). NULL: there is none. Locked. */
const struct trib_port *trib_endpoint_find_taken(const struct trib_comm *comm);

/* Closes a socket of the endpoint or of a communicator, and keeps the socket's counts. Locked. */
void trib_endpoint_close_channel(struct trib_endpoint *endpoint, struct trib_channel *channel);

/* For fork.c: takes all locks; gives them back; in the child of the fork: every communicator has failed, and has no
 * descriptor. */
void trib_endpoints_hold(void);
void trib_endpoints_resume(void);
void trib_endpoints_abandon(void);

#endif
