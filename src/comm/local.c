/* SPDX-License-Identifier: Apache-2.0 */
/* local.c: a communicator all of whose ranks are on one host: what join.c and the node are to others, the host's shared
 * memory is to it. Operations go through it one after another. Read next: host/host.h (the memory), communicator.c
 * (requests). */
#include <stdio.h>
#include <string.h>

#include "comm/communicator.h"
#include "comm/describe.h"
#include "comm/end.h"
#include "comm/level0.h"
#include "comm/local.h"
#include "comm/queue.h"
#include "comm/wake.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/log.h"
#include "io/units.h"

#define STALL_NS TRIB_SECOND_NS

enum trib_status trib_comm_open_host(struct trib_comm *comm, const struct trib_comm *maker, char *error)
{
    enum trib_status status = trib_host_open(&comm->config, maker != NULL ? &maker->failed : NULL, &comm->host, error);
    if (status != TRIB_OK && maker != NULL && atomic_load_explicit(&maker->failed, memory_order_acquire)) {
        trib_explain(error, "%.400s (job %s, of which it was made)", maker->failure_text, maker->config.job);
        return maker->failure;
    }
    if (status == TRIB_OK) {
        comm->state = TRIB_COMM_RUNNING;
        comm->was_running = true;
        atomic_store_explicit(&comm->joined, true, memory_order_release);
    }
    return status;
}

/* ---- words ---- */

void trib_comm_report_host_stall(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_rank_list missing = {0};
    char operation[256];
    char duration[TRIB_UNITS_TEXT_MAX];
    uint64_t since = now_ns - comm->stalled_ns;
    uint32_t listed = sizeof missing.rank / sizeof missing.rank[0];
    if (!trib_host_is_active(comm->host)) {
        return;
    }
    comm->stall_ns = trib_time_after(now_ns, since > STALL_NS ? since : STALL_NS);
    missing.count = (uint16_t)trib_host_missing(comm->host, missing.rank, listed);
    if (missing.count == 0) {
        return; /* just come */
    }
    for (uint32_t i = 0; i < trib_rank_list_carried(&missing); i++) {
        missing.rank[i] = (uint16_t)(missing.rank[i] + comm->host_first);
    }
    trib_comm_name_ranks(&missing, comm->stall_text, sizeof comm->stall_text);
    if (comm->level0 != NULL && comm->level0->step == TRIB_LEVEL0_OUT && comm->node == NULL &&
        missing.rank[0] == comm->host_first) {
        (void)snprintf(comm->stall_text, sizeof comm->stall_text, "rank %u, which sends for this host, has no result",
                       comm->host_first);
    }
    trib_comm_describe(comm, 0, operation, sizeof operation);
    trib_format_duration(since, duration);
    trib_log(TRIB_LOG_WARN, "job %s rank %u: %s on %s since %s", comm->config.job, comm->config.rank, comm->stall_text,
             operation, duration);
}

static void fail_for_difference(struct trib_comm *comm)
{
    struct trib_operation theirs;
    if (comm->level0 != NULL) {
        trib_level0_dispute(comm); /* what the memory shows is a part of it */
        return;
    }
    uint64_t number = trib_host_number(comm->host);
    uint32_t other = trib_host_other(comm->host, &theirs);
    const struct trib_operation *own = &comm->running.head->operation;
    char first[256];
    char second[256];
    bool is_first = comm->config.rank < other;
    trib_comm_describe_operation(number, is_first ? own : &theirs, first, sizeof first);
    trib_comm_describe_operation(number, is_first ? &theirs : own, second, sizeof second);
    trib_comm_fail_all(comm, TRIB_ERR_MISMATCH, "operations differ: rank %u called %.160s, rank %u called %.160s%s",
                       is_first ? comm->config.rank : other, first, is_first ? other : comm->config.rank, second,
                       trib_explain_alike(first, second));
}

static void fail_for_left(struct trib_comm *comm)
{
    char operation[256];
    trib_comm_describe(comm, 0, operation, sizeof operation);
    trib_comm_fail_all(comm, TRIB_ERR_PEER, "rank %u waits on %.190s, but rank %u has closed the communicator",
                       comm->config.rank, operation, comm->host_first + trib_host_awaited(comm->host));
}

static void fail_as_told(struct trib_comm *comm)
{
    enum trib_status status = TRIB_OK;
    char text[TRIB_ERROR_TEXT_MAX];
    (void)trib_host_failure(comm->host, &status, text);
    if (comm->level0 != NULL) { /* who said so has told the control plane: ending first would look like a death */
        trib_level0_suspect(comm, status, text);
        return;
    }
    trib_comm_fail(comm, status, "%s", text);
}

/* ---- driving ---- */

void trib_comm_take_host_verdict(struct trib_comm *comm, enum trib_host_verdict verdict)
{
    switch (verdict) {
    case TRIB_HOST_MOVED:
        comm->moved = true;
        return; /* others want the lock */
    case TRIB_HOST_DIFFERS:
        fail_for_difference(comm);
        return;
    case TRIB_HOST_UNREADABLE:
        trib_comm_fail_all(comm, TRIB_ERR_SYSTEM, "rank %u cannot map the memory that rank %u sends from",
                           comm->config.rank, comm->host_first + trib_host_unreadable(comm->host));
        return;
    case TRIB_HOST_LEFT:
        fail_for_left(comm);
        return;
    case TRIB_HOST_FAILED:
        fail_as_told(comm);
        return;
    case TRIB_HOST_DONE:
    case TRIB_HOST_IDLE:
    case TRIB_HOST_WAITS:
        return;
    }
}

/* True: there may be more to do at once. */
static bool take_verdict(struct trib_comm *comm, enum trib_host_verdict verdict, uint64_t now_ns)
{
    if (verdict == TRIB_HOST_DONE) {
        comm->moved = true;
        comm->stall_text[0] = '\0';
        trib_comm_end_operation(comm, comm->running.head, now_ns);
        return true;
    }
    trib_comm_take_host_verdict(comm, verdict);
    return false;
}

void trib_comm_run_host(struct trib_comm *comm, uint64_t now_ns)
{
    bool again = true;
    while (again && comm->state == TRIB_COMM_RUNNING) {
        if (!trib_host_is_active(comm->host) && comm->waiting.head != NULL) {
            trib_host_start(comm->host, &trib_comm_begin_waiting(comm)->operation);
            comm->stalled_ns = now_ns;
            comm->stall_ns = trib_time_after(now_ns, STALL_NS);
        }
        again = take_verdict(comm, trib_host_advance(comm->host), now_ns);
    }
}

/* The control plane sees the end of that rank's session, too, and tells it to all hosts. */
static void take_death(struct trib_comm *comm, uint32_t dead)
{
    char text[96];
    bool is_level0 = comm->level0 != NULL && comm->state != TRIB_COMM_FAILED && comm->state != TRIB_COMM_CLOSED;
    (void)snprintf(text, sizeof text, "rank %u is gone: its connection closed", comm->host_first + dead);
    if (is_level0 && !trib_host_has_failed(comm->host)) {
        trib_level0_suspect(comm, TRIB_ERR_PEER, text);
        comm->dirty = true;
    } else if (is_level0 || comm->state == TRIB_COMM_RUNNING) {
        if (trib_host_has_failed(comm->host)) {
            fail_as_told(comm); /* who is gone now may have ended because of another */
            comm->dirty = true;
        } else {
            trib_comm_fail_all(comm, TRIB_ERR_PEER, "%s", text);
        }
    }
}

uint32_t trib_comm_host_ready(struct trib_comm *comm, const struct pollfd *answers)
{
    uint32_t dead = TRIB_HOST_NOBODY;
    uint32_t count = trib_host_fds_count(comm->host);
    comm->dirty = comm->dirty || answers[0].revents != 0;
    if (trib_host_answer(comm->host, answers, &dead)) {
        comm->dirty = true;
        trib_endpoint_changed(comm->endpoint);
    }
    if (dead != TRIB_HOST_NOBODY) {
        take_death(comm, dead);
    }
    if (comm->dirty) {
        trib_endpoint_awaken(comm);
    }
    return count;
}
