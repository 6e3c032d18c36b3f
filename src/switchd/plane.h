/* SPDX-License-Identifier: Apache-2.0 */
/* plane.h: all shards together, as the control plane sees them (struct trib_data_plane). Its calls may come from any
 * one thread.
 * Read next: plane.c. */
#ifndef TRIB_SWITCHD_PLANE_H
#define TRIB_SWITCHD_PLANE_H

#include "control/server.h"
#include "switchd/shard.h"
#include "switchd/switchd.h"

struct trib_plane {
    uint32_t shards;
    struct trib_shard shard[TRIB_ROOTS_MAX];
};

/* Opens the sockets of all shards at config->listen and the ports behind it; *plane then belongs to the caller.
 * With port 0 the kernel chooses the first. No thread runs yet. */
TRIB_MUST_USE enum trib_status trib_plane_open(const struct trib_switchd_config *config, struct trib_plane **plane,
                                               char *error);
TRIB_MUST_USE enum trib_status trib_plane_start(struct trib_plane *plane, const struct trib_shard_listener *listener,
                                                char *error);
/* Ends the threads: nothing is reported any more, and no packet answered. */
void trib_plane_stop(struct trib_plane *plane);
void trib_plane_close(struct trib_plane *plane); /* NULL is allowed */
/* The address of shard 0. */
void trib_plane_local(const struct trib_plane *plane, struct trib_address *local);
/* Bytes that every shard's socket can hold. */
uint32_t trib_plane_receive_room(const struct trib_plane *plane);
/* The table for the control plane. */
struct trib_data_plane trib_plane_verbs(struct trib_plane *plane);

#endif
