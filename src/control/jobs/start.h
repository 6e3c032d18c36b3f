/* SPDX-License-Identifier: Apache-2.0 */
/* start.h: the steps from "all ranks are there" to READY, called by jobs.c and answers.c. Read next: start.c. */
#ifndef TRIB_CONTROL_START_H
#define TRIB_CONTROL_START_H

#include "control/jobs/state.h"

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

/* All ranks are there: admits the communicator and asks the agents to open roots, or fails the communicator with the
 * numbers. If an agent elsewhere is away, the job waits; the call is repeated when the agent is there. */
void trib_job_start(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns);

#endif
