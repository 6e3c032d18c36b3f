/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c: see steps.h. Read next: jobs.c. */
#include "sim/jobs/steps.h"

#include "core/lane.h"
#include "sim/jobs/iterations.h"

bool sim__steps_open(struct sim_jobs *j, struct sim_job *job)
{
    uint64_t bucket = (job->config.bytes + job->config.buckets - 1) / job->config.buckets;
    uint32_t workers = job->config.workers;

    if (j->at_host == NULL) {
        j->at_host = sim_arena_take(&j->arena, j->network->hosts * sizeof *j->at_host);
    }
    job->steps = sim__jobs_take(j, job, sizeof *job->steps + workers * sizeof job->steps->workers[0]);
    if (j->at_host == NULL || job->steps == NULL) {
        return false;
    }
    job->steps->flows = j->flows;
    job->steps->bytes = (bucket + workers - 1) / workers;
    for (uint32_t rank = 0; rank < workers; rank++) {
        job->steps->workers[rank] = (struct sim_steps_worker){0};
        j->at_host[j->endpoints[job->first + rank].place] = job->first + rank;
    }
    return true;
}

void sim__steps_close(struct sim_job *job)
{
    for (uint32_t rank = 0; rank < job->config.workers; rank++) {
        sim_flows_disconnect(job->steps->flows, job->steps->workers[rank].flow);
    }
}

/* Returns the steps for which the worker has gradients. */
static uint64_t allowed(const struct sim_job *job, const struct sim_endpoint *e)
{
    return ((e->iteration - UINT64_C(1)) * job->config.buckets + e->ready) * sim_steps_of_sum(job);
}

static void go_on(struct sim_jobs *j, uint32_t endpoint)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    const struct sim_job *job = &j->jobs[e->job];
    struct sim_steps_worker *w = &job->steps->workers[e->rank];

    if (w->begun == allowed(job, e) || w->sent < w->begun || w->got < w->begun) {
        return;
    }
    if (w->begun++ != 0) {
        sim_flows_message(job->steps->flows, w->flow);
        return;
    }
    struct sim_flow_plan plan = {
        .bytes = job->steps->bytes,
        .from = e->place,
        .to = j->endpoints[job->first + (e->rank + 1U) % job->config.workers].place,
        .source = SIM_FLOW_OF_JOB,
        .hash = (uint32_t)trib_mix64(job->session.salt + e->rank),
    };
    w->flow = sim_flows_connect(job->steps->flows, &plan);
}

/* Ends the worker's iteration or begins its next step after a message. */
static void look(struct sim_jobs *j, uint32_t endpoint)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    const struct sim_job *job = &j->jobs[e->job];
    const struct sim_steps_worker *w = &job->steps->workers[e->rank];
    uint64_t last = (uint64_t)e->iteration * job->config.buckets * sim_steps_of_sum(job);

    if (w->begun == last && w->sent == last && w->got >= last && e->left != 0) {
        j->endpoints[endpoint].left = 0;
        sim__jobs_ended(j, endpoint);
    } else {
        go_on(j, endpoint);
    }
}

void sim__steps_ready(struct sim_jobs *j, uint32_t endpoint)
{
    go_on(j, endpoint);
}

void sim_steps_ended(struct sim_jobs *j, const struct sim_flow_end *end)
{
    uint32_t from = j->at_host[end->plan.from];
    uint32_t to = j->at_host[end->plan.to];
    const struct sim_job *job = &j->jobs[j->endpoints[from].job];

    job->steps->workers[j->endpoints[from].rank].sent++;
    job->steps->workers[j->endpoints[to].rank].got++;
    look(j, from);
    look(j, to);
}
