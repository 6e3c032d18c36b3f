/* SPDX-License-Identifier: Apache-2.0 */
/* test_combiner_rows.c: scripted exchanges with one combiner: each line of the table in docs/PROTOCOL.md,
 * "Combiners", each part of a row's key, and the counters. Random schedules are in property/test_combiner.c, any header
 * in fuzz/fuzz_combiner.c. Mirrors protocol/combiner.c. */
#include "combiner_harness.h"

/* ---- sums ---- */

static void parts__are_added_and_leave_once_all_are_in(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 4, 7), TRIB_COMBINED_TAKEN);
    expect_nothing(f);
    assert_int_equal(held(f), 1);
    assert_int_equal(contribute(f, 2, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(held(f), 0); /* before the sum has left */
    struct trib_packet sum = expect_sum(f, 0, BEHIND, 7);
    assert_int_equal(first_of(&sum), 7);
    assert_int_equal(sum.contributors, 3);
    assert_int_equal(sum.boot, 5);
    assert_int_equal(sum.generation, 2);
    assert_int_equal(sum.digest, 77);
    assert_int_equal(sum.type, TRIB_INT32);
    assert_int_equal(sum.reduction, TRIB_SUM);
    assert_int_equal(sum.last_rank, 1);
    assert_int_equal(sum.flags, 0);
    expect_nothing(f);
    EXPECT_COUNTER(f, combined, 3);
    EXPECT_COUNTER(f, complete, 1);
    EXPECT_COUNTER(f, passed, 0);
}

static void the_header_of_a_sum__is_true_of_each_part(void **state)
{
    struct fixture *f = *state;
    struct trib_packet first = part_of(f, 1, 9);
    struct trib_packet second = part_of(f, 2, 9);
    struct trib_packet third = part_of(f, 4, 9);

    first.mark = 8;
    second.mark = 3;
    third.mark = 9;
    first.exponent = -4;
    second.exponent = 6;
    third.exponent = 1;
    first.window_cap = 20;
    second.window_cap = 0; /* says nothing */
    third.window_cap = 12;
    second.flags = TRIB_FLAG_ECN;
    assert_int_equal(up(f, 1, &first), TRIB_COMBINED_TAKEN);
    assert_int_equal(up(f, 2, &second), TRIB_COMBINED_TAKEN);
    assert_int_equal(up(f, 4, &third), TRIB_COMBINED_TAKEN);
    struct trib_packet sum = expect_sum(f, 0, BEHIND, 9);
    assert_int_equal(sum.mark, 3);
    assert_int_equal(sum.exponent, 6);
    assert_int_equal(sum.window_cap, 12);
    assert_int_equal(sum.flags, TRIB_FLAG_ECN);
}

static void parts_without_payload__are_added(void **state)
{
    struct fixture *f = *state;

    for (uint64_t rank = 1; rank <= 4; rank *= 2) {
        struct trib_packet part = part_of(f, rank, 7);
        part.payload_len = rank == 2 ? PAYLOAD : 0;
        part.contributors = rank == 2;
        part.payload = rank == 2 ? f->payload : NULL;
        assert_int_equal(up(f, rank, &part), TRIB_COMBINED_TAKEN);
    }
    struct trib_packet sum = expect_sum(f, 0, BEHIND, 7);
    assert_int_equal(first_of(&sum), 2);
    assert_int_equal(sum.contributors, 1);
}

static void a_sum_of_headers__has_no_payload(void **state)
{
    struct fixture *f = *state;

    for (uint64_t rank = 1; rank <= 4; rank *= 2) {
        struct trib_packet part = packet_of(TRIB_CONTRIBUTION, 7);
        part.lane = lane_of(rank);
        part.flags = TRIB_FLAG_UNWANTED;
        assert_int_equal(up(f, rank, &part), TRIB_COMBINED_TAKEN);
    }
    struct trib_packet sum = expect_sum(f, 0, BEHIND, 7);
    assert_int_equal(sum.payload_len, 0);
    assert_int_equal(sum.contributors, 0);
    assert_int_equal(sum.flags, TRIB_FLAG_UNWANTED);
}

/* The slides of ATP: rows with (bitmap, counter) 00101 and 2, 01101 and 3, 10001 and 2, of 5 workers. The counter of
 * parts and the ranks in the list agree, and no row is complete before all 5 are in. */
static void the_rows_of_the_paper__are_complete_with_all_workers_alone(void **state)
{
    static const uint8_t rows[3][2] = {{0x05, 2}, {0x0d, 3}, {0x11, 2}};
    struct fixture *f = *state;
    struct trib_combiner_grant grant = grant_of(f, 0, 0);

    grant.behind = 0x1f;
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t is_whole = 0; is_whole <= 1; is_whole++) {
            trib_combiner_admit(f->combiner, 0, &grant);
            for (uint64_t ranks = rows[i][0]; ranks != 0; ranks &= ranks - 1) {
                assert_int_equal(contribute(f, ranks & -ranks, 1), TRIB_COMBINED_TAKEN);
            }
            expect_nothing(f);
            assert_int_equal(held(f), 1);
            for (uint64_t ranks = is_whole ? 0x1fU & ~rows[i][0] : 0; ranks != 0; ranks &= ranks - 1) {
                assert_int_equal(contribute(f, ranks & -ranks, 1), TRIB_COMBINED_TAKEN);
            }
            if (!is_whole) {
                assert_int_equal(probe(f, 0, 1, 0), TRIB_COMBINED_PASS);
            }
            struct trib_packet sum = expect_sum(f, 0, is_whole ? 0x1f : rows[i][0], 1);
            assert_int_equal(sum.contributors, is_whole ? 5 : rows[i][1]);
            assert_int_equal(sum.contributors, trib_count_bits(sum.bitmap));
            assert_int_equal(first_of(&sum), sum.bitmap);
        }
    }
}

/* ---- a sum of a combiner below ---- */

static void a_sum_from_below__is_added_as_its_ranks(void **state)
{
    struct fixture *f = *state;
    struct trib_packet sum = part_of(f, 6, 7);

    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    sum = part_of(f, 6, 7);
    assert_int_equal(up(f, 6, &sum), TRIB_COMBINED_TAKEN);
    sum = expect_sum(f, 0, BEHIND, 7);
    assert_int_equal(first_of(&sum), 7);
    assert_int_equal(sum.contributors, 3);
}

static void a_sum_with_some_ranks_that_are_in__passes_unchanged(void **state)
{
    struct fixture *f = *state;
    struct trib_packet sum;

    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    sum = part_of(f, 3, 7);
    assert_int_equal(up(f, 3, &sum), TRIB_COMBINED_PASS);
    assert_int_equal(sum.bitmap, 3);
    assert_int_equal(sum.contributors, 2);
    EXPECT_COUNTER(f, combined, 1);
    assert_int_equal(probe(f, 0, 7, 0), TRIB_COMBINED_PASS);
    sum = expect_sum(f, 0, 1, 7);
    assert_int_equal(first_of(&sum), 1);
}

static void a_sum_of_all_ranks_behind__passes(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, BEHIND, 7), TRIB_COMBINED_PASS);
    assert_int_equal(held(f), 0);
    EXPECT_COUNTER(f, passed, 1);
}

static void the_part_of_the_only_rank_behind__passes(void **state)
{
    struct fixture *f = *state;
    struct trib_combiner_grant grant = grant_of(f, 0, 0);

    grant.behind = 2;
    trib_combiner_admit(f->combiner, 0, &grant);
    assert_int_equal(contribute(f, 2, 7), TRIB_COMBINED_PASS);
    assert_int_equal(held(f), 0);
}

static void a_sum_that_miscounts_its_parts__passes(void **state)
{
    struct fixture *f = *state;
    struct trib_packet sum = part_of(f, 3, 7);

    sum.contributors = 3;
    assert_int_equal(up(f, 3, &sum), TRIB_COMBINED_PASS);
    sum.contributors = 0; /* with payload */
    assert_int_equal(up(f, 3, &sum), TRIB_COMBINED_PASS);
    sum.contributors = 1;
    sum.payload_len = 0;
    assert_int_equal(up(f, 3, &sum), TRIB_COMBINED_PASS);
    assert_int_equal(held(f), 0);
}

/* ---- the key ---- */

/* With rank 0's part in the row, rank 1's passes, and is not in the row's sum. */
static void expect_apart(struct fixture *f, struct trib_packet *other)
{
    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(up(f, 2, other), TRIB_COMBINED_PASS);
    assert_int_equal(other->node, 1);
    assert_int_equal(probe(f, 0, 7, 0), TRIB_COMBINED_PASS);
    struct trib_packet sum = expect_sum(f, 0, 1, 7);
    assert_int_equal(first_of(&sum), 1);
    expect_nothing(f);
    EXPECT_COUNTER(f, collisions, 0);
}

static void a_part_of_another_boot__passes(void **state)
{
    struct trib_packet part = part_of(*state, 2, 7);

    part.boot++;
    expect_apart(*state, &part);
}

static void a_part_of_another_attempt__passes(void **state)
{
    struct trib_packet part = part_of(*state, 2, 7);

    part.attempt++;
    expect_apart(*state, &part);
}

static void a_part_of_another_operation__passes(void **state)
{
    struct trib_packet part = part_of(*state, 2, 7);

    part.digest++;
    expect_apart(*state, &part);
}

static void a_part_of_another_form__passes(void **state)
{
    struct trib_packet part = part_of(*state, 2, 7);

    part.type = TRIB_FLOAT32;
    expect_apart(*state, &part);
    part = part_of(*state, 2, 7);
    part.payload_len = 32;
    expect_apart(*state, &part);
    part = part_of(*state, 2, 7);
    part.reduction = TRIB_MAXIMUM;
    expect_apart(*state, &part);
}

/* The root sends a header alone to a rank without use for the result: a sum cannot say so of some of its ranks. */
static void a_part_with_another_use_for_the_result__passes(void **state)
{
    struct trib_packet part = part_of(*state, 2, 7);

    part.flags = TRIB_FLAG_UNWANTED;
    expect_apart(*state, &part);
}

/* Ranks 0 and 2 have no use for the result, rank 1 has: its part is never in their sum, which does not wait for it. */
static void a_sum__does_not_wait_for_a_part_that_passed(void **state)
{
    static const uint64_t orders[3][3] = {{1, 4, 2}, {1, 2, 4}, {2, 1, 4}};
    struct fixture *f = *state;

    for (uint64_t order = 0; order < 3; order++) {
        uint32_t passed = 0;
        for (uint32_t i = 0; i < 3; i++) {
            struct trib_packet part = part_of(f, orders[order][i], order);
            part.flags = orders[order][i] != 2 ? TRIB_FLAG_UNWANTED : 0;
            passed += up(f, orders[order][i], &part) == TRIB_COMBINED_PASS;
        }
        struct trib_packet sum = expect_sum(f, 0, order < 2 ? 5 : 2, order);
        assert_int_equal(first_of(&sum), order < 2 ? 5 : 2);
        assert_int_equal(sum.flags, order < 2 ? TRIB_FLAG_UNWANTED : 0);
        assert_int_equal(passed, order < 2 ? 1 : 2);
        expect_nothing(f);
        assert_int_equal(held(f), 0);
    }
    EXPECT_COUNTER(f, rest, 3);
    assert_int_equal(contribute(f, 1, 9), TRIB_COMBINED_TAKEN); /* the row has forgotten */
    assert_int_equal(contribute(f, 4, 9), TRIB_COMBINED_TAKEN);
    expect_nothing(f);
}

static void a_part_of_another_generation__passes(void **state)
{
    struct trib_packet part = part_of(*state, 2, 7);

    part.generation++;
    expect_apart(*state, &part);
}

static void a_part_of_another_sequence__has_another_row(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 2, 8), TRIB_COMBINED_PASS);
    assert_int_equal(contribute(f, 2, 7 + (UINT64_C(1) << 32)), TRIB_COMBINED_PASS);
    EXPECT_COUNTER(f, collisions, 2);
    EXPECT_COUNTER(f, combined, 1);
}

static void a_part_of_another_communicator__has_another_row(void **state)
{
    struct fixture *f = *state;

    share(f, 1);
    assert_int_equal(contribute_to(f, 0, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute_to(f, 1, 2, 7), TRIB_COMBINED_PASS);
    assert_int_equal(contribute_to(f, 2, 4, 7), TRIB_COMBINED_PASS);
    EXPECT_COUNTER(f, collisions, 2);
    assert_int_equal(trib_combiner_rows_held(f->combiner, 0), 1);
    assert_int_equal(trib_combiner_rows_held(f->combiner, 1), 0);
}

/* Members of one communicator, 64 numbers apart at the root: their parts of a fragment never meet, and seldom collide. */
static void a_part_of_another_group__has_another_row(void **state)
{
    struct fixture *f = *state;

    share(f, 16384); /* of more groups than a fragment has places */
    for (uint16_t group = 1; group < MEMBERS; group++) {
        struct trib_combiner_grant other = grant_of(f, 0, 0);
        other.group = group;
        trib_combiner_admit(f->combiner, group, &other);
    }
    for (uint64_t sequence = 0; sequence < 32; sequence++) {
        for (uint32_t member = 0; member < MEMBERS; member++) {
            struct trib_packet packet = part_of(f, 1, sequence);
            (void)trib_combiner_up(f->combiner, member, 1, &packet);
        }
    }
    EXPECT_COUNTER(f, collisions, 0);
    for (uint32_t member = 0; member < MEMBERS; member++) {
        assert_int_equal(trib_combiner_rows_held(f->combiner, member), 32);
    }
}

static void a_part_that_is_in__is_dropped(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 2, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_DROPPED);
    assert_int_equal(contribute(f, 3, 7), TRIB_COMBINED_DROPPED);
    EXPECT_COUNTER(f, duplicates, 2);
    EXPECT_COUNTER(f, combined, 2);
    assert_int_equal(contribute(f, 4, 7), TRIB_COMBINED_TAKEN);
    struct trib_packet sum = expect_sum(f, 0, BEHIND, 7);
    assert_int_equal(first_of(&sum), 7);
}

/* ---- parts that pass ---- */

static void a_part_that_was_asked_for__passes(void **state)
{
    static const uint16_t flags[] = {TRIB_FLAG_RESEND, TRIB_FLAG_COLLISION, TRIB_FLAG_QUORUM};
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    for (uint32_t i = 0; i < 3; i++) {
        struct trib_packet part = part_of(f, 2, 7);
        part.flags = flags[i];
        assert_int_equal(up(f, 2, &part), TRIB_COMBINED_PASS);
        assert_int_equal(part.flags, flags[i]);
        EXPECT_COUNTER(f, direct, 1);
    }
    EXPECT_COUNTER(f, passed, 3);
    trib_combiner_learn_mark(f->combiner, 0, 8); /* also below M: the root answers, or drops it */
    struct trib_packet part = part_of(f, 2, 7);
    part.flags = TRIB_FLAG_RESEND;
    assert_int_equal(up(f, 2, &part), TRIB_COMBINED_PASS);
}

static void a_mark_above_the_part__passes(void **state)
{
    struct fixture *f = *state;
    struct trib_packet part = part_of(f, 1, 7);

    part.mark = 8;
    assert_int_equal(up(f, 1, &part), TRIB_COMBINED_PASS);
    assert_int_equal(held(f), 0);
}

static void a_payload_that_fits_no_row__passes(void **state)
{
    struct fixture *f = *state;
    struct trib_packet part = part_of(f, 1, 7);

    part.payload_len = PAYLOAD + 4;
    assert_int_equal(up(f, 1, &part), TRIB_COMBINED_PASS);
    part.payload_len = PAYLOAD - 1; /* no whole elements */
    assert_int_equal(up(f, 1, &part), TRIB_COMBINED_PASS);
    part.payload_len = PAYLOAD;
    part.type = TRIB_TYPE_NONE;
    assert_int_equal(up(f, 1, &part), TRIB_COMBINED_PASS);
    part.type = TRIB_BFLOAT16;
    assert_int_equal(up(f, 1, &part), TRIB_COMBINED_TAKEN);
    open_combiner(f, 8, true);
    admit(f, 0, 0);
    assert_int_equal(up(f, 1, &part), TRIB_COMBINED_PASS);
    part.type = TRIB_INT32;
    assert_int_equal(up(f, 1, &part), TRIB_COMBINED_TAKEN);
}

static void bytes__are_of_one_rank_alone(void **state)
{
    struct fixture *f = *state;
    struct trib_packet part = part_of(f, 1, 7);

    part.type = TRIB_BYTES;
    part.reduction = TRIB_REDUCTION_NONE;
    assert_int_equal(up(f, 1, &part), TRIB_COMBINED_TAKEN);
    struct trib_packet second = part;
    second.lane = lane_of(2);
    assert_int_equal(up(f, 2, &second), TRIB_COMBINED_PASS);
    second.payload_len = 0;
    assert_int_equal(up(f, 2, &second), TRIB_COMBINED_TAKEN);
    second.lane = lane_of(4);
    assert_int_equal(up(f, 4, &second), TRIB_COMBINED_TAKEN);
    second = expect_sum(f, 0, BEHIND, 7);
    assert_int_equal(second.contributors, 1);
    assert_int_equal(first_of(&second), 1);
}

static void other_packets__pass_with_the_rank_in_node(void **state)
{
    static const enum trib_kind kinds[] = {TRIB_OFFER, TRIB_PROBE, TRIB_RESULT, TRIB_FLOW_ACK};
    struct fixture *f = *state;

    for (uint32_t i = 0; i < 4; i++) {
        struct trib_packet packet = packet_of(kinds[i], 7);
        packet.node = 2; /* the sender's address says more */
        packet.bitmap = 3;
        assert_int_equal(up(f, 2, &packet), TRIB_COMBINED_PASS);
        assert_int_equal(packet.node, 1);
        assert_int_equal(packet.bitmap, 3);
    }
    EXPECT_COUNTER(f, passed, 0); /* of parts */
}

static void ranks_that_are_not_behind_the_sender__are_refused(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = part_of(f, 3, 7);

    assert_int_equal(up(f, 8, &packet), TRIB_COMBINED_DROPPED); /* not behind this combiner */
    packet = part_of(f, 3, 7);
    assert_int_equal(up(f, 5, &packet), TRIB_COMBINED_DROPPED); /* rank 1 is not behind that sender */
    packet = part_of(f, 1, 7);
    packet.node = 64;
    assert_int_equal(up(f, 5, &packet), TRIB_COMBINED_DROPPED);
    packet.node = 0xffff;
    assert_int_equal(up(f, 5, &packet), TRIB_COMBINED_DROPPED);
    packet.bitmap = UINT64_MAX;
    assert_int_equal(up(f, BEHIND, &packet), TRIB_COMBINED_DROPPED);
    packet = packet_of(TRIB_PROBE, 7);
    packet.node = 1;
    assert_int_equal(up(f, 5, &packet), TRIB_COMBINED_DROPPED);
    packet = part_of(f, 1, 7);
    assert_int_equal(trib_combiner_up(f->combiner, 1, 1, &packet), TRIB_COMBINED_DROPPED); /* another communicator's */
    EXPECT_COUNTER(f, refused, 7);
    assert_int_equal(held(f), 0);
}

/* A rank speaks for itself, whatever its list says. */
static void the_list_of_a_rank__is_not_believed(void **state)
{
    struct fixture *f = *state;
    struct trib_packet part = part_of(f, 1, 7);

    part.bitmap = 6;
    part.node = 2;
    part.contributors = 60000;
    assert_int_equal(up(f, 1, &part), TRIB_COMBINED_TAKEN);
    assert_int_equal(probe(f, 0, 7, 0), TRIB_COMBINED_PASS);
    struct trib_packet sum = expect_sum(f, 0, 1, 7);
    assert_int_equal(sum.contributors, 1);
    part = part_of(f, 1, 7);
    part.bitmap = 6;
    part.flags = TRIB_FLAG_RESEND;
    assert_int_equal(up(f, 1, &part), TRIB_COMBINED_PASS);
    assert_int_equal(part.bitmap, 0);
    assert_int_equal(part.node, 0);
}

/* ---- probes ---- */

static void a_probe__sends_the_sum_of_its_fragment_on(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(contribute(f, 4, 7), TRIB_COMBINED_TAKEN);
    assert_int_equal(probe(f, 1, 8, 0), TRIB_COMBINED_PASS);                  /* another fragment's */
    assert_int_equal(probe(f, 1, 7, TRIB_FLAG_UNWANTED), TRIB_COMBINED_PASS); /* for M alone */
    expect_nothing(f);
    assert_int_equal(probe(f, 1, 7, TRIB_FLAG_RESEND), TRIB_COMBINED_PASS);
    struct trib_packet sum = expect_sum(f, 0, 5, 7);
    assert_int_equal(sum.contributors, 2);
    assert_int_equal(held(f), 0);
    EXPECT_COUNTER(f, flushed, 1);
    assert_int_equal(probe(f, 1, 7, 0), TRIB_COMBINED_PASS);
    expect_nothing(f);
    EXPECT_COUNTER(f, flushed, 1);
    EXPECT_COUNTER(f, complete, 0);
}

static void a_probe_of_another_communicator__sends_nothing_on(void **state)
{
    struct fixture *f = *state;
    struct trib_packet packet = packet_of(TRIB_PROBE, 7);

    share(f, 1);
    assert_int_equal(contribute(f, 1, 7), TRIB_COMBINED_TAKEN);
    packet.communicator = 2;
    assert_int_equal(up(f, 1, &packet), TRIB_COMBINED_PASS);
    expect_nothing(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_COMBINER(parts__are_added_and_leave_once_all_are_in),
        WITH_COMBINER(the_header_of_a_sum__is_true_of_each_part),
        WITH_COMBINER(parts_without_payload__are_added),
        WITH_COMBINER(a_sum_of_headers__has_no_payload),
        WITH_COMBINER(the_rows_of_the_paper__are_complete_with_all_workers_alone),
        WITH_COMBINER(a_sum_from_below__is_added_as_its_ranks),
        WITH_COMBINER(a_sum_with_some_ranks_that_are_in__passes_unchanged),
        WITH_COMBINER(a_sum_of_all_ranks_behind__passes),
        WITH_COMBINER(the_part_of_the_only_rank_behind__passes),
        WITH_COMBINER(a_sum_that_miscounts_its_parts__passes),
        WITH_COMBINER(a_part_of_another_boot__passes),
        WITH_COMBINER(a_part_of_another_attempt__passes),
        WITH_COMBINER(a_part_of_another_operation__passes),
        WITH_COMBINER(a_part_of_another_form__passes),
        WITH_COMBINER(a_part_with_another_use_for_the_result__passes),
        WITH_COMBINER(a_sum__does_not_wait_for_a_part_that_passed),
        WITH_COMBINER(a_part_of_another_generation__passes),
        WITH_COMBINER(a_part_of_another_sequence__has_another_row),
        WITH_COMBINER(a_part_of_another_communicator__has_another_row),
        WITH_COMBINER(a_part_of_another_group__has_another_row),
        WITH_COMBINER(a_part_that_is_in__is_dropped),
        WITH_COMBINER(a_part_that_was_asked_for__passes),
        WITH_COMBINER(a_mark_above_the_part__passes),
        WITH_COMBINER(a_payload_that_fits_no_row__passes),
        WITH_COMBINER(bytes__are_of_one_rank_alone),
        WITH_COMBINER(other_packets__pass_with_the_rank_in_node),
        WITH_COMBINER(ranks_that_are_not_behind_the_sender__are_refused),
        WITH_COMBINER(the_list_of_a_rank__is_not_believed),
        WITH_COMBINER(a_probe__sends_the_sum_of_its_fragment_on),
        WITH_COMBINER(a_probe_of_another_communicator__sends_nothing_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
