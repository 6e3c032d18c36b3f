/* SPDX-License-Identifier: Apache-2.0 */
/* network.c: the network as a transport, to roots and between ranks: packets in and out, events of the worker node,
 * marks and memory of an idle one.
 * Read next: turn.c (the caller), peers.c (where packets go), schemes/schemes.h (the nodes). */
#include "comm/network.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "comm/describe.h"
#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/paths.h"
#include "comm/peers.h"
#include "comm/proof.h"
#include "comm/queue.h"
#include "comm/sample.h"
#include "comm/say.h"
#include "comm/send.h"
#include "comm/stall.h"
#include "comm/state.h"
#include "comm/states.h"
#include "comm/wake.h"
#include "comm/worker.h"
#include "core/assert.h"
#include "core/operation.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/memory.h"
#include "schemes/schemes.h"

/* An idle communicator tells its mark by the session after so long without an operation. */
#define IDLE_MARK_NS (50 * TRIB_MILLISECOND_NS)
/* And gives back the memory of its node after so long: to claim it again costs a page fault for each 4 KiB. */
#define IDLE_MEMORY_NS (500 * TRIB_MILLISECOND_NS)

/* ---- packets ---- */

void trib_comm_receive(struct trib_comm *comm, struct trib_came_from from, const struct trib_packet *packet,
                       uint64_t now_ns)
{
    comm->stats.packets_received++;
    comm->stats.bytes_received += trib_packet_size(packet->payload_len, packet->authenticated != 0);
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
    TRIB_ASSERT(from.root < comm->root_count);
    struct trib_place place = {.kind = TRIB_PLACE_ROOT, .index = from.root};
    if (trib_comm_has_peers(comm)) {
        place = (struct trib_place){.kind = TRIB_PLACE_PEER, .index = comm->peers[from.root]};
    }
    enum trib_drop drop = comm->verbs->node.receive(comm->node, place, packet, now_ns);
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
    while (comm->verbs->node.next_packet(comm->node, now_ns, &packet, &to)) {
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

/* ---- operations ---- */

/* Upper bound of an operation's sequences, for every type and payload: the widest elements in the smallest packets,
 * the ends of shares, and sequences that a scheme adds for its own use. */
static uint64_t sequences_at_most(const struct trib_comm *comm, const struct trib_operation *operation)
{
    bool is_even = trib_operation_has_shares(operation) && operation->shares == NULL;
    uint64_t elements = operation->count * (is_even ? comm->config.ranks : 1);

    return elements / (TRIB_PAYLOAD_ALIGN / sizeof(uint64_t)) + (UINT64_C(1) << 16);
}

/* Sequences never begin anew. All ranks have submitted the same before, so all refuse the same operation. */
bool trib_network_is_used_up(const struct trib_comm *comm, const struct trib_operation *operation)
{
    return sequences_at_most(comm, operation) > TRIB_SEQUENCE_MAX - comm->verbs->end(comm->node);
}

bool trib_network_give(struct trib_comm *comm, const struct trib_operation *operation, uint64_t now_ns)
{
    TRIB_ASSERT(comm->node != NULL && comm->state != TRIB_COMM_FAILED);
    TRIB_ASSERT(operation->token != 0); /* DONE names the operation by it */
    bool is_taken = comm->verbs->submit(comm->node, operation, now_ns);
    comm->is_used = comm->is_used || is_taken;
    return is_taken;
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
        if (trib_network_is_used_up(comm, &request->operation)) {
            refuse_first(comm);
            continue;
        }
        if (!trib_network_give(comm, &request->operation, now_ns)) {
            break;
        }
        (void)trib_comm_begin_waiting(comm);
        any = true;
    }
    return any;
}

static void submit(struct trib_comm *comm, uint64_t now_ns)
{
    (void)submit_waiting(comm, now_ns);
}

static void take_done(struct trib_comm *comm, const struct trib_event *event, uint64_t now_ns)
{
    struct trib_request *request = (struct trib_request *)(uintptr_t)event->token;
    TRIB_ASSERT(request != NULL && request->comm == comm);
    if (trib_sample_agrees(comm, request, event->sequence)) {
        trib_comm_end_operation(comm, request, now_ns);
    }
}

static void take_event(struct trib_comm *comm, const struct trib_event *event, uint64_t now_ns)
{
    switch (event->kind) {
    case TRIB_EVENT_DONE:
        comm->transport->take_done(comm, event, now_ns);
        return;
    case TRIB_EVENT_FAILED: {
        char text[256];
        char cause[256];
        trib_comm_describe(comm, event->sequence, text, sizeof text);
        trib_proof_explain(comm, event, cause, sizeof cause);
        trib_comm_fail_all(comm, TRIB_ERR_CHECK, "rank %u: the result of fragment %" PRIu64 " (%s) %s",
                           comm->config.rank, event->sequence, text, cause);
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

void trib_network_count(struct trib_comm *comm)
{
    bool is_busy = comm->node != NULL && comm->state != TRIB_COMM_FAILED && !trib_comm_is_idle(comm);
    TRIB_ASSERT(comm->endpoint->busy >= comm->is_busy);
    comm->endpoint->busy += (uint32_t)is_busy - (uint32_t)comm->is_busy;
    comm->is_busy = is_busy;
}

/* A switch counts the sockets that send to it, not the communicators (control/jobs/admission.c): all busy
 * communicators here share one window. Each gets an equal part, whatever the others still have in flight of larger
 * parts: packets that wait for a late rank lie in slots, take no room of a socket, and may lie there for long. */
static void take_part(struct trib_comm *comm)
{
    const struct trib_endpoint *endpoint = comm->endpoint;
    uint32_t part = endpoint->busy > 1 ? endpoint->window / endpoint->busy : endpoint->window;
    part = part < comm->window ? part : comm->window;
    for (uint32_t i = 0; i < comm->grant.roots && comm->verbs->limit != NULL; i++) {
        comm->verbs->limit(comm->node, i, part);
    }
}

/* Until the node has no packet and no event. */
static void drain(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_event event;
    drain_packets(comm, now_ns);
    while (comm->state != TRIB_COMM_FAILED && comm->verbs->node.next_event(comm->node, &event)) {
        take_event(comm, &event, now_ns);
    }
}

void trib_network_run_node(struct trib_comm *comm, uint64_t now_ns)
{
    if (comm->node == NULL || comm->state == TRIB_COMM_FAILED) {
        return;
    }
    if (comm->verbs->node.next_timeout(comm->node) <= now_ns) {
        comm->verbs->node.on_timeout(comm->node, now_ns);
    }
    trib_network_count(comm);
    take_part(comm);
    drain(comm, now_ns);
}

/* A DONE makes room for an operation that waits, which has packets. */
static void run(struct trib_comm *comm, uint64_t now_ns)
{
    trib_network_run_node(comm, now_ns);
    while (comm->node != NULL && comm->state != TRIB_COMM_FAILED && comm->waiting.head != NULL &&
           submit_waiting(comm, now_ns)) {
        drain(comm, now_ns);
    }
    trib_network_count(comm);
}

/* ---- time ---- */

/* Time at which an idle communicator tells its mark; NEVER: there is no mark to tell. */
static uint64_t mark_deadline(const struct trib_comm *comm)
{
    if (comm->state != TRIB_COMM_RUNNING || comm->is_closing || !trib_comm_is_idle(comm) ||
        trib_comm_mark(comm) <= comm->told_mark) {
        return TRIB_NEVER;
    }
    return comm->idle_since_ns + IDLE_MARK_NS;
}

static bool holds_memory(const struct trib_comm *comm)
{
    struct trib_range ranges[TRIB_IDLE_RANGES];
    return comm->node != NULL && comm->verbs->node.idle != NULL && comm->verbs->node.idle(comm->node, ranges) != 0;
}

uint64_t trib_network_memory_deadline(const struct trib_comm *comm, bool holds_memory)
{
    return comm->is_used && trib_comm_is_idle(comm) && holds_memory ? comm->idle_since_ns + IDLE_MEMORY_NS : TRIB_NEVER;
}

uint64_t trib_network_deadline(const struct trib_comm *comm)
{
    if (comm->node == NULL) {
        return TRIB_NEVER;
    }
    uint64_t deadline = trib_time_earlier(comm->verbs->node.next_timeout(comm->node), mark_deadline(comm));
    return trib_time_earlier(deadline, trib_network_memory_deadline(comm, holds_memory(comm)));
}

void trib_network_on_timeout(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_range ranges[TRIB_IDLE_RANGES];
    if (comm->node == NULL) {
        return;
    }
    if (mark_deadline(comm) <= now_ns) {
        trib_comm_tell_mark(comm, TRIB_MESSAGE_MARK);
    }
    if (trib_network_memory_deadline(comm, holds_memory(comm)) <= now_ns) {
        trib_memory_give_back(comm->node, ranges, comm->verbs->node.idle(comm->node, ranges));
        comm->is_used = false;
    }
}

/* ---- texts and failure ---- */

static bool find_operation(const struct trib_comm *comm, uint64_t sequence, struct trib_operation *operation,
                           uint64_t *number)
{
    return comm->node != NULL && comm->verbs->describe(comm->node, sequence, operation, number);
}

static void explain(struct trib_comm *comm, uint64_t now_ns, char *text, size_t size)
{
    (void)now_ns;
    text[0] = '\0';
    if (comm->stall_text[0] != '\0' && !trib_comm_stall_is_over(comm)) {
        (void)snprintf(text, size, ": %s on fragment %" PRIu64, comm->stall_text, comm->stall_sequence);
    }
}

void trib_network_tell(struct trib_comm *comm, enum trib_status status, const char *text)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_ABORT, .fail = {.status = (int32_t)status}};
    (void)snprintf(message.fail.text, sizeof message.fail.text, "%s", text);
    trib_session_client_send(&comm->session, &message);
}

/* To roots and between ranks all is the same, but for the sockets that are opened where no switch is. */
#define ROW(of, opens)                                                                                              \
    {                                                                                                               \
        .kind = (of), .open = (opens), .submit = submit, .run = run, .take_done = take_done,                        \
        .deadline = trib_network_deadline, .on_timeout = trib_network_on_timeout, .find_operation = find_operation, \
        .explain = explain, .mark = trib_comm_mark, .tell = trib_network_tell                                       \
    }

const struct trib_transport trib_transport_network = ROW(TRIB_TRANSPORT_NETWORK, trib_endpoint_be_root);
const struct trib_transport trib_transport_ranks = ROW(TRIB_TRANSPORT_RANKS, trib_endpoint_widen);

void trib_comm_take_scheme(struct trib_comm *comm)
{
    comm->verbs = trib_scheme_find(comm->config.scheme)->worker;
    trib_comm_take_transport(comm, comm->verbs->peers != NULL ? &trib_transport_ranks : &trib_transport_network);
}
