/* SPDX-License-Identifier: Apache-2.0 */
/* placements.h: the agents that sum a communicator, as its controller sees them. A placement is one agent with its
 * roots: the shards of this switch (calls), the shards of another switch, or the process of a rank (messages on its
 * session). A switch below has a placement as well, with all roots, and a parent (struct trib_inner). A job has as many
 * placements as agents, and none if its ranks send to each other. Requests to agents are here, answers in answers.c.
 * Nothing here ends a job. Read next: answers.c, missing.c, places.h (deals the roots), agents/root.h (the other side
 * of the messages). */
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
/* All placements: those with roots, then those of switches below. */
uint32_t trib_placements_count(const struct trib_job *job);
struct trib_placement *trib_placement_number(struct trib_job *job, uint32_t index);
/* Its agent is this switch. */
static inline bool trib_placement_is_here(const struct trib_placement *placement)
{
    return placement->carrier == TRIB_CARRIER_CALL;
}

/* If the agent is gone, the message is dropped. */
void trib_placement_tell(const struct trib_jobs *jobs, const struct trib_job *job,
                         const struct trib_placement *placement, const struct trib_message *message);
/* 1 + place in job->below; 0: a placement with roots. */
uint32_t trib_placement_below(const struct trib_job *job, const struct trib_placement *placement);
/* True for a switch below if all ranks behind it have registered and sent CLOSE. */
bool trib_placement_is_over(const struct trib_job *job, const struct trib_placement *placement);
/* The status with which a job ends that an agent refuses, by what it has said. An agent cannot say that a rank is
 * dead. */
enum trib_status trib_placement_status(int32_t said);
/* Some root is a shard of this switch. */
bool trib_placements_are_here(const struct trib_job *job);

/* Opens the slots here, and asks other agents for theirs. Returns as trib_agent_open, or ERR_INVALID if two children
 * cannot be told apart, with the whole cause in error. */
TRIB_MUST_USE enum trib_status trib_placements_open(struct trib_jobs *jobs, struct trib_job *job, char *error);
/* Closes the slots here and at other switches, and forgets all placements. In the process of a rank the end of its
 * session does it. */
void trib_placements_shut(struct trib_jobs *jobs, struct trib_job *job);
/* Tells each agent that has this rank behind it that the rank has registered, or its mark. */
void trib_placements_join(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, uint64_t mark);
/* Tells M to switches below, if M has risen; is_first: in any case, before READY. */
void trib_placements_tell_mark(const struct trib_jobs *jobs, struct trib_job *job, uint64_t mark, bool is_first);
/* Switches below try the path to their parents, and multicast. */
void trib_placements_probe(const struct trib_jobs *jobs, const struct trib_job *job);
/* Those elsewhere have opened all their roots. */
bool trib_placements_are_open(const struct trib_job *job);
bool trib_placement_is_open(const struct trib_job *job, const struct trib_placement *placement);
/* All placements elsewhere have heard all ranks register. */
bool trib_placements_are_ready(const struct trib_job *job);
/* Which root has this sequence, and at which placement. */
uint32_t trib_placements_root(const struct trib_job *job, uint64_t sequence);
struct trib_placement *trib_placement_at(struct trib_job *job, uint64_t sequence);
/* As in struct trib_data_plane, of the slots here. False: there are none. */
bool trib_placements_report(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_plane_report *report);
/* Bytes that the smallest socket of all its agents can hold. */
uint32_t trib_placements_room(const struct trib_jobs *jobs, const struct trib_job *job);
/* Packets of both come to a socket of one agent. b NULL: packets of a come to this switch. */
bool trib_placements_meet(const struct trib_job *a, const struct trib_job *b);
/* Where the other end of a connection, from peer to local, finds this root, with its port. local len 0: unknown. */
struct trib_address trib_root_towards(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t root,
                                      const struct trib_address *peer, const struct trib_address *local);

/* It is lost: takes it out of the list of its agent. */
void trib_placement_leave_agent(struct trib_placement *placement);

/* missing.c */

/* Writes the ranks, ascending, whose part of this sequence is not there; returns how many. silent: a switch below that
 * lacks no rank, yet no sum comes from there; NULL: none. TRIB_MISSING_LATER: an agent has been asked, one question at
 * a time. ranks: room for TRIB_RANKS_MAX. */
uint32_t trib_placements_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint64_t now_ns,
                                 uint16_t *ranks, const char **silent);
/* Takes the answer of an agent down. */
void trib_placement_heard(struct trib_placement *placement, uint64_t sequence, const struct trib_rank_list *lacks,
                          uint64_t now_ns);
/* The placement that is asked for this sequence, or else has its root. */
struct trib_placement *trib_placement_asked(struct trib_job *job, uint64_t sequence);
/* Sends the question on `sequence` to this agent, unless one has no answer yet. */
void trib_placement_ask(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_placement *placement,
                        uint64_t sequence);

#endif
