/* SPDX-License-Identifier: Apache-2.0 */
/* leaves_harness.h: a controller and switches below it, in a tree without a network: the deciding code of both
 * (jobs.h, leaves.h; masters.h), data planes that only record, and ranks that know the dialogue. A rank's session and a
 * switch's own messages are two queues each, first in, first out. Which queue moves next is drawn from a seed, so that
 * a test sees many orders of the same story. Ends of connections travel in the queues as well. A switch passes sessions
 * on unread: here they go past it, and end with its connection. HELLO and PROOF are one step: test_channels.c and
 * test_uplinks.c have these.
 *
 * Use: world_init; node_add (parents first); rank_join; settle, or tick to let time pass. */
#ifndef TRIB_TESTS_LEAVES_HARNESS_H
#define TRIB_TESTS_LEAVES_HARNESS_H

#include "control/jobs/check.h"
#include "control/jobs/jobs.h"
#include "leaves_nodes.h"

/* ---- ranks ---- */

static inline void rank_send(struct rank *rank, const struct trib_message *message)
{
    if (rank->wire) {
        push(rank->wire, UP, message);
    }
}

static inline void rank_say(struct rank *rank, enum trib_message_kind kind)
{
    const struct trib_message message = {.kind = kind, .mark = {.mark = rank->mark}};
    rank_send(rank, &message);
}

static inline void rank_connect(struct world *world, struct rank *rank)
{
    rank->wire = wire_add(world, rank->home);
    rank->wire->rank = rank;
    rank_send(rank, &rank->join);
}

/* Each rank has an address of its own, or that of the host that it is on. */
static inline void rank_address(const struct world *world, const struct rank *rank, struct trib_address *address)
{
    uint32_t index = (uint32_t)(rank - world->rank);
    *address = trib_address_v4(rank->host != 0 ? rank->host : 0x0a010000U + index, (uint16_t)(40000 + index % 1000));
}

static inline void ranks_make(struct world *world, uint32_t ranks)
{
    world->rank = calloc(ranks, sizeof *world->rank);
    world->ranks = ranks;
    for (uint32_t i = 0; i < ranks; i++) {
        world->rank[i].join = join_message(i, ranks);
        world->rank[i].join.join.data_port[0] = (uint16_t)(40000 + i % 1000);
        world->rank[i].join.join.data_port[1] = 20001;
    }
}

/* The rank's end of its connection is closed, without CLOSE. */
static inline void rank_kill(struct rank *rank)
{
    rank->is_dead = true;
    if (rank->wire) {
        push_end(rank->wire, UP);
        rank->wire->is_deaf[UP] = true;
        rank->wire = NULL;
    }
}

static inline void rank_lost(struct rank *rank)
{
    rank->wire = NULL;
    rank->is_running = false;
}

static inline void rank_welcome(struct rank *rank, const struct trib_message *message)
{
    const struct trib_message paths = {.kind = TRIB_MESSAGE_PATHS, .paths = {true, rank->join.join.multicast}};
    rank->join.join.known = message->welcome.grant;
    rank->auth = message->welcome.auth;
    rank->server = message->welcome.server;
    if (!rank->was_running) {
        rank_send(rank, &paths);
    }
    rank_say(rank, TRIB_MESSAGE_REGISTER);
}

static inline void rank_answer(struct rank *rank, const struct trib_message *message)
{
    rank->last = *message;
    if (rank->is_quiet && message->kind != TRIB_MESSAGE_NONE) {
        return;
    }
    switch ((int)message->kind) {
    case TRIB_MESSAGE_NONE:
        rank_lost(rank);
        return;
    case TRIB_MESSAGE_WELCOME:
        rank_welcome(rank, message);
        return;
    case TRIB_MESSAGE_READY:
        rank->readies++;
        rank->is_running = rank->was_running = rank->join.join.was_ready = true;
        rank->boot = message->ready.boot;
        rank->m = message->ready.mark;
        rank->multicast = rank->join.join.multicast = message->ready.multicast;
        return;
    case TRIB_MESSAGE_MARK:
        rank->m = message->mark.mark > rank->m ? message->mark.mark : rank->m;
        return;
    case TRIB_MESSAGE_CLOSED:
        rank->is_closed = true;
        return;
    case TRIB_MESSAGE_AWAY:
        rank->aways++;
        memcpy(rank->text, message->note.text, sizeof rank->text);
        return;
    case TRIB_MESSAGE_MISSING:
        rank->missings++;
        return;
    case TRIB_MESSAGE_RECALL:
        rank->recalls++;
        rank->is_running = false;
        rank_send(rank, &rank->join);
        return;
    case TRIB_MESSAGE_FAIL:
        rank->failure = (enum trib_status)message->fail.status;
        memcpy(rank->text, message->fail.text, sizeof rank->text);
        return;
    default:
        return;
    }
}

/* ---- the switches below, at the controller ---- */

static inline void deliver(struct wire *wire, int way);

static inline void mark_lost(struct world *world, struct wire *trunk)
{
    if (trunk->remote) {
        trib_leaves_lose(trunk->remote);
    }
    for (struct wire *wire = world->wires; wire; wire = wire->next) {
        if (wire->over == trunk) {
            wire->is_deaf[DOWN] = true;
            mark_lost(world, wire);
        }
    }
}

static inline void tell_lost(struct world *world, struct wire *trunk, const char *cause)
{
    struct trib_jobs *jobs = &world->node[0].jobs;
    for (struct wire *wire = world->wires; wire; wire = wire->next) {
        if (wire->over == trunk && wire->below) {
            tell_lost(world, wire, cause);
        } else if (wire->over == trunk) {
            trib_jobs_gone(jobs, &wire->session, cause, world->now_ns);
        }
    }
    if (trunk->remote) {
        trib_leaves_remove(jobs, trunk->remote, cause, world->now_ns);
        trunk->remote = NULL;
    }
    for (struct wire *wire = world->wires; wire; wire = wire->next) {
        if (wire->over == trunk) {
            wire->session.leaf = NULL;
            wire->over = NULL;
        }
    }
}

/* As in channels.c: all that it carries is lost at once. */
static inline void lose_below(struct world *world, struct wire *trunk, const char *cause)
{
    trunk->is_deaf[DOWN] = true;
    mark_lost(world, trunk);
    tell_lost(world, trunk, cause);
}

/* An earlier connection of the same switch is silent, or its last words are under way. */
static inline void displace(struct world *world, const struct node *below)
{
    for (struct wire *wire = world->wires; wire; wire = wire->next) {
        if (wire->below != below || !wire->remote) {
            continue;
        }
        while (wire->queue[UP].count > 0 && wire->remote) {
            deliver(wire, UP);
        }
        if (wire->remote) {
            lose_below(world, wire, "its switch has connected anew");
        }
    }
}

static inline void accept_trunk(struct wire *wire)
{
    struct node *below = wire->below;
    struct world *world = below->world;
    struct trib_session session = {.peer = below->config.listen, .local = wire->above->config.listen};
    const struct trib_message hello = leaf_agent_hello(&below->config, below->lives, 1);
    displace(world, below);
    trib_address_set_port(&session.peer, (uint16_t)(30000 + world->moved % 1000));
    wire->over = wire->above->trunk;
    session.leaf = wire->over ? wire->over->remote : NULL;
    wire->remote = trib_leaves_add(&world->node[0].jobs, &hello, &session, wire);
    assert_non_null(wire->remote);
    if (below->trunk == wire) {
        leaf_agent_init(&below->leaf, &below->config, below, tell_above);
    }
}

/* ---- how things move ---- */

static inline void accept_wire(struct wire *wire)
{
    wire->is_connected = true;
    if (wire->below) {
        accept_trunk(wire);
        return;
    }
    rank_address(wire->above->world, wire->rank, &wire->session.peer);
    wire->session.local = wire->above->config.listen;
    wire->over = wire->above->trunk;
    wire->session.leaf = wire->over ? wire->over->remote : NULL;
}

static inline void begin_trunk(struct node *node)
{
    node->trunk = wire_add(node->world, node->parent);
    node->trunk->below = node;
}

/* The parent of this switch is not there, and each rank that has come here hears so. */
static inline void turn_away(struct node *node)
{
    const struct trib_message away = {.kind = TRIB_MESSAGE_AWAY, .note = {.text = "connection refused"}};
    struct wire *trunk = node->trunk;
    node->trunk = NULL;
    trunk->is_connected = trunk->is_deaf[UP] = trunk->is_deaf[DOWN] = true;
    trunk->queue[UP].count = trunk->queue[DOWN].count = 0;
    for (struct wire *wire = node->world->wires; wire; wire = wire->next) {
        if (wire->above == node && !wire->is_connected) {
            wire->is_connected = true;
            if (wire->below && wire->below->trunk == wire) {
                turn_away(wire->below);
            } else {
                push(wire, DOWN, &away);
                push_end(wire, DOWN);
                wire->is_deaf[DOWN] = true;
            }
        }
    }
}

static inline void refuse_wire(struct wire *wire)
{
    wire->is_connected = wire->is_deaf[DOWN] = wire->has_ended[DOWN] = true;
    wire->queue[UP].count = 0;
    if (wire->below) {
        wire->above->refused++;
        if (wire->below->trunk == wire) {
            turn_away(wire->below);
        }
    } else {
        bool is_waiting = !wire->is_deaf[UP];
        wire->is_deaf[UP] = true;
        if (is_waiting) {
            rank_lost(wire->rank);
        }
    }
}

static inline void take_up(struct wire *wire, const struct trib_message *message)
{
    struct world *world = wire->above->world;
    struct trib_jobs *jobs = &world->node[0].jobs;
    if (wire->below && message->kind == TRIB_MESSAGE_NONE) {
        lose_below(world, wire, "its session closed");
    } else if (wire->below) {
        assert_true(trib_leaves_answer(jobs, wire->remote, message, world->now_ns));
    } else if (message->kind == TRIB_MESSAGE_NONE && wire->over) { /* its switch says that it has ended */
        trib_jobs_expel(jobs, &wire->session, "its session closed", world->now_ns);
    } else if (message->kind == TRIB_MESSAGE_NONE) {
        trib_jobs_gone(jobs, &wire->session, "its session closed", world->now_ns);
    } else if (!trib_jobs_receive(jobs, &wire->session, message, world->now_ns)) {
        const struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_INVALID, "out of turn"}};
        trib_jobs_expel(jobs, &wire->session, "it sent a message out of turn", world->now_ns);
        push(wire, DOWN, &fail);
        node_end(NULL, &wire->session);
    }
}

static inline void deliver(struct wire *wire, int way)
{
    struct queue *queue = &wire->queue[way];
    const struct trib_message message = queue->message[queue->first++];
    queue->count--;
    queue->first = queue->count == 0 ? 0 : queue->first;
    if (wire->is_deaf[!way]) {
        return;
    }
    wire->is_deaf[!way] = message.kind == TRIB_MESSAGE_NONE; /* nothing comes behind an end */
    if (way == UP && (!wire->below || wire->remote)) {
        take_up(wire, &message);
    } else if (way == DOWN && !wire->below) {
        rank_answer(wire->rank, &message);
    } else if (way == DOWN && wire->below->trunk == wire && message.kind == TRIB_MESSAGE_NONE) {
        lose_trunk(wire->below);
    } else if (way == DOWN && wire->below->trunk == wire) {
        leaf_agent_hear(&wire->below->leaf, &message);
    }
}

/* Whatever has happened. */
static inline void check_nodes(const struct world *world)
{
    if (!world->node[0].is_dead) {
        trib_jobs_check(&world->node[0].jobs);
    }
}

/* It is refused, or accepted, or begins the connection that is to carry it. */
static inline bool can_connect(const struct wire *wire)
{
    const struct node *above = wire->above;
    return (!wire->is_deaf[UP] || wire->queue[UP].count > 0) &&
           (above->is_dead || !above->parent || !above->trunk || above->trunk->remote);
}

static inline void connect_wire(struct wire *wire)
{
    struct node *above = wire->above;
    if (above->is_dead) {
        refuse_wire(wire);
    } else if (above->parent && !above->trunk) {
        begin_trunk(above);
    } else {
        accept_wire(wire);
    }
}

/* Moves one thing of one connection; false: nothing moves. */
static inline bool move_one(struct world *world)
{
    unsigned count = 0;
    struct wire *chosen = NULL;
    int chosen_way = UP;
    for (struct wire *wire = world->wires; wire; wire = wire->next) {
        for (int way = UP; way <= DOWN; way++) {
            bool can = way == UP && !wire->is_connected ? can_connect(wire) : wire->queue[way].count > 0;
            if (can && trib_prng_below(&world->prng, ++count) == 0) {
                chosen = wire;
                chosen_way = way;
            }
        }
    }
    if (!chosen) {
        return false;
    }
    world->moved++;
    if (chosen_way == DOWN || chosen->is_connected) {
        deliver(chosen, chosen_way);
    } else {
        connect_wire(chosen);
    }
    check_nodes(world);
    return true;
}

static inline void free_wire(struct wire *wire)
{
    free(wire->queue[UP].message);
    free(wire->queue[DOWN].message);
    free(wire);
}

/* Connections of which nothing is left. */
static inline void free_wires(struct world *world)
{
    struct wire **at = &world->wires;
    while (*at) {
        struct wire *wire = *at;
        bool is_needed = wire->over || wire->remote || (wire->below && wire->below->trunk == wire);
        if (!is_needed && wire->is_deaf[UP] && wire->is_deaf[DOWN] && wire->queue[UP].count == 0 &&
            wire->queue[DOWN].count == 0) {
            *at = wire->next;
            free_wire(wire);
        } else {
            at = &wire->next;
        }
    }
}

static inline void settle(struct world *world)
{
    while (move_one(world)) {
    }
    free_wires(world);
}

/* Time passes, in steps, and things move; ranks that were sent away come again. */
static inline void tick(struct world *world, uint64_t duration_ns)
{
    uint64_t end_ns = world->now_ns + duration_ns;
    settle(world);
    while (world->now_ns < end_ns) {
        world->now_ns += duration_ns / 20 + 1;
        for (unsigned i = 0; i < world->nodes; i++) {
            struct node *node = &world->node[i];
            if (!node->parent && !node->is_dead) {
                trib_jobs_on_timeout(&node->jobs, world->now_ns);
            } else if (node->leaf.master) {
                trib_masters_on_timeout(&node->leaf.masters, world->now_ns);
            }
        }
        check_nodes(world);
        for (uint32_t i = 0; i < world->ranks; i++) {
            struct rank *rank = &world->rank[i];
            if (!rank->wire && rank->home && !rank->is_dead && !rank->is_closed && rank->failure == TRIB_OK) {
                rank_connect(world, rank);
            }
        }
        settle(world);
    }
}

/* The kernels of those behind a switch whose machine lost its power give up; that of its parent waits. */
static inline void notice_silence(struct world *world, const struct node *victim)
{
    for (struct wire *wire = world->wires; wire; wire = wire->next) {
        bool is_dead = wire->above == victim && wire->has_ended[DOWN] && !wire->is_deaf[UP];
        if (is_dead && !wire->below) {
            wire->is_deaf[UP] = true;
            wire->has_ended[UP] = true;
            rank_lost(wire->rank);
        } else if (is_dead && wire->below->trunk == wire) {
            lose_trunk(wire->below);
        }
    }
}

static inline void world_end(struct world *world)
{
    settle(world);
    for (uint32_t i = 0; i < world->ranks; i++) {
        rank_kill(&world->rank[i]);
    }
    settle(world);
    if (!world->node[0].is_dead) {
        trib_jobs_deinit(&world->node[0].jobs, TRIB_ERR_SWITCH, "the switch is shutting down");
        settle(world);
        assert_null(world->node[0].jobs.first);
        assert_int_equal(world->node[0].jobs.agent.memory_used, 0);
    }
    for (unsigned i = 0; i < world->nodes; i++) {
        struct node *node = &world->node[i];
        if (!node->is_dead && node->parent) {
            assert_null(node->leaf.masters.lendings); /* ROOT_SHUT has come */
            assert_int_equal(node->leaf.agent.memory_used, 0);
            lose_trunk(node);
        }
        assert_true(node->is_dead || node->recorder.opens == node->recorder.closes);
    }
    for (struct wire *wire = world->wires; wire; wire = wire->next) {
        if (wire->remote) {
            lose_below(world, wire, "the end");
        }
    }
    settle(world);
    assert_null(world->node[0].jobs.leaves);
    while (world->wires) {
        struct wire *wire = world->wires;
        world->wires = wire->next;
        free_wire(wire);
    }
    free(world->rank);
    free(world->node);
}

/* ---- a tree that many tests use ---- */

/* A root, two switches below it, and one below the second: rank i joins at homes[i % count]. */
static inline void tree_make(struct world *world, uint64_t seed, uint32_t ranks)
{
    world_init(world, seed);
    struct node *root = node_add(world, NULL);
    struct node *left = node_add(world, root);
    struct node *right = node_add(world, root);
    struct node *far = node_add(world, right);
    struct node *const homes[4] = {root, left, right, far};
    ranks_make(world, ranks);
    for (uint32_t i = 0; i < ranks; i++) {
        world->rank[i].home = homes[i % 4];
    }
}

/* A root and a switch below; `ranks` ranks, that come to that. */
static inline void pair_make(struct world *world, uint32_t ranks)
{
    world_init(world, 1);
    struct node *leaf = node_add(world, node_add(world, NULL));
    ranks_make(world, ranks);
    for (uint32_t i = 0; i < ranks; i++) {
        world->rank[i].home = leaf;
    }
}

static inline void tree_run(struct world *world)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        rank_connect(world, &world->rank[i]);
    }
    tick(world, 100 * TRIB_MILLISECOND_NS);
}

static inline bool all_run(const struct world *world, unsigned readies)
{
    for (uint32_t i = 0; i < world->ranks; i++) {
        const struct rank *rank = &world->rank[i];
        if (!rank->is_running || rank->readies != readies || rank->boot != world->rank[0].boot) {
            print_message("rank %u: running %d, %u readies, boot %08x, failure %d: %s\n", i, rank->is_running,
                          rank->readies, rank->boot, (int)rank->failure, rank->text);
            return false;
        }
    }
    return true;
}

#endif
