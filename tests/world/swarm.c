/* SPDX-License-Identifier: Apache-2.0 */
/* swarm.c: what a seed means for the whole world: its tree of switches, its times, its faults. Each class of fault is
 * on or off in a world, and its rate is drawn on a logarithmic scale: a world with all faults at once hides what one
 * alone would show.
 * Read next: swarm_comm.c. */
#include <inttypes.h>
#include <string.h>

#include "core/lane.h"
#include "swarm.h"

#define AGENTS_ONE_IN 5

uint64_t swarm_between(struct trib_prng *prng, uint64_t low, uint64_t high)
{
    return low + trib_prng_below(prng, high - low + 1);
}

uint64_t swarm_logarithmic(struct trib_prng *prng, uint32_t bits)
{
    return swarm_between(prng, 1, UINT64_C(1) << trib_prng_below(prng, bits + 1));
}

bool swarm_one_in(struct trib_prng *prng, uint32_t count)
{
    return trib_prng_below(prng, count) == 0;
}

double swarm_rate(struct trib_prng *prng, double on, double high)
{
    double value = high;

    if (!trib_prng_chance(prng, on)) {
        return 0;
    }
    for (uint64_t i = trib_prng_below(prng, 10); i > 0; i--) {
        value /= 2;
    }
    return value;
}

/* Number 0 is the root; a switch's parent has a lower number. */
static void draw_switches(struct world *world, struct trib_prng *prng)
{
    uint32_t depth = swarm_one_in(prng, 2) ? 1 : swarm_one_in(prng, 2) ? 2 : 3;

    depth = world_has_peers(world) ? 1 : depth;
    depth = depth <= world->depth_max ? depth : world->depth_max == 0 ? 1 : world->depth_max;
    world->tree_count = world->switch_count = depth == 1 ? 1 : (uint32_t)swarm_between(prng, depth, WORLD_SWITCHES_MAX);
    for (uint32_t at = 0; at < world->switch_count; at++) {
        struct world_switch *s = &world->switches[at];
        *s = (struct world_switch){.parent = WORLD_NONE, .level = 1, .boot = (uint32_t)trib_prng_next(prng)};
        if (at > 0) {
            /* A chain to the full depth first, then anywhere that is not too deep. */
            do {
                s->parent = at < depth ? at - 1 : (uint32_t)trib_prng_below(prng, at);
                s->level = world->switches[s->parent].level + 1;
            } while (s->level > depth);
        }
    }
}

static uint32_t some(struct trib_prng *prng, uint32_t one_in, uint32_t most)
{
    return swarm_one_in(prng, one_in) ? (uint32_t)swarm_between(prng, 1, most) : 0;
}

/* In one world of five the controller of the root has one or two agents, and more happens to them. From numbers of
 * their own, so that all other worlds stay as they were. */
static void draw_agents(struct world *world)
{
    struct trib_prng prng = {.state = trib_mix64(world->seed ^ UINT64_C(0x6167656e74))};
    uint32_t most = WORLD_SWITCHES_MAX - world->tree_count;
    uint32_t agents = (uint32_t)swarm_between(&prng, 1, 2);

    if (world_has_peers(world) || most == 0 || !swarm_one_in(&prng, AGENTS_ONE_IN)) {
        return;
    }
    agents = agents < most ? agents : most;
    for (uint32_t i = 0; i < agents; i++) {
        world->switches[world->switch_count++] =
            (struct world_switch){.parent = WORLD_NONE, .level = 1, .boot = (uint32_t)trib_prng_next(&prng)};
    }
    world->set.trees = swarm_one_in(&prng, 2) ? (uint32_t)swarm_between(&prng, 1, agents) : 0;
    uint32_t first = (uint32_t)trib_prng_below(&prng, agents + 1);
    for (uint32_t k = 0; k < world->set.trees; k++) {
        world->returning[k] = (uint8_t)((first + k) % (agents + 1) + 1);
    }
    world->set.restarts += some(&prng, 2, 2);
    world->set.stops += some(&prng, 3, 3);
    world->set.aways += some(&prng, 4, 2);
    world->set.ambushes = some(&prng, 2, 6);
}

static void draw_times(struct world_settings *set, struct trib_prng *prng)
{
    set->delay_ns = swarm_logarithmic(prng, 17);
    set->jitter_ns = swarm_one_in(prng, 2) ? 0 : swarm_logarithmic(prng, 16);
    set->turn_ns = swarm_logarithmic(prng, 15);
    set->clock_ns = swarm_one_in(prng, 4) ? 0 : trib_prng_next(prng) >> (1 + trib_prng_below(prng, 40));
    set->spike_ns = swarm_logarithmic(prng, 26);
    set->pause_ns = swarm_logarithmic(prng, 27);
    set->heal_ns = swarm_between(prng, 1, 400) * WORLD_MS;
}

static void draw_faults(struct world_settings *set, struct trib_prng *prng)
{
    set->loss = swarm_rate(prng, 0.5, 0.3);
    set->burst = swarm_rate(prng, 0.25, 0.02);
    set->duplicate = swarm_rate(prng, 0.4, 0.3);
    set->reorder = swarm_rate(prng, 0.4, 0.3);
    set->corrupt = swarm_rate(prng, 0.3, 0.1);
    set->truncate = swarm_rate(prng, 0.2, 0.1);
    set->partial = swarm_rate(prng, 0.25, 0.3);
    set->spike = swarm_rate(prng, 0.25, 0.01);
    set->replay = swarm_rate(prng, 0.25, 0.1);
    set->pause = swarm_rate(prng, 0.3, 0.02);
    set->stall = swarm_rate(prng, 0.2, 0.02);
    set->inbox = swarm_one_in(prng, 4) ? (uint32_t)swarm_between(prng, 4, 128) : UINT32_MAX;
    set->restarts = some(prng, 3, 4);
    set->crashes = some(prng, 8, 2);
    set->stops = some(prng, 8, 3);
    set->aways = some(prng, 8, 3);
    set->intruders = some(prng, 2, 1);
    set->farewell = swarm_one_in(prng, 6);
}

/* Every tenth world has no fault at all, so that what only faults may cause is seen to be absent. */
static void draw_clean(struct world_settings *set)
{
    set->loss = set->burst = set->duplicate = set->reorder = set->corrupt = set->truncate = set->partial = 0;
    set->spike = set->replay = set->pause = set->stall = set->congest = 0;
    set->inbox = UINT32_MAX;
    set->restarts = set->crashes = set->stops = set->aways = set->cuts = set->resets = set->ambushes = set->pools = 0;
    set->farewell = false;
    set->is_clean = true;
}

void world_draw(struct world *world)
{
    /* Mixed: seeds that follow each other would else give the same numbers, shifted by one. */
    struct trib_prng prng = {.state = trib_mix64(world->seed)};
    struct comm_settings set;

    draw_switches(world, &prng);
    draw_times(&world->set, &prng);
    draw_faults(&world->set, &prng);
    draw_agents(world);
    if (world_has_peers(world) || world_has_caps(world)) {
        world->set.congest = swarm_rate(&prng, 0.5, 0.3);
    }
    if (world_has_caps(world)) {
        world->set.spare = swarm_one_in(&prng, 3) ? 0 : (uint32_t)swarm_logarithmic(&prng, 9);
    }
    struct trib_prng own = {.state = world->seed}; /* all else stays as the seed had it */
    world->set.cuts = world->switch_count > 1 ? some(&own, world_has_agents(world) ? 2 : 3, 3) : 0;
    world->set.ambushes = world->tree_count > 1 ? some(&own, 2, 6) : world->set.ambushes;
    world->set.pools = world_has_servers(world) && world->tree_count > 1 ? some(&own, 2, 8) : 0;
    const struct world_settings *drawn = &world->set;
    bool is_late =
        drawn->stops + drawn->aways + drawn->restarts + drawn->cuts + drawn->ambushes != 0 || drawn->farewell;
    world->set.resets = is_late ? 0 : some(&own, 2, 4); /* a rank that is reset comes back in time */
    if (swarm_one_in(&prng, 10)) {
        draw_clean(&world->set);
    }
    uint32_t comms = swarm_one_in(&prng, 3) ? (uint32_t)swarm_between(&prng, 2, 4) : 1;
    world->prng.state = trib_prng_next(&prng);
    for (uint32_t i = 0; i < comms; i++) {
        comm_draw(world, 0, &set);
        set.budget /= world_has_peers(world) ? 2 * comms : comms; /* on a ring, all goes through all ranks */
        set.start_ns = i == 0 || swarm_one_in(&world->prng, 2) ? 0 : world_below(world, world->set.heal_ns);
        (void)comm_create(world, &set, NULL);
    }
}

void world_describe(const struct world *world, FILE *out)
{
    const struct world_settings *set = &world->set;

    fprintf(out, "seed %" PRIu64 ": switches", world->seed);
    for (uint32_t at = 0; at < world->switch_count; at++) {
        fprintf(out, " %d", (int)world->switches[at].parent);
    }
    fprintf(out, " (%u agents, %u trees)", world->switch_count - world->tree_count, set->trees);
    fprintf(out, "; delay %" PRIu64 " jitter %" PRIu64 " turn %" PRIu64 " heal %" PRIu64 " ns\n", set->delay_ns,
            set->jitter_ns, set->turn_ns, set->heal_ns);
    fprintf(out, "  loss %g burst %g duplicate %g reorder %g corrupt %g truncate %g partial %g spike %g replay %g\n",
            set->loss, set->burst, set->duplicate, set->reorder, set->corrupt, set->truncate, set->partial, set->spike,
            set->replay);
    fprintf(out, "  pause %g stall %g inbox %u restarts %u crashes %u stops %u aways %u pools %u\n", set->pause,
            set->stall, set->inbox, set->restarts, set->crashes, set->stops, set->aways, set->pools);
    for (uint32_t i = 0; i < world->comm_count; i++) {
        comm_describe(world->comms[i], out);
    }
}
