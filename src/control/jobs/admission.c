/* SPDX-License-Identifier: Apache-2.0 */
/* admission.c: the resources of a communicator: packets in a train, fragments in flight, slots, and memory within the
 * quotas. No state beside the jobs. Read next: start.c (the caller). */
#include <string.h>

#include "control/jobs/admission.h"
#include "control/jobs/placements.h"
#include "control/jobs/places.h"
#include "control/roots/processes.h"
#include "core/assert.h"
#include "io/explain.h"
#include "schemes/schemes.h"

#define TRAINS_DEFAULT 8 /* in flight per rank and shard: fills cache and socket buffers, and hides an RTT */
#define TRAIN_LEAST 4    /* shorter trains cost more in system calls than they gain by spreading */
#define LEAST_SHARE \
    4 /* a late job gets at least this part of a lone job's window, even if the socket's room is all granted */

/* Bytes of the largest packet. */
static uint32_t packet_of(const struct trib_job *job)
{
    return trib_packet_size(job->settings.payload, job->key != 0);
}

/* Packets of one train for the job's payload: the maximum of one UDP_SEGMENT call. */
static uint32_t train_packets(const struct trib_job *job)
{
    uint32_t packets = TRIB_TRAIN_BYTES_MAX / packet_of(job);
    return packets < TRIB_TRAIN_PACKETS_MAX ? packets : TRIB_TRAIN_PACKETS_MAX;
}

/* Number of consecutive sequences that go to one root. Ranks' processes or switches as roots share a tensor of one
 * train, as each has a separate link. */
static uint32_t train_of(const struct trib_job *job)
{
    uint32_t train = train_packets(job);
    TRIB_ASSERT(train > 0 && job->ways > 0); /* the places have dealt their roots */
    uint32_t share = (train + job->ways - 1) / job->ways;
    uint32_t least = train < TRAIN_LEAST ? train : TRAIN_LEAST;
    return share > least ? share : least;
}

static uint64_t bytes_of(const struct trib_job *job)
{
    return (uint64_t)job->grant.window * packet_of(job);
}

/* True if the rank sends to the place `below` (0: the place of the roots). */
static bool sends_to(const struct trib_job *job, uint32_t rank, uint32_t below)
{
    return job->ranks[rank].below == below && job->ranks[rank].session && trib_job_leads(job, rank);
}

/* Bytes that an open job adds to the counts of its processes: from the job's children at one place (0: the place of the
 * roots), and at a switch below also from the parent, which sends results there. */
static uint64_t add_job(const struct trib_jobs *jobs, const struct trib_job *job, uint32_t below)
{
    uint64_t each = bytes_of(job);
    uint64_t bytes = below != 0 ? each : 0;
    uint32_t children = below != 0 ? job->below[below - 1].children : job->children;
    uint32_t direct = 0;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (sends_to(job, i, below)) {
            uint64_t *counted = trib_process_bytes(jobs, job, i);
            bytes += *counted < each ? each - *counted : 0;
            *counted = *counted < each ? each : *counted;
            direct++;
        }
    }
    return bytes + (children - direct) * each; /* switches below, and ranks that have left */
}

/* True if the scheme has caps: then switches divide the room of sockets while jobs run. */
static bool has_caps(const struct trib_job *job)
{
    return trib_scheme_has_caps(trib_scheme_find(trib_job_scheme(job)));
}

/* Bytes in flight to one shard here that communicators of controllers elsewhere may have, without `but`. */
static uint64_t flight_lent(const struct trib_jobs *jobs, const struct trib_master *but)
{
    uint64_t bytes = 0;
    for (const struct trib_lending *lending = jobs->masters.lendings; lending; lending = lending->next) {
        bytes += lending->master != but ? lending->flight_bytes : 0;
    }
    return bytes;
}

/* Bytes that an open job adds at a socket of a switch below; NULL: of a root of `but`, or of a shard here if `but` is
 * NULL. */
static uint64_t add_at(const struct trib_jobs *jobs, const struct trib_job *job, const struct trib_remote *remote,
                       const struct trib_job *but)
{
    for (uint32_t b = 1; b <= job->belows && remote; b++) {
        if (job->below[b - 1].placement.remote == remote) {
            return add_job(jobs, job, b);
        }
    }
    return !remote && trib_placements_meet(job, but) ? add_job(jobs, job, 0) : 0;
}

/* `bytes` plus the bytes that may be in flight to one shard at the place `below` (0: the place of the roots), up to
 * `most`. Ranks of `but` (NULL: no job) do not count. All communicators of a process together have at most the largest
 * single window in flight (comm/network.c). */
static uint64_t bytes_granted(struct trib_jobs *jobs, const struct trib_job *but, uint32_t below, uint64_t bytes,
                              uint64_t most)
{
    const struct trib_remote *remote = below != 0 ? but->below[below - 1].placement.remote : NULL;
    trib_processes_begin(jobs);
    for (uint32_t i = 0; but && i < but->settings.ranks; i++) {
        if (sends_to(but, i, below)) {
            *trib_process_bytes(jobs, but, i) = UINT64_MAX;
        }
    }
    for (const struct trib_job *job = jobs->first; job && bytes < most; job = job->next) {
        if (job != but && job->is_open && !has_caps(job)) {
            bytes += add_at(jobs, job, remote, but);
        }
    }
    return bytes < most ? bytes : most;
}

uint32_t trib_admission_socket(const struct trib_jobs *jobs, const struct trib_job *job)
{
    return job ? trib_job_places(jobs, job)->room(jobs, job) : jobs->config->receive_room;
}

/* Bytes that the job may have in flight to one shard here. Communicators of `master` (NULL: none) do not count. */
static uint32_t room_for(struct trib_jobs *jobs, const struct trib_job *job, const struct trib_master *master)
{
    uint32_t all = trib_admission_socket(jobs, job);
    uint64_t lent = job && !trib_placements_are_here(job) ? 0 : flight_lent(jobs, master);
    return all - (uint32_t)bytes_granted(jobs, job, 0, lent, all - all / LEAST_SHARE);
}

uint32_t trib_admission_room(struct trib_jobs *jobs, const struct trib_master *master)
{
    uint32_t room = room_for(jobs, NULL, master);
    return room > 0 ? room : 1;
}

/* Bytes that the job may have in flight to one shard of a switch below, beside other jobs there. */
static uint32_t room_below(struct trib_jobs *jobs, const struct trib_job *job, uint32_t below)
{
    uint32_t all = job->below[below - 1].placement.remote->room;
    return all - (uint32_t)bytes_granted(jobs, job, below, 0, all - all / LEAST_SHARE);
}

/* The largest window that fits here and at every switch below. A switch below gets packets of children, and results of
 * the parent. */
static uint32_t largest_window(struct trib_jobs *jobs, const struct trib_job *job)
{
    uint32_t packet = packet_of(job);
    uint32_t senders = job->has_peers ? TRIB_PEERS_MAX : job->children; /* to one socket */
    TRIB_ASSERT(senders > 0);
    uint32_t window = room_for(jobs, job, NULL) / packet / senders;
    for (uint32_t b = 1; b <= job->belows; b++) {
        uint32_t most = room_below(jobs, job, b) / packet / (job->below[b - 1].children + 1);
        window = most < window ? most : window;
    }
    return window;
}

bool trib_admission_has_room(struct trib_jobs *jobs, const struct trib_job *job, char *error)
{
    if (!has_caps(job) || largest_window(jobs, job) > 0) {
        return true;
    }
    trib_explain(error,
                 "job %s would get a cap of 0 fragments: packets of %u bytes from %u children, beside those of other "
                 "jobs, share the %u bytes that a socket of this switch, or of one between, can hold: raise "
                 "net.core.rmem_max (sysctl), run the switch as root, or wait for other jobs to end",
                 job->name, packet_of(job), job->children, trib_admission_socket(jobs, job));
    return false;
}

bool trib_admission_window(struct trib_jobs *jobs, struct trib_job *job)
{
    const struct trib_settings *settings = &job->settings;
    struct trib_grant *grant = &job->grant;
    uint32_t packet = packet_of(job);
    uint32_t train = train_of(job);
    uint32_t wanted = settings->window ? settings->window / packet : TRAINS_DEFAULT * train_packets(job);
    uint32_t room = largest_window(jobs, job);
    uint32_t window = wanted < room ? wanted : room;
    window = window < TRIB_SLOTS_MAX / TRIB_SLOTS_PER_WINDOW ? window : TRIB_SLOTS_MAX / TRIB_SLOTS_PER_WINDOW;
    window = window > 0 ? window : 1;
    /* The window must hold two trains, or every rank waits for the result of its own train. */
    uint32_t half = window > 1 ? window / 2 : 1;
    grant->train = train < half ? train : half;
    grant->window = window;
    grant->slots = TRIB_SLOTS_PER_WINDOW * window;
    return room < wanted;
}

void trib_admission_shrink(struct trib_jobs *jobs, struct trib_job *job)
{
    uint32_t room = largest_window(jobs, job);
    uint32_t window = room < job->grant.window ? room : job->grant.window;
    job->grant.window = window > 0 ? window : 1;
}
