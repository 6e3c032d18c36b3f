/* SPDX-License-Identifier: Apache-2.0 */
/* test_switchml_switch.c: scripted exchanges with one switch node: a test for each row of its state table
 * (docs/ARCHITECTURE.md), but for recovery, which is in test_switchml_switch_recover.c. The worker has its own files,
 * and both together run in tests/world. */
#include "switch_harness.h"

/* ---- contributions ---- */

static void contribution__is_summed_and_goes_to_all_when_all_are_there(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    expect_nothing(f);
    uint64_t sequence = 99;
    assert_int_equal(f->verbs->missing(f->node, &sequence), 2);
    assert_int_equal(sequence, 0);
    assert_int_equal(f->verbs->missing_on(f->node, 0), 2);
    assert_int_equal(f->verbs->missing_on(f->node, 1), ALL);
    assert_int_equal(f->verbs->missing_on(f->node, TRIB_SEQUENCE_MAX), 0);
    assert_int_equal(f->verbs->missing_on(f->node, TRIB_NEVER), 0);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, ALL);
    assert_float_equal(first_of(&result), 7.0f, 0);
    assert_int_equal(result.bitmap, 0); /* nobody's part was marked */
    assert_int_equal(result.lane, 3);
    assert_int_equal(result.contributors, 3);
    assert_int_equal(result.last_rank, 1);
    assert_int_equal(result.digest, 77);
    assert_int_equal(result.mark, 0);
    expect_nothing(f);
    assert_int_equal(f->verbs->missing(f->node, &sequence), 0);
    assert_int_equal(f->verbs->missing_on(f->node, 0), 0);
}

/* The sum is there, and M waits for who has not told that it has the result: so do all others, at the end of the window
 * at last. */
static void missing_on__a_sum_that_is_here(void **state)
{
    struct fixture *f = *state;

    complete(f, 0, 0);
    complete(f, 1, 0);
    assert_int_equal(f->verbs->missing_on(f->node, 0), 0); /* nobody has the result yet, that is known */
    assert_int_equal(probe(f, 1, 1, 1, 0), TRIB_DROP_NONE);
    assert_int_equal(f->verbs->missing_on(f->node, 0), 1 << 0 | 1 << 2);
    assert_int_equal(f->verbs->missing_on(f->node, 1), 0);
    assert_int_equal(probe(f, 2, SLOTS, SLOTS, 0), TRIB_DROP_NONE);
    assert_int_equal(f->verbs->missing_on(f->node, 0), 1 << 0);
    assert_int_equal(f->verbs->missing_on(f->node, 1), 1 << 0 | 1 << 1);
    assert_int_equal(f->verbs->missing_on(f->node, 2), ALL);
    assert_int_equal(f->verbs->missing_on(f->node, SLOTS), 1 << 0); /* for the slot of 0 */
    assert_int_equal(f->verbs->missing_on(f->node, SLOTS + 2), ALL);
    assert_int_equal(f->verbs->missing_on(f->node, UINT64_C(2) * SLOTS), 0);
    assert_int_equal(probe(f, 0, 2, 2, 0), TRIB_DROP_NONE);
    assert_int_equal(f->verbs->missing_on(f->node, 0), 0); /* below M */
}

static void contribution__of_one_child_counts_once(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_DUPLICATE);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, ALL);
    assert_float_equal(first_of(&result), 7.0f, 0);
    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_DUPLICATE);
    expect_nothing(f);
}

static void contribution__below_M_is_stale(void **state)
{
    struct fixture *f = *state;

    complete(f, 0, 0);
    for (uint32_t child = 0; child < RANKS; child++) {
        assert_int_equal(contribute(f, child, 1, 1), TRIB_DROP_NONE);
    }
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 1);
    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_STALE);
    assert_int_equal(f->verbs->slots_held(f->node), 1);
}

static void contribution__beyond_the_window_is_dropped(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, SLOTS - 1, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 0, SLOTS, 0), TRIB_DROP_WINDOW);
    assert_int_equal(contribute(f, 0, UINT64_C(1) << 40, UINT64_C(1) << 40), TRIB_DROP_WINDOW);
}

/* The drop is told to the control plane, with the child and the one that it cannot meet. */
static void expect_misfit(struct fixture *f, const struct trib_packet *packet, uint16_t other)
{
    struct trib_event event;

    assert_int_equal(up(f, 1, packet), TRIB_DROP_SHAPE);
    assert_true(f->verbs->node.next_event(f->node, &event));
    assert_int_equal(event.kind, TRIB_EVENT_MISMATCH);
    assert_int_equal(event.sequence, packet->sequence);
    assert_int_equal(event.child, 1);
    assert_int_equal(event.other, other);
    assert_false(f->verbs->node.next_event(f->node, &event));
}

static void contribution__of_another_shape_names_both_children(void **state)
{
    struct fixture *f = *state;
    uint8_t bytes[128] = {0};
    struct trib_packet part = packet_of(TRIB_CONTRIBUTION, 0, 0);
    struct trib_packet packet;

    part.payload = bytes;
    part.payload_len = 64;
    packet = part;
    packet.payload_len = 128; /* larger than the session's */
    expect_misfit(f, &packet, 0);
    packet.payload_len = 63; /* no whole elements */
    expect_misfit(f, &packet, 0);
    packet = part;
    packet.type = TRIB_TYPE_NONE;
    expect_misfit(f, &packet, 0);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    packet = part;
    packet.type = TRIB_INT32;
    expect_misfit(f, &packet, 2);
    packet = part;
    packet.payload_len = 32;
    expect_misfit(f, &packet, 2);
    packet = part;
    packet.reduction = TRIB_MAXIMUM;
    expect_misfit(f, &packet, 2);
    packet = part;
    packet.attempt = 1;
    expect_misfit(f, &packet, 2);
    packet = part;
    packet.kind = TRIB_OFFER;
    packet.type = TRIB_INT32;
    packet.contributors = RANKS;
    expect_misfit(f, &packet, 2);
}

/* The child whose part made the slot's shape, not the first, which brought none. */
static void contribution__of_another_shape_names_a_child_with_payload(void **state)
{
    struct fixture *f = *state;
    struct trib_packet header = packet_of(TRIB_CONTRIBUTION, 0, 0);
    struct trib_packet packet = header;
    uint8_t bytes[32] = {0};

    assert_int_equal(up(f, 0, &header), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    packet.payload = bytes;
    packet.payload_len = sizeof bytes;
    expect_misfit(f, &packet, 2);
}

/* What would have changed nothing with any shape ends nothing. */
static void contribution__of_another_shape_that_comes_too_late_is_dropped(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    struct trib_event event;

    assert_int_equal(contribute(f, 1, 0, 0), TRIB_DROP_NONE);
    packet.attempt = 1;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_SHAPE); /* it is in */
    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    packet.kind = TRIB_OFFER;
    packet.payload_len = 0;
    packet.contributors = 1;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_DUPLICATE); /* there is a result */
    assert_false(f->verbs->node.next_event(f->node, &event));
}

static void contribution__to_another_shard_names_its_child(void **state)
{
    struct trib_switch_config config = config_of(RANKS, SLOTS);
    struct fixture f;
    struct trib_event event;

    (void)state;
    config.session.roots = 2;
    open_config(&f, &config);
    join_all(&f, RANKS);
    assert_int_equal(contribute(&f, 2, config.session.train, 0), TRIB_DROP_SOURCE);
    assert_true(f.verbs->node.next_event(f.node, &event));
    assert_int_equal(event.kind, TRIB_EVENT_MISMATCH);
    assert_int_equal(event.sequence, config.session.train);
    assert_int_equal(event.child, 2);
    assert_int_equal(event.other, 0);
    /* From beyond any window it says nothing; nor does a question. */
    assert_int_equal(contribute(&f, 2, config.session.train * UINT64_C(100001), 0), TRIB_DROP_SOURCE);
    assert_int_equal(probe(&f, 2, config.session.train, 0, 0), TRIB_DROP_SOURCE);
    assert_false(f.verbs->node.next_event(f.node, &event));
    assert_int_equal(f.verbs->slots_held(f.node), 0);
    free(f.node);
}

/* Its rows are half as long; whatever comes must not write behind one. */
static void contribution__with_a_wider_sum_than_a_narrow_row_is_dropped(void **state)
{
    struct trib_switch_config config = config_of(RANKS, SLOTS);
    const size_t wide = trib_switchml.switch_node->size(&config);
    struct fixture f;
    uint8_t zeros[64] = {0};
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 1, 0);

    (void)state;
    config.is_narrow = true;
    assert_int_equal(wide - trib_switchml.switch_node->size(&config), SLOTS * 2 * 64);
    open_config(&f, &config);
    join_all(&f, RANKS);
    packet.payload = zeros;
    for (enum trib_type type = TRIB_FLOAT16; type <= TRIB_BFLOAT16; type++) {
        packet.type = (uint8_t)type;
        packet.payload_len = 64;
        assert_int_equal(up(&f, 1, &packet), TRIB_DROP_SHAPE);
        packet.payload_len = 34;
        assert_int_equal(up(&f, 1, &packet), TRIB_DROP_SHAPE);
    }
    assert_int_equal(f.verbs->slots_held(f.node), 0);
    packet.payload_len = 32;
    assert_int_equal(up(&f, 1, &packet), TRIB_DROP_NONE);
    for (uint32_t child = 0; child < RANKS; child++) {
        assert_int_equal(contribute(&f, child, 0, 0), TRIB_DROP_NONE);
    }
    struct trib_packet result = expect(&f, TRIB_RESULT, 0, ALL);
    float sum;
    memcpy(&sum, result.payload, sizeof sum);
    assert_true(sum == 7);
    free(f.node);
}

static void contribution__of_another_operation_names_both_children(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    struct trib_event event;

    assert_int_equal(contribute(f, 2, 0, 0), TRIB_DROP_NONE);
    packet.digest = 78;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_DIGEST);
    assert_true(f->verbs->node.next_event(f->node, &event));
    assert_int_equal(event.kind, TRIB_EVENT_MISMATCH);
    assert_int_equal(event.sequence, 0);
    assert_int_equal(event.child, 1);
    assert_int_equal(event.other, 2);
    assert_false(f->verbs->node.next_event(f->node, &event));
}

static void contribution__of_a_rank_that_wants_no_payload_gets_a_header(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    uint8_t block[5] = "abcd";

    packet.type = TRIB_BYTES;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_NONE);
    assert_int_equal(up(f, 2, &packet), TRIB_DROP_NONE);
    packet.flags = TRIB_FLAG_UNWANTED;
    packet.payload = block;
    packet.payload_len = sizeof block;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_NONE);
    struct trib_packet result = expect(f, TRIB_RESULT, 0, 5);
    assert_int_equal(result.payload_len, sizeof block);
    assert_memory_equal(result.payload, block, sizeof block);
    assert_int_equal(result.contributors, 1);
    result = expect(f, TRIB_RESULT, 0, 2);
    assert_int_equal(result.payload_len, 0);
    assert_int_equal(result.contributors, 1);
    expect_nothing(f);
}

static void contribution__of_bytes_comes_from_one_child_only(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    uint8_t block[8] = "abcdefg";

    packet.type = TRIB_BYTES;
    packet.payload = block;
    packet.payload_len = sizeof block;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_NONE);
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_SHAPE);
}

static void contribution__without_payload_completes_a_barrier(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);

    for (uint32_t child = 0; child < RANKS; child++) {
        assert_int_equal(up(f, child, &packet), TRIB_DROP_NONE);
    }
    struct trib_packet result = expect(f, TRIB_RESULT, 0, ALL);
    assert_int_equal(result.payload_len, 0);
    assert_int_equal(result.contributors, 0);
}

/* ---- who may speak ---- */

static void receive__drops_what_is_not_for_this_communicator(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);

    packet.communicator++;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_SOURCE);
    packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    packet.generation++;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_GENERATION);
    packet = packet_of(TRIB_CONTRIBUTION, 0, 0);
    assert_int_equal(up(f, RANKS, &packet), TRIB_DROP_SOURCE);
    packet.kind = TRIB_RESULT;
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_KIND);
    packet = packet_of(TRIB_CONTRIBUTION, 0, 1); /* finished, and sends it? */
    assert_int_equal(up(f, 0, &packet), TRIB_DROP_MARK);
    expect_nothing(f);
    assert_int_equal(f->verbs->node.counters(f->node)->dropped[TRIB_DROP_SOURCE], 2);
}

static void receive__drops_everything_until_all_have_joined(void **state)
{
    struct fixture f;

    (void)state;
    open_node(&f, RANKS, SLOTS);
    join_all(&f, RANKS - 1);
    assert_int_equal(contribute(&f, 0, 0, 0), TRIB_DROP_UNREGISTERED);
    assert_int_equal(probe(&f, 0, 0, 0, 0), TRIB_DROP_UNREGISTERED);
    expect_nothing(&f);
    f.verbs->join(f.node, RANKS - 1, 0);
    assert_int_equal(contribute(&f, 0, 0, 0), TRIB_DROP_NONE);
    free(f.node);
}

static void receive__answers_another_boot_with_a_hint_now_and_then(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_CONTRIBUTION, 0, 0);

    packet.boot++;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_BOOT);
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_BOOT);
    (void)expect(f, TRIB_BOOT, 0, 2);
    expect_nothing(f);
    f->now_ns += MS;
    assert_int_equal(up(f, 1, &packet), TRIB_DROP_BOOT);
    (void)expect(f, TRIB_BOOT, 0, 2);
}

static void join__with_a_mark_moves_M_and_frees_slots(void **state)
{
    struct fixture *f = *state;

    complete(f, 0, 0);
    complete(f, 1, 0);
    assert_int_equal(f->verbs->slots_held(f->node), 2);
    f->verbs->join(f->node, 0, 2);
    f->verbs->join(f->node, 1, 1);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 0);
    f->verbs->join(f->node, 2, 2);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 1);
    assert_int_equal(f->verbs->slots_held(f->node), 1);
    f->verbs->join(f->node, 1, 2);
    assert_int_equal(f->verbs->slots_held(f->node), 0);
}

/* ---- lies ---- */

/* M leaps by more than a header can say, while an answer waits: the answer is dropped, and nothing else happens. */
static void lies__about_marks_hurt_no_answer(void **state)
{
    struct fixture f;
    struct trib_packet packet;
    struct trib_place to;

    (void)state;
    open_node(&f, 1, SLOTS);
    f.verbs->join(f.node, 0, 0);
    assert_int_equal(probe(&f, 0, SLOTS, 0, 0), TRIB_DROP_NONE);
    f.verbs->join(f.node, 0, UINT64_C(1) << 40);
    while (f.verbs->node.next_packet(f.node, f.now_ns, &packet, &to)) {
        assert_in_range(packet.mark - packet.sequence, 0, INT32_MAX);
    }
    assert_int_equal(f.verbs->node.communicator_mark(f.node), UINT64_C(1) << 40);
    f.verbs->join(f.node, 0, UINT64_MAX);
    assert_int_equal(f.verbs->node.communicator_mark(f.node), UINT64_C(1) << 40);
    free(f.node);
}

static void lies__about_one_mark_take_no_slot_from_others(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 0, 0, 0), TRIB_DROP_NONE);
    assert_int_equal(offer(f, 1, 3, UINT64_C(1) << 30, 1), TRIB_DROP_NONE);
    assert_int_equal(f->verbs->node.communicator_mark(f->node), 0);
    assert_int_equal(contribute(f, 1, SLOTS, SLOTS), TRIB_DROP_WINDOW);
    assert_int_equal(f->verbs->slots_held(f->node), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_NODE(contribution__is_summed_and_goes_to_all_when_all_are_there),
        WITH_NODE(missing_on__a_sum_that_is_here),
        WITH_NODE(contribution__of_one_child_counts_once),
        WITH_NODE(contribution__below_M_is_stale),
        WITH_NODE(contribution__beyond_the_window_is_dropped),
        WITH_NODE(contribution__of_another_shape_names_both_children),
        WITH_NODE(contribution__of_another_shape_names_a_child_with_payload),
        WITH_NODE(contribution__of_another_shape_that_comes_too_late_is_dropped),
        WITH_NODE(contribution__to_another_shard_names_its_child),
        cmocka_unit_test(contribution__with_a_wider_sum_than_a_narrow_row_is_dropped),
        WITH_NODE(contribution__of_another_operation_names_both_children),
        WITH_NODE(contribution__of_a_rank_that_wants_no_payload_gets_a_header),
        WITH_NODE(contribution__of_bytes_comes_from_one_child_only),
        WITH_NODE(contribution__without_payload_completes_a_barrier),
        WITH_NODE(receive__drops_what_is_not_for_this_communicator),
        cmocka_unit_test(receive__drops_everything_until_all_have_joined),
        WITH_NODE(receive__answers_another_boot_with_a_hint_now_and_then),
        WITH_NODE(join__with_a_mark_moves_M_and_frees_slots),
        cmocka_unit_test(lies__about_marks_hurt_no_answer),
        WITH_NODE(lies__about_one_mark_take_no_slot_from_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
