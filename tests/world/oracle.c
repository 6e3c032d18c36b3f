/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c: what the results must be, to the bit, from the rules alone: docs/PROTOCOL.md, "Numbers". Deliberately naive and slow: a
 * recursive tree over the ranks, conversions by the mathematics library. It shares no arithmetic with src/.
 *
 * The rule of a sum: ranks are the leaves of a binary tree over 64 places in the order of their numbers; absent ones are skipped; 16-bit
 * floats are summed in float32 and rounded once; a NaN from arithmetic is the canonical one.
 * Read next: check_buffers.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define CANONICAL UINT32_C(0x7fc00000)

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static float clean(float value)
{
    return isnan(value) ? float_of(CANONICAL) : value;
}

/* ---- 16-bit floats ---- */

static float from_f16(uint16_t half)
{
    int exponent = half >> 10 & 0x1f;
    int fraction = half & 0x3ff;
    float magnitude = exponent == 0x1f ? (fraction != 0 ? NAN : INFINITY)
                      : exponent == 0  ? ldexpf((float)fraction, -24)
                                       : ldexpf((float)(0x400 + fraction), exponent - 25);

    return half & 0x8000 ? -magnitude : magnitude;
}

static float from_bf16(uint16_t brain)
{
    return float_of((uint32_t)brain << 16);
}

/* Rounds to `digits` binary digits with the smallest exponent `lowest` (of the first digit), to nearest even. */
static double rounded(double value, int digits, int lowest)
{
    if (value == 0 || !isfinite(value)) {
        return value;
    }
    int exponent = ilogb(value);
    int unit = (exponent < lowest ? lowest : exponent) - (digits - 1);

    return ldexp(nearbyint(ldexp(value, -unit)), unit);
}

static uint16_t to_bf16(float value)
{
    if (isnan(value)) {
        return 0x7fc0;
    }
    double r = rounded((double)value, 8, -126);
    float narrow = fabs(r) >= 0x1p128 ? copysignf(INFINITY, value) : (float)r;

    return (uint16_t)(bits_of(narrow) >> 16);
}

static uint16_t to_f16(float value)
{
    if (isnan(value)) {
        return 0x7e00;
    }
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double r = fabs(rounded((double)value, 11, -14));
    if (r >= 65536) {
        return sign | 0x7c00;
    }
    if (r < 0x1p-14) {
        return (uint16_t)(sign | (uint16_t)(r * 0x1p24));
    }
    int exponent = ilogb(r);
    return (uint16_t)(sign | (exponent + 15) << 10 | ((int)ldexp(r, 10 - exponent) - 0x400));
}

/* ---- the tree ---- */

/* Sums leaves[low, low + span), of which those below `count` exist; *any says whether there was one. */
static float tree(const float *leaves, uint32_t count, uint32_t low, uint32_t span, bool *any)
{
    if (span == 1 || low >= count) {
        *any = low < count;
        return *any ? leaves[low] : 0;
    }
    bool has_left;
    bool has_right;
    float left = tree(leaves, count, low, span / 2, &has_left);
    float right = tree(leaves, count, low + span / 2, span / 2, &has_right);
    *any = has_left || has_right;
    if (has_left && has_right) {
        return clean(left + right);
    }
    return has_left ? left : right;
}

static float sum(const float *leaves, uint32_t count)
{
    bool any;

    return tree(leaves, count, 0, 64, &any);
}

/* ---- one tensor ---- */

static float input_f32(const struct world_op *op, uint32_t rank, uint64_t element)
{
    float value;

    memcpy(&value, op->inputs + rank * op->bytes + 4 * element, 4);
    return value;
}

static uint16_t input_u16(const struct world_op *op, uint32_t rank, uint64_t element)
{
    uint16_t value;

    memcpy(&value, op->inputs + rank * op->bytes + 2 * element, 2);
    return value;
}

static bool divides(const struct world_op *op, uint32_t ranks)
{
    return op->operation.reduction == TRIB_AVERAGE && ranks > 1;
}

static void put_f32(struct world_op *op, uint64_t element, float value, uint32_t ranks)
{
    if (divides(op, ranks)) {
        value = clean(value / (float)ranks);
    }
    memcpy(op->expected + 4 * element, &value, 4);
}

static void expect_f32(struct world_op *op, uint32_t ranks, uint64_t from, uint64_t to)
{
    float leaves[WORLD_RANKS_MAX];

    for (uint64_t i = from; i < to; i++) {
        for (uint32_t rank = 0; rank < ranks; rank++) {
            leaves[rank] = input_f32(op, rank, i);
        }
        put_f32(op, i, sum(leaves, ranks), ranks);
    }
}

static void expect_f32_as_bf16(struct world_op *op, uint32_t ranks)
{
    float leaves[WORLD_RANKS_MAX];

    for (uint64_t i = 0; i < op->operation.count; i++) {
        for (uint32_t rank = 0; rank < ranks; rank++) {
            leaves[rank] = from_bf16(to_bf16(input_f32(op, rank, i)));
        }
        put_f32(op, i, from_bf16(to_bf16(sum(leaves, ranks))), ranks);
    }
}

/* One block of block floating point: the largest exponent of all ranks, or float32 where infinity or NaN is inside. */
static void expect_block(struct world_op *op, uint32_t ranks, uint64_t from, uint64_t to)
{
    int exponent = -1000;
    int log = 0;

    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint64_t i = from; i < to; i++) {
            float value = input_f32(op, rank, i);
            int e;
            if (!isfinite(value)) {
                expect_f32(op, ranks, from, to);
                return;
            }
            (void)frexpf(value, &e);
            exponent = value != 0 && e > exponent ? e : exponent;
        }
    }
    while ((1U << log) < ranks) {
        log++;
    }
    int shift = exponent == -1000 ? 0 : 31 - log - exponent;
    for (uint64_t i = from; i < to; i++) {
        int64_t total = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            total += (int64_t)nearbyint(ldexp((double)input_f32(op, rank, i), shift));
        }
        put_f32(op, i, (float)ldexp((double)total, -shift), ranks);
    }
}

static void expect_u16(struct world_op *op, uint32_t ranks, float (*widen)(uint16_t), uint16_t (*narrow)(float))
{
    float leaves[WORLD_RANKS_MAX];

    for (uint64_t i = 0; i < op->operation.count; i++) {
        for (uint32_t rank = 0; rank < ranks; rank++) {
            leaves[rank] = widen(input_u16(op, rank, i));
        }
        uint16_t value = narrow(sum(leaves, ranks));
        if (divides(op, ranks)) {
            value = narrow(widen(value) / (float)ranks);
        }
        memcpy(op->expected + 2 * i, &value, 2);
    }
}

static void expect_i32(struct world_op *op, uint32_t ranks)
{
    for (uint64_t i = 0; i < op->operation.count; i++) {
        uint32_t total = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            uint32_t value;
            memcpy(&value, op->inputs + rank * op->bytes + 4 * i, 4);
            total += value;
        }
        int32_t result = divides(op, ranks) ? (int32_t)((int64_t)(int32_t)total / (int64_t)ranks) : (int32_t)total;
        memcpy(op->expected + 4 * i, &result, 4);
    }
}

static void expect_i64(struct world_op *op, uint32_t ranks)
{
    for (uint64_t i = 0; i < op->operation.count; i++) {
        uint64_t total = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            uint64_t value;
            memcpy(&value, op->inputs + rank * op->bytes + 8 * i, 8);
            total += value;
        }
        int64_t result = divides(op, ranks) ? (int64_t)total / (int64_t)ranks : (int64_t)total;
        memcpy(op->expected + 8 * i, &result, 8);
    }
}

static void expect_f32_on(const struct trib_session_config *session, struct world_op *op)
{
    uint64_t block = session->payload / 4;

    if (session->wire == TRIB_FLOAT32) {
        expect_f32(op, session->ranks, 0, op->operation.count);
        return;
    }
    if (session->wire == TRIB_BFLOAT16) {
        expect_f32_as_bf16(op, session->ranks);
        return;
    }
    for (uint64_t i = 0; i < op->operation.count; i += block) {
        expect_block(op, session->ranks, i, i + block < op->operation.count ? i + block : op->operation.count);
    }
}

void oracle_expect(const struct trib_session_config *session, struct world_op *op)
{
    if (op->operation.collective != TRIB_ALLREDUCE) {
        memcpy(op->expected, op->inputs, op->bytes);
        return;
    }
    switch (op->operation.type) {
    case TRIB_FLOAT32:
        expect_f32_on(session, op);
        return;
    case TRIB_FLOAT16:
        expect_u16(op, session->ranks, from_f16, to_f16);
        return;
    case TRIB_BFLOAT16:
        expect_u16(op, session->ranks, from_bf16, to_bf16);
        return;
    case TRIB_INT32:
        expect_i32(op, session->ranks);
        return;
    case TRIB_INT64:
        expect_i64(op, session->ranks);
        return;
    case TRIB_BYTES:
    case TRIB_TYPE_NONE:
    case TRIB_TYPE_COUNT:
        abort();
    }
}
