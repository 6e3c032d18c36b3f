/* SPDX-License-Identifier: Apache-2.0 */
/* runs.c: whole runs with random faults: links keep the order, but some packets are lost and a few are late. One seed
 * is one run.
 * Read next: cli/command_demo.c. */
#include <stdlib.h>
#include <string.h>

#include "demo/demo.h"

#define HUNG_NS (3000 * DEMO_MS)
#define RESTART_NS (200 * DEMO_US) /* the switch restarts within the first */
#define OUTAGE_NS (2 * DEMO_MS)    /* and is back after */
#define SWITCH DEMO_WORKERS_MAX

/* A packet on its way. */
struct flying {
    uint64_t time_ns;
    uint64_t order;
    uint32_t to; /* a worker, or SWITCH */
    uint32_t from;
    struct demo_parcel parcel;
};

struct network {
    struct demo_stage stage;
    struct trib_prng prng;
    const struct demo_faults *faults;
    struct flying *heap;
    size_t count, capacity;
    uint64_t order;
    uint64_t link_ns[2][DEMO_WORKERS_MAX]; /* last arrival, up and down */
    uint64_t moved_ns;                     /* when a worker last took a result */
    uint64_t packets;
    uint64_t restart_ns, return_ns; /* TRIB_NEVER: none to come */
    bool wrong, delivered, no_memory;
};

/* ---- the queue ---- */

static bool is_before(const struct flying *a, const struct flying *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

static void push(struct network *net, const struct flying *packet)
{
    if (net->count == net->capacity) {
        size_t capacity = net->capacity == 0 ? 256 : 2 * net->capacity;
        struct flying *heap = realloc(net->heap, capacity * sizeof *heap);
        if (heap == NULL) {
            net->no_memory = true;
            return;
        }
        net->heap = heap;
        net->capacity = capacity;
    }
    size_t at = net->count++;
    while (at > 0 && is_before(packet, &net->heap[(at - 1) / 2])) {
        net->heap[at] = net->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    net->heap[at] = *packet;
}

static struct flying pop(struct network *net)
{
    struct flying first = net->heap[0];
    struct flying last = net->heap[--net->count];
    size_t at = 0;

    for (size_t child = 1; child < net->count; child = 2 * at + 1) {
        if (child + 1 < net->count && is_before(&net->heap[child + 1], &net->heap[child])) {
            child++;
        }
        if (!is_before(&net->heap[child], &last)) {
            break;
        }
        net->heap[at] = net->heap[child];
        at = child;
    }
    net->heap[at] = last;
    return first;
}

/* ---- links ---- */

static void transmit(struct network *net, uint32_t from, uint32_t to, const struct demo_parcel *parcel)
{
    uint64_t *link = &net->link_ns[to == SWITCH][to == SWITCH ? from : to];
    struct flying packet = {.from = from, .to = to, .parcel = *parcel};

    net->packets++;
    if (trib_prng_chance(&net->prng, net->faults->loss)) {
        return;
    }
    packet.time_ns = net->stage.now_ns + 5 * DEMO_US + trib_prng_below(&net->prng, 2 * DEMO_US);
    if (trib_prng_chance(&net->prng, net->faults->late)) {
        packet.time_ns += trib_prng_below(&net->prng, net->faults->late_ns + 1);
    } else {
        packet.time_ns = packet.time_ns > *link ? packet.time_ns : *link;
        *link = packet.time_ns;
    }
    packet.order = net->order++;
    push(net, &packet);
}

static void drain_worker(struct network *net, uint32_t rank)
{
    struct demo_parcel parcel;

    while (demo_worker_sends(&net->stage, rank, &parcel)) {
        transmit(net, rank, SWITCH, &parcel);
    }
}

static void drain_switch(struct network *net)
{
    struct demo_parcel parcel;
    uint64_t children = 0;

    while (demo_switch_sends(&net->stage, &parcel, &children)) {
        for (uint32_t rank = 0; rank < net->stage.session.ranks; rank++) {
            if (children >> rank & 1) {
                transmit(net, SWITCH, rank, &parcel);
            }
        }
    }
}

static void arrive(struct network *net, struct flying *packet)
{
    struct demo_stage *stage = &net->stage;

    if (packet->to == SWITCH && net->return_ns != TRIB_NEVER) {
        return; /* no worker is there */
    }
    if (packet->to == SWITCH) {
        (void)demo_switch_takes(stage, packet->from, &packet->parcel);
        drain_switch(net);
        return;
    }
    bool wrong = demo_is_wrong(stage, &packet->parcel);
    enum trib_drop drop = demo_worker_takes(stage, packet->to, &packet->parcel);
    bool is_result = packet->parcel.packet.kind == TRIB_RESULT;
    net->wrong =
        net->wrong || (wrong && (drop == TRIB_DROP_NONE || drop == TRIB_DROP_LANE)); /* the worker waited for it */
    net->delivered = net->delivered || (wrong && drop == TRIB_DROP_NONE);
    if (is_result && drop == TRIB_DROP_NONE) {
        net->moved_ns = stage->now_ns;
    }
    drain_worker(net, packet->to);
}

/* ---- a run ---- */

/* The time of the next event: a packet, or a worker's timer (*rank; SWITCH: none). */
static uint64_t next_moment(const struct network *net, uint32_t *rank)
{
    uint64_t moment = net->count > 0 ? net->heap[0].time_ns : TRIB_NEVER;

    *rank = SWITCH;
    for (uint32_t i = 0; i < net->stage.session.ranks; i++) {
        uint64_t timeout = demo_next_timeout(&net->stage, i);
        if (timeout < moment) {
            moment = timeout;
            *rank = i;
        }
    }
    return moment;
}

/* The switch goes down, or is back. */
static void change(struct network *net)
{
    struct demo_stage *stage = &net->stage;

    if (net->restart_ns != TRIB_NEVER) {
        stage->now_ns = net->restart_ns;
        net->return_ns = net->restart_ns + OUTAGE_NS;
        net->restart_ns = TRIB_NEVER;
        demo_restart(stage);
        return;
    }
    stage->now_ns = net->return_ns;
    net->return_ns = TRIB_NEVER;
    demo_return(stage);
    for (uint32_t rank = 0; rank < stage->session.ranks; rank++) {
        drain_worker(net, rank);
    }
}

/* Runs the next event; false: no more, or none can help. */
static bool step(struct network *net)
{
    struct demo_stage *stage = &net->stage;
    uint64_t due = net->restart_ns < net->return_ns ? net->restart_ns : net->return_ns;
    uint32_t rank;
    uint64_t moment = next_moment(net, &rank);

    if (due != TRIB_NEVER && due <= moment) {
        change(net);
        return true;
    }
    if (moment == TRIB_NEVER || moment > net->moved_ns + HUNG_NS) {
        return false;
    }
    stage->now_ns = moment > stage->now_ns ? moment : stage->now_ns;
    if (rank != SWITCH) {
        demo_timer(stage, rank);
        drain_worker(net, rank);
    } else {
        struct flying packet = pop(net);
        arrive(net, &packet);
    }
    return true;
}

static void play(struct network *net)
{
    struct demo_stage *stage = &net->stage;

    net->moved_ns = stage->now_ns;
    net->return_ns = TRIB_NEVER;
    net->restart_ns = net->faults->restart ? stage->now_ns + trib_prng_below(&net->prng, RESTART_NS) : TRIB_NEVER;
    for (uint32_t rank = 0; rank < stage->session.ranks; rank++) {
        drain_worker(net, rank);
    }
    while (stage->done < stage->session.ranks && stage->failed == 0 && !net->no_memory && step(net)) {
    }
}

bool demo_run(struct demo_runs *runs, const struct demo_faults *faults, uint64_t seed)
{
    struct network net = {.prng = {.state = seed}, .faults = faults};
    struct demo_stage_config config = {.scheme = runs->scheme,
                                       .salt = trib_prng_next(&net.prng) | 1,
                                       .workers = DEMO_RUN_WORKERS,
                                       .fragments = DEMO_RUN_FRAGMENTS,
                                       .slots = DEMO_RUN_SLOTS,
                                       .window = DEMO_RUN_SLOTS};

    if (!demo_stage_open(&net.stage, &config)) {
        return false;
    }
    play(&net);
    bool ended = net.stage.done == DEMO_RUN_WORKERS || net.stage.failed > 0;
    for (uint32_t rank = 0; rank < DEMO_RUN_WORKERS; rank++) {
        net.delivered = net.delivered || demo_delivered_wrong(&net.stage, rank) != 0;
    }
    runs->runs++;
    runs->wrong += net.wrong;
    runs->delivered += net.delivered;
    runs->caught += net.wrong && !net.delivered;
    runs->failed += net.stage.failed > 0;
    runs->hung += !ended;
    runs->right += net.stage.done == DEMO_RUN_WORKERS && !net.delivered;
    runs->packets += net.packets;
    demo_stage_close(&net.stage);
    free(net.heap);
    return !net.no_memory;
}
