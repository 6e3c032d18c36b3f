/* SPDX-License-Identifier: Apache-2.0 */
/* find.c: finds jobs (CONTROLLER C-22): two hash tables, by communicator and by name; one list of the jobs that wait
 * for agents; and a heap by time. The time of a job in the heap is never later than trib_job_timeout; a job at the top
 * moves back first. So only an earlier time must be reported (trib_job_queue). Read next: jobs.c (the events that are
 * due). */
#include <string.h>

#include "control/jobs/find.h"
#include "control/jobs/state.h"
#include "core/assert.h"
#include "core/lane.h"
#include "io/clock.h"
#include "io/list.h"

/* ---- by communicator, and by name ---- */

static uint32_t place_of_name(const char *name)
{
    uint64_t hash = 0;
    for (const char *at = name; *at; at++) {
        hash = trib_mix64(hash + (uint8_t)*at);
    }
    return (uint32_t)hash % TRIB_TABLE_SIZE;
}

struct trib_job *trib_jobs_named(const struct trib_jobs *jobs, const char *name)
{
    return jobs->by_name[place_of_name(name)];
}

struct trib_job *trib_jobs_find_communicator(const struct trib_jobs *jobs, uint32_t communicator)
{
    struct trib_job *job = jobs->by_communicator[communicator % TRIB_TABLE_SIZE];
    while (job && job->grant.communicator != communicator) {
        job = job->next_found;
    }
    return job;
}

static void leave_communicator(struct trib_jobs *jobs, const struct trib_job *job)
{
    struct trib_job **at = &jobs->by_communicator[job->grant.communicator % TRIB_TABLE_SIZE];
    while (*at != job) {
        TRIB_ASSERT(*at);
        at = &(*at)->next_found;
    }
    *at = job->next_found;
}

static void enter_communicator(struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_job **at = &jobs->by_communicator[job->grant.communicator % TRIB_TABLE_SIZE];
    job->next_found = *at;
    *at = job;
}

void trib_job_take_grant(struct trib_jobs *jobs, struct trib_job *job, const struct trib_grant *grant)
{
    leave_communicator(jobs, job);
    job->grant = *grant;
    enter_communicator(jobs, job);
}

/* ---- by agent ---- */

void trib_job_wait(struct trib_jobs *jobs, struct trib_job *job)
{
    if (job->waiting_back) {
        return;
    }
    TRIB_LIST_ADD(&jobs->waiting, job, next_waiting, waiting_back);
}

void trib_job_stop_waiting(struct trib_job *job)
{
    TRIB_LIST_REMOVE(job, next_waiting, waiting_back);
}

/* ---- by time ---- */

uint64_t trib_job_timeout(const struct trib_job *job)
{
    uint64_t when = trib_time_earlier(trib_time_earlier(job->deadline_ns, job->probe_ns), job->marks_ns);
    when = job->dispute.deadline_ns != 0 ? trib_time_earlier(when, job->dispute.deadline_ns) : when;
    return job->apart_ns != 0 ? trib_time_earlier(when, job->apart_ns) : when;
}

static void put(struct trib_jobs *jobs, struct trib_job *job, uint32_t at)
{
    jobs->queue[at] = job;
    job->queue_at = at;
}

/* Moves the job from the free place `at` of the heap to the right place. */
static void sift(struct trib_jobs *jobs, struct trib_job *job, uint32_t at)
{
    while (at > 0) {
        uint32_t above = (at - 1) / 2;
        if (jobs->queue[above]->queue_ns <= job->queue_ns) {
            break;
        }
        put(jobs, jobs->queue[above], at);
        at = above;
    }
    for (uint32_t child = 2 * at + 1; child < jobs->queued; child = 2 * at + 1) {
        child += child + 1 < jobs->queued && jobs->queue[child + 1]->queue_ns < jobs->queue[child]->queue_ns;
        if (job->queue_ns <= jobs->queue[child]->queue_ns) {
            break;
        }
        put(jobs, jobs->queue[child], at);
        at = child;
    }
    put(jobs, job, at);
}

void trib_job_queue(struct trib_jobs *jobs, struct trib_job *job)
{
    job->queue_ns = trib_job_timeout(job);
    sift(jobs, job, job->queue_at);
}

struct trib_job *trib_jobs_next_due(struct trib_jobs *jobs)
{
    while (jobs->queued > 0 && jobs->queue[0]->queue_ns != trib_job_timeout(jobs->queue[0])) {
        trib_job_queue(jobs, jobs->queue[0]);
    }
    return jobs->queued > 0 ? jobs->queue[0] : NULL;
}

/* ---- all together ---- */

void trib_jobs_add(struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_job **named = &jobs->by_name[place_of_name(job->name)];
    TRIB_ASSERT(jobs->count < TRIB_JOBS_MAX && jobs->queued == jobs->count);
    TRIB_LIST_ADD(&jobs->first, job, next, back);
    jobs->count++;
    job->next_named = *named;
    *named = job;
    enter_communicator(jobs, job);
    job->queue_at = jobs->queued++;
    trib_job_queue(jobs, job);
}

void trib_jobs_remove(struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_job **named = &jobs->by_name[place_of_name(job->name)];
    while (*named != job) {
        named = &(*named)->next_named;
    }
    *named = job->next_named;
    leave_communicator(jobs, job);
    struct trib_job *last = jobs->queue[--jobs->queued];
    if (last != job) {
        sift(jobs, last, job->queue_at);
    }
    trib_job_stop_waiting(job);
    TRIB_LIST_REMOVE(job, next, back);
    jobs->count--;
}
