/* SPDX-License-Identifier: Apache-2.0 */
/* rina_literal_switch.c: agents and switches of racks by the published rule. Both add as the paced switch of trees
 * does. An agent also decides when its switch pulls, by the window of the flow to the next agent. A switch passes PULLs
 * and ACKs on. */
#include "core/congestion.h"
#include "protocol/switch_memory.h"
#include "published/rina_literal/rina_literal.h"

/* An ACK to be sent for an AGG. */
struct ack {
    uint64_t sequence;
    uint64_t signs;
};

/* State after the memory of the tree's switch. Indexes are dense, of the root's sequences. */
struct own {
    struct trib_congestion_window flow; /* of an agent: the flow to the next agent */
    uint64_t ready;                     /* one past the rank's last submitted part */
    uint64_t tasked;                    /* one past the last TASK */
    uint64_t pulled;                    /* one past the last PULL */
    uint64_t lowest;                    /* lowest index without an ACK */
    uint32_t in_flight;                 /* indexes of TASKs without an ACK */
    uint32_t acks_head, acks_count;
    bool is_agent, is_task_due, is_pull_due;
    /* Offsets of arrays from here, with an entry for each slot: index + 1 of the last received sum of the racks before;
     * index + 1 of the last acknowledged sum; ACKs to be sent. */
    size_t arrived_at, acked_at, acks_at;
};

/* Sets the offsets. Returns the bytes of struct and arrays. */
static size_t lay_out(struct own *own, const struct trib_switch_config *config)
{
    size_t at = 0, slots = config->session.slots;

    (void)trib_node_place(&at, sizeof *own);
    own->arrived_at = trib_node_place(&at, slots * sizeof(uint64_t));
    own->acked_at = trib_node_place(&at, slots * sizeof(uint64_t));
    own->acks_at = trib_node_place(&at, slots * sizeof(struct ack));
    return at;
}

static size_t rina_size(const struct trib_switch_config *config)
{
    struct own scratch;

    return trib__switch_size(config) + lay_out(&scratch, config);
}

static struct own *own_of(const struct switch_node *n)
{
    return switch_at(n, n->end_at);
}

static uint64_t *arrived_of(const struct switch_node *n, struct own *own, uint64_t dense)
{
    return (uint64_t *)(void *)((char *)own + own->arrived_at) + dense % n->window.slots;
}

static uint64_t *acked_of(const struct switch_node *n, struct own *own, uint64_t dense)
{
    return (uint64_t *)(void *)((char *)own + own->acked_at) + dense % n->window.slots;
}

static struct ack *ack_at(const struct switch_node *n, struct own *own, uint32_t index)
{
    return (struct ack *)(void *)((char *)own + own->acks_at) + index % n->window.slots;
}

static void rina_init(void *node, const struct trib_switch_config *config)
{
    struct switch_node *n = node;

    trib__switch_init(n, config);
    trib__switch_pace(n);
    struct own *own = own_of(n);
    *own = (struct own){.is_agent = (config->branches & 1) == 0};
    (void)lay_out(own, config);
    for (uint64_t i = 0; i < n->window.slots; i++) {
        *arrived_of(n, own, i) = *acked_of(n, own, i) = 0;
    }
    uint32_t most = trib_window_cap(&n->window, 0);
    trib_congestion_window_init(&own->flow, TRIB_CONGESTION_AIMD, most);
    own->flow.window = most * TRIB_CONGESTION_ONE; /* full speed */
    own->lowest = own->tasked = trib_window_dense_below(&n->window, config->root, config->session.first);
}

/* ---- the flow to the next agent ---- */

/* Notes an ACK: the next agent has the AGG of this index, or a result proves that. */
static void take_ack(const struct switch_node *n, struct own *own, uint64_t dense, uint64_t signs)
{
    if (dense < own->lowest || dense >= own->lowest + n->window.slots || *acked_of(n, own, dense) == dense + 1) {
        return;
    }
    *acked_of(n, own, dense) = dense + 1;
    while (*acked_of(n, own, own->lowest) == own->lowest + 1) {
        own->lowest++;
    }
    if (dense >= own->tasked) {
        return;
    }
    struct trib_congestion_news news = {
        .lowest = own->lowest < own->tasked ? own->lowest : own->tasked,
        .next = own->tasked,
        .acked = 1,
        .marked = (signs & TRIB_RINA_MARKED) != 0,
        .is_full = own->in_flight >= trib_congestion_fragments(&own->flow),
    };
    own->in_flight--;
    if ((signs & TRIB_RINA_AGAIN) != 0) {
        (void)trib_congestion_lost(&own->flow, dense, own->tasked);
    }
    (void)trib_congestion_acked(&own->flow, &news);
}

/* Acknowledges all indexes below M. */
static void take_mark(const struct switch_node *n, struct own *own)
{
    while (own->lowest < n->mark_dense) {
        take_ack(n, own, own->lowest, 0);
    }
}

/* One past the last index that a TASK may name now: the rank's part is ready, and the sum of the racks before has
 * arrived. */
static uint64_t end_of_task(const struct switch_node *n, struct own *own)
{
    bool has_before = n->config.branches != 0;
    uint64_t end = n->mark_dense + n->window.slots;
    uint64_t dense = own->tasked;

    end = own->ready < end ? own->ready : end;
    while (dense < end && *acked_of(n, own, dense) != dense + 1 &&
           (!has_before || *arrived_of(n, own, dense) == dense + 1)) {
        dense++;
    }
    return dense;
}

/* A short TASK, when more parts will follow, waits for the ACKs of all TASKs before. So a stream has one TASK for each
 * TRIB_RINA_RANGE, and no TASK waits for an event that cannot happen. */
static void find_task(const struct switch_node *n, struct own *own)
{
    uint32_t window = trib_congestion_fragments(&own->flow);
    uint32_t range = window / 2 < TRIB_RINA_RANGE ? window / 2 : TRIB_RINA_RANGE;

    take_mark(n, own);
    while (own->tasked < own->lowest || *acked_of(n, own, own->tasked) == own->tasked + 1) {
        own->tasked++; /* done without a TASK, after a restart */
    }
    uint64_t count = end_of_task(n, own) - own->tasked;
    uint64_t room = window > own->in_flight ? window - own->in_flight : 0;
    count = count < room ? count : room;
    bool is_last = own->tasked + count == own->ready;
    if (count != 0 && (count >= range || is_last || own->in_flight == 0)) {
        own->tasked += count;
        own->in_flight += (uint32_t)count;
        own->is_task_due = true;
    }
}

/* ---- receiving ---- */

static void queue_ack(const struct switch_node *n, struct own *own, uint64_t sequence, uint64_t signs)
{
    if (own->acks_count < n->window.slots) { /* else dropped, like a lost packet */
        *ack_at(n, own, own->acks_head + own->acks_count++) = (struct ack){.sequence = sequence, .signs = signs};
    }
}

/* Takes a READY: a rank has computed more, or the last TASK or PULL seems lost. */
static void take_ready(const struct switch_node *n, struct own *own, const struct trib_packet *packet)
{
    if (!own->is_agent) {
        own->is_pull_due = own->pulled != 0;
        return;
    }
    uint64_t ready = trib_window_dense_below(&n->window, n->config.root, packet->sequence);

    own->is_task_due |= ready <= own->ready && own->tasked > n->mark_dense;
    own->ready = ready > own->ready ? ready : own->ready;
}

/* Takes a PULL, at an agent from its switch, or a TASK, which a switch turns into a PULL. */
static void take_pull(const struct switch_node *n, struct own *own, const struct trib_packet *packet)
{
    uint64_t pulled = trib_window_dense(&n->window, packet->sequence) + 1;

    own->pulled = pulled > own->pulled ? pulled : own->pulled;
    own->is_pull_due = true;
}

static enum trib_drop take_message(struct switch_node *n, struct trib_place from, const struct trib_packet *packet)
{
    struct own *own = own_of(n);
    bool is_from_parent = from.kind == TRIB_PLACE_PARENT;
    bool is_from_first = from.kind == TRIB_PLACE_CHILDREN && from.children == 1;
    bool is_pull = own->is_agent ? packet->tree == TRIB_RINA_PULL && is_from_parent
                                 : packet->tree == TRIB_RINA_TASK && is_from_first;

    if (packet->boot != n->config.boot || packet->generation != n->config.session.generation) {
        return TRIB_DROP_BOOT;
    }
    if (packet->tree == TRIB_RINA_READY && !is_from_parent) {
        take_ready(n, own, packet);
    } else if (is_pull) {
        take_pull(n, own, packet);
    } else if (packet->tree == TRIB_RINA_ACK && is_from_parent) {
        if (own->is_agent) {
            take_ack(n, own, trib_window_dense(&n->window, packet->sequence), packet->bitmap);
        } else {
            queue_ack(n, own, packet->sequence, packet->bitmap);
        }
    } else {
        return TRIB_DROP_SOURCE;
    }
    return TRIB_DROP_NONE;
}

/* Takes a sum of the racks before. Each is acknowledged, also a duplicate: an earlier ACK may be lost. */
static void take_sum(const struct switch_node *n, struct own *own, const struct trib_packet *packet,
                     enum trib_drop drop)
{
    uint64_t dense = trib_window_dense(&n->window, packet->sequence);
    uint64_t signs = 0;

    if (drop == TRIB_DROP_NONE) {
        *arrived_of(n, own, dense) = dense + 1;
        signs |= (packet->flags & TRIB_FLAG_ECN) != 0 ? TRIB_RINA_MARKED : 0U;
        signs |= (packet->flags & TRIB_FLAG_RESEND) != 0 ? TRIB_RINA_AGAIN : 0U;
    } else if (drop != TRIB_DROP_DUPLICATE && drop != TRIB_DROP_STALE) {
        return;
    }
    queue_ack(n, own, packet->sequence, signs);
}

static enum trib_drop rina_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                   uint64_t now_ns)
{
    struct switch_node *n = node;

    if (packet->tree != 0) {
        enum trib_drop drop = take_message(n, from, packet);
        switch_aside(n)->counters.dropped[drop] += drop != TRIB_DROP_NONE;
        return drop;
    }
    enum trib_drop drop = trib__switch_receive(n, from, packet, now_ns);
    struct own *own = own_of(n);
    if (!own->is_agent) {
        return drop;
    }
    bool is_before = from.kind == TRIB_PLACE_CHILDREN && from.children == n->config.branches;
    if (packet->kind == TRIB_CONTRIBUTION && is_before) {
        take_sum(n, own, packet, drop);
    } else if ((packet->kind == TRIB_RESULT || packet->kind == TRIB_OFFER) && drop == TRIB_DROP_NONE) {
        take_ack(n, own, trib_window_dense(&n->window, packet->sequence), 0);
    }
    return drop;
}

/* ---- sending ---- */

static bool build(const struct switch_node *n, enum trib_rina_message message, uint64_t sequence,
                  struct trib_packet *packet)
{
    static const uint8_t kinds[] = {[TRIB_RINA_READY] = TRIB_PROBE,
                                    [TRIB_RINA_TASK] = TRIB_PROBE,
                                    [TRIB_RINA_PULL] = TRIB_ASK,
                                    [TRIB_RINA_ACK] = TRIB_FLOW_ACK};

    *packet = (struct trib_packet){
        .kind = kinds[message],
        .tree = (uint8_t)message,
        .sequence = sequence,
        .communicator = n->config.session.communicator,
        .generation = n->config.session.generation,
        .boot = n->config.boot,
    };
    return true;
}

static bool next_message(const struct switch_node *n, struct own *own, struct trib_packet *packet,
                         struct trib_place *to)
{
    if (own->acks_count != 0) {
        const struct ack *ack = ack_at(n, own, own->acks_head++);
        own->acks_count--;
        *to = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = own->is_agent ? n->config.branches : 1};
        (void)build(n, TRIB_RINA_ACK, ack->sequence, packet);
        packet->bitmap = ack->signs;
        return true;
    }
    if (own->is_task_due) {
        own->is_task_due = false;
        *to = (struct trib_place){.kind = TRIB_PLACE_PARENT};
        return build(n, TRIB_RINA_TASK, trib_window_sequence(&n->window, n->config.root, own->tasked - 1), packet);
    }
    if (own->is_pull_due) { /* the agent's own rank is its first child */
        own->is_pull_due = false;
        *to = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = own->is_agent ? 1 : n->required};
        return build(n, TRIB_RINA_PULL, trib_window_sequence(&n->window, n->config.root, own->pulled - 1), packet);
    }
    return false;
}

static bool rina_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct switch_node *n = node;
    struct own *own = own_of(n);

    if (own->is_agent) {
        find_task(n, own);
    }
    return next_message(n, own, packet, to) || trib__switch_next_packet(n, now_ns, packet, to);
}

const struct trib_switch_verbs trib_rina_literal_switch = {
    .node = {.state_size = trib__switch_state_size,
             .receive = rina_receive,
             .soon = trib__switch_soon,
             .next_packet = rina_next_packet,
             .next_event = trib__switch_next_event,
             .next_timeout = trib__switch_next_timeout,
             .on_timeout = trib__switch_on_timeout,
             .communicator_mark = trib__switch_communicator_mark,
             .idle = trib__switch_idle,
             .counters = trib__switch_counters},
    .size = rina_size,
    .init = rina_init,
    .join = trib__switch_join,
    .learn_mark = trib__switch_learn_mark,
    .slots_held = trib__switch_slots_held,
    .missing = trib__switch_missing,
    .missing_on = trib__switch_missing_on,
    .set_cap = trib__switch_set_cap,
    .room = trib__switch_room,
    .is_active = trib__switch_is_active,
    .set_child = trib__switch_set_child,
};
