/* SPDX-License-Identifier: Apache-2.0 */
/* leaves_nodes.h: the switches of leaves_harness.h, and the connections between them and from ranks. Read next:
 * leaves_harness.h (what moves on them). */
#ifndef TRIB_TESTS_LEAVES_NODES_H
#define TRIB_TESTS_LEAVES_NODES_H

#include <malloc.h>

#include "control/jobs/jobs.h"
#include "control/jobs/owner.h"
#include "control/jobs/start.h"
#include "control/roots/leaves.h"
#include "control/roots/processes.h"
#include "control_harness.h"
#include "core/prng.h"
#include "leaf_agent.h"
#include "unit/draw.h"

#define NODES_MAX 8

enum { UP = 0, DOWN = 1 };

struct node;
struct rank;

/* What moves in one direction; kind NONE: the end of the connection. */
struct queue {
    struct trib_message *message;
    unsigned first, count, size;
};

/* From a rank to its controller, by way of the node that it has come to; or of a switch to its parent. */
struct wire {
    struct trib_session session; /* of a rank, at the controller */
    struct node *below;          /* NULL: of a rank */
    struct rank *rank;           /* NULL: of a switch */
    struct node *above;          /* the other end: of a rank the node that it has come to */
    struct wire *over;           /* the switch's connection that carries this one at the controller; NULL: none */
    struct trib_remote *remote;  /* the switch below, at the controller; NULL: it is not usable there */
    struct queue queue[2];
    bool is_connected;
    bool has_ended[2]; /* this end (UP: the lower one) has said its last */
    bool is_deaf[2];   /* and this end hears nothing any more */
    struct wire *next;
};

/* The first is the controller, and has jobs; the others are switches below. */
struct node {
    struct trib_server_config config;
    struct trib_jobs jobs;
    struct leaf_agent leaf;
    struct recorder recorder;
    struct node *parent;
    struct world *world;
    struct wire *trunk; /* to its parent; NULL: none */
    uint64_t lives;
    unsigned refused; /* connections of switches, while it was dead */
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
    uint32_t host; /* its IPv4 address; 0: one of its own */
    bool is_quiet; /* does not answer by itself */
    bool is_dead;
    bool is_closed;               /* CLOSED has come */
    bool multicast;               /* READY said so */
    struct trib_sender_keys auth; /* of the last WELCOME */
    struct trib_address server;   /* of the last WELCOME */
    enum trib_status failure;
    char text[TRIB_ERROR_TEXT_MAX]; /* of FAIL, AWAY */
    struct trib_message last;
};

struct world {
    struct node *node; /* NODES_MAX of more than a megabyte each; world_init to world_end */
    unsigned nodes;
    struct rank *rank;
    uint32_t ranks;
    struct wire *wires;
    uint64_t now_ns;
    struct trib_prng prng;
    unsigned moved;
};

/* ---- queues ---- */

static inline void queue_add(struct queue *queue, const struct trib_message *message)
{
    if (queue->first + queue->count == queue->size && queue->first > 0) {
        memmove(queue->message, queue->message + queue->first, queue->count * sizeof *message);
        queue->first = 0;
    }
    if (queue->first + queue->count == queue->size) {
        queue->size = queue->size > 0 ? 2 * queue->size : 8;
        queue->message = realloc(queue->message, queue->size * sizeof *message);
        assert_non_null(queue->message);
    }
    queue->message[queue->first + queue->count++] = *message;
}

static inline void push(struct wire *wire, int way, const struct trib_message *message)
{
    if (!wire->has_ended[way] && !wire->is_deaf[!way]) {
        queue_add(&wire->queue[way], message);
    }
}

static inline void push_end(struct wire *wire, int way)
{
    static const struct trib_message end = {.kind = TRIB_MESSAGE_NONE};
    push(wire, way, &end);
    wire->has_ended[way] = true;
}

static inline struct wire *wire_of(struct trib_session *session)
{
    return (struct wire *)(void *)session;
}

/* struct trib_jobs_output of the controller. */
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

/* struct trib_remote_output of switches below. */
static inline void tell_below(void *owner, struct trib_remote *remote, const struct trib_message *message)
{
    (void)owner;
    assert_true(trib_remote_is_usable(remote));
    push(remote->line, DOWN, message);
}

static inline void ping_below(void *owner, struct trib_remote *remote)
{
    (void)owner;
    (void)remote;
}

/* struct trib_masters_above. */
static inline void tell_above(void *owner, const struct trib_message *message)
{
    struct node *node = owner;
    if (node->trunk) {
        push(node->trunk, UP, message);
    }
}

/* ---- nodes ---- */

static inline struct node *controller_of(const struct node *node)
{
    return &node->world->node[0];
}

static inline void node_start(struct node *node, uint32_t boot)
{
    const struct trib_jobs_output output = {node, node_send, node_end, NULL, test_draw, NULL};
    bool parent_answers = node->recorder.parent_answers;
    memset(&node->recorder, 0, sizeof node->recorder);
    pthread_mutex_init(&node->recorder.lock, NULL);
    node->recorder.parent_answers = parent_answers;
    node->config.boot = boot;
    node->config.plane = recorder_verbs(&node->recorder);
    node->lives++;
    node->trunk = NULL;
    if (node->parent) {
        node->config.parent = node->parent->config.listen;
        node->leaf.master = NULL;
    } else {
        trib_jobs_init(&node->jobs, &node->config, &output);
        node->jobs.below = (struct trib_remote_output){.owner = node, .send = tell_below, .ping = ping_below};
    }
    node->is_dead = false;
}

/* Listens at 10.0.0.(index + 1):7470. */
static inline struct node *node_add(struct world *world, struct node *parent)
{
    assert_true(world->nodes < NODES_MAX);
    struct node *node = &world->node[world->nodes++];
    node->world = world;
    node->parent = parent;
    node->config.listen = trib_address_v4(0x0a000000U + world->nodes, 7470);
    node->config.shards = 2;
    node->config.identity = 0x1000 + world->nodes;
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
    world->node = calloc(NODES_MAX, sizeof *world->node);
    assert_non_null(world->node);
    world->now_ns = TRIB_SECOND_NS;
    world->prng.state = seed;
}

static inline void free_dead(struct node *node)
{
    for (struct trib_job *job = node->jobs.first, *next; job; job = next) {
        next = job->next;
        free(job->below);
        free(job);
    }
    for (struct trib_owner *owner = node->jobs.owners, *next; owner; owner = next) {
        next = owner->next;
        free(owner);
    }
    for (struct trib_remote *remote = node->jobs.leaves, *next; remote; remote = next) {
        next = remote->next;
        free(remote);
    }
    node->jobs.first = NULL;
    trib_processes_deinit(&node->jobs);
    node->jobs.owners = NULL;
    node->jobs.leaves = NULL;
}

/* The connection to the parent is over: all that it carried ends without a word, and what was opened is shut. */
static inline void lose_trunk(struct node *node)
{
    struct wire *trunk = node->trunk;
    node->trunk = NULL;
    leaf_agent_deinit(&node->leaf);
    if (trunk) {
        trunk->is_deaf[UP] = trunk->has_ended[UP] = true;
    }
    for (struct wire *wire = node->world->wires; wire; wire = wire->next) {
        if (wire->above == node) {
            push_end(wire, DOWN);
            wire->is_connected = wire->is_deaf[DOWN] = true;
        }
    }
}

/* What the killed node was the upper end of. */
static inline void kill_upper_end(struct wire *wire, bool power)
{
    if (!power) {
        push_end(wire, DOWN);
    }
    wire->has_ended[DOWN] = wire->has_ended[UP] = true; /* what has passed it may still arrive at the controller */
    if (!wire->above->parent || power || !wire->is_connected) {
        wire->queue[UP].count = 0;
        wire->is_deaf[DOWN] = wire->is_connected = true;
    }
}

/* As kill -9 does: its connections end, and nothing was said. power: nor do they end, as nobody is left to end them. */
static inline void node_kill(struct node *node, bool power)
{
    struct wire *trunk = node->trunk;
    node->is_dead = true;
    node->trunk = NULL;
    leaf_agent_deinit(&node->leaf);
    if (!node->parent) {
        free_dead(node);
    }
    for (struct wire *wire = node->world->wires; wire; wire = wire->next) {
        if (wire->above == node) {
            kill_upper_end(wire, power);
        }
        if (!node->parent) { /* no session of it is known to a later one */
            wire->remote = NULL;
            wire->over = NULL;
            wire->is_deaf[DOWN] = wire->is_deaf[DOWN] || wire->is_connected;
        }
        if (wire == trunk) {
            if (!power) {
                push_end(wire, UP);
            }
            wire->has_ended[UP] = wire->is_deaf[UP] = true;
            wire->queue[DOWN].count = 0;
        }
    }
}

static inline void node_restart(struct node *node)
{
    node_start(node, node->config.boot + 0x1000);
}

#endif
