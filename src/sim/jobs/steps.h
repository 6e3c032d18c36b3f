/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h: `scheme = "ring-steps"`: a ring as libraries for training have it (Horovod's; Patarasuk and Yuan, JPDC
 * 2009): 2 (N - 1) steps, in each of which every worker sends an N-th of a bucket of gradients to the next one, over
 * one connection with the transport that all flows have, whose window stays what it was from step to step. A worker's
 * next step begins when what it sent and what it got in the step before are both there.
 *
 * Our own scheme `ring` is another thing: fragments go round one by one, each as soon as it can. And there are no nodes
 * here, only the bytes that such a ring moves, and when: sums and lanes are not simulated.
 * Read next: jobs.h (the iterations), traffic/flows.h. */
#ifndef TRIB_SIM_STEPS_H
#define TRIB_SIM_STEPS_H

#include "sim/jobs/jobs.h"
#include "sim/traffic/flows.h"

#define SIM_STEPS_NAME "ring-steps"

/* Of one worker: steps since the job began, of all its sums. */
struct sim_steps_worker {
    uint64_t begun; /* 0: it has no connection yet */
    uint64_t sent;
    uint64_t got;
    uint32_t flow; /* its connection */
    uint32_t unused;
};

struct sim_steps {
    struct sim_flows *flows;
    uint64_t bytes; /* of a message */
    struct sim_steps_worker workers[];
};

static inline uint64_t sim_steps_of_sum(const struct sim_job *job)
{
    return 2 * ((uint64_t)job->config.workers - 1);
}

/* Makes job->steps, before the first iteration. False: out of memory. */
bool sim__steps_open(struct sim_jobs *j, struct sim_job *job);
/* Its connections end when what is under way is acknowledged. */
void sim__steps_close(struct sim_job *job);
/* One more bucket of this worker may be summed. */
void sim__steps_ready(struct sim_jobs *j, uint32_t endpoint);
/* A flow of source SIM_FLOW_OF_JOB has ended. */
void sim_steps_ended(struct sim_jobs *j, const struct sim_flow_end *end);

#endif
