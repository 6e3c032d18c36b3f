/* SPDX-License-Identifier: Apache-2.0 */
/* fault.c: what happens to machines and processes: a switch dies and comes back empty, perhaps with another
 * communicator in its memory, or never, and the ranks go on without any; a combiner loses its rows alone; a rank dies, and its job is started again at
 * the same addresses; either stands still for seconds (SIGSTOP); a control plane is away while its data plane goes on.
 * Read next: session.c, control.c. */
#include "core/lane.h"
#include "world.h"

enum world_fault {
    FAULT_RESTART,
    FAULT_CRASH,
    FAULT_STOP_RANK,
    FAULT_STOP_SWITCH,
    FAULT_AWAY,
    FAULT_CUT,
    FAULT_RESET,
    FAULT_POOL
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define DOWN_NS (300 * WORLD_MS)
#define LONG_DOWN_NS (1200 * WORLD_MS) /* longer than ranks linger */
#define STOP_NS (5 * WORLD_S)
#define AWAY_NS (2 * WORLD_S)
#define RETURN_NS WORLD_S /* until ranks are back after a restart, roughly */
#define CLOSE_NS (2 * WORLD_MS)
#define STARTED_AGAIN_NS (300 * WORLD_MS)

static void schedule(struct world *world, enum world_fault fault, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        world_schedule(world, world_below(world, world->set.heal_ns),
                       (struct world_event){.kind = WORLD_FAULT, .b = fault});
    }
}

void fault_schedule(struct world *world)
{
    const struct world_settings *set = &world->set;

    schedule(world, FAULT_RESTART, set->restarts);
    schedule(world, FAULT_CRASH, set->crashes);
    schedule(world, FAULT_STOP_RANK, set->stops);
    schedule(world, FAULT_STOP_SWITCH, set->stops / 2);
    schedule(world, FAULT_AWAY, set->aways);
    schedule(world, FAULT_CUT, set->cuts);
    schedule(world, FAULT_RESET, set->resets);
    schedule(world, FAULT_POOL, set->pools);
}

static uint32_t any_switch(struct world *world)
{
    bool is_agent = world_has_agents(world) && world_below(world, 2) == 0;

    return is_agent ? world->tree_count + (uint32_t)world_below(world, world->switch_count - world->tree_count)
                    : (uint32_t)world_below(world, world->switch_count);
}

/* Somebody who runs; NULL: nobody does. */
static struct world_comm *any_comm(struct world *world)
{
    struct world_comm *comm = world->comms[world_below(world, world->comm_count)];

    return comm->is_started && comm->control != CONTROL_ENDED && comm_has_promise(comm) ? comm : NULL;
}

static void mark_failing(struct world *world, uint32_t at, uint64_t until_ns)
{
    for (uint32_t i = 0; i < world->comm_count; i++) {
        struct world_comm *comm = world->comms[i];
        if (comm->tree[0]->shapes[at].rank_count != 0) {
            comm->machine_ns = until_ns > comm->machine_ns ? until_ns : comm->machine_ns;
        }
    }
}

/* ---- switches ---- */

static void add_intruder(struct world *world)
{
    struct comm_settings set;

    if (world->set.intruders == 0 || world->comm_count == WORLD_COMMS_MAX) {
        return;
    }
    world->set.intruders--;
    world->report->intruders++;
    comm_draw(world, 0, &set);
    set.start_ns = world->now_ns;
    (void)comm_create(world, &set, NULL);
}

static void restart(struct world *world, uint32_t at)
{
    struct world_switch *s = &world->switches[at];

    if (at == 0 && world->is_moved) {
        return; /* there is none: a rank's process that ends is that rank's death */
    }
    world->report->restarts += at == 0;
    world->report->inner_restarts += at != 0 && at < world->tree_count;
    world->report->agent_restarts += at >= world->tree_count;
    s->life++;
    s->boot = (uint32_t)trib_prng_next(&world->prng);
    s->away_until_ns = 0;
    s->down_until_ns = world->now_ns + world_below(world, world_below(world, 4) == 0 ? LONG_DOWN_NS : DOWN_NS);
    mark_failing(world, at, s->down_until_ns + RETURN_NS);
    for (uint32_t i = 1; i < world->unit_count; i++) {
        struct world_unit *unit = &world->units[i];
        if (!unit->is_worker && unit->at == at) {
            unit->paused_ns = 0;
        }
    }
    /* One in eight never comes back: not drawn, so that all other worlds stay what they were. */
    bool is_for_good = at == 0 && !world_has_peers(world) && trib_mix64(world->seed ^ world->now_ns) % 8 == 0;
    if (is_for_good) {
        control_move(world);
    }
    control_restart(world, at);
    add_intruder(world);
}

static void stop_switch(struct world *world, uint32_t at)
{
    uint64_t until = world->now_ns + world_below(world, STOP_NS);

    if (world->now_ns < world->switches[at].down_until_ns) {
        return;
    }
    world->report->switch_stops++;
    world->switches[at].away_until_ns = until;
    mark_failing(world, at, until + RETURN_NS);
    for (uint32_t i = 0; i < world->comm_count; i++) {
        if (world->comms[i]->tree[0]->shapes[at].rank_count != 0) {
            comm_disturbed(world->comms[i], until);
        }
    }
    for (uint32_t i = 1; i < world->unit_count; i++) {
        struct world_unit *unit = &world->units[i];
        if (!unit->is_worker && unit->at == at) {
            unit_pause(world, i, until);
        }
    }
}

static void go_away(struct world *world, uint32_t at)
{
    uint64_t until = world->now_ns + world_below(world, AWAY_NS);

    if (until > world->switches[at].away_until_ns) {
        world->report->aways++;
        world->switches[at].away_until_ns = until;
        mark_failing(world, at, until + RETURN_NS);
    }
}

/* A connection between two switches ends, and both live. That of a rank to its switch is the rank's life, unless the
 * job has a key (control_reset). */
static void cut(struct world *world)
{
    uint32_t at = control_cut(world);

    if (at != WORLD_NONE) {
        world->report->cuts++;
        mark_failing(world, at, world->now_ns + RETURN_NS);
    }
}

/* ---- ranks ---- */

/* Another one has its id by now, or waits for it. */
static bool has_heir(const struct world *world, const struct world_comm *before)
{
    for (uint32_t i = before->index + 1; i < world->comm_count; i++) {
        if (world->comms[i]->set.session.communicator == before->set.session.communicator) {
            return true;
        }
    }
    return false;
}

/* The ports of its ranks are taken by the job that was started in its place. */
static bool has_successor(const struct world *world, const struct world_comm *before)
{
    for (uint32_t i = before->index + 1; i < world->comm_count; i++) {
        if (world->comms[i]->before == before) {
            return true;
        }
    }
    return false;
}

/* The same job again, on the same machines with the same ports: under another id, or as the next generation. */
static void start_again(struct world *world, struct world_comm *before)
{
    struct comm_settings set;
    const struct trib_session_config *old = &before->set.session;

    if (world->comm_count == WORLD_COMMS_MAX || world_below(world, 4) == 0 || has_successor(world, before)) {
        return;
    }
    comm_draw(world, old->ranks, &set);
    set.budget /= 2;
    if (world_below(world, 2) == 0 && !has_heir(world, before) && set.skew != WORLD_SKEW_JOIN) {
        set.session.communicator = old->communicator;
        set.session.generation = (uint16_t)(old->generation == UINT16_MAX ? 1 : old->generation + 1);
        set.is_return = true; /* no control plane draws it */
        world->report->wrapped += old->generation == UINT16_MAX;
    }
    set.start_ns = world->now_ns + world_below(world, STARTED_AGAIN_NS);
    world->report->successors++;
    (void)comm_create(world, &set, before);
}

static void crash(struct world *world)
{
    struct world_comm *comm = any_comm(world);

    if (comm == NULL) {
        return;
    }
    uint32_t rank = (uint32_t)world_below(world, comm->set.session.ranks);
    struct comm_rank *r = &comm->ranks[rank];
    if (worker_node(comm, rank) == NULL || r->is_closing) {
        return;
    }
    world->report->crashes++;
    if (comm->crash_ns == 0) {
        comm->crash_ns = world->now_ns;
        world_schedule(world, world->now_ns + WORLD_GONE_NS,
                       (struct world_event){.kind = WORLD_GONE, .a = comm->index});
    }
    session_crash(comm, rank);
    comm_disturbed(comm, world->now_ns);
    start_again(world, comm);
}

static void stop(struct world_comm *comm, uint32_t rank)
{
    struct world *world = comm->world;
    uint64_t until = world->now_ns + world_below(world, STOP_NS);

    if (worker_node(comm, rank) == NULL) {
        return;
    }
    world->report->stops++;
    unit_pause(world, comm->ranks[rank].unit, until);
    for (uint32_t root = 0; root < comm->set.session.roots; root++) {
        if (comm->members[0].owners[root] == rank + 1) {
            unit_pause(world, comm->members[0].units[root], until);
        }
    }
    comm_disturbed(comm, until);
    comm->machine_ns = until + RETURN_NS > comm->machine_ns ? until + RETURN_NS : comm->machine_ns;
}

static void stop_rank(struct world *world)
{
    struct world_comm *comm = any_comm(world);

    if (comm != NULL) {
        stop(comm, (uint32_t)world_below(world, comm->set.session.ranks));
    }
}

/* ---- the worst moment ---- */

/* A rank says goodbye while others may still need what it keeps, and the switch dies. */
void fault_at_close(struct world *world)
{
    if (world->set.farewell) {
        world->set.farewell = false;
        world->is_farewell = true;
        world_schedule(world, world->now_ns + world_below(world, CLOSE_NS),
                       (struct world_event){.kind = WORLD_FAULT, .b = FAULT_RESTART});
    }
}

/* Those who lack something are back, and stand still while those who have it leave. */
void fault_at_return(struct world_comm *comm, uint32_t rank)
{
    if (comm->world->is_farewell && comm->incarnation > 1 && comm->ranks[rank].done < comm_ops(comm, rank) &&
        comm_has_promise(comm)) {
        stop(comm, rank);
    }
}

/* While roots are opened, and the ranks are about to hear of them: the agent, or the switch below, dies, or its
 * controller, its session is cut, it stands still, or a rank dies; or two of these. */
void fault_at_opening(struct world *world, uint32_t at)
{
    static const enum world_fault faults[] = {FAULT_RESTART, FAULT_RESTART, FAULT_STOP_SWITCH, FAULT_AWAY,
                                              FAULT_CUT,     FAULT_CRASH,   FAULT_STOP_RANK};
    uint64_t soon_ns = 8 * (world->set.delay_ns + WORLD_MS);

    for (uint32_t both = 0; both < 2 && world->set.ambushes != 0 && !world->is_healed; both++) {
        enum world_fault fault = faults[world_below(world, COUNT(faults))];
        bool is_switch = fault == FAULT_RESTART || fault == FAULT_STOP_SWITCH || fault == FAULT_AWAY;
        uint32_t where = !is_switch ? 0 : 1 + (world_below(world, 3) == 0 ? 0 : at);
        world->set.ambushes--;
        world->report->ambushes++;
        world_schedule(world, world->now_ns + world_below(world, soon_ns),
                       (struct world_event){.kind = WORLD_FAULT, .a = where, .b = fault});
    }
}

/* The switch that it names, by 1 + its number, or any. */
static uint32_t at_of(struct world *world, const struct world_event *event)
{
    return event->a != 0 ? event->a - 1 : any_switch(world);
}

void fault_happen(struct world *world, const struct world_event *event)
{
    switch ((enum world_fault)event->b) {
    case FAULT_RESTART:
        restart(world, at_of(world, event));
        return;
    case FAULT_CRASH:
        crash(world);
        return;
    case FAULT_STOP_RANK:
        stop_rank(world);
        return;
    case FAULT_STOP_SWITCH:
        stop_switch(world, at_of(world, event));
        return;
    case FAULT_AWAY:
        go_away(world, at_of(world, event));
        return;
    case FAULT_RESET:
        world->report->resets += control_reset(world);
        break;
    case FAULT_CUT:
        cut(world);
        return;
    case FAULT_POOL:
        combining_renew(world, 1 + (uint32_t)world_below(world, world->tree_count - 1U));
        return;
    }
}
