/* SPDX-License-Identifier: Apache-2.0 */
/* event.c: see event.h. Refills the batch and maintains the heap. The work per packet is inline in the header. Read
 * next: network.c. */
#include "sim/network/event.h"

#include <stdlib.h>
#include <string.h>

#include "sim/network/memory.h"

#define BUCKETS_MIN 1024U
#define BATCH_GOAL 512U /* arrivals in a batch, if enough are known */
#define RUN 8U
#define FETCH_BUCKETS 12U /* prefetch distance in buckets */
#define ARITY 4U
#define SHIFT_MAX 20U
#define HORIZON_MAX (UINT64_C(1) << 31) /* times in a batch must fit in 32 bits */

/* ---- set-up ---- */

/* Chooses buckets short enough that few packets share one, but few enough that all fit in a cache. */
static void choose_buckets(struct sim_events *e, uint64_t horizon_ps)
{
    e->buckets = BUCKETS_MIN;
    while (e->buckets < e->links / 2) {
        e->buckets *= 2;
    }
    horizon_ps = horizon_ps < HORIZON_MAX ? horizon_ps : HORIZON_MAX;
    while (e->shift < SHIFT_MAX && ((uint64_t)(e->buckets - 1) << e->shift) <= horizon_ps) {
        e->shift++;
    }
}

/* Enough for every link's arrival, plus the first entry, which is never used. */
static size_t more_of(uint32_t links)
{
    return links / SIM_BUCKET + 2;
}

bool sim_events_init(struct sim_events *e, uint32_t links, uint64_t horizon_ps, uint64_t lookahead_ps)
{
    memset(e, 0, sizeof *e);
    e->links = links;
    e->first_ps = SIM_NEVER;
    e->lookahead_ps = lookahead_ps;
    e->more_high = 1;
    choose_buckets(e, horizon_ps);
    e->calendar = sim_memory_map(e->buckets * sizeof *e->calendar);
    e->more = sim_memory_map(more_of(links) * sizeof *e->more);
    e->batch = calloc(links + RUN, sizeof *e->batch);
    e->space = calloc(links + RUN, sizeof *e->space);
    e->bits = calloc(e->buckets / 64, sizeof *e->bits);
    if (e->calendar == NULL || e->more == NULL || e->batch == NULL || e->space == NULL || e->bits == NULL) {
        sim_events_deinit(e);
        return false;
    }
    return true;
}

void sim_events_deinit(struct sim_events *e)
{
    sim_memory_unmap(e->calendar, e->buckets * sizeof *e->calendar);
    sim_memory_unmap(e->more, more_of(e->links) * sizeof *e->more);
    free(e->batch);
    free(e->space);
    free(e->bits);
    free(e->heap);
    free(e->timers);
    memset(e, 0, sizeof *e);
}

/* ---- the batch ---- */

static inline void order(uint64_t *a, uint64_t *b)
{
    uint64_t less = *a < *b ? *a : *b;

    *b = *a < *b ? *b : *a;
    *a = less;
}

/* Sorts up to RUN keys without branches that depend on keys (Batcher's network). The array needs room for RUN keys. */
static inline void sort_run(uint64_t *keys, uint32_t count)
{
    for (uint32_t i = count; i < RUN; i++) {
        keys[i] = UINT64_MAX;
    }
    uint64_t a = keys[0];
    uint64_t b = keys[1];
    uint64_t c = keys[2];
    uint64_t d = keys[3];
    order(&a, &c);
    order(&b, &d);
    if (count > 4) {
        uint64_t f = keys[4];
        uint64_t g = keys[5];
        uint64_t h = keys[6];
        uint64_t i = keys[7];
        order(&f, &h);
        order(&g, &i);
        order(&a, &f);
        order(&b, &g);
        order(&c, &h);
        order(&d, &i);
        order(&f, &g);
        order(&h, &i);
        order(&a, &b);
        order(&c, &d);
        order(&c, &f);
        order(&d, &g);
        order(&b, &f);
        order(&d, &h);
        order(&b, &c);
        order(&d, &f);
        order(&g, &h);
        keys[4] = f;
        keys[5] = g;
        keys[6] = h;
        keys[7] = i;
    } else {
        order(&a, &b);
        order(&c, &d);
        order(&b, &c);
    }
    keys[0] = a;
    keys[1] = b;
    keys[2] = c;
    keys[3] = d;
}

/* Merges two sorted runs without branches that depend on keys: comparison results are close to random. */
static void merge(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count, uint64_t *to)
{
    const uint64_t *a_end = a + a_count;
    const uint64_t *b_end = b + b_count;

    while (a < a_end && b < b_end) {
        bool is_a = *a < *b;
        *to++ = is_a ? *a : *b;
        a += is_a;
        b += !is_a;
    }
    memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
    memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

/* Sorts distinct keys. Few keys are normal; many keys are sorted in runs and merged. Both arrays need room for RUN more
 * keys. */
static void sort(uint64_t *keys, uint32_t count, uint64_t *space)
{
    uint64_t *from = keys;
    uint64_t *to = space;

    for (uint32_t i = 0; i < count; i += RUN) {
        sort_run(keys + i, count - i < RUN ? count - i : RUN);
    }
    for (uint32_t run = RUN; run < count; run *= 2) {
        for (uint32_t i = 0; i < count; i += 2 * run) {
            uint32_t a_count = count - i < run ? count - i : run;
            uint32_t b_count = count - i - a_count < run ? count - i - a_count : run;
            merge(from + i, a_count, from + i + a_count, b_count, to + i);
        }
        uint64_t *done = to;
        to = from;
        from = done;
    }
    if (from != keys) {
        memcpy(keys, from, count * sizeof *keys);
    }
}

/* Returns the first bucket that is not empty, from this one on, as a number that does not wrap. Such a bucket must
 * exist. */
static uint64_t next_bucket(const struct sim_events *e, uint64_t bucket)
{
    uint32_t at = (uint32_t)bucket & (e->buckets - 1);
    uint64_t word = e->bits[at / 64] >> at % 64;

    if (word != 0) {
        return bucket + (uint64_t)__builtin_ctzll(word);
    }
    bucket += 64 - at % 64;
    for (;;) {
        at = (uint32_t)bucket & (e->buckets - 1);
        word = e->bits[at / 64];
        if (word != 0) {
            return bucket + (uint64_t)__builtin_ctzll(word);
        }
        bucket += 64;
    }
}

/* Moves the bucket's full first line into a line behind it. */
void sim_events_spill(struct sim_events *e, struct sim_bucket *bucket)
{
    uint32_t at = e->more_free;

    if (at != 0) {
        e->more_free = e->more[at].more;
    } else {
        TRIB_ASSERT(e->more_high < more_of(e->links));
        at = e->more_high++;
    }
    e->more[at] = *bucket;
    bucket->count = 0;
    bucket->more = at;
}

static void give_back(struct sim_events *e, uint32_t at)
{
    e->more[at].more = e->more_free;
    e->more_free = at;
}

/* Sort key of an arrival in the batch. */
static uint64_t key_of(const struct sim_events *e, uint32_t link, uint64_t due_ps)
{
    return (due_ps - e->base_ps) << 32 | (link ^ sim_tie(due_ps));
}

static uint32_t take_keys(const struct sim_events *e, const struct sim_bucket *bucket, uint64_t *keys)
{
    for (uint32_t i = 0; i < bucket->count; i++) {
        uint32_t later = (uint32_t)(bucket->keys[i] >> 32) - (uint32_t)e->base_ps;
        keys[i] = key_of(e, (uint32_t)bucket->keys[i], e->base_ps + later);
    }
    return bucket->count;
}

static void drain_bucket(struct sim_events *e, uint64_t number)
{
    uint32_t at = (uint32_t)number & (e->buckets - 1);
    struct sim_bucket *bucket = &e->calendar[at];
    uint64_t *keys = e->batch + e->batch_count;
    uint32_t count = take_keys(e, bucket, keys);

    __builtin_prefetch(&e->calendar[(at + FETCH_BUCKETS) & (e->buckets - 1)], 1);
    while (bucket->more != 0) {
        uint32_t more = bucket->more;
        count += take_keys(e, &e->more[more], keys + count);
        bucket->more = e->more[more].more;
        give_back(e, more);
    }
    bucket->count = 0;
    e->bits[at / 64] &= ~(UINT64_C(1) << at % 64);
    e->waiting -= count;
    e->batch_count += count;
    e->end_bucket = number + 1;
    e->end_ps = e->end_bucket << e->shift;
    if (count > 1) {
        sort(keys, count, e->space);
    }
}

/* Moves the next buckets into the batch, as far as no push can fall into their time. False: the heap's first entry is
 * due earlier, or the calendar is empty. */
bool sim_events_fill(struct sim_events *e)
{
    if (e->waiting == 0) {
        return false;
    }
    uint64_t bucket = next_bucket(e, e->end_bucket);
    uint64_t begin = bucket << e->shift;
    if (begin > e->first_ps) {
        return false;
    }
    uint64_t limit = begin + e->lookahead_ps < e->first_ps ? begin + e->lookahead_ps : e->first_ps;
    e->batch_at = e->batch_count = e->fetch_at = 0;
    e->base_ps = begin;
    do {
        drain_bucket(e, bucket);
        if (e->waiting == 0 || e->batch_count >= BATCH_GOAL) {
            break;
        }
        bucket = next_bucket(e, bucket + 1);
    } while ((bucket + 1) << e->shift <= limit);
    for (uint32_t i = 0; i < e->batch_count; i++) {
        e->batch[i] ^= sim_tie(e->base_ps + (e->batch[i] >> 32));
    }
    return true;
}

/* Inserts into the batch, because its time has begun. */
static void insert(struct sim_events *e, uint32_t link, uint64_t due_ps)
{
    if (e->batch_at == e->batch_count) {
        e->batch_at = e->batch_count = 0;
        e->base_ps = due_ps;
    }
    if (due_ps < e->base_ps) {
        for (uint32_t i = e->batch_at; i < e->batch_count; i++) {
            e->batch[i] += (e->base_ps - due_ps) << 32;
        }
        e->base_ps = due_ps;
    }
    if (e->batch_at > 0) {
        memmove(e->batch, e->batch + e->batch_at, (e->batch_count - e->batch_at) * sizeof *e->batch);
        e->batch_count -= e->batch_at;
        e->batch_at = 0;
    }
    uint64_t key = key_of(e, link, due_ps);
    uint32_t at = e->batch_count++;
    for (; at > 0; at--) {
        uint64_t other = e->batch[at - 1];
        if ((other ^ sim_tie(e->base_ps + (other >> 32))) < key) {
            break;
        }
        e->batch[at] = other;
    }
    e->batch[at] = (due_ps - e->base_ps) << 32 | link;
    e->fetch_at = SIM_NONE;
}

/* ---- the heap ---- */

static bool before(const struct sim_heap_entry *a, const struct sim_heap_entry *b)
{
    return a->due_ps < b->due_ps || (a->due_ps == b->due_ps && a->tie < b->tie);
}

static void place(struct sim_events *e, uint32_t at, struct sim_heap_entry entry)
{
    e->heap[at] = entry;
    if ((entry.order & SIM_ARRIVAL) == 0) {
        e->timers[entry.order] = at;
    }
}

static void rise(struct sim_events *e, uint32_t at, struct sim_heap_entry entry)
{
    while (at > 0 && before(&entry, &e->heap[(at - 1) / ARITY])) {
        place(e, at, e->heap[(at - 1) / ARITY]);
        at = (at - 1) / ARITY;
    }
    place(e, at, entry);
}

static void sink(struct sim_events *e, uint32_t at, struct sim_heap_entry entry)
{
    for (uint32_t child = at * ARITY + 1; child < e->heap_count; child = at * ARITY + 1) {
        uint32_t least = child;
        for (uint32_t i = child + 1; i < child + ARITY && i < e->heap_count; i++) {
            least = before(&e->heap[i], &e->heap[least]) ? i : least;
        }
        if (!before(&e->heap[least], &entry)) {
            break;
        }
        place(e, at, e->heap[least]);
        at = least;
    }
    place(e, at, entry);
}

static void take_first(struct sim_events *e)
{
    e->first_ps = e->heap_count != 0 ? e->heap[0].due_ps : SIM_NEVER;
}

static void remove_at(struct sim_events *e, uint32_t at)
{
    struct sim_heap_entry last = e->heap[--e->heap_count];

    if (at < e->heap_count) {
        if (at > 0 && before(&last, &e->heap[(at - 1) / ARITY])) {
            rise(e, at, last);
        } else {
            sink(e, at, last);
        }
    }
    take_first(e);
}

static void add(struct sim_events *e, uint64_t due_ps, uint32_t order)
{
    if (e->heap_count == e->heap_room) {
        e->heap_room = e->heap_room == 0 ? 64 : 2 * e->heap_room;
        e->heap = realloc(e->heap, e->heap_room * sizeof *e->heap);
        TRIB_ASSERT(e->heap != NULL);
    }
    uint32_t tie = (order & SIM_ARRIVAL) != 0 ? order ^ sim_tie(due_ps) : order;
    rise(e, e->heap_count++, (struct sim_heap_entry){.due_ps = due_ps, .order = order, .tie = tie});
    take_first(e);
}

uint32_t sim_events_pop_heap(struct sim_events *e)
{
    struct sim_heap_entry first = e->heap[0];

    if ((first.order & SIM_ARRIVAL) == 0) {
        e->timers[first.order] = SIM_NONE;
    }
    remove_at(e, 0);
    e->now_ps = first.due_ps;
    e->count++;
    return first.order;
}

void sim_events_push_slow(struct sim_events *e, uint32_t link, uint64_t due_ps)
{
    TRIB_ASSERT(due_ps >= e->now_ps);
    if (due_ps < e->end_ps) {
        insert(e, link, due_ps);
        return;
    }
    uint64_t begin = e->now_ps >> e->shift << e->shift;
    if (e->batch_at == e->batch_count && begin > e->end_ps) {
        e->end_ps = begin; /* no event is due before now */
        e->end_bucket = begin >> e->shift;
    }
    if ((due_ps >> e->shift) - e->end_bucket < e->buckets) {
        sim_events_push(e, link, due_ps);
    } else {
        add(e, due_ps, link | SIM_ARRIVAL);
    }
}

uint64_t sim_timer_due(const struct sim_events *e, uint32_t timer)
{
    return timer < e->timer_room && e->timers[timer] != SIM_NONE ? e->heap[e->timers[timer]].due_ps : SIM_NEVER;
}

static void make_room(struct sim_events *e, uint32_t timer)
{
    uint32_t room = e->timer_room == 0 ? 64 : e->timer_room;

    TRIB_ASSERT(timer < SIM_ARRIVAL);
    while (room <= timer) {
        room *= 2;
    }
    e->timers = realloc(e->timers, room * sizeof *e->timers);
    TRIB_ASSERT(e->timers != NULL);
    memset(e->timers + e->timer_room, 0xff, (room - e->timer_room) * sizeof *e->timers);
    e->timer_room = room;
}

void sim_timer_set(struct sim_events *e, uint32_t timer, uint64_t due_ps)
{
    TRIB_ASSERT(due_ps >= e->now_ps);
    if (timer >= e->timer_room) {
        make_room(e, timer);
    }
    if (e->timers[timer] != SIM_NONE) {
        remove_at(e, e->timers[timer]);
        e->timers[timer] = SIM_NONE;
    }
    if (due_ps != SIM_NEVER) {
        add(e, due_ps, timer);
    }
}
