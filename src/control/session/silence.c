/* SPDX-License-Identifier: Apache-2.0 */
#include "control/session/silence.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "io/clock.h"

#define LEAST_MS 1000
#define MOST_MS 3600000
#define KEEPALIVE_COUNT 3
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* since Linux 6.15 */
#endif
#define RETRY_MS 1000

static void set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value); /* each only makes waits shorter */
}

static int at_least_one(int seconds)
{
    return seconds < 1 ? 1 : seconds;
}

void trib_session_bound_silence(int fd, uint64_t silence_ns)
{
    uint64_t wanted_ms = silence_ns / TRIB_MILLISECOND_NS;
    int silence_ms = wanted_ms < LEAST_MS ? LEAST_MS : wanted_ms > MOST_MS ? MOST_MS : (int)wanted_ms;

    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* Nothing is under way: it asks after a half, and three times in the other. */
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, at_least_one(silence_ms / 2000));
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, at_least_one(silence_ms / 6000));
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
    /* Something is: it is sent again, and only then does the kernel look how long the silence is, so the gaps must not
     * grow as they do by themselves. It also is there sooner when a link comes back. */
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, silence_ms);
    set_option(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, RETRY_MS);
}
