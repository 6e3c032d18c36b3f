/* SPDX-License-Identifier: Apache-2.0 */
/* test_collectives.c: reduce, allgather, reduce-scatter, their uneven forms, and groups, over a real switch and real
 * sockets: values, places, what a rank's link carries, and what is refused. What is not about packets is run again in
 * the shared memory of one host. Mirrors src/comm/collectives.c. */
#include "comm_harness.h"

#define RANKS 4U
#define SHARES 5

/* Elements of each rank's share: none, one, a packet and an element, all in one place. */
static const uint64_t uneven[SHARES][RANKS] = {
    {0, 0, 0, 0}, {1, 0, 353, 20}, {0, 5000, 0, 1}, {700, 701, 702, 4000}, {352, 352, 352, 352}};

static int32_t value_at(uint32_t rank, uint64_t i)
{
    return (int32_t)((i * 7 + rank * 3) % 23) - 11;
}

static int32_t sum_at(uint32_t ranks, uint64_t i)
{
    int32_t sum = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        sum += value_at(rank, i);
    }
    return sum;
}

/* Small whole numbers: exact in every form, in any order. */
static void fill(float *tensor, uint64_t count, uint32_t rank, uint64_t first)
{
    for (uint64_t i = 0; i < count; i++) {
        tensor[i] = (float)value_at(rank, first + i);
    }
}

static bool is_sum(const float *tensor, uint64_t count, uint32_t ranks, uint64_t first, float divisor)
{
    for (uint64_t i = 0; i < count; i++) {
        if (tensor[i] != (float)sum_at(ranks, first + i) / divisor) {
            return false;
        }
    }
    return true;
}

/* Three elements more than needed, to see what is written behind. */
static float *tensor_of(uint64_t count)
{
    float *tensor = malloc((count + 3) * sizeof *tensor);
    if (tensor == NULL) {
        abort();
    }
    for (uint64_t i = 0; i < count + 3; i++) {
        tensor[i] = 12345;
    }
    return tensor;
}

static bool is_untouched(const float *tensor, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (tensor[i] != 12345) {
            return false;
        }
    }
    return true;
}

static void close_rank(struct rank *rank)
{
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

/* ---- reduce ---- */

static void check_reduce(struct rank *rank, uint64_t count, uint32_t root)
{
    uint32_t ranks = rank->config.ranks;
    bool is_root = rank->config.rank == root;
    float *send = tensor_of(count), *recv = tensor_of(count);
    fill(send, count, rank->config.rank, 0);
    CHECK(rank, trib_reduce(rank->comm, send, recv, count, TRIB_FLOAT32, TRIB_SUM, root) == TRIB_OK);
    CHECK(rank, is_root ? is_sum(recv, count, ranks, 0, 1) : is_untouched(recv, count));
    CHECK(rank, is_untouched(recv + count, 3));
    CHECK(rank,
          trib_reduce(rank->comm, send, is_root ? send : NULL, count, TRIB_FLOAT32, TRIB_AVERAGE, root) == TRIB_OK);
    CHECK(rank, !is_root || is_sum(send, count, ranks, 0, (float)ranks));
    free(send);
    free(recv);
}

static void reduce_body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->config.ranks; root++) {
        check_reduce(rank, 0, root);
        check_reduce(rank, 1, root);
        check_reduce(rank, 5000, root);
    }
    close_rank(rank);
}

/* ---- shares ---- */

struct shares {
    const uint64_t *counts; /* NULL: all have `even` */
    uint64_t even, whole, before, mine;
};

static struct shares shares_of(const struct rank *rank, const uint64_t *counts, uint64_t even)
{
    struct shares s = {.counts = counts, .even = even};
    for (uint32_t r = 0; r < rank->config.ranks; r++) {
        uint64_t count = counts != NULL ? counts[r] : even;
        s.whole += count;
        s.before += r < rank->config.rank ? count : 0;
        s.mine = r == rank->config.rank ? count : s.mine;
    }
    return s;
}

static enum trib_status gather(const struct rank *rank, const struct shares *s, const float *send, float *recv)
{
    return s->counts != NULL ? trib_allgather_uneven(rank->comm, send, recv, s->counts, TRIB_FLOAT32)
                             : trib_allgather(rank->comm, send, recv, s->even, TRIB_FLOAT32);
}

static enum trib_status scatter(const struct rank *rank, const struct shares *s, const float *send, float *recv)
{
    return s->counts != NULL ? trib_reduce_scatter_uneven(rank->comm, send, recv, s->counts, TRIB_FLOAT32, TRIB_AVERAGE)
                             : trib_reduce_scatter(rank->comm, send, recv, s->even, TRIB_FLOAT32, TRIB_AVERAGE);
}

/* The tensor is that of rank 0; each brings its share of it. */
static bool is_gathered(const float *tensor, const struct shares *s)
{
    for (uint64_t i = 0; i < s->whole; i++) {
        if (tensor[i] != (float)value_at(0, i)) {
            return false;
        }
    }
    return is_untouched(tensor + s->whole, 3);
}

static void check_shares(struct rank *rank, const struct shares *s)
{
    uint32_t ranks = rank->config.ranks;
    float *whole = tensor_of(s->whole), *share = tensor_of(s->mine);
    fill(share, s->mine, 0, s->before);
    CHECK(rank, gather(rank, s, share, whole) == TRIB_OK);
    CHECK(rank, is_gathered(whole, s));
    free(whole);
    whole = tensor_of(s->whole);
    fill(whole + s->before, s->mine, 0, s->before);
    CHECK(rank, gather(rank, s, whole + s->before, whole) == TRIB_OK);
    CHECK(rank, is_gathered(whole, s));

    fill(whole, s->whole, rank->config.rank, 0);
    CHECK(rank, scatter(rank, s, whole, share) == TRIB_OK);
    CHECK(rank, is_sum(share, s->mine, ranks, s->before, (float)ranks) && is_untouched(share + s->mine, 3));
    CHECK(rank, scatter(rank, s, whole, whole + s->before) == TRIB_OK);
    CHECK(rank, is_sum(whole + s->before, s->mine, ranks, s->before, (float)ranks));
    CHECK(rank, is_untouched(whole + s->whole, 3));
    free(whole);
    free(share);
}

static void shares_body(struct rank *rank)
{
    static const uint64_t evens[] = {0, 1, 352, 353, 5000};
    for (size_t i = 0; i < sizeof evens / sizeof evens[0]; i++) {
        struct shares s = shares_of(rank, NULL, evens[i]);
        check_shares(rank, &s);
    }
    for (size_t i = 0; i < SHARES; i++) {
        struct shares s = shares_of(rank, uneven[i], 0);
        check_shares(rank, &s);
    }
    close_rank(rank);
}

/* ---- groups ---- */

#define GROUP 100

/* Everything in one request, of which some operations have uneven shares; the callers' arrays are theirs again at
 * once. */
static void group_body(struct rank *rank)
{
    uint64_t counts[RANKS] = {3, 0, 5, 400};
    struct shares s = shares_of(rank, counts, 0);
    static float space[RANKS][3][GROUP][512];
    float(*in)[512] = space[rank->config.rank][0], (*out)[512] = space[rank->config.rank][1];
    float(*parts)[512] = space[rank->config.rank][2];
    struct trib_call calls[GROUP];
    struct trib_request *request = NULL;
    for (uint32_t i = 0; i < GROUP; i++) {
        bool gathers = i % 3 == 1;
        fill(in[i], 512, gathers ? 0 : rank->config.rank, gathers ? s.before : 0);
        calls[i] = (struct trib_call){
            .collective = (enum trib_collective[]){TRIB_ALLREDUCE, TRIB_ALLGATHER, TRIB_REDUCE_SCATTER}[i % 3],
            .type = TRIB_FLOAT32,
            .reduction = TRIB_SUM,
            .send = in[i],
            .recv = i % 3 == 2 ? parts[i] : out[i],
            .count = 400,
            .counts = i % 3 == 0 ? NULL : counts};
    }
    CHECK(rank, trib_group_start(rank->comm, calls, GROUP, &request) == TRIB_OK);
    memset(calls, 0xa5, sizeof calls);
    memset(counts, 0xa5, sizeof counts);
    CHECK(rank, trib_request_wait(request) == TRIB_OK);
    for (uint32_t i = 0; i < GROUP; i++) {
        CHECK(rank, i % 3 != 0 || is_sum(out[i], 400, RANKS, 0, 1));
        CHECK(rank, i % 3 != 2 || is_sum(parts[i], s.mine, RANKS, s.before, 1));
        for (uint64_t at = 0; at < s.whole && i % 3 == 1; at++) {
            CHECK(rank, out[i][at] == (float)value_at(0, at));
        }
    }
    CHECK(rank, trib_group(rank->comm, NULL, 0) == TRIB_OK);
    close_rank(rank);
}

/* One call that is not valid: none of them starts. */
static void bad_group_body(struct rank *rank)
{
    float a[4] = {1, 2, 3, 4}, b[4];
    struct trib_request *request = NULL;
    struct trib_call calls[2] = {
        {.collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .reduction = TRIB_SUM, .send = a, .recv = b, .count = 4},
        {.collective = TRIB_REDUCE, .type = TRIB_BYTES, .reduction = TRIB_SUM, .send = a, .recv = b, .count = 4},
    };
    struct trib_comm_stats stats;
    CHECK(rank, trib_group_start(rank->comm, calls, 2, &request) == TRIB_ERR_UNSUPPORTED && request == NULL);
    CHECK(rank, trib_group(rank->comm, calls, TRIB_GROUP_MAX + 1) == TRIB_ERR_INVALID);
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.operations == 0);
    CHECK(rank, trib_group(rank->comm, calls, 1) == TRIB_OK && b[3] == 4 * RANKS);
    close_rank(rank);
}

/* Operations of a group run at the same time, so what one writes is no other's: neither chains nor two results in one
 * place. */
static void apart_body(struct rank *rank)
{
    float a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8], c[8];
    struct trib_call sum = {
        .collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .reduction = TRIB_SUM, .send = a, .recv = b, .count = 4};
    struct trib_call calls[2] = {sum, sum};
    CHECK(rank, trib_group(rank->comm, calls, 2) == TRIB_ERR_INVALID); /* both into b */
    calls[1].send = b + 3;
    calls[1].recv = c;
    CHECK(rank, trib_group(rank->comm, calls, 2) == TRIB_ERR_INVALID); /* the second reads the first's */
    calls[1].send = calls[1].recv = a;
    CHECK(rank, trib_group(rank->comm, calls, 2) == TRIB_ERR_INVALID); /* in place, on what the first reads */
    calls[1].send = a;
    calls[1].recv = b + 4;
    CHECK(rank, trib_group(rank->comm, calls, 2) == TRIB_OK); /* both read a */
    CHECK(rank, b[3] == 4 * RANKS && b[7] == 4 * RANKS);
    calls[0].send = calls[0].recv = a;
    calls[1].send = calls[1].recv = a + 4;
    CHECK(rank, trib_group(rank->comm, calls, 2) == TRIB_OK); /* side by side, in place */
    CHECK(rank, a[0] == RANKS && a[7] == 8 * RANKS);
    close_rank(rank);
}

/* The communicator ends while a group is under way: its request says so, and is collected as any. */
static void ended_group_body(struct rank *rank)
{
    float a[4] = {0}, b[3][4];
    struct trib_call call = {
        .collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .reduction = TRIB_SUM, .send = a, .count = 4};
    struct trib_call calls[3] = {call, call, call};
    struct trib_request *request = NULL;
    for (uint32_t i = 0; i < 3; i++) {
        calls[i].recv = b[i];
    }
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank != 0) {
        CHECK(rank, trib_group_start(rank->comm, calls, 3, &request) == TRIB_OK);
    }
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0) {
        trib_comm_abort(rank->comm);
    } else {
        CHECK(rank, trib_request_wait(request) == TRIB_ERR_PEER);
        CHECK(rank, trib_group_start(rank->comm, calls, 3, &request) == TRIB_ERR_PEER);
    }
    (void)trib_comm_close(rank->comm);
}

/* ---- what a link carries ---- */

static atomic_uint traffic_checked;

struct traffic {
    uint64_t up, down; /* bytes of payload */
    bool is_calm;      /* nothing was sent twice */
};

static struct traffic traffic_of(const struct rank *rank)
{
    struct trib_comm_stats stats;
    trib_comm_stats(rank->comm, &stats);
    return (struct traffic){stats.bytes_sent - 64 * stats.packets_sent,
                            stats.bytes_received - 64 * stats.packets_received,
                            stats.contributions_resent + stats.contributions_again + stats.offers_sent +
                                    stats.results_repeated + stats.dropped + stats.send_dropped ==
                                0};
}

/* False: something was sent twice, as on a machine that is busy with other things, and says nothing. */
static bool check_traffic(struct rank *rank, const struct traffic *before, uint64_t up, uint64_t down)
{
    struct traffic after = traffic_of(rank);
    CHECK(rank, !after.is_calm || after.up - before->up == up);
    CHECK(rank, !after.is_calm || after.down - before->down == down);
    return after.is_calm;
}

/* No more than a ring's: all but the own share, once each way. */
static void traffic_body(struct rank *rank)
{
    const uint64_t *counts = uneven[3];
    struct shares s = shares_of(rank, counts, 0);
    bool is_root = rank->config.rank == 2;
    float *whole = tensor_of(s.whole), *share = tensor_of(s.mine);
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    struct traffic before = traffic_of(rank);
    CHECK(rank, trib_allgather_uneven(rank->comm, share, whole, counts, TRIB_FLOAT32) == TRIB_OK);
    traffic_checked += check_traffic(rank, &before, 4 * s.mine, 4 * (s.whole - s.mine));
    before = traffic_of(rank);
    CHECK(rank, trib_reduce_scatter_uneven(rank->comm, whole, share, counts, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    traffic_checked += check_traffic(rank, &before, 4 * (s.whole - s.mine), 4 * s.mine);
    before = traffic_of(rank);
    CHECK(rank, trib_reduce(rank->comm, whole, is_root ? whole : NULL, s.whole, TRIB_FLOAT32, TRIB_SUM, 2) == TRIB_OK);
    traffic_checked += check_traffic(rank, &before, 4 * s.whole, is_root ? 4 * s.whole : 0);
    free(whole);
    free(share);
    close_rank(rank);
}

/* ---- what is refused ---- */

static void refusals_body(struct rank *rank)
{
    float a[64] = {0}, b[64];
    const uint64_t huge[RANKS] = {UINT64_MAX, 1, 1, UINT64_MAX};
    struct trib_comm *comm = rank->comm;
    struct trib_request *request = NULL;
    CHECK(rank, trib_reduce(comm, a, b, 4, TRIB_FLOAT32, TRIB_SUM, RANKS) == TRIB_ERR_INVALID);
    CHECK(rank, trib_reduce(comm, a, b, 4, TRIB_BYTES, TRIB_SUM, 0) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_reduce(comm, a, b, 4, TRIB_FLOAT32, TRIB_REDUCTION_NONE, 0) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_reduce(comm, NULL, b, 4, TRIB_FLOAT32, TRIB_SUM, 0) == TRIB_ERR_INVALID);
    CHECK(rank, trib_allgather(comm, a, b, 4, TRIB_TYPE_NONE) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_allgather(comm, a, NULL, 4, TRIB_BYTES) == TRIB_ERR_INVALID);
    CHECK(rank, trib_allgather(comm, NULL, b, 4, TRIB_BYTES) == TRIB_ERR_INVALID);
    CHECK(rank, trib_allgather(comm, (char *)b + 4 * rank->config.rank + 1, b, 4, TRIB_BYTES) == TRIB_ERR_INVALID);
    CHECK(rank, trib_allgather(comm, a, b, UINT64_MAX, TRIB_INT64) == TRIB_ERR_INVALID);
    CHECK(rank, trib_allgather_uneven(comm, a, b, huge, TRIB_BYTES) == TRIB_ERR_INVALID);
    CHECK(rank,
          trib_reduce_scatter(comm, a, a + 4 * rank->config.rank + 1, 4, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_INVALID);
    CHECK(rank, trib_reduce_scatter_start(comm, a, b, 4, TRIB_BYTES, TRIB_SUM, &request) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, request == NULL && trib_barrier(comm) == TRIB_OK);
    close_rank(rank);
}

/* Ranks that disagree about a share hear both sides in words. */
static void mismatch_body(struct rank *rank)
{
    uint64_t counts[RANKS] = {10, 20, 30, 40};
    float a[128] = {0}, b[128];
    enum trib_status status;
    (void)pthread_barrier_wait(rank->together); /* or who joins last may be told before it has joined */
    if (rank->config.rank == 3) {
        counts[0] = 11;
        counts[1] = 19;
    }
    if (rank->config.rank == 2) {
        status = trib_reduce(rank->comm, a, b, 100, TRIB_FLOAT32, TRIB_SUM, 1);
    } else {
        status = trib_allgather_uneven(rank->comm, a, b, counts, TRIB_FLOAT32);
    }
    CHECK(rank, status == TRIB_ERR_MISMATCH);
    const char *text = trib_comm_error(rank->comm);
    bool is_said = strstr(text, "allgather of 100 float32 in shares of 11, 19, 30, 40") != NULL ||
                   strstr(text, "allgather of 100 float32 in shares of 10, 20, 30, 40") != NULL ||
                   strstr(text, "reduce of 100 float32 (sum) to rank 1") != NULL;
    CHECK(rank, is_said);
    (void)trib_comm_close(rank->comm);
}

/* The same call but for the shares, of which all together are as many. */
static void other_shares_body(struct rank *rank)
{
    uint64_t counts[RANKS] = {10, 20, 30, 40};
    float a[128] = {0}, b[128];
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 3) {
        counts[0] = 11;
        counts[1] = 19;
    }
    CHECK(rank, trib_reduce_scatter_uneven(rank->comm, a, b, counts, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_MISMATCH);
    const char *text = trib_comm_error(rank->comm);
    CHECK(rank, strstr(text, "rank 3 called reduce-scatter of 100 float32 (sum) in shares of 11, 19, 30, 40") != NULL);
    CHECK(rank, strstr(text, "reduce-scatter of 100 float32 (sum) in shares of 10, 20, 30, 40") != NULL);
    (void)trib_comm_close(rank->comm);
}

/* ---- settings ---- */

static void use_faults(struct trib_config *config)
{
    config->faults =
        (struct trib_faults){.loss = 0.02, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.005, .seed = 11};
}

static void use_bfloat16(struct trib_config *config)
{
    config->wire = TRIB_WIRE_BFLOAT16;
}

static void use_int32(struct trib_config *config)
{
    config->wire = TRIB_WIRE_INT32;
    config->payload = 256;
}

static void use_quorum(struct trib_config *config)
{
    (void)snprintf(config->scheme, sizeof config->scheme, "panama:3/4");
}

static void run_all(void (*body)(struct rank *rank), void (*tweak)(struct trib_config *config), uint32_t count)
{
    struct rank ranks[RANKS];
    run_ranks(ranks, count, tweak, body);
    expect_good(ranks, count);
}

static void reduce__gives_the_sum_to_the_root_alone(void **state)
{
    (void)state;
    run_all(reduce_body, NULL, RANKS);
    run_all(reduce_body, use_faults, RANKS);
    run_all(reduce_body, use_bfloat16, RANKS);
    run_all(reduce_body, use_int32, RANKS);
    run_all(reduce_body, NULL, 1);
}

static void shares__even_and_uneven_and_in_place(void **state)
{
    (void)state;
    run_all(shares_body, NULL, RANKS);
    run_all(shares_body, use_faults, RANKS);
    run_all(shares_body, use_bfloat16, RANKS);
    run_all(shares_body, use_int32, RANKS);
    run_all(shares_body, NULL, 2);
    run_all(shares_body, use_int32, 1);
    if (!no_box) { /* it needs a switch, or nothing */
        run_all(shares_body, use_quorum, RANKS);
    }
}

static void group__is_one_request_for_all(void **state)
{
    (void)state;
    run_all(group_body, NULL, RANKS);
    run_all(group_body, use_faults, RANKS);
}

static void group__starts_all_or_none(void **state)
{
    (void)state;
    run_all(bad_group_body, NULL, RANKS);
}

static void group__keeps_buffers_apart(void **state)
{
    (void)state;
    run_all(apart_body, NULL, RANKS);
}

static void group__ends_with_its_communicator(void **state)
{
    (void)state;
    run_all(ended_group_body, NULL, RANKS);
}

static void traffic__is_a_rings(void **state)
{
    (void)state;
    for (int i = 0; i < 20 && traffic_checked < 3 * RANKS; i++) {
        run_all(traffic_body, NULL, RANKS);
    }
    assert_in_range(traffic_checked, 3 * RANKS, 100 * RANKS);
}

static void refusals__name_no_victim(void **state)
{
    (void)state;
    run_all(refusals_body, NULL, RANKS);
}

static void mismatch__of_shares_is_an_error_in_words(void **state)
{
    (void)state;
    run_all(mismatch_body, NULL, RANKS);
    run_all(other_shares_body, NULL, RANKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce__gives_the_sum_to_the_root_alone),
        cmocka_unit_test(shares__even_and_uneven_and_in_place),
        cmocka_unit_test(group__is_one_request_for_all),
        cmocka_unit_test(group__starts_all_or_none),
        cmocka_unit_test(group__keeps_buffers_apart),
        cmocka_unit_test(group__ends_with_its_communicator),
        cmocka_unit_test(traffic__is_a_rings),
        cmocka_unit_test(refusals__name_no_victim),
        cmocka_unit_test(mismatch__of_shares_is_an_error_in_words),
    };
    const struct CMUnitTest host_tests[] = {
        cmocka_unit_test(reduce__gives_the_sum_to_the_root_alone),
        cmocka_unit_test(shares__even_and_uneven_and_in_place),
        cmocka_unit_test(group__is_one_request_for_all),
        cmocka_unit_test(group__starts_all_or_none),
        cmocka_unit_test(group__keeps_buffers_apart),
        cmocka_unit_test(group__ends_with_its_communicator),
        cmocka_unit_test(refusals__name_no_victim),
        cmocka_unit_test(mismatch__of_shares_is_an_error_in_words),
    };
    keeper_open();
    switch_command('2');
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (ranks_a_host = 2; ranks_a_host <= 4; ranks_a_host++) { /* hosts of 2 and 2, 3 and 1, 4 */
        failed += cmocka_run_group_tests(host_tests, NULL, NULL);
    }
    ranks_a_host = 0;
    on_host = true;
    failed += cmocka_run_group_tests(host_tests, NULL, NULL);
    begin_no_box();
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
