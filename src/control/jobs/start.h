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

/* Opens the data plane for a job that is grouped, within the quotas; the caller tells ranks of an error. parent as
 * above. */
TRIB_MUST_USE enum trib_status trib_job_open(struct trib_jobs *jobs, struct trib_job *job,
                                             const struct trib_address *parent, char *error);
/* A group for results of a new job, if all its ranks here can and want it; else none. */
void trib_job_draw_group(const struct trib_jobs *jobs, struct trib_job *job);
/* Is the job's group one that this switch gives out, and its alone? A returning rank names its group itself: packets
 * must not go wherever a stranger says (I7). If it is not, results go by unicast. */
bool trib_job_group_is_ours(const struct trib_jobs *jobs, const struct trib_job *job);
/* Tells the data plane how results travel, before any rank may send. */
void trib_job_choose_multicast(const struct trib_jobs *jobs, struct trib_job *job);
/* Full-size packets do not pass between this rank and us. error: TRIB_ERROR_TEXT_MAX bytes. */
void trib_job_explain_path(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, char *error);
/* Says in WELCOME at which of this switch's addresses each shard is. */
void trib_job_name_shards(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_message *welcome);
/* opening.c: all ranks are there: which of them are behind one child? Sets job->children and the branch of each
 * rank. */
void trib_job_group(struct trib_job *job);
/* Ranks that come over the same relay as this one; 1: it comes by itself. */
uint32_t trib_job_behind(const struct trib_job *job, uint32_t rank);
/* The job, grouped, as the data plane is to open it; the caller destroys it. parent: by shard, borrowed for as long;
 * NULL: none. NULL: out of memory. */
struct trib_opening *trib_opening_create(const struct trib_job *job, const struct trib_address *parent);
void trib_opening_destroy(struct trib_opening *opening); /* NULL is allowed */

#endif
