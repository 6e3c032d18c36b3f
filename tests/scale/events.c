/* SPDX-License-Identifier: Apache-2.0 */
/* events.c: what happens next, and how long decisions took. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "scale.h"

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void push(struct world *w, uint64_t at_ns, struct event event)
{
    if (w->heap_count == w->heap_room) {
        w->heap_room = 2 * w->heap_room + 1024;
        w->heap = realloc(w->heap, w->heap_room * sizeof *w->heap);
        MUST(w, w->heap != NULL, "out of memory");
    }
    event.at_ns = at_ns;
    event.order = ++w->order;
    size_t at = w->heap_count++;
    while (at > 0 && is_before(&event, &w->heap[(at - 1) / 2])) {
        w->heap[at] = w->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    w->heap[at] = event;
}

bool pop(struct world *w, struct event *event)
{
    if (w->heap_count == 0) {
        return false;
    }
    *event = w->heap[0];
    const struct event last = w->heap[--w->heap_count];
    size_t at = 0;
    for (size_t child = 1; child < w->heap_count; child = 2 * at + 1) {
        child += child + 1 < w->heap_count && is_before(&w->heap[child + 1], &w->heap[child]);
        if (!is_before(&w->heap[child], &last)) {
            break;
        }
        w->heap[at] = w->heap[child];
        at = child;
    }
    if (w->heap_count > 0) {
        w->heap[at] = last;
    }
    return true;
}

uint64_t cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t bucket_end(uint32_t bucket)
{
    return bucket < 8 ? bucket + 1 : (UINT64_C(9) + bucket % 8) << (bucket / 8 - 1);
}

void times_add(struct times *times, uint64_t ns)
{
    times->count++;
    times->sum_ns += ns;
    times->max_ns = ns > times->max_ns ? ns : times->max_ns;
    uint32_t shift = ns < 8 ? 0 : 60 - (uint32_t)__builtin_clzll(ns);
    times->bucket[ns < 8 ? ns : 8 * (shift + 1) + (ns >> shift) % 8]++;
}

uint64_t times_part(const struct times *times, double part)
{
    uint64_t left = (uint64_t)((double)times->count * part);
    uint32_t bucket = 0;
    while (bucket + 1 < BUCKETS && left >= times->bucket[bucket]) {
        left -= times->bucket[bucket++];
    }
    return bucket_end(bucket);
}

void complain(const struct world *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fprintf(stderr, "scale: seed %llu, at %.6f s: ", (unsigned long long)w->options.seed,
                  (double)w->now_ns / 1e9);
    (void)vfprintf(stderr, format, list);
    (void)fprintf(stderr, "\n");
    va_end(list);
    exit(1);
}
