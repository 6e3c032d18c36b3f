/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c: see jobs.h: messages of running communicators, marks, stalls, disputes, and every way to end.
 * Read next: join.c and start.c (the way in), connections.c (the caller). */
#include "control/jobs/state.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/admission.h"
#include "control/jobs/answers.h"
#include "control/jobs/cut.h"
#include "control/jobs/differ.h"
#include "control/jobs/dispute.h"
#include "control/jobs/find.h"
#include "control/jobs/here.h"
#include "control/jobs/hosts.h"
#include "control/jobs/job.h"
#include "control/jobs/jobs.h"
#include "control/jobs/join.h"
#include "control/jobs/marks.h"
#include "control/jobs/opening.h"
#include "control/jobs/peers.h"
#include "control/jobs/ping.h"
#include "control/jobs/places.h"
#include "control/jobs/progress.h"
#include "control/jobs/recall.h"
#include "control/jobs/stall.h"
#include "control/jobs/start.h"
#include "control/jobs/turn.h"
#include "control/roots/leaves.h"
#include "control/roots/loads.h"
#include "control/roots/processes.h"
#include "control/roots/roots.h"
#include "control/roots/switches.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/units.h"

#define ROOM_GAP_NS (50 * TRIB_MILLISECOND_NS) /* least time between two ROOM */

void trib_jobs_init(struct trib_jobs *jobs, const struct trib_server_config *config,
                    const struct trib_jobs_output *output)
{
    memset(jobs, 0, offsetof(struct trib_jobs, queue));
    jobs->config = config;
    jobs->output = *output;
    trib_agent_init(&jobs->agent, &config->plane, config->shards);
    jobs->agent.memory_quota = config->memory_quota;
    jobs->agent.job_quota = config->job_quota;
    jobs->agent.tenant_quota = config->tenant_quota != 0 ? config->tenant_quota : UINT64_MAX;
    jobs->life = output->draw(output->owner);
    trib_masters_init(&jobs->masters, &jobs->agent, config, &jobs->output);
    for (uint32_t i = 0; i < config->lenders.count; i++) {
        trib_remote_init(&jobs->remote[i], &config->lenders.at[i], &jobs->remotes);
    }
    jobs->peers = &trib_places_peers;
    jobs->no_dealer = &trib_dealer_peers;
    jobs->agents = &trib_places_agents;
    jobs->dealer = trib_roots_are_ranks(config) ? &trib_dealer_ranks
                   : config->lenders.count > 0  ? &trib_dealer_switches
                                                : &trib_dealer_here;
}

/* ---- controllers elsewhere ---- */

static void end_master(struct trib_jobs *jobs, struct trib_session *session)
{
    struct trib_master *master = session->master;
    session->master = NULL;
    trib_masters_remove(&jobs->masters, master);
}

/* A process has one session here: ends an earlier session of the same process, the end of which has not been seen yet.
 * The id alone proves nothing, as two hosts that use each other know each other's ids. */
static void end_session_before(struct trib_jobs *jobs, const struct trib_master *now)
{
    const struct trib_master *master = jobs->masters.first;
    while (master && (master == now || !master->session || master->id != now->id ||
                      !trib_address_same_host(&master->peer, &now->peer))) {
        master = master->next;
    }
    if (master) {
        struct trib_session *session = master->session;
        end_master(jobs, session);
        jobs->output.end(jobs->output.owner, session);
    }
}

static void take_control(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                         uint64_t now_ns)
{
    struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL};
    enum trib_status status =
        trib_masters_add(&jobs->masters, session, &session->peer, &session->local, message, fail.fail.text);
    struct trib_master *master = jobs->masters.first;
    if (status != TRIB_OK) {
        fail.fail.status = status;
        jobs->stats.refused[-status]++;
        jobs->output.send(jobs->output.owner, session, &fail);
        jobs->output.end(jobs->output.owner, session);
        return;
    }
    session->master = master;
    end_session_before(jobs, master);
    trib_masters_greet(&jobs->masters, master, message, jobs->life, trib_admission_room(jobs, master));
    jobs->room_ns = now_ns;
}

/* Openings here change the room of other controllers. */
static uint64_t room_timeout(const struct trib_jobs *jobs)
{
    bool has_changed = jobs->masters.first && jobs->room_changes != jobs->agent.changes;
    return has_changed ? jobs->room_ns + ROOM_GAP_NS : TRIB_NEVER;
}

static void tell_room(struct trib_jobs *jobs, uint64_t now_ns)
{
    jobs->room_changes = jobs->agent.changes;
    jobs->room_ns = now_ns;
    for (struct trib_master *master = jobs->masters.first; master; master = master->next) {
        trib_masters_tell_room(&jobs->masters, master, trib_admission_room(jobs, master));
    }
}

void trib_jobs_deinit(struct trib_jobs *jobs, enum trib_status status, const char *text)
{
    while (jobs->first) {
        trib_job_fail(jobs, jobs->first, status, text);
    }
    trib_switches_end(jobs);
    trib_loads_deinit(jobs);
    trib_processes_deinit(jobs);
    while (jobs->masters.first) { /* the driver tells the master the cause */
        if (jobs->masters.first->session) {
            end_master(jobs, jobs->masters.first->session);
        } else {
            trib_masters_remove(&jobs->masters, jobs->masters.first);
        }
    }
}

/* Rank `index` has no session any more, and does not go on. The job may be gone afterwards. */
static void end_rank(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const char *cause)
{
    char name[96];
    char text[TRIB_ERROR_TEXT_MAX];
    (void)trib_job_name_rank(job, index, name);
    if (job->state == TRIB_JOB_JOINING) {
        trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s: %s has left before all had joined: %s", job->name, name, cause);
        if (trib_job_is_empty(job)) {
            trib_job_free(jobs, job);
        }
        return;
    }
    trib_explain(text, "%s is gone: %s", name, cause);
    trib_job_fail(jobs, job, TRIB_ERR_PEER, text);
}

/* The session of rank `index` is gone. A rank that had sent CLOSE may go; the other ranks may still finish operations
 * with its contributions. But before CLOSED, results at the rank's root, or packets of a rank that sends to other
 * ranks, are lost with the rank. The job may be gone afterwards. */
static void leave(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const char *cause, uint64_t now_ns)
{
    char text[TRIB_ERROR_TEXT_MAX];
    struct trib_rank *rank = &job->ranks[index];
    const struct trib_places *places = trib_job_places(jobs, job);
    const char *what = places->needs(jobs, job, index);
    if (!rank->is_closing || job->state == TRIB_JOB_JOINING) {
        end_rank(jobs, job, index, cause);
    } else if (what) {
        trib_explain(text, "it was %s of the job, and other ranks had not finished: %.300s", what, cause);
        end_rank(jobs, job, index, text);
    } else {
        rank->has_left = true;
        if (!rank->is_registered) { /* the other ranks do not wait for REGISTER any more */
            trib_job_register(jobs, job, index, rank->mark, now_ns);
        }
    }
}

/* The rank had sent CLOSE before the loss of the switch, and repeats CLOSE before REGISTER: the rank may leave as
 * well. */
static bool close_early(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark)
{
    struct trib_rank *rank = &job->ranks[index];
    if (mark > TRIB_SEQUENCE_MAX) {
        return false;
    }
    rank->mark = mark > rank->mark ? mark : rank->mark;
    rank->is_closing = true;
    (void)trib_job_close_if_all(jobs, job);
    return true;
}

static bool take_close(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark, uint64_t now_ns)
{
    struct trib_rank *rank = &job->ranks[index];
    if (!rank->is_registered && rank->was_ready) {
        return close_early(jobs, job, index, mark);
    }
    if (job->state <= TRIB_JOB_PLACING) {
        return false;
    }
    if (!rank->is_registered) {
        trib_rank_send_closed(jobs, rank);
        end_rank(jobs, job, index, "it closed before all ranks had registered");
        return true;
    }
    if (!trib_job_take_mark(jobs, job, index, mark)) {
        return false;
    }
    rank->is_closing = true;
    if (!trib_job_close_if_all(jobs, job)) {
        trib_job_update_marks(jobs, job, now_ns);
    }
    return true;
}

/* The rank ends with a message: ABORT, GONE. */
static void take_end(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns)
{
    struct trib_job *job = session->job;
    uint32_t index = session->rank;
    struct trib_rank *rank = &job->ranks[index];
    trib_rank_let_go(jobs, rank);
    leave(jobs, job, index, cause, now_ns);
}

/* Lists the ranks for which other ranks wait. */
static void list_late(const struct trib_job *job, bool with_given_up, struct trib_rank_list *late)
{
    memset(late, 0, sizeof *late);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        bool is_late = job->state <= TRIB_JOB_PLACING ? !rank->session || rank->is_recalled : !rank->is_registered;
        if (is_late && (with_given_up || !rank->has_given_up)) {
            trib_rank_list_add(late, i);
        }
    }
}

/* All ranks are there: names the agent for which the ranks wait. False: unknown. */
static bool explain_late_place(const struct trib_jobs *jobs, const struct trib_job *job, char *text)
{
    bool (*explain_late)(const struct trib_jobs *jobs, const struct trib_job *job, char *text) =
        job->state == TRIB_JOB_JOINING ? trib_job_dealer(jobs, job)->explain_late
                                       : trib_job_places(jobs, job)->explain_late;
    return explain_late && explain_late(jobs, job, text);
}

/* The rank's own limit has ended before the limit of this control plane, and the rank leaves. Ranks of one launch leave
 * in turn, and no leaving rank is the cause. */
static void tell_late(struct trib_jobs *jobs, struct trib_job *job, struct trib_rank *rank)
{
    struct trib_message answer = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = TRIB_ERR_TIMEOUT}};
    struct trib_rank_list late;
    char text[TRIB_ERROR_TEXT_MAX];
    list_late(job, false, &late);
    if (late.count > 0) {
        trib_format_ranks(late.rank, trib_rank_list_carried(&late), late.count, text, 192);
        trib_explain(answer.fail.text, "%s %s missing%s%.200s", text, late.count == 1 ? "is" : "are",
                     job->differs[0] != '\0' ? ": " : "", job->differs);
    } else if (explain_late_place(jobs, job, text)) {
        trib_explain(answer.fail.text, "the job waited for %.200s", text);
    }
    rank->has_given_up = true;
    trib_rank_tell(jobs, rank, &answer);
}

static void expire(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    struct trib_rank_list late;
    char ranks[192];
    char place[TRIB_ERROR_TEXT_MAX];
    char waited[TRIB_UNITS_TEXT_MAX];
    char text[TRIB_ERROR_TEXT_MAX];
    if (job->cut != 0) {
        trib_job_end_cut(jobs, job);
        return;
    }
    list_late(job, true, &late);
    trib_format_ranks(late.rank, trib_rank_list_carried(&late), late.count, ranks, sizeof ranks);
    bool is_recalled = job->state == TRIB_JOB_JOINING && job->is_recalled;
    trib_format_duration(now_ns - job->waits_ns, waited);
    if (late.count == 0 && explain_late_place(jobs, job, place)) {
        trib_explain(text, "waited %s for %.400s", waited, place);
    } else if (is_recalled) {
        trib_explain(text, "%s: waited %s for %s of job %s to come back", job->lost, waited, ranks, job->name);
    } else {
        bool differs = job->state == TRIB_JOB_JOINING && job->differs[0] != '\0';
        trib_explain(text, "waited %s for %s of job %s%s%s%s%.400s", waited, ranks, job->name,
                     trib_job_has_moved(jobs, job) ? ", which was to go on without its switch" : "",
                     job->state == TRIB_JOB_JOINING ? ""
                     : late.count == 1              ? " to try its UDP paths and register"
                                                    : " to try their UDP paths and register",
                     differs ? ": " : "", differs ? job->differs : "");
    }
    trib_job_fail(jobs, job, TRIB_ERR_TIMEOUT, text);
}

/* All ranks are present, and the limit of one is over: every rank is told the late ranks. False: no rank is late. */
static bool expire_early(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    struct trib_rank_list late;
    char text[TRIB_ERROR_TEXT_MAX];
    list_late(job, true, &late);
    if (job->state != TRIB_JOB_STARTING || job->cut != 0 || (late.count == 0 && !explain_late_place(jobs, job, text))) {
        return false;
    }
    expire(jobs, job, now_ns);
    return true;
}

static void take_abort(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                       uint64_t now_ns)
{
    char text[TRIB_ERROR_TEXT_MAX];
    struct trib_job *job = session->job;
    if (job->state <= TRIB_JOB_PLACING && message->fail.status == TRIB_ERR_TIMEOUT) {
        tell_late(jobs, job, &job->ranks[session->rank]);
    } else if (message->fail.status == TRIB_ERR_TIMEOUT && expire_early(jobs, job, now_ns)) {
        return;
    }
    trib_explain(text, "it aborted: %.400s", message->fail.text);
    take_end(jobs, session, text, now_ns);
}

static bool take_gone(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                      uint64_t now_ns)
{
    char text[TRIB_ERROR_TEXT_MAX];
    struct trib_job *job = session->job;
    if (!message->note.is_lost || (job->meeting.len == 0 && !trib_job_has_detour(job))) {
        return false;
    }
    trib_explain(text, "%.400s", message->note.text);
    if (job->state != TRIB_JOB_JOINING) {
        trib_job_recall(jobs, job, text, now_ns);
    } else {
        take_end(jobs, session, text, now_ns);
    }
    return true;
}

/* A message of a rank with a root, or of a ring. */
static bool receive_of_place(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                             uint64_t now_ns)
{
    return trib_job_places(jobs, session->job)->receive(jobs, session, message, now_ns);
}

/* Only an owner of slots sees the operations of other ranks: a place that sums, or the leader of a host. */
static bool take_dispute(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                         uint64_t now_ns)
{
    struct trib_job *job = session->job;
    if (!trib_job_share_host(job, session->rank, message->dispute.rank)) {
        return receive_of_place(jobs, session, message, now_ns);
    }
    trib_job_dispute(jobs, job, message->dispute.sequence, message->dispute.rank, now_ns);
    return true;
}

void trib_jobs_mismatch(struct trib_jobs *jobs, uint32_t communicator, uint64_t sequence, const uint32_t rank[2],
                        uint64_t now_ns)
{
    struct trib_job *job = trib_jobs_find_communicator(jobs, communicator);
    if (job) {
        trib_job_dispute(jobs, job, sequence, rank, now_ns);
    } else {
        trib_masters_mismatch(&jobs->masters, communicator, sequence, rank);
    }
}

static bool receive_mark(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                         uint64_t now_ns)
{
    struct trib_job *job = session->job;
    if (message->kind == TRIB_MESSAGE_REGISTER) {
        if (message->mark.mark > TRIB_SEQUENCE_MAX) {
            return false;
        }
        trib_job_register(jobs, job, session->rank, message->mark.mark, now_ns);
        return true;
    }
    if (message->kind == TRIB_MESSAGE_CLOSE) {
        return take_close(jobs, job, session->rank, message->mark.mark, now_ns);
    }
    if (!trib_job_take_mark(jobs, job, session->rank, message->mark.mark)) {
        return false;
    }
    trib_job_look_at_marks(jobs, job, now_ns);
    return true;
}

static bool receive_of_rank(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                            uint64_t now_ns)
{
    struct trib_job *job = session->job;
    if (trib_job_drops(jobs, session, message)) {
        return true;
    }
    switch ((int)message->kind) {
    case TRIB_MESSAGE_PATHS:
        trib_job_paths(jobs, job, session->rank, message);
        return true;
    case TRIB_MESSAGE_REGISTER:
    case TRIB_MESSAGE_MARK:
    case TRIB_MESSAGE_CLOSE:
        return receive_mark(jobs, session, message, now_ns);
    case TRIB_MESSAGE_PROGRESS:
        trib_job_progress(jobs, job, session->rank, message);
        return true;
    case TRIB_MESSAGE_OPERATION:
        trib_job_operation(jobs, job, session->rank, message);
        return true;
    case TRIB_MESSAGE_STALL:
        trib_job_stall(jobs, job, session->rank, message, now_ns);
        return true;
    case TRIB_MESSAGE_ABORT:
        take_abort(jobs, session, message, now_ns);
        return true;
    case TRIB_MESSAGE_GONE:
        return take_gone(jobs, session, message, now_ns);
    case TRIB_MESSAGE_DISPUTE:
        return take_dispute(jobs, session, message, now_ns);
    case TRIB_MESSAGE_ROOT_OPENED:
    case TRIB_MESSAGE_ROOT_READY:
    case TRIB_MESSAGE_ROOT_MISSING:
        return receive_of_place(jobs, session, message, now_ns);
    default: /* of no rank */
        return false;
    }
}

bool trib_jobs_receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                       uint64_t now_ns)
{
    if (!trib_session_is_in_turn(session, message)) {
        return false;
    }
    if (message->kind == TRIB_MESSAGE_PING || message->kind == TRIB_MESSAGE_PONG) {
        trib_jobs_ping(jobs, session, message, now_ns);
        return true;
    }
    if (message->kind == TRIB_MESSAGE_CONTROL) {
        take_control(jobs, session, message, now_ns);
        return true;
    }
    if (message->kind == TRIB_MESSAGE_JOIN) {
        trib_job_join(jobs, session, message, now_ns);
        return true;
    }
    if (session->master) {
        trib_masters_receive(&jobs->masters, session->master, message);
        return true;
    }
    return receive_of_rank(jobs, session, message, now_ns);
}

/* is_cut: a connection on the way has ended, which shows nothing of the rank. */
static void end_session(struct trib_jobs *jobs, struct trib_session *session, const char *cause, bool is_cut,
                        uint64_t now_ns)
{
    struct trib_job *job = session->job;
    if (session->master) {
        end_master(jobs, session);
    }
    if (!job) {
        return;
    }
    trib_job_leave_place(session);
    if (!is_cut) {
        trib_job_miss(jobs, job, session->rank, cause, now_ns);
    }
    leave(jobs, job, session->rank, cause, now_ns);
}

void trib_jobs_expel(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns)
{
    end_session(jobs, session, cause, false, now_ns);
}

void trib_jobs_gone(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns)
{
    struct trib_job *job = session->job;
    struct trib_rank *rank = job ? &job->ranks[session->rank] : NULL;
    if (job && rank->via == 0 && trib_job_cut(jobs, session, cause, now_ns)) {
        return;
    }
    if (!job || rank->via == 0 || job->state == TRIB_JOB_JOINING) {
        end_session(jobs, session, cause, rank && rank->via != 0, now_ns);
        return;
    }
    char lost[sizeof job->lost];
    rank->session = NULL; /* of the rank's own end the switch below would have told */
    session->job = NULL;
    if (rank->is_closing && rank->is_registered) {
        return; /* the rank may come back for CLOSED; the other ranks may never need the rank or the switch */
    }
    (void)snprintf(lost, sizeof lost, "%s is lost (%.64s)", trib_leaves_lost_on_way(session->leaf)->name, cause);
    trib_job_recall(jobs, job, lost, now_ns);
}

static void name_needy(const struct trib_job *job, struct trib_server_duties *duties)
{
    struct trib_rank_list there = {0};
    char ranks[96];
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (job->ranks[i].session) {
            trib_rank_list_add(&there, i);
        }
    }
    trib_format_ranks(there.rank, trib_rank_list_carried(&there), there.count, ranks, sizeof ranks);
    (void)snprintf(duties->who, sizeof duties->who, "%s of job %s", ranks, job->name);
}

void trib_jobs_duties(const struct trib_jobs *jobs, struct trib_server_duties *duties)
{
    memset(duties, 0, sizeof *duties);
    for (const struct trib_job *job = jobs->first; job; job = job->next) {
        duties->jobs++;
        if (job->state == TRIB_JOB_JOINING && job->maker == 0) {
            duties->awaited += !job->ranks[0].session;
        } else if (!job->is_over) { /* all ranks are there, and wait for no other rank */
            name_needy(job, duties);
            duties->needed++;
        }
    }
}

uint64_t trib_jobs_next_timeout(struct trib_jobs *jobs)
{
    uint64_t when = trib_time_earlier(trib_switches_next_timeout(jobs), room_timeout(jobs));
    when = trib_time_earlier(when, trib_masters_next_timeout(&jobs->masters));
    const struct trib_job *job = trib_jobs_next_due(jobs);
    return job ? trib_time_earlier(when, trib_job_timeout(job)) : when;
}

static void job_on_timeout(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    if (now_ns >= job->deadline_ns) {
        expire(jobs, job, now_ns);
        return;
    }
    if (job->dispute.deadline_ns != 0 && now_ns >= job->dispute.deadline_ns) {
        trib_job_end_dispute(jobs, job);
        return;
    }
    if (now_ns >= job->probe_ns) {
        trib_job_probe(jobs, job, now_ns);
    }
    if (now_ns >= job->marks_ns) {
        trib_job_look_at_marks(jobs, job, now_ns);
    }
}

void trib_jobs_on_timeout(struct trib_jobs *jobs, uint64_t now_ns)
{
    struct trib_job *job;
    bool has_parted = false;
    if (now_ns >= room_timeout(jobs)) {
        tell_room(jobs, now_ns);
    }
    trib_switches_on_timeout(jobs, now_ns);
    trib_masters_on_timeout(&jobs->masters, now_ns);
    jobs->looks++; /* each job once */
    while ((job = trib_jobs_next_due(jobs)) != NULL && now_ns >= trib_job_timeout(job) && job->looked != jobs->looks) {
        if (!has_parted && trib_job_is_to_part(job, now_ns)) {
            has_parted = true;
            trib_jobs_part(jobs, now_ns);
            continue; /* the job may be gone */
        }
        job->looked = jobs->looks;
        job_on_timeout(jobs, job, now_ns);
    }
}
