/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c: what the results must be, to the bit, from the rules alone: docs/PROTOCOL.md, "Numbers". Deliberately naive: a recursion over
 * the tree, rounding by division. It shares no arithmetic with src/.
 *
 * The rule of a sum: the children of a node are the leaves of a binary tree over 64 places in the order of their lowest ranks; absent
 * ones are skipped; 16-bit floats are summed in float32 and rounded once per node; a NaN from arithmetic is the canonical one.
 * Read next: check_buffers.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define CANONICAL UINT32_C(0x7fc00000)
#define CHUNK 256 /* elements that are summed at once */

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

/* 2^exponent, for the exponents that occur here. */
static double power(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- 16-bit floats ---- */

static float from_f16(uint16_t half)
{
    int exponent = half >> 10 & 0x1f;
    int fraction = half & 0x3ff;
    double magnitude = exponent == 0x1f ? (double)(fraction != 0 ? NAN : INFINITY)
                       : exponent == 0  ? fraction * power(-24)
                                        : (0x400 + fraction) * power(exponent - 25);

    return (float)(half & 0x8000 ? -magnitude : magnitude);
}

static float from_bf16(uint16_t brain)
{
    return float_of((uint32_t)brain << 16);
}

/* Rounds a float to `digits` binary digits with the smallest exponent `lowest` (of the first digit), to nearest even. */
static double rounded(double value, int digits, int lowest)
{
    uint64_t bits;

    if (value == 0 || !isfinite(value)) {
        return value;
    }
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023; /* no float is a subnormal double */
    double unit = power((exponent < lowest ? lowest : exponent) - (digits - 1));
    return nearbyint(value / unit) * unit;
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
    return (uint16_t)(sign | (exponent + 15) << 10 | ((int)(r * power(10 - exponent)) - 0x400));
}

/* ---- the tree ---- */

/* What is summed: elements [from, from + count) of a tensor, at most CHUNK. */
struct summing {
    const struct world_comm *comm;
    const struct world_op *op;
    uint64_t from;
    uint32_t count;
    void (*read)(const struct summing *s, uint32_t rank, float *out);
    float (*narrow)(float value); /* what a node does to its sum; NULL: nothing */
};

static void sum_node(const struct summing *s, uint32_t at, uint32_t node, float *out);

static void child_value(const struct summing *s, uint32_t at, uint32_t node, uint32_t child, float *out)
{
    const struct shape_child *c = &s->comm->shapes[at].nodes[node].children[child];

    if (c->kind == SHAPE_RANK) {
        s->read(s, c->index, out);
    } else if (c->kind == SHAPE_SWITCH) {
        sum_node(s, c->index, 0, out);
    } else {
        sum_node(s, at, c->index, out);
    }
}

/* Sums children [low, low + span) of a node, of which at least the first exists. */
static void sum_span(const struct summing *s, const uint32_t where[2], uint32_t low, uint32_t span, float *out)
{
    float right[CHUNK];

    if (span == 1) {
        child_value(s, where[0], where[1], low, out);
        return;
    }
    sum_span(s, where, low, span / 2, out);
    if (low + span / 2 < s->comm->shapes[where[0]].nodes[where[1]].child_count) {
        sum_span(s, where, low + span / 2, span / 2, right);
        for (uint32_t i = 0; i < s->count; i++) {
            out[i] = clean(out[i] + right[i]);
        }
    }
}

static void sum_node(const struct summing *s, uint32_t at, uint32_t node, float *out)
{
    const uint32_t where[2] = {at, node};

    sum_span(s, where, 0, TRIB_CHILDREN_MAX, out);
    for (uint32_t i = 0; i < s->count && s->narrow != NULL; i++) {
        out[i] = s->narrow(out[i]);
    }
}

static void expect_sum(struct summing *s, struct world_op *op, uint64_t from, uint64_t to,
                       void (*put)(struct world_op *op, uint64_t element, float value, uint32_t ranks))
{
    float total[CHUNK];

    s->op = op;
    for (s->from = from; s->from < to; s->from += s->count) {
        s->count = to - s->from < CHUNK ? (uint32_t)(to - s->from) : CHUNK;
        sum_node(s, 0, 0, total);
        for (uint32_t i = 0; i < s->count; i++) {
            put(op, s->from + i, total[i], s->comm->set.session.ranks);
        }
    }
}

/* ---- one tensor ---- */

static void read_f32(const struct summing *s, uint32_t rank, float *out)
{
    memcpy(out, s->op->inputs + rank * s->op->bytes + 4 * s->from, 4 * s->count);
}

static float via_bf16(float value)
{
    return from_bf16(to_bf16(value));
}

static float via_f16(float value)
{
    return from_f16(to_f16(value));
}

static void read_f32_as_bf16(const struct summing *s, uint32_t rank, float *out)
{
    read_f32(s, rank, out);
    for (uint32_t i = 0; i < s->count; i++) {
        out[i] = via_bf16(out[i]);
    }
}

static void read_u16(const struct summing *s, uint32_t rank, float *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        uint16_t value;
        memcpy(&value, s->op->inputs + rank * s->op->bytes + 2 * (s->from + i), 2);
        out[i] = s->op->operation.type == TRIB_FLOAT16 ? from_f16(value) : from_bf16(value);
    }
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

static void put_f16(struct world_op *op, uint64_t element, float value, uint32_t ranks)
{
    uint16_t half = to_f16(divides(op, ranks) ? value / (float)ranks : value);

    memcpy(op->expected + 2 * element, &half, 2);
}

static void put_bf16(struct world_op *op, uint64_t element, float value, uint32_t ranks)
{
    uint16_t brain = to_bf16(divides(op, ranks) ? value / (float)ranks : value);

    memcpy(op->expected + 2 * element, &brain, 2);
}

static float input_f32(const struct world_op *op, uint32_t rank, uint64_t element)
{
    float value;

    memcpy(&value, op->inputs + rank * op->bytes + 4 * element, 4);
    return value;
}

/* The exponent of a block: -1000 of zeros, 1000 with infinity or NaN inside. */
static int block_exponent(const struct world_op *op, uint32_t ranks, uint64_t from, uint64_t to)
{
    float largest = 0;
    int exponent = -1000;

    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint64_t i = from; i < to; i++) {
            float value = fabsf(input_f32(op, rank, i));
            if (!isfinite(value)) {
                return 1000;
            }
            largest = value > largest ? value : largest;
        }
    }
    if (largest != 0) {
        (void)frexpf(largest, &exponent);
    }
    return exponent;
}

/* One block of block floating point: the largest exponent of all ranks, or float32 where infinity or NaN is inside. */
static void expect_block(const struct world_comm *comm, struct world_op *op, uint64_t from, uint64_t to)
{
    uint32_t ranks = comm->set.session.ranks;
    int exponent = block_exponent(op, ranks, from, to);
    int log = 0;

    if (exponent == 1000) {
        expect_sum(&(struct summing){.comm = comm, .read = read_f32}, op, from, to, put_f32);
        return;
    }
    while ((1U << log) < ranks) {
        log++;
    }
    int shift = exponent == -1000 ? 0 : 31 - log - exponent;
    for (uint64_t i = from; i < to; i++) {
        int64_t total = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            total += (int64_t)nearbyint((double)input_f32(op, rank, i) * power(shift));
        }
        put_f32(op, i, (float)((double)total * power(-shift)), ranks);
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

static void expect_f32_on(const struct world_comm *comm, struct world_op *op)
{
    uint64_t count = op->operation.count;
    uint64_t block = comm->set.session.payload / 4;

    if (comm->set.session.wire == TRIB_FLOAT32) {
        expect_sum(&(struct summing){.comm = comm, .read = read_f32}, op, 0, count, put_f32);
    } else if (comm->set.session.wire == TRIB_BFLOAT16) {
        expect_sum(&(struct summing){.comm = comm, .read = read_f32_as_bf16, .narrow = via_bf16}, op, 0, count,
                   put_f32);
    } else {
        for (uint64_t i = 0; i < count; i += block) {
            expect_block(comm, op, i, i + block < count ? i + block : count);
        }
    }
}

void oracle_expect(const struct world_comm *comm, struct world_op *op)
{
    if (op->operation.collective != TRIB_ALLREDUCE) {
        memcpy(op->expected, op->inputs, op->bytes);
        return;
    }
    switch (op->operation.type) {
    case TRIB_FLOAT32:
        expect_f32_on(comm, op);
        return;
    case TRIB_FLOAT16:
        expect_sum(&(struct summing){.comm = comm, .read = read_u16, .narrow = via_f16}, op, 0, op->operation.count,
                   put_f16);
        return;
    case TRIB_BFLOAT16:
        expect_sum(&(struct summing){.comm = comm, .read = read_u16, .narrow = via_bf16}, op, 0, op->operation.count,
                   put_bf16);
        return;
    case TRIB_INT32:
        expect_i32(op, comm->set.session.ranks);
        return;
    case TRIB_INT64:
        expect_i64(op, comm->set.session.ranks);
        return;
    case TRIB_BYTES:
    case TRIB_TYPE_NONE:
    case TRIB_TYPE_COUNT:
        abort();
    }
}
