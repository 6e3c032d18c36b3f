/* SPDX-License-Identifier: Apache-2.0 */
/* view.c: two states of a node are one when nothing that comes can tell them apart. Here is what nobody will read
 * again, by scheme, and is cleared in the node itself; and which limits of repeats hold, which is all that times mean
 * to a search (model.h, "TIME"). Whatever is not named here counts, so a new field of a node makes more states, never
 * wrong ones; a new limit behind the hashed state would make wrong ones, which --verify finds. Private headers of the
 * scheme are read here, and only here.
 * Read next: check.c. */
#include <string.h>

#include "model.h"
#include "protocol/switch_memory.h"
#include "protocol/worker_memory.h"
#include "schemes/ring/ring_memory.h"

/* ---- rings: what is in use comes first, what is not is zero ---- */

struct ring {
    void *entries;
    size_t size; /* of an entry */
    uint32_t room;
    uint32_t *head;
    uint32_t count;
};

static void clear_ring(const struct ring *ring)
{
    uint8_t kept[4096];
    uint8_t *entries = ring->entries;
    size_t used = ring->count * ring->size;

    if (used > sizeof kept || (*ring->head == 0 && ring->count == 0 && ring->room > 64)) {
        return; /* a large ring never goes all the way round between two visits: as it was left here, or never used */
    }
    for (uint32_t i = 0; i < ring->count; i++) {
        memcpy(kept + i * ring->size, entries + (*ring->head + i) % ring->room * ring->size, ring->size);
    }
    bool is_small = ring->room <= 64 || *ring->head + ring->count > ring->room;
    memset(entries + used, 0, (is_small ? ring->room : *ring->head + ring->count) * ring->size - used);
    memcpy(entries, kept, used);
    *ring->head = 0;
}

/* ---- switchml: worker ---- */

static bool is_below_mark(const struct worker *w, const struct flight *f)
{
    uint32_t root = trib_window_root(&w->window, f->sequence);

    return f->state == FLIGHT_FINISHED && f->sequence < w->roots[root].communicator_mark;
}

/* Below M nobody asks for a copy, and the wire buffer is read only where it holds a contribution or a copy. */
static void clear_flight(struct worker *w, uint32_t index)
{
    struct flight *f = worker_flight(w, index);
    uint8_t *wire = worker_wire(w, index);
    size_t used = 0;

    if (is_below_mark(w, f)) {
        *f = (struct flight){
            .sequence = f->sequence,
            .newer = f->newer,
            .older = f->older,
            .state = f->state,
            .pending = f->pending,
        };
    } else if (f->state == FLIGHT_FINISHED && f->copy == COPY_IN_WIRE) {
        used = f->payload_len + (f->flags & TRIB_FLAG_QUORUM ? TRIB_QUORUM_LIST : 0);
    } else if (f->state == FLIGHT_SENT && f->encoded) {
        used = w->config.session.payload;
    }
    if (f->state != FLIGHT_SENT) {
        f->is_lost = 0;
    }
    memset(wire + used, 0, w->config.session.payload - used);
}

/* An OFFER of what lies below M would not leave. */
static void clear_offers(struct worker *w)
{
    uint32_t *queue = worker_at(w, w->queue_at);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < w->queue_count; i++) {
        struct flight *f = worker_flight(w, queue[i]);
        if (is_below_mark(w, f) && f->pending == PENDING_OFFER) {
            f->pending = 0;
        } else {
            queue[kept++] = queue[i];
        }
    }
    memset(queue + kept, 0, (w->queue_count - kept) * sizeof *queue);
    w->queue_count = kept;
}

/* The share of marks says how far a window falls. That does not matter where nothing is marked, nor where a window is
 * never above 2, as it then falls to less than 2, and one step brings it back. One that is never above 1 is always
 * that. */
static void clear_pace(const struct model_scenario *scenario, struct worker_root *root)
{
    struct trib_congestion_tree *tree = &root->tree;

    if (tree->most <= 2 || scenario->budget[BUDGET_MARKED] == 0) {
        tree->alpha = TRIB_CONGESTION_ONE;
        tree->epoch = tree->results = tree->marked = 0;
    }
    if (tree->most <= 2) {
        tree->window = trib_congestion_tree_fragments(tree) * TRIB_CONGESTION_ONE;
        tree->threshold = 2 * TRIB_CONGESTION_ONE;
    }
    if (tree->most == 1) {
        tree->recover = 0;
        root->is_full = 0;
        root->ahead = 0;
    }
}

static void clear_worker(const struct model_scenario *scenario, void *node)
{
    struct worker *w = node;
    uint32_t event_room = (uint32_t)((w->exponents_at - w->events_at) / sizeof(struct trib_event));
    struct ring events = {worker_at(w, w->events_at), sizeof(struct trib_event), event_room, &w->events_head,
                          w->events_count};
    struct ring queue = {worker_at(w, w->queue_at), sizeof(uint32_t), w->flights, &w->queue_head, w->queue_count};

    clear_ring(&events);
    clear_ring(&queue);
    clear_offers(w);
    for (uint32_t index = 0; index < w->flights; index++) {
        clear_flight(w, index);
    }
    for (uint64_t i = 0; i < w->config.operations; i++) {
        if (i >= w->newest_operation - w->oldest_operation) {
            memset(worker_operation_at(w, w->oldest_operation + i), 0, sizeof(struct worker_operation));
        }
    }
    for (uint32_t root = 0; root < w->window.roots && w->is_paced; root++) {
        clear_pace(scenario, &w->roots[root]);
    }
    w->held_sequence = w->held_bitmap = 0; /* for stall reports, which are off */
}

static void worker_lists(const void *node, uint8_t list[MODEL_SEQUENCES])
{
    const struct worker *w = node;

    for (uint32_t index = 0; index < w->flights; index++) {
        const struct flight *f = worker_flight(w, index);
        if (f->state != FLIGHT_FINISHED || is_below_mark(w, f) || f->sequence >= MODEL_SEQUENCES) {
            continue;
        }
        uint8_t everyone = (uint8_t)((1U << w->config.session.ranks) - 1);
        list[f->sequence] = f->flags & TRIB_FLAG_QUORUM ? worker_wire(w, index)[f->payload_len] : everyone;
    }
}

static const char *wrong_window(const struct worker *w, const struct worker_root *r, uint32_t before)
{
    uint32_t most = trib_window_cap(&w->window, 0);

    if (r->congestion.window < 1 || r->tree.window < TRIB_CONGESTION_ONE) {
        return "below one fragment";
    }
    if (r->cap < 1 || r->cap > most || r->congestion.window > r->cap || r->tree.window > most * TRIB_CONGESTION_ONE) {
        return "above the cap";
    }
    if (r->tree.threshold < 2 * TRIB_CONGESTION_ONE) {
        return "its threshold is below two fragments";
    }
    if (r->tree.alpha > TRIB_CONGESTION_ONE || r->tree.marked > r->tree.results) {
        return "more than all results were marked";
    }
    return r->congestion.in_flight > before && r->congestion.in_flight > r->congestion.window
               ? "more was sent than it admits"
               : NULL;
}

static const char *worker_windows(const void *node, const uint32_t before[MODEL_ROOTS])
{
    const struct worker *w = node;
    const char *wrong = NULL;

    for (uint32_t root = 0; root < w->window.roots && w->is_paced && wrong == NULL; root++) {
        wrong = wrong_window(w, &w->roots[root], before[root]);
    }
    return wrong;
}

static size_t worker_limits(const void *node, uint64_t now_ns, uint64_t *words, bool *is_limited)
{
    const struct worker *w = node;

    words[0] = 0;
    for (uint32_t index = 0; index < w->flights; index++) {
        const struct flight *f = worker_flight(w, index);
        const struct flight_times *times = worker_times(w, index);
        uint32_t root = trib_window_root(&w->window, f->sequence);
        uint64_t half = trib_loss_timeout(&worker_aside(w)->roots[root].trip, 0) / 2;
        bool holds = times->resent_ns != 0 && now_ns - times->resent_ns < half;
        words[0] |= (uint64_t)(holds && f->state != FLIGHT_FREE && !is_below_mark(w, f)) << index;
    }
    for (uint32_t root = 0; root < w->window.roots && w->config.session.cap != 0; root++) {
        bool is_awake = now_ns - worker_aside(w)->roots[root].active_ns <= TRIB_PROTOCOL_REST_NS;
        words[0] |= (uint64_t)is_awake << (63 - root);
    }
    *is_limited = words[0] != 0;
    return 1;
}

/* ---- switchml: switch ---- */

static void clear_rows(struct switch_node *n, uint32_t index)
{
    const struct trib_slot *slot = switch_slot(n, index);

    for (uint32_t row = 0; row < n->rows; row++) {
        bool used = n->rows == 1 ? slot->loaded != 0 : (slot->loaded >> (2 * row) & 3) != 0;
        size_t size = used ? trib_row_size((enum trib_type)slot->type, slot->payload_len) : 0;
        bool has_list = used && (slot->flags & TRIB_FLAG_QUORUM) != 0 && trib_slot_is_complete(slot, n->required);
        size_t listed = has_list ? switch_payload_len(slot) : 0;
        size = size > listed ? size : listed;
        memset((uint8_t *)switch_row(n, index, row) + size, 0, n->row_size - size);
    }
}

/* Read only of a slot whose sum may lack ranks. */
static void clear_list(struct switch_node *n, uint32_t index)
{
    const struct trib_slot *slot = switch_slot(n, index);

    if (trib_slot_is_empty(slot) || (slot->flags & TRIB_FLAG_QUORUM) == 0) {
        memset(switch_list(n, index), 0, TRIB_QUORUM_LIST);
    }
}

/* Read only of a slot that some child's part came to marked. All ones otherwise, which names children that are not: a
 * node that reads what an earlier fragment has left there shows it. */
static void clear_marked(struct switch_node *n, uint32_t index)
{
    const struct trib_slot *slot = switch_slot(n, index);

    if (trib_slot_is_empty(slot) || (slot->flags & TRIB_FLAG_ECN) == 0) {
        *switch_marked(n, index) = UINT64_MAX;
    }
}

/* Read only where operations differ, which they do behind no combiner of a scenario. */
static void clear_first(struct switch_node *n, uint32_t index)
{
    struct trib_slot *slot = switch_slot(n, index);

    if (!trib_slot_is_empty(slot)) {
        slot->first = (uint8_t)trib_lowest(slot->present);
    }
}

static void clear_queue(struct switch_node *n, struct slot_queue *queue)
{
    struct ring ring = {switch_at(n, queue->at), sizeof(uint32_t), n->window.slots, &queue->head, queue->count};

    clear_ring(&ring);
}

static void clear_switch(const struct model_scenario *scenario, void *node)
{
    struct switch_node *n = node;
    struct ring answers = {switch_at(n, n->answers_at), sizeof(struct answer), n->answers_room, &n->answers_head,
                           n->answers_count};

    /* For caps that fall. */
    if (n->config.session.cap == 0 || n->opened <= n->mark_dense) {
        n->opened = 0;
    }
    n->cap_latch = n->cap_before != 0 ? n->cap_latch : 0;
    n->cap_reach = n->cap_reach > n->mark_dense ? n->cap_reach : 0;
    clear_ring(&answers);
    clear_queue(n, &n->down);
    clear_queue(n, &n->headers);
    if (n->config.has_parent) {
        clear_queue(n, &n->up);
    }
    for (uint32_t index = 0; index < n->window.slots; index++) {
        clear_rows(n, index);
        clear_marked(n, index);
        if (scenario->rows != 0) {
            clear_first(n, index);
        }
        if (trib_session_has_quorum(&n->config.session)) {
            clear_list(n, index);
        }
    }
    for (uint32_t child = 0; child < n->config.children; child++) {
        if (!(n->owed >> child & 1)) {
            n->owed_sequence[child] = 0;
        }
    }
}

static size_t switch_limits(const void *node, uint64_t now_ns, uint64_t *words, bool *is_limited)
{
    const struct switch_node *n = node;
    const struct switch_aside *aside = switch_aside(n);
    size_t count = 1;

    words[0] = 0;
    for (uint32_t child = 0; child < n->config.children; child++) {
        uint64_t last = aside->boot_ns[child];
        words[0] |= (uint64_t)(last != 0 && now_ns - last <= TRIB_PROTOCOL_REPEAT_NS) << child;
    }
    bool is_awake = aside->active_ns != 0 && now_ns - aside->active_ns < TRIB_PROTOCOL_IDLE_NS;
    words[0] |= (uint64_t)(is_awake && n->config.session.cap != 0) << 62;
    if (n->config.has_parent) {
        bool holds = now_ns - aside->told_ns <= TRIB_PROTOCOL_REPEAT_NS;
        words[0] |= (uint64_t)holds << 63;
        words[count++] = aside->told >= n->lowest;
    }
    *is_limited = words[0] != 0;
    for (uint32_t index = 0; index < n->window.slots; index++) {
        const struct slot_repeats *r = switch_repeats(n, index);
        bool is_dead = r->sequence < n->communicator_mark;
        bool holds = !is_dead && now_ns - r->since_ns <= TRIB_PROTOCOL_REPEAT_NS &&
                     (r->results | r->held | r->asks | r->once) != 0;
        words[count++] = is_dead ? 0 : r->sequence;
        words[count++] = is_dead ? 0 : r->offerers;
        words[count++] = holds ? r->results : 0;
        words[count++] = holds ? r->held : 0;
        words[count++] = holds ? r->asks : 0;
        words[count++] = holds ? r->once : 0;
        *is_limited |= holds;
    }
    return count;
}

/* ---- ring ---- */

/* Marks of congestion are not known here, so their share does not matter. */
static void clear_congestion(struct trib_congestion_window *c)
{
    c->round_end = c->acked = c->marked = 0;
    c->alpha = TRIB_CONGESTION_ONE;
}

/* What is not going to be sent again is not read again. */
static void clear_ring_worker(const struct model_scenario *scenario, void *node)
{
    struct ring_worker *w = node;
    uint32_t event_room = (uint32_t)((w->flows_at - w->events_at) / sizeof(struct trib_event));
    struct ring events = {ring_at(w, w->events_at), sizeof(struct trib_event), event_room, &w->events_head,
                          w->events_count};

    (void)scenario;
    clear_ring(&events);
    for (uint32_t way = 0; way < RING_WAYS; way++) {
        if (ring_has(w, way)) {
            clear_congestion(&ring_sender(w, way)->congestion);
        }
    }
    for (uint32_t i = 0; i < w->config.session.slots; i++) {
        struct ring_slot *slot = ring_slot(w, i);
        bool is_read = slot->state == RING_HELD || (!ring_is_sent(slot) && !slot->is_borrowed);
        size_t used = is_read ? slot->len : 0;
        memset(ring_wire(w, i) + used, 0, w->config.session.payload - used);
        for (uint32_t way = 0; way < RING_WAYS; way++) {
            struct ring_sending *sending = &slot->sending[way];
            sending->flow = sending->out == RING_UNDER_WAY ? sending->flow : 0;
            sending->leg = sending->out == RING_NOTHING ? 0 : sending->leg;
        }
    }
    for (uint64_t i = w->newest_operation - w->oldest_operation; i < w->config.operations; i++) {
        memset(ring_operation_at(w, w->oldest_operation + i), 0, sizeof(struct ring_operation));
    }
}

/* A flow repeats by order and by timeouts alone. */
static size_t ring_worker_limits(const void *node, uint64_t now_ns, uint64_t *words, bool *is_limited)
{
    (void)node;
    (void)now_ns;
    words[0] = 0;
    *is_limited = false;
    return 1;
}

const struct view *view_find(const char *scheme)
{
    static const struct view views[] = {
        {"switchml", clear_worker, clear_switch, worker_limits, switch_limits, worker_lists, worker_windows},
        {"panama", clear_worker, clear_switch, worker_limits, switch_limits, worker_lists, worker_windows},
        {"rina", clear_worker, clear_switch, worker_limits, switch_limits, worker_lists, worker_windows},
        {"atp", clear_worker, clear_switch, worker_limits, switch_limits, worker_lists, worker_windows},
        {"ring", clear_ring_worker, NULL, ring_worker_limits, NULL, NULL, NULL},
        {"hybrid", clear_ring_worker, NULL, ring_worker_limits, NULL, NULL, NULL},
    };

    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        if (strcmp(views[i].scheme, scheme) == 0) {
            return &views[i];
        }
    }
    return NULL;
}
