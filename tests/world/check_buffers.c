/* SPDX-License-Identifier: Apache-2.0 */
/* check_buffers.c: what may be in a caller's buffer, and when (I11): a send buffer is never written to; every element
 * of a receive buffer is the old one or the final one at any time, and the final one at DONE; the bytes around it are
 * nobody's. After DONE the buffers are scribbled on: a node that still reads them sends garbage, which other ranks'
 * checks then find.
 * Read next: check_end.c. */
#include "check_buffers.h"

#include "core/operation.h"

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

/* ---- which part of the tensor a rank has ---- */

struct part {
    uint64_t at, bytes;
};

static struct part share_of(const struct world_op *op, uint32_t rank)
{
    size_t size = trib_type_size(op->operation.type);

    return (struct part){op->before[rank] * size, op->share[rank] * size};
}

static struct part sent_by(const struct world_op *op, uint32_t rank)
{
    return op->operation.collective == TRIB_ALLGATHER ? share_of(op, rank) : (struct part){0, op->bytes};
}

static struct part received_by(const struct world_op *op, uint32_t rank)
{
    return op->operation.collective == TRIB_REDUCE_SCATTER ? share_of(op, rank) : (struct part){0, op->bytes};
}

bool buffers_are_one(const struct world_op *op)
{
    return op->operation.collective == TRIB_BROADCAST || op->operation.collective == TRIB_ALLGATHER ||
           op->operation.collective == TRIB_BARRIER;
}

/* The tensor, as this rank knows it. */
static const uint8_t *input(const struct world_op *op, uint32_t rank)
{
    return buffers_are_one(op) ? op->inputs : op->inputs + rank * op->bytes;
}

static uint8_t *guarded(const struct world_op *op, uint64_t bytes, uint8_t **memory)
{
    uint64_t size = bytes + 2 * GUARD + op->misaligned;

    *memory = malloc(size);
    if (*memory == NULL) {
        exit(2);
    }
    for (uint64_t i = 0; i < size; i++) {
        (*memory)[i] = guard_byte(i);
    }
    return *memory + GUARD + op->misaligned;
}

static void make_send(const struct world_op *op, uint32_t rank, struct rank_op *r)
{
    struct part sent = sent_by(op, rank);

    r->send = guarded(op, sent.bytes, &r->send_memory);
    memcpy(r->send, input(op, rank) + sent.at, sent.bytes);
}

static void make_recv(const struct world_op *op, uint32_t rank, struct rank_op *r)
{
    struct part received = received_by(op, rank);

    r->recv = guarded(op, received.bytes, &r->recv_memory);
    for (uint64_t i = 0; i < received.bytes; i++) {
        r->recv[i] = old_byte(rank, i);
    }
}

/* In place: one buffer holds the other, at the place of the rank's share. */
static void make_both(const struct world_op *op, uint32_t rank, struct rank_op *r)
{
    struct part sent = sent_by(op, rank);
    struct part received = received_by(op, rank);

    if (!op->in_place) {
        make_send(op, rank, r);
        make_recv(op, rank, r);
    } else if (sent.bytes == op->bytes) {
        make_send(op, rank, r);
        r->recv = r->send + received.at;
    } else {
        make_recv(op, rank, r);
        r->send = r->recv + sent.at;
        memcpy(r->send, input(op, rank) + sent.at, sent.bytes);
    }
}

/* The root of a broadcast sends from its buffer and receives nothing; the others only receive. The root of a reduce
 * alone receives. */
void buffers_make(struct world_op *op, uint32_t rank)
{
    struct rank_op *r = &op->ranks[rank];
    bool is_root = op->operation.root == rank;

    if (op->bytes == 0) {
        return;
    }
    if (op->operation.collective == TRIB_BROADCAST) {
        if (is_root) {
            make_send(op, rank, r);
        } else {
            make_recv(op, rank, r);
        }
    } else if (op->operation.collective == TRIB_REDUCE && !is_root) {
        make_send(op, rank, r);
    } else {
        make_both(op, rank, r);
    }
}

void buffers_free(struct rank_op *r)
{
    free(r->send_memory);
    free(r->recv_memory);
    free(r->shares);
    r->shares = NULL;
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
    struct rank_op *r = &op->ranks[rank];

    scribble(prng, r->send, sent_by(op, rank).bytes);
    scribble(prng, r->recv, received_by(op, rank).bytes);
    if (r->shares != NULL) {
        memset(r->shares, 0x5a, sizeof(struct trib_shares));
    }
}

static bool guards_hold(const struct world_op *op, uint64_t bytes, const uint8_t *memory)
{
    uint64_t size = bytes + 2 * GUARD + op->misaligned;

    for (uint64_t i = 0; memory != NULL && i < GUARD; i++) {
        if (memory[i] != guard_byte(i) || memory[size - 1 - i] != guard_byte(size - 1 - i)) {
            return false;
        }
    }
    return true;
}

/* All that was sent is as it was, but for what the result takes the place of. */
static bool is_sent_whole(const struct world_op *op, uint32_t rank, struct part sent, struct part received)
{
    const struct rank_op *r = &op->ranks[rank];
    const uint8_t *was = input(op, rank) + sent.at;
    uint64_t end = received.at + received.bytes;

    if (r->recv == NULL || r->recv_memory != NULL) {
        return memcmp(r->send, was, sent.bytes) == 0;
    }
    return memcmp(r->send, was, received.at) == 0 && memcmp(r->send + end, was + end, sent.bytes - end) == 0;
}

static void check_edges(const struct world_comm *comm, uint32_t rank, const struct world_op *op)
{
    const struct rank_op *r = &op->ranks[rank];
    struct part sent = sent_by(op, rank);
    struct part received = received_by(op, rank);

    if (!guards_hold(op, sent.bytes, r->send_memory) || !guards_hold(op, received.bytes, r->recv_memory)) {
        world_fail(comm->world, WORLD_CHECK_BUFFER, "rank %u: operation %u wrote beside its buffer", rank,
                   (uint32_t)op->operation.token);
    }
    if (r->send_memory != NULL && !is_sent_whole(op, rank, sent, received)) {
        world_fail(comm->world, WORLD_CHECK_BUFFER, "rank %u: operation %u wrote to its send buffer", rank,
                   (uint32_t)op->operation.token);
    }
}

/* A fragment that somebody had finished before the ranks became a star is that sum, for all. */
static void settle(struct world_op *op, uint32_t rank)
{
    const struct rank_op *r = &op->ranks[rank];
    size_t size = trib_type_size(op->operation.type);
    struct part received = received_by(op, rank);

    for (uint64_t at = 0; op->earlier != NULL && at < received.bytes; at += size) {
        uint8_t *expected = op->expected + received.at + at;
        uint8_t *earlier = op->earlier + received.at + at;
        bool was_before = memcmp(r->recv + at, earlier, size) == 0;
        memcpy(was_before ? expected : earlier, was_before ? earlier : expected, size);
    }
}

/* Was this rank given what the sum is? */
static bool has_sum(const struct world_op *op, uint32_t rank)
{
    return op->operation.collective != TRIB_REDUCE || rank == op->operation.root;
}

void check_moved(struct world_comm *comm)
{
    for (uint32_t i = 0; i < comm->set.op_count; i++) {
        struct world_op *op = &comm->ops[i];
        if (op->bytes == 0 || buffers_are_one(op) || op->earlier != NULL) {
            continue;
        }
        op->earlier = op->expected;
        op->expected = world_zeroed(op->bytes, 1);
        oracle_expect(comm, op);
        for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
            struct part received = received_by(op, rank);
            if (op->ranks[rank].state == RANK_OP_DONE && has_sum(op, rank)) {
                memcpy(op->expected + received.at, op->earlier + received.at, received.bytes);
            }
        }
        check_settled(comm, op);
    }
}

void check_done(struct world_comm *comm, uint32_t rank, struct world_op *op)
{
    const struct rank_op *r = &op->ranks[rank];
    size_t size = trib_type_size(op->operation.type);
    struct part received = received_by(op, rank);
    const uint8_t *expected = op->expected + received.at;

    if (r->recv != NULL) {
        settle(op, rank);
    }
    check_edges(comm, rank, op);
    if (r->recv != NULL && op->operation.count > 0 && comm->set.session.ranks > 1) {
        comm->world->report->reduced[op->operation.reduction][op->operation.type]++;
    }
    if (r->recv == NULL || memcmp(r->recv, expected, received.bytes) == 0) {
        return;
    }
    uint64_t at = 0;
    while (memcmp(r->recv + at * size, expected + at * size, size) == 0) {
        at++;
    }
    uint64_t got = 0;
    uint64_t want = 0;
    memcpy(&got, r->recv + at * size, size);
    memcpy(&want, expected + at * size, size);
    world_fail(comm->world, WORLD_CHECK_ORACLE,
               "communicator %u rank %u: operation %u (%s, %s): element %llu of %llu is %llx, not %llx", comm->index,
               rank, (uint32_t)op->operation.token, trib_type_name(op->operation.type),
               trib_reduction_name(op->operation.reduction), (unsigned long long)at,
               (unsigned long long)(received.bytes / size), (unsigned long long)got, (unsigned long long)want);
}

/* Bytes [first, first + size) of a receive buffer. */
static bool is_old(const struct world_op *op, uint32_t rank, uint64_t first, size_t size)
{
    const struct rank_op *r = &op->ranks[rank];
    struct part sent = sent_by(op, rank);
    struct part received = received_by(op, rank);

    if (r->recv_memory == NULL) {
        return memcmp(r->recv + first, input(op, rank) + received.at + first, size) == 0;
    }
    for (uint64_t i = first; i < first + size; i++) {
        bool is_sent = r->send != NULL && r->send_memory == NULL && i >= sent.at && i < sent.at + sent.bytes;
        if (r->recv[i] != (is_sent ? input(op, rank)[i] : old_byte(rank, i))) {
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
    struct part received = received_by(op, rank);
    const uint8_t *expected = op->expected + received.at;
    const uint8_t *earlier = op->earlier != NULL ? op->earlier + received.at : expected;
    uint64_t elements = received.bytes / size;

    for (uint64_t low = 0; low < elements; low += piece) {
        uint64_t count = elements - low < piece ? elements - low : piece;
        if (memcmp(r->recv + low * size, expected + low * size, count * size) == 0 ||
            is_old(op, rank, low * size, count * size)) {
            continue;
        }
        for (*at = low; *at < low + count; ++*at) {
            if (memcmp(r->recv + *at * size, expected + *at * size, size) != 0 &&
                memcmp(r->recv + *at * size, earlier + *at * size, size) != 0 && !is_old(op, rank, *at * size, size)) {
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
