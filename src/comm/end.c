/* SPDX-License-Identifier: Apache-2.0 */
/* end.c: see end.h. */
#include "comm/end.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "comm/own_root.h"
#include "comm/queue.h"
#include "comm/state.h"
#include "comm/states.h"
#include "comm/wake.h"
#include "core/assert.h"
#include "io/inherit.h"
#include "io/log.h"

/* A communicator in the making would wait for ranks that may be gone: if its maker ends, it fails as well. */
static void fail_made(const struct trib_comm *maker)
{
    for (struct trib_comm *made = maker->endpoint->comms; made != NULL; made = made->next) {
        if (made->maker == maker) {
            trib_comm_fail_all(made, maker->failure, "%.400s (job %s, of which it was made)", maker->failure_text,
                               maker->config.job);
        }
    }
}

/* Failure and text are set: every call on comm ends with them. */
static void end_calls(struct trib_comm *comm)
{
    TRIB_ASSERT(comm->failure != TRIB_OK);
    atomic_store_explicit(&comm->failed, true, memory_order_release);
    trib_requests_end_all(&comm->running, comm->failure);
    trib_requests_end_all(&comm->waiting, comm->failure);
    atomic_store_explicit(&comm->joined, true, memory_order_release);
    atomic_store_explicit(&comm->ended, true, memory_order_release);
}

static void fail(struct trib_comm *comm, enum trib_status status, const char *text)
{
    if (comm->transport->fail != NULL) {
        comm->transport->fail(comm, status, text);
    }
    bool names_job = !comm->is_derived || strstr(text, comm->config.job) != NULL;
    comm->failure = status;
    (void)snprintf(comm->failure_text, sizeof comm->failure_text, "%.430s%s%s%s", text, names_job ? "" : " (job ",
                   names_job ? "" : comm->config.job, names_job ? "" : ")"); /* the maker numbers its ranks otherwise */
    trib_comm_enter(comm, TRIB_COMM_FAILED);
    trib_comm_suspend(comm);
    end_calls(comm);
    trib_session_client_close(&comm->session);
    trib_comm_forget_root(comm);
    trib_comm_make_dirty(comm);
    if (!comm->is_closing) {
        /* Not a warning: the caller gets the text, and logs it. */
        trib_log(TRIB_LOG_INFO, "job %s rank %u: %s: %s", comm->config.job, comm->config.rank, trib_status_text(status),
                 text);
    }
    trib_endpoint_wake(comm->endpoint);
    fail_made(comm);
}

/* The first failure stays. */
__attribute__((format(printf, 4, 0))) static void fail_once(struct trib_comm *comm, enum trib_status status, bool tells,
                                                            const char *format, va_list arguments)
{
    char text[TRIB_ERROR_TEXT_MAX];
    if (comm->state == TRIB_COMM_FAILED) {
        return;
    }
    (void)vsnprintf(text, sizeof text, format, arguments);
    if (tells) {
        comm->transport->tell(comm, status, text);
    }
    fail(comm, status, text);
}

void trib_comm_fail(struct trib_comm *comm, enum trib_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_once(comm, status, false, format, arguments);
    va_end(arguments);
}

void trib_comm_fail_all(struct trib_comm *comm, enum trib_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_once(comm, status, true, format, arguments);
    va_end(arguments);
}

void trib_comm_abandon(struct trib_comm *comm)
{
    trib_inherit_drop(comm->session.fd);
    for (uint32_t i = 0; i < comm->group_count; i++) {
        trib_inherit_drop(trib_port_fd(comm->groups[i].port));
    }
    if (comm->host != NULL) {
        trib_host_abandon(comm->host);
        comm->host = NULL;
    }
    comm->callers = 0;
    trib_comm_enter(comm, TRIB_COMM_FAILED);
    comm->failure = TRIB_ERR_INVALID;
    (void)snprintf(comm->failure_text, sizeof comm->failure_text,
                   "rank %u: the communicator belongs to the process that this one was forked from", comm->config.rank);
    end_calls(comm);
}

enum trib_status trib_comm_check_open(struct trib_comm *comm)
{
    if (comm->state == TRIB_COMM_CLOSED) { /* only without a switch: trib_comm_lost in connect.c */
        trib_comm_fail(comm, TRIB_ERR_PEER, "%s", comm->left);
    }
    return comm->state == TRIB_COMM_FAILED ? comm->failure : TRIB_OK;
}

void trib_comm_leave(struct trib_comm *comm)
{
    trib_comm_enter(comm, TRIB_COMM_CLOSED);
    trib_session_client_close(&comm->session);
    trib_comm_forget_root(comm);
    atomic_store_explicit(&comm->ended, true, memory_order_release);
    trib_endpoint_wake(comm->endpoint);
}

void trib_comm_refuse_turn(struct trib_comm *comm, enum trib_message_kind kind)
{
    if (trib_message_is_of(kind, TRIB_SENDER_CONTROL)) {
        trib_comm_fail(comm, TRIB_ERR_REFUSED, "the %s sent an unexpected message %s", comm->where.title,
                       trib_message_name(kind));
    } else {
        trib_comm_fail(comm, TRIB_ERR_REFUSED,
                       "%s: unexpected message %s: not a Tributary switch, or one of another version", comm->where.name,
                       trib_message_name(kind));
    }
}
