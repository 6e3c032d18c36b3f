/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h: windows, slots, memory and quotas of a communicator. Read next: admission.c. */
#ifndef TRIB_CONTROL_JOBS_ADMISSION_H
#define TRIB_CONTROL_JOBS_ADMISSION_H

#include "control/jobs/state.h"

/* False, with the numbers in error: not one packet of each child has room. Of schemes with caps; others send one all
 * the same. */
bool trib_admission_has_room(struct trib_jobs *jobs, const struct trib_job *job, char *error);
/* Chooses window, train and slots of a new communicator, so that the packets in flight from the children of all jobs
 * fit receive_room, and the room of switches below. True: the limit has reduced the window. */
bool trib_admission_window(struct trib_jobs *jobs, struct trib_job *job);
/* Bytes held by one socket that receives from the job's children: a socket of a shard here, of a root, or of a rank.
 * NULL: of any job, at a switch. */
uint32_t trib_admission_socket(const struct trib_jobs *jobs, const struct trib_job *job);
/* Bytes in flight to a shard here that one more job may have (master NULL), or all jobs of `master`; not 0. */
uint32_t trib_admission_room(struct trib_jobs *jobs, const struct trib_master *master);
/* Lowers the window in the grant of a job that comes from a lost switch, as the roots here may hold less. */
void trib_admission_shrink(struct trib_jobs *jobs, struct trib_job *job);

#endif
