/* SPDX-License-Identifier: Apache-2.0 */
/* inherit.h: a child process that never calls exec has its parent's descriptors, and would keep connections open that
 * the parent's death should end. Read next: comm/fork.c (who asks). */
#ifndef TRIB_IO_INHERIT_H
#define TRIB_IO_INHERIT_H

/* In the child of a fork: fd stands for nothing any more. The number stays taken, so that a later close of fd
 * closes nothing else. fd below 0: nothing. Async-signal-safe. */
void trib_inherit_drop(int fd);

#endif
