/* SPDX-License-Identifier: Apache-2.0 */
/* relay_harness.h: control planes wired into a tree without a network: the deciding code of roots and relays (jobs.h,
 * relay.h), data planes that only record, and ranks that know the dialogue. Every connection is two queues, first in,
 * first out; which queue moves next is drawn from a seed, so that a test sees many orders of the same story. Ends of
 * connections travel in the queues as well.
 *
 * Use: world_init; node_add (parents first); rank_join; settle, or tick to let time pass. */
#ifndef TRIB_TESTS_RELAY_HARNESS_H
#define TRIB_TESTS_RELAY_HARNESS_H

#include <malloc.h>

#include "control/jobs/owner.h"
#include "control/jobs/start.h"
#include "control/relay/relay.h"
#include "control_harness.h"
#include "core/prng.h"
#include "unit/draw.h"

#define NODES_MAX 8
#define QUEUE_MAX 24 /* messages on their way in one direction */

enum { UP = 0, DOWN = 1 };

struct node;
struct rank;

/* What moves in one direction; kind NONE: the end of the connection. */
struct queue {
    struct trib_message message[QUEUE_MAX];
    unsigned first, count;
};

/* One connection: from a rank, or from a relay's link, to a control plane. */
struct wire {
    struct trib_link link;       /* first; of the relay below, if there is one */
    struct trib_session session; /* at the upper end */
    struct node *below;          /* NULL: a rank */
    struct rank *rank;           /* NULL: a relay */
    struct node *above;
    struct queue queue[2];
    bool is_connected;
    bool has_ended[2]; /* this end (UP: the lower one) has said its last */
    bool is_deaf[2];   /* and this end hears nothing any more */
    struct wire *next;
};

struct node {
    struct trib_server_config config;
    struct trib_jobs jobs;
    struct trib_relay relay;
    struct recorder recorder;
    struct node *parent;
    struct world *world;
    unsigned refused; /* connections of relays, while it was dead */
    bool is_dead;
};

struct rank {
    struct trib_message join;
    struct node *home;
    struct wire *wire; /* NULL: none */
    uint64_t mark;
    uint64_t m; /* as it was told */
    unsigned readies, aways, missings, recalls;
    uint32_t boot;
    bool is_running;
    bool was_running;
    bool is_quiet; /* does not answer by itself */
    bool is_dead;
    bool is_closed; /* CLOSED has come */
    bool multicast; /* READY said so */
    enum trib_status failure;
    char text[TRIB_ERROR_TEXT_MAX]; /* of FAIL, AWAY */
    struct trib_message last;
};

struct world {
    struct node node[NODES_MAX];
    unsigned nodes;
    struct rank *rank;
    uint32_t ranks;
    struct wire *wires;
    uint64_t now_ns;
    struct trib_prng prng;
    unsigned moved;
};

/* ---- queues ---- */

static inline void push(struct wire *wire, int way, const struct trib_message *message)
{
    struct queue *queue = &wire->queue[way];
    if (wire->has_ended[way] || wire->is_deaf[!way]) {
        return;
    }
    assert_true(queue->count < QUEUE_MAX);
    queue->message[(queue->first + queue->count++) % QUEUE_MAX] = *message;
}

static inline void push_end(struct wire *wire, int way)
{
    static const struct trib_message end = {.kind = TRIB_MESSAGE_NONE};
    push(wire, way, &end);
    wire->has_ended[way] = true;
}

static inline struct wire *wire_of(struct trib_session *session)
{
    return (struct wire *)(void *)((char *)(void *)session - offsetof(struct wire, session));
}

/* struct trib_jobs_output of a node. */
static inline void node_send(void *owner, struct trib_session *session, const struct trib_message *message)
{
    (void)owner;
    push(wire_of(session), DOWN, message);
}

static inline void node_end(void *owner, struct trib_session *session)
{
    struct wire *wire = wire_of(session);
    (void)owner;
    push_end(wire, DOWN);
    wire->is_deaf[DOWN] = true;
}

static inline struct wire *wire_add(struct world *world, struct node *above)
{
    struct wire *wire = calloc(1, sizeof *wire);
    wire->above = above;
    wire->next = world->wires;
    world->wires = wire;
    return wire;
}

/* struct trib_relay_output. */
static inline struct trib_link *node_open(void *owner)
{
    struct node *node = owner;
    struct wire *wire = wire_add(node->world, node->parent);
    wire->below = node;
    return &wire->link;
}

static inline void node_send_up(void *owner, struct trib_link *link, const struct trib_message *message)
{
    (void)owner;
    push((struct wire *)(void *)link, UP, message);
}

static inline void node_end_up(void *owner, struct trib_link *link)
{
    struct wire *wire = (struct wire *)(void *)link;
    (void)owner;
    push_end(wire, UP);
    wire->is_deaf[UP] = true;
}

/* ---- nodes ---- */

static inline void node_start(struct node *node, uint32_t boot)
{
    unsigned index = (unsigned)(node - node->world->node);
    const struct trib_jobs_output output = {node, node_send, node_end, NULL, test_draw, NULL};
    const struct trib_relay_output above = {node, node_open, node_send_up, node_end_up, NULL};
    bool parent_answers = node->recorder.parent_answers;
    memset(&node->recorder, 0, sizeof node->recorder);
    pthread_mutex_init(&node->recorder.lock, NULL);
    node->recorder.parent_answers = parent_answers;
    node->config.boot = boot;
    node->config.plane = recorder_verbs(&node->recorder);
    trib_jobs_init(&node->jobs, &node->config, &output);
    if (node->parent) {
        node->config.parent = node->parent->config.listen;
        trib_relay_init(&node->relay, &node->config, 0x1000 + index * 0x100 + boot, &above);
        node->jobs.relay = &node->relay;
    }
    node->is_dead = false;
}

/* Listens at 10.0.0.(index + 1):7470. */
static inline struct node *node_add(struct world *world, struct node *parent)
{
    struct node *node = &world->node[world->nodes++];
    node->world = world;
    node->parent = parent;
    node->config.listen = trib_address_v4(0x0a000000U + world->nodes, 7470);
    node->config.shards = 2;
    node->config.memory_quota = UINT64_C(1) << 40;
    node->config.job_quota = UINT64_C(1) << 40;
    node->config.receive_room = 64U << 20;
    node->config.join_timeout_ns = 30 * TRIB_SECOND_NS;
    node->recorder.parent_answers = true;
    node_start(node, 0xb0000000U + world->nodes * 0x10000U);
    return node;
}

static inline void world_init(struct world *world, uint64_t seed)
{
    /* Thousands of worlds: the kernel would get the memory of each back, and clear it anew. */
    (void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    memset(world, 0, sizeof *world);
    world->now_ns = TRIB_SECOND_NS;
    world->prng.state = seed;
}

static inline void free_dead(struct node *node)
{
    for (struct trib_job *job = node->jobs.first, *next; job; job = next) {
        next = job->next;
        free(job);
    }
    for (struct trib_owner *owner = node->jobs.owners, *next; owner; owner = next) {
        next = owner->next;
        free(owner);
    }
    node->jobs.first = NULL;
    node->jobs.owners = NULL;
    node->relay.first = NULL;
}

/* As kill -9 does: its connections end, and nothing was said. power: nor do they end, as nobody is left to end them. */
static inline void node_kill(struct node *node, bool power)
{
    node->is_dead = true;
    free_dead(node);
    for (struct wire *wire = node->world->wires; wire; wire = wire->next) {
        if (wire->above == node || wire->below == node) {
            int way = wire->above == node ? DOWN : UP;
            if (!power) {
                push_end(wire, way);
            }
            wire->has_ended[way] = true;
            wire->is_deaf[way] = true;
            wire->queue[!way].count = 0;
        }
    }
}

static inline void node_restart(struct node *node)
{
    node_start(node, node->config.boot + 0x1000);
}

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

/* Each rank has an address of its own. */
static inline void rank_address(const struct world *world, const struct rank *rank, struct trib_address *address)
{
    uint32_t index = (uint32_t)(rank - world->rank);
    *address = trib_address_v4(0x0a010000U + index, (uint16_t)(40000 + index % 1000));
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
    assert_int_equal(message->welcome.behind, 1);
    rank->join.join.known = message->welcome.grant;
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

/* ---- how things move ---- */

static inline void accept_wire(struct wire *wire)
{
    struct node *below = wire->below;
    struct world *world = wire->above->world;
    wire->is_connected = true;
    if (below) {
        wire->session.peer = below->config.listen;
        trib_address_set_port(&wire->session.peer, (uint16_t)(30000 + world->moved % 1000));
        if (!wire->is_deaf[UP]) {
            trib_relay_connected(&below->jobs, &wire->link, &wire->session.peer);
        }
    } else {
        rank_address(world, wire->rank, &wire->session.peer);
    }
}

static inline void refuse_wire(struct wire *wire)
{
    struct world *world = wire->above->world;
    wire->is_deaf[DOWN] = true;
    wire->has_ended[DOWN] = true;
    wire->queue[UP].count = 0;
    if (wire->below) {
        wire->above->refused++;
        if (!wire->is_deaf[UP]) {
            trib_relay_lost(&wire->below->jobs, &wire->link, "connection refused", false, world->now_ns);
        }
    } else {
        wire->is_deaf[UP] = true;
        rank_lost(wire->rank);
    }
}

static inline void deliver(struct wire *wire, int way)
{
    struct queue *queue = &wire->queue[way];
    struct world *world = wire->above->world;
    const struct trib_message message = queue->message[queue->first];
    queue->first = (queue->first + 1) % QUEUE_MAX;
    queue->count--;
    if (wire->is_deaf[!way]) {
        return;
    }
    wire->is_deaf[!way] = message.kind == TRIB_MESSAGE_NONE; /* nothing comes behind an end */
    if (way == UP && message.kind == TRIB_MESSAGE_NONE) {
        trib_jobs_gone(&wire->above->jobs, &wire->session, "its session closed", world->now_ns);
    } else if (way == UP) {
        if (!trib_jobs_receive(&wire->above->jobs, &wire->session, &message, world->now_ns)) {
            const struct trib_message fail = {.kind = TRIB_MESSAGE_FAIL, .fail = {TRIB_ERR_INVALID, "out of turn"}};
            trib_jobs_expel(&wire->above->jobs, &wire->session, "it sent a message out of turn", world->now_ns);
            push(wire, DOWN, &fail);
            node_end(wire->above, &wire->session);
        }
    } else if (wire->below && message.kind == TRIB_MESSAGE_NONE) {
        trib_relay_lost(&wire->below->jobs, &wire->link, "connection closed", false, world->now_ns);
    } else if (wire->below) {
        trib_relay_answer(&wire->below->jobs, &wire->link, &message, world->now_ns);
    } else {
        rank_answer(wire->rank, &message);
    }
}

/* Whatever has happened. */
static inline void check_nodes(const struct world *world)
{
    for (unsigned i = 0; i < world->nodes; i++) {
        if (!world->node[i].is_dead) {
            trib_jobs_check(&world->node[i].jobs);
        }
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
            bool can = way == UP ? (!wire->is_connected && !wire->is_deaf[UP]) || wire->queue[UP].count > 0
                                 : wire->queue[DOWN].count > 0;
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
    } else if (chosen->above->is_dead) {
        refuse_wire(chosen);
        chosen->is_connected = true;
    } else {
        accept_wire(chosen);
    }
    check_nodes(world);
    return true;
}

/* Connections of which nothing is left. */
static inline void free_wires(struct world *world)
{
    struct wire **at = &world->wires;
    while (*at) {
        struct wire *wire = *at;
        if (wire->is_deaf[UP] && wire->is_deaf[DOWN] && wire->queue[UP].count == 0 && wire->queue[DOWN].count == 0) {
            *at = wire->next;
            free(wire);
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
            if (!world->node[i].is_dead) {
                trib_jobs_on_timeout(&world->node[i].jobs, world->now_ns);
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
        if (wire->above == victim && !wire->below) {
            wire->is_deaf[UP] = true;
            wire->has_ended[UP] = true;
            rank_lost(wire->rank);
        } else if (wire->above == victim && !wire->is_deaf[UP]) {
            trib_relay_lost(&wire->below->jobs, &wire->link, "no answer", false, world->now_ns);
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
    for (unsigned i = 0; i < world->nodes; i++) {
        struct node *node = &world->node[i];
        if (!node->is_dead) {
            trib_jobs_deinit(&node->jobs, TRIB_ERR_SWITCH, "the switch is shutting down");
            settle(world);
            assert_null(node->jobs.first);
            assert_null(node->relay.first);
            assert_int_equal(node->jobs.agent.memory_used, 0);
            assert_int_equal(node->recorder.opens, node->recorder.closes);
        }
    }
    settle(world);
    while (world->wires) {
        struct wire *wire = world->wires;
        world->wires = wire->next;
        free(wire);
    }
    free(world->rank);
}

/* ---- a tree that many tests use ---- */

/* A root, two relays at it, and a relay at the second: rank i joins at homes[i % count]. */
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

/* A root and a relay; `ranks` ranks, that come to the relay. */
static inline void pair_make(struct world *world, uint32_t ranks)
{
    world_init(world, 1);
    struct node *relay = node_add(world, node_add(world, NULL));
    ranks_make(world, ranks);
    for (uint32_t i = 0; i < ranks; i++) {
        world->rank[i].home = relay;
    }
}

/* The rank's JOIN reaches its switch, and nothing else moves. NULL: it was sent away. */
static inline struct trib_link *come(struct world *world, uint32_t index)
{
    struct rank *rank = &world->rank[index];
    rank_connect(world, rank);
    accept_wire(rank->wire);
    deliver(rank->wire, UP);
    return rank->wire->session.link;
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
