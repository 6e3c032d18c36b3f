/* SPDX-License-Identifier: Apache-2.0 */
/* passing.c: see passing.h. */
#include "host/passing.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "io/clock.h"

union control {
    struct cmsghdr head; /* for its alignment */
    char bytes[CMSG_SPACE(TRIB_PASSING_MOST * sizeof(int))];
};

bool trib_passing_wait(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    for (;;) {
        uint64_t now = trib_clock_ns();
        uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
        struct timespec limit = {.tv_sec = (time_t)(left / TRIB_SECOND_NS), .tv_nsec = (long)(left % TRIB_SECOND_NS)};
        int ready = ppoll(&poll_fd, 1, &limit, NULL);
        if (ready > 0) {
            return true;
        }
        if (ready == 0 || errno != EINTR) {
            return false;
        }
    }
}

bool trib_passing_is_own_user(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

bool trib_pass(int fd, const struct trib_passing *message, uint64_t deadline_ns)
{
    union control control;
    struct iovec part = {.iov_base = message->data, .iov_len = message->bytes};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
    size_t fds_bytes = message->fd_count * sizeof(int);
    memset(&control, 0, sizeof control);
    if (fds_bytes > 0) {
        head.msg_control = &control;
        head.msg_controllen = CMSG_SPACE(fds_bytes);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&head);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fds_bytes);
        memcpy(CMSG_DATA(rights), message->fds, fds_bytes);
    }
    while (sendmsg(fd, &head, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        /* The kernel limits descriptors in flight between a user's processes: wait until receivers have taken
         * theirs. */
        bool is_full = errno == ETOOMANYREFS;
        if (!is_full && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        if (trib_clock_ns() >= deadline_ns) {
            errno = ETIMEDOUT;
            return false;
        }
        if (is_full) {
            (void)usleep(1000);
        } else {
            (void)trib_passing_wait(fd, POLLOUT, deadline_ns);
        }
    }
    return true;
}

void trib_passing_close(struct trib_passing *message)
{
    for (uint32_t i = 0; i < message->fd_count; i++) {
        (void)close(message->fds[i]);
    }
    message->fd_count = 0;
}

static void keep_rights(struct msghdr *head, struct trib_passing *message)
{
    for (struct cmsghdr *at = CMSG_FIRSTHDR(head); at != NULL; at = CMSG_NXTHDR(head, at)) {
        if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS) {
            size_t bytes = at->cmsg_len - CMSG_LEN(0);
            memcpy(message->fds, CMSG_DATA(at), bytes);
            message->fd_count = (uint32_t)(bytes / sizeof(int));
        }
    }
}

ssize_t trib_take_some(int fd, struct trib_passing *message)
{
    union control control;
    struct iovec part = {.iov_base = message->data, .iov_len = message->bytes};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    message->fd_count = 0;
    if (got < 0) {
        return got;
    }
    keep_rights(&head, message);
    if ((head.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        trib_passing_close(message);
        errno = (head.msg_flags & MSG_CTRUNC) != 0 ? EMFILE
                                                   : EPROTO; /* the kernel truncates descriptors when none is free */
        return -1;
    }
    return got;
}

int trib_take_passed(int fd, struct trib_passing *message)
{
    ssize_t got = trib_take_some(fd, message);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    }
    if ((size_t)got != message->bytes) {
        trib_passing_close(message);
        errno = ECONNRESET;
        return -1;
    }
    return 1;
}
