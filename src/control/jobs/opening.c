/* SPDX-License-Identifier: Apache-2.0 */
/* opening.c: builds the openings of a communicator for data planes (struct trib_opening, agents/data_plane.h): the
 * switches below that sum, the ranks behind each switch, the children of each agent, and source addresses. Read next:
 * start.c (the caller). */
#include <stdlib.h>
#include <string.h>

#include "control/jobs/hosts.h"
#include "control/jobs/opening.h"
#include "core/assert.h"
#include "schemes/schemes.h"

/* One allocation: the opening, then the branches, then the ranks of the branches. */
struct whole {
    struct trib_opening opening; /* first, for a cast back to struct whole */
    struct trib_auth_key auth;
    struct trib_branch branches[];
};

struct trib_address trib_rank_place(const struct trib_rank *rank, uint32_t root)
{
    return rank->places.count > 0 ? rank->places.at[root % rank->places.count] : rank->address;
}

/* The first port belongs to the socket at the first card. */
bool trib_rank_is_same_process(const struct trib_rank *a, const struct trib_rank *b)
{
    if (a->data_port[0] != b->data_port[0] || a->via != b->via) {
        return false;
    }
    struct trib_address from = trib_rank_place(a, 0);
    struct trib_address other = trib_rank_place(b, 0);
    return trib_address_same_host(&from, &other);
}

uint32_t trib_rank_process(const struct trib_rank *rank)
{
    const struct trib_address from = trib_rank_place(rank, 0);
    return (uint32_t)trib_mix64(trib_mix64(rank->via) + trib_address_near(&from) + rank->data_port[0]) | 1U << 31;
}

/* Packets to root t come from the rank's t-th port; a rank with fewer sockets uses the ports in turn. */
static struct trib_address from_rank(const struct trib_rank *rank, uint32_t root)
{
    uint32_t ports = 1; /* JOIN has checked the first */
    while (ports < TRIB_ROOTS_MAX && rank->data_port[ports] != 0) {
        ports++;
    }
    struct trib_address from = trib_rank_place(rank, root);
    trib_address_set_port(&from, rank->data_port[root % ports]);
    return from;
}

/* ---- which switches below sum, and for which ranks ---- */

bool trib_job_has_detour(const struct trib_job *job)
{
    return trib_scheme_has_detour(trib_scheme_find(trib_job_scheme(job)));
}

/* 1 + index of the switch in job->below. 0: out of memory. */
static uint32_t find_inner(struct trib_job *job, struct trib_remote *remote)
{
    uint32_t parent = 0;
    for (uint32_t i = 0; i < job->belows; i++) {
        if (job->below[i].placement.remote == remote) {
            return i + 1;
        }
    }
    if (remote->above && (parent = find_inner(job, remote->above)) == 0) {
        return 0;
    }
    struct trib_inner *made = realloc(job->below, (job->belows + 1) * sizeof *made);
    if (!made) {
        return 0;
    }
    job->below = made;
    made[job->belows] = (struct trib_inner){.placement = {.carrier = TRIB_CARRIER_REMOTE, .remote = remote}};
    for (uint32_t t = 0; t < TRIB_ROOTS_MAX; t++) {
        made[job->belows].parent[t] = (uint16_t)parent;
    }
    return ++job->belows;
}

/* Racks: first the rack of the root, then the racks of switches that have connected to the controller, in the order of
 * ranks. */
static void chain(struct trib_job *job)
{
    uint16_t rack[TRIB_RANKS_MAX + 1] = {0}; /* 1 + place in job->below */
    uint32_t racks = 1;
    for (uint32_t b = 0; b < job->belows; b++) {
        if (!job->below[b].placement.remote->above) {
            rack[racks++] = (uint16_t)(b + 1);
        }
    }
    for (uint32_t t = 0; t < TRIB_ROOTS_MAX; t++) {
        for (uint32_t k = 1; k < racks; k++) {
            job->below[rack[k] - 1].parent[t] = rack[trib_chain_parent(racks, t, k)];
        }
    }
}

bool trib_job_is_behind(const struct trib_job *job, uint32_t rank, uint32_t below, uint32_t root)
{
    uint32_t at = job->ranks[rank].below;
    while (at != 0 && at != below) {
        at = job->below[at - 1].parent[root];
    }
    return at == below;
}

bool trib_job_is_ever_behind(const struct trib_job *job, uint32_t rank, uint32_t below)
{
    bool is_behind = false;
    for (uint32_t t = 0; t < trib_job_shapes(job) && !is_behind; t++) {
        is_behind = trib_job_is_behind(job, rank, below, t);
    }
    return is_behind;
}

/* The child switch of `below` on the rank's way; 0: none, and the rank's leader is the child. */
static uint32_t next_below(const struct trib_job *job, uint32_t rank, uint32_t below, uint32_t root)
{
    uint32_t at = job->ranks[rank].below;
    while (at != below && job->below[at - 1].parent[root] != below) {
        at = job->below[at - 1].parent[root];
    }
    return at == below ? 0 : at;
}

bool trib_job_has_servers(const struct trib_job *job)
{
    const struct trib_scheme *scheme = trib_scheme_find(trib_job_scheme(job));
    return scheme && scheme->has_servers;
}

/* A key for the rank's child of `below`, the same for all ranks of the child. A combiner is no child: each rank behind
 * the combiner is a child. */
static uint32_t key_of_child(const struct trib_job *job, uint32_t rank, uint32_t below, uint32_t root)
{
    uint32_t at = next_below(job, rank, below, root);
    return at == 0 || trib_job_has_servers(job) ? trib_job_leader(job, rank) : TRIB_RANKS_MAX + at;
}

uint32_t trib_job_children(const struct trib_job *job, uint32_t below, uint32_t root, uint16_t *branch)
{
    uint16_t number[2 * TRIB_RANKS_MAX + 1]; /* by key, 1 + the child */
    uint32_t children = 0;
    memset(number, 0, sizeof number);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        branch[i] = UINT16_MAX;
        if (trib_job_is_behind(job, i, below, root)) {
            uint16_t *child = &number[key_of_child(job, i, below, root)];
            *child = *child == 0 ? (uint16_t)++children : *child;
            branch[i] = (uint16_t)(*child - 1);
        }
    }
    return children;
}

/* How many roots there are is not known yet. */
static void count_children(struct trib_job *job)
{
    uint16_t branch[TRIB_RANKS_MAX];
    uint32_t shapes = job->is_chain ? TRIB_ROOTS_MAX : 1;
    for (uint32_t t = 0; t < shapes; t++) {
        for (uint32_t b = 1; b <= job->belows; b++) {
            uint32_t children = trib_job_children(job, b, t, branch);
            struct trib_inner *inner = &job->below[b - 1];
            inner->children = children > inner->children ? children : inner->children;
        }
    }
    job->children = trib_job_children(job, 0, 0, branch);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        job->ranks[i].branch = branch[i];
    }
}

void trib_job_ungroup(struct trib_job *job)
{
    free(job->below);
    job->below = NULL;
    job->belows = 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        job->ranks[i].below = 0;
    }
}

/* A host is one child, even if the sessions of the host's ranks pass at several places: all packets come from the
 * leader. */
bool trib_job_group(struct trib_job *job)
{
    const struct trib_scheme *scheme = trib_scheme_find(trib_job_scheme(job));
    bool has_detour = trib_scheme_has_detour(scheme);
    trib_job_ungroup(job);
    job->is_chain = scheme && scheme->is_chain;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *sender = &job->ranks[has_detour ? trib_job_leader(job, i) : i];
        struct trib_remote *leaf = sender->session ? sender->session->leaf : NULL;
        if (leaf && (job->ranks[i].below = find_inner(job, leaf)) == 0) {
            return false;
        }
    }
    TRIB_ASSERT(job->belows <= TRIB_RANKS_MAX);
    if (job->is_chain) {
        chain(job);
    }
    count_children(job);
    return true;
}

/* ---- openings for the data plane ---- */

void trib_job_session(const struct trib_job *job, struct trib_session_config *session)
{
    *session = (struct trib_session_config){
        .communicator = job->grant.communicator,
        .ranks = trib_job_members(job),
        .roots = job->grant.roots,
        .train = job->grant.train,
        .slots = job->grant.slots,
        .payload = job->settings.payload,
        .generation = job->grant.generation,
        .wire = (enum trib_type)job->settings.wire,
    };
    memcpy(session->weight, job->grant.weight, sizeof session->weight);
    trib_scheme_settle(trib_job_scheme(job), session);
}

struct trib_address trib_inner_towards(const struct trib_remote *inner, const struct trib_remote *other, uint32_t root)
{
    struct trib_address at = inner->at[root];
    if (trib_address_is_loopback(&at) && !trib_address_is_loopback(&other->peer) && other->local.len > 0) {
        at = other->local;
        trib_address_set_port(&at, trib_address_port(&inner->at[root]));
    }
    return at;
}

/* Source address of a switch below towards the parent; 0: towards the place of the root. */
static struct trib_address from_switch(const struct trib_job *job, uint32_t below, uint32_t parent, uint32_t root)
{
    const struct trib_remote *remote = job->below[below - 1].placement.remote;
    bool is_chained = parent != 0 && !remote->above;
    return is_chained ? trib_inner_towards(remote, job->below[parent - 1].placement.remote, root) : remote->at[root];
}

/* Of the agent with this number below the root's place. */
static void agent_auth(const struct trib_job *job, uint32_t below, uint32_t root, struct trib_auth_key *auth)
{
    if (trib_auth_is_set(job->packet_key)) {
        memcpy(auth->bytes, job->packet_key, sizeof auth->bytes);
        auth->below = (uint16_t)below;
        auth->parent = below != 0 ? job->below[below - 1].parent[root] : 0;
        auth->encrypts = job->settings.encrypt;
    }
}

void trib_job_sender_keys(const struct trib_job *job, uint32_t rank, struct trib_sender_keys *auth)
{
    if (trib_auth_is_set(job->packet_key)) {
        auth->parent = (uint16_t)job->ranks[rank].below;
        auth->encrypts = job->settings.encrypt;
        uint16_t heard = job->has_peers ? TRIB_AUTH_ALL : trib_auth_switch(auth->parent, 0);
        trib_auth_make_sender_key(job->packet_key, heard, auth->heard);
        trib_auth_make_sender_key(job->packet_key, job->has_peers ? heard : trib_auth_rank(rank), auth->own);
    }
}

struct trib_opening *trib_opening_create(const struct trib_job *job, uint32_t below, uint32_t root)
{
    uint32_t ranks_max = job->settings.ranks;
    uint16_t child[TRIB_RANKS_MAX];
    uint32_t children = trib_job_children(job, below, root, child);
    struct whole *whole =
        calloc(1, sizeof *whole + children * sizeof whole->branches[0] + ranks_max * sizeof(uint16_t));
    if (!whole) {
        return NULL;
    }
    struct trib_opening *opening = &whole->opening;
    TRIB_ASSERT(children > 0 && job->grant.roots >= 1 && job->grant.roots <= TRIB_ROOTS_MAX);
    trib_job_session(job, &opening->session);
    opening->ranks = job->settings.ranks;
    opening->scheme = trib_job_scheme(job);
    opening->boot = job->grant.boot;
    opening->branches = whole->branches;
    opening->count = children;
    opening->root = root;
    agent_auth(job, below, root, &whole->auth);
    opening->auth = &whole->auth;
    opening->shard = below != 0 ? root : job->root[root].shard;
    trib_branches_lay_out(whole->branches, children, child, ranks_max, (uint16_t *)(void *)&whole->branches[children]);
    for (uint32_t b = 0; b < children; b++) {
        struct trib_branch *branch = &whole->branches[b];
        TRIB_ASSERT(branch->count > 0); /* C-5 */
        uint32_t next = next_below(job, branch->ranks[0], below, root);
        branch->is_switch = next != 0 && !trib_job_has_servers(job);
        branch->is_combined = next != 0 && !branch->is_switch;
        branch->sender = next != 0 ? trib_auth_switch(next, root) : trib_auth_rank(branch->ranks[0]);
        branch->from = next != 0 ? from_switch(job, next, below, root) : from_rank(&job->ranks[branch->ranks[0]], root);
    }
    opening->priority = job->settings.priority;
    for (uint32_t b = 0; b < children && below != 0 && trib_job_has_servers(job); b++) {
        trib_rank_set_add(&opening->numbers, job->ranks[whole->branches[b].ranks[0]].branch);
    }
    return opening;
}

void trib_opening_destroy(struct trib_opening *opening)
{
    if (opening) {
        struct whole *whole = (struct whole *)(void *)opening;
        trib_wipe(&whole->auth, sizeof whole->auth);
    }
    free(opening);
}
