/* SPDX-License-Identifier: Apache-2.0 */
/* passing.h: messages between processes of one host that carry descriptors (SCM_RIGHTS over SOCK_SEQPACKET). Read next:
 * rendezvous.c. */
#ifndef TRIB_HOST_PASSING_H
#define TRIB_HOST_PASSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define TRIB_PASSING_MOST 64 /* descriptors in one message */

struct trib_passing {
    void *data;
    size_t bytes;
    int fds[TRIB_PASSING_MOST];
    uint32_t fd_count;
};

/* Sends, and waits for room until deadline_ns. False with errno set: ETIMEDOUT, EPIPE... */
bool trib_pass(int fd, const struct trib_passing *message, uint64_t deadline_ns);
/* Takes one message of exactly `bytes` without waiting. 1: it is there, and its descriptors are the caller's, closed on
 * exec; 0: none has come yet; -1: the other end is gone or sent something else; nothing is kept. */
int trib_take_passed(int fd, struct trib_passing *message);
/* The same for messages of several kinds: their bytes, at most message->bytes, as from recv(2). */
ssize_t trib_take_some(int fd, struct trib_passing *message);
void trib_passing_close(struct trib_passing *message);
/* Sleeps until fd is ready for `events` or deadline_ns; false: it is not. */
bool trib_passing_wait(int fd, short events, uint64_t deadline_ns);
/* The other end of a connection belongs to this user. */
bool trib_passing_is_own_user(int fd);

#endif
