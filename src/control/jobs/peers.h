/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h: communicators without slots, of ranks that send to each other (schemes without a switch node, such as ring).
 * This part of the control plane stands in place of a data plane. It checks that the ranks' addresses are usable by
 * other ranks. WELCOME names the addresses of each rank's peers. The same addresses serve if ranks are roots (roots.h).
 * Read next: peers.c, roots.h. */
#ifndef TRIB_CONTROL_PEERS_H
#define TRIB_CONTROL_PEERS_H

#include "control/jobs/state.h"

/* The smallest mark from ranks, which is M if only ranks see M. With roots, packets move M. An idle rank sends a mark,
 * so the value lags by little. */
uint64_t trib_peers_mark(const struct trib_jobs *jobs, const struct trib_job *job);
/* Checks that each rank could send to other ranks. ERR_UNREACHABLE with the cause: some rank's address is useless to
 * other ranks. */
TRIB_MUST_USE enum trib_status trib_peers_check(const struct trib_job *job, char *error);
/* The same for ranks that will send to each other; replaces addresses that are valid on one host only. */
TRIB_MUST_USE enum trib_status trib_peers_address(struct trib_job *job, char *error);
/* The address of the rank for other ranks, for WELCOME: one address, even with several source addresses. */
struct trib_address trib_peers_known_as(const struct trib_rank *rank);

extern const struct trib_places trib_places_peers;
extern const struct trib_dealer trib_dealer_peers;

#endif
