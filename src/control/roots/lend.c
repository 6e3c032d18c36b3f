/* SPDX-License-Identifier: Apache-2.0 */
/* lend.c: see lend.h. Read next: root.c (what is done for the asker), borrow.c (who asks). */
#include "control/roots/lend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/roots/roots.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/units.h"
#include "schemes/schemes.h"

/* Longer than a control plane waits for the other lenders of a job, or for its ranks. */
#define OPEN_WAIT_NS (60 * TRIB_SECOND_NS)

/* ---- loans begin and end ---- */

static struct trib_lending *create(struct trib_jobs *jobs, struct trib_session *session,
                                   const struct trib_message *message, uint64_t now_ns)
{
    struct trib_address asker = session->peer;
    struct trib_lending *lending = calloc(1, sizeof *lending);
    if (!lending) {
        return NULL;
    }
    lending->deadline_ns = now_ns + OPEN_WAIT_NS;
    lending->session = session;
    memcpy(lending->job, message->lend.job, sizeof lending->job);
    trib_text_clean(lending->job);
    trib_address_set_port(&asker, message->lend.port);
    trib_address_format(&asker, lending->asker);
    trib_root_init(&lending->root, &jobs->agent);
    lending->root.opening.job = lending->job;
    lending->root.opening.master = &session->peer;
    lending->root.opening.master_name = lending->asker;
    lending->next = jobs->lendings;
    jobs->lendings = lending;
    session->lending = lending;
    return lending;
}

static void refuse(struct trib_jobs *jobs, struct trib_session *session, enum trib_status status, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = status}};
    trib_explain(message.fail.text, "%s", text);
    jobs->stats.refused[-status]++;
    jobs->output.send(jobs->output.owner, session, &message);
    jobs->output.end(jobs->output.owner, session);
}

static bool is_configured(const struct trib_jobs *jobs, const struct trib_address *asker)
{
    const struct trib_address_list *list = &jobs->config->lend_to;
    for (uint32_t i = 0; i < list->count; i++) {
        if (trib_address_same_host(&list->at[i], asker)) {
            return true;
        }
    }
    return false;
}

void trib_lend_begin(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                     uint64_t now_ns)
{
    const struct trib_server_config *config = jobs->config;
    struct trib_message lent = {.kind = TRIB_MESSAGE_LENT};
    if (jobs->relay) {
        refuse(jobs, session, TRIB_ERR_REFUSED, "it has a parent, and so lends nothing: name the switch at the root");
        return;
    }
    if (trib_roots_are_ranks(config)) {
        refuse(jobs, session, TRIB_ERR_REFUSED, "it is no switch: here ranks meet that do without one");
        return;
    }
    if (!is_configured(jobs, &session->peer)) {
        struct trib_address asker = session->peer;
        char from[64], text[TRIB_ERROR_TEXT_MAX];
        trib_address_set_port(&asker, message->lend.port);
        trib_address_format(&asker, from);
        trib_explain(text, "it lends nothing to %s: start it with --lend %s", from, from);
        refuse(jobs, session, TRIB_ERR_REFUSED, text);
        return;
    }
    lent.lent.weight = config->weight > 0 ? config->weight : 1;
    lent.lent.shards = (uint8_t)config->shards;
    for (uint32_t i = 0; i < config->shards; i++) {
        lent.lent.at[i] = trib_server_shard(config, i);
    }
    const struct trib_lending *lending = create(jobs, session, message, now_ns);
    if (!lending) {
        refuse(jobs, session, TRIB_ERR_MEMORY, "its control plane is out of memory");
        return;
    }
    lent.lent.room = trib_admission_room(jobs, lending->asker);
    trib_jobs_say(jobs, TRIB_LOG_INFO, "lends %u shards to job %s of switch %s", config->shards, lending->job,
                  lending->asker);
    jobs->output.send(jobs->output.owner, session, &lent);
}

void trib_lend_end(struct trib_jobs *jobs, struct trib_session *session)
{
    struct trib_lending *lending = session->lending;
    struct trib_lending **link = &jobs->lendings;
    while (*link != lending) {
        link = &(*link)->next;
    }
    *link = lending->next;
    session->lending = NULL;
    trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s of switch %s has ended its loan", lending->job, lending->asker);
    trib_root_deinit(&lending->root);
    free(lending);
}

/* ---- what is asked ---- */

/* May the communicator have its first root here? Slots are one communicator's, and a stranger must neither join them
 * nor close them. The asker may have it anew: then what it had before is over, though the end of that session has not
 * come yet. */
static bool is_free(struct trib_jobs *jobs, const struct trib_message *message, char *error)
{
    uint32_t communicator = message->root_open.session.communicator;
    struct trib_lending *former = trib_jobs_find_lending(jobs, communicator);
    if (communicator == 0) {
        return true; /* the root has a word for that */
    }
    if (former && former->key == message->root_open.key && former->root.boot != message->root_open.boot) {
        struct trib_session *session = former->session;
        trib_lend_end(jobs, session);
        jobs->output.end(jobs->output.owner, session);
        return true;
    }
    if (former && former->key == message->root_open.key) {
        trib_explain(error,
                     "communicator %08x has roots here already: this switch is named twice, by two addresses: name it "
                     "once (--with)",
                     communicator);
    } else if (former || trib_jobs_find_communicator(jobs, communicator)) {
        trib_explain(error, "communicator %08x is another job's here", communicator);
    } else {
        return true;
    }
    return false;
}

/* Nothing more is taken from this session. */
static void give_up(struct trib_jobs *jobs, struct trib_lending *lending, struct trib_message *answer)
{
    struct trib_session *session = lending->session;
    if (lending->refusal[0] != '\0') {
        trib_explain(answer->fail.text, "%s", lending->refusal);
    }
    trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s of switch %s: %s", lending->job, lending->asker, answer->fail.text);
    trib_lend_end(jobs, session);
    jobs->output.send(jobs->output.owner, session, answer);
    jobs->output.end(jobs->output.owner, session);
}

/* Where there are several addresses here, answers leave from the one that the asker has named, whatever the routes
 * choose: the ranks find the shards there. A loopback address is another one for ranks elsewhere. */
static void choose_source(const struct trib_jobs *jobs, const struct trib_lending *lending, struct trib_address *from)
{
    const struct trib_address *local = &lending->session->local;
    if (trib_address_is_any(&jobs->config->listen) && local->len > 0 &&
        trib_address_is_loopback(local) == trib_address_is_loopback(from)) {
        trib_address_set_source(from, local);
    }
}

/* Can a child send from there? As of a JOIN, from a session of the asker. */
static bool is_place(const struct trib_jobs *jobs, const struct trib_session *session, const struct trib_address *from,
                     char *refusal)
{
    char at[64];
    bool is_near = trib_address_is_loopback(&session->peer);
    bool is_own = trib_join_is_own_place(jobs->config, &session->local, from);
    if (!is_own && !trib_address_is_link_local(from) && (is_near || !trib_address_is_loopback(from))) {
        return true;
    }
    trib_address_format(from, at);
    (void)snprintf(refusal, sizeof((struct trib_lending *)NULL)->refusal, "no child of a job sends from %s, %s", at,
                   is_own ? "which is this switch" : "which is another machine for each");
    return false;
}

void trib_lend_receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message)
{
    struct trib_lending *lending = session->lending;
    struct trib_message asked = *message;
    struct trib_message answer = {.kind = TRIB_MESSAGE_ABORT, .fail = {.status = TRIB_ERR_REFUSED}};
    bool is_first = message->kind == TRIB_MESSAGE_ROOT_OPEN && lending->ranks == 0;
    if (is_first && !is_free(jobs, message, lending->refusal)) {
        give_up(jobs, lending, &answer);
        return;
    }
    if (message->kind == TRIB_MESSAGE_ROOT_CHILD) {
        if (!is_place(jobs, session, &message->root_child.from, lending->refusal)) {
            give_up(jobs, lending, &answer);
            return;
        }
        choose_source(jobs, lending, &asked.root_child.from);
    }
    if (trib_root_receive(&lending->root, &asked, &answer) != TRIB_OK) {
        give_up(jobs, lending, &answer);
        return;
    }
    if (is_first) {
        lending->ranks = message->root_open.ranks;
        lending->key = message->root_open.key;
        bool has_caps = trib_scheme_has_caps(trib_scheme_find(message->root_open.scheme));
        lending->flight_bytes = has_caps ? 0 : trib_admission_flight(&message->root_open.session);
        lending->deadline_ns = TRIB_NEVER;
    }
    if (answer.kind != TRIB_MESSAGE_NONE) {
        jobs->output.send(jobs->output.owner, session, &answer);
    }
}

void trib_lend_mismatch(struct trib_jobs *jobs, uint32_t communicator, uint64_t sequence, const uint32_t rank[2])
{
    struct trib_message dispute = {.kind = TRIB_MESSAGE_NONE};
    struct trib_lending *lending = trib_jobs_find_lending(jobs, communicator);
    if (lending) {
        trib_root_mismatch(&lending->root, sequence, rank, &dispute);
    }
    if (dispute.kind != TRIB_MESSAGE_NONE) {
        jobs->output.send(jobs->output.owner, lending->session, &dispute);
    }
}

/* ---- time ---- */

uint64_t trib_lend_next_timeout(const struct trib_jobs *jobs)
{
    uint64_t when = TRIB_NEVER;
    for (const struct trib_lending *lending = jobs->lendings; lending; lending = lending->next) {
        when = lending->deadline_ns < when ? lending->deadline_ns : when;
    }
    return when;
}

void trib_lend_on_timeout(struct trib_jobs *jobs, uint64_t now_ns)
{
    struct trib_lending *next;
    for (struct trib_lending *lending = jobs->lendings; lending; lending = next) {
        next = lending->next;
        if (now_ns >= lending->deadline_ns) {
            struct trib_session *session = lending->session;
            trib_lend_end(jobs, session);
            jobs->output.end(jobs->output.owner, session);
        }
    }
}
