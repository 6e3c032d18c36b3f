/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_progress.c: the bytes that a rank counts for its rate. Mirrors src/comm/progress.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "comm/layout.h"
#include "comm/progress.h"
#include "comm/state.h"
#include "core/operation.h"
#include "core/packet.h"
#include "core/quorum.h"

#define RANKS 4
#define PAYLOAD 1024

static struct trib_comm comm; /* not RUNNING, so nothing is sent */

static void open_comm(const char *scheme)
{
    static uint64_t node;

    comm = (struct trib_comm){.node = &node, .idle_since_ns = 5};
    comm.config.ranks = RANKS;
    comm.config.payload = PAYLOAD;
    comm.config.wire = TRIB_WIRE_FLOAT32;
    (void)snprintf(comm.config.scheme, sizeof comm.config.scheme, "%s", scheme);
}

static void expect_bytes(const struct trib_operation *operation, uint64_t elements, uint64_t packets)
{
    trib_comm_count_operation(&comm, operation, 12);
    assert_int_equal(comm.progress.bytes, 4 * elements + packets * TRIB_WIRE_EXTRA);
    assert_int_equal(comm.progress.busy_ns, 7);
}

static void bytes__of_one_tensor(void **state)
{
    const struct trib_operation operation = {.collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .count = 257};
    (void)state;
    open_comm("switchml");
    expect_bytes(&operation, 257, 2);
}

/* The list of ranks takes room in each payload. */
static void bytes__of_a_sum_that_may_lack_ranks(void **state)
{
    const struct trib_operation operation = {.collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .count = 256};
    (void)state;
    open_comm("panama:3/4");
    expect_bytes(&operation, 256, 2);
}

static void expect_shares(const char *scheme)
{
    static const uint64_t counts[RANKS] = {300, 0, 1, 256};
    struct trib_operation operation = {.collective = TRIB_REDUCE_SCATTER, .type = TRIB_FLOAT32, .count = 557};
    struct trib_session_config session;
    void *memory = malloc(trib_shares_size(RANKS));

    open_comm(scheme);
    trib_comm_describe_session(&comm, &session);
    uint64_t block = trib_session_data(&session) / 4;
    operation.shares = trib_shares_init(memory, &session, &operation, counts);
    expect_bytes(&operation, 557, (300 + block - 1) / block + 1 + (256 + block - 1) / block);
    free(memory);
}

static void bytes__of_shares(void **state)
{
    (void)state;
    expect_shares("switchml");
    expect_shares("panama:3/4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes__of_one_tensor),
        cmocka_unit_test(bytes__of_a_sum_that_may_lack_ranks),
        cmocka_unit_test(bytes__of_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
