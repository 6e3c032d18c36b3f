/* SPDX-License-Identifier: Apache-2.0 */
/* begin.h: limits of the jobs of one address or key. Read next: begin.c. */
#ifndef TRIB_CONTROL_JOBS_BEGIN_H
#define TRIB_CONTROL_JOBS_BEGIN_H

#include "control/jobs/state.h"

/* Bytes of a communicator with this number of ranks. */
size_t trib_job_size(uint32_t ranks);
/* False: the address or the key of the JOIN has begun too many jobs. error: TRIB_ERROR_TEXT_MAX bytes. */
bool trib_job_may_begin(const struct trib_jobs *jobs, const struct trib_address *from, const struct trib_message *join,
                        char *error);

#endif
