/* SPDX-License-Identifier: Apache-2.0 */
/* detour.c: a rank behind a combiner, or behind a rack's switch of scheme rina, that does not come back. The roots are
 * at the server, or the root switch. So the rank comes there, as after a restart of a switch. WELCOME has the address.
 * In scheme rina it may be that of another switch below, on the rank's own host.
 *
 * The place of before is tried alone for a while, then the other place in turn. The first that takes the rank in keeps
 * the rank. Ranks stay children of the same roots, so each rank decides alone.
 *
 * At the server packets leave from the unconnected socket: other communicators of the process may be at the combiner.
 * Read next: connect.c (the tries), docs/DECISIONS.md ("Combiners"). */
#include "comm/detour.h"

#include <stdio.h>
#include <string.h>

#include "comm/endpoint.h"
#include "io/clock.h"
#include "io/log.h"
#include "schemes/schemes.h"

/* Time for a combiner to restart. */
#define FIRST_NS (300 * TRIB_MILLISECOND_NS)
/* Gap between tries at the other place. Combiners are back at a restarted server after about 50 ms, and most ranks
 * come by a combiner then. */
#define AGAIN_NS TRIB_SECOND_NS

static bool has_other(const struct trib_comm *comm)
{
    return comm->other.where.address.len > 0;
}

void trib_comm_learn_server(struct trib_comm *comm, const struct trib_address *server)
{
    const struct trib_scheme *scheme = trib_scheme_find(comm->config.scheme);
    bool is_usable = server->len > 0 && server->storage.ss_family == comm->where.address.storage.ss_family &&
                     trib_scheme_has_detour(scheme) && !comm->where.no_box;
    if (is_usable) {
        comm->other = (struct trib_elsewhere){.cause = ""};
        trib_where_init(&comm->other.where, server, false);
        comm->other.where.is_server = true;
    } else if (!comm->where.is_server) {
        comm->other.where.address.len = 0;
    }
}

void trib_comm_plan_detour(struct trib_comm *comm, uint64_t now_ns)
{
    comm->detour_ns = now_ns + trib_time_earlier(FIRST_NS, comm->config.switch_timeout_ns / 2);
}

/* The places, and the causes why no session is there. */
static void swap(struct trib_comm *comm)
{
    const struct trib_elsewhere other = comm->other;
    comm->other.where = comm->where;
    memcpy(comm->other.cause, comm->session.cause, sizeof comm->other.cause);
    memcpy(comm->other.away, comm->away, sizeof comm->other.away);
    comm->where = other.where;
    memcpy(comm->session.cause, other.cause, sizeof comm->session.cause);
    memcpy(comm->away, other.away, sizeof comm->away);
}

void trib_comm_begin_detour(struct trib_comm *comm, uint64_t now_ns)
{
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    if (!has_other(comm) || now_ns < comm->detour_ns) {
        return;
    }
    comm->detour_ns = now_ns + AGAIN_NS;
    if (comm->other.where.is_server &&
        trib_endpoint_widen(comm->endpoint, &comm->other.where, &comm->config, cause) != TRIB_OK) {
        (void)snprintf(comm->other.cause, sizeof comm->other.cause, "%.120s", cause);
        return;
    }
    swap(comm);
    comm->is_detour = true;
}

void trib_comm_end_detour(struct trib_comm *comm)
{
    if (comm->is_detour) {
        trib_session_client_hang_up(&comm->session);
        swap(comm);
        comm->is_detour = false;
    }
}

void trib_comm_stay(struct trib_comm *comm)
{
    if (!comm->is_detour) {
        return;
    }
    comm->is_detour = false;
    comm->is_untried = true;
    comm->is_multicast = false; /* the group was of the other place */
    trib_log(TRIB_LOG_WARN, "job %s rank %u: the switch %s does not take this rank: %s; going on at the switch %s",
             comm->config.job, comm->config.rank, comm->other.where.name,
             comm->other.away[0] != '\0' ? comm->other.away : comm->other.cause, comm->where.name);
}

/* The control plane lets all ranks go: they wait for this one, at whatever place it comes back. */
bool trib_comm_turn_back(struct trib_comm *comm, const char *cause)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_GONE, .note = {.is_lost = true}};
    if (!comm->is_untried || !has_other(comm)) {
        return false;
    }
    trib_log(TRIB_LOG_WARN, "job %s rank %u: %s; back to the switch %s", comm->config.job, comm->config.rank, cause,
             comm->other.where.name);
    (void)snprintf(message.note.text, sizeof message.note.text, "rank %u: %.400s", comm->config.rank, cause);
    trib_session_client_send(&comm->session, &message);
    trib_session_client_lose(&comm->session, "UDP packets do not pass");
    comm->is_detour = true;
    comm->detour_ns = TRIB_NEVER; /* not again in this absence */
    return true;
}
