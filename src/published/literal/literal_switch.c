/* SPDX-License-Identifier: Apache-2.0 */
/* literal_switch.c: the published switch (NSDI'21, algorithm 3), line by line in count_in(). The switch accepts every
 * packet of its communicator. It reads no boot, mark or window, and does not check the fragment of a version. Read
 * next: protocol/switch.c, a correct switch. */
#include <string.h>

#include "core/assert.h"
#include "core/window.h"
#include "published/literal/literal.h"
#include "published/rule.h"

/* One version of a slot: the paper's seen, count and pool, and the sum's fields of our header. */
struct version {
    uint64_t seen;    /* workers */
    uint64_t lane;    /* the contributions' lanes, added like values */
    uint64_t touched; /* sequence of the last contribution, for reports; the rule does not use it */
    uint32_t count;   /* contributions, mod workers; 0: complete, or never used */
    uint16_t parts;   /* contributions with payload since the version's start */
    uint16_t payload_len;
    uint16_t flags;
    int16_t exponent;
    uint8_t type;
    uint8_t unused[3];
    /* The waiting result: the packet that completed or repeated the sum, with the sum as payload. */
    uint32_t digest;
    uint16_t last;
    uint8_t reduction;
    uint8_t resend;
    uint64_t sequence;
    uint64_t due; /* receivers of the result; 0: no result waits */
};

_Static_assert(sizeof(struct version) == 64, "no holes: states are compared as bytes");

struct literal_switch {
    struct trib_switch_config config;
    struct trib_window window;
    struct trib_published_marks marks;
    uint32_t queue_head, queue_count; /* versions with a result due */
    size_t table_at, row_size, versions_at, rows_at, queue_at, counters_at;
};

static void *at(const struct literal_switch *n, size_t offset)
{
    return (char *)(uintptr_t)n + offset;
}

static struct version *version_at(const struct literal_switch *n, uint32_t index)
{
    return (struct version *)at(n, n->versions_at) + index;
}

static void *row_at(const struct literal_switch *n, uint32_t index)
{
    return (char *)at(n, n->rows_at) + index * n->row_size;
}

static struct trib_counters *counters_of(const struct literal_switch *n)
{
    return at(n, n->counters_at);
}

/* ---- memory ---- */

static size_t lay_out(struct literal_switch *n, const struct trib_switch_config *config)
{
    size_t versions = 2 * (size_t)config->session.slots;
    size_t end = (sizeof *n + 63) & ~(size_t)63;

    n->row_size = trib_row_size(TRIB_BFLOAT16, config->session.payload); /* any type is possible */
    n->table_at = trib_node_place(&end, trib_window_table_size(&config->session));
    n->versions_at = trib_node_place(&end, versions * sizeof(struct version));
    n->rows_at = trib_node_place(&end, versions * n->row_size);
    n->queue_at = trib_node_place(&end, versions * sizeof(uint32_t));
    n->counters_at = trib_node_place(&end, sizeof(struct trib_counters));
    return end;
}

static size_t literal_size(const struct trib_switch_config *config)
{
    struct literal_switch scratch;

    return lay_out(&scratch, config);
}

static void literal_init(void *node, const struct trib_switch_config *config)
{
    struct literal_switch *n = node;
    const struct trib_session_config *s = &config->session;

    TRIB_ASSERT(config->children >= 1 && config->children <= TRIB_CHILDREN_MAX && !config->has_parent);
    TRIB_ASSERT(s->slots >= 1 && s->train >= 1 && s->payload <= TRIB_PAYLOAD_MAX);
    if (!config->is_zeroed) {
        memset(n, 0, literal_size(config));
    }
    (void)lay_out(n, config);
    n->config = *config;
    trib_window_init(&n->window, s, at(n, n->table_at));
    trib_published_init(&n->marks, config);
}

static size_t literal_state_size(const void *node)
{
    return ((const struct literal_switch *)node)->counters_at;
}

/* ---- the rule ---- */

static void add(struct literal_switch *n, uint32_t index, const struct trib_packet *packet)
{
    struct version *v = version_at(n, index);
    const struct trib_value_kernels *k = n->config.kernels;

    v->lane += packet->lane;
    v->flags |= packet->flags & TRIB_FLAG_ECN;
    v->exponent = packet->exponent > v->exponent ? packet->exponent : v->exponent;
    if (packet->payload_len == 0) {
        return;
    }
    if (v->parts++ == 0) {
        v->type = packet->type;
        v->payload_len = packet->payload_len;
        trib_row_load(k, (enum trib_type)packet->type, row_at(n, index), packet->payload, packet->payload_len);
    } else {
        trib_row_add(k, (enum trib_type)packet->type, (enum trib_reduction)packet->reduction, row_at(n, index),
                     packet->payload, packet->payload_len);
    }
}

static void begin_anew(struct version *v, const struct trib_packet *packet)
{
    v->lane = 0;
    v->parts = v->payload_len = v->flags = 0;
    v->type = 0;
    v->exponent = packet->exponent;
}

/* Lines of algorithm 3 from "if seen = 0". True: the packet returns with the sum to the workers in *receivers. */
static bool count_in(struct literal_switch *n, uint32_t index, uint32_t child, const struct trib_packet *packet,
                     uint64_t *receivers)
{
    struct version *v = version_at(n, index);
    struct version *other = version_at(n, index ^ 1U);
    uint64_t bit = UINT64_C(1) << child;

    if ((v->seen & bit) == 0) {
        v->seen |= bit;
        other->seen &= ~bit;
        v->count = (v->count + 1) % n->config.children;
        if (v->count == 1 || n->config.children == 1) {
            begin_anew(v, packet);
        }
        add(n, index, packet);
        v->touched = packet->sequence;
        counters_of(n)->contributions++;
        *receivers = n->marks.all;
        if (v->count == 0 && v->parts != 0) {
            trib_row_finish(n->config.kernels, (enum trib_type)v->type, row_at(n, index), v->payload_len);
        }
    } else {
        *receivers = bit;
    }
    return v->count == 0;
}

/* ---- receive ---- */

static bool can_add(const struct literal_switch *n, const struct version *v, const struct trib_packet *packet)
{
    size_t size = packet->type == TRIB_BYTES ? 1 : trib_type_size((enum trib_type)packet->type);

    if (packet->payload_len == 0) {
        return true;
    }
    if (packet->payload_len > n->config.session.payload || size == 0 || packet->payload_len % size != 0) {
        return false;
    }
    /* The first packet of a version overwrites it. The paper's packets have one shape; our packets must not be added
     * past a row's end. */
    bool begins = v->count == 0 || v->parts == 0;
    return begins || (v->type == packet->type && v->payload_len == packet->payload_len && packet->type != TRIB_BYTES);
}

static enum trib_drop take(struct literal_switch *n, uint32_t child, const struct trib_packet *packet)
{
    const struct trib_session_config *s = &n->config.session;
    uint32_t *queue = at(n, n->queue_at);
    uint64_t receivers;

    if (packet->communicator != s->communicator || child >= n->config.children ||
        trib_window_root(&n->window, packet->sequence) != n->config.root) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->generation != s->generation) {
        return TRIB_DROP_GENERATION;
    }
    if (packet->kind != TRIB_CONTRIBUTION) {
        return TRIB_DROP_KIND;
    }
    uint64_t dense = trib_window_dense(&n->window, packet->sequence);
    uint32_t index = (uint32_t)(dense % s->slots * 2 + dense / s->slots % 2);
    struct version *v = version_at(n, index);
    trib_published_take_mark(&n->marks, child, packet->mark <= packet->sequence ? packet->mark : 0);
    /* The paper's results are sent at once. Our results are sent at the driver's drain, and must not change before. */
    if (v->due != 0 && (v->sequence != packet->sequence || !(v->seen >> child & 1))) {
        return TRIB_DROP_FULL;
    }
    if (!can_add(n, v, packet)) {
        return TRIB_DROP_SHAPE;
    }
    if (!count_in(n, index, child, packet, &receivers)) {
        return receivers == n->marks.all ? TRIB_DROP_NONE : TRIB_DROP_DUPLICATE;
    }
    if (v->due == 0) {
        queue[(n->queue_head + n->queue_count++) % (2 * s->slots)] = index;
        v->resend = receivers != n->marks.all;
    }
    v->due |= receivers;
    v->sequence = packet->sequence;
    v->digest = packet->digest;
    v->reduction = packet->reduction;
    v->last = packet->last_rank;
    return TRIB_DROP_NONE;
}

static enum trib_drop literal_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                      uint64_t now_ns)
{
    struct literal_switch *n = node;
    enum trib_drop drop = TRIB_DROP_SOURCE;

    (void)now_ns;
    if (from.kind == TRIB_PLACE_CHILDREN && from.children != 0) {
        drop = take(n, (uint32_t)__builtin_ctzll(from.children), packet);
    }
    counters_of(n)->dropped[drop] += drop != TRIB_DROP_NONE;
    return drop;
}

/* ---- sending ---- */

static bool literal_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct literal_switch *n = node;
    const uint32_t *queue = at(n, n->queue_at);

    (void)now_ns;
    if (n->queue_count == 0) {
        return false;
    }
    uint32_t index = queue[n->queue_head];
    struct version *v = version_at(n, index);
    n->queue_head = (n->queue_head + 1) % (2 * n->config.session.slots);
    n->queue_count--;
    *packet = (struct trib_packet){
        .kind = TRIB_RESULT,
        .flags = (uint16_t)((v->flags & ~TRIB_FLAG_ECN) | (v->resend ? TRIB_FLAG_RESEND : 0)),
        .sequence = v->sequence,
        .mark = n->marks.communicator_mark < v->sequence ? n->marks.communicator_mark : v->sequence,
        .bitmap = v->flags & TRIB_FLAG_ECN ? n->marks.all : 0, /* on the path of any child */
        .lane = v->lane,
        .communicator = n->config.session.communicator,
        .digest = v->digest,
        .boot = n->config.boot,
        .generation = n->config.session.generation,
        .contributors = v->parts,
        .last_rank = v->last,
        .exponent = v->exponent,
        .type = v->type,
        .reduction = v->reduction,
        .payload_len = v->payload_len,
        .payload = v->payload_len != 0 ? row_at(n, index) : NULL,
    };
    *to = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = v->due};
    counters_of(n)->results += !v->resend;
    counters_of(n)->results_repeated += v->resend;
    v->due = 0;
    return true;
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

/* Incomplete versions. */
static uint32_t literal_slots_held(const void *node)
{
    const struct literal_switch *n = node;
    uint32_t held = 0;

    for (uint32_t index = 0; index < 2 * n->config.session.slots; index++) {
        held += version_at(n, index)->count != 0;
    }
    return held;
}

static uint64_t literal_missing(const void *node, uint64_t *sequence)
{
    const struct literal_switch *n = node;
    const struct version *oldest = NULL;

    for (uint32_t index = 0; index < 2 * n->config.session.slots; index++) {
        const struct version *v = version_at(n, index);
        if (v->count != 0 && (oldest == NULL || v->touched < oldest->touched)) {
            oldest = v;
        }
    }
    *sequence = oldest != NULL ? oldest->touched : 0;
    return oldest != NULL ? n->marks.all & ~oldest->seen : 0;
}

static uint64_t literal_missing_on(const void *node, uint64_t sequence)
{
    const struct literal_switch *n = node;

    for (uint32_t index = 0; index < 2 * n->config.session.slots; index++) {
        const struct version *v = version_at(n, index);
        if (v->count != 0 && v->touched == sequence) {
            return n->marks.all & ~v->seen;
        }
    }
    return 0;
}

static const struct trib_counters *literal_counters(const void *node)
{
    return counters_of(node);
}

const struct trib_switch_verbs trib_literal_switch_verbs = {
    .node = {.state_size = literal_state_size,
             .receive = literal_receive,
             .next_packet = literal_next_packet,
             .next_event = trib_published_next_event,
             .next_timeout = trib_published_next_timeout,
             .on_timeout = trib_published_on_timeout,
             .communicator_mark = literal_communicator_mark,
             .idle = trib_published_idle,
             .counters = literal_counters},
    .size = literal_size,
    .init = literal_init,
    .join = literal_join,
    .learn_mark = trib_published_learn_mark,
    .slots_held = literal_slots_held,
    .missing = literal_missing,
    .missing_on = literal_missing_on,
};
