/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_priority.c: what a program says of its operations' priority reaches the node where combiners may be on the
 * way. Elsewhere the packet's field is a cap, so there it must not. */
#include "comm_harness.h"

#include "comm/endpoint.h"
#include "comm/state.h"
#include "io/clock.h"

/* Of the first operation that the node gets; with level 0 the host's ranks are summed before. */
static uint32_t priority_of(struct rank *rank)
{
    struct trib_operation operation = {.priority = UINT32_MAX};
    uint64_t until_ns = trib_clock_ns() + 10 * TRIB_SECOND_NS * patience();
    uint64_t number;
    bool is_there = false;

    while (!is_there && trib_clock_ns() < until_ns) {
        trib_endpoint_lock(rank->comm->endpoint);
        is_there = rank->comm->verbs->describe(rank->comm->node, 0, &operation, &number);
        trib_endpoint_unlock(rank->comm->endpoint);
    }
    return operation.priority;
}

static void priority_body(struct rank *rank)
{
    uint32_t expected = strcmp(rank->config.scheme, "atp") == 0 ? 300 : 0;
    bool is_last = rank->config.rank + 1 == rank->config.ranks;
    struct trib_request *request = NULL;
    int64_t value = 1;

    CHECK(rank, trib_comm_set_priority(rank->comm, 300) == TRIB_OK);
    CHECK(rank, trib_comm_set_priority(rank->comm, TRIB_PRIORITY_MAX + 1) == TRIB_ERR_INVALID);
    CHECK(rank, strstr(trib_comm_error(rank->comm), "65536 is above 65535") != NULL);
    if (is_last) { /* all wait for it */
        (void)pthread_barrier_wait(rank->together);
    }
    CHECK(rank, trib_allreduce_start(rank->comm, &value, &value, 1, TRIB_INT64, TRIB_SUM, &request) == TRIB_OK);
    CHECK(rank, rank->config.rank != 0 || priority_of(rank) == expected);
    if (!is_last) {
        (void)pthread_barrier_wait(rank->together);
    }
    CHECK(rank, trib_request_wait(request) == TRIB_OK && value == rank->config.ranks);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void use_atp(struct trib_config *config)
{
    (void)strcpy(config->scheme, "atp");
}

static void use_hosts(struct trib_config *config)
{
    use_atp(config);
    config->level0 = true;
    (void)strcpy(config->host_id, config->rank < 2 ? "left" : "right");
}

static void priority__is_of_operations_at_combiners(void **state)
{
    (void)state;
    struct rank ranks[3];
    run_ranks(ranks, 2, use_atp, priority_body);
    expect_good(ranks, 2);
    run_ranks(ranks, 3, use_hosts, priority_body);
    expect_good(ranks, 3);
}

static void priority__of_other_schemes_is_none(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, NULL, priority_body);
    expect_good(ranks, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priority__is_of_operations_at_combiners),
        cmocka_unit_test(priority__of_other_schemes_is_none),
    };
    keeper_open();
    switch_command('2');
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    begin_no_box();
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
