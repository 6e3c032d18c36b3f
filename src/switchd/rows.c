/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c: see rows.h. */
#include "switchd/rows.h"

#include <inttypes.h>

#include "core/assert.h"
#include "io/log.h"
#include "io/memory.h"
#include "protocol/combining.h"

static struct trib_combiner_config config_of(uint32_t payload, uint32_t count)
{
    return (struct trib_combiner_config){.kernels = trib_value_kernels(),
                                         .rows = count,
                                         .payload = payload,
                                         .members = TRIB_ROWS_MEMBERS,
                                         .is_zeroed = true};
}

static size_t size_of(uint32_t payload, uint32_t count)
{
    const struct trib_combiner_config config = config_of(payload, count);
    return trib_pool_size(&config);
}

/* Rows that fit into the limit. */
static uint32_t count_rows(uint64_t limit, uint32_t payload)
{
    uint64_t each = (size_of(payload, 1024) - size_of(payload, 0)) / 1024 + 1;
    uint64_t count = limit / each;
    return (uint32_t)(count < UINT32_MAX / 2 ? count : UINT32_MAX / 2);
}

bool trib_rows_can_have(uint64_t limit)
{
    size_t size = size_of(TRIB_PAYLOAD_MAX, count_rows(limit, TRIB_PAYLOAD_MAX));
    void *pool = trib_memory_map(size);
    trib_memory_unmap(pool, size);
    return pool != NULL;
}

static bool make(struct trib_rows *rows, uint32_t payload)
{
    uint32_t count = count_rows(rows->limit, payload);
    const struct trib_combiner_config config = config_of(payload, count);
    size_t size = trib_pool_size(&config);
    TRIB_ASSERT(size <= size_of(payload, 0) + rows->limit);
    void *pool = trib_memory_map(size);
    if (pool == NULL) {
        return false;
    }
    trib_pool_init(pool, &config);
    rows->pool = pool;
    rows->size = size;
    rows->payload = payload;
    rows->rows = count;
    rows->shared = count;
    return true;
}

static bool enter(const struct trib_rows *rows, struct trib_member *member, struct trib_pool_share share)
{
    share.rows = member->adds ? share.rows : 0;
    share.priority = member->priority;
    share.pieces = member->pieces;
    bool are_in = true;
    if (member->pieces.count != 0) { /* rows of its own for each node */
        share.rows /= member->nodes;
    }
    for (uint32_t i = 0; i < member->nodes; i++) {
        share.group = (uint16_t)member->node[i].group;
        are_in = trib_pool_enter(rows->pool, member->node[i].node, &member->node[i], &share) && are_in;
        share.first_row += member->pieces.count != 0 ? share.rows : 0;
    }
    return are_in;
}

/* Number of own rows wanted by a member with pieces; 0 for other members. */
static uint64_t own_rows(const struct trib_member *member)
{
    return member->adds ? member->nodes * trib_pieces_rows(&member->pieces, member->span) : 0;
}

/* Logs a shortage of rows when it begins. */
static void tell_if_short(struct trib_rows *rows, uint32_t each, uint32_t count, uint64_t lacking)
{
    bool is_short = ((each == 0 && count > 0) || lacking > 0) && rows->limit > 0;
    if (lacking > 0 && !rows->is_short) {
        trib_log(TRIB_LOG_WARN,
                 "the pool of a shard has %" PRIu32 " rows, for payloads of %" PRIu32 " bytes, and lacks %" PRIu64
                 " for pieces that a plan has placed here; more parts pass: raise --pool",
                 rows->rows, rows->payload, lacking);
    } else if (is_short && !rows->is_short) {
        trib_log(TRIB_LOG_WARN,
                 "the pool of a shard has too few rows (%" PRIu32 ", for payloads of %" PRIu32
                 " bytes), communicators: %" PRIu32 "%s; all their parts pass: raise --pool",
                 rows->rows, rows->payload, count,
                 rows->is_static ? ", with as many rows each (--pool-share static)" : "");
    }
    rows->is_short = is_short;
}

/* Divides all rows anew. Parts in the rows before are lost, as packets can be. */
static bool share_out(struct trib_rows *rows, const struct trib_members *members)
{
    struct trib_pool_share share = {.first_row = 0};
    struct trib_pool_share own = {.first_row = rows->rows};
    uint64_t lacking = 0;
    uint32_t count = 0;
    bool are_in = true;
    for (uint32_t i = 0; i < members->count; i++) {
        uint64_t wanted = own_rows(members->list[i]);
        count += members->list[i]->adds && wanted == 0;
        if (wanted != 0) {
            own.rows = (uint32_t)(wanted < own.first_row ? wanted : own.first_row);
            own.first_row -= own.rows;
            lacking += wanted - own.rows;
            are_in = enter(rows, members->list[i], own) && are_in;
        }
    }
    rows->shared = own.first_row;
    share.rows = rows->shared / (rows->is_static && count > 0 ? count : 1);
    tell_if_short(rows, share.rows, count, lacking);
    for (uint32_t i = 0; i < members->count; i++) {
        if (members->list[i]->is_combiner && own_rows(members->list[i]) == 0) {
            are_in = enter(rows, members->list[i], share) && are_in;
            share.first_row += rows->is_static && members->list[i]->adds ? share.rows : 0;
        }
    }
    return are_in;
}

/* Moves all members to a pool with rows of another length. */
static bool renew(struct trib_rows *rows, const struct trib_members *members, uint32_t payload)
{
    const struct trib_rows former = *rows;
    if (!make(rows, payload)) {
        return false;
    }
    for (uint32_t i = 0; i < members->count; i++) {
        trib_rows_leave(members->list[i]);
    }
    if (former.pool != NULL) {
        trib_combiner_counters_add(&rows->counters, trib_pool_counters(former.pool));
        trib_memory_unmap(former.pool, former.size);
    }
    return share_out(rows, members);
}

/* True if the pool's rows suit the member. Longer rows are fewer, so a member alone gets rows of exactly its length. */
static bool are_of_length(const struct trib_rows *rows, const struct trib_members *members,
                          const struct trib_member *member)
{
    bool are_shared = false;
    for (uint32_t i = 0; i < members->count; i++) {
        are_shared = are_shared || (members->list[i] != member && members->list[i]->is_combiner);
    }
    return are_shared ? member->payload <= rows->payload : member->payload == rows->payload;
}

/* True if the pool has a place for each node of the members: then no node of a member is refused or removed later. */
static bool have_places(const struct trib_members *members)
{
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < members->count; i++) {
        nodes += members->list[i]->is_combiner ? members->list[i]->nodes : 0;
    }
    return nodes <= TRIB_ROWS_MEMBERS;
}

enum trib_status trib_rows_enter(struct trib_rows *rows, const struct trib_members *members, struct trib_member *member)
{
    const struct trib_pool_share all = {.rows = rows->shared};
    bool are_in = false;
    if (!have_places(members)) {
        trib_log(
            TRIB_LOG_WARN,
            "a shard combines for %d communicators at most, and each 64 ranks of a large one count as one: run fewer "
            "jobs at once, or put their ranks behind more switches",
            TRIB_ROWS_MEMBERS);
        return TRIB_ERR_REFUSED;
    }
    if (rows->pool == NULL || !are_of_length(rows, members, member)) {
        are_in = renew(rows, members, member->payload);
    } else {
        are_in = rows->is_static || own_rows(member) != 0 ? share_out(rows, members) : enter(rows, member, all);
    }
    return are_in ? TRIB_OK : TRIB_ERR_MEMORY;
}

void trib_rows_leave(struct trib_member *member)
{
    for (uint32_t i = 0; member->is_combiner && i < member->nodes; i++) {
        trib_pool_leave(member->node[i].node);
    }
}

void trib_rows_divide(struct trib_rows *rows, const struct trib_members *members, const struct trib_member *left)
{
    if ((rows->is_static || own_rows(left) != 0) && rows->pool != NULL) {
        (void)share_out(rows, members); /* all members have entered already */
    }
}

struct trib_member_node *trib_rows_next(const struct trib_rows *rows)
{
    return rows->pool != NULL ? trib_pool_next(rows->pool) : NULL;
}

void trib_rows_count(const struct trib_rows *rows, struct trib_plane_rows *sum)
{
    trib_combiner_counters_add(&sum->counters, &rows->counters);
    if (rows->pool != NULL) {
        trib_combiner_counters_add(&sum->counters, trib_pool_counters(rows->pool));
        sum->held += trib_pool_rows_held(rows->pool);
        sum->rows += rows->rows;
    }
}

void trib_rows_close(struct trib_rows *rows)
{
    if (rows->pool != NULL) {
        trib_memory_unmap(rows->pool, rows->size);
        rows->pool = NULL;
    }
}
