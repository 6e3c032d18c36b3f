/* SPDX-License-Identifier: Apache-2.0 */
/* test_silent.c: switches whose process is stopped while their machine answers, at every place that a rank waits for:
 * its own switch, the top of a tree, the child of one. And what is no lost switch: one that is slow, and a rank that was
 * stopped itself. Mirrors src/comm/silent.c, src/control/jobs/ping.c. */
#include "comm/endpoint.h"
#include "comm_harness.h"

#include "comm/state.h"

#define RANKS 4U
#define GAP_NS (20 * TRIB_MILLISECOND_NS)

/* Questions follow each other quickly here; ten of them are the switch timeout. */
static void ask_often(struct rank *rank)
{
    trib_endpoint_lock(rank->comm->endpoint);
    rank->comm->ping.gap_ns = GAP_NS * patience();
    trib_endpoint_unlock(rank->comm->endpoint);
}

static void short_times(struct trib_config *config)
{
    config->switch_timeout_ns = 10 * GAP_NS * patience();
}

static void with_fallback(struct trib_config *config)
{
    short_times(config);
    config->fallback = true;
}

static void by_child(struct trib_config *config)
{
    short_times(config);
    (void)snprintf(config->switch_address, sizeof config->switch_address, "127.0.0.1:%u",
                   config->rank % 2 == 1 ? child_port : switch_port);
}

static void by_child_with_fallback(struct trib_config *config)
{
    by_child(config);
    config->fallback = true;
}

/* The first operation runs, then rank 0 has the switch do as `command` says. */
static void begin(struct rank *rank, char command)
{
    ask_often(rank);
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0 && command != '\0') {
        switch_command(command);
    }
    (void)pthread_barrier_wait(rank->together);
}

static void expect_sum(struct rank *rank)
{
    int32_t value = 1 << rank->config.rank;
    CHECK(rank, trib_allreduce(rank->comm, &value, &value, 1, TRIB_INT32, TRIB_SUM) == TRIB_OK);
    CHECK(rank, value == (1 << rank->config.ranks) - 1);
}

static char stopped; /* 's': the top; 'S': its child */

static void gone_body(struct rank *rank)
{
    char name[64];
    begin(rank, stopped);
    uint64_t begin_ns = trib_clock_ns();
    enum trib_status status = trib_barrier(rank->comm);
    const char *text = trib_comm_error(rank->comm);
    (void)snprintf(name, sizeof name, "127.0.0.1:%u", stopped == 's' ? switch_port : child_port);
    /* One rank's time is up first; the switch that runs, if one does, may name it to the others. */
    CHECK(rank, status == TRIB_ERR_SWITCH || (stopped == 'S' && status == TRIB_ERR_TIMEOUT));
    CHECK(rank, says(text, name) && says(text, "its process does not answer"));
    (void)snprintf(rank->error, sizeof rank->error, "%s", text);
    CHECK(rank, trib_clock_ns() - begin_ns < 20 * TRIB_SECOND_NS * patience());
    (void)trib_comm_close(rank->comm);
}

static void stop__names_the_switch(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    stopped = 's';
    run_ranks(ranks, RANKS, short_times, gone_body);
    switch_command('r');
    expect_good(ranks, RANKS);
}

static void moves_body(struct rank *rank)
{
    struct trib_comm_stats stats;
    begin(rank, stopped);
    expect_sum(rank);
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.moved == 1);
    (void)snprintf(rank->error, sizeof rank->error, "moved %llu times; %s", (unsigned long long)stats.moved,
                   trib_comm_error(rank->comm));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void stop__begins_the_fallback(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    stopped = 's';
    run_ranks(ranks, RANKS, with_fallback, moves_body);
    switch_command('r');
    expect_good(ranks, RANKS);
    ranks_a_host = 2; /* ranks that lead no host have no node that waits, but wait as well */
    run_ranks(ranks, RANKS, with_fallback, moves_body);
    ranks_a_host = 0;
    switch_command('r');
    expect_good(ranks, RANKS);
}

static bool has_moved(struct rank *rank)
{
    struct trib_comm_stats stats;
    trib_comm_stats(rank->comm, &stats);
    return stats.moved > 0;
}

/* Rank 3 has nothing to wait for while the switch is stopped, and the others move. When the switch runs again it does not
 * take them for dead: it lets rank 3 go, which follows. */
static void idle_body(struct rank *rank)
{
    struct trib_request *request = NULL;
    int32_t value = 1 << rank->config.rank;
    begin(rank, 's');
    if (rank->config.rank != 3) {
        CHECK(rank, trib_allreduce_start(rank->comm, &value, &value, 1, TRIB_INT32, TRIB_SUM, &request) == TRIB_OK);
        for (uint32_t i = 0; i < 10000 * patience() && !has_moved(rank); i++) {
            (void)usleep(1000);
        }
        CHECK(rank, has_moved(rank));
    }
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 3) {
        CHECK(rank, !has_moved(rank));
        switch_command('r');
        CHECK(rank, trib_allreduce_start(rank->comm, &value, &value, 1, TRIB_INT32, TRIB_SUM, &request) == TRIB_OK);
    }
    CHECK(rank, request != NULL && trib_request_wait(request) == TRIB_OK && value == 15);
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    (void)trib_comm_close(rank->comm);
}

static void stop__idle_rank_follows(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, with_fallback, idle_body);
    expect_good(ranks, RANKS);
}

static void made_body(struct rank *rank)
{
    static const uint32_t all[] = {0, 1, 2, 3};
    struct trib_comm *made = NULL;
    begin(rank, 's');
    CHECK(rank, trib_comm_subset(rank->comm, all, RANKS, 0, &made, rank->error) == TRIB_OK);
    if (made != NULL) {
        CHECK(rank, trib_barrier(made) == TRIB_OK);
        CHECK(rank, trib_comm_close(made) == TRIB_OK);
    }
    expect_sum(rank);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void stop__takes_along_what_is_being_made(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, with_fallback, made_body);
    switch_command('r');
    expect_good(ranks, RANKS);
}

/* ---- trees ---- */

static void tree__is_named_wherever_it_stops(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    switch_command('c');
    stopped = 's';
    run_ranks(ranks, RANKS, by_child, gone_body);
    switch_command('r');
    expect_good(ranks, RANKS);
    stopped = 'S';
    run_ranks(ranks, RANKS, by_child, gone_body);
    switch_command('R');
    expect_good(ranks, RANKS);
}

static void tree__begins_the_fallback(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    switch_command('c');
    stopped = 's';
    run_ranks(ranks, RANKS, by_child_with_fallback, moves_body);
    switch_command('r');
    expect_good(ranks, RANKS);
    stopped = 'S';
    run_ranks(ranks, RANKS, by_child_with_fallback, moves_body);
    switch_command('R');
    expect_good(ranks, RANKS);
}

/* ---- what is no lost switch ---- */

static void patient(struct trib_config *config)
{
    config->switch_timeout_ns = 60 * TRIB_SECOND_NS * patience();
}

/* It is silent for a few questions. */
static void slow_body(struct rank *rank)
{
    begin(rank, 's');
    if (rank->config.rank == 0) {
        (void)usleep((useconds_t)(5 * GAP_NS * patience() / 1000));
        switch_command('r');
    }
    expect_sum(rank);
    trib_endpoint_lock(rank->comm->endpoint);
    CHECK(rank, rank->comm->stats.reregistrations == 0);
    trib_endpoint_unlock(rank->comm->endpoint);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void slow__switch_is_not_lost(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, patient, slow_body);
    expect_good(ranks, RANKS);
}

/* Its time goes by while it does nothing; it has asked once. */
static void stopped_rank_body(struct rank *rank)
{
    begin(rank, '\0');
    if (rank->config.rank == 1) {
        trib_endpoint_lock(rank->comm->endpoint);
        (void)usleep((useconds_t)(15 * GAP_NS * patience() / 1000));
        trib_endpoint_unlock(rank->comm->endpoint);
    }
    expect_sum(rank);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void stopped__rank_loses_no_switch(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, short_times, stopped_rank_body);
    expect_good(ranks, RANKS);
}

/* Rank 0 is late by more than the switch timeout, and has the control plane. */
static void nobody_is_asked_body(struct rank *rank)
{
    begin(rank, '\0');
    if (rank->config.rank == 0) {
        (void)usleep((useconds_t)(15 * GAP_NS * patience() / 1000));
    }
    expect_sum(rank);
    trib_endpoint_lock(rank->comm->endpoint);
    CHECK(rank, rank->comm->ping.number == 0);
    trib_endpoint_unlock(rank->comm->endpoint);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void no_box__rank_is_not_asked(void **state)
{
    (void)state;
    struct rank ranks[2];
    begin_no_box();
    run_ranks(ranks, 2, short_times, nobody_is_asked_body);
    no_box = false;
    expect_good(ranks, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow__switch_is_not_lost),
        cmocka_unit_test(stopped__rank_loses_no_switch),
        cmocka_unit_test(stop__names_the_switch),
        cmocka_unit_test(stop__begins_the_fallback),
        cmocka_unit_test(stop__takes_along_what_is_being_made),
        cmocka_unit_test(stop__idle_rank_follows),
        cmocka_unit_test(tree__is_named_wherever_it_stops),
        cmocka_unit_test(tree__begins_the_fallback),
        cmocka_unit_test(no_box__rank_is_not_asked),
    };
    ping_gap_ns = GAP_NS * patience();
    switch_join_timeout_ns = 2 * TRIB_SECOND_NS * patience();
    keeper_open();
    switch_command('2');
    return cmocka_run_group_tests(tests, NULL, NULL);
}
