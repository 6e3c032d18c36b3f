/* SPDX-License-Identifier: Apache-2.0 */
/* test_comm_ring.c: jobs below the threshold of a real switch: they are rings, all they do is right, nothing of it goes
 * over the switch, and it may be started anew meanwhile; others are at the switch as ever. Mirrors src/comm/ring.c. What
 * an odd switch may say is in test_comm_session.c. */
#include "comm/endpoint.h"
#include "comm/own_root.h"
#include "comm_harness.h"

#include "comm/state.h"

#define RANKS 4U
#define COUNT 50000U
#define SMALL UINT64_C(4000000)

static void small(struct trib_config *config)
{
    config->gradient_bytes = SMALL;
}

static int32_t value(uint32_t rank, uint32_t round, uint32_t i)
{
    return (int32_t)(i * (round + 1) + rank);
}

/* One round of what a program does; right on every rank. */
static void run_round(struct rank *rank, struct trib_comm *comm, uint32_t round)
{
    uint32_t ranks = trib_comm_ranks(comm);
    uint32_t own = trib_comm_rank(comm);
    int32_t *buffer = malloc(COUNT * sizeof *buffer);
    for (uint32_t i = 0; i < COUNT; i++) {
        buffer[i] = value(own, round, i);
    }
    CHECK(rank, trib_allreduce(comm, buffer, buffer, COUNT, TRIB_INT32, TRIB_SUM) == TRIB_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK(rank, buffer[i] == (int32_t)(ranks * i * (round + 1) + ranks * (ranks - 1) / 2));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        buffer[i] = value(own, round, i);
    }
    CHECK(rank, trib_broadcast(comm, buffer, COUNT, TRIB_INT32, ranks - 1) == TRIB_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK(rank, buffer[i] == value(ranks - 1, round, i));
    }
    free(buffer);
}

/* No socket of this process knows a shard of the switch, and none is a root's. */
static void check_ring(struct rank *rank, const struct trib_comm *comm)
{
    CHECK(rank, strcmp(trib_comm_scheme(comm), "ring") == 0);
    CHECK(rank, trib_comm_has_peers(comm) && !comm->where.no_box && comm->config.progress_thread);
    CHECK(rank, comm->endpoint->connected[0].len == 0);
    CHECK(rank, comm->endpoint->wide_count == 1 && !trib_own_root_is_open(&comm->endpoint->own_root));
}

static void check_at_switch(struct rank *rank, const struct trib_comm *comm, const char *scheme)
{
    CHECK(rank, strcmp(trib_comm_scheme(comm), scheme) == 0);
    CHECK(rank, trib_comm_scheme_cause(comm)[0] == '\0');
    CHECK(rank, !trib_comm_has_peers(comm) && comm->endpoint->connected[0].len > 0);
}

static void ring_body(struct rank *rank)
{
    struct trib_comm_stats stats;
    check_ring(rank, rank->comm);
    CHECK(rank, strcmp(trib_comm_scheme_cause(rank->comm),
                       "4,000,000 bytes of gradients an iteration are below the switch's threshold of 40,000,000 "
                       "(--threshold)") == 0);
    for (uint32_t round = 0; round < 5; round++) {
        run_round(rank, rank->comm, round);
    }
    CHECK(rank, trib_barrier(rank->comm) == TRIB_OK);
    trib_comm_stats(rank->comm, &stats);
    CHECK(rank, stats.roots == 0 && !stats.no_box && !stats.multicast && stats.hosts == 0);
    CHECK(rank, stats.bytes_sent > COUNT * 4 * 5 * 2 * (RANKS - 1) / RANKS);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void small_lossy(struct trib_config *config)
{
    small(config);
    (void)snprintf(config->scheme, sizeof config->scheme, "panama");
    config->faults =
        (struct trib_faults){.loss = 0.01, .duplicate = 0.01, .reorder = 0.01, .corrupt = 0.001, .seed = 7};
}

/* Sums of a ring lack nobody. */
static void small_quorum(struct trib_config *config)
{
    small(config);
    (void)snprintf(config->scheme, sizeof config->scheme, "panama:3/4");
}

/* Ranks of a ring are needed between their calls. */
static void small_without_thread(struct trib_config *config)
{
    small(config);
    config->progress_thread = false;
}

static void small_on_one_host(struct trib_config *config)
{
    small(config);
    config->level0 = true;
    config->wire = TRIB_WIRE_BFLOAT16;
}

static void below__is_a_ring(void **state)
{
    void (*const tweaks[])(struct trib_config * config) = {small, small_lossy, small_quorum, small_without_thread,
                                                           small_on_one_host};
    (void)state;
    for (uint32_t i = 0; i < sizeof tweaks / sizeof tweaks[0]; i++) {
        struct rank ranks[RANKS];
        run_ranks(ranks, RANKS, tweaks[i], ring_body);
        expect_good(ranks, RANKS);
    }
}

static void one_body(struct rank *rank)
{
    check_ring(rank, rank->comm);
    run_round(rank, rank->comm, 3);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void below__of_one_and_of_two(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 2; count++) {
        struct rank ranks[2];
        run_ranks(ranks, count, small, one_body);
        expect_good(ranks, count);
    }
}

static void at(struct trib_config *config)
{
    config->gradient_bytes = HARNESS_THRESHOLD;
}

static void above(struct trib_config *config)
{
    config->gradient_bytes = UINT64_MAX;
}

static void switch_body(struct rank *rank)
{
    check_at_switch(rank, rank->comm, "switchml");
    run_round(rank, rank->comm, 1);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void at_and_above_and_unknown__at_the_switch(void **state)
{
    void (*const tweaks[])(struct trib_config * config) = {at, above, NULL};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct rank ranks[RANKS];
        run_ranks(ranks, RANKS, tweaks[i], switch_body);
        expect_good(ranks, RANKS);
    }
}

static void differ(struct trib_config *config)
{
    config->gradient_bytes = config->rank == 2 ? SMALL + 1 : SMALL;
}

static void differ__is_said_to_all(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    run_ranks(ranks, RANKS, differ, NULL);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(ranks[i].status, TRIB_ERR_SETTINGS);
        assert_true(says(ranks[i].error, "settings differ: gradient bytes are") &&
                    says(ranks[i].error, "4000000 on rank") && says(ranks[i].error, "4000001 on rank 2"));
    }
}

/* ---- the switch goes away and comes back ---- */

static const char *restarts; /* how it is started, each time */

static uint32_t registrations(struct trib_comm *comm)
{
    struct trib_comm_stats stats;
    trib_comm_stats(comm, &stats);
    return (uint32_t)stats.reregistrations;
}

/* Rank 0 is the operator as well. All go on until all have been back as often as the switch was killed. */
static void restart_body(struct rank *rank)
{
    uint32_t times = (uint32_t)strlen(restarts);
    uint32_t done = 0;
    int32_t least = 0;
    for (uint32_t round = 0; least < (int32_t)times && rank->wrong == NULL; round++) {
        if (rank->config.rank == 0 && round % 3 == 2 && done < times && registrations(rank->comm) == done) {
            switch_command('k');
            (void)usleep(20000);
            switch_command(restarts[done++]);
        }
        run_round(rank, rank->comm, round);
        least = (int32_t)registrations(rank->comm);
        CHECK(rank, trib_allreduce(rank->comm, &least, &least, 1, TRIB_INT32, TRIB_MINIMUM) == TRIB_OK);
    }
    check_ring(rank, rank->comm);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void restart__changes_nothing(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    restarts = "2BA1B"; /* with and without a threshold, and as many shards as it likes */
    run_ranks(ranks, RANKS, small, restart_body);
    expect_good(ranks, RANKS);
    run_ranks(ranks, RANKS, small_lossy, restart_body);
    expect_good(ranks, RANKS);
}

/* One that runs at the switch stays there, though it would be below the threshold now. */
static void stays_body(struct rank *rank)
{
    run_round(rank, rank->comm, 0); /* all are in */
    if (rank->config.rank == 0) {
        switch_command('k');
        switch_command('B');
    }
    int32_t least = 0;
    for (uint32_t round = 0; least < 1 && rank->wrong == NULL; round++) {
        run_round(rank, rank->comm, round);
        least = (int32_t)registrations(rank->comm);
        CHECK(rank, trib_allreduce(rank->comm, &least, &least, 1, TRIB_INT32, TRIB_MINIMUM) == TRIB_OK);
    }
    check_at_switch(rank, rank->comm, "switchml");
    struct trib_comm *made = NULL; /* and what is made of it does as well */
    CHECK(rank, trib_comm_split(rank->comm, 0, 0, &made, rank->error) == TRIB_OK);
    if (made != NULL) {
        check_at_switch(rank, made, "switchml");
        run_round(rank, made, 2);
        CHECK(rank, trib_comm_close(made) == TRIB_OK);
    }
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void restart__of_a_job_at_the_switch(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    switch_command('2');
    run_ranks(ranks, RANKS, small, stays_body);
    expect_good(ranks, RANKS);
}

/* It is killed while they come again, or while their paths are tried. */
static void *restarter(void *argument)
{
    (void)usleep(*(const useconds_t *)argument);
    switch_command('k');
    switch_command('B');
    return NULL;
}

static void restart__while_they_join(void **state)
{
    (void)state;
    for (useconds_t after_us = 200; after_us < 20000; after_us = after_us * 3 / 2) {
        struct rank ranks[RANKS];
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, restarter, &after_us), 0);
        run_ranks(ranks, RANKS, small, one_body);
        assert_int_equal(pthread_join(thread, NULL), 0);
        expect_good(ranks, RANKS);
    }
}

/* ---- beside others ---- */

static void parts_body(struct rank *rank)
{
    uint32_t list[2] = {3, 1};
    uint32_t me = rank->config.rank;
    struct trib_comm *half = NULL;
    struct trib_comm *odd = NULL;
    CHECK(rank, trib_comm_split(rank->comm, (int32_t)(me % 2), 0, &half, rank->error) == TRIB_OK);
    if (me % 2 == 1) {
        CHECK(rank, trib_comm_subset(half, (uint32_t[]){1, 0}, 2, 0, &odd, rank->error) == TRIB_OK);
        CHECK(rank, trib_comm_rank(odd) == (me == list[0] ? 0 : 1));
    }
    struct trib_comm *all[3] = {rank->comm, half, odd};
    for (uint32_t i = 0; i < 3 && rank->wrong == NULL; i++) {
        if (all[i] != NULL) {
            check_ring(rank, all[i]);
            run_round(rank, all[i], i);
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(rank, all[i] == NULL || trib_comm_close(all[i]) == TRIB_OK);
    }
}

static void parts__go_as_the_whole(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    run_ranks(ranks, RANKS, small, parts_body);
    expect_good(ranks, RANKS);
}

/* Sockets were opened for shards before a ring was there; those that no shard was found for are connected to nobody. What
 * comes there in the name of a root is not even read. */
static void knock(struct rank *rank, struct trib_comm *ring, struct trib_comm *large)
{
    struct trib_endpoint *endpoint = large->endpoint;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    struct trib_packet packet = {.kind = TRIB_PATH, .node = 1};
    struct trib_address local;
    uint8_t header[TRIB_HEADER_SIZE];
    trib_endpoint_lock(endpoint);
    uint32_t last = endpoint->shard_count - endpoint->wide_count - 1;
    const struct trib_port *port = endpoint->shards[last].port;
    bool is_open = last >= large->root_count && endpoint->connected[last].len == 0 && trib_port_is_spare(port);
    uint64_t before = large->dropped[TRIB_DROP_SOURCE];
    trib_port_local(port, &local);
    packet.communicator = large->grant.communicator;
    packet.generation = large->grant.generation;
    packet.boot = large->grant.boot;
    trib_endpoint_unlock(endpoint);
    CHECK(rank, is_open);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    to.sin_port = htons(trib_address_port(&local));
    trib_packet_encode(&packet, header);
    CHECK(rank, sendto(fd, header, sizeof header, 0, (const struct sockaddr *)&to, sizeof to) == sizeof header);
    run_round(rank, ring, 7);
    run_round(rank, large, 8);
    trib_endpoint_lock(endpoint);
    CHECK(rank, !is_open || trib_port_stats(port)->receive_calls == 0);
    CHECK(rank, large->dropped[TRIB_DROP_SOURCE] == before);
    trib_endpoint_unlock(endpoint);
    (void)close(fd);
}

static bool large_is_first;

/* Two jobs of each process, on its sockets at one switch: a ring and one at the switch. */
static void both_body(struct rank *rank)
{
    struct trib_config config = rank->config;
    struct trib_comm *other = NULL;
    (void)snprintf(config.job, sizeof config.job, "%.40s-other", rank->config.job);
    config.gradient_bytes = large_is_first ? SMALL : HARNESS_THRESHOLD;
    CHECK(rank, trib_comm_create(&config, &other, rank->error) == TRIB_OK);
    if (other != NULL) {
        struct trib_comm *ring = large_is_first ? other : rank->comm;
        struct trib_comm *large = large_is_first ? rank->comm : other;
        for (uint32_t round = 0; round < 3; round++) {
            run_round(rank, ring, round);
            run_round(rank, large, round);
        }
        CHECK(rank, strcmp(trib_comm_scheme(ring), "ring") == 0);
        check_at_switch(rank, large, "switchml");
        if (!large_is_first) {
            knock(rank, ring, large);
        }
        CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
        run_round(rank, other, 9);
        CHECK(rank, trib_comm_close(other) == TRIB_OK);
    }
}

static void both__in_one_process(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    for (int i = 0; i < 2; i++) {
        large_is_first = i == 1;
        run_ranks(ranks, RANKS, large_is_first ? at : small, both_body);
        expect_good(ranks, RANKS);
    }
}

/* ---- the end ---- */

static void abort_body(struct rank *rank)
{
    run_round(rank, rank->comm, 0);
    (void)pthread_barrier_wait(rank->together); /* a ring's rank is done before the next has what it sent */
    if (rank->config.rank == 2) {
        trib_comm_abort(rank->comm);
    } else {
        CHECK(rank, hears_failure(rank));
        CHECK(rank, says(trib_comm_error(rank->comm), "rank 2 (127.0.0.1:"));
    }
    CHECK(rank, trib_comm_close(rank->comm) != TRIB_OK);
}

static void death__is_said_to_all(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    run_ranks(ranks, RANKS, small, abort_body);
    expect_good(ranks, RANKS);
}

/* What others lack only the rank before them can give: who has all waits for them, however short a switch would need
 * it. */
static void small_hasty(struct trib_config *config)
{
    small(config);
    config->linger_ns = TRIB_MICROSECOND_NS;
    config->faults = (struct trib_faults){.loss = 0.2, .seed = 3};
}

static void hasty_body(struct rank *rank)
{
    run_round(rank, rank->comm, 0);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void close__waits_for_the_others(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct rank ranks[RANKS];
        run_ranks(ranks, RANKS, small_hasty, hasty_body);
        expect_good(ranks, RANKS);
    }
}

/* But not for a switch that is gone, when all have everything: nobody would come and ask. */
static void small_and_patient(struct trib_config *config)
{
    small(config);
    config->switch_timeout_ns = 60 * TRIB_SECOND_NS * patience();
    config->linger_ns = 100 * TRIB_MILLISECOND_NS;
}

static bool knows_all(const struct rank *rank)
{
    const struct trib_comm *comm = rank->comm;
    trib_endpoint_lock(comm->endpoint);
    bool is_all = comm->verbs->node.communicator_mark(comm->node) >= comm->verbs->mark(comm->node);
    trib_endpoint_unlock(comm->endpoint);
    return is_all;
}

static void done_body(struct rank *rank)
{
    run_round(rank, rank->comm, 0);
    for (uint32_t i = 0; i < 5000 * patience() && !knows_all(rank); i++) {
        (void)usleep(1000); /* marks of idle ranks go by the session */
    }
    CHECK(rank, knows_all(rank));
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 0) {
        switch_command('k');
    }
    uint64_t start_ns = trib_clock_ns();
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
    CHECK(rank, trib_clock_ns() - start_ns < 20 * TRIB_SECOND_NS * patience());
}

static void close__without_a_switch_that_nobody_needs(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    run_ranks(ranks, RANKS, small_and_patient, done_body);
    switch_command('B');
    expect_good(ranks, RANKS);
}

static void small_with_fallback(struct trib_config *config)
{
    small(config);
    config->fallback = true;
    config->switch_timeout_ns = 500 * TRIB_MILLISECOND_NS * patience();
    config->linger_ns = TRIB_SECOND_NS * patience();
}

/* The switch is gone for good: rank 0's process has the control plane, and the ring is what it was. */
static void fallback_body(struct rank *rank)
{
    struct trib_comm_stats stats = {0};
    int32_t least = 0;
    (void)pthread_barrier_wait(rank->together); /* only who has seen a READY moves */
    if (rank->config.rank == 0) {
        switch_command('k');
    }
    for (uint32_t round = 0; least < 1 && rank->wrong == NULL; round++) {
        run_round(rank, rank->comm, round);
        trib_comm_stats(rank->comm, &stats);
        least = (int32_t)stats.moved;
        CHECK(rank, trib_allreduce(rank->comm, &least, &least, 1, TRIB_INT32, TRIB_MINIMUM) == TRIB_OK);
    }
    CHECK(rank, strcmp(trib_comm_scheme(rank->comm), "ring") == 0);
    CHECK(rank, stats.no_box && !trib_own_root_is_open(&rank->comm->endpoint->own_root));
    struct trib_comm *made = NULL;
    CHECK(rank, trib_comm_split(rank->comm, 0, 0, &made, rank->error) == TRIB_OK);
    if (made != NULL) {
        CHECK(rank, strcmp(trib_comm_scheme(made), "ring") == 0);
        run_round(rank, made, 5);
        CHECK(rank, trib_comm_close(made) == TRIB_OK);
    }
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void fallback__goes_on_without_the_switch(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    run_ranks(ranks, RANKS, small_with_fallback, fallback_body);
    switch_command('B');
    expect_good(ranks, RANKS);
}

/* A ring and a job at the switch, in each process: that one's ranks become roots beside the ring's socket. */
static void both_fallback_body(struct rank *rank)
{
    struct trib_config config = rank->config;
    struct trib_comm *large = NULL;
    int32_t least = 0;
    (void)snprintf(config.job, sizeof config.job, "%.40s-large", rank->config.job);
    config.gradient_bytes = HARNESS_THRESHOLD;
    (void)snprintf(config.host_id, sizeof config.host_id, "host-%u", config.rank);
    CHECK(rank, trib_comm_create(&config, &large, rank->error) == TRIB_OK);
    if (large == NULL) {
        return;
    }
    run_round(rank, large, 0);
    if (rank->config.rank == 0) {
        switch_command('k');
    }
    for (uint32_t round = 1; least < 1 && rank->wrong == NULL; round++) {
        struct trib_comm_stats stats;
        run_round(rank, large, round);
        trib_comm_stats(large, &stats);
        least = (int32_t)stats.moved;
        CHECK(rank, trib_allreduce(large, &least, &least, 1, TRIB_INT32, TRIB_MINIMUM) == TRIB_OK);
    }
    run_round(rank, rank->comm, 7);
    CHECK(rank, strcmp(trib_comm_scheme(large), "switchml") == 0 && large->where.no_box);
    CHECK(rank, trib_own_root_is_open(&large->endpoint->own_root));
    (void)snprintf(rank->error, sizeof rank->error, "%.250s; large: %.250s", trib_comm_error(rank->comm),
                   trib_comm_error(large));
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
    CHECK(rank, trib_comm_close(large) == TRIB_OK);
}

static void fallback__of_both_in_one_process(void **state)
{
    struct rank ranks[RANKS];
    (void)state;
    run_ranks(ranks, RANKS, small_with_fallback, both_fallback_body);
    switch_command('B');
    expect_good(ranks, RANKS);
}

static int with_threshold(void **state)
{
    (void)state;
    switch_command('B');
    return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, with_threshold)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(below__is_a_ring),
        TEST(below__of_one_and_of_two),
        TEST(at_and_above_and_unknown__at_the_switch),
        TEST(differ__is_said_to_all),
        TEST(restart__changes_nothing),
        TEST(restart__of_a_job_at_the_switch),
        TEST(restart__while_they_join),
        TEST(parts__go_as_the_whole),
        TEST(both__in_one_process),
        TEST(death__is_said_to_all),
        TEST(close__waits_for_the_others),
        TEST(close__without_a_switch_that_nobody_needs),
        TEST(fallback__goes_on_without_the_switch),
        TEST(fallback__of_both_in_one_process),
    };
    keeper_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
