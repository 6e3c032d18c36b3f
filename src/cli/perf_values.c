/* SPDX-License-Identifier: Apache-2.0 */
/* perf_values.c: tensors whose reductions are known. Values are small whole numbers, so that every number mode gives
 * one exact answer, computed here without the code under test (but for rounding to 16 bits, whose scalar reference the
 * unit tests pin). */
#include <string.h>

#include "cli/perf.h"
#include "core/value.h"

/* 0 to 15. For orders also below zero, where the type has that. For products 1 to 7 from two of the ranks and 1 or -1
 * from the others: every product is exact in every type. */
double perf_value(const struct perf_options *options, uint64_t i, uint32_t rank, uint32_t round)
{
    int v = (int)((i * 7 + rank * 5U + round * 3U + 1) % PERF_PERIOD);
    bool is_order = options->reduction == TRIB_MINIMUM || options->reduction == TRIB_MAXIMUM;

    if (options->reduction == TRIB_PRODUCT) {
        return rank < 2 ? 1 + v % 7 : v % 2 == 0 ? 1 : -1;
    }
    return is_order && options->type != TRIB_UINT8 ? v - PERF_PERIOD / 2 : v;
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

/* v as it is after travelling in 8 or 16 bits: wrapped, or rounded. */
double perf_stored(enum trib_type type, double v)
{
    const struct trib_value_kernels *scalar = trib_value_kernels_named("scalar");
    uint16_t half;
    float f = (float)v;

    if (type == TRIB_INT8) {
        return (double)(int8_t)(int64_t)v;
    }
    if (type == TRIB_UINT8) {
        return (double)(uint8_t)(int64_t)v;
    }
    if (type == TRIB_FLOAT16) {
        scalar->narrow_f16(&half, &f, 1);
        scalar->widen_f16(&f, &half, 1);
    } else if (type == TRIB_BFLOAT16) {
        scalar->narrow_bf16(&half, &f, 1);
        scalar->widen_bf16(&f, &half, 1);
    }
    return (double)f;
}

static double reduced(enum trib_reduction reduction, double a, double b)
{
    switch (reduction) {
    case TRIB_MINIMUM:
        return b < a ? b : a;
    case TRIB_MAXIMUM:
        return b > a ? b : a;
    case TRIB_PRODUCT:
        return a * b;
    case TRIB_SUM:
    case TRIB_AVERAGE:
    case TRIB_REDUCTION_NONE:
    case TRIB_REDUCTION_COUNT:
        break;
    }
    return a + b;
}

static double expected(const struct perf_options *options, uint64_t i, uint32_t owner, uint32_t round)
{
    enum trib_type wire = options->type;
    uint32_t ranks = options->comm.ranks;
    double result = perf_value(options, i, 0, round);

    if (options->collective == TRIB_BROADCAST) {
        return result;
    }
    if (options->collective == TRIB_ALLGATHER) {
        return perf_value(options, i, owner, round);
    }
    for (uint32_t rank = 1; rank < ranks; rank++) {
        result = reduced(options->reduction, result, perf_value(options, i, rank, round));
    }
    if (wire == TRIB_FLOAT32 && options->comm.wire == TRIB_WIRE_BFLOAT16) {
        wire = TRIB_BFLOAT16;
    }
    result = perf_stored(wire, result);
    return options->reduction == TRIB_AVERAGE ? result / ranks : result;
}

/* Copies one period over the whole tensor. */
static void repeat(uint8_t *tensor, const uint8_t *period, size_t period_size, size_t size)
{
    size_t done = period_size < size ? period_size : size;

    memcpy(tensor, period, done);
    while (done < size) {
        size_t more = done < size - done ? done : size - done;
        memcpy(tensor + done, tensor, more);
        done += more;
    }
}

/* Uneven shares have 0, 1, 2, 0, 1, 2 ... parts; the last rank has the remainder. */
struct perf_span perf_share(const struct perf_options *options, uint64_t count, uint32_t ranks, uint32_t rank)
{
    struct perf_span span = {0, count};

    if (options->collective != TRIB_ALLGATHER && options->collective != TRIB_REDUCE_SCATTER) {
        return span;
    }
    span.count = count / ranks;
    span.first = rank * span.count;
    if (options->is_uneven) {
        span.first = (rank / 3 * 3 + (rank % 3 == 2)) * (count / ranks);
        span.count = rank + 1 == ranks ? count - span.first : rank % 3 * (count / ranks);
    }
    return span;
}

void perf_fill(const struct perf_options *options, void *part, struct perf_span span, uint32_t rank, uint32_t round)
{
    size_t size = trib_type_size(options->type);
    uint8_t period[PERF_PERIOD * 8];

    if (perf_may_lack(options)) {
        perf_quorum_fill(options, part, span.count, rank, round);
        return;
    }
    for (uint64_t i = 0; i < PERF_PERIOD; i++) {
        perf_store(options->type, period + i * size, perf_value(options, span.first + i, rank, round));
    }
    if (span.count > 0) {
        repeat(part, period, PERF_PERIOD * size, span.count * size);
    }
}

int64_t perf_wrong(const struct perf_options *options, const void *part, struct perf_span span, uint32_t owner,
                   uint32_t round)
{
    size_t size = trib_type_size(options->type);
    const uint8_t *bytes = part;
    uint64_t count = span.count;
    uint8_t period[PERF_PERIOD * 8];
    int64_t wrong = 0;

    for (uint64_t i = 0; i < PERF_PERIOD; i++) {
        perf_store(options->type, period + i * size, expected(options, span.first + i, owner, round));
    }
    for (uint64_t i = 0; i < count; i += PERF_PERIOD) {
        uint64_t here = count - i < PERF_PERIOD ? count - i : PERF_PERIOD;
        if (memcmp(bytes + i * size, period, here * size) == 0) {
            continue;
        }
        for (uint64_t j = 0; j < here; j++) {
            wrong += memcmp(bytes + (i + j) * size, period + j * size, size) != 0;
        }
    }
    return wrong;
}
