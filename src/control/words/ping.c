/* SPDX-License-Identifier: Apache-2.0 */
/* ping.c: see ping.h. */
#include "control/words/ping.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

/* A root without a switch answers the second STALL only, and a process may be slow for a moment. */
#define LEAST_SILENT 3

void trib_ping_init(struct trib_ping *ping, uint64_t gap_ns)
{
    *ping = (struct trib_ping){.gap_ns = gap_ns > 0 ? gap_ns : TRIB_PING_GAP_NS, .next_ns = TRIB_NEVER};
}

void trib_ping_heard(struct trib_ping *ping, uint64_t next_ns)
{
    ping->next_ns = next_ns;
    ping->silent = 0;
    ping->is_open = false;
}

void trib_ping_begin(struct trib_ping *ping, uint64_t now_ns)
{
    if (ping->next_ns == TRIB_NEVER) {
        ping->next_ns = now_ns;
    }
}

/* Bytes without an acknowledgement of the other kernel: a link is cut, or slow. */
static bool has_arrived(int fd)
{
    int left = 0;
    return fd >= 0 && ioctl(fd, SIOCOUTQ, &left) == 0 && left == 0;
}

void trib_ping_ask(struct trib_ping *ping, int fd, uint64_t now_ns, struct trib_message *message)
{
    if (!ping->is_open) {
        ping->since_ns = now_ns;
    } else if (has_arrived(fd)) {
        ping->silent++;
    }
    ping->is_open = true;
    ping->next_ns = now_ns + ping->gap_ns;
    *message = (struct trib_message){.kind = TRIB_MESSAGE_PING, .ping = {.number = ping->number++}};
}

bool trib_ping_is_silent(const struct trib_ping *ping, uint64_t limit_ns)
{
    return ping->silent >= LEAST_SILENT && ping->silent * ping->gap_ns >= limit_ns;
}
