/* SPDX-License-Identifier: Apache-2.0 */
/* meeting.c: the address for ranks after the final loss of a switch. WELCOME has the address, while the switch is still
 * there.
 * - All ranks meet at rank 0 (settings.fallback). The process of rank 0 listens from the start, at the port in JOIN.
 * - A rank behind combiners comes to this switch, which has the roots.
 * - A rank of scheme rina comes to a switch on its own host, if one is in the ring, and else to this switch.
 * Read next: roots.c (the roots there). */
#include "control/jobs/meeting.h"
#include "control/jobs/opening.h"
#include "control/jobs/state.h"
#include "control/roots/roots.h"

/* The address at which ranks on other hosts reach this host. NULL: none known. */
static const struct trib_address *address_outside(const struct trib_job *job)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->session && rank->session->local.len > 0 && !trib_address_is_loopback(&rank->address)) {
            return &rank->session->local;
        }
    }
    return NULL;
}

/* The address of rank 0, from the session. A rank on a switch's machine may have come by a loopback address: then the
 * address of that switch. */
static bool find_rank_0(const struct trib_job *job, struct trib_address *address)
{
    const struct trib_rank *rank = &job->ranks[0];
    *address = rank->address;
    if (trib_address_is_loopback(address) && rank->session->leaf) { /* on the host of the switch */
        *address = rank->session->leaf->peer;
    }
    const struct trib_address *outside = address_outside(job);
    if (trib_address_is_loopback(address) && outside) {
        *address = *outside;
    }
    return trib_address_is_known_everywhere(address);
}

void trib_job_choose_meeting(const struct trib_jobs *jobs, struct trib_job *job)
{
    job->meeting = (struct trib_address){.len = 0};
    if (!job->settings.fallback || job->ranks[0].meet_port == 0 || trib_roots_are_ranks(jobs->config) ||
        !find_rank_0(job, &job->meeting)) {
        job->meeting.len = 0;
        return;
    }
    trib_address_set_port(&job->meeting, job->ranks[0].meet_port);
}

/* True for another switch of the ring on the rank's host. */
static bool is_on_host(const struct trib_remote *leaf, const struct trib_job *job, const struct trib_session *session)
{
    bool is_link = leaf != session->leaf && !leaf->above && trib_remote_is_usable(leaf);
    bool is_large = leaf->shards >= job->grant.roots;
    return is_link && is_large && !trib_address_is_loopback(&leaf->peer) &&
           trib_address_same_host(&leaf->peer, &session->peer);
}

/* After the loss of the rack's switch, the host may be a separate rack. NULL: no other switch runs there. */
static const struct trib_remote *find_own(const struct trib_jobs *jobs, const struct trib_job *job,
                                          const struct trib_session *session)
{
    const struct trib_remote *leaf = job->is_chain ? jobs->leaves : NULL;
    while (leaf && !is_on_host(leaf, job, session)) {
        leaf = leaf->next;
    }
    return leaf;
}

/* Each switch on the way has reached the next switch at some address. A loopback address stands for the machine of the
 * earlier switch, with a known address. */
struct trib_address trib_job_server_towards(const struct trib_jobs *jobs, const struct trib_job *job,
                                            const struct trib_session *session)
{
    static const struct trib_address none = {.len = 0};
    const struct trib_address *listen = &jobs->config->listen;
    struct trib_address place = session->local;
    if (!session->leaf || !trib_job_has_detour(job)) {
        return none;
    }
    const struct trib_remote *own = find_own(jobs, job, session);
    if (own) {
        return own->at[0].storage.ss_family == session->local.storage.ss_family ? own->at[0] : none;
    }
    for (const struct trib_remote *leaf = session->leaf; leaf; leaf = leaf->above) {
        if (leaf->local.len == 0 || place.len == 0) {
            return none;
        }
        bool is_beside = trib_address_is_loopback(&leaf->local) && !trib_address_is_loopback(&place);
        place = is_beside ? place : leaf->local;
    }
    bool is_inside = trib_address_is_loopback(&place) && !trib_address_is_loopback(&session->peer);
    bool is_bound = trib_address_is_loopback(listen) && !trib_address_is_loopback(&place);
    if (is_inside || is_bound || place.storage.ss_family != session->local.storage.ss_family ||
        !trib_address_is_known_everywhere(&place)) {
        return none;
    }
    trib_address_set_port(&place, trib_address_port(listen));
    return place;
}
