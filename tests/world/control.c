/* SPDX-License-Identifier: Apache-2.0 */
/* control.c: drives the real control planes of a world's switches: that of the root decides, and has the others for
 * agents. Messages go over connections as bytes; ends of connections travel in order with them. A switch that dies
 * forgets everything, and all its connections end. After each event the control plane's data are checked.
 * Read next: trunk.c (switches below), plane.c (their data planes), check_control.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "control/jobs/opening.h"
#include "control/jobs/owner.h"
#include "control/jobs/start.h"
#include "control/roots/loads.h"
#include "control/roots/processes.h"
#include "core/lane.h"
#include "io/clock.h"
#include "placing.h"

#define NOTICE_NS (100 * WORLD_MS) /* until the loss of a connection is noticed */
#define PORT 7470
#define GROUP 0xefc00000U
#define HOST_SWITCH 0x0a000001U
#define HOST_RANK 0x0a010000U

/* ---- what control planes ask of their driver ---- */

static struct world_wire *wire_of_session(struct trib_session *session)
{
    return (struct world_wire *)(void *)session;
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
        if (message->kind == TRIB_MESSAGE_WELCOME) {
            agents_welcome(wire, message);
        }
        check_told(wire->comm, wire->rank, message);
        note_end(wire->comm, message);
    }
    wire_post(wire, CONTROL_DOWN, message, 0);
}

static void session_end(void *owner, struct trib_session *session)
{
    (void)owner;
    wire_close(wire_of_session(session), CONTROL_DOWN, 0);
}

/* Switches that stand still come back before anybody gives them up. */
static void session_ping(void *owner, struct trib_session *session)
{
    (void)owner;
    (void)session;
}

/* Of a job that has its grant, a control plane draws packet keys, each a new one. */
static bool is_granted(const struct world_comm *comm)
{
    const struct trib_job *job = control_job(comm, 0);

    return job != NULL && job->grant.communicator != 0 && job->owner->token != 0;
}

/* A grant is what the seed says (swarm_comm.c): the numbers are drawn in the order of start.c. */
static uint64_t draw(void *owner)
{
    struct world_plane *plane = owner;
    const struct world_comm *comm = world_has_agents(plane->world) ? agents_starting(plane) : plane->served;
    const struct trib_session_config *s = comm == NULL ? NULL : &comm->set.session;

    if (comm != NULL && is_granted(comm)) {
        return auth_key_part(plane->world);
    }
    plane->drawn = comm == plane->drawing ? plane->drawn : 0;
    plane->drawing = comm;
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

bool control_has_wires(const struct world_comm *comm)
{
    const struct world *world = comm->world;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        if (world->wires[i] != NULL && world->wires[i]->comm == comm) {
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

    plane->config.boot = s->boot != 0 ? s->boot : 1;
    plane->timer_ns = TRIB_NEVER;
    plane->before_ns = plane->sent_ns;
    memset(&plane->seen, 0, sizeof plane->seen);
    trib_jobs_init(&plane->jobs, &plane->config, &output);
    if (s->parent != WORLD_NONE) {
        plane->config.parent = world->planes[s->parent].config.listen;
        plane->jobs.masters.here = plane->config.listen;
    }
    agents_begin(plane);
    trunk_begin(plane);
}

static void set_timer(struct world_plane *plane)
{
    struct world *world = plane->world;
    uint64_t next_ns = trib_jobs_next_timeout(&plane->jobs);

    next_ns = next_ns == TRIB_NEVER                    ? TRIB_NEVER
              : next_ns > CONTROL_TIME + world->now_ns ? next_ns - CONTROL_TIME
                                                       : world->now_ns + 1;
    if (next_ns < plane->timer_ns) {
        plane->timer_ns = next_ns;
        world_schedule(world, next_ns, (struct world_event){.kind = WORLD_TIMER, .unit = (uint16_t)plane->at});
    }
}

void control_begin(struct world *world)
{
    world->planes = world_zeroed(world->switch_count, sizeof *world->planes);
    for (uint32_t at = 0; at < world->switch_count; at++) {
        struct world_plane *plane = &world->planes[at];
        plane->world = world;
        plane->at = at;
        plane->config.identity = at + 1;
        plane->config.listen = trib_address_v4(HOST_SWITCH + at, PORT);
        plane->config.shards = WORLD_ROOTS_MAX;
        plane->config.receive_room = UINT32_MAX;
        plane->config.memory_quota = plane->config.job_quota = UINT64_C(1) << 40;
        plane->config.group = GROUP;
        plane->config.join_timeout_ns = WORLD_JOIN_NS;
        plane->config.plane = plane_verbs(plane);
        plane->config.ping_gap_ns = WORLD_MS;
        if (at >= world->tree_count) {
            struct trib_others *lenders = &world->planes[0].config.lenders;
            lenders->at[lenders->count++] = plane->config.listen;
            plane->config.lend_to.at[plane->config.lend_to.count++] = world->planes[0].config.listen;
        }
    }
    placing_begin(world);
    world->planes[0].config.trees = world->set.trees;
    for (uint32_t at = 0; at < world->switch_count; at++) {
        struct world_plane *plane = &world->planes[at];
        plane_start(plane);
        set_timer(plane);
    }
}

const struct trib_job *control_job(const struct world_comm *comm, uint32_t at)
{
    const struct trib_job *job = comm->world->planes[at].jobs.first; /* switches below have none */

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
void control_settle(struct world_plane *plane)
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
    set_timer(plane);
}

void control_timeout(struct world *world, const struct world_event *event)
{
    struct world_plane *plane = &world->planes[event->unit];
    const struct world_switch *s = &world->switches[event->unit];
    uint64_t away_ns = s->away_until_ns > s->down_until_ns ? s->away_until_ns : s->down_until_ns;

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
    control_settle(plane);
}

void control_mismatch(struct world_comm *comm, uint32_t at, uint64_t sequence, const uint32_t rank[2])
{
    struct world_plane *plane = &comm->world->planes[at];

    plane->served = comm;
    trib_jobs_mismatch(&plane->jobs, comm->set.session.communicator, sequence, rank,
                       CONTROL_TIME + comm->world->now_ns);
    control_settle(plane);
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
    struct world_wire *wire = wire_create(world, UINT16_MAX, (uint16_t)comm->ranks[rank].home, 0);

    wire->comm = comm;
    wire->rank = rank;
    comm->ranks[rank].wire = wire;
    wire_schedule(wire, WORLD_CONNECT, CONTROL_UP, world->now_ns + wire_travel_ns(world));
}

/* Until when the lower end does nothing. */
static uint64_t below_stopped_ns(const struct world_wire *wire)
{
    const struct world *world = wire->world;

    return wire->is_of_rank ? world->units[wire->comm->ranks[wire->rank].unit].paused_ns
                            : world->switches[wire->below].away_until_ns;
}

/* The lower end of a connection between switches has lost it. */
static void lose(struct world_wire *wire, const char *cause)
{
    struct world_plane *plane = &wire->world->planes[wire->below];
    struct trib_message away = {.kind = TRIB_MESSAGE_AWAY};

    if (wire->remote == NULL) {
        (void)snprintf(away.note.text, sizeof away.note.text, "the parent is away: %s", cause);
        trunk_lose_below(wire, &away);
        return;
    }
    wire->world->report->agent_losses += trib_remote_is_usable(wire->remote);
    trib_switches_lost(&plane->jobs, wire->remote, cause, false, CONTROL_TIME + wire->world->now_ns);
    control_settle(plane);
}

static void refuse(struct world_wire *wire)
{
    wire->stream[CONTROL_UP].is_deaf = wire->stream[CONTROL_UP].has_ended = true;
    wire->stream[CONTROL_DOWN].has_ended = true;
    if (wire->is_of_rank) {
        wire->stream[CONTROL_DOWN].is_deaf = true;
        session_lost(wire->comm, wire->rank, false);
    } else {
        lose(wire, "connection refused");
    }
}

static void stand(struct world_wire *wire)
{
    struct world *world = wire->world;

    wire->is_connected = true;
    if (wire->remote == NULL && wire->at != 0) {
        trunk_take(wire);
        wire->session.local = world->planes[wire->at].config.listen;
    }
    if (wire->is_of_rank) {
        wire->session.peer = address_of(wire->comm, wire->rank);
        session_connected(wire->comm, wire->rank);
        return;
    }
    wire->session.peer = world->planes[wire->below].config.listen;
    trib_address_set_port(&wire->session.peer, (uint16_t)(30000 + wire->index % 10000));
    wire->session.local = world->planes[wire->at].config.listen;
    if (wire->remote != NULL) {
        trib_switches_connected(&world->planes[wire->below].jobs, wire->remote);
    } else {
        trunk_stand(wire);
    }
    control_settle(&world->planes[wire->below]);
}

/* The upper end takes a connection even while it stands still: its kernel does. */
static void connect_wire(struct world_wire *wire)
{
    struct world *world = wire->world;
    bool is_moved = wire->is_of_rank && wire->at != wire->comm->ranks[wire->rank].home;

    if (wire->stream[CONTROL_DOWN].is_deaf) { /* who wanted it has gone */
        wire->stream[CONTROL_UP].is_deaf = true;
    } else if (below_stopped_ns(wire) > world->now_ns) {
        wire_schedule(wire, WORLD_CONNECT, CONTROL_UP, below_stopped_ns(wire));
    } else if (world->now_ns < world->switches[wire->at].down_until_ns || is_moved) {
        refuse(wire);
    } else {
        stand(wire);
    }
}

/* ---- messages ---- */

static void trace(const struct world_wire *wire, uint32_t way, const struct trib_message *message)
{
    if (wire->world->trace && !wire->is_of_rank) {
        printf("%12" PRIu64 " - agent     %-12s from switch %u to %u\n", wire->world->now_ns,
               message == NULL ? "(end)" : trib_message_name(message->kind),
               way == CONTROL_UP ? wire->below : wire->above, way == CONTROL_UP ? wire->above : wire->below);
    } else if (wire->world->trace) {
        printf("%12" PRIu64 " %u session   r%u %-8s %s switch %u, mark %" PRIu64 "\n", wire->world->now_ns,
               wire->comm->index, wire->rank, message == NULL ? "(end)" : trib_message_name(message->kind),
               way == CONTROL_UP ? "to" : "from", wire->at,
               message != NULL && message->kind == TRIB_MESSAGE_READY ? message->ready.mark
               : message != NULL                                      ? message->mark.mark
                                                                      : 0);
    }
}

/* A session that came over a trunk, which stands, has ended at the other end: its rank has said so, in words. */
static void end_above(struct world_wire *wire)
{
    struct trib_jobs *jobs = &wire->world->planes[wire->above].jobs;
    uint64_t now_ns = CONTROL_TIME + wire->world->now_ns;

    if (wire_is_trunk(wire)) {
        trunk_lose_above(wire, "its session closed");
        return;
    }
    if (wire->session.leaf != NULL) {
        trib_jobs_expel(jobs, &wire->session, "its session closed", now_ns);
    } else {
        trib_jobs_gone(jobs, &wire->session, "its session closed", now_ns);
    }
    wire_close(wire, CONTROL_DOWN, 0);
}

/* At the upper end. NULL: the end. */
static void arrive_above(struct world_wire *wire, const struct trib_message *message)
{
    struct world_plane *plane = &wire->world->planes[wire->above];

    plane->served = wire->comm;
    plane->drawing = NULL;
    if (!wire->is_begun) {
        wire->is_begun = true;
        wire->session.leaf = wire->over != NULL ? wire->over->leaf : NULL;
    }
    if (message == NULL) {
        end_above(wire);
    } else if (!(wire_is_trunk(wire)
                     ? trunk_arrive_above(wire, message)
                     : trib_jobs_receive(&plane->jobs, &wire->session, message, CONTROL_TIME + wire->world->now_ns))) {
        world_fail(wire->world, WORLD_CHECK_CONTROL, "switch %u: %s of rank %u of communicator %s is out of turn",
                   wire->above, trib_message_name(message->kind), wire->is_of_rank ? wire->rank : WORLD_NONE,
                   wire->is_of_rank ? wire->comm->name : "any");
    }
    control_settle(plane);
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
        plane->served = NULL;
        plane->drawing = NULL;
        if (message == NULL) {
            lose(wire, "connection closed");
        } else if (wire->remote != NULL) {
            trib_switches_answer(&plane->jobs, wire->remote, message, CONTROL_TIME + world->now_ns);
            control_settle(plane);
        } else {
            trunk_arrive_below(wire, message);
        }
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

/* The n-th switch that something on its way to this end comes to; WORLD_NONE: no more. What is cut off comes from the
 * switch that has taken the connection. */
static uint32_t switch_on_way(const struct world_wire *wire, uint32_t way, uint32_t n)
{
    uint32_t on_way[WORLD_DEPTH_MAX + 2];
    uint32_t count = 0;

    for (const struct world_wire *over = wire->over; over != NULL; over = wire->is_cut ? NULL : over->over) {
        on_way[count++] = over->below;
    }
    if (n < count) {
        return way == CONTROL_UP ? on_way[n] : on_way[count - 1 - n];
    }
    uint32_t end = way == CONTROL_UP ? wire->above : wire->is_of_rank ? WORLD_NONE : wire->below;
    return n == count ? end : WORLD_NONE;
}

/* Until when something for this end is held: if a switch stands still for longer than was known, all that waits there is
 * held again together, so that it stays in order. */
static uint64_t held_ns(const struct world_wire *wire, uint32_t way)
{
    struct world *world = wire->world;
    uint32_t at;

    for (uint32_t n = 0; (at = switch_on_way(wire, way, n)) != WORLD_NONE; n++) {
        struct world_plane *plane = &world->planes[at];
        if (world->switches[at].away_until_ns > world->now_ns) {
            plane->held_ns = plane->held_ns > world->now_ns ? plane->held_ns : world->switches[at].away_until_ns;
            return plane->held_ns;
        }
    }
    if (way == CONTROL_UP) {
        return wire->late_ns;
    }
    return wire->is_of_rank ? below_stopped_ns(wire) : 0;
}

void control_arrive(struct world *world, const struct world_event *event)
{
    struct world_wire *wire = world->wires[event->a];
    uint64_t stopped_ns = held_ns(wire, event->b);

    wire->events++; /* it is held until the end of this event */
    if (event->kind == WORLD_CONNECT) {
        connect_wire(wire);
    } else if (stopped_ns > world->now_ns && !wire->stream[event->b].is_deaf) { /* nobody reads it before */
        wire_schedule(wire, WORLD_MESSAGE, event->b, stopped_ns);
    } else if (event->b == CONTROL_UP && trunk_waits(wire)) {
        wire->waiting++;
    } else {
        deliver(wire, event->b);
    }
    wire->events -= 2;
    wire_free_if_over(wire);
}

/* ---- switches that die ---- */

/* This switch has died: its own end of a connection, or the way of that. */
static void cut_at(struct world_wire *wire, uint32_t at)
{
    struct world *world = wire->world;
    bool is_trunk = wire_is_trunk(wire);

    if (!wire->is_of_rank && wire->below == at) {
        wire->late_ns = is_trunk ? 0 : world->now_ns + world_below(world, NOTICE_NS);
        if (is_trunk) {
            trunk_cut(wire);
        }
        wire_close(wire, CONTROL_UP, world_below(world, NOTICE_NS));
    } else if (!wire->is_connected) {
        return; /* it finds nobody, or who comes back */
    } else if (wire->at == at && wire->above == at) {
        if (is_trunk) {
            trunk_cut(wire);
        }
        wire_close(wire, CONTROL_DOWN, world_below(world, NOTICE_NS));
    } else if (wire->at == at) {
        wire_end_down(wire, NULL, world_below(world, NOTICE_NS));
    } else if (wire->above == at && wire->is_begun) {
        wire->stream[CONTROL_UP].is_deaf = true;
        wire_free_if_over(wire);
    }
}

/* As kill -9 does: its connections end, and nothing was said. */
static void cut_wires(struct world *world, uint32_t at)
{
    for (uint32_t i = 0; i < world->wire_count; i++) {
        if (world->wires[i] != NULL) {
            cut_at(world->wires[i], at);
        }
    }
}

/* Of one connection between switches both ends hear the end, at times of their own. */
uint32_t control_cut(struct world *world)
{
    struct world_wire *chosen = NULL;
    uint64_t count = 0;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        bool stands = wire != NULL && !wire->is_of_rank && wire->is_connected && !wire->is_cut &&
                      !wire->stream[CONTROL_UP].has_ended && !wire->stream[CONTROL_DOWN].has_ended;
        if (stands && world_below(world, ++count) == 0) {
            chosen = wire;
        }
    }
    if (chosen == NULL) {
        return WORLD_NONE;
    }
    wire_post(chosen, CONTROL_UP, NULL, world_below(world, NOTICE_NS));
    wire_post(chosen, CONTROL_DOWN, NULL, world_below(world, NOTICE_NS));
    if (wire_is_trunk(chosen)) {
        trunk_cut(chosen);
    }
    return chosen->below;
}

/* A rank at the root, whose job runs, and no rank of which has closed. */
static bool may_reset(const struct world_wire *wire)
{
    const struct trib_job *job = wire != NULL && wire->is_of_rank ? wire->session.job : NULL;
    bool may = job != NULL && wire->above == 0 && wire->at == 0 && wire->session.leaf == NULL && job->key != 0 &&
               job->settings.ranks > 1 && job->state == TRIB_JOB_RUNNING && job->dispute.deadline_ns == 0 &&
               comm_has_promise(wire->comm) && !wire->stream[CONTROL_UP].has_ended &&
               !wire->stream[CONTROL_DOWN].has_ended;
    for (uint32_t i = 0; may && i < job->settings.ranks; i++) {
        const struct comm_rank *r = &wire->comm->ranks[i];
        may = !r->is_closing && r->state == RANK_RUNNING && job->ranks[i].session != NULL && !job->ranks[i].is_closing;
    }
    return may;
}

bool control_reset(struct world *world)
{
    struct world_wire *chosen = NULL;
    uint64_t count = 0;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        if (may_reset(world->wires[i]) && world_below(world, ++count) == 0) {
            chosen = world->wires[i];
        }
    }
    if (chosen != NULL) {
        struct world_plane *plane = &world->planes[0];
        plane->served = chosen->comm;
        plane->drawing = NULL;
        end_above(chosen);
        control_settle(plane);
    }
    return chosen != NULL;
}

static void forget(struct world_plane *plane)
{
    struct trib_job *next;

    agents_forget(plane);
    trunk_forget(plane);
    for (struct trib_job *job = plane->jobs.first; job != NULL; job = next) {
        next = job->next;
        trib_loads_leave(&plane->jobs, job);
        trib_job_ungroup(job);
        free(job);
    }
    for (struct trib_owner *owner = plane->jobs.owners, *after; owner != NULL; owner = after) {
        after = owner->next;
        free(owner);
    }
    plane->jobs.first = NULL;
    plane->jobs.owners = NULL;
    trib_loads_deinit(&plane->jobs);
    trib_processes_deinit(&plane->jobs);
}

void control_restart(struct world *world, uint32_t at)
{
    struct world_plane *plane = &world->planes[at];

    forget(plane);
    cut_wires(world, at);
    plane_start(plane);
    for (uint32_t i = 0; i < world->comm_count; i++) {
        struct world_comm *comm = world->comms[i];
        if (comm->tree[0]->shapes[at].rank_count == 0) {
            continue;
        }
        plane_close(comm, at);
        if (comm->is_started && at == 0) {
            comm->has_ended = comm->control == CONTROL_ENDED;
            look(comm, NULL);
        }
        comm_disturbed(comm, world->now_ns);
    }
    combining_end(world, at);
    set_timer(plane);
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
    if (world->is_moved) {
        world->planes[0].config.lenders.count = 0;
        world->planes[0].config.trees = 0;
    }
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
        if (at == 0) {
            trunk_shut(world);
        }
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
            world->wires[i]->over = NULL;
            wire_free(world->wires[i]);
        }
    }
    free(world->wires);
    free(world->planes);
    free(world->plan);
}
