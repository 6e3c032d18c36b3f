/* SPDX-License-Identifier: Apache-2.0 */
/* placements.h: the agents that sum a communicator, as its controller sees them. A placement is one agent with its
 * roots: the shards of this switch (calls), the shards of another switch, or the process of a rank (messages on its
 * session). A job has as many placements as agents, and none if its ranks send to each other. Requests to agents are
 * here, answers in answers.c. Nothing here ends a job. Read next: answers.c, places.h (deals the roots), agents/root.h
 * (the other side of the messages). */
#ifndef TRIB_CONTROL_PLACEMENTS_H
#define TRIB_CONTROL_PLACEMENTS_H

#include "control/jobs/jobs.h"

/* Root `root` is summed by the agent of `where`, on its shard `shard`. Roots come in order, from 0. */
void trib_placements_add(struct trib_job *job, uint32_t root, const struct trib_placement *where, uint32_t shard);
/* All roots of the grant are shards of this switch. */
void trib_placements_all_here(struct trib_job *job);
/* The grant has fewer roots than were dealt: forgets the others, and agents that have none. */
void trib_placements_trim(struct trib_job *job);
/* The placement of this rank's process, or of this agent elsewhere. NULL: it has none. */
struct trib_placement *trib_placement_of_rank(struct trib_job *job, uint32_t rank);
struct trib_placement *trib_placement_of_remote(struct trib_job *job, const struct trib_remote *remote);
/* Some root is a shard of this switch. */
bool trib_placements_are_here(const struct trib_job *job);

/* Opens the slots here, and asks the others for theirs. Returns as trib_agent_open, with the whole cause in error. */
TRIB_MUST_USE enum trib_status trib_placements_open(struct trib_jobs *jobs, struct trib_job *job,
                                                    const struct trib_opening *opening, char *error);
/* Closes the slots here and at other switches, and forgets all placements. In the process of a rank the end of its
 * session does it. */
void trib_placements_shut(struct trib_jobs *jobs, struct trib_job *job);
/* Tells each agent that a rank has registered, or its mark. */
void trib_placements_join(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, uint64_t mark);
/* Those elsewhere have opened all their roots. */
bool trib_placements_are_open(const struct trib_job *job);
bool trib_placement_is_open(const struct trib_job *job, const struct trib_placement *placement);
/* All placements elsewhere have heard all ranks register. */
bool trib_placements_are_ready(const struct trib_job *job);
/* Which root has this sequence, and at which placement. */
uint32_t trib_placements_root(const struct trib_job *job, uint64_t sequence);
struct trib_placement *trib_placement_at(struct trib_job *job, uint64_t sequence);
/* As in struct trib_data_plane. TRIB_MISSING_LATER: the agent has been asked, one question at a time. */
uint32_t trib_placements_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint16_t *ranks,
                                 uint32_t max);
/* Sends the question on `sequence` to this agent, unless one has no answer yet. */
void trib_placement_ask(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_placement *placement,
                        uint64_t sequence);
/* As in struct trib_data_plane, of the slots here. False: there are none. */
bool trib_placements_report(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_plane_report *report);
/* Bytes that the smallest socket of all its agents can hold. */
uint32_t trib_placements_room(const struct trib_jobs *jobs, const struct trib_job *job);
/* Packets of both come to a socket of one agent. b NULL: packets of a come to this switch. */
bool trib_placements_meet(const struct trib_job *a, const struct trib_job *b);
/* Where the ranks of `session` find this root, with its port. */
struct trib_address trib_root_towards(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t root,
                                      const struct trib_session *session);

#endif
