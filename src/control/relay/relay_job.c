/* SPDX-License-Identifier: Apache-2.0 */
/* relay_job.c: a communicator on a relay: from the WELCOMEs of those of its ranks that come over this switch to its own
 * nodes, the path to the parent, registration, and its end. A struct trib_job holds it as at a root, but has sessions
 * only for its own ranks, and decides nothing. Read next: start.c (the root's side of the same steps). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/placements.h"
#include "control/jobs/start.h"
#include "control/relay/relay.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/units.h"

#define PATH_GAP_FIRST_NS (2 * TRIB_MILLISECOND_NS)
#define PATH_GAP_MAX_NS (200 * TRIB_MILLISECOND_NS)
#define PATH_LIMIT_NS (2 * TRIB_SECOND_NS)
#define PATH_TRIES_LEAST 12U /* before it is said that none passes: time may go by while this process does not run */

void trib_relay_send_up(const struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message)
{
    jobs->relay->output.send(jobs->relay->output.owner, link, message);
}

void trib_relay_send_down(const struct trib_jobs *jobs, const struct trib_link *link,
                          const struct trib_message *message)
{
    if (link->down) {
        jobs->output.send(jobs->output.owner, link->down, message);
    }
}

/* ---- the end ---- */

static void unlink_from(struct trib_relay *relay, struct trib_link *link)
{
    struct trib_link **at = &relay->first;
    while (*at != link) {
        at = &(*at)->next;
    }
    *at = link->next;
}

static void let_go(const struct trib_jobs *jobs, struct trib_link *link)
{
    if (link->down) {
        link->down->link = NULL;
        jobs->output.end(jobs->output.owner, link->down);
        link->down = NULL;
    }
}

void trib_relay_remove(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *last)
{
    struct trib_job *job = link->job;
    unlink_from(jobs->relay, link);
    jobs->relay->scout = jobs->relay->scout == link ? NULL : jobs->relay->scout;
    if (last) {
        trib_relay_send_down(jobs, link, last);
    }
    let_go(jobs, link);
    if (job) {
        job->ranks[link->join.join.rank].session = NULL;
        link->job = NULL;
        job->links--;
    }
    jobs->relay->output.end(jobs->relay->output.owner, link);
    if (job && job->links == 0) {
        jobs->stats.closed += job->closed == job->expected;
        trib_job_free(jobs, job);
    }
}

void trib_relay_drop(struct trib_jobs *jobs, struct trib_job *job, const char *lost)
{
    struct trib_message gone = {.kind = TRIB_MESSAGE_GONE, .note = {.is_lost = true}};
    if (lost) {
        trib_explain(gone.note.text, "%s", lost);
    }
    trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s: %s: its ranks here have to come back", job->name,
                  lost ? lost : "the way to its root is lost");
    jobs->stats.recalled++;
    trib_job_close_plane(jobs, job);
    struct trib_link *link = jobs->relay->first;
    while (link) {
        if (link->job != job) {
            link = link->next;
            continue;
        }
        bool is_last = job->links == 1;
        if (lost && !link->is_ending) {
            trib_relay_send_up(jobs, link, &gone);
        }
        trib_relay_remove(jobs, link, NULL);
        link = is_last ? NULL : jobs->relay->first; /* the last one frees the job */
    }
}

void trib_relay_refuse(struct trib_jobs *jobs, const struct trib_job *job, enum trib_status status, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = status}};
    trib_explain(message.fail.text, "%s", text);
    for (struct trib_link *link = jobs->relay->first; link; link = link->next) {
        if (link->job == job && !link->is_ending) {
            link->is_ending = true; /* said on every link, so that the first of them to be heard has it */
            trib_relay_send_up(jobs, link, &message);
        }
    }
}

/* ---- the last words of a rank ---- */

static void pass_register(const struct trib_jobs *jobs, struct trib_link *link, uint64_t mark)
{
    const struct trib_data_plane *plane = &jobs->config->plane;
    const struct trib_message message = {.kind = TRIB_MESSAGE_REGISTER, .mark = {.mark = mark}};
    struct trib_rank *rank = &link->job->ranks[link->join.join.rank];
    rank->mark = mark;
    rank->is_registered = true;
    plane->join(plane->plane, link->job->grant.communicator, link->join.join.rank, mark);
    trib_relay_send_up(jobs, link, &message);
    link->holds_register = false;
    if (link->holds_close) {
        const struct trib_message last = {.kind = TRIB_MESSAGE_CLOSE, .mark = {.mark = mark}};
        trib_relay_send_up(jobs, link, &last);
        link->holds_close = false;
        link->is_closing = rank->is_closing = true;
    }
}

void trib_relay_leave(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *gone)
{
    bool can_speak = link->is_up && !link->is_ending;
    if (can_speak && link->holds_close && !link->is_started) {
        let_go(jobs, link);
        return;
    }
    if (can_speak && link->holds_close) {
        pass_register(jobs, link, link->held_mark);
    }
    if (can_speak) {
        trib_relay_send_up(jobs, link, gone);
        link->is_ending = true;
    }
    if (link->job && link->is_closing) { /* it has left as it may */
        link->job->closed++;
    }
    trib_relay_remove(jobs, link, NULL);
}

/* ---- WELCOME ---- */

/* A parent at several addresses says which. */
static bool names_parent(const struct trib_jobs *jobs, const struct trib_message *message)
{
    bool is_named = message->welcome.root_count == 0 ||
                    (message->welcome.root_count == message->welcome.grant.roots && !message->welcome.no_box);
    for (uint32_t i = 0; i < message->welcome.root_count && is_named; i++) {
        is_named = message->welcome.root[i].storage.ss_family == jobs->config->parent.storage.ss_family;
    }
    return is_named;
}

static bool is_sane(const struct trib_jobs *jobs, const struct trib_link *link, const struct trib_message *message)
{
    const struct trib_grant *grant = &message->welcome.grant;
    uint32_t ranks = link->join.join.settings.ranks;
    return grant->communicator != 0 && grant->boot != 0 && grant->job_token != 0 && grant->roots >= 1 &&
           grant->roots <= jobs->config->shards && grant->train >= 1 && grant->train <= TRIB_TRAIN_PACKETS_MAX &&
           grant->window >= 1 && grant->slots >= grant->window && grant->slots <= TRIB_SLOTS_MAX &&
           grant->data_port != 0 && trib_hosts_are_sane(message) && names_parent(jobs, message) &&
           message->welcome.peer_count == 0 && (uint32_t)grant->data_port + grant->roots <= UINT16_MAX + 1U &&
           message->welcome.generation_ranks == ranks && message->welcome.behind >= 1 &&
           message->welcome.behind <= ranks;
}

/* A communicator is one job's: another one has places for other ranks. */
static bool is_of_another_job(const struct trib_jobs *jobs, const struct trib_link *link,
                              const struct trib_message *message)
{
    const struct trib_job *job = trib_jobs_find_communicator(jobs, message->welcome.grant.communicator);
    return job &&
           (strcmp(job->name, link->join.join.job) != 0 || job->settings.ranks != link->join.join.settings.ranks);
}

/* The communicator of this WELCOME. NULL: out of memory. */
static struct trib_job *find_job(struct trib_jobs *jobs, const struct trib_link *link,
                                 const struct trib_message *message, uint64_t now_ns)
{
    const struct trib_grant *grant = &message->welcome.grant;
    struct trib_job *job = trib_jobs_find_communicator(jobs, grant->communicator);
    if (job && job->grant.boot != grant->boot) {
        trib_relay_drop(jobs, job, NULL); /* an incarnation of before, whose end was not seen yet */
        job = NULL;
    }
    if (!job && jobs->count < TRIB_JOBS_MAX) {
        job = trib_job_create(jobs, &link->join, grant->job_token, now_ns);
    }
    if (job && job->expected == 0) {
        trib_job_take_grant(jobs, job, grant);
        for (uint32_t i = 0; i < grant->roots; i++) {
            job->parent[i] = message->welcome.root[i];
            if (message->welcome.root_count == 0) {
                job->parent[i] = jobs->config->parent;
                trib_address_set_port(&job->parent[i], (uint16_t)(grant->data_port + i));
            }
        }
        job->grant.data_port = trib_address_port(&jobs->config->listen);
        job->grant.group = 0;
        job->grant.group_port = 0;
        job->expected = message->welcome.behind;
        job->hosts = message->welcome.hosts;
        job->leaders = message->welcome.leaders;
        job->meeting = message->welcome.meeting;
        job->deadline_ns = TRIB_NEVER; /* the root has one */
    }
    return job;
}

static void give_up_link(struct trib_jobs *jobs, struct trib_link *link, enum trib_status status, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = status}};
    trib_explain(message.fail.text, "switch %s: %s", jobs->relay->name, text);
    if (!link->is_ending) {
        trib_relay_send_up(jobs, link, &message);
    }
    trib_relay_remove(jobs, link, &message);
}

static enum trib_status open_plane(struct trib_jobs *jobs, struct trib_job *job, char *error)
{
    trib_job_group(job);
    trib_placements_all_here(job);
    return trib_job_open(jobs, job, job->parent, error);
}

/* A group of this switch's own for the ranks here; of those that return, the one that they had, if this switch gives it
 * out. */
static void choose_group(const struct trib_jobs *jobs, struct trib_job *job)
{
    const struct trib_link *first = NULL;
    bool all_new = true;
    bool all_same = true;
    for (const struct trib_link *link = jobs->relay->first; link; link = link->next) {
        if (link->job == job) {
            const struct trib_grant *known = &link->join.join.known;
            first = first ? first : link;
            all_new = all_new && known->communicator == 0;
            all_same = all_same && known->communicator != 0 && known->group == first->join.join.known.group &&
                       known->group_port == first->join.join.known.group_port;
        }
    }
    if (all_new) {
        trib_job_draw_group(jobs, job);
    } else if (all_same) {
        job->grant.group = first->join.join.known.group;
        job->grant.group_port = first->join.join.known.group_port;
        if (!trib_job_group_is_ours(jobs, job)) {
            job->grant.group = 0;
        }
    }
}

static void pass_welcome(struct trib_jobs *jobs, struct trib_link *link)
{
    const struct trib_job *job = link->job;
    const struct trib_grant *known = &link->join.join.known;
    struct trib_message message = {
        .kind = TRIB_MESSAGE_WELCOME,
        .welcome = {.grant = job->grant,
                    .generation_ranks = job->settings.ranks,
                    .behind = trib_job_behind(job, link->join.join.rank),
                    .hosts = (uint16_t)job->hosts,
                    .leaders = job->leaders,
                    .meeting = job->meeting},
    };
    if (known->communicator != 0) {
        message.welcome.grant.group = known->group;
        message.welcome.grant.group_port = known->group_port;
    }
    struct trib_rank *rank = &link->job->ranks[link->join.join.rank];
    rank->has_multicast = rank->was_ready && rank->wants_multicast; /* until PATHS say otherwise */
    link->is_started = true;
    if (jobs->config->also.count > 0) {
        trib_job_name_shards(jobs, job, &message);
    }
    trib_relay_send_down(jobs, link, &message);
}

static void try_path(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    job->probe_ns = now_ns;
    job->probe_gap_ns = PATH_GAP_FIRST_NS;
    job->path_limit_ns = now_ns + PATH_LIMIT_NS;
    trib_job_queue(jobs, job);
    job->path_tries = 0;
}

/* Those that left before their WELCOME had come may go now. The job may be gone afterwards. */
static void leave_late(struct trib_jobs *jobs, const struct trib_job *job)
{
    const struct trib_message gone = {.kind = TRIB_MESSAGE_GONE, .note = {.text = "it had closed"}};
    struct trib_link *next;
    uint32_t left = job->links;
    for (struct trib_link *link = jobs->relay->first; link && left > 0; link = next) {
        next = link->next;
        if (link->job == job) {
            left--;
            if (!link->down) {
                trib_relay_leave(jobs, link, &gone);
            }
        }
    }
}

/* All that come over this switch have their WELCOME: our nodes must be there before any of them can send. */
static void start(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    enum trib_status status = open_plane(jobs, job, cause);
    if (status != TRIB_OK) {
        char text[TRIB_ERROR_TEXT_MAX];
        trib_explain(text, "switch %s: %.430s", jobs->relay->name, cause);
        trib_relay_refuse(jobs, job, status, text);
        return;
    }
    choose_group(jobs, job);
    trib_job_enter(job, TRIB_JOB_STARTING);
    try_path(jobs, job, now_ns);
    for (struct trib_link *link = jobs->relay->first; link; link = link->next) {
        if (link->job == job) {
            pass_welcome(jobs, link);
        }
    }
    trib_job_check(jobs, job);
    trib_jobs_say(jobs, TRIB_LOG_INFO,
                  "job %s relayed: communicator %08x boot %08x, %u of %u ranks here, behind %u children, parent %s",
                  job->name, job->grant.communicator, job->grant.boot, job->links, job->settings.ranks, job->children,
                  jobs->relay->parent);
    leave_late(jobs, job);
}

void trib_relay_welcome(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message,
                        uint64_t now_ns)
{
    if (!is_sane(jobs, link, message) || is_of_another_job(jobs, link, message)) {
        char text[TRIB_ERROR_TEXT_MAX];
        trib_explain(text, "its parent %s granted invalid values", jobs->relay->parent);
        give_up_link(jobs, link, TRIB_ERR_REFUSED, text);
        return;
    }
    struct trib_job *job = find_job(jobs, link, message, now_ns);
    if (!job) {
        give_up_link(jobs, link, TRIB_ERR_MEMORY, "the control plane is out of memory");
        return;
    }
    struct trib_rank *rank = &job->ranks[link->join.join.rank];
    if (rank->session || job->state != TRIB_JOB_JOINING || job->links == job->expected) {
        give_up_link(jobs, link, TRIB_ERR_REFUSED, "its parent welcomed one rank twice");
        return;
    }
    trib_job_place_rank(job, &link->place, &link->join);
    link->job = job;
    job->links++;
    if (job->links == job->expected) {
        start(jobs, job, now_ns);
    }
}

/* ---- paths ---- */

static void pass_paths(const struct trib_jobs *jobs, struct trib_link *link)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_PATHS, .paths = {.unicast = true}};
    trib_relay_send_up(jobs, link, &message);
    link->holds_paths = false;
}

/* The path to the parent has answered on every root: nobody is held up any more. */
static void look_at_path(const struct trib_jobs *jobs, struct trib_job *job)
{
    const struct trib_data_plane *plane = &jobs->config->plane;
    if (job->has_path || !plane->parent_answered(plane->plane, job->grant.communicator)) {
        return;
    }
    job->has_path = true;
    for (struct trib_link *link = jobs->relay->first; link; link = link->next) {
        if (link->job == job && link->holds_paths && !link->is_ending) {
            pass_paths(jobs, link);
            if (link->holds_register) {
                pass_register(jobs, link, link->held_mark);
            }
        }
    }
}

void trib_relay_paths(struct trib_jobs *jobs, struct trib_link *link, const struct trib_message *message,
                      uint64_t now_ns)
{
    struct trib_job *job = link->job;
    struct trib_rank *rank = &job->ranks[link->join.join.rank];
    if (!message->paths.unicast) {
        char hop[TRIB_ERROR_TEXT_MAX];
        char text[TRIB_ERROR_TEXT_MAX];
        trib_job_explain_path(jobs, job, link->join.join.rank, hop);
        trib_explain(text, "switch %s: %.430s", jobs->relay->name, hop);
        trib_relay_refuse(jobs, job, TRIB_ERR_UNREACHABLE, text);
        return;
    }
    rank->has_paths = true;
    rank->has_multicast = message->paths.multicast && rank->wants_multicast;
    link->holds_paths = true;
    if (job->has_path) {
        pass_paths(jobs, link);
        return;
    }
    look_at_path(jobs, job);
    if (!job->has_path && job->probe_ns == TRIB_NEVER) { /* given up when nobody waited for it */
        try_path(jobs, job, now_ns);
    }
}

bool trib_relay_register(struct trib_jobs *jobs, struct trib_link *link, uint64_t mark)
{
    if (mark > TRIB_SEQUENCE_MAX || link->holds_register) {
        return false;
    }
    if (link->holds_paths) {
        link->holds_register = true;
        link->held_mark = mark;
    } else {
        pass_register(jobs, link, mark);
    }
    return true;
}

static bool is_held_up(const struct trib_jobs *jobs, const struct trib_job *job)
{
    for (const struct trib_link *link = jobs->relay->first; link; link = link->next) {
        if (link->job == job && link->holds_paths) {
            return true;
        }
    }
    return false;
}

static void fail_path(struct trib_jobs *jobs, struct trib_job *job)
{
    char text[TRIB_ERROR_TEXT_MAX];
    char parent[64];
    trib_address_format(&jobs->config->parent, parent);
    trib_explain(text,
                 "packets of %u bytes payload do not pass between switch %s, UDP ports %u to %u, and its parent %s, "
                 "UDP ports %u to %u: check the path MTU and the firewall, or set a smaller payload",
                 job->settings.payload, jobs->relay->name, job->grant.data_port,
                 job->grant.data_port + job->grant.roots - 1, parent, trib_address_port(&job->parent[0]),
                 trib_address_port(&job->parent[job->grant.roots - 1]));
    if (is_held_up(jobs, job)) {
        trib_relay_refuse(jobs, job, TRIB_ERR_UNREACHABLE, text);
    } else {
        trib_jobs_say(jobs, TRIB_LOG_WARN, "job %s: %s", job->name,
                      text); /* it was tried before; who waits will say so */
    }
    job->probe_ns = TRIB_NEVER;
}

static bool waits_for_multicast(const struct trib_job *job)
{
    for (uint32_t i = 0; job->grant.group != 0 && i < job->settings.ranks; i++) {
        if (job->ranks[i].session && !job->ranks[i].was_ready && !job->ranks[i].has_paths) {
            return true;
        }
    }
    return false;
}

void trib_relay_job_on_timeout(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    const struct trib_data_plane *plane = &jobs->config->plane;
    if (now_ns < job->probe_ns) {
        return;
    }
    look_at_path(jobs, job);
    bool waits = waits_for_multicast(job);
    bool is_over =
        now_ns >= job->path_limit_ns && (job->has_path || (job->path_tries >= PATH_TRIES_LEAST && !job->was_running));
    if ((job->has_path && !waits) || is_over) {
        if (job->has_path) {
            job->probe_ns = TRIB_NEVER;
        } else {
            fail_path(jobs, job);
        }
        return;
    }
    if (!job->has_path) {
        plane->probe_parent(plane->plane, job->grant.communicator);
        job->path_tries++;
    }
    if (waits) {
        plane->probe_multicast(plane->plane, job->grant.communicator, job->grant.group, job->grant.group_port);
    }
    job->probe_ns = now_ns + job->probe_gap_ns;
    job->probe_gap_ns = 2 * job->probe_gap_ns < PATH_GAP_MAX_NS ? 2 * job->probe_gap_ns : PATH_GAP_MAX_NS;
}

/* ---- READY ---- */

void trib_relay_ready(struct trib_jobs *jobs, struct trib_job *job, struct trib_message *message)
{
    if (job->state != TRIB_JOB_RUNNING) { /* all have registered: all have told their paths */
        trib_job_enter(job, TRIB_JOB_RUNNING);
        jobs->stats.started++;
        trib_job_choose_multicast(jobs, job);
        trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s runs: results by %s", job->name,
                      job->multicast ? "multicast" : "unicast");
    }
    message->ready.multicast = job->multicast;
}
