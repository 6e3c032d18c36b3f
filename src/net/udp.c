/* SPDX-License-Identifier: Apache-2.0 */
/* udp.c: see udp.h. Receives; udp_send.c sends, socket.c makes sockets. */
#define _GNU_SOURCE
#include "net/udp.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/explain.h"
#include "io/memory.h"
#include "net/socket.h"

/* The largest datagram, and the largest buffer that UDP_GRO builds. */
#define BUFFER_SIZE 65536
/* Most attempts per call if a buffer is from another sender or an ICMP error is pending: a flood of either must not
 * keep the caller here. */
#define TRIES_MAX 16
/* The two bits of ECN in an IP header's traffic class, and both set: congestion was experienced. */
#define ECN_BITS 3
#define ECN_EXPERIENCED 3

struct udp {
    struct trib_carrier carrier;
    uint8_t *buffer;          /* BUFFER_SIZE bytes; NULL: a spare socket */
    struct trib_address from; /* sender of the bytes in `buffer` */
    struct trib_address only; /* len > 0: packets from other addresses are dropped */
    bool is_connected;
    bool receives_trains;
    bool sends_trains; /* cleared when the kernel refuses trains */
};

static struct udp *udp_of(struct trib_carrier *carrier)
{
    return (struct udp *)(void *)carrier;
}

static const struct udp *const_udp_of(const struct trib_carrier *carrier)
{
    return (const struct udp *)(const void *)carrier;
}

static enum trib_status use_udp(struct trib_carrier *carrier, const struct trib_port_config *config, char *error)
{
    struct udp *udp = udp_of(carrier);
    enum trib_status status = config->is_spare ? trib_socket_set_up(config, carrier->fd, error) : TRIB_OK;
    if (status != TRIB_OK) {
        return status;
    }
    udp->buffer = trib_memory_map(BUFFER_SIZE);
    if (udp->buffer == NULL) {
        trib_explain(error, "out of memory for a socket's buffers");
        return TRIB_ERR_MEMORY;
    }
    memset(udp->buffer, 0, BUFFER_SIZE); /* page faults now, not with the first packets */
    udp->receives_trains = config->trains && trib_socket_set_trains(carrier->fd);
    udp->sends_trains = udp->receives_trains;
    return TRIB_OK;
}

static void close_udp(struct trib_carrier *carrier)
{
    struct udp *udp = udp_of(carrier);
    if (carrier->fd >= 0) {
        (void)close(carrier->fd);
    }
    trib_memory_unmap(udp->buffer, BUFFER_SIZE);
    free(udp);
}

static enum trib_status open_udp(const struct trib_port_config *config, struct trib_carrier **carrier, char *error)
{
    struct udp *udp = calloc(1, sizeof *udp);
    if (udp == NULL) {
        trib_explain(error, "out of memory for a socket's buffers");
        return TRIB_ERR_MEMORY;
    }
    udp->carrier.operations = &trib_udp_operations;
    enum trib_status status = trib_socket_open(config, &udp->carrier.fd, &udp->carrier.local, error);
    if (status != TRIB_OK) {
        close_udp(&udp->carrier);
        return status;
    }
    udp->only = config->group.len > 0 ? config->group_source : config->peer;
    udp->is_connected = config->peer.len > 0;
    *carrier = &udp->carrier;
    return TRIB_OK;
}

static bool connect_udp(struct trib_carrier *carrier, const struct trib_address *peer)
{
    if (!trib_socket_connect(carrier->fd, peer, &carrier->local)) {
        return false;
    }
    udp_of(carrier)->is_connected = true;
    udp_of(carrier)->only = *peer; /* packets of others may have come before */
    return true;
}

static void find_limits(const struct trib_carrier *carrier, struct trib_port_limits *limits)
{
    const struct udp *udp = const_udp_of(carrier);
    limits->receive_room = trib_socket_receive_room(carrier->fd);
    limits->has_trains = udp->receives_trains && udp->sends_trains;
    limits->has_address = trib_socket_is_at(carrier->fd, &carrier->local, udp->is_connected);
}

static uint32_t find_backlog(const struct trib_carrier *carrier, const struct trib_address *to, uint64_t bits)
{
    (void)to;
    (void)bits;
    return trib_socket_backlog(carrier->fd);
}

static void send_train(struct trib_carrier *carrier, struct trib_train *train, const struct trib_address *to)
{
    trib_udp_send_train(train, carrier->fd, to, &udp_of(carrier)->sends_trains, carrier->stats);
}

/* Reads the packet size of a buffer of len bytes from UDP_GRO, len if absent, and the network's mark from the traffic
 * class. All packets of a buffer are marked or none: UDP_GRO joins only packets with equal IP headers in this
 * respect. */
static void read_ancillary(struct trib_delivery *delivery, struct msghdr *message, size_t len)
{
    delivery->segment = len;
    delivery->is_marked = false;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL; item = CMSG_NXTHDR(message, item)) {
        int value = 0;
        if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_TOS) {
            delivery->is_marked = (*CMSG_DATA(item) & ECN_BITS) == ECN_EXPERIENCED;
        } else if (item->cmsg_len >= CMSG_LEN(sizeof value)) {
            memcpy(&value, CMSG_DATA(item), sizeof value);
        }
        if (item->cmsg_level == IPPROTO_UDP && item->cmsg_type == UDP_GRO && value > 0) {
            delivery->segment = (size_t)value;
        } else if (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_TCLASS) {
            delivery->is_marked = (value & ECN_BITS) == ECN_EXPERIENCED;
        }
    }
}

/* One recvmsg; -1 with errno. */
static ssize_t read_buffer(struct udp *udp, struct trib_delivery *delivery)
{
    union {
        struct cmsghdr header;
        uint8_t bytes[2 * CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec piece = {udp->buffer, BUFFER_SIZE};
    struct msghdr message = {
        .msg_name = &udp->from.storage,
        .msg_namelen = sizeof udp->from.storage,
        .msg_iov = &piece,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    udp->carrier.stats->receive_calls++;
    ssize_t len = recvmsg(udp->carrier.fd, &message, MSG_DONTWAIT);
    if (len >= 0) {
        udp->from.len = message.msg_namelen;
        read_ancillary(delivery, &message, (size_t)len);
    }
    return len;
}

static bool is_passing(int error)
{
    return error != EAGAIN && error != EBADF && error != ENOTSOCK && error != EFAULT;
}

static bool receive_train(struct trib_carrier *carrier, uint64_t now_ns, struct trib_delivery *delivery)
{
    struct udp *udp = udp_of(carrier);
    (void)now_ns;
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        ssize_t len = read_buffer(udp, delivery);
        if (len < 0 && !is_passing(errno)) {
            return false;
        }
        if (len > 0 && (udp->only.len == 0 || trib_address_equal(&udp->from, &udp->only))) {
            delivery->bytes = udp->buffer;
            delivery->len = (size_t)len;
            delivery->from = &udp->from;
            delivery->owner = carrier;
            uint64_t packets = ((size_t)len + delivery->segment - 1) / delivery->segment;
            carrier->stats->packets_received += packets;
            carrier->stats->marked_received += delivery->is_marked ? packets : 0;
            carrier->stats->bytes_received += (size_t)len;
            return true;
        }
    }
    return false;
}

const struct trib_carrier_operations trib_udp_operations = {
    .name = "udp",
    .open = open_udp,
    .close = close_udp,
    .send = send_train,
    .receive = receive_train,
    .backlog = find_backlog,
    .connect = connect_udp,
    .use = use_udp,
    .limits = find_limits,
};
