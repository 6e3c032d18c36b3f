/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.c: see jobs.h: messages of running communicators, marks, stalls, disputes, and every way to end.
 * Read next: join.c and start.c (the way in), connections.c (who calls). */
#include "control/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/start.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/log.h"
#include "io/units.h"

#define MARKS_GAP_FIRST_NS (5 * TRIB_MILLISECOND_NS)
#define MARKS_GAP_MAX_NS (100 * TRIB_MILLISECOND_NS)
#define DISPUTE_NS (500 * TRIB_MILLISECOND_NS)

void trib_jobs_init(struct trib_jobs *jobs, const struct trib_server_config *config,
                    const struct trib_jobs_output *output)
{
    memset(jobs, 0, sizeof *jobs);
    jobs->config = config;
    jobs->output = *output;
}

struct trib_job *trib_jobs_find(const struct trib_jobs *jobs, const char *name)
{
    struct trib_job *job = jobs->first;
    while (job && strcmp(job->name, name) != 0) {
        job = job->next;
    }
    return job;
}

struct trib_job *trib_jobs_find_communicator(const struct trib_jobs *jobs, uint32_t communicator)
{
    struct trib_job *job = jobs->first;
    while (job && job->grant.communicator != communicator) {
        job = job->next;
    }
    return job;
}

/* "rank 2 (10.0.0.3:41234)". text: 96 bytes. */
static char *name_rank(const struct trib_job *job, uint32_t rank, char *text)
{
    char peer[64];
    trib_address_format(&job->ranks[rank].address, peer);
    (void)snprintf(text, 96, "rank %u (%s)", rank, peer);
    return text;
}

/* What a rank wrote goes to logs and terminals of others: no control characters. */
static void clean(char *text)
{
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            *at = '?';
        }
    }
}

static void let_go(struct trib_jobs *jobs, struct trib_rank *rank)
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
    let_go(jobs, rank);
}

static void free_job(struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_job **link = &jobs->first;
    while (*link != job) {
        link = &(*link)->next;
    }
    *link = job->next;
    jobs->count--;
    if (job->is_open) {
        jobs->config->plane.close(jobs->config->plane.plane, job->grant.communicator);
        jobs->memory_used -= job->slot_bytes;
    }
    free(job);
}

void trib_job_fail(struct trib_jobs *jobs, struct trib_job *job, enum trib_status status, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = status}};
    trib_explain(message.fail.text, "%s", text);
    trib_log(TRIB_LOG_WARN, "job %s ended: %s", job->name, text);
    jobs->stats.failed[-status]++;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        struct trib_rank *rank = &job->ranks[i];
        if (rank->is_closing) {
            send_closed(jobs, rank);
        } else if (rank->session) {
            jobs->output.send(jobs->output.owner, rank->session, &message);
            let_go(jobs, rank);
        }
    }
    free_job(jobs, job);
}

void trib_jobs_deinit(struct trib_jobs *jobs, enum trib_status status, const char *text)
{
    while (jobs->first) {
        trib_job_fail(jobs, jobs->first, status, text);
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
    trib_log(TRIB_LOG_INFO, "job %s (communicator %08x) closed", job->name, job->grant.communicator);
    jobs->stats.closed++;
    free_job(jobs, job);
    return true;
}

static void send_mark(struct trib_jobs *jobs, struct trib_rank *rank, uint64_t mark)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_MARK, .mark = {.mark = mark}};
    rank->told = mark > rank->told ? mark : rank->told;
    if (rank->session) {
        jobs->output.send(jobs->output.owner, rank->session, &message);
    }
}

/* Tells M to the ranks that wait for it (they have told a mark that M had not reached), and lets those go that only wait to
 * leave. M also rises by packets, unseen from here: so it is looked at again, at growing distance, while anybody waits. */
static void update_marks(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    const struct trib_data_plane *plane = &jobs->config->plane;
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
    if (!waiting) {
        job->marks_ns = TRIB_NEVER;
        return;
    }
    job->marks_gap_ns = 2 * job->marks_gap_ns < MARKS_GAP_MAX_NS ? 2 * job->marks_gap_ns : MARKS_GAP_MAX_NS;
    job->marks_ns = now_ns + job->marks_gap_ns;
}

/* MARK and CLOSE: the rank's mark goes to the data plane, M comes back. */
static bool take_mark(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark)
{
    const struct trib_data_plane *plane = &jobs->config->plane;
    struct trib_rank *rank = &job->ranks[index];
    if (!rank->is_registered || mark > TRIB_SEQUENCE_MAX) {
        return false;
    }
    rank->mark = mark > rank->mark ? mark : rank->mark;
    plane->join(plane->plane, job->grant.communicator, index, rank->mark);
    send_mark(jobs, rank, plane->communicator_mark(plane->plane, job->grant.communicator));
    job->marks_gap_ns = MARKS_GAP_FIRST_NS;
    return true;
}

static bool take_close(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark, uint64_t now_ns)
{
    struct trib_rank *rank = &job->ranks[index];
    if (!rank->is_registered) {
        struct trib_session *session = rank->session;
        send_closed(jobs, rank);
        session->job = job;
        trib_jobs_gone(jobs, session, "it closed before all ranks had registered");
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

/* A rank that has closed will never contribute again: who waits for it on a later sequence waits for nothing. */
static bool waits_for_closed(const struct trib_job *job, uint64_t sequence, uint32_t *closed)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (job->ranks[i].is_closing && sequence >= job->ranks[i].mark) {
            *closed = i;
            return true;
        }
    }
    return false;
}

static void take_stall(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message,
                       uint64_t now_ns)
{
    uint32_t closed;
    char text[TRIB_ERROR_TEXT_MAX];
    uint64_t all = trib_all_children(job->settings.ranks);
    struct trib_stall *stall = &job->ranks[index].stall;
    stall->sequence = message->stall.sequence;
    stall->missing = message->stall.missing & all;
    stall->since_ms = message->stall.since_ms;
    stall->at_ns = now_ns;
    if (waits_for_closed(job, stall->sequence, &closed)) {
        char name[96];
        trib_explain(text, "rank %u waits on sequence %llu, but %s has closed the communicator at sequence %llu", index,
                     (unsigned long long)stall->sequence, name_rank(job, closed, name),
                     (unsigned long long)job->ranks[closed].mark);
        trib_job_fail(jobs, job, TRIB_ERR_PEER, text);
        return;
    }
    if (now_ns - job->stall_logged_ns >= TRIB_SECOND_NS || job->stall_logged_ns == 0) {
        job->stall_logged_ns = now_ns;
        trib_log(TRIB_LOG_WARN, "job %s: %s missing on sequence %llu since %u.%u s, says rank %u", job->name,
                 stall->missing ? trib_format_ranks(stall->missing, text, sizeof text) : "somebody is",
                 (unsigned long long)stall->sequence, stall->since_ms / 1000, stall->since_ms % 1000 / 100, index);
    }
}

static void end_dispute(struct trib_jobs *jobs, struct trib_job *job)
{
    const struct trib_dispute *dispute = &job->dispute;
    static const char silent[] = "an operation that it does not name";
    char text[TRIB_ERROR_TEXT_MAX];
    trib_explain(text, "operations differ on sequence %llu: rank %u runs %.190s, rank %u runs %.190s",
                 (unsigned long long)dispute->sequence, dispute->rank[0],
                 dispute->text[0][0] ? dispute->text[0] : silent, dispute->rank[1],
                 dispute->text[1][0] ? dispute->text[1] : silent);
    trib_job_fail(jobs, job, TRIB_ERR_MISMATCH, text);
}

/* An answer that nobody waits for any more is no offence: it may have crossed the end of the dispute. */
static void take_operation(struct trib_jobs *jobs, struct trib_job *job, uint32_t index,
                           const struct trib_message *message)
{
    struct trib_dispute *dispute = &job->dispute;
    if (dispute->deadline_ns == 0 || dispute->sequence != message->operation.sequence) {
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (dispute->rank[i] == index) {
            memcpy(dispute->text[i], message->operation.text, sizeof dispute->text[i]);
            clean(dispute->text[i]);
        }
    }
    if (dispute->text[0][0] && dispute->text[1][0]) {
        end_dispute(jobs, job);
    }
}

void trib_jobs_mismatch(struct trib_jobs *jobs, uint32_t communicator, uint64_t sequence, const uint32_t rank[2],
                        uint64_t now_ns)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_DESCRIBE, .describe = {.sequence = sequence}};
    struct trib_job *job = trib_jobs_find_communicator(jobs, communicator);
    if (!job || job->dispute.deadline_ns != 0 || rank[0] >= job->settings.ranks || rank[1] >= job->settings.ranks) {
        return;
    }
    job->dispute = (struct trib_dispute){.sequence = sequence, .deadline_ns = now_ns + DISPUTE_NS};
    for (unsigned i = 0; i < 2; i++) {
        job->dispute.rank[i] = rank[0] < rank[1] ? rank[i] : rank[1 - i];
        struct trib_session *session = job->ranks[rank[i]].session;
        if (session) {
            jobs->output.send(jobs->output.owner, session, &message);
        }
    }
}

static void take_abort(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message)
{
    char text[TRIB_ERROR_TEXT_MAX];
    trib_explain(text, "it aborted: %.400s", message->fail.text);
    clean(text);
    trib_jobs_gone(jobs, session, text);
    jobs->output.end(jobs->output.owner, session);
}

bool trib_jobs_receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                       uint64_t now_ns)
{
    struct trib_job *job = session->job;
    if (message->kind == TRIB_MESSAGE_JOIN) {
        if (job) {
            return false;
        }
        trib_job_join(jobs, session, message, now_ns);
        return true;
    }
    if (!job) {
        return false;
    }
    switch (message->kind) {
    case TRIB_MESSAGE_PATHS:
        return trib_job_paths(jobs, job, session->rank, message);
    case TRIB_MESSAGE_REGISTER:
        return message->mark.mark <= TRIB_SEQUENCE_MAX &&
               trib_job_register(jobs, job, session->rank, message->mark.mark, now_ns);
    case TRIB_MESSAGE_MARK:
        if (!take_mark(jobs, job, session->rank, message->mark.mark)) {
            return false;
        }
        update_marks(jobs, job, now_ns);
        return true;
    case TRIB_MESSAGE_CLOSE:
        return take_close(jobs, job, session->rank, message->mark.mark, now_ns);
    case TRIB_MESSAGE_OPERATION:
        take_operation(jobs, job, session->rank, message);
        return true;
    case TRIB_MESSAGE_STALL:
        take_stall(jobs, job, session->rank, message, now_ns);
        return true;
    case TRIB_MESSAGE_ABORT:
        take_abort(jobs, session, message);
        return true;
    case TRIB_MESSAGE_NONE:
    case TRIB_MESSAGE_JOIN:
    case TRIB_MESSAGE_WELCOME:
    case TRIB_MESSAGE_READY:
    case TRIB_MESSAGE_DESCRIBE:
    case TRIB_MESSAGE_CLOSED:
    case TRIB_MESSAGE_FAIL:
    case TRIB_MESSAGE_KIND_COUNT:
        break;
    }
    return false;
}

void trib_jobs_gone(struct trib_jobs *jobs, struct trib_session *session, const char *cause)
{
    struct trib_job *job = session->job;
    if (!job) {
        return;
    }
    struct trib_rank *rank = &job->ranks[session->rank];
    char text[TRIB_ERROR_TEXT_MAX];
    char name[96];
    rank->session = NULL;
    session->job = NULL;
    if (rank->is_closing) {
        return; /* it has said goodbye; the others may still finish what it has contributed to */
    }
    (void)name_rank(job, session->rank, name);
    if (job->state == TRIB_JOB_JOINING) {
        bool is_empty = true;
        for (uint32_t i = 0; i < job->settings.ranks; i++) {
            is_empty = is_empty && !job->ranks[i].session;
        }
        trib_log(TRIB_LOG_INFO, "job %s: %s has left before all had joined: %s", job->name, name, cause);
        if (is_empty) {
            free_job(jobs, job);
        }
        return;
    }
    trib_explain(text, "%s is gone: %s", name, cause);
    trib_job_fail(jobs, job, TRIB_ERR_PEER, text);
}

static void expire(struct trib_jobs *jobs, struct trib_job *job)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        bool is_late = job->state == TRIB_JOB_JOINING ? !rank->session : !rank->is_registered;
        missing |= (uint64_t)is_late << i;
    }
    char ranks[256];
    char text[TRIB_ERROR_TEXT_MAX];
    trib_explain(text, "waited %.4g s for %s of job %s%s", (double)jobs->config->join_timeout_ns / 1e9,
                 trib_format_ranks(missing, ranks, sizeof ranks), job->name,
                 job->state == TRIB_JOB_JOINING ? "" : " to try their paths and register");
    trib_job_fail(jobs, job, TRIB_ERR_TIMEOUT, text);
}

static uint64_t job_timeout(const struct trib_job *job)
{
    uint64_t when = job->deadline_ns;
    when = job->probe_ns < when ? job->probe_ns : when;
    when = job->marks_ns < when ? job->marks_ns : when;
    if (job->dispute.deadline_ns != 0 && job->dispute.deadline_ns < when) {
        when = job->dispute.deadline_ns;
    }
    return when;
}

uint64_t trib_jobs_next_timeout(const struct trib_jobs *jobs)
{
    uint64_t when = TRIB_NEVER;
    for (const struct trib_job *job = jobs->first; job; job = job->next) {
        uint64_t next = job_timeout(job);
        when = next < when ? next : when;
    }
    return when;
}

static void job_on_timeout(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    if (now_ns >= job->deadline_ns) {
        expire(jobs, job);
        return;
    }
    if (job->dispute.deadline_ns != 0 && now_ns >= job->dispute.deadline_ns) {
        end_dispute(jobs, job);
        return;
    }
    if (now_ns >= job->probe_ns) {
        trib_job_probe(jobs, job, now_ns);
    }
    if (now_ns >= job->marks_ns) {
        update_marks(jobs, job, now_ns);
    }
}

void trib_jobs_on_timeout(struct trib_jobs *jobs, uint64_t now_ns)
{
    struct trib_job *next;
    for (struct trib_job *job = jobs->first; job; job = next) {
        next = job->next;
        job_on_timeout(jobs, job, now_ns);
    }
}
