/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c: see processes.h. */
#include "control/roots/processes.h"
#include "control/jobs/opening.h"

#include <stdlib.h>

#include "core/assert.h"

#define BUCKETS 16384U /* a power of two. Unused memory is not touched */

static struct trib_process **bucket_of(const struct trib_jobs *jobs, uint32_t hash)
{
    return &jobs->processes[hash % BUCKETS];
}

void trib_process_enter(struct trib_jobs *jobs, struct trib_job *job, uint32_t index)
{
    struct trib_process *process = &job->processes[index];
    struct trib_process **at = bucket_of(jobs, process->hash);
    TRIB_ASSERT(!process->job && process->hash != 0);
    process->job = job;
    process->next = *at;
    *at = process;
    jobs->processes_known++;
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
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        trib_process_leave(jobs, job, i);
    }
}

bool trib_processes_start(struct trib_jobs *jobs)
{
    jobs->processes = jobs->processes ? jobs->processes : calloc(BUCKETS, sizeof(void *));
    return jobs->processes != NULL;
}

void trib_processes_begin(struct trib_jobs *jobs)
{
    jobs->search++;
}

static const struct trib_rank *rank_of(const struct trib_process *process)
{
    return &process->job->ranks[process - process->job->processes];
}

static bool is_same(const struct trib_process *a, const struct trib_process *b)
{
    return a->hash == b->hash && trib_rank_is_same_process(rank_of(a), rank_of(b));
}

uint64_t *trib_process_bytes(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t index)
{
    const struct trib_process *process = &job->processes[index];
    struct trib_process *first = *bucket_of(jobs, process->hash);
    while (!is_same(first, process)) {
        first = first->next;
    }
    if (first->search != jobs->search) {
        first->search = jobs->search;
        first->bytes = 0;
    }
    return &first->bytes;
}

uint32_t trib_processes_find(struct trib_jobs *jobs, struct trib_job *job, struct trib_job **list, uint32_t count)
{
    job->found = jobs->search;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_process *process = &job->processes[i];
        bool is_direct = process->job && job->ranks[i].via == 0;
        for (const struct trib_process *at = is_direct ? *bucket_of(jobs, process->hash) : NULL; at; at = at->next) {
            if (at->job->found != jobs->search && is_same(at, process)) {
                TRIB_ASSERT(count < jobs->count);
                at->job->found = jobs->search;
                list[count++] = at->job;
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
    for (const struct trib_job *job = jobs->first; job; job = job->next) {
        for (uint32_t i = 0; i < job->settings.ranks; i++) {
            TRIB_ASSERT((job->processes[i].job == job) == (job->processes[i].hash != 0));
            known += job->processes[i].job && is_entered(jobs, &job->processes[i]);
        }
    }
    TRIB_ASSERT(known == jobs->processes_known); /* C-19: no entry of an ended job */
}

void trib_processes_deinit(struct trib_jobs *jobs)
{
    TRIB_ASSERT(!jobs->first);
    free(jobs->processes);
    jobs->processes = NULL;
    jobs->processes_known = 0;
}
