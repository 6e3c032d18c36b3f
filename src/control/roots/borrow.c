/* SPDX-License-Identifier: Apache-2.0 */
/* borrow.c: see borrow.h. Read next: start.c (who asks), roots.c (what is said to a lender once it has lent). */
#include "control/roots/borrow.h"

#include <stdio.h>
#include <string.h>

#include "control/jobs/peers.h"
#include "control/jobs/places.h"
#include "control/jobs/start.h"
#include "control/roots/roots.h"
#include "control/roots/trees.h"
#include "io/clock.h"
#include "io/explain.h"

#define AGAIN_NS (50 * TRIB_MILLISECOND_NS)
#define AWAY_NS TRIB_SECOND_NS /* so long a lender that starts anew is waited for before the ranks are told */
#define LOG_GAP_NS (10 * TRIB_SECOND_NS)

/* "switch 10.0.0.2:7470". text: 96 bytes. */
static char *name_loan(const struct trib_jobs *jobs, const struct trib_loan *loan, char *text)
{
    char lender[64];
    (void)snprintf(text, 96, "switch %s", trib_trees_name(jobs, loan->lender + 1, lender));
    return text;
}

/* ---- loans begin and end ---- */

static void end_loan(struct trib_jobs *jobs, struct trib_job *job, uint32_t lender)
{
    if (job->loan[lender]) {
        job->loan[lender]->job = NULL;
        jobs->loans.end(jobs->loans.owner, job->loan[lender]);
        job->loan[lender] = NULL;
    }
}

static void end_loans(struct trib_jobs *jobs, struct trib_job *job)
{
    for (uint32_t i = 0; i < TRIB_LENDERS_MAX; i++) {
        end_loan(jobs, job, i);
    }
    for (uint32_t t = 0; t < TRIB_ROOTS_MAX; t++) {
        job->root[t].loan = NULL;
    }
}

static bool is_lent(const struct trib_jobs *jobs, const struct trib_job *job)
{
    bool all = true;
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        all = all && (!trib_trees_have(jobs, job, i + 1) || (job->loan[i] && job->loan[i]->is_lent));
    }
    return all;
}

/* Asks those lenders that have not been asked. False: not all have lent yet, or the job is gone. */
static bool borrow_all(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        if (!trib_trees_have(jobs, job, i + 1)) {
            end_loan(jobs, job, i); /* of a choice before */
        } else if (!job->loan[i]) {
            struct trib_loan *loan = jobs->loans.open(jobs->loans.owner, &jobs->config->lenders.at[i]);
            if (!loan) {
                trib_job_fail(jobs, job, TRIB_ERR_MEMORY, "the control plane is out of memory, or of connections");
                return false;
            }
            loan->job = job;
            loan->lender = i;
            loan->asked_ns = now_ns;
            job->loan[i] = loan;
            job->waits_ns = now_ns; /* all its ranks are there */
        }
    }
    bool all = is_lent(jobs, job);
    job->loans_ns = all ? TRIB_NEVER : trib_time_earlier(job->loans_ns, now_ns + AWAY_NS);
    return all;
}

/* All ranks that are here come again: they know until when. A job that was never running is begun anew by that. */
static void send_away(struct trib_jobs *jobs, struct trib_job *job, const char *cause)
{
    struct trib_message away = {.kind = TRIB_MESSAGE_AWAY};
    trib_explain(away.note.text, "%s", cause);
    end_loans(jobs, job);
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

/* A lender does not answer a job that has all its ranks, or has gone again before the job started. */
static void ask_again(struct trib_jobs *jobs, struct trib_job *job, const char *cause, uint64_t now_ns)
{
    if (jobs->unlent_logged_ns == 0 || now_ns - jobs->unlent_logged_ns >= LOG_GAP_NS) {
        jobs->unlent_logged_ns = now_ns;
        trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s: %s; trying again", job->name, cause);
    }
    job->unlent_ns = job->unlent_ns != 0 ? job->unlent_ns : now_ns;
    if (now_ns - job->unlent_ns >= AWAY_NS) {
        send_away(jobs, job, cause);
    } else {
        job->loans_ns = now_ns + AGAIN_NS;
    }
}

/* A new job that can do without this lender begins without it. False: it cannot. */
static bool does_without(struct trib_jobs *jobs, struct trib_job *job, uint32_t lender, const char *cause,
                         uint64_t now_ns)
{
    if (!trib_trees_avoid(jobs, job, lender, now_ns)) {
        return false;
    }
    trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s: %s; it does without", job->name, cause);
    trib_job_start(jobs, job, now_ns);
    return true;
}

void trib_loan_lost(struct trib_jobs *jobs, struct trib_loan *loan, const char *cause, bool is_foreign, uint64_t now_ns)
{
    char name[96];
    char text[TRIB_ERROR_TEXT_MAX];
    struct trib_job *job = loan->job;
    trib_explain(text, "%s, which this one has its jobs use as well (--with), %s: %.128s", name_loan(jobs, loan, name),
                 loan->is_lent ? "is lost" : "cannot be reached", cause);
    uint32_t lender = loan->lender;
    end_loan(jobs, job, lender);
    if (does_without(jobs, job, lender, text, now_ns)) {
        return;
    }
    if (job->state == TRIB_JOB_JOINING && !trib_job_is_complete(job)) {
        job->unlent_ns = 0; /* its last rank will have it asked again */
    } else if (is_foreign) {
        trib_job_fail(jobs, job, TRIB_ERR_UNREACHABLE, text);
    } else if (job->state == TRIB_JOB_JOINING) {
        ask_again(jobs, job, text, now_ns);
    } else {
        trib_job_recall(jobs, job, text, now_ns);
    }
}

/* ---- roots ---- */

/* Of its k-th switch; NULL: that is this one. */
static struct trib_loan *loan_of(const struct trib_job *job, uint32_t k)
{
    uint32_t which = trib_trees_at(job, k);
    return which > 0 ? job->loan[which - 1] : NULL;
}

/* Of each switch as many shards as the one with the fewest has, so that each carries what its weight says. Root t is at
 * switch t mod n, as a rank's t-th packets leave by its card t mod n: with a card for each switch, each has a way of
 * its own. */
static enum trib_status deal(struct trib_jobs *jobs, struct trib_job *job, char *error)
{
    uint32_t switches = trib_trees_count(jobs, job);
    uint32_t each = TRIB_ROOTS_MAX / switches;
    for (uint32_t k = 0; k < switches; k++) {
        const struct trib_loan *loan = loan_of(job, k);
        each = trib_least(each, loan ? loan->shards : jobs->config->shards);
    }
    uint32_t roots = each * switches;
    if (job->is_return && job->grant.roots > roots) {
        trib_explain(error, "job %s was dealt over %u shards, and this switch and its lenders came back with %u",
                     job->name, job->grant.roots, roots);
        return TRIB_ERR_REFUSED;
    }
    for (uint32_t t = 0; t < roots; t++) {
        struct trib_loan *loan = loan_of(job, t % switches);
        job->root[t] = (struct trib_root_place){.loan = loan, .shard = (uint16_t)(t / switches)};
        if (!job->is_return) {
            uint8_t own = jobs->config->weight > 0 ? jobs->config->weight : 1;
            job->grant.weight[t] = loan ? loan->weight : own;
        }
    }
    job->grant.roots = job->is_return ? job->grant.roots : roots;
    job->ways = switches;
    job->is_elsewhere = !trib_trees_have(jobs, job, 0);
    job->unlent_ns = 0;
    return TRIB_OK;
}

/* The smallest receive buffer of the switches that sum for this job; a switch has one for all its jobs. */
static uint32_t room_of(const struct trib_jobs *jobs, const struct trib_job *job)
{
    uint32_t room = trib_trees_have(jobs, job, 0) ? jobs->config->receive_room : UINT32_MAX;
    for (uint32_t i = 0; i < TRIB_LENDERS_MAX; i++) {
        room = job->loan[i] && job->loan[i]->room < room ? job->loan[i]->room : room;
    }
    return room;
}

/* Of a lender that is known by a loopback address, so that it runs beside this switch, others find the shards where
 * they find this switch. */
static struct trib_address lent_place(const struct trib_root_place *root, const struct trib_session *session)
{
    struct trib_address place = root->loan->at[root->shard];
    if (trib_address_is_loopback(&place) && !trib_address_is_loopback(&session->peer) && session->local.len > 0) {
        uint16_t port = trib_address_port(&place);
        place = session->local;
        trib_address_set_port(&place, port);
    }
    return place;
}

/* Of this switch at any address (0.0.0.0) the rank's session knows which. */
static struct trib_address own_place(const struct trib_jobs *jobs, const struct trib_root_place *root,
                                     const struct trib_session *session)
{
    struct trib_address place = trib_server_shard(jobs->config, root->shard);
    if (trib_address_is_any(&place) && session->local.len > 0) {
        uint16_t port = trib_address_port(&place);
        place = session->local;
        trib_address_set_port(&place, port);
    }
    return place;
}

static void name_roots(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank,
                       struct trib_message *welcome)
{
    const struct trib_session *session = job->ranks[rank].session;
    welcome->welcome.root_count = (uint8_t)job->grant.roots;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        const struct trib_root_place *root = &job->root[t];
        welcome->welcome.root[t] = root->loan ? lent_place(root, session) : own_place(jobs, root, session);
    }
}

static bool is_ready(const struct trib_job *job)
{
    bool all = true;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        all = all && (!job->root[t].loan || job->root[t].loan->is_ready);
    }
    return all;
}

/* The roots are open: ends loans without one, which there are if relays on the way carry fewer roots; the log has which
 * switches a new job is left with. */
static void spare(struct trib_jobs *jobs, struct trib_job *job)
{
    for (uint32_t k = job->grant.roots; k < trib_trees_count(jobs, job); k++) {
        if (trib_trees_at(job, k) > 0) {
            end_loan(jobs, job, trib_trees_at(job, k) - 1);
        }
    }
    if (!job->is_return && job->grant.switches[0] != 0) {
        char list[256];
        trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s: trees through %s, of %u switches", job->name,
                      trib_trees_list(jobs, job, list, sizeof list), jobs->config->lenders.count + 1);
    }
}

static bool explain_late(const struct trib_jobs *jobs, const struct trib_job *job, char *text)
{
    bool has_roots = job->state != TRIB_JOB_JOINING;
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        char name[64];
        const struct trib_loan *loan = job->loan[i];
        bool is_late = has_roots ? loan && !loan->is_ready : !loan || !loan->is_lent;
        if (trib_trees_have(jobs, job, i + 1) && is_late) {
            trib_explain(text, "switch %s to %s job %s", trib_trees_name(jobs, i + 1, name),
                         has_roots ? "open its roots of" : "lend its shards to", job->name);
            return true;
        }
    }
    return false;
}

static void explain_way(const struct trib_job *job, char *text)
{
    (void)job;
    (void)snprintf(text, 128, "a shard of this switch, or of one that lends to it");
}

static void name_root(const struct trib_jobs *jobs, const struct trib_job *job, uint64_t sequence, char *text)
{
    char name[96] = "this switch";
    const struct trib_loan *loan = job->root[trib_roots_of(job, sequence)].loan;
    (void)snprintf(text, 128, "%s, its root", loan ? name_loan(jobs, loan, name) : name);
}

/* ---- slots ---- */

static bool has_root_here(const struct trib_job *job)
{
    bool has = false;
    for (uint32_t t = 0; t < job->grant.roots; t++) {
        has = has || !job->root[t].loan;
    }
    return has;
}

static enum trib_status open_slots(struct trib_jobs *jobs, struct trib_job *job, const struct trib_opening *opening,
                                   char *error)
{
    enum trib_status status = trib_roots_open(jobs, job, opening, error);
    spare(jobs, job);
    return status;
}

static bool report_here(const struct trib_jobs *jobs, const struct trib_job *job, struct trib_plane_report *report)
{
    *report = (struct trib_plane_report){0};
    return has_root_here(job) && jobs->config->plane.report(jobs->config->plane.plane, job->grant.communicator, report);
}

/* Those that the job is dealt over are chosen, and lent. */
static bool choose(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    enum trib_status status = trib_trees_choose(jobs, job, now_ns, error);
    if (status != TRIB_OK) {
        trib_job_fail(jobs, job, status, error);
        return false;
    }
    return borrow_all(jobs, job, now_ns);
}

static bool meet(const struct trib_jobs *jobs, const struct trib_job *job, const struct trib_job *but)
{
    return but ? trib_trees_meet(jobs, job, but) : trib_trees_have(jobs, job, 0);
}

const struct trib_places trib_places_switches = {
    .sockets = "one of its switches",
    .owner = "the switch",
    .choose = choose,
    .deal = deal,
    .room = room_of,
    .meet = meet,
    .open = open_slots,
    .part = end_loans,
    .name = name_roots,
    .explain_way = explain_way,
    .join = trib_roots_join,
    .mark = trib_peers_mark,
    .is_ready = is_ready,
    .explain_late = explain_late,
    .missing = trib_roots_missing,
    .report = report_here,
    .name_root = name_root,
};

/* ---- what lenders say ---- */

void trib_loan_connected(struct trib_jobs *jobs, struct trib_loan *loan)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_LEND,
                                   .lend = {.magic = TRIB_SESSION_MAGIC,
                                            .version = TRIB_SESSION_VERSION,
                                            .wire_version = TRIB_WIRE_VERSION,
                                            .port = trib_address_port(&jobs->config->listen)}};
    memcpy(message.lend.job, loan->job->name, sizeof message.lend.job);
    jobs->loans.send(jobs->loans.owner, loan, &message);
}

/* A lender at any address is where it was asked. */
static bool take_lent(struct trib_jobs *jobs, struct trib_loan *loan, const struct trib_message *message)
{
    const struct trib_address *asked = &jobs->config->lenders.at[loan->lender];
    if (message->lent.shards == 0 || message->lent.room == 0 || message->lent.weight == 0) {
        return false;
    }
    for (uint32_t i = 0; i < message->lent.shards; i++) {
        struct trib_address at = message->lent.at[i];
        uint16_t port = trib_address_port(&at);
        if (port == 0 || at.storage.ss_family != asked->storage.ss_family || trib_address_is_group(&at)) {
            return false;
        }
        loan->at[i] = trib_address_is_any(&at) ? *asked : at;
        trib_address_set_port(&loan->at[i], port);
    }
    loan->shards = message->lent.shards;
    loan->room = message->lent.room;
    loan->weight = message->lent.weight;
    loan->is_lent = true;
    jobs->lender[loan->lender].weight = loan->weight;
    return true;
}

void trib_borrow_on_timeout(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    job->loans_ns = TRIB_NEVER;
    if (job->state != TRIB_JOB_JOINING) {
        return;
    }
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        struct trib_loan *loan = job->loan[i];
        if (loan && !loan->is_lent && now_ns - loan->asked_ns >= AWAY_NS) {
            trib_loan_lost(jobs, loan, "no answer", false, now_ns);
            return;
        }
    }
    if (trib_job_is_complete(job)) {
        trib_job_start(jobs, job, now_ns);
    }
}

static bool take_ready(struct trib_jobs *jobs, struct trib_loan *loan, const struct trib_message *message,
                       uint64_t now_ns)
{
    struct trib_job *job = loan->job;
    if (message->root_ready.communicator != job->grant.communicator || message->root_ready.boot != job->grant.boot) {
        return false;
    }
    loan->is_ready = true;
    jobs->lender[loan->lender].refused_ns = 0;
    trib_job_run_if_ready(jobs, job, now_ns);
    return true;
}

/* It refuses the loan, or cannot keep to it: a new job that has no other is told its words. One that shuts down is lost,
 * and may be started anew. */
static void take_refusal(struct trib_jobs *jobs, struct trib_loan *loan, const struct trib_message *message,
                         uint64_t now_ns)
{
    char name[96];
    char said[TRIB_ERROR_TEXT_MAX];
    char text[TRIB_ERROR_TEXT_MAX];
    struct trib_job *job = loan->job;
    int32_t status = message->fail.status;
    bool is_known = status < 0 && status >= TRIB_ERR_CHECK;
    trib_explain(said, "%.300s", message->fail.text);
    trib_text_clean(said);
    if (status == TRIB_ERR_SWITCH) {
        trib_loan_lost(jobs, loan, said, false, now_ns);
        return;
    }
    trib_explain(text, "%s, which this one has its jobs use as well (--with): %.300s", name_loan(jobs, loan, name),
                 said);
    uint32_t lender = loan->lender;
    end_loan(jobs, job, lender);
    if (!does_without(jobs, job, lender, text, now_ns)) {
        trib_job_fail(jobs, job, is_known ? (enum trib_status)status : TRIB_ERR_REFUSED, text);
    }
}

static bool take_word_of_root(struct trib_jobs *jobs, struct trib_loan *loan, const struct trib_message *message,
                              uint64_t now_ns)
{
    struct trib_job *job = loan->job;
    if (message->kind == TRIB_MESSAGE_ROOT_READY) {
        return take_ready(jobs, loan, message, now_ns);
    }
    if (message->kind == TRIB_MESSAGE_ROOT_MISSING) {
        return trib_roots_take_missing(jobs, loan, message, now_ns);
    }
    trib_job_dispute(jobs, job, message->dispute.sequence, message->dispute.rank, now_ns);
    return true;
}

static enum trib_stage loan_stage(const struct trib_loan *loan)
{
    if (!loan->is_lent) {
        return TRIB_STAGE_JOINING;
    }
    if (loan->job->state == TRIB_JOB_JOINING) {
        return TRIB_STAGE_WELCOMED;
    }
    return loan->is_ready ? TRIB_STAGE_RUNNING : TRIB_STAGE_REGISTERED;
}

void trib_loan_answer(struct trib_jobs *jobs, struct trib_loan *loan, const struct trib_message *message,
                      uint64_t now_ns)
{
    struct trib_job *job = loan->job;
    bool is_right = trib_message_is_in_turn(message->kind, TRIB_SENDER_LENDER, loan_stage(loan));
    switch (is_right ? (int)message->kind : TRIB_MESSAGE_NONE) {
    case TRIB_MESSAGE_LENT:
        is_right = take_lent(jobs, loan, message);
        if (is_right && job->state == TRIB_JOB_JOINING && trib_job_is_complete(job) && is_lent(jobs, job)) {
            trib_job_start(jobs, job, now_ns);
        }
        break;
    case TRIB_MESSAGE_ROOT_READY:
    case TRIB_MESSAGE_ROOT_MISSING:
    case TRIB_MESSAGE_DISPUTE:
        is_right = take_word_of_root(jobs, loan, message, now_ns);
        break;
    case TRIB_MESSAGE_AWAY: /* it has no room for a session */
        trib_loan_lost(jobs, loan, message->note.text, false, now_ns);
        return;
    case TRIB_MESSAGE_FAIL:
    case TRIB_MESSAGE_ABORT:
        take_refusal(jobs, loan, message, now_ns);
        return;
    default:
        break;
    }
    if (!is_right) {
        trib_loan_lost(jobs, loan, "it does not speak like a switch that lends", true, now_ns);
    }
}
