/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h: addresses of a communicator's packets, by WELCOME. Locked. */
#ifndef TRIB_COMM_PEERS_H
#define TRIB_COMM_PEERS_H

#include "comm/state.h"

/* True if WELCOME names the peers that the scheme has, or none if the scheme has none. */
bool trib_comm_is_welcome_of_peers(const struct trib_comm *comm, const struct trib_message *message);
/* Takes the addresses from WELCOME; sockets to a switch's shards are connected. ERR_SYSTEM, ERR_REFUSED,
 * ERR_UNREACHABLE with the cause in error. */
TRIB_MUST_USE enum trib_status trib_comm_take_places(struct trib_comm *comm, const struct trib_message *message,
                                                     char *error);
/* Name of the places: "roots". */
const char *trib_comm_places(const struct trib_comm *comm);
/* Its index in `roots`; root_count: none. */
uint32_t trib_comm_root_at(const struct trib_comm *comm, const struct trib_place *to);
/* True if comm has peers, and all have proved their address. */
bool trib_comm_knows_peers(const struct trib_comm *comm);
/* Sends a peer's PATH packet back, at full size if the peer has proved its address. False: the packet is this rank's
 * own, on its return. */
bool trib_comm_echo_path(struct trib_comm *comm, uint32_t root, const struct trib_packet *packet);
/* The rank before this one runs another operation: the control plane asks both. */
void trib_comm_dispute(struct trib_comm *comm, const struct trib_event *event);
/* A ring uses one of the network cards that are named: warns if there are more. */
void trib_comm_warn_of_cards(const struct trib_comm *comm);

#endif
