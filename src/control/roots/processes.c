/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c: see processes.h. */
#include "control/roots/processes.h"

#include <stdlib.h>

#include "core/assert.h"

#define BUCKETS 16384U /* a power of two. Memory that is not used is not touched */

static struct trib_process **bucket_of(const struct trib_jobs *jobs, uint32_t hash)
{
    return &jobs->processes[hash % BUCKETS];
}

void trib_process_enter(struct trib_jobs *jobs, struct trib_job *job, uint32_t index)
{
    struct trib_process *process = &job->processes[index];
    if (jobs->processes && process->hash != 0) {
        struct trib_process **at = bucket_of(jobs, process->hash);
        TRIB_ASSERT(!process->job);
        process->job = job;
        process->next = *at;
        *at = process;
        jobs->processes_known++;
    }
}

void trib_process_leave(struct trib_jobs *jobs, struct trib_job *job, uint32_t index)
{
    struct trib_process *process = &job->processes[index];
    if (process->job) {
        struct trib_process **at = bucket_of(jobs, process->hash);
        while (*at != process) {
            TRIB_ASSERT(*at);
            at = &(*at)->next;
        }
        *at = process->next;
        process->job = NULL;
        jobs->processes_known--;
    }
}

void trib_processes_leave(struct trib_jobs *jobs, struct trib_job *job)
{
    for (uint32_t i = 0; jobs->processes && i < job->settings.ranks; i++) {
        trib_process_leave(jobs, job, i);
    }
}

bool trib_processes_start(struct trib_jobs *jobs)
{
    if (jobs->processes) {
        return true;
    }
    jobs->processes = calloc(BUCKETS, sizeof(void *));
    for (struct trib_job *job = jobs->first; job && jobs->processes; job = job->next) {
        for (uint32_t i = 0; i < job->settings.ranks; i++) {
            trib_process_enter(jobs, job, i);
        }
    }
    return jobs->processes != NULL;
}

void trib_processes_begin(struct trib_jobs *jobs)
{
    jobs->search++;
}

uint32_t trib_processes_find(struct trib_jobs *jobs, struct trib_job *job, struct trib_job **list, uint32_t count)
{
    TRIB_ASSERT(jobs->processes);
    job->found = jobs->search;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_process *process = &job->processes[i];
        const struct trib_process *at = process->hash != 0 ? *bucket_of(jobs, process->hash) : NULL;
        for (; at; at = at->next) {
            struct trib_job *other = at->job;
            uint32_t rank = (uint32_t)(at - other->processes);
            if (at->hash == process->hash && other->found != jobs->search &&
                trib_rank_is_same_process(&job->ranks[i], &other->ranks[rank])) {
                TRIB_ASSERT(count < jobs->count);
                other->found = jobs->search;
                list[count++] = other;
            }
        }
    }
    return count;
}

static bool is_entered(const struct trib_jobs *jobs, const struct trib_process *process)
{
    const struct trib_process *at = *bucket_of(jobs, process->hash);
    while (at && at != process) {
        at = at->next;
    }
    return at != NULL;
}

void trib_processes_check(const struct trib_jobs *jobs)
{
    uint32_t known = 0;
    for (const struct trib_job *job = jobs->first; job && jobs->processes; job = job->next) {
        for (uint32_t i = 0; i < job->settings.ranks; i++) {
            TRIB_ASSERT((job->processes[i].job == job) == (job->processes[i].hash != 0));
            known += is_entered(jobs, &job->processes[i]);
        }
    }
    TRIB_ASSERT(known == jobs->processes_known); /* C-19: of no job that has ended */
}

void trib_processes_deinit(struct trib_jobs *jobs)
{
    TRIB_ASSERT(!jobs->first);
    free(jobs->processes);
    jobs->processes = NULL;
    jobs->processes_known = 0;
}
