/* SPDX-License-Identifier: Apache-2.0 */
/* worker_state.c: marks and events, which all files of the worker use. It calls no other file of the worker.
 * Read next: worker.c. */
#include "core/assert.h"
#include "protocol/worker_memory.h"

uint64_t trib__worker_lowest_mark(const struct worker *w)
{
    uint64_t lowest = w->roots[0].communicator_mark;

    for (uint32_t root = 1; root < w->window.roots; root++) {
        lowest = w->roots[root].communicator_mark < lowest ? w->roots[root].communicator_mark : lowest;
    }
    return lowest;
}

void trib__worker_learn_mark(struct worker *w, uint32_t root, uint64_t mark, uint64_t now_ns)
{
    TRIB_ASSERT(mark <= w->mark);
    if (mark > w->roots[root].communicator_mark) {
        w->roots[root].communicator_mark = mark;
        worker_aside(w)->roots[root].risen_ns = worker_aside(w)->roots[root].quiet_ns = now_ns;
        worker_aside(w)->roots[root].quiet_backoff = 0;
    }
}

void trib__worker_event(struct worker *w, const struct trib_event *event)
{
    struct trib_event *ring = worker_at(w, w->events_at);
    uint32_t room = worker_event_room(&w->config);
    bool report = event->kind == TRIB_EVENT_STALL || event->kind == TRIB_EVENT_BOOT;

    /* Reports may be lost, completions and the one failure never: their room is kept free. */
    if ((report && w->events_count >= WORKER_REPORTS) || (event->kind == TRIB_EVENT_FAILED && w->failed)) {
        return;
    }
    TRIB_ASSERT(w->events_count < room);
    w->failed |= event->kind == TRIB_EVENT_FAILED;
    ring[(w->events_head + w->events_count++) % room] = *event;
}

bool trib__worker_next_event(void *node, struct trib_event *event)
{
    struct worker *w = node;
    const struct trib_event *ring = worker_at(w, w->events_at);

    worker_order_results(w);
    if (w->events_count == 0) {
        return false;
    }
    *event = ring[w->events_head];
    w->events_head = (w->events_head + 1) % worker_event_room(&w->config);
    w->events_count--;
    return true;
}
