/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: the rank's side of its session with the control plane, as comm/join.c has it: it joins, brings its grant
 * along when it has one, registers with its mark, tells marks when it is idle, and closes. A connection that ends
 * without a word is a lost session: the rank comes again. Places of a session are numbered from the rank (0) over its
 * switch (1) to the root. Read next: control.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "schemes/schemes.h"
#include "world.h"

#define IDLE_NS (50 * WORLD_MS)
#define RETRY_NS (50 * WORLD_MS)
#define PORT 40000
#define ROOT_PORT 50000
#define MEET_PORT 7480
#define ROOT_LINGER_NS (60 * WORLD_S) /* of who may be needed as a root */

uint32_t session_places(const struct world_comm *comm, uint32_t rank)
{
    return comm->world->switches[comm->ranks[rank].home].level;
}

uint32_t session_switch(const struct world_comm *comm, uint32_t rank, uint32_t place)
{
    uint32_t at = comm->ranks[rank].home;

    while (--place > 0) {
        at = comm->world->switches[at].parent;
    }
    return at;
}

static bool is_over(const struct comm_rank *r)
{
    return r->state == RANK_LEFT || r->state == RANK_FAILED || r->state == RANK_DEAD;
}

/* ---- messages ---- */

/* Schemes that only show something are refused by control planes: theirs knows them by the one that they show. */
void session_scheme(const struct world_comm *comm, char *name)
{
    const struct trib_session_config *s = &comm->set.session;
    const struct trib_scheme *scheme = comm->world->scheme;
    bool is_shown = scheme->refusal != NULL && scheme->switch_node != NULL;

    if (s->quorum_of != 0) {
        (void)snprintf(name, 32, "%s:%u/%u", scheme->name, s->quorum, s->quorum_of);
    } else if (world_has_groups(comm->world)) {
        (void)snprintf(name, 32, "%s:%u", scheme->name, s->group);
    } else {
        (void)snprintf(name, 32, "%s", is_shown ? trib_scheme_at(0)->name : scheme->name);
    }
}

void session_say(struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    if (comm->ranks[rank].wire != NULL && comm->ranks[rank].wire->is_connected) {
        control_send(comm->ranks[rank].wire, message);
    }
}

static void tell_mark(struct world_comm *comm, uint32_t rank, enum trib_message_kind kind)
{
    struct comm_rank *r = &comm->ranks[rank];
    void *node = worker_node(comm, rank);
    const struct trib_message message = {.kind = kind,
                                         .mark = {.mark = node == NULL ? 0 : comm->world->scheme->worker->mark(node)}};

    r->told = message.mark.mark;
    session_say(comm, rank, &message);
}

/* The grant of a time before this world. */
static void bring_grant(struct world_comm *comm, uint32_t rank)
{
    const struct trib_session_config *s = &comm->set.session;
    struct comm_rank *r = &comm->ranks[rank];

    r->grant = (struct trib_grant){
        .salt = s->salt,
        .token = trib_mix64(s->salt ^ 1), /* as control planes draw them in worlds */
        .key = trib_mix64(s->salt ^ 2),
        .job_token = trib_mix64(s->salt ^ 3),
        .communicator = s->communicator,
        .boot = (uint32_t)trib_mix64(s->salt) | 1,
        .roots = s->roots,
        .train = s->train,
        .slots = s->slots,
        .window = comm->set.window,
        .generation = s->generation,
        .data_port = 7470,
    };
    memcpy(r->grant.weight, s->weight, sizeof s->weight);
    memcpy(r->grant.switches, comm->switches, sizeof comm->switches);
    r->was_running = comm->set.was_ready;
}

/* What no rank but one says. */
static void skew(struct trib_settings *settings, uint64_t dice)
{
    if (dice % 3 == 0) {
        settings->payload += TRIB_PAYLOAD_ALIGN;
    } else if (dice % 3 == 1) {
        settings->window++;
    } else {
        settings->gradient_bytes = 1;
    }
}

/* Where ranks' processes are the roots, some offer none. */
static void offer_root(const struct world_comm *comm, uint32_t rank, struct trib_message *join)
{
    bool is_moved = comm->world->is_moved;
    bool offers = rank == 0 || (comm->set.session.salt + rank) % 3 != 0;

    join->join.settings.fallback = !world_has_peers(comm->world) && !comm_has_quorum(comm);
    join->join.meet_port = rank == 0 && join->join.settings.fallback && !is_moved ? MEET_PORT : 0;
    if (is_moved && offers) {
        join->join.root_port = ROOT_PORT;
        join->join.room = UINT32_MAX;
    }
}

static void send_join(struct world_comm *comm, uint32_t rank)
{
    struct comm_rank *r = &comm->ranks[rank];
    const struct trib_session_config *s = &comm->set.session;
    struct trib_message message = {.kind = TRIB_MESSAGE_JOIN};

    message.join.magic = TRIB_SESSION_MAGIC;
    message.join.version = TRIB_SESSION_VERSION;
    message.join.wire_version = TRIB_WIRE_VERSION;
    memcpy(message.join.job, comm->name, sizeof comm->name);
    message.join.rank = rank;
    message.join.roots = s->roots;
    for (uint32_t root = 0; root < s->roots; root++) {
        message.join.data_port[root] = (uint16_t)(PORT + root);
    }
    message.join.multicast = !r->was_running || r->is_multicast;
    session_scheme(comm, message.join.settings.scheme);
    message.join.settings.ranks = s->ranks;
    message.join.settings.payload = s->payload;
    message.join.settings.window = comm->set.window * trib_packet_size(s->payload, comm->set.is_sealed);
    message.join.settings.wire = (uint8_t)s->wire;
    message.join.settings.priority = comm->set.priority;
    if (comm->set.skew == WORLD_SKEW_JOIN && rank == comm->set.skewed_rank) {
        skew(&message.join.settings, s->salt);
    }
    offer_root(comm, rank, &message);
    message.join.key = comm->set.is_sealed ? s->salt | 1 : 0;
    message.join.known = r->grant;
    message.join.was_ready = r->was_running;
    session_say(comm, rank, &message);
}

/* ---- joining ---- */

void session_begin(struct world_comm *comm, uint32_t rank)
{
    if (comm->set.is_return) {
        bring_grant(comm, rank);
    }
    control_connect(comm, rank);
}

static void tell_close(struct world_comm *comm, uint32_t rank)
{
    if (comm->ranks[rank].is_closing && comm->ranks[rank].was_running) {
        tell_mark(comm, rank, TRIB_MESSAGE_CLOSE);
    }
}

/* It looks for the others elsewhere, with all of its grant but what was that switch's own. */
static void keep_grant(struct world_comm *comm, uint32_t rank)
{
    struct comm_rank *r = &comm->ranks[rank];

    if (!r->is_moving) {
        return;
    }
    if (r->grant.communicator == 0 &&
        comm->set.skew != WORLD_SKEW_JOIN) { /* the others may have it, and another control plane may deal otherwise */
        bring_grant(comm, rank);
    }
    r->grant.group = 0;
    r->grant.group_port = 0;
    if (comm->world->is_moved) {
        memset(r->grant.switches, 0, sizeof r->grant.switches);
    }
    r->is_multicast = false;
    r->is_moving = false;
}

void session_connected(struct world_comm *comm, uint32_t rank)
{
    keep_grant(comm, rank);
    send_join(comm, rank);
    tell_close(comm, rank);
}

static void retry(struct world_comm *comm, uint32_t rank)
{
    struct world *world = comm->world;
    struct comm_rank *r = &comm->ranks[rank];

    r->state = RANK_JOINING;
    r->tries++;
    world_schedule(world, world->now_ns + world_below(world, r->tries % 4 == 1 ? RETRY_NS / 5 : RETRY_NS),
                   (struct world_event){.kind = WORLD_REJOIN, .a = comm->index, .b = rank, .unit = (uint16_t)r->tries});
}

void session_lost(struct world_comm *comm, uint32_t rank, bool stood)
{
    struct comm_rank *r = &comm->ranks[rank];

    r->wire = NULL;
    own_root_end(comm, rank);
    if (is_over(r)) {
        return;
    }
    if (stood) {
        comm->world->scheme->worker->suspend(worker_node(comm, rank));
        check_retained(comm, rank);
    }
    retry(comm, rank);
}

/* What sums is lost, and this session stands. */
static void take_recall(struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    struct comm_rank *r = &comm->ranks[rank];

    if (r->state != RANK_JOINING && message->recall.boot != r->grant.boot && comm_has_promise(comm)) {
        world_fail(comm->world, WORLD_CHECK_CONTROL, "C-6: RECALL from boot %08x, and rank %u is in %08x",
                   message->recall.boot, rank, r->grant.boot);
    }
    comm->world->report->recalled++;
    own_root_end(comm, rank);
    comm->world->scheme->worker->suspend(worker_node(comm, rank));
    check_retained(comm, rank);
    r->state = RANK_JOINING;
    send_join(comm, rank);
    tell_close(comm, rank);
}

/* Its switch is gone for good. */
void session_move(struct world_comm *comm, uint32_t rank)
{
    comm->ranks[rank].is_moving = comm->is_started;
}

void session_rejoin(struct world_comm *comm, uint32_t rank, uint32_t tries)
{
    const struct comm_rank *r = &comm->ranks[rank];

    if (r->state == RANK_JOINING && r->wire == NULL && (r->tries & 0xffff) == tries) {
        control_connect(comm, rank);
    }
}

void session_hang_up(struct world_comm *comm, uint32_t rank)
{
    struct comm_rank *r = &comm->ranks[rank];

    own_root_end(comm, rank);
    if (r->wire != NULL) {
        control_hang_up(r->wire);
        r->wire = NULL;
    }
}

/* ---- what comes ---- */

static void take_welcome(struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    struct comm_rank *r = &comm->ranks[rank];
    const struct trib_message paths = {
        .kind = TRIB_MESSAGE_PATHS,
        .paths = {.unicast = true, .multicast = message->welcome.grant.group != 0 && world_below(comm->world, 8) != 0}};

    r->state = RANK_WELCOME;
    r->grant = message->welcome.grant;
    auth_welcome(comm, rank, &message->welcome.auth);
    if (!r->was_running || !world_has_peers(comm->world)) {
        session_say(comm, rank, &paths);
    }
    r->registered_boot = r->grant.boot;
    tell_mark(comm, rank, TRIB_MESSAGE_REGISTER);
}

/* What a rank's switch says of itself when its way is looked at. */
static void learn_number(struct world_comm *comm, uint32_t rank)
{
    const struct trib_worker_verbs *verbs = comm->world->scheme->worker;
    bool has_other_roots = comm->set.skew == WORLD_SKEW_ROOTS && rank == comm->set.skewed_rank; /* one at least */
    uint32_t roots = has_other_roots ? 1 : comm->set.session.roots;

    for (uint32_t root = 0; root < roots && verbs->set_child != NULL; root++) {
        uint32_t child =
            world_has_servers(comm->world) ? rank % comm->set.groups : comm->tree[root]->places[rank].child;
        verbs->set_child(worker_node(comm, rank), root, child);
    }
}

static void take_ready(struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    struct world *world = comm->world;
    struct comm_rank *r = &comm->ranks[rank];

    learn_number(comm, rank);
    world->scheme->worker->registered(worker_node(comm, rank), message->ready.boot, message->ready.mark,
                                      world->now_ns + world->units[r->unit].clock_ns);
    r->state = RANK_RUNNING;
    r->was_running = true;
    r->is_multicast = message->ready.multicast;
    check_silence_begins(&world->units[r->unit]);
    comm_disturbed(comm, world->now_ns);
    fault_at_return(comm, rank);
    unit_wake(world, r->unit, world->now_ns);
    world_schedule(world, world->now_ns + IDLE_NS,
                   (struct world_event){.kind = WORLD_IDLE, .a = comm->index, .b = rank});
    tell_close(comm, rank);
}

static void leave(struct world_comm *comm, uint32_t rank)
{
    comm->ranks[rank].state = RANK_LEFT;
    session_hang_up(comm, rank);
    unit_close(comm->world, unit_of_rank(comm, rank));
}

/* The rank that is at fault, as the text has it. */
uint32_t session_named(const char *text)
{
    const char *but = strstr(text, "but rank ");
    const char *at = but != NULL ? but + 4 : text;

    return strncmp(at, "rank ", 5) == 0 ? (uint32_t)strtoul(at + 5, NULL, 10) : WORLD_NONE;
}

static void take_fail(struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    int32_t status = message->fail.status;

    if (comm_has_promise(comm) && status != TRIB_ERR_PEER && status != TRIB_ERR_TIMEOUT) {
        world_fail(comm->world, WORLD_CHECK_ERROR, "rank %u of communicator %u: %s", rank, comm->index,
                   message->fail.text);
    }
    comm->ranks[rank].failure = status;
    comm_has_error(comm, rank, session_named(message->fail.text));
}

/* Its process is to be a root, or is asked as one. */
static void take_root(struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    struct trib_message answer;

    own_root_take(comm, rank, message, &answer);
    if (answer.kind != TRIB_MESSAGE_NONE) {
        session_say(comm, rank, &answer);
    }
}

static void describe(struct world_comm *comm, uint32_t rank, uint64_t sequence)
{
    struct trib_message answer = {.kind = TRIB_MESSAGE_OPERATION,
                                  .operation = {.sequence = sequence, .text = TRIB_NO_OPERATION}};
    struct trib_operation operation;
    uint64_t number;

    if (comm->world->scheme->worker->describe(worker_node(comm, rank), sequence, &operation, &number)) {
        (void)snprintf(answer.operation.text, sizeof answer.operation.text, "operation %" PRIu64, number);
    }
    session_say(comm, rank, &answer);
}

void session_take(struct world_comm *comm, uint32_t rank, const struct trib_message *message)
{
    struct world *world = comm->world;
    struct comm_rank *r = &comm->ranks[rank];

    if (is_over(r)) {
        return;
    }
    bool rises = message->kind == TRIB_MESSAGE_MARK && message->mark.mark > r->heard_mark;
    check_heard(comm, rank, message);
    if (rises) { /* a new packet may go to a root that says nothing, with a timeout of its own */
        check_silence_begins(&world->units[r->unit]);
    }
    switch ((int)message->kind) {
    case TRIB_MESSAGE_WELCOME:
        take_welcome(comm, rank, message);
        return;
    case TRIB_MESSAGE_READY:
        take_ready(comm, rank, message);
        return;
    case TRIB_MESSAGE_MARK:
        world->scheme->worker->learn_mark(worker_node(comm, rank), message->mark.mark,
                                          world->now_ns + world->units[r->unit].clock_ns);
        unit_wake(world, r->unit, world->now_ns);
        return;
    case TRIB_MESSAGE_DESCRIBE:
        describe(comm, rank, message->describe.sequence);
        return;
    case TRIB_MESSAGE_MISSING:
        world->report->missings++;
        return;
    case TRIB_MESSAGE_PONG:
        return;
    case TRIB_MESSAGE_AWAY:
        world->report->sent_away++;
        session_hang_up(comm, rank);
        retry(comm, rank);
        return;
    case TRIB_MESSAGE_RECALL:
        take_recall(comm, rank, message);
        return;
    case TRIB_MESSAGE_CLOSED:
        leave(comm, rank);
        return;
    case TRIB_MESSAGE_FAIL:
        take_fail(comm, rank, message);
        return;
    case TRIB_MESSAGE_ROOT_OPEN:
    case TRIB_MESSAGE_ROOT_CHILD:
    case TRIB_MESSAGE_ROOT_JOIN:
    case TRIB_MESSAGE_ROOT_MISSING:
        take_root(comm, rank, message);
        return;
    case TRIB_MESSAGE_GONE:
        if (!world->is_moved) { /* else a rank has closed, and nobody lacks anything */
            world_fail(world, WORLD_CHECK_CONTROL, "rank %u hears GONE of a switch", rank);
        }
        return;
    default:
        world_fail(world, WORLD_CHECK_CONTROL, "rank %u hears %s", rank, trib_message_name(message->kind));
        return;
    }
}

/* ---- what a rank says by itself ---- */

/* Nothing under way for a while, and a mark to tell. */
void session_idle(struct world_comm *comm, uint32_t rank)
{
    struct comm_rank *r = &comm->ranks[rank];
    void *node = worker_node(comm, rank);

    if (node == NULL || r->state != RANK_RUNNING || r->is_closing || r->submitted != r->done ||
        comm->world->scheme->worker->mark(node) <= r->told || comm->world->now_ns < r->idle_ns + IDLE_NS) {
        return;
    }
    comm->world->report->session_marks++;
    tell_mark(comm, rank, TRIB_MESSAGE_MARK);
}

/* Its own mark has waited for long, or M. */
void session_stall(struct world_comm *comm, uint32_t rank, const struct trib_event *event)
{
    const struct comm_rank *r = &comm->ranks[rank];
    const void *node = worker_node(comm, rank);
    uint64_t since_ns = comm->world->now_ns + comm->world->units[r->unit].clock_ns - event->since_ns;
    const struct trib_message message = {
        .kind = TRIB_MESSAGE_STALL,
        .stall = {.sequence = event->sequence, .since_ms = (uint32_t)(since_ns / WORLD_MS)}};
    const struct trib_message ping = {.kind = TRIB_MESSAGE_PING};

    if (r->state == RANK_RUNNING) {
        if (!r->is_closing && node != NULL && comm->world->scheme->worker->mark(node) > event->sequence) {
            tell_mark(comm, rank, TRIB_MESSAGE_MARK);
        }
        session_say(comm, rank, &message);
        if (world_has_agents(comm->world)) { /* who waits asks whether its switch still reads, and that its agents */
            session_say(comm, rank, &ping);
        }
    }
}

/* Ranks that send to each other see what others run. */
void session_dispute(struct world_comm *comm, uint32_t rank, uint64_t sequence, uint32_t other)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_DISPUTE,
                                         .dispute = {.sequence = sequence, .rank = {other, rank}}};

    if (comm->ranks[rank].state == RANK_RUNNING) {
        session_say(comm, rank, &message);
    }
}

/* Its results are wrong: it ends for everybody. */
void session_abort(struct world_comm *comm, uint32_t rank)
{
    const struct trib_message message = {.kind = TRIB_MESSAGE_ABORT,
                                         .fail = {.status = TRIB_ERR_CHECK, .text = "its results are wrong"}};

    session_say(comm, rank, &message);
    comm_has_error(comm, rank, WORLD_NONE);
}

/* ---- ends ---- */

void session_close(struct world_comm *comm, uint32_t rank)
{
    struct comm_rank *r = &comm->ranks[rank];

    if (is_over(r) || r->is_closing) {
        return;
    }
    r->is_closing = true;
    fault_at_close(comm->world);
    tell_close(comm, rank);
    world_schedule(comm->world, comm->world->now_ns + WORLD_LINGER_NS,
                   (struct world_event){.kind = WORLD_LEAVE, .a = comm->index, .b = rank});
}

/* It has waited long enough for the others. */
void session_leave(struct world_comm *comm, uint32_t rank)
{
    struct comm_rank *r = &comm->ranks[rank];

    if (comm->world->is_moved && !r->lingers) {
        r->lingers = true;
        world_schedule(comm->world, comm->world->now_ns + ROOT_LINGER_NS,
                       (struct world_event){.kind = WORLD_LEAVE, .a = comm->index, .b = rank});
    } else if (!is_over(r)) {
        comm->world->report->lingered++;
        leave(comm, rank);
    }
}

void session_crash(struct world_comm *comm, uint32_t rank)
{
    comm->ranks[rank].state = RANK_DEAD;
    session_hang_up(comm, rank);
    work_end_rank(comm, rank);
    unit_close(comm->world, unit_of_rank(comm, rank));
}
