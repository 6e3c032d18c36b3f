/* SPDX-License-Identifier: Apache-2.0 */
/* here.c: the shards of the switch around this control plane as the place where a communicator is summed (places.h): its
 * data plane is called. */
#include <stdio.h>

#include "control/jobs/places.h"
#include "control/jobs/start.h"

static enum trib_status deal(struct trib_jobs *jobs, struct trib_job *job, char *error)
{
    (void)error;
    job->ways = 1;
    job->is_elsewhere = false;
    job->grant.roots = job->is_return ? job->grant.roots : jobs->config->shards;
    return TRIB_OK;
}

static uint32_t room(const struct trib_jobs *jobs, const struct trib_job *job)
{
    (void)job;
    return jobs->config->receive_room;
}

static bool meet(const struct trib_jobs *jobs, const struct trib_job *job, const struct trib_job *but)
{
    (void)jobs;
    (void)job;
    (void)but;
    return true;
}

static enum trib_status open_slots(struct trib_jobs *jobs, struct trib_job *job, const struct trib_opening *opening,
                                   char *error)
{
    return trib_job_open_here(jobs, job, opening, NULL, 0, error);
}

/* A switch at one address says nothing: it is where the session is. */
static void name(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, struct trib_message *welcome)
{
    (void)rank;
    if (jobs->config->also.count > 0) {
        trib_job_name_shards(jobs, job, welcome);
    }
}

static void explain_way(const struct trib_job *job, char *text)
{
    (void)snprintf(text, 128, "the switch's UDP ports %u to %u", job->grant.data_port,
                   job->grant.data_port + job->grant.roots - 1);
}

static void join(struct trib_jobs *jobs, struct trib_job *job, uint32_t rank, uint64_t mark)
{
    jobs->config->plane.join(jobs->config->plane.plane, job->grant.communicator, rank, mark);
}

static uint64_t mark(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return jobs->config->plane.communicator_mark(jobs->config->plane.plane, job->grant.communicator);
}

static void multicast(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t group, uint16_t port)
{
    jobs->config->plane.multicast(jobs->config->plane.plane, job->grant.communicator, group, port);
}

static void probe(const struct trib_jobs *jobs, const struct trib_job *job)
{
    jobs->config->plane.probe_multicast(jobs->config->plane.plane, job->grant.communicator, job->grant.group,
                                        job->grant.group_port);
}

static uint32_t missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint16_t *ranks, uint32_t max)
{
    return jobs->config->plane.missing(jobs->config->plane.plane, job->grant.communicator, sequence, ranks, max);
}

static bool report(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_plane_report *out)
{
    return jobs->config->plane.report(jobs->config->plane.plane, job->grant.communicator, out);
}

const struct trib_places trib_places_here = {
    .sockets = "this switch",
    .owner = "the switch",
    .deal = deal,
    .room = room,
    .meet = meet,
    .open = open_slots,
    .name = name,
    .explain_way = explain_way,
    .join = join,
    .mark = mark,
    .multicast = multicast,
    .probe = probe,
    .missing = missing,
    .report = report,
};
