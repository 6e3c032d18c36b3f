/* SPDX-License-Identifier: Apache-2.0 */
/* leaves.c: see leaves.h. */
#include "control/roots/leaves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/answers.h"
#include "control/jobs/find.h"
#include "control/jobs/job.h"
#include "control/jobs/opening.h"
#include "control/jobs/placements.h"
#include "control/jobs/recall.h"
#include "control/jobs/start.h"
#include "core/assert.h"
#include "io/explain.h"

/* The place of a shard, as the parent knows the switch. */
static struct trib_address place_of(const struct trib_session *session, const struct trib_address *at)
{
    struct trib_address place = *at;
    if (trib_address_is_any(at)) {
        place = session->peer;
        trib_address_set_port(&place, trib_address_port(at));
    } else if (!session->leaf) {
        memcpy(place.source, session->peer.source, sizeof place.source);
    }
    return place;
}

/* Packets go to the named places, so a stranger's address is refused (I7) as far as possible, as in a JOIN (join.c). */
static bool is_place(const struct trib_jobs *jobs, const struct trib_session *session, const struct trib_address *at)
{
    const struct trib_address place = place_of(session, at);
    bool is_own = !session->leaf && trib_server_is_own_place(jobs->config, &session->local, &place);
    bool is_like_peer = place.storage.ss_family == session->peer.storage.ss_family &&
                        trib_address_is_loopback(&place) == trib_address_is_loopback(&session->peer);
    bool is_one_machine = !trib_address_is_group(&place) && !trib_address_is_mapped(&place) &&
                          (trib_address_is_any(at) || !trib_address_is_link_local(&place));
    return trib_address_port(&place) != 0 && !is_own && is_like_peer && is_one_machine;
}

const char *trib_leaves_explain_unfit(const struct trib_jobs *jobs, const struct trib_message *hello,
                                      const struct trib_session *session)
{
    bool has_places = hello->hello.shards > 0 && hello->hello.room > 0;
    if (jobs->config->shards == 0) {
        return "this is not a switch, but rank 0 of a job without one: it cannot be the parent of a switch";
    }
    for (uint32_t i = 0; i < hello->hello.shards; i++) {
        has_places = has_places && is_place(jobs, session, &hello->hello.at[i]);
    }
    return has_places ? NULL : "a switch below names a room, and for each shard an address and a port to send from";
}

/* C-16: the way from here to a switch passes no switch twice. C-17: one connection of a switch is usable. */
static void check_identity(const struct trib_jobs *jobs, uint64_t identity, const struct trib_remote *above)
{
    uint32_t hops = 1;
    TRIB_ASSERT(identity != 0);
    for (; above; above = above->above) {
        TRIB_ASSERT(above->identity != identity);
        hops++;
    }
    TRIB_ASSERT(hops <= TRIB_HOPS_MAX);
    for (const struct trib_remote *other = jobs->leaves; other; other = other->next) {
        TRIB_ASSERT(!trib_remote_is_usable(other) || other->identity != identity);
    }
}

struct trib_remote *trib_leaves_add(struct trib_jobs *jobs, const struct trib_message *hello,
                                    const struct trib_session *session, void *line)
{
    char text[64];
    struct trib_remote *remote = calloc(1, sizeof *remote);
    if (!remote) {
        return NULL;
    }
    TRIB_ASSERT(!trib_leaves_explain_unfit(jobs, hello, session));
    check_identity(jobs, hello->hello.identity, session->leaf);
    *remote = (struct trib_remote){.state = TRIB_REMOTE_USABLE,
                                   .output = &jobs->below,
                                   .line = line,
                                   .life = hello->hello.life,
                                   .identity = hello->hello.identity,
                                   .room = hello->hello.room,
                                   .weight = hello->hello.weight,
                                   .shards = hello->hello.shards,
                                   .is_below = true,
                                   .above = session->leaf,
                                   .peer = session->peer,
                                   .local = session->local,
                                   .next = jobs->leaves};
    for (uint32_t i = 0; i < remote->shards; i++) {
        remote->at[i] = place_of(session, &hello->hello.at[i]);
        remote->is_named = remote->is_named || !trib_address_is_any(&hello->hello.at[i]);
    }
    trib_address_format(&remote->at[0], text);
    (void)snprintf(remote->name, sizeof remote->name, "switch %s", text);
    jobs->leaves = remote;
    trib_jobs_say(jobs, TRIB_LOG_INFO, "%s is below this one, with %u shards", remote->name, remote->shards);
    return remote;
}

const struct trib_remote *trib_leaves_lost_on_way(const struct trib_remote *leaf)
{
    const struct trib_remote *lost = leaf;
    for (const struct trib_remote *at = leaf; at; at = at->above) {
        lost = trib_remote_is_usable(at) ? lost : at;
    }
    return lost;
}

/* ---- messages ---- */

static bool is_on_way(const struct trib_remote *leaf, const struct trib_remote *remote)
{
    while (leaf && leaf != remote) {
        leaf = leaf->above;
    }
    return leaf != NULL;
}

/* BYE: ends each open communicator over the switch, except with a detour: such a communicator is recalled at the end of
 * the connection, as if the switch was killed. Ranks leave gathering communicators. */
static void take_bye(struct trib_jobs *jobs, struct trib_remote *remote, const struct trib_message *bye)
{
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = TRIB_ERR_SWITCH}};
    struct trib_job *next;
    trib_explain(fail.fail.text, "%.400s", bye->fail.text);
    for (struct trib_job *job = jobs->first; job; job = next) {
        uint32_t over = 0;
        next = job->next;
        for (uint32_t i = 0; i < job->settings.ranks; i++) {
            struct trib_session *session = job->ranks[i].session;
            over += session && is_on_way(session->leaf, remote);
        }
        bool has_begun = job->is_open || job->is_recalled;
        if (has_begun && trib_job_has_detour(job)) {
            continue;
        }
        if (over > 0 && has_begun) {
            trib_job_fail(jobs, job, TRIB_ERR_SWITCH, fail.fail.text);
            next = jobs->first; /* one end may end other jobs; ended jobs are not visited again */
            continue;
        }
        for (uint32_t i = 0; i < job->settings.ranks && over > 0; i++) {
            struct trib_rank *rank = &job->ranks[i];
            if (rank->session && is_on_way(rank->session->leaf, remote)) {
                jobs->output.send(jobs->output.owner, rank->session, &fail);
                trib_rank_let_go(jobs, rank);
            }
        }
        if (over > 0 && trib_job_is_empty(job)) {
            trib_job_free(jobs, job);
        }
    }
}

static void take_of_opening(struct trib_jobs *jobs, struct trib_remote *remote, const struct trib_message *message,
                            uint64_t now_ns)
{
    struct trib_job *job = trib_jobs_find_communicator(jobs, message->of.communicator);
    char text[TRIB_ERROR_TEXT_MAX];
    struct trib_placement *placement = job && job->is_open ? trib_placement_of_remote(job, remote) : NULL;
    if (!placement || job->grant.boot != message->of.boot) {
        return; /* of an ended incarnation */
    }
    if (message->kind == TRIB_MESSAGE_ROOT_REFUSED) {
        bool names_itself = message->root_refused.status == TRIB_ERR_UNREACHABLE;
        trib_explain(text, "%s%s%.430s", names_itself ? "" : remote->name, names_itself ? "" : ": ",
                     message->root_refused.text);
        trib_job_fail(jobs, job, trib_placement_status(message->root_refused.status), text);
    } else if (!trib_placement_answer(jobs, job, placement, message, now_ns)) {
        trib_explain(text, "%s sent an unexpected message %s", remote->name, trib_message_name(message->kind));
        trib_job_fail(jobs, job, TRIB_ERR_REFUSED, text);
    }
}

bool trib_leaves_answer(struct trib_jobs *jobs, struct trib_remote *remote, const struct trib_message *message,
                        uint64_t now_ns)
{
    switch ((int)message->kind) {
    case TRIB_MESSAGE_BYE:
        take_bye(jobs, remote, message);
        return true;
    case TRIB_MESSAGE_ROOT_OPENED:
    case TRIB_MESSAGE_ROOT_READY:
    case TRIB_MESSAGE_ROOT_MISSING:
    case TRIB_MESSAGE_ROOT_REFUSED:
    case TRIB_MESSAGE_DISPUTE:
        take_of_opening(jobs, remote, message, now_ns);
        return true;
    default:
        return false;
    }
}

/* ---- the end ---- */

void trib_leaves_lose(struct trib_remote *remote)
{
    remote->state = TRIB_REMOTE_AWAY;
}

void trib_leaves_remove(struct trib_jobs *jobs, struct trib_remote *remote, const char *cause, uint64_t now_ns)
{
    struct trib_remote **at = &jobs->leaves;
    char lost[256];
    (void)snprintf(lost, sizeof lost, "%s is lost (%.64s)", trib_leaves_lost_on_way(remote)->name, cause);
    TRIB_ASSERT(!trib_remote_is_usable(remote));
    while (remote->served) {
        struct trib_placement *placement = remote->served;
        struct trib_job *job = placement->job;
        if (trib_placement_is_over(job, placement)) {
            trib_placement_leave_agent(placement);
            placement->remote = NULL;
            if (job->state == TRIB_JOB_STARTING) { /* READY may have waited only for the placement */
                trib_job_run_if_ready(jobs, job, now_ns);
            }
        } else {
            trib_job_recall(jobs, job, lost, now_ns);
        }
    }
    while (*at != remote) {
        TRIB_ASSERT(*at);
        at = &(*at)->next;
    }
    *at = remote->next;
    trib_jobs_say(jobs, TRIB_LOG_INFO, "%s is no longer below this one (%.64s)", remote->name, cause);
    free(remote);
}
