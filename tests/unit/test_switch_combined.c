/* SPDX-License-Identifier: Apache-2.0 */
/* test_switch_combined.c: scripted exchanges with a root behind combiners: ranks 0 and 1 are behind one, ranks 2 to 4
 * behind another, rank 5 behind none. The exact rules are in docs/PROTOCOL.md, "Combiners". Mirrors
 * protocol/switch_combined.c. */
#include "core/slot.h"
#include "schemes/atp/atp.h"
#include "switch_harness.h"

#define CHILDREN 6
#define EVERYBODY 0x3fU
#define LEFT 0x03U
#define RIGHT 0x1cU
#define ALONE 0x20U

static int set_up_node(void **state, bool has_parent)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct trib_switch_config config = config_of(CHILDREN, SLOTS);

    config.has_combiners = true;
    config.has_parent = has_parent;
    f->verbs = trib_atp.switch_node;
    f->node = node_memory(f->verbs->size(&config));
    f->verbs->init(f->node, &config);
    f->now_ns = 1000 * MS;
    join_all(f, CHILDREN);
    *state = f;
    return 0;
}

static int set_up_combined(void **state)
{
    return set_up_node(state, false);
}

/* A node of 64 of the members, or fewer, below the top node of the root. */
static int set_up_inner(void **state)
{
    return set_up_node(state, true);
}

#define INNER(name) cmocka_unit_test_setup_teardown(name, set_up_inner, tear_down)
#define COMBINED(name) cmocka_unit_test_setup_teardown(name, set_up_combined, tear_down)

static float value_of[16];

/* The sum of the children's parts: child c has 2^c, and the lane of as many. */
static struct trib_packet sum_of(uint64_t children, uint64_t sequence, uint64_t mark)
{
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, sequence, mark);

    value_of[0] = (float)children;
    packet.payload = value_of;
    packet.payload_len = sizeof value_of;
    packet.contributors = (uint16_t)trib_count_bits(children);
    packet.lane = children;
    packet.bitmap = (children & (children - 1)) != 0 ? children : 0;
    packet.node = (uint16_t)trib_lowest(children);
    return packet;
}

static enum trib_drop from(struct fixture *f, uint64_t behind, const struct trib_packet *packet)
{
    struct trib_place place = {.kind = TRIB_PLACE_CHILDREN, .children = behind};

    return f->verbs->node.receive(f->node, place, packet, f->now_ns);
}

static enum trib_drop sum(struct fixture *f, uint64_t behind, uint64_t children, uint64_t sequence)
{
    struct trib_packet packet = sum_of(children, sequence, 0);

    return from(f, behind, &packet);
}

static uint64_t here(const struct fixture *f, uint64_t sequence)
{
    return EVERYBODY & ~f->verbs->missing_on(f->node, sequence);
}

static void expect_no_mismatch(struct fixture *f)
{
    struct trib_event event;

    assert_false(f->verbs->node.next_event(f->node, &event));
}

/* ---- sums ---- */

static void sums_of_new_parts__are_added(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(sum(f, RIGHT, 0x14, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, ALONE, 0x20, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_NONE);
    assert_int_equal(here(f, 0), 0x37);
    expect_nothing(f);
    assert_int_equal(sum(f, RIGHT, 0x08, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, EVERYBODY);
    assert_float_equal(first_of(&result), 63.0f, 0);
    assert_int_equal(result.lane, 63);
    assert_int_equal(result.contributors, CHILDREN);
    expect_no_mismatch(f);
}

static void one_combiner_of_all__is_enough(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(sum(f, EVERYBODY, EVERYBODY, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, EVERYBODY);
    assert_float_equal(first_of(&result), 63.0f, 0);
}

static void a_sum_of_parts_that_are_here__is_a_duplicate(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(sum(f, RIGHT, 0x1c, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, RIGHT, 0x1c, 0), TRIB_DROP_DUPLICATE);
    assert_int_equal(sum(f, RIGHT, 0x0c, 0), TRIB_DROP_DUPLICATE);
    assert_int_equal(sum(f, RIGHT, 0x08, 0), TRIB_DROP_DUPLICATE);
    expect_nothing(f);
    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, ALONE, 0x20, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, EVERYBODY);
    assert_float_equal(first_of(&result), 63.0f, 0);
    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_DUPLICATE);
    expect_nothing(f);
}

/* ATP's server drops such a sum too, and waits for timeouts. */
static void a_sum_with_some_parts_that_are_here__is_dropped_and_the_rest_asked_for(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(sum(f, RIGHT, 0x08, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, RIGHT, 0x1c, 0), TRIB_DROP_OVERLAP);
    assert_int_equal(here(f, 0), 0x08);
    struct trib_packet ask = expect(f, TRIB_ASK, 0, 0x04);
    assert_int_equal(ask.node, 2);
    assert_int_equal(ask.bitmap, 0);
    (void)expect(f, TRIB_ASK, 0, 0x10);
    expect_nothing(f);
    assert_int_equal(sum(f, RIGHT, 0x1c, 0), TRIB_DROP_OVERLAP); /* once in 0.5 ms */
    expect_nothing(f);
    f->now_ns += MS;
    assert_int_equal(sum(f, RIGHT, 0x1c, 0), TRIB_DROP_OVERLAP);
    (void)expect(f, TRIB_ASK, 0, 0x04);
    (void)expect(f, TRIB_ASK, 0, 0x10);
    expect_nothing(f);
    assert_int_equal(f->verbs->node.counters(f->node)->dropped[TRIB_DROP_OVERLAP], 3);
    expect_no_mismatch(f);
}

static void the_form_of_a_sum__must_fit(void **state)
{
    struct fixture *f = *state;
    struct trib_event event;
    struct trib_packet packet = sum_of(0x1c, 0, 0);

    packet.contributors = 4; /* of three ranks */
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_SHAPE);
    assert_true(f->verbs->node.next_event(f->node, &event));
    assert_int_equal(event.child, 2);
    packet.contributors = 0; /* with payload */
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_SHAPE);
    packet.contributors = 1;
    packet.payload_len = 0;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_SHAPE);
    packet.payload_len = 128; /* longer than the session's */
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_SHAPE);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
    packet = sum_of(0x1c, 0, 0);
    packet.contributors = 1; /* two are headers */
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_NONE);
}

static void a_sum_of_another_operation__names_both_sides(void **state)
{
    struct fixture *f = *state;
    struct trib_event event;
    struct trib_packet packet = sum_of(0x18, 0, 0);

    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_NONE);
    packet.digest++;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_DIGEST);
    assert_true(f->verbs->node.next_event(f->node, &event));
    assert_int_equal(event.kind, TRIB_EVENT_MISMATCH);
    assert_int_equal(event.child, 3);
    assert_int_equal(event.other, 0);
    assert_int_equal(here(f, 0), 0x03);
}

static void ranks_without_use_for_the_result__get_a_header(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = sum_of(0x1c, 0, 0);

    packet.flags = TRIB_FLAG_UNWANTED;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_NONE);
    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, ALONE, 0x20, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, LEFT | ALONE);
    assert_float_equal(first_of(&result), 63.0f, 0);
    result = expect(f, TRIB_RESULT, 0, RIGHT);
    assert_int_equal(result.payload_len, 0);
}

static void a_marked_sum__is_marked_for_all_its_ranks(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = sum_of(0x14, 0, 0);

    packet.flags = TRIB_FLAG_ECN;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_NONE);
    assert_int_equal(sum(f, RIGHT, 0x08, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, ALONE, 0x20, 0), TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_RESULT, 0, EVERYBODY).bitmap, 0x14);
}

/* There it is a priority, for combiners. */
static void what_a_rank_says__is_no_cap_of_the_root(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = sum_of(0x1c, 0, 0);

    packet.window_cap = 1;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_NONE);
    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, ALONE, 0x20, 0), TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_RESULT, 0, EVERYBODY).window_cap, 0);
}

/* Sums in any grouping become the one partial of this node, whose result goes down. */
static void an_inner_node__hands_up_what_combiners_bring(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = sum_of(0x1c, 0, 0);
    struct trib_place to;

    packet.window_cap = 1; /* a priority: no cap of the nodes below */
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_NONE);
    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_DUPLICATE);
    expect_nothing(f);
    assert_int_equal(sum(f, ALONE, 0x20, 0), TRIB_DROP_NONE);
    assert_true(f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to));
    assert_int_equal(packet.kind, TRIB_CONTRIBUTION);
    assert_int_equal(to.kind, TRIB_PLACE_PARENT);
    assert_int_equal(packet.window_cap, 0);
    assert_int_equal(packet.contributors, CHILDREN);
    assert_true(packet.lane == EVERYBODY);
    assert_float_equal(first_of(&packet), EVERYBODY, 0);
    expect_nothing(f);
    packet.kind = TRIB_RESULT;
    packet.window_cap = 3;
    assert_int_equal(
        f->verbs->node.receive(f->node, (struct trib_place){.kind = TRIB_PLACE_PARENT}, &packet, f->now_ns),
        TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_RESULT, 0, EVERYBODY).window_cap, 3);
}

/* ---- names ---- */

static void ranks_that_are_not_behind_the_sender__are_not_believed(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;

    assert_int_equal(sum(f, RIGHT, 0x1e, 0), TRIB_DROP_SOURCE);
    assert_int_equal(sum(f, RIGHT, 0x03, 0), TRIB_DROP_SOURCE);
    assert_int_equal(sum(f, RIGHT, UINT64_MAX, 0), TRIB_DROP_SOURCE);
    assert_int_equal(sum(f, 0, 0x04, 0), TRIB_DROP_SOURCE);
    packet = sum_of(0x04, 0, 0);
    packet.node = 1;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_SOURCE);
    packet.node = 64;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_SOURCE);
    packet.node = 0xffff;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_SOURCE);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
    packet = packet_of(TRIB_PROBE, 0, 0);
    packet.node = 5;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_SOURCE);
    packet.kind = TRIB_OFFER;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_SOURCE);
    expect_nothing(f);
}

static void a_rank_without_a_combiner__speaks_for_itself_alone(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = sum_of(0x20, 0, 0);

    packet.bitmap = 0x1f;
    packet.node = 2;
    packet.contributors = 60000;
    assert_int_equal(from(f, ALONE, &packet), TRIB_DROP_NONE);
    assert_int_equal(here(f, 0), 0x20);
    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_NONE);
    assert_int_equal(sum(f, RIGHT, 0x1c, 0), TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_RESULT, 0, EVERYBODY).contributors, CHILDREN);
}

static void one_part_through_a_combiner__is_of_the_rank_in_node(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = sum_of(0x08, 0, 0);

    packet.flags = TRIB_FLAG_RESEND;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_NONE);
    assert_int_equal(here(f, 0), 0x08);
}

/* ---- marks ---- */

static void a_mark__counts_for_the_ranks_of_the_sum_alone(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;

    for (uint64_t sequence = 0; sequence < 3; sequence++) {
        assert_int_equal(sum(f, EVERYBODY, EVERYBODY, sequence), TRIB_DROP_NONE);
        (void)expect(f, TRIB_RESULT, sequence, EVERYBODY);
    }
    packet = sum_of(0x14, 3, 2);
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_NONE);
    packet = sum_of(0x03, 3, 1);
    assert_int_equal(from(f, LEFT, &packet), TRIB_DROP_NONE);
    packet = sum_of(0x20, 3, 3);
    assert_int_equal(from(f, ALONE, &packet), TRIB_DROP_NONE);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 0); /* child 3 has told none */
    packet = packet_of(TRIB_PROBE, 3, 3);
    packet.node = 3;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_NONE);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 1);
    assert_int_equal(f->verbs->slots_held(f->node), 3);
}

static void a_mark_above_the_sequence__is_not_believed(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = sum_of(EVERYBODY, 1, 2);

    assert_int_equal(from(f, EVERYBODY, &packet), TRIB_DROP_MARK);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 0);
}

/* ---- what is dropped and asked ---- */

static void a_sum_of_another_boot_or_generation__is_not_added(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = sum_of(0x1c, 0, 0);

    packet.boot++;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_BOOT);
    (void)expect(f, TRIB_BOOT, 0, 0x04);
    packet = sum_of(0x1c, 0, 0);
    packet.generation++;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_GENERATION);
    packet = sum_of(0x1c, SLOTS, 0);
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_WINDOW);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
    expect_nothing(f);
}

/* A part that was overtaken, or waits at a combiner, is no loss; but before a PROBE combiners have sent on what they
 * had. */
static void gaps__are_not_asked_for(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_PROBE, 0, 0);

    assert_int_equal(sum(f, RIGHT, 0x1c, 2), TRIB_DROP_NONE);
    assert_int_equal(sum(f, ALONE, 0x20, 3), TRIB_DROP_NONE);
    expect_nothing(f);
    packet.node = 2;
    packet.bitmap = 7; /* sent behind it */
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_NONE);
    assert_int_equal(expect(f, TRIB_ASK, 0, 0x04).bitmap, 5); /* but for 2, which is there */
    expect_nothing(f);
}

static void an_offer_through_a_combiner__is_the_result(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;

    assert_int_equal(sum(f, LEFT, 0x03, 0), TRIB_DROP_NONE);
    packet = sum_of(EVERYBODY, 0, 1);
    packet.kind = TRIB_OFFER;
    packet.bitmap = 0;
    packet.node = 3;
    assert_int_equal(from(f, RIGHT, &packet), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, EVERYBODY);
    assert_float_equal(first_of(&result), 63.0f, 0);
    assert_int_equal(sum(f, RIGHT, 0x1c, 0), TRIB_DROP_DUPLICATE);
    expect_nothing(f);
}

/* Scheme ps: the switches below add nothing, so the order of sums is that of the children, not that of arrival. */
static void where_nothing_combines__parts_come_alone(void **state)
{
    struct fixture *f = *state;
    struct trib_switch_config config = config_of(3, SLOTS);
    float sums[2];

    free(f->node);
    f->node = node_memory(f->verbs->size(&config));
    for (uint32_t backwards = 0; backwards < 2; backwards++) {
        f->verbs->init(f->node, &config);
        join_all(f, 3);
        assert_int_equal(sum(f, 0x07, 0x03, 0), TRIB_DROP_SOURCE);
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t child = backwards != 0 ? 2 - i : i;
            struct trib_packet packet = sum_of(UINT64_C(1) << child, 0, 0);
            value_of[0] = child == 2 ? -0x1p24F : child == 1 ? 0x1p24F : 1.0F; /* 1 is lost in 2^24 + 1 */
            assert_int_equal(from(f, 0x07, &packet), TRIB_DROP_NONE);
        }
        struct trib_packet result = expect(f, TRIB_RESULT, 0, 0x07);
        sums[backwards] = first_of(&result);
    }
    assert_float_equal(sums[0], 0.0F, 0);
    assert_float_equal(sums[1], 0.0F, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMBINED(sums_of_new_parts__are_added),
        COMBINED(one_combiner_of_all__is_enough),
        COMBINED(a_sum_of_parts_that_are_here__is_a_duplicate),
        COMBINED(a_sum_with_some_parts_that_are_here__is_dropped_and_the_rest_asked_for),
        COMBINED(the_form_of_a_sum__must_fit),
        COMBINED(a_sum_of_another_operation__names_both_sides),
        COMBINED(ranks_without_use_for_the_result__get_a_header),
        COMBINED(a_marked_sum__is_marked_for_all_its_ranks),
        INNER(an_inner_node__hands_up_what_combiners_bring),
        COMBINED(what_a_rank_says__is_no_cap_of_the_root),
        COMBINED(ranks_that_are_not_behind_the_sender__are_not_believed),
        COMBINED(a_rank_without_a_combiner__speaks_for_itself_alone),
        COMBINED(one_part_through_a_combiner__is_of_the_rank_in_node),
        COMBINED(a_mark__counts_for_the_ranks_of_the_sum_alone),
        COMBINED(a_mark_above_the_sequence__is_not_believed),
        COMBINED(a_sum_of_another_boot_or_generation__is_not_added),
        COMBINED(gaps__are_not_asked_for),
        COMBINED(an_offer_through_a_combiner__is_the_result),
        COMBINED(where_nothing_combines__parts_come_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
