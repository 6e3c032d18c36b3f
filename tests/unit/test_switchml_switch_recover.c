/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_switch_recover.c: what a switch node answers to PROBEs, does with OFFERs, and asks for. Mirrors
 * src/protocol/switch_answer.c; the rest of the node is in test_switchml_switch.c. */
#include "switch_harness.h"

/* ---- probes ---- */

static void probe__is_answered_with_ASK_for_what_lacks_and_was_sent(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 2, 0), TRIB_DROP_NONE); /* a gap: asked for at once */
    struct trib_packet ask = expect(f, TRIB_ASK, 0, 1);
    assert_int_equal(ask.bitmap, 1);
    f->now_ns += MS;
    assert_int_equal(probe(f, 0, 0, 0, 7), TRIB_DROP_NONE); /* 1, 2, 3 were sent */
    ask = expect(f, TRIB_ASK, 0, 1);
    assert_int_equal(ask.bitmap, 5); /* 1 and 3 lack */
    f->now_ns += MS;
    assert_int_equal(probe(f, 0, 0, 0, 0), TRIB_DROP_NONE);
    ask = expect(f, TRIB_ASK, 0, 1);
    assert_int_equal(ask.bitmap, 0); /* nothing else was sent */
    f->now_ns += MS;
    assert_int_equal(probe(f, 0, 0, 0, UINT64_MAX), TRIB_DROP_NONE);
    ask = expect(f, TRIB_ASK, 0, 1);
    assert_int_equal(ask.bitmap, 5); /* never beyond the window */
}

/* There is no quorum here: such a PROBE says nothing that this switch knows of. It gets no answer, and its mark does not
 * count. */
static void probe__with_QUORUM_where_there_is_none_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_PROBE, 1, 1);

    complete(f, 0, 0);
    packet.flags = TRIB_FLAG_QUORUM;
    for (uint32_t child = 0; child < 3; child++) {
        assert_int_equal(up(f, child, &packet), TRIB_DROP_FIELD);
    }
    expect_nothing(f);
    assert_int_equal(f->verbs->node.counters(f->node)->dropped[TRIB_DROP_FIELD], 3);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 0);
    packet.boot++; /* nor is it told the boot */
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_FIELD);
    expect_nothing(f);
    packet.boot--;
    packet.flags = 0;
    for (uint32_t child = 0; child < 3; child++) {
        assert_int_equal(up(f, child, &packet), TRIB_DROP_NONE);
    }
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 1);
}

static void probe__is_held_with_the_bitmap_of_who_is_there(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(probe(f, 0, 0, 0, 0), TRIB_DROP_NONE);
    struct trib_packet held = expect(f, TRIB_HELD, 0, 1);
    assert_int_equal(held.bitmap, 5);
    expect_nothing(f);
}

/* Child 0 is there on 0, but what it sent behind it was lost: better to hear that than to be told to wait. */
static void probe__is_answered_with_ASK_for_what_lacks_behind_a_held_one(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(probe(f, 0, 0, 0, 6), TRIB_DROP_NONE); /* 2 and 3 were sent */
    struct trib_packet ask = expect(f, TRIB_ASK, 2, 1);
    assert_int_equal(ask.bitmap, 1);
    expect_nothing(f);
}

static void probe__of_a_complete_slot_repeats_the_result_to_one_child(void **state)
{
    struct fixture *f = *state;

    complete(f, 0, 0);
    assert_int_equal(probe_lost(f, 1, 0), TRIB_DROP_NONE);
    assert_int_equal(probe_lost(f, 1, 0), TRIB_DROP_REPEAT);
    assert_int_equal(probe_lost(f, 2, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, 2);
    assert_float_equal(first_of(&result), 7.0f, 0);
    (void)expect(f, TRIB_RESULT, 0, 4);
    expect_nothing(f);
    f->now_ns += MS;
    assert_int_equal(probe_lost(f, 1, 0), TRIB_DROP_NONE);
    (void)expect(f, TRIB_RESULT, 0, 2);
    assert_int_equal(f->verbs->node.counters(f->node)->results_repeated, 3);
}

/* Silence is no loss: the child hears, behind the result, that this has left; only if it came first is it asked for
 * again. */
static void probe__without_a_sign_of_loss_brings_a_header_behind_the_result(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_NONE);
    (void)expect(f, TRIB_RESULT, 0, ALL);
    struct trib_packet held = expect(f, TRIB_HELD, 0, 2);
    assert_int_equal(held.flags, TRIB_FLAG_RESEND);
    assert_int_equal(held.bitmap, ALL);
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_REPEAT);
    assert_int_equal(probe_lost(f, 1, 0), TRIB_DROP_NONE); /* at once, not after a while */
    (void)expect(f, TRIB_RESULT, 0, 2);
    assert_int_equal(f->verbs->node.counters(f->node)->results_repeated, 1);
    assert_int_equal(f->verbs->node.counters(f->node)->held, 1);
}

static void probe__brings_a_result_without_payload_at_once(void **state)
{
    struct fixture *f = *state;

    for (uint32_t child = 0; child < RANKS; child++) {
        struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
        assert_int_equal(up(f, child, &packet), TRIB_DROP_NONE);
    }
    (void)expect(f, TRIB_RESULT, 0, ALL);
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_NONE);
    (void)expect(f, TRIB_RESULT, 0, 2);
}

static void probe__beyond_the_window_is_held_and_told_once_when_M_moves(void **state)
{
    struct fixture *f = *state;

    complete(f, 0, 0);
    assert_int_equal(probe(f, 0, SLOTS, 1, 0), TRIB_DROP_NONE);
    struct trib_packet held = expect(f, TRIB_HELD, SLOTS, 1);
    assert_int_equal(held.mark, 0);
    f->verbs->join(f->node, 1, 1);
    expect_nothing(f);
    f->verbs->join(f->node, 2, 1);
    held = expect(f, TRIB_HELD, SLOTS, 1);
    assert_int_equal(held.mark, 1);
    expect_nothing(f);
}

static void probe__for_M_alone_is_never_answered_with_ASK(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_PROBE, 1, 0);

    packet.flags = TRIB_FLAG_UNWANTED;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_NONE);
    (void)expect(f, TRIB_HELD, 1, 2);
    expect_nothing(f);
}

/* In their order also where the room's end is in between; one that is dropped is probed for again. */
static void probe__finds_as_much_room_for_answers_as_the_driver_says(void **state)
{
    struct trib_switch_config config = config_of(RANKS, SLOTS);
    struct trib_packet packet = packet_of(TRIB_PROBE, 0, 0);
    struct fixture f;

    (void)state;
    config.answers = 3;
    open_config(&f, &config);
    join_all(&f, RANKS);
    packet.flags = TRIB_FLAG_UNWANTED;
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < 2 + round % 2; i++) {
            packet.sequence = i;
            assert_int_equal(up(&f, i, &packet), TRIB_DROP_NONE);
        }
        if (round % 2 != 0) {
            assert_int_equal(up(&f, 1, &packet), TRIB_DROP_FULL);
        }
        for (uint32_t i = 0; i < 2 + round % 2; i++) {
            (void)expect(&f, TRIB_HELD, i, UINT64_C(1) << i);
        }
        expect_nothing(&f);
    }
    free(f.node);
}

/* Child 2 is a switch, and asks for ranks of its own: at the top of the tree it hears of M again when it moves, a rank
 * does not. */
static void probe__of_a_switch_for_M_alone_is_told_again_when_M_moves(void **state)
{
    struct trib_switch_config config = config_of(5, SLOTS);
    struct trib_packet packet = packet_of(TRIB_PROBE, 1, 1);
    struct fixture f = {.verbs = trib_switchml.switch_node, .now_ns = 1000 * MS};

    (void)state;
    config.children = RANKS;
    config.branches = 4;
    f.node = node_memory(f.verbs->size(&config));
    f.verbs->init(f.node, &config);
    join_all(&f, RANKS);
    packet.flags = TRIB_FLAG_UNWANTED;
    assert_int_equal(up(&f, 2, &packet), TRIB_DROP_NONE);
    assert_int_equal(up(&f, 1, &packet), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_HELD, 1, 4);
    (void)expect(&f, TRIB_HELD, 1, 2);
    expect_nothing(&f);
    f.verbs->join(f.node, 0, 1);
    struct trib_packet held = expect(&f, TRIB_HELD, 1, 4);
    assert_int_equal(held.mark, 1);
    expect_nothing(&f);
    free(f.node);
}

/* The switch has booted since: child 0 and 2 have finished sequence 0, child 1 has not. */
static void probe__asks_one_finished_child_after_another_for_an_OFFER(void **state)
{
    struct fixture *f = *state;

    f->verbs->join(f->node, 0, 1);
    f->verbs->join(f->node, 2, 1);
    for (uint32_t round = 0; round < 3; round++) {
        f->now_ns += MS;
        assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_NONE);
        (void)expect(f, TRIB_ASK, 0, round == 1 ? 4 : 1);
        (void)expect(f, TRIB_HELD, 0, 2);
        expect_nothing(f);
    }
    assert_int_equal(f->verbs->node.counters(f->node)->asks_finished, 3);
}

/* The switch has booted since: children 0 and 2 come back with marks above 0. Child 1 sends its part again without
 * having probed, as a switch does that has summed anew: the sum can only come from an OFFER. */
static void contribution__asks_for_an_OFFER_when_only_finished_children_lack(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, RANKS, SLOTS);
    f.verbs->join(f.node, 0, 1);
    f.verbs->join(f.node, 1, 0);
    f.verbs->join(f.node, 2, 2);
    assert_int_equal(contribute(&f, 1, 1, 0), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_ASK, 0, 2); /* the gap; and child 0 has not finished sequence 1 */
    expect_nothing(&f);
    assert_int_equal(contribute(&f, 0, 1, 1), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_ASK, 1, 4);
    assert_int_equal(contribute(&f, 0, 1, 1), TRIB_DROP_DUPLICATE);
    assert_int_equal(contribute(&f, 1, 0, 0), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_ASK, 0, 1);
    expect_nothing(&f);
    assert_int_equal(offer(&f, 2, 1, 2, 42), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_RESULT, 1, ALL);
    assert_int_equal(f.verbs->node.counters(f.node)->asks_finished, 2);
    free(f.node);
}

/* Of two ranks that probe at once only one makes an OFFER come: each of them is a whole payload. */
static void probe__of_two_children_asks_for_one_OFFER(void **state)
{
    struct fixture *f = *state;

    f->verbs->join(f->node, 0, 1);
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_NONE);
    (void)expect(f, TRIB_ASK, 0, 1);
    (void)expect(f, TRIB_HELD, 0, 2);
    assert_int_equal(probe(f, 2, 0, 0, 0), TRIB_DROP_NONE);
    (void)expect(f, TRIB_HELD, 0, 4);
    expect_nothing(f);
}

static void probe__finds_the_queue_full_when_nothing_is_drained(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_PROBE, 1, 0);
    enum trib_drop drop = TRIB_DROP_NONE;
    uint32_t answered = 0;

    packet.flags = TRIB_FLAG_UNWANTED;
    while (drop == TRIB_DROP_NONE && answered < 100000) {
        drop = up(f, 1, &packet);
        answered += drop == TRIB_DROP_NONE;
    }
    assert_int_equal(drop, TRIB_DROP_FULL);
    for (uint32_t i = 0; i < answered; i++) {
        (void)expect(f, TRIB_HELD, 1, 2);
    }
    expect_nothing(f);
}

/* ---- offers ---- */

static void offer__completes_the_slot_and_replaces_the_partial_sum(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(offer(f, 0, 0, 1, 42), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, ALL);
    assert_float_equal(first_of(&result), 42.0f, 0);
    assert_int_equal(result.lane, 3);
    assert_int_equal(result.contributors, RANKS);
    assert_int_equal(result.last_rank, 0xffff);
}

static void offer__changes_nothing_when_the_result_is_there(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(offer(f, 0, 0, 1, 42), TRIB_DROP_NONE);
    (void)expect(f, TRIB_RESULT, 0, ALL);
    assert_int_equal(offer(f, 2, 0, 1, 43), TRIB_DROP_DUPLICATE);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_DUPLICATE);
    expect_nothing(f);
    assert_int_equal(probe_lost(f, 1, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, 2);
    assert_float_equal(first_of(&result), 42.0f, 0);
}

static void offer__of_another_operation_or_shape_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_OFFER, 0, 1);
    uint8_t bytes[128] = {0};

    packet.contributors = RANKS;
    packet.payload = bytes;
    packet.payload_len = 128;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_SHAPE);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    packet.payload_len = 64;
    packet.digest = 78;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_DIGEST);
    packet.digest = 77;
    packet.payload_len = 0;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_SHAPE);
    packet.sequence = SLOTS + 1;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_WINDOW);
}

/* ---- gaps ---- */

static void gap__is_asked_for_once_and_a_resend_makes_none(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 3, 0), TRIB_DROP_NONE);
    struct trib_packet ask = expect(f, TRIB_ASK, 0, 2);
    assert_int_equal(ask.bitmap, 3); /* 1 and 2 */
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 1, 2, 0), TRIB_DROP_NONE);
    expect_nothing(f);
    assert_int_equal(f->verbs->node.counters(f->node)->asks_gap, 1);
}

static void gap__is_none_where_streams_take_several_paths(void **state)
{
    struct trib_switch_config config = config_of(RANKS, SLOTS);
    struct fixture f;

    (void)state;
    config.has_paths = true;
    open_config(&f, &config);
    join_all(&f, RANKS);
    assert_int_equal(contribute(&f, 1, 3, 0), TRIB_DROP_NONE);
    expect_nothing(&f);
    free(f.node);
}

static void gap__of_more_than_65_is_asked_for_in_steps(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, RANKS, 256);
    join_all(&f, RANKS);
    assert_int_equal(contribute(&f, 0, 100, 0), TRIB_DROP_NONE);
    struct trib_packet ask = expect(&f, TRIB_ASK, 0, 1);
    assert_int_equal(ask.bitmap, UINT64_MAX);
    assert_int_equal(contribute(&f, 0, 101, 0), TRIB_DROP_NONE);
    ask = expect(&f, TRIB_ASK, 65, 1);
    assert_int_equal(ask.bitmap, (UINT64_C(1) << 34) - 1); /* 66 to 99 */
    assert_int_equal(contribute(&f, 0, 102, 0), TRIB_DROP_NONE);
    expect_nothing(&f);
    free(f.node);
}

static void gap__begins_at_the_mark_that_a_child_joined_with(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, RANKS, SLOTS);
    for (uint32_t child = 0; child < RANKS; child++) {
        f.verbs->join(f.node, child, 10);
    }
    assert_int_equal(contribute(&f, 0, 10, 10), TRIB_DROP_NONE);
    expect_nothing(&f);
    assert_int_equal(contribute(&f, 1, 11, 10), TRIB_DROP_NONE);
    (void)expect(&f, TRIB_ASK, 10, 2);
    free(f.node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_NODE(probe__is_answered_with_ASK_for_what_lacks_and_was_sent),
        WITH_NODE(probe__with_QUORUM_where_there_is_none_is_dropped),
        WITH_NODE(probe__is_held_with_the_bitmap_of_who_is_there),
        WITH_NODE(probe__is_answered_with_ASK_for_what_lacks_behind_a_held_one),
        WITH_NODE(probe__of_a_complete_slot_repeats_the_result_to_one_child),
        WITH_NODE(probe__without_a_sign_of_loss_brings_a_header_behind_the_result),
        WITH_NODE(probe__brings_a_result_without_payload_at_once),
        WITH_NODE(probe__beyond_the_window_is_held_and_told_once_when_M_moves),
        WITH_NODE(probe__for_M_alone_is_never_answered_with_ASK),
        cmocka_unit_test(probe__of_a_switch_for_M_alone_is_told_again_when_M_moves),
        WITH_NODE(probe__asks_one_finished_child_after_another_for_an_OFFER),
        cmocka_unit_test(contribution__asks_for_an_OFFER_when_only_finished_children_lack),
        WITH_NODE(probe__of_two_children_asks_for_one_OFFER),
        WITH_NODE(probe__finds_the_queue_full_when_nothing_is_drained),
        cmocka_unit_test(probe__finds_as_much_room_for_answers_as_the_driver_says),
        WITH_NODE(offer__completes_the_slot_and_replaces_the_partial_sum),
        WITH_NODE(offer__changes_nothing_when_the_result_is_there),
        WITH_NODE(offer__of_another_operation_or_shape_is_dropped),
        WITH_NODE(gap__is_asked_for_once_and_a_resend_makes_none),
        cmocka_unit_test(gap__is_none_where_streams_take_several_paths),
        cmocka_unit_test(gap__of_more_than_65_is_asked_for_in_steps),
        cmocka_unit_test(gap__begins_at_the_mark_that_a_child_joined_with),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
