/* SPDX-License-Identifier: Apache-2.0 */
/* meeting.c: where the ranks of a job meet if the switch is gone for good (settings.fallback): at rank 0, whose process
 * listens from the start, at a port that its JOIN has named. All hear of it in WELCOME, while there is a switch to ask.
 * Read next: roots.c (the roots there). */
#include "control/jobs/jobs.h"
#include "control/roots/roots.h"

/* Where this control plane, or the switch that rank 0 is at, is reached by others. */
static const struct trib_address *address_outside(const struct trib_job *job)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->session && rank->session->local.len > 0 && !trib_address_is_loopback(&rank->address)) {
            return &rank->session->local;
        }
    }
    return NULL;
}

/* As its session is seen. Who runs on a switch's machine may have come by a loopback address: it is where others find
 * that switch. */
static bool find_rank_0(const struct trib_job *job, struct trib_address *address)
{
    const struct trib_rank *rank = &job->ranks[0];
    *address = rank->address;
    if (trib_address_is_loopback(address) && rank->session->leaf) { /* beside the switch that it came to */
        *address = rank->session->leaf->peer;
    }
    const struct trib_address *outside = address_outside(job);
    if (trib_address_is_loopback(address) && outside) {
        *address = *outside;
    }
    return trib_address_is_known_everywhere(address);
}

void trib_job_choose_meeting(const struct trib_jobs *jobs, struct trib_job *job)
{
    job->meeting = (struct trib_address){.len = 0};
    if (!job->settings.fallback || job->ranks[0].meet_port == 0 || trib_roots_are_ranks(jobs->config) ||
        !find_rank_0(job, &job->meeting)) {
        job->meeting.len = 0;
        return;
    }
    trib_address_set_port(&job->meeting, job->ranks[0].meet_port);
}
