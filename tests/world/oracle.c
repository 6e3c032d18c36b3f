/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c: what the results must be, to the bit, from the rules alone: docs/PROTOCOL.md, "Numbers". Deliberately
 * naive: a recursion over the tree, rounding by division. It shares no arithmetic with src/.
 *
 * The rule of a reduction: the children of a node are the leaves of a binary tree over 64 places in the order of their
 * lowest ranks; absent ones are skipped; 16-bit floats are reduced in float32 and rounded once per node; a NaN that was
 * reduced with anything is the canonical one; -0 is less than 0; integers wrap. Here the bits of an element stand in 64
 * bits, those of a 16-bit float as float32.
 * Read next: check_buffers.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/operation.h"
#include "world.h"

#define CANONICAL UINT32_C(0x7fc00000)
#define CANONICAL_64 UINT64_C(0x7ff8000000000000)
#define CHUNK 256 /* elements that are reduced at once */

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

/* Rounds a float to `digits` binary digits with the smallest exponent `lowest` (of the first digit), to nearest
 * even. */
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

/* ---- two elements ---- */

static double number(enum trib_type type, uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return type == TRIB_FLOAT64 ? value : (double)float_of((uint32_t)bits);
}

/* Rounded to the type's places. A double holds twice those of a float and more: to round a result of two floats twice
 * is to round once. */
static uint64_t bits_from(enum trib_type type, double value)
{
    uint64_t bits;

    if (type == TRIB_FLOAT32) {
        return bits_of(clean((float)value));
    }
    memcpy(&bits, &value, sizeof bits);
    return isnan(value) ? CANONICAL_64 : bits;
}

static double reduced(enum trib_reduction reduction, double a, double b)
{
    if (reduction == TRIB_SUM || reduction == TRIB_AVERAGE) {
        return a + b;
    }
    if (reduction == TRIB_PRODUCT) {
        return a * b;
    }
    if (isnan(a) || isnan(b)) {
        return (double)NAN;
    }
    bool a_is_less = a < b || (a == b && signbit(a));
    return a_is_less == (reduction == TRIB_MINIMUM) ? a : b;
}

static int64_t whole(enum trib_type type, uint64_t bits)
{
    switch (trib_type_size(type)) {
    case 1:
        return type == TRIB_UINT8 ? (int64_t)bits : (int8_t)bits;
    case 4:
        return (int32_t)bits;
    default:
        return (int64_t)bits;
    }
}

static uint64_t reduced_integers(const struct trib_operation *o, uint64_t a, uint64_t b)
{
    bool a_is_less = whole(o->type, a) < whole(o->type, b);

    switch (o->reduction) {
    case TRIB_PRODUCT:
        return a * b;
    case TRIB_MINIMUM:
        return a_is_less ? a : b;
    case TRIB_MAXIMUM:
        return a_is_less ? b : a;
    case TRIB_SUM:
    case TRIB_AVERAGE:
    case TRIB_REDUCTION_NONE:
    case TRIB_REDUCTION_COUNT:
        break;
    }
    return a + b;
}

static bool is_float(enum trib_type type)
{
    return type == TRIB_FLOAT32 || type == TRIB_FLOAT16 || type == TRIB_BFLOAT16 || type == TRIB_FLOAT64;
}

static uint64_t reduced_bits(const struct trib_operation *o, uint64_t a, uint64_t b)
{
    enum trib_type wide = o->type == TRIB_FLOAT64 ? TRIB_FLOAT64 : TRIB_FLOAT32;

    if (is_float(o->type)) {
        return bits_from(wide, reduced(o->reduction, number(wide, a), number(wide, b)));
    }
    return reduced_integers(o, a, b) & UINT64_MAX >> (64 - 8 * trib_type_size(o->type));
}

/* ---- the tree ---- */

/* What is reduced: elements [from, from + count) of a tensor, at most CHUNK. */
struct reducing {
    const struct world_comm *comm;
    const struct world_op *op;
    uint32_t root; /* whose tree */
    uint64_t from;
    uint32_t count;
    uint32_t absent;             /* rank that does not contribute, and adds its own part at the end; WORLD_NONE: none */
    const struct rank_set *list; /* who does; NULL: all */
    float (*narrow)(float value); /* what a node does to its result; NULL: nothing */
    bool narrows_first;           /* and a rank to its tensor */
};

static bool reduce_node(const struct reducing *r, uint32_t at, uint32_t node, uint64_t *out);

static uint64_t narrowed(const struct reducing *r, uint64_t bits)
{
    return r->narrow != NULL ? bits_of(r->narrow(float_of((uint32_t)bits))) : bits;
}

static void read_tensor(const struct reducing *r, uint32_t rank, uint64_t *out)
{
    const enum trib_type type = r->op->operation.type;
    const size_t size = trib_type_size(type);

    for (uint32_t i = 0; i < r->count; i++) {
        out[i] = 0;
        memcpy(&out[i], r->op->inputs + rank * r->op->bytes + size * (r->from + i), size);
        if (type == TRIB_FLOAT16) {
            out[i] = bits_of(from_f16((uint16_t)out[i]));
        } else if (type == TRIB_BFLOAT16) {
            out[i] = bits_of(from_bf16((uint16_t)out[i]));
        } else if (r->narrows_first) {
            out[i] = narrowed(r, out[i]);
        }
    }
}

static bool child_value(const struct reducing *r, uint32_t at, uint32_t node, uint32_t child, uint64_t *out)
{
    const struct shape_child *c = &r->comm->tree[r->root]->shapes[at].nodes[node].children[child];

    if (c->kind == SHAPE_RANK) {
        bool is_in = c->index != r->absent && (r->list == NULL || rank_set_has(r->list, c->index));
        if (is_in) {
            read_tensor(r, c->index, out);
        }
        return is_in;
    }
    return c->kind == SHAPE_SWITCH ? reduce_node(r, c->index, 0, out) : reduce_node(r, at, c->index, out);
}

/* Reduces children [low, low + span) of a node, of which at least the first exists. False: none of them has a value. */
static bool reduce_span(const struct reducing *r, const uint32_t where[2], uint32_t low, uint32_t span, uint64_t *out)
{
    uint64_t right[CHUNK];

    if (span == 1) {
        return child_value(r, where[0], where[1], low, out);
    }
    bool has_left = reduce_span(r, where, low, span / 2, out);
    bool has_right = low + span / 2 < r->comm->tree[r->root]->shapes[where[0]].nodes[where[1]].child_count &&
                     reduce_span(r, where, low + span / 2, span / 2, right);
    for (uint32_t i = 0; i < r->count && has_right; i++) {
        out[i] = has_left ? reduced_bits(&r->op->operation, out[i], right[i]) : right[i];
    }
    return has_left || has_right;
}

static bool reduce_node(const struct reducing *r, uint32_t at, uint32_t node, uint64_t *out)
{
    const uint32_t where[2] = {at, node};

    bool has_value = reduce_span(r, where, 0, TRIB_CHILDREN_MAX, out);
    for (uint32_t i = 0; i < r->count && has_value; i++) {
        out[i] = narrowed(r, out[i]);
    }
    return has_value;
}

/* All that contribute, and then the part of the rank that was absent: reduced once more, rounded once more. */
static void reduce_all(const struct reducing *r, uint64_t *out)
{
    uint64_t own[CHUNK];
    bool has_others = reduce_node(r, 0, 0, out);

    if (r->absent == WORLD_NONE) {
        return;
    }
    read_tensor(r, r->absent, own);
    for (uint32_t i = 0; i < r->count; i++) {
        out[i] = narrowed(r, has_others ? reduced_bits(&r->op->operation, out[i], own[i]) : own[i]);
    }
}

/* Where there is no sum yet, the part is it. */
static bool reduce_with(const struct reducing *r, bool has_sum, uint64_t *sum, const uint64_t *part)
{
    for (uint32_t i = 0; i < r->count; i++) {
        sum[i] = has_sum ? narrowed(r, reduced_bits(&r->op->operation, sum[i], part[i])) : part[i];
    }
    return true;
}

/* On rings: in each group, one after another, from the place behind the owner's, but for the one that has the owner's
 * place, who reduces what comes from the groups before with that, and then with its own part; from the group behind the
 * owner's to the owner, rounded at each. */
static void reduce_rings(const struct reducing *r, uint32_t owner, uint64_t *out)
{
    uint32_t group = r->comm->set.session.group;
    uint32_t groups = r->comm->set.session.ranks / group;
    uint64_t inside[CHUNK];
    uint64_t part[CHUNK];
    bool has_sum = false;

    for (uint32_t across = 1; across <= groups; across++) {
        uint32_t first = (owner / group + across) % groups * group;
        bool has_inside = false;
        for (uint32_t step = 1; step < group; step++) {
            read_tensor(r, first + (owner + step) % group, part);
            has_inside = reduce_with(r, has_inside, inside, part);
        }
        if (has_inside) {
            has_sum = reduce_with(r, has_sum, out, inside);
        }
        read_tensor(r, first + owner % group, part);
        has_sum = reduce_with(r, has_sum, out, part);
    }
}

/* Who has the sum of a fragment first: of an allreduce, each place of each group in turn. */
static uint32_t owner_of(const struct reducing *r, uint64_t fragment)
{
    uint32_t group = r->comm->set.session.group;
    uint32_t groups = r->comm->set.session.ranks / group;

    if (r->op->operation.collective == TRIB_REDUCE) {
        return r->op->operation.root;
    }
    return r->absent != WORLD_NONE ? r->absent : (uint32_t)(fragment / group % groups * group + fragment % group);
}

enum trib_type oracle_wire(const struct world_comm *comm)
{
    enum trib_type wire = comm->set.session.wire;

    return world_has_peers(comm->world) && wire == TRIB_INT32 ? TRIB_FLOAT32 : wire;
}

/* A list of ranks takes 64 of them. */
uint32_t oracle_data(const struct world_comm *comm)
{
    return comm->set.session.payload - (comm_has_quorum(comm) ? 64 : 0);
}

/* Elements of a fragment. */
uint32_t oracle_block(const struct world_comm *comm, const struct world_op *op)
{
    enum trib_type type = op->operation.type == TRIB_FLOAT32 ? oracle_wire(comm) : op->operation.type;

    return oracle_data(comm) / (uint32_t)trib_type_size(type);
}

/* ---- one tensor ---- */

static bool divides(const struct world_op *op, uint32_t ranks)
{
    return op->operation.reduction == TRIB_AVERAGE && ranks > 1;
}

/* The result of a reduction as the tensor's element, divided for an average. */
static void put(struct world_op *op, uint64_t element, uint64_t bits, uint32_t ranks)
{
    const enum trib_type type = op->operation.type;
    const enum trib_type wide = type == TRIB_FLOAT64 ? TRIB_FLOAT64 : TRIB_FLOAT32;
    const size_t size = trib_type_size(type);

    if (divides(op, ranks)) {
        bits = is_float(type) ? bits_from(wide, number(wide, bits) / ranks)
                              : (uint64_t)(whole(type, bits) / (int64_t)ranks);
    }
    if (type == TRIB_FLOAT16) {
        bits = to_f16(float_of((uint32_t)bits));
    } else if (type == TRIB_BFLOAT16) {
        bits = to_bf16(float_of((uint32_t)bits));
    }
    memcpy(op->expected + size * element, &bits, size);
}

static void expect(struct reducing *r, struct world_op *op, uint64_t from, uint64_t to)
{
    uint64_t total[CHUNK];

    r->op = op;
    for (r->from = from; r->from < to; r->from += r->count) {
        r->count = to - r->from < CHUNK ? (uint32_t)(to - r->from) : CHUNK;
        if (world_has_peers(r->comm->world)) {
            uint32_t block = oracle_block(r->comm, op);
            uint64_t left = block - r->from % block;
            r->count = r->count < left ? r->count : (uint32_t)left;
            reduce_rings(r, owner_of(r, r->from / block), total);
        } else {
            reduce_all(r, total);
        }
        for (uint32_t i = 0; i < r->count; i++) {
            put(op, r->from + i, total[i], r->list != NULL ? rank_set_count(r->list) : r->comm->set.session.ranks);
        }
    }
}

static float via_bf16(float value)
{
    return from_bf16(to_bf16(value));
}

static float via_f16(float value)
{
    return from_f16(to_f16(value));
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
static void expect_block(const struct reducing *r, struct world_op *op, uint64_t from, uint64_t to)
{
    uint32_t ranks = r->comm->set.session.ranks;
    int exponent = block_exponent(op, ranks, from, to);
    int log = 0;

    if (exponent == 1000) {
        expect(&(struct reducing){.comm = r->comm, .absent = r->absent, .root = r->root}, op, from, to);
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
        put(op, i, bits_of((float)((double)total * power(-shift))), ranks);
    }
}

/* Block floating point is for what is added. */
static bool is_in_blocks(const struct world_comm *comm, const struct trib_operation *o)
{
    return oracle_wire(comm) == TRIB_INT32 && o->type == TRIB_FLOAT32 &&
           (o->reduction == TRIB_SUM || o->reduction == TRIB_AVERAGE);
}

static void narrow(const struct world_comm *comm, const struct world_op *op, struct reducing *r)
{
    if (op->operation.type == TRIB_FLOAT32 && oracle_wire(comm) == TRIB_BFLOAT16) {
        r->narrow = via_bf16;
        r->narrows_first = true;
    } else if (op->operation.type == TRIB_FLOAT16) {
        r->narrow = via_f16;
    } else if (op->operation.type == TRIB_BFLOAT16) {
        r->narrow = via_bf16;
    }
}

/* Elements [from, to): one rank's share, who adds its part itself, or all there are (absent is WORLD_NONE). */
static void expect_share(const struct world_comm *comm, struct world_op *op, uint32_t absent, uint64_t from,
                         uint64_t to)
{
    struct reducing r = {.comm = comm, .absent = absent};
    uint64_t block = comm->set.session.payload / 4;

    if (is_in_blocks(comm, &op->operation)) {
        for (uint64_t i = from; i < to; i += block) {
            expect_block(&r, op, i, i + block < to ? i + block : to);
        }
        return;
    }
    narrow(comm, op, &r);
    expect(&r, op, from, to);
}

/* Where each root has another tree: fragment by fragment. Which elements are in which, src/ says. */
static void expect_fragments(const struct world_comm *comm, struct world_op *op)
{
    struct trib_operation operation = op->operation;
    struct trib_layout layout;
    void *shares = op->is_uneven ? world_zeroed(1, trib_shares_size(comm->set.session.ranks)) : NULL;

    operation.shares = shares != NULL ? trib_shares_init(shares, &comm->set.session, &operation, op->share) : NULL;
    trib_layout_init(&layout, &comm->set.session, &operation, 0);
    for (uint64_t block = 0; block < layout.blocks; block++) {
        struct reducing r = {.comm = comm, .absent = WORLD_NONE};
        struct trib_piece piece;
        trib_layout_piece(&layout, &operation, block, &piece);
        r.root = comm_root_of(comm, comm->set.session.first + op->first + layout.lookahead + block);
        r.absent = op->operation.collective == TRIB_REDUCE_SCATTER ? piece.owner : WORLD_NONE;
        if (is_in_blocks(comm, &op->operation)) {
            expect_block(&r, op, piece.whole_at, piece.whole_at + piece.elements);
        } else {
            narrow(comm, op, &r);
            expect(&r, op, piece.whole_at, piece.whole_at + piece.elements);
        }
    }
    free(shares);
}

void oracle_expect_of(const struct world_comm *comm, struct world_op *op, uint64_t fragment,
                      const struct rank_set *list)
{
    struct reducing r = {.comm = comm, .absent = WORLD_NONE, .list = list};
    uint64_t from = fragment * oracle_block(comm, op);
    uint64_t to = from + oracle_block(comm, op);

    narrow(comm, op, &r);
    expect(&r, op, from, to < op->elements ? to : op->elements);
}

void oracle_expect(const struct world_comm *comm, struct world_op *op)
{
    enum trib_collective collective = op->operation.collective;

    if (collective == TRIB_BROADCAST || collective == TRIB_ALLGATHER || collective == TRIB_BARRIER) {
        memcpy(op->expected, op->inputs, op->bytes);
    } else if (comm->world->scheme->is_chain) {
        expect_fragments(comm, op);
    } else if (collective != TRIB_REDUCE_SCATTER) {
        expect_share(comm, op, WORLD_NONE, 0, op->elements);
    } else {
        for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
            expect_share(comm, op, rank, op->before[rank], op->before[rank] + op->share[rank]);
        }
    }
}
