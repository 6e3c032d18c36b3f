/* SPDX-License-Identifier: Apache-2.0 */
/* combining.c: see combining.h. The line of a pool is a ring of packets that refer to payloads of the driver's buffer,
 * or of the combiner's rows.
 * Read next: combiner.c. */
#include "protocol/combining.h"

#include <string.h>

#include "core/assert.h"
#include "core/window.h"
#include "protocol/combiner_memory.h"

/* ---- the pool ---- */

static void *at(const struct pool *p, size_t offset)
{
    return (char *)(uintptr_t)p + offset;
}

static void *combiner_of(const struct pool *p)
{
    return at(p, p->combiner_at);
}

static struct combining_node **node_at(const struct pool *p, uint32_t member)
{
    return (struct combining_node **)at(p, p->nodes_at) + member;
}

static struct waiting *waiting_at(const struct pool *p, uint32_t index)
{
    return (struct waiting *)at(p, p->line_at) + index % LINE;
}

static size_t lay_out(struct pool *p, const struct trib_combiner_config *config)
{
    size_t end = (sizeof *p + 63) & ~(size_t)63;

    *p = (struct pool){.members = config->members};
    p->nodes_at = trib_node_place(&end, config->members * sizeof(struct combining_node *));
    p->line_at = trib_node_place(&end, LINE * sizeof(struct waiting));
    p->combiner_at = trib_node_place(&end, trib_combiner_size(config));
    return end;
}

size_t trib_pool_size(const struct trib_combiner_config *config)
{
    struct pool scratch;

    return lay_out(&scratch, config);
}

void trib_pool_init(void *pool, const struct trib_combiner_config *config)
{
    struct pool *p = pool;

    (void)lay_out(p, config);
    memset(at(p, p->nodes_at), 0, p->line_at - p->nodes_at);
    trib_combiner_init(combiner_of(p), config);
}

bool trib_pool_enter(void *pool, void *node, void *owner, const struct trib_pool_share *share)
{
    struct pool *p = pool;
    struct combining_node *n = node;
    uint32_t member = n->pool == p ? n->member : 0;
    const struct trib_combiner_grant grant = {
        .behind = n->behind,
        .mark = n->mark,
        .span = trib_window_span(&n->session),
        .pieces = share->pieces,
        .communicator = n->session.communicator,
        .generation = n->session.generation,
        .group = share->group,
        .roots = (uint8_t)n->session.roots,
        .first_row = share->first_row,
        .rows = share->rows,
        .priority = share->priority,
    };

    while (member < p->members && *node_at(p, member) != NULL && *node_at(p, member) != n) {
        member++;
    }
    if (member == p->members) {
        return false;
    }
    trib_pool_leave(n);
    *node_at(p, member) = n;
    n->pool = p;
    n->owner = owner;
    n->member = member;
    trib_combiner_admit(combiner_of(p), member, &grant);
    return true;
}

void trib_pool_leave(void *node)
{
    struct combining_node *n = node;
    struct pool *p = n->pool;

    if (p == NULL) {
        return;
    }
    uint32_t count = p->count;
    p->count = 0;
    for (uint32_t i = 0; i < count; i++) { /* those of others close ranks */
        const struct waiting waits = *waiting_at(p, p->head + i);
        if (waits.member != n->member) {
            *waiting_at(p, p->head + p->count++) = waits;
        }
    }
    trib_combiner_dismiss(combiner_of(p), n->member);
    *node_at(p, n->member) = NULL;
    n->pool = NULL;
    n->member = OUTSIDE;
}

void *trib_pool_next(const void *pool)
{
    const struct pool *p = pool;

    return p->count == 0 ? NULL : (*node_at(p, waiting_at(p, p->head)->member))->owner;
}

uint32_t trib_pool_rows_held(const void *pool)
{
    return trib_combiner_rows_held(combiner_of(pool), TRIB_COMBINER_ALL);
}

const struct trib_combiner_counters *trib_pool_counters(const void *pool)
{
    return trib_combiner_counters(combiner_of(pool));
}

static bool wait_in_line(struct pool *p, uint32_t member, const struct trib_packet *packet, struct trib_place to)
{
    if (p->count == LINE) {
        return false;
    }
    *waiting_at(p, p->head + p->count++) = (struct waiting){.packet = *packet, .to = to, .member = member};
    return true;
}

/* ---- the node ---- */

static size_t size(const struct trib_switch_config *config)
{
    (void)config;
    return sizeof(struct combining_node);
}

static void init(void *node, const struct trib_switch_config *config)
{
    struct combining_node *n = node;

    TRIB_ASSERT(config->has_parent && trib_count_bits(config->behind) == config->children);
    *n = (struct combining_node){.session = config->session,
                                 .behind = config->behind,
                                 .children = config->children,
                                 .boot = config->boot,
                                 .member = OUTSIDE};
}

static size_t state_size(const void *node)
{
    (void)node;
    return offsetof(struct combining_node, counters);
}

/* The numbers of these children at the root, or the children with these numbers: the same order, closer or wider. */
static uint64_t numbers_of(const struct combining_node *n, uint64_t children)
{
    uint64_t numbers = 0;

    for (uint64_t rest = n->behind; rest != 0 && children != 0; rest &= rest - 1, children >>= 1) {
        numbers |= (children & 1) != 0 ? rest & -rest : 0;
    }
    return numbers;
}

static uint64_t child_of(const struct combining_node *n, uint16_t number)
{
    uint64_t bit = number < TRIB_CHILDREN_MAX ? UINT64_C(1) << number : 0;

    return (n->behind & bit) != 0 ? UINT64_C(1) << trib_count_bits(n->behind & (bit - 1)) : 0;
}

static enum trib_drop receive_down(struct combining_node *n, const struct trib_packet *packet)
{
    bool is_for_all = packet->node == TRIB_NODE_ALL;
    struct trib_place to = {.kind = TRIB_PLACE_CHILDREN};

    to.children = is_for_all ? trib_all_children(n->children) : child_of(n, packet->node);
    if (packet->communicator != n->session.communicator || to.children == 0) {
        return TRIB_DROP_SOURCE;
    }
    if (packet->generation != n->session.generation) {
        return TRIB_DROP_GENERATION;
    }
    trib_combiner_down(combiner_of(n->pool), n->member, packet);
    n->mark = packet->mark > n->mark && packet->mark <= TRIB_SEQUENCE_MAX ? packet->mark : n->mark;
    n->counters.results += packet->kind == TRIB_RESULT;
    return wait_in_line(n->pool, n->member, packet, to) ? TRIB_DROP_NONE : TRIB_DROP_FULL;
}

static enum trib_drop receive_up(struct combining_node *n, uint64_t children, const struct trib_packet *packet)
{
    const struct trib_place parent = {.kind = TRIB_PLACE_PARENT};
    struct pool *p = n->pool;
    struct trib_packet part = *packet;
    struct trib_packet sum;
    uint32_t member;
    bool is_lost = false;

    if (packet->kind == TRIB_CONTRIBUTION && packet->boot != n->boot) {
        return TRIB_DROP_BOOT; /* the sender's PROBE passes, and has the root's hint for an answer */
    }
    const uint64_t numbers = numbers_of(n, children);
    enum trib_combined verdict = trib_combiner_up(combiner_of(p), n->member, numbers, &part);
    while (trib_combiner_next(combiner_of(p), &sum, &member)) {
        bool is_in = wait_in_line(p, member, &sum, parent);
        (*node_at(p, member))->counters.partials += is_in;
        is_lost |= !is_in;
    }
    if (verdict == TRIB_COMBINED_PASS) {
        is_lost |= !wait_in_line(p, n->member, &part, parent);
    }
    n->counters.contributions += verdict == TRIB_COMBINED_TAKEN;
    n->counters.probes += packet->kind == TRIB_PROBE;
    if (is_lost) {
        return TRIB_DROP_FULL;
    }
    if (verdict == TRIB_COMBINED_DROPPED) {
        return trib_combiner_ranks(numbers, packet) == 0 ? TRIB_DROP_SOURCE : TRIB_DROP_STALE;
    }
    return TRIB_DROP_NONE;
}

static enum trib_drop receive(void *node, struct trib_place from, const struct trib_packet *packet, uint64_t now_ns)
{
    struct combining_node *n = node;
    enum trib_drop drop = TRIB_DROP_FULL;

    (void)now_ns;
    if (n->pool != NULL) {
        if (n->pool->count == 0) { /* the driver has sent all sums */
            trib_combiner_release(combiner_of(n->pool));
        }
        drop = from.kind == TRIB_PLACE_PARENT ? receive_down(n, packet) : receive_up(n, from.children, packet);
    }
    n->counters.dropped[drop] += drop != TRIB_DROP_NONE;
    return drop;
}

static bool next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct combining_node *n = node;
    struct pool *p = n->pool;

    (void)now_ns;
    if (p == NULL || p->count == 0 || waiting_at(p, p->head)->member != n->member) {
        return false;
    }
    *packet = waiting_at(p, p->head)->packet;
    *to = waiting_at(p, p->head)->to;
    p->head = (p->head + 1) % LINE;
    p->count--;
    return true;
}

static bool next_event(void *node, struct trib_event *event)
{
    (void)node;
    (void)event;
    return false;
}

static uint64_t next_timeout(const void *node)
{
    (void)node;
    return TRIB_NEVER;
}

static void on_timeout(void *node, uint64_t now_ns)
{
    (void)node;
    (void)now_ns;
}

static uint64_t communicator_mark(const void *node)
{
    return ((const struct combining_node *)node)->mark;
}

static uint32_t idle(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES])
{
    (void)node;
    (void)ranges;
    return 0;
}

static const struct trib_counters *counters(const void *node)
{
    return &((const struct combining_node *)node)->counters;
}

/* Only the control plane knows which ranks are behind a combiner: nothing depends on which have joined. */
static void join(void *node, uint32_t child, uint64_t mark)
{
    (void)node;
    (void)child;
    (void)mark;
}

static void learn_mark(void *node, uint64_t mark)
{
    struct combining_node *n = node;

    n->mark = mark > n->mark ? mark : n->mark;
    if (n->pool != NULL) {
        trib_combiner_learn_mark(combiner_of(n->pool), n->member, mark);
    }
}

static uint32_t slots_held(const void *node)
{
    const struct combining_node *n = node;

    return n->pool != NULL ? trib_combiner_rows_held(combiner_of(n->pool), n->member) : 0;
}

/* No sum waits here for anybody. */
static uint64_t missing(const void *node, uint64_t *sequence)
{
    (void)node;
    (void)sequence;
    return 0;
}

/* Children that have sent neither this part nor a later one; below M, as the root has it, none. The marks of the ranks
 * behind do not count: if the root has lost a part of a rank that has finished, the root waits for that rank. */
static uint64_t missing_on(const void *node, uint64_t sequence)
{
    const struct combining_node *n = node;
    bool is_awaited = n->pool != NULL && sequence >= n->mark;
    uint64_t lacks = is_awaited ? trib_combiner_missing(combiner_of(n->pool), n->member, sequence) : 0;
    uint64_t children = 0;

    for (; lacks != 0; lacks &= lacks - 1) {
        children |= child_of(n, (uint16_t)trib_lowest(lacks));
    }
    return children;
}

const struct trib_switch_verbs trib_combining_verbs = {
    .node = {.state_size = state_size,
             .receive = receive,
             .next_packet = next_packet,
             .next_event = next_event,
             .next_timeout = next_timeout,
             .on_timeout = on_timeout,
             .communicator_mark = communicator_mark,
             .idle = idle,
             .counters = counters},
    .size = size,
    .init = init,
    .join = join,
    .learn_mark = learn_mark,
    .slots_held = slots_held,
    .missing = missing,
    .missing_on = missing_on,
};
