/* SPDX-License-Identifier: Apache-2.0 */
/* test_ping.c: what counts as silence of the process at the other end of a connection. Mirrors
 * src/control/words/ping.c; what ranks and switches make of it: test_silent.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/words/ping.h"
#include "io/clock.h"

/* A connection on which all bytes have arrived. */
static int make_pair(int *other)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    *other = fds[1];
    return fds[0];
}

static void ask(struct trib_ping *ping, int fd, uint64_t now_ns)
{
    struct trib_message question;
    uint64_t number = ping->number;
    trib_ping_ask(ping, fd, now_ns, &question);
    assert_int_equal(question.kind, TRIB_MESSAGE_PING);
    assert_int_equal(question.ping.number, number);
}

static void silence__is_what_arrived_and_is_not_answered(void **state)
{
    (void)state;
    struct trib_ping ping;
    int other;
    int fd = make_pair(&other);
    trib_ping_init(&ping, 0);
    assert_int_equal(ping.next_ns, TRIB_NEVER);
    trib_ping_begin(&ping, 7 * TRIB_SECOND_NS);
    for (uint64_t s = 7; s < 17; s++) {
        assert_int_equal(ping.next_ns, s * TRIB_SECOND_NS);
        ask(&ping, fd, s * TRIB_SECOND_NS);
        assert_false(trib_ping_is_silent(&ping, 10 * TRIB_SECOND_NS));
        trib_ping_begin(&ping, 3); /* it is asking */
    }
    ask(&ping, fd, 17 * TRIB_SECOND_NS);
    assert_true(trib_ping_is_silent(&ping, 10 * TRIB_SECOND_NS));
    assert_int_equal(ping.since_ns, 7 * TRIB_SECOND_NS);
    trib_ping_heard(&ping, TRIB_NEVER);
    assert_false(trib_ping_is_silent(&ping, 10 * TRIB_SECOND_NS));
    assert_int_equal(ping.next_ns, TRIB_NEVER);
    close(fd);
    close(other);
}

/* A short limit leaves time for three answers all the same. */
static void silence__is_three_questions_at_least(void **state)
{
    (void)state;
    struct trib_ping ping;
    int other;
    int fd = make_pair(&other);
    trib_ping_init(&ping, 0);
    for (uint32_t i = 0; i < 3; i++) {
        ask(&ping, fd, i);
        assert_false(trib_ping_is_silent(&ping, 1));
    }
    ask(&ping, fd, 3);
    assert_true(trib_ping_is_silent(&ping, 1));
    close(fd);
    close(other);
}

/* A process that was stopped itself has asked once, however late it looks. */
static void silence__of_the_one_who_asks_does_not_count(void **state)
{
    (void)state;
    struct trib_ping ping;
    int other;
    int fd = make_pair(&other);
    trib_ping_init(&ping, 0);
    ask(&ping, fd, TRIB_SECOND_NS);
    ask(&ping, fd, 3600 * TRIB_SECOND_NS);
    assert_int_equal(ping.silent, 1);
    assert_int_equal(ping.next_ns, 3601 * TRIB_SECOND_NS);
    close(fd);
    close(other);
}

/* What the other kernel has not confirmed may be on a link that is cut: that is the kernel's business. */
static void silence__of_a_link_does_not_count(void **state)
{
    (void)state;
    struct trib_ping ping;
    char bytes[100] = "";
    int other;
    int fd = make_pair(&other);
    trib_ping_init(&ping, 0);
    ask(&ping, fd, 0);
    assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes); /* unread: of this kind of socket not arrived */
    for (uint32_t i = 1; i < 20; i++) {
        ask(&ping, fd, i * TRIB_SECOND_NS);
    }
    assert_int_equal(ping.silent, 0);
    ask(&ping, -1, 20 * TRIB_SECOND_NS);
    assert_int_equal(ping.silent, 0);
    close(fd);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence__is_what_arrived_and_is_not_answered),
        cmocka_unit_test(silence__is_three_questions_at_least),
        cmocka_unit_test(silence__of_the_one_who_asks_does_not_count),
        cmocka_unit_test(silence__of_a_link_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
