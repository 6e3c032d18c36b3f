/* SPDX-License-Identifier: Apache-2.0 */
/* roots.h: where no switch is. The control plane has no shards of its own and runs in the process of a rank; the
 * processes of the ranks sum. Here is chosen which of them have roots, and on which of their sockets (struct
 * trib_dealer, places.h). Such an agent is a rank of the communicator, so its death ends the communicator as any rank's
 * does. Read next: roots.c, placements.h. */
#ifndef TRIB_CONTROL_ROOTS_H
#define TRIB_CONTROL_ROOTS_H

#include "control/jobs/jobs.h"

/* No switch: the ranks are the roots, where there are roots at all. */
static inline bool trib_roots_are_ranks(const struct trib_server_config *config)
{
    return config->shards == 0;
}

/* It came from a switch that is gone for good. */
static inline bool trib_job_has_moved(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->is_return && trib_roots_are_ranks(jobs->config);
}

#endif
