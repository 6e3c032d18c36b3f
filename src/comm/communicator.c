/* SPDX-License-Identifier: Apache-2.0 */
/* communicator.c: between node, sockets and requests: packets in and out, events, timeouts of operations, failure.
 * Read next: join.c (the session), drive.c (who calls). */
#include "comm/communicator.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/operation.h"
#include "io/clock.h"
#include "io/inherit.h"
#include "io/log.h"
#include "io/memory.h"
#include "io/units.h"

/* An idle communicator tells its mark by the session after so long without an operation. */
#define IDLE_MARK_NS (50 * TRIB_MILLISECOND_NS)
/* And gives back the memory of its node after so long: to claim it again costs a page fault for each 4 KiB. */
#define IDLE_MEMORY_NS (500 * TRIB_MILLISECOND_NS)

/* ---- lists of requests ---- */

static void append(struct trib_request_list *list, struct trib_request *request)
{
    request->next = NULL;
    request->previous = list->tail;
    if (list->tail != NULL) {
        list->tail->next = request;
    } else {
        list->head = request;
    }
    list->tail = request;
}

static void unlink_request(struct trib_request_list *list, struct trib_request *request)
{
    if (request->previous != NULL) {
        request->previous->next = request->next;
    } else {
        list->head = request->next;
    }
    if (request->next != NULL) {
        request->next->previous = request->previous;
    } else {
        list->tail = request->previous;
    }
}

/* The request is the waiter's from the store on; a group is its waiter's from the store for the last of it on. */
static void complete(struct trib_request_list *list, struct trib_request *request, enum trib_status status)
{
    struct trib_request *whole = request->group != NULL ? request->group : request;

    unlink_request(list, request);
    if (whole->status == TRIB_OK) {
        whole->status = status;
    }
    if (--whole->left == 0) {
        atomic_store_explicit(&whole->done, true, memory_order_release);
    }
}

static void complete_all(struct trib_request_list *list, enum trib_status status)
{
    while (list->head != NULL) {
        complete(list, list->head, status);
    }
}

bool trib_comm_is_idle(const struct trib_comm *comm)
{
    return comm->running.head == NULL && comm->waiting.head == NULL;
}

static void make_dirty(struct trib_comm *comm)
{
    comm->dirty = true;
    trib_endpoint_awaken(comm);
}

/* ---- failure ---- */

/* What is just being made of a communicator that ends would wait for ranks that may be gone. */
static void fail_made(const struct trib_comm *maker)
{
    for (struct trib_comm *made = maker->endpoint->comms; made != NULL; made = made->next) {
        if (made->maker == maker) {
            trib_comm_fail_all(made, maker->failure, "%.400s (job %s, of which it was made)", maker->failure_text,
                               maker->config.job);
        }
    }
}

static void fail(struct trib_comm *comm, enum trib_status status, const char *text)
{
    if (comm->level0 != NULL && comm->host != NULL) {
        trib_host_fail(comm->host, status, text); /* if nobody has said anything yet */
    }
    bool names_job = !comm->is_derived || strstr(text, comm->config.job) != NULL;
    comm->failure = status;
    (void)snprintf(comm->failure_text, sizeof comm->failure_text, "%.430s%s%s%s", text, names_job ? "" : " (job ",
                   names_job ? "" : comm->config.job, names_job ? "" : ")"); /* its ranks have other numbers there */
    comm->state = TRIB_COMM_FAILED;
    if (comm->node != NULL) {
        comm->verbs->suspend(comm->node);
    }
    atomic_store_explicit(&comm->failed, true, memory_order_release);
    complete_all(&comm->running, status);
    complete_all(&comm->waiting, status);
    atomic_store_explicit(&comm->joined, true, memory_order_release);
    atomic_store_explicit(&comm->ended, true, memory_order_release);
    trib_session_client_close(&comm->session);
    trib_comm_forget_root(comm);
    make_dirty(comm);
    if (!comm->is_closing) {
        /* Not a warning: whoever called gets the text, and says it in his own words. */
        trib_log(TRIB_LOG_INFO, "job %s rank %u: %s: %s", comm->config.job, comm->config.rank, trib_status_text(status),
                 text);
    }
    trib_endpoint_wake(comm->endpoint);
    fail_made(comm);
}

void trib_comm_fail(struct trib_comm *comm, enum trib_status status, const char *format, ...)
{
    char text[TRIB_ERROR_TEXT_MAX];
    va_list arguments;
    if (comm->state == TRIB_COMM_FAILED) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail(comm, status, text);
}

void trib_comm_fail_all(struct trib_comm *comm, enum trib_status status, const char *format, ...)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_ABORT, .fail = {.status = (int32_t)status}};
    va_list arguments;
    if (comm->state == TRIB_COMM_FAILED) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(message.fail.text, sizeof message.fail.text, format, arguments);
    va_end(arguments);
    if (comm->host != NULL) {
        trib_comm_tell_host(comm, status, message.fail.text);
    }
    if (!trib_comm_is_local(comm)) {
        trib_session_client_send(&comm->session, &message);
    }
    fail(comm, status, message.fail.text);
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
    comm->state = TRIB_COMM_FAILED;
    comm->failure = TRIB_ERR_INVALID;
    (void)snprintf(comm->failure_text, sizeof comm->failure_text,
                   "rank %u: the communicator belongs to the process that this one was forked from", comm->config.rank);
    atomic_store_explicit(&comm->failed, true, memory_order_release);
    complete_all(&comm->running, comm->failure);
    complete_all(&comm->waiting, comm->failure);
    atomic_store_explicit(&comm->joined, true, memory_order_release);
    atomic_store_explicit(&comm->ended, true, memory_order_release);
}

enum trib_status trib_comm_check_open(struct trib_comm *comm)
{
    if (comm->state == TRIB_COMM_CLOSED) { /* only where no switch is; see leave() in join.c */
        trib_comm_fail(comm, TRIB_ERR_PEER, "%s", comm->left);
    }
    return comm->state == TRIB_COMM_FAILED ? comm->failure : TRIB_OK;
}

/* ---- texts ---- */

void trib_comm_name_ranks(const struct trib_rank_list *ranks, char *text, size_t size)
{
    char list[256];
    trib_format_ranks(ranks->rank, trib_rank_list_carried(ranks), ranks->count, list, sizeof list);
    (void)snprintf(text, size, "%s %s missing", list, ranks->count == 1 ? "is" : "are");
}

#define SHARES_SHOWN 8

/* "per rank", "in shares of 10, 20, 0, ..." */
static void format_shares(const struct trib_operation *operation, char *text, size_t size)
{
    const struct trib_shares *shares = operation->shares;
    size_t used = (size_t)snprintf(text, size, "%s", shares == NULL ? "per rank" : "in shares of");
    for (uint32_t rank = 0; shares != NULL && rank < shares->ranks && rank < SHARES_SHOWN && used < size; rank++) {
        used += (size_t)snprintf(text + used, size - used, "%s %" PRIu64, rank == 0 ? "" : ",", shares->count[rank]);
    }
    if (shares != NULL && shares->ranks > SHARES_SHOWN && used < size) {
        (void)snprintf(text + used, size - used, ", ...");
    }
}

static void format_operation(const struct trib_operation *operation, char *text, size_t size)
{
    const char *name = trib_collective_name(operation->collective);
    const char *type = trib_type_name(operation->type);
    char count[TRIB_UNITS_TEXT_MAX];
    char shares[128];
    if (operation->part_of == TRIB_PART_OF_SPLIT) {
        (void)snprintf(text, size, "trib_comm_split");
        return;
    }
    trib_format_count(operation->count, count);
    format_shares(operation, shares, sizeof shares);
    switch (operation->collective) {
    case TRIB_ALLREDUCE:
        (void)snprintf(text, size, "%s of %s %s (%s)", name, count, type, trib_reduction_name(operation->reduction));
        return;
    case TRIB_BROADCAST:
        (void)snprintf(text, size, "%s of %s %s from rank %u", name, count, type, operation->root);
        return;
    case TRIB_REDUCE:
        (void)snprintf(text, size, "%s of %s %s (%s) to rank %u", name, count, type,
                       trib_reduction_name(operation->reduction), operation->root);
        return;
    case TRIB_ALLGATHER:
        (void)snprintf(text, size, "%s of %s %s %s", name, count, type, shares);
        return;
    case TRIB_REDUCE_SCATTER:
        (void)snprintf(text, size, "%s of %s %s (%s) %s", name, count, type, trib_reduction_name(operation->reduction),
                       shares);
        return;
    case TRIB_BARRIER:
    case TRIB_COLLECTIVE_NONE:
    case TRIB_COLLECTIVE_COUNT:
        (void)snprintf(text, size, "%s", name);
        return;
    }
}

void trib_comm_describe_operation(uint64_t number, const struct trib_operation *operation, char *text, size_t size)
{
    char name[192];
    format_operation(operation, name, sizeof name);
    (void)snprintf(text, size, "%s as operation %" PRIu64, name, number);
}

void trib_comm_describe(const struct trib_comm *comm, uint64_t sequence, char *text, size_t size)
{
    struct trib_operation operation;
    uint64_t number = 0;
    if (comm->level0 != NULL) {
        bool is_on_network = comm->node != NULL && comm->verbs->describe(comm->node, sequence, &operation, &number);
        const struct trib_operation *whole = trib_level0_operation(comm, is_on_network ? operation.token : 0, &number);
        if (whole != NULL) {
            trib_comm_describe_operation(number, whole, text, size);
            return;
        }
    }
    if (trib_comm_is_local(comm) && comm->running.head != NULL) {
        trib_comm_describe_operation(trib_host_number(comm->host), &comm->running.head->operation, text, size);
    } else if (comm->level0 == NULL && comm->node != NULL &&
               comm->verbs->describe(comm->node, sequence, &operation, &number)) {
        trib_comm_describe_operation(number, &operation, text, size);
    } else {
        (void)snprintf(text, size, TRIB_NO_OPERATION);
    }
}

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
    make_dirty(comm);
}

void trib_comm_send(struct trib_comm *comm, uint32_t root, const struct trib_packet *packet)
{
    if (trib_comm_is_wide(comm)) {
        uint32_t card = comm->has_peers ? 0 : root % comm->endpoint->wide_count;
        trib_port_send(comm->endpoint->wide[card].port, packet, &comm->roots[root], 1);
    } else {
        trib_port_send(comm->endpoint->shards[root].port, packet, NULL, 1);
    }
}

/* All since the last flush was this communicator's: the lock is not released between its first packet and the flush. */
static void count_sent(struct trib_comm_stats *stats, struct trib_channel *channel)
{
    const struct trib_port_stats *all = trib_port_stats(channel->port);
    stats->bytes_sent += all->bytes_sent - channel->told_bytes;
    stats->packets_sent += all->packets_sent - channel->told_packets;
    stats->send_dropped += all->send_dropped - channel->told_dropped;
    channel->told_bytes = all->bytes_sent;
    channel->told_packets = all->packets_sent;
    channel->told_dropped = all->send_dropped;
}

void trib_comm_flush(struct trib_comm *comm)
{
    for (uint32_t i = 0; i < comm->endpoint->shard_count; i++) {
        trib_port_flush(comm->endpoint->shards[i].port);
        count_sent(&comm->stats, &comm->endpoint->shards[i]);
    }
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
    complete(&comm->waiting, comm->waiting.head, TRIB_ERR_UNSUPPORTED);
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

struct trib_request *trib_comm_begin_waiting(struct trib_comm *comm)
{
    struct trib_request *request = comm->waiting.head;
    if (request != NULL) {
        unlink_request(&comm->waiting, request);
        append(&comm->running, request);
    }
    return request;
}

void trib_comm_end_operation(struct trib_comm *comm, struct trib_request *request, uint64_t now_ns)
{
    comm->stats.operations++;
    comm->idle_since_ns = now_ns;
    complete(&comm->running, request, TRIB_OK);
    trib_endpoint_wake(comm->endpoint);
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

static const struct trib_request *oldest(const struct trib_comm *comm)
{
    return comm->running.head != NULL ? comm->running.head : comm->waiting.head;
}

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
    if (oldest(comm) != NULL) {
        deadline = trib_time_earlier(deadline, oldest(comm)->deadline_ns);
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
    if (oldest(comm) != NULL && oldest(comm)->deadline_ns <= now_ns) {
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
    append(&comm->waiting, request);
    if (comm->host == NULL && comm->level0 == NULL) {
        (void)submit_waiting(comm, now_ns);
    }
}
