/* SPDX-License-Identifier: Apache-2.0 */
/* perf_numbers.c: a rank's number, and a number as an element of a tensor. Values are small whole numbers, so that
 * every number mode gives one exact answer. Read next: perf_values.c. */
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
