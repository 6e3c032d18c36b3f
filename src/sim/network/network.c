/* SPDX-License-Identifier: Apache-2.0 */
/* network.c: see network.h. The work per packet is at the end, and the compiler inlines it into one function. Read
 * next: topology.c, flows.c. */
#include "sim/network/network.h"

#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "sim/network/drop.h"
#include "sim/network/gates.h"
#include "sim/network/memory.h"

#define PICOSECONDS UINT64_C(1000000000000)
#define CACHED_LINKS 2000U /* below this, links fit in a cache */
#define STEP 8U            /* arrivals prefetched together */

/* ---- set-up ---- */

bool sim_network_init(struct sim_network *n, uint32_t hosts, uint32_t switches, uint32_t links)
{
    TRIB_ASSERT(hosts + switches <= SIM_NODES_MAX);
    memset(n, 0, sizeof *n);
    n->hosts = hosts;
    n->nodes = hosts + switches;
    n->link_room = links;
    n->free = SIM_NONE;
    n->links = sim_memory_map(links * sizeof *n->links);
    n->routes = calloc(n->nodes, sizeof *n->routes);
    n->packets = sim_memory_map(SIM_PACKETS_MAX * sizeof *n->packets);
    n->details = sim_memory_map(SIM_PACKETS_MAX * sizeof *n->details);
    if (!trib_fabric_init(&n->fabric, n->nodes, hosts, links) || n->links == NULL || n->routes == NULL ||
        n->packets == NULL || n->details == NULL) {
        sim_network_deinit(n);
        return false;
    }
    return true;
}

void sim_network_deinit(struct sim_network *n)
{
    sim_events_deinit(&n->events);
    sim_gates_deinit(n);
    sim_memory_unmap(n->links, n->link_room * sizeof *n->links);
    free(n->routes);
    trib_fabric_deinit(&n->fabric);
    free(n->table);
    free(n->choices);
    free(n->whole_routes);
    free(n->whole_table);
    free(n->whole_choices);
    sim_memory_unmap(n->packets, SIM_PACKETS_MAX * sizeof *n->packets);
    sim_memory_unmap(n->details, SIM_PACKETS_MAX * sizeof *n->details);
    memset(n, 0, sizeof *n);
}

static uint16_t add_port(struct sim_network *n, const struct sim_port *port)
{
    for (uint32_t i = 0; i < n->port_count; i++) {
        if (memcmp(&n->ports[i], port, sizeof *port) == 0) {
            return (uint16_t)i;
        }
    }
    TRIB_ASSERT(n->port_count < SIM_PORT_KINDS);
    n->ports[n->port_count] = *port;
    return (uint16_t)n->port_count++;
}

uint16_t sim_network_port(struct sim_network *n, const struct sim_port_config *config)
{
    struct sim_port port = {
        .delay_ps = config->delay_ps,
        .byte_ps = 8 * PICOSECONDS * SIM_BYTE_ONE / config->rate_bps,
    };

    port.mark_ps = config->mark_bytes == SIM_NEVER ? SIM_NEVER : sim_port_time(&port, config->mark_bytes);
    port.limit_ps = config->limit_bytes == SIM_NEVER ? SIM_NEVER : sim_port_time(&port, config->limit_bytes);
    return add_port(n, &port);
}

uint16_t sim_network_cut_port(struct sim_network *n, uint16_t port)
{
    struct sim_port cut = n->ports[port];

    cut.limit_ps = 0;
    cut.mark_ps = SIM_NEVER;
    return add_port(n, &cut);
}

void sim_network_set_port(struct sim_network *n, uint32_t link, uint16_t port)
{
    uint64_t byte_ps = n->ports[port].byte_ps;

    TRIB_ASSERT(link < n->link_count && port < n->port_count);
    n->links[link].port = port;
    n->fabric.rate_bps[link] = sim_link_is_cut(n, link) ? 0
                               : byte_ps == 0           ? UINT64_MAX
                                                        : 8 * PICOSECONDS * SIM_BYTE_ONE / byte_ps;
}

void sim_network_delay(struct sim_network *n, uint32_t link, uint64_t delay_ps)
{
    struct sim_port slower = n->ports[n->links[link].port];

    slower.delay_ps += delay_ps;
    sim_network_set_port(n, link, add_port(n, &slower));
}

uint32_t sim_network_link(struct sim_network *n, uint32_t from, uint32_t to, uint16_t port)
{
    TRIB_ASSERT(from >= n->hosts || n->link_count == sim_network_host_link(from) || from == to);
    uint32_t link = trib_fabric_add(&n->fabric, from, to, 0);
    n->link_count = link + 1;
    n->links[link] = (struct sim_link){.head = SIM_NONE, .tail = SIM_NONE, .to = to};
    sim_network_set_port(n, link, port);
    return link;
}

bool sim_network_ready(struct sim_network *n, uint32_t smallest, uint32_t largest)
{
    uint64_t horizon_ps = 0;
    uint64_t lookahead_ps = SIM_NEVER;

    if (n->gates != NULL) {
        sim_gates_ready(n, largest);
    }
    smallest = n->gates != NULL && SIM_PAUSE_BYTES < smallest ? SIM_PAUSE_BYTES : smallest;
    for (uint32_t i = 0; i < n->port_count; i++) {
        uint64_t most = n->ports[i].delay_ps + sim_port_time(&n->ports[i], largest);
        uint64_t least = sim_port_time(&n->ports[i], smallest);
        horizon_ps = most > horizon_ps ? most : horizon_ps;
        lookahead_ps = least != 0 && least < lookahead_ps ? least : lookahead_ps;
    }
    sim_events_deinit(&n->events);
    for (uint32_t i = 0; i < n->nodes; i++) {
        n->routes[i].salt = (uint32_t)trib_mix64(i);
    }
    uint32_t arrivals = n->gates != NULL ? 2 * n->link_count : n->link_count;
    return sim_events_init(&n->events, arrivals, horizon_ps, lookahead_ps);
}

uint64_t sim_network_count(const struct sim_network *n)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < n->link_count; i++) {
        for (uint32_t p = n->links[i].head; p != SIM_NONE; p = n->packets[p].next) {
            count += n->packets[p].kind != SIM_PAUSE_KIND;
        }
    }
    return count;
}

static uint64_t magic_of(uint32_t each)
{
    return (UINT64_C(0x80000000) + each - 1) / each;
}

bool sim_route_is_exact(uint32_t count, uint32_t each)
{
    uint64_t over = magic_of(each) * each - UINT64_C(0x80000000); /* less than `each` */

    return count == 0 || (count - 1) * over < UINT64_C(0x80000000);
}

struct sim_route sim_route_tree(uint32_t first, uint32_t count, uint32_t each, uint32_t down)
{
    TRIB_ASSERT(each >= 1 && sim_route_is_exact(count, each));
    return (struct sim_route){
        .first = first,
        .count = count,
        .down = down,
        .magic = (uint32_t)magic_of(each),
        .table = SIM_NONE,
    };
}

/* ---- a packet's way ---- */

static inline void enqueue(struct sim_network *n, uint32_t number, uint32_t packet)
{
    struct sim_link *link = &n->links[number];
    struct sim_packet *p = &n->packets[packet];
    const struct sim_port *port = &n->ports[link->port];
    uint64_t now_ps = n->events.now_ps;
    uint64_t begin_ps = link->busy_ps > now_ps ? link->busy_ps : now_ps;
    uint64_t wait_ps = begin_ps - now_ps;
    uint64_t busy_ps = begin_ps + sim_port_time(port, p->size);

    if (busy_ps - now_ps > port->limit_ps) {
        sim_network_drop(n, number, packet);
        return;
    }
    uint32_t is_marked = wait_ps > port->mark_ps && (p->flags & SIM_ECN_CAPABLE) != 0;
    p->flags |= (uint8_t)(is_marked * SIM_ECN_MARKED);
    link->marked += is_marked;
    link->most_ps = wait_ps > link->most_ps ? wait_ps : link->most_ps;
    link->busy_ps = busy_ps;
    p->next = SIM_NONE;
    if (link->head == SIM_NONE) {
        link->head = packet;
        sim_events_push(&n->events, number, busy_ps + port->delay_ps);
    } else {
        n->packets[link->tail].next = packet;
        n->packets[link->tail].next_due_ps = busy_ps + port->delay_ps;
    }
    link->tail = packet;
}

static uint32_t path_in(const struct sim_network *n, uint32_t from, const struct sim_packet *packet, uint32_t *links)
{
    uint32_t count = 0;
    uint32_t link = sim_network_host_link(from);

    for (;;) {
        TRIB_ASSERT(count < SIM_PATH_MAX);
        links[count++] = link;
        if (n->links[link].to == packet->to) {
            return count;
        }
        link = sim_network_route(n, n->links[link].to, packet);
    }
}

uint32_t sim_network_path(const struct sim_network *n, uint32_t from, const struct sim_packet *packet, uint32_t *links)
{
    if (n->whole_routes == NULL) {
        return path_in(n, from, packet, links);
    }
    struct sim_network whole = *n;
    whole.routes = n->whole_routes;
    whole.table = n->whole_table;
    whole.choices = n->whole_choices;
    return path_in(&whole, from, packet, links);
}

void sim_network_give(struct sim_network *n, uint32_t link, uint32_t packet)
{
    n->sent++;
    if (n->receiver.sent != NULL) {
        n->receiver.sent(n->receiver.user, link, packet);
    }
    if (n->gates != NULL) {
        sim_gates_give(n, link, packet);
    } else {
        enqueue(n, link, packet);
    }
}

void sim_network_send(struct sim_network *n, uint32_t host, uint32_t packet)
{
    sim_network_give(n, sim_network_host_link(host), packet);
}

static inline void arrive(struct sim_network *n, uint32_t number)
{
    struct sim_link *link = &n->links[number];
    uint32_t packet = link->head;
    const struct sim_packet *p = &n->packets[packet];
    uint32_t node = link->to;

    link->head = p->next;
    if (p->next != SIM_NONE) {
        sim_events_push(&n->events, number, p->next_due_ps);
    }
    sim_network_hash(n, number);
    if (link->lost != 0) {
        link->lost = 0;
        n->cut_off += !sim_link_is_cut(n, number); /* repaired meanwhile */
        sim_network_drop(n, number, packet);
        return;
    }
    link->bytes += p->size;
    link->packets++;
    if (n->receiver.hop != NULL) {
        n->receiver.hop(n->receiver.user, number, packet);
    }
    if (node == p->to) {
        n->arrived++;
        n->receiver.arrived(n->receiver.user, packet);
    } else {
        enqueue(n, sim_network_route(n, node, p), packet);
    }
}

/* Prefetches memory for the next arrivals, in steps: each step loads the addresses that the next step needs. Known
 * arrivals do not change before they are due; a useless prefetch costs only time. Hosts answer most packets, so their
 * own links are prefetched too. */
static inline uint32_t links_until(const struct sim_events *e, uint32_t until)
{
    return until < e->batch_count ? until : e->batch_count;
}

static inline const struct sim_link *link_at(const struct sim_network *n, uint32_t at)
{
    return &n->links[(uint32_t)n->events.batch[at]];
}

static inline void fetch_link(const struct sim_network *n, uint32_t at)
{
    __builtin_prefetch(link_at(n, at), 1);
}

static inline void fetch_packet(const struct sim_network *n, uint32_t at)
{
    __builtin_prefetch(&n->packets[link_at(n, at)->head], 1);
}

static inline void fetch_next(const struct sim_network *n, uint32_t at)
{
    const struct sim_link *link = link_at(n, at);
    const struct sim_packet *p = &n->packets[link->head];

    sim_events_fetch(&n->events, p->next_due_ps);
    if (link->to != p->to) {
        __builtin_prefetch(&n->links[sim_network_route(n, link->to, p)], 1);
        return;
    }
    if (p->to < n->hosts) {
        __builtin_prefetch(&n->links[sim_network_host_link(p->to)], 1);
    }
    if (n->receiver.soon != NULL) {
        n->receiver.soon(n->receiver.user, link->head);
    }
}

static inline void fetch_tail(const struct sim_network *n, uint32_t at)
{
    const struct sim_link *link = link_at(n, at);
    const struct sim_packet *p = &n->packets[link->head];

    if (link->to != p->to) {
        const struct sim_link *out = &n->links[sim_network_route(n, link->to, p)];
        const struct sim_port *port = &n->ports[out->port];
        __builtin_prefetch(&n->packets[out->tail % SIM_PACKETS_MAX], 1);
        sim_events_fetch(&n->events, n->events.base_ps + (n->events.batch[at] >> 32) + sim_port_time(port, p->size) +
                                         port->delay_ps);
        return;
    }
    if (p->to < n->hosts) {
        __builtin_prefetch(&n->packets[n->links[sim_network_host_link(p->to)].tail % SIM_PACKETS_MAX], 1);
    }
    if (n->receiver.sooner != NULL) {
        n->receiver.sooner(n->receiver.user, link->head);
    }
}

static void fetch(struct sim_network *n)
{
    struct sim_events *e = &n->events;
    uint32_t at = e->batch_at;
    uint32_t skip = e->fetch_at != 0; /* the first time all arrivals ahead, later one more step */

    for (uint32_t i = at; i < links_until(e, at + STEP); i++) {
        fetch_link(n, i);
    }
    for (uint32_t i = at + skip * 3 * STEP; i < links_until(e, at + 4 * STEP); i++) {
        fetch_packet(n, i);
    }
    for (uint32_t i = at + skip * 2 * STEP; i < links_until(e, at + 3 * STEP); i++) {
        fetch_next(n, i);
    }
    for (uint32_t i = at + skip * STEP; i < links_until(e, at + 2 * STEP); i++) {
        fetch_tail(n, i);
    }
    e->fetch_at = at + STEP;
}

bool sim_network_run(struct sim_network *n, uint64_t until_ps, uint64_t hops)
{
    struct sim_events *events = &n->events;
    uint64_t end = hops > UINT64_MAX - n->hops ? UINT64_MAX : n->hops + hops;
    bool is_large = n->link_count > CACHED_LINKS;

    n->stop = false;
    if (n->gates != NULL) {
        return sim_gates_run(n, until_ps, end);
    }
    while (n->hops < end && !n->stop) {
        if (is_large && events->batch_at >= events->fetch_at) {
            fetch(n);
        }
        uint32_t order = sim_events_pop(events, until_ps);
        if (order >= SIM_ARRIVAL && order != SIM_NONE) {
            n->hops++;
            arrive(n, order & ~SIM_ARRIVAL);
        } else if (order == SIM_NONE) {
            return false;
        } else {
            n->receiver.timer(n->receiver.user, order);
        }
    }
    return true;
}
