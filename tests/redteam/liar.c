/* SPDX-License-Identifier: Apache-2.0 */
/* liar.c: an outsider on the link of a job with a key, for tests/integration/redteam.net.sh, as root of a namespace. It
 * hears all packets of the job, has no key, and may send whatever it wants, from whatever address. None of what it
 * sends may be taken. It shares no code with the library. Read next: lies.c (what it sends).
 *
 *   liar DEVICE COUNT SEED RATE [OLD [NEW [NOBODY]]]
 *
 * Listens until it has heard enough, then sends COUNT lies of all kinds, RATE a second at most (0: no limit), and goes on
 * to listen, so that what is repeated is new. OLD: a file with packets of an earlier incarnation of the job. NEW: where
 * to write those that were heard. NOBODY: a port without a socket, to which all lies go instead: they cost the job the
 * CPU of their sender and of the network, and none of its own. Prints how many lies of which kind were sent. Exit
 * status 1: it hears nothing. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "redteam/lies.h"

#define HEAR_AT_ONCE 4
#define SEND_AT_ONCE 64
#define ENOUGH 256 /* packets heard before the first lie */
#define HEAR_MS 10000
#define TRAIN_MAX 65536
#define MANY_NS UINT64_C(1000000000)
#define PAUSE_NS 1000000

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * MANY_NS + (uint64_t)now.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "liar: %s: %s\n", what, strerror(errno));
    exit(2);
}

static int open_link(const char *device)
{
    int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP));
    int one = 1;
    int room = 1 << 20; /* what is heard is to be new */
    struct sockaddr_ll place = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = (int)if_nametoindex(device)};
    struct packet_mreq all = {.mr_ifindex = place.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
    if (fd < 0 || place.sll_ifindex == 0 ||
        bind(fd, (const struct sockaddr *)(const void *)&place, sizeof place) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0) {
        fail(device);
    }
    (void)setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
    (void)setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    return fd;
}

/* Up to HEAR_AT_ONCE frames, each a packet or a train of them. */
static void hear(int fd, struct team *team)
{
    static uint8_t frame[TRAIN_MAX];
    for (unsigned i = 0; i < HEAR_AT_ONCE; i++) {
        ssize_t got = recv(fd, frame, sizeof frame, MSG_DONTWAIT | MSG_TRUNC);
        if (got < 0) {
            return;
        }
        if ((size_t)got <= sizeof frame) {
            team_hear(team, frame, (size_t)got);
        }
    }
}

static bool hear_enough(int fd, struct team *team)
{
    uint64_t until_ns = now_ns() + HEAR_MS * UINT64_C(1000000);
    while (team->heard < ENOUGH && now_ns() < until_ns) {
        struct pollfd listens = {.fd = fd, .events = POLLIN};
        (void)poll(&listens, 1, 100);
        hear(fd, team);
    }
    return team->heard >= ENOUGH;
}

/* Sends these; what the kernel does not take is tried again. */
static void send_all(int fd, struct draft *drafts, unsigned count)
{
    struct mmsghdr messages[SEND_AT_ONCE];
    struct iovec pieces[SEND_AT_ONCE];
    memset(messages, 0, sizeof messages);
    for (unsigned i = 0; i < count; i++) {
        pieces[i] = (struct iovec){drafts[i].frame, draft_frame(&drafts[i])};
        messages[i].msg_hdr.msg_iov = &pieces[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    for (unsigned sent = 0; sent < count;) {
        int more = sendmmsg(fd, messages + sent, count - sent, 0);
        if (more < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EINTR) {
            fail("send");
        }
        sent += more > 0 ? (unsigned)more : 0;
    }
}

static void lie(int fd, struct team *team, uint64_t count, uint64_t rate)
{
    static struct draft drafts[SEND_AT_ONCE];
    uint64_t start_ns = now_ns();
    for (uint64_t sent = 0; sent < count;) {
        unsigned some = count - sent < SEND_AT_ONCE ? (unsigned)(count - sent) : SEND_AT_ONCE;
        for (unsigned i = 0; i < some; i++) {
            team_lie(team, &drafts[i]);
        }
        send_all(fd, drafts, some);
        hear(fd, team);
        sent += some;
        while (rate != 0 && (now_ns() - start_ns) * rate < sent * MANY_NS) {
            const struct timespec pause = {.tv_nsec = PAUSE_NS};
            (void)nanosleep(&pause, NULL);
            hear(fd, team);
        }
    }
    printf("%" PRIu64 " lies in %.2f s, seed %" PRIu64 ", %" PRIu64 " packets heard, %u ways:\n", count,
           (double)(now_ns() - start_ns) / 1e9, team->seed, team->heard, team->flows);
}

int main(int argc, char **argv)
{
    static struct team team;
    if (argc < 5) {
        fprintf(stderr, "usage: liar DEVICE COUNT SEED RATE [OLD [NEW [NOBODY]]]\n");
        return 2;
    }
    team_begin(&team, strtoull(argv[3], NULL, 10));
    if (argc > 5 && argv[5][0] != '\0' && !team_load(&team, argv[5])) {
        fail(argv[5]);
    }
    team.nobody = argc > 7 ? htons((uint16_t)strtoul(argv[7], NULL, 10)) : 0;
    int fd = open_link(argv[1]);
    if (!hear_enough(fd, &team)) {
        fprintf(stderr, "liar: only %" PRIu64 " packets of the job in %d ms\n", team.heard, HEAR_MS);
        return 1;
    }
    lie(fd, &team, strtoull(argv[2], NULL, 10), strtoull(argv[4], NULL, 10));
    team_print(&team);
    if (argc > 6 && argv[6][0] != '\0' && !team_save(&team, argv[6])) {
        fail(argv[6]);
    }
    (void)close(fd);
    return 0;
}
