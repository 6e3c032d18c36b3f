/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: sessions between ranks and the control plane of the root, through the control planes of the switches
 * between: reliable ordered messages with a delay on every hop, and what a rank does with them. A connection that ends
 * is a message too, the last one: whoever gets it has lost its session, joins again and registers with its mark. Places
 * of a session are numbered from the rank (0) over its switch (1) to the root. Read next: control.c. */
#include <inttypes.h>

#include "world.h"

#define IDLE_NS (50 * WORLD_MS)
#define RETRY_NS (50 * WORLD_MS)

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

/* ---- streams ---- */

static uint32_t take_message(struct world *world)
{
    uint32_t index = world->message_free;

    if (index != 0) {
        world->message_free = world->messages[index].next;
        return index;
    }
    world->messages =
        world_grown(world->messages, world->message_count, &world->message_capacity, sizeof *world->messages);
    return world->message_count++;
}

static void post(struct world_comm *comm, uint32_t rank, uint32_t where, struct message_stream *stream,
                 const struct world_message *message)
{
    struct world *world = comm->world;
    uint64_t delay = world->set.delay_ns;
    uint64_t time = world->now_ns + message->extra_ns + delay + world_below(world, 4 * delay + 2 * WORLD_MS);
    uint32_t index = take_message(world);

    world->messages[index] = *message;
    world->messages[index].next = 0;
    if (stream->first == 0) {
        stream->first = index;
    } else {
        world->messages[stream->last].next = index;
    }
    stream->last = index;
    stream->last_ns = time > stream->last_ns ? time : stream->last_ns;
    world_schedule(world, stream->last_ns,
                   (struct world_event){.kind = WORLD_MESSAGE, .a = comm->index, .b = rank, .unit = (uint16_t)where});
}

/* From place `hop` to the next one up. */
void session_post_up(struct world_comm *comm, uint32_t rank, uint32_t hop, const struct world_message *message)
{
    struct world_message copy = *message;

    copy.life = comm->world->switches[session_switch(comm, rank, hop + 1)].life;
    post(comm, rank, hop, &comm->ranks[rank].streams[0][hop], &copy);
}

/* To place `hop` from the next one up. */
void session_post_down(struct world_comm *comm, uint32_t rank, uint32_t hop, const struct world_message *message)
{
    struct world_message copy = *message;

    copy.life = hop == 0 ? 0 : comm->world->switches[session_switch(comm, rank, hop)].life;
    post(comm, rank, WORLD_HOPS_MAX + hop, &comm->ranks[rank].streams[1][hop], &copy);
}

/* What arrives at a switch that is not the one it was sent to is lost, and who joins tries again. */
static void arrive_at_switch(struct world_comm *comm, uint32_t rank, uint32_t place,
                             const struct world_message *message)
{
    struct world *world = comm->world;
    const struct world_switch *at = &world->switches[session_switch(comm, rank, place)];

    if (message->kind == MESSAGE_JOIN && world->now_ns < at->down_until_ns) {
        world_schedule(
            world, world->now_ns + RETRY_NS + world_below(world, RETRY_NS),
            (struct world_event){.kind = WORLD_REJOIN, .a = comm->index, .b = rank, .unit = (uint16_t)message->epoch});
    } else if (message->kind == MESSAGE_JOIN || (message->life == at->life && world->now_ns >= at->down_until_ns)) {
        control_take(comm, rank, place, message);
    }
}

static void trace(const struct world_comm *comm, uint32_t rank, uint32_t place, const struct world_message *message)
{
    static const char *const names[] = {"JOIN",    "REGISTER", "MARK",   "CLOSE",  "STALL", "DEAD",    "CUT up",
                                        "WELCOME", "READY",    "MARK M", "CLOSED", "FAIL",  "CUT down"};

    if (comm->world->trace) {
        printf("%12" PRIu64 " %u session   r%u %-8s at place %u, epoch %u incarnation %u mark %" PRIu64 "\n",
               comm->world->now_ns, comm->index, rank, names[message->kind], place, message->epoch,
               message->incarnation, message->mark);
    }
}

void session_arrive(struct world_comm *comm, uint32_t rank, uint32_t where)
{
    struct world *world = comm->world;
    bool up = where < WORLD_HOPS_MAX;
    uint32_t place = up ? where + 1 : where - WORLD_HOPS_MAX;
    struct message_stream *stream = &comm->ranks[rank].streams[!up][up ? where : place];
    bool is_there =
        place <= session_places(comm, rank); /* else on a way that it had before its ranks went on without switches */
    uint64_t stopped_ns = !is_there || place == 0 ? world->units[comm->ranks[rank].unit].paused_ns
                                                  : world->switches[session_switch(comm, rank, place)].away_until_ns;

    if (stopped_ns > world->now_ns) { /* nobody reads it before */
        world_schedule(
            world, stopped_ns,
            (struct world_event){.kind = WORLD_MESSAGE, .a = comm->index, .b = rank, .unit = (uint16_t)where});
        return;
    }
    uint32_t index = stream->first;
    struct world_message message = world->messages[index];
    trace(comm, rank, place, &message);
    stream->first = message.next;
    world->messages[index].next = world->message_free;
    world->message_free = index;
    if (place == 0) {
        session_take(comm, rank, &message);
    } else if (is_there) {
        arrive_at_switch(comm, rank, place, &message);
    }
}

/* ---- the rank's side ---- */

static void tell(struct world_comm *comm, uint32_t rank, enum message_kind kind, uint64_t extra_ns)
{
    struct comm_rank *r = &comm->ranks[rank];
    void *node = worker_node(comm, rank);
    struct world_message message = {
        .kind = kind,
        .epoch = r->epoch,
        .incarnation = r->incarnation,
        .mark = node == NULL ? 0 : comm->world->scheme->worker->mark(node),
        .extra_ns = extra_ns,
    };

    if (kind != MESSAGE_JOIN) {
        r->told = message.mark;
    }
    session_post_up(comm, rank, 0, &message);
}

/* Its CLOSE goes before its REGISTER as well; a relay holds it until that has passed. */
static bool is_direct(const struct world_comm *comm, uint32_t rank)
{
    return session_places(comm, rank) == 1 && !world_has_peers(comm->world);
}

static void join(struct world_comm *comm, uint32_t rank, uint64_t extra_ns)
{
    struct comm_rank *r = &comm->ranks[rank];

    r->state = RANK_JOINING;
    r->epoch++;
    tell(comm, rank, MESSAGE_JOIN, extra_ns);
    if (r->is_closing && is_direct(comm, rank)) {
        tell(comm, rank, MESSAGE_CLOSE, 0);
    }
}

void session_begin(struct world_comm *comm, uint32_t rank)
{
    join(comm, rank, 0);
}

static bool is_over(const struct comm_rank *r)
{
    return r->state == RANK_LEFT || r->state == RANK_FAILED || r->state == RANK_DEAD;
}

void session_rejoin(struct world_comm *comm, uint32_t rank, uint32_t epoch)
{
    const struct comm_rank *r = &comm->ranks[rank];

    if (r->state == RANK_JOINING && (r->epoch & 0xffff) == epoch) {
        join(comm, rank, 0);
    }
}

static void lost(struct world_comm *comm, uint32_t rank)
{
    struct world *world = comm->world;

    world->scheme->worker->suspend(worker_node(comm, rank));
    check_retained(comm, rank);
    join(comm, rank, world_below(world, 10 * WORLD_MS));
}

/* What a rank's switch says of itself when its way is looked at. */
static void learn_number(struct world_comm *comm, uint32_t rank)
{
    const struct trib_worker_verbs *verbs = comm->world->scheme->worker;
    bool has_other_roots = comm->set.skew == WORLD_SKEW_ROOTS && rank == comm->set.skewed_rank; /* one at least */
    uint32_t roots = has_other_roots ? 1 : comm->set.session.roots;

    for (uint32_t root = 0; root < roots && verbs->set_child != NULL; root++) {
        verbs->set_child(worker_node(comm, rank), root, comm->ranks[rank].place.child);
    }
}

static void take_ready(struct world_comm *comm, uint32_t rank, const struct world_message *message)
{
    struct world *world = comm->world;
    struct comm_rank *r = &comm->ranks[rank];

    learn_number(comm, rank);
    world->scheme->worker->registered(worker_node(comm, rank), message->boot, message->mark,
                                      world->now_ns + world->units[r->unit].clock_ns);
    r->state = RANK_RUNNING;
    for (uint32_t root = 0; root < comm->set.session.roots; root++) {
        world->units[r->unit].heard_ns[root] = world->now_ns;
        world->units[r->unit].probes[root] = 0;
    }
    comm_disturbed(comm, world->now_ns);
    fault_at_return(comm, rank);
    unit_wake(world, r->unit, world->now_ns);
    world_schedule(world, world->now_ns + IDLE_NS,
                   (struct world_event){.kind = WORLD_IDLE, .a = comm->index, .b = rank});
    if (r->is_closing) {
        tell(comm, rank, MESSAGE_CLOSE, 0);
    }
}

static void leave(struct world_comm *comm, uint32_t rank)
{
    comm->ranks[rank].state = RANK_LEFT;
    unit_close(comm->world, unit_of_rank(comm, rank));
}

void session_take(struct world_comm *comm, uint32_t rank, const struct world_message *message)
{
    struct world *world = comm->world;
    struct comm_rank *r = &comm->ranks[rank];

    if (is_over(r) || message->epoch != r->epoch) {
        return;
    }
    switch (message->kind) {
    case MESSAGE_WELCOME:
        r->state = RANK_WELCOME;
        r->incarnation = message->incarnation;
        tell(comm, rank, MESSAGE_REGISTER, 0);
        if (r->is_closing && !is_direct(comm, rank) && !world_has_peers(comm->world)) {
            tell(comm, rank, MESSAGE_CLOSE, 0);
        }
        return;
    case MESSAGE_READY:
        take_ready(comm, rank, message);
        return;
    case MESSAGE_MARK_DOWN:
        world->scheme->worker->learn_mark(worker_node(comm, rank), message->mark,
                                          world->now_ns + world->units[r->unit].clock_ns);
        unit_wake(world, r->unit, world->now_ns);
        return;
    case MESSAGE_CLOSED:
        leave(comm, rank);
        return;
    case MESSAGE_FAIL:
        comm_has_error(comm, rank, message->cause);
        return;
    case MESSAGE_CUT_DOWN:
        lost(comm, rank);
        return;
    case MESSAGE_JOIN:
    case MESSAGE_REGISTER:
    case MESSAGE_MARK_UP:
    case MESSAGE_CLOSE:
    case MESSAGE_STALL:
    case MESSAGE_DEAD:
    case MESSAGE_CUT_UP:
        return;
    }
}

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
    tell(comm, rank, MESSAGE_MARK_UP, 0);
}

/* Its own mark has waited for long. */
void session_stall(struct world_comm *comm, uint32_t rank, const struct trib_event *event)
{
    const struct comm_rank *r = &comm->ranks[rank];
    struct world_message message = {
        .kind = MESSAGE_STALL,
        .epoch = r->epoch,
        .incarnation = r->incarnation,
        .mark = event->sequence,
        .since_ns = comm->world->now_ns + comm->world->units[r->unit].clock_ns - event->since_ns,
    };

    if (r->state == RANK_RUNNING) {
        session_post_up(comm, rank, 0, &message);
    }
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
    if (r->state == RANK_RUNNING || is_direct(comm, rank) ||
        (r->state == RANK_WELCOME && !world_has_peers(comm->world))) {
        tell(comm, rank, MESSAGE_CLOSE, 0);
    }
    world_schedule(comm->world, comm->world->now_ns + WORLD_LINGER_NS,
                   (struct world_event){.kind = WORLD_LEAVE, .a = comm->index, .b = rank});
}

/* It has waited long enough for the others. */
void session_leave(struct world_comm *comm, uint32_t rank)
{
    if (!is_over(&comm->ranks[rank])) {
        comm->world->report->lingered++;
        tell(comm, rank, MESSAGE_DEAD, 0);
        leave(comm, rank);
    }
}

void session_crash(struct world_comm *comm, uint32_t rank)
{
    tell(comm, rank, MESSAGE_DEAD, 0);
    comm->ranks[rank].state = RANK_DEAD;
    work_end_rank(comm, rank);
    unit_close(comm->world, unit_of_rank(comm, rank));
}
