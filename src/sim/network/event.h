/* SPDX-License-Identifier: Apache-2.0 */
/* event.h: what happens next in a simulation: packets that arrive at the ends of links, and timers.
 *
 * Use: init; push and timer_set for what is to come; pop gives it back in order; deinit.
 *
 * The order is part of the contract: the earliest first; at one time timers, by their number, before arrivals, by
 * number xor sim_tie(time). So a run depends on nothing but its seed, and a plain binary heap gives the same run
 * (tests/unit/test_sim_event.c, tests/unit/test_sim_reference.c). Why not by number alone: of flows that are clocked by
 * one bottleneck the packets arrive at the same picosecond again and again, and the last of four found the longest
 * queue each time, and got half of the others' rate.
 *
 * Arrivals: a link has one at most, that of the packet at its head (and, where ports can be stopped, one more: the end
 * of the packet that it sends), so the set needs no memory of its own, and no cancelling. They are all due within a few
 * microseconds (a packet's time on the link, and its delay), and lie in a *calendar*: a circle of buckets, each a cache
 * line of arrivals, with more lines behind it where many are due at a time. Whole buckets are taken out into a *batch*
 * and sorted there: thousands of workers in step make thousands of ties, which sorted insertion does not survive. What
 * lies in the batch is known for some time before it happens, so that its memory can be fetched meanwhile. Timers, and
 * arrivals that are due later than the calendar reaches, lie in a heap. One timer per number, which may be moved.
 *
 * Units: picoseconds. Read next: network.h (who pushes), event.c. */
#ifndef TRIB_SIM_EVENT_H
#define TRIB_SIM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/assert.h"

#define SIM_NEVER UINT64_MAX
#define SIM_NONE UINT32_MAX
#define SIM_ARRIVAL UINT32_C(0x80000000) /* what pop returns: an arrival with this bit, a timer without, or SIM_NONE */
#define SIM_LEAVING \
    UINT32_C(0x40000000) /* in the number of an arrival: the end of the packet that the link's port sends (gates.h) */

/* Which of two arrivals at one time is first: for any two links it is this one or that one, at half of all times each.
 * What is SIM_LEAVING is behind them all. */
static inline uint32_t sim_tie(uint64_t due_ps)
{
    return (uint32_t)(due_ps * UINT64_C(0x9e3779b97f4a7c15) >> 33) & (SIM_LEAVING - 1);
}

#define SIM_BUCKET 7U

struct sim_bucket {
    uint64_t keys[SIM_BUCKET]; /* the low half of due_ps << 32 | link, in any order */
    uint32_t count;
    uint32_t more; /* a full one behind it; 0: none */
};

_Static_assert(sizeof(struct sim_bucket) == 64, "one cache line");

struct sim_heap_entry {
    uint64_t due_ps;
    uint32_t order; /* as pop returns it */
    uint32_t tie;   /* the smaller is first */
};

struct sim_events {
    uint64_t *batch; /* (due - base) << 32 | link, in order */
    uint64_t *space; /* for sorting */
    uint32_t batch_at;
    uint32_t batch_count;
    uint32_t fetch_at; /* where to fetch more; 0: nothing is fetched yet; SIM_NONE: not in this batch */
    uint32_t shift;    /* a bucket is 2^shift ps long */
    uint64_t base_ps;
    uint64_t end_ps;     /* the calendar holds nothing that is due earlier; where a bucket begins */
    uint64_t end_bucket; /* likewise: end_ps >> shift */
    uint64_t now_ps;     /* of what was popped last */
    struct sim_bucket *calendar;
    struct sim_bucket *more; /* full buckets behind others; the first is never used */
    uint64_t *bits;          /* buckets that are not empty */
    uint64_t lookahead_ps;   /* whatever is popped, what is pushed because of it is due so much later: for speed only */
    uint32_t buckets;        /* a power of 2 */
    uint32_t waiting;        /* in the calendar */
    uint32_t links;
    uint32_t more_free; /* a list; 0: none */
    uint32_t more_high; /* used so far */
    uint32_t unused[3];
    uint64_t first_ps; /* of the heap */
    struct sim_heap_entry *heap;
    uint32_t *timers; /* places of timers in the heap; SIM_NONE: not set */
    uint32_t heap_count;
    uint32_t heap_room;
    uint32_t timer_room;
    uint32_t unused_too;
    uint64_t count; /* popped so far */
};

/* links: arrivals at most. horizon: most arrivals are due within it. False: out of memory. */
bool sim_events_init(struct sim_events *e, uint32_t links, uint64_t horizon_ps, uint64_t lookahead_ps);
void sim_events_deinit(struct sim_events *e);

/* Sets or moves a timer; SIM_NEVER: clears it. Numbers are small: memory is taken for all below the highest. Not before
 * now. */
void sim_timer_set(struct sim_events *e, uint32_t timer, uint64_t due_ps);
/* When it is due; SIM_NEVER: it is not set. */
uint64_t sim_timer_due(const struct sim_events *e, uint32_t timer);

/* Slow ways of the functions below. */
void sim_events_push_slow(struct sim_events *e, uint32_t link, uint64_t due_ps);
void sim_events_spill(struct sim_events *e, struct sim_bucket *bucket);
bool sim_events_fill(struct sim_events *e);
uint32_t sim_events_pop_heap(struct sim_events *e);

/* The packet at the head of this link arrives then. Not before now; the link has no other arrival. */
static inline void sim_events_push(struct sim_events *e, uint32_t link, uint64_t due_ps)
{
    uint64_t number = due_ps >> e->shift;

    if (number - e->end_bucket >= e->buckets) { /* also when it is due before the calendar's end */
        sim_events_push_slow(e, link, due_ps);
        return;
    }
    uint32_t at = (uint32_t)number & (e->buckets - 1);
    struct sim_bucket *bucket = &e->calendar[at];
    if (bucket->count == SIM_BUCKET) {
        sim_events_spill(e, bucket);
    }
    bucket->keys[bucket->count++] = due_ps << 32 | link;
    e->bits[at / 64] |= UINT64_C(1) << at % 64;
    e->waiting++;
}

/* An arrival will be pushed for about then. */
static inline void sim_events_fetch(const struct sim_events *e, uint64_t due_ps)
{
    __builtin_prefetch(&e->calendar[(uint32_t)(due_ps >> e->shift) & (e->buckets - 1)], 1);
}

static inline bool sim_events_heap_first(const struct sim_events *e, uint64_t due_ps, uint32_t link)
{
    return e->first_ps <= due_ps && (e->first_ps < due_ps || e->heap[0].tie < ((link ^ sim_tie(due_ps)) | SIM_ARRIVAL));
}

/* Takes out what happens next, and sets now_ps; SIM_NONE, and nothing taken, if that is later than until. */
static inline uint32_t sim_events_pop(struct sim_events *e, uint64_t until_ps)
{
    if (e->batch_at == e->batch_count && !sim_events_fill(e)) {
        return e->first_ps <= until_ps && e->heap_count != 0 ? sim_events_pop_heap(e) : SIM_NONE;
    }
    uint64_t key = e->batch[e->batch_at];
    uint64_t due_ps = e->base_ps + (key >> 32);
    if (sim_events_heap_first(e, due_ps, (uint32_t)key)) {
        return e->first_ps <= until_ps ? sim_events_pop_heap(e) : SIM_NONE;
    }
    if (due_ps > until_ps) {
        return SIM_NONE;
    }
    e->batch_at++;
    e->now_ps = due_ps;
    e->count++;
    return (uint32_t)key | SIM_ARRIVAL;
}

#endif
