/* SPDX-License-Identifier: Apache-2.0 */
/* value.c: how fast each kernel of each table is on payloads of 8 KiB, out of the second-level cache as in a switch
 * that walks over its slots: 32 payloads and 32 rows, in turn. GB/s count payload bytes: those of the source, of the 16
 * bits in additions and narrowing. Every kernel's output is compared with the scalar one's first; a difference ends the
 * program with 1. Prints the median of 31 timings. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/prng.h"
#include "core/value.h"

#define PAYLOAD 8192
#define BUFFERS 32 /* x (rows of 16 KiB at most + payload): within 1 MiB */
#define TIMINGS 31
#define CALLS 512

static unsigned char rows[BUFFERS][2 * PAYLOAD] __attribute__((aligned(64)));
static unsigned char payloads[BUFFERS][2 * PAYLOAD] __attribute__((aligned(64)));

typedef void step(const struct trib_value_kernels *k, void *row, const void *payload);

#define REDUCE(name, reduction, type)                                                    \
    static void name(const struct trib_value_kernels *k, void *row, const void *payload) \
    {                                                                                    \
        k->reduce[reduction][type](row, row, payload, PAYLOAD / trib_type_size(type));   \
    }
#define REDUCE_ALL(suffix, type)                 \
    REDUCE(sum_##suffix, TRIB_SUM, type)         \
    REDUCE(minimum_##suffix, TRIB_MINIMUM, type) \
    REDUCE(maximum_##suffix, TRIB_MAXIMUM, type) \
    REDUCE(product_##suffix, TRIB_PRODUCT, type)

REDUCE_ALL(f32, TRIB_FLOAT32)
REDUCE_ALL(f16, TRIB_FLOAT16)
REDUCE_ALL(bf16, TRIB_BFLOAT16)
REDUCE_ALL(f64, TRIB_FLOAT64)
REDUCE_ALL(i8, TRIB_INT8)
REDUCE_ALL(u8, TRIB_UINT8)
REDUCE_ALL(i32, TRIB_INT32)
REDUCE_ALL(i64, TRIB_INT64)

static void widen_bf16(const struct trib_value_kernels *k, void *row, const void *payload)
{
    k->widen_bf16(row, payload, PAYLOAD / 2);
}

static void widen_f16(const struct trib_value_kernels *k, void *row, const void *payload)
{
    k->widen_f16(row, payload, PAYLOAD / 2);
}

static void narrow_bf16(const struct trib_value_kernels *k, void *row, const void *payload)
{
    k->narrow_bf16(row, payload, PAYLOAD / 2);
}

static void narrow_f16(const struct trib_value_kernels *k, void *row, const void *payload)
{
    k->narrow_f16(row, payload, PAYLOAD / 2);
}

static void divide_by_3(const struct trib_value_kernels *k, void *row, const void *payload)
{
    k->divide_f32(row, payload, 3, PAYLOAD / 4);
}

static void divide_f64_by_3(const struct trib_value_kernels *k, void *row, const void *payload)
{
    k->divide_f64(row, payload, 3, PAYLOAD / 8);
}

static void divide_by_4(const struct trib_value_kernels *k, void *row, const void *payload)
{
    k->divide_f32(row, payload, 4, PAYLOAD / 4);
}

static void max_magnitude(const struct trib_value_kernels *k, void *row, const void *payload)
{
    uint32_t max = k->max_magnitude(payload, PAYLOAD / 4);
    memcpy(row, &max, sizeof max);
}

static void quantise(const struct trib_value_kernels *k, void *row, const void *payload)
{
    k->quantise(row, payload, 20, PAYLOAD / 4);
}

static void dequantise(const struct trib_value_kernels *k, void *row, const void *payload)
{
    k->dequantise(row, payload, 20, PAYLOAD / 4);
}

static void row_load(const struct trib_value_kernels *k, void *row, const void *payload)
{
    trib_row_load(k, TRIB_FLOAT32, row, payload, PAYLOAD);
}

static void row_add(const struct trib_value_kernels *k, void *row, const void *payload)
{
    trib_row_add(k, TRIB_FLOAT32, TRIB_SUM, row, payload, PAYLOAD);
}

static const struct {
    const char *name;
    step *run;
} steps[] = {
#define ROW(name)   \
    {               \
#name, name \
    }
#define ROWS(suffix) ROW(sum_##suffix), ROW(minimum_##suffix), ROW(maximum_##suffix), ROW(product_##suffix)
    ROWS(f32),
    ROWS(f16),
    ROWS(bf16),
    ROWS(f64),
    ROWS(i8),
    ROWS(u8),
    ROWS(i32),
    ROWS(i64),
#undef ROWS
#undef ROW
    {"widen_bf16", widen_bf16},
    {"widen_f16", widen_f16},
    {"narrow_bf16", narrow_bf16},
    {"narrow_f16", narrow_f16},
    {"divide_f32 by 3", divide_by_3},
    {"divide_f32 by 4", divide_by_4},
    {"divide_f64 by 3", divide_f64_by_3},
    {"max_magnitude", max_magnitude},
    {"quantise", quantise},
    {"dequantise", dequantise},
    {"row_load f32", row_load},
    {"row_add f32", row_add},
};

/* Values in [-1, 1), which are as good as float32, as integers and, in any half of their bits, as 16-bit floats. */
static void fill(uint64_t seed)
{
    struct trib_prng prng = {.state = seed};

    for (size_t i = 0; i < BUFFERS; i++) {
        for (size_t j = 0; j < 2 * PAYLOAD; j += sizeof(float)) {
            float a = (float)(int32_t)trib_prng_next(&prng) * 0x1p-31f;
            float b = (float)(int32_t)trib_prng_next(&prng) * 0x1p-31f;
            memcpy(rows[i] + j, &a, sizeof a);
            memcpy(payloads[i] + j, &b, sizeof b);
        }
    }
}

/* The same from this table and from the scalar one? */
static bool is_right(const struct trib_value_kernels *k, step *run)
{
    static unsigned char expected[sizeof rows];

    fill(7);
    for (size_t i = 0; i < BUFFERS; i++) {
        run(trib_value_kernels_named("scalar"), rows[i], payloads[i]);
    }
    memcpy(expected, rows, sizeof rows);
    fill(7);
    for (size_t i = 0; i < BUFFERS; i++) {
        run(k, rows[i], payloads[i]);
    }
    return memcmp(expected, rows, sizeof rows) == 0;
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* GB/s, median. */
static double measure(const struct trib_value_kernels *k, step *run)
{
    double timings[TIMINGS];

    fill(7);
    for (size_t i = 0; i < TIMINGS; i++) {
        double start = now_ns();
        for (size_t call = 0; call < CALLS; call++) {
            run(k, rows[call % BUFFERS], payloads[call % BUFFERS]);
        }
        timings[i] = (now_ns() - start) / CALLS;
        if (i % 8 == 7) {
            fill(i); /* sums stay small */
        }
    }
    qsort(timings, TIMINGS, sizeof timings[0], compare);
    return PAYLOAD / timings[TIMINGS / 2];
}

int main(void)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    int status = 0;

    printf("chosen here: %s\n%-16s %8s %8s %8s  GB/s of payload\n", trib_value_kernels()->name, "kernel", names[0],
           names[1], names[2]);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        printf("%-16s", steps[i].name);
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++) {
            const struct trib_value_kernels *k = trib_value_kernels_named(names[j]);
            if (k == NULL) {
                printf(" %8s", "-");
            } else if (!is_right(k, steps[i].run)) {
                printf(" %8s", "WRONG");
                status = 1;
            } else {
                printf(" %8.1f", measure(k, steps[i].run));
            }
        }
        printf("\n");
    }
    return status;
}
