/* SPDX-License-Identifier: Apache-2.0 */
/* unit.c: how nodes are driven, as the loops of comm and switchd do it: everything that has arrived is decoded and goes
 * in, then everything goes out. Nodes of one switch hand packets to each other by a call; the rest travels over links.
 * Read next: link.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define DRAIN_MAX 200000 /* packets that one run of a unit may hand out */

/* ---- finding ---- */

struct world_unit *unit_of_rank(const struct world_comm *comm, uint32_t rank)
{
    return &comm->world->units[comm->ranks[rank].unit];
}

struct world_unit *unit_of_switch(const struct world_comm *comm, uint32_t at, uint32_t root)
{
    return &comm->world->units[comm->members[at].units[root]];
}

void *worker_node(const struct world_comm *comm, uint32_t rank)
{
    const struct world_unit *unit = unit_of_rank(comm, rank);

    return unit->is_open ? unit->nodes[0].memory : NULL;
}

uint32_t unit_number(const struct world *world, const struct world_unit *unit)
{
    return (uint32_t)(unit - world->units);
}

/* ---- opening and closing ---- */

uint32_t unit_create(struct world_comm *comm, bool is_worker)
{
    struct world *world = comm->world;

    world->units = world_grown(world->units, world->unit_count, &world->unit_capacity, sizeof *world->units);
    struct world_unit *unit = &world->units[world->unit_count];
    memset(unit, 0, sizeof *unit);
    unit->comm = comm;
    unit->is_worker = is_worker;
    unit->wake_ns = TRIB_NEVER;
    unit->links = world_zeroed(is_worker ? comm->set.session.roots + 1 : 1, sizeof *unit->links);
    return world->unit_count++;
}

/* Memory that somebody has used before: what another node left there, or a pattern. */
static void *used_memory(const struct world *world, size_t size)
{
    uint8_t *memory = aligned_alloc(64, (size + 63) & ~(size_t)63);
    size_t old = size < world->ghost_size ? size : world->ghost_size;

    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    if (old != 0) {
        memcpy(memory, world->ghost, old);
    }
    memset(memory + old, 0xa5, size - old);
    return memory;
}

/* Every other unit says that its memory is zeroed. */
static bool is_zeroed(const struct world *world, const struct world_unit *unit)
{
    return (unit - world->units) % 2 == 0;
}

static void make_room(struct world *world, struct world_unit *unit, uint32_t index, size_t size)
{
    struct world_node *node = &unit->nodes[index];

    if (node->size != size) {
        free(node->memory);
        node->memory = used_memory(world, size);
        node->size = size;
    }
    if (is_zeroed(world, unit)) {
        memset(node->memory, 0, size);
    }
}

/* A group, or a rank, more or less. Who is alone asks nobody. */
uint32_t unit_skewed_ranks(const struct world_comm *comm)
{
    uint32_t ranks = comm->set.session.ranks;
    uint32_t step = world_has_groups(comm->world) ? comm->set.session.group : 1;

    return comm->set.skewed_rank + step < ranks && ranks - step > 1 ? ranks - step : ranks + step;
}

static void skew(const struct world_comm *comm, struct trib_worker_config *config)
{
    struct trib_session_config *s = &config->session;

    switch (comm->set.skew) {
    case WORLD_SKEW_PAYLOAD:
        s->payload += TRIB_PAYLOAD_ALIGN;
        return;
    case WORLD_SKEW_WIRE:
        s->wire = s->wire != TRIB_FLOAT32 ? TRIB_FLOAT32 : comm_has_quorum(comm) ? TRIB_BFLOAT16 : TRIB_INT32;
        return;
    case WORLD_SKEW_LOOKAHEAD:
        s->lookahead++;
        return;
    case WORLD_SKEW_WINDOW:
        config->window = config->window / 2 + 1;
        return;
    case WORLD_SKEW_SLOTS:
        s->slots *= 2;
        return;
    case WORLD_SKEW_TRAIN:
        s->train++;
        return;
    case WORLD_SKEW_ROOTS:
        if (s->roots > 1 && s->communicator % 2 == 0) {
            s->weight[0] = s->weight[0] == UINT8_MAX ? 1 : s->weight[0] + 2; /* 0 is 1 */
        } else {
            s->roots = s->roots == 1 ? 2 : s->roots - 1;
        }
        s->group = (uint16_t)(s->group == s->ranks ? 1 : s->ranks);
        return;
    case WORLD_SKEW_RANKS:
        s->ranks = unit_skewed_ranks(comm);
        return;
    case WORLD_SKEW_SALT:
        s->salt ^= 1;
        config->tag = NULL;
        return;
    case WORLD_SKEW_GENERATION:
        s->generation ^= 1;
        return;
    case WORLD_SKEW_JOIN:
    case WORLD_SKEW_NONE:
    case WORLD_SKEW_COUNT:
        return;
    }
}

void unit_open_worker(struct world_comm *comm, uint32_t rank)
{
    struct world *world = comm->world;
    struct world_unit *unit = unit_of_rank(comm, rank);
    struct trib_worker_config config = {
        .session = comm->set.session,
        .kernels = comm->ranks[rank].kernels,
        .tag = comm->tag,
        .rank = rank,
        .window = comm->set.window,
        .operations = comm->set.operations,
        .stall_ns = comm->set.stall_ns,
        .rate = comm->set.rate,
        .is_zeroed = is_zeroed(world, unit),
    };

    if (rank == comm->set.skewed_rank) {
        skew(comm, &config);
    }
    unit->node_count = 1;
    unit->nodes = world_zeroed(1, sizeof *unit->nodes);
    make_room(world, unit, 0, world->scheme->worker->size(&config));
    world->scheme->worker->init(unit->nodes[0].memory, &config);
    unit->is_open = true;
}

struct trib_switch_config unit_switch_config(const struct world_comm *comm, uint32_t at, uint32_t root, uint32_t node)
{
    const struct shape_node *shape = &comm->tree[root]->shapes[at].nodes[node];
    struct trib_switch_config config = {
        .session = comm->set.session,
        .kernels = comm->ranks[(at + root + node) % comm->set.session.ranks].kernels,
        .branches = shape->branches,
        .children = shape->child_count,
        .spare = shape->spare,
        .root = root,
        .boot = comm->members[at].boot,
        .has_parent = shape->parent != WORLD_NONE || comm->tree[root]->parents[at] != WORLD_NONE,
        .is_zeroed = is_zeroed(comm->world, unit_of_switch(comm, at, root)),
    };

    config.session.salt = 0;
    for (uint32_t i = 0; i < shape->child_count && shape->is_combiner; i++) {
        config.behind |= UINT64_C(1) << shape->children[i].index % comm->set.groups;
    }
    config.has_combiners = comm->world->scheme->has_combiners && combining_has(shape);
    return config;
}

void unit_open_switch(struct world_comm *comm, uint32_t at, uint32_t root)
{
    struct world *world = comm->world;
    struct world_unit *unit = unit_of_switch(comm, at, root);
    const struct shape_switch *shape = &comm->tree[root]->shapes[at];
    const struct trib_switch_verbs *verbs = world_switch_verbs(world, at);

    unit_close(world, unit);
    unit->node_count = shape->node_count;
    unit->nodes = world_zeroed(shape->node_count, sizeof *unit->nodes);
    for (uint32_t i = 0; i < shape->node_count; i++) {
        const struct shape_node *node = &shape->nodes[i];
        const struct trib_switch_config config = unit_switch_config(comm, at, root, i);
        make_room(world, unit, i, verbs->size(&config));
        verbs->init(unit->nodes[i].memory, &config);
        if (config.has_parent && verbs->set_child != NULL) {
            verbs->set_child(unit->nodes[i].memory, node->parent != WORLD_NONE ? node->number : shape->up.child);
        }
    }
    unit->is_open = true;
    if (world_is_combiner(world, at)) {
        combining_enter(unit);
    }
}

static const struct trib_node_verbs *verbs_of(const struct world *world, const struct world_unit *unit)
{
    return unit->is_worker ? &world->scheme->worker->node : &world_switch_verbs(world, unit->at)->node;
}

static const struct trib_counters *counters_of(const struct world *world, const struct world_unit *unit, uint32_t node)
{
    return verbs_of(world, unit)->counters(unit->nodes[node].memory);
}

static void drop_inbox(struct world *world, struct world_unit *unit)
{
    for (uint32_t i = 0; i < unit->inbox_count; i++) {
        world_release(world, unit->inbox[i].parcel);
    }
    unit->inbox_count = 0;
}

/* What the largest node leaves behind is what the next ones find in their memory. */
static void leave_ghost(struct world *world, struct world_node *node)
{
    if (node->size > world->ghost_size) {
        free(world->ghost);
        world->ghost = node->memory;
        world->ghost_size = node->size;
    } else {
        free(node->memory);
    }
}

void unit_close(struct world *world, struct world_unit *unit)
{
    struct world_report *report = world->report;

    if (!unit->is_open) {
        return;
    }
    if (!unit->is_worker && world_is_combiner(world, unit->at)) {
        combining_leave(unit);
    }
    for (uint32_t i = 0; i < unit->node_count; i++) {
        bool is_root = !unit->is_worker && i == 0 && world->switches[unit->at].parent == WORLD_NONE;
        struct trib_counters *sum = world_has_peers(world) ? &report->peer
                                    : unit->is_worker      ? &report->worker
                                    : is_root              ? &report->root
                                                           : &report->inner;
        bool is_combiner = !unit->is_worker && world_is_combiner(world, unit->at); /* its pool counts */
        if (world->failed == WORLD_CHECK_NONE && !is_combiner) {
            report_counters(sum, counters_of(world, unit, i));
            if (world->scheme->worker->flows != NULL) {
                world->scheme->worker->flows(unit->nodes[i].memory, &report->flows);
            }
        }
        leave_ghost(world, &unit->nodes[i]);
    }
    free(unit->nodes);
    unit->nodes = NULL;
    unit->is_open = false;
    unit->wake_ns = TRIB_NEVER;
    auth_close(unit);
    drop_inbox(world, unit);
}

/* ---- receiving ---- */

void unit_wake(struct world *world, uint32_t index, uint64_t time_ns)
{
    struct world_unit *unit = &world->units[index];
    uint64_t when = time_ns > unit->paused_ns ? time_ns : unit->paused_ns;

    if (!unit->is_open) {
        return;
    }
    if (when < world->now_ns) {
        when = world->now_ns;
    }
    if (when < unit->wake_ns) {
        unit->wake_ns = when;
        world_schedule(world, when, (struct world_event){.kind = WORLD_WAKE, .unit = (uint16_t)index});
    }
}

void unit_pause(struct world *world, uint32_t index, uint64_t until_ns)
{
    struct world_unit *unit = &world->units[index];

    unit->paused_ns = until_ns > unit->paused_ns ? until_ns : unit->paused_ns;
    unit->wake_ns = TRIB_NEVER; /* an earlier WAKE does not count */
    unit_wake(world, index, unit->paused_ns);
}

/* Who has the address of this unit now? */
static uint32_t heir_of(struct world *world, uint32_t index)
{
    while (!world->units[index].is_open && world->units[index].heir != 0) {
        index = world->units[index].heir;
    }
    return index;
}

void unit_arrive(struct world *world, const struct world_event *event)
{
    uint32_t to = heir_of(world, event->unit);
    uint32_t from = event->b;
    struct world_unit *unit = &world->units[to];
    const struct parcel *parcel = &world->parcels[event->a];
    bool is_full = unit->inbox_count >= world->set.inbox && !world->is_healed;
    uint64_t bytes = 0;

    if (to != event->unit) { /* the sender's address is whose it is in that communicator */
        while (world->units[from].comm != unit->comm && world->units[from].heir != 0) {
            from = world->units[from].heir;
        }
        world->report->inherited++;
    }
    /* the checksum or, where that is 0, a part of the MAC */
    memcpy(&bytes, parcel->data + (parcel->seal.end != 0 ? parcel->len - 8 : TRIB_AT_CRC), 8);
    world->report->trace = (world->report->trace ^ world->now_ns) * UINT64_C(0x9e3779b97f4a7c15) + bytes + to;
    world->report->packets++;
    if (!unit->is_open || world->units[from].comm != unit->comm) {
        world->report->strays++;
        world_release(world, event->a);
        return;
    }
    if (is_full) {
        world->report->overflowed++;
        world_release(world, event->a);
        return;
    }
    unit->inbox = world_grown(unit->inbox, unit->inbox_count, &unit->inbox_capacity, sizeof *unit->inbox);
    unit->inbox[unit->inbox_count++] = (struct inbox_entry){.parcel = event->a, .from = from};
    unit_wake(world, to, world->now_ns + world_below(world, world->set.turn_ns));
}

/* Which node of the unit takes what comes from there, and as what. NULL: it knows nobody of that address. */
static void *place_of(const struct world *world, const struct world_unit *unit, const struct world_unit *from,
                      uint16_t name, struct trib_place *place)
{
    const struct world_comm *comm = unit->comm;
    uint32_t node = 0;

    if (world_has_peers(world)) {
        *place = (struct trib_place){.kind = TRIB_PLACE_PEER, .index = from->rank};
        return unit->nodes[0].memory;
    }
    if (unit->is_worker) {
        *place = (struct trib_place){.kind = TRIB_PLACE_ROOT, .index = from->root};
        return comm_top(comm, comm->ranks[unit->rank].home, from->root) == from->at ? unit->nodes[0].memory : NULL;
    }
    if (!from->is_worker && comm->tree[unit->root]->parents[unit->at] == world_seat(world, from->at)) {
        *place = (struct trib_place){.kind = TRIB_PLACE_PARENT};
        node = world_is_combiner(world, unit->at) ? combining_node_below(unit, name) : 0;
        return node != WORLD_NONE ? unit->nodes[node].memory : NULL;
    }
    if (world_has_servers(world)) {
        *place = (struct trib_place){.kind = TRIB_PLACE_CHILDREN};
        node = combining_node(unit, from, name, &place->children);
        return node != WORLD_NONE ? unit->nodes[node].memory : NULL;
    }
    const struct world_tree *tree = comm->tree[unit->root];
    uint32_t above = from->is_worker ? comm->ranks[from->rank].home : tree->parents[from->at];
    struct shape_place where = from->is_worker ? tree->places[from->rank] : tree->shapes[from->at].up;
    *place = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << where.child};
    bool is_gone = !from->is_worker && tree->shapes[from->at].rank_count == 0; /* the ranks went on without it */
    return above == world_seat(world, unit->at) && !is_gone ? unit->nodes[where.node].memory : NULL;
}

static void feed(struct world *world, struct world_unit *unit)
{
    uint64_t now = unit_now(world, unit);
    bool is_combiner = !unit->is_worker && world_is_combiner(world, unit->at);

    for (uint32_t i = 0; i < unit->inbox_count; i++) {
        uint32_t index = unit->inbox[i].parcel;
        const struct parcel *parcel = is_combiner ? combining_hold(&world->parcels[index]) : &world->parcels[index];
        struct trib_packet packet = {.node = 0};
        struct trib_place place;
        enum trib_drop drop = trib_packet_decode(parcel->data, parcel->len, &packet);
        void *node = place_of(world, unit, &world->units[unit->inbox[i].from], packet.node, &place);
        if (node != NULL && drop == TRIB_DROP_NONE) {
            drop = auth_take(world, unit_number(world, unit), unit->inbox[i].from, index, &packet);
        }
        if (unit->is_worker) {
            check_silence_ends(unit, world->units[unit->inbox[i].from].root, &packet);
        }
        if (node == NULL) {
            world->report->strays++;
        } else if (drop == TRIB_DROP_NONE) {
            if ((packet.kind == TRIB_FLOW || world_has_caps(world)) && world_chance(world, world->set.congest)) {
                packet.flags |= TRIB_FLAG_ECN;
            }
            if (verbs_of(world, unit)->soon != NULL) {
                verbs_of(world, unit)->soon(node, place, &packet);
            }
            struct trib_packet bare = packet;
            bare.node = combining_unname(unit, &world->units[unit->inbox[i].from], packet.node);
            drop = verbs_of(world, unit)->receive(node, place, &bare, now);
            world_trace(world, drop == TRIB_DROP_NONE ? "take" : trib_drop_name(drop), unit->inbox[i].from,
                        unit_number(world, unit), &packet);
            check_received(unit, &world->units[unit->inbox[i].from], &packet, drop);
        } else {
            world->report->decode[drop]++;
        }
        world_release(world, index);
        if (is_combiner && (combining_is_full(world, unit) || i + 1 == unit->inbox_count)) {
            combining_drain(world, unit);
        }
    }
    unit->inbox_count = 0;
}

/* ---- workers ---- */

/* Of a rank, where there is no switch that would see it. */
static void take_mismatch(struct world_comm *comm, uint32_t rank, const struct trib_event *event)
{
    struct world *world = comm->world;

    world->report->mismatch_events++;
    if (!world_has_peers(world) || comm_has_promise(comm) || event->other != rank) {
        world_fail(world, WORLD_CHECK_ERROR, "rank %u: another operation on %" PRIu64, rank, event->sequence);
    } else if (comm->set.hostility != WORLD_LETHAL) {
        if ((event->child == comm->set.skewed_rank) == (rank == comm->set.skewed_rank)) {
            world_fail(world, WORLD_CHECK_ERROR, "a mismatch on %" PRIu64 " names ranks %u and %u, not %u",
                       event->sequence, event->child, rank, comm->set.skewed_rank);
        }
        session_dispute(comm, rank, event->sequence, event->child);
    }
}

static void take_worker_event(struct world_comm *comm, uint32_t rank, const struct trib_event *event)
{
    struct world *world = comm->world;

    switch (event->kind) {
    case TRIB_EVENT_DONE:
        work_done(comm, rank, event->token);
        return;
    case TRIB_EVENT_FAILED:
        world->report->failed_events++;
        if (comm_has_promise(comm)) {
            world_fail(world, WORLD_CHECK_LANE, "communicator %u rank %u gives up on sequence %" PRIu64, comm->index,
                       rank, event->sequence);
        } else if (comm->set.hostility != WORLD_LETHAL) {
            session_abort(comm, rank);
        }
        return;
    case TRIB_EVENT_BOOT:
        world->report->boot_events++;
        return;
    case TRIB_EVENT_STALL:
        world->report->stall_events++;
        check_stall(comm, rank, event);
        session_stall(comm, rank, event);
        return;
    case TRIB_EVENT_MISMATCH:
        take_mismatch(comm, rank, event);
        return;
    case TRIB_EVENT_NONE:
    case TRIB_EVENT_KIND_COUNT:
        world_fail(world, WORLD_CHECK_MISUSE, "rank %u: event of kind %d", rank, (int)event->kind);
        return;
    }
}

/* False: the worker is gone. */
static bool drain_worker_events(struct world_comm *comm, uint32_t rank)
{
    struct trib_event event;
    void *node;

    while ((node = worker_node(comm, rank)) != NULL && comm->world->scheme->worker->node.next_event(node, &event)) {
        take_worker_event(comm, rank, &event);
    }
    return node != NULL;
}

/* Is it one of those that the scheme says this rank has to do with? */
static bool is_peer_of(const struct world_comm *comm, uint32_t rank, uint32_t to)
{
    uint16_t peers[TRIB_PEERS_MAX];
    uint32_t count = comm->world->scheme->worker->peers(&comm->set.session, rank, peers);

    while (count > 0 && peers[count - 1] != to) {
        count--;
    }
    return count != 0;
}

/* To a neighbour on a ring. Who was given another number of ranks may have another one, or none. */
static void send_to_peer(struct world_comm *comm, uint32_t rank, const struct trib_packet *packet, uint32_t to)
{
    struct world *world = comm->world;

    comm->sent[packet->kind == TRIB_FLOW_ACK]++;
    if (to < comm->set.session.ranks && to != rank && is_peer_of(comm, rank, to) && is_peer_of(comm, to, rank)) {
        check_peer(comm, rank, packet);
        world_send(world, comm->ranks[rank].unit, comm->ranks[to].unit,
                   auth_parcel(world, comm->ranks[rank].unit, comm->ranks[to].unit, packet), packet);
    } else if (comm_has_promise(comm)) {
        world_fail(world, WORLD_CHECK_MISUSE, "rank %u: a packet to rank %u", rank, to);
    }
}

static void drain_worker(struct world_comm *comm, uint32_t rank)
{
    struct world *world = comm->world;
    const struct trib_worker_verbs *verbs = world->scheme->worker;
    uint32_t number = comm->ranks[rank].unit;
    uint64_t now = unit_now(world, &world->units[number]);
    void *node = worker_node(comm, rank);
    uint32_t count = 0;
    uint32_t submitted;

    do {
        struct trib_packet packet;
        struct trib_place to;
        while (verbs->node.next_packet(node, now, &packet, &to)) {
            bool has_peers = world_has_peers(world);
            if (to.kind != (has_peers ? TRIB_PLACE_PEER : TRIB_PLACE_ROOT) || ++count > DRAIN_MAX) {
                world_fail(world, WORLD_CHECK_MISUSE, "rank %u: a packet to nowhere, or without end", rank);
                return;
            }
            if (has_peers) {
                send_to_peer(comm, rank, &packet, to.index);
                continue;
            }
            comm->sent[0]++;
            check_sent(comm, rank, &packet);
            if (packet.kind == TRIB_PROBE && to.index < comm->set.session.roots) {
                check_silence(&world->units[number], to.index);
            }
            if (to.index < comm->set.session.roots) {
                uint32_t at = comm_top(comm, comm->ranks[rank].home, to.index);
                uint32_t to_unit = comm->members[at].units[to.index];
                world_send(world, number, to_unit, auth_parcel(world, number, to_unit, &packet), &packet);
            } else if (comm_has_promise(comm)) {
                world_fail(world, WORLD_CHECK_MISUSE, "rank %u: a packet to root %u", rank, to.index);
            }
        }
        if (!drain_worker_events(comm, rank)) {
            return;
        }
        submitted = comm->ranks[rank].submitted;
        work_submit(comm, rank);
    } while (comm->ranks[rank].submitted != submitted);
}

static void wake_at(struct world *world, uint32_t number, uint64_t timeout_ns)
{
    uint64_t clock = world->units[number].clock_ns;

    if (timeout_ns != TRIB_NEVER) {
        unit_wake(world, number, timeout_ns > clock + world->now_ns ? timeout_ns - clock : world->now_ns + 1);
    }
}

static void run_worker(struct world *world, uint32_t number)
{
    const struct trib_worker_verbs *verbs = world->scheme->worker;
    struct world_unit *unit = &world->units[number];
    struct world_comm *comm = unit->comm;
    uint32_t rank = unit->rank;
    void *node = unit->nodes[0].memory;

    feed(world, unit);
    if (verbs->node.next_timeout(node) <= unit_now(world, unit)) {
        verbs->node.on_timeout(node, unit_now(world, unit));
    }
    work_submit(comm, rank);
    drain_worker(comm, rank);
    node = worker_node(comm, rank);
    if (node != NULL) {
        if (world_below(world, 64) == 0) {
            check_partial(comm, rank);
        }
        wake_at(world, number, verbs->node.next_timeout(node));
    }
}

/* ---- switches ---- */

static void run_switch(struct world *world, uint32_t number)
{
    const struct trib_switch_verbs *verbs = world_switch_verbs(world, world->units[number].at);
    struct world_unit *unit = &world->units[number];
    uint64_t now = unit_now(world, unit);

    feed(world, unit);
    for (uint32_t i = 0; i < unit->node_count; i++) {
        if (verbs->node.next_timeout(unit->nodes[i].memory) <= now) {
            verbs->node.on_timeout(unit->nodes[i].memory, now);
        }
    }
    unit_drain_switch(world, number);
    if (world_has_caps(world) && !world_is_combiner(world, unit->at) && world->failed == WORLD_CHECK_NONE &&
        world->units[number].is_open) {
        caps_divide(world, number);
    }
    for (uint32_t i = 0; world->units[number].is_open && i < world->units[number].node_count; i++) {
        wake_at(world, number, verbs->node.next_timeout(world->units[number].nodes[i].memory));
    }
}

/* ---- idle memory ---- */

/* A driver gives back what an idle node has no use for: here, as often as can be. */
static void return_memory(struct world *world, struct world_unit *unit)
{
    for (uint32_t i = 0; i < unit->node_count; i++) {
        struct trib_range ranges[TRIB_IDLE_RANGES];
        uint8_t *memory = unit->nodes[i].memory;
        uint32_t count = verbs_of(world, unit)->idle(memory, ranges);
        for (uint32_t k = 0; k < count; k++) {
            if (ranges[k].at + ranges[k].bytes > unit->nodes[i].size) {
                world_fail(world, WORLD_CHECK_MISUSE, "an idle node names memory that is not its own");
                return;
            }
            memset(memory + ranges[k].at, 0, ranges[k].bytes);
        }
        *(unit->is_worker ? &world->report->returned_workers : &world->report->returned_switches) += count != 0;
    }
}

/* ---- running ---- */

static bool maybe_pauses(struct world *world, uint32_t number)
{
    const struct world_unit *unit = &world->units[number];

    if (!world_chance(world, unit->is_worker ? world->set.pause : world->set.stall)) {
        return false;
    }
    world->report->paused++;
    unit_pause(world, number, world->now_ns + world_below(world, world->set.pause_ns));
    return true;
}

void unit_run(struct world *world, uint32_t number)
{
    struct world_unit *unit = &world->units[number];

    unit->wake_ns = TRIB_NEVER;
    if (!unit->is_open || maybe_pauses(world, number)) {
        return;
    }
    if (world->now_ns > unit->comm->rest_ns) {
        world_fail(world, WORLD_CHECK_NOISE, "communicator %u moves %" PRIu64 " ms after it was over",
                   unit->comm->index, (world->now_ns - unit->comm->last_done_ns) / WORLD_MS);
        return;
    }
    if (world->now_ns - unit->ran_ns > WORLD_MS) { /* longer than a switch remembers what it has repeated */
        return_memory(world, unit);
    }
    unit->ran_ns = world->now_ns;
    if (unit->is_worker) {
        caps_limit(world, unit);
        run_worker(world, number);
    } else {
        run_switch(world, number);
    }
}
