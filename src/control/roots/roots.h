/* SPDX-License-Identifier: Apache-2.0 */
/* roots.h: jobs without a switch. The control plane has no shards and runs in the process of a rank; the ranks'
 * processes sum. roots.c chooses the processes with roots, and the sockets (struct trib_dealer, places.h). Such an
 * agent is a rank of the communicator, so the death of the agent ends the communicator. Read next: roots.c,
 * placements.h. */
#ifndef TRIB_CONTROL_ROOTS_H
#define TRIB_CONTROL_ROOTS_H

#include "control/jobs/state.h"

/* No switch: the ranks are the roots, where there are roots at all. */
static inline bool trib_roots_are_ranks(const struct trib_server_config *config)
{
    return config->shards == 0;
}

/* True if the job came from a switch that is gone for good. */
static inline bool trib_job_has_moved(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->is_return && trib_roots_are_ranks(jobs->config);
}

extern const struct trib_dealer trib_dealer_ranks;

#endif
