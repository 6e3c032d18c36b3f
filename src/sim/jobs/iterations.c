/* SPDX-License-Identifier: Apache-2.0 */
/* iterations.c: a worker's iterations: begin, compute, buckets of gradients, end. Read next: steps.c, jobs.c. */
#include "sim/jobs/iterations.h"

#include "core/lane.h"
#include "sim/jobs/numbers.h"
#include "sim/jobs/servers.h"
#include "sim/jobs/shares.h"

#define NS_PS UINT64_C(1000)

/* All ranks have ended this iteration, so the session tells their nodes the lowest mark. */
static void tell_marks(struct sim_jobs *j, const struct sim_job *job, uint64_t now_ns)
{
    uint64_t lowest = UINT64_MAX;

    for (uint32_t rank = 0; rank < job->config.workers; rank++) {
        uint64_t mark = job->scheme->worker->mark(j->endpoints[job->first + rank].node);
        lowest = mark < lowest ? mark : lowest;
    }
    for (uint32_t i = job->first; i < job->first + job->config.workers; i++) {
        job->scheme->worker->learn_mark(j->endpoints[i].node, lowest, now_ns);
    }
    sim__servers_tell_mark(j, job, lowest);
    for (uint32_t i = sim_job_switches(job); i < sim_job_combiners(job); i++) {
        const struct sim_endpoint *e = &j->endpoints[i];
        for (uint32_t child = 0; child < e->children; child++) {
            job->scheme->switch_node->join(e->node, child, lowest);
        }
        job->scheme->switch_node->learn_mark(e->node, lowest);
        if (j->memories != NULL && sim_job_is_lodger(j, e)) {
            sim__shares_count(j, i);
        }
    }
}

/* Returns the compute time of a rank in an iteration. Drawn from the job, rank and iteration alone, so independent of
 * all else. */
static uint64_t compute_of_rank(const struct sim_job *job, uint32_t rank, uint32_t iteration)
{
    const struct sim_job_config *c = &job->config;
    bool is_straggler = rank + c->stragglers >= c->workers * c->ranks;

    if (c->jitter == 0 && !is_straggler) {
        return c->compute_ps;
    }
    uint64_t draw = trib_mix64(job->session.salt ^ trib_mix64((uint64_t)rank << 32 | iteration));
    double share = (double)(draw >> 11) / 0x1p53;
    double time_ps = (double)c->compute_ps * (1 + c->jitter * (2 * share - 1));
    return (uint64_t)(is_straggler ? time_ps * (1 + c->slower) : time_ps);
}

/* Returns the compute time of a host: its slowest rank's. */
static uint64_t compute_of(const struct sim_job *job, const struct sim_endpoint *e)
{
    uint64_t most_ps = 0;

    for (uint32_t i = 0; i < job->config.ranks; i++) {
        uint64_t time_ps = compute_of_rank(job, e->rank * job->config.ranks + i, e->iteration);
        most_ps = time_ps > most_ps ? time_ps : most_ps;
    }
    return most_ps;
}

/* Returns the time from the iteration's begin until this many buckets are ready. */
static uint64_t ready_after(const struct sim_job *job, const struct sim_endpoint *e, uint32_t buckets)
{
    uint64_t compute_ps = compute_of(job, e);
    double left = job->config.backward * (job->config.buckets - buckets) / job->config.buckets;

    return buckets == job->config.buckets ? compute_ps : (uint64_t)((double)compute_ps * (1 - left));
}

void sim__jobs_wait_for_bucket(struct sim_jobs *j, uint32_t endpoint)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    const struct sim_job *job = &j->jobs[e->job];
    uint64_t before_ps = e->ready != 0 ? ready_after(job, e, e->ready) : 0;
    uint64_t now_ps = sim_network_now(j->network);
    uint64_t from_ps = now_ps > job->config.start_ps ? now_ps : job->config.start_ps;

    sim_timer_set(&j->network->events, j->first_timer + 2 * endpoint + 1,
                  from_ps + ready_after(job, e, e->ready + 1U) - before_ps);
}

void sim__jobs_begin(struct sim_jobs *j, uint32_t endpoint)
{
    struct sim_endpoint *e = &j->endpoints[endpoint];
    const struct sim_job *job = &j->jobs[e->job];

    /* A published rule can let ranks be further apart than any window. Numbers are kept for turn_count iterations. */
    e->is_held = e->iteration + 1 - job->iterations > job->turn_count;
    if (e->iteration == job->config.iterations || e->is_held) {
        return;
    }
    struct sim_iteration *log = &job->log[e->iteration++];
    log->begun_ps = log->begun_ps == 0 ? sim_network_now(j->network) : log->begun_ps;
    e->ready = 0;
    sim__jobs_wait_for_bucket(j, endpoint);
}

/* Schedules the close of the job after the current event, because its nodes are still in use. */
static void end_job(struct sim_jobs *j, struct sim_job *job)
{
    j->done_jobs++;
    job->next_ended = j->ended;
    j->ended = (uint32_t)(job - j->jobs);
    sim_timer_set(&j->network->events, j->ended_timer, sim_network_now(j->network));
}

void sim__jobs_ended(struct sim_jobs *j, uint32_t endpoint)
{
    const struct sim_endpoint *e = &j->endpoints[endpoint];
    struct sim_job *job = &j->jobs[e->job];

    if (++sim_job_turn(job, e->iteration)->ended == job->config.workers) {
        struct sim_iteration *log = &job->log[job->iterations++];
        job->end_ps = log->ended_ps = sim_network_now(j->network);
        job->summing_ps += (double)(log->ended_ps - log->computed_ps);
        if (job->iterations == job->config.iterations) {
            end_job(j, job);
        }
        if (job->steps == NULL) {
            sim__numbers_compare(job, e->iteration);
            tell_marks(j, job, job->end_ps / NS_PS);
        }
    }
    for (uint32_t i = job->first; i < job->first + job->config.workers; i++) {
        if (i == endpoint || j->endpoints[i].is_held) {
            sim__jobs_begin(j, i);
        }
    }
}
