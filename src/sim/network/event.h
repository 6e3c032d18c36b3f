/* SPDX-License-Identifier: Apache-2.0 */
/* event.h: the event set of a simulation: arrivals of packets at the ends of links, and timers.
 *
 * Use: sim_events_init; sim_events_push and sim_timer_set for future events; sim_events_pop returns events in order;
 * sim_events_deinit.
 *
 * The order is part of the contract: the earliest event first. At equal times timers come first, by number, and then
 * arrivals, by number xor sim_tie(time). So a run depends on its seed alone, and a plain binary heap gives the same run
 * (tests/unit/test_sim_event.c, tests/unit/test_sim_reference.c). The tie is not broken by number alone for fairness.
 * One bottleneck clocks its flows, so their packets arrive at the same picosecond again and again. By number, the last
 * of four flows always found the longest queue and got half of the others' rate.
 *
 * A link has at most one arrival, for the packet at its head. Where ports can be stopped, a link has one more: the end
 * of the packet being sent. So the set needs no memory of its own and no cancelling. Most arrivals are due within
 * microseconds (a packet's time on the link, and the delay).
 * - The *calendar* holds these arrivals: a circle of buckets. A bucket is one cache line of arrivals, and further lines
 *   if many are due at a time.
 * - The *batch* holds whole buckets, removed from the calendar and sorted. Thousands of workers in step make thousands
 *   of ties, for which sorted insertion is too slow. The batch shows future arrivals early enough to prefetch their
 *   memory.
 * - The *heap* holds timers, and arrivals beyond the calendar's reach. There is one timer per number, and it can be
 *   moved.
 *
 * Units: picoseconds. Read next: network.h, event.c. */
#ifndef TRIB_SIM_EVENT_H
#define TRIB_SIM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/assert.h"

#define SIM_NEVER UINT64_MAX
#define SIM_NONE UINT32_MAX
#define SIM_ARRIVAL \
    UINT32_C(0x80000000) /* sim_events_pop returns an arrival with this bit, a timer without it, or SIM_NONE */
#define SIM_LEAVING UINT32_C(0x40000000) /* in an arrival's number: the link's port has sent the packet (gates.h) */

/* Tie-break between arrivals at one time: for any two links, either comes first at half of all times. Numbers with
 * SIM_LEAVING come after all others. */
static inline uint32_t sim_tie(uint64_t due_ps)
{
    return (uint32_t)(due_ps * UINT64_C(0x9e3779b97f4a7c15) >> 33) & (SIM_LEAVING - 1);
}

#define SIM_BUCKET 7U

struct sim_bucket {
    uint64_t keys[SIM_BUCKET]; /* low half of due_ps << 32 | link, unordered */
    uint32_t count;
    uint32_t more; /* a full bucket behind this one; 0: none */
};

_Static_assert(sizeof(struct sim_bucket) == 64, "one cache line");

struct sim_heap_entry {
    uint64_t due_ps;
    uint32_t order; /* return value of sim_events_pop */
    uint32_t tie;   /* the smaller comes first */
};

struct sim_events {
    uint64_t *batch; /* (due - base) << 32 | link, in order */
    uint64_t *space; /* scratch for sorting */
    uint32_t batch_at;
    uint32_t batch_count;
    /* Batch index of the next prefetch. 0: nothing prefetched yet. SIM_NONE: no prefetch in this batch. */
    uint32_t fetch_at;
    uint32_t shift; /* a bucket is 2^shift ps long */
    uint64_t base_ps;
    /* The calendar holds no earlier arrivals. A bucket begins here. */
    uint64_t end_ps;
    uint64_t end_bucket; /* end_ps >> shift */
    uint64_t now_ps;     /* time of the last event popped */
    struct sim_bucket *calendar;
    /* Full buckets behind others. The first is never used. */
    struct sim_bucket *more;
    uint64_t *bits; /* buckets that are not empty */
    /* An event pushed in response to another is due at least this much later. Affects speed only. */
    uint64_t lookahead_ps;
    uint32_t buckets; /* a power of 2 */
    uint32_t waiting; /* arrivals in the calendar */
    uint32_t links;
    uint32_t more_free; /* a list; 0: none */
    uint32_t more_high; /* entries used so far */
    uint32_t unused[3];
    uint64_t first_ps; /* the heap's earliest time */
    struct sim_heap_entry *heap;
    uint32_t *timers; /* index of each timer in the heap; SIM_NONE: not set */
    uint32_t heap_count;
    uint32_t heap_room;
    uint32_t timer_room;
    uint32_t unused_too;
    uint64_t count; /* events popped so far */
};

/* links: most arrivals at a time. horizon_ps: most arrivals are due within it. False: out of memory. */
bool sim_events_init(struct sim_events *e, uint32_t links, uint64_t horizon_ps, uint64_t lookahead_ps);
void sim_events_deinit(struct sim_events *e);

/* Sets or moves a timer; SIM_NEVER clears it. due_ps must not be before now. Numbers must be small: memory covers all
 * numbers up to the highest. */
void sim_timer_set(struct sim_events *e, uint32_t timer, uint64_t due_ps);
/* Returns the timer's due time; SIM_NEVER: not set. */
uint64_t sim_timer_due(const struct sim_events *e, uint32_t timer);

/* Slow paths of the functions below. */
void sim_events_push_slow(struct sim_events *e, uint32_t link, uint64_t due_ps);
void sim_events_spill(struct sim_events *e, struct sim_bucket *bucket);
bool sim_events_fill(struct sim_events *e);
uint32_t sim_events_pop_heap(struct sim_events *e);

/* Schedules the arrival of the packet at the link's head. due_ps must not be before now, and the link must have no
 * other arrival. */
static inline void sim_events_push(struct sim_events *e, uint32_t link, uint64_t due_ps)
{
    uint64_t number = due_ps >> e->shift;

    if (number - e->end_bucket >= e->buckets) { /* true also if due before end_ps */
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

/* Prefetches memory for a push at about this time. */
static inline void sim_events_fetch(const struct sim_events *e, uint64_t due_ps)
{
    __builtin_prefetch(&e->calendar[(uint32_t)(due_ps >> e->shift) & (e->buckets - 1)], 1);
}

static inline bool sim_events_heap_first(const struct sim_events *e, uint64_t due_ps, uint32_t link)
{
    return e->first_ps <= due_ps && (e->first_ps < due_ps || e->heap[0].tie < ((link ^ sim_tie(due_ps)) | SIM_ARRIVAL));
}

/* Removes and returns the next event, and sets now_ps. Returns SIM_NONE and removes nothing if that event is later than
 * until_ps. */
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
