/* SPDX-License-Identifier: Apache-2.0 */
/* start.h: the steps from "all ranks are there" to READY, called by jobs.c and answers.c. Read next: start.c. */
#ifndef TRIB_CONTROL_START_H
#define TRIB_CONTROL_START_H

#include "control/jobs/jobs.h"

/* All agents have opened the roots: sends WELCOME to all ranks. */
void trib_job_welcome(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* An agent cannot open the roots, or is lost. The job goes back to JOINING, with all ranks; nothing is sent to
 * ranks. */
void trib_job_unplace(struct trib_jobs *jobs, struct trib_job *job);
/* PATHS of rank `index`. The job may be gone afterwards. */
void trib_job_paths(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message);
/* REGISTER of rank `index`; the last one starts the communicator. */
void trib_job_register(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark, uint64_t now_ns);
/* Sends READY if all ranks have registered, and all roots in ranks' processes are ready. */
void trib_job_run_if_ready(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);
/* Sends the path packets to the group once more, and sets the time of the next. */
void trib_job_probe(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);

/* True if this switch gives out the job's group, and to no other job. A returning rank names the group, and packets
 * must not go to an address chosen by a stranger (I7). If false, results go by unicast. */
bool trib_job_group_is_ours(const struct trib_jobs *jobs, const struct trib_job *job);
/* opening.c. `below`: 1 + the place of a switch in job->below; 0: the places of the roots. */

/* All ranks are there: determines the switches below that sum, and the ranks behind each child of the roots. Sets
 * job->below, job->children, and `below` and `branch` of each rank. False: out of memory. */
TRIB_MUST_USE bool trib_job_group(struct trib_job *job);
/* Undoes trib_job_group. */
void trib_job_ungroup(struct trib_job *job);
/* True if the scheme has servers: switches below are combiners, and the ranks behind a combiner are children of the
 * root. */
bool trib_job_has_servers(const struct trib_job *job);
/* True if a rank behind a lost switch joins at the places of the roots. */
bool trib_job_has_detour(const struct trib_job *job);
/* Number of different trees, of the first roots; 1: one for all roots. */
static inline uint32_t trib_job_shapes(const struct trib_job *job)
{
    return job->is_chain ? job->grant.roots : 1;
}
/* True if the rank is, for the root, at the switch `below`, or at a switch below that switch. `below` 0: always
 * true. */
bool trib_job_is_behind(const struct trib_job *job, uint32_t rank, uint32_t below, uint32_t root);
/* For some root. */
bool trib_job_is_ever_behind(const struct trib_job *job, uint32_t rank, uint32_t below);
/* Writes to branch the number of each rank's child at the place `below`. Children are numbered in order of their lowest
 * ranks (I9). UINT16_MAX: the rank is not behind the place. Returns the number of children. branch: as many entries as
 * ranks. */
uint32_t trib_job_children(const struct trib_job *job, uint32_t below, uint32_t root, uint16_t *branch);
/* The opening of the root at the place `below`, without the parent; the job must be grouped. The caller destroys the
 * opening. NULL: out of memory. */
struct trib_opening *trib_opening_create(const struct trib_job *job, uint32_t below, uint32_t root);
/* Packet key of the incarnation, for the agent with number `below`, or for a rank. Packets go up from there to the
 * agent with number `parent`. All 0: the job has no key. */
struct trib_auth_key trib_job_auth(const struct trib_job *job, uint32_t below, uint32_t parent);
/* The address of a shard of the switch `other`, for the switch below `inner`, without a connection between the two. A
 * switch at a loopback address is on the controller's host. */
struct trib_address trib_inner_towards(const struct trib_remote *inner, const struct trib_remote *other, uint32_t root);
void trib_opening_destroy(struct trib_opening *opening); /* NULL is allowed */

#endif
