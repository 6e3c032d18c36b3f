/* SPDX-License-Identifier: Apache-2.0 */
/* plane.c: see plane.h. Memory is made before and freed after a shard's lock is held, so that packets do not wait
 * for it. */
#include "switchd/plane.h"

#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "io/explain.h"
#include "schemes/schemes.h"

static enum trib_status open_shard(const struct trib_switchd_config *config, struct trib_plane *plane, uint32_t index,
                                   char *error)
{
    struct trib_udp_config udp = {
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
        if (port > UINT16_MAX) {
            trib_explain(error,
                         "no port left for shard %u: %u shards take port %u and those behind it: choose %u or lower",
                         index, config->threads, trib_address_port(&first), UINT16_MAX + 1 - config->threads);
            return TRIB_ERR_INVALID;
        }
        trib_address_set_port(&udp.local, (uint16_t)port);
    }
    enum trib_status status = trib_shard_open(&plane->shard[index], &udp, plane->boot, error);
    plane->shard[index].spin.limit_ns = plane->shard[index].spin.length_ns = (uint64_t)config->spin_us * 1000;
    plane->shards = index + 1; /* what is half open is closed as well */
    return status;
}

enum trib_status trib_plane_open(const struct trib_switchd_config *config, uint32_t boot, struct trib_plane **plane,
                                 char *error)
{
    struct trib_plane *made = calloc(1, sizeof *made);
    if (made == NULL) {
        trib_explain(error, "out of memory for the data plane");
        return TRIB_ERR_MEMORY;
    }
    made->boot = boot;
    for (uint32_t i = 0; i < config->threads; i++) {
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
    trib_udp_local(plane->shard[0].udp, local);
}

uint32_t trib_plane_receive_room(const struct trib_plane *plane)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < plane->shards; i++) {
        uint32_t room = trib_udp_receive_room(plane->shard[i].udp);
        least = room < least ? room : least;
    }
    return least;
}

/* A fragment never goes to a shard beyond the communicator's roots. */
static uint32_t shards_of(const struct trib_plane *plane, const struct trib_session_config *session)
{
    return session->roots < plane->shards ? session->roots : plane->shards;
}

static void close_communicator(void *owner, uint32_t communicator)
{
    struct trib_plane *plane = owner;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        trib_shard_enter(shard);
        struct trib_member *member = trib_members_find(&shard->members, communicator);
        if (member != NULL) {
            trib_members_remove(&shard->members, member);
        }
        trib_shard_leave(shard);
        trib_member_destroy(member);
    }
}

static bool open_member(struct trib_shard *shard, const struct trib_switch_verbs *verbs,
                        const struct trib_switch_config *config, const struct trib_address *addresses)
{
    struct trib_member *member = trib_member_create(verbs, config, addresses);
    if (member == NULL) {
        return false;
    }
    verbs->init(member->node, config);
    trib_shard_enter(shard);
    bool added = trib_members_add(&shard->members, member);
    trib_shard_leave(shard);
    if (!added) {
        trib_member_destroy(member);
    }
    return added;
}

static enum trib_status open_communicator(void *owner, const struct trib_opening *opening)
{
    struct trib_plane *plane = owner;
    const struct trib_session_config *session = &opening->session;
    const struct trib_scheme *row = trib_scheme_find(opening->scheme);
    if (row == NULL || session->ranks == 0 || session->ranks > TRIB_CHILDREN_MAX || session->roots > plane->shards) {
        return TRIB_ERR_INVALID;
    }
    if (opening->parent != NULL || opening->count != session->ranks) {
        return TRIB_ERR_UNSUPPORTED; /* its nodes are no children yet, and have none that are switches */
    }
    for (uint32_t i = 0; i < session->roots; i++) {
        struct trib_switch_config config = {.session = *session,
                                            .kernels = trib_value_kernels(),
                                            .children = session->ranks,
                                            .root = i,
                                            .boot = opening->boot};
        struct trib_address from[TRIB_CHILDREN_MAX];
        config.session.salt = 0;
        for (uint32_t rank = 0; rank < session->ranks; rank++) {
            from[rank] = opening->branches[rank].address[i];
        }
        if (!open_member(&plane->shard[i], row->switch_node, &config, from)) {
            close_communicator(plane, session->communicator);
            return TRIB_ERR_MEMORY;
        }
    }
    return TRIB_OK;
}

static void join_communicator(void *owner, uint32_t communicator, uint32_t rank, uint64_t mark)
{
    struct trib_plane *plane = owner;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        trib_shard_enter(shard);
        struct trib_member *member = trib_members_find(&shard->members, communicator);
        if (member != NULL && rank < member->ranks) {
            member->verbs->join(member->node, rank, mark);
            member->is_touched = true;
        }
        trib_shard_leave(shard);
    }
}

/* No communicator here has a parent. */
static void learn_mark(void *owner, uint32_t communicator, uint64_t mark)
{
    (void)owner;
    (void)communicator;
    (void)mark;
}

static void probe_parent(void *owner, uint32_t communicator)
{
    (void)owner;
    (void)communicator;
}

static bool parent_answered(void *owner, uint32_t communicator)
{
    (void)owner;
    (void)communicator;
    return false;
}

static uint64_t communicator_mark(void *owner, uint32_t communicator)
{
    struct trib_plane *plane = owner;
    uint64_t smallest = UINT64_MAX;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        trib_shard_enter(shard);
        const struct trib_member *member = trib_members_find(&shard->members, communicator);
        uint64_t mark = member == NULL ? 0 : member->verbs->communicator_mark(member->node);
        trib_shard_leave(shard);
        smallest = mark < smallest ? mark : smallest;
    }
    return smallest;
}

static void set_multicast(void *owner, uint32_t communicator, uint32_t group, uint16_t port)
{
    struct trib_plane *plane = owner;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        trib_shard_enter(shard);
        struct trib_member *member = trib_members_find(&shard->members, communicator);
        if (member != NULL) {
            member->is_multicast = group != 0;
            member->group = trib_address_v4(group, (uint16_t)(port + i));
        }
        trib_shard_leave(shard);
    }
}

static void probe_multicast(void *owner, uint32_t communicator, uint32_t group, uint16_t port)
{
    static const uint8_t zeros[TRIB_PAYLOAD_MAX];
    struct trib_plane *plane = owner;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        struct trib_address to = trib_address_v4(group, (uint16_t)(port + i));
        trib_shard_enter(shard);
        const struct trib_member *member = trib_members_find(&shard->members, communicator);
        if (member != NULL) {
            const struct trib_packet packet = {
                .kind = TRIB_PATH,
                .communicator = communicator,
                .generation = member->generation,
                .boot = plane->boot,
                .payload_len = (uint16_t)member->payload,
                .payload = zeros,
            };
            trib_udp_send(shard->udp, &packet, &to, 1);
        }
        trib_shard_leave(shard); /* sends it, while `to` still stands */
    }
}

static size_t slot_bytes(void *owner, const struct trib_opening *opening)
{
    const struct trib_scheme *row = trib_scheme_find(opening->scheme);
    return row == NULL ? 0 : row->slot_bytes(&opening->session) * shards_of(owner, &opening->session);
}

static void add_counters(struct trib_counters *sum, const struct trib_counters *counters)
{
#define X(name, help) sum->name += counters->name;
    TRIB_COUNTER_MAP(X)
#undef X
    for (int i = 0; i < TRIB_DROP_COUNT; i++) {
        sum->dropped[i] += counters->dropped[i];
    }
}

/* Writes the ranks of a bitmap, at most max; returns how many. */
static uint32_t list_ranks(uint64_t bitmap, uint16_t *ranks, uint32_t max)
{
    uint32_t count = 0;
    for (uint16_t rank = 0; rank < TRIB_CHILDREN_MAX && count < max; rank++) {
        if ((bitmap >> rank & 1) != 0) {
            ranks[count++] = rank;
        }
    }
    return count;
}

static bool report(void *owner, uint32_t communicator, struct trib_plane_report *report)
{
    struct trib_plane *plane = owner;
    bool found = false;
    memset(report, 0, sizeof *report);
    uint64_t sequence = UINT64_MAX;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        trib_shard_enter(shard);
        const struct trib_member *member = trib_members_find(&shard->members, communicator);
        if (member != NULL) {
            uint64_t oldest = UINT64_MAX;
            uint64_t absent = member->verbs->missing(member->node, &oldest);
            found = true;
            add_counters(&report->counters, member->verbs->counters(member->node));
            report->slots_held += member->verbs->slots_held(member->node);
            if (absent != 0 && oldest < sequence) {
                report->missing_count = list_ranks(absent, report->missing, TRIB_RANKS_MAX);
                report->sequence = sequence = oldest;
            }
        }
        trib_shard_leave(shard);
    }
    return found;
}

/* The nodes know it of their oldest open slot only. */
static uint32_t missing_ranks(void *owner, uint32_t communicator, uint64_t sequence, uint16_t *ranks, uint32_t max)
{
    struct trib_plane *plane = owner;
    uint64_t absent = 0;
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        trib_shard_enter(shard);
        const struct trib_member *member = trib_members_find(&shard->members, communicator);
        uint64_t oldest = UINT64_MAX;
        uint64_t lacks = member == NULL ? 0 : member->verbs->missing(member->node, &oldest);
        absent |= oldest == sequence ? lacks : 0;
        trib_shard_leave(shard);
    }
    return list_ranks(absent, ranks, max);
}

static void traffic(void *owner, struct trib_udp_stats *sum)
{
    struct trib_plane *plane = owner;
    memset(sum, 0, sizeof *sum);
    for (uint32_t i = 0; i < plane->shards; i++) {
        struct trib_shard *shard = &plane->shard[i];
        trib_shard_enter(shard);
        trib_udp_stats_add(sum, trib_udp_stats(shard->udp));
        trib_shard_leave(shard);
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
        trib_shard_leave(shard);
    }
}

struct trib_data_plane trib_plane_verbs(struct trib_plane *plane)
{
    return (struct trib_data_plane){
        .plane = plane,
        .open = open_communicator,
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
    };
}
