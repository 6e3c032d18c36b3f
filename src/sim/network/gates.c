/* SPDX-License-Identifier: Apache-2.0 */
/* gates.c: see gates.h. Read next: deadlock.c. */
#include "sim/network/gates.h"

#include <stdlib.h>
#include <string.h>

#include "sim/network/drop.h"
#include "sim/network/memory.h"

#define CACHED_LINKS 1000U /* below this, links fit in a cache */
#define STEP 8U            /* arrivals and ends prefetched together */

/* ---- set-up ---- */

/* False for a link of a switch to itself (topology.h). */
static inline bool is_cable(const struct sim_network *n, uint32_t link)
{
    return n->fabric.from[link] != n->links[link].to;
}

/* Each link into a switch has its headroom. The rest of the switch's memory is shared. */
void sim_gates_ready(struct sim_network *n, uint32_t largest)
{
    struct sim_gates *g = n->gates;
    const struct sim_buffers_config *c = &g->config;

    for (uint32_t i = n->hosts; i < n->nodes; i++) {
        g->pools[i].headrooms = 0;
    }
    for (uint32_t i = 0; c->is_lossless && i < n->link_count; i++) {
        const struct sim_port *port = &n->ports[n->links[i].port];
        if (n->links[i].to >= n->hosts && is_cable(n, i)) {
            uint64_t back_ps = n->ports[n->links[g->list[i].opposite].port].delay_ps;
            uint64_t needed = sim_buffers_headroom(port, back_ps, largest);
            uint64_t bytes = c->headroom_bytes != 0 ? c->headroom_bytes : needed;
            g->is_short = g->is_short || bytes < needed;
            g->headroom_most = bytes > g->headroom_most ? bytes : g->headroom_most;
            g->ingress[i].headroom = (uint32_t)(bytes < SIM_BUFFER_MAX ? bytes : SIM_BUFFER_MAX);
            g->pools[n->links[i].to].headrooms += bytes;
        }
    }
    for (uint32_t i = n->hosts; i < n->nodes; i++) {
        struct sim_pool *pool = &g->pools[i];
        uint64_t all = c->shared_bytes != 0 ? c->shared_bytes : SIM_BUFFER_MAX * SIM_NODES_MAX;
        pool->size = all > pool->headrooms ? all - pool->headrooms : 0;
    }
}

uint32_t sim_gates_unfit(const struct sim_network *n, uint32_t largest)
{
    for (uint32_t i = n->hosts; i < n->nodes; i++) {
        if (n->gates->pools[i].size < largest) {
            return i;
        }
    }
    return SIM_NONE;
}

bool sim_gates_init(struct sim_network *n, const struct sim_buffers_config *config)
{
    struct sim_gates *g = calloc(1, sizeof *g);

    TRIB_ASSERT(n->link_count < SIM_CAME_NONE);
    n->gates = g;
    if (g == NULL) {
        return false;
    }
    g->list = sim_memory_map(n->link_room * sizeof *g->list);
    g->ingress = sim_memory_map(n->link_room * sizeof *g->ingress);
    g->pools = calloc(n->nodes, sizeof *g->pools);
    if (g->list == NULL || g->ingress == NULL || g->pools == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < n->link_count; i++) {
        bool is_lossy = !config->is_lossless && n->fabric.from[i] >= n->hosts && is_cable(n, i);
        g->list[i] = (struct sim_gate){.waiting = SIM_NONE,
                                       .last = SIM_NONE,
                                       .from = SIM_NONE,
                                       .opposite = n->fabric.opposite[i],
                                       .is_lossy = is_lossy};
    }
    g->config = *config;
    g->thresholds = sim_buffers_thresholds(config);
    g->watch = SIM_NONE;
    g->arriving = g->passing = SIM_NONE;
    return true;
}

void sim_gates_deinit(struct sim_network *n)
{
    struct sim_gates *g = n->gates;

    if (g != NULL) {
        sim_memory_unmap(g->list, n->link_room * sizeof *g->list);
        sim_memory_unmap(g->ingress, n->link_room * sizeof *g->ingress);
        free(g->pools);
        free(g);
        n->gates = NULL;
    }
}

/* ---- a port ---- */

/* next_due_ps of a packet that has begun, until another begins behind it. */
#define NONE_BEHIND SIM_NEVER

static inline uint64_t came(uint64_t now_ps, uint32_t by)
{
    return now_ps << SIM_CAME_BITS | (by & SIM_CAME_NONE);
}

/* Queues a frame behind the packets that have begun, before the waiting packets. */
static uint32_t make_frame(struct sim_network *n, uint32_t number)
{
    struct sim_gate *gate = &n->gates->list[number];
    struct sim_link *link = &n->links[number];
    uint32_t packet = sim_packet_take(n);

    gate->told = gate->owes;
    gate->told_ps = n->events.now_ps;
    n->gates->frames++;
    n->packets[packet] = (struct sim_packet){
        .next = gate->waiting,
        .to = link->to & SIM_NODE_MASK,
        .size = SIM_PAUSE_BYTES,
        .value = gate->told,
        .kind = SIM_PAUSE_KIND,
    };
    if (link->head == gate->waiting) {
        link->head = packet;
    } else {
        n->packets[gate->last].next = packet;
    }
    if (gate->waiting == SIM_NONE) {
        link->tail = packet;
    }
    gate->from = SIM_NONE;
    gate->bytes = 0;
    return packet;
}

/* Returns the first waiting packet. The list does not change: the packet is in its place already. */
static inline uint32_t take_waiting(struct sim_network *n, uint32_t number, uint64_t time_ps)
{
    struct sim_gate *gate = &n->gates->list[number];
    struct sim_link *link = &n->links[number];
    uint32_t packet = gate->waiting;
    const struct sim_packet *p = &n->packets[packet];
    uint64_t wait_ps = (came(n->events.now_ps, SIM_NONE) - p->next_due_ps) >> SIM_CAME_BITS;

    link->most_ps = wait_ps > link->most_ps ? wait_ps : link->most_ps;
    gate->from = sim_gate_came_by(p);
    gate->bytes = p->size;
    gate->waiting = p->next;
    gate->waiting_ps -= time_ps;
    return packet;
}

/* Starts the next transmission, if any may start. The port must be idle. */
static inline void begin(struct sim_network *n, uint32_t number)
{
    struct sim_gate *gate = &n->gates->list[number];
    struct sim_link *link = &n->links[number];
    const struct sim_port *port = &n->ports[link->port];
    uint32_t packet;
    uint64_t time_ps;

    if (gate->owes != gate->told && port->limit_ps != 0) { /* not cut */
        time_ps = sim_port_time(port, SIM_PAUSE_BYTES);
        packet = make_frame(n, number);
    } else if (gate->waiting != SIM_NONE && !gate->is_stopped) {
        time_ps = sim_port_time(port, n->packets[gate->waiting].size);
        packet = take_waiting(n, number, time_ps);
    } else {
        return;
    }
    link->busy_ps = n->events.now_ps + time_ps;
    gate->is_sending = true;
    if (link->head == packet) {
        sim_events_push(&n->events, number, link->busy_ps + port->delay_ps);
    } else {
        n->packets[gate->last].next_due_ps = link->busy_ps + port->delay_ps;
    }
    gate->last = packet;
    n->packets[packet].next_due_ps = NONE_BEHIND;
    sim_events_push(&n->events, number | SIM_LEAVING, link->busy_ps);
}

/* ---- buffers ---- */

/* The input link `by` has become full, or is not full any more. The gate of the cable's other direction must report
 * this. */
static void tell(struct sim_network *n, uint32_t by)
{
    uint32_t number = n->gates->list[by].opposite;
    struct sim_gate *gate = &n->gates->list[number];

    gate->owes = n->gates->ingress[by].is_full;
    if (!gate->is_sending) {
        begin(n, number);
    }
}

/* Takes memory for a packet that is to wait at this port. by: input link, or SIM_NONE. False: no room. */
static inline bool take_memory(struct sim_network *n, uint32_t number, uint32_t by, uint32_t bytes)
{
    struct sim_gates *g = n->gates;
    bool is_good = true;

    if (g->list[number].is_lossy) {
        is_good = sim_buffers_queue(&g->thresholds, &g->pools[n->fabric.from[number]], &g->list[number].held, bytes);
    } else if (g->config.is_lossless && by != SIM_NONE) {
        struct sim_ingress *in = &g->ingress[by];
        bool was_full = in->is_full != 0;
        is_good = sim_buffers_take(&g->thresholds, &g->pools[n->links[by].to], in, bytes);
        if ((in->is_full != 0) != was_full) {
            tell(n, by);
        }
    }
    g->overflowed += !is_good;
    return is_good;
}

static inline void give_memory(struct sim_network *n, uint32_t number, uint32_t by, uint32_t bytes)
{
    struct sim_gates *g = n->gates;

    if (g->list[number].is_lossy) {
        g->list[number].held -= bytes;
        g->pools[n->fabric.from[number]].used -= bytes;
    } else if (g->config.is_lossless && by != SIM_NONE) {
        struct sim_ingress *in = &g->ingress[by];
        bool was_full = in->is_full != 0;
        sim_buffers_give(&g->thresholds, &g->pools[n->links[by].to], in, bytes);
        if ((in->is_full != 0) != was_full) {
            tell(n, by);
        }
    }
}

/* ---- a packet's way ---- */

/* by: input link of the packet; SIM_NONE: this node made it. */
static inline void enqueue(struct sim_network *n, uint32_t number, uint32_t packet, uint32_t by)
{
    struct sim_gate *gate = &n->gates->list[number];
    struct sim_link *link = &n->links[number];
    struct sim_packet *p = &n->packets[packet];
    const struct sim_port *port = &n->ports[link->port];
    uint64_t now_ps = n->events.now_ps;
    uint64_t wait_ps = gate->waiting_ps + (gate->is_sending ? link->busy_ps - now_ps : 0);
    uint64_t time_ps = sim_port_time(port, p->size);

    if (wait_ps + time_ps > port->limit_ps || !take_memory(n, number, by, p->size)) {
        sim_network_drop(n, number, packet);
        return;
    }
    uint32_t is_marked = wait_ps > port->mark_ps && (p->flags & SIM_ECN_CAPABLE) != 0;
    p->flags |= (uint8_t)(is_marked * SIM_ECN_MARKED);
    link->marked += is_marked;
    p->next = SIM_NONE;
    p->next_due_ps = came(now_ps, by);
    if (link->head == SIM_NONE) {
        link->head = packet;
    } else {
        n->packets[link->tail].next = packet;
    }
    link->tail = packet;
    gate->waiting = gate->waiting == SIM_NONE ? packet : gate->waiting;
    gate->waiting_ps += time_ps;
    if (!gate->is_sending) {
        begin(n, number);
    }
}

void sim_gates_give(struct sim_network *n, uint32_t link, uint32_t packet)
{
    uint32_t by = n->gates->passing;

    n->gates->passing = SIM_NONE;
    enqueue(n, link, packet, by);
}

static void stop_or_go(struct sim_network *n, uint32_t number, bool is_stop)
{
    struct sim_gates *g = n->gates;
    struct sim_gate *gate = &g->list[number];

    TRIB_ASSERT(gate->is_stopped != is_stop);
    gate->is_stopped = is_stop;
    if (is_stop) {
        gate->since_ps = n->events.now_ps;
        gate->stops++;
        g->stopped++;
        if (g->watch != SIM_NONE && sim_timer_due(&n->events, g->watch) == SIM_NEVER) {
            sim_timer_set(&n->events, g->watch, n->events.now_ps + g->watch_ps);
        }
        return;
    }
    gate->stopped_ps += n->events.now_ps - gate->since_ps;
    g->stopped--;
    if (!gate->is_sending) {
        begin(n, number);
    }
}

/* A frame has arrived over this link, or was lost. */
static void end_frame(struct sim_network *n, uint32_t number, uint32_t packet, bool is_lost)
{
    if (!is_lost) {
        stop_or_go(n, n->gates->list[number].opposite, n->packets[packet].value != 0);
    }
    sim_packet_free(n, packet);
}

static inline void arrive(struct sim_network *n, uint32_t number)
{
    struct sim_link *link = &n->links[number];
    uint32_t packet = link->head;
    const struct sim_packet *p = &n->packets[packet];
    uint32_t node = link->to;
    bool is_lost = link->lost != 0;

    link->head = p->next;
    if (p->next_due_ps != NONE_BEHIND) {
        sim_events_push(&n->events, number, p->next_due_ps);
    }
    sim_network_hash(n, number);
    link->lost = 0;
    if (n->receiver.hop != NULL && !is_lost) {
        n->receiver.hop(n->receiver.user, number, packet);
    }
    if (p->kind == SIM_PAUSE_KIND) {
        end_frame(n, number, packet, is_lost);
        return;
    }
    if (is_lost) {
        n->cut_off += !sim_link_is_cut(n, number); /* repaired meanwhile */
        sim_network_drop(n, number, packet);
        return;
    }
    link->bytes += p->size;
    link->packets++;
    if (node == p->to) {
        n->arrived++;
        n->gates->arriving = number;
        n->receiver.arrived(n->receiver.user, packet);
    } else {
        enqueue(n, sim_network_route(n, node, p), packet, number);
    }
}

static inline void leave(struct sim_network *n, uint32_t number)
{
    struct sim_gate *gate = &n->gates->list[number];

    gate->is_sending = false;
    if (gate->bytes != 0) {
        give_memory(n, number, gate->from, gate->bytes);
    }
    if (!gate->is_sending) { /* giving memory may have started a frame */
        begin(n, number);
    }
}

/* ---- cables that are cut ---- */

static void lose_waiting(struct sim_network *n, uint32_t number)
{
    struct sim_gate *gate = &n->gates->list[number];
    uint32_t packet = gate->waiting;

    gate->waiting = SIM_NONE;
    gate->waiting_ps = 0;
    while (packet != SIM_NONE) {
        uint32_t next = n->packets[packet].next;
        give_memory(n, number, sim_gate_came_by(&n->packets[packet]), n->packets[packet].size);
        sim_network_drop(n, number, packet);
        packet = next;
    }
}

void sim_gates_cut(struct sim_network *n, uint32_t number)
{
    struct sim_gate *gate = &n->gates->list[number];
    struct sim_link *link = &n->links[number];
    uint32_t head = link->head;

    if (head != SIM_NONE && head == gate->waiting) {
        link->head = SIM_NONE;
    } else if (head != SIM_NONE) {
        uint32_t packet = n->packets[head].next;
        while (packet != gate->waiting) {
            uint32_t next = n->packets[packet].next;
            if (n->packets[packet].kind == SIM_PAUSE_KIND) {
                sim_packet_free(n, packet);
            } else {
                sim_network_drop(n, number, packet);
            }
            packet = next;
        }
        n->packets[head].next = SIM_NONE;
        n->packets[head].next_due_ps = NONE_BEHIND;
        link->tail = gate->last = head;
        link->lost = 1;
    }
    lose_waiting(n, number);
    gate->is_cut = true;
    gate->told = false;
    if (gate->is_stopped) {
        stop_or_go(n, number, false);
    }
}

/* The stop takes effect before the sender's first packet. told_ps keeps an earlier frame's time, because no frame is
 * under way (deadlock.c). */
void sim_gates_mended(struct sim_network *n, uint32_t number)
{
    struct sim_gate *gate = &n->gates->list[number];

    if (gate->is_cut && !sim_link_is_cut(n, number)) {
        gate->is_cut = false;
        if (gate->owes) {
            gate->told = true;
            stop_or_go(n, gate->opposite, true);
        }
    }
    if (!gate->is_sending) {
        begin(n, number);
    }
}

/* ---- the loop ---- */

/* Prefetches memory for the next arrivals and ends in steps, as in network.c. */
static inline uint32_t link_at(const struct sim_network *n, uint32_t at)
{
    return (uint32_t)n->events.batch[at] & ~SIM_LEAVING;
}

static inline bool is_leaving(const struct sim_network *n, uint32_t at)
{
    return ((uint32_t)n->events.batch[at] & SIM_LEAVING) != 0;
}

static inline void fetch_link(const struct sim_network *n, uint32_t at)
{
    __builtin_prefetch(&n->links[link_at(n, at)], 1);
    __builtin_prefetch(is_leaving(n, at) ? (const void *)&n->gates->list[link_at(n, at)]
                                         : (const void *)&n->gates->ingress[link_at(n, at)],
                       1);
}

static inline void fetch_packet(const struct sim_network *n, uint32_t at)
{
    uint32_t link = link_at(n, at);
    uint32_t packet = is_leaving(n, at) ? n->gates->list[link].waiting : n->links[link].head;

    __builtin_prefetch(&n->packets[packet % SIM_PACKETS_MAX], 1);
}

static inline void fetch_end(const struct sim_network *n, uint32_t at)
{
    const struct sim_gate *gate = &n->gates->list[link_at(n, at)];

    if (gate->from != SIM_NONE) {
        __builtin_prefetch(&n->gates->ingress[gate->from], 1);
    }
    if (gate->waiting != SIM_NONE) {
        const struct sim_port *port = &n->ports[n->links[link_at(n, at)].port];
        uint64_t due_ps =
            n->events.base_ps + (n->events.batch[at] >> 32) + sim_port_time(port, n->packets[gate->waiting].size);
        __builtin_prefetch(&n->packets[gate->last % SIM_PACKETS_MAX], 1);
        sim_events_fetch(&n->events, due_ps);
        sim_events_fetch(&n->events, due_ps + port->delay_ps);
    }
}

static inline void fetch_next(const struct sim_network *n, uint32_t at)
{
    const struct sim_link *link = &n->links[link_at(n, at)];

    if (is_leaving(n, at)) {
        fetch_end(n, at);
        return;
    }
    const struct sim_packet *p = &n->packets[link->head];
    bool is_there = link->to == p->to;
    uint32_t out = !is_there             ? sim_network_route(n, link->to, p)
                   : link->to < n->hosts ? sim_network_host_link(link->to)
                                         : link_at(n, at);
    __builtin_prefetch(&n->links[out], 1);
    __builtin_prefetch(&n->gates->list[out], 1);
    if (is_there && n->receiver.soon != NULL && p->kind != SIM_PAUSE_KIND) {
        n->receiver.soon(n->receiver.user, link->head);
    }
}

static inline void fetch_tail(const struct sim_network *n, uint32_t at)
{
    const struct sim_link *link = &n->links[link_at(n, at)];

    if (is_leaving(n, at)) {
        return;
    }
    const struct sim_packet *p = &n->packets[link->head];
    if (link->to != p->to) {
        uint32_t out = sim_network_route(n, link->to, p);
        __builtin_prefetch(&n->packets[n->links[out].tail % SIM_PACKETS_MAX], 1);
    } else if (n->receiver.sooner != NULL && p->kind != SIM_PAUSE_KIND) {
        n->receiver.sooner(n->receiver.user, link->head);
    }
}

static void fetch(struct sim_network *n)
{
    struct sim_events *e = &n->events;
    uint32_t at = e->batch_at;
    uint32_t skip = e->fetch_at != 0;
    uint32_t count = e->batch_count;

    for (uint32_t i = at + skip * 4 * STEP; i < count && i < at + 5 * STEP; i++) {
        fetch_link(n, i);
    }
    for (uint32_t i = at + skip * 3 * STEP; i < count && i < at + 4 * STEP; i++) {
        fetch_packet(n, i);
    }
    for (uint32_t i = at + skip * 2 * STEP; i < count && i < at + 3 * STEP; i++) {
        fetch_next(n, i);
    }
    for (uint32_t i = at + skip * STEP; i < count && i < at + 2 * STEP; i++) {
        fetch_tail(n, i);
    }
    e->fetch_at = at + STEP;
}

bool sim_gates_run(struct sim_network *n, uint64_t until_ps, uint64_t end)
{
    struct sim_events *events = &n->events;
    bool is_large = n->link_count > CACHED_LINKS;

    while (n->hops < end && !n->stop) {
        if (is_large && events->batch_at >= events->fetch_at) {
            fetch(n);
        }
        uint32_t order = sim_events_pop(events, until_ps);
        if (order == SIM_NONE) {
            return false;
        }
        if (order < SIM_ARRIVAL) {
            n->receiver.timer(n->receiver.user, order);
        } else if ((order & SIM_LEAVING) != 0) {
            leave(n, order & ~(SIM_ARRIVAL | SIM_LEAVING));
        } else {
            n->hops++;
            arrive(n, order & ~SIM_ARRIVAL);
        }
    }
    return true;
}

/* ---- the check ---- */

/* Sums the bytes in gates by input link or, if lossy, by the gate itself. */
static void add_up(const struct sim_network *n, uint64_t *held)
{
    const struct sim_gates *g = n->gates;

    for (uint32_t i = 0; i < n->link_count; i++) {
        const struct sim_gate *gate = &g->list[i];
        uint32_t from = g->config.is_lossless ? gate->from : i;
        if (gate->is_sending && from != SIM_NONE) {
            held[from] += gate->bytes;
        }
        for (uint32_t p = gate->waiting; p != SIM_NONE; p = n->packets[p].next) {
            from = g->config.is_lossless ? sim_gate_came_by(&n->packets[p]) : i;
            if (from != SIM_NONE) {
                held[from] += n->packets[p].size;
            }
        }
    }
}

const char *sim_gates_check(const struct sim_network *n)
{
    const struct sim_gates *g = n->gates;
    bool is_lossless = g->config.is_lossless;
    uint64_t *held = calloc(n->link_count, sizeof *held);
    uint64_t *used = calloc(n->nodes, sizeof *used);
    const char *fault = held == NULL || used == NULL ? "out of memory" : NULL;

    if (fault == NULL) {
        add_up(n, held);
    }
    for (uint32_t i = 0; fault == NULL && i < n->link_count; i++) {
        const struct sim_ingress *in = &g->ingress[i];
        uint32_t node = is_lossless ? n->links[i].to : n->fabric.from[i];
        if (node >= n->hosts && is_cable(n, i)) {
            uint64_t counted = is_lossless ? (uint64_t)in->held + in->over : g->list[i].held;
            fault = counted != held[i] ? "a port's part of a buffer differs from its queued bytes" : NULL;
            used[node] += is_lossless ? in->held : held[i];
        }
    }
    for (uint32_t i = n->hosts; fault == NULL && i < n->nodes; i++) {
        fault = used[i] != g->pools[i].used || used[i] > g->pools[i].size
                    ? "a switch's buffer differs from the sum of its ports"
                    : NULL;
    }
    if (fault == NULL && is_lossless && !g->is_short && g->overflowed != 0) {
        fault = "packets were dropped for lack of memory although every headroom is large enough";
    }
    free(held);
    free(used);
    return fault;
}
