/* SPDX-License-Identifier: Apache-2.0 */
/* network.h: hosts and switches, the links between them, and the packets on these: the simulator's engine.
 *
 * A node is a host, [0, hosts), or a switch behind them. A link is one direction of a cable, with the output port that
 * feeds it: a first-in first-out queue with a limit (what does not fit is dropped) and a mark (what finds more waiting
 * is marked, if it may be: ECN). A packet costs one event per link: when it is given to a port it is known when it will
 * have left (the port's `busy_ps` says when all before it have), so its arrival at the other end is known, and only the
 * first arrival of each link is in the event set. Exact for ports that never stop; where they do, or switches share
 * buffers among ports, gates.h has another way for packets, of two events per link.
 *
 * What waits at a port is counted in bytes that have not left: of the packet that is leaving, what is still here. So a
 * threshold of 85 packets means that the bytes of 85 full packets wait (docs/SIMULATOR.md, "Queues").
 *
 * Use: init; links and routes by a topology (topology.h); sim_network_run, which calls the receiver for packets that
 * have come to their node, timers, and drops. The receiver owns what it is given: it frees the packet, or sends it on.
 * From there it may call everything but run.
 *
 * Routes: a switch knows the run of hosts below it and deals them to its links down by division; to all others it goes
 * up, over the link that the packet's hash chooses. That is arithmetic for every tree; where the network is no tree, a
 * table lists the links by destination.
 *
 * Numbers of packets, links and nodes are indexes; packets and links never move. Memory is claimed at first use.
 * Read next: network.c, gates.h, topology.h, flows.h (who sends). */
#ifndef TRIB_SIM_NETWORK_H
#define TRIB_SIM_NETWORK_H

#include "fabric/fabric.h"
#include "sim/network/event.h"

#define SIM_HOSTS_MAX 131072U
#define SIM_NODES_MAX 262143U
#define SIM_NODE_MASK 0xfffffU /* of the bits of a node's number in a packet */
#define SIM_PACKETS_MAX (UINT32_C(1) << 25)
#define SIM_PORT_KINDS 256U
#define SIM_PATH_MAX 16U
#define SIM_PAUSE_KIND 14U /* of packets that links send to each other (gates.h) */

enum sim_packet_flag {
    SIM_ECN_CAPABLE = 1 << 0,
    SIM_ECN_MARKED = 1 << 1,
    SIM_RESENT = 1 << 2,
    SIM_DETAILED = 1 << 3, /* more stands in its details */
};

struct sim_gates;

/* kind, owner, sequence and value are the sender's; the network looks at `to`, `size`, `hash` and the flags of ECN
 * alone. */
struct sim_packet {
    uint64_t next_due_ps; /* when the one behind it arrives; so nothing has to be looked up in that one before then */
    uint32_t next;        /* behind it on the link */
    uint32_t owner;
    uint32_t sequence;
    uint32_t hash;    /* of its flow: chooses among equal ways */
    uint32_t to : 20; /* node */
    uint32_t kind : 4;
    uint8_t flags;
    uint16_t size; /* bytes on the link */
    uint16_t value;
};

_Static_assert(sizeof(struct sim_packet) == 32, "two in a cache line");

/* What a packet says that seldom needs to be said: of an acknowledgement, which later ones have come. */
struct sim_details {
    uint64_t bitmap;
    uint64_t base;
    uint64_t mark;
    uint64_t lane;
};

struct sim_link {
    uint64_t busy_ps; /* all that was given to the port has left then */
    uint64_t bytes;   /* that came over it: no frames of PAUSE */
    uint64_t packets;
    uint64_t most_ps; /* the most that a packet had to wait */
    uint64_t marked;
    uint64_t dropped;
    uint32_t head; /* of its packets: waiting, leaving, or on the way */
    uint32_t tail;
    uint32_t to;   /* node */
    uint16_t port; /* its kind */
    uint16_t lost; /* the packet at the head does not arrive: the cable was cut (failures.h) */
};

_Static_assert(sizeof(struct sim_link) == 64, "one cache line");

/* What ports have in common. Bytes are kept as the time that they take. */
struct sim_port {
    uint64_t delay_ps; /* of the cable and what is behind it */
    uint64_t mark_ps;  /* a packet that has to wait longer is marked; SIM_NEVER: none */
    uint64_t limit_ps; /* a packet that would have left later than that is dropped; SIM_NEVER: none */
    uint64_t byte_ps;  /* x SIM_BYTE_ONE */
};

#define SIM_BYTE_ONE 256U /* a byte's time is kept in 1/256 ps: exact for 1, 10, 25, 40, 100, 200, 400, 800 Gbps */

struct sim_route {
    uint32_t first; /* of the hosts below it */
    uint32_t count;
    uint32_t down;  /* its first link down; the others follow it */
    uint32_t magic; /* 2^31 / hosts per link down, rounded up */
    uint32_t up;    /* its first link up; the others follow it */
    uint32_t ups;
    uint32_t salt;
    uint32_t table; /* where its part of the table begins; SIM_NONE: there is none */
};

_Static_assert(sizeof(struct sim_route) == 32, "two in a cache line");

/* Who is told. */
struct sim_receiver {
    void (*arrived)(void *user, uint32_t packet);
    void (*timer)(void *user, uint32_t timer);
    void (*dropped)(void *user, uint32_t packet); /* the network frees it then */
    /* A packet will arrive at its host before long, and very soon: time to fetch memory. NULL: there is nothing to
     * do. */
    void (*soon)(void *user, uint32_t packet);
    void (*sooner)(void *user, uint32_t packet);
    /* For tests, NULL as a rule: a host gives a packet to its link; a packet has reached the end of a link. */
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
    uint32_t *table;             /* by switch and host: first << 8 | count, places in choices */
    uint32_t *choices;           /* links */
    struct sim_gates *gates;     /* ports that can be stopped, and shared buffers (gates.h); NULL: there are none */
    /* While cables are cut: the routes of the whole network; else NULL. */
    struct sim_route *whole_routes;
    uint32_t *whole_table;
    uint32_t *whole_choices;
    struct sim_port ports[SIM_PORT_KINDS];
    struct sim_receiver receiver;
    uint64_t hops; /* packets that have left a link */
    uint64_t hash; /* of all arrivals, in their order */
    uint64_t sent; /* packets given to the network */
    uint64_t arrived;
    uint64_t dropped;
    uint64_t cut_off; /* of the dropped: by cables that are cut */
    uint32_t hosts;
    uint32_t nodes;
    uint32_t link_count;
    uint32_t link_room;
    uint32_t port_count;
    uint32_t free;             /* packets, a list */
    uint32_t high;             /* packets used so far */
    bool stop;                 /* run returns after this event */
    struct trib_fabric fabric; /* the same nodes and links; hosts are its ends */
};

/* Sizes; the caller then adds links in the order of their numbers. False: out of memory. */
bool sim_network_init(struct sim_network *n, uint32_t hosts, uint32_t switches, uint32_t links);
void sim_network_deinit(struct sim_network *n);

struct sim_port_config {
    uint64_t rate_bps;
    uint64_t delay_ps;
    uint64_t mark_bytes;  /* SIM_NEVER: no packet is marked */
    uint64_t limit_bytes; /* SIM_NEVER: none is dropped */
};

/* Returns the number of a kind of port; the same one for the same configuration. */
uint16_t sim_network_port(struct sim_network *n, const struct sim_port_config *config);
uint32_t sim_network_link(struct sim_network *n, uint32_t from, uint32_t to, uint16_t port);
/* The link gets this kind of port, and so its rate; 0 where that is one of a link that is cut. */
void sim_network_set_port(struct sim_network *n, uint32_t link, uint16_t port);
/* The link takes so much longer. Before anything happens; then sim_network_ready. */
void sim_network_delay(struct sim_network *n, uint32_t link, uint64_t delay_ps);
/* All links and routes are there: makes the event set, anew if there is one. smallest, largest: bytes of packets.
 * False: out of memory. */
bool sim_network_ready(struct sim_network *n, uint32_t smallest, uint32_t largest);
/* A host has one link, which has its number. */
static inline uint32_t sim_network_host_link(uint32_t host)
{
    return host;
}

/* A packet's memory; the caller fills in all but next_due_ps and next. */
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

/* A host sends a packet: into its link's queue. */
void sim_network_send(struct sim_network *n, uint32_t host, uint32_t packet);
/* A node sends a packet into this link of its own, to the node at the link's end or beyond. */
void sim_network_give(struct sim_network *n, uint32_t link, uint32_t packet);
/* Runs until this time, or a receiver sets `stop`, or nothing is left; hops: at most so many more (for progress).
 * False: nothing is left that is due by then. */
bool sim_network_run(struct sim_network *n, uint64_t until_ps, uint64_t hops);
static inline uint64_t sim_network_now(const struct sim_network *n)
{
    return n->events.now_ps;
}
/* Is division by multiplication exact for all hosts below a switch, `each` below each of its links down? */
bool sim_route_is_exact(uint32_t count, uint32_t each);
/* Lays out a switch's route in a tree: `each` hosts below each of its links down. */
struct sim_route sim_route_tree(uint32_t first, uint32_t count, uint32_t each, uint32_t down);
/* Lists in tables, for every switch and host, the links that begin a shortest way over links that are not cut. Where
 * there is no way, packets are sent into a link that is cut. False: out of memory, or more ways than a table can
 * say. */
bool sim_network_search_routes(struct sim_network *n);
/* Of a switch that has hosts, in a network that is no tree. */
uint32_t sim_network_first_host(const struct sim_network *n, uint32_t place);
/* The links that a packet of this hash takes from host to host while no cable is cut; returns how many, SIM_PATH_MAX at
 * most. */
uint32_t sim_network_path(const struct sim_network *n, uint32_t from, const struct sim_packet *packet, uint32_t *links);
/* Packets that lie on links, counted one by one: sent = arrived + dropped + these. Frames of PAUSE are not among
 * them. */
uint64_t sim_network_count(const struct sim_network *n);

/* The packet, which is on no link's list any more, is lost at this one. */
void sim_network_drop(struct sim_network *n, uint32_t link, uint32_t packet);
/* The same kind of port, but that it takes nothing: of links that are cut. */
uint16_t sim_network_cut_port(struct sim_network *n, uint16_t port);
static inline bool sim_link_is_cut(const struct sim_network *n, uint32_t link)
{
    const struct sim_port *port = &n->ports[n->links[link].port];

    return port->limit_ps == 0 && port->mark_ps == SIM_NEVER;
}

/* How long the port takes for it. */
static inline uint64_t sim_port_time(const struct sim_port *port, uint64_t bytes)
{
    return bytes * port->byte_ps / SIM_BYTE_ONE;
}

/* The link down of a tree's switch that leads to this host, which is below it. */
static inline uint32_t sim_route_down(const struct sim_route *route, uint32_t host)
{
    return route->down + (uint32_t)((uint64_t)(host - route->first) * route->magic >> 31);
}

/* Which of `count` equal ways a packet takes at a switch. */
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

/* The link that a packet takes from this switch. */
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

/* An arrival at the end of this link, now, into the hash of all. */
static inline void sim_network_hash(struct sim_network *n, uint32_t link)
{
    n->hash = (n->hash ^ n->events.now_ps ^ (uint64_t)link << 40) * UINT64_C(0x9e3779b97f4a7c15);
    n->hash ^= n->hash >> 29;
}

#endif
