/* SPDX-License-Identifier: Apache-2.0 */
/* turn.c: a communicator's turn in the loop: timers, transport, session, next deadline.
 * Read next: transport.h, join.c (the session), drive.c (the caller). */
#include "comm/turn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "comm/bounds.h"
#include "comm/describe.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/join.h"
#include "comm/queue.h"
#include "comm/wake.h"
#include "comm/worker.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/units.h"

/* ---- time ---- */

static void time_out(struct trib_comm *comm)
{
    char operation[256];
    char limit[TRIB_UNITS_TEXT_MAX];
    char cause[384] = "";
    uint64_t now_ns = trib_clock_ns();
    comm->transport->explain(comm, now_ns, cause, sizeof cause);
    trib_comm_describe(comm, trib_comm_mark(comm), operation, sizeof operation);
    trib_format_duration(comm->config.timeout_ns, limit);
    if (comm->was_running && comm->waits_ns != TRIB_NEVER) { /* other ranks may be missing, but this one is not in */
        char absence[TRIB_ERROR_TEXT_MAX];
        trib_comm_explain_absence(comm, now_ns, absence);
        (void)snprintf(cause, sizeof cause, ": %.300s", absence);
    }
    trib_comm_fail_all(comm, TRIB_ERR_TIMEOUT, "rank %u: %.150s did not end within %s%.300s", comm->config.rank,
                       operation, limit, cause);
}

/* A rank that is led knows no cause on other hosts. The leader has the same limit, and names the missing ranks. */
static uint64_t limit_ns(const struct trib_comm *comm)
{
    const struct trib_request *oldest = trib_comm_oldest(comm);
    uint64_t later_ns = comm->is_led ? trib_time_earlier(comm->config.timeout_ns / 4, TRIB_SECOND_NS) : 0;
    return oldest != NULL ? trib_time_after(oldest->deadline_ns, later_ns) : TRIB_NEVER;
}

/* The state alone decides. A request has its time limit in every state. */
static uint64_t next_deadline(const struct trib_comm *comm)
{
    uint64_t deadline = limit_ns(comm);
    if (trib_comm_has_ended(comm)) {
        return deadline;
    }
    deadline = trib_time_earlier(deadline, comm->close_deadline_ns);
    deadline = trib_time_earlier(deadline, trib_comm_session_deadline(comm));
    return trib_time_earlier(deadline, comm->transport->deadline(comm));
}

static bool is_late(const struct trib_comm *comm, uint64_t now_ns)
{
    return limit_ns(comm) <= now_ns;
}

static void check_time(struct trib_comm *comm, uint64_t now_ns)
{
    trib_comm_session_timeout(comm, now_ns);
    if (is_late(comm, now_ns)) {
        trib_comm_read_session(comm, now_ns);
    }
    if (is_late(comm, now_ns)) {
        time_out(comm);
    }
    if (trib_comm_has_ended(comm)) {
        return;
    }
    comm->transport->on_timeout(comm, now_ns);
    if (comm->close_deadline_ns <= now_ns && !trib_comm_has_ended(comm)) {
        trib_comm_leave(comm);
    }
}

/* Tells the pollers if the session's descriptor or its interest has changed. */
static void publish_session(struct trib_comm *comm)
{
    short interest = trib_session_client_interest(&comm->session);
    if (comm->session.fd == comm->polled_fd && interest == comm->polled_interest) {
        return;
    }
    comm->polled_fd = comm->session.fd;
    comm->polled_interest = interest;
    if (!trib_endpoint_watch(comm)) {
        trib_comm_fail(comm, TRIB_ERR_SYSTEM, "rank %u: cannot watch a session: %s", comm->config.rank,
                       trib_explain_errno(errno));
    }
}

void trib_comm_settle(struct trib_comm *comm, uint64_t now_ns)
{
    comm->dirty = false;
    if (comm->is_dissolving) { /* no memory and no socket may be left */
        comm->deadline_ns = TRIB_NEVER;
        return;
    }
    if (comm->deadline_ns <= now_ns) {
        check_time(comm, now_ns);
    }
    comm->transport->run(comm, now_ns);
    publish_session(comm);
    comm->deadline_ns = next_deadline(comm);
    if (comm->deadline_ns != TRIB_NEVER) {
        trib_endpoint_awaken(comm);
    }
}

void trib_comm_submit(struct trib_comm *comm, struct trib_request *request, uint64_t now_ns)
{
    TRIB_ASSERT(comm->state != TRIB_COMM_FAILED);
    request->operation.token = (uint64_t)(uintptr_t)request;
    request->operation.priority = comm->priority;
    request->deadline_ns = trib_time_after(now_ns, comm->config.timeout_ns);
    comm->idle_since_ns = trib_comm_is_idle(comm) ? now_ns : comm->idle_since_ns;
    trib_requests_append(&comm->waiting, request);
    if (comm->transport->submit != NULL) {
        comm->transport->submit(comm, now_ns);
    }
}
