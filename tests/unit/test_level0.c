/* SPDX-License-Identifier: Apache-2.0 */
/* test_level0.c: ranks that are summed on their host before one of them sends, over a real switch and real sockets, and
 * without a switch: values of every collective, type, reduction and wire against what one loop makes of them; orders,
 * ends, returns. Ranks are threads that say which host they are on. Mirrors src/comm/level0.c and level0_plan.c. */
#include "comm_harness.h"

#include "comm/endpoint.h"
#include "comm/level0.h"
#include "comm/state.h"
#include "core/prng.h"
#include "host/segment.h"

#define RANKS 6U
#define OPERATIONS 40
#define ELEMENTS_MOST 700000U /* of four bytes: three parts, the last not full */

static _Atomic uint64_t seed;

/* ---- values: small whole numbers, exact in every type and wire, in any order ---- */

static int value_at(uint64_t salt, uint32_t rank, uint64_t i)
{
    return (int)((salt + i * 7 + rank * 3) % 5) + 1;
}

static void store(enum trib_type type, void *tensor, uint64_t i, int value)
{
    uint32_t bits;
    float real = (float)value;
    memcpy(&bits, &real, sizeof bits);
    switch (type) {
    case TRIB_FLOAT32:
        ((float *)tensor)[i] = real;
        return;
    case TRIB_FLOAT64:
        ((double *)tensor)[i] = value;
        return;
    case TRIB_BFLOAT16:
        ((uint16_t *)tensor)[i] = (uint16_t)(bits >> 16); /* 8 bits of a whole number below 256 */
        return;
    case TRIB_FLOAT16: { /* of 0 to 2048, whole */
        uint32_t exponent = bits >> 23;
        ((uint16_t *)tensor)[i] = value == 0 ? 0 : (uint16_t)((exponent - 112) << 10 | (bits >> 13 & 0x3ff));
        return;
    }
    case TRIB_INT32:
        ((int32_t *)tensor)[i] = value;
        return;
    case TRIB_INT64:
        ((int64_t *)tensor)[i] = value;
        return;
    case TRIB_INT8:
    case TRIB_UINT8:
    case TRIB_BYTES:
    case TRIB_TYPE_NONE:
    case TRIB_TYPE_COUNT:
        ((uint8_t *)tensor)[i] = (uint8_t)value;
        return;
    }
}

static int reduced_at(uint64_t salt, uint32_t ranks, uint64_t i, enum trib_reduction reduction)
{
    int all = value_at(salt, 0, i);
    for (uint32_t rank = 1; rank < ranks; rank++) {
        int value = value_at(salt, rank, i);
        switch (reduction) {
        case TRIB_MINIMUM:
            all = value < all ? value : all;
            break;
        case TRIB_MAXIMUM:
            all = value > all ? value : all;
            break;
        case TRIB_PRODUCT: /* of 6 values up to 5: 15,625 at most, no float16 or byte: see draw_reduction */
            all *= value;
            break;
        case TRIB_SUM:
        case TRIB_AVERAGE:
        case TRIB_REDUCTION_NONE:
        case TRIB_REDUCTION_COUNT:
            all += value;
        }
    }
    return all;
}

/* ---- one random operation, the same on all ranks ---- */

struct plan {
    struct trib_call call;
    uint64_t counts[RANKS];
    uint64_t total, before, own; /* elements; of shares */
    uint64_t salt;
    size_t size;
    bool in_place, is_uneven;
    unsigned char *send, *recv, *memory[2];
};

static enum trib_reduction draw_reduction(struct trib_prng *prng, enum trib_type type)
{
    static const enum trib_reduction all[] = {TRIB_SUM, TRIB_AVERAGE, TRIB_MINIMUM, TRIB_MAXIMUM, TRIB_PRODUCT};
    bool is_narrow = trib_type_size(type) < 4;
    return all[trib_prng_below(prng, is_narrow ? 4 : 5)];
}

static uint64_t draw_count(struct trib_prng *prng)
{
    static const uint32_t most[] = {3, 400, 6000, ELEMENTS_MOST};
    return trib_prng_below(prng, most[trib_prng_below(prng, 8) == 0 ? 3 : trib_prng_below(prng, 3)]);
}

static void draw(struct plan *plan, struct trib_prng *prng, uint32_t ranks, uint32_t rank)
{
    static const enum trib_type types[] = {TRIB_FLOAT32, TRIB_FLOAT64, TRIB_FLOAT16, TRIB_BFLOAT16,
                                           TRIB_INT32,   TRIB_INT64,   TRIB_INT8,    TRIB_UINT8};
    static const enum trib_collective kinds[] = {TRIB_ALLREDUCE, TRIB_ALLREDUCE, TRIB_BROADCAST,     TRIB_REDUCE,
                                                 TRIB_ALLGATHER, TRIB_BARRIER,   TRIB_REDUCE_SCATTER};
    *plan = (struct plan){.salt = trib_prng_below(prng, 1000)};
    plan->call.collective = kinds[trib_prng_below(prng, 7)];
    plan->call.type = types[trib_prng_below(prng, 8)];
    plan->call.reduction = draw_reduction(prng, plan->call.type);
    plan->call.root = (uint32_t)trib_prng_below(prng, ranks);
    plan->call.count = draw_count(prng);
    plan->in_place = trib_prng_below(prng, 2) == 0;
    plan->is_uneven = trib_prng_below(prng, 2) == 0;
    plan->size = trib_type_size(plan->call.type);
    plan->total = plan->call.count;
    bool has_shares = plan->call.collective == TRIB_ALLGATHER || plan->call.collective == TRIB_REDUCE_SCATTER;
    if (has_shares) {
        plan->total = 0;
        plan->call.count /= ranks;
        for (uint32_t i = 0; i < ranks; i++) {
            plan->counts[i] = plan->is_uneven ? draw_count(prng) / ranks : plan->call.count;
            plan->before += i < rank ? plan->counts[i] : 0;
            plan->total += plan->counts[i];
        }
        plan->own = plan->counts[rank];
        plan->call.counts = plan->is_uneven ? plan->counts : NULL;
    }
}

/* Buffers as the call has them; elements behind the end are looked at, too. */
static void fill(struct plan *plan, uint32_t rank)
{
    enum trib_collective kind = plan->call.collective;
    for (int i = 0; i < 2; i++) {
        plan->memory[i] = calloc(plan->total + 2, plan->size);
        memset(plan->memory[i], 0x5a, (plan->total + 2) * plan->size);
    }
    plan->send = plan->memory[0];
    plan->recv = plan->in_place || kind == TRIB_BROADCAST ? plan->memory[0] : plan->memory[1];
    if (kind == TRIB_ALLGATHER) {
        plan->send = plan->in_place ? plan->recv + plan->before * plan->size : plan->memory[0];
    } else if (kind == TRIB_REDUCE_SCATTER) {
        plan->recv = plan->in_place ? plan->send + plan->before * plan->size : plan->memory[1];
    }
    uint64_t sent = kind == TRIB_ALLGATHER ? plan->own : plan->total;
    uint64_t at = kind == TRIB_ALLGATHER ? plan->before : 0;
    for (uint64_t i = 0; i < sent && kind != TRIB_BARRIER; i++) {
        if (kind != TRIB_BROADCAST || rank == plan->call.root) {
            store(plan->call.type, plan->send, i, value_at(plan->salt, kind == TRIB_ALLGATHER ? 0 : rank, at + i));
        }
    }
    plan->call.send = plan->send;
    plan->call.recv = plan->recv;
}

static bool is_right(const struct plan *plan, uint32_t ranks, uint32_t rank)
{
    enum trib_collective kind = plan->call.collective;
    bool scatters = kind == TRIB_REDUCE_SCATTER;
    bool reduces = kind == TRIB_ALLREDUCE || kind == TRIB_REDUCE || scatters;
    uint64_t count = scatters ? plan->own : plan->total;
    uint64_t at = scatters ? plan->before : 0;
    if (kind == TRIB_BARRIER || (kind == TRIB_REDUCE && rank != plan->call.root)) {
        return true;
    }
    for (uint64_t i = 0; i < count; i++) {
        unsigned char want[8];
        int value = value_at(plan->salt, kind == TRIB_BROADCAST ? plan->call.root : 0, at + i);
        if (reduces) {
            value = reduced_at(plan->salt, ranks, at + i, plan->call.reduction);
            bool is_real = plan->call.type <= TRIB_BFLOAT16 || plan->call.type == TRIB_FLOAT64;
            if (plan->call.reduction == TRIB_AVERAGE && is_real) {
                continue; /* looked at below, where it is whole */
            }
            value = plan->call.reduction == TRIB_AVERAGE ? value / (int)ranks : value;
        }
        store(plan->call.type, want, 0, value);
        if (memcmp(want, plan->recv + i * plan->size, plan->size) != 0) {
            return false;
        }
    }
    unsigned char behind[2] = {0x5a, 0x5a};
    return memcmp(plan->memory[0] + plan->total * plan->size, behind, 2) == 0;
}

static void free_plan(struct plan *plan)
{
    free(plan->memory[0]);
    free(plan->memory[1]);
}

static void close_rank(struct rank *rank)
{
    uint64_t began = trib_clock_ns();
    CHECK(rank, trib_comm_error(rank->comm)[0] == '\0');
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
    CHECK(rank, trib_clock_ns() - began < TRIB_SECOND_NS * patience()); /* nobody lingers */
}

static void random_body(struct rank *rank)
{
    struct trib_prng prng = {.state = seed};
    uint32_t ranks = rank->config.ranks;
    for (int i = 0; i < OPERATIONS && rank->wrong == NULL; i++) {
        struct plan plans[5];
        uint32_t count = trib_prng_below(&prng, 3) == 0 ? 1 + (uint32_t)trib_prng_below(&prng, 5) : 1;
        struct trib_call calls[5];
        for (uint32_t k = 0; k < count; k++) {
            draw(&plans[k], &prng, ranks, rank->config.rank);
            fill(&plans[k], rank->config.rank);
            calls[k] = plans[k].call;
            calls[k].counts = plans[k].is_uneven ? plans[k].counts : NULL;
        }
        CHECK(rank, trib_group(rank->comm, calls, count) == TRIB_OK);
        for (uint32_t k = 0; k < count; k++) {
            CHECK(rank, is_right(&plans[k], ranks, rank->config.rank));
            if (rank->wrong != NULL && rank->error[0] == '\0') {
                (void)snprintf(rank->error, sizeof rank->error, "seed %llu operation %d.%u: %s",
                               (unsigned long long)seed, i, k, trib_collective_name(plans[k].call.collective));
            }
            free_plan(&plans[k]);
        }
    }
    struct trib_comm_stats stats;
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.level0 && stats.hosts == (ranks + ranks_a_host - 1) / ranks_a_host);
    bool leads = rank->config.rank % ranks_a_host == 0;
    CHECK(rank, rank->wrong != NULL || (leads ? stats.fragments > 0 || stats.hosts == 1 : stats.packets_sent == 0));
    close_rank(rank);
}

static void run_all(void (*body)(struct rank *), void (*tweak)(struct trib_config *), uint32_t count)
{
    struct rank ranks[RANKS_MAX];
    run_ranks(ranks, count, tweak, body);
    expect_good(ranks, count);
}

static void with_faults(struct trib_config *config)
{
    config->faults = (struct trib_faults){.loss = 0.01, .duplicate = 0.01, .reorder = 0.01, .seed = config->rank + 1};
}

static void with_int32(struct trib_config *config)
{
    config->wire = TRIB_WIRE_INT32;
}

static void random__operations_are_right(void **state)
{
    (void)state;
    for (seed = 1; seed <= 6; seed++) {
        ranks_a_host = 2 + (uint32_t)seed % 3;
        run_all(random_body, NULL, seed % 2 ? RANKS : RANKS - 1);
    }
    ranks_a_host = 2;
    seed = 7;
    run_all(random_body, with_int32, RANKS);
}

static void random__operations_are_right_with_faults(void **state)
{
    (void)state;
    ranks_a_host = 3;
    for (seed = 11; seed <= 12; seed++) {
        run_all(random_body, with_faults, RANKS);
    }
}

/* Real averages are the sum divided once. */
static void average_body(struct rank *rank)
{
    uint32_t ranks = rank->config.ranks;
    float mine[5], got[5];
    for (int i = 0; i < 5; i++) {
        mine[i] = (float)value_at(3, rank->config.rank, (uint64_t)i);
    }
    CHECK(rank, trib_allreduce(rank->comm, mine, got, 5, TRIB_FLOAT32, TRIB_AVERAGE) == TRIB_OK);
    for (int i = 0; i < 5; i++) {
        CHECK(rank, got[i] == (float)reduced_at(3, ranks, (uint64_t)i, TRIB_SUM) / (float)ranks);
    }
    CHECK(rank, trib_reduce(rank->comm, mine, got, 5, TRIB_FLOAT32, TRIB_AVERAGE, 1) == TRIB_OK);
    for (int i = 0; i < 5 && rank->config.rank == 1; i++) {
        CHECK(rank, got[i] == (float)reduced_at(3, ranks, (uint64_t)i, TRIB_SUM) / (float)ranks);
    }
    close_rank(rank);
}

static void average__is_divided_once(void **state)
{
    (void)state;
    for (ranks_a_host = 2; ranks_a_host <= 5; ranks_a_host++) {
        run_all(average_body, NULL, RANKS - 1);
    }
}

/* ---- shares in parts ---- */

#define SHARERS 5U
#define PIECE 19000U

static const uint64_t shares[SHARERS] = {300000, 0, 150001, 7, 400000};

static float real_at(uint32_t rank, uint64_t i)
{
    uint64_t bits = trib_mix64(trib_mix64(rank + 1) ^ i);
    return (float)(int64_t)bits / (float)(1 + (bits & 0xffff));
}

/* A piece of every share: how long each is, and their elements side by side. */
static uint64_t cut_piece(uint64_t piece, const float *whole, uint64_t counts[SHARERS], float *packed)
{
    uint64_t before = 0, at = 0;
    for (uint32_t i = 0; i < SHARERS; i++) {
        uint64_t first = piece * PIECE < shares[i] ? piece * PIECE : shares[i];
        counts[i] = shares[i] - first < PIECE ? shares[i] - first : PIECE;
        memcpy(packed + at, whole + before + first, counts[i] * sizeof *packed);
        before += shares[i];
        at += counts[i];
    }
    return at;
}

/* The memory between the steps is that of a few parts, however large the tensor. */
static void check_scratch(struct rank *rank)
{
    trib_endpoint_lock(rank->comm->endpoint);
    for (uint32_t i = 0; i < TRIB_LEVEL0_AHEAD; i++) {
        CHECK(rank, rank->comm->level0->part[i].slot_size <= TRIB_LEVEL0_PART + 4096);
    }
    trib_endpoint_unlock(rank->comm->endpoint);
}

/* Large shares are summed and gathered in many parts, their pieces each in one: the same bits. */
static void shares_body(struct rank *rank)
{
    uint32_t me = rank->config.rank;
    uint64_t total = 0, counts[SHARERS];
    for (uint32_t i = 0; i < SHARERS; i++) {
        total += shares[i];
    }
    float *whole = calloc(total, sizeof *whole), *packed = calloc(total, sizeof *packed);
    float *gathered = calloc(total, sizeof *gathered), *expected = calloc(total, sizeof *expected);
    float *sum = calloc(shares[me] + 1, sizeof *sum), *part = calloc(PIECE, sizeof *part);
    for (uint64_t i = 0; i < total; i++) {
        whole[i] = real_at(me, i);
    }
    memcpy(counts, shares, sizeof counts);
    enum trib_reduction reduction = seed == 0 ? TRIB_SUM : TRIB_AVERAGE;
    CHECK(rank, trib_reduce_scatter_uneven(rank->comm, whole, sum, counts, TRIB_FLOAT32, reduction) == TRIB_OK);
    CHECK(rank, trib_allgather_uneven(rank->comm, sum, gathered, counts, TRIB_FLOAT32) == TRIB_OK);
    check_scratch(rank);
    for (uint64_t piece = 0; piece * PIECE < shares[4]; piece++) {
        uint64_t first = piece * PIECE;
        (void)cut_piece(piece, whole, counts, packed);
        CHECK(rank, trib_reduce_scatter_uneven(rank->comm, packed, part, counts, TRIB_FLOAT32, reduction) == TRIB_OK);
        CHECK(rank, memcmp(part, sum + first, counts[me] * sizeof *part) == 0);
        CHECK(rank, trib_allgather_uneven(rank->comm, part, packed, counts, TRIB_FLOAT32) == TRIB_OK);
        uint64_t length = cut_piece(piece, gathered, counts, expected);
        CHECK(rank, memcmp(packed, expected, length * sizeof *packed) == 0);
    }
    close_rank(rank);
    free(whole);
    free(packed);
    free(gathered);
    free(expected);
    free(sum);
    free(part);
}

static void shares__in_parts_have_the_same_bits(void **state)
{
    (void)state;
    ranks_a_host = 2;
    for (seed = 0; seed < 2; seed++) {
        run_all(shares_body, NULL, SHARERS);
    }
}

/* ---- ends ---- */

static void abort_body(struct rank *rank)
{
    float tensor[8] = {0};
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    uint64_t began = trib_clock_ns();
    if (rank->config.rank == 1) {
        trib_comm_abort(rank->comm);
    } else {
        CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, 8, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_PEER);
        CHECK(rank, strstr(trib_comm_error(rank->comm), "rank 1") != NULL);
    }
    CHECK(rank, trib_clock_ns() - began < TRIB_SECOND_NS * patience());
    (void)trib_comm_close(rank->comm);
}

static void abort__is_heard_on_all_hosts(void **state)
{
    (void)state;
    ranks_a_host = 2;
    run_all(abort_body, NULL, 4);
}

/* As a process that dies: every line hangs up, and so does its session. */
static void die_body(struct rank *rank)
{
    uint32_t victim = (uint32_t)seed;
    float tensor[8] = {0};
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    uint64_t began = trib_clock_ns();
    if (rank->config.rank == victim) {
        trib_endpoint_lock(rank->comm->endpoint);
        (void)shutdown(rank->comm->host->inbox, SHUT_RDWR);
        (void)shutdown(rank->comm->session.fd, SHUT_RDWR);
        trib_endpoint_unlock(rank->comm->endpoint);
    } else {
        char name[32];
        (void)snprintf(name, sizeof name, "rank %u ", victim);
        CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, 8, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_PEER);
        CHECK(rank, strncmp(trib_comm_error(rank->comm), name, strlen(name)) == 0);
        CHECK(rank, strstr(trib_comm_error(rank->comm), "is gone") != NULL);
        CHECK(rank, trib_clock_ns() - began < TRIB_SECOND_NS * patience());
    }
    (void)pthread_barrier_wait(rank->together); /* or its abort would be heard */
    (void)trib_comm_close(rank->comm);
}

static void death__of_leader_or_not_is_named_on_all_hosts(void **state)
{
    (void)state;
    ranks_a_host = 2;
    for (seed = 0; seed < 4; seed++) {
        run_all(die_body, NULL, 4);
    }
}

/* A rank that does not come is named, on its own host and on the other. */
static void late_body(struct rank *rank)
{
    float tensor[8] = {0};
    CHECK(rank, rank->config.rank != 3 || hears_failure(rank));
    enum trib_status status = trib_allreduce(rank->comm, tensor, tensor, 8, TRIB_FLOAT32, TRIB_SUM);
    CHECK(rank, status != TRIB_OK);
    if (rank->config.rank == 2) {
        CHECK(rank, status == TRIB_ERR_TIMEOUT || strstr(trib_comm_error(rank->comm), "did not end within") != NULL);
    }
    (void)trib_comm_close(rank->comm);
}

static void with_short_timeout(struct trib_config *config)
{
    config->timeout_ns = 600 * TRIB_MILLISECOND_NS * patience();
}

static void timeout__ends_all(void **state)
{
    (void)state;
    ranks_a_host = 2;
    run_all(late_body, with_short_timeout, 4);
}

/* Who differs, on which host: all ranks hear of both operations, whole. */
static void differ_body(struct rank *rank)
{
    float *tensor = calloc(ELEMENTS_MOST, sizeof *tensor);
    uint64_t count = rank->config.rank == (uint32_t)seed ? 600000 : 300000; /* two parts or three: the first is alike */
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, count, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_MISMATCH);
    CHECK(rank, strstr(trib_comm_error(rank->comm), "allreduce of 600,000 float32 (sum) as operation 1") != NULL);
    CHECK(rank, strstr(trib_comm_error(rank->comm), "allreduce of 300,000 float32 (sum) as operation 1") != NULL);
    (void)trib_comm_close(rank->comm);
    free(tensor);
}

static void mismatch__names_whole_operations(void **state)
{
    (void)state;
    for (ranks_a_host = 1; ranks_a_host <= 3; ranks_a_host++) {
        for (seed = 0; seed < 3; seed++) {
            run_all(differ_body, NULL, 3);
        }
    }
}

/* One rank calls something else, each in turn: nobody hears OK, also who has nothing to receive. */
static void differ_alone_body(struct rank *rank)
{
    static const uint64_t counts[RANKS] = {8, 8, 8, 8, 8, 8};
    enum trib_collective collective = (enum trib_collective)(seed / RANKS);
    bool is_odd = rank->config.rank == seed % RANKS;
    float send[RANKS * 8] = {0}, recv[RANKS * 8] = {0};
    struct trib_call call = {.collective = collective, .count = 8, .type = TRIB_FLOAT32, .reduction = TRIB_SUM};
    call.root = 1;
    call.counts = collective == TRIB_REDUCE_SCATTER || collective == TRIB_ALLGATHER ? counts : NULL;
    call.send = send;
    call.recv = collective == TRIB_BROADCAST ? send : recv;
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    enum trib_status status =
        is_odd ? trib_broadcast(rank->comm, send, 7, TRIB_FLOAT32, 1) : trib_group(rank->comm, &call, 1);
    CHECK(rank, status == TRIB_ERR_MISMATCH);
    CHECK(rank, says(trib_comm_error(rank->comm), "called broadcast of 7 float32 from rank 1 as operation 1"));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_MISMATCH);
}

static void mismatch__leaves_nobody_with_ok(void **state)
{
    (void)state;
    ranks_a_host = 3;
    for (int collective = TRIB_ALLREDUCE; collective < TRIB_COLLECTIVE_COUNT; collective++) {
        for (uint64_t rank = 0; rank < RANKS; rank++) {
            seed = (uint64_t)collective * RANKS + rank;
            run_all(differ_alone_body, NULL, RANKS);
        }
    }
}

/* ---- the switch goes and comes back ---- */

static void restart_body(struct rank *rank)
{
    float *tensor = calloc(ELEMENTS_MOST, sizeof *tensor);
    struct trib_comm_stats stats;
    bool is_back = false;
    for (int i = 0; i < 2000 && !is_back && rank->wrong == NULL; i++) {
        float flag = 0;
        if (i == 3 && rank->config.rank == 0) {
            switch_command('k');
            switch_command('2');
        }
        for (uint64_t k = 0; k < 300000; k++) {
            tensor[k] = (float)value_at((uint64_t)i, rank->config.rank, k);
        }
        CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, 300000, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
        for (uint64_t k = 0; k < 300000; k += 1000) {
            CHECK(rank, tensor[k] == (float)reduced_at((uint64_t)i, rank->config.ranks, k, TRIB_SUM));
        }
        trib_comm_stats(rank->comm, &stats);
        flag = stats.reregistrations > 0 ? 1 : 0;
        CHECK(rank, trib_allreduce(rank->comm, &flag, &flag, 1, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
        is_back = flag == (float)rank->config.ranks;
    }
    CHECK(rank, is_back);
    close_rank(rank);
    free(tensor);
}

static void restart__is_survived(void **state)
{
    (void)state;
    ranks_a_host = 2;
    run_all(restart_body, NULL, 4);
}

/* Ranks 2 and 3, of one host, differ while the switch waits for the return of ranks 0 and 1. */
static void differ_outside_body(struct rank *rank)
{
    float tensor[2] = {0, 0};
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0) {
        switch_command('k');
        switch_command('2');
    }
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank < 2) { /* nothing drives them meanwhile */
        (void)usleep(1500000);
    }
    uint64_t count = rank->config.rank == 3 ? 2 : 1;
    CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, count, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_MISMATCH);
    CHECK(rank, strstr(trib_comm_error(rank->comm), "rank 2 called allreduce of 1 float32 (sum)") != NULL);
    CHECK(rank, strstr(trib_comm_error(rank->comm), "rank 3 called allreduce of 2 float32 (sum)") != NULL);
    (void)trib_comm_close(rank->comm);
}

static void without_progress(struct trib_config *config)
{
    config->progress_thread = false;
}

static void mismatch__before_all_are_back(void **state)
{
    (void)state;
    ranks_a_host = 2;
    run_all(differ_outside_body, without_progress, 4);
}

/* ---- more communicators ---- */

static void split_body(struct rank *rank)
{
    struct trib_comm *made = NULL;
    float value = (float)(rank->config.rank + 1);
    float want = rank->config.rank % 2 == 0 ? 1 + 3 + 5 : 2 + 4 + 6;
    CHECK(rank, trib_comm_split(rank->comm, (int32_t)(rank->config.rank % 2), 0, &made, rank->error) == TRIB_OK);
    for (int i = 0; i < 3 && made != NULL; i++) {
        float sum = 0;
        CHECK(rank, trib_allreduce(made, &value, &sum, 1, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
        CHECK(rank, sum == want);
        CHECK(rank, trib_allreduce(rank->comm, &value, &sum, 1, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
        CHECK(rank, sum == 21);
    }
    struct trib_comm_stats stats;
    trib_comm_stats(made, &stats);
    CHECK(rank, stats.hosts == (ranks_a_host == 3 ? 2 : 1)); /* grouped anew */
    CHECK(rank, trib_comm_close(made) == TRIB_OK);
    close_rank(rank);
}

static void split__is_grouped_anew(void **state)
{
    (void)state;
    for (ranks_a_host = 3; ranks_a_host <= RANKS; ranks_a_host += 3) {
        run_all(split_body, NULL, RANKS);
    }
}

/* One rank that does not want it, and nobody has it. */
static void one_without(struct trib_config *config)
{
    config->level0 = config->rank != 1;
}

static void without_body(struct rank *rank)
{
    struct trib_comm_stats stats;
    float one = 1;
    CHECK(rank, trib_allreduce(rank->comm, &one, &one, 1, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    CHECK(rank, one == 4);
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, !stats.level0 && stats.hosts == 0 && stats.packets_sent > 0);
    close_rank(rank);
}

static void level0__is_for_all_or_none(void **state)
{
    (void)state;
    ranks_a_host = 2;
    run_all(without_body, one_without, 4);
}

/* What sums need is given back when nobody sums. */
static void idle_body(struct rank *rank)
{
    float *tensor = calloc(ELEMENTS_MOST, sizeof *tensor);
    CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, ELEMENTS_MOST, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    bool holds = true;
    for (int i = 0; i < 100 && holds; i++) {
        usleep(50000);
        trib_endpoint_lock(rank->comm->endpoint);
        holds = trib_level0_holds_memory(rank->comm);
        trib_endpoint_unlock(rank->comm->endpoint);
    }
    CHECK(rank, !holds);
    close_rank(rank);
    free(tensor);
}

static void memory__is_given_back(void **state)
{
    (void)state;
    ranks_a_host = 2;
    run_all(idle_body, NULL, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random__operations_are_right),
        cmocka_unit_test(random__operations_are_right_with_faults),
        cmocka_unit_test(average__is_divided_once),
        cmocka_unit_test(shares__in_parts_have_the_same_bits),
        cmocka_unit_test(abort__is_heard_on_all_hosts),
        cmocka_unit_test(death__of_leader_or_not_is_named_on_all_hosts),
        cmocka_unit_test(timeout__ends_all),
        cmocka_unit_test(mismatch__names_whole_operations),
        cmocka_unit_test(mismatch__leaves_nobody_with_ok),
        cmocka_unit_test(split__is_grouped_anew),
        cmocka_unit_test(level0__is_for_all_or_none),
        cmocka_unit_test(memory__is_given_back),
        cmocka_unit_test(restart__is_survived),
        cmocka_unit_test(mismatch__before_all_are_back),
    };
    const struct CMUnitTest box_tests[] = {
        cmocka_unit_test(random__operations_are_right),
        cmocka_unit_test(abort__is_heard_on_all_hosts),
        cmocka_unit_test(timeout__ends_all),
        cmocka_unit_test(mismatch__names_whole_operations),
        cmocka_unit_test(mismatch__leaves_nobody_with_ok),
        cmocka_unit_test(split__is_grouped_anew),
    };
    keeper_open();
    switch_command('2');
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    begin_no_box();
    return failed + cmocka_run_group_tests(box_tests, NULL, NULL);
}
