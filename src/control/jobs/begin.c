/* SPDX-License-Identifier: Apache-2.0 */
/* begin.c: limits of the jobs begun by one address, or by the ranks of one key. A JOIN of a hundred bytes takes one of
 * few jobs, and the job keeps a place for each rank in the JOIN's rank count. Read next: join.c (the caller). */
#include <inttypes.h>
#include <stdio.h>

#include "control/jobs/begin.h"
#include "control/jobs/owner.h"
#include "control/jobs/state.h"
#include "control/roots/roots.h"
#include "io/explain.h"
#include "io/units.h"

/* Jobs of one address, or of one key. */
struct share {
    char kind[16];       /* "address" */
    char name[96];       /* "the address of 10.0.0.1:7470" */
    uint64_t most_bytes; /* limit for gathering jobs */
    uint64_t bytes;
    uint32_t count; /* of all jobs */
};

size_t trib_job_size(uint32_t ranks)
{
    return sizeof(struct trib_job) + ranks * (sizeof(struct trib_rank) + sizeof(struct trib_process));
}

static uint64_t bytes_of(uint32_t ranks)
{
    return sizeof(struct trib_owner) + trib_job_size(ranks);
}

static void count(struct share *share, const struct trib_job *job)
{
    bool gathers = job->state == TRIB_JOB_JOINING && !job->is_recalled;
    share->bytes += gathers ? bytes_of(job->settings.ranks) : 0;
    share->count++;
}

static bool has_room(const struct share *share, uint32_t ranks, char *error)
{
    char sizes[3][TRIB_UNITS_TEXT_MAX];
    if (share->count >= TRIB_JOBS_NEAR_MAX) {
        trib_explain(error,
                     "the switch answers, and its limit is reached: %s has begun %u jobs, and one %s may have so many "
                     "of the %d of this switch: come again when some of them have ended",
                     share->name, share->count, share->kind, TRIB_JOBS_MAX);
        return false;
    }
    if (share->bytes + bytes_of(ranks) > share->most_bytes) {
        trib_format_size(bytes_of(ranks), sizes[0]);
        trib_format_size(share->most_bytes, sizes[1]);
        trib_format_size(share->bytes, sizes[2]);
        trib_explain(error,
                     "a job of %u ranks needs %s of this control plane until they are all there, and one %s may have "
                     "%s for such jobs; those from %s hold %s: come again when some of them run",
                     ranks, sizes[0], share->kind, sizes[1], share->name, sizes[2]);
        return false;
    }
    return true;
}

bool trib_job_may_begin(const struct trib_jobs *jobs, const struct trib_address *from, const struct trib_message *join,
                        char *error)
{
    struct share near = {.kind = "address", .most_bytes = TRIB_GATHERING_MAX};
    struct share tenant = {.kind = "key", .most_bytes = TRIB_GATHERING_TENANT_MAX};
    char at[64];
    bool is_own = trib_roots_are_ranks(jobs->config); /* in the process of rank 0, all jobs are of one program */
    uint64_t key = is_own ? 0 : join->join.key;
    trib_address_format(from, at);
    (void)snprintf(near.name, sizeof near.name, "the address of %s", at);
    (void)snprintf(tenant.name, sizeof tenant.name, "key %016" PRIx64, key);
    for (const struct trib_job *job = jobs->first; job; job = job->next) {
        if (trib_address_near(&job->founder) == trib_address_near(from)) {
            count(&near, job);
        }
        if (key != 0 && job->key == key) {
            count(&tenant, job);
        }
    }
    near.count = is_own ? 0 : near.count;
    return has_room(&near, join->join.settings.ranks, error) && has_room(&tenant, join->join.settings.ranks, error);
}
