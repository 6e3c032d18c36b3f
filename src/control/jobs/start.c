/* SPDX-License-Identifier: Apache-2.0 */
/* start.c: from "all ranks are there" to "all slots are open": ids and memory are given out, the data plane is opened,
 * paths are tried, ranks register. Read next: jobs.c (the rest of a communicator's life). */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/admission.h"
#include "control/jobs/check.h"
#include "control/jobs/find.h"
#include "control/jobs/hosts.h"
#include "control/jobs/job.h"
#include "control/jobs/marks.h"
#include "control/jobs/meeting.h"
#include "control/jobs/opening.h"
#include "control/jobs/owner.h"
#include "control/jobs/pieces.h"
#include "control/jobs/placements.h"
#include "control/jobs/places.h"
#include "control/jobs/start.h"
#include "control/jobs/threshold.h"
#include "control/roots/loads.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/units.h"

#define PROBE_FIRST_NS (5 * TRIB_MILLISECOND_NS)
#define PROBE_GAP_FIRST_NS (15 * TRIB_MILLISECOND_NS)
#define PROBE_GAP_MAX_NS (50 * TRIB_MILLISECOND_NS) /* a late rank waits for three (comm/paths.c) */
#define UDP_HEADER_SIZE 8

static uint64_t draw(const struct trib_jobs *jobs)
{
    return jobs->output.draw(jobs->output.owner);
}

static uint32_t draw_communicator(const struct trib_jobs *jobs)
{
    uint32_t communicator;
    do {
        communicator = (uint32_t)draw(jobs);
    } while (communicator == 0 || trib_jobs_find_communicator(jobs, communicator) ||
             trib_masters_find(&jobs->masters, communicator));
    return communicator;
}

/* Multicast needs IPv4, several ranks, and the consent of all ranks. */
static bool wants_group(const struct trib_jobs *jobs, const struct trib_job *job)
{
    if (!trib_server_has_groups(jobs->config) || !trib_job_dealer(jobs, job)->is_one_switch ||
        job->settings.ranks < 2) {
        return false;
    }
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        const struct trib_rank *rank = &job->ranks[i];
        if (rank->session && (!rank->wants_multicast || rank->via != 0 || rank->address.storage.ss_family != AF_INET)) {
            return false;
        }
    }
    return true;
}

/* No other job than `owner` (NULL: no job at all) has the group. */
static bool group_is_free(const struct trib_jobs *jobs, uint32_t group, const struct trib_job *owner)
{
    for (const struct trib_job *job = jobs->first; job; job = job->next) {
        if (job != owner && job->grant.group == group) {
            return false;
        }
    }
    return true;
}

/* True if this switch gives out the job's group, and to no other job. A returning rank names the group, and packets
 * must not go to an address chosen by a stranger (I7). If false, results go by unicast. */
static bool group_is_ours(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return trib_job_dealer(jobs, job)->is_one_switch &&
           trib_server_has_group(jobs->config, job->grant.group, job->grant.group_port) &&
           group_is_free(jobs, job->grant.group, job);
}

/* With a separate group, a communicator's links carry no results of other communicators. 0: all groups are taken. */
static uint32_t draw_group(const struct trib_jobs *jobs)
{
    for (uint32_t i = 0; i < TRIB_GROUPS_MAX; i++) {
        if (group_is_free(jobs, jobs->config->group + i, NULL)) {
            return jobs->config->group + i;
        }
    }
    return 0;
}

static void draw_job_group(const struct trib_jobs *jobs, struct trib_job *job)
{
    job->grant.group = wants_group(jobs, job) ? draw_group(jobs) : 0;
    job->grant.group_port = job->grant.group ? trib_server_group_port(jobs->config) : 0;
}

static void draw_grant(struct trib_jobs *jobs, struct trib_job *job)
{
    TRIB_ASSERT(job->grant.communicator == 0); /* C-15: once */
    job->grant.salt = draw(jobs);
    job->grant.token = draw(jobs);
    job->grant.key = draw(jobs);
    struct trib_grant grant = job->grant;
    grant.communicator = draw_communicator(jobs);
    trib_job_take_grant(jobs, job, &grant);
    while (job->owner->token == 0) {
        job->owner->token = draw(jobs);
    }
    job->grant.job_token = job->owner->token;
    job->grant.generation = 1;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        job->grant.roots = trib_least(job->grant.roots, job->ranks[i].roots);
    }
    draw_job_group(jobs, job);
    if (trib_admission_window(jobs, job)) {
        const struct trib_dealer *dealer = trib_job_dealer(jobs, job);
        trib_jobs_say(
            jobs, TRIB_LOG_WARN,
            "job %s: window cut to %u packets per rank: %u children, beside those of other jobs, share the %u bytes "
            "that a socket of %s can hold, or one of a switch below: raise net.core.rmem_max "
            "(sysctl), run %s as root, or give it a larger --buffer",
            job->name, job->grant.window, job->children, trib_admission_socket(jobs, job), dealer->sockets,
            dealer->owner);
    }
}

/* Opens the slots within the quotas, or requests slots. The caller reports an error to the ranks. */
static enum trib_status open_job(struct trib_jobs *jobs, struct trib_job *job, char *error)
{
    const struct trib_dealer *dealer = trib_job_dealer(jobs, job);
    enum trib_status status = trib_placements_open(jobs, job, error);
    job->is_open = status == TRIB_OK;
    if (job->is_open && dealer->say_dealt) {
        dealer->say_dealt(jobs, job);
    }
    if (job->is_open && !job->is_return) {
        trib_job_say_pieces(jobs, job);
    }
    return status;
}

void trib_job_welcome(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_WELCOME,
                                         .welcome = {.grant = job->grant,
                                                     .generation_ranks = job->settings.ranks,
                                                     .hosts = (uint16_t)job->hosts,
                                                     .leaders = job->leaders,
                                                     .meeting = job->meeting}};
    char memory[TRIB_UNITS_TEXT_MAX];
    trib_format_size(job->here.bytes, memory);
    trib_job_enter(job, TRIB_JOB_STARTING);
    job->waits_ns = now_ns;
    job->deadline_ns = now_ns + jobs->config->join_timeout_ns;
    bool has_group = job->grant.group != 0 && group_is_ours(jobs, job);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        bool may_hear = job->ranks[i].below != 0 ? job->below[job->ranks[i].below - 1].group != 0 : has_group;
        if (may_hear && !job->ranks[i].was_ready) { /* some rank checks whether packets to the group arrive */
            job->probe_ns = now_ns + PROBE_FIRST_NS;
            job->probe_gap_ns = PROBE_GAP_FIRST_NS;
        }
        /* Paths were tried before the switch restarted, and nothing between has changed. */
        job->ranks[i].has_paths = job->ranks[i].was_ready;
        job->ranks[i].has_multicast = job->ranks[i].has_paths && job->ranks[i].wants_multicast;
        if (!job->ranks[i].session || job->ranks[i].is_outside) { /* the rank had closed, and has left meanwhile */
            continue;
        }
        struct trib_message named = message;
        trib_job_sender_keys(job, i, &named.welcome.auth);
        trib_job_places(jobs, job)->name(jobs, job, i, &named);
        jobs->output.send(jobs->output.owner, job->ranks[i].session, &named);
        trib_message_wipe(&named);
    }
    trib_placements_probe(jobs, job);
    trib_job_queue(jobs, job);
    trib_job_check(jobs, job);
    trib_jobs_say(jobs, TRIB_LOG_INFO,
                  "job %s admitted: communicator %08x generation %u, %u ranks, scheme %s, payload %u, window %u and "
                  "slots %u per shard, %u shards, %s",
                  job->name, job->grant.communicator, job->grant.generation, job->settings.ranks, trib_job_scheme(job),
                  job->settings.payload, job->grant.window, job->grant.slots, job->grant.roots, memory);
}

/* True for a boot id without packets of the job's ranks in flight, and not 0. */
static bool is_fresh(const struct trib_job *job, uint32_t boot)
{
    bool fresh = boot != 0 && boot != job->grant.boot;
    for (uint32_t i = 0; fresh && i < job->settings.ranks; i++) {
        fresh = job->ranks[i].known_boot != boot;
    }
    return fresh;
}

/* A boot id that no other incarnation of any job has (C-6). */
static uint32_t next_boot(struct trib_jobs *jobs, const struct trib_job *job)
{
    uint32_t boot;
    do {
        boot = jobs->config->boot + jobs->incarnation++;
    } while (!is_fresh(job, boot));
    return boot;
}

/* A new key for each incarnation, so that packet numbers may begin anew. Sessions of a job with a key are encrypted. */
static void draw_packet_key(const struct trib_jobs *jobs, struct trib_job *job)
{
    for (size_t i = 0; job->key != 0 && i < sizeof job->packet_key; i += sizeof(uint64_t)) {
        uint64_t part = draw(jobs);
        memcpy(job->packet_key + i, &part, sizeof part);
    }
}

void trib_job_start(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    char error[TRIB_ERROR_TEXT_MAX] = "";
    TRIB_ASSERT(job->state == TRIB_JOB_JOINING && trib_job_is_complete(job));
    if (!trib_job_settles_ring(jobs, job)) {
        return;
    }
    const struct trib_dealer *dealer = trib_job_dealer(jobs, job);
    if (dealer->choose && !dealer->choose(jobs, job, now_ns)) {
        return;
    }
    trib_job_stop_waiting(job);
    trib_job_choose_hosts(job);
    trib_job_choose_meeting(jobs, job);
    if (!trib_job_group(job)) {
        trib_job_fail(jobs, job, TRIB_ERR_MEMORY, "the control plane is out of memory");
        return;
    }
    trib_loads_change(jobs, job); /* children and dealt roots have changed */
    job->grant.data_port = trib_address_port(&jobs->config->listen);
    enum trib_status status = dealer->deal(jobs, job, error);
    if (status == TRIB_OK) {
        if (!job->is_return) {
            draw_grant(jobs, job);
            status = trib_admission_has_room(jobs, job, error) ? TRIB_OK : TRIB_ERR_REFUSED;
        }
        trib_placements_trim(job);
        job->grant.boot = next_boot(jobs, job);
        draw_packet_key(jobs, job);
        status = status == TRIB_OK ? open_job(jobs, job, error) : status;
    }
    if (status != TRIB_OK) {
        trib_job_fail(jobs, job, status, error);
        return;
    }
    trib_job_enter(job, TRIB_JOB_PLACING);
    job->waits_ns = now_ns;
    job->deadline_ns = now_ns + jobs->config->join_timeout_ns;
    if (trib_placements_are_open(job)) {
        trib_job_welcome(jobs, job, now_ns);
    }
}

void trib_job_unplace(struct trib_jobs *jobs, struct trib_job *job)
{
    struct trib_grant grant = job->grant;
    TRIB_ASSERT(job->state == TRIB_JOB_PLACING);
    trib_job_close_plane(jobs, job);
    trib_job_enter(job, TRIB_JOB_JOINING);
    trib_job_wait(jobs, job);
    job->children = 0;
    if (!job->is_return) {
        grant.communicator = 0; /* drawn anew */
        trib_job_take_grant(jobs, job, &grant);
    }
    trib_loads_change(jobs, job);
}

void trib_job_probe(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    const struct trib_data_plane *plane = jobs->agent.plane;
    if (job->here.is_open && job->grant.group != 0 && group_is_ours(jobs, job)) {
        plane->probe_multicast(plane->plane, job->grant.communicator, job->grant.group, job->grant.group_port);
    }
    trib_placements_probe(jobs, job);
    job->probe_ns = now_ns + job->probe_gap_ns;
    job->probe_gap_ns = 2 * job->probe_gap_ns < PROBE_GAP_MAX_NS ? 2 * job->probe_gap_ns : PROBE_GAP_MAX_NS;
}

static void explain_path(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t rank, char *error)
{
    uint32_t packet = trib_address_ip_size(&job->ranks[rank].address) + UDP_HEADER_SIZE +
                      trib_packet_size(job->settings.payload, job->key != 0);
    char way[128];
    trib_job_places(jobs, job)->explain_way(jobs, job, rank, way);
    trib_explain(error,
                 "packets of %u bytes payload (%u with IP) do not pass between rank %u (%s) and %s: check the path MTU "
                 "and the firewall, or set a smaller payload",
                 job->settings.payload, packet, rank, job->ranks[rank].name, way);
}

void trib_job_paths(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, const struct trib_message *message)
{
    struct trib_rank *rank = &job->ranks[index];
    if (!message->paths.unicast) {
        char error[TRIB_ERROR_TEXT_MAX];
        explain_path(jobs, job, index, error);
        trib_job_fail(jobs, job, TRIB_ERR_UNREACHABLE, error);
        return;
    }
    rank->has_paths = true;
    rank->has_multicast = message->paths.multicast && rank->wants_multicast;
    bool all = true;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        all = all && job->ranks[i].has_paths;
    }
    job->probe_ns = all ? TRIB_NEVER : job->probe_ns;
}

static void send_ready(struct trib_jobs *jobs, const struct trib_job *job, struct trib_rank *rank)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_READY};
    message.ready.boot = job->grant.boot;
    message.ready.mark = trib_job_places(jobs, job)->mark(jobs, job);
    message.ready.multicast = rank->below != 0 ? job->below[rank->below - 1].multicast : job->multicast;
    rank->told = message.ready.mark;
    trib_rank_tell(jobs, rank, &message);
}

/* At a switch below, all child ranks receive the group. */
static void choose_multicast_below(struct trib_job *job)
{
    for (uint32_t b = 1; b <= job->belows; b++) {
        struct trib_inner *inner = &job->below[b - 1];
        inner->multicast = inner->group != 0;
        for (uint32_t i = 0; i < job->settings.ranks; i++) {
            const struct trib_rank *rank = &job->ranks[i];
            inner->multicast = inner->multicast && (rank->below != b || !rank->session || rank->has_multicast);
        }
    }
}

/* Tells the data plane how results travel, before any rank may send. */
static void choose_multicast(const struct trib_jobs *jobs, struct trib_job *job)
{
    const struct trib_data_plane *plane = jobs->agent.plane;
    job->multicast = group_is_ours(jobs, job);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        job->multicast = job->multicast && (!job->ranks[i].session || job->ranks[i].has_multicast);
    }
    if (trib_job_dealer(jobs, job)->is_one_switch) {
        plane->multicast(plane->plane, job->grant.communicator, job->multicast ? job->grant.group : 0,
                         job->multicast ? job->grant.group_port : 0);
    }
}

static void run(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    choose_multicast(jobs, job);
    choose_multicast_below(job);
    trib_job_enter(job, TRIB_JOB_RUNNING);
    job->was_running = true;
    job->deadline_ns = TRIB_NEVER;
    job->probe_ns = TRIB_NEVER;
    job->marks_ns = now_ns;
    jobs->stats.started++;
    jobs->stats.returned += job->is_return;
    trib_placements_tell_mark(jobs, job, trib_job_places(jobs, job)->mark(jobs, job), true);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        send_ready(jobs, job, &job->ranks[i]);
    }
    trib_job_queue(jobs, job);
    trib_job_check(jobs, job);
    trib_jobs_say(jobs, TRIB_LOG_INFO, "job %s runs: all %u ranks are registered, results by %s", job->name,
                  job->settings.ranks, job->multicast ? "multicast" : "unicast");
}

void trib_job_run_if_ready(struct trib_jobs *jobs, struct trib_job *job, uint64_t now_ns)
{
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (!job->ranks[i].is_registered) {
            return;
        }
    }
    const struct trib_places *places = trib_job_places(jobs, job);
    if (!trib_placements_are_ready(job)) {
        return;
    }
    if (!places->may_run || places->may_run(jobs, job)) {
        run(jobs, job, now_ns);
    }
}

void trib_job_register(struct trib_jobs *jobs, struct trib_job *job, uint32_t index, uint64_t mark, uint64_t now_ns)
{
    struct trib_rank *rank = &job->ranks[index];
    rank->mark = mark > rank->mark ? mark : rank->mark;
    TRIB_ASSERT(job->is_open); /* C-3 */
    rank->is_registered = true;
    trib_job_tell_places(jobs, job, index);
    if (job->state == TRIB_JOB_RUNNING) {
        send_ready(jobs, job, rank);
        return;
    }
    trib_job_run_if_ready(jobs, job, now_ns);
}
