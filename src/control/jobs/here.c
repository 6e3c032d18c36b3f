/* SPDX-License-Identifier: Apache-2.0 */
/* here.c: all roots of a job are the shards of the switch around this control plane (struct trib_dealer, places.h). */
#include "control/jobs/here.h"
#include "control/jobs/placements.h"
#include "control/jobs/places.h"

static enum trib_status deal(struct trib_jobs *jobs, struct trib_job *job, char *error)
{
    (void)error;
    job->ways = 1;
    job->grant.roots = job->is_return ? job->grant.roots : jobs->config->shards;
    trib_placements_all_here(job);
    return TRIB_OK;
}

const struct trib_dealer trib_dealer_here = {
    .sockets = "this switch",
    .owner = "the switch",
    .is_one_switch = true,
    .deal = deal,
};
