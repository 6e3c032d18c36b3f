/* SPDX-License-Identifier: Apache-2.0 */
/* plane.c: see plane.h. Memory is allocated before a shard's lock is taken and freed after, so that packets do not wait
 * for it. */
#include "switchd/plane.h"

#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "io/explain.h"
#include "protocol/combining.h"
#include "schemes/schemes.h"

static enum trib_status open_shard(const struct trib_switchd_config *config, struct trib_plane *plane, uint32_t index,
                                   char *error)
{
    struct trib_port_config udp = {
        .local = config->listen,
        .payload = TRIB_PAYLOAD_MAX,
        .buffer = config->buffer,
        .dscp = config->dscp,
        .trains = config->trains,
        .faults = config->faults,
    };
    udp.faults.seed = trib_mix64(config->faults.seed + index);
    if (index > 0) {
        struct trib_address first;
        trib_plane_local(plane, &first);
        uint32_t port = trib_address_port(&first) + index;
        uint32_t shards = trib_switchd_shards(config);
        if (port > UINT16_MAX) {
            trib_explain(
                error,
                "no port left for shard %u: %u shards need port %u and the following ports: choose port %u or lower",
                index, shards, trib_address_port(&first), UINT16_MAX + 1 - shards);
            return TRIB_ERR_INVALID;
        }
        uint32_t place = index % (config->also.count + 1);
        if (place > 0) {
            udp.local = config->also.at[place - 1];
        }
        trib_address_set_port(&udp.local, (uint16_t)port);
    }
    enum trib_status status = trib_shard_open(&plane->shard[index], &udp, error);
    plane->shard[index].backlog = config->backlog;
    plane->shard[index].rows.limit = config->pool / trib_switchd_shards(config);
    plane->shard[index].rows.is_static = config->is_pool_static;
    trib_spin_init(&plane->shard[index].spin, config->spin_us * TRIB_MICROSECOND_NS);
    trib_spin_init(&plane->shard[index].train_spin, config->spin_us * TRIB_MICROSECOND_NS / TRIB_SPIN_TRAIN);
    plane->shards = index + 1; /* a half-open shard is closed as well */
    if (status == TRIB_OK && config->parent.len > 0 && !trib_rows_can_have(plane->shard[index].rows.limit)) {
        trib_explain(error, "no memory for a pool of this size: choose a smaller one (--pool)");
        return TRIB_ERR_MEMORY;
    }
    return status;
}

enum trib_status trib_plane_open(const struct trib_switchd_config *config, struct trib_plane **plane, char *error)
{
    struct trib_plane *made = calloc(1, sizeof *made);
    if (made == NULL) {
        trib_explain(error, "out of memory for the data plane");
        return TRIB_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < trib_switchd_shards(config); i++) {
        enum trib_status status = open_shard(config, made, i, error);
        if (status != TRIB_OK) {
            trib_plane_close(made);
            return status;
        }
    }
    *plane = made;
    return TRIB_OK;
}

enum trib_status trib_plane_start(struct trib_plane *plane, const struct trib_shard_listener *listener, char *error)
{
    for (uint32_t i = 0; i < plane->shards; i++) {
        enum trib_status status = trib_shard_start(&plane->shard[i], listener, error);
        if (status != TRIB_OK) {
            return status;
        }
    }
    return TRIB_OK;
}

void trib_plane_stop(struct trib_plane *plane)
{
    for (uint32_t i = 0; i < plane->shards; i++) {
        trib_shard_stop(&plane->shard[i]);
    }
}

void trib_plane_close(struct trib_plane *plane)
{
    if (plane == NULL) {
        return;
    }
    for (uint32_t i = 0; i < plane->shards; i++) {
        trib_shard_close(&plane->shard[i]);
    }
    free(plane);
}

void trib_plane_local(const struct trib_plane *plane, struct trib_address *local)
{
    trib_port_local(plane->shard[0].port, local);
}

uint32_t trib_plane_receive_room(const struct trib_plane *plane)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < plane->shards; i++) {
        uint32_t room = trib_port_receive_room(plane->shard[i].port);
        least = room < least ? room : least;
    }
    return least;
}

static void done_reading(struct trib_plane *plane, uint32_t shard)
{
    trib_shard_leave_unchanged(&plane->shard[shard]);
}

/* Finds a communicator on a shard and takes the shard's lock until leave_member, or done_reading if nothing has
 * changed. NULL: no such communicator, and the lock is free. */
static struct trib_member *enter_member(struct trib_plane *plane, uint32_t shard, uint32_t communicator)
{
    trib_shard_enter(&plane->shard[shard]);
    struct trib_member *member = trib_members_find(&plane->shard[shard].members, communicator);
    if (member == NULL) {
        done_reading(plane, shard);
    }
    return member;
}

static void leave_member(struct trib_plane *plane, uint32_t shard)
{
    trib_shard_leave(&plane->shard[shard]);
}

/* ---- opening and closing communicators ---- */

static void close_communicator(void *owner, uint32_t communicator)
{
    struct trib_plane *plane = owner;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_member *member = enter_member(plane, i, communicator);
        if (member != NULL) {
            trib_members_remove(&plane->shard[i].members, member);
            trib_rows_leave(member);
            trib_rows_divide(&plane->shard[i].rows, &plane->shard[i].members, member);
            trib_shard_settle(&plane->shard[i]);
            leave_member(plane, i);
            trib_member_destroy(member);
        }
    }
}

static const struct trib_switch_verbs *verbs_of(const struct trib_scheme *row, const struct trib_opening *opening)
{
    return trib_opening_is_combiner(opening) ? &trib_combining_verbs : row->switch_node;
}

/* A packet's source address tells parent from child, so the parent's address must differ from every child's. */
static bool is_parent_apart(const struct trib_opening *opening)
{
    bool is_apart = true;
    for (uint32_t i = 0; opening->parent != NULL && i < opening->count; i++) {
        is_apart = is_apart && !trib_address_equal(opening->parent, &opening->branches[i].from);
    }
    return is_apart;
}

/* True if this plane can serve the opening. */
static bool can_be(const struct trib_plane *plane, const struct trib_scheme *row, const struct trib_opening *opening)
{
    uint32_t roots = opening->session.roots;
    return row != NULL && row->switch_node != NULL && opening->root < roots && roots <= TRIB_ROOTS_MAX &&
           opening->shard < plane->shards &&
           trib_members_find(&plane->shard[opening->shard].members, opening->session.communicator) == NULL &&
           trib_tree_is_sound(opening) && is_parent_apart(opening);
}

static enum trib_status add_member(struct trib_shard *shard, struct trib_member *member)
{
    trib_shard_enter(shard);
    enum trib_status status = trib_members_add(&shard->members, member) ? TRIB_OK : TRIB_ERR_MEMORY;
    if (status == TRIB_OK && member->is_combiner) {
        status = trib_rows_enter(&shard->rows, &shard->members, member);
        if (status != TRIB_OK) {
            trib_members_remove(&shard->members, member);
        }
    }
    trib_shard_settle(shard);
    trib_shard_leave(shard);
    return status;
}

static enum trib_status open_root(void *owner, const struct trib_opening *opening)
{
    struct trib_plane *plane = owner;
    const struct trib_scheme *row = trib_scheme_find(opening->scheme);
    if (!can_be(plane, row, opening)) {
        return TRIB_ERR_INVALID;
    }
    struct trib_member *member = trib_member_create(verbs_of(row, opening), opening);
    if (member != NULL) {
        member->follows_congestion = row->follows_congestion;
        member->adds = row->has_combiners && (!row->has_pieces || opening->pieces.own != 0);
        member->priority = opening->priority;
    }
    enum trib_status status = member != NULL ? add_member(&plane->shard[opening->shard], member) : TRIB_ERR_MEMORY;
    if (status != TRIB_OK) {
        trib_member_destroy(member);
        close_communicator(plane, opening->session.communicator);
    }
    return status;
}

static size_t slot_bytes(void *owner, const struct trib_opening *opening)
{
    const struct trib_scheme *row = trib_scheme_find(opening->scheme);
    (void)owner;
    return row == NULL || !trib_tree_is_sound(opening) ? 0 : trib_member_size(verbs_of(row, opening), opening);
}

/* ---- marks ---- */

static void join_communicator(void *owner, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    struct trib_plane *plane = owner;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_member *member = enter_member(plane, i, communicator);
        if (member != NULL && !trib_tree_join(member->tree, rank, mark)) {
            done_reading(plane, i);
        } else if (member != NULL) {
            trib_member_join(member, rank);
            leave_member(plane, i);
        }
    }
}

static void learn_mark(void *owner, uint32_t communicator, uint64_t mark)
{
    struct trib_plane *plane = owner;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_member *member = enter_member(plane, i, communicator);
        if (member != NULL && !member->has_parent) {
            done_reading(plane, i); /* a root's own mark is newer */
        } else if (member != NULL) {
            trib_member_learn_mark(member, mark);
            leave_member(plane, i);
        }
    }
}

static uint64_t communicator_mark(void *owner, uint32_t communicator)
{
    struct trib_plane *plane = owner;
    uint64_t smallest = TRIB_NEVER;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_member *member = enter_member(plane, i, communicator);
        if (member != NULL) {
            uint64_t mark = trib_member_mark(member);
            if (trib_member_share_mark(member)) {
                leave_member(plane, i);
            } else {
                done_reading(plane, i);
            }
            smallest = mark < smallest ? mark : smallest;
        }
    }
    return smallest == TRIB_NEVER ? 0 : smallest;
}

/* ---- paths ---- */

static void probe_parent(void *owner, uint32_t communicator)
{
    struct trib_plane *plane = owner;
    for (uint32_t i = 0; i < plane->shards; i++) {
        const struct trib_member *member = enter_member(plane, i, communicator);
        if (member != NULL) {
            if (member->has_parent) {
                trib_shard_probe_parent(&plane->shard[i], member);
            }
            leave_member(plane, i);
        }
    }
}

static bool parent_answered(void *owner, uint32_t communicator, struct trib_address *silent)
{
    struct trib_plane *plane = owner;
    uint32_t members = 0;
    uint32_t answers = 0;
    for (uint32_t i = 0; i < plane->shards; i++) {
        const struct trib_member *member = enter_member(plane, i, communicator);
        if (member != NULL) {
            members++;
            answers += member->has_answer;
            if (silent != NULL && members == answers + 1 && !member->has_answer) { /* the first */
                *silent = member->parent;
            }
            done_reading(plane, i);
        }
    }
    return members > 0 && answers == members;
}

static void set_multicast(void *owner, uint32_t communicator, uint32_t group, uint16_t port)
{
    struct trib_plane *plane = owner;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_member *member = enter_member(plane, i, communicator);
        if (member != NULL) {
            member->is_multicast = group != 0 && member->hearers != 0;
            member->group = trib_address_v4(group, (uint16_t)(port + i));
            leave_member(plane, i);
        }
    }
}

/* A group without hearers is not probed, so no rank will report that multicast works. */
static void probe_multicast(void *owner, uint32_t communicator, uint32_t group, uint16_t port)
{
    struct trib_plane *plane = owner;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_address to = trib_address_v4(group, (uint16_t)(port + i));
        const struct trib_member *member = enter_member(plane, i, communicator);
        if (member != NULL) {
            if (member->hearers != 0) {
                trib_shard_probe_group(&plane->shard[i], member, &to);
            }
            leave_member(plane, i); /* flushes the probe, while `to` is still valid */
        }
    }
}

/* ---- reports ---- */

static bool report(void *owner, uint32_t communicator, struct trib_plane_report *report)
{
    struct trib_plane *plane = owner;
    bool found = false;
    uint64_t oldest = TRIB_NEVER;
    memset(report, 0, sizeof *report);
    for (uint32_t i = 0; i < plane->shards; i++) {
        const struct trib_member *member = enter_member(plane, i, communicator);
        if (member == NULL) {
            continue;
        }
        found = true;
        trib_member_count(member, &report->counters);
        report->cap = report->cap == 0 || member->cap < report->cap ? member->cap : report->cap;
        report->flagged += member->flagged;
        report->slots_held += trib_member_slots_held(member);
        report->memory_held += trib_member_memory_held(member);
        uint64_t sequence = trib_member_oldest(member);
        if (sequence < oldest) {
            struct trib_tree_ranks ranks = {{0}};
            oldest = sequence;
            trib_member_missing(member, sequence, &ranks);
            report->sequence = sequence;
            report->missing_count = trib_tree_list(&ranks, report->missing, TRIB_RANKS_MAX);
        }
        done_reading(plane, i);
    }
    return found;
}

static uint32_t missing_ranks(void *owner, uint32_t communicator, uint64_t sequence, uint16_t *ranks, uint32_t max)
{
    struct trib_plane *plane = owner;
    struct trib_tree_ranks missing = {{0}};
    for (uint32_t i = 0; i < plane->shards; i++) { /* one shard has the sequence; the others add no rank */
        const struct trib_member *member = enter_member(plane, i, communicator);
        if (member != NULL) {
            trib_member_missing(member, sequence, &missing);
            done_reading(plane, i);
        }
    }
    return trib_tree_list(&missing, ranks, max);
}

static void traffic(void *owner, struct trib_port_stats *sum)
{
    struct trib_plane *plane = owner;
    memset(sum, 0, sizeof *sum);
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        trib_shard_enter(shard);
        trib_port_stats_add(sum, trib_port_stats(shard->port));
        trib_shard_leave_unchanged(shard);
    }
}

static void drops(void *owner, uint64_t dropped[TRIB_DROP_COUNT])
{
    struct trib_plane *plane = owner;
    memset(dropped, 0, TRIB_DROP_COUNT * sizeof *dropped);
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        trib_shard_enter(shard);
        for (int k = 0; k < TRIB_DROP_COUNT; k++) {
            dropped[k] += shard->dropped[k];
        }
        trib_shard_leave_unchanged(shard);
    }
}

static void count_rows(void *owner, struct trib_plane_rows *rows)
{
    struct trib_plane *plane = owner;
    memset(rows, 0, sizeof *rows);
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        trib_shard_enter(shard);
        trib_rows_count(&shard->rows, rows);
        trib_shard_leave_unchanged(shard);
    }
}

struct trib_data_plane trib_plane_verbs(struct trib_plane *plane)
{
    return (struct trib_data_plane){
        .plane = plane,
        .open = open_root,
        .close = close_communicator,
        .join = join_communicator,
        .learn_mark = learn_mark,
        .probe_parent = probe_parent,
        .parent_answered = parent_answered,
        .communicator_mark = communicator_mark,
        .multicast = set_multicast,
        .probe_multicast = probe_multicast,
        .slot_bytes = slot_bytes,
        .report = report,
        .missing = missing_ranks,
        .traffic = traffic,
        .drops = drops,
        .rows = count_rows,
    };
}
