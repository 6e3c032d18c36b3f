/* SPDX-License-Identifier: Apache-2.0 */
/* joins.c: how long ranks take to meet, and to meet again, for bench/joins.py.
 *
 *   bench-joins RANKS ROUNDS STAY_MS PLACE[,PLACE...] [none]
 *
 * Each rank is a thread with a communicator of its own, 128 of them in a process, in job after job, ROUNDS of them; rank r meets at PLACE r mod n (a
 * switch, or one below another), with "none" at the rendezvous PLACE. Level 0 is off, so that each is a member of its own. After the last
 * round all stay for STAY_MS, of which the first half is idle, and sum two elements over and over in the second: a switch that is killed
 * meanwhile shows as the longest gap. Prints one line of JSON; milliseconds from when the first thread may begin to when it has joined. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tributary/comm.h>

#include "io/clock.h"
#include "keys/load.h"

#define RANKS_MAX 1024
#define PROCESS_RANKS 128U /* a process may have so many descriptors open, and no more */
#define PLACES_MAX 16
#define STACK_BYTES (256U << 10)

struct joins {
    uint32_t ranks, rounds, place_count;
    uint64_t stay_ns;
    char *places[PLACES_MAX];
    bool without_switch;
    pthread_barrier_t barrier;
    uint64_t begin_ns; /* of this round */
    double took_ms[RANKS_MAX], gap_ms[RANKS_MAX];
    uint64_t sums; /* of rank 0 */
};

struct member {
    struct joins *joins;
    uint32_t rank;
    pthread_t thread;
};

static void must(enum trib_status status, const char *what, const char *cause)
{
    if (status != TRIB_OK) {
        printf("{\"error\": \"%s: %s: %s\"}\n", what, trib_status_text(status), cause);
        exit(1);
    }
}

/* The key of TRIB_KEY_FILE, if it is set. */
static void read_key(struct trib_config *config)
{
    const char *path = getenv("TRIB_KEY_FILE");
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_key key;
    if (path != NULL) {
        must(trib_key_read_file(path, &key, error), "key", error);
        memcpy(config->key, key.bytes, key.len);
        config->key_len = key.len;
    }
}

static struct trib_comm *join(const struct member *member, uint32_t round)
{
    const struct joins *joins = member->joins;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_config config;
    struct trib_comm *comm = NULL;
    trib_config_init(&config);
    (void)snprintf(joins->without_switch ? config.rendezvous : config.switch_address, sizeof config.rendezvous, "%s",
                   joins->places[member->rank % joins->place_count]);
    (void)snprintf(config.job, sizeof config.job, "joins-%u-%u", (unsigned)getppid(), round);
    read_key(&config);
    config.rank = member->rank;
    config.ranks = joins->ranks;
    config.level0 = config.multicast = false;
    config.progress_thread = joins->without_switch;
    config.payload = 64; /* slots of 1,024 ranks want little memory */
    config.window = 64;
    config.spin_us = 0;
    config.join_timeout_ns = 120U * 1000000000ULL;
    enum trib_status status = trib_comm_create(&config, &comm, error);
    must(status, "join", error);
    return comm;
}

/* Rank 0 says when it is enough, in the sum itself, so that all stop after the same one. */
static double sum_over_and_over(const struct joins *joins, struct trib_comm *comm, uint32_t rank, uint64_t *sums)
{
    uint64_t last = trib_clock_ns();
    uint64_t end = last + joins->stay_ns / 2;
    uint64_t gap = 0;
    int32_t sum[2]; /* whether to stop, and of all ranks a one */
    do {
        sum[0] = rank == 0 && trib_clock_ns() >= end;
        sum[1] = 1;
        enum trib_status status = trib_allreduce(comm, sum, sum, 2, TRIB_INT32, TRIB_SUM);
        must(status, "sum", trib_comm_error(comm));
        must(sum[1] == (int32_t)joins->ranks ? TRIB_OK : TRIB_ERR_INVALID, "sum", "it is wrong");
        uint64_t now = trib_clock_ns();
        gap = now - last > gap ? now - last : gap;
        last = now;
        ++*sums;
    } while (sum[0] == 0);
    return (double)gap / 1e6;
}

static void stay(const struct member *member, struct trib_comm *comm)
{
    struct joins *joins = member->joins;
    uint64_t half = joins->stay_ns / 2;
    struct timespec idle = {(time_t)(half / 1000000000U), (long)(half % 1000000000U)};
    uint64_t sums = 0;
    enum trib_status status = trib_barrier(comm);
    must(status, "barrier", trib_comm_error(comm));
    (void)nanosleep(&idle, NULL);
    joins->gap_ms[member->rank] = sum_over_and_over(joins, comm, member->rank, &sums);
    if (member->rank == 0) {
        joins->sums = sums;
    }
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static void print(struct joins *joins, uint32_t round)
{
    qsort(joins->took_ms, joins->ranks, sizeof *joins->took_ms, by_size);
    printf("{\"round\": %u, \"ranks\": %u, \"first\": %.1f, \"p50\": %.1f, \"last\": %.1f}\n", round, joins->ranks,
           joins->took_ms[0], joins->took_ms[joins->ranks / 2], joins->took_ms[joins->ranks - 1]);
    (void)fflush(stdout);
}

static void *live(void *context)
{
    struct member *member = context;
    struct joins *joins = member->joins;
    for (uint32_t round = 0; round < joins->rounds; round++) {
        if (pthread_barrier_wait(&joins->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            joins->begin_ns = trib_clock_ns();
        }
        (void)pthread_barrier_wait(&joins->barrier);
        struct trib_comm *comm = join(member, round);
        joins->took_ms[member->rank] = (double)(trib_clock_ns() - joins->begin_ns) / 1e6;
        if (pthread_barrier_wait(&joins->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            print(joins, round);
        }
        (void)pthread_barrier_wait(&joins->barrier);
        if (round + 1 == joins->rounds && joins->stay_ns > 0) {
            stay(member, comm);
        }
        trib_comm_close(comm);
    }
    return NULL;
}

/* One process's ranks, from `first`. */
static void run(struct joins *joins, uint32_t first)
{
    static struct member members[PROCESS_RANKS];
    uint32_t count = joins->ranks - first < PROCESS_RANKS ? joins->ranks - first : PROCESS_RANKS;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, STACK_BYTES) != 0) {
        must(TRIB_ERR_MEMORY, "threads", "no memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        members[i] = (struct member){.joins = joins, .rank = first + i};
        if (pthread_create(&members[i].thread, &attributes, live, &members[i]) != 0) {
            must(TRIB_ERR_MEMORY, "threads", "the machine has no more");
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_join(members[i].thread, NULL);
    }
}

/* If one of them ends early the others would wait at a barrier for ever: they are ended as well. */
static bool run_all(struct joins *joins)
{
    pid_t processes[RANKS_MAX / PROCESS_RANKS];
    uint32_t count = 0;
    int bad = 0;
    for (uint32_t first = 0; first < joins->ranks; first += PROCESS_RANKS) {
        processes[count] = fork();
        if (processes[count] == 0) {
            run(joins, first);
            exit(0);
        }
        bad |= processes[count++] < 0;
    }
    for (int status; bad == 0 && wait(&status) > 0;) {
        bad = status;
    }
    for (uint32_t i = 0; bad != 0 && i < count; i++) {
        (void)kill(processes[i], SIGKILL);
    }
    return bad == 0;
}

/* In memory that all processes share. */
static struct joins *made(uint32_t ranks)
{
    pthread_barrierattr_t shared;
    struct joins *joins = mmap(NULL, sizeof *joins, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (joins == MAP_FAILED || pthread_barrierattr_init(&shared) != 0 ||
        pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED) != 0 ||
        pthread_barrier_init(&joins->barrier, &shared, ranks) != 0) {
        must(TRIB_ERR_MEMORY, "shared memory", "no memory");
    }
    joins->ranks = ranks;
    return joins;
}

int main(int argc, char **argv)
{
    struct rlimit files;
    uint32_t ranks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    if (argc < 5 || ranks == 0 || ranks > RANKS_MAX) {
        (void)fprintf(stderr, "usage: bench-joins RANKS ROUNDS STAY_MS PLACE[,PLACE...] [none]\n1 to %d ranks\n",
                      RANKS_MAX);
        return 2;
    }
    struct joins *joins = made(ranks);
    joins->rounds = (uint32_t)strtoul(argv[2], NULL, 10);
    joins->stay_ns = strtoull(argv[3], NULL, 10) * 1000000U;
    joins->without_switch = argc > 5;
    for (char *at = strtok(argv[4], ","); at != NULL && joins->place_count < PLACES_MAX; at = strtok(NULL, ",")) {
        joins->places[joins->place_count++] = at;
    }
    if (joins->rounds == 0 || joins->place_count == 0) {
        (void)fputs("at least one round and one place\n", stderr);
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    if (!run_all(joins)) {
        return 1;
    }
    qsort(joins->gap_ms, joins->ranks, sizeof *joins->gap_ms, by_size);
    printf("{\"gap\": %.1f, \"sums\": %llu}\n", joins->gap_ms[joins->ranks - 1], (unsigned long long)joins->sums);
    return 0;
}
