/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c: see jobs.h: messages of running communicators, marks, stalls, disputes, and every way to end.
 * Read next: join.c and start.c (the way in), connections.c (who calls). */
#include "control/jobs/jobs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/peers.h"
#include "control/jobs/start.h"
#include "control/relay/relay.h"
#include "control/roots/borrow.h"
#include "control/roots/lend.h"
#include "control/roots/roots.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/units.h"

#define MARKS_GAP_FIRST_NS (5 * TRIB_MILLISECOND_NS)
#define MARKS_GAP_MAX_NS (100 * TRIB_MILLISECOND_NS)
#define LEFT_NS (2 * TRIB_SECOND_NS)

void trib_jobs_init(struct trib_jobs *jobs, const struct trib_server_config *config,
                    const struct trib_jobs_output *output)
{
    memset(jobs, 0, sizeof *jobs);
    jobs->config = config;
    jobs->output = *output;
    jobs->peers = trib_peers_verbs(jobs);
    jobs->borrowing = trib_borrow_verbs(jobs);
}

void trib_jobs_say(const struct trib_jobs *jobs, enum trib_log_level level, const char *format, ...)
{
    char line[1001];
    va_list arguments;
    if (!jobs->output.say) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    jobs->output.say(jobs->output.owner, level, line);
}

struct trib_job *trib_jobs_find_communicator(const struct trib_jobs *jobs, uint32_t communicator)
{
    struct trib_job *job = jobs->first;
    while (job && job->grant.communicator != communicator) {
        job = job->next;
    }
    return job;
}

char *trib_job_name_rank(const struct trib_job *job, uint32_t rank, char *text)
{
    (void)snprintf(text, 96, "rank %u (%s)", rank, job->ranks[rank].name);
    return text;
}

void trib_text_clean(char *text)
{
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            *at = '?';
        }
    }
}

void trib_rank_let_go(struct trib_jobs *jobs, struct trib_rank *rank)
{
    if (rank->session) {
        rank->session->job = NULL;
        jobs->output.end(jobs->output.owner, rank->session);
        rank->session = NULL;
    }
}

static void send_closed(struct trib_jobs *jobs, struct trib_rank *rank)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_CLOSED};
    if (rank->session) {
        jobs->output.send(jobs->output.owner, rank->session, &message);
    }
    rank->has_left = true;
    trib_rank_let_go(jobs, rank);
}

void trib_job_close_plane(struct trib_jobs *jobs, struct trib_job *job)
{
    if (job->is_open) {
        const struct trib_data_plane *plane = trib_job_plane(jobs, job);
        plane->close(plane->plane, job->grant.communicator);
        jobs->memory_used -= job->slot_bytes;
        job->is_open = false;
    }
}

void trib_job_free(struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_job **link = &jobs->first;
    while (*link != job) {
        link = &(*link)->next;
    }
    trib_job_close_plane(jobs, job); /* which finds it */
    *link = job->next;
    jobs->count--;
    trib_borrow_end(jobs, job);
    free(job);
}

void trib_job_fail(struct trib_jobs *jobs, struct trib_job *job, enum trib_status status, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = status}};
    bool goes_on = status == TRIB_ERR_SWITCH && job->meeting.len > 0; /* those who do need who has closed */
    trib_explain(message.fail.text, "%s", text);
    trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s ended: %s", job->name, text);
    jobs->stats.failed[-status]++;
    /* Rank 0 last: without a switch this control plane is in its process, which may end as soon as it hears. */
    for (uint32_t i = job->settings.ranks; i-- > 0;) {
        struct trib_rank *rank = &job->ranks[i];
        if (rank->is_closing && !goes_on) {
            send_closed(jobs, rank);
        } else if (rank->session) {
            jobs->output.send(jobs->output.owner, rank->session, &message);
            trib_rank_let_go(jobs, rank);
        }
    }
    trib_job_free(jobs, job);
}

/* A rank that has closed and left cannot come back, so that nothing that another still lacks can be redone. Those who
 * lack nothing are given the time to close as well. Nor does one stay for long that waits for CLOSED: whoever has sent
 * CLOSE is named. */
static uint64_t time_to_return(const struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_rank_list closed = {0};
    char ranks[96];
    bool has_left = false;
    uint64_t mark = 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->is_closing) {
            trib_rank_list_add(&closed, i);
            mark = rank->mark > mark ? rank->mark : mark;
            has_left = has_left || rank->has_left;
        }
    }
    if (closed.count > 0) {
        size_t len = strlen(job->lost);
        trib_format_ranks(closed.rank, trib_rank_list_carried(&closed), closed.count, ranks, sizeof ranks);
        (void)snprintf(job->lost + len, sizeof job->lost - len, ", after %s had closed at sequence %llu", ranks,
                       (unsigned long long)mark);
    }
    return has_left && LEFT_NS < jobs->config->join_timeout_ns ? LEFT_NS : jobs->config->join_timeout_ns;
}

/* All but what it is called, and whose process it is, which may be another job's as well. */
static void forget(struct trib_rank *rank)
{
    const struct trib_rank was = *rank;
    memset(rank, 0, sizeof *rank);
    memcpy(rank->name, was.name, sizeof rank->name);
    if (was.via == 0) {
        rank->address = trib_rank_place(&was, 0);
        rank->data_port[0] = was.data_port[0];
    }
}

void trib_job_recall(struct trib_jobs *jobs, struct trib_job *job, const char *lost, uint64_t now_ns)
{
    if (job->dispute.deadline_ns != 0 && !job->dispute.is_question) {
        trib_job_end_dispute(jobs, job);
        return;
    }
    (void)snprintf(job->lost, sizeof job->lost, "%s", lost);
    job->deadline_ns = now_ns + time_to_return(jobs, job);
    trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s: %s: all ranks have to come back", job->name, lost);
    trib_job_close_plane(jobs, job);
    trib_borrow_end(jobs, job);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        trib_rank_let_go(jobs, &job->ranks[i]);
        forget(&job->ranks[i]);
    }
    jobs->stats.recalled++;
    jobs->incarnation++;
    job->state = TRIB_JOB_JOINING;
    job->is_return = true;
    job->is_recalled = true;
    job->children = 0;
    job->waits_ns = now_ns;
    job->probe_ns = TRIB_NEVER;
    job->marks_ns = TRIB_NEVER;
    job->stall_logged_ns = 0;
}

void trib_jobs_deinit(struct trib_jobs *jobs, enum trib_status status, const char *text)
{
    if (jobs->relay) {
        trib_relay_deinit(jobs, status, text);
        return;
    }
    while (jobs->first) {
        trib_job_fail(jobs, jobs->first, status, text);
    }
    while (jobs->lendings) {
        trib_lend_end(jobs, jobs->lendings->session); /* its driver tells the asker */
    }
}

/* All ranks have sent CLOSE: nobody can need anything any more. */
static bool close_if_all(struct trib_jobs *jobs, struct trib_job *job)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (!job->ranks[i].is_closing) {
            return false;
        }
    }
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        send_closed(jobs, &job->ranks[i]);
    }
    trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s (communicator %08x) closed", job->name, job->grant.communicator);
    jobs->stats.closed++;
    trib_job_free(jobs, job);
    return true;
}

static void send_mark(struct trib_jobs *jobs, struct trib_rank *rank, uint64_t mark)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_MARK, .mark = {.mark = mark}};
    rank->told = mark > rank->told ? mark : rank->told;
    if (rank->session && !rank->is_outside) {
        jobs->output.send(jobs->output.owner, rank->session, &message);
    }
}

/* Of a communicator that one rank has left no operation can end any more that all have not finished. Where ranks are
 * the roots it needs nobody from then on, nor this control plane, which may end with a rank's process: so who is idle
 * has lost nothing. */
static void tell_over(struct trib_jobs *jobs, struct trib_job *job, uint64_t mark)
{
    char name[96];
    uint32_t left = 0;
    struct trib_message message = {.kind = TRIB_MESSAGE_GONE};
    while (left < job->settings.ranks && !(job->ranks[left].has_left && mark >= job->ranks[left].mark)) {
        left++;
    }
    if (job->is_over || left == job->settings.ranks) {
        return;
    }
    job->is_over = true;
    trib_explain(message.note.text, "%s has closed the communicator", trib_job_name_rank(job, left, name));
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (job->ranks[i].session) {
            jobs->output.send(jobs->output.owner, job->ranks[i].session, &message);
        }
    }
}

/* Tells M to the ranks that wait for it (they have told a mark that M had not reached), and lets those go that only
 * wait to leave. M also rises by packets, unseen from here: so it is looked at again, at growing distance, while
 * anybody waits. */
static void update_marks(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    const struct trib_data_plane *plane = trib_job_plane(jobs, job);
    uint64_t mark = plane->communicator_mark(plane->plane, job->grant.communicator);
    bool waiting = false;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        struct trib_rank *rank = &job->ranks[i];
        if (rank->session && rank->mark > rank->told && mark > rank->told) {
            send_mark(jobs, rank, mark);
        }
        if (rank->session && rank->is_closing && mark >= rank->mark) {
            send_closed(jobs, rank);
        }
        waiting = waiting || (rank->session && rank->mark > rank->told);
    }
    if (trib_roots_are_ranks(jobs->config)) {
        tell_over(jobs, job, mark);
    }
    if (!waiting) {
        job->marks_ns = TRIB_NEVER;
        return;
    }
    job->marks_gap_ns = 2 * job->marks_gap_ns < MARKS_GAP_MAX_NS ? 2 * job->marks_gap_ns : MARKS_GAP_MAX_NS;
    job->marks_ns = now_ns + job->marks_gap_ns;
}

void trib_job_await_closed(struct trib_jobs *jobs, struct trib_job *job, struct trib_session *session, uint32_t index,
                           uint64_t now_ns)
{
    struct trib_rank *rank = &job->ranks[index];
    trib_rank_let_go(jobs, rank);
    rank->session = session;
    rank->is_outside = true;
    session->job = job;
    session->rank = index;
    if (rank->has_left) {
        send_closed(jobs, rank);
    } else {
        job->marks_gap_ns = MARKS_GAP_FIRST_NS;
        update_marks(jobs, job, now_ns);
    }
}

/* MARK and CLOSE: the rank's mark goes to the data plane, M comes back. */
static bool take_mark(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark)
{
    const struct trib_data_plane *plane = trib_job_plane(jobs, job);
    struct trib_rank *rank = &job->ranks[index];
    if (mark > TRIB_SEQUENCE_MAX) {
        return false;
    }
    rank->mark = mark > rank->mark ? mark : rank->mark;
    plane->join(plane->plane, job->grant.communicator, index, rank->mark);
    send_mark(jobs, rank, plane->communicator_mark(plane->plane, job->grant.communicator));
    job->marks_gap_ns = MARKS_GAP_FIRST_NS;
    return true;
}

uint32_t trib_job_first_rank(const struct trib_job *job)
{
    uint32_t rank = 0;
    while (rank + 1 < job->settings.ranks && !job->ranks[rank].session) {
        rank++;
    }
    return rank;
}

bool trib_job_is_complete(const struct trib_job *job)
{
    bool all = true;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        all = all && job->ranks[i].session;
    }
    return all;
}

bool trib_job_is_empty(const struct trib_job *job)
{
    bool is_empty = !job->is_recalled;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        is_empty = is_empty && !job->ranks[i].session;
    }
    return is_empty;
}

/* Rank `index`, whose session is no longer there, will not go on. The job may be gone afterwards. */
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

/* Its session is gone. A rank that had sent CLOSE may go; the others may still finish what it has contributed to. But
 * what a root holds of that, or a rank that others hear from, is lost with it, until CLOSED says that nobody needs it
 * any more. The job may be gone afterwards. */
static void leave(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const char *cause)
{
    char text[TRIB_ERROR_TEXT_MAX];
    struct trib_rank *rank = &job->ranks[index];
    if (!rank->is_closing) {
        end_rank(jobs, job, index, cause);
    } else if (job->has_peers || (trib_roots_are_ranks(jobs->config) && trib_roots_need(job, index))) {
        trib_explain(text, "it was %s of the job, whose other ranks had not finished: %.300s",
                     job->has_peers ? "a rank" : "a root", cause);
        end_rank(jobs, job, index, text);
    } else {
        rank->has_left = true;
    }
}

static bool take_close(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark, uint64_t now_ns)
{
    struct trib_rank *rank = &job->ranks[index];
    if (!rank->is_registered) {
        send_closed(jobs, rank);
        end_rank(jobs, job, index, "it closed before all ranks had registered");
        return true;
    }
    if (!take_mark(jobs, job, index, mark)) {
        return false;
    }
    rank->is_closing = true;
    if (!close_if_all(jobs, job)) {
        update_marks(jobs, job, now_ns);
    }
    return true;
}

/* The rank ends, and says so itself or by its relay: ABORT, GONE. */
static void take_end(struct trib_jobs *jobs, struct trib_session *session, const char *cause)
{
    struct trib_job *job = session->job;
    uint32_t index = session->rank;
    struct trib_rank *rank = &job->ranks[index];
    trib_rank_let_go(jobs, rank);
    leave(jobs, job, index, cause);
}

static void take_abort(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message)
{
    char text[TRIB_ERROR_TEXT_MAX];
    trib_explain(text, "it aborted: %.400s", message->fail.text);
    trib_text_clean(text);
    take_end(jobs, session, text);
}

static bool take_gone(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                      uint64_t now_ns)
{
    char text[TRIB_ERROR_TEXT_MAX];
    struct trib_job *job = session->job;
    if (job->ranks[session->rank].via == 0 && (!message->note.is_lost || job->meeting.len == 0)) {
        return false;
    }
    trib_explain(text, "%.400s", message->note.text);
    trib_text_clean(text);
    if (message->note.is_lost && job->state != TRIB_JOB_JOINING) {
        trib_job_recall(jobs, job, text, now_ns);
    } else {
        take_end(jobs, session, text);
    }
    return true;
}

/* A relay cannot, or will not, carry this communicator. */
static void take_refusal(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message)
{
    struct trib_job *job = session->job;
    char text[TRIB_ERROR_TEXT_MAX];
    int32_t status = message->fail.status;
    bool is_known = status < 0 && status >= TRIB_ERR_CHECK;
    trib_explain(text, "%.400s", message->fail.text);
    trib_text_clean(text);
    if (job->state == TRIB_JOB_JOINING) {
        take_end(jobs, session, text);
    } else {
        trib_job_fail(jobs, job, is_known ? (enum trib_status)status : TRIB_ERR_REFUSED, text);
    }
}

static bool take_dispute(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                         uint64_t now_ns)
{
    const struct trib_job *job = session->job;
    if (trib_job_share_host(job, session->rank, message->dispute.rank)) {
        trib_jobs_mismatch(jobs, job->grant.communicator, message->dispute.sequence, message->dispute.rank, now_ns);
        return true;
    }
    if (trib_roots_are_ranks_of(jobs, job)) {
        return trib_roots_receive(jobs, session, message, now_ns);
    }
    bool may_see = job->has_peers || job->ranks[session->rank].via != 0; /* what others run: it is a slot's business */
    if (!may_see) {
        return false;
    }
    trib_jobs_mismatch(jobs, job->grant.communicator, message->dispute.sequence, message->dispute.rank, now_ns);
    return true;
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
    if (!take_mark(jobs, job, session->rank, message->mark.mark)) {
        return false;
    }
    update_marks(jobs, job, now_ns);
    return true;
}

static bool receive_of_rank(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                            uint64_t now_ns)
{
    struct trib_job *job = session->job;
    switch ((int)message->kind) {
    case TRIB_MESSAGE_JOIN:
        trib_job_join(jobs, session, message, now_ns);
        return true;
    case TRIB_MESSAGE_PATHS:
        trib_job_paths(jobs, job, session->rank, message);
        return true;
    case TRIB_MESSAGE_REGISTER:
    case TRIB_MESSAGE_MARK:
    case TRIB_MESSAGE_CLOSE:
        return receive_mark(jobs, session, message, now_ns);
    case TRIB_MESSAGE_OPERATION:
        trib_job_operation(jobs, job, session->rank, message);
        return true;
    case TRIB_MESSAGE_STALL:
        trib_job_stall(jobs, job, session->rank, message, now_ns);
        return true;
    case TRIB_MESSAGE_ABORT:
        take_abort(jobs, session, message);
        return true;
    case TRIB_MESSAGE_GONE:
        return take_gone(jobs, session, message, now_ns);
    case TRIB_MESSAGE_FAIL:
        take_refusal(jobs, session, message);
        return true;
    case TRIB_MESSAGE_DISPUTE:
        return take_dispute(jobs, session, message, now_ns);
    case TRIB_MESSAGE_ROOT_READY:
    case TRIB_MESSAGE_ROOT_MISSING:
        return trib_roots_receive(jobs, session, message, now_ns);
    default: /* of no rank, and of no switch below */
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
    if (message->kind == TRIB_MESSAGE_LEND) {
        trib_lend_begin(jobs, session, message, now_ns);
        return true;
    }
    if (session->lending) {
        trib_lend_receive(jobs, session, message);
        return true;
    }
    if (jobs->relay) {
        return trib_relay_receive(jobs, session, message, now_ns);
    }
    return receive_of_rank(jobs, session, message, now_ns);
}

char *trib_job_name_relay(const struct trib_rank *rank, char *text)
{
    struct trib_address relay = rank->address;
    char name[64];
    trib_address_set_port(&relay, rank->data_port[0]); /* a control plane has the port number of its first shard */
    trib_address_format(&relay, name);
    (void)snprintf(text, 96, "switch %s", name);
    return text;
}

void trib_jobs_expel(struct trib_jobs *jobs, struct trib_session *session, const char *cause)
{
    struct trib_job *job = session->job;
    if (session->lending) {
        trib_lend_end(jobs, session);
    } else if (jobs->relay) {
        trib_relay_expel(jobs, session, cause);
    }
    if (!job) {
        return;
    }
    job->ranks[session->rank].session = NULL;
    session->job = NULL;
    leave(jobs, job, session->rank, cause);
}

void trib_jobs_gone(struct trib_jobs *jobs, struct trib_session *session, const char *cause, uint64_t now_ns)
{
    struct trib_job *job = session->job;
    if (session->lending) {
        trib_lend_end(jobs, session);
    } else if (jobs->relay) {
        trib_relay_gone(jobs, session, cause);
    }
    if (!job) {
        return;
    }
    struct trib_rank *rank = &job->ranks[session->rank];
    if (rank->via == 0 || job->state == TRIB_JOB_JOINING) {
        trib_jobs_expel(jobs, session, cause);
        return;
    }
    char name[96];
    char lost[sizeof job->lost];
    rank->session = NULL; /* of the rank's own end the relay would have told */
    session->job = NULL;
    if (rank->is_closing) { /* it may come back to hear CLOSED; the others may never need it, nor its switch */
        return;
    }
    (void)snprintf(lost, sizeof lost, "%s is lost (%.64s)", trib_job_name_relay(rank, name), cause);
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
        if (job->state == TRIB_JOB_JOINING) {
            duties->awaited += !job->ranks[0].session;
        } else if (!job->is_over) {
            name_needy(job, duties);
            duties->needed++;
        }
    }
}

static void expire(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    struct trib_rank_list late = {0};
    char ranks[192];
    char lender[192] = "";
    char waited[TRIB_UNITS_TEXT_MAX];
    char text[TRIB_ERROR_TEXT_MAX];
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (job->state == TRIB_JOB_JOINING ? !rank->session : !rank->is_registered) {
            trib_rank_list_add(&late, i);
        }
    }
    if (late.count == 0 && trib_job_borrows(jobs, job)) {
        trib_borrow_explain(jobs, job, lender, sizeof lender);
    }
    bool are_roots = late.count == 0 && trib_roots_are_ranks_of(jobs, job); /* what lacks is ROOT_READY */
    for (uint32_t t = 0; are_roots && t < job->grant.roots; t++) {
        if (!job->ranks[job->root[t].rank].is_root_ready && job->root[t].shard == 0) {
            trib_rank_list_add(&late, job->root[t].rank);
        }
    }
    trib_format_ranks(late.rank, trib_rank_list_carried(&late), late.count, ranks, sizeof ranks);
    bool is_recalled = job->state == TRIB_JOB_JOINING && job->is_recalled;
    trib_format_duration(now_ns - job->waits_ns, waited);
    if (lender[0] != '\0') {
        trib_explain(text, "waited %s for %s job %s", waited, lender, job->name);
    } else if (is_recalled) {
        trib_explain(text, "%s: waited %s for %s of job %s to come back", job->lost, waited, ranks, job->name);
    } else {
        bool has_moved = job->is_return && trib_roots_are_ranks(jobs->config);
        bool differs = job->state == TRIB_JOB_JOINING && job->differs[0] != '\0';
        trib_explain(text, "waited %s for %s of job %s%s%s%s%.400s", waited, ranks, job->name,
                     has_moved ? ", which was to go on without its switch" : "",
                     job->state == TRIB_JOB_JOINING ? ""
                     : are_roots                    ? late.count == 1 ? " to open its root" : " to open their roots"
                                                    : " to try their paths and register",
                     differs ? ": " : "", differs ? job->differs : "");
    }
    trib_job_fail(jobs, job, TRIB_ERR_TIMEOUT, text);
}

static uint64_t job_timeout(const struct trib_job *job)
{
    uint64_t when = job->deadline_ns;
    when = job->probe_ns < when ? job->probe_ns : when;
    when = job->marks_ns < when ? job->marks_ns : when;
    when = job->loans_ns < when ? job->loans_ns : when;
    if (job->dispute.deadline_ns != 0 && job->dispute.deadline_ns < when) {
        when = job->dispute.deadline_ns;
    }
    if (job->apart_ns != 0 && job->apart_ns < when) {
        when = job->apart_ns;
    }
    return when;
}

uint64_t trib_jobs_next_timeout(const struct trib_jobs *jobs)
{
    uint64_t when = trib_lend_next_timeout(jobs);
    for (const struct trib_job *job = jobs->first; job; job = job->next) {
        uint64_t next = job_timeout(job);
        when = next < when ? next : when;
    }
    return when;
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
        update_marks(jobs, job, now_ns);
    }
    if (now_ns >= job->loans_ns) {
        trib_borrow_on_timeout(jobs, job, now_ns);
    }
}

void trib_jobs_on_timeout(struct trib_jobs *jobs, uint64_t now_ns)
{
    struct trib_job *next;
    trib_lend_on_timeout(jobs, now_ns);
    trib_jobs_part(jobs, now_ns);
    for (struct trib_job *job = jobs->first; job; job = next) {
        next = job->next;
        if (jobs->relay) {
            trib_relay_job_on_timeout(jobs, job, now_ns);
        } else {
            job_on_timeout(jobs, job, now_ns);
        }
    }
}
