/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_recall.c: a rank that is recalled: it is silent, answers on the same session, and goes on; in whatever state
 * that reaches it. The control plane's side is test_recall.c's. Mirrors src/comm/join.c. */
#include "session_script.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/packet.h"

/* Long enough for a node that is not suspended to probe; a rank that is right is silent for ever. */
#define SILENCE_MS 100

static void recall(int fd, uint32_t boot)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_RECALL, .recall = {boot, "switch 10.0.0.9:7470 is lost"}};
    send_message(fd, &message);
}

/* What it had said before has no effect there. */
static struct trib_message expect_join(int fd)
{
    struct trib_message message = answer_message(fd);
    while (message.kind != TRIB_MESSAGE_JOIN) {
        assert_int_not_equal(message.kind, TRIB_MESSAGE_NONE);
        message = answer_message(fd);
    }
    return message;
}

static void expect_no_connection(const struct script *s)
{
    struct pollfd listener = {.fd = s->listener, .events = POLLIN};
    assert_int_equal(poll(&listener, 1, 0), 0);
}

static void end_well(struct script *s, int fd)
{
    const struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_PEER, "so far"}};
    send_message(fd, &fail);
    end(s, TRIB_ERR_PEER, "so far", 5000);
    close(fd);
}

static void running__is_silent_and_comes_back(bool has_thread)
{
    uint8_t packet[TRIB_HEADER_SIZE + TRIB_PAYLOAD_MAX];
    struct script s;
    begin(&s);
    s.config.progress_thread = has_thread;
    start_rank(&s);
    int fd = run(&s);
    assert_true(recv(s.udp, packet, sizeof packet, 0) > 0); /* of the barrier */
    recall(fd, 5);
    const struct trib_message join = expect_join(fd);
    assert_int_equal(join.join.known.communicator, 7);
    assert_int_equal(join.join.known.boot, 5);
    assert_true(join.join.was_ready);
    drain(&s);
    struct pollfd udp = {.fd = s.udp, .events = POLLIN};
    assert_int_equal(poll(&udp, 1, SILENCE_MS), 0);
    welcome(&s, fd, 6);
    echo_path(&s);
    assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
    (void)expect(fd, TRIB_MESSAGE_REGISTER);
    ready(fd, 6);
    assert_true(recv(s.udp, packet, sizeof packet, 0) > 0);
    expect_no_connection(&s);
    end_well(&s, fd);
}

static void running__with_a_thread(void **state)
{
    (void)state;
    running__is_silent_and_comes_back(true);
}

static void running__without(void **state)
{
    (void)state;
    running__is_silent_and_comes_back(false);
}

/* A child has the connection as well, and hears nothing on it. */
static void running__beside_a_child(void **state)
{
    (void)state;
    for (unsigned is_after = 0; is_after < 2; is_after++) {
        struct script s;
        begin(&s);
        start_rank(&s);
        int fd = run(&s);
        if (is_after) {
            recall(fd, 5);
        }
        pid_t child = fork();
        if (child == 0) {
            (void)pause();
            _exit(0);
        }
        if (!is_after) {
            recall(fd, 5);
        }
        assert_true(child > 0);
        assert_int_equal(expect_join(fd).join.known.boot, 5);
        welcome(&s, fd, 6);
        echo_path(&s);
        assert_true(expect(fd, TRIB_MESSAGE_PATHS).paths.unicast);
        (void)expect(fd, TRIB_MESSAGE_REGISTER);
        expect_no_connection(&s);
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
        end_well(&s, fd);
    }
}

/* Starts a rank whose session goes as far as JOIN (0), WELCOME (1), REGISTER (2), READY (3). */
static int start_up_to(struct script *s, unsigned steps)
{
    struct trib_message join;
    begin(s);
    start_rank(s);
    int fd = take_join(s, &join);
    if (steps > 0) {
        welcome(s, fd, 5);
    }
    if (steps > 1) {
        echo_path(s);
        (void)expect(fd, TRIB_MESSAGE_PATHS);
        (void)expect(fd, TRIB_MESSAGE_REGISTER);
    }
    if (steps > 2) {
        ready(fd, 5);
    }
    return fd;
}

/* Before WELCOME, after WELCOME, after REGISTER: the rank brings the grant that it has. */
static void starting__brings_what_it_has(void **state)
{
    (void)state;
    for (unsigned steps = 0; steps < 3; steps++) {
        struct script s;
        struct trib_message join;
        int fd = start_up_to(&s, steps);
        recall(fd, 5);
        join = expect_join(fd);
        assert_int_equal(join.join.known.communicator, steps > 0 ? 7 : 0);
        assert_false(join.join.was_ready);
        welcome(&s, fd, 6);
        echo_path(&s);
        (void)expect(fd, TRIB_MESSAGE_PATHS);
        (void)expect(fd, TRIB_MESSAGE_REGISTER);
        expect_no_connection(&s);
        end_well(&s, fd);
    }
}

/* The rank's own limit ends before that of the control plane: the error has the missing ranks, by either way back; and
 * what was away before, for which they may have ended. */
static void returned__with_a_short_limit_hears_who_is_missing(void **state)
{
    const struct trib_message late = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_TIMEOUT, "ranks 1, 5 are missing"}};
    const struct trib_message away = {.kind = TRIB_MESSAGE_AWAY, .note = {.text = "switch B does not answer"}};
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        struct script s;
        struct trib_message message;
        begin(&s);
        hurry(&s);
        start_rank(&s);
        int fd = run(&s);
        if (way == 0) {
            recall(fd, 5);
            (void)expect_join(fd);
        } else {
            close(fd);
            fd = take_join(&s, &message);
        }
        if (way == 2) {
            send_message(fd, &away);
            close(fd);
            fd = take_join(&s, &message);
        }
        do {
            message = answer_message(fd);
        } while (message.kind == TRIB_MESSAGE_PING);
        assert_int_equal(message.kind, TRIB_MESSAGE_ABORT);
        assert_int_equal(message.fail.status, TRIB_ERR_TIMEOUT);
        send_message(fd, &late);
        end(&s, TRIB_ERR_TIMEOUT, " is back, but not all ranks of job default are; waited ", 4000);
        assert_non_null(strstr(s.error, "(TRIB_JOIN_TIMEOUT is "));
        assert_non_null(strstr(s.error, "): ranks 1, 5 are missing"));
        assert_int_equal(strstr(s.error, "missing; before that: switch B does not answer") != NULL, way == 2);
        close(fd);
    }
}

/* Nobody comes: it gives up when it would have, had it been away. */
static void recalled__and_no_more_ends_in_time(void **state)
{
    (void)state;
    struct script s;
    begin(&s);
    hurry(&s);
    start_rank(&s);
    int fd = run(&s);
    recall(fd, 5);
    (void)expect_join(fd);
    answer_until(fd, trib_clock_ns() + 20 * TRIB_SECOND_NS * patience());
    end(&s, TRIB_ERR_TIMEOUT, " is back, but not all ranks of job default are; waited ", 4000);
    close(fd);
}

/* The session breaks meanwhile: it comes by another one. */
static void recalled__and_lost_comes_again(void **state)
{
    (void)state;
    struct script s;
    struct trib_message join;
    begin(&s);
    start_rank(&s);
    int fd = run(&s);
    recall(fd, 5);
    (void)expect_join(fd);
    close(fd);
    fd = take_join(&s, &join);
    assert_int_equal(join.join.known.communicator, 7);
    end_well(&s, fd);
}

/* RECALL and the end of the session come in one piece: the control plane dies just then. */
static void recalled__and_lost_at_once_comes_again(void **state)
{
    (void)state;
    for (unsigned steps = 0; steps < 4; steps++) {
        struct script s;
        struct trib_message join;
        int fd = start_up_to(&s, steps);
        int one = 1;
        assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &one, sizeof one), 0);
        recall(fd, 5);
        close(fd);
        fd = take_join(&s, &join);
        assert_int_equal(join.join.known.communicator, steps > 0 ? 7 : 0);
        assert_int_equal(join.join.was_ready, steps > 2);
        end_well(&s, fd);
    }
}

/* Without a switch the end of the session is that of rank 0. RECALL is not. */
static void no_box__comes_back(void **state)
{
    (void)state;
    for (unsigned is_running = 0; is_running < 2; is_running++) {
        struct script s;
        struct trib_message join;
        begin(&s);
        (void)snprintf(s.config.rendezvous, sizeof s.config.rendezvous, "%s", s.config.switch_address);
        s.config.switch_address[0] = '\0';
        s.config.rank = 1;
        s.config.ranks = 2;
        start_rank(&s);
        int fd = take_join(&s, &join);
        struct trib_message message = script_welcome(&s, 5);
        message.welcome.root_count = 1;
        message.welcome.no_box = true;
        message.welcome.root[0].len = sizeof message.welcome.root[0].storage;
        assert_int_equal(
            getsockname(s.udp, (struct sockaddr *)&message.welcome.root[0].storage, &message.welcome.root[0].len), 0);
        send_message(fd, &message);
        echo_path(&s);
        (void)expect(fd, TRIB_MESSAGE_PATHS);
        (void)expect(fd, TRIB_MESSAGE_REGISTER);
        if (is_running) {
            ready(fd, 5);
        }
        recall(fd, 5);
        join = expect_join(fd);
        assert_int_equal(join.join.known.communicator, 7);
        assert_int_not_equal(join.join.root_port, 0);
        message.welcome.grant.boot = 6;
        drain(&s);
        send_message(fd, &message);
        echo_path(&s);
        (void)expect(fd, TRIB_MESSAGE_PATHS);
        (void)expect(fd, TRIB_MESSAGE_REGISTER);
        end_well(&s, fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running__with_a_thread),
        cmocka_unit_test(running__without),
        cmocka_unit_test(running__beside_a_child),
        cmocka_unit_test(starting__brings_what_it_has),
        cmocka_unit_test(returned__with_a_short_limit_hears_who_is_missing),
        cmocka_unit_test(recalled__and_no_more_ends_in_time),
        cmocka_unit_test(recalled__and_lost_comes_again),
        cmocka_unit_test(recalled__and_lost_at_once_comes_again),
        cmocka_unit_test(no_box__comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
