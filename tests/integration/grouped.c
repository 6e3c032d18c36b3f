/* SPDX-License-Identifier: Apache-2.0 */
/* grouped.c: one rank with many small tensors, for sizes.user.sh and the benchmark: what a group (trib_group) of
 * allreduces gains over one call for each, and over starting all before waiting for any. Every element of every result
 * is looked at.
 *
 *   grouped TENSORS BYTES CALLS ROUNDS
 *
 * The environment says which rank this is (TRIB_*). A round does each of the three CALLS times, in turn. Prints one
 * line of JSON: the middle over the rounds of MB/s (10^6 bytes of all tensors), and elements that were wrong. Exit
 * status 0: all was right; 1: something failed; 3: a wrong element. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tributary/comm.h>

#define TENSORS_MAX TRIB_GROUP_MAX
#define ROUNDS_MAX 64
#define EXIT_WRONG 3

struct grouped {
    struct trib_comm *comm;
    uint32_t rank, ranks, tensors, calls, rounds;
    uint64_t count; /* of a tensor */
    float *tensor[TENSORS_MAX];
    uint64_t wrong;
};

/* One allreduce of each tensor, in place. */
typedef enum trib_status (*way)(struct grouped *grouped);

static enum trib_status one_by_one(struct grouped *g)
{
    enum trib_status status = TRIB_OK;
    for (uint32_t i = 0; i < g->tensors && status == TRIB_OK; i++) {
        status = trib_allreduce(g->comm, g->tensor[i], g->tensor[i], g->count, TRIB_FLOAT32, TRIB_SUM);
    }
    return status;
}

static enum trib_status all_started(struct grouped *g)
{
    static struct trib_request *requests[TENSORS_MAX];
    enum trib_status status = TRIB_OK;
    for (uint32_t i = 0; i < g->tensors; i++) {
        status =
            trib_allreduce_start(g->comm, g->tensor[i], g->tensor[i], g->count, TRIB_FLOAT32, TRIB_SUM, &requests[i]);
        if (status != TRIB_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < g->tensors; i++) {
        enum trib_status ended = trib_request_wait(requests[i]);
        status = status == TRIB_OK ? ended : status;
    }
    return status;
}

static enum trib_status in_a_group(struct grouped *g)
{
    static struct trib_call calls[TENSORS_MAX];
    for (uint32_t i = 0; i < g->tensors; i++) {
        calls[i] = (struct trib_call){.collective = TRIB_ALLREDUCE,
                                      .type = TRIB_FLOAT32,
                                      .reduction = TRIB_SUM,
                                      .send = g->tensor[i],
                                      .recv = g->tensor[i],
                                      .count = g->count};
    }
    return trib_group(g->comm, calls, g->tensors);
}

/* Small whole numbers that tell rank, tensor and element apart; exact in every sum. */
static float value_at(uint32_t rank, uint32_t tensor, uint64_t i)
{
    return (float)((i * 7 + tensor * 13 + rank * 3) % 61);
}

static void fill(struct grouped *g)
{
    for (uint32_t t = 0; t < g->tensors; t++) {
        for (uint64_t i = 0; i < g->count; i++) {
            g->tensor[t][i] = value_at(g->rank, t, i);
        }
    }
}

static void look(struct grouped *g)
{
    for (uint32_t t = 0; t < g->tensors; t++) {
        for (uint64_t i = 0; i < g->count; i++) {
            float sum = 0;
            for (uint32_t rank = 0; rank < g->ranks; rank++) {
                sum += value_at(rank, t, i);
            }
            g->wrong += g->tensor[t][i] < sum || g->tensor[t][i] > sum;
        }
    }
}

static double now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void must(const struct grouped *g, enum trib_status status)
{
    if (status != TRIB_OK) {
        printf("{\"error\": \"%s: %s\"}\n", trib_status_text(status), trib_comm_error(g->comm));
        exit(1);
    }
}

/* MB/s of `calls` times all tensors. */
static double measure(struct grouped *g, way run)
{
    double spent = 0;
    for (uint32_t i = 0; i < g->calls; i++) {
        fill(g);
        must(g, trib_barrier(g->comm));
        double begin = now_us();
        must(g, run(g));
        spent += now_us() - begin;
        look(g);
    }
    return (double)(g->calls * g->tensors) * (double)(g->count * sizeof(float)) / spent;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

static void run(struct grouped *g)
{
    static const way ways[] = {one_by_one, all_started, in_a_group};
    static double rates[3][ROUNDS_MAX];
    for (uint32_t round = 0; round < g->rounds; round++) {
        for (uint32_t i = 0; i < 3; i++) {
            rates[i][round] = measure(g, ways[i]);
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        qsort(rates[i], g->rounds, sizeof rates[i][0], by_value);
    }
    uint32_t middle = g->rounds / 2;
    printf("{\"tensors\": %u, \"bytes\": %" PRIu64
           ", \"single\": %.3f, \"started\": %.3f, \"group\": %.3f, \"wrong\": %" PRIu64 "}\n",
           g->tensors, g->count * sizeof(float), rates[0][middle], rates[1][middle], rates[2][middle], g->wrong);
}

int main(int argc, char **argv)
{
    static struct grouped grouped;
    struct trib_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    unsigned long long numbers[4] = {0};
    for (int i = 0; i < 4; i++) {
        numbers[i] = argc == 5 ? strtoull(argv[i + 1], NULL, 10) : 0;
    }
    if (numbers[0] < 1 || numbers[0] > TENSORS_MAX || numbers[2] < 1 || numbers[3] < 1 || numbers[3] > ROUNDS_MAX) {
        fprintf(stderr, "usage: grouped TENSORS BYTES CALLS ROUNDS\n");
        return 2;
    }
    grouped.tensors = (uint32_t)numbers[0];
    grouped.count = numbers[1] / sizeof(float);
    grouped.calls = (uint32_t)numbers[2];
    grouped.rounds = (uint32_t)numbers[3];
    for (uint32_t i = 0; i < grouped.tensors; i++) {
        grouped.tensor[i] = malloc(grouped.count * sizeof(float) + 1);
        if (grouped.tensor[i] == NULL) {
            return 1;
        }
    }
    if (trib_config_from_environment(&config, error) != TRIB_OK ||
        trib_comm_create(&config, &grouped.comm, error) != TRIB_OK) {
        printf("{\"error\": \"%s\"}\n", error);
        return 1;
    }
    grouped.rank = config.rank;
    grouped.ranks = config.ranks;
    run(&grouped);
    must(&grouped, trib_comm_close(grouped.comm));
    return grouped.wrong != 0 ? EXIT_WRONG : 0;
}
