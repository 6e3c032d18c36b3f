/* SPDX-License-Identifier: Apache-2.0 */
/* ring_worker.c: a rank's memory and its control verbs: submit, registration, marks. Read next: ring_worker_sum.c. */
#include "schemes/ring/ring_memory.h"

#include <string.h>

#include "core/assert.h"
#include "core/lane.h"

/* On each way at most two packets of a slot are younger than the oldest that is not acknowledged. All ranks know the
 * number, so the next rank has room for all. */
static uint32_t flow_room(const struct trib_session_config *s)
{
    return s->slots > TRIB_FLOW_WINDOW_MAX / 2 ? TRIB_FLOW_WINDOW_MAX : 2 * s->slots;
}

/* A share of the packets that the driver allows under way: two flows leave a rank, and two come into another one's
 * socket. */
static uint32_t flow_share(const struct ring_worker *w, uint32_t fragments)
{
    uint32_t share = ring_has(w, RING_INSIDE) && ring_has(w, RING_ACROSS) ? fragments / 2 : fragments;

    return share == 0 ? 1 : share;
}

static uint32_t flow_window(const struct ring_worker *w)
{
    uint32_t room = flow_room(&w->config.session);
    uint32_t share = flow_share(w, w->config.window);

    return share < room ? share : room;
}

static void lay_out_flow(struct ring_worker *w, uint32_t way, size_t *at)
{
    struct ring_circle *c = &w->circle[way];
    uint32_t slots = w->config.session.slots;

    c->pending_at = trib_node_place(at, (slots + 63) / 64 * sizeof(uint64_t));
    c->sender_at = trib_node_place(at, trib_flow_sender_size(flow_window(w)));
    c->receiver_at = trib_node_place(at, trib_flow_receiver_size(flow_room(&w->config.session)));
}

/* Lays the arrays out behind the struct; returns the size of it all. */
static size_t lay_out(struct ring_worker *w, const struct trib_worker_config *config)
{
    const struct trib_session_config *s = &config->session;
    size_t at = (sizeof *w + 63) & ~(size_t)63;

    w->config = *config;
    trib__ring_circles(w);
    w->keys_at = trib_node_place(&at, (s->ranks + 1) * sizeof(uint64_t));
    w->place_keys_at = trib_node_place(&at, (s->ranks + s->group) * sizeof(uint64_t));
    w->operations_at = trib_node_place(&at, config->operations * sizeof(struct ring_operation));
    w->slots_at = trib_node_place(&at, s->slots * sizeof(struct ring_slot));
    w->events_at = trib_node_place(&at, ring_event_room(config) * sizeof(struct trib_event));
    w->flows_at = at;
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if (ring_has(w, way)) {
            lay_out_flow(w, way, &at);
        }
    }
    w->wire_at = trib_node_place(&at, (size_t)s->slots * s->payload);
    w->aside_at = trib_node_place(&at, sizeof(struct ring_aside));
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if (ring_has(w, way)) {
            w->circle[way].flow_aside_at = trib_node_place(&at, trib_flow_aside_size(flow_window(w)));
        }
    }
    w->own_at = trib_node_place(&at, s->payload);
    w->row_at = trib_node_place(&at, 2 * (size_t)s->payload); /* of 16-bit floats, in float32 */
    return at;
}

static void check_config(const struct trib_worker_config *config)
{
    const struct trib_session_config *s = &config->session;

    TRIB_ASSERT(s->ranks >= 1 && s->ranks <= TRIB_SESSION_RANKS_MAX && config->rank < s->ranks);
    TRIB_ASSERT(s->group >= 1 && s->ranks % s->group == 0);
    TRIB_ASSERT(s->payload >= TRIB_PAYLOAD_ALIGN && s->payload <= TRIB_PAYLOAD_MAX &&
                s->payload % TRIB_PAYLOAD_ALIGN == 0);
    TRIB_ASSERT(s->slots >= 1 && config->window >= 1);
    TRIB_ASSERT(config->operations >= 1);
}

/* A ring is one group, whatever the session says of groups. */
static struct trib_session_config one_group(const struct trib_session_config *session)
{
    struct trib_session_config one = *session;

    one.group = (uint16_t)session->ranks;
    return one;
}

static size_t hybrid_size(const struct trib_worker_config *config)
{
    struct ring_worker scratch;

    check_config(config);
    return lay_out(&scratch, config);
}

static size_t ring_size(const struct trib_worker_config *config)
{
    struct trib_worker_config one = *config;

    one.session = one_group(&config->session);
    return hybrid_size(&one);
}

/* Both halves: to the next rank, and from the one before. */
static void init_flows(struct ring_worker *w, uint32_t way)
{
    const struct trib_session_config *s = &w->config.session;
    struct trib_flow_config flow = {
        .id = {.communicator = s->communicator, .generation = s->generation, .node = (uint16_t)w->config.rank},
        .limit = trib_ring_label(s->first + s->slots, TRIB_RING_SUMMING),
        .window = flow_window(w),
        .policy = TRIB_CONGESTION_DCTCP,
    };

    trib_flow_sender_init(ring_sender(w, way), ring_at(w, w->circle[way].flow_aside_at), &flow);
    flow.window = flow_room(s);
    trib_flow_receiver_init(ring_receiver(w, way), &flow);
    w->circle[way].told = flow.limit;
}

static void hybrid_init(void *node, const struct trib_worker_config *config)
{
    struct ring_worker *w = node;
    size_t size = hybrid_size(config);

    if (!config->is_zeroed) {
        memset(w, 0, size);
    }
    (void)lay_out(w, config);
    /* Exponents are agreed upon where all parts meet, which is nowhere here. */
    if (w->config.session.wire == TRIB_INT32) {
        w->config.session.wire = TRIB_FLOAT32;
    }
    trib__ring_keys(w);
    w->end = w->next = w->mark = w->freed = w->communicator_mark = config->session.first;
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if (ring_has(w, way)) {
            init_flows(w, way);
        }
    }
}

static void ring_init(void *node, const struct trib_worker_config *config)
{
    struct trib_worker_config one = *config;

    one.session = one_group(&config->session);
    hybrid_init(node, &one);
}

static size_t ring_state_size(const void *node)
{
    return ((const struct ring_worker *)node)->aside_at;
}

static bool ring_submit(void *node, const struct trib_operation *operation, uint64_t now_ns)
{
    struct ring_worker *w = node;
    struct ring_operation *o = ring_operation_at(w, w->newest_operation);

    TRIB_ASSERT(operation->collective > TRIB_COLLECTIVE_NONE && operation->collective < TRIB_COLLECTIVE_COUNT);
    TRIB_ASSERT(operation->root < w->config.session.ranks); /* ways are looked up by it */
    /* One may have ended at once, and its DONE not have been taken: that keeps its place. */
    if (w->newest_operation - w->oldest_operation + w->done >= w->config.operations) {
        return false;
    }
    *o = (struct ring_operation){.operation = *operation, .number = w->number, .first = w->end};
    trib_layout_init(&o->layout, &w->config.session, operation, w->number);
    /* Each rank concludes from the number of ranks that a sum is whole, and from the size of groups the parts of the
     * sum, so a rank with other numbers runs another operation (I10). */
    const struct trib_session_config *session = &w->config.session;
    o->layout.digest =
        (uint32_t)trib_mix64((uint64_t)o->layout.digest << 32 | (uint64_t)session->group << 16 | session->ranks);
    TRIB_ASSERT(o->layout.sequences <= TRIB_SEQUENCE_MAX - w->end);
    o->left = o->layout.sequences;
    if (w->mark == w->end) {
        ring_aside(w)->waits_ns = ring_aside(w)->reported_ns = now_ns;
    }
    w->number++;
    w->end += o->layout.sequences;
    w->newest_operation++;
    trib__ring_take_held(w, o, now_ns);
    trib__ring_advance(w, now_ns);
    return true;
}

/* All ranks have finished every fragment below M, so none of them need be sent. M is a minimum over marks, the own
 * mark among them: one above it is nonsense. */
static void ring_learn_mark(void *node, uint64_t mark, uint64_t now_ns)
{
    struct ring_worker *w = node;

    if (mark > w->mark || mark <= w->communicator_mark) {
        return;
    }
    w->communicator_mark = mark;
    for (uint64_t sequence = w->freed; sequence < mark; sequence++) {
        trib__ring_drop_out(w, ring_slot(w, sequence), now_ns);
    }
    trib__ring_advance(w, now_ns);
}

static void ring_registered(void *node, uint32_t boot, uint64_t mark, uint64_t now_ns)
{
    struct ring_worker *w = node;

    TRIB_ASSERT(boot != 0);
    ring_aside(w)->counters.registrations++;
    w->boot = boot;
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if (ring_has(w, way)) {
            ring_sender(w, way)->id.boot = ring_receiver(w, way)->id.boot = boot;
        }
    }
    ring_learn_mark(w, mark, now_ns);
}

static void ring_suspend(void *node)
{
    ((struct ring_worker *)node)->boot = 0;
}

static uint64_t ring_mark(const void *node)
{
    return ((const struct ring_worker *)node)->mark;
}

static uint64_t ring_communicator_mark(const void *node)
{
    return ((const struct ring_worker *)node)->communicator_mark;
}

static uint64_t ring_end(const void *node)
{
    return ((const struct ring_worker *)node)->end;
}

static bool ring_describe(const void *node, uint64_t sequence, struct trib_operation *operation, uint64_t *number)
{
    const struct ring_operation *o = trib__ring_operation(node, sequence);

    if (o == NULL) {
        return false;
    }
    *operation = o->operation;
    *number = o->number;
    return true;
}

/* But a part may have come early for an operation that is still to be submitted. */
static uint32_t ring_idle(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES])
{
    const struct ring_worker *w = node;

    if (w->communicator_mark != w->end || w->freed != w->end || w->events_count != 0) {
        return 0;
    }
    for (uint64_t sequence = w->freed; sequence < w->freed + w->config.session.slots; sequence++) {
        if (ring_slot(w, sequence)->state != RING_EMPTY) {
            return 0;
        }
    }
    ranges[0] = (struct trib_range){w->operations_at, w->flows_at - w->operations_at};
    ranges[1] = (struct trib_range){w->wire_at, w->aside_at - w->wire_at};
    return 2;
}

static void ring_limit_flows(void *node, uint32_t root, uint32_t fragments)
{
    struct ring_worker *w = node;

    (void)root;
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if (ring_has(w, way)) {
            trib_flow_limit(ring_sender(w, way), flow_share(w, fragments));
        }
    }
}

static uint32_t ring_in_flight(const void *node, uint32_t root)
{
    uint32_t sum = 0;

    (void)root;
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        sum += ring_has(node, way) ? ring_sender(node, way)->in_flight : 0;
    }
    return sum;
}

static const struct trib_counters *ring_counters(const void *node)
{
    return &ring_aside(node)->counters;
}

static void ring_add_flows(const void *node, struct trib_flow_counters *sum)
{
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if (ring_has(node, way)) {
            trib_flow_counters_add(sum, ring_flows(node, way));
        }
    }
}

static uint32_t ring_peers(const struct trib_session_config *session, uint32_t rank, uint16_t peers[TRIB_PEERS_MAX])
{
    struct trib_session_config one = one_group(session);

    return trib__ring_peers(&one, rank, peers);
}

/* Verbs that do not depend on groups; those are in the node. */
#define VERBS_OF_BOTH                                                                                             \
    .node = {.state_size = ring_state_size,                                                                       \
             .receive = trib__ring_receive,                                                                       \
             .next_packet = trib__ring_next_packet,                                                               \
             .next_event = trib__ring_next_event,                                                                 \
             .next_timeout = trib__ring_next_timeout,                                                             \
             .on_timeout = trib__ring_on_timeout,                                                                 \
             .communicator_mark = ring_communicator_mark,                                                         \
             .idle = ring_idle,                                                                                   \
             .counters = ring_counters},                                                                          \
    .submit = ring_submit, .registered = ring_registered, .suspend = ring_suspend, .learn_mark = ring_learn_mark, \
    .mark = ring_mark, .end = ring_end, .describe = ring_describe, .limit = ring_limit_flows,                     \
    .in_flight = ring_in_flight, .flows = ring_add_flows

const struct trib_worker_verbs trib_ring_worker_verbs = {
    .peers = ring_peers,
    .size = ring_size,
    .init = ring_init,
    VERBS_OF_BOTH,
};

const struct trib_worker_verbs trib_hybrid_worker_verbs = {
    .peers = trib__ring_peers,
    .size = hybrid_size,
    .init = hybrid_init,
    VERBS_OF_BOTH,
};
