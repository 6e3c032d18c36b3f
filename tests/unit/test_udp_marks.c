/* SPDX-License-Identifier: Apache-2.0 */
/* test_udp_marks.c: what IP headers say of congestion, over real sockets on loopback: what we send (DSCP, ECN), what we
 * hear (CE becomes TRIB_FLAG_ECN), and the flag that a socket sets by itself when its own queue is long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/node.h"
#include "io/clock.h"
#include "net/port.h"
#include "net/resolve.h"
#include "patience.h"

#define PACKETS 40
#define LEN 1344
#define TOS_ECT 2
#define TOS_CE 3
#define DSCP 56

static const uint8_t payload[LEN];

static struct trib_port *open_at(const char *local, const struct trib_faults *faults, bool trains)
{
    struct trib_port_config config = {.payload = LEN, .buffer = 4 << 20, .dscp = DSCP, .trains = trains};
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_port *udp = NULL;
    if (faults != NULL) {
        config.faults = *faults;
    }
    assert_int_equal(trib_address_parse(local, 0, &config.local, NULL), TRIB_OK);
    if (trib_port_open(&config, &udp, error) != TRIB_OK) {
        fail_msg("%s", error);
    }
    return udp;
}

static bool has_ipv6(void)
{
    struct trib_address six;
    assert_int_equal(trib_address_parse("[::1]:0", 0, &six, NULL), TRIB_OK);
    int probe = socket(AF_INET6, SOCK_DGRAM, 0);
    bool have = probe >= 0 && bind(probe, (const struct sockaddr *)&six.storage, six.len) == 0;
    if (probe >= 0) {
        (void)close(probe);
    }
    return have;
}

/* As a router on the way would: the whole traffic class of what this socket sends from now on. */
static void set_class(const struct trib_port *udp, int value)
{
    struct trib_address local;
    trib_port_local(udp, &local);
    bool is_six = local.storage.ss_family == AF_INET6;
    assert_int_equal(setsockopt(trib_port_fd(udp), is_six ? IPPROTO_IPV6 : IPPROTO_IP, is_six ? IPV6_TCLASS : IP_TOS,
                                &value, sizeof value),
                     0);
}

static void send_numbers(struct trib_port *udp, const struct trib_address *to, uint32_t count, uint64_t first)
{
    for (uint32_t i = 0; i < PACKETS; i++) {
        const struct trib_packet packet = {.sequence = first + i,
                                           .mark = first + i,
                                           .communicator = 7,
                                           .kind = TRIB_CONTRIBUTION,
                                           .type = TRIB_FLOAT32,
                                           .reduction = TRIB_SUM,
                                           .payload_len = LEN,
                                           .payload = payload};
        trib_port_send(udp, &packet, to, trib_all_children(count));
    }
    trib_port_flush(udp);
}

struct heard {
    uint32_t packets;
    uint32_t flagged; /* with TRIB_FLAG_ECN */
    uint32_t wrong;   /* the flag is there and the sequence is not in a marked hundred, or the other way round */
};

/* Takes in all that comes until nothing has for 200 ms. Of test sequences those with an odd hundred were sent
 * marked. */
static struct heard hear(struct trib_port *udp)
{
    struct heard heard = {0};
    struct pollfd readable = {.fd = trib_port_fd(udp), .events = POLLIN};
    struct trib_arrival arrival;
    while (poll(&readable, 1, 200) == 1 || trib_port_deadline(udp) <= trib_clock_ns()) {
        while (trib_port_receive(udp, trib_clock_ns())) {
            while (trib_port_next(udp, &arrival)) {
                struct trib_packet packet;
                assert_int_equal(trib_port_decode(&arrival, &packet), TRIB_DROP_NONE);
                bool is_flagged = (packet.flags & TRIB_FLAG_ECN) != 0;
                heard.packets++;
                heard.flagged += is_flagged;
                heard.wrong += is_flagged != (packet.sequence / 100 % 2 == 1);
            }
        }
    }
    return heard;
}

static void check_marks(const char *local, bool trains)
{
    struct trib_port *sender = open_at(local, NULL, trains);
    struct trib_port *receiver = open_at(local, NULL, trains);
    struct trib_address to;
    trib_port_local(receiver, &to);
    for (uint64_t hundred = 0; hundred < 4; hundred++) {
        set_class(sender, hundred % 2 == 1 ? TOS_CE : TOS_ECT);
        send_numbers(sender, &to, 1, 100 * hundred);
    }
    struct heard heard = hear(receiver);
    assert_int_equal(heard.packets, 4 * PACKETS);
    assert_int_equal(heard.flagged, 2 * PACKETS);
    assert_int_equal(heard.wrong, 0);
    assert_int_equal(trib_port_stats(receiver)->marked_received, 2 * PACKETS);
    assert_int_equal(trib_port_stats(sender)->flagged_sent, 0);
    trib_port_close(sender);
    trib_port_close(receiver);
}

static void receive__marks_become_flags(void **state)
{
    (void)state;
    check_marks("127.0.0.1:0", true);
    check_marks("127.0.0.1:0", false);
}

static void receive__marks_become_flags_over_ipv6(void **state)
{
    (void)state;
    if (!has_ipv6()) {
        skip();
    }
    check_marks("[::1]:0", true);
    check_marks("[::1]:0", false);
}

/* A packet that is held back keeps its own mark, whatever comes in between. */
static void receive__held_packets_keep_their_marks(void **state)
{
    (void)state;
    const struct trib_faults faults = {.duplicate = 0.3, .reorder = 0.5, .seed = 3};
    struct trib_port *sender = open_at("127.0.0.1:0", NULL, true);
    struct trib_port *receiver = open_at("127.0.0.1:0", &faults, true);
    struct trib_address to;
    trib_port_local(receiver, &to);
    for (uint64_t hundred = 0; hundred < 4; hundred++) {
        set_class(sender, hundred % 2 == 1 ? TOS_CE : TOS_ECT);
        send_numbers(sender, &to, 1, 100 * hundred);
    }
    struct heard heard = hear(receiver);
    const struct trib_port_stats *stats = trib_port_stats(receiver);
    assert_int_equal(heard.packets, 4 * PACKETS + stats->injected_duplicate);
    assert_in_range(stats->injected_reorder, PACKETS, 4 * PACKETS);
    assert_int_equal(heard.wrong, 0);
    trib_port_close(sender);
    trib_port_close(receiver);
}

/* The traffic class of one datagram at fd. */
static int class_of_next(int fd, int family)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    union {
        struct cmsghdr header;
        uint8_t bytes[256];
    } control;
    uint8_t data[2048];
    struct iovec piece = {data, sizeof data};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    assert_int_equal(poll(&readable, 1, 2000 * (int)patience()), 1);
    assert_true(recvmsg(fd, &message, 0) > 0);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
        int value = 0;
        if (family == AF_INET && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            return *CMSG_DATA(c);
        }
        if (family == AF_INET6 && c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            memcpy(&value, CMSG_DATA(c), sizeof value);
            return value;
        }
    }
    return -1;
}

/* What we send has our DSCP and says that we understand marks, ECT(0): of a train every packet. */
static void check_class(const char *local, int family)
{
    struct trib_port *sender = open_at(local, NULL, true);
    struct trib_port *receiver = open_at(local, NULL, false); /* the kernel cuts trains up for it */
    struct trib_address to;
    trib_port_local(receiver, &to);
    send_numbers(sender, &to, 1, 0);
    assert_int_equal(trib_port_stats(sender)->send_calls, 1);
    for (uint32_t i = 0; i < PACKETS; i++) {
        assert_int_equal(class_of_next(trib_port_fd(receiver), family), DSCP << 2 | TOS_ECT);
    }
    trib_port_close(sender);
    trib_port_close(receiver);
}

static void send__dscp_and_ect(void **state)
{
    (void)state;
    check_class("127.0.0.1:0", AF_INET);
    if (has_ipv6()) {
        check_class("[::1]:0", AF_INET6);
    }
}

static int option_of(const struct trib_port *udp, int level, int option)
{
    int value = -1;
    socklen_t len = sizeof value;
    assert_int_equal(getsockopt(trib_port_fd(udp), level, option, &value, &len), 0);
    return value;
}

static void check_option(const char *local, int level, int option, int expected)
{
    struct trib_port *udp = open_at(local, NULL, true);
    assert_int_equal(option_of(udp, level, option), expected);
    trib_port_close(udp);
}

/* Anybody can say by ICMP that a path is narrow (tests/redteam): no size is refused for that, and none is cut up. */
static void send__no_word_about_the_path_is_believed(void **state)
{
    (void)state;
    check_option("127.0.0.1:0", IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    if (has_ipv6()) {
        check_option("[::1]:0", IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    }
}

struct option {
    int level, name;
};

static void check_spare(const char *local, const struct option *options, uint32_t count)
{
    struct trib_port_config config = {
        .payload = LEN, .buffer = 4 << 20, .dscp = DSCP, .trains = true, .is_spare = true};
    struct trib_port *spare = NULL;
    struct trib_port *ordinary = open_at(local, NULL, true);
    assert_int_equal(trib_address_parse(local, 0, &config.local, NULL), TRIB_OK);
    assert_int_equal(trib_port_open(&config, &spare, NULL), TRIB_OK);
    assert_true(option_of(spare, SOL_SOCKET, SO_RCVBUF) < option_of(ordinary, SOL_SOCKET, SO_RCVBUF));
    assert_int_equal(trib_port_use(spare, NULL), TRIB_OK);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(option_of(spare, options[i].level, options[i].name),
                         option_of(ordinary, options[i].level, options[i].name));
    }
    assert_int_equal(trib_port_has_trains(spare), trib_port_has_trains(ordinary));
    assert_int_equal(trib_port_receive_room(spare), trib_port_receive_room(ordinary));
    trib_port_close(ordinary);
    trib_port_close(spare);
}

static void use__a_spare_port_gets_the_options_of_others(void **state)
{
    static const struct option four[] = {{IPPROTO_IP, IP_TOS},           {IPPROTO_IP, IP_RECVTOS},
                                         {IPPROTO_IP, IP_MTU_DISCOVER},  {IPPROTO_IP, IP_MULTICAST_LOOP},
                                         {IPPROTO_IP, IP_MULTICAST_TTL}, {SOL_SOCKET, SO_RCVBUF},
                                         {SOL_SOCKET, SO_SNDBUF},        {IPPROTO_UDP, UDP_GRO}};
    static const struct option six[] = {
        {IPPROTO_IPV6, IPV6_TCLASS}, {IPPROTO_IPV6, IPV6_RECVTCLASS}, {IPPROTO_IPV6, IPV6_MTU_DISCOVER},
        {IPPROTO_IPV6, IPV6_V6ONLY}, {SOL_SOCKET, SO_RCVBUF},         {SOL_SOCKET, SO_SNDBUF},
        {IPPROTO_UDP, UDP_GRO}};
    (void)state;
    check_spare("127.0.0.1:0", four, sizeof four / sizeof four[0]);
    if (has_ipv6()) {
        check_spare("[::1]:0", six, sizeof six / sizeof six[0]);
    }
}

static uint32_t count_packets(struct trib_port *port)
{
    struct trib_arrival arrival;
    uint32_t count = 0;
    for (uint32_t i = 0; i < 100; i++) { /* one call passes over a few packets of others at most */
        while (trib_port_receive(port, 1)) {
            while (trib_port_next(port, &arrival)) {
                count++;
            }
        }
    }
    return count;
}

/* They came while nobody read: more than any number of reads at the first use. */
static void connect__packets_of_others_from_before_are_dropped(void **state)
{
    (void)state;
    struct trib_port_config config = {.payload = LEN, .buffer = 4 << 20, .trains = true, .is_spare = true};
    struct trib_port *spare = NULL;
    struct trib_port *stranger = open_at("127.0.0.1:0", NULL, true);
    struct trib_port *root = open_at("127.0.0.1:0", NULL, true);
    struct trib_address to, peer;
    const struct trib_packet packet = {.sequence = 1, .mark = 1, .communicator = 7, .kind = TRIB_PROBE};
    assert_int_equal(trib_address_parse("127.0.0.1:0", 0, &config.local, NULL), TRIB_OK);
    assert_int_equal(trib_port_open(&config, &spare, NULL), TRIB_OK);
    trib_port_local(spare, &to);
    trib_port_local(root, &peer);
    for (uint32_t i = 0; i < 100; i++) {
        trib_port_send(stranger, &packet, &to, 1);
        trib_port_flush(stranger);
    }
    assert_int_equal(trib_port_use(spare, NULL), TRIB_OK);
    assert_true(trib_port_connect(spare, &peer));
    assert_int_equal(count_packets(spare), 0);
    trib_port_send(root, &packet, &to, 1);
    trib_port_flush(root);
    assert_int_equal(count_packets(spare), 1);
    trib_port_close(spare);
    trib_port_close(root);
    trib_port_close(stranger);
}

/* A queue that we can see without a slow device: what a corked socket holds back counts as well. */
static void cork(const struct trib_port *udp, const struct trib_address *to, size_t bytes)
{
    static const uint8_t filler[60000];
    assert_true(bytes <= sizeof filler);
    assert_int_equal(sendto(trib_port_fd(udp), filler, bytes, MSG_MORE, (const struct sockaddr *)&to->storage, to->len),
                     (ssize_t)bytes);
}

static void uncork(const struct trib_port *udp)
{
    int off = 0;
    assert_int_equal(setsockopt(trib_port_fd(udp), IPPROTO_UDP, UDP_CORK, &off, sizeof off), 0);
}

/* One packet while the socket holds `held` bytes back; what the receiver hears of it. */
static struct heard send_behind(struct trib_port *sender, struct trib_port *receiver, size_t held, uint32_t count)
{
    struct trib_arrival arrival;
    struct heard heard = {0};
    struct trib_address to[4];
    for (uint32_t i = 0; i < count; i++) {
        trib_port_local(receiver, &to[i]);
    }
    const struct trib_packet packet = {.sequence = 1, .mark = 1, .communicator = 7, .kind = TRIB_PROBE};
    if (held > 0) {
        cork(sender, to, held);
    }
    trib_port_send(sender, &packet, to, trib_all_children(count));
    if (held > 0) {
        uncork(sender);
    }
    trib_port_send(sender, &packet, to, trib_all_children(count)); /* of the same train: it has looked already */
    trib_port_flush(sender);
    struct pollfd readable = {.fd = trib_port_fd(receiver), .events = POLLIN};
    while (heard.packets < 2 * count && poll(&readable, 1, 500 * (int)patience()) == 1) {
        while (trib_port_receive(receiver, 0)) {
            while (trib_port_next(receiver, &arrival)) {
                struct trib_packet heard_packet;
                if (trib_port_decode(&arrival, &heard_packet) == TRIB_DROP_NONE) {
                    heard.packets++;
                    heard.flagged += (heard_packet.flags & TRIB_FLAG_ECN) != 0;
                }
            }
        }
    }
    return heard;
}

static void send__flags_what_joins_a_long_queue(void **state)
{
    (void)state;
    struct trib_port *sender = open_at("127.0.0.1:0", NULL, true);
    struct trib_port *receiver = open_at("127.0.0.1:0", NULL, true);
    /* Nobody has asked for it. */
    assert_int_equal(send_behind(sender, receiver, 50000, 1).flagged, 0);
    trib_port_set_backlog(sender, 40000);
    assert_int_equal(send_behind(sender, receiver, 0, 1).flagged, 0);
    assert_int_equal(send_behind(sender, receiver, 10000, 1).flagged, 0);
    struct heard heard = send_behind(sender, receiver, 50000, 1);
    assert_int_equal(heard.packets, 2);
    assert_int_equal(heard.flagged, 2);
    assert_int_equal(trib_port_stats(sender)->flagged_sent, 2);
    assert_int_equal(trib_port_stats(receiver)->marked_received, 0); /* the network has said nothing */
    /* The next train looks again. */
    assert_int_equal(send_behind(sender, receiver, 0, 1).flagged, 0);
    /* Of a train to two each has half of the queue. */
    assert_int_equal(send_behind(sender, receiver, 50000, 2).flagged, 0);
    trib_port_set_backlog(sender, 20000);
    assert_int_equal(send_behind(sender, receiver, 50000, 2).flagged, 4);
    assert_int_equal(trib_port_stats(sender)->flagged_sent, 6);
    trib_port_set_backlog(sender, 0);
    assert_int_equal(send_behind(sender, receiver, 50000, 1).flagged, 0);
    trib_port_close(sender);
    trib_port_close(receiver);
}

/* What a neighbour is handed waits in no queue. */
static void send__flags_nothing_for_a_neighbour(void **state)
{
    (void)state;
    struct trib_port *a = open_at("127.0.0.1:0", NULL, true);
    struct trib_port *b = open_at("127.0.0.1:0", NULL, true);
    struct trib_address at_a, at_b;
    trib_port_local(a, &at_a);
    trib_port_local(b, &at_b);
    trib_port_set_backlog(a, 1);
    assert_int_equal(send_behind(a, b, 50000, 1).flagged, 2);
    assert_true(trib_port_join(a, &at_a, b, &at_b));
    cork(a, &at_b, 50000);
    send_numbers(a, &at_b, 1, 0);
    struct trib_arrival arrival;
    uint32_t packets = 0;
    while (trib_port_deadline(b) == 0 && trib_port_receive(b, 0)) {
        while (trib_port_next(b, &arrival)) {
            struct trib_packet packet;
            assert_int_equal(trib_port_decode(&arrival, &packet), TRIB_DROP_NONE);
            assert_int_equal(packet.flags, 0);
            packets++;
        }
    }
    assert_int_equal(packets, PACKETS);
    trib_port_close(a);
    trib_port_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receive__marks_become_flags),
        cmocka_unit_test(receive__marks_become_flags_over_ipv6),
        cmocka_unit_test(receive__held_packets_keep_their_marks),
        cmocka_unit_test(send__dscp_and_ect),
        cmocka_unit_test(send__no_word_about_the_path_is_believed),
        cmocka_unit_test(use__a_spare_port_gets_the_options_of_others),
        cmocka_unit_test(connect__packets_of_others_from_before_are_dropped),
        cmocka_unit_test(send__flags_what_joins_a_long_queue),
        cmocka_unit_test(send__flags_nothing_for_a_neighbour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
