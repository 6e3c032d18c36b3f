/* SPDX-License-Identifier: Apache-2.0 */
/* panama_literal_switch.c: an accelerator with one job and one tree as a switch node. Its ports are the node's
 * children. In a tree of accelerators sums go to the parent, and results go down by multicast without processing. Read
 * next: accelerator.c (the rule). */
#include <string.h>

#include "core/assert.h"
#include "core/counters.h"
#include "core/quorum.h"
#include "core/window.h"
#include "published/panama_literal/accelerator.h"
#include "published/panama_literal/panama_literal.h"
#include "published/rule.h"

struct literal_switch {
    struct trib_switch_config config;
    struct trib_window window;
    struct trib_published_marks marks;
    uint32_t down_head, down_count, down_room; /* queue of results on the way down */
    uint32_t unused;
    size_t table_at, accelerator_at, down_at, payloads_at, counters_at;
};

static void *at(const struct literal_switch *n, size_t offset)
{
    return (char *)(uintptr_t)n + offset;
}

static void *accelerator_of(const struct literal_switch *n)
{
    return at(n, n->accelerator_at);
}

static struct trib_counters *counters_of(const struct literal_switch *n)
{
    return at(n, n->counters_at);
}

static struct trib_accelerator_config accelerator_config(const struct trib_switch_config *config, uint32_t readings)
{
    return (struct trib_accelerator_config){
        .kernels = config->kernels,
        .ports = config->children,
        .jobs = 1,
        .trees = config->root + 1, /* this node receives packets of the last tree only */
        .room = config->session.slots,
        .payload = config->session.payload,
        .readings = readings,
        .spare = trib_quorum_spare(&config->session, config->children),
        .may_lack = trib_session_has_quorum(&config->session),
    };
}

/* ---- memory ---- */

static size_t lay_out(struct literal_switch *n, const struct trib_switch_config *config)
{
    struct trib_accelerator_config accelerator = accelerator_config(config, 0);
    size_t end = (sizeof *n + 63) & ~(size_t)63;

    n->down_room = config->has_parent ? config->session.slots : 0;
    n->table_at = trib_node_place(&end, trib_window_table_size(&config->session));
    n->down_at = trib_node_place(&end, n->down_room * sizeof(struct trib_packet));
    n->payloads_at = trib_node_place(&end, (size_t)n->down_room * config->session.payload);
    n->accelerator_at = trib_node_place(&end, trib_accelerator_size(&accelerator));
    n->counters_at = trib_node_place(&end, sizeof(struct trib_counters));
    return end;
}

static size_t literal_size(const struct trib_switch_config *config)
{
    struct literal_switch scratch;

    return lay_out(&scratch, config);
}

static void init(struct literal_switch *n, const struct trib_switch_config *config, uint32_t readings)
{
    struct trib_accelerator_config accelerator = accelerator_config(config, readings);

    TRIB_ASSERT(config->children >= 1 && config->children <= TRIB_CHILDREN_MAX);
    TRIB_ASSERT(config->session.slots >= 1 && config->session.payload <= TRIB_PAYLOAD_MAX);
    if (!config->is_zeroed) {
        memset(n, 0, literal_size(config));
    }
    (void)lay_out(n, config);
    n->config = *config;
    trib_window_init(&n->window, &config->session, at(n, n->table_at));
    trib_published_init(&n->marks, config);
    trib_accelerator_init(accelerator_of(n), &accelerator);
    trib_accelerator_set_job(accelerator_of(n), 0, config->session.communicator, n->marks.all);
}

static void literal_init(void *node, const struct trib_switch_config *config)
{
    init(node, config, TRIB_PANAMA_QUEUES);
}

static void miss_init(void *node, const struct trib_switch_config *config)
{
    init(node, config, TRIB_PANAMA_QUEUES | TRIB_PANAMA_DISCARD | TRIB_PANAMA_MISS);
}

static size_t literal_state_size(const void *node)
{
    const struct literal_switch *n = node;

    return n->accelerator_at + trib_accelerator_state_size(accelerator_of(n));
}

/* ---- receive ---- */

static enum trib_drop take_contribution(struct literal_switch *n, uint32_t child, const struct trib_packet *packet)
{
    if (packet->kind != TRIB_CONTRIBUTION) {
        return TRIB_DROP_KIND;
    }
    if (child >= n->config.children) {
        return TRIB_DROP_SOURCE;
    }
    enum trib_drop drop = trib_accelerator_receive(accelerator_of(n), child, packet);
    if (drop == TRIB_DROP_NONE) {
        trib_published_take_mark(&n->marks, child, packet->mark <= packet->sequence ? packet->mark : 0);
        counters_of(n)->contributions++;
    }
    return drop;
}

static enum trib_drop take_result(struct literal_switch *n, const struct trib_packet *packet)
{
    if (packet->kind != TRIB_RESULT) {
        return TRIB_DROP_KIND;
    }
    if (n->down_count == n->down_room) {
        return TRIB_DROP_FULL;
    }
    if (packet->payload_len > n->config.session.payload) {
        return TRIB_DROP_SHAPE;
    }
    uint32_t place = (n->down_head + n->down_count++) % n->down_room;
    struct trib_packet *kept = (struct trib_packet *)at(n, n->down_at) + place;
    trib_panama_keep(kept, packet);
    if (packet->payload_len != 0) {
        memcpy((char *)at(n, n->payloads_at) + (size_t)place * n->config.session.payload, packet->payload,
               packet->payload_len);
    }
    return TRIB_DROP_NONE;
}

static enum trib_drop take(struct literal_switch *n, struct trib_place from, const struct trib_packet *packet)
{
    const struct trib_session_config *s = &n->config.session;

    if (packet->communicator != s->communicator || packet->tree != n->config.root ||
        trib_window_root(&n->window, packet->sequence) != n->config.root) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->generation != s->generation) {
        return TRIB_DROP_GENERATION;
    }
    if (from.kind == TRIB_PLACE_PARENT && n->config.has_parent) {
        return take_result(n, packet);
    }
    if (from.kind != TRIB_PLACE_CHILDREN || from.children == 0) {
        return TRIB_DROP_SOURCE;
    }
    return take_contribution(n, (uint32_t)__builtin_ctzll(from.children), packet);
}

static enum trib_drop literal_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                      uint64_t now_ns)
{
    struct literal_switch *n = node;
    enum trib_drop drop = take(n, from, packet);

    (void)now_ns;
    counters_of(n)->dropped[drop] += drop != TRIB_DROP_NONE;
    return drop;
}

/* ---- sending ---- */

static bool next_down(struct literal_switch *n, struct trib_packet *packet)
{
    if (n->down_count == 0) {
        return false;
    }
    *packet = ((const struct trib_packet *)at(n, n->down_at))[n->down_head];
    if (packet->payload_len != 0) {
        packet->payload = (char *)at(n, n->payloads_at) + (size_t)n->down_head * n->config.session.payload;
    }
    n->down_head = (n->down_head + 1) % n->down_room;
    n->down_count--;
    return true;
}

static bool literal_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct literal_switch *n = node;

    (void)now_ns;
    if (next_down(n, packet)) {
        *to = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = n->marks.all};
        return true;
    }
    if (!trib_accelerator_next(accelerator_of(n), packet)) {
        return false;
    }
    packet->mark = n->marks.communicator_mark < packet->sequence ? n->marks.communicator_mark : packet->sequence;
    packet->boot = trib_session_has_quorum(&n->config.session) ? packet->boot : n->config.boot;
    if (n->config.has_parent) {
        packet->kind = TRIB_CONTRIBUTION;
        *to = (struct trib_place){.kind = TRIB_PLACE_PARENT};
        counters_of(n)->partials += !trib_panama_is_miss(packet);
    } else {
        packet->kind = TRIB_RESULT;
        *to = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = n->marks.all};
        counters_of(n)->results += !trib_panama_is_miss(packet);
    }
    return true;
}

const struct trib_accelerator_counters *trib_panama_literal_accelerator(const void *switch_node)
{
    return trib_accelerator_counters(accelerator_of(switch_node));
}

/* ---- queries of the control plane ---- */

static void literal_join(void *node, uint32_t child, uint64_t mark)
{
    struct literal_switch *n = node;

    trib_published_join(&n->marks, counters_of(n), child, mark);
}

static uint64_t literal_communicator_mark(const void *node)
{
    return ((const struct literal_switch *)node)->marks.communicator_mark;
}

/* Packets in the longest FIFO. */
static uint32_t literal_slots_held(const void *node)
{
    const struct literal_switch *n = node;
    uint32_t most = 0;

    for (uint32_t port = 0; port < n->config.children; port++) {
        uint32_t waiting = trib_accelerator_waiting(accelerator_of(n), port);
        most = waiting > most ? waiting : most;
    }
    return most;
}

/* Ports without a packet of this sequence; UINT64_MAX: of any sequence. */
static uint64_t without(const struct literal_switch *n, uint64_t sequence)
{
    uint64_t ports = 0;

    for (uint32_t port = 0; port < n->config.children; port++) {
        bool is_there = false;
        for (uint32_t place = 0; place < trib_accelerator_waiting(accelerator_of(n), port); place++) {
            const struct trib_packet *packet = trib_accelerator_at(accelerator_of(n), port, place);
            is_there |= sequence == UINT64_MAX || packet->sequence == sequence;
        }
        ports |= (uint64_t)!is_there << port;
    }
    return ports;
}

static uint64_t literal_missing_on(const void *node, uint64_t sequence)
{
    const struct literal_switch *n = node;
    uint64_t ports = without(n, sequence);

    return ports == n->marks.all ? 0 : ports;
}

static uint64_t literal_missing(const void *node, uint64_t *sequence)
{
    const struct literal_switch *n = node;
    uint64_t empty = without(n, UINT64_MAX);

    *sequence = 0;
    if (empty == n->marks.all) {
        return 0;
    }
    uint32_t port = (uint32_t)__builtin_ctzll(~empty);
    *sequence = trib_accelerator_at(accelerator_of(n), port, 0)->sequence;
    return empty;
}

static const struct trib_counters *literal_counters(const void *node)
{
    return counters_of(node);
}

#define VERBS                                                                            \
    .node = {.state_size = literal_state_size,                                           \
             .receive = literal_receive,                                                 \
             .next_packet = literal_next_packet,                                         \
             .next_event = trib_published_next_event,                                    \
             .next_timeout = trib_published_next_timeout,                                \
             .on_timeout = trib_published_on_timeout,                                    \
             .communicator_mark = literal_communicator_mark,                             \
             .idle = trib_published_idle,                                                \
             .counters = literal_counters},                                              \
    .size = literal_size, .join = literal_join, .learn_mark = trib_published_learn_mark, \
    .slots_held = literal_slots_held, .missing = literal_missing, .missing_on = literal_missing_on

const struct trib_switch_verbs trib_panama_literal_switch_verbs = {.init = literal_init, VERBS};
const struct trib_switch_verbs trib_panama_miss_switch_verbs = {.init = miss_init, VERBS};
