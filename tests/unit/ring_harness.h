/* SPDX-License-Identifier: Apache-2.0 */
/* ring_harness.h: ranks that send to each other, in memory: what each hands out goes into one queue, which arrives in
 * order. Nothing is lost that a test does not take out of it. Whoever includes it names the scheme: `verbs`. Read next:
 * test_ring.c, test_hybrid.c. */
#ifndef TRIB_TESTS_RING_HARNESS_H
#define TRIB_TESTS_RING_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/flow.h"
#include "core/lane.h"
#include "node_memory.h"
#include "schemes/ring/ring.h"

#define RING_RANKS 12
#define RING_PAYLOAD 64
#define RING_BLOCK 16 /* int32 of a fragment */
#define RING_MS UINT64_C(1000000)

static const struct trib_worker_verbs *verbs;

struct mail {
    struct trib_packet packet;
    uint8_t payload[RING_PAYLOAD];
    uint32_t from, to;
    uint32_t hops;
};

struct ring_of {
    uint32_t ranks;
    void *node[RING_RANKS];
    uint64_t now_ns;
    struct mail mail[4096];
    uint32_t first, last;
    uint64_t flow_bytes[RING_RANKS], flow_count[RING_RANKS];
    uint64_t link_bytes[RING_RANKS][RING_RANKS]; /* from, to */
    uint32_t hops[RING_RANKS];                   /* of the longest chain of fragments that ends at a rank */
    uint32_t done[RING_RANKS];
    struct trib_event event[RING_RANKS]; /* the last that was no DONE */
};

static inline struct trib_worker_config config_of(uint32_t ranks, uint32_t group, uint32_t rank)
{
    return (struct trib_worker_config){
        .session = {.salt = 5,
                    .communicator = 77,
                    .ranks = ranks,
                    .roots = 1,
                    .train = 1,
                    .slots = 8,
                    .payload = RING_PAYLOAD,
                    .generation = 2,
                    .group = (uint16_t)group,
                    .wire = TRIB_FLOAT32,
                    .lookahead = 1},
        .kernels = trib_value_kernels(),
        .rank = rank,
        .window = 8,
        .operations = 4,
        .stall_ns = 500 * RING_MS,
    };
}

static inline struct ring_of *open_groups(uint32_t ranks, uint32_t group)
{
    struct ring_of *ring = calloc(1, sizeof *ring);

    ring->ranks = ranks;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        struct trib_worker_config config = config_of(ranks, group, rank);
        ring->node[rank] = node_memory(verbs->size(&config));
        verbs->init(ring->node[rank], &config);
        verbs->registered(ring->node[rank], 9, 0, 0);
    }
    return ring;
}

/* Ranks that do not stand in groups. */
static inline struct ring_of *open_ring(uint32_t ranks)
{
    return open_groups(ranks, 0);
}

static inline void close_ring(struct ring_of *ring)
{
    for (uint32_t rank = 0; rank < ring->ranks; rank++) {
        free(ring->node[rank]);
    }
    free(ring);
}

/* What the rank has to say is put into the mail; returns how many packets. */
static inline uint32_t drain(struct ring_of *ring, uint32_t rank)
{
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;
    uint32_t count = 0;

    for (; verbs->node.next_packet(ring->node[rank], ring->now_ns, &packet, &to); count++) {
        struct mail *mail = &ring->mail[ring->last++ % 4096];
        assert_int_equal(to.kind, TRIB_PLACE_PEER);
        assert_true(trib_packet_can_encode(&packet));
        mail->packet = packet;
        mail->from = rank;
        mail->to = to.index;
        mail->hops = ring->hops[rank] + 1;
        if (packet.payload_len != 0) {
            memcpy(mail->payload, packet.payload, packet.payload_len);
            mail->packet.payload = mail->payload;
        }
        if (packet.kind == TRIB_FLOW) {
            ring->flow_bytes[rank] += packet.payload_len;
            ring->link_bytes[rank][to.index] += packet.payload_len;
            ring->flow_count[rank]++;
        }
    }
    while (verbs->node.next_event(ring->node[rank], &event)) {
        if (event.kind == TRIB_EVENT_DONE) {
            ring->done[rank]++;
        } else {
            ring->event[rank] = event;
        }
    }
    return count;
}

static inline enum trib_drop give(struct ring_of *ring, uint32_t from, uint32_t to, const struct trib_packet *packet)
{
    struct trib_place place = {.kind = TRIB_PLACE_PEER, .index = from};

    return verbs->node.receive(ring->node[to], place, packet, ring->now_ns);
}

static inline bool take_mail(struct ring_of *ring, struct mail *mail)
{
    if (ring->first == ring->last) {
        return false;
    }
    *mail = ring->mail[ring->first++ % 4096];
    if (mail->packet.payload_len != 0) {
        mail->packet.payload = mail->payload;
    }
    return true;
}

/* Until nobody has anything more to say. */
static inline void settle(struct ring_of *ring)
{
    struct mail mail;

    for (uint32_t rank = 0; rank < ring->ranks; rank++) {
        (void)drain(ring, rank);
    }
    while (take_mail(ring, &mail)) {
        ring->now_ns += 1000;
        if (give(ring, mail.from, mail.to, &mail.packet) == TRIB_DROP_NONE && mail.packet.kind == TRIB_FLOW &&
            mail.hops > ring->hops[mail.to]) {
            ring->hops[mail.to] = mail.hops;
        }
        (void)drain(ring, mail.to);
    }
}

static inline struct trib_operation allreduce(int32_t *send, int32_t *recv, uint64_t count)
{
    return (struct trib_operation){.send = send,
                                   .recv = recv,
                                   .count = count,
                                   .collective = TRIB_ALLREDUCE,
                                   .type = TRIB_INT32,
                                   .reduction = TRIB_SUM};
}

static inline struct trib_flow_counters flows_of(const struct ring_of *ring, uint32_t rank)
{
    struct trib_flow_counters sum = {0};

    verbs->flows(ring->node[rank], &sum);
    return sum;
}

static inline void submit(struct ring_of *ring, uint32_t rank, const struct trib_operation *operation)
{
    assert_true(verbs->submit(ring->node[rank], operation, ring->now_ns));
}

#endif
