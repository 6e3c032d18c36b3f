/* SPDX-License-Identifier: Apache-2.0 */
/* sim_reference.h: a second, deliberately slow engine that shares with src/sim only the list of links, and how a hash chooses among
 * ways: queues are lists of packets, ports begin and end to send each of them, routes are shortest paths by breadth-first search, and events lie in
 * a binary heap. It is given what hosts send, and tells what arrives where, when and marked. */
#ifndef TRIB_TESTS_SIM_REFERENCE_H
#define TRIB_TESTS_SIM_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/network.h"

/* What happens to a packet: it is sent by a host (link: the host), or arrives at the end of a link. */
struct ref_step {
    uint64_t time;
    uint32_t link;
    uint32_t owner;
    uint32_t sequence;
    uint32_t hash;
    uint16_t to;
    uint16_t size;
    uint8_t kind;
    uint8_t flags;
};

struct ref_steps {
    struct ref_step *steps;
    size_t count, room;
};

static inline void ref_add(struct ref_steps *s, struct ref_step step)
{
    if (s->count == s->room) {
        s->room = s->room == 0 ? 1024 : 2 * s->room;
        s->steps = realloc(s->steps, s->room * sizeof *s->steps);
    }
    s->steps[s->count++] = step;
}

struct ref_link {
    uint32_t from, to;
    uint64_t rate, delay, mark, limit; /* bits per second, ps, bytes, bytes */
    struct ref_steps queue;            /* waiting; from `head` on */
    size_t head;
    uint64_t ends; /* the packet that is being sent has left then */
    struct ref_step sending;
    bool is_sending;
};

enum ref_kind { REF_LEFT = 0, REF_SENT = 1, REF_ARRIVED = 2 };

struct ref_event {
    uint64_t time;
    uint32_t kind;
    uint32_t number;
    struct ref_step step;
};

struct ref_engine {
    struct ref_link *links;
    uint32_t link_count, nodes, hosts;
    uint32_t *distance; /* [to * nodes + node] */
    const uint32_t *salts;
    struct ref_event *heap;
    size_t heap_count, heap_room;
    struct ref_steps trace;
    uint64_t dropped;
};

static inline bool ref_before(const struct ref_event *a, const struct ref_event *b)
{
    if (a->time != b->time) {
        return a->time < b->time;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind;
    }
    uint32_t tie = a->kind == REF_ARRIVED ? sim_tie(a->time) : 0;
    return (a->number ^ tie) < (b->number ^ tie);
}

static inline void ref_push(struct ref_engine *e, struct ref_event event)
{
    if (e->heap_count == e->heap_room) {
        e->heap_room = e->heap_room == 0 ? 1024 : 2 * e->heap_room;
        e->heap = realloc(e->heap, e->heap_room * sizeof *e->heap);
    }
    size_t at = e->heap_count++;
    for (; at > 0 && ref_before(&event, &e->heap[(at - 1) / 2]); at = (at - 1) / 2) {
        e->heap[at] = e->heap[(at - 1) / 2];
    }
    e->heap[at] = event;
}

static inline struct ref_event ref_pop(struct ref_engine *e)
{
    struct ref_event first = e->heap[0];
    struct ref_event last = e->heap[--e->heap_count];
    size_t at = 0;

    for (size_t child = 1; child < e->heap_count; child = 2 * at + 1) {
        child += child + 1 < e->heap_count && ref_before(&e->heap[child + 1], &e->heap[child]);
        if (!ref_before(&e->heap[child], &last)) {
            break;
        }
        e->heap[at] = e->heap[child];
        at = child;
    }
    e->heap[at] = last;
    return first;
}

static inline uint64_t ref_time(const struct ref_link *link, uint64_t bytes)
{
    return bytes * UINT64_C(8000000000000) / link->rate;
}

/* Distances of all nodes to each host, over links backwards. */
static inline void ref_search(struct ref_engine *e)
{
    uint32_t *queue = malloc(e->nodes * sizeof *queue);

    e->distance = malloc((size_t)e->hosts * e->nodes * sizeof *e->distance);
    memset(e->distance, 0xff, (size_t)e->hosts * e->nodes * sizeof *e->distance);
    for (uint32_t host = 0; host < e->hosts; host++) {
        uint32_t *distance = e->distance + (size_t)host * e->nodes;
        uint32_t count = 0;
        distance[host] = 0;
        queue[count++] = host;
        for (uint32_t at = 0; at < count; at++) {
            for (uint32_t i = 0; i < e->link_count; i++) {
                const struct ref_link *link = &e->links[i];
                if (link->to == queue[at] && distance[link->from] == UINT32_MAX) {
                    distance[link->from] = distance[queue[at]] + 1;
                    queue[count++] = link->from;
                }
            }
        }
    }
    free(queue);
}

static inline uint32_t ref_route(const struct ref_engine *e, uint32_t node, const struct ref_step *p)
{
    const uint32_t *distance = e->distance + (size_t)p->to * e->nodes;
    uint32_t ways[256];
    uint32_t count = 0;

    for (uint32_t i = 0; i < e->link_count; i++) {
        if (e->links[i].from == node && distance[e->links[i].to] + 1 == distance[node]) {
            ways[count++] = i;
        }
    }
    return count == 1 ? ways[0] : ways[sim_route_choose(p->hash, e->salts[node], count)];
}

static inline void ref_begin(struct ref_engine *e, uint32_t number, uint64_t now)
{
    struct ref_link *link = &e->links[number];

    if (link->is_sending || link->head == link->queue.count) {
        return;
    }
    link->sending = link->queue.steps[link->head++];
    link->is_sending = true;
    link->ends = now + ref_time(link, link->sending.size);
    ref_push(e, (struct ref_event){.time = link->ends, .kind = REF_LEFT, .number = number});
}

static inline void ref_enqueue(struct ref_engine *e, uint32_t number, struct ref_step p, uint64_t now)
{
    struct ref_link *link = &e->links[number];
    uint64_t wait = link->is_sending ? link->ends - now : 0;

    for (size_t i = link->head; i < link->queue.count; i++) {
        wait += ref_time(link, link->queue.steps[i].size);
    }
    if (link->limit != SIM_NEVER && wait + ref_time(link, p.size) > ref_time(link, link->limit)) {
        e->dropped++;
        return;
    }
    if (link->mark != SIM_NEVER && wait > ref_time(link, link->mark) && (p.flags & SIM_ECN_CAPABLE) != 0) {
        p.flags |= SIM_ECN_MARKED;
    }
    ref_add(&link->queue, p);
    ref_begin(e, number, now);
}

static inline void ref_happen(struct ref_engine *e, struct ref_event event)
{
    if (event.kind == REF_SENT) {
        ref_enqueue(e, event.step.link, event.step, event.time);
    } else if (event.kind == REF_LEFT) {
        struct ref_link *link = &e->links[event.number];
        link->is_sending = false;
        ref_push(e, (struct ref_event){.time = event.time + link->delay,
                                       .kind = REF_ARRIVED,
                                       .number = event.number,
                                       .step = link->sending});
        ref_begin(e, event.number, event.time);
    } else {
        struct ref_step p = event.step;
        uint32_t node = e->links[event.number].to;
        p.time = event.time;
        p.link = event.number;
        ref_add(&e->trace, p);
        if (node != p.to) {
            ref_enqueue(e, ref_route(e, node, &p), p, event.time);
        }
    }
}

/* Everything that was sent, until all has arrived. */
static inline void ref_run(struct ref_engine *e, const struct ref_steps *sent)
{
    for (size_t i = 0; i < sent->count; i++) {
        ref_push(e, (struct ref_event){
                        .time = sent->steps[i].time, .kind = REF_SENT, .number = (uint32_t)i, .step = sent->steps[i]});
    }
    while (e->heap_count != 0) {
        ref_happen(e, ref_pop(e));
    }
}

static inline void ref_free(struct ref_engine *e)
{
    for (uint32_t i = 0; i < e->link_count; i++) {
        free(e->links[i].queue.steps);
    }
    free(e->links);
    free(e->distance);
    free(e->heap);
    free(e->trace.steps);
}

#endif
