/* SPDX-License-Identifier: Apache-2.0 */
/* ping.c: a rank that waits asks its switch whether it still reads (control/words/ping.h). So a switch asks those that
 * it needs for that rank: a relay its parent, a root its relays and agents. A rank is not asked: one that is stopped is
 * late, and not gone. Read next: stall.c (who is waited for). */
#include "control/words/ping.h"
#include "control/jobs/jobs.h"
#include "control/relay/relay.h"

/* Each relay once, on the session of a rank that it has to hand on to. */
static void ping_relays(struct trib_jobs *jobs, const struct trib_job *job)
{
    struct trib_rank_set seen = {0};
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        bool is_relay = rank->via != 0 && rank->session && !rank->is_closing && rank->branch < TRIB_RANKS_MAX;
        if (is_relay && !trib_rank_set_has(&seen, rank->branch)) {
            trib_rank_set_add(&seen, rank->branch);
            jobs->output.ping(jobs->output.owner, rank->session);
        }
    }
}

void trib_jobs_pinged(struct trib_jobs *jobs, struct trib_session *session, uint64_t now_ns)
{
    struct trib_job *job = session->job;
    if (session->link) {
        trib_relay_pinged(jobs, session->link);
    }
    uint64_t gap_ns = jobs->config->ping_gap_ns > 0 ? jobs->config->ping_gap_ns : TRIB_PING_GAP_NS;
    if (!job || job->state == TRIB_JOB_JOINING || now_ns - job->pinged_ns < gap_ns / 2) { /* however many ranks wait */
        return;
    }
    job->pinged_ns = now_ns;
    ping_relays(jobs, job);
    for (uint32_t i = 0; i < job->placements; i++) {
        struct trib_remote *remote = job->placement[i].remote;
        if (remote && trib_remote_is_usable(remote)) {
            jobs->remotes.ping(jobs->remotes.owner, remote);
        }
    }
}

void trib_jobs_ping(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                    uint64_t now_ns)
{
    const struct trib_message answer = {.kind = TRIB_MESSAGE_PONG, .ping = message->ping};
    if (message->kind == TRIB_MESSAGE_PING) {
        jobs->output.send(jobs->output.owner, session, &answer);
        trib_jobs_pinged(jobs, session, now_ns);
    }
}
