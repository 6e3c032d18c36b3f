/* SPDX-License-Identifier: Apache-2.0 */
/* plane.h: all shards together, for the control plane (struct trib_data_plane). Calls may come from any thread, one at
 * a time.
 * Read next: plane.c. */
#ifndef TRIB_SWITCHD_PLANE_H
#define TRIB_SWITCHD_PLANE_H

#include "control/server.h"
#include "switchd/config.h"
#include "switchd/shard.h"

struct trib_plane {
    uint32_t shards;
    struct trib_shard shard[TRIB_ROOTS_MAX];
};

/* Opens the sockets of all shards, at config->listen and the ports behind it. With port 0 the kernel chooses the first
 * port. No thread runs yet.
 * Returns ERR_MEMORY, ERR_SYSTEM, ERR_INVALID. The caller owns *plane. */
TRIB_MUST_USE enum trib_status trib_plane_open(const struct trib_switchd_config *config, struct trib_plane **plane,
                                               char *error);
/* Starts a thread for each shard; *listener is copied. Returns ERR_SYSTEM: some threads may run then, until
 * trib_plane_stop. */
TRIB_MUST_USE enum trib_status trib_plane_start(struct trib_plane *plane, const struct trib_shard_listener *listener,
                                                char *error);
/* Ends the threads. After that the listener is not called and no packet is answered. */
void trib_plane_stop(struct trib_plane *plane);
void trib_plane_close(struct trib_plane *plane); /* NULL is allowed */
/* Writes the address of shard 0. */
void trib_plane_local(const struct trib_plane *plane, struct trib_address *local);
/* Payload bytes that the receive buffer of every shard holds. */
uint32_t trib_plane_receive_room(const struct trib_plane *plane);
/* Operations for the control plane. They use `plane` until trib_plane_close. */
struct trib_data_plane trib_plane_verbs(struct trib_plane *plane);

#endif
