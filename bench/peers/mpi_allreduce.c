/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_allreduce.c: times MPI_Allreduce of float32 as `tributary perf` times ours: out of place, calls one after
 * another, each timed on every rank, the slowest rank counts; every element of the first and the last result is looked
 * at. Prints one JSON object. Not part of Tributary: a peer to measure against. Usage: mpi_allreduce BYTES ITERATIONS
 * WARMUPS. Read next: ../peers.py. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bench {
    size_t bytes;
    int iterations, warmups;
    int rank, ranks;
    float *send, *recv;
    double *times_us; /* mine, then the slowest rank's */
    long long cpu_ns, wrong;
};

static long long read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void call(const struct bench *b)
{
    MPI_Allreduce(b->send, b->recv, (int)(b->bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* Small integers: every order of summing gives the same bits. */
static void checked_call(struct bench *b, int round)
{
    size_t count = b->bytes / sizeof(float);

    for (size_t i = 0; i < count; i++) {
        b->send[i] = (float)((int)(i % 61) + b->rank + round);
    }
    memset(b->recv, 0xa5, b->bytes);
    call(b);
    for (size_t i = 0; i < count; i++) {
        int sum = b->ranks * ((int)(i % 61) + round) + b->ranks * (b->ranks - 1) / 2;
        b->wrong += b->recv[i] != (float)sum;
    }
}

static void measure(struct bench *b)
{
    checked_call(b, 1);
    for (int i = 0; i < b->warmups; i++) {
        call(b);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    b->cpu_ns = -read_clock(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < b->iterations; i++) {
        long long start = read_clock(CLOCK_MONOTONIC);
        call(b);
        b->times_us[i] = (double)(read_clock(CLOCK_MONOTONIC) - start) / 1000;
    }
    b->cpu_ns += read_clock(CLOCK_PROCESS_CPUTIME_ID);
    checked_call(b, 2);
}

static void print(const struct bench *b, const double *slowest, const long long *cpu_ns, const long long *wrong)
{
    long long total = 0;

    printf("{\"peer\":\"openmpi\",\"ranks\":%d,\"size\":%zu,\"iterations\":%d,\"warmups\":%d,\"times_us\":[", b->ranks,
           b->bytes, b->iterations, b->warmups);
    for (int i = 0; i < b->iterations; i++) {
        printf("%s%.3f", i > 0 ? "," : "", slowest[i]);
    }
    printf("],\"workers\":[");
    for (int rank = 0; rank < b->ranks; rank++) {
        total += wrong[rank];
        printf("%s{\"cpu_ns\":%lld,\"wrong\":%lld}", rank > 0 ? "," : "", cpu_ns[rank], wrong[rank]);
    }
    printf("],\"wrong\":%lld}\n", total);
}

int main(int argc, char **argv)
{
    struct bench b = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
    b.bytes = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
    b.iterations = argc == 4 ? atoi(argv[2]) : 0;
    b.warmups = argc == 4 ? atoi(argv[3]) : 0;
    if (b.bytes < sizeof(float) || b.iterations < 1) {
        fprintf(stderr, "usage: mpi_allreduce BYTES ITERATIONS WARMUPS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double *slowest = calloc((size_t)b.iterations, sizeof *slowest);
    long long *cpu_ns = calloc((size_t)b.ranks, sizeof *cpu_ns);
    long long *wrong = calloc((size_t)b.ranks, sizeof *wrong);
    b.send = malloc(b.bytes);
    b.recv = malloc(b.bytes);
    b.times_us = calloc((size_t)b.iterations, sizeof *b.times_us);
    if (slowest == NULL || cpu_ns == NULL || wrong == NULL || b.send == NULL || b.recv == NULL || b.times_us == NULL) {
        fprintf(stderr, "mpi_allreduce: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    measure(&b);
    MPI_Reduce(b.times_us, slowest, b.iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Gather(&b.cpu_ns, 1, MPI_LONG_LONG, cpu_ns, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    MPI_Gather(&b.wrong, 1, MPI_LONG_LONG, wrong, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (b.rank == 0) {
        print(&b, slowest, cpu_ns, wrong);
    }
    free(b.times_us);
    free(b.recv);
    free(b.send);
    free(wrong);
    free(cpu_ns);
    free(slowest);
    MPI_Finalize();
    return 0;
}
