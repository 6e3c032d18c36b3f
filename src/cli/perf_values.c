/* SPDX-License-Identifier: Apache-2.0 */
/* perf_values.c: tensors with known reductions. Values are small whole numbers, so that every number mode gives
 * one exact answer, computed here without the code under test. */
#include <string.h>

#include "cli/perf.h"

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
    result = perf_stored(options->type, result);
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
