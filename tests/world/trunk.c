/* SPDX-License-Identifier: Apache-2.0 */
/* trunk.c: switches below the root, as server/channels.c and server/uplinks.c have them. Such a switch is an agent of
 * the controller at the root (src/control/roots/leaves.c, masters.c), and has one connection to its parent: its trunk.
 * A trunk says HELLO, and carries the sessions of ranks at that switch, and the trunks of switches below it. What a
 * trunk carries passes once the trunk has proved itself, and ends with it. Read next: control.c (the connections),
 * agents.c (what must be true at both ends). */
#include <stdlib.h>

#include "control/jobs/jobs.h"
#include "world.h"

/* ---- what the controller asks of its driver ---- */

static void tell(void *owner, struct trib_remote *remote, const struct trib_message *message)
{
    (void)owner;
    wire_post(remote->line, CONTROL_DOWN, message, 0);
}

/* Switches that stand still come back before anybody gives them up. */
static void ping(void *owner, struct trib_remote *remote)
{
    (void)owner;
    (void)remote;
}

static void tell_above(void *owner, const struct trib_message *message)
{
    const struct world_plane *plane = owner;

    if (plane->trunk != NULL) {
        wire_post(plane->trunk, CONTROL_UP, message, 0);
    }
}

void trunk_begin(struct world_plane *plane)
{
    plane->trunk = NULL;
    plane->jobs.below = (struct trib_remote_output){.owner = plane, .send = tell, .ping = ping};
    plane->jobs.masters.above = (struct trib_masters_above){plane, tell_above};
}

/* ---- it begins ---- */

void trunk_take(struct world_wire *wire)
{
    struct world *world = wire->world;
    struct world_plane *plane = &world->planes[wire->at];

    if (plane->trunk == NULL) {
        uint16_t parent = (uint16_t)world->switches[plane->at].parent;
        plane->trunk = wire_create(world, (uint16_t)plane->at, parent, 0);
        wire_dial(plane->trunk);
    }
    wire->over = plane->trunk;
    wire->over->riders++;
}

/* In some worlds a switch has addresses of its own, and names them. */
void trunk_stand(struct world_wire *trunk)
{
    struct world_plane *plane = &trunk->world->planes[trunk->below];
    const struct trib_server_config *config = &plane->config;
    bool is_named = (trunk->world->seed + trunk->below) % 2 != 0;
    struct trib_message hello = {.kind = TRIB_MESSAGE_HELLO,
                                 .hello = {.magic = TRIB_SESSION_MAGIC,
                                           .version = TRIB_SESSION_VERSION,
                                           .wire_version = TRIB_WIRE_VERSION,
                                           .identity = config->identity,
                                           .life = plane->jobs.life,
                                           .attempt = ++plane->attempts,
                                           .room = config->receive_room,
                                           .weight = 1,
                                           .shards = (uint8_t)config->shards}};

    for (uint32_t i = 0; i < config->shards; i++) {
        hello.hello.at[i] = is_named ? trib_server_shard(config, i)
                                     : trib_address_v4(0, trib_address_port(&config->listen) + (uint16_t)i);
    }
    wire_post(trunk, CONTROL_UP, &hello, 0);
}

bool trunk_waits(const struct world_wire *wire)
{
    return wire->over != NULL && wire->over->leaf == NULL && !wire->stream[CONTROL_UP].is_deaf;
}

static void release(const struct world_wire *trunk)
{
    struct world *world = trunk->world;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        uint64_t when_ns = world->now_ns + wire_travel_ns(world);
        while (wire != NULL && wire->over == trunk && wire->waiting > 0) {
            wire->waiting--;
            wire_schedule(wire, WORLD_MESSAGE, CONTROL_UP, when_ns);
        }
    }
}

/* ---- at the root ---- */

static void challenge(struct world_wire *trunk, const struct trib_message *hello)
{
    const struct world_plane *plane = &trunk->world->planes[0];
    struct trib_session session = trunk->session;
    session.leaf = trunk->over != NULL ? trunk->over->leaf : NULL;
    const char *unfit = trib_leaves_explain_unfit(&plane->jobs, hello, &session);

    if (unfit != NULL) {
        world_fail(trunk->world, WORLD_CHECK_CONTROL, "switch %u cannot be below the root: %s", trunk->below, unfit);
        return;
    }
    trunk->hello = *hello;
    trunk->nonce = trib_mix64(trunk->world->now_ns ^ trunk->index) | 1;
    wire_post(trunk, CONTROL_DOWN,
              &(struct trib_message){.kind = TRIB_MESSAGE_CHALLENGE, .proof = {.nonce = trunk->nonce}}, 0);
}

/* Of one switch the root knows one trunk, the latest. */
static void displace(const struct world_wire *trunk)
{
    struct world *world = trunk->world;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        if (wire != NULL && wire != trunk && wire_is_trunk(wire) && wire->below == trunk->below && wire->leaf != NULL) {
            world->report->displaced++;
            trunk_lose_above(wire, "its switch has connected anew");
        }
    }
}

static bool take_proof(struct world_wire *trunk, const struct trib_message *proof)
{
    struct world *world = trunk->world;
    struct trib_session session = trunk->session;

    if (trunk->nonce == 0 || proof->proof.nonce != trunk->nonce) {
        return false;
    }
    displace(trunk);
    session.leaf = trunk->over != NULL ? trunk->over->leaf : NULL;
    trunk->leaf = trib_leaves_add(&world->planes[0].jobs, &trunk->hello, &session, trunk);
    if (trunk->leaf == NULL) {
        world_fail(world, WORLD_CHECK_CONTROL, "switch %u is no agent", trunk->below);
        return true;
    }
    world->report->leaves++;
    release(trunk);
    return true;
}

bool trunk_arrive_above(struct world_wire *trunk, const struct trib_message *message)
{
    struct world *world = trunk->world;

    if (message->kind == TRIB_MESSAGE_HELLO && trunk->nonce == 0) {
        challenge(trunk, message);
        return true;
    }
    if (message->kind == TRIB_MESSAGE_PROOF && trunk->leaf == NULL) {
        return take_proof(trunk, message);
    }
    return trunk->leaf != NULL &&
           trib_leaves_answer(&world->planes[0].jobs, trunk->leaf, message, CONTROL_TIME + world->now_ns);
}

/* ---- at the switch below ---- */

static struct trib_master *master_above(const struct world_plane *plane)
{
    struct trib_master *master = plane->jobs.masters.first;

    while (master != NULL && master->session != NULL) {
        master = master->next;
    }
    return master;
}

void trunk_arrive_below(struct world_wire *trunk, const struct trib_message *message)
{
    struct world_plane *plane = &trunk->world->planes[trunk->below];
    struct trib_master *master = master_above(plane);

    if (message->kind == TRIB_MESSAGE_AWAY) {
        trunk_lose_below(trunk, message);
        return;
    }
    if (message->kind == TRIB_MESSAGE_CHALLENGE) {
        struct trib_message proof = {.kind = TRIB_MESSAGE_PROOF, .proof = {.nonce = message->proof.nonce}};
        if (master != NULL || trib_masters_add_above(&plane->jobs.masters) == NULL) {
            world_fail(trunk->world, WORLD_CHECK_CONTROL, "switch %u has two masters above it", trunk->below);
        }
        wire_post(trunk, CONTROL_UP, &proof, 0);
    } else if (master != NULL) {
        trib_masters_receive(&plane->jobs.masters, master, message);
    }
    control_settle(plane);
}

/* ---- it ends ---- */

/* What has not come to the upper end never will. */
static void cut(struct world_wire *wire)
{
    wire->is_cut = true;
    wire->waiting = 0;
    wire->stream[CONTROL_UP].is_deaf = wire->stream[CONTROL_UP].is_deaf || !wire->is_begun;
}

void trunk_cut(const struct world_wire *trunk)
{
    const struct world *world = trunk->world;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        if (wire != NULL && wire_is_over(wire, trunk)) {
            cut(wire);
            wire_free_if_over(wire);
        }
    }
}

/* Nothing is sent any more, to a switch or a session. */
static void mark_lost(const struct world_wire *trunk)
{
    const struct world *world = trunk->world;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        if (wire == NULL || (wire != trunk && !wire_is_over(wire, trunk))) {
            continue;
        }
        wire->events++; /* it is held until the end of this loss */
        if (wire != trunk) {
            cut(wire);
            wire->stream[CONTROL_UP].is_deaf = true;
        }
        if (wire_is_trunk(wire) && wire->leaf != NULL) {
            trib_leaves_lose(wire->leaf);
        }
    }
}

static void tell_lost(struct world_wire *trunk, const char *cause)
{
    const struct world *world = trunk->world;
    struct trib_jobs *jobs = &trunk->world->planes[0].jobs;
    uint64_t now_ns = CONTROL_TIME + world->now_ns;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        if (wire == NULL || wire->over != trunk) {
            continue;
        }
        if (wire_is_trunk(wire)) {
            tell_lost(wire, cause);
        } else if (wire->is_begun) {
            trib_jobs_gone(jobs, &wire->session, cause, now_ns);
        }
    }
    if (trunk->leaf != NULL) {
        trib_leaves_remove(jobs, trunk->leaf, cause, now_ns);
        trunk->leaf = NULL;
    }
    for (uint32_t i = 0; i < world->wire_count; i++) {
        if (world->wires[i] != NULL && world->wires[i]->over == trunk) {
            world->wires[i]->session.leaf = NULL;
        }
    }
}

/* As server/channels.c has it: all are lost, sessions end, and a switch is removed after all that it carries. */
static void lose_all(struct world_wire *trunk, const char *cause)
{
    mark_lost(trunk);
    tell_lost(trunk, cause);
}

void trunk_lose_above(struct world_wire *trunk, const char *cause)
{
    struct world *world = trunk->world;

    world->planes[0].served = NULL;
    world->report->leaf_losses += trunk->leaf != NULL;
    lose_all(trunk, cause);
    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        if (wire != NULL && wire != trunk && wire_is_over(wire, trunk)) {
            wire->events--;
            wire_free_if_over(wire);
        }
    }
    wire_close(trunk, CONTROL_DOWN, 0);
    trunk->events--;
    wire_free_if_over(trunk);
}

/* Its controller is gone, and so is all that came over it. */
void trunk_lose_below(struct world_wire *trunk, const struct trib_message *word)
{
    struct world *world = trunk->world;
    struct world_plane *plane = &world->planes[trunk->below];
    struct trib_master *master = master_above(plane);

    trunk->events++;
    if (plane->trunk == trunk) {
        plane->trunk = NULL;
        if (master != NULL) {
            trib_masters_remove(&plane->jobs.masters, master);
        }
    }
    trunk_cut(trunk);
    for (uint32_t i = 0; i < world->wire_count; i++) {
        if (world->wires[i] != NULL && world->wires[i]->over == trunk) {
            wire_end_down(world->wires[i], word, 0);
        }
    }
    wire_close(trunk, CONTROL_UP, 0);
    control_settle(plane);
    trunk->events--;
    wire_free_if_over(trunk);
}

/* As the process of the root dies. */
static void forget_leaves(struct world_plane *plane)
{
    const struct world *world = plane->world;

    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        if (wire != NULL) {
            wire->session.leaf = NULL;
        }
        if (wire != NULL && wire_is_trunk(wire)) {
            wire->leaf = NULL;
        }
    }
    while (plane->jobs.leaves != NULL) {
        struct trib_remote *leaf = plane->jobs.leaves;
        plane->jobs.leaves = leaf->next;
        free(leaf);
    }
}

void trunk_forget(struct world_plane *plane)
{
    plane->trunk = NULL;
    if (plane->at == 0) {
        forget_leaves(plane);
    }
}

void trunk_shut(struct world *world)
{
    for (uint32_t i = 0; i < world->wire_count; i++) {
        struct world_wire *wire = world->wires[i];
        if (wire != NULL && wire_is_trunk(wire) && wire->leaf != NULL && wire->over == NULL) {
            lose_all(wire, "the switch is shutting down");
        }
    }
}
