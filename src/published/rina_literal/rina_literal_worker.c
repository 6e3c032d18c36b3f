/* SPDX-License-Identifier: Apache-2.0 */
/* rina_literal_worker.c: a rank by the published rule, which sends new parts only when its switch has pulled them, at
 * full speed. Everything else is the paced worker of trees. Read next: rina_literal_switch.c. */
#include "protocol/worker_memory.h"
#include "published/rina_literal/rina_literal.h"

/* State after the memory of the tree's worker. Indexes are dense, of each root's sequences. */
struct own {
    uint64_t pulled[TRIB_ROOTS_MAX]; /* one past the last index that may be sent */
    uint64_t told[TRIB_ROOTS_MAX];   /* one past the last index in a READY */
    uint64_t due_ns;                 /* when to repeat READY, at any rank, if parts wait for a PULL */
    uint64_t backoff;
    bool is_again[TRIB_ROOTS_MAX];
};

static size_t rina_size(const struct trib_worker_config *config)
{
    return trib__worker_size(config) + sizeof(struct own);
}

static struct own *own_of(const struct worker *w)
{
    return worker_at(w, w->end_at);
}

static void rina_init(void *node, const struct trib_worker_config *config)
{
    struct worker *w = node;

    trib__worker_init(w, config);
    trib__worker_pace(w);
    struct own *own = own_of(w);
    *own = (struct own){.due_ns = TRIB_NEVER};
    for (uint32_t root = 0; root < w->window.roots; root++) {
        own->pulled[root] = own->told[root] = trib_window_dense_below(&w->window, root, config->session.first);
    }
}

/* One past the root's last submitted sequence. */
static uint64_t submitted(const struct worker *w, uint32_t root)
{
    return trib_window_dense_below(&w->window, root, w->end);
}

/* True for a rank that is the first child of the node above, and so has an agent, or does not know its number yet. */
static bool may_have_agent(const struct worker *w, uint32_t root)
{
    return w->roots[root].child <= 1;
}

static void start_timer(struct own *own, uint64_t now_ns)
{
    static const struct trib_loss none;

    own->due_ns = now_ns + trib_loss_timeout(&none, (uint32_t)own->backoff);
}

static bool waits_for_pull(const struct worker *w)
{
    const struct own *own = own_of(w);

    for (uint32_t root = 0; root < w->window.roots; root++) {
        if (submitted(w, root) > own->pulled[root]) {
            return true;
        }
    }
    return false;
}

static bool rina_submit(void *node, const struct trib_operation *operation, uint64_t now_ns)
{
    struct worker *w = node;

    if (!waits_for_pull(w)) {
        own_of(w)->backoff = 0;
        start_timer(own_of(w), now_ns);
    }
    return trib__worker_submit(w, operation, now_ns);
}

static void pull(struct worker *w, uint32_t root, uint64_t sequence, uint64_t now_ns)
{
    struct own *own = own_of(w);
    uint64_t behind = trib_window_dense(&w->window, sequence) + 1;

    if (behind > own->pulled[root]) {
        own->pulled[root] = behind;
        own->backoff = 0;
        start_timer(own, now_ns);
    }
}

/* ---- receiving ---- */

static enum trib_drop take_pull(struct worker *w, struct trib_place from, const struct trib_packet *packet,
                                uint64_t now_ns)
{
    if (packet->tree != TRIB_RINA_PULL) {
        return TRIB_DROP_KIND;
    }
    if (from.kind != TRIB_PLACE_ROOT || from.index != trib_window_root(&w->window, packet->sequence)) {
        return TRIB_DROP_SOURCE;
    }
    if (w->boot == 0 || packet->boot != w->boot) {
        return TRIB_DROP_BOOT;
    }
    pull(w, from.index, packet->sequence, now_ns);
    return TRIB_DROP_NONE;
}

static enum trib_drop rina_receive(void *node, struct trib_place from, const struct trib_packet *packet,
                                   uint64_t now_ns)
{
    struct worker *w = node;

    if (packet->tree != 0) {
        enum trib_drop drop = take_pull(w, from, packet, now_ns);
        worker_aside(w)->counters.dropped[drop] += drop != TRIB_DROP_NONE;
        return drop;
    }
    enum trib_drop drop = trib__worker_receive(w, from, packet, now_ns);
    if (drop == TRIB_DROP_NONE && packet->kind == TRIB_ASK) { /* the PULL was lost */
        pull(w, from.index, packet->sequence, now_ns);
    }
    return drop;
}

static void rina_registered(void *node, uint32_t boot, uint64_t mark, uint64_t now_ns)
{
    struct worker *w = node;
    struct own *own = own_of(w);

    trib__worker_registered(w, boot, mark, now_ns);
    start_timer(own, now_ns);
    for (uint32_t root = 0; root < w->window.roots; root++) {
        own->told[root] = 0; /* the agent may be new */
    }
}

/* ---- sending ---- */

/* Sets the windows of the tree's worker to admit exactly the pulled parts. */
static void admit(struct worker *w)
{
    const struct own *own = own_of(w);

    for (uint32_t root = 0; root < w->window.roots; root++) {
        struct worker_root *r = &w->roots[root];
        uint64_t next = trib_window_dense(&w->window, w->next[root]);
        uint64_t fragments = r->congestion.in_flight + (own->pulled[root] > next ? own->pulled[root] - next : 0);
        r->tree.window = r->tree.most * TRIB_CONGESTION_ONE; /* full speed */
        r->limit = (uint32_t)(fragments < w->config.window ? fragments : w->config.window);
        trib__worker_set_window(w, root);
    }
}

/* True if an agent's rank has computed more, or a PULL is overdue. */
static bool is_ready_due(const struct worker *w, uint32_t root)
{
    const struct own *own = own_of(w);
    uint64_t end = submitted(w, root);

    return (own->is_again[root] && end > own->pulled[root]) || (may_have_agent(w, root) && end > own->told[root]);
}

static bool next_ready(struct worker *w, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct own *own = own_of(w);

    for (uint32_t root = 0; root < w->window.roots; root++) {
        if (!is_ready_due(w, root)) {
            continue;
        }
        own->told[root] = submitted(w, root);
        own->is_again[root] = false;
        start_timer(own, now_ns);
        *packet = (struct trib_packet){
            .kind = TRIB_PROBE,
            .tree = TRIB_RINA_READY,
            .sequence = w->end,
            .communicator = w->config.session.communicator,
            .generation = w->config.session.generation,
            .boot = w->boot,
            .node = (uint16_t)w->config.rank,
        };
        *to = (struct trib_place){.kind = TRIB_PLACE_ROOT, .index = root};
        return true;
    }
    return false;
}

static bool rina_next_packet(void *node, uint64_t now_ns, struct trib_packet *packet, struct trib_place *to)
{
    struct worker *w = node;

    if (w->boot == 0) {
        return false;
    }
    if (next_ready(w, now_ns, packet, to)) {
        return true;
    }
    admit(w);
    return trib__worker_next_packet(w, now_ns, packet, to);
}

/* ---- timers ---- */

static uint64_t rina_next_timeout(const void *node)
{
    const struct worker *w = node;
    uint64_t timeout_ns = trib__worker_next_timeout(w), due_ns = own_of(w)->due_ns;

    return w->boot != 0 && due_ns < timeout_ns && waits_for_pull(w) ? due_ns : timeout_ns;
}

static void rina_on_timeout(void *node, uint64_t now_ns)
{
    struct worker *w = node;
    struct own *own = own_of(w);

    trib__worker_on_timeout(w, now_ns);
    if (now_ns < own->due_ns) {
        return;
    }
    own->backoff++;
    start_timer(own, now_ns);
    for (uint32_t root = 0; root < w->window.roots; root++) {
        own->is_again[root] = submitted(w, root) > own->pulled[root];
    }
}

const struct trib_worker_verbs trib_rina_literal_worker = {
    .node = {.state_size = trib__worker_state_size,
             .receive = rina_receive,
             .soon = trib__worker_soon,
             .next_packet = rina_next_packet,
             .next_event = trib__worker_next_event,
             .next_timeout = rina_next_timeout,
             .on_timeout = rina_on_timeout,
             .communicator_mark = trib__worker_communicator_mark,
             .idle = trib__worker_idle,
             .counters = trib__worker_counters},
    .size = rina_size,
    .init = rina_init,
    .submit = rina_submit,
    .registered = rina_registered,
    .suspend = trib__worker_suspend,
    .learn_mark = trib__worker_session_mark,
    .mark = trib__worker_mark,
    .end = trib__worker_end,
    .describe = trib__worker_describe,
    .limit = trib__worker_limit,
    .set_child = trib__worker_set_child,
    .in_flight = trib__worker_in_flight,
};
