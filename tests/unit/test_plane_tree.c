/* SPDX-License-Identifier: Apache-2.0 */
/* test_plane_tree.c: planes with inner nodes and planes that are children of planes. What one switch with its ranks
 * does is test_plane.c's, how nodes and shard hand packets over test_shard.c's. */
#include "plane_harness.h"

/* Ranks 0 and 3 at the root, 1, 4 and 5 at a plane below it, 2 and 6 below that one: children's ranks lie between each
 * other's. */
static const uint32_t three_levels[] = {0, 1, 2, 0, 1, 1, 2};
#define TREE_RANKS 7

static void begin_tree(struct world *world, const struct trib_faults *faults)
{
    begin_world(world);
    uint32_t root = add_plane(world, NO_PLANE, faults);
    uint32_t middle = add_plane(world, root, faults);
    (void)add_plane(world, middle, faults);
    open_ranks(world, TREE_RANKS, three_levels);
}

static void open_tree(struct world *world, const struct trib_faults *faults)
{
    begin_tree(world, faults);
    open_world(world);
}

/* Ranks tell their marks by their sessions, and hear M the same way, until all are equal. */
static void settle_marks(struct world *world)
{
    uint64_t end = worker()->end(world->rank[0].node);
    for (uint32_t i = 0; i < world->ranks; i++) {
        assert_int_equal(worker()->mark(world->rank[i].node), end);
        join_planes(world, i, end);
    }
    for (uint32_t i = 0; i < world->planes; i++) { /* parents have lower numbers */
        const struct side *side = &world->side[i];
        if (side->parent != NO_PLANE) {
            side->verbs.learn_mark(side->plane, COMMUNICATOR, end);
        }
        assert_int_equal(side->verbs.communicator_mark(side->plane, COMMUNICATOR), end);
        struct trib_plane_report report = report_of(side);
        assert_int_equal(report.slots_held, 0); /* I6 */
        assert_int_equal(report.missing_count, 0);
    }
}

static void open__three_levels(void **state)
{
    (void)state;
    struct world world;
    open_tree(&world, &none);
    register_all(&world);
    check_allreduce(&world, 300000);
    check_allreduce(&world, 1);
    uint64_t fragments = fragments_of(300000) + 1;
    const uint32_t children[] = {3, 4, 2};
    for (uint32_t i = 0; i < world.planes; i++) {
        struct trib_plane_report report = report_of(&world.side[i]);
        assert_int_equal(report.counters.contributions, children[i] * fragments);
        assert_int_equal(report.counters.results, fragments);
        assert_int_equal(report.counters.asks, 0);
        struct trib_port_stats stats;
        world.side[i].verbs.traffic(world.side[i].plane, &stats);
        assert_true(stats.send_calls < stats.packets_sent / 4); /* to the parent in trains too */
    }
    settle_marks(&world);
    close_world(&world);
}

static void open__three_levels_with_every_fault(void **state)
{
    (void)state;
    struct world world;
    const struct trib_faults faults = {.loss = 0.02, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.01, .seed = 1};
    open_tree(&world, &faults);
    register_all(&world);
    check_allreduce(&world, 200000);
    check_allreduce(&world, 3000);
    settle_marks(&world);
    close_world(&world);
}

/* A plane with fewer roots in use than shards, and a child of it with more shards than those. */
static void open__fewer_roots_than_shards(void **state)
{
    (void)state;
    struct world world;
    begin_world(&world);
    world.session.roots = 1;
    uint32_t root = add_plane(&world, NO_PLANE, &none);
    (void)add_plane(&world, root, &none);
    open_ranks(&world, 3, (const uint32_t[]){0, 1, 1});
    open_world(&world);
    register_all(&world);
    check_allreduce(&world, 50000);
    assert_int_equal(trib_port_stats(world.side[1].plane->shard[1].port)->packets_received, 0);
    settle_marks(&world);
    close_world(&world);
}

/* Results of a plane with ranks and another plane below go to these ranks by the group, and down to that plane. */
static void multicast__beside_a_plane_below(void **state)
{
    (void)state;
    struct world world;
    begin_world(&world);
    uint32_t root = add_plane(&world, NO_PLANE, &none);
    (void)add_plane(&world, root, &none);
    open_ranks(&world, 4, (const uint32_t[]){0, 0, 1, 1});
    open_world(&world);
    for (uint32_t i = 0; i < 2; i++) {
        open_groups(&world, i);
    }
    world.side[0].verbs.multicast(world.side[0].plane, COMMUNICATOR, GROUP, GROUP_PORT);
    register_all(&world);
    check_allreduce(&world, 50000);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(world.rank[i].multicast_received >= fragments_of(50000), i < 2);
    }
    assert_true(report_of(&world.side[1]).counters.probes_up < fragments_of(50000) / 2); /* it does not have to ask */
    close_world(&world);
}

static void inner__a_hundred_ranks_of_one_plane(void **state)
{
    (void)state;
    struct world world;
    open_flat(&world, 100, &none);
    register_all(&world);
    check_allreduce(&world, 50000);
    uint64_t fragments = fragments_of(50000);
    struct trib_plane_report report = report_of(&world.side[0]);
    assert_int_equal(report.counters.contributions, 100 * fragments);
    assert_int_equal(report.counters.results, fragments);
    settle_marks(&world);
    close_world(&world);
}

/* The sum of element k over the leaves from `first` on, as one binary tree over all ranks has it (I9). */
static float tree_sum(const struct world *world, uint64_t k, uint32_t first, uint32_t span)
{
    if (span == 1) {
        return world->rank[first].send[k];
    }
    float left = tree_sum(world, k, first, span / 2);
    uint32_t middle = first + span / 2;
    return middle < world->ranks ? left + tree_sum(world, k, middle, span / 2) : left;
}

/* Groups of 64 are subtrees of the tree over all ranks: inner nodes change no bit of a float32 sum. */
static void inner__has_the_bits_of_one_tree(void **state)
{
    (void)state;
    struct world world;
    const uint64_t count = 1000;
    open_flat(&world, 100, &none);
    register_all(&world);
    make_tensors(&world, count);
    for (uint32_t i = 0; i < world.ranks; i++) {
        for (uint64_t k = 0; k < count; k++) {
            world.rank[i].send[k] = world.rank[i].send[k] / 3.0F - 2000.0F;
        }
        submit_allreduce(&world.rank[i], count);
    }
    assert_true(run_until(&world, 1));
    uint64_t unlike = 0; /* other than added one after another */
    for (uint64_t k = 0; k < count; k++) {
        float sum = tree_sum(&world, k, 0, 128);
        float line = 0;
        for (uint32_t i = 0; i < world.ranks; i++) {
            line += world.rank[i].send[k];
            assert_memory_equal(&world.rank[i].recv[k], &sum, sizeof sum);
        }
        unlike += line < sum || line > sum;
    }
    assert_true(unlike > count / 4);
    close_world(&world);
}

static void inner__with_every_fault(void **state)
{
    (void)state;
    struct world world;
    const struct trib_faults faults = {.loss = 0.02, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.01, .seed = 7};
    open_flat(&world, 70, &faults);
    register_all(&world);
    check_allreduce(&world, 30000);
    settle_marks(&world);
    close_world(&world);
}

/* Two slots per root: every node's window closes with each fragment, and M has to go through all levels to open it. */
static void open__the_smallest_window(void **state)
{
    (void)state;
    struct world world;
    const struct trib_faults faults = {.loss = 0.02, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.01, .seed = 3};
    begin_world(&world);
    world.session.slots = 2;
    world.session.train = 1;
    uint32_t root = add_plane(&world, NO_PLANE, &faults);
    uint32_t middle = add_plane(&world, root, &faults);
    (void)add_plane(&world, middle, &faults);
    open_ranks(&world, TREE_RANKS, three_levels);
    open_world(&world);
    register_all(&world);
    check_allreduce(&world, 20000);
    settle_marks(&world);
    close_world(&world);
}

static void inner__below_a_parent(void **state)
{
    (void)state;
    struct world world;
    begin_world(&world);
    (void)open_inner_below(&world);
    check_allreduce(&world, 30000);
    settle_marks(&world);
    close_world(&world);
}

/* Of a plane whose threads have ended. */
static uint32_t count_kicked(struct side *side)
{
    uint32_t kicked = 0;
    for (uint32_t i = 0; i < SHARDS; i++) {
        int fds[TRIB_SHARD_FDS];
        trib_shard_fds(&side->plane->shard[i], fds);
        struct pollfd kick = {.fd = fds[1], .events = POLLIN};
        kicked += poll(&kick, 1, 0) == 1;
        trib_shard_calm(&side->plane->shard[i]);
    }
    return kicked;
}

static void read__wakes_nobody(void **state)
{
    (void)state;
    struct world world;
    struct trib_plane_report report;
    struct trib_port_stats stats;
    uint64_t dropped[TRIB_DROP_COUNT];
    uint16_t missing[TRIB_RANKS_MAX];
    open_flat(&world, 66, &none);
    register_all(&world);
    struct side *side = &world.side[0];
    const struct trib_data_plane *verbs = &side->verbs;
    trib_plane_stop(side->plane);
    (void)count_kicked(side);
    assert_int_equal(verbs->communicator_mark(side->plane, COMMUNICATOR), 0);
    assert_int_equal(count_kicked(side), 0);
    assert_int_equal(verbs->communicator_mark(side->plane, COMMUNICATOR + 1), 0);
    assert_int_equal(count_kicked(side), 0);
    assert_false(verbs->parent_answered(side->plane, COMMUNICATOR, NULL));
    assert_int_equal(count_kicked(side), 0);
    assert_true(verbs->report(side->plane, COMMUNICATOR, &report));
    assert_int_equal(count_kicked(side), 0);
    (void)verbs->missing(side->plane, COMMUNICATOR, 0, missing, TRIB_RANKS_MAX);
    assert_int_equal(count_kicked(side), 0);
    verbs->traffic(side->plane, &stats);
    assert_int_equal(count_kicked(side), 0);
    verbs->drops(side->plane, dropped);
    assert_int_equal(count_kicked(side), 0);
    verbs->join(side->plane, COMMUNICATOR, 65, 1);
    assert_int_equal(count_kicked(side), SHARDS);
    close_world(&world);
}

/* As when packets have told the top node, of each shard, what the inner nodes have not heard of yet. */
static void raise_top(struct trib_member *member, uint64_t mark)
{
    for (uint32_t k = member->nodes; k-- > 0;) {
        for (uint32_t child = 0; child < member->node[k].children; child++) {
            member->verbs->join(member->node[k].node, child, mark);
        }
    }
}

static void read__of_a_mark_that_is_news_wakes(void **state)
{
    (void)state;
    struct world world;
    open_flat(&world, 66, &none);
    register_all(&world);
    struct side *side = &world.side[0];
    trib_plane_stop(side->plane);
    (void)count_kicked(side);
    for (uint32_t i = 0; i < SHARDS; i++) {
        raise_top(trib_members_find(&side->plane->shard[i].members, COMMUNICATOR), 7);
    }
    assert_int_equal(side->verbs.communicator_mark(side->plane, COMMUNICATOR), 7);
    assert_int_equal(count_kicked(side), SHARDS);
    for (uint32_t i = 0; i < SHARDS; i++) {
        const struct trib_member *member = trib_members_find(&side->plane->shard[i].members, COMMUNICATOR);
        assert_int_equal(member->verbs->node.communicator_mark(member->node[2].node), 7);
    }
    assert_int_equal(side->verbs.communicator_mark(side->plane, COMMUNICATOR), 7);
    assert_int_equal(count_kicked(side), 0);
    close_world(&world);
}

/* Marks of returning ranks are far from 0; every node knows M before the first packet. */
static void join__far_along_the_stream(void **state)
{
    (void)state;
    struct world world;
    const uint64_t far = UINT64_C(3000000000);
    open_flat(&world, 66, &none);
    for (uint32_t i = 0; i < world.ranks; i++) {
        join_planes(&world, i, far + i);
    }
    assert_int_equal(world.side[0].verbs.communicator_mark(world.side[0].plane, COMMUNICATOR), far);
    for (uint32_t i = 0; i < SHARDS; i++) {
        struct trib_shard *shard = &world.side[0].plane->shard[i];
        trib_shard_enter(shard);
        const struct trib_member *member = trib_members_find(&shard->members, COMMUNICATOR);
        assert_int_equal(member->nodes, 3);
        for (uint32_t k = 0; k < member->nodes; k++) {
            assert_int_equal(member->verbs->node.communicator_mark(member->node[k].node), far);
        }
        trib_shard_leave(shard);
    }
    close_world(&world);
}

/* ---- incarnations ---- */

/* Steps every third rank more often than the others, until one of these has finished what another has not. */
static void step_unevenly(struct world *world, uint32_t turn)
{
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    bool is_uneven = false;
    for (uint32_t round = 0; !is_uneven && trib_clock_ns() < end_ns; round++) {
        for (uint32_t i = 0; i < world->ranks; i++) {
            if (round % 8 == 0 || i % 3 == turn % 3) {
                step(&world->rank[i]);
            }
        }
        for (uint32_t i = 1; i < world->ranks; i++) {
            is_uneven = is_uneven || worker()->mark(world->rank[i].node) != worker()->mark(world->rank[0].node);
        }
        (void)poll(NULL, 0, 1);
    }
    assert_true(is_uneven);
}

/* Ends one incarnation after another while an allreduce is under way: ranks are then at different places of the stream,
 * and what only some have finished comes from those by OFFER. */
static void check_incarnations(struct world *world, uint64_t count)
{
    register_all(world);
    start_allreduce(world, count);
    for (uint32_t i = 0; i < 5; i++) {
        step_unevenly(world, i);
        boot_again(world);
    }
    finish_allreduce(world, count, 1);
    assert_true(report_of(&world->side[0]).counters.offers > 0);
    check_allreduce(world, 1000);
    settle_marks(world);
    close_world(world);
}

static void incarnation__of_three_levels(void **state)
{
    (void)state;
    struct world world;
    const struct trib_faults faults = {.loss = 0.02, .reorder = 0.02, .seed = 11};
    open_tree(&world, &faults);
    check_incarnations(&world, 300000);
}

static void incarnation__of_inner_nodes(void **state)
{
    (void)state;
    struct world world;
    const struct trib_faults faults = {.loss = 0.02, .reorder = 0.02, .seed = 12};
    open_flat(&world, 70, &faults);
    check_incarnations(&world, 100000);
}

/* ---- who is missing ---- */

static void step_all(struct world *world)
{
    (void)poll(NULL, 0, 1);
    for (uint32_t k = 0; k < world->ranks; k++) {
        step(&world->rank[k]);
    }
}

/* Submits for all ranks but two. */
static void submit_without(struct world *world, uint32_t one, uint32_t other)
{
    make_tensors(world, 64);
    for (uint32_t i = 0; i < world->ranks; i++) {
        if (i != one && i != other) {
            submit_allreduce(&world->rank[i], 64);
        }
    }
    for (int i = 0; i < 20; i++) {
        step_all(world);
    }
}

/* The planes have threads of their own: it may take a while until they lack nobody else. */
static void expect_missing(struct world *world, const struct side *side, const uint16_t *ranks, uint32_t count)
{
    uint16_t missing[TRIB_SESSION_RANKS_MAX];
    struct trib_plane_report report = report_of(side);
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    while ((report.missing_count != count || report.sequence != 0) && trib_clock_ns() < end_ns) {
        step_all(world);
        report = report_of(side);
    }
    assert_int_equal(report.missing_count, count);
    assert_int_equal(report.sequence, 0);
    assert_memory_equal(report.missing, ranks, count * sizeof *ranks);
    assert_int_equal(side->verbs.missing(side->plane, COMMUNICATOR, 0, missing, TRIB_SESSION_RANKS_MAX), count);
    assert_memory_equal(missing, ranks, count * sizeof *ranks);
}

static void missing__names_ranks_behind_inner_nodes(void **state)
{
    (void)state;
    struct world world;
    const uint16_t expected[] = {3, 69};
    open_flat(&world, 70, &none);
    register_all(&world);
    submit_without(&world, 3, 69);
    expect_missing(&world, &world.side[0], expected, 2);
    uint16_t ranks[TRIB_SESSION_RANKS_MAX];
    const struct side *root = &world.side[0];
    assert_int_equal(root->verbs.missing(root->plane, COMMUNICATOR, 1, ranks, TRIB_SESSION_RANKS_MAX), 70);
    assert_int_equal(root->verbs.missing(root->plane, COMMUNICATOR, 1, ranks, 5), 5);
    assert_int_equal(root->verbs.missing(root->plane, COMMUNICATOR, 1 << 20, ranks, 5), 0);
    close_world(&world);
}

/* Each switch names the ranks behind its children that lack; the one next to a rank names it alone. */
static void missing__names_ranks_behind_switches(void **state)
{
    (void)state;
    struct world world;
    const uint16_t at_root[] = {1, 2, 3, 4, 5, 6};
    const uint16_t at_middle[] = {2, 6};
    const uint16_t at_leaf[] = {6};
    open_tree(&world, &none);
    register_all(&world);
    submit_without(&world, 3, 6);
    expect_missing(&world, &world.side[0], at_root, 6);
    expect_missing(&world, &world.side[1], at_middle, 2);
    expect_missing(&world, &world.side[2], at_leaf, 1);
    close_world(&world);
}

/* ---- mismatches ---- */

/* Those from `first` on run another operation. */
static void expect_mismatch(struct world *world, uint32_t first, uint32_t one, uint32_t other)
{
    register_all(world);
    make_tensors(world, 64);
    for (uint32_t i = 0; i < world->ranks; i++) {
        submit_allreduce(&world->rank[i], i < first ? 64 : 63);
    }
    uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
    while (atomic_load(&world->mismatches) == 0 && trib_clock_ns() < end_ns) {
        for (uint32_t i = 0; i < world->ranks; i++) {
            step(&world->rank[i]);
        }
    }
    assert_int_not_equal(atomic_load(&world->mismatches), 0);
    for (uint32_t i = 0; i < world->planes; i++) {
        trib_plane_stop(world->side[i].plane);
    }
    uint32_t low = world->mismatch.rank[0] < world->mismatch.rank[1] ? 0 : 1;
    assert_int_equal(world->mismatch.rank[low], one);
    assert_int_equal(world->mismatch.rank[1 - low], other);
    close_world(world);
}

static void mismatch__between_inner_nodes_names_their_lowest_ranks(void **state)
{
    (void)state;
    struct world world;
    open_flat(&world, 70, &none);
    expect_mismatch(&world, 64, 0, 64);
}

static void mismatch__between_switches_names_their_lowest_ranks(void **state)
{
    (void)state;
    struct world world;
    begin_world(&world);
    uint32_t root = add_plane(&world, NO_PLANE, &none);
    (void)add_plane(&world, root, &none);
    (void)add_plane(&world, root, &none);
    open_ranks(&world, 4, (const uint32_t[]){1, 1, 2, 2});
    open_world(&world);
    expect_mismatch(&world, 2, 0, 2);
}

/* ---- paths ---- */

static uint64_t paths_of(struct side *side)
{
    uint64_t paths = 0;
    for (uint32_t i = 0; i < SHARDS; i++) {
        trib_shard_enter(&side->plane->shard[i]);
        paths += side->plane->shard[i].paths;
        trib_shard_leave(&side->plane->shard[i]);
    }
    return paths;
}

/* Once with the nonce, and once at full size. */
static void probe_parent__is_answered_twice_and_noted(void **state)
{
    (void)state;
    struct world world;
    begin_tree(&world, &none);
    open_sides(&world);
    for (uint32_t i = 1; i < world.planes; i++) {
        struct side *side = &world.side[i];
        struct trib_address silent = {.len = 0};
        assert_false(side->verbs.parent_answered(side->plane, COMMUNICATOR, &silent));
        assert_true(silent.len > 0);
        side->verbs.probe_parent(side->plane, COMMUNICATOR);
        uint64_t end_ns = trib_clock_ns() + LIMIT_NS;
        while (!side->verbs.parent_answered(side->plane, COMMUNICATOR, NULL) && trib_clock_ns() < end_ns) {
            (void)poll(NULL, 0, 1);
        }
        assert_true(side->verbs.parent_answered(side->plane, COMMUNICATOR, NULL));
    }
    (void)poll(NULL, 0, 20); /* long enough for a thousand echoes */
    assert_int_equal(paths_of(&world.side[0]), 2 * SHARDS);
    assert_int_equal(paths_of(&world.side[1]), 2 * SHARDS);
    assert_int_equal(paths_of(&world.side[2]), 0);
    world.side[0].verbs.probe_parent(world.side[0].plane, COMMUNICATOR); /* it has none */
    assert_false(world.side[0].verbs.parent_answered(world.side[0].plane, COMMUNICATOR, NULL));
    close_world(&world);
}

/* ---- a parent and a stranger that the test plays ---- */

/* A plane with two ranks, whose parent is `parent`, a socket of the test for each root. */
struct below {
    struct world world;
    struct trib_port *parent[SHARDS];
    struct trib_port *stranger;
};

static void open_below(struct below *below)
{
    struct world *world = &below->world;
    begin_world(world);
    (void)add_plane(world, NO_PLANE, &none);
    struct side *ours = &world->side[0];
    struct side *fake = &world->side[1]; /* no plane: only its addresses are used */
    ours->parent = 1;
    fake->parent = NO_PLANE;
    for (uint32_t i = 0; i < SHARDS; i++) {
        below->parent[i] = open_loopback(&ours->address[i]);
        trib_port_local(below->parent[i], &fake->address[i]);
    }
    below->stranger = open_loopback(&ours->address[0]);
    open_ranks(world, 2, NULL);
    world->session.ranks = 3; /* the third is behind another switch */
    assert_int_equal(open_side(world, 0), TRIB_OK);
    for (uint32_t i = 0; i < 2; i++) {
        ours->verbs.join(ours->plane, COMMUNICATOR, i, 0);
    }
    ours->verbs.join(ours->plane, COMMUNICATOR, 2, 0); /* not behind this one: means nothing */
    ours->verbs.learn_mark(ours->plane, COMMUNICATOR, 0);
    for (uint32_t i = 0; i < 2 * SHARDS; i++) {
        prove_child(world->rank[i / SHARDS].udp[i % SHARDS], NULL, BOOT);
    }
}

static void close_below(struct below *below)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        trib_port_close(below->parent[i]);
    }
    trib_port_close(below->stranger);
    close_world(&below->world);
}

static struct trib_packet make_packet(enum trib_kind kind, uint64_t sequence)
{
    static const float values[PAYLOAD / sizeof(float)] = {1.0F, 2.0F};
    struct trib_packet packet = {.kind = (uint8_t)kind,
                                 .sequence = sequence,
                                 .communicator = COMMUNICATOR,
                                 .generation = 3,
                                 .boot = BOOT,
                                 .digest = 77,
                                 .lane = 1,
                                 .last_rank = UINT16_MAX,
                                 .contributors = 1};
    if (kind == TRIB_CONTRIBUTION || kind == TRIB_RESULT || kind == TRIB_PATH) {
        packet.payload_len = PAYLOAD;
        packet.payload = values;
        packet.type = kind == TRIB_PATH ? 0 : TRIB_FLOAT32;
        packet.reduction = kind == TRIB_PATH ? 0 : TRIB_SUM;
    }
    return packet;
}

static void send_one(struct trib_port *udp, const struct trib_packet *packet)
{
    trib_port_send(udp, packet, NULL, 1);
    trib_port_flush(udp);
}

static uint64_t dropped(const struct below *below, enum trib_drop drop)
{
    return report_of(&below->world.side[0]).counters.dropped[drop];
}

/* Sums go up and results come down; a result that a child or a stranger sends is none (I7). */
static void parent__is_believed_by_its_address_alone(void **state)
{
    (void)state;
    struct below below;
    struct trib_packet packet;
    open_below(&below);
    struct rank *rank = below.world.rank;
    const struct trib_packet part = make_packet(TRIB_CONTRIBUTION, 0);
    struct trib_packet result = make_packet(TRIB_RESULT, 0);
    result.contributors = 3;
    send_one(rank[0].udp[0], &part);
    send_one(rank[1].udp[0], &part);
    assert_true(receive_packet(below.parent[0], &packet));
    assert_int_equal(packet.kind, TRIB_CONTRIBUTION);
    assert_int_equal(packet.boot, BOOT);
    assert_int_equal(packet.lane, 2);
    assert_int_equal(packet.contributors, 2);
    assert_int_equal(packet.payload_len, PAYLOAD);
    float sum;
    memcpy(&sum, packet.payload, sizeof sum);
    assert_float_equal(sum, 2.0F, 0);
    send_one(rank[1].udp[0], &result);
    send_one(below.stranger, &result);
    assert_true(wait_dropped(&below.world.side[0], TRIB_DROP_KIND, 1));
    assert_true(wait_dropped(&below.world.side[0], TRIB_DROP_SOURCE, 1));
    assert_true(receives_nothing(rank[0].udp[0]));
    assert_int_equal(dropped(&below, TRIB_DROP_KIND), 1);
    uint64_t drops[TRIB_DROP_COUNT];
    below.world.side[0].verbs.drops(below.world.side[0].plane, drops);
    assert_int_equal(drops[TRIB_DROP_SOURCE], 1);
    send_one(below.parent[0], &result);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(receive_packet(rank[i].udp[0], &packet));
        assert_int_equal(packet.kind, TRIB_RESULT);
        assert_int_equal(packet.contributors, 3);
    }
    send_one(below.parent[0], &part); /* no parent contributes */
    assert_true(wait_dropped(&below.world.side[0], TRIB_DROP_KIND, 2));
    assert_true(receives_nothing(below.parent[0]));
    assert_int_equal(dropped(&below, TRIB_DROP_KIND), 2);
    close_below(&below);
}

static void wait_answered(const struct side *side, bool expected)
{
    uint64_t end_ns = trib_clock_ns() + (expected ? 10 * TRIB_SECOND_NS * patience() : TRIB_SECOND_NS / 20);
    while (!side->verbs.parent_answered(side->plane, COMMUNICATOR, NULL) && trib_clock_ns() < end_ns) {
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(side->verbs.parent_answered(side->plane, COMMUNICATOR, NULL), expected);
}

static void parent_answered__only_by_what_it_would_send(void **state)
{
    (void)state;
    struct below below;
    struct trib_packet packet;
    open_below(&below);
    const struct side *side = &below.world.side[0];
    side->verbs.probe_parent(side->plane, COMMUNICATOR);
    uint64_t nonce[SHARDS];
    for (uint32_t i = 0; i < SHARDS; i++) {
        assert_true(receive_packet(below.parent[i], &packet));
        assert_int_equal(packet.kind, TRIB_PATH);
        assert_int_equal(packet.payload_len, 0);
        assert_int_equal(packet.boot, BOOT);
        nonce[i] = packet.lane;
    }
    packet = make_packet(TRIB_PATH, 0);
    packet.bitmap = nonce[0];
    send_one(below.stranger, &packet);
    send_one(below.world.rank[0].udp[0], &packet);
    packet.bitmap = nonce[1];
    send_one(below.parent[1], &packet);
    send_one(below.parent[0], &packet);
    packet.bitmap = nonce[0];
    packet.boot = BOOT + 1;
    send_one(below.parent[0], &packet);
    packet.boot = BOOT;
    packet.payload_len = 64;
    send_one(below.parent[0], &packet);
    packet.generation++;
    packet.payload_len = PAYLOAD;
    send_one(below.parent[0], &packet);
    wait_answered(side, false);
    packet.generation--;
    send_one(below.parent[0], &packet);
    wait_answered(side, true);
    assert_true(receives_nothing(below.parent[0])); /* and nothing was answered to it */
    close_below(&below);
}

/* Somebody has had a switch believe that its parent is at another's address: headers go there, whatever comes from it, until
 * one brings the nonce. */
static void probe_parent__sends_headers_until_the_nonce_is_back(void **state)
{
    (void)state;
    struct below below;
    struct trib_packet packet;
    open_below(&below);
    const struct side *side = &below.world.side[0];
    struct trib_packet answer = make_packet(TRIB_PATH, 0);
    answer.payload_len = 0;
    answer.lane = 9;
    for (int i = 0; i < 3; i++) {
        side->verbs.probe_parent(side->plane, COMMUNICATOR);
        assert_true(receive_packet(below.parent[0], &packet));
        assert_int_equal(packet.payload_len, 0);
        answer.bitmap = packet.lane + 2;
        send_one(below.parent[0], &answer);
        assert_true(receives_nothing(below.parent[0]));
    }
    answer.bitmap = packet.lane;
    send_one(below.parent[0], &answer);
    assert_true(receive_packet(below.parent[0], &packet)); /* at once */
    assert_int_equal(packet.payload_len, PAYLOAD);
    assert_int_equal(packet.bitmap, 9);
    close_below(&below);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__three_levels),
        cmocka_unit_test(open__three_levels_with_every_fault),
        cmocka_unit_test(open__the_smallest_window),
        cmocka_unit_test(open__fewer_roots_than_shards),
        cmocka_unit_test(multicast__beside_a_plane_below),
        cmocka_unit_test(inner__a_hundred_ranks_of_one_plane),
        cmocka_unit_test(inner__has_the_bits_of_one_tree),
        cmocka_unit_test(inner__with_every_fault),
        cmocka_unit_test(inner__below_a_parent),
        cmocka_unit_test(read__wakes_nobody),
        cmocka_unit_test(read__of_a_mark_that_is_news_wakes),
        cmocka_unit_test(join__far_along_the_stream),
        cmocka_unit_test(incarnation__of_three_levels),
        cmocka_unit_test(incarnation__of_inner_nodes),
        cmocka_unit_test(missing__names_ranks_behind_inner_nodes),
        cmocka_unit_test(missing__names_ranks_behind_switches),
        cmocka_unit_test(mismatch__between_inner_nodes_names_their_lowest_ranks),
        cmocka_unit_test(mismatch__between_switches_names_their_lowest_ranks),
        cmocka_unit_test(probe_parent__is_answered_twice_and_noted),
        cmocka_unit_test(parent__is_believed_by_its_address_alone),
        cmocka_unit_test(parent_answered__only_by_what_it_would_send),
        cmocka_unit_test(probe_parent__sends_headers_until_the_nonce_is_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
