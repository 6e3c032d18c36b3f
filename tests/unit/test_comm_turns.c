/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_turns.c: what a rank takes from its control plane, and when: a grant is the communicator's for life, READY
 * has one place, every root must answer, and without a session the node is silent. */
#include "session_script.h"

#include "comm/endpoint.h"
#include "comm/state.h"
#include "comm/wake.h"
#include "core/packet.h"
#include "schemes/schemes.h"

#define REFUSED "granted invalid values"

/* Long enough for a node that is not suspended to probe; a rank that is right is silent for ever. */
#define SILENCE_MS 100

/* Of the session: a rank that waits for more than a second asks whether its control plane is there. */
static void expect_silence(int fd)
{
    struct pollfd session = {.fd = fd, .events = POLLIN};
    uint64_t end_ns = trib_clock_ns() + SILENCE_MS * TRIB_MILLISECOND_NS;
    while (trib_clock_ns() < end_ns) {
        if (poll(&session, 1, 5) > 0) {
            assert_int_equal(answer_message(fd).kind, TRIB_MESSAGE_PING);
        }
    }
}

static void welcome__to_another_communicator(void **state)
{
    (void)state;
    for (unsigned field = 0; field < 6; field++) {
        struct script s;
        struct trib_message join;
        begin(&s);
        start_rank(&s);
        close(run(&s));
        int fd = take_join(&s, &join);
        struct trib_message message = script_welcome(&s, 6);
        struct trib_grant *grant = &message.welcome.grant;
        grant->salt = field == 0 ? 8 : grant->salt;
        grant->communicator = field == 1 ? 8 : grant->communicator;
        grant->generation = field == 2 ? 8 : grant->generation;
        grant->train = field == 3 ? 8 : grant->train;
        grant->slots = field == 4 ? 64 : grant->slots;
        grant->weight[0] = field == 5 ? 8 : grant->weight[0];
        send_message(fd, &message);
        end(&s, TRIB_ERR_REFUSED, REFUSED, 5000);
        close(fd);
    }
}

/* So low that the rank would seem to be away, or that no packet would ever leave. */
static void welcome__of_a_rate_that_cannot_be(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    start_rank(&s);
    int fd = take_join(&s, &join);
    struct trib_message message = script_welcome(&s, 5);
    message.welcome.rate = TRIB_RATE_MIN - 1;
    send_message(fd, &message);
    end(&s, TRIB_ERR_REFUSED, REFUSED, 5000);
    close(fd);
}

static void welcome__of_hosts_where_ranks_are_members(void **state)
{
    static const char *const schemes[] = {"switchml", "panama:3/4", "ring", "hybrid:2"};
    (void)state;
    for (unsigned k = 0; k < sizeof schemes / sizeof schemes[0]; k++) {
        struct trib_session_config session = {.ranks = 4, .payload = 1024};
        struct script s;
        struct trib_message join;
        uint16_t peers[TRIB_PEERS_MAX];
        begin(&s);
        s.config.ranks = 4;
        s.config.rank = 1;
        s.config.level0 = k > 0; /* else it would have none */
        (void)snprintf(s.config.scheme, sizeof s.config.scheme, "%s", schemes[k]);
        const struct trib_worker_verbs *verbs = trib_scheme_find(schemes[k])->worker;
        if (verbs->peers != NULL) {
            (void)snprintf(s.config.rendezvous, sizeof s.config.rendezvous, "%s", s.config.switch_address);
            s.config.switch_address[0] = '\0';
        }
        start_rank(&s);
        int fd = take_join(&s, &join);
        struct trib_message message = script_welcome(&s, 5);
        trib_scheme_settle(schemes[k], &session);
        message.welcome.peer_count = verbs->peers != NULL ? (uint8_t)verbs->peers(&session, 1, peers) : 0;
        for (uint32_t i = 0; i < message.welcome.peer_count; i++) {
            message.welcome.peer[i].rank = peers[i];
            message.welcome.peer[i].address = trib_address_v4(INADDR_LOOPBACK, message.welcome.grant.data_port);
        }
        message.welcome.hosts = 3;
        for (uint32_t i = 0; i < 3; i++) {
            trib_rank_set_add(&message.welcome.leaders, i);
        }
        send_message(fd, &message);
        end(&s, TRIB_ERR_REFUSED, REFUSED, 5000);
        close(fd);
    }
}

/* A group is a switch's own. Ranks that are roots have one socket, and no shard's socket could listen to the second. */
static void welcome__of_a_group_where_ranks_are_roots(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    s.config.ranks = 2;
    s.config.rank = 1;
    s.config.multicast = true;
    (void)snprintf(s.config.rendezvous, sizeof s.config.rendezvous, "%s", s.config.switch_address);
    s.config.switch_address[0] = '\0';
    start_rank(&s);
    int fd = take_join(&s, &join);
    struct trib_message message = script_welcome(&s, 5);
    message.welcome.no_box = true;
    message.welcome.grant.roots = 2;
    message.welcome.grant.group = 0xefff0001U;
    message.welcome.grant.group_port = 7000;
    message.welcome.root_count = 2;
    for (uint32_t i = 0; i < 2; i++) {
        message.welcome.root[i] = trib_address_v4(INADDR_LOOPBACK, (uint16_t)(message.welcome.grant.data_port + i));
    }
    send_message(fd, &message);
    end(&s, TRIB_ERR_REFUSED, REFUSED, 5000);
    close(fd);
}

static void ready__has_one_place(void **state)
{
    (void)state;
    for (unsigned is_registered = 0; is_registered < 2; is_registered++) {
        struct script s;
        struct trib_message join;
        begin(&s);
        start_rank(&s);
        int fd = take_join(&s, &join);
        if (is_registered) {
            welcome(&s, fd, 5);
            echo_path(&s);
            (void)expect(fd, TRIB_MESSAGE_PATHS);
            (void)expect(fd, TRIB_MESSAGE_REGISTER);
        }
        ready(fd, is_registered ? 0 : 5); /* 0 is no boot */
        end(&s, TRIB_ERR_REFUSED, "sent an unexpected message READY", 5000);
        close(fd);
    }
}

/* However often one root answers, the other has not. */
static void paths__wait_for_every_root(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    uint16_t port;
    begin(&s);
    int second = open_port(SOCK_DGRAM, &port);
    start_rank(&s);
    int fd = take_join(&s, &join);
    struct trib_message message = script_welcome(&s, 5);
    message.welcome.grant.roots = 2;
    message.welcome.root_count = 2;
    message.welcome.root[0] = trib_address_v4(INADDR_LOOPBACK, message.welcome.grant.data_port);
    message.welcome.root[1] = trib_address_v4(INADDR_LOOPBACK, port);
    send_message(fd, &message);
    echo_path(&s);
    expect_silence(fd);
    echo_at(second);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    (void)expect(fd, TRIB_MESSAGE_REGISTER);
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    send_message(fd, &fail);
    end(&s, TRIB_ERR_PEER, "so far", 5000);
    close(second);
    close(fd);
}

/* What was sent counts no more: until the session confirms a boot, nothing leaves. */
static void lost__the_node_is_silent(void **state)
{
    (void)state;
    uint8_t packet[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
    struct script s;
    struct trib_message join;
    begin(&s);
    start_rank(&s);
    int fd = run(&s);
    assert_true(recv(s.udp, packet, sizeof packet, 0) > 0); /* of the barrier */
    close(fd);
    fd = take_join(&s, &join);
    drain(&s);
    struct pollfd udp = {.fd = s.udp, .events = POLLIN};
    assert_int_equal(poll(&udp, 1, SILENCE_MS), 0);
    welcome(&s, fd, 6);
    echo_path(&s);
    (void)expect(fd, TRIB_MESSAGE_PATHS);
    (void)expect(fd, TRIB_MESSAGE_REGISTER);
    drain(&s); /* path probes of before the echo */
    assert_int_equal(poll(&udp, 1, SILENCE_MS), 0);
    ready(fd, 6);
    assert_true(recv(s.udp, packet, sizeof packet, 0) > 0);
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    send_message(fd, &fail);
    end(&s, TRIB_ERR_PEER, "so far", 5000);
    close(fd);
}

static void *be_idle(void *argument)
{
    struct script *s = argument;
    s->status = trib_comm_create(&s->config, &s->comm, s->error);
    atomic_store(&s->over, true);
    return NULL;
}

/* A message that finds the outbox full ends the session outside of trib_comm_session_ready. An idle rank comes again as
 * well, though nothing else wakes its loop. */
static void lost__by_a_full_outbox_an_idle_rank_comes_again(void **state)
{
    (void)state;
    const struct trib_message mark = {.kind = TRIB_MESSAGE_MARK};
    const struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    struct script s;
    struct trib_message join;
    begin(&s);
    struct pollfd listener = {.fd = s.listener, .events = POLLIN};
    assert_int_equal(pthread_create(&s.thread, NULL, be_idle, &s), 0);
    int fd = run(&s);
    assert_int_equal(pthread_join(s.thread, NULL), 0);
    assert_int_equal(s.status, TRIB_OK);
    atomic_store(&s.over, false);
    trib_endpoint_lock(s.comm->endpoint);
    size_t max = s.comm->session.out.max;
    s.comm->session.out.max = 0; /* as when the socket and the outbox are full */
    trib_session_client_send(&s.comm->session, &mark);
    s.comm->session.out.max = max;
    assert_int_equal(s.comm->session.state, TRIB_SESSION_LOST);
    trib_comm_make_dirty(s.comm);
    trib_endpoint_kick(&s.comm->endpoint->progress_set);
    trib_endpoint_unlock(s.comm->endpoint);
    assert_int_equal(poll(&listener, 1, 3000 * (int)patience()), 1);
    int second = take_join(&s, &join);
    assert_true(join.join.was_ready);
    send_message(second, &fail);
    (void)trib_comm_close(s.comm);
    close(second);
    close(fd);
    close(s.listener);
    close(s.udp);
}

/* ---- ranks of one host, which meet when WELCOME has come ---- */

static void begin_host(struct script s[2])
{
    begin(&s[0]);
    s[0].config.ranks = 2;
    s[0].config.level0 = true;
    s[1] = s[0];
    s[1].config.rank = 1;
    start_rank(&s[0]);
    start_rank(&s[1]);
}

static struct trib_message host_welcome(const struct script *s, uint32_t boot)
{
    struct trib_message message = script_welcome(s, boot);
    message.welcome.hosts = 1;
    message.welcome.grant.salt = (uint64_t)getpid(); /* of which they make a name */
    trib_rank_set_add(&message.welcome.leaders, 0);
    return message;
}

/* The next JOIN of both, in any order. */
static void take_joins(struct script *s, int fd[2])
{
    struct trib_message join;
    for (uint32_t i = 0; i < 2; i++) {
        int session = take_join(s, &join);
        fd[join.join.rank] = session;
    }
}

static void end_host(struct script s[2], const int fd[2])
{
    const struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    send_message(fd[0], &fail);
    send_message(fd[1], &fail);
    assert_int_equal(pthread_join(s[1].thread, NULL), 0);
    assert_int_equal(s[1].status, TRIB_ERR_PEER);
    end(&s[0], TRIB_ERR_PEER, "so far", 5000);
    close(fd[0]);
    close(fd[1]);
}

/* Its WELCOME and the end of its session come at once: who creates it goes on to wait, and meets the other rank later. */
static void welcome__lost_at_once_is_met_later(void **state)
{
    (void)state;
    struct script s[2];
    int fd[2] = {-1, -1};
    begin_host(s);
    for (uint32_t boot = 5; boot < 7; boot++) {
        const struct trib_message message = host_welcome(&s[0], boot);
        take_joins(&s[0], fd);
        for (uint32_t i = 0; i < 2; i++) {
            send_message(fd[i], &message);
            assert_int_equal(boot == 5 ? close(fd[i]) : 0, 0);
        }
    }
    (void)expect(fd[1], TRIB_MESSAGE_PATHS); /* as its leader sends for it, it tries none */
    (void)expect(fd[1], TRIB_MESSAGE_REGISTER);
    end_host(s, fd);
}

/* The session is lost while it waits for the other rank of its host: that rank may come before the next WELCOME. */
static void welcome__lost_while_meeting_has_to_come_again(void **state)
{
    (void)state;
    struct script s[2];
    struct trib_message join;
    int fd[2] = {-1, -1};
    begin_host(s);
    take_joins(&s[0], fd);
    const struct trib_message message = host_welcome(&s[0], 5);
    send_message(fd[1], &message);
    expect_silence(fd[1]); /* it waits for rank 0 */
    close(fd[1]);
    fd[1] = take_join(&s[0], &join);
    assert_int_equal(join.join.rank, 1);
    send_message(fd[0], &message);
    echo_path(&s[0]);
    (void)expect(fd[0], TRIB_MESSAGE_PATHS); /* they have met */
    expect_silence(fd[1]);
    send_message(fd[1], &message);
    (void)expect(fd[1], TRIB_MESSAGE_PATHS);
    (void)expect(fd[1], TRIB_MESSAGE_REGISTER);
    end_host(s, fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(welcome__to_another_communicator),
        cmocka_unit_test(welcome__of_a_rate_that_cannot_be),
        cmocka_unit_test(welcome__of_hosts_where_ranks_are_members),
        cmocka_unit_test(welcome__of_a_group_where_ranks_are_roots),
        cmocka_unit_test(ready__has_one_place),
        cmocka_unit_test(paths__wait_for_every_root),
        cmocka_unit_test(lost__the_node_is_silent),
        cmocka_unit_test(lost__by_a_full_outbox_an_idle_rank_comes_again),
        cmocka_unit_test(welcome__lost_at_once_is_met_later),
        cmocka_unit_test(welcome__lost_while_meeting_has_to_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
