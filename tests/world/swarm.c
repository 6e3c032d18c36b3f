/* SPDX-License-Identifier: Apache-2.0 */
/* swarm.c: what a seed means. Each class of fault is on or off in a world, and its rate is drawn on a logarithmic scale: a world with all
 * faults at once hides what one alone would show. Read next: engine.c. */
#include <inttypes.h>
#include <string.h>

#include "world.h"

static uint64_t below(struct trib_prng *prng, uint64_t bound)
{
    return trib_prng_below(prng, bound);
}

static uint64_t between(struct trib_prng *prng, uint64_t low, uint64_t high)
{
    return low + below(prng, high - low + 1);
}

static uint32_t pick(struct trib_prng *prng, const uint32_t *choices, uint32_t count)
{
    return choices[below(prng, count)];
}

/* 1 to 2^bits, small ones as likely as large ones. */
static uint64_t logarithmic(struct trib_prng *prng, uint32_t bits)
{
    return between(prng, 1, UINT64_C(1) << below(prng, bits + 1));
}

/* A rate of a class that is on in `on` of all worlds: high / 1000 to high. */
static double rate(struct trib_prng *prng, double on, double high)
{
    double value = high;

    if (!trib_prng_chance(prng, on)) {
        return 0;
    }
    for (uint64_t i = below(prng, 10); i > 0; i--) {
        value /= 2;
    }
    return value;
}

static void draw_session(struct world_settings *set, struct trib_prng *prng)
{
    static const uint32_t ranks[] = {1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 11, 16};
    static const uint32_t many[] = {33, 63, 64};
    static const uint32_t payloads[] = {64, 64, 64, 128, 192, 256, 512, 1024, 1408};
    static const enum trib_type wires[] = {TRIB_FLOAT32, TRIB_FLOAT32, TRIB_BFLOAT16, TRIB_INT32, TRIB_INT32};
    struct trib_session_config *s = &set->session;

    s->salt = trib_prng_next(prng);
    s->communicator = (uint32_t)trib_prng_next(prng);
    s->generation = (uint16_t)trib_prng_next(prng);
    s->ranks = below(prng, 25) == 0 ? pick(prng, many, 3) : pick(prng, ranks, sizeof ranks / sizeof ranks[0]);
    s->roots = below(prng, 2) == 0 ? 1 : (uint32_t)between(prng, 2, WORLD_ROOTS_MAX);
    s->train = (uint32_t)logarithmic(prng, 5);
    s->slots = (uint32_t)logarithmic(prng, 9);
    s->payload = pick(prng, payloads, sizeof payloads / sizeof payloads[0]);
    s->wire = wires[below(prng, sizeof wires / sizeof wires[0])];
    s->lookahead = (uint32_t)logarithmic(prng, 5);
    set->window = below(prng, 4) == 0   ? s->slots
                  : below(prng, 2) == 0 ? s->slots / 2
                                        : (uint32_t)between(prng, 1, s->slots);
    set->window = set->window == 0 ? 1 : set->window;
    set->operations = (uint32_t)logarithmic(prng, 4);
    set->op_count = (uint32_t)between(prng, 2, WORLD_OPS_MAX);
    set->free_buffers = below(prng, 2) == 0;
    set->stall_ns = between(prng, 20, 2000) * WORLD_MS;
}

static void draw_times(struct world_settings *set, struct trib_prng *prng)
{
    set->delay_ns = logarithmic(prng, 17);
    set->jitter_ns = below(prng, 2) == 0 ? 0 : logarithmic(prng, 16);
    set->turn_ns = logarithmic(prng, 15);
    set->skew_ns = below(prng, 2) == 0 ? 0 : logarithmic(prng, 26);
    set->gap_ns = below(prng, 2) == 0 ? 0 : logarithmic(prng, 27);
    set->clock_ns = below(prng, 4) == 0 ? 0 : trib_prng_next(prng) >> (1 + below(prng, 40));
    set->spike_ns = logarithmic(prng, 26);
    set->pause_ns = logarithmic(prng, 27);
    set->heal_ns = between(prng, 1, 400) * WORLD_MS;
}

static void draw_faults(struct world_settings *set, struct trib_prng *prng)
{
    set->loss = rate(prng, 0.5, 0.3);
    set->burst = rate(prng, 0.25, 0.02);
    set->duplicate = rate(prng, 0.4, 0.3);
    set->reorder = rate(prng, 0.4, 0.3);
    set->corrupt = rate(prng, 0.3, 0.1);
    set->truncate = rate(prng, 0.2, 0.1);
    set->partial = rate(prng, 0.25, 0.3);
    set->spike = rate(prng, 0.25, 0.01);
    set->replay = rate(prng, 0.25, 0.1);
    set->lane = rate(prng, 0.15, 0.05);
    set->pause = rate(prng, 0.3, 0.02);
    set->stall = rate(prng, 0.2, 0.02);
    set->inbox = below(prng, 4) == 0 ? (uint32_t)between(prng, 4, 128) : UINT32_MAX;
    set->restarts = below(prng, 3) == 0 ? (uint32_t)between(prng, 1, 4) : 0;
}

static void draw_hostility(struct world_settings *set, struct trib_prng *prng)
{
    uint64_t dice = below(prng, 20);

    set->hostility = dice == 0 ? WORLD_LETHAL : dice <= 5 ? WORLD_NUISANCE : WORLD_PEACE;
    if (set->hostility != WORLD_PEACE) {
        set->hostile_packets = (uint32_t)between(prng, 10, 2000);
    }
}

/* Every tenth world has no fault at all, so that what only faults may cause is seen to be absent. */
static void draw_clean(struct world_settings *set)
{
    set->loss = set->burst = set->duplicate = set->reorder = set->corrupt = set->truncate = set->partial = 0;
    set->spike = set->replay = set->lane = set->pause = set->stall = 0;
    set->inbox = UINT32_MAX;
    set->restarts = 0;
    set->hostility = WORLD_PEACE;
    set->hostile_packets = 0;
    set->is_clean = true;
}

void world_draw(struct world *world)
{
    struct trib_prng prng = {.state = world->seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    struct world_settings *set = &world->set;

    memset(set, 0, sizeof *set);
    draw_session(set, &prng);
    draw_times(set, &prng);
    draw_faults(set, &prng);
    draw_hostility(set, &prng);
    if (below(&prng, 10) == 0) {
        draw_clean(set);
    }
    world->prng.state = trib_prng_next(&prng);
}

void world_describe(const struct world *world, FILE *out)
{
    const struct world_settings *set = &world->set;
    const struct trib_session_config *s = &set->session;

    fprintf(out,
            "seed %" PRIu64
            ": ranks %u roots %u train %u slots %u window %u payload %u wire %s lookahead %u first %" PRIu64 "\n",
            world->seed, s->ranks, s->roots, s->train, s->slots, set->window, s->payload, trib_type_name(s->wire),
            s->lookahead, s->first);
    fprintf(out,
            "  operations %u of %u at once, %" PRIu64 " fragments; delay %" PRIu64 " jitter %" PRIu64 " turn %" PRIu64
            " skew %" PRIu64 " gap %" PRIu64 " heal %" PRIu64 " ns\n",
            set->op_count, set->operations, world->fragments, set->delay_ns, set->jitter_ns, set->turn_ns, set->skew_ns,
            set->gap_ns, set->heal_ns);
    fprintf(out,
            "  loss %g burst %g duplicate %g reorder %g corrupt %g truncate %g partial %g spike %g replay %g lane %g\n",
            set->loss, set->burst, set->duplicate, set->reorder, set->corrupt, set->truncate, set->partial, set->spike,
            set->replay, set->lane);
    fprintf(out, "  pause %g stall %g inbox %u restarts %u hostility %d (%u packets)\n", set->pause, set->stall,
            set->inbox, set->restarts, (int)set->hostility, set->hostile_packets);
}
