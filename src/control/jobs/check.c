/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: invariants of the control plane's data between two events, on which other files may rely: the fields set in
 * each state, counts that fit the lists, and pointers that lead back. A job is checked at WELCOME, at READY, and at
 * RECALL. Tests check all data after each event. Read next: state.h (the fields). */
#include "control/jobs/check.h"
#include "control/jobs/find.h"
#include "control/jobs/job.h"
#include "control/jobs/opening.h"
#include "control/jobs/owner.h"
#include "control/jobs/placements.h"
#include "control/roots/loads.h"
#include "control/roots/processes.h"
#include "core/assert.h"
#include "io/clock.h"

/* Both ends know each other. */
static void check_session(const struct trib_job *job, uint32_t index)
{
    const struct trib_session *session = job->ranks[index].session;
    TRIB_ASSERT(!session->master && session->job == job && session->rank == index);
}

static void check_rank(const struct trib_job *job, uint32_t index)
{
    const struct trib_rank *rank = &job->ranks[index];
    if (rank->session) {
        check_session(job, index);
        TRIB_ASSERT(rank->name[0] != '\0' && rank->address.len > 0);
        TRIB_ASSERT(!rank->has_left);
    }
    TRIB_ASSERT(!rank->is_recalled || (rank->session && job->is_recalled && job->state == TRIB_JOB_JOINING));
    TRIB_ASSERT(rank->mark <= TRIB_SEQUENCE_MAX); /* I3 */
    TRIB_ASSERT(!rank->has_left || rank->is_closing);
    TRIB_ASSERT(!rank->is_outside || (rank->is_closing && job->state != TRIB_JOB_JOINING));
    TRIB_ASSERT(!rank->is_registered || job->is_open); /* C-3 */
    TRIB_ASSERT(!rank->was_ready || !rank->is_new);
    TRIB_ASSERT(!rank->has_multicast || rank->wants_multicast);
    TRIB_ASSERT(!rank->stall.is_open || rank->stall.at_ns != 0);
    TRIB_ASSERT(!job->is_open || rank->known_boot != job->grant.boot); /* C-6 */
    TRIB_ASSERT(rank->below <= job->belows && (rank->below == 0 || job->is_open));
}

/* C-5: the children partition the ranks, in the order of lowest ranks. */
static void check_children(const struct trib_job *job)
{
    uint32_t children = 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        TRIB_ASSERT(rank->branch <= children);
        children += rank->branch == children;
    }
    TRIB_ASSERT(children == job->children);
}

/* Hosts are runs of ranks; the first rank of a run is the leader. */
static void check_hosts(const struct trib_job *job)
{
    uint32_t leaders = 0;
    for (uint32_t i = 0; i < TRIB_RANKS_MAX; i++) {
        bool leads = trib_rank_set_has(&job->leaders, i);
        TRIB_ASSERT(!leads || i < job->settings.ranks);
        leaders += leads;
    }
    TRIB_ASSERT(leaders == job->hosts && job->hosts < job->settings.ranks);
    TRIB_ASSERT(job->hosts == 0 || trib_rank_set_has(&job->leaders, 0));
}

/* The grant, from WELCOME on. */
static void check_grant(const struct trib_job *job)
{
    const struct trib_grant *grant = &job->grant;
    TRIB_ASSERT(grant->communicator != 0 && grant->boot != 0 && grant->generation != 0);
    TRIB_ASSERT(grant->roots >= 1 && grant->roots <= TRIB_ROOTS_MAX);
    TRIB_ASSERT(grant->window >= 1 && grant->window <= grant->slots && grant->slots <= TRIB_SLOTS_MAX);
    TRIB_ASSERT(grant->train >= 1 && grant->train <= TRIB_TRAIN_PACKETS_MAX);
    TRIB_ASSERT(job->children >= 1 && job->children <= job->settings.ranks);
    TRIB_ASSERT(!job->multicast || grant->group != 0);
    TRIB_ASSERT(grant->job_token != 0 && grant->job_token == job->owner->token); /* C-1 */
}

/* Each agent has a root, and each root an agent. Agents of open placements are usable. */
static void check_placements(const struct trib_job *job)
{
    uint64_t rooted = 0;
    for (uint32_t t = 0; job->is_open && job->placements > 0 && t < job->grant.roots; t++) {
        TRIB_ASSERT(job->root[t].placement < job->placements);
        rooted |= UINT64_C(1) << job->root[t].placement;
    }
    TRIB_ASSERT(!job->is_open || rooted == (UINT64_C(1) << job->placements) - 1);
    TRIB_ASSERT(!job->is_open || job->has_peers == (job->placements == 0));
    TRIB_ASSERT(!job->is_open || job->here.is_open == trib_placements_are_here(job)); /* C-2 */
    for (uint32_t i = 0; job->is_open && i < job->placements; i++) {
        const struct trib_placement *placement = &job->placement[i];
        const struct trib_remote *remote = placement->remote;
        TRIB_ASSERT((remote != NULL) == (placement->carrier == TRIB_CARRIER_REMOTE));
        TRIB_ASSERT(!remote || trib_remote_is_usable(remote)); /* C-8 */
        if (placement->carrier == TRIB_CARRIER_RANK) {
            const struct trib_rank *rank = &job->ranks[placement->rank];
            TRIB_ASSERT(placement->rank < job->settings.ranks && (rank->session || rank->has_left)); /* C-9, C-12 */
        }
        TRIB_ASSERT(job->state != TRIB_JOB_RUNNING || placement->is_ready || placement->carrier == TRIB_CARRIER_CALL);
    }
}

static bool has_ranks(const struct trib_job *job, uint32_t below, uint32_t root)
{
    bool has = false;
    for (uint32_t i = 0; i < job->settings.ranks && !has; i++) {
        has = trib_job_is_behind(job, i, below, root);
    }
    return has;
}

/* True if the way from the switch leads to the root. */
static bool has_end(const struct trib_job *job, uint32_t below, uint32_t root)
{
    uint32_t hops = 0;
    for (uint32_t at = below; at != 0 && hops <= job->belows; at = job->below[at - 1].parent[root]) {
        hops++;
    }
    return hops <= job->belows;
}

/* Each switch below has ranks, and a way to each root. */
static void check_below(const struct trib_job *job)
{
    TRIB_ASSERT(job->is_open || job->belows == 0);
    for (uint32_t b = 0; b < job->belows; b++) {
        const struct trib_inner *inner = &job->below[b];
        const struct trib_remote *remote = inner->placement.remote;
        for (uint32_t t = 0; t < trib_job_shapes(job); t++) {
            TRIB_ASSERT(has_end(job, b + 1, t) && has_ranks(job, b + 1, t));
        }
        TRIB_ASSERT(inner->children >= 1);
        TRIB_ASSERT(!remote || (remote->is_below && trib_remote_is_usable(remote))); /* C-8 */
        TRIB_ASSERT(job->state != TRIB_JOB_RUNNING || !remote || inner->placement.is_ready);
    }
}

/* Each waiting job has a time for the next check (C-13). */
static void check_times(const struct trib_job *job)
{
    bool waits = false;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        waits = waits || (rank->session && (rank->is_closing || rank->mark > rank->told));
        TRIB_ASSERT(rank->is_registered || job->state != TRIB_JOB_RUNNING);
    }
    TRIB_ASSERT((job->deadline_ns == TRIB_NEVER) == (job->state == TRIB_JOB_RUNNING));
    TRIB_ASSERT(job->state != TRIB_JOB_RUNNING || (job->was_running && job->probe_ns == TRIB_NEVER));
    TRIB_ASSERT(job->state != TRIB_JOB_RUNNING || !waits || job->marks_ns != TRIB_NEVER);
    TRIB_ASSERT(job->state == TRIB_JOB_RUNNING || job->marks_ns == TRIB_NEVER);
}

void trib_job_check(const struct trib_jobs *jobs, const struct trib_job *job)
{
    TRIB_ASSERT(job->state > TRIB_JOB_NONE && job->state <= TRIB_JOB_RUNNING);
    TRIB_ASSERT(job->is_open == (job->state != TRIB_JOB_JOINING));
    TRIB_ASSERT(job->name[0] != '\0' && job->settings.ranks >= 1 && job->settings.ranks <= TRIB_RANKS_MAX);
    TRIB_ASSERT(!job->is_recalled || job->is_return);
    /* C-7 */
    TRIB_ASSERT(job->cut == 0 ||
                (job->is_recalled && job->state == TRIB_JOB_JOINING && !job->ranks[job->cut - 1].session));
    TRIB_ASSERT(!job->is_return || job->grant.communicator != 0);
    TRIB_ASSERT(!job->is_ring || job->has_peers);
    TRIB_ASSERT(job->is_open || !job->here.is_open);
    TRIB_ASSERT(!job->here.is_open || job->here.communicator == job->grant.communicator);     /* C-2 */
    TRIB_ASSERT(job->owner && job->here.job_id == job->owner->id);                            /* C-1 */
    TRIB_ASSERT(jobs->queue[job->queue_at] == job && job->queue_ns <= trib_job_timeout(job)); /* C-13, C-22 */
    if (job->dispute.deadline_ns != 0) {
        TRIB_ASSERT(job->dispute.rank[0] <= job->dispute.rank[1] && job->dispute.rank[1] < job->settings.ranks);
    }
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        check_rank(job, i);
    }
    check_hosts(job);
    check_placements(job);
    check_below(job);
    for (uint32_t i = 0; job->is_open && i < job->settings.ranks; i++) {
        /* the rank's switch has so many roots */
        TRIB_ASSERT(job->ranks[i].roots == 0 || job->grant.roots <= job->ranks[i].roots);
    }
    if (job->is_open) {
        check_grant(job);
        check_children(job);
    }
    check_times(job);
}

/* Each master has a separate session, and all openings of the master are listed. */
static void check_masters(const struct trib_jobs *jobs)
{
    for (const struct trib_master *master = jobs->masters.first; master; master = master->next) {
        TRIB_ASSERT(!master->session || (master->session->master == master && !master->session->job));
    }
    for (const struct trib_lending *lending = jobs->masters.lendings; lending; lending = lending->next) {
        TRIB_ASSERT(trib_root_is_open(&lending->root) == lending->root.opening.is_open);
        TRIB_ASSERT(trib_masters_find(&jobs->masters, lending->communicator) == lending); /* C-22 */
    }
}

/* One session with each, and no two with one process (C-17). */
static void check_remotes(const struct trib_jobs *jobs)
{
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        const struct trib_remote *remote = &jobs->remote[i];
        TRIB_ASSERT(!trib_remote_is_usable(remote) || remote->shards > 0);
        for (uint32_t k = 0; k < i; k++) {
            const struct trib_remote *other = &jobs->remote[k];
            TRIB_ASSERT(!trib_remote_is_usable(remote) || !trib_remote_is_usable(other) || remote->life != other->life);
        }
    }
}

/* No slots outlive a communicator: slots of a local communicator belong to an existing job. */
static bool has_owner(const struct trib_jobs *jobs, const struct trib_agent_opening *opening)
{
    const struct trib_owner *owner = jobs->owners;
    const struct trib_lending *lending = jobs->masters.lendings;
    while (owner && owner->id != opening->job_id) {
        owner = owner->next;
    }
    while (lending && &lending->root.opening != opening) {
        lending = lending->next;
    }
    return owner || lending;
}

/* The agent's count equals the bytes of all openings, and a communicator has one opening at most. */
static void check_agent(const struct trib_jobs *jobs)
{
    const struct trib_agent *agent = &jobs->agent;
    uint64_t bytes = 0;
    for (const struct trib_agent_opening *one = agent->first; one; one = one->next) {
        TRIB_ASSERT(one->is_open && one->communicator != 0);
        TRIB_ASSERT(one->bytes + trib_agent_others_of_job(agent, one) <= agent->job_quota); /* C-14 */
        TRIB_ASSERT(one->tenant == 0 ||
                    trib_agent_held_by_tenant(agent, one->tenant) <= agent->tenant_quota); /* C-14 */
        TRIB_ASSERT(has_owner(jobs, one));                                                 /* C-19 */
        for (const struct trib_agent_opening *two = one->next; two; two = two->next) {
            TRIB_ASSERT(two->communicator != one->communicator);
        }
        bytes += one->bytes;
    }
    TRIB_ASSERT(bytes == agent->memory_used); /* C-14 */
}

/* Each job has communicators, each communicator one job, and no two jobs have one token. Returns how many communicators
 * there are. */
static uint32_t check_owners(const struct trib_jobs *jobs)
{
    uint32_t count = 0;
    for (const struct trib_owner *owner = jobs->owners; owner; owner = owner->next) {
        TRIB_ASSERT(owner->first && owner->id != 0); /* C-19 */
        for (const struct trib_job *job = owner->first; job; job = job->next_owned) {
            count++;
            TRIB_ASSERT(job->owner == owner && count <= jobs->count); /* C-1 */
        }
        for (const struct trib_owner *other = owner->next; other; other = other->next) {
            TRIB_ASSERT(other->id != owner->id && (other->token == 0 || other->token != owner->token));
        }
    }
    return count;
}

static uint32_t count_served(const struct trib_remote *remote)
{
    uint32_t served = 0;
    for (const struct trib_placement *placement = remote->served; placement; placement = placement->next) {
        TRIB_ASSERT(placement->job->is_open && placement->remote == remote); /* C-8 */
        served++;
    }
    return served;
}

/* The lists of agents have each open placement at another switch once. Each job that waits for an agent is in the list
 * of waiting jobs. */
static void check_lists(const struct trib_jobs *jobs)
{
    uint32_t served = 0;
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        served += count_served(&jobs->remote[i]);
    }
    for (const struct trib_remote *remote = jobs->leaves; remote; remote = remote->next) {
        served += count_served(remote);
    }
    for (struct trib_job *job = jobs->first; job; job = job->next) {
        bool waits = job->state == TRIB_JOB_JOINING && !job->has_peers && job->has_trees && trib_job_is_complete(job);
        for (uint32_t i = 0; job->is_open && i < trib_placements_count(job); i++) {
            const struct trib_placement *placement = trib_placement_number(job, i);
            TRIB_ASSERT((placement->back != NULL) == (placement->remote != NULL));
            served -= placement->remote != NULL;
        }
        TRIB_ASSERT(job->waiting_back || !waits); /* C-22 */
    }
    TRIB_ASSERT(served == 0);
}

void trib_jobs_check(const struct trib_jobs *jobs)
{
    uint32_t count = 0;
    check_masters(jobs);
    check_remotes(jobs);
    check_agent(jobs);
    trib_loads_check(jobs);
    trib_processes_check(jobs);
    check_lists(jobs);
    for (const struct trib_job *job = jobs->first; job; job = job->next) {
        trib_job_check(jobs, job);
        TRIB_ASSERT(trib_jobs_find_communicator(jobs, job->grant.communicator) && *job->back == job);
        for (const struct trib_job *other = job->next; other && job->is_open; other = other->next) {
            TRIB_ASSERT(!other->is_open || other->grant.communicator != job->grant.communicator);
        }
        count++;
    }
    TRIB_ASSERT(count == jobs->count && count <= TRIB_JOBS_MAX && check_owners(jobs) == count); /* C-1 */
}
