/* SPDX-License-Identifier: Apache-2.0 */
/* placements.c: see placements.h. */
#include "control/jobs/placements.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "control/jobs/opening.h"
#include "control/jobs/owner.h"
#include "control/jobs/pieces.h"
#include "control/jobs/places.h"
#include "core/assert.h"
#include "core/window.h"
#include "io/explain.h"
#include "io/list.h"

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

/* The placements are in order of first roots. */
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

uint32_t trib_placements_count(const struct trib_job *job)
{
    return job->placements + job->belows;
}

struct trib_placement *trib_placement_number(struct trib_job *job, uint32_t index)
{
    return index < job->placements ? &job->placement[index] : &job->below[index - job->placements].placement;
}

static const struct trib_placement *number(const struct trib_job *job, uint32_t index)
{
    return index < job->placements ? &job->placement[index] : &job->below[index - job->placements].placement;
}

struct trib_placement *trib_placement_of_remote(struct trib_job *job, const struct trib_remote *remote)
{
    for (uint32_t i = 0; i < trib_placements_count(job); i++) {
        struct trib_placement *placement = trib_placement_number(job, i);
        if (placement->remote == remote) {
            return placement;
        }
    }
    return NULL;
}

uint32_t trib_placement_below(const struct trib_job *job, const struct trib_placement *placement)
{
    for (uint32_t b = 1; b <= job->belows; b++) {
        if (&job->below[b - 1].placement == placement) {
            return b;
        }
    }
    return 0;
}

bool trib_placement_is_over(const struct trib_job *job, const struct trib_placement *placement)
{
    uint32_t below = trib_placement_below(job, placement);
    bool is_over = below != 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        is_over = is_over && (!trib_job_is_ever_behind(job, i, below) || (rank->is_closing && rank->is_registered));
    }
    return is_over;
}

enum trib_status trib_placement_status(int32_t said)
{
    bool is_known = said < 0 && said >= TRIB_ERR_CHECK && said != TRIB_ERR_PEER;
    return is_known ? (enum trib_status)said : TRIB_ERR_REFUSED;
}

static const struct trib_placement *placement_of(const struct trib_job *job, uint32_t root)
{
    return &job->placement[job->root[root].placement];
}

bool trib_placements_are_here(const struct trib_job *job)
{
    bool has = false;
    for (uint32_t i = 0; i < job->placements; i++) {
        has = has || trib_placement_is_here(&job->placement[i]);
    }
    return has;
}

/* ---- addresses ---- */

static struct trib_address any_of(const struct trib_address *like)
{
    struct trib_address any = *like;
    memset(&any, 0, sizeof any);
    any.storage.ss_family = like->storage.ss_family;
    any.len = like->len;
    return any;
}

/* The address, with the port of the place. */
static struct trib_address at_address(const struct trib_address *address, const struct trib_address *place)
{
    struct trib_address at = *address;
    trib_address_set_port(&at, trib_address_port(place));
    return at;
}

static struct trib_address rank_root(const struct trib_job *job, uint32_t root)
{
    const struct trib_rank *rank = &job->ranks[placement_of(job, root)->rank];
    struct trib_address place = trib_rank_place(rank, job->root[root].shard);
    trib_address_set_port(&place, (uint16_t)(rank->root_port + job->root[root].shard));
    return place;
}

/* A loopback address of another switch stands for the host of this switch. A wildcard address of this switch stands for
 * the local end of the session. */
struct trib_address trib_root_towards(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t root,
                                      const struct trib_address *peer, const struct trib_address *local)
{
    const struct trib_placement *placement = placement_of(job, root);
    uint32_t shard = job->root[root].shard;
    struct trib_address place;
    bool is_elsewhere = false; /* the other end of the session is on another host */
    if (placement->carrier == TRIB_CARRIER_RANK) {
        return rank_root(job, root);
    }
    if (placement->carrier == TRIB_CARRIER_REMOTE) {
        place = placement->remote->at[shard];
        is_elsewhere = trib_address_is_loopback(&place) && !trib_address_is_loopback(peer);
    } else {
        place = trib_server_shard(jobs->config, shard);
        is_elsewhere = trib_address_is_any(&place);
    }
    return is_elsewhere && local->len > 0 ? at_address(local, &place) : place;
}

/* The parent of a switch below. If the parent is the one switch with all roots, or a switch below, and has named no
 * address: 0.0.0.0, which stands for the address to which the child has connected. */
static struct trib_address parent_of(const struct trib_jobs *jobs, const struct trib_job *job,
                                     const struct trib_inner *inner, uint32_t root)
{
    const struct trib_remote *remote = inner->placement.remote;
    struct trib_address any = any_of(&remote->peer);
    if (inner->parent[root] != 0) {
        const struct trib_remote *parent = job->below[inner->parent[root] - 1].placement.remote;
        if (!remote->above) { /* the earlier switch in a chain */
            return trib_inner_towards(parent, remote, root);
        }
        return parent->is_named ? parent->at[root] : at_address(&any, &parent->at[root]);
    }
    struct trib_address place = trib_root_towards(jobs, job, root, &remote->peer, &remote->local);
    bool is_at_end = trib_job_dealer(jobs, job)->is_one_switch && jobs->config->also.count == 0;
    return is_at_end ? at_address(&any, &place) : place;
}

static uint32_t room_of(const struct trib_jobs *jobs, const struct trib_job *job,
                        const struct trib_placement *placement)
{
    if (trib_placement_is_here(placement)) {
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

/* ---- the placements of each agent ---- */

static void enter_agents(struct trib_job *job)
{
    for (uint32_t i = 0; i < trib_placements_count(job); i++) {
        struct trib_placement *placement = trib_placement_number(job, i);
        if (placement->remote) {
            TRIB_ASSERT(!placement->back);
            placement->job = job;
            TRIB_LIST_ADD(&placement->remote->served, placement, next, back);
        }
    }
}

void trib_placement_leave_agent(struct trib_placement *placement)
{
    TRIB_LIST_REMOVE(placement, next, back);
}

static void leave_agents(struct trib_job *job)
{
    for (uint32_t i = 0; i < trib_placements_count(job); i++) {
        trib_placement_leave_agent(trib_placement_number(job, i));
    }
}

/* ---- requests to agents ---- */

static struct trib_opening_id of(const struct trib_job *job)
{
    return (struct trib_opening_id){job->grant.communicator, job->grant.boot};
}

/* If the agent is gone, the message is dropped. */
void trib_placement_tell(const struct trib_jobs *jobs, const struct trib_job *job,
                         const struct trib_placement *placement, const struct trib_message *message)
{
    struct trib_session *session = job->ranks[placement->rank].session;
    if (placement->remote && trib_remote_is_usable(placement->remote)) {
        const struct trib_remote_output *output = placement->remote->output;
        output->send(output->owner, placement->remote, message);
    } else if (placement->carrier == TRIB_CARRIER_RANK && session) {
        jobs->output.send(jobs->output.owner, session, message);
    }
}

static void name_children(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t below,
                          const struct trib_opening *opening)
{
    uint32_t root = opening->root;
    const struct trib_placement *placement = below != 0 ? &job->below[below - 1].placement : placement_of(job, root);
    uint16_t child[TRIB_RANKS_MAX];
    (void)trib_job_children(job, below, root, child);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (child[i] == UINT16_MAX) {
            continue;
        }
        const struct trib_branch *branch = &opening->branches[child[i]];
        struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_CHILD,
                                       .root_child = {.of = of(job),
                                                      .rank = i,
                                                      .branch = child[i],
                                                      .is_switch = branch->is_switch,
                                                      .is_combined = branch->is_combined,
                                                      .sender = branch->sender,
                                                      .from = branch->from}};
        if (below != 0 && !branch->is_switch && !branch->is_combined && job->ranks[i].session) {
            message.root_child.to = job->ranks[i].session->local;
        }
        trib_placement_tell(jobs, job, placement, &message);
    }
}

static void ask_to_open(const struct trib_jobs *jobs, const struct trib_job *job, const struct trib_opening *opening)
{
    uint32_t root = opening->root;
    const struct trib_placement *placement = placement_of(job, root);
    struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_OPEN,
                                   .root_open = {.of = of(job),
                                                 .index = root,
                                                 .shard = opening->shard,
                                                 .ranks = opening->ranks,
                                                 .behind = opening->ranks,
                                                 .auth = *opening->auth,
                                                 .session = opening->session}};
    (void)snprintf(message.root_open.scheme, sizeof message.root_open.scheme, "%s", opening->scheme);
    memcpy(message.root_open.job, job->name, sizeof message.root_open.job);
    if (placement->carrier == TRIB_CARRIER_REMOTE) {
        message.root_open.key = job->grant.key;
        message.root_open.job_id = job->owner->id;
        message.root_open.tenant = job->key;
    } else {
        message.root_open.at = rank_root(job, root);
    }
    trib_placement_tell(jobs, job, placement, &message);
    trib_message_wipe(&message);
    name_children(jobs, job, 0, opening);
}

/* Requests a multicast group for results if all ranks at the switch want multicast: a new group, or the ranks' earlier
 * group. Behind a combiner all ranks are children, and ranks of other switches have no group. */
static void wish_group(const struct trib_job *job, uint32_t below, struct trib_message *open)
{
    bool wants = job->settings.ranks >= 2;
    bool all_new = true;
    bool all_same = true;
    const struct trib_rank *first = NULL;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->below != below) {
            wants = wants && !(trib_job_has_servers(job) && trib_job_is_ever_behind(job, i, below));
        } else {
            first = first ? first : rank;
            wants = wants && rank->wants_multicast && rank->address.storage.ss_family == AF_INET;
            all_new = all_new && rank->is_new;
            all_same = all_same && !rank->is_new && rank->known_group == first->known_group &&
                       rank->known_group_port == first->known_group_port;
        }
    }
    open->root_open.wants_group = first && wants && all_new;
    if (first && all_same) {
        open->root_open.group = first->known_group;
        open->root_open.group_port = first->known_group_port;
    }
}

/* Requests one root at a switch below, with the ranks behind the switch. */
static void ask_below(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t below,
                      const struct trib_opening *opening)
{
    uint32_t root = opening->root;
    const struct trib_inner *inner = &job->below[below - 1];
    struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_OPEN,
                                   .root_open = {.of = of(job),
                                                 .index = root,
                                                 .shard = opening->shard,
                                                 .ranks = opening->ranks,
                                                 .key = job->grant.key,
                                                 .job_id = job->owner->id,
                                                 .tenant = job->key,
                                                 .is_return = job->was_running,
                                                 .parent = parent_of(jobs, job, inner, root),
                                                 .numbers = opening->numbers,
                                                 .own_pieces = opening->pieces.own,
                                                 .pieces = (uint8_t)opening->pieces.count,
                                                 .priority = opening->priority,
                                                 .auth = *opening->auth,
                                                 .session = opening->session}};
    for (uint32_t b = 0; b < opening->count; b++) {
        message.root_open.behind += opening->branches[b].count;
    }
    (void)snprintf(message.root_open.scheme, sizeof message.root_open.scheme, "%s", opening->scheme);
    memcpy(message.root_open.job, job->name, sizeof message.root_open.job);
    wish_group(job, below, &message);
    trib_placement_tell(jobs, job, &inner->placement, &message);
    trib_message_wipe(&message);
    name_children(jobs, job, below, opening);
}

static enum trib_status explain_memory(char *error)
{
    trib_explain(error, "the control plane is out of memory");
    return TRIB_ERR_MEMORY;
}

static enum trib_status open_below(const struct trib_jobs *jobs, const struct trib_job *job, char *error)
{
    for (uint32_t b = 1; b <= job->belows; b++) {
        for (uint32_t t = 0; t < job->grant.roots; t++) {
            struct trib_opening *opening = trib_opening_create(job, b, t);
            if (!opening) {
                return explain_memory(error);
            }
            opening->pieces = trib_job_pieces(jobs, job, b);
            ask_below(jobs, job, b, opening);
            trib_opening_destroy(opening);
        }
    }
    return TRIB_OK;
}

static uint32_t count_here(const struct trib_job *job)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        count += trib_placement_is_here(placement_of(job, t));
    }
    return count;
}

static enum trib_status open_here(struct trib_jobs *jobs, struct trib_job *job, const struct trib_opening *opening,
                                  char *error)
{
    char cause[TRIB_ERROR_TEXT_MAX];
    job->here.job = job->name;
    job->here.tenant = job->key;
    enum trib_status status = trib_agent_open(&jobs->agent, &job->here, opening, count_here(job), cause);
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

/* The top of a tree: a root here, or at an agent elsewhere, or, without placements, no agent. */
static enum trib_status open_root(struct trib_jobs *jobs, struct trib_job *job, const struct trib_opening *opening,
                                  bool is_here, char *error)
{
    TRIB_ASSERT(agrees(&job->grant, opening)); /* C-4: every agent opens the grant of WELCOME */
    if (is_here && !trib_opening_check(opening, error)) {
        return TRIB_ERR_INVALID;
    }
    if (job->placements == 0 || trib_placement_is_here(placement_of(job, opening->root)) != is_here) {
        return TRIB_OK;
    }
    if (is_here) {
        return open_here(jobs, job, opening, error);
    }
    ask_to_open(jobs, job, opening);
    return TRIB_OK;
}

static enum trib_status open_roots(struct trib_jobs *jobs, struct trib_job *job, bool is_here, char *error)
{
    enum trib_status status = TRIB_OK;
    for (uint32_t t = 0; t < job->grant.roots && status == TRIB_OK; t++) {
        struct trib_opening *opening = trib_opening_create(job, 0, t);
        status = opening ? open_root(jobs, job, opening, is_here, error) : explain_memory(error);
        trib_opening_destroy(opening);
    }
    return status;
}

/* Others are asked once all is open here. */
enum trib_status trib_placements_open(struct trib_jobs *jobs, struct trib_job *job, char *error)
{
    enum trib_status status = open_roots(jobs, job, true, error);
    if (status == TRIB_OK) {
        status = open_roots(jobs, job, false, error);
    }
    if (status == TRIB_OK) {
        status = open_below(jobs, job, error);
    }
    if (status == TRIB_OK) {
        enter_agents(job);
    } else {
        trib_placements_shut(jobs, job);
    }
    return status;
}

void trib_placements_shut(struct trib_jobs *jobs, struct trib_job *job)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_SHUT, .of = of(job)};
    trib_agent_shut(&jobs->agent, &job->here);
    leave_agents(job);
    for (uint32_t i = 0; i < trib_placements_count(job); i++) {
        if (number(job, i)->carrier == TRIB_CARRIER_REMOTE) {
            trib_placement_tell(jobs, job, number(job, i), &message);
        }
    }
    job->placements = 0;
    trib_job_ungroup(job);
}

void trib_placements_join(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, uint64_t mark)
{
    const struct trib_data_plane *plane = jobs->agent.plane;
    uint32_t communicator = job->grant.communicator;
    const struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_JOIN,
                                         .root_join = {.of = of(job), .rank = rank, .mark = mark}};
    for (uint32_t i = 0; i < job->placements; i++) {
        if (trib_placement_is_here(&job->placement[i])) {
            plane->join(plane->plane, communicator, rank, mark);
        } else {
            trib_placement_tell(jobs, job, &job->placement[i], &message);
        }
    }
    struct trib_rank_set told = {0};
    for (uint32_t t = 0; t < trib_job_shapes(job); t++) {
        for (uint32_t at = job->ranks[rank].below; at != 0; at = job->below[at - 1].parent[t]) {
            if (!trib_rank_set_has(&told, at - 1)) {
                trib_rank_set_add(&told, at - 1);
                trib_placement_tell(jobs, job, &job->below[at - 1].placement, &message);
            }
        }
    }
}

void trib_placements_tell_mark(const struct trib_jobs *jobs, struct trib_job *job, uint64_t mark, bool is_first)
{
    for (uint32_t b = 0; b < job->belows; b++) {
        struct trib_inner *inner = &job->below[b];
        const struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_MARK,
                                             .root_mark = {.of = of(job), .mark = mark, .multicast = inner->multicast}};
        if (is_first || mark > inner->told) {
            inner->told = mark;
            trib_placement_tell(jobs, job, &inner->placement, &message);
        }
    }
}

void trib_placements_probe(const struct trib_jobs *jobs, const struct trib_job *job)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_PROBE, .of = of(job)};
    for (uint32_t b = 0; b < job->belows; b++) {
        trib_placement_tell(jobs, job, &job->below[b].placement, &message);
    }
}

bool trib_placement_is_open(const struct trib_job *job, const struct trib_placement *placement)
{
    uint32_t roots = trib_placement_below(job, placement) != 0 ? job->grant.roots : 0;
    for (uint32_t t = 0; t < job->grant.roots && roots < job->grant.roots; t++) {
        roots += placement_of(job, t) == placement;
    }
    TRIB_ASSERT(placement->opened <= roots);
    return trib_placement_is_here(placement) || placement->opened == roots;
}

bool trib_placements_are_open(const struct trib_job *job)
{
    bool all = true;
    for (uint32_t i = 0; i < trib_placements_count(job); i++) {
        all = all && trib_placement_is_open(job, number(job, i));
    }
    return all;
}

bool trib_placements_are_ready(const struct trib_job *job)
{
    bool all = true;
    for (uint32_t i = 0; i < job->placements; i++) {
        all = all && (trib_placement_is_here(&job->placement[i]) || job->placement[i].is_ready);
    }
    for (uint32_t b = 0; b < job->belows; b++) { /* NULL: the ranks of a lost one need nothing any more */
        const struct trib_placement *placement = &job->below[b].placement;
        bool stands =
            placement->remote && trib_remote_is_usable(placement->remote); /* else its loss is reported next */
        all = all && (!placement->remote || (placement->is_ready && stands));
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

bool trib_placements_report(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_plane_report *report)
{
    const struct trib_data_plane *plane = jobs->agent.plane;
    *report = (struct trib_plane_report){0};
    return job->here.is_open && plane->report(plane->plane, job->grant.communicator, report);
}
