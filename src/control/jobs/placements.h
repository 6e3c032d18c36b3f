/* SPDX-License-Identifier: Apache-2.0 */
/* placements.h: the controller's records of the agents that sum a communicator. A placement is one agent with its
 * roots: the shards of this switch (calls), the shards of another switch, or the process of a rank (messages on its
 * session). A switch below also has a placement, with all roots and a parent (struct trib_inner). A job has as many
 * placements as agents, and none if the ranks send to each other. Requests to agents are here, answers in answers.c.
 * Nothing here ends a job. Read next: answers.c, missing.c, places.h (deals the roots), agents/root.h (the other side
 * of the messages). */
#ifndef TRIB_CONTROL_PLACEMENTS_H
#define TRIB_CONTROL_PLACEMENTS_H

#include "control/jobs/state.h"

/* Places root `root` at the agent of `where`, on shard `shard`. Roots must come in order, from 0. */
void trib_placements_add(struct trib_job *job, uint32_t root, const struct trib_placement *where, uint32_t shard);
/* Places all roots of the grant on shards of this switch. */
void trib_placements_all_here(struct trib_job *job);
/* The grant has fewer roots than were dealt: removes the surplus roots, and agents without roots. */
void trib_placements_trim(struct trib_job *job);
/* The placement of the rank's process, or of the agent elsewhere. NULL: none. */
struct trib_placement *trib_placement_of_rank(struct trib_job *job, uint32_t rank);
struct trib_placement *trib_placement_of_remote(struct trib_job *job, const struct trib_remote *remote);
/* Number of all placements: first the placements with roots, then the placements of switches below. */
uint32_t trib_placements_count(const struct trib_job *job);
struct trib_placement *trib_placement_number(struct trib_job *job, uint32_t index);
/* True if the agent is this switch. */
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
/* The final status of a job after a refusal. said: status from the agent. An agent cannot declare a rank dead. */
enum trib_status trib_placement_status(int32_t said);
/* True if some root is a shard of this switch. */
bool trib_placements_are_here(const struct trib_job *job);

/* Opens the slots here, and asks other agents for theirs. Returns as trib_agent_open, or ERR_INVALID if two children
 * cannot be told apart, with the whole cause in error. */
TRIB_MUST_USE enum trib_status trib_placements_open(struct trib_jobs *jobs, struct trib_job *job, char *error);
/* Closes the slots here and at other switches, and removes all placements. In the process of a rank, the end of the
 * rank's session closes the slots. */
void trib_placements_shut(struct trib_jobs *jobs, struct trib_job *job);
/* Sends the registration or the mark of a rank to each agent that has the rank behind it. */
void trib_placements_join(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, uint64_t mark);
/* Sends M to switches below, if M has risen; is_first: in any case, before READY. */
void trib_placements_tell_mark(const struct trib_jobs *jobs, struct trib_job *job, uint64_t mark, bool is_first);
/* Asks switches below to try the path to the parent, and multicast. */
void trib_placements_probe(const struct trib_jobs *jobs, const struct trib_job *job);
/* True if all agents elsewhere have opened all roots. */
bool trib_placements_are_open(const struct trib_job *job);
bool trib_placement_is_open(const struct trib_job *job, const struct trib_placement *placement);
/* True if all placements elsewhere are ready (ROOT_READY), or lost and not needed. */
bool trib_placements_are_ready(const struct trib_job *job);
/* The root of the sequence, and the placement of that root. */
uint32_t trib_placements_root(const struct trib_job *job, uint64_t sequence);
struct trib_placement *trib_placement_at(struct trib_job *job, uint64_t sequence);
/* As in struct trib_data_plane, of the slots here. False: there are none. */
bool trib_placements_report(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_plane_report *report);
/* Capacity in bytes of the smallest socket of all agents of the job. */
uint32_t trib_placements_room(const struct trib_jobs *jobs, const struct trib_job *job);
/* True if packets of both jobs come to a socket of one agent. b NULL: true if packets of a come to this switch. */
bool trib_placements_meet(const struct trib_job *a, const struct trib_job *b);
/* Address and port of the root for the other end of a connection from peer to local. local len 0: unknown. */
struct trib_address trib_root_towards(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t root,
                                      const struct trib_address *peer, const struct trib_address *local);

/* The placement is lost: removes it from the agent's list. */
void trib_placement_leave_agent(struct trib_placement *placement);

/* missing.c */

#endif
