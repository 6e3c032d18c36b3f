/* SPDX-License-Identifier: Apache-2.0 */
/* roots.h: the asking side where roots are not all shards of the switch around the control plane: what a data plane is
 * asked for becomes messages to those who are roots.
 * - Where no switch is, a control plane without a data plane of its own (config: 0 shards), in the process of one of the ranks. The ranks'
 *   processes are the roots: which of them, and where, is chosen here; the messages go over their sessions. A root is one of the
 *   communicator's ranks, so its death ends the communicator as ever, and nothing has to be done for it.
 * - With several switches some roots are shards here, and the others lenders' (borrow.h, which deals them).
 * Read next: root.h (the doing side), roots.c. */
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

/* Opens the roots of a job: shards here by a call, others by messages to their processes. */
TRIB_MUST_USE enum trib_status trib_roots_open(struct trib_jobs *jobs, struct trib_job *job,
                                               const struct trib_opening *opening, char *error);
/* Tells every process that has a root of the job. */
void trib_roots_join(struct trib_jobs *jobs, struct trib_job *job, uint32_t rank, uint64_t mark);
/* Asks the root of this sequence, one question at a time. */
uint32_t trib_roots_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint16_t *ranks,
                            uint32_t max);
/* Which root has this sequence. */
uint32_t trib_roots_of(const struct trib_job *job, uint64_t sequence);
/* ROOT_MISSING of a lender. False: it was not asked. The job may be gone afterwards. */
bool trib_roots_take_missing(struct trib_jobs *jobs, struct trib_loan *loan, const struct trib_message *message,
                             uint64_t now_ns);

#endif
