/* SPDX-License-Identifier: Apache-2.0 */
/* 01_in_process.c: an allreduce without sockets, threads or clocks. Three workers and a switch are plain memory; this
 * program is the driver that carries their packets by hand, and loses every tenth of them. The same nodes run in the
 * library, in the daemon and in the tests. It builds inside the tree only. Read next: src/core/node.h,
 * 02_udp_allreduce.c. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "schemes/schemes.h"

#define WORKERS 3
#define COUNT 100000
#define BOOT 1
#define MILLISECOND UINT64_C(1000000)

static const struct trib_scheme *scheme;
static void *workers[WORKERS], *switch_node;
static float tensors[WORKERS][COUNT];
static unsigned finished, carried, lost;

static void *node_memory(size_t size)
{
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
    assert(memory != NULL);
    return memory;
}

/* Worker `rank` gives rank + 1 in all places, in place: the sum is 6 everywhere. */
static void worker_create(struct trib_worker_config *config, uint32_t rank)
{
    struct trib_operation operation = {.send = tensors[rank], .recv = tensors[rank], .count = COUNT};
    operation.collective = TRIB_ALLREDUCE;
    operation.type = TRIB_FLOAT32;
    operation.reduction = TRIB_SUM;
    for (size_t i = 0; i < COUNT; i++) {
        tensors[rank][i] = (float)(rank + 1);
    }
    config->rank = rank;
    workers[rank] = node_memory(scheme->worker->size(config));
    scheme->worker->init(workers[rank], config);
    scheme->worker->registered(workers[rank], BOOT, 0, 0);
    scheme->switch_node->join(switch_node, rank, 0);
    bool taken = scheme->worker->submit(workers[rank], &operation, 0);
    assert(taken);
}

static void nodes_create(void)
{
    const struct trib_value_kernels *kernels = trib_value_kernels();
    struct trib_session_config session = {.ranks = WORKERS, .roots = 1, .train = 16, .slots = 64};
    session.payload = 1408;
    session.wire = TRIB_FLOAT32;
    session.lookahead = 1;
    struct trib_switch_config config = {.session = session, .kernels = kernels, .children = WORKERS, .boot = BOOT};
    switch_node = node_memory(scheme->switch_node->size(&config));
    scheme->switch_node->init(switch_node, &config);
    struct trib_worker_config worker = {.session = session, .kernels = kernels, .window = 32, .operations = 1};
    worker.session.salt = 42; /* the switch must not know it */
    worker.stall_ns = 1000 * MILLISECOND;
    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        worker_create(&worker, rank);
    }
}

/* The network: every tenth packet is lost. */
static bool arrives(void)
{
    lost += ++carried % 10 == 0;
    return carried % 10 != 0;
}

/* Every node in turn: wake it if it wanted to be, carry away what it sends, take its events. */
static void turn(uint64_t now)
{
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;
    for (uint32_t rank = 0; rank < WORKERS; rank++) {
        struct trib_place child = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << rank};
        if (scheme->worker->node.next_timeout(workers[rank]) <= now) {
            scheme->worker->node.on_timeout(workers[rank], now);
        }
        while (scheme->worker->node.next_packet(workers[rank], now, &packet, &to)) {
            if (arrives()) {
                scheme->switch_node->node.receive(switch_node, child, &packet, now);
            }
        }
        while (scheme->worker->node.next_event(workers[rank], &event)) {
            finished += event.kind == TRIB_EVENT_DONE;
        }
    }
    if (scheme->switch_node->node.next_timeout(switch_node) <= now) {
        scheme->switch_node->node.on_timeout(switch_node, now);
    }
    while (scheme->switch_node->node.next_packet(switch_node, now, &packet, &to)) {
        for (uint32_t rank = 0; rank < WORKERS; rank++) {
            if ((to.children >> rank & 1) != 0 && arrives()) {
                scheme->worker->node.receive(workers[rank], (struct trib_place){.kind = TRIB_PLACE_ROOT}, &packet, now);
            }
        }
    }
}

int main(void)
{
    scheme = trib_scheme_find("switchml");
    nodes_create();
    for (uint64_t now = 0; finished < WORKERS && now < 60000 * MILLISECOND; now += MILLISECOND / 10) {
        turn(now);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < WORKERS * COUNT; i++) {
        wrong += (int)tensors[i / COUNT][i % COUNT] != WORKERS * (WORKERS + 1) / 2;
    }
    printf("%u of %d workers done, %u packets carried, %u lost, %zu wrong elements\n", finished, WORKERS, carried, lost,
           wrong);
    return finished == WORKERS && wrong == 0 ? 0 : 1;
}
