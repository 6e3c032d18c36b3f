/* SPDX-License-Identifier: Apache-2.0 */
/* inherit.h: drops inherited descriptors. A child process that never calls exec holds its parent's descriptors, and so
 * keeps connections open that the parent's death should end. Read next: comm/fork.c (a user). */
#ifndef TRIB_IO_INHERIT_H
#define TRIB_IO_INHERIT_H

/* In the child of a fork: detaches fd from its file. The number stays taken, so a later close of fd closes no other
 * file. fd below 0: no effect. Async-signal-safe. */
void trib_inherit_drop(int fd);

#endif
