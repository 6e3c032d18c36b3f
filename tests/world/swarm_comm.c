/* SPDX-License-Identifier: Apache-2.0 */
/* swarm_comm.c: what a seed means for one communicator: its size, its window, where its ranks are, how hostile its
 * neighbours are.
 * Read next: shape.c. */
#include <inttypes.h>
#include <string.h>

#include "core/lane.h"
#include "net/port.h"
#include "schemes/schemes.h"
#include "swarm.h"

#define BUDGET 6000       /* fragments times ranks of a world, so that it takes some milliseconds */
#define MEMORY (4U << 20) /* of all retained copies of a communicator, roughly */

static uint32_t pick(struct trib_prng *prng, const uint32_t *choices, uint32_t count)
{
    return choices[trib_prng_below(prng, count)];
}

static uint32_t draw_ranks(struct trib_prng *prng)
{
    static const uint32_t few[] = {1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8, 8, 11, 16, 24};
    static const uint32_t many[] = {32, 33, 63, 64, 65, 100};

    return swarm_one_in(prng, 8) ? pick(prng, many, 6) : pick(prng, few, 17);
}

/* From numbers of their own, so that all else stays as the seed had it without weights. */
static void draw_weights(struct trib_session_config *session)
{
    struct trib_prng prng = {.state = session->salt + session->communicator};
    uint64_t most = swarm_one_in(&prng, 4) ? UINT8_MAX : 4;

    for (uint32_t root = 0; root < session->roots && session->roots > 1 && session->salt % 4 == 0; root++) {
        session->weight[root] = (uint8_t)swarm_between(&prng, 0, most);
    }
}

/* The cap to begin with: mostly next to nothing, so that others are told. */
static void draw_cap(struct trib_session_config *session)
{
    struct trib_prng prng = {.state = session->salt - session->communicator};

    session->cap = swarm_one_in(&prng, 4) ? 0 : (uint32_t)swarm_logarithmic(&prng, 6);
}

/* Of half of the communicators rows are taken by none. */
static uint8_t draw_priority(const struct world *world, const struct comm_settings *set)
{
    uint64_t dice = trib_mix64(set->session.salt ^ 4);

    return world_has_servers(world) && dice % 2 == 0 ? (uint8_t)(dice >> 8) : 0;
}

/* One communicator of eight has a rate, as by a plan: such that all of it is sent within a tenth of a second. */
static uint64_t draw_rate(const struct comm_settings *set)
{
    uint64_t dice = trib_mix64(set->session.salt ^ 5);

    return dice % 8 == 0 ? UINT64_C(500000000) << (dice >> 8) % 5 : 0;
}

/* Half of the communicators wait for all ranks, where the seed may say. Lists take room, and exponents need all. */
static void draw_quorum(const struct world *world, struct comm_settings *set)
{
    static const uint8_t parts[][2] = {{1, 2}, {1, 2}, {2, 3}, {3, 4}, {3, 4}, {7, 8}, {7, 8}, {15, 16}, {128, 255}};
    struct trib_session_config *s = &set->session;
    struct trib_prng prng = {.state = s->salt ^ s->communicator};
    uint64_t part = trib_prng_below(&prng, 2 * sizeof parts / sizeof parts[0]);

    if (world->scheme_name != NULL && trib_scheme_names_quorum(world->scheme_name)) {
        trib_scheme_settle(world->scheme_name, s);
    } else if (part < sizeof parts / sizeof parts[0]) {
        s->quorum = parts[part][0];
        s->quorum_of = parts[part][1];
    } else {
        return;
    }
    s->payload = s->payload == 64 ? 128 : s->payload;
    s->wire = s->wire == TRIB_INT32 ? TRIB_FLOAT32 : s->wire;
    set->lag_ns = swarm_one_in(&prng, 2) ? 0 : swarm_logarithmic(&prng, 27);
    /* Switches ask the lowest first for what it kept. */
    set->lagging_rank = swarm_one_in(&prng, 2) ? 0 : (uint32_t)trib_prng_below(&prng, s->ranks);
}

static void draw_session(struct comm_settings *set, uint32_t ranks, struct trib_prng *prng)
{
    static const uint32_t payloads[] = {64, 64, 64, 128, 192, 256, 512, 1024, 1344};
    static const enum trib_type wires[] = {TRIB_FLOAT32, TRIB_FLOAT32, TRIB_BFLOAT16, TRIB_INT32, TRIB_INT32};
    struct trib_session_config *s = &set->session;

    s->salt = trib_prng_next(prng);
    s->communicator = (uint32_t)trib_prng_next(prng);
    s->generation = swarm_one_in(prng, 4) ? UINT16_MAX : (uint16_t)swarm_between(prng, 1, UINT16_MAX);
    s->ranks = ranks != 0 ? ranks : draw_ranks(prng);
    s->roots = swarm_one_in(prng, 2) ? 1 : (uint32_t)swarm_between(prng, 2, WORLD_ROOTS_MAX);
    s->train = (uint32_t)swarm_logarithmic(prng, 5);
    s->slots = (uint32_t)swarm_logarithmic(prng, 9);
    s->payload = pick(prng, payloads, sizeof payloads / sizeof payloads[0]);
    s->wire = wires[trib_prng_below(prng, sizeof wires / sizeof wires[0])];
    s->lookahead = (uint32_t)swarm_logarithmic(prng, 5);
    while (s->slots > 2 && (uint64_t)s->slots * s->roots * s->ranks * s->payload > MEMORY) {
        s->slots /= 2;
    }
    set->window = swarm_one_in(prng, 4)   ? s->slots
                  : swarm_one_in(prng, 2) ? s->slots / 2
                                          : (uint32_t)swarm_between(prng, 1, s->slots);
    set->window = set->window == 0 ? 1 : set->window;
}

static void draw_work(struct comm_settings *set, struct trib_prng *prng)
{
    bool is_large = set->session.ranks >= 32;

    set->operations = (uint32_t)swarm_logarithmic(prng, 4);
    set->op_count = (uint32_t)swarm_between(prng, 2, is_large ? 10 : WORLD_OPS_MAX);
    set->budget = BUDGET;
    set->groups = swarm_one_in(prng, 5) ? (uint32_t)swarm_between(prng, 2, 8) : TRIB_CHILDREN_MAX;
    set->free_buffers = swarm_one_in(prng, 2);
    set->closes = swarm_one_in(prng, 2);
    set->stall_ns = swarm_between(prng, 20, 2000) * WORLD_MS;
    set->late_ns = swarm_one_in(prng, 2) ? 0 : swarm_logarithmic(prng, 26);
    set->gap_ns = swarm_one_in(prng, 2) ? 0 : swarm_logarithmic(prng, 27);
}

static void draw_hostility(struct comm_settings *set, struct trib_prng *prng)
{
    uint64_t dice = trib_prng_below(prng, 20);

    set->lane = swarm_rate(prng, 0.15, 0.05);
    set->hostility = dice == 0 ? WORLD_LETHAL : dice <= 5 ? WORLD_NUISANCE : WORLD_PEACE;
    if (set->hostility != WORLD_PEACE) {
        set->hostile_packets = (uint32_t)swarm_between(prng, 10, 2000);
    }
    if (set->hostility == WORLD_PEACE && set->session.ranks > 1 && swarm_one_in(prng, 16)) {
        set->skew = (enum world_skew)swarm_between(prng, 1, WORLD_SKEW_COUNT - 1);
        set->skewed_rank = (uint32_t)trib_prng_below(prng, set->session.ranks);
        if (set->skew == WORLD_SKEW_JOIN && set->is_return) { /* one is the stranger, or all others: they wait long */
            set->skew = WORLD_SKEW_WINDOW;
        }
    } else if (set->hostility == WORLD_PEACE && set->session.ranks > 1 && set->closes && swarm_one_in(prng, 12)) {
        set->early_rank = (uint32_t)trib_prng_below(prng, set->session.ranks);
        set->early_ops = (uint32_t)swarm_between(prng, 1, set->op_count - 1);
    }
}

/* Of ranks that send to each other: all are one group, or there are several. Who takes the place of others has as many
 * ranks. */
static void draw_groups(const struct world *world, bool is_given, struct trib_session_config *s, struct trib_prng *prng)
{
    static const uint8_t sizes[] = {1, 2, 2, 2, 3, 3, 4, 5, 8};
    uint32_t group = sizes[trib_prng_below(prng, sizeof sizes)];

    s->group = (uint16_t)s->ranks;
    if (!world_has_groups(world)) {
        return;
    }
    if (!is_given) {
        uint32_t groups = s->ranks > 8 ? (uint32_t)swarm_between(prng, 3, 8) : (uint32_t)swarm_between(prng, 1, 4);
        s->ranks = group * groups;
    }
    while (s->ranks % group != 0) {
        group--;
    }
    s->group = (uint16_t)group;
}

/* Half of the communicators are granted what src/control/jobs/admission.c gives; the ranks of the others bring along
 * what they were granted before, which may be anything. */
static void draw_grant(const struct world *world, struct comm_settings *set)
{
    struct trib_session_config *s = &set->session;
    uint64_t dice = trib_mix64(s->salt + s->communicator);

    set->is_return = dice % 2 == 0;
    set->was_ready = dice % 4 == 0;
    if (set->is_return) {
        return;
    }
    uint32_t most = TRIB_TRAIN_BYTES_MAX / trib_packet_size(s->payload, set->is_sealed);
    uint32_t ways = world->set.trees != 0 ? world->set.trees : 1 + world->switch_count - world->tree_count;
    most = most < TRIB_TRAIN_PACKETS_MAX ? most : TRIB_TRAIN_PACKETS_MAX;
    uint32_t least = most < 4 ? most : 4;
    most = (most + ways - 1) / ways > least ? (most + ways - 1) / ways : least; /* of several switches (admission.c) */
    set->window = s->slots > 1 ? s->slots / 2 : 1;
    s->slots = 2 * set->window;
    s->train = set->window > 1 ? set->window / 2 : 1;
    s->train = s->train < most ? s->train : most;
    s->generation = 1;
    memset(s->weight, 0, sizeof s->weight);
    memset(s->weight, 1, world_has_agents(world) ? ways * WORLD_ROOTS_MAX : 0);
}

void comm_draw(struct world *world, uint32_t ranks, struct comm_settings *set)
{
    struct trib_prng prng = {.state = trib_prng_next(&world->prng)};

    memset(set, 0, sizeof *set);
    set->early_rank = WORLD_NONE;
    draw_session(set, ranks, &prng);
    if (world->scheme->unfit != NULL && world->scheme->unfit(&set->session) != NULL) {
        set->session.ranks = 1; /* of a scheme that takes no more */
    }
    if (world->depth_max == 0 && set->session.ranks > TRIB_CHILDREN_MAX) {
        set->session.ranks = TRIB_CHILDREN_MAX; /* one node takes all */
    }
    if (world_has_peers(world)) {
        set->session.roots = 1;
        draw_groups(world, ranks != 0, &set->session, &prng);
    }
    if (world_has_agents(world) && set->session.roots == 1) { /* else most agents had none */
        set->session.roots = 2 + (uint32_t)(set->session.salt % (WORLD_ROOTS_MAX - 1));
    }
    draw_weights(&set->session);
    if (world_has_caps(world)) {
        draw_cap(&set->session);
    }
    if (world->scheme->has_quorum) {
        draw_quorum(world, set);
    }
    proof_draw(world, set);
    auth_draw(set);
    draw_grant(world, set);
    draw_work(set, &prng);
    set->groups = world->depth_max == 0 ? TRIB_CHILDREN_MAX : set->groups;
    while (world_has_servers(world) && set->groups * set->groups < set->session.ranks) {
        set->groups++; /* two levels of nodes, as in a switch */
    }
    set->priority = draw_priority(world, set);
    set->rate = draw_rate(set);
    if (!world->set.is_clean) {
        draw_hostility(set, &prng);
    }
}

/* Uneven: most ranks at a few switches, some anywhere, some at the root itself. */
void comm_draw_homes(struct world *world, struct world_comm *comm)
{
    const struct world_comm *before = comm->before;
    uint32_t favourites[2] = {(uint32_t)world_below(world, world->tree_count),
                              (uint32_t)world_below(world, world->tree_count)};

    for (uint32_t rank = 0; rank < comm->set.session.ranks; rank++) {
        uint64_t dice = world_below(world, 4);
        uint32_t home = dice < 2 ? favourites[dice] : (uint32_t)world_below(world, world->tree_count);
        home = world->is_moved ? 0 : home;
        comm->ranks[rank].home = before != NULL && rank < before->set.session.ranks ? before->ranks[rank].home : home;
    }
}

void comm_describe(const struct world_comm *comm, FILE *out)
{
    const struct comm_settings *set = &comm->set;
    const struct trib_session_config *s = &set->session;

    fprintf(out,
            "  communicator %u (%08x.%u): ranks %u depth %u groups %u roots %u train %u slots %u window %u payload %u "
            "wire %s "
            "lookahead %u first %" PRIu64 " group %u quorum %u/%u weights",
            comm->index, s->communicator, s->generation, s->ranks, comm->depth, set->groups, s->roots, s->train,
            s->slots, set->window, s->payload, trib_type_name(s->wire), s->lookahead, s->first, s->group, s->quorum,
            s->quorum_of);
    for (uint32_t root = 0; root < s->roots; root++) {
        fprintf(out, " %u", s->weight[root]);
    }
    fprintf(out, "\n");
    fprintf(out,
            "    operations %u of %u at once, %" PRIu64 " fragments; start %" PRIu64 " late %" PRIu64 " gap %" PRIu64
            " lag %" PRIu64 " (rank %u) ns; priority %u rate %" PRIu64
            " hostility %d (%u packets) skew %d of rank %u lane %g closes %d early %d\n",
            set->op_count, set->operations, comm->fragments, set->start_ns, set->late_ns, set->gap_ns, set->lag_ns,
            set->lagging_rank, set->priority, set->rate, (int)set->hostility, set->hostile_packets, (int)set->skew,
            set->skewed_rank, set->lane, (int)set->closes, (int)set->early_rank);
    fprintf(out, "    homes");
    for (uint32_t rank = 0; rank < s->ranks; rank++) {
        fprintf(out, " %u", comm->ranks[rank].home);
    }
    fprintf(out, "; outcome %d, %u of %u done\n", (int)comm->outcome, comm->done_all, s->ranks * set->op_count);
}
