/* SPDX-License-Identifier: Apache-2.0 */
/* ring_worker_state.c: the operation of a sequence, and events, which all files of the node use. It calls no other file
 * of the node. Read next: ring_worker.c. */
#include "core/assert.h"
#include "schemes/ring/ring_memory.h"

struct ring_operation *trib__ring_operation(const struct ring_worker *w, uint64_t sequence)
{
    for (uint64_t at = w->oldest_operation; at != w->newest_operation; at++) {
        struct ring_operation *o = ring_operation_at(w, at);
        if (o->left != 0 && sequence >= o->first && sequence - o->first < o->layout.sequences) {
            return o;
        }
    }
    return NULL;
}

void trib__ring_event(struct ring_worker *w, const struct trib_event *event)
{
    struct trib_event *ring = ring_at(w, w->events_at);
    uint32_t room = ring_event_room(&w->config);

    /* Stalls may be lost, completions and single reports never: their room is kept free. */
    if (event->kind == TRIB_EVENT_STALL && w->events_count >= RING_REPORTS) {
        return;
    }
    TRIB_ASSERT(w->events_count < room);
    w->done += event->kind == TRIB_EVENT_DONE;
    ring[(w->events_head + w->events_count++) % room] = *event;
}

void trib__ring_fail(struct ring_worker *w, uint64_t sequence)
{
    if (!w->failed) {
        w->failed = 1;
        trib__ring_event(w, &(struct trib_event){.kind = TRIB_EVENT_FAILED, .sequence = sequence});
    }
}

bool trib__ring_next_event(void *node, struct trib_event *event)
{
    struct ring_worker *w = node;
    const struct trib_event *ring = ring_at(w, w->events_at);

    if (w->events_count == 0) {
        return false;
    }
    *event = ring[w->events_head];
    w->done -= event->kind == TRIB_EVENT_DONE;
    w->events_head = (w->events_head + 1) % ring_event_room(&w->config);
    w->events_count--;
    return true;
}
