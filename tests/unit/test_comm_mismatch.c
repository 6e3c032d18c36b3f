/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_mismatch.c: ranks that call different operations hear who called what (I10), over a real switch and on one
 * host. That no two of them ever meet is test_comm_failure.c's. */
#include "comm_harness.h"

/* Rank 3 calls something else than the others: all ranks hear who called what, in the words of the API. Not before all
 * are through the barrier: the end of the job would find a rank that runs late in it. */
static void other_call_body(struct rank *rank)
{
    static float buffers[4][1024];
    float *buffer = buffers[rank->config.rank];
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK && trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    enum trib_status status = rank->config.rank == 3
                                  ? trib_allreduce(rank->comm, buffer, buffer, 1024, TRIB_FLOAT32, TRIB_SUM)
                                  : trib_broadcast(rank->comm, buffer, 1024, TRIB_FLOAT32, 0);
    CHECK(rank, status == TRIB_ERR_MISMATCH);
    const char *text = trib_comm_error(rank->comm);
    CHECK(rank, says(text, "rank 3 called allreduce of 1,024 float32 (sum) as operation 2"));
    CHECK(rank, says(text, " called broadcast of 1,024 float32 from rank 0 as operation 2"));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_MISMATCH);
}

static void mismatch__names_both_calls_on_every_rank(void **state)
{
    (void)state;
    struct rank ranks[4];
    run_ranks(ranks, 4, NULL, other_call_body);
    expect_good(ranks, 4);
}

static void mismatch_body(struct rank *rank)
{
    static float buffers[2][600];
    float *buffer = buffers[rank->config.rank];
    enum trib_status status = rank->config.rank == 0
                                  ? trib_allreduce(rank->comm, buffer, buffer, 600, TRIB_FLOAT32, TRIB_SUM)
                                  : trib_allreduce(rank->comm, buffer, buffer, 500, TRIB_FLOAT32, TRIB_SUM);
    CHECK(rank, status == TRIB_ERR_MISMATCH);
    const char *text = trib_comm_error(rank->comm);
    CHECK(rank, says(text, "allreduce of 600 float32 (sum)") && says(text, "allreduce of 500 float32 (sum)"));
    CHECK(rank, trib_barrier(rank->comm) == TRIB_ERR_MISMATCH);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_MISMATCH);
}

static void call__different_operations_name_both(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, NULL, mismatch_body);
    expect_good(ranks, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mismatch__names_both_calls_on_every_rank),
        cmocka_unit_test(call__different_operations_name_both),
    };
    keeper_open();
    switch_command('2');
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    on_host = true;
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    begin_no_box();
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
