/* SPDX-License-Identifier: Apache-2.0 */
/* many.c: one rank with many communicators of the same ranks, for communicators.user.sh and the benchmark: how long
 * they take to make, what they hold, and what those that are busy get, against one alone. Every element of every result
 * is looked at.
 *
 *   many COUNT BUSY BYTES MILLISECONDS ROUNDS
 *
 * The environment says which rank this is (TRIB_*). COUNT communicators are made of the first by split, and each is
 * used once. Then, round after round, for MILLISECONDS each: allreduces of BYTES one after another on the first
 * communicator, alone of the COUNT that are open; and BUSY at a time, one on each of the first BUSY. Before the others
 * are made, the first is measured with nothing else open. Each rank prints one line of JSON: times in ms, rates in MB/s
 * (10^6 bytes of tensors, the middle of the rounds), memory in KiB. Exit status 0: all was right; 1: something failed;
 * 3: a wrong element. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tributary/comm.h>

#define COUNT_MAX 1024
#define ROUNDS_MAX 64
#define EXIT_WRONG 3

struct many {
    struct trib_comm *comms[COUNT_MAX];
    uint32_t count, busy, rounds;
    uint64_t bytes, span_ns;
    float *tensors[COUNT_MAX];
    uint64_t wrong, moved; /* bytes of tensors */
    uint32_t rank, ranks;
    double alone[ROUNDS_MAX], one[ROUNDS_MAX], many[ROUNDS_MAX];
};

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void must(enum trib_status status, const char *what, const char *cause)
{
    if (status != TRIB_OK) {
        printf("{\"error\": \"%s: %s: %s\"}\n", what, trib_status_text(status), cause);
        exit(1);
    }
}

/* KiB of a line of /proc/self/status. */
static uint64_t memory_kib(const char *key)
{
    char line[256];
    uint64_t value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            value = strtoull(line + strlen(key), NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return value;
}

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

/* Small whole numbers that tell rank, communicator and element apart; exact in every sum. */
static float value_at(uint32_t rank, uint32_t comm, uint64_t i)
{
    return (float)((i * 7 + comm * 13 + rank * 3) % 61);
}

static void fill(struct many *many, uint32_t at)
{
    for (uint64_t i = 0; i < many->bytes / sizeof(float); i++) {
        many->tensors[at][i] = value_at(many->rank, at, i);
    }
}

static void look(struct many *many, uint32_t at)
{
    for (uint64_t i = 0; i < many->bytes / sizeof(float); i++) {
        float sum = 0;
        for (uint32_t rank = 0; rank < many->ranks; rank++) {
            sum += value_at(rank, at, i);
        }
        many->wrong += many->tensors[at][i] < sum || many->tensors[at][i] > sum;
    }
}

/* Rank 0 says when it is enough, so that all stop after the same step. */
static bool goes_on(struct trib_comm *comm, bool wish)
{
    uint8_t go = wish;
    must(trib_broadcast(comm, &go, 1, TRIB_BYTES, 0), "broadcast", trib_comm_error(comm));
    return go != 0;
}

/* One allreduce on each of the first `busy` communicators, at the same time. Returns how long they took. */
static uint64_t step(struct many *many, uint32_t busy)
{
    struct trib_request *requests[COUNT_MAX];
    for (uint32_t i = 0; i < busy; i++) {
        fill(many, i);
    }
    must(trib_barrier(many->comms[0]), "barrier", trib_comm_error(many->comms[0]));
    uint64_t begin = now_ns();
    for (uint32_t i = 0; i < busy; i++) {
        must(trib_allreduce_start(many->comms[i], many->tensors[i], many->tensors[i], many->bytes / sizeof(float),
                                  TRIB_FLOAT32, TRIB_SUM, &requests[i]),
             "start", trib_comm_error(many->comms[i]));
    }
    for (uint32_t i = 0; i < busy; i++) {
        must(trib_request_wait(requests[i]), "allreduce", trib_comm_error(many->comms[i]));
    }
    uint64_t took = now_ns() - begin;
    for (uint32_t i = 0; i < busy; i++) {
        look(many, i);
    }
    many->moved += busy * many->bytes;
    return took;
}

/* MB/s of tensor while allreduces are under way. What is around them is not counted. */
static double rate(struct many *many, uint32_t busy)
{
    uint64_t took = 0;
    uint64_t steps = 0;
    do {
        /* Alone: as many bytes one after another as else at the same time. */
        for (uint32_t i = 0; i < (busy == 1 ? many->busy : 1); i++) {
            took += step(many, busy);
        }
        steps += busy == 1 ? many->busy : 1;
    } while (goes_on(many->comms[0], took < many->span_ns));
    return (double)(steps * busy * many->bytes) / ((double)took / 1e3);
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double middle(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

static double make_all(struct many *many)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    uint64_t begin = now_ns();
    for (uint32_t i = 1; i < many->count; i++) {
        must(trib_comm_split(many->comms[0], 0, 0, &many->comms[i], error), "split", error);
    }
    return (double)(now_ns() - begin) / 1e6;
}

static void run(struct many *many)
{
    for (uint32_t i = 0; i < many->rounds; i++) {
        many->alone[i] = rate(many, 1);
    }
    uint64_t one = memory_kib("VmRSS:");
    double make_ms = make_all(many);
    uint64_t open = memory_kib("VmRSS:");
    for (uint32_t i = 0; i < many->count; i++) { /* all have been used once */
        float value = 1;
        must(trib_allreduce(many->comms[i], &value, &value, 1, TRIB_FLOAT32, TRIB_SUM), "allreduce",
             trib_comm_error(many->comms[i]));
        many->wrong += value < (float)many->ranks || value > (float)many->ranks;
    }
    uint64_t used = memory_kib("VmRSS:");
    for (uint32_t i = 0; i < many->rounds; i++) {
        many->one[i] = rate(many, 1);
        many->many[i] = rate(many, many->busy);
    }
    uint64_t busy = memory_kib("VmRSS:");
    (void)goes_on(many->comms[0], true);
    sleep_ms(1500);
    uint64_t idle = memory_kib("VmRSS:");
    (void)goes_on(many->comms[0], true);
    printf("{\"rank\": %u, \"make_ms\": %.1f, \"rss_one\": %" PRIu64 ", \"rss_open\": %" PRIu64
           ", \"rss_used\": %" PRIu64 ", \"rss_busy\": %" PRIu64 ", \"rss_idle\": %" PRIu64 ", \"rss_peak\": %" PRIu64
           ", \"moved\": %" PRIu64 ", \"alone\": %.1f, \"one\": %.1f, \"many\": %.1f, \"wrong\": %" PRIu64 "}\n",
           many->rank, make_ms, one, open, used, busy, idle, memory_kib("VmHWM:"), many->moved,
           middle(many->alone, many->rounds), middle(many->one, many->rounds), middle(many->many, many->rounds),
           many->wrong);
}

static uint32_t number(const char *text, uint32_t least, uint32_t most)
{
    unsigned long value = strtoul(text, NULL, 10);
    if (value < least || value > most) {
        fprintf(stderr, "many: %s is not from %u to %u\n", text, least, most);
        exit(2);
    }
    return (uint32_t)value;
}

int main(int argc, char **argv)
{
    static struct many many;
    struct trib_config config;
    char error[TRIB_ERROR_TEXT_MAX] = "";

    if (argc != 6) {
        fprintf(stderr, "usage: many COUNT BUSY BYTES MILLISECONDS ROUNDS\n");
        return 2;
    }
    many.count = number(argv[1], 1, COUNT_MAX);
    many.busy = number(argv[2], 1, many.count);
    many.bytes = number(argv[3], 4, 1U << 30) / sizeof(float) * sizeof(float);
    many.span_ns = (uint64_t)number(argv[4], 1, 60000) * 1000000;
    many.rounds = number(argv[5], 1, ROUNDS_MAX);
    for (uint32_t i = 0; i < many.busy; i++) {
        many.tensors[i] = malloc(many.bytes);
        if (many.tensors[i] == NULL) {
            return 2;
        }
    }
    must(trib_config_from_environment(&config, error), "environment", error);
    must(trib_comm_create(&config, &many.comms[0], error), "create", error);
    many.rank = trib_comm_rank(many.comms[0]);
    many.ranks = trib_comm_ranks(many.comms[0]);
    run(&many);
    for (uint32_t i = 0; i < many.count; i++) {
        must(trib_comm_close(many.comms[i]), "close", "");
    }
    for (uint32_t i = 0; i < many.busy; i++) {
        free(many.tensors[i]);
    }
    return many.wrong != 0 ? EXIT_WRONG : 0;
}
