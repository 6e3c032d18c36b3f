/* SPDX-License-Identifier: Apache-2.0 */
/* network.h: the transports with a worker node, which turns operations into packets. Locked.
 * Read next: network.c, transport.h, peers.h (places of packets). */
#ifndef TRIB_COMM_NETWORK_H
#define TRIB_COMM_NETWORK_H

#include "comm/state.h"

#define TRIB_COMM_USED_UP "the communicator has used up its sequences: create a new one"

/* Takes the scheme of the config, and its transport. */
void trib_comm_take_scheme(struct trib_comm *comm);
/* Takes a decoded packet for comm. */
void trib_comm_receive(struct trib_comm *comm, struct trib_came_from from, const struct trib_packet *packet,
                       uint64_t now_ns);

/* For level 0: packets, events and timers of the node, but no requests. */
void trib_network_run_node(struct trib_comm *comm, uint64_t now_ns);
/* Gives the node an operation. False: the node has no room. */
bool trib_network_give(struct trib_comm *comm, const struct trib_operation *operation, uint64_t now_ns);
/* True if the operation would need more sequences than are left. */
bool trib_network_is_used_up(const struct trib_comm *comm, const struct trib_operation *operation);
/* Says in the endpoint's counts whether comm has operations. */
void trib_network_count(struct trib_comm *comm);
uint64_t trib_network_deadline(const struct trib_comm *comm);
void trib_network_on_timeout(struct trib_comm *comm, uint64_t now_ns);
/* Time at which memory is given back that no operation has used for a while. NEVER unless holds_memory. */
uint64_t trib_network_memory_deadline(const struct trib_comm *comm, bool holds_memory);
/* Sends ABORT. */
void trib_network_tell(struct trib_comm *comm, enum trib_status status, const char *text);

#endif
