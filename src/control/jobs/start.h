/* SPDX-License-Identifier: Apache-2.0 */
/* start.h: the steps from "all ranks are there" to READY, as jobs.c and answers.c take them. Read next: start.c. */
#ifndef TRIB_CONTROL_START_H
#define TRIB_CONTROL_START_H

#include "control/jobs/jobs.h"

/* All agents have opened their roots: tells all ranks. */
void trib_job_welcome(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* An agent cannot open its roots, or is lost. The job is JOINING again, with all ranks, which have heard nothing. */
void trib_job_unplace(struct trib_jobs *jobs, struct trib_job *job);
/* PATHS of rank `index`. The job may be gone afterwards. */
void trib_job_paths(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message);
/* REGISTER of rank `index`; the last one starts the communicator. */
void trib_job_register(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark, uint64_t now_ns);
/* Sends READY if nothing lacks: all ranks have registered, and roots that are ranks are ready. */
void trib_job_run_if_ready(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* Sends the path packets to the group once more, and sets the time of the next. */
void trib_job_probe(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);

/* Is the job's group one that this switch gives out, and its alone? A returning rank names its group itself: packets
 * must not go wherever a stranger says (I7). If it is not, results go by unicast. */
bool trib_job_group_is_ours(const struct trib_jobs *jobs, const struct trib_job *job);
/* opening.c. `below`: 1 + the place of a switch in job->below; 0: the places of the roots. */

/* All ranks are there: which switches below sum, and which ranks are behind one child of the roots? Sets job->below,
 * job->children, and `below` and `branch` of each rank. False: out of memory. */
TRIB_MUST_USE bool trib_job_group(struct trib_job *job);
/* Forgets them. */
void trib_job_ungroup(struct trib_job *job);
/* Its scheme has servers: switches below are combiners, and their ranks are children of the root. */
bool trib_job_has_servers(const struct trib_job *job);
/* A rank whose switch is gone comes to the places of the roots. */
bool trib_job_has_detour(const struct trib_job *job);
/* Number of different trees, of the first roots; 1: one for all roots. */
static inline uint32_t trib_job_shapes(const struct trib_job *job)
{
    return job->is_chain ? job->grant.roots : 1;
}
/* Is this rank, for this root, at that switch, or at one below it? At the place of the root all are. */
bool trib_job_is_behind(const struct trib_job *job, uint32_t rank, uint32_t below, uint32_t root);
/* For some root. */
bool trib_job_is_ever_behind(const struct trib_job *job, uint32_t rank, uint32_t below);
/* Writes which child of that place each rank is or is behind, in order of their lowest ranks (I9); UINT16_MAX: the rank
 * is not behind it. Returns how many children there are. branch: as many as ranks. */
uint32_t trib_job_children(const struct trib_job *job, uint32_t below, uint32_t root, uint16_t *branch);
/* The job, grouped, as that place is to open this root, but for its parent; the caller destroys it. NULL: out of
 * memory. */
struct trib_opening *trib_opening_create(const struct trib_job *job, uint32_t below, uint32_t root);
/* Packet key of this incarnation, for the agent with number `below`, or for a rank. Packets go up from there to the
 * agent with number `parent`. All 0: the job has no key. */
struct trib_auth_key trib_job_auth(const struct trib_job *job, uint32_t below, uint32_t parent);
/* Where one switch below finds the shard of another, which did not connect to it: one at a loopback address is beside
 * the controller. */
struct trib_address trib_inner_towards(const struct trib_remote *inner, const struct trib_remote *other, uint32_t root);
void trib_opening_destroy(struct trib_opening *opening); /* NULL is allowed */

#endif
