/* SPDX-License-Identifier: Apache-2.0 */
/* network.h: hosts, switches, links and packets: the simulator's engine.
 *
 * A node is a host, [0, hosts), or a switch, numbered after the hosts. A link is one direction of a cable with its
 * output port: a first-in first-out queue with a drop limit and an ECN mark threshold. A packet costs one event per
 * link. The departure time is known when a packet enters a port (busy_ps is the departure of all earlier packets), and
 * so is the arrival time. Only the first arrival of each link is in the event set. Results are exact for ports that
 * never stop. For ports that stop and for shared buffers, gates.h has another path with two events per link.
 *
 * A port's queue is counted in bytes that have not left. Of the packet being sent, only the remaining bytes count. A
 * threshold of 85 packets means that the bytes of 85 full packets wait (docs/SIMULATOR.md, "Queues").
 *
 * Use: sim_network_init; links and routes by a topology (topology.h); sim_network_run, which calls the receiver for
 * packets at their destination, for timers, and for drops. The receiver owns an arrived packet: it must free the packet
 * or send it on. The receiver may call every function except sim_network_run.
 *
 * Routes: a switch divides the run of hosts below it among its links down. All other packets go up, over the link that
 * the packet's hash chooses. This arithmetic covers every tree. In other networks a table lists the links by
 * destination.
 *
 * Numbers of packets, links and nodes are indexes; packets and links never move. Memory is claimed at first use.
 *
 * Read next: state.h, network.c, gates.h, topology.h, flows.h. */
#ifndef TRIB_SIM_NETWORK_H
#define TRIB_SIM_NETWORK_H

#include "sim/network/state.h"

/* The caller must then add links in the order of their numbers. False: out of memory. */
bool sim_network_init(struct sim_network *n, uint32_t hosts, uint32_t switches, uint32_t links);
void sim_network_deinit(struct sim_network *n);

struct sim_port_config {
    uint64_t rate_bps;
    uint64_t delay_ps;
    uint64_t mark_bytes;  /* SIM_NEVER: no marks */
    uint64_t limit_bytes; /* SIM_NEVER: no drops */
};

/* Returns the number of a kind of port; equal configurations have equal numbers. */
uint16_t sim_network_port(struct sim_network *n, const struct sim_port_config *config);
uint32_t sim_network_link(struct sim_network *n, uint32_t from, uint32_t to, uint16_t port);
/* Sets the link's kind of port and its rate in the fabric; rate 0 for the port of a cut link. */
void sim_network_set_port(struct sim_network *n, uint32_t link, uint16_t port);
/* Adds to the link's delay. Call before the first event, then call sim_network_ready. */
void sim_network_delay(struct sim_network *n, uint32_t link, uint64_t delay_ps);
/* Creates the event set, replacing an earlier one. Call when all links and routes exist. smallest, largest: bytes of
 * packets. False: out of memory. */
bool sim_network_ready(struct sim_network *n, uint32_t smallest, uint32_t largest);

/* Puts a packet into the queue of a host's link. */
void sim_network_send(struct sim_network *n, uint32_t host, uint32_t packet);
/* Puts a packet into this outgoing link of a node, for the node at the link's end or beyond. */
void sim_network_give(struct sim_network *n, uint32_t link, uint32_t packet);
/* Runs until until_ps, until a receiver sets `stop`, or for `hops` arrivals. False: no further event is due by
 * until_ps. */
bool sim_network_run(struct sim_network *n, uint64_t until_ps, uint64_t hops);
/* True if division by multiplication is exact for all `count` hosts below a switch with `each` hosts per link down. */
bool sim_route_is_exact(uint32_t count, uint32_t each);
/* Returns a switch's route in a tree with `each` hosts per link down. */
struct sim_route sim_route_tree(uint32_t first, uint32_t count, uint32_t each, uint32_t down);
/* Fills the tables: for every switch and host, the links that begin a shortest path over links that are not cut.
 * Unreachable hosts get a cut link. False: out of memory, or more paths than a table can hold. */
bool sim_network_search_routes(struct sim_network *n);
/* Returns the first host of a switch in a network that is no tree; SIM_NONE: the switch has none. */
uint32_t sim_network_first_host(const struct sim_network *n, uint32_t place);
/* Finds the links that a packet of this hash takes from host to host while no cable is cut. Returns their number, at
 * most SIM_PATH_MAX. */
uint32_t sim_network_path(const struct sim_network *n, uint32_t from, const struct sim_packet *packet, uint32_t *links);
/* Counts packets on links one by one, without PAUSE frames: sent = arrived + dropped + this count. */
uint64_t sim_network_count(const struct sim_network *n);

/* Returns a kind of port with the same rate and delay that drops every packet: for cut links. */
uint16_t sim_network_cut_port(struct sim_network *n, uint16_t port);

#endif
