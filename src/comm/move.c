/* SPDX-License-Identifier: Apache-2.0 */
/* move.c: ranks go on without a switch that is gone for good, if all said so (config.fallback). They meet at rank 0,
 * where a control plane has listened from the start, and their processes become the roots, as where no switch was
 * named.
 *
 * It is a restart of the switch, at another place: ranks bring the switch's grant and register with their marks. A rank
 * that has finished a fragment OFFERs it; a fragment that no rank has finished is contributed again. So the move has
 * one rule of its own, its time (docs/DECISIONS.md). No rank goes back: a switch that returns later finds none of them.
 * Read next: join.c (the dialogue, there as here), own_root.h, embedded.h. */
#include <stdio.h>
#include <string.h>

#include "comm/bounds.h"
#include "comm/connect.h"
#include "comm/embedded.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/move.h"
#include "comm/own_root.h"
#include "comm/paths.h"
#include "comm/state.h"
#include "comm/worker.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/log.h"

/* A link of this host may be down: a way to rank 0, or to the switch, may be back after this time. */
#define NO_WAY_NS (100 * TRIB_MILLISECOND_NS)

void trib_comm_learn_meeting(struct trib_comm *comm, const struct trib_address *meeting)
{
    if (comm->where.no_box) {
        return;
    }
    if (comm->config.fallback && meeting->len == 0 && comm->meeting.len == 0 && !comm->was_running) {
        trib_log(TRIB_LOG_WARN,
                 "job %s rank %u: no fallback if the switch %s is gone: rank 0 joined from a link-local address, which "
                 "other ranks cannot use; let rank 0 name the switch by another address",
                 comm->config.job, comm->config.rank, comm->where.name);
    }
    comm->meeting = *meeting;
}

static void say(const struct trib_comm *comm, const struct trib_where *where, uint64_t now_ns)
{
    char why[TRIB_ERROR_TEXT_MAX];
    char waited[TRIB_COMM_WAITED_MAX];
    if (comm->state == TRIB_COMM_CONNECTING) {
        (void)snprintf(why, sizeof why, "is gone: %.300s%s", comm->away[0] != '\0' ? comm->away : trib_comm_cause(comm),
                       trib_comm_say_waited(comm, now_ns, waited));
    } else if (comm->state == TRIB_COMM_JOINING) {
        (void)snprintf(why, sizeof why, "is back, but not all ranks are");
    } else {
        (void)snprintf(why, sizeof why, "ends the job");
    }
    trib_log(TRIB_LOG_WARN, "job %s rank %u: the switch %s %s: going on without it, at rank 0's %s", comm->config.job,
             comm->config.rank, comm->where.name, why, where->name);
}

static void set_out(struct trib_comm *comm, const struct trib_where *where)
{
    trib_session_client_close(&comm->session);
    comm->where = *where;
    comm->other.where.address.len = 0;
    comm->is_detour = false;
    comm->away[0] = '\0';
    comm->root_count = 0; /* WELCOME says where they are */
    trib_comm_forget_root(comm);
}

/* comm has a grant of the switch, as other ranks have. */
static void keep_grant(struct trib_comm *comm)
{
    TRIB_ASSERT(comm->grant.communicator != 0);
    trib_comm_suspend(comm);
    comm->has_moved = true;
    comm->stats.moved++;
    trib_comm_close_groups(comm);
    comm->is_multicast = false;
    comm->grant.group = 0; /* the group was the switch's own */
    comm->grant.group_port = 0;
    memset(comm->grant.switches, 0, sizeof comm->grant.switches); /* its roots were there */
}

/* A communicator in the making would look for the switch, and only the maker's rank 0 knows the next place. After
 * WELCOME, some ranks may have seen READY, and work: so all ranks bring the grant along. */
static void bring_made(struct trib_comm *maker, uint64_t now_ns)
{
    for (struct trib_comm *made = maker->endpoint->comms; made != NULL; made = made->next) {
        if (made->maker != maker || trib_comm_has_ended(made) || made->was_running) {
            continue;
        }
        if (made->grant.communicator != 0) {
            keep_grant(made);
        }
        set_out(made, &maker->where);
        if (made->embedded == NULL) {
            made->embedded = trib_embedded_share(maker->embedded);
        }
        if (made->state != TRIB_COMM_NONE) { /* else the thread that makes it begins at the new place */
            trib_comm_join(made, now_ns);
        }
    }
}

void trib_comm_move(struct trib_comm *comm, uint64_t now_ns)
{
    const struct trib_config *config = &comm->config;
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    struct trib_where where;
    TRIB_ASSERT(trib_comm_may_move(comm));
    trib_where_init(&where, &comm->meeting, true);
    enum trib_status status = comm->transport->open(comm->endpoint, &where, config, cause);
    if (status == TRIB_ERR_UNREACHABLE && comm->state == TRIB_COMM_CONNECTING &&
        now_ns < trib_comm_last_outage_time(comm)) {
        comm->state_deadline_ns = comm->outage_deadline_ns = now_ns + NO_WAY_NS;
        return;
    }
    if (status != TRIB_OK) {
        trib_comm_fail(comm, status, "the switch %s is gone, and rank %u cannot go on without it: %.300s",
                       comm->where.name, config->rank, cause);
        return;
    }
    say(comm, &where, now_ns);
    keep_grant(comm);
    set_out(comm, &where);
    comm->waits_ns = now_ns;
    comm->outage_deadline_ns = trib_time_after(now_ns, config->switch_timeout_ns);
    if (comm->is_closing) {
        comm->close_deadline_ns = trib_comm_close_time(comm, now_ns);
    }
    trib_comm_reconnect(comm, now_ns);
    if (comm->state != TRIB_COMM_FAILED) {
        bring_made(comm, now_ns);
    }
}
