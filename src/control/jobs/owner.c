/* SPDX-License-Identifier: Apache-2.0 */
/* owner.c: see owner.h. */
#include "control/jobs/owner.h"

#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "io/explain.h"

bool trib_name_is_good(const char *name)
{
    return name[0] != '\0' && trib_is_plain(name);
}

uint64_t trib_join_job_token(const struct trib_message *join)
{
    return join->join.known.communicator != 0 ? join->join.known.job_token : join->join.maker.job_token;
}

bool trib_maker_check(const struct trib_message *join, char *error)
{
    const struct trib_maker *maker = &join->join.maker;
    const struct trib_grant *known = &join->join.known;
    bool has_two = known->communicator != 0 && known->job_token != maker->job_token;
    if (maker->communicator == 0) {
        return true;
    }
    if (!trib_name_is_good(maker->job)) {
        trib_explain(error,
                     "maker's job: a job name is 1 to %d printable ASCII characters without quotes and backslashes",
                     TRIB_NAME_MAX);
        return false;
    }
    if (maker->job_token == 0 || has_two) {
        trib_explain(error, "job token: rank %u brings %s", join->join.rank, maker->job_token == 0 ? "none" : "two");
        return false;
    }
    return true;
}

bool trib_owner_allows(const struct trib_job *job, const struct trib_message *join)
{
    bool is_derived = job->maker != 0 || join->join.maker.communicator != 0;
    return !is_derived || trib_join_job_token(join) == job->owner->token;
}

static struct trib_owner *find(const struct trib_jobs *jobs, uint64_t token)
{
    struct trib_owner *owner = jobs->owners;
    while (owner && owner->token != token) {
        owner = owner->next;
    }
    return owner;
}

static struct trib_owner *create(struct trib_jobs *jobs, const struct trib_message *join, uint64_t token)
{
    struct trib_owner *owner = calloc(1, sizeof *owner);
    bool is_derived = join->join.maker.communicator != 0;
    if (!owner) {
        return NULL;
    }
    memcpy(owner->name, is_derived ? join->join.maker.job : join->join.job, sizeof owner->name);
    memcpy(owner->run, join->join.run, sizeof owner->run);
    owner->token = token;
    owner->id = (uint64_t)jobs->config->boot << 32 | ++jobs->owners_begun;
    owner->next = jobs->owners;
    jobs->owners = owner;
    return owner;
}

bool trib_owner_adopt(struct trib_jobs *jobs, struct trib_job *job, const struct trib_message *join, uint64_t token)
{
    struct trib_owner *owner = token != 0 ? find(jobs, token) : NULL;
    if (owner && owner == job->owner) {
        return true;
    }
    owner = owner ? owner : create(jobs, join, token);
    if (!owner) {
        return false;
    }
    if (job->owner) {
        trib_owner_leave(jobs, job);
    }
    job->owner = owner;
    job->next_owned = owner->first;
    owner->first = job;
    job->here.job_id = owner->id;
    return true;
}

uint32_t trib_owners_count(const struct trib_jobs *jobs)
{
    uint32_t count = 0;
    for (const struct trib_owner *owner = jobs->owners; owner; owner = owner->next) {
        count++;
    }
    return count;
}

/* C-19: no open slots here belong to an ended job. */
static bool has_slots(const struct trib_jobs *jobs, const struct trib_owner *owner)
{
    const struct trib_agent_opening *at = jobs->agent.first;
    while (at && (at->master || at->job_id != owner->id)) {
        at = at->next;
    }
    return at != NULL;
}

void trib_owner_leave(struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_owner *owner = job->owner;
    struct trib_job **link = &owner->first;
    TRIB_ASSERT(!job->here.is_open);
    while (*link != job) {
        link = &(*link)->next_owned;
    }
    *link = job->next_owned;
    job->owner = NULL;
    if (owner->first) {
        return;
    }
    TRIB_ASSERT(!has_slots(jobs, owner)); /* C-19 */
    struct trib_owner **at = &jobs->owners;
    while (*at != owner) {
        at = &(*at)->next;
    }
    *at = owner->next;
    free(owner);
}
