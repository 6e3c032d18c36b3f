/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h: communicators without any slot, whose ranks send to each other (schemes without a switch node, such as
 * ring): the part of the control plane in place of a data plane. It checks that ranks can be told of each
 * other, and tells each in WELCOME where those are that it sends to or hears from. The same addresses serve where ranks
 * are roots (roots.h).
 * Read next: peers.c, roots.h. */
#ifndef TRIB_CONTROL_PEERS_H
#define TRIB_CONTROL_PEERS_H

#include "control/jobs/jobs.h"

/* The smallest mark that ranks have told: M, where only ranks see M. Elsewhere packets move M. An idle rank tells its
 * mark, so this value lags by little. */
uint64_t trib_peers_mark(const struct trib_jobs *jobs, const struct trib_job *job);
/* Could each rank send to others? ERR_UNREACHABLE with the cause: some rank's address means nothing to them. */
TRIB_MUST_USE enum trib_status trib_peers_check(const struct trib_job *job, char *error);
/* Each will have to: mends addresses that only one host knows. Returns the same. */
TRIB_MUST_USE enum trib_status trib_peers_address(struct trib_job *job, char *error);
/* How others know this rank, for its WELCOME: by one address, whatever it can send from. */
struct trib_address trib_peers_known_as(const struct trib_rank *rank);
/* Where the rank's packets to other ranks come from: of several network cards the first. */
struct trib_address trib_peers_place(const struct trib_rank *rank);

#endif
