/* SPDX-License-Identifier: Apache-2.0 */
/* ping.c: a waiting rank asks whether its controller still reads (control/words/ping.h). The controller then asks the
 * agents elsewhere that sum for the communicator. No rank is asked: a stopped rank is late, and not gone. Read next:
 * stall.c (which ranks are missing). */
#include "control/jobs/ping.h"
#include "control/jobs/placements.h"
#include "control/words/ping.h"

void trib_jobs_pinged(struct trib_jobs *jobs, struct trib_session *session, uint64_t now_ns)
{
    struct trib_job *job = session->job;
    uint64_t gap_ns = jobs->config->ping_gap_ns > 0 ? jobs->config->ping_gap_ns : TRIB_PING_GAP_NS;
    if (!job || job->state == TRIB_JOB_JOINING || now_ns - job->pinged_ns < gap_ns / 2) { /* however many ranks wait */
        return;
    }
    job->pinged_ns = now_ns;
    for (uint32_t i = 0; i < trib_placements_count(job); i++) {
        struct trib_remote *remote = trib_placement_number(job, i)->remote;
        if (remote && trib_remote_is_usable(remote)) {
            remote->output->ping(remote->output->owner, remote);
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
