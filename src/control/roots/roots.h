/* SPDX-License-Identifier: Apache-2.0 */
/* roots.h: the asking side where roots are not all shards of the switch around the control plane: what a data plane is
 * asked for becomes messages to those who are roots.
 * - Where no switch is, a control plane without a data plane of its own (config: 0 shards), in the process of one of the ranks. The ranks'
 *   processes are the roots: which of them, and where, is chosen here; the messages go over their sessions. A root is one of the
 *   communicator's ranks, so its death ends the communicator as ever, and nothing has to be done for it.
 * - With several switches some roots are shards here, and the others lenders' (borrow.h, which deals them).
 * Read next: root.h (the doing side), roots.c. */
#ifndef TRIB_CONTROL_ROOTS_H
#define TRIB_CONTROL_ROOTS_H

#include "control/jobs/jobs.h"

/* No switch: the ranks are the roots, where there are roots at all. */
static inline bool trib_roots_are_ranks(const struct trib_server_config *config)
{
    return config->shards == 0;
}

static inline bool trib_roots_are_ranks_of(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return trib_roots_are_ranks(jobs->config) && !job->has_peers;
}

/* The table for config->plane where no switch is. */
struct trib_data_plane trib_roots_verbs(struct trib_jobs *jobs);
/* All ranks are there: chooses the roots, sets grant.roots of a new job, and mends addresses that only one host knows.
 * ERR_REFUSED with the cause: no rank can be a root. */
TRIB_MUST_USE enum trib_status trib_roots_deal(struct trib_job *job, char *error);
/* Bytes that the socket of every root can hold. */
uint32_t trib_roots_room(const struct trib_job *job);
/* Some process is a root of both. */
bool trib_roots_meet(const struct trib_job *a, const struct trib_job *b);
/* Writes where the roots are, and how others know this rank, into its WELCOME. */
void trib_roots_name(const struct trib_job *job, uint32_t rank, struct trib_message *welcome);
/* All of them have said ROOT_READY. */
bool trib_roots_are_ready(const struct trib_job *job);
/* This rank is a root, and has not been told CLOSED: others may still need it. */
bool trib_roots_need(const struct trib_job *job, uint32_t rank);
/* "rank 2 (10.0.0.3:41234), its root": who is to know about this sequence. text: 128 bytes. */
void trib_roots_name_root(const struct trib_jobs *jobs, const struct trib_job *job, uint64_t sequence, char *text);
/* ROOT_READY, ROOT_MISSING or DISPUTE of a root. False: out of turn. The job may be gone afterwards. */
bool trib_roots_receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                        uint64_t now_ns);
/* ROOT_MISSING of a lender. False: it was not asked. The job may be gone afterwards. */
bool trib_roots_take_missing(struct trib_jobs *jobs, struct trib_loan *loan, const struct trib_message *message,
                             uint64_t now_ns);

#endif
