/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h: `scheme = "ring-steps"`: the ring of training libraries (Horovod's; Patarasuk and Yuan, JPDC 2009). It has 2
 * (N - 1) steps. In each step every worker sends an N-th of a bucket of gradients to the next worker, over one
 * connection with the transport of all flows. The connection's window carries over from step to step. A worker begins
 * the next step when it has both sent and received the previous one.
 *
 * The scheme `ring` differs: its fragments circulate one by one, each as soon as possible. Here there are no nodes,
 * only the bytes that such a ring moves and their timing. Sums and lanes are not simulated.
 *
 * Read next: jobs.h (the iterations), traffic/flows.h. */
#ifndef TRIB_SIM_STEPS_H
#define TRIB_SIM_STEPS_H

#include "sim/jobs/state.h"
#include "sim/traffic/flows.h"

#define SIM_STEPS_NAME "ring-steps"

/* Steps of a worker over all sums since the job began. */
struct sim_steps_worker {
    uint64_t begun; /* 0: no connection yet */
    uint64_t sent;
    uint64_t got;
    uint32_t flow; /* connection to the next worker */
    uint32_t unused;
};

struct sim_steps {
    struct sim_flows *flows;
    uint64_t bytes; /* size of a message */
    struct sim_steps_worker workers[];
};

static inline uint64_t sim_steps_of_sum(const struct sim_job *job)
{
    return 2 * ((uint64_t)job->config.workers - 1);
}

/* Creates job->steps; call before the first iteration. False: out of memory. */
bool sim__steps_open(struct sim_jobs *j, struct sim_job *job);
/* Ends the job's connections; each is freed when its last message is acknowledged. */
void sim__steps_close(struct sim_job *job);
/* Reports that one more bucket of this worker may be summed. */
void sim__steps_ready(struct sim_jobs *j, uint32_t endpoint);
/* Takes the end of a flow with source SIM_FLOW_OF_JOB. */
void sim_steps_ended(struct sim_jobs *j, const struct sim_flow_end *end);

#endif
