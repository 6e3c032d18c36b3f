/* SPDX-License-Identifier: Apache-2.0 */
/* check_buffers.c: what may be in a caller's buffer, and when (I11): a send buffer is never written to; every element of a receive
 * buffer is the old one or the final one at any time, and the final one at DONE; the bytes around it are nobody's. After DONE the
 * buffers are scribbled on: a node that still reads them sends garbage, which other ranks' checks then find.
 * Read next: check_end.c. */
#include "check_buffers.h"

#include <stdlib.h>
#include <string.h>

#define GUARD 32

static uint8_t guard_byte(uint64_t at)
{
    return (uint8_t)(0xc3 + 29 * at);
}

static uint8_t old_byte(uint32_t rank, uint64_t at)
{
    return (uint8_t)(0x5a + 7 * at + 13 * (uint64_t)rank);
}

static const uint8_t *input(const struct world_op *op, uint32_t rank)
{
    return op->operation.collective == TRIB_ALLREDUCE ? op->inputs + rank * op->bytes : op->inputs;
}

static uint8_t *guarded(const struct world_op *op, uint8_t **memory)
{
    uint64_t size = op->bytes + 2 * GUARD + op->misaligned;

    *memory = malloc(size);
    if (*memory == NULL) {
        exit(2);
    }
    for (uint64_t i = 0; i < size; i++) {
        (*memory)[i] = guard_byte(i);
    }
    return *memory + GUARD + op->misaligned;
}

/* The root of a broadcast sends from its buffer and receives nothing; the others only receive. */
void buffers_make(struct world_op *op, uint32_t rank)
{
    struct rank_op *r = &op->ranks[rank];
    const struct trib_operation *o = &op->operation;
    bool sends = o->collective == TRIB_ALLREDUCE || (o->collective == TRIB_BROADCAST && o->root == rank);
    bool receives = o->collective == TRIB_ALLREDUCE || (o->collective == TRIB_BROADCAST && o->root != rank);

    if (op->bytes == 0) {
        return;
    }
    if (sends) {
        r->send = guarded(op, &r->send_memory);
        memcpy(r->send, input(op, rank), op->bytes);
    }
    if (sends && receives && op->in_place) {
        r->recv = r->send;
    } else if (receives) {
        r->recv = guarded(op, &r->recv_memory);
        for (uint64_t i = 0; i < op->bytes; i++) {
            r->recv[i] = old_byte(rank, i);
        }
    }
}

void buffers_free(struct rank_op *r)
{
    free(r->send_memory);
    free(r->recv_memory);
    r->send_memory = r->recv_memory = r->send = r->recv = NULL;
}

static void scribble(struct trib_prng *prng, uint8_t *at, uint64_t bytes)
{
    uint64_t bits = trib_prng_next(prng) | 1;
    uint64_t i = 0;

    for (; at != NULL && i + 8 <= bytes; i += 8) {
        memcpy(at + i, &bits, 8);
    }
    for (; at != NULL && i < bytes; i++) {
        at[i] = (uint8_t)bits;
    }
}

void buffers_scribble(struct trib_prng *prng, struct world_op *op, uint32_t rank)
{
    scribble(prng, op->ranks[rank].send, op->bytes);
    scribble(prng, op->ranks[rank].recv, op->bytes);
}

static bool guards_hold(const struct world_op *op, const uint8_t *memory)
{
    uint64_t size = op->bytes + 2 * GUARD + op->misaligned;

    for (uint64_t i = 0; memory != NULL && i < GUARD; i++) {
        if (memory[i] != guard_byte(i) || memory[size - 1 - i] != guard_byte(size - 1 - i)) {
            return false;
        }
    }
    return true;
}

static void check_edges(const struct world_comm *comm, uint32_t rank, const struct world_op *op)
{
    const struct rank_op *r = &op->ranks[rank];

    if (!guards_hold(op, r->send_memory) || !guards_hold(op, r->recv_memory)) {
        world_fail(comm->world, WORLD_CHECK_BUFFER, "rank %u: operation %u wrote beside its buffer", rank,
                   (uint32_t)op->operation.token);
    }
    if (r->send != NULL && r->send != r->recv && memcmp(r->send, input(op, rank), op->bytes) != 0) {
        world_fail(comm->world, WORLD_CHECK_BUFFER, "rank %u: operation %u wrote to its send buffer", rank,
                   (uint32_t)op->operation.token);
    }
}

void check_done(struct world_comm *comm, uint32_t rank, struct world_op *op)
{
    const struct rank_op *r = &op->ranks[rank];
    size_t size = trib_type_size(op->operation.type);

    check_edges(comm, rank, op);
    if (r->recv != NULL && op->operation.count > 0 && comm->set.session.ranks > 1) {
        comm->world->report->reduced[op->operation.reduction][op->operation.type]++;
    }
    if (r->recv == NULL || memcmp(r->recv, op->expected, op->bytes) == 0) {
        return;
    }
    uint64_t at = 0;
    while (memcmp(r->recv + at * size, op->expected + at * size, size) == 0) {
        at++;
    }
    uint64_t got = 0;
    uint64_t want = 0;
    memcpy(&got, r->recv + at * size, size);
    memcpy(&want, op->expected + at * size, size);
    world_fail(comm->world, WORLD_CHECK_ORACLE,
               "communicator %u rank %u: operation %u (%s, %s): element %llu of %llu is %llx, not %llx", comm->index,
               rank, (uint32_t)op->operation.token, trib_type_name(op->operation.type),
               trib_reduction_name(op->operation.reduction), (unsigned long long)at,
               (unsigned long long)op->operation.count, (unsigned long long)got, (unsigned long long)want);
}

/* Bytes [first, first + size) of a receive buffer. */
static bool is_old(const struct world_op *op, uint32_t rank, uint64_t first, size_t size)
{
    const struct rank_op *r = &op->ranks[rank];

    if (r->recv == r->send) {
        return memcmp(r->recv + first, input(op, rank) + first, size) == 0;
    }
    for (uint64_t i = first; i < first + size; i++) {
        if (r->recv[i] != old_byte(rank, i)) {
            return false;
        }
    }
    return true;
}

/* Most of a buffer is old or final in long runs, so it is compared in large pieces first. */
static bool is_old_or_final(const struct world_op *op, uint32_t rank, uint64_t *at)
{
    const struct rank_op *r = &op->ranks[rank];
    size_t size = trib_type_size(op->operation.type);
    uint64_t piece = 128 / size;

    for (uint64_t low = 0; low < op->operation.count; low += piece) {
        uint64_t count = op->operation.count - low < piece ? op->operation.count - low : piece;
        if (memcmp(r->recv + low * size, op->expected + low * size, count * size) == 0 ||
            is_old(op, rank, low * size, count * size)) {
            continue;
        }
        for (*at = low; *at < low + count; ++*at) {
            if (memcmp(r->recv + *at * size, op->expected + *at * size, size) != 0 &&
                !is_old(op, rank, *at * size, size)) {
                return false;
            }
        }
    }
    return true;
}

/* All operations that are under way at a rank, at some moment. */
void check_partial(struct world_comm *comm, uint32_t rank)
{
    for (uint32_t i = 0; i < comm->ranks[rank].submitted && comm->set.hostility != WORLD_LETHAL; i++) {
        struct world_op *op = &comm->ops[i];
        uint64_t at;
        if (op->ranks[rank].state != RANK_OP_RUNS) {
            continue;
        }
        comm->world->report->spot_checks++;
        check_edges(comm, rank, op);
        if (op->ranks[rank].recv != NULL && !is_old_or_final(op, rank, &at)) {
            world_fail(comm->world, WORLD_CHECK_BUFFER, "rank %u: operation %u: element %llu is neither old nor final",
                       rank, i, (unsigned long long)at);
        }
    }
}
