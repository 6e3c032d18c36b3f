/* SPDX-License-Identifier: Apache-2.0 */
/* work.c: what the ranks of a world do: the same random list of collectives on each, submitted at skewed times, with several under way.
 * Buffers lie between guard bytes and are scribbled on as soon as an operation is done (I11).
 * Read next: oracle.c, check_buffers.c. */
#include <stdlib.h>
#include <string.h>

#include "check_buffers.h"
#include "world.h"

/* Fragments times ranks of a world, so that a world takes some 10 ms. */
#define BUDGET 8000

static void *allocated(size_t size)
{
    void *memory = malloc(size == 0 ? 1 : size);

    if (memory == NULL) {
        exit(2);
    }
    return memory;
}

/* ---- what ---- */

static const enum trib_type sum_types[] = {TRIB_FLOAT32,  TRIB_FLOAT32, TRIB_FLOAT32, TRIB_FLOAT16,
                                           TRIB_BFLOAT16, TRIB_INT32,   TRIB_INT64};
static const enum trib_type any_types[] = {TRIB_FLOAT32, TRIB_FLOAT16, TRIB_BFLOAT16,
                                           TRIB_INT32,   TRIB_INT64,   TRIB_BYTES};

static void draw_operation(struct world *world, struct trib_operation *o, uint64_t elements)
{
    uint64_t dice = world_below(world, 12);

    *o = (struct trib_operation){.collective = TRIB_ALLREDUCE, .reduction = TRIB_SUM};
    o->type = sum_types[world_below(world, sizeof sum_types / sizeof sum_types[0])];
    o->count = world_below(world, 8) == 0 ? 0 : 1 + world_below(world, elements);
    if (dice == 0) {
        o->collective = TRIB_BARRIER;
        o->type = TRIB_BYTES;
        o->count = 0;
    } else if (dice <= 3) {
        o->collective = TRIB_BROADCAST;
        o->root = (uint32_t)world_below(world, world->set.session.ranks);
        o->type = any_types[world_below(world, sizeof any_types / sizeof any_types[0])];
    } else if (dice <= 6) {
        o->reduction = TRIB_AVERAGE;
    }
}

static uint64_t fragments_of(const struct trib_session_config *s, const struct trib_operation *o)
{
    bool summed = o->collective == TRIB_ALLREDUCE && o->type == TRIB_FLOAT32;
    uint64_t wire_size = summed ? trib_type_size(s->wire) : trib_type_size(o->type);
    uint64_t per_block = s->payload / wire_size;
    uint64_t blocks = (o->count + per_block - 1) / per_block;

    if (summed && s->wire == TRIB_INT32) {
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

static void fill_tensor(struct trib_prng *prng, enum trib_type type, uint8_t *at, uint64_t count)
{
    static const enum value_class classes[] = {VALUES_UNIFORM, VALUES_UNIFORM, VALUES_SMALL, VALUES_BITS,
                                               VALUES_SPECIAL, VALUES_ZERO,    VALUES_HUGE,  VALUES_TINY};
    enum value_class class = classes[trib_prng_below(prng, 8)];
    size_t size = trib_type_size(type);

    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = trib_prng_next(prng);
        if (type == TRIB_FLOAT32) {
            float value = float_of(prng, class);
            memcpy(at + 4 * i, &value, 4);
            continue;
        }
        if (type == TRIB_FLOAT16 && class != VALUES_SPECIAL && (bits >> 10 & 0x1f) == 0x1f) {
            bits ^= 0x4000; /* no infinity, no NaN */
        }
        if (type == TRIB_BFLOAT16 && class != VALUES_SPECIAL && (bits >> 7 & 0xff) == 0xff) {
            bits ^= 0x4000;
        }
        memcpy(at + size * i, &bits, size);
    }
}

static void make_inputs(struct world *world, struct world_op *op)
{
    bool summed = op->operation.collective == TRIB_ALLREDUCE;
    uint32_t copies = summed ? world->set.session.ranks : 1;
    struct trib_prng prng = {.state = trib_prng_next(&world->prng)};

    op->inputs = allocated(copies * op->bytes);
    op->expected = allocated(op->bytes);
    for (uint32_t i = 0; i < copies; i++) {
        fill_tensor(&prng, op->operation.type, op->inputs + i * op->bytes, op->operation.count);
    }
    oracle_expect(&world->set.session, op);
}

static void choose_first(struct world *world)
{
    struct trib_session_config *s = &world->set.session;
    uint64_t margin = world->fragments + 4 * (uint64_t)s->roots * (s->slots + s->train);

    switch (world_below(world, 5)) {
    case 0:
        s->first = TRIB_SEQUENCE_MAX - margin - world_below(world, 100);
        return;
    case 1:
        s->first = UINT32_MAX - world_below(world, world->fragments + 2);
        return;
    case 2:
        s->first = trib_prng_next(&world->prng) >> 18;
        return;
    default:
        s->first = 0;
        return;
    }
}

void work_create(struct world *world)
{
    uint64_t budget = BUDGET / world->set.session.ranks / world->set.op_count + 1;

    for (uint32_t i = 0; i < world->set.op_count; i++) {
        struct world_op *op = &world->ops[i];
        uint64_t elements = (1 + world_below(world, 2 * budget)) * world->set.session.payload / 4;
        draw_operation(world, &op->operation, elements);
        op->bytes = op->operation.count * trib_type_size(op->operation.type);
        op->operation.token = i;
        op->in_place = world_below(world, 2) == 0;
        op->misaligned = world_below(world, 3) == 0 ? (uint8_t)world_below(world, 8) : 0;
        make_inputs(world, op);
        world->fragments += fragments_of(&world->set.session, &op->operation);
    }
    choose_first(world);
}

void work_destroy(struct world *world)
{
    for (uint32_t i = 0; i < world->set.op_count; i++) {
        for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
            buffers_free(&world->ops[i].ranks[rank]);
        }
        free(world->ops[i].inputs);
        free(world->ops[i].expected);
    }
}

/* ---- when ---- */

void work_schedule(struct world *world)
{
    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        uint64_t time = 0;
        struct trib_prng gaps = {.state = world->seed}; /* the same on all ranks */
        for (uint32_t i = 0; i < world->set.op_count; i++) {
            time += world->set.gap_ns == 0 ? 0 : trib_prng_below(&gaps, world->set.gap_ns);
            world_schedule(world, time + world_below(world, world->set.skew_ns), WORLD_SUBMIT, rank, i, 0);
        }
    }
}

/* As many as are due and the node takes. */
void work_submit(struct world *world, uint32_t rank)
{
    const struct trib_worker_verbs *verbs = world->scheme->worker;
    struct world_node *n = &world->nodes[rank];

    while (world->submitted[rank] < world->due[rank]) {
        struct world_op *op = &world->ops[world->submitted[rank]];
        struct rank_op *r = &op->ranks[rank];
        if (r->send_memory == NULL && r->recv_memory == NULL) {
            buffers_make(op, rank);
        }
        struct trib_operation operation = op->operation;
        operation.send = r->send;
        operation.recv = r->recv;
        uint64_t end = verbs->end(n->memory);
        if (!verbs->submit(n->memory, &operation, world->now_ns + n->clock_ns)) {
            return;
        }
        uint64_t fragments = verbs->end(n->memory) - end;
        if (fragments != fragments_of(&world->set.session, &operation)) {
            world_fail(world, "rank %u: operation %u takes %u sequences", rank, world->submitted[rank],
                       (uint32_t)fragments);
        }
        r->state = RANK_OP_RUNS;
        world->submitted[rank]++;
    }
}

void work_done(struct world *world, uint32_t rank, uint64_t token)
{
    struct world_session *session = &world->sessions[rank];

    if (token >= world->set.op_count || world->ops[token].ranks[rank].state != RANK_OP_RUNS) {
        world_fail(world, "rank %u: DONE of operation %u, which is not under way", rank, (uint32_t)token);
        return;
    }
    struct world_op *op = &world->ops[token];
    op->ranks[rank].state = RANK_OP_DONE;
    if (world->set.hostility != WORLD_LETHAL) {
        check_done(world, rank, op);
    }
    buffers_scribble(&world->prng, op, rank);
    if (world->set.free_buffers) {
        buffers_free(&op->ranks[rank]);
    }
    world->done[rank]++;
    world->done_all++;
    world->last_done_ns = world->now_ns;
    world->report->trace = trib_prng_next(&(struct trib_prng){.state = world->report->trace + token * 64 + rank});
    session->idle_ns = world->now_ns;
    if (world->done[rank] == world->submitted[rank]) {
        world_schedule(world, world->now_ns + 50 * WORLD_MS, WORLD_IDLE, rank, 0, 0);
    }
}
