/* SPDX-License-Identifier: Apache-2.0 */
/* work.c: what the ranks of a world do: the same random list of collectives on each, submitted at skewed times, with
 * several under way. Buffers lie between guard bytes and are scribbled on as soon as an operation is done (I11).
 * Read next: oracle.c, check_buffers.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_buffers.h"
#include "core/operation.h"
#include "world.h"

/* ---- what ---- */

static const enum trib_type reduced_types[] = {TRIB_FLOAT32, TRIB_FLOAT32, TRIB_FLOAT32, TRIB_FLOAT16, TRIB_BFLOAT16,
                                               TRIB_FLOAT64, TRIB_INT32,   TRIB_INT64,   TRIB_INT8,    TRIB_UINT8};
static const enum trib_reduction reductions[] = {TRIB_SUM,     TRIB_SUM,     TRIB_SUM,     TRIB_AVERAGE,
                                                 TRIB_AVERAGE, TRIB_MINIMUM, TRIB_MAXIMUM, TRIB_PRODUCT};

/* A collective of which not every rank gets all, or gives all. */
static void draw_part(struct world_comm *comm, struct trib_operation *o)
{
    static const enum trib_collective parts[] = {TRIB_REDUCE, TRIB_ALLGATHER, TRIB_REDUCE_SCATTER};
    struct world *world = comm->world;
    uint64_t shared =
        comm->set.skew == WORLD_SKEW_RANKS ? 1 : 3; /* with another number of ranks the shares end elsewhere */

    o->collective = parts[world_below(world, shared)];
    if (o->collective == TRIB_REDUCE) {
        o->root = (uint32_t)world_below(world, comm->set.session.ranks);
    } else if (o->collective == TRIB_ALLGATHER) {
        o->reduction = TRIB_REDUCTION_NONE;
        o->type = (enum trib_type)(1 + world_below(world, TRIB_TYPE_COUNT - 1));
    }
}

static void draw_operation(struct world_comm *comm, struct trib_operation *o, uint64_t elements)
{
    struct world *world = comm->world;
    uint64_t dice = world_below(world, 12);

    *o = (struct trib_operation){.collective = TRIB_ALLREDUCE};
    o->reduction = reductions[world_below(world, sizeof reductions / sizeof reductions[0])];
    o->type = reduced_types[world_below(world, sizeof reduced_types / sizeof reduced_types[0])];
    o->count = world_below(world, 8) == 0 ? 0 : 1 + world_below(world, elements);
    if (dice == 0) {
        o->collective = TRIB_BARRIER;
        o->reduction = TRIB_REDUCTION_NONE;
        o->type = TRIB_BYTES;
        o->count = 0;
    } else if (dice <= 3) {
        o->collective = TRIB_BROADCAST;
        o->reduction = TRIB_REDUCTION_NONE;
        o->root = (uint32_t)world_below(world, comm->set.session.ranks);
        o->type = (enum trib_type)(1 + world_below(world, TRIB_TYPE_COUNT - 1));
    }
    if (dice > 3 && world_below(world, 2) == 0) {
        draw_part(comm, o);
    }
    if (comm->set.skew == WORLD_SKEW_RANKS) { /* nobody's library takes a root that is no rank */
        o->root %= unit_skewed_ranks(comm);
    }
}

/* Whose shares are how large: equal ones, or any, many of them empty. */
static void draw_shares(struct world_comm *comm, struct world_op *op)
{
    struct world *world = comm->world;
    uint32_t ranks = comm->set.session.ranks;
    uint64_t even = op->operation.count / ranks;

    op->share = world_zeroed(ranks, sizeof *op->share);
    op->before = world_zeroed(ranks, sizeof *op->before);
    op->is_uneven = comm->set.skew == WORLD_SKEW_NONE && world_below(world, 2) == 0;
    op->elements = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        bool is_empty = world_below(world, 4) == 0;
        op->share[rank] = !op->is_uneven ? even : is_empty ? 0 : world_below(world, 2 * even + 2);
        op->before[rank] = op->elements;
        op->elements += op->share[rank];
    }
    op->operation.count = op->is_uneven ? op->elements : even;
    comm->world->report->uneven += op->is_uneven;
}

static void count_operation(struct world_report *r, enum trib_collective collective)
{
    r->allreduces += collective == TRIB_ALLREDUCE;
    r->broadcasts += collective == TRIB_BROADCAST;
    r->barriers += collective == TRIB_BARRIER;
    r->reduces += collective == TRIB_REDUCE;
    r->allgathers += collective == TRIB_ALLGATHER;
    r->scatters += collective == TRIB_REDUCE_SCATTER;
}

static bool is_added(const struct trib_operation *o)
{
    return o->reduction == TRIB_SUM || o->reduction == TRIB_AVERAGE;
}

static uint64_t fragments_of(const struct world_comm *comm, const struct world_op *op)
{
    const struct trib_session_config *s = &comm->set.session;
    const struct trib_operation *o = &op->operation;
    enum trib_type wire = oracle_wire(comm);
    bool converted = o->reduction != TRIB_REDUCTION_NONE && o->type == TRIB_FLOAT32;
    uint64_t wire_size = converted ? trib_type_size(wire) : trib_type_size(o->type);
    uint64_t per_block = oracle_data(comm) / wire_size;
    uint64_t blocks = op->share != NULL ? 0 : (o->count + per_block - 1) / per_block;

    for (uint32_t rank = 0; op->share != NULL && rank < s->ranks; rank++) {
        blocks += (op->share[rank] + per_block - 1) / per_block;
    }

    if (converted && wire == TRIB_INT32 && is_added(o)) {
        blocks += blocks < s->lookahead ? blocks : s->lookahead;
    }
    return blocks == 0 ? 1 : blocks;
}

/* ---- values ---- */

enum value_class {
    VALUES_UNIFORM, /* floats in [-1, 1) */
    VALUES_SMALL,   /* small integers */
    VALUES_BITS,    /* any finite bits */
    VALUES_SPECIAL, /* any bits, infinity and NaN often */
    VALUES_ZERO,    /* 0 and -0 */
    VALUES_HUGE,    /* sums overflow */
    VALUES_TINY,    /* subnormals */
    VALUES_COUNT
};

static float float_of(struct trib_prng *prng, enum value_class class)
{
    uint64_t bits = trib_prng_next(prng);
    uint32_t low = (uint32_t)bits;
    float value;

    switch (class) {
    case VALUES_UNIFORM:
        return (float)(int32_t)low * 0x1p-31f;
    case VALUES_SMALL:
        return (float)(int)(low % 201) - 100.0f;
    case VALUES_ZERO:
        return low % 3 == 0 ? -0.0f : 0.0f;
    case VALUES_HUGE:
        return (float)(int32_t)low * 0x1p97f;
    case VALUES_TINY:
        low &= UINT32_C(0x800fffff);
        break;
    case VALUES_SPECIAL:
        low = bits >> 61 == 0 ? (low & UINT32_C(0x80000000)) | UINT32_C(0x7f800000) | (bits >> 59 & 1 ? low & 0xffU : 0)
                              : low;
        break;
    case VALUES_BITS:
    case VALUES_COUNT:
        low = (low >> 23 & 0xff) == 0xff ? low ^ UINT32_C(0x40000000) : low;
        break;
    }
    memcpy(&value, &low, sizeof value);
    return value;
}

static double double_of(struct trib_prng *prng, enum value_class class)
{
    uint64_t bits = trib_prng_next(prng);
    double value;

    switch (class) {
    case VALUES_UNIFORM:
        return (double)(int64_t)bits * 0x1p-63;
    case VALUES_SMALL:
    case VALUES_ZERO:
        return (double)float_of(prng, class);
    case VALUES_HUGE:
        return (double)(int64_t)bits * 0x1p961;
    case VALUES_TINY:
        bits &= UINT64_C(0x801fffffffffffff);
        break;
    case VALUES_SPECIAL:
        if ((bits >> 40 & 7) == 0) {
            bits = (bits & UINT64_C(1) << 63) | UINT64_C(0x7ff0000000000000) | (bits >> 8 & 1 ? bits & 0xff : 0);
        }
        break;
    case VALUES_BITS:
    case VALUES_COUNT:
        bits = (bits >> 52 & 0x7ff) == 0x7ff ? bits ^ UINT64_C(0x4000000000000000) : bits;
        break;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool world_passes_on(const struct world *world)
{
    return strcmp(world->scheme->name, "forward") == 0;
}

/* Where parts are added as they come, sums of floats must be the same in any order: small integers, and 1 and -1, with
 * infinities and NaN in some tensors. Blocks with a common exponent are integers. */
static bool must_be_exact(const struct world_comm *comm, const struct trib_operation *o)
{
    return comm->world->scheme->sums_by_luck && (is_added(o) || o->reduction == TRIB_PRODUCT) &&
           (o->type == TRIB_FLOAT32 || o->type == TRIB_FLOAT64 || o->type == TRIB_FLOAT16 || o->type == TRIB_BFLOAT16);
}

static void put_exact(enum trib_type type, double value, uint8_t *at)
{
    float single = (float)value;
    uint32_t bits;
    uint16_t half;

    memcpy(&bits, &single, sizeof bits);
    if (type == TRIB_FLOAT64) {
        memcpy(at, &value, sizeof value);
        return;
    }
    if (type == TRIB_FLOAT32) {
        memcpy(at, &single, sizeof single);
        return;
    }
    half = (uint16_t)(bits >> 16);
    if (type == TRIB_FLOAT16) {
        uint32_t exponent = bits >> 23 & 0xff;
        uint32_t places = bits >> 13 & 0x3ff;
        half = (uint16_t)(exponent == 0 ? 0 : exponent == 0xff ? 0x7c00 | places : (exponent - 112) << 10 | places);
        half |= (uint16_t)(bits >> 16 & 0x8000);
    }
    memcpy(at, &half, sizeof half);
}

static void fill_exact(struct trib_prng *prng, const struct trib_operation *o, uint8_t *at, uint64_t count)
{
    static const double specials[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, -0.0};
    size_t size = trib_type_size(o->type);
    bool has_specials = trib_prng_below(prng, 4) == 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t dice = trib_prng_next(prng);
        double value = is_added(o) ? (double)(int)(dice % 7) - 3 : dice % 2 == 0 ? 1 : -1;
        value = has_specials && dice >> 61 == 0 ? specials[dice >> 32 & 3] : value;
        put_exact(o->type, value, at + size * i);
    }
}

/* has_any: of 16-bit floats also infinities, and any NaN. */
static void fill_tensor(struct trib_prng *prng, enum trib_type type, bool has_any, uint8_t *at, uint64_t count)
{
    static const enum value_class classes[] = {VALUES_UNIFORM, VALUES_UNIFORM, VALUES_SMALL, VALUES_BITS,
                                               VALUES_SPECIAL, VALUES_ZERO,    VALUES_HUGE,  VALUES_TINY};
    enum value_class class = classes[trib_prng_below(prng, 8)];
    size_t size = trib_type_size(type);
    bool is_finite = class != VALUES_SPECIAL || !has_any;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = trib_prng_next(prng);
        if (type == TRIB_FLOAT32) {
            float value = float_of(prng, class);
            memcpy(at + 4 * i, &value, 4);
            continue;
        }
        if (type == TRIB_FLOAT64) {
            double value = double_of(prng, class);
            memcpy(at + 8 * i, &value, 8);
            continue;
        }
        if (type == TRIB_FLOAT16 && is_finite && (bits >> 10 & 0x1f) == 0x1f) {
            bits ^= 0x4000; /* no infinity, no NaN */
        }
        if (type == TRIB_BFLOAT16 && is_finite && (bits >> 7 & 0xff) == 0xff) {
            bits ^= 0x4000;
        }
        memcpy(at + size * i, &bits, size);
    }
}

static void make_inputs(struct world_comm *comm, struct world_op *op)
{
    uint32_t copies = buffers_are_one(op) ? 1 : comm->set.session.ranks;
    struct trib_prng prng = {.state = trib_prng_next(&comm->world->prng)};

    op->inputs = world_zeroed(copies * op->bytes, 1);
    op->expected = world_zeroed(op->bytes, 1);
    for (uint32_t i = 0; i < copies; i++) {
        uint8_t *at = op->inputs + i * op->bytes;
        if (must_be_exact(comm, &op->operation)) {
            fill_exact(&prng, &op->operation, at, op->elements);
        } else {
            fill_tensor(&prng, op->operation.type, !world_passes_on(comm->world), at, op->elements);
        }
    }
}

/* Streams begin anywhere; often at 0, where 32 bits end, or so that they end with the last sequences of all. */
static void choose_first(struct world_comm *comm)
{
    struct trib_session_config *s = &comm->set.session;
    struct world *world = comm->world;

    /* Who cuts tensors in another way than the rest takes other sequences, perhaps more. */
    switch (comm->set.skew != WORLD_SKEW_NONE ? 1 + world_below(world, 4) : world_below(world, 5)) {
    case 0:
        s->first = trib_window_end(&comm->dealt.window) - comm->fragments;
        s->first -= world_below(world, 4);
        return;
    case 1:
        s->first = UINT32_MAX - world_below(world, comm->fragments + 2);
        return;
    case 2:
        s->first = trib_prng_next(&world->prng) >> 18;
        return;
    default:
        s->first = 0;
        return;
    }
}

void work_create(struct world_comm *comm)
{
    struct world *world = comm->world;
    uint64_t budget = comm->set.budget / comm->set.session.ranks / comm->set.op_count + 1;

    comm->ops = world_zeroed(comm->set.op_count, sizeof *comm->ops);
    for (uint32_t i = 0; i < comm->set.op_count; i++) {
        struct world_op *op = &comm->ops[i];
        uint64_t elements = (1 + world_below(world, 2 * budget)) * comm->set.session.payload / 4;
        draw_operation(comm, &op->operation, elements);
        op->elements = op->operation.count;
        if (op->operation.collective == TRIB_ALLGATHER || op->operation.collective == TRIB_REDUCE_SCATTER) {
            draw_shares(comm, op);
        }
        count_operation(world->report, op->operation.collective);
        op->bytes = op->elements * trib_type_size(op->operation.type);
        op->operation.token = i;
        op->in_place = world_below(world, 2) == 0;
        op->misaligned = world_below(world, 3) == 0 ? (uint8_t)world_below(world, 8) : 0;
        op->ranks = world_zeroed(comm->set.session.ranks, sizeof *op->ranks);
        make_inputs(comm, op);
        op->first = comm->fragments;
        comm->fragments += fragments_of(comm, op);
    }
    choose_first(comm);
    for (uint32_t i = 0; i < comm->set.op_count; i++) {
        oracle_expect(comm, &comm->ops[i]);
    }
    comm->known = comm_has_quorum(comm) ? world_zeroed(comm->fragments, sizeof *comm->known) : NULL;
}

void work_destroy(struct world_comm *comm)
{
    for (uint32_t i = 0; i < comm->set.op_count; i++) {
        for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
            buffers_free(&comm->ops[i].ranks[rank]);
        }
        free(comm->ops[i].ranks);
        free(comm->ops[i].inputs);
        free(comm->ops[i].expected);
        free(comm->ops[i].earlier);
        free(comm->ops[i].share);
        free(comm->ops[i].before);
    }
    free(comm->known);
    free(comm->ops);
}

/* ---- when ---- */

void work_schedule(struct world_comm *comm)
{
    struct world *world = comm->world;

    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        uint64_t time = world->now_ns;
        struct trib_prng gaps = {.state = world->seed + comm->index}; /* the same on all ranks */
        for (uint32_t i = 0; i < comm->set.op_count; i++) {
            time += comm->set.gap_ns == 0 ? 0 : trib_prng_below(&gaps, comm->set.gap_ns);
            uint64_t lag = rank == comm->set.lagging_rank ? world_below(world, comm->set.lag_ns) : 0;
            world_schedule(world, time + lag + world_below(world, comm->set.late_ns),
                           (struct world_event){.kind = WORLD_SUBMIT, .a = comm->index, .b = rank});
        }
    }
}

/* Each rank has its own table, gone with its buffers. */
static const struct trib_shares *make_shares(const struct world_comm *comm, const struct world_op *op, uint32_t rank)
{
    struct rank_op *r = &op->ranks[rank];

    if (op->is_uneven && r->shares == NULL) {
        r->shares = world_zeroed(1, trib_shares_size(comm->set.session.ranks));
        (void)trib_shares_init(r->shares, &comm->set.session, &op->operation, op->share);
    }
    return r->shares;
}

/* Some ranks of some jobs have one. Elsewhere the field of the packet is a cap. */
static uint32_t priority_of(const struct world_comm *comm, uint32_t rank)
{
    uint64_t dice = trib_mix64(comm->world->seed ^ ((uint64_t)comm->ranks[rank].submitted << 16 | comm->index));

    return comm->world->scheme->has_combiners && (dice >> (8 + rank % 8) & 1) != 0 ? (uint32_t)(dice % 4) : 0;
}

/* As many as are due and the node takes. */
void work_submit(struct world_comm *comm, uint32_t rank)
{
    struct world *world = comm->world;
    const struct trib_worker_verbs *verbs = world->scheme->worker;
    struct comm_rank *r = &comm->ranks[rank];
    void *node = worker_node(comm, rank);

    while (r->submitted < r->due) {
        struct world_op *op = &comm->ops[r->submitted];
        struct rank_op *buffers = &op->ranks[rank];
        if (buffers->send_memory == NULL && buffers->recv_memory == NULL) {
            buffers_make(op, rank);
        }
        struct trib_operation operation = op->operation;
        operation.priority = priority_of(comm, rank);
        operation.shares = make_shares(comm, op, rank);
        operation.send = buffers->send;
        operation.recv = buffers->recv;
        uint64_t end = verbs->end(node);
        if (!verbs->submit(node, &operation, world->now_ns + world->units[r->unit].clock_ns)) {
            return;
        }
        uint64_t fragments = verbs->end(node) - end;
        if (fragments != fragments_of(comm, op) && comm_has_promise(comm)) {
            world_fail(world, WORLD_CHECK_MISUSE, "rank %u: operation %u takes %u sequences", rank, r->submitted,
                       (uint32_t)fragments);
        }
        buffers->state = RANK_OP_RUNS;
        r->submitted++;
    }
}

static void all_done(struct world_comm *comm, uint32_t rank)
{
    struct world *world = comm->world;

    if (comm->set.closes) {
        world_schedule(world, world->now_ns + world_below(world, comm->set.late_ns),
                       (struct world_event){.kind = WORLD_CLOSE, .a = comm->index, .b = rank});
    }
    world->check_ns = 0;
}

void work_done(struct world_comm *comm, uint32_t rank, uint64_t token)
{
    struct world *world = comm->world;
    struct comm_rank *r = &comm->ranks[rank];

    if (token >= comm->set.op_count || comm->ops[token].ranks[rank].state != RANK_OP_RUNS) {
        world_fail(world, WORLD_CHECK_MISUSE, "rank %u: DONE of operation %u, which is not under way", rank,
                   (uint32_t)token);
        return;
    }
    struct world_op *op = &comm->ops[token];
    op->ranks[rank].state = RANK_OP_DONE;
    if (comm->set.hostility != WORLD_LETHAL || proof_covers(comm, op)) {
        check_done(comm, rank, op);
    }
    buffers_scribble(&world->prng, op, rank);
    if (comm->set.free_buffers) {
        buffers_free(&op->ranks[rank]);
    }
    r->done++;
    comm->done_all++;
    comm->last_done_ns = world->now_ns;
    r->idle_ns = world->now_ns;
    if (r->done == r->submitted) {
        world_schedule(world, world->now_ns + 50 * WORLD_MS,
                       (struct world_event){.kind = WORLD_IDLE, .a = comm->index, .b = rank});
    }
    if (r->done == comm_ops(comm, rank)) {
        all_done(comm, rank);
    }
}

/* The rank has an error, or is dead: its node is about to go, and all buffers are its owner's again. */
void work_end_rank(struct world_comm *comm, uint32_t rank)
{
    check_partial(comm, rank);
    for (uint32_t i = 0; i < comm->ranks[rank].submitted; i++) {
        buffers_scribble(&comm->world->prng, &comm->ops[i], rank);
        buffers_free(&comm->ops[i].ranks[rank]);
    }
}
