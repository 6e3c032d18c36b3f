/* SPDX-License-Identifier: Apache-2.0 */
/* sim_reference.h: a second, deliberately slow engine that shares with src/sim only the list of links, and how a hash
 * chooses among ways: queues are lists of packets, ports begin and end to send each of them, routes are shortest paths
 * by breadth-first search, and events lie in a binary heap. It is given what hosts send, and tells what arrives where,
 * when and marked. Shared buffers and PFC are as buffers.h and gates.h say in words; what a switch has used is added up
 * over its links each time. */
#ifndef TRIB_TESTS_SIM_REFERENCE_H
#define TRIB_TESTS_SIM_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/network/network.h"

/* What happens to a packet: it is sent by a host (link: the host), or arrives at the end of a link. */
struct ref_step {
    uint64_t time;
    uint32_t link;
    uint32_t owner;
    uint32_t sequence;
    uint32_t hash;
    uint32_t to;
    uint16_t size;
    uint8_t kind;
    uint8_t flags;
    uint16_t value;
    uint32_t by; /* the link that it came by, while it is at a switch */
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
    uint64_t waiting; /* what waits takes so long */
    uint64_t ends;    /* the packet that is being sent has left then */
    struct ref_step sending;
    bool is_sending;
    uint32_t opposite;
    bool is_stopped;     /* the port at `from` */
    bool is_full;        /* at `to` */
    bool last_word;      /* what `to` has told `from`: to stop? */
    uint64_t held, over; /* lossless: at `to`, of what came by this link; lossy (held): at `from`, of what goes by it */
    uint64_t headroom;
};

enum ref_mode { REF_PLAIN, REF_LOSSY, REF_LOSSLESS };
enum ref_kind { REF_SENT = 0, REF_ARRIVED = 1, REF_LEFT = 2 };

#define REF_FRAME 14
#define REF_NOWHERE UINT32_MAX

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
    enum ref_mode mode;
    uint64_t shared; /* of a switch, with the headrooms; UINT64_MAX: enough */
    uint64_t xoff, below, of, by;
    uint64_t frames, overflowed;
};

static inline bool ref_before(const struct ref_event *a, const struct ref_event *b)
{
    if (a->time != b->time) {
        return a->time < b->time;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind;
    }
    uint32_t tie = a->kind != REF_SENT ? sim_tie(a->time) : 0;
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

/* ---- memory ---- */

/* The shared part of a switch that is free. */
static inline uint64_t ref_left(const struct ref_engine *e, uint32_t node)
{
    uint64_t left = e->shared;

    for (uint32_t i = 0; e->shared != UINT64_MAX && i < e->link_count; i++) {
        const struct ref_link *link = &e->links[i];
        if (e->mode == REF_LOSSLESS && link->to == node) {
            left -= link->headroom + link->held;
        } else if (e->mode == REF_LOSSY && link->from == node) {
            left -= link->held;
        }
    }
    return left;
}

static inline uint64_t ref_threshold(const struct ref_engine *e, uint64_t left)
{
    return e->xoff != 0 ? e->xoff : left * e->of / e->by;
}

/* False: there is no room. */
static inline bool ref_store(struct ref_engine *e, uint32_t number, const struct ref_step *p)
{
    uint32_t node = e->links[number].from;

    if (e->mode == REF_PLAIN || node < e->hosts) {
        return true;
    }
    struct ref_link *link = &e->links[e->mode == REF_LOSSLESS ? p->by : number];
    uint64_t left = ref_left(e, node);
    bool fits = p->size <= left && link->held + p->size <= ref_threshold(e, left);
    if (e->mode == REF_LOSSY) {
        link->held += fits ? p->size : 0;
        return fits;
    }
    if (fits) {
        link->held += p->size;
        if (link->held >= ref_threshold(e, ref_left(e, node))) {
            link->is_full = true;
        }
        return true;
    }
    link->is_full = true;
    if (link->over + p->size > link->headroom) {
        return false;
    }
    link->over += p->size;
    return true;
}

static inline void ref_clear(struct ref_engine *e, uint32_t number, const struct ref_step *p)
{
    uint32_t node = e->links[number].from;

    if (e->mode == REF_PLAIN || node < e->hosts) {
        return;
    }
    struct ref_link *link = &e->links[e->mode == REF_LOSSLESS ? p->by : number];
    uint64_t of_over = link->over < p->size ? link->over : p->size; /* these bytes go first */
    link->over -= of_over;
    link->held -= p->size - of_over;
    if (e->mode == REF_LOSSLESS && link->over == 0 &&
        (link->held == 0 || link->held + e->below <= ref_threshold(e, ref_left(e, node)))) {
        link->is_full = false;
    }
}

/* ---- ports ---- */

static inline void ref_send(struct ref_engine *e, uint32_t number, struct ref_step p, uint64_t now)
{
    struct ref_link *link = &e->links[number];

    link->sending = p;
    link->is_sending = true;
    link->ends = now + ref_time(link, p.size);
    ref_push(e, (struct ref_event){.time = link->ends, .kind = REF_LEFT, .number = number});
    ref_push(e, (struct ref_event){.time = link->ends + link->delay, .kind = REF_ARRIVED, .number = number, .step = p});
}

static inline void ref_begin(struct ref_engine *e, uint32_t number, uint64_t now)
{
    struct ref_link *link = &e->links[number];
    struct ref_link *back = &e->links[link->opposite];

    if (link->is_sending) {
        return;
    }
    if (e->mode == REF_LOSSLESS && back->is_full != back->last_word) {
        back->last_word = back->is_full;
        e->frames++;
        ref_send(e, number, (struct ref_step){.size = 64, .kind = REF_FRAME, .value = back->is_full, .to = link->to},
                 now);
    } else if (!link->is_stopped && link->head != link->queue.count) {
        link->waiting -= ref_time(link, link->queue.steps[link->head].size);
        ref_send(e, number, link->queue.steps[link->head++], now);
    }
}

static inline void ref_enqueue(struct ref_engine *e, uint32_t number, struct ref_step p, uint64_t now)
{
    struct ref_link *link = &e->links[number];
    uint64_t wait = link->is_sending ? link->ends - now : 0;

    wait += link->waiting;
    if (link->limit != SIM_NEVER && wait + ref_time(link, p.size) > ref_time(link, link->limit)) {
        e->dropped++;
        return;
    }
    bool is_stored = ref_store(e, number, &p);
    if (p.by != REF_NOWHERE) {
        ref_begin(e, e->links[p.by].opposite, now);
    }
    if (!is_stored) {
        e->dropped++;
        e->overflowed++;
        return;
    }
    if (link->mark != SIM_NEVER && wait > ref_time(link, link->mark) && (p.flags & SIM_ECN_CAPABLE) != 0) {
        p.flags |= SIM_ECN_MARKED;
    }
    ref_add(&link->queue, p);
    link->waiting += ref_time(link, p.size);
    ref_begin(e, number, now);
}

static inline void ref_arrive(struct ref_engine *e, struct ref_event event)
{
    struct ref_step p = event.step;
    uint32_t node = e->links[event.number].to;

    p.time = event.time;
    p.link = event.number;
    p.by = event.number;
    ref_add(&e->trace, p);
    if (p.kind == REF_FRAME) {
        uint32_t number = e->links[event.number].opposite;
        e->links[number].is_stopped = p.value != 0;
        ref_begin(e, number, event.time);
    } else if (node != p.to) {
        ref_enqueue(e, ref_route(e, node, &p), p, event.time);
    }
}

static inline void ref_happen(struct ref_engine *e, struct ref_event event)
{
    if (event.kind == REF_SENT) {
        event.step.by = REF_NOWHERE;
        ref_enqueue(e, event.step.link, event.step, event.time);
    } else if (event.kind == REF_LEFT) {
        struct ref_link *link = &e->links[event.number];
        link->is_sending = false;
        if (link->sending.kind != REF_FRAME) {
            ref_clear(e, event.number, &link->sending);
            if (e->mode == REF_LOSSLESS && link->sending.by != REF_NOWHERE) {
                ref_begin(e, e->links[link->sending.by].opposite, event.time);
            }
        }
        ref_begin(e, event.number, event.time);
    } else {
        ref_arrive(e, event);
    }
}

/* Everything that was sent, in the order of time, until all has arrived. */
static inline void ref_run(struct ref_engine *e, const struct ref_steps *sent)
{
    size_t at = 0;
    while (at < sent->count || e->heap_count != 0) {
        struct ref_event next = {.kind = REF_SENT, .number = (uint32_t)at};
        if (at < sent->count) {
            next.step = sent->steps[at];
            next.time = next.step.time;
        }
        if (at < sent->count && (e->heap_count == 0 || ref_before(&next, &e->heap[0]))) {
            at++;
            ref_happen(e, next);
        } else {
            ref_happen(e, ref_pop(e));
        }
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
