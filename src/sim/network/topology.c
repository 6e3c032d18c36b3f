/* SPDX-License-Identifier: Apache-2.0 */
/* topology.c: see topology.h. Each builder adds links in the order of their numbers, and its routes use the same
 * numbers. Read next: network.h (sim_network_route). */
#include "sim/network/topology.h"

#include "sim/network/gates.h"

struct kinds {
    /* Host to switch. Hosts never drop packets, and mark only if hosts_mark is set. */
    uint16_t nic;
    uint16_t last; /* switch to host */
    uint16_t fabric;
};

/* Returns a kind of port with this rate and delay, for a host, which never drops, or for a switch. */
static uint16_t port_of(const struct sim_topology *t, struct sim_network *n, const struct sim_wire *wire, bool is_host)
{
    struct sim_port_config config = {wire->rate_bps, wire->delay_ps,
                                     is_host && !t->hosts_mark ? SIM_NEVER : t->mark_bytes,
                                     is_host ? SIM_NEVER : t->buffer_bytes};

    return sim_network_port(n, &config);
}

static struct kinds make_kinds(const struct sim_topology *t, struct sim_network *n)
{
    return (struct kinds){
        .nic = port_of(t, n, &t->edge, true),
        .last = port_of(t, n, &t->edge, false),
        .fabric = port_of(t, n, &t->fabric, false),
    };
}

/* Connects hosts to the lowest tier of switches, `each` per switch. */
static void join_hosts(struct sim_network *n, uint32_t each, const struct kinds *kinds)
{
    for (uint32_t host = 0; host < n->hosts; host++) {
        (void)sim_network_link(n, host, n->hosts + host / each, kinds->nic);
    }
    for (uint32_t host = 0; host < n->hosts; host++) {
        (void)sim_network_link(n, n->hosts + host / each, host, kinds->last);
    }
}

/* A star is a leaf-spine network with one leaf and no spines. */
static void build_leaf_spine(const struct sim_topology *t, struct sim_network *n, const struct kinds *kinds)
{
    uint32_t hosts = n->hosts;
    uint32_t leaves = hosts / t->hosts;
    uint32_t leaf = hosts;
    uint32_t spine = leaf + leaves;
    uint32_t spines = n->nodes - spine;

    join_hosts(n, t->hosts, kinds);
    for (uint32_t l = 0; l < leaves; l++) {
        struct sim_route *route = &n->routes[leaf + l];
        *route = sim_route_tree(l * t->hosts, t->hosts, 1, hosts + l * t->hosts);
        route->up = n->link_count;
        route->ups = spines;
        for (uint32_t s = 0; s < spines; s++) {
            (void)sim_network_link(n, leaf + l, spine + s, kinds->fabric);
        }
    }
    for (uint32_t s = 0; s < spines; s++) {
        n->routes[spine + s] = sim_route_tree(0, hosts, t->hosts, n->link_count);
        for (uint32_t l = 0; l < leaves; l++) {
            (void)sim_network_link(n, spine + s, leaf + l, kinds->fabric);
        }
    }
}

bool sim_topology_pods(const struct sim_topology *t, struct sim_pods *pods)
{
    if (t->kind == SIM_FAT_TREE) {
        *pods = (struct sim_pods){t->k, t->k / 2, t->k / 2, t->k / 2, t->k / 2};
        return true;
    }
    double up = (double)t->hosts * (double)t->edge.rate_bps * t->ratio.up;
    double each = (double)t->fabric.rate_bps * t->ratio.down;
    *pods = (struct sim_pods){t->pods, t->edges, (uint32_t)(up / each + 0.5), t->hosts,
                              t->edges * t->core_ratio.up / t->core_ratio.down};
    return pods->aggregations >= 1 && pods->ups >= 1 && pods->aggregations * each == up &&
           pods->ups * t->core_ratio.down == t->edges * t->core_ratio.up;
}

/* Connects each edge switch of a pod to each of its aggregation switches. */
static void build_pods(struct sim_network *n, const struct sim_pods *p, const struct kinds *kinds)
{
    uint32_t hosts = n->hosts;
    uint32_t edge = hosts;
    uint32_t aggregation = edge + p->pods * p->edges;

    for (uint32_t e = 0; e < p->pods * p->edges; e++) {
        struct sim_route *route = &n->routes[edge + e];
        *route = sim_route_tree(e * p->hosts, p->hosts, 1, hosts + e * p->hosts);
        route->up = n->link_count;
        route->ups = p->aggregations;
        for (uint32_t j = 0; j < p->aggregations; j++) {
            (void)sim_network_link(n, edge + e, aggregation + e / p->edges * p->aggregations + j, kinds->fabric);
        }
    }
    for (uint32_t a = 0; a < p->pods * p->aggregations; a++) {
        uint32_t pod = a / p->aggregations;
        uint32_t below = p->edges * p->hosts;
        n->routes[aggregation + a] = sim_route_tree(pod * below, below, p->hosts, n->link_count);
        for (uint32_t e = 0; e < p->edges; e++) {
            (void)sim_network_link(n, aggregation + a, edge + pod * p->edges + e, kinds->fabric);
        }
    }
}

static void build_fat_tree(const struct sim_topology *t, struct sim_network *n, const struct kinds *kinds)
{
    struct sim_pods p;

    TRIB_ASSERT(sim_topology_pods(t, &p));
    uint32_t aggregation = n->hosts + p.pods * p.edges;
    uint32_t core = aggregation + p.pods * p.aggregations;
    join_hosts(n, p.hosts, kinds);
    build_pods(n, &p, kinds);
    for (uint32_t a = 0; a < p.pods * p.aggregations; a++) {
        n->routes[aggregation + a].up = n->link_count;
        n->routes[aggregation + a].ups = p.ups;
        for (uint32_t m = 0; m < p.ups; m++) {
            (void)sim_network_link(n, aggregation + a, core + a % p.aggregations * p.ups + m, kinds->fabric);
        }
    }
    for (uint32_t c = 0; c < p.aggregations * p.ups; c++) {
        n->routes[core + c] = sim_route_tree(0, n->hosts, p.edges * p.hosts, n->link_count);
        for (uint32_t pod = 0; pod < p.pods; pod++) {
            (void)sim_network_link(n, core + c, aggregation + pod * p.aggregations + c / p.ups, kinds->fabric);
        }
    }
}

static uint32_t groups_of(const struct sim_topology *t)
{
    return t->routers * t->globals + 1;
}

/* Global cable q of group i belongs to its router q / globals and leads to group i + q + 1. There it is cable groups -
 * 2 - q, which belongs to the router with the same number counted from the last one. */
static void build_dragonfly(const struct sim_topology *t, struct sim_network *n, const struct kinds *kinds)
{
    uint32_t groups = groups_of(t);

    join_hosts(n, t->hosts, kinds);
    for (uint32_t group = 0; group < groups; group++) {
        uint32_t first = n->hosts + group * t->routers;
        for (uint32_t router = 0; router < t->routers; router++) {
            for (uint32_t other = 0; other < t->routers; other++) {
                if (other != router) {
                    (void)sim_network_link(n, first + router, first + other, kinds->fabric);
                }
            }
            for (uint32_t i = 0; i < t->globals; i++) {
                uint32_t there = (group + router * t->globals + i + 1) % groups;
                uint32_t end = n->hosts + there * t->routers + t->routers - 1 - router;
                (void)sim_network_link(n, first + router, end, kinds->fabric);
            }
        }
    }
}

static void build_from_file(const struct sim_topology *t, struct sim_network *n)
{
    const struct sim_cables *c = &t->cables;

    for (uint32_t host = 0; host < c->hosts; host++) {
        (void)sim_network_link(n, host, c->list[host].ends[1], port_of(t, n, &c->list[host].wire, true));
    }
    for (uint32_t host = 0; host < c->hosts; host++) {
        (void)sim_network_link(n, c->list[host].ends[1], host, port_of(t, n, &c->list[host].wire, false));
    }
    for (uint32_t i = c->hosts; i < c->count; i++) {
        uint16_t port = port_of(t, n, &c->list[i].wire, false);
        (void)sim_network_link(n, c->list[i].ends[0], c->list[i].ends[1], port);
        (void)sim_network_link(n, c->list[i].ends[1], c->list[i].ends[0], port);
    }
}

/* ---- single links ---- */

static struct sim_wire wire_of(const struct sim_topology *t, uint32_t from, uint32_t to, uint32_t hosts)
{
    for (uint32_t i = 0; t->kind == SIM_FROM_FILE && i < t->cables.count; i++) {
        const uint32_t *ends = t->cables.list[i].ends;
        if ((ends[0] == from && ends[1] == to) || (ends[0] == to && ends[1] == from)) {
            return t->cables.list[i].wire;
        }
    }
    return from < hosts || to < hosts ? t->edge : t->fabric;
}

static struct sim_wire odd_wire(const struct sim_topology *t, const struct sim_odd_link *odd, uint32_t hosts)
{
    struct sim_wire wire = wire_of(t, odd->ends[0], odd->ends[1], hosts);

    wire.rate_bps = odd->wire.rate_bps != 0 ? odd->wire.rate_bps : wire.rate_bps;
    wire.delay_ps = odd->wire.delay_ps != SIM_NEVER ? odd->wire.delay_ps : wire.delay_ps;
    return wire;
}

static void change_links(const struct sim_topology *t, struct sim_network *n)
{
    for (uint32_t i = 0; i < t->odd_count; i++) {
        const struct sim_odd_link *odd = &t->odd[i];
        struct sim_wire wire = odd_wire(t, odd, n->hosts);
        for (uint32_t way = 0; way < 2; way++) {
            uint32_t from = odd->ends[way];
            sim_network_set_port(n, trib_fabric_find(&n->fabric, from, odd->ends[1 - way]),
                                 port_of(t, n, &wire, from < n->hosts));
        }
    }
}

uint64_t sim_topology_host_rate(const struct sim_topology *t)
{
    uint32_t hosts = sim_topology_size(t).hosts;
    double sum = (double)t->edge.rate_bps * hosts;

    for (uint32_t i = 0; i < t->odd_count; i++) {
        const uint32_t *ends = t->odd[i].ends;
        if (ends[0] < hosts || ends[1] < hosts) {
            sum +=
                (double)odd_wire(t, &t->odd[i], hosts).rate_bps - (double)wire_of(t, ends[0], ends[1], hosts).rate_bps;
        }
    }
    return (uint64_t)(sum / hosts);
}

/* Gives each node a link to itself with this delay and no queue. A switch's contributions to add take its own link. */
static void join_selves(struct sim_network *n, uint32_t first, uint32_t end, uint64_t delay_ps)
{
    struct sim_port_config config = {UINT64_MAX, delay_ps, SIM_NEVER, SIM_NEVER};
    uint16_t port = sim_network_port(n, &config);

    for (uint32_t node = first; node < end; node++) {
        (void)sim_network_link(n, node, node, port);
    }
}

const char *sim_topology_name(enum sim_topology_kind kind)
{
    static const char *const names[SIM_TOPOLOGY_COUNT] = {"none", "star",      "leaf-spine", "fat-tree",
                                                          "clos", "dragonfly", "file"};

    return names[kind];
}

const char *sim_paths_name(enum sim_paths paths)
{
    static const char *const names[SIM_PATHS_COUNT] = {"explicit", "ecmp", "pinned"};

    return names[paths];
}

uint32_t sim_topology_each(const struct sim_topology *t)
{
    struct sim_pods p;

    switch (t->kind) {
    case SIM_LEAF_SPINE:
        return t->hosts;
    case SIM_FAT_TREE:
    case SIM_CLOS:
        return sim_topology_pods(t, &p) ? p.edges * p.hosts : 1;
    case SIM_STAR:
    case SIM_DRAGONFLY:
    case SIM_FROM_FILE:
    case SIM_TOPOLOGY_NONE:
    case SIM_TOPOLOGY_COUNT:
        break;
    }
    return 1;
}

struct sim_topology_size sim_topology_size(const struct sim_topology *t)
{
    struct sim_pods p;

    switch (t->kind) {
    case SIM_STAR:
        return (struct sim_topology_size){t->hosts, 1, 2 * t->hosts};
    case SIM_LEAF_SPINE:
        return (struct sim_topology_size){t->hosts * t->leaves, t->leaves + t->spines,
                                          2 * t->hosts * t->leaves + 2 * t->leaves * t->spines};
    case SIM_FAT_TREE:
    case SIM_CLOS: {
        if (!sim_topology_pods(t, &p)) {
            break;
        }
        uint32_t hosts = p.pods * p.edges * p.hosts;
        uint32_t cables = hosts + p.pods * p.aggregations * (p.edges + p.ups);
        return (struct sim_topology_size){hosts, p.pods * (p.edges + p.aggregations) + p.aggregations * p.ups,
                                          2 * cables};
    }
    case SIM_DRAGONFLY: {
        uint32_t routers = groups_of(t) * t->routers;
        return (struct sim_topology_size){routers * t->hosts, routers,
                                          routers * (2 * t->hosts + t->routers - 1 + t->globals)};
    }
    case SIM_FROM_FILE:
        return (struct sim_topology_size){t->cables.hosts, t->cables.switches, 2 * t->cables.count};
    case SIM_TOPOLOGY_NONE:
    case SIM_TOPOLOGY_COUNT:
        break;
    }
    return (struct sim_topology_size){0, 0, 0};
}

bool sim_topology_build(const struct sim_topology *t, struct sim_network *n)
{
    struct sim_topology_size size = sim_topology_size(t);

    uint32_t selves = (t->add_ps != 0 ? size.switches : 0) + (t->has_loops ? size.hosts : 0);

    if (!sim_network_init(n, size.hosts, size.switches, size.links + selves)) {
        return false;
    }
    struct kinds kinds = t->kind != SIM_FROM_FILE ? make_kinds(t, n) : (struct kinds){0, 0, 0};
    bool is_tree = t->kind != SIM_DRAGONFLY && t->kind != SIM_FROM_FILE;
    if (t->kind == SIM_FROM_FILE) {
        build_from_file(t, n);
    } else if (t->kind == SIM_STAR || t->kind == SIM_LEAF_SPINE) {
        build_leaf_spine(t, n, &kinds);
    } else if (t->kind == SIM_FAT_TREE || t->kind == SIM_CLOS) {
        build_fat_tree(t, n, &kinds);
    } else {
        build_dragonfly(t, n, &kinds);
    }
    TRIB_ASSERT(n->link_count == size.links);
    if (t->add_ps != 0) {
        join_selves(n, n->hosts, n->nodes, t->add_ps);
    }
    if (t->has_loops) {
        join_selves(n, 0, n->hosts, SIM_LOOP_PS);
    }
    if (!trib_fabric_ready(&n->fabric)) {
        return false;
    }
    change_links(t, n);
    if (sim_buffers_are_any(&t->buffers) && !sim_gates_init(n, &t->buffers)) {
        return false;
    }
    return (is_tree || sim_network_search_routes(n)) && sim_network_ready(n, t->smallest, t->largest);
}
