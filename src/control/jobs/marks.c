/* SPDX-License-Identifier: Apache-2.0 */
/* marks.c: the marks of ranks go to the data plane, M comes back, and a rank that has sent CLOSE leaves when M has
 * reached the rank's mark. Read next: jobs.c (the caller). */
#include <string.h>

#include "control/jobs/find.h"
#include "control/jobs/job.h"
#include "control/jobs/marks.h"
#include "control/jobs/placements.h"
#include "control/jobs/places.h"
#include "control/roots/roots.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/explain.h"

#define MARKS_GAP_FIRST_NS (5 * TRIB_MILLISECOND_NS)
#define MARKS_GAP_MAX_NS (100 * TRIB_MILLISECOND_NS)

bool trib_job_close_if_all(struct trib_jobs *jobs, struct trib_job *job)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (!job->ranks[i].is_closing) {
            return false;
        }
    }
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        trib_rank_send_closed(jobs, &job->ranks[i]);
    }
    trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s (communicator %08x) closed", job->name, job->grant.communicator);
    jobs->stats.closed++;
    trib_job_free(jobs, job);
    return true;
}

static void send_mark(struct trib_jobs *jobs, struct trib_rank *rank, uint64_t mark)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_MARK, .mark = {.mark = mark}};
    TRIB_ASSERT(mark >= rank->told); /* C-11: M never falls within a boot */
    rank->told = mark;
    trib_rank_tell(jobs, rank, &message);
}

/* After one rank has left, only operations that all ranks have finished can ever end. If ranks are the roots, the
 * communicator then needs neither ranks nor this control plane, which may end with a rank's process. So an idle rank
 * has lost nothing. */
static void tell_over(struct trib_jobs *jobs, struct trib_job *job, uint64_t mark)
{
    char name[96];
    uint32_t left = 0;
    struct trib_message message = {.kind = TRIB_MESSAGE_GONE};
    while (left < job->settings.ranks && !(job->ranks[left].has_left && mark >= job->ranks[left].mark)) {
        left++;
    }
    if (job->is_over || left == job->settings.ranks) {
        return;
    }
    job->is_over = true;
    trib_explain(message.note.text, "%s has closed the communicator", trib_job_name_rank(job, left, name));
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        trib_rank_tell(jobs, &job->ranks[i], &message);
    }
}

static void wait_longer(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    uint64_t gap_ns = 2 * job->marks_gap_ns;
    gap_ns = gap_ns > MARKS_GAP_FIRST_NS ? gap_ns : MARKS_GAP_FIRST_NS; /* no mark has come since READY */
    job->marks_gap_ns = gap_ns < MARKS_GAP_MAX_NS ? gap_ns : MARKS_GAP_MAX_NS;
    job->marks_ns = now_ns + job->marks_gap_ns;
    trib_job_queue(jobs, job);
}

void trib_job_update_marks(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    bool waiting = false;
    if (job->state !=
        TRIB_JOB_RUNNING) { /* READY carries M, and waits for the REGISTER or the root of a leaving rank */
        return;
    }
    uint64_t mark = trib_job_places(jobs, job)->mark(jobs, job);
    job->mark = mark;
    trib_placements_tell_mark(jobs, job, mark, false);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        struct trib_rank *rank = &job->ranks[i];
        if (rank->session && rank->is_registered && rank->mark > rank->told && mark > rank->told) {
            send_mark(jobs, rank, mark);
        }
        if (rank->session && rank->is_closing && mark >= rank->mark) {
            trib_rank_send_closed(jobs, rank);
        }
        waiting = waiting || (rank->session && rank->mark > rank->told);
    }
    if (trib_roots_are_ranks(jobs->config)) {
        tell_over(jobs, job, mark);
    }
    if (!waiting) {
        job->marks_ns = TRIB_NEVER;
        return;
    }
    wait_longer(jobs, job, now_ns);
}

/* If M has not risen, no rank needs the same M again: each later mark has been answered. At the longest gap, ranks that
 * wait no longer are noticed. If ranks are roots, GONE is sent as well (tell_over). */
void trib_job_look_at_marks(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    bool may_wait = job->marks_gap_ns < MARKS_GAP_MAX_NS && !trib_roots_are_ranks(jobs->config);
    if (may_wait && job->state == TRIB_JOB_RUNNING && trib_job_places(jobs, job)->mark(jobs, job) <= job->mark) {
        wait_longer(jobs, job, now_ns);
    } else {
        trib_job_update_marks(jobs, job, now_ns);
    }
}

void trib_job_await_closed(struct trib_jobs *jobs, struct trib_job *job, struct trib_session *session, uint32_t index,
                           uint64_t now_ns)
{
    struct trib_rank *rank = &job->ranks[index];
    trib_rank_let_go(jobs, rank);
    rank->session = session;
    rank->is_outside = true;
    session->job = job;
    session->rank = index;
    if (rank->has_left) {
        trib_rank_send_closed(jobs, rank);
    } else {
        job->marks_gap_ns = MARKS_GAP_FIRST_NS;
        trib_job_update_marks(jobs, job, now_ns);
    }
}

void trib_job_tell_places(struct trib_jobs *jobs, struct trib_job *job, uint32_t index)
{
    TRIB_ASSERT(job->ranks[index].mark <= TRIB_SEQUENCE_MAX); /* I3 */
    trib_placements_join(jobs, job, index, job->ranks[index].mark);
}

bool trib_job_take_mark(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark)
{
    struct trib_rank *rank = &job->ranks[index];
    if (mark > TRIB_SEQUENCE_MAX) {
        return false;
    }
    rank->mark = mark > rank->mark ? mark : rank->mark;
    trib_job_tell_places(jobs, job, index);
    mark = trib_job_places(jobs, job)->mark(jobs, job);
    trib_placements_tell_mark(jobs, job, mark, false);
    send_mark(jobs, rank, mark);
    job->marks_gap_ns = MARKS_GAP_FIRST_NS;
    return true;
}
