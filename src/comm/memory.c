/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: see memory.h. */
#include "comm/memory.h"

#include <stdio.h>
#include <string.h>

#include "comm/describe.h"
#include "comm/end.h"
#include "comm/queue.h"
#include "comm/state.h"
#include "comm/wake.h"
#include "core/assert.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/units.h"

#define STALL_NS TRIB_SECOND_NS

void trib_comm_host_start(struct trib_comm *comm, const struct trib_operation *operation, uint64_t now_ns)
{
    TRIB_ASSERT(comm->host != NULL && !trib_host_is_active(comm->host));
    comm->stalled_ns = now_ns;
    comm->stall_ns = trib_time_after(now_ns, STALL_NS);
    trib_host_start(comm->host, operation);
}

void trib_comm_host_end_operation(struct trib_comm *comm, struct trib_request *request, uint64_t now_ns)
{
    comm->moved = true;
    comm->stall_text[0] = '\0';
    trib_comm_end_operation(comm, request, now_ns);
}

/* ---- words ---- */

void trib_comm_host_tell(struct trib_comm *comm, enum trib_status status, const char *text)
{
    char others[TRIB_ERROR_TEXT_MAX];
    if (comm->host == NULL) {
        return;
    }
    if (status == TRIB_ERR_MISMATCH || status == TRIB_ERR_PEER) {
        trib_host_fail(comm->host, status, text); /* no rank's fault, or another rank's */
        return;
    }
    (void)snprintf(others, sizeof others, "rank %u is gone: it aborted: %.400s", comm->config.rank, text);
    trib_host_fail(comm->host, TRIB_ERR_PEER, others);
}

void trib_comm_host_report_stall(struct trib_comm *comm, const char *leader, uint64_t now_ns)
{
    struct trib_rank_list missing = {0};
    char operation[256];
    char duration[TRIB_UNITS_TEXT_MAX];
    uint64_t since = now_ns - comm->stalled_ns;
    uint32_t listed = sizeof missing.rank / sizeof missing.rank[0];
    if (comm->host == NULL || !trib_host_is_active(comm->host)) {
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
    if (leader != NULL && missing.rank[0] == comm->host_first) {
        (void)snprintf(comm->stall_text, sizeof comm->stall_text, "rank %u, %s", comm->host_first, leader);
    }
    trib_comm_describe(comm, 0, operation, sizeof operation);
    trib_format_duration(since, duration);
    trib_log(TRIB_LOG_WARN, "job %s rank %u: %s on %s since %s", comm->config.job, comm->config.rank, comm->stall_text,
             operation, duration);
}

void trib_comm_host_explain(const struct trib_comm *comm, char *text, size_t size)
{
    (void)snprintf(text, size, "%s%s", comm->stall_text[0] != '\0' ? ": " : "", comm->stall_text);
}

static void fail_for_left(struct trib_comm *comm)
{
    char operation[256];
    trib_comm_describe(comm, 0, operation, sizeof operation);
    trib_comm_fail_all(comm, TRIB_ERR_PEER, "rank %u waits on %.190s, but rank %u has closed the communicator",
                       comm->config.rank, operation, comm->host_first + trib_host_awaited(comm->host));
}

bool trib_comm_host_take_verdict(struct trib_comm *comm, enum trib_host_verdict verdict)
{
    switch (verdict) {
    case TRIB_HOST_MOVED:
        comm->moved = true;
        return true; /* others want the lock */
    case TRIB_HOST_UNREADABLE:
        trib_comm_fail_all(comm, TRIB_ERR_SYSTEM, "rank %u cannot map the memory that rank %u sends from",
                           comm->config.rank, comm->host_first + trib_host_unreadable(comm->host));
        return true;
    case TRIB_HOST_LEFT:
        fail_for_left(comm);
        return true;
    case TRIB_HOST_IDLE:
    case TRIB_HOST_WAITS:
        return true;
    case TRIB_HOST_DONE:
    case TRIB_HOST_DIFFERS:
    case TRIB_HOST_FAILED:
        return false;
    }
    return false;
}

/* ---- descriptors ---- */

uint64_t trib_comm_host_run(const struct trib_comm *comm)
{
    return comm->host != NULL ? trib_host_run(comm->host) : 0;
}

uint32_t trib_comm_host_descriptors(const struct trib_comm *comm, struct pollfd *fds)
{
    if (comm->host == NULL) {
        return 0;
    }
    if (fds != NULL) {
        trib_host_fds(comm->host, fds);
    }
    return trib_host_fds_count(comm->host);
}

uint32_t trib_comm_host_take_answers(struct trib_comm *comm, const struct pollfd *answers)
{
    uint32_t dead = TRIB_HOST_NOBODY;
    if (comm->host == NULL) {
        return 0;
    }
    uint32_t count = trib_host_fds_count(comm->host);
    if (answers[0].revents != 0) {
        trib_comm_make_dirty(comm);
    }
    if (trib_host_answer(comm->host, answers, &dead)) {
        trib_comm_make_dirty(comm);
        trib_endpoint_changed(comm->endpoint);
    }
    if (dead != TRIB_HOST_NOBODY) {
        TRIB_ASSERT(comm->transport->take_death != NULL);
        comm->transport->take_death(comm, dead);
    }
    return count;
}

bool trib_comm_host_arm(struct trib_comm *comm)
{
    return comm->host == NULL || trib_host_arm(comm->host);
}

void trib_comm_host_disarm(struct trib_comm *comm)
{
    if (comm->host != NULL) {
        trib_host_disarm(comm->host);
    }
}

void trib_comm_host_close(struct trib_comm *comm)
{
    if (comm->host != NULL) {
        trib_host_close(comm->host);
        comm->host = NULL;
        trib_endpoint_changed(comm->endpoint);
    }
}
