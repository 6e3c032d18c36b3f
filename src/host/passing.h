/* SPDX-License-Identifier: Apache-2.0 */
/* passing.h: messages with descriptors between processes of one host (SCM_RIGHTS over SOCK_SEQPACKET). Read next:
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

/* Sends a message, and waits for room until deadline_ns. False with errno set (ETIMEDOUT, EPIPE...) on failure. */
bool trib_pass(int fd, const struct trib_passing *message, uint64_t deadline_ns);
/* Receives one message of exactly message->bytes bytes, without waiting. The caller owns the descriptors, which are
 * closed on exec.
 * Returns 1 for a message, 0 if none has arrived, and -1 if the other end has closed or the message is unexpected;
 * errno EMFILE: no descriptor is free. On -1 the message has no descriptors. */
int trib_take_passed(int fd, struct trib_passing *message);
/* Receives one message of at most message->bytes bytes. Returns as recv(2). */
ssize_t trib_take_some(int fd, struct trib_passing *message);
/* Closes the message's descriptors. */
void trib_passing_close(struct trib_passing *message);
/* Sleeps until fd is ready for `events` or until deadline_ns. False: fd is not ready. */
bool trib_passing_wait(int fd, short events, uint64_t deadline_ns);
/* True if the other end of the connection belongs to this user. */
bool trib_passing_is_own_user(int fd);

#endif
