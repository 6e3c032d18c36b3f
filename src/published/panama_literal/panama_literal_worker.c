/* SPDX-License-Identifier: Apache-2.0 */
/* panama_literal_worker.c: the published worker. Fragments of one operation at a time are dealt over the trees in turn
 * and sent in that order. The window of a tree limits its fragments in flight (figure 5). Fragments without a result
 * are sent again unchanged when the tree's timer ends. Supports sums: allreduce and barrier, on the tensor's own type
 * or a narrower float. Read next: accelerator.c, the receiver. */
#include <string.h>

#include "core/assert.h"
#include "core/operation.h"
#include "core/quorum.h"
#include "core/window.h"
#include "published/panama_literal/panama_literal.h"

#define NO_SEQUENCE UINT64_MAX

/* A packet without a result, at the place of its VID. */
struct flight {
    uint64_t sequence; /* sequence of the fragment; NO_SEQUENCE: none */
    uint64_t vid;
    uint32_t resend; /* 1: the tree's timer has ended */
    uint32_t unused;
};

struct tree {
    struct trib_panama_window window;
    uint64_t vid;    /* VID of the next packet */
    uint64_t oldest; /* no lower VID has a flight */
    uint64_t last;   /* the last fragment, which waits until all others have a result (MISS); NO_SEQUENCE: none */
    uint32_t in_flight, limit;
    uint32_t again_head, again_count; /* fragments to be sent again with a new VID (MISS) */
};

struct operation {
    struct trib_operation operation;
    struct trib_layout layout;
    uint64_t number, first, left;
};

/* State that is not hashed. */
struct aside {
    uint64_t deadline_ns[TRIB_ROOTS_MAX]; /* timer of each tree, ns; 0: stopped */
    uint64_t waits_ns;                    /* time of the last result or report, ns */
    struct trib_counters counters;
};

struct worker {
    struct trib_worker_config config;
    struct trib_window window;
    uint64_t key, keys; /* keys of the lane: this rank's, and the sum of all */
    uint64_t number, end;
    uint64_t next;           /* next sequence sent for the first time */
    uint64_t oldest, newest; /* operations, free-running; the oldest is active */
    uint64_t failed;         /* sequence of a wrong sum; NO_SEQUENCE: none */
    uint64_t known;          /* M of the session */
    uint32_t boot;
    uint32_t has_miss;
    uint32_t may_lack; /* sums may lack ranks */
    uint32_t unused;
    uint32_t events_head, events_count;
    size_t table_at, operations_at, flights_at, again_at, events_at, wire_at, aside_at;
    struct tree trees[];
};

static void *at(const struct worker *w, size_t offset)
{
    return (char *)(uintptr_t)w + offset;
}

static struct operation *operation_at(const struct worker *w, uint64_t position)
{
    return (struct operation *)at(w, w->operations_at) + position % w->config.operations;
}

static uint32_t flight_index(const struct worker *w, uint32_t root, uint64_t vid)
{
    return root * w->config.session.slots + (uint32_t)(vid % w->config.session.slots);
}

static struct flight *flight_at(const struct worker *w, uint32_t root, uint64_t vid)
{
    return (struct flight *)at(w, w->flights_at) + flight_index(w, root, vid);
}

static uint64_t *again_at(const struct worker *w, uint32_t root, uint32_t place)
{
    uint32_t slots = w->config.session.slots;

    return (uint64_t *)at(w, w->again_at) + root * slots + place % slots;
}

static struct aside *aside_of(const struct worker *w)
{
    return at(w, w->aside_at);
}

/* ---- memory ---- */

/* Room for all events DONE and FAILED. Other reports may be lost. */
static uint32_t event_room(const struct trib_worker_config *config)
{
    return config->operations + 2;
}

static size_t lay_out(struct worker *w, const struct trib_worker_config *config)
{
    size_t flights = (size_t)config->session.roots * config->session.slots;
    size_t end = (sizeof *w + config->session.roots * sizeof w->trees[0] + 63) & ~(size_t)63;

    w->table_at = trib_node_place(&end, trib_window_table_size(&config->session));
    w->operations_at = trib_node_place(&end, config->operations * sizeof(struct operation));
    w->flights_at = trib_node_place(&end, flights * sizeof(struct flight));
    w->again_at = trib_node_place(&end, flights * sizeof(uint64_t));
    w->events_at = trib_node_place(&end, event_room(config) * sizeof(struct trib_event));
    w->wire_at = trib_node_place(&end, flights * config->session.payload);
    w->aside_at = trib_node_place(&end, sizeof(struct aside));
    return end;
}

static size_t literal_size(const struct trib_worker_config *config)
{
    struct worker scratch;

    return lay_out(&scratch, config);
}

static void begin_operation(struct worker *w)
{
    for (uint32_t root = 0; root < w->config.session.roots; root++) {
        struct tree *tree = &w->trees[root];
        tree->vid = tree->oldest = 0;
        tree->last = NO_SEQUENCE;
    }
}

static void literal_init(void *node, const struct trib_worker_config *config)
{
    const struct trib_session_config *s = &config->session;
    struct worker *w = node;

    TRIB_ASSERT(s->ranks >= 1 && config->rank < s->ranks && s->roots >= 1 && s->roots <= TRIB_ROOTS_MAX);
    TRIB_ASSERT(config->window >= 1 && config->window <= s->slots && config->operations >= 1);
    if (!config->is_zeroed) {
        memset(w, 0, literal_size(config));
    }
    (void)lay_out(w, config);
    w->config = *config;
    w->may_lack = trib_session_has_quorum(s);
    w->config.session.payload = trib_session_data(s); /* published packets have no list of ranks */
    w->config.session.quorum = w->config.session.quorum_of = 0;
    trib_window_init(&w->window, s, at(w, w->table_at));
    w->key = trib_lane_key(s->salt, config->rank);
    for (uint32_t rank = 0; rank < s->ranks; rank++) {
        w->keys += trib_lane_key(s->salt, rank);
    }
    w->end = w->next = w->known = s->first;
    w->failed = NO_SEQUENCE;
    for (uint32_t root = 0; root < s->roots; root++) {
        trib_panama_window_init(&w->trees[root].window);
        w->trees[root].limit = config->window;
        for (uint32_t slot = 0; slot < s->slots; slot++) {
            flight_at(w, root, slot)->sequence = NO_SEQUENCE;
        }
    }
    begin_operation(w);
}

static void miss_init(void *node, const struct trib_worker_config *config)
{
    literal_init(node, config);
    ((struct worker *)node)->has_miss = 1;
}

static size_t literal_state_size(const void *node)
{
    return ((const struct worker *)node)->aside_at;
}

/* ---- events ---- */

static void tell(struct worker *w, const struct trib_event *event)
{
    struct trib_event *ring = at(w, w->events_at);
    uint32_t room = event_room(&w->config);

    if (event->kind == TRIB_EVENT_STALL && w->events_count != 0) {
        return;
    }
    TRIB_ASSERT(w->events_count < room);
    ring[(w->events_head + w->events_count++) % room] = *event;
}

static bool literal_next_event(void *node, struct trib_event *event)
{
    struct worker *w = node;
    const struct trib_event *ring = at(w, w->events_at);

    if (w->events_count == 0) {
        return false;
    }
    *event = ring[w->events_head];
    w->events_head = (w->events_head + 1) % event_room(&w->config);
    w->events_count--;
    return true;
}

/* ---- sending ---- */

/* Elements of the operation in a sequence; none in a barrier. */
static struct trib_piece piece_of(const struct operation *o, uint64_t sequence)
{
    struct trib_piece piece;

    trib_layout_piece(&o->layout, &o->operation, sequence - o->first, &piece);
    return piece;
}

static bool is_last(const struct worker *w, const struct operation *o, uint64_t sequence)
{
    uint32_t root = trib_window_root(&w->window, sequence);
    uint64_t dense = trib_window_dense(&w->window, sequence);

    return dense + 1 == trib_window_dense_below(&w->window, root, o->first + o->layout.sequences);
}

static void build(const struct worker *w, uint32_t root, const struct flight *f, struct trib_packet *packet)
{
    const struct trib_session_config *s = &w->config.session;
    const struct operation *o = operation_at(w, w->oldest);
    struct trib_piece piece = piece_of(o, f->sequence);

    *packet = (struct trib_packet){
        .kind = TRIB_CONTRIBUTION,
        .flags = is_last(w, o, f->sequence) ? TRIB_FLAG_FIN : 0,
        .sequence = f->sequence,
        .mark = o->first,
        .bitmap = f->vid,
        .lane = w->key * trib_session_odd(s, f->sequence, 0, o->layout.digest),
        .communicator = s->communicator,
        .digest = o->layout.digest,
        .boot = w->boot,
        .generation = s->generation,
        .node = (uint16_t)w->config.rank,
        .last_rank = (uint16_t)w->config.rank,
        .tree = (uint8_t)root,
        .type = (uint8_t)o->layout.wire,
        .reduction = (uint8_t)o->operation.reduction,
        .payload_len = (uint16_t)(piece.elements * o->layout.wire_size),
        .contributors = piece.elements != 0,
    };
    if (w->may_lack != 0) {
        trib_panama_set_ranks(packet, UINT64_C(1) << w->config.rank);
    }
    if (piece.elements == 0) {
        return;
    }
    packet->payload = trib_operation_send_at(&o->operation, &o->layout, &piece);
    if (o->layout.wire != o->operation.type) {
        struct trib_conversion c = {.wire = o->layout.wire, .tensor = o->operation.type};
        uint8_t *wire = (uint8_t *)at(w, w->wire_at) + (size_t)flight_index(w, root, f->vid) * s->payload;
        trib_tensor_encode(w->config.kernels, &c, wire, packet->payload, piece.elements);
        packet->payload = wire;
    }
}

static void start_timer(struct worker *w, uint32_t root, uint64_t now_ns)
{
    aside_of(w)->deadline_ns[root] = w->trees[root].in_flight != 0 ? now_ns + TRIB_PANAMA_RTO_NS : 0;
}

/* True if this tree can have another packet: the window is open and the VID's place is free. */
static bool is_open(const struct worker *w, const struct tree *tree)
{
    uint32_t window = trib_panama_window_packets(&tree->window);

    return tree->in_flight < window && tree->in_flight < tree->limit &&
           tree->vid - tree->oldest < w->config.session.slots;
}

static void launch(struct worker *w, uint32_t root, uint64_t sequence, uint64_t now_ns, struct trib_packet *packet)
{
    struct tree *tree = &w->trees[root];
    struct flight *f = flight_at(w, root, tree->vid);

    *f = (struct flight){.sequence = sequence, .vid = tree->vid++};
    tree->in_flight++;
    start_timer(w, root, now_ns);
    build(w, root, f, packet);
}

/* Sends a new fragment, in the order of the trees: a closed tree stops the others. */
static bool next_new(struct worker *w, uint64_t now_ns, struct trib_packet *packet)
{
    const struct operation *o = operation_at(w, w->oldest);

    while (w->next != o->first + o->layout.sequences) {
        uint32_t root = trib_window_root(&w->window, w->next);
        if (w->has_miss != 0 && is_last(w, o, w->next)) {
            w->trees[root].last = w->next++;
            continue;
        }
        if (!is_open(w, &w->trees[root])) {
            return false;
        }
        aside_of(w)->counters.contributions++;
        launch(w, root, w->next++, now_ns, packet);
        return true;
    }
    return false;
}

/* The tail of each tree: fragments returned by a MISS, then the last fragment, alone. */
static bool next_tail(struct worker *w, uint64_t now_ns, struct trib_packet *packet)
{
    const struct operation *o = operation_at(w, w->oldest);

    if (w->next != o->first + o->layout.sequences) {
        return false;
    }
    for (uint32_t root = 0; root < w->config.session.roots; root++) {
        struct tree *tree = &w->trees[root];
        if (tree->again_count != 0 && is_open(w, tree)) {
            aside_of(w)->counters.contributions_resent++;
            uint64_t sequence = *again_at(w, root, tree->again_head++);
            tree->again_count--;
            launch(w, root, sequence, now_ns, packet);
            return true;
        }
        if (tree->last != NO_SEQUENCE && tree->again_count == 0 && tree->in_flight == 0) {
            aside_of(w)->counters.contributions++;
            uint64_t sequence = tree->last;
            tree->last = NO_SEQUENCE;
            launch(w, root, sequence, now_ns, packet);
            return true;
        }
    }
    return false;
}

/* Sends again a packet that its tree's timer has marked, unchanged. */
static bool next_resend(struct worker *w, struct trib_packet *packet)
{
    for (uint32_t root = 0; root < w->config.session.roots; root++) {
        for (uint64_t vid = w->trees[root].oldest; vid < w->trees[root].vid; vid++) {
            struct flight *f = flight_at(w, root, vid);
            if (f->sequence != NO_SEQUENCE && f->resend != 0) {
                f->resend = 0;
                aside_of(w)->counters.contributions_resent++;
                build(w, root, f, packet);
                return true;
            }
        }
    }
    return false;
}

static bool literal_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct worker *w = node;

    if (w->boot == 0 || w->oldest == w->newest ||
        (!next_resend(w, packet) && !next_new(w, now_ns, packet) && !next_tail(w, now_ns, packet))) {
        return false;
    }
    *to = (struct trib_place){.kind = TRIB_PLACE_ROOT, .index = packet->tree};
    return true;
}

/* ---- receiving ---- */

static uint64_t all_ranks(const struct worker *w)
{
    return w->config.session.ranks <= TRIB_CHILDREN_MAX ? trib_all_children(w->config.session.ranks) : 0;
}

/* True if exactly these ranks are in the sum. 0: all ranks. */
static bool lane_holds(const struct worker *w, const struct operation *o, const struct flight *f,
                       const struct trib_packet *packet, uint64_t ranks)
{
    const struct trib_session_config *s = &w->config.session;
    uint64_t keys = w->keys;

    for (uint64_t left = ranks != 0 ? all_ranks(w) & ~ranks : 0; left != 0; left &= left - 1) {
        keys -= trib_lane_key(s->salt, (uint32_t)__builtin_ctzll(left));
    }
    return packet->lane == keys * trib_session_odd(s, f->sequence, 0, o->layout.digest);
}

/* Our check, not the paper's: the result must be the sum over all ranks, or over the named ranks, of the fragment that
 * this rank sent with the VID. */
static enum trib_drop check(const struct worker *w, const struct flight *f, const struct trib_packet *packet)
{
    const struct operation *o = operation_at(w, w->oldest);
    struct trib_piece piece = piece_of(o, f->sequence);
    uint64_t ranks = w->may_lack != 0 ? trib_panama_ranks(packet) : 0;
    uint32_t present = w->may_lack != 0 ? trib_count_bits(ranks) : w->config.session.ranks;
    uint32_t parts = piece.elements != 0 ? present : 0;

    if (present == 0 || (w->may_lack != 0 && (ranks & ~all_ranks(w)) != 0) || !lane_holds(w, o, f, packet, ranks)) {
        return TRIB_DROP_LANE;
    }
    return packet->contributors == parts && packet->type == o->layout.wire &&
                   packet->reduction == o->operation.reduction &&
                   packet->payload_len == piece.elements * o->layout.wire_size
               ? TRIB_DROP_NONE
               : TRIB_DROP_SHAPE;
}

static void deliver(const struct worker *w, const struct flight *f, const struct trib_packet *packet)
{
    const struct operation *o = operation_at(w, w->oldest);
    struct trib_piece piece = piece_of(o, f->sequence);
    struct trib_conversion c = {
        .wire = o->layout.wire,
        .tensor = o->operation.type,
        .divisor = o->operation.reduction == TRIB_AVERAGE ? packet->contributors : 1,
    };

    if (piece.elements != 0 && o->operation.recv != NULL) {
        trib_tensor_decode(w->config.kernels, &c, trib_operation_recv_at(&o->operation, &o->layout, &piece),
                           packet->payload, piece.elements);
    }
}

static void free_flight(struct worker *w, struct tree *tree, struct flight *f)
{
    uint32_t root = (uint32_t)(tree - w->trees);

    *f = (struct flight){.sequence = NO_SEQUENCE};
    tree->in_flight--;
    while (tree->oldest < tree->vid && flight_at(w, root, tree->oldest)->sequence == NO_SEQUENCE) {
        tree->oldest++;
    }
}

static void finish(struct worker *w)
{
    struct operation *o = operation_at(w, w->oldest);

    if (--o->left != 0) {
        return;
    }
    struct trib_event event = {.kind = TRIB_EVENT_DONE, .token = o->operation.token, .sequence = o->first};
    tell(w, &event);
    w->oldest++;
    begin_operation(w);
}

static void count_result(struct worker *w, const struct trib_packet *packet)
{
    struct trib_counters *counters = &aside_of(w)->counters;

    counters->results++;
    if (w->may_lack != 0) {
        counters->results_lacking += trib_panama_ranks(packet) != all_ranks(w);
        counters->late += (trib_panama_ranks(packet) >> w->config.rank & 1) == 0;
    }
}

static enum trib_drop take_result(struct worker *w, uint32_t root, const struct trib_packet *packet, uint64_t now_ns)
{
    struct tree *tree = &w->trees[root];
    struct flight *f = flight_at(w, root, packet->bitmap);

    if (f->sequence == NO_SEQUENCE || f->vid != packet->bitmap) {
        return w->oldest != 0 || packet->bitmap < tree->vid ? TRIB_DROP_DUPLICATE : TRIB_DROP_UNASKED;
    }
    if (w->has_miss != 0 && trib_panama_is_miss(packet)) {
        *again_at(w, root, tree->again_head + tree->again_count++) = f->sequence;
        free_flight(w, tree, f);
        start_timer(w, root, now_ns);
        return TRIB_DROP_NONE;
    }
    enum trib_drop drop = check(w, f, packet);
    if (drop != TRIB_DROP_NONE) {
        struct trib_event event = {.kind = TRIB_EVENT_FAILED, .sequence = f->sequence};
        if (w->failed == NO_SEQUENCE) {
            w->failed = f->sequence;
            tell(w, &event);
        }
        return drop;
    }
    trib_panama_window_result(&tree->window, (packet->flags & TRIB_FLAG_ECN) != 0, packet->window_cap);
    deliver(w, f, packet);
    count_result(w, packet);
    aside_of(w)->waits_ns = now_ns;
    free_flight(w, tree, f);
    start_timer(w, root, now_ns);
    finish(w);
    return TRIB_DROP_NONE;
}

static enum trib_drop take(struct worker *w, struct trib_place from, const struct trib_packet *packet, uint64_t now_ns)
{
    const struct trib_session_config *s = &w->config.session;

    if (packet->communicator != s->communicator || from.kind != TRIB_PLACE_ROOT || from.index >= s->roots ||
        packet->tree != from.index) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->generation != s->generation) {
        return TRIB_DROP_GENERATION;
    }
    if (packet->kind != TRIB_RESULT) {
        return TRIB_DROP_KIND;
    }
    return take_result(w, from.index, packet, now_ns);
}

static enum trib_drop literal_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                      uint64_t now_ns)
{
    enum trib_drop drop = take(node, from, packet, now_ns);

    aside_of(node)->counters.dropped[drop] += drop != TRIB_DROP_NONE;
    return drop;
}

/* ---- timers ---- */

static uint64_t stall_deadline(const struct worker *w)
{
    uint64_t since = aside_of(w)->waits_ns;

    return w->oldest == w->newest || w->config.stall_ns >= TRIB_NEVER - since ? TRIB_NEVER : since + w->config.stall_ns;
}

static uint64_t literal_next_timeout(const void *node)
{
    const struct worker *w = node;
    uint64_t earliest = stall_deadline(w);

    for (uint32_t root = 0; root < w->config.session.roots; root++) {
        uint64_t deadline = aside_of(w)->deadline_ns[root];
        earliest = deadline != 0 && deadline < earliest ? deadline : earliest;
    }
    return w->boot != 0 ? earliest : TRIB_NEVER;
}

static void report_stall(struct worker *w, uint64_t now_ns)
{
    struct trib_event event = {
        .kind = TRIB_EVENT_STALL, .sequence = operation_at(w, w->oldest)->first, .since_ns = aside_of(w)->waits_ns};

    aside_of(w)->waits_ns = now_ns;
    aside_of(w)->counters.stalls++;
    tell(w, &event);
}

static void literal_on_timeout(void *node, uint64_t now_ns)
{
    struct worker *w = node;

    if (w->boot == 0) {
        return;
    }
    for (uint32_t root = 0; root < w->config.session.roots; root++) {
        uint64_t deadline = aside_of(w)->deadline_ns[root];
        if (deadline == 0 || deadline > now_ns) {
            continue;
        }
        start_timer(w, root, now_ns);
        for (uint64_t vid = w->trees[root].oldest; vid < w->trees[root].vid; vid++) {
            flight_at(w, root, vid)->resend = flight_at(w, root, vid)->sequence != NO_SEQUENCE;
        }
    }
    if (stall_deadline(w) <= now_ns) {
        report_stall(w, now_ns);
    }
}

/* ---- queries of the caller ---- */

static bool literal_submit(void *node, const struct trib_operation *operation, uint64_t now_ns)
{
    struct worker *w = node;
    struct operation *o = operation_at(w, w->newest);

    if (w->newest - w->oldest == w->config.operations) {
        return false;
    }
    *o = (struct operation){.operation = *operation, .number = w->number++, .first = w->end};
    trib_layout_init(&o->layout, &w->config.session, operation, o->number);
    TRIB_ASSERT(operation->collective == TRIB_ALLREDUCE || operation->collective == TRIB_BARRIER);
    TRIB_ASSERT(o->layout.lookahead == 0 && o->layout.sequences <= trib_window_end(&w->window) - w->end);
    if (w->oldest == w->newest++) {
        aside_of(w)->waits_ns = now_ns;
    }
    o->left = o->layout.sequences;
    w->end += o->layout.sequences;
    return true;
}

static void literal_learn_mark(void *node, uint64_t mark, uint64_t now_ns)
{
    struct worker *w = node;

    (void)now_ns;
    w->known = mark > w->known ? mark : w->known;
}

/* The paper has no boots: a worker continues, and its packets meet an empty accelerator. */
static void literal_registered(void *node, uint32_t boot, uint64_t mark, uint64_t now_ns)
{
    struct worker *w = node;

    w->boot = boot;
    aside_of(w)->counters.registrations++;
    literal_learn_mark(w, mark, now_ns);
}

static void literal_suspend(void *node)
{
    ((struct worker *)node)->boot = 0;
}

/* The mark moves by operations: operations before the active one have ended. */
static uint64_t literal_mark(const void *node)
{
    const struct worker *w = node;

    return w->oldest == w->newest ? w->end : operation_at(w, w->oldest)->first;
}

static uint64_t literal_communicator_mark(const void *node)
{
    return ((const struct worker *)node)->known;
}

static uint64_t literal_end(const void *node)
{
    return ((const struct worker *)node)->end;
}

static bool literal_describe(const void *node, uint64_t sequence, struct trib_operation *operation, uint64_t *number)
{
    const struct worker *w = node;

    for (uint64_t position = w->oldest; position != w->newest; position++) {
        const struct operation *o = operation_at(w, position);
        if (sequence >= o->first && sequence - o->first < o->layout.sequences) {
            *operation = o->operation;
            *number = o->number;
            return true;
        }
    }
    return false;
}

static uint32_t literal_idle(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES])
{
    (void)node;
    (void)ranges;
    return 0;
}

static void literal_limit(void *node, uint32_t root, uint32_t fragments)
{
    struct worker *w = node;
    uint32_t most = w->config.window;

    TRIB_ASSERT(root < w->config.session.roots);
    w->trees[root].limit = fragments == 0 ? 1 : fragments < most ? fragments : most;
}

static uint32_t literal_in_flight(const void *node, uint32_t root)
{
    return ((const struct worker *)node)->trees[root].in_flight;
}

static const struct trib_counters *literal_counters(const void *node)
{
    return &aside_of(node)->counters;
}

#define VERBS                                                                                                     \
    .node = {.state_size = literal_state_size,                                                                    \
             .receive = literal_receive,                                                                          \
             .next_packet = literal_next_packet,                                                                  \
             .next_event = literal_next_event,                                                                    \
             .next_timeout = literal_next_timeout,                                                                \
             .on_timeout = literal_on_timeout,                                                                    \
             .communicator_mark = literal_communicator_mark,                                                      \
             .idle = literal_idle,                                                                                \
             .counters = literal_counters},                                                                       \
    .size = literal_size, .submit = literal_submit, .registered = literal_registered, .suspend = literal_suspend, \
    .learn_mark = literal_learn_mark, .mark = literal_mark, .end = literal_end, .describe = literal_describe,     \
    .limit = literal_limit, .in_flight = literal_in_flight

const struct trib_worker_verbs trib_panama_literal_worker_verbs = {.init = literal_init, VERBS};
const struct trib_worker_verbs trib_panama_miss_worker_verbs = {.init = miss_init, VERBS};
