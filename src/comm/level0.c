/* SPDX-License-Identifier: Apache-2.0 */
/* level0.c: see level0.h. */
#include "comm/level0.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/end.h"
#include "comm/endpoint.h"
#include "comm/layout.h"
#include "comm/level0_plan.h"
#include "comm/memory.h"
#include "comm/network.h"
#include "comm/queue.h"
#include "comm/state.h"
#include "comm/states.h"
#include "comm/transport.h"
#include "comm/wake.h"
#include "comm/worker.h"
#include "core/assert.h"
#include "core/lane.h"
#include "io/clock.h"
#include "io/explain.h"
#include "io/memory.h"

#define HEARSAY_NS (3 * TRIB_SECOND_NS) /* more than the control plane waits for both texts of a dispute */

/* ---- a dispute ---- */

/* Before WELCOME the control plane has no communicator in which ranks could differ, and refuses the message. */
static bool is_outside(const struct trib_comm *comm)
{
    return comm->state == TRIB_COMM_CONNECTING || comm->state == TRIB_COMM_JOINING;
}

static void say_dispute(struct trib_comm *comm)
{
    struct trib_message message = {.kind = TRIB_MESSAGE_DISPUTE};
    message.dispute.sequence = TRIB_NO_SEQUENCE;
    message.dispute.rank[0] = comm->config.rank;
    message.dispute.rank[1] = comm->level0->disputed;
    trib_session_client_send(&comm->session, &message);
}

/* Fails with this text after a while, unless the control plane says something before. */
static void suspect(struct trib_comm *comm, enum trib_status status, const char *text)
{
    struct trib_level0 *level0 = comm->level0;
    if (level0->hearsay_ns == TRIB_NEVER) {
        level0->hearsay_ns = trib_clock_ns() + HEARSAY_NS;
        level0->hearsay = status;
        (void)snprintf(level0->hearsay_text, sizeof level0->hearsay_text, "%s", text);
    }
}

/* Another rank of the host runs another operation. The control plane is told once all ranks are back, if a restart
 * of the switch is under way: it asks all sessions. */
static void dispute(struct trib_comm *comm)
{
    struct trib_operation theirs;
    struct trib_level0 *level0 = comm->level0;
    char text[256];
    if (level0->is_disputed) {
        return;
    }
    level0->is_disputed = true;
    level0->disputed = comm->host_first + trib_host_other(comm->host, &theirs);
    (void)snprintf(text, sizeof text, "operations differ: ranks %u and %u called different ones", comm->config.rank,
                   level0->disputed);
    suspect(comm, TRIB_ERR_MISMATCH, text);
    if (!is_outside(comm)) {
        say_dispute(comm);
    }
}

/* The rank that failed has told the control plane. To end first would look like a death. */
static void suspect_as_told(struct trib_comm *comm)
{
    enum trib_status status = TRIB_OK;
    char text[TRIB_ERROR_TEXT_MAX];
    (void)trib_host_failure(comm->host, &status, text);
    suspect(comm, status, text);
}

/* ---- beginning and end ---- */

static bool is_same_place(const struct trib_level0 *level0, const struct trib_message *welcome)
{
    return level0->place.hosts == welcome->welcome.hosts &&
           memcmp(&level0->place.leaders, &welcome->welcome.leaders, sizeof welcome->welcome.leaders) == 0;
}

bool trib_level0_begin(struct trib_comm *comm, const struct trib_message *welcome)
{
    if (comm->level0 != NULL || comm->node != NULL) { /* a return */
        if (comm->level0 != NULL && comm->level0->is_disputed) {
            say_dispute(comm);
        }
        return comm->level0 != NULL ? is_same_place(comm->level0, welcome) : welcome->welcome.hosts == 0;
    }
    if (welcome->welcome.hosts == 0) {
        return true;
    }
    struct trib_level0 *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return false;
    }
    trib_level0_place_init(&made->place, comm->config.ranks, comm->config.rank, welcome->welcome.hosts,
                           &welcome->welcome.leaders);
    trib_comm_describe_session(comm, &made->session);
    made->hearsay_ns = TRIB_NEVER;
    comm->level0 = made;
    comm->host_first = made->place.first;
    comm->member = made->place.host;
    comm->members = comm->hosts = made->place.hosts;
    comm->is_led = !trib_level0_leads(&made->place);
    trib_comm_take_transport(comm, &trib_transport_level0);
    return true;
}

static void free_plan(struct trib_level0 *level0)
{
    struct trib_level0_plan *plan = level0->first;
    level0->first = plan->next;
    trib_level0_plan_deinit(plan);
    free(plan);
}

static void give_back(struct trib_comm *comm)
{
    for (uint32_t i = 0; i < TRIB_LEVEL0_AHEAD; i++) {
        struct trib_level0_part *part = &comm->level0->part[i];
        trib_memory_unmap(part->slot, part->slot_size);
        part->slot = NULL;
        part->slot_size = 0;
    }
}

bool trib_level0_holds_memory(const struct trib_comm *comm)
{
    bool holds = false;
    for (uint32_t i = 0; i < TRIB_LEVEL0_AHEAD; i++) {
        holds = holds || comm->level0->part[i].slot != NULL;
    }
    return holds;
}

static void destroy(struct trib_comm *comm)
{
    while (comm->level0->first != NULL) {
        free_plan(comm->level0);
    }
    give_back(comm);
    free(comm->level0);
    comm->level0 = NULL;
}

/* ---- meeting ---- */

bool trib_level0_must_meet(const struct trib_comm *comm)
{
    return comm->level0 != NULL && comm->level0->place.count > 1 && comm->host == NULL;
}

/* Secrets that only ranks of this host know make the name. */
static void name_meeting(const struct trib_comm *comm, struct trib_config *config)
{
    uint64_t name = trib_mix64(trib_mix64(comm->grant.token) ^ comm->grant.salt);
    *config = comm->config;
    (void)snprintf(config->job, sizeof config->job, "@%016" PRIx64 "-%u", name, comm->level0->place.first);
    config->rank = comm->config.rank - comm->level0->place.first;
    config->ranks = comm->level0->place.count;
}

static bool has_failed(void *comm)
{
    return atomic_load_explicit(&((struct trib_comm *)comm)->failed, memory_order_acquire);
}

enum trib_status trib_level0_meet(struct trib_comm *comm, char *error)
{
    TRIB_ASSERT(trib_level0_must_meet(comm));
    struct trib_config config;
    struct trib_host *host = NULL;
    uint32_t first = comm->level0->place.first;
    char cause[TRIB_ERROR_TEXT_MAX] = "";
    name_meeting(comm, &config);
    trib_endpoint_unlock(comm->endpoint);
    enum trib_status status = trib_host_open(&config, trib_key_id_number(&comm->keys), has_failed, comm, &host, cause);
    trib_endpoint_lock(comm->endpoint);
    if (status == TRIB_OK) {
        comm->host = host;
        comm->endpoint->has_hosts = true;
        trib_endpoint_changed(comm->endpoint);
    } else {
        trib_explain(error, "ranks %u to %u of job %s did not meet on their host: %.300s", first,
                     first + config.ranks - 1, comm->config.job, cause);
    }
    return status;
}

/* ---- batches ---- */

static bool add_plan(struct trib_comm *comm, struct trib_request *request, uint32_t batch)
{
    struct trib_level0 *level0 = comm->level0;
    struct trib_level0_plan *plan = malloc(sizeof *plan);
    uint64_t number = level0->number++;
    TRIB_ASSERT(request != NULL); /* a group waits as a whole */
    if (plan == NULL || !trib_level0_plan_init(plan, &level0->place, &level0->session, &request->operation,
                                               (const uint64_t[2]){number, batch})) {
        free(plan);
        return false;
    }
    plan->number = number;
    if (level0->first == NULL) {
        level0->first = plan;
    } else {
        level0->last->next = plan;
    }
    level0->last = plan;
    return true;
}

/* One operation, or a whole group: false: out of memory. */
static bool begin_batch(struct trib_comm *comm)
{
    struct trib_level0 *level0 = comm->level0;
    TRIB_ASSERT(level0->first == NULL && comm->waiting.head != NULL); /* one batch at a time */
    const struct trib_request *group = comm->waiting.head->group;
    uint32_t batch = group != NULL ? group->members : 1;
    for (uint32_t i = 0; i < batch; i++) {
        if (!add_plan(comm, trib_comm_begin_waiting(comm), batch)) {
            trib_comm_fail_all(comm, TRIB_ERR_MEMORY, "rank %u: out of memory for an operation", comm->config.rank);
            return false;
        }
    }
    level0->entering = level0->first;
    level0->entering_k = 0;
    comm->is_used = true;
    return true;
}

static bool make_slot(struct trib_comm *comm, struct trib_level0_part *part)
{
    size_t needed = part->plan->slot_bytes;
    if (needed <= part->slot_size) {
        return true;
    }
    trib_memory_unmap(part->slot, part->slot_size);
    part->slot_size = needed < TRIB_LEVEL0_PART ? TRIB_LEVEL0_PART : needed;
    part->slot = trib_memory_map(part->slot_size);
    if (part->slot == NULL) {
        part->slot_size = 0;
        trib_comm_fail_all(comm, TRIB_ERR_MEMORY, "rank %u: out of memory for a sum", comm->config.rank);
        return false;
    }
    return true;
}

/* ---- steps ---- */

static void start_on_host(struct trib_comm *comm, const struct trib_operation *operation, enum trib_level0_step step,
                          uint64_t now_ns)
{
    TRIB_ASSERT(comm->level0->step == TRIB_LEVEL0_NONE);
    comm->level0->step = step;
    trib_comm_host_start(comm, operation, now_ns);
}

/* The part is in: it goes over the network. */
static void come_in(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_level0 *level0 = comm->level0;
    struct trib_level0_part *part = &level0->part[level0->in_count % TRIB_LEVEL0_AHEAD];
    level0->in_step = 0;
    level0->in_count++;
    level0->entering_k++;
    if (level0->entering_k == part->plan->parts) {
        level0->entering = part->plan->next;
        level0->entering_k = 0;
    }
    if (!trib_level0_leads(&level0->place) || level0->place.hosts == 1) {
        part->is_done = true; /* another rank waits for it */
        return;
    }
    struct trib_operation operation;
    trib_level0_net(part->plan, part->k, part->slot, &operation);
    operation.token = (uint64_t)(uintptr_t)part;
    if (trib_network_is_used_up(comm, &operation) || !trib_network_give(comm, &operation, now_ns)) {
        trib_comm_fail_all(comm, TRIB_ERR_UNSUPPORTED, "rank %u: " TRIB_COMM_USED_UP, comm->config.rank);
        return;
    }
    level0->has_submitted = true;
}

static bool begin_in(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_level0 *level0 = comm->level0;
    struct trib_level0_part *part = &level0->part[level0->in_count % TRIB_LEVEL0_AHEAD];
    struct trib_operation operation;
    TRIB_ASSERT(level0->entering != NULL && level0->in_count - level0->out_count < TRIB_LEVEL0_AHEAD);
    part->plan = level0->entering;
    part->k = level0->entering_k;
    part->is_done = false;
    if (!make_slot(comm, part)) {
        return false;
    }
    if (trib_level0_in(part->plan, part->k, &level0->in_step, part->slot, &operation)) {
        start_on_host(comm, &operation, TRIB_LEVEL0_IN, now_ns);
    } else {
        come_in(comm, now_ns);
    }
    return true;
}

static void come_out(struct trib_comm *comm, const struct trib_level0_part *part, uint64_t now_ns)
{
    struct trib_level0 *level0 = comm->level0;
    struct trib_request *request = (struct trib_request *)(uintptr_t)part->plan->whole.token;
    bool is_last = part->k + 1 == part->plan->parts;
    TRIB_ASSERT(part->plan == level0->first); /* operations end in their order */
    trib_level0_take(part->plan, part->k, part->slot);
    level0->out_count++;
    level0->out_step = 0;
    if (!is_last) {
        return;
    }
    free_plan(level0);
    trib_comm_host_end_operation(comm, request, now_ns);
}

/* False: the network has not ended that part. */
static bool begin_out(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_level0 *level0 = comm->level0;
    struct trib_level0_part *part = &level0->part[level0->out_count % TRIB_LEVEL0_AHEAD];
    struct trib_operation operation;
    TRIB_ASSERT(level0->out_count < level0->in_count);
    if (!part->is_done) {
        return false;
    }
    if (trib_level0_out(part->plan, part->k, &level0->out_step, part->slot, &operation)) {
        if (comm->node != NULL) {
            trib_host_tell(comm->host, trib_comm_mark(comm));
        }
        start_on_host(comm, &operation, TRIB_LEVEL0_OUT, now_ns);
    } else {
        come_out(comm, part, now_ns);
    }
    return true;
}

/* False: there is nothing to begin. */
static bool begin_step(struct trib_comm *comm, uint64_t now_ns)
{
    const struct trib_level0 *level0 = comm->level0;
    if (level0->first == NULL) {
        return comm->waiting.head != NULL && begin_batch(comm);
    }
    if (level0->entering != NULL && level0->in_count - level0->out_count < TRIB_LEVEL0_AHEAD) {
        return begin_in(comm, now_ns);
    }
    return begin_out(comm, now_ns);
}

static void take_verdict(struct trib_comm *comm, enum trib_host_verdict verdict)
{
    if (trib_comm_host_take_verdict(comm, verdict)) {
        return;
    }
    if (verdict == TRIB_HOST_DIFFERS) {
        dispute(comm);
        return;
    }
    TRIB_ASSERT(verdict == TRIB_HOST_FAILED);
    suspect_as_told(comm);
}

/* False: the step waits, other threads want the lock, or comm has failed. */
static bool advance(struct trib_comm *comm)
{
    struct trib_level0 *level0 = comm->level0;
    enum trib_host_verdict verdict = trib_host_advance(comm->host);
    if (verdict != TRIB_HOST_DONE) {
        take_verdict(comm, verdict);
        return false;
    }
    comm->moved = true;
    if (level0->step == TRIB_LEVEL0_IN) {
        level0->in_step++;
    } else {
        level0->out_step++;
    }
    level0->step = TRIB_LEVEL0_NONE;
    return true;
}

static bool run_steps(struct trib_comm *comm, uint64_t now_ns)
{
    struct trib_level0 *level0 = comm->level0;
    bool again = comm->was_running;
    level0->has_submitted = false;
    while (again && comm->state != TRIB_COMM_FAILED && level0->hearsay_ns == TRIB_NEVER) {
        if (comm->host != NULL && trib_host_has_failed(comm->host)) {
            take_verdict(comm, TRIB_HOST_FAILED);
            return false;
        }
        again = comm->host != NULL && trib_host_is_active(comm->host) ? advance(comm) : begin_step(comm, now_ns);
    }
    return level0->has_submitted && comm->state != TRIB_COMM_FAILED;
}

static void take_done(struct trib_comm *comm, const struct trib_event *event, uint64_t now_ns)
{
    struct trib_level0_part *part = (struct trib_level0_part *)(uintptr_t)event->token;
    (void)now_ns;
    TRIB_ASSERT(part >= comm->level0->part && part < comm->level0->part + TRIB_LEVEL0_AHEAD && !part->is_done);
    trib_level0_divide(part->plan, part->k, part->slot);
    part->is_done = true;
    comm->stall_text[0] = '\0';
}

/* ---- the transport ---- */

/* The network has all parts that are in and not out. Progress on the network may let the memory go on, and the
 * reverse. */
static void run(struct trib_comm *comm, uint64_t now_ns)
{
    trib_network_run_node(comm, now_ns);
    while (run_steps(comm, now_ns)) {
        trib_network_run_node(comm, now_ns);
    }
    trib_network_count(comm);
}

static bool is_busy(const struct trib_comm *comm)
{
    return comm->host != NULL && comm->state != TRIB_COMM_FAILED && comm->level0->hearsay_ns == TRIB_NEVER &&
           trib_host_is_active(comm->host);
}

static uint64_t stall_deadline(const struct trib_comm *comm)
{
    return is_busy(comm) ? comm->stall_ns : TRIB_NEVER;
}

static uint64_t memory_deadline(const struct trib_comm *comm)
{
    return trib_network_memory_deadline(comm, trib_level0_holds_memory(comm));
}

static uint64_t deadline(const struct trib_comm *comm)
{
    uint64_t own_ns = trib_time_earlier(stall_deadline(comm), memory_deadline(comm));
    return trib_time_earlier(trib_time_earlier(own_ns, comm->level0->hearsay_ns), trib_network_deadline(comm));
}

static void report_stall(struct trib_comm *comm, uint64_t now_ns)
{
    bool is_led = comm->level0->step == TRIB_LEVEL0_OUT && comm->node == NULL;
    trib_comm_host_report_stall(comm, is_led ? "which sends for this host, has no result" : NULL, now_ns);
}

static void check_hearsay(struct trib_comm *comm, uint64_t now_ns)
{
    if (comm->level0->is_disputed && is_outside(comm)) {
        comm->level0->hearsay_ns = trib_time_after(now_ns, HEARSAY_NS); /* from WELCOME on */
    } else if (comm->level0->hearsay_ns <= now_ns) {
        comm->level0->hearsay_ns = TRIB_NEVER;
        trib_comm_fail_all(comm, comm->level0->hearsay, "%s", comm->level0->hearsay_text);
    }
}

static void on_timeout(struct trib_comm *comm, uint64_t now_ns)
{
    if (stall_deadline(comm) <= now_ns) {
        report_stall(comm, now_ns);
    }
    if (memory_deadline(comm) <= now_ns) {
        give_back(comm);
    }
    trib_network_on_timeout(comm, now_ns);
    check_hearsay(comm, now_ns);
}

static void take_death(struct trib_comm *comm, uint32_t dead)
{
    char text[96];
    if (trib_comm_has_ended(comm)) {
        return;
    }
    if (trib_host_has_failed(comm->host)) { /* a rank that is gone now may have ended because of another */
        suspect_as_told(comm);
    } else { /* the control plane sees the end of the dead rank's session as well, and tells all hosts */
        (void)snprintf(text, sizeof text, "rank %u is gone: its connection closed", comm->host_first + dead);
        suspect(comm, TRIB_ERR_PEER, text);
    }
    trib_comm_make_dirty(comm);
}

/* The part with the token; token 0: the part in the memory. NULL: none is under way. */
static const struct trib_level0_part *part_at(const struct trib_level0 *level0, uint64_t token)
{
    uint64_t at = level0->step == TRIB_LEVEL0_IN ? level0->in_count : level0->out_count;
    if (token != 0) {
        return (const struct trib_level0_part *)(uintptr_t)token;
    }
    return level0->step == TRIB_LEVEL0_IN || at < level0->in_count ? &level0->part[at % TRIB_LEVEL0_AHEAD] : NULL;
}

static bool find_operation(const struct trib_comm *comm, uint64_t sequence, struct trib_operation *operation,
                           uint64_t *number)
{
    const struct trib_level0 *level0 = comm->level0;
    bool is_on_network = trib_transport_network.find_operation(comm, sequence, operation, number);
    if (level0->first == NULL) {
        return false;
    }
    const struct trib_level0_part *part = part_at(level0, is_on_network ? operation->token : 0);
    /* Between two parts the slot still has the plan of an operation that may have ended. */
    const struct trib_level0_plan *plan = part != NULL ? part->plan : level0->first;
    *operation = plan->whole;
    *number = plan->number;
    return true;
}

static void explain(struct trib_comm *comm, uint64_t now_ns, char *text, size_t size)
{
    if (comm->host == NULL) {
        trib_transport_network.explain(comm, now_ns, text, size);
        return;
    }
    report_stall(comm, now_ns);
    trib_comm_host_explain(comm, text, size);
}

/* A rank without a node tells the mark that its leader has told: the host's mark, or a lower one. */
static uint64_t mark(const struct trib_comm *comm)
{
    if (comm->node != NULL) {
        return trib_comm_mark(comm);
    }
    return comm->host != NULL ? trib_host_told(comm->host, 0) : 0;
}

/* The members of the sums stay the same, whatever way their ranks came to the switch. */
static void keep_hosts(const struct trib_comm *comm, struct trib_message *join)
{
    if (join->join.host != 0) {
        join->join.host = trib_mix64(join->join.host + comm->level0->place.first + 1) | 1;
    }
}

static void tell(struct trib_comm *comm, enum trib_status status, const char *text)
{
    trib_comm_host_tell(comm, status, text);
    trib_network_tell(comm, status, text);
}

static void fail(struct trib_comm *comm, enum trib_status status, const char *text)
{
    if (comm->host != NULL) {
        trib_host_fail(comm->host, status, text); /* if no rank has said anything yet */
    }
}

const struct trib_transport trib_transport_level0 = {
    .kind = TRIB_TRANSPORT_LEVEL0,
    .open = trib_endpoint_be_root,
    .run = run,
    .take_done = take_done,
    .deadline = deadline,
    .on_timeout = on_timeout,
    .take_death = take_death,
    .is_busy = is_busy,
    .find_operation = find_operation,
    .explain = explain,
    .mark = mark,
    .keep_hosts = keep_hosts,
    .tell = tell,
    .fail = fail,
    .destroy = destroy,
};
