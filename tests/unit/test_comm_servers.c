/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_servers.c: ranks at a server and at a combiner below it, all real; the combiner is killed for good, or
 * stopped. No operation ends wrong or without an end, whatever communicators and hosts there are. test_comm_detour.c
 * has the steps of one rank. */
#include "comm/endpoint.h"
#include "comm_harness.h"

#include "comm/state.h"

#define RANKS 4U
#define GAP_NS (20 * TRIB_MILLISECOND_NS)
#define COUNT 20000U

/* Odd ranks, and with `swapped` the others, come by the combiner. */
static bool swapped;

static void at_both(struct trib_config *config)
{
    bool is_below = (config->rank % 2 == 1) != swapped;
    (void)snprintf(config->scheme, sizeof config->scheme, "atp");
    (void)snprintf(config->switch_address, sizeof config->switch_address, "127.0.0.1:%u",
                   is_below ? child_port : switch_port);
    config->join_timeout_ns = 5 * TRIB_SECOND_NS * patience();
}

static void with_fallback(struct trib_config *config)
{
    at_both(config);
    config->fallback = true;
    config->switch_timeout_ns = 600 * TRIB_MILLISECOND_NS * patience();
}

static void with_short_times(struct trib_config *config)
{
    at_both(config);
    config->switch_timeout_ns = 10 * GAP_NS * patience();
}

static void expect_sum(struct rank *rank, struct trib_comm *comm)
{
    static _Thread_local int32_t values[COUNT];
    uint32_t ranks = trib_comm_ranks(comm);
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = (int32_t)(i + trib_comm_rank(comm));
    }
    CHECK(rank, trib_allreduce(comm, values, values, COUNT, TRIB_INT32, TRIB_SUM) == TRIB_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK(rank, values[i] == (int32_t)(i * ranks + ranks * (ranks - 1) / 2));
    }
}

/* One operation has run, and what has become of the switches is known to all. */
static void command_all(struct rank *rank, char command)
{
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0) {
        switch_command(command);
    }
    (void)pthread_barrier_wait(rank->together);
}

static void end_well(struct rank *rank)
{
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void sums_body(struct rank *rank)
{
    expect_sum(rank, rank->comm);
    command_all(rank, 'K');
    uint64_t begin_ns = trib_clock_ns();
    expect_sum(rank, rank->comm);
    CHECK(rank, trib_clock_ns() - begin_ns < TRIB_SECOND_NS * patience());
    expect_sum(rank, rank->comm);
    end_well(rank);
}

static void gone__costs_a_moment(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    for (unsigned i = 0; i < 2; i++) {
        swapped = i == 1;
        switch_command('c');
        run_ranks(ranks, RANKS, at_both, sums_body);
        expect_good(ranks, RANKS);
    }
    swapped = false;
}

/* The leader of each host comes by the combiner, or the other rank does. */
static void gone__of_hosts(void **state)
{
    ranks_a_host = 2;
    gone__costs_a_moment(state);
    ranks_a_host = 0;
}

/* One communicator is there, another is made while the combiner is gone, and a third out of that. */
static void made_body(struct rank *rank)
{
    struct trib_comm *made[3] = {NULL};
    int32_t half = (int32_t)(rank->config.rank / 2);
    int32_t order = (int32_t)rank->config.rank;
    CHECK(rank, trib_comm_split(rank->comm, half, order, &made[0], rank->error) == TRIB_OK);
    expect_sum(rank, made[0]);
    command_all(rank, 'K');
    CHECK(rank, trib_comm_split(rank->comm, half, order, &made[1], rank->error) == TRIB_OK);
    CHECK(rank, made[1] != NULL && trib_comm_split(made[1], 0, order, &made[2], rank->error) == TRIB_OK);
    for (unsigned i = 0; i < 3; i++) {
        if (made[i] != NULL) {
            expect_sum(rank, made[i]);
            CHECK(rank, trib_comm_close(made[i]) == TRIB_OK);
        }
    }
    expect_sum(rank, rank->comm);
    end_well(rank);
}

static void gone__of_all_communicators(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    switch_command('c');
    run_ranks(ranks, RANKS, at_both, made_body);
    expect_good(ranks, RANKS);
}

static void closing_body(struct rank *rank)
{
    expect_sum(rank, rank->comm);
    command_all(rank, 'K');
    end_well(rank);
}

static void gone__while_all_close(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    switch_command('c');
    run_ranks(ranks, RANKS, at_both, closing_body);
    expect_good(ranks, RANKS);
}

/* The child of a fork has no part in it, and takes no socket away. */
static void fork_body(struct rank *rank)
{
    int status = 0;
    expect_sum(rank, rank->comm);
    command_all(rank, 'K');
    expect_sum(rank, rank->comm);
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 1) {
        pid_t child = fork();
        if (child == 0) {
            _exit(trib_barrier(rank->comm) == TRIB_ERR_INVALID ? 0 : 1);
        }
        CHECK(rank, child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    (void)pthread_barrier_wait(rank->together);
    expect_sum(rank, rank->comm);
    end_well(rank);
}

static void gone__then_a_fork(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    switch_command('c');
    run_ranks(ranks, RANKS, at_both, fork_body);
    expect_good(ranks, RANKS);
}

/* The combiner first, then the server: without a switch. */
static void fallback_body(struct rank *rank)
{
    struct trib_comm_stats stats;
    expect_sum(rank, rank->comm);
    command_all(rank, 'K');
    expect_sum(rank, rank->comm);
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.moved == 0);
    command_all(rank, 'k');
    expect_sum(rank, rank->comm);
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.moved == 1);
    end_well(rank);
}

static void gone__then_the_server(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    switch_command('c');
    run_ranks(ranks, RANKS, with_fallback, fallback_body);
    switch_command('2');
    expect_good(ranks, RANKS);
}

/* Its machine answers, and its process does not. The server has not seen the end of any session. */
static void silent_body(struct rank *rank)
{
    trib_endpoint_lock(rank->comm->endpoint);
    rank->comm->ping.gap_ns = GAP_NS * patience();
    trib_endpoint_unlock(rank->comm->endpoint);
    expect_sum(rank, rank->comm);
    command_all(rank, 'S');
    expect_sum(rank, rank->comm);
    end_well(rank);
}

static void stopped__is_left(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    switch_command('c');
    run_ranks(ranks, RANKS, with_short_times, silent_body);
    switch_command('R');
    expect_good(ranks, RANKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gone__costs_a_moment),       cmocka_unit_test(gone__of_hosts),
        cmocka_unit_test(gone__of_all_communicators), cmocka_unit_test(gone__while_all_close),
        cmocka_unit_test(gone__then_a_fork),          cmocka_unit_test(gone__then_the_server),
        cmocka_unit_test(stopped__is_left),
    };
    ping_gap_ns = GAP_NS * patience();
    child_combines = true;
    keeper_open();
    switch_command('2');
    return cmocka_run_group_tests(tests, NULL, NULL);
}
