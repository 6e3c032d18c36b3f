/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h: a process with communicators may fork, and the child may live on without exec, as a data loader does. The
 * communicators stay the parent's: the child has them failed, without open sockets, so that all other ranks see the
 * parent's end at once.
 * Read next: fork.c. */
#ifndef TRIB_COMM_FORK_H
#define TRIB_COMM_FORK_H

/* From now on. Any thread, any number of times. */
void trib_fork_watch(void);

#endif
