/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_sum.c: random operations in the memory of one host, of random bits, against sums that slot.h's own steps
 * make with the scalar kernels, contributions arriving in random order: every bit must be that of a switch whose
 * children are these ranks, and of a reduce-scatter that of owners who add their parts to what such a switch hands out.
 * No other byte changes. Ranks are threads. Mirrors src/host/engine.c, small.c, large.c, sum.c. */
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
    enum trib_collective collective;
    bool in_place, starts, uneven;
    enum trib_type type;
    enum trib_reduction reduction;
    uint64_t count; /* elements of the whole tensor */
    uint64_t counts[RANKS_MAX], firsts[RANKS_MAX];
    uint32_t root;
    size_t shift;
    uint64_t seed;
};

static bool has_shares(const struct task *task)
{
    return task->collective == TRIB_ALLGATHER || task->collective == TRIB_REDUCE_SCATTER;
}

/* Shares of `most` elements altogether: equal ones, or such as they come, some of them empty, now and then one that is
 * all. */
static void draw_shares(struct task *task, uint64_t *seed, uint32_t ranks, uint64_t most)
{
    uint64_t left = most;
    uint64_t kind = next(seed) % 8;
    task->uneven = kind > 2;
    task->count = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint64_t count = most / ranks;
        if (kind == 7) {
            count = rank == task->root ? most : 0;
        } else if (kind > 3) {
            count = next(seed) % 3 == 0 ? 0 : next(seed) % (left / 2 + 1);
        }
        left -= kind > 3 && kind < 7 ? count : 0;
        task->counts[rank] = count;
        task->firsts[rank] = task->count;
        task->count += count;
    }
}

static struct task draw(uint64_t *seed, uint32_t ranks)
{
    static const enum trib_type types[] = {TRIB_FLOAT32, TRIB_FLOAT16, TRIB_BFLOAT16, TRIB_INT32,
                                           TRIB_INT64,   TRIB_FLOAT64, TRIB_INT8,     TRIB_UINT8};
    static const uint64_t bytes[] = {0, 8, 100, 4096, 16384, 16392, 65536, 65544, 262144, 262152, 1000000};
    static const enum trib_collective collectives[] = {TRIB_ALLREDUCE, TRIB_ALLREDUCE, TRIB_BROADCAST,
                                                       TRIB_REDUCE,    TRIB_ALLGATHER, TRIB_REDUCE_SCATTER};
    struct task task = {.seed = next(seed) | 1};
    task.type = types[next(seed) % 8];
    task.collective = collectives[next(seed) % 6];
    task.in_place = next(seed) % 2 == 0;
    task.starts = next(seed) % 4 == 0;
    task.reduction = next(seed) % 3 == 0 ? (enum trib_reduction)(1 + next(seed) % 5) : TRIB_SUM;
    task.root = (uint32_t)(next(seed) % ranks);
    task.shift = next(seed) % 3 == 0 ? next(seed) % 16 : 0;
    uint64_t most = bytes[next(seed) % (ranks > 8 ? 9 : 11)];
    task.count = (next(seed) % 2 == 0 ? most : next(seed) % (most + 1)) / trib_type_size(task.type);
    if (has_shares(&task)) {
        draw_shares(&task, seed, ranks, task.count);
    }
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

/* Some elements of every rank's tensor, or of all but one. */
struct part {
    uint8_t *const *sent;
    size_t at, bytes;
    uint32_t absent; /* NOBODY: none */
};

#define NOBODY UINT32_MAX

static void take(struct trib_slot *slot, const struct task *task, const struct part *part, uint32_t child, uint8_t *row)
{
    const struct trib_value_kernels *k = trib_value_kernels_named("scalar");
    bool is_absent = child == part->absent;
    struct trib_packet packet = {.payload_len = is_absent ? 0 : 64, .type = (uint8_t)task->type};
    trib_slot_note(slot, &packet, UINT64_C(1) << child, !is_absent);
    if (is_absent) {
        return;
    }
    if ((slot->loaded >> (child ^ 1U) & 1) != 0) {
        trib_row_add(k, task->type, task->reduction, row, part->sent[child] + part->at, part->bytes);
    } else {
        trib_row_load(k, task->type, row, part->sent[child] + part->at, part->bytes);
    }
}

static void shuffle(uint32_t *order, uint32_t ranks, uint64_t *seed)
{
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t other = (uint32_t)(next(seed) % (i + 1));
        order[i] = order[other];
        order[other] = i;
    }
}

/* The owner of a share adds its own part to what the switch hands out. */
static void add_own(uint8_t *row, const struct task *task, const struct part *part, bool has_others)
{
    const struct trib_value_kernels *k = trib_value_kernels_named("scalar");
    uint8_t *payload = malloc(part->bytes + 8);
    memcpy(payload, row, part->bytes);
    const uint8_t *own = part->sent[part->absent] + part->at;
    trib_row_load(k, task->type, row, has_others ? payload : own, part->bytes);
    if (has_others) {
        trib_row_add(k, task->type, task->reduction, row, own, part->bytes);
    }
    trib_row_finish(k, task->type, row, part->bytes);
    free(payload);
}

/* What one switch would hand out for the part as one fragment; slot.h carries at most 64 children. */
static void add_up(uint8_t *result, const struct task *task, const struct part *part, uint32_t ranks, uint64_t *seed)
{
    const struct trib_value_kernels *k = trib_value_kernels_named("scalar");
    size_t row_size = trib_row_size(TRIB_BFLOAT16, part->bytes) + 8;
    uint8_t *rows = calloc(trib_slot_rows(ranks), row_size);
    uint64_t all = UINT64_MAX >> (64 - ranks);
    uint32_t order[64];
    struct trib_slot slot = {0};
    shuffle(order, ranks, seed);
    for (uint32_t i = 0; i < ranks; i++) {
        struct trib_merge merge;
        uint32_t level = 1;
        take(&slot, task, part, order[i], rows + order[i] / 2 * row_size);
        while (trib_slot_climb(&slot, all, order[i], &level, &merge)) {
            trib_row_merge(k, task->type, task->reduction, rows + merge.into * row_size, rows + merge.from * row_size,
                           part->bytes);
        }
    }
    uint8_t *top = slot.loaded != 0 ? rows + trib_slot_row(&slot, all) * row_size : rows;
    struct trib_conversion conversion = {
        .wire = task->type, .tensor = task->type, .divisor = task->reduction == TRIB_AVERAGE ? ranks : 1};
    trib_row_finish(k, task->type, top, part->bytes);
    if (part->absent != NOBODY) {
        add_own(top, task, part, slot.loaded != 0);
    }
    trib_tensor_decode(k, &conversion, result, top, part->bytes / trib_type_size(task->type));
    free(rows);
}

/* The whole result, of all ranks together. */
static void foresee(uint8_t *result, const struct task *task, uint8_t *const *sent, uint32_t ranks)
{
    uint64_t seed = task->seed;
    size_t size = trib_type_size(task->type);
    if (task->collective == TRIB_BROADCAST) {
        memcpy(result, sent[task->root], task->count * size);
        return;
    }
    if (!has_shares(task)) {
        add_up(result, task, &(struct part){sent, 0, task->count * size, NOBODY}, ranks, &seed);
        return;
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        size_t at = task->firsts[rank] * size;
        struct part part = {sent, at, task->counts[rank] * size, rank};
        if (task->collective == TRIB_ALLGATHER) {
            memcpy(result + at, sent[rank] + at, part.bytes);
        } else {
            add_up(result + at, task, &part, ranks, &seed);
        }
    }
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
    struct trib_call what = {.collective = task->collective,
                             .type = task->type,
                             .reduction = task->reduction,
                             .root = task->root,
                             .send = send,
                             .recv = recv,
                             .count = has_shares(task) ? task->counts[0] : task->count,
                             .counts = task->uneven ? task->counts : NULL};
    struct trib_request *request = NULL;
    bool done = false;
    if (!task->starts) {
        return trib_group(comm, &what, 1);
    }
    enum trib_status status = trib_group_start(comm, &what, 1, &request);
    while (status == TRIB_OK && !done) {
        status = trib_request_test(request, &done);
        (void)sched_yield();
    }
    return status;
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

/* Both with room for the whole tensor, of which a share lies in its place. */
struct buffers {
    uint8_t *send, *recv;
    size_t bytes;                          /* of the whole */
    size_t sent_at, sent, got_at, got;     /* what the rank gives of it, and gets */
    bool lives_shared, keeps, recv_shared; /* others read it where it lies; some ranks', not all */
};

static struct buffers make_buffers(struct rank *rank, const struct task *task)
{
    size_t size = trib_type_size(task->type);
    struct buffers b = {.bytes = task->count * size};
    b.lives_shared = (task->seed >> (rank->rank % 32)) % 2 != 0;
    b.keeps = task->seed % 3 == 0;
    b.recv_shared = b.lives_shared && !b.keeps && task->in_place;
    size_t room = b.bytes + 2 * MARGIN;
    b.send = b.lives_shared ? take_shared(rank, room, b.keeps) : malloc(room);
    b.recv = b.recv_shared ? trib_shared_alloc(room) : malloc(room);
    memset(b.send, 0xc3, room);
    memset(b.recv, 0xc3, room);
    bool is_root = rank->rank == task->root;
    b.sent = b.got = b.bytes;
    if (task->collective == TRIB_ALLGATHER) {
        b.sent_at = task->firsts[rank->rank] * size;
        b.sent = task->counts[rank->rank] * size;
    } else if (task->collective == TRIB_REDUCE_SCATTER) {
        b.got_at = task->firsts[rank->rank] * size;
        b.got = task->counts[rank->rank] * size;
    } else if (task->collective == TRIB_REDUCE && !is_root) {
        b.got = 0;
    }
    return b;
}

static void free_buffers(const struct buffers *b)
{
    if (!b->lives_shared) {
        free(b->send);
    } else if (!b->keeps) {
        trib_shared_free(b->send);
    }
    if (b->recv_shared) {
        trib_shared_free(b->recv);
    } else {
        free(b->recv);
    }
}

/* The world's rank 0 makes the oracle's answer while others wait. `from`: where the whole of this rank's input would
 * begin. */
static void prepare(struct rank *rank, const struct task *task, const struct buffers *b, uint8_t *from)
{
    struct world *world = rank->world;
    fill(world->sent[rank->rank], task, rank->rank);
    memcpy(from + b->sent_at, world->sent[rank->rank] + b->sent_at, b->sent);
    (void)pthread_barrier_wait(&world->together);
    if (rank->rank == 0) {
        foresee(world->expected, task, world->sent, world->ranks);
    }
    (void)pthread_barrier_wait(&world->together);
}

/* What it gets is right, and nothing around it has changed; `to`: where the whole result would begin. */
static bool is_right(const struct rank *rank, const struct task *task, const struct buffers *b, const uint8_t *from,
                     const uint8_t *to)
{
    const uint8_t *sent = rank->world->sent[rank->rank];
    size_t before = (size_t)(to - b->recv);
    bool is_apart = from != to;
    if (b->got > 0 && memcmp(to + b->got_at, rank->world->expected + b->got_at, b->got) != 0) {
        return false;
    }
    if (is_apart && memcmp(from + b->sent_at, sent + b->sent_at, b->sent) != 0) {
        return false;
    }
    if (!is_apart && b->got < b->bytes) { /* of the input only what it gets has changed */
        return memcmp(to, sent, b->got_at) == 0 &&
               memcmp(to + b->got_at + b->got, sent + b->got_at + b->got, b->bytes - b->got_at - b->got) == 0;
    }
    size_t end = b->got_at + b->got;
    return (task->collective == TRIB_BROADCAST || !is_apart || is_untouched(to, b->got_at)) &&
           is_untouched(b->recv, before) && is_untouched(to + end, b->bytes - end + 2 * MARGIN - before);
}

static void run_task(struct rank *rank, struct trib_comm *comm, uint32_t index, const struct task *task)
{
    struct buffers b = make_buffers(rank, task);
    bool is_one = task->in_place || task->collective == TRIB_BROADCAST;
    uint8_t *from = (is_one ? b.recv : b.send) + MARGIN / 2 + task->shift;
    uint8_t *to = b.recv + MARGIN / 2 + task->shift;
    prepare(rank, task, &b, from);
    enum trib_status status = call(comm, task, from + b.sent_at, to + b.got_at);
    bool right = status == TRIB_OK && is_right(rank, task, &b, from, to);
    if (!right && rank->wrong[0] == '\0') {
        (void)snprintf(rank->wrong, sizeof rank->wrong, "task %u: %s of %llu %s (%s)%s: %s %.120s; %u ranks, seed %llu",
                       index, trib_collective_name(task->collective), (unsigned long long)task->count,
                       trib_type_name(task->type), trib_reduction_name(task->reduction), task->uneven ? " uneven" : "",
                       trib_status_name(status), trib_comm_error(comm), rank->world->ranks,
                       (unsigned long long)rank->world->seed);
    }
    free_buffers(&b);
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
        run_world(ranks, 120, ranks * 1000003);
    }
}

static void sum__eight_ranks(void **state)
{
    (void)state;
    run_world(8, 120, 77);
}

static void sum__thirty_three_ranks(void **state)
{
    (void)state;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max; /* every rank holds a descriptor of every other, and all are in this process */
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    run_world(33, 50, 99);
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
