/* SPDX-License-Identifier: Apache-2.0 */
/* state.h: the data of the simulated network (network.h): nodes, links, ports, packets, routes.
 * Read next: network.h. */
#ifndef TRIB_SIM_NETWORK_STATE_H
#define TRIB_SIM_NETWORK_STATE_H

#include "fabric/fabric.h"
#include "sim/network/event.h"

#define SIM_HOSTS_MAX 131072U
#define SIM_NODES_MAX 262143U
#define SIM_NODE_MASK 0xfffffU /* bits of a node's number in a packet */
#define SIM_PACKETS_MAX (UINT32_C(1) << 25)
#define SIM_PORT_KINDS 256U
#define SIM_PATH_MAX 16U
#define SIM_PAUSE_KIND 14U /* packets that links exchange (gates.h) */

enum sim_packet_flag {
    SIM_ECN_CAPABLE = 1 << 0,
    SIM_ECN_MARKED = 1 << 1,
    SIM_RESENT = 1 << 2,
    SIM_DETAILED = 1 << 3, /* its sim_details are valid */
};

struct sim_gates;

/* kind, owner, sequence and value belong to the sender. The network reads only `to`, `size`, `hash` and the ECN
 * flags. */
struct sim_packet {
    /* Arrival time of the packet behind this one, kept here so that the other packet need not be loaded before. */
    uint64_t next_due_ps;
    uint32_t next; /* packet behind this one on the link */
    uint32_t owner;
    uint32_t sequence;
    /* Hash of the flow: chooses among equal paths. */
    uint32_t hash;
    uint32_t to : 20; /* destination node */
    uint32_t kind : 4;
    uint8_t flags;
    uint16_t size; /* bytes on the link */
    uint16_t value;
};

_Static_assert(sizeof(struct sim_packet) == 32, "two in a cache line");

/* Rarely needed packet contents: for an acknowledgement, later fragments that have arrived. */
struct sim_details {
    uint64_t bitmap;
    uint64_t base;
    uint64_t mark;
    uint64_t lane;
};

struct sim_link {
    /* Time when all packets given to the port have left. */
    uint64_t busy_ps;
    /* Bytes that arrived over the link, without PAUSE frames. */
    uint64_t bytes;
    uint64_t packets;
    uint64_t most_ps; /* longest wait of a packet */
    uint64_t marked;
    uint64_t dropped;
    /* First packet of the link: waiting, being sent, or under way. */
    uint32_t head;
    uint32_t tail;
    uint32_t to;   /* node at the end */
    uint16_t port; /* index in ports */
    /* The packet at the head does not arrive: the cable was cut (failures.h). */
    uint16_t lost;
};

_Static_assert(sizeof(struct sim_link) == 64, "one cache line");

/* Properties shared by ports of one kind. Bytes are expressed as transmission time. */
struct sim_port {
    /* Delay of the cable and of the node behind it. */
    uint64_t delay_ps;
    /* A packet that has to wait longer is marked. SIM_NEVER: no marks. */
    uint64_t mark_ps;
    /* A packet that would leave later than this is dropped. SIM_NEVER: no drops. */
    uint64_t limit_ps;
    /* Time of a byte, x SIM_BYTE_ONE. */
    uint64_t byte_ps;
};

#define SIM_BYTE_ONE 256U /* a byte's time is kept in 1/256 ps: exact for 1, 10, 25, 40, 100, 200, 400, 800 Gbps */

struct sim_route {
    uint32_t first; /* first host below the switch */
    uint32_t count;
    /* First link down and first link up; the others follow. */
    uint32_t down;
    uint32_t magic; /* 2^31 / hosts per link down, rounded up */
    uint32_t up;
    uint32_t ups;
    uint32_t salt;
    /* Start of the switch's part of the table. SIM_NONE: no table. */
    uint32_t table;
};

_Static_assert(sizeof(struct sim_route) == 32, "two in a cache line");

/* Callbacks. */
struct sim_receiver {
    void (*arrived)(void *user, uint32_t packet);
    void (*timer)(void *user, uint32_t timer);
    void (*dropped)(void *user, uint32_t packet); /* the network frees the packet after this call */
    /* A packet will arrive at its host soon, and very soon: time to prefetch memory. NULL: no prefetch. */
    void (*soon)(void *user, uint32_t packet);
    void (*sooner)(void *user, uint32_t packet);
    /* For tests, normally NULL: a host gives a packet to its link; a packet has reached the end of a link. */
    void (*sent)(void *user, uint32_t host, uint32_t packet);
    void (*hop)(void *user, uint32_t link, uint32_t packet);
    void *user;
};

struct sim_network {
    struct sim_events events;
    struct sim_link *links;
    struct sim_packet *packets;
    struct sim_details *details; /* by packet */
    struct sim_route *routes;    /* by node */
    uint32_t *table;             /* by switch and host: first << 8 | count, a range of choices */
    uint32_t *choices;           /* links */
    bool is_full;                /* there were too many choices for the table */
    struct sim_gates *gates;     /* ports that can be stopped, and shared buffers (gates.h); NULL: none */
    /* Routes of the whole network while cables are cut; otherwise NULL. */
    struct sim_route *whole_routes;
    uint32_t *whole_table;
    uint32_t *whole_choices;
    struct sim_port ports[SIM_PORT_KINDS];
    struct sim_receiver receiver;
    uint64_t hops; /* arrivals at the ends of links */
    uint64_t hash; /* over all arrivals, in order */
    uint64_t sent; /* packets given to the network */
    uint64_t arrived;
    uint64_t dropped;
    uint64_t cut_off; /* dropped packets that were lost on cut cables */
    uint32_t hosts;
    uint32_t nodes;
    uint32_t link_count;
    uint32_t link_room;
    uint32_t port_count;
    uint32_t free;             /* list of free packets */
    uint32_t high;             /* packets used so far */
    bool stop;                 /* sim_network_run returns after this event */
    struct trib_fabric fabric; /* the same nodes and links; its ends are the hosts */
};

/* A host has one link, with the host's number. */
static inline uint32_t sim_network_host_link(uint32_t host)
{
    return host;
}

/* Allocates a packet. The caller must fill in all fields except next_due_ps and next. */
static inline uint32_t sim_packet_take(struct sim_network *n)
{
    uint32_t packet = n->free;

    if (packet != SIM_NONE) {
        n->free = n->packets[packet].next;
        __builtin_prefetch(&n->packets[n->free % SIM_PACKETS_MAX], 1);
        return packet;
    }
    TRIB_ASSERT(n->high < SIM_PACKETS_MAX);
    return n->high++;
}

static inline void sim_packet_free(struct sim_network *n, uint32_t packet)
{
    n->packets[packet].next = n->free;
    n->free = packet;
}

static inline uint64_t sim_network_now(const struct sim_network *n)
{
    return n->events.now_ps;
}

/* Why the network could not be made, or its routes. */
static inline const char *sim_network_lack(const struct sim_network *n)
{
    return n->is_full ? "the network has more than 16,777,216 different choices of paths: take fewer switches"
                      : "out of memory";
}

static inline bool sim_link_is_cut(const struct sim_network *n, uint32_t link)
{
    const struct sim_port *port = &n->ports[n->links[link].port];

    return port->limit_ps == 0 && port->mark_ps == SIM_NEVER;
}

/* Returns the transmission time, ps. */
static inline uint64_t sim_port_time(const struct sim_port *port, uint64_t bytes)
{
    return bytes * port->byte_ps / SIM_BYTE_ONE;
}

/* Returns the link down towards a host below a tree's switch. */
static inline uint32_t sim_route_down(const struct sim_route *route, uint32_t host)
{
    return route->down + (uint32_t)((uint64_t)(host - route->first) * route->magic >> 31);
}

/* Returns the index of the path that a packet takes among `count` equal ones. */
static inline uint32_t sim_route_choose(uint32_t hash, uint32_t salt, uint32_t count)
{
    return (uint32_t)((uint64_t)((hash ^ salt) * UINT32_C(0x9e3779b1)) * count >> 32);
}

static inline uint32_t sim_route_from_table(const struct sim_network *n, const struct sim_route *route,
                                            const struct sim_packet *p)
{
    uint32_t entry = n->table[route->table + p->to];

    return n->choices[(entry >> 8) + sim_route_choose(p->hash, route->salt, entry & 0xff)];
}

/* Returns the link that a packet takes from this switch. */
static inline uint32_t sim_network_route(const struct sim_network *n, uint32_t node, const struct sim_packet *p)
{
    const struct sim_route *route = &n->routes[node];
    uint32_t below = p->to - route->first;

    if (route->table != SIM_NONE) {
        return sim_route_from_table(n, route, p);
    }
    if (below < route->count) {
        return route->down + (uint32_t)((uint64_t)below * route->magic >> 31);
    }
    return route->up + sim_route_choose(p->hash, route->salt, route->ups);
}

/* Adds an arrival at the end of this link, now, to the hash of all arrivals. */
static inline void sim_network_hash(struct sim_network *n, uint32_t link)
{
    n->hash = (n->hash ^ n->events.now_ps ^ (uint64_t)link << 40) * UINT64_C(0x9e3779b97f4a7c15);
    n->hash ^= n->hash >> 29;
}

#endif
