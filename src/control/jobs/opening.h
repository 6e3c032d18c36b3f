/* SPDX-License-Identifier: Apache-2.0 */
/* opening.h: what agents are told about a communicator: the children, and the openings of the roots. `below`: 1 + the
 * place of a switch in job->below; 0: the places of the roots. Read next: opening.c. */
#ifndef TRIB_CONTROL_JOBS_OPENING_H
#define TRIB_CONTROL_JOBS_OPENING_H

#include "control/jobs/state.h"

/* True if both send to root 0 of one switch from the same address and port, and so are one process. */
bool trib_rank_is_same_process(const struct trib_rank *a, const struct trib_rank *b);
/* Hash of the process: equal for two ranks of one process; not 0. */
uint32_t trib_rank_process(const struct trib_rank *rank);
/* The source address of the rank's packets to root t, which is also the address of the rank's t-th root. The
 * port is meaningless. */
struct trib_address trib_rank_place(const struct trib_rank *rank, uint32_t root);
/* The data plane's view of the communicator. */
void trib_job_session(const struct trib_job *job, struct trib_session_config *session);

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
/* Sets the keys of a rank in this incarnation. auth is all 0, and stays so in a job without a key. Not returned by
 * value, to leave no copies on the stack. */
void trib_job_sender_keys(const struct trib_job *job, uint32_t rank, struct trib_sender_keys *auth);
/* The address of a shard of the switch `other`, for the switch below `inner`, without a connection between the two. A
 * switch at a loopback address is on the controller's host. */
struct trib_address trib_inner_towards(const struct trib_remote *inner, const struct trib_remote *other, uint32_t root);
void trib_opening_destroy(struct trib_opening *opening); /* NULL is allowed */

#endif
