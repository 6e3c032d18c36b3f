/* SPDX-License-Identifier: Apache-2.0 */
/* socket.c: see socket.h. */
#define _GNU_SOURCE
#include "net/socket.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/assert.h"
#include "io/explain.h"

/* Divisor of getsockopt(SO_RCVBUF) for the guaranteed payload. The kernel charges a packet's whole memory, and frees
 * read memory only a quarter of the buffer at a time.
 * Measured fraction while a buffer is read and refilled (bench-udp --room, Linux 6.18, loopback), in trains of 64, of
 * 4, and as single packets:
 *   - 1408 bytes: 0.70, 0.63, 0.46.
 *   - 8192 bytes: 0.72, 0.72, 0.37.
 *   - 1024 bytes, single: 0.33. Below that, single packets fit less (256 bytes: 0.15), but few such packets are sent
 *     outside trains.
 * Drivers that spend a page on each 1500-byte packet come to 0.26. */
#define ROOM_DIVISOR 4

static int family_of(const struct trib_port_config *config)
{
    return config->local.len > 0 ? config->local.storage.ss_family : config->peer.storage.ss_family;
}

static bool set_int(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/* FORCE exceeds net.core.[rw]mem_max and needs CAP_NET_ADMIN. receive_room reports the granted size. */
static void set_buffers(int fd, uint32_t bytes)
{
    int want = bytes > (uint32_t)INT32_MAX / 2 ? INT32_MAX / 2 : (int)bytes;
    if (!set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, want)) {
        (void)set_int(fd, SOL_SOCKET, SO_RCVBUF, want);
    }
    if (!set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, want)) {
        (void)set_int(fd, SOL_SOCKET, SO_SNDBUF, want);
    }
}

uint32_t trib_socket_receive_room(int fd)
{
    int granted = 0;
    socklen_t len = sizeof granted;
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &granted, &len) != 0 || granted < 0) {
        return 0;
    }
    return (uint32_t)granted / ROOM_DIVISOR;
}

uint32_t trib_socket_backlog(int fd)
{
    int bytes = 0;
    return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? (uint32_t)bytes : 0;
}

/* Sets DSCP and ECT(0), and asks for the marks of received packets. Packets are never fragmented, as the loss of a
 * fragment would lose the packet. A packet larger than the device takes is an error.
 * DESIGN NOTE: ICMP messages about the path are ignored (PMTUDISC_PROBE, not DO). Any host can claim that a path is
 * narrow, and one such packet would stop a job for ten minutes. Packets of full size try each path before a job runs
 * (comm/paths.c). */
static bool set_marks(int fd, int family, uint32_t dscp)
{
    int tos = (int)(dscp << 2 | 2U);
    if (family == AF_INET6) {
        return set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, tos) && set_int(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) &&
               set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    }
    return set_int(fd, IPPROTO_IP, IP_TOS, tos) && set_int(fd, IPPROTO_IP, IP_RECVTOS, 1) &&
           set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
}

static struct in_addr v4_of(const struct trib_address *address)
{
    struct sockaddr_in v4;
    memcpy(&v4, &address->storage, sizeof v4);
    return v4.sin_addr;
}

/* Multicast uses the interface that owns the local address, or the routing table's choice if that address is 0.0.0.0.
 * Loop is for workers on the switch's own machine. TTL 1 keeps results on this network. */
static bool set_multicast_out(int fd, const struct trib_address *local)
{
    struct ip_mreqn request = {.imr_address = v4_of(local)};
    (void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request);
    return set_int(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1) && set_int(fd, IPPROTO_IP, IP_MULTICAST_TTL, 1);
}

static bool join(int fd, const struct trib_address *group, const struct trib_address *local)
{
    struct ip_mreqn request = {.imr_multiaddr = v4_of(group), .imr_address = v4_of(local)};
    (void)set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) == 0;
}

static bool bind_to(int fd, const struct trib_address *address)
{
    return bind(fd, (const struct sockaddr *)&address->storage, address->len) == 0;
}

static bool connect_to(int fd, const struct trib_address *address)
{
    return connect(fd, (const struct sockaddr *)&address->storage, address->len) == 0;
}

static enum trib_status fail(const char *what, const struct trib_address *address, char *error)
{
    int cause = errno;
    char text[64];
    trib_address_format(address, text);
    trib_explain(error, "cannot %s UDP %s: %s%s", what, text, trib_explain_errno(cause), trib_address_advice(cause));
    return TRIB_ERR_SYSTEM;
}

enum trib_status trib_socket_set_up(const struct trib_port_config *config, int fd, char *error)
{
    const struct trib_address *bound = config->group.len > 0 ? &config->group : &config->local;
    int family = family_of(config);
    if (!set_marks(fd, family, config->dscp)) {
        return fail("set the IP options of", bound, error);
    }
    set_buffers(fd, config->buffer);
    if (family == AF_INET && !set_multicast_out(fd, &config->local)) {
        return fail("set the multicast options of", bound, error);
    }
    return TRIB_OK;
}

static enum trib_status place(const struct trib_port_config *config, int fd, char *error)
{
    const struct trib_address *bound = config->group.len > 0 ? &config->group : &config->local;
    if (family_of(config) == AF_INET6 && !set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) {
        return fail("set the IP options of", bound, error);
    }
    if (config->group.len > 0 && !set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1)) {
        return fail("share", bound, error);
    }
    if (bound->len > 0 && !bind_to(fd, bound)) {
        return fail("bind to", bound, error);
    }
    if (config->group.len > 0 && !join(fd, &config->group, &config->local)) {
        return fail("join", bound, error);
    }
    if (config->peer.len > 0 && !connect_to(fd, &config->peer)) {
        return fail("connect to", &config->peer, error);
    }
    return TRIB_OK;
}

static bool find_local(int fd, struct trib_address *local)
{
    memset(local, 0, sizeof *local);
    local->len = sizeof local->storage;
    return getsockname(fd, (struct sockaddr *)&local->storage, &local->len) == 0;
}

bool trib_socket_connect(int fd, const struct trib_address *peer, struct trib_address *local)
{
    return connect_to(fd, peer) && find_local(fd, local);
}

bool trib_socket_is_at(int fd, const struct trib_address *local, bool was_connected)
{
    struct trib_address now;
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    return find_local(fd, &now) && trib_address_port(&now) == trib_address_port(local) &&
           (!was_connected || getpeername(fd, (struct sockaddr *)&peer, &len) == 0);
}

enum trib_status trib_socket_open(const struct trib_port_config *config, int *fd, struct trib_address *local,
                                  char *error)
{
    const struct trib_address *first = config->local.len > 0 ? &config->local : &config->peer;
    int family = family_of(config);
    *fd = -1;
    TRIB_ASSERT(!config->is_spare || (config->group.len == 0 && config->peer.len == 0));
    if (config->group.len > 0 && (family != AF_INET || config->group.storage.ss_family != AF_INET)) {
        trib_explain(error, "multicast needs IPv4 addresses");
        return TRIB_ERR_SYSTEM;
    }
    *fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0) {
        return fail("open", first, error);
    }
    enum trib_status status = config->is_spare ? TRIB_OK : trib_socket_set_up(config, *fd, error);
    if (status == TRIB_OK) {
        status = place(config, *fd, error);
    }
    if (status == TRIB_OK && !find_local(*fd, local)) {
        status = fail("name", first, error);
    }
    if (status != TRIB_OK) {
        (void)close(*fd);
        *fd = -1;
    }
    return status;
}

bool trib_socket_set_trains(int fd)
{
    int segment = 0;
    socklen_t len = sizeof segment;
    return getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, &len) == 0 && set_int(fd, IPPROTO_UDP, UDP_GRO, 1);
}
