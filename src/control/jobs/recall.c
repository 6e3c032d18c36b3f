/* SPDX-License-Identifier: Apache-2.0 */
/* recall.c: the end of an incarnation: an agent or a switch is lost, and all ranks have to come back. A rank with an
 * open session gets RECALL, keeps its place, and answers with JOIN on the same session. All earlier messages of the
 * rank are dropped. Read next: join.c (how ranks come back). */
#include <stdio.h>
#include <string.h>

#include "control/jobs/check.h"
#include "control/jobs/dispute.h"
#include "control/jobs/find.h"
#include "control/jobs/job.h"
#include "control/jobs/opening.h"
#include "control/jobs/recall.h"
#include "control/jobs/state.h"
#include "control/roots/loads.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/units.h"

#define LEFT_NS (2 * TRIB_SECOND_NS)

/* A rank that has closed and left cannot come back, so results missing at other ranks cannot be recomputed. Ranks with
 * all results get time to close as well. A rank that waits for CLOSED also leaves soon. job->lost names the ranks that
 * have sent CLOSE. */
static uint64_t time_to_return(const struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_rank_list closed = {0};
    char ranks[96];
    bool has_left = false;
    uint64_t mark = 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->is_closing) {
            trib_rank_list_add(&closed, i);
            mark = rank->mark > mark ? rank->mark : mark;
            has_left = has_left || rank->has_left;
        }
    }
    if (closed.count > 0) {
        size_t len = strlen(job->lost);
        trib_format_ranks(closed.rank, trib_rank_list_carried(&closed), closed.count, ranks, sizeof ranks);
        (void)snprintf(job->lost + len, sizeof job->lost - len, ", after %s had closed at sequence %llu", ranks,
                       (unsigned long long)mark);
    }
    return has_left && LEFT_NS < jobs->config->join_timeout_ns ? LEFT_NS : jobs->config->join_timeout_ns;
}

/* Keeps the rank's name, the session, if any, and the address of the process, which may be in other jobs. */
static void forget(struct trib_rank *rank)
{
    const struct trib_rank was = *rank;
    memset(rank, 0, sizeof *rank);
    rank->session = was.session;
    memcpy(rank->name, was.name, sizeof rank->name);
    rank->via = was.via;
    rank->seat = was.seat;
    rank->address = trib_rank_place(&was, 0);
    rank->data_port[0] = was.data_port[0];
}

static void call_back(struct trib_jobs *jobs, const struct trib_job *job, struct trib_rank *rank)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_RECALL, .recall = {.boot = job->grant.boot}};
    bool stands = rank->session != NULL;
    if (stands) {
        trib_explain(message.recall.text, "%s", job->lost);
        jobs->output.send(jobs->output.owner, rank->session, &message);
    }
    forget(rank);
    rank->is_recalled = stands;
}

bool trib_job_drops(struct trib_jobs *jobs, const struct trib_session *session, const struct trib_message *message)
{
    bool is_heard = message->kind == TRIB_MESSAGE_JOIN || message->kind == TRIB_MESSAGE_ABORT;
    bool is_stale = session->job->ranks[session->rank].is_recalled && !is_heard;
    jobs->stats.stale += is_stale;
    return is_stale;
}

void trib_job_leave_place(struct trib_session *session)
{
    struct trib_rank *rank = &session->job->ranks[session->rank];
    rank->session = NULL;
    rank->is_recalled = false;
    session->job = NULL;
}

void trib_job_recall(struct trib_jobs *jobs, struct trib_job *job, const char *lost, uint64_t now_ns)
{
    if (job->dispute.deadline_ns != 0 && !job->dispute.is_question) {
        trib_job_end_dispute(jobs, job);
        return;
    }
    (void)snprintf(job->lost, sizeof job->lost, "%s", lost);
    job->deadline_ns = now_ns + time_to_return(jobs, job);
    trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s: %s: all ranks have to come back", job->name, lost);
    trib_job_close_plane(jobs, job);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        call_back(jobs, job, &job->ranks[i]);
    }
    jobs->stats.recalled++;
    trib_job_enter(job, TRIB_JOB_JOINING);
    job->is_return = true;
    job->is_recalled = true;
    job->children = 0;
    job->waits_ns = now_ns;
    job->probe_ns = TRIB_NEVER;
    job->mark = 0;
    job->marks_ns = TRIB_NEVER;
    job->stall_logged_ns = 0;
    trib_loads_change(jobs, job);
    trib_job_queue(jobs, job);
    trib_job_check(jobs, job);
}
