/* SPDX-License-Identifier: Apache-2.0 */
/* panama_literal_world.h: the published PANAMA on links that keep the order: workers, one accelerator node for each
 * tree, and a link up and a link down between each of them. A world is plain data, so that a search can go back to a
 * copy of it. A test moves the packets. The lane says which contributions are in a sum, and every delivered element
 * is compared with what it must be. */
#ifndef TRIB_TESTS_PANAMA_LITERAL_WORLD_H
#define TRIB_TESTS_PANAMA_LITERAL_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/lane.h"
#include "core/quorum.h"
#include "node_memory.h"
#include "published/panama_literal/accelerator.h"
#include "published/panama_literal/panama_literal.h"

#define RANKS_MAX 3
#ifndef TREES_MAX /* a search wants small worlds */
#define TREES_MAX 4
#define NODE_BYTES 16384
#endif
#define OPERATIONS_MAX 3
#define FRAGMENTS_MAX 64
#define LINK_MAX 16
#define PAYLOAD 64
#define PER_PACKET (PAYLOAD / 4)
#define RTO TRIB_PANAMA_RTO_NS

struct parcel {
    struct trib_packet packet;
    uint8_t payload[PAYLOAD];
};

struct link {
    uint32_t count;
    uint32_t unused;
    struct parcel at[LINK_MAX];
};

/* What stays as it is while a world runs. */
struct shape {
    bool has_miss;
    uint32_t ranks, trees, slots, operations, fragments;
    uint8_t quorum, quorum_of; /* 0: sums have all ranks */
};

struct world {
    struct shape shape;
    uint32_t submitted[RANKS_MAX], done[RANKS_MAX];
    uint32_t wrong;     /* results that were refused by their lane */
    uint32_t delivered; /* fragments whose elements are not the sum: never */
    uint32_t sums, misses;
    struct link up[RANKS_MAX][TREES_MAX], down[RANKS_MAX][TREES_MAX];
    _Alignas(64) uint8_t worker[RANKS_MAX][NODE_BYTES];
    _Alignas(64) uint8_t accelerator[TREES_MAX][NODE_BYTES];
};

/* The callers' tensors. Nothing that was delivered is looked at again, so a world may go back and find later ones
 * here. */
static int32_t world_send[RANKS_MAX][OPERATIONS_MAX][FRAGMENTS_MAX * PER_PACKET];
static int32_t world_recv[RANKS_MAX][OPERATIONS_MAX][FRAGMENTS_MAX * PER_PACKET];

static inline const struct trib_worker_verbs *worker_verbs(const struct world *world)
{
    return world->shape.has_miss ? &trib_panama_miss_worker_verbs : &trib_panama_literal_worker_verbs;
}

static inline const struct trib_switch_verbs *switch_verbs(const struct world *world)
{
    return world->shape.has_miss ? &trib_panama_miss_switch_verbs : &trib_panama_literal_switch_verbs;
}

/* Digits: rank, operation, fragment. */
static inline int32_t value_of(uint32_t rank, uint32_t operation, uint32_t fragment)
{
    return (int32_t)((rank + 1) * 10000 + operation * 1000 + fragment);
}

/* Of these ranks. */
static inline int32_t right_value(const struct world *world, uint32_t operation, uint32_t fragment, uint64_t ranks)
{
    int32_t sum = 0;

    for (uint32_t rank = 0; rank < world->shape.ranks; rank++) {
        sum += (ranks >> rank & 1) != 0 ? value_of(rank, operation, fragment) : 0;
    }
    return sum;
}

static inline const struct trib_packet *packet_of(struct parcel *parcel)
{
    parcel->packet.payload = parcel->packet.payload_len != 0 ? parcel->payload : NULL;
    return &parcel->packet;
}

static inline int32_t payload_value(const struct parcel *parcel)
{
    int32_t value;

    memcpy(&value, parcel->payload, sizeof value);
    return value;
}

static inline void put(struct link *link, const struct trib_packet *packet)
{
    struct parcel *parcel = &link->at[link->count++];

    assert_true(link->count <= LINK_MAX);
    memset(parcel, 0, sizeof *parcel);
    trib_panama_keep(&parcel->packet, packet);
    if (packet->payload_len != 0) {
        memcpy(parcel->payload, packet->payload, packet->payload_len);
    }
}

/* The packet in front is gone. */
static inline void drop(struct link *link)
{
    assert_true(link->count != 0);
    link->count--;
    memmove(&link->at[0], &link->at[1], link->count * sizeof link->at[0]);
    memset(&link->at[link->count], 0, sizeof link->at[0]);
}

static inline void submit(struct world *world, uint32_t rank)
{
    uint32_t number = world->submitted[rank]++;
    struct trib_operation operation = {
        .send = world_send[rank][number],
        .recv = world_recv[rank][number],
        .count = (uint64_t)world->shape.fragments * PER_PACKET,
        .token = number,
        .collective = TRIB_ALLREDUCE,
        .type = TRIB_INT32,
        .reduction = TRIB_SUM,
    };

    assert_true(worker_verbs(world)->submit(world->worker[rank], &operation, RTO));
}

/* All that the worker has to send goes into its links; whose operation has ended starts the next. */
static inline void drain_worker(struct world *world, uint32_t rank)
{
    const struct trib_worker_verbs *verbs = worker_verbs(world);
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;

    while (verbs->node.next_event(world->worker[rank], &event)) {
        if (event.kind == TRIB_EVENT_DONE && ++world->done[rank] < world->shape.operations) {
            submit(world, rank);
        }
    }
    while (verbs->node.next_packet(world->worker[rank], RTO, &packet, &to)) {
        assert_int_equal(to.kind, TRIB_PLACE_ROOT);
        put(&world->up[rank][to.index], &packet);
    }
}

static inline struct trib_session_config session_of(const struct shape *shape)
{
    return (struct trib_session_config){.communicator = 7,
                                        .ranks = shape->ranks,
                                        .roots = shape->trees,
                                        .train = 1,
                                        .slots = shape->slots,
                                        .payload = PAYLOAD + (shape->quorum_of != 0 ? TRIB_QUORUM_LIST : 0),
                                        .wire = TRIB_FLOAT32,
                                        .lookahead = 1,
                                        .quorum = shape->quorum,
                                        .quorum_of = shape->quorum_of,
                                        .salt = 42};
}

static inline void open_accelerator(struct world *world, uint32_t tree, const struct trib_session_config *session)
{
    struct trib_switch_config config = {
        .session = *session, .kernels = trib_value_kernels(), .children = world->shape.ranks, .root = tree, .boot = 1};

    config.session.salt = 0;
    assert_true(switch_verbs(world)->size(&config) <= NODE_BYTES);
    switch_verbs(world)->init(world->accelerator[tree], &config);
    for (uint32_t rank = 0; rank < world->shape.ranks; rank++) {
        switch_verbs(world)->join(world->accelerator[tree], rank, 0);
    }
}

/* All ranks have started their first operation, and their packets are in the links. */
static inline void open_world(struct world *world, const struct shape *shape)
{
    struct trib_session_config session = session_of(shape);

    memset(world, 0, sizeof *world);
    world->shape = *shape;
    for (uint32_t tree = 0; tree < shape->trees; tree++) {
        open_accelerator(world, tree, &session);
    }
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        struct trib_worker_config config = {.session = session,
                                            .kernels = trib_value_kernels(),
                                            .rank = rank,
                                            .window = shape->slots,
                                            .operations = 1,
                                            .stall_ns = UINT64_MAX};
        for (uint32_t operation = 0; operation < shape->operations; operation++) {
            for (uint32_t i = 0; i < shape->fragments * PER_PACKET; i++) {
                world_send[rank][operation][i] = value_of(rank, operation, i / PER_PACKET);
            }
        }
        assert_true(worker_verbs(world)->size(&config) <= NODE_BYTES);
        worker_verbs(world)->init(world->worker[rank], &config);
        worker_verbs(world)->registered(world->worker[rank], 1, 0, RTO);
        submit(world, rank);
        drain_worker(world, rank);
    }
}

/* ---- what can happen ---- */

/* The front of a link up reaches the accelerator, and what that gives out is in the links down. */
static inline enum trib_drop arrives(struct world *world, uint32_t rank, uint32_t tree)
{
    struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << rank};
    struct parcel parcel = world->up[rank][tree].at[0];
    struct trib_packet packet;
    struct trib_place to;

    drop(&world->up[rank][tree]);
    enum trib_drop why = switch_verbs(world)->node.receive(world->accelerator[tree], from, packet_of(&parcel), RTO);
    while (switch_verbs(world)->node.next_packet(world->accelerator[tree], RTO, &packet, &to)) {
        world->sums += !trib_panama_is_miss(&packet);
        world->misses += trib_panama_is_miss(&packet);
        for (uint32_t child = 0; child < world->shape.ranks; child++) {
            put(&world->down[child][tree], &packet);
        }
    }
    return why;
}

/* Is what the worker has just delivered the sum? */
static inline void check_delivered(struct world *world, uint32_t rank, const struct trib_packet *packet)
{
    uint32_t operation = (uint32_t)(packet->sequence / world->shape.fragments);
    uint32_t fragment = (uint32_t)(packet->sequence % world->shape.fragments);
    uint64_t ranks = world->shape.quorum_of != 0 ? trib_panama_ranks(packet) : UINT64_MAX;

    for (uint32_t i = 0; i < PER_PACKET; i++) {
        world->delivered +=
            world_recv[rank][operation][fragment * PER_PACKET + i] != right_value(world, operation, fragment, ranks);
    }
}

/* The front of a link down reaches the worker. */
static inline enum trib_drop returns(struct world *world, uint32_t rank, uint32_t tree)
{
    struct trib_place from = {.kind = TRIB_PLACE_ROOT, .index = tree};
    struct parcel parcel = world->down[rank][tree].at[0];

    drop(&world->down[rank][tree]);
    enum trib_drop why = worker_verbs(world)->node.receive(world->worker[rank], from, packet_of(&parcel), RTO);
    world->wrong += why == TRIB_DROP_LANE;
    if (why == TRIB_DROP_NONE && !trib_panama_is_miss(&parcel.packet)) {
        check_delivered(world, rank, &parcel.packet);
    }
    drain_worker(world, rank);
    return why;
}

/* The rank's timers end. */
static inline void times_out(struct world *world, uint32_t rank)
{
    uint64_t deadline = worker_verbs(world)->node.next_timeout(world->worker[rank]);

    assert_true(deadline != TRIB_NEVER);
    worker_verbs(world)->node.on_timeout(world->worker[rank], deadline);
    drain_worker(world, rank);
}

static inline bool has_timer(const struct world *world, uint32_t rank)
{
    return worker_verbs(world)->node.next_timeout(world->worker[rank]) != TRIB_NEVER;
}

/* Everything that is on its way comes, and what that brings, until nothing moves. */
static inline void settle(struct world *world)
{
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (uint32_t rank = 0; rank < world->shape.ranks; rank++) {
            for (uint32_t tree = 0; tree < world->shape.trees; tree++) {
                while (world->up[rank][tree].count != 0) {
                    (void)arrives(world, rank, tree);
                    has_moved = true;
                }
                while (world->down[rank][tree].count != 0) {
                    (void)returns(world, rank, tree);
                    has_moved = true;
                }
            }
        }
    }
}

static inline bool is_over(const struct world *world)
{
    for (uint32_t rank = 0; rank < world->shape.ranks; rank++) {
        if (world->done[rank] != world->shape.operations) {
            return false;
        }
    }
    return true;
}

/* Without a fault from here on: every timer of every rank, again and again. True: all operations end. */
static inline bool recovers(struct world *world)
{
    settle(world);
    for (int round = 0; round < 20 && !is_over(world); round++) {
        for (uint32_t rank = 0; rank < world->shape.ranks; rank++) {
            if (has_timer(world, rank)) {
                times_out(world, rank);
            }
            settle(world);
        }
    }
    return is_over(world);
}

#endif
