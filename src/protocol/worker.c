/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c: a worker's memory and its control verbs: submit, registration, marks. No packet is built or read here.
 * Read next: worker_send.c. */
#include <string.h>

#include "core/assert.h"
#include "core/lane.h"
#include "protocol/worker_memory.h"

/* Lays the arrays out behind the struct; returns the size of it all. */
static size_t lay_out(struct worker *w, const struct trib_worker_config *config)
{
    const struct trib_session_config *s = &config->session;
    size_t flights = (size_t)s->roots * s->slots;
    size_t at = (sizeof *w + s->roots * sizeof w->roots[0] + 63) & ~(size_t)63;

    w->exponents = trib_window_span(s) + s->lookahead;
    w->table_at = trib_node_place(&at, trib_window_table_size(s));
    w->operations_at = trib_node_place(&at, config->operations * sizeof(struct worker_operation));
    w->flights_at = trib_node_place(&at, flights * sizeof(struct flight));
    w->queue_at = trib_node_place(&at, flights * sizeof(uint32_t));
    w->events_at = trib_node_place(&at, worker_event_room(config) * sizeof(struct trib_event));
    w->exponents_at = trib_node_place(&at, w->exponents * sizeof(int16_t));
    w->has_exponents_at = trib_node_place(&at, w->exponents * sizeof(uint8_t));
    w->wire_at = trib_node_place(&at, flights * s->payload);
    w->aside_at = trib_node_place(&at, sizeof(struct worker_aside) + s->roots * sizeof(struct worker_root_times));
    w->times_at = trib_node_place(&at, flights * sizeof(struct flight_times));
    w->scratch_at = trib_node_place(&at, worker_scratch_own(s) + s->payload);
    w->end_at = at;
    return at;
}

size_t trib__worker_size(const struct trib_worker_config *config)
{
    struct worker scratch;

    return lay_out(&scratch, config);
}

static void check_config(const struct trib_worker_config *config)
{
    const struct trib_session_config *s = &config->session;

    TRIB_ASSERT(s->ranks >= 1 && s->ranks <= TRIB_SESSION_RANKS_MAX && config->rank < s->ranks);
    TRIB_ASSERT(s->roots >= 1 && s->roots <= TRIB_ROOTS_MAX && s->train >= 1);
    TRIB_ASSERT(s->payload >= TRIB_PAYLOAD_ALIGN && s->payload <= TRIB_PAYLOAD_MAX &&
                s->payload % TRIB_PAYLOAD_ALIGN == 0);
    TRIB_ASSERT(!trib_session_has_quorum(s) || (s->ranks <= TRIB_QUORUM_RANKS_MAX && s->payload > TRIB_QUORUM_LIST));
    TRIB_ASSERT(config->window >= 1 && config->window <= s->slots);
    TRIB_ASSERT(config->operations >= 1 && s->lookahead >= 1);
    TRIB_ASSERT(config->rate == 0 || config->rate >= TRIB_RATE_MIN);
}

void trib__worker_init(void *node, const struct trib_worker_config *config)
{
    struct worker *w = node;

    check_config(config);
    if (!config->is_zeroed) {
        memset(w, 0, trib__worker_size(config));
    }
    (void)lay_out(w, config);
    w->config = *config;
    trib_window_init(&w->window, &config->session, worker_at(w, w->table_at));
    w->flights = config->session.roots * config->session.slots;
    w->lanes = trib__worker_lanes(config);
    w->key = trib_lane_key(config->session.salt, config->rank);
    for (uint32_t rank = 0; rank < config->session.ranks; rank++) {
        w->keys += trib_lane_key(config->session.salt, rank);
    }
    w->least = config->session.ranks - trib_quorum_spare(&config->session, config->session.ranks);
    w->end = w->mark = config->session.first;
    w->held_sequence = UINT64_MAX;
    for (uint32_t root = 0; root < w->window.roots; root++) {
        w->next[root] = trib_window_sequence(&w->window, root, trib_window_dense_below(&w->window, root, w->end));
        w->roots[root].congestion.window = w->roots[root].limit = config->window;
        w->roots[root].reach = config->session.slots;
        w->roots[root].asked = UINT64_MAX;
        w->roots[root].oldest = w->roots[root].newest = NO_FLIGHT;
        w->roots[root].communicator_mark = w->roots[root].told = config->session.first;
    }
    worker_aside(w)->next_deadline_ns = TRIB_NEVER;
}

size_t trib__worker_state_size(const void *node)
{
    return ((const struct worker *)node)->aside_at;
}

bool trib__worker_submit(void *node, const struct trib_operation *operation, uint64_t now_ns)
{
    struct worker *w = node;
    struct worker_operation *o = worker_operation_at(w, w->newest_operation);

    (void)now_ns;
    TRIB_ASSERT(operation->collective > TRIB_COLLECTIVE_NONE && operation->collective < TRIB_COLLECTIVE_COUNT);
    if (w->newest_operation - w->oldest_operation == w->config.operations) {
        return false;
    }
    *o = (struct worker_operation){.operation = *operation, .number = w->number, .first = w->end};
    trib_layout_init(&o->layout, &w->config.session, operation, w->number);
    TRIB_ASSERT(o->layout.sequences <= trib_window_end(&w->window) - w->end);
    o->left = o->layout.sequences;
    w->number++;
    w->end += o->layout.sequences;
    w->newest_operation++;
    return true;
}

/* M from the session, which every root knows. M is a minimum over told marks, the own mark among them, so an M above
 * the own mark is nonsense. */
static void learn(struct worker *w, uint64_t mark, uint64_t now_ns)
{
    for (uint32_t root = 0; root < w->window.roots && mark <= w->mark; root++) {
        trib__worker_learn_mark(w, root, mark, now_ns);
    }
}

void trib__worker_registered(void *node, uint32_t boot, uint64_t mark, uint64_t now_ns)
{
    struct worker *w = node;

    TRIB_ASSERT(boot != 0);
    worker_aside(w)->counters.registrations++;
    w->boot = boot;
    if (w->is_paced) {
        trib__worker_pace(w);
    }
    learn(w, mark, now_ns);
    /* Fragments in flight were lost with the old boot, or will be found here. */
    trib__worker_probe_all(w, now_ns);
}

void trib__worker_suspend(void *node)
{
    ((struct worker *)node)->boot = 0;
}

void trib__worker_session_mark(void *node, uint64_t mark, uint64_t now_ns)
{
    learn(node, mark, now_ns);
}

uint64_t trib__worker_mark(const void *node)
{
    return ((const struct worker *)node)->mark;
}

uint64_t trib__worker_communicator_mark(const void *node)
{
    return trib__worker_lowest_mark(node);
}

uint64_t trib__worker_end(const void *node)
{
    return ((const struct worker *)node)->end;
}

/* An ended operation is the caller's again, and may be freed, while an older one is still under way. */
bool trib__worker_describe(const void *node, uint64_t sequence, struct trib_operation *operation, uint64_t *number)
{
    const struct worker *w = node;

    for (uint64_t at = w->oldest_operation; at != w->newest_operation; at++) {
        const struct worker_operation *o = worker_operation_at(w, at);
        if (sequence >= o->first && sequence - o->first < o->layout.sequences && o->left != 0) {
            *operation = o->operation;
            *number = o->number;
            return true;
        }
    }
    return false;
}

/* At M = own mark = end no rank lacks an old fragment: no flight, operation or exponent is looked at again, and no
 * retained copy asked for, also after a restart of the switch, which begins at the marks. */
uint32_t trib__worker_idle(const void *node, struct trib_range ranges[TRIB_IDLE_RANGES])
{
    const struct worker *w = node;

    if (w->oldest_operation != w->newest_operation || w->mark != w->end || trib__worker_lowest_mark(w) != w->end ||
        w->queue_count != 0 || w->events_count != 0) {
        return 0;
    }
    ranges[0] = (struct trib_range){w->operations_at, w->aside_at - w->operations_at};
    ranges[1] = (struct trib_range){w->times_at, w->flights * sizeof(struct flight_times)};
    return 2;
}

void trib__worker_limit(void *node, uint32_t root, uint32_t fragments)
{
    struct worker *w = node;
    uint32_t most = w->config.window;

    TRIB_ASSERT(root < w->window.roots);
    w->roots[root].limit = fragments == 0 ? 1 : fragments < most ? fragments : most;
    trib__worker_set_window(w, root);
}

uint32_t trib__worker_in_flight(const void *node, uint32_t root)
{
    return ((const struct worker *)node)->roots[root].congestion.in_flight;
}

const struct trib_counters *trib__worker_counters(const void *node)
{
    return &worker_aside(node)->counters;
}
