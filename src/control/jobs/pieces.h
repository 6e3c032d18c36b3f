/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h: pieces of a model at the switches below, by a plan (fabric/placed.h), in jobs of a scheme with pieces.
 * Read next: placements.c (opens the pieces). */
#ifndef TRIB_CONTROL_JOBS_PIECES_H
#define TRIB_CONTROL_JOBS_PIECES_H

#include "control/jobs/state.h"

/* The pieces that a switch below adds. below: number of the switch in the job, from 1. count 0: no pieces. */
struct trib_pieces trib_job_pieces(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t below);
/* Logs the pieces of a new job that are added nowhere, with the cause. */
void trib_job_say_pieces(const struct trib_jobs *jobs, const struct trib_job *job);

#endif
