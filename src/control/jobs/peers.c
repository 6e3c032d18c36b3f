/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c: see peers.h. */
#include "control/jobs/peers.h"

#include <arpa/inet.h>
#include <string.h>

#include "io/explain.h"
#include "schemes/schemes.h"

/* ---- addresses ---- */

/* Why other ranks cannot send to this address as we know it; NULL: they can. */
static const char *explain_unknown(const struct trib_address *address, const struct trib_address *first)
{
    if (trib_address_is_mapped(address) || address->storage.ss_family != first->storage.ss_family) {
        return "over another version of IP than the rendezvous or other ranks";
    }
    return trib_address_is_link_local(address) ? "from an address that is known on one link only" : NULL;
}

/* Who runs on the host of this control plane may have come by a loopback address, which other hosts take for their own:
 * it is where those others have found this host. */
static struct trib_address mended_address(const struct trib_rank *rank, const struct trib_session *outside)
{
    bool is_inside = trib_address_is_loopback(&rank->address) && rank->places.count == 0;
    return is_inside && outside && outside->local.len > 0 ? outside->local : rank->address;
}

/* Of a rank that came from elsewhere; NULL: there is none. */
static const struct trib_session *find_outside(const struct trib_job *job)
{
    const struct trib_session *outside = NULL;
    for (uint32_t i = 0; i < job->settings.ranks && !outside; i++) {
        outside = trib_address_is_loopback(&job->ranks[i].address) ? NULL : job->ranks[i].session;
    }
    return outside;
}

enum trib_status trib_peers_check(const struct trib_job *job, char *error)
{
    const struct trib_session *outside = find_outside(job);
    struct trib_address first = mended_address(&job->ranks[0], outside);
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        char name[96];
        struct trib_address address = mended_address(&job->ranks[i], outside);
        const char *unknown = explain_unknown(&address, &first);
        if (unknown) {
            trib_explain(error, "%s comes %s: without a switch every rank must be known to all others",
                         trib_job_name_rank(job, i, name), unknown);
            return TRIB_ERR_UNREACHABLE;
        }
    }
    return TRIB_OK;
}

enum trib_status trib_peers_address(struct trib_job *job, char *error)
{
    const struct trib_session *outside = find_outside(job);
    enum trib_status status = trib_peers_check(job, error);
    for (uint32_t i = 0; i < job->settings.ranks && status == TRIB_OK; i++) {
        job->ranks[i].address = mended_address(&job->ranks[i], outside);
    }
    return status;
}

struct trib_address trib_peers_known_as(const struct trib_rank *rank)
{
    struct trib_address address = trib_rank_place(rank, 0);
    trib_address_set_port(&address, 0);
    return address;
}

struct trib_address trib_peers_place(const struct trib_rank *rank)
{
    struct trib_address address = trib_rank_place(rank, 0);
    trib_address_set_port(&address, rank->data_port[0]);
    return address;
}

void trib_peers_name(const struct trib_job *job, uint32_t index, struct trib_message *welcome)
{
    const struct trib_scheme *scheme = trib_scheme_find(trib_job_scheme(job));
    struct trib_session_config session;
    uint16_t peers[TRIB_PEERS_MAX];
    trib_job_session(job, &session);
    welcome->welcome.known_as = trib_peers_known_as(&job->ranks[index]);
    uint32_t count = scheme->worker->peers ? scheme->worker->peers(&session, index, peers) : 0;
    welcome->welcome.peer_count = (uint8_t)count;
    for (uint32_t i = 0; i < count; i++) {
        welcome->welcome.peer[i] =
            (struct trib_peer){.rank = peers[i], .address = trib_peers_place(&job->ranks[peers[i]])};
    }
}

uint32_t trib_peers_room(const struct trib_job *job)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        least = trib_least(least, job->ranks[i].room);
    }
    return least;
}

/* ---- the verbs ---- */

static enum trib_status open_nothing(void *plane, const struct trib_opening *opening)
{
    (void)plane;
    (void)opening;
    return TRIB_OK;
}

static void close_nothing(void *plane, uint32_t communicator)
{
    (void)plane;
    (void)communicator;
}

static void join_nothing(void *plane, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    (void)plane;
    (void)communicator;
    (void)rank;
    (void)mark;
}

/* What ranks have told. Packets move M elsewhere alone; a rank that is idle tells its mark, so this lags by little. */
static uint64_t mark_told(void *plane, uint32_t communicator)
{
    const struct trib_job *job = trib_jobs_find_communicator(plane, communicator);
    uint64_t mark = UINT64_MAX;
    for (uint32_t i = 0; i < job->settings.ranks; i++) {
        if (trib_job_leads(job, i)) { /* what its leader has not told, a host's other ranks cannot know */
            mark = job->ranks[i].mark < mark ? job->ranks[i].mark : mark;
        }
    }
    return mark;
}

static void no_mark(void *plane, uint32_t communicator, uint64_t mark)
{
    (void)plane;
    (void)communicator;
    (void)mark;
}

static void no_parent(void *plane, uint32_t communicator)
{
    (void)plane;
    (void)communicator;
}

static bool no_answer(void *plane, uint32_t communicator)
{
    (void)plane;
    (void)communicator;
    return false;
}

static void no_group(void *plane, uint32_t communicator, uint32_t group, uint16_t port)
{
    (void)plane;
    (void)communicator;
    (void)group;
    (void)port;
}

/* It is the ranks' own memory: no quota of this process. */
static size_t no_bytes(void *plane, const struct trib_opening *opening)
{
    (void)plane;
    (void)opening;
    return 0;
}

static bool no_report(void *plane, uint32_t communicator, struct trib_plane_report *report)
{
    (void)plane;
    (void)communicator;
    memset(report, 0, sizeof *report);
    return false;
}

static void no_traffic(void *plane, struct trib_udp_stats *sum)
{
    (void)plane;
    memset(sum, 0, sizeof *sum);
}

/* Nobody holds parts in one place. Whoever lacks shows by not waiting himself, once all that wait have had the time to
 * say so (stall.c). */
static uint32_t missing_later(void *plane, uint32_t communicator, uint64_t sequence, uint16_t *ranks, uint32_t max)
{
    (void)plane;
    (void)communicator;
    (void)sequence;
    (void)ranks;
    (void)max;
    return TRIB_MISSING_LATER;
}

struct trib_data_plane trib_peers_verbs(struct trib_jobs *jobs)
{
    return (struct trib_data_plane){
        .plane = jobs,
        .open = open_nothing,
        .close = close_nothing,
        .join = join_nothing,
        .learn_mark = no_mark,
        .probe_parent = no_parent,
        .parent_answered = no_answer,
        .communicator_mark = mark_told,
        .multicast = no_group,
        .probe_multicast = no_group,
        .slot_bytes = no_bytes,
        .report = no_report,
        .missing = missing_later,
        .traffic = no_traffic,
    };
}
