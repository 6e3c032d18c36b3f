/* SPDX-License-Identifier: Apache-2.0 */
#include "control/words/silence.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "io/clock.h"

#define LEAST_MS 1000
#define MOST_MS 3600000
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44 /* since Linux 6.15 */
#endif
#define RETRY_MS 1000
/* Probes of an idle session that the kernel sends within the allowed silence. */
#define ASKS 12
/* An idle session ends at the first question after TCP_USER_TIMEOUT since the last sign of the peer. That sign may be
 * one gap older than the silence. If the silence is short, one lost question must not end the session. */
#define LEAST_GAPS 3

static void set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value); /* each only makes waits shorter */
}

void trib_session_bound_silence(int fd, uint64_t silence_ns)
{
    uint64_t wanted_ms = silence_ns / TRIB_MILLISECOND_NS;
    int silence_ms = wanted_ms < LEAST_MS ? LEAST_MS : wanted_ms > MOST_MS ? MOST_MS : (int)wanted_ms;
    int gap_s = silence_ms < 1000 * ASKS ? 1 : silence_ms / (1000 * ASKS);
    int gap_ms = 1000 * gap_s;
    int limit_ms = silence_ms + gap_ms > LEAST_GAPS * gap_ms ? silence_ms + gap_ms : LEAST_GAPS * gap_ms;

    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    /* Nothing is under way: the kernel asks. */
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, gap_s);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, gap_s);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, limit_ms / gap_ms); /* of a kernel without TCP_USER_TIMEOUT */
    /* Bytes are unacknowledged. The kernel checks the silence only at a retransmission, so the gaps must not grow as
     * usual. After a link comes back, the bytes also arrive sooner. */
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, limit_ms);
    set_option(fd, IPPROTO_TCP, TCP_RTO_MAX_MS, RETRY_MS);
}
