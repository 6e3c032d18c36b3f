/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_switch_parent_recover.c: an inner switch node's part in recovery: probes that go up or stay, what the
 * parent asks for, offers, and lies. A test for each row of its tables (docs/PROTOCOL.md, "What a switch with a parent
 * does"). */
#include "inner_switch_harness.h"

/* ---- probes ---- */

static void probe__of_a_sum_that_waits_goes_up_once_for_all_children(void **state)
{
    struct fixture *f = *state;

    hand_up(f, 0, 0);
    hand_up(f, 1, 0);
    assert_int_equal(contribute(f, 0, 2, 0), TRIB_DROP_NONE);
    for (uint32_t child = 0; child < CHILDREN; child++) {
        assert_int_equal(probe(f, child, 0, 0, 0), TRIB_DROP_NONE);
    }
    struct trib_packet up_probe = expect_up(f, TRIB_PROBE, 0);
    assert_int_equal(up_probe.flags, TRIB_FLAG_RESEND);
    assert_int_equal(up_probe.bitmap, 1); /* 1 was handed up, 2 and 3 were not */
    for (uint32_t child = 0; child < CHILDREN; child++) {
        assert_int_equal(expect_down(f, TRIB_HELD, 0, UINT64_C(1) << child).bitmap, ALL);
    }
    expect_nothing(f);
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_REPEAT);
    expect_nothing(f);
    f->now_ns += MS;
    assert_int_equal(probe(f, 1, 0, 0, 0), TRIB_DROP_NONE);
    (void)expect_up(f, TRIB_PROBE, 0);
    (void)expect_down(f, TRIB_HELD, 0, 2);
    assert_int_equal(f->verbs->node.counters(f->node)->probes_up, 2);
}

static void probe__names_the_64_behind_that_were_handed_up(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, 128, 1);
    join_all(&f, 0);
    for (uint64_t sequence = 0; sequence < 70; sequence++) {
        hand_up(&f, sequence, 0);
    }
    assert_int_equal(probe(&f, 1, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(expect_up(&f, TRIB_PROBE, 0).bitmap, UINT64_MAX);
    (void)expect_down(&f, TRIB_HELD, 0, 2);
    assert_int_equal(probe(&f, 1, 67, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(expect_up(&f, TRIB_PROBE, 67).bitmap, 3);
    free(f.node);
}

/* What was not handed out yet is not probed for: the parent would ask for what is on its way. */
static void probe__of_a_sum_that_has_not_left_stays_here(void **state)
{
    struct fixture *f = *state;

    for (uint32_t child = 0; child < CHILDREN; child++) {
        assert_int_equal(contribute(f, child, 0, 0), TRIB_DROP_NONE);
    }
    assert_int_equal(probe(f, 0, 0, 0, 0), TRIB_DROP_NONE);
    (void)expect_up(f, TRIB_CONTRIBUTION, 0);
    (void)expect_down(f, TRIB_HELD, 0, 1);
    expect_nothing(f);
}

/* The result comes while the PROBE waits to leave. */
static void probe__has_lost_its_reason_when_the_result_is_there(void **state)
{
    struct fixture *f = *state;

    hand_up(f, 0, 0);
    assert_int_equal(probe(f, 0, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(result(f, 0, 0), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_RESULT, 0, ALL);
    (void)expect_down(f, TRIB_HELD, 0, 1);
    expect_nothing(f);
}

static void probe__of_an_open_slot_is_answered_here(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(probe(f, 0, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(expect_down(f, TRIB_HELD, 0, 1).bitmap, 1);
    assert_int_equal(probe(f, BRANCH, 0, 0, 0), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_ASK, 0, 4);
    expect_nothing(f);
}

/* A switch completes its slots in any order: what it skipped is no loss. */
static void gap__in_the_stream_of_a_branch_is_not_asked_for(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, BRANCH, 3, 0), TRIB_DROP_NONE);
    expect_nothing(f);
    assert_int_equal(contribute(f, 0, 3, 0), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_ASK, 0, 1);
    expect_nothing(f);
}

/* ---- asks ---- */

static void ask__for_a_sum_brings_it_again(void **state)
{
    struct fixture *f = *state;

    hand_up(f, 0, 0);
    hand_up(f, 1, 0);
    hand_up(f, 2, 0);
    assert_int_equal(ask(f, 0, 0, 0xff), TRIB_DROP_NONE); /* far beyond the window, too */
    struct trib_packet sum = expect_up(f, TRIB_CONTRIBUTION, 0);
    assert_int_equal(sum.flags, TRIB_FLAG_RESEND);
    assert_int_equal(sum.last_rank, TRIB_LAST_NONE);
    assert_int_equal(sum.contributors, 5);
    assert_float_equal(first_of(&sum), 3.0f, 0);
    (void)expect_up(f, TRIB_CONTRIBUTION, 1);
    (void)expect_up(f, TRIB_CONTRIBUTION, 2);
    expect_nothing(f);
    assert_int_equal(ask(f, 0, 0, 1), TRIB_DROP_NONE);
    expect_nothing(f); /* a moment ago */
    f->now_ns += MS;
    assert_int_equal(ask(f, 1, 0, 0), TRIB_DROP_NONE);
    (void)expect_up(f, TRIB_CONTRIBUTION, 1);
    expect_nothing(f);
    assert_int_equal(f->verbs->node.counters(f->node)->contributions_resent, 4);
}

static void ask__for_a_sum_that_has_not_left_brings_it_once(void **state)
{
    struct fixture *f = *state;

    for (uint32_t child = 0; child < CHILDREN; child++) {
        assert_int_equal(contribute(f, child, 0, 0), TRIB_DROP_NONE);
    }
    assert_int_equal(ask(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(expect_up(f, TRIB_CONTRIBUTION, 0).flags, 0);
    expect_nothing(f);
}

/* Between the ASK and the drain the result came: the sum is not sent, and neither is the result as a sum. */
static void ask__is_forgotten_when_the_result_comes(void **state)
{
    struct fixture *f = *state;

    hand_up(f, 0, 0);
    assert_int_equal(ask(f, 0, 0, 0), TRIB_DROP_NONE);
    take_result(f, 0, 0);
    expect_nothing(f);
}

static void ask__for_what_is_not_complete_waits(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 1, 0), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_ASK, 0, 1); /* its gap */
    assert_int_equal(ask(f, 0, 0, 1), TRIB_DROP_NONE);
    expect_nothing(f);
}

static void ask__for_a_result_brings_an_OFFER(void **state)
{
    struct fixture *f = *state;

    hand_up(f, 0, 0);
    take_result(f, 0, 0);
    join_all(f, 1);
    assert_int_equal(ask(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(ask(f, 0, 0, 0), TRIB_DROP_NONE);
    struct trib_packet offered = expect_up(f, TRIB_OFFER, 0);
    assert_int_equal(offered.contributors, RANKS);
    assert_int_equal(offered.lane, 9);
    assert_int_equal(offered.mark, 1);
    assert_int_equal(offered.flags, TRIB_FLAG_RESEND);
    assert_int_equal(offered.last_rank, TRIB_LAST_NONE);
    expect_nothing(f);
}

/* What nobody had payload for is whole without. */
static void ask__for_the_result_of_a_barrier_brings_an_OFFER(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_RESULT, 0, 0);

    packet.type = TRIB_TYPE_NONE;
    assert_int_equal(down(f, &packet), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_RESULT, 0, ALL);
    assert_int_equal(ask(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(expect_up(f, TRIB_OFFER, 0).contributors, 0);
    expect_nothing(f);
}

/* All booted since; child 0 and the branch have finished 0, child 1 has not. */
static void ask__goes_down_to_one_child_that_has_finished_after_another(void **state)
{
    struct fixture *f = *state;

    f->verbs->join(f->node, 0, 1);
    f->verbs->join(f->node, BRANCH, 1);
    for (uint32_t round = 0; round < 3; round++) {
        f->now_ns += MS;
        assert_int_equal(ask(f, 0, 0, 0), TRIB_DROP_NONE);
        assert_int_equal(ask(f, 0, 0, 0), TRIB_DROP_NONE);
        (void)expect_down(f, TRIB_ASK, 0, round == 1 ? 4 : 1);
        expect_nothing(f);
    }
    assert_int_equal(f->verbs->node.counters(f->node)->asks_finished, 3);
}

/* ---- offers ---- */

/* Nobody above has asked; but no sum will ever come from here, and this is what they lack. */
static void offer__is_the_result_here_and_goes_up(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(offer(f, 0, 0, 1), TRIB_DROP_NONE);
    struct trib_packet r = expect_down(f, TRIB_RESULT, 0, ALL);
    assert_int_equal(r.lane, 9);
    assert_int_equal(r.last_rank, TRIB_LAST_NONE);
    struct trib_packet offered = expect_up(f, TRIB_OFFER, 0);
    assert_int_equal(offered.contributors, RANKS);
    assert_int_equal(offered.mark, 0); /* child 1 has not finished it */
    assert_int_equal(offer(f, BRANCH, 0, 1), TRIB_DROP_DUPLICATE);
    assert_int_equal(result(f, 0, 0), TRIB_DROP_DUPLICATE);
    expect_nothing(f);
}

static void offer__in_place_of_a_sum_that_has_gone_up_is_taken(void **state)
{
    struct fixture *f = *state;

    hand_up(f, 0, 0);
    assert_int_equal(offer(f, 0, 0, 1), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_RESULT, 0, ALL);
    (void)expect_up(f, TRIB_OFFER, 0);
    expect_nothing(f);
}

static void offer__without_its_payload_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_OFFER, 0, 1);

    packet.contributors = RANKS;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_SHAPE);
    packet.contributors = 0; /* of a barrier */
    packet.type = TRIB_TYPE_NONE;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_RESULT, 0, ALL);
    (void)expect_up(f, TRIB_OFFER, 0);
}

/* ---- lies ---- */

/* All children leap while sums wait: nothing that leaves is more than a header can say, or would be dropped for its
 * mark. */
static void lies__about_marks_hurt_no_packet_up(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet;
    struct trib_place to;

    hand_up(f, 0, 0);
    take_result(f, 0, 0);
    hand_up(f, 1, 0);
    for (uint32_t child = 0; child < CHILDREN; child++) {
        assert_int_equal(contribute(f, child, 2, 0), TRIB_DROP_NONE);
    }
    assert_int_equal(probe(f, 0, 1, 0, 0), TRIB_DROP_NONE);
    join_all(f, UINT64_C(1) << 40);
    assert_int_equal(ask(f, 0, 0, 1), TRIB_DROP_NONE);
    f->now_ns += MS;
    assert_int_equal(probe(f, 0, 3, 0, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    uint32_t kinds = 0;
    while (f->verbs->node.next_packet(f->node, f->now_ns, &packet, &to)) {
        assert_true(trib_packet_can_encode(&packet));
        assert_true(to.kind != TRIB_PLACE_PARENT || packet.kind == TRIB_OFFER || packet.mark <= packet.sequence);
        kinds |= 1U << packet.kind;
    }
    assert_int_equal(kinds, 1U << TRIB_CONTRIBUTION | 1U << TRIB_PROBE | 1U << TRIB_OFFER | 1U << TRIB_HELD);
    /* And M may leap as well: what is here is gone. */
    f->verbs->learn_mark(f->node, UINT64_C(1) << 40);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
    expect_nothing(f);
}

/* Marks and M bring every slot round before a drain: nothing overflows, and nothing old leaves. */
static void lies__bring_slots_round_within_a_batch(void **state)
{
    struct fixture *f = *state;

    for (uint64_t round = 0; round < 5; round++) {
        uint64_t first = round * SLOTS;
        for (uint64_t sequence = first; sequence < first + SLOTS; sequence++) {
            for (uint32_t child = 0; child < CHILDREN; child++) {
                assert_int_equal(contribute(f, child, sequence, first), TRIB_DROP_NONE);
            }
            if (round % 2 == 0) {
                assert_int_equal(result(f, sequence, first), TRIB_DROP_NONE);
            }
        }
        join_all(f, first + SLOTS);
        if (round < 4) {
            f->verbs->learn_mark(f->node, first + SLOTS);
        }
    }
    for (uint64_t sequence = 4 * SLOTS; sequence < 5 * SLOTS; sequence++) {
        (void)expect_down(f, TRIB_RESULT, sequence, ALL);
    }
    expect_nothing(f);
}

/* The most that one packet can ask for: 65 sequences, which all children have finished and gave again in this boot of
 * the switch. */
static void ask__for_all_that_it_can_finds_room_for_all_answers(void **state)
{
    enum { SEQUENCES = 65 };
    struct trib_switch_config config = config_of(2 * SEQUENCES, 1);
    struct fixture f;

    (void)state;
    config.branches = 0;
    config.answers = trib_switch_answers(CHILDREN);
    open_config(&f, &config);
    join_all(&f, 0);
    for (uint64_t sequence = 0; sequence < SEQUENCES; sequence++) {
        struct trib_packet packet = with_payload(TRIB_CONTRIBUTION, sequence, 0, 1);
        assert_int_equal(up(&f, 0, &packet), TRIB_DROP_NONE);
    }
    expect_nothing(&f);
    for (uint32_t child = 0; child < CHILDREN; child++) { /* those who are to hear that M has moved */
        assert_int_equal(probe(&f, child, SEQUENCES, 0, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
        (void)expect_down(&f, TRIB_HELD, SEQUENCES, UINT64_C(1) << child);
    }
    join_all(&f, SEQUENCES + 1);
    assert_int_equal(ask(&f, 1, 1, UINT64_MAX), TRIB_DROP_NONE);
    for (uint32_t child = 0; child < CHILDREN; child++) {
        (void)expect_down(&f, TRIB_HELD, SEQUENCES, UINT64_C(1) << child);
    }
    for (uint64_t sequence = 1; sequence < SEQUENCES; sequence++) {
        (void)expect_down(&f, TRIB_ASK, sequence, 2);
        (void)expect_down(&f, TRIB_ASK, sequence, 4);
    }
    (void)expect_down(&f, TRIB_ASK, SEQUENCES, 1); /* nobody is in */
    expect_nothing(&f);
    free(f.node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_NODE(probe__of_a_sum_that_waits_goes_up_once_for_all_children),
        cmocka_unit_test(probe__names_the_64_behind_that_were_handed_up),
        WITH_NODE(probe__of_a_sum_that_has_not_left_stays_here),
        WITH_NODE(probe__has_lost_its_reason_when_the_result_is_there),
        WITH_NODE(probe__of_an_open_slot_is_answered_here),
        WITH_NODE(gap__in_the_stream_of_a_branch_is_not_asked_for),
        WITH_NODE(ask__for_a_sum_brings_it_again),
        WITH_NODE(ask__for_a_sum_that_has_not_left_brings_it_once),
        WITH_NODE(ask__is_forgotten_when_the_result_comes),
        WITH_NODE(ask__for_what_is_not_complete_waits),
        WITH_NODE(ask__for_a_result_brings_an_OFFER),
        WITH_NODE(ask__for_the_result_of_a_barrier_brings_an_OFFER),
        WITH_NODE(ask__goes_down_to_one_child_that_has_finished_after_another),
        cmocka_unit_test(ask__for_all_that_it_can_finds_room_for_all_answers),
        WITH_NODE(offer__is_the_result_here_and_goes_up),
        WITH_NODE(offer__in_place_of_a_sum_that_has_gone_up_is_taken),
        WITH_NODE(offer__without_its_payload_is_dropped),
        WITH_NODE(lies__about_marks_hurt_no_packet_up),
        WITH_NODE(lies__bring_slots_round_within_a_batch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
