/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c: see pieces.h. A plan names a switch by the address for the parent, with the port of the first shard. Read
 * next: fabric/placed.h. */
#include "control/jobs/pieces.h"

#include <stdio.h>

#include "control/jobs/owner.h"
#include "fabric/placed.h"
#include "schemes/schemes.h"

static bool has_pieces(const struct trib_job *job)
{
    const struct trib_scheme *scheme = trib_scheme_find(trib_job_scheme(job));
    return scheme && scheme->has_pieces;
}

/* The model of the job that owns the communicator. NULL: no plan names the job, or the scheme has no pieces. */
static const struct trib_placed_model *find_model(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return has_pieces(job) ? trib_placed_find(jobs->config->placed, job->owner->name) : NULL;
}

struct trib_pieces trib_job_pieces(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t below)
{
    const struct trib_placed_model *model = find_model(jobs, job);
    const struct trib_remote *remote = job->below[below - 1].placement.remote;
    struct trib_pieces pieces = {.run = job->grant.train};
    if (model && remote->shards > 0) {
        pieces.own = trib_placed_at(jobs->config->placed, model, &remote->at[0]);
        pieces.count = pieces.own != 0 ? model->pieces : 0;
    }
    return pieces;
}

/* True if a switch below with ranks of the job has the address. */
static bool is_on_way(const struct trib_job *job, const struct trib_address *at)
{
    for (uint32_t b = 0; b < job->belows; b++) {
        const struct trib_remote *remote = job->below[b].placement.remote;
        if (remote->shards > 0 && trib_address_equal(&remote->at[0], at)) {
            return true;
        }
    }
    return false;
}

void trib_job_say_pieces(const struct trib_jobs *jobs, const struct trib_job *job)
{
    const struct trib_placed *placed = jobs->config->placed;
    const struct trib_placed_model *model = find_model(jobs, job);
    if (!has_pieces(job)) {
        return;
    }
    if (!model) {
        trib_jobs_say(
            jobs, TRIB_LOG_WARN,
            "job %s has scheme %s, but no plan of that scheme has its name, so no switch adds for it: see --plan",
            job->owner->name, trib_job_scheme(job));
        return;
    }
    uint64_t pieces = 0;
    for (uint32_t i = 0; i < placed->switch_count; i++) {
        const struct trib_placed_switch *it = &placed->switches[i];
        if (&placed->models[it->model] != model) {
            continue;
        }
        if (is_on_way(job, &it->at)) {
            pieces |= it->pieces;
        } else {
            trib_jobs_say(jobs, TRIB_LOG_WARN,
                          "job %s: its plan names switch %s, but no rank has come to that switch or one below it",
                          job->name, it->name);
        }
    }
    trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s: switches add %u of %u pieces, by the plan", job->name,
                  trib_count_bits(pieces), model->pieces);
}
