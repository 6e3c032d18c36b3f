/* SPDX-License-Identifier: Apache-2.0 */
/* test_gather.c: what rank 0 sends to the ranks of its host that it has waited for; here they are sockets. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/hello.h"
#include "host/host.h"
#include "io/clock.h"

/* The lines of all but the last rank fill a message. */
#define RANKS (TRIB_PASSING_MOST + 1U)

struct guest {
    int fd;
    int line[2];
};

struct opening {
    struct trib_config config;
    enum trib_status status;
};

static void *open_rank_0(void *argument)
{
    struct opening *opening = argument;
    struct trib_host *host = NULL;
    char error[TRIB_ERROR_TEXT_MAX];
    opening->status = trib_host_open(&opening->config, 0, NULL, NULL, &host, error);
    return NULL;
}

static void come(struct guest *guest, struct trib_config config, uint32_t rank)
{
    char error[TRIB_ERROR_TEXT_MAX];
    uint64_t deadline_ns = trib_clock_ns() + 10 * TRIB_SECOND_NS;
    enum trib_status status = TRIB_OK;
    config.rank = rank;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, guest->line), 0);
    const struct trib_rendezvous meeting = {.config = &config, .error = error, .own_line = guest->line[1]};
    do {
        guest->fd = trib_rendezvous_connect(&meeting, &status);
        assert_int_equal(status, TRIB_OK);
    } while (guest->fd < 0 && trib_clock_ns() < deadline_ns);
    assert_true(trib_rendezvous_say_hello(&meeting, guest->fd, deadline_ns));
}

/* The next message; false: rank 0 has closed. Returns the lines in it. */
static bool take_message(const struct guest *guest, uint32_t *lines)
{
    struct trib_answer answer = {0};
    struct trib_passing message = {.data = &answer, .bytes = sizeof answer};
    assert_true(trib_passing_wait(guest->fd, POLLIN, trib_clock_ns() + 10 * TRIB_SECOND_NS));
    bool is_there = trib_take_passed(guest->fd, &message) > 0;
    *lines = answer.kind == TRIB_ANSWER_LINES ? message.fd_count : 0;
    trib_passing_close(&message);
    return is_there;
}

static void take_lines(const struct guest *guest)
{
    uint32_t lines = 0;
    while (lines < RANKS - 1) {
        uint32_t more;
        assert_true(take_message(guest, &more));
        lines += more;
    }
    assert_int_equal(lines, RANKS - 1);
}

/* A rank that has all lines hangs up. */
static void lines__nothing_comes_behind_the_last(void **state)
{
    (void)state;
    static struct guest guests[RANKS];
    struct opening opening = {0};
    pthread_t rank_0;
    trib_config_init(&opening.config);
    opening.config.ranks = RANKS;
    (void)snprintf(opening.config.job, sizeof opening.config.job, "gather-%d", (int)getpid());
    assert_int_equal(pthread_create(&rank_0, NULL, open_rank_0, &opening), 0);
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        come(&guests[rank], opening.config, rank);
    }
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        take_lines(&guests[rank]);
    }
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        uint32_t lines;
        assert_false(take_message(&guests[rank], &lines));
        (void)close(guests[rank].fd);
        (void)close(guests[rank].line[0]);
        (void)close(guests[rank].line[1]);
    }
    (void)pthread_join(rank_0, NULL);
    assert_int_equal(opening.status, TRIB_ERR_PEER); /* they were no ranks, and have left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines__nothing_comes_behind_the_last)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
