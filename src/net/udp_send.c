/* SPDX-License-Identifier: Apache-2.0 */
/* udp_send.c: see udp.h. One sendmsg with UDP_SEGMENT costs about as much as sending one packet: 24 to 50 times less
 * CPU than one call for each packet of 256 to 1472 bytes. Header and payload are joined only inside the kernel. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>

#include "net/udp.h"

#define FULL_WAIT_MS 2
#define TRIES_MAX 4 /* attempts for a failing call */

struct span {
    struct iovec *piece;
    uint32_t pieces;
    uint32_t packets;
    size_t bytes;
    size_t segment;
};

/* Ancillary data of one call: packet size of a train, source address. */
struct ancillary {
    _Alignas(struct cmsghdr) uint8_t bytes[CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(struct in6_pktinfo))];
    size_t len;
};

static void add_ancillary(struct ancillary *control, int level, int type, const void *data, size_t size)
{
    struct cmsghdr *item = (struct cmsghdr *)(void *)(control->bytes + control->len);
    item->cmsg_level = level;
    item->cmsg_type = type;
    item->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(item), data, size);
    control->len += CMSG_SPACE(size);
}

static void add_source(struct ancillary *control, const struct trib_address *to)
{
    static const uint8_t none[sizeof to->source];
    if (memcmp(to->source, none, sizeof none) == 0) {
        return;
    }
    if (to->storage.ss_family == AF_INET) {
        struct in_pktinfo from = {0};
        memcpy(&from.ipi_spec_dst, to->source, sizeof from.ipi_spec_dst);
        add_ancillary(control, IPPROTO_IP, IP_PKTINFO, &from, sizeof from);
    } else if (to->storage.ss_family == AF_INET6) {
        struct in6_pktinfo from = {0};
        memcpy(&from.ipi6_addr, to->source, sizeof from.ipi6_addr);
        add_ancillary(control, IPPROTO_IPV6, IPV6_PKTINFO, &from, sizeof from);
    }
}

static ssize_t send_once(int fd, const struct span *span, const struct trib_address *to)
{
    struct ancillary control = {0};
    struct msghdr message = {.msg_iov = span->piece, .msg_iovlen = span->pieces};
    struct sockaddr_storage name;
    if (span->packets > 1) {
        uint16_t size = (uint16_t)span->segment;
        add_ancillary(&control, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size);
    }
    if (to != NULL) {
        memcpy(&name, &to->storage, to->len);
        message.msg_name = &name;
        message.msg_namelen = to->len;
        add_source(&control, to);
    }
    if (control.len > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = control.len;
    }
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sends one span. Returns 0 or the errno. A full socket or device queue is waited for once, shortly: windows make a
 * full queue rare, and a dropped train costs a rank a timeout.
 * Most other errors come from an ICMP message, old or forged, that meets this call by chance. An error of the call
 * itself comes again. */
static int send_span(int fd, const struct span *span, const struct trib_address *to, struct trib_port_stats *stats)
{
    bool waited = false;
    unsigned tries = 1;
    for (;;) {
        stats->send_calls++;
        if (send_once(fd, span, to) >= 0) {
            stats->packets_sent += span->packets;
            stats->bytes_sent += span->bytes;
            return 0;
        }
        if ((errno == EAGAIN || errno == ENOBUFS) && !waited) {
            struct pollfd writable = {.fd = fd, .events = POLLOUT};
            waited = true;
            stats->send_waits++;
            (void)poll(&writable, 1, FULL_WAIT_MS);
        } else if (errno == EAGAIN || errno == ENOBUFS || (errno != EINTR && tries++ >= TRIES_MAX)) {
            return errno;
        }
    }
}

/* Sends every packet in its own call. True: all were sent. */
static bool send_singly(struct trib_train *train, int fd, const struct trib_address *to, struct trib_port_stats *stats)
{
    bool all = true;
    for (uint32_t at = 0; at < train->pieces;) {
        struct span span = {.piece = &train->piece[at], .packets = 1};
        while (at < train->pieces && span.bytes < train->segment) {
            span.bytes += train->piece[at++].iov_len;
            span.pieces++;
        }
        if (send_span(fd, &span, to, stats) != 0) {
            stats->send_dropped++;
            all = false;
        }
    }
    return all;
}

/* EIO: the device has no checksum offload. EINVAL, EMSGSIZE: no such option, or too large for the path; single packets
 * then find out which. */
static bool is_refusal_of_trains(int error)
{
    return error == EIO || error == EINVAL || error == EMSGSIZE || error == EOPNOTSUPP || error == ENOPROTOOPT;
}

void trib_udp_send_train(struct trib_train *train, int fd, const struct trib_address *to, bool *whole,
                         struct trib_port_stats *stats)
{
    if (!*whole || train->packets == 1) {
        (void)send_singly(train, fd, to, stats);
        return;
    }
    struct span span = {train->piece, train->pieces, train->packets, train->bytes, train->segment};
    int error = send_span(fd, &span, to, stats);
    if (error == 0) {
        return;
    }
    if (!is_refusal_of_trains(error)) {
        stats->send_dropped += train->packets;
    } else if (send_singly(train, fd, to, stats)) {
        *whole = false;
    }
}
