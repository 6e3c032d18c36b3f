/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c: see peers.h. */
#include "control/jobs/peers.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "control/jobs/dispute.h"
#include "control/jobs/job.h"
#include "control/jobs/opening.h"
#include "control/jobs/places.h"
#include "io/explain.h"
#include "schemes/schemes.h"

/* ---- addresses ---- */

/* The cause why other ranks cannot send to the known address; NULL: none. */
static const char *explain_unknown(const struct trib_address *address, const struct trib_address *first)
{
    if (trib_address_is_mapped(address) || address->storage.ss_family != first->storage.ss_family) {
        return "over another version of IP than the rendezvous or other ranks";
    }
    return trib_address_is_link_local(address) ? "from a link-local address" : NULL;
}

/* A rank on the host of this control plane may have come by a loopback address, which is useless on other hosts. Other
 * hosts reach the rank at the address at which a session has reached this host. */
static struct trib_address mended_address(const struct trib_rank *rank, const struct trib_session *outside)
{
    bool is_inside = trib_address_is_loopback(&rank->address) && rank->places.count == 0;
    return is_inside && outside && outside->local.len > 0 ? outside->local : rank->address;
}

/* Session of a rank from another host; NULL: none. */
static const struct trib_session *find_outside(const struct trib_job *job)
{
    const struct trib_session *outside = NULL;
    for (uint32_t i = 0; i < job->settings.ranks && !outside; i++) {
        outside = trib_address_is_loopback(&job->ranks[i].address) ? NULL : job->ranks[i].session;
    }
    return outside;
}

enum trib_status trib_peers_check(const struct trib_job *job, char *error)
{
    const struct trib_session *outside = find_outside(job);
    struct trib_address first = mended_address(&job->ranks[0], outside);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        char name[96];
        struct trib_address address = mended_address(&job->ranks[i], outside);
        const char *unknown = explain_unknown(&address, &first);
        if (unknown) {
            trib_explain(error, "%s comes %s: without a switch all ranks must be able to send to each other",
                         trib_job_name_rank(job, i, name), unknown);
            return TRIB_ERR_UNREACHABLE;
        }
    }
    return TRIB_OK;
}

enum trib_status trib_peers_address(struct trib_job *job, char *error)
{
    const struct trib_session *outside = find_outside(job);
    enum trib_status status = trib_peers_check(job, error);
    for (uint32_t i = 0; i < job->settings.ranks && status == TRIB_OK; i++) {
        job->ranks[i].address = mended_address(&job->ranks[i], outside);
    }
    return status;
}

struct trib_address trib_peers_known_as(const struct trib_rank *rank)
{
    struct trib_address address = trib_rank_place(rank, 0);
    trib_address_set_port(&address, 0);
    return address;
}

/* Where the rank's packets to other ranks come from: of several network cards the first. */
static struct trib_address place_of(const struct trib_rank *rank)
{
    struct trib_address address = trib_rank_place(rank, 0);
    trib_address_set_port(&address, rank->data_port[0]);
    return address;
}

static void name_peers(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t index,
                       struct trib_message *welcome)
{
    (void)jobs;
    const struct trib_scheme *scheme = trib_scheme_find(trib_job_scheme(job));
    struct trib_session_config session;
    uint16_t peers[TRIB_PEERS_MAX];
    trib_job_session(job, &session);
    welcome->welcome.known_as = trib_peers_known_as(&job->ranks[index]);
    uint32_t count = scheme->worker->peers ? scheme->worker->peers(&session, index, peers) : 0;
    welcome->welcome.peer_count = (uint8_t)count;
    for (uint32_t i = 0; i < count; i++) {
        welcome->welcome.peer[i] = (struct trib_peer){.rank = peers[i], .address = place_of(&job->ranks[peers[i]])};
    }
}

/* As far as ranks have said so. */
static uint32_t room(const struct trib_jobs *jobs, const struct trib_job *job)
{
    (void)jobs;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        least = trib_least(least, job->ranks[i].room);
    }
    return least;
}

/* ---- no place at all ---- */

/* One stream, without an agent. */
static enum trib_status deal(struct trib_jobs *jobs, struct trib_job *job, char *error)
{
    (void)jobs;
    job->ways = 1;
    job->placements = 0;
    job->grant.roots = job->is_return ? job->grant.roots : 1;
    return trib_peers_address(job, error);
}

static void explain_way(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, char *text)
{
    (void)jobs;
    (void)rank;
    (void)snprintf(text, 128, "a rank that it sends to or hears from%s",
                   job->is_ring ? ", as a job below a switch's --threshold does" : "");
}

uint64_t trib_peers_mark(const struct trib_jobs *jobs, const struct trib_job *job)
{
    uint64_t mark = UINT64_MAX;
    (void)jobs;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (trib_job_leads(job, i)) { /* the other ranks of a host know only messages of the leader */
            mark = job->ranks[i].mark < mark ? job->ranks[i].mark : mark;
        }
    }
    return mark;
}

/* No place holds the contributions. A rank without a contribution does not wait, which shows once all waiting ranks
 * have had time for a STALL (stall.c). */
static uint32_t missing(struct trib_jobs *jobs, struct trib_job *job, uint64_t sequence, uint64_t now_ns,
                        uint16_t *ranks, const char **silent)
{
    (void)jobs;
    (void)job;
    (void)sequence;
    (void)now_ns;
    (void)ranks;
    (void)silent;
    return TRIB_MISSING_LATER;
}

/* Before READY, as marks are yet to be told, may_run looks. */
static const char *needs(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank)
{
    (void)jobs;
    (void)rank;
    return job->state == TRIB_JOB_RUNNING ? "a rank" : NULL;
}

/* False if a rank has closed and left, and another rank is behind: the missing results may have been only at the left
 * rank. */
static bool may_run(struct trib_jobs *jobs, struct trib_job *job)
{
    uint64_t mark = trib_peers_mark(jobs, job);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->has_left && rank->mark > mark) {
            char name[96];
            char text[TRIB_ERROR_TEXT_MAX];
            trib_explain(text, "%s is gone: it was a rank of the job, and other ranks had not finished: it had closed",
                         trib_job_name_rank(job, i, name));
            trib_job_fail(jobs, job, TRIB_ERR_PEER, text);
            return false;
        }
    }
    return true;
}

/* Each rank sees the operations of others. */
static bool receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                    uint64_t now_ns)
{
    if (message->kind != TRIB_MESSAGE_DISPUTE) {
        return false;
    }
    trib_job_dispute(jobs, session->job, message->dispute.sequence, message->dispute.rank, now_ns);
    return true;
}

const struct trib_places trib_places_peers = {
    .room = room,
    .name = name_peers,
    .explain_way = explain_way,
    .may_run = may_run,
    .mark = trib_peers_mark,
    .missing = missing,
    .needs = needs,
    .receive = receive,
};

const struct trib_dealer trib_dealer_peers = {
    .sockets = "a rank",
    .owner = "all ranks",
    .deal = deal,
};
