/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h: a process with communicators may fork, and the child may live on without exec, as a data loader does. The
 * communicators stay the parent's: the child has them failed, without open sockets, so that all other ranks see the
 * parent's end at once.
 * Read next: fork.c. */
#ifndef TRIB_COMM_FORK_H
#define TRIB_COMM_FORK_H

#include <stdbool.h>

/* From now on. Any thread, any number of times. False: out of memory. A child would then send as its parent, and with a
 * key repeat the parent's nonces, so the process must have no communicator. */
bool trib_fork_watch(void);

#endif
