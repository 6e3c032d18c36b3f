/* SPDX-License-Identifier: Apache-2.0 */
/* local.c: the memory of one host as a transport: all ranks are there. It sends no packet and has no session: the
 * host's shared memory replaces join.c and the worker node. Operations go through it one after another.
 * Read next: memory.h, host/host.h (the memory), turn.c (requests). */
#include "comm/local.h"

#include <stdio.h>
#include <string.h>

#include "comm/describe.h"
#include "comm/drive.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/memory.h"
#include "comm/queue.h"
#include "comm/state.h"
#include "comm/states.h"
#include "comm/transport.h"
#include "core/assert.h"
#include "io/explain.h"

/* Other ranks may wait for operations of the maker before they come. */
static bool look_at_maker(void *user)
{
    struct trib_comm *maker = user;
    if (!maker->config.progress_thread) {
        trib_endpoint_lock(maker->endpoint);
        trib_endpoint_poke(maker->endpoint);
        trib_endpoint_unlock(maker->endpoint);
    }
    return atomic_load_explicit(&maker->failed, memory_order_acquire);
}

enum trib_status trib_comm_open_host(struct trib_comm *comm, struct trib_comm *maker, char *error)
{
    TRIB_ASSERT(comm->endpoint == NULL && comm->host == NULL);
    enum trib_status status = trib_host_open(&comm->config, trib_key_id_number(&comm->keys),
                                             maker != NULL ? look_at_maker : NULL, maker, &comm->host, error);
    if (status != TRIB_OK && maker != NULL && atomic_load_explicit(&maker->failed, memory_order_acquire)) {
        trib_explain(error, "%.400s (job %s, of which it was made)", maker->failure_text, maker->config.job);
        return maker->failure;
    }
    if (status == TRIB_OK) {
        trib_comm_take_transport(comm, &trib_transport_host);
        comm->hosts = 1;
        trib_comm_enter(comm, TRIB_COMM_RUNNING);
        comm->was_running = true;
        atomic_store_explicit(&comm->joined, true, memory_order_release);
    }
    return status;
}

/* ---- failure ---- */

static void fail_for_difference(struct trib_comm *comm)
{
    TRIB_ASSERT(comm->running.head != NULL);
    struct trib_operation theirs;
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

static void fail_as_told(struct trib_comm *comm)
{
    enum trib_status status = TRIB_OK;
    char text[TRIB_ERROR_TEXT_MAX];
    (void)trib_host_failure(comm->host, &status, text);
    trib_comm_fail(comm, status, "%s", text);
}

/* ---- operations ---- */

/* True: there may be more to do at once. */
static bool take_verdict(struct trib_comm *comm, enum trib_host_verdict verdict, uint64_t now_ns)
{
    if (trib_comm_host_take_verdict(comm, verdict)) {
        return false;
    }
    if (verdict == TRIB_HOST_DIFFERS) {
        fail_for_difference(comm);
        return false;
    }
    if (verdict == TRIB_HOST_FAILED) {
        fail_as_told(comm);
        return false;
    }
    TRIB_ASSERT(verdict == TRIB_HOST_DONE);
    trib_comm_host_end_operation(comm, comm->running.head, now_ns);
    return true;
}

static void run(struct trib_comm *comm, uint64_t now_ns)
{
    bool again = true;
    while (again && comm->state == TRIB_COMM_RUNNING) {
        if (!trib_host_is_active(comm->host) && comm->waiting.head != NULL) {
            trib_comm_host_start(comm, &trib_comm_begin_waiting(comm)->operation, now_ns);
        }
        again = take_verdict(comm, trib_host_advance(comm->host), now_ns);
    }
}

static bool is_busy(const struct trib_comm *comm)
{
    return comm->state == TRIB_COMM_RUNNING && !trib_comm_is_idle(comm);
}

static uint64_t deadline(const struct trib_comm *comm)
{
    return is_busy(comm) ? comm->stall_ns : TRIB_NEVER;
}

static void on_timeout(struct trib_comm *comm, uint64_t now_ns)
{
    if (deadline(comm) <= now_ns) {
        trib_comm_host_report_stall(comm, NULL, now_ns);
    }
}

static void take_death(struct trib_comm *comm, uint32_t dead)
{
    if (comm->state != TRIB_COMM_RUNNING) {
        return;
    }
    if (trib_host_has_failed(comm->host)) { /* a rank that is gone now may have ended because of another */
        fail_as_told(comm);
    } else {
        trib_comm_fail_all(comm, TRIB_ERR_PEER, "rank %u is gone: its connection closed", comm->host_first + dead);
    }
}

/* ---- questions ---- */

static bool find_operation(const struct trib_comm *comm, uint64_t sequence, struct trib_operation *operation,
                           uint64_t *number)
{
    (void)sequence;
    if (comm->running.head == NULL) {
        return false;
    }
    *operation = comm->running.head->operation;
    *number = trib_host_number(comm->host);
    return true;
}

static void explain(struct trib_comm *comm, uint64_t now_ns, char *text, size_t size)
{
    trib_comm_host_report_stall(comm, NULL, now_ns);
    trib_comm_host_explain(comm, text, size);
}

const struct trib_transport trib_transport_host = {
    .kind = TRIB_TRANSPORT_HOST,
    .run = run,
    .deadline = deadline,
    .on_timeout = on_timeout,
    .take_death = take_death,
    .is_busy = is_busy,
    .find_operation = find_operation,
    .explain = explain,
    .tell = trib_comm_host_tell,
};
