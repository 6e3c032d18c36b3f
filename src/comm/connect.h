/* SPDX-License-Identifier: Apache-2.0 */
/* connect.h: the connection of a session: tries, losses, and the time between them. Locked.
 * Read next: join.c (the messages), control/words/session_client.h. */
#ifndef TRIB_COMM_CONNECT_H
#define TRIB_COMM_CONNECT_H

#include "comm/state.h"

/* Begins the session, with the time of a join. The caller settles. */
void trib_comm_join(struct trib_comm *comm, uint64_t now_ns);
/* Connects to comm->where, until outage_deadline_ns. */
void trib_comm_reconnect(struct trib_comm *comm, uint64_t now_ns);
/* A try has had no answer, or the time for the next one has come. */
void trib_comm_connect_again(struct trib_comm *comm, uint64_t now_ns);
/* The connection stands: sends JOIN. */
void trib_comm_connected(struct trib_comm *comm, uint64_t now_ns);
/* The session is lost: no packet that was sent counts until the control plane has confirmed a boot again. */
void trib_comm_lost(struct trib_comm *comm, uint64_t now_ns);
/* The session stands, but the switch has not answered for the switch timeout: it counts as gone. */
void trib_comm_lose_silent(struct trib_comm *comm, uint64_t now_ns);
/* RECALL: an agent of the communicator is lost, and this session stands. The rank joins again by the same session. */
void trib_comm_take_recall(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns);
/* AWAY: the switch is up, but a switch above it is not. That counts as the switch's own absence. */
void trib_comm_take_away(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns);

#endif
