/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_threads.c: a job of panama over a real switch of 1, 2 and 4 threads, each of which is a root: other
 * fragments go to other roots, and the sums have the same bits. That they do not depend on windows, marks and losses is
 * test_panama.c's. */
#include "comm_harness.h"

#include "core/prng.h"

#define RANKS 5U
#define COUNT 100003U

static uint32_t threads; /* of the switch */
static float *first_sum; /* that of the first switch */
static float tensors[RANKS][COUNT];

/* Two ranks' large values take each other away; what is left of the small ones goes by when they were added. */
static void make_tensors(void)
{
    static const float scales[] = {1e-3F, 1.0F, 300.0F};
    struct trib_prng prng = {.state = 3};
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t plus = (uint32_t)trib_prng_below(&prng, RANKS);
        uint32_t minus = (plus + 1 + (uint32_t)trib_prng_below(&prng, RANKS - 1)) % RANKS;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            tensors[rank][i] = scales[trib_prng_below(&prng, 3)] * (float)(1 + trib_prng_below(&prng, 1000));
        }
        tensors[plus][i] = 1e6F * (float)(1 + trib_prng_below(&prng, 1000));
        tensors[minus][i] = -tensors[plus][i];
    }
}

/* Elements whose sum is another one from the last rank to the first. */
static uint32_t count_that_order_matters_to(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        float up = 0;
        float down = 0;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            up += tensors[rank][i];
            down += tensors[RANKS - 1 - rank][i];
        }
        count += up != down;
    }
    return count;
}

static void use_panama(struct trib_config *config)
{
    (void)snprintf(config->scheme, sizeof config->scheme, "panama");
}

static void sum_body(struct rank *rank)
{
    struct trib_comm_stats stats;
    uint32_t number = rank->config.rank;
    float *sum = calloc(COUNT, sizeof *sum);
    CHECK(rank, sum != NULL);
    /* With other threads another one comes last, and first. */
    (void)usleep(((number + threads) % RANKS) * 2000);
    CHECK(rank, trib_allreduce(rank->comm, tensors[number], sum, COUNT, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.roots == threads);
    if (number == 0 && first_sum == NULL) {
        first_sum = sum;
    }
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, memcmp(sum, first_sum, COUNT * sizeof *sum) == 0);
    if (sum != first_sum) {
        free(sum);
    }
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void sums__have_the_same_bits_with_any_number_of_threads(void **state)
{
    static const uint32_t counts[] = {1, 2, 4, 1};
    (void)state;
    make_tensors();
    assert_true(count_that_order_matters_to() > COUNT / 2);
    for (uint32_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct rank ranks[RANKS];
        threads = counts[i];
        if (i != 0) {
            switch_command('k');
        }
        switch_command((char)('0' + threads));
        run_ranks(ranks, RANKS, use_panama, sum_body);
        expect_good(ranks, RANKS);
    }
    free(first_sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums__have_the_same_bits_with_any_number_of_threads),
    };
    keeper_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
