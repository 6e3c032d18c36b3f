/* SPDX-License-Identifier: Apache-2.0 */
/* wake.h: wakes the threads of an endpoint, and marks the communicators that its loop must look at. Locked.
 * Read next: drive.c (the loop). */
#ifndef TRIB_COMM_WAKE_H
#define TRIB_COMM_WAKE_H

#include "comm/state.h"

/* Wakes the poller of this set. */
void trib_endpoint_kick(const struct trib_pollset *set);
/* Wakes the waiting threads, after their flags were set. */
void trib_endpoint_wake(struct trib_endpoint *endpoint);
/* Data sockets have come or gone: pollers rebuild their sets. */
void trib_endpoint_changed(struct trib_endpoint *endpoint);
/* Puts comm into the list that the loop goes through: comm has something to do, a deadline, or a multicast group. */
void trib_endpoint_awaken(struct trib_comm *comm);
/* The loop settles comm in its next round. */
void trib_comm_make_dirty(struct trib_comm *comm);

#endif
