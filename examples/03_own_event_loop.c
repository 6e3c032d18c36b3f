/* SPDX-License-Identifier: Apache-2.0 */
/* 03_own_event_loop.c: no thread of the library. The program computes in small pieces, and between two pieces makes
 * progress and tests for the sum: communication hides behind computation, on the program's own time.
 *
 *   tributary run -n 4 -- 03_own_event_loop
 *
 * Read next: include/tributary/comm.h (progress_thread, trib_request_test, trib_comm_progress). */
#include <stdio.h>
#include <stdlib.h>

#include <tributary/tributary.h>

#define COUNT 1000000
#define STEPS 5

/* A piece of work that does not need the sum: some tens of microseconds. */
static double compute(double x)
{
    for (int i = 0; i < 10000; i++) {
        x = x * 0.999 + 0.001;
    }
    return x;
}

/* One sum, while computing. *pieces grows by the pieces of work done meanwhile. */
static enum trib_status step(struct trib_comm *comm, int32_t *tensor, double *work, unsigned long *pieces)
{
    struct trib_request *request;
    bool done = false;
    enum trib_status status = trib_allreduce_start(comm, tensor, tensor, COUNT, TRIB_INT32, TRIB_SUM, &request);
    while (status == TRIB_OK && !done) {
        *work = compute(*work);
        ++*pieces;
        trib_comm_progress(comm); /* as often as the loop turns; never waits */
        status = trib_request_test(request, &done);
    }
    return status;
}

static size_t count_wrong(const int32_t *tensor, uint32_t ranks, int32_t round)
{
    size_t wrong = 0;
    int32_t n = (int32_t)ranks;
    for (size_t i = 0; i < COUNT; i++) {
        int32_t expected = n * (n - 1) / 2 + n * (round + (int32_t)(i % 100));
        wrong += tensor[i] != expected;
    }
    return wrong;
}

static bool run(struct trib_comm *comm, int32_t *tensor)
{
    uint32_t rank = trib_comm_rank(comm);
    double work = 0.0;
    unsigned long pieces = 0;
    for (int32_t round = 0; round < STEPS; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            tensor[i] = (int32_t)rank + round + (int32_t)(i % 100);
        }
        enum trib_status status = step(comm, tensor, &work, &pieces);
        if (status != TRIB_OK) {
            fprintf(stderr, "rank %u: %s (%s)\n", rank, trib_comm_error(comm), trib_status_text(status));
            return false;
        }
        size_t wrong = count_wrong(tensor, trib_comm_ranks(comm), round);
        if (wrong != 0) {
            fprintf(stderr, "rank %u: %zu wrong elements in round %d\n", rank, wrong, round);
            return false;
        }
    }
    printf("rank %u: %d sums, all right; %lu pieces of work done meanwhile (%.3f)\n", rank, STEPS, pieces, work);
    return true;
}

int main(void)
{
    struct trib_config config;
    struct trib_comm *comm;
    char error[TRIB_ERROR_TEXT_MAX];
    enum trib_status status = trib_config_from_environment(&config, error);
    config.progress_thread = false;
    if (status == TRIB_OK) {
        status = trib_comm_create(&config, &comm, error);
    }
    if (status != TRIB_OK) {
        fprintf(stderr, "cannot join: %s\n", error);
        return 1;
    }
    int32_t *tensor = malloc(COUNT * sizeof(*tensor));
    bool good = tensor != NULL && run(comm, tensor);
    status = trib_comm_close(comm);
    free(tensor);
    return good && status == TRIB_OK ? 0 : 1;
}
