/* SPDX-License-Identifier: Apache-2.0 */
/* test_split.c: communicators made of others, over a real switch. Mirrors src/comm/split.c, and what comm.c and
 * endpoint.c do for it. */
#include "comm_harness.h"

#include <sys/socket.h>

#include "comm/endpoint.h"
#include "comm/state.h"
#include "host/segment.h"

#define RANKS 4U

/* The sum over the members of 10^rank-in-the-parent: says who is in it. */
static int64_t who(struct trib_comm *comm, uint32_t rank)
{
    int64_t value = 1;
    for (uint32_t i = 0; i < rank; i++) {
        value *= 10;
    }
    return trib_allreduce(comm, &value, &value, 1, TRIB_INT64, TRIB_SUM) == TRIB_OK ? value : -1;
}

/* ---- split ---- */

static void split_body(struct rank *rank)
{
    uint32_t me = rank->config.rank;
    struct trib_comm *made = NULL;
    /* Even ranks in reverse, odd ranks by rank. */
    int32_t key = me % 2 == 0 ? -(int32_t)me : 5;
    CHECK(rank, trib_comm_split(rank->comm, (int32_t)(me % 2), key, &made, rank->error) == TRIB_OK);
    if (made != NULL) {
        CHECK(rank, trib_comm_ranks(made) == 2);
        CHECK(rank, trib_comm_rank(made) == (me % 2 == 0 ? 1 - me / 2 : me / 2));
        CHECK(rank, who(made, me) == (me % 2 == 0 ? 101 : 1010));
        CHECK(rank, says(trib_comm_job(made), trib_comm_job(rank->comm)));
        CHECK(rank, made->endpoint == rank->comm->endpoint);
        /* It lives on without the one that it was made of. */
        CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
        CHECK(rank, who(made, me) == (me % 2 == 0 ? 101 : 1010));
        CHECK(rank, trib_comm_close(made) == TRIB_OK);
    }
}

static void split__orders_by_key_and_rank(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, split_body);
    expect_good(ranks, RANKS);
}

static void no_color_body(struct rank *rank)
{
    uint32_t me = rank->config.rank;
    struct trib_comm *made = rank->comm;
    CHECK(rank, trib_comm_split(rank->comm, me == 2 ? TRIB_NO_COLOR : 7, 0, &made, rank->error) == TRIB_OK);
    if (me == 2) {
        CHECK(rank, made == NULL);
    } else {
        CHECK(rank, trib_comm_ranks(made) == 3 && trib_comm_rank(made) == (me < 2 ? me : 2));
        CHECK(rank, who(made, me) == 1011);
        CHECK(rank, trib_comm_close(made) == TRIB_OK);
    }
    CHECK(rank, who(rank->comm, me) == 1111);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void split__leaves_out_who_has_no_color(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, no_color_body);
    expect_good(ranks, RANKS);
}

static void bad_color_body(struct rank *rank)
{
    struct trib_comm *made = rank->comm;
    int32_t color = rank->config.rank == 3 ? -7 : 0;
    CHECK(rank, trib_comm_split(rank->comm, color, 0, &made, rank->error) == TRIB_ERR_INVALID);
    CHECK(rank, made == rank->comm && says(rank->error, "rank 3 gave the color -7"));
    CHECK(rank, who(rank->comm, rank->config.rank) == 1111); /* nothing is broken */
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void split__names_a_bad_color_on_every_rank(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, bad_color_body);
    expect_good(ranks, RANKS);
}

/* Of one of another, with a name that is long already. */
static void nested_body(struct rank *rank)
{
    struct trib_comm *comms[4] = {rank->comm};
    for (unsigned i = 1; i < 4; i++) {
        CHECK(rank, trib_comm_split(comms[i - 1], 0, 0, &comms[i], rank->error) == TRIB_OK);
        if (comms[i] == NULL) {
            return;
        }
        CHECK(rank, strlen(trib_comm_job(comms[i])) <= TRIB_NAME_MAX);
        CHECK(rank, strcmp(trib_comm_job(comms[i]), trib_comm_job(comms[i - 1])) != 0);
    }
    for (unsigned i = 4; i-- > 0;) {
        CHECK(rank, who(comms[i], rank->config.rank) == 11);
    }
    for (unsigned i = 0; i < 4; i++) {
        CHECK(rank, trib_comm_close(comms[i]) == TRIB_OK);
    }
}

static void use_long_name(struct trib_config *config)
{
    (void)snprintf(config->job, sizeof config->job, "%s",
                   "a name that is as long as the name of a job may be, all 64 bytes");
}

static void split__nests(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, use_long_name, nested_body);
    expect_good(ranks, 2);
}

/* Odd ranks come by a child switch with one shard, so the communicator of all has one root, and that of the even ranks
 * could have two. */
static void by_child(struct trib_config *config)
{
    uint32_t port = config->rank % 2 == 1 ? child_port : switch_port;
    (void)snprintf(config->switch_address, sizeof config->switch_address, "127.0.0.1:%u", port);
}

static void roots_body(struct rank *rank)
{
    struct trib_comm *made = NULL;
    uint32_t me = rank->config.rank;
    CHECK(rank, rank->comm->grant.roots == 1);
    CHECK(rank, trib_comm_split(rank->comm, (int32_t)(me % 2), 0, &made, rank->error) == TRIB_OK);
    CHECK(rank, made != NULL && who(made, me) == (me % 2 == 0 ? 101 : 1010));
    CHECK(rank, who(rank->comm, me) == 1111);
    CHECK(rank, made == NULL || trib_comm_close(made) == TRIB_OK);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void split__where_fewer_shards_are_common(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    switch_command('c');
    run_ranks(ranks, RANKS, by_child, roots_body);
    expect_good(ranks, RANKS);
}

/* Rank 1 calls what a split looks like on the wire: neither sum is anybody's. */
static void mixed_body(struct rank *rank)
{
    struct trib_comm *made = NULL;
    int64_t values[1 + RANKS] = {0};
    (void)pthread_barrier_wait(rank->together); /* or the last to join hears of it before it has joined */
    enum trib_status status = rank->config.rank == 1
                                  ? trib_allreduce(rank->comm, values, values, 1 + RANKS, TRIB_INT64, TRIB_SUM)
                                  : trib_comm_split(rank->comm, 0, 0, &made, rank->error);
    const char *text = trib_comm_error(rank->comm);
    CHECK(rank, status == TRIB_ERR_MISMATCH);
    CHECK(rank, says(text, "rank 1 called allreduce of 5 int64 (sum) as operation 0"));
    CHECK(rank, says(text, " called trib_comm_split as operation 0"));
    CHECK(rank, rank->config.rank == 1 || strcmp(rank->error, text) == 0);
    for (unsigned i = 0; i <= RANKS; i++) {
        CHECK(rank, values[i] == 0);
    }
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_ERR_MISMATCH);
}

static void use_ring(struct trib_config *config)
{
    (void)snprintf(config->scheme, sizeof config->scheme, "ring");
}

static void two_ranks_a_host(struct trib_config *config)
{
    (void)snprintf(config->host_id, sizeof config->host_id, "host-%u", config->rank / 2);
    config->level0 = true;
}

static void split__meets_only_splits(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, mixed_body);
    expect_good(ranks, RANKS);
    if (no_box) {
        run_ranks(ranks, RANKS, use_ring, mixed_body);
        expect_good(ranks, RANKS);
    }
    if (!on_host) { /* in one host's memory there is no other host */
        run_ranks(ranks, RANKS, two_ranks_a_host, mixed_body);
        expect_good(ranks, RANKS);
    }
}

/* ---- subset ---- */

/* All but rank 0 go on when rank 0 has closed; and rank 0, without a switch the control plane's place, can begin anew
 * meanwhile. */
static void left_body(struct rank *rank)
{
    static const uint32_t others[] = {1, 2, 3};
    uint32_t me = rank->config.rank;
    struct trib_comm *made = NULL;
    struct trib_config config = rank->config;
    if (me != 0) {
        CHECK(rank, trib_comm_subset(rank->comm, others, 3, 7, &made, rank->error) == TRIB_OK);
    }
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, me == 0 || who(made, me) == 1110);
    config.ranks = 1;
    config.rank = 0;
    (void)snprintf(config.job, sizeof config.job, "again-%u-%u", rendezvous_port, me);
    CHECK(rank, me != 0 || trib_comm_create(&config, &made, rank->error) == TRIB_OK);
    CHECK(rank, me != 0 || (made != NULL && who(made, me) == 1));
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, me == 0 || who(made, me) == 1110);
    CHECK(rank, made != NULL && trib_comm_close(made) == TRIB_OK);
}

/* Its close waits for the others so long, who in turn wait for it here. */
static void short_timeout_of_rank_0(struct trib_config *config)
{
    config->timeout_ns = config->rank == 0 ? 2 * TRIB_SECOND_NS * patience() : config->timeout_ns;
}

static void subset__goes_on_without_rank_0(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, short_timeout_of_rank_0, left_body);
    expect_good(ranks, RANKS);
}

static void subset_body(struct rank *rank)
{
    static const uint32_t pair[] = {3, 1};
    uint32_t me = rank->config.rank;
    struct trib_comm *made[3] = {NULL};
    if (me == 1 || me == 3) {
        for (unsigned i = 0; i < 3; i++) { /* the same again, while the first is open */
            CHECK(rank, trib_comm_subset(rank->comm, pair, 2, 0, &made[i], rank->error) == TRIB_OK);
            CHECK(rank, made[i] != NULL && trib_comm_rank(made[i]) == (me == 3 ? 0 : 1));
        }
        for (unsigned i = 3; i-- > 0 && made[i] != NULL;) {
            CHECK(rank, who(made[i], me) == 1010);
            CHECK(rank, trib_comm_close(made[i]) == TRIB_OK);
        }
    }
    CHECK(rank, who(rank->comm, me) == 1111);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void subset__needs_its_members_only(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, subset_body);
    expect_good(ranks, RANKS);
}

static void no_thread(struct trib_config *config)
{
    config->progress_thread = false;
}

/* The last rank waits for two operations after the others, which come to the subset only when both are done. */
static void under_way_body(struct rank *rank)
{
    static const uint32_t all[RANKS] = {0, 1, 2, 3};
    struct trib_comm *made = NULL;
    struct trib_request *request[2] = {NULL, NULL};
    int64_t value[2] = {1, 2};
    for (unsigned i = 0; i < 2; i++) {
        CHECK(rank,
              trib_allreduce_start(rank->comm, &value[i], &value[i], 1, TRIB_INT64, TRIB_SUM, &request[i]) == TRIB_OK);
        CHECK(rank, rank->config.rank == RANKS - 1 || trib_request_wait(request[i]) == TRIB_OK);
    }
    CHECK(rank, trib_comm_subset(rank->comm, all, RANKS, 0, &made, rank->error) == TRIB_OK);
    for (unsigned i = 0; i < 2 && rank->config.rank == RANKS - 1; i++) {
        CHECK(rank, trib_request_wait(request[i]) == TRIB_OK);
    }
    CHECK(rank, value[0] == RANKS && value[1] == 2 * RANKS);
    CHECK(rank, made == NULL || trib_comm_close(made) == TRIB_OK);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void subset__goes_on_with_operations_of_its_maker(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, no_thread, under_way_body);
    expect_good(ranks, RANKS);
}

static void bad_list_body(struct rank *rank)
{
    static const uint32_t strange[] = {0, 2};
    static const uint32_t twice[] = {1, 1};
    uint32_t other = 1 - rank->config.rank;
    struct trib_comm *made = NULL;
    CHECK(rank, trib_comm_subset(rank->comm, strange, 2, 0, &made, rank->error) == TRIB_ERR_INVALID);
    CHECK(rank, says(rank->error, "rank 2 is not one of the 2"));
    CHECK(rank, trib_comm_subset(rank->comm, twice, 2, 0, &made, rank->error) == TRIB_ERR_INVALID);
    CHECK(rank, says(rank->error, "rank 1 is named twice"));
    CHECK(rank, trib_comm_subset(rank->comm, &other, 1, 0, &made, rank->error) == TRIB_ERR_INVALID);
    CHECK(rank, says(rank->error, "not in the list"));
    CHECK(rank, trib_comm_subset(rank->comm, twice, 0, 0, &made, rank->error) == TRIB_ERR_INVALID);
    CHECK(rank, trib_comm_subset(rank->comm, NULL, 2, 0, &made, rank->error) == TRIB_ERR_INVALID);
    CHECK(rank, trib_comm_subset(rank->comm, strange, 3, 0, &made, NULL) == TRIB_ERR_INVALID && made == NULL);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void subset__refuses_bad_lists(void **state)
{
    (void)state;
    struct rank ranks[2];
    run_ranks(ranks, 2, NULL, bad_list_body);
    expect_good(ranks, 2);
}

static char first_job[TRIB_NAME_MAX + 1];
static char second_job[TRIB_NAME_MAX + 1];

static void run_body(struct rank *rank)
{
    static const uint32_t both[] = {0, 1};
    struct trib_comm *made = NULL;
    CHECK(rank, trib_comm_subset(rank->comm, both, 2, 0, &made, rank->error) == TRIB_OK);
    if (made != NULL && rank->config.rank == 0) {
        (void)snprintf(second_job, sizeof second_job, "%s", trib_comm_job(made));
    }
    CHECK(rank, made == NULL || trib_comm_close(made) == TRIB_OK);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

/* Ranks of one run never meet those of another, although their jobs have one name and their members are the same. */
static void subset__of_another_run_has_another_name(void **state)
{
    (void)state;
    for (unsigned run = 0; run < 2; run++) {
        struct rank ranks[2];
        (void)memcpy(first_job, second_job, sizeof first_job);
        run_ranks(ranks, 2, use_long_name, run_body);
        expect_good(ranks, 2);
    }
    assert_string_not_equal(first_job, second_job);
}

/* ---- many at once ---- */

#define THREADS 4U

struct maker {
    struct rank *rank;
    uint32_t tag;
};

static void *make_and_use(void *argument)
{
    const struct maker *maker = argument;
    struct rank *rank = maker->rank;
    static const uint32_t all[] = {0, 1, 2, 3};
    for (unsigned i = 0; i < 4; i++) {
        struct trib_comm *made = NULL;
        char cause[TRIB_ERROR_TEXT_MAX] = "";
        enum trib_status status = trib_comm_subset(rank->comm, all, RANKS, maker->tag, &made, cause);
        if (status != TRIB_OK || who(made, rank->config.rank) != 1111 || trib_comm_close(made) != TRIB_OK) {
            return argument;
        }
    }
    return NULL;
}

static void concurrent_body(struct rank *rank)
{
    pthread_t threads[THREADS];
    struct maker makers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        makers[i] = (struct maker){.rank = rank, .tag = i};
        if (pthread_create(&threads[i], NULL, make_and_use, &makers[i]) != 0) {
            abort();
        }
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        (void)pthread_join(threads[i], &wrong);
        CHECK(rank, wrong == NULL);
    }
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void subset__from_several_threads(void **state)
{
    (void)state;
    struct rank ranks[RANKS];
    run_ranks(ranks, RANKS, NULL, concurrent_body);
    expect_good(ranks, RANKS);
}

/* ---- sharing ---- */

#define BUSY 4U
#define ELEMENTS (1U << 18)

/* When the k-th of those that are busy sends, k are busy, or more: so it has no more than a k-th of the window in
 * flight. */
static uint32_t in_flight_at_most(uint32_t window)
{
    uint32_t most = 0;
    for (uint32_t k = 1; k <= BUSY; k++) {
        most += window / k > 0 ? window / k : 1;
    }
    return most;
}

static void check_share(struct rank *rank, uint32_t *most)
{
    struct trib_endpoint *endpoint = rank->comm->endpoint;
    trib_endpoint_lock(endpoint);
    for (uint32_t root = 0; root < rank->comm->grant.roots; root++) {
        uint32_t in_flight = 0;
        for (const struct trib_comm *comm = endpoint->comms; comm != NULL; comm = comm->next) {
            in_flight += comm->verbs->in_flight(comm->node, root);
        }
        CHECK(rank, in_flight <= in_flight_at_most(endpoint->window));
        *most = in_flight > *most ? in_flight : *most;
    }
    CHECK(rank, endpoint->busy <= BUSY);
    trib_endpoint_unlock(endpoint);
}

static void busy_body(struct rank *rank)
{
    struct trib_comm *made[BUSY] = {NULL};
    struct trib_request *requests[BUSY] = {NULL};
    float *tensors[BUSY] = {NULL};
    uint32_t most = 0;
    for (uint32_t i = 0; i < BUSY; i++) {
        CHECK(rank, trib_comm_split(rank->comm, 0, 0, &made[i], rank->error) == TRIB_OK);
        tensors[i] = calloc(ELEMENTS, sizeof(float));
    }
    for (uint32_t i = 0; i < BUSY && !rank->wrong; i++) {
        tensors[i][i] = 1;
        CHECK(rank, trib_allreduce_start(made[i], tensors[i], tensors[i], ELEMENTS, TRIB_FLOAT32, TRIB_SUM,
                                         &requests[i]) == TRIB_OK);
        check_share(rank, &most);
    }
    for (uint32_t i = 0; i < BUSY && !rank->wrong; i++) {
        bool done = false;
        enum trib_status status = TRIB_OK;
        while (!done) {
            status = trib_request_test(requests[i], &done);
            check_share(rank, &most);
        }
        CHECK(rank, status == TRIB_OK && tensors[i][i] > 2.9F && tensors[i][i] < 3.1F);
    }
    CHECK(rank, made[0]->host != NULL || most > made[0]->window / 2); /* on one host there is no window */
    for (uint32_t i = 0; i < BUSY; i++) {
        CHECK(rank, trib_comm_close(made[i]) == TRIB_OK);
        free(tensors[i]);
    }
    trib_endpoint_lock(rank->comm->endpoint);
    CHECK(rank, rank->comm->endpoint->busy == 0 && rank->comm->endpoint->window == rank->comm->window);
    trib_endpoint_unlock(rank->comm->endpoint);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void busy__communicators_share_one_window(void **state)
{
    (void)state;
    struct rank ranks[3];
    run_ranks(ranks, 3, NULL, busy_body);
    expect_good(ranks, 3);
}

/* In flight to every shard of the communicator's switch. */
static uint32_t in_flight_of(struct trib_comm *comm)
{
    uint32_t in_flight = 0;
    trib_endpoint_lock(comm->endpoint);
    for (uint32_t root = 0; root < comm->grant.roots; root++) {
        in_flight += comm->verbs->in_flight(comm->node, root);
    }
    trib_endpoint_unlock(comm->endpoint);
    return in_flight;
}

static void wait_in_flight(struct rank *rank, struct trib_comm *comm, uint32_t wanted)
{
    uint64_t end = trib_clock_ns() + 20 * TRIB_SECOND_NS * patience();
    while (comm->host == NULL && in_flight_of(comm) < wanted) {
        if (trib_clock_ns() > end) {
            CHECK(rank, in_flight_of(comm) >= wanted);
            return;
        }
        (void)usleep(1000);
    }
}

/* The whole waits for rank 2 with its window full; the pair of the other ranks gets its half of a window all the
 * same. */
static void late_body(struct rank *rank)
{
    static const uint32_t pair[] = {0, 1};
    static float tensors[3][2][ELEMENTS];
    struct trib_comm *made = NULL;
    struct trib_request *whole = NULL;
    struct trib_request *half = NULL;
    uint32_t me = rank->config.rank;
    uint32_t window = rank->comm->window;
    if (me < 2) {
        CHECK(rank, trib_comm_subset(rank->comm, pair, 2, 0, &made, rank->error) == TRIB_OK);
        CHECK(rank, trib_allreduce_start(rank->comm, tensors[me][0], tensors[me][0], ELEMENTS, TRIB_FLOAT32, TRIB_SUM,
                                         &whole) == TRIB_OK);
        wait_in_flight(rank, rank->comm, window);
    }
    if (me == 0) { /* rank 1 is not there yet: nothing comes back, and what is in flight stays */
        CHECK(rank, trib_allreduce_start(made, tensors[0][1], tensors[0][1], ELEMENTS, TRIB_FLOAT32, TRIB_SUM, &half) ==
                        TRIB_OK);
        wait_in_flight(rank, made, window / 2);
    }
    (void)pthread_barrier_wait(rank->together);
    if (me == 1) {
        CHECK(rank, trib_allreduce_start(made, tensors[1][1], tensors[1][1], ELEMENTS, TRIB_FLOAT32, TRIB_SUM, &half) ==
                        TRIB_OK);
    }
    CHECK(rank, me == 2 || trib_request_wait(half) == TRIB_OK);
    (void)pthread_barrier_wait(rank->together);
    CHECK(rank, me < 2 || trib_allreduce_start(rank->comm, tensors[2][0], tensors[2][0], ELEMENTS, TRIB_FLOAT32,
                                               TRIB_SUM, &whole) == TRIB_OK);
    CHECK(rank, trib_request_wait(whole) == TRIB_OK);
    CHECK(rank, made == NULL || trib_comm_close(made) == TRIB_OK);
    CHECK(rank, trib_comm_close(rank->comm) == TRIB_OK);
}

static void late__rank_of_the_whole_leaves_a_part_to_others(void **state)
{
    (void)state;
    struct rank ranks[3];
    run_ranks(ranks, 3, NULL, late_body);
    expect_good(ranks, 3);
}

/* ---- failure ---- */

/* Rank 2 goes before it has made it: the others need not wait for the time limit. */
static void lost_body(struct rank *rank)
{
    static const uint32_t all[] = {0, 1, 2};
    struct trib_comm *made = NULL;
    if (rank->config.rank == 2) {
        (void)usleep(100000);
        trib_comm_abort(rank->comm);
    } else {
        uint64_t begin = trib_clock_ns();
        CHECK(rank, trib_comm_subset(rank->comm, all, 3, 0, &made, rank->error) == TRIB_ERR_PEER);
        CHECK(rank, trib_clock_ns() - begin < 2 * TRIB_SECOND_NS * patience() && made == NULL);
        CHECK(rank, says(rank->error, "rank 2") && says(rank->error, "of which it was made"));
    }
    CHECK(rank, trib_comm_close(rank->comm) != TRIB_OK);
}

static void making__ends_with_the_maker(void **state)
{
    (void)state;
    struct rank ranks[3];
    run_ranks(ranks, 3, NULL, lost_body);
    expect_good(ranks, 3);
}

/* The death of a rank is told in every communicator that it is in. */
static void dead_body(struct rank *rank)
{
    struct trib_comm *made[2] = {NULL};
    for (unsigned i = 0; i < 2; i++) {
        CHECK(rank, trib_comm_split(rank->comm, 0, 0, &made[i], rank->error) == TRIB_OK);
    }
    if (made[0] == NULL || made[1] == NULL) {
        return;
    }
    (void)pthread_barrier_wait(rank->together);
    if (rank->config.rank == 1) { /* as a process that dies: all its sessions end */
        trib_endpoint_lock(rank->comm->endpoint);
        struct trib_comm *const all[3] = {rank->comm, made[0], made[1]};
        for (unsigned i = 0; i < 3; i++) {
            (void)shutdown(on_host ? all[i]->host->inbox : all[i]->session.fd, SHUT_RDWR);
        }
        trib_endpoint_unlock(rank->comm->endpoint);
        (void)usleep(200000);
    } else {
        CHECK(rank, trib_barrier(made[0]) == TRIB_ERR_PEER && says(trib_comm_error(made[0]), "rank 1"));
        CHECK(rank, trib_barrier(made[1]) == TRIB_ERR_PEER && says(trib_comm_error(made[1]), "rank 1"));
        CHECK(rank, says(trib_comm_error(made[1]), trib_comm_job(made[1]))); /* whose rank 1 that is */
        CHECK(rank, trib_barrier(rank->comm) == TRIB_ERR_PEER && says(trib_comm_error(rank->comm), "rank 1"));
        CHECK(rank, trib_comm_split(rank->comm, 0, 0, &made[0], rank->error) == TRIB_ERR_PEER);
        CHECK(rank, says(rank->error, "rank 1"));
    }
    (void)trib_comm_close(made[1]);
    (void)trib_comm_close(made[0]);
    (void)trib_comm_close(rank->comm);
}

static void death__is_told_in_every_communicator(void **state)
{
    (void)state;
    struct rank ranks[3];
    run_ranks(ranks, 3, NULL, dead_body);
    expect_good(ranks, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split__orders_by_key_and_rank),
        cmocka_unit_test(split__leaves_out_who_has_no_color),
        cmocka_unit_test(split__names_a_bad_color_on_every_rank),
        cmocka_unit_test(split__nests),
        cmocka_unit_test(split__meets_only_splits),
        cmocka_unit_test(subset__needs_its_members_only),
        cmocka_unit_test(subset__goes_on_without_rank_0),
        cmocka_unit_test(subset__goes_on_with_operations_of_its_maker),
        cmocka_unit_test(subset__refuses_bad_lists),
        cmocka_unit_test(subset__of_another_run_has_another_name),
        cmocka_unit_test(subset__from_several_threads),
        cmocka_unit_test(busy__communicators_share_one_window),
        cmocka_unit_test(late__rank_of_the_whole_leaves_a_part_to_others),
        cmocka_unit_test(making__ends_with_the_maker),
        cmocka_unit_test(death__is_told_in_every_communicator),
    };
    const struct CMUnitTest of_switches[] = {
        cmocka_unit_test(split__where_fewer_shards_are_common),
    };
    keeper_open();
    switch_command('2');
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += cmocka_run_group_tests(of_switches, NULL, NULL);
    on_host = true; /* all of it again, in the shared memory of one host */
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    begin_no_box();
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
