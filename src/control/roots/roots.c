/* SPDX-License-Identifier: Apache-2.0 */
/* roots.c: see roots.h. It keeps nothing but what a struct trib_job holds, since what it speaks over are the sessions of
 * the job's own ranks, or its loans. Read next: stall.c (the one answer that comes later). */
#include "control/roots/roots.h"

#include <stdio.h>
#include <string.h>

#include "control/jobs/peers.h"
#include "control/jobs/places.h"
#include "control/jobs/start.h"
#include "control/roots/borrow.h"
#include "core/assert.h"
#include "core/window.h"
#include "io/explain.h"
#include "io/units.h"

/* ---- which ranks, and where ---- */

/* A host has one link to the others: one root there is enough, and more would share it. */
static bool has_root_before(const struct trib_job *job, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->root_port != 0 && rank->host != 0 && rank->host == job->ranks[index].host) {
            return true;
        }
    }
    return false;
}

/* Who offers roots, in order of ranks, and how many: one for each network card, so that all carry their part; fewer
 * where that would be too many. */
struct offers {
    uint32_t count;
    uint16_t rank[TRIB_ROOTS_MAX];
    uint16_t roots[TRIB_ROOTS_MAX];
};

static void collect(const struct trib_job *job, struct offers *offers)
{
    memset(offers, 0, sizeof *offers);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (offers->count < TRIB_ROOTS_MAX && job->ranks[i].root_port != 0 && !has_root_before(job, i)) {
            offers->rank[offers->count++] = (uint16_t)i;
        }
    }
    for (uint32_t i = 0; i < offers->count; i++) {
        uint32_t cards = trib_rank_places(&job->ranks[offers->rank[i]]);
        uint32_t most = TRIB_ROOTS_MAX / offers->count;
        offers->roots[i] = (uint16_t)(cards < most ? cards : most);
    }
}

/* A rank's sockets are at its cards in turn: the first at card t mod n that no root before this one has. */
static uint16_t choose_socket(const struct trib_job *job, uint32_t root)
{
    uint32_t cards = trib_rank_places(&job->ranks[job->root[root].rank]);
    uint32_t socket = root % cards;
    for (uint32_t before = 0; before < root; before++) {
        if (job->root[before].rank == job->root[root].rank && before % cards == root % cards) {
            socket += cards;
        }
    }
    return (uint16_t)socket;
}

/* The roots of a rank follow each other; root t is at card t mod n of its rank, from which all ranks with as many cards
 * send to it as well. A job that came from a switch may have more roots than are offered: they go on in turn. */
static void deal(struct trib_job *job, const struct offers *offers)
{
    uint32_t offer = 0;
    uint32_t dealt = 0; /* to that one, in this turn */
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        if (dealt == offers->roots[offer]) {
            offer = (offer + 1) % offers->count;
            dealt = 0;
        }
        dealt++;
        job->root[t].loan = NULL;
        job->root[t].rank = offers->rank[offer];
        job->root[t].shard = choose_socket(job, t);
    }
}

static enum trib_status deal_roots(struct trib_jobs *jobs, struct trib_job *job, char *error)
{
    struct offers offers;
    enum trib_status status = trib_peers_address(job, error);
    if (status != TRIB_OK) {
        return status;
    }
    collect(job, &offers);
    if (offers.count == 0) {
        trib_explain(error,
                     "no rank of job %s can be a root: this is no switch, but where ranks meet that do without one: "
                     "name it as the rendezvous (TRIB_RENDEZVOUS), or name a switch",
                     job->name);
        return TRIB_ERR_REFUSED;
    }
    if (!job->is_return) {
        job->grant.roots = 0;
        for (uint32_t i = 0; i < offers.count; i++) {
            job->grant.roots += offers.roots[i];
        }
    }
    deal(job, &offers);
    job->ways = job->grant.roots;
    job->is_elsewhere = true;
    for (uint32_t t = 0; t < job->grant.roots && !job->is_return; t++) {
        job->grant.weight[t] = job->ranks[job->root[t].rank].weight;
    }
    job->grant.data_port = job->ranks[job->root[0].rank].root_port;
    if (job->is_return) {
        trib_admission_shrink(jobs, job);
    }
    return TRIB_OK;
}

static struct trib_address root_address(const struct trib_job *job, uint32_t root)
{
    const struct trib_rank *rank = &job->ranks[job->root[root].rank];
    struct trib_address address = trib_rank_place(rank, job->root[root].shard);
    trib_address_set_port(&address, (uint16_t)(rank->root_port + job->root[root].shard));
    return address;
}

static void name_roots(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank,
                       struct trib_message *welcome)
{
    (void)jobs;
    welcome->welcome.no_box = true;
    welcome->welcome.known_as = trib_peers_known_as(&job->ranks[rank]);
    welcome->welcome.root_count = (uint8_t)job->grant.roots;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        welcome->welcome.root[t] = root_address(job, t);
    }
}

static uint32_t room(const struct trib_jobs *jobs, const struct trib_job *job)
{
    (void)jobs;
    uint32_t least = UINT32_MAX;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        uint32_t room = job->ranks[job->root[t].rank].room;
        least = room < least ? room : least;
    }
    return least;
}

/* Some process is a root of both. */
static bool meet(const struct trib_jobs *jobs, const struct trib_job *a, const struct trib_job *b)
{
    (void)jobs;
    TRIB_ASSERT(b); /* the room of a root is that of a job's root */
    for (uint32_t s = 0; s < a->grant.roots; s++) {
        struct trib_address one = root_address(a, s);
        for (uint32_t t = 0; t < b->grant.roots; t++) {
            struct trib_address other = root_address(b, t);
            if (trib_address_equal(&one, &other)) {
                return true;
            }
        }
    }
    return false;
}

uint32_t trib_roots_of(const struct trib_job *job, uint64_t sequence)
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

static void name_root(const struct trib_jobs *jobs, const struct trib_job *job, uint64_t sequence, char *text)
{
    char name[96];
    (void)jobs;
    (void)snprintf(text, 128, "%s, its root",
                   trib_job_name_rank(job, job->root[trib_roots_of(job, sequence)].rank, name));
}

static bool is_root(const struct trib_job *job, uint32_t rank)
{
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        if (job->root[t].rank == rank) {
            return true;
        }
    }
    return false;
}

static bool are_ready(const struct trib_job *job)
{
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        if (!job->ranks[job->root[t].rank].is_root_ready) {
            return false;
        }
    }
    return true;
}

static const char *needs(const struct trib_job *job, uint32_t rank)
{
    return job->is_open && is_root(job, rank) && !job->ranks[rank].has_left ? "a root" : NULL;
}

static void explain_way(const struct trib_job *job, char *text)
{
    (void)job;
    (void)snprintf(text, 128, "a root of the job");
}

/* What lacks is ROOT_READY. */
static bool explain_late(const struct trib_jobs *jobs, const struct trib_job *job, char *text)
{
    struct trib_rank_list late = {0};
    char ranks[192];
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (is_root(job, i) && !job->ranks[i].is_root_ready) {
            trib_rank_list_add(&late, i);
        }
    }
    trib_format_ranks(late.rank, trib_rank_list_carried(&late), late.count, ranks, sizeof ranks);
    trib_explain(text, "%s of job %s%s to open %s", ranks, job->name,
                 trib_job_has_moved(jobs, job) ? ", which was to go on without its switch" : "",
                 late.count == 1 ? "its root" : "their roots");
    return late.count > 0;
}

/* ---- slots ---- */

static void say(struct trib_jobs *jobs, const struct trib_job *job, const struct trib_root_place *root,
                const struct trib_message *message)
{
    if (root->loan) {
        jobs->loans.send(jobs->loans.owner, root->loan, message);
    } else if (job->ranks[root->rank].session) {
        jobs->output.send(jobs->output.owner, job->ranks[root->rank].session, message);
    }
}

/* A shard of the switch around this control plane. */
static bool is_here(const struct trib_jobs *jobs, const struct trib_root_place *root)
{
    return !root->loan && !trib_roots_are_ranks(jobs->config);
}

/* Root by root, so that a rank that is to be two is asked for one after the other. */
static void ask_to_open(struct trib_jobs *jobs, const struct trib_job *job, const struct trib_opening *opening,
                        uint32_t root)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_OPEN,
                                   .root_open = {.index = root,
                                                 .shard = job->root[root].shard,
                                                 .boot = opening->boot,
                                                 .ranks = opening->ranks,
                                                 .session = opening->session}};
    (void)snprintf(message.root_open.scheme, sizeof message.root_open.scheme, "%s", opening->scheme);
    if (job->root[root].loan) {
        message.root_open.key = job->grant.key;
    } else {
        message.root_open.at = root_address(job, root);
    }
    say(jobs, job, &job->root[root], &message);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        uint32_t branch = job->ranks[i].branch;
        message = (struct trib_message){.kind = TRIB_MESSAGE_ROOT_CHILD,
                                        .root_child = {.communicator = opening->session.communicator,
                                                       .rank = i,
                                                       .branch = branch,
                                                       .is_switch = opening->branches[branch].is_switch,
                                                       .from = opening->branches[branch].address[root]}};
        say(jobs, job, &job->root[root], &message);
    }
}

enum trib_status trib_roots_open(struct trib_jobs *jobs, struct trib_job *job, const struct trib_opening *opening,
                                 char *error)
{
    struct trib_root_at here[TRIB_ROOTS_MAX];
    uint32_t count = 0;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        job->root[t].is_asked = false;
        if (is_here(jobs, &job->root[t])) {
            here[count++] = (struct trib_root_at){t, job->root[t].shard};
        }
    }
    enum trib_status status = count > 0 ? trib_job_open_here(jobs, job, opening, here, count, error) : TRIB_OK;
    for (uint32_t t = 0; t < job->grant.roots && status == TRIB_OK; t++) {
        if (!is_here(jobs, &job->root[t])) {
            ask_to_open(jobs, job, opening, t);
        }
    }
    return status;
}

static bool is_same_process(const struct trib_root_place *a, const struct trib_root_place *b)
{
    return a->loan == b->loan && (a->loan || a->rank == b->rank);
}

void trib_roots_join(struct trib_jobs *jobs, struct trib_job *job, uint32_t rank, uint64_t mark)
{
    uint32_t communicator = job->grant.communicator;
    const struct trib_message message = {.kind = TRIB_MESSAGE_ROOT_JOIN,
                                         .root_join = {.communicator = communicator, .rank = rank, .mark = mark}};
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        bool is_first = true; /* once to each process */
        for (uint32_t before = 0; before < t; before++) {
            is_first = is_first && !is_same_process(&job->root[before], &job->root[t]);
        }
        if (is_first && is_here(jobs, &job->root[t])) {
            jobs->config->plane.join(jobs->config->plane.plane, communicator, rank, mark);
        } else if (is_first) {
            say(jobs, job, &job->root[t], &message);
        }
    }
}

/* One question at a time to each root; what others want to know is asked when its answer is here. */
static void ask_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence)
{
    struct trib_root_place *root = &job->root[trib_roots_of(job, sequence)];
    const struct trib_message message = {
        .kind = TRIB_MESSAGE_ROOT_MISSING,
        .root_missing = {.communicator = job->grant.communicator, .sequence = sequence}};
    if (!root->is_asked) {
        root->is_asked = true;
        root->asked = sequence;
        say(jobs, job, root, &message);
    }
}

uint32_t trib_roots_missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint16_t *ranks,
                            uint32_t max)
{
    const struct trib_data_plane *here = &jobs->config->plane;
    if (is_here(jobs, &job->root[trib_roots_of(job, sequence)])) {
        return here->missing(here->plane, job->grant.communicator, sequence, ranks, max);
    }
    ask_missing(jobs, job, sequence);
    return TRIB_MISSING_LATER;
}

/* ---- what roots say ---- */

static bool take_ready(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message,
                       uint64_t now_ns)
{
    struct trib_rank *rank = &job->ranks[index];
    if (rank->is_root_ready || message->root_ready.communicator != job->grant.communicator ||
        message->root_ready.boot != job->grant.boot) {
        return false;
    }
    rank->is_root_ready = true;
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

/* What another rank waits for, and nobody has asked about. */
static void ask_next(struct trib_jobs *jobs, struct trib_job *job, const struct trib_root_place *root)
{
    for (uint32_t i = 0; i < job->settings.ranks && !root->is_asked; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->session && rank->stall.is_open && &job->root[trib_roots_of(job, rank->stall.sequence)] == root) {
            ask_missing(jobs, job, rank->stall.sequence);
        }
    }
}

/* from: whose word it is. */
static bool take_missing(struct trib_jobs *jobs, struct trib_job *job, const struct trib_root_place *from,
                         const struct trib_message *message, uint64_t now_ns)
{
    uint64_t sequence = message->root_missing.sequence;
    struct trib_root_place *root = &job->root[trib_roots_of(job, sequence)];
    if (message->root_missing.communicator != job->grant.communicator || !is_same_process(root, from) ||
        !root->is_asked || root->asked != sequence || !is_list(job, &message->root_missing.missing)) {
        return false;
    }
    root->is_asked = false;
    if (trib_job_missing(jobs, job, sequence, &message->root_missing.missing, now_ns)) {
        ask_next(jobs, job, root);
    }
    return true;
}

bool trib_roots_take_missing(struct trib_jobs *jobs, struct trib_loan *loan, const struct trib_message *message,
                             uint64_t now_ns)
{
    const struct trib_root_place from = {.loan = loan};
    return take_missing(jobs, loan->job, &from, message, now_ns);
}

static bool receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                    uint64_t now_ns)
{
    struct trib_job *job = session->job;
    const struct trib_root_place from = {.rank = (uint16_t)session->rank};
    if (!is_root(job, session->rank)) {
        return false;
    }
    if (message->kind == TRIB_MESSAGE_ROOT_READY) {
        return take_ready(jobs, job, session->rank, message, now_ns);
    }
    if (message->kind == TRIB_MESSAGE_ROOT_MISSING) {
        return take_missing(jobs, job, &from, message, now_ns);
    }
    trib_job_dispute(jobs, job, message->dispute.sequence, message->dispute.rank, now_ns);
    return true;
}

/* And nothing to close: every root ends with its rank's session. */
const struct trib_places trib_places_ranks = {
    .sockets = "a rank",
    .owner = "all ranks",
    .deal = deal_roots,
    .room = room,
    .meet = meet,
    .open = trib_roots_open,
    .name = name_roots,
    .explain_way = explain_way,
    .join = trib_roots_join,
    .mark = trib_peers_mark,
    .is_ready = are_ready,
    .explain_late = explain_late,
    .missing = trib_roots_missing,
    .name_root = name_root,
    .needs = needs,
    .receive = receive,
};
