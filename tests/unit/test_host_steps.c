/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_steps.c: ranks of one host within this process, driven step by step: moments that no kill and no load hits. Ranks as processes
 * are in test_host.c.
 * Mirrors src/host/engine.c, large.c, bells.c. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include <tributary/tributary.h>

#include "host/segment.h"
#include "io/clock.h"

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
    own->status = trib_host_open(&own->config, NULL, &own->host, error);
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
        config->join_timeout_ns = 20 * TRIB_SECOND_NS;
        assert_int_equal(pthread_create(&openings[rank].thread, NULL, open_host, &openings[rank]), 0);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        assert_int_equal(pthread_join(openings[rank].thread, NULL), 0);
        assert_int_equal(openings[rank].status, TRIB_OK);
    }
}

/* Rank 1 is held between the two stores of a record. Another whose time limit ends meanwhile finds that it is not the first to
 * fail, and its caller changes his tensor: nobody copies out a sum of it. */
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

/* Rank 1 fails after rank 0 has begun its second round, and changes at once what rank 0 was about to read: nothing of it comes to rank 0's
 * caller. Collectives that have no phase of their own in which results are copied out. */
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
        while (trib_host_advance(host) != TRIB_HOST_WAITS) { /* for rank 1, which has shown nothing yet */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record__being_written_holds_results_back),
        cmocka_unit_test(record__is_looked_for_before_what_was_read_is_written),
        cmocka_unit_test(sleep__is_counted_all_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
