/* SPDX-License-Identifier: Apache-2.0 */
/* communicator.c: between node, sockets and requests: packets in and out, events, timeouts of operations, failure.
 * Read next: join.c (the session), drive.c (who calls). */
#include "comm/communicator.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "comm/bounds.h"
#include "comm/describe.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/join.h"
#include "comm/level0.h"
#include "comm/local.h"
#include "comm/paths.h"
#include "comm/peers.h"
#include "comm/queue.h"
#include "comm/say.h"
#include "comm/send.h"
#include "comm/stall.h"
#include "comm/wake.h"
#include "core/operation.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/memory.h"
#include "io/units.h"

/* An idle communicator tells its mark by the session after so long without an operation. */
#define IDLE_MARK_NS (50 * TRIB_MILLISECOND_NS)
/* And gives back the memory of its node after so long: to claim it again costs a page fault for each 4 KiB. */
#define IDLE_MEMORY_NS (500 * TRIB_MILLISECOND_NS)

/* ---- packets ---- */

void trib_comm_receive(struct trib_comm *comm, struct trib_came_from from, const struct trib_packet *packet,
                       uint64_t now_ns)
{
    comm->stats.packets_received++;
    comm->stats.bytes_received += TRIB_HEADER_SIZE + (uint64_t)packet->payload_len;
    if (packet->kind == TRIB_PATH) {
        if (!trib_comm_echo_path(comm, from.root, packet)) {
            trib_comm_path_arrived(comm, from, packet);
        }
        return;
    }
    if (comm->node == NULL || comm->state == TRIB_COMM_FAILED) {
        comm->dropped[TRIB_DROP_UNREGISTERED]++;
        return;
    }
    struct trib_place place = {.kind = TRIB_PLACE_ROOT, .index = from.root};
    if (comm->has_peers) {
        place = (struct trib_place){.kind = TRIB_PLACE_PEER, .index = comm->peers[from.root]};
    }
    enum trib_drop drop = comm->verbs->receive(comm->node, place, packet, now_ns);
    if (from.is_group && drop == TRIB_DROP_NONE) {
        comm->stats.multicast_received++;
    }
    trib_comm_make_dirty(comm);
}

static void drain_packets(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_packet packet;
    struct trib_place to;
    bool any = false;
    while (comm->verbs->next_packet(comm->node, now_ns, &packet, &to)) {
        uint32_t root = trib_comm_root_at(comm, &to);
        if (root < comm->root_count) {
            trib_comm_send(comm, root, &packet);
            any = true;
        }
    }
    if (any) {
        trib_comm_flush(comm);
    }
}

/* ---- events ---- */

/* More sequences than any operation of this many elements takes, whatever its type and the payload: the widest elements
 * in the smallest packets, the ends of shares, and what a scheme adds for its own use. */
static uint64_t sequences_at_most(const struct trib_comm *comm, const struct trib_operation *operation)
{
    bool is_even = trib_operation_has_shares(operation) && operation->shares == NULL;
    uint64_t elements = operation->count * (is_even ? comm->config.ranks : 1);

    return elements / (TRIB_PAYLOAD_ALIGN / sizeof(uint64_t)) + (UINT64_C(1) << 16);
}

/* Sequences never begin anew. All ranks have submitted the same before, so all refuse the same operation. */
bool trib_comm_is_used_up(const struct trib_comm *comm, const struct trib_operation *operation)
{
    return sequences_at_most(comm, operation) > TRIB_SEQUENCE_MAX - comm->verbs->end(comm->node);
}

static void refuse_first(struct trib_comm *comm)
{
    trib_log(TRIB_LOG_WARN, "job %s rank %u: " TRIB_COMM_USED_UP, comm->config.job, comm->config.rank);
    trib_requests_end(&comm->waiting, comm->waiting.head, TRIB_ERR_UNSUPPORTED);
    trib_endpoint_wake(comm->endpoint);
}

/* True if the node took any. */
static bool submit_waiting(struct trib_comm *comm, uint64_t now_ns)
{
    bool any = false;
    struct trib_request *request;
    while ((request = comm->waiting.head) != NULL) {
        if (trib_comm_is_used_up(comm, &request->operation)) {
            refuse_first(comm);
            continue;
        }
        if (!comm->verbs->submit(comm->node, &request->operation, now_ns)) {
            break;
        }
        (void)trib_comm_begin_waiting(comm);
        comm->is_used = true;
        any = true;
    }
    return any;
}

static void take_event(struct trib_comm *comm, const struct trib_event *event, uint64_t now_ns)
{
    switch (event->kind) {
    case TRIB_EVENT_DONE:
        if (comm->level0 != NULL) {
            trib_level0_done(comm, event->token);
        } else {
            trib_comm_end_operation(comm, (struct trib_request *)(uintptr_t)event->token, now_ns);
        }
        return;
    case TRIB_EVENT_FAILED: {
        char text[256];
        trib_comm_describe(comm, event->sequence, text, sizeof text);
        trib_comm_fail_all(comm, TRIB_ERR_CHECK,
                           "rank %u: the result of fragment %" PRIu64 " (%s) failed its check again and again",
                           comm->config.rank, event->sequence, text);
        return;
    }
    case TRIB_EVENT_BOOT:
        trib_comm_hint_boot(comm, now_ns);
        return;
    case TRIB_EVENT_STALL:
        trib_comm_report_stall(comm, event, now_ns);
        return;
    case TRIB_EVENT_MISMATCH:
        trib_comm_dispute(comm, event);
        return;
    case TRIB_EVENT_NONE:
    case TRIB_EVENT_KIND_COUNT:
        return;
    }
}

/* The endpoint knows how many want a part of its shards' sockets. */
static void count_part(struct trib_comm *comm)
{
    bool is_busy = comm->node != NULL && comm->state != TRIB_COMM_FAILED && !trib_comm_is_idle(comm);
    comm->endpoint->busy += (uint32_t)is_busy - (uint32_t)comm->is_busy;
    comm->is_busy = is_busy;
}

/* A switch counts the sockets that send to it, not the communicators (control/jobs/admission.c): so all that are busy
 * here share one window. Each gets an equal part, whatever the others still have in flight of larger parts: what waits
 * for a late rank lies in slots and takes no room of a socket, and may lie there for long. */
static void take_part(struct trib_comm *comm)
{
    const struct trib_endpoint *endpoint = comm->endpoint;
    uint32_t part = endpoint->busy > 1 ? endpoint->window / endpoint->busy : endpoint->window;
    part = part < comm->window ? part : comm->window;
    for (uint32_t i = 0; i < comm->grant.roots && comm->verbs->limit != NULL; i++) {
        comm->verbs->limit(comm->node, i, part);
    }
}

/* Until the node has nothing more to say: a DONE makes room for an operation that waits, which has packets. */
static void run_node(struct trib_comm *comm, uint64_t now_ns)
{
    if (comm->verbs->next_timeout(comm->node) <= now_ns) {
        comm->verbs->on_timeout(comm->node, now_ns);
    }
    bool again = true;
    count_part(comm);
    take_part(comm);
    while (again && comm->state != TRIB_COMM_FAILED) {
        struct trib_event event;
        drain_packets(comm, now_ns);
        again = false;
        while (comm->state != TRIB_COMM_FAILED && comm->verbs->next_event(comm->node, &event)) {
            take_event(comm, &event, now_ns);
        }
        if (comm->waiting.head != NULL && comm->level0 == NULL) {
            again = submit_waiting(comm, now_ns);
        }
    }
}

/* ---- time ---- */

static void time_out(struct trib_comm *comm)
{
    char operation[256];
    char limit[TRIB_UNITS_TEXT_MAX];
    char cause[384] = "";
    if (comm->host != NULL) {
        trib_comm_report_host_stall(comm, trib_clock_ns());
    }
    trib_comm_describe(comm, comm->node != NULL ? comm->verbs->mark(comm->node) : 0, operation, sizeof operation);
    trib_format_duration(comm->config.timeout_ns, limit);
    if (comm->was_running && comm->waits_ns != TRIB_NEVER) { /* whoever is missing, it is not in itself */
        char absence[TRIB_ERROR_TEXT_MAX];
        trib_comm_explain_absence(comm, trib_clock_ns(), absence);
        (void)snprintf(cause, sizeof cause, ": %.300s", absence);
    } else if (comm->host != NULL && comm->stall_text[0] != '\0') {
        (void)snprintf(cause, sizeof cause, ": %s", comm->stall_text);
    } else if (comm->stall_text[0] != '\0') {
        (void)snprintf(cause, sizeof cause, ": %s on fragment %" PRIu64, comm->stall_text, comm->stall_sequence);
    }
    trib_comm_fail_all(comm, TRIB_ERR_TIMEOUT, "rank %u: %.150s did not end within %s%.300s", comm->config.rank,
                       operation, limit, cause);
}

/* When an idle communicator has a mark to tell; NEVER: it has not. */
static uint64_t mark_deadline(const struct trib_comm *comm)
{
    if (comm->state != TRIB_COMM_RUNNING || comm->is_closing || !trib_comm_is_idle(comm) ||
        comm->verbs->mark(comm->node) <= comm->told_mark) {
        return TRIB_NEVER;
    }
    return comm->idle_since_ns + IDLE_MARK_NS;
}

static bool holds_memory(const struct trib_comm *comm)
{
    struct trib_range ranges[TRIB_IDLE_RANGES];
    if (comm->level0 != NULL && trib_level0_holds_memory(comm)) {
        return true;
    }
    return comm->node != NULL && comm->verbs->idle != NULL && comm->verbs->idle(comm->node, ranges) != 0;
}

/* When an idle communicator has memory to give back. */
static uint64_t memory_deadline(const struct trib_comm *comm)
{
    if (!comm->is_used || !trib_comm_is_idle(comm) || !holds_memory(comm)) {
        return TRIB_NEVER;
    }
    return comm->idle_since_ns + IDLE_MEMORY_NS;
}

static void give_back(struct trib_comm *comm)
{
    struct trib_range ranges[TRIB_IDLE_RANGES];
    if (comm->node != NULL && comm->verbs->idle != NULL) {
        trib_memory_give_back(comm->node, ranges, comm->verbs->idle(comm->node, ranges));
    }
    if (comm->level0 != NULL) {
        trib_level0_give_back(comm);
    }
    comm->is_used = false;
}

static uint64_t next_deadline(const struct trib_comm *comm)
{
    uint64_t deadline = comm->is_closing ? comm->close_deadline_ns : TRIB_NEVER;
    if (atomic_load_explicit(&comm->ended, memory_order_relaxed)) {
        return TRIB_NEVER;
    }
    deadline = trib_time_earlier(deadline, trib_comm_session_deadline(comm));
    if (trib_comm_oldest(comm) != NULL) {
        deadline = trib_time_earlier(deadline, trib_comm_oldest(comm)->deadline_ns);
    }
    if (trib_comm_is_busy_on_host(comm)) {
        deadline = trib_time_earlier(deadline, comm->stall_ns);
    }
    if (comm->node != NULL) {
        deadline =
            trib_time_earlier(deadline, trib_time_earlier(comm->verbs->next_timeout(comm->node), mark_deadline(comm)));
    }
    deadline = trib_time_earlier(deadline, memory_deadline(comm));
    if (comm->level0 != NULL) {
        deadline = trib_time_earlier(deadline, comm->level0->hearsay_ns);
    }
    return deadline;
}

static void check_time(struct trib_comm *comm, uint64_t now_ns)
{
    trib_comm_session_timeout(comm, now_ns);
    if (trib_comm_oldest(comm) != NULL && trib_comm_oldest(comm)->deadline_ns <= now_ns) {
        time_out(comm);
    }
    if (trib_comm_is_busy_on_host(comm) && comm->stall_ns <= now_ns) {
        trib_comm_report_host_stall(comm, now_ns);
    }
    if (comm->node != NULL && mark_deadline(comm) <= now_ns) {
        trib_comm_tell_mark(comm, TRIB_MESSAGE_MARK);
    }
    if (memory_deadline(comm) <= now_ns) {
        give_back(comm);
    }
    if (comm->level0 != NULL) {
        trib_level0_check_time(comm, now_ns);
    }
    if (comm->is_closing && comm->close_deadline_ns <= now_ns) {
        atomic_store_explicit(&comm->ended, true, memory_order_release);
        trib_endpoint_wake(comm->endpoint);
    }
}

/* The pollers must know when the session's descriptor, or what is wanted of it, has changed. */
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
                       strerror(errno));
    }
}

void trib_comm_settle(struct trib_comm *comm, uint64_t now_ns)
{
    comm->dirty = false;
    if (comm->deadline_ns <= now_ns) {
        check_time(comm, now_ns);
    }
    if (comm->node != NULL && comm->state != TRIB_COMM_FAILED) {
        run_node(comm, now_ns);
    }
    if (trib_comm_is_local(comm) && comm->state == TRIB_COMM_RUNNING) {
        trib_comm_run_host(comm, now_ns);
    }
    while (comm->level0 != NULL && trib_level0_run(comm, now_ns)) {
        run_node(comm, now_ns);
    }
    count_part(comm);
    publish_session(comm);
    comm->deadline_ns = next_deadline(comm);
    if (comm->deadline_ns != TRIB_NEVER) {
        trib_endpoint_awaken(comm);
    }
}

void trib_comm_submit(struct trib_comm *comm, struct trib_request *request, uint64_t now_ns)
{
    request->operation.token = (uint64_t)(uintptr_t)request;
    request->deadline_ns = trib_time_after(now_ns, comm->config.timeout_ns);
    comm->idle_since_ns = trib_comm_is_idle(comm) ? now_ns : comm->idle_since_ns;
    trib_requests_append(&comm->waiting, request);
    if (comm->host == NULL && comm->level0 == NULL) {
        (void)submit_waiting(comm, now_ns);
    }
}
