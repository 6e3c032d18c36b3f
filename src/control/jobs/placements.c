/* SPDX-License-Identifier: Apache-2.0 */
/* placements.c: see placements.h. */
#include "control/jobs/placements.h"

#include <stdio.h>
#include <string.h>

#include "control/jobs/owner.h"
#include "control/jobs/start.h"
#include "core/assert.h"
#include "core/window.h"
#include "io/explain.h"

/* ---- agents and their roots ---- */

static bool is_same_agent(const struct trib_placement *a, const struct trib_placement *b)
{
    return a->carrier == b->carrier && a->remote == b->remote && a->rank == b->rank;
}

void trib_placements_add(struct trib_job *job, uint32_t root, const struct trib_placement *where, uint32_t shard)
{
    uint32_t at = 0;
    job->placements = root > 0 ? job->placements : 0;
    while (at < job->placements && !is_same_agent(&job->placement[at], where)) {
        at++;
    }
    if (at == job->placements) {
        job->placement[job->placements++] =
            (struct trib_placement){.carrier = where->carrier, .remote = where->remote, .rank = where->rank};
    }
    job->root[root] = (struct trib_root_place){.placement = (uint8_t)at, .shard = (uint8_t)shard};
}

void trib_placements_all_here(struct trib_job *job)
{
    const struct trib_placement here = {.carrier = TRIB_CARRIER_CALL};
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        trib_placements_add(job, t, &here, t);
    }
}

/* They came in order of their first roots. */
void trib_placements_trim(struct trib_job *job)
{
    uint32_t left = 0;
    for (uint32_t t = 0; t < job->grant.roots && job->placements > 0; t++) {
        left = job->root[t].placement >= left ? job->root[t].placement + 1U : left;
    }
    TRIB_ASSERT(left <= job->placements);
    job->placements = left;
}

struct trib_placement *trib_placement_of_rank(struct trib_job *job, uint32_t rank)
{
    for (uint32_t i = 0; i < job->placements; i++) {
        if (job->placement[i].carrier == TRIB_CARRIER_RANK && job->placement[i].rank == rank) {
            return &job->placement[i];
        }
    }
    return NULL;
}

struct trib_placement *trib_placement_of_remote(struct trib_job *job, const struct trib_remote *remote)
{
    for (uint32_t i = 0; i < job->placements; i++) {
        if (job->placement[i].remote == remote) {
            return &job->placement[i];
        }
    }
    return NULL;
}

static const struct trib_placement *placement_of(const struct trib_job *job, uint32_t root)
{
    return &job->placement[job->root[root].placement];
}

static bool is_here(const struct trib_placement *placement)
{
    return placement->carrier == TRIB_CARRIER_CALL;
}

bool trib_placements_are_here(const struct trib_job *job)
{
    bool has = false;
    for (uint32_t i = 0; i < job->placements; i++) {
        has = has || is_here(&job->placement[i]);
    }
    return has;
}

/* ---- where they are ---- */

/* The other end of the session knows this process by an address of its own. */
static struct trib_address as_seen_by(const struct trib_address *place, const struct trib_session *session)
{
    struct trib_address seen = session->local;
    trib_address_set_port(&seen, trib_address_port(place));
    return seen;
}

static struct trib_address rank_root(const struct trib_job *job, uint32_t root)
{
    const struct trib_rank *rank = &job->ranks[placement_of(job, root)->rank];
    struct trib_address place = trib_rank_place(rank, job->root[root].shard);
    trib_address_set_port(&place, (uint16_t)(rank->root_port + job->root[root].shard));
    return place;
}

/* A loopback address of another switch means: beside this switch. A wildcard address of this switch means: where the
 * session has found it. */
struct trib_address trib_root_towards(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t root,
                                      const struct trib_session *session)
{
    const struct trib_placement *placement = placement_of(job, root);
    uint32_t shard = job->root[root].shard;
    struct trib_address place;
    bool is_elsewhere = false; /* for the other end of the session it is somewhere else */
    if (placement->carrier == TRIB_CARRIER_RANK) {
        return rank_root(job, root);
    }
    if (placement->carrier == TRIB_CARRIER_REMOTE) {
        place = placement->remote->at[shard];
        is_elsewhere = trib_address_is_loopback(&place) && !trib_address_is_loopback(&session->peer);
    } else {
        place = trib_server_shard(jobs->config, shard);
        is_elsewhere = trib_address_is_any(&place);
    }
    return is_elsewhere && session->local.len > 0 ? as_seen_by(&place, session) : place;
}

static uint32_t room_of(const struct trib_jobs *jobs, const struct trib_job *job,
                        const struct trib_placement *placement)
{
    if (is_here(placement)) {
        return jobs->config->receive_room;
    }
    return placement->remote ? placement->remote->room : job->ranks[placement->rank].room;
}

uint32_t trib_placements_room(const struct trib_jobs *jobs, const struct trib_job *job)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < job->placements; i++) {
        uint32_t room = room_of(jobs, job, &job->placement[i]);
        least = room < least ? room : least;
    }
    return least;
}

static bool roots_meet(const struct trib_job *a, uint32_t s, const struct trib_job *b, uint32_t t)
{
    const struct trib_placement *one = placement_of(a, s);
    const struct trib_placement *two = placement_of(b, t);
    if (one->carrier != two->carrier) {
        return false;
    }
    if (one->carrier == TRIB_CARRIER_RANK) {
        struct trib_address at = rank_root(a, s);
        struct trib_address other = rank_root(b, t);
        return trib_address_equal(&at, &other);
    }
    return one->remote == two->remote;
}

bool trib_placements_meet(const struct trib_job *a, const struct trib_job *b)
{
    bool meet = !b && trib_placements_are_here(a);
    for (uint32_t s = 0; b && s < a->grant.roots && a->placements > 0 && !meet; s++) {
        for (uint32_t t = 0; t < b->grant.roots && b->placements > 0 && !meet; t++) {
            meet = roots_meet(a, s, b, t);
        }
    }
    return meet;
}

/* ---- what is asked of them ---- */

static struct trib_opening_id of(const struct trib_job *job)
{
    return (struct trib_opening_id){job->grant.communicator, job->grant.boot};
}

/* If the agent is gone, the message is dropped. */
static void say(const struct trib_jobs *jobs, const struct trib_job *job, const struct trib_placement *placement,
                const struct trib_message *message)
{
    struct trib_session *session = job->ranks[placement->rank].session;
    if (placement->remote && trib_remote_is_usable(placement->remote)) {
        jobs->remotes.send(jobs->remotes.owner, placement->remote, message);
    } else if (placement->carrier == TRIB_CARRIER_RANK && session) {
        jobs->output.send(jobs->output.owner, session, message);
    }
}

static void ask_to_open(const struct trib_jobs *jobs, const struct trib_job *job, const struct trib_opening *opening,
                        uint32_t root)
{
    const struct trib_placement *placement = placement_of(job, root);
    struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_OPEN,
                                   .root_open = {.of = {opening->session.communicator, opening->boot},
                                                 .index = root,
                                                 .shard = job->root[root].shard,
                                                 .ranks = opening->ranks,
                                                 .session = opening->session}};
    (void)snprintf(message.root_open.scheme, sizeof message.root_open.scheme, "%s", opening->scheme);
    memcpy(message.root_open.job, job->name, sizeof message.root_open.job);
    if (placement->carrier == TRIB_CARRIER_REMOTE) {
        message.root_open.key = job->grant.key;
        message.root_open.job_id = job->owner->id;
    } else {
        message.root_open.at = rank_root(job, root);
    }
    say(jobs, job, placement, &message);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        uint32_t branch = job->ranks[i].branch;
        message = (struct trib_message){.kind = TRIB_MESSAGE_ROOT_CHILD,
                                        .root_child = {.of = {opening->session.communicator, opening->boot},
                                                       .rank = i,
                                                       .branch = branch,
                                                       .is_switch = opening->branches[branch].is_switch,
                                                       .from = opening->branches[branch].address[root]}};
        say(jobs, job, placement, &message);
    }
}

/* A switch that sums all roots on as many shards opens them at once. */
static enum trib_status open_here(struct trib_jobs *jobs, struct trib_job *job, const struct trib_opening *opening,
                                  char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX];
    struct trib_root_at here[TRIB_ROOTS_MAX];
    uint32_t count = 0;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        if (is_here(placement_of(job, t))) {
            here[count++] = (struct trib_root_at){t, job->root[t].shard};
        }
    }
    if (count == 0) {
        return TRIB_OK;
    }
    job->here.job = job->name;
    bool is_all = jobs->config->lenders.count == 0;
    enum trib_status status = trib_agent_open(&jobs->agent, &job->here, opening, here, is_all ? 0 : count, cause);
    if (status == TRIB_ERR_REFUSED) {
        trib_explain(error, "%s", cause);
    } else if (status != TRIB_OK) {
        trib_explain(error, "the switch cannot get the memory that job %s needs, %.128s", job->name, cause);
    }
    return status;
}

static bool agrees(const struct trib_grant *grant, const struct trib_opening *opening)
{
    const struct trib_session_config *session = &opening->session;
    return opening->boot == grant->boot && session->communicator == grant->communicator &&
           session->generation == grant->generation && session->roots == grant->roots &&
           session->train == grant->train && session->slots == grant->slots;
}

enum trib_status trib_placements_open(struct trib_jobs *jobs, struct trib_job *job, const struct trib_opening *opening,
                                      char *error)
{
    TRIB_ASSERT(agrees(&job->grant, opening)); /* C-4: every agent opens the grant of WELCOME */
    enum trib_status status = job->placements > 0 ? open_here(jobs, job, opening, error) : TRIB_OK;
    for (uint32_t t = 0; t < job->grant.roots && job->placements > 0 && status == TRIB_OK; t++) {
        if (!is_here(placement_of(job, t))) {
            ask_to_open(jobs, job, opening, t);
        }
    }
    if (status == TRIB_OK) {
        trib_job_enter_agents(jobs, job);
    }
    return status;
}

void trib_placements_shut(struct trib_jobs *jobs, struct trib_job *job)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_SHUT, .of = of(job)};
    trib_agent_shut(&jobs->agent, &job->here);
    trib_job_leave_agents(job);
    for (uint32_t i = 0; i < job->placements; i++) {
        if (job->placement[i].carrier == TRIB_CARRIER_REMOTE) {
            say(jobs, job, &job->placement[i], &message);
        }
    }
    job->placements = 0;
}

void trib_placements_join(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, uint64_t mark)
{
    const struct trib_data_plane *plane = jobs->agent.plane;
    uint32_t communicator = job->grant.communicator;
    const struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_JOIN,
                                         .root_join = {.of = of(job), .rank = rank, .mark = mark}};
    for (uint32_t i = 0; i < job->placements; i++) {
        if (is_here(&job->placement[i])) {
            plane->join(plane->plane, communicator, rank, mark);
        } else {
            say(jobs, job, &job->placement[i], &message);
        }
    }
}

bool trib_placement_is_open(const struct trib_job *job, const struct trib_placement *placement)
{
    uint32_t roots = 0;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        roots += placement_of(job, t) == placement;
    }
    TRIB_ASSERT(placement->opened <= roots);
    return is_here(placement) || placement->opened == roots;
}

bool trib_placements_are_open(const struct trib_job *job)
{
    bool all = true;
    for (uint32_t i = 0; i < job->placements; i++) {
        all = all && trib_placement_is_open(job, &job->placement[i]);
    }
    return all;
}

bool trib_placements_are_ready(const struct trib_job *job)
{
    bool all = true;
    for (uint32_t i = 0; i < job->placements; i++) {
        all = all && (is_here(&job->placement[i]) || job->placement[i].is_ready);
    }
    return all;
}

uint32_t trib_placements_root(const struct trib_job *job, uint64_t sequence)
{
    struct {
        struct trib_window window;
        struct trib_turn table[TRIB_WINDOW_TURNS_MAX];
    } dealt;
    struct trib_session_config session;
    trib_job_session(job, &session);
    trib_window_init(&dealt.window, &session, dealt.table);
    return trib_window_root(&dealt.window, sequence);
}

struct trib_placement *trib_placement_at(struct trib_job *job, uint64_t sequence)
{
    TRIB_ASSERT(job->placements > 0);
    return &job->placement[job->root[trib_placements_root(job, sequence)].placement];
}

void trib_placement_ask(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_placement *placement,
                        uint64_t sequence)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_MISSING,
                                         .root_missing = {.of = of(job), .sequence = sequence}};
    if (!placement->is_asked) {
        placement->is_asked = true;
        placement->asked = sequence;
        say(jobs, job, placement, &message);
    }
}

uint32_t trib_placements_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint16_t *ranks,
                                 uint32_t max)
{
    const struct trib_data_plane *plane = jobs->agent.plane;
    struct trib_placement *placement = trib_placement_at(job, sequence);
    if (is_here(placement)) {
        return plane->missing(plane->plane, job->grant.communicator, sequence, ranks, max);
    }
    trib_placement_ask(jobs, job, placement, sequence);
    return TRIB_MISSING_LATER;
}

bool trib_placements_report(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_plane_report *report)
{
    const struct trib_data_plane *plane = jobs->agent.plane;
    *report = (struct trib_plane_report){0};
    return job->here.is_open && plane->report(plane->plane, job->grant.communicator, report);
}
