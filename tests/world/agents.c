/* SPDX-License-Identifier: Apache-2.0 */
/* agents.c: several switches at once: the controller of the root has agents elsewhere (src/control/roots/switches.c),
 * which are switches of their own and serve no ranks' sessions. An agent has the children of the root, and the roots
 * that the real controller asks for on the real session between them. Here is that session's lower end. Here is as well
 * what must be true between the controller and each switch that has roots for it: an agent, or a switch below
 * (trunk.c). Read next: control.c (the connection), plane.c (the roots). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define SILENT_NS (WORLD_S / 2) /* the questions that a controller lets its agent go without an answer */

static uint32_t switch_of(const struct world *world, const struct trib_remote *remote)
{
    if (remote->is_below) {
        return ((const struct world_wire *)remote->line)->below;
    }
    return world->tree_count + (uint32_t)(remote - world->planes[0].jobs.remote);
}

static struct world_wire *wire_of(const struct trib_remote *remote)
{
    return remote->line;
}

/* ---- what the controller asks of its driver ---- */

static bool dial(void *owner, struct trib_remote *remote)
{
    const struct world_plane *plane = owner;
    uint16_t at = (uint16_t)switch_of(plane->world, remote);
    struct world_wire *wire = wire_create(plane->world, 0, at, at);

    wire->remote = remote;
    remote->line = wire;
    wire_dial(wire);
    return true;
}

static void tell(void *owner, struct trib_remote *remote, const struct trib_message *message)
{
    (void)owner;
    wire_post(wire_of(remote), CONTROL_UP, message, 0);
}

static void hang_up(void *owner, struct trib_remote *remote)
{
    (void)owner;
    wire_close(wire_of(remote), CONTROL_UP, 0);
}

/* Questions are answered by whoever reads; so only an agent that stands still for all of them is asked. */
static void ping(void *owner, struct trib_remote *remote)
{
    const struct world_plane *plane = owner;
    struct world *world = plane->world;
    struct world_wire *wire = wire_of(remote);
    uint64_t end_ns = world->now_ns + SILENT_NS;

    if (!wire->is_pinged && world->switches[wire->above].away_until_ns > end_ns) {
        wire->is_pinged = true;
        wire_schedule(wire, WORLD_SILENT, CONTROL_UP, end_ns);
    }
}

void agents_silent(struct world *world, const struct world_event *event)
{
    struct world_wire *wire = world->wires[event->a];
    struct world_plane *plane = &world->planes[wire->below];
    uint64_t away_ns = world->switches[wire->below].away_until_ns;

    if (away_ns > world->now_ns && !wire->stream[CONTROL_DOWN].is_deaf) { /* who asks stands still as well */
        wire->events--;
        wire_schedule(wire, WORLD_SILENT, CONTROL_UP, away_ns);
        return;
    }
    wire->is_pinged = false;
    if (!wire->stream[CONTROL_DOWN].is_deaf && world->switches[wire->above].away_until_ns > world->now_ns) {
        world->report->agent_silences++;
        trib_switches_lost(&plane->jobs, wire->remote, TRIB_PING_SILENT, false, CONTROL_TIME + world->now_ns);
        control_settle(plane);
    }
    wire->events--;
    wire_free_if_over(wire);
}

void agents_begin(struct world_plane *plane)
{
    plane->jobs.remotes = (struct trib_remote_output){plane, dial, tell, hang_up, ping};
}

/* As the process dies: nothing is closed, and nobody told. */
void agents_forget(struct world_plane *plane)
{
    struct trib_masters *masters = &plane->jobs.masters;

    while (masters->lendings != NULL) {
        struct trib_lending *lending = masters->lendings;
        masters->lendings = lending->next;
        free(lending->root.plan);
        free(lending);
    }
    memset(masters->by_communicator, 0, sizeof masters->by_communicator);
    while (masters->first != NULL) {
        struct trib_master *master = masters->first;
        masters->first = master->next;
        free(master);
    }
}

/* ---- whose it is ---- */

/* Of one id, the next generation comes when nobody has the one before any more. */
struct world_comm *agents_comm(const struct world *world, const struct trib_opening *opening)
{
    const struct trib_session_config *s = &opening->session;

    for (uint32_t i = world->comm_count; i-- > 0;) {
        struct world_comm *comm = world->comms[i];
        if (comm->is_started && comm->set.session.communicator == s->communicator &&
            comm->set.session.generation == s->generation) {
            return comm;
        }
    }
    return NULL;
}

/* Some agent has not heard all that its controller has said: of the end of a communicator, perhaps. */
bool agents_wait(const struct world *world)
{
    bool waits = false;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        const struct world_wire *wire = world->wires[i];
        uint32_t way = wire != NULL && wire->remote != NULL ? CONTROL_UP : CONTROL_DOWN;
        waits = waits || (wire != NULL && !wire->is_of_rank && wire->stream[way].first != NULL);
    }
    return waits;
}

static const struct world_comm *first_of(const struct world_comm *comm)
{
    while (comm->before != NULL) {
        comm = comm->before;
    }
    return comm;
}

/* The job of a communicator in the same processes, started in place of the same others, that is bound to switches. */
static const struct trib_job *find_bound(const struct world_comm *comm)
{
    const struct world *world = comm->world;

    for (uint32_t i = world->comm_count; i-- > 0;) {
        const struct world_comm *other = world->comms[i];
        bool is_beside = other != comm && other->is_started && first_of(other) == first_of(comm);
        const struct trib_job *job = is_beside ? control_job(other, 0) : NULL;
        if (job != NULL && job->grant.switches[0] != 0) {
            return job;
        }
    }
    return NULL;
}

/* Who takes the place of others has the switches that their processes send to. */
void agents_inherit(struct world_comm *comm)
{
    const struct trib_job *job = find_bound(comm);

    if (!comm->world->is_moved) {
        memcpy(comm->switches,
               job != NULL            ? job->grant.switches
               : comm->before != NULL ? comm->before->switches
                                      : comm->world->returning,
               sizeof comm->switches);
    }
}

/* Jobs start when the last agent is there as well, which no message of theirs says: the one whose grant is drawn has its
 * roots dealt, and they are not open. */
const struct world_comm *agents_starting(const struct world_plane *plane)
{
    const struct trib_job *job = plane->jobs.first;

    while (job != NULL && (job->is_open || job->is_return || job->placements == 0)) {
        job = job->next;
    }
    return job == NULL ? NULL : plane->world->comms[strtoul(job->name + sizeof CONTROL_JOB - 1, NULL, 10)];
}

/* Does WELCOME name this switch for that root? One that has no addresses of its own is where the session is. */
static bool names(const struct world *world, const struct trib_message *welcome, uint32_t root, uint32_t at,
                  uint32_t shard)
{
    const struct trib_address *listen = &world->planes[at].config.listen;
    const struct trib_address *named = &welcome->welcome.root[root];

    if (welcome->welcome.root_count == 0) {
        return welcome->welcome.grant.data_port == trib_address_port(listen);
    }
    return trib_address_same_host(named, listen) && trib_address_port(named) == trib_address_port(listen) + shard;
}

/* Where each root is summed, and whether WELCOME sends the rank there, or to the switch below that it has come to. */
void agents_welcome(const struct world_wire *wire, const struct trib_message *message)
{
    struct world *world = wire->world;
    struct world_comm *comm = wire->comm;
    const struct trib_job *job = wire->session.job;
    uint32_t home = comm->ranks[wire->rank].home;

    memset(comm->top, 0, sizeof comm->top);
    memcpy(comm->switches, message->welcome.grant.switches, sizeof comm->switches);
    world->report->chosen += comm->switches[0] != 0;
    for (uint32_t root = 0; root < job->grant.roots && job->placements > 0 && !world->is_moved; root++) {
        const struct trib_remote *remote = job->placement[job->root[root].placement].remote;
        comm->top[root] = (uint16_t)(remote == NULL ? 0 : switch_of(world, remote));
        comm->shard[root] = job->root[root].shard;
        if (!names(world, message, root, home != 0 ? home : comm->top[root], home != 0 ? root : comm->shard[root])) {
            world_fail(world, WORLD_CHECK_CONTROL, "WELCOME of communicator %u has root %u where no switch is",
                       comm->index, root);
        }
    }
}

/* ---- checks ---- */

/* What an agent, or a switch below, has open is what it has been asked for. */
void check_lent(const struct world_plane *plane)
{
    struct world *world = plane->world;
    uint64_t bytes = 0;
    bool has_promise = true;

    for (uint32_t i = 0; i < world->comm_count; i++) {
        const struct world_comm *comm = world->comms[i];
        const struct comm_member *member = &comm->members[plane->at];
        const struct trib_lending *lending = trib_masters_find(&plane->jobs.masters, comm->set.session.communicator);
        bool is_its = lending != NULL && member->is_open && member->boot == lending->root.of.boot;
        uint32_t open = 0;
        for (uint32_t root = 0; root < comm->set.session.roots && member->units != NULL; root++) {
            const struct world_unit *unit = unit_of_switch(comm, plane->at, root);
            open |= unit->is_open ? 1U << root : 0;
            for (uint32_t node = 0; node < unit->node_count && unit->is_open; node++) {
                bytes += unit->nodes[node].size;
            }
        }
        has_promise = has_promise && (comm_has_promise(comm) || lending == NULL);
        if (comm_has_promise(comm) && (is_its ? lending->root.open : 0) != open) {
            world_fail(world, WORLD_CHECK_CONTROL, "C-2: communicator %u has roots %x open at switch %u, asked for: %x",
                       comm->index, open, plane->at, is_its ? lending->root.open : 0);
        }
    }
    if (has_promise && bytes != plane->jobs.agent.memory_used) {
        world_fail(world, WORLD_CHECK_CONTROL, "C-14: switch %u has %" PRIu64 " bytes reserved, and %" PRIu64 " open",
                   plane->at, plane->jobs.agent.memory_used, bytes);
    }
}

/* Each root there is open, or its controller will hear that the switch is lost. */
static void check_lent_open(const struct world_comm *comm, const struct trib_remote *remote, uint32_t root,
                            uint32_t boot)
{
    uint32_t at = remote == NULL ? 0 : switch_of(comm->world, remote);
    bool is_open = unit_of_switch(comm, at, root)->is_open && comm->members[at].boot == boot;
    uint32_t way = remote != NULL && remote->is_below ? CONTROL_UP : CONTROL_DOWN;

    if (!is_open && (at == 0 || (!wire_of(remote)->stream[way].has_ended && !wire_of(remote)->is_cut))) {
        world_fail(comm->world, WORLD_CHECK_CONTROL,
                   "C-2: READY of communicator %u, and root %u is not open at switch %u", comm->index, root, at);
    }
}

/* And at a switch below all ranks behind it have joined, and its sums go to its parent: to the place of that root, or to
 * the same shard of another switch below. */
static void check_below_ready(const struct world_comm *comm, const struct trib_remote *remote, uint32_t root)
{
    uint32_t at = switch_of(comm->world, remote);
    const struct comm_member *member = &comm->members[at];
    uint32_t parent = comm->tree[root]->parents[at];
    uint32_t shard = parent != 0 ? root : comm->shard[root];

    if (!unit_of_switch(comm, at, root)->is_open) {
        return; /* it is lost, and its controller will hear that */
    }
    if (member->parents[root] != comm_top(comm, parent, root) || member->shards[root] != shard) {
        world_fail(comm->world, WORLD_CHECK_CONTROL,
                   "C-5: root %u of communicator %u at switch %u is a child of shard %u of switch %u", root,
                   comm->index, at, member->shards[root], member->parents[root]);
    }
    for (uint32_t rank = rank_set_next(&comm->tree[root]->shapes[at].ranks, 0); rank != WORLD_NONE;
         rank = rank_set_next(&comm->tree[root]->shapes[at].ranks, rank + 1)) {
        if (!rank_set_has(&member->registered[root], rank)) {
            world_fail(comm->world, WORLD_CHECK_CONTROL,
                       "C-3: READY of communicator %u, and rank %u has not joined at switch %u", comm->index, rank, at);
        }
    }
}

void check_lent_ready(const struct world_comm *comm, uint32_t boot)
{
    const struct world *world = comm->world;
    const struct trib_job *job = control_job(comm, 0);

    for (uint32_t root = 0; root < comm->set.session.roots && job != NULL && !world->is_moved; root++) {
        const struct trib_remote *remote = job->placement[job->root[root].placement].remote;
        check_lent_open(comm, remote, root, boot);
        if (comm->top[root] != (remote == NULL ? 0 : switch_of(world, remote))) {
            world_fail(comm->world, WORLD_CHECK_CONTROL,
                       "READY of communicator %u, and root %u is not where WELCOME was", comm->index, root);
        }
        for (uint32_t b = 0; b < job->belows; b++) {
            if (job->below[b].placement.remote != NULL) { /* else it is lost, and its ranks need nothing any more */
                check_lent_open(comm, job->below[b].placement.remote, root, boot);
                check_below_ready(comm, job->below[b].placement.remote, root);
            }
        }
    }
}

/* The roots that the controller knows at each switch. */
static void count_lent(const struct world *world, const struct trib_job *job, uint32_t *wanted)
{
    for (uint32_t root = 0; root < job->grant.roots && job->placements > 0; root++) {
        const struct trib_remote *remote = job->placement[job->root[root].placement].remote;
        if (remote != NULL) {
            wanted[switch_of(world, remote)] |= 1U << root;
        }
    }
    for (uint32_t b = 0; b < job->belows; b++) {
        if (job->below[b].placement.remote != NULL) {
            wanted[switch_of(world, job->below[b].placement.remote)] = (1U << job->grant.roots) - 1;
        }
    }
}

/* All sessions have drained: each switch has the roots that the controller knows there, and no others. */
void check_lent_end(const struct world_comm *comm)
{
    struct world *world = comm->world;
    const struct trib_job *job = control_job(comm, 0);
    uint32_t wanted[WORLD_SWITCHES_MAX] = {0};

    if (job != NULL && job->is_open) {
        count_lent(world, job, wanted);
    }
    for (uint32_t at = 1; at < world->switch_count; at++) {
        uint32_t open = 0;
        for (uint32_t root = 0; root < comm->set.session.roots && comm->members[at].units != NULL; root++) {
            open |= unit_of_switch(comm, at, root)->is_open ? 1U << root : 0;
        }
        if (open != wanted[at] || (open != 0 && comm->members[at].boot != job->grant.boot)) {
            world_fail(world, WORLD_CHECK_CONTROL,
                       "C-2: at the end switch %u has roots %x of communicator %u, and its controller %x", at, open,
                       comm->index, wanted[at]);
        }
    }
}
