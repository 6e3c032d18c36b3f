/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_detour.c: a rank whose combiner does not come back, against a combiner and a server that the test writes
 * out. The rank goes where it is taken in, by the rules of a restart; and what it says if nobody takes it.
 * Mirrors src/comm/detour.c. */
#include "session_script.h"

/* As detour.c has them. */
#define FIRST_MS 300
#define AGAIN_MS 1000

struct detour {
    struct script combiner, server; /* of the first the rank, too; of the second a listener and a socket alone */
    bool is_silent;                 /* WELCOME names no server */
};

/* Another socket may have the port while connections of this one linger. */
static void reuse_port(int fd)
{
    const int one = 1;
    assert_return_code(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), errno);
}

static void begin_both(struct detour *d)
{
    uint16_t port;
    memset(d, 0, sizeof *d);
    begin(&d->combiner);
    reuse_port(d->combiner.listener);
    (void)snprintf(d->combiner.config.scheme, sizeof d->combiner.config.scheme, "atp");
    d->server.config = d->combiner.config;
    d->server.window = d->combiner.window;
    d->server.listener = open_port(SOCK_STREAM, &port);
    assert_return_code(listen(d->server.listener, 64), errno);
    d->server.udp = open_port(SOCK_DGRAM, &port);
}

static struct trib_address server_address(const struct detour *d)
{
    struct trib_address address = {.len = sizeof address.storage};
    assert_return_code(getsockname(d->server.listener, (struct sockaddr *)&address.storage, &address.len), errno);
    return address;
}

static void welcome_behind(const struct detour *d, int fd, uint32_t boot)
{
    struct trib_message message = script_welcome(&d->combiner, boot);
    if (!d->is_silent) {
        message.welcome.server = server_address(d);
    }
    send_message(fd, &message);
}

/* From the WELCOME at either place, which brings that server or none, to READY. */
static void go_on(const struct script *at, int fd, uint32_t boot)
{
    echo_path(at);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    (void)expect(fd, TRIB_MESSAGE_REGISTER);
    ready(fd, boot);
}

/* Runs at the combiner, with its barrier under way. */
static int run_behind(struct detour *d)
{
    struct trib_message join;
    start_rank(&d->combiner);
    int fd = take_join(&d->combiner, &join);
    welcome_behind(d, fd, 5);
    go_on(&d->combiner, fd, 5);
    uint8_t packet[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
    assert_true(recv(d->combiner.udp, packet, sizeof packet, 0) > 0);
    return fd;
}

static bool is_called(const struct script *at, int wait_ms)
{
    struct pollfd listener = {.fd = at->listener, .events = POLLIN};
    return poll(&listener, 1, wait_ms) > 0;
}

/* kill -9: connections end, and new ones are refused. */
static void kill_place(struct script *at, int fd)
{
    close(at->listener);
    close(fd);
    at->listener = -1;
}

/* Again at the port that it had. */
static void restart_place(struct script *at, uint16_t port)
{
    const struct trib_address address = trib_address_v4(INADDR_LOOPBACK, port);
    at->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    reuse_port(at->listener);
    assert_return_code(bind(at->listener, (const struct sockaddr *)&address.storage, address.len), errno);
    assert_return_code(listen(at->listener, 64), errno);
}

static uint16_t port_of(const struct script *at)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    assert_return_code(getsockname(at->listener, (struct sockaddr *)&address, &len), errno);
    return ntohs(address.sin_port);
}

static void end_rank(struct detour *d, int fd)
{
    const struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    send_message(fd, &fail);
    end(&d->combiner, TRIB_ERR_PEER, "so far", 20000);
    close(fd);
    close(d->server.listener);
    close(d->server.udp);
}

/* The rank's JOIN at the server, not before its combiner has had its time. */
static int take_join_at_server(struct detour *d, struct trib_message *join, uint64_t lost_ns)
{
    assert_true(is_called(&d->server, 10000 * (int)patience()));
    assert_true(trib_clock_ns() - lost_ns >= FIRST_MS * TRIB_MILLISECOND_NS);
    return take_join(&d->server, join);
}

static void gone__goes_on_at_the_server(void **state)
{
    (void)state;
    struct detour d;
    struct trib_message join;
    uint8_t packet[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
    begin_both(&d);
    d.combiner.config.multicast = true;
    uint64_t lost_ns = trib_clock_ns();
    kill_place(&d.combiner, run_behind(&d));
    int fd = take_join_at_server(&d, &join, lost_ns);
    assert_true(join.join.was_ready);
    assert_false(join.join.multicast);
    assert_int_equal(join.join.known.communicator, 7);
    assert_int_equal(join.join.known.boot, 5);
    assert_int_equal(join.join.known.group, 0);
    assert_int_equal(join.join.roots, 0);
    assert_int_equal(join.join.data_port[1], 0); /* one socket for all roots */
    drain(&d.combiner);
    welcome(&d.server, fd, 6);
    go_on(&d.server, fd, 6);
    struct sockaddr_in from;
    socklen_t len = sizeof from;
    assert_true(recvfrom(d.server.udp, packet, sizeof packet, 0, (struct sockaddr *)&from, &len) > 0);
    assert_int_equal(ntohs(from.sin_port), join.join.data_port[0]);
    struct pollfd udp = {.fd = d.combiner.udp, .events = POLLIN};
    assert_int_equal(poll(&udp, 1, 0), 0);
    end_rank(&d, fd);
}

static void restart__is_waited_for(void **state)
{
    (void)state;
    struct detour d;
    struct trib_message join;
    begin_both(&d);
    close(run_behind(&d));
    int fd = take_join(&d.combiner, &join);
    welcome_behind(&d, fd, 6);
    go_on(&d.combiner, fd, 6);
    assert_false(is_called(&d.server, FIRST_MS));
    end_rank(&d, fd);
}

/* It does not know where else to go. */
static void gone__without_a_server(void **state)
{
    (void)state;
    for (unsigned is_scheme = 0; is_scheme < 2; is_scheme++) {
        struct detour d;
        begin_both(&d);
        hurry(&d.combiner);
        d.is_silent = is_scheme == 0;
        if (is_scheme) { /* ranks of others are children of the switch that they have come to */
            (void)snprintf(d.combiner.config.scheme, sizeof d.combiner.config.scheme, "switchml");
        }
        kill_place(&d.combiner, run_behind(&d));
        end(&d.combiner, TRIB_ERR_SWITCH, "is gone: connection refused; waited", 10000);
        assert_false(is_called(&d.server, 0));
        close(d.server.listener);
        close(d.server.udp);
    }
}

static void gone__both_are_named(void **state)
{
    (void)state;
    struct detour d;
    char both[160];
    begin_both(&d);
    d.combiner.config.switch_timeout_ns = 600 * TRIB_MILLISECOND_NS * patience();
    (void)snprintf(both, sizeof both,
                   "switch 127.0.0.1:%u is gone: connection refused; nor does switch 127.0.0.1:%u take this rank: "
                   "connection refused; waited",
                   port_of(&d.combiner), port_of(&d.server));
    int fd = run_behind(&d);
    close(d.server.listener);
    kill_place(&d.combiner, fd);
    end(&d.combiner, TRIB_ERR_SWITCH, both, 10000);
    close(d.server.udp);
}

/* A server that says AWAY, or ends the session, or is none: the combiner is tried on, and takes the rank in. */
static void server__does_not_take_the_rank(void **state)
{
    static const struct trib_message away = {.kind = TRIB_MESSAGE_AWAY, .note = {.text = "no room"}};
    (void)state;
    for (unsigned how = 0; how < 3; how++) {
        struct detour d;
        struct trib_message join;
        begin_both(&d);
        uint16_t port = port_of(&d.combiner);
        uint64_t lost_ns = trib_clock_ns();
        kill_place(&d.combiner, run_behind(&d));
        int fd = take_join_at_server(&d, &join, lost_ns);
        if (how == 0) {
            send_message(fd, &away);
        } else if (how == 1) {
            assert_int_equal(write(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28), 28);
        }
        close(fd);
        assert_false(is_called(&d.server, AGAIN_MS / 2)); /* a server that is restarted sees its combiners first */
        restart_place(&d.combiner, port);
        fd = take_join(&d.combiner, &join);
        assert_int_equal(join.join.known.boot, 5);
        assert_true(join.join.roots > 0);
        welcome_behind(&d, fd, 6);
        go_on(&d.combiner, fd, 6);
        end_rank(&d, fd);
    }
}

/* The combiner lives, and cannot reach the server: a switch between them is gone. */
static void away__goes_on_at_the_server(void **state)
{
    static const struct trib_message away = {.kind = TRIB_MESSAGE_AWAY, .note = {.text = "the parent does not answer"}};
    (void)state;
    struct detour d;
    struct trib_message join;
    begin_both(&d);
    uint64_t lost_ns = trib_clock_ns();
    close(run_behind(&d));
    while (!is_called(&d.server, 0)) {
        if (is_called(&d.combiner, 10)) {
            int fd = take_join(&d.combiner, &join);
            send_message(fd, &away);
            close(fd);
        }
    }
    int fd = take_join_at_server(&d, &join, lost_ns);
    welcome(&d.server, fd, 6);
    go_on(&d.server, fd, 6);
    end_rank(&d, fd);
}

/* The server is lost in turn: it is tried for its time, then the combiner, which is back. */
static void server__is_lost_in_turn(void **state)
{
    (void)state;
    struct detour d;
    struct trib_message join;
    begin_both(&d);
    uint16_t port = port_of(&d.combiner);
    kill_place(&d.combiner, run_behind(&d));
    int fd = take_join(&d.server, &join);
    welcome(&d.server, fd, 6);
    go_on(&d.server, fd, 6);
    restart_place(&d.combiner, port);
    assert_false(is_called(&d.combiner, FIRST_MS)); /* nobody goes back by itself */
    uint64_t lost_ns = trib_clock_ns();
    close(d.server.listener);
    close(fd);
    fd = take_join(&d.combiner, &join);
    assert_true(trib_clock_ns() - lost_ns >= FIRST_MS * TRIB_MILLISECOND_NS);
    assert_int_equal(join.join.known.boot, 6);
    assert_true(join.join.roots > 0);
    drain(&d.server);
    welcome_behind(&d, fd, 7);
    go_on(&d.combiner, fd, 7);
    end_rank(&d, fd);
}

/* RECALL at the server before READY: the rank answers there, and paths are tried as the first time. */
static void recall__at_the_server(void **state)
{
    static const struct trib_message recall = {.kind = TRIB_MESSAGE_RECALL, .recall = {6, "the other one is lost"}};
    (void)state;
    struct detour d;
    struct trib_message join;
    begin_both(&d);
    kill_place(&d.combiner, run_behind(&d));
    int fd = take_join(&d.server, &join);
    welcome(&d.server, fd, 6);
    send_message(fd, &recall);
    assert_int_equal(expect(fd, TRIB_MESSAGE_JOIN).join.known.boot, 6);
    welcome(&d.server, fd, 7);
    go_on(&d.server, fd, 7);
    end_rank(&d, fd);
}

/* Sessions pass and packets do not: the rank lets all go, and waits for its combiner. */
static void paths__do_not_pass(void **state)
{
    (void)state;
    struct detour d;
    struct trib_message join;
    begin_both(&d);
    uint16_t port = port_of(&d.combiner);
    kill_place(&d.combiner, run_behind(&d));
    int fd = take_join(&d.server, &join);
    welcome(&d.server, fd, 6);
    const struct trib_message gone = expect(fd, TRIB_MESSAGE_GONE);
    assert_true(gone.note.is_lost);
    assert_non_null(strstr(gone.note.text, "do not pass between here and 127.0.0.1"));
    close(fd);
    assert_false(is_called(&d.server, AGAIN_MS + FIRST_MS));
    restart_place(&d.combiner, port);
    fd = take_join(&d.combiner, &join);
    welcome_behind(&d, fd, 7);
    go_on(&d.combiner, fd, 7);
    end_rank(&d, fd);
}

/* Before READY as well: some rank may have seen one. */
static void starting__goes_on_at_the_server(void **state)
{
    (void)state;
    struct detour d;
    struct trib_message join;
    begin_both(&d);
    start_rank(&d.combiner);
    int fd = take_join(&d.combiner, &join);
    welcome_behind(&d, fd, 5);
    (void)answer_message(fd);
    kill_place(&d.combiner, fd);
    fd = take_join(&d.server, &join);
    assert_false(join.join.was_ready);
    assert_int_equal(join.join.known.communicator, 7);
    welcome(&d.server, fd, 6);
    go_on(&d.server, fd, 6);
    end_rank(&d, fd);
}

/* The place of its switch was dead before; the config has named the server. */
static void begins__at_the_server(void **state)
{
    (void)state;
    struct detour d;
    struct trib_message join;
    begin_both(&d);
    (void)snprintf(d.combiner.config.server_address, sizeof d.combiner.config.server_address, "127.0.0.1:%u",
                   port_of(&d.server));
    close(d.combiner.listener);
    d.combiner.listener = -1;
    uint64_t begin_ns = trib_clock_ns();
    start_rank(&d.combiner);
    int fd = take_join_at_server(&d, &join, begin_ns);
    assert_false(join.join.was_ready);
    assert_int_equal(join.join.known.communicator, 0);
    welcome(&d.server, fd, 6);
    go_on(&d.server, fd, 6);
    end_rank(&d, fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gone__goes_on_at_the_server),
        cmocka_unit_test(restart__is_waited_for),
        cmocka_unit_test(gone__without_a_server),
        cmocka_unit_test(gone__both_are_named),
        cmocka_unit_test(server__does_not_take_the_rank),
        cmocka_unit_test(away__goes_on_at_the_server),
        cmocka_unit_test(server__is_lost_in_turn),
        cmocka_unit_test(recall__at_the_server),
        cmocka_unit_test(paths__do_not_pass),
        cmocka_unit_test(starting__goes_on_at_the_server),
        cmocka_unit_test(begins__at_the_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
