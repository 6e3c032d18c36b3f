/* SPDX-License-Identifier: Apache-2.0 */
/* job.c: one communicator: names of ranks, and the two ways to end the whole communicator. Read next: recall.c (the end
 * of an incarnation), marks.c (ranks that leave). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/find.h"
#include "control/jobs/job.h"
#include "control/jobs/owner.h"
#include "control/jobs/placements.h"
#include "control/jobs/places.h"
#include "control/roots/loads.h"
#include "control/roots/processes.h"
#include "core/assert.h"
#include "io/explain.h"

char *trib_job_name_rank(const struct trib_job *job, uint32_t rank, char *text)
{
    (void)snprintf(text, 96, "rank %u (%s)", rank, job->ranks[rank].name);
    return text;
}

void trib_rank_let_go(struct trib_jobs *jobs, struct trib_rank *rank)
{
    if (rank->session) {
        TRIB_ASSERT(rank->session->job != NULL); /* C-1: a rank's session belongs to the job */
        rank->session->job = NULL;
        jobs->output.end(jobs->output.owner, rank->session);
        rank->session = NULL;
        rank->is_recalled = false;
    }
}

void trib_rank_tell(const struct trib_jobs *jobs, const struct trib_rank *rank, const struct trib_message *message)
{
    if (rank->session && !rank->is_outside && !rank->is_recalled) {
        jobs->output.send(jobs->output.owner, rank->session, message);
    }
}

void trib_rank_send_closed(struct trib_jobs *jobs, struct trib_rank *rank)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_CLOSED};
    if (rank->session) {
        jobs->output.send(jobs->output.owner, rank->session, &message);
    }
    rank->has_left = true;
    trib_rank_let_go(jobs, rank);
}

void trib_job_enter(struct trib_job *job, enum trib_job_state state)
{
    static const bool follows[TRIB_JOB_RUNNING + 1][TRIB_JOB_RUNNING + 1] = {
        [TRIB_JOB_NONE] = {[TRIB_JOB_JOINING] = true},
        [TRIB_JOB_JOINING] = {[TRIB_JOB_PLACING] = true},
        [TRIB_JOB_PLACING] = {[TRIB_JOB_STARTING] = true, [TRIB_JOB_JOINING] = true},
        [TRIB_JOB_STARTING] = {[TRIB_JOB_RUNNING] = true, [TRIB_JOB_JOINING] = true},
        [TRIB_JOB_RUNNING] = {[TRIB_JOB_JOINING] = true},
    };
    TRIB_ASSERT(follows[job->state][state]);
    TRIB_ASSERT(job->is_open == (state != TRIB_JOB_JOINING)); /* slots are there, or asked for */
    job->state = state;
}

void trib_job_close_plane(struct trib_jobs *jobs, struct trib_job *job)
{
    if (job->is_open) {
        trib_placements_shut(jobs, job);
        job->is_open = false;
    }
}

static bool has_sessions(const struct trib_job *job)
{
    bool has = false;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        has = has || job->ranks[i].session;
    }
    return has;
}

bool trib_job_is_empty(const struct trib_job *job)
{
    return !job->is_recalled && !has_sessions(job);
}

void trib_job_free(struct trib_jobs *jobs, struct trib_job *job)
{
    TRIB_ASSERT(!has_sessions(job)); /* C-7: each rank has been told why */
    trib_job_close_plane(jobs, job); /* needs the job in the tables */
    trib_loads_leave(jobs, job);
    trib_processes_leave(jobs, job);
    trib_jobs_remove(jobs, job);
    trib_owner_leave(jobs, job);
    free(job->below);
    trib_wipe(job->packet_key, sizeof job->packet_key);
    free(job);
}

void trib_job_fail(struct trib_jobs *jobs, struct trib_job *job, enum trib_status status, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = status}};
    bool goes_on = status == TRIB_ERR_SWITCH && job->meeting.len > 0; /* the others then need closed ranks as well */
    TRIB_ASSERT(status < TRIB_OK && status >= TRIB_ERR_CHECK);
    trib_explain(message.fail.text, "%s", text);
    trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s ended: %s", job->name, text);
    jobs->stats.failed[-status]++;
    /* Rank 0 last: without a switch this control plane is in the process of rank 0, which may end as soon as the
     * message arrives. */
    for (uint32_t i = job->settings.ranks; i-- > 0;) {
        struct trib_rank *rank = &job->ranks[i];
        if (rank->is_closing && !goes_on) {
            trib_rank_send_closed(jobs, rank);
        } else if (rank->session) {
            jobs->output.send(jobs->output.owner, rank->session, &message);
            trib_rank_let_go(jobs, rank);
        }
    }
    trib_job_free(jobs, job);
}

uint32_t trib_job_first_rank(const struct trib_job *job)
{
    uint32_t rank = 0;
    while (rank + 1 < job->settings.ranks && !job->ranks[rank].session) {
        rank++;
    }
    return rank;
}

bool trib_job_is_complete(const struct trib_job *job)
{
    bool all = true;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        all = all && job->ranks[i].session && !job->ranks[i].is_recalled;
    }
    return all;
}
