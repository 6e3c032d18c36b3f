/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_sum.c: random operations in the memory of one host, of random bits, against sums that slot.h's own steps make with the scalar
 * kernels, contributions arriving in random order: every bit must be that of a switch whose children are these ranks.
 * Ranks are threads. Mirrors src/host/engine.c, sum.c. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include <tributary/tributary.h>

#include "core/slot.h"
#include "core/value.h"
#include "io/clock.h"

#define RANKS_MAX 33U
#define MARGIN 64U
#define BYTES_MAX 1000008U

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed * UINT64_C(0x2545f4914f6cdd1d);
}

/* One operation, the same on all ranks. */
struct task {
    bool broadcast, in_place, starts;
    enum trib_type type;
    enum trib_reduction reduction;
    uint64_t count;
    uint32_t root;
    size_t shift;
    uint64_t seed;
};

static struct task draw(uint64_t *seed, uint32_t ranks)
{
    static const enum trib_type types[] = {TRIB_FLOAT32, TRIB_FLOAT16, TRIB_BFLOAT16, TRIB_INT32,
                                           TRIB_INT64,   TRIB_FLOAT64, TRIB_INT8,     TRIB_UINT8};
    static const uint64_t bytes[] = {0, 8, 100, 4096, 16384, 16392, 65536, 65544, 262144, 262152, 1000000};
    struct task task = {.seed = next(seed) | 1};
    task.type = types[next(seed) % 8];
    task.broadcast = next(seed) % 4 == 0;
    task.in_place = next(seed) % 2 == 0;
    task.starts = next(seed) % 4 == 0;
    task.reduction = next(seed) % 3 == 0 ? (enum trib_reduction)(1 + next(seed) % 5) : TRIB_SUM;
    task.root = (uint32_t)(next(seed) % ranks);
    task.shift = next(seed) % 3 == 0 ? next(seed) % 16 : 0;
    uint64_t most = bytes[next(seed) % (ranks > 8 ? 9 : 11)];
    task.count = (next(seed) % 2 == 0 ? most : next(seed) % (most + 1)) / trib_type_size(task.type);
    return task;
}

/* Any bits are a number of any type: infinities and NaNs come by themselves in 16 bits, here and there in others. */
static void fill(uint8_t *tensor, const struct task *task, uint32_t rank)
{
    uint64_t seed = task->seed ^ (rank + 1) * UINT64_C(0x9e3779b97f4a7c15);
    size_t bytes = task->count * trib_type_size(task->type);
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t bits = next(&seed);
        if (task->type == TRIB_FLOAT32 && bits % 64 != 0) {
            bits &= UINT64_C(0xbfffffffbfffffff); /* magnitudes below 2: sums stay finite, but for one in 64 */
        }
        memcpy(tensor + at, &bits, bytes - at < 8 ? bytes - at : 8);
    }
}

/* What one switch would hand out for the whole tensor as one fragment; slot.h carries at most 64 children. */
static void add_up(uint8_t *result, uint8_t *const *sent, const struct task *task, uint32_t ranks, uint64_t *seed)
{
    const struct trib_value_kernels *k = trib_value_kernels_named("scalar");
    size_t bytes = task->count * trib_type_size(task->type);
    size_t row_size = trib_row_size(TRIB_BFLOAT16, bytes) + 8;
    uint8_t *rows = malloc(trib_slot_rows(ranks) * row_size);
    uint64_t all = UINT64_MAX >> (64 - ranks);
    uint32_t order[64];
    struct trib_slot slot = {0};
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t other = (uint32_t)(next(seed) % (i + 1));
        order[i] = order[other];
        order[other] = i;
    }
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t child = order[i];
        struct trib_packet packet = {.payload_len = 64, .type = (uint8_t)task->type};
        struct trib_merge merge;
        uint32_t level = 1;
        trib_slot_note(&slot, &packet, child, 1);
        if ((slot.loaded >> (child ^ 1U) & 1) != 0) {
            trib_row_add(k, task->type, task->reduction, rows + child / 2 * row_size, sent[child], bytes);
        } else {
            trib_row_load(k, task->type, rows + child / 2 * row_size, sent[child], bytes);
        }
        while (trib_slot_climb(&slot, all, child, &level, &merge)) {
            trib_row_merge(k, task->type, task->reduction, rows + merge.into * row_size, rows + merge.from * row_size,
                           bytes);
        }
    }
    uint8_t *top = rows + trib_slot_row(&slot, all) * row_size;
    struct trib_conversion conversion = {
        .wire = task->type, .tensor = task->type, .divisor = task->reduction == TRIB_AVERAGE ? ranks : 1};
    trib_row_finish(k, task->type, top, bytes);
    trib_tensor_decode(k, &conversion, result, top, task->count);
    free(rows);
}

struct world {
    uint32_t ranks;
    uint32_t tasks;
    uint64_t seed;
    char job[TRIB_NAME_MAX + 1];
    pthread_barrier_t together;
    uint8_t *sent[RANKS_MAX]; /* copies of what ranks put in, for the oracle */
    uint8_t *expected;
};

struct rank {
    struct world *world;
    uint32_t rank;
    uint8_t *kept; /* shared memory of many tasks */
    char wrong[256];
};

static bool is_untouched(const uint8_t *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != 0xc3) {
            return false;
        }
    }
    return true;
}

static enum trib_status call(struct trib_comm *comm, const struct task *task, uint8_t *send, uint8_t *recv)
{
    struct trib_request *request = NULL;
    enum trib_status status;
    bool done = false;
    if (!task->starts) {
        return task->broadcast ? trib_broadcast(comm, recv, task->count, task->type, task->root)
                               : trib_allreduce(comm, send, recv, task->count, task->type, task->reduction);
    }
    status = task->broadcast
                 ? trib_broadcast_start(comm, recv, task->count, task->type, task->root, &request)
                 : trib_allreduce_start(comm, send, recv, task->count, task->type, task->reduction, &request);
    while (status == TRIB_OK && !done) {
        status = trib_request_test(request, &done);
        (void)sched_yield();
    }
    return status;
}

/* The world's rank 0 makes the oracle's answer while others wait. */
static void prepare(struct rank *rank, const struct task *task, const uint8_t *send)
{
    struct world *world = rank->world;
    size_t bytes = task->count * trib_type_size(task->type);
    memcpy(world->sent[rank->rank], send, bytes);
    (void)pthread_barrier_wait(&world->together);
    if (rank->rank == 0 && task->broadcast) {
        memcpy(world->expected, world->sent[task->root], bytes);
    } else if (rank->rank == 0) {
        uint64_t seed = task->seed;
        add_up(world->expected, world->sent, task, world->ranks, &seed);
    }
    (void)pthread_barrier_wait(&world->together);
}

/* Memory for this task alone, or that of all tasks of the rank: others know it already, from another offset. */
static uint8_t *take_shared(struct rank *rank, size_t bytes, bool keeps)
{
    if (!keeps) {
        return trib_shared_alloc(bytes);
    }
    if (rank->kept == NULL) {
        rank->kept = trib_shared_alloc(BYTES_MAX + 3 * MARGIN);
    }
    return rank->kept + bytes % 64;
}

static void run_task(struct rank *rank, struct trib_comm *comm, uint32_t index, const struct task *task)
{
    size_t bytes = task->count * trib_type_size(task->type);
    bool lives_shared =
        (task->seed >> (rank->rank % 32)) % 2 != 0; /* others read it where it lies; some ranks', not all */
    bool keeps = task->seed % 3 == 0;
    uint8_t *send = lives_shared ? take_shared(rank, bytes + 2 * MARGIN, keeps) : malloc(bytes + 2 * MARGIN);
    bool recv_too = lives_shared && !keeps && task->in_place;
    uint8_t *recv = recv_too ? trib_shared_alloc(bytes + 2 * MARGIN) : malloc(bytes + 2 * MARGIN);
    memset(send, 0xc3, bytes + 2 * MARGIN);
    memset(recv, 0xc3, bytes + 2 * MARGIN);
    uint8_t *from = (task->in_place || task->broadcast ? recv : send) + MARGIN / 2 + task->shift;
    uint8_t *to = recv + MARGIN / 2 + task->shift;
    fill(from, task, rank->rank);
    prepare(rank, task, from);
    enum trib_status status = call(comm, task, from, to);
    bool right = status == TRIB_OK && memcmp(to, rank->world->expected, bytes) == 0 &&
                 is_untouched(recv, MARGIN / 2 + task->shift) &&
                 is_untouched(to + bytes, MARGIN + MARGIN / 2 - task->shift) &&
                 (from == to || memcmp(from, rank->world->sent[rank->rank], bytes) == 0);
    if (!right && rank->wrong[0] == '\0') {
        (void)snprintf(rank->wrong, sizeof rank->wrong, "task %u: %s of %llu %s (%s): %s %.120s; %u ranks, seed %llu",
                       index, task->broadcast ? "broadcast" : "allreduce", (unsigned long long)task->count,
                       trib_type_name(task->type), trib_reduction_name(task->reduction), trib_status_name(status),
                       trib_comm_error(comm), rank->world->ranks, (unsigned long long)rank->world->seed);
    }
    if (!lives_shared) {
        free(send);
    } else if (!keeps) {
        trib_shared_free(send);
    }
    if (recv_too) {
        trib_shared_free(recv);
    } else {
        free(recv);
    }
    (void)pthread_barrier_wait(&rank->world->together);
}

static void *run_rank(void *argument)
{
    struct rank *rank = argument;
    struct trib_config config;
    struct trib_comm *comm = NULL;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t seed = rank->world->seed;
    trib_config_init(&config);
    memcpy(config.job, rank->world->job, sizeof config.job);
    config.rank = rank->rank;
    config.ranks = rank->world->ranks;
    if (trib_comm_create(&config, &comm, error) != TRIB_OK) {
        (void)snprintf(rank->wrong, sizeof rank->wrong, "create: %.200s", error);
        abort(); /* the others wait for ever otherwise */
    }
    for (uint32_t i = 0; i < rank->world->tasks; i++) {
        struct task task = draw(&seed, rank->world->ranks);
        run_task(rank, comm, i, &task);
    }
    trib_shared_free(rank->kept); /* before the communicator ends: others still have it mapped */
    if (trib_comm_close(comm) != TRIB_OK && rank->wrong[0] == '\0') {
        (void)snprintf(rank->wrong, sizeof rank->wrong, "close");
    }
    return NULL;
}

static void run_world(uint32_t ranks, uint32_t tasks, uint64_t seed)
{
    static struct rank all[RANKS_MAX];
    struct world world = {.ranks = ranks, .tasks = tasks, .seed = seed};
    pthread_t threads[RANKS_MAX];
    (void)snprintf(world.job, sizeof world.job, "host-sum-%d-%llu", (int)getpid(), (unsigned long long)seed);
    assert_int_equal(pthread_barrier_init(&world.together, NULL, ranks), 0);
    world.expected = malloc(BYTES_MAX);
    for (uint32_t i = 0; i < ranks; i++) {
        all[i] = (struct rank){.world = &world, .rank = i};
        world.sent[i] = malloc(BYTES_MAX);
        assert_int_equal(pthread_create(&threads[i], NULL, run_rank, &all[i]), 0);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        free(world.sent[i]);
    }
    free(world.expected);
    (void)pthread_barrier_destroy(&world.together);
    for (uint32_t i = 0; i < ranks; i++) {
        if (all[i].wrong[0] != '\0') {
            fail_msg("rank %u: %s", i, all[i].wrong);
        }
    }
}

static void sum__few_ranks(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks <= 5; ranks++) {
        run_world(ranks, 60, ranks * 1000003);
    }
}

static void sum__eight_ranks(void **state)
{
    (void)state;
    run_world(8, 60, 77);
}

static void sum__thirty_three_ranks(void **state)
{
    (void)state;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max; /* every rank holds a descriptor of every other, and all are in this process */
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    run_world(33, 25, 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum__few_ranks),
        cmocka_unit_test(sum__eight_ranks),
        cmocka_unit_test(sum__thirty_three_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
