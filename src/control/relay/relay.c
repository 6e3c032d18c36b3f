/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c: see relay.h: messages on their way through, and every way for a link to end. Read next: relay_job.c. */
#include "control/relay/relay.h"

#include <stdio.h>
#include <string.h>

#include "control/jobs/start.h"
#include "core/lane.h"
#include "io/clock.h"
#include "io/explain.h"

/* A parent that did not answer is not asked again for so long: all its ranks come at once, and come often. */
#define AWAY_NS (25 * TRIB_MILLISECOND_NS)

void trib_relay_init(struct trib_relay *relay, const struct trib_server_config *config, uint64_t via,
                     const struct trib_relay_output *output)
{
    memset(relay, 0, sizeof *relay);
    relay->output = *output;
    relay->via = via;
    trib_address_format(&config->listen, relay->name);
    trib_address_format(&config->parent, relay->parent);
}

static struct trib_rank *rank_of(const struct trib_link *link)
{
    return &link->job->ranks[link->join.join.rank];
}

/* ---- the way in ---- */

static void answer_and_end(const struct trib_jobs *jobs, struct trib_session *session,
                           const struct trib_message *message)
{
    jobs->output.send(jobs->output.owner, session, message);
    jobs->output.end(jobs->output.owner, session);
}

static void refuse(struct trib_jobs *jobs, struct trib_session *session, enum trib_status status, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = status}};
    trib_explain(message.fail.text, "%s", text);
    jobs->stats.refused[-status]++;
    answer_and_end(jobs, session, &message);
}

static struct trib_message away_message(const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_AWAY};
    trib_explain(message.note.text, "%s", text);
    return message;
}

/* What can be said here is said here; the rest is the root's to check. */
static enum trib_status check(const struct trib_jobs *jobs, const struct trib_message *message, char *error)
{
    enum trib_status status = trib_join_check(message, error);
    if (status == TRIB_OK && message->join.hops >= TRIB_HOPS_MAX) {
        trib_explain(error, "hops %u: rank %u comes over more than %d switches: is one of them its own parent?",
                     message->join.hops + 1U, message->join.rank, TRIB_HOPS_MAX);
        return TRIB_ERR_INVALID;
    }
    if (status == TRIB_OK && trib_join_is_of_peers(message)) {
        trib_join_explain_peers(message, error);
        return TRIB_ERR_REFUSED;
    }
    if (status == TRIB_OK && message->join.known.communicator != 0 &&
        message->join.known.roots > jobs->config->shards) {
        trib_explain(error, "job %s was dealt over %u shards, switch %s came back with %u", message->join.job,
                     message->join.known.roots, jobs->relay->name, jobs->config->shards);
        return TRIB_ERR_REFUSED;
    }
    return status;
}

static bool is_buried(const struct trib_link *link, const struct trib_session *session,
                      const struct trib_message *message)
{
    const struct trib_message *join = &link->join;
    return !link->job && strcmp(join->join.job, message->join.job) == 0 &&
           trib_join_buries(message, &session->peer, join->join.via, join->join.data_port[0], &link->place.peer);
}

/* Ends what a dead relay has left of this job here, before its WELCOME: without a word, which says the same to the
 * parent. Returns how often in a row, and stops at what cannot be true, as the root does. */
static uint32_t bury_links(struct trib_jobs *jobs, const struct trib_session *session,
                           const struct trib_message *message)
{
    struct trib_link *next;
    uint32_t burials = 0;
    for (const struct trib_link *link = jobs->relay->first; link; link = link->next) {
        if (is_buried(link, session, message) && link->burials >= burials) {
            burials = link->burials + 1;
        }
    }
    for (struct trib_link *link = jobs->relay->first; link && burials <= TRIB_BURIALS_MAX; link = next) {
        next = link->next;
        if (is_buried(link, session, message)) {
            trib_relay_remove(jobs, link, NULL);
        }
    }
    return burials;
}

static void take_join(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                      uint64_t now_ns)
{
    struct trib_relay *relay = jobs->relay;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    enum trib_status status = check(jobs, message, error);
    if (status == TRIB_OK && !trib_join_names_places(jobs->config, session, message, error)) {
        status = TRIB_ERR_INVALID;
    }
    if (status != TRIB_OK) {
        refuse(jobs, session, status, error);
        return;
    }
    if (relay->away[0] != '\0' && (relay->scout || now_ns < relay->away_ns)) {
        const struct trib_message away = away_message(relay->away);
        answer_and_end(jobs, session, &away);
        return;
    }
    struct trib_link *link = relay->output.open(relay->output.owner);
    if (!link) {
        refuse(jobs, session, TRIB_ERR_MEMORY, "the control plane is out of memory");
        return;
    }
    link->burials = bury_links(jobs, session, message);
    link->down = session;
    link->place = (struct trib_session){
        .peer = session->peer, .local = session->local, .origin = session->origin, .path = session->path, .link = link};
    link->join = *message;
    link->next = relay->first;
    relay->first = link;
    relay->scout = relay->away[0] != '\0' ? link : NULL;
    session->link = link;
}

/* The JOIN as the parent gets it: from this switch's ports, within this switch's means. */
static struct trib_message make_join(const struct trib_jobs *jobs, struct trib_link *link)
{
    struct trib_message message = link->join;
    uint32_t port = trib_address_port(&jobs->config->listen);
    for (uint32_t i = 0; i < TRIB_ROOTS_MAX; i++) {
        message.join.data_port[i] = i < jobs->config->shards ? (uint16_t)(port + i) : 0;
    }
    message.join.address_count = (uint8_t)(jobs->config->also.count > 0 ? jobs->config->also.count + 1 : 0);
    for (uint32_t i = 0; i < message.join.address_count; i++) {
        message.join.address[i] = trib_server_shard(jobs->config, i);
        trib_address_set_port(&message.join.address[i], 0);
    }
    if (message.join.via == 0) { /* the rank itself: what it says of its address does not count */
        struct trib_address origin = link->place.peer;
        trib_address_set_port(&origin, link->join.join.data_port[0]); /* which stays when it comes again */
        trib_address_format(&origin, message.join.origin);
        link->place.origin = origin;
        message.join.room = 0;        /* of its root, which is not needed here */
        if (message.join.host != 0) { /* ranks of one host that come over two switches are no one child of either */
            message.join.host = trib_mix64(message.join.host + jobs->relay->via) | 1;
        }
    }
    message.capabilities = 0; /* the rank's; what is said to the parent is said by this switch */
    message.join.root_port = 0;
    message.join.weight = 0;
    message.join.via = jobs->relay->via;
    message.join.hops++;
    message.join.roots = trib_least(jobs->config->shards, message.join.roots);
    message.join.room = trib_least(trib_admission_room(jobs, NULL), message.join.room);
    message.join.multicast = false; /* the parent has one copy to send, to this switch */
    message.join.known.group = 0;   /* this switch's, not the parent's */
    message.join.known.group_port = 0;
    return message;
}

void trib_relay_locate(const struct trib_jobs *jobs, const struct trib_address *local)
{
    struct trib_address self = *local;
    trib_address_set_port(&self, trib_address_port(&jobs->config->listen));
    trib_address_format(&self, jobs->relay->name);
}

void trib_relay_connected(struct trib_jobs *jobs, struct trib_link *link, const struct trib_address *local)
{
    const struct trib_message message = make_join(jobs, link);
    trib_relay_locate(jobs, local);
    jobs->relay->away[0] = '\0';
    jobs->relay->scout = jobs->relay->scout == link ? NULL : jobs->relay->scout; /* it has found out */
    link->is_up = true;
    trib_relay_send_up(jobs, link, &message);
}

/* ---- from below ---- */

/* MARK and CLOSE, and the second half of REGISTER: our nodes know it before anybody above does. */
static bool take_mark(const struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message)
{
    const struct trib_data_plane *plane = &jobs->config->plane;
    struct trib_rank *rank = rank_of(link);
    if (message->mark.mark > TRIB_SEQUENCE_MAX) {
        return false;
    }
    rank->mark = message->mark.mark > rank->mark ? message->mark.mark : rank->mark;
    plane->join(plane->plane, link->job->grant.communicator, link->join.join.rank, rank->mark);
    trib_relay_send_up(jobs, link, message);
    return true;
}

/* Of a rank that had closed before it lost its session. The root hears it behind REGISTER, so that no other rank here
 * waits for a WELCOME that nobody takes any more. */
static bool hold_close(struct trib_link *link, uint64_t mark)
{
    if (mark > TRIB_SEQUENCE_MAX) {
        return false;
    }
    link->holds_close = true;
    link->held_mark = mark > link->held_mark ? mark : link->held_mark;
    return true;
}

static bool take_close(const struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message)
{
    bool is_registered = link->job && rank_of(link)->is_registered;
    if (!is_registered && link->join.join.was_ready) {
        return hold_close(link, message->mark.mark);
    }
    if (!is_registered) {
        if (!link->is_started || link->holds_register) {
            return false;
        }
        trib_relay_send_up(jobs, link, message); /* the root has a word for that */
    } else if (!take_mark(jobs, link, message)) {
        return false;
    }
    link->is_closing = true;
    rank_of(link)->is_closing = true;
    return true;
}

/* The rank does not know who is missing; the switches on its way do, each of those behind it. */
static void take_stall(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message,
                       uint64_t now_ns)
{
    uint32_t index = link->join.join.rank;
    const struct trib_stall *stall = &rank_of(link)->stall;
    struct trib_message passed = *message;
    trib_job_note_stall(jobs, link->job, index, message, now_ns);
    passed.stall.missing = stall->missing;
    memcpy(passed.stall.where, stall->where, sizeof passed.stall.where);
    trib_relay_send_up(jobs, link, &passed);
}

/* What another relay may say; and a rank, that it leaves this switch for the meeting. */
static bool take_word_of_relay(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message)
{
    bool is_lost = message->kind == TRIB_MESSAGE_GONE && message->note.is_lost && link->job;
    if (link->join.join.via == 0 && !is_lost) {
        return false;
    }
    if (is_lost) {
        char lost[TRIB_ERROR_TEXT_MAX];
        memcpy(lost, message->note.text, sizeof lost);
        trib_relay_drop(jobs, link->job, lost);
        return true;
    }
    if (message->kind == TRIB_MESSAGE_GONE) {
        trib_relay_leave(jobs, link, message);
        return true;
    }
    if (link->is_up) {
        trib_relay_send_up(jobs, link, message);
    }
    link->is_ending = true; /* FAIL: its last word */
    return true;
}

/* A relay may say so, and a rank of its own host. */
static bool take_dispute(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message)
{
    if (link->join.join.via == 0 && link->job->hosts == 0) {
        return false;
    }
    if (!link->job->is_disputed) { /* one is enough; a flood of them would fill the link */
        link->job->is_disputed = true;
        trib_relay_send_up(jobs, link, message);
    }
    return true;
}

static bool receive_started(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message,
                            uint64_t now_ns)
{
    switch ((int)message->kind) {
    case TRIB_MESSAGE_PATHS:
        trib_relay_paths(jobs, link, message, now_ns);
        return true;
    case TRIB_MESSAGE_REGISTER:
        return trib_relay_register(jobs, link, message->mark.mark);
    case TRIB_MESSAGE_MARK:
        return take_mark(jobs, link, message);
    case TRIB_MESSAGE_CLOSE:
        return take_close(jobs, link, message);
    case TRIB_MESSAGE_STALL:
        take_stall(jobs, link, message, now_ns);
        return true;
    case TRIB_MESSAGE_OPERATION:
        trib_relay_send_up(jobs, link, message);
        return true;
    case TRIB_MESSAGE_DISPUTE:
        return take_dispute(jobs, link, message);
    default: /* of no rank, and of no switch below */
        return false;
    }
}

bool trib_relay_receive(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *message,
                        uint64_t now_ns)
{
    struct trib_link *link = session->link;
    if (message->kind == TRIB_MESSAGE_JOIN) {
        take_join(jobs, session, message, now_ns);
        return true;
    }
    if (link->is_ending) { /* the last has been said above, whose answer ends it */
        return true;
    }
    if (message->kind == TRIB_MESSAGE_ABORT) {
        if (link->is_up) {
            trib_relay_send_up(jobs, link, message);
        }
        trib_relay_remove(jobs, link, NULL);
        return true;
    }
    if (message->kind == TRIB_MESSAGE_GONE || message->kind == TRIB_MESSAGE_FAIL) {
        return take_word_of_relay(jobs, link, message);
    }
    return receive_started(jobs, link, message, now_ns);
}

void trib_relay_pinged(const struct trib_jobs *jobs, struct trib_link *link)
{
    if (link->is_up) {
        jobs->relay->output.ping(jobs->relay->output.owner, link);
    }
}

void trib_relay_pinged_from_above(const struct trib_jobs *jobs, const struct trib_link *link)
{
    if (link->down && link->join.join.via != 0 && !trib_link_is_leaving(link)) {
        jobs->output.ping(jobs->output.owner, link->down);
    }
}

void trib_relay_expel(struct trib_jobs *jobs, struct trib_session *session, const char *cause)
{
    struct trib_link *link = session->link;
    struct trib_message gone = {.kind = TRIB_MESSAGE_GONE};
    if (link) {
        trib_explain(gone.note.text, "%s", cause);
        session->link = NULL; /* it is the caller's to end */
        link->down = NULL;
        trib_relay_leave(jobs, link, &gone);
    }
}

void trib_relay_gone(struct trib_jobs *jobs, struct trib_session *session, const char *cause)
{
    struct trib_link *link = session->link;
    if (!link) {
        return;
    }
    if (link->join.join.via == 0) {
        trib_relay_expel(jobs, session, cause);
        return;
    }
    session->link = NULL;
    link->down = NULL;
    if (link->job && !trib_link_is_leaving(link)) {
        char name[96];
        char lost[TRIB_ERROR_TEXT_MAX];
        trib_explain(lost, "%s is lost (%s)", trib_job_name_relay(rank_of(link), name), cause);
        trib_relay_drop(jobs, link->job, lost);
    } else {
        trib_relay_remove(jobs, link, NULL); /* without a word, which says the same to the parent */
    }
}

void trib_relay_mismatch(struct trib_jobs *jobs, uint32_t communicator, uint64_t sequence, const uint32_t rank[2])
{
    struct trib_job *job = trib_jobs_find_communicator(jobs, communicator);
    const struct trib_message message = {.kind = TRIB_MESSAGE_DISPUTE,
                                         .dispute = {.sequence = sequence, .rank = {rank[0], rank[1]}}};
    struct trib_link *link = jobs->relay->first;
    while (link && (link->job != job || trib_link_is_leaving(link))) {
        link = link->next;
    }
    if (job && link && !job->is_disputed) {
        job->is_disputed = true;
        trib_relay_send_up(jobs, link, &message);
    }
}

/* ---- from above ---- */

/* What ends a session ends it here as well. A relayed job that has failed remembers how: links that break now say the
 * same. One rank may have closed before. */
static void take_end(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message)
{
    struct trib_job *job = link->job;
    if (job && message->kind == TRIB_MESSAGE_FAIL && job->end.kind == TRIB_MESSAGE_NONE) {
        int32_t status = message->fail.status;
        bool is_known = status < 0 && status >= TRIB_ERR_CHECK;
        job->end = *message;
        trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s ended: %s", job->name, message->fail.text);
        jobs->stats.failed[is_known ? -status : -TRIB_ERR_REFUSED]++;
    } else if (job && message->kind == TRIB_MESSAGE_CLOSED) {
        job->closed++;
    }
    trib_relay_remove(jobs, link, message);
}

/* The parent does not know our version. The rank, whose own version this is, hears which two switches differ. */
static void take_version(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message)
{
    struct trib_message passed = *message;
    trib_explain(passed.fail.text, "switch %s, the parent of switch %s: %.300s", jobs->relay->parent, jobs->relay->name,
                 message->fail.text);
    take_end(jobs, link, &passed);
}

static void take_nonsense(struct trib_jobs *jobs, struct trib_link *link, enum trib_message_kind kind, uint64_t now_ns)
{
    char cause[128];
    (void)snprintf(cause, sizeof cause,
                   "unexpected message %s: not a Tributary switch, or one of another version or state",
                   trib_message_name(kind));
    trib_relay_lost(jobs, link, cause, true, now_ns);
}

static void learn_mark(const struct trib_jobs *jobs, const struct trib_link *link, uint64_t mark)
{
    const struct trib_data_plane *plane = &jobs->config->plane;
    plane->learn_mark(plane->plane, link->job->grant.communicator, mark);
    rank_of(link)->told = mark;
}

/* The others' WELCOME may still be on its way when this rank's has come. */
static enum trib_stage stage_above(const struct trib_link *link)
{
    if (!link->job) {
        return TRIB_STAGE_JOINING;
    }
    return link->is_started ? trib_rank_stage(link->job, link->join.join.rank) : TRIB_STAGE_WELCOMED;
}

void trib_relay_answer(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message,
                       uint64_t now_ns)
{
    struct trib_message passed = *message;
    bool is_in_turn = trib_message_is_in_turn(message->kind, TRIB_SENDER_PARENT, stage_above(link));
    switch (is_in_turn ? (int)message->kind : TRIB_MESSAGE_NONE) {
    case TRIB_MESSAGE_WELCOME:
        trib_relay_welcome(jobs, link, message, now_ns);
        return;
    case TRIB_MESSAGE_READY:
    case TRIB_MESSAGE_MARK:
        if (message->kind == TRIB_MESSAGE_READY) {
            learn_mark(jobs, link, message->ready.mark);
            trib_relay_ready(jobs, link->job, &passed);
        } else {
            learn_mark(jobs, link, message->mark.mark);
        }
        trib_relay_send_down(jobs, link, &passed);
        return;
    case TRIB_MESSAGE_DESCRIBE:
    case TRIB_MESSAGE_MISSING:
        trib_relay_send_down(jobs, link, message);
        return;
    case TRIB_MESSAGE_FAIL:
        if (message->fail.status == TRIB_ERR_VERSION && !link->job) {
            take_version(jobs, link, message);
            return;
        }
        take_end(jobs, link, message);
        return;
    case TRIB_MESSAGE_CLOSED:
        take_end(jobs, link, message);
        return;
    case TRIB_MESSAGE_AWAY:
        trib_relay_remove(jobs, link, message);
        return;
    default: /* of no parent, or out of turn */
        take_nonsense(jobs, link, message->kind, now_ns);
        return;
    }
}

void trib_relay_lost(struct trib_jobs *jobs, struct trib_link *link, const char *cause, bool is_foreign,
                     uint64_t now_ns)
{
    struct trib_relay *relay = jobs->relay;
    if (link->job && link->job->end.kind == TRIB_MESSAGE_FAIL) {
        const struct trib_message last = link->job->end;
        trib_relay_remove(jobs, link, &last);
    } else if (link->job) {
        trib_relay_drop(jobs, link->job, NULL);
    } else if (is_foreign) {
        struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = TRIB_ERR_UNREACHABLE}};
        trib_explain(message.fail.text, "%s, which switch %s has as its parent, cannot be used: %s", relay->parent,
                     relay->name, cause);
        trib_relay_remove(jobs, link, &message);
    } else {
        char text[TRIB_ERROR_TEXT_MAX];
        trib_explain(text, "switch %s, the parent of switch %s, %s: %s", relay->parent, relay->name,
                     link->is_up ? "is lost" : "does not answer", cause);
        if (!link->is_up) {
            relay->away_ns = now_ns + AWAY_NS;
            memcpy(relay->away, text, sizeof relay->away);
        }
        const struct trib_message message = away_message(text);
        trib_relay_remove(jobs, link, &message);
    }
}

void trib_relay_deinit(struct trib_jobs *jobs, enum trib_status status, const char *text)
{
    struct trib_message down = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = status}};
    trib_explain(down.fail.text, "%s", text);
    for (const struct trib_job *job = jobs->first; job; job = job->next) {
        trib_relay_refuse(jobs, job, status, text);
    }
    while (jobs->relay->first) {
        trib_relay_remove(jobs, jobs->relay->first, &down);
    }
}
