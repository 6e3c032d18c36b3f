/* SPDX-License-Identifier: Apache-2.0 */
/* test_combining.c: a combiner as a switch node: what waits in the line of a pool, in which order it leaves, and where
 * it goes. The rules of adding are in test_combiner_rows and test_combiner_pool. */
#include "protocol/combining.h"

#include "combiner_harness.h"

#define NODES 2U
/* Numbers at the root of the children 0, 1 and 2. */
#define NUMBERS 0x4aU /* 1, 3 and 6 */

struct pool {
    void *memory;
    void *node[NODES];
    int owner[NODES];
    struct trib_combiner_config config;
    struct fixture parts;
};

static void *open_pool(struct pool *p, uint32_t rows, uint32_t members)
{
    p->config = (struct trib_combiner_config){
        .kernels = trib_value_kernels(), .rows = rows, .payload = PAYLOAD, .members = members};
    void *memory = node_memory(trib_pool_size(&p->config));
    trib_pool_init(memory, &p->config);
    return memory;
}

static struct trib_switch_config config_of(uint32_t communicator)
{
    return (struct trib_switch_config){.session = {.communicator = communicator,
                                                   .ranks = 7,
                                                   .roots = 1,
                                                   .train = 1,
                                                   .slots = 64,
                                                   .payload = PAYLOAD,
                                                   .generation = 2},
                                       .kernels = trib_value_kernels(),
                                       .children = 3,
                                       .behind = NUMBERS,
                                       .boot = 5,
                                       .has_parent = true};
}

static bool enter(struct pool *p, void *pool, uint32_t node, uint8_t priority)
{
    const struct trib_pool_share share = {.rows = p->config.rows, .priority = priority};

    return trib_pool_enter(pool, p->node[node], &p->owner[node], &share);
}

/* Node n is communicator n + 1. */
static int set_up_pool(void **state)
{
    struct pool *p = calloc(1, sizeof *p);

    p->memory = open_pool(p, 1, NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        const struct trib_switch_config config = config_of(i + 1);
        p->node[i] = node_memory(trib_combining_verbs.size(&config));
        trib_combining_verbs.init(p->node[i], &config);
        assert_true(enter(p, p->memory, i, (uint8_t)i));
    }
    *state = p;
    return 0;
}

static int tear_down_pool(void **state)
{
    struct pool *p = *state;

    for (uint32_t i = 0; i < NODES; i++) {
        trib_pool_leave(p->node[i]);
        free(p->node[i]);
    }
    free(p->memory);
    free(p);
    return 0;
}

#define WITH_POOL(name) cmocka_unit_test_setup_teardown(name, set_up_pool, tear_down_pool)

static enum trib_drop from_children(struct pool *p, uint32_t node, uint64_t children, const struct trib_packet *packet)
{
    struct trib_packet sent = *packet;

    sent.communicator = node + 1;
    return trib_combining_verbs.node.receive(
        p->node[node], (struct trib_place){.kind = TRIB_PLACE_CHILDREN, .children = children}, &sent, 0);
}

static enum trib_drop contribute_at(struct pool *p, uint32_t node, uint32_t child, uint64_t sequence)
{
    const struct trib_packet packet = part_of(&p->parts, UINT64_C(1) << child, sequence);

    return from_children(p, node, UINT64_C(1) << child, &packet);
}

static enum trib_drop from_root(struct pool *p, uint32_t node, uint16_t number, struct trib_packet packet)
{
    packet.node = number;
    packet.communicator = node + 1;
    return trib_combining_verbs.node.receive(p->node[node], (struct trib_place){.kind = TRIB_PLACE_PARENT}, &packet, 0);
}

/* The line's first packet is this node's. */
static struct trib_packet expect_next(struct pool *p, uint32_t node, struct trib_place *to)
{
    struct trib_packet packet;

    assert_ptr_equal(trib_pool_next(p->memory), &p->owner[node]);
    assert_false(trib_combining_verbs.node.next_packet(p->node[1 - node], 0, &packet, to));
    assert_true(trib_combining_verbs.node.next_packet(p->node[node], 0, &packet, to));
    assert_int_equal(packet.communicator, node + 1);
    return packet;
}

static struct trib_packet expect_up(struct pool *p, uint32_t node, enum trib_kind kind, uint64_t bitmap)
{
    struct trib_place to;
    struct trib_packet packet = expect_next(p, node, &to);

    assert_int_equal(to.kind, TRIB_PLACE_PARENT);
    assert_int_equal(packet.kind, kind);
    assert_int_equal(packet.bitmap, bitmap);
    return packet;
}

static void expect_down(struct pool *p, uint32_t node, uint64_t children)
{
    struct trib_place to;
    struct trib_packet packet = expect_next(p, node, &to);

    assert_int_equal(to.kind, TRIB_PLACE_CHILDREN);
    assert_int_equal(to.children, children);
    assert_int_equal(packet.kind, TRIB_RESULT);
}

static void expect_no_more(const struct pool *p)
{
    assert_null(trib_pool_next(p->memory));
}

/* ---- up ---- */

static void parts_of_all__leave_as_one(void **state)
{
    struct pool *p = *state;

    for (uint32_t child = 0; child < 3; child++) {
        assert_int_equal(contribute_at(p, 0, child, 4), TRIB_DROP_NONE);
    }
    struct trib_packet sum = expect_up(p, 0, TRIB_CONTRIBUTION, NUMBERS);
    assert_int_equal(first_of(&sum), 7);
    expect_no_more(p);
    assert_int_equal(trib_combining_verbs.node.counters(p->node[0])->contributions, 3);
    assert_int_equal(trib_combining_verbs.node.counters(p->node[0])->partials, 1);
}

static void what_a_probe_needs__leaves_before_it(void **state)
{
    struct pool *p = *state;
    const struct trib_packet probe = packet_of(TRIB_PROBE, 4);

    (void)contribute_at(p, 0, 1, 4);
    assert_int_equal(from_children(p, 0, 4, &probe), TRIB_DROP_NONE);
    (void)expect_up(p, 0, TRIB_CONTRIBUTION, 8);
    assert_int_equal(expect_up(p, 0, TRIB_PROBE, 0).node, 6);
    expect_no_more(p);
}

/* The driver's buffer is the packet's until it has been sent. */
static void a_part_that_passes__is_not_copied(void **state)
{
    struct pool *p = *state;

    (void)contribute_at(p, 0, 0, 4);
    (void)contribute_at(p, 0, 1, 5); /* there is one row */
    struct trib_packet passed = expect_up(p, 0, TRIB_CONTRIBUTION, 0);
    assert_int_equal(passed.node, 3);
    assert_ptr_equal(passed.payload, p->parts.payload);
}

static void a_row_taken_for_a_higher_priority__leaves_as_its_owners(void **state)
{
    struct pool *p = *state;

    (void)contribute_at(p, 0, 0, 4);
    assert_int_equal(contribute_at(p, 1, 0, 5), TRIB_DROP_NONE);
    (void)expect_up(p, 0, TRIB_CONTRIBUTION, 2);
    expect_no_more(p);
    assert_int_equal(trib_pool_rows_held(p->memory), 1);
    assert_int_equal(trib_combining_verbs.slots_held(p->node[1]), 1);
}

/* Sums that were handed out keep their memory while the line is not empty, and after that until the next packet. */
static void a_sum_on_its_way__keeps_its_numbers(void **state)
{
    struct pool *p = *state;
    struct trib_packet sums[3];

    for (uint64_t sequence = 0; sequence < 3; sequence++) {
        for (uint32_t child = 0; child < 3; child++) {
            (void)contribute_at(p, 0, child, sequence);
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        sums[i] = expect_up(p, 0, TRIB_CONTRIBUTION, NUMBERS);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(sums[i].sequence, i);
        assert_int_equal(first_of(&sums[i]), 7);
    }
}

static void a_line_without_room__drops(void **state)
{
    struct pool *p = *state;
    const struct trib_packet probe = packet_of(TRIB_PROBE, 4);
    struct trib_packet packet;
    struct trib_place to;
    uint32_t waiting = 0;

    while (from_children(p, 0, 1, &probe) == TRIB_DROP_NONE) {
        waiting++;
    }
    assert_true(waiting >= 64); /* the packets of a buffer */
    assert_int_equal(trib_combining_verbs.node.counters(p->node[0])->dropped[TRIB_DROP_FULL], 1);
    for (uint32_t i = 0; i < waiting; i++) {
        assert_true(trib_combining_verbs.node.next_packet(p->node[0], 0, &packet, &to));
    }
    expect_no_more(p);
    assert_int_equal(from_children(p, 0, 1, &probe), TRIB_DROP_NONE);
}

/* A combiner below this one has no numbers but those behind it. */
static void a_part_of_others__is_of_no_source(void **state)
{
    struct pool *p = *state;
    struct trib_packet part = part_of(&p->parts, 1, 4);

    part.bitmap = 0x42; /* children 0 and 2; it has 0 and 1 behind it */
    assert_int_equal(from_children(p, 0, 3, &part), TRIB_DROP_SOURCE);
    part.bitmap = 0;
    part.node = 6;
    assert_int_equal(from_children(p, 0, 3, &part), TRIB_DROP_SOURCE);
    part.node = 3;
    assert_int_equal(from_children(p, 0, 3, &part), TRIB_DROP_NONE);
    assert_int_equal(from_children(p, 0, 3, &part), TRIB_DROP_STALE); /* its part is here */
    expect_no_more(p);
}

/* ---- down ---- */

static void a_result__goes_to_whom_it_names(void **state)
{
    struct pool *p = *state;
    const struct trib_packet result = packet_of(TRIB_RESULT, 4);

    assert_int_equal(from_root(p, 0, TRIB_NODE_ALL, result), TRIB_DROP_NONE);
    assert_int_equal(from_root(p, 1, 1, result), TRIB_DROP_NONE);
    assert_int_equal(from_root(p, 0, 6, result), TRIB_DROP_NONE);
    expect_down(p, 0, 7);
    expect_down(p, 1, 1);
    expect_down(p, 0, 4);
    expect_no_more(p);
}

static void a_result_for_nobody_behind__is_dropped(void **state)
{
    struct pool *p = *state;
    struct trib_packet result = packet_of(TRIB_RESULT, 4);

    assert_int_equal(from_root(p, 0, 2, result), TRIB_DROP_SOURCE);
    assert_int_equal(from_root(p, 0, 64, result), TRIB_DROP_SOURCE);
    result.generation++;
    assert_int_equal(from_root(p, 0, 1, result), TRIB_DROP_GENERATION);
    expect_no_more(p);
}

static void M_of_a_result__frees_rows(void **state)
{
    struct pool *p = *state;
    struct trib_packet result = packet_of(TRIB_RESULT, 9);

    (void)contribute_at(p, 0, 0, 4);
    result.mark = 5;
    (void)from_root(p, 0, TRIB_NODE_ALL, result);
    assert_int_equal(trib_combining_verbs.node.communicator_mark(p->node[0]), 5);
    assert_int_equal(trib_pool_rows_held(p->memory), 0);
}

/* No packet tells the last M of a job whose ranks are idle. */
static void M_of_a_session__frees_rows(void **state)
{
    struct pool *p = *state;

    (void)contribute_at(p, 0, 0, 4);
    assert_int_equal(trib_pool_rows_held(p->memory), 1);
    trib_combining_verbs.learn_mark(p->node[0], 5);
    assert_int_equal(trib_combining_verbs.node.communicator_mark(p->node[0]), 5);
    assert_int_equal(trib_pool_rows_held(p->memory), 0);
}

/* Its row would be held until M is past, at the end of a job for ever. */
static void a_part_of_another_boot__has_no_row(void **state)
{
    struct pool *p = *state;
    struct trib_packet part = part_of(&p->parts, 1, 4);

    part.boot++;
    assert_int_equal(from_children(p, 0, 1, &part), TRIB_DROP_BOOT);
    assert_int_equal(trib_pool_rows_held(p->memory), 0);
    part.kind = TRIB_PROBE;
    part.payload_len = 0;
    assert_int_equal(from_children(p, 0, 1, &part), TRIB_DROP_NONE);
    (void)expect_up(p, 0, TRIB_PROBE, 0);
}

static void M_of_another_communicator__is_not_taken(void **state)
{
    struct pool *p = *state;
    struct trib_packet result = packet_of(TRIB_RESULT, 9);

    result.mark = 5;
    result.node = TRIB_NODE_ALL;
    result.communicator = 2;
    assert_int_equal(
        trib_combining_verbs.node.receive(p->node[0], (struct trib_place){.kind = TRIB_PLACE_PARENT}, &result, 0),
        TRIB_DROP_SOURCE);
    assert_int_equal(trib_combining_verbs.node.communicator_mark(p->node[0]), 0);
    expect_no_more(p);
}

static void who_has_sent_nothing__is_missing(void **state)
{
    struct pool *p = *state;

    assert_int_equal(trib_combining_verbs.missing_on(p->node[0], 4), 7);
    (void)contribute_at(p, 0, 0, 4);
    (void)contribute_at(p, 0, 2, 5);
    assert_int_equal(trib_combining_verbs.missing_on(p->node[0], 4), 2);
    assert_int_equal(trib_combining_verbs.missing_on(p->node[0], 5), 3);
    trib_combining_verbs.learn_mark(p->node[0], 5);
    assert_int_equal(trib_combining_verbs.missing_on(p->node[0], 4), 0);
}

/* In a new incarnation a rank registers with its mark, and leaves: the root waits for a part that nobody gives. */
static void a_finished_rank__may_be_missing(void **state)
{
    struct pool *p = *state;
    struct trib_packet probe = packet_of(TRIB_PROBE, 9);

    probe.mark = 9;
    probe.flags = TRIB_FLAG_UNWANTED;
    for (uint64_t child = 1; child <= 4; child <<= 1) {
        (void)from_children(p, 0, child, &probe);
    }
    assert_int_equal(trib_combining_verbs.missing_on(p->node[0], 4), 7);
}

/* ---- pools ---- */

static void a_communicator_that_leaves__takes_its_packets_along(void **state)
{
    struct pool *p = *state;
    const struct trib_packet result = packet_of(TRIB_RESULT, 4);

    for (uint32_t i = 0; i < 6; i++) {
        (void)from_root(p, i % 2, i == 5 ? TRIB_NODE_ALL : 1, result);
    }
    (void)contribute_at(p, 0, 0, 4);
    trib_pool_leave(p->node[0]);
    expect_down(p, 1, 1);
    expect_down(p, 1, 1);
    expect_down(p, 1, 7);
    expect_no_more(p);
    assert_int_equal(trib_pool_rows_held(p->memory), 0);
    assert_int_equal(contribute_at(p, 0, 1, 4), TRIB_DROP_FULL);
}

static void a_pool__can_be_thrown_away(void **state)
{
    struct pool *p = *state;
    void *other = open_pool(p, 64, NODES);

    trib_combining_verbs.learn_mark(p->node[0], 4);
    (void)contribute_at(p, 0, 0, 4);
    for (uint32_t i = 0; i < NODES; i++) {
        trib_pool_leave(p->node[i]);
        assert_true(enter(p, other, i, 0));
    }
    free(p->memory);
    p->memory = other;
    for (uint32_t child = 0; child < 3; child++) {
        (void)contribute_at(p, 0, child, 4);
        (void)contribute_at(p, 0, child, 3); /* below M */
    }
    (void)expect_up(p, 0, TRIB_CONTRIBUTION, NUMBERS);
    expect_no_more(p);
}

static void a_pool__has_so_many_communicators(void **state)
{
    struct pool *p = *state;
    void *small = open_pool(p, 1, 1);

    trib_pool_leave(p->node[0]);
    trib_pool_leave(p->node[1]);
    assert_true(enter(p, small, 0, 0));
    assert_false(enter(p, small, 1, 0));
    assert_true(enter(p, small, 0, 1)); /* another share */
    trib_pool_leave(p->node[0]);
    assert_true(enter(p, small, 1, 0));
    trib_pool_leave(p->node[1]);
    free(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_POOL(parts_of_all__leave_as_one),
        WITH_POOL(what_a_probe_needs__leaves_before_it),
        WITH_POOL(a_part_that_passes__is_not_copied),
        WITH_POOL(a_row_taken_for_a_higher_priority__leaves_as_its_owners),
        WITH_POOL(a_sum_on_its_way__keeps_its_numbers),
        WITH_POOL(a_line_without_room__drops),
        WITH_POOL(a_part_of_others__is_of_no_source),
        WITH_POOL(a_result__goes_to_whom_it_names),
        WITH_POOL(a_result_for_nobody_behind__is_dropped),
        WITH_POOL(M_of_a_result__frees_rows),
        WITH_POOL(M_of_a_session__frees_rows),
        WITH_POOL(M_of_another_communicator__is_not_taken),
        WITH_POOL(a_part_of_another_boot__has_no_row),
        WITH_POOL(who_has_sent_nothing__is_missing),
        WITH_POOL(a_finished_rank__may_be_missing),
        WITH_POOL(a_communicator_that_leaves__takes_its_packets_along),
        WITH_POOL(a_pool__can_be_thrown_away),
        WITH_POOL(a_pool__has_so_many_communicators),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
