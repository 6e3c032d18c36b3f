/* SPDX-License-Identifier: Apache-2.0 */
/* paths.h: PROBING: every way to a root or peer is tried before REGISTER. Locked. */
#ifndef TRIB_COMM_PATHS_H
#define TRIB_COMM_PATHS_H

#include "comm/state.h"

/* WELCOME has come, and the ranks of this host have met. */
void trib_comm_begin_probing(struct trib_comm *comm);
/* A PATH packet has come. */
void trib_comm_path_arrived(struct trib_comm *comm, struct trib_came_from from, const struct trib_packet *echo);
/* Tries again, or goes on to REGISTERING, or fails for want of a way. */
void trib_comm_check_paths(struct trib_comm *comm, uint64_t now_ns);
/* Time at which to call it. */
uint64_t trib_comm_paths_deadline(const struct trib_comm *comm);
void trib_comm_close_groups(struct trib_comm *comm);

#endif
