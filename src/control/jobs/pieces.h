/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h: pieces of a model at the switches below, by a plan (fabric/placed.h), of jobs of a scheme with pieces.
 * Read next: placements.c (which opens them). */
#ifndef TRIB_CONTROL_JOBS_PIECES_H
#define TRIB_CONTROL_JOBS_PIECES_H

#include "control/jobs/jobs.h"

/* The pieces that the switch below adds: number `below` of the job, from 1. count 0: it adds none of this job. */
struct trib_pieces trib_job_pieces(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t below);
/* Tells the operator which pieces of a job that begins are added nowhere, and why. */
void trib_job_say_pieces(const struct trib_jobs *jobs, const struct trib_job *job);

#endif
