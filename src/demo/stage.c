/* SPDX-License-Identifier: Apache-2.0 */
/* stage.c: the nodes of one communicator in plain memory. Carries nothing by itself. Read next: story.c. */
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "demo/demo.h"

static int32_t own_value(const struct demo_stage *stage, uint32_t rank, uint64_t fragment)
{
    int32_t digit = 1;

    if (stage->salt != 0) {
        return (int32_t)(uint32_t)trib_mix64(stage->salt ^ (uint64_t)rank << 32 ^ fragment);
    }
    for (uint32_t i = 0; i < rank; i++) {
        digit *= 10;
    }
    return digit * (int32_t)(fragment + 1);
}

int32_t demo_right(const struct demo_stage *stage, uint64_t fragment)
{
    uint32_t sum = 0; /* integers wrap, in the switch as well */

    for (uint32_t rank = 0; rank < stage->session.ranks; rank++) {
        sum += (uint32_t)own_value(stage, rank, fragment);
    }
    return (int32_t)sum;
}

int32_t demo_value(const struct demo_parcel *parcel)
{
    int32_t value;

    memcpy(&value, parcel->payload, sizeof value);
    return value;
}

static bool differs(const int32_t *elements, int32_t value)
{
    for (uint32_t i = 0; i < DEMO_ELEMENTS; i++) {
        if (elements[i] != value) {
            return true;
        }
    }
    return false;
}

bool demo_is_wrong(const struct demo_stage *stage, const struct demo_parcel *parcel)
{
    int32_t elements[DEMO_ELEMENTS];

    memcpy(elements, parcel->payload, sizeof elements);
    return parcel->packet.kind == TRIB_RESULT && differs(elements, demo_right(stage, parcel->packet.sequence));
}

uint32_t demo_delivered_wrong(const struct demo_stage *stage, uint32_t rank)
{
    uint32_t wrong = 0;

    for (uint32_t fragment = 0; fragment < stage->fragments; fragment++) {
        const int32_t *sum = stage->sum[rank] + (size_t)fragment * DEMO_ELEMENTS;
        wrong += differs(sum, 0) && differs(sum, demo_right(stage, fragment));
    }
    return wrong;
}

/* ---- life ---- */

static void *node_memory(size_t size)
{
    return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void init_switch(struct demo_stage *stage)
{
    struct trib_switch_config config = {.session = stage->session,
                                        .kernels = trib_value_kernels(),
                                        .children = stage->session.ranks,
                                        .boot = stage->boot};

    config.session.salt = 0; /* unknown to the switch */
    if (stage->switch_node == NULL) {
        stage->switch_node = node_memory(stage->scheme->switch_node->size(&config));
    }
    if (stage->switch_node != NULL) {
        stage->scheme->switch_node->init(stage->switch_node, &config);
    }
}

static bool open_worker(struct demo_stage *stage, uint32_t rank, uint32_t window)
{
    struct trib_worker_config config = {.session = stage->session,
                                        .kernels = trib_value_kernels(),
                                        .rank = rank,
                                        .window = window,
                                        .operations = 1,
                                        .stall_ns = UINT64_MAX};
    size_t elements = (size_t)stage->fragments * DEMO_ELEMENTS;

    stage->tensor[rank] = malloc(elements * sizeof(int32_t));
    stage->sum[rank] = calloc(elements, sizeof(int32_t));
    stage->worker[rank] = node_memory(stage->scheme->worker->size(&config));
    if (stage->tensor[rank] == NULL || stage->sum[rank] == NULL || stage->worker[rank] == NULL) {
        return false;
    }
    for (size_t i = 0; i < elements; i++) {
        stage->tensor[rank][i] = own_value(stage, rank, i / DEMO_ELEMENTS);
    }
    stage->scheme->worker->init(stage->worker[rank], &config);
    struct trib_operation operation = {.send = stage->tensor[rank],
                                       .recv = stage->sum[rank],
                                       .count = elements,
                                       .collective = TRIB_ALLREDUCE,
                                       .type = TRIB_INT32,
                                       .reduction = TRIB_SUM};
    return stage->scheme->worker->submit(stage->worker[rank], &operation, stage->now_ns);
}

bool demo_stage_open(struct demo_stage *stage, const struct demo_stage_config *config)
{
    bool opened = true;

    *stage = (struct demo_stage){
        .scheme = config->scheme,
        .salt = config->salt,
        .fragments = config->fragments,
        .boot = 1,
        .now_ns = DEMO_MS, /* a clock's 0 means "never" to a node */
        .session = {.salt = 42,
                    .ranks = config->workers,
                    .roots = 1,
                    .train = 1,
                    .slots = config->slots,
                    .payload = DEMO_PAYLOAD,
                    .wire = TRIB_FLOAT32,
                    .lookahead = 1},
    };
    init_switch(stage);
    for (uint32_t rank = 0; rank < config->workers; rank++) {
        opened = open_worker(stage, rank, config->window) && opened;
    }
    if (!opened || stage->switch_node == NULL) {
        demo_stage_close(stage);
        return false;
    }
    demo_return(stage);
    return true;
}

void demo_stage_close(struct demo_stage *stage)
{
    for (uint32_t rank = 0; rank < stage->session.ranks; rank++) {
        free(stage->worker[rank]);
        free(stage->tensor[rank]);
        free(stage->sum[rank]);
    }
    free(stage->switch_node);
}

void demo_restart(struct demo_stage *stage)
{
    stage->boot++;
    init_switch(stage);
    for (uint32_t rank = 0; rank < stage->session.ranks; rank++) {
        stage->scheme->worker->suspend(stage->worker[rank]);
    }
}

/* As the control plane when all sessions stand: every worker registers with its mark, then all hear the boot id. */
void demo_return(struct demo_stage *stage)
{
    const struct trib_worker_verbs *worker = stage->scheme->worker;

    for (uint32_t rank = 0; rank < stage->session.ranks; rank++) {
        stage->scheme->switch_node->join(stage->switch_node, rank, worker->mark(stage->worker[rank]));
    }
    uint64_t mark = stage->scheme->switch_node->node.communicator_mark(stage->switch_node);
    for (uint32_t rank = 0; rank < stage->session.ranks; rank++) {
        worker->registered(stage->worker[rank], stage->boot, mark, stage->now_ns);
    }
}

/* ---- packets ---- */

static void keep(struct demo_parcel *parcel, const struct trib_packet *packet)
{
    parcel->packet = *packet;
    memset(parcel->payload, 0, sizeof parcel->payload);
    if (packet->payload_len != 0) {
        memcpy(parcel->payload, packet->payload, packet->payload_len);
    }
    parcel->packet.payload = NULL;
}

static const struct trib_packet *packet_of(struct demo_parcel *parcel)
{
    parcel->packet.payload = parcel->packet.payload_len != 0 ? parcel->payload : NULL;
    return &parcel->packet;
}

bool demo_worker_sends(struct demo_stage *stage, uint32_t rank, struct demo_parcel *parcel)
{
    struct trib_packet packet;
    struct trib_place to;

    if (!stage->scheme->worker->node.next_packet(stage->worker[rank], stage->now_ns, &packet, &to)) {
        return false;
    }
    keep(parcel, &packet);
    return true;
}

bool demo_switch_sends(struct demo_stage *stage, struct demo_parcel *parcel, uint64_t *children)
{
    struct trib_packet packet;
    struct trib_place to;

    if (!stage->scheme->switch_node->node.next_packet(stage->switch_node, stage->now_ns, &packet, &to)) {
        return false;
    }
    keep(parcel, &packet);
    *children = to.children;
    return true;
}

enum trib_drop demo_switch_takes(struct demo_stage *stage, uint32_t rank, struct demo_parcel *parcel)
{
    struct trib_place from = {.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << rank};

    return stage->scheme->switch_node->node.receive(stage->switch_node, from, packet_of(parcel), stage->now_ns);
}

enum trib_drop demo_worker_takes(struct demo_stage *stage, uint32_t rank, struct demo_parcel *parcel)
{
    const struct trib_worker_verbs *worker = stage->scheme->worker;
    struct trib_place from = {.kind = TRIB_PLACE_ROOT};
    struct trib_event event;
    enum trib_drop drop = worker->node.receive(stage->worker[rank], from, packet_of(parcel), stage->now_ns);

    while (worker->node.next_event(stage->worker[rank], &event)) {
        stage->done += event.kind == TRIB_EVENT_DONE;
        stage->failed += event.kind == TRIB_EVENT_FAILED;
    }
    return drop;
}

uint64_t demo_next_timeout(const struct demo_stage *stage, uint32_t rank)
{
    return stage->scheme->worker->node.next_timeout(stage->worker[rank]);
}

void demo_timer(struct demo_stage *stage, uint32_t rank)
{
    stage->scheme->worker->node.on_timeout(stage->worker[rank], stage->now_ns);
}
