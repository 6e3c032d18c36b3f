/* SPDX-License-Identifier: Apache-2.0 */
/* switches.c: see switches.h. Read next: start.c (the caller), placements.c (the requests to agents). */
#include "control/roots/switches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/answers.h"
#include "control/jobs/find.h"
#include "control/jobs/job.h"
#include "control/jobs/placements.h"
#include "control/jobs/places.h"
#include "control/jobs/recall.h"
#include "control/jobs/start.h"
#include "control/roots/trees.h"
#include "core/assert.h"
#include "fabric/planned.h"
#include "io/clock.h"
#include "io/explain.h"

#define AWAY_NS TRIB_SECOND_NS /* wait for a restarting agent, before ranks are told */
#define LOG_GAP_NS (10 * TRIB_SECOND_NS)

static uint32_t number_of(const struct trib_jobs *jobs, const struct trib_remote *remote)
{
    return (uint32_t)(remote - jobs->remote);
}

/* ---- which jobs an agent matters to ---- */

static bool has_all(const struct trib_jobs *jobs, const struct trib_job *job)
{
    bool all = true;
    for (uint32_t k = 0; k < trib_trees_count(jobs, job); k++) {
        uint32_t which = trib_trees_at(job, k);
        all = all && (which == 0 || trib_remote_is_usable(&jobs->remote[which - 1]));
    }
    return all;
}

/* True for a complete job with chosen switches. In jobs->waiting: some agent is not there. */
static bool waits(const struct trib_job *job)
{
    return job->state == TRIB_JOB_JOINING && !job->has_peers && job->has_trees && trib_job_is_complete(job);
}

static bool has_roots_at(struct trib_job *job, const struct trib_remote *remote)
{
    return job->is_open && trib_placement_of_remote(job, remote) != NULL;
}

/* A waiting job that has not taken the latest event: a job with a tree at the agent. remote NULL: a job that can start
 * now. Each call begins from the front, as the start of a job may end other jobs. */
static struct trib_job *next_waiting(const struct trib_jobs *jobs, const struct trib_remote *remote)
{
    for (struct trib_job *job = jobs->waiting; job; job = job->next_waiting) {
        bool is_meant = job->heard != jobs->event &&
                        (remote ? trib_trees_have(jobs, job, number_of(jobs, remote) + 1) : has_all(jobs, job));
        if (is_meant && waits(job)) {
            job->heard = jobs->event;
            return job;
        }
    }
    return NULL;
}

static void start_all(struct trib_jobs *jobs, uint64_t now_ns)
{
    struct trib_job *job;
    jobs->event++;
    while ((job = next_waiting(jobs, NULL)) != NULL) {
        trib_job_start(jobs, job, now_ns);
    }
}

/* ---- an absent agent ---- */

/* All present ranks come again, and know the deadline. A job that was never running thus begins anew. */
static void send_away(struct trib_jobs *jobs, struct trib_job *job, const char *cause)
{
    struct trib_message away = {.kind = TRIB_MESSAGE_AWAY};
    trib_explain(away.note.text, "%s", cause);
    job->unlent_ns = 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        struct trib_rank *rank = &job->ranks[i];
        if (rank->session) {
            jobs->output.send(jobs->output.owner, rank->session, &away);
            trib_rank_let_go(jobs, rank);
        }
    }
    if (trib_job_is_empty(job)) {
        trib_job_free(jobs, job);
    }
}

/* An agent of a complete job does not answer, or was lost again before the job started. */
static void wait_on(struct trib_jobs *jobs, struct trib_job *job, struct trib_remote *remote, const char *cause,
                    uint64_t now_ns)
{
    if (jobs->unlent_logged_ns == 0 || now_ns - jobs->unlent_logged_ns >= LOG_GAP_NS) {
        jobs->unlent_logged_ns = now_ns;
        trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s: %s; trying again", job->name, cause);
    }
    job->unlent_ns = job->unlent_ns != 0 ? job->unlent_ns : now_ns;
    if (now_ns - job->unlent_ns >= AWAY_NS) {
        send_away(jobs, job, cause);
    } else {
        trib_remote_hurry(remote, now_ns);
    }
}

/* Starts a new job without the agent, if possible. False: not possible. */
static bool does_without(struct trib_jobs *jobs, struct trib_job *job, const struct trib_remote *remote,
                         const char *cause, uint64_t now_ns)
{
    if (!trib_trees_avoid(jobs, job, number_of(jobs, remote), now_ns)) {
        return false;
    }
    trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s: %s; it does without", job->name, cause);
    trib_job_start(jobs, job, now_ns);
    return true;
}

/* The agent had roots of the job. Before WELCOME no rank has been told anything, and the job waits. */
static void end_incarnation(struct trib_jobs *jobs, struct trib_job *job, const char *text, uint64_t now_ns)
{
    if (job->state == TRIB_JOB_PLACING) {
        trib_job_unplace(jobs, job);
    } else {
        trib_job_recall(jobs, job, text, now_ns);
    }
}

/* status: final status of jobs that wait for the agent; OK: such jobs go on waiting. */
static void lose(struct trib_jobs *jobs, struct trib_remote *remote, enum trib_status status, const char *text,
                 uint64_t now_ns)
{
    struct trib_placement *const *served = &remote->served;
    struct trib_job *job;
    TRIB_ASSERT(status != TRIB_ERR_PEER); /* C-7 */
    if (trib_remote_is_usable(remote)) {
        trib_jobs_say(jobs, TRIB_LOG_WARN, "%s", text);
    }
    trib_remote_end(remote, status == TRIB_OK, now_ns);
    while (*served) {
        end_incarnation(jobs, (*served)->job, text, now_ns);
    }
    jobs->event++;
    while ((job = next_waiting(jobs, remote)) != NULL) {
        if (does_without(jobs, job, remote, text, now_ns)) {
            continue;
        }
        if (status == TRIB_OK) {
            wait_on(jobs, job, remote, text, now_ns);
        } else {
            trib_job_fail(jobs, job, status, text);
        }
    }
    start_all(jobs, now_ns); /* jobs dealt anew together with a job that avoids the agent */
}

void trib_switches_lost(struct trib_jobs *jobs, struct trib_remote *remote, const char *cause, bool is_foreign,
                        uint64_t now_ns)
{
    char text[TRIB_ERROR_TEXT_MAX];
    trib_explain(text, "%s, which jobs here use as well (--with), %s: %.128s", remote->name,
                 trib_remote_is_usable(remote) ? "is lost" : "cannot be reached", cause);
    lose(jobs, remote, is_foreign ? TRIB_ERR_UNREACHABLE : TRIB_OK, text, now_ns);
}

/* The agent refuses all jobs, with a text. An agent that shuts down is lost, and may be restarted. */
static void take_refusal(struct trib_jobs *jobs, struct trib_remote *remote, int32_t status, const char *said,
                         uint64_t now_ns)
{
    char text[TRIB_ERROR_TEXT_MAX];
    if (status == TRIB_ERR_SWITCH) {
        trib_switches_lost(jobs, remote, said, false, now_ns);
        return;
    }
    trib_explain(text, "%s, which jobs here use as well (--with): %.300s", remote->name, said);
    lose(jobs, remote, trib_placement_status(status), text, now_ns);
}

/* ---- messages of agents ---- */

void trib_switches_connected(struct trib_jobs *jobs, struct trib_remote *remote)
{
    trib_remote_connected(remote, trib_address_port(&jobs->config->listen), jobs->life,
                          jobs->output.draw(jobs->output.owner));
}

/* One switch by two addresses would be two agents. NULL: no other agent is the same switch. */
static const char *is_twice(const struct trib_jobs *jobs, const struct trib_remote *remote)
{
    const char *other = remote->life == jobs->life ? "this switch itself" : NULL;
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        const struct trib_remote *at = &jobs->remote[i];
        if (at != remote && trib_remote_is_usable(at) && at->life == remote->life) {
            other = at->name;
        }
    }
    return other;
}

static void take_hello(struct trib_jobs *jobs, struct trib_remote *remote, uint64_t now_ns)
{
    char text[TRIB_ERROR_TEXT_MAX];
    const char *other = is_twice(jobs, remote);
    if (other) {
        trib_explain(text, "it is %s: name each switch once", other);
        take_refusal(jobs, remote, TRIB_ERR_REFUSED, text, now_ns);
        return;
    }
    trib_jobs_say(jobs, TRIB_LOG_INFO, "%s takes part in jobs here, with %u shards", remote->name, remote->shards);
    start_all(jobs, now_ns);
}

/* Takes a message about an incarnation with roots at the agent. A message about another incarnation has crossed the end
 * of that incarnation. */
static void take_of_opening(struct trib_jobs *jobs, struct trib_remote *remote, const struct trib_message *message,
                            uint64_t now_ns)
{
    struct trib_job *job = trib_jobs_find_communicator(jobs, message->of.communicator);
    char text[TRIB_ERROR_TEXT_MAX];
    if (!job || job->grant.boot != message->of.boot || !has_roots_at(job, remote)) {
        return;
    }
    if (message->kind == TRIB_MESSAGE_ROOT_REFUSED) {
        trib_explain(text, "%s, which jobs here use as well (--with): %.300s", remote->name,
                     message->root_refused.text);
        if (job->state == TRIB_JOB_PLACING && !job->is_return) { /* the ranks have been told nothing yet */
            trib_job_unplace(jobs, job);
        }
        if (does_without(jobs, job, remote, text, now_ns)) {
            return;
        }
        trib_job_fail(jobs, job, trib_placement_status(message->root_refused.status), text);
        return;
    }
    if (message->kind == TRIB_MESSAGE_ROOT_READY) {
        remote->refused_ns = 0;
    }
    if (!trib_placement_answer(jobs, job, trib_placement_of_remote(job, remote), message, now_ns)) {
        trib_explain(text, "%s, which jobs here use as well (--with), sent an unexpected message %s", remote->name,
                     trib_message_name(message->kind));
        trib_job_fail(jobs, job, TRIB_ERR_REFUSED, text);
    }
}

static enum trib_stage stage_of(const struct trib_remote *remote)
{
    return trib_remote_is_usable(remote) ? TRIB_STAGE_RUNNING : TRIB_STAGE_JOINING;
}

void trib_switches_answer(struct trib_jobs *jobs, struct trib_remote *remote, const struct trib_message *message,
                          uint64_t now_ns)
{
    char cause[128];
    bool is_right = trib_message_is_in_turn(message->kind, TRIB_SENDER_AGENT, stage_of(remote));
    switch (is_right ? (int)message->kind : TRIB_MESSAGE_NONE) {
    case TRIB_MESSAGE_HELLO:
    case TRIB_MESSAGE_ROOM:
        is_right = trib_remote_receive(remote, message);
        if (is_right && message->kind == TRIB_MESSAGE_HELLO) {
            take_hello(jobs, remote, now_ns);
        }
        break;
    case TRIB_MESSAGE_AWAY: /* the agent has no room for a session */
        trib_switches_lost(jobs, remote, message->note.text, false, now_ns);
        return;
    case TRIB_MESSAGE_FAIL:
        take_refusal(jobs, remote, message->fail.status, message->fail.text, now_ns);
        return;
    case TRIB_MESSAGE_NONE:
        break;
    default:
        take_of_opening(jobs, remote, message, now_ns);
        return;
    }
    if (!is_right) {
        (void)snprintf(cause, sizeof cause,
                       "unexpected message %s: not a Tributary switch that lends, or one of another version",
                       trib_message_name(message->kind));
        trib_switches_lost(jobs, remote, cause, true, now_ns);
    }
}

/* ---- time ---- */

void trib_switches_end(struct trib_jobs *jobs)
{
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        trib_remote_end(&jobs->remote[i], false, 0);
        jobs->remote[i].dial_ns = TRIB_NEVER;
    }
}

uint64_t trib_switches_next_timeout(const struct trib_jobs *jobs)
{
    uint64_t when = TRIB_NEVER;
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        when = trib_time_earlier(when, trib_remote_timeout(&jobs->remote[i]));
    }
    return when;
}

void trib_switches_on_timeout(struct trib_jobs *jobs, uint64_t now_ns)
{
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        struct trib_remote *remote = &jobs->remote[i];
        if (now_ns >= trib_remote_timeout(remote) && !trib_remote_on_timeout(remote, now_ns)) {
            trib_switches_lost(jobs, remote, "no answer", false, now_ns);
        }
    }
}

/* ---- roots ---- */

/* Restarts jobs that have not begun and must follow the begun job. One such job may end. False: out of memory. */
static bool start_followers(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    struct trib_job **list = job->is_return ? calloc(jobs->count, sizeof(struct trib_job *)) : NULL;
    uint32_t count = list ? trib_trees_unbind(jobs, job, list) : 0;
    for (uint32_t i = 0; i < count; i++) {
        if (trib_job_is_complete(list[i])) {
            trib_job_start(jobs, list[i], now_ns);
        }
    }
    free(list);
    return list || !job->is_return;
}

/* True if the job's switches are chosen and usable. */
static bool choose(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    bool was_chosen = job->has_trees;
    enum trib_status status = trib_trees_choose(jobs, job, now_ns, error);
    if (status != TRIB_OK) {
        trib_job_fail(jobs, job, status, error);
        return false;
    }
    if (!was_chosen) {
        job->waits_ns = now_ns; /* all ranks are there */
        if (!start_followers(jobs, job, now_ns)) {
            trib_job_fail(jobs, job, TRIB_ERR_MEMORY, "the control plane is out of memory");
            return false;
        }
    }
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        if (trib_trees_have(jobs, job, i + 1)) {
            trib_remote_hurry(&jobs->remote[i], now_ns);
        }
    }
    if (!has_all(jobs, job)) {
        trib_job_wait(jobs, job);
        return false;
    }
    return true;
}

/* Uses the same number of shards at each switch, the least of all, so that each switch carries load by weight. Root t
 * is at switch t mod n, and a rank sends to root t by card t mod n. So with one card per switch, each switch has a
 * separate way. */
static enum trib_status deal(struct trib_jobs *jobs, struct trib_job *job, char *error)
{
    uint32_t switches = trib_trees_count(jobs, job);
    uint32_t each = TRIB_ROOTS_MAX / switches;
    TRIB_ASSERT(has_all(jobs, job));
    for (uint32_t k = 0; k < switches; k++) {
        uint32_t which = trib_trees_at(job, k);
        each = trib_least(each, which > 0 ? jobs->remote[which - 1].shards : jobs->config->shards);
    }
    uint32_t roots = each * switches;
    const struct trib_planned_job *planned = trib_trees_planned(jobs, job);
    if (job->is_return && job->grant.roots > roots) {
        trib_explain(
            error,
            "job %s used %u shards, but this switch and its lenders came back with %u: start them with --with and "
            "--threads as before",
            job->name, job->grant.roots, roots);
        return TRIB_ERR_REFUSED;
    }
    for (uint32_t t = 0; t < roots; t++) {
        uint32_t which = trib_trees_at(job, t % switches);
        struct trib_remote *remote = which > 0 ? &jobs->remote[which - 1] : NULL;
        const struct trib_placement where = {.carrier = remote ? TRIB_CARRIER_REMOTE : TRIB_CARRIER_CALL,
                                             .remote = remote};
        trib_placements_add(job, t, &where, t / switches);
        if (!job->is_return) {
            uint8_t own = jobs->config->weight > 0 ? jobs->config->weight : 1;
            job->grant.weight[t] = planned ? planned->weight[t % switches] : remote ? remote->weight : own;
        }
    }
    job->grant.roots = job->is_return ? job->grant.roots : roots;
    job->ways = switches;
    job->unlent_ns = 0;
    return TRIB_OK;
}

/* Switches below may carry fewer roots than were dealt: the log names the remaining switches of a new job. */
static void say_dealt(struct trib_jobs *jobs, struct trib_job *job)
{
    if (!job->is_return && job->grant.switches[0] != 0) {
        char list[256];
        trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s: trees through %s, of %u switches%s", job->name,
                      trib_trees_list(jobs, job, list, sizeof list), jobs->config->lenders.count + 1,
                      trib_trees_planned(jobs, job) ? ", by the plan" : "");
    }
}

static bool explain_late(const struct trib_jobs *jobs, const struct trib_job *job, char *text)
{
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        const struct trib_remote *remote = &jobs->remote[i];
        if (trib_trees_have(jobs, job, i + 1) && !trib_remote_is_usable(remote)) {
            trib_explain(text, "%s to lend its shards to job %s", remote->name, job->name);
            return true;
        }
    }
    return false;
}

const struct trib_dealer trib_dealer_switches = {
    .sockets = "one of its switches",
    .owner = "the switch",
    .way = "a shard of this switch, or of one that lends to it",
    .choose = choose,
    .deal = deal,
    .explain_late = explain_late,
    .say_dealt = say_dealt,
};
