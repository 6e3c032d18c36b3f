/* SPDX-License-Identifier: Apache-2.0 */
/* answers.c: the table of places (places.h) of a job that agents sum: the answers of agents, and texts about agents.
 * Read next: placements.c (the requests to agents), stall.c (uses the answer on a missing rank). */
#include <stdio.h>

#include "control/jobs/answers.h"
#include "control/jobs/dispute.h"
#include "control/jobs/job.h"
#include "control/jobs/meeting.h"
#include "control/jobs/missing.h"
#include "control/jobs/peers.h"
#include "control/jobs/placements.h"
#include "control/jobs/places.h"
#include "control/jobs/progress.h"
#include "control/jobs/stall.h"
#include "control/jobs/start.h"
#include "control/roots/roots.h"
#include "io/explain.h"
#include "io/units.h"

/* ---- texts ---- */

/* Fields of the switch below at which a rank arrived. A returning rank keeps the earlier group until READY. If the
 * host's leader arrived at another switch, the rank has no packets, and no group. */
static void name_below(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t index,
                       struct trib_message *welcome)
{
    const struct trib_rank *rank = &job->ranks[index];
    const struct trib_remote *remote = rank->session->leaf;
    const struct trib_inner *inner = rank->below != 0 ? &job->below[rank->below - 1] : NULL;
    bool is_new = rank->is_new && inner && inner->placement.remote == remote;
    welcome->welcome.server = trib_job_server_towards(jobs, job, rank->session);
    welcome->welcome.grant.data_port = trib_address_port(&remote->at[0]);
    welcome->welcome.grant.group = is_new ? inner->group : rank->known_group;
    welcome->welcome.grant.group_port = is_new ? inner->group_port : rank->known_group_port;
    for (uint32_t t = 0; t < job->grant.roots && remote->is_named; t++) {
        welcome->welcome.root_count = (uint8_t)job->grant.roots;
        welcome->welcome.root[t] = remote->at[t];
    }
}

/* For one switch with all shards at one address, no addresses are named: the shards are at the session's address. */
static void name(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, struct trib_message *welcome)
{
    welcome->welcome.rate = trib_job_planned_rate(jobs, job);
    if (job->ranks[rank].session->leaf) {
        name_below(jobs, job, rank, welcome);
        return;
    }
    if (trib_roots_are_ranks(jobs->config)) {
        welcome->welcome.no_box = true;
        welcome->welcome.known_as = trib_peers_known_as(&job->ranks[rank]);
    } else if (jobs->dealer->is_one_switch && jobs->config->also.count == 0) {
        return;
    }
    welcome->welcome.root_count = (uint8_t)job->grant.roots;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        const struct trib_session *session = job->ranks[rank].session;
        welcome->welcome.root[t] = trib_root_towards(jobs, job, t, &session->peer, &session->local);
    }
}

static void explain_way(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, char *text)
{
    const struct trib_remote *remote =
        job->ranks[rank].below != 0 ? job->below[job->ranks[rank].below - 1].placement.remote : NULL;
    if (remote) {
        (void)snprintf(text, 128, "%.64s, UDP ports %u to %u", remote->name, trib_address_port(&remote->at[0]),
                       trib_address_port(&remote->at[0]) + job->grant.roots - 1);
    } else if (jobs->dealer->way) {
        (void)snprintf(text, 128, "%s", jobs->dealer->way);
    } else {
        (void)snprintf(text, 128, "the switch's UDP ports %u to %u", job->grant.data_port,
                       job->grant.data_port + job->grant.roots - 1);
    }
}

static void name_agent(const struct trib_job *job, const struct trib_placement *placement, char *text)
{
    char name[96] = "this switch";
    if (placement->carrier == TRIB_CARRIER_RANK) {
        (void)trib_job_name_rank(job, placement->rank, name);
    } else if (placement->remote) {
        (void)snprintf(name, sizeof name, "%s", placement->remote->name);
    }
    (void)snprintf(text, 128, "%s%s", name, trib_placement_below(job, placement) != 0 ? "" : ", its root");
}

/* Names the roots not open yet: of all ranks, or of the first switch. */
static bool explain_late(const struct trib_jobs *jobs, const struct trib_job *job, char *text)
{
    struct trib_rank_list late = {0};
    char ranks[192];
    for (uint32_t i = 0; i < trib_placements_count(job); i++) {
        const struct trib_placement *placement =
            i < job->placements ? &job->placement[i] : &job->below[i - job->placements].placement;
        bool is_late = job->state == TRIB_JOB_PLACING ? !trib_placement_is_open(job, placement) : !placement->is_ready;
        if (placement->remote && is_late) {
            bool tries = job->state == TRIB_JOB_STARTING && i >= job->placements;
            trib_explain(text, "%s to %s of job %s", placement->remote->name,
                         tries ? "try its UDP paths to its parent, for the roots" : "open its roots", job->name);
            return true;
        }
        if (placement->carrier == TRIB_CARRIER_RANK && is_late) {
            trib_rank_list_add(&late, placement->rank);
        }
    }
    trib_format_ranks(late.rank, trib_rank_list_carried(&late), late.count, ranks, sizeof ranks);
    trib_explain(text, "%s of job %s%s to open %s", ranks, job->name,
                 trib_job_has_moved(jobs, job) ? ", which was to go on without its switch" : "",
                 late.count == 1 ? "its root" : "their roots");
    return late.count > 0;
}

/* ---- marks ---- */

/* Slots here know M by packets. M of slots elsewhere follows from the marks of ranks. */
static uint64_t mark(const struct trib_jobs *jobs, const struct trib_job *job)
{
    const struct trib_data_plane *plane = jobs->agent.plane;
    return jobs->dealer->is_one_switch ? plane->communicator_mark(plane->plane, job->grant.communicator)
                                       : trib_peers_mark(jobs, job);
}

static const char *needs(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank)
{
    (void)jobs;
    bool is_root = false;
    for (uint32_t i = 0; i < job->placements; i++) {
        is_root = is_root || (job->placement[i].carrier == TRIB_CARRIER_RANK && job->placement[i].rank == rank);
    }
    return is_root && job->is_open && !job->ranks[rank].has_left ? "a root" : NULL;
}

/* ---- answers ---- */

/* The agent has opened the next root, in the order of the requests. */
static bool take_opened(struct trib_jobs *jobs, struct trib_job *job, struct trib_placement *from,
                        const struct trib_message *message, uint64_t now_ns)
{
    uint32_t below = trib_placement_below(job, from);
    if (trib_placement_is_open(job, from)) {
        return false;
    }
    if (below != 0) {
        job->below[below - 1].group = message->root_opened.group;
        job->below[below - 1].group_port = message->root_opened.group_port;
    }
    from->opened++;
    if (trib_placements_are_open(job)) {
        trib_job_welcome(jobs, job, now_ns);
    }
    return true;
}

static bool take_ready(struct trib_jobs *jobs, struct trib_job *job, struct trib_placement *from, uint64_t now_ns)
{
    if (from->is_ready) {
        return false;
    }
    from->is_ready = true;
    trib_job_run_if_ready(jobs, job, now_ns);
    return true;
}

static bool is_list(const struct trib_job *job, const struct trib_rank_list *list)
{
    for (uint32_t i = 0; i < trib_rank_list_carried(list); i++) {
        if (list->rank[i] >= job->settings.ranks || (i > 0 && list->rank[i] <= list->rank[i - 1])) {
            return false;
        }
    }
    return list->count <= job->settings.ranks;
}

/* Asks the question of another rank, which has waited for the earlier answer. */
static void ask_next(struct trib_jobs *jobs, struct trib_job *job, struct trib_placement *placement)
{
    bool has_root = trib_placement_below(job, placement) == 0;
    for (uint32_t i = 0; i < job->settings.ranks && !placement->is_asked; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        bool is_its = rank->session && rank->stall.is_open && rank->stall.sequence != placement->answered;
        if (is_its && (!has_root || trib_placement_at(job, rank->stall.sequence) == placement)) {
            trib_placement_ask(jobs, job, placement, rank->stall.sequence);
        }
    }
}

static bool take_missing(struct trib_jobs *jobs, struct trib_job *job, struct trib_placement *from,
                         const struct trib_message *message, uint64_t now_ns)
{
    uint64_t sequence = message->root_missing.sequence;
    if (!from->is_asked || from->asked != sequence || !is_list(job, &message->root_missing.missing)) {
        return false;
    }
    trib_placement_heard(from, sequence, &message->root_missing.missing, now_ns);
    if (trib_job_missing(jobs, job, sequence, now_ns)) {
        ask_next(jobs, job, from);
    }
    return true;
}

bool trib_placement_answer(struct trib_jobs *jobs, struct trib_job *job, struct trib_placement *from,
                           const struct trib_message *message, uint64_t now_ns)
{
    if (!from || message->of.communicator != job->grant.communicator || message->of.boot != job->grant.boot) {
        return false;
    }
    bool is_opened = message->kind == TRIB_MESSAGE_ROOT_OPENED;
    if (is_opened != (job->state == TRIB_JOB_PLACING)) { /* no rank sends before all roots are open */
        return false;
    }
    if (is_opened) {
        return take_opened(jobs, job, from, message, now_ns);
    }
    if (message->kind == TRIB_MESSAGE_ROOT_READY) {
        return take_ready(jobs, job, from, now_ns);
    }
    if (message->kind == TRIB_MESSAGE_ROOT_MISSING) {
        return take_missing(jobs, job, from, message, now_ns);
    }
    trib_job_dispute(jobs, job, message->dispute.sequence, message->dispute.rank, now_ns);
    return true;
}

static bool receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                    uint64_t now_ns)
{
    struct trib_job *job = session->job;
    return trib_placement_answer(jobs, job, trib_placement_of_rank(job, session->rank), message, now_ns);
}

static void name_root(struct trib_job *job, uint64_t sequence, char *text)
{
    name_agent(job, trib_placement_asked(job, sequence), text);
}

const struct trib_places trib_places_agents = {
    .room = trib_placements_room,
    .name = name,
    .explain_way = explain_way,
    .explain_late = explain_late,
    .mark = mark,
    .missing = trib_placements_missing,
    .name_root = name_root,
    .needs = needs,
    .receive = receive,
};
