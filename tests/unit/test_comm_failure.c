/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_failure.c: what goes wrong around collectives, over a real switch: each ends in bounded time, with a cause.
 * What is not about switches is run again in the shared memory of one host. Mirrors the failure half of turn.c.
 * What goes wrong before they run is in test_comm_join.c. */
#include "comm_harness.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "comm/endpoint.h"
#include "comm/network.h"
#include "comm/state.h"
#include "host/segment.h"
#include "io/units.h"
#include "schemes/schemes.h"
#include "waited.h"

#define RANKS 3U

static char error[TRIB_ERROR_TEXT_MAX];

/* ---- calls ---- */

static void arguments_body(struct rank *rank)
{
    float a[8] = {0};
    struct trib_request *request = NULL;
    struct trib_comm *comm = rank->comm;
    CHECK(rank, trib_allreduce(comm, a, a, 8, TRIB_BYTES, TRIB_SUM) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_allreduce(comm, a, a, 8, (enum trib_type)99, TRIB_SUM) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_allreduce(comm, a, a, 8, TRIB_FLOAT32, TRIB_REDUCTION_NONE) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_allreduce(comm, a, a, 8, TRIB_FLOAT32, TRIB_REDUCTION_COUNT) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_allreduce(comm, a, a, 8, TRIB_FLOAT32, (enum trib_reduction) - 1) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_allreduce(comm, a, a + 1, 4, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_INVALID);
    CHECK(rank, trib_allreduce(comm, NULL, a, 4, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_INVALID);
    CHECK(rank, trib_allreduce(comm, a, a, UINT64_MAX / 2, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_INVALID);
    CHECK(rank, trib_allreduce_start(comm, a, a, 8, TRIB_BYTES, TRIB_SUM, &request) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_broadcast(comm, a, 8, TRIB_FLOAT32, 7) == TRIB_ERR_INVALID);
    CHECK(rank, trib_broadcast(comm, NULL, 8, TRIB_FLOAT32, 0) == TRIB_ERR_INVALID);
    CHECK(rank, trib_broadcast(comm, a, 8, TRIB_TYPE_NONE, 0) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, request == NULL && says(trib_comm_error(comm), "broadcast: no such type"));
    /* None of that has hurt the communicator. */
    CHECK(rank, trib_allreduce(comm, a, a, 8, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    CHECK(rank, trib_comm_close(comm) == TRIB_OK);
}

static void call__bad_arguments_leave_the_communicator_whole(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, NULL, arguments_body);
    expect_good(ranks, 2);
}

/* Operations that are no other's. */
static enum trib_status run_other(struct rank *rank, uint32_t which, float *buffer)
{
    switch (which) {
    case 0:
        return trib_allreduce(rank->comm, buffer, buffer, 400000, TRIB_FLOAT32, TRIB_SUM);
    case 1:
        return trib_allreduce(rank->comm, buffer, buffer, 399999, TRIB_FLOAT32, TRIB_SUM);
    case 2:
        return trib_allreduce(rank->comm, buffer, buffer, 400000, TRIB_FLOAT32, TRIB_AVERAGE);
    case 3:
        return trib_allreduce(rank->comm, buffer, buffer, 400000, TRIB_INT32, TRIB_SUM);
    case 4:
        return trib_broadcast(rank->comm, buffer, 400000, TRIB_FLOAT32, 0);
    case 5:
        return trib_broadcast(rank->comm, buffer, 400000, TRIB_FLOAT32, 1);
    case 6:
        return trib_broadcast(rank->comm, buffer, 3, TRIB_FLOAT32, 1);
    default:
        return trib_barrier(rank->comm);
    }
}

#define OTHERS 8U
static uint32_t pair_a, pair_b;

static void differing_body(struct rank *rank)
{
    size_t count = 400000;
    float *buffer = malloc(count * sizeof *buffer);
    memset(buffer, 0x3c, count * sizeof *buffer);
    CHECK(rank, run_other(rank, rank->config.rank == 1 ? pair_b : pair_a, buffer) == TRIB_ERR_MISMATCH);
    CHECK(rank, says(trib_comm_error(rank->comm), "operations differ"));
    for (size_t i = 0; i < count; i++) {
        float old;
        memset(&old, 0x3c, sizeof old);
        CHECK(rank, memcmp(&buffer[i], &old, sizeof old) == 0);
    }
    free(buffer);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_MISMATCH);
}

/* Every pair of operations that may meet: no byte of another rank is written anywhere before they are compared. */
static void call__no_two_different_operations_meet(void **state)
{
    (void)state;
    for (pair_a = 0; pair_a < OTHERS; pair_a++) {
        for (pair_b = 0; pair_b < OTHERS; pair_b++) {
            struct rank ranks[RANKS];
            if (pair_a != pair_b) {
                run_ranks(ranks, RANKS, NULL, differing_body);
                expect_good(ranks, RANKS);
            }
        }
    }
}

static void short_timeout(struct trib_config *config)
{
    config->timeout_ns = 600 * TRIB_MILLISECOND_NS * patience();
}

/* Rank 2 never enters. */
static void timeout_body(struct rank *rank)
{
    float value = 1.0F;
    if (rank->config.rank == 2) {
        (void)pthread_barrier_wait(rank->together);
        CHECK(rank, trib_barrier(rank->comm) == TRIB_ERR_PEER);
        CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_PEER);
        return;
    }
    uint64_t begin = trib_clock_ns();
    enum trib_status status = trib_allreduce(rank->comm, &value, &value, 1, TRIB_FLOAT32, TRIB_SUM);
    uint64_t took = trib_clock_ns() - begin;
    const char *text = trib_comm_error(rank->comm);
    char limit[TRIB_UNITS_TEXT_MAX];
    char expected[200];
    trib_format_duration(rank->config.timeout_ns, limit);
    (void)snprintf(expected, sizeof expected,
                   "allreduce of 1 float32 (sum) as operation 0 did not end within %s: rank 2 is missing%s", limit,
                   on_host ? "" : " on fragment 0");
    /* One rank's time is up first; the other may hear of it before its own is. */
    CHECK(rank, status == TRIB_ERR_TIMEOUT || status == TRIB_ERR_PEER);
    CHECK(rank, says(text, expected));
    CHECK(rank, took < 3 * TRIB_SECOND_NS * patience());
    CHECK(rank, status == TRIB_ERR_PEER || took >= rank->config.timeout_ns - 10 * TRIB_MILLISECOND_NS);
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, trib_comm_close(rank->comm) == status);
}

static void call__timeout_names_who_is_missing(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, short_timeout, timeout_body);
    expect_good(ranks, RANKS);
}

/* Rank 1 is late for the first operation, and is named; then rank 2 never enters, and the time is too short to ask. */
static void named_before_body(struct rank *rank)
{
    float value = 1.0F;
    if (rank->config.rank == 1) {
        (void)usleep(1400000 * patience());
    }
    CHECK(rank, trib_allreduce(rank->comm, &value, &value, 1, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    trib_comm_set_timeout(rank->comm, 500 * TRIB_MILLISECOND_NS);
    if (rank->config.rank != 2) {
        enum trib_status status = trib_allreduce(rank->comm, &value, &value, 1, TRIB_FLOAT32, TRIB_SUM);
        CHECK(rank, status == TRIB_ERR_TIMEOUT || status == TRIB_ERR_PEER);
        CHECK(rank, says(trib_comm_error(rank->comm), "as operation 1 did not end within 500 ms"));
        CHECK(rank, !says(trib_comm_error(rank->comm), "missing"));
    }
    (void)pthread_barrier_wait(rank->together);
    (void)trib_comm_close(rank->comm);
}

static void call__timeout_names_no_rank_of_an_earlier_operation(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, named_before_body);
    expect_good(ranks, RANKS);
}

/* ---- ends ---- */

static void *abort_thread(void *argument)
{
    struct rank *rank = argument;
    (void)usleep(100000);
    trib_comm_abort(rank->comm);
    return NULL;
}

/* Rank 1 is blocked in a barrier that rank 2 never enters, and aborts itself from another thread. */
static void abort_body(struct rank *rank)
{
    pthread_t thread;
    (void)pthread_barrier_wait(rank->together); /* or who joins last hears of it before it has joined */
    uint64_t begin = trib_clock_ns();
    enum trib_status expected = rank->config.rank == 1 ? TRIB_ERR_ABORTED : TRIB_ERR_PEER;
    if (rank->config.rank == 1 && pthread_create(&thread, NULL, abort_thread, rank) != 0) {
        return;
    }
    CHECK(rank, rank->config.rank != 2 || hears_failure(rank)); /* else it ends the barrier */
    CHECK(rank, trib_barrier(rank->comm) == expected);
    CHECK(rank, trib_clock_ns() - begin < 2 * TRIB_SECOND_NS * patience());
    if (rank->config.rank == 1) {
        CHECK(rank, says(trib_comm_error(rank->comm), "trib_comm_abort was called"));
        (void)pthread_join(thread, NULL);
    } else {
        CHECK(rank, says(trib_comm_error(rank->comm), "rank 1"));
    }
    struct trib_request *request = NULL;
    CHECK(rank, trib_barrier_start(rank->comm, &request) == expected && request == NULL);
    CHECK(rank, trib_comm_close(rank->comm) == expected);
}

static void abort__frees_who_is_blocked(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, abort_body);
    expect_good(ranks, RANKS);
}

static void no_thread(struct trib_config *config)
{
    config->progress_thread = false;
}

static void abort__frees_who_is_blocked_without_thread(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, no_thread, abort_body);
    expect_good(ranks, RANKS);
}

static void no_thread_and_late(struct trib_config *config)
{
    no_thread(config);
    config->timeout_ns = (config->rank == 0 ? 300 * TRIB_MILLISECOND_NS : 30 * TRIB_SECOND_NS) * patience();
}

/* The cause lies in the session of rank 0, which looks when the time of its operation is up. */
static void unread_body(struct rank *rank)
{
    struct trib_request *request = NULL;
    bool done = false;
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 1) {
        trib_comm_abort(rank->comm);
        (void)pthread_barrier_wait(rank->together);
        CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_ABORTED);
        return;
    }
    CHECK(rank, trib_barrier_start(rank->comm, &request) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    (void)usleep((useconds_t)(2 * rank->config.timeout_ns / TRIB_MICROSECOND_NS));
    CHECK(rank, trib_request_test(request, &done) == TRIB_ERR_PEER && done);
    CHECK(rank, says(trib_comm_error(rank->comm), "trib_comm_abort was called"));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_PEER);
}

static void call__an_answer_that_has_come_counts_before_its_time(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, no_thread_and_late, unread_body);
    expect_good(ranks, 2);
}

/* Rank 1's session breaks, as when its process dies. */
static void death_body(struct rank *rank)
{
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 1) {
        trib_endpoint_lock(rank->comm->endpoint);
        (void)shutdown(on_host ? rank->comm->host->inbox : rank->comm->session.fd, SHUT_RDWR);
        trib_endpoint_unlock(rank->comm->endpoint);
        CHECK(rank, hears_failure(rank));
    }
    CHECK(rank, trib_barrier(rank->comm) == TRIB_ERR_PEER);
    /* For rank 1 itself it is as if the control plane had gone, and without a switch that is rank 0. */
    CHECK(rank, says(trib_comm_error(rank->comm), no_box && rank->config.rank == 1 ? "rank 0 is gone" : "rank 1"));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_PEER);
}

static void death__is_told_to_all_with_the_rank(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, death_body);
    expect_good(ranks, RANKS);
}

static void leave_body(struct rank *rank)
{
    static int32_t buffers[2][100];
    int32_t *buffer = buffers[rank->config.rank];
    struct trib_request *request = NULL;
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0) {
        CHECK(rank, trib_allreduce_start(rank->comm, buffer, buffer, 100, TRIB_INT32, TRIB_SUM, &request) == TRIB_OK);
        CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_ABORTED);
        CHECK(rank, trib_request_wait(request) == TRIB_ERR_ABORTED); /* the request outlives its communicator */
    } else {
        CHECK(rank, hears_failure(rank)); /* else its barrier may meet the other's allreduce */
        CHECK(rank, trib_barrier(rank->comm) == TRIB_ERR_PEER);
        CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_PEER);
    }
}

static void close__aborts_what_runs(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, NULL, leave_body);
    expect_good(ranks, 2);
}

static void short_linger(struct trib_config *config)
{
    config->linger_ns = 200 * TRIB_MILLISECOND_NS;
}

static void linger_body(struct rank *rank)
{
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    if (rank->config.rank == 0) {
        uint64_t begin = trib_clock_ns();
        CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
        CHECK(rank, trib_clock_ns() - begin < TRIB_SECOND_NS * patience());
        (void)pthread_barrier_wait(rank->together);
    } else {
        (void)pthread_barrier_wait(rank->together);
        /* A rank that has closed never contributes again: this waits for nothing, and is told so. */
        CHECK(rank, trib_barrier(rank->comm) == TRIB_ERR_PEER);
        CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_PEER);
    }
}

static void close__is_bounded_by_linger(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, short_linger, linger_body);
    expect_good(ranks, 2);
}

/* Sockets that may not send any more: the kernel refuses every train. */
static void mute_body(struct rank *rank)
{
    static float buffers[2][352 * 20];
    float *buffer = buffers[rank->config.rank];
    struct trib_comm_stats after;
    struct trib_endpoint *endpoint = rank->comm->endpoint;
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    trib_endpoint_lock(endpoint);
    for (uint32_t i = 0; i < endpoint->shard_count; i++) {
        CHECK(rank, shutdown(trib_port_fd(endpoint->shards[i].port), SHUT_WR) == 0);
    }
    struct trib_comm_stats before = rank->comm->stats;
    trib_endpoint_unlock(endpoint);
    CHECK(rank, before.packets_sent > 0 && before.send_dropped == 0);
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, trib_allreduce(rank->comm, buffer, buffer, 352 * 20, TRIB_FLOAT32, TRIB_SUM) != TRIB_OK);
    trib_comm_stats(rank->comm, &after);
    CHECK(rank, after.bytes_sent == before.bytes_sent && after.packets_sent == before.packets_sent);
    CHECK(rank, after.send_dropped >= 20);
    /* What comes for a communicator that has failed is dropped, and counted. */
    struct trib_packet stale = {.kind = TRIB_RESULT, .communicator = rank->comm->grant.communicator};
    trib_endpoint_lock(endpoint);
    trib_comm_receive(rank->comm, (struct trib_came_from){0}, &stale, trib_clock_ns());
    trib_endpoint_unlock(endpoint);
    trib_comm_stats(rank->comm, &before);
    CHECK(rank, before.dropped == after.dropped + 1 && before.dropped_corrupt == after.dropped_corrupt);
    (void)trib_comm_close(rank->comm);
}

static void stats__tell_sent_from_refused(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, short_timeout, mute_body);
    expect_good(ranks, 2);
}

static const struct trib_worker_verbs *true_verbs;

/* 2^48 fragments are years: the node's own count, shortly before its end. */
static uint64_t late_end(const void *node)
{
    return true_verbs->end(node) + TRIB_SEQUENCE_MAX - 70000;
}

static void exhausted_body(struct rank *rank)
{
    float numbers[64] = {1};
    static float large[2][100000];
    float *buffer = large[rank->config.rank];
    struct trib_request *request = NULL;
    struct trib_worker_verbs late = *true_verbs;
    late.end = late_end;
    trib_endpoint_lock(rank->comm->endpoint);
    rank->comm->verbs = &late;
    trib_endpoint_unlock(rank->comm->endpoint);
    CHECK(rank, trib_allreduce(rank->comm, numbers, numbers, 64, TRIB_FLOAT32, TRIB_SUM) == TRIB_OK);
    CHECK(rank, trib_allreduce(rank->comm, buffer, buffer, 100000, TRIB_FLOAT32, TRIB_SUM) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_allreduce_start(rank->comm, buffer, buffer, 100000, TRIB_FLOAT32, TRIB_SUM, &request) == TRIB_OK);
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK); /* what still fits is done, and the order is kept */
    CHECK(rank, trib_request_wait(request) == TRIB_ERR_UNSUPPORTED);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void call__out_of_sequences_is_refused_on_all_ranks(void **state)
{
    (void)state;
    struct rank ranks[2];
    true_verbs = trib_scheme_find("switchml")->worker;
    run_ranks(ranks, 2, NULL, exhausted_body);
    expect_good(ranks, 2);
}

/* ---- close while others wait ---- */

#define WAITS 4U
#define CLOSES 150U

struct collector {
    struct trib_request *request;
    bool polls;
    enum trib_status status;
};

static void *collect(void *argument)
{
    struct collector *collector = argument;
    bool done = !collector->polls;
    if (!collector->polls) {
        collector->status = trib_request_wait(collector->request);
    }
    while (!done) {
        collector->status = trib_request_test(collector->request, &done);
    }
    return NULL;
}

/* Threads begin to wait before, while and after the communicator is closed: whichever it is, they and close come back.
 * With delay 0 it is closed without lingering when the last operation has ended, while waiters wake. */
static void close_once(uint32_t delay_us)
{
    static float sent[4096];
    static float received[WAITS][4096];
    struct trib_config config;
    struct trib_comm *comm = NULL;
    struct collector collectors[WAITS];
    pthread_t threads[WAITS];
    rank_config(&config, 0, 1);
    config.linger_ns = delay_us > 0 ? 5 * TRIB_MILLISECOND_NS : 0;
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_OK);
    for (uint32_t i = 0; i < WAITS; i++) {
        collectors[i] = (struct collector){.polls = i % 2 != 0};
        assert_int_equal(
            trib_allreduce_start(comm, sent, received[i], 4096, TRIB_FLOAT32, TRIB_SUM, &collectors[i].request),
            TRIB_OK);
    }
    const atomic_bool *last = &collectors[WAITS - 1].request->done; /* collected after close */
    for (uint32_t i = 0; i < WAITS - 1; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, collect, &collectors[i]), 0);
    }
    if (delay_us > 0) {
        (void)usleep(delay_us);
    }
    while (delay_us == 0 && !atomic_load(last)) {
    }
    enum trib_status closed = trib_comm_close(comm);
    assert_true(closed == TRIB_OK || closed == TRIB_ERR_ABORTED);
    assert_int_equal(pthread_create(&threads[WAITS - 1], NULL, collect, &collectors[WAITS - 1]), 0);
    for (uint32_t i = 0; i < WAITS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(collectors[i].status == TRIB_OK || collectors[i].status == closed);
    }
}

static void close__meets_threads_that_wait(void **state)
{
    (void)state;
    (void)alarm(60 * patience()); /* it once slept for ever */
    for (uint32_t i = 0; i < CLOSES; i++) {
        close_once(i % 2 == 0 ? 0 : i * 7 % 300);
    }
    (void)alarm(0);
}

/* The narrowest gap: a thread has seen that its request is not done and stands before the lock; then the communicator
 * is closed, and all of it freed, before it gets in. */
static void overtake_once(bool polls)
{
    static float sent[64];
    static float received[64];
    struct trib_config config;
    struct trib_comm *comm = NULL;
    struct collector collector = {.polls = polls};
    pthread_t thread;
    rank_config(&config, 0, 1);
    config.progress_thread = false; /* nobody brings the result */
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_OK);
    assert_int_equal(trib_allreduce_start(comm, sent, received, 64, TRIB_FLOAT32, TRIB_SUM, &collector.request),
                     TRIB_OK);
    struct trib_endpoint *endpoint = comm->endpoint;
    trib_endpoint_lock(endpoint);
    assert_int_equal(pthread_create(&thread, NULL, collect, &collector), 0);
    while (atomic_load(&endpoint->wanting) == 0) {
    }
    (void)usleep(100); /* from there into the lock */
    trib_endpoint_unlock(endpoint);
    enum trib_status closed = trib_comm_close(comm); /* is awake, so it has the lock first, but for rare times */
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(closed == TRIB_OK || closed == TRIB_ERR_ABORTED);
    assert_true(collector.status == TRIB_OK || collector.status == closed);
}

static void close__overtakes_threads_that_begin_to_wait(void **state)
{
    (void)state;
    (void)alarm(60 * patience());
    for (uint32_t i = 0; i < 50; i++) {
        overtake_once(i % 2 != 0);
    }
    (void)alarm(0);
}

/* ---- the switch goes away ---- */

static void *restart_thread(void *argument)
{
    atomic_bool *stop = argument;
    /* Ever longer lives: in one of them even slow ranks on a busy machine are all back. */
    for (uint32_t life_us = 150000; !atomic_load(stop); life_us += life_us / 8) {
        (void)usleep(life_us);
        switch_command('k');
        switch_command('2');
    }
    return NULL;
}

static atomic_bool restarts_over;

static void restart_body(struct rank *rank)
{
    static int32_t buffers[RANKS][40000];
    int32_t *buffer = buffers[rank->config.rank];
    struct trib_comm_stats stats;
    uint64_t begin = trib_clock_ns();
    bool last = false;
    for (int32_t round = 0; !last; round++) {
        for (int32_t i = 0; i < 40000; i++) {
            buffer[i] = i * round + (int32_t)rank->config.rank;
        }
        /* Rank 0 decides how long, so that all run as many rounds. */
        trib_comm_stats(rank->comm, &stats);
        int32_t go_on = trib_clock_ns() - begin < 1500 * TRIB_MILLISECOND_NS || stats.reregistrations == 0;
        CHECK(rank, trib_allreduce(rank->comm, buffer, buffer, 40000, TRIB_INT32, TRIB_SUM) == TRIB_OK);
        for (int32_t i = 0; i < 40000; i++) {
            CHECK(rank, buffer[i] == i * round * 3 + 3);
        }
        CHECK(rank, trib_broadcast(rank->comm, &go_on, 1, TRIB_INT32, 0) == TRIB_OK);
        last = go_on == 0 || rank->wrong != NULL;
    }
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.reregistrations >= 1);
    atomic_store(&restarts_over, true);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void restart__is_transparent(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    pthread_t thread;
    atomic_store(&restarts_over, false);
    assert_int_equal(pthread_create(&thread, NULL, restart_thread, &restarts_over), 0);
    run_ranks(ranks, RANKS, NULL, restart_body);
    atomic_store(&restarts_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_good(ranks, RANKS);
}

/* What `ss -K` does to rank 1's sockets; of those that are connected to none, which connect(2) leaves where they are,
 * it comes to the same that they are at another port. */
static void taken_body(struct rank *rank)
{
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    struct trib_endpoint *endpoint = rank->comm->endpoint;
    int elsewhere = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (uint32_t i = 0; i < endpoint->shard_count && rank->config.rank == 1; i++) {
        const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
        int fd = trib_port_fd(endpoint->shards[i].port);
        CHECK(rank, syscall(SYS_connect, fd, &nobody, sizeof nobody) == 0); /* as `ss -K` does, unseen by TSan */
    }
    for (uint32_t i = 0; no_box && i < endpoint->own_root.plane->shards && rank->config.rank == 1; i++) {
        int fd = trib_port_fd(endpoint->own_root.plane->shard[i].port);
        CHECK(rank, dup2(elsewhere, fd) == fd);
    }
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, trib_barrier(rank->comm) == (rank->config.rank == 1 ? TRIB_ERR_SYSTEM : TRIB_ERR_PEER));
    CHECK(rank, says(trib_comm_error(rank->comm), "rank 1: the system has taken its UDP socket at "));
    (void)close(elsewhere);
    CHECK(rank, trib_comm_close(rank->comm) != TRIB_OK);
}

static void socket__that_is_taken_is_an_error_on_all_ranks(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, taken_body);
    expect_good(ranks, RANKS);
}

/* Long enough for a rank that stands still for a moment to have asked once more. */
static void short_switch_timeout(struct trib_config *config)
{
    config->switch_timeout_ns = 500 * TRIB_MILLISECOND_NS * patience();
}

static void gone_body(struct rank *rank)
{
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0) {
        switch_command('k');
    }
    (void)pthread_barrier_wait(rank->together);
    uint64_t begin = trib_clock_ns();
    CHECK(rank, trib_barrier(rank->comm) == TRIB_ERR_SWITCH);
    CHECK(rank, trib_clock_ns() - begin < 2 * TRIB_SECOND_NS * patience());
    CHECK(rank, says_waited_as_set(trib_comm_error(rank->comm), "is gone: connection refused; ", 500 * patience(),
                                   "TRIB_SWITCH_TIMEOUT", rank->config.switch_timeout_ns));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_SWITCH);
}

static void switch__that_stays_away_is_an_error(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, short_switch_timeout, gone_body);
    switch_command('2');
    expect_good(ranks, RANKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call__bad_arguments_leave_the_communicator_whole),
        cmocka_unit_test(call__timeout_names_who_is_missing),
        cmocka_unit_test(call__timeout_names_no_rank_of_an_earlier_operation),
        cmocka_unit_test(abort__frees_who_is_blocked),
        cmocka_unit_test(abort__frees_who_is_blocked_without_thread),
        cmocka_unit_test(call__an_answer_that_has_come_counts_before_its_time),
        cmocka_unit_test(death__is_told_to_all_with_the_rank),
        cmocka_unit_test(close__aborts_what_runs),
        cmocka_unit_test(close__is_bounded_by_linger),
        cmocka_unit_test(call__out_of_sequences_is_refused_on_all_ranks),
        cmocka_unit_test(stats__tell_sent_from_refused),
        cmocka_unit_test(close__meets_threads_that_wait),
        cmocka_unit_test(close__overtakes_threads_that_begin_to_wait),
        cmocka_unit_test(restart__is_transparent),
        cmocka_unit_test(socket__that_is_taken_is_an_error_on_all_ranks),
        cmocka_unit_test(switch__that_stays_away_is_an_error),
    };
    const struct CMUnitTest host_tests[] = {
        cmocka_unit_test(call__no_two_different_operations_meet),
        cmocka_unit_test(call__bad_arguments_leave_the_communicator_whole),
        cmocka_unit_test(call__timeout_names_who_is_missing),
        cmocka_unit_test(abort__frees_who_is_blocked),
        cmocka_unit_test(abort__frees_who_is_blocked_without_thread),
        cmocka_unit_test(death__is_told_to_all_with_the_rank),
        cmocka_unit_test(close__aborts_what_runs),
        cmocka_unit_test(close__is_bounded_by_linger),
        cmocka_unit_test(close__meets_threads_that_wait),
    };
    const struct CMUnitTest no_box_tests[] = {
        cmocka_unit_test(call__bad_arguments_leave_the_communicator_whole),
        cmocka_unit_test(call__timeout_names_who_is_missing),
        cmocka_unit_test(abort__frees_who_is_blocked),
        cmocka_unit_test(abort__frees_who_is_blocked_without_thread),
        cmocka_unit_test(death__is_told_to_all_with_the_rank),
        cmocka_unit_test(close__aborts_what_runs),
        cmocka_unit_test(close__is_bounded_by_linger),
        cmocka_unit_test(call__out_of_sequences_is_refused_on_all_ranks),
        cmocka_unit_test(close__meets_threads_that_wait),
        cmocka_unit_test(close__overtakes_threads_that_begin_to_wait),
        cmocka_unit_test(socket__that_is_taken_is_an_error_on_all_ranks),
    };
    keeper_open();
    switch_command('2');
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    on_host = true;
    failed += cmocka_run_group_tests(host_tests, NULL, NULL);
    begin_no_box();
    return failed + cmocka_run_group_tests(no_box_tests, NULL, NULL);
}
