/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: the clock and the events of a world, from its beginning to silence. Read next: comm.c, unit.c. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define EVENTS_MAX 20000000 /* of a world: a node whose timeouts stand still would never end */

const char *world_check_name(enum world_check check)
{
    static const char *const names[] = {
#define X(name, word) [WORLD_CHECK_##name] = word,
        WORLD_CHECK_MAP(X)
#undef X
    };
    return names[check];
}

void world_fail(struct world *world, enum world_check check, const char *format, ...)
{
    va_list arguments;

    if (world->failed != WORLD_CHECK_NONE) {
        return;
    }
    world->failed = check;
    int len = snprintf(world->text, sizeof world->text, "at %" PRIu64 " ns: ", world->now_ns);
    va_start(arguments, format);
    (void)vsnprintf(world->text + len, sizeof world->text - (size_t)len, format, arguments);
    va_end(arguments);
}

bool world_chance(struct world *world, double probability)
{
    return probability > 0 && !world->is_healed && trib_prng_chance(&world->prng, probability);
}

uint64_t world_below(struct world *world, uint64_t bound)
{
    return bound <= 1 ? 0 : trib_prng_below(&world->prng, bound);
}

static _Noreturn void no_memory(void)
{
    fprintf(stderr, "out of memory\n");
    exit(2);
}

void *world_grown(void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) {
        return array;
    }
    *capacity = *capacity == 0 ? 64 : 2 * *capacity;
    array = realloc(array, *capacity * size);
    if (array == NULL) {
        no_memory();
    }
    return array;
}

void *world_zeroed(size_t count, size_t size)
{
    void *memory = calloc(count == 0 ? 1 : count, size);

    if (memory == NULL) {
        no_memory();
    }
    return memory;
}

/* ---- events ---- */

static bool is_before(const struct world_event *a, const struct world_event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

/* A heap of four children each: half as deep as one of two, and brothers share cache lines. */
void world_schedule(struct world *world, uint64_t time_ns, struct world_event event)
{
    world->heap = world_grown(world->heap, world->heap_count, &world->heap_capacity, sizeof *world->heap);
    event.time_ns = time_ns > world->now_ns ? time_ns : world->now_ns;
    event.order = world->order++;
    uint32_t at = world->heap_count++;
    while (at > 0 && is_before(&event, &world->heap[(at - 1) / 4])) {
        world->heap[at] = world->heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    world->heap[at] = event;
}

static struct world_event next_event(struct world *world)
{
    struct world_event *heap = world->heap;
    struct world_event first = heap[0];
    struct world_event last = heap[--world->heap_count];
    uint32_t count = world->heap_count;
    uint32_t at = 0;

    for (uint32_t child = 1; child < count; child = 4 * at + 1) {
        uint32_t end = child + 4 < count ? child + 4 : count;
        uint32_t least = child;
        for (uint32_t i = child + 1; i < end; i++) {
            least = is_before(&heap[i], &heap[least]) ? i : least;
        }
        if (!is_before(&heap[least], &last)) {
            break;
        }
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = last;
    return first;
}

/* ---- the world's life ---- */

static void heal(struct world *world)
{
    world->is_healed = true;
    world->check_ns = 0;
    for (uint32_t i = 0; i < world->comm_count; i++) {
        struct world_comm *comm = world->comms[i];
        comm_disturbed(comm, world->now_ns);
        comm_watch(comm);
    }
    world_forget(world);
}

static void begin(struct world *world)
{
    world->parcel_count = world->unit_count = 1; /* 0 is none */
    world->parcels = world_grown(NULL, 1, &world->parcel_capacity, sizeof *world->parcels);
    world->units = world_grown(NULL, 1, &world->unit_capacity, sizeof *world->units);
    memset(world->units, 0, sizeof *world->units); /* closed, and never opened */
    world_draw(world);
    control_begin(world);
    fault_schedule(world);
    world_schedule(world, world->set.heal_ns, (struct world_event){.kind = WORLD_HEAL});
}

/* Events of one communicator. */
static void handle_comm(struct world *world, const struct world_event *event)
{
    struct world_comm *comm = world->comms[event->a];

    switch ((enum world_event_kind)event->kind) {
    case WORLD_START:
        comm_start(comm);
        return;
    case WORLD_SUBMIT:
        comm_submit_due(comm, event->b);
        return;
    case WORLD_REJOIN:
        session_rejoin(comm, event->b, event->unit);
        return;
    case WORLD_IDLE:
        session_idle(comm, event->b);
        return;
    case WORLD_CLOSE:
        session_close(comm, event->b);
        return;
    case WORLD_LEAVE:
        session_leave(comm, event->b);
        return;
    case WORLD_END:
        comm_end(comm);
        return;
    case WORLD_GONE:
        check_gone(comm);
        return;
    case WORLD_HOSTILE:
        hostile_inject(comm);
        return;
    case WORLD_ARRIVE:
    case WORLD_WAKE:
    case WORLD_MESSAGE:
    case WORLD_CONNECT:
    case WORLD_SILENT:
    case WORLD_TIMER:
    case WORLD_FAULT:
    case WORLD_HEAL:
        return;
    }
}

static void handle(struct world *world, const struct world_event *event)
{
    switch ((enum world_event_kind)event->kind) {
    case WORLD_ARRIVE:
        unit_arrive(world, event);
        return;
    case WORLD_WAKE:
        if (world->units[event->unit].wake_ns == event->time_ns) {
            unit_run(world, event->unit);
        }
        return;
    case WORLD_FAULT:
        fault_happen(world, event);
        return;
    case WORLD_HEAL:
        heal(world);
        return;
    case WORLD_MESSAGE:
    case WORLD_CONNECT:
        control_arrive(world, event);
        return;
    case WORLD_SILENT:
        agents_silent(world, event);
        return;
    case WORLD_TIMER:
        control_timeout(world, event);
        return;
    case WORLD_START:
    case WORLD_SUBMIT:
    case WORLD_REJOIN:
    case WORLD_IDLE:
    case WORLD_CLOSE:
    case WORLD_LEAVE:
    case WORLD_END:
    case WORLD_GONE:
    case WORLD_HOSTILE:
        handle_comm(world, event);
        return;
    }
}

static void live(struct world *world)
{
    begin(world);
    while (world->failed == WORLD_CHECK_NONE && world->heap_count > 0) {
        struct world_event event = next_event(world);
        world->now_ns = event.time_ns;
        if (++world->report->events > EVENTS_MAX) {
            world_fail(world, WORLD_CHECK_NOISE, "more than %d events", EVENTS_MAX);
            return;
        }
        if (world->now_ns >= world->check_ns) {
            check_time(world);
        }
        handle(world, &event);
    }
    if (world->failed == WORLD_CHECK_NONE) {
        check_end(world);
    }
}

static void end(struct world *world)
{
    struct world_report *report = world->report;

    report->worlds++;
    report->clean += world->set.is_clean;
    report->shared += world->comm_count > 1;
    if (world->trace || world->failed != WORLD_CHECK_NONE) {
        world_describe(world, stderr);
    }
    for (uint32_t i = 0; i < world->comm_count; i++) {
        comm_free(world->comms[i]);
    }
    for (uint32_t i = 1; i < world->unit_count; i++) {
        free(world->units[i].inbox);
        free(world->units[i].links);
        free(world->units[i].repeats);
    }
    for (uint32_t at = 0; at < world->switch_count; at++) {
        combining_end(world, at);
    }
    free(world->units);
    free(world->ghost);
    free(world->heap);
    free(world->parcels);
    auth_end(world);
    control_end(world);
}

bool world_run(struct world *world)
{
    /* A failed assertion of a node ends the world as any other check does. */
    if (setjmp(world->caught) == 0) {
        live(world);
    }
    end(world);
    return world->failed == WORLD_CHECK_NONE;
}
