/* SPDX-License-Identifier: Apache-2.0 */
/* control.c: the control planes of a world. That of the root gathers ranks, opens the tree under a boot id of its own,
 * gives out M, and ends communicators; those of the other switches are relays, which pass messages on and tell their
 * own nodes what they see passing. A switch that dies ends the incarnation of every tree that it is part of: all ranks
 * return, all nodes are made new.
 * Read next: work.c. */
#include <string.h>

#include "world.h"

#define POLL_FIRST_NS (2 * WORLD_MS)
#define POLL_SPREAD_NS (20 * WORLD_MS)
#define NOTICE_NS (100 * WORLD_MS) /* until the loss of a connection is noticed */

/* ---- nodes of one switch ---- */

static void learn_mark(struct world_comm *comm, uint32_t at, uint64_t mark)
{
    const struct trib_switch_verbs *verbs = comm->world->scheme->switch_node;

    for (uint32_t root = 0; root < comm->set.session.roots && comm->members[at].is_open; root++) {
        struct world_unit *unit = unit_of_switch(comm, at, root);
        for (uint32_t i = 0; i < unit->node_count; i++) {
            verbs->learn_mark(unit->nodes[i].memory, mark);
        }
        unit_wake(comm->world, unit_number(comm->world, unit), comm->world->now_ns);
    }
}

/* M as the control plane of the root gives it out: the minimum over the shards. */
static uint64_t communicator_mark(const struct world_comm *comm)
{
    uint64_t lowest = UINT64_MAX;

    for (uint32_t rank = 0; rank < comm->set.session.ranks && world_has_peers(comm->world); rank++) {
        lowest = comm->ranks[rank].mark < lowest ? comm->ranks[rank].mark : lowest; /* as told */
    }
    for (uint32_t root = 0; root < comm->set.session.roots && !world_has_peers(comm->world); root++) {
        const struct world_unit *unit = unit_of_switch(comm, 0, root);
        uint64_t mark = comm->world->scheme->switch_node->communicator_mark(unit->nodes[0].memory);
        lowest = mark < lowest ? mark : lowest;
    }
    return lowest;
}

/* A child joins with the lowest mark of its ranks, when all of them have registered. */
static void join_child(struct world_comm *comm, uint32_t at, uint32_t node, uint32_t number)
{
    const struct comm_member *member = &comm->members[at];
    const struct shape_child *child = &comm->shapes[at].nodes[node].children[number];
    uint64_t lowest = UINT64_MAX;

    for (uint32_t rank = rank_set_next(&child->ranks, 0); rank != WORLD_NONE;
         rank = rank_set_next(&child->ranks, rank + 1)) {
        if (!rank_set_has(&member->registered, rank)) {
            return;
        }
        lowest = member->marks[rank] < lowest ? member->marks[rank] : lowest;
    }
    for (uint32_t root = 0; root < comm->set.session.roots && !world_has_peers(comm->world); root++) {
        struct world_unit *unit = unit_of_switch(comm, at, root);
        comm->world->scheme->switch_node->join(unit->nodes[node].memory, number, lowest);
        unit_wake(comm->world, unit_number(comm->world, unit), comm->world->now_ns);
    }
}

static void join(struct world_comm *comm, uint32_t at, uint32_t rank, uint64_t mark)
{
    struct comm_member *member = &comm->members[at];
    struct shape_place place = shape_place_at(comm, rank, at);

    rank_set_add(&member->registered, rank);
    member->marks[rank] = mark > member->marks[rank] ? mark : member->marks[rank];
    for (uint32_t node = place.node;;
         place.child = (uint16_t)comm->shapes[at].nodes[node].number, node = comm->shapes[at].nodes[node].parent) {
        join_child(comm, at, node, place.child);
        if (comm->shapes[at].nodes[node].parent == WORLD_NONE) {
            return;
        }
    }
}

static void open_member(struct world_comm *comm, uint32_t at, uint32_t incarnation, uint32_t boot)
{
    struct comm_member *member = &comm->members[at];

    member->incarnation = incarnation;
    member->boot = boot;
    memset(&member->registered, 0, sizeof member->registered);
    memset(member->marks, 0, comm->set.session.ranks * sizeof *member->marks);
    for (uint32_t root = 0; root < comm->set.session.roots && !world_has_peers(comm->world); root++) {
        unit_open_switch(comm, at, root);
    }
    member->is_open = true;
}

static void close_member(struct world_comm *comm, uint32_t at)
{
    for (uint32_t root = 0; root < comm->set.session.roots && comm->members[at].is_open; root++) {
        unit_close(comm->world, unit_of_switch(comm, at, root));
    }
    comm->members[at].is_open = false;
}

/* ---- the root ---- */

static void tell(struct world_comm *comm, uint32_t rank, struct world_message message)
{
    message.epoch = comm->ranks[rank].root_epoch;
    message.incarnation = comm->incarnation;
    message.boot = comm->boot;
    if (message.epoch != 0) {
        session_post_down(comm, rank, session_places(comm, rank) - 1, &message);
    }
}

static void let_go(struct world_comm *comm, uint32_t rank, enum message_kind kind, uint32_t cause)
{
    tell(comm, rank, (struct world_message){.kind = kind, .cause = cause});
    comm->ranks[rank].root_epoch = 0;
    comm->members[0].epochs[rank] = 0;
}

static void end_job(struct world_comm *comm, enum comm_outcome outcome)
{
    close_member(comm, 0);
    comm->control = CONTROL_ENDED;
    comm->outcome = outcome;
    comm_disturbed(comm, comm->world->now_ns);
}

void control_fail(struct world_comm *comm, enum comm_outcome outcome, uint32_t cause)
{
    if (comm->control == CONTROL_ENDED) {
        return;
    }
    comm->named = cause;
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        let_go(comm, rank, comm->ranks[rank].has_closed ? MESSAGE_CLOSED : MESSAGE_FAIL, cause);
    }
    end_job(comm, outcome);
}

static void limit_wait(struct world_comm *comm)
{
    comm->wait_until_ns = comm->world->now_ns + WORLD_JOIN_NS;
    world_schedule(comm->world, comm->wait_until_ns, (struct world_event){.kind = WORLD_GATHER, .a = comm->index});
}

/* All ranks have joined: a new tree, under a new boot id. */
static void welcome(struct world_comm *comm)
{
    struct world *world = comm->world;

    comm->incarnation++;
    comm->boot = world->switches[0].boot + comm->incarnation;
    comm->boot += comm->boot == 0;
    comm->control = CONTROL_STARTING;
    limit_wait(comm);
    comm_disturbed(comm, world->now_ns);
    open_member(comm, 0, comm->incarnation, comm->boot);
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        struct comm_rank *r = &comm->ranks[rank];
        r->is_registered = false;
        r->mark = r->has_closed ? r->mark : 0;
        r->answered = 0;
        tell(comm, rank, (struct world_message){.kind = MESSAGE_WELCOME});
    }
}

static bool have_all(const struct world_comm *comm, bool registered)
{
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        const struct comm_rank *r = &comm->ranks[rank];
        if (registered ? !r->is_registered : r->root_epoch == 0) {
            return false;
        }
    }
    return true;
}

/* A switch of the tree is gone: everybody comes again, and no node of this tree is used again. */
static void end_incarnation(struct world_comm *comm)
{
    comm->incarnations_lost++;
    close_member(comm, 0);
    comm->control = CONTROL_GATHERING;
    comm_disturbed(comm, comm->world->now_ns);
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        let_go(comm, rank, MESSAGE_CUT_DOWN, WORLD_NONE);
        comm->ranks[rank].has_closed = false;
    }
}

static void take_join(struct world_comm *comm, uint32_t rank, const struct world_message *message)
{
    struct world *world = comm->world;

    comm->ranks[rank].root_epoch = 0; /* whatever was there is stale */
    if (comm->control == CONTROL_STARTING || comm->control == CONTROL_RUNNING) {
        end_incarnation(comm);
    }
    bool first = true;
    for (uint32_t other = 0; other < comm->set.session.ranks; other++) {
        first = first && comm->ranks[other].root_epoch == 0;
    }
    comm->ranks[rank].root_epoch = comm->members[0].epochs[rank] = message->epoch;
    comm->ranks[rank].has_closed = false;
    if (first) {
        limit_wait(comm);
    }
    comm_disturbed(comm, world->now_ns);
    if (comm->control == CONTROL_GATHERING && have_all(comm, false)) {
        welcome(comm);
    }
}

/* Also for those that come back to what has ended meanwhile. */
void control_gather_timeout(struct world_comm *comm)
{
    if (comm->world->now_ns < comm->wait_until_ns) {
        return;
    }
    if (comm->control == CONTROL_GATHERING || comm->control == CONTROL_STARTING) {
        control_fail(comm, COMM_LATE, WORLD_NONE);
    } else if (comm->control == CONTROL_ENDED) {
        for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
            let_go(comm, rank, MESSAGE_FAIL, WORLD_NONE);
        }
    }
}

/* Tells M to those whose mark it had not reached, and lets those go that only wait for it. */
static void answer_marks(struct world_comm *comm)
{
    uint64_t mark = communicator_mark(comm);

    learn_mark(comm, 0, mark);
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        struct comm_rank *r = &comm->ranks[rank];
        if (r->root_epoch != 0 && r->is_registered && r->mark > r->answered && mark > r->answered) {
            r->answered = mark;
            tell(comm, rank, (struct world_message){.kind = MESSAGE_MARK_DOWN, .mark = mark});
        }
        if (r->root_epoch != 0 && r->has_closed && mark >= r->mark) {
            let_go(comm, rank, MESSAGE_CLOSED, WORLD_NONE);
        }
    }
}

static bool is_waiting(const struct world_comm *comm)
{
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        const struct comm_rank *r = &comm->ranks[rank];
        if (r->root_epoch != 0 && r->is_registered && r->mark > r->answered) {
            return true;
        }
    }
    return false;
}

/* Looks at M while anybody waits for it. */
void control_poll(struct world_comm *comm, uint32_t incarnation)
{
    struct world *world = comm->world;

    if (comm->control != CONTROL_RUNNING || comm->incarnation != incarnation) {
        return;
    }
    answer_marks(comm);
    comm->is_polling = is_waiting(comm);
    if (comm->is_polling) {
        world_schedule(world, world->now_ns + POLL_FIRST_NS + world_below(world, POLL_SPREAD_NS),
                       (struct world_event){.kind = WORLD_POLL, .a = comm->index, .b = incarnation});
    }
}

static void take_register(struct world_comm *comm, uint32_t rank, uint64_t mark)
{
    comm->ranks[rank].is_registered = true;
    comm->ranks[rank].mark = mark;
    if (comm->control != CONTROL_STARTING || !have_all(comm, true)) {
        return;
    }
    uint64_t all = communicator_mark(comm);
    comm->control = CONTROL_RUNNING;
    comm->is_polling = false;
    learn_mark(comm, 0, all);
    for (uint32_t other = 0; other < comm->set.session.ranks; other++) {
        comm->ranks[other].answered = all;
        tell(comm, other, (struct world_message){.kind = MESSAGE_READY, .mark = all});
    }
}

static void take_mark(struct world_comm *comm, uint32_t rank, uint64_t mark)
{
    struct comm_rank *r = &comm->ranks[rank];

    r->mark = mark > r->mark ? mark : r->mark;
    if (comm->is_polling) {
        answer_marks(comm);
    } else {
        control_poll(comm, comm->incarnation);
    }
}

/* Before READY, of a rank that had closed before its session was lost, the mark is only noted. */
static void take_close(struct world_comm *comm, uint32_t rank, uint64_t mark)
{
    struct comm_rank *r = &comm->ranks[rank];

    r->has_closed = true;
    r->mark = mark > r->mark ? mark : r->mark;
    for (uint32_t other = 0; other < comm->set.session.ranks; other++) {
        if (!comm->ranks[other].has_closed) {
            if (comm->control == CONTROL_RUNNING) {
                take_mark(comm, rank, mark);
            }
            return;
        }
    }
    for (uint32_t other = 0; other < comm->set.session.ranks; other++) {
        let_go(comm, other, MESSAGE_CLOSED, WORLD_NONE);
    }
    end_job(comm, COMM_CLOSED);
}

static bool lacks(const struct world_comm *comm, uint32_t rank, uint32_t at, uint64_t sequence)
{
    struct shape_place place = shape_place_at(comm, rank, at);
    const struct world_unit *unit = unit_of_switch(comm, at, comm_root_of(comm, sequence));

    return unit->is_open &&
           comm->world->scheme->switch_node->missing_on(unit->nodes[place.node].memory, sequence) >> place.child & 1;
}

/* Does the part of `rank` lack where `waiting` waits? Its own relays know for those below them; beyond, what comes from
 * a switch lacks as a whole. */
bool control_is_missing(const struct world_comm *comm, uint32_t waiting, uint32_t rank, uint64_t sequence)
{
    if (world_has_peers(comm->world)) {
        return true; /* a ring that lacks a rank is none */
    }
    for (uint32_t place = 1; place <= session_places(comm, waiting); place++) {
        uint32_t at = session_switch(comm, waiting, place);
        if (rank_set_has(&comm->shapes[at].ranks, rank)) {
            return lacks(comm, rank, at, sequence);
        }
    }
    return false;
}

/* A rank that has closed will never contribute again: who waits for it on a later sequence waits for nothing. If it has
 * left as well, it will not even offer what it had finished; whoever else kept that is given some time. */
static void take_stall(struct world_comm *comm, uint32_t waiting, const struct world_message *message)
{
    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        const struct comm_rank *r = &comm->ranks[rank];
        bool is_left = r->has_closed && r->root_epoch == 0 && message->since_ns >= WORLD_LEFT_NS &&
                       control_is_missing(comm, waiting, rank, message->mark);
        if ((r->has_closed && message->mark >= r->mark) || is_left) {
            comm->world->report->forsaken += is_left;
            control_fail(comm, COMM_PEER, rank);
            return;
        }
    }
}

static void take_gone(struct world_comm *comm, uint32_t rank, bool is_dead)
{
    struct comm_rank *r = &comm->ranks[rank];

    r->root_epoch = 0;
    if (r->has_closed && !r->is_registered && comm->control == CONTROL_STARTING) {
        join(comm, 0, rank, r->mark);
        take_register(comm, rank, r->mark);
        return;
    }
    if (r->has_closed || comm->control == CONTROL_GATHERING || comm->control == CONTROL_ENDED) {
        return; /* it has said goodbye, or gives up its place */
    }
    if (is_dead) {
        control_fail(comm, COMM_PEER, rank);
    } else {
        end_incarnation(comm);
    }
}

static void take_at_root(struct world_comm *comm, uint32_t rank, const struct world_message *message)
{
    bool is_new = comm->incarnation == message->incarnation;

    if (message->kind == MESSAGE_JOIN) {
        take_join(comm, rank, message);
        return;
    }
    if (message->epoch != comm->ranks[rank].root_epoch) {
        return;
    }
    if (message->kind == MESSAGE_DEAD || message->kind == MESSAGE_CUT_UP) {
        take_gone(comm, rank, message->kind == MESSAGE_DEAD);
    } else if (message->kind == MESSAGE_REGISTER && is_new && comm->control == CONTROL_STARTING) {
        take_register(comm, rank, message->mark);
    } else if (message->kind == MESSAGE_CLOSE && comm->control != CONTROL_ENDED) {
        take_close(comm, rank, message->mark);
    } else if (is_new && comm->control == CONTROL_RUNNING) {
        if (message->kind == MESSAGE_MARK_UP) {
            take_mark(comm, rank, message->mark);
        } else if (message->kind == MESSAGE_STALL) {
            take_stall(comm, rank, message);
        }
    }
}

/* ---- every switch ---- */

static void drop_if_unused(struct world_comm *comm, uint32_t at)
{
    const struct comm_member *member = &comm->members[at];

    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        if (member->epochs[rank] != 0) {
            return;
        }
    }
    close_member(comm, at);
}

static void forget_welcome(struct comm_member *member, uint32_t rank)
{
    member->welcomed.bits[rank / 64] &= ~(UINT64_C(1) << rank % 64);
}

static void take_up(struct world_comm *comm, uint32_t rank, uint32_t place, const struct world_message *message)
{
    uint32_t at = session_switch(comm, rank, place);
    struct comm_member *member = &comm->members[at];
    bool ends = message->kind == MESSAGE_DEAD || message->kind == MESSAGE_CUT_UP;
    bool is_marked =
        message->kind == MESSAGE_REGISTER || message->kind == MESSAGE_MARK_UP || message->kind == MESSAGE_CLOSE;

    if (message->kind == MESSAGE_JOIN) {
        member->epochs[rank] = message->epoch;
        forget_welcome(member, rank);
    } else if (member->epochs[rank] != message->epoch) {
        return;
    }
    if (ends) {
        member->epochs[rank] = 0;
        forget_welcome(member, rank);
    }
    if (is_marked && member->is_open && member->incarnation == message->incarnation) {
        join(comm, at, rank, message->mark);
    }
    if (at == 0) {
        take_at_root(comm, rank, message);
        return;
    }
    session_post_up(comm, rank, place,
                    &(struct world_message){
                        .kind = message->kind,
                        .epoch = message->epoch,
                        .incarnation = message->incarnation,
                        .mark = message->mark,
                        .since_ns = message->since_ns,
                    });
    if (ends) {
        drop_if_unused(comm, at);
    }
}

/* All WELCOMEs of a relay's ranks come together, and its nodes open before any of them goes on. */
static void relay_welcome(struct world_comm *comm, uint32_t at, uint32_t rank, const struct world_message *message)
{
    struct comm_member *member = &comm->members[at];

    if (message->incarnation != member->welcome_incarnation) {
        member->welcome_incarnation = message->incarnation;
        memset(&member->welcomed, 0, sizeof member->welcomed);
    }
    rank_set_add(&member->welcomed, rank);
    if (rank_set_count(&member->welcomed) != comm->shapes[at].rank_count) {
        return;
    }
    open_member(comm, at, message->incarnation, message->boot);
    uint32_t level = comm->world->switches[at].level;
    for (uint32_t other = rank_set_next(&member->welcomed, 0); other != WORLD_NONE;
         other = rank_set_next(&member->welcomed, other + 1)) {
        struct world_message copy = *message;
        copy.epoch = member->epochs[other];
        session_post_down(comm, other, session_places(comm, other) - level, &copy);
    }
}

/* The connection towards the root is gone: so is this tree, for all ranks that were in it. */
static void relay_cut(struct world_comm *comm, uint32_t at, uint32_t rank)
{
    struct comm_member *member = &comm->members[at];
    uint32_t level = comm->world->switches[at].level;
    struct rank_set cut = member->welcomed;

    if (!rank_set_has(&cut, rank)) {
        memset(&cut, 0, sizeof cut);
        rank_set_add(&cut, rank);
    } else {
        memset(&member->welcomed, 0, sizeof member->welcomed);
        close_member(comm, at);
    }
    for (uint32_t other = rank_set_next(&cut, 0); other != WORLD_NONE; other = rank_set_next(&cut, other + 1)) {
        struct world_message message = {.kind = MESSAGE_CUT_DOWN, .epoch = member->epochs[other]};
        member->epochs[other] = 0;
        if (message.epoch != 0) {
            session_post_down(comm, other, session_places(comm, other) - level, &message);
        }
    }
}

static void take_down(struct world_comm *comm, uint32_t rank, uint32_t place, const struct world_message *message)
{
    uint32_t at = session_switch(comm, rank, place);
    struct comm_member *member = &comm->members[at];
    bool is_current = member->is_open && member->incarnation == message->incarnation;

    if (message->epoch == 0 || member->epochs[rank] != message->epoch) {
        return;
    }
    if (message->kind == MESSAGE_WELCOME) {
        relay_welcome(comm, at, rank, message);
        return;
    }
    if (message->kind == MESSAGE_CUT_DOWN) {
        relay_cut(comm, at, rank);
        return;
    }
    if (is_current && (message->kind == MESSAGE_READY || message->kind == MESSAGE_MARK_DOWN)) {
        learn_mark(comm, at, message->mark);
    }
    if (message->kind == MESSAGE_FAIL) {
        close_member(comm, at);
    }
    session_post_down(comm, rank, place - 1, message);
    if (message->kind == MESSAGE_FAIL || message->kind == MESSAGE_CLOSED) {
        member->epochs[rank] = 0;
        forget_welcome(member, rank);
        drop_if_unused(comm, at);
    }
}

void control_take(struct world_comm *comm, uint32_t rank, uint32_t place, const struct world_message *message)
{
    if (message->kind < MESSAGE_WELCOME) {
        take_up(comm, rank, place, message);
    } else {
        take_down(comm, rank, place, message);
    }
}

/* ---- a switch dies ---- */

/* The switches are gone for good, and the ranks go on without them: one place, where all are children, takes what was
 * the root's. */
void control_move(struct world_comm *comm)
{
    comm->world->report->moved += comm->is_started && comm->control != CONTROL_ENDED && comm->depth > 1;
    for (uint32_t at = 1; at < comm->world->switch_count; at++) {
        struct comm_member *member = &comm->members[at];
        if (comm->shapes[at].rank_count == 0) {
            continue;
        }
        close_member(comm, at);
        memset(&member->welcomed, 0, sizeof member->welcomed);
        memset(member->epochs, 0, comm->set.session.ranks * sizeof *member->epochs);
    }
    shape_make_star(comm);
    check_moved(comm);
}

void control_restart(struct world_comm *comm, uint32_t at)
{
    struct world *world = comm->world;
    struct comm_member *member = &comm->members[at];

    if (comm->shapes[at].rank_count == 0) {
        return;
    }
    close_member(comm, at);
    memset(&member->welcomed, 0, sizeof member->welcomed);
    memset(member->epochs, 0, comm->set.session.ranks * sizeof *member->epochs);
    if (!comm->is_started) {
        return;
    }
    for (uint32_t rank = rank_set_next(&comm->shapes[at].ranks, 0); rank != WORLD_NONE;
         rank = rank_set_next(&comm->shapes[at].ranks, rank + 1)) {
        uint32_t place = session_places(comm, rank) - world->switches[at].level + 1;
        struct world_message message = {.kind = MESSAGE_CUT_DOWN, .epoch = comm->ranks[rank].epoch};
        message.extra_ns = world_below(world, NOTICE_NS);
        session_post_down(comm, rank, place - 1, &message);
        if (at != 0) {
            message.kind = MESSAGE_CUT_UP;
            message.extra_ns = world_below(world, NOTICE_NS);
            session_post_up(comm, rank, place, &message);
        } else {
            comm->ranks[rank].root_epoch = 0;
            comm->ranks[rank].has_closed = false;
        }
    }
    if (at == 0 && comm->control != CONTROL_ENDED) {
        comm->incarnations_lost += comm->control != CONTROL_GATHERING;
        comm->control = CONTROL_GATHERING;
    }
    comm_disturbed(comm, world->now_ns);
}
