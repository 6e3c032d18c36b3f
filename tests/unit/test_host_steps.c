/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_steps.c: ranks of one host within this process, driven step by step: moments that no kill and no load hits.
 * Ranks as processes are in test_host.c. Mirrors src/host/engine.c, large.c, bells.c. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <tributary/tributary.h>

#include "core/prng.h"
#include "host/segment.h"
#include "io/clock.h"
#include "patience.h"

struct opening {
    struct trib_config config;
    struct trib_host *host;
    pthread_t thread;
    enum trib_status status;
};

static void *open_host(void *opening)
{
    struct opening *own = opening;
    char error[TRIB_ERROR_TEXT_MAX];
    own->status = trib_host_open(&own->config, 0, NULL, NULL, &own->host, error);
    return NULL;
}

static void open_hosts(struct opening *openings, uint32_t ranks)
{
    static unsigned number;
    number++;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        struct trib_config *config = &openings[rank].config;
        trib_config_init(config);
        (void)snprintf(config->job, sizeof config->job, "test-steps-%d-%u", (int)getpid(), number);
        config->rank = rank;
        config->ranks = ranks;
        config->join_timeout_ns = 20 * TRIB_SECOND_NS * patience();
        assert_int_equal(pthread_create(&openings[rank].thread, NULL, open_host, &openings[rank]), 0);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        assert_int_equal(pthread_join(openings[rank].thread, NULL), 0);
        assert_int_equal(openings[rank].status, TRIB_OK);
    }
}

/* Rank 1 is held between the two stores of a record. Another whose time limit ends meanwhile finds that it is not the
 * first to fail, and its caller changes his tensor: nobody copies out a sum of it. */
static void record__being_written_holds_results_back(void **state)
{
    static float tensors[2][100000]; /* one chunk */
    struct opening openings[2] = {{.host = NULL}, {.host = NULL}};
    (void)state;
    open_hosts(openings, 2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        tensors[rank][0] = 1.0F;
        trib_host_start(openings[rank].host, &(struct trib_operation){.collective = TRIB_ALLREDUCE,
                                                                      .type = TRIB_FLOAT32,
                                                                      .reduction = TRIB_SUM,
                                                                      .count = 100000,
                                                                      .send = tensors[rank],
                                                                      .recv = tensors[rank]});
    }
    for (uint32_t i = 0; i < 4; i++) { /* staged, then added up, by both */
        assert_int_equal(trib_host_advance(openings[i % 2].host), TRIB_HOST_MOVED);
    }
    struct trib_host *host = openings[0].host;
    struct trib_host_segment *segment = host->segment;
    segment->record = TRIB_HOST_RECORD_WRITING;
    assert_int_equal(trib_host_advance(host), TRIB_HOST_WAITS);
    assert_true(trib_host_arm(host)); /* and sleeps */
    trib_host_disarm(host);
    openings[1].host->segment->seats[1].presence = TRIB_HOST_CLOSED;
    assert_int_equal(trib_host_advance(host), TRIB_HOST_WAITS);
    segment->record = TRIB_HOST_RECORD_THERE;
    assert_int_equal(trib_host_advance(host), TRIB_HOST_FAILED);
    assert_true(tensors[0][0] > 0 && tensors[0][0] < 2);
    trib_host_close(openings[1].host);
    trib_host_close(host);
}

/* Rank 1 fails after rank 0 has begun its second round, and changes at once what rank 0 was about to read: nothing of
 * it comes to rank 0's caller. Collectives that have no phase of their own in which results are copied out. */
static void record__is_looked_for_before_what_was_read_is_written(void **state)
{
    static const enum trib_collective kinds[] = {TRIB_ALLGATHER, TRIB_REDUCE_SCATTER, TRIB_BROADCAST};
    static float received[200000];
    (void)state;
    for (uint32_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        struct opening openings[2] = {{.host = NULL}, {.host = NULL}};
        float *sent = trib_shared_alloc(sizeof received);
        assert_non_null(sent);
        open_hosts(openings, 2);
        for (uint32_t rank = 0; rank < 2; rank++) {
            trib_host_start(openings[rank].host, &(struct trib_operation){.collective = kinds[kind],
                                                                          .type = TRIB_FLOAT32,
                                                                          .reduction = TRIB_SUM,
                                                                          .count = 100000,
                                                                          .root = 1,
                                                                          .send = sent,
                                                                          .recv = received});
        }
        struct trib_host *host = openings[0].host;
        received[0] = received[100000] = -1.0F;
        enum trib_host_verdict verdict;
        while ((verdict = trib_host_advance(host)) != TRIB_HOST_WAITS) { /* for rank 1, which has shown nothing yet */
            assert_int_equal(verdict, TRIB_HOST_MOVED);
        }
        (void)trib_host_advance(openings[1].host);
        host->segment->record = TRIB_HOST_RECORD_WRITING;
        assert_int_equal(trib_host_advance(host), TRIB_HOST_WAITS);
        host->segment->record = TRIB_HOST_RECORD_THERE;
        assert_int_equal(trib_host_advance(host), TRIB_HOST_FAILED);
        assert_true(received[kinds[kind] == TRIB_ALLGATHER ? 100000 : 0] < 0);
        trib_host_close(openings[1].host);
        trib_host_close(host);
        trib_shared_free(sent);
    }
}

/* Both go as far as they can. Rank 0's last verdict. */
static enum trib_host_verdict run_two(struct opening *openings, const struct trib_operation operations[2])
{
    enum trib_host_verdict verdict = TRIB_HOST_MOVED;
    for (uint32_t rank = 0; rank < 2; rank++) {
        trib_host_start(openings[rank].host, &operations[rank]);
    }
    for (uint32_t i = 0; i < 8 && verdict != TRIB_HOST_DIFFERS; i++) {
        (void)trib_host_advance(openings[1].host);
        verdict = trib_host_advance(openings[0].host);
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        trib_host_close(openings[rank].host);
    }
    return verdict;
}

/* One call is changed in one word at a time, small and large: before a byte of another rank is read, each sees it. */
static void operations__that_differ_are_never_run(void **state)
{
    static float tensors[2][200000];
    static const uint64_t counts[2][2] = {{60000, 40000}, {40000, 60000}};
    const struct trib_session_config session = {.ranks = 2, .payload = 64, .wire = TRIB_FLOAT32};
    (void)state;
    for (uint32_t change = 0; change < 6; change++) {
        for (uint64_t count = 100; count <= 100000; count *= 1000) {
            struct opening openings[2] = {{.host = NULL}, {.host = NULL}};
            struct trib_operation operations[2];
            open_hosts(openings, 2);
            for (uint32_t rank = 0; rank < 2; rank++) {
                bool changed = rank == 1;
                struct trib_operation *operation = &operations[rank];
                *operation = (struct trib_operation){.collective = TRIB_REDUCE,
                                                     .type = changed && change == 0 ? TRIB_INT32 : TRIB_FLOAT32,
                                                     .reduction = changed && change == 1 ? TRIB_MAXIMUM : TRIB_SUM,
                                                     .root = changed && change == 2,
                                                     .count = changed && change == 3 ? count - 1 : count,
                                                     .part_of = changed && change == 4 ? UINT64_C(1) << 63 : 0,
                                                     .send = tensors[rank],
                                                     .recv = tensors[rank]};
                if (change == 5) { /* the same sum of shares */
                    operation->collective = TRIB_REDUCE_SCATTER;
                    operation->root = 0;
                    operation->count = 100000;
                    operation->shares =
                        trib_shares_init(malloc(trib_shares_size(2)), &session, operation, counts[rank]);
                }
            }
            assert_int_equal(run_two(openings, operations), TRIB_HOST_DIFFERS);
            for (uint32_t rank = 0; rank < 2; rank++) {
                free((void *)(uintptr_t)operations[rank].shares);
            }
        }
    }
}

/* Rank 1 has closed, and never takes the step that rank 0 needs of it; then one of which it has all. */
static void close__is_seen_by_who_still_needs_the_rank(void **state)
{
    static float tensors[2][8];
    struct opening openings[2] = {{.host = NULL}, {.host = NULL}};
    struct trib_operation operation = {
        .collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .reduction = TRIB_SUM, .count = 8};
    (void)state;
    open_hosts(openings, 2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        operation.send = operation.recv = tensors[rank];
        trib_host_start(openings[rank].host, &operation);
    }
    assert_int_equal(trib_host_advance(openings[0].host), TRIB_HOST_WAITS);
    assert_true(trib_host_arm(openings[0].host));
    trib_host_disarm(openings[0].host);
    assert_int_equal(trib_host_advance(openings[1].host), TRIB_HOST_DONE);
    assert_false(trib_host_arm(openings[0].host)); /* what it waited for has come: it must not sleep */
    trib_host_close(openings[1].host);
    assert_int_equal(trib_host_advance(openings[0].host), TRIB_HOST_DONE);
    operation.send = operation.recv = tensors[0];
    trib_host_start(openings[0].host, &operation);
    assert_int_equal(trib_host_advance(openings[0].host), TRIB_HOST_LEFT);
    assert_int_equal(trib_host_awaited(openings[0].host), 1);
    trib_host_close(openings[0].host);
}

static void *wake_and_count(void *host)
{
    struct trib_host *own = host;
    uint64_t uncounted = 0;
    while (own->segment->record == TRIB_HOST_RECORD_NONE) {
        trib_host_wake_waiting(own);
        uncounted += own->segment->sleepers == 0;
    }
    return (void *)(uintptr_t)uncounted;
}

/* Rank 0 sleeps all the time, waiting for rank 1, which itself lies down and is woken again and again by rank 2. */
static void sleep__is_counted_all_the_time(void **state)
{
    const struct trib_operation barrier = {.collective = TRIB_BARRIER};
    struct opening openings[3] = {{.host = NULL}, {.host = NULL}, {.host = NULL}};
    void *uncounted = NULL;
    (void)state;
    open_hosts(openings, 3);
    for (uint32_t rank = 0; rank < 2; rank++) {
        trib_host_start(openings[rank].host, &barrier);
        assert_int_equal(trib_host_advance(openings[rank].host), TRIB_HOST_WAITS);
    }
    struct trib_host_segment *segment = openings[0].host->segment;
    (void)atomic_fetch_add(&segment->sleepers, 1);
    segment->seats[0].asleep = 1 + 1;
    assert_int_equal(trib_host_awaited(openings[1].host), 2);
    int line = openings[2].host->lines[1];
    openings[2].host->lines[1] = -1; /* no bell is rung: it would take longer than what is looked for */
    assert_int_equal(pthread_create(&openings[2].thread, NULL, wake_and_count, openings[2].host), 0);
    uint64_t end_ns = trib_clock_ns() + 300 * TRIB_MILLISECOND_NS;
    while (trib_clock_ns() < end_ns) {
        assert_true(trib_host_arm(openings[1].host));
        while (segment->seats[1].asleep != 0 && trib_clock_ns() < end_ns) {
            /* until it is woken */
        }
    }
    segment->record = TRIB_HOST_RECORD_THERE;
    assert_int_equal(pthread_join(openings[2].thread, &uncounted), 0);
    assert_null(uncounted);
    openings[2].host->lines[1] = line;
    for (uint32_t rank = 0; rank < 3; rank++) {
        trib_host_close(openings[rank].host);
    }
}

/* ---- ranks that run ahead ---- */

#define RANKS 5
#define SHARE_MOST 80000 /* elements: up to 5 steps */
#ifdef __SANITIZE_THREAD__
#define OPERATIONS 6 /* one thread walks for all ranks: a race it cannot have, and each element takes long */
#else
#define OPERATIONS 60
#endif

/* One operation, the same for all ranks; of int32. */
struct plan {
    enum trib_collective collective;
    bool in_place, is_uneven;
    uint32_t root, shared; /* shared: a bitmap of ranks */
    uint64_t counts[RANKS], firsts[RANKS];
    uint64_t total;
    uint64_t salt;
};

struct walker {
    struct trib_host *host;
    uint32_t ranks, rank;
    uint64_t seed;
    uint32_t ended;
    struct plan plan;
    int32_t *whole, *other; /* of the whole tensor; the other one is not used in place */
    struct trib_shares *shares;
};

static bool has_shares(const struct plan *plan)
{
    return plan->collective == TRIB_ALLGATHER || plan->collective == TRIB_REDUCE_SCATTER;
}

static struct plan draw_plan(uint64_t seed, uint32_t number, uint32_t ranks)
{
    static const uint64_t most[] = {0, 1, 3, 700, 900, 5000, 20000, SHARE_MOST};
    struct trib_prng prng = {.state = seed * 1000 + number};
    struct plan plan = {.collective = (enum trib_collective)(1 + trib_prng_below(&prng, TRIB_COLLECTIVE_COUNT - 1)),
                        .in_place = trib_prng_below(&prng, 2) == 0,
                        .is_uneven = trib_prng_below(&prng, 2) == 0,
                        .root = (uint32_t)trib_prng_below(&prng, ranks),
                        .shared = (uint32_t)trib_prng_below(&prng, 1U << RANKS),
                        .salt = trib_prng_next(&prng)};
    uint64_t count = most[trib_prng_below(&prng, sizeof most / sizeof most[0])];

    for (uint32_t rank = 0; rank < ranks; rank++) {
        plan.counts[rank] = plan.is_uneven ? trib_prng_below(&prng, 3) * count / 2 : count;
        plan.firsts[rank] = plan.total;
        plan.total += plan.counts[rank];
    }
    plan.is_uneven = plan.is_uneven && has_shares(&plan);
    if (plan.collective == TRIB_BROADCAST) { /* its root runs ahead by more chunks than others do */
        plan.total = count * 16;
    }
    return plan;
}

static uint32_t part_of(const struct plan *plan, uint32_t rank, uint64_t at)
{
    return (uint32_t)((plan->salt + rank) * (2 * at + 0x9e3779b1) >> 16);
}

static uint32_t owner_of(const struct plan *plan, uint64_t at)
{
    uint32_t rank = 0;
    while (plan->collective == TRIB_ALLGATHER && at - plan->firsts[rank] >= plan->counts[rank]) {
        rank++;
    }
    return plan->collective == TRIB_ALLGATHER ? rank : plan->root;
}

static uint32_t result_of(const struct walker *w, uint64_t at)
{
    bool adds = w->plan.collective != TRIB_BROADCAST && w->plan.collective != TRIB_ALLGATHER;
    uint32_t sum = adds ? 0 : part_of(&w->plan, owner_of(&w->plan, at), at);
    for (uint32_t rank = 0; adds && rank < w->ranks; rank++) {
        sum += part_of(&w->plan, rank, at);
    }
    return sum;
}

static int32_t *make_tensor(const struct walker *w)
{
    size_t bytes = (w->plan.total + 1) * sizeof(int32_t);
    int32_t *tensor = (w->plan.shared >> w->rank & 1) != 0 ? trib_shared_alloc(bytes) : malloc(bytes);
    assert_non_null(tensor);
    for (uint64_t at = 0; at < w->plan.total; at++) {
        tensor[at] = (int32_t)part_of(&w->plan, w->rank, at);
    }
    return tensor;
}

/* The caller's again: he writes there what he likes, and gives it back. */
static void spoil(const struct walker *w, int32_t *tensor)
{
    if (tensor == NULL) { /* begin has made it */
        abort();
    }
    memset(tensor, 0xc3, w->plan.total * sizeof *tensor);
    if ((w->plan.shared >> w->rank & 1) != 0) {
        trib_shared_free(tensor);
    } else {
        free(tensor);
    }
}

static void begin(struct walker *w)
{
    w->plan = draw_plan(w->seed, w->ended, w->ranks);
    w->whole = make_tensor(w);
    w->other = make_tensor(w);
    const struct plan *plan = &w->plan;
    int32_t *recv = plan->in_place || plan->collective == TRIB_BROADCAST ? w->whole : w->other;
    struct trib_operation operation = {.collective = plan->collective,
                                       .type = TRIB_INT32,
                                       .reduction = TRIB_SUM,
                                       .root = plan->root,
                                       .count = plan->total,
                                       .send = w->whole,
                                       .recv = recv};
    if (has_shares(plan)) {
        uint64_t own = plan->firsts[w->rank];
        operation.root = 0;
        operation.count = plan->is_uneven ? plan->total : plan->counts[0];
        operation.send = plan->collective == TRIB_ALLGATHER ? w->whole + own : w->whole;
        operation.recv = plan->collective == TRIB_REDUCE_SCATTER ? recv + own : recv;
    }
    if (plan->is_uneven) {
        struct trib_session_config session = {.ranks = w->ranks, .payload = 64, .wire = TRIB_FLOAT32};
        operation.shares = trib_shares_init(malloc(trib_shares_size(w->ranks)), &session, &operation, plan->counts);
        w->shares = (struct trib_shares *)(uintptr_t)operation.shares;
    }
    trib_host_start(w->host, &operation);
}

static void end(struct walker *w)
{
    const struct plan *plan = &w->plan;
    const int32_t *recv = plan->in_place || plan->collective == TRIB_BROADCAST ? w->whole : w->other;
    bool is_part = plan->collective == TRIB_REDUCE_SCATTER;
    bool is_none = plan->collective == TRIB_BARRIER || (plan->collective == TRIB_REDUCE && plan->root != w->rank);
    uint64_t from = is_part ? plan->firsts[w->rank] : 0;
    uint64_t to = is_none ? 0 : is_part ? from + plan->counts[w->rank] : plan->total;

    for (uint64_t at = from; at < to; at++) {
        if ((uint32_t)recv[at] != result_of(w, at)) {
            fail_msg("seed %u, operation %u (%s), rank %u of %u: element %u is wrong", (unsigned)w->seed, w->ended,
                     trib_collective_name(plan->collective), w->rank, w->ranks, (unsigned)at);
        }
    }
    spoil(w, w->whole);
    spoil(w, w->other);
    free(w->shares);
    w->shares = NULL;
    w->ended++;
}

/* One step of one rank; false: it waits, or has ended all. */
static bool walk(struct walker *w, uint32_t operations)
{
    if (w->ended == operations) {
        return false;
    }
    if (!trib_host_is_active(w->host)) {
        begin(w);
    }
    enum trib_host_verdict verdict = trib_host_advance(w->host);
    assert_true(verdict == TRIB_HOST_MOVED || verdict == TRIB_HOST_DONE || verdict == TRIB_HOST_WAITS);
    if (verdict == TRIB_HOST_DONE) {
        end(w);
    }
    return verdict != TRIB_HOST_WAITS;
}

/* Each rank goes as far as it can, or as chance has it, one operation after another: who ends early begins the next
 * while others still read what it left. And what it was sent from is its caller's again at once. */
static void walk_all(uint32_t ranks, uint32_t operations, uint64_t seed)
{
    struct opening openings[RANKS] = {{.host = NULL}};
    struct walker walkers[RANKS];
    struct trib_prng prng = {.state = seed};
    uint32_t quiet = 0;

    open_hosts(openings, ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        walkers[rank] = (struct walker){.host = openings[rank].host, .ranks = ranks, .rank = rank, .seed = seed};
    }
    while (quiet < 3 * ranks) { /* who waits may have done something before: others are asked again */
        uint32_t rank = (uint32_t)trib_prng_below(&prng, ranks);
        uint32_t most = (uint32_t)trib_prng_below(&prng, 40);
        for (uint32_t i = 0; i < most && walk(&walkers[rank], operations); i++) {
        }
        for (quiet = 0; quiet < 3 * ranks && !walk(&walkers[(rank + quiet) % ranks], operations); quiet++) {
        }
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        assert_int_equal(walkers[rank].ended, operations);
        trib_host_close(openings[rank].host);
    }
}

static void ahead__of_others_no_rank_spoils_what_they_read(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks <= RANKS; ranks++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            walk_all(ranks, OPERATIONS, seed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record__being_written_holds_results_back),
        cmocka_unit_test(record__is_looked_for_before_what_was_read_is_written),
        cmocka_unit_test(operations__that_differ_are_never_run),
        cmocka_unit_test(close__is_seen_by_who_still_needs_the_rank),
        cmocka_unit_test(sleep__is_counted_all_the_time),
        cmocka_unit_test(ahead__of_others_no_rank_spoils_what_they_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
