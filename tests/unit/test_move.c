/* SPDX-License-Identifier: Apache-2.0 */
/* test_move.c: the switch is killed for good, and the ranks go on without it (src/comm/move.c): every operation ends
 * right, those under way and later ones; or, if somebody else is gone as well, all others get an error in time that
 * says so. Real processes, as in test_comm_failure.c; over links and with ranks that are killed:
 * tests/integration/fallback.user.sh. */
#include <poll.h>

#include "comm/endpoint.h"
#include "comm/join.h"
#include "comm/move.h"
#include "comm/state.h"
#include "comm_harness.h"
#include "waited.h"

#define RANKS 4
#define COUNT 40000
#define SWITCH_TIMEOUT_NS (500 * TRIB_MILLISECOND_NS * patience())

static void fallback(struct trib_config *config)
{
    config->fallback = true;
    config->switch_timeout_ns = SWITCH_TIMEOUT_NS;
    config->linger_ns =
        TRIB_SECOND_NS * patience(); /* who has finished waits so long at the meeting for who comes late */
    if (config->host_id[0] == '\0') {
        (void)snprintf(config->host_id, sizeof config->host_id, "host-%u", config->rank);
    }
}

static void lossy(struct trib_config *config)
{
    fallback(config);
    config->faults =
        (struct trib_faults){.loss = 0.01, .duplicate = 0.01, .reorder = 0.01, .corrupt = 0.001, .seed = 7};
}

static atomic_uint entered; /* ranks that are in */
static uint32_t awaited;    /* of them, before the switch may die */

/* The switch dies some time after all are in. */
static void *killer(void *argument)
{
    while (atomic_load(&entered) < awaited) {
        (void)usleep(1000);
    }
    (void)usleep(*(const useconds_t *)argument);
    switch_command('k');
    return NULL;
}

static uint64_t times_moved(struct trib_comm *comm)
{
    struct trib_comm_stats stats;
    trib_comm_stats(comm, &stats);
    return stats.moved;
}

/* ---- values ---- */

static int32_t value(uint32_t rank, uint32_t round, uint32_t i)
{
    return (int32_t)(i * (round + 1) + rank);
}

/* Sum over all ranks. */
static int32_t sum(uint32_t ranks, uint32_t round, uint32_t i)
{
    return (int32_t)(ranks * i * (round + 1) + ranks * (ranks - 1) / 2);
}

static void fill(int32_t *buffer, uint32_t rank, uint32_t round)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        buffer[i] = value(rank, round, i);
    }
}

static void check_sum(struct rank *rank, const int32_t *buffer, uint32_t ranks, uint32_t round, uint32_t first)
{
    for (uint32_t i = 0; i < COUNT / (first == UINT32_MAX ? 1 : ranks); i++) {
        CHECK(rank, buffer[i] == sum(ranks, round, i + (first == UINT32_MAX ? 0 : first)));
    }
}

/* Every collective, of ranks that `comm` has. */
static void run_all(struct rank *rank, struct trib_comm *comm, uint32_t round)
{
    uint32_t own = trib_comm_rank(comm);
    uint32_t ranks = trib_comm_ranks(comm);
    int32_t *send = malloc(COUNT * sizeof *send);
    int32_t *recv = malloc(COUNT * sizeof *recv);
    fill(send, own, round);
    CHECK(rank, trib_allreduce(comm, send, recv, COUNT, TRIB_INT32, TRIB_SUM) == TRIB_OK);
    check_sum(rank, recv, ranks, round, UINT32_MAX);
    CHECK(rank, trib_reduce(comm, send, recv, COUNT, TRIB_INT32, TRIB_SUM, ranks - 1) == TRIB_OK);
    if (own == ranks - 1) {
        check_sum(rank, recv, ranks, round, UINT32_MAX);
    }
    CHECK(rank, trib_reduce_scatter(comm, send, recv, COUNT / ranks, TRIB_INT32, TRIB_SUM) == TRIB_OK);
    check_sum(rank, recv, ranks, round, own * (COUNT / ranks));
    CHECK(rank, trib_allgather(comm, send, recv, COUNT / ranks, TRIB_INT32) == TRIB_OK);
    for (uint32_t i = 0; i < COUNT / ranks * ranks; i++) {
        CHECK(rank, recv[i] == value(i / (COUNT / ranks), round, i % (COUNT / ranks)));
    }
    CHECK(rank, trib_broadcast(comm, send, COUNT, TRIB_INT32, 0) == TRIB_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK(rank, send[i] == value(0, round, i));
    }
    CHECK(rank, trib_barrier(comm) == TRIB_OK);
    free(send);
    free(recv);
}

/* Until all have moved, and some more. */
static void run_through(struct rank *rank, struct trib_comm *comm)
{
    uint32_t after = 0;
    for (uint32_t round = 0; after < 3 && rank->wrong == NULL; round++) {
        int32_t moved = (int32_t)times_moved(comm);
        run_all(rank, comm, round);
        CHECK(rank, trib_broadcast(comm, &moved, 1, TRIB_INT32, 0) == TRIB_OK);
        after += moved != 0;
    }
}

/* ---- all ranks go on ---- */

static void through_body(struct rank *rank)
{
    struct trib_comm_stats stats;
    (void)atomic_fetch_add(&entered, 1);
    run_through(rank, rank->comm);
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.moved == 1 && stats.no_box && stats.roots == 2 && !stats.multicast);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void run_and_kill(uint32_t count, void (*tweak)(struct trib_config *config), void (*body)(struct rank *rank),
                         useconds_t after_us)
{
    struct rank ranks[RANKS_MAX];
    pthread_t thread;
    atomic_store(&entered, 0);
    awaited = count;
    assert_int_equal(pthread_create(&thread, NULL, killer, &after_us), 0);
    run_ranks(ranks, count, tweak, body);
    (void)atomic_fetch_add(&entered, count); /* one that did not get in is not waited for */
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(take_port(switch_port)); /* dead as it is, no other test gets it */
    switch_command('2');
    expect_good(ranks, count);
}

static void move__every_operation_ends_right(void **state)
{
    (void)state;
    for (useconds_t i = 0; i < 4; i++) {
        run_and_kill(RANKS, fallback, through_body, 150000 + 37777 * i);
    }
}

static void move__with_faults(void **state)
{
    (void)state;
    run_and_kill(RANKS, lossy, through_body, 250000);
}

/* The members of the sums are hosts, here as there. */
static void move__ranks_of_a_host_stay_together(void **state)
{
    (void)state;
    ranks_a_host = 2;
    run_and_kill(6, fallback, through_body, 250000);
    ranks_a_host = 0;
}

/* One that is made before, one while the switch is away, one afterwards; and rank 0 of one is not rank 0. */
static void many_body(struct rank *rank)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_comm *pair = NULL;
    struct trib_comm *late = NULL;
    uint32_t own = rank->config.rank;
    const uint32_t others[2] = {2, 1};
    CHECK(rank, trib_comm_split(rank->comm, (int32_t)own % 2, -(int32_t)own, &pair, error) == TRIB_OK);
    run_all(rank, pair, 1);
    (void)pthread_barrier_wait(rank->together);
    if (own == 0) {
        switch_command('k');
    }
    (void)pthread_barrier_wait(rank->together);
    if (own == 1 || own == 2) {
        CHECK(rank, trib_comm_subset(rank->comm, others, 2, 0, &late, rank->error) == TRIB_OK);
        if (late != NULL) {
            run_all(rank, late, 5);
            CHECK(rank, trib_comm_close(late) == TRIB_OK);
        }
    }
    run_all(rank, rank->comm, 2);
    run_all(rank, pair, 3);
    CHECK(rank, times_moved(rank->comm) == 1 && times_moved(pair) == 1);
    late = NULL;
    CHECK(rank, trib_comm_split(rank->comm, own == 3, 0, &late, error) == TRIB_OK);
    run_all(rank, late, 4);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
    run_all(rank, pair, 6);
    CHECK(rank, trib_comm_close(pair) == TRIB_OK);
    run_all(rank, late, 7);
    CHECK(rank, trib_comm_close(late) == TRIB_OK);
}

static void move__all_communicators_of_a_process(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    run_ranks(ranks, RANKS, fallback, many_body);
    switch_command('2');
    expect_good(ranks, RANKS);
}

/* ---- what is being made when the switch goes ---- */

static struct trib_comm *of_rank[RANKS];
static atomic_bool is_held;

/* Returns with its endpoint locked, once what is being made of it is in that state: nothing goes on there until it is
 * unlocked. */
static struct trib_comm *hold_made(struct trib_comm *maker, enum trib_comm_state state)
{
    for (unsigned i = 0; i < 50000; i++) {
        trib_endpoint_lock(maker->endpoint);
        for (struct trib_comm *made = maker->endpoint->comms; made != NULL; made = made->next) {
            if (made->maker == maker && made->state == state) {
                return made;
            }
        }
        trib_endpoint_unlock(maker->endpoint);
        (void)usleep(200);
    }
    abort();
}

/* Both use it, and what it was made of. */
static void use_made(struct rank *rank, bool is_member)
{
    const uint32_t two[2] = {1, 2};
    struct trib_comm *made = NULL;
    if (is_member) {
        CHECK(rank, trib_comm_subset(rank->comm, two, 2, 0, &made, rank->error) == TRIB_OK);
    }
    if (made != NULL) {
        run_all(rank, made, 3);
        CHECK(rank, trib_comm_close(made) == TRIB_OK);
    }
    run_all(rank, rank->comm, 4);
    CHECK(rank, times_moved(rank->comm) == 1);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

/* Rank 1 waits for rank 2 when the switch shuts down, and hears it of what is being made first: here always. */
static void unmet_body(struct rank *rank)
{
    uint32_t own = rank->config.rank;
    of_rank[own] = rank->comm;
    run_all(rank, rank->comm, 1);
    (void)pthread_barrier_wait(rank->together);
    if (own == 0) {
        struct trib_comm *made = hold_made(of_rank[1], TRIB_COMM_JOINING);
        switch_command('t');
        trib_comm_session_ready(made, POLLIN, trib_clock_ns());
        trib_endpoint_unlock(of_rank[1]->endpoint);
    }
    if (own == 2) {
        (void)usleep(500000);
    }
    use_made(rank, own != 0);
}

static void made__while_the_switch_shuts_down(void **state)
{
    struct rank ranks[3];
    (void)state;
    run_ranks(ranks, 3, fallback, unmet_body);
    switch_command('2');
    expect_good(ranks, 3);
}

/* WELCOME has come to both, or lies before rank 2, and READY to none. */
static void unready_body(struct rank *rank)
{
    uint32_t own = rank->config.rank;
    of_rank[own] = rank->comm;
    run_all(rank, rank->comm, 1);
    (void)pthread_barrier_wait(rank->together);
    if (own == 0) {
        (void)hold_made(of_rank[2], TRIB_COMM_JOINING);
        atomic_store(&is_held, true);
        (void)hold_made(of_rank[1], TRIB_COMM_REGISTERING);
        trib_endpoint_unlock(of_rank[1]->endpoint);
        switch_command('k');
        trib_endpoint_unlock(of_rank[2]->endpoint);
    }
    while (own == 1 && !atomic_load(&is_held)) {
        (void)usleep(200);
    }
    use_made(rank, own != 0);
}

static void made__between_welcome_and_ready(void **state)
{
    struct rank ranks[3];
    (void)state;
    atomic_store(&is_held, false);
    run_ranks(ranks, 3, fallback, unready_body);
    switch_command('2');
    expect_good(ranks, 3);
}

/* On its endpoint, and the thread that makes it has not begun: what comes first then is that its maker moves. */
static void unbegun_body(struct rank *rank)
{
    struct trib_comm *maker = rank->comm;
    static struct trib_comm unbegun[3];
    struct trib_comm *made = &unbegun[rank->config.rank];
    run_all(rank, maker, 1);
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0) {
        switch_command('k');
    }
    (void)pthread_barrier_wait(rank->together);
    trib_session_client_init(&made->session);
    made->maker = maker;
    trib_endpoint_share(maker->endpoint, made, maker);
    trib_endpoint_lock(maker->endpoint);
    CHECK(rank, !maker->where.no_box && !made->where.no_box);
    trib_comm_move(maker, trib_clock_ns());
    CHECK(rank, made->where.no_box && made->state == TRIB_COMM_NONE);
    CHECK(rank, made->session.state == TRIB_SESSION_CLOSED && made->session.fd < 0);
    maker->endpoint->comms = made->next;
    trib_embedded_release(made->embedded, 0, false);
    trib_endpoint_unlock(maker->endpoint);
    run_all(rank, maker, 4);
    CHECK(rank, times_moved(maker) == 1);
    CHECK(rank, trib_comm_close(maker) == TRIB_OK);
}

static void made__begins_once(void **state)
{
    struct rank ranks[3];
    (void)state;
    run_ranks(ranks, 3, fallback, unbegun_body);
    switch_command('2');
    expect_good(ranks, 3);
}

/* ---- a rank that is held up ---- */

/* Returns with its endpoint locked, once it is waiting there for the other ranks. */
static void hold_back(struct trib_comm *comm, bool elsewhere)
{
    for (unsigned i = 0; i < 50000 * patience(); i++) {
        trib_endpoint_lock(comm->endpoint);
        if (comm->state == TRIB_COMM_JOINING && comm->where.no_box == elsewhere) {
            return;
        }
        trib_endpoint_unlock(comm->endpoint);
        (void)usleep(200);
    }
    abort();
}

static bool comes_back;

/* The others wait TOGETHER_NS of move.c and their switch timeout at most. */
static uint64_t held_ns(void)
{
    return 3500 * TRIB_MILLISECOND_NS + TRIB_SECOND_NS * patience();
}

/* Of the switch's restart nobody may be tired before it is over, and the rank that is held not at all. */
static void restless(struct trib_config *config)
{
    fallback(config);
    config->switch_timeout_ns = comes_back && config->rank == 2 ? 2 * held_ns() : TRIB_SECOND_NS * patience();
}

/* A rank stands still for longer than ranks wait for others at a switch that is back, or for the first answer of a
 * root, when all have come but it has not registered. Of two roots rank 1 is one. */
static void held_body(struct rank *rank)
{
    uint32_t own = rank->config.rank;
    of_rank[own] = rank->comm;
    run_all(rank, rank->comm, 1);
    (void)pthread_barrier_wait(rank->together);
    if (own == 0) {
        struct trib_comm *late = of_rank[comes_back ? 1 : 2];
        struct trib_comm *held = of_rank[comes_back ? 2 : 1];
        trib_endpoint_lock(late->endpoint);
        switch_command('k');
        if (comes_back) {
            switch_command('2');
        }
        hold_back(held, !comes_back);
        trib_endpoint_unlock(late->endpoint);
        (void)usleep((useconds_t)(held_ns() / 1000));
        trib_endpoint_unlock(held->endpoint);
    }
    run_all(rank, rank->comm, 2);
    CHECK(rank, times_moved(rank->comm) == !comes_back);
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void run_held(bool back)
{
    struct rank ranks[3];
    comes_back = back;
    run_ranks(ranks, 3, restless, held_body);
    expect_good(ranks, 3);
    if (!back) {
        switch_command('2');
    }
}

static void held__while_all_go_back(void **state)
{
    (void)state;
    run_held(true);
}

static void held__while_all_move(void **state)
{
    (void)state;
    run_held(false);
}

/* ---- somebody else is gone as well ---- */

static uint32_t absent;

/* One rank waits for the switch longer than the others wait for it. */
static void one_is_patient(struct trib_config *config)
{
    fallback(config);
    config->join_timeout_ns = TRIB_SECOND_NS * patience();
    if (config->rank == absent) {
        config->switch_timeout_ns = 5 * TRIB_SECOND_NS * patience();
        config->timeout_ns = 3 * TRIB_SECOND_NS * patience();
    }
}

static void lonely_body(struct rank *rank)
{
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0) {
        switch_command('k');
    }
    (void)pthread_barrier_wait(rank->together);
    uint64_t begin = trib_clock_ns();
    enum trib_status status = trib_barrier(rank->comm);
    uint64_t took = trib_clock_ns() - begin;
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    if (rank->config.rank != absent) {
        CHECK(rank, status == TRIB_ERR_TIMEOUT && took < 3 * TRIB_SECOND_NS * patience());
        CHECK(rank, says_waited(rank->error, "", 1000 * patience(), " for rank 2 of job") &&
                        says(rank->error, "which was to go on without its switch"));
    } else {
        CHECK(rank, status == TRIB_ERR_TIMEOUT);
    }
    CHECK(rank, trib_comm_close(rank->comm) == status);
}

static void move__names_a_rank_that_does_not_come(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    absent = 2;
    run_ranks(ranks, RANKS, one_is_patient, lonely_body);
    switch_command('2');
    expect_good(ranks, RANKS);
}

/* Rank 0 ends with the switch: nobody listens where they are to meet. */
static void headless_body(struct rank *rank)
{
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0) {
        switch_command('k');
        trib_comm_abort(rank->comm);
        CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_ABORTED);
        (void)pthread_barrier_wait(rank->together);
        return;
    }
    (void)pthread_barrier_wait(rank->together);
    uint64_t begin = trib_clock_ns();
    CHECK(rank, trib_barrier(rank->comm) == TRIB_ERR_SWITCH);
    CHECK(rank, trib_clock_ns() - begin < 2 * TRIB_SECOND_NS * patience());
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    CHECK(rank, says(rank->error, "is gone, and rank 0, where the job was to go on without it, at 127.0.0.1:") &&
                    says_waited_as_set(rank->error, "does not answer: connection refused; ", 500 * patience(),
                                       "TRIB_SWITCH_TIMEOUT", SWITCH_TIMEOUT_NS));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_SWITCH);
}

static void move__names_rank_0_that_is_gone(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    run_ranks(ranks, RANKS, fallback, headless_body);
    switch_command('2');
    expect_good(ranks, RANKS);
}

/* ---- the end ---- */

/* The switch dies between the last operation and the close of all: who has everything closes well, in time, wherever
 * the others are. */
static void close_body(struct rank *rank)
{
    run_all(rank, rank->comm, 1);
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0) {
        switch_command('k');
    }
    (void)pthread_barrier_wait(rank->together);
    (void)usleep(rank->config.rank * 200000);
    uint64_t begin = trib_clock_ns();
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
    CHECK(rank, trib_clock_ns() - begin < 4 * TRIB_SECOND_NS * patience());
}

static void close__after_the_switch_is_gone(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    run_ranks(ranks, RANKS, fallback, close_body);
    switch_command('2');
    expect_good(ranks, RANKS);
}

/* A rank that only closes is still there for one that lacks results. */
static void early_body(struct rank *rank)
{
    static int32_t buffers[RANKS][COUNT];
    int32_t *buffer = buffers[rank->config.rank];
    (void)atomic_fetch_add(&entered, 1);
    for (uint32_t round = 0; round < 20; round++) {
        fill(buffer, rank->config.rank, round);
        CHECK(rank, trib_allreduce(rank->comm, buffer, buffer, COUNT, TRIB_INT32, TRIB_SUM) == TRIB_OK);
        check_sum(rank, buffer, RANKS, round, UINT32_MAX);
    }
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void close__others_still_lack_results(void **state)
{
    (void)state;
    for (useconds_t i = 0; i < 8; i++) {
        run_and_kill(RANKS, lossy, early_body, 1000 + 4000 * i);
    }
}

/* Ranks 1 and 2 have contributed to the last operation and are then held up, while it ends for ranks 0 and 3, which
 * close; the switch dies. They are let go when the others have been waiting at the meeting for a while, and find there
 * what they lack. */
static void *hold_two(void *argument)
{
    (void)argument;
    while (atomic_load(&entered) < RANKS) {
        (void)usleep(1000);
    }
    for (uint32_t i = 1; i <= 2; i++) {
        trib_endpoint_lock(of_rank[i]->endpoint);
        while (of_rank[i]->verbs->in_flight(of_rank[i]->node, 0) == 0) {
            trib_endpoint_unlock(of_rank[i]->endpoint);
            (void)usleep(1000);
            trib_endpoint_lock(of_rank[i]->endpoint);
        }
    }
    atomic_store(&is_held, true);
    while (atomic_load(&is_held)) {
        (void)usleep(1000);
    }
    (void)usleep((useconds_t)(SWITCH_TIMEOUT_NS / 1000 + 600000));
    trib_endpoint_unlock(of_rank[1]->endpoint);
    trib_endpoint_unlock(of_rank[2]->endpoint);
    return NULL;
}

static void finished_body(struct rank *rank)
{
    static int32_t buffers[RANKS][64];
    uint32_t own = rank->config.rank;
    int32_t *buffer = buffers[own];
    struct trib_request *request = NULL;
    bool is_late = own == 1 || own == 2;
    of_rank[own] = rank->comm;
    for (uint32_t i = 0; i < 64; i++) {
        buffer[i] = value(own, 0, i);
    }
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank,
          !is_late || trib_allreduce_start(rank->comm, buffer, buffer, 64, TRIB_INT32, TRIB_SUM, &request) == TRIB_OK);
    (void)atomic_fetch_add(&entered, 1);
    while (!atomic_load(&is_held)) {
        (void)usleep(1000);
    }
    CHECK(rank, is_late || trib_allreduce(rank->comm, buffer, buffer, 64, TRIB_INT32, TRIB_SUM) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    if (own == 0) {
        switch_command('k');
        atomic_store(&is_held, false);
    }
    CHECK(rank, !is_late || trib_request_wait(request) == TRIB_OK);
    for (uint32_t i = 0; i < 64; i++) {
        CHECK(rank, buffer[i] == sum(RANKS, 0, i));
    }
    (void)snprintf(rank->error, sizeof rank->error, "%s", trib_comm_error(rank->comm));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

/* More than the others are held up for, also where this process does not always run. */
static void patient_close(struct trib_config *config)
{
    fallback(config);
    config->linger_ns = 5 * TRIB_SECOND_NS * patience();
}

static void close__is_there_for_who_was_held_up(void **state)
{
    struct rank ranks[RANKS];
    pthread_t thread;
    (void)state;
    atomic_store(&is_held, false);
    atomic_store(&entered, 0);
    assert_int_equal(pthread_create(&thread, NULL, hold_two, NULL), 0);
    run_ranks(ranks, RANKS, patient_close, finished_body);
    assert_int_equal(pthread_join(thread, NULL), 0);
    switch_command('2');
    expect_good(ranks, RANKS);
}

static void config__fallback_needs_a_switch(void **state)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_comm *comm = NULL;
    struct trib_config config;
    (void)state;
    rank_config(&config, 0, 1);
    config.fallback = true;
    config.level0 = true;
    config.switch_address[0] = '\0';
    assert_int_equal(trib_comm_create(&config, &comm, error), TRIB_ERR_INVALID);
    assert_true(says(error, "fallback (TRIB_FALLBACK) is on, but no switch (TRIB_SWITCH) is named that could be gone"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(move__every_operation_ends_right),
        cmocka_unit_test(move__with_faults),
        cmocka_unit_test(move__ranks_of_a_host_stay_together),
        cmocka_unit_test(move__all_communicators_of_a_process),
        cmocka_unit_test(made__while_the_switch_shuts_down),
        cmocka_unit_test(made__between_welcome_and_ready),
        cmocka_unit_test(made__begins_once),
        cmocka_unit_test(held__while_all_go_back),
        cmocka_unit_test(held__while_all_move),
        cmocka_unit_test(move__names_a_rank_that_does_not_come),
        cmocka_unit_test(move__names_rank_0_that_is_gone),
        cmocka_unit_test(close__after_the_switch_is_gone),
        cmocka_unit_test(close__others_still_lack_results),
        cmocka_unit_test(close__is_there_for_who_was_held_up),
        cmocka_unit_test(config__fallback_needs_a_switch),
    };
    keeper_open();
    switch_command('2');
    return cmocka_run_group_tests(tests, NULL, NULL);
}
