/* SPDX-License-Identifier: Apache-2.0 */
/* borrow.c: see borrow.h. Read next: start.c (who asks), roots.c (what is said to a lender once it has lent). */
#include "control/roots/borrow.h"

#include <stdio.h>
#include <string.h>

#include "control/jobs/placements.h"
#include "control/jobs/places.h"
#include "control/roots/trees.h"
#include "io/clock.h"
#include "io/explain.h"

#define AGAIN_NS (50 * TRIB_MILLISECOND_NS)
#define AWAY_NS TRIB_SECOND_NS /* so long a lender that starts anew is waited for before the ranks are told */
#define LOG_GAP_NS (10 * TRIB_SECOND_NS)

/* ---- loans begin and end ---- */

static void end_loan(struct trib_jobs *jobs, struct trib_job *job, uint32_t lender)
{
    if (job->loan[lender]) {
        struct trib_placement *placement = trib_placement_of_loan(job, job->loan[lender]);
        if (placement) {
            placement->loan = NULL;
        }
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
            char lender[64];
            struct trib_loan *loan = jobs->loans.open(jobs->loans.owner, &jobs->config->lenders.at[i]);
            if (!loan) {
                trib_job_fail(jobs, job, TRIB_ERR_MEMORY, "the control plane is out of memory, or of connections");
                return false;
            }
            loan->job = job;
            loan->lender = i;
            (void)snprintf(loan->name, sizeof loan->name, "switch %s", trib_trees_name(jobs, i + 1, lender));
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
    char text[TRIB_ERROR_TEXT_MAX];
    struct trib_job *job = loan->job;
    trib_explain(text, "%s, which this one has its jobs use as well (--with), %s: %.128s", loan->name,
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
        const struct trib_placement where = {.carrier = loan ? TRIB_CARRIER_LOAN : TRIB_CARRIER_CALL, .loan = loan};
        trib_placements_add(job, t, &where, t / switches);
        if (!job->is_return) {
            uint8_t own = jobs->config->weight > 0 ? jobs->config->weight : 1;
            job->grant.weight[t] = loan ? loan->weight : own;
        }
    }
    job->grant.roots = job->is_return ? job->grant.roots : roots;
    job->ways = switches;
    job->unlent_ns = 0;
    return TRIB_OK;
}

/* Relays on the way may carry fewer roots than were dealt: ends loans without a root. The log has which switches a new
 * job is left with. */
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
    for (uint32_t i = 0; i < jobs->config->lenders.count; i++) {
        char name[64];
        const struct trib_loan *loan = job->loan[i];
        if (trib_trees_have(jobs, job, i + 1) && (!loan || !loan->is_lent)) {
            trib_explain(text, "switch %s to lend its shards to job %s", trib_trees_name(jobs, i + 1, name), job->name);
            return true;
        }
    }
    return false;
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

const struct trib_dealer trib_dealer_switches = {
    .sockets = "one of its switches",
    .owner = "the switch",
    .way = "a shard of this switch, or of one that lends to it",
    .choose = choose,
    .deal = deal,
    .explain_late = explain_late,
    .spare = spare,
    .part = end_loans,
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

/* It refuses the loan, or cannot keep to it: a new job that has no other is told its words. One that shuts down is lost,
 * and may be started anew. */
static void take_refusal(struct trib_jobs *jobs, struct trib_loan *loan, const struct trib_message *message,
                         uint64_t now_ns)
{
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
    trib_explain(text, "%s, which this one has its jobs use as well (--with): %.300s", loan->name, said);
    uint32_t lender = loan->lender;
    end_loan(jobs, job, lender);
    if (!does_without(jobs, job, lender, text, now_ns)) {
        trib_job_fail(jobs, job, is_known ? (enum trib_status)status : TRIB_ERR_REFUSED, text);
    }
}

static enum trib_stage loan_stage(const struct trib_loan *loan)
{
    const struct trib_placement *placement = trib_placement_of_loan(loan->job, loan);
    if (!loan->is_lent) {
        return TRIB_STAGE_JOINING;
    }
    if (loan->job->state == TRIB_JOB_JOINING) {
        return TRIB_STAGE_WELCOMED;
    }
    return placement && placement->is_ready ? TRIB_STAGE_RUNNING : TRIB_STAGE_REGISTERED;
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
        if (message->kind == TRIB_MESSAGE_ROOT_READY) {
            jobs->lender[loan->lender].refused_ns = 0;
        }
        is_right = trib_placement_answer(jobs, job, trib_placement_of_loan(job, loan), message, now_ns);
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
        char cause[128];
        (void)snprintf(cause, sizeof cause,
                       "unexpected message %s: not a Tributary switch that lends, or one of another version",
                       trib_message_name(message->kind));
        trib_loan_lost(jobs, loan, cause, true, now_ns);
    }
}
