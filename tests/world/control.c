/* SPDX-License-Identifier: Apache-2.0 */
/* control.c: drives the real control planes of a world's switches: that of the root decides, those of the others are
 * relays. Messages go over connections as bytes; ends of connections travel in order with them. A switch that dies
 * forgets everything, and all its connections end. After each event the control plane's data are checked.
 * Read next: plane.c (their data planes), check_control.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/owner.h"
#include "core/lane.h"
#include "io/clock.h"
#include "world.h"

#define NOTICE_NS (100 * WORLD_MS) /* until the loss of a connection is noticed */
#define PORT 7470
#define GROUP 0xefc00000U
#define HOST_SWITCH 0x0a000001U
#define HOST_RANK 0x0a010000U

/* ---- wires ---- */

static struct world_wire *wire_create(struct world *world, uint16_t below, uint16_t above, bool is_of_rank)
{
    size_t size = is_of_rank ? offsetof(struct world_wire, link) : sizeof(struct world_wire);
    struct world_wire *wire = world_zeroed(1, size);
    uint32_t index = 0;

    while (index < world->wire_count && world->wires[index] != NULL) {
        index++;
    }
    if (index == world->wire_count) {
        world->wires = world_grown(world->wires, world->wire_count, &world->wire_capacity, sizeof *world->wires);
        world->wire_count++;
    }
    wire->world = world;
    wire->index = index;
    wire->below = below;
    wire->above = above;
    wire->is_of_rank = is_of_rank;
    world->wires[index] = wire;
    return wire;
}

static void drop_letters(struct world_stream *stream)
{
    while (stream->first != NULL) {
        struct world_letter *letter = stream->first;
        stream->first = letter->next;
        free(letter);
    }
}

static void wire_free(struct world_wire *wire)
{
    wire->world->wires[wire->index] = NULL;
    drop_letters(&wire->stream[CONTROL_UP]);
    drop_letters(&wire->stream[CONTROL_DOWN]);
    free(wire);
}

/* Nothing moves on it any more, and nobody holds it. */
static void free_if_over(struct world_wire *wire)
{
    if (wire->events == 0 && wire->stream[CONTROL_UP].is_deaf && wire->stream[CONTROL_DOWN].is_deaf) {
        wire_free(wire);
    }
}

static void schedule(struct world_wire *wire, enum world_event_kind kind, uint32_t way, uint64_t time_ns)
{
    wire->events++;
    world_schedule(wire->world, time_ns, (struct world_event){.kind = (uint16_t)kind, .a = wire->index, .b = way});
}

static uint64_t travel_ns(struct world *world)
{
    uint64_t delay = world->set.delay_ns;

    return delay + world_below(world, 4 * delay + 2 * WORLD_MS);
}

/* message NULL: the end. */
static void post(struct world_wire *wire, uint32_t way, const struct trib_message *message, uint64_t extra_ns)
{
    struct world *world = wire->world;
    struct world_stream *stream = &wire->stream[way];
    uint8_t bytes[TRIB_MESSAGE_MAX];

    if (stream->has_ended || stream->is_deaf) {
        stream->has_ended = stream->has_ended || message == NULL;
        return;
    }
    size_t len = message == NULL ? 0 : trib_message_encode(message, bytes);
    uint64_t time = world->now_ns + extra_ns + travel_ns(world);
    struct world_letter *letter = world_zeroed(1, sizeof *letter + len);
    letter->len = (uint32_t)len;
    memcpy(letter->bytes, bytes, len);
    if (stream->first == NULL) {
        stream->first = letter;
    } else {
        stream->last->next = letter;
    }
    stream->last = letter;
    stream->last_ns = time > stream->last_ns ? time : stream->last_ns;
    stream->has_ended = message == NULL;
    if (way == CONTROL_UP && !wire->is_of_rank && message != NULL) {
        struct world_plane *plane = &world->planes[wire->below];
        plane->sent_ns = stream->last_ns > plane->sent_ns ? stream->last_ns : plane->sent_ns;
    }
    schedule(wire, WORLD_MESSAGE, way, stream->last_ns);
}

/* This end says and hears nothing any more. `way`: what it sent. */
static void close_end(struct world_wire *wire, uint32_t way, uint64_t extra_ns)
{
    post(wire, way, NULL, extra_ns);
    wire->stream[!way].is_deaf = true;
    free_if_over(wire);
}

void control_send(struct world_wire *wire, const struct trib_message *message)
{
    post(wire, CONTROL_UP, message, 0);
}

void control_hang_up(struct world_wire *wire)
{
    close_end(wire, CONTROL_UP, 0);
}

/* ---- what control planes ask of their driver ---- */

static struct world_wire *wire_of_session(struct trib_session *session)
{
    return (struct world_wire *)(void *)session;
}

static struct world_wire *wire_of_link(struct trib_link *link)
{
    return (struct world_wire *)(void *)((char *)(void *)link - offsetof(struct world_wire, link));
}

/* Whose messages it carries. */
static struct world_comm *comm_of(const struct world_wire *wire)
{
    if (wire->is_of_rank) {
        return wire->comm;
    }
    const char *number = wire->link.join.join.job + sizeof CONTROL_JOB - 1;
    return wire->world->comms[strtoul(number, NULL, 10)];
}

static uint32_t rank_of(const struct world_wire *wire)
{
    return wire->is_of_rank ? wire->rank : wire->link.join.join.rank;
}

/* On a sequence that rank had a part in, which it takes with it. */
static bool is_forsaken(const char *text)
{
    const char *waits = strstr(text, " waits on sequence ");
    const char *left = strstr(text, " has closed the communicator at sequence ");

    return waits != NULL && left != NULL &&
           strtoull(waits + strlen(" waits on sequence "), NULL, 10) <
               strtoull(left + strlen(" has closed the communicator at sequence "), NULL, 10);
}

static void note_end(struct world_comm *comm, const struct trib_message *message)
{
    bool is_over = message->kind == TRIB_MESSAGE_FAIL;

    comm->has_ended = comm->has_ended || is_over;
    if (!is_over || comm->outcome != COMM_LIVES) {
        return;
    }
    comm->world->report->forsaken += is_forsaken(message->fail.text);
    if (!comm_has_promise(comm) && comm->set.hostility != WORLD_LETHAL) {
        comm->outcome = COMM_REFUSED;
    } else if (message->fail.status == TRIB_ERR_PEER) {
        comm->outcome = COMM_PEER;
    } else {
        comm->outcome = message->fail.status == TRIB_ERR_TIMEOUT ? COMM_LATE : COMM_REFUSED;
    }
}

static void session_send(void *owner, struct trib_session *session, const struct trib_message *message)
{
    const struct world_plane *plane = owner;
    struct world_wire *wire = wire_of_session(session);

    if (plane->at == 0 && !plane->is_over) {
        check_told(comm_of(wire), rank_of(wire), message);
        note_end(comm_of(wire), message);
    }
    post(wire, CONTROL_DOWN, message, 0);
}

static void session_end(void *owner, struct trib_session *session)
{
    (void)owner;
    close_end(wire_of_session(session), CONTROL_DOWN, 0);
}

/* Switches that stand still come back before anybody gives them up. */
static void session_ping(void *owner, struct trib_session *session)
{
    (void)owner;
    (void)session;
}

/* A grant is what the seed says (swarm_comm.c): the numbers are drawn in the order of start.c. */
static uint64_t draw(void *owner)
{
    struct world_plane *plane = owner;
    const struct world_comm *comm = plane->served;
    const struct trib_session_config *s = comm == NULL ? NULL : &comm->set.session;

    switch (s == NULL ? UINT32_MAX : plane->drawn++) {
    case 0:
        return s->salt;
    case 1:
        return trib_mix64(s->salt ^ 1);
    case 2:
        return trib_mix64(s->salt ^ 2);
    case 3:
        return s->communicator;
    case 4:
        return trib_mix64(s->salt ^ 3);
    default:
        return trib_prng_next(&plane->world->prng);
    }
}

static void say(void *owner, enum trib_log_level level, const char *line)
{
    const struct world_plane *plane = owner;

    (void)level;
    printf("%12" PRIu64 " switch %u: %s\n", plane->world->now_ns, plane->at, line);
}

static struct trib_link *link_open(void *owner)
{
    const struct world_plane *plane = owner;
    struct world *world = plane->world;
    uint16_t parent = (uint16_t)world->switches[plane->at].parent;
    struct world_wire *wire = wire_create(world, (uint16_t)plane->at, parent, false);
    uint64_t when_ns = world->now_ns + travel_ns(world);

    /* What a process has sent comes before what its successor sends: both use one link. */
    schedule(wire, WORLD_CONNECT, CONTROL_UP, when_ns > plane->before_ns ? when_ns : plane->before_ns + 1);
    return &wire->link;
}

static void link_send(void *owner, struct trib_link *link, const struct trib_message *message)
{
    (void)owner;
    post(wire_of_link(link), CONTROL_UP, message, 0);
}

static void link_end(void *owner, struct trib_link *link)
{
    (void)owner;
    close_end(wire_of_link(link), CONTROL_UP, 0);
}

static void link_ping(void *owner, struct trib_link *link)
{
    (void)owner;
    (void)link;
}

bool control_has_wires(const struct world_comm *comm)
{
    const struct world *world = comm->world;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        if (world->wires[i] != NULL && comm_of(world->wires[i]) == comm) {
            return true;
        }
    }
    return false;
}

/* ---- control planes ---- */

static void plane_start(struct world_plane *plane)
{
    struct world *world = plane->world;
    const struct world_switch *s = &world->switches[plane->at];
    const struct trib_jobs_output output = {plane,        session_send, session_end,
                                            session_ping, draw,         world->trace ? say : NULL};
    const struct trib_relay_output above = {plane, link_open, link_send, link_end, link_ping};

    plane->config.boot = s->boot != 0 ? s->boot : 1;
    plane->timer_ns = TRIB_NEVER;
    plane->before_ns = plane->sent_ns;
    memset(&plane->seen, 0, sizeof plane->seen);
    trib_jobs_init(&plane->jobs, &plane->config, &output);
    if (s->parent != WORLD_NONE) {
        plane->config.parent = world->planes[s->parent].config.listen;
        trib_relay_init(&plane->relay, &plane->config, s->boot + (UINT64_C(1) << 32), &above);
        plane->jobs.relay = &plane->relay;
    }
}

void control_begin(struct world *world)
{
    world->planes = world_zeroed(world->switch_count, sizeof *world->planes);
    for (uint32_t at = 0; at < world->switch_count; at++) {
        struct world_plane *plane = &world->planes[at];
        plane->world = world;
        plane->at = at;
        plane->config.listen = trib_address_v4(HOST_SWITCH + at, PORT);
        plane->config.shards = WORLD_ROOTS_MAX;
        plane->config.receive_room = UINT32_MAX;
        plane->config.memory_quota = plane->config.job_quota = UINT64_C(1) << 40;
        plane->config.group = GROUP;
        plane->config.join_timeout_ns = WORLD_JOIN_NS;
        plane->config.plane = plane_verbs(plane);
        plane_start(plane);
    }
}

const struct trib_job *control_job(const struct world_comm *comm, uint32_t at)
{
    const struct trib_job *job = comm->world->planes[at].jobs.first;

    while (job != NULL && strcmp(job->name, comm->name) != 0) {
        job = job->next;
    }
    return job;
}

/* How the job has ended, where nobody was there to be told. */
static void note_silent_end(struct world_comm *comm)
{
    const struct world_plane *plane = &comm->world->planes[0];
    const struct trib_jobs_stats *now = &plane->jobs.stats;
    uint32_t named = 0;

    if (now->closed != plane->seen.closed) {
        comm->outcome = COMM_CLOSED;
    } else if (now->failed[-TRIB_ERR_TIMEOUT] != plane->seen.failed[-TRIB_ERR_TIMEOUT]) {
        comm->outcome = COMM_LATE;
    } else if (now->failed[-TRIB_ERR_PEER] != plane->seen.failed[-TRIB_ERR_PEER]) {
        while (named + 1 < comm->set.session.ranks && comm->ranks[named].state != RANK_DEAD) {
            named++;
        }
        comm->outcome = COMM_PEER;
        comm->named = comm->named == WORLD_NONE ? named : comm->named;
    } else {
        return; /* all who had joined have left, and may come again */
    }
    comm->has_ended = true;
}

/* What has become of a communicator at the root. served: whose message was the event; NULL: time went by. */
static void look(struct world_comm *comm, const struct world_comm *served)
{
    static const enum control_state states[] = {[TRIB_JOB_JOINING] = CONTROL_GATHERING,
                                                [TRIB_JOB_PLACING] = CONTROL_STARTING,
                                                [TRIB_JOB_STARTING] = CONTROL_STARTING,
                                                [TRIB_JOB_RUNNING] = CONTROL_RUNNING};
    const struct trib_job *job = control_job(comm, 0);

    if (job == NULL && comm->has_job && served != NULL && served != comm) {
        world_fail(comm->world, WORLD_CHECK_CONTROL, "C-18: a message of communicator %u ends communicator %u",
                   served->index, comm->index);
    }
    if (job == NULL && comm->has_job && comm->outcome == COMM_LIVES) {
        note_silent_end(comm);
    }
    enum control_state state = job != NULL ? states[job->state] : comm->has_ended ? CONTROL_ENDED : CONTROL_GATHERING;
    if (job != NULL && job->is_open && job->grant.boot != comm->boot) {
        check_incarnation(comm, job->grant.boot);
        comm->boot = job->grant.boot;
        comm->incarnations_lost = comm->incarnation++;
        comm_disturbed(comm, comm->world->now_ns);
    }
    if (state != comm->control || comm->has_job != (job != NULL)) {
        comm_disturbed(comm, comm->world->now_ns);
    }
    comm->control = state;
    comm->has_job = job != NULL;
}

/* After each event of a control plane. */
static void settle(struct world_plane *plane)
{
    struct world *world = plane->world;

    trib_jobs_check(&plane->jobs);
    check_plane(plane);
    for (uint32_t i = 0; i < world->comm_count && plane->at == 0; i++) {
        if (world->comms[i]->is_started) {
            look(world->comms[i], plane->served);
        }
    }
    plane->seen = plane->jobs.stats;
    plane->served = NULL;
    uint64_t next_ns = trib_jobs_next_timeout(&plane->jobs);
    next_ns = next_ns == TRIB_NEVER                    ? TRIB_NEVER
              : next_ns > CONTROL_TIME + world->now_ns ? next_ns - CONTROL_TIME
                                                       : world->now_ns + 1;
    if (next_ns < plane->timer_ns) {
        plane->timer_ns = next_ns;
        world_schedule(world, next_ns, (struct world_event){.kind = WORLD_TIMER, .unit = (uint16_t)plane->at});
    }
}

void control_timeout(struct world *world, const struct world_event *event)
{
    struct world_plane *plane = &world->planes[event->unit];
    uint64_t away_ns = world->switches[event->unit].away_until_ns;

    if (event->time_ns != plane->timer_ns) {
        return;
    }
    if (away_ns > world->now_ns) {
        plane->timer_ns = away_ns;
        world_schedule(world, away_ns, *event);
        return;
    }
    plane->timer_ns = TRIB_NEVER;
    trib_jobs_on_timeout(&plane->jobs, CONTROL_TIME + world->now_ns);
    settle(plane);
}

void control_mismatch(struct world_comm *comm, uint32_t at, uint64_t sequence, const uint32_t rank[2])
{
    struct world_plane *plane = &comm->world->planes[at];

    plane->served = comm;
    trib_jobs_mismatch(&plane->jobs, comm->set.session.communicator, sequence, rank,
                       CONTROL_TIME + comm->world->now_ns);
    settle(plane);
}

/* ---- connections ---- */

/* A machine keeps its address: who takes the place of another has it. */
static struct trib_address address_of(const struct world_comm *comm, uint32_t rank)
{
    while (comm->before != NULL && rank < comm->before->set.session.ranks) {
        comm = comm->before;
    }
    return trib_address_v4(HOST_RANK + comm->ranks[rank].unit, (uint16_t)(PORT + comm->ranks[rank].unit % 1000));
}

void control_connect(struct world_comm *comm, uint32_t rank)
{
    struct world *world = comm->world;
    struct world_wire *wire = wire_create(world, UINT16_MAX, (uint16_t)comm->ranks[rank].home, true);

    wire->comm = comm;
    wire->rank = rank;
    comm->ranks[rank].wire = wire;
    schedule(wire, WORLD_CONNECT, CONTROL_UP, world->now_ns + travel_ns(world));
}

/* Until when the lower end does nothing. */
static uint64_t below_stopped_ns(const struct world_wire *wire)
{
    const struct world *world = wire->world;

    return wire->is_of_rank ? world->units[wire->comm->ranks[wire->rank].unit].paused_ns
                            : world->switches[wire->below].away_until_ns;
}

static void refuse(struct world_wire *wire)
{
    struct world *world = wire->world;

    wire->stream[CONTROL_UP].is_deaf = wire->stream[CONTROL_UP].has_ended = true;
    wire->stream[CONTROL_DOWN].has_ended = true;
    if (wire->is_of_rank) {
        wire->stream[CONTROL_DOWN].is_deaf = true;
        session_lost(wire->comm, wire->rank, false);
    } else {
        trib_relay_lost(&world->planes[wire->below].jobs, &wire->link, "connection refused", false,
                        CONTROL_TIME + world->now_ns);
        settle(&world->planes[wire->below]);
    }
}

static void stand(struct world_wire *wire)
{
    struct world *world = wire->world;

    wire->is_connected = true;
    if (wire->is_of_rank) {
        wire->session.peer = address_of(wire->comm, wire->rank);
        session_connected(wire->comm, wire->rank);
        return;
    }
    wire->session.peer = world->planes[wire->below].config.listen;
    trib_address_set_port(&wire->session.peer, (uint16_t)(30000 + wire->index % 10000));
    trib_relay_connected(&world->planes[wire->below].jobs, &wire->link, &wire->session.peer);
    settle(&world->planes[wire->below]);
}

/* The upper end takes a connection even while it stands still: its kernel does. */
static void connect_wire(struct world_wire *wire)
{
    struct world *world = wire->world;
    bool is_moved = wire->is_of_rank && wire->above != wire->comm->ranks[wire->rank].home;

    if (wire->stream[CONTROL_DOWN].is_deaf) { /* who wanted it has gone */
        wire->stream[CONTROL_UP].is_deaf = true;
    } else if (below_stopped_ns(wire) > world->now_ns) {
        schedule(wire, WORLD_CONNECT, CONTROL_UP, below_stopped_ns(wire));
    } else if (world->now_ns < world->switches[wire->above].down_until_ns || is_moved) {
        refuse(wire);
    } else {
        stand(wire);
    }
}

/* ---- messages ---- */

static void trace(const struct world_wire *wire, uint32_t way, const struct trib_message *message)
{
    if (wire->world->trace) {
        printf("%12" PRIu64 " %u session   r%u %-8s %s switch %u, mark %" PRIu64 "\n", wire->world->now_ns,
               comm_of(wire)->index, rank_of(wire), message == NULL ? "(end)" : trib_message_name(message->kind),
               way == CONTROL_UP ? "to" : "from", wire->above,
               message != NULL && message->kind == TRIB_MESSAGE_READY ? message->ready.mark
               : message != NULL                                      ? message->mark.mark
                                                                      : 0);
    }
}

/* At the upper end. NULL: the end. */
static void arrive_above(struct world_wire *wire, const struct trib_message *message)
{
    struct world *world = wire->world;
    struct world_plane *plane = &world->planes[wire->above];
    uint64_t now_ns = CONTROL_TIME + world->now_ns;

    plane->served = comm_of(wire);
    plane->drawn = 0;
    if (message == NULL) {
        trib_jobs_gone(&plane->jobs, &wire->session, "its session closed", now_ns);
        close_end(wire, CONTROL_DOWN, 0);
    } else if (!trib_jobs_receive(&plane->jobs, &wire->session, message, now_ns)) {
        world_fail(world, WORLD_CHECK_CONTROL, "switch %u: %s of rank %u of communicator %u is out of turn",
                   wire->above, trib_message_name(message->kind), rank_of(wire), comm_of(wire)->index);
    }
    settle(plane);
}

static void arrive_below(struct world_wire *wire, const struct trib_message *message)
{
    struct world *world = wire->world;

    if (wire->is_of_rank && message == NULL) {
        control_hang_up(wire);
        session_lost(wire->comm, wire->rank, true);
    } else if (wire->is_of_rank) {
        session_take(wire->comm, wire->rank, message);
    } else {
        struct world_plane *plane = &world->planes[wire->below];
        plane->served = comm_of(wire);
        if (message == NULL) {
            trib_relay_lost(&plane->jobs, &wire->link, "connection closed", false, CONTROL_TIME + world->now_ns);
        } else {
            trib_relay_answer(&plane->jobs, &wire->link, message, CONTROL_TIME + world->now_ns);
        }
        settle(plane);
    }
}

/* Equal inputs in equal order give equal outputs (C-21): a seed that is run twice shows the same trace. */
static void note_letter(struct world *world, const struct world_letter *letter)
{
    uint64_t trace = world->report->trace ^ world->now_ns;

    for (uint32_t at = 0; at + 8 <= letter->len; at += 8) {
        uint64_t word;
        memcpy(&word, letter->bytes + at, 8);
        trace = (trace ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    }
    world->report->trace = trace + letter->len;
    world->report->messages++;
}

static void deliver(struct world_wire *wire, uint32_t way)
{
    struct world *world = wire->world;
    struct world_stream *stream = &wire->stream[way];
    struct world_letter *letter = stream->first;
    struct trib_message message;
    size_t used = 0;

    stream->first = letter->next;
    if (!stream->is_deaf) {
        note_letter(world, letter);
        bool is_end = letter->len == 0;
        if (!is_end &&
            (trib_message_decode(letter->bytes, letter->len, &message, &used) != TRIB_OK || used != letter->len)) {
            world_fail(world, WORLD_CHECK_CONTROL, "a message that cannot be decoded");
        } else {
            trace(wire, way, is_end ? NULL : &message);
            (way == CONTROL_UP ? arrive_above : arrive_below)(wire, is_end ? NULL : &message);
        }
    }
    free(letter);
}

/* Until when something for this end is held: if it stands still for longer than was known, all that waits is held again
 * together, so that it stays in order. */
static uint64_t held_ns(const struct world_wire *wire, uint32_t way)
{
    struct world *world = wire->world;
    bool is_rank = way == CONTROL_DOWN && wire->is_of_rank;
    uint64_t stopped_ns = way == CONTROL_UP ? world->switches[wire->above].away_until_ns : below_stopped_ns(wire);

    if (is_rank || stopped_ns <= world->now_ns) {
        return stopped_ns;
    }
    struct world_plane *plane = &world->planes[way == CONTROL_UP ? wire->above : wire->below];
    plane->held_ns = plane->held_ns > world->now_ns ? plane->held_ns : stopped_ns;
    return plane->held_ns;
}

void control_arrive(struct world *world, const struct world_event *event)
{
    struct world_wire *wire = world->wires[event->a];
    uint64_t stopped_ns = held_ns(wire, event->b);

    wire->events++; /* it is held until the end of this event */
    if (event->kind == WORLD_CONNECT) {
        connect_wire(wire);
    } else if (stopped_ns > world->now_ns && !wire->stream[event->b].is_deaf) { /* nobody reads it before */
        schedule(wire, WORLD_MESSAGE, event->b, stopped_ns);
    } else {
        deliver(wire, event->b);
    }
    wire->events -= 2;
    free_if_over(wire);
}

/* ---- switches that die ---- */

/* As kill -9 does: its connections end, and nothing was said. */
static void cut_wires(struct world *world, uint32_t at)
{
    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        if (wire == NULL || (wire->above != at && (wire->is_of_rank || wire->below != at))) {
            continue;
        }
        bool is_above = wire->above == at;
        if (is_above && !wire->is_connected) {
            continue; /* it finds nobody, or who comes back */
        }
        close_end(wire, is_above ? CONTROL_DOWN : CONTROL_UP, world_below(world, NOTICE_NS));
    }
}

/* Of one connection between switches both ends hear the end, at times of their own. */
uint32_t control_cut(struct world *world)
{
    struct world_wire *chosen = NULL;
    uint64_t count = 0;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        bool stands = wire != NULL && !wire->is_of_rank && wire->is_connected && !wire->stream[CONTROL_UP].has_ended &&
                      !wire->stream[CONTROL_DOWN].has_ended;
        if (stands && world_below(world, ++count) == 0) {
            chosen = wire;
        }
    }
    if (chosen == NULL) {
        return WORLD_NONE;
    }
    post(chosen, CONTROL_UP, NULL, world_below(world, NOTICE_NS));
    post(chosen, CONTROL_DOWN, NULL, world_below(world, NOTICE_NS));
    return chosen->below;
}

static void forget(struct world_plane *plane)
{
    struct trib_job *next;

    for (struct trib_job *job = plane->jobs.first; job != NULL; job = next) {
        next = job->next;
        free(job);
    }
    for (struct trib_owner *owner = plane->jobs.owners, *after; owner != NULL; owner = after) {
        after = owner->next;
        free(owner);
    }
    plane->jobs.first = NULL;
    plane->jobs.owners = NULL;
    plane->relay.first = NULL;
}

void control_restart(struct world *world, uint32_t at)
{
    struct world_plane *plane = &world->planes[at];

    forget(plane);
    cut_wires(world, at);
    plane_start(plane);
    for (uint32_t i = 0; i < world->comm_count; i++) {
        struct world_comm *comm = world->comms[i];
        if (comm->shapes[at].rank_count == 0) {
            continue;
        }
        plane_close(comm, at);
        if (comm->is_started && at == 0) {
            comm->has_ended = comm->control == CONTROL_ENDED;
            look(comm, NULL);
        }
        comm_disturbed(comm, world->now_ns);
    }
}

/* The switches are gone for good, and the ranks go on without them: one place, where all are children, takes what was
 * the root's. */
void control_move(struct world *world)
{
    for (uint32_t at = 1; at < world->switch_count; at++) {
        control_restart(world, at);
    }
    world->is_moved = !world->scheme->has_quorum; /* else a switch takes its place */
    world->planes[0].config.shards = world->is_moved ? 0 : WORLD_ROOTS_MAX;
    for (uint32_t i = 0; i < world->comm_count; i++) {
        struct world_comm *comm = world->comms[i];
        world->report->moved += comm->is_started && comm->control != CONTROL_ENDED && comm->depth > 1;
        shape_make_star(comm);
        check_moved(comm);
        for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
            session_move(comm, rank);
        }
    }
}

void control_shut(struct world *world)
{
    for (uint32_t at = 0; at < world->switch_count; at++) {
        struct world_plane *plane = &world->planes[at];
        plane->is_over = true;
        trib_jobs_deinit(&plane->jobs, TRIB_ERR_SWITCH, "the switch is shutting down");
        trib_jobs_check(&plane->jobs);
        if (plane->jobs.count != 0 || plane->jobs.agent.memory_used != 0) {
            world_fail(world, WORLD_CHECK_CONTROL,
                       "C-19: switch %u has shut down, and has %u jobs and %" PRIu64 " bytes", at, plane->jobs.count,
                       plane->jobs.agent.memory_used);
        }
    }
}

void control_end(struct world *world)
{
    for (uint32_t at = 0; at < world->switch_count && world->planes != NULL; at++) {
        forget(&world->planes[at]);
    }
    for (uint32_t i = 0; i < world->wire_count; i++) {
        if (world->wires[i] != NULL) {
            wire_free(world->wires[i]);
        }
    }
    free(world->wires);
    free(world->planes);
}
