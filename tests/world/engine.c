/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: the clock, the events, and how a node is driven: everything that has arrived is decoded and goes in, then everything goes
 * out, as in the loops of comm and switchd. Read next: link.c, session.c, work.c. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"
#include "core/loss.h"
#include "world.h"

#define QUIET_NS (10 * WORLD_S) /* after the last DONE nothing may move any more */
#define LETHAL_NS (2 * WORLD_S) /* how long a world of lies is watched after its end of faults */
#define EVENTS_MAX 10000000     /* of a world: a node whose timeouts stand still would never end */
#define DRAIN_MAX 200000        /* packets that one run of a node may hand out */

void world_fail(struct world *world, const char *format, ...)
{
    va_list arguments;

    if (world->failed) {
        return;
    }
    world->failed = true;
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

void *world_grown(void *array, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) {
        return array;
    }
    *capacity = *capacity == 0 ? 64 : 2 * *capacity;
    array = realloc(array, *capacity * size);
    if (array == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return array;
}

/* ---- events ---- */

static bool is_before(const struct world_event *a, const struct world_event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

void world_schedule(struct world *world, uint64_t time_ns, enum world_event_kind kind, uint32_t node, uint32_t a,
                    uint32_t b)
{
    world->heap = world_grown(world->heap, world->heap_count, &world->heap_capacity, sizeof *world->heap);
    struct world_event event = {
        .time_ns = time_ns > world->now_ns ? time_ns : world->now_ns,
        .order = world->order++,
        .kind = (uint16_t)kind,
        .node = (uint16_t)node,
        .a = a,
        .b = b,
    };
    uint32_t at = world->heap_count++;
    while (at > 0 && is_before(&event, &world->heap[(at - 1) / 2])) {
        world->heap[at] = world->heap[(at - 1) / 2];
        at = (at - 1) / 2;
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

    for (uint32_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!is_before(&heap[child], &last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

void world_wake(struct world *world, uint32_t node, uint64_t time_ns)
{
    struct world_node *n = &world->nodes[node];
    uint64_t when = time_ns > n->paused_ns ? time_ns : n->paused_ns;

    if (when < world->now_ns) {
        when = world->now_ns;
    }
    if (when < n->wake_ns) {
        n->wake_ns = when;
        world_schedule(world, when, WORLD_WAKE, node, 0, 0);
    }
}

/* ---- driving nodes ---- */

static uint64_t node_now(const struct world *world, const struct world_node *n)
{
    return world->now_ns + n->clock_ns;
}

static void feed(struct world *world, uint32_t node)
{
    struct world_node *n = &world->nodes[node];

    for (uint32_t i = 0; i < n->inbox_count; i++) {
        uint32_t index = n->inbox[i].parcel;
        const struct parcel *parcel = &world->parcels[index];
        struct trib_packet packet;
        enum trib_drop drop = trib_packet_decode(parcel->data, parcel->len, &packet);
        world->report->decode[drop] += drop != TRIB_DROP_NONE;
        if (drop == TRIB_DROP_NONE) {
            uint64_t now = node_now(world, n);
            bool is_worker = world_is_worker(world, node);
            struct trib_place from = {.kind = TRIB_PLACE_ROOT};
            if (is_worker) {
                from.index = n->inbox[i].from - world->set.session.ranks;
                drop = world->scheme->worker->receive(n->memory, from, &packet, now);
            } else {
                from = (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = UINT64_C(1) << n->inbox[i].from};
                drop = world->scheme->switch_node->receive(n->memory, from, &packet, now);
            }
            world_trace(world, drop == TRIB_DROP_NONE ? "take" : trib_drop_name(drop), n->inbox[i].from, node, &packet);
        }
        world_release(world, index);
    }
    n->inbox_count = 0;
}

static void take_worker_event(struct world *world, uint32_t rank, const struct trib_event *event)
{
    struct world_report *report = world->report;

    switch (event->kind) {
    case TRIB_EVENT_DONE:
        work_done(world, rank, event->token);
        return;
    case TRIB_EVENT_FAILED:
        report->failed_events++;
        if (world->set.hostility != WORLD_LETHAL) {
            world_fail(world, "rank %u gives up on sequence %" PRIu64, rank, event->sequence);
        }
        return;
    case TRIB_EVENT_BOOT:
        report->boot_events++;
        return;
    case TRIB_EVENT_STALL:
        report->stall_events++;
        return;
    case TRIB_EVENT_NONE:
    case TRIB_EVENT_MISMATCH:
    case TRIB_EVENT_KIND_COUNT:
        world_fail(world, "rank %u: event of kind %d", rank, (int)event->kind);
        return;
    }
}

static void drain_worker(struct world *world, uint32_t rank)
{
    const struct trib_worker_verbs *verbs = world->scheme->worker;
    struct world_node *n = &world->nodes[rank];
    uint32_t count = 0;
    uint64_t submitted;

    do {
        struct trib_packet packet;
        struct trib_place to;
        struct trib_event event;
        while (verbs->next_packet(n->memory, node_now(world, n), &packet, &to)) {
            if (to.kind != TRIB_PLACE_ROOT || to.index >= world->set.session.roots || ++count > DRAIN_MAX) {
                world_fail(world, "rank %u: a packet to nowhere, or without end", rank);
                return;
            }
            world->sent_packets[0]++;
            world_send(world, rank, world_switch(world, to.index), &packet);
        }
        while (verbs->next_event(n->memory, &event)) {
            take_worker_event(world, rank, &event);
        }
        submitted = world->submitted[rank];
        work_submit(world, rank);
    } while (world->submitted[rank] != submitted);
}

static void drain_switch(struct world *world, uint32_t node)
{
    const struct trib_switch_verbs *verbs = world->scheme->switch_node;
    struct world_node *n = &world->nodes[node];
    struct trib_packet packet;
    struct trib_place to;
    struct trib_event event;
    uint32_t count = 0;

    while (verbs->next_packet(n->memory, node_now(world, n), &packet, &to)) {
        if (to.kind != TRIB_PLACE_CHILDREN || to.children == 0 || ++count > DRAIN_MAX) {
            world_fail(world, "root %u: a packet to nobody, or without end", node - world->set.session.ranks);
            return;
        }
        if (packet.kind == TRIB_RESULT) {
            check_result(world, &packet);
        }
        world->sent_packets[1] += (uint64_t)__builtin_popcountll(to.children);
        world_send_down(world, node, to.children, &packet);
    }
    while (verbs->next_event(n->memory, &event)) {
        world->report->mismatch_events += event.kind == TRIB_EVENT_MISMATCH;
        if (event.kind != TRIB_EVENT_MISMATCH || world->set.hostility != WORLD_LETHAL) {
            world_fail(world, "root %u: event of kind %d on %" PRIu64, node - world->set.session.ranks, (int)event.kind,
                       event.sequence);
        }
    }
}

static bool maybe_pauses(struct world *world, uint32_t node)
{
    bool is_worker = world_is_worker(world, node);

    if (!world_chance(world, is_worker ? world->set.pause : world->set.stall)) {
        return false;
    }
    world->report->paused++;
    world->nodes[node].paused_ns = world->now_ns + world_below(world, world->set.pause_ns);
    world_wake(world, node, world->nodes[node].paused_ns);
    return true;
}

static void run_node(struct world *world, uint32_t node)
{
    struct world_node *n = &world->nodes[node];
    bool is_worker = world_is_worker(world, node);

    n->wake_ns = TRIB_NEVER;
    if ((!is_worker && world->now_ns < world->down_until_ns) || maybe_pauses(world, node)) {
        return;
    }
    feed(world, node);
    if (is_worker) {
        const struct trib_worker_verbs *verbs = world->scheme->worker;
        if (verbs->next_timeout(n->memory) <= node_now(world, n)) {
            verbs->on_timeout(n->memory, node_now(world, n));
        }
        work_submit(world, node);
        drain_worker(world, node);
        if (world_below(world, 64) == 0) {
            check_partial(world, node);
        }
        uint64_t timeout = verbs->next_timeout(n->memory);
        if (timeout != TRIB_NEVER) {
            world_wake(world, node, timeout > n->clock_ns + world->now_ns ? timeout - n->clock_ns : world->now_ns + 1);
        }
        return;
    }
    const struct trib_switch_verbs *verbs = world->scheme->switch_node;
    if (verbs->next_timeout(n->memory) <= node_now(world, n)) {
        verbs->on_timeout(n->memory, node_now(world, n));
    }
    drain_switch(world, node);
    uint64_t timeout = verbs->next_timeout(n->memory);
    if (timeout != TRIB_NEVER) {
        world_wake(world, node, timeout > n->clock_ns + world->now_ns ? timeout - n->clock_ns : world->now_ns + 1);
    }
}

static void arrive(struct world *world, const struct world_event *event)
{
    struct world_node *n = &world->nodes[event->node];
    const struct parcel *parcel = &world->parcels[event->a];
    bool is_down = !world_is_worker(world, event->node) && world->now_ns < world->down_until_ns;
    bool is_full = n->inbox_count >= world->set.inbox && !world->is_healed;
    uint64_t bytes = 0;

    memcpy(&bytes, parcel->data + TRIB_AT_CRC, 8);
    world->report->trace = trib_mix64(world->report->trace ^ world->now_ns) ^ (bytes + event->node + parcel->len);
    world->report->packets++;
    if (is_down || is_full) {
        world->report->overflowed += is_full;
        world_release(world, event->a);
        return;
    }
    n->inbox = world_grown(n->inbox, n->inbox_count, &n->inbox_capacity, sizeof *n->inbox);
    n->inbox[n->inbox_count++] = (struct inbox_entry){.parcel = event->a, .from = event->b};
    world_wake(world, event->node, world->now_ns + world_below(world, world->set.turn_ns));
}

/* ---- the world's life ---- */

void world_count_switches(struct world *world)
{
    for (uint32_t root = 0; root < world->set.session.roots; root++) {
        const uint64_t *counts =
            (const uint64_t *)world->scheme->switch_node->counters(world->nodes[world_switch(world, root)].memory);
        uint64_t *sums = (uint64_t *)&world->report->switches;
        for (size_t i = 0; i < sizeof(struct trib_counters) / sizeof *sums; i++) {
            sums[i] += counts[i];
        }
    }
}

static void count_workers(struct world *world)
{
    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        const uint64_t *counts = (const uint64_t *)world->scheme->worker->counters(world->nodes[rank].memory);
        uint64_t *sums = (uint64_t *)&world->report->worker;
        for (size_t i = 0; i < sizeof(struct trib_counters) / sizeof *sums; i++) {
            sums[i] += counts[i];
        }
    }
}

static void *node_memory(size_t size)
{
    void *memory = aligned_alloc(64, (size + 63) & ~(size_t)63);

    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    memset(memory, 0xa5, size);
    return memory;
}

void world_init_switches(struct world *world)
{
    for (uint32_t root = 0; root < world->set.session.roots; root++) {
        struct world_node *n = &world->nodes[world_switch(world, root)];
        struct trib_switch_config config = {.session = world->set.session, .root = root, .boot = world->boot};
        config.children = config.session.ranks;
        config.session.salt = 0;
        config.kernels = world->kernels[root % world->set.session.ranks];
        if (n->memory == NULL) {
            n->size = world->scheme->switch_node->size(&config);
            n->memory = node_memory(n->size);
            n->wake_ns = TRIB_NEVER;
            n->clock_ns = world->set.clock_ns;
        }
        world->scheme->switch_node->init(n->memory, &config);
        for (uint32_t i = 0; i < n->inbox_count; i++) {
            world_release(world, n->inbox[i].parcel);
        }
        n->inbox_count = 0;
    }
}

static void init_workers(struct world *world)
{
    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        struct world_node *n = &world->nodes[rank];
        struct trib_worker_config config = {
            .session = world->set.session,
            .kernels = world->kernels[rank],
            .rank = rank,
            .window = world->set.window,
            .operations = world->set.operations,
            .stall_ns = world->set.stall_ns,
        };
        n->size = world->scheme->worker->size(&config);
        n->memory = node_memory(n->size);
        n->wake_ns = TRIB_NEVER;
        n->clock_ns = world->set.clock_ns / (rank + 1);
        world->scheme->worker->init(n->memory, &config);
    }
}

static void choose_kernels(struct world *world)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};

    for (uint32_t rank = 0; rank < world->set.session.ranks; rank++) {
        const struct trib_value_kernels *kernels = trib_value_kernels_named(names[world_below(world, 3)]);
        world->kernels[rank] = kernels != NULL ? kernels : trib_value_kernels();
    }
}

static void heal(struct world *world)
{
    world->is_healed = true;
    if (world->quiet_from_ns < world->now_ns) {
        world->quiet_from_ns = world->now_ns;
    }
    for (uint32_t i = 0; i < 64; i++) {
        if (world->old_parcels[i] != 0) {
            world_release(world, world->old_parcels[i]);
            world->old_parcels[i] = 0;
        }
    }
}

static void begin(struct world *world)
{
    world->scheme = trib_scheme_at(0);
    world->parcel_count = 1; /* 0 is none */
    world->parcels = world_grown(NULL, 1, &world->parcel_capacity, sizeof *world->parcels);
    choose_kernels(world);
    work_create(world);
    init_workers(world);
    session_begin(world);
    work_schedule(world);
    hostile_schedule(world);
    for (uint32_t i = 0; i < world->set.restarts; i++) {
        world_schedule(world, world_below(world, world->set.heal_ns), WORLD_RESTART, 0, 0, 0);
    }
    world_schedule(world, world->set.heal_ns, WORLD_HEAL, 0, 0, 0);
}

static void handle(struct world *world, const struct world_event *event)
{
    switch ((enum world_event_kind)event->kind) {
    case WORLD_ARRIVE:
        arrive(world, event);
        return;
    case WORLD_WAKE:
        if (world->nodes[event->node].wake_ns == event->time_ns) {
            run_node(world, event->node);
        }
        return;
    case WORLD_SUBMIT:
        world->due[event->node]++;
        world->quiet_from_ns = world->now_ns > world->quiet_from_ns ? world->now_ns : world->quiet_from_ns;
        world_wake(world, event->node, world->now_ns);
        return;
    case WORLD_MESSAGE: {
        struct world_message message = world->messages[event->a];
        session_message(world, &message);
        return;
    }
    case WORLD_IDLE:
        session_idle(world, event->node);
        return;
    case WORLD_RESTART:
        session_restart(world);
        return;
    case WORLD_LOST:
        session_lost(world, event->node, event->a);
        return;
    case WORLD_POLL:
        session_poll(world, event->a);
        return;
    case WORLD_HOSTILE:
        hostile_inject(world);
        return;
    case WORLD_HEAL:
        heal(world);
        return;
    }
}

/* All fragments, a window at a time, each with a probe for M: three round trips. */
static uint64_t transfer_ns(const struct world *world)
{
    const struct world_settings *set = &world->set;
    uint64_t rounds = world->fragments / set->window + 1;

    return rounds * 6 * (set->delay_ns + set->jitter_ns + set->turn_ns);
}

static bool is_done(const struct world *world)
{
    return world->done_all == world->set.session.ranks * world->set.op_count;
}

/* The two promises about time: everything ends, and then everything rests. */
static bool is_overdue(struct world *world)
{
    if (world->report->events > EVENTS_MAX) {
        world_fail(world, "more than %d events", EVENTS_MAX);
        return true;
    }
    if (world->set.hostility == WORLD_LETHAL) {
        return false;
    }
    uint64_t bound = WORLD_BOUND_RTOS * TRIB_RTO_MAX_NS + transfer_ns(world);
    if (world->is_healed && !is_done(world) && world->now_ns > world->quiet_from_ns + bound) {
        world_fail(world, "not live: %u of %u done %" PRIu64 " ms after the faults", world->done_all,
                   world->set.session.ranks * world->set.op_count, bound / WORLD_MS);
        return true;
    }
    if (is_done(world) && world->is_healed && world->now_ns > world->last_done_ns + QUIET_NS &&
        world->now_ns > world->quiet_from_ns + QUIET_NS) {
        world_fail(world, "not quiet %u s after the last operation", (uint32_t)(QUIET_NS / WORLD_S));
        return true;
    }
    return false;
}

static void end(struct world *world)
{
    struct world_report *report = world->report;

    if (!world->failed) {
        check_end(world);
    }
    world_count_switches(world);
    count_workers(world);
    report->worlds++;
    report->fragments += world->fragments;
    report->operations += world->set.op_count;
    report->clean += world->set.is_clean;
    report->lethal += world->set.hostility == WORLD_LETHAL;
    uint64_t usual = world->quiet_from_ns + transfer_ns(world);
    uint64_t slow = is_done(world) && world->last_done_ns > usual ? world->last_done_ns - usual : 0;
    if (slow > report->slowest_ns) {
        report->slowest_ns = slow;
        report->slowest_seed = world->seed;
    }
    for (uint32_t i = 0; i < world->set.session.ranks + world->set.session.roots; i++) {
        free(world->nodes[i].memory);
        free(world->nodes[i].inbox);
    }
    work_destroy(world);
    free(world->heap);
    free(world->parcels);
    free(world->messages);
}

bool world_run(struct world *world)
{
    world_draw(world);
    begin(world);
    while (!world->failed && world->heap_count > 0) {
        struct world_event event = next_event(world);
        world->now_ns = event.time_ns;
        world->report->events++;
        if (is_overdue(world)) {
            break;
        }
        if (world->set.hostility == WORLD_LETHAL && world->is_healed &&
            world->now_ns > world->quiet_from_ns + LETHAL_NS) {
            break;
        }
        handle(world, &event);
    }
    end(world);
    return !world->failed;
}
