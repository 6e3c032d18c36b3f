/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm.c: collectives and requests over a real switch and real sockets. Failures are in test_comm_failure.c.
 * What is not about packets is run again in the shared memory of one host.
 * Mirrors src/comm/comm.c, collectives.c, request.c, drive.c. */
#include "comm_harness.h"

#include "comm/endpoint.h"
#include "comm/state.h"
#include "core/value.h"
#include "io/memory.h"
#include "io/units.h"

#define RANKS 3U

/* ---- memory ---- */

#define TENSOR (1U << 18)

static size_t held_by(struct trib_comm *comm)
{
    trib_endpoint_lock(comm->endpoint);
    size_t held = trib_memory_held(comm->node, comm->node_size);
    trib_endpoint_unlock(comm->endpoint);
    return held;
}

static void memory_body(struct rank *rank)
{
    float *tensor = calloc(TENSOR, sizeof *tensor);
    size_t before = held_by(rank->comm) + 4 * 4096; /* the ends of what is given back share pages with what is not */
    uint64_t limit = trib_clock_ns() + 5 * TRIB_SECOND_NS * patience();
    CHECK(rank, tensor != NULL && before < rank->comm->node_size / 8);
    for (unsigned i = 0; i < 3 && tensor != NULL; i++) {
        tensor[TENSOR - 1] = 1;
        uint64_t begun_ns = trib_clock_ns();
        CHECK(rank, trib_allreduce(rank->comm, tensor, tensor, TENSOR, TRIB_FLOAT32, TRIB_AVERAGE) == TRIB_OK);
        CHECK(rank, tensor[TENSOR - 1] > 0.99F && tensor[TENSOR - 1] < 1.01F);
        /* For half a second behind the call; the thread may have stood still since. */
        CHECK(rank, held_by(rank->comm) > before || trib_clock_ns() - begun_ns > 400 * TRIB_MILLISECOND_NS);
        while (held_by(rank->comm) > before && trib_clock_ns() < limit) {
            (void)usleep(20000);
        }
        CHECK(rank, held_by(rank->comm) <= before);
    }
    free(tensor);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void memory__is_given_back_when_idle(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, memory_body);
    expect_good(ranks, RANKS);
}

/* ---- values whose sums are known ---- */

/* Small whole numbers: exact in every type, in any order. */
static int64_t value_at(uint32_t rank, uint64_t i)
{
    return (int64_t)((i * 7 + rank * 3) % 23) - 11;
}

static int64_t sum_at(uint32_t ranks, uint64_t i)
{
    int64_t sum = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        sum += value_at(rank, i);
    }
    return sum;
}

static void store(void *buffer, uint64_t i, enum trib_type type, int64_t value)
{
    uint8_t *at = (uint8_t *)buffer + i * trib_type_size(type);
    const struct trib_value_kernels *k = trib_value_kernels_named("scalar");
    float real = (float)value;
    int32_t whole = (int32_t)value;
    uint16_t half = 0;
    if (type == TRIB_FLOAT32) {
        memcpy(at, &real, sizeof real);
    } else if (type == TRIB_INT32) {
        memcpy(at, &whole, sizeof whole);
    } else if (type == TRIB_INT64) {
        memcpy(at, &value, sizeof value);
    } else {
        (type == TRIB_FLOAT16 ? k->narrow_f16 : k->narrow_bf16)(&half, &real, 1);
        memcpy(at, &half, sizeof half);
    }
}

static void fill(void *buffer, uint64_t count, enum trib_type type, uint32_t rank)
{
    for (uint64_t i = 0; i < count; i++) {
        store(buffer, i, type, value_at(rank, i));
    }
}

static bool is_sum(const void *buffer, uint64_t count, enum trib_type type, uint32_t ranks, int64_t divisor)
{
    for (uint64_t i = 0; i < count; i++) {
        uint8_t expected[8];
        store(expected, 0, type, sum_at(ranks, i) / divisor);
        if (memcmp((const uint8_t *)buffer + i * trib_type_size(type), expected, trib_type_size(type)) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- allreduce ---- */

static const enum trib_type sum_types[] = {TRIB_FLOAT32, TRIB_FLOAT16, TRIB_BFLOAT16, TRIB_INT32, TRIB_INT64};
static const uint64_t counts[] = {0, 1, 2, 351, 352, 353, 1000, 20000};
#define MANY 20000U

static void check_allreduce(struct rank *rank, enum trib_type type, uint64_t count, size_t shift)
{
    size_t bytes = count * trib_type_size(type);
    uint8_t *send = malloc(bytes + 16);
    uint8_t *recv = malloc(bytes + 16);
    uint32_t ranks = rank->config.ranks;
    CHECK(rank, send != NULL && recv != NULL);
    if (send != NULL && recv != NULL) {
        memset(recv, 0xa5, bytes + 16);
        fill(send + shift, count, type, rank->config.rank);
        CHECK(rank, trib_allreduce(rank->comm, send + shift, recv + shift, count, type, TRIB_SUM) == TRIB_OK);
        CHECK(rank, is_sum(recv + shift, count, type, ranks, 1));
        CHECK(rank, recv[shift + bytes] == 0xa5 && (shift == 0 || recv[shift - 1] == 0xa5));
        CHECK(rank, trib_allreduce(rank->comm, send + shift, send + shift, count, type, TRIB_SUM) == TRIB_OK);
        CHECK(rank, is_sum(send + shift, count, type, ranks, 1));
    }
    free(send);
    free(recv);
}

static void allreduce_body(struct rank *rank)
{
    for (size_t t = 0; t < sizeof sum_types / sizeof sum_types[0]; t++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            check_allreduce(rank, sum_types[t], counts[c], 0);
            check_allreduce(rank, sum_types[t], counts[c], 1 + c % 7);
        }
    }
    CHECK(rank, trib_comm_error(rank->comm)[0] == '\0');
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void allreduce__all_types_sizes_places(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, allreduce_body);
    expect_good(ranks, RANKS);
}

static void use_faults(struct trib_config *config)
{
    config->faults =
        (struct trib_faults){.loss = 0.02, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.005, .seed = 11};
}

static void allreduce__survives_faults(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, use_faults, allreduce_body);
    expect_good(ranks, RANKS);
}

static void use_calls_only(struct trib_config *config)
{
    config->progress_thread = false;
    config->trains = false;
    config->multicast = false;
    config->spin_us = 20;
    config->payload = 256;
    config->window = 64 << 10;
}

static void allreduce__without_thread_trains_multicast(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, use_calls_only, allreduce_body);
    expect_good(ranks, RANKS);
}

static void allreduce__alone(void **state)
{
    (void)state;
    struct rank ranks[1];
    run_ranks(ranks, 1, NULL, allreduce_body);
    expect_good(ranks, 1);
}

static void average_body(struct rank *rank)
{
    for (size_t t = 0; t < 2; t++) {
        enum trib_type type = t == 0 ? TRIB_INT32 : TRIB_INT64;
        uint64_t *buffer = calloc(MANY, sizeof *buffer);
        fill(buffer, MANY, type, rank->config.rank);
        CHECK(rank, trib_allreduce(rank->comm, buffer, buffer, MANY, type, TRIB_AVERAGE) == TRIB_OK);
        CHECK(rank, is_sum(buffer, MANY, type, rank->config.ranks, (int64_t)rank->config.ranks));
        free(buffer);
    }
    float four[4] = {1.0F, 2.0F, -3.0F, (float)rank->config.rank};
    CHECK(rank, trib_allreduce(rank->comm, four, four, 4, TRIB_FLOAT32, TRIB_AVERAGE) == TRIB_OK);
    CHECK(rank, four[0] == 1.0F && four[1] == 2.0F && four[2] == -3.0F && four[3] == 1.0F);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void allreduce__average(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, average_body);
    expect_good(ranks, RANKS);
}

static void use_bfloat16(struct trib_config *config)
{
    config->wire = TRIB_WIRE_BFLOAT16;
}

static void use_int32(struct trib_config *config)
{
    config->wire = TRIB_WIRE_INT32;
}

/* Whole numbers below 2^8 are exact in bfloat16, and powers of two scale them without loss for int32. */
static void wire_body(struct rank *rank)
{
    check_allreduce(rank, TRIB_FLOAT32, 10, 0);
    check_allreduce(rank, TRIB_FLOAT32, MANY, 3);
    check_allreduce(rank, TRIB_INT64, 100, 0);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void allreduce__narrow_wires(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, use_bfloat16, wire_body);
    expect_good(ranks, RANKS);
    run_ranks(ranks, RANKS, use_int32, wire_body);
    expect_good(ranks, RANKS);
}

/* ---- broadcast, barrier ---- */

static void broadcast_body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->config.ranks; root++) {
        for (enum trib_type type = TRIB_FLOAT32; type < TRIB_TYPE_COUNT; type++) {
            size_t bytes = 5001 * trib_type_size(type);
            uint8_t *buffer = malloc(bytes + 1);
            for (size_t i = 0; i < bytes; i++) {
                buffer[i] = rank->config.rank == root ? (uint8_t)(i * 31 + root) : 0xee;
            }
            buffer[bytes] = 0x77;
            CHECK(rank, trib_broadcast(rank->comm, buffer, 5001, type, root) == TRIB_OK);
            size_t right = 0;
            while (right < bytes && buffer[right] == (uint8_t)(right * 31 + root)) {
                right++;
            }
            CHECK(rank, right == bytes && buffer[bytes] == 0x77);
            free(buffer);
        }
    }
    CHECK(rank, trib_broadcast(rank->comm, NULL, 0, TRIB_BYTES, 1) == TRIB_OK);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void broadcast__all_types_and_roots(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, broadcast_body);
    expect_good(ranks, RANKS);
}

static atomic_uint entered;

static void barrier_body(struct rank *rank)
{
    for (unsigned round = 0; round < 50; round++) {
        (void)atomic_fetch_add(&entered, 1);
        CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
        CHECK(rank, atomic_load(&entered) >= (round + 1) * rank->config.ranks);
    }
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void barrier__nobody_leaves_before_all_have_come(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    atomic_store(&entered, 0);
    run_ranks(ranks, RANKS, NULL, barrier_body);
    expect_good(ranks, RANKS);
}

/* ---- requests ---- */

#define REQUESTS 150U /* more than a node holds */

static void requests_body(struct rank *rank)
{
    struct trib_request *requests[REQUESTS];
    int32_t *buffers[REQUESTS];
    for (unsigned i = 0; i < REQUESTS; i++) {
        buffers[i] = malloc((1 + i * 10) * sizeof(int32_t));
        fill(buffers[i], 1 + i * 10, TRIB_INT32, rank->config.rank);
        CHECK(rank, trib_allreduce_start(rank->comm, buffers[i], buffers[i], 1 + i * 10, TRIB_INT32, TRIB_SUM,
                                         &requests[i]) == TRIB_OK);
    }
    /* Half by waiting, last first; half by testing. */
    for (unsigned i = REQUESTS; i-- > REQUESTS / 2;) {
        CHECK(rank, trib_request_wait(requests[i]) == TRIB_OK);
    }
    for (unsigned i = 0; i < REQUESTS / 2; i++) {
        bool done = false;
        while (!done) {
            CHECK(rank, trib_request_test(requests[i], &done) == TRIB_OK);
        }
    }
    for (unsigned i = 0; i < REQUESTS; i++) {
        CHECK(rank, is_sum(buffers[i], 1 + i * 10, TRIB_INT32, rank->config.ranks, 1));
        free(buffers[i]);
    }
    struct trib_comm_stats stats;
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.operations == REQUESTS && stats.lane_failures == 0);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void request__many_at_once(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, requests_body);
    expect_good(ranks, RANKS);
    run_ranks(ranks, RANKS, use_calls_only, requests_body);
    expect_good(ranks, RANKS);
}

/* ---- waits with a limit ---- */

#define LIMIT_NS (30 * TRIB_MILLISECOND_NS)

struct first_waiter {
    struct trib_request *request;
    enum trib_status status;
};

static void *wait_first(void *argument)
{
    struct first_waiter *waiter = argument;
    waiter->status = trib_request_wait(waiter->request);
    return NULL;
}

/* Two waits that end before the operation: no earlier than they were told to, and the request is there for another. */
static void wait_in_vain(struct rank *rank, struct trib_request *request)
{
    bool done = true;
    uint64_t start = trib_clock_ns();
    CHECK(rank, trib_request_wait_for(request, LIMIT_NS, &done) == TRIB_OK && !done);
    CHECK(rank, trib_clock_ns() - start >= LIMIT_NS);
    CHECK(rank, trib_request_wait_for(request, 0, &done) == TRIB_OK && !done);
}

/* Rank 0 is early, and gives up waiting: alone, then while another thread leads. The others come after that. */
static void limited_body(struct rank *rank)
{
    int32_t numbers[2][100];
    struct trib_request *requests[2] = {NULL, NULL};
    struct first_waiter waiter = {.status = TRIB_ERR_CLOSED};
    bool is_early = rank->config.rank == 0;
    bool done = false;
    pthread_t thread;
    for (unsigned i = 0; i < 2; i++) {
        if (!is_early && i == 0) {
            (void)pthread_barrier_wait(rank->together);
        }
        fill(numbers[i], 100, TRIB_INT32, rank->config.rank);
        CHECK(rank, trib_allreduce_start(rank->comm, numbers[i], numbers[i], 100, TRIB_INT32, TRIB_SUM, &requests[i]) ==
                        TRIB_OK);
    }
    if (is_early) {
        wait_in_vain(rank, requests[1]);
        waiter.request = requests[0];
        CHECK(rank, pthread_create(&thread, NULL, wait_first, &waiter) == 0);
        (void)usleep(5000);
        wait_in_vain(rank, requests[1]);
        (void)pthread_barrier_wait(rank->together);
        (void)pthread_join(thread, NULL);
        CHECK(rank, waiter.status == TRIB_OK);
    } else {
        CHECK(rank, trib_request_wait(requests[0]) == TRIB_OK);
    }
    CHECK(rank, trib_request_wait_for(requests[1], UINT64_MAX, &done) == TRIB_OK && done);
    CHECK(rank, is_sum(numbers[0], 100, TRIB_INT32, rank->config.ranks, 1));
    CHECK(rank, is_sum(numbers[1], 100, TRIB_INT32, rank->config.ranks, 1));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void request__is_waited_for_no_longer_than_told(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, limited_body);
    expect_good(ranks, RANKS);
    run_ranks(ranks, RANKS, use_calls_only, limited_body);
    expect_good(ranks, RANKS);
}

/* All ranks only ask, by limits that leave no time to sleep: so a wait of 0 ns must take packets too. */
static void asking_body(struct rank *rank)
{
    static const uint64_t limits[] = {0, 1, 50 * TRIB_MICROSECOND_NS};
    uint64_t end_ns = trib_clock_ns() + 20 * TRIB_SECOND_NS;
    for (unsigned i = 0; i < 30; i++) {
        int32_t numbers[3000];
        struct trib_request *request = NULL;
        bool done = false;
        fill(numbers, 3000, TRIB_INT32, rank->config.rank);
        CHECK(rank,
              trib_allreduce_start(rank->comm, numbers, numbers, 3000, TRIB_INT32, TRIB_SUM, &request) == TRIB_OK);
        while (!done && trib_clock_ns() < end_ns) {
            CHECK(rank, trib_request_wait_for(request, limits[i % 3], &done) == TRIB_OK);
        }
        CHECK(rank, done && is_sum(numbers, 3000, TRIB_INT32, rank->config.ranks, 1));
    }
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void request__ends_though_nobody_waits(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, asking_body);
    expect_good(ranks, RANKS);
    run_ranks(ranks, RANKS, use_calls_only, asking_body);
    expect_good(ranks, RANKS);
}

/* Nobody calls anything after the start: the progress thread alone must bring the result. */
static void progress_body(struct rank *rank)
{
    static int32_t buffers[RANKS][5000];
    int32_t *buffer = buffers[rank->config.rank];
    struct trib_request *request = NULL;
    fill(buffer, 5000, TRIB_INT32, rank->config.rank);
    CHECK(rank, trib_allreduce_start(rank->comm, buffer, buffer, 5000, TRIB_INT32, TRIB_SUM, &request) == TRIB_OK);
    for (unsigned i = 0; i < 500 && !atomic_load(&request->done); i++) {
        (void)usleep(10000);
    }
    CHECK(rank, atomic_load(&request->done));
    CHECK(rank, is_sum(buffer, 5000, TRIB_INT32, rank->config.ranks, 1));
    CHECK(rank, trib_request_wait(request) == TRIB_OK);
    if (on_host) { /* no marks there */
        CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
        return;
    }
    /* Now idle: its mark must reach the control plane by itself. */
    trib_endpoint_lock(rank->comm->endpoint);
    uint64_t mark = rank->comm->verbs->mark(rank->comm->node);
    trib_endpoint_unlock(rank->comm->endpoint);
    uint64_t told = 0;
    for (unsigned i = 0; i < 300 && told != mark; i++) {
        (void)usleep(10000);
        trib_endpoint_lock(rank->comm->endpoint);
        told = rank->comm->told_mark;
        trib_endpoint_unlock(rank->comm->endpoint);
    }
    CHECK(rank, mark > 0 && told == mark);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void progress__needs_no_call(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, progress_body);
    expect_good(ranks, RANKS);
}

/* ---- several communicators, several threads ---- */

struct second {
    struct rank *rank;
    struct trib_comm *comm;
};

static void *second_thread(void *argument)
{
    const struct second *second = argument;
    struct rank *rank = second->rank;
    int64_t *buffer = malloc(3000 * sizeof *buffer);
    for (unsigned round = 0; round < 30; round++) {
        fill(buffer, 3000, TRIB_INT64, rank->config.rank);
        CHECK(rank, trib_allreduce(second->comm, buffer, buffer, 3000, TRIB_INT64, TRIB_SUM) == TRIB_OK);
        CHECK(rank, is_sum(buffer, 3000, TRIB_INT64, rank->config.ranks, 1));
    }
    free(buffer);
    return NULL;
}

/* Any of this process's ranks: all have the same socket settings, and the second job is new to each endpoint. */
static bool is_shared(const struct rank *rank, const struct trib_endpoint *endpoint)
{
    const struct rank *first = rank - rank->config.rank;
    bool found = false;
    for (uint32_t i = 0; i < rank->config.ranks; i++) {
        found = found || first[i].comm->endpoint == endpoint;
    }
    return found;
}

/* Two communicators share an endpoint; each is driven by a thread of its own. */
static void two_body(struct rank *rank)
{
    struct trib_config config = rank->config;
    struct trib_comm *other = NULL;
    pthread_t thread;
    (void)pthread_barrier_wait(rank->together);
    (void)snprintf(config.job, sizeof config.job, "%.50s-b", rank->config.job);
    CHECK(rank, trib_comm_create(&config, &other, rank->error) == TRIB_OK);
    if (other == NULL) {
        (void)trib_comm_close(rank->comm);
        return;
    }
    CHECK(rank, is_shared(rank, other->endpoint));
    (void)pthread_barrier_wait(rank->together);
    struct second first = {rank, rank->comm};
    struct second second = {rank, other};
    if (pthread_create(&thread, NULL, second_thread, &second) == 0) {
        (void)second_thread(&first);
        (void)pthread_join(thread, NULL);
    }
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
    CHECK(rank, trib_barrier(other) == TRIB_OK);
    CHECK(rank, trib_comm_close(other) == TRIB_OK);
}

static void comm__two_share_an_endpoint(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, two_body);
    expect_good(ranks, RANKS);
    run_ranks(ranks, RANKS, use_calls_only, two_body);
    expect_good(ranks, RANKS);
}

#define BACKLOG 5000

static void use_backlog(struct trib_config *config)
{
    config->backlog = BACKLOG;
}

static struct trib_comm *add_comm(struct rank *rank, const char *scheme, const char *job)
{
    struct trib_config config = rank->config;
    struct trib_comm *comm = NULL;
    (void)snprintf(config.scheme, sizeof config.scheme, "%s", scheme);
    (void)snprintf(config.job, sizeof config.job, "%.50s-%s", rank->config.job, job);
    CHECK(rank, trib_comm_create(&config, &comm, rank->error) == TRIB_OK);
    return comm;
}

/* All sockets of the endpoint flag queues that are so long. */
static bool flags_from(struct trib_endpoint *endpoint, uint32_t bytes)
{
    trib_endpoint_lock(endpoint);
    bool is_so = endpoint->shard_count > 0;
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        is_so = is_so && trib_port_backlog(endpoint->shards[i].port) == bytes;
    }
    trib_endpoint_unlock(endpoint);
    return is_so;
}

/* A rank's own communicator, of switchml, keeps its endpoint; those of panama come to any of them, and go. */
static void backlog_body(struct rank *rank)
{
    struct trib_endpoint *own = rank->comm->endpoint;
    CHECK(rank, flags_from(own, 0));
    (void)pthread_barrier_wait(rank->together);
    struct trib_comm *first = add_comm(rank, "panama", "b");
    (void)pthread_barrier_wait(rank->together);
    struct trib_comm *second = add_comm(rank, "panama", "c");
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, flags_from(own, BACKLOG));
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, first == NULL || trib_comm_close(first) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, flags_from(own, BACKLOG));
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, second == NULL || trib_comm_close(second) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, flags_from(own, 0));
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void backlog__is_flagged_while_somebody_follows_congestion(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, use_backlog, backlog_body);
    expect_good(ranks, RANKS);
}

struct asker {
    struct rank *rank;
    atomic_bool stop;
    unsigned answers;
};

static void *ask(void *argument)
{
    struct asker *asker = argument;
    struct trib_comm_stats stats;
    while (!atomic_load(&asker->stop)) {
        trib_comm_stats(asker->rank->comm, &stats);
        asker->answers++;
        (void)usleep(100);
    }
    return NULL;
}

/* One operation that lasts: who drives it must let other threads in meanwhile. */
static void stream_body(struct rank *rank)
{
    uint64_t count = 16 << 20;
    float *buffer = calloc(count, sizeof *buffer);
    struct asker asker = {.rank = rank};
    pthread_t thread;
    uint64_t begin = trib_clock_ns();
    CHECK(rank, pthread_create(&thread, NULL, ask, &asker) == 0);
    CHECK(rank, trib_allreduce(rank->comm, buffer, buffer, count, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    uint64_t took = trib_clock_ns() - begin;
    atomic_store(&asker.stop, true);
    (void)pthread_join(thread, NULL);
    CHECK(rank, asker.answers > took / (20 * TRIB_MILLISECOND_NS * patience()));
    free(buffer);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void drive__lets_other_threads_in(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, NULL, stream_body);
    expect_good(ranks, 2);
}

static void stats_body(struct rank *rank)
{
    static float buffers[RANKS][352 * 100];
    struct trib_comm_stats before;
    struct trib_comm_stats after;
    float *buffer = buffers[rank->config.rank];
    trib_comm_stats(rank->comm, &before);
    CHECK(rank, trib_allreduce(rank->comm, buffer, buffer, 352 * 100, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    trib_comm_stats(rank->comm, &after);
    CHECK(rank, after.fragments - before.fragments == 100);
    CHECK(rank, after.operations - before.operations == 1);
    uint64_t handed = after.bytes_handed - before.bytes_handed; /* without a switch: to the own root, and its results */
    CHECK(rank, after.bytes_sent - before.bytes_sent + handed >= 100 * (1408 + 64));
    CHECK(rank, after.bytes_received - before.bytes_received + handed >= 100 * (1408 + 64));
    CHECK(rank, after.send_calls > before.send_calls && after.receive_calls > before.receive_calls);
    CHECK(rank, after.send_calls - before.send_calls < 100);
    CHECK(rank, !after.multicast || after.multicast_received > 0);
    CHECK(rank, after.lane_failures == 0 && after.reregistrations == 0 && after.contributions_again == 0);
    CHECK(rank, trib_comm_rank(rank->comm) == rank->config.rank && trib_comm_ranks(rank->comm) == RANKS);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void stats__count_what_went_by(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, stats_body);
    expect_good(ranks, RANKS);
}

/* Root 0 sums three fragments for each of root 1's. */
static void weigh(struct trib_config *config)
{
    config->root_weight = config->rank == 0 ? 3 : 1;
}

static void weight_body(struct rank *rank)
{
    static float buffers[2][352 * 4000];
    struct trib_comm_stats stats;
    float *buffer = buffers[rank->config.rank];
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.no_box && stats.roots == 2);
    CHECK(rank, trib_allreduce(rank->comm, buffer, buffer, 352 * 4000, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    trib_comm_stats(rank->comm, &stats);
    /* 3000 or 1000 of the 4000, from the other rank, give or take a round of trains; and what probes add. */
    uint64_t packets = stats.root_packets_received; /* all of them: the other rank may have begun before this one */
    CHECK(rank, packets >= (rank->config.rank == 0 ? 2750 : 750) && packets < (rank->config.rank == 0 ? 4000 : 2000));
    /* This rank's own, and their results, need no kernel. */
    CHECK(rank, stats.packets_handed >= (rank->config.rank == 0 ? 5500 : 1500));
    CHECK(rank, stats.bytes_handed >= stats.packets_handed * 64);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void weight__deals_by_it(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, weigh, weight_body);
    expect_good(ranks, 2);
}

/* The last rank does not come; the config says 30 minutes, the call that it is 3.5 s or more (patience.h), time enough
 * to hear who is missing. */
static void later_timeout_body(struct rank *rank)
{
    float value = 1.0F;
    char limit[TRIB_UNITS_TEXT_MAX];
    char want[96];
    trib_format_duration(3500 * TRIB_MILLISECOND_NS * patience(), limit);
    (void)snprintf(want, sizeof want, "did not end within %s: rank 2 is missing", limit);
    trib_comm_set_timeout(rank->comm, 3500 * TRIB_MILLISECOND_NS * patience());
    enum trib_status status = TRIB_OK;
    if (rank->config.rank < 2) {
        uint64_t begin = trib_clock_ns();
        status = trib_allreduce(rank->comm, &value, &value, 1, TRIB_FLOAT32, TRIB_SUM);
        CHECK(rank, status == TRIB_ERR_TIMEOUT || status == TRIB_ERR_PEER);
        CHECK(rank, trib_clock_ns() - begin < 20 * TRIB_SECOND_NS * patience());
        CHECK(rank, strstr(trib_comm_error(rank->comm), want) != NULL);
    }
    (void)pthread_barrier_wait(rank->together);
    (void)trib_comm_close(rank->comm);
}

static void timeout__can_be_set_later(void **state)
{
    (void)state;
    struct rank ranks[3];
    run_ranks(ranks, 3, NULL, later_timeout_body);
    expect_good(ranks, 3);
}

int main(void)
{
    const struct CMUnitTest no_box_tests[] = {cmocka_unit_test(weight__deals_by_it)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory__is_given_back_when_idle),
        cmocka_unit_test(allreduce__all_types_sizes_places),
        cmocka_unit_test(allreduce__survives_faults),
        cmocka_unit_test(allreduce__without_thread_trains_multicast),
        cmocka_unit_test(allreduce__alone),
        cmocka_unit_test(allreduce__average),
        cmocka_unit_test(allreduce__narrow_wires),
        cmocka_unit_test(broadcast__all_types_and_roots),
        cmocka_unit_test(barrier__nobody_leaves_before_all_have_come),
        cmocka_unit_test(request__many_at_once),
        cmocka_unit_test(request__is_waited_for_no_longer_than_told),
        cmocka_unit_test(request__ends_though_nobody_waits),
        cmocka_unit_test(progress__needs_no_call),
        cmocka_unit_test(timeout__can_be_set_later),
        cmocka_unit_test(comm__two_share_an_endpoint),
        cmocka_unit_test(backlog__is_flagged_while_somebody_follows_congestion),
        cmocka_unit_test(drive__lets_other_threads_in),
        cmocka_unit_test(stats__count_what_went_by),
    };
    const struct CMUnitTest host_tests[] = {
        cmocka_unit_test(allreduce__all_types_sizes_places),
        cmocka_unit_test(allreduce__alone),
        cmocka_unit_test(allreduce__average),
        cmocka_unit_test(allreduce__narrow_wires),
        cmocka_unit_test(broadcast__all_types_and_roots),
        cmocka_unit_test(barrier__nobody_leaves_before_all_have_come),
        cmocka_unit_test(request__many_at_once),
        cmocka_unit_test(request__is_waited_for_no_longer_than_told),
        cmocka_unit_test(progress__needs_no_call),
        cmocka_unit_test(timeout__can_be_set_later),
        cmocka_unit_test(comm__two_share_an_endpoint),
        cmocka_unit_test(drive__lets_other_threads_in),
    };
    keeper_open();
    switch_command('2');
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    on_host = true;
    failed += cmocka_run_group_tests(host_tests, NULL, NULL);
    begin_no_box();
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    return failed + cmocka_run_group_tests(no_box_tests, NULL, NULL);
}
