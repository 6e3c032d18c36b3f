/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: decides on a JOIN: checks the fields, the admission, and the agreement with earlier ranks. A new communicator
 * and a communicator that comes back after a restart of the switch (the ranks bring grants) take the same path.
 * Read next: begin.c (limits of new jobs), differ.c (ranks with different settings), start.c (all ranks are there). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/begin.h"
#include "control/jobs/cut.h"
#include "control/jobs/differ.h"
#include "control/jobs/find.h"
#include "control/jobs/job.h"
#include "control/jobs/join.h"
#include "control/jobs/marks.h"
#include "control/jobs/opening.h"
#include "control/jobs/owner.h"
#include "control/jobs/recall.h"
#include "control/jobs/start.h"
#include "control/roots/loads.h"
#include "control/roots/processes.h"
#include "control/roots/roots.h"
#include "control/roots/trees.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/units.h"
#include "schemes/schemes.h"

/* True if the ranks of the scheme send to each other, and to no switch. */
static bool has_peers(const char *name)
{
    const struct trib_scheme *scheme = trib_scheme_find(name);
    return scheme && !scheme->switch_node && scheme->worker->peers;
}

/* True for a JOIN of such a scheme, or of a rank that was told to join a ring. */
static bool is_of_peers(const struct trib_message *join)
{
    return join->join.is_ring || has_peers(join->join.settings.scheme);
}

static void explain_peers(const struct trib_message *join, char *error)
{
    trib_explain(error,
                 "scheme %s: its ranks send to each other, and a switch that has a parent cannot tell where they are: "
                 "name the switch at the root, or the rendezvous",
                 join->join.is_ring ? TRIB_SCHEME_RING : join->join.settings.scheme);
}

static void explain_scheme(const char *name, char *error)
{
    char known[128] = "";
    size_t len = 0;
    const char *cause = trib_name_is_good(name) ? trib_scheme_explain(name) : NULL;
    if (cause != NULL) {
        trib_explain(error, "scheme %s: %s", name, cause);
        return;
    }
    for (unsigned i = 0; trib_scheme_at(i) != NULL && len < sizeof known; i++) {
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", len ? ", " : "", trib_scheme_at(i)->name);
    }
    trib_explain(error, "unknown scheme %s: this switch has %s", trib_name_is_good(name) ? name : "(not a name)",
                 known);
}

/* The cause why the scheme, which must exist, cannot run the communicator; NULL: none. */
static const char *unfit(const struct trib_settings *settings)
{
    const struct trib_scheme *scheme = trib_scheme_find(settings->scheme);
    struct trib_session_config session = {
        .ranks = settings->ranks, .payload = settings->payload, .wire = (enum trib_type)settings->wire};
    trib_scheme_settle(settings->scheme, &session);
    return scheme->unfit ? scheme->unfit(&session) : NULL;
}

/* The rank's own UDP ports. False: the cause is in error. */
static bool has_way(const struct trib_message *message, char *error)
{
    uint32_t rank = message->join.rank;
    bool has_gap = false;
    for (uint32_t i = 1; i < TRIB_ROOTS_MAX; i++) {
        has_gap = has_gap || (message->join.data_port[i - 1] == 0 && message->join.data_port[i] != 0);
    }
    if (message->join.roots > TRIB_ROOTS_MAX) {
        trib_explain(error, "roots %u: rank %u can send to %d at most", message->join.roots, rank, TRIB_ROOTS_MAX);
    } else if (message->join.data_port[0] == 0) {
        trib_explain(error, "data ports: rank %u names no UDP port to send from", rank);
    } else if (has_gap) {
        trib_explain(error, "data ports: rank %u names a UDP port behind one that is 0", rank);
    } else {
        return true;
    }
    return false;
}

static enum trib_status check_fields(const struct trib_message *message, char *error)
{
    const struct trib_settings *settings = &message->join.settings;
    if (!trib_name_is_good(message->join.job)) {
        trib_explain(error, "a job name is 1 to %d printable ASCII characters without quotes and backslashes",
                     TRIB_NAME_MAX);
    } else if (!trib_is_plain(message->join.run)) {
        trib_explain(error, "a run's name is at most %d printable ASCII characters without quotes and backslashes",
                     TRIB_NAME_MAX);
    } else if (settings->ranks < 1 || settings->ranks > TRIB_RANKS_MAX) {
        trib_explain(error, "%u ranks: a communicator has 1 to %d", settings->ranks, TRIB_RANKS_MAX);
    } else if (message->join.rank >= settings->ranks) {
        trib_explain(error, "rank %u is out of range: the job has %u rank%s", message->join.rank, settings->ranks,
                     settings->ranks == 1 ? "" : "s");
    } else if (settings->payload < TRIB_PAYLOAD_ALIGN || settings->payload > TRIB_PAYLOAD_MAX ||
               settings->payload % TRIB_PAYLOAD_ALIGN != 0) {
        trib_explain(error, "payload %u: want a multiple of %d, from %d to %d", settings->payload, TRIB_PAYLOAD_ALIGN,
                     TRIB_PAYLOAD_ALIGN, TRIB_PAYLOAD_MAX);
    } else if (trib_scheme_find(settings->scheme) == NULL) {
        explain_scheme(settings->scheme, error);
    } else if (unfit(settings)) {
        trib_explain(error, "scheme %s: %s", settings->scheme, unfit(settings));
    } else if (settings->fallback && trib_scheme_names_quorum(settings->scheme)) {
        trib_explain(error,
                     "scheme %s has no fallback: a rank that is done may leave before a late rank has its results",
                     settings->scheme);
    } else if (!trib_settings_is_wire(settings->wire)) {
        trib_explain(error, "wire %u: want %d (float32), %d (bfloat16) or %d (int32)", settings->wire,
                     TRIB_WIRE_FLOAT32, TRIB_WIRE_BFLOAT16, TRIB_WIRE_INT32);
    } else if (settings->encrypt && message->join.key == 0) {
        trib_explain(error, "payloads are to be encrypted, and the job has no key (TRIB_KEY_FILE)");
    } else if (message->join.is_ring && (settings->gradient_bytes == 0 || has_peers(settings->scheme))) {
        trib_explain(error, "rank %u joins as part of a ring, but no switch has told it to", message->join.rank);
    } else if (has_way(message, error) && trib_maker_check(message, error)) {
        return TRIB_OK;
    }
    return TRIB_ERR_INVALID;
}

/* Compares all fields but the window. A place with less room lowers the window, and a rank that lost the WELCOME there
 * knows the earlier window. */
static bool same_grant(const struct trib_grant *a, const struct trib_grant *b)
{
    return a->salt == b->salt && a->token == b->token && a->key == b->key && a->job_token == b->job_token &&
           a->communicator == b->communicator && a->roots == b->roots && a->train == b->train && a->slots == b->slots &&
           a->generation == b->generation && a->group == b->group && a->group_port == b->group_port &&
           memcmp(a->weight, b->weight, sizeof a->weight) == 0 &&
           memcmp(a->switches, b->switches, sizeof a->switches) == 0;
}

/* The rank has closed its place in the job, and begins anew under the same name: other ranks may be about to close. */
static bool begins_anew(const struct trib_job *job, const struct trib_message *message)
{
    return message->join.known.communicator == 0 && message->join.rank < job->settings.ranks &&
           job->ranks[message->join.rank].has_left;
}

/* The job of the JOIN, or another job with the same name, which refuses the JOIN; NULL: none. A returning rank belongs
 * to the job with the secret in the JOIN. A job that has taken the name meanwhile may exist beside that job. */
static struct trib_job *find_job(const struct trib_jobs *jobs, const struct trib_message *message)
{
    const struct trib_grant *known = &message->join.known;
    struct trib_job *other = NULL;
    char difference[TRIB_ERROR_TEXT_MAX];
    for (struct trib_job *job = trib_jobs_named(jobs, message->join.job); job; job = job->next_named) {
        bool is_gathering = job->state == TRIB_JOB_JOINING && strcmp(job->run, message->join.run) == 0;
        if (strcmp(job->name, message->join.job) != 0 || !trib_owner_allows(job, message) ||
            begins_anew(job, message)) {
            continue;
        }
        if (is_gathering && !job->is_return && trib_job_differs(job, message, difference)) {
            continue; /* a sibling of the JOIN's job */
        }
        if (known->communicator != 0 && job->grant.communicator == known->communicator &&
            job->grant.token == known->token) {
            return job;
        }
        if (known->communicator == 0 && is_gathering && !(job->is_return && job->was_running)) {
            return job;
        }
        /* WELCOME of the present ranks may be lost */
        if (known->communicator == 0 || (is_gathering && !job->is_return && !message->join.was_ready)) {
            other = job;
        }
    }
    return other;
}

/* True if the rank arrives at a switch below both now and before, or here both now and before. If the switch below is
 * gone and the scheme has a detour, ranks may come here, and go back. */
static bool is_same_way(const struct trib_job *job, uint32_t rank, const struct trib_session *session)
{
    return (job->ranks[rank].via != 0) == (session->leaf != NULL) || trib_job_has_detour(job);
}

/* The rank had sent CLOSE in this incarnation, and the rank's session was lost, perhaps with a switch below. The rank
 * needs only CLOSED, and no other rank needs the rank: each result came from here, and stays here as long as a rank may
 * lack the result. But if the switch below was lost before REGISTER, the switch and all ranks must come back. WELCOME
 * may have been lost as well. */
static bool is_leaving(const struct trib_job *job, const struct trib_session *session,
                       const struct trib_message *message)
{
    const struct trib_grant *known = &message->join.known;
    if (!job || job->state == TRIB_JOB_JOINING || !same_grant(&job->grant, known) ||
        message->join.rank >= job->settings.ranks) {
        return false;
    }
    const struct trib_rank *rank = &job->ranks[message->join.rank];
    bool is_of_boot = known->boot == job->grant.boot || known->boot == rank->known_boot;
    return is_of_boot && rank->is_closing && !job->has_peers && is_same_way(job, message->join.rank, session) &&
           (rank->is_registered || rank->via == 0);
}

static void recall_for_way(struct trib_jobs *jobs, struct trib_job *job, uint32_t rank, uint64_t now_ns)
{
    char lost[sizeof job->lost];
    (void)snprintf(lost, sizeof lost, "the way to rank %u (%s) is lost", rank, job->ranks[rank].name);
    trib_job_recall(jobs, job, lost, now_ns);
}

/* True if the communicator waits for returning ranks, and the JOIN is from such a rank. If a rank with the grant comes
 * while the old session is open, the rank has lost the old session, alone or with a switch, without a visible end here:
 * then all ranks are recalled. But a JOIN of an earlier incarnation is only late. */
static bool is_expected(struct trib_jobs *jobs, const struct trib_session *session, const struct trib_message *message,
                        uint64_t now_ns)
{
    struct trib_job *job = find_job(jobs, message);
    if (!job || !same_grant(&job->grant, &message->join.known) || message->join.rank >= job->settings.ranks) {
        return false;
    }
    const struct trib_rank *rank = &job->ranks[message->join.rank];
    bool is_stale = job->state == TRIB_JOB_RUNNING && message->join.known.boot != job->grant.boot;
    if (job->state != TRIB_JOB_JOINING && !is_stale && rank->session && is_same_way(job, message->join.rank, session)) {
        recall_for_way(jobs, job, message->join.rank, now_ns);
        job = find_job(jobs, message); /* an open dispute ends the job */
    }
    return job && job->state == TRIB_JOB_JOINING;
}

/* The first field of a grant with an impossible value; NULL: none. */
static const char *name_impossible(const struct trib_grant *grant)
{
    bool has_slots = grant->slots >= grant->window && grant->slots <= TRIB_SLOTS_MAX;
    return grant->roots < 1                                            ? "roots"
           : grant->train < 1 || grant->train > TRIB_TRAIN_PACKETS_MAX ? "train"
           : grant->window < 1                                         ? "granted window"
           : !has_slots                                                ? "slots"
           : grant->generation == 0                                    ? "generation"
           : grant->job_token == 0                                     ? "job token"
                                                                       : NULL;
}

/* Sockets of the rank, or the fewer shards of a switch below on the way; 0: no limit. */
static uint32_t roots_of(const struct trib_session *session, const struct trib_message *message)
{
    uint32_t roots = message->join.roots;
    for (const struct trib_remote *leaf = session->leaf; leaf; leaf = leaf->above) {
        roots = trib_least(leaf->shards, roots);
    }
    return roots;
}

/* Names the switch below, on the way of the rank, that has fewer shards than the job was dealt. */
static void explain_shards(const struct trib_session *session, const char *job, uint32_t dealt, uint32_t roots,
                           char *error)
{
    const char *name = "the switch";
    for (const struct trib_remote *leaf = session->leaf; leaf; leaf = leaf->above) {
        name = leaf->shards == roots ? leaf->name : name;
    }
    trib_explain(error, "job %s used %u shards, but %s came back with %u: start it with --threads %u", job, dealt, name,
                 roots, dealt);
}

/* A switch below came back with fewer shards than before. The rank goes on here, as after a loss of that switch. */
static bool is_way_too_narrow(const struct trib_session *session, const struct trib_message *message, char *error)
{
    const struct trib_scheme *scheme = trib_scheme_find(message->join.settings.scheme);
    const struct trib_grant *known = &message->join.known;
    uint32_t roots = roots_of(session, message);
    if (!session->leaf || !trib_scheme_has_detour(scheme) || known->communicator == 0 || known->roots <= roots) {
        return false;
    }
    explain_shards(session, message->join.job, known->roots, roots, error);
    return true;
}

/* The rank is refused for good: ranks that are back would wait in vain. */
static void end_waiting(struct trib_jobs *jobs, const struct trib_message *message, const char *text)
{
    struct trib_job *job = trib_jobs_find_communicator(jobs, message->join.known.communicator);
    bool is_its = job && strcmp(job->name, message->join.job) == 0 && job->grant.token == message->join.known.token;
    if (is_its && job->state == TRIB_JOB_JOINING) {
        trib_job_fail(jobs, job, TRIB_ERR_REFUSED, text);
    }
}

/* Checks that this control plane could have given out the rank's grant. */
static enum trib_status check_known(struct trib_jobs *jobs, const struct trib_session *session,
                                    const struct trib_message *message, uint64_t now_ns, char *error)
{
    const struct trib_grant *known = &message->join.known;
    bool is_elsewhere = trib_roots_are_ranks(jobs->config) || jobs->config->lenders.count > 0;
    uint32_t shards = is_elsewhere ? TRIB_ROOTS_MAX : jobs->config->shards;
    uint32_t roots = trib_least(shards, roots_of(session, message));
    if (known->communicator == 0) {
        return TRIB_OK;
    }
    enum trib_status status = trib_trees_check(jobs, message, error);
    if (status != TRIB_OK) {
        return status;
    }
    if (known->roots > roots) {
        explain_shards(session, message->join.job, known->roots, roots, error);
        end_waiting(jobs, message, error);
        return TRIB_ERR_REFUSED;
    }
    if (known->boot - jobs->config->boot <= jobs->incarnation && !is_expected(jobs, session, message, now_ns)) {
        trib_explain(error,
                     "the session of rank %u of job %s was lost, which ended the communicator: %s did not restart",
                     message->join.rank, message->join.job,
                     trib_roots_are_ranks(jobs->config) ? "the control plane" : "the switch itself");
        return TRIB_ERR_PEER;
    }
    const char *impossible = name_impossible(known);
    if (impossible != NULL) {
        trib_explain(error, "rank %u of job %s brings an invalid grant: no switch gives its value of field \"%s\"",
                     message->join.rank, message->join.job, impossible);
        return TRIB_ERR_INVALID;
    }
    const struct trib_job *other = trib_jobs_find_communicator(jobs, known->communicator);
    if (other && strcmp(other->name, message->join.job) == 0 && other->grant.token != known->token) {
        trib_explain(error, "rank %u brings another grant than the other ranks of job %s", message->join.rank,
                     message->join.job);
        return TRIB_ERR_REFUSED;
    }
    if (other && strcmp(other->name, message->join.job) != 0) {
        trib_explain(error, "communicator %08x of job %s was given to another job while the switch was away",
                     known->communicator, message->join.job);
        return TRIB_ERR_REFUSED;
    }
    if (trib_masters_find(&jobs->masters, known->communicator)) {
        trib_explain(error, "communicator %08x of job %s has roots here for another switch: name that one",
                     known->communicator, message->join.job);
        return TRIB_ERR_REFUSED;
    }
    return TRIB_OK;
}

static void refuse(struct trib_jobs *jobs, struct trib_session *session, enum trib_status status, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_FAIL, .fail = {.status = status}};
    char peer[64];
    trib_explain(message.fail.text, "%s", text);
    trib_address_format(&session->peer, peer);
    trib_jobs_say(jobs, TRIB_LOG_INFO, "join from %s refused: %s", peer, text);
    jobs->stats.refused[-status]++;
    jobs->output.send(jobs->output.owner, session, &message);
    jobs->output.end(jobs->output.owner, session);
}

/* There is no room for the rank now. The rank comes again. */
static void send_away(struct trib_jobs *jobs, struct trib_session *session, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_AWAY};
    char peer[64];
    trib_explain(message.note.text, "%s", text);
    trib_address_format(&session->peer, peer);
    trib_jobs_say(jobs, TRIB_LOG_INFO, "join from %s refused for now: %s", peer, text);
    jobs->output.send(jobs->output.owner, session, &message);
    jobs->output.end(jobs->output.owner, session);
}

static void explain_return(const struct trib_job *job, char *error)
{
    trib_explain(error, "job %s is coming back after a restart of the switch: choose another job name, or wait",
                 job->name);
}

/* True if the rank's grant does not fit the job. In a job without any READY, some ranks may have got WELCOME, and other
 * ranks may not. */
static bool is_out_of_time(const struct trib_job *job, const struct trib_message *message, char *error)
{
    bool is_return = message->join.known.communicator != 0;
    if (job->is_return && !is_return && job->was_running) {
        explain_return(job, error);
    } else if (job->is_return && is_return && !same_grant(&job->grant, &message->join.known)) {
        trib_explain(error, "rank %u brings another grant than the other ranks of job %s", message->join.rank,
                     job->name);
    } else {
        return false;
    }
    return true;
}

/* True if the job has more roots than a switch on the way of a rank can carry: of this rank, or of a present rank that
 * came without the grant of this rank. */
static bool has_few_shards(const struct trib_job *job, const struct trib_session *session,
                           const struct trib_message *message, char *error)
{
    const struct trib_grant *known = &message->join.known;
    uint32_t dealt = job->is_return ? job->grant.roots : known->communicator != 0 ? known->roots : 0;
    uint32_t least = trib_least(dealt, roots_of(session, message));
    for (uint32_t i = 0; i < job->settings.ranks && !job->is_return; i++) {
        least = job->ranks[i].session ? trib_least(least, job->ranks[i].roots) : least;
    }
    if (least < dealt) {
        explain_shards(session, job->name, dealt, least, error);
    }
    return least < dealt;
}

/* Writes the rank's address, for people. A rank behind a switch keeps the name on a return. A rank at a loopback
 * address is on the switch's host. */
static void name_rank(const struct trib_session *session, const struct trib_message *message, char *name)
{
    struct trib_address at = session->peer;
    for (const struct trib_remote *leaf = session->leaf; leaf && trib_address_is_loopback(&at); leaf = leaf->above) {
        at = leaf->peer;
    }
    if (session->leaf) {
        trib_address_set_port(&at, message->join.data_port[0]);
    }
    trib_address_format(&at, name);
}

/* True if the same process came before, to the same switch below, as no other process sends from the port. The end of
 * the old session is under way. */
static bool is_again(const struct trib_rank *rank, const struct trib_session *session,
                     const struct trib_message *message)
{
    char name[64];
    name_rank(session, message, name);
    return session->leaf && rank->via == session->leaf->identity && strcmp(rank->name, name) == 0;
}

/* Checks that the rank may take a place in an existing job. */
static enum trib_status check_place(const struct trib_job *job, const struct trib_session *session,
                                    const struct trib_message *message, uint64_t now_ns, char *error)
{
    uint32_t rank = message->join.rank;
    bool is_return = message->join.known.communicator != 0;
    char peer[64];
    if (job->state != TRIB_JOB_JOINING) {
        trib_explain(error,
                     "job %s is already running, with %u rank%s, since %llu s: choose another job name, or end it",
                     job->name, job->settings.ranks, job->settings.ranks == 1 ? "" : "s",
                     (unsigned long long)((now_ns - job->started_ns) / TRIB_SECOND_NS));
    } else if (strcmp(job->run, message->join.run) != 0) {
        trib_explain_runs(error, job->name, job->run, trib_job_first_rank(job), message->join.run, rank);
    } else if (is_out_of_time(job, message, error) || has_few_shards(job, session, message, error)) {
        return TRIB_ERR_REFUSED;
    } else if (rank < job->settings.ranks && !is_return && job->ranks[rank].session &&
               !is_again(&job->ranks[rank], session, message)) {
        trib_address_format(&job->ranks[rank].session->peer, peer);
        trib_explain(error, "rank %u of job %s is already taken by %s", rank, job->name, peer);
    } else {
        return TRIB_OK;
    }
    return TRIB_ERR_REFUSED;
}

static struct trib_job *create_job(struct trib_jobs *jobs, const struct trib_message *join, uint64_t job_token,
                                   uint64_t now_ns)
{
    struct trib_job *job = calloc(1, trib_job_size(join->join.settings.ranks));
    if (!job || !trib_processes_start(jobs) || !trib_owner_adopt(jobs, job, join, job_token)) {
        free(job);
        return NULL;
    }
    job->processes = (struct trib_process *)(void *)&job->ranks[join->join.settings.ranks];
    job->maker = join->join.maker.communicator;
    memcpy(job->name, join->join.job, sizeof job->name);
    memcpy(job->run, join->join.run, sizeof job->run);
    job->key = join->join.key;
    trib_job_enter(job, TRIB_JOB_JOINING);
    job->has_peers = has_peers(join->join.settings.scheme);
    job->is_return = join->join.known.communicator != 0;
    job->was_running = join->join.was_ready;
    job->settings = join->join.settings;
    if (job->is_return) {
        job->grant = join->join.known;
    }
    job->started_ns = now_ns;
    job->waits_ns = now_ns;
    job->deadline_ns = now_ns + jobs->config->join_timeout_ns;
    job->probe_ns = TRIB_NEVER;
    job->marks_ns = TRIB_NEVER;
    trib_jobs_add(jobs, job);
    return job;
}

static struct trib_job *create(struct trib_jobs *jobs, const struct trib_message *message,
                               const struct trib_address *from, uint64_t now_ns, char *error)
{
    if (jobs->count >= TRIB_JOBS_MAX) {
        trib_explain(error,
                     "this control plane has %d jobs, and takes no more: come again when some of them have ended",
                     TRIB_JOBS_MAX);
        return NULL;
    }
    struct trib_job *job = create_job(jobs, message, trib_join_job_token(message), now_ns);
    if (!job) {
        trib_explain(error, "the control plane is out of memory");
        return NULL;
    }
    job->founder = *from;
    return job;
}

static void place_rank(struct trib_job *job, struct trib_session *session, const struct trib_message *message)
{
    struct trib_rank *rank = &job->ranks[message->join.rank];
    memset(rank, 0, sizeof *rank);
    rank->session = session;
    rank->address = session->peer;
    rank->via = session->leaf ? session->leaf->identity : 0;
    for (const struct trib_remote *leaf = session->leaf; leaf; leaf = leaf->above) {
        rank->seat = leaf->at[0];
    }
    rank->roots = roots_of(session, message);
    rank->room = message->join.room;
    rank->root_port = rank->room != 0 ? message->join.root_port : 0;
    rank->weight = message->join.weight;
    rank->meet_port = message->join.meet_port;
    rank->host = message->join.host;
    /* Ranks of one host that arrive at two switches are not one child of either; with a detour, the leader's way
     * counts. */
    if (session->leaf && rank->host != 0 && !trib_job_has_detour(job)) {
        rank->host = trib_mix64(rank->host + session->leaf->identity) | 1;
    }
    rank->wants_level0 = message->join.level0;
    rank->is_new = message->join.known.communicator == 0;
    rank->is_ring = message->join.is_ring;
    rank->was_ready = !rank->is_new && message->join.was_ready;
    rank->known_boot = message->join.known.boot;
    rank->wants_multicast = message->join.multicast;
    memcpy(rank->data_port, message->join.data_port, sizeof rank->data_port);
    rank->places.count = message->join.address_count;
    memcpy(rank->places.at, message->join.address, sizeof rank->places.at);
    for (uint32_t i = 0; i < rank->places.count; i++) { /* as the session's own */
        memcpy(rank->places.at[i].source, session->peer.source, sizeof session->peer.source);
    }
    name_rank(session, message, rank->name);
    job->processes[message->join.rank].hash = trib_rank_process(rank);
}

/* A returning rank knows the communicator's secret, so the rank's earlier session is dead, even if the session still
 * looks open. */
static void take_place(struct trib_jobs *jobs, struct trib_job *job, struct trib_session *session,
                       const struct trib_message *message)
{
    struct trib_rank *rank = &job->ranks[message->join.rank];
    if (message->join.known.communicator != 0 && !job->is_return) {
        job->is_return = true; /* the rank has got WELCOME, and earlier ranks have not */
        trib_job_take_grant(jobs, job, &message->join.known);
    } else if (message->join.known.communicator != 0) {
        job->grant.window = trib_least(job->grant.window, message->join.known.window);
    }
    trib_rank_let_go(jobs, rank);
    trib_job_heal(jobs, job, message->join.rank);
    trib_process_leave(jobs, job, message->join.rank);
    place_rank(job, session, message);
    trib_process_enter(jobs, job, message->join.rank);
    job->has_trees = false; /* the processes have changed */
    trib_loads_change(jobs, job);
    job->was_running = job->was_running || rank->was_ready;
    if (rank->is_ring && !job->is_ring) {
        job->is_ring = job->has_peers = true;
    }
    session->job = job;
    session->rank = message->join.rank;
    trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s rank %u of %u %s from %s", job->name, session->rank, job->settings.ranks,
                  rank->is_new ? "joined" : "is back", rank->name);
}

/* True if the switch would send packets to itself. */
static bool names_itself(const struct trib_server_config *config, const struct trib_session *session,
                         const struct trib_message *message, char *error)
{
    uint32_t ports = 0;
    while (ports < TRIB_ROOTS_MAX && message->join.data_port[ports] != 0) {
        ports++;
    }
    for (uint32_t t = 0; t < TRIB_ROOTS_MAX && ports > 0; t++) {
        uint32_t count = message->join.address_count;
        struct trib_address place = count > 0 ? message->join.address[t % count] : session->peer;
        trib_address_set_port(&place, message->join.data_port[t % ports]);
        if (trib_server_is_own_place(config, &session->local, &place)) {
            char at[64];
            trib_address_format(&place, at);
            trib_explain(error, "data ports: rank %u cannot send from %s, which is this switch", message->join.rank,
                         at);
            return true;
        }
    }
    return false;
}

static bool names_places(const struct trib_server_config *config, const struct trib_session *session,
                         const struct trib_message *message, char *error)
{
    if (!session->leaf && names_itself(config, session, message, error)) {
        return false;
    }
    for (uint32_t i = 0; i < message->join.address_count; i++) {
        const struct trib_address *place = &message->join.address[i];
        if (place->storage.ss_family != session->peer.storage.ss_family || trib_address_is_any(place) ||
            trib_address_is_group(place) || trib_address_is_mapped(place) || trib_address_is_link_local(place) ||
            trib_address_is_loopback(place) != trib_address_is_loopback(&session->peer)) {
            char at[64], from[64];
            trib_address_format(place, at);
            trib_address_format(&session->peer, from);
            trib_explain(error, "addresses: rank %u comes from %s, and cannot send from %s", message->join.rank, from,
                         at);
            return false;
        }
    }
    return true;
}

/* All ranks of a job have the same key, or none. */
static enum trib_status check_key(const struct trib_job *job, const struct trib_message *message, char *error)
{
    if (!job || job->key == message->join.key) {
        return TRIB_OK;
    }
    trib_explain(error, "job %s is of another key than rank %u: give all ranks one key, or choose another job name",
                 job->name, message->join.rank);
    return TRIB_ERR_REFUSED;
}

/* Checks that this control plane may host the job. A control plane in the process of rank 0 is for one run alone. On a
 * shared switch, the default job name would mix the ranks of two users. */
static enum trib_status check_host(const struct trib_jobs *jobs, const struct trib_session *session,
                                   const struct trib_message *message, char *error)
{
    const struct trib_server_config *config = jobs->config;
    if (config->run != NULL && strcmp(config->run, message->join.run) != 0) {
        trib_explain_runs(error, message->join.job, config->run, 0, message->join.run, message->join.rank);
    } else if (config->is_shared && strcmp(message->join.job, TRIB_JOB_DEFAULT) == 0) {
        trib_explain(error,
                     "rank %u gives its job no name, and this switch is shared: choose one that no other job has, and "
                     "give it to all ranks (TRIB_JOB, now \"" TRIB_JOB_DEFAULT "\")",
                     message->join.rank);
    } else if (trib_roots_are_ranks(config) && trib_scheme_names_quorum(message->join.settings.scheme)) {
        trib_explain(
            error,
            "scheme %s: a rank that is done may leave before a late rank has its results, and without a switch the "
            "results leave with it: name a switch",
            message->join.settings.scheme);
    } else if (session->leaf && is_of_peers(message)) {
        explain_peers(message, error);
    } else {
        return TRIB_OK;
    }
    return TRIB_ERR_REFUSED;
}

/* A rank has seen READY, so all ranks had got WELCOME. A rank without a grant has come since, and is refused. */
static void dismiss_new(struct trib_jobs *jobs, struct trib_job *job)
{
    for (uint32_t i = 0; i < job->settings.ranks && job->state == TRIB_JOB_JOINING; i++) {
        struct trib_rank *rank = &job->ranks[i];
        if (rank->session && rank->is_new) {
            char text[TRIB_ERROR_TEXT_MAX];
            explain_return(job, text);
            rank->session->job = NULL;
            refuse(jobs, rank->session, TRIB_ERR_REFUSED, text);
            rank->session = NULL;
        }
    }
}

/* True if WELCOME was lost: the job is starting, and a rank with an open session comes again with its earlier grant.
 * Then all ranks are recalled. A rank without a grant is the same rank only if it arrives at the same switch below. */
static bool has_lost_welcome(const struct trib_job *job, const struct trib_session *session,
                             const struct trib_message *message)
{
    const struct trib_grant *known = &message->join.known;
    if ((job->state != TRIB_JOB_STARTING && job->state != TRIB_JOB_PLACING) ||
        strcmp(job->run, message->join.run) != 0 || message->join.rank >= job->settings.ranks ||
        !job->ranks[message->join.rank].session) {
        return false;
    }
    const struct trib_rank *rank = &job->ranks[message->join.rank];
    if (known->communicator == 0) {
        return rank->is_new && !job->was_running && is_again(rank, session, message);
    }
    return same_grant(&job->grant, known) && known->boot == rank->known_boot &&
           is_same_way(job, message->join.rank, session);
}

/* A rank with a key comes without the grant while a cut rank is expected: the new rank is of another launch, and the
 * cut rank was killed. Without a key the new rank may be any program. */
static struct trib_job *make_way(struct trib_jobs *jobs, struct trib_job *job, const struct trib_message *message)
{
    if (job && job->cut != 0 && job->key != 0 && message->join.known.communicator == 0) {
        trib_job_end_cut(jobs, job);
        return NULL;
    }
    return job;
}

/* Each switch below has separate groups, which are not in the common grant. */
static void take_known_group(struct trib_job *job, uint32_t index, const struct trib_message *said)
{
    job->ranks[index].known_group = said->join.known.group;
    job->ranks[index].known_group_port = said->join.known.group_port;
}

void trib_job_join(struct trib_jobs *jobs, struct trib_session *session, const struct trib_message *said,
                   uint64_t now_ns)
{
    struct trib_message join = *said;
    const struct trib_message *message = &join;
    join.join.known.group = session->leaf ? 0 : said->join.known.group;
    join.join.known.group_port = session->leaf ? 0 : said->join.known.group_port;
    char error[TRIB_ERROR_TEXT_MAX] = "";
    if (session->job) { /* a recalled session */
        trib_job_leave_place(session);
    }
    enum trib_status status = check_fields(message, error);
    struct trib_job *job = status == TRIB_OK ? find_job(jobs, message) : NULL;
    status = status == TRIB_OK ? check_host(jobs, session, message, error) : status;
    status = status == TRIB_OK ? check_key(job, message, error) : status;
    if (status == TRIB_OK && !names_places(jobs->config, session, message, error)) {
        status = TRIB_ERR_INVALID;
    }
    job = status == TRIB_OK ? make_way(jobs, job, message) : job;
    if (status == TRIB_OK && is_leaving(job, session, message)) {
        const struct trib_rank *rank = &job->ranks[message->join.rank];
        trib_job_await_closed(jobs, job, session, message->join.rank, now_ns);
        if (!rank->is_registered) { /* the other ranks do not wait for REGISTER any more */
            trib_job_register(jobs, job, message->join.rank, rank->mark, now_ns);
        }
        return;
    }
    if (status == TRIB_OK && is_way_too_narrow(session, message, error)) {
        send_away(jobs, session, error);
        return;
    }
    status = status == TRIB_OK ? check_known(jobs, session, message, now_ns, error) : status;
    job = status == TRIB_OK ? find_job(jobs, message) : NULL; /* the job may have ended */
    if (job && has_lost_welcome(job, session, message)) {
        recall_for_way(jobs, job, message->join.rank, now_ns);
        job = find_job(jobs, message);
    }
    if (job && message->join.was_ready && message->join.known.communicator == job->grant.communicator) {
        dismiss_new(jobs, job);
    }
    if (job) {
        status = check_place(job, session, message, now_ns, error);
    } else if (status == TRIB_OK && !trib_job_may_begin(jobs, &session->peer, message, error)) {
        send_away(jobs, session, error);
        return;
    } else if (status == TRIB_OK) {
        job = create(jobs, message, &session->peer, now_ns, error);
        status = job ? TRIB_OK : TRIB_ERR_REFUSED;
    }
    if (status != TRIB_OK) {
        refuse(jobs, session, status, error);
        return;
    }
    if (trib_job_differs(job, message, error)) { /* the ranks before have run together: the newcomer is refused */
        refuse(jobs, session, TRIB_ERR_SETTINGS, error);
        return;
    }
    if (message->join.known.communicator != 0 && !trib_owner_adopt(jobs, job, message, message->join.known.job_token)) {
        refuse(jobs, session, TRIB_ERR_MEMORY, "the control plane is out of memory");
        return;
    }
    take_place(jobs, job, session, message);
    take_known_group(job, message->join.rank, said);
    trib_job_note_siblings(jobs, job, now_ns);
    if (trib_job_is_complete(job)) {
        trib_job_prevail(jobs, job);
        trib_job_start(jobs, job, now_ns);
    }
}
