/* SPDX-License-Identifier: Apache-2.0 */
/* own_root.h: the root in this process, where no switch is. It is a switch's data plane (switchd/plane.h) for all
 * communicators of the endpoint, without a thread: the driver of the endpoint drives the root too. It has one shard, or
 * one for each network card that was named; for ranks whose switch is gone, as many as the switch had. The control
 * plane says over each communicator's session which slots to open and for which ranks (control/agents/root.h).
 *
 * It needs no thread: no fragment completes without this process's own contribution. Answers that it still owes when
 * its call has returned, a repeated result or the missing ranks, wait for the progress thread's next look
 * (docs/DECISIONS.md). Everything here is called with the endpoint's lock held.
 * Read next: own_root.c, drive.c. */
#ifndef TRIB_COMM_OWN_ROOT_H
#define TRIB_COMM_OWN_ROOT_H

#include "comm/state.h"

/* Opens the root's sockets, at the endpoint's network cards, else at `local`, any port and the ports behind. config:
 * of the endpoint's first communicator. error as in comm.h. ERR_SYSTEM, ERR_MEMORY. */
TRIB_MUST_USE enum trib_status trib_own_root_open(struct trib_endpoint *endpoint, const struct trib_config *config,
                                                  const struct trib_address *local, uint32_t shards, char *error);
void trib_own_root_close(struct trib_own_root *root); /* one that is not open: nothing */
static inline bool trib_own_root_is_open(const struct trib_own_root *root)
{
    return root->plane != NULL;
}
uint16_t trib_own_root_port(const struct trib_own_root *root);
/* One round of each shard that may have something to do. True: packets have come. */
bool trib_own_root_drive(struct trib_own_root *root, uint64_t now_ns);
/* Deadline of the next round if nothing comes, ns. */
uint64_t trib_own_root_deadline(const struct trib_own_root *root);
/* All shards are to be looked at. */
void trib_own_root_heat(struct trib_own_root *root);
/* Descriptors to poll, and poll's answers. Return their number; 0: no root is open. */
uint32_t trib_own_root_fds(const struct trib_own_root *root, struct pollfd *fds);
uint32_t trib_own_root_ready(struct trib_own_root *root, const struct pollfd *fds);
void trib_own_root_traffic(const struct trib_own_root *root, struct trib_port_stats *traffic);
/* A socket of it that is no longer at its address. NULL: there is none. */
const struct trib_port *trib_own_root_find_taken(const struct trib_own_root *root);

/* A ROOT_* message of comm's session. Returns the status that comm fails with; error as in comm.h. */
TRIB_MUST_USE enum trib_status trib_comm_take_root(struct trib_comm *comm, const struct trib_message *message,
                                                   char *error);
/* True if the opening that came before WELCOME, if any, is of the granted communicator. */
bool trib_comm_is_root_of(const struct trib_comm *comm, const struct trib_grant *grant);
/* Joins the sockets of this process's ranks and root, once their addresses in the control plane are known. Packets
 * between joined sockets need no kernel. */
void trib_comm_join_root(struct trib_comm *comm);
/* Packets to `to` leave from the address by which others know this process, whatever the routes would choose. */
void trib_comm_answer_from(const struct trib_comm *comm, struct trib_address *to);
/* The session has ended: roots that it had opened here are forgotten. */
void trib_comm_forget_root(struct trib_comm *comm);
/* Number of this host, for JOIN: the same for all ranks here, and of no other host by accident. 0: unknown. */
uint64_t trib_host_digest(const struct trib_config *config);
/* Source address of packets to `address`; port 0. Every address if it is the loopback, since ranks elsewhere reach
 * this host by another. False: there is no route, as errno says. */
bool trib_local_towards(const struct trib_address *address, struct trib_address *local);

#endif
