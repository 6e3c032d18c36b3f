/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.c: level 0 in the control plane: finds the ranks of one host. The host sums its ranks, and one rank, the
 * leader, sends. The ranks of a host are consecutive, so the set of leaders describes all hosts. Read next: opening.c
 * (hosts as children), comm/level0.h (the ranks' side). */
#include "control/jobs/hosts.h"
#include "control/jobs/state.h"
#include "schemes/schemes.h"

/* True if a run of ranks begins at `rank`. */
static bool begins(const struct trib_job *job, uint32_t rank)
{
    return rank == 0 || job->ranks[rank].host != job->ranks[rank - 1].host;
}

/* True if the host of `rank` already had ranks before `rank`. */
static bool has_come_before(const struct trib_job *job, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (job->ranks[i].host == job->ranks[rank].host) {
            return true;
        }
    }
    return false;
}

/* Shares of a host's ranks must lie side by side, and so must the sums of a host's contributions. Not possible for
 * workers that send to each other, which know ranks, and for a quorum, which counts ranks. */
static bool may_be_hosts(const struct trib_job *job)
{
    const struct trib_scheme *scheme = trib_scheme_find(trib_job_scheme(job));
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (!rank->wants_level0 || rank->host == 0 || (begins(job, i) && has_come_before(job, i))) {
            return false;
        }
    }
    return scheme && scheme->switch_node && !trib_scheme_names_quorum(trib_job_scheme(job));
}

void trib_job_choose_hosts(struct trib_job *job)
{
    job->hosts = 0;
    job->leaders = (struct trib_rank_set){0};
    if (!may_be_hosts(job)) {
        return;
    }
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (begins(job, i)) {
            trib_rank_set_add(&job->leaders, i);
            job->hosts++;
        }
    }
    if (job->hosts == job->settings.ranks) { /* each alone: as ever */
        job->hosts = 0;
        job->leaders = (struct trib_rank_set){0};
    }
}

uint32_t trib_job_leader(const struct trib_job *job, uint32_t rank)
{
    while (!trib_job_leads(job, rank)) { /* rank 0 does */
        rank--;
    }
    return rank;
}

bool trib_job_share_host(const struct trib_job *job, uint32_t rank, const uint32_t two[2])
{
    uint32_t leader = trib_job_leader(job, rank);
    return job->hosts != 0 && two[0] != two[1] && two[0] < job->settings.ranks && two[1] < job->settings.ranks &&
           trib_job_leader(job, two[0]) == leader && trib_job_leader(job, two[1]) == leader;
}
