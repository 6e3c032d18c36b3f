/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_join.c: what goes wrong while communicators are made, over a real switch: each ends in bounded time, with a
 * cause. What is not about switches is run again in the shared memory of one host, and without a switch. Mirrors
 * src/comm/join.c and session_client.c; what goes wrong later is in test_comm_failure.c. */
#include "comm_harness.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "comm/state.h"
#include "host/segment.h"
#include "io/units.h"
#include "schemes/schemes.h"
#include "waited.h"

#define RANKS 3U

static char error[TRIB_ERROR_TEXT_MAX];

/* A port that nobody listens on. */
static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    (void)close(fd);
    return ntohs(address.sin_port);
}

static void create__names_the_switch_that_is_not_there(void **state)
{
    (void)state;
    struct trib_config config;
    struct trib_comm *comm = NULL;
    char expected[200];
    uint16_t port = free_port();
    rank_config(&config, 0, 1);
    (void)snprintf(config.switch_address, sizeof config.switch_address, "127.0.0.1:%u", port);
    config.join_timeout_ns = 300 * TRIB_MILLISECOND_NS;
    uint64_t begin = trib_clock_ns();
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_UNREACHABLE);
    uint64_t took = trib_clock_ns() - begin;
    (void)snprintf(expected, sizeof expected,
                   "switch 127.0.0.1:%u unreachable: connection refused; is `tributary switch` running there?", port);
    assert_string_equal(error, expected);
    assert_true(took >= 300 * TRIB_MILLISECOND_NS && took < 2 * TRIB_SECOND_NS * patience());
    assert_null(comm);
}

/* The answer came, and the deadline as well, before this rank looked at either. */
static void create__names_the_cause_though_its_time_is_over(void **state)
{
    (void)state;
    struct trib_config config;
    struct trib_comm *comm = NULL;
    rank_config(&config, 0, 1);
    (void)snprintf(config.switch_address, sizeof config.switch_address, "127.0.0.1:%u", free_port());
    config.join_timeout_ns = 1;
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_UNREACHABLE);
    assert_true(says(error, "unreachable: connection refused"));
}

/* A switch that comes 200 ms late is waited for. */
static void *late_switch(void *argument)
{
    (void)argument;
    (void)usleep(200000);
    switch_command('2');
    return NULL;
}

static void close_body(struct rank *rank)
{
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void create__waits_for_a_switch_that_comes(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    pthread_t thread;
    switch_command('k');
    assert_int_equal(pthread_create(&thread, NULL, late_switch, NULL), 0);
    run_ranks(ranks, RANKS, NULL, close_body);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_good(ranks, RANKS);
}

static void create__ends_when_not_all_come(void **state)
{
    (void)state;
    struct trib_config config;
    struct trib_comm *comm = NULL;
    rank_config(&config, 0, 2);
    config.join_timeout_ns = 300 * TRIB_MILLISECOND_NS * patience();
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_TIMEOUT);
    if (on_host) {
        assert_true(says_waited(error, "", 300, " for rank 1 of job") && says(error, "name a switch (TRIB_SWITCH="));
        rank_config(&config, 1, 2);
        config.join_timeout_ns = 300 * TRIB_MILLISECOND_NS * patience();
        assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_TIMEOUT);
        assert_true(says_waited(error, "", 300, " for rank 0 of job") && says(error, "name a switch (TRIB_SWITCH="));
        return;
    }
    if (no_box) { /* rank 0's own control plane knows who */
        assert_true(says_waited(error, "", 300, " for rank 1 of job"));
        return;
    }
    assert_true(says(error, "not all 2 ranks of job") && says(error, "): rank 1 is missing") &&
                says_waited_as_set(error, "; ", 300, "TRIB_JOIN_TIMEOUT", config.join_timeout_ns));
}

static void differ(struct trib_config *config)
{
    config->payload = config->rank == 1 ? 1024 : 1408;
}

static void create__names_settings_that_differ(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, differ, NULL);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(ranks[i].status, TRIB_ERR_SETTINGS);
        assert_true(says(ranks[i].error, "payload is") && says(ranks[i].error, "1024") && says(ranks[i].error, "1408"));
    }
}

/* One that comes when the others, rank 0 as well, have been told and have left: by then without a switch nobody would
 * listen. */
static void create__names_settings_that_differ_to_a_late_rank(void **state)
{
    delay_of[2] = 300000;
    create__names_settings_that_differ(state);
    delay_of[2] = 0;
}

static void twins(struct trib_config *config)
{
    config->rank = 0;
    config->join_timeout_ns = TRIB_SECOND_NS * patience();
}

static void create__refuses_a_rank_that_is_taken(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, twins, NULL);
    const struct rank *refused = ranks[0].status == TRIB_ERR_REFUSED ? &ranks[0] : &ranks[1];
    const struct rank *other = refused == &ranks[0] ? &ranks[1] : &ranks[0];
    assert_int_equal(refused->status, TRIB_ERR_REFUSED);
    assert_true(says(refused->error, on_host ? "two processes claim rank 0" : "already taken"));
    assert_int_equal(other->status,
                     on_host ? TRIB_ERR_REFUSED : TRIB_ERR_TIMEOUT); /* the host cannot tell them apart */
}

static void create__refuses_bad_configs(void **state)
{
    (void)state;
    struct trib_config config;
    struct trib_comm *comm = NULL;
    rank_config(&config, 0, 1);
    config.rank = 1;
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_INVALID);
    assert_string_equal(error, "rank: 1 is not below the number of ranks, 1");
    rank_config(&config, 0, 1);
    (void)snprintf(config.switch_address, sizeof config.switch_address, "127.0.0.1:99999");
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_INVALID);
    assert_true(strlen(error) > 0);
    assert_int_equal(trib_comm_create(&config, &comm, NULL), TRIB_ERR_INVALID);
}

/* Something that is no switch answers: a TCP server that says hello. */
static void *stranger(void *argument)
{
    int listener = *(int *)argument;
    int fd = accept(listener, NULL, NULL);
    static const char hello[] = "220 mail.example.org ESMTP ready, and more\r\n";
    if (fd >= 0) {
        ssize_t sent = write(fd, hello, sizeof hello);
        (void)sent;
        (void)close(fd);
    }
    return NULL;
}

static void create__does_not_hang_at_a_stranger(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    struct trib_config config;
    struct trib_comm *comm = NULL;
    pthread_t thread;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(pthread_create(&thread, NULL, stranger, &listener), 0);
    rank_config(&config, 0, 1);
    (void)snprintf(config.switch_address, sizeof config.switch_address, "127.0.0.1:%u", ntohs(address.sin_port));
    config.join_timeout_ns = 400 * TRIB_MILLISECOND_NS * patience();
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_UNREACHABLE);
    assert_true(says(error, "the answer is not from a tributary switch"));
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create__names_the_switch_that_is_not_there),
        cmocka_unit_test(create__names_the_cause_though_its_time_is_over),
        cmocka_unit_test(create__waits_for_a_switch_that_comes),
        cmocka_unit_test(create__ends_when_not_all_come),
        cmocka_unit_test(create__names_settings_that_differ),
        cmocka_unit_test(create__names_settings_that_differ_to_a_late_rank),
        cmocka_unit_test(create__refuses_a_rank_that_is_taken),
        cmocka_unit_test(create__refuses_bad_configs),
        cmocka_unit_test(create__does_not_hang_at_a_stranger),
    };
    const struct CMUnitTest host_tests[] = {
        cmocka_unit_test(create__ends_when_not_all_come),
        cmocka_unit_test(create__names_settings_that_differ),
        cmocka_unit_test(create__refuses_a_rank_that_is_taken),
    };
    const struct CMUnitTest no_box_tests[] = {
        cmocka_unit_test(create__ends_when_not_all_come),
        cmocka_unit_test(create__names_settings_that_differ),
        cmocka_unit_test(create__names_settings_that_differ_to_a_late_rank),
        cmocka_unit_test(create__refuses_a_rank_that_is_taken),
    };
    keeper_open();
    switch_command('2');
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    on_host = true;
    failed += cmocka_run_group_tests(host_tests, NULL, NULL);
    begin_no_box();
    return failed + cmocka_run_group_tests(no_box_tests, NULL, NULL);
}
