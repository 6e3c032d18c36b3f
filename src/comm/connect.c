/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c: see connect.h. */
#include "comm/connect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/bounds.h"
#include "comm/detour.h"
#include "comm/end.h"
#include "comm/environment.h"
#include "comm/own_root.h"
#include "comm/queue.h"
#include "comm/say.h"
#include "comm/state.h"
#include "comm/states.h"
#include "comm/wake.h"
#include "comm/worker.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/units.h"

#define RETRY_FIRST_NS (5 * TRIB_MILLISECOND_NS)
#define RETRY_LAST_NS (100 * TRIB_MILLISECOND_NS)
/* A rank that was in before looks more often, since it holds up an operation: a restart must cost little more than
 * itself. */
#define RETURN_LAST_NS (10 * TRIB_MILLISECOND_NS)
/* For a switch that is up but takes no JOIN, since a switch above is away: tries must not flood it. */
#define REFUSED_LAST_NS (50 * TRIB_MILLISECOND_NS)
/* Time that a try may go without an answer. A host that is off does not answer, and the kernel asks again after 1,
 * 3, 7 s ... only. */
#define TRY_NS (250 * TRIB_MILLISECOND_NS)

/* Other ranks know a rank that has left a switch by the address of its session. Packets leave from the unconnected
 * socket, which another communicator of the process may have bound to another address when it moved. Returns the
 * socket's address for the session. NULL: as the routes choose. */
static const struct trib_address *local_of(const struct trib_comm *comm, struct trib_address *local)
{
    bool has_said = comm->endpoint->nics.count > 0 &&
                    !comm->where.no_box; /* JOIN names the addresses: the session may take any way to the switch */
    if (!trib_comm_is_wide(comm) || comm->endpoint->where.no_box || has_said) {
        return NULL;
    }
    trib_port_local(comm->endpoint->wide->port, local);
    trib_address_set_port(local, 0);
    return trib_address_is_any(local) ? NULL : local;
}

static void try_connecting(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_address local;
    trib_comm_begin_detour(comm, now_ns);
    comm->retry_ns = now_ns + TRY_NS;
    trib_session_client_open(&comm->session, &comm->where.address, local_of(comm, &local),
                             comm->config.switch_timeout_ns);
    comm->polled_fd = -2;  /* the new descriptor may have the old one's number */
    comm->deadline_ns = 0; /* the answer may be there already: has_answer in join.c */
    trib_comm_make_dirty(comm);
}

void trib_comm_reconnect(struct trib_comm *comm, uint64_t now_ns)
{
    trib_comm_enter(comm, TRIB_COMM_CONNECTING);
    comm->state_deadline_ns = comm->outage_deadline_ns;
    comm->retry_gap_ns = RETRY_FIRST_NS;
    trib_comm_plan_detour(comm, now_ns);
    try_connecting(comm, now_ns);
}

void trib_comm_join(struct trib_comm *comm, uint64_t now_ns)
{
    TRIB_ASSERT(!comm->was_running);
    comm->waits_ns = now_ns;
    comm->outage_deadline_ns = trib_time_after(now_ns, comm->config.join_timeout_ns);
    trib_comm_reconnect(comm, now_ns);
}

void trib_comm_connected(struct trib_comm *comm, uint64_t now_ns)
{
    TRIB_ASSERT(comm->session.state == TRIB_SESSION_OPEN);
    trib_comm_enter(comm, TRIB_COMM_JOINING);
    uint64_t until_ns = comm->was_running ? trib_comm_return_time(comm, now_ns) : comm->outage_deadline_ns;
    comm->state_deadline_ns = trib_comm_hearing_time(comm, until_ns);
    if (trib_comm_may_move(comm)) {
        comm->state_deadline_ns = trib_time_earlier(trib_comm_move_time(comm, now_ns), comm->state_deadline_ns);
    }
    trib_ping_heard(&comm->ping, now_ns + comm->ping.gap_ns);
    trib_comm_say_join(comm);
    trib_comm_tell_close(
        comm); /* the time to close may be over before READY, and the control plane would take the rank for dead */
}

static void wait_and_retry(struct trib_comm *comm, uint64_t longest_ns, uint64_t now_ns)
{
    trib_session_client_hang_up(&comm->session); /* the cause is kept for texts */
    trib_comm_end_detour(comm);
    trib_comm_enter(comm, TRIB_COMM_CONNECTING);
    comm->retry_ns = now_ns + comm->retry_gap_ns;
    comm->retry_gap_ns = trib_time_earlier(2 * comm->retry_gap_ns, longest_ns);
}

static void begin_outage(struct trib_comm *comm, uint64_t now_ns)
{
    comm->waits_ns = trib_time_earlier(comm->waits_ns, now_ns);
    comm->outage_deadline_ns =
        trib_time_earlier(trib_time_after(now_ns, comm->config.switch_timeout_ns), trib_comm_last_outage_time(comm));
}

/* Without a switch the control plane ends with rank 0's process. Communicators that were in cannot return. */
static bool ends_with_session(const struct trib_comm *comm)
{
    return comm->where.no_box && (comm->state == TRIB_COMM_PROBING || comm->state == TRIB_COMM_REGISTERING ||
                                  comm->state == TRIB_COMM_RUNNING);
}

static void fail_for_host(struct trib_comm *comm)
{
    const char *cause = comm->session.cause;
    if (comm->is_over) {
        trib_comm_fail(comm, TRIB_ERR_PEER, "%s, and the process at %s, where the control plane was, has ended: %s",
                       comm->left, comm->where.name, cause);
    } else if (comm->is_derived) {
        trib_comm_fail(comm, TRIB_ERR_PEER, "the process at %s, where the control plane was, is gone: %s",
                       comm->where.name, cause);
    } else {
        trib_comm_fail(comm, TRIB_ERR_PEER, "rank 0 is gone, and the control plane in its process at %s with it: %s",
                       comm->where.name, cause);
    }
}

/* No packet that was sent counts until the control plane has confirmed a boot again. */
static void pause_node(struct trib_comm *comm, uint64_t now_ns)
{
    if (comm->was_running) {
        begin_outage(comm, now_ns);
    }
    trib_comm_suspend(comm);
}

void trib_comm_take_recall(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    if (comm->session.state != TRIB_SESSION_OPEN) {
        return; /* the session has ended with RECALL, and no answer can leave: trib_comm_lost is next */
    }
    trib_log(comm->was_running && comm->state != TRIB_COMM_JOINING ? TRIB_LOG_WARN : TRIB_LOG_INFO,
             "job %s rank %u: boot %08x has ended, says %s: %s; joining again", comm->config.job, comm->config.rank,
             message->recall.boot, comm->where.name, message->recall.text);
    pause_node(comm, now_ns);
    trib_comm_forget_root(comm);
    trib_comm_connected(comm, now_ns);
}

static void retry_session(struct trib_comm *comm, uint64_t now_ns)
{
    uint64_t longest_ns = comm->was_running ? RETURN_LAST_NS : RETRY_LAST_NS;
    TRIB_ASSERT(!trib_comm_has_ended(comm));
    if (ends_with_session(comm) && comm->is_over && trib_comm_is_idle(comm)) {
        trib_log(TRIB_LOG_INFO, "job %s rank %u: %s, and its control plane has ended", comm->config.job,
                 comm->config.rank, comm->left);
        trib_comm_leave(comm);
        return;
    }
    if (ends_with_session(comm)) {
        fail_for_host(comm);
        return;
    }
    if (comm->state == TRIB_COMM_JOINING) {
        longest_ns = REFUSED_LAST_NS; /* the switch is up, and let no rank in */
    }
    if (comm->state != TRIB_COMM_CONNECTING) {
        trib_log(comm->was_running && comm->state != TRIB_COMM_JOINING ? TRIB_LOG_WARN : TRIB_LOG_INFO,
                 "job %s rank %u: session with %s lost: %s; trying again", comm->config.job, comm->config.rank,
                 comm->where.name, comm->session.cause);
        if (comm->state != TRIB_COMM_JOINING) {
            comm->retry_gap_ns = RETRY_FIRST_NS;
        }
        if (!comm->is_detour) {
            trib_comm_plan_detour(comm, now_ns);
        }
        pause_node(comm, now_ns);
        comm->state_deadline_ns = comm->outage_deadline_ns;
    }
    trib_comm_forget_root(comm);
    if (comm->is_closing && trib_comm_is_done_ring(comm)) {
        comm->close_deadline_ns = trib_time_earlier(trib_comm_close_time(comm, now_ns), comm->close_deadline_ns);
    }
    if (comm->state == TRIB_COMM_CONNECTING && !comm->was_running && comm->retry_gap_ns < RETRY_LAST_NS &&
        2 * comm->retry_gap_ns >= RETRY_LAST_NS) {
        char limit[TRIB_UNITS_TEXT_MAX];
        trib_format_duration(comm->config.join_timeout_ns, limit);
        bool is_said = comm->config.rank != 0 && getenv(TRIB_ENVIRONMENT_CHECKED) != NULL;
        trib_log(is_said ? TRIB_LOG_INFO : TRIB_LOG_WARN, "job %s rank %u: no %s at %s yet: %s; trying for %s",
                 comm->config.job, comm->config.rank, comm->where.no_box ? "rank 0" : "switch", comm->where.name,
                 comm->session.cause, limit);
    }
    wait_and_retry(comm, longest_ns, now_ns);
}

void trib_comm_lost(struct trib_comm *comm, uint64_t now_ns)
{
    comm->away[0] = '\0';
    retry_session(comm, now_ns);
}

/* Other ranks may not have asked yet, and the switch may run again: with GONE it lets all ranks go, and they follow. */
static void say_moving(struct trib_comm *comm)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_GONE, .note = {.is_lost = true}};
    (void)snprintf(message.note.text, sizeof message.note.text,
                   "rank %u had no answer from this switch, and goes on without it", comm->config.rank);
    trib_session_client_send(&comm->session, &message);
}

void trib_comm_lose_silent(struct trib_comm *comm, uint64_t now_ns)
{
    TRIB_ASSERT(!comm->where.no_box); /* a stopped rank is late, and not gone */
    bool was_registered = comm->state == TRIB_COMM_RUNNING;
    bool is_last = comm->other.where.address.len == 0 || comm->is_detour;
    uint64_t since_ns = comm->ping.since_ns;
    if (was_registered && trib_comm_may_move(comm)) {
        say_moving(comm);
    }
    trib_session_client_lose(&comm->session, TRIB_PING_SILENT);
    trib_comm_lost(comm, now_ns);
    if (!is_last) {
        comm->detour_ns = now_ns;
    } else if (comm->was_running && !trib_comm_has_ended(comm)) { /* the switch has used up its time to come back */
        comm->waits_ns = trib_time_earlier(comm->waits_ns, since_ns);
        comm->outage_deadline_ns = comm->state_deadline_ns = now_ns;
    }
}

void trib_comm_connect_again(struct trib_comm *comm, uint64_t now_ns)
{
    TRIB_ASSERT(comm->state == TRIB_COMM_CONNECTING);
    if (comm->session.state != TRIB_SESSION_CONNECTING) {
        try_connecting(comm, now_ns);
        return;
    }
    trib_session_client_lose(&comm->session, "no answer");
    retry_session(comm, now_ns); /* the cause from AWAY stays in the error until another answer comes from the switch */
}

void trib_comm_take_away(struct trib_comm *comm, const struct trib_message *message, uint64_t now_ns)
{
    if (comm->away[0] == '\0') {
        trib_log(TRIB_LOG_WARN, "job %s rank %u: %s; trying again", comm->config.job, comm->config.rank,
                 message->note.text);
    }
    trib_session_client_close(&comm->session);
    memcpy(comm->away, message->note.text, sizeof comm->away);
    comm->state_deadline_ns = comm->outage_deadline_ns;
    wait_and_retry(comm, REFUSED_LAST_NS, now_ns);
}
