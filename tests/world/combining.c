/* SPDX-License-Identifier: Apache-2.0 */
/* combining.c: pools of rows as a driver has them (switchd/rows.c): made for the first communicator on a shard, shared
 * by all, drained after each buffer of packets, lost with the switch, or alone. A pool has few rows or none, and rows
 * may be shorter than payloads, as its seed and its number say. Read next: link.c. */
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "swarm.h"
#include "switchd/members.h"

#define BURST 8        /* packets of one buffer, at most */
#define NODES_MAX 1024 /* of a unit */

static struct parcel held[BURST];
static uint32_t held_count;

/* ---- who is behind whom ---- */

static uint64_t find_behind(const struct shape_node *node, const struct world_unit *from)
{
    uint64_t behind = 0;

    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct shape_child *child = &node->children[i];
        bool is = from->is_worker ? child->via == 0 && child->index == from->rank : child->via == from->at + 1;
        behind |= (uint64_t)(is && child->kind == SHAPE_RANK) << i;
    }
    return behind;
}

static bool is_grouped(const struct world_unit *unit, const struct world_unit *from)
{
    return combining_is_large(unit->comm) && !from->is_worker;
}

uint32_t combining_node(const struct world_unit *unit, const struct world_unit *from, uint16_t name, uint64_t *children)
{
    const struct shape_switch *shape = &unit->comm->tree[unit->root]->shapes[unit->at];

    for (uint32_t i = 0; i < shape->node_count; i++) {
        *children = find_behind(&shape->nodes[i], from);
        if (*children != 0 && (!is_grouped(unit, from) || shape->nodes[i].group == trib_member_group(name))) {
            return i;
        }
    }
    return WORLD_NONE;
}

uint32_t combining_node_below(const struct world_unit *unit, uint16_t name)
{
    const struct shape_switch *shape = &unit->comm->tree[unit->root]->shapes[unit->at];
    bool is_large = combining_is_large(unit->comm);

    for (uint32_t i = 0; i < shape->node_count; i++) {
        if (!is_large || shape->nodes[i].group == trib_member_group(name)) {
            return i;
        }
    }
    return WORLD_NONE;
}

uint16_t combining_name(const struct world_comm *comm, const struct shape_node *node, uint16_t number)
{
    return combining_is_large(comm) ? trib_member_name(node->group, number) : number;
}

uint16_t combining_unname(const struct world_unit *unit, const struct world_unit *from, uint16_t name)
{
    return world_has_servers(unit->comm->world) && !unit->is_worker && is_grouped(unit, from) ? trib_member_unname(name)
                                                                                              : name;
}

bool combining_has(const struct shape_node *node)
{
    bool has = false;

    for (uint32_t i = 0; i < node->child_count; i++) {
        has = has || node->children[i].via != 0;
    }
    return has;
}

uint64_t combining_together(const struct shape_node *node, uint32_t child)
{
    uint64_t together = UINT64_C(1) << child;

    for (uint32_t i = 0; i < node->child_count && node->children[child].via != 0; i++) {
        together |= (uint64_t)(node->children[i].via == node->children[child].via) << i;
    }
    return together;
}

struct rank_set combining_named(const struct world_comm *comm, const struct shape_node *node,
                                const struct trib_packet *packet)
{
    struct rank_set set = {0};
    uint32_t first = node->group * comm->set.groups;
    uint64_t numbers = packet->bitmap;

    if (packet->kind != TRIB_CONTRIBUTION || numbers == 0) {
        numbers = UINT64_C(1) << packet->node % TRIB_CHILDREN_MAX;
    }
    for (; numbers != 0; numbers &= numbers - 1) {
        rank_set_add(&set, (first + (uint32_t)__builtin_ctzll(numbers)) % WORLD_RANKS_MAX);
    }
    return set;
}

/* ---- pools ---- */

static struct world_pool *pool_of(const struct world_unit *unit)
{
    return &unit->comm->world->pools[unit->at][unit->root];
}

static void make_pool(struct world *world, uint32_t at, uint32_t root)
{
    struct world_pool *pool = &world->pools[at][root];
    struct trib_prng prng = {.state = trib_mix64(world->seed ^ ((uint64_t)pool->lives++ << 16 | at << 8 | root))};
    bool is_short = swarm_one_in(&prng, 8);
    struct trib_combiner_config config = {
        .kernels = trib_value_kernels(),
        .rows = swarm_one_in(&prng, 8) ? 0 : (uint32_t)swarm_logarithmic(&prng, 6),
        .payload = is_short ? 64 * (uint32_t)swarm_between(&prng, 1, 8) : WORLD_PARCEL_MAX - TRIB_HEADER_SIZE,
        .members = WORLD_COMMS_MAX * WORLD_RANKS_MAX, /* a node has one rank at least */
        .is_narrow = swarm_one_in(&prng, 4),
        .is_zeroed = swarm_one_in(&prng, 2),
    };
    size_t size = trib_pool_size(&config);

    pool->rows = config.rows;
    pool->memory = aligned_alloc(64, (size + 63) & ~(size_t)63);
    if (pool->memory == NULL) {
        exit(2);
    }
    memset(pool->memory, config.is_zeroed ? 0 : 0xa5, size);
    trib_pool_init(pool->memory, &config);
}

static void end_pool(struct world *world, struct world_pool *pool)
{
    if (pool->memory != NULL) {
        trib_combiner_counters_add(&world->report->combiner, trib_pool_counters(pool->memory));
        free(pool->memory);
        pool->memory = NULL;
    }
}

/* Rows for the pieces, as far as there are some. Those of two communicators may be the same: then they collide. */
static void own_rows(const struct world_unit *unit, struct trib_pool_share *share)
{
    uint32_t rows = share->rows;
    uint64_t wanted;

    share->pieces = unit->comm->members[unit->at].pieces;
    wanted = share->pieces.own == 0 ? 0 : trib_pieces_rows(&share->pieces, trib_window_span(&unit->comm->set.session));
    share->first_row = rows != 0 ? (uint32_t)(trib_mix64(unit->comm->index) % rows) : 0;
    share->rows = (uint32_t)(wanted < rows - share->first_row ? wanted : rows - share->first_row);
}

void combining_enter(struct world_unit *unit)
{
    struct world *world = unit->comm->world;
    struct world_pool *pool = pool_of(unit);
    struct trib_pool_share share = {.priority = unit->comm->members[unit->at].priority};

    if (pool->memory == NULL) {
        make_pool(world, unit->at, unit->root);
    }
    share.rows = world->scheme->has_combiners ? pool->rows : 0;
    if (world->scheme->has_pieces) {
        own_rows(unit, &share);
    }
    for (uint32_t i = 0; i < unit->node_count; i++) {
        uintptr_t owner = (uintptr_t)unit_number(world, unit) * NODES_MAX + i;
        share.group = (uint16_t)unit->comm->tree[unit->root]->shapes[unit->at].nodes[i].group;
        if (!trib_pool_enter(pool->memory, unit->nodes[i].memory, (void *)owner, &share)) {
            world_fail(world, WORLD_CHECK_MISUSE, "a pool has no place for communicator %u", unit->comm->index);
        }
    }
}

void combining_leave(struct world_unit *unit)
{
    for (uint32_t i = 0; i < unit->node_count; i++) {
        trib_pool_leave(unit->nodes[i].memory);
    }
}

void combining_renew(struct world *world, uint32_t at)
{
    for (uint32_t root = 0; root < WORLD_ROOTS_MAX; root++) {
        struct world_pool *pool = &world->pools[at][root];
        world->report->pools += pool->memory != NULL;
        for (uint32_t again = 0; again < 2; again++) {
            for (uint32_t i = 1; i < world->unit_count; i++) {
                struct world_unit *unit = &world->units[i];
                bool is_in = unit->is_open && !unit->is_worker && unit->at == at && unit->root == root;
                if (is_in) {
                    (again == 0 ? combining_leave : combining_enter)(unit);
                }
            }
            if (again == 0) {
                end_pool(world, pool);
            }
        }
    }
}

void combining_end(struct world *world, uint32_t at)
{
    for (uint32_t root = 0; root < WORLD_ROOTS_MAX; root++) {
        end_pool(world, &world->pools[at][root]);
    }
}

/* ---- buffers of packets ---- */

const struct parcel *combining_hold(const struct parcel *parcel)
{
    struct parcel *copy = &held[held_count++];

    copy->len = parcel->len;
    memcpy(copy->data, parcel->data, parcel->len);
    return copy;
}

bool combining_is_full(const struct world *world, const struct world_unit *unit)
{
    return held_count >= 1 + (world->now_ns / 64 + unit->rank) % BURST;
}

/* All that waits, of any communicator; then the buffer is another one's. */
void combining_drain(struct world *world, const struct world_unit *unit)
{
    void *pool = pool_of(unit)->memory;
    void *owner;
    struct trib_packet packet;
    struct trib_place to;

    while (world->failed == WORLD_CHECK_NONE && (owner = trib_pool_next(pool)) != NULL) {
        uint32_t number = (uint32_t)((uintptr_t)owner / NODES_MAX);
        uint32_t index = (uint32_t)((uintptr_t)owner % NODES_MAX);
        void *node = world->units[number].nodes[index].memory;
        if (!trib_combining_verbs.node.next_packet(node, world->now_ns, &packet, &to)) {
            world_fail(world, WORLD_CHECK_MISUSE, "a pool names a node that has no packet");
            return;
        }
        unit_give(world, number, index, &packet, &to);
    }
    memset(held, 0xa5, held_count * sizeof held[0]);
    held_count = 0;
}
