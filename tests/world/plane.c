/* SPDX-License-Identifier: Apache-2.0 */
/* plane.c: a switch's data plane as its control plane sees it (struct trib_data_plane): the nodes of communicators on
 * the shards of the switch, opened, fed with marks and closed as switchd does. Read next: check_control.c. */
#include <string.h>

#include "world.h"

/* What is open there under this id. NULL: nothing. */
static struct world_comm *find_comm(const struct world_plane *plane, uint32_t communicator)
{
    for (uint32_t i = 0; i < plane->world->comm_count; i++) {
        struct world_comm *comm = plane->world->comms[i];
        if (comm->members[plane->at].is_open && comm->set.session.communicator == communicator) {
            return comm;
        }
    }
    return NULL;
}

/* ---- opening and closing ---- */

/* Whose it is: that of the message at hand, or, where agents and switches below are told, the one that has this id
 * now. */
static struct world_comm *opened(const struct world_plane *plane, const struct trib_opening *opening)
{
    return plane->at != 0 || world_has_agents(plane->world) ? agents_comm(plane->world, opening) : plane->served;
}

static size_t slot_bytes(void *owner, const struct trib_opening *opening)
{
    const struct world_plane *plane = owner;
    size_t bytes = 0;

    const struct world_comm *comm = opened(plane, opening);
    for (uint32_t node = 0; node < comm->tree[opening->root]->shapes[plane->at].node_count; node++) {
        const struct trib_switch_config config = unit_switch_config(comm, plane->at, opening->root, node);
        bytes += world_switch_verbs(comm->world, plane->at)->size(&config);
    }
    return bytes;
}

void plane_forget_marks(struct world_comm *comm, uint32_t at, uint32_t root)
{
    uint32_t ranks = comm->set.session.ranks;
    struct comm_member *member = &comm->members[at];

    memset(&member->registered[root], 0, sizeof member->registered[root]);
    memset(member->marks + root * ranks, 0, ranks * sizeof *member->marks);
}

/* The switch that has this address, with a port of its shards; WORLD_NONE: there is none. */
static uint32_t switch_at(const struct world *world, const struct trib_address *address)
{
    for (uint32_t at = 0; at < world->switch_count; at++) {
        const struct trib_address *listen = &world->planes[at].config.listen;
        uint32_t shard = (uint32_t)trib_address_port(address) - trib_address_port(listen);
        if (trib_address_same_host(address, listen) && shard < WORLD_ROOTS_MAX) {
            return at;
        }
    }
    return WORLD_NONE;
}

/* Where its sums go, as the control plane has it. */
static void note_parent(const struct world_plane *plane, struct comm_member *member, const struct trib_opening *opening)
{
    const struct trib_address *parent = opening->parent;

    member->parents[opening->root] = (uint16_t)switch_at(plane->world, parent);
    member->shards[opening->root] =
        (uint8_t)(trib_address_port(parent) - trib_address_port(&plane->config.listen)); /* all have one port */
}

static enum trib_status open_units(void *owner, const struct trib_opening *opening)
{
    const struct world_plane *plane = owner;
    struct world_comm *comm = opened(plane, opening);
    struct comm_member *member = &comm->members[plane->at];

    check_opening(comm, plane->at, opening);
    if (comm->world->failed != WORLD_CHECK_NONE) {
        return TRIB_ERR_MEMORY;
    }
    if (opening->parent != NULL) {
        note_parent(plane, member, opening);
    }
    member->boot = opening->boot;
    member->answer_ns = 0;
    member->priority = opening->priority;
    member->pieces = opening->pieces;
    if (plane->at != 0) {
        comm->world->report->lent_roots += plane->at >= comm->world->tree_count;
        fault_at_opening(comm->world, plane->at);
    }
    plane_forget_marks(comm, plane->at, opening->root);
    unit_open_switch(comm, plane->at, opening->root);
    auth_open(comm, plane->at, opening);
    member->is_open = true;
    return TRIB_OK;
}

void plane_close(struct world_comm *comm, uint32_t at)
{
    for (uint32_t root = 0; root < comm->set.session.roots && comm->members[at].is_open; root++) {
        unit_close(comm->world, unit_of_switch(comm, at, root));
    }
    comm->members[at].is_open = false;
    memset(comm->members[at].owners, 0, sizeof comm->members[at].owners);
}

static void close_units(void *owner, uint32_t communicator)
{
    const struct world_plane *plane = owner;
    struct world_comm *comm = find_comm(plane, communicator);

    if (comm != NULL) { /* one without a promise may have been ended */
        plane_close(comm, plane->at);
    }
}

/* ---- marks ---- */

static void wake(struct world_comm *comm, uint32_t at, uint32_t root)
{
    unit_wake(comm->world, unit_number(comm->world, unit_of_switch(comm, at, root)), comm->world->now_ns);
}

/* M of the top node is that of the inner ones. */
static void share_mark(struct world_comm *comm, uint32_t at, uint32_t root)
{
    const struct trib_switch_verbs *verbs = world_switch_verbs(comm->world, at);
    const struct world_unit *unit = unit_of_switch(comm, at, root);
    uint64_t mark = verbs->node.communicator_mark(unit->nodes[0].memory);

    for (uint32_t i = 1; i < unit->node_count; i++) {
        if (verbs->node.communicator_mark(unit->nodes[i].memory) < mark) {
            verbs->learn_mark(unit->nodes[i].memory, mark);
            wake(comm, at, root);
        }
    }
}

/* A child joins with the lowest mark of its ranks, when all of them have registered. */
static void join_child(struct world_comm *comm, uint32_t at, uint32_t root, uint32_t node, uint32_t number)
{
    const struct comm_member *member = &comm->members[at];
    const uint64_t *marks = member->marks + root * comm->set.session.ranks;
    const struct shape_child *child = &comm->tree[root]->shapes[at].nodes[node].children[number];
    uint64_t lowest = UINT64_MAX;

    for (uint32_t rank = rank_set_next(&child->ranks, 0); rank != WORLD_NONE;
         rank = rank_set_next(&child->ranks, rank + 1)) {
        if (!rank_set_has(&member->registered[root], rank)) {
            return;
        }
        lowest = marks[rank] < lowest ? marks[rank] : lowest;
    }
    world_switch_verbs(comm->world, at)->join(unit_of_switch(comm, at, root)->nodes[node].memory, number, lowest);
    wake(comm, at, root);
}

void plane_join(struct world_comm *comm, uint32_t at, uint32_t root, uint32_t rank, uint64_t mark)
{
    struct comm_member *member = &comm->members[at];
    const struct shape_node *nodes = comm->tree[root]->shapes[at].nodes;
    struct shape_place place = shape_place_at(comm, rank, at, root);
    uint64_t *marks = member->marks + root * comm->set.session.ranks;

    rank_set_add(&member->registered[root], rank);
    marks[rank] = mark > marks[rank] ? mark : marks[rank];
    for (uint32_t node = place.node; node != WORLD_NONE;
         place.child = (uint16_t)nodes[node].number, node = nodes[node].parent) {
        join_child(comm, at, root, node, place.child);
    }
    share_mark(comm, at, root);
}

static void join(void *owner, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    const struct world_plane *plane = owner;
    struct world_comm *comm = find_comm(plane, communicator);

    for (uint32_t root = 0; comm != NULL && root < comm->set.session.roots; root++) {
        const struct rank_set *behind = &comm->tree[root]->shapes[world_seat(comm->world, plane->at)].ranks;
        if (unit_of_switch(comm, plane->at, root)->is_open && rank_set_has(behind, rank)) {
            plane_join(comm, plane->at, root, rank, mark);
        }
    }
}

static void learn_mark(void *owner, uint32_t communicator, uint64_t mark)
{
    const struct world_plane *plane = owner;
    struct world_comm *comm = find_comm(plane, communicator);

    for (uint32_t root = 0; comm != NULL && root < comm->set.session.roots; root++) {
        const struct world_unit *unit = unit_of_switch(comm, plane->at, root);
        for (uint32_t i = 0; i < unit->node_count; i++) {
            world_switch_verbs(plane->world, plane->at)->learn_mark(unit->nodes[i].memory, mark);
        }
        wake(comm, plane->at, root);
    }
}

static uint64_t communicator_mark(void *owner, uint32_t communicator)
{
    const struct world_plane *plane = owner;
    struct world_comm *comm = find_comm(plane, communicator);
    uint64_t lowest = UINT64_MAX;

    for (uint32_t root = 0; comm != NULL && root < comm->set.session.roots; root++) {
        const struct world_unit *unit = unit_of_switch(comm, plane->at, root);
        uint64_t mark = world_switch_verbs(plane->world, plane->at)->node.communicator_mark(unit->nodes[0].memory);
        lowest = mark < lowest ? mark : lowest;
        share_mark(comm, plane->at, root);
    }
    return comm == NULL ? 0 : lowest;
}

/* ---- who lacks ---- */

static bool lacks(const struct world_comm *comm, uint32_t rank, uint32_t at, uint64_t sequence)
{
    struct shape_place place = shape_place_at(comm, rank, at, comm_root_of(comm, sequence));
    const struct world_unit *unit = unit_of_switch(comm, at, comm_root_of(comm, sequence));

    return unit->is_open &&
           world_switch_verbs(comm->world, at)->missing_on(unit->nodes[place.node].memory, sequence) >> place.child & 1;
}

uint32_t plane_missing(const struct world_comm *comm, uint32_t at, uint64_t sequence, uint16_t *ranks, uint32_t max)
{
    uint32_t count = 0;

    for (uint32_t rank = 0; rank < comm->set.session.ranks && count < max; rank++) {
        if (rank_set_has(&comm->tree[comm_root_of(comm, sequence)]->shapes[at].ranks, rank) &&
            lacks(comm, rank, at, sequence)) {
            ranks[count++] = (uint16_t)rank;
        }
    }
    return count;
}

static uint32_t missing(void *owner, uint32_t communicator, uint64_t sequence, uint16_t *ranks, uint32_t max)
{
    const struct world_plane *plane = owner;
    const struct world_comm *comm = find_comm(plane, communicator);

    return comm == NULL ? 0 : plane_missing(comm, plane->at, sequence, ranks, max);
}

/* Does the part of `rank` lack where `waiting` waits? The switches on its way know for those below them; beyond, what
 * comes from a switch lacks as a whole. */
bool plane_is_missing(const struct world_comm *comm, uint32_t waiting, uint32_t rank, uint64_t sequence)
{
    uint32_t root = comm_root_of(comm, sequence);

    for (uint32_t way = comm->ranks[waiting].home; way != WORLD_NONE; way = comm->tree[root]->parents[way]) {
        uint32_t at = comm_top(comm, way, root);
        if (rank_set_has(&comm->tree[root]->shapes[at].ranks, rank)) {
            return lacks(comm, rank, at, sequence);
        }
    }
    return false;
}

/* ---- paths ---- */

/* PATH packets of one probe, to the parent and back, on every shard: as lossy as links are. A parent that stands still
 * for two seconds at that moment ends a job (agents/root.c); worlds, where each error must have a rank as its cause, do
 * not show that. */
static void probe_parent(void *owner, uint32_t communicator)
{
    const struct world_plane *plane = owner;
    struct world *world = plane->world;
    struct world_comm *comm = find_comm(plane, communicator);

    if (comm != NULL && comm->members[plane->at].answer_ns == 0 && !world_chance(world, world->set.loss)) {
        comm->members[plane->at].answer_ns = world->now_ns + 2 * world->set.delay_ns + 1;
    }
}

static bool parent_answered(void *owner, uint32_t communicator, struct trib_address *silent)
{
    (void)silent;
    const struct world_plane *plane = owner;
    const struct world_comm *comm = find_comm(plane, communicator);
    uint64_t answer_ns = comm == NULL ? 0 : comm->members[plane->at].answer_ns;

    return answer_ns != 0 && answer_ns <= plane->world->now_ns;
}

/* Links lose some copies of each result, as by multicast, whatever is said here. */
static void multicast(void *owner, uint32_t communicator, uint32_t group, uint16_t port)
{
    (void)owner;
    (void)communicator;
    (void)group;
    (void)port;
}

/* ---- for people ---- */

static bool report(void *owner, uint32_t communicator, struct trib_plane_report *out)
{
    (void)owner;
    (void)communicator;
    memset(out, 0, sizeof *out);
    return false;
}

static void traffic(void *owner, struct trib_port_stats *sum)
{
    (void)owner;
    memset(sum, 0, sizeof *sum);
}

struct trib_data_plane plane_verbs(struct world_plane *plane)
{
    return (struct trib_data_plane){
        .plane = plane,
        .open = open_units,
        .close = close_units,
        .join = join,
        .learn_mark = learn_mark,
        .probe_parent = probe_parent,
        .parent_answered = parent_answered,
        .communicator_mark = communicator_mark,
        .multicast = multicast,
        .probe_multicast = multicast,
        .slot_bytes = slot_bytes,
        .report = report,
        .missing = missing,
        .traffic = traffic,
    };
}
