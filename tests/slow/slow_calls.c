/* SPDX-License-Identifier: Apache-2.0 */
/* slow_calls.c: a library to preload: now and then a thread stands still for 50 to 300 ms before a system call, or behind
 * it, or with a mutex in its hand, as it does on a busy machine. SLOW_SEED=n draws other calls; a call in SLOW_ONE_IN
 * (20) at first, and fewer the more there were, so that joins and ends are hit as often as millions of packets. Only
 * programs below BUILD_DIR are slowed, not the shell that starts them. TRIB_PATIENCE has to be higher with it: what then
 * fails has taken for granted that a thread is quick.
 * Read next: ../../tools/test_all.sh (run_slow). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static atomic_ulong calls;
static unsigned long seed, one_in;

static unsigned long number(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoul(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    char program[4096] = "";
    const char *folder = getenv("BUILD_DIR");

    if (folder != NULL && readlink("/proc/self/exe", program, sizeof program - 1) > 0 &&
        strncmp(program, folder, strlen(folder)) == 0) {
        seed = number("SLOW_SEED", 1);
        one_in = number("SLOW_ONE_IN", 20);
    }
}

/* SplitMix64's steps. */
static uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

/* Of two places the same call draws once. */
static void stand_still(uint64_t drawn, unsigned place)
{
    if (drawn != 0 && (drawn >> 8 & 1) == place) {
        int error = errno;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000 * (long)(50 + (drawn >> 16) % 251)}, NULL);
        errno = error;
    }
}

/* Not 0: this call is slow. */
static uint64_t draw(void)
{
    if (one_in == 0) {
        return 0;
    }
    uint64_t count = atomic_fetch_add(&calls, 1);
    uint64_t drawn = mixed((count + 1) * 0x9e3779b97f4a7c15 + mixed(seed));
    return (drawn >> 32) % (one_in + count / 8) == 0 ? drawn | 1 : 0;
}

#define SLOW(type, name, parameters, ...)              \
    type name parameters                               \
    {                                                  \
        static type(*real) parameters;                 \
        if (real == NULL) {                            \
            *(void **)&real = dlsym(RTLD_NEXT, #name); \
        }                                              \
        uint64_t drawn = draw();                       \
        stand_still(drawn, 0);                         \
        type result = real(__VA_ARGS__);               \
        stand_still(drawn, 1);                         \
        return result;                                 \
    }

SLOW(int, poll, (struct pollfd * fds, nfds_t count, int ms), fds, count, ms)
SLOW(int, ppoll, (struct pollfd * fds, nfds_t count, const struct timespec *time, const sigset_t *set), fds, count,
     time, set)
SLOW(int, epoll_wait, (int fd, struct epoll_event *events, int most, int ms), fd, events, most, ms)
SLOW(int, accept4, (int fd, struct sockaddr *address, socklen_t *len, int flags), fd, address, len, flags)
SLOW(int, connect, (int fd, const struct sockaddr *address, socklen_t len), fd, address, len)
SLOW(ssize_t, recv, (int fd, void *data, size_t len, int flags), fd, data, len, flags)
SLOW(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), fd, message, flags)
SLOW(ssize_t, send, (int fd, const void *data, size_t len, int flags), fd, data, len, flags)
SLOW(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), fd, message, flags)
SLOW(ssize_t, read, (int fd, void *data, size_t len), fd, data, len)
SLOW(ssize_t, write, (int fd, const void *data, size_t len), fd, data, len)
SLOW(int, pthread_mutex_lock, (pthread_mutex_t * mutex), mutex)
