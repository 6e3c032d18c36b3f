/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_probes.c: how often a rank probes the paths to its roots, and how long before it says that packets do not pass:
 * against a control plane and a root that are written out here. Mirrors src/comm/paths.c; test_comm_paths.c has whole
 * jobs. */
#include "session_script.h"

static uint16_t largest; /* payload of the probes that have come */

/* Takes probes until then, or until the rank says something; answers each with a nonce alone, or not at all. Returns how
 * many have come. */
static unsigned take_probes(const struct script *s, int fd, bool answers, uint64_t until_ns, struct trib_message *said)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = s->udp, .events = POLLIN}};
    unsigned count = 0;
    memset(said, 0, sizeof *said);
    largest = 0;
    while (said->kind == TRIB_MESSAGE_NONE && trib_clock_ns() < until_ns) {
        uint8_t bytes[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
        struct sockaddr_in from;
        socklen_t len = sizeof from;
        if (poll(fds, 2, 5) > 0 && fds[1].revents != 0) {
            struct trib_packet packet = {.kind = TRIB_PATH, .communicator = 7, .generation = 1, .boot = 5, .lane = 99};
            struct trib_packet probe;
            ssize_t got = recvfrom(s->udp, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &len);
            assert_true(got > 0);
            assert_int_equal(trib_packet_decode(bytes, (size_t)got, &probe), TRIB_DROP_NONE);
            packet.bitmap = probe.lane;
            largest = probe.payload_len > largest ? probe.payload_len : largest;
            trib_packet_encode(&packet, bytes);
            if (answers) {
                (void)sendto(s->udp, bytes, TRIB_HEADER_SIZE, 0, (struct sockaddr *)&from, len);
            }
            count++;
        }
        if (poll(fds, 1, 0) > 0) {
            struct trib_message message = answer_message(fd);
            *said = message.kind == TRIB_MESSAGE_PING ? *said : message;
        }
    }
    return count;
}

/* As long as it answers what was sent before, a root is behind, and not behind a path that is too narrow. */
static void paths__of_a_busy_root_are_waited_for(void **state)
{
    (void)state;
    struct script s;
    struct trib_message message;
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    begin(&s);
    start_rank(&s);
    int fd = take_join(&s, &message);
    welcome(&s, fd, 5);
    (void)take_probes(&s, fd, true, trib_clock_ns() + 4 * TRIB_SECOND_NS, &message);
    assert_int_equal(message.kind, TRIB_MESSAGE_NONE);
    assert_true(largest > 0);
    echo_path(&s);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    send_message(fd, &fail);
    end(&s, TRIB_ERR_PEER, "so far", 20000);
    close(fd);
}

/* A switch that answers nothing, on its session neither, is a stopped process, and says nothing of the path. */
static void paths__outlast_a_stopped_switch(void **state)
{
    (void)state;
    struct script s;
    struct trib_message message;
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    begin(&s);
    start_rank(&s);
    int fd = take_join(&s, &message);
    welcome(&s, fd, 5);
    assert_true(take_probes(&s, -1, false, trib_clock_ns() + 5 * TRIB_SECOND_NS, &message) > 20);
    echo_path(&s);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    send_message(fd, &fail);
    end(&s, TRIB_ERR_PEER, "so far", 20000);
    close(fd);
}

/* A rank that waits for READY longer than its own limit asks, and hears for whom it has waited. */
static void register__that_is_not_answered_is_asked_about(void **state)
{
    (void)state;
    struct script s;
    struct trib_message message;
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_TIMEOUT, "waited for rank 2"}};
    begin(&s);
    s.config.join_timeout_ns = TRIB_SECOND_NS;
    start_rank(&s);
    int fd = take_join(&s, &message);
    welcome(&s, fd, 5);
    echo_path(&s);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    (void)expect(fd, TRIB_MESSAGE_REGISTER);
    assert_int_equal(expect(fd, TRIB_MESSAGE_ABORT).fail.status, TRIB_ERR_TIMEOUT);
    send_message(fd, &fail);
    end(&s, TRIB_ERR_TIMEOUT, "waited for rank 2", 20000);
    close(fd);
}

/* Many ranks begin at once at one root: each asks less often, and for longer, before it says that nothing passes. */
static void paths__of_many_ranks_are_no_storm(void **state)
{
    (void)state;
    struct script s;
    struct trib_message message;
    begin(&s);
    s.config.ranks = 400;
    start_rank(&s);
    int fd = take_join(&s, &message);
    welcome(&s, fd, 5);
    uint64_t begin_ns = trib_clock_ns();
    assert_in_range(take_probes(&s, fd, false, begin_ns + 60 * TRIB_SECOND_NS * patience(), &message), 20, 32);
    assert_int_equal(largest, 0); /* nobody has said that a root is there */
    assert_true(trib_clock_ns() - begin_ns >= 4 * TRIB_SECOND_NS);
    assert_int_equal(message.kind, TRIB_MESSAGE_PATHS);
    assert_false(message.paths.unicast);
    end(&s, TRIB_ERR_UNREACHABLE, "do not pass between here and ", 20000);
    close(fd);
}

static void *make_another(void *argument)
{
    struct script *s = argument;
    struct trib_comm *made = NULL;
    s->status = trib_comm_create(&s->config, &s->comm, s->error);
    if (s->status == TRIB_OK) {
        s->status = trib_comm_subset(s->comm, (uint32_t[]){0}, 1, 0, &made, s->error);
        (void)trib_comm_close(made);
        (void)trib_comm_close(s->comm);
    }
    return NULL;
}

/* Packets have passed before, of the communicator of which another is made: its root is a stopped process, for longer
 * than a wrong MTU would be waited for. */
static void paths__of_a_derived_communicator_outlast_a_stopped_root(void **state)
{
    (void)state;
    struct script s;
    struct trib_message message;
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    begin(&s);
    s.config.linger_ns = TRIB_MILLISECOND_NS;
    assert_int_equal(pthread_create(&s.thread, NULL, make_another, &s), 0);
    int first = run(&s);
    int fd = take_join(&s, &message);
    struct trib_message granted = script_welcome(&s, 5);
    granted.welcome.grant.communicator = 8;
    send_message(fd, &granted);
    assert_true(take_probes(&s, fd, false, trib_clock_ns() + 4 * TRIB_SECOND_NS, &message) > 20);
    assert_int_equal(message.kind, TRIB_MESSAGE_NONE);
    echo_path(&s);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    send_message(fd, &fail);
    end(&s, TRIB_ERR_PEER, "so far", 20000);
    close(fd);
    close(first);
}

/* A rank has named somebody else's address as its root's, and ranks that come back wait for a root that was stopped:
 * headers go there, ever less often, in this incarnation as in the first; and an answer without the nonce changes nothing.
 */
static void paths__a_third_party_gets_few_headers(void **state)
{
    (void)state;
    struct script s;
    struct trib_message message;
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    begin(&s);
    s.config.timeout_ns = 60 * TRIB_SECOND_NS * patience();
    start_rank(&s);
    close(run(&s)); /* the switch restarts */
    int fd = take_join(&s, &message);
    welcome(&s, fd, 6);
    assert_in_range(take_probes(&s, fd, false, trib_clock_ns() + 8 * TRIB_SECOND_NS, &message), 1, 45);
    assert_int_equal(message.kind, TRIB_MESSAGE_NONE);
    assert_int_equal(largest, 0);
    send_message(fd, &fail);
    end(&s, TRIB_ERR_PEER, "so far", 20000);
    close(fd);
}

/* The rank is told that its job is a ring, and its peer where this test has its socket. Returns the session. */
static int begin_ring(struct script *s, struct trib_message *join)
{
    const struct trib_message ring = {.kind = TRIB_MESSAGE_RING, .note = {.text = "few bytes"}};
    struct sockaddr_in at;
    socklen_t len = sizeof at;
    begin(s);
    s->config.gradient_bytes = 4;
    s->config.ranks = 2;
    start_rank(s);
    int fd = take_join(s, join);
    send_message(fd, &ring);
    close(fd);
    fd = take_join(s, join);
    assert_int_equal(getsockname(s->udp, (struct sockaddr *)&at, &len), 0);
    struct trib_message welcome = script_welcome(s, 5);
    welcome.welcome.peer_count = 1;
    welcome.welcome.peer[0] = (struct trib_peer){1, trib_address_v4(0x7f000001U, ntohs(at.sin_port))};
    send_message(fd, &welcome);
    return fd;
}

/* To the rank, as from its peer. */
static void send_as_peer(const struct script *s, const struct trib_message *join, const struct trib_packet *packet)
{
    uint8_t bytes[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX] = {0};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(join->join.data_port[0])};
    size_t len = TRIB_HEADER_SIZE + (size_t)packet->payload_len;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    trib_packet_encode(packet, bytes);
    assert_int_equal(sendto(s->udp, bytes, len, 0, (struct sockaddr *)&to, sizeof to), len);
}

/* Takes packets of the rank until the first probe (node: 0) or answer (node: 1), at most for that time; counts answers. */
static bool take_path_for(int wait_ms, const struct script *s, uint16_t node, uint32_t *answers,
                          struct trib_packet *packet)
{
    struct pollfd readable = {.fd = s->udp, .events = POLLIN};
    static uint8_t bytes[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
    uint64_t until_ns = trib_clock_ns() + (uint64_t)wait_ms * TRIB_MILLISECOND_NS;
    while (trib_clock_ns() < until_ns && poll(&readable, 1, wait_ms) == 1) {
        ssize_t got = recv(s->udp, bytes, sizeof bytes, 0);
        assert_true(got > 0);
        assert_int_equal(trib_packet_decode(bytes, (size_t)got, packet), TRIB_DROP_NONE);
        *answers += packet->node == 1;
        if (packet->node == node) {
            return true;
        }
    }
    return false;
}

/* A packet that must come: the time is for a busy machine, and costs none elsewhere. */
static bool take_path(const struct script *s, uint16_t node, uint32_t *answers, struct trib_packet *packet)
{
    return take_path_for(20000, s, node, answers, packet);
}

/* A rank has said that it is at somebody else's address, and sends in that one's name: of its peer on a ring as many
 * headers go there as of a switch. With the nonces the way is tried, in both directions. */
static void paths__a_peer_that_is_not_proved_gets_few_headers(void **state)
{
    (void)state;
    static const uint8_t zeros[TRIB_PAYLOAD_MAX];
    struct script s;
    struct trib_message join;
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    struct trib_packet packet;
    uint32_t answers = 0;
    int fd = begin_ring(&s, &join);
    uint16_t payload = (uint16_t)join.join.settings.payload;
    assert_true(payload > 0);
    assert_true(take_path(&s, 0, &answers, &packet));
    assert_int_equal(packet.payload_len, 0);
    uint64_t nonce = packet.lane;
    const struct trib_packet forged = {
        .kind = TRIB_PATH, .communicator = 7, .generation = 1, .node = 1, .payload_len = payload, .payload = zeros};
    for (uint32_t i = 0; i < 2 * TRIB_PATH_HEADERS; i++) {
        send_as_peer(&s, &join, &forged);
    }
    while (take_path_for(300 * (int)patience(), &s, 1, &answers, &packet)) {
        assert_int_equal(packet.payload_len, 0);
    }
    assert_int_equal(answers, TRIB_PATH_HEADERS);
    struct trib_packet proof = forged; /* a probe, which the rank has to send back */
    proof.bitmap = nonce;
    proof.lane = 5;
    send_as_peer(&s, &join, &proof);
    assert_true(take_path(&s, 1, &answers, &packet));
    assert_int_equal(packet.payload_len, payload);
    assert_int_equal(packet.bitmap, 5);
    while (packet.node != 0 || packet.payload_len == 0) {
        assert_true(take_path(&s, 0, &answers, &packet));
    }
    packet.bitmap = packet.lane; /* its own, which goes back to it */
    packet.payload = zeros;
    send_as_peer(&s, &join, &packet);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    send_message(fd, &fail);
    end(&s, TRIB_ERR_PEER, "so far", 60000);
    close(fd);
}

/* Ranks of a large job have fewer sockets: all of them may be on one machine. */
static void join__names_a_port_per_root(void **state)
{
    static const uint32_t ranks[] = {1, 512, 513, TRIB_RANKS_MAX}, ports[] = {32, 32, 31, 16};
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_REFUSED, "enough"}};
    (void)state;
    for (unsigned i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        struct script s;
        struct trib_message join;
        begin(&s);
        s.config.ranks = ranks[i];
        start_rank(&s);
        int fd = take_join(&s, &join);
        assert_int_equal(join.join.roots, ports[i]);
        for (uint32_t k = 0; k < TRIB_ROOTS_MAX; k++) {
            assert_true((join.join.data_port[k] != 0) == (k < ports[i]));
        }
        send_message(fd, &fail);
        end(&s, TRIB_ERR_REFUSED, "enough", 3000);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join__names_a_port_per_root),
        cmocka_unit_test(register__that_is_not_answered_is_asked_about),
        cmocka_unit_test(paths__outlast_a_stopped_switch),
        cmocka_unit_test(paths__of_a_busy_root_are_waited_for),
        cmocka_unit_test(paths__of_many_ranks_are_no_storm),
        cmocka_unit_test(paths__of_a_derived_communicator_outlast_a_stopped_root),
        cmocka_unit_test(paths__a_third_party_gets_few_headers),
        cmocka_unit_test(paths__a_peer_that_is_not_proved_gets_few_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
