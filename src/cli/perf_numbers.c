/* SPDX-License-Identifier: Apache-2.0 */
/* perf_numbers.c: a rank's number, and a number as an element of a tensor. Values are small whole numbers, so that
 * every number mode gives one exact answer. Read next: perf_values.c. */
#include <string.h>

#include "cli/perf.h"
#include "core/lane.h"
#include "core/value.h"

enum trib_type perf_wire(const struct perf_options *options)
{
    bool is_narrow = options->type == TRIB_FLOAT32 && options->comm.wire == TRIB_WIRE_BFLOAT16;

    return is_narrow ? TRIB_BFLOAT16 : options->type;
}

/* Every whole number up to this magnitude is exact in the type; 0: more than any sum here needs. */
static uint32_t exact_in(enum trib_type type)
{
    return type == TRIB_BFLOAT16 ? 1U << 8 : type == TRIB_FLOAT16 ? 1U << 11 : 0;
}

/* Differs by element, rank and round. */
static uint64_t mixed(uint64_t i, uint32_t rank, uint32_t round)
{
    return trib_mix64((uint64_t)round << 32 | (uint64_t)rank << 8 | i % PERF_PERIOD);
}

/* A number for sums in 16 bits. The sum of any ranks is at most `exact` in magnitude, so switches of a tree and ranks
 * of a ring round nothing: even ranks are positive, odd ranks negative, and each sign has half of the ranks. If that
 * leaves less than 2 for each rank, a rank has 1 in one of four elements, and at most a quarter of the ranks has it. */
static int bounded_value(uint64_t i, uint32_t rank, uint32_t round, uint32_t ranks, uint32_t exact)
{
    uint32_t most = exact / ((ranks + 1) / 2);
    int size;

    if (most >= 2) {
        size = 1 + (int)(mixed(i, rank, round) % (most < PERF_PERIOD ? most : PERF_PERIOD - 1));
    } else {
        size = (rank / 2 + i) % 2 == 0 && mixed(i / 4, rank, round) % 2 == i / 2 % 2;
    }
    return rank % 2 == 0 ? size : -size;
}

/* 0 to 15. For orders also below zero, where the type has that. For products 1 to 7 from two of the ranks and 1 or -1
 * from the others: every product is exact in every type. */
double perf_value(const struct perf_options *options, uint64_t i, uint32_t rank, uint32_t round)
{
    int v = (int)(mixed(i, rank, round) % PERF_PERIOD);
    bool is_order = options->reduction == TRIB_MINIMUM || options->reduction == TRIB_MAXIMUM;
    uint32_t exact = exact_in(perf_wire(options));

    if (options->reduction == TRIB_PRODUCT) {
        return rank < 2 ? 1 + v % 7 : v % 2 == 0 ? 1 : -1;
    }
    if (is_order) {
        return options->type == TRIB_UINT8 ? v : v - PERF_PERIOD / 2;
    }
    return exact != 0 ? bounded_value(i % PERF_PERIOD, rank, round, options->comm.ranks, exact) : v;
}

void perf_store(enum trib_type type, void *element, double v)
{
    const struct trib_value_kernels *scalar = trib_value_kernels_named("scalar");
    float f = (float)v;
    int32_t i32 = (int32_t)v;
    int64_t i64 = (int64_t)v;
    uint8_t byte = (uint8_t)i64; /* of both signs the same bits */

    switch (type) {
    case TRIB_FLOAT32:
        memcpy(element, &f, sizeof f);
        break;
    case TRIB_FLOAT16:
        scalar->narrow_f16(element, &f, 1);
        break;
    case TRIB_BFLOAT16:
        scalar->narrow_bf16(element, &f, 1);
        break;
    case TRIB_INT32:
        memcpy(element, &i32, sizeof i32);
        break;
    case TRIB_INT64:
        memcpy(element, &i64, sizeof i64);
        break;
    case TRIB_FLOAT64:
        memcpy(element, &v, sizeof v);
        break;
    case TRIB_INT8:
    case TRIB_UINT8:
        memcpy(element, &byte, sizeof byte);
        break;
    case TRIB_TYPE_NONE:
    case TRIB_BYTES:
    case TRIB_TYPE_COUNT:
        break;
    }
}

/* v as it is after travelling in 8 bits: wrapped. Wider types have v itself. */
double perf_stored(enum trib_type type, double v)
{
    if (type == TRIB_INT8) {
        return (double)(int8_t)(int64_t)v;
    }
    if (type == TRIB_UINT8) {
        return (double)(uint8_t)(int64_t)v;
    }
    return v;
}
