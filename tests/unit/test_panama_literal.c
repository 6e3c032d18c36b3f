/* SPDX-License-Identifier: Apache-2.0 */
/* test_panama_literal.c: workers and accelerators as published: right where nothing goes wrong, and stuck or wrong
 * in the ways that docs/DECISIONS.md lists, packet by packet. Every wrong sum is caught by the lane.
 * test_panama_literal_search.c has all schedules. */
#include "panama_literal_world.h"
#include "published/published.h"
#include "schemes/schemes.h"

/* ---- workers and accelerators ---- */

static void world__sums_without_faults(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    (void)state;

    assert_non_null(world);
    for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++) {
        for (uint32_t trees = 1; trees <= TREES_MAX; trees++) {
            for (int has_miss = 0; has_miss < 2; has_miss++) {
                struct shape shape = {has_miss != 0, ranks, trees, .slots = 8, .operations = 3, .fragments = 50};
                open_world(world, &shape);
                settle(world);
                assert_true(is_over(world));
                assert_int_equal(world->delivered + world->wrong + world->misses, 0);
                assert_int_equal(world->sums, 150);
                for (uint32_t tree = 0; tree < trees; tree++) {
                    assert_int_equal(switch_verbs(world)->slots_held(world->accelerator[tree]), 0);
                }
                assert_int_equal(worker_verbs(world)->mark(world->worker[0]), 150);
                assert_int_equal(worker_verbs(world)->in_flight(world->worker[0], 0), 0);
                assert_int_equal(worker_verbs(world)->node.next_timeout(world->worker[0]), TRIB_NEVER);
            }
        }
    }
    free(world);
}

/* As many as the window says, in turn to each tree. */
static void world__sends_round_robin(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    struct shape shape = {.ranks = 2, .trees = 4, .slots = 8, .operations = 1, .fragments = 50};
    (void)state;

    assert_non_null(world);
    open_world(world, &shape);
    for (uint32_t tree = 0; tree < 4; tree++) {
        assert_int_equal(world->up[0][tree].count, 2);
        assert_int_equal(world->up[0][tree].at[1].packet.sequence, 4 + tree);
        assert_int_equal(world->up[0][tree].at[1].packet.bitmap, 1);
    }
    /* Tree 1 has a result, tree 0 has none: the next fragment is tree 0's, and all wait for it. */
    (void)arrives(world, 0, 1);
    (void)arrives(world, 1, 1);
    (void)returns(world, 0, 1);
    assert_int_equal(worker_verbs(world)->in_flight(world->worker[0], 1), 1);
    assert_int_equal(world->up[0][1].count, 1);
    free(world);
}

static void open_pair(struct world *world, bool has_miss, uint32_t fragments)
{
    struct shape shape = {has_miss, .ranks = 2, .trees = 1, .slots = 4, .operations = 2, .fragments = fragments};

    open_world(world, &shape);
}

/* Rank 0's VID 0 of 8 is lost, and nothing else. The others' goes too, and all but VID 0 have sums. What is sent
 * again is right only since FIN has set the Expected VID back; that makes it 1, and the next operation, which begins
 * with 0, never has a sum. */
static void world__hangs_after_one_loss(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    struct shape shape = {.ranks = 2, .trees = 1, .slots = 16, .operations = 2, .fragments = 8};
    uint64_t sequence;
    (void)state;

    assert_non_null(world);
    open_world(world, &shape);
    drop(&world->up[0][0]);
    settle(world);
    assert_int_equal(world->sums, 7);
    assert_int_equal(switch_verbs(world)->slots_held(world->accelerator[0]), 0);
    assert_int_equal(world->done[0] + world->done[1], 0);
    assert_int_equal(worker_verbs(world)->in_flight(world->worker[0], 0), 1);
    assert_false(recovers(world));
    assert_int_equal(world->sums, 8);
    assert_int_equal(world->done[0] + world->done[1], 2); /* of operation 0 */
    assert_int_equal(worker_verbs(world)->mark(world->worker[0]), 8);
    assert_int_equal(switch_verbs(world)->slots_held(world->accelerator[0]), 16); /* copies of VID 0 and 1 fill it */
    assert_int_equal(switch_verbs(world)->missing(world->accelerator[0], &sequence), 0);
    free(world);
}

/* The same with MISS: both ranks send the fragment again as VID 7, before the last as VID 8. */
static void miss__repairs_the_loss(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    (void)state;

    assert_non_null(world);
    for (uint32_t rank = 0; rank < 2; rank++) {
        open_pair(world, true, 8);
        drop(&world->up[rank][0]);
        settle(world);
        assert_true(is_over(world));
        assert_int_equal(world->misses, 1);
        assert_int_equal(world->sums, 16);
        assert_int_equal(world->wrong + world->delivered, 0);
        for (uint32_t child = 0; child < 2; child++) {
            assert_int_equal(worker_verbs(world)->node.counters(world->worker[child])->contributions_resent, 1);
        }
    }
    free(world);
}

/* The value that all elements of a result have, were it right or not. */
static int32_t gets_result(struct world *world, uint32_t rank, enum trib_drop drop)
{
    int32_t value = payload_value(&world->down[rank][0].at[0]);

    assert_int_equal(returns(world, rank, 0), drop);
    return value;
}

/* No fault at all. Rank 1 is late by more than the timeout; rank 0 sends its one packet again, and that waits for
 * the next operation. */
static void wrong_sum__of_a_late_rank(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    (void)state;

    assert_non_null(world);
    open_pair(world, false, 1);
    (void)arrives(world, 0, 0);
    times_out(world, 0);
    (void)arrives(world, 0, 0); /* behind the first */
    (void)arrives(world, 1, 0);
    assert_int_equal(gets_result(world, 0, TRIB_DROP_NONE), right_value(world, 0, 0, 3));
    assert_int_equal(gets_result(world, 1, TRIB_DROP_NONE), right_value(world, 0, 0, 3));
    (void)arrives(world, 1, 0); /* operation 1 */
    assert_int_equal(gets_result(world, 1, TRIB_DROP_LANE), value_of(0, 0, 0) + value_of(1, 1, 0));
    assert_int_equal(gets_result(world, 0, TRIB_DROP_LANE), value_of(0, 0, 0) + value_of(1, 1, 0));
    assert_int_equal(world->done[0] + world->done[1], 2); /* of operation 0 */
    assert_int_equal(world->delivered, 0);
    free(world);
}

/* One result is lost on its way to rank 1. What that sends again meets rank 0's next operation: either takes the sum
 * for its own. */
static void wrong_sum__of_a_lost_result(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    (void)state;

    assert_non_null(world);
    open_pair(world, false, 1);
    (void)arrives(world, 0, 0);
    (void)arrives(world, 1, 0);
    (void)gets_result(world, 0, TRIB_DROP_NONE);
    drop(&world->down[1][0]);
    times_out(world, 1);
    (void)arrives(world, 0, 0); /* operation 1 */
    (void)arrives(world, 1, 0); /* operation 0 */
    assert_int_equal(gets_result(world, 0, TRIB_DROP_LANE), value_of(0, 1, 0) + value_of(1, 0, 0));
    assert_int_equal(gets_result(world, 1, TRIB_DROP_LANE), value_of(0, 1, 0) + value_of(1, 0, 0));
    assert_int_equal(world->sums, 2);
    free(world);
}

/* Of two packets the last comes twice: it is ahead of the next operation, and waits for its VID. */
static void wrong_sum__of_a_last_packet_that_comes_twice(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    (void)state;

    assert_non_null(world);
    open_pair(world, false, 2);
    (void)arrives(world, 0, 0);
    struct parcel copy = world->up[0][0].at[0];
    (void)arrives(world, 0, 0);
    put(&world->up[0][0], packet_of(&copy));
    (void)arrives(world, 0, 0);
    (void)arrives(world, 1, 0);
    (void)arrives(world, 1, 0);
    while (world->down[1][0].count != 0) {
        (void)gets_result(world, 1, TRIB_DROP_NONE);
    }
    (void)arrives(world, 1, 0); /* VID 0 of operation 1: dropped */
    (void)arrives(world, 1, 0);
    assert_int_equal(world->sums, 3);
    assert_int_equal(gets_result(world, 1, TRIB_DROP_LANE), value_of(0, 0, 1) + value_of(1, 1, 1));
    free(world);
}

/* Rank 0 loses VID 1, rank 1 VID 0, and of the two MISSes rank 1 hears the second only. Its VID 2 is fragment 1,
 * rank 0's is fragment 0. */
static void wrong_sum__of_a_lost_miss(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    (void)state;

    assert_non_null(world);
    open_pair(world, true, 3);
    (void)arrives(world, 0, 0);
    drop(&world->up[0][0]);
    drop(&world->up[1][0]);
    (void)arrives(world, 1, 0); /* VID 1: MISS of VID 0 */
    (void)gets_result(world, 0, TRIB_DROP_NONE);
    (void)arrives(world, 0, 0); /* VID 2: MISS of VID 1 */
    assert_int_equal(world->misses, 2);
    drop(&world->down[1][0]);
    (void)gets_result(world, 1, TRIB_DROP_NONE);
    (void)arrives(world, 1, 0); /* VID 2 */
    (void)gets_result(world, 0, TRIB_DROP_NONE);
    assert_int_equal(gets_result(world, 0, TRIB_DROP_LANE), value_of(0, 0, 0) + value_of(1, 0, 1));
    assert_int_equal(gets_result(world, 1, TRIB_DROP_LANE), value_of(0, 0, 0) + value_of(1, 0, 1));
    free(world);
}

/* ---- what must not hurt it ---- */

static void nodes__drop_what_is_not_theirs(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    struct trib_place root = {.kind = TRIB_PLACE_ROOT}, child = {.kind = TRIB_PLACE_CHILDREN, .children = 1};
    (void)state;

    assert_non_null(world);
    open_pair(world, false, 2);
    void *node = world->accelerator[0], *worker = world->worker[0];
    struct parcel good = world->up[0][0].at[0], bad = good;
    bad.packet.communicator++;
    assert_int_equal(switch_verbs(world)->node.receive(node, child, packet_of(&bad), RTO), TRIB_DROP_SOURCE);
    bad = good;
    bad.packet.tree = 1;
    assert_int_equal(switch_verbs(world)->node.receive(node, child, packet_of(&bad), RTO), TRIB_DROP_SOURCE);
    bad = good;
    bad.packet.generation++;
    assert_int_equal(switch_verbs(world)->node.receive(node, child, packet_of(&bad), RTO), TRIB_DROP_GENERATION);
    bad = good;
    bad.packet.kind = TRIB_PROBE;
    assert_int_equal(switch_verbs(world)->node.receive(node, child, packet_of(&bad), RTO), TRIB_DROP_KIND);
    child.children = 4;
    assert_int_equal(switch_verbs(world)->node.receive(node, child, packet_of(&good), RTO), TRIB_DROP_SOURCE);
    assert_int_equal(switch_verbs(world)->node.receive(node, root, packet_of(&good), RTO), TRIB_DROP_SOURCE);
    assert_int_equal(worker_verbs(world)->node.receive(worker, root, packet_of(&good), RTO), TRIB_DROP_KIND);
    good.packet.kind = TRIB_RESULT;
    assert_int_equal(worker_verbs(world)->node.receive(worker, child, packet_of(&good), RTO), TRIB_DROP_SOURCE);
    assert_int_equal(worker_verbs(world)->node.receive(worker, root, packet_of(&good), RTO), TRIB_DROP_LANE);
    good.packet.bitmap = UINT64_MAX;
    assert_int_equal(worker_verbs(world)->node.receive(worker, root, packet_of(&good), RTO), TRIB_DROP_UNASKED);
    assert_int_equal(worker_verbs(world)->node.counters(worker)->dropped[TRIB_DROP_LANE], 1);
    struct trib_event event;
    assert_true(worker_verbs(world)->node.next_event(worker, &event));
    assert_int_equal(event.kind, TRIB_EVENT_FAILED);
    free(world);
}

/* ---- what else a node does ---- */

struct node {
    void *memory;
    const struct trib_switch_verbs *verbs;
};

static struct node open_node(bool has_miss, uint32_t ranks, uint32_t children, bool has_parent)
{
    struct shape shape = {.ranks = ranks, .trees = 1, .slots = 8};
    struct trib_switch_config config = {.session = session_of(&shape),
                                        .kernels = trib_value_kernels(),
                                        .children = children,
                                        .boot = 1,
                                        .has_parent = has_parent};
    struct node node = {.verbs = has_miss ? &trib_panama_miss_switch_verbs : &trib_panama_literal_switch_verbs};

    node.memory = node_memory(node.verbs->size(&config));
    node.verbs->init(node.memory, &config);
    return node;
}

/* Takes one packet in; the last that comes out, and how many did. */
static uint32_t passes(const struct node *node, struct trib_place from, const struct trib_packet *packet,
                       struct parcel *out, struct trib_place *to)
{
    struct trib_packet given;
    uint32_t count = 0;

    assert_int_equal(node->verbs->node.receive(node->memory, from, packet, RTO), TRIB_DROP_NONE);
    while (node->verbs->node.next_packet(node->memory, RTO, &given, to)) {
        struct link link = {0};
        put(&link, &given);
        *out = link.at[0];
        count++;
    }
    return count;
}

/* Ranks 0 and 1 below one accelerator, which is the first child of the root; rank 2 the second. Rank 1's VID 0 is
 * lost, where there is MISS. */
static void nodes__sum_in_a_tree(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    struct trib_place up[3] = {{.kind = TRIB_PLACE_CHILDREN, .children = 1},
                               {.kind = TRIB_PLACE_CHILDREN, .children = 2},
                               {.kind = TRIB_PLACE_PARENT}};
    (void)state;

    assert_non_null(world);
    for (int has_miss = 0; has_miss < 2; has_miss++) {
        struct shape shape = {has_miss != 0, .ranks = 3, .trees = 1, .slots = 8, .operations = 1, .fragments = 3};
        struct node root = open_node(has_miss != 0, 3, 2, false), inner = open_node(has_miss != 0, 3, 2, true);
        struct parcel sum, result;
        struct trib_place to;
        uint32_t got = 0;
        open_world(world, &shape);
        if (has_miss) {
            drop(&world->up[1][0]);
        }
        for (uint32_t turn = 0; turn < 100 && !is_over(world); turn++) {
            uint32_t rank = turn % 3;
            if (world->up[rank][0].count == 0) {
                continue;
            }
            struct parcel parcel = world->up[rank][0].at[0];
            drop(&world->up[rank][0]);
            if (rank == 2) {
                got = passes(&root, up[1], packet_of(&parcel), &result, &to);
            } else if ((got = passes(&inner, up[rank], packet_of(&parcel), &sum, &to)) != 0) {
                assert_int_equal(to.kind, TRIB_PLACE_PARENT);
                got = passes(&root, up[0], packet_of(&sum), &result, &to);
            }
            if (got != 0) {
                assert_int_equal(to.children, 3);
                assert_int_equal(passes(&inner, up[2], packet_of(&result), &sum, &to), 1);
                assert_int_equal(to.kind, TRIB_PLACE_CHILDREN);
                for (uint32_t child = 0; child < 3; child++) {
                    put(&world->down[child][0], packet_of(child == 2 ? &result : &sum));
                    assert_int_equal(returns(world, child, 0), TRIB_DROP_NONE);
                }
            }
        }
        assert_true(is_over(world));
        assert_int_equal(world->delivered, 0);
        assert_int_equal(root.verbs->node.counters(root.memory)->results, 3);
        free(root.memory);
        free(inner.memory);
    }
    free(world);
}

/* What a worker does with one operation, against an accelerator: rank 0 of two has 1 + i, rank 1 has 2 + i. */
static void sums_to(struct trib_operation *operation, enum trib_type wire, void *recv[2])
{
    struct shape shape = {.ranks = 2, .trees = 2, .slots = 4};
    struct world *world = aligned_alloc(64, sizeof *world);
    struct trib_session_config session = session_of(&shape);
    const struct trib_worker_verbs *verbs = &trib_panama_literal_worker_verbs;
    float send[2][40];

    assert_non_null(world);
    memset(world, 0, sizeof *world);
    world->shape = shape;
    session.wire = wire;
    open_accelerator(world, 0, &session);
    open_accelerator(world, 1, &session);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trib_worker_config config = {.session = session,
                                            .kernels = trib_value_kernels(),
                                            .rank = rank,
                                            .window = 4,
                                            .operations = 1,
                                            .stall_ns = UINT64_MAX};
        for (uint32_t i = 0; i < 40; i++) {
            send[rank][i] = (float)(rank + 1 + i);
        }
        verbs->init(world->worker[rank], &config);
        verbs->registered(world->worker[rank], 1, 0, RTO);
        operation->send = send[rank];
        operation->recv = recv[rank];
        assert_true(verbs->submit(world->worker[rank], operation, RTO));
        assert_false(verbs->submit(world->worker[rank], operation, RTO));
        world->shape.operations = 1;
        drain_worker(world, rank);
    }
    world->shape.fragments = FRAGMENTS_MAX; /* nothing of the world's own tensors is compared: they are not used */
    settle(world);
    assert_int_equal(world->done[0] + world->done[1], 2);
    assert_int_equal(world->wrong, 0);
    free(world);
}

static void workers__run_other_types(void **state)
{
    struct trib_operation operation = {
        .count = 40, .collective = TRIB_ALLREDUCE, .type = TRIB_FLOAT32, .reduction = TRIB_AVERAGE};
    float recv[2][40];
    void *tensors[2] = {recv[0], recv[1]}, *none[2] = {NULL, NULL};
    (void)state;

    for (int narrow = 0; narrow < 2; narrow++) {
        memset(recv, 0, sizeof recv);
        sums_to(&operation, narrow ? TRIB_BFLOAT16 : TRIB_FLOAT32, tensors);
        for (uint32_t i = 0; i < 40; i++) {
            assert_true(recv[0][i] == (float)i + 1.5F && recv[1][i] == recv[0][i]);
        }
    }
    operation = (struct trib_operation){.collective = TRIB_BARRIER};
    sums_to(&operation, TRIB_FLOAT32, none);
}

/* Who waits says so; who has lost the switch sends nothing. */
static void workers__say_what_they_do(void **state)
{
    struct shape shape = {.ranks = 2, .trees = 1, .slots = 4};
    struct trib_worker_config config = {.session = session_of(&shape),
                                        .kernels = trib_value_kernels(),
                                        .window = 4,
                                        .operations = 2,
                                        .stall_ns = 5 * RTO};
    const struct trib_worker_verbs *verbs = &trib_panama_literal_worker_verbs;
    struct trib_operation operation = {.count = 3 * PER_PACKET, .collective = TRIB_ALLREDUCE, .type = TRIB_INT32};
    void *worker = node_memory(verbs->size(&config));
    struct trib_event event;
    struct trib_packet packet;
    struct trib_place to;
    uint64_t number;
    (void)state;

    assert_non_null(worker);
    verbs->init(worker, &config);
    operation.reduction = TRIB_SUM;
    operation.send = operation.recv = world_recv;
    assert_true(verbs->submit(worker, &operation, RTO));
    assert_false(verbs->node.next_packet(worker, RTO, &packet, &to)); /* not registered */
    verbs->registered(worker, 1, 0, RTO);
    assert_true(verbs->node.next_packet(worker, RTO, &packet, &to));
    assert_int_equal(verbs->in_flight(worker, 0), 1);
    assert_int_equal(verbs->node.next_timeout(worker), 2 * RTO);
    verbs->node.on_timeout(worker, 6 * RTO);
    assert_true(verbs->node.next_event(worker, &event));
    assert_int_equal(event.kind, TRIB_EVENT_STALL);
    assert_int_equal(event.since_ns, RTO);
    assert_true(verbs->node.next_packet(worker, 6 * RTO, &packet, &to));
    assert_int_equal(packet.sequence, 0); /* again */
    verbs->limit(worker, 0, 0);
    assert_false(verbs->node.next_packet(worker, 6 * RTO, &packet, &to));
    verbs->suspend(worker);
    verbs->limit(worker, 0, 100);
    assert_false(verbs->node.next_packet(worker, 6 * RTO, &packet, &to));
    assert_int_equal(verbs->node.next_timeout(worker), TRIB_NEVER);
    verbs->node.on_timeout(worker, 20 * RTO);
    assert_false(verbs->node.next_event(worker, &event));
    assert_true(verbs->submit(worker, &operation, RTO));
    assert_false(verbs->submit(worker, &operation, RTO));
    assert_true(verbs->describe(worker, 5, &operation, &number));
    assert_int_equal(number, 1);
    assert_false(verbs->describe(worker, 6, &operation, &number));
    assert_int_equal(verbs->end(worker), 6);
    assert_int_equal(verbs->mark(worker), 0);
    verbs->learn_mark(worker, 3, RTO);
    assert_int_equal(verbs->node.communicator_mark(worker), 3);
    assert_int_equal(verbs->node.idle(worker, NULL), 0);
    free(worker);
}

/* What a caller's packet has in its holes, and what was counted, is no part of a state. */
static void nodes__have_no_holes(void **state)
{
    struct trib_place up = {.kind = TRIB_PLACE_CHILDREN, .children = 1}, down = {.kind = TRIB_PLACE_PARENT}, to;
    struct world *world = aligned_alloc(64, sizeof *world);
    struct node node[2] = {open_node(false, 2, 2, true), open_node(false, 2, 2, true)};
    struct parcel out;
    (void)state;

    assert_non_null(world);
    open_pair(world, false, 2);
    for (int which = 0; which < 2; which++) {
        struct parcel parcel = world->up[0][0].at[0], result = parcel;
        memset((uint8_t *)&parcel.packet + offsetof(struct trib_packet, reduction) + 1, which, 3);
        memset((uint8_t *)&parcel.packet + offsetof(struct trib_packet, communicator) + 4, which, 4);
        assert_int_equal(passes(&node[which], up, packet_of(&parcel), &out, &to), 0);
        result.packet.kind = TRIB_RESULT;
        assert_int_equal(passes(&node[which], down, packet_of(&result), &out, &to), 1);
        parcel.packet.kind = TRIB_PROBE;
        for (int i = 0; i < which; i++) {
            (void)node[which].verbs->node.receive(node[which].memory, up, packet_of(&parcel), RTO);
        }
    }
    size_t size = node[0].verbs->node.state_size(node[0].memory);
    assert_memory_equal(node[0].memory, node[1].memory, size);
    assert_int_equal(node[1].verbs->node.counters(node[1].memory)->dropped[TRIB_DROP_KIND], 1);
    free(node[0].memory);
    free(node[1].memory);
    free(world);
}

static void literal__no_job_may_run_it(void **state)
{
    (void)state;
    assert_ptr_equal(trib_published_find("panama-literal"), &trib_panama_literal);
    assert_non_null(trib_panama_literal.refusal);
    assert_null(trib_scheme_find("panama-literal"));
    assert_null(trib_scheme_find("panama-literal:7/8"));
}

/* ---- partial aggregation: 2 of 3 ranks make a sum ---- */

/* All that moves without rank 2's way up. */
static void settle_without_2(struct world *world, uint32_t operations)
{
    for (bool has_moved = true; has_moved && world->done[0] < operations;) {
        has_moved = false;
        for (uint32_t rank = 0; rank < 3; rank++) {
            while (rank != 2 && world->up[rank][0].count != 0) {
                (void)arrives(world, rank, 0);
                has_moved = true;
            }
        }
        for (uint32_t rank = 3; rank-- > 0;) {
            while (world->down[rank][0].count != 0) {
                assert_int_equal(returns(world, rank, 0), TRIB_DROP_NONE);
                has_moved = true;
            }
        }
    }
}

/* Rank 2's packets wait on their way, and results acknowledge them all the same: it sends more, as the others do. */
static void partial__ends_without_a_slow_way(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    struct shape shape = {
        .ranks = 3, .trees = 1, .slots = 4, .operations = 2, .fragments = 8, .quorum = 2, .quorum_of = 3};
    (void)state;

    assert_non_null(world);
    open_world(world, &shape);
    settle_without_2(world, 2);
    assert_true(is_over(world));
    assert_int_equal(world->delivered + world->wrong, 0);
    assert_int_equal(world->up[2][0].count, 16); /* four times as many as there are slots */
    assert_int_equal(worker_verbs(world)->node.counters(world->worker[2])->late, 16);
    assert_int_equal(worker_verbs(world)->node.counters(world->worker[1])->late, 0);
    assert_int_equal(worker_verbs(world)->node.counters(world->worker[1])->results_lacking, 16);
    assert_int_equal(trib_panama_literal_accelerator(world->accelerator[0])->absent[2], 16);
    free(world);
}

/* One of them comes when the next operation has begun, whose VIDs are the same: the lane says what is in the sum. */
static void partial__sums_two_operations_into_one(void **state)
{
    struct world *world = aligned_alloc(64, sizeof *world);
    struct shape shape = {
        .ranks = 3, .trees = 1, .slots = 4, .operations = 2, .fragments = 8, .quorum = 2, .quorum_of = 3};
    (void)state;

    assert_non_null(world);
    open_world(world, &shape);
    settle_without_2(world, 1);
    assert_int_equal(world->down[0][0].count, 0);
    (void)arrives(world, 2, 0); /* VID 0 of operation 0 */
    assert_int_equal(world->down[0][0].count, 0);
    (void)arrives(world, 0, 0); /* VID 0 of operation 1 */
    assert_int_equal(world->down[0][0].count, 1);
    assert_int_equal(gets_result(world, 0, TRIB_DROP_LANE), value_of(0, 1, 0) + value_of(2, 0, 0));
    assert_int_equal(world->delivered, 0);
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(world__sums_without_faults),
        cmocka_unit_test(world__sends_round_robin),
        cmocka_unit_test(world__hangs_after_one_loss),
        cmocka_unit_test(miss__repairs_the_loss),
        cmocka_unit_test(wrong_sum__of_a_late_rank),
        cmocka_unit_test(wrong_sum__of_a_lost_result),
        cmocka_unit_test(wrong_sum__of_a_last_packet_that_comes_twice),
        cmocka_unit_test(wrong_sum__of_a_lost_miss),
        cmocka_unit_test(nodes__drop_what_is_not_theirs),
        cmocka_unit_test(nodes__sum_in_a_tree),
        cmocka_unit_test(workers__run_other_types),
        cmocka_unit_test(workers__say_what_they_do),
        cmocka_unit_test(nodes__have_no_holes),
        cmocka_unit_test(literal__no_job_may_run_it),
        cmocka_unit_test(partial__ends_without_a_slow_way),
        cmocka_unit_test(partial__sums_two_operations_into_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
