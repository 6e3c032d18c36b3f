/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_switch_parent.c: an inner switch node's main line: sums go up, results and M come down, and who may say
 * what. A test for each row of its tables (docs/PROTOCOL.md, "What a switch with a parent does"). Recovery is in
 * test_switchml_switch_parent_recover.c, whole trees in test_switchml_tree.c. */
#include "inner_switch_harness.h"

/* ---- sums go up, results come down ---- */

static void sum__goes_up_and_the_result_down(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, BRANCH, 0, 0), TRIB_DROP_NONE);
    expect_nothing(f);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    struct trib_packet sum = expect_up(f, TRIB_CONTRIBUTION, 0);
    assert_float_equal(first_of(&sum), 3.0f, 0);
    assert_int_equal(sum.contributors, 5);
    assert_int_equal(sum.lane, 3);
    assert_int_equal(sum.last_rank, 4);
    assert_int_equal(sum.digest, 77);
    assert_int_equal(sum.type, TRIB_FLOAT32);
    assert_int_equal(sum.reduction, TRIB_SUM);
    assert_int_equal(sum.flags, 0);
    expect_nothing(f);
    assert_int_equal(result(f, 0, 0), TRIB_DROP_NONE);
    struct trib_packet r = expect_down(f, TRIB_RESULT, 0, ALL);
    assert_float_equal(first_of(&r), 1.0f, 0);
    assert_int_equal(r.contributors, RANKS);
    assert_int_equal(r.lane, 9);
    assert_int_equal(r.last_rank, 8);
    assert_int_equal(r.bitmap, 0); /* nobody's part was marked */
    assert_int_equal(r.mark, 0);
    expect_nothing(f);
    assert_int_equal(f->verbs->slots_held(f->node), 1);
    f->verbs->join(f->node, 0, 1);
    f->verbs->join(f->node, 1, 1);
    f->verbs->join(f->node, 2, 1);
    f->verbs->learn_mark(f->node, 1);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
}

/* The sum of a fragment that nobody below has payload for, of a block of exponents and with a sign of congestion. */
static void sum__without_payload_is_a_header_with_what_was_collected(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);

    packet.exponent = -1000;
    packet.flags = TRIB_FLAG_UNWANTED;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_NONE);
    packet.exponent = 5;
    packet.flags = TRIB_FLAG_UNWANTED | TRIB_FLAG_ECN;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_NONE);
    packet.exponent = -3;
    packet.flags = TRIB_FLAG_UNWANTED;
    assert_int_equal(up(f, 2, &packet), TRIB_DROP_NONE);
    struct trib_packet sum = expect_up(f, TRIB_CONTRIBUTION, 0);
    assert_int_equal(sum.payload_len, 0);
    assert_int_equal(sum.contributors, 0);
    assert_int_equal(sum.exponent, 5);
    assert_int_equal(sum.flags, TRIB_FLAG_UNWANTED | TRIB_FLAG_ECN); /* its number at the parent is not known */
    packet.flags = 0;
    packet.sequence = 1;
    for (uint32_t child = 0; child < CHILDREN; child++) {
        assert_int_equal(up(f, child, &packet), TRIB_DROP_NONE);
        packet.flags = TRIB_FLAG_UNWANTED;
    }
    sum = expect_up(f, TRIB_CONTRIBUTION, 1);
    assert_int_equal(sum.flags, 0); /* child 0 wants it */
}

/* A header alone is the result for those who want no more, and never an OFFER. */
static void result__without_payload_will_do_where_nobody_wants_it(void **state)
{
    struct fixture *f = *state;
    struct trib_packet header = packet_of(TRIB_RESULT, 0, 0);

    header.contributors = RANKS;
    assert_int_equal(down(f, &header), TRIB_DROP_SHAPE); /* nobody has said so */
    for (uint32_t child = 0; child < CHILDREN; child++) {
        struct trib_packet packet = with_payload(TRIB_CONTRIBUTION, 0, 0, child == BRANCH ? 3 : 1);
        packet.flags = TRIB_FLAG_UNWANTED;
        assert_int_equal(up(f, child, &packet), TRIB_DROP_NONE);
    }
    struct trib_packet sum = expect_up(f, TRIB_CONTRIBUTION, 0);
    assert_int_equal(sum.flags, TRIB_FLAG_UNWANTED);
    header.contributors = 4;
    assert_int_equal(down(f, &header), TRIB_DROP_SHAPE); /* fewer than are here */
    header.contributors = RANKS;
    assert_int_equal(down(f, &header), TRIB_DROP_NONE);
    struct trib_packet r = expect_down(f, TRIB_RESULT, 0, ALL);
    assert_int_equal(r.payload_len, 0);
    assert_int_equal(r.contributors, RANKS);
    assert_int_equal(r.type, TRIB_FLOAT32);
    assert_int_equal(ask(f, 0, 0, 0), TRIB_DROP_NONE);
    expect_nothing(f);
}

/* Another subtree OFFERed it before all parts were here: the result replaces them, also in a slot that is empty. */
static void result__replaces_parts_that_are_here(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    take_result(f, 0, 0);
    take_result(f, 1, 0);
    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_DUPLICATE);
    assert_int_equal(contribute(f, 2, 1, 0), TRIB_DROP_DUPLICATE);
    assert_int_equal(result(f, 0, 0), TRIB_DROP_DUPLICATE);
    expect_nothing(f);
    assert_int_equal(probe(f, 0, 1, 0, TRIB_FLAG_RESEND), TRIB_DROP_NONE);
    struct trib_packet r = expect_down(f, TRIB_RESULT, 1, 1);
    assert_int_equal(r.lane, 9);
    assert_int_equal(f->verbs->slots_held(f->node), 2);
}

/* In one batch: the sum becomes complete, and its result is there. What would go up is taken back, or it would be the
 * result as a sum. */
static void result__takes_back_a_sum_that_has_not_left(void **state)
{
    struct fixture *f = *state;

    for (uint64_t sequence = 0; sequence < SLOTS; sequence++) {
        for (uint32_t child = 0; child < CHILDREN; child++) {
            assert_int_equal(contribute(f, child, sequence, 0), TRIB_DROP_NONE);
        }
        assert_int_equal(result(f, sequence, 0), TRIB_DROP_NONE);
    }
    for (uint64_t sequence = 0; sequence < SLOTS; sequence++) {
        (void)expect_down(f, TRIB_RESULT, sequence, ALL);
    }
    expect_nothing(f);
}

static void result__that_was_repeated_says_so_below_and_names_nobody(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = with_payload(TRIB_RESULT, 0, 0, RANKS);

    hand_up(f, 0, 0);
    packet.last_rank = 3;
    packet.flags = TRIB_FLAG_RESEND | TRIB_FLAG_ECN;
    assert_int_equal(down(f, &packet), TRIB_DROP_NONE);
    struct trib_packet r = expect_down(f, TRIB_RESULT, 0, ALL);
    assert_int_equal(r.flags, TRIB_FLAG_RESEND);
    assert_int_equal(r.bitmap, ALL);
    assert_int_equal(r.last_rank, TRIB_LAST_NONE);
}

static void result__of_another_operation_or_shape_is_dropped(void **state)
{
    struct fixture *f = *state;
    static const uint8_t bytes[128];

    hand_up(f, 0, 0);
    struct trib_packet packet = with_payload(TRIB_RESULT, 0, 0, RANKS);
    packet.digest++;
    assert_int_equal(down(f, &packet), TRIB_DROP_DIGEST);
    packet = with_payload(TRIB_RESULT, 0, 0, RANKS);
    packet.type = TRIB_FLOAT16;
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    packet = with_payload(TRIB_RESULT, 0, 0, RANKS);
    packet.payload_len = 32;
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    packet = with_payload(TRIB_RESULT, 0, 0, RANKS);
    packet.attempt = 1;
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    packet = with_payload(TRIB_RESULT, 0, 0, 4);
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    packet = with_payload(TRIB_RESULT, 1, 0, 0); /* payload of nobody */
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    packet = with_payload(TRIB_RESULT, 1, 0, RANKS);
    packet.type = TRIB_TYPE_NONE;
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    packet = with_payload(TRIB_RESULT, 1, 0, RANKS);
    packet.payload = bytes;
    packet.payload_len = sizeof bytes;
    assert_int_equal(down(f, &packet), TRIB_DROP_SHAPE);
    expect_nothing(f);
    assert_int_equal(f->verbs->slots_held(f->node), 1);
}

/* A switch says of how many ranks its sum is; a rank is one, whatever it says. */
static void contributors__of_a_branch_are_counted_and_bounded(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = with_payload(TRIB_CONTRIBUTION, 0, 0, RANKS);

    assert_int_equal(up(f, 0, &packet), TRIB_DROP_NONE);
    assert_int_equal(up(f, BRANCH, &packet), TRIB_DROP_SHAPE); /* more than there are */
    packet.contributors = 0;
    assert_int_equal(up(f, BRANCH, &packet), TRIB_DROP_SHAPE);
    packet.contributors = 3;
    packet.payload_len = 0;
    assert_int_equal(up(f, BRANCH, &packet), TRIB_DROP_SHAPE);
    packet.payload_len = sizeof ones;
    assert_int_equal(up(f, BRANCH, &packet), TRIB_DROP_NONE);
    packet.contributors = UINT16_MAX;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_NONE);
    struct trib_packet sum = expect_up(f, TRIB_CONTRIBUTION, 0);
    assert_int_equal(sum.contributors, 5);
}

/* ---- who may speak ---- */

static void parent__may_send_results_asks_and_M(void **state)
{
    struct fixture *f = *state;
    const enum trib_kind others[] = {TRIB_CONTRIBUTION, TRIB_PROBE, TRIB_OFFER, TRIB_BOOT};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct trib_packet packet = packet_of(others[i], 0, 0);
        assert_int_equal(down(f, &packet), TRIB_DROP_KIND);
    }
    struct trib_packet packet = packet_of(TRIB_HELD, 0, 0);
    assert_int_equal(down(f, &packet), TRIB_DROP_NONE);
    packet.communicator++;
    assert_int_equal(down(f, &packet), TRIB_DROP_SOURCE);
    packet = packet_of(TRIB_RESULT, 0, 0);
    packet.generation++;
    assert_int_equal(down(f, &packet), TRIB_DROP_GENERATION);
    packet = packet_of(TRIB_RESULT, 0, 0);
    packet.boot++;
    assert_int_equal(down(f, &packet), TRIB_DROP_BOOT); /* and no hint: that is for children */
    assert_int_equal(result(f, SLOTS, 0), TRIB_DROP_WINDOW);
    expect_nothing(f);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
}

/* This is root 0 of two: sequence 1 is the other's. */
static void parent__of_another_root_is_not_heard(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, SLOTS, 2);
    join_all(&f, 0);
    assert_int_equal(result(&f, 1, 0), TRIB_DROP_SOURCE);
    hand_up(&f, 0, 0);
    take_result(&f, 0, 0);
    /* The own mark is the other root's, so the next one here carries it up. */
    join_all(&f, 3);
    assert_int_equal(probe(&f, 0, 2, 2, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    assert_int_equal(expect_up(&f, TRIB_PROBE, 4).mark, 3);
    free(f.node);
}

static void parent__is_unheard_until_all_children_have_joined(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, SLOTS, 1);
    f.verbs->join(f.node, 0, 5);
    f.verbs->join(f.node, 1, 5);
    assert_int_equal(result(&f, 5, 5), TRIB_DROP_UNREGISTERED);
    f.verbs->learn_mark(f.node, 5);
    assert_int_equal(f.verbs->node.communicator_mark(f.node), 0);
    f.verbs->join(f.node, 2, 5);
    assert_int_equal(result(&f, 5, 5), TRIB_DROP_NONE);
    free(f.node);
}

/* ---- M ---- */

static void M__comes_from_above_and_never_passes_the_own_mark(void **state)
{
    struct fixture *f = *state;

    hand_up(f, 0, 0);
    take_result(f, 0, 0);
    join_all(f, 3);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 0); /* not from here */
    assert_int_equal(result(f, 4, 4), TRIB_DROP_MARK);
    f->verbs->learn_mark(f->node, 4);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 0);
    struct trib_packet held = packet_of(TRIB_HELD, 7, 2);
    assert_int_equal(down(f, &held), TRIB_DROP_NONE);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 2);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
    held.mark = 1; /* overtaken */
    assert_int_equal(down(f, &held), TRIB_DROP_NONE);
    f->verbs->learn_mark(f->node, 0);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 2);
    assert_int_equal(result(f, 1, 1), TRIB_DROP_STALE);
    assert_int_equal(ask(f, 1, 1, 0), TRIB_DROP_STALE);
    expect_nothing(f);
}

static void M__is_ignored_by_a_node_without_parent(void **state)
{
    struct trib_switch_config config = {
        .session = {.ranks = 1, .roots = 1, .train = 1, .slots = 1, .payload = 64, .lookahead = 1},
        .kernels = trib_value_kernels(),
        .children = 1,
        .boot = BOOT,
    };
    const struct trib_switch_verbs *verbs = trib_switchml.switch_node;
    void *node = node_memory(verbs->size(&config));
    struct trib_packet packet = {.kind = TRIB_HELD, .boot = BOOT};

    (void)state;
    verbs->init(node, &config);
    verbs->join(node, 0, 3);
    verbs->learn_mark(node, 5);
    assert_int_equal(verbs->node.communicator_mark(node), 3);
    verbs->learn_mark(node, 2);
    assert_int_equal(verbs->node.communicator_mark(node), 3);
    const struct trib_place parent = {.kind = TRIB_PLACE_PARENT};
    assert_int_equal(verbs->node.receive(node, parent, &packet, 0), TRIB_DROP_SOURCE);
    free(node);
}

/* Nothing but a worker's quiet PROBE says how far this subtree is: it goes up, is answered, and the answer goes
 * down. */
static void M__is_asked_for_above_when_a_child_asks(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(probe(f, 0, 2, 2, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_HELD, 2, 1);
    expect_nothing(f); /* this subtree's mark is still 0: nothing to tell */
    assert_int_equal(probe(f, 1, 2, 2, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    assert_int_equal(probe(f, BRANCH, 1, 1, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    assert_int_equal(probe(f, 0, 2, 2, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_HELD, 2, 2);
    struct trib_packet up_probe = expect_up(f, TRIB_PROBE, 1); /* one, though two asked since */
    assert_int_equal(up_probe.flags, TRIB_FLAG_UNWANTED);
    assert_int_equal(up_probe.mark, 1);
    assert_int_equal(up_probe.bitmap, 0);
    (void)expect_down(f, TRIB_HELD, 1, 4);
    (void)expect_down(f, TRIB_HELD, 2, 1);
    expect_nothing(f);
    /* More news goes at once, the same again after a while. */
    assert_int_equal(probe(f, BRANCH, 2, 2, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    up_probe = expect_up(f, TRIB_PROBE, 2);
    assert_int_equal(up_probe.mark, 2);
    (void)expect_down(f, TRIB_HELD, 2, 4);
    assert_int_equal(probe(f, 0, 2, 2, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_HELD, 2, 1);
    expect_nothing(f);
    f->now_ns += MS;
    assert_int_equal(probe(f, 0, 2, 2, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    (void)expect_up(f, TRIB_PROBE, 2);
    (void)expect_down(f, TRIB_HELD, 2, 1);
    /* M moves: all three hear of it. */
    struct trib_packet held = packet_of(TRIB_HELD, 2, 2);
    assert_int_equal(down(f, &held), TRIB_DROP_NONE);
    assert_int_equal(expect_down(f, TRIB_HELD, 2, 1).mark, 2);
    (void)expect_down(f, TRIB_HELD, 2, 2);
    (void)expect_down(f, TRIB_HELD, 2, 4);
    expect_nothing(f);
    /* M is all that there is to know. */
    f->now_ns += MS;
    assert_int_equal(probe(f, 0, 2, 2, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    (void)expect_down(f, TRIB_HELD, 2, 1);
    expect_nothing(f);
}

/* The probed sequence is below the own mark by now (its PROBE was overtaken): the mark must go up all the same. */
static void M__is_asked_for_with_a_sequence_from_the_own_mark_on(void **state)
{
    struct fixture *f = *state;

    join_all(f, 3);
    assert_int_equal(probe(f, 0, 1, 1, TRIB_FLAG_UNWANTED), TRIB_DROP_NONE);
    struct trib_packet up_probe = expect_up(f, TRIB_PROBE, 3);
    assert_int_equal(up_probe.mark, 3);
    (void)expect_down(f, TRIB_HELD, 1, 1);
}

/* Who waits on an open slot may be the only one who still says anything: the mark goes up with its PROBE. */
static void M__is_asked_for_when_an_open_slot_is_probed(void **state)
{
    struct fixture *f = *state;

    hand_up(f, 0, 0);
    take_result(f, 0, 0);
    assert_int_equal(contribute(f, 0, 1, 1), TRIB_DROP_NONE);
    f->verbs->join(f->node, 1, 1);
    f->verbs->join(f->node, 2, 1);
    assert_int_equal(probe(f, 0, 1, 1, 0), TRIB_DROP_NONE);
    struct trib_packet up_probe = expect_up(f, TRIB_PROBE, 1);
    assert_int_equal(up_probe.flags, TRIB_FLAG_UNWANTED);
    assert_int_equal(up_probe.mark, 1);
    (void)expect_down(f, TRIB_HELD, 1, 1);
    expect_nothing(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_NODE(sum__goes_up_and_the_result_down),
        WITH_NODE(sum__without_payload_is_a_header_with_what_was_collected),
        WITH_NODE(result__without_payload_will_do_where_nobody_wants_it),
        WITH_NODE(result__replaces_parts_that_are_here),
        WITH_NODE(result__takes_back_a_sum_that_has_not_left),
        WITH_NODE(result__that_was_repeated_says_so_below_and_names_nobody),
        WITH_NODE(result__of_another_operation_or_shape_is_dropped),
        WITH_NODE(contributors__of_a_branch_are_counted_and_bounded),
        WITH_NODE(parent__may_send_results_asks_and_M),
        cmocka_unit_test(parent__of_another_root_is_not_heard),
        cmocka_unit_test(parent__is_unheard_until_all_children_have_joined),
        WITH_NODE(M__comes_from_above_and_never_passes_the_own_mark),
        cmocka_unit_test(M__is_ignored_by_a_node_without_parent),
        WITH_NODE(M__is_asked_for_above_when_a_child_asks),
        WITH_NODE(M__is_asked_for_with_a_sequence_from_the_own_mark_on),
        WITH_NODE(M__is_asked_for_when_an_open_slot_is_probed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
