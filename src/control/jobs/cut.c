/* SPDX-License-Identifier: Apache-2.0 */
/* cut.c: the session of a rank has ended without a message. In clear, such an end is the death of the rank's process.
 * With a key, a host on the path may also have forged the reset or the end, since TLS does not protect TCP. So the
 * other ranks are recalled, and the rank has TRIB_CUT_NS to come back with the secret of the communicator. A rank that
 * was recalled before has the same time, with a key or without: the host may have died with a switch of the job. Read
 * next: recall.c, join.c (the way back). */
#include <stdio.h>

#include "control/jobs/cut.h"
#include "control/jobs/find.h"
#include "control/jobs/job.h"
#include "control/jobs/recall.h"
#include "control/jobs/state.h"
#include "control/roots/roots.h"
#include "io/clock.h"
#include "io/explain.h"

/* A rank that has closed cannot come back. In the process of rank 0 ranks do not come back either: the end of a session
 * may be the end of that process (comm/connect.c). */
static bool may_return(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t index)
{
    bool has_run = job->state == TRIB_JOB_RUNNING || (job->is_return && job->state != TRIB_JOB_JOINING);
    bool has_others = false;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (job->ranks[i].is_closing || job->ranks[i].has_left) {
            return false;
        }
        has_others = has_others || (i != index && job->ranks[i].session);
    }
    return job->key != 0 && has_run && has_others && job->dispute.deadline_ns == 0 &&
           !trib_roots_are_ranks(jobs->config);
}

static uint64_t usual_deadline(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job->waits_ns + jobs->config->join_timeout_ns;
}

/* All wait for rank `index`, until the deadline at the latest. */
static void expect_soon(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const char *cause,
                        uint64_t deadline_ns)
{
    (void)snprintf(job->cut_cause, sizeof job->cut_cause, "%s", cause);
    job->cut = index + 1;
    job->deadline_ns = trib_time_earlier(job->deadline_ns, deadline_ns);
    trib_job_queue(jobs, job);
}

bool trib_job_cut(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns)
{
    struct trib_job *job = session->job;
    uint32_t index = session->rank;
    char lost[sizeof job->lost];
    char name[96];
    if (!may_return(jobs, job, index)) {
        return false;
    }
    trib_job_leave_place(session);
    (void)snprintf(lost, sizeof lost, "%s: %.64s", trib_job_name_rank(job, index, name), cause);
    trib_job_recall(jobs, job, lost, now_ns);
    expect_soon(jobs, job, index, cause, now_ns + TRIB_CUT_NS);
    return true;
}

void trib_job_miss(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const char *cause, uint64_t now_ns)
{
    /* With a fallback, the end may be the way of a living rank to the meeting. */
    bool is_awaited = job->state == TRIB_JOB_JOINING && job->is_recalled && !job->settings.fallback &&
                      !job->ranks[index].has_given_up;
    bool has_usual_time = job->deadline_ns == usual_deadline(jobs, job); /* else a rank has closed, or one is cut */
    if (is_awaited && has_usual_time && now_ns + TRIB_CUT_NS < job->deadline_ns) {
        expect_soon(jobs, job, index, cause, now_ns + TRIB_CUT_NS);
    }
}

void trib_job_heal(const struct trib_jobs *jobs, struct trib_job *job, uint32_t index)
{
    if (job->cut == index + 1) {
        job->cut = 0;
        job->deadline_ns = usual_deadline(jobs, job);
    }
}

void trib_job_end_cut(struct trib_jobs *jobs, struct trib_job *job)
{
    char name[96];
    char text[TRIB_ERROR_TEXT_MAX];
    trib_explain(text, "%s is gone: %s", trib_job_name_rank(job, job->cut - 1, name), job->cut_cause);
    trib_job_fail(jobs, job, TRIB_ERR_PEER, text);
}
