/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h: a process with communicators may fork, and its child may live on without exec, as those of data loaders do.
 * The communicators stay the parent's: in the child they have failed, and none of their sockets is open there, so that
 * the parent's end is seen at once by all others. Read next: fork.c. */
#ifndef TRIB_COMM_FORK_H
#define TRIB_COMM_FORK_H

/* From now on. Any thread, any number of times. */
void trib_fork_watch(void);

#endif
