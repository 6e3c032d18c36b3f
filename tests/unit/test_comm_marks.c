/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_marks.c: jobs of panama over a real switch and real sockets, one rank's way marked by the kernel: does each
 * rank know which of the marks in results are its own? What a window makes of them is test_panama_marks.c's, what a
 * switch makes of them test_plane_marks.c's. Mirrors src/comm/paths.c: a rank learns its number from the echo of its
 * path probe. */
#include "comm/endpoint.h"
#include "comm_harness.h"

#include <netinet/in.h>

#include "comm/state.h"

#define RANKS 6U
#define MARKED 4U /* whose way is */
#define COUNT 100000U

static void use_panama(struct trib_config *config)
{
    (void)snprintf(config->scheme, sizeof config->scheme, "panama");
    config->backlog = 0; /* only the kernel marks */
}

/* From now on all that this rank sends has been where queues are long (CE). */
static void mark_way(struct trib_endpoint *endpoint)
{
    const int experienced = 3;
    trib_endpoint_lock(endpoint);
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        int fd = trib_port_fd(endpoint->shards[i].port);
        (void)setsockopt(fd, IPPROTO_IP, IP_TOS, &experienced, sizeof experienced);
    }
    trib_endpoint_unlock(endpoint);
}

static uint64_t marked_after_allreduce(struct rank *rank)
{
    struct trib_comm_stats stats;
    float *tensor = calloc(COUNT, sizeof *tensor);
    CHECK(rank, tensor != NULL);
    CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, COUNT, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    free(tensor);
    trib_comm_stats(rank->comm, &stats);
    return stats.results_marked;
}

static void mark_body(struct rank *rank)
{
    CHECK(rank, marked_after_allreduce(rank) == 0);
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == MARKED) {
        mark_way(rank->comm->endpoint);
    }
    (void)pthread_barrier_wait(rank->together);
    uint64_t marked = marked_after_allreduce(rank);
    CHECK(rank, rank->config.rank == MARKED ? marked > 100 : marked == 0);
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void expect_own_marks(uint32_t a_host)
{
    struct rank ranks[RANKS];
    ranks_a_host = a_host;
    run_ranks(ranks, RANKS, use_panama, mark_body);
    expect_good(ranks, RANKS);
    ranks_a_host = 0;
}

static void marks__are_taken_by_whose_way_it_is(void **state)
{
    (void)state;
    expect_own_marks(0);
}

/* One of each two sends for both, so that the switch has other numbers for them than their ranks. */
static void marks__of_hosts_are_taken_by_their_number(void **state)
{
    (void)state;
    expect_own_marks(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks__are_taken_by_whose_way_it_is),
        cmocka_unit_test(marks__of_hosts_are_taken_by_their_number),
    };
    const struct CMUnitTest no_box_tests[] = {
        cmocka_unit_test(marks__are_taken_by_whose_way_it_is),
    };
    keeper_open();
    switch_command('2');
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    begin_no_box();
    return failed + cmocka_run_group_tests(no_box_tests, NULL, NULL);
}
